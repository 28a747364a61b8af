/* Changes the statements of a chain to compute one tile, in loops over all tiles. See chain.h. */
#include "lower/chain_tiling.h"
#include "lower/layout.h"

/* The first cell of the tile. Tiles that do not divide their axis overlap, so that all passes are alike; what is
 * computed twice has the same value. Equal positions get the same name, so that equal layers have equal kernels. */
static const struct sym *place_of_tile(struct lowering *l, int axis, int64_t last) {
    const char *name = internf(l->c->names, "from%d", axis);
    for (int k = 0; k < l->froms.n; k++)
        if (l->froms.v[k]->name == name && l->froms.v[k]->hi == last) return l->froms.v[k];
    const struct sym *s = sym_new(l->c, name, 0, last, true);
    PUSH(&l->c->arena, &l->froms, s);
    return s;
}
expr lower_tile_loop(struct lowering *l, const char *name, int number, expr passes, int64_t tile, expr extent) {
    struct ctx *c = l->c;
    int64_t n;
    const struct var *v = var_new(c, internf(c->names, "%s%d", name, number), passes);
    struct stmt *loop = s_for(c, v, LK_SERIAL);
    lower_stmt(l, loop);
    l->block = &loop->u.loop.body;
    expr from = x_muli(c, x_var(c, v), tile);
    if (!x_is_int(extent, &n) || n % tile == 0) return from;
    struct stmt *s = s_new(c, S_SIZE);
    s->u.size.sym = place_of_tile(l, number, n - tile);
    s->u.size.lo = x_int(c, 0), s->u.size.hi = x_int(c, n - tile);
    s->u.size.value = x_min(c, from, x_int(c, n - tile));
    lower_stmt(l, s);
    return x_sym(c, s->u.size.sym);
}
static void enter_loops(struct tiling *t) {
    for (int k = 0; k < t->naxes; k++)
        if (!is_whole(t, k))
            t->axes[k].from = lower_tile_loop(t->l, "tile", k, t->axes[k].passes, t->axes[k].tile, t->axes[k].extent);
}
/* A view of b's tile; axis: of each of the first n dims, -1: the dim is not cut. */
static struct buf *view_tile(struct tiling *t, struct buf *b, const int *axis, int n) {
    struct lowering *l = t->l;
    expr dims[32], at[32];
    for (int k = 0; k < b->nd; k++) at[k] = x_int(l->c, 0);
    for (int k = 0; k < b->nlogical; k++) {
        bool whole = k >= n || axis[k] < 0 || is_whole(t, axis[k]);
        dims[k] = whole ? b->logical[k] : x_int(l->c, t->axes[axis[k]].tile);
        if (!whole) at[k] = t->axes[axis[k]].from;
    }
    struct buf *v = buf_new(l->c, l->entry, b->base, b->type, SC_ARENA, dims, b->nlogical);
    if (map_get(&l->halves, PKEY(b))) map_put(&l->halves, PKEY(v), map_get(&l->halves, PKEY(b)));
    if (map_get(&l->external, PKEY(b))) map_put(&l->external, PKEY(v), v);
    struct value_layout *lay = map_get(&l->specs, PKEY(b));
    if (lay) lower_give_layout(l, v, lay);
    struct stmt *s = s_new(l->c, S_VIEW);
    s->u.view.buf = v, s->u.view.of = b, s->u.view.off = buf_offset(l->c, b, at);
    lower_stmt(l, s);
    return v;
}
static struct buf *view_result(struct tiling *t) {
    int axis[32];
    axes_of_result(t, axis);
    return view_tile(t, t->result, axis, t->result->nlogical);
}
struct change {
    struct tiling *t;
    struct buf *tile;        /* of the result */
    struct map inside, real; /* axis of a stage -> its expression in a tile, and in the whole buffer */
};
static expr change_expr(void *env, expr e) {
    struct change *q = env;
    struct ctx *c = q->t->l->c;
    if (e->op == X_VAR) return map_get(&q->real, PKEY(e->u.var));
    if (e->op != X_LOAD) return NULL;
    struct buf *b = e->u.buf == q->t->result ? q->tile : e->u.buf;
    int own = made_of(q->t, e->u.buf) ? b->nlogical : 0; /* dims that exist only for one tile */
    for (int k = 0; k < q->t->operands.n; k++) {
        struct operand_view *o = q->t->operands.v[k];
        if (o->buf == e->u.buf && o->view) b = o->view, own = o->dims;
    }
    expr at[32];
    for (int k = 0; k < b->nlogical; k++) {
        expr inside = k < own && e->arg[k]->op == X_VAR ? map_get(&q->inside, PKEY(e->arg[k]->u.var)) : NULL;
        at[k] = inside ? inside : x_map(c, e->arg[k], change_expr, q);
    }
    expr fill = e->has_fill ? x_map(c, e->arg[e->n - 1], change_expr, q) : NULL;
    return x_load(c, b, at, b->nlogical, fill);
}
static void change_stage(struct change *q, struct stmt *s) {
    struct tiling *t = q->t;
    struct ctx *c = t->l->c;
    stmt_own_arrays(c, s);
    for (int k = 0; k < s->u.stage.naxes; k++) {
        int a = axis_of_dim(t, s->u.stage.buf, k);
        if (a < 0 || is_whole(t, a)) continue;
        const struct var *old = s->u.stage.axes[k];
        s->u.stage.axes[k] = var_new(c, old->name, x_int(c, t->axes[a].tile));
        expr own = x_var(c, s->u.stage.axes[k]);
        map_put(&q->inside, PKEY(old), (void *)own);
        map_put(&q->real, PKEY(old), (void *)x_add(c, t->axes[a].from, own));
    }
    s->u.stage.value = x_map(c, s->u.stage.value, change_expr, q);
    if (s->u.stage.init) s->u.stage.init = x_map(c, s->u.stage.init, change_expr, q);
    if (s->u.stage.buf == t->result) s->u.stage.buf = q->tile;
}
static void shrink(const struct tiling *t, struct buf *b) {
    for (int k = 0; k < b->nlogical; k++) {
        int a = axis_of_dim(t, b, k);
        if (a >= 0 && !is_whole(t, a)) b->logical[k] = b->dims[k] = x_int(t->l->c, t->axes[a].tile);
    }
}
/* Moves to before the loops: copies that the links read, and the allocation of the result. */
static void move_before(struct tiling *t) {
    for (int k = t->from; k < t->end; k++) {
        struct link *link = t->chain->links.v[k];
        block_move(t->l->block, &link->before);
        for (struct stmt *s = link->stmts.first, *next; s; s = next) {
            next = s->next;
            if (s->kind != S_ALLOC || s->u.alloc.buf != t->result) continue;
            stmt_remove(s);
            lower_stmt(t->l, s);
        }
    }
}
void make_tiles(struct tiling *t) {
    struct change q = {t, NULL, {.arena = &t->l->c->arena}, {.arena = &t->l->c->arena}};
    move_before(t);
    enter_loops(t);
    q.tile = view_result(t);
    for (int k = 0; k < t->operands.n; k++) {
        struct operand_view *o = t->operands.v[k];
        if (o->dims) o->view = view_tile(t, o->buf, o->axis, o->dims);
    }
    for (int k = 0; k < t->stages.n; k++) change_stage(&q, t->stages.v[k]);
    for (int k = 0; k < t->made.n; k++)
        if (t->made.v[k].buf != t->result) shrink(t, t->made.v[k].buf);
}
