/* The text of a problem: equal for equal problems, whatever the names of their buffers, axes and sizes. */
#include "ir/expr/print.h"
#include "lower/problem/problem.h"

/* The letter of the role, with a number among the axes that have it. */
static const char *role_name(struct ctx *c, const enum axis_role *roles, int k) {
    int n = 0;
    for (int i = 0; i < k; i++) n += roles[i] == roles[k];
    return internf(c->names, "%c%d", axis_role_name(roles[k])[0], n);
}
const char *axis_name(struct ctx *c, const struct problem *p, int k) { return role_name(c, p->axis, k); }
const char *sum_name(struct ctx *c, const struct problem *p, int k) { return role_name(c, p->summed, k); }

/* Canonical names in order of first occurrence: axes by role, buffers by their part in the problem. */
struct naming {
    struct ctx *c;
    const struct problem *p;
    struct map vars, syms, bufs; /* -> expr, expr, buffer of the canonical name */
    int nparams, nresults, nkept;
    VEC(const struct buf *) read; /* canonical ones, in order */
    VEC(const struct sym *) sizes;
};
static const char *name_of(void *env, expr leaf) {
    (void)env;
    return leaf->op == X_VAR ? leaf->u.var->name : leaf->u.sym->name;
}
static expr renamed(void *env, expr e);
static expr rename_expr(struct naming *q, expr e) { return x_map(q->c, e, renamed, q); }
static struct buf *give_name(struct naming *q, const struct buf *b, const char *name) {
    struct buf *r = arena_copy(&q->c->arena, b, sizeof *b);
    r->name = name;
    map_put(&q->bufs, PKEY(b), r);
    return r;
}
static struct buf *rename_buf(struct naming *q, const struct buf *b) {
    struct buf *r = map_get(&q->bufs, PKEY(b));
    const struct ctx *c = q->c;
    if (r) return r;
    if (q->p->product && b == q->p->a.read->u.buf) r = give_name(q, b, "a");
    else if (q->p->product && b == q->p->b.read->u.buf) r = give_name(q, b, "b");
    else r = give_name(q, b, internf(c->names, "x%d", q->nparams++));
    PUSH(&q->c->arena, &q->read, r);
    return r;
}
static expr rename_sym(struct naming *q, const struct sym *s) {
    expr e = map_get(&q->syms, PKEY(s));
    if (e) return e;
    const struct sym *r = sym_new(q->c, internf(q->c->names, "S%d", q->sizes.n), s->lo, s->hi, s->produced);
    PUSH(&q->c->arena, &q->sizes, r);
    e = x_sym(q->c, r);
    map_put(&q->syms, PKEY(s), (void *)e);
    return e;
}
static expr renamed(void *env, expr e) {
    struct naming *q = env;
    switch (e->op) {
    case X_VAR: return map_get(&q->vars, PKEY(e->u.var));
    case X_SYM: return rename_sym(q, e->u.sym);
    case X_LOAD: return x_map_load(q->c, e, rename_buf(q, e->u.buf), renamed, q);
    default: return NULL;
    }
}
static void rename_var(struct naming *q, const struct var *v, const char *name) {
    map_put(&q->vars, PKEY(v), (void *)x_var(q->c, var_new(q->c, name, rename_expr(q, v->extent))));
}
/* The stage whose axes have the roles: the reduction, or the last stage. */
static const struct stmt *main_stage(const struct problem *p) { return p->sum ? p->sum : p->out; }
static void name_main(struct naming *q) {
    const struct stmt *s = main_stage(q->p);
    for (int k = 0; k < s->u.stage.naxes; k++) rename_var(q, s->u.stage.axes[k], axis_name(q->c, q->p, k));
    for (int k = 0; k < s->u.stage.nred; k++) rename_var(q, s->u.stage.red[k], sum_name(q->c, q->p, k));
}
/* Axes of a stage with as many axes as the main one get the same names. */
static void name_stage(struct naming *q, const struct stmt *s) {
    const struct stmt *m = main_stage(q->p);
    for (int k = 0; k < s->u.stage.naxes && s != m; k++) {
        bool same = s->u.stage.naxes == m->u.stage.naxes && s->u.stage.axes[k]->extent == m->u.stage.axes[k]->extent;
        expr of = same ? map_get(&q->vars, PKEY(m->u.stage.axes[k])) : NULL;
        rename_var(q, s->u.stage.axes[k], of ? of->u.var->name : internf(q->c->names, "i%d", k));
    }
    for (int k = 0; k < s->u.stage.nred && s != m; k++)
        rename_var(q, s->u.stage.red[k], internf(q->c->names, "j%d", k));
    const char *name = s == q->p->sum                      ? "sum"
                       : s->u.stage.buf->scope == SC_PARAM ? internf(q->c->names, "y%d", q->nresults++)
                                                           : internf(q->c->names, "t%d", q->nkept++);
    give_name(q, s->u.stage.buf, name);
}

/* ---- the text */
static void print_extents(struct text *t, struct naming *q, const struct var *const *v, int n, const char *before) {
    for (int k = 0; k < n; k++) {
        const struct var *r = ((expr)map_get(&q->vars, PKEY(v[k])))->u.var;
        text_printf(t, "%s%s<", k ? " " : before, r->name);
        x_print(t, r->extent, name_of, NULL);
    }
}
static void print_operand(struct text *t, struct naming *q, const struct buf *b) {
    text_printf(t, "  %s: %s[", b->name, dtype_name(b->type));
    for (int d = 0; d < b->nlogical; d++) {
        if (d) text_char(t, ',');
        x_print(t, rename_expr(q, b->logical[d]), name_of, NULL);
    }
    text_printf(t, "]%s\n", is_constant(b) ? " constant" : "");
}
/* Very large expression trees get `let` lines for shared parts. */
static void print_values(struct text *t, struct naming *q, const expr *v, int n, struct let_plan *plan,
                         struct expr_printer *x) {
    *x = (struct expr_printer){.t = t, .name_of = name_of};
    let_plan_make(q->c, x, plan, v, n, false);
    x->lets = &plan->names;
    for (int k = 0; k < plan->order.n; k++) {
        const char *name = internf(q->c->names, "v%d", k + 1);
        text_printf(t, "  let %s = ", name);
        expr_print(x, plan->order.v[k], P_COND);
        text_char(t, '\n');
        map_put(&plan->names, PKEY(plan->order.v[k]), (void *)name);
    }
}
static void print_stage(struct text *t, struct naming *q, const struct stmt *s) {
    expr idx[PROBLEM_AXES];
    const struct buf *b = s->u.stage.buf;
    for (int k = 0; k < s->u.stage.naxes && k < PROBLEM_AXES; k++) idx[k] = x_var(q->c, s->u.stage.axes[k]);
    expr cell = b->nd == s->u.stage.naxes ? x_load(q->c, (struct buf *)b, idx, s->u.stage.naxes, NULL) : NULL;
    const expr values[2] = {rename_expr(q, s->u.stage.value), s->u.stage.init ? rename_expr(q, s->u.stage.init) : NULL};
    struct let_plan lets;
    struct expr_printer x;
    print_values(t, q, values, s->u.stage.init ? 2 : 1, &lets, &x);
    text_add(t, "  ");
    if (cell) x_print(t, rename_expr(q, cell), name_of, NULL);
    else text_add(t, ((struct buf *)map_get(&q->bufs, PKEY(b)))->name);
    text_printf(t, ": %s ", dtype_name(b->type));
    if (s->u.stage.op != RED_NONE) text_add(t, red_op_name(s->u.stage.op));
    text_add(t, "= ");
    expr_print(&x, values[0], P_COND);
    if (s->u.stage.op != RED_NONE) print_extents(t, q, s->u.stage.red, s->u.stage.nred, ", over ");
    if (s->u.stage.init) {
        text_add(t, ", from ");
        expr_print(&x, values[1], P_COND);
    }
    text_char(t, '\n');
}
static void print_size(struct text *t, const struct sym *s) {
    text_printf(t, "  %s: %lld..", s->name, (long long)s->lo);
    if (s->hi < INT64_MAX) text_printf(t, "%lld", (long long)s->hi);
    text_char(t, '\n');
}
/* A perfect nest, and the store in it if that is all there is. */
static void print_nest(struct text *t, struct naming *q, const struct problem_loop *l) {
    const struct stmt *s = l->loop;
    const char *before = "  for ";
    for (int k = 0; s && s->kind == S_FOR; s = block_only(&s->u.loop.body)) {
        rename_var(q, s->u.loop.var, internf(q->c->names, "i%d", k++));
        print_extents(t, q, &s->u.loop.var, 1, before);
        before = " ";
    }
    if (s && s->kind == S_STORE && s->u.store.op == RED_NONE) {
        if (!map_get(&q->bufs, PKEY(s->u.store.buf)))
            give_name(q, s->u.store.buf, internf(q->c->names, "y%d", q->nresults++));
        text_add(t, ": ");
        x_print(t, rename_expr(q, x_load(q->c, s->u.store.buf, s->u.store.idx, s->u.store.n, NULL)), name_of, NULL);
        text_add(t, " = ");
        x_print(t, rename_expr(q, s->u.store.value), name_of, NULL);
    }
    text_add(t, l->free & 1 ? ", turns apart\n" : "\n");
}
void problem_print(struct text *t, struct ctx *c, const struct problem *p) {
    struct naming q = {.c = c, .p = p, .vars = {.arena = &c->arena}, .syms = {.arena = &c->arena}};
    struct text stages = {0};
    q.bufs.arena = &c->arena;
    text_printf(t, "%s%s\n", problem_class_name(p->cls), p->indirect ? ", places from data" : "");
    for (int k = 0; k < p->loops.n; k++) print_nest(t, &q, &p->loops.v[k]);
    if (!p->stages.n) return;
    name_main(&q);
    for (int i = 0; i < p->stages.n; i++) name_stage(&q, p->stages.v[i]);
    for (int i = 0; i < p->stages.n; i++) print_stage(&stages, &q, p->stages.v[i]);
    const struct stmt *s = main_stage(p);
    print_extents(t, &q, s->u.stage.axes, s->u.stage.naxes, "  axes ");
    print_extents(t, &q, s->u.stage.red, s->u.stage.nred, "; sums ");
    text_char(t, '\n');
    for (int k = 0; k < q.read.n; k++) print_operand(t, &q, q.read.v[k]);
    for (int k = 0; k < q.sizes.n; k++) print_size(t, q.sizes.v[k]);
    text_add(t, stages.s ? stages.s : "");
    text_free(&stages);
}
