/* Random numbers: RandomUniform, RandomNormal, their Like forms, Bernoulli, Multinomial.
 *
 * Element i is a function of i and of the node: the counter-based generator Philox 2x32-10 (Salmon et al., Parallel
 * random numbers: as easy as 1, 2, 3, 2011) with i as the counter. The code has no state, so any schedule and any
 * target gives the same numbers, and so does each run (docs/numbers.md). A body of a loop would give them in each pass.
 */
#include "lower/ops/ops.h"
#include <string.h>
#include <xxhash.h>

/* 32 bits that tell nodes apart; the same for nodes with the same seed. */
static uint32_t node_key(void) {
    const struct node *n = def_node();
    if (!has_attr("seed")) return XXH32(n->origin ? n->origin : "", n->origin ? strlen(n->origin) : 0, (uint32_t)n->id);
    float seed = (float)float_attr("seed");
    uint32_t bits;
    memcpy(&bits, &seed, sizeof bits);
    return bits;
}
static bool once_in_a_run(void) {
    for (const struct node *n = def_node()->in->owner; n; n = n->in->owner)
        if (fail_if(strcmp(n->op_type, "If"), E_OP,
                    "%s in the body of %s would give the same numbers in each pass; make them outside, as an input of "
                    "the body",
                    def_node()->op_type, n->op_type))
            return false;
    return true;
}
static E bits_of(E counter) { return fn2("philox", cast(U64, val(counter)), typed(U64, node_key())); }
static E bit_field(E bits, int from) { /* 32 of them, as a number of f32 */
    return cast(F32, cast(U32, shr_(bits, typed(U64, from))));
}
/* 0 <= u < 1, of 24 bits, so that no value is rounded. */
static E uniform(E counter) { return mul(bit_field(bits_of(counter), 40), typed(F32, 0x1p-24)); }
static E open_uniform(E bits) { /* 0 < u < 1 */
    return min_(fma_(bit_field(bits, 0), typed(F32, 0x1p-32), typed(F32, 0x1p-33)), typed(F32, 0x1.fffffep-1));
}
static E normal(E counter) { /* Box and Muller: one of two */
    E bits = bits_of(counter), radius = sqrt_(mul(log_(open_uniform(bits)), typed(F32, -2)));
    return mul(radius, fn1("cos", mul(bit_field(bits, 32), typed(F32, 0x1p-32 * 6.283185307179586))));
}

/* ---- one number for each element: of a tensor of the shape given, or like the input */
static X shape_of_attr(void) {
    const int64_t *v;
    int n = ints_attr("shape", &v);
    X d = list0();
    for (int k = 0; k < n; k++) {
        if (v[k] < 0 || v[k] > DIM_MAX) fail(E_ATTR, "attribute \"shape\": a size is negative or too large");
        d = push(d, idx(v[k]));
    }
    return d;
}
static void fill(E (*number)(E), double scale, double shift) {
    T like = in(0);
    enum dtype t = type_attr("dtype");
    if (t == NONE) t = has(like) ? dtype(like) : F32;
    if (fail_if(!(TSET(t) & TS_FLOAT), E_TYPE, "%s gives floating-point numbers, not %s", def_node()->op_type,
                dtype_name(t)))
        return;
    X d = has(like) ? shape(like) : shape_of_attr();
    if (!once_in_a_run()) return;
    X i = axes(d);
    E v = fma_(number(flatten_index(i, d)), typed(F32, scale), typed(F32, shift));
    out(0, t, i, cast(dtype_value(t), v));
}
static void op_uniform(void) { fill(uniform, float_attr("high") - float_attr("low"), float_attr("low")); }
static void op_normal(void) { fill(normal, float_attr("scale"), float_attr("mean")); }

/* ---- choices */
static void op_bernoulli(void) {
    T p = in(0);
    enum dtype t = type_attr("dtype");
    if (t == NONE) t = dtype(p);
    if (!once_in_a_run()) return;
    if (fail_if(t == STR, E_TYPE, "Bernoulli cannot make strings")) return;
    X i = axes(shape(p));
    E one = lt(cast(acc(p), uniform(flatten_index(i, shape(p)))), cast(acc(p), at(p, i)));
    out(0, t, i, sel(one, typed(dtype_value(t), 1), typed(dtype_value(t), 0)));
}
/* The greatest of x[c] - log(-log(u[c])) is at c with probability exp(x[c]) / sum exp(x): Gumbel. */
static E perturbed(T x, X i, E c, E samples) {
    E counter = flatten_index(push(i, c), list3(dim(x, 0), samples, dim(x, 1)));
    E noise = neg(log_(neg(log_(open_uniform(bits_of(counter))))));
    return add(cast(F32, at(x, list2(i.v[0], c))), noise);
}
static void op_multinomial(void) {
    T x = in(0);
    enum dtype t = type_attr("dtype");
    int64_t n = int_attr("sample_size");
    if (t == NONE) t = I32;
    if (fail_if(rank(x) != 2 || n < 0 || n > DIM_MAX || (t != I32 && t != I64), E_ATTR,
                "Multinomial takes a matrix, and gives a number of samples that is not negative, of i32 or i64"))
        return;
    if (!once_in_a_run()) return;
    require(lt(idx(0), dim(x, 1)), "there are no classes to choose from");
    X i = axes_named(list2(dim(x, 0), idx(n)), "n s");
    E c = raxis(dim(x, 1), "c"), k = raxis(dim(x, 1), "c");
    T best = reduce("best", F32, i, RED_MAX, list1(c), perturbed(x, i, c, idx(n)), NULL);
    if (!best) return;
    E last = sub(val(dim(x, 1)), num(1));
    i = axes_named(list2(dim(x, 0), idx(n)), "n s");
    E place = sel(ge(perturbed(x, i, k, idx(n)), at(best, i)), val(k), last);
    T first = reduce("first", I64, i, RED_MIN, list1(k), place, NULL);
    if (!first) return;
    i = axes_named(list2(dim(x, 0), idx(n)), "n s");
    out(0, t, i, cast(dtype_value(t), at(first, i)));
}

#define SEED  A_FLOAT("seed")
#define DTYPE A_INT("dtype")
#define SHAPE A_INTS("shape", .flags = A_REQUIRED)
static const struct op_attr a_uniform[] = {DTYPE, A_FLOAT("high", .f = 1), A_FLOAT("low"), SEED, SHAPE, {0}};
static const struct op_attr a_uniform_like[] = {DTYPE, A_FLOAT("high", .f = 1), A_FLOAT("low"), SEED, {0}};
static const struct op_attr a_normal[] = {DTYPE, A_FLOAT("mean"), A_FLOAT("scale", .f = 1), SEED, SHAPE, {0}};
static const struct op_attr a_normal_like[] = {DTYPE, A_FLOAT("mean"), A_FLOAT("scale", .f = 1), SEED, {0}};
static const struct op_attr a_bernoulli[] = {DTYPE, SEED, {0}};
static const struct op_attr a_multinomial[] = {DTYPE, A_INT("sample_size", .i = 1), SEED, {0}};
static const struct op_slot s_none[] = {{0}}, s_float[] = {{"input", TS_FLOAT, 0}, {0}};
#define RANDOM(op, first, attrs, ins, fn)                                                                              \
    { "", op, 22, first, attrs, ins, slots_y, .define = fn, .spec = op "-22", .flags = OP_RANDOM }
const struct op ops_random[] = {
    RANDOM("Bernoulli", 15, a_bernoulli, s_float, op_bernoulli),
    RANDOM("Multinomial", 7, a_multinomial, s_float, op_multinomial),
    RANDOM("RandomNormal", 1, a_normal, s_none, op_normal),
    RANDOM("RandomNormalLike", 1, a_normal_like, slots_x, op_normal),
    RANDOM("RandomUniform", 1, a_uniform, s_none, op_uniform),
    RANDOM("RandomUniformLike", 1, a_uniform_like, slots_x, op_uniform),
    {0},
};
