/* Parses and type-checks the expressions of loop IR text. Statements: loop_parse_stmt.c.
 *
 * Every operand's type is checked here, before a constructor could answer with the poison expression, so that the
 * message names the cause. Plain integers are index constants until something of a value type stands beside them. */
#include "ir/expr/native.h"
#include "ir/expr/print.h"
#include "ir/text/loop_lex.h"
#include <math.h>
#include <string.h>

enum { MAX_HEIGHT = 4000, MAX_INDEX = 10000, MAX_TERMS = 256, MAX_ARGS = 8 };

/* ---- finished nodes: not poisoned, not too deep for the recursive walks over expressions, and as index not so large a
 * tree (sharing undone) that bounds and proofs, which see trees, would take forever */
struct extent {
    int height;
    int64_t size;
};
static struct extent *measure(struct parser *p, expr e) {
    struct extent *m = map_get(&p->measures, PKEY(e));
    if (m) return m;
    m = NEW(&p->c->arena, struct extent);
    *m = (struct extent){0, 1};
    map_put(&p->measures, PKEY(e), m); /* operands were measured when they were parsed: this does not recurse deep */
    for (int k = 0; k < e->n + (e->op == X_VAR); k++) {
        struct extent *a = measure(p, e->op == X_VAR ? e->u.var->extent : e->arg[k]);
        if (a->height > m->height) m->height = a->height;
        m->size += a->size;
    }
    m->height++;
    if (m->size > INT32_MAX) m->size = INT32_MAX;
    return m;
}
static expr done(struct parser *p, int line, expr e) {
    if (e->op == X_POISON) {
        parse_error(
            p, line,
            "this expression does not fit: its numbers are too large, or an operation does not exist for the type");
        return NULL;
    }
    struct extent *m = measure(p, e);
    if (m->height > MAX_HEIGHT) {
        parse_error(p, line, "this expression nests more than %d levels deep", MAX_HEIGHT);
        return NULL;
    }
    if (e->type == IDX && m->size > MAX_INDEX) {
        parse_error(p, line, "an index expression of more than %d parts", MAX_INDEX);
        return NULL;
    }
    return e;
}
static bool is_number(enum dtype t) { return t == I32 || t == U32 || t == I64 || t == U64 || t == F32 || t == F64; }
static bool is_integer(enum dtype t) { return is_number(t) && t != F32 && t != F64; }
static const char *type_text(enum dtype t) { return t == IDX ? "an index" : dtype_name(t); }

static bool fits(enum dtype t, int64_t v) {
    switch (t) {
    case I32: return v >= INT32_MIN && v <= INT32_MAX;
    case U32: return v >= 0 && v <= UINT32_MAX;
    case U64: return v >= 0;
    default: return true;
    }
}
/* A plain integer as a constant of a value type; other expressions stay. NULL with an error if it does not fit. */
static expr adapt(struct parser *p, int line, expr e, enum dtype t) {
    if (e->type != IDX || e->op != X_CONST || t == IDX || !is_number(t)) return e;
    if (!fits(t, e->u.i)) {
        parse_error(p, line, "%lld does not fit in %s", (long long)e->u.i, dtype_name(t));
        return NULL;
    }
    return t == F32 || t == F64 ? x_const_f(p->c, t, (double)e->u.i) : x_const_i(p->c, t, e->u.i);
}
static bool agree(struct parser *p, int line, const char *op, expr *a, expr *b) {
    *a = adapt(p, line, *a, (enum dtype)(*b)->type);
    if (!*a) return false;
    *b = adapt(p, line, *b, (enum dtype)(*a)->type);
    if (!*b) return false;
    if ((*a)->type == (*b)->type) return true;
    bool index = (*a)->type == IDX || (*b)->type == IDX;
    parse_error(p, line, "operands of `%s` are %s and %s%s", op, type_text((enum dtype)(*a)->type),
                type_text((enum dtype)(*b)->type),
                index ? ": write idx(...) to use an index as i64, toidx(...) for the reverse" : "");
    return false;
}
static bool need(struct parser *p, int line, const char *op, bool ok, expr e) {
    if (!ok) parse_error(p, line, "`%s` does not take %s", op, type_text((enum dtype)e->type));
    return ok;
}
static int term_count(struct parser *p, expr e) {
    int64_t k;
    const expr *t;
    const int64_t *co;
    return x_terms(p->c, e, &k, &t, &co);
}
static expr binary(struct parser *p, int line, enum xop op, const char *name, expr a, expr b) {
    if (!a || !b || !agree(p, line, name, &a, &b)) return NULL;
    enum dtype t = (enum dtype)a->type;
    switch (op) {
    case X_ADD:
    case X_SUB:
        if (!need(p, line, name, t == IDX || is_number(t), a)) return NULL;
        if (t == IDX && term_count(p, a) + term_count(p, b) > MAX_TERMS) {
            parse_error(p, line, "an index of more than %d terms", MAX_TERMS);
            return NULL;
        }
        break;
    case X_MUL:
        if (!need(p, line, name, t == IDX || is_number(t), a)) return NULL;
        if (t == IDX && term_count(p, a) * term_count(p, b) > MAX_TERMS) {
            parse_error(p, line, "a product of more than %d terms", MAX_TERMS);
            return NULL;
        }
        break;
    case X_DIV:
    case X_MOD:
        if (!need(p, line, name, t == IDX || is_number(t), a)) return NULL;
        break;
    case X_MIN:
    case X_MAX:
        if (!need(p, line, name, t == IDX || is_number(t) || t == BOOL, a)) return NULL;
        break;
    case X_AND:
    case X_OR:
    case X_XOR:
        if (!need(p, line, name, t == BOOL || is_integer(t), a)) return NULL;
        break;
    case X_SHL:
    case X_SHR:
        if (!need(p, line, name, is_integer(t), a)) return NULL;
        break;
    default: break; /* comparisons take every type */
    }
    if (t == IDX && (op == X_DIV || op == X_MOD)) {
        int64_t lo, hi;
        x_bounds(p->c, b, &lo, &hi);
        if (hi <= 0) {
            parse_error(p, line, "index division needs a positive divisor");
            return NULL;
        }
    }
    return done(p, line, x_bin(p->c, op, a, b));
}

/* ---- types and lists */
enum dtype parse_type(struct parser *p) {
    struct token *t = peek(p);
    enum dtype d = t->kind == T_NAME ? dtype_by_name(t->s, strlen(t->s)) : NONE;
    if (d == NONE || d == IDX) {
        unexpected(p, "a type");
        return NONE;
    }
    p->l.at++;
    return d;
}
int parse_indices(struct parser *p, expr *out, int max, expr *fill, enum dtype fill_type) {
    int n = 0;
    if (accept(p, "]")) return 0;
    while (!(fill && at_word(p, "else"))) {
        if (n == max) {
            parse_error(p, peek(p)->line, "more than %d indices", max);
            return -1;
        }
        if (!(out[n] = parse_index(p))) return -1;
        n++;
        if (!accept(p, ",")) break;
    }
    if (fill && accept_word(p, "else") && !(*fill = parse_as(p, fill_type))) return -1;
    return expect(p, "]") ? n : -1;
}

/* ---- primaries */
static expr parse_or(struct parser *p);
static expr parse_load(struct parser *p, const char *name, int line) {
    struct binding *b = lookup(p, name, true, false);
    if (!b) {
        parse_error(p, line, "no buffer %s here", diag_quote(&p->c->arena, name));
        return NULL;
    }
    expr idx[MAX_RANK], fill = NULL;
    int n = parse_indices(p, idx, MAX_RANK, &fill, dtype_value(b->buf->type));
    return n < 0 ? NULL : done(p, line, x_load(p->c, b->buf, idx, n, fill));
}
/* Arguments up to `)`; false after an error. */
static bool parse_args(struct parser *p, const char *name, int want, expr *a) {
    int line = peek(p)->line;
    for (int k = 0; k < want; k++) {
        if (k && !accept(p, ",")) {
            parse_error(p, line, "`%s` takes %d argument%s", name, want, want == 1 ? "" : "s");
            return false;
        }
        if (!(a[k] = parse_expr(p))) return false;
    }
    if (accept(p, ")")) return true;
    if (at_punct(p, ",")) parse_error(p, line, "`%s` takes %d argument%s", name, want, want == 1 ? "" : "s");
    else unexpected(p, "`)`");
    return false;
}
static expr parse_typed_fn(struct parser *p, enum xop op, const char *name, int line) {
    struct token *t = peek(p);
    enum dtype d = t->kind == T_NAME ? dtype_by_name(t->s, strlen(t->s)) : NONE;
    expr a;
    if (d == NONE) return unexpected(p, "a type"), NULL;
    p->l.at++;
    if (!expect(p, ",") || !parse_args(p, name, 1, &a)) return NULL;
    if (op == X_ROUND) {
        if (!(a = adapt(p, line, a, dtype_value(d)))) return NULL;
        if (a->type != dtype_value(d)) {
            parse_error(p, line, "round(%s, ...) takes %s, not %s", dtype_name(d), dtype_name(dtype_value(d)),
                        type_text((enum dtype)a->type));
            return NULL;
        }
        return done(p, line, x_round(p->c, d, a));
    }
    if (!is_number(d) || !is_number((enum dtype)a->type) || dtype_bytes(d) != dtype_bytes((enum dtype)a->type)) {
        parse_error(p, line, "bitcast from %s to %s: both must be value types of one width",
                    type_text((enum dtype)a->type), dtype_name(d));
        return NULL;
    }
    return done(p, line, x_bitcast(p->c, d, a));
}
static expr parse_cast(struct parser *p, enum dtype t, const char *name, int line) {
    expr a;
    if (!parse_args(p, name, 1, &a)) return NULL;
    bool value = is_number((enum dtype)a->type) || a->type == BOOL || (a->type == IDX && a->op == X_CONST);
    if (a->type == IDX && a->op != X_CONST) {
        parse_error(p, line, "%s(...) of an index: write idx(...) for i64 first", name);
        return NULL;
    }
    if (!(is_number(t) || t == BOOL)) {
        parse_error(p, line, "%s is a storage type; values are cast to value types, and rounded with round(%s, ...)",
                    name, name);
        return NULL;
    }
    if (!need(p, line, name, value, a)) return NULL;
    return done(p, line, x_cast(p->c, t, a));
}
static expr parse_unary_fn(struct parser *p, enum xop op, const char *name, int line) {
    expr a;
    if (!parse_args(p, name, 1, &a)) return NULL;
    enum dtype t = (enum dtype)a->type;
    bool ok;
    switch (op) {
    case X_NOT: ok = t == BOOL || is_integer(t); break;
    case X_SQRT: ok = t == F32 || t == F64; break;
    case X_NEG:
    case X_ABS: ok = is_number(t) || t == IDX; break;
    default: ok = is_number(t); break;
    }
    return need(p, line, name, ok, a) ? done(p, line, x_un(p->c, op, a)) : NULL;
}
static expr parse_op(struct parser *p, enum xop op, const char *name, int line) {
    expr a[3];
    if (xop_class(op) == XC_UNARY) return parse_unary_fn(p, op, name, line);
    if (xop_class(op) == XC_BINARY) return parse_args(p, name, 2, a) ? binary(p, line, op, name, a[0], a[1]) : NULL;
    switch (op) {
    case X_BITCAST:
    case X_ROUND: return parse_typed_fn(p, op, name, line);
    case X_TOIDX:
        if (!parse_args(p, name, 1, a)) return NULL;
        if (!need(p, line, name, is_integer((enum dtype)a[0]->type) || a[0]->type == BOOL, a[0])) return NULL;
        if (measure(p, a[0])->size > MAX_INDEX) {
            parse_error(p, line, "an index expression of more than %d parts", MAX_INDEX);
            return NULL;
        }
        return done(p, line, x_toidx(p->c, a[0]));
    case X_IDXVAL:
        if (!parse_args(p, name, 1, a) || !need(p, line, name, a[0]->type == IDX, a[0])) return NULL;
        return done(p, line, x_idxval(p->c, a[0]));
    case X_GUARD:
        if (!parse_args(p, name, 2, a) || !need(p, line, name, a[0]->type == IDX, a[0]) ||
            !need(p, line, name, a[1]->type == IDX, a[1]))
            return NULL;
        return done(p, line, x_guard(p->c, a[0], a[1]));
    case X_FMA:
        if (!parse_args(p, name, 3, a) || !agree(p, line, name, &a[0], &a[1]) || !agree(p, line, name, &a[0], &a[2]) ||
            !agree(p, line, name, &a[0], &a[1]))
            return NULL;
        if (!need(p, line, name, a[0]->type == F32 || a[0]->type == F64, a[0])) return NULL;
        return done(p, line, x_fma(p->c, a[0], a[1], a[2]));
    case X_SELECT:
        if (!parse_args(p, name, 3, a) || !agree(p, line, name, &a[1], &a[2])) return NULL;
        if (!need(p, line, name, a[0]->type == BOOL, a[0])) return NULL;
        return done(p, line, x_select(p->c, a[0], a[1], a[2]));
    case X_TEXT:
        if (!parse_args(p, name, 2, a) || !(a[1] = adapt(p, line, a[1], I64))) return NULL;
        if (!need(p, line, name, a[0]->op == X_LOAD && !a[0]->has_fill && a[0]->u.buf->type == U8, a[0]) ||
            !need(p, line, name, a[1]->type == I64, a[1]))
            return NULL;
        return done(p, line, x_text(p->c, a[0], a[1]));
    default: break;
    }
    parse_error(p, line, "no function %s", diag_quote(&p->c->arena, name));
    return NULL;
}
static const struct fn *find_fn(const struct module *m, const char *name) {
    for (int k = m->fns.n; k-- > 0;)
        if (m->fns.v[k]->name == name) return m->fns.v[k];
    const struct native *native = native_named(name);
    return native ? &native->fn : NULL;
}
static expr parse_call(struct parser *p, const char *name, bool quoted, int line) {
    if (!quoted) {
        enum dtype t = dtype_by_name(name, strlen(name));
        if (t != NONE && t != IDX) return parse_cast(p, t, name, line);
        for (int k = 0; k < X_COUNT; k++)
            if (!strcmp(name, xop_name((enum xop)k))) return parse_op(p, (enum xop)k, name, line);
    }
    const struct fn *f = find_fn(p->m, name);
    expr a[MAX_ARGS];
    if (!f) {
        parse_error(p, line, "no function %s", diag_quote(&p->c->arena, name));
        return NULL;
    }
    if (!parse_args(p, name, f->nargs, a)) return NULL;
    for (int k = 0; k < f->nargs; k++) {
        if (!(a[k] = adapt(p, line, a[k], f->args[k]))) return NULL;
        if (a[k]->type == f->args[k]) continue;
        parse_error(p, line, "argument %d of `%s` is %s, not %s", k + 1, name, dtype_name(f->args[k]),
                    type_text((enum dtype)a[k]->type));
        return NULL;
    }
    return done(p, line, x_call(p->c, f, a));
}
static expr parse_named(struct parser *p) {
    struct token t = *peek(p);
    bool quoted = t.kind == T_QUOTED;
    p->l.at++;
    if (accept(p, "(")) return parse_call(p, t.s, quoted, t.line);
    if (accept(p, "[")) return parse_load(p, t.s, t.line);
    if (!quoted) {
        if (!strcmp(t.s, "true") || !strcmp(t.s, "false")) return x_bool(p->c, t.s[0] == 't');
        if (!strcmp(t.s, "nan")) return x_const_f(p->c, F32, (double)NAN);
        if (!strcmp(t.s, "inf")) return x_const_f(p->c, F32, (double)INFINITY);
        if (!strcmp(t.s, "nan64")) return x_const_f(p->c, F64, (double)NAN);
        if (!strcmp(t.s, "inf64")) return x_const_f(p->c, F64, (double)INFINITY);
    }
    if (quoted && !*t.s) return x_num(p->c, STR, 0);
    struct binding *b = lookup(p, t.s, false, quoted);
    if (b) return b->e;
    if (lookup(p, t.s, true, false)) parse_error(p, t.line, "buffer %s needs indices", diag_quote(&p->c->arena, t.s));
    else parse_error(p, t.line, "nothing is called %s here", diag_quote(&p->c->arena, t.s));
    return NULL;
}
static expr parse_number(struct parser *p, bool neg) {
    struct token t = *peek(p);
    p->l.at++;
    if (t.kind == T_FLOAT) return x_const_f(p->c, t.suffix, neg ? -t.f : t.f);
    if (t.suffix == U64 && !neg) return x_const_i(p->c, U64, (int64_t)t.i);
    if (t.i > (uint64_t)INT64_MAX + neg) {
        parse_error(p, t.line, "this integer does not fit in 64 bits");
        return NULL;
    }
    int64_t v = neg ? (int64_t)(0 - t.i) : (int64_t)t.i;
    if (t.suffix == NONE) return x_int(p->c, v);
    if (!fits(t.suffix, v)) {
        parse_error(p, t.line, "%lld does not fit in %s", (long long)v, dtype_name(t.suffix));
        return NULL;
    }
    return x_const_i(p->c, t.suffix, v);
}
static expr parse_primary(struct parser *p) {
    struct token *t = peek(p);
    if (t->kind == T_NAME || t->kind == T_QUOTED) return parse_named(p);
    if (t->kind == T_INT || t->kind == T_FLOAT) return parse_number(p, false);
    if (accept(p, "(")) {
        expr e = parse_or(p);
        return e && expect(p, ")") ? e : NULL;
    }
    unexpected(p, "an expression");
    return NULL;
}
static expr parse_unary(struct parser *p) {
    if (p->depth >= MAX_NEST) {
        parse_error(p, peek(p)->line, "nested more than %d levels deep", MAX_NEST);
        return NULL;
    }
    p->depth++;
    expr e;
    struct token *t = peek(p);
    int line = t->line;
    if (!accept(p, "-")) e = parse_primary(p);
    else if (peek(p)->kind == T_INT || peek(p)->kind == T_FLOAT) e = parse_number(p, true);
    else if ((e = parse_unary(p)))
        e = need(p, line, "-", e->type == IDX || is_number((enum dtype)e->type), e)
                ? done(p, line, x_un(p->c, X_NEG, e))
                : NULL;
    p->depth--;
    return e;
}

/* ---- infix operators */
static expr parse_product(struct parser *p) {
    expr e = parse_unary(p);
    while (e && (at_punct(p, "*") || at_punct(p, "/") || at_punct(p, "//") || at_punct(p, "%"))) {
        struct token t = *peek(p);
        p->l.at++;
        expr b = parse_unary(p);
        bool index = e->type == IDX && (!b || b->type == IDX);
        if (b && !strcmp(t.s, "/") && index) {
            parse_error(p, t.line, "index division is written `//`");
            return NULL;
        }
        if (b && !strcmp(t.s, "//") && !index) {
            parse_error(p, t.line, "`//` is index division; values are divided with `/`");
            return NULL;
        }
        e = binary(p, t.line, *t.s == '*' ? X_MUL : *t.s == '/' ? X_DIV : X_MOD, t.s, e, b);
    }
    return e;
}
expr parse_sum(struct parser *p) {
    expr e = parse_product(p);
    while (e && (at_punct(p, "+") || at_punct(p, "-"))) {
        struct token t = *peek(p);
        p->l.at++;
        e = binary(p, t.line, *t.s == '+' ? X_ADD : X_SUB, t.s, e, parse_product(p));
    }
    return e;
}
static expr parse_cmp(struct parser *p) {
    static const struct {
        const char *s;
        enum xop op;
        bool swap;
    } ops[] = {{"<", X_LT, false}, {"<=", X_LE, false}, {">", X_LT, true},
               {">=", X_LE, true}, {"==", X_EQ, false}, {"!=", X_NE, false}};
    expr a = parse_sum(p);
    for (size_t k = 0; a && k < sizeof ops / sizeof *ops; k++) {
        if (!at_punct(p, ops[k].s)) continue;
        int line = peek(p)->line;
        p->l.at++;
        expr b = parse_sum(p);
        return ops[k].swap ? binary(p, line, ops[k].op, ops[k].s, b, a) : binary(p, line, ops[k].op, ops[k].s, a, b);
    }
    return a;
}
static expr parse_joined(struct parser *p, expr (*operand)(struct parser *p), const char *word, enum xop op) {
    expr e = operand(p);
    while (e && at_word(p, word)) {
        int line = peek(p)->line;
        p->l.at++;
        expr b = operand(p);
        if (!b || !need(p, line, word, e->type == BOOL, e) || !need(p, line, word, b->type == BOOL, b)) return NULL;
        e = binary(p, line, op, word, e, b);
    }
    return e;
}
static expr parse_and(struct parser *p) { return parse_joined(p, parse_cmp, "and", X_AND); }
static expr parse_or(struct parser *p) { return parse_joined(p, parse_and, "or", X_OR); }
expr parse_expr(struct parser *p) { return parse_or(p); }
expr parse_index(struct parser *p) {
    int line = peek(p)->line;
    expr e = parse_sum(p);
    if (!e || e->type == IDX) return e;
    parse_error(p, line, "%s where an index is expected: write toidx(...)", type_text((enum dtype)e->type));
    return NULL;
}
expr parse_as(struct parser *p, enum dtype type) {
    int line = peek(p)->line;
    expr e = parse_expr(p);
    if (!e || !(e = adapt(p, line, e, type)) || e->type == type) return e;
    if (e->type == IDX)
        parse_error(p, line, "an index where %s is expected: write idx(...)%s", type_text(type),
                    type == I64 ? "" : " and cast it");
    else parse_error(p, line, "%s where %s is expected", type_text((enum dtype)e->type), type_text(type));
    return NULL;
}
expr parse_cond(struct parser *p) { return parse_as(p, BOOL); }
