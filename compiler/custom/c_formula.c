/* The body of a C function of scalars as a formula: variables, assignments, branches, calls of functions of the file
 * and of <math.h>. Loops, pointers and side effects are refused, with their position. See source.h. */
#include "compiler/custom/source.h"
#ifdef HAVE_LIBCLANG
#include "compiler/custom/clang.h"
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 200, CALLS_MAX = 16, STEPS_MAX = 20000 };
struct binding {
    CXCursor decl;
    const struct formula *value;
    struct binding *next;
};
struct translation {
    struct source *s;
    bool index, failed; /* index: of sizes */
    int depth, calls, steps;
    const char *why; /* the reason, for callers that do not want a diagnostic */
    struct source_place at;
    bool quiet, too_long;
};
/* The variables in scope: a list whose head each scope owns, so that a branch has its own values. */
struct known {
    struct binding *first;
};
typedef const struct formula *F;
static F expression(struct translation *q, struct known *v, CXCursor c);
static F statements(struct translation *q, struct known *v, const CXCursor *c, int n);

static F refuse(struct translation *q, CXCursor c, const char *what) {
    if (!q->failed && q->quiet) {
        q->why = what;
        q->at = place_of(libclang.getCursorLocation(c), 1);
    } else if (!q->failed) {
        source_error(q->s, place_of(libclang.getCursorLocation(c), 1), "%s", what);
        diag_help(&q->s->c->diags, "a function for sizes is a formula of them: variables, choices, and such functions");
    }
    q->failed = true;
    return NULL;
}
struct children {
    struct ctx *c;
    VEC(CXCursor) v;
};
static enum CXChildVisitResult note_child(CXCursor c, CXCursor parent, CXClientData env) {
    struct children *q = env;
    (void)parent;
    PUSH(&q->c->arena, &q->v, c);
    return CXChildVisit_Continue;
}
static struct children children_of(struct translation *q, CXCursor c) {
    struct children r = {.c = q->s->c};
    libclang.visitChildren(c, note_child, &r);
    return r;
}

/* ---- formulas, with the type of each */
static struct formula *node(struct translation *q, enum formula_kind kind, enum dtype type, F a, F b, F d) {
    struct formula *f = NEW(&q->s->c->arena, struct formula);
    *f = (struct formula){.kind = kind, .type = type, .arg = {a, b, d}, .length = 1};
    for (int k = 0; k < 3 && f->arg[k]; k++) f->length += f->arg[k]->length;
    if (f->length > FORMULA_LENGTH) f->length = FORMULA_LENGTH + 1, q->too_long = true;
    return f;
}
static F converted(struct translation *q, F f, enum dtype to) {
    if (q->index && dtype_is_int(to)) to = IDX;
    return !f || f->type == to ? f : node(q, FORMULA_CAST, to, f, NULL, NULL);
}
static F number(struct translation *q, enum dtype t, double value, int64_t whole) {
    struct formula *f = node(q, FORMULA_NUMBER, q->index && dtype_is_int(t) ? IDX : t, NULL, NULL, NULL);
    f->value = value, f->whole = whole;
    return f;
}
static F operation(struct translation *q, enum xop op, enum dtype type, F a, F b) {
    struct formula *f = node(q, FORMULA_XOP, type, a, b, NULL);
    f->op = op;
    return f;
}
static F choice(struct translation *q, F cond, F a, F b) {
    if (a == b) return a;
    if (a->type != b->type) b = converted(q, b, a->type);
    return node(q, FORMULA_SELECT, a->type, cond, a, b);
}

/* ---- operators: libclang 14 only gives the text between their operands */
static size_t offset_of(CXSourceLocation l) {
    unsigned offset;
    libclang.getSpellingLocation(l, NULL, NULL, NULL, &offset);
    return offset;
}
/* The operator of c, which lies between its operands, at `from` and `to`; "" where a macro hides it. */
static void operator_text(struct translation *q, size_t from, size_t to, char out[4]) {
    const char *p = q->s->file->text;
    size_t n = 0;
    if (to > q->s->file->n) to = from;
    while (from < to && n < 3) {
        if (p[from] == '/' && from + 1 < to && p[from + 1] == '*') {
            const char *end = strstr(p + from + 2, "*/");
            from = end ? (size_t)(end + 2 - p) : to;
        } else if (p[from] == '/' && from + 1 < to && p[from + 1] == '/') {
            from += strcspn(p + from, "\n");
        } else {
            if (strchr("+-*/%<>=!&|^~", p[from])) out[n++] = p[from];
            from++;
        }
    }
    out[n] = 0;
}
static void between(struct translation *q, CXCursor a, CXCursor b, char out[4]) {
    operator_text(q, offset_of(libclang.getRangeEnd(libclang.getCursorExtent(a))),
                  offset_of(libclang.getRangeStart(libclang.getCursorExtent(b))), out);
}
struct operator_row {
    const char *text;
    enum xop op;
    bool compares, logical;
};
static const struct operator_row operators[] = {
    {"+", X_ADD, 0, 0}, {"-", X_SUB, 0, 0},  {"*", X_MUL, 0, 0}, {"/", X_DIV, 0, 0},  {"%", X_MOD, 0, 0},
    {"&", X_AND, 0, 0}, {"|", X_OR, 0, 0},   {"^", X_XOR, 0, 0}, {"<<", X_SHL, 0, 0}, {">>", X_SHR, 0, 0},
    {"<", X_LT, 1, 0},  {"<=", X_LE, 1, 0},  {"==", X_EQ, 1, 0}, {"!=", X_NE, 1, 0},  {">", X_LT, 1, 0},
    {">=", X_LE, 1, 0}, {"&&", X_AND, 0, 1}, {"||", X_OR, 0, 1}};
static const char *const bits = "sizes are added, multiplied, divided and compared, without their bits";
static F apply(struct translation *q, CXCursor at, const char *text, F a, F b, enum dtype type) {
    const struct operator_row *r = NULL;
    if (!a || !b) return NULL;
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++)
        if (!strcmp(operators[k].text, text)) r = &operators[k];
    if (!r) return refuse(q, at, "this operator is not understood");
    if (q->index && !r->logical && strchr("&|^<>", *text) && !r->compares) return refuse(q, at, bits);
    if (r->logical) return operation(q, r->op, BOOL, converted(q, a, BOOL), converted(q, b, BOOL));
    if (a->type == BOOL) a = converted(q, a, I32);
    if (b->type == BOOL) b = converted(q, b, I32);
    if (r->compares) return *text == '>' ? operation(q, r->op, BOOL, b, a) : operation(q, r->op, BOOL, a, b);
    if (r->op == X_DIV || r->op == X_MOD) {
        if (!dtype_is_float(a->type) || r->op == X_MOD)
            return node(q, r->op == X_DIV ? FORMULA_DIV : FORMULA_REST, a->type, a, b, NULL);
    }
    (void)type;
    return operation(q, r->op, a->type, a, b);
}

/* ---- calls */
/* C name, without the f of the float variant; operation with one or two operands, or a function of
 * templates/kernels/math.lir */
static const struct {
    const char *name;
    int args;
    enum xop op;
} math_rows[] = {{"sqrt", 1, X_SQRT},    {"fabs", 1, X_ABS},     {"floor", 1, X_FLOOR},    {"ceil", 1, X_CEIL},
                 {"trunc", 1, X_TRUNC},  {"rint", 1, X_RINT},    {"nearbyint", 1, X_RINT}, {"exp", 1, X_POISON},
                 {"log", 1, X_POISON},   {"tanh", 1, X_POISON},  {"erf", 1, X_POISON},     {"sin", 1, X_POISON},
                 {"cos", 1, X_POISON},   {"tan", 1, X_POISON},   {"asin", 1, X_POISON},    {"acos", 1, X_POISON},
                 {"atan", 1, X_POISON},  {"sinh", 1, X_POISON},  {"cosh", 1, X_POISON},    {"asinh", 1, X_POISON},
                 {"acosh", 1, X_POISON}, {"atanh", 1, X_POISON}, {"pow", 2, X_POISON},     {"fmax", 2, X_MAX},
                 {"fmin", 2, X_MIN},     {"fmod", 2, X_MOD}};
static F number_or_other(struct translation *q, enum xop op, F a,
                         F b) { /* fmax, fmin: if one operand is NaN, the other one */
    F nan = operation(q, X_NE, BOOL, b, b);
    return choice(q, nan, a, operation(q, op, a->type, a, b));
}
static F math_call(struct translation *q, CXCursor c, const char *name, F *args, int n) {
    size_t length = strlen(name);
    bool single = length > 1 && name[length - 1] == 'f' && args[0] && args[0]->type == F32;
    for (size_t k = 0; k < sizeof math_rows / sizeof *math_rows; k++) {
        const char *own = math_rows[k].name;
        size_t m = strlen(own);
        if (math_rows[k].args != n || strncmp(name, own, m) != 0 || !(length == m || (single && length == m + 1)))
            continue;
        if (math_rows[k].op == X_MAX || math_rows[k].op == X_MIN)
            return number_or_other(q, math_rows[k].op, args[0], args[1]);
        if (math_rows[k].op != X_POISON)
            return operation(q, math_rows[k].op, args[0]->type, args[0], n > 1 ? args[1] : NULL);
        struct formula *f = node(q, FORMULA_MATH, args[0]->type, args[0], n > 1 ? args[1] : NULL, NULL);
        f->name = own;
        return f;
    }
    return refuse(q, c, "this function is neither in the file nor one of <math.h> that is known");
}
static F function_value(struct translation *q, CXCursor fn, F const *args, int n);
static F call(struct translation *q, struct known *v, CXCursor c) {
    F args[8] = {NULL};
    int n = libclang.Cursor_getNumArguments(c);
    CXCursor fn = libclang.getCursorDefinition(libclang.getCursorReferenced(c));
    const char *name = source_string(q->s, libclang.getCursorSpelling(libclang.getCursorReferenced(c)));
    if (n < 1 || n > 8) return refuse(q, c, "a call of no, or of more than 8, arguments");
    for (int k = 0; k < n; k++)
        if (!(args[k] = expression(q, v, libclang.Cursor_getArgument(c, (unsigned)k)))) return NULL;
    if (libclang.Cursor_isNull(fn) || !libclang.Location_isFromMainFile(libclang.getCursorLocation(fn)))
        return math_call(q, c, name, args, n);
    if (q->calls >= CALLS_MAX) return refuse(q, c, "calls that nest so deeply");
    q->calls++;
    F f = function_value(q, fn, args, n);
    q->calls--;
    return f;
}

/* ---- expressions */
static struct binding *binding_of(const struct known *v, CXCursor decl) {
    for (struct binding *b = v->first; b; b = b->next)
        if (libclang.equalCursors(b->decl, decl)) return b;
    return NULL;
}
static void bind(struct translation *q, struct known *v, CXCursor decl, F value) {
    struct binding *b = NEW(&q->s->c->arena, struct binding);
    *b = (struct binding){decl, value, v->first};
    v->first = b;
}
static F evaluated(struct translation *q, CXCursor c, enum dtype t) {
    CXEvalResult r = libclang.Cursor_Evaluate(c);
    F f = NULL;
    CXEvalResultKind k = r ? libclang.EvalResult_getKind(r) : CXEval_UnExposed;
    if (k == CXEval_Int)
        f = number(q, t, (double)libclang.EvalResult_getAsLongLong(r), libclang.EvalResult_getAsLongLong(r));
    else if (k == CXEval_Float) f = number(q, t, libclang.EvalResult_getAsDouble(r), 0);
    if (r) libclang.EvalResult_dispose(r);
    return f;
}
static F reference(struct translation *q, struct known *v, CXCursor c, enum dtype t) {
    CXCursor decl = libclang.getCursorReferenced(c);
    struct binding *b = binding_of(v, decl);
    if (b) return b->value ? b->value : refuse(q, c, "this variable has no value here");
    CXType type = libclang.getCursorType(decl);
    bool constant = libclang.getCursorKind(decl) == CXCursor_EnumConstantDecl ||
                    (libclang.getCursorKind(decl) == CXCursor_VarDecl && libclang.isConstQualifiedType(type));
    F f = constant ? evaluated(q, decl, t) : NULL;
    return f ? f : refuse(q, c, "it reads what is neither a parameter, a variable of the function nor a constant");
}
static F assignment(struct translation *q, struct known *v, CXCursor c, CXCursor to, CXCursor value, const char *with) {
    CXCursor decl = libclang.getCursorReferenced(to);
    F f = expression(q, v, value);
    enum dtype t = clang_dtype(libclang.getCursorType(to));
    if (!f) return NULL;
    if (!binding_of(v, decl)) return refuse(q, c, "it changes what is no variable of the function");
    if (*with) {
        F was = expression(q, v, to);
        if (was && dtype_is_float(f->type) && f->type != was->type) was = converted(q, was, f->type);
        if (was) f = apply(q, c, with, was, converted(q, f, was->type), t);
    }
    f = converted(q, f, t);
    if (f) bind(q, v, decl, f);
    return f;
}
static F unary(struct translation *q, struct known *v, CXCursor c, CXCursor of) {
    char op[4];
    operator_text(q, offset_of(libclang.getRangeStart(libclang.getCursorExtent(c))),
                  offset_of(libclang.getRangeStart(libclang.getCursorExtent(of))), op);
    F a = expression(q, v, of);
    if (!a) return NULL;
    if (!strcmp(op, "!")) return operation(q, X_NOT, BOOL, converted(q, a, BOOL), NULL);
    if (a->type == BOOL) a = converted(q, a, I32);
    if (!strcmp(op, "-")) return operation(q, X_NEG, a->type, a, NULL);
    if (!strcmp(op, "~") && q->index) return refuse(q, c, bits);
    if (!strcmp(op, "~")) return operation(q, X_NOT, a->type, a, NULL);
    if (!strcmp(op, "+")) return a;
    return refuse(q, c, "this operator is not understood");
}
static F expression_of(struct translation *q, struct known *v, CXCursor c) {
    CXType type = libclang.getCursorType(c);
    enum dtype t = clang_dtype(type);
    struct children k = children_of(q, c);
    char op[4];
    switch (libclang.getCursorKind(c)) {
    case CXCursor_IntegerLiteral:
    case CXCursor_FloatingLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_CXXBoolLiteralExpr: {
        F f = evaluated(q, c, t);
        return f ? f : refuse(q, c, "a number that is not understood");
    }
    case CXCursor_DeclRefExpr: return reference(q, v, c, t);
    case CXCursor_ParenExpr: return k.v.n == 1 ? expression(q, v, k.v.v[0]) : NULL;
    case CXCursor_UnexposedExpr: /* a conversion */
    case CXCursor_CStyleCastExpr:
    case CXCursor_CXXStaticCastExpr:
    case CXCursor_CXXFunctionalCastExpr: {
        F f = k.v.n ? expression(q, v, k.v.v[k.v.n - 1]) : NULL; /* the cursor's earlier children name the type */
        if (f && t == NONE) return refuse(q, c, "a value that is no number");
        return f && f->type == BOOL && dtype_is_int(t) ? f : converted(q, f, t);
    }
    case CXCursor_UnaryOperator: return k.v.n == 1 ? unary(q, v, c, k.v.v[0]) : NULL;
    case CXCursor_BinaryOperator:
        if (k.v.n != 2) break;
        between(q, k.v.v[0], k.v.v[1], op);
        if (!strcmp(op, "=")) return assignment(q, v, c, k.v.v[0], k.v.v[1], "");
        {
            F a = expression(q, v, k.v.v[0]), b = a ? expression(q, v, k.v.v[1]) : NULL;
            return apply(q, c, op, a, b, t);
        }
    case CXCursor_CompoundAssignOperator:
        if (k.v.n != 2) break;
        between(q, k.v.v[0], k.v.v[1], op);
        op[strcspn(op, "=")] = 0;
        return assignment(q, v, c, k.v.v[0], k.v.v[1], op);
    case CXCursor_ConditionalOperator: {
        if (k.v.n != 3) break;
        F cond = expression(q, v, k.v.v[0]), a = cond ? expression(q, v, k.v.v[1]) : NULL,
          b = a ? expression(q, v, k.v.v[2]) : NULL;
        return b ? choice(q, converted(q, cond, BOOL), a, b) : NULL;
    }
    case CXCursor_CallExpr: return call(q, v, c);
    default: break;
    }
    return refuse(q, c, "this expression is not understood");
}
static bool may_be_negative(F f) {
    if (f->type == BOOL) return false;
    if (f->kind == FORMULA_NUMBER) return f->whole < 0;
    if (f->kind == FORMULA_XOP && (f->op == X_SUB || f->op == X_NEG)) return true;
    for (int k = f->kind == FORMULA_SELECT; k < 3 && f->arg[k]; k++)
        if (may_be_negative(f->arg[k])) return true;
    return false;
}
/* Why the computation of a size may give another number in C, because of its type; NULL: it gives the same. */
static const char *no_size(const struct translation *q, F f, enum dtype in_c) {
    if (!q->index || in_c == BOOL || in_c == NONE) return NULL;
    if (dtype_is_float(in_c)) return "sizes are computed with integers";
    if (dtype_bytes(in_c) < 4) return "a size of 8 or 16 bits, which may be cut: it is an int64_t";
    if (dtype_is_signed(in_c) || !may_be_negative(f)) return NULL;
    return "without a sign, what may be negative is another number: it is an int64_t";
}
static F expression(struct translation *q, struct known *v, CXCursor c) {
    if (q->failed) return NULL;
    if (q->depth >= DEPTH_MAX || q->too_long || ++q->steps > STEPS_MAX)
        return refuse(q, c, "it is too long to be one formula");
    q->depth++;
    F f = expression_of(q, v, c);
    q->depth--;
    const char *why = f ? no_size(q, f, clang_dtype(libclang.getCursorType(c))) : "this expression is not understood";
    return !why || q->failed ? f : refuse(q, c, why);
}

/* ---- statements: the returned value, NULL: no return yet */
static void declare(struct translation *q, struct known *v, CXCursor c) {
    struct children k = children_of(q, c);
    if (libclang.getCursorKind(c) != CXCursor_VarDecl) return;
    enum dtype t = clang_dtype(libclang.getCursorType(c));
    if (t == NONE || libclang.Cursor_getStorageClass(c) == CX_SC_Static) {
        refuse(q, c, t == NONE ? "a variable that is no number" : "a variable that outlives the call");
        return;
    }
    CXCursor init = k.v.n ? k.v.v[k.v.n - 1] : libclang.getNullCursor();
    F f = k.v.n && libclang.isExpression(libclang.getCursorKind(init)) ? converted(q, expression(q, v, init), t) : NULL;
    if (!q->failed) bind(q, v, c, f);
}
/* After a branch without return, each variable has the value of the side that was taken. */
static void join(struct translation *q, struct known *v, F cond, const struct known *a, const struct known *b) {
    for (const struct binding *k = v->first; k; k = k->next) {
        const struct binding *x = binding_of(a, k->decl), *y = binding_of(b, k->decl), *now = binding_of(v, k->decl);
        if (now != k || x->value == y->value) {
            if (now == k && x->value != k->value) bind(q, v, k->decl, x->value);
            continue;
        }
        bind(q, v, k->decl, x->value && y->value ? choice(q, cond, x->value, y->value) : NULL);
    }
}
static F branch(struct translation *q, struct known *v, CXCursor c, const CXCursor *rest, int nrest) {
    struct children k = children_of(q, c);
    F cond = k.v.n >= 2 ? converted(q, expression(q, v, k.v.v[0]), BOOL) : NULL;
    if (!cond) return NULL;
    struct known a = *v, b = *v;
    F then = statements(q, &a, &k.v.v[1], 1), other = k.v.n > 2 ? statements(q, &b, &k.v.v[2], 1) : NULL;
    if (q->failed) return NULL;
    if (!then && !other) {
        join(q, v, cond, &a, &b);
        return statements(q, v, rest, nrest);
    }
    if (!then) then = statements(q, &a, rest, nrest);
    if (!other) other = statements(q, &b, rest, nrest);
    return then && other ? choice(q, cond, then, other) : NULL;
}
static F statements(struct translation *q, struct known *v, const CXCursor *c, int n) {
    if (q->depth >= DEPTH_MAX) return n ? refuse(q, *c, "statements that nest so deeply") : NULL;
    q->depth++;
    F f = NULL;
    for (int i = 0; i < n && !f && !q->failed; i++) {
        struct children k = children_of(q, c[i]);
        switch (libclang.getCursorKind(c[i])) {
        case CXCursor_CompoundStmt: f = statements(q, v, k.v.v, k.v.n); break;
        case CXCursor_DeclStmt:
            for (int d = 0; d < k.v.n && !q->failed; d++) declare(q, v, k.v.v[d]);
            break;
        case CXCursor_ReturnStmt: f = k.v.n == 1 ? expression(q, v, k.v.v[0]) : NULL; break;
        case CXCursor_IfStmt:
            f = branch(q, v, c[i], c + i + 1, n - i - 1);
            n = i + 1; /* the remaining statements were read inside the branch */
            break;
        case CXCursor_NullStmt: break;
        case CXCursor_BinaryOperator:
        case CXCursor_CompoundAssignOperator: expression(q, v, c[i]); break;
        default: refuse(q, c[i], "this statement is not understood");
        }
    }
    q->depth--;
    return f;
}
static F function_value(struct translation *q, CXCursor fn, F const *args, int n) {
    struct known v = {NULL};
    CXCursor body = libclang.getNullCursor();
    struct children k = children_of(q, fn);
    for (int i = 0, at = 0; i < k.v.n; i++) {
        if (libclang.getCursorKind(k.v.v[i]) == CXCursor_CompoundStmt) body = k.v.v[i];
        if (libclang.getCursorKind(k.v.v[i]) != CXCursor_ParmDecl) continue;
        enum dtype t = clang_dtype(libclang.getCursorType(k.v.v[i]));
        struct formula *own = NULL;
        if (!args) {
            own = node(q, FORMULA_NAME, t, NULL, NULL, NULL);
            own->name = source_string(q->s, libclang.getCursorSpelling(k.v.v[i]));
        } else if (at == n) return refuse(q, fn, "a call with other arguments than the function has");
        if (t == NONE) return refuse(q, k.v.v[i], "a parameter that is no number");
        bind(q, &v, k.v.v[i], own ? own : converted(q, args[at], t));
        at++;
    }
    F f = libclang.Cursor_isNull(body) ? NULL : statements(q, &v, &body, 1);
    if (q->too_long) return refuse(q, fn, "it is too long to be one formula");
    if (!f && !q->failed) return refuse(q, fn, "not every way through the function returns a value");
    return converted(q, f, clang_dtype(libclang.getCursorResultType(fn)));
}
const struct formula *c_formula(struct source *s, CXCursor fn, const struct formula *const *args, int nargs) {
    struct translation q = {.s = s, .index = true};
    return function_value(&q, fn, args, nargs);
}
const struct formula *c_formula_or(struct source *s, CXCursor fn, const char **why, struct source_place *at) {
    struct translation q = {.s = s, .quiet = true};
    F f = function_value(&q, fn, NULL, 0);
    *why = q.why, *at = q.at;
    return f;
}
#endif
