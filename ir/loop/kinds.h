/* The kinds of statements in one table: what a statement of each kind is made of. Walking, rewriting, cloning, and
 * every question about what a statement names (loop.h) are answered from it, so that a new kind is a row here, its
 * lines in the printer and the parser, its meaning in the interpreter and its rules in the verifier. */
#ifndef NN_IR_LOOP_KINDS_H
#define NN_IR_LOOP_KINDS_H
#include "ir/loop/loop.h"

/* A field by its place in struct stmt. With a stride: as many as the int at `count` says, the field `member` of each
 * element of the array that the pointer at `at` leads to. A list of fields ends with `at` 0. */
struct stmt_field {
    uint16_t at, count, stride, member;
    uint16_t use;                                  /* of a buffer: enum buf_use */
    unsigned (*more)(const struct stmt *s, int k); /* and what the statement adds to that, for the k-th; or NULL */
};
struct stmt_row {
    const char *word;                     /* with which its line begins; NULL: with none */
    const char *what;                     /* in messages */
    struct stmt_field vars[3];            /* const struct var *: defined by it, with their extents */
    struct stmt_field bufs[3];            /* struct buf *: but those that its expressions load from */
    struct stmt_field exprs[4];           /* expr, may be NULL */
    uint16_t blocks[3];                   /* places of its blocks, ends with 0 */
    bool (*faults)(const struct stmt *s); /* may it stop the program or set the fault flag, guards apart? NULL: no */
    bool entry_only;                      /* stands in no kernel */
};
extern const struct stmt_row stmt_rows[S_KIND_COUNT];
#endif
