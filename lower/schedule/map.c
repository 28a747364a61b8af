/* Strategies for maps and moves into blocked results: the block of channels innermost, as one vector. See cpu.h. */
#include "lower/schedule/cpu.h"

static const char *no_blocks(struct plan *u, const struct buf *b) {
    const struct param_layout *ly = b ? layout_of(u->p, u->l, b) : NULL;
    if (lanes_of(u) < 2) return "there are no vectors";
    return ly && ly->block == lanes_of(u) ? NULL : "the result has no blocks of channels";
}
static const char *map_points(struct plan *u, struct points *out) {
    const struct problem *k = u->k;
    if (k->nreductions || k->nresults != 1) return "not maps alone, with one result";
    const char *why = no_blocks(u, k->out->u.stage.buf);
    if (why) return why;
    if (!lanes_fit(k->out)) return "the number of channels is open";
    add_point(u, out, &strategy_blocked_map);
    return NULL;
}
static const char *map_steps(struct plan *u, const struct point *p) {
    (void)p;
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    plan_channels(u, u->k->out, NULL);
    plan_widen(u, NULL, u->k->out);
    blocked_nest(u, u->k->out, lanes_of(u), NULL);
    text_add(&u->s, "kind vector cv\n");
    return NULL;
}
const struct strategy strategy_blocked_map = {"blocked map", map_points, map_steps, NULL};

/* ---- nests of stores (Concat): their loops have the names of their axes, the same in each */
enum { NEST_MAX = 32 };
static int first_nest(struct plan *u, const char *axis[NEST_MAX], const struct buf **to) {
    const struct stmt *first = u->p->body.first;
    int n = 0;
    *to = NULL;
    while (first && first->kind == S_ALLOC) first = first->next;
    for (const struct stmt *f = first; f && f->kind == S_FOR && n < NEST_MAX; f = f->u.loop.body.first) {
        axis[n++] = f->u.loop.var->name;
        const struct stmt *in = f->u.loop.body.first;
        if (in && in->kind == S_STORE) *to = in->u.store.buf;
    }
    return n;
}
static const char *nests_points(struct plan *u, struct points *out) {
    const char *axis[NEST_MAX];
    const struct buf *to;
    int n = first_nest(u, axis, &to);
    const char *why = no_blocks(u, to);
    if (why) return why;
    if (n < 2) return "there is no axis of channels";
    add_point(u, out, &strategy_nests);
    return NULL;
}
static const char *nests_steps(struct plan *u, const struct point *p) {
    const char *axis[NEST_MAX] = {0};
    const struct buf *to;
    int n = first_nest(u, axis, &to);
    (void)p;
    layout_steps(&u->s, u->p, u->l);
    text_printf(&u->s, "split %s %d cb cv\nreorder %s cb", axis[1], lanes_of(u), axis[0]);
    for (int k = 2; k < n; k++) text_printf(&u->s, " %s", axis[k]);
    text_add(&u->s, " cv\nkind vector cv\n");
    return NULL;
}
const struct strategy strategy_nests = {"blocked nests", nests_points, nests_steps, NULL};
