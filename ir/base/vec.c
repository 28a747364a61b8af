/* Growth of the arrays of vec.h. */
#include "ir/base/vec.h"
#include "ir/base/die.h"
#include "ir/base/memory.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void *vec_grow(struct arena *a, void *old, int n, int *cap, size_t size) {
    if (*cap > INT_MAX / 2) die_memory(SIZE_MAX);
    int wanted = *cap ? *cap * 2 : 8;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)wanted, size, &bytes)) die_memory(SIZE_MAX);
    void *v;
    if (a) {
        v = arena_alloc(a, bytes);
        if (n) memcpy(v, old, (size_t)n * size);
        arena_retire(old, (size_t)n * size);
    } else {
        v = memory_grown(old, bytes);
    }
    *cap = wanted;
    return v;
}
