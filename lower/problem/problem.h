/* What one kernel computes: the only place that decides which roles the axes of a sum have. Used to form groups
 * (lower/classify.c), and by the schedules. A problem only states facts; what can be done with them is up to the
 * schedule.
 *
 * A sum of products, whatever a model calls it, is  sum over k, w of a[batch, m, s+w, k] * b[batch, n, w, k]. */
#ifndef NN_LOWER_PROBLEM_H
#define NN_LOWER_PROBLEM_H
#include "ir/loop/loop.h"

/* MOVE: copies cells unchanged. MAP: no reduction. ROWS: reduces whole axes of what it reads. WINDOW: what is reduced
 * slides along axes of the result (pooling, depthwise convolution). CONTRACTION: a sum of products whose factors serve
 * several results. TEXT: loops that were never stages. */
enum problem_class { PROBLEM_MOVE, PROBLEM_MAP, PROBLEM_ROWS, PROBLEM_WINDOW, PROBLEM_CONTRACTION, PROBLEM_TEXT };
const char *problem_class_name(enum problem_class k);

/* Axes of the result: CELL: of a map; BATCH: separate sums for each; GROUP: neighbours share what they read of one
 * factor; M, N: only the first factor depends on it, only the second; SPATIAL: moves along an operand together with a
 * WINDOW. Reduced variables: K, WINDOW. */
enum axis_role { ROLE_CELL, ROLE_BATCH, ROLE_GROUP, ROLE_M, ROLE_N, ROLE_SPATIAL, ROLE_K, ROLE_WINDOW };
const char *axis_role_name(enum axis_role r);

/* One factor of the products; for other reductions, what they reduce. */
struct operand {
    expr value;                /* what goes into the sum */
    expr read;                 /* the load in it with the most axes; equal to value: nothing is done to it */
    const struct stmt *made;   /* the map of the kernel that makes what is read; NULL: it lies in memory */
    uint64_t axes, sums, wide; /* axes and reduced variables that `read` depends on, as bits; wide: those axes with more
                                * than one cell */
};
enum { PROBLEM_AXES = 32 };
/* An outermost loop of a kernel that was never stages, with the loops perfectly nested in it. */
struct problem_loop {
    const struct stmt *loop;
    int depth;     /* of this perfect nest */
    uint64_t free; /* bit k: iterations of its loop k may run in any order, or in parallel */
};
struct problem {
    enum problem_class cls;
    VEC(struct stmt *) stages; /* in order; none: the kernel has loops */
    VEC(struct problem_loop) loops;
    struct stmt *out; /* the last stage that stores a parameter */
    struct stmt *sum; /* the reduction that determines the class; NULL: there is none */
    int nreductions, nresults;
    bool product;        /* sums products of a and b; for other reductions, a is what they reduce */
    bool differences;    /* .. or squared differences of a and b, which serve several results like factors */
    bool apart;          /* each factor has an axis that the other lacks, or one factor has no axes */
    bool slides;         /* an index contains both an axis and a reduced variable */
    bool indirect;       /* an index comes from data */
    bool guarded;        /* an index is checked where it is used */
    int nreads;          /* loads in the reduction's value, or in that of the only stage */
    struct operand a, b; /* b is constant if either is */
    enum axis_role axis[PROBLEM_AXES], summed[PROBLEM_AXES]; /* of the sum; if there is none, of out */
};
/* What is subtracted from the operand before the product, independent of what is summed: a zero point. The constant 0:
 * nothing; NULL: something else is done to it. */
expr operand_shift(struct ctx *c, const struct problem *p, const struct operand *o);
/* The only definition of a summed product. */
static inline bool sums_products(enum red_op op, expr value) { return op == RED_SUM && value->op == X_MUL; }

/* The problem of a kernel that does not consist of stages only (loops.c). */
void loops_problem(struct ctx *c, struct proc *proc, struct problem *p);
/* The problem of a single stage, without roles. */
void stage_problem(struct ctx *c, struct stmt *s, struct problem *p);
/* The problem of stages that are not a kernel yet; results: buffers that are also read elsewhere. false: there are not
 * only stages, or there is no result. */
bool stages_problem(struct ctx *c, const struct block *b, const struct map *results, struct problem *p);
/* The problem of a kernel before its first step. */
void kernel_problem(struct ctx *c, struct proc *proc, struct problem *p);
/* Is it a convolution, however it is written? Only one factor, the weights, depends on axis 1, and all of the batch
 * share them; the other factor is summed along its own axis 1. Then blocks of channels fit the lanes of both. In a
 * matrix product, axis 1 may be rows or a batch as well, and weights have two axes. */
bool problem_sums_channels(const struct problem *p);
/* The same within groups of channels. */
bool problem_sums_groups(struct ctx *c, const struct problem *p);
/* For a product, the axis of the sum along which separately summed groups lie; -1: none. */
int problem_group_axis(struct ctx *c, const struct problem *p);
/* The sum over v reads, at index `at`, contiguous cells in whole blocks, starting at the beginning of one. */
bool sums_whole_blocks(struct ctx *c, expr at, const struct var *v, int64_t block);
/* How many neighbours along v read the same cells of `load` (channels of a group). 0: all, 1: none. */
int64_t shared_neighbours(struct ctx *c, expr load, const struct var *v);
/* The value consists of unchanged cells, of one operand or another. */
bool moves_cells(expr value);
bool operand_uses(struct ctx *c, expr load, const struct var *v); /* in some index */
/* Position of v among the indices of a load where it stands alone; -1: there is none. */
int dim_of(expr load, const struct var *v);
/* Can rows of a, whose cells along the sum are contiguous, be multiplied by lanes of b? Then *along and *summed are the
 * dims of b along the lanes and along the sum. */
bool rows_meet_lanes(const struct stmt *sum, expr a, expr b, int *along, int *summed);
/* Does the sum `outer` add up those of the sum `inner`, each of which it reads once: at its own axes, followed by what
 * it sums over? Together they are one sum in two steps (blocks that have a scale each). */
bool adds_up(const struct stmt *outer, const struct stmt *inner);
/* The next larger divisor of n; n + 1 after n. */
int64_t next_divisor(int64_t n, int64_t d);
int64_t const_extent(const struct var *v); /* -1 when symbolic */
int stage_loops(const struct stmt *s);     /* axes and reduced variables with more than one iteration */
int operations_of(expr e);                 /* operations on values, without loads and indices */
bool costs_much(expr e);                   /* calls functions, looks up data-dependent indices, or takes as long as
                                            * these */
/* Expected number of cells, for predicting times: see x_typical. */
double typical_cells(struct ctx *c, const struct var *const *v, int n, int64_t open);
double typical_size(struct ctx *c, const expr *dims, int n, int64_t open);
/* The extent of a stage's axis k, and the number of cells of its result; an open batch of unknown size counts as
 * one. */
double typical_axis(struct ctx *c, const struct stmt *s, int k);
double typical_result(struct ctx *c, const struct stmt *s);
/* The number of results that each cell of a factor contributes to. */
double typical_rows(struct ctx *c, const struct stmt *sum, const struct operand *factor);
static inline bool checks_sizes(const struct stmt *s) { return s->kind == S_CHECK && !x_has(s->u.check.cond, XF_LOAD); }
static inline bool is_constant(const struct buf *b) { return b->data != NULL; }

/* "m0", "w1": the problem's names of axis k, and of reduced variable k, of the stage that has the roles. */
const char *axis_name(struct ctx *c, const struct problem *p, int k);
const char *sum_name(struct ctx *c, const struct problem *p, int k);
/* The text, which is equal for equal problems, whatever their names: the key of records, and shown by
 * --dump-after=problems. */
void problem_print(struct text *t, struct ctx *c, const struct problem *p);
#endif
