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

/* Two iterations I and I' of loops: which values may differ between them, and what is known about both. Everything not
 * mentioned is the same in both. */
struct iterations {
    struct ctx *c;
    struct arena *tmp;
    struct vars moving; /* variables that have independent values in each of the two */
    /* May this symbol, load or cast of a loaded value differ as well? NULL: symbols do not, loaded values do. */
    bool (*varies)(void *env, expr e);
    bool (*less)(void *env, expr a, expr b); /* proofs from facts about both; NULL: x_proves_lt */
    void *env;
    struct subst twins; /* moving variables -> those of the other iteration, made when needed */
};
/* e as the other iteration computes it. */
expr in_other_iteration(struct iterations *q, expr e);

/* What follows if cell a(I) and cell b(I') are the same? never: they cannot be. fixed: variables that must have the
 * same value in both iterations. Found by peeling mixed-radix digits off the linear forms of the n indices. */
struct meet {
    bool never;
    struct vars fixed;
};
struct meet cells_meet(const struct iterations *q, const expr *a, const expr *b, int n);

/* Are cells a and b of a buffer different in any two iterations that differ in v, one of the moving variables? Unlike
 * step_meet's test, this handles symbolic strides and what `less` knows, index by index. */
bool cells_apart(struct iterations *q, const struct var *v, const struct buf *buf, const expr *a, const expr *b, int n);
#endif
