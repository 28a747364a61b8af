/* Which foreign functions a module calls. See foreign.h. */
#include "ir/loop/foreign.h"

struct finding {
    struct ctx *c;
    foreigns *found;
};
static bool note_foreign(void *env, const struct stmt *s) {
    struct finding *q = env;
    bool known = s->kind != S_FOREIGN;
    for (int k = 0; !known && k < q->found->n; k++) known = q->found->v[k] == s->u.foreign.fn;
    if (!known) PUSH(&q->c->arena, q->found, s->u.foreign.fn);
    return true;
}
void module_foreigns(struct ctx *c, const struct module *m, foreigns *out) {
    struct finding q = {c, out};
    for (int k = 0; k < m->procs.n; k++) survey(&m->procs.v[k]->body, note_foreign, &q);
}
