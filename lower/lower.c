/* Lowering of regions: values to buffers, nodes to statements, results to outputs. See lower.h. */
#include "lower/lower.h"
#include <string.h>
#include "ir/define.h"
#include "ir/op.h"

void lower_stmt(struct lowering *l, struct stmt *s) { block_append(l->block, s); }
void lower_bind(struct lowering *l, struct value *v, struct buf *b) { map_put(&l->bufs, PKEY(v), b); }

/* Sizes that nodes produce put a buffer into the region: its size is not known when the plan is made. */
static bool produced_leaf(void *env, expr e) {
    (void)env;
    return !(e->op == X_SYM && e->u.sym->produced);
}
static enum scope scope_for(const expr *dims, int nd) {
    for (int k = 0; k < nd; k++)
        if (!x_visit(dims[k], produced_leaf, NULL)) return SC_REGION;
    return SC_ARENA;
}
struct buf *lower_alloc(struct lowering *l, const char *name, enum dtype t, const expr *dims, int nd) {
    struct buf *b = buf_new(l->c, l->entry, name, t, scope_for(dims, nd), dims, nd);
    lower_stmt(l, s_alloc(l->c, b));
    return b;
}
static struct buf *const_buf(struct lowering *l, struct value *v) {
    expr dims[32];
    for (int k = 0; k < v->type.rank; k++) dims[k] = v->type.dims[k];
    struct buf *b = buf_new(l->c, l->entry, *v->name ? v->name : "const", v->type.dtype, SC_CONST, dims, v->type.rank);
    b->data = v->init;
    lower_bind(l, v, b);
    return b;
}
struct buf *lower_buf(struct lowering *l, struct value *v) {
    struct buf *b = map_get(&l->bufs, PKEY(v));
    if (b) return b;
    if (v->init) return const_buf(l, v);
    b = lower_alloc(l, *v->name ? v->name : "t", v->type.dtype, v->type.dims, v->type.rank);
    lower_bind(l, v, b);
    return b;
}

/* ---- copies */
static bool emit_stage(struct lowering *l, struct buf *dst, const struct var **axes, int naxes, expr value, const char *name) {
    struct block b = {0};
    block_append(&b, s_stage(l->c, dst, axes, naxes, RED_NONE, NULL, 0, NULL, value));
    return outline_kernels(l, &b, name, NULL);
}
void lower_copy(struct lowering *l, struct buf *dst, struct buf *src) {
    const struct var *axes[32];
    expr idx[32];
    for (int k = 0; k < dst->nd; k++) {
        axes[k] = var_new(l->c, internf(l->c->names, "i%d", k), dst->dims[k]);
        idx[k] = x_var(l->c, axes[k]);
    }
    emit_stage(l, dst, axes, dst->nd, x_load(l->c, src, idx, src->nd, NULL), "copy");
}
/* One nest of stores: the slice of dst at dst_at along dst_axis (-1: all of dst) from the slice of src. */
void lower_copy_slice(struct lowering *l, struct buf *dst, expr dst_at, int dst_axis, struct buf *src, expr src_at, int src_axis) {
    struct ctx *c = l->c;
    expr di[32], si[32];
    const struct var *vars[32];
    int nv = 0;
    for (int k = 0; k < dst->nd; k++) {
        if (k == dst_axis) {
            di[k] = dst_at;
            continue;
        }
        vars[nv] = var_new(c, internf(c->names, "copy.i%d", nv), dst->dims[k]);
        di[k] = x_var(c, vars[nv++]);
    }
    for (int k = 0, v = 0; k < src->nd; k++) si[k] = k == src_axis ? src_at : x_var(c, vars[v++]);
    struct stmt *s = s_store(c, dst, di, dst->nd, RED_NONE, x_load(c, src, si, src->nd, NULL));
    while (nv--) {
        struct stmt *loop = s_for(c, vars[nv], LK_SERIAL);
        block_append(&loop->u.loop.body, s);
        s = loop;
    }
    struct block b = {0};
    block_append(&b, s);
    outline_kernels(l, &b, dst_axis >= 0 ? "put" : "slice", NULL);
}

/* ---- nodes */
static struct buf *buf_of(void *env, struct value *v) { return lower_buf(env, v); }
static const char *kernel_name(struct ctx *c, const struct node *n) {
    struct text t = {0};
    for (const char *s = n->op_type; *s; s++) text_char(&t, *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s);
    const char *r = intern(c->names, t.s ? t.s : "node");
    text_free(&t);
    return r;
}
/* Used by a node outside of n, or a result of the region. */
static void mark_external(struct lowering *l, struct node *n) {
    for (int k = 0; k < n->outs.n; k++) {
        struct value *v = n->outs.v[k];
        struct buf *b = v ? map_get(&l->bufs, PKEY(v)) : NULL;
        if (b && v->uses.n) map_put(&l->external, PKEY(b), b);
    }
}
static bool lower_node(struct lowering *l, struct node *n) {
    if (n->op && n->op->control) return n->op->control->lower(l, n);
    if (!n->op || !n->op->define) {
        diag_at(&l->c->diags, DIAG_ERROR, E_OP, NULL, n->origin, "operator %s cannot be lowered", n->op_type);
        return false;
    }
    struct block stmts = {0}, *outer = l->block;
    l->block = &stmts; /* buffers made for the node's results are allocated among its statements, after their sizes */
    bool ok = def_emit(l->g, n, l->m, l->entry, &stmts, buf_of, l);
    l->block = outer;
    mark_external(l, n);
    return ok && outline_kernels(l, &stmts, kernel_name(l->c, n), n->origin);
}
bool lower_region(struct lowering *l, struct region *r) {
    for (struct node *n = r->first; n; n = n->next)
        if (!lower_node(l, n)) return false;
    return true;
}

/* ---- the entry */
static struct buf *entry_param(struct lowering *l, struct value *v, enum param_dir dir, const char *fallback) {
    return proc_param(l->c, l->entry, *v->name ? v->name : fallback, v->type.dtype, dir, v->type.dims, v->type.rank);
}
static bool is_tensor(struct lowering *l, struct value *v, const char *what) {
    if (v->type.kind == TY_TENSOR && v->type.rank >= 0) return true;
    diag(&l->c->diags, DIAG_ERROR, v->type.kind == TY_TENSOR ? E_RANK : E_TYPE, "%s %s is not a tensor of known rank", what, diag_quote(&l->c->arena, v->name));
    return false;
}
/* A result gets its own parameter; the value is produced right into it when nothing else is it. */
static bool bind_results(struct lowering *l, struct region *top, struct buf **outs) {
    for (int k = 0; k < top->results.n; k++) {
        struct value *v = top->results.v[k];
        if (!is_tensor(l, v, "output")) return false;
        outs[k] = entry_param(l, v, DIR_OUT, "output");
        if (!v->init && !v->param_of && !map_get(&l->bufs, PKEY(v))) lower_bind(l, v, outs[k]);
    }
    return true;
}
static void input_syms(struct lowering *l) {
    for (int k = 0; k < l->g->syms.n; k++)
        if (l->g->syms.v[k]->lo != l->g->syms.v[k]->hi) PUSH(&l->c->arena, &l->entry->syms, l->g->syms.v[k]);
}
struct module *lower_graph(struct graph *g, const struct lower_options *o) {
    struct ctx *c = g->ctx;
    struct lowering l = {.c = c, .g = g, .m = module_new(c), .o = o, .bufs = {.arena = &c->arena}, .external = {.arena = &c->arena}};
    struct region *top = g->top;
    l.entry = proc_new(c, "entry");
    l.m->entry = l.entry;
    l.block = &l.entry->body;
    input_syms(&l);
    for (int k = 0; k < top->params.n; k++) {
        if (!is_tensor(&l, top->params.v[k], "input")) return NULL;
        lower_bind(&l, top->params.v[k], entry_param(&l, top->params.v[k], DIR_IN, "input"));
    }
    struct buf **outs = NEWN(&c->arena, struct buf *, top->results.n + 1);
    if (!bind_results(&l, top, outs) || !lower_region(&l, top)) return NULL;
    for (int k = 0; k < top->results.n; k++) {
        struct buf *b = lower_buf(&l, top->results.v[k]);
        if (b != outs[k]) lower_copy(&l, outs[k], b);
    }
    if (!o->no_schedule)
        for (int k = 0; k < l.m->procs.n; k++)
            if (!l.m->procs.v[k]->is_kernel_text) schedule_kernel(c, l.m->procs.v[k], o->target);
    return loop_verify(l.m, "lowering") ? l.m : NULL;
}
