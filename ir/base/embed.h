/* Files that the build puts into the compiler: everything below templates/ and runtime_stub/.
 * The table is made by templates/embed.c at build time, sorted by path. */
#ifndef IR_BASE_EMBED_H
#define IR_BASE_EMBED_H
#include <stddef.h>

struct embedded {
    const char *path;          /* as in the repository: "templates/kernels/topk.lir", "runtime_stub/nn_rt.h" */
    const unsigned char *data; /* followed by a NUL that `size` does not count */
    size_t size;
};
extern const struct embedded nn_embedded[];
extern const size_t nn_embedded_count;

#endif
