/* Signals: DFT, STFT, windows, MelWeightMatrix. Transforms of known lengths use fourier.c; others are products with, or
 * sums over, a table of one turn of cosine and sine, in f64, because their terms cancel. */
#include "lower/ops/fourier.h"
#include <math.h>

/* cos and sin of k/n of a turn, for k < n. Angles are computed in f64, so that they add no error. */
struct turn {
    T cosine, sine;
    E n;
};
static bool turn_of(struct turn *t, enum dtype type, E n) {
    X i = axes_named(list1(n), "k"), j = axes_named(list1(n), "k");
    E step = div_(typed(F64, TURN), cast(F64, val(n)));
    t->n = n;
    t->cosine = stage("cosine", type, i, fn1("cos", mul(cast(F64, val(i.v[0])), step)));
    t->sine = stage("sine", type, j, fn1("sin", mul(cast(F64, val(j.v[0])), step)));
    return t->cosine && t->sine;
}
static E part(const struct turn *t, bool imaginary, E k, E i) {
    return at(imaginary ? t->sine : t->cosine, list1(wrap_index(mod_(mul(k, i), t->n), t->n)));
}

/* Is the last axis of x known to hold only real numbers? Its extent is 1 (real) or 2 (complex). If only the run knows,
 * imaginary parts are read, as 0 for real ones. */
static bool is_real(T x) {
    E n = dim(x, rank(x) - 1);
    require(and_(le(idx(1), n), le(n, idx(2))), "the last axis must have 1 or 2 elements");
    return x_is(n, 1);
}
/* ---- DFT over one axis */
static bool dft_axis(T x, E *mask) { /* mask[k]: axis k is it; a condition over the run-time axis input */
    int r = rank(x), last = r - 1;
    E a = has(in(2)) ? value(in(2), 0, -r, r - 1) : idx(int_attr("axis"));
    for (int k = 0; k < r; k++) mask[k] = or_(eq(a, idx(k)), eq(a, idx(k - r)));
    if (r < 2) return fail(E_RANK, "DFT takes tensors of rank 2 or more"), false;
    require(not_(mask[last]), "the axis of DFT is the last one, which holds real and imaginary parts");
    return true;
}
/* The real or imaginary part of cell j along the axis, others at b. halved: cells of the missing half are the mirror of
 * the other one, and those that are their own mirror are real. */
static E frame_cell(T x, int axis, E length, X b, E j, E which, bool halved) {
    E at_j = halved ? min_(j, sub(length, j)) : j, twice = mul(j, idx(2));
    E v = at_or(x, push(splice(b, axis, 0, list1(at_j)), which), num(0));
    if (!halved || x_is(dim(x, rank(x) - 1), 1)) return v;
    return sel(and_(eq(which, idx(1)), ge(twice, length)), sel(eq(twice, length), num(0), neg(v)), v);
}
/* Along a known axis, by fourier.c; false: not applicable. */
static bool dft_fast(T x, const E *mask, E length, bool real_only) {
    int last = rank(x) - 1, axis = 0;
    bool inverse = int_attr("inverse") != 0, onesided = int_attr("onesided") != 0, halved = inverse && onesided;
    while (axis < last && !x_is_true(mask[axis])) axis++;
    struct fourier f = {.complex = real_only ? 1 : 2, .parts = halved ? 1 : 2, .inverse = inverse, .type = acc(x)};
    if (axis == last || !x_is_int(length, &f.n)) return false;
    f.bins = onesided && !inverse ? f.n / 2 + 1 : f.n;
    if (!fourier_plan(&f)) return false;
    X batch = drop(sub_list(shape(x), 0, last), axis);
    X o = axes(cat(batch, list3(idx(f.p), idx(f.q), idx(f.complex)))), b = sub_list(o, 0, last - 1);
    E j = add(mul(o.v[last - 1], idx(f.q)), o.v[last]);
    T frames = stage("frames", f.type, o, cast(f.type, frame_cell(x, axis, length, b, j, o.v[last + 1], halved)));
    T sums = frames ? fourier_sums(&f, frames, batch) : NULL;
    if (!sums) return true;
    o = axes(push(splice(batch, axis, 0, list1(idx(f.bins))), idx(f.parts)));
    b = drop(sub_list(o, 0, last), axis);
    out(0, dtype(x), o, fourier_at(&f, sums, b, o.v[axis], o.v[last]));
    return true;
}
/* A matrix of all roots has 4 n n numbers: acceptable if n is small; or if that is no more than attention scores take,
 * and enough signals are transformed with it, which would otherwise take n n steps each. */
static bool is_worth_a_table(X batch, E n) {
    enum { SHORT = 1024, SIGNALS = 16 };
    int64_t signals = 1, extent;
    for (int k = 0; k < batch.n; k++)
        if (x_is_int(batch.v[k], &extent) && signals < SIGNALS) signals *= extent;
    return signals >= SIGNALS || x_proves_le(up_ctx(def_node()), n, idx(SHORT));
}
/* Along a known axis whose length is only known at run time: one product; false: not applicable. */
static bool dft_by_table(T x, const E *mask, E n, E bins, bool real_only) {
    int last = rank(x) - 1, axis = 0, complex = real_only ? 1 : 2;
    bool inverse = int_attr("inverse") != 0, halved = inverse && int_attr("onesided") != 0;
    E parts = idx(halved ? 1 : 2);
    struct turn t;
    while (axis < last && !x_is_true(mask[axis])) axis++;
    if (axis == last) return false;
    X batch = drop(sub_list(shape(x), 0, last), axis);
    if (!is_worth_a_table(batch, n)) return false;
    if (!turn_of(&t, F64, n)) return true;
    X o = axes(list3(n, idx(complex), mul(bins, parts)));
    E k = div_(o.v[2], parts), imaginary = eq(mod_(o.v[2], parts), idx(1));
    E c = part(&t, false, k, o.v[0]), s = part(&t, true, k, o.v[0]);
    if (!inverse) s = neg(s);
    E by_real = sel(imaginary, s, c), by_imaginary = sel(imaginary, c, neg(s));
    T roots = stage("roots", F64, o, real_only ? by_real : sel(eq(o.v[1], idx(0)), by_real, by_imaginary));
    o = axes(cat(batch, list2(n, idx(complex))));
    E cell = frame_cell(x, axis, n, sub_list(o, 0, last - 1), o.v[last - 1], o.v[last], halved);
    T frames = roots ? stage("frames", F64, o, cast(F64, cell)) : NULL;
    if (!frames) return true;
    o = axes(push(batch, mul(bins, parts)));
    X r = raxes(list2(n, idx(complex)), "n x");
    E from = at(frames, cat(sub_list(o, 0, last - 1), r));
    E by = at(roots, list3(r.v[0], r.v[1], o.v[last - 1]));
    T acc = reduce("acc", F64, o, RED_SUM, r, mul(from, by), NULL);
    if (!acc) return true;
    o = axes(shape(acc));
    T sums = stage("sums", F64, o, at(acc, o));
    if (!sums) return true;
    o = axes(push(splice(batch, axis, 0, list1(bins)), parts));
    E y = at(sums, push(drop(sub_list(o, 0, last), axis), add(mul(o.v[axis], parts), o.v[last])));
    out(0, dtype(x), o, inverse ? div_(y, cast(F64, val(n))) : y);
    return true;
}
static void op_dft(void) {
    T x = in(0);
    E mask[32];
    int last = rank(x) - 1;
    bool inverse = int_attr("inverse") != 0, onesided = int_attr("onesided") != 0;
    if (!dft_axis(x, mask)) return;
    bool real_only = is_real(x);
    bool halved = inverse && onesided; /* from one half of a symmetric spectrum to a real signal */
    E have = idx(0);
    for (int a = 0; a < last; a++) have = add(have, sel(mask[a], dim(x, a), idx(0)));
    E n = has(in(1)) ? value(in(1), 0, 1, DIM_MAX) : halved ? mul(sub(have, idx(1)), idx(2)) : have;
    require(ge(n, idx(1)), "the length of the transform must be at least 1");
    n = max_(n, idx(1));
    E bins = onesided && !inverse ? add(div_(n, idx(2)), idx(1)) : n;
    if (dft_fast(x, mask, n, real_only) || dft_by_table(x, mask, n, bins, real_only)) return;
    struct turn t;
    if (!turn_of(&t, F64, n)) return;
    X d = put(shape(x), last, idx(halved ? 1 : 2));
    for (int a = 0; a < last; a++) d.v[a] = sel(mask[a], bins, dim(x, a));
    X o = axes(d);
    E r = raxis(n, "n"), k = idx(0);
    for (int a = 0; a < last; a++) k = sel(mask[a], o.v[a], k);
    E c = part(&t, false, k, r), s = part(&t, true, k, r), imaginary = NULL, at_n = r;
    if (halved) at_n = min_(r, sub(n, r)); /* the other half is its mirror */
    X from = put(o, last, idx(0));
    for (int a = 0; a < last; a++) from.v[a] = sel(mask[a], at_n, o.v[a]);
    E re = cast(F64, at_or(x, from, num(0)));
    E im = real_only ? NULL : cast(F64, at_or(x, put(from, last, idx(1)), num(0)));
    if (halved && im) im = sel(lt(mul(r, idx(2)), n), im, sel(eq(mul(r, idx(2)), n), num(0), neg(im)));
    if (!inverse) s = neg(s);
    E real = im ? sub(mul(re, c), mul(im, s)) : mul(re, c);
    if (!halved) imaginary = im ? add(mul(re, s), mul(im, c)) : mul(re, s);
    E v = halved ? real : sel(eq(o.v[last], idx(0)), real, imaginary);
    T sum = reduce("sum", F64, o, RED_SUM, list1(r), v, NULL);
    if (!sum) return;
    o = axes(shape(sum));
    out(0, dtype(x), o, inverse ? div_(at(sum, o), cast(F64, val(n))) : at(sum, o));
}

/* ---- STFT: frames of the signal, windowed and transformed */
/* By fourier.c; false: not applicable. */
static bool stft_fast(T x, T window, E step, E length, E frames, bool real_only) {
    struct fourier f = {.complex = real_only ? 1 : 2, .parts = 2, .type = acc(x)};
    if (!x_is_int(length, &f.n)) return false;
    f.bins = int_attr("onesided") ? f.n / 2 + 1 : f.n;
    if (!fourier_plan(&f)) return false;
    X batch = list2(dim(x, 0), frames), o = axes(cat(batch, list3(idx(f.p), idx(f.q), idx(f.complex))));
    E j = add(mul(o.v[2], idx(f.q)), o.v[3]);
    X from = list2(o.v[0], wrap_index(add(mul(o.v[1], step), j), dim(x, 1)));
    E v = cast(f.type, at(x, rank(x) == 3 ? push(from, o.v[4]) : from));
    if (has(window)) v = mul(v, cast(f.type, at(window, list1(wrap_index(j, dim(window, 0))))));
    T framed = stage("frames", f.type, o, v), sums = framed ? fourier_sums(&f, framed, batch) : NULL;
    if (!sums) return true;
    o = axes_named(cat(batch, list2(idx(f.bins), idx(2))), "b f k part");
    out(0, dtype(x), o, fourier_at(&f, sums, sub_list(o, 0, 2), o.v[2], o.v[3]));
    return true;
}
static void op_stft(void) {
    T x = in(0), window = in(2);
    if (fail_if(rank(x) != 2 && rank(x) != 3, E_RANK, "the signal must be [batch, length, 1 or 2]")) return;
    bool real_only = rank(x) == 2 || is_real(x);
    if (fail_if(!has(window) && !has(in(3)), E_ARITY, "STFT needs a window or a frame length")) return;
    E step = value(in(1), 0, 1, DIM_MAX), n = has(in(3)) ? value(in(3), 0, 1, DIM_MAX) : dim(window, 0);
    require(and_(ge(step, idx(1)), and_(ge(n, idx(1)), le(n, dim(x, 1)))), "frames of STFT do not fit the signal");
    step = max_(step, idx(1)), n = max_(n, idx(1));
    if (has(window)) require(eq(dim(window, 0), n), "the window does not have the length of a frame");
    E frames = max_(add(div_(sub(dim(x, 1), n), step), idx(1)), idx(0));
    E bins = int_attr("onesided") ? add(div_(n, idx(2)), idx(1)) : n;
    if (stft_fast(x, window, step, n, frames, real_only)) return;
    struct turn t;
    if (!turn_of(&t, F64, n)) return;
    X o = axes_named(cat(list2(dim(x, 0), frames), list2(bins, idx(2))), "b f k part");
    E r = raxis(n, "n"), c = part(&t, false, o.v[2], r), s = neg(part(&t, true, o.v[2], r));
    X from = list2(o.v[0], wrap_index(add(mul(o.v[1], step), r), dim(x, 1)));
    E w = has(window) ? cast(F64, at(window, list1(wrap_index(r, dim(window, 0))))) : NULL;
    E re = cast(F64, at(x, rank(x) == 3 ? push(from, idx(0)) : from));
    E im = real_only ? NULL : cast(F64, at_or(x, push(from, idx(1)), num(0)));
    if (w) re = mul(re, w), im = im ? mul(im, w) : NULL;
    E real = im ? sub(mul(re, c), mul(im, s)) : mul(re, c), imaginary = im ? add(mul(re, s), mul(im, c)) : mul(re, s);
    T sum = reduce("sum", F64, o, RED_SUM, list1(r), sel(eq(o.v[3], idx(0)), real, imaginary), NULL);
    if (!sum) return;
    o = axes(shape(sum));
    out(0, dtype(x), o, at(sum, o));
}

/* ---- windows: a0 - a1 cos(x) + a2 cos(2x), x once round in `size` steps (periodic) or size - 1 */
static void window(double a0, double a1, double a2) {
    enum dtype t = has_attr("output_datatype") ? type_attr("output_datatype") : F32;
    if (t == NONE) return;
    E n = value(in(0), 0, 0, DIM_MAX), round = int_attr("periodic") ? n : max_(sub(n, idx(1)), idx(1));
    require(ge(n, idx(0)), "the size of a window is negative");
    X i = axes(list1(max_(n, idx(0))));
    E x = div_(mul(cast(F64, val(i.v[0])), typed(F64, TURN)), cast(F64, val(round)));
    E v = sub(typed(F64, a0), mul(num(a1), fn1("cos", x)));
    if (a2 != 0) v = add(v, mul(num(a2), fn1("cos", mul(num(2), x))));
    out(0, t, i, cast(t, v));
}
static void op_hann(void) { window(0.5, 0.5, 0); }
static void op_hamming(void) { window(25.0 / 46, 21.0 / 46, 0); }
static void op_blackman(void) { window(0.42, 0.5, 0.08); }

/* ---- MelWeightMatrix: triangles over the spectrum, their edges at equal steps of the mel scale */
static E mel_of(E hertz) { return div_(mul(num(2595), fn1("log1p", div_(cast(F64, hertz), num(700)))), num(log(10))); }
static void op_mel(void) {
    enum dtype t = has_attr("output_datatype") ? type_attr("output_datatype") : F32;
    if (t == NONE) return;
    E bands = max_(value(in(0), 0, 0, DIM_MAX), idx(0)), length = max_(value(in(1), 0, 0, DIM_MAX), idx(0));
    E low = mel_of(scalar(in(3))), high = mel_of(scalar(in(4)));
    E step = div_(sub(high, low), cast(F64, val(add(bands, idx(2)))));
    X e = axes(list1(add(bands, idx(2))));
    E mel = add(mul(cast(F64, val(e.v[0])), step), low);
    E hertz = mul(num(700), fn1("expm1", mul(div_(mel, num(2595)), num(log(10)))));
    E bin = floor_(div_(mul(cast(F64, val(add(length, idx(1)))), hertz), cast(F64, scalar(in(2)))));
    T edge = stage("edge", I64, e, cast(I64, bin));
    if (!edge) return;
    X o = axes_named(list2(add(div_(length, idx(2)), idx(1)), bands), "bin band");
    E left = at(edge, list1(o.v[1])), centre = at(edge, list1(add(o.v[1], idx(1)))),
      right = at(edge, list1(add(o.v[1], idx(2)))), j = val(o.v[0]);
    E rise = sel(eq(left, centre), typed(F64, 1), div_(cast(F64, sub(j, left)), cast(F64, sub(centre, left))));
    E fall = div_(cast(F64, sub(right, j)), cast(F64, sub(right, centre)));
    E v = sel(and_(ge(j, centre), lt(j, right)), fall, sel(and_(ge(j, left), le(j, centre)), rise, typed(F64, 0)));
    out(0, t, o, cast(t, v));
}

static const struct op_slot s_dft[] = {
    {"input", TS_FLOAT, 0}, {"dft_length", TS_INDEX, OPTIONAL}, {"axis", TSET(I64), OPTIONAL}, {0}};
static const struct op_attr a_dft[] = {
    A_INT("axis", .i = -2, .flags = A_OURS), A_INT("inverse"), A_INT("onesided"), {0}};
static const struct op_slot s_stft[] = {{"signal", TS_FLOAT, 0},
                                        {"frame_step", TS_INDEX, 0},
                                        {"window", TS_FLOAT, OPTIONAL},
                                        {"frame_length", TS_INDEX, OPTIONAL},
                                        {0}};
static const struct op_attr a_stft[] = {A_INT("onesided", .i = 1), {0}};
static const struct op_slot s_size[] = {{"size", TS_INDEX, 0}, {0}};
static const struct op_attr a_window[] = {A_INT("output_datatype"), A_INT("periodic", .i = 1), {0}};
static const struct op_slot s_mel[] = {{"num_mel_bins", TS_INDEX, 0},     {"dft_length", TS_INDEX, 0},
                                       {"sample_rate", TS_INDEX, 0},      {"lower_edge_hertz", TS_FLOAT, 0},
                                       {"upper_edge_hertz", TS_FLOAT, 0}, {0}};
static const struct op_attr a_mel[] = {A_INT("output_datatype"), {0}};
static void up_dft(struct node *n) { up_default_int(n, "axis", 1); }
static const struct op_upgrade u_dft[] = {{19, up_dft}, {0}};
static const char *std_dft(struct node *n) {
    if (!node_in(n, 2)) node_set_input(n, 2, graph_scalar(n->in->graph, I64, node_int(n, "axis")));
    node_drop_attr(n, "axis");
    return NULL;
}
const struct op ops_signal[] = {
    {"", "DFT", 20, 17, a_dft, s_dft, slots_y, .define = op_dft, .upgrades = u_dft, .standard = std_dft,
     .spec = "DFT-20; a sum over the axis"},
    {"", "STFT", 17, 17, a_stft, s_stft, slots_y, .define = op_stft, .spec = "STFT-17; a sum over each frame"},
    {"", "HannWindow", 17, 17, a_window, s_size, slots_y, .define = op_hann, .spec = "HannWindow-17"},
    {"", "HammingWindow", 17, 17, a_window, s_size, slots_y, .define = op_hamming, .spec = "HammingWindow-17"},
    {"", "BlackmanWindow", 17, 17, a_window, s_size, slots_y, .define = op_blackman, .spec = "BlackmanWindow-17"},
    {"", "MelWeightMatrix", 17, 17, a_mel, s_mel, slots_y, .define = op_mel, .spec = "MelWeightMatrix-17"},
    {0},
};
