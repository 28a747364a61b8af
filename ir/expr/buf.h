/* Buffers: what expressions load from and statements of the loop IR store to. Statements determine which procedure has
 * a buffer, and where it is allocated (ir/loop/loop.h). */
#ifndef NN_IR_EXPR_BUF_H
#define NN_IR_EXPR_BUF_H
#include "ir/base/tensor.h"
#include "ir/expr/expr.h"

/* KEPT: in the region, until the run ends: the bytes of strings, because the pairs that point to them may be copied
 * anywhere. */
enum scope { SC_PARAM, SC_ARENA, SC_REGION, SC_KEPT, SC_STACK, SC_REG, SC_SHARED, SC_CONST, SC_COUNT };
const char *scope_name(enum scope s);

/* A buffer. `dims` are physical; the map from logical to physical indices is used for packing, API docs and tests. */
struct buf {
    int id;
    const char *name; /* unique in its procedure */
    const char *base; /* instances made by compute_at share the base name; steps name the base */
    enum dtype type;  /* storage type */
    enum scope scope;
    int nd;
    expr *dims;   /* [nd], IDX */
    int64_t *pad; /* [nd] extra cells added to the pitch of each dim, or NULL */
    unsigned
        apart; /* registers: bit k is set if threads of a GPU differ along dim k, so that each has one cell of it */
    expr fill; /* contents of cells never stored (halo, pad lanes), constant; NULL: undefined */
    /* [2]: the least and the greatest value of its cells, for constants and parameters bound to them; NULL: any. */
    const int64_t *within;
    int nlogical;
    expr *logical;             /* [nlogical] extents before any layout step */
    const struct var **lvar;   /* [nlogical] one variable per logical dim */
    expr *map;                 /* [nd] physical index as expressions over lvar */
    const struct tensor *data; /* SC_CONST: contents in logical layout; NULL in texts that leave them out */
};

/* ---- buffers: physical geometry */
expr buf_stride(struct ctx *c, const struct buf *b, int dim); /* cells */
bool buf_layout_is_plain(const struct buf *b);                /* physical indices and sizes are the logical ones */
bool buf_is_plain(const struct buf *b);                       /* and there is no padding between its cells */
bool buf_is_produced(const struct buf *b);                    /* some of its sizes are found at run time */
expr buf_cells(struct ctx *c, const struct buf *b);           /* cells with padding */
expr buf_bytes(struct ctx *c, const struct buf *b);           /* of these cells */
expr buf_offset(struct ctx *c, const struct buf *b, const expr *idx);        /* linear physical offset in cells */
bool buf_proves_inside(struct ctx *c, const struct buf *b, const expr *idx); /* it is a cell of b */
/* The same for one thread's part of it; that is all of a buffer without dims along which threads differ. */
expr buf_own_stride(struct ctx *c, const struct buf *b, int dim);
expr buf_own_cells(struct ctx *c, const struct buf *b);
expr buf_own_offset(struct ctx *c, const struct buf *b, const expr *idx);
expr buf_own_place(struct ctx *c, const struct buf *b, expr off); /* of a linear offset */
bool buf_is_apart(const struct buf *b, int dim);
static inline bool buf_holds_within(const struct buf *b, int64_t lo, int64_t hi) { /* are its cells known to be in that
                                                                                    * range? */
    return b->within && b->within[0] >= lo && b->within[1] <= hi;
}
#endif
