/* Which axes the stages of a chain have in common, according to their indices alone: two dims are the same axis if a
 * stage reads one where it writes the other. An axis can be tiled if every buffer that the chain makes has it exactly
 * once, if no stage reads elsewhere along it or reduces it, and if it is an outermost dim of the result. See
 * chain.h. */
#include "lower/chain_tiling.h"

static int root_of(const struct tiling *t, int dim) {
    while (t->axis.v[dim] != dim) dim = t->axis.v[dim];
    return dim;
}
struct made *made_of(const struct tiling *t, const struct buf *b) {
    intptr_t n = (intptr_t)map_get(&t->number, PKEY(b));
    return n ? &t->made.v[n - 1] : NULL;
}
static void unite(struct tiling *t, int a, int b) {
    a = root_of(t, a), b = root_of(t, b);
    t->axis.v[b] = a;
    t->apart.v[a] |= t->apart.v[b];
}
static int axis_at(const struct stmt *s, expr index) { /* -1: it is not an axis of the stage */
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (index->op == X_VAR && index->u.var == s->u.stage.axes[k]) return k;
    return -1;
}
int axis_of_dim(const struct tiling *t, const struct buf *b, int k) {
    for (int a = 0; a < t->naxes; a++)
        if (root_of(t, made_of(t, b)->first + k) == t->axes[a].axis) return a;
    return -1;
}
int axis_of_index(const struct tiling *t, expr index) {
    int k = axis_at(t->stage, index);
    return k < 0 ? -1 : axis_of_dim(t, t->stage->u.stage.buf, k);
}
void axes_of_result(const struct tiling *t, int axis[32]) {
    for (int k = 0; k < t->result->nlogical; k++) axis[k] = axis_of_dim(t, t->result, k);
}
bool visit_stages(struct tiling *t, bool (*fn)(void *env, expr e), void *env) {
    for (int k = 0; k < t->stages.n; k++) {
        t->stage = t->stages.v[k];
        if (!x_visit(t->stage->u.stage.value, fn, env)) return false;
        if (t->stage->u.stage.init && !x_visit(t->stage->u.stage.init, fn, env)) return false;
    }
    return true;
}
static bool note_load(void *env, expr e) {
    struct tiling *t = env;
    const struct made *from = e->op == X_LOAD ? made_of(t, e->u.buf) : NULL, *to = made_of(t, t->stage->u.stage.buf);
    for (int k = 0; from && k < from->buf->nlogical; k++) {
        int axis = axis_at(t->stage, e->arg[k]);
        bool same = axis >= 0 && from->buf->logical[k] == to->buf->logical[axis];
        if (same) unite(t, from->first + k, to->first + axis);
        else t->apart.v[root_of(t, from->first + k)] = true;
    }
    return true;
}
static bool note_made(struct tiling *t, const struct stmt *s, int link) {
    struct buf *b = s->u.stage.buf;
    if (made_of(t, b) || !buf_is_plain(b) || lower_stored(t->l, b) != b || s->u.stage.naxes != b->nlogical)
        return false;
    struct made m = {b, t->axis.n, link};
    PUSH(&t->l->c->arena, &t->made, m);
    map_put(&t->number, PKEY(b), (void *)(intptr_t)t->made.n);
    for (int k = 0; k < b->nlogical; k++) {
        PUSH(&t->l->c->arena, &t->axis, m.first + k);
        PUSH(&t->l->c->arena, &t->apart, false);
    }
    return true;
}
static bool unite_dims(struct tiling *t) {
    for (int k = t->from; k < t->end; k++)
        for (struct stmt *s = t->chain->links.v[k]->stmts.first; s; s = s->next) {
            if (s->kind == S_ALLOC) continue;
            if (s->kind != S_STAGE || stmt_may_fault(s) || !note_made(t, s, k)) return false;
            PUSH(&t->l->c->arena, &t->stages, s);
        }
    return visit_stages(t, note_load, t);
}
/* How many dims of m lie along the axis. */
static int dims_along(const struct tiling *t, const struct made *m, int axis) {
    int n = 0;
    for (int k = 0; k < m->buf->nlogical; k++) n += root_of(t, m->first + k) == axis;
    return n;
}
static bool all_have(const struct tiling *t, int axis) {
    if (t->apart.v[axis]) return false;
    for (int k = 0; k < t->made.n; k++)
        if (dims_along(t, &t->made.v[k], axis) != 1) return false;
    return true;
}
/* Finds the only buffer that is read outside of the chain, which the last link makes. Buffers that other links read lie
 * between links. */
static bool find_result(struct tiling *t) {
    double most = 0;
    for (int k = 0; k < t->made.n; k++) {
        struct buf *b = t->made.v[k].buf;
        if (b->scope == SC_ARENA && !map_get(&t->l->external, PKEY(b))) continue;
        if (t->made.v[k].link == t->end - 1) {
            if (t->result) return false;
            t->result = b;
            continue;
        }
        double bytes = chain_bytes(t->l->c, b->dims, b->nd, b->type);
        if (!t->largest || bytes > most) t->largest = b, most = bytes;
        t->between += bytes;
    }
    return t->result && t->largest;
}
bool find_tiled_axes(struct tiling *t) {
    if (!unite_dims(t) || !find_result(t)) return false;
    const struct made *r = made_of(t, t->result);
    for (int k = 0; k < r->buf->nlogical && t->naxes < AXES_MOST; k++) {
        expr extent = r->buf->logical[k];
        int axis = root_of(t, r->first + k);
        if (x_is(extent, 1)) continue;
        if (x_is(extent, 0) || !all_have(t, axis)) break;
        t->axes[t->naxes].axis = axis, t->axes[t->naxes].extent = extent;
        t->axes[t->naxes++].passes = x_int(t->l->c, 1);
    }
    return t->naxes > 0;
}
