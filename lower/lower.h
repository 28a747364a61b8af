/* From graph to module: every group of nodes becomes a kernel procedure, the entry procedure calls them (design:
 * groups, control flow, run-time sizes). Stands between the graph passes and the memory plan. */
#ifndef NN_LOWER_LOWER_H
#define NN_LOWER_LOWER_H
#include "ir/graph/graph.h"
#include "ir/loop/loop.h"
#include "ir/loop/target.h"
#include "lower/algorithm/algorithm.h"

/* What the user wants of the types of products: one of 16 bits, of all that no pin names or of those alone that one
 * does; "NODE=bf16", "NODE=f32". */
struct precision_wishes {
    enum dtype type; /* F16, BF16: of what products of f32 multiply; NONE: f32 */
    bool some;       /* of those that a pin names alone */
    const char *const *pins;
    int npins;
};
struct lower_options {
    const struct target *target;
    bool no_fuse;             /* one kernel per node: for node-by-node comparison */
    const char *const *alone; /* nodes that have kernels of their own */
    int nalone;
    bool no_schedule; /* kernels stay plain loops */
    bool no_excess;   /* 16-bit floats are rounded by each operator on every machine */
    struct precision_wishes precision;
    int threads; /* that run a kernel at most; 0: 1 */
    struct algorithm_wishes algorithms;
    /* Not NULL: get the groups of every region, in the order they are lowered; what each kernel computes; and how
     * it was chosen to be computed. */
    struct text *groups, *problems, *choices;
    struct records *records; /* points that kernels shall have (lower/schedule/record.h); NULL: none */
};
/* What a module came from, for people: manifest.json tells it. */
struct group;
struct lowered {
    const struct graph *graph;
    VEC(const struct group *) groups; /* of all regions, in the order they were lowered */
    struct map bufs;                  /* value -> its buffer of the entry */
};
/* NULL after diagnostics. Kernels are scheduled for the target; every procedure has passed the verifier. */
struct module *lower_graph(struct graph *g, const struct lower_options *o);

/* Without the calls whose results nothing reads, their storage and kernels that only they call (lower/dead.c). */
void drop_dead_kernels(struct module *m);
/* What all calls of a kernel text give alike becomes a constant of the text (lower/text_sizes.c). */
void settle_text_sizes(struct module *m);
/* One call of those that do the same (lower/share.c). */
void share_calls(struct module *m);
/* Slices become views of their operands, operands of a Concat views of its result (lower/coalesce.c). */
void coalesce_copies(struct module *m);
/* Results take the place of operands that die, where the kernels allow it (lower/reuse.c). */
void reuse_storage(struct module *m);
/* Every buffer of the entry that the map holds goes: the one that it is mapped to stands for it, or what stands for
 * that one (lower/rename.c). */
void replace_bufs(struct module *m, struct map *in_place);
struct buf *buf_placed(const struct map *in_place, struct buf *b);
/* The module's kernels, without an entry, as they were before their schedules, with the steps to do again: what
 * steps_replay makes of them equals m's kernels (lower/kernel.c). */
struct module *kernels_before(const struct module *m);

/* ---- for control ops (lower/ops/control.c) and groups */
struct lowering {
    struct ctx *c;
    struct graph *g;
    struct module *m;
    struct proc *entry;
    struct block *block; /* where statements go now */
    struct map bufs;     /* value -> buffer of the entry */
    struct lowered *from;
    struct map external; /* buffers that more than the group being outlined uses */
    const struct lower_options *o;
    int kernels;
    struct map layouts; /* value -> struct value_layout, for values that are not plain (lower/layout.h) */
    struct map results; /* value -> buffer of the caller, of results that are made elsewhere and copied there */
    struct map roles;   /* buffer of a node's result -> name of its op, for people */
    struct map through; /* buffer of a view that is no kernel -> its stage */
    struct map specs;   /* buffer of the entry -> struct value_layout */
    struct map halves;  /* buffer of f32 -> the narrower type that its cells are rounded to */
    struct map narrow, narrowed;    /* values, and their buffers, that lie in 16 bits (lower/narrow.h) */
    struct map beyond;              /* values of l->narrow that are not stored, and may be beyond its range */
    struct map packed;              /* node -> struct packed_factor (lower/packing.h) */
    struct map stored;              /* buffer of bytes -> the one that has its cells (lower/stored.c) */
    struct map widened;             /* constant of 16-bit floats -> the same in f32 */
    struct map given;               /* constant that was rounded -> its cells in the model */
    struct kernel_list *known;      /* kernels made so far, by text */
    const char *nodes;              /* those whose kernels are made now, a line each: for the kernels' comments */
    const char *why;                /* which algorithms were asked for what is outlined now; NULL: none */
    const char *origin;             /* the one of them that a fault is of */
    struct map origins;             /* call of the entry -> the same */
    int loops;                      /* loops of the entry around what is lowered now */
    VEC(const struct sym *) passes; /* for each depth: the number of the pass as a size (lower/ops/control.c) */
    struct probes *probes;          /* what is known of the nodes (lower/classify.c) */
    struct sizes *sizes;            /* equal ones, in what is outlined now; NULL: none (lower/size_names.h) */
    struct map parts;               /* part of a size, or a long one -> the symbol that stands for it in kernels */
    struct map text_whys;           /* text -> which algorithms were asked for each node that calls it */
    int nsizes;                     /* long ones that have a name */
    struct link *link;              /* gets the statements of the group that is lowered now; NULL: kernels (chain.h) */
    VEC(const struct sym *) froms;  /* first cells of tiles (lower/chain.c) */
};
/* The entry buffer of a value; allocated in the current block when it has none yet. */
struct buf *lower_buf(struct lowering *l, struct value *v);
void lower_bind(struct lowering *l, struct value *v, struct buf *b);
/* `to`, which nothing uses yet, is laid out as `like` is; its border holds `add` more, and channels that are not in
 * blocks there are in such of `block` (0: they stay). */
void lower_lay_out(struct lowering *l, struct buf *to, const struct buf *like, int64_t add, int block);
/* Where the cells of b lie, which kernels know as bytes: b itself, or one of a type that its readers multiply. The
 * results of n, in the current block, may get such; statements are made to use them before they are outlined
 * (lower/stored.c). */
struct buf *lower_stored(struct lowering *l, struct buf *b);
struct buf *lower_known_as(struct lowering *l, struct buf *stored, enum dtype bytes); /* what others know it as */
void choose_stored(struct lowering *l, const struct node *n);
void use_stored(struct lowering *l, struct block *stmts);
struct buf *lower_alloc(struct lowering *l, const char *name, enum dtype t, const expr *dims, int nd);
enum scope lower_scope(const expr *dims, int nd); /* arena; region when a size is produced in the run */
struct buf *lower_alloc_in(struct lowering *l, enum scope scope, const char *name, enum dtype t, const expr *dims,
                           int nd);
/* The nodes of r, into the current block. */
bool lower_region(struct lowering *l, struct region *r);
/* dst[i] = src[i] as a kernel; with `at` also one leading index on dst's (to) or src's (from) side. */
void lower_copy(struct lowering *l, struct buf *dst, struct buf *src);
bool lower_same_dims(const struct buf *a, const struct buf *b); /* logical extents, by expression */
void lower_copy_slice(struct lowering *l, struct buf *dst, expr dst_at, int dst_axis, struct buf *src, expr src_at,
                      int src_axis);
void lower_stmt(struct lowering *l, struct stmt *s);
static inline int lower_threads(const struct lowering *l) { return l->o->threads > 1 ? l->o->threads : 1; }

/* Moves the runs of stages and loops of `from` into kernel procedures, everything else into l's current block, in order
 * (lower/outline.c). name: for people. */
bool outline_kernels(struct lowering *l, struct block *from, const char *name);
void outline_statement(struct lowering *l, struct stmt *s, const char *name); /* the same of one statement */
/* The same of a group's statements, by the algorithm that fits them best (lower/rewrite.c). node: whose they are. */
bool lower_statements(struct lowering *l, struct block *stmts, const char *node, const char *name);
/* Schedules a new kernel, or finds an equal one that was made before; gives the buffers of the call their layouts and
 * appends the call to the current block (lower/kernel.c). */
struct kernel_list *kernel_list_new(struct ctx *c);
/* Schedules it for what the options ask; layouts: one per parameter, NULL: all plain (lower/kernel.c). */
struct param_layout;
struct taken;
struct groups;
/* Remarks, for those who want them (lower/remarks.c). */
void remark_region(struct lowering *l, struct region *r, const struct groups *gs);
void remark_kernel(struct lowering *l, const struct proc *p, const struct taken *t);
void schedule_as_asked(struct lowering *l, struct proc *p, const struct param_layout *layouts);
bool finish_kernel(struct lowering *l, struct proc *p, struct stmt *call);
/* The comment of each kernel: the nodes that it was made for. */
void kernels_describe(struct lowering *l);
#endif
