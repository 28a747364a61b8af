/* An operator written by the user, as read from the source (compiler/custom/): the data that its row's definition uses.
 * See docs/custom-operators.md. */
#ifndef NN_LOWER_FOREIGN_H
#define NN_LOWER_FOREIGN_H
#include "ir/define/formula.h"
#include "ir/graph/op.h"
#include "ir/loop/foreign.h"

enum { FOREIGN_DIMS = 16, FOREIGN_TYPES = 4 };
struct foreign_dim {
    const char *name;            /* defined by this size if it has no value yet; NULL: a formula */
    bool many;                   /* it stands for any number of dims; as a number, for their product */
    bool varies;                 /* for a list of tensors: it differs between them, and the name's numbers are a list */
    const struct formula *value; /* if name is NULL */
};
struct foreign_op_param {
    const char *name;
    enum foreign_use use;
    enum dtype type; /* NONE: the template's parameter number `of` */
    int of;
    const char *c; /* as in struct foreign_param; NULL for a template's parameter */
    bool list;     /* a pointer to pointers: any number of inputs or results. For numbers: a dim for each of those */
    const char *tensors; /* for a list of pointers: the name of its length */
    bool shaped;         /* an operand whose dims are given */
    int ndims;
    struct foreign_dim dims[FOREIGN_DIMS];
    /* An attribute of the node that is neither a size nor an input: a number, or data to be read: a list, or a text
     * that ends with a 0. */
    bool attribute;
    enum attr_kind kind; /* of an attribute */
    const char *count;   /* for a list: the name of its length */
    bool optional;       /* a pointer that is NULL if the node has no such input, result or attribute */
};
static inline bool foreign_is_input(const struct foreign_op_param *p) {
    return p->use == FOREIGN_READ && !p->attribute;
}
/* The range of the type's integers, as far as an attribute or a size can reach. */
static inline void foreign_range(enum dtype t, int64_t *lo, int64_t *hi) {
    int bits = dtype_bits(t);
    bool is_signed = t == I8 || t == I16 || t == I32 || t == I64;
    *hi = bits >= 64 ? INT64_MAX : t == BOOL ? 1 : ((int64_t)1 << (bits - is_signed)) - 1;
    *lo = !is_signed ? 0 : bits >= 64 ? INT64_MIN : -((int64_t)1 << (bits - 1));
}
struct foreign_op {
    const char *op, *word; /* "my.domain:Sparse"; "op_Sparse" */
    int n;
    const struct foreign_op_param *params; /* for a function of scalars, its operands are numbers */
    int ntypes;                            /* parameters of the template */
    const char *const *types;              /* their names */
    struct foreign_body cpu, gpu;
    const char *each;                               /* the function is called for each index of that dim; NULL: once */
    const struct formula *grid[6];                  /* of a GPU kernel */
    enum dtype result;                              /* of a function of scalars; NONE: it is not one */
    const struct formula *value;                    /* what such a function returns */
    bool (*load)(struct ctx *c, struct foreign *f); /* as in struct foreign */
};
void op_foreign(void); /* the definition: by the `foreign` of the node's row */
#endif
