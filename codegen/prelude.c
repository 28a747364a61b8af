/* Types and small functions of the prelude: what operations of the loop IR are called in C. See prelude.h.
 *
 * Every operation has the one meaning of docs/numbers.md, the same that the interpreter gives it; a target's spelling
 * rows (ir/loop/target.h) replace a text here by an instruction, never its meaning. Vector operations without a better
 * text are loops over the lanes that call the scalar operation. */
#include "codegen/prelude.h"
#include "ir/base/convert.h"
#include "lower/passes/passes.h"
#include <math.h>
#include <string.h>

struct emit_uses *emit_uses_new(struct ctx *c) {
    struct emit_uses *u = NEW(&c->arena, struct emit_uses);
    u->c = c;
    u->seen.arena = u->procs.arena = u->fn_names.arena = &c->arena;
    names_init(&u->globals, c);
    return u;
}

int emit_lanes(const struct emit_options *o) {
    return printed_lanes(&(struct printing){.target = o->target, .c99_strict = o->c99_strict});
}
bool emit_scalar(const struct emit_options *o) { return emit_lanes(o) < 2; }
bool emit_gnu(const struct emit_options *o) { return !o->c99_strict && o->target->emit == EMIT_C_VECTOR; }

bool emit_cuda(const struct emit_options *o) { return o->target->emit == EMIT_CUDA; }
const struct emit_words *emit_words(const struct emit_options *o) {
    static const struct emit_words c = {"static inline", "static const", "restrict"},
                                   cuda = {"static __host__ __device__ inline", "static __device__ const",
                                           "__restrict__"};
    return emit_cuda(o) ? &cuda : &c;
}

const char *c_value_type(enum dtype t) { return t == BOOL ? "int" : dtype_c(t); }

/* ---- texts of helpers
 * A template's holes: $N name, $T C type or vector type of the value, $E element type, $U its unsigned twin,
 * $M integer vector of the same lane width, $L lanes, $B bits, $S name of the scalar function. */
struct holes {
    const char *name, *type, *elem, *uns, *mask, *scalar;
    int lanes, bits;
};

static const char *fill_in(struct ctx *c, const char *tmpl, const struct holes *h) {
    struct text t = {0};
    for (const char *s = tmpl; *s; s++) {
        if (*s != '$') {
            text_char(&t, *s);
            continue;
        }
        switch (*++s) {
        case 'N': text_add(&t, h->name); break;
        case 'T': text_add(&t, h->type); break;
        case 'E': text_add(&t, h->elem); break;
        case 'U': text_add(&t, h->uns); break;
        case 'M': text_add(&t, h->mask); break;
        case 'S': text_add(&t, h->scalar); break;
        case 'L': text_printf(&t, "%d", h->lanes); break;
        case 'B': text_printf(&t, "%d", h->bits); break;
        case 'A': /* the lanes of a splat */
            for (int i = 0; i < h->lanes; i++) text_add(&t, i ? ", x" : "x");
            break;
        default: BUG("template hole $%c", *s);
        }
    }
    return text_take(&t, &c->arena);
}

/* True the first time a name is asked for. */
static bool first(struct emit_uses *u, const char *name) {
    if (map_get(&u->seen, PKEY(name))) return false;
    map_put(&u->seen, PKEY(name), (void *)name);
    return true;
}

void emit_define_fn(struct emit_uses *u, const char *text) { PUSH(&u->c->arena, &u->fns, text); }

static enum dtype unsigned_of(enum dtype t) { return dtype_bytes(t) == 8 ? U64 : U32; }
static enum dtype signed_of(enum dtype t) { return dtype_bytes(t) == 8 ? I64 : I32; }
static enum dtype lane_type(enum dtype t) { /* masks are vectors of I32 */
    return t == BOOL ? I32 : t;
}

static const char *vector_of(const struct emit_options *o, const char *tag, const char *elem, int lanes, int bytes) {
    struct emit_uses *u = o->uses;
    const char *name = internf(u->c->names, "nn_%sx%d", tag, lanes);
    if (first(u, name))
        PUSH(
            &u->c->arena, &u->types,
            arena_printf(&u->c->arena, "typedef %s %s __attribute__((vector_size(%d)));\n", elem, name, lanes * bytes));
    return name;
}
const char *c_vector_type(const struct emit_options *o, enum dtype t, int lanes) {
    t = lane_type(t);
    return vector_of(o, dtype_name(t), dtype_c(t), lanes, dtype_bytes(t));
}
/* A vector in memory: elements of a storage type at their own alignment, aliasing like the element type's pointer. */
const char *c_memory_type(const struct emit_options *o, enum dtype s, int lanes) {
    struct emit_uses *u = o->uses;
    const char *name = internf(u->c->names, "nn_%sx%d_mem", dtype_name(s), lanes);
    if (first(u, name))
        PUSH(&u->c->arena, &u->types,
             arena_printf(&u->c->arena, "typedef %s %s __attribute__((vector_size(%d), aligned(%d), may_alias));\n",
                          dtype_c(s), name, lanes * dtype_bytes(s), dtype_bytes(s)));
    return name;
}

static void holes_for(const struct emit_options *o, struct holes *h, const char *name, enum dtype t, int lanes) {
    *h = (struct holes){.name = name, .elem = c_value_type(t), .lanes = lanes, .bits = 8 * dtype_bytes(lane_type(t))};
    enum dtype uns = unsigned_of(lane_type(t)), sig = signed_of(lane_type(t));
    h->type = lanes > 1 ? c_vector_type(o, t, lanes) : h->elem;
    h->uns = lanes > 1 ? c_vector_type(o, uns, lanes) : dtype_c(uns);
    h->mask = lanes > 1 ? c_vector_type(o, sig, lanes) : dtype_c(sig);
}
static void helper(const struct emit_options *o, const char *tmpl, const struct holes *h) {
    PUSH(&o->uses->c->arena, &o->uses->helpers, fill_in(o->uses->c, tmpl, h));
}
static const char *helper_name(const struct emit_options *o, const char *what, enum dtype t, int lanes) {
    struct interner *in = o->uses->c->names;
    return lanes > 1 ? internf(in, "nn_%s_%sx%d", what, dtype_name(t), lanes)
                     : internf(in, "nn_%s_%s", what, dtype_name(t));
}

void c_use_instr(const struct emit_options *o, const struct instr_row *row) {
    o->uses->intrinsics = true;
    if (row->helper && first(o->uses, row->name)) PUSH(&o->uses->c->arena, &o->uses->helpers, row->helper);
}

/* ---- operations */
const char *c_operator(enum xop op, enum dtype t, int lanes) {
    bool flt = t == F32 || t == F64, uns = t == U32 || t == U64;
    switch (op) {
    case X_ADD: return flt || uns ? "+" : NULL;
    case X_SUB: return flt || uns ? "-" : NULL;
    case X_MUL: return flt || uns ? "*" : NULL;
    case X_DIV: return flt ? "/" : NULL;
    case X_LT: return lanes > 1 ? NULL : "<";
    case X_LE: return lanes > 1 ? NULL : "<=";
    case X_EQ: return lanes > 1 ? NULL : "==";
    case X_NE: return lanes > 1 ? NULL : "!=";
    case X_AND: return t == BOOL && lanes == 1 ? "&&" : "&";
    case X_OR: return t == BOOL && lanes == 1 ? "||" : "|";
    case X_XOR: return t == BOOL && lanes == 1 ? "!=" : "^";
    default: return NULL;
    }
}
/* Operations that libm offers under one name: with an `f` for float. */
static const char *libm_name(struct ctx *c, enum xop op, enum dtype t) {
    const char *n = op == X_SQRT    ? "sqrt"
                    : op == X_FLOOR ? "floor"
                    : op == X_CEIL  ? "ceil"
                    : op == X_TRUNC ? "trunc"
                    : op == X_RINT  ? "rint"
                    : op == X_ABS   ? "fabs"
                    : op == X_FMA   ? "fma"
                    : op == X_MOD   ? "fmod"
                                    : NULL;
    return n && (t == F32 || t == F64) ? internf(c->names, "%s%s", n, t == F32 ? "f" : "") : NULL;
}
static const char *op_word(enum xop op) {
    switch (op) {
    case X_ADD: return "add";
    case X_SUB: return "sub";
    case X_MUL: return "mul";
    case X_DIV: return "div";
    case X_MOD: return "mod";
    case X_FMA: return "fma";
    case X_LT: return "lt";
    case X_LE: return "le";
    case X_EQ: return "eq";
    case X_NE: return "ne";
    default: return xop_name(op);
    }
}
/* Scalar operations that need a function of ours. How negative numbers are shifted right C leaves open; compilers say
 * it. */
static const char *scalar_text(enum xop op, enum dtype t) {
    bool uns = t == U32 || t == U64;
    switch (op) {
    case X_ADD: return "static inline $T $N($T a, $T b) {\n    return ($T)(($U)a + ($U)b);\n}\n";
    case X_SUB: return "static inline $T $N($T a, $T b) {\n    return ($T)(($U)a - ($U)b);\n}\n";
    case X_MUL: return "static inline $T $N($T a, $T b) {\n    return ($T)(($U)a * ($U)b);\n}\n";
    case X_DIV:
        return uns ? "static inline $T $N($T a, $T b) {\n    return b ? a / b : 0;\n}\n"
                   : "static inline $T $N($T a, $T b) {\n    return b == 0 ? 0 : b == -1 ? ($T)(0 - ($U)a) : a / "
                     "b;\n}\n";
    case X_MOD:
        return uns ? "static inline $T $N($T a, $T b) {\n    return b ? a % b : 0;\n}\n"
                   : "static inline $T $N($T a, $T b) {\n    return b == 0 || b == -1 ? 0 : a % b;\n}\n";
    case X_MIN: return "static inline $T $N($T a, $T b) {\n    return a < b ? a : b;\n}\n";
    case X_MAX: return "static inline $T $N($T a, $T b) {\n    return a > b ? a : b;\n}\n";
    case X_NEG: return "static inline $T $N($T a) {\n    return ($T)(0 - ($U)a);\n}\n";
    case X_ABS:
        return uns ? "static inline $T $N($T a) {\n    return a;\n}\n"
                   : "static inline $T $N($T a) {\n    return a < 0 ? ($T)(0 - ($U)a) : a;\n}\n";
    case X_SHL: return "static inline $T $N($T a, $T b) {\n    return ($U)b < $B ? ($T)(($U)a << b) : 0;\n}\n";
    case X_SHR:
        return uns ? "static inline $T $N($T a, $T b) {\n    return b < $B ? a >> b : 0;\n}\n"
                   : "static inline $T $N($T a, $T b) {\n    return ($U)b >= $B ? 0 : a >= 0 || -1 >> 1 == -1 ? a "
                     ">> b : ~(~a >> b);\n}\n";
    default: return NULL;
    }
}
/* Vector operations that GCC's vector extension says at once. */
static const char *vector_text(enum xop op, enum dtype t) {
    bool flt = t == F32 || t == F64, uns = t == U32 || t == U64;
    switch (op) {
    case X_ADD: return "static inline $T $N($T a, $T b) {\n    return ($T)(($U)a + ($U)b);\n}\n";
    case X_SUB: return "static inline $T $N($T a, $T b) {\n    return ($T)(($U)a - ($U)b);\n}\n";
    case X_MUL: return "static inline $T $N($T a, $T b) {\n    return ($T)(($U)a * ($U)b);\n}\n";
    case X_MIN:
        return "static inline $T $N($T a, $T b) {\n    const $M m = ($M)(a < b);\n    return ($T)((($M)a & m) | (($M)b "
               "& ~m));\n}\n";
    case X_MAX:
        return "static inline $T $N($T a, $T b) {\n    const $M m = ($M)(a > b);\n    return ($T)((($M)a & m) | (($M)b "
               "& ~m));\n}\n";
    case X_NEG:
        return flt ? "static inline $T $N($T a) {\n    return -a;\n}\n"
                   : "static inline $T $N($T a) {\n    return ($T)(0 - ($U)a);\n}\n";
    case X_ABS:
        if (uns) return "static inline $T $N($T a) {\n    return a;\n}\n";
        return flt ? "static inline $T $N($T a) {\n    return ($T)(($U)a << 1 >> 1);\n}\n" : NULL;
    case X_NOT: return "static inline $T $N($T a) {\n    return ~a;\n}\n";
    default: return NULL;
    }
}
static const char *spelled(const struct emit_options *o, enum xop op, enum dtype t, int lanes) {
    if (o->c99_strict || !o->target->spell) return NULL;
    for (const struct spell_row *r = o->target->spell; r->op != X_POISON; r++)
        if (r->op == op && r->type == t && r->lanes == lanes) return r->c;
    return NULL;
}
/* "return _mm256_fmadd_ps(a, b, c);" from "_mm256_fmadd_ps(%a, %b, %c)". */
static const char *from_row(const struct emit_options *o, const char *row, const char *head) {
    struct text t = {0};
    text_printf(&t, "%s {\n    %s", head, strncmp(head, "static inline void", 18) ? "return " : "");
    for (const char *s = row; *s; s++)
        if (*s == '%') text_char(&t, *++s);
        else text_char(&t, *s);
    text_add(&t, ";\n}\n");
    o->uses->intrinsics = true;
    return text_take(&t, &o->uses->c->arena);
}

const char *c_op(const struct emit_options *o, enum xop op, enum dtype t, int lanes) {
    struct emit_uses *u = o->uses;
    struct ctx *c = u->c;
    const char *libm = libm_name(c, op, t);
    if (lanes == 1 && libm) {
        u->math = true;
        return libm;
    }
    const char *name = helper_name(o, op_word(op), t, lanes);
    if (!first(u, name)) return name;
    struct holes h;
    holes_for(o, &h, name, t, lanes);
    static const char *const args[] = {"", "$T a", "$T a, $T b", "$T a, $T b, $T c"};
    int n = xop_operands(op);
    const char *row = spelled(o, op, t, lanes);
    if (row) {
        helper(o, from_row(o, row, arena_printf(&c->arena, "static inline $T $N(%s)", args[n])), &h);
        return name;
    }
    if (lanes == 1) {
        const char *text = scalar_text(op, t);
        ASSERT(text);
        helper(o, text, &h);
        return name;
    }
    if (op == X_LT || op == X_LE || op == X_EQ || op == X_NE) { /* masks of 32-bit lanes, whatever was compared */
        const char *m = c_vector_type(o, BOOL, lanes);
        helper(o,
               arena_printf(&c->arena, "static inline %s $N($T a, $T b) {\n    return %s(a %s b)%s;\n}\n", m,
                            h.bits == 64 ? "__builtin_convertvector(" : arena_printf(&c->arena, "(%s)", m),
                            c_operator(op, t, 1), h.bits == 64 ? arena_printf(&c->arena, ", %s)", m) : ""),
               &h);
        return name;
    }
    const char *text = vector_text(op, t);
    if (!text) {
        h.scalar = c_op(o, op, t, 1);
        static const char *const loops[] = {"", "a[i]", "a[i], b[i]", "a[i], b[i], c[i]"};
        text = arena_printf(
            &c->arena,
            "static inline $T $N(%s) {\n    for (int i = 0; i < $L; i++)\n        a[i] = $S(%s);\n    return a;\n}\n",
            args[n], loops[n]);
    }
    helper(o, text, &h);
    return name;
}

const char *c_splat(const struct emit_options *o, enum dtype t, int lanes) {
    const char *name = helper_name(o, "splat", t, lanes);
    if (first(o->uses, name)) {
        struct holes h;
        holes_for(o, &h, name, t, lanes);
        helper(o,
               t == BOOL ? "static inline $T $N(int b) {\n    const int x = b ? -1 : 0;\n    return ($T){$A};\n}\n"
                         : "static inline $T $N($E x) {\n    return ($T){$A};\n}\n",
               &h);
    }
    return name;
}
const char *c_select(const struct emit_options *o, enum dtype t, int lanes) {
    const char *name = helper_name(o, "select", t, lanes);
    if (!first(o->uses, name)) return name;
    struct holes h;
    holes_for(o, &h, name, t, lanes);
    const char *m = c_vector_type(o, BOOL, lanes), *row = spelled(o, X_SELECT, t, lanes);
    if (row) {
        helper(o, from_row(o, row, arena_printf(&o->uses->c->arena, "static inline $T $N(%s a, $T b, $T c)", m)), &h);
        return name;
    }
    const char *wide = h.bits == 64 ? "__builtin_convertvector(cond, $M)" : "cond";
    helper(o,
           arena_printf(&o->uses->c->arena,
                        "static inline $T $N(%s cond, $T a, $T b) {\n    const $M m = %s;\n    return ($T)((($M)a & m) "
                        "| (($M)b & ~m));\n}\n",
                        m, wide),
           &h);
    return name;
}

/* ---- conversions */
static const char *const sat_signed =
    "static inline $T $N($E x) {\n    return x >= %s ? INT$B_MAX : x <= -%s ? INT$B_MIN : x == x ? ($T)x : 0;\n}\n";
static const char *const sat_unsigned =
    "static inline $T $N($E x) {\n    return x >= %s ? UINT$B_MAX : x > 0 ? ($T)x : 0;\n}\n";

/* Saturating float to integer, one element. */
static const char *cast_sat(const struct emit_options *o, enum dtype to, enum dtype from) {
    struct emit_uses *u = o->uses;
    const char *name = internf(u->c->names, "nn_%s_to_%s", dtype_name(from), dtype_name(to));
    if (!first(u, name)) return name;
    struct holes h;
    holes_for(o, &h, name, to, 1);
    h.elem = c_value_type(from);
    const char *limit = to == I32   ? "2147483648.0"
                        : to == U32 ? "4294967296.0"
                        : to == I64 ? "9223372036854775808.0"
                                    : "18446744073709551616.0";
    const char *lim = internf(u->c->names, "%s%s", limit, from == F32 ? "f" : "");
    bool uns = to == U32 || to == U64;
    helper(o, uns ? arena_printf(&u->c->arena, sat_unsigned, lim) : arena_printf(&u->c->arena, sat_signed, lim, lim),
           &h);
    return name;
}
const char *c_cast(const struct emit_options *o, enum dtype to, enum dtype from, int lanes) {
    struct emit_uses *u = o->uses;
    struct ctx *c = u->c;
    bool from_flt = from == F32 || from == F64, to_flt = to == F32 || to == F64;
    if (lanes == 1) return from_flt && !to_flt && to != BOOL ? cast_sat(o, to, from) : NULL;
    const char *name = internf(c->names, "nn_%s_to_%sx%d", dtype_name(from), dtype_name(to), lanes);
    if (!first(u, name)) return name;
    struct holes h;
    holes_for(o, &h, name, to, lanes);
    const char *ft = c_vector_type(o, from, lanes);
    if (from_flt && !to_flt && to != BOOL) {
        if (from == F32 && to == I32) { /* the lanes that fit are converted, the others filled in */
            helper(o,
                   arena_printf(&c->arena,
                                "static inline $T $N(%s x) {\n"
                                "    const $M low = x >= -2147483648.0f, high = x >= 2147483648.0f, ok = low & ~high;\n"
                                "    const $T r = __builtin_convertvector((%s)(($M)x & ok), $T);\n"
                                "    return r | (high & INT32_MAX) | ((x < -2147483648.0f) & INT32_MIN);\n}\n",
                                ft, ft),
                   &h);
            return name;
        }
        h.scalar = cast_sat(o, to, from);
        helper(o,
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
    helper(o,
           arena_printf(&c->arena, "static inline $T $N(%s x) {\n    return __builtin_convertvector(%s, $T);\n}\n", ft,
                        arg),
           &h);
    return name;
}
/* Beside 1.5 * 2^23 neighbours are 1 apart, and sums are rounded to one of them: the even one of two. */
const char *c_nearest(const struct emit_options *o, int lanes, bool small) {
    struct emit_uses *u = o->uses;
    const char *row = spelled(o, X_RINT, I32, lanes), *name = helper_name(o, "nearest", I32, lanes);
    if (!row && (lanes > 1 || !small)) return NULL;
    if (!first(u, name)) return name;
    struct holes h;
    holes_for(o, &h, name, I32, lanes);
    h.scalar = row ? NULL : c_bitcast(o, I32, F32, 1);
    const char *from = lanes > 1 ? c_vector_type(o, F32, lanes) : c_value_type(F32),
               *head = arena_printf(&u->c->arena, "static inline $T $N(%s a)", from);
    helper(o,
           row ? from_row(o, row, head)
               : arena_printf(&u->c->arena, "%s {\n    return $S(a + 12582912.0f) - 1262485504;\n}\n", head),
           &h);
    return name;
}
const char *c_bitcast(const struct emit_options *o, enum dtype to, enum dtype from, int lanes) {
    struct emit_uses *u = o->uses;
    if (lanes > 1) return internf(u->c->names, "(%s)", c_vector_type(o, to, lanes));
    const char *name = internf(u->c->names, "nn_bits_%s_to_%s", dtype_name(from), dtype_name(to));
    u->complex |= dtype_is_complex(to) || dtype_is_complex(from);
    if (first(u, name)) {
        struct holes h;
        holes_for(o, &h, name, to, 1);
        h.elem = c_value_type(from);
        helper(o,
               "static inline $T $N($E x) {\n    union { $E from; $T to; } u;\n    u.from = x;\n    return u.to;\n}\n",
               &h);
    }
    return name;
}

/* Halves to f32 and back. All cases are computed, and one is selected: so compilers take loops over them as vectors. */
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
/* A value that has as many more bits before the point as a half has fewer behind it rounds at the half's last bit. */
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
/* The same in vectors, where the codes lie in lanes of 32 bits. */
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
static const char *half_code(const struct emit_options *o, enum dtype s, int lanes, bool encode) {
    const char *name = internf(o->uses->c->names, encode ? "nn_f32_to_%sx%d" : "nn_%s_to_f32x%d", dtype_name(s), lanes);
    if (first(o->uses, name)) {
        struct holes h;
        holes_for(o, &h, name, F32, lanes);
        helper(o,
               encode ? (s == F16 ? f16_encode_lanes : bf16_encode_lanes)
                      : (s == F16 ? f16_decode_lanes : bf16_decode_lanes),
               &h);
    }
    return name;
}

/* The kinds of float8 and float4, as rounding needs them: mantissa bits, bias, greatest finite code, NaN; fnuz: no -0.
 */
static const struct small {
    enum dtype type;
    enum f8_kind kind;
    int bits, mantissa, bias, max, nan;
    bool fnuz;
} smalls[] = {
    {F8E4M3FN, F8_E4M3FN, 8, 3, 7, 0x7e, 0x7f, false}, {F8E4M3FNUZ, F8_E4M3FNUZ, 8, 3, 8, 0x7f, 0x80, true},
    {F8E5M2, F8_E5M2, 8, 2, 15, 0x7b, 0x7f, false},    {F8E5M2FNUZ, F8_E5M2FNUZ, 8, 2, 16, 0x7f, 0x80, true},
    {F8E8M0, F8_E8M0, 8, 0, 127, 0xfe, 0xff, false},   {F4E2M1, F4_E2M1, 4, 1, 1, 0x7, 0x7, false},
};
static const struct small *small_float(enum dtype t) {
    for (size_t i = 0; i < sizeof smalls / sizeof *smalls; i++)
        if (smalls[i].type == t) return &smalls[i];
    return NULL;
}
/* Codes are few: decoding is a table. */
static const char *small_decode(const struct emit_options *o, const struct small *k) {
    struct ctx *c = o->uses->c;
    struct text t = {0};
    int n = 1 << k->bits;
    text_add(&t, "static inline float $N(uint8_t code) {\n    static const float value[] = {");
    for (int i = 0; i < n; i++) {
        float v = f8_to_f32((uint8_t)i, k->kind);
        text_add(&t, i % 8 ? " " : "\n        ");
        if (isnan(v) || isinf(v)) {
            o->uses->math = true;
            text_add(&t, isnan(v) ? "NAN," : v < 0 ? "-INFINITY," : "INFINITY,");
        } else {
            text_f32(&t, v);
            text_add(&t, "f,");
        }
    }
    text_printf(&t, "\n    };\n    return value[code%s];\n}\n", k->bits < 8 ? " & 15" : "");
    return text_take(&t, &c->arena);
}
/* Rounds to nearest even; what is too large becomes the greatest finite value. */
static const char *small_encode(const struct emit_options *o, const struct small *k) {
    struct ctx *c = o->uses->c;
    if (k->type == F8E8M0)
        return "static inline uint8_t $N(float x) {\n"
               "    const uint32_t u = $S(x), e = u >> 23 & 255u;\n"
               "    /* powers of two, rounded up; 2^-127, the least, is no normal float */\n"
               "    return (uint8_t)(e < 254 && (u & 0x7fffffu) != 0 && u << 1 != 0x800000u ? e + 1 : e);\n}\n";
    const char *sign = arena_printf(&c->arena, "u >> %d & 0x%xu", 32 - k->bits, 1u << (k->bits - 1));
    const char *nan = k->fnuz || k->nan == k->max ? arena_printf(&c->arena, "0x%x", k->nan)
                                                  : arena_printf(&c->arena, "(uint8_t)(sign | 0x%xu)", k->nan);
    int drop = 23 - k->mantissa, magic = 127 + 24 - k->bias - k->mantissa;
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
        sign, nan, k->type == F8E5M2 ? "    if (u == 0x7f800000u)\n        return (uint8_t)(sign | 0x7cu);\n" : "",
        (unsigned)(128 - k->bias) << 23, (unsigned)magic << 23, (unsigned)magic << 23, (1u << (drop - 1)) - 1, drop,
        drop, (unsigned)(127 - k->bias) << k->mantissa, k->max, k->max,
        k->fnuz ? "code ? (uint8_t)(sign | code) : 0" : "(uint8_t)(sign | code)");
}
unsigned c_float_code(enum dtype s, double v) {
    const struct small *k = small_float(s);
    return k ? f8_stored((float)v, k->kind) : s == F16 ? f32_to_f16((float)v) : f32_to_bf16((float)v);
}
const char *c_decode(const struct emit_options *o, enum dtype s) {
    const struct small *k = small_float(s);
    if (s != F16 && s != BF16 && !k) return NULL;
    const char *name = internf(o->uses->c->names, "nn_%s_to_f32", dtype_name(s));
    if (first(o->uses, name)) {
        const char *row = spelled(o, X_LOAD, s, 1);
        struct holes h = {.name = name, .scalar = k || row ? NULL : c_bitcast(o, F32, U32, 1)};
        if (s == F16 && !row) c_bitcast(o, U32, F32, 1);
        helper(o,
               row        ? from_row(o, row, "static inline float $N(uint16_t a)")
               : k        ? small_decode(o, k)
               : s == F16 ? f16_decode
                          : bf16_decode,
               &h);
    }
    return name;
}
const char *c_encode(const struct emit_options *o, enum dtype s) {
    const struct small *k = small_float(s);
    if (s != F16 && s != BF16 && !k) return NULL;
    const char *name = internf(o->uses->c->names, "nn_f32_to_%s", dtype_name(s));
    if (first(o->uses, name)) {
        const char *row = spelled(o, X_ROUND, s, 1);
        struct holes h = {.name = name, .scalar = row ? NULL : c_bitcast(o, U32, F32, 1)};
        if ((s == F16 && !row) || (k && s != F8E8M0)) c_bitcast(o, F32, U32, 1);
        helper(o,
               row        ? from_row(o, row, "static inline uint16_t $N(float a)")
               : k        ? small_encode(o, k)
               : s == F16 ? f16_encode
                          : bf16_encode,
               &h);
    }
    return name;
}
const char *c_round(const struct emit_options *o, enum dtype s, int lanes) {
    const char *name = lanes > 1 ? internf(o->uses->c->names, "nn_round_%sx%d", dtype_name(s), lanes)
                                 : internf(o->uses->c->names, "nn_round_%s", dtype_name(s));
    if (!first(o->uses, name)) return name;
    struct holes h;
    enum dtype v = dtype_value(s);
    holes_for(o, &h, name, v, lanes);
    struct ctx *c = o->uses->c;
    const char *row = spelled(o, X_CAST, s, lanes);
    if (row) {
        helper(o, from_row(o, row, "static inline $T $N($T a)"), &h);
    } else if (lanes > 1 && dtype_is_half(s) && spelled(o, X_LOAD, s, lanes) && spelled(o, X_ROUND, s, lanes)) {
        helper(o,
               arena_printf(&c->arena,
                            "static inline $T $N($T x) {\n    uint16_t h[$L];\n    %s(h, x);\n    return %s(h);\n}\n",
                            c_vstore(o, s, lanes), c_vload(o, s, lanes, false)),
               &h);
    } else if (s == F16 && !spelled(o, X_ROUND, s, lanes)) {
        if (lanes == 1) h.scalar = c_bitcast(o, U32, F32, 1), c_bitcast(o, F32, U32, 1);
        helper(o, lanes > 1 ? f16_round_lanes : f16_round, &h);
    } else if (lanes > 1 && dtype_is_half(s)) {
        const char *enc = half_code(o, s, lanes, true), *dec = half_code(o, s, lanes, false);
        helper(o, arena_printf(&c->arena, "static inline $T $N($T x) {\n    return %s(%s(x));\n}\n", dec, enc), &h);
    } else if (lanes > 1) {
        h.scalar = c_round(o, s, 1);
        helper(o,
               "static inline $T $N($T x) {\n    for (int i = 0; i < $L; i++)\n        x[i] = $S(x[i]);\n    return "
               "x;\n}\n",
               &h);
    } else if (v == F32) {
        const char *enc = c_encode(o, s), *dec = c_decode(o, s);
        helper(o, arena_printf(&c->arena, "static inline float $N(float x) {\n    return %s(%s(x));\n}\n", dec, enc),
               &h);
    } else if (dtype_bits(s) < 8) {
        int bits = dtype_bits(s), half = 1 << (bits - 1);
        helper(o,
               dtype_is_signed(s)
                   ? arena_printf(&c->arena,
                                  "static inline int32_t $N(int32_t x) {\n    return (x & %d) - (x & %d);\n}\n",
                                  half - 1, half)
                   : arena_printf(&c->arena, "static inline int32_t $N(int32_t x) {\n    return x & %d;\n}\n",
                                  2 * half - 1),
               &h);
    } else {
        helper(o, arena_printf(&c->arena, "static inline int32_t $N(int32_t x) {\n    return (%s)x;\n}\n", dtype_c(s)),
               &h);
    }
    return name;
}

/* ---- memory */
const char *c_vload(const struct emit_options *o, enum dtype s, int lanes, bool anew) {
    const char *row = spelled(o, X_LOAD, s, lanes);
    anew = anew && !row && !c_decode(o, s) && s == dtype_value(s) && s != BOOL;
    const char *name = helper_name(o, anew ? "ld_anew" : "ld", s, lanes);
    if (!first(o->uses, name)) return name;
    struct holes h;
    struct ctx *c = o->uses->c;
    enum dtype v = dtype_value(s);
    holes_for(o, &h, name, v, lanes);
    h.elem = dtype_c(s);
    if (row) {
        helper(o, from_row(o, row, "static inline $T $N(const $E *a)"), &h);
    } else if (dtype_is_half(s)) {
        helper(o,
               arena_printf(&c->arena,
                            "static inline $T $N(const $E *p) {\n    return %s(__builtin_convertvector(*(const %s *)p, "
                            "$U));\n}\n",
                            half_code(o, s, lanes, false), c_memory_type(o, s, lanes)),
               &h);
    } else if (c_decode(o, s)) {
        h.scalar = c_decode(o, s);
        helper(o,
               "static inline $T $N(const $E *p) {\n    $T r = {0};\n    for (int i = 0; i < $L; i++)\n        r[i] = "
               "$S(p[i]);\n    return r;\n}\n",
               &h);
    } else {
        const char *mem = c_memory_type(o, s, lanes);
        const char *why = anew ? "/* volatile: kept in a register from tile to tile, this value would cost the sum one "
                                 "of its own */\n"
                               : "";
        const char *get = anew                  ? "*(const volatile %s *)p"
                          : v == s && s != BOOL ? "*(const %s *)p"
                          : s == BOOL           ? "__builtin_convertvector(*(const %s *)p != 0, $T)"
                                                : "__builtin_convertvector(*(const %s *)p, $T)";
        helper(o,
               arena_printf(&c->arena, "%sstatic inline $T $N(const $E *p) {\n    return %s;\n}\n", why,
                            arena_printf(&c->arena, get, mem)),
               &h);
    }
    return name;
}
const char *c_vstore(const struct emit_options *o, enum dtype s, int lanes) {
    const char *name = helper_name(o, "st", s, lanes);
    if (!first(o->uses, name)) return name;
    struct holes h;
    struct ctx *c = o->uses->c;
    enum dtype v = dtype_value(s);
    holes_for(o, &h, name, v, lanes);
    h.elem = dtype_c(s);
    const char *row = spelled(o, X_ROUND, s, lanes);
    const char *mem = c_memory_type(o, s, lanes);
    if (row) {
        helper(o, from_row(o, row, "static inline void $N($E *b, $T a)"), &h);
    } else if (dtype_is_half(s)) {
        helper(o,
               arena_printf(&c->arena,
                            "static inline void $N($E *p, $T v) {\n    *(%s *)p = __builtin_convertvector(%s(v), %s);\n"
                            "}\n",
                            mem, half_code(o, s, lanes, true), mem),
               &h);
    } else if (c_encode(o, s)) {
        h.scalar = c_encode(o, s);
        helper(o,
               "static inline void $N($E *p, $T v) {\n    for (int i = 0; i < $L; i++)\n        p[i] = $S(v[i]);\n}\n",
               &h);
    } else {
        const char *put = v == s && s != BOOL ? "v"
                          : s == BOOL         ? "__builtin_convertvector(-v, %s)"
                          : dtype_bits(s) < 8 ? "__builtin_convertvector(%s(v), %%s)"
                                              : "__builtin_convertvector(v, %s)";
        if (dtype_bits(s) < 8) put = arena_printf(&c->arena, put, c_round(o, s, lanes));
        helper(o,
               arena_printf(&c->arena, "static inline void $N($E *p, $T v) {\n    *(%s *)p = %s;\n}\n", mem,
                            arena_printf(&c->arena, put, mem)),
               &h);
    }
    return name;
}
const char *c_reduce_lanes(const struct emit_options *o, enum red_op op, enum dtype storage, int lanes) {
    static const enum xop xops[RED_COUNT] = {X_POISON, X_ADD, X_MUL, X_MAX, X_MIN, X_AND, X_OR};
    static const char *const words[RED_COUNT] = {"", "sum", "prod", "max", "min", "and", "or"};
    enum dtype t = dtype_value(storage);
    const char *name = helper_name(o, internf(o->uses->c->names, "lanes_%s", words[op]), storage, lanes);
    if (!first(o->uses, name)) return name;
    struct holes h;
    struct ctx *c = o->uses->c;
    holes_for(o, &h, name, t, lanes);
    const char *sign = c_operator(xops[op], t, 1), *step;
    if (sign) step = arena_printf(&c->arena, "acc %s %s", sign, t == BOOL ? "(v[i] != 0)" : "v[i]");
    else step = arena_printf(&c->arena, "%s(%s, acc)", c_op(o, xops[op], t, 1), t == BOOL ? "-v[i]" : "v[i]");
    if (storage != t) step = arena_printf(&c->arena, "%s(%s)", c_round(o, storage, 1), step);
    helper(o,
           arena_printf(&c->arena,
                        "/* lanes in order: the result does not depend on their number */\nstatic inline $E $N($E acc, "
                        "$T v) {\n    for (int i = 0; i < $L; i++)\n        acc = %s;\n    return acc;\n}\n",
                        step),
           &h);
    return name;
}

const char *c_index_helper(const struct emit_options *o, const char *what) {
    static const struct {
        const char *what, *text;
    } rows[] = {
        {"guard", "/* v when it is a valid index below n, else 0 and the fault is recorded */\n"
                  "static inline ptrdiff_t nn_guard(int64_t v, ptrdiff_t n, int *fault) {\n    if (v >= 0 && v < n)\n  "
                  "      return (ptrdiff_t)v;\n    *fault = 1;\n    return 0;\n}\n"},
        {"fault", "/* records a fault from within an expression */\n"
                  "static inline void nn_fault(int *fault) {\n    *fault = 1;\n}\n"},
        {"floordiv", "static inline ptrdiff_t nn_floordiv(ptrdiff_t a, ptrdiff_t b) {\n    return b == 0 ? 0 : a / b - "
                     "((a % b != 0) & ((a < 0) != (b < 0)));\n}\n"},
        {"floormod", "static inline ptrdiff_t nn_floormod(ptrdiff_t a, ptrdiff_t b) {\n    const ptrdiff_t r = b == 0 "
                     "? 0 : a % b;\n    return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n}\n"},
        {"min", "static inline ptrdiff_t nn_min(ptrdiff_t a, ptrdiff_t b) {\n    return a < b ? a : b;\n}\n"},
        {"max", "static inline ptrdiff_t nn_max(ptrdiff_t a, ptrdiff_t b) {\n    return a > b ? a : b;\n}\n"},
    };
    struct emit_uses *u = o->uses;
    const char *name = internf(u->c->names, "nn_%s", what);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].what, what)) {
            if (first(u, name)) PUSH(&u->c->arena, &u->helpers, rows[i].text);
            return name;
        }
    BUG("no index helper %s", what);
}

/* ---- the whole */
/* Helpers are written as C: `static inline` becomes the language's own words. */
static void put_function(struct text *out, const char *s, const struct emit_words *w) {
    static const char c[] = "static inline";
    text_char(out, '\n');
    for (const char *at; (at = strstr(s, c)); s = at + sizeof c - 1) {
        text_addn(out, s, (size_t)(at - s));
        text_add(out, w->fn);
    }
    text_add(out, s);
}
/* The instructions that the target has besides those of every machine of its kind: for these functions, not for the
 * whole program, which asks the CPU before it calls them. Behind the headers, whose functions have attributes of their
 * own. */
static const char *attribute_of(const struct emit_options *o) { return emit_gnu(o) ? o->target->attribute : NULL; }
/* clang knows the instruction sets of x86 by these names; its header for ARM goes by the compiler's flags. */
static bool for_clang(const char *attribute) { return strncmp(attribute, "arch=", 5) != 0; }
static void begin_attribute(struct text *out, const struct emit_options *o) {
    const char *s = attribute_of(o);
    if (!s) return;
    text_add(out, "\n/* instructions that this file needs of the CPU */\n#if defined __clang__\n");
    if (for_clang(s))
        text_printf(out, "#pragma clang attribute push(__attribute__((target(\"%s\"))), apply_to = function)\n", s);
    text_printf(out, "#elif defined __GNUC__\n#pragma GCC target(\"%s\")\n#endif\n", s);
}
void emit_end(struct text *out, const struct emit_options *o) {
    const char *s = attribute_of(o);
    if (s && for_clang(s)) text_add(out, "#if defined __clang__\n#pragma clang attribute pop\n#endif\n");
}
void emit_prelude(struct text *out, struct ctx *c, const struct emit_options *o) {
    struct emit_uses *u = o->uses;
    (void)c;
    text_add(out, "#include <stddef.h>\n#include <stdint.h>\n");
    if (u->math) text_add(out, "#include <math.h>\n");
    if (u->complex) text_add(out, "#include \"nn_rt.h\"\n");
    if (u->text) text_add(out, "#include \"nn_text.h\"\n");
    if (u->threads) text_add(out, "#include \"nn_threads.h\"\n");
    if ((u->intrinsics || emit_cuda(o)) && o->target->headers) text_add(out, o->target->headers);
    text_add(out, "\n#if defined __FAST_MATH__\n#error \"this code states its arithmetic exactly: compile it without "
                  "-ffast-math\"\n#endif\n");
    begin_attribute(out, o);
    if (u->no_unroll)
        text_add(out, "\n/* loops that are written out as far as registers allow: gcc must not unroll them further */\n"
                      "#if defined __GNUC__ && !defined __clang__\n#define NN_NO_UNROLL _Pragma(\"GCC unroll "
                      "1\")\n#else\n#define NN_NO_UNROLL\n#endif\n");
    if (u->types.n) text_char(out, '\n');
    for (int i = 0; i < u->types.n; i++) text_add(out, u->types.v[i]);
    for (int i = 0; i < u->helpers.n; i++) put_function(out, u->helpers.v[i], emit_words(o));
    for (int i = 0; i < u->fns.n; i++) put_function(out, u->fns.v[i], emit_words(o));
}

void emit_cflags(struct text *out, const struct emit_options *o) {
    text_add(out, o->c99_strict || emit_scalar(o) ? "-std=c99" : "-std=gnu99");
    text_add(out, " -ffp-contract=off");
    if (!o->c99_strict && !emit_cuda(o) && o->target->cflags && *o->target->cflags)
        text_printf(out, " %s", o->target->cflags);
}
