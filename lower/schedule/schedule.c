/* The entry to scheduling: finds a kernel's problem, asks the strategies in turn, and takes the first point whose steps
 * are all legal. See schedule.h, point.h. */
#include "lower/schedule/schedule.h"
#include "lower/schedule/cpu.h"

const struct strategy *const *strategies_for(const struct machine *m, const struct problem *k) {
    static const struct strategy *const cpu[] = {&strategy_contraction, &strategy_window,
                                                 &strategy_transform,   &strategy_blocked_map,
                                                 &strategy_rows,        &strategy_pointwise,
                                                 &strategy_plain,       NULL},
                                        *const gpu[] = {&strategy_gpu_product, &strategy_gpu_few, &strategy_gpu_cells,
                                                        &strategy_plain, NULL},
                                        *const cpu_loops[] = {&strategy_nests, &strategy_plain, NULL},
                                        *const gpu_loops[] = {&strategy_gpu_nests, &strategy_plain, NULL};
    if (!k->stages.n) return m->gpu ? gpu_loops : cpu_loops;
    return m->gpu ? gpu : cpu;
}
/* NULL when it was taken; steps that are none leave the kernel as it is. */
static const char *try_point(struct plan *u, const struct point *p) {
    u->s = (struct step_list){.c = u->c};
    const char *why = p->by->steps(u, p);
    return why || !u->s.n ? why : steps_refused(u->p, &u->s);
}
static void print_choice(struct text *t, struct plan *u, const struct point *p, const char *why) {
    text_printf(t, "  %s%s", p->by->name, p->by->print ? ": " : "");
    if (p->by->print) p->by->print(t, u, p);
    if (why) text_printf(t, "\n    refused: %s\n", why);
    else text_add(t, "\n    taken\n");
}
static bool try_strategy(struct plan *u, const struct strategy *by, struct text *choices) {
    struct points points = {0};
    const char *why = by->points(u, &points);
    if (choices && why) text_printf(choices, "  %s: %s\n", by->name, why);
    for (int k = 0; k < points.list.n; k++) {
        const struct point *p = &points.list.v[k];
        why = try_point(u, p);
        if (choices) print_choice(choices, u, p, why);
        if (!why) return true;
    }
    return false;
}
static void print_problem(struct text *t, struct ctx *c, const struct proc *p, const struct problem *k) {
    text_printf(t, "%s: ", p->name);
    problem_print(t, c, k);
}
void schedule_kernel(struct ctx *c, struct proc *p, const struct machine *m, int threads,
                     const struct param_layout *layouts, struct text *problems, struct text *choices) {
    struct problem k;
    kernel_problem(c, p, &k);
    if (!k.stages.n) { /* stages beside loops are nests like them */
        lower_stages(c, p);
        name_nests(c, p);
        kernel_problem(c, p, &k);
    }
    if (problems) print_problem(problems, c, p, &k);
    if (choices) print_problem(choices, c, p, &k);
    if (k.stages.n && machine_op(m, X_FMA, F32)) use_fma(c, p); /* the problem's stages stay as they were */
    p->before = clone_proc(c, p, p->name);
    struct plan u = {c, p, m, &k, layouts, {.c = c}};
    const struct strategy *const *by = strategies_for(m, &k);
    while (*by && !try_strategy(&u, *by, choices)) by++;
    if (!*by) BUG("kernel %s does not take its layouts", p->name);
    share_loops(c, p, m, threads, choices);
}
