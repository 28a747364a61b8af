/* The numbers of a machine row that can be measured on a CPU (`gcc2nn calibrate`) and given in a file (--machine), a
 * row each. Writing, reading and documenting such files uses only this table; nothing else of a machine can be
 * changed. */
#ifndef NN_LOWER_NUMBERS_H
#define NN_LOWER_NUMBERS_H
#include "ir/base/arena.h"
#include "lower/machine/machine.h"

enum number_kind {
    NUMBER_REAL,
    NUMBER_RATE,  /* operations started per cycle; if close to one, a whole number or one in a whole number of cycles */
    NUMBER_INT,   /* an int of the row */
    NUMBER_BYTES, /* an int64_t of the row */
};
struct number_row {
    const char *name, *unit;
    enum number_kind kind;
    double least, most;
    size_t offset;    /* in struct machine; in struct operation, if there is a type */
    enum xop op;      /* the operation, together with `type` */
    enum dtype type;  /* NONE: it belongs to the machine as a whole */
    const char *says; /* its description */
    const char *how;  /* how it is measured */
};
enum { NUMBERS_MAX = 16 };
extern const struct number_row machine_numbers[]; /* name NULL ends; NUMBERS_MAX at most */

/* Does the row have that number? Stores it in *value. Zero counts as missing, as for an absent second level of
 * cache. */
bool machine_number(const struct machine *m, const struct number_row *n, double *value);
/* A copy of the row in the arena, with `values` (in the order of the table) for the numbers that the row has. Rates of
 * micro-kernels change in proportion to that of multiply-adds. */
const struct machine *machine_with(struct arena *a, const struct machine *m, const double *values);
#endif
