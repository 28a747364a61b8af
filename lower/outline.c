/* Outlining: runs of stages in the entry become kernel procedures. Part of lowering; the kernels are then scheduled. */
#include "lower/layout.h"
#include "lower/problem/row_space.h"
#include "lower/size_names.h"
#include <string.h>

/* What a run of consecutive statements refers to. */
struct refs {
    struct lowering *l;
    VEC(struct buf *) bufs; /* in order of first use */
    VEC(expr) leaves;       /* symbols and loop variables of the entry that are free in the run */
    struct map bound;       /* variables bound inside the run */
    struct map seen, loaded, stored;
};
static void ref_buf(struct refs *r, struct buf *b);
static bool ref_leaf(void *env, expr e) {
    struct refs *r = env;
    if (e->op == X_LOAD) {
        ref_buf(r, e->u.buf);
        map_put(&r->loaded, PKEY(e->u.buf), e->u.buf);
    }
    if (e->op != X_SYM && e->op != X_VAR) return true;
    if (e->op == X_VAR && map_get(&r->bound, PKEY(e->u.var))) return true;
    if (map_get(&r->seen, PKEY(e))) return true;
    map_put(&r->seen, PKEY(e), (void *)e);
    PUSH(&r->l->c->arena, &r->leaves, e);
    return true;
}
static void ref_expr(struct refs *r, expr e) {
    x_visit_with(sizes_in_kernel(r->l->sizes, e), XF_LOAD | XF_SYM | XF_VAR, ref_leaf, r);
}
static void ref_buf(struct refs *r, struct buf *b) {
    if (map_get(&r->seen, PKEY(b))) return;
    map_put(&r->seen, PKEY(b), b);
    PUSH(&r->l->c->arena, &r->bufs, b);
    for (int k = 0; k < b->nd; k++) ref_expr(r, b->dims[k]);
}
static void ref_each(void *env, expr e) { ref_expr(env, e); }
static bool ref_stmt(void *env, struct stmt *s) {
    struct refs *r = env;
    const struct var **v;
    struct named_buf b;
    for (int k = 0; (v = stmt_var(s, k)); k++) map_put(&r->bound, PKEY(*v), s);
    for (int k = 0; stmt_buf(s, k, &b); k++) {
        if (b.use & BU_BEGINS) continue;
        ref_buf(r, b.buf);
        if (b.use & BU_READ) map_put(&r->loaded, PKEY(b.buf), b.buf);
        if (b.use & BU_WRITTEN) map_put(&r->stored, PKEY(b.buf), b.buf);
    }
    stmt_exprs(s, ref_each, r);
    return true;
}

/* ---- moving a run into a procedure */
struct renaming {
    struct ctx *c;
    struct map bufs;
    struct subst leaves;
};
static expr rename_expr(void *env, expr e) {
    struct renaming *r = env;
    if (e->op == X_VAR || e->op == X_SYM)
        return map_get(&r->leaves.map, e->op == X_VAR ? PKEY(e->u.var) : PKEY(e->u.sym));
    if (e->op != X_LOAD) return NULL;
    struct buf *b = map_get(&r->bufs, PKEY(e->u.buf));
    return b ? x_map_load(r->c, e, b, rename_expr, r) : NULL;
}
static bool rename_targets(void *env, struct stmt *s) {
    struct renaming *r = env;
    struct buf **b;
    for (int k = 0; (b = stmt_buf_at(s, k)); k++)
        if (map_get(&r->bufs, PKEY(*b))) *b = map_get(&r->bufs, PKEY(*b));
    return true;
}
static bool is_kernel_stmt(const struct stmt *s) {
    return s->kind == S_STAGE || s->kind == S_FOR || s->kind == S_STORE || s->kind == S_FOREIGN;
}

/* Is b used from the statement `from` on? */
static bool used_from(struct stmt *from, const struct buf *b) {
    for (struct stmt *s = from; s; s = s->next)
        if (s->kind != S_ALLOC && s->kind != S_FREE && stmt_uses(s, b, NULL)) return true;
    return false;
}
static enum param_dir direction(struct refs *r, struct buf *b) {
    bool in = map_get(&r->loaded, PKEY(b)), out = map_get(&r->stored, PKEY(b));
    return in && out ? DIR_INOUT : out ? DIR_OUT : DIR_IN;
}
static bool written_whole_first(struct block *run, const struct buf *b) {
    /* A buffer that the run computes completely before reading it is not an input. */
    for (struct stmt *s = run->first; s; s = s->next) {
        if (s->kind == S_STAGE && s->u.stage.buf == b) return !stmt_reads(s, b, NULL);
        if (stmt_uses(s, b, NULL)) return false;
    }
    return false;
}
/* Free variables of entry loops are passed as symbols of the kernel. */
static const struct sym *leaf_sym(struct ctx *c, expr leaf) {
    if (leaf->op == X_SYM) return leaf->u.sym;
    int64_t lo, hi;
    x_bounds(c, leaf, &lo, &hi);
    return sym_new(c, leaf->u.var->name, lo, hi, false);
}
/* Short names by role, the same in equal kernels: x inputs, w constants, y results. */
static const char *param_name(struct ctx *c, const struct buf *b, enum param_dir dir, int counts[3]) {
    int role = dir != DIR_IN ? 2 : b->data ? 1 : 0, n = counts[role]++;
    return n ? internf(c->names, "%c%d", "xwy"[role], n) : internf(c->names, "%c", "xwy"[role]);
}
/* Outlines the run [first..last], with the allocations of buffers that only it uses. */
static bool outline_run(struct lowering *l, struct block *run, struct stmt *after, struct map *local,
                        const char *name) {
    struct ctx *c = l->c;
    struct refs r = {.l = l,
                     .bound = {.arena = &c->arena},
                     .seen = {.arena = &c->arena},
                     .loaded = {.arena = &c->arena},
                     .stored = {.arena = &c->arena}};
    walk(run, ref_stmt, &r);
    struct proc *p = proc_new(c, internf(c->names, "k%d_%s", l->kernels++, name));
    struct renaming ren = {c, {.arena = &c->arena}, {{.arena = &c->arena}}};
    struct stmt *call = s_new(c, S_CALL);
    call->u.call.callee = p;
    call->u.call.args = NEWN(&c->arena, expr, r.leaves.n);
    call->u.call.bufs = NEWN(&c->arena, struct buf *, r.bufs.n);
    for (int k = 0; k < r.leaves.n; k++) {
        const struct sym *s = leaf_sym(c, r.leaves.v[k]);
        if (r.leaves.v[k]->op == X_VAR) map_put(&ren.leaves.map, PKEY(r.leaves.v[k]->u.var), (void *)x_sym(c, s));
        PUSH(&c->arena, &p->syms, s);
        call->u.call.args[call->u.call.nargs++] = sizes_argument(l->sizes, r.leaves.v[k]);
    }
    struct block locals = {0};
    int counts[3] = {0};
    for (int k = 0; k < r.bufs.n; k++) {
        struct buf *b = r.bufs.v[k], *kb;
        expr dims[32];
        for (int d = 0; d < b->nlogical; d++)
            dims[d] = x_map(c, sizes_in_kernel(l->sizes, b->logical[d]), rename_expr, &ren);
        bool mine = map_get(local, PKEY(b)) && !map_get(&l->external, PKEY(b));
        if (mine && used_from(after, b)) { /* a later run reads it, so it stays in the entry */
            map_put(&l->external, PKEY(b), b);
            mine = false;
        }
        if (mine) {
            /* named by op and numbered within the kernel, not by value, so that equal layers have equal kernels */
            const char *role = map_get(&l->roles, PKEY(b));
            kb = buf_new(c, p, role ? role : b->base, b->type, SC_ARENA, dims, b->nlogical);
            kb->base = kb->name; /* steps refer to stages by base name: an Exp and the one of a Softmax are two
                                  * stages */
            block_append(&locals, s_alloc(c, kb));
            map_put(local, PKEY(b), p); /* removed from the entry */
        } else {
            enum param_dir dir = direction(&r, b);
            if (dir == DIR_INOUT && written_whole_first(run, b)) dir = DIR_OUT;
            kb = proc_param(c, p, param_name(c, b, dir, counts), b->type, dir, dims, b->nlogical);
            kb->data = b->data, kb->within = b->within; /* schedules may pack what is constant */
            call->u.call.bufs[call->u.call.nbufs++] = b;
        }
        map_put(&ren.bufs, PKEY(b), kb);
    }
    walk(run, rename_targets, &ren);
    map_exprs(c, run, rename_expr, &ren);
    block_move(&p->body, &locals);
    block_move(&p->body, run);
    return finish_kernel(l, p, call);
}
static bool used_beside(const struct block *run, const struct stmt *s, const struct buf *b) {
    for (const struct stmt *t = run->first; t; t = t->next)
        if (t != s && stmt_uses(t, b, NULL)) return true;
    return false;
}
/* Results of the definition that the model does not use are not computed. */
static void drop_unread(struct lowering *l, struct block *run, struct stmt *after, struct map *local) {
    for (struct stmt *s = run->last, *before; s; s = before) {
        struct buf *b = s->kind == S_STAGE ? s->u.stage.buf : NULL;
        before = s->prev;
        if (!b || !map_get(local, PKEY(b)) || map_get(&l->external, PKEY(b)) || stmt_may_fault(s)) continue;
        if (used_beside(run, s, b) || used_from(after, b)) continue;
        stmt_remove(s);
        map_put(local, PKEY(b), run); /* removed from the entry */
    }
}
static bool flush_run(struct lowering *l, struct block *run, struct stmt *after, struct map *local, const char *name) {
    struct sizes shorter, *outer = l->sizes;
    bool ok = true;
    drop_unread(l, run, after, local);
    if (run->first) {
        sizes_rewrite(outer, run);
        sizes_shorten(&shorter, l, run);
        l->sizes = &shorter;
        ok = outline_run(l, run, after, local, name);
        l->sizes = outer;
    }
    *run = (struct block){0};
    return ok;
}
/* Size checks, and calls that do not touch what the run touches (borders), are moved before it, and the run
 * continues. */
static bool goes_before(struct block *run, struct stmt *s) {
    if (s->kind == S_CHECK) return checks_sizes(s);
    if (s->kind != S_CALL) return false;
    for (int k = 0; k < s->u.call.nbufs; k++)
        if (used_from(run->first, s->u.call.bufs[k])) return false;
    return true;
}
/* ---- what a sum would recompute */
/* Stages that share rows go into the loop over them, and recompute nothing. */
static bool share_rows(struct ctx *c, const struct block *run, struct stmt *s) {
    VEC(struct stmt *) stages = {0};
    struct row_space r;
    for (struct stmt *t = run->first; t; t = t->next) PUSH(&c->arena, &stages, t);
    PUSH(&c->arena, &stages, s);
    return row_space(c, stages.v, stages.n, &r);
}
/* A product of floats as they lie in memory: a contraction, unless the sum's own kernel makes a factor. */
static bool is_product(const struct stmt *s) {
    expr v = s->u.stage.value;
    return s->u.stage.op == RED_SUM && v->op == X_MUL && (v->type == F32 || v->type == F64) &&
           v->arg[0]->op == X_LOAD && v->arg[1]->op == X_LOAD;
}
/* Must the sum s, which has more axes than the run, start another kernel? If the run contains an expensive map, or one
 * that is multiplied, it would be inlined and recomputed along those axes; as a separate kernel the sum may become a
 * contraction. If the run contains a sum with other rows, no schedule does better than plain loops for both. */
static bool sums_again(const struct block *run, const struct stmt *s) {
    bool again = false;
    for (const struct stmt *t = run->first; t; t = t->next) {
        again |= t->u.stage.op != RED_NONE;
        if (stage_loops(t) >= stage_loops(s)) continue;
        again |= (costs_much(t->u.stage.value) || is_product(s)) && stmt_reads(s, t->u.stage.buf, NULL);
    }
    return again;
}
/* Index k of a load is the axis at the same position counted from the end, or belongs to a dim of 1. */
static bool is_own(expr load, int k, const struct stmt *s) {
    int axis = s->u.stage.naxes - (load->n - load->has_fill) + k;
    if (x_is(load->arg[k], 0) && x_is(load->u.buf->logical[k], 1)) return true;
    return axis >= 0 && load->arg[k]->op == X_VAR && load->arg[k]->u.var == s->u.stage.axes[axis];
}
/* Does the map `by` read other cells than its own of a sum of products in the run, or of a stage after it? A common
 * kernel would have plain loops for both. */
struct other_cells {
    const struct stmt *by;
    const struct block *run;
    bool found;
};
static bool find_other_cells(void *env, expr e) {
    struct other_cells *q = env;
    bool summed = false;
    if (e->op != X_LOAD) return true;
    for (const struct stmt *t = q->run->first; t; t = t->next) {
        summed |= is_product(t);
        if (!summed || e->u.buf != t->u.stage.buf) continue;
        for (int k = 0; k < e->n - e->has_fill; k++) q->found |= !is_own(e, k, q->by);
    }
    return true;
}
static bool reads_other_cells(const struct block *run, const struct stmt *s) {
    struct other_cells q = {s, run, false};
    x_visit(s->u.stage.value, find_other_cells, &q);
    return q.found;
}
static bool is_no_constant(void *env, expr e) {
    (void)env;
    return e->op != X_LOAD || !e->u.buf->data;
}
/* Does s add up sums that the run makes, of products by a constant? Then each of those stays in registers until it is
 * added (lower/schedule/block_sums.c). */
static bool adds_up_any(const struct block *run, const struct stmt *s) {
    for (const struct stmt *t = run->first; t; t = t->next)
        if (t->kind == S_STAGE && adds_up(s, t) && !x_visit(t->u.stage.value, is_no_constant, NULL)) return true;
    return false;
}
static bool moves_into_blocks(const struct lowering *l, const struct stmt *s) {
    const struct value_layout *lay = map_get(&l->specs, PKEY(s->u.stage.buf));
    return s->u.stage.op == RED_NONE && s->u.stage.value->op == X_LOAD && lay && lay->block;
}
/* Must s start a new kernel, although the run could include it? Not if it shares rows with the run. Parts of a tensor
 * that are moved into blocks (Split) have lanes in a kernel of their own only. */
static bool goes_on_elsewhere(const struct lowering *l, const struct block *run, struct stmt *s) {
    struct ctx *c = l->c;
    if (s->kind != S_STAGE) return false;
    for (const struct stmt *t = run->first; t; t = t->next)
        if (t->kind != S_STAGE) return false;
    if (run->last && moves_into_blocks(l, run->last) && moves_into_blocks(l, s) &&
        s->u.stage.value->u.buf != run->last->u.stage.buf)
        return true;
    if (adds_up_any(run, s)) return false;
    bool elsewhere = s->u.stage.op == RED_NONE ? reads_other_cells(run, s) : sums_again(run, s);
    return elsewhere && !share_rows(c, run, s);
}
bool outline_kernels(struct lowering *l, struct block *from, const char *name) {
    struct ctx *c = l->c;
    struct map local = {.arena = &c->arena};
    struct block allocs = {0}, run = {0};
    struct sizes sizes, *outer = l->sizes;
    use_stored(l, from);
    sizes_of_checks(&sizes, l, from);
    l->sizes = &sizes;
    for (struct stmt *s = from->first, *next; s; s = next) {
        next = s->next;
        if (s->kind == S_ALLOC) {
            if (!map_get(&l->external, PKEY(s->u.alloc.buf))) map_put(&local, PKEY(s->u.alloc.buf), s);
            stmt_remove(s);
            block_append(&allocs, s);
        }
    }
    struct block host = {0};
    struct block *old = l->block;
    l->block = &host;
    bool ok = true;
    for (struct stmt *s = from->first; s; s = s->next) /* buffers that a call of the definition uses stay in the
                                                        * entry */
        for (int k = 0; s->kind == S_CALL && k < s->u.call.nbufs; k++)
            map_put(&l->external, PKEY(s->u.call.bufs[k]), s->u.call.bufs[k]);
    for (struct stmt *s = from->first, *next; s && ok; s = next) {
        next = s->next;
        stmt_remove(s);
        bool kernel = is_kernel_stmt(s);
        if (kernel ? goes_on_elsewhere(l, &run, s) : !goes_before(&run, s)) {
            if (next) stmt_insert_before(next, s);
            else block_append(from, s);
            ok = flush_run(l, &run, s, &local, name);
            stmt_remove(s);
        }
        block_append(kernel ? &run : &host, s);
    }
    ok = ok && flush_run(l, &run, NULL, &local, name);
    l->block = old;
    l->sizes = outer;
    /* Allocations that stay in the entry go first, unless a size has to be computed before. */
    for (struct stmt *s = allocs.first, *next; s; s = next) {
        next = s->next;
        stmt_remove(s);
        if (map_get(&local, PKEY(s->u.alloc.buf)) &&
            map_get(&local, PKEY(s->u.alloc.buf)) != s) { /* moved into a kernel */
            proc_drop_buf(l->entry, s->u.alloc.buf);
            continue;
        }
        struct buf *b = s->u.alloc.buf;
        if (b->scope == SC_ARENA) b->scope = lower_scope(b->dims, b->nd);
        struct stmt *at = host.first;
        while (at && !stmt_uses(at, b, NULL)) at = at->next;
        if (at) stmt_insert_before(at, s);
        else if (map_get(&l->external, PKEY(b))) block_append(&host, s); /* without elements: nothing stores there */
    }
    for (struct stmt *s = host.first, *next; s; s = next) {
        next = s->next;
        stmt_remove(s);
        lower_stmt(l, s);
    }
    return ok;
}
