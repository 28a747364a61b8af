/* Procedures as they are printed: copies that went through the passes. For tools and tests that print without a
 * compilation. */
#ifndef NN_TESTS_TOOLS_PRINTABLE_H
#define NN_TESTS_TOOLS_PRINTABLE_H
#include "compiler/driver.h"
#include <string.h>

/* A module of n procedures of m, ready to be printed; NULL after a diagnostic. Procedure k keeps its name. legal: what
 * each pass leaves is verified; else procs may be what no schedule makes. */
static inline struct module *printable(struct module *m, struct proc *const *procs, int n, const struct printing *o,
                                       bool legal) {
    struct module *r = module_new(m->ctx);
    r->fns.v = m->fns.v, r->fns.n = m->fns.n, r->fns.cap = m->fns.cap;
    for (int k = 0; k < n; k++) PUSH(&m->ctx->arena, &r->procs, clone_proc(m->ctx, procs[k], procs[k]->name));
    if (legal) return run_change_passes(r, o, true) ? r : NULL;
    for (const struct pass_row *p = pass_rows; p->name; p++)
        if (p->change) p->change(r, o);
    return r;
}
static inline struct proc *proc_called(const struct module *m, const char *name) {
    for (int k = 0; k < m->procs.n; k++)
        if (!strcmp(m->procs.v[k]->name, name)) return m->procs.v[k];
    return NULL;
}
#endif
