/* Recurrent ops: the expansions of LSTM, GRU and RNN, lowered as plain loops and run by the interpreter, against a
 * plain C reading of the ONNX formulas: directions, sequence lengths, peepholes, clip, activations, layout, run-time
 * sizes. */
#include "compiler/graph/passes.h"
#include "ir/eval/eval.h"
#include "lower/lower.h"
#include "lower/ops/ops.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 512 };
struct net {
    const char *op, *attrs; /* attribute text of the node */
    int gates, dirs, t, b, i, h;
    bool symbolic, reverse, lbr, couple, peep, states, batch_first, variable;
    const int *lens; /* NULL: whole */
    float clip;
    float (*f)(float), (*g)(float);
};
static struct ctx *c;
static void setup(void) {
    static bool once;
    if (!once) ops_register_all();
    once = true;
    c = ctx_new();
}
static void teardown(void) { ctx_free(c); }
TestSuite(rnn, .init = setup, .fini = teardown);

static uint32_t seed;
static void fill(float *p, int n) {
    for (int k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        p[k] = (float)(int32_t)seed * 0x1p-31f * 0.9f;
    }
}
static float sigm(float v) { return 1 / (1 + expf(-v)); }
static float relu(float v) { return v > 0 ? v : 0; }

/* Data of a case: always [T,B,..] and [D,B,..]; the graph's own layout is made from it. */
static float x[MAX], w[MAX], r[MAX], bias[MAX], p[MAX], h0[MAX], c0[MAX], y[MAX], yh[MAX], yc[MAX];

static float bound(const struct net *n, float v) { return n->clip > 0 ? fminf(fmaxf(v, -n->clip), n->clip) : v; }
static float dot(const float *row, const float *v, int n) {
    float s = 0;
    for (int k = 0; k < n; k++) s += row[k] * v[k];
    return s;
}
struct cell {
    const struct net *n;
    const float *x, *w, *r, *wb, *rb, *p;
    float *h, *c;
};
/* Part of gate k at j that comes from the input, and from the state s. */
static float from_x(const struct cell *e, int k, int j) {
    int row = k * e->n->h + j;
    return dot(e->w + row * e->n->i, e->x, e->n->i) + e->wb[row];
}
static float from_h(const struct cell *e, int k, int j, const float *s) {
    int row = k * e->n->h + j;
    return dot(e->r + row * e->n->h, s, e->n->h) + e->rb[row];
}
static void cell_step(const struct cell *e) {
    const struct net *n = e->n;
    int H = n->h;
    float next[64], rh[64];
    for (int j = 0; j < H && n->gates == 3; j++)
        rh[j] = n->f(bound(n, from_x(e, 1, j) + from_h(e, 1, j, e->h))) * e->h[j];
    for (int j = 0; j < H; j++) {
        if (n->gates == 1) {
            next[j] = n->f(bound(n, from_x(e, 0, j) + from_h(e, 0, j, e->h)));
        } else if (n->gates == 3) {
            float z = n->f(bound(n, from_x(e, 0, j) + from_h(e, 0, j, e->h)));
            float reset = n->f(bound(n, from_x(e, 1, j) + from_h(e, 1, j, e->h)));
            float cand = n->lbr ? reset * from_h(e, 2, j, e->h) : from_h(e, 2, j, rh);
            next[j] = (1 - z) * n->g(bound(n, from_x(e, 2, j) + cand)) + z * e->h[j];
        } else {
            float i = n->f(bound(n, from_x(e, 0, j) + from_h(e, 0, j, e->h) + (n->peep ? e->p[j] * e->c[j] : 0)));
            float f = n->couple ? 1 - i
                                : n->f(bound(n, from_x(e, 2, j) + from_h(e, 2, j, e->h) +
                                                    (n->peep ? e->p[2 * H + j] * e->c[j] : 0)));
            float cc = f * e->c[j] + i * n->g(bound(n, from_x(e, 3, j) + from_h(e, 3, j, e->h)));
            float o = n->f(bound(n, from_x(e, 1, j) + from_h(e, 1, j, e->h) + (n->peep ? e->p[H + j] * cc : 0)));
            e->c[j] = cc;
            next[j] = o * n->g(bound(n, cc));
        }
    }
    memcpy(e->h, next, (size_t)H * sizeof *next);
}
static void reference(const struct net *n) {
    int H = n->h, all = n->gates * H;
    memset(y, 0, sizeof y);
    for (int d = 0; d < n->dirs; d++)
        for (int b = 0; b < n->b; b++) {
            bool back = n->reverse || d == 1;
            int len = n->lens ? n->lens[b] : n->t;
            float *h = yh + (d * n->b + b) * H, *cc = yc + (d * n->b + b) * H;
            for (int j = 0; j < H; j++) {
                h[j] = n->states ? h0[(d * n->b + b) * H + j] : 0;
                cc[j] = n->states ? c0[(d * n->b + b) * H + j] : 0;
            }
            for (int s = 0; s < len; s++) {
                int t = back ? len - 1 - s : s;
                struct cell e = {n,
                                 x + (t * n->b + b) * n->i,
                                 w + d * all * n->i,
                                 r + d * all * H,
                                 bias + d * 2 * all,
                                 bias + d * 2 * all + all,
                                 p + d * 3 * H,
                                 h,
                                 cc};
                cell_step(&e);
                memcpy(y + ((t * n->dirs + d) * n->b + b) * H, h, (size_t)H * sizeof *h);
            }
        }
}

/* ---- the graph */
static void tensor_text(struct text *t, const char *name, const float *v, int a, int b, int m) {
    text_printf(t, m ? "const %%%s: f32[%d,%d,%d] = [" : "const %%%s: f32[%d,%d] = [", name, a, b, m);
    for (int k = 0; k < a * b * (m ? m : 1); k++) text_printf(t, "%s%.9e", k ? ", " : "", (double)v[k]);
    text_printf(t, "]\n");
}
static struct graph *graph_of(const struct net *n) {
    struct text t = {0}, d = {0};
    int all = n->gates * n->h;
    text_printf(&t, "graph \"\"\n%s", n->symbolic ? "sym T: 1..64\nsym B: 1..64\n" : "");
    if (!n->variable) {
        tensor_text(&t, "W", w, n->dirs, all, n->i);
        tensor_text(&t, "R", r, n->dirs, all, n->h);
        tensor_text(&t, "Bias", bias, n->dirs, 2 * all, 0);
        tensor_text(&t, "P", p, n->dirs, 3 * n->h, 0);
    }
    char T[16] = "T", B[16] = "B";
    if (!n->symbolic) snprintf(T, sizeof T, "%d", n->t), snprintf(B, sizeof B, "%d", n->b);
    bool f = n->batch_first;
    text_printf(&t, "region \"\" (%%X: f32[%s,%s,%d], %%lens: i32[%s], ", f ? B : T, f ? T : B, n->i, B);
    if (f) text_printf(&t, "%%h: f32[%s,%d,%d], %%c: f32[%s,%d,%d]", B, n->dirs, n->h, B, n->dirs, n->h);
    else text_printf(&t, "%%h: f32[%d,%s,%d], %%c: f32[%d,%s,%d]", n->dirs, B, n->h, n->dirs, B, n->h);
    if (n->variable)
        text_printf(&t, ", %%W: f32[%d,%d,%d], %%R: f32[%d,%d,%d], %%Bias: f32[%d,%d], %%P: f32[%d,%d]", n->dirs, all,
                    n->i, n->dirs, all, n->h, n->dirs, 2 * all, n->dirs, 3 * n->h);
    bool lstm = n->gates == 4;
    text_printf(&t, ") {\n  %%y: ?, %%yh: ?%s = %s(%%X, %%W, %%R, %%Bias, %s, %s%s%s)%s%s%s\n  return %%y, %%yh%s\n}\n",
                lstm ? ", %yc: ?" : "", n->op, n->lens ? "%lens" : "_", n->states ? "%h" : "_",
                lstm ? n->states ? ", %c" : ", _" : "", lstm ? n->peep ? ", %P" : ", _" : "", *n->attrs ? " {" : "",
                n->attrs, *n->attrs ? "}" : "", lstm ? ", %yc" : "");
    struct graph *g = graph_parse(c, t.s, t.n, "t.gir");
    diag_print(&c->diags, &d, false);
    cr_assert(g, "%s\n%s", d.s, t.s);
    bool ok = graph_infer(g) && graph_verify(g, "infer");
    diag_print(&c->diags, &d, false);
    cr_assert(ok, "%s", d.s);
    return g;
}
static void swap_axes(float *to, const float *from, int a, int b, int n) {
    for (int i = 0; i < a; i++)
        for (int j = 0; j < b; j++) memcpy(to + (j * a + i) * n, from + (i * b + j) * n, (size_t)n * sizeof *to);
}
static void same(const char *what, const float *got, const float *want, int n) {
    for (int k = 0; k < n; k++)
        cr_assert(fabsf(got[k] - want[k]) <= 2e-6f, "%s[%d] is %g, not %g", what, k, (double)got[k], (double)want[k]);
}
static struct eval_arg arg(void *data, int a, int b, int m) {
    return (struct eval_arg){data, {a, b, m}, m ? 3 : b ? 2 : 1};
}
static void check(struct net n) {
    int all = n.gates * n.h, D = n.dirs, H = n.h, lens[64];
    seed = 7;
    float *const data[] = {x, w, r, bias, p, h0, c0};
    for (int k = 0; k < 7; k++) fill(data[k], MAX);
    n.f = n.f ? n.f : n.gates == 1 ? tanhf : sigm;
    n.g = n.g ? n.g : tanhf;
    reference(&n);
    for (int b = 0; b < n.b; b++) lens[b] = n.lens ? n.lens[b] : n.t;
    static float gx[MAX], gh[MAX], gc[MAX], ty[MAX];
    bool f = n.batch_first;
    swap_axes(gx, x, n.t, n.b, n.i), swap_axes(gh, h0, D, n.b, H), swap_axes(gc, c0, D, n.b, H);
    struct graph *g = graph_of(&n);
    struct module *m =
        lower_graph(g, &(struct lower_options){.target = target_by_name("c"), .no_schedule = true, .no_fuse = true});
    struct text d = {0};
    diag_print(&c->diags, &d, false);
    cr_assert(m, "%s", d.s);
    struct eval_arg a[16] = {f ? arg(gx, n.b, n.t, n.i) : arg(x, n.t, n.b, n.i), arg(lens, n.b, 0, 0),
                             f ? arg(gh, n.b, D, H) : arg(h0, D, n.b, H), f ? arg(gc, n.b, D, H) : arg(c0, D, n.b, H)};
    int k = 4;
    if (n.variable)
        a[k++] = arg(w, D, all, n.i), a[k++] = arg(r, D, all, H), a[k++] = arg(bias, D, 2 * all, 0),
        a[k++] = arg(p, D, 3 * H, 0);
    cr_assert_eq(m->entry->params.n, k + 2 + (n.gates == 4), "%d parameters", m->entry->params.n);
    struct eval_result res = loop_eval(m, m->entry, a, NULL, &(struct eval_options){.poison = true});
    cr_assert_eq(res.status, EVAL_OK, "%s", res.message);
    float *gy = a[k].data, *h = a[k + 1].data, *cc = n.gates == 4 ? a[k + 2].data : NULL;
    if (f) { /* [B,T,D,H] and [B,D,H] */
        swap_axes(ty, gy, n.b, n.t * D, H);
        same("Y", ty, y, n.t * D * n.b * H);
        swap_axes(ty, h, n.b, D, H);
        same("Y_h", ty, yh, D * n.b * H);
        return;
    }
    same("Y", gy, y, n.t * D * n.b * H);
    same("Y_h", h, yh, D * n.b * H);
    if (cc) same("Y_c", cc, yc, D * n.b * H);
}
static const int some[] = {2, 4, 1};
#define LSTM     .op = "LSTM", .gates = 4
#define GRU      .op = "GRU", .gates = 3
#define RNN      .op = "RNN", .gates = 1
#define SIZES    .t = 4, .b = 3, .i = 2, .h = 3
#define TWO      .dirs = 2
#define TWO_TEXT "direction = \"bidirectional\""

Test(rnn, forward) {
    check((struct net){LSTM, SIZES, .dirs = 1, .attrs = ""});
    check((struct net){GRU, SIZES, .dirs = 1, .attrs = ""});
    check((struct net){RNN, SIZES, .dirs = 1, .attrs = ""});
}
Test(rnn, reverse) {
    check((struct net){LSTM, SIZES, .dirs = 1, .reverse = true, .attrs = "direction = \"reverse\""});
    check((struct net){RNN, SIZES, .dirs = 1, .reverse = true, .lens = some, .attrs = "direction = \"reverse\""});
}
Test(rnn, both_directions_lengths_states) {
    check((struct net){LSTM, SIZES, TWO, .lens = some, .states = true, .attrs = TWO_TEXT});
    check((struct net){GRU, SIZES, TWO, .lens = some, .states = true, .attrs = TWO_TEXT});
    check((struct net){RNN, SIZES, TWO, .lens = some, .states = true, .attrs = TWO_TEXT});
}
Test(rnn, sizes_of_the_run) {
    check((struct net){LSTM, SIZES, TWO, .symbolic = true, .attrs = TWO_TEXT});
    check((struct net){GRU, SIZES, TWO, .symbolic = true, .lens = some, .attrs = TWO_TEXT});
}
Test(rnn, weights_of_the_run) {
    check((struct net){LSTM, SIZES, TWO, .variable = true, .peep = true, .lens = some, .attrs = TWO_TEXT});
    check((struct net){GRU, SIZES, TWO, .variable = true, .attrs = TWO_TEXT});
    check((struct net){GRU, SIZES, TWO, .variable = true, .lbr = true, .attrs = TWO_TEXT ", linear_before_reset = 1"});
}
Test(rnn, forms_of_the_cells) {
    check((struct net){LSTM, SIZES, .dirs = 1, .peep = true, .clip = 0.3f, .attrs = "clip = 0.3"});
    check((struct net){LSTM, SIZES, .dirs = 1, .couple = true, .attrs = "input_forget = 1"});
    check((struct net){GRU, SIZES, .dirs = 1, .lbr = true, .states = true, .attrs = "linear_before_reset = 1"});
    check((struct net){GRU, SIZES, .dirs = 1, .clip = 0.2f, .attrs = "clip = 0.2"});
    check((struct net){RNN, SIZES, .dirs = 1, .f = relu, .attrs = "activations = [\"relu\"]"});
}
Test(rnn, batch_first) {
    check((struct net){LSTM, SIZES, TWO, .batch_first = true, .states = true, .attrs = TWO_TEXT ", layout = 1"});
    check((struct net){GRU, SIZES, .dirs = 1, .batch_first = true, .symbolic = true, .attrs = "layout = 1"});
}
Test(rnn, a_single_step_has_no_loop) {
    struct net n = {LSTM, .t = 1, .b = 2, .i = 2, .h = 3, .dirs = 1, .states = true, .attrs = ""};
    check(n);
    struct graph *g = graph_of(&n);
    for (struct node *k = g->top->first; k; k = k->next) cr_assert_str_neq(k->op_type, "Scan");
    static const int none[] = {1, 0};
    check((struct net){GRU, .t = 1, .b = 2, .i = 2, .h = 3, TWO, .states = true, .lens = none, .attrs = TWO_TEXT});
}
/* HardSigmoid takes alpha and beta, Affine too, Tanh neither: the lists are consumed in that order. */
static float hard(float v) { return fmaxf(0, fminf(1, 0.3f * v + 0.4f)); }
static float line(float v) { return 0.5f * v + 0.1f; }
Test(rnn, parameters_of_activations) {
    check((struct net){GRU, SIZES, .dirs = 1, .f = hard, .g = line,
                       .attrs = "activations = [\"HardSigmoid\", \"Affine\"], activation_alpha = [0.3, 0.5], "
                                "activation_beta = [0.4, 0.1]"});
    check((struct net){GRU, SIZES, .dirs = 1, .f = tanhf, .g = line,
                       .attrs =
                           "activations = [\"Tanh\", \"Affine\"], activation_alpha = [0.5], activation_beta = [0.1]"});
}
