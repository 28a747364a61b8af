/* Pass `private`: a register buffer that lives across the thread loops of a grid belongs to each thread. Marks the dims
 * along which threads differ: printers leave these out, for everyone else they are ordinary dims. See passes.h. */
#include "lower/passes/grid.h"
#include "lower/passes/passes.h"

static void mark(struct ctx *c, struct proc *p) {
    struct grid g;
    struct block *body;
    if (!grid_of(c, NULL, p->body.first, &g, &body))
        return; /* read from text: its loops over a single block are
                 * gone */
    for (int k = 0; k < g.across.n; k++)
        if (!dims_apart(&g, body, &g.across.v[k], &g.across.v[k].buf->apart))
            BUG("register buffer %s is not of one thread", g.across.v[k].buf->name);
}
void pass_private(struct module *m, const struct printing *o) {
    (void)o;
    for (int k = 0; k < m->procs.n; k++)
        if (m->procs.v[k]->launch && m->procs.v[k]->launch->grid) mark(m->ctx, m->procs.v[k]);
}
