/* The numbers of a machine row that can be measured on a CPU (`gcc2nn calibrate`) and given from a file (--machine), a
 * row each. What writes, reads and documents such files goes by this table alone; nothing else of a machine changes. */
#ifndef NN_LOWER_NUMBERS_H
#define NN_LOWER_NUMBERS_H
#include "ir/base/arena.h"
#include "lower/machine/machine.h"

enum number_kind {
    NUMBER_REAL,
    NUMBER_RATE,  /* how many start in a cycle: where it is near, a whole number or one in so many cycles */
    NUMBER_INT,   /* an int of the row */
    NUMBER_BYTES, /* an int64_t of the row */
};
struct number_row {
    const char *name, *unit;
    enum number_kind kind;
    double least, most;
    size_t offset;    /* in struct machine; in struct operation, if there is a type */
    enum xop op;      /* with `type`: the operation that it is of */
    enum dtype type;  /* NONE: of the machine as a whole */
    const char *says; /* what it is */
    const char *how;  /* how it is measured */
};
enum { NUMBERS_MAX = 16 };
extern const struct number_row machine_numbers[]; /* name NULL ends; NUMBERS_MAX at most */

/* Does the row have that number? *value gets it; a zero is none, as where there is no second level of cache. */
bool machine_number(const struct machine *m, const struct number_row *n, double *value);
/* A copy of the row, in the arena, with `values` in the order of the table where the row has such a number. Rates of
 * micro-kernels change as that of multiply-adds does. */
const struct machine *machine_with(struct arena *a, const struct machine *m, const double *values);
#endif
