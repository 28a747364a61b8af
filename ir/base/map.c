/* Open-addressing hash map from 64-bit keys. A slot is free while its value is NULL; nothing is ever removed. */
#include "ir/base/map.h"
#include "ir/base/diag.h"
#include <stdbool.h>

/* splitmix64's finaliser: pointers and small ids spread over all bits. */
static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The slot of key, or the free slot for it. cap is a power of two, and the table is never full. */
static struct map_slot *find(const struct map *m, uint64_t key) {
    size_t i = mix(key) & (m->cap - 1);
    while (m->slots[i].value && m->slots[i].key != key) i = (i + 1) & (m->cap - 1);
    return &m->slots[i];
}

void *map_get(const struct map *m, uint64_t key) { return m->cap ? find(m, key)->value : NULL; }

static void grow(struct map *m) {
    struct map old = *m;
    m->cap = old.cap ? old.cap * 2 : 16;
    m->slots = NEWN(m->arena, struct map_slot, m->cap);
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].value) *find(m, old.slots[i].key) = old.slots[i];
}

void map_put(struct map *m, uint64_t key, void *value) {
    ASSERT(value);
    if ((m->n + 1) * 3 > m->cap * 2) grow(m);
    struct map_slot *s = find(m, key);
    m->n += !s->value;
    *s = (struct map_slot){key, value};
}
