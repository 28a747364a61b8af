/* The strategy for GPUs for kernels that were never stages: a thread for each turn of all loops of a nest whose turns
 * may run at once. See cpu.h, docs/cuda.md. */
#include "ir/base/checked.h"
#include "lower/schedule/cpu.h"

static bool is_free(const struct problem_loop *l, int k) { return l->free >> k & 1; }
/* Turns of all free loops. */
static int64_t cells_of(const struct problem_loop *l) {
    int64_t cells = 1, n;
    for (int k = 0; k < l->depth; k++)
        if (is_free(l, k)) n = const_extent(nest_var(l, k)), cells = n < 0 ? INT64_MAX : sat_mul(cells, n);
    return cells;
}
/* The free loops, or the others. */
static struct word_list loops_of(struct plan *u, const struct problem_loop *l, bool free) {
    struct word_list loops = {0};
    for (int k = 0; k < l->depth; k++)
        if (is_free(l, k) == free) add_loop(&u->s, &loops, nest_var(l, k)->name);
    return loops;
}
static void grid_of_nest(struct plan *u, const struct problem_loop *l) {
    struct word_list free = loops_of(u, l, true), order = free;
    if (l->free & (l->free + 1)) { /* others stand between them: they go inside */
        add_loops(&u->s, &order, loops_of(u, l, false));
        step_reorder(&u->s, order);
    }
    plan_threads(u, free, cells_of(l), free.v[0]);
    plan_grid(u, free.v[0]);
}
static const char *grids_points(struct plan *u, struct points *out) {
    bool any = false;
    for (int k = 0; k < u->k->loops.n; k++) any |= u->k->loops.v[k].free != 0;
    if (!any) return "no loop's turns are independent";
    add_point(u, out, &strategy_gpu_nests);
    return NULL;
}
static const char *grids_steps(struct plan *u, const struct point *p) {
    (void)p;
    layout_steps(&u->s, u->p, u->l);
    for (int k = 0; k < u->k->loops.n; k++)
        if (u->k->loops.v[k].free) grid_of_nest(u, &u->k->loops.v[k]);
    return NULL;
}
const struct strategy strategy_gpu_nests = {"grids of loops", grids_points, grids_steps, NULL};
