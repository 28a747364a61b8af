/* The interpreter against plain C and against the statements of docs/loop-ir.md; its arithmetic: test_eval_numbers.c.
 */
#include "ir/base/convert.h"
#include "tests/unit/eval_kit.h"
#include <math.h>

TestSuite(eval, .init = setup, .fini = teardown);

/* ---- loops */
enum { OC = 3, IC = 2, H = 6, W = 7 };
static void reference_conv(const float *x, const float *w, const float *b, float *y) {
    for (int o = 0; o < OC; o++)
        for (int h = 0; h < H; h++)
            for (int v = 0; v < W; v++) {
                float acc = b[o];
                for (int i = 0; i < IC; i++)
                    for (int kh = 0; kh < 3; kh++)
                        for (int kw = 0; kw < 3; kw++) {
                            int r = h + kh - 1, s = v + kw - 1;
                            float in = r >= 0 && r < H && s >= 0 && s < W ? x[(i * H + r) * W + s] : 0.0f;
                            float product = in * w[((o * IC + i) * 3 + kh) * 3 + kw];
                            acc = acc + product;
                        }
                y[(o * H + h) * W + v] = acc;
            }
}
static struct proc *conv_proc(struct buf **px, struct buf **py) {
    struct proc *p = proc_new(c, "conv");
    struct buf *x = PARAM(p, "x", F32, DIR_IN, IC, H, W), *w = PARAM(p, "w", F32, DIR_IN, OC, IC, 3, 3);
    struct buf *b = PARAM(p, "b", F32, DIR_IN, OC), *y = PARAM(p, "y", F32, DIR_OUT, OC, H, W);
    const struct var *ax[3] = {var("oc", OC), var("oh", H), var("ow", W)},
                     *red[3] = {var("ic", IC), var("kh", 3), var("kw", 3)};
    expr in = LDF(x, x_num(c, F32, 0), V(red[0]), x_addi(c, x_add(c, V(ax[1]), V(red[1])), -1),
                  x_addi(c, x_add(c, V(ax[2]), V(red[2])), -1));
    expr weight = LD(w, V(ax[0]), V(red[0]), V(red[1]), V(red[2]));
    block_append(&p->body, s_stage(c, y, ax, 3, RED_SUM, red, 3, LD(b, V(ax[0])), x_mul(c, in, weight)));
    if (px) {
        *px = x;
        *py = y;
    }
    return p;
}
static void check_conv(struct proc *p) {
    static float x[IC * H * W], w[OC * IC * 9], b[OC], want[OC * H * W];
    fill_noise(x, IC * H * W, 1);
    fill_noise(w, OC * IC * 9, 2);
    fill_noise(b, OC, 3);
    reference_conv(x, w, b, want);
    struct eval_arg a[4] = {ARG(x, IC, H, W), ARG(w, OC, IC, 3, 3), ARG(b, OC), {.data = NULL}};
    ok(run(p, a));
    cr_assert_eq(a[3].nd, 3);
    cr_assert_eq(a[3].dims[2], W);
    cr_assert_arr_eq(a[3].data, want, sizeof want);
    free(a[3].data);
}
Test(eval, conv_stage_has_the_bits_of_plain_c) { check_conv(conv_proc(NULL, NULL)); }
Test(eval, lowered_stages_have_the_bits_of_stages) {
    struct proc *p = conv_proc(NULL, NULL);
    lower_stages(c, p);
    check_conv(p);
}
static void set_layout(struct buf *b, int nd, const expr *dims, const expr *map) {
    b->nd = nd;
    b->dims = NEWN(&c->arena, expr, nd);
    b->map = NEWN(&c->arena, expr, nd);
    memcpy(b->dims, dims, sizeof *dims * (size_t)nd);
    memcpy(b->map, map, sizeof *map * (size_t)nd);
}
/* Input with a halo of one, output in blocks of two channels (padded to 4) with a padded pitch. */
Test(eval, layouts_of_parameters_are_mapped_both_ways) {
    struct proc *p = proc_new(c, "laid");
    struct buf *x = PARAM(p, "x", F32, DIR_IN, IC, H, W), *w = PARAM(p, "w", F32, DIR_IN, OC, IC, 3, 3);
    struct buf *b = PARAM(p, "b", F32, DIR_IN, OC), *y = PARAM(p, "y", F32, DIR_OUT, OC, H, W);
    set_layout(x, 3, (expr[]){K(IC), K(H + 2), K(W + 2)},
               (expr[]){V(x->lvar[0]), x_addi(c, V(x->lvar[1]), 1), x_addi(c, V(x->lvar[2]), 1)});
    x->fill = x_num(c, F32, 0);
    expr lc = V(y->lvar[0]);
    set_layout(y, 4, (expr[]){K(2), K(H), K(W), K(2)},
               (expr[]){x_divi(c, lc, 2), V(y->lvar[1]), V(y->lvar[2]), x_modi(c, lc, 2)});
    y->pad = NEWN(&c->arena, int64_t, 4);
    y->pad[2] = 5;
    struct var *oc = var("oc", OC), *oh = var("oh", H), *ow = var("ow", W), *ic = var("ic", IC), *kh = var("kh", 3),
               *kw = var("kw", 3);
    struct block *l = loop(loop(loop(&p->body, oc), oh), ow);
    expr at[4] = {x_divi(c, V(oc), 2), V(oh), V(ow), x_modi(c, V(oc), 2)};
    ST(l, y, RED_NONE, LD(b, V(oc)), at[0], at[1], at[2], at[3]);
    l = loop(loop(loop(l, ic), kh), kw);
    expr v = x_mul(c, LD(x, V(ic), x_add(c, V(oh), V(kh)), x_add(c, V(ow), V(kw))), LD(w, V(oc), V(ic), V(kh), V(kw)));
    ST(l, y, RED_SUM, v, at[0], at[1], at[2], at[3]);
    check_conv(p);
}
Test(eval, halo_without_fill_is_undefined) {
    struct proc *p = proc_new(c, "halo");
    struct buf *x = PARAM(p, "x", F32, DIR_IN, 4), *y = PARAM(p, "y", F32, DIR_OUT, 1);
    set_layout(x, 1, (expr[]){K(6)}, (expr[]){x_addi(c, V(x->lvar[0]), 1)});
    ST(&p->body, y, RED_NONE, LD(x, K(0)), K(0));
    float in[4] = {1, 2, 3, 4};
    struct eval_arg a[2] = {ARG(in, 4), {.data = NULL}};
    fault(run(p, a), EVAL_FAULT, "undefined cell (0)");
    x->fill = x_num(c, F32, 7);
    ok(run(p, a));
    cr_assert_eq(*(float *)a[1].data, 7);
    free(a[1].data);
}
Test(eval, constants_are_packed_as_their_layout_says) {
    struct proc *p = proc_new(c, "packed");
    struct buf *w = buf_new(c, p, "w", I4, SC_CONST, (expr[]){K(2), K(3)}, 2), *y = PARAM(p, "y", I32, DIR_OUT, 6);
    struct tensor *t = tensor_new(&c->arena, I4, (int64_t[]){2, 3}, 2);
    for (int k = 0; k < 6; k++) tensor_set_i(t, k, k - 4);
    w->data = t;
    set_layout(w, 2, (expr[]){K(3), K(2)}, (expr[]){V(w->lvar[1]), V(w->lvar[0])});
    struct var *i = var("i", 6);
    ST(loop(&p->body, i), y, RED_NONE, LD(w, x_divi(c, V(i), 2), x_modi(c, V(i), 2)), V(i));
    struct eval_arg a = {.data = NULL};
    ok(run(p, &a));
    cr_assert_arr_eq(a.data, ((int32_t[]){-4, -1, -3, 0, -2, 1}), 24);
    free(a.data);
}
Test(eval, softmax_stages) {
    enum { R = 4, D = 19 };
    struct proc *p = proc_new(c, "softmax");
    struct buf *x = PARAM(p, "x", F32, DIR_IN, R, D), *y = PARAM(p, "y", F32, DIR_OUT, R, D);
    struct buf *mx = LOCAL(p, &p->body, "m", F32, SC_ARENA, R), *e = LOCAL(p, &p->body, "e", F32, SC_ARENA, R, D),
               *s = LOCAL(p, &p->body, "s", F32, SC_ARENA, R);
    struct var *r = var("r", R), *d = var("d", D);
    expr t = x_sub(c, LD(x, V(r), V(d)), LD(mx, V(r)));
    expr poly = x_fma(c, x_fma(c, t, x_num(c, F32, 0.125), x_num(c, F32, 1)), t, x_num(c, F32, 1)); /* stands for exp */
    const struct var *rd[2] = {r, d}, *ra[1] = {r}, *da[1] = {d};
    block_append(&p->body, s_stage(c, mx, ra, 1, RED_MAX, da, 1, NULL, LD(x, V(r), V(d))));
    block_append(&p->body, s_stage(c, e, rd, 2, RED_NONE, NULL, 0, NULL, poly));
    block_append(&p->body, s_stage(c, s, ra, 1, RED_SUM, da, 1, NULL, LD(e, V(r), V(d))));
    block_append(&p->body, s_stage(c, y, rd, 2, RED_NONE, NULL, 0, NULL, x_div(c, LD(e, V(r), V(d)), LD(s, V(r)))));
    static float in[R * D], want[R * D];
    fill_noise(in, R * D, 5);
    for (int k = 0; k < R; k++) {
        float top = -INFINITY, sum = 0;
        for (int j = 0; j < D; j++) top = top > in[k * D + j] ? top : in[k * D + j];
        for (int j = 0; j < D; j++) {
            float u = in[k * D + j] - top;
            want[k * D + j] = fmaf(fmaf(u, 0.125f, 1), u, 1);
            sum = sum + want[k * D + j];
        }
        for (int j = 0; j < D; j++) want[k * D + j] /= sum;
    }
    struct eval_arg a[2] = {ARG(in, R, D), {.data = NULL}};
    ok(run(p, a));
    cr_assert_arr_eq(a[1].data, want, sizeof want);
    free(a[1].data);
}
/* Prefix sums: every pass reads what the pass before stored. */
Test(eval, passes_run_in_order) {
    struct proc *p = proc_new(c, "scan");
    struct buf *x = PARAM(p, "x", F32, DIR_INOUT, 300);
    struct var *i = var("i", 299);
    ST(loop(&p->body, i), x, RED_NONE, x_add(c, LD(x, V(i)), LD(x, x_addi(c, V(i), 1))), x_addi(c, V(i), 1));
    static float v[300], want[300];
    fill_noise(v, 300, 9);
    memcpy(want, v, sizeof v);
    for (int k = 0; k < 299; k++) want[k + 1] = want[k] + want[k + 1];
    struct eval_arg a = ARG(v, 300);
    ok(run(p, &a));
    cr_assert_arr_eq(v, want, sizeof v);
}
Test(eval, reductions_of_every_operator_and_order) {
    enum { N = 333 };
    static float in[N];
    fill_noise(in, N, 4);
    for (enum red_op op = RED_SUM; op <= RED_MIN; op++) {
        struct proc *p = proc_new(c, "reduce");
        struct buf *x = PARAM(p, "x", F32, DIR_IN, N), *y = PARAM(p, "y", F32, DIR_OUT, 1);
        const struct var *ax = var("o", 1), *k = var("k", N);
        block_append(&p->body, s_stage(c, y, &ax, 1, op, &k, 1, NULL, LD(x, V(k))));
        float want = op == RED_SUM ? 0 : op == RED_PROD ? 1 : op == RED_MAX ? -INFINITY : INFINITY;
        for (int j = 0; j < N; j++)
            want = op == RED_SUM    ? want + in[j]
                   : op == RED_PROD ? want * in[j]
                   : op == RED_MAX  ? (want > in[j] ? want : in[j])
                   : want < in[j]   ? want
                                    : in[j];
        struct eval_arg a[2] = {ARG(in, N), {.data = NULL}};
        ok(run(p, a));
        cr_assert_arr_eq(a[1].data, &want, 4);
        free(a[1].data);
    }
}
Test(eval, integer_and_double_accumulators) {
    enum { N = 300 };
    static int32_t in[N];
    static const enum dtype types[] = {I32, U32, I64, F64};
    int64_t sum = 0;
    for (int k = 0; k < N; k++) sum += in[k] = (k * 7919) % 1000 - 300;
    for (int t = 0; t < 4; t++)
        for (int flip = 0; flip < 2; flip++) {
            struct proc *p = proc_new(c, "acc");
            struct buf *x = PARAM(p, "x", I32, DIR_IN, N), *y = PARAM(p, "y", types[t], DIR_OUT, 1);
            const struct var *k = var("k", N);
            ST(&p->body, y, RED_NONE, x_num(c, types[t], 5), K(0));
            expr v = x_cast(c, types[t], LD(x, V(k))), acc = LD(y, K(0));
            expr two = x_num(c, types[t], 2);
            expr twice = types[t] == F64 ? x_fma(c, v, two, acc) : x_add(c, acc, x_mul(c, v, two));
            ST(loop(&p->body, k), y, RED_NONE, flip ? twice : x_add(c, v, acc), K(0));
            struct eval_arg a[2] = {ARG(in, N), {.data = NULL}};
            ok(run(p, a));
            int64_t want = 5 + sum * (1 + flip);
            if (types[t] == F64) cr_assert_eq(*(double *)a[1].data, (double)want);
            else cr_assert_eq(dtype_bytes(types[t]) == 4 ? *(int32_t *)a[1].data : *(int64_t *)a[1].data, want);
            free(a[1].data);
        }
}
Test(eval, fma_rounds_once_and_product_then_sum_twice) {
    struct proc *p = proc_new(c, "round");
    expr x = hidden(p, "x", F32), y = hidden(p, "y", F32), z = hidden(p, "z", F32);
    struct buf *o = PARAM(p, "o", F32, DIR_OUT, 2);
    ST(&p->body, o, RED_NONE, x_fma(c, x, y, z), K(0));
    ST(&p->body, o, RED_NONE, x_add(c, x_mul(c, x, y), z), K(1));
    float vx = 1 + 0x1p-12f, vy = 1 + 0x1p-12f, vz = -(1 + 0x1p-11f);
    struct eval_arg a[4] = {ARG(&vx, 1), ARG(&vy, 1), ARG(&vz, 1), {.data = NULL}};
    ok(run(p, a));
    cr_assert_eq(((float *)a[3].data)[0], 0x1p-24f);
    cr_assert_eq(((float *)a[3].data)[1], 0);
    free(a[3].data);
}

/* ---- laziness and bounds */
Test(eval, the_arm_not_taken_is_not_evaluated) {
    struct proc *p = proc_new(c, "lazy");
    struct buf *x = PARAM(p, "x", F32, DIR_IN, 4), *y = PARAM(p, "y", F32, DIR_OUT, 8);
    struct var *i = var("i", 8);
    ST(loop(&p->body, i), y, RED_NONE, x_select(c, x_cmp(c, X_LT, V(i), K(4)), LD(x, V(i)), x_num(c, F32, -1)), V(i));
    float in[4] = {1, 2, 3, 4};
    struct eval_arg a[2] = {ARG(in, 4), {.data = NULL}};
    ok(run(p, a));
    cr_assert_arr_eq(a[1].data, ((float[]){1, 2, 3, 4, -1, -1, -1, -1}), 32);
    free(a[1].data);
}
Test(eval, bad_access_in_an_arm_that_is_taken) {
    struct proc *p = proc_new(c, "taken");
    struct buf *x = PARAM(p, "x", F32, DIR_IN, 4), *y = PARAM(p, "y", F32, DIR_OUT, 8);
    struct var *i = var("i", 8);
    ST(loop(&p->body, i), y, RED_NONE, x_select(c, x_cmp(c, X_LT, V(i), K(5)), LD(x, V(i)), x_num(c, F32, -1)), V(i));
    float in[4] = {1, 2, 3, 4};
    struct eval_arg a[2] = {ARG(in, 4), {.data = NULL}};
    fault(run(p, a), EVAL_FAULT, "buffer x: index (4) of dim 0 outside [0, 4)");
}
Test(eval, out_of_bounds_is_found_before_a_loop_runs) {
    struct proc *p = proc_new(c, "oob");
    struct buf *x = PARAM(p, "x", F32, DIR_IN, 5, 4), *y = PARAM(p, "y", F32, DIR_OUT, 5);
    struct var *i = var("i", 5), *j = var("j", 5);
    struct block *l = loop(&p->body, i);
    ST(l, y, RED_NONE, x_num(c, F32, 0), V(i));
    ST(loop(l, j), y, RED_SUM, LD(x, V(i), V(j)), V(i));
    float in[20] = {0};
    struct eval_arg a[2] = {ARG(in, 5, 4), {.data = NULL}};
    fault(run(p, a), EVAL_FAULT, "buffer x: index (4) of dim 1 outside [0, 4)");
}
Test(eval, negative_store_is_found) {
    struct proc *p = proc_new(c, "neg");
    struct buf *y = PARAM(p, "y", F32, DIR_OUT, 5);
    struct var *i = var("i", 5);
    ST(loop(&p->body, i), y, RED_NONE, x_num(c, F32, 0), x_sub(c, K(3), V(i)));
    struct eval_arg a = {.data = NULL};
    fault(run(p, &a), EVAL_FAULT, "buffer y: index (-1)");
}
Test(eval, loops_that_do_not_run_check_nothing) {
    struct proc *p = proc_new(c, "empty");
    struct sym *n = sym_new(c, "N", 0, 100, false);
    PUSH(&c->arena, &p->syms, n);
    struct buf *x = PARAM(p, "x", F32, DIR_IN, 4), *y = PARAM(p, "y", F32, DIR_OUT, 1);
    struct var *i = var("i", 9), *j = var_new(c, "j", x_sym(c, n));
    ST(&p->body, y, RED_NONE, x_num(c, F32, 3), K(0));
    ST(loop(loop(&p->body, i), j), y, RED_SUM, LD(x, V(i)), K(0));
    float in[4] = {1, 1, 1, 1};
    struct eval_arg a[2] = {ARG(in, 4), {.data = NULL}};
    ok(loop_eval(m, p, a, (int64_t[]){0}, &checked));
    cr_assert_eq(*(float *)a[1].data, 3);
    free(a[1].data);
    a[1].data = NULL;
    fault(loop_eval(m, p, a, (int64_t[]){2}, &checked), EVAL_FAULT, "buffer x: index (8) of dim 0 outside [0, 4)");
}
Test(eval, undefined_reads_are_found) {
    struct proc *p = proc_new(c, "undef");
    struct buf *y = PARAM(p, "y", F32, DIR_OUT, 1);
    struct buf *t = LOCAL(p, &p->body, "t", F32, SC_STACK, 3, 4);
    struct var *i = var("i", 3), *j = var("j", 3);
    ST(loop(loop(&p->body, i), j), t, RED_NONE, x_num(c, F32, 1), V(i), V(j));
    ST(&p->body, y, RED_NONE, LD(t, K(2), K(3)), K(0));
    struct eval_arg a = {.data = NULL};
    fault(run(p, &a), EVAL_FAULT, "buffer t: read of undefined cell (2, 3)");
    t->fill = x_num(c, F32, 9);
    ok(run(p, &a));
    cr_assert_eq(*(float *)a.data, 9);
    free(a.data);
}
Test(eval, outputs_must_be_stored_whole) {
    struct proc *p = proc_new(c, "part");
    struct buf *y = PARAM(p, "y", F32, DIR_OUT, 4);
    struct var *i = var("i", 3);
    ST(loop(&p->body, i), y, RED_NONE, x_num(c, F32, 1), V(i));
    struct eval_arg a = {.data = NULL};
    fault(run(p, &a), EVAL_FAULT, "output y: cell 3 was never stored");
    cr_assert_null(a.data);
}
Test(eval, buffers_are_undefined_again_in_the_next_pass) {
    struct proc *p = proc_new(c, "again");
    struct buf *y = PARAM(p, "y", F32, DIR_OUT, 2);
    struct var *i = var("i", 2);
    struct block *l = loop(&p->body, i);
    struct buf *t = LOCAL(p, l, "t", F32, SC_REG, 1);
    struct stmt *s = s_if(c, x_cmp(c, X_EQ, V(i), K(0)));
    block_append(l, s);
    ST(&s->u.cond.then, t, RED_NONE, x_num(c, F32, 1), K(0));
    ST(l, y, RED_NONE, LD(t, K(0)), V(i));
    struct eval_arg a = {.data = NULL};
    fault(run(p, &a), EVAL_FAULT, "buffer t: read of undefined");
}

/* ---- control */
Test(eval, while_loops_swap_carried_values_and_end) {
    struct proc *p = proc_new(c, "fib");
    struct buf *n = PARAM(p, "n", I64, DIR_IN, 1), *y = PARAM(p, "y", I64, DIR_OUT, 1);
    struct buf *a = LOCAL(p, &p->body, "a", I64, SC_ARENA, 1), *b = LOCAL(p, &p->body, "b", I64, SC_ARENA, 1),
               *k = LOCAL(p, &p->body, "k", I64, SC_ARENA, 1);
    ST(&p->body, a, RED_NONE, x_num(c, I64, 0), K(0));
    ST(&p->body, b, RED_NONE, x_num(c, I64, 1), K(0));
    ST(&p->body, k, RED_NONE, x_num(c, I64, 0), K(0));
    struct stmt *w = s_new(c, S_WHILE), *sw = s_new(c, S_SWAP);
    w->u.loop_while.cond = x_cmp(c, X_LT, LD(k, K(0)), LD(n, K(0)));
    w->u.loop_while.max = K(50);
    block_append(&p->body, w);
    struct block *l = &w->u.loop_while.body;
    ST(l, a, RED_SUM, LD(b, K(0)), K(0));
    sw->u.swap.a = a;
    sw->u.swap.b = b;
    block_append(l, sw);
    ST(l, k, RED_SUM, x_num(c, I64, 1), K(0));
    ST(&p->body, y, RED_NONE, LD(a, K(0)), K(0));
    int64_t count = 40;
    struct eval_arg args[2] = {ARG(&count, 1), {.data = NULL}};
    ok(run(p, args));
    cr_assert_eq(*(int64_t *)args[1].data, 102334155);
    free(args[1].data);
    args[1].data = NULL;
    count = 51;
    fault(run(p, args), EVAL_FAULT, "more than 50 passes");
    w->u.loop_while.max = NULL;
    count = INT64_MAX;
    struct eval_options o = {.fuel = 1000};
    fault(loop_eval(m, p, args, NULL, &o), EVAL_FUEL, "limit");
}
/* NonZero of a vector: count, size, region buffer of that size, fill, sum. */
Test(eval, sizes_are_computed_checked_and_allocated) {
    struct proc *p = proc_new(c, "nonzero");
    struct buf *x = PARAM(p, "x", I32, DIR_IN, 6), *y = PARAM(p, "y", I64, DIR_OUT, 1),
               *n = LOCAL(p, &p->body, "n", I64, SC_STACK, 1);
    struct var *i = var("i", 6), *j = var("j", 6);
    expr zero = x_num(c, I32, 0);
    ST(&p->body, n, RED_NONE, x_num(c, I64, 0), K(0));
    ST(loop(&p->body, i), n, RED_SUM, x_cast(c, I64, x_cmp(c, X_NE, LD(x, V(i)), zero)), K(0));
    struct sym *nnz = sym_new(c, "nnz", 0, 6, true);
    struct stmt *s = s_new(c, S_SIZE);
    s->u.size.sym = nnz;
    s->u.size.lo = K(0);
    s->u.size.hi = K(4);
    s->u.size.value = x_toidx(c, LD(n, K(0)));
    block_append(&p->body, s);
    struct buf *r = buf_new(c, p, "r", I64, SC_REGION, (expr[]){x_sym(c, nnz)}, 1);
    block_append(&p->body, s_alloc(c, r));
    ST(&p->body, n, RED_NONE, x_num(c, I64, 0), K(0));
    struct block *l = loop(&p->body, j);
    struct stmt *q = s_if(c, x_cmp(c, X_NE, LD(x, V(j)), zero));
    block_append(l, q);
    ST(&q->u.cond.then, r, RED_NONE, x_idxval(c, V(j)), x_toidx(c, LD(n, K(0))));
    ST(&q->u.cond.then, n, RED_SUM, x_num(c, I64, 1), K(0));
    struct var *k = var_new(c, "k", x_sym(c, nnz));
    ST(&p->body, y, RED_NONE, x_num(c, I64, 0), K(0));
    ST(loop(&p->body, k), y, RED_SUM, x_mul(c, LD(r, V(k)), x_num(c, I64, 10)), K(0));
    struct stmt *f = s_new(c, S_FREE);
    f->u.alloc.buf = r;
    block_append(&p->body, f);
    int32_t in[6] = {0, 3, 0, 0, 2, 1};
    struct eval_arg a[2] = {ARG(in, 6), {.data = NULL}};
    ok(run(p, a));
    cr_assert_eq(*(int64_t *)a[1].data, 100);
    free(a[1].data);
    a[1].data = NULL;
    int32_t many[6] = {1, 1, 1, 1, 1, 0};
    a[0].data = many;
    fault(run(p, a), EVAL_FAULT, "size nnz is 5, outside 0..4");
    a[0].data = in;
    ST(&p->body, y, RED_NONE, LD(r, K(0)), K(0));
    fault(run(p, a), EVAL_FAULT, "buffer r is used after it was freed");
}
Test(eval, guards_give_zero_and_a_fault_at_the_end) {
    struct proc *p = proc_new(c, "gather");
    struct buf *x = PARAM(p, "x", F32, DIR_IN, 4), *k = PARAM(p, "k", I64, DIR_IN, 3),
               *y = PARAM(p, "y", F32, DIR_OUT, 3);
    struct var *i = var("i", 3);
    ST(loop(&p->body, i), y, RED_NONE, LD(x, x_guard(c, x_toidx(c, LD(k, V(i))), K(4))), V(i));
    float in[4] = {5, 6, 7, 8};
    int64_t idx[3] = {3, 9, 1};
    struct eval_arg a[3] = {ARG(in, 4), ARG(idx, 3), {.data = NULL}};
    fault(run(p, a), EVAL_FAULT, "guard of y: index 9 outside [0, 4)");
    cr_assert_arr_eq(a[2].data, ((float[]){8, 5, 6}), 12);
    free(a[2].data);
    a[2].data = NULL;
    idx[1] = 0;
    ok(run(p, a));
    free(a[2].data);
}
Test(eval, checks_stop_and_name_their_node) {
    struct proc *p = proc_new(c, "check");
    struct buf *x = PARAM(p, "x", I32, DIR_IN, 1), *y = PARAM(p, "y", I32, DIR_OUT, 1);
    struct stmt *s = s_new(c, S_CHECK);
    s->u.check.cond = x_cmp(c, X_LT, LD(x, K(0)), x_num(c, I32, 10));
    s->u.check.fault = "EDIM";
    s->u.check.origin = "node 3 \"add\"";
    block_append(&p->body, s);
    ST(&p->body, y, RED_NONE, LD(x, K(0)), K(0));
    int32_t v = 10;
    struct eval_arg a[2] = {ARG(&v, 1), {.data = NULL}};
    fault(run(p, a), EVAL_FAULT, "check failed: EDIM at node 3 \"add\"");
    s->u.check.cond = x_cmp(c, X_LT, x_toidx(c, LD(x, K(0))), K(10)); /* sizes are shown */
    fault(run(p, a), EVAL_FAULT, "check failed: EDIM at node 3 \"add\" (10 and 10)");
    v = 9;
    ok(run(p, a));
    free(a[1].data);
}
/* y[M, N] = x[M, N] + 1 as a kernel with sizes, called twice with other sizes through one local buffer. */
Test(eval, calls_bind_buffers_and_sizes) {
    struct proc *k = proc_new(c, "inc"), *p = proc_new(c, "main");
    struct sym *km = sym_new(c, "M", 1, 100, false), *kn = sym_new(c, "N", 1, 100, false),
               *s = sym_new(c, "S", 1, 50, false);
    PUSH(&c->arena, &k->syms, km);
    PUSH(&c->arena, &k->syms, kn);
    expr kd[2] = {x_sym(c, km), x_sym(c, kn)}, md[2] = {x_sym(c, s), x_muli(c, x_sym(c, s), 2)};
    struct buf *kx = proc_param(c, k, "x", F32, DIR_IN, kd, 2), *ky = proc_param(c, k, "y", F32, DIR_OUT, kd, 2);
    struct var *i = var_new(c, "i", kd[0]), *j = var_new(c, "j", kd[1]);
    ST(loop(loop(&k->body, i), j), ky, RED_NONE, x_add(c, LD(kx, V(i), V(j)), x_num(c, F32, 1)), V(i), V(j));
    struct buf *x = proc_param(c, p, "x", F32, DIR_IN, md, 2), *y = proc_param(c, p, "y", F32, DIR_OUT, md, 2);
    struct buf *t = buf_new(c, p, "t", F32, SC_ARENA, md, 2);
    block_append(&p->body, s_alloc(c, t));
    struct buf *chain[3] = {x, t, y};
    struct stmt *call[2];
    for (int n = 0; n < 2; n++) {
        call[n] = s_new(c, S_CALL);
        call[n]->u.call.callee = k;
        call[n]->u.call.nbufs = call[n]->u.call.nargs = 2;
        call[n]->u.call.bufs = arena_copy(&c->arena, &chain[n], 2 * sizeof *chain);
        call[n]->u.call.args = arena_copy(&c->arena, md, sizeof md);
        block_append(&p->body, call[n]);
    }
    static float in[18], want[18];
    fill_noise(in, 18, 1);
    for (int n = 0; n < 18; n++) want[n] = in[n] + 1 + 1;
    struct eval_arg a[2] = {ARG(in, 3, 6), {.data = NULL}};
    ok(loop_eval(m, p, a, NULL, &checked)); /* S is the first dim of x */
    cr_assert_eq(a[1].dims[1], 6);
    cr_assert_arr_eq(a[1].data, want, sizeof want);
    free(a[1].data);
    a[1].data = NULL;
    call[1]->u.call.args = arena_copy(&c->arena, (expr[]){md[0], md[0]}, sizeof md);
    fault(loop_eval(m, p, a, NULL, &checked), EVAL_FAULT, "parameter x has 9 cells, the buffer passed has 18");
}
Test(eval, endless_recursion_is_refused) {
    struct proc *p = proc_new(c, "self");
    struct stmt *s = s_new(c, S_CALL);
    s->u.call.callee = p;
    block_append(&p->body, s);
    fault(run(p, NULL), EVAL_BAD, "deeper than 64");
}
Test(eval, functions_are_inlined_with_their_arguments) {
    struct fn *sq = NEW(&c->arena, struct fn), *f = NEW(&c->arena, struct fn);
    expr a0 = x_arg(c, 0, F32), a1 = x_arg(c, 1, F32);
    *sq = (struct fn){.name = "square", .nargs = 1, .type = F32, .args = {F32}, .body = x_mul(c, a0, a0), .id = 1};
    expr inner[2] = {x_call(c, sq, &a1), x_call(c, sq, &a0)};
    *f = (struct fn){
        .name = "f", .nargs = 2, .type = F32, .args = {F32, F32}, .body = x_sub(c, inner[0], inner[1]), .id = 2};
    struct proc *p = proc_new(c, "fns");
    expr v[2] = {hidden(p, "a", F32), hidden(p, "b", F32)}, swapped[2] = {v[1], v[0]};
    struct buf *o = PARAM(p, "o", F32, DIR_OUT, 1);
    ST(&p->body, o, RED_NONE, x_add(c, x_mul(c, x_call(c, f, v), x_num(c, F32, 100)), x_call(c, f, swapped)), K(0));
    float x = 3, y = 5;
    struct eval_arg args[3] = {ARG(&x, 1), ARG(&y, 1), {.data = NULL}};
    ok(run(p, args));
    cr_assert_eq(*(float *)args[2].data, 16 * 100 - 16);
    free(args[2].data);
}
Test(eval, memory_is_limited) {
    struct proc *p = proc_new(c, "big");
    struct buf *y = PARAM(p, "y", F32, DIR_OUT, 1);
    LOCAL(p, &p->body, "t", F32, SC_ARENA, 1000, 1000);
    ST(&p->body, y, RED_NONE, x_num(c, F32, 1), K(0));
    struct eval_arg a = {.data = NULL};
    struct eval_options o = {.max_bytes = 1 << 20};
    fault(loop_eval(m, p, &a, NULL, &o), EVAL_MEMORY, "memory limit");
}
Test(eval, wrong_arguments_are_refused) {
    struct proc *p = conv_proc(NULL, NULL);
    float x[100] = {0};
    struct eval_arg a[4] = {ARG(x, IC, H, W + 1), ARG(x, OC, IC, 3, 3), ARG(x, OC), {.data = NULL}};
    fault(run(p, a), EVAL_BAD, "argument x: dim 2 is 8, declared 7");
}
/* Triangular loops and extents that depend on outer variables: checks stand where the extents are known. */
Test(eval, extents_may_depend_on_outer_loops) {
    struct proc *p = proc_new(c, "tri");
    struct buf *x = PARAM(p, "x", F32, DIR_IN, 5), *y = PARAM(p, "y", F32, DIR_OUT, 5);
    struct var *i = var("i", 5), *j = var_new(c, "j", x_addi(c, V(i), 1));
    struct block *l = loop(&p->body, i);
    ST(l, y, RED_NONE, x_num(c, F32, 0), V(i));
    ST(loop(l, j), y, RED_SUM, LD(x, x_sub(c, V(i), V(j))), V(i));
    float in[5] = {1, 2, 4, 8, 16};
    struct eval_arg a[2] = {ARG(in, 5), {.data = NULL}};
    ok(run(p, a));
    cr_assert_arr_eq(a[1].data, ((float[]){1, 3, 7, 15, 31}), 20);
    free(a[1].data);
    a[1].data = NULL;
    ST(loop(l, j), y, RED_SUM, LD(x, x_add(c, V(i), V(j))), V(i));
    fault(run(p, a), EVAL_FAULT, "buffer x: index (6)");
}
