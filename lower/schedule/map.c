/* Schedules of maps: kernels without a reduction. See cpu.h. */
#include "lower/schedule/cpu.h"

bool schedule_blocked_map(struct plan *u) {
    int lanes = lanes_of(u);
    const struct problem *k = u->k;
    const struct param_layout *ly = layout_of(u->p, u->l, k->out->u.stage.buf);
    if (lanes < 2 || !ly || ly->block != lanes || k->nreductions || k->nresults != 1 || !lanes_fit(k->out))
        return false;
    plan_start(u);
    plan_inline_maps(u);
    plan_channels(u, k->out, NULL);
    plan_widen(u, NULL, k->out);
    blocked_nest(u, k->out, lanes, NULL);
    text_add(&u->s, "kind vector cv\n");
    return plan_apply(u);
}
/* Nests of stores into a blocked result (Concat), the channels innermost as one vector. The loops of such nests have
 * the names of their axes, the same in each. */
bool schedule_nests(struct plan *u) {
    int lanes = lanes_of(u), n = 0;
    const struct stmt *first = u->p->body.first;
    while (first && first->kind == S_ALLOC) first = first->next;
    const struct param_layout *ly = NULL;
    const char *axis[32] = {0};
    for (const struct stmt *f = first; f && f->kind == S_FOR && n < 32; f = f->u.loop.body.first) {
        axis[n++] = f->u.loop.var->name;
        const struct stmt *in = f->u.loop.body.first;
        if (in && in->kind == S_STORE) ly = layout_of(u->p, u->l, in->u.store.buf);
    }
    if (lanes < 2 || !ly || ly->block != lanes || n < 2) return false;
    plan_start(u);
    text_printf(&u->s, "split %s %d cb cv\nreorder %s cb", axis[1], lanes, axis[0]);
    for (int k = 2; k < n; k++) text_printf(&u->s, " %s", axis[k]);
    text_add(&u->s, " cv\nkind vector cv\n");
    return plan_apply(u);
}
