/* Choices that somebody has made before: which point a problem gets on a machine. The text is what
 * `--dump-after=choices` prints, so that one compilation's choices, edited or measured, are another's records. Read by
 * the driver, asked by schedule.c. */
#ifndef NN_LOWER_SCHEDULE_RECORD_H
#define NN_LOWER_SCHEDULE_RECORD_H
#include "lower/machine/machine.h"

struct strategy;

struct record {
    const char *machine, *text, *point; /* text: begins with the problem's; point: as printed, without its cycles */
};
struct records {
    VEC(struct record) list;
};
/* The records of a text, in c's arena; of several for one problem the last one counts. A text without any has none. */
struct records *records_read(struct ctx *c, const char *text);
/* The point for the problem of that text on this machine; NULL: there is no record. by: strategies that are asked. */
const char *recorded_point(const struct records *r, const struct machine *m, const char *problem,
                           const struct strategy *const *by);
#endif
