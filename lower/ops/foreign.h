/* An operator that the user has written, as read from his source (compiler/custom/): what its row's definition works
 * by. See docs/custom-operators.md. */
#ifndef NN_LOWER_FOREIGN_H
#define NN_LOWER_FOREIGN_H
#include "ir/define/formula.h"
#include "ir/graph/op.h"
#include "ir/loop/foreign.h"

enum { FOREIGN_DIMS = 16, FOREIGN_TYPES = 4 };
struct foreign_dim {
    const char *name; /* stands for the size from here on, where it has no value yet; NULL: a formula */
    bool many;        /* it stands for any number of dims, and as a number for their product */
    bool varies;      /* of a list of tensors: it is another one for each, and the name's numbers are a list */
    const struct formula *value; /* where name is NULL */
};
struct foreign_op_param {
    const char *name;
    enum foreign_use use;
    enum dtype type; /* NONE: the template's parameter number `of` */
    int of;
    const char *c; /* as in struct foreign_param; of a template's parameter NULL */
    bool list;     /* a pointer to pointers: any number of inputs or results; of numbers: a dim of each of those */
    const char *tensors; /* of a list of pointers: what their number is called */
    bool shaped;         /* an operand: dims are said */
    int ndims;
    struct foreign_dim dims[FOREIGN_DIMS];
    /* One of the node's, no size and no input: a number, or what is read, a list or a text that ends with a 0. */
    bool attribute;
    enum attr_kind kind; /* of an attribute */
    const char *count;   /* of a list: what its length is called */
    bool optional;       /* a pointer, which is NULL where the node has no such input, result or attribute */
};
static inline bool foreign_is_input(const struct foreign_op_param *p) {
    return p->use == FOREIGN_READ && !p->attribute;
}
/* What integers of the type hold, as far as an attribute or a size can be. */
static inline void foreign_range(enum dtype t, int64_t *lo, int64_t *hi) {
    int bits = dtype_bits(t);
    bool is_signed = t == I8 || t == I16 || t == I32 || t == I64;
    *hi = bits >= 64 ? INT64_MAX : t == BOOL ? 1 : ((int64_t)1 << (bits - is_signed)) - 1;
    *lo = !is_signed ? 0 : bits >= 64 ? INT64_MIN : -((int64_t)1 << (bits - 1));
}
struct foreign_op {
    const char *op, *word; /* "my.domain:Sparse"; "op_Sparse" */
    int n;
    const struct foreign_op_param *params; /* of a function of scalars its operands are numbers */
    int ntypes;                            /* parameters of the template */
    const char *const *types;              /* their names */
    struct foreign_body cpu, gpu;
    const char *each;                               /* called for each index of that dim; NULL: once */
    const struct formula *grid[6];                  /* of the GPU's body */
    enum dtype result;                              /* of a function of scalars; NONE: it is none */
    const struct formula *value;                    /* what that one returns */
    bool (*load)(struct ctx *c, struct foreign *f); /* as in struct foreign */
};
void op_foreign(void); /* the definition: by the `foreign` of the node's row */
#endif
