/* Layouts of values: which tensors are blocked by channels and which carry a border (design: choosing layouts).
 * Chosen after grouping, before kernels are made; every kernel works with every layout, so a choice is about speed
 * only. */
#ifndef NN_LOWER_LAYOUT_H
#define NN_LOWER_LAYOUT_H
#include "lower/group.h"
#include "lower/lower.h"

struct value_layout {
    int block;              /* axis 1 in blocks of this many; 0: plain */
    int64_t lo[32], hi[32]; /* border per axis */
    double fill;            /* what the border holds: 0, or what the windows that read it want: a zero point, -inf */
    struct panels panels;   /* instead of blocks and a border: for the product that reads it */
    bool halo, plain;       /* plain: a kernel text reads it, so neither blocks nor a border */
    const char *spec;       /* operand of the layout step: "[0 1/8 2+1,1 3+1,1 1%8]", "[0 2/16 1/2 2%16 1%2]" */
};
/* Fills l->layouts for the values of r. */
void choose_layouts(struct lowering *l, struct region *r, const struct groups *gs);
/* Views of blocked cells move them; where one alone reads another, both are one group (a shuffle of channels). */
void join_copies(struct lowering *l, struct groups *gs);
/* Is n a view of plain cells, whose operand is not plain? Then it reads a copy that is, where each cell would be looked
 * up by quotients of open sizes: a copy needs none. */
bool reads_plain_copy(struct lowering *l, struct node *n, int *operand);
/* Is n a window along axis 1 (LRN)? In blocks its lanes would read across them: it works on plain copies. */
bool slides_along_channels(struct lowering *l, struct node *n);
/* Is n a product whose rows or heads lie in blocks in this operand? It reads a plain copy, too: blocks serve what is
 * summed along them, if the other factor is constant and has the lanes, or has few rows to make copies for. */
bool rows_in_blocks(struct lowering *l, struct node *n, int operand);
/* As kernels get it; v NULL: plain. */
static inline struct param_layout layout_of_param(const struct value_layout *v) {
    return v ? (struct param_layout){v->block, v->halo, v->panels, v->spec} : (struct param_layout){0};
}
struct value_layout *layout_of_value(struct lowering *l, const struct value *v);     /* NULL: plain */
void lower_give_layout(struct lowering *l, struct buf *b, struct value_layout *lay); /* nothing accesses it yet */
/* For people: why v has neither blocks nor a border. */
const char *layout_why_plain(struct lowering *l, const struct value *v);
/* Is v seen by others than kernels of stages, so that its cells lie as its type says? */
bool value_leaves(struct lowering *l, const struct value *v);
/* Buffers of 16-bit floats that only kernels see become f32, and what is stored to them is rounded (lower/halves.c). */
void widen_halves(struct lowering *l, struct block *stmts, const struct group *gr);
void widen_half(struct lowering *l, struct buf *b); /* nothing accesses it yet */
bool worth_widening(const struct lowering *l, enum dtype half, const struct tensor *t, double reads, bool summed);
/* The same, but for what the border holds, and for the blocks. */
struct value_layout *layout_changed(struct ctx *c, const struct value_layout *lay, int rank, double fill, int block);
struct value_layout *layout_packed(struct ctx *c, struct panels how, int rank);
#endif
