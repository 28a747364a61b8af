/* Pass `nests`: stages that no schedule has touched become loop nests. See passes.h. */
#include "lower/passes/passes.h"

void pass_nests(struct module *m, const struct printing *o) {
    (void)o;
    for (int k = 0; k < m->procs.n; k++) lower_stages(m->ctx, m->procs.v[k]);
}
