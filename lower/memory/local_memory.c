/* Memory of procedures' local buffers. See local_memory.h. */
#include "lower/memory/local_memory.h"
#include "ir/base/checked.h"

expr scratch_round(struct ctx *c, expr bytes) { return x_muli(c, x_divi(c, x_addi(c, bytes, 63), 64), 64); }
/* Bytes of a local buffer: an upper bound when its dims depend on loops. */
expr local_bytes(struct ctx *c, const struct buf *b) {
    expr cells = buf_own_cells(c, b);
    if (x_has(cells, XF_VAR | XF_TOIDX | XF_GUARD)) {
        int64_t lo, hi;
        x_bounds(c, cells, &lo, &hi);
        if (hi == POS_INF) BUG("buffer %s has no bound on its size", b->name);
        cells = x_int(c, hi);
    }
    return x_muli(c, cells, dtype_bytes(b->type));
}
bool is_on_stack(struct ctx *c, const struct buf *b) {
    enum { MOST = 64 << 10 };
    int64_t bytes;
    return (b->scope == SC_STACK || b->scope == SC_REG || b->scope == SC_SHARED) &&
           x_is_int(local_bytes(c, b), &bytes) && bytes <= MOST;
}
/* Steps may leave allocations of buffers that have moved into a loop, so an allocation does not count as a use. */
bool proc_uses(const struct proc *p, const struct buf *b) {
    for (const struct stmt *s = p->body.first; s; s = s->next)
        if (stmt_uses(s, b, NULL)) return true;
    return false;
}
bool block_allocs(const struct block *b, const struct buf *buf) {
    for (const struct stmt *s = b->first; s; s = s->next) {
        const struct block *in;
        if (s->kind == S_ALLOC && s->u.alloc.buf == buf) return true;
        for (int k = 0; (in = stmt_block(s, k)); k++)
            if (block_allocs(in, buf)) return true;
    }
    return false;
}
bool proc_allocs(const struct proc *p, const struct buf *b) { return block_allocs(&p->body, b); }
expr block_scratch(struct ctx *c, const struct proc *p, const struct block *b) {
    expr here = x_int(c, 0), most = x_int(c, 0);
    for (const struct stmt *s = b->first; s; s = s->next) {
        const struct block *in;
        expr inside = x_int(c, 0);
        if (s->kind == S_ALLOC && !is_on_stack(c, s->u.alloc.buf) && proc_uses(p, s->u.alloc.buf))
            here = x_add(c, here, scratch_round(c, local_bytes(c, s->u.alloc.buf)));
        if (s->kind == S_CALL) inside = scratch_bytes(c, s->u.call.callee);
        for (int k = 0; (in = stmt_block(s, k)); k++) inside = x_max(c, inside, block_scratch(c, p, in));
        if (s->kind == S_FOR && s->u.loop.slices) inside = x_muli(c, inside, s->u.loop.slices);
        most = x_max(c, most, x_add(c, here, inside));
    }
    return most;
}
bool is_local(const struct buf *b) { return b->scope != SC_PARAM && b->scope != SC_CONST; }
expr scratch_bytes(struct ctx *c, const struct proc *p) {
    expr here = x_int(c, 0);
    for (int i = 0; i < p->bufs.n; i++) {
        struct buf *b = p->bufs.v[i];
        if (is_local(b) && !proc_allocs(p, b) && !is_on_stack(c, b) && proc_uses(p, b))
            here = x_add(c, here, scratch_round(c, local_bytes(c, b)));
    }
    return x_add(c, here, block_scratch(c, p, &p->body));
}
