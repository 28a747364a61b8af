/* What the entry does to each storage, a buffer with all views of it: for the passes that make calls, copies and
 * buffers fewer (share.c, coalesce.c). */
#ifndef NN_LOWER_STORAGE_H
#define NN_LOWER_STORAGE_H
#include "ir/loop/loop.h"

struct storage_uses {
    struct map views;  /* see note_views */
    struct map allocs; /* buffer -> its alloc */
    struct map writes; /* storage -> how many parameters of calls write it */
    struct map fixed;  /* storage that is swapped, freed, or written by the entry itself */
};
struct storage_uses storage_uses_of(struct module *m); /* as the entry is now */
/* These are of the storage of b. */
intptr_t storage_writes(struct storage_uses *u, struct buf *b);
bool storage_fixed(struct storage_uses *u, struct buf *b);
/* The alloc of b when the block itself makes it, in the arena and without a fill; else NULL. */
struct stmt *own_alloc(const struct storage_uses *u, const struct block *in, const struct buf *b);
#endif
