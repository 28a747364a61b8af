/* Dependences against brute force: random indices over small loops, every pair of iterations looked at. What is said to
 * be apart must be. */
#include "ir/base/ctx.h"
#include "ir/loop/dependence.h"
#include "tests/unit/eval_kit.h"

TestSuite(dependence, .init = setup, .fini = teardown);

static uint32_t seed;
static int rnd(int n) {
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 10) % (uint32_t)n);
}
enum { LOOPS = 3, POINTS = 6 * 6 * 6 };
struct nest {
    const struct var *v[LOOPS];
    int64_t n[LOOPS], at[LOOPS];
};
static bool value_of(void *env, expr leaf, int64_t *v) {
    struct nest *q = env;
    for (int k = 0; k < LOOPS; k++)
        if (leaf->op == X_VAR && leaf->u.var == q->v[k]) return *v = q->at[k], true;
    return false;
}
static expr random_index(struct nest *q, bool digits) {
    static const int strides[] = {0, 1, 1, 2, 3, 4, 6, 12, 24, -1, -4};
    expr e = K(rnd(9) - 4);
    for (int k = 0; k < LOOPS; k++) e = x_add(c, e, x_muli(c, V(q->v[k]), strides[rnd(11)]));
    if (digits && rnd(3) == 0) e = rnd(2) ? x_divi(c, e, 2 + rnd(4)) : x_modi(c, e, 2 + rnd(4));
    return e;
}
static void all_values(struct nest *q, const expr *e, int n, int64_t (*out)[2]) {
    int at = 0;
    for (q->at[0] = 0; q->at[0] < q->n[0]; q->at[0]++)
        for (q->at[1] = 0; q->at[1] < q->n[1]; q->at[1]++)
            for (q->at[2] = 0; q->at[2] < q->n[2]; q->at[2]++, at++)
                for (int d = 0; d < n; d++) cr_assert(x_eval_int(e[d], value_of, q, &out[at][d]));
}
static void random_nest(struct nest *q) {
    static const char *const names[LOOPS] = {"i", "j", "k"};
    for (int k = 0; k < LOOPS; k++) q->n[k] = 1 + rnd(6), q->v[k] = var(names[k], q->n[k]);
}
static int64_t digit_at(const struct nest *q, int point, int loop) {
    for (int k = LOOPS - 1; k > loop; k--) point /= (int)q->n[k];
    return point % q->n[loop];
}
Test(dependence, never_a_false_answer_about_iterations) {
    static int64_t x[POINTS][2], y[POINTS][2];
    int told = 0;
    for (uint32_t s = 1; s <= 3000; s++) {
        struct nest q = {0};
        seed = s;
        random_nest(&q);
        int n = 1 + rnd(2), points = (int)(q.n[0] * q.n[1] * q.n[2]), moves = 1 + rnd(7);
        expr a[2] = {random_index(&q, true), random_index(&q, true)}, b[2] = {a[0], a[1]};
        if (rnd(2)) b[rnd(n)] = random_index(&q, true);
        if (rnd(4) == 0)
            a[1] = x_divi(c, a[0], 3), b[1] = x_divi(c, b[0], 3), a[0] = x_modi(c, a[0], 3), b[0] = x_modi(c, b[0], 3),
            n = 2;
        struct iterations two = {.c = c, .tmp = &c->arena};
        for (int k = 0; k < LOOPS; k++)
            if (moves >> k & 1) PUSH(&c->arena, &two.moving, q.v[k]);
        struct meet m = cells_meet(&two, a, b, n);
        all_values(&q, a, n, x);
        all_values(&q, b, n, y);
        told += m.never || m.fixed.n;
        for (int i = 0; i < points; i++)
            for (int j = 0; j < points; j++) {
                bool one = x[i][0] == y[j][0] && (n == 1 || x[i][1] == y[j][1]);
                for (int k = 0; k < LOOPS; k++)
                    if (!(moves >> k & 1)) one &= digit_at(&q, i, k) == digit_at(&q, j, k);
                if (!one) continue;
                cr_assert_not(m.never, "seed %u: cells meet", s);
                for (int k = 0; k < LOOPS; k++)
                    if (has_var(&m.fixed, q.v[k]))
                        cr_assert(digit_at(&q, i, k) == digit_at(&q, j, k), "seed %u: %s is not fixed", s,
                                  q.v[k]->name);
            }
    }
    cr_assert_gt(told, 500); /* it does say something */
}
/* An index that is loaded has a value of its own in each iteration; asking about it ends. */
Test(dependence, loaded_indices_may_meet) {
    struct proc *p = proc_new(c, "gather");
    struct buf *at = PARAM(p, "at", U8, DIR_IN, 4);
    const struct var *i = var("i", 4), *j = var("j", 4);
    expr loaded = x_toidx(c, x_cast(c, I64, LD(at, V(i)))),
         sum = x_add(c, x_muli(c, loaded, 100), x_add(c, V(i), V(j)));
    struct iterations two = {.c = c, .tmp = &c->arena};
    PUSH(&c->arena, &two.moving, i);
    PUSH(&c->arena, &two.moving, j);
    struct meet m = cells_meet(&two, &sum, &sum, 1);
    cr_expect(!m.never && !m.fixed.n);
}
