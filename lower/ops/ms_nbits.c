/* com.microsoft.MatMulNBits: weights of few bits, in blocks that have a scale each, by floats; or, where the model
 * allows that (accuracy_level 4), by floats rounded to bytes. The weights stay packed in memory; kernels unpack each as
 * they use it. */
#include "lower/ops/ms.h"

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

/* ---- MatMulNBits: A [.., K] times the transpose of B [N, blocks, bytes of a block] */
struct nbits {
    int64_t bits, block, n, k;
    E blocks, zero_bytes;
    T b, scales, zeros;
};
static bool read_nbits(struct nbits *p) {
    T a = in(0), b = in(1), zero = in(3);
    *p = (struct nbits){
        .bits = int_attr("bits"), .block = int_attr("block_size"), .n = int_attr("N"), .k = int_attr("K")};
    if (!ms_known_bits(p->bits) || !ms_known_block(p->block)) return false;
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
    if (has(in(5))) {
        if (rank(in(5)) != 1) return fail(E_RANK, "the bias has rank %d, not 1", rank(in(5))), false;
        require(eq(dim(in(5), 0), idx(p->n)), "the bias does not have N elements");
    }
    p->b = ms_of_dims("weights", b, (const int64_t[]){p->n, blocks, p->block / per_byte}, 3);
    p->scales = ms_of_dims("scales", in(2), (const int64_t[]){p->n, blocks}, 2);
    p->zeros = has(zero)
                   ? ms_of_dims("zeros", zero, (const int64_t[]){p->n, dtype(zero) == U8 ? zero_bytes : blocks}, 2)
                   : zero;
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
    if (!read_nbits(&p)) return;
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

/* ---- MatMulNBits where A may be rounded to bytes: A in blocks, as whole numbers times a factor a block */
enum { TOGETHER = 4 };            /* bytes of B whose fields instructions multiply at a time */
enum { MOST_TOGETHER = 1 << 15 }; /* cells of a block, whose products a sum of 32 bits holds */
/* Rows of floats as bytes times a factor a row; and the sum of each row's bytes. Magnitudes are compared as integers,
 * in whose order NaN is the greatest: then the factor is NaN, and so are the row's products. The second operand is what
 * the rows were cut from, if it must be checked that this ends in K cells. */
static void op_quantizedrows(void) {
    T a = in(0), given = in(1);
    if (has(given)) require(eq(dim(given, rank(given) - 1), idx(int_attr("K"))), "the last axis of A is not K");
    E rows = dim(a, 0), n = dim(a, 1), least = typed(F32, ROUNDED_LEAST);
    X o = axes(list1(rows)), s = list1(raxis(n, "cell"));
    T bits = reduce("most", I32, o, RED_MAX, s, bitcast_(I32, abs_(cast(F32, at(a, cat(o, s))))), num(0));
    o = axes(list1(rows));
    E most = bitcast_(F32, at(bits, o));
    T factor = stage("factor", F32, o, sel(gt(most, least), div_(typed(F32, 127), most), num(0)));
    o = axes(list2(rows, n));
    T q = stage("q", I8, o, cast(I8, rint_(mul(cast(F32, at(a, o)), at(factor, list1(o.v[0]))))));
    o = axes(list1(rows)), s = list1(raxis(n, "cell"));
    out_reduce(2, I32, o, RED_SUM, s, cast(I32, at(q, cat(o, s))), NULL);
    o = axes(list1(rows));
    out(1, F32, o, div_(bitcast_(F32, at(bits, o)), typed(F32, 127)));
    o = axes(list2(rows, n));
    out(0, I8, o, at(q, o));
}
/* cells [.., K], factors and sums [.., blocks], B with fields as fields_together puts them, or signed, with zero points
 * of 0. */
static void op_blockproducts(void) {
    T q = in(0), factors = in(1), sums = in(2), b = in(3), scales = in(4), zeros = in(5), bias = in(6);
    int64_t bits = int_attr("bits"), fields = 8 / bits;
    int r = rank(q);
    if (has(bias)) require(eq(dim(bias, 0), dim(b, 0)), "the bias does not have N elements");
    E blocks = dim(factors, r - 1), rows = dim(b, 0), groups = div_(dim(b, 2), idx(TOGETHER));
    X lead = sub_list(shape(q), 0, r - 1), o = axes(push(push(lead, rows), blocks)),
      s = raxes(list3(groups, idx(fields), idx(TOGETHER)), "group field byte");
    E n = o.v[r - 1], block = o.v[r], byte = within(add(mul(s.v[0], idx(TOGETHER)), s.v[2]), dim(b, 2));
    E k = add(mul(add(mul(add(mul(block, groups), s.v[0]), idx(fields)), s.v[1]), idx(TOGETHER)), s.v[2]);
    E w = ms_bits(at(b, list3(n, within(block, dim(b, 1)), byte)), s.v[1], bits);
    T dot = reduce("dot", I32, o, RED_SUM, s,
                   mul(cast(I32, at(q, put(sub_list(o, 0, r), r - 1, within(k, dim(q, r - 1))))), w), NULL);
    if (!dot) return;
    o = axes(push(lead, rows)), s = list1(raxis(blocks, "block"));
    lead = sub_list(o, 0, r - 1), n = o.v[r - 1], block = s.v[0];
    E sum = at(dot, push(o, block)), zero = typed(I32, 1 << (bits - 1));
    if (has(zeros))
        zero = ms_bits(at(zeros, list2(n, within(div_(block, idx(fields)), dim(zeros, 1)))), mod_(block, idx(fields)),
                       bits);
    if (dtype(b) == U8) sum = sub(sum, mul(zero, at(sums, push(lead, block))));
    E v = mul(cast(F32, at(scales, list2(n, within(block, dim(scales, 1))))), at(factors, push(lead, block)));
    v = mul(cast(F32, sum), v);
    T y = reduce("acc", F32, o, RED_SUM, s, v, NULL);
    if (!y) return;
    v = at(y, o);
    if (has(bias)) v = add(v, cast(F32, at(bias, list1(within(n, dim(bias, 0))))));
    out(0, F32, o, v);
}
/* The bytes of B with other fields in them: those of equal number of some bytes are multiplied at a time, and so hold
 * what follows each other along K. */
static struct tensor *fields_together(const struct tensor *b, int64_t bits, const int64_t *dims) {
    struct tensor *t = n_tensor(U8, dims, 3);
    int64_t fields = 8 / bits, span = TOGETHER * fields, cells = tensor_count(t) * fields;
    uint8_t *to = tensor_data(t);
    for (int64_t k = 0; k < cells; k++) {
        int64_t in_span = k % span, field = in_span / TOGETHER, byte = k / span * TOGETHER + in_span % TOGETHER;
        to[byte] |= (uint8_t)((tensor_i(b, k / fields) >> (k % fields * bits) & ((1 << bits) - 1)) << (field * bits));
    }
    return t;
}
/* The bytes less 128, their zero point; NULL: one would be below -127, with which some instructions could overflow. */
static struct tensor *signed_bytes(const struct tensor *b) {
    struct tensor *t = n_tensor(I8, b->dims, b->rank);
    for (int64_t k = 0; k < tensor_count(b); k++) {
        int64_t v = tensor_i(b, k) - 128;
        if (v < -127) return NULL;
        tensor_set_i(t, k, v);
    }
    return t;
}
/* v if it is a constant of n x m cells, with these dims, or a vector of them; else NULL. */
static V constant_matrix(V v, int64_t n, int64_t m) {
    if (!v || !v->init || tensor_count(v->init) != n * m) return NULL;
    if (v->init->rank != 1 && (v->init->rank != 2 || v->init->dims[0] != n)) return NULL;
    struct tensor *t = arena_copy(&up_ctx(def_node())->arena, v->init, sizeof *t);
    t->rank = 2, t->dims[0] = n, t->dims[1] = m;
    return n_const(t);
}
/* Has b these three dims, the last two of them maybe as one? */
static bool in_blocks(const struct tensor *b, const int64_t *dims) {
    if (!b || tensor_count(b) != dims[0] * dims[1] * dims[2] || b->dims[0] != dims[0]) return false;
    return b->rank == 2 || (b->rank == 3 && b->dims[1] == dims[1]);
}
/* v with the dims of `as`, but the last one. */
static V like(V v, V as, int64_t last) {
    int r = as->type.rank;
    if (r == 1) return ms_reshaped(v, &last, 1);
    V dims[] = {ms_sliced(N_OP("Shape", as), 0, 0, r - 1), N_INTS(last)};
    return n_in_dims(v, dims, 2);
}
/* v with zeros behind its last axis. */
static V n_padded(V v, int r, int64_t cells) {
    int64_t pads[64] = {0};
    pads[2 * r - 1] = cells;
    return N_OP("Pad", v, n_const_i64(pads, 2 * r));
}
/* Has v a last axis, of that many cells or open? */
static bool may_end_in(V v, int64_t cells) {
    int64_t last;
    int r = v->type.rank;
    return r > 0 && (!x_is_int(v->type.dims[r - 1], &last) || last == cells);
}
/* NULL: A must not be rounded, or something is not as it should be, or known in the run only. */
static V rounded_products(void) {
    int64_t n = int_attr("N"), k = int_attr("K"), bits = int_attr("bits"), block = int_attr("block_size"), of_a;
    V a = gin(0), b = gin(1), zero = gin(3), bias = gin(5);
    bool known = bits == 4 || bits == 8;
    int r = a->type.rank;
    bool rounds = int_attr("accuracy_level") == 4 || def_node()->in->graph->bytes.operands;
    if (!rounds || gin(4) || int_attr("weight_prepacked") || (zero && zero->type.dtype != U8) || !known ||
        !ms_is_block(block) || block > MOST_TOGETHER || n < 1 || k < 1 || n > INT32_MAX || k > INT32_MAX ||
        !may_end_in(a, k) || (bias && (bias->type.rank != 1 || !may_end_in(bias, n))))
        return NULL;
    int64_t blocks = (k + block - 1) / block, dims[] = {n, blocks, block * bits / 8};
    V scales = constant_matrix(gin(2), n, blocks), zeros = constant_matrix(zero, n, (blocks * bits + 7) / 8);
    if (!in_blocks(b->init, dims) || !scales || (zero && !zeros)) return NULL;
    bool open = !x_is_int(a->type.dims[r - 1], &of_a);
    if (open) a = like(a, a, k);
    if (blocks * block > k) a = n_padded(a, r, blocks * block - k);
    V parts = ms_reshaped(a, (const int64_t[]){-1, block}, 2);
    struct tensor *cells = fields_together(b->init, bits, dims), *less = NULL;
    if (bits == 8 && !zero && def_node()->in->graph->bytes.signed_weights) less = signed_bytes(cells);
    V rows[] = {parts, open ? gin(0) : NULL};
    struct node *q = n_private("QuantizedRows", rows, 2, 3, ATTRS(attr_int("K", k)));
    V ins[] = {like(q->outs.v[0], gin(0), blocks * block),
               like(q->outs.v[1], gin(0), blocks),
               like(q->outs.v[2], gin(0), blocks),
               n_const(less ? less : cells),
               scales,
               zeros,
               bias};
    return n_cast(n_inferred(n_private("BlockProducts", ins, 7, 1, ATTRS(attr_int("bits", bits)))), a->type.dtype);
}
static void exp_matmulnbits(void) {
    V ins[] = {gin(0), gin(1), gin(2), gin(3), gin(4), gin(5)}, y = rounded_products();
    gout(0, y ? y : n_inferred(n_with_attrs("gcc2nn", "MatMulNBits", ins, 6, 1)));
}

enum { TF = TSET(F32) | TSET(F16) | TSET(BF16), TU8 = TSET(U8) };
static const struct op_slot s_nbits[] = {{"A", TF, 0},
                                         {"B", TU8, 0},
                                         {"scales", TF, 0},
                                         {"zero_points", TF | TU8, OPTIONAL},
                                         {"g_idx", TSET(I32), OPTIONAL},
                                         {"bias", TF, OPTIONAL},
                                         {0}};
static const struct op_attr a_nbits[] = {A_INT("K", .flags = A_REQUIRED),
                                         A_INT("N", .flags = A_REQUIRED),
                                         A_INT("bits", .i = 4),
                                         A_INT("block_size", .flags = A_REQUIRED),
                                         A_INT("accuracy_level"),
                                         A_INT("weight_prepacked"),
                                         {0}};
static const struct op_attr a_products[] = {A_INT("bits"), {0}}, a_rounded[] = {A_INT("K"), {0}};
static const struct op_slot s_rounded[] = {{"rows", TF, 0}, {"A", TF, OPTIONAL}, {0}},
                            outs_rounded[] = {
                                {"cells", TSET(I8), 0}, {"factors", TSET(F32), 0}, {"sums", TSET(I32), 0}, {0}};
const struct op ops_ms_nbits[] = {
    {"com.microsoft", "MatMulNBits", 1, 1, a_nbits, s_nbits, slots_y, .expand = exp_matmulnbits,
     .spec = "com.microsoft.MatMulNBits; accuracy_level 4 rounds A to bytes, with weights of 4 and 8 bits"},
    {"gcc2nn", "MatMulNBits", 1, 1, a_nbits, s_nbits, slots_y, .define = op_matmulnbits,
     .spec = "part of the expansion of MatMulNBits"},
    {"gcc2nn", "QuantizedRows", 1, 1, a_rounded, s_rounded, outs_rounded, .define = op_quantizedrows,
     .spec = "part of the expansion of MatMulNBits"},
    {"gcc2nn", "BlockProducts", 1, 1, a_products, slots_parts, slots_y, .define = op_blockproducts,
     .spec = "part of the expansion of MatMulNBits"},
    {0},
};
