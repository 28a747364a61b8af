/* The entry to scheduling: finds a kernel's problem, asks the strategies in turn, and takes the first point whose steps
 * are all legal. See schedule.h, point.h. */
#include "lower/schedule/schedule.h"
#include "lower/schedule/cpu.h"
#include <string.h>

const struct strategy *const *strategies_for(const struct machine *m, const struct problem *k) {
    static const struct strategy *const cpu[] = {&strategy_dots,        &strategy_block_sums, &strategy_contraction,
                                                 &strategy_window,      &strategy_panels,     &strategy_transform,
                                                 &strategy_blocked_map, &strategy_rows,       &strategy_pieces,
                                                 &strategy_pointwise,   &strategy_plain,      NULL},
                                        *const gpu[] = {&strategy_gpu_product, &strategy_gpu_few, &strategy_gpu_cells,
                                                        &strategy_plain, NULL},
                                        *const cpu_loops[] = {&strategy_nests, &strategy_plain, NULL},
                                        *const gpu_loops[] = {&strategy_gpu_nests, &strategy_plain, NULL};
    if (!k->stages.n) return m->gpu ? gpu_loops : cpu_loops;
    return m->gpu ? gpu : cpu;
}
/* NULL if it was taken. Without steps the kernel stays as it is. */
static const char *try_point(struct plan *u, const struct point *p) {
    u->s = (struct step_list){.c = u->c};
    const char *why = p->by->steps(u, p);
    return why || !u->s.n ? why : steps_refused(u->p, &u->s);
}
/* "contraction: lanes 16 along n0, .."; other is "window". */
static void print_point(struct text *t, struct plan *u, const struct point *p) {
    text_add(t, p->by->name);
    if (p->by->print) text_add(t, ": "), p->by->print(t, u, p);
}
static void print_choice(struct text *t, struct plan *u, const struct point *p) {
    text_add(t, "  ");
    print_point(t, u, p);
    if (p->cycles > 0) text_printf(t, "; %.0f cycles", p->cycles);
    text_add(t, "\n");
}
/* The first of the points that were not tried, for comparison. */
static void print_others(struct text *t, struct plan *u, const struct points *points, int from) {
    enum { MOST = 10 };
    int n = points->list.n - from;
    if (n < 1) return;
    text_printf(t, "    and %d not tried%s\n", n, n > MOST ? ", among them" : "");
    for (int k = from; k < points->list.n && k < from + MOST; k++)
        text_add(t, "    "), print_choice(t, u, &points->list.v[k]);
}
static bool take_point(struct plan *u, const struct point *p, struct text *choices) {
    const char *why = try_point(u, p);
    if (!why) {
        u->taken.strategy = p->by->name, u->taken.cycles = p->cycles;
        u->taken.apart = (p->by == &strategy_pointwise && p->u.cells.way >= CELLS_GATHERED) ||
                         (p->by == &strategy_rows && p->u.rows.lanes == LANES_NONE && u->k->product);
    }
    if (choices) print_choice(choices, u, p);
    if (choices && why) text_printf(choices, "    refused: %s\n", why);
    if (choices && !why) text_add(choices, "    taken\n");
    return !why;
}
static bool try_strategy(struct plan *u, const struct strategy *by, struct text *choices) {
    struct points points = {0};
    const char *why = by->points(u, &points);
    if (choices && why) text_printf(choices, "  %s: %s\n", by->name, why);
    if (why && u->c->diags.remarks.nwishes)
        u->taken.why =
            format(u->c, "%s%s%s: %s", u->taken.why ? u->taken.why : "", u->taken.why ? "; " : "", by->name, why);
    for (int k = 0; k < points.list.n; k++) {
        if (!take_point(u, &points.list.v[k], choices)) continue;
        if (choices) print_others(choices, u, &points, k + 1);
        return true;
    }
    return false;
}
static bool is_point(struct plan *u, const struct point *p, const char *recorded) {
    struct text t = {0};
    print_point(&t, u, p);
    bool same = !strcmp(t.s, recorded);
    text_free(&t);
    return same;
}
/* Takes the recorded point, whichever strategy has it. */
static bool take_recorded(struct plan *u, const struct strategy *const *by, const char *recorded,
                          struct text *choices) {
    for (; *by; by++) {
        struct points points = {0};
        (*by)->points(u, &points);
        for (int k = 0; k < points.list.n; k++)
            if (is_point(u, &points.list.v[k], recorded)) return take_point(u, &points.list.v[k], choices);
    }
    return false;
}
static bool follow_record(struct plan *u, const struct strategy *const *by, const char *recorded,
                          struct text *choices) {
    if (!recorded) return false;
    if (take_recorded(u, by, recorded, choices)) return true;
    diag(&u->c->diags, DIAG_WARNING, E_RECORD, "kernel %s cannot be computed as recorded: %s", u->p->name,
         diag_quote(&u->c->arena, recorded));
    return false;
}
static void print_problem(struct text *t, const struct proc *p, const char *problem) {
    if (t) text_printf(t, "%s: %s", p->name, problem);
}
void schedule_kernel(struct ctx *c, struct proc *p, const struct scheduling *o, const struct param_layout *layouts) {
    struct problem k;
    kernel_problem(c, p, &k);
    if (!k.stages.n) { /* stages among loops become nests, too */
        lower_stages(c, p);
        name_nests(c, p);
        kernel_problem(c, p, &k);
    }
    struct text problem = {0};
    if (o->problems || o->choices || o->records) problem_print(&problem, c, &k);
    print_problem(o->problems, p, problem.s);
    print_problem(o->choices, p, problem.s);
    if (k.stages.n && machine_op(o->machine, X_FMA, F32) && !o->plain)
        use_fma(c, p); /* after the problem was found: the strategies look at its stages as they were */
    p->before = clone_proc(c, p, p->name);
    p->problem = arena_copy(&c->arena, &k, sizeof k);
    struct plan u = {c, p, o->machine, &k, layouts, {.c = c}, {0}};
    static const struct strategy *const plain[] = {&strategy_plain, NULL};
    const struct strategy *const *by = o->plain ? plain : strategies_for(o->machine, &k);
    const char *recorded = o->records ? recorded_point(o->records, o->machine, problem.s, by) : NULL;
    if (!follow_record(&u, by, recorded, o->choices))
        while (*by && !try_strategy(&u, *by, o->choices)) by++;
    if (!*by) BUG("kernel %s does not take its layouts", p->name);
    u.taken.last = u.taken.strategy == strategy_plain.name;
    u.taken.apart = machine_lanes(o->machine, F32) > 1 && (u.taken.last || u.taken.apart);
    if (o->taken) *o->taken = u.taken;
    text_free(&problem);
    if (!o->plain) share_loops(c, p, o->machine, o->threads, o->choices);
}
