/* Choices made before: which point a problem gets on a machine. The text is what `--dump-after=choices` prints, so that
 * the choices of one compilation, edited or measured, are the records of another. Read by the driver, consulted by
 * schedule.c. */
#ifndef NN_LOWER_SCHEDULE_RECORD_H
#define NN_LOWER_SCHEDULE_RECORD_H
#include "lower/machine/machine.h"

struct strategy;

struct record {
    const char *machine, *text, *point; /* text: begins with the problem's text; point: as printed, without its
                                         * cycles */
    bool taken;
    double measured; /* nanoseconds or instructions of all calls in one run, as `gcc2nn tune` writes them; 0: not
                      * measured */
};
struct records {
    VEC(struct record) list;
};
/* Does the record belong to that problem on this machine? by: the strategies that are asked. */
bool record_is_of(const struct record *r, const struct machine *m, const char *problem,
                  const struct strategy *const *by);
/* A line of the dump in the form that a record's point has: without surrounding blanks and predicted cycles. */
const char *record_point(struct arena *a, const char *line, size_t n);
/* The records in a text, allocated in c's arena; the last of several for one problem counts. A text without records has
 * none. */
struct records *records_read(struct ctx *c, const char *text);
/* Adds the records of one more text, which override earlier ones. false: it names no machine, so it is not a text of
 * records. */
bool records_add(struct ctx *c, struct records *to, const char *text);
/* The recorded point for that problem on this machine; NULL: there is none. by: the strategies that are asked. */
const char *recorded_point(const struct records *r, const struct machine *m, const char *problem,
                           const struct strategy *const *by);
#endif
