/* Part of the step kind: loads of vector loops where sizes are open. If an index depends on a test that is the same for
 * all lanes (broadcast one cell of an operand, or read neighbours), the load becomes a select between loads, each of
 * which can be a vector; and the guards of all lanes become one. */
#include "lower/schedule/steps_util.h"

enum { CHOICES = 3 }; /* nested selects made of one load: at most 8 loads */
struct lanes {
    struct ctx *c;
    const struct var *v;
    int64_t n;
    int choices; /* how many more selects may be made */
};
static bool on_lane(const struct lanes *q, expr e) { return x_uses_var(q->c, e, q->v); }

/* ---- selects */
struct search {
    const struct lanes *q;
    expr found;
};
static bool is_no_choice(void *env, expr e) {
    struct search *s = env;
    bool chooses = e->op == X_SELECT && e->type == IDX && !on_lane(s->q, e->arg[0]) && on_lane(s->q, e);
    if (chooses) s->found = e;
    return !chooses;
}
/* A select in the load's indices whose condition is the same in all lanes, but whose value is not; NULL: none. */
static expr find_choice(const struct lanes *q, expr load) {
    struct search s = {q, NULL};
    for (int k = 0; k < load->n - load->has_fill && !s.found; k++) x_visit(load->arg[k], is_no_choice, &s);
    return s.found;
}
/* Replaces the select by one of its arms. In the arm where a size equals a number, guards compare with the number. */
struct arm {
    struct ctx *c;
    expr choice, is, size, number;
};
static expr take_arm(void *env, expr e) {
    const struct arm *a = env;
    if (e == a->choice) return a->is;
    return e->op == X_GUARD && e->arg[1] == a->size ? x_guard(a->c, x_map(a->c, e->arg[0], take_arm, env), a->number)
                                                    : NULL;
}
static expr with_arm(struct lanes *q, expr load, expr choice, int k) {
    struct arm a = {q->c, choice, choice->arg[k], NULL, NULL};
    expr cond = choice->arg[0];
    if (cond->op == X_EQ && k == 1)
        for (int side = 0; side < 2; side++)
            if (cond->arg[side]->op == X_CONST) a.number = cond->arg[side], a.size = cond->arg[1 - side];
    return x_map_load(q->c, load, load->u.buf, take_arm, &a);
}

/* ---- guards */
/* One guard for all lanes: the first index must be inside, with all lanes after it. If it is not, the guard yields the
 * first cells, which exist, so that reading all lanes is safe. */
static expr guard_all(void *env, expr e) {
    const struct lanes *q = env;
    int64_t step;
    expr first;
    if (e->op != X_GUARD || on_lane(q, e->arg[1]) || !x_linear_in(q->c, e->arg[0], q->v, &step, &first)) return NULL;
    if (step < 1 || step > LANES_APART) return NULL;
    expr at = x_guard(q->c, first, x_addi(q->c, e->arg[1], -step * (q->n - 1)));
    return x_add(q->c, at, x_muli(q->c, x_var(q->c, q->v), step));
}

static expr all_lanes(struct lanes *q, expr load) {
    expr choice = q->choices ? find_choice(q, load) : NULL;
    if (!choice) return x_map_load(q->c, load, load->u.buf, guard_all, q);
    q->choices--;
    expr a = all_lanes(q, with_arm(q, load, choice, 1)), b = all_lanes(q, with_arm(q, load, choice, 2));
    q->choices++;
    return x_select(q->c, choice->arg[0], a, b);
}
/* Conditions and selects that differ between lanes are left alone, because only some lanes may evaluate the
 * operands. */
static bool is_own(const struct lanes *q, expr e) {
    return (e->op == X_SELECT || (e->type == BOOL && (e->op == X_AND || e->op == X_OR))) && on_lane(q, e->arg[0]);
}
static expr read_by_all(void *env, expr e) {
    struct lanes *q = env;
    if (is_own(q, e)) return e;
    if (e->op != X_LOAD || !on_lane(q, e)) return NULL;
    return all_lanes(q, x_map_load(q->c, e, e->u.buf, read_by_all, q));
}
void read_in_lanes(struct step_run *s, struct stmt *loop) {
    struct lanes q = {s->c, loop->u.loop.var, 0, CHOICES};
    struct stmts all = {0};
    if (!x_is_int(q.v->extent, &q.n)) return;
    stmts_below(s, &loop->u.loop.body, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_STORE) all.v[k]->u.store.value = x_map(s->c, all.v[k]->u.store.value, read_by_all, &q);
}
