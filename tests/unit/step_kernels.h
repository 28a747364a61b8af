/* Small kernels, one stage after the other, on which the schedule steps are tested; and running them. Shapes are the
 * scheduled ones of the design scaled down to 4 lanes, so that the interpreter can run after every step. */
#ifndef NN_TESTS_STEP_KERNELS_H
#define NN_TESTS_STEP_KERNELS_H
#include "ir/eval/eval.h"
#include "ir/loop/loop.h"
#include "lower/schedule/steps.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))
static struct ctx *c;
static struct module *m;
static struct proc *p;

#define COUNT(T, ...)                      ((int)(sizeof((T[]){__VA_ARGS__}) / sizeof(T)))
#define LD(b, ...)                         x_load(c, b, (expr[]){__VA_ARGS__}, COUNT(expr, __VA_ARGS__), NULL)
#define LDF(f, b, ...)                     x_load(c, b, (expr[]){__VA_ARGS__}, COUNT(expr, __VA_ARGS__), f)
#define PAR(name, type, dir, ...)          proc_param(c, p, name, type, dir, (expr[]){__VA_ARGS__}, COUNT(expr, __VA_ARGS__))
#define BUF(name, type, ...)               scratch(name, type, (expr[]){__VA_ARGS__}, COUNT(expr, __VA_ARGS__))
#define AX(...)                            (const struct var *[]){__VA_ARGS__}, COUNT(const struct var *, __VA_ARGS__)
#define MAP(b, axes, value)                block_append(&p->body, s_stage(c, b, axes, RED_NONE, NULL, 0, NULL, value))
#define RED(b, axes, op, red, init, value) block_append(&p->body, s_stage(c, b, axes, op, red, init, value))

static expr I(int64_t k) { return x_int(c, k); }
static expr F(double v) { return x_const_f(c, F32, v); }
static expr V(const struct var *v) { return x_var(c, v); }
static const struct var *axis(const char *name, expr n) { return var_new(c, name, n); }
static expr relu(expr v) { return x_max(c, v, F(0)); }
static UNUSED struct buf *scratch(const char *name, enum dtype type, const expr *dims, int nd) {
    struct buf *b = buf_new(c, p, name, type, SC_ARENA, dims, nd);
    block_append(&p->body, s_alloc(c, b));
    return b;
}
static UNUSED expr sym(const char *name, int64_t lo, int64_t hi) {
    const struct sym *s = sym_new(c, name, lo, hi, false);
    PUSH(&c->arena, &p->syms, s);
    return x_sym(c, s);
}
static void setup(void) {
    c = ctx_new();
    m = module_new(c);
    p = proc_new(c, "kernel");
    PUSH(&c->arena, &m->procs, p);
}
static void teardown(void) { ctx_free(c); }
static void begin(const char *name) { p->name = name; }
/* y = act(acc + r), acc = bias + x * w; OH from H, K, S with padding K/2 */
static UNUSED void conv(expr IC, expr H, expr W, expr OC, int K, int S, bool res) {
    begin("conv");
    int P = K / 2;
    expr OH = x_addi(c, x_divi(c, x_addi(c, H, 2 * P - K), S), 1),
         OW = x_addi(c, x_divi(c, x_addi(c, W, 2 * P - K), S), 1);
    struct buf *x = PAR("x", F32, DIR_IN, IC, H, W), *w = PAR("w", F32, DIR_IN, OC, IC, I(K), I(K)),
               *b = PAR("b", F32, DIR_IN, OC);
    struct buf *r = res ? PAR("r", F32, DIR_IN, OC, OH, OW) : NULL, *y = PAR("y", F32, DIR_OUT, OC, OH, OW),
               *acc = BUF("acc", F32, OC, OH, OW);
    const struct var *oc = axis("oc", OC), *oh = axis("oh", OH), *ow = axis("ow", OW), *ic = axis("ic", IC),
                     *kh = axis("kh", I(K)), *kw = axis("kw", I(K));
    expr ih = x_add(c, x_muli(c, V(oh), S), x_addi(c, V(kh), -P)),
         iw = x_add(c, x_muli(c, V(ow), S), x_addi(c, V(kw), -P));
    expr xv = P ? LDF(F(0), x, V(ic), ih, iw) : LD(x, V(ic), ih, iw);
    RED(acc, AX(oc, oh, ow), RED_SUM, AX(ic, kh, kw), LD(b, V(oc)), x_mul(c, xv, LD(w, V(oc), V(ic), V(kh), V(kw))));
    oc = axis("oc", OC), oh = axis("oh", OH), ow = axis("ow", OW);
    expr v = LD(acc, V(oc), V(oh), V(ow));
    if (r) v = x_add(c, v, LD(r, V(oc), V(oh), V(ow)));
    MAP(y, AX(oc, oh, ow), relu(v));
}
static UNUSED void dwconv(int C, int H) {
    begin("dw");
    struct buf *x = PAR("x", F32, DIR_IN, I(C), I(H), I(H)), *w = PAR("w", F32, DIR_IN, I(C), I(3), I(3)),
               *b = PAR("b", F32, DIR_IN, I(C));
    struct buf *y = PAR("y", F32, DIR_OUT, I(C), I(H), I(H)), *acc = BUF("acc", F32, I(C), I(H), I(H));
    const struct var *ch = axis("c", I(C)), *oh = axis("oh", I(H)), *ow = axis("ow", I(H)), *kh = axis("kh", I(3)),
                     *kw = axis("kw", I(3));
    expr ih = x_add(c, V(oh), x_addi(c, V(kh), -1)), iw = x_add(c, V(ow), x_addi(c, V(kw), -1));
    RED(acc, AX(ch, oh, ow), RED_SUM, AX(kh, kw), LD(b, V(ch)),
        x_mul(c, LDF(F(0), x, V(ch), ih, iw), LD(w, V(ch), V(kh), V(kw))));
    ch = axis("c", I(C)), oh = axis("oh", I(H)), ow = axis("ow", I(H));
    MAP(y, AX(ch, oh, ow), x_min(c, relu(LD(acc, V(ch), V(oh), V(ow))), F(6)));
}
static UNUSED struct buf *table(const char *name, int rows, int cols, const float *v) {
    struct buf *b = buf_new(c, p, name, F32, SC_CONST, (expr[]){I(rows), I(cols)}, 2);
    struct tensor *t = tensor_new(&c->arena, F32, (int64_t[]){rows, cols}, 2);
    for (int k = 0; k < rows * cols; k++) tensor_set_f(t, k, v[k]);
    b->data = t;
    return b;
}
/* F(4,3) Winograd; u is the transformed filter */
static UNUSED void wino(int IC, int H, int OC) {
    static const float BTv[] = {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
                                0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1};
    static const float ATv[] = {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0, 0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1};
    begin("wino");
    expr T = I((H + 3) / 4);
    struct buf *x = PAR("x", F32, DIR_IN, I(IC), I(H), I(H)), *u = PAR("u", F32, DIR_IN, I(6), I(6), I(IC), I(OC)),
               *bias = PAR("b", F32, DIR_IN, I(OC));
    struct buf *y = PAR("y", F32, DIR_OUT, I(OC), I(H), I(H)), *BT = table("BT", 6, 6, BTv),
               *AT = table("AT", 4, 6, ATv);
    struct buf *Tb = BUF("T", F32, I(6), I(6), I(IC), T, T), *Vb = BUF("V", F32, I(6), I(6), I(IC), T, T),
               *Mb = BUF("M", F32, I(6), I(6), I(OC), T, T);
    struct buf *Z = BUF("Z", F32, I(4), I(6), I(OC), T, T), *O = BUF("O", F32, I(4), I(4), I(OC), T, T);
#define TILES const struct var *th = axis("th", T), *tw = axis("tw", T)
    {
        TILES, *a = axis("a", I(6)), *j = axis("j", I(6)), *ic = axis("ic", I(IC)), *i = axis("i", I(6));
        expr v = LDF(F(0), x, V(ic), x_add(c, x_muli(c, V(th), 4), x_addi(c, V(i), -1)),
                     x_add(c, x_muli(c, V(tw), 4), x_addi(c, V(j), -1)));
        RED(Tb, AX(a, j, ic, th, tw), RED_SUM, AX(i), F(0), x_mul(c, LD(BT, V(a), V(i)), v));
    }
    {
        TILES, *a = axis("a", I(6)), *b = axis("b", I(6)), *ic = axis("ic", I(IC)), *j = axis("j", I(6));
        RED(Vb, AX(a, b, ic, th, tw), RED_SUM, AX(j), F(0),
            x_mul(c, LD(BT, V(b), V(j)), LD(Tb, V(a), V(j), V(ic), V(th), V(tw))));
    }
    {
        TILES, *a = axis("a", I(6)), *b = axis("b", I(6)), *oc = axis("oc", I(OC)), *ic = axis("ic", I(IC));
        RED(Mb, AX(a, b, oc, th, tw), RED_SUM, AX(ic), F(0),
            x_mul(c, LD(Vb, V(a), V(b), V(ic), V(th), V(tw)), LD(u, V(a), V(b), V(ic), V(oc))));
    }
    {
        TILES, *i = axis("i", I(4)), *b = axis("b", I(6)), *oc = axis("oc", I(OC)), *a = axis("a", I(6));
        RED(Z, AX(i, b, oc, th, tw), RED_SUM, AX(a), F(0),
            x_mul(c, LD(AT, V(i), V(a)), LD(Mb, V(a), V(b), V(oc), V(th), V(tw))));
    }
    {
        TILES, *i = axis("i", I(4)), *j = axis("j", I(4)), *oc = axis("oc", I(OC)), *b = axis("b", I(6));
        RED(O, AX(i, j, oc, th, tw), RED_SUM, AX(b), F(0),
            x_mul(c, LD(AT, V(j), V(b)), LD(Z, V(i), V(b), V(oc), V(th), V(tw))));
    }
    const struct var *oc = axis("oc", I(OC)), *oh = axis("oh", I(H)), *ow = axis("ow", I(H));
    expr v = LD(O, x_modi(c, V(oh), 4), x_modi(c, V(ow), 4), V(oc), x_divi(c, V(oh), 4), x_divi(c, V(ow), 4));
    MAP(y, AX(oc, oh, ow), relu(x_add(c, v, LD(bias, V(oc)))));
}
/* 7x7/2 convolution, relu, 3x3/2 max-pool */
static UNUSED void stem_pool(int H, int OC) {
    begin("stem");
    int OH = (H + 6 - 7) / 2 + 1, PH = (OH + 1) / 2;
    struct buf *x = PAR("x", F32, DIR_IN, I(3), I(H), I(H)), *w = PAR("w", F32, DIR_IN, I(OC), I(3), I(7), I(7)),
               *b = PAR("b", F32, DIR_IN, I(OC));
    struct buf *y = PAR("y", F32, DIR_OUT, I(OC), I(PH), I(PH)), *acc = BUF("acc", F32, I(OC), I(OH), I(OH)),
               *s = BUF("s", F32, I(OC), I(OH), I(OH)), *mx = BUF("m", F32, I(OC), I(PH), I(PH));
    const struct var *oc = axis("oc", I(OC)), *oh = axis("oh", I(OH)), *ow = axis("ow", I(OH)), *ic = axis("ic", I(3)),
                     *kh = axis("kh", I(7)), *kw = axis("kw", I(7));
    expr ih = x_add(c, x_muli(c, V(oh), 2), x_addi(c, V(kh), -3)),
         iw = x_add(c, x_muli(c, V(ow), 2), x_addi(c, V(kw), -3));
    RED(acc, AX(oc, oh, ow), RED_SUM, AX(ic, kh, kw), LD(b, V(oc)),
        x_mul(c, LDF(F(0), x, V(ic), ih, iw), LD(w, V(oc), V(ic), V(kh), V(kw))));
    oc = axis("oc", I(OC)), oh = axis("oh", I(OH)), ow = axis("ow", I(OH));
    MAP(s, AX(oc, oh, ow), relu(LD(acc, V(oc), V(oh), V(ow))));
    const struct var *ph = axis("ph", I(PH)), *pw = axis("pw", I(PH)), *i = axis("i", I(3)), *j = axis("j", I(3));
    oc = axis("oc", I(OC));
    expr v = LDF(F(0), s, V(oc), x_add(c, x_muli(c, V(ph), 2), x_addi(c, V(i), -1)),
                 x_add(c, x_muli(c, V(pw), 2), x_addi(c, V(j), -1)));
    RED(mx, AX(oc, ph, pw), RED_MAX, AX(i, j), NULL, v);
    oc = axis("oc", I(OC)), ph = axis("ph", I(PH)), pw = axis("pw", I(PH));
    MAP(y, AX(oc, ph, pw), LD(mx, V(oc), V(ph), V(pw)));
}
static UNUSED void softmax(int R, int D) {
    begin("softmax");
    struct buf *x = PAR("x", F32, DIR_IN, I(R), I(D)), *y = PAR("y", F32, DIR_OUT, I(R), I(D));
    struct buf *mx = BUF("m", F32, I(R)), *s = BUF("s", F32, I(R)), *inv = BUF("inv", F32, I(R)),
               *e = BUF("e", F32, I(R), I(D));
    struct fn *ex = NEW(&c->arena, struct fn); /* stands for exp: any function of the right kind will do */
    expr a = x_arg(c, 0, F32);
    *ex = (struct fn){.name = "e2",
                      .nargs = 1,
                      .type = F32,
                      .args = {F32},
                      .body = x_fma(c, a, x_mul(c, a, F(0.25)), x_add(c, a, F(1.5))),
                      .id = 1};
    PUSH(&c->arena, &m->fns, (const struct fn *)ex);
    const struct var *r = axis("r", I(R)), *d = axis("d", I(D));
    RED(mx, AX(r), RED_MAX, AX(d), NULL, LD(x, V(r), V(d)));
    r = axis("r", I(R)), d = axis("d", I(D));
    expr diff = x_sub(c, LD(x, V(r), V(d)), LD(mx, V(r)));
    MAP(e, AX(r, d), x_call(c, ex, &diff));
    r = axis("r", I(R)), d = axis("d", I(D));
    RED(s, AX(r), RED_SUM, AX(d), NULL, LD(e, V(r), V(d)));
    r = axis("r", I(R));
    MAP(inv, AX(r), x_div(c, F(1), LD(s, V(r))));
    r = axis("r", I(R)), d = axis("d", I(D));
    MAP(y, AX(r, d), x_mul(c, LD(e, V(r), V(d)), LD(inv, V(r))));
}
static UNUSED void layernorm(int R, int D) {
    begin("layernorm");
    struct buf *x = PAR("x", F32, DIR_IN, I(R), I(D)), *g = PAR("g", F32, DIR_IN, I(D)),
               *b = PAR("b", F32, DIR_IN, I(D)), *y = PAR("y", F32, DIR_OUT, I(R), I(D));
    struct buf *s = BUF("s", F32, I(R)), *q = BUF("q", F32, I(R)), *mu = BUF("mu", F32, I(R)),
               *is = BUF("is", F32, I(R));
    const struct var *r = axis("r", I(R)), *d = axis("d", I(D));
    RED(s, AX(r), RED_SUM, AX(d), NULL, LD(x, V(r), V(d)));
    r = axis("r", I(R));
    MAP(mu, AX(r), x_mul(c, LD(s, V(r)), F(1.0f / (float)D)));
    r = axis("r", I(R)), d = axis("d", I(D));
    expr t = x_sub(c, LD(x, V(r), V(d)), LD(mu, V(r)));
    RED(q, AX(r), RED_SUM, AX(d), NULL, x_mul(c, t, t));
    r = axis("r", I(R));
    MAP(is, AX(r), x_div(c, F(1), x_un(c, X_SQRT, x_add(c, x_mul(c, LD(q, V(r)), F(1.0f / (float)D)), F(0.001f)))));
    r = axis("r", I(R)), d = axis("d", I(D));
    expr n = x_mul(c, x_sub(c, LD(x, V(r), V(d)), LD(mu, V(r))), LD(is, V(r)));
    MAP(y, AX(r, d), x_add(c, x_mul(c, n, LD(g, V(d))), LD(b, V(d))));
}
/* row major; M may be a size of the run */
static UNUSED void gemm_rm(expr M, int K, int N) {
    begin("gemm");
    struct buf *x = PAR("x", F32, DIR_IN, M, I(K)), *w = PAR("w", F32, DIR_IN, I(K), I(N)),
               *b = PAR("b", F32, DIR_IN, I(N)), *y = PAR("y", F32, DIR_OUT, M, I(N));
    struct buf *acc = BUF("acc", F32, M, I(N));
    const struct var *mm = axis("m", M), *n = axis("n", I(N)), *k = axis("k", I(K));
    RED(acc, AX(mm, n), RED_SUM, AX(k), LD(b, V(n)), x_mul(c, LD(x, V(mm), V(k)), LD(w, V(k), V(n))));
    mm = axis("m", M), n = axis("n", I(N));
    MAP(y, AX(mm, n), relu(LD(acc, V(mm), V(n))));
}
static UNUSED void qgemm(int M, int K, int N) {
    begin("qgemm");
    struct buf *x = PAR("x", U8, DIR_IN, I(M), I(K)), *w = PAR("w", I8, DIR_IN, I(N), I(K)),
               *b = PAR("b", I32, DIR_IN, I(N)), *y = PAR("y", I32, DIR_OUT, I(M), I(N));
    struct buf *acc = BUF("acc", I32, I(M), I(N));
    const struct var *mm = axis("m", I(M)), *n = axis("n", I(N)), *k = axis("k", I(K));
    RED(acc, AX(mm, n), RED_SUM, AX(k), LD(b, V(n)), x_mul(c, LD(x, V(mm), V(k)), LD(w, V(n), V(k))));
    mm = axis("m", I(M)), n = axis("n", I(N));
    MAP(y, AX(mm, n), x_max(c, LD(acc, V(mm), V(n)), x_const_i(c, I32, -100)));
}

/* ---- running: outputs of one run, all parameters filled from a seed */
struct run {
    int n;
    void *out[4];
    size_t bytes[4];
    enum dtype type[4];
};
static UNUSED bool leaf_value(void *env, expr e, int64_t *v) {
    const int64_t *syms = env;
    for (int k = 0; k < p->syms.n; k++)
        if (e->op == X_SYM && e->u.sym == p->syms.v[k]) return *v = syms[k], true;
    return false;
}
static uint64_t seed;
static int64_t draw(int64_t lo, int64_t hi) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return lo + (int64_t)(seed % (uint64_t)(hi - lo + 1));
}
static UNUSED void fill_arg(const struct buf *b, struct eval_arg *a, const int64_t *syms, bool real) {
    int64_t n = 1;
    a->nd = b->nlogical;
    for (int d = 0; d < b->nlogical; d++) {
        cr_assert(x_eval_int(b->logical[d], leaf_value, (void *)syms, &a->dims[d]));
        n *= a->dims[d];
    }
    a->data = calloc((size_t)n + 1, (size_t)dtype_bytes(b->type));
    for (int64_t k = 0; k < n; k++) switch (b->type) {
        case F32: ((float *)a->data)[k] = real ? (float)draw(-1000000, 1000000) / 777777.0f : (float)draw(-3, 3); break;
        case U8: ((uint8_t *)a->data)[k] = (uint8_t)draw(0, 255); break;
        case I8: ((int8_t *)a->data)[k] = (int8_t)draw(-128, 127); break;
        case U16: ((uint16_t *)a->data)[k] = (uint16_t)draw(0, 65535); break;
        case F16: ((uint16_t *)a->data)[k] = (uint16_t)draw(0, 0x7bff); break; /* finite, not below 0 */
        default: ((int32_t *)a->data)[k] = (int32_t)draw(-1000, 1000); break;
        }
}
static UNUSED struct run run(const int64_t *syms, bool real, const char *after) {
    struct eval_arg args[8] = {0};
    struct run r = {0};
    struct eval_options o = {.poison = true};
    seed = 0x9e3779b97f4a7c15u;
    for (int k = 0; k < p->params.n; k++) fill_arg(p->params.v[k].buf, &args[k], syms, real);
    for (int k = 0; k < p->params.n; k++)
        if (p->params.v[k].dir == DIR_OUT) free(args[k].data), args[k].data = NULL;
    struct eval_result e = loop_eval(m, p, args, syms, &o);
    cr_assert_eq(e.status, EVAL_OK, "%s: after `%s`: %s", p->name, after, e.message);
    for (int k = 0; k < p->params.n; k++) {
        if (p->params.v[k].dir == DIR_IN) {
            free(args[k].data);
            continue;
        }
        r.type[r.n] = p->params.v[k].buf->type;
        r.bytes[r.n] = (size_t)dtype_bytes(r.type[r.n]);
        for (int d = 0; d < args[k].nd; d++) r.bytes[r.n] *= (size_t)args[k].dims[d];
        r.out[r.n++] = args[k].data;
    }
    return r;
}
static UNUSED void run_free(struct run *r) {
    for (int k = 0; k < r->n; k++) free(r->out[k]);
}
static UNUSED char *diagnostics(void) {
    struct text t = {0};
    diag_print(&c->diags, &t, false);
    return t.s ? t.s : (char *)"";
}
#endif
