/* The step reorder: permutes the loops of perfect nests, if the order of iterations that touch the same cell does not
 * matter. */
#include "lower/schedule/steps_util.h"
#include <string.h>

static int position(struct step_run *s, const char *name) {
    const struct word_list *loops = &s->step->u.reorder.loops;
    for (int k = 0; k < loops->n; k++)
        if (!strcmp(loops->v[k], name)) return k;
    return -1;
}
struct pair {
    const struct var *outer, *inner;
};
struct pairs {
    struct pair *v;
    int n, cap;
};
/* Accesses x (a store) and y of one buffer: is the order of iterations that touch the same cell unchanged when the
 * pairs of loops are exchanged? */
static bool order_kept(struct step_run *s, const struct access *x, const struct access *y, const struct vars *moving,
                       const struct pairs *inverted) {
    struct meet m = step_meet(s, x->idx, y->idx, x->n, moving);
    if (m.never) return true;
    for (int k = 0; k < inverted->n; k++) {
        if (has_var(&m.fixed, inverted->v[k].outer) || has_var(&m.fixed, inverted->v[k].inner)) continue;
        const char *a = inverted->v[k].outer->name, *b = inverted->v[k].inner->name;
        if (x->op != RED_NONE && y->store && y->op == x->op) { /* parts of one reduction commute */
            bool sum = x->op == RED_SUM || x->op == RED_PROD;
            s->reassociates |= sum && dtype_is_float(dtype_value(x->buf->type));
            continue;
        }
        if (y->store)
            return step_refuse(s, "keep the order of these loops, or reorder before the step that made them overlap",
                               "iterations of `%s` and `%s` store the same cell of `%s`: the last value would change",
                               a, b, x->buf->name);
        return step_refuse(s, "keep the order of these loops",
                           "`%s` is stored and read across iterations of `%s` and `%s`", x->buf->name, a, b);
    }
    return true;
}
static bool reorder_legal(struct step_run *s, const struct stmts *chain, const struct pairs *inverted) {
    struct block *top = &chain->v[0]->u.loop.body, *leaf = leaf_of(chain);
    struct stmt *bad = opaque_in(s, leaf);
    struct vars moving = {0};
    struct accesses a = {0};
    if (bad)
        return step_refuse(s, "reorder before the step that put it there", "there is %s inside the nest of `%s`",
                           stmt_what(bad), chain->v[0]->u.loop.var->name);
    PUSH(&s->tmp, &moving, chain->v[0]->u.loop.var);
    vars_below(s, top, &moving);
    accesses_of(s, leaf, &a);
    for (int k = 0; k < a.n; k++) {
        if (!a.v[k].store || block_allocs(leaf, a.v[k].buf)) continue;
        for (int j = 0; j < a.n; j++)
            if (a.v[j].buf == a.v[k].buf && !order_kept(s, &a.v[k], &a.v[j], &moving, inverted)) return false;
    }
    return true;
}
/* Permutes the named loops of the perfect nest below `head`. changed: it held two that were in another order. */
static bool reorder_nest(struct step_run *s, struct stmt *head, int *found) {
    struct stmts chain = {0};
    struct pairs inverted = {0};
    int at[64], n = 0;
    chain_of(s, head, &chain);
    for (int k = 0; k < chain.n; k++)
        if (position(s, chain.v[k]->u.loop.var->name) >= 0) {
            if (n == 64) return step_refuse(s, NULL, "more than 64 loops");
            at[n++] = k;
        }
    if (n < 2) return true;
    ++*found;
    const struct stmt *sorted[64];
    for (int k = 0; k < n; k++) { /* insertion sort: few loops, stable */
        int p = position(s, chain.v[at[k]]->u.loop.var->name), j = k;
        for (; j > 0 && position(s, sorted[j - 1]->u.loop.var->name) > p; j--) sorted[j] = sorted[j - 1];
        sorted[j] = chain.v[at[k]];
    }
    struct {
        const struct var *var;
        enum loop_kind kind;
        bool outline, piped;
        int64_t grain;
    } put[64];
    for (int k = 0; k < n; k++) {
        put[k].var = sorted[k]->u.loop.var, put[k].kind = sorted[k]->u.loop.kind;
        put[k].outline = sorted[k]->u.loop.outline, put[k].piped = sorted[k]->u.loop.piped;
        put[k].grain = sorted[k]->u.loop.grain;
        for (int j = 0; j < k; j++) { /* j will be outside of k; was it inside? */
            struct pair was = {sorted[k]->u.loop.var, sorted[j]->u.loop.var};
            if (encloses(sorted[k], sorted[j])) PUSH(&s->tmp, &inverted, was);
        }
    }
    if (!inverted.n) return true;
    struct vars mine = {0};
    for (int k = 0; k < chain.n; k++) PUSH(&s->tmp, &mine, chain.v[k]->u.loop.var);
    for (int k = 0; k < chain.n; k++)
        if (uses_any(chain.v[k]->u.loop.var->extent, &mine))
            return step_refuse(s, "reorder only loops whose extents do not depend on each other",
                               "the extent of `%s` depends on a loop of the nest", chain.v[k]->u.loop.var->name);
    if (!reorder_legal(s, &chain, &inverted)) return false;
    bool independent = true, assumed = false; /* loops stay independent only if all of them are */
    for (int k = 0; k < n; k++) independent &= sorted[k]->u.loop.independent, assumed |= sorted[k]->u.loop.assumed;
    for (int k = 0; k < n; k++) {
        struct stmt *t = chain.v[at[k]];
        t->u.loop.var = put[k].var, t->u.loop.kind = put[k].kind, t->u.loop.outline = put[k].outline,
        t->u.loop.piped = put[k].piped, t->u.loop.grain = put[k].grain;
        t->u.loop.independent = independent, t->u.loop.assumed = independent && assumed;
    }
    return true;
}
/* Named loops that enclose each other must now be in order; if not, another statement stands between them. */
static bool in_order(struct step_run *s, struct stmt *t) {
    int p = position(s, t->u.loop.var->name);
    struct stmt *fork = NULL;
    for (struct stmt *up = stmt_parent(t), *from = t; up; from = up, up = stmt_parent(up)) {
        if (from->prev || from->next || up->kind != S_FOR) fork = up;
        if (up->kind != S_FOR || position(s, up->u.loop.var->name) <= p) continue;
        return step_refuse(s, "reorder before cutting splits and compute_at, which make nests imperfect",
                           "`%s` cannot move inside `%s`: %s%s%s holds more than the next loop", up->u.loop.var->name,
                           t->u.loop.var->name, fork && fork->kind == S_FOR ? "loop `" : "",
                           fork && fork->kind == S_FOR ? fork->u.loop.var->name : "an `if` between them",
                           fork && fork->kind == S_FOR ? "`" : "");
    }
    return true;
}
bool apply_reorder(struct step_run *s) {
    struct stmts all = {0};
    int found = 0;
    const struct word_list *loops = &s->step->u.reorder.loops;
    for (int k = 0; k < loops->n; k++) {
        struct stmts l = {0};
        if (position(s, loops->v[k]) != k) return step_refuse(s, NULL, "`%s` is named twice", loops->v[k]);
        if (!find_loops(s, loops->v[k], &l)) return false;
    }
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++) { /* heads of perfect nests */
        struct stmt *up = stmt_parent(all.v[k]);
        if (all.v[k]->kind != S_FOR || instr_around(all.v[k]) ||
            (up && up->kind == S_FOR && !all.v[k]->prev && !all.v[k]->next))
            continue;
        if (!reorder_nest(s, all.v[k], &found)) return false;
    }
    bool nested = false;
    for (int k = 0; k < all.n; k++) {
        if (all.v[k]->kind != S_FOR || instr_around(all.v[k]) || position(s, all.v[k]->u.loop.var->name) < 0) continue;
        if (!in_order(s, all.v[k])) return false;
        for (struct stmt *up = stmt_parent(all.v[k]); up; up = stmt_parent(up))
            nested |= up->kind == S_FOR && position(s, up->u.loop.var->name) >= 0;
    }
    if (!found && !nested)
        return step_refuse(s, "reorder before cutting splits, which make nests imperfect",
                           "no nest holds two of these loops");
    return true;
}
