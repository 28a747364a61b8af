/* Recurrent ops, LSTM, GRU and RNN: expanded at inference into one product of the inputs of all steps with W, and a
 * Scan over the steps whose body multiplies the state by R and applies the gates. The gates of a step are one op of the
 * private domain "gcc2nn", so that each cell is computed in one pass however the activations are chosen. A sequence of
 * a single step needs no Scan: its body stands in the graph itself. */
#include "lower/ops/ops.h"
#include <math.h>
#include <string.h>

static const char *const domain = "gcc2nn";
enum { MAX_ACTS = 3 };
enum kind { K_RNN, K_GRU, K_LSTM };
static const struct kind_row {
    int gates, acts;
    const char *step, *defaults[MAX_ACTS];
} kinds[] = {{1, 1, "RNNStep", {"Tanh"}},
             {3, 2, "GRUStep", {"Sigmoid", "Tanh"}},
             {4, 3, "LSTMStep", {"Sigmoid", "Tanh", "Tanh"}}};

/* ---- building nodes, in the graph or in a body */
struct place {
    struct region *r;
    struct node *before;
};
static struct node *make(struct place p, const char *in_domain, const char *op_type, const V *ins, int nins,
                         int nouts) {
    struct node *of = def_node(), *n = node_new(p.r, p.before, in_domain, op_type, ins, nins, nouts);
    n->op = op_find(in_domain, op_type);
    if (!n->op) BUG("expansion of %s uses unknown op %s", of->op_type, op_type);
    n->version = opset_newest(in_domain);
    n->name = of->name;
    n->origin = of->origin;
    return n;
}
#define NODE(place, op_domain, op_type, ...)                                                                           \
    make(place, op_domain, op_type, (const V[]){__VA_ARGS__}, (int)(sizeof((const V[]){__VA_ARGS__}) / sizeof(V)), 1)
#define VALUE(...) NODE(__VA_ARGS__)->outs.v[0]
static struct place here(void) { return (struct place){def_node()->in, def_node()}; }
static struct graph *graph(void) { return def_node()->in->graph; }
static V scalar_i64(int64_t v) { return graph_scalar(graph(), I64, v); }
static V transposed(V x, const int64_t *perm, int n) {
    struct node *t = NODE(here(), "", "Transpose", x);
    node_set_attr(t, attr_ints("perm", perm, n));
    return t->outs.v[0];
}

/* ---- parameters of one direction: new constants where the model's are constant */
static const struct tensor *weights_const(const struct tensor *w, int dir, int64_t from, int64_t count) {
    int64_t cols = w->dims[2];
    struct tensor *t = tensor_new(def_arena(), w->type, (int64_t[]){cols, count}, 2);
    if (!t) return NULL;
    for (int64_t i = 0; i < cols; i++)
        for (int64_t j = 0; j < count; j++)
            tensor_set_f(t, i * count + j, tensor_f(w, (dir * w->dims[1] + from + j) * cols + i));
    return t;
}
/* Rows from .. from + count of w[dir], transposed. */
static V weights(V w, int ndirs, int64_t rows, int dir, int64_t from, int64_t count) {
    if (w->init) {
        const struct tensor *t = weights_const(w->init, dir, from, count);
        if (t) return graph_const(graph(), "", t);
    }
    struct node *n = NODE(here(), domain, "RecurrentWeights", w);
    node_set_attr(n, attr_int("directions", ndirs));
    node_set_attr(n, attr_int("rows", rows));
    node_set_attr(n, attr_int("dir", dir));
    node_set_attr(n, attr_int("from", from));
    node_set_attr(n, attr_int("count", count));
    return n->outs.v[0];
}
/* b[dir, from + i] for i < count; the first `summed` of them plus b[dir, second + i]. */
static V vector(V b, int ndirs, int64_t length, int dir, int64_t from, int64_t count, int64_t second, int64_t summed) {
    if (b->init) {
        const struct tensor *s = b->init;
        const int64_t row = dir * s->dims[1];
        struct tensor *t = tensor_new(def_arena(), s->type, &count, 1);
        for (int64_t i = 0; i < count; i++)
            tensor_set_f(t, i, tensor_f(s, row + from + i) + (i < summed ? tensor_f(s, row + second + i) : 0));
        return graph_const(graph(), "", t);
    }
    struct node *n = NODE(here(), domain, "RecurrentVector", b);
    node_set_attr(n, attr_int("directions", ndirs));
    node_set_attr(n, attr_int("rows", length));
    node_set_attr(n, attr_int("dir", dir));
    node_set_attr(n, attr_int("from", from));
    node_set_attr(n, attr_int("count", count));
    node_set_attr(n, attr_int("second", second));
    node_set_attr(n, attr_int("summed", summed));
    return n->outs.v[0];
}
static void fits(T t) { /* dims that are only known in the run */
    require(and_(eq(dim(t, 0), idx(int_attr("directions"))), eq(dim(t, 1), idx(int_attr("rows")))),
            "weights or bias are for another number of directions or hidden size");
}
static void op_weights(void) {
    E dir = idx(int_attr("dir")), from = idx(int_attr("from"));
    T w = in(0);
    fits(w);
    X i = axes(list2(dim(w, 2), idx(int_attr("count"))));
    out(0, dtype(w), i, at(w, list3(dir, add(i.v[1], from), i.v[0])));
}
static void op_vector(void) {
    T b = in(0);
    int64_t dir = int_attr("dir"), from = int_attr("from"), count = int_attr("count"), second = int_attr("second"),
            summed = int_attr("summed");
    fits(b);
    X i = axes(list1(idx(count)));
    E v = at(b, list2(idx(dir), add(i.v[0], idx(from))));
    if (summed > 0) {
        E other = at_or(b, list2(idx(dir), add(i.v[0], idx(second))), num(0));
        v = summed == count ? add(v, other) : sel(lt(i.v[0], idx(summed)), add(v, other), v);
    }
    out(0, dtype(b), i, v);
}
/* Zeros [B,H] for the input [T,B,I]. */
static void op_state(void) {
    T x = in(0);
    X i = axes(list2(dim(x, 1), idx(int_attr("hidden_size"))));
    out(0, dtype(x), i, num(0));
}
/* 0, 1, 2 ... one for each step of the input [T,B,I]. */
static void op_steps(void) {
    X i = axes(list1(dim(in(0), 0)));
    out(0, I64, i, val(i.v[0]));
}

/* ---- the gates of one step */
struct step {
    X i;
    E h;
};                         /* indices over [B,H], hidden size */
static E act(int k, E v) { /* the k-th activation; its argument is clipped */
    const struct attr *names = node_attr(def_node(), "activations");
    const float *alphas, *betas;
    double bound = float_attr("clip");
    if (bound > 0) v = min_(num(bound), max_(num(-bound), v)); /* keeps NaN */
    floats_attr("alphas", &alphas);
    floats_attr("betas", &betas);
    return activation(names->u.ss[k].p, v, alphas[k], betas[k]);
}
static struct step step_of(T state) {
    require(eq(dim(state, 0), dim(in(0), 0)), "the initial state is for another batch size");
    struct step s = {axes_named(shape(state), "b h"), dim(state, 1)};
    return s;
}
static E gate(T t, const struct step *s, int k) {
    return at(t, list2(within(s->i.v[0], dim(t, 0)), add(s->i.v[1], mul(s->h, idx(k)))));
}
static E both(T xw, T hr, const struct step *s, int k) { return add(gate(xw, s, k), gate(hr, s, k)); }
static E live(T step, T lens, const struct step *s) {
    require(eq(dim(lens, 0), dim(in(0), 0)), "sequence_lens is for another batch size");
    return lt(at(step, list0()), cast(I64, at(lens, list1(within(s->i.v[0], dim(lens, 0))))));
}
/* After the end of a sequence (inputs step, step + 1: number of the step, lengths) the state does not change, and the
 * output is 0. */
static void out_state(int k, T old, E v, int step, int y, const struct step *s) {
    enum dtype t = dtype(old);
    if (!has(in(step))) {
        out(k, t, s->i, v);
        return;
    }
    E on = live(in(step), in(step + 1), s);
    out(k, t, s->i, sel(on, v, at(old, s->i)));
    if (y > 0) out(y, t, s->i, sel(on, v, num(0)));
}
static void op_rnnstep(void) { /* xw, hr, h, step, lens -> h, y */
    struct step s = step_of(in(2));
    T h = stage("h", acc(in(2)), s.i, act(0, both(in(0), in(1), &s, 0)));
    out_state(0, in(2), at(h, s.i), 3, 1, &s);
}
static void op_lstmstep(void) { /* xw, hr, h, c, P, step, lens -> h, c, y; gates i o f c */
    T xw = in(0), hr = in(1), old = in(3), p = in(4);
    struct step s = step_of(old);
    enum dtype t = acc(old);
    E gi = both(xw, hr, &s, 0), go = both(xw, hr, &s, 1), gf = both(xw, hr, &s, 2), gc = both(xw, hr, &s, 3),
      c0 = at(old, s.i);
    if (has(p)) {
        gi = add(gi, mul(at(p, list1(s.i.v[1])), c0));
        gf = add(gf, mul(at(p, list1(add(s.i.v[1], mul(s.h, idx(2))))), c0));
    }
    E i = act(0, gi), f = int_attr("input_forget") ? sub(num(1), i) : act(0, gf);
    T c = stage("c", t, s.i, add(mul(f, c0), mul(i, act(1, gc))));
    E c1 = at(c, s.i);
    if (has(p)) go = add(go, mul(at(p, list1(add(s.i.v[1], s.h))), c1));
    T h = stage("h", t, s.i, mul(act(0, go), act(2, c1)));
    out_state(0, in(2), at(h, s.i), 5, 2, &s);
    out_state(1, old, c1, 5, 0, &s);
}
/* GRU without linear_before_reset multiplies the reset state by R: xw, hr, h -> r * h */
static void op_grureset(void) {
    T h = in(2);
    struct step s = step_of(h);
    out(0, dtype(h), s.i, mul(act(0, both(in(0), in(1), &s, 1)), at(h, s.i)));
}
static void op_grustep(void) { /* xw, hr, h, candidate or Rb, step, lens -> h, y; gates z r h */
    T xw = in(0), hr = in(1), old = in(2), extra = in(3);
    struct step s = step_of(old);
    E z = act(0, both(xw, hr, &s, 0)), n = gate(xw, &s, 2);
    if (int_attr("linear_before_reset")) {
        E hn = gate(hr, &s, 2);
        if (has(extra)) hn = add(hn, at(extra, list1(s.i.v[1])));
        n = add(n, mul(act(0, both(xw, hr, &s, 1)), hn));
    } else n = add(n, at(extra, s.i));
    T h = stage("h", acc(old), s.i, add(mul(sub(num(1), z), act(1, n)), mul(z, at(old, s.i))));
    out_state(0, old, at(h, s.i), 4, 1, &s);
}

/* ---- expansion */
struct rnn {
    enum kind kind;
    int64_t hidden;
    int ndirs;
    bool linear_before_reset, single; /* single: there is exactly one step */
    bool quantised;                   /* weights of bytes with scales and zero points: DynamicQuantizeLSTM */
    V x, lens, steps;                 /* x: [T,B,I]; lens NULL: all sequences have full length */
    V y, h, c;                        /* results of the directions so far */
};
/* What a step uses besides its slice of the input and the state; NULL if absent. */
enum { U_R, U_R_SCALE, U_R_ZERO, U_EXTRA, U_PEEP, U_LENS, U_COUNT };
struct step_out {
    V h, c, y;
};

static int64_t own(V v, int k) { /* dim k when it is known; else -1 */
    int64_t d;
    return v->type.kind == TY_TENSOR && k < v->type.rank && x_is_int(v->type.dims[k], &d) ? d : -1;
}
/* Inside of loops the types are not final yet. */
static bool settled(void) {
    for (const struct region *r = def_node()->in; r->owner; r = r->owner->in)
        if (strcmp(r->owner->op_type, "If")) return false;
    return true;
}
static bool whole(V lens, int64_t steps) {
    if (!lens) return true;
    if (!lens->init || steps < 0) return false;
    for (int64_t k = 0; k < tensor_count(lens->init); k++)
        if (tensor_i(lens->init, k) < steps) return false;
    return true;
}
/* Does an activation take beta? Those with a default for it do, and Affine, whose default is 0. All that take alpha
 * have a default for it. */
static bool has_beta(const char *name, double beta) {
    return beta != 0 || ((name[0] | 32) == 'a' && (name[1] | 32) == 'f');
}
/* Activations of direction dir with their parameters. The lists of alpha and beta are consumed by the functions that
 * have such a parameter, in order over all directions. */
static bool set_activations(struct node *n, const struct rnn *r, int dir) {
    const struct attr *given = node_attr(def_node(), "activations");
    const struct kind_row *row = &kinds[r->kind];
    const float *alpha, *beta;
    int nalpha = floats_attr("activation_alpha", &alpha), nbeta = floats_attr("activation_beta", &beta), a = 0, b = 0;
    float *as = NEWN(def_arena(), float, MAX_ACTS), *bs = NEWN(def_arena(), float, MAX_ACTS);
    struct str_elem *names = NEWN(def_arena(), struct str_elem, MAX_ACTS);
    if (given && given->n != row->acts * r->ndirs)
        return fail(E_ATTR, "%d activations where %d are needed", given->n, row->acts * r->ndirs), false;
    for (int k = 0; k < row->acts * (dir + 1); k++) {
        const char *name = row->defaults[k % row->acts];
        if (given) name = internn(graph()->ctx->names, given->u.ss[k].p, given->u.ss[k].n);
        double da, db;
        activation_defaults(name, &da, &db);
        if (da != 0 && a < nalpha) da = alpha[a++];
        if (has_beta(name, db) && b < nbeta) db = beta[b++];
        int at = k % row->acts; /* those of earlier directions are overwritten */
        names[at] = (struct str_elem){name, strlen(name)};
        as[at] = (float)da, bs[at] = (float)db;
    }
    struct interner *in = graph()->ctx->names;
    node_set_attr(n,
                  (struct attr){.name = intern(in, "activations"), .kind = AT_STRINGS, .n = row->acts, .u.ss = names});
    node_set_attr(n, (struct attr){.name = intern(in, "alphas"), .kind = AT_FLOATS, .n = row->acts, .u.fs = as});
    node_set_attr(n, (struct attr){.name = intern(in, "betas"), .kind = AT_FLOATS, .n = row->acts, .u.fs = bs});
    node_set_attr(n, attr_float("clip", float_attr("clip")));
    return true;
}
/* a times the weights; if these are bytes, which have a scale, a is quantised as well, anew each time. */
static V product_with(struct place p, V a, V w, V scale, V zero) {
    if (!scale) return VALUE(p, "", "MatMul", a, w);
    return VALUE(p, "com.microsoft", "DynamicQuantizeMatMul", a, w, scale, zero);
}
static V as_i64(struct place p, V v) {
    struct node *n = NODE(p, "", "Cast", v);
    node_set_attr(n, attr_int("to", dtype_onnx(I64)));
    return n->outs.v[0];
}
static V zero_f32(void) { return graph_const(graph(), "", tensor_new(def_arena(), F32, NULL, 0)); }
/* v where the sequence has at least `least` steps, otherwise 0; v: [B,H]. */
static V of_length(struct place p, V v, V lens, V least) {
    V column = VALUE(p, "", "Unsqueeze", as_i64(p, lens), N_INTS(1));
    return VALUE(p, "", "Where", VALUE(p, "", "LessOrEqual", least, column), v, zero_f32());
}
static struct step_out build_step(const struct rnn *r, struct place p, int dir, V xw, V h, V c, V at_step, const V *use,
                                  V r2) {
    V extra = use[U_EXTRA], lens = use[U_LENS], state = h;
    /* The states of all sequences are quantised with one scale. For sequences that have ended, ONNX Runtime takes the
     * row of Y, which is 0, or without Y that of Y_h: the last state, or 0 after the first step if there is none. */
    if (r->quantised && lens)
        state = of_length(p, h, lens, wants(0) ? at_step : VALUE(p, "", "Min", at_step, scalar_i64(1)));
    V hr = product_with(p, state, use[U_R], use[U_R_SCALE], use[U_R_ZERO]);
    struct step_out o = {0};
    struct node *n;
    if (r->kind == K_LSTM) {
        n = make(p, domain, "LSTMStep", (const V[]){xw, hr, h, c, use[U_PEEP], at_step, lens}, lens ? 7 : 5,
                 lens ? 3 : 2);
        node_set_attr(n, attr_int("input_forget", int_attr("input_forget")));
        o.c = n->outs.v[1];
    } else if (r->kind == K_RNN) {
        n = make(p, domain, "RNNStep", (const V[]){xw, hr, h, at_step, lens}, lens ? 5 : 3, lens ? 2 : 1);
    } else {
        if (!r->linear_before_reset) {
            struct node *reset = NODE(p, domain, "GRUReset", xw, hr, h);
            set_activations(reset, r, dir);
            extra = VALUE(p, "", "MatMul", reset->outs.v[0], r2);
        }
        n = make(p, domain, "GRUStep", (const V[]){xw, hr, h, extra, at_step, lens}, lens ? 6 : 4, lens ? 2 : 1);
        node_set_attr(n, attr_int("linear_before_reset", r->linear_before_reset));
    }
    set_activations(n, r, dir);
    o.h = n->outs.v[0];
    o.y = lens ? n->outs.v[n->outs.n - 1] : o.h;
    return o;
}
/* Inside of a body: a constant as it is, anything else through a parameter. */
static V capture(struct region *body, struct node *scan, V v, int *count) {
    if (!v || v->init) return v;
    node_set_input(scan, scan->ins.n, v);
    ++*count;
    return region_param(body, "", (struct type){.rank = -1});
}
static struct step_out scan_steps(const struct rnn *r, int dir, bool reverse, V xw, V h, V c, const V *use, V r2) {
    bool lstm = r->kind == K_LSTM, wants_y = wants(0);
    V ins[4];
    int nins = 0, ncaps = 0, scanned = 1 + (use[U_LENS] != NULL);
    ins[nins++] = h;
    if (lstm) ins[nins++] = c;
    ins[nins++] = xw;
    if (use[U_LENS]) ins[nins++] = r->steps;
    struct node *scan = make(here(), "", "Scan", ins, nins, 1 + lstm + wants_y);
    struct region *body = region_new(graph(), scan, "body");
    static const char *const names[] = {"h", "c", "xw", "t"};
    V params[4] = {0};
    for (int k = 0; k < 4; k++)
        if ((k != 1 || lstm) && (k != 3 || use[U_LENS]))
            params[k] = region_param(body, names[k], (struct type){.rank = -1});
    V used[U_COUNT], r2_used;
    for (int k = 0; k < U_COUNT; k++) used[k] = capture(body, scan, use[k], &ncaps);
    r2_used = capture(body, scan, r2, &ncaps);
    struct step_out s =
        build_step(r, (struct place){body, NULL}, dir, params[2], params[0], params[1], params[3], used, r2_used);
    region_result(body, s.h);
    if (lstm) region_result(body, s.c);
    if (wants_y) region_result(body, s.y);
    struct attr a = {.name = intern(graph()->ctx->names, "body"), .kind = AT_REGION, .u.region = body};
    node_set_attr(scan, a);
    node_set_attr(scan, attr_int("num_scan_inputs", scanned));
    node_set_attr(scan, attr_int("captures", ncaps));
    if (reverse) {
        node_set_attr(scan, attr_ints("scan_input_directions", (int64_t[]){1, 1}, scanned));
        node_set_attr(scan, attr_ints("scan_output_directions", (int64_t[]){1}, wants_y));
    }
    return (struct step_out){scan->outs.v[0], lstm ? scan->outs.v[1] : NULL, wants_y ? scan->outs.v[1 + lstm] : NULL};
}
/* Exporters may write out the zeros that an absent state stands for. */
static bool is_absent(const struct rnn *r, V given, bool batch_first) {
    if (!given || !settled()) return !given;
    int batch = batch_first ? 0 : 1;
    if (given->type.dims[batch] != gin(0)->type.dims[batch]) return false;
    if (own(given, !batch) != r->ndirs || own(given, 2) != r->hidden) return false;
    while (node_is(given->def, "Slice")) given = given->def->ins.v[0];
    if (!node_is(given->def, "ConstantOfShape")) return false;
    const struct attr *value = node_attr(given->def, "value");
    double v = value ? tensor_f(value->u.t, 0) : 0;
    return v == 0 && !signbit(v);
}
/* The given initial state of a direction, or zeros. */
static V initial(const struct rnn *r, V given, int dir, bool batch_first) {
    if (!is_absent(r, given, batch_first)) {
        if (batch_first) given = transposed(given, (int64_t[]){1, 0, 2}, 3);
        if (r->ndirs == 1) return VALUE(here(), "", "Squeeze", given, N_INTS(0));
        return VALUE(here(), "", "Gather", given, scalar_i64(dir));
    }
    int64_t batch = settled() ? own(gin(0), batch_first ? 0 : 1) : -1;
    if (batch >= 0) {
        struct tensor *t = tensor_new(def_arena(), gin(0)->type.dtype, (int64_t[]){batch, r->hidden}, 2);
        if (t) return graph_const(graph(), "", t);
    }
    struct node *n = NODE(here(), domain, "RecurrentState", r->x);
    node_set_attr(n, attr_int("hidden_size", r->hidden));
    return n->outs.v[0];
}
static V joined(V a, V b, int axis) { /* directions become an axis */
    V ax = N_INTS(axis);
    b = VALUE(here(), "", "Unsqueeze", b, ax);
    if (!a) return b;
    struct node *n = NODE(here(), "", "Concat", a, b);
    node_set_attr(n, attr_int("axis", axis));
    return n->outs.v[0];
}
/* X times W for all steps and batches, as rows of one product: [T*B,gates*H]. However small the batch is, the rows of
 * all steps share the weights. */
static V inputs_product(V x, V w, V scale, V zero) {
    struct node *rows = NODE(here(), "", "Flatten", x);
    node_set_attr(rows, attr_int("axis", 2));
    return product_with(here(), rows->outs.v[0], w, scale, zero);
}
/* x with 0 in padding steps: the common scale of all inputs must not depend on them. */
static V without_padding(V x, V lens) {
    V steps = VALUE(here(), domain, "RecurrentSteps", x), longest = VALUE(here(), "", "ReduceMax", lens);
    V used = VALUE(here(), "", "Less", VALUE(here(), "", "Unsqueeze", steps, N_INTS(1, 2)), as_i64(here(), longest));
    return VALUE(here(), "", "Where", used, x, zero_f32());
}
/* [T,B,..]: each sequence reversed within its own length. */
static V turned_round(V v, V lens) {
    struct node *n = NODE(here(), "", "ReverseSequence", v, as_i64(here(), lens));
    node_set_attr(n, attr_int("time_axis", 0));
    node_set_attr(n, attr_int("batch_axis", 1));
    return n->outs.v[0];
}
/* The part of one direction: quantised weights have the layout that products take. */
static V of_direction(V v, int dir) { return VALUE(here(), "", "Gather", v, scalar_i64(dir)); }
static V by_steps(const struct rnn *r, V xw, int64_t columns) { /* [T,B,columns] */
    struct node *dims = NODE(here(), "", "Shape", r->x);
    node_set_attr(dims, attr_int("end", 2));
    struct node *all = NODE(here(), "", "Concat", dims->outs.v[0], N_INTS(columns));
    node_set_attr(all, attr_int("axis", 0));
    struct node *steps = NODE(here(), "", "Reshape", xw, all->outs.v[0]);
    node_set_attr(steps, attr_int("allowzero", 1));
    return steps->outs.v[0];
}
static void one_direction(struct rnn *r, int dir, bool reverse) {
    int64_t h = r->hidden, all = kinds[r->kind].gates * h;
    bool batch_first = int_attr("layout"), reset = r->kind == K_GRU && !r->linear_before_reset,
         lbr = r->kind == K_GRU && !reset;
    V b = gin(3), use[U_COUNT] = {0}, r2 = NULL, c = NULL;
    V w = r->quantised ? of_direction(gin(1), dir) : weights(gin(1), r->ndirs, all, dir, 0, all), scale[4] = {0};
    for (int k = 0; k < 4 && r->quantised; k++) scale[k] = of_direction(gin(8 + k), dir);
    /* States share a scale, so it matters which ones are quantised together: reversed sequences all begin in the same
     * step. */
    bool turn = r->quantised && r->lens && reverse;
    V xw = inputs_product(turn ? turned_round(r->x, r->lens) : r->x, w, scale[0], scale[1]);
    if (b) xw = VALUE(here(), "", "Add", xw, vector(b, r->ndirs, 2 * all, dir, 0, all, all, lbr ? 2 * h : all));
    use[U_R] = r->quantised ? of_direction(gin(2), dir) : weights(gin(2), r->ndirs, all, dir, 0, reset ? 2 * h : all);
    use[U_R_SCALE] = scale[2], use[U_R_ZERO] = scale[3];
    if (reset) r2 = weights(gin(2), r->ndirs, all, dir, 2 * h, h);
    if (lbr && b) use[U_EXTRA] = vector(b, r->ndirs, 2 * all, dir, 5 * h, h, 0, 0);
    if (r->kind == K_LSTM && gin(7)) use[U_PEEP] = vector(gin(7), r->ndirs, 3 * h, dir, 0, 3 * h, 0, 0);
    use[U_LENS] = r->lens;
    V h0 = initial(r, gin(5), dir, batch_first);
    if (r->kind == K_LSTM) c = initial(r, gin(6), dir, batch_first);
    struct step_out s;
    if (r->single) {
        s = build_step(r, here(), dir, xw, h0, c, scalar_i64(0), use, r2);
        s.y = VALUE(here(), "", "Unsqueeze", s.y, N_INTS(0));
    } else s = scan_steps(r, dir, reverse && !turn, by_steps(r, xw, all), h0, c, use, r2);
    if (turn && s.y) s.y = turned_round(s.y, r->lens);
    if (r->quantised && r->lens) { /* the state of an empty sequence is 0 */
        V one = scalar_i64(1);
        s.h = of_length(here(), s.h, r->lens, one), s.c = of_length(here(), s.c, r->lens, one);
    }
    if (wants(0)) r->y = joined(r->y, s.y, 1);
    if (wants(1)) r->h = joined(r->h, s.h, 0);
    if (wants(2) && s.c) r->c = joined(r->c, s.c, 0);
}
static bool shapes_fit(const struct rnn *r) {
    static const char *const names[] = {"X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"};
    static const int ranks[] = {3, 3, 3, 2, 1, 3, 3, 2};
    int64_t h = r->hidden, all = kinds[r->kind].gates * h;
    int64_t last[] = {-1, -1, h, 2 * all, -1, h, h, 3 * h}, rows[] = {-1, all, all};
    if (r->quantised) last[1] = last[2] = all, rows[1] = -1, rows[2] = h;
    for (int k = 0; k < 8; k++) {
        V v = gin(k);
        if (!v) continue;
        if (v->type.rank != ranks[k])
            return fail(E_RANK, "input %s has rank %d, not %d", names[k], v->type.rank, ranks[k]), false;
        int64_t have = own(v, ranks[k] - 1), dirs = own(v, 0), row = k == 1 || k == 2 ? own(v, 1) : -1;
        if (last[k] >= 0 && have >= 0 && have != last[k])
            return fail(E_SHAPE, "the last dimension of %s is %lld, not %lld", names[k], (long long)have,
                        (long long)last[k]),
                   false;
        if (row >= 0 && rows[k] >= 0 && row != rows[k])
            return fail(E_SHAPE, "dimension 1 of %s is %lld, not %lld", names[k], (long long)row, (long long)rows[k]),
                   false;
        if ((k == 1 || k == 2 || k == 3 || k == 7) && dirs >= 0 && dirs != r->ndirs)
            return fail(E_SHAPE, "%s is for %lld directions, not %d", names[k], (long long)dirs, r->ndirs), false;
    }
    return true;
}
static void recurrent(enum kind kind, bool quantised) {
    const char *dir = str_attr("direction");
    bool two = !strcmp(dir, "bidirectional"), reverse = !strcmp(dir, "reverse"), batch_first = int_attr("layout");
    struct rnn r = {.kind = kind, .ndirs = two ? 2 : 1, .x = gin(0), .lens = gin(4), .quantised = quantised};
    if (fail_if(!two && !reverse && strcmp(dir, "forward"), E_ATTR,
                "attribute \"direction\" must be forward, reverse or bidirectional"))
        return;
    if (fail_if(r.x->type.rank != 3 || gin(2)->type.rank != 3, E_RANK, "X and R must have rank 3")) return;
    r.hidden = own(gin(2), quantised ? 1 : 2);
    if (r.hidden < 1 && has_attr("hidden_size")) r.hidden = int_attr("hidden_size");
    if (fail_if(r.hidden < 1 || r.hidden > INT32_MAX / 16, E_SHAPE, "the hidden size must be known, and at least 1"))
        return;
    if (fail_if(has_attr("hidden_size") && int_attr("hidden_size") != r.hidden, E_ATTR,
                "hidden_size is %lld, but R is for %lld", (long long)int_attr("hidden_size"), (long long)r.hidden))
        return;
    if (!shapes_fit(&r)) return;
    if (kind == K_GRU) r.linear_before_reset = int_attr("linear_before_reset");
    int64_t steps = settled() ? own(r.x, batch_first ? 1 : 0) : -1;
    r.single = steps == 1;
    if (batch_first) r.x = transposed(r.x, (int64_t[]){1, 0, 2}, 3);
    if (whole(r.lens, steps)) r.lens = NULL;
    if (r.lens && !r.single) r.steps = VALUE(here(), domain, "RecurrentSteps", r.x);
    if (quantised && r.lens) r.x = without_padding(r.x, r.lens);
    for (int d = 0; d < r.ndirs; d++) one_direction(&r, d, reverse || d == 1);
    if (r.y) gout(0, batch_first ? transposed(r.y, (int64_t[]){2, 0, 1, 3}, 4) : r.y);
    if (r.h) gout(1, batch_first ? transposed(r.h, (int64_t[]){1, 0, 2}, 3) : r.h);
    if (r.c) gout(2, batch_first ? transposed(r.c, (int64_t[]){1, 0, 2}, 3) : r.c);
}
static void exp_rnn(void) { recurrent(K_RNN, false); }
static void exp_gru(void) { recurrent(K_GRU, false); }
static void exp_lstm(void) { recurrent(K_LSTM, false); }
static void exp_dynamic_lstm(void) { recurrent(K_LSTM, true); }

/* Before opset 7, output_sequence said whether Y is wanted; the outputs say it too. */
static void up_rnn(struct node *n) { node_drop_attr(n, "output_sequence"); }
static const struct op_upgrade u_rnn[] = {{6, up_rnn}, {0}};

#define COMMON                                                                                                         \
    A_STRINGS("activations"), A_FLOATS("activation_alpha"), A_FLOATS("activation_beta"), A_FLOAT("clip"),              \
        A_STRING("direction", .s = "forward"), A_INT("hidden_size"), A_INT("layout", .since = 14)
static const struct op_attr a_rnn[] = {COMMON, {0}}, a_gru[] = {COMMON, A_INT("linear_before_reset"), {0}};
static const struct op_attr a_lstm[] = {COMMON, A_INT("input_forget"), {0}};
#define STEP                                                                                                           \
    A_STRINGS("activations", .flags = A_REQUIRED), A_FLOATS("alphas", .flags = A_REQUIRED),                            \
        A_FLOATS("betas", .flags = A_REQUIRED), A_FLOAT("clip")
static const struct op_attr a_step[] = {STEP, A_INT("linear_before_reset"), A_INT("input_forget"), {0}};
static const struct op_attr a_part[] = {A_INT("directions"), A_INT("rows"),   A_INT("dir"),    A_INT("from"),
                                        A_INT("count"),      A_INT("second"), A_INT("summed"), {0}};
static const struct op_attr a_state[] = {A_INT("hidden_size"), {0}};
#define SLOTS                                                                                                          \
    {"X", TS_FLOAT, 0}, {"W", TS_FLOAT, 0}, {"R", TS_FLOAT, 0}, {"B", TS_FLOAT, OPTIONAL},                             \
        {"sequence_lens", TSET(I32), OPTIONAL}, {                                                                      \
        "initial_h", TS_FLOAT, OPTIONAL                                                                                \
    }
static const struct op_slot s_rnn[] = {SLOTS, {0}},
                            s_lstm[] = {SLOTS, {"initial_c", TS_FLOAT, OPTIONAL}, {"P", TS_FLOAT, OPTIONAL}, {0}};
enum { T8 = TSET(I8) | TSET(U8) };
static const struct op_slot s_dynamic[] = {{"X", TSET(F32), 0},
                                           {"W", T8, 0},
                                           {"R", T8, 0},
                                           {"B", TSET(F32), OPTIONAL},
                                           {"sequence_lens", TSET(I32), OPTIONAL},
                                           {"initial_h", TSET(F32), OPTIONAL},
                                           {"initial_c", TSET(F32), OPTIONAL},
                                           {"P", TSET(F32), OPTIONAL},
                                           {"W_scale", TSET(F32), 0},
                                           {"W_zero_point", T8, 0},
                                           {"R_scale", TSET(F32), 0},
                                           {"R_zero_point", T8, 0},
                                           {0}};
static const struct op_slot s_out[] = {{"Y", TS_FLOAT, OPTIONAL}, {"Y_h", TS_FLOAT, OPTIONAL}, {0}},
                            s_outc[] = {{"Y", TS_FLOAT, OPTIONAL},
                                        {"Y_h", TS_FLOAT, OPTIONAL},
                                        {"Y_c", TS_FLOAT, OPTIONAL},
                                        {0}};
#define STATE                                                                                                          \
    {"xw", TS_FLOAT, 0}, {"hr", TS_FLOAT, 0}, { "h", TS_FLOAT, 0 }
#define MASK                                                                                                           \
    {"step", TSET(I64), OPTIONAL}, {"sequence_lens", TSET(I32), OPTIONAL}, { 0 }
static const struct op_slot s_rnnstep[] = {STATE, MASK}, s_grustep[] = {STATE, {"extra", TS_FLOAT, OPTIONAL}, MASK},
                            s_reset[] = {STATE, {0}};
static const struct op_slot s_lstmstep[] = {STATE, {"c", TS_FLOAT, 0}, {"P", TS_FLOAT, OPTIONAL}, MASK};
static const struct op_slot s_hy[] = {{"h", TS_FLOAT, 0}, {"y", TS_FLOAT, OPTIONAL}, {0}},
                            s_hcy[] = {{"h", TS_FLOAT, 0}, {"c", TS_FLOAT, 0}, {"y", TS_FLOAT, OPTIONAL}, {0}};
#define PRIVATE(name, attrs, ins, outs, fn)                                                                            \
    { "gcc2nn", name, 1, 1, attrs, ins, outs, .define = fn, .spec = "part of the expansions of LSTM, GRU and RNN" }
const struct op ops_rnn[] = {
    {"", "RNN", 22, 1, a_rnn, s_rnn, s_out, .expand = exp_rnn, .upgrades = u_rnn, .spec = "RNN-22"},
    {"", "GRU", 22, 1, a_gru, s_rnn, s_out, .expand = exp_gru, .upgrades = u_rnn, .spec = "GRU-22"},
    {"", "LSTM", 22, 1, a_lstm, s_lstm, s_outc, .expand = exp_lstm, .upgrades = u_rnn,
     .spec = "LSTM-22; clip also bounds the argument of h"},
    {"com.microsoft", "DynamicQuantizeLSTM", 1, 1, a_lstm, s_dynamic, s_outc, .expand = exp_dynamic_lstm,
     .spec = "com.microsoft.DynamicQuantizeLSTM; the inputs of all steps are quantised as one, the state in each "
             "step"},
    PRIVATE("RNNStep", a_step, s_rnnstep, s_hy, op_rnnstep),
    PRIVATE("GRUStep", a_step, s_grustep, s_hy, op_grustep),
    PRIVATE("GRUReset", a_step, s_reset, slots_y, op_grureset),
    PRIVATE("LSTMStep", a_step, s_lstmstep, s_hcy, op_lstmstep),
    PRIVATE("RecurrentWeights", a_part, slots_x, slots_y, op_weights),
    PRIVATE("RecurrentVector", a_part, slots_x, slots_y, op_vector),
    PRIVATE("RecurrentState", a_state, slots_x, slots_y, op_state),
    PRIVATE("RecurrentSteps", attrs_none, slots_x, slots_y, op_steps),
    {0},
};
