/* The step noinline: a function is compiled once and called, instead of being inlined in many places. */
#include "lower/schedule/steps_util.h"

struct called {
    struct ctx *c;
    const char *name;
    bool found;
};
static expr call_noinline(void *env, expr e) {
    struct called *q = env;
    if (e->op != X_CALL || strcmp(e->u.fn->name, q->name)) return NULL;
    expr args[4];
    q->found = true;
    for (int k = 0; k < e->u.fn->nargs; k++) args[k] = x_map(q->c, e->arg[k], call_noinline, q);
    return x_call(q->c, fn_noinline(q->c, e->u.fn), args);
}
bool apply_noinline(struct step_run *s) {
    struct called q = {s->c, s->step->u.noinline.fn, false};
    map_exprs(s->c, &s->p->body, call_noinline, &q);
    return q.found || step_refuse(s, NULL, "nothing calls a function `%s`", q.name);
}
