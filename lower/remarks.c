/* Remarks about what lowering decided: groups and layouts of a region, and slow kernels. They only describe; nothing
 * here decides. See ir/base/remark.h. */
#include "lower/layout.h"
#include "lower/schedule/schedule.h"
#include <string.h>

static void remark_group(struct ctx *c, const struct group *gr) {
    const struct node *last = gr->nodes.v[gr->nodes.n - 1];
    for (int k = 0; k < gr->views.n; k++)
        remark(c, REMARK_FUSE, gr->views.v[k]->origin, "is no kernel: %s reads through it", gr->anchor->origin);
    for (int k = 0; k < gr->nodes.n; k++)
        if (gr->nodes.v[k] != gr->anchor)
            remark(c, REMARK_FUSE, gr->nodes.v[k]->origin, "is computed in the kernel of %s", gr->anchor->origin);
    if (gr->reader)
        remark(c, REMARK_FUSE, last->origin, "goes through memory to %s: %s [%s]", gr->reader->origin,
               group_reason_text(gr->refused), gr->refused);
}
static void remark_value(struct lowering *l, const struct node *n, const struct value *v) {
    const struct value_layout *lay = layout_of_value(l, v);
    struct text border = {0};
    for (int d = 0; lay && d < v->type.rank; d++)
        if (lay->lo[d] || lay->hi[d])
            text_printf(&border, "%s axis %d (%lld, %lld)", border.n ? "," : "", d, (long long)lay->lo[d],
                        (long long)lay->hi[d]);
    const char *name = diag_quote(&l->c->arena, v->name);
    if (!lay || !lay->spec)
        remark(l->c, REMARK_LAYOUT, n->origin, "result %s is plain: %s", name, layout_why_plain(l, v));
    else if (lay->panels.lanes)
        remark(l->c, REMARK_LAYOUT, n->origin, "result %s is packed in panels for the product that reads it", name);
    else if (!lay->block)
        remark(l->c, REMARK_LAYOUT, n->origin, "result %s has a border for those who read it: along%s", name, border.s);
    else
        remark(l->c, REMARK_LAYOUT, n->origin, "result %s lies in blocks of %d channels%s%s: %s", name, lay->block,
               border.n ? ", with a border along" : "", border.n ? border.s : "", lay->why);
    text_free(&border);
}
/* Is its result never stored in memory? */
static bool stays_inside(const struct groups *gs, const struct node *n) {
    const struct group *gr = map_get(&gs->of_node, PKEY(n));
    return gr && gr->nodes.v[gr->nodes.n - 1] != n;
}
void remark_region(struct lowering *l, struct region *r, const struct groups *gs) {
    if (!l->c->diags.remarks.nwishes) return;
    for (int k = 0; k < gs->list.n; k++) remark_group(l->c, gs->list.v[k]);
    for (struct node *n = r->first; n; n = n->next)
        for (int k = 0; k < n->outs.n && !stays_inside(gs, n); k++)
            if (n->outs.v[k] && n->outs.v[k]->type.kind == TY_TENSOR && n->outs.v[k]->type.rank >= 3)
                remark_value(l, n, n->outs.v[k]);
}

/* ---- kernels */
/* Extents that are open count as `open`. */
static double cells_of(const struct var *const *v, int n, double open) {
    double cells = 1;
    int64_t extent;
    for (int k = 0; k < n; k++) cells *= x_is_int(v[k]->extent, &extent) ? (double)extent : open;
    return cells;
}
/* Cycles of the products in the kernel's sum if a multiply-add could always start; 0: there are none, or sizes are
 * open. */
static double least_cycles(const struct machine *m, const struct problem *k) {
    const struct stmt *s = k ? k->sum : NULL;
    const struct operation *op = s ? machine_multiply_add(m, s->u.stage.buf->type) : NULL;
    if (!op || !k->product) return 0;
    return cells_of(s->u.stage.axes, s->u.stage.naxes, 0) * cells_of(s->u.stage.red, s->u.stage.nred, 0) /
           (op->starts * machine_lanes(m, s->u.stage.buf->type));
}
/* Iterations of plain loops over the first stage. */
static double plain_steps(const struct problem *k) {
    double most = 0;
    for (int n = 0; k && n < k->stages.n; n++) {
        const struct stmt *s = k->stages.v[n];
        double steps = cells_of(s->u.stage.axes, s->u.stage.naxes, 1) * cells_of(s->u.stage.red, s->u.stage.nred, 1);
        if (steps > most) most = steps;
    }
    return most;
}
enum { SLOW = 3, WORTH = 4096 }; /* times the least; cycles from which on it matters */
void remark_kernel(struct lowering *l, const struct proc *p, const struct taken *t) {
    const struct machine *m = l->o->target->machine;
    double least = least_cycles(m, p->problem), steps = plain_steps(p->problem);
    if (t->apart && steps > WORTH)
        remark(l->c, REMARK_SLOW, l->origin, "kernel %s goes one by one through %.3g steps (%s)%s%s", p->name, steps,
               t->strategy, t->why ? ": " : "", t->why ? t->why : "");
    else if (t->cycles > WORTH && least > 0 && t->cycles > SLOW * least)
        remark(l->c, REMARK_SLOW, l->origin,
               "kernel %s is predicted to take %.3g cycles, %.1f times those of its products alone (%s)", p->name,
               t->cycles, t->cycles / least, t->strategy);
}
