/* TensorFlow Lite: recurrent operators. The products of all steps with the weights of the input are one; a Scan over
 * the steps multiplies the state and applies the gates, which are one op for each kind of arithmetic: floats, and codes
 * of 8 and 16 bit in fixed point. A state that the file keeps in variable tensors is an input and an output of the
 * node: results behind those of the file are the new states, in the order of the inputs (docs/tflite.md). */
#include "lower/ops/tflite.h"
#include <math.h>
#include <string.h>

enum { GATE_I, GATE_F, GATE_C, GATE_O, GATES };
enum {
    AT_X,
    AT_W = 1,
    AT_R = 5,
    AT_PEEP_I = 9,
    AT_PEEP_F,
    AT_PEEP_O,
    AT_BIAS = 12,
    AT_PROJECTION = 16,
    AT_PROJECTION_BIAS,
    AT_H,
    AT_C,
    AT_NORM
};

/* ---- constants of several gates side by side */
static bool constant_matrix(int k, int64_t rows, int64_t columns) {
    V v = gin(k);
    if (!v || !v->init) return fail(E_OP, "input %d, weights, must be a constant", k), false;
    if (v->init->rank != 2 || v->init->dims[0] != rows || (columns >= 0 && v->init->dims[1] != columns))
        return fail(E_SHAPE, "input %d: the weights do not fit the others", k), false;
    return true;
}
/* [K, n * H] of n matrices [H, K]. */
static V side_by_side(const int *which, int n, int64_t h, int64_t k) {
    enum dtype t = dtype(in(which[0]));
    struct tensor *w = n_tensor(dtype_is_float(t) ? F32 : t, (int64_t[]){k, n * h}, 2);
    if (!w) return NULL;
    for (int g = 0; g < n; g++)
        for (int64_t i = 0; i < h; i++)
            for (int64_t j = 0; j < k; j++) {
                const struct tensor *from = gin(which[g])->init;
                if (dtype_is_float(t)) tensor_set_f(w, j * n * h + g * h + i, tensor_f(from, i * k + j));
                else tensor_set_i(w, j * n * h + g * h + i, tensor_i(from, i * k + j));
            }
    return n_const(w);
}
/* A vector of n * h elements: those of the inputs, or 0 where one is absent. */
static V vectors(const int *which, int n, int64_t h, enum dtype t) {
    struct tensor *v = n_tensor(t, (int64_t[]){n * h}, 1);
    for (int g = 0; g < n; g++) {
        V x = gin(which[g]);
        if (!x) continue;
        if (fail_if(!x->init || tensor_count(x->init) != h, E_SHAPE, "input %d must be a constant of %lld elements",
                    which[g], (long long)h))
            return NULL;
        for (int64_t k = 0; k < h; k++) {
            if (dtype_is_float(t)) tensor_set_f(v, g * h + k, tensor_f(x->init, k));
            else tensor_set_i(v, g * h + k, tensor_i(x->init, k));
        }
    }
    return n_const(v);
}
static V each(int n, int64_t h, enum dtype t, const double *value) {
    struct tensor *v = n_tensor(t, (int64_t[]){n * h}, 1);
    for (int64_t k = 0; k < n * h; k++)
        if (dtype_is_float(t)) tensor_set_f(v, k, value[k / h]);
        else tensor_set_i(v, k, (int64_t)value[k / h]);
    return n_const(v);
}

/* x as [T, B, I]. */
static V by_steps(V x) { return int_attr("time_major") ? x : transposed(x, (int64_t[]){1, 0, 2}, 3); }
/* Rows of floats times the matrix [h, k] that an input is, of floats or of codes. */
static V product_with(V rows, int input, int64_t h, int64_t k) {
    double scale = (double)quant_in(input).scale;
    if (!constant_matrix(input, h, k)) return NULL;
    V w = side_by_side(&input, 1, h, k);
    if (!w) return NULL;
    return dtype_is_int(w->type.dtype) ? hybrid_sums(rows, w, each(1, h, F32, &scale)) : N_OP("MatMul", rows, w);
}
/* What each step computes: from the gates and the states, the next states; the first is the result. */
struct cell {
    bool (*step)(const void *of, V gates, const V *states, V *next);
    const void *of;
    int nstates;
    bool backwards;
};

/* ---- LSTM */
struct lstm {
    int base, at_h, at_c;     /* index of its weights among the inputs, relative to those of a single direction; its
                               * states */
    int gates[GATES], ngates; /* the existing gates: without an input gate, 1 - forget gate is used */
    int64_t cells, outputs, inputs;
    bool codes, hybrid;
    V x, h, c; /* [T, B, I], states */
};
static bool read_lstm(struct lstm *l, bool sequence) {
    V x = gin(AT_X);
    const int b = l->base, w_f = b + AT_W + GATE_F, r_f = b + AT_R + GATE_F;
    if (v_rank(x) != (sequence ? 3 : 2) || !gin(l->at_h) || !gin(l->at_c))
        return fail(E_RANK, "an input of rank %d, or no states", v_rank(x)), false;
    for (int g = gin(b + AT_W) ? GATE_I : GATE_F; g < GATES; g++) l->gates[l->ngates++] = g;
    if (!gin(w_f) || !gin(r_f) || v_rank(gin(w_f)) != 2 || v_rank(gin(r_f)) != 2 ||
        !known_dim(gin(w_f), 0, &l->cells) || !known_dim(gin(w_f), 1, &l->inputs) ||
        !known_dim(gin(r_f), 1, &l->outputs) || l->cells < 1 || l->cells > INT32_MAX / 16)
        return fail(E_SHAPE, "the weights of the forget gate are missing, or of unknown size"), false;
    for (int k = 0; k < l->ngates; k++)
        if (!constant_matrix(b + AT_W + l->gates[k], l->cells, l->inputs) ||
            !constant_matrix(b + AT_R + l->gates[k], l->cells, l->outputs))
            return false;
    for (int k = 0; k < GATES && l->at_h == AT_H; k++)
        if (gin(AT_NORM + k)) return fail(E_OP, "LSTM with layer normalization is not supported"), false;
    enum dtype w = dtype(in(w_f));
    l->x = sequence ? by_steps(x) : N_OP("Unsqueeze", x, N_INTS(0));
    l->h = gin(l->at_h), l->c = gin(l->at_c);
    l->codes = dtype(in(AT_X)) == I8;
    l->hybrid = !l->codes && dtype_is_int(w);
    if (l->codes && (dtype(in(l->at_c)) != I16 || dtype(in(l->at_h)) != I8 || w != I8))
        return fail(E_TYPE, "an integer LSTM must have 8 bit inputs and weights, and cells of 16 bit"), false;
    if (!l->codes && (dtype(in(AT_X)) != F32 || (l->hybrid && w != I8)))
        return fail(E_TYPE, "LSTM of %s with weights of %s", dtype_name(dtype(in(AT_X))), dtype_name(w)), false;
    if (l->codes && (gin(b + AT_PEEP_F) || gin(b + AT_PEEP_O) || gin(b + AT_PROJECTION)))
        return fail(E_OP, "an integer LSTM with peepholes or a projection is not supported"), false;
    return true;
}
static void gate_inputs(const struct lstm *l, int base, int *which) {
    for (int k = 0; k < l->ngates; k++) which[k] = l->base + base + l->gates[k];
}
/* Requantize of the sums of all gates, each with its own multiplier: to the 12 fractional bits that gates have. */
static V gates_requantized(const struct lstm *l, V sums, int base, float scale, enum dtype to) {
    double m[GATES], s[GATES];
    struct bounds b = type_bounds(to);
    for (int k = 0; k < l->ngates; k++) {
        struct fixed f =
            fixed_of((double)(quant_in(l->base + base + l->gates[k]).scale * scale / (float)ldexp(1, -12)));
        m[k] = (double)f.multiplier, s[k] = f.shift;
    }
    struct node *n =
        n_node_in("tflite", "Requantize",
                  (const V[]){sums, each(l->ngates, l->cells, I32, m), each(l->ngates, l->cells, I32, s)}, 3, 1);
    node_set_attr(n, attr_int("out_type", dtype_onnx(to)));
    node_set_attr(n, attr_int("min", b.lo));
    node_set_attr(n, attr_int("max", b.hi));
    return n_inferred(n);
}
static V integer_sums(V a, V w, V bias, int64_t zero) {
    struct node *n = n_node_in("tflite", "MatMul", (const V[]){a, w, bias}, bias ? 3 : 2, 1);
    node_set_attr(n, attr_int("x_zero", zero));
    return n_inferred(n);
}
static V scales_of(const struct lstm *l, int base) {
    double s[GATES];
    for (int k = 0; k < l->ngates; k++) s[k] = (double)quant_in(l->base + base + l->gates[k]).scale;
    return each(l->ngates, l->cells, F32, s);
}
/* Rows of all steps to [T, B, columns], as x has them. */
static V of_steps(V rows, V x, int64_t columns) {
    V lead = N_OP("Slice", N_OP("Shape", x), N_INTS(0), N_INTS(2));
    return N_OP("Reshape", rows, N_WITH("Concat", ATTRS(attr_int("axis", 0)), lead, N_INTS(columns)));
}
/* The inputs' share of the gates of all steps: [T, B, gates * H]. */
static V inputs_part(const struct lstm *l) {
    int which[GATES], bias[GATES];
    gate_inputs(l, AT_W, which), gate_inputs(l, AT_BIAS, bias);
    int64_t columns = l->ngates * l->cells;
    V rows = reshaped_to(l->x, (int64_t[]){-1, l->inputs}, 2), w = side_by_side(which, l->ngates, l->cells, l->inputs),
      y;
    V b = vectors(bias, l->ngates, l->cells, l->codes ? I32 : F32);
    if (!w || !b) return NULL;
    if (l->codes) {
        struct quant q = quant_in(AT_X);
        y = integer_sums(rows, w, b, q.zero);
        if (y) y = gates_requantized(l, y, AT_W, q.scale, I16);
    } else {
        y = l->hybrid ? hybrid_sums(rows, w, scales_of(l, AT_W)) : N_OP("MatMul", rows, w);
        if (y) y = N_OP("Add", y, b);
    }
    if (!y) return NULL;
    return of_steps(y, l->x, columns);
}
/* One step: xg [B, gates * H], h, c; gives h' and c'. */
static bool lstm_step(const void *of, V xg, const V *states, V *next) {
    const struct lstm *l = of;
    const int b = l->base;
    int which[GATES], peep[] = {b + AT_PEEP_I, b + AT_PEEP_F, b + AT_PEEP_O};
    V h = states[0], c = states[1];
    gate_inputs(l, AT_R, which);
    V r = side_by_side(which, l->ngates, l->cells, l->outputs), rg;
    if (!r) return false;
    struct node *n;
    if (l->codes) {
        struct quant q = quant_in(l->at_h), hidden = quant_mid(4);
        if (!(hidden.scale > 0) || !(quant_in(l->at_c).scale > 0))
            return fail(E_ATTR, "the scale of the hidden state or the cells is not given"), false;
        rg = integer_sums(h, r, NULL, q.zero);
        if (!rg || !(rg = gates_requantized(l, rg, AT_R, q.scale, I32))) return false;
        struct fixed f = fixed_of((double)(float)(ldexp(1, -15) / (double)hidden.scale * ldexp(1, -15)));
        n = n_node_in("tflite", "LstmStep8", (const V[]){xg, rg, c}, 3, 2);
        node_set_attr(n, attr_int("multiplier", f.multiplier));
        node_set_attr(n, attr_int("shift", f.shift));
        node_set_attr(n, attr_int("zero", hidden.zero));
        node_set_attr(n, attr_int("cell_bits", (int64_t)lround(log2((double)quant_in(l->at_c).scale))));
        float clip = (float)float_attr("cell_clip") / quant_in(l->at_c).scale;
        if (float_attr("cell_clip") > 0) node_set_attr(n, attr_int("clip", clip > 32767 ? 32767 : (int64_t)clip));
    } else {
        rg = l->hybrid ? hybrid_sums(h, r, scales_of(l, AT_R)) : N_OP("MatMul", h, r);
        if (!rg) return false;
        V p = gin(b + AT_PEEP_F) || gin(b + AT_PEEP_O) ? vectors(peep, 3, l->cells, F32) : NULL;
        if (p && l->hybrid && dtype_is_int(dtype(in(b + AT_PEEP_F))))
            return fail(E_OP, "hybrid peepholes are not supported"), false;
        n = n_node_in("tflite", "LstmStep", (const V[]){xg, rg, c, p}, p ? 4 : 3, 2);
        node_set_attr(n, attr_float("cell_clip", float_attr("cell_clip")));
        node_set_attr(n, attr_int("activation", int_attr("fused_activation_function")));
    }
    if (!def_infer(n->in->graph, n)) return false;
    next[0] = n->outs.v[0], next[1] = n->outs.v[1];
    if (!gin(b + AT_PROJECTION)) return true;
    V y = product_with(next[0], b + AT_PROJECTION, l->outputs, l->cells);
    if (y && gin(b + AT_PROJECTION_BIAS)) y = N_OP("Add", y, gin(b + AT_PROJECTION_BIAS));
    double clip = float_attr("proj_clip");
    if (y && clip > 0) y = N_OP("Clip", y, n_const_f(F32, -clip), n_const_f(F32, clip));
    next[0] = y;
    return y != NULL;
}
/* A parameter of the body that stands for v, or for its slices along axis 0. */
static V parameter(struct region *body, const char *name, V v, int first) {
    struct ctx *c = body->graph->ctx;
    return region_param(body, name, type_tensor(c, v->type.dtype, v->type.dims + first, v->type.rank - first));
}
/* The step is built before the current node, where the builder infers as it goes, and its nodes are then copied into
 * the body whose parameters they read. */
static bool scan(const struct cell *cell, V gates, V *states, V *y) {
    enum { STATES = 2 };
    V ins[STATES + 1] = {NULL}, params[STATES] = {NULL}, next[STATES] = {NULL};
    int k, n = cell->nstates;
    for (k = 0; k < n && v_rank(states[k]) == 2; k++) ins[k] = states[k];
    if (v_rank(gates) != 3 || k < n) return fail(E_RANK, "gates or states of another rank than 3 and 2"), false;
    ins[n] = gates;
    struct graph *g = def_node()->in->graph;
    struct node *s = n_node("Scan", ins, n + 1, n + 1), *end = def_node();
    struct region *body = region_new(g, s, "step");
    struct map values = {.arena = &g->ctx->arena};
    for (k = 0; k < n; k++) params[k] = parameter(body, internf(g->ctx->names, "state%d", k), states[k], 0);
    if (!cell->step(cell->of, parameter(body, "gates", gates, 1), params, next)) return false;
    for (struct node *at = s->next; at != end; at = at->next) node_copy(body, at, &values);
    while (end->prev != s) node_remove(end->prev);
    for (k = 0; k <= n; k++) region_result(body, map_get(&values, PKEY(next[k < n ? k : 0])));
    node_set_attr(s, (struct attr){.name = intern(g->ctx->names, "body"), .kind = AT_REGION, .u.region = body});
    node_set_attr(s, attr_int("num_scan_inputs", 1));
    if (cell->backwards) {
        node_set_attr(s, attr_ints("scan_input_directions", (int64_t[]){1}, 1));
        node_set_attr(s, attr_ints("scan_output_directions", (int64_t[]){1}, 1));
    }
    for (k = 0; k < n; k++) states[k] = s->outs.v[k];
    *y = s->outs.v[n];
    return true;
}
/* Runs the steps, or a single one if x is not a sequence. */
static bool run_cell(const struct cell *cell, V gates, V *states, bool sequence, V *y) {
    if (sequence) return scan(cell, gates, states, y);
    V now[] = {states[0], cell->nstates > 1 ? states[1] : NULL};
    if (!cell->step(cell->of, N_OP("Squeeze", gates, N_INTS(0)), now, states)) return false;
    *y = states[0];
    return true;
}
/* The results of a Scan get types in the next pass over the nodes, so this node is not inferred here. */
static V later(const char *op, const V *ins, int n, struct attr a) {
    struct node *s = n_node(op, ins, n, 1);
    node_set_attr(s, a);
    return s->outs.v[0];
}
/* The results of a sequence: y by steps and, of an operator in both directions, z. States are the last results of the
 * node, in the order of its inputs. */
static void give_sequence(V y, V z, const V *states, int nstates) {
    V both[] = {y, z};
    for (int k = 0; k < 2 && both[k] && !int_attr("time_major"); k++)
        both[k] = later("Transpose", &both[k], 1, attr_ints("perm", (int64_t[]){1, 0, 2}, 3));
    if (z && int_attr("merge_outputs")) gout(0, later("Concat", both, 2, attr_int("axis", 2)));
    else gout(0, both[0]), gout(1, both[1]);
    for (int k = 0; k < nstates && n_out() > nstates; k++) gout(n_out() - nstates + k, states[k]);
}
static bool lstm_of(int base, int at_h, bool sequence, V *states, V *y) {
    struct lstm l = {.base = base, .at_h = at_h, .at_c = at_h + 1};
    struct cell cell = {lstm_step, &l, 2, base > 0};
    if (!read_lstm(&l, sequence)) return false;
    V gates = inputs_part(&l);
    states[0] = l.h, states[1] = l.c;
    return gates && run_cell(&cell, gates, states, sequence, y);
}
static void exp_sequence_lstm(void) {
    V states[2], y;
    if (lstm_of(0, AT_H, true, states, &y)) give_sequence(y, NULL, states, 2);
}
static void exp_lstm(void) {
    V states[2], y;
    if (int_attr("kernel_type") == 1) fail(E_OP, "LSTM of the kind BASIC is not supported");
    else if (lstm_of(0, AT_H, false, states, &y)) {
        gout(0, y);
        if (n_out() > 2) gout(n_out() - 2, states[0]), gout(n_out() - 1, states[1]);
    }
}
static void exp_bidirectional_lstm(void) {
    enum { BACKWARDS = AT_PROJECTION_BIAS, STATES = 35, AUX = 39 };
    V states[4], y, z;
    if (gin(AUX)) fail(E_OP, "an auxiliary input is not supported");
    else if (dtype(in(AT_X)) != F32) fail(E_TYPE, "LSTM in both directions of %s", dtype_name(dtype(in(AT_X))));
    else if (lstm_of(0, STATES, true, states, &y) && lstm_of(BACKWARDS, STATES + 2, true, states + 2, &z))
        give_sequence(y, z, states, 4);
}

/* ---- RNN: next = activation(x * w + h * r + bias); inputs of one direction: w, r, bias, h */
enum { RNN_W, RNN_R, RNN_BIAS, RNN_H, RNN_INPUTS };
struct rnn {
    int base;
    int64_t units;
};
static bool rnn_step(const void *of, V gates, const V *states, V *next) {
    const struct rnn *l = of;
    V sums = product_with(states[0], l->base + RNN_R, l->units, l->units);
    if (!sums) return false;
    next[0] = activated(N_OP("Add", gates, sums));
    return true;
}
static bool rnn_of(int base, bool sequence, V *state, V *y) {
    struct rnn l = {.base = base};
    struct cell cell = {rnn_step, &l, 1, base > 1};
    int64_t inputs;
    V x = gin(0), w = gin(base + RNN_W), h = gin(base + RNN_H), bias = gin(base + RNN_BIAS);
    if (v_rank(x) != (sequence ? 3 : 2) || !h || !bias || v_rank(w) != 2 || !known_dim(w, 0, &l.units) ||
        !known_dim(w, 1, &inputs))
        return fail(E_SHAPE, "inputs, weights and state do not fit"), false;
    if (dtype(in(0)) != F32) return fail(E_TYPE, "RNN of %s", dtype_name(dtype(in(0)))), false;
    x = sequence ? by_steps(x) : N_OP("Unsqueeze", x, N_INTS(0));
    V sums = product_with(reshaped_to(x, (int64_t[]){-1, inputs}, 2), base + RNN_W, l.units, inputs);
    *state = h;
    return sums && run_cell(&cell, of_steps(N_OP("Add", sums, bias), x, l.units), state, sequence, y);
}
static void exp_rnn(void) {
    V state, y;
    if (!rnn_of(1, false, &state, &y)) return;
    gout(0, y);
    if (n_out() > 1) gout(n_out() - 1, state);
}
static void exp_sequence_rnn(void) {
    V state, y;
    if (rnn_of(1, true, &state, &y)) give_sequence(y, NULL, &state, 1);
}
static void exp_bidirectional_rnn(void) {
    enum { AUX = 1 + 2 * RNN_INPUTS };
    V states[2], y, z;
    if (gin(AUX)) fail(E_OP, "an auxiliary input is not supported");
    else if (rnn_of(1, true, states, &y) && rnn_of(1 + RNN_INPUTS, true, states + 1, &z))
        give_sequence(y, z, states, 2);
}
struct gate_reader {
    T x, r;
    X i;
    E cells;
    int n; /* gates */
};
static E gate(const struct gate_reader *g, int gate) { /* gate: of GATES; the input gate may not be there */
    E column = add(g->i.v[1], mul(g->cells, idx(gate - (GATES - g->n))));
    X at_gate = list2(g->i.v[0], column);
    return add(at(g->x, at_gate), at(g->r, at_gate));
}
static bool gates_of(struct gate_reader *g, T c) {
    *g = (struct gate_reader){.x = in(0), .r = in(1), .i = axes(shape(c)), .cells = dim(c, 1)};
    int64_t cells, columns;
    if (rank(c) != 2 || rank(g->x) != 2 || rank(g->r) != 2 || !const_int(dim(c, 1), &cells) ||
        !const_int(dim(g->x, 1), &columns) || cells < 1 || (columns != 3 * cells && columns != 4 * cells))
        return fail(E_SHAPE, "gates and cells do not fit"), false;
    require(and_(eq(dim(g->x, 0), dim(c, 0)), eq(dim(g->r, 0), dim(c, 0))), "batches differ");
    require(eq(dim(g->r, 1), idx(columns)), "the gates of state and input differ");
    g->n = (int)(columns / cells);
    return true;
}
static E curve_of(E v) {
    return int_attr("activation") == 1 ? max_(v, num(0)) : int_attr("activation") == 0 ? v : tanh_(v);
}
static void op_lstm_step(void) {
    T c = in(2), p = in(3);
    struct gate_reader g;
    if (!gates_of(&g, c)) return;
    E old = at(c, g.i), cell, one = num(1), clip = num(float_attr("cell_clip"));
    E f = gate(&g, GATE_F), k;
    if (has(p)) f = add(f, mul(at(p, list1(add(g.i.v[1], g.cells))), old));
    f = sigmoid_(f);
    if (g.n == 4) {
        k = gate(&g, GATE_I);
        if (has(p)) k = add(k, mul(at(p, list1(g.i.v[1])), old));
        k = sigmoid_(k);
    } else k = sub(one, f);
    cell = add(mul(f, old), mul(k, curve_of(gate(&g, GATE_C))));
    if (float_attr("cell_clip") > 0) cell = min_(max_(cell, neg(clip)), clip);
    T next = stage("cell", F32, g.i, cell);
    if (!next) return;
    E o = gate(&g, GATE_O), v = at(next, g.i);
    if (has(p)) o = add(o, mul(at(p, list1(add(g.i.v[1], add(g.cells, g.cells)))), v));
    out(0, F32, g.i, mul(sigmoid_(o), curve_of(v)));
    out(1, F32, g.i, v);
}
static E to16(E v) { return clamped(v, type_bounds(I16)); }
static void op_lstm_step8(void) {
    T c = in(2);
    struct gate_reader g;
    int bits = (int)int_attr("cell_bits"); /* the cell's scale is 2^bits */
    struct fixed f = {int_attr("multiplier"), (int)int_attr("shift")};
    if (fail_if(bits > -9 || bits < -15, E_ATTR, "the scale of the cells must be a power of two from 2^-15 to 2^-9"))
        return;
    if (!gates_of(&g, c)) return;
    E forget = logistic16(to16(gate(&g, GATE_F)), 3), fresh = tanh16(to16(gate(&g, GATE_C)), 3);
    E take = g.n == 4 ? logistic16(to16(gate(&g, GATE_I)), 3) : sub(typed(I32, 32767), forget);
    E kept = cast(I16, rounding_shift(mul(forget, at(c, g.i)), typed(I32, 15)));
    E added = cast(I16, rounding_shift(mul(take, fresh), typed(I32, 30 + bits)));
    E cell = to16(add(kept, added)), limit = typed(I32, (double)int_attr("clip"));
    if (int_attr("clip") > 0) cell = min_(max_(cell, neg(limit)), limit);
    T next = stage("cell", I32, g.i, cell);
    if (!next) return;
    E v = at(next, g.i), o = logistic16(to16(gate(&g, GATE_O)), 3);
    E h = fixed_mul(mul(o, tanh16(v, 15 + bits)), f);
    out(1, I16, g.i, v);
    X i = g.i;
    out_quantized(I8, i, h, int_attr("zero"), type_bounds(I8));
}

/* ---- SVDF: features of the input are kept for some steps and weighed; `rank` of them make an output */
enum { SVDF_X, SVDF_FEATURES, SVDF_TIME, SVDF_BIAS, SVDF_STATE };
/* The state [B, F * M] without its oldest step, and `fresh` [B, F] behind it. */
static void op_shift_in(void) {
    T s = in(0), fresh = in(1);
    int64_t memory = int_attr("memory");
    X i = axes(shape(s));
    E m = idx(memory), last = eq(mod_(i.v[1], m), idx(memory - 1));
    require(eq(dim(s, 1), mul(dim(fresh, 1), m)), "the state has another size than features times steps");
    require(eq(dim(s, 0), dim(fresh, 0)), "batches differ");
    E zero = typed(dtype_value(dtype(s)), 0);
    E old = at_or(s, list2(i.v[0], add(i.v[1], idx(1))), zero), at_f = within(div_(i.v[1], m), dim(fresh, 1));
    out(0, dtype(s), i, sel(last, at(fresh, list2(i.v[0], at_f)), old));
}
/* sum over the rank and the steps of state * weights: [B, U]. */
static void op_weigh_steps(void) {
    T s = in(0), w = in(1), bias = in(2);
    int64_t rank_ = int_attr("rank");
    E memory = dim(w, 1), units = div_(dim(w, 0), idx(rank_));
    enum dtype t = dtype(s) == F32 ? F32 : I32;
    X o = axes(list2(dim(s, 0), units)), r = raxes(list2(idx(rank_), memory), "r m");
    E f = add(mul(o.v[1], idx(rank_)), r.v[0]);
    require(eq(dim(s, 1), mul(dim(w, 0), memory)), "the state has another size than features times steps");
    require(eq(mod_(dim(w, 0), idx(rank_)), idx(0)), "the features are no multiple of the rank");
    E v = mul(at(s, list2(o.v[0], within(add(mul(f, memory), r.v[1]), dim(s, 1)))),
              at(w, list2(within(f, dim(w, 0)), r.v[1])));
    T y = reduce("acc", t, o, RED_SUM, r, v, has(bias) ? at(bias, list1(within(o.v[1], dim(bias, 0)))) : NULL);
    if (y) out(0, t, o, at(y, o));
}
static V node_with(const char *op, const V *ins, int n, const char *attr, int64_t v) {
    struct node *s = n_node_in("tflite", op, ins, n, 1);
    node_set_attr(s, attr_int(attr, v));
    return n_inferred(s);
}
static V rescaled(V sums, float scale, float to, enum dtype t, int64_t zero, struct bounds b) {
    struct fixed f = fixed_of((double)(scale / to));
    V ins[] = {sums, n_const_f(I32, (double)f.multiplier), n_const_f(I32, f.shift)};
    return own("Requantize", ins, 3,
               ATTRS(attr_int("out_type", dtype_onnx(t)), attr_int("zero", zero), attr_int("min", b.lo),
                     attr_int("max", b.hi)));
}
static void exp_svdf(void) {
    V x = gin(SVDF_X), w = gin(SVDF_FEATURES), wt = gin(SVDF_TIME), bias = gin(SVDF_BIAS), state = gin(SVDF_STATE),
      fresh, y;
    int64_t memory, rank_ = int_attr("rank"), features;
    if (fail_if(v_rank(x) != 2 || v_rank(w) != 2 || v_rank(wt) != 2 || v_rank(state) != 2 ||
                    !known_dim(wt, 1, &memory) || memory < 1 || !known_dim(w, 0, &features) || rank_ < 1 ||
                    features % rank_ || !known_dim(wt, 0, &features),
                E_SHAPE, "inputs, weights, state and rank do not fit"))
        return;
    bool codes = dtype(in(SVDF_X)) == I8, hybrid = !codes && dtype(in(SVDF_FEATURES)) == I8;
    V turned = transposed(w, (int64_t[]){1, 0}, 2);
    if (codes) {
        if (fail_if(dtype(in(SVDF_STATE)) != I16 || dtype(in(SVDF_TIME)) != I16, E_TYPE,
                    "an integer SVDF must have a state and weights of time of 16 bit"))
            return;
        fresh = n_inferred(integer_sums(x, turned, NULL, quant_in(SVDF_X).zero)->def);
        if (fresh)
            fresh = rescaled(fresh, quant_in(SVDF_X).scale * quant_in(SVDF_FEATURES).scale, quant_in(SVDF_STATE).scale,
                             I16, 0, type_bounds(I16));
    } else {
        double s = (double)quant_in(SVDF_FEATURES).scale;
        if (hybrid) fresh = hybrid_sums(x, turned, n_const_f(F32, s));
        else fresh = N_OP("MatMul", x, turned);
        if (dtype(in(SVDF_TIME)) == I8)
            wt = N_OP("Mul", n_cast(wt, F32), n_const_f(F32, (double)quant_in(SVDF_TIME).scale));
    }
    if (!fresh) return;
    V next = node_with("ShiftIn", (const V[]){state, fresh}, 2, "memory", memory);
    y = next ? node_with("WeighSteps", (const V[]){next, wt, bias}, bias ? 3 : 2, "rank", rank_) : NULL;
    if (!y) return;
    if (codes)
        y = rescaled(y, quant_in(SVDF_STATE).scale * quant_in(SVDF_TIME).scale, quant_out(0).scale, I8,
                     quant_out(0).zero, type_bounds(I8));
    else y = activated(y);
    gout(0, y);
    if (n_out() > 1) gout(n_out() - 1, next);
}

static const struct op_slot s_step[] = {{"gates", TSET(F32), 0},
                                        {"state_gates", TSET(F32), 0},
                                        {"cell", TSET(F32), 0},
                                        {"peepholes", TSET(F32), OPTIONAL},
                                        {0}},
                            s_step8[] = {{"gates", TSET(I16), 0},
                                         {"state_gates", TSET(I32), 0},
                                         {"cell", TSET(I16), 0},
                                         {0}},
                            s_step_out[] = {{"h", TS_ANY, 0}, {"c", TS_ANY, 0}, {0}},
                            s_shift[] = {{"state", TSET(F32) | TSET(I16), 0}, {"fresh", TSET(F32) | TSET(I16), 0}, {0}},
                            s_weigh[] = {{"state", TSET(F32) | TSET(I16), 0},
                                         {"w", TSET(F32) | TSET(I16), 0},
                                         {"bias", TSET(F32) | TSET(I32), OPTIONAL},
                                         {0}};
static const struct op_attr a_shift[] = {A_INT("memory", .i = 1), {0}}, a_both[] = {A_INT("time_major", .i = 1), {0}},
                            a_weigh[] = {A_INT("rank", .i = 1), {0}};
const struct op ops_tflite_rnn[] = {
    TFLITE("UNIDIRECTIONAL_SEQUENCE_LSTM", tfl_many, exp_sequence_lstm,
           "floats, hybrid, 8 bit codes with 16 bit cells; no layer normalization"),
    TFLITE("LSTM", tfl_many, exp_lstm, "one step of the same"),
    {"tflite", "BIDIRECTIONAL_SEQUENCE_LSTM", 1, 1, a_both, tfl_many, slots_ys, .expand = exp_bidirectional_lstm,
     .spec = "floats and hybrid; no auxiliary input"},
    TFLITE("RNN", tfl_many, exp_rnn, "floats and hybrid"),
    TFLITE("UNIDIRECTIONAL_SEQUENCE_RNN", tfl_many, exp_sequence_rnn, "floats and hybrid"),
    TFLITE("BIDIRECTIONAL_SEQUENCE_RNN", tfl_many, exp_bidirectional_rnn, "floats and hybrid; no auxiliary input"),
    TFLITE("SVDF", tfl_many, exp_svdf, "floats, hybrid, 8 bit codes with a state of 16 bit"),
    {"tflite", "LstmStep", 1, 1, tfl_attrs, s_step, s_step_out, .define = op_lstm_step,
     .spec = "the gates of one step"},
    {"tflite", "LstmStep8", 1, 1, tfl_attrs, s_step8, s_step_out, .define = op_lstm_step8,
     .spec = "the same in fixed point as LiteRT's reference kernel"},
    DEFINED("ShiftIn", a_shift, s_shift, op_shift_in, "the newest behind the others"),
    DEFINED("WeighSteps", a_weigh, s_weigh, op_weigh_steps, "sums over rank and steps"),
    {0},
};
