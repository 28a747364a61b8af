/* Expressions: the table that makes equal ones the same node, and leaves. See expr.h. Simplifying constructors are in
 * index.c (index arithmetic) and value.c (all others), rebuilding in map.c, bounds and proofs in bounds.c and prove.c,
 * constant folding of values in fold.c. Shared by graph IR (dims) and loop IR (everything). */
#include "ir/expr/fold.h"
#include "ir/expr/int.h"
#include <string.h>

struct expr_slot {
    expr e;
    uint32_t hash; /* a copy, so that most nodes met while searching need not be accessed */
};
enum { SMALL = 1024 };
struct expr_table {
    struct expr_slot *slots;
    uint8_t *proofs; /* by id, which half of cap is enough for */
    size_t n, cap;
    expr small[SMALL];   /* integers of type IDX, the most frequent nodes; NULL: not made yet */
    struct map noinline; /* function -> the same as a separately compiled one */
};

struct expr_table *expr_table_new(struct ctx *c) {
    struct expr_table *t = NEW(&c->arena, struct expr_table);
    t->cap = 4096;
    t->slots = NEWN(&c->arena, struct expr_slot, t->cap);
    t->proofs = NEWN(&c->arena, uint8_t, t->cap / 2 + 1);
    t->noinline = (struct map){.arena = &c->arena};
    return t;
}
const struct fn *fn_noinline(struct ctx *c, const struct fn *f) {
    struct fn *other = map_get(&c->exprs->noinline, PKEY(f));
    if (f->noinline || other) return f->noinline ? f : other;
    other = NEW(&c->arena, struct fn);
    *other = *f;
    other->name = internf(c->names, "%s_noinline", f->name);
    other->id = ++c->next_id;
    other->noinline = true;
    map_put(&c->exprs->noinline, PKEY(f), other);
    return other;
}
uint8_t *x_proof(struct ctx *c, expr e) { return &c->exprs->proofs[e->id]; }

static const struct {
    const char *name;
    int operands;
    enum xop_class class;
} ops[] = {
#define X(id, text, n, class) {text, n, XC_##class},
    XOPS(X)
#undef X
};
const char *xop_name(enum xop op) { return ops[op].name; }
int xop_operands(enum xop op) { return ops[op].operands; }
enum xop_class xop_class(enum xop op) { return ops[op].class; }

/* ---- hash-consing */
static uint64_t mix(uint64_t h, uint64_t v) {
    h ^= v + 0x9E3779B97F4A7C15u + (h << 6) + (h >> 2);
    return h * 0xFF51AFD7ED558CCDu;
}
static uint32_t node_hash(expr e) {
    uint64_t h = mix(e->op, e->type), payload;
    memcpy(&payload, &e->u, sizeof payload);
    h = mix(mix(h, payload), (uint64_t)e->n << 1 | e->has_fill);
    for (int k = 0; k < e->n; k++) {
        h = mix(h, e->arg[k]->id);
        if (e->op == X_LIN) h = mix(h, (uint64_t)e->coef[k]);
    }
    return (uint32_t)(h >> 32);
}
static bool node_equal(expr a, expr b) {
    if (a->hash != b->hash || a->op != b->op || a->type != b->type || a->has_fill != b->has_fill || a->n != b->n)
        return false;
    if (memcmp(&a->u, &b->u, sizeof a->u)) return false;
    for (int k = 0; k < a->n; k++)
        if (a->arg[k] != b->arg[k] || (a->op == X_LIN && a->coef[k] != b->coef[k])) return false;
    return true;
}
static void table_grow(struct ctx *c, struct expr_table *t) {
    size_t cap = t->cap * 2;
    struct expr_slot *slots = NEWN(&c->arena, struct expr_slot, cap);
    for (size_t k = 0; k < t->cap; k++) {
        if (!t->slots[k].e) continue;
        size_t at = t->slots[k].hash & (cap - 1);
        while (slots[at].e) at = (at + 1) & (cap - 1);
        slots[at] = t->slots[k];
    }
    uint8_t *proofs = NEWN(&c->arena, uint8_t, cap / 2 + 1);
    memcpy(proofs, t->proofs, t->cap / 2 + 1);
    t->slots = slots;
    t->proofs = proofs;
    t->cap = cap;
}
static unsigned own_holds(expr e) {
    switch (e->op) {
    case X_POISON: return XF_POISON;
    case X_VAR: return XF_VAR | (e->u.var->unclamped ? XF_UNCLAMPED : 0u);
    case X_SYM: return XF_SYM | (e->u.sym->produced ? XF_PRODUCED : 0u);
    case X_ARG: return XF_ARG;
    case X_LOAD: return XF_LOAD;
    case X_TOIDX: return XF_TOIDX;
    case X_GUARD: return XF_GUARD;
    case X_CALL: return XF_CALL;
    case X_MAX: return e->arg[0]->op == X_CONST || e->arg[1]->op == X_CONST ? XF_CLAMP : 0;
    default: return xop_class((enum xop)e->op) == XC_COMPARE && e->arg[0]->type == IDX ? XF_INDEX_TEST : 0;
    }
}
static unsigned all_holds(expr e) {
    unsigned all = own_holds(e);
    for (int k = 0; k < e->n; k++) all |= e->arg[k]->holds;
    return all;
}
expr x_make(struct ctx *c, const struct expr *proto, const expr *args, int n, const int64_t *coefs) {
    struct expr_table *t = c->exprs;
    enum { INLINE = 24 };
    _Alignas(struct expr) char small[sizeof(struct expr) + INLINE * sizeof(expr)];
    struct expr *probe = (struct expr *)(void *)small;
    if (n > UINT16_MAX) return x_poison(c);
    if (n > INLINE) probe = arena_alloc(&c->arena, sizeof *probe + (size_t)n * sizeof(expr));
    memcpy(probe, proto, sizeof *proto);
    probe->n = (uint16_t)n;
    probe->coef = coefs;
    if (n) memcpy((void *)((char *)probe + offsetof(struct expr, arg)), args, (size_t)n * sizeof(expr));
    probe->hash = node_hash(probe);
    size_t at = probe->hash & (t->cap - 1);
    for (; t->slots[at].e; at = (at + 1) & (t->cap - 1))
        if (t->slots[at].hash == probe->hash && node_equal(t->slots[at].e, probe)) return t->slots[at].e;
    struct expr *e = arena_alloc(&c->arena, sizeof *e + (size_t)n * sizeof(expr));
    memcpy(e, probe, sizeof *e + (size_t)n * sizeof(expr));
    if (coefs) e->coef = arena_copy(&c->arena, coefs, (size_t)n * sizeof *coefs);
    e->holds = (uint16_t)all_holds(e);
    e->id = (uint32_t)++t->n;
    t->slots[at] = (struct expr_slot){e, e->hash};
    if (t->n * 2 > t->cap) table_grow(c, t);
    return e;
}
void x_head(struct expr *h, enum xop op, enum dtype type) {
    memset(h, 0, sizeof *h);
    h->op = (uint8_t)op;
    h->type = (uint8_t)type;
}
expr x_node(struct ctx *c, enum xop op, enum dtype type, const expr *args, int n) {
    struct expr h;
    x_head(&h, op, type);
    return x_make(c, &h, args, n, NULL);
}
bool x_poisoned(const expr *a, int n) {
    for (int k = 0; k < n; k++)
        if (!a[k] || a[k]->op == X_POISON) return true;
    return false;
}

/* ---- leaves */
struct var *var_new(struct ctx *c, const char *name, expr extent) {
    struct var *v = NEW(&c->arena, struct var);
    v->name = intern(c->names, name);
    v->id = ++c->next_id;
    v->extent = extent;
    var_unclamp(c, v);
    return v;
}
void vars_over(struct ctx *c, const char *prefix, const expr *extents, int n, const struct var **v, expr *at) {
    for (int k = 0; k < n; k++) {
        v[k] = var_new(c, internf(c->names, "%s%d", prefix, k), extents[k]);
        at[k] = x_var(c, v[k]);
    }
}
struct sym *sym_new(struct ctx *c, const char *name, int64_t lo, int64_t hi, bool produced) {
    struct sym *s = NEW(&c->arena, struct sym);
    s->name = intern(c->names, name);
    s->id = ++c->next_id;
    s->lo = lo;
    s->hi = hi;
    s->produced = produced;
    return s;
}
expr x_poison(struct ctx *c) { return x_node(c, X_POISON, NONE, NULL, 0); }
expr x_int(struct ctx *c, int64_t v) {
    expr unkept = NULL, *e = v >= 0 && v < SMALL ? &c->exprs->small[v] : &unkept;
    struct expr h;
    if (*e) return *e;
    x_head(&h, X_CONST, IDX);
    h.u.i = v;
    return *e = x_make(c, &h, NULL, 0, NULL);
}
expr x_const_i(struct ctx *c, enum dtype t, int64_t v) {
    struct expr h;
    x_head(&h, X_CONST, t);
    h.u.i = fold_wrap(t, v);
    return x_make(c, &h, NULL, 0, NULL);
}
expr x_const_f(struct ctx *c, enum dtype t, double v) {
    struct expr h;
    x_head(&h, X_CONST, t);
    h.u.f = t == F32 ? (double)(float)v : v;
    return x_make(c, &h, NULL, 0, NULL);
}
expr x_num(struct ctx *c, enum dtype t, double v) {
    if (t == F32 || t == F64) return x_const_f(c, t, v);
    return t == IDX ? x_int(c, (int64_t)v) : x_const_i(c, t, f64_to_i64_sat(v));
}
expr x_bool(struct ctx *c, bool v) { return x_const_i(c, BOOL, v); }
expr x_var(struct ctx *c, const struct var *v) {
    struct expr h;
    x_head(&h, X_VAR, IDX);
    h.u.var = v;
    return x_make(c, &h, NULL, 0, NULL);
}
expr x_sym(struct ctx *c, const struct sym *s) {
    if (s->lo == s->hi) return x_int(c, s->lo);
    struct expr h;
    x_head(&h, X_SYM, IDX);
    h.u.sym = s;
    return x_make(c, &h, NULL, 0, NULL);
}
expr x_arg(struct ctx *c, int number, enum dtype t) {
    struct expr h;
    x_head(&h, X_ARG, t);
    h.u.i = number;
    return x_make(c, &h, NULL, 0, NULL);
}
