/* Algorithms: other stages for the same mathematics. Between a group's stages and its kernels, each row of rows.c is
 * asked in order whether it fits the problem of the stages, and what it would cost; the cheapest one rewrites them.
 * Lowering makes kernels of the result (lower/rewrite.c). Generated code computes bit for bit what the rewritten stages
 * say; how far that may be from the definition is the row's bound. See docs/adding.md. */
#ifndef NN_LOWER_ALGORITHM_H
#define NN_LOWER_ALGORITHM_H
#include "lower/machine/machine.h"
#include "lower/problem/problem.h"
#include "lower/schedule/schedule.h"

/* What the user wants: rows to take for one node, "NODE=ROW", or wherever they fit, "ROW"; and rows to leave out, or
 * "all". */
struct algorithm_wishes {
    const char *const *pins, *const *off;
    int npins, noff;
    enum dtype weights; /* I8: weights of products may be rounded to it; NONE: they may not */
};
/* A band has so many cells of a dim of the result, from `from` on. */
struct algorithm_cut {
    int dim;
    int64_t cells;
    expr from;
};
struct algorithm_query {
    struct ctx *c;
    const struct machine *m;
    int threads;             /* that run a kernel */
    struct module *module;   /* gets the kernel texts that a row calls */
    struct proc *entry;      /* owns the buffers, and those that a row makes */
    struct block *stmts;     /* stages, and allocations of their results */
    const struct problem *k; /* of the stages; NULL: there are not only stages, or the row goes beside another */
    struct param_layout (*layout)(void *env, const struct buf *b);
    /* Gives `to`, which nothing uses yet, the layout of `like`, with a border wider by `add`. If the channels of `like`
     * are not in blocks, they get blocks of `block` (0: none). */
    void (*lay_out)(void *env, struct buf *to, const struct buf *like, int64_t add, int block);
    void (*pad)(void *env, struct buf *b, int dim, int64_t cells); /* adds cells to the pitch of a plain buffer */
    void (*pack)(void *env, struct buf *b, struct panels how);     /* puts b, which nothing uses yet, into panels */
    struct buf *(*stored)(void *env, struct buf *b); /* the buffer that really holds b's cells: one of a wider type, or
                                                      * b */
    void *env;
    const struct map *results; /* buffers that are read outside of the stages; NULL: all are */
    const struct algorithm_wishes *wishes;
    /* Begins loops over bands of the result; all parts go into them. Sets where a band begins; the last one along a
     * dim overlaps the one before. NULL: no bands are possible. */
    void (*bands)(void *env, struct block *stmts, struct buf *result, struct algorithm_cut *cuts, int n);
    /* A constant as the model has it, before any rounding; NULL: no such rounding is asked for. */
    const struct tensor *(*given)(void *env, const struct buf *b);
};
/* The result of rewriting: parts that become kernels, and buffers between them. */
struct algorithm_part {
    const char *what; /* for people, in addition to the row's title; NULL: nothing */
    struct block stmts;
    bool once; /* before the bands, if there are any, and not in each of them */
};
struct rewriting {
    VEC(struct algorithm_part) parts;
    VEC(struct buf *) between; /* arena of the entry */
};
struct algorithm_saving {
    int places;    /* number of rewritten places; 0: there is nothing to do */
    double cycles; /* saved by all of them; negative: it takes longer */
};
struct algorithm {
    const char *name, *title; /* for options; for people */
    /* NULL: it fits. Otherwise the reason why not; "": the problem is of a different kind altogether. */
    const char *(*refuses)(const struct algorithm_query *q, const struct algorithm *row);
    double (*cycles)(const struct algorithm_query *q, const struct algorithm *row); /* predicted */
    void (*rewrite)(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out);
    /* For rows whose rounding errors differ from the definition's: the bound on the largest error of a result, in units
     * of 2^-24 times depth * max|x| * max|w|. NULL: all bits are those of the definition. */
    double (*bound)(const struct algorithm *row, int64_t depth);
    bool finite; /* .. unless a multiplied value is infinite or NaN: some products with zero are left out */
    /* The type in which the cells of b, which the stages read, should be stored; NONE: its own. NULL: always its
     * own. */
    enum dtype (*wants)(const struct algorithm_query *q, const struct buf *b);
    int tile, taps, dims; /* parameters of the row's functions: results and taps along each of `dims` axes */
    bool whole;           /* for integers: bytes less their zero points */
    bool split;           /* for windows of more taps */
    /* If set, there is nothing but this: the row goes beside whichever other row is taken. It rewrites in place (or,
     * unless `rewrites`, only estimates) some of a kernel's stages and calls of texts. asked: the user wants it,
     * whatever it costs. */
    struct algorithm_saving (*beside)(const struct algorithm_query *q, const struct algorithm *row, bool asked,
                                      bool rewrites);
};
extern const struct algorithm algorithm_rows[];            /* name NULL ends; the first, direct, fits everything */
const struct algorithm *algorithm_named(const char *name); /* NULL: there is none */
bool algorithm_left_out(const struct algorithm_wishes *w, const char *name);
/* The cheapest fitting row that the wishes for the node allow; a row whose results may differ must save a tenth. why
 * gets a line for each row that was asked. */
const struct algorithm *algorithm_choose(const struct algorithm_query *q, const char *node, struct text *why);

/* Lets the rows that go beside others rewrite the stages of a kernel, where they are cheaper or asked for; why gets a
 * line for each. Returns the titles of those that did, a line each; "" if none. */
const char *algorithm_beside(const struct algorithm_query *q, const char *node, struct text *why);

/* ---- for rows */
void algorithm_part(const struct algorithm_query *q, struct rewriting *out, const char *what);
/* For the last part: a stage that makes a new buffer, whose dims are the extents of the axes. */
struct buf *algorithm_stage(const struct algorithm_query *q, struct rewriting *out, const char *name, enum dtype t,
                            const struct var **axes, int naxes, enum red_op op, const struct var **red, int nred,
                            expr value);
/* For the last part: a view of a buffer from another part, all of whose cells it shows with these dims. */
struct buf *algorithm_view(const struct algorithm_query *q, struct rewriting *out, const char *name, struct buf *of,
                           const expr *dims, int nd);
/* The stage's value over new axes of the same extents, for use in another stage. at: the same for the indices of
 * loads. */
expr algorithm_own_axes(const struct algorithm_query *q, const struct stmt *s, expr value, const struct var **axes,
                        expr *at);
/* Moves all stages to the last part; if value is not NULL, it replaces the sum among them. */
void algorithm_rest(const struct algorithm_query *q, struct rewriting *out, expr value);
/* Registers a buffer that one part makes and others read. */
void algorithm_between(const struct algorithm_query *q, struct rewriting *out, struct buf *b);

/* ---- bands (bands.c) */
/* Can bands cut this dim: is there one result, whose cells depend on the same cells of the sum along it only? */
bool algorithm_can_cut(const struct algorithm_query *q, int dim);
/* From now on all parts compute a band; the outermost cut comes first. */
void algorithm_bands(const struct algorithm_query *q, struct algorithm_cut *cuts, int n);
/* Makes the last part, which has the stages of the problem, compute a band only, and adds a part that copies it into
 * the result. */
void algorithm_end_band(const struct algorithm_query *q, struct rewriting *out, const struct algorithm_cut *cuts,
                        int n);
#endif
