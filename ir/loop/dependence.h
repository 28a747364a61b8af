/* Dependences: may two iterations of loops touch one cell of memory? The verifier (V5, V6) and the legality tests
 * of the schedule steps ask here.
 *
 * What cannot be shown counts as "they may meet". */
#ifndef NN_IR_LOOP_DEPENDENCE_H
#define NN_IR_LOOP_DEPENDENCE_H
#include "ir/base/vec.h"
#include "ir/expr/buf.h"
#include "ir/expr/expr.h"

struct vars {
    const struct var **v;
    int n, cap;
};
bool has_var(const struct vars *l, const struct var *v);

/* Two iterations I and I' of loops: which values may differ between them, and what is known of both. Everything that is
 * not named is the same in both. */
struct iterations {
    struct ctx *c;
    struct arena *tmp;
    struct vars moving; /* variables that run in each of the two by themselves */
    /* May this symbol, load or cast of a loaded value differ, too? NULL: a symbol does not, whatever is loaded does. */
    bool (*varies)(void *env, expr e);
    bool (*less)(void *env, expr a, expr b); /* proofs from facts about both; NULL: x_proves_lt */
    void *env;
    struct subst twins; /* moving variables as the other iteration calls them, made when needed */
};
/* e as the other iteration computes it. */
expr in_other_iteration(struct iterations *q, expr e);

/* What follows if cell a(I) and cell b(I') are one? never: they are not. fixed: variables that must have the same value
 * in both iterations. By peeling mixed-radix digits off the linear forms of the n indices. */
struct meet {
    bool never;
    struct vars fixed;
};
struct meet cells_meet(const struct iterations *q, const expr *a, const expr *b, int n);

/* Cells a and b of one buffer are different in any two iterations that differ in v, one of the moving variables. Unlike
 * cells_meet, it works with strides that are symbols and with what `less` knows, index by index. */
bool cells_apart(struct iterations *q, const struct var *v, const struct buf *buf, const expr *a, const expr *b, int n);
#endif
