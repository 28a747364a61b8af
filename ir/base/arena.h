/* Arenas: memory that is released all at once. Everything else in the compiler allocates here.
 *
 * One arena holds a compilation, another one a pass. An arena never returns NULL: if the system has no memory left it
 * prints one line and exits (see base/die.c), because no caller could do better half way through a pass. */
#ifndef NN_IR_BASE_ARENA_H
#define NN_IR_BASE_ARENA_H
#include <stddef.h>
#include <stdint.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *last; /* newest chunk; owns the ones before it */
    char *at, *end;           /* free part of the newest chunk */
    size_t used;              /* bytes handed out, for reports */
    size_t limit;             /* 0: none; else exceeding it dies with a message (hostile input, tests) */
};

/* Zeroed memory, aligned to 16 bytes. size 0 gives a valid pointer. */
void *arena_alloc(struct arena *a, size_t size);
/* n * size with overflow check. */
void *arena_array(struct arena *a, size_t n, size_t size);
/* Marks memory as unused, such as the old place of an array that grew. Only AddressSanitizer takes note. */
void arena_retire(const void *p, size_t size);
void *arena_copy(struct arena *a, const void *p, size_t size);
void arena_free(struct arena *a);

#define NEW(a, type)     ((type *)arena_alloc((a), sizeof(type)))
#define NEWN(a, type, n) ((type *)arena_array((a), (size_t)(n), sizeof(type)))
#endif
