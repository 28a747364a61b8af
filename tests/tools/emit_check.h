/* Prints procedures as C, compiles them into one program, runs it and the interpreter on the same inputs and compares
 * every bit of every output cell (NaN payloads are free). What lir_check does. */
#ifndef NN_TESTS_EMIT_CHECK_H
#define NN_TESTS_EMIT_CHECK_H
#include "codegen/emit.h"

enum check_values {
    CHECK_PLAIN,   /* small numbers of both signs */
    CHECK_SPECIAL, /* a third of the floats are NaN, infinite, -0, denormal or very large; integers have any bits */
    CHECK_INDEX,   /* integers are 0 or 1: indices that are valid nearly everywhere */
    CHECK_ZERO,    /* integers are 0 */
};
struct check_round {
    enum check_values values;
    int sizes; /* 0: every size is 5; else they differ from each other and from round to round, 0 and 1 among them */
    unsigned seed;
};
struct check_options {
    const struct target *target;
    const char *compilers[4]; /* NULL ends; e.g. "gcc", "clang-14" */
    const char *flags;        /* optimisation, e.g. "-O3" */
    bool strict;              /* scalar C99 */
    bool loose;               /* procedures may be what no schedule makes: the passes' results are not verified */
    struct check_round rounds[8];
    int nrounds;
    const char *keep;     /* folder to work in and keep; NULL: a temporary one */
    const char *dims[16]; /* "N=7": values of sizes that come before those of the round */
    int bench;            /* > 0: time that many calls */
};
/* false: *why says what differs, or what could not be done. compared[k], if not NULL: in how many rounds procedure k
 * gave results; in the others both sides stopped with a fault. */
bool emit_check(struct module *m, struct proc *const *procs, int n, const struct check_options *k, int *compared,
                char *why, size_t cap);
#endif
