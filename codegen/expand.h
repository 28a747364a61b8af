/* From a scheduled procedure to one that prints line by line: the last loop-to-loop step before text. The result is
 * legal loop IR with the same meaning, bit for bit; only its loops stand for what will be written.
 *
 *   - loops of kind `unroll` with constant extent are written out; loops of extent 1 go
 *   - a `vector` loop becomes vector statements: loops of kind vector over a canonical lane variable that hold one
 * store each. Extents above the target's lanes are cut into vectors, remainders into narrower ones. What cannot be done
 *     with vectors without changing the meaning becomes a serial loop.
 *   - an instruction that the target does not have becomes its reference body
 *   - constants of constant tables with constant indices become literals; `r = a; r += b` on a register becomes one
 * store */
#ifndef NN_CODEGEN_EXPAND_H
#define NN_CODEGEN_EXPAND_H
#include "ir/loop/loop.h"

enum { MAX_LANES_LOG = 6 };
struct expanded {
    const struct var *lane[MAX_LANES_LOG + 1]; /* [log2 of lanes] the canonical variables; NULL: not used */
    int serial_vectors;                        /* vector loops that had to become serial */
};
/* p is changed: give a clone. lanes: f32 lanes of the target, 1 for none. */
struct emit_options;
struct expanded expand_proc(struct ctx *c, struct proc *p, int lanes, const struct emit_options *o);

/* The contents of a constant buffer in physical order as f64 or i64 values; NULL when too large or without data. */
union cell {
    double f;
    int64_t i;
};
const union cell *const_cells(struct ctx *c, const struct buf *b, int64_t *n);
#endif
