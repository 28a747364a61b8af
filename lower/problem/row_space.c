/* Which axes of a list of stages are the rows that they share; see row_space.h. P are the axes of the first reduction.
 * From there roles pass along: a buffer's dim has the role of the axes that index it, an axis that of the dims it
 * indexes. Used by group.c and schedule/rows.c. */
#include "lower/problem/row_space.h"

struct finder {
    struct ctx *c;
    struct stmt *const *stages;
    int n;
    struct row_space *r;
    struct map dims;   /* buffer -> int *roles + 3, one for each dim, 0: not known */
    struct map stored; /* buffers that a stage writes */
    struct stmt *at;   /* the stage whose loads are being examined */
    bool changed, bad;
};
int row_role(const struct row_space *r, const struct var *v) {
    intptr_t k = (intptr_t)map_get(&r->vars, PKEY(v));
    return k ? (int)k - 3 : x_is(v->extent, 1) ? ROW_UNIT : ROW_INNER;
}
static bool known(struct finder *q, const struct var *v) { return map_get(&q->r->vars, PKEY(v)) != NULL; }
static void set_role(struct finder *q, const struct var *v, int role) {
    if (x_is(v->extent, 1)) role = ROW_UNIT;
    map_put(&q->r->vars, PKEY(v), (void *)(intptr_t)(role + 3));
}
static int *dims_of(struct finder *q, const struct buf *b) {
    int *d = map_get(&q->dims, PKEY(b));
    if (!d) {
        d = NEWN(&q->c->arena, int, b->nlogical + 1);
        map_put(&q->dims, PKEY(b), d);
    }
    return d;
}
/* The one variable that e consists of, ignoring those whose only value is 0; otherwise NULL. */
static const struct var *bare(struct finder *q, expr e) {
    const struct stmt *s = q->at;
    for (int k = 0; k < s->u.stage.naxes + s->u.stage.nred; k++) {
        const struct var *v = k < s->u.stage.naxes ? s->u.stage.axes[k] : s->u.stage.red[k - s->u.stage.naxes];
        if (e->op != X_VAR && x_is(v->extent, 1)) e = x_subst1(q->c, e, v, x_int(q->c, 0));
    }
    return e->op == X_VAR ? e->u.var : NULL;
}
/* v indexes logical dim k of b: they have the same role. */
static void meet(struct finder *q, const struct var *v, const struct buf *b, int k) {
    int *dim = &dims_of(q, b)[k];
    if (x_is(v->extent, 1) || x_is(b->logical[k], 1)) return;
    if (known(q, v) && !*dim) {
        *dim = row_role(q->r, v) + 3;
        q->changed = true;
    } else if (!known(q, v) && *dim && v->extent == b->logical[k]) {
        set_role(q, v, *dim - 3);
        q->changed = true;
    }
}
static bool pass_load(void *env, expr e) {
    struct finder *q = env;
    if (e->op != X_LOAD) return true;
    for (int k = 0; k < e->n - e->has_fill; k++) {
        const struct var *v = bare(q, e->arg[k]);
        if (v) meet(q, v, e->u.buf, k);
    }
    return true;
}
static void each_stage_load(struct finder *q, bool (*fn)(void *env, expr e)) {
    x_visit(q->at->u.stage.value, fn, q);
    if (q->at->u.stage.init) x_visit(q->at->u.stage.init, fn, q);
}
static void pass_roles(struct finder *q) {
    do {
        q->changed = false;
        for (int i = 0; i < q->n; i++) {
            q->at = q->stages[i];
            for (int k = 0; k < q->at->u.stage.naxes; k++) meet(q, q->at->u.stage.axes[k], q->at->u.stage.buf, k);
            each_stage_load(q, pass_load);
        }
    } while (q->changed);
}
/* Checks that what another stage stored is read at the reader's own point of P. */
static bool check_load(void *env, expr e) {
    struct finder *q = env;
    if (e->op != X_LOAD || !map_get(&q->stored, PKEY(e->u.buf))) return true;
    const int *dims = dims_of(q, e->u.buf);
    for (int k = 0; k < e->n - e->has_fill; k++) {
        if (!dims[k] || dims[k] - 3 < 0) continue;
        const struct var *v = bare(q, e->arg[k]);
        if (!v || row_role(q->r, v) != dims[k] - 3) q->bad = true;
    }
    q->bad |= e->has_fill;
    return !q->bad;
}
/* Every axis of P is an axis of the stage, and is not reduced by it. */
static bool spans(struct finder *q) {
    unsigned seen = 0;
    const struct stmt *s = q->at;
    for (int k = 0; k < s->u.stage.naxes; k++) {
        int role = row_role(q->r, s->u.stage.axes[k]);
        if (role < 0) continue;
        if (seen & 1u << role || s->u.stage.axes[k]->extent != q->r->extent[role]) return false;
        seen |= 1u << role;
    }
    for (int k = 0; k < s->u.stage.nred; k++)
        if (row_role(q->r, s->u.stage.red[k]) >= 0) return false;
    return seen == (1u << q->r->n) - 1;
}
bool row_space(struct ctx *c, struct stmt *const *stages, int n, struct row_space *r) {
    struct finder q = {.c = c, .stages = stages, .n = n, .r = r};
    *r = (struct row_space){.vars = {.arena = &c->arena}};
    q.dims.arena = q.stored.arena = &c->arena;
    const struct stmt *first = NULL;
    for (int i = 0; i < n; i++) {
        if (!first && stages[i]->u.stage.op != RED_NONE) first = stages[i];
        map_put(&q.stored, PKEY(stages[i]->u.stage.buf), stages[i]);
    }
    if (!first || first->u.stage.naxes >= ROW_AXES) return false;
    for (int k = 0; k < first->u.stage.naxes; k++) {
        const struct var *v = first->u.stage.axes[k];
        set_role(&q, v, r->n);
        if (!x_is(v->extent, 1)) r->extent[r->n++] = v->extent;
    }
    for (int k = 0; k < first->u.stage.nred; k++) set_role(&q, first->u.stage.red[k], ROW_INNER);
    pass_roles(&q);
    for (int i = 0; i < n; i++) {
        q.at = stages[i];
        if (!spans(&q)) return false;
        each_stage_load(&q, check_load);
        if (q.bad) return false;
    }
    return true;
}
