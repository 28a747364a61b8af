/* Growing arrays, as a macro family over {T *v; int n, cap;}. The elements live in an arena or, with a == NULL, in
 * malloc. */
#ifndef NN_IR_BASE_VEC_H
#define NN_IR_BASE_VEC_H
#include "ir/base/arena.h"
#include <stdlib.h>

#define VEC(T)                                                                                                         \
    struct {                                                                                                           \
        T *v;                                                                                                          \
        int n, cap;                                                                                                    \
    }
/* Appends x. Evaluates x once. Growth in an arena leaves the old array behind: fine for what a pass builds. */
#define PUSH(a, vec, x)                                                                                                \
    do {                                                                                                               \
        if ((vec)->n == (vec)->cap) (vec)->v = vec_grow((a), (vec)->v, (vec)->n, &(vec)->cap, sizeof *(vec)->v);       \
        (vec)->v[(vec)->n++] = (x);                                                                                    \
    } while (0)
#define VEC_FREE(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

void *vec_grow(struct arena *a, void *old, int n, int *cap, size_t size);
#endif
