/* Algorithms: other stages for the same mathematics. Between a group's stages and its kernels the rows of rows.c are
 * asked, in order, whether they fit the problem of the stages and what they would cost; the cheapest rewrites them.
 * Lowering makes kernels of what comes out (lower/rewrite.c). What generated code computes is bit for bit what the
 * rewritten stages say; how far that may be from the definition is the row's bound. See docs/adding.md. */
#ifndef NN_LOWER_ALGORITHM_H
#define NN_LOWER_ALGORITHM_H
#include "lower/machine/machine.h"
#include "lower/problem/problem.h"
#include "lower/schedule/schedule.h"

/* What the user wants: rows that hold for a node, "NODE=ROW", or for all that they fit, "ROW"; and rows that are left
 * out, or "all". */
struct algorithm_wishes {
    const char *const *pins, *const *off;
    int npins, noff;
    enum dtype weights; /* I8: those of products may be rounded to it; NONE: they stay as they are */
};
struct algorithm_query {
    struct ctx *c;
    const struct machine *m;
    int threads;             /* that run a kernel */
    struct module *module;   /* gets the texts that a row calls */
    struct proc *entry;      /* has the buffers, and gets those that a row makes */
    struct block *stmts;     /* stages, and allocations of what they make */
    const struct problem *k; /* of them; NULL: they are more than stages, or a row goes beside another */
    struct param_layout (*layout)(void *env, const struct buf *b);
    /* `to`, which nothing uses yet, is laid out as `like` is; its border holds `add` more, and channels that are not in
     * blocks there are in such of `block` (0: they stay). */
    void (*lay_out)(void *env, struct buf *to, const struct buf *like, int64_t add, int block);
    void (*pack)(void *env, struct buf *b, struct panels how); /* b, which nothing uses yet, lies in panels */
    struct buf *(*stored)(void *env, struct buf *b); /* where its cells lie: in a wider type, or where it says */
    void *env;
    const struct map *results; /* buffers that are read elsewhere; NULL: all are */
    const struct algorithm_wishes *wishes;
    /* A loop over bands of so many rows of the result, which has `extent` of them; all parts stand in it. Where the
     * band begins: the last one begins early. NULL: there are no bands. */
    expr (*bands)(void *env, struct block *stmts, struct buf *result, int64_t rows, int64_t extent);
    /* A constant as the model has it, before anything rounded it; NULL: it is not asked. */
    const struct tensor *(*given)(void *env, const struct buf *b);
};
/* What comes out: parts that become kernels of their own, and buffers that one makes and another reads. */
struct algorithm_part {
    const char *what; /* for people, beside the row's title; NULL: nothing to add */
    struct block stmts;
};
struct rewriting {
    VEC(struct algorithm_part) parts;
    VEC(struct buf *) between; /* arena of the entry */
};
struct algorithm_saving {
    int places;    /* rewritten; 0: it has nothing to do */
    double cycles; /* saved by all of them; below 0: it takes longer */
};
struct algorithm {
    const char *name, *title; /* for options; for people */
    /* NULL: it fits. Else why not; "": the problem is of another kind altogether. */
    const char *(*refuses)(const struct algorithm_query *q, const struct algorithm *row);
    double (*cycles)(const struct algorithm_query *q, const struct algorithm *row); /* predicted */
    void (*rewrite)(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out);
    /* Rounding errors are other ones: the largest of a result, in units of 2^-24 times the sum of the products'
     * magnitudes' bound depth * max|x| * max|w|. NULL: all bits are those of the definition. */
    double (*bound)(const struct algorithm *row, int64_t depth);
    bool finite; /* .. but where what is multiplied is infinite or no number: some products with zero are left out */
    /* The type in which the cells of b, which is what the stages read, should lie; NONE: in their own. NULL: so. */
    enum dtype (*wants)(const struct algorithm_query *q, const struct buf *b);
    int tile, taps, dims; /* parameters of the row's functions: results and taps along each of so many axes */
    bool whole;           /* of whole numbers: bytes less their zero points */
    /* Only this: the row goes beside whichever other one is taken. What it rewrites in place (or would rewrite) of a
     * kernel's stages and calls of texts; asked: by the user, whatever it costs. */
    struct algorithm_saving (*beside)(const struct algorithm_query *q, bool asked, bool rewrites);
};
extern const struct algorithm algorithm_rows[];            /* name NULL ends; the first, direct, takes everything */
const struct algorithm *algorithm_named(const char *name); /* NULL: there is none */
bool algorithm_left_out(const struct algorithm_wishes *w, const char *name);
/* The cheapest row that fits, of those that the wishes for the node allow; one that may have other results must save a
 * tenth. why gets a line for each that was asked. */
const struct algorithm *algorithm_choose(const struct algorithm_query *q, const char *node, struct text *why);

/* The rows that go beside others, where they are cheaper or asked for, do it with the stages that became a kernel's;
 * why gets a line for each. Which did: their titles, each a line; "" if none. */
const char *algorithm_beside(const struct algorithm_query *q, const char *node, struct text *why);

/* ---- for rows */
void algorithm_part(const struct algorithm_query *q, struct rewriting *out, const char *what);
/* Of the last part: the stage that makes a new buffer, whose dims are the extents of the axes. */
struct buf *algorithm_stage(const struct algorithm_query *q, struct rewriting *out, const char *name, enum dtype t,
                            const struct var **axes, int naxes, enum red_op op, const struct var **red, int nred,
                            expr value);
/* For the last part: all cells of a buffer that another part makes, as one of these dims. */
struct buf *algorithm_view(const struct algorithm_query *q, struct rewriting *out, const char *name, struct buf *of,
                           const expr *dims, int nd);
/* A value over the axes of a stage, over new ones of the same extents: for another stage. at: loads at those. */
expr algorithm_own_axes(const struct algorithm_query *q, const struct stmt *s, expr value, const struct var **axes,
                        expr *at);
/* All stages become the last part's; the sum among them is the value now, if that is not NULL. */
void algorithm_rest(const struct algorithm_query *q, struct rewriting *out, expr value);
/* The same buffer, made in one part and read in others. */
void algorithm_between(const struct algorithm_query *q, struct rewriting *out, struct buf *b);

/* ---- bands (bands.c) */
/* Is there one result, of whose rows each follows from the same row of the sum? */
bool algorithm_has_rows(const struct algorithm_query *q);
/* All parts compute so many rows at a time from here on, those from the place that is returned. */
expr algorithm_bands(const struct algorithm_query *q, int64_t rows);
/* The last part, which has the stages of the problem, is made to compute these rows, and a part behind it puts them
 * into the result. */
void algorithm_end_band(const struct algorithm_query *q, struct rewriting *out, expr from, int64_t rows);
#endif
