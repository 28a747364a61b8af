/* Formulas as expressions of a definition. See formula.h. */
#include "ir/define/formula.h"
#include "ir/define/impl.h"

struct evaluation {
    formula_name *name;
    void *env;
    struct map known; /* node -> its value */
};
static E value_of(struct evaluation *q, const struct formula *f);

/* For indices, the builder's division rounds towards minus infinity. */
static bool may_be_negative(E e) {
    int64_t lo, hi;
    x_bounds(DEF_CTX, e, &lo, &hi);
    return lo < 0;
}
static E towards_zero(E a, E b) {
    if (may_be_negative(b))
        return sel(lt(b, idx(0)), neg(towards_zero(a, max_(neg(b), idx(0)))), towards_zero(a, max_(b, idx(0))));
    return may_be_negative(a) ? sel(lt(a, idx(0)), neg(div_(neg(a), b)), div_(a, b)) : div_(a, b);
}
static E quotient(E a, E b, bool rest) {
    if (a->type != IDX || b->type != IDX) return rest ? mod_(a, b) : div_(a, b);
    return rest ? sub(a, mul(towards_zero(a, b), b)) : towards_zero(a, b);
}
static E as_type(E e, enum dtype t) {
    if (t == BOOL) return e->type == BOOL ? e : ne(e, e->type == IDX ? idx(0) : typed((enum dtype)e->type, 0));
    if (t == IDX) return e->type == BOOL ? sel(e, idx(1), idx(0)) : e;
    return e->type == IDX && dtype_is_int(t) ? e : cast(t, e); /* sizes remain sizes: no index reaches 2^31 */
}
static E operation(enum xop op, E a, E b) {
    static E (*const unary[X_COUNT])(E) = {[X_NEG] = neg,    [X_ABS] = abs_,     [X_SQRT] = sqrt_, [X_FLOOR] = floor_,
                                           [X_CEIL] = ceil_, [X_TRUNC] = trunc_, [X_RINT] = rint_, [X_NOT] = not_};
    static E (*const binary[X_COUNT])(E, E) = {
        [X_ADD] = add,  [X_SUB] = sub,  [X_MUL] = mul, [X_DIV] = div_, [X_MOD] = mod_, [X_MIN] = min_,
        [X_MAX] = max_, [X_AND] = and_, [X_OR] = or_,  [X_XOR] = xor_, [X_SHL] = shl_, [X_SHR] = shr_,
        [X_LT] = lt,    [X_LE] = le,    [X_EQ] = eq,   [X_NE] = ne};
    if (b) return binary[op] ? binary[op](a, b) : x_poison(DEF_CTX);
    return unary[op] ? unary[op](a) : x_poison(DEF_CTX);
}
static E compute(struct evaluation *q, const struct formula *f) {
    E v[3] = {NULL, NULL, NULL};
    for (int k = 0; k < 3 && f->arg[k]; k++) v[k] = value_of(q, f->arg[k]);
    switch (f->kind) {
    case FORMULA_NUMBER:
        if (f->type == IDX) return idx(f->whole);
        return dtype_is_int(f->type) ? x_const_i(DEF_CTX, dtype_value(f->type), f->whole) : typed(f->type, f->value);
    case FORMULA_NAME: {
        E e = q->name(q->env, f->name);
        return e ? e : x_poison(DEF_CTX);
    }
    case FORMULA_XOP: return operation(f->op, v[0], v[1]);
    case FORMULA_SELECT: return sel(as_type(v[0], BOOL), v[1], v[2]);
    case FORMULA_CAST: return as_type(v[0], f->type);
    case FORMULA_MATH: return v[1] ? fn2(f->name, v[0], v[1]) : fn1(f->name, v[0]);
    case FORMULA_DIV:
    case FORMULA_REST: return quotient(v[0], v[1], f->kind == FORMULA_REST);
    }
    return x_poison(DEF_CTX);
}
static E value_of(struct evaluation *q, const struct formula *f) {
    E e = (E)map_get(&q->known, PKEY(f));
    if (e) return e;
    e = compute(q, f);
    map_put(&q->known, PKEY(f), (void *)e);
    return e;
}
E formula_value(const struct formula *f, formula_name *name, void *env) {
    struct evaluation q = {name, env, {.arena = &DEF_CTX->arena}};
    return value_of(&q, f);
}
