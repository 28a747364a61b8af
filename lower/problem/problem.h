/* What one kernel computes: the only place where it is found which axes of a sum are what. Asked where groups form
 * (lower/classify.c), and by the schedules. A problem says what is so; what a schedule can make of it, that one says.
 *
 * A sum of products, whatever it is called in a model, is  sum over k, w of a[batch, m, s+w, k] * b[batch, n, w, k]. */
#ifndef NN_LOWER_PROBLEM_H
#define NN_LOWER_PROBLEM_H
#include "ir/loop/loop.h"

/* MOVE: cells go elsewhere as they are. MAP: no reduction. ROWS: reduces whole axes of what it reads. WINDOW: what is
 * reduced slides along axes of the result (pooling, depthwise convolution). CONTRACTION: a sum of products whose
 * factors serve several results. TEXT: loops that were never stages. */
enum problem_class { PROBLEM_MOVE, PROBLEM_MAP, PROBLEM_ROWS, PROBLEM_WINDOW, PROBLEM_CONTRACTION, PROBLEM_TEXT };
const char *problem_class_name(enum problem_class k);

/* Of an axis of the result: CELL: of a map; BATCH: each has sums of its own; GROUP: neighbours share what they read of
 * one factor; M, N: only the first factor has it, only the second; SPATIAL: moves along an operand together with a
 * WINDOW. Of what is summed: K, WINDOW. */
enum axis_role { ROLE_CELL, ROLE_BATCH, ROLE_GROUP, ROLE_M, ROLE_N, ROLE_SPATIAL, ROLE_K, ROLE_WINDOW };
const char *axis_role_name(enum axis_role r);

/* One factor of the products; or, of other reductions, what they reduce. */
struct operand {
    expr value;                /* what goes into the sum */
    expr read;                 /* the load in it that has the most axes; equal to value: nothing is done before */
    const struct stmt *made;   /* a map of the kernel made what is read; NULL: it lies in memory */
    uint64_t axes, sums, wide; /* that `read` has, as bits; those axes of more than one cell */
};
enum { PROBLEM_AXES = 32 };
/* An outermost loop of a kernel that was never stages, and those that it holds and nothing else. */
struct problem_loop {
    const struct stmt *loop;
    int depth;     /* of this nest */
    uint64_t free; /* bit k: the turns of its loop k may run in any order, or at once */
};
struct problem {
    enum problem_class cls;
    VEC(struct stmt *) stages; /* in order; none: loops */
    VEC(struct problem_loop) loops;
    struct stmt *out; /* the last stage that stores a parameter */
    struct stmt *sum; /* the reduction that gives the kernel its class; NULL: it has none */
    int nreductions, nresults;
    bool product;        /* sums products of a and b; otherwise, of a reduction, a is what it reduces */
    bool differences;    /* .. or squares of differences of a and b, which serve several results as factors do */
    bool apart;          /* each factor has an axis that the other lacks, or one has none */
    bool slides;         /* an index has both an axis and what is summed */
    bool indirect;       /* an index comes from data */
    bool guarded;        /* an index is checked where it is used */
    int nreads;          /* loads in the reduction's value, or in that of the only stage */
    struct operand a, b; /* b is a constant if one of them is */
    enum axis_role axis[PROBLEM_AXES], summed[PROBLEM_AXES]; /* of the sum, or, without one, of out */
};
/* What is subtracted from what is read before the product, the same for all that is summed: a zero point. The constant
 * 0: nothing is done; NULL: something else is. */
expr operand_shift(struct ctx *c, const struct problem *p, const struct operand *o);
/* The one question what a product that is summed looks like. */
static inline bool sums_products(enum red_op op, expr value) { return op == RED_SUM && value->op == X_MUL; }

/* Of a kernel that is not stages alone (loops.c). */
void loops_problem(struct ctx *c, struct proc *proc, struct problem *p);
/* Of a single stage; roles are left out. */
void stage_problem(struct ctx *c, struct stmt *s, struct problem *p);
/* Of stages that are not a kernel yet; results: buffers that others read besides. false: there is more than stages, or
 * no result. */
bool stages_problem(struct ctx *c, const struct block *b, const struct map *results, struct problem *p);
/* Of a kernel before its first step. */
void kernel_problem(struct ctx *c, struct proc *proc, struct problem *p);
/* A convolution, however it is written: axis 1 is in one factor alone, the weights, which all of the batch share, and
 * the other is summed along its own axis 1. Blocks of channels then lie along the lanes of both. In a product, axis 1
 * may as well be rows or a batch, and weights have two axes. */
bool problem_sums_channels(const struct problem *p);
/* The same, group by group of channels: it sums over those of one. */
bool problem_sums_groups(struct ctx *c, const struct problem *p);
/* Of a product, the axis of the sum along which lie groups, which are summed each for itself; -1: none. */
int problem_group_axis(struct ctx *c, const struct problem *p);
/* The sum over v reads at `at` so many neighbours, whole blocks of them, from where one begins. */
bool sums_whole_blocks(struct ctx *c, expr at, const struct var *v, int64_t block);
/* So many neighbours along v read the same cells of `load` (channels of a group). 0: all of them, 1: none do. */
int64_t shared_neighbours(struct ctx *c, expr load, const struct var *v);
/* The value is cells as they are, of one operand or another. */
bool moves_cells(expr value);
bool operand_uses(struct ctx *c, expr load, const struct var *v); /* in an index */
/* Position of a bare variable among the indices of a load, -1 if it is not bare there. */
int dim_of(expr load, const struct var *v);
/* Do rows of a, whose cells of what is summed lie side by side, meet lanes of b? Then *along and *summed are the dims
 * of b of which those are. */
bool rows_meet_lanes(const struct stmt *sum, expr a, expr b, int *along, int *summed);
/* The next larger divisor of n, n + 1 after n: into so many parts. */
int64_t next_divisor(int64_t n, int64_t d);
int64_t const_extent(const struct var *v); /* -1 when symbolic */
int stage_loops(const struct stmt *s);     /* axes and reduced variables of more than one turn */
int operations_of(expr e);                 /* on values: neither loads nor indices */
bool costs_much(expr e);                   /* functions, places that are read from data, what takes as long as these */
/* So many cells, where times are predicted: see x_typical. */
double typical_cells(struct ctx *c, const struct var *const *v, int n, int64_t open);
double typical_size(struct ctx *c, const expr *dims, int n, int64_t open);
/* Of a stage, the extent of axis k, and the cells of its result: where nothing is known of an open batch it is one. */
double typical_axis(struct ctx *c, const struct stmt *s, int k);
double typical_result(struct ctx *c, const struct stmt *s);
/* So many results of a sum each cell of a factor takes part in. */
double typical_rows(struct ctx *c, const struct stmt *sum, const struct operand *factor);
static inline bool checks_sizes(const struct stmt *s) { return s->kind == S_CHECK && !x_has(s->u.check.cond, XF_LOAD); }
static inline bool is_constant(const struct buf *b) { return b->data != NULL; }

/* "m0", "w1": the problem's own names of axis k, and of what is summed, of the stage that has the roles. */
const char *axis_name(struct ctx *c, const struct problem *p, int k);
const char *sum_name(struct ctx *c, const struct problem *p, int k);
/* One text for equal problems, whatever their names: what is looked up in records, and shown by --dump-after=problems.
 */
void problem_print(struct text *t, struct ctx *c, const struct problem *p);
#endif
