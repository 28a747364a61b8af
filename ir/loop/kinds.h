/* The kinds of statements in one table: what a statement of each kind is made of. Walking, rewriting, cloning, and
 * every question about what a statement names (loop.h) are answered from it, so that a new kind is a row here, its
 * lines in the printer and the parser, its meaning in the interpreter and its rules in the verifier. */
#ifndef NN_IR_LOOP_KINDS_H
#define NN_IR_LOOP_KINDS_H
#include "ir/loop/loop.h"

/* A field, by its offset in struct stmt. With a stride: an array, whose length is the int at `count`, and whose pointer
 * is at `at`; the field is `member` of each element. Offset 0 ends a list of fields. */
struct stmt_field {
    uint16_t at, count, stride, member;
    uint16_t use;                                  /* of a buffer: enum buf_use */
    unsigned (*more)(const struct stmt *s, int k); /* uses of the k-th that depend on the statement, in addition; or
                                                    * NULL */
};
struct stmt_row {
    const char *word;                     /* the first word of its line; NULL: none */
    const char *what;                     /* for messages */
    struct stmt_field vars[3];            /* const struct var *: variables that it defines, with their extents */
    struct stmt_field bufs[3];            /* struct buf *: except those that its expressions load from */
    struct stmt_field exprs[4];           /* expr, may be NULL */
    uint16_t blocks[3];                   /* offsets of its blocks; 0 ends */
    bool (*faults)(const struct stmt *s); /* can it stop the program or set the fault flag, other than by guards? NULL:
                                           * no */
    bool entry_only;                      /* does not occur in kernels */
};
extern const struct stmt_row stmt_rows[S_KIND_COUNT];
#endif
