/* The ways in which the interpreter runs a loop agree, on random loops: strips against pass after pass, checks before
 * loops against checks at the access. */
#include "tests/unit/eval_kit.h"

enum { RANDOM_PROGRAMS = 300 };

TestSuite(eval_random, .init = setup, .fini = teardown);

static uint32_t seed;
static int rnd(int n) {
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 10) % (uint32_t)n);
}
static expr random_value(struct buf **bufs, int nb, const struct var *i, const struct var *j, enum dtype t, int depth) {
    int k = rnd(depth <= 0 ? 3 : 12);
    bool flt = t == F32 || t == F64;
    if (k == 0) return x_num(c, t, rnd(9) - 4);
    if (k <= 2) {
        for (int tries = 0; tries < 8; tries++) {
            struct buf *b = bufs[rnd(nb)];
            if (dtype_value(b->type) != t) continue;
            expr in = rnd(4) ? V(j) : rnd(2) ? x_muli(c, V(j), 2) : x_modi(c, V(j), 5);
            expr at[2] = {V(i), x_addi(c, in, rnd(3))};
            return k == 1 ? x_load(c, b, at, 2, NULL)
                          : x_load(c, b, (expr[]){V(i), x_addi(c, at[1], -4)}, 2,
                                   rnd(2) ? x_num(c, t, 7) : random_value(bufs, nb, i, j, t, 0));
        }
        return x_num(c, t, 1);
    }
    expr a = random_value(bufs, nb, i, j, t, depth - 1), b = random_value(bufs, nb, i, j, t, depth - 1);
    switch (k) {
    case 3: return x_add(c, a, b);
    case 4: return x_mul(c, a, b);
    case 5: return x_sub(c, a, b);
    case 6: return rnd(2) ? x_min(c, a, b) : x_max(c, a, b);
    case 7: return x_select(c, x_cmp(c, rnd(2) ? X_LT : X_EQ, a, b), b, random_value(bufs, nb, i, j, t, depth - 1));
    case 8: return flt ? x_fma(c, a, b, a) : x_bin(c, rnd(2) ? X_XOR : X_SHR, a, b);
    case 9: return x_div(c, a, b);
    case 10: return flt ? x_un(c, rnd(2) ? X_FLOOR : X_ABS, a) : x_cast(c, t, x_idxval(c, V(j)));
    default: return x_cast(c, t, random_value(bufs, nb, i, j, t == F32 ? I32 : F32, depth - 2));
    }
}
static void random_program(uint32_t s) {
    static const enum dtype types[] = {F32, F32, F64, I32, I64, U8, F16, I8, U32};
    enum { ROWS = 3, COLS = 300 };
    uint64_t out[2][4][ROWS * COLS];
    struct eval_result r[2];
    memset(out, 0, sizeof out);
    for (int wrapped = 0; wrapped < 2; wrapped++) {
        seed = s;
        struct proc *p = proc_new(c, "random");
        struct buf *bufs[4], *flag = PARAM(p, "flag", I32, DIR_IN, 1);
        struct eval_arg a[5] = {ARG((int32_t[]){1}, 1)};
        for (int k = 0; k < 4; k++) {
            enum dtype t = types[rnd(9)];
            bufs[k] = PARAM(p, "b", t, DIR_INOUT, ROWS, COLS);
            struct tensor *init = tensor_new(&c->arena, t, (int64_t[]){ROWS, COLS}, 2);
            for (int e = 0; e < ROWS * COLS; e++)
                if (dtype_is_float(t)) tensor_set_f(init, e, rnd(64) / 8.0 - 4);
                else tensor_set_i(init, e, rnd(100));
            memcpy(out[wrapped][k], tensor_data(init), (size_t)(ROWS * COLS * dtype_bytes(t)));
            a[k + 1] = ARG(out[wrapped][k], ROWS, COLS);
        }
        struct var *i = var("i", ROWS), *j = var("j", 8 + rnd(140));
        struct block *l = loop(loop(&p->body, i), j);
        if (wrapped) {
            struct stmt *q = s_if(c, x_cmp(c, X_EQ, LD(flag, K(0)), x_num(c, I32, 1)));
            block_append(l, q);
            l = &q->u.cond.then;
        }
        for (int n = 1 + rnd(2); n > 0; n--) {
            struct buf *b = bufs[rnd(4)];
            enum dtype t = dtype_value(b->type);
            expr at = rnd(3) ? x_addi(c, V(j), rnd(2)) : rnd(2) ? K(rnd(4)) : x_modi(c, V(j), 7);
            ST(l, b, (enum red_op)(rnd(2) ? RED_NONE : RED_SUM + rnd(4)), random_value(bufs, 4, i, j, t, 4), V(i), at);
        }
        r[wrapped] = loop_eval(m, p, a, NULL, &checked);
    }
    cr_assert_eq(r[0].status, r[1].status, "program %u: %s | %s", s, r[0].message, r[1].message);
    if (r[0].status == EVAL_OK) cr_assert_arr_eq(out[0], out[1], sizeof out[0], "program %u", s);
}
Test(eval_random, random_loops_run_alike_in_strips_and_pass_by_pass) {
    for (uint32_t k = 1; k <= RANDOM_PROGRAMS; k++) random_program(k * 7919);
}
