/* Choices that somebody has made before: which point a problem gets on a machine. The text is what
 * `--dump-after=choices` prints, so that one compilation's choices, edited or measured, are another's records. Read by
 * the driver, asked by schedule.c. */
#ifndef NN_LOWER_SCHEDULE_RECORD_H
#define NN_LOWER_SCHEDULE_RECORD_H
#include "lower/machine/machine.h"

struct strategy;

struct record {
    const char *machine, *text, *point; /* text: begins with the problem's; point: as printed, without its cycles */
    bool taken;
    double measured; /* nanoseconds, or instructions, of all calls in a run, as `gcc2nn tune` writes them; 0: not */
};
struct records {
    VEC(struct record) list;
};
/* Is the record one of that problem on this machine? by: strategies that are asked. */
bool record_is_of(const struct record *r, const struct machine *m, const char *problem,
                  const struct strategy *const *by);
/* A line of the dump as the record of a point has it: without blanks around it and the predicted cycles. */
const char *record_point(struct arena *a, const char *line, size_t n);
/* The records of a text, in c's arena; of several for one problem the last one counts. A text without any has none. */
struct records *records_read(struct ctx *c, const char *text);
/* Those of one more text, which count before what is there. false: it names no machine, so it is none of records. */
bool records_add(struct ctx *c, struct records *to, const char *text);
/* The point for the problem of that text on this machine; NULL: there is no record. by: strategies that are asked. */
const char *recorded_point(const struct records *r, const struct machine *m, const char *problem,
                           const struct strategy *const *by);
#endif
