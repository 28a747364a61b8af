/* The only file that requests memory from the system. See memory.h. */
#include "ir/base/memory.h"
#include "ir/base/die.h"
#include <stdint.h>
#include <stdlib.h>

bool memory_can(size_t bytes) {
    void *volatile p = malloc(bytes ? bytes : 1); /* volatile: otherwise compilers may drop an unused allocation */
    bool can = p != NULL;
    free(p);
    return can;
}

void *memory_new(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    if (!p) die_memory(bytes);
    return p;
}

void *memory_zeroed(size_t n, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) die_memory(SIZE_MAX);
    void *p = calloc(bytes ? bytes : 1, 1); /* not malloc and memset: fresh pages are zero already */
    if (!p) die_memory(bytes);
    return p;
}

void *memory_grown(void *p, size_t bytes) {
    void *q = realloc(p, bytes ? bytes : 1);
    if (!q) die_memory(bytes);
    return q;
}
