/* What the steps share: the step in progress, refusal, finding loops, chains and accesses, and the test whether two
 * iterations can touch the same cell (ir/loop/dependence.h). Private to lower/schedule. */
#ifndef NN_LOWER_SCHEDULE_STEPS_UTIL_H
#define NN_LOWER_SCHEDULE_STEPS_UTIL_H
#include "ir/base/checked.h"
#include "ir/loop/dependence.h"
#include "lower/memory/local_memory.h"
#include "lower/schedule/steps.h"

/* A step in progress. */
struct step_run {
    struct ctx *c;
    struct proc *p;
    const struct step *step;
    const struct step_row *rows; /* step_rows; a pointer, because the table refers to the files of the steps, not the
                                  * other way round */
    const char *line;            /* its text */
    struct arena tmp;            /* freed when the step is done */
    bool reassociates;           /* this application changed the order of a float sum */
};
/* Records E_STEP with the step's text; returns false. The caller's changes are rolled back. */
bool step_refuse(struct step_run *s, const char *help, const char *fmt, ...) NN_PRINTF(3, 4);
/* "usage: split LOOP ..." */
bool step_usage(struct step_run *s);

struct stmts {
    struct stmt **v;
    int n, cap;
};

/* ---- finding */
void stmts_below(struct step_run *s, struct block *b, struct stmts *out); /* every statement below b, parents first */
void stmts_from(struct step_run *s, struct stmt *t, struct stmts *out);   /* t and every statement below it */
bool is_named(const struct stmt *t, const char *name);                    /* a loop of that name */
bool find_loops(struct step_run *s, const char *name, struct stmts *out); /* refuses if there is none */
struct buf *find_buf(struct step_run *s, const char *base);               /* refuses if there is none */
void bufs_named(struct step_run *s, const char *base, struct buf ***v, int *n); /* all instances */
/* The loops of the perfect nest that starts at `loop`; the last one's body is the leaf body. */
void chain_of(struct step_run *s, struct stmt *loop, struct stmts *out);
struct block *leaf_of(const struct stmts *chain);
bool encloses(const struct stmt *outer, const struct stmt *inner);      /* or equal */
struct stmt *top_of(struct stmt *t);                                    /* ancestor in the procedure's body */
void vars_below(struct step_run *s, struct block *b, struct vars *out); /* variables of all loops in b */
bool uses_any(expr e, const struct vars *l);
void subst_var(struct step_run *s, struct block *b, const struct var *v, expr by);

/* ---- accesses */
/* A store that updates its own cell: `x[i] op= v`, or `x[i] = fma(a, b, x[i])`, which is a sum. RED_NONE: plain. */
enum red_op update_op(const struct stmt *store);
bool is_fma_update(const struct stmt *store);
struct access {
    struct stmt *s;
    struct buf *buf;
    const expr *idx;
    int n;
    bool store;
    enum red_op op;
    expr load;
};
struct accesses {
    struct access *v;
    int n, cap;
};
/* Stores and loads below b (loads of an update's own cell are part of its store). */
void accesses_of(struct step_run *s, struct block *b, struct accesses *out);
void accesses_in(struct step_run *s, struct stmt *t, struct accesses *out);
bool loads_buf(struct step_run *s, struct stmt *t, const struct buf *buf); /* a load, anywhere below */
/* Steps cannot analyse it (call, while, swap, barrier ...). */
bool is_opaque(const struct stmt *t);
/* Such a statement below b, or NULL. */
struct stmt *opaque_in(struct step_run *s, struct block *b);
/* Does t use b as a whole, instead of single cells as loads and stores do? */
bool stmt_names(const struct stmt *t, const struct buf *b);
const char *stmt_what(const struct stmt *t);

/* Two iterations that differ in `moving` access indices a and b: what follows if these are the same cell? */
struct meet step_meet(struct step_run *s, const expr *a, const expr *b, int n, const struct vars *moving);
/* Range of e while the variables `inner` run, in terms of the other variables. false: no such range is known. */
bool range_over(struct step_run *s, expr e, const struct vars *inner, expr *lo, expr *hi);
/* Do the `if`s around t guarantee that e >= 0 there? */
bool holds_nonneg(struct step_run *s, const struct stmt *t, expr e);

/* ---- building */
expr *exprs_copy(struct ctx *c, const expr *v, int n);
/* Replaces loads of `from` below b: fn gets the load with its indices already rebuilt. */
typedef expr (*load_fn)(void *env, struct buf *from, expr *idx, int n, expr fill);
void map_loads(struct step_run *s, struct block *b, struct buf *from, load_fn fn, void *env);
void map_loads_in(struct step_run *s, struct stmt *t, struct buf *from, load_fn fn, void *env);
expr map_loads_expr(struct step_run *s, expr e, struct buf *from, load_fn fn, void *env);
struct redirect {
    struct ctx *c;
    struct buf *to;
};
expr redirected_load(void *redirect, struct buf *from, expr *idx, int n, expr fill); /* the same cell of `to` */
/* Takes the buffer out of the procedure, with its allocation at the top level. */
void drop_buf(struct step_run *s, struct buf *b);
void copy_idx(struct ctx *c, struct stmt *store, const expr *idx, int n);
/* For pad and widen: the loop is serial and contains only nests of stores whose extents do not depend on it. */
bool only_nests(struct step_run *s, struct stmt *loop);
bool is_own_buf(const struct buf *b); /* nobody but the kernel sees it */
/* Gives dim d of such a buffer, which must not have a layout yet, n cells; refuses if a reader could notice. zero: the
 * new cells will hold 0. */
bool grow_own_buf(struct step_run *s, struct buf *b, int d, expr n, bool zero);

/* A stage in lowered form, not yet scheduled: the top-level nests that write one buffer. */
struct pristine {
    struct buf *buf;
    int n;                 /* 1: value; 2: init, update; 3: also a second update, for the remainder that rfactor
                            * leaves */
    struct stmt *nest[3];  /* top-level statements */
    struct stmts chain[3]; /* their loops; none for a scalar */
    struct stmt *store[3];
};
/* Finds the stage; refuses if something else writes the buffer, or if an index is not a single loop variable. */
bool find_pristine(struct step_run *s, const char *name, struct pristine *out);

/* What the producer's nests read must not change between their position and `upto`, their new position. */
bool inputs_stable(struct step_run *s, const struct pristine *p, struct stmt *upto);
/* Nothing uses b as a whole; otherwise stages are placed before that use. */
bool only_loads(struct step_run *s, const struct buf *b);
/* The loop variable of the stage's nest k that indexes dim d of its buffer; NULL if that index is the constant 0. */
const struct var *axis_var(const struct pristine *p, int k, int d);

/* ---- parameters, names */
bool only_accessed(struct step_run *s,
                   const struct buf *b);              /* only by loads and stores, which say which cells they touch */
bool free_name(struct step_run *s, const char *name); /* the name can be given to a new buffer */
const char *loop_name(struct ctx *c, const char *buf, const char *axis);

/* The result and the operand named by the steps over and within: parameters that are only accessed cell by cell. */
bool result_and_operand(struct step_run *s, struct buf **y, struct buf **x);

/* ---- rows' functions */
// clang-format off
#define STEP_FUNCTIONS(X) X(split) X(tiles) X(cut) X(reorder) X(fuse) X(kind) X(grain) X(outline) X(layout) X(compute_at) X(cache_read) \
    X(cache_write) X(rfactor) X(carry) X(join) X(specialize) X(inline) X(noinline) X(prefetch) X(pipeline) X(tensorize) X(scratch) X(border) \
    X(over) X(within) X(widen) X(pad) X(skip)
// clang-format on
#define X(f) bool apply_##f(struct step_run *s);
STEP_FUNCTIONS(X)
#undef X
bool tensorize_with(struct step_run *s, const struct instr_row *row);
/* Lanes of a vector loop access contiguous cells, or one cell; loads may also have a stride of 2 or 3. */
bool vector_strides_ok(struct step_run *s, struct stmt *loop);
/* Rewrites loads with run-time selects or guards into forms that vectorise (steps_lanes.c). */
void read_in_lanes(struct step_run *s, struct stmt *loop);
#endif
