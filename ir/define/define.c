/* The definition builder, reading side: the node's inputs, attributes, lists and scalar expressions. Statements stand
 * in emit.c, running definitions in run.c. */
#include "ir/define/impl.h"
#include "ir/expr/native.h"
#include <math.h>
#include <string.h>

_Thread_local struct def *def_now;

static void add_inputs(struct text *t) {
    for (int k = 0; k < n_in(); k++) {
        const struct value *v = def_now->n->ins.v[k];
        if (k) text_add(t, ", ");
        if (v) type_print(t, &v->type);
        else text_char(t, '_');
    }
}
/* Fails if a shape check is known to fail; its diagnostic says which shapes. */
void fail(enum diag_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    struct text t = {0};
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    if ((code == E_SHAPE || code == E_RANK) && !strchr(fmt, '%') && n_in()) {
        text_add(&t, "; inputs ");
        add_inputs(&t);
    }
    diag(&DEF_CTX->diags, DIAG_ERROR, code, "%s", t.s ? t.s : "");
    text_free(&t);
}
void help(const char *text) { diag_help(&DEF_CTX->diags, "%s", text); }

void def_unfit(void) {
    struct text t = {0};
    add_inputs(&t);
    fail(E_SHAPE, "inputs %s do not fit the operator", t.s ? t.s : "()");
    text_free(&t);
}

/* ---- the node */
int n_in(void) { return def_now->n->ins.n; }
int n_out(void) { return def_now->n->outs.n; }
T in(int k) { return k < def_now->n->ins.n ? def_now->ins[k] : NULL; }
bool has(T t) { return t != NULL; }
bool wants(int k) {
    return k < def_now->n->outs.n && def_now->n->outs.v[k] && (def_now->n->outs.v[k]->uses.n || k == 0);
}
enum dtype dtype(T t) { return t ? t->type : NONE; }
enum dtype acc(T t) {
    switch (dtype(t)) {
    case F64: return F64;
    case I8:
    case U8:
    case BOOL: return I32;
    case I16:
    case U16:
    case I32:
    case I64: return I64;
    case U32:
    case U64: return U64;
    default: return F32;
    }
}
int rank(T t) { return t ? t->rank : 0; }
E dim(T t, int k) { return t && k >= 0 && k < t->rank ? t->dims[k] : x_poison(DEF_CTX); }
X shape(T t) {
    X x = list0();
    for (int k = 0; k < rank(t); k++) x = push(x, t->dims[k]);
    return x;
}
E numel(T t) { return product(shape(t)); }
const struct tensor *const_of(T t) { return t && t->val ? t->val->init : NULL; }

/* ---- attributes */
static const struct attr *given(const char *name, enum attr_kind kind) {
    const struct attr *a = node_attr(def_now->n, name);
    if (!a) return NULL;
    if (a->kind == kind) return a;
    fail(E_ATTR, "attribute \"%s\" has the wrong type", name);
    return NULL;
}
bool has_attr(const char *name) { return node_attr(def_now->n, name) != NULL; }
int64_t int_attr(const char *name) {
    const struct attr *a = given(name, AT_INT);
    const struct op_attr *row = op_attr_named(def_now->n->op, name);
    return a ? a->u.i : row ? row->i : 0;
}
double float_attr(const char *name) {
    const struct attr *a = given(name, AT_FLOAT);
    const struct op_attr *row = op_attr_named(def_now->n->op, name);
    return a ? (double)a->u.f : row ? (double)row->f : 0;
}
const char *str_attr(const char *name) {
    const struct attr *a = given(name, AT_STRING);
    const struct op_attr *row = op_attr_named(def_now->n->op, name);
    if (a && memchr(a->u.s.p, 0, a->u.s.n)) return fail(E_ATTR, "attribute \"%s\" holds a NUL character", name), "";
    if (a) return internn(DEF_CTX->names, a->u.s.p, a->u.s.n);
    return row && row->s ? row->s : "";
}
int ints_attr(const char *name, const int64_t **v) {
    const struct attr *a = given(name, AT_INTS);
    *v = a ? a->u.is : NULL;
    return a ? a->n : 0;
}
int floats_attr(const char *name, const float **v) {
    const struct attr *a = given(name, AT_FLOATS);
    *v = a ? a->u.fs : NULL;
    return a ? a->n : 0;
}
const struct tensor *tensor_attr(const char *name) {
    const struct attr *a = given(name, AT_TENSOR);
    return a ? a->u.t : NULL;
}
int norm_axis(int64_t axis, int r) {
    if (fail_if(axis < -r || axis >= (r ? r : 1), E_ATTR, "axis %lld is outside the rank %d", (long long)axis, r))
        return 0;
    return (int)(axis < 0 ? axis + r : axis);
}
int axis_attr(const char *name, T t) { return norm_axis(int_attr(name), rank(t)); }
enum dtype type_attr(const char *name) {
    if (!has_attr(name)) return NONE;
    enum dtype t = dtype_by_onnx((int)int_attr(name));
    if (t == NONE) fail(E_ATTR, "attribute \"%s\": unknown element type %lld", name, (long long)int_attr(name));
    if (dtype_is_complex(t)) return fail(E_TYPE, "attribute \"%s\": complex numbers are only moved", name), NONE;
    return t;
}

/* ---- contents of small integer inputs */
expr def_element(struct ctx *c, const struct value *v, int64_t k) {
    if (v->elems) return k < v->nelems ? v->elems[k] : NULL;
    if (!v->init || k >= tensor_count(v->init)) return NULL;
    enum dtype vt = dtype_value(v->init->type);
    if (vt == STR || dtype_is_complex(vt)) return NULL;
    return vt == F32 || vt == F64 ? x_const_f(c, vt, tensor_f(v->init, k)) : x_const_i(c, vt, tensor_i(v->init, k));
}
/* The element of a constant, or of a tensor of one element; otherwise NULL. */
static expr only_element(struct ctx *c, const struct value *v) {
    bool one = v->elems ? v->nelems == 1 : v->init && (v->init->source == TS_SPLAT || tensor_count(v->init) == 1);
    return one ? def_element(c, v, 0) : NULL;
}
expr def_element_at(struct ctx *c, const struct value *v, const expr *at) {
    struct subst places = {{.arena = &c->arena}};
    expr only = v ? only_element(c, v) : NULL;
    if (only || !v || !v->each) return only;
    for (int k = 0; k < v->each->naxes; k++) map_put(&places.map, PKEY(v->each->axes[k]), (void *)at[k]);
    return x_subst(c, v->each->is, &places);
}
E everywhere(T t) {
    if (!t || !t->val) return NULL;
    E only = only_element(DEF_CTX, t->val), e = only || !t->val->each ? only : t->val->each->is;
    return e && !x_has(e, XF_VAR) ? e : NULL;
}
static E known(T t, int k) { return t && t->val ? def_element(DEF_CTX, t->val, k) : NULL; }
static E known_index(T t, int k) { /* NULL for 32-bit arithmetic that may wrap as well: a size found at run time, not a
                                    * dim */
    E e = known(t, k);
    if (e) e = x_toidx(DEF_CTX, e);
    return e && !x_has(e, XF_TOIDX) ? e : NULL;
}
bool values_known(T t) {
    if (!t || !t->val) return false;
    for (int k = 0; t->val->elems && k < t->val->nelems; k++)
        if (!known_index(t, k)) return false;
    return t->val->elems || t->val->init;
}
E value(T t, int k, int64_t lo, int64_t hi) {
    if (!t) return x_poison(DEF_CTX);
    E e = known_index(t, k);
    if (e) return e;
    if (t->rank == 1) require(lt(idx(k), t->dims[0]), "a vector of sizes has no element %d", k);
    return size_from(NULL, t, k, x_int(DEF_CTX, lo), x_int(DEF_CTX, hi));
}
int count_of(T t) {
    int64_t n;
    if (!t) return 0;
    if (t->rank == 0) return 1;
    if (t->rank == 1 && x_is_int(t->dims[0], &n) && n <= 1 << 16) return (int)n;
    rank_unsaid();
    return -1;
}
int rank_said(void) {
    const struct graph *g = def_now->g;
    const struct value *v = def_now->n->outs.n ? def_now->n->outs.v[0] : NULL;
    if (!v) return -1;
    int said = graph_said_rank(g, v->name);
    if (said >= 0) return said;
    if (v->type.kind == TY_TENSOR && v->type.rank >= 0) return v->type.rank;
    for (int k = 0; k < g->declared.n && *v->name; k++)
        if (!strcmp(g->declared.v[k].name, v->name)) return g->declared.v[k].rank;
    return -1;
}
void rank_unsaid(void) {
    struct diags *d = &DEF_CTX->diags;
    const struct value *v = def_now->n->outs.n ? def_now->n->outs.v[0] : NULL;
    fail(E_RANK, "the rank of the result depends on the length of an input that only the run knows");
    if (v && *v->name)
        diag_help(d, "say the rank with --rank %s=N, or the shapes of the model's inputs with --shape NAME=AxBxC",
                  diag_quote(&DEF_CTX->arena, v->name));
    else diag_help(d, "give the shapes of the model's inputs with --shape NAME=AxBxC");
}
int count_by_rank(T t, int base, int sign) {
    int64_t known;
    int said = t && t->rank == 1 && !x_is_int(t->dims[0], &known) ? rank_said() : -1, n = sign * (said - base);
    if (said < 0) return count_of(t);
    if (n < 0) return fail(E_RANK, "the result cannot have the rank %d that is said of it", said), -1;
    require(eq(t->dims[0], idx(n)), "the result has the rank %d in what was compiled", said);
    return n;
}
bool const_value(T t, int64_t k, double *v) {
    const struct tensor *c = const_of(t);
    if (c && (c->type == STR || dtype_is_complex(c->type))) return false; /* no number */
    if (c && k < tensor_count(c)) return *v = dtype_is_float(c->type) ? tensor_f(c, k) : (double)tensor_i(c, k), true;
    E e = t && k < INT32_MAX ? known(t, (int)k) : NULL;
    if (!e || e->op != X_CONST) return false;
    return *v = e->type == F32 || e->type == F64 ? e->u.f : (double)e->u.i, true;
}

/* ---- lists */
X list0(void) { return (X){0}; }
X push(X a, E e) {
    if (a.n < X_MAX_LIST) a.v[a.n++] = e;
    else fail(E_LIMIT, "more than %d dimensions", X_MAX_LIST);
    return a;
}
X list1(E a) { return push(list0(), a); }
X list2(E a, E b) { return push(list1(a), b); }
X list3(E a, E b, E c) { return push(list2(a, b), c); }
X cat(X a, X b) {
    for (int k = 0; k < b.n; k++) a = push(a, b.v[k]);
    return a;
}
X sub_list(X a, int k, int n) {
    X r = list0();
    for (int i = k; i < k + n && i < a.n; i++) r = push(r, a.v[i]);
    return r;
}
X splice(X a, int k, int n, X by) { return cat(cat(sub_list(a, 0, k), by), sub_list(a, k + n, a.n)); }
X drop(X a, int k) { return splice(a, k, 1, list0()); }
X put(X a, int k, E e) { return splice(a, k, 1, list1(e)); }
E product(X a) {
    E p = x_int(DEF_CTX, 1);
    for (int k = 0; k < a.n; k++) p = x_mul(DEF_CTX, p, a.v[k]);
    return p;
}

/* ---- index variables */
static const char *name_at(const char **names) { /* next of a blank-separated list, interned; NULL at the end */
    if (!*names) return NULL;
    const char *s = *names + strspn(*names, " ");
    size_t n = strcspn(s, " ");
    *names = s + n;
    return n ? internn(DEF_CTX->names, s, n) : NULL;
}
static X variables(X extents, const char *names, const char *prefix) {
    X r = list0();
    for (int k = 0; k < extents.n; k++) {
        const char *name = name_at(&names);
        if (!name) name = internf(DEF_CTX->names, "%s%d", prefix, k);
        r = push(r, extents.v[k]->op == X_POISON ? extents.v[k] : x_var(DEF_CTX, var_new(DEF_CTX, name, extents.v[k])));
    }
    return r;
}
X axes(X extents) { return variables(extents, NULL, "i"); }
X axes_named(X extents, const char *names) { return variables(extents, names, "i"); }
X raxes(X extents, const char *names) { return variables(extents, names, "r"); }
E raxis(E extent, const char *name) { return raxes(list1(extent), name).v[0]; }

/* ---- scalar expressions */
E num(double v) { return x_const_f(DEF_CTX, F64, v); }
E idx(int64_t v) { return x_int(DEF_CTX, v); }
E typed(enum dtype t, double v) { return x_num(DEF_CTX, t, v); }
E neutral(enum red_op op, enum dtype t) { return red_identity(DEF_CTX, op, t); }
E least(enum dtype t) { return neutral(RED_MAX, t); }
E greatest(enum dtype t) { return neutral(RED_MIN, t); }
static double number(E e) { return e->type == F32 || e->type == F64 ? e->u.f : (double)e->u.i; }
static bool any_float(E e) { return e->type == F32 || e->type == F64; }
/* As a constant of type t, which must be able to hold it: truncating it would give a wrong answer. */
static E literal(E e, enum dtype t) {
    double v = number(e);
    if (fail_if((dtype_is_int(t) || t == IDX) && !(floor(v) == v && isfinite(v)), E_TYPE,
                "%g is no value of type %s, which it is computed with", v, dtype_name(t)))
        return x_poison(DEF_CTX);
    return x_num(DEF_CTX, t, v);
}
/* Literals take the other operand's type; an index beside an integer value becomes that value. */
static void unify(E *a, E *b) {
    struct ctx *c = DEF_CTX;
    if ((*a)->type == (*b)->type || (*a)->op == X_POISON || (*b)->op == X_POISON) return;
    bool la = (*a)->op == X_CONST && (*a)->type == F64, lb = (*b)->op == X_CONST && (*b)->type == F64;
    if (lb) *b = literal(*b, (enum dtype)(*a)->type);
    else if (la) *a = literal(*a, (enum dtype)(*b)->type);
    else if ((*a)->op == X_CONST && (*a)->type == IDX && !any_float(*b))
        *a = x_const_i(c, (enum dtype)(*b)->type, (*a)->u.i);
    else if ((*b)->op == X_CONST && (*b)->type == IDX && !any_float(*a))
        *b = x_const_i(c, (enum dtype)(*a)->type, (*b)->u.i);
    else if ((*a)->type == IDX && !any_float(*b)) *a = x_idxval(c, *a), *b = x_cast(c, I64, *b);
    else if ((*b)->type == IDX && !any_float(*a)) *b = x_idxval(c, *b), *a = x_cast(c, I64, *a);
    if ((*a)->type != (*b)->type)
        fail(E_TYPE, "%s and %s are computed with each other", dtype_name((enum dtype)(*a)->type),
             dtype_name((enum dtype)(*b)->type));
}
static E bin(enum xop op, E a, E b) {
    if (!a || !b) return x_poison(DEF_CTX);
    unify(&a, &b);
    return x_bin(DEF_CTX, op, a, b);
}
E add(E a, E b) { return bin(X_ADD, a, b); }
E sub(E a, E b) { return bin(X_SUB, a, b); }
E mul(E a, E b) { return bin(X_MUL, a, b); }
E div_(E a, E b) { return bin(X_DIV, a, b); }
E mod_(E a, E b) { return bin(X_MOD, a, b); }
E min_(E a, E b) { return bin(X_MIN, a, b); }
E max_(E a, E b) { return bin(X_MAX, a, b); }
E fma_(E a, E b, E d) {
    unify(&a, &b), unify(&a, &d), unify(&b, &d);
    return x_fma(DEF_CTX, a, b, d);
}
E neg(E a) { return x_un(DEF_CTX, X_NEG, a); }
E abs_(E a) { return x_un(DEF_CTX, X_ABS, a); }
E sqrt_(E a) { return x_un(DEF_CTX, X_SQRT, a); }
E floor_(E a) { return x_un(DEF_CTX, X_FLOOR, a); }
E ceil_(E a) { return x_un(DEF_CTX, X_CEIL, a); }
E trunc_(E a) { return x_un(DEF_CTX, X_TRUNC, a); }
E rint_(E a) { return x_un(DEF_CTX, X_RINT, a); }
/* Only for sizes. */
static void refute(enum xop op, E a, E b) {
    struct def *d = def_now;
    bool sizes = (a->type == IDX || a->op == X_CONST) && (b->type == IDX || b->op == X_CONST);
    if (sizes && !any_float(a) && d->nrefuted < REFUTED_MAX) d->refuted[d->nrefuted++] = (struct refuted){op, a, b};
}
static E compare(enum xop op, E a, E b) {
    E r = bin(op, a, b);
    if (x_is_false(r)) refute(op, a, b);
    return r;
}
E lt(E a, E b) { return compare(X_LT, a, b); }
E le(E a, E b) { return compare(X_LE, a, b); }
E gt(E a, E b) { return compare(X_LT, b, a); }
E ge(E a, E b) { return compare(X_LE, b, a); }
E eq(E a, E b) { return compare(X_EQ, a, b); }
E ne(E a, E b) { return compare(X_NE, a, b); }
E multiple_of(E a, E n) {
    E r = bin(X_EQ, mod_(a, n), idx(0));
    if (x_is_false(r)) refute(X_MOD, a, n);
    return r;
}
E and_(E a, E b) { return bin(X_AND, a, b); }
E or_(E a, E b) { return bin(X_OR, a, b); }
E xor_(E a, E b) { return bin(X_XOR, a, b); }
E not_(E a) { return x_not(DEF_CTX, a); }
E shl_(E a, E b) { return bin(X_SHL, a, b); }
E shr_(E a, E b) { return bin(X_SHR, a, b); }
E sel(E cond, E a, E b) {
    unify(&a, &b);
    return x_select(DEF_CTX, cond, a, b);
}
E is_nan(E a) { return x_cmp(DEF_CTX, X_NE, a, a); }
E val(E index) { return x_idxval(DEF_CTX, index); }
E index_of(E v) { return v->op == X_POISON ? v : x_toidx(DEF_CTX, v); }
E bitcast_(enum dtype t, E a) { return x_bitcast(DEF_CTX, t, a); }
static void int_range(enum dtype t, double *lo, double *hi) {
    int bits = dtype_bits(t);
    bool sg = dtype_is_signed(t);
    *lo = sg ? -ldexp(1, bits - 1) : 0;
    *hi = ldexp(1, bits - (sg ? 1 : 0)) - 1;
}
E cast(enum dtype to, E a) {
    struct ctx *c = DEF_CTX;
    if (a->op == X_POISON) return a;
    enum dtype v = dtype_value(to);
    if (v == to || to == BOOL) return x_cast(c, v, a);
    if (any_float(a) && v == I32) { /* floats saturate to the narrow type, integers wrap, NaN becomes 0 (N6) */
        enum dtype from = (enum dtype)a->type;
        double lo, hi;
        int_range(to, &lo, &hi);
        if (lo < 0) a = x_select(c, is_nan(a), x_num(c, from, 0), a);
        return x_cast(c, v, x_min(c, x_max(c, a, x_num(c, from, lo)), x_num(c, from, hi)));
    }
    return x_round(c, to, x_cast(c, v, a));
}
static E call_fn(const char *name, const E *args) {
    if (args[0]->op == X_POISON) return args[0];
    const struct fn *f = math_fn(DEF_CTX, name, (enum dtype)args[0]->type);
    if (!f) fail(E_TYPE, "no function \"%s\" for %s", name, dtype_name((enum dtype)args[0]->type));
    return f ? x_call(DEF_CTX, f, args) : x_poison(DEF_CTX);
}
E native_call(const char *name, const E *args) { return x_native(DEF_CTX, name, args); }
E fn1(const char *name, E a) { return call_fn(name, &a); }
E fn2(const char *name, E a, E b) {
    unify(&a, &b);
    return call_fn(name, (E[]){a, b});
}

/* ---- access */
static bool indices(T t, X i, E *out) {
    if (!t) return false;
    if (i.n != t->rank) {
        def_unfit();
        return false;
    }
    for (int k = 0; k < i.n; k++) out[k] = x_toidx(DEF_CTX, i.v[k]);
    return true;
}
/* An index is a number that is out of range. */
static bool outside(T t, const E *v) {
    int64_t i, n;
    for (int k = 0; k < t->rank; k++)
        if (x_is_int(v[k], &i) && (i < 0 || (x_is_int(t->dims[k], &n) && i >= n))) return true;
    return false;
}
E at(T t, X i) {
    E v[X_MAX_LIST];
    for (int k = 0; t && k < t->rank; k++) /* an empty tensor: nothing can be read */
        if (x_is(t->dims[k], 0)) return x_num(DEF_CTX, dtype_value(t->type), 0);
    if (!indices(t, i, v)) return x_poison(DEF_CTX);
    if (outside(t, v)) {
        def_unfit();
        return x_poison(DEF_CTX);
    }
    return x_load(DEF_CTX, t->buf, v, i.n, NULL);
}
E known_at(T t, X i) {
    E v[X_MAX_LIST], e = t && indices(t, i, v) ? def_element_at(DEF_CTX, t->val, v) : NULL;
    return e ? e : at(t, i);
}
E at_or(T t, X i, E fill) {
    E v[X_MAX_LIST];
    if (!indices(t, i, v)) return x_poison(DEF_CTX);
    enum dtype vt = dtype_value(t->type);
    if (fill->op == X_CONST && fill->type != vt) fill = x_num(DEF_CTX, vt, number(fill));
    bool inside = true;
    for (int k = 0; k < i.n; k++)
        inside = inside && x_proves_le(DEF_CTX, idx(0), v[k]) && x_proves_lt(DEF_CTX, v[k], t->dims[k]);
    return x_load(DEF_CTX, t->buf, v, i.n, inside ? NULL : fill);
}
E wrap_index(E v, E n) {
    E i = x_toidx(DEF_CTX, v);
    return x_guard(DEF_CTX, x_select(DEF_CTX, x_cmp(DEF_CTX, X_LT, i, idx(0)), x_add(DEF_CTX, i, n), i), n);
}
E within(E i, E n) { return x_guard(DEF_CTX, i, n); }
/* a is min(b, n) for a number n above 1, such as a table truncated to the length of b. If a is 1, so is b, so neither
 * is ever broadcast to the other. */
static bool cut_to(E a, E b) {
    int64_t n;
    for (int side = 0; a->op == X_MIN && side < 2; side++)
        if (a->arg[side] == b && x_is_int(a->arg[1 - side], &n) && n > 1) return true;
    return false;
}
X bcast(T t, X i) {
    X r = list0();
    int skip = i.n - rank(t);
    if (skip < 0) {
        def_unfit();
        return r;
    }
    for (int k = 0; k < rank(t); k++) {
        E d = t->dims[k], v = i.v[k + skip], extent = v->op == X_VAR ? v->u.var->extent : NULL;
        int64_t have, need;
        if (x_is_int(d, &have) && have != 1 && extent && x_is_int(extent, &need) && need > have) {
            def_unfit();
            return list0();
        }
        if (x_is(d, 1)) r = push(r, idx(0));
        else if (d == extent || (d->op == X_CONST && extent && extent->op == X_CONST)) r = push(r, v);
        else if (extent && cut_to(d, extent)) r = push(r, v);
        else
            r = push(r, x_guard(DEF_CTX, x_select(DEF_CTX, x_cmp(DEF_CTX, X_EQ, d, idx(1)), idx(0), v),
                                d)); /* equal only thanks to a check */
    }
    return r;
}
/* The open dims whose broadcasting gave e, sorted. */
static X broadcast_together(X dims, E e) {
    if (e->op == X_SELECT && e->arg[0] == x_cmp(DEF_CTX, X_EQ, e->arg[2], idx(1)))
        return broadcast_together(broadcast_together(dims, e->arg[1]), e->arg[2]);
    int at = 0;
    while (at < dims.n && dims.v[at]->id < e->id) at++;
    if (at < dims.n && dims.v[at] == e) return dims;
    return cat(push(sub_list(dims, 0, at), e), sub_list(dims, at, dims.n - at));
}
/* The first of them that is not 1: the same expression, in whatever order they were combined. */
static E stretched(E a, E b) {
    X dims = broadcast_together(broadcast_together(list0(), a), b);
    E r = dims.v[dims.n - 1];
    for (int k = dims.n - 2; k >= 0; k--) r = sel(eq(dims.v[k], idx(1)), r, dims.v[k]);
    return r;
}
static bool is_multiple(struct ctx *c, E a, E of) { return x_is(x_bin(c, X_MOD, a, of), 0); }
static E bcast_dim(E a, E b, int axis) {
    struct ctx *c = DEF_CTX;
    if (a == b || x_is(b, 1)) return a;
    if (x_is(a, 1)) return b;
    if (fail_if(a->op == X_CONST && b->op == X_CONST, E_SHAPE, "shapes do not broadcast: %lld against %lld on axis %d",
                (long long)a->u.i, (long long)b->u.i, axis))
        return a;
    if (cut_to(a, b) || cut_to(b, a)) {
        require(x_cmp(c, X_EQ, a, b), "shapes do not broadcast on axis %d", axis);
        return cut_to(a, b) ? b : a;
    }
    /* If one is known not to be 1, it is the result; if their order is known, the larger one, so that an empty dim
     * against 1 is refused. A multiple of the other is 1 only if both are. */
    E r = a->op == X_CONST                               ? a
          : b->op == X_CONST                             ? b
          : x_proves_le(c, a, b) || is_multiple(c, b, a) ? b
          : x_proves_le(c, b, a) || is_multiple(c, a, b) ? a
                                                         : NULL;
    E fits = eq(a, b);
    if (r != a) fits = or_(fits, eq(a, idx(1)));
    if (r != b) fits = or_(fits, eq(b, idx(1)));
    require(fits, "shapes do not broadcast on axis %d", axis);
    return r ? r : stretched(a, b);
}
X bcast_shape(const T *ts, int n) {
    X r = list0();
    for (int k = 0; k < n; k++) {
        X s = shape(ts[k]);
        if (s.n > r.n) r = cat(sub_list(s, 0, s.n - r.n), r);
        int skip = r.n - s.n;
        for (int a = 0; a < s.n; a++) r.v[a + skip] = bcast_dim(r.v[a + skip], s.v[a], a + skip);
    }
    return r;
}
