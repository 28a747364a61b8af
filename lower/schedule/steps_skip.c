/* The step skip: leaves out iterations of a sum of products that only read outside of an operand, where it is zero:
 * taps of a window that meet only padding, as with large dilations. A test before the inner loops detects them. The
 * other factor must be finite, which is up to the caller of the step. A sum may become -0 where adding 0 would make it
 * +0. */
#include "lower/schedule/steps_util.h"

static bool is_zero_outside(expr e) {
    expr fill = e->op == X_LOAD && e->has_fill ? e->arg[e->n - 1] : NULL;
    return fill && fill->op == X_CONST && (dtype_is_float((enum dtype)fill->type) ? fill->u.f == 0 : fill->u.i == 0);
}
/* The factor of an added product that is zero outside of its operand; NULL: the statement adds no product, or no factor
 * is. */
static expr zero_factor(const struct stmt *t) {
    expr v = t->u.store.value;
    if (!is_fma_update(t) && !(t->u.store.op == RED_SUM && v->op == X_MUL)) return NULL;
    return is_zero_outside(v->arg[0]) ? v->arg[0] : is_zero_outside(v->arg[1]) ? v->arg[1] : NULL;
}
/* The condition that an iteration of v reads inside of the operand in each dim that v moves. Other dims are tested by
 * the load itself. NULL: the range of an index is unknown. */
static expr meets(struct step_run *s, expr load, const struct var *v, const struct vars *inner) {
    expr all = x_bool(s->c, true), lo, hi;
    for (int d = 0; d < load->n - 1; d++) {
        if (!x_uses_var(s->c, load->arg[d], v)) continue;
        if (!range_over(s, load->arg[d], inner, &lo, &hi)) return NULL;
        all = x_and(s->c, all, x_cmp(s->c, X_LE, x_int(s->c, 0), hi));
        all = x_and(s->c, all, x_cmp(s->c, X_LT, lo, load->u.buf->dims[d]));
    }
    return all;
}
static bool skip_in(struct step_run *s, struct stmt *loop) {
    const struct var *v = loop->u.loop.var;
    struct stmts all = {0};
    struct vars inner = {0};
    expr any = x_bool(s->c, false);
    if (loop->u.loop.kind == LK_VECTOR) return step_refuse(s, "kinds come last", "`%s` is a vector loop", v->name);
    stmts_below(s, &loop->u.loop.body, &all);
    vars_below(s, &loop->u.loop.body, &inner);
    for (int k = 0; k < all.n; k++) {
        if (all.v[k]->kind == S_FOR || all.v[k]->kind == S_IF || all.v[k]->kind == S_COMMENT) continue;
        expr load = all.v[k]->kind == S_STORE ? zero_factor(all.v[k]) : NULL;
        expr cond = load ? meets(s, load, v, &inner) : NULL;
        if (!cond)
            return step_refuse(s, "each statement must add a product with a load that is 0 outside of its operand",
                               "it is not known which iterations of `%s` add nothing", v->name);
        any = x_or(s->c, any, cond);
    }
    if (x_is_true(any)) return true;
    struct stmt *test = s_if(s->c, any);
    block_move(&test->u.cond.then, &loop->u.loop.body);
    block_append(&loop->u.loop.body, test);
    s->reassociates = true;
    return true;
}
bool apply_skip(struct step_run *s) {
    struct stmts l = {0};
    if (!find_loops(s, s->step->u.skip.loop, &l)) return false;
    for (int k = l.n; k-- > 0;)
        if (!skip_in(s, l.v[k])) return false;
    return true;
}
