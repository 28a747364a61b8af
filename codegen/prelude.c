/* Types and small functions of the prelude: the C names of loop IR operations. See prelude.h.
 *
 * Every operation has exactly the meaning given in docs/numbers.md, the same as in the interpreter; a target's spelling
 * rows (ir/loop/target.h) replace a text here by an instruction, without changing its meaning. Vector operations
 * without a better text are loops over the lanes that call the scalar operation. */
#include "codegen/prelude_int.h"
#include "codegen/template.h"
#include "lower/passes/passes.h"
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
bool emit_gnu(const struct emit_options *o) { return !o->c99_strict && o->target->emit == EMIT_C_VECTOR; }

bool emit_cuda(const struct emit_options *o) { return o->target->emit == EMIT_CUDA; }
const struct emit_words *emit_words(const struct emit_options *o) {
    static const struct emit_words c = {"static inline", "static const", "restrict"},
                                   cuda = {"static __host__ __device__ inline", "static __device__ const",
                                           "__restrict__"};
    return emit_cuda(o) ? &cuda : &c;
}

const char *c_value_type(enum dtype t) { return t == BOOL ? "int" : dtype_c(t); }

/* ---- texts of helpers */
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

bool prelude_first(struct emit_uses *u, const char *name) {
    if (map_get(&u->seen, PKEY(name))) return false;
    map_put(&u->seen, PKEY(name), (void *)name);
    return true;
}

void emit_define_fn(struct emit_uses *u, const char *text) { PUSH(&u->c->arena, &u->fns, text); }

static enum dtype unsigned_of(enum dtype t) { return dtype_bytes(t) == 8 ? U64 : U32; }
static enum dtype signed_of(enum dtype t) { return dtype_bytes(t) == 8 ? I64 : I32; }
static enum dtype lane_type(enum dtype t) { return t == BOOL ? I32 : t; } /* of masks */

const char *c_vector_type(const struct emit_options *o, enum dtype value, int lanes) {
    struct emit_uses *u = o->uses;
    enum dtype t = lane_type(value);
    const char *name = internf(u->c->names, "nn_%sx%d", dtype_name(t), lanes);
    if (prelude_first(u, name))
        PUSH(&u->c->arena, &u->types,
             format(u->c, "typedef %s %s __attribute__((vector_size(%d)));\n", dtype_c(t), name,
                    lanes * dtype_bytes(t)));
    return name;
}
/* A vector in memory: elements of a storage type at their own alignment, aliasing like the element type's pointer. */
const char *c_memory_type(const struct emit_options *o, enum dtype s, int lanes) {
    struct emit_uses *u = o->uses;
    const char *name = internf(u->c->names, "nn_%sx%d_mem", dtype_name(s), lanes);
    if (prelude_first(u, name))
        PUSH(&u->c->arena, &u->types,
             format(u->c, "typedef %s %s __attribute__((vector_size(%d), aligned(%d), may_alias));\n", dtype_c(s), name,
                    lanes * dtype_bytes(s), dtype_bytes(s)));
    return name;
}

void prelude_holes(const struct emit_options *o, struct holes *h, const char *name, enum dtype t, int lanes) {
    *h = (struct holes){.name = name, .elem = c_value_type(t), .lanes = lanes, .bits = 8 * dtype_bytes(lane_type(t))};
    enum dtype uns = unsigned_of(lane_type(t)), sig = signed_of(lane_type(t));
    h->type = lanes > 1 ? c_vector_type(o, t, lanes) : h->elem;
    h->uns = lanes > 1 ? c_vector_type(o, uns, lanes) : dtype_c(uns);
    h->mask = lanes > 1 ? c_vector_type(o, sig, lanes) : dtype_c(sig);
}
void prelude_add(const struct emit_options *o, const char *tmpl, const struct holes *h) {
    PUSH(&o->uses->c->arena, &o->uses->helpers, fill_in(o->uses->c, tmpl, h));
}
const char *prelude_name(const struct emit_options *o, const char *what, enum dtype t, int lanes) {
    struct interner *in = o->uses->c->names;
    return lanes > 1 ? internf(in, "nn_%s_%sx%d", what, dtype_name(t), lanes)
                     : internf(in, "nn_%s_%s", what, dtype_name(t));
}

/* INSTR in a template is the row's name; the template is valid C, formatted as such. */
static void use_template(struct emit_uses *u, const char *path, const char *instr) {
    static const char hole[] = "INSTR";
    struct text file = {0}, t = {0};
    template_text(&file, path, (const char *const[]){NULL});
    const char *from = file.s, *at;
    for (; (at = strstr(from, hole)); from = at + strlen(hole)) {
        text_addn(&t, from, (size_t)(at - from));
        text_add(&t, instr);
    }
    text_add(&t, from);
    PUSH(&u->c->arena, &u->helpers, format(u->c, "%s", t.s));
    text_free(&file), text_free(&t);
}
void c_use_instr(const struct emit_options *o, const struct instr_row *row) {
    o->uses->intrinsics = true;
    if (row->helper && prelude_first(o->uses, row->name)) PUSH(&o->uses->c->arena, &o->uses->helpers, row->helper);
    if (row->files[0] && prelude_first(o->uses, row->files[0])) use_template(o->uses, row->files[0], row->name);
    if (row->files[1] && prelude_first(o->uses, row->name)) use_template(o->uses, row->files[1], row->name);
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
/* Operations that libm has under one name: with an `f` for float. */
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
/* Scalar operations that need a function. C does not define right shifts of negative numbers, but compilers do. */
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
/* Vector operations for which GCC's vector extension has an expression. */
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
static const char *spelled(const struct spell_row *rows, enum xop op, enum dtype t, int lanes) {
    for (const struct spell_row *r = rows; r && r->op != X_POISON; r++)
        if (r->op == op && r->type == t && r->lanes == lanes) return r->c;
    return NULL;
}
const char *prelude_spelled(const struct emit_options *o, enum xop op, enum dtype t, int lanes) {
    return o->c99_strict ? NULL : spelled(o->target->spell, op, t, lanes);
}
/* A row of `clamps` as a function. */
static const char *clamp(const struct emit_options *o, const char *row, const char *name, enum dtype t, int lanes,
                         const char *head) {
    struct holes h;
    if (!prelude_first(o->uses, name)) return name;
    prelude_holes(o, &h, name, t, lanes);
    prelude_add(o, prelude_from_row(o, row, head), &h);
    return name;
}
const char *c_clamp(const struct emit_options *o, enum xop op, enum dtype t, int lanes) {
    const char *row = o->c99_strict ? NULL : spelled(o->target->clamps, op, t, lanes);
    if (!row) return c_op(o, op, t, lanes);
    return clamp(o, row, prelude_name(o, op == X_MIN ? "at_most" : "at_least", t, lanes), t, lanes,
                 "static inline $T $N($T a, $T b)");
}
const char *c_clamp_to(const struct emit_options *o, enum dtype range) {
    const char *row = o->c99_strict ? NULL : spelled(o->target->clamps, X_MIN, range, 1);
    return row ? clamp(o, row, prelude_name(o, "clamp", range, 1), I32, 1, "static inline $T $N($T a)") : NULL;
}
/* "return _mm256_fmadd_ps(a, b, c);" from "_mm256_fmadd_ps(%a, %b, %c)". */
const char *prelude_from_row(const struct emit_options *o, const char *row, const char *head) {
    struct text t = {0};
    text_printf(&t, "%s {\n    %s", head, strncmp(head, "static inline void", 18) ? "return " : "");
    for (const char *s = row; *s; s++)
        if (*s == '%') text_char(&t, *++s);
        else text_char(&t, *s);
    text_add(&t, ";\n}\n");
    o->uses->intrinsics = true;
    return text_take(&t, &o->uses->c->arena);
}

/* The exact remainder of floats by a quick method. As long as no quotient has more than 23 bits, it is off by at most
 * one, which is one too many, and both differences are exact; libm divides bit by bit. If a lane has a larger quotient,
 * or divides by 0, libm is used for all. */
static const char *quick_mod(const struct emit_options *o, int lanes) {
    if (lanes < 4 || !prelude_spelled(o, X_FMA, F32, lanes) || !prelude_spelled(o, X_TRUNC, F32, lanes)) return NULL;
    const char *trunc = c_op(o, X_TRUNC, F32, lanes), *fma = c_op(o, X_FMA, F32, lanes), *one = c_op(o, X_MOD, F32, 1);
    const char *pairs = c_vector_type(o, I64, lanes / 2);
    return arena_printf(&o->uses->c->arena,
                        "static inline $T $N($T a, $T b) {\n"
                        "    const $T x = ($T)(($U)a << 1 >> 1), y = ($T)(($U)b << 1 >> 1), q = x / y;\n"
                        "    const %s few = (%s)(q < 8388608.0f);\n"
                        "    long long all = -1;\n"
                        "    for (int i = 0; i < $L / 2; i++)\n        all &= few[i];\n"
                        "    if (all == -1) {\n"
                        "        const $T r = %s(-%s(q), y, x);\n"
                        "        const $M less = x < y;\n"
                        "        const $U rest = ($U)(r + ($T)((r < 0.0f) & ($M)y));\n"
                        "        return ($T)((($U)x & ($U)less) | (rest & ~($U)less) | (($U)a & 0x80000000u));\n"
                        "    }\n"
                        "    for (int i = 0; i < $L; i++)\n        a[i] = %s(a[i], b[i]);\n"
                        "    return a;\n}\n",
                        pairs, pairs, fma, trunc, one);
}

/* Remainders of integers from their quotient, if there is one for vectors; the remainder of a division by 0 is 0. */
static const char *rest_of_quotient(const struct emit_options *o, enum dtype t, int lanes) {
    if (!prelude_spelled(o, X_DIV, t, lanes)) return NULL;
    return arena_printf(&o->uses->c->arena,
                        "static inline $T $N($T a, $T b) {\n"
                        "    return ($T)(($U)a - ($U)%s(a, b) * ($U)b) & ($T)(b != 0);\n}\n",
                        c_op(o, X_DIV, t, lanes));
}

const char *c_op(const struct emit_options *o, enum xop op, enum dtype t, int lanes) {
    struct emit_uses *u = o->uses;
    struct ctx *c = u->c;
    const char *libm = libm_name(c, op, t);
    if (lanes == 1 && libm) {
        u->math = true;
        return libm;
    }
    const char *name = prelude_name(o, op_word(op), t, lanes);
    if (!prelude_first(u, name)) return name;
    struct holes h;
    prelude_holes(o, &h, name, t, lanes);
    static const char *const args[] = {"", "$T a", "$T a, $T b", "$T a, $T b, $T c"};
    int n = xop_operands(op);
    const char *row = prelude_spelled(o, op, t, lanes);
    if (row) {
        prelude_add(o, prelude_from_row(o, row, format(c, "static inline $T $N(%s)", args[n])), &h);
        return name;
    }
    if (lanes == 1) {
        const char *text = scalar_text(op, t);
        ASSERT(text);
        prelude_add(o, text, &h);
        return name;
    }
    if (op == X_LT || op == X_LE || op == X_EQ || op == X_NE) { /* the result is a mask of 32-bit lanes, whatever was
                                                                 * compared */
        const char *m = c_vector_type(o, BOOL, lanes);
        prelude_add(o,
                    format(c, "static inline %s $N($T a, $T b) {\n    return %s(a %s b)%s;\n}\n", m,
                           h.bits == 64 ? "__builtin_convertvector(" : format(c, "(%s)", m), c_operator(op, t, 1),
                           h.bits == 64 ? format(c, ", %s)", m) : ""),
                    &h);
        return name;
    }
    const char *text = op != X_MOD ? vector_text(op, t)
                       : t == F32  ? quick_mod(o, lanes)
                                   : rest_of_quotient(o, t, lanes);
    if (!text) {
        h.scalar = c_op(o, op, t, 1);
        static const char *const loops[] = {"", "a[i]", "a[i], b[i]", "a[i], b[i], c[i]"};
        text = arena_printf(
            &c->arena,
            "static inline $T $N(%s) {\n    for (int i = 0; i < $L; i++)\n        a[i] = $S(%s);\n    return a;\n}\n",
            args[n], loops[n]);
    }
    prelude_add(o, text, &h);
    return name;
}

const char *c_splat(const struct emit_options *o, enum dtype t, int lanes) {
    const char *name = prelude_name(o, "splat", t, lanes);
    if (prelude_first(o->uses, name)) {
        struct holes h;
        prelude_holes(o, &h, name, t, lanes);
        prelude_add(o,
                    t == BOOL ? "static inline $T $N(int b) {\n    const int x = b ? -1 : 0;\n    return ($T){$A};\n}\n"
                              : "static inline $T $N($E x) {\n    return ($T){$A};\n}\n",
                    &h);
    }
    return name;
}
const char *c_select(const struct emit_options *o, enum dtype t, int lanes) {
    const char *name = prelude_name(o, "select", t, lanes);
    if (!prelude_first(o->uses, name)) return name;
    struct holes h;
    prelude_holes(o, &h, name, t, lanes);
    const char *m = c_vector_type(o, BOOL, lanes), *row = prelude_spelled(o, X_SELECT, t, lanes);
    if (row) {
        prelude_add(o, prelude_from_row(o, row, format(o->uses->c, "static inline $T $N(%s a, $T b, $T c)", m)), &h);
        return name;
    }
    const char *wide = h.bits == 64 ? "__builtin_convertvector(cond, $M)" : "cond";
    prelude_add(o,
                format(o->uses->c,
                       "static inline $T $N(%s cond, $T a, $T b) {\n    const $M m = %s;\n    return ($T)((($M)a & m) "
                       "| (($M)b & ~m));\n}\n",
                       m, wide),
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
            if (prelude_first(u, name)) PUSH(&u->c->arena, &u->helpers, rows[i].text);
            return name;
        }
    BUG("no index helper %s", what);
}

/* ---- the whole */
/* Helpers are written in C: replaces `static inline` by the words of the output language. */
static void put_function(struct text *out, const char *s, const struct emit_words *w) {
    static const char c[] = "static inline";
    text_char(out, '\n');
    for (const char *at; (at = strstr(s, c)); s = at + sizeof c - 1) {
        text_addn(out, s, (size_t)(at - s));
        text_add(out, w->fn);
    }
    text_add(out, s);
}
/* Attribute for instructions that the target has beyond the basic machine of its kind: only for these functions, not
 * for the whole program, which asks the CPU before it calls them. Placed after the headers, whose functions have their
 * own attributes. */
static const char *attribute_of(const struct emit_options *o) { return emit_gnu(o) ? o->target->attribute : NULL; }
/* clang knows the instruction sets of x86 by these names; on ARM its header goes by the compiler's flags. */
static bool for_clang(const char *attribute) { return strncmp(attribute, "arch=", 5) != 0; }
static void begin_attribute(struct text *out, const struct emit_options *o) {
    const char *s = attribute_of(o);
    if (!s) return;
    text_add(out, "\n/* instructions that this file needs */\n#if defined __clang__\n");
    if (for_clang(s))
        text_printf(out, "#pragma clang attribute push(__attribute__((target(\"%s\"))), apply_to = function)\n", s);
    text_printf(out, "#elif defined __GNUC__\n#pragma GCC target(\"%s\")\n#endif\n", s);
}
void emit_end(struct text *out, const struct emit_options *o) {
    const char *s = attribute_of(o);
    if (s && for_clang(s)) text_add(out, "#if defined __clang__\n#pragma clang attribute pop\n#endif\n");
}
void emit_prelude(struct text *out, const struct emit_options *o) {
    struct emit_uses *u = o->uses;
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
        text_add(out, "\n/* loops that are unrolled as far as registers allow: gcc must not unroll them further */\n"
                      "#if defined __GNUC__ && !defined __clang__\n#define NN_NO_UNROLL _Pragma(\"GCC unroll "
                      "1\")\n#else\n#define NN_NO_UNROLL\n#endif\n");
    if (u->types.n) text_char(out, '\n');
    for (int i = 0; i < u->types.n; i++) text_add(out, u->types.v[i]);
    for (int i = 0; i < u->helpers.n; i++) put_function(out, u->helpers.v[i], emit_words(o));
    for (int i = 0; i < u->fns.n; i++) put_function(out, u->fns.v[i], emit_words(o));
}

void emit_cflags(struct text *out, const struct emit_options *o) {
    text_add(out, o->c99_strict || emit_lanes(o) < 2 ? "-std=c99" : "-std=gnu99");
    text_add(out, " -ffp-contract=off");
    if (!o->c99_strict && !emit_cuda(o) && o->target->cflags && *o->target->cflags)
        text_printf(out, " %s", o->target->cflags);
}
