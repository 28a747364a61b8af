/* See nn_rt.h. */
#include "nn_rt.h"
#include <string.h>

const char *nn_status_text(int status) {
    switch (status) {
    case NN_OK: return "ok";
    case NN_EARG: return "a pointer is missing or not aligned";
    case NN_EARENA: return "the arena is too small";
    case NN_EDIMS: return "a dimension is out of range";
    case NN_EFAULT: return "a check of the model failed";
    case NN_EFUEL: return "a loop made too many passes";
    case NN_ECAP: return "an output is larger than its capacity";
    case NN_EWEIGHTS: return "the weights are not those of this model";
    case NN_EDEVICE: return "the device failed";
    case NN_ETARGET: return "the CPU lacks instructions that the code needs";
    default: return "unknown status";
    }
}

int nn_stop(nn_error *e, int status, const char *what, const char *where) {
    e->what = what;
    e->where = where;
    return status;
}
int nn_stop_values(nn_error *e, int status, const char *what, const char *where, int64_t a, int64_t b) {
    e->values[0] = a;
    e->values[1] = b;
    return nn_stop(e, status, what, where);
}

/* At the start of each block, free or not, padded so that what follows is aligned. */
struct nn_block {
    size_t size;           /* bytes, including this header */
    struct nn_block *next; /* next free block, by address */
};

void nn_region_init(nn_region *r, void *arena, size_t before, size_t size) {
    r->base = (unsigned char *)arena + before;
    r->before = before;
    r->size = size / NN_ALIGN * NN_ALIGN;
    r->need = 0;
    r->high = before;
    r->free = NULL;
    if (r->size > NN_ALIGN) {
        r->free = (struct nn_block *)(void *)r->base;
        r->free->size = r->size;
        r->free->next = NULL;
    }
}

static size_t place_of(const nn_region *r, const struct nn_block *b) {
    return (size_t)((const unsigned char *)b - r->base);
}

void *nn_region_alloc(nn_region *r, int64_t bytes) {
    if (bytes < 0 || (uint64_t)bytes > SIZE_MAX / 2 - 2 * NN_ALIGN) {
        r->need = SIZE_MAX;
        return NULL;
    }
    size_t want = ((size_t)bytes + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN + NN_ALIGN;
    size_t end = r->size; /* the start of the free space at the end of the region */
    for (struct nn_block **at = &r->free; *at; at = &(*at)->next) {
        struct nn_block *b = *at;
        if (b->size >= want) {
            if (b->size > want) {
                struct nn_block *rest = (struct nn_block *)(void *)((unsigned char *)b + want);
                rest->size = b->size - want;
                rest->next = b->next;
                *at = rest;
            } else {
                *at = b->next;
            }
            b->size = want;
            size_t used = r->before + place_of(r, b) + want;
            if (used > r->high) r->high = used;
            return (unsigned char *)b + NN_ALIGN;
        }
        if (place_of(r, b) + b->size == r->size) end = place_of(r, b);
    }
    r->need = end > SIZE_MAX - r->before - want ? SIZE_MAX : r->before + end + want;
    return NULL;
}

void nn_region_free(nn_region *r, void *p) {
    if (!p) return;
    struct nn_block *b = (struct nn_block *)(void *)((unsigned char *)p - NN_ALIGN), *below = NULL, *above = r->free;
    while (above && above < b) {
        below = above;
        above = above->next;
    }
    if (above && (unsigned char *)b + b->size == (unsigned char *)above) {
        b->size += above->size;
        above = above->next;
    }
    b->next = above;
    if (below && (unsigned char *)below + below->size == (unsigned char *)b) {
        below->size += b->size;
        below->next = above;
    } else if (below) {
        below->next = b;
    } else {
        r->free = b;
    }
}

void nn_fill(void *p, const void *pattern, size_t size, int64_t count) {
    unsigned char *at = (unsigned char *)p;
    for (int64_t i = 0; i < count; i++, at += size) memcpy(at, pattern, size);
}

void *nn_result(nn_region *r, nn_error *e, int *status, void *given, size_t cap, int64_t count, size_t size) {
    void *p = given;
    if (cap == 0) {
        p = nn_region_alloc(r, count < 0 || count > INT64_MAX / (int64_t)size ? -1 : count * (int64_t)size);
        if (!p) {
            e->need = r->need;
            *status = nn_stop(e, NN_EARENA, "no room in the arena for a result", NULL);
        }
    } else if (count < 0 || (uint64_t)count > cap) {
        p = NULL;
        e->need = (size_t)count;
        *status = nn_stop(e, NN_ECAP, "a result is larger than its capacity", NULL);
    }
    return p;
}
