/* Algorithms: other stages for the same mathematics. A row looks at the stages of a group, before they become kernels,
 * and may write them anew; what it makes is scheduled like all stages. Rows are asked in the order of the table in
 * rows.c. */
#ifndef NN_LOWER_ALGORITHM_H
#define NN_LOWER_ALGORITHM_H
#include "ir/loop/loop.h"
#include "lower/machine/machine.h"

/* Where stages stand, and what an algorithm may ask for. Buffers of its own lie in the entry. */
struct site {
    struct ctx *c;
    struct proc *entry;
    const struct machine *machine;
    void *env; /* of the functions */
    struct buf *(*alloc)(void *env, const char *name, enum dtype t, const expr *dims, int nd);
    /* `to`, which nothing uses yet, is laid out as `like` is; its border holds `add` more, and channels that are not in
     * blocks there are in such of `block` (0: they stay). */
    void (*lay_out)(void *env, struct buf *to, const struct buf *like, int64_t add, int block);
    /* The stages become kernels of their own, in front of the group's. False after a diagnostic. */
    bool (*kernels)(void *env, struct block *stages, const char *name);
};
/* How results relate to those of the stages as they were. Generated code equals the interpreter of the new stages bit
 * for bit in any case (docs/numbers.md). */
enum exactness { EXACT_SAME_BITS, EXACT_REASSOCIATED, EXACT_BOUNDED };
enum rewriting { REWRITE_NONE, REWRITE_DONE, REWRITE_FAILED }; /* failed: after a diagnostic */
struct algorithm {
    const char *name;
    enum exactness exactness;
    enum rewriting (*rewrite)(const struct site *at, struct block *stages);
    const char *doc;
};
extern const struct algorithm algorithm_integer_sums;

/* Rewrites the stages in place by all rows that apply; what did is noted in choices, which may be NULL. False after a
 * diagnostic. */
bool algorithms_apply(const struct site *at, struct block *stages, struct text *choices);
#endif
