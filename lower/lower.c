/* Lowering of regions: values to buffers, nodes to statements, results to outputs. See lower.h. */
#include "lower/lower.h"
#include "ir/define/define.h"
#include "ir/graph/op.h"
#include "lower/algorithm/constants.h"
#include "lower/chain.h"
#include "lower/group.h"
#include "lower/layout.h"
#include "lower/machine/machine.h"
#include "lower/narrow.h"
#include "lower/packing.h"
#include "lower/schedule/schedule.h"
#include "lower/schedule/steps.h"
#include <string.h>

void lower_stmt(struct lowering *l, struct stmt *s) { block_append(l->block, s); }
void lower_bind(struct lowering *l, struct value *v, struct buf *b) { map_put(&l->bufs, PKEY(v), b); }

/* If nodes produce the sizes, the buffer lies in the region: its size is unknown when the memory plan is made. */
enum scope lower_scope(const expr *dims, int nd) {
    for (int k = 0; k < nd; k++)
        if (x_has(dims[k], XF_PRODUCED)) return SC_REGION;
    return SC_ARENA;
}
struct buf *lower_alloc_in(struct lowering *l, enum scope scope, const char *name, enum dtype t, const expr *dims,
                           int nd) {
    struct buf *b = buf_new(l->c, l->entry, name, t, scope, dims, nd);
    lower_stmt(l, s_alloc(l->c, b));
    return b;
}
struct buf *lower_alloc(struct lowering *l, const char *name, enum dtype t, const expr *dims, int nd) {
    return lower_alloc_in(l, lower_scope(dims, nd), name, t, dims, nd);
}
static struct buf *const_buf(struct lowering *l, struct value *v) {
    expr dims[32];
    for (int k = 0; k < v->type.rank; k++) dims[k] = v->type.dims[k];
    struct buf *b = buf_new(l->c, l->entry, *v->name ? v->name : "const", v->type.dtype, SC_CONST, dims, v->type.rank);
    b->data = v->init;
    if (map_get(&l->narrow, PKEY(v))) narrow_buf(l, b);
    if (b->type != v->type.dtype) {
        b->data = tensor_as(l->c, v->init, b->type);
        map_put(&l->given, PKEY(b), (void *)v->init);
    }
    lower_bind(l, v, b);
    return b;
}
/* Applies the layout step to the buffer, which nothing uses yet. */
void lower_give_layout(struct lowering *l, struct buf *b, struct value_layout *lay) {
    struct ctx *c = l->c;
    int steps = l->entry->steps.n;
    struct step step;
    for (int k = 0; k < l->entry->bufs.n; k++) /* the step applies to all buffers of one base name */
        if (l->entry->bufs.v[k]->base == b->name) l->entry->bufs.v[k]->base = l->entry->bufs.v[k]->name;
    b->base = b->name;
    if (!layout_parse(c, l->entry, lay->spec, b->base, &step) || !step_do(c, l->entry, &step))
        BUG("layout %s does not apply", lay->spec);
    l->entry->steps.n = steps;
    map_put(&l->specs, PKEY(b), lay);
}
void lower_lay_out(struct lowering *l, struct buf *to, const struct buf *like, int64_t add, int block) {
    const struct value_layout *lay = map_get(&l->specs, PKEY(like)), plain = {0};
    if (!lay) lay = &plain;
    struct value_layout *r =
        layout_changed(l->c, lay, like->nlogical, lay->fill + (double)add, lay->block ? lay->block : block);
    if (r->spec) lower_give_layout(l, to, r);
}
static struct buf *own_buf(struct lowering *l, struct value *v) {
    struct buf *b = lower_alloc(l, *v->name ? v->name : "t", v->type.dtype, v->type.dims, v->type.rank);
    lower_bind(l, v, b);
    struct value_layout *lay = layout_of_value(l, v);
    if (lay && lay->spec) lower_give_layout(l, b, lay);
    return b;
}
struct buf *lower_buf(struct lowering *l, struct value *v) {
    struct buf *b = map_get(&l->bufs, PKEY(v));
    if (b && b != map_get(&l->results, PKEY(v))) return b;
    return v->init ? const_buf(l, v) : own_buf(l, v);
}

/* ---- copies */
void outline_statement(struct lowering *l, struct stmt *s, const char *name) {
    struct block b = {0};
    block_append(&b, s);
    outline_kernels(l, &b, name);
}
bool lower_same_dims(const struct buf *a, const struct buf *b) {
    for (int k = 0; k < a->nlogical; k++)
        if (a->logical[k] != b->logical[k]) return false;
    return true;
}
/* For sizes that are equal at run time but have different names: copies each element of src that has room in dst. */
static void copy_guarded(struct lowering *l, struct buf *dst, struct buf *src) {
    struct ctx *c = l->c;
    const struct var *vars[32];
    expr from[32], to[32];
    vars_over(c, "copy.i", src->logical, src->nlogical, vars, from);
    for (int k = 0; k < src->nlogical; k++) to[k] = x_guard(c, from[k], dst->logical[k]);
    struct stmt *s = s_store(c, dst, to, dst->nlogical, RED_NONE, x_load(c, src, from, src->nlogical, NULL));
    outline_statement(l, s_nest(c, vars, src->nlogical, s), "copy");
}
void lower_copy(struct lowering *l, struct buf *dst, struct buf *src) {
    const struct var *axes[32];
    expr idx[32];
    if (!lower_same_dims(dst, src)) {
        copy_guarded(l, dst, src);
        return;
    }
    vars_over(l->c, "i", dst->logical, dst->nlogical, axes, idx);
    expr value = x_load(l->c, src, idx, src->nlogical, NULL);
    outline_statement(l, s_stage(l->c, dst, axes, dst->nlogical, RED_NONE, NULL, 0, NULL, value), "copy");
}
/* One nest of stores, from the slice of src to the slice of dst at dst_at along dst_axis (-1: all of dst). */
void lower_copy_slice(struct lowering *l, struct buf *dst, expr dst_at, int dst_axis, struct buf *src, expr src_at,
                      int src_axis) {
    struct ctx *c = l->c;
    expr di[32], si[32] = {0};
    const struct var *vars[32];
    int nv = 0;
    for (int k = 0; k < dst->nlogical; k++) {
        if (k == dst_axis) {
            di[k] = dst_at;
            continue;
        }
        vars[nv] = var_new(c, internf(c->names, "copy.i%d", nv), dst->logical[k]);
        di[k] = x_var(c, vars[nv++]);
    }
    for (int k = 0, v = 0; k < src->nlogical; k++) si[k] = k == src_axis ? src_at : x_var(c, vars[v++]);
    struct stmt *s = s_store(c, dst, di, dst->nlogical, RED_NONE, x_load(c, src, si, src->nlogical, NULL));
    outline_statement(l, s_nest(c, vars, nv, s), dst_axis >= 0 ? "put" : "slice");
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
/* Results that are read outside of the group stay buffers of the entry, and so do those that nothing in the group
 * uses. */
static bool used_outside(struct lowering *l, const struct groups *gs, const struct group *gr, const struct value *v) {
    bool inside = false;
    for (int k = 0; k < v->uses.n; k++) {
        const struct use *u = &v->uses.v[k];
        bool own = !u->region && map_get(&gs->of_node, PKEY(u->node)) == gr;
        if (!own && use_reads(l->probes, u)) return true;
        inside |= own;
    }
    return v->uses.n && !inside;
}
static void note_results(struct lowering *l, const struct groups *gs, const struct group *gr, struct node *n) {
    for (int k = 0; k < n->outs.n; k++) {
        struct value *v = n->outs.v[k];
        struct buf *b = v ? map_get(&l->bufs, PKEY(v)) : NULL;
        if (b) map_put(&l->roles, PKEY(b), (void *)kernel_name(l->c, n));
        if (b && used_outside(l, gs, gr, v)) map_put(&l->external, PKEY(b), b);
    }
}
static const char *group_nodes(struct lowering *l, const struct group *gr) {
    struct text t = {0};
    for (int k = 0; k < gr->views.n; k++) text_printf(&t, "%s\n", gr->views.v[k]->origin);
    for (int k = 0; k < gr->nodes.n; k++) text_printf(&t, "%s%s", k ? "\n" : "", gr->nodes.v[k]->origin);
    const char *r = intern(l->c->names, t.s ? t.s : "");
    text_free(&t);
    return r;
}
static void note_view(struct lowering *l, const struct node *n) {
    for (int k = 0; k < l->m->sources.n; k++)
        if (l->m->sources.v[k].origin == n->origin) l->m->sources.v[k].why = "the cells of its operand, in other dims";
}
static void copy_for(struct lowering *l, const struct node *n, struct buf *dst, struct buf *src) {
    const char *nodes = l->nodes, *origin = l->origin;
    l->nodes = l->origin = n->origin;
    lower_copy(l, dst, src);
    l->nodes = nodes, l->origin = origin;
}
/* Does one of the definition's checks say that a and b are equal? Not for long expressions: the verifier substitutes
 * others in them first, and may not find that equality again. */
static bool checked_equal(struct lowering *l, struct node *n, expr a, expr b) {
    enum { LONG = 20 };
    expr apart = x_sub(l->c, a, b);
    if (x_count(apart, LONG) == LONG) return false;
    for (struct stmt *s = classify_node(l->probes, n)->stmts.first; s; s = s->next) {
        expr cond = s->kind == S_CHECK ? s->u.check.cond : NULL;
        if (!cond || cond->op != X_EQ || cond->arg[0]->type != IDX) continue;
        expr told = x_sub(l->c, cond->arg[0], cond->arg[1]);
        if (told == apart || told == x_muli(l->c, apart, -1)) return true;
    }
    return false;
}
static void lower_checks(struct lowering *l, struct node *n) {
    for (struct stmt *s = classify_node(l->probes, n)->stmts.first; s; s = s->next) {
        if (s->kind != S_CHECK) continue;
        struct stmt *t = s_new(l->c, S_CHECK);
        t->u.check = s->u.check;
        lower_stmt(l, t);
    }
}
/* Reshapes, and slices of the outermost axis, share the storage of their operand and need no kernel (rules 1 and 2 of
 * docs/storage.md). */
static bool lower_view(struct lowering *l, struct node *n) {
    int operand;
    expr off;
    struct value *v = n->outs.n == 1 ? n->outs.v[0] : NULL;
    struct value_layout *lay = v ? layout_of_value(l, v) : NULL;
    struct buf *given = v ? map_get(&l->bufs, PKEY(v)) : NULL; /* where it has to be stored: then a kernel copies it
                                                                * there */
    if (!v || (given && !node_divides(l->probes, n)) || (lay && lay->spec) ||
        !node_is_view(l->probes, n, &operand, &off))
        return false;
    struct buf *bytes = lower_buf(l, n->ins.v[operand]), *of = lower_stored(l, bytes);
    if (!buf_is_plain(of) || of->scope == SC_REGION) return false;
    expr cells = x_int(l->c, 1);
    for (int k = v->type.rank; k-- > 0;)
        cells = x_mul(l->c, cells, v->type.dims[k]); /* in the form in which the
                                                      * verifier multiplies */
    expr end = x_add(l->c, off, cells), room = buf_cells(l->c, of);
    if (!x_proves_le(l->c, x_int(l->c, 0), off) || (!x_proves_le(l->c, end, room) && !checked_equal(l, n, end, room)))
        return false; /* the sizes cannot be compared, so it is copied */
    if (of->type != narrow_type(l, v) && (value_leaves(l, v) || map_get(&l->narrow, PKEY(v)))) return false;
    struct buf *b =
        buf_new(l->c, l->entry, *v->name ? v->name : "view", of->type, SC_ARENA, v->type.dims, v->type.rank);
    struct buf *known = of == bytes ? b : lower_known_as(l, b, v->type.dtype);
    if (map_get(&l->halves, PKEY(of))) map_put(&l->halves, PKEY(b), map_get(&l->halves, PKEY(of)));
    struct stmt *s = s_new(l->c, S_VIEW);
    s->u.view.buf = b, s->u.view.of = of, s->u.view.off = off;
    note_view(l, n);
    lower_checks(l, n);
    lower_stmt(l, s);
    if (given) copy_for(l, n, given, known);
    else lower_bind(l, v, known);
    return true;
}
/* From now on n reads a plain copy of this operand. */
static void lower_plain_copy(struct lowering *l, struct node *n, int operand) {
    struct value *v = n->ins.v[operand];
    struct buf *of = lower_buf(l, v), *b;
    if (lower_stored(l, of) != of || of->scope == SC_REGION) return;
    b = lower_alloc(l, of->name, of->type, v->type.dims, v->type.rank);
    if (map_get(&l->halves, PKEY(of))) map_put(&l->halves, PKEY(b), map_get(&l->halves, PKEY(of)));
    copy_for(l, n, b, of);
    lower_bind(l, v, b);
}
static bool lower_group(struct lowering *l, const struct groups *gs, const struct group *gr);
/* A view cannot be read through if its operand has blocks or a border, or if the reader has tiles in shared memory,
 * since these lie along other axes. Then it becomes a kernel after all. */
static bool stays_kernel(struct lowering *l, struct node *n) {
    int k;
    bool inner, part;
    struct value_layout *lay = node_permutes(l->probes, n, &k, &inner, &part) ? layout_of_value(l, n->ins.v[k]) : NULL;
    return (lay && lay->spec) || l->o->target->machine->gpu;
}
/* Lowers such a view to a kernel, before the group that reads it. */
static bool lower_view_kernel(struct lowering *l, const struct groups *gs, struct node *n) {
    struct group alone = {.cls = CLASS_VIEW, .anchor = n};
    struct link *link = l->link;
    PUSH(&l->c->arena, &alone.nodes, n);
    l->link = NULL;
    bool ok = lower_group(l, gs, &alone);
    l->link = link;
    return ok;
}
/* Lowers the views that the group reads through: only their stages are kept, over buffers that do not exist. */
static bool lower_views(struct lowering *l, const struct groups *gs, const struct group *gr) {
    bool ok = true;
    for (int k = 0; k < gr->views.n && ok; k++) {
        struct node *n = gr->views.v[k];
        struct block stmts = {0}, *outer = l->block;
        if (map_get(&l->bufs, PKEY(n->outs.v[0]))) continue;
        if (stays_kernel(l, n)) {
            ok = lower_view_kernel(l, gs, n);
            continue;
        }
        l->block = &stmts;
        ok = def_emit(l->g, n, l->m, l->entry, &stmts, buf_of, l);
        l->block = outer;
        struct buf *b = map_get(&l->bufs, PKEY(n->outs.v[0]));
        for (struct stmt *s = stmts.first; s && ok; s = s->next)
            if (s->kind == S_STAGE && s->u.stage.buf == b) map_put(&l->through, PKEY(b), s);
        if (ok) proc_drop_buf(l->entry, b);
    }
    return ok;
}
/* Replaces reads of a view by reads of its operand with permuted indices. An index outside of one is outside of the
 * other, and gives the same fill value. */
static expr read_through(void *env, expr e) {
    struct lowering *l = env;
    const struct stmt *view = e->op == X_LOAD ? map_get(&l->through, PKEY(e->u.buf)) : NULL;
    struct subst at = {{.arena = &l->c->arena}};
    for (int k = 0; view && k < view->u.stage.naxes; k++)
        map_put(&at.map, PKEY(view->u.stage.axes[k]), (void *)x_map(l->c, e->arg[k], read_through, l));
    if (!view) return NULL;
    expr r = x_subst(l->c, view->u.stage.value, &at);
    return e->has_fill ? x_load(l->c, r->u.buf, r->arg, r->n, e->arg[e->n - 1]) : r;
}
/* A zero point that is the same for all cells becomes a number in the kernel, so that bounds of what is computed with
 * it are known. */
static expr read_number(void *env, expr e) {
    struct ctx *c = env;
    const struct buf *b = e->op == X_LOAD ? e->u.buf : NULL;
    bool number = b && b->data && dtype_is_byte(b->type) && tensor_count(b->data) == 1 && !e->has_fill;
    return number ? x_const_i(c, I32, tensor_i(b->data, 0)) : NULL;
}
static bool lower_control(struct lowering *l, struct node *n) {
    const char *nodes = l->nodes, *origin = l->origin;
    l->nodes = l->origin = n->origin;
    bool ok = n->op->control->lower(l, n);
    l->nodes = nodes, l->origin = origin;
    return ok;
}
/* Makes the kernels of a group's statements; `faulty`: its first node that can fault. */
static bool outline_group(struct lowering *l, struct block *stmts, const struct group *gr, const struct node *faulty) {
    const char *nodes = l->nodes, *origin = l->origin;
    l->nodes = group_nodes(l, gr), l->origin = faulty ? faulty->origin : gr->anchor->origin;
    bool ok = lower_statements(l, stmts, gr->anchor->name, kernel_name(l->c, gr->anchor));
    l->nodes = nodes, l->origin = origin;
    return ok;
}
static struct node_names alone(const struct lowering *l) { return (struct node_names){l->o->alone, l->o->nalone}; }
static bool stands_alone(const struct lowering *l, const struct node *n) {
    struct node_names names = alone(l);
    return l->o->no_fuse || node_named(&names, n);
}
static bool lower_statements_of(struct lowering *l, const struct groups *gs, const struct group *gr);
/* The group reads plain copies, and its results are copied to their final layouts. */
static bool lower_on_copies(struct lowering *l, const struct groups *gs, const struct group *gr) {
    struct node *last = gr->nodes.v[gr->nodes.n - 1];
    struct value *x = gr->anchor->ins.v[0], *y = last->outs.v[0];
    struct value_layout *lay = layout_of_value(l, y);
    struct buf *as_made = lower_buf(l, x), *as_read = lay && lay->spec ? lower_buf(l, y) : NULL;
    if (!buf_is_plain(as_made)) lower_plain_copy(l, gr->anchor, 0);
    if (as_read) lower_bind(l, y, lower_alloc(l, as_read->name, as_read->type, y->type.dims, y->type.rank));
    bool ok = lower_statements_of(l, gs, gr);
    lower_bind(l, x, as_made);
    if (!ok || !as_read) return ok;
    copy_for(l, last, as_read, lower_buf(l, y));
    lower_bind(l, y, as_read);
    return true;
}
/* The view that makes v, of those that the group would read through; NULL: none does. */
static struct node *view_of(const struct group *gr, const struct value *v) {
    for (int k = 0; k < gr->views.n; k++)
        if (gr->views.v[k]->outs.v[0] == v) return gr->views.v[k];
    return NULL;
}
/* Gives the group's product a packed copy of this factor. If the factor is a view that needs no storage, because only
 * this product uses it or all others read through it, the copy is made by the view itself. *as_made: what others read;
 * NULL: nobody does. */
static bool lower_packed_copy(struct lowering *l, const struct groups *gs, const struct group *gr,
                              const struct packed_factor *f, struct buf **as_made) {
    struct value *v = f->value;
    struct buf *known = map_get(&l->bufs, PKEY(v));
    bool read_before = known && map_get(&l->through, PKEY(known));
    struct node *view = known && !read_before ? NULL : view_of(gr, v);
    bool itself = view && (read_before || v->uses.n == 1);
    if (view && !itself && !lower_view_kernel(l, gs, view)) return false;
    *as_made = itself ? known : lower_buf(l, v);
    if (*as_made && map_get(&l->specs, PKEY(*as_made)) == f->layout) return true;
    struct buf *b = lower_alloc(l, *v->name ? v->name : "packed", v->type.dtype, v->type.dims, v->type.rank);
    narrow_buf(l, b);
    lower_give_layout(l, b, f->layout);
    if (!itself) copy_for(l, gr->anchor, b, *as_made);
    lower_bind(l, v, b);
    return !itself || lower_view_kernel(l, gs, view);
}
/* A product whose rows are in blocks reads plain copies. */
static bool lower_product(struct lowering *l, const struct groups *gs, const struct group *gr) {
    enum { FACTORS = 2 };
    struct node *n = gr->anchor;
    const struct packed_factor *packed = map_get(&l->packed, PKEY(n));
    struct buf *as_made[FACTORS] = {NULL};
    for (int k = 0; k < FACTORS && k < n->ins.n; k++) {
        if (packed && n->ins.v[k] == packed->value) {
            if (!lower_packed_copy(l, gs, gr, packed, &as_made[k])) return false;
        } else if (rows_in_blocks(l, n, k) && !buf_is_plain(lower_buf(l, n->ins.v[k]))) {
            as_made[k] = lower_buf(l, n->ins.v[k]);
            lower_plain_copy(l, n, k);
        }
    }
    bool ok = lower_statements_of(l, gs, gr);
    for (int k = 0; k < FACTORS; k++)
        if (as_made[k]) lower_bind(l, n->ins.v[k], as_made[k]);
    return ok;
}
static bool lower_group(struct lowering *l, const struct groups *gs, const struct group *gr) {
    struct node *first = gr->nodes.v[0];
    int operand;
    if (first->op && first->op->control) return lower_control(l, first);
    if (gr->cls == CLASS_WINDOW && !l->o->no_schedule && slides_along_channels(l, gr->anchor))
        return lower_on_copies(l, gs, gr);
    bool packs = gr->anchor && map_get(&l->packed, PKEY(gr->anchor));
    if ((gr->cls == CLASS_CONTRACT || packs) && !l->o->no_schedule) return lower_product(l, gs, gr);
    if (gr->cls != CLASS_VIEW || gr->nodes.n != 1 || stands_alone(l, first) ||
        !decide(l->c, "%.*s is a view", OWN_ORIGIN(first)))
        return lower_statements_of(l, gs, gr);
    bool copies = reads_plain_copy(l, first, &operand);
    struct value *read = copies ? first->ins.v[operand] : NULL;
    struct buf *as_made = copies ? lower_buf(l, read) : NULL;
    if (copies) lower_plain_copy(l, first, operand);
    bool ok = lower_view(l, first) || lower_statements_of(l, gs, gr);
    if (copies) lower_bind(l, read, as_made);
    return ok;
}
static bool lower_statements_of(struct lowering *l, const struct groups *gs, const struct group *gr) {
    const struct node *faulty = NULL;
    struct block stmts = {0}, *outer = l->block;
    bool ok = lower_views(l, gs, gr);
    l->block = &stmts; /* results are allocated among the group's statements, after their sizes */
    for (int k = 0; k < gr->nodes.n && ok; k++) {
        struct node *n = gr->nodes.v[k];
        if (!n->op || !n->op->define) {
            diag_node(&l->c->diags, DIAG_ERROR, E_OP, n->origin, "operator %s cannot be lowered", n->op_type);
            ok = false;
            break;
        }
        struct stmt *before = stmts.last;
        ok = def_emit(l->g, n, l->m, l->entry, &stmts, buf_of, l);
        for (struct stmt *s = before ? before->next : stmts.first; s && !faulty; s = s->next)
            if (stmt_may_fault(s)) faulty = n;
        note_results(l, gs, gr, n);
        if (ok) choose_stored(l, n);
        if (ok) narrow_results(l, n, &stmts);
    }
    l->block = outer;
    if (ok && !l->o->no_schedule) map_exprs(l->c, &stmts, read_number, l->c);
    if (ok && gr->views.n) map_exprs(l->c, &stmts, read_through, l);
    if (ok) widen_halves(l, &stmts, gr);
    if (ok && l->link) {
        block_move(&l->link->stmts, &stmts);
        l->link->faulty = faulty;
        return true;
    }
    return ok && outline_group(l, &stmts, gr, faulty);
}
/* Makes the statements of each group first; then turns them into kernels, which run once or in loops over tiles. */
static bool make_links(struct lowering *l, const struct groups *gs, const struct positions *at, struct chain *chain) {
    struct block *outer = l->block;
    bool ok = true;
    for (int k = 0; k < at->at.n && ok; k++) {
        struct link *link = NEW(&l->c->arena, struct link);
        link->group = gs->list.v[at->at.v[k]];
        PUSH(&l->c->arena, &chain->links, link);
        l->link = link, l->block = &link->before;
        ok = lower_group(l, gs, link->group);
    }
    l->link = NULL, l->block = outer;
    return ok;
}
static bool lower_chain(struct lowering *l, const struct groups *gs, const struct positions *at) {
    struct chain chain = {0};
    struct block *outer = l->block;
    bool ok = make_links(l, gs, at, &chain);
    for (int k = 0, tiled; k < chain.links.n && ok; k += tiled ? tiled : 1) {
        tiled = tile_chain(l, &chain, k);
        for (int i = k; i < k + (tiled ? tiled : 1) && ok; i++) {
            struct link *link = chain.links.v[i];
            block_move(l->block, &link->before);
            ok = outline_group(l, &link->stmts, link->group, link->faulty);
        }
        l->block = outer;
    }
    return ok;
}
static void copy_result(struct lowering *l, const char *name, struct buf *to, struct buf *from) {
    l->nodes = internf(l->c->names, "output %s", diag_quote(&l->c->arena, name));
    lower_copy(l, to, from);
    l->nodes = NULL;
}
static void copy_results_of(struct lowering *l, const struct group *gr) {
    for (int i = 0; i < gr->nodes.n; i++)
        for (int k = 0; k < gr->nodes.v[i]->outs.n; k++) {
            struct value *v = gr->nodes.v[i]->outs.v[k];
            struct buf *b = v ? map_get(&l->results, PKEY(v)) : NULL;
            if (b) copy_result(l, b->name, b, lower_buf(l, v));
        }
}
/* Groups between the links of a chain do not read from it, so they are computed before it, including their own
 * chains. */
static bool lower_range(struct lowering *l, const struct groups *gs, struct map *done, int from, int end, int depth) {
    enum { DEEPEST = 32 }; /* of chains within chains; deeper ones are not tiled */
    for (int k = from; k < end; k++) {
        struct positions at = {0};
        if (map_get(done, PKEY(gs->list.v[k]))) continue;
        if (depth < DEEPEST) find_chain(l, gs, k, end, done, &at);
        map_put(done, PKEY(gs->list.v[k]), done);
        for (int i = 1; i < at.at.n; i++) map_put(done, PKEY(gs->list.v[at.at.v[i]]), done);
        bool chain = at.at.n > 1;
        if (!chain && !lower_group(l, gs, gs->list.v[k])) return false;
        if (chain && !lower_range(l, gs, done, k + 1, at.at.v[at.at.n - 1], depth + 1)) return false;
        if (chain && !lower_chain(l, gs, &at)) return false;
        copy_results_of(l, gs->list.v[k]);
        for (int i = 1; i < at.at.n; i++) copy_results_of(l, gs->list.v[at.at.v[i]]);
    }
    return true;
}
static bool lower_groups(struct lowering *l, const struct groups *gs) {
    struct map done = {.arena = &l->c->arena};
    return lower_range(l, gs, &done, 0, gs->list.n, 0);
}
/* A parameter's buffer is plain; readers that want a border, or blocks, read a copy that has them, in the type that
 * they want. */
static void pad_param(struct lowering *l, struct value *v) {
    struct value_layout *lay = layout_of_value(l, v);
    bool narrow = map_get(&l->narrow, PKEY(v)), padded = lay && lay->spec;
    if (!padded && narrow_type(l, v) == v->type.dtype) return;
    enum dtype wanted = narrow ? NONE : lower_wanted(l, v);
    struct buf *plain = lower_buf(l, v),
               *b = lower_alloc(l, *v->name ? v->name : "padded", wanted == NONE ? v->type.dtype : wanted, v->type.dims,
                                v->type.rank);
    if (narrow) narrow_buf(l, b);
    else widen_half(l, b);
    if (padded) lower_give_layout(l, b, lay);
    if (wanted != NONE) b = lower_known_as(l, b, v->type.dtype);
    if (padded) map_put(&l->specs, PKEY(b), lay);
    const char *nodes = l->nodes, *how = padded ? "with room around it" : "rounded";
    if (!nodes) l->nodes = internf(l->c->names, "input %s, %s", diag_quote(&l->c->arena, v->name), how);
    lower_copy(l, b, plain);
    l->nodes = nodes;
    lower_bind(l, v, b);
}
/* A result with another layout than the caller expects is made in a separate buffer, allocated when it is made, since
 * its sizes may only be known at run time; and copied as soon as it exists. */
static void make_elsewhere(struct lowering *l, struct value *v) {
    struct value_layout *lay = layout_of_value(l, v);
    struct buf *b = map_get(&l->bufs, PKEY(v));
    if (!lay || !lay->spec || !b || b->scope != SC_PARAM || !v->def) return;
    map_put(&l->results, PKEY(v), b);
}
bool lower_region(struct lowering *l, struct region *r) {
    struct groups *gs =
        group_region(l->probes, r, l->o->target ? l->o->target->machine : NULL, !l->o->no_fuse, alone(l));
    choose_layouts(l, r, gs);
    if (!l->o->no_fuse && decide(l->c, "copies are joined")) join_copies(l, gs);
    if (l->o->groups) groups_print(l->o->groups, gs);
    remark_region(l, r, gs);
    for (int k = 0; k < gs->list.n; k++) PUSH(&l->c->arena, &l->from->groups, gs->list.v[k]);
    for (int k = 0; k < r->params.n; k++) pad_param(l, r->params.v[k]);
    for (int k = 0; k < r->results.n; k++) make_elsewhere(l, r->results.v[k]);
    return lower_groups(l, gs);
}

/* ---- the entry */
static struct buf *entry_param(struct lowering *l, struct value *v, enum param_dir dir, const char *fallback) {
    return proc_param(l->c, l->entry, *v->name ? v->name : fallback, v->type.dtype, dir, v->type.dims, v->type.rank);
}
static bool is_tensor(struct lowering *l, struct value *v, const char *what) {
    if (v->type.kind == TY_TENSOR && v->type.rank >= 0) return true;
    diag(&l->c->diags, DIAG_ERROR, v->type.kind == TY_TENSOR ? E_RANK : E_TYPE, "%s %s is not a tensor of known rank",
         what, diag_quote(&l->c->arena, v->name));
    return false;
}
/* Sizes that If and loops produce are set several times in a run; buffers with such dims must lie in the region. */
static void note_changing(void *env, struct node *n) {
    struct map *changing = env;
    for (int k = 0; n->op && n->op->control && k < n->syms.n; k++) map_put(changing, PKEY(n->syms.v[k]), n);
}
/* The type of output k, `name`, with dims that are set only once, at the end. *ends gets the sizes to set then. */
static struct type final_type(struct lowering *l, const struct type *t, const char *name, struct map *changing,
                              struct map *ends) {
    expr dims[32];
    for (int d = 0; d < t->rank; d++) {
        dims[d] = t->dims[d];
        if (!x_uses_any(dims[d], changing)) continue;
        int64_t lo, hi;
        const struct sym *s = map_get(ends, PKEY(dims[d]));
        if (!s) {
            x_bounds(l->c, dims[d], &lo, &hi);
            s = sym_new(l->c, internf(l->c->names, "%s_d%d", name, d), lo < 0 ? 0 : lo, hi, true);
            map_put(ends, PKEY(dims[d]), (void *)s);
        }
        dims[d] = x_sym(l->c, s);
    }
    return type_tensor(l->c, t->dtype, dims, t->rank);
}
/* The name that the model gives to the result: the value may have another one. */
static const char *result_name(const struct lowering *l, int k) {
    const char *name = k < l->g->outputs.n ? l->g->outputs.v[k] : l->g->top->results.v[k]->name;
    return *name ? name : "output";
}
/* Each result gets a parameter. The value is computed directly into it unless it is also something else. */
static bool bind_results(struct lowering *l, struct region *top, struct buf **outs) {
    struct map changing = {.arena = &l->c->arena}, ends = {.arena = &l->c->arena};
    each_node(top, note_changing, &changing);
    for (int k = 0; k < top->results.n; k++) {
        struct value *v = top->results.v[k];
        if (!is_tensor(l, v, "output")) return false;
        struct type t = final_type(l, &v->type, *v->name ? v->name : result_name(l, k), &changing, &ends);
        outs[k] = proc_param(l->c, l->entry, result_name(l, k), t.dtype, DIR_OUT, t.dims, t.rank);
        bool own = type_equal(&t, &v->type);
        if (own && !v->init && !v->param_of && !map_get(&l->bufs, PKEY(v))) lower_bind(l, v, outs[k]);
    }
    return true;
}
/* Sets the sizes of the output that are only known now. */
static void set_final_sizes(struct lowering *l, const struct type *from, const struct buf *to, struct map *done) {
    for (int d = 0; d < from->rank; d++) {
        if (from->dims[d] == to->dims[d] || map_get(done, PKEY(to->dims[d]))) continue;
        map_put(done, PKEY(to->dims[d]), (void *)to);
        const struct sym *s = to->dims[d]->u.sym;
        struct stmt *st = s_new(l->c, S_SIZE);
        st->u.size.sym = s;
        st->u.size.lo = x_int(l->c, s->lo), st->u.size.hi = x_int(l->c, s->hi);
        st->u.size.value = from->dims[d];
        lower_stmt(l, st);
    }
}
static void finish_results(struct lowering *l, struct region *top, struct buf *const *outs) {
    struct map done = {.arena = &l->c->arena};
    for (int k = 0; k < top->results.n; k++) {
        struct buf *b = lower_buf(l, top->results.v[k]);
        if (b == outs[k] || map_get(&l->results, PKEY(top->results.v[k])) == outs[k]) continue;
        set_final_sizes(l, &top->results.v[k]->type, outs[k], &done);
        copy_result(l, result_name(l, k), outs[k], b);
    }
}
static void input_syms(struct lowering *l) {
    for (int k = 0; k < l->g->syms.n; k++)
        if (l->g->syms.v[k]->lo != l->g->syms.v[k]->hi) PUSH(&l->c->arena, &l->entry->syms, l->g->syms.v[k]);
}
/* Removes constants that are now only used in packed form, or not at all. */
struct used_bufs {
    struct map m;
};
static bool note_use(void *env, struct stmt *s) {
    struct used_bufs *u = env;
    if (s->kind == S_VIEW) map_put(&u->m, PKEY(s->u.view.of), s);
    if (s->kind == S_CALL)
        for (int k = 0; k < s->u.call.nbufs; k++) map_put(&u->m, PKEY(s->u.call.bufs[k]), s);
    return true;
}
static void note_load(void *env, const struct stmt *s, expr load) {
    struct used_bufs *u = env;
    (void)s;
    map_put(&u->m, PKEY(load->u.buf), load->u.buf);
}
static void drop_unused_consts(struct lowering *l) {
    struct used_bufs u = {{.arena = &l->c->arena}};
    walk(&l->entry->body, note_use, &u);
    each_load(&l->entry->body, note_load, &u);
    for (int k = l->entry->bufs.n; k--;) {
        struct buf *b = l->entry->bufs.v[k];
        if (b->scope == SC_CONST && !map_get(&u.m, PKEY(b))) proc_drop_buf(l->entry, b);
    }
}
static const char *call_origin(void *env, const struct stmt *call) {
    return map_get(&((struct lowering *)env)->origins, PKEY(call));
}
/* Schedules kernels that are texts; those of stages were scheduled when their groups were lowered. */
static void schedule_texts(struct lowering *l) {
    for (int k = 0; k < l->m->procs.n; k++) {
        struct proc *p = l->m->procs.v[k];
        if (!p->is_kernel_text) continue;
        schedule_as_asked(l, p, NULL);
        const char *why = map_get(&l->text_whys, PKEY(p));
        if (l->o->choices && why) text_add(l->o->choices, why);
    }
}
struct module *lower_graph(struct graph *g, const struct lower_options *o) {
    struct ctx *c = g->ctx;
    struct lowering l = {.c = c,
                         .g = g,
                         .m = module_new(c),
                         .o = o,
                         .bufs = {.arena = &c->arena},
                         .external = {.arena = &c->arena},
                         .layouts = {.arena = &c->arena},
                         .roles = {.arena = &c->arena},
                         .through = {.arena = &c->arena},
                         .specs = {.arena = &c->arena},
                         .halves = {.arena = &c->arena},
                         .narrow = {.arena = &c->arena},
                         .narrowed = {.arena = &c->arena},
                         .within = {.arena = &c->arena},
                         .packed = {.arena = &c->arena},
                         .stored = {.arena = &c->arena},
                         .widened = {.arena = &c->arena},
                         .results = {.arena = &c->arena},
                         .given = {.arena = &c->arena},
                         .origins = {.arena = &c->arena},
                         .parts = {.arena = &c->arena},
                         .text_whys = {.arena = &c->arena}};
    struct region *top = g->top;
    int errors = c->diags.errors;
    if (o->choices && !o->no_schedule) text_printf(o->choices, "machine %s\n", o->target->machine->name);
    l.known = kernel_list_new(c);
    l.probes = probes_new(g);
    l.entry = proc_new(c, "entry");
    l.m->entry = l.entry;
    l.m->taken = g->taken, l.m->given = g->given, l.m->kept = g->kept;
    l.m->sources = trace_end(g);
    l.m->from = l.from = NEW(&c->arena, struct lowered);
    l.from->graph = g;
    l.block = &l.entry->body;
    input_syms(&l);
    for (int k = 0; k < top->params.n; k++) {
        if (!is_tensor(&l, top->params.v[k], "input")) return NULL;
        lower_bind(&l, top->params.v[k], entry_param(&l, top->params.v[k], DIR_IN, "input"));
    }
    struct buf **outs = NEWN(&c->arena, struct buf *, top->results.n + 1);
    if (!bind_results(&l, top, outs) || !lower_region(&l, top)) return NULL;
    finish_results(&l, top, outs);
    l.from->bufs = l.bufs;
    kernels_describe(&l);
    drop_dead_kernels(l.m);
    drop_unused_consts(&l);
    settle_texts(l.m);
    if (!o->no_schedule) schedule_texts(&l);
    bool ok = proc_guard(l.m, l.entry, "lowering", call_origin, &l) && loop_verify(l.m, "lowering");
    return ok && c->diags.errors == errors ? l.m : NULL; /* copies continue after an error */
}
