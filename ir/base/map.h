/* Hash map from 64-bit keys (pointers, ids, hashes) to pointers. Iteration order is never used: output must not depend
 * on it. */
#ifndef NN_IR_BASE_MAP_H
#define NN_IR_BASE_MAP_H
#include "ir/base/arena.h"

struct map_slot {
    uint64_t key;
    void *value;
};
struct map {
    struct arena *arena;
    struct map_slot *slots;
    size_t n, cap;
};                                                      /* {.arena = a} is an empty map */
void *map_get(const struct map *m, uint64_t key);       /* NULL when absent */
void map_put(struct map *m, uint64_t key, void *value); /* value != NULL; replaces */
#define PKEY(p) ((uint64_t)(uintptr_t)(p))
#endif
