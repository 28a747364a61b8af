/* The format of `--dump-after=choices`: a line `NAME: CLASS` for each kernel; below it its problem, what was tried, the
 * point that was taken, and some that were not tried. Read by `explain`, which shows a kernel's part, and by `tune`. */
#ifndef NN_COMPILER_CHOICES_H
#define NN_COMPILER_CHOICES_H
#include "lower/schedule/record.h"

struct choice {
    const char *point; /* in the form of records */
    double cycles;     /* predicted; 0: no prediction */
};
struct choice_list {
    VEC(struct choice) v; /* the taken one first, then those that were not tried, the best first */
};
/* The next kernel's part: its line `NAME: ..` and those below, which begin with blanks. Other lines say for what
 * machine it is. NULL: there is none. */
const char *choices_next(struct arena *a, const char **at, const char **name);
/* The points of a kernel's part, behind its name; the first `problem` bytes are what it computes. */
void choices_points(struct arena *a, const char *text, size_t problem, struct choice_list *out);
#endif
