/* Arenas: bump allocation in chunks that grow, released all at once. Everything else in the compiler allocates here. */
#include "ir/base/arena.h"
#include "ir/base/die.h"
#include "ir/base/memory.h"
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* Under AddressSanitizer all memory that was not handed out is poisoned, with a gap after each block: a write past the
 * end of a block is reported at once, instead of corrupting a neighbour. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(WITH_ASAN)
#include <sanitizer/asan_interface.h>
enum { GAP = 16 };
static void hide(const void *p, size_t size) { ASAN_POISON_MEMORY_REGION(p, size); }
static void show(const void *p, size_t size) { ASAN_UNPOISON_MEMORY_REGION(p, size); }
#else
enum { GAP = 0 };
static void hide(const void *p, size_t size) { (void)p, (void)size; }
static void show(const void *p, size_t size) { (void)p, (void)size; }
#endif

enum { ALIGN = 16, CHUNK_MIN = 1 << 16, CHUNK_MAX = 1 << 22 };

struct arena_chunk {
    alignas(ALIGN) struct arena_chunk *before;
    size_t size; /* of the data that follows this header */
};

static struct arena_chunk *new_chunk(size_t size) {
    if (size > SIZE_MAX - sizeof(struct arena_chunk)) die_memory(SIZE_MAX);
    struct arena_chunk *c = memory_zeroed(1, sizeof *c + size);
    c->size = size;
    hide(c + 1, size);
    return c;
}

void *arena_alloc(struct arena *a, size_t size) {
    if (size > SIZE_MAX / 2) die_memory(SIZE_MAX);
    size_t rounded = (size ? (size + ALIGN - 1) / ALIGN * ALIGN : ALIGN) + GAP;
    if (a->limit && (rounded > a->limit || a->used > a->limit - rounded)) die_limit(a->limit);
    a->used += rounded;
    if ((size_t)(a->end - a->at) < rounded) {
        size_t next = a->last ? a->last->size * 2 : CHUNK_MIN;
        if (next > CHUNK_MAX) next = CHUNK_MAX;
        if (next < CHUNK_MIN) next = CHUNK_MIN;
        if (a->last && rounded > next / 4) {
            /* a separate chunk, placed before the newest one, whose free part stays in use */
            struct arena_chunk *c = new_chunk(rounded);
            c->before = a->last->before;
            a->last->before = c;
            show(c + 1, size);
            return c + 1;
        }
        struct arena_chunk *c = new_chunk(rounded > next ? rounded : next);
        c->before = a->last;
        a->last = c;
        a->at = (char *)(c + 1);
        a->end = a->at + c->size;
    }
    void *p = a->at;
    a->at += rounded;
    show(p, size);
    return p;
}

void *arena_array(struct arena *a, size_t n, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) die_memory(SIZE_MAX);
    return arena_alloc(a, bytes);
}

void *arena_copy(struct arena *a, const void *p, size_t size) {
    void *q = arena_alloc(a, size);
    if (size) memcpy(q, p, size);
    return q;
}

void arena_retire(const void *p, size_t size) { hide(p, size); }

void arena_free(struct arena *a) {
    for (struct arena_chunk *c = a->last, *before; c; c = before) {
        before = c->before;
        show(c + 1, c->size); /* free() takes the whole chunk, and the addresses may be reused by something that is no
                               * arena */
        free(c);
    }
    a->last = NULL;
    a->at = a->end = NULL;
    a->used = 0;
}
