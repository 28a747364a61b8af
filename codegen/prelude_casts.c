/* The prelude's conversions: casts, floats of one or two bytes as codes, vectors from memory and back. See prelude.c.
 */
#include "codegen/prelude_int.h"
#include "ir/base/convert.h"
#include <math.h>

static const char *const sat_signed =
    "static inline $T $N($E x) {\n    return x >= %s ? INT$B_MAX : x <= -%s ? INT$B_MIN : x == x ? ($T)x : 0;\n}\n";
static const char *const sat_unsigned =
    "static inline $T $N($E x) {\n    return x >= %s ? UINT$B_MAX : x > 0 ? ($T)x : 0;\n}\n";

/* Saturating float to integer, one element. */
static const char *cast_sat(const struct emit_options *o, enum dtype to, enum dtype from) {
    struct emit_uses *u = o->uses;
    const char *name = internf(u->c->names, "nn_%s_to_%s", dtype_name(from), dtype_name(to));
    if (!prelude_first(u, name)) return name;
    struct holes h;
    prelude_holes(o, &h, name, to, 1);
    h.elem = c_value_type(from);
    const char *limit = to == I32   ? "2147483648.0"
                        : to == U32 ? "4294967296.0"
                        : to == I64 ? "9223372036854775808.0"
                                    : "18446744073709551616.0";
    const char *lim = internf(u->c->names, "%s%s", limit, from == F32 ? "f" : "");
    bool uns = to == U32 || to == U64;
    prelude_add(o, uns ? format(u->c, sat_unsigned, lim) : format(u->c, sat_signed, lim, lim), &h);
    return name;
}
/* Converts the lanes that fit, and fills in the others. */
static void cast_lanes(const struct emit_options *o, struct holes *h, enum dtype to, enum dtype from, int lanes) {
    const char *limit = internf(o->uses->c->names, "%s%s", to == I32 ? "2147483648.0" : "9223372036854775808.0",
                                from == F32 ? "f" : ""),
               *mask = c_vector_type(o, from == F32 ? I32 : I64, lanes), *ft = c_vector_type(o, from, lanes);
    bool same = dtype_bytes(to) == dtype_bytes(from);
    const char *as_wide = same ? "(" : "__builtin_convertvector(", *end = same ? ")" : ", $T)";
    int bits = 8 * dtype_bytes(to);
    prelude_add(o,
                format(o->uses->c,
                       "static inline $T $N(%s x) {\n"
                       "    const %s least = x >= -%s, over = x >= %s, fit = least & ~over, under = x < -%s;\n"
                       "    const $T r = __builtin_convertvector((%s)((%s)x & fit), $T);\n"
                       "    return r | (%sover%s & INT%d_MAX) | (%sunder%s & INT%d_MIN);\n}\n",
                       ft, mask, limit, limit, limit, ft, mask, as_wide, end, bits, as_wide, end, bits),
                h);
}
const char *c_cast(const struct emit_options *o, enum dtype to, enum dtype from, int lanes) {
    struct emit_uses *u = o->uses;
    struct ctx *c = u->c;
    bool from_flt = from == F32 || from == F64, to_flt = to == F32 || to == F64;
    if (lanes == 1) return from_flt && !to_flt && to != BOOL ? cast_sat(o, to, from) : NULL;
    const char *name = internf(c->names, "nn_%s_to_%sx%d", dtype_name(from), dtype_name(to), lanes);
    if (!prelude_first(u, name)) return name;
    struct holes h;
    prelude_holes(o, &h, name, to, lanes);
    const char *ft = c_vector_type(o, from, lanes);
    if (from_flt && !to_flt && to != BOOL) {
        if (to == I32 || to == I64) {
            cast_lanes(o, &h, to, from, lanes);
            return name;
        }
        h.scalar = cast_sat(o, to, from);
        prelude_add(
            o,
            arena_printf(
                &c->arena,
                "static inline $T $N(%s x) {\n    $T r = {0};\n    for (int i = 0; i < $L; i++)\n        r[i] = "
                "$S(x[i]);\n    return r;\n}\n",
                ft),
            &h);
        return name;
    }
    if (to == BOOL) BUG("casts to bool are comparisons");
    const char *arg = from == BOOL ? "-x" : "x";
    prelude_add(o, format(c, "static inline $T $N(%s x) {\n    return __builtin_convertvector(%s, $T);\n}\n", ft, arg),
                &h);
    return name;
}
/* Near 1.5 * 2^23 the distance of floats is 1, so sums are rounded to the nearest integer, ties to even. */
const char *c_nearest(const struct emit_options *o, int lanes, bool small) {
    struct emit_uses *u = o->uses;
    const char *row = prelude_spelled(o, X_RINT, I32, lanes), *name = prelude_name(o, "nearest", I32, lanes);
    if (!row && (lanes > 1 || !small)) return NULL;
    if (!prelude_first(u, name)) return name;
    struct holes h;
    prelude_holes(o, &h, name, I32, lanes);
    h.scalar = row ? NULL : c_bitcast(o, I32, F32, 1);
    const char *from = lanes > 1 ? c_vector_type(o, F32, lanes) : c_value_type(F32),
               *head = format(u->c, "static inline $T $N(%s a)", from);
    prelude_add(o,
                row ? prelude_from_row(o, row, head)
                    : format(u->c, "%s {\n    return $S(a + 12582912.0f) - 1262485504;\n}\n", head),
                &h);
    return name;
}
const char *c_bitcast(const struct emit_options *o, enum dtype to, enum dtype from, int lanes) {
    struct emit_uses *u = o->uses;
    if (lanes > 1) return internf(u->c->names, "(%s)", c_vector_type(o, to, lanes));
    const char *name = internf(u->c->names, "nn_bits_%s_to_%s", dtype_name(from), dtype_name(to));
    u->complex |= dtype_is_complex(to) || dtype_is_complex(from);
    if (prelude_first(u, name)) {
        struct holes h;
        prelude_holes(o, &h, name, to, 1);
        h.elem = c_value_type(from);
        prelude_add(
            o, "static inline $T $N($E x) {\n    union { $E from; $T to; } u;\n    u.from = x;\n    return u.to;\n}\n",
            &h);
    }
    return name;
}
const char *c_open_choice(const struct emit_options *o, enum xop op, enum dtype t) {
    if (!o->target->branches) return NULL;
    const char *name = prelude_name(o, op == X_MIN ? "lesser" : "greater", t, 1);
    if (!prelude_first(o->uses, name)) return name;
    enum dtype bits = dtype_bytes(t) == 8 ? U64 : U32;
    const char *to = c_bitcast(o, bits, t, 1), *from = c_bitcast(o, t, bits, 1);
    struct holes h;
    prelude_holes(o, &h, name, t, 1);
    prelude_add(o,
                format(o->uses->c,
                       "/* without a branch, which would be unpredictable */\n"
                       "static inline $T $N($T a, $T b) {\n    const $U m = 0 - ($U)(a %s b);\n"
                       "    return %s((%s(a) & m) | (%s(b) & ~m));\n}\n",
                       op == X_MIN ? "<" : ">", from, to, to),
                &h);
    return name;
}

/* Halves to f32 and back. All cases are computed, and one is selected, so that compilers can vectorise loops of
 * them. */
static const char *const f16_decode =
    "static inline float $N(uint16_t h) {\n"
    "    const uint32_t u = (uint32_t)(h & 0x7fffu) << 13;\n"
    "    const float small = $S(u + 0x38800000u) - 6.103515625e-5f; /* subnormal, or 0 */\n"
    "    const uint32_t rest = u + (u > 0x0f7fffffu ? 0x70000000u : 0x38000000u);\n"
    "    return $S((u < 0x00800000u ? nn_bits_f32_to_u32(small) : rest) | (uint32_t)(h & 0x8000u) << 16);\n}\n";
static const char *const f16_encode =
    "static inline uint16_t $N(float x) {\n"
    "    const uint32_t bits = $S(x), u = bits & 0x7fffffffu;\n"
    "    /* subnormal: the sum rounds at the last bit of the result */\n"
    "    const uint32_t small = $S(nn_bits_u32_to_f32(u) + 0.5f) - 0x3f000000u;\n"
    "    const uint32_t rest = (u + 0xfffu + (u >> 13 & 1u) - 0x38000000u) >> 13;\n"
    "    const uint32_t most = u > 0x7f800000u ? 0x7e00u : 0x7c00u; /* from 65520 on, which rounds to 65536 */\n"
    "    return (uint16_t)((u < 0x38800000u ? small : u < 0x477ff000u ? rest : most) | (bits >> 16 & 0x8000u));\n}\n";
/* After adding a number that is larger by as many bits as f32 has more digits, a value is rounded at the half's last
 * bit. */
static const char *const f16_round =
    "static inline float $N(float x) {\n"
    "    const uint32_t bits = $S(x), u = bits & 0x7fffffffu, e = u & 0x7f800000u;\n"
    "    const float more = nn_bits_u32_to_f32((e > 0x38800000u ? e : 0x38800000u) + 0x06800000u);\n"
    "    const uint32_t r = $S(nn_bits_u32_to_f32(u) + more - more);\n"
    "    const uint32_t most = u > 0x7f800000u ? u : 0x7f800000u; /* from 65520 on */\n"
    "    return nn_bits_u32_to_f32((u < 0x477ff000u ? r : most) | (bits & 0x80000000u));\n}\n";
static const char *const bf16_decode = "static inline float $N(uint16_t h) {\n    return $S((uint32_t)h << 16);\n}\n";
static const char *const bf16_encode =
    "static inline uint16_t $N(float x) {\n"
    "    const uint32_t u = $S(x), nan = u >> 16 | 0x40u, rest = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;\n"
    "    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? nan : rest);\n}\n";
/* The same in vectors, with codes in 32-bit lanes. */
static const char *const f16_decode_lanes =
    "static inline $T $N($U h) {\n"
    "    const $M u = ($M)((h & 0x7fffu) << 13), small = ($M)(($T)(u + 0x38800000) - 6.103515625e-5f);\n"
    "    const $M rest = u + 0x38000000 + ((u > 0x0f7fffff) & 0x38000000), is_small = u < 0x00800000;\n"
    "    return ($T)((small & is_small) | (rest & ~is_small) | ($M)((h & 0x8000u) << 16));\n}\n";
static const char *const f16_encode_lanes =
    "static inline $U $N($T x) {\n"
    "    const $U u = ($U)x & 0x7fffffffu, small = ($U)(($T)u + 0.5f) - 0x3f000000u;\n"
    "    const $U rest = (u + 0xfffu + (u >> 13 & 1u) - 0x38000000u) >> 13;\n"
    "    const $U is_small = ($U)(($M)u < 0x38800000), is_most = ($U)(($M)u >= 0x477ff000);\n"
    "    const $U most = 0x7c00u | (($U)(($M)u > 0x7f800000) & 0x200u);\n"
    "    return (small & is_small) | (rest & ~is_small & ~is_most) | (most & is_most) | (($U)x >> 16 & 0x8000u);\n}\n";
static const char *const f16_round_lanes =
    "static inline $T $N($T x) {\n"
    "    const $U u = ($U)x & 0x7fffffffu, e = u & 0x7f800000u, is_small = ($U)(($M)e < 0x38800000);\n"
    "    const $T more = ($T)(((0x38800000u & is_small) | (e & ~is_small)) + 0x06800000u);\n"
    "    const $U r = ($U)(($T)u + more - more), is_most = ($U)(($M)u >= 0x477ff000);\n"
    "    const $U most = 0x7f800000u | (u & ($U)(($M)u > 0x7f800000));\n"
    "    return ($T)((r & ~is_most) | (most & is_most) | (($U)x & 0x80000000u));\n}\n";
static const char *const bf16_decode_lanes = "static inline $T $N($U h) {\n    return ($T)(h << 16);\n}\n";
static const char *const bf16_encode_lanes =
    "static inline $U $N($T x) {\n"
    "    const $U u = ($U)x, is_nan = ($U)(($M)(u & 0x7fffffffu) > 0x7f800000);\n"
    "    return ((u >> 16 | 0x40u) & is_nan) | ((u + 0x7fffu + (u >> 16 & 1u)) >> 16 & ~is_nan);\n}\n";
const char *prelude_half(const struct emit_options *o, enum dtype s, int lanes, bool encode) {
    const char *name = internf(o->uses->c->names, encode ? "nn_f32_to_%sx%d" : "nn_%s_to_f32x%d", dtype_name(s), lanes);
    if (prelude_first(o->uses, name)) {
        struct holes h;
        prelude_holes(o, &h, name, F32, lanes);
        prelude_add(o,
                    encode ? (s == F16 ? f16_encode_lanes : bf16_encode_lanes)
                           : (s == F16 ? f16_decode_lanes : bf16_decode_lanes),
                    &h);
    }
    return name;
}

/* There are few codes, so decoding uses a table. */
static const char *small_decode(const struct emit_options *o, enum dtype s, enum f8_kind k) {
    struct ctx *c = o->uses->c;
    struct text t = {0};
    int n = 1 << dtype_bits(s);
    text_add(&t, "static inline float $N(uint8_t code) {\n    static const float value[] = {");
    for (int i = 0; i < n; i++) {
        float v = f8_to_f32((uint8_t)i, k);
        text_add(&t, i % 8 ? " " : "\n        ");
        if (isnan(v) || isinf(v)) {
            o->uses->math = true;
            text_add(&t, isnan(v) ? "NAN," : v < 0 ? "-INFINITY," : "INFINITY,");
        } else {
            text_f32(&t, v);
            text_add(&t, "f,");
        }
    }
    text_printf(&t, "\n    };\n    return value[code%s];\n}\n", n < 256 ? " & 15" : "");
    return text_take(&t, &c->arena);
}
/* Rounds to nearest even; values that are too large become the greatest finite one. */
static const char *small_encode(const struct emit_options *o, enum dtype s, enum f8_kind kind) {
    struct ctx *c = o->uses->c;
    const struct float_format *k = f8_format(kind);
    if (s == F8E8M0)
        return "static inline uint8_t $N(float x) {\n"
               "    const uint32_t u = $S(x), e = u >> 23 & 255u;\n"
               "    /* powers of two, rounded up; 2^-127, the least, is no normal float */\n"
               "    return (uint8_t)(e < 254 && (u & 0x7fffffu) != 0 && u << 1 != 0x800000u ? e + 1 : e);\n}\n";
    const char *sign = format(c, "u >> %d & 0x%xu", 32 - dtype_bits(s), 1u << (dtype_bits(s) - 1));
    const char *nan =
        k->unsigned_zero || k->nan == k->max ? format(c, "0x%x", k->nan) : format(c, "(uint8_t)(sign | 0x%xu)", k->nan);
    int drop = 23 - k->mantissa_bits, magic = 127 + 24 - k->bias - k->mantissa_bits;
    return arena_printf(
        &c->arena,
        "static inline uint8_t $N(float x) {\n"
        "    uint32_t u = $S(x), code;\n"
        "    const uint32_t sign = %s;\n"
        "    u &= 0x7fffffffu;\n"
        "    if (u > 0x7f800000u)\n"
        "        return %s;\n"
        "%s"
        "    if (u < 0x%xu)                     /* subnormal: the sum rounds at the last bit of the result */\n"
        "        code = nn_bits_f32_to_u32(nn_bits_u32_to_f32(u) + nn_bits_u32_to_f32(0x%xu)) - 0x%xu;\n"
        "    else\n"
        "        code = ((u + 0x%xu + (u >> %d & 1u)) >> %d) - 0x%xu;\n"
        "    if (code > 0x%xu)\n"
        "        code = 0x%xu;\n"
        "    return %s;\n}\n",
        sign, nan, s == F8E5M2 ? "    if (u == 0x7f800000u)\n        return (uint8_t)(sign | 0x7cu);\n" : "",
        (unsigned)(128 - k->bias) << 23, (unsigned)magic << 23, (unsigned)magic << 23, (1u << (drop - 1)) - 1, drop,
        drop, (unsigned)(127 - k->bias) << k->mantissa_bits, k->max, k->max,
        k->unsigned_zero ? "code ? (uint8_t)(sign | code) : 0" : "(uint8_t)(sign | code)");
}
unsigned c_float_code(enum dtype s, double v) {
    enum f8_kind k;
    if (f8_kind_of(s, &k)) return f8_stored((float)v, k);
    return s == F16 ? f32_to_f16((float)v) : f32_to_bf16((float)v);
}
const char *c_decode(const struct emit_options *o, enum dtype s) {
    enum f8_kind k;
    bool small = f8_kind_of(s, &k);
    if (!small && !dtype_is_half(s)) return NULL;
    struct holes h = {.name = internf(o->uses->c->names, "nn_%s_to_f32", dtype_name(s))};
    if (!prelude_first(o->uses, h.name)) return h.name;
    const char *row = prelude_spelled(o, X_LOAD, s, 1), *text;
    if (row) {
        text = prelude_from_row(o, row, "static inline float $N(uint16_t a)");
    } else if (small) {
        text = small_decode(o, s, k);
    } else {
        h.scalar = c_bitcast(o, F32, U32, 1);
        if (s == F16) c_bitcast(o, U32, F32, 1);
        text = s == F16 ? f16_decode : bf16_decode;
    }
    prelude_add(o, text, &h);
    return h.name;
}
const char *c_encode(const struct emit_options *o, enum dtype s) {
    enum f8_kind k;
    bool small = f8_kind_of(s, &k);
    if (!small && !dtype_is_half(s)) return NULL;
    struct holes h = {.name = internf(o->uses->c->names, "nn_f32_to_%s", dtype_name(s))};
    if (!prelude_first(o->uses, h.name)) return h.name;
    const char *row = prelude_spelled(o, X_ROUND, s, 1), *text;
    if (row) {
        text = prelude_from_row(o, row, "static inline uint16_t $N(float a)");
    } else {
        h.scalar = c_bitcast(o, U32, F32, 1);
        if (s != BF16 && s != F8E8M0) c_bitcast(o, F32, U32, 1);
        text = small ? small_encode(o, s, k) : s == F16 ? f16_encode : bf16_encode;
    }
    prelude_add(o, text, &h);
    return h.name;
}
/* For two lanes, if there is a scalar instruction for the conversion but no vector one: fewer operations than
 * arithmetic in lanes. */
static bool one_by_one(const struct emit_options *o, enum dtype s, int lanes) {
    return lanes == 2 && dtype_is_half(s) && !prelude_spelled(o, X_LOAD, s, lanes) &&
           prelude_spelled(o, X_LOAD, s, 1) && prelude_spelled(o, X_ROUND, s, 1);
}
const char *c_round(const struct emit_options *o, enum dtype s, int lanes) {
    const char *name = prelude_name(o, "round", s, lanes);
    if (!prelude_first(o->uses, name)) return name;
    struct holes h;
    enum dtype v = dtype_value(s);
    prelude_holes(o, &h, name, v, lanes);
    struct ctx *c = o->uses->c;
    const char *row = prelude_spelled(o, X_CAST, s, lanes);
    if (row) {
        prelude_add(o, prelude_from_row(o, row, "static inline $T $N($T a)"), &h);
    } else if (lanes > 1 && dtype_is_half(s) && prelude_spelled(o, X_LOAD, s, lanes) &&
               prelude_spelled(o, X_ROUND, s, lanes)) {
        prelude_add(o,
                    format(c, "static inline $T $N($T x) {\n    uint16_t h[$L];\n    %s(h, x);\n    return %s(h);\n}\n",
                           c_vstore(o, s, lanes), c_vload(o, s, lanes, false)),
                    &h);
    } else if (s == F16 && !prelude_spelled(o, X_ROUND, s, lanes) && !one_by_one(o, s, lanes)) {
        if (lanes == 1) h.scalar = c_bitcast(o, U32, F32, 1), c_bitcast(o, F32, U32, 1);
        prelude_add(o, lanes > 1 ? f16_round_lanes : f16_round, &h);
    } else if (lanes > 1 && dtype_is_half(s) && !one_by_one(o, s, lanes)) {
        const char *enc = prelude_half(o, s, lanes, true), *dec = prelude_half(o, s, lanes, false);
        prelude_add(o, format(c, "static inline $T $N($T x) {\n    return %s(%s(x));\n}\n", dec, enc), &h);
    } else if (lanes > 1 && v == F32) {
        h.scalar = c_round(o, s, 1);
        prelude_add(
            o,
            "static inline $T $N($T x) {\n    for (int i = 0; i < $L; i++)\n        x[i] = $S(x[i]);\n    return "
            "x;\n}\n",
            &h);
    } else if (v == F32) {
        const char *enc = c_encode(o, s), *dec = c_decode(o, s);
        prelude_add(o, format(c, "static inline float $N(float x) {\n    return %s(%s(x));\n}\n", dec, enc), &h);
    } else if (lanes > 1 || dtype_bits(s) < 8) { /* no vector conversion is exact */
        int half = 1 << (dtype_bits(s) - 1);
        prelude_add(o,
                    dtype_is_signed(s)
                        ? format(c, "static inline $T $N($T x) {\n    return (x & %d) - (x & %d);\n}\n", half - 1, half)
                        : format(c, "static inline $T $N($T x) {\n    return x & %d;\n}\n", 2 * half - 1),
                    &h);
    } else {
        prelude_add(o, format(c, "static inline int32_t $N(int32_t x) {\n    return (%s)x;\n}\n", dtype_c(s)), &h);
    }
    return name;
}

/* ---- memory */
const char *c_vload(const struct emit_options *o, enum dtype s, int lanes, bool anew) {
    const char *row = prelude_spelled(o, X_LOAD, s, lanes);
    anew = anew && !row && !c_decode(o, s) && s == dtype_value(s) && s != BOOL;
    const char *name = prelude_name(o, anew ? "ld_anew" : "ld", s, lanes);
    if (!prelude_first(o->uses, name)) return name;
    struct holes h;
    struct ctx *c = o->uses->c;
    enum dtype v = dtype_value(s);
    prelude_holes(o, &h, name, v, lanes);
    h.elem = dtype_c(s);
    if (row) {
        prelude_add(o, prelude_from_row(o, row, "static inline $T $N(const $E *a)"), &h);
    } else if (dtype_is_half(s) && !one_by_one(o, s, lanes)) {
        prelude_add(o,
                    format(c,
                           "static inline $T $N(const $E *p) {\n    return %s(__builtin_convertvector(*(const %s *)p, "
                           "$U));\n}\n",
                           prelude_half(o, s, lanes, false), c_memory_type(o, s, lanes)),
                    &h);
    } else if (c_decode(o, s)) {
        h.scalar = c_decode(o, s);
        prelude_add(
            o,
            "static inline $T $N(const $E *p) {\n    $T r = {0};\n    for (int i = 0; i < $L; i++)\n        r[i] = "
            "$S(p[i]);\n    return r;\n}\n",
            &h);
    } else {
        const char *mem = c_memory_type(o, s, lanes);
        const char *why = anew ? "/* volatile: otherwise compilers keep this value in a register from tile to tile, "
                                 "which the sum needs */\n"
                               : "";
        const char *get = anew                  ? "*(const volatile %s *)p"
                          : v == s && s != BOOL ? "*(const %s *)p"
                          : s == BOOL           ? "__builtin_convertvector(*(const %s *)p != 0, $T)"
                                                : "__builtin_convertvector(*(const %s *)p, $T)";
        prelude_add(o, format(c, "%sstatic inline $T $N(const $E *p) {\n    return %s;\n}\n", why, format(c, get, mem)),
                    &h);
    }
    return name;
}
enum { SHUFFLED_MOST = 64 };
/* Statements that shuffle the cells at these places of the vectors a and then b, n each, into the value after
 * `head`. */
static const char *shuffled(struct ctx *c, const char *head, const char *a, const char *b, int n, const int *places,
                            int lanes) {
    struct text cells = {0}, list = {0};
    for (int k = 0; k < lanes; k++) {
        bool first = places[k] < n;
        text_printf(&cells, "%s%s[%d]", k ? ", " : "", first ? a : b, first ? places[k] : places[k] - n);
        text_printf(&list, ", %d", places[k]);
    }
    const char *s = format(c,
                           "#if defined __clang__ || __GNUC__ >= 12\n    %s__builtin_shufflevector(%s, %s%s);\n#else\n"
                           "    %s($T){%s};\n#endif\n",
                           head, a, b, list.s, head, cells.s);
    text_free(&cells), text_free(&list);
    return s;
}
/* From `apart` adjacent vectors v0, v1 .., of which the last begins early so that nothing after its last cell is read.
 * Each shuffle fills the lanes whose cells a vector has; the others are filled by later ones. */
const char *c_vload_apart(const struct emit_options *o, enum dtype s, int lanes, int apart) {
    struct ctx *c = o->uses->c;
    /* truth values become masks after the shuffles, for each lane once */
    const char *name = prelude_name(o, format(c, "ld%d", apart), s, lanes),
               *load = c_vload(o, s == BOOL ? U8 : s, lanes, false), *given = s == BOOL ? "const $T all = " : "return ";
    if (!prelude_first(o->uses, name)) return name;
    struct holes h;
    struct text t = {0};
    int places[SHUFFLED_MOST], last = (apart - 1) * (lanes - 1);
    ASSERT(lanes <= SHUFFLED_MOST);
    prelude_holes(o, &h, name, dtype_value(s), lanes);
    h.elem = dtype_c(s);
    text_printf(&t, "/* p[0], p[%d] ..; nothing after the last one is read */\n", apart);
    text_printf(&t, "static inline $T $N(const $E *p) {\n    const $T v0 = %s(p)", load);
    for (int v = 1; v < apart; v++) text_printf(&t, ", v%d = %s(p + %d)", v, load, v < apart - 1 ? v * lanes : last);
    text_add(&t, ";\n");
    for (int v = 1; v < apart; v++) {
        bool ends = v == apart - 1;
        for (int k = 0; k < lanes; k++) {
            int cell = apart * k, in = cell - (ends ? last : v * lanes);
            if (cell >= v * lanes) places[k] = lanes + (in < lanes ? in : 0);
            else places[k] = v == 1 ? cell : k;
        }
        text_add(&t, shuffled(c, ends ? given : format(c, "const $T of%d = ", v),
                              v == 1 ? "v0" : format(c, "of%d", v - 1), format(c, "v%d", v), lanes, places, lanes));
    }
    text_add(&t, s == BOOL ? "    return all != 0;\n}\n" : "}\n");
    prelude_add(o, text_take(&t, &c->arena), &h);
    return name;
}
const char *c_vload_turns(const struct emit_options *o, enum dtype s, int lanes) {
    enum { LEAST = 4 };
    int places[SHUFFLED_MOST];
    if (lanes < LEAST || lanes > SHUFFLED_MOST || lanes % 2 || dtype_bits(s) < 8 || s == STR || dtype_is_complex(s))
        return NULL;
    const char *name = prelude_name(o, "ld_turns", s, lanes), *load = c_vload(o, s, lanes / 2, false);
    if (!prelude_first(o->uses, name)) return name;
    struct holes h;
    prelude_holes(o, &h, name, dtype_value(s), lanes);
    h.elem = dtype_c(s);
    for (int k = 0; k < lanes; k++) places[k] = k / 2 + (k % 2 ? lanes / 2 : 0);
    prelude_add(
        o,
        format(o->uses->c,
               "/* p[0], p[apart], p[1], p[apart + 1] .. */\n"
               "static inline $T $N(const $E *p, ptrdiff_t apart) {\n    const %s a = %s(p), b = %s(p + apart);\n%s}\n",
               c_vector_type(o, dtype_value(s), lanes / 2), load, load,
               shuffled(o->uses->c, "return ", "a", "b", lanes / 2, places, lanes)),
        &h);
    return name;
}
const char *c_vload_over(const struct emit_options *o, enum dtype s, int lanes) {
    enum dtype v = dtype_value(s);
    if (dtype_bytes(v) != 4 || dtype_bits(s) < 8) return NULL;
    const char *name = prelude_name(o, "ld_over", s, lanes), *load = c_vload(o, s, lanes, false);
    const char *select = c_select(o, v, lanes), *ints = c_vector_type(o, I32, lanes);
    if (!prelude_first(o->uses, name)) return name;
    struct holes h;
    struct text lane = {0};
    prelude_holes(o, &h, name, v, lanes);
    h.elem = dtype_c(s);
    for (int k = 0; k < lanes; k++) text_printf(&lane, "%s%d", k ? ", " : "", k);
    prelude_add(
        o,
        format(
            o->uses->c,
            "/* a block of %d cells from its cell `at` on, which is *p, continued in the next block, which is `apart`\n"
            " * cells further on; if `at` is 0 it need not exist */\n"
            "static inline $T $N(const $E *p, ptrdiff_t at, ptrdiff_t apart) {\n"
            "    const %s lane = {%s};\n"
            "    return %s(lane < %d - (int32_t)at, %s(p), %s(p + (at ? apart : 0)));\n}\n",
            lanes, ints, lane.s, select, lanes, load, load),
        &h);
    text_free(&lane);
    return name;
}
const char *c_vload_runs(const struct emit_options *o, enum dtype s, int lanes, struct runs r) {
    enum { MOST = 16 };
    if (lanes > MOST || dtype_bits(s) < 8 || s == STR || s == BOOL || dtype_is_complex(s)) return NULL;
    struct ctx *c = o->uses->c;
    const char *what = format(c, r.step == r.run ? "ld_%lldof%lld" : "ld_%lldby%lld_x%lld", (long long)r.at,
                              (long long)r.step, (long long)r.run);
    if (r.cells < lanes) what = format(c, "%s_of%lld", what, (long long)r.cells);
    const char *name = prelude_name(o, what, s, lanes), *load = c_vload(o, s, (int)r.cells, false);
    if (!prelude_first(o->uses, name)) return name;
    struct holes h;
    int places[MOST];
    prelude_holes(o, &h, name, dtype_value(s), lanes);
    h.elem = dtype_c(s);
    for (int k = 0; k < lanes; k++) places[k] = (int)(k / r.run * r.step + r.at);
    prelude_add(o,
                format(c,
                       "/* p[%lld], p[%lld] .., each for %lld lanes */\n"
                       "static inline $T $N(const $E *p) {\n    const %s a = %s(p);\n%s}\n",
                       (long long)r.at, (long long)(r.at + r.step), (long long)r.run,
                       c_vector_type(o, dtype_value(s), (int)r.cells), load,
                       shuffled(c, "return ", "a", "a", (int)r.cells, places, lanes)),
                &h);
    return name;
}
const char *c_look_up(const struct emit_options *o, enum dtype s, int lanes, bool whole_bytes) {
    const char *row = !dtype_is_byte(s) || whole_bytes ? prelude_spelled(o, X_TOIDX, s, lanes) : NULL;
    const char *name = prelude_name(o, row && whole_bytes ? "look_up_byte" : "look_up", s, lanes);
    struct ctx *c = o->uses->c;
    struct holes h;
    struct text cells = {0};
    if (s == STR || s == BOOL || dtype_is_complex(s)) return NULL;
    if (!prelude_first(o->uses, name)) return name;
    prelude_holes(o, &h, name, dtype_value(s), lanes);
    h.elem = dtype_c(s), h.scalar = c_decode(o, s);
    const char *head = format(c, "static inline $T $N(const $E *a, %s b)", c_vector_type(o, I32, lanes));
    for (int k = 0; k < lanes; k++) text_printf(&cells, h.scalar ? "%s$S(a[b[%d]])" : "%sa[b[%d]]", k ? ", " : "", k);
    prelude_add(o, row ? prelude_from_row(o, row, head) : format(c, "%s {\n    return ($T){%s};\n}\n", head, cells.s),
                &h);
    text_free(&cells);
    return name;
}
const char *c_vstore(const struct emit_options *o, enum dtype s, int lanes) {
    const char *name = prelude_name(o, "st", s, lanes);
    if (!prelude_first(o->uses, name)) return name;
    struct holes h;
    struct ctx *c = o->uses->c;
    enum dtype v = dtype_value(s);
    prelude_holes(o, &h, name, v, lanes);
    h.elem = dtype_c(s);
    const char *row = prelude_spelled(o, X_ROUND, s, lanes);
    const char *mem = c_memory_type(o, s, lanes);
    if (row) {
        prelude_add(o, prelude_from_row(o, row, "static inline void $N($E *b, $T a)"), &h);
    } else if (dtype_is_half(s) && !one_by_one(o, s, lanes)) {
        prelude_add(o,
                    format(c,
                           "static inline void $N($E *p, $T v) {\n    *(%s *)p = __builtin_convertvector(%s(v), %s);\n"
                           "}\n",
                           mem, prelude_half(o, s, lanes, true), mem),
                    &h);
    } else if (c_encode(o, s)) {
        h.scalar = c_encode(o, s);
        prelude_add(
            o, "static inline void $N($E *p, $T v) {\n    for (int i = 0; i < $L; i++)\n        p[i] = $S(v[i]);\n}\n",
            &h);
    } else {
        const char *put = v == s && s != BOOL ? "v"
                          : s == BOOL         ? "__builtin_convertvector(-v, %s)"
                          : dtype_bits(s) < 8 ? "__builtin_convertvector(%s(v), %%s)"
                                              : "__builtin_convertvector(v, %s)";
        if (dtype_bits(s) < 8) put = format(c, put, c_round(o, s, lanes));
        prelude_add(
            o, format(c, "static inline void $N($E *p, $T v) {\n    *(%s *)p = %s;\n}\n", mem, format(c, put, mem)),
            &h);
    }
    return name;
}
/* "__builtin_shuffle(v, (nn_i32x4){1, 0, 3, 2})": exchanges lanes in pairs that are `step` apart. */
static void print_swap(const struct emit_options *o, struct text *t, enum dtype type, int lanes, int step, bool clang) {
    text_printf(t, clang ? "__builtin_shufflevector(v, v, " : "__builtin_shuffle(v, (%s){",
                c_vector_type(o, dtype_bytes(type) == 8 ? I64 : I32, lanes));
    for (int k = 0; k < lanes; k++) text_printf(t, k ? ", %d" : "%d", k ^ step);
    text_add(t, clang ? ")" : "})");
}
/* a op b */
static const char *applied(const struct emit_options *o, enum xop op, enum dtype t, int lanes, const char *a,
                           const char *b) {
    const char *sign = c_operator(op, t, lanes);
    return sign ? format(o->uses->c, "%s %s %s", a, sign, b)
                : format(o->uses->c, "%s(%s, %s)", c_op(o, op, t, lanes), a, b);
}
/* Neighbours first. NaN is ignored once acc comes in, and of equal values (two zeros) the first remains, as in a serial
 * loop. */
static const char *reduce_in_pairs(const struct emit_options *o, enum xop op, enum dtype t, int lanes) {
    struct ctx *c = o->uses->c;
    bool bound = op == X_MAX || op == X_MIN; /* acc may be combined at any step */
    struct text body = {0};
    text_add(&body, "/* each lane with its neighbour, then pairs, and so on */\nstatic inline $E $N($E acc, $T v) {\n");
    if (bound)
        text_printf(&body, "    v = %s;\n", applied(o, op, t, lanes, "v", format(c, "%s(acc)", c_splat(o, t, lanes))));
    for (int clang = 1; clang >= 0; clang--) {
        text_add(&body, clang ? "#if defined __clang__\n" : "#else\n");
        for (int step = 1; step < lanes; step *= 2) {
            struct text swap = {0};
            print_swap(o, &swap, t, lanes, step, clang);
            text_printf(&body, "    v = %s;\n", applied(o, op, t, lanes, text_take(&swap, &c->arena), "v"));
        }
    }
    text_printf(&body, "#endif\n    return %s;\n}\n", bound ? "v[0]" : applied(o, op, t, 1, "acc", "v[0]"));
    return text_take(&body, &c->arena);
}
/* Is the result the same in any order? */
static bool any_order(enum red_op op, enum dtype t) {
    bool exact = op == RED_SUM || op == RED_AND || op == RED_OR;
    return t != BOOL && (red_picks(op) || (exact && dtype_is_int(t)));
}
/* Whether there is a NaN is found out beside the rest, which would otherwise wait for it at each step. */
static const char *reduce_but_keep_nan(const struct emit_options *o, enum red_op op, enum dtype storage, int lanes) {
    enum dtype t = dtype_value(storage);
    const char *rest = c_reduce_lanes(o, op == RED_NMAX ? RED_MAX : RED_MIN, storage, lanes);
    return format(o->uses->c,
                  "static inline $E $N($E acc, $T v) {\n    return %s(acc != acc, %s(v, v)) ? NAN : %s(acc, v);\n}\n",
                  c_reduce_lanes(o, RED_OR, I32, lanes), c_op(o, X_NE, t, lanes), rest);
}
const char *c_reduce_lanes(const struct emit_options *o, enum red_op op, enum dtype storage, int lanes) {
    static const enum xop xops[RED_COUNT] = {X_POISON, X_ADD, X_MUL, X_MAX, X_MIN, X_POISON, X_POISON, X_AND, X_OR};
    static const char *const words[RED_COUNT] = {"", "sum", "prod", "max", "min", "nmax", "nmin", "and", "or"};
    enum dtype t = dtype_value(storage);
    const char *name = prelude_name(o, internf(o->uses->c->names, "lanes_%s", words[op]), storage, lanes);
    if (!prelude_first(o->uses, name)) return name;
    struct holes h;
    struct ctx *c = o->uses->c;
    prelude_holes(o, &h, name, t, lanes);
    if (red_keeps_nan(op)) {
        o->uses->math = true;
        prelude_add(o, reduce_but_keep_nan(o, op, storage, lanes), &h);
        return name;
    }
    if (any_order(op, t) && storage == t && lanes >= 4 && !(lanes & (lanes - 1))) {
        prelude_add(o, reduce_in_pairs(o, xops[op], t, lanes), &h);
        return name;
    }
    const char *sign = c_operator(xops[op], t, 1), *step;
    if (sign) step = format(c, "acc %s %s", sign, t == BOOL ? "(v[i] != 0)" : "v[i]");
    else step = format(c, "%s(%s, acc)", c_op(o, xops[op], t, 1), t == BOOL ? "-v[i]" : "v[i]");
    if (storage != t) step = format(c, "%s(%s)", c_round(o, storage, 1), step);
    prelude_add(o,
                format(c,
                       "/* lanes in order: the result does not depend on their number */\nstatic inline $E $N($E acc, "
                       "$T v) {\n    for (int i = 0; i < $L; i++)\n        acc = %s;\n    return acc;\n}\n",
                       step),
                &h);
    return name;
}
