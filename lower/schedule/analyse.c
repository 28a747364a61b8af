/* What strategies share: names of loops, and what most of them cannot take. */
#include "lower/schedule/point.h"

const char *axis_loop(struct ctx *c, const struct stmt *s, int k) {
    return internf(c->names, "%s.%s", s->u.stage.buf->base, s->u.stage.axes[k]->name);
}
const char *red_loop(struct ctx *c, const struct stmt *s, int k) {
    return internf(c->names, "%s.%s", s->u.stage.buf->base, s->u.stage.red[k]->name);
}

/* Every stage after the sum is a map of as many axes. */
static bool maps_follow(const struct problem *k) {
    for (int i = 1; i < k->stages.n; i++)
        if (k->stages.v[i]->u.stage.op != RED_NONE || k->stages.v[i]->u.stage.naxes != k->sum->u.stage.naxes)
            return false;
    return true;
}
const char *no_plain_product(const struct problem *k) {
    if (!k->product) return "no sum of products";
    if (k->nreductions > 1) return "several reductions";
    if (k->nresults > 1) return "several results";
    if (k->a.made || k->b.made || k->stages.v[0] != k->sum) return "a factor is made by the kernel itself";
    if (k->a.value != k->a.read || k->b.value != k->b.read) return "a factor is changed before it is multiplied";
    if (k->sum->u.stage.naxes > MAX_AXES || k->sum->u.stage.nred > MAX_AXES) return "too many axes";
    return maps_follow(k) ? NULL : "what follows the sum has other axes";
}
