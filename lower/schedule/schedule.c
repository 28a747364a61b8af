/* The entry to scheduling: from a machine to its heuristics. See schedule.h. */
#include "lower/schedule/schedule.h"
#include "lower/schedule/steps.h"

const struct param_layout *layout_of(const struct proc *p, const struct param_layout *l, const struct buf *b) {
    for (int k = 0; l && k < p->params.n; k++)
        if (p->params.v[k].buf == b) return &l[k];
    return NULL;
}
void layout_steps(struct text *t, const struct proc *p, const struct param_layout *l) {
    for (int k = 0; l && k < p->params.n; k++)
        if (l[k].spec) text_printf(t, "layout %s %s\n", p->params.v[k].buf->base, l[k].spec);
}
void schedule_kernel(struct ctx *c, struct proc *p, const struct machine *m, const struct param_layout *layouts,
                     struct text *problems) {
    struct problem k;
    kernel_problem(c, p, &k);
    if (problems) {
        text_printf(problems, "%s: ", p->name);
        problem_print(problems, c, &k);
    }
    if (k.stages.n && machine_op(m, X_FMA, F32)) use_fma(c, p); /* the problem's stages stay as they were */
    p->before = clone_proc(c, p, p->name);
    (m->gpu ? schedule_gpu : schedule_cpu)(c, p, m, layouts, &k);
}
