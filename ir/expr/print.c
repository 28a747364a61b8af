/* Prints expressions as IR text, in a canonical order that does not depend on node ids. The reader is loop_parse.c. */
#include "ir/expr/print.h"
#include "ir/base/die.h"
#include "ir/base/memory.h"
#include "ir/base/vec.h"
#include "ir/expr/buf.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names */
static const char *const reserved[] = {"for",   "if",     "else",  "alloc",   "free",     "stage", "size",    "call",
                                       "while", "check",  "instr", "barrier", "prefetch", "swap",  "view",    "let",
                                       "step",  "launch", "const", "return",  "proc",     "fn",    "entry",   "kernel",
                                       "true",  "false",  "nan",   "inf",     "nan64",    "inf64", "and",     "or",
                                       "in",    "out",    "inout", "poison",  "todo",     "bind",  "foreign", NULL};
bool is_plain_name(const char *s) {
    if (!begins_word(*s)) return false;
    for (const char *p = s; *p; p++)
        if (!in_word(*p)) return false;
    for (int k = 0; reserved[k]; k++)
        if (!strcmp(s, reserved[k])) return false;
    return true;
}
bool is_builtin_fn(const char *s) {
    if (dtype_by_name(s, strlen(s)) != NONE) return true;
    for (int k = 0; k < X_COUNT; k++)
        if (!strcmp(s, xop_name((enum xop)k))) return true;
    return false;
}
void print_quoted(struct text *t, const char *s) {
    text_char(t, '"');
    for (; *s; s++) {
        unsigned char u = (unsigned char)*s;
        if (u == '"' || u == '\\') text_printf(t, "\\%c", u);
        else if (u == '\n') text_add(t, "\\n");
        else if (u < 32 || u == 127) text_printf(t, "\\x%02x", u);
        else text_char(t, *s);
    }
    text_char(t, '"');
}
void print_name(struct text *t, const char *name) {
    if (is_plain_name(name)) text_add(t, name);
    else print_quoted(t, name);
}

/* ---- constants */
static void print_const(struct text *t, expr e) {
    switch (e->type) {
    case F32: text_f32(t, (float)e->u.f); break;
    case F64:
        text_f64(t, e->u.f);
        text_add(t, isfinite(e->u.f) ? "f64" : "64");
        break;
    case BOOL: text_add(t, e->u.i ? "true" : "false"); break;
    case U64: text_printf(t, "%lluu64", (unsigned long long)e->u.i); break;
    case STR: text_add(t, "\"\""); break; /* the empty string is the only constant */
    default:
        text_printf(t, "%lld", (long long)e->u.i);
        if (e->type != IDX) text_add(t, dtype_name((enum dtype)e->type));
    }
}
static bool const_is_negative(expr e) {
    if (e->type == F32 || e->type == F64) return !isnan(e->u.f) && signbit(e->u.f);
    return e->type != U64 && e->u.i < 0;
}

/* ---- sums and products of index expressions: loop variables in order of nesting, then other terms sorted by text */
struct term_text {
    expr e;
    int64_t coef;
    int rank;
    char *s;
};
static int var_rank(const struct expr_printer *p, const struct var *v) {
    return p->rank_of ? p->rank_of(p->env, v) : v->id;
}
static char *text_of(const struct expr_printer *p, expr e, enum prec most) {
    struct text t = {0};
    struct expr_printer q = *p;
    q.t = &t;
    expr_print(&q, e, most);
    return t.s;
}
static int by_rank(const void *a, const void *b) {
    const struct term_text *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return strcmp(x->s, y->s);
}
static bool is_let(const struct expr_printer *p, expr e) { return p->lets && map_get(p->lets, PKEY(e)); }
/* Rank of the outermost loop variable in a product; other atoms come last. */
static int piece_rank(const struct expr_printer *p, expr e) {
    if (is_let(p, e)) return INT32_MAX;
    if (e->op == X_VAR) return var_rank(p, e->u.var);
    if (e->op != X_PROD) return INT32_MAX;
    int a = piece_rank(p, e->arg[0]), b = piece_rank(p, e->arg[1]);
    return a < b ? a : b;
}
static void sort_pieces(const struct expr_printer *p, struct term_text *v, int n, bool factors) {
    for (int k = 0; k < n; k++) {
        v[k].rank = piece_rank(p, v[k].e);
        bool scaled = v[k].coef != 1 && v[k].coef != -1;
        v[k].s = text_of(p, v[k].e, factors || (scaled && v[k].e->op != X_PROD) ? P_UNARY : P_MUL);
    }
    qsort(v, (size_t)n, sizeof *v, by_rank);
}
static void print_scaled(struct text *t, const struct term_text *q, bool first) {
    if (q->coef == INT64_MIN) { /* has no absolute value */
        text_printf(t, "%s%s*%lld", first ? "" : "+", q->s, (long long)q->coef);
        return;
    }
    int64_t k = q->coef < 0 ? -q->coef : q->coef;
    if (q->coef < 0) text_char(t, '-');
    else if (!first) text_char(t, '+');
    text_add(t, q->s);
    if (k != 1) text_printf(t, "*%lld", (long long)k);
}
static void print_lin(const struct expr_printer *p, expr e) {
    struct term_text *v = memory_zeroed((size_t)e->n, sizeof *v);
    for (int k = 0; k < e->n; k++) v[k] = (struct term_text){e->arg[k], e->coef[k], 0, NULL};
    sort_pieces(p, v, e->n, false);
    if (v[0].coef == -1 && (v[0].e->op == X_DIV || v[0].e->op == X_MOD)) { /* -(i//3) is not -i//3 */
        free(v[0].s);
        v[0].s = text_of(p, v[0].e, P_UNARY);
    }
    for (int k = 0; k < e->n; k++) {
        print_scaled(p->t, &v[k], !k);
        free(v[k].s);
    }
    free(v);
    if (e->u.i) text_printf(p->t, "%s%lld", e->u.i > 0 || e->u.i == INT64_MIN ? "+" : "", (long long)e->u.i);
}
static int count_factors(const struct expr_printer *p, expr e, struct term_text *out) {
    if (e->op != X_PROD || is_let(p, e)) {
        if (out) *out = (struct term_text){e, 1, 0, NULL};
        return 1;
    }
    int n = count_factors(p, e->arg[0], out);
    return n + count_factors(p, e->arg[1], out ? out + n : NULL);
}
static void print_prod(const struct expr_printer *p, expr e) {
    int n = count_factors(p, e->arg[0], NULL), m = count_factors(p, e->arg[1], NULL);
    struct term_text *v = memory_zeroed((size_t)(n + m), sizeof *v);
    count_factors(p, e->arg[0], v);
    count_factors(p, e->arg[1], v + n);
    sort_pieces(p, v, n + m, true);
    for (int k = 0; k < n + m; k++) {
        if (k) text_char(p->t, '*');
        text_add(p->t, v[k].s);
        free(v[k].s);
    }
    free(v);
}

/* ---- the rest */
static void print_args(const struct expr_printer *p, const expr *a, int n, const char *between) {
    for (int k = 0; k < n; k++) {
        if (k) text_add(p->t, between);
        expr_print(p, a[k], P_COND);
    }
}
static void print_fn(const struct expr_printer *p, const char *name, expr e) {
    text_add(p->t, name);
    text_char(p->t, '(');
    print_args(p, e->arg, e->n, ", ");
    text_char(p->t, ')');
}
static void print_infix(const struct expr_printer *p, expr e, const char *op, enum prec left, enum prec right) {
    expr_print(p, e->arg[0], left);
    text_add(p->t, op);
    expr_print(p, e->arg[1], right);
}
static void print_load(const struct expr_printer *p, expr e) {
    int n = e->n - e->has_fill;
    print_name(p->t, e->u.buf->name);
    text_char(p->t, '[');
    print_args(p, e->arg, n, ",");
    if (e->has_fill) {
        text_add(p->t, n ? " else " : "else ");
        expr_print(p, e->arg[n], P_COND);
    }
    text_char(p->t, ']');
}
static void print_leaf(const struct expr_printer *p, expr e) {
    if (p->name_of) text_add(p->t, p->name_of(p->env, e));
    else if (e->op == X_VAR) text_printf(p->t, "%s_%d", e->u.var->name, e->u.var->id);
    else if (e->op == X_SYM) print_name(p->t, e->u.sym->name);
    else text_printf(p->t, "arg%lld", (long long)e->u.i);
}
/* Operands of index min and max are sorted by their texts, because ids must not matter. */
static void print_minmax(const struct expr_printer *p, expr e) {
    char *a = text_of(p, e->arg[0], P_COND), *b = text_of(p, e->arg[1], P_COND);
    bool swap = strcmp(a, b) > 0;
    text_printf(p->t, "%s(%s, %s)", xop_name((enum xop)e->op), swap ? b : a, swap ? a : b);
    free(a), free(b);
}
static enum prec prec_of(expr e) {
    switch (e->op) {
    case X_CONST: return const_is_negative(e) ? P_UNARY : P_ATOM;
    case X_LIN: return e->n == 1 && !e->u.i ? (e->coef[0] > 0 ? P_MUL : P_ADD) : P_ADD;
    case X_PROD:
    case X_MUL:
    case X_DIV:
    case X_MOD: return P_MUL;
    case X_ADD:
    case X_SUB: return P_ADD;
    case X_LT:
    case X_LE:
    case X_EQ:
    case X_NE: return P_REL;
    case X_AND: return e->type == BOOL ? P_AND : P_ATOM;
    case X_OR: return e->type == BOOL ? P_OR : P_ATOM;
    default: return P_ATOM;
    }
}
static void print_bare(const struct expr_printer *p, expr e) {
    struct text *t = p->t;
    switch (e->op) {
    case X_CONST: print_const(t, e); break;
    case X_VAR:
    case X_SYM:
    case X_ARG: print_leaf(p, e); break;
    case X_LIN: print_lin(p, e); break;
    case X_PROD: print_prod(p, e); break;
    case X_LOAD: print_load(p, e); break;
    case X_ADD: print_infix(p, e, " + ", P_ADD, P_MUL); break;
    case X_SUB: print_infix(p, e, " - ", P_ADD, P_MUL); break;
    case X_MUL: print_infix(p, e, " * ", P_MUL, P_UNARY); break;
    case X_DIV: print_infix(p, e, e->type == IDX ? "//" : " / ", P_MUL, P_UNARY); break;
    case X_MOD: print_infix(p, e, e->type == IDX ? "%" : " % ", P_MUL, P_UNARY); break;
    case X_LT: print_infix(p, e, " < ", P_ADD, P_ADD); break;
    case X_LE: print_infix(p, e, " <= ", P_ADD, P_ADD); break;
    case X_EQ: print_infix(p, e, " == ", P_ADD, P_ADD); break;
    case X_NE: print_infix(p, e, " != ", P_ADD, P_ADD); break;
    case X_AND:
    case X_OR:
        if (e->type != BOOL) print_fn(p, xop_name((enum xop)e->op), e);
        else if (e->op == X_AND) print_infix(p, e, " and ", P_AND, P_REL);
        else print_infix(p, e, " or ", P_OR, P_AND);
        break;
    case X_MIN:
    case X_MAX:
        if (e->type == IDX) print_minmax(p, e);
        else print_fn(p, xop_name((enum xop)e->op), e);
        break;
    case X_CAST: print_fn(p, dtype_name((enum dtype)e->type), e); break;
    case X_BITCAST:
    case X_ROUND:
        text_printf(t, "%s(%s, ", xop_name((enum xop)e->op),
                    dtype_name(e->op == X_ROUND ? (enum dtype)e->u.i : (enum dtype)e->type));
        print_args(p, e->arg, e->n, ", ");
        text_char(t, ')');
        break;
    case X_CALL:
        if (is_builtin_fn(e->u.fn->name)) print_quoted(t, e->u.fn->name);
        else print_name(t, e->u.fn->name);
        print_fn(p, "", e);
        break;
    case X_POISON: text_add(t, "poison"); break;
    default: print_fn(p, xop_name((enum xop)e->op), e); break;
    }
}
void expr_print(const struct expr_printer *p, expr e, enum prec most) {
    const char *let = p->lets ? map_get(p->lets, PKEY(e)) : NULL;
    if (let) {
        text_add(p->t, let);
        return;
    }
    bool wrap = prec_of(e) > most;
    if (wrap) text_char(p->t, '(');
    print_bare(p, e);
    if (wrap) text_char(p->t, ')');
}
void x_print(struct text *t, expr e, const char *(*name_of)(void *env, expr leaf), void *env) {
    struct expr_printer p = {.t = t, .name_of = name_of, .env = env};
    expr_print(&p, e, P_COND);
}

/* ---- let lines */
enum { TREE_MAX = 2000, DEPTH_MAX = 60, LET_HEIGHT = 50 };
static bool fits(expr e, int *budget, int depth) {
    if (--*budget < 0 || depth > DEPTH_MAX) return false;
    for (int k = 0; k < e->n; k++)
        if (!fits(e->arg[k], budget, depth + 1)) return false;
    return true;
}
struct let_node {
    int refs, height;
    uint64_t key;
    bool counted;
};
struct let_maker {
    struct ctx *c;
    const struct expr_printer *p;
    struct map nodes;
    VEC(expr) post;
};
static struct let_node *let_node(struct let_maker *m, expr e) {
    struct let_node *n = map_get(&m->nodes, PKEY(e));
    if (!n) map_put(&m->nodes, PKEY(e), n = NEW(&m->c->arena, struct let_node));
    return n;
}
static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}
static uint64_t mix_name(uint64_t h, const char *s) {
    for (; *s; s++) h = mix(h, (unsigned char)*s);
    return h;
}
/* The order of its operands has no meaning. */
static bool any_order(expr e) {
    return e->op == X_LIN || e->op == X_PROD || (e->type == IDX && (e->op == X_MIN || e->op == X_MAX));
}
/* A number that depends on the expression, not on ids: orders the terms of sums without printing them. */
static uint64_t shape_key(struct let_maker *m, expr e) {
    struct let_node *n = let_node(m, e);
    if (n->key) return n->key;
    uint64_t h = mix(mix(1469598103934665603u, e->op), e->type), sum = 0;
    switch (e->op) {
    case X_VAR: h = mix(h, (uint64_t)var_rank(m->p, e->u.var)); break;
    case X_SYM: h = mix_name(h, e->u.sym->name); break;
    case X_LOAD: h = mix_name(h, e->u.buf->name); break;
    case X_CALL: h = mix_name(h, e->u.fn->name); break;
    default: h = mix(h, (uint64_t)e->u.i); break;
    }
    for (int k = 0; k < e->n; k++) {
        uint64_t a = mix(shape_key(m, e->arg[k]), e->op == X_LIN ? (uint64_t)e->coef[k] : 1);
        if (any_order(e)) sum += a;
        else h = mix(h, a);
    }
    h = mix(h, sum);
    return n->key = h ? h : 1;
}
struct keyed {
    uint64_t key;
    expr e;
};
static int by_key(const void *a, const void *b) {
    const struct keyed *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}
/* Operands first, those of sums by key: the order in which let lines are numbered. */
static void count_refs(struct let_maker *m, expr e) {
    struct let_node *n = let_node(m, e);
    n->refs++;
    if (n->counted) return;
    n->counted = true;
    struct keyed *a = NEWN(&m->c->arena, struct keyed, e->n);
    for (int k = 0; k < e->n; k++) a[k] = (struct keyed){shape_key(m, e->arg[k]), e->arg[k]};
    if (any_order(e)) qsort(a, e->n, sizeof *a, by_key);
    for (int k = 0; k < e->n; k++) count_refs(m, a[k].e);
    PUSH(&m->c->arena, &m->post, e);
}
void let_plan_make(struct ctx *c, const struct expr_printer *p, struct let_plan *plan, const expr *roots, int n,
                   bool always) {
    *plan = (struct let_plan){.names = {.arena = &c->arena}};
    int budget = TREE_MAX;
    bool ok = !always;
    for (int k = 0; ok && k < n; k++) ok = fits(roots[k], &budget, 0);
    if (ok) return;
    struct let_maker m = {c, p, {.arena = &c->arena}, {0}};
    for (int k = 0; k < n; k++) count_refs(&m, roots[k]);
    for (int k = 0; k < m.post.n; k++) {
        expr e = m.post.v[k];
        struct let_node *d = let_node(&m, e);
        int h = 0;
        for (int j = 0; j < e->n; j++) {
            int a = let_node(&m, e->arg[j])->height;
            h = a > h ? a : h;
        }
        d->height = e->n ? h + 1 : 0;
        bool root = false;
        for (int j = 0; j < n; j++) root |= roots[j] == e;
        if (!e->n || (d->refs < 2 && (d->height < LET_HEIGHT || root))) continue;
        PUSH(&c->arena, &plan->order, e);
        d->height = 0;
    }
}
