/* Constant folding of value expressions; see fold.h. Stands below the constructors in value.c. */
#include "ir/expr/fold.h"
#include <math.h>
#include <string.h>

int64_t fold_wrap(enum dtype t, int64_t v) {
    switch (t) {
    case BOOL: return v != 0;
    case I8: return (int8_t)v;
    case U8: return (uint8_t)v;
    case I16: return (int16_t)v;
    case U16: return (uint16_t)v;
    case I32: return (int32_t)v;
    case U32: return (uint32_t)v;
    case I4: return (v & 7) - (v & 8);
    case U4: return v & 15;
    case I2: return (v & 1) - (v & 2);
    case U2: return v & 3;
    default: return v; /* I64, U64 (held in the same bits), IDX */
    }
}
int64_t fold_int_div(enum dtype t, int64_t a, int64_t b) {
    if (!b) return 0;
    if (t == U64) return (int64_t)((uint64_t)a / (uint64_t)b);
    if (b == -1) return fold_wrap(t, (int64_t)(0 - (uint64_t)a));
    return a / b;
}
int64_t fold_int_mod(enum dtype t, int64_t a, int64_t b) {
    if (!b) return 0;
    if (t == U64) return (int64_t)((uint64_t)a % (uint64_t)b);
    return b == -1 ? 0 : a % b;
}
static bool flt(enum dtype t) { return t == F32 || t == F64; }
static int width(enum dtype t) { return dtype_bytes(t) * 8; }
static float f32_op(enum xop op, float a, float b) {
    switch (op) {
    case X_ADD: return a + b;
    case X_SUB: return a - b;
    case X_MUL: return a * b;
    case X_DIV: return a / b;
    case X_MOD: return fmodf(a, b);
    case X_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
    }
}
static double f64_op(enum xop op, double a, double b) {
    switch (op) {
    case X_ADD: return a + b;
    case X_SUB: return a - b;
    case X_MUL: return a * b;
    case X_DIV: return a / b;
    case X_MOD: return fmod(a, b);
    case X_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
    }
}
static bool int_less(enum dtype t, int64_t a, int64_t b) { return t == U64 ? (uint64_t)a < (uint64_t)b : a < b; }
static int64_t int_op(enum dtype t, enum xop op, int64_t a, int64_t b) {
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    switch (op) {
    case X_ADD: return (int64_t)(ua + ub);
    case X_SUB: return (int64_t)(ua - ub);
    case X_MUL: return (int64_t)(ua * ub);
    case X_DIV: return fold_int_div(t, a, b);
    case X_MOD: return fold_int_mod(t, a, b);
    case X_MIN: return int_less(t, a, b) ? a : b;
    case X_MAX: return int_less(t, b, a) ? a : b;
    case X_AND: return (int64_t)(ua & ub);
    case X_OR: return (int64_t)(ua | ub);
    case X_XOR: return (int64_t)(ua ^ ub);
    case X_SHL: return ub >= (uint64_t)width(t) ? 0 : (int64_t)(ua << ub);
    default: /* X_SHR */
        if (ub >= (uint64_t)width(t)) return 0;
        return t == U64 || t == U32 || a >= 0 ? (int64_t)(ua >> ub) : ~(int64_t)((uint64_t)~a >> ub);
    }
}
expr fold_bin(struct ctx *c, enum xop op, expr a, expr b) {
    enum dtype t = (enum dtype)a->type;
    if (t == F32) return x_const_f(c, t, f32_op(op, (float)a->u.f, (float)b->u.f));
    if (t == F64) return x_const_f(c, t, f64_op(op, a->u.f, b->u.f));
    return x_const_i(c, t, int_op(t, op, a->u.i, b->u.i));
}
expr fold_un(struct ctx *c, enum xop op, expr a) {
    enum dtype t = (enum dtype)a->type;
    if (!flt(t)) {
        int64_t v = a->u.i;
        uint64_t neg = 0 - (uint64_t)v;
        if (op == X_NOT) return x_const_i(c, t, ~v);
        if (op == X_ABS && (t == U64 || t == U32 || v >= 0)) return a;
        return x_const_i(c, t, (int64_t)neg); /* NEG, ABS of a negative */
    }
    double v = a->u.f;
    switch (op) {
    case X_NEG: return x_const_f(c, t, -v);
    case X_ABS: return x_const_f(c, t, fabs(v));
    case X_SQRT: return x_const_f(c, t, t == F32 ? (double)sqrtf((float)v) : sqrt(v));
    case X_FLOOR: return x_const_f(c, t, floor(v));
    case X_CEIL: return x_const_f(c, t, ceil(v));
    case X_TRUNC: return x_const_f(c, t, trunc(v));
    default: return x_const_f(c, t, nearbyint(v)); /* RINT: the compiler never changes the rounding mode */
    }
}
expr fold_cmp(struct ctx *c, enum xop op, expr a, expr b) {
    enum dtype t = (enum dtype)a->type;
    bool less, equal;
    if (t == STR) less = false, equal = true; /* only empty strings are constants */
    else if (flt(t)) less = a->u.f < b->u.f, equal = a->u.f == b->u.f;
    else less = int_less(t, a->u.i, b->u.i), equal = a->u.i == b->u.i;
    return x_bool(c, op == X_LT ? less : op == X_LE ? less || equal : op == X_EQ ? equal : !equal);
}
expr fold_fma(struct ctx *c, expr a, expr b, expr d) {
    if (a->type == F32) return x_const_f(c, F32, fmaf((float)a->u.f, (float)b->u.f, (float)d->u.f));
    return x_const_f(c, F64, fma(a->u.f, b->u.f, d->u.f));
}
double fold_cast_f(enum dtype to, enum dtype from, int64_t i, double f) {
    if (flt(from)) return to == F32 ? (double)(float)f : f;
    if (to == F32) return from == U64 ? (double)(float)(uint64_t)i : (double)(float)i;
    return from == U64 ? (double)(uint64_t)i : (double)i;
}
int64_t fold_cast_i(enum dtype to, enum dtype from, int64_t i, double f) {
    if (!flt(from)) return fold_wrap(to, i);
    switch (to) {
    case BOOL: return f != 0; /* NaN is true */
    case I32: return f64_to_i32_sat(f);
    case U32: return f64_to_u32_sat(f);
    case U64: return (int64_t)f64_to_u64_sat(f);
    default: return f64_to_i64_sat(f);
    }
}
expr fold_cast(struct ctx *c, enum dtype t, expr a) {
    enum dtype from = (enum dtype)a->type;
    if (t == STR || from == STR) return x_poison(c);
    int64_t i = flt(from) ? 0 : a->u.i;
    double f = flt(from) ? a->u.f : 0;
    return flt(t) ? x_const_f(c, t, fold_cast_f(t, from, i, f)) : x_const_i(c, t, fold_cast_i(t, from, i, f));
}
expr fold_bitcast(struct ctx *c, enum dtype t, expr a) {
    enum dtype from = (enum dtype)a->type;
    uint64_t bits = 0;
    if (from == F32) {
        float f = (float)a->u.f;
        memcpy(&bits, &f, sizeof f);
    } else memcpy(&bits, &a->u, sizeof bits);
    if (t == F32) {
        uint32_t w = (uint32_t)bits;
        float f;
        memcpy(&f, &w, sizeof f);
        return x_const_f(c, F32, f);
    }
    if (t == F64) {
        double d;
        memcpy(&d, &bits, sizeof d);
        return x_const_f(c, F64, d);
    }
    return x_const_i(c, t, (int64_t)bits);
}
float fold_round_f32(enum dtype s, float f) {
    enum f8_kind k;
    if (s == F16) return f16_to_f32(f32_to_f16(f));
    if (s == BF16) return bf16_to_f32(f32_to_bf16(f));
    return f8_kind_of(s, &k) ? f8_to_f32(f8_stored(f, k), k) : f;
}
expr fold_round(struct ctx *c, enum dtype s, expr a) {
    if (a->type == F32) return x_const_f(c, F32, fold_round_f32(s, (float)a->u.f));
    return x_const_i(c, (enum dtype)a->type, fold_wrap(s, a->u.i));
}
