/* From graph to module: every group of nodes becomes a kernel procedure, and the entry procedure calls them. Between
 * the graph passes and the memory plan. */
#ifndef NN_LOWER_LOWER_H
#define NN_LOWER_LOWER_H
#include "ir/graph/graph.h"
#include "ir/loop/loop.h"
#include "ir/loop/target.h"
#include "lower/algorithm/algorithm.h"

/* The types in which the user wants products of f32 to be computed: one 16-bit type, for all that no pin names, or only
 * for those that a pin does; pins are "NODE=bf16" or "NODE=f32". */
struct precision_wishes {
    enum dtype type; /* F16, BF16: type of the multiplied values; NONE: f32 */
    bool some;       /* only those that a pin names */
    const char *const *pins;
    int npins;
};
struct lower_options {
    const struct target *target;
    bool no_fuse;             /* one kernel per node: for node-by-node comparison */
    const char *const *alone; /* nodes that get separate kernels */
    int nalone;
    bool no_schedule; /* kernels stay plain loops */
    bool no_excess;   /* 16-bit floats are rounded by each operator, on every machine */
    struct precision_wishes precision;
    int threads; /* most threads that run a kernel; 0: 1 */
    struct algorithm_wishes algorithms;
    /* If not NULL, they get: the groups of every region in the order of lowering; what each kernel computes; and how it
     * was chosen to be computed. */
    struct text *groups, *problems, *choices;
    struct records *records; /* points that kernels must use (lower/schedule/record.h); NULL: none */
};
/* What a module was made from, for people: written to manifest.json. */
struct group;
struct lowered {
    const struct graph *graph;
    VEC(const struct group *) groups; /* of all regions, in the order of lowering */
    struct map bufs;                  /* value -> its buffer of the entry */
};
/* NULL after diagnostics. Kernels are scheduled for the target; every procedure has passed the verifier. */
struct module *lower_graph(struct graph *g, const struct lower_options *o);

/* Removes calls whose results nothing reads, with their storage and kernels (lower/dead.c). */
void drop_dead_kernels(struct module *m);
/* Kernel texts get to know what all their calls give alike: sizes, and the range of constants
 * (lower/texts.c). */
void settle_texts(struct module *m);
/* Merges calls that compute the same (lower/share.c). */
void share_calls(struct module *m);
/* Makes slices views of their operands, and operands of a Concat views of its result (lower/coalesce.c). */
void coalesce_copies(struct module *m);
/* Lets results take over the storage of operands that are dead, where the kernels allow it (lower/reuse.c). */
void reuse_storage(struct module *m);
/* Replaces every buffer of the entry that is a key of the map by its value, transitively (lower/rename.c). */
void replace_bufs(struct module *m, struct map *in_place);
struct buf *buf_placed(const struct map *in_place, struct buf *b);
/* The module's kernels as they were before scheduling, without an entry, with the steps to do: steps_replay turns them
 * into m's kernels (lower/kernel.c). */
struct module *kernels_before(const struct module *m);

/* ---- for control ops (lower/ops/control.c) and groups */
struct lowering {
    struct ctx *c;
    struct graph *g;
    struct module *m;
    struct proc *entry;
    struct block *block; /* where statements are appended */
    struct map bufs;     /* value -> buffer of the entry */
    struct lowered *from;
    struct map external; /* buffers that are also used outside of the group being outlined */
    const struct lower_options *o;
    int kernels;
    struct map layouts;             /* value -> struct value_layout, for values that are not plain (lower/layout.h) */
    struct map results;             /* value -> the caller's buffer, for results that are made elsewhere and copied */
    struct map roles;               /* buffer of a node's result -> name of its op, for people */
    struct map through;             /* buffer of a view without a kernel -> its stage */
    struct map specs;               /* buffer of the entry -> struct value_layout */
    struct map halves;              /* buffer of f32 -> the narrower type to which its cells are rounded */
    struct map narrow, narrowed;    /* values stored in 16 bits, and their buffers (lower/narrow.h) */
    struct map within;              /* values that nodes compute, and that are within the range of l->narrow */
    struct map packed;              /* node -> struct packed_factor (lower/packing.h) */
    struct map stored;              /* buffer of bytes -> the buffer that holds its cells (lower/stored.c) */
    struct map widened;             /* constant of 16-bit floats -> the same in f32 */
    struct map given;               /* rounded constant -> its cells in the model */
    struct kernel_list *known;      /* all kernels so far, by text */
    const char *nodes;              /* the nodes whose kernels are being made, a line each: for the kernels' comments */
    const char *why;                /* which algorithms were tried for what is being outlined; NULL: none */
    const char *origin;             /* the node that faults are attributed to */
    struct map origins;             /* call of the entry -> its origin */
    int loops;                      /* number of the entry's loops around what is being lowered */
    VEC(const struct sym *) passes; /* for each depth: the loop's iteration number as a size (lower/ops/control.c) */
    struct probes *probes;          /* answers about nodes (lower/classify.c) */
    struct sizes *sizes;            /* which sizes are equal, in what is being outlined; NULL: none
                                     * (lower/size_names.h) */
    struct map parts;               /* part of a size, or a long one -> the symbol that replaces it in kernels */
    struct map text_whys;           /* text -> which algorithms were tried for each node that calls it */
    int nsizes;                     /* number of long sizes that have names */
    struct link *link;              /* gets the statements of the current group; NULL: kernels are made (chain.h) */
    VEC(const struct sym *) froms;  /* first cells of tiles (lower/chain.c) */
};
/* The entry's buffer for a value; if there is none yet, it is allocated in the current block. */
struct buf *lower_buf(struct lowering *l, struct value *v);
void lower_bind(struct lowering *l, struct value *v, struct buf *b);
/* Gives `to`, which nothing uses yet, the layout of `like`, with a border wider by `add`. If the channels of `like` are
 * not in blocks, they get blocks of `block` (0: none). */
void lower_lay_out(struct lowering *l, struct buf *to, const struct buf *like, int64_t add, int block);
/* The buffer that holds the cells of b, which kernels know as bytes: b itself, or one of a type that its readers
 * multiply. Results of n in the current block may get such buffers; statements are changed to use them before they are
 * outlined (lower/stored.c). */
struct buf *lower_stored(struct lowering *l, struct buf *b);
struct buf *lower_known_as(struct lowering *l, struct buf *stored, enum dtype bytes); /* inverse: the buffer as others
                                                                                       * know it */
void choose_stored(struct lowering *l, const struct node *n);
/* The other type in which readers want v's bytes to be stored (stored.c); NONE: no other. */
enum dtype lower_wanted(struct lowering *l, struct value *v);
void use_stored(struct lowering *l, struct block *stmts);
struct buf *lower_alloc(struct lowering *l, const char *name, enum dtype t, const expr *dims, int nd);
enum scope lower_scope(const expr *dims, int nd); /* arena; region when a size is produced in the run */
struct buf *lower_alloc_in(struct lowering *l, enum scope scope, const char *name, enum dtype t, const expr *dims,
                           int nd);
/* Lowers the nodes of r into the current block. */
bool lower_region(struct lowering *l, struct region *r);
/* A kernel dst[i] = src[i]; with `at`, dst (to) or src (from) has an additional leading index. */
void lower_copy(struct lowering *l, struct buf *dst, struct buf *src);
bool lower_same_dims(const struct buf *a, const struct buf *b); /* logical extents, compared as expressions */
void lower_copy_slice(struct lowering *l, struct buf *dst, expr dst_at, int dst_axis, struct buf *src, expr src_at,
                      int src_axis);
void lower_stmt(struct lowering *l, struct stmt *s);
static inline int lower_threads(const struct lowering *l) { return l->o->threads > 1 ? l->o->threads : 1; }

/* Moves consecutive stages and loops of `from` into kernel procedures, and everything else into l's current block, in
 * order (lower/outline.c). name: for people. */
bool outline_kernels(struct lowering *l, struct block *from, const char *name);
void outline_statement(struct lowering *l, struct stmt *s, const char *name); /* the same for one statement */
/* The same for a group's statements, using the best algorithm for them (lower/rewrite.c). node: the one they belong
 * to. */
bool lower_statements(struct lowering *l, struct block *stmts, const char *node, const char *name);
/* Schedules a new kernel, or finds an equal one that exists; applies layouts to the buffers of the call, and appends
 * the call to the current block (lower/kernel.c). */
struct kernel_list *kernel_list_new(struct ctx *c);
/* Schedules a kernel according to the options; layouts: one per parameter, NULL: all plain (lower/kernel.c). */
struct param_layout;
struct taken;
struct groups;
/* Gives remarks, if the user wants them (lower/remarks.c). */
void remark_region(struct lowering *l, struct region *r, const struct groups *gs);
void remark_kernel(struct lowering *l, const struct proc *p, const struct taken *t);
void schedule_as_asked(struct lowering *l, struct proc *p, const struct param_layout *layouts);
bool finish_kernel(struct lowering *l, struct proc *p, struct stmt *call);
/* Writes the comment of each kernel: the nodes for which it was made. */
void kernels_describe(struct lowering *l);
#endif
