/* Layouts of values: which tensors have channels in blocks, and which a border (design: choosing layouts). Chosen after
 * grouping, before kernels are made. Every kernel works with every layout, so the choice only affects speed. */
#ifndef NN_LOWER_LAYOUT_H
#define NN_LOWER_LAYOUT_H
#include "lower/group.h"
#include "lower/lower.h"

struct value_layout {
    int block;              /* axis 1 in blocks of this many; 0: plain */
    const char *why;        /* for people: why a node's result has blocks */
    int64_t lo[32], hi[32]; /* border before and after each axis */
    double fill;            /* value of the border: 0, or what the windows that read it need: a zero point, -inf */
    struct panels panels;   /* instead of blocks and a border, if a product reads it packed */
    bool halo, plain;       /* plain: a kernel text reads it, so neither blocks nor a border */
    bool borderless;        /* one of its windows needs so large a border that it skips taps that meet nothing else */
    const char *spec;       /* operand of the layout step: "[0 1/8 2+1,1 3+1,1 1%8]", "[0 2/16 1/2 2%16 1%2]" */
};
/* Fills l->layouts for the values of region r. */
void choose_layouts(struct lowering *l, struct region *r, const struct groups *gs);
/* Views of values in blocks move cells. If one such move is the only reader of another, they become one group (a
 * shuffle of channels). */
void join_copies(struct lowering *l, struct groups *gs);
/* Does n, a view of plain cells, have an operand that is not plain? Then it reads a plain copy: otherwise each cell
 * would be looked up by dividing by open sizes. */
bool reads_plain_copy(struct lowering *l, struct node *n, int *operand);
/* Is n a window along axis 1 (LRN)? It works on plain copies, because its lanes would have to read across blocks. */
bool slides_along_channels(struct lowering *l, struct node *n);
/* Is n a product for which this operand has rows or heads in blocks? Then it reads a plain copy. Blocks only help if
 * the sum runs along them, and the other factor is constant and has the lanes, or there are only a few rows. */
bool rows_in_blocks(struct lowering *l, struct node *n, int operand);
/* The layout as kernels take it; v NULL: plain. */
static inline struct param_layout layout_of_param(const struct value_layout *v) {
    return v ? (struct param_layout){v->block, v->halo, v->panels, v->spec} : (struct param_layout){0};
}
struct value_layout *layout_of_value(struct lowering *l, const struct value *v);     /* NULL: plain */
void lower_give_layout(struct lowering *l, struct buf *b, struct value_layout *lay); /* b must not be used yet */
/* For people: why v has neither blocks nor a border. */
const char *layout_why_plain(struct lowering *l, const struct value *v);
/* Is v used by anything but kernels of stages, so that its cells must be stored as its type says? */
bool value_leaves(struct lowering *l, const struct value *v);
/* Changes buffers of 16-bit floats that only kernels use to f32, rounding what is stored (lower/halves.c). */
void widen_halves(struct lowering *l, struct block *stmts, const struct group *gr);
void widen_half(struct lowering *l, struct buf *b); /* b must not be used yet */
bool worth_widening(const struct lowering *l, enum dtype half, const struct tensor *t, double reads, bool summed);
/* A copy of the layout with another border value and other blocks. */
struct value_layout *layout_changed(struct ctx *c, const struct value_layout *lay, int rank, double fill, int block);
/* Plain, with so many cells between those that differ by 1 in the dim before `dim`. */
struct value_layout *layout_padded(struct ctx *c, int dim, int64_t cells);
struct value_layout *layout_packed(struct ctx *c, struct panels how, int rank);
#endif
