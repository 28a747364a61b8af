/* Choosing schedules: heuristics that write schedule steps as text for a kernel. One file per target class; the steps
 * themselves stand in steps*.c. Called by lowering for every kernel. */
#ifndef NN_LOWER_SCHEDULE_SCHEDULE_H
#define NN_LOWER_SCHEDULE_SCHEDULE_H
#include "ir/loop/loop.h"
#include "lower/machine/machine.h"

/* The layout that was chosen for a parameter: axis 1 in blocks of `block` (0: not blocked), zero borders. */
struct param_layout {
    int block;
    bool halo;
    const char *spec;
}; /* spec: operand of the layout step; NULL: plain */
/* Chooses and applies steps for a kernel; layouts: one per parameter, NULL: all plain. Without a fitting schedule the
 * kernel keeps plain loops, with its layouts. Constant parameters may get any layout: the caller packs. */
void schedule_kernel(struct ctx *c, struct proc *p, const struct machine *m, const struct param_layout *layouts);

/* ---- shared by the heuristics (analyse.c) */
/* A contraction kernel: acc[axes] = sum over red of a*b, then maps to the result. */
enum { MAX_AXES = 16 };
enum axis_role { ROLE_M, ROLE_N, ROLE_BATCH }; /* of a data axis: in a only, in b only, in both */
struct contraction {
    struct stmt *acc, *out; /* stages; between them only maps, which are inlined */
    expr a, b;              /* the two loads; b holds the N axes and is packed when constant */
    int naxes, nred;
    enum axis_role role[MAX_AXES];
    int n_axis; /* the N axis that becomes lanes: the one innermost in b's stores, -1: none */
    bool b_const;
};
struct kernel_info {
    struct proc *p;
    VEC(struct stmt *) stages; /* in order */
    struct stmt *out;          /* the last stage that stores a param */
    int nreductions, nparams_out;
};
bool kernel_info(struct ctx *c, struct proc *p, struct kernel_info *k); /* false: not only stages */
bool find_contraction(struct ctx *c, struct kernel_info *k, struct contraction *q);
int64_t const_extent(const struct var *v); /* -1 when symbolic */
/* Applies all of `text` (NULL: no steps) or nothing; no diagnostics are left behind when it is refused. */
bool try_schedule(struct ctx *c, struct proc *p, const char *text);
/* "y.oc": name of axis k's loop of a stage */
const char *axis_loop(struct ctx *c, const struct stmt *stage, int k);
const char *red_loop(struct ctx *c, const struct stmt *stage, int k);
const struct param_layout *layout_of(const struct proc *p, const struct param_layout *l, const struct buf *b);
void layout_steps(struct text *t, const struct proc *p, const struct param_layout *l); /* the steps for all of them */
/* Stages that share rows (rows.c). */
bool schedule_rows(struct ctx *c, struct proc *p, const struct machine *m, const struct param_layout *l,
                   const struct kernel_info *k);
/* The kernel reads x only to copy all of it, or what fills y, to y, *cells further on; all: it does nothing else. */
bool kernel_copies(struct ctx *c, struct proc *p, const struct buf *y, const struct buf *x, int64_t *cells, bool *all);
/* k NULL: the kernel has nests that were never stages. */
void schedule_cpu(struct ctx *c, struct proc *p, const struct machine *m, const struct param_layout *l,
                  struct kernel_info *k);
void schedule_gpu(struct ctx *c, struct proc *p, const struct machine *m, const struct param_layout *l,
                  struct kernel_info *k);
#endif
