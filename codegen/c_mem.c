/* Memory of a kernel's local buffers: registers, arrays on the stack, shared memory, or scratch that the caller gives;
 * how much scratch that is, and the declarations. */
#include "codegen/c_int.h"
#include "ir/base/checked.h"
#include <string.h>

static expr round_up(struct ctx *c, expr bytes) { return x_muli(c, x_divi(c, x_addi(c, bytes, 63), 64), 64); }
static bool only_syms(void *env, expr e) {
    (void)env;
    return e->op != X_VAR && e->op != X_TOIDX && e->op != X_GUARD;
}
/* Bytes of a local buffer: an upper bound when its dims depend on loops. */
expr c_local_bytes(struct ctx *c, const struct buf *b) {
    expr cells = buf_cells(c, b);
    if (!x_visit(cells, only_syms, NULL)) {
        int64_t lo, hi;
        x_bounds(c, cells, &lo, &hi);
        if (hi == POS_INF) BUG("buffer %s has no bound on its size", b->name);
        cells = x_int(c, hi);
    }
    return x_muli(c, cells, dtype_bytes(b->type));
}
bool c_on_stack(struct ctx *c, const struct buf *b) {
    enum { MOST = 64 << 10 };
    int64_t bytes;
    return (b->scope == SC_STACK || b->scope == SC_REG || b->scope == SC_SHARED) &&
           x_is_int(c_local_bytes(c, b), &bytes) && bytes <= MOST;
}
/* Steps leave the allocations of buffers behind that moved into a loop. */
bool c_touched(const struct proc *p, const struct buf *b) {
    for (struct stmt *s = p->body.first; s; s = s->next)
        if (stmt_uses(s, b, NULL)) return true;
    return false;
}
bool c_allocs(struct block *b, const struct buf *buf) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        if (s->kind == S_ALLOC && s->u.alloc.buf == buf) return true;
        for (int k = stmt_blocks(s, in); k-- > 0;)
            if (c_allocs(in[k], buf)) return true;
    }
    return false;
}
bool c_has_alloc(const struct proc *p, const struct buf *b) { return c_allocs((struct block *)&p->body, b); }
static expr block_scratch(struct ctx *c, const struct proc *p, struct block *b) {
    expr here = x_int(c, 0), most = x_int(c, 0);
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        expr inside = x_int(c, 0);
        if (s->kind == S_ALLOC && s->u.alloc.buf->scope != SC_REG && !c_on_stack(c, s->u.alloc.buf) &&
            c_touched(p, s->u.alloc.buf))
            here = x_add(c, here, round_up(c, c_local_bytes(c, s->u.alloc.buf)));
        if (s->kind == S_CALL) inside = emit_scratch_bytes(c, s->u.call.callee);
        for (int k = stmt_blocks(s, in); k-- > 0;) inside = x_max(c, inside, block_scratch(c, p, in[k]));
        most = x_max(c, most, x_add(c, here, inside));
    }
    return most;
}
bool c_local(const struct buf *b) { return b->scope != SC_PARAM && b->scope != SC_CONST; }
expr emit_scratch_bytes(struct ctx *c, const struct proc *p) {
    expr here = x_int(c, 0);
    for (int i = 0; i < p->bufs.n; i++) {
        struct buf *b = p->bufs.v[i];
        if (c_local(b) && b->scope != SC_REG && !c_has_alloc(p, b) && !c_on_stack(c, b) && c_touched(p, b))
            here = x_add(c, here, round_up(c, c_local_bytes(c, b)));
    }
    return x_add(c, here, block_scratch(c, p, (struct block *)&p->body));
}

/* ---- declarations */
static bool in_registers_only(struct fe *f, const struct buf *b) {
    struct regs *r = map_get(&f->regs, PKEY(b));
    return r && !r->array;
}
void c_print_alloc(struct fe *f, struct buf *b, struct block *home) {
    if (!c_touched(f->p, b)) return;
    if (in_registers_only(f, b)) {
        c_declare_registers(f, b, map_get(&f->regs, PKEY(b)), home);
        return;
    }
    const char *type = dtype_c(b->type);
    struct sym_name *n = c_declare(f, b->name, A("%s *", type));
    n->buf = b;
    map_put(&f->bufs, PKEY(b), n);
    c_add_ptr(f, b, n, 0, NULL, NULL);
    if (f->threads && b->scope == SC_SHARED) {
        PUT("NN_SHARED(%s, %s, %s);", type, n->name, c_text(f, buf_cells(f->c, b), true));
    } else if (c_on_stack(f->c, b)) {
        int64_t bytes = 0;
        x_is_int(c_local_bytes(f->c, b), &bytes);
        int64_t cells = bytes / dtype_bytes(b->type);
        PUT("%s %s[%lld]%s;", type, n->name, (long long)(cells > 0 ? cells : 1),
            emit_gnu(f->o) ? " __attribute__((aligned(64)))" : "");
    } else {
        const char *at = c_text(f, f->ws_top, true), *ws = c_ref(f, f->ws);
        const char *p = x_is(f->ws_top, 0)
                            ? ws
                            : A("(void *)((unsigned char *)%s + %s)", ws, strpbrk(at, "+-?") ? A("(%s)", at) : at);
        PUT("%s *%s %s = (%s *)%s;", type, emit_words(f->o)->restricted, n->name, type, p);
        f->ws_top = x_add(f->c, f->ws_top, round_up(f->c, c_local_bytes(f->c, b)));
    }
    if (b->fill) {
        const char *i = names_add(&f->names, "i");
        PUT("for (%s %s = 0; %s < %s; %s++)", f->idx, i, i, c_bound(f, buf_cells(f->c, b)), i);
        struct cs v = c_storage(f, b, c_fill_value(f, b, 1));
        PUT("    %s[%s] = %s;", n->name, i, v.s);
    }
}
