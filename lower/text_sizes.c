/* Sizes of kernel texts: what all calls of a text give alike, as a constant, is no argument but stands in the text, so
 * that a schedule knows it as it knows the sizes of kernels that are made for their node. Stands before texts are
 * scheduled; see lower.h. */
#include "lower/lower.h"

struct text_sizes {
    struct ctx *c;
    struct map given; /* symbol of a text -> what the first call gives it */
    struct map vary;  /* symbols to which a call gives something else */
};
static bool is_text_call(const struct stmt *s) { return s->kind == S_CALL && s->u.call.callee->is_kernel_text; }
static bool note_sizes(void *env, struct stmt *s) {
    struct text_sizes *q = env;
    for (int k = 0; is_text_call(s) && k < s->u.call.nargs; k++) {
        const struct sym *y = s->u.call.callee->syms.v[k];
        expr now = s->u.call.args[k], before = map_get(&q->given, PKEY(y));
        if (now->op != X_CONST || (before && before != now)) map_put(&q->vary, PKEY(y), (void *)y);
        map_put(&q->given, PKEY(y), (void *)now);
    }
    return true;
}
/* The constant for y; NULL: calls differ, or there is none. */
static expr settled(const struct text_sizes *q, const struct sym *y) {
    return map_get(&q->vary, PKEY(y)) ? NULL : map_get(&q->given, PKEY(y));
}
static expr put_settled(void *env, expr leaf) { return leaf->op == X_SYM ? settled(env, leaf->u.sym) : NULL; }
static bool drop_args(void *env, struct stmt *s) {
    int n = 0;
    for (int k = 0; is_text_call(s) && k < s->u.call.nargs; k++)
        if (!settled(env, s->u.call.callee->syms.v[k])) s->u.call.args[n++] = s->u.call.args[k];
    if (is_text_call(s)) s->u.call.nargs = n;
    return true;
}
static void settle(struct text_sizes *q, struct proc *p) {
    int n = 0;
    map_proc(q->c, p, put_settled, q);
    for (int k = 0; k < p->syms.n; k++)
        if (!settled(q, p->syms.v[k])) p->syms.v[n++] = p->syms.v[k];
    p->syms.n = n;
}
void settle_text_sizes(struct module *m) {
    struct text_sizes q = {m->ctx, {.arena = &m->ctx->arena}, {.arena = &m->ctx->arena}};
    walk(&m->entry->body, note_sizes, &q);
    walk(&m->entry->body, drop_args, &q);
    for (int k = 0; k < m->procs.n; k++)
        if (m->procs.v[k]->is_kernel_text) settle(&q, m->procs.v[k]);
}
