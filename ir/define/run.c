/* Running definitions: inference of types and of symbolically known contents, emission of statements, expansion.
 * The driver's side of the definition builder; called by graph passes and by lowering. */
#include "ir/base/checked.h"
#include "ir/base/embed.h"
#include "ir/define/impl.h"
#include <string.h>

void def_begin(struct def *d, enum def_mode mode, struct graph *g, struct node *n) {
    d->outer = def_now;
    d->mode = mode;
    d->c = g->ctx;
    d->g = g;
    d->n = n;
    d->errors_before = g->ctx->diags.errors;
    g->ctx->diags.origin = n->origin;
    def_now = d;
    d->ins = NEWN(&d->c->arena, T, n->ins.n + 1);
    d->outs = NEWN(&d->c->arena, T, n->outs.n + 1);
}
void def_end(struct def *d) {
    def_now = d->outer;
    d->c->diags.origin = def_now ? def_now->n->origin : NULL;
}
static bool bind_inputs(struct def *d) {
    for (int k = 0; k < d->n->ins.n; k++) {
        struct value *v = d->n->ins.v[k];
        if (!v || (d->mode == DEF_EXPAND && value_is_holder(v))) continue; /* expansions look at the node */
        if (v->type.kind == TY_NONE && d->c->diags.errors)
            return false; /* the node that makes it was refused already:
                           * no second diagnostic */
        if (v->type.kind != TY_TENSOR) return fail(E_TYPE, "input %d is not a tensor", k), false;
        if (v->type.rank < 0) {
            fail(E_RANK, "the rank of input %d is not known", k);
            diag_help(&d->c->diags, "give the shapes of the model's inputs with --shape NAME=AxBxC");
            return false;
        }
        X dims = list0();
        for (int a = 0; a < v->type.rank; a++) dims = push(dims, v->type.dims[a]);
        T t = def_tensor_new(v->type.dtype, dims);
        if (!t) return false;
        t->val = v;
        if (d->mode == DEF_EMIT) t->buf = d->buf_of(d->env, v);
        else t->buf = buf_new(d->c, d->p, internf(d->c->names, "in%d", k), v->type.dtype, SC_PARAM, t->dims, t->rank);
        d->ins[k] = t;
    }
    return true;
}

/* ---- arity, element types, attributes against the row */
static const char *slot_name(const struct op_slot *slots, int k) {
    const struct op_slot *last = NULL;
    for (const struct op_slot *s = slots; s && s->name; s++) {
        last = s;
        if (!k--) return s->name;
    }
    return last ? last->name : "?";
}
static bool check_inputs(struct def *d) {
    const struct op_slot *s = d->n->op->ins;
    int k = 0, n = d->n->ins.n;
    for (; s && s->name; k += !(s->flags & VARIADIC), s++) {
        int to = s->flags & VARIADIC ? n : k + 1;
        if (!(s->flags & OPTIONAL) && (k >= n || !d->n->ins.v[k]))
            return fail(E_ARITY, "input %d \"%s\" is missing", k, s->name), false;
        for (int i = k; i < to && i < n; i++) {
            struct value *v = d->n->ins.v[i];
            if (v && value_is_holder(v) && !(s->flags & HOLDER))
                return fail(E_TYPE, "input %d \"%s\" is not a tensor", i, s->name), false;
            if (v && v->type.kind == TY_TENSOR && !(s->types & TSET(v->type.dtype)))
                return fail(E_TYPE, "input %d \"%s\": %s is not accepted here", i, s->name, dtype_name(v->type.dtype)),
                       false;
            if (v && v->type.kind == TY_TENSOR && s->flags & SCALAR && !type_may_have_one_element(d->c, &v->type))
                return fail(E_SHAPE, "input %d \"%s\" must have one element", i, s->name), false;
        }
        if (s->flags & VARIADIC) return true;
    }
    if (n > k) return fail(E_ARITY, "%d inputs given, %s takes at most %d", n, d->n->op_type, k), false;
    return true;
}
static bool check_outputs(struct def *d) {
    int max = 0;
    for (const struct op_slot *s = d->n->op->outs; s && s->name; s++) {
        if (s->flags & VARIADIC) return true;
        max++;
    }
    if (d->n->outs.n > max)
        return fail(E_ARITY, "%d outputs wanted, %s has at most %d", d->n->outs.n, d->n->op_type, max), false;
    return true;
}
static bool check_attrs(struct def *d) {
    for (const struct op_attr *a = d->n->op->attrs; a && a->name; a++) {
        const struct attr *got = node_attr(d->n, a->name);
        if (!got && a->flags & A_REQUIRED) return fail(E_ATTR, "attribute \"%s\" is missing", a->name), false;
        if (got && got->kind != a->kind &&
            !((got->kind == AT_INTS || got->kind == AT_FLOATS || got->kind == AT_STRINGS) && got->n == 0))
            return fail(E_ATTR, "attribute \"%s\" has the wrong type", a->name), false;
    }
    return true;
}
static bool check_row(struct def *d) {
    if (!d->n->op) return fail(E_OP, "operator %s is not supported", d->n->op_type), false;
    return check_inputs(d) && check_outputs(d) && check_attrs(d);
}

/* ---- symbolic contents: the stages of the definition, executed on expressions */
struct contents {
    struct def *d;
    struct block *block;
    int budget;
    bool failed;
};
static expr element(struct contents *s, const struct buf *b, const int64_t *at);
static int64_t flat_index(const struct buf *b, const int64_t *at) {
    int64_t f = 0, n;
    for (int k = 0; k < b->nd; k++) f = x_is_int(b->dims[k], &n) ? f * n + at[k] : -1;
    return f;
}
static expr resolve_load(void *env, expr e) {
    struct contents *s = env;
    struct ctx *c = s->d->c;
    if (s->failed) return e;
    if (e->op == X_SELECT) { /* lazy: only the arm that is taken */
        expr q = x_map(c, e->arg[0], resolve_load, s);
        if (x_is_true(q)) return x_map(c, e->arg[1], resolve_load, s);
        if (x_is_false(q)) return x_map(c, e->arg[2], resolve_load, s);
        return NULL;
    }
    if (e->op != X_LOAD) return NULL;
    int n = e->n - e->has_fill;
    int64_t at[32];
    bool inside = true;
    for (int k = 0; k < n; k++) {
        expr i = x_map(c, e->arg[k], resolve_load, s);
        int64_t size;
        if (!x_is_int(i, &at[k]) || !x_is_int(e->u.buf->dims[k], &size)) return s->failed = true, e;
        inside = inside && at[k] >= 0 && at[k] < size;
    }
    if (!inside && e->has_fill) return x_map(c, e->arg[n], resolve_load, s);
    expr r = inside ? element(s, e->u.buf, at) : NULL;
    if (!r) s->failed = true;
    return r ? r : e;
}
static expr stage_element(struct contents *s, struct stmt *st, const int64_t *at) {
    struct ctx *c = s->d->c;
    struct subst by = {{.arena = &c->arena}};
    for (int k = 0; k < st->u.stage.naxes; k++) map_put(&by.map, PKEY(st->u.stage.axes[k]), (void *)x_int(c, at[k]));
    if (st->u.stage.op == RED_NONE) return x_map(c, x_subst(c, st->u.stage.value, &by), resolve_load, s);
    expr r = st->u.stage.init ? x_map(c, x_subst(c, st->u.stage.init, &by), resolve_load, s)
                              : red_identity(c, st->u.stage.op, st->u.stage.buf->type);
    int64_t ext[32], i[32] = {0}, total = 1;
    for (int k = 0; k < st->u.stage.nred; k++) {
        if (!x_is_int(x_subst(c, st->u.stage.red[k]->extent, &by), &ext[k]) || ext[k] > 4096) return NULL;
        total *= ext[k];
        if (total > 4096) return NULL;
    }
    for (int64_t step = 0; step < total; step++) {
        int64_t rest = step;
        for (int k = st->u.stage.nred; k--;) i[k] = rest % ext[k], rest /= ext[k];
        for (int k = 0; k < st->u.stage.nred; k++) map_put(&by.map, PKEY(st->u.stage.red[k]), (void *)x_int(c, i[k]));
        r = red_apply(c, st->u.stage.op, r, x_map(c, x_subst(c, st->u.stage.value, &by), resolve_load, s));
        if (s->failed) return NULL;
    }
    return r;
}
static expr element(struct contents *s, const struct buf *b, const int64_t *at) {
    struct ctx *c = s->d->c;
    if (s->failed || --s->budget < 0) return s->failed = true, NULL;
    for (int k = 0; k < s->d->n->ins.n; k++) {
        T t = s->d->ins[k];
        if (!t || t->buf != b) continue;
        int64_t f = flat_index(b, at);
        return f < 0 ? NULL : def_element(c, t->val, f);
    }
    struct stmt *writer = NULL;
    for (struct stmt *st = s->block->first; st; st = st->next) {
        if (!stmt_stores_to(st, b)) continue;
        if (writer || st->kind != S_STAGE) return NULL;
        writer = st;
    }
    return writer ? stage_element(s, writer, at) : NULL;
}
/* Rounds as a store to the element type would. */
static expr stored(struct ctx *c, enum dtype t, expr e) { return t == BOOL ? e : x_round(c, t, e); }
expr *def_contents(struct ctx *c, struct block *block, const struct buf *b, struct def *d, int64_t count) {
    struct contents s = {d, block, 20000, false};
    expr *r = NEWN(&c->arena, expr, count);
    int64_t at[32], ext;
    for (int64_t f = 0; f < count; f++) {
        int64_t rest = f;
        for (int k = b->nd; k--;) {
            if (!x_is_int(b->dims[k], &ext)) return NULL;
            at[k] = rest % ext, rest /= ext;
        }
        r[f] = element(&s, b, at);
        if (s.failed || !r[f]) return NULL;
        r[f] = stored(c, b->type, r[f]);
        if (x_has(r[f], XF_LOAD | XF_VAR | XF_POISON | XF_CALL | XF_GUARD)) return NULL;
    }
    return r;
}
static expr read_by_place(void *env, expr e) {
    const struct def *d = env;
    if (e->op != X_LOAD || e->has_fill) return NULL;
    for (int k = 0; k < d->n->ins.n; k++)
        if (d->ins[k] && d->ins[k]->buf == e->u.buf) return def_element_at(d->c, d->ins[k]->val, e->arg);
    return NULL;
}
/* The elements in terms of their indices, according to the only stage that writes them; for floats only if all are the
 * same. Long expressions are not taken: reading is cheaper than recomputing them. */
static const struct elements *each_element(struct def *d, struct block *block, T t) {
    enum { MOST_NODES = 24 };
    const struct stmt *writer = NULL;
    for (struct stmt *s = block->first; s; s = s->next) {
        if (!stmt_stores_to(s, t->buf)) continue;
        if (writer || s->kind != S_STAGE || s->u.stage.op != RED_NONE) return NULL;
        writer = s;
    }
    if (!writer || writer->u.stage.naxes != t->rank) return NULL;
    expr e = stored(d->c, t->type, x_map(d->c, writer->u.stage.value, read_by_place, d));
    unsigned unknown = XF_LOAD | XF_POISON | XF_CALL | XF_GUARD | (dtype_is_float(t->type) ? XF_VAR : 0);
    if (x_has(e, unknown) || x_count(e, MOST_NODES) == MOST_NODES) return NULL;
    struct elements each = {writer->u.stage.axes, writer->u.stage.naxes, e};
    return arena_copy(&d->c->arena, &each, sizeof each);
}
enum { CONTENTS_MAX = 256 };
static void infer_contents(struct def *d, struct block *block, struct value *v, T t) {
    int64_t count = 1, n;
    bool simple = t->type != STR && !dtype_is_complex(t->type);
    v->each = simple ? each_element(d, block, t) : NULL;
    for (int k = 0; k < t->rank; k++) {
        if (!x_is_int(t->dims[k], &n)) return;
        if (n < 0 || !mul_ok(count, n, &count) || count > CONTENTS_MAX) return;
    }
    if (!simple) return;
    v->elems = def_contents(d->c, block, t->buf, d, count);
    v->nelems = v->elems ? (int)count : 0;
}
static bool dims_positive(struct def *d, T t) {
    for (int k = 0; k < t->rank; k++) {
        int64_t lo, hi;
        x_bounds(d->c, t->dims[k], &lo, &hi);
        if (hi < 0) return fail(E_SIZE, "the result would have a negative dimension (axis %d)", k), false;
        (void)lo;
    }
    return true;
}
bool def_check(struct graph *g, struct node *n) {
    struct def d = {0};
    def_begin(&d, DEF_INFER, g, n);
    bool ok = check_row(&d);
    def_end(&d);
    return ok;
}
bool def_infer(struct graph *g, struct node *n) {
    struct def d = {0};
    struct block block = {0};
    def_begin(&d, DEF_INFER, g, n);
    d.p = proc_new(d.c, "infer");
    d.into = &block;
    bool ok = check_row(&d) && bind_inputs(&d);
    if (ok && n->op->define) {
        n->op->define();
        ok = d.c->diags.errors == d.errors_before;
        for (int k = 0; ok && k < n->outs.n; k++) {
            struct value *v = n->outs.v[k];
            T t = d.outs[k];
            if (!v || (!t && !v->uses.n)) continue; /* definitions leave out unused results */
            if (!t) {
                fail(E_ARITY, "output %d \"%s\" is not available in this form of %s", k, slot_name(n->op->outs, k),
                     n->op_type);
                ok = false;
                break;
            }
            ok = dims_positive(&d, t);
            v->type = type_tensor(d.c, t->type, t->dims, t->rank);
            infer_contents(&d, &block, v, t);
        }
    }
    def_end(&d);
    return ok;
}
bool def_emit(struct graph *g, struct node *n, struct module *m, struct proc *p, struct block *into,
              struct buf *(*buf_of)(void *env, struct value *v), void *env) {
    struct def d = {0};
    def_begin(&d, DEF_EMIT, g, n);
    d.m = m;
    d.p = p;
    d.into = into;
    d.buf_of = buf_of;
    d.env = env;
    bool ok = bind_inputs(&d);
    if (ok) n->op->define();
    ok = ok && d.c->diags.errors == d.errors_before;
    def_end(&d);
    return ok;
}
bool def_expand(struct graph *g, struct node *n) {
    struct def d = {0};
    def_begin(&d, DEF_EXPAND, g, n);
    d.p = proc_new(d.c, "expand");
    bool ok = check_row(&d) && bind_inputs(&d);
    const struct node *before = n->prev;
    if (ok) n->op->expand();
    ok = ok && d.c->diags.errors == d.errors_before;
    for (int k = 0; ok && k < n->outs.n; k++)
        if (n->outs.v[k] && n->outs.v[k]->uses.n) def_unfit(), ok = false; /* gave up without a diagnostic */
    def_end(&d);
    trace_because(g, NULL,
                  n->prev == before ? "it gives an operand or a constant" : "other operators stand in its place");
    if (ok) node_remove(n);
    return ok;
}

/* ---- math functions */
const struct fn *math_fn(struct ctx *c, const char *name, enum dtype t) {
    if (!c->math) {
        for (size_t k = 0; k < nn_embedded_count; k++)
            if (!strcmp(nn_embedded[k].path, "templates/kernels/math.lir"))
                c->math = loop_parse(c, (const char *)nn_embedded[k].data, nn_embedded[k].size, nn_embedded[k].path);
        if (!c->math) BUG("templates/kernels/math.lir does not parse");
    }
    const char *full = t == F64 ? internf(c->names, "%s_f64", name) : intern(c->names, name);
    for (int k = 0; k < c->math->fns.n; k++)
        if (c->math->fns.v[k]->name == full) return c->math->fns.v[k];
    return NULL;
}
