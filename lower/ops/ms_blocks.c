/* com.microsoft's weights of few bits, in blocks that have a scale each: MatMulNBits, MatMulBnb4, GatherBlockQuantized.
 * The weights stay packed in memory; kernels unpack each as they use it. */
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
static bool known_block(int64_t size) {
    bool ok = size >= 16 && size <= INT32_MAX && (size & (size - 1)) == 0;
    if (!ok) fail(E_ATTR, "\"block_size\" is %lld, no power of 2 from 16 on", (long long)size);
    return ok;
}
/* t[row, col] of a matrix with that many columns, which may be given as a vector. */
static E cell(T t, E row, E col, E columns) {
    if (rank(t) == 1) return at(t, list1(within(add(mul(row, columns), col), dim(t, 0))));
    return at(t, list2(within(row, dim(t, 0)), within(col, dim(t, 1))));
}
static bool sized(T t, E rows, E columns, const char *what) {
    if (rank(t) < 1 || rank(t) > 2) return fail(E_RANK, "%s: rank %d, not 2", what, rank(t)), false;
    E fits = eq(numel(t), mul(rows, columns));
    require(rank(t) == 1 ? fits : and_(eq(dim(t, 0), rows), eq(dim(t, 1), columns)), "%s: the size does not fit", what);
    return true;
}

/* A constant of the same cells with these dims, where indices stand by themselves; t, if it is none or has others. */
static T of_dims(const char *name, T t, const int64_t *dims, int n) {
    const struct tensor *data = has(t) ? const_of(t) : NULL;
    int64_t cells = 1;
    for (int k = 0; k < n; k++) cells *= dims[k];
    if (!data || data->rank == n || tensor_count(data) != cells) return t;
    struct tensor *same = arena_copy(&up_ctx(def_node())->arena, data, sizeof *data);
    same->rank = n;
    for (int k = 0; k < n; k++) same->dims[k] = dims[k];
    return const_table(name, same);
}

/* ---- MatMulNBits: A [.., K] times the transpose of B [N, blocks, bytes of a block] */
struct nbits {
    int64_t bits, block, n, k;
    E blocks, zero_bytes;
    T b, scales, zeros;
};
static bool nms_bits(struct nbits *p) {
    T a = in(0), b = in(1), zero = in(3);
    *p = (struct nbits){
        .bits = int_attr("bits"), .block = int_attr("block_size"), .n = int_attr("N"), .k = int_attr("K")};
    if (!ms_known_bits(p->bits) || !known_block(p->block)) return false;
    if (p->n < 1 || p->k < 1 || p->n > INT32_MAX || p->k > INT32_MAX)
        return fail(E_ATTR, "\"N\" and \"K\" must be from 1 to 2^31-1"), false;
    if (int_attr("weight_prepacked")) return fail(E_ATTR, "weights packed for a device are not supported"), false;
    if (rank(a) < 1) return fail(E_RANK, "the first operand has no axis"), false;
    int64_t blocks = (p->k + p->block - 1) / p->block, per_byte = 8 / p->bits;
    p->blocks = idx(blocks);
    int64_t zero_bytes = (blocks + per_byte - 1) / per_byte;
    p->zero_bytes = idx(zero_bytes);
    require(eq(dim(a, rank(a) - 1), idx(p->k)), "the last axis of A is not K");
    require(eq(numel(b), idx(p->n * blocks * (p->block / per_byte))), "B: the size does not fit");
    if (rank(b) != 3 && rank(b) != 2) return fail(E_RANK, "B has rank %d, not 3", rank(b)), false;
    require(eq(dim(b, 0), idx(p->n)), "B does not have N rows");
    if (rank(b) == 3) require(eq(dim(b, 1), p->blocks), "B has another number of blocks");
    if (!sized(in(2), idx(p->n), p->blocks, "scales")) return false;
    if (has(zero) && !sized(zero, idx(p->n), dtype(zero) == U8 ? p->zero_bytes : p->blocks, "zero_points"))
        return false;
    if (has(in(4))) { /* padded to whole blocks, sometimes */
        if (rank(in(4)) != 1) return fail(E_RANK, "g_idx is no vector"), false;
        require(ge(dim(in(4), 0), idx(p->k)), "g_idx does not have K elements");
    }
    if (has(in(5))) require(eq(numel(in(5)), idx(p->n)), "the bias does not have N elements");
    p->b = of_dims("weights", b, (const int64_t[]){p->n, blocks, p->block / per_byte}, 3);
    p->scales = of_dims("scales", in(2), (const int64_t[]){p->n, blocks}, 2);
    p->zeros =
        has(zero) ? of_dims("zeros", zero, (const int64_t[]){p->n, dtype(zero) == U8 ? zero_bytes : blocks}, 2) : zero;
    return true;
}
static E nbits_weight(const struct nbits *p, E n, E k) {
    T b = p->b, zero = p->zeros, group = in(4);
    int64_t per_byte = 8 / p->bits, bytes = p->block / per_byte;
    E block = div_(k, idx(p->block)), byte = div_(mod_(k, idx(p->block)), idx(per_byte)), row = within(n, dim(b, 0));
    X at_b = rank(b) == 3 ? list3(row, within(block, dim(b, 1)), within(byte, dim(b, 2)))
                          : list2(row, within(add(mul(block, idx(bytes)), byte), dim(b, 1)));
    E q = ms_bits(at(b, at_b), mod_(k, idx(per_byte)), p->bits);
    if (has(group)) block = wrap_index(at(group, list1(within(k, dim(group, 0)))), p->blocks);
    E z = typed(F32, (double)(1 << (p->bits - 1)));
    if (has(zero) && dtype(zero) == U8) {
        E packed = cell(zero, n, div_(block, idx(per_byte)), p->zero_bytes);
        z = cast(F32, ms_bits(packed, mod_(block, idx(per_byte)), p->bits));
    } else if (has(zero)) z = cell(zero, n, block, p->blocks);
    return mul(sub(cast(F32, q), z), cell(p->scales, n, block, p->blocks));
}
/* The index along K. Whole blocks are summed by loops over blocks, bytes and fields, so that their indices are separate
 * variables; otherwise they are computed at run time. */
static E sum_over(const struct nbits *p, X *axes) {
    int64_t per_byte = 8 / p->bits;
    if (p->k % p->block || has(in(4))) return *axes = list1(raxis(idx(p->k), "k")), axes->v[0];
    *axes = raxes(list3(p->blocks, idx(p->block / per_byte), idx(per_byte)), "block byte part");
    E byte = add(mul(axes->v[0], idx(p->block / per_byte)), axes->v[1]);
    return add(mul(byte, idx(per_byte)), axes->v[2]);
}
static void op_matmulnbits(void) {
    T a = in(0), bias = in(5);
    struct nbits p;
    if (!nms_bits(&p)) return;
    int r = rank(a);
    X o = axes(push(sub_list(shape(a), 0, r - 1), idx(p.n))), s;
    E k = sum_over(&p, &s), n = o.v[r - 1];
    E v = mul(at(a, put(o, r - 1, within(k, dim(a, r - 1)))), nbits_weight(&p, n, k));
    T y = reduce("acc", F32, o, RED_SUM, s, v, NULL);
    if (!y) return;
    v = at(y, o);
    if (has(bias)) v = add(v, at(bias, list1(within(n, dim(bias, 0)))));
    out(0, dtype(a), o, v);
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
    E v = typed(F32, normal ? nf4[15] : -fp4[7]);
    for (int k = 14; k >= 0; k--)
        v = sel(eq(code, typed(I32, k)), typed(F32, normal ? nf4[k] : k < 8 ? fp4[k] : -fp4[k - 8]), v);
    return v;
}
static void op_matmulbnb4(void) {
    T a = in(0), b = in(1), absmax = in(2);
    int64_t n = int_attr("N"), k = int_attr("K"), block = int_attr("block_size"), type = int_attr("quant_type");
    bool turned = int_attr("transB") != 0;
    int r = rank(a);
    if (!known_block(block)) return;
    if (fail_if(n < 1 || k < 1 || n > INT32_MAX || k > INT32_MAX || type < 0 || type > 1 || r < 1, E_ATTR,
                "\"N\", \"K\" or \"quant_type\" is out of range, or A has no axis"))
        return;
    int64_t inner = turned ? k : n, outer = turned ? n : k;
    require(eq(dim(a, r - 1), idx(inner)), "the last axis of A does not fit the weights");
    require(eq(numel(b), idx((n * k + 1) / 2)), "B: the size does not fit");
    require(eq(numel(absmax), idx((n * k + block - 1) / block)), "absmax: the size does not fit");
    X o = axes(push(sub_list(shape(a), 0, r - 1), idx(outer)));
    E s = raxis(idx(inner), "k"), row = turned ? o.v[r - 1] : s, col = turned ? s : o.v[r - 1];
    E flat = add(mul(row, idx(k)), col), low = eq(mod_(flat, idx(2)), idx(1));
    E byte = cast(I32, at(b, unflatten_index(within(div_(flat, idx(2)), numel(b)), shape(b))));
    E code = sel(low, and_(byte, typed(I32, 15)), shr_(byte, typed(I32, 4)));
    E factor = at(absmax, unflatten_index(within(div_(flat, idx(block)), numel(absmax)), shape(absmax)));
    E v = mul(at(a, put(o, r - 1, within(s, dim(a, r - 1)))), mul(code_value(code, type == 1), factor));
    T y = reduce("acc", F32, o, RED_SUM, list1(s), v, NULL);
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
    if (!(small && block == 0) && !known_block(block)) return;
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
static const struct op_slot s_nbits[] = {{"A", TF, 0},
                                         {"B", TU8, 0},
                                         {"scales", TF, 0},
                                         {"zero_points", TF | TU8, OPTIONAL},
                                         {"g_idx", TSET(I32), OPTIONAL},
                                         {"bias", TF, OPTIONAL},
                                         {0}};
static const struct op_slot s_bnb4[] = {{"A", TF, 0}, {"B", TU8, 0}, {"absmax", TF, 0}, {0}};
static const struct op_slot s_gather[] = {{"data", TU8 | TI4 | TS_F8, 0},
                                          {"indices", TS_INDEX, 0},
                                          {"scales", TF, 0},
                                          {"zero_points", TU8 | TI4, OPTIONAL},
                                          {0}};
#define SIZES A_INT("K", .flags = A_REQUIRED), A_INT("N", .flags = A_REQUIRED)
static const struct op_attr a_nbits[] = {SIZES,
                                         A_INT("bits", .i = 4),
                                         A_INT("block_size", .flags = A_REQUIRED),
                                         A_INT("accuracy_level"),
                                         A_INT("weight_prepacked"),
                                         {0}};
static const struct op_attr a_bnb4[] = {SIZES,
                                        A_INT("block_size", .flags = A_REQUIRED),
                                        A_INT("quant_type", .flags = A_REQUIRED),
                                        A_INT("training_mode"),
                                        A_INT("transB", .i = 1),
                                        {0}};
static const struct op_attr a_gather[] = {
    A_INT("bits", .i = 4), A_INT("block_size", .i = 128), A_INT("gather_axis"), A_INT("quantize_axis", .i = 1), {0}};
const struct op ops_ms_blocks[] = {
    {"com.microsoft", "MatMulNBits", 1, 1, a_nbits, s_nbits, slots_y, .define = op_matmulnbits,
     .spec = "com.microsoft.MatMulNBits; A is never quantised, whatever accuracy_level allows"},
    {"com.microsoft", "MatMulBnb4", 1, 1, a_bnb4, s_bnb4, slots_y, .define = op_matmulbnb4,
     .spec = "com.microsoft.MatMulBnb4"},
    {"com.microsoft", "GatherBlockQuantized", 1, 1, a_gather, s_gather, slots_y, .define = op_gatherblocks,
     .spec = "com.microsoft.GatherBlockQuantized"},
    {0},
};
