/* How the entry uses each storage (a buffer with all its views): for the passes that eliminate calls, copies and
 * buffers (share.c, coalesce.c). */
#ifndef NN_LOWER_STORAGE_H
#define NN_LOWER_STORAGE_H
#include "ir/loop/loop.h"

struct storage_uses {
    struct map views;  /* see note_views */
    struct map allocs; /* buffer -> its alloc */
    struct map writes; /* storage -> number of call parameters that write it */
    struct map fixed;  /* storage that the entry itself swaps, frees or writes */
};
struct storage_uses storage_uses_of(struct module *m); /* for the current state of the entry */
/* Both refer to the storage of b. */
intptr_t storage_writes(struct storage_uses *u, struct buf *b);
bool storage_fixed(struct storage_uses *u, struct buf *b);
/* The alloc of b, if the block itself contains it, it is in the arena, and has no fill; otherwise NULL. */
struct stmt *own_alloc(const struct storage_uses *u, const struct block *in, const struct buf *b);
#endif
