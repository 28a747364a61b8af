/* com.microsoft's weights of few bits, in blocks that have a scale each: MatMulBnb4, GatherBlockQuantized; MatMulNBits
 * is in ms_nbits.c. The weights stay packed in memory; kernels unpack each as they use it. */
#include "lower/ops/ms.h"

E ms_bits(E byte, E from, int64_t bits) {
    E v = cast(I32, byte);
    return bits == 8 ? v : and_(shr_(v, cast(I32, val(mul(from, idx(bits))))), typed(I32, (double)((1 << bits) - 1)));
}
bool ms_known_bits(int64_t bits) {
    bool ok = bits == 2 || bits == 4 || bits == 8;
    if (!ok) fail(E_ATTR, "\"bits\" is %lld; 2, 4 and 8 are supported", (long long)bits);
    return ok;
}
bool ms_is_block(int64_t size) { return size >= 16 && size <= INT32_MAX && (size & (size - 1)) == 0; }
bool ms_known_block(int64_t size) {
    bool ok = ms_is_block(size);
    if (!ok) fail(E_ATTR, "\"block_size\" is %lld, no power of 2 from 16 on", (long long)size);
    return ok;
}

T ms_of_dims(const char *name, T t, const int64_t *dims, int n) {
    const struct tensor *data = has(t) ? const_of(t) : NULL;
    int64_t cells = 1;
    for (int k = 0; k < n; k++) cells *= dims[k];
    if (!data || data->rank == n || tensor_count(data) != cells) return t;
    struct tensor *same = arena_copy(&up_ctx(def_node())->arena, data, sizeof *data);
    same->rank = n;
    for (int k = 0; k < n; k++) same->dims[k] = dims[k];
    return const_table(name, same);
}

/* ---- MatMulBnb4: B holds N * K codes of 4 bits, the first of a byte in its upper half, absmax one factor a block */
static E code_value(E code, bool normal) {
    static const double fp4[] = {0, 0.00520833333, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25},
                        nf4[] = {-1,
                                 -0.6961928009986877,
                                 -0.5250730514526367,
                                 -0.39491748809814453,
                                 -0.28444138169288635,
                                 -0.18477343022823334,
                                 -0.09105003625154495,
                                 0,
                                 0.07958029955625534,
                                 0.16093020141124725,
                                 0.24611230194568634,
                                 0.33791524171829224,
                                 0.44070982933044434,
                                 0.5626170039176941,
                                 0.7229568362236023,
                                 1};
    const double *values = normal ? nf4 : fp4;
    E v[16];
    for (int k = 0; k < 16; k++) v[k] = typed(F32, normal || k < 8 ? values[k] : -values[k - 8]);
    for (int bit = 3; bit >= 0; bit--) { /* half of what is left at each: fewer choices than one for each value */
        E set = ne(and_(code, typed(I32, 1 << bit)), typed(I32, 0));
        for (int k = 0; k < 1 << bit; k++) v[k] = sel(set, v[k + (1 << bit)], v[k]);
    }
    return v[0];
}
static void op_matmulbnb4(void) {
    T a = in(0), b = in(1), absmax = in(2);
    int64_t n = int_attr("N"), k = int_attr("K"), block = int_attr("block_size"), type = int_attr("quant_type");
    bool turned = int_attr("transB") != 0;
    int r = rank(a);
    if (!ms_known_block(block)) return;
    if (fail_if(n < 1 || k < 1 || n > INT32_MAX || k > INT32_MAX || type < 0 || type > 1 || r < 1, E_ATTR,
                "\"N\", \"K\" or \"quant_type\" is out of range, or A has no axis"))
        return;
    int64_t inner = turned ? k : n, outer = turned ? n : k;
    require(eq(dim(a, r - 1), idx(inner)), "the last axis of A does not fit the weights");
    require(eq(numel(b), idx((n * k + 1) / 2)), "B: the size does not fit");
    require(eq(numel(absmax), idx((n * k + block - 1) / block)), "absmax: the size does not fit");
    X o = axes(push(sub_list(shape(a), 0, r - 1), idx(outer))), sums;
    E code, factor, s;
    int64_t blocks = k / block;
    T rows = ms_of_dims("weights", b, (const int64_t[]){n, blocks, block / 2}, 3);
    T factors = ms_of_dims("factors", absmax, (const int64_t[]){n, blocks}, 2);
    bool vectors = rank(b) == 1 && rank(absmax) == 1, apart = vectors && rank(rows) == 3 && rank(factors) == 2;
    if (turned && k % block == 0 && apart) { /* separate indices, as in MatMulNBits */
        sums = raxes(list3(idx(blocks), idx(block / 2), idx(2)), "block byte part");
        E row = o.v[r - 1], byte = at(rows, list3(row, sums.v[0], sums.v[1]));
        code = ms_bits(byte, sub(idx(1), sums.v[2]), 4);
        factor = at(factors, list2(row, sums.v[0]));
        s = add(mul(add(mul(sums.v[0], idx(block / 2)), sums.v[1]), idx(2)), sums.v[2]);
    } else {
        sums = list1(s = raxis(idx(inner), "k"));
        E flat = add(mul(turned ? o.v[r - 1] : s, idx(k)), turned ? s : o.v[r - 1]);
        E byte = at(b, unflatten_index(within(div_(flat, idx(2)), numel(b)), shape(b)));
        code = ms_bits(byte, sub(idx(1), mod_(flat, idx(2))), 4);
        factor = at(absmax, unflatten_index(within(div_(flat, idx(block)), numel(absmax)), shape(absmax)));
    }
    E v = mul(at(a, put(o, r - 1, within(s, dim(a, r - 1)))), mul(code_value(code, type == 1), factor));
    T y = reduce("acc", F32, o, RED_SUM, sums, v, NULL);
    if (y) out(0, dtype(a), o, at(y, o));
}

/* ---- GatherBlockQuantized: slices of a table that is quantised in blocks along one axis; 0 for an index outside */
static void op_gatherblocks(void) {
    T x = in(0), which = in(1), scale = in(2), zero = in(3);
    int r = rank(x);
    int64_t bits = dtype(x) == U8 ? int_attr("bits") : 8, block = int_attr("block_size"),
            per_byte = 8 / (bits ? bits : 8);
    bool small = dtype_is_float(dtype(x));
    if (fail_if(r < 1 || rank(scale) != r || (has(zero) && rank(zero) != r), E_RANK,
                "data, scales and zero points need the same rank"))
        return;
    int g = axis_attr("gather_axis", x), q = axis_attr("quantize_axis", x), last = r - 1;
    if (dtype(x) == U8 && !ms_known_bits(bits)) return;
    if (!(small && block == 0) && !ms_known_block(block)) return;
    if (fail_if(per_byte > 1 && g == last, E_ATTR, "packed data cannot be gathered along its last axis")) return;
    X dims = shape(x), i, from;
    dims.v[last] = mul(dims.v[last], idx(per_byte));
    i = axes(splice(dims, g, 1, shape(which)));
    E n = dims.v[g], raw = cast(I64, at(which, sub_list(i, g, rank(which))));
    raw = sel(lt(raw, num(0)), add(raw, val(n)), raw);
    E inside = and_(ge(raw, num(0)), lt(raw, val(n)));
    E row = wrap_index(sel(inside, raw, val(idx(0))), n);
    from = splice(i, g, rank(which), list1(row));
    X at_x = from, at_s = from, at_z;
    at_x.v[last] = per_byte > 1 ? div_(from.v[last], idx(per_byte)) : from.v[last];
    for (int k = 0; k < r; k++) {
        E d = dim(scale, k), want = k == q ? block ? ceil_div(dims.v[k], idx(block)) : idx(1) : dims.v[k];
        require(small && k != q ? or_(eq(d, want), eq(d, idx(1))) : eq(d, want), "scales do not fit axis %d", k);
        E place = k == q ? block ? div_(from.v[k], idx(block)) : idx(0) : from.v[k];
        at_s.v[k] = within(x_is(d, 1) ? idx(0) : small ? sel(eq(d, idx(1)), idx(0), place) : place, d);
    }
    E v = at(x, at_x);
    if (dtype(x) == U8) v = ms_bits(v, mod_(from.v[last], idx(per_byte)), bits);
    v = cast(F32, v);
    if (has(zero)) {
        at_z = at_s;
        if (per_byte > 1) at_z.v[last] = div_(at_s.v[last], idx(per_byte));
        for (int k = 0; k < r; k++) {
            E d = dim(scale, k);
            require(eq(dim(zero, k), k == last && per_byte > 1 ? ceil_div(d, idx(per_byte)) : d),
                    "zero points do not fit axis %d", k);
            at_z.v[k] = within(at_z.v[k], dim(zero, k));
        }
        E z = at(zero, at_z);
        v = sub(v, cast(F32, dtype(x) == U8 ? ms_bits(z, mod_(at_s.v[last], idx(per_byte)), bits) : z));
    } else if (dtype(x) == U8) v = sub(v, typed(F32, (double)(1 << (bits - 1))));
    out(0, dtype(scale), i, sel(inside, mul(v, at(scale, at_s)), num(0)));
}

enum { TF = TSET(F32) | TSET(F16) | TSET(BF16), TU8 = TSET(U8), TI4 = TSET(I4) | TSET(U4) };
static const struct op_slot s_bnb4[] = {{"A", TF, 0}, {"B", TU8, 0}, {"absmax", TF, 0}, {0}};
static const struct op_slot s_gather[] = {{"data", TU8 | TI4 | TS_F8, 0},
                                          {"indices", TS_INDEX, 0},
                                          {"scales", TF, 0},
                                          {"zero_points", TU8 | TI4, OPTIONAL},
                                          {0}};
#define SIZES A_INT("K", .flags = A_REQUIRED), A_INT("N", .flags = A_REQUIRED)
static const struct op_attr a_bnb4[] = {SIZES,
                                        A_INT("block_size", .flags = A_REQUIRED),
                                        A_INT("quant_type", .flags = A_REQUIRED),
                                        A_INT("training_mode"),
                                        A_INT("transB", .i = 1),
                                        {0}};
static const struct op_attr a_gather[] = {
    A_INT("bits", .i = 4), A_INT("block_size", .i = 128), A_INT("gather_axis"), A_INT("quantize_axis", .i = 1), {0}};
const struct op ops_ms_blocks[] = {
    {"com.microsoft", "MatMulBnb4", 1, 1, a_bnb4, s_bnb4, slots_y, .define = op_matmulbnb4,
     .spec = "com.microsoft.MatMulBnb4"},
    {"com.microsoft", "GatherBlockQuantized", 1, 1, a_gather, s_gather, slots_y, .define = op_gatherblocks,
     .spec = "com.microsoft.GatherBlockQuantized"},
    {0},
};
