/* Fourier transforms of known composite lengths, by sums of products that are as short as its factors (Cooley and
 * Tukey, An algorithm for the machine calculation of complex Fourier series, 1965). With n = P Q, j = Q p + q and k = P
 * l + m, and w the first root of one of order n, its conjugate for the inverse,
 *
 *     a[q,m] = sum over p of x[Q p + q] w^(Q p m),   t[q,m] = w^(q m) a[q,m],   X[P l + m] = sum over q of w^(P q l)
 * t[q,m]
 *
 * Both sums are products with a constant matrix, and m lies along the lanes of the second with real and imaginary
 * parts side by side. So that no lanes change places, a and t are there twice, once multiplied by i: then products
 * with complex numbers are sums of products with real ones. Tables are computed in f64; sums have the type that sums of
 * the operand's have. Short transforms, and those without such factors, are one product with a matrix (p = 1), in f64
 * as by the definition. See signal.c for what comes before and behind. */
#include "lower/ops/fourier.h"
#include <math.h>

enum { SHORT = 16, MOST = 512, LANES = 16, ONE_TABLE = 1 << 18 /* cells */ };

/* ---- the factors */
static double in_lanes(double cells) { return ceil(cells / LANES) * LANES; }
/* Number of products for each frame. */
static double products(const struct fourier *f, int64_t p) {
    double q = (double)(f->n / p), rows = ceil((double)f->bins / (double)p), one = (double)(p * f->parts);
    return q * in_lanes(2 * one) * (double)(p * f->complex) + rows * in_lanes(one) * 2 * q;
}
bool fourier_plan(struct fourier *f) {
    int64_t best = 0;
    for (int64_t p = 2; p <= MOST && p < f->n && f->n > SHORT; p++) {
        if (f->n % p || f->n / p > MOST) continue;
        if (!best || products(f, p) < products(f, best)) best = p;
    }
    f->p = best ? best : 1, f->q = f->n / f->p;
    if (best) return true;
    f->type = F64;
    return f->n <= MOST && f->n * f->complex * f->bins * f->parts <= ONE_TABLE;
}

/* ---- the tables */
/* The real or imaginary part of w^(k n/of), rotated by `quarters` quarter turns. Angles are integers, in units of 1/(8
 * of), so that tables only have rounding errors, and exact 0 and 1. */
static double root(const struct fourier *f, int64_t k, int64_t of, int quarters, bool imaginary) {
    int64_t all = 8 * of, sign = f->inverse ? 1 : -1;
    int64_t angle = (8 * sign * (k % of) + 2 * of * (quarters + 3 * imaginary) + all) % all;
    bool minus = false;
    if (angle > all / 2) angle = all - angle;
    if (angle > all / 4) angle = all / 2 - angle, minus = true;
    double part = TURN / (double)all;
    double v = angle <= of ? cos((double)angle * part) : sin((double)(2 * of - angle) * part);
    return minus ? -v : v;
}
static struct tensor *table(const struct fourier *f, int64_t a, int64_t b, int64_t c) {
    return tensor_new(&up_ctx(def_node())->arena, f->type, (const int64_t[]){a, b, c}, 3);
}
/* [p, real or imaginary part of x, both a]: the factors of x. */
static T of_first(const struct fourier *f) {
    int64_t one = f->p * f->parts, at = 0;
    struct tensor *t = table(f, f->p, f->complex, 2 * one);
    for (int64_t j = 0; j < f->p; j++)
        for (int x = 0; x < f->complex; x++)
            for (int64_t a = 0; a < 2 * one; a++)
                tensor_set_f(t, at++, root(f, j * (a % one / f->parts), f->p, x + (int)(a / one), a % f->parts));
    return const_table("first", t);
}
/* [q, which of both t, m with its parts]: the factors of the corresponding a, or of the other one. */
static T of_turn(const struct fourier *f, bool other) {
    int64_t one = f->p * f->parts, at = 0;
    struct tensor *t = table(f, f->q, 2, one);
    for (int64_t j = 0; j < f->q; j++)
        for (int which = 0; which < 2; which++)
            for (int64_t m = 0; m < one; m++) {
                double v = root(f, j * (m / f->parts), f->n, 0, other);
                tensor_set_f(t, at++, other && which ? -v : v);
            }
    return const_table(other ? "across" : "along", t);
}
/* [l, q, which of both t]: the second sum, with everything that remains. */
static T of_second(const struct fourier *f, int64_t rows) {
    int64_t at = 0;
    struct tensor *t = table(f, rows, f->q, 2);
    for (int64_t l = 0; l < rows; l++)
        for (int64_t j = 0; j < f->q; j++)
            for (int which = 0; which < 2; which++)
                tensor_set_f(t, at++, root(f, j * l, f->q, 0, which) / (f->inverse ? (double)f->n : 1));
    return const_table("second", t);
}

/* [j, real or imaginary part of x, result with its parts]: the whole transform. */
static T of_all(const struct fourier *f) {
    int64_t results = f->bins * f->parts, at = 0;
    struct tensor *t = table(f, f->n, f->complex, results);
    for (int64_t j = 0; j < f->n; j++)
        for (int x = 0; x < f->complex; x++)
            for (int64_t k = 0; k < results; k++) {
                double v = root(f, j * (k / f->parts), f->n, x, k % f->parts);
                tensor_set_f(t, at++, v / (f->inverse ? (double)f->n : 1));
            }
    return const_table("all", t);
}

/* ---- the sums */
/* A sum and its result, in the form that schedules recognise as a product. */
static T sum_of(const struct fourier *f, const char *name, X o, X r, E v) {
    T sum = reduce("acc", f->type, o, RED_SUM, r, v, NULL);
    if (!sum) return NULL;
    o = axes(shape(sum));
    return stage(name, f->type, o, at(sum, o));
}
static T at_once(const struct fourier *f, T frames, X batch) {
    X o = axes(push(batch, idx(f->bins * f->parts))), r = raxes(list2(idx(f->n), idx(f->complex)), "q x");
    E from = at(frames, cat(push(sub_list(o, 0, batch.n), idx(0)), r));
    return sum_of(f, "sums", o, r, mul(from, at(of_all(f), push(r, o.v[batch.n]))));
}
T fourier_sums(const struct fourier *f, T frames, X batch) {
    int64_t one = f->p * f->parts, rows = (f->bins + f->p - 1) / f->p;
    int d = batch.n;
    if (f->p == 1) return at_once(f, frames, batch);
    X o = axes(cat(batch, list2(idx(f->q), idx(2 * one)))), r = raxes(list2(idx(f->p), idx(f->complex)), "p x");
    E from = at(frames, cat(sub_list(o, 0, d), list3(r.v[0], o.v[d], r.v[1])));
    T both = sum_of(f, "both", o, r, mul(from, at(of_first(f), list3(r.v[0], r.v[1], o.v[d + 1]))));
    if (!both) return NULL;
    o = axes(cat(batch, list3(idx(f->q), idx(2), idx(one))));
    X own = sub_list(o, 0, d + 1), place = sub_list(o, d, 3);
    E along = at(both, push(own, add(mul(o.v[d + 1], idx(one)), o.v[d + 2])));
    E across = at(both, push(own, add(mul(sub(idx(1), o.v[d + 1]), idx(one)), o.v[d + 2])));
    E v = add(mul(along, at(of_turn(f, false), place)), mul(across, at(of_turn(f, true), place)));
    T turned = stage("turned", f->type, o, v);
    if (!turned) return NULL;
    o = axes(cat(batch, list2(idx(rows), idx(one)))), r = raxes(list2(idx(f->q), idx(2)), "q which");
    E by = at(of_second(f, rows), list3(o.v[d], r.v[0], r.v[1]));
    return sum_of(f, "sums", o, r, mul(by, at(turned, push(cat(sub_list(o, 0, d), r), o.v[d + 1]))));
}
E fourier_at(const struct fourier *f, T sums, X batch, E k, E part) {
    if (f->p == 1) return at(sums, push(batch, add(mul(k, idx(f->parts)), part)));
    E m = add(mul(mod_(k, idx(f->p)), idx(f->parts)), part);
    return at(sums, cat(batch, list2(div_(k, idx(f->p)), m)));
}
