/* Internals of the definition builder: the current definition. Shared only by the files of ir/define. */
#ifndef NN_IR_DEFINE_IMPL_H
#define NN_IR_DEFINE_IMPL_H
#include "ir/define/define.h"
#include "ir/graph/op.h"

struct def_tensor {
    enum dtype type;
    int rank;
    expr dims[32];
    struct buf *buf;
    struct value *val; /* graph value of inputs; NULL for intermediates */
};
enum { REFUTED_MAX = 4 };
struct refuted {
    enum xop op; /* LT LE EQ NE; MOD: a is no multiple of b */
    E a, b;
};
enum def_mode { DEF_INFER, DEF_EMIT, DEF_EXPAND };
struct def {
    struct def *outer; /* expansions may run while another definition is current */
    enum def_mode mode;
    struct ctx *c;
    struct graph *g;
    struct node *n;
    struct module *m; /* NULL while inferring */
    struct proc *p;
    struct block *into;
    struct buf *(*buf_of)(void *env, struct value *v);
    void *env;
    T *ins, *outs;
    int nsyms, errors_before;
    struct refuted refuted[REFUTED_MAX]; /* comparisons, in the condition being built, that cannot hold */
    int nrefuted;
};
extern _Thread_local struct def *def_now;
#define DEF_CTX (def_now->c)
/* Pushes a definition of n, with inputs read through buf_of (NULL: parameters of a scratch procedure). */
void def_begin(struct def *d, enum def_mode mode, struct graph *g, struct node *n);
void def_end(struct def *d);
/* The diagnostic of a definition that got a poison expression, or would read a tensor with a wrong number of indices:
 * the model's inputs are not what the operator takes. */
void def_unfit(void);
T def_tensor_new(enum dtype t, X dims);
void def_append(struct stmt *s);
/* Symbolic contents of an output computed by the statements of `block`; NULL when not all elements can be known. */
expr *def_contents(struct ctx *c, struct block *block, const struct buf *b, struct def *d, int64_t count);
/* Element k of v's known contents, as a value expression; NULL: unknown, or not a number. */
expr def_element(struct ctx *c, const struct value *v, int64_t k);
expr def_element_at(struct ctx *c, const struct value *v, const expr *at); /* by its indices; NULL: unknown */
#endif
