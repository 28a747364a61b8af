/* What makes a library of a program that can be shared, installed and found by others: values for the project files.
 * See project.h. */
#include "codegen/project.h"
#include <string.h>

const char *words_joined(struct ctx *c, const char *s, const char *quote, const char *between) {
    const char *r = "";
    while (*s) {
        size_t n = strcspn(s, " ");
        if (n) r = format(c, "%s%s%s%.*s%s", r, *r ? between : "", quote, (int)n, s, quote);
        s += n + strspn(s + n, " ");
    }
    return r;
}
const char *const *library_values(struct program *p) {
    const char *name = p->name;
    bool pool = program_has_pool(p);
    const char *headers =
        format(p->c, "%s.h nn_rt.h nn_model.h nn_model.hpp%s%s%s", name, p->threads ? " nn_threads.h" : "",
               pool ? " nn_pool.h" : "", p->device ? " nn_rt_cuda.h" : "");
    const char *data = format(p->c, "manifest.json nn_model.py%s",
                              program_weights_file(p) ? format(p->c, " %s_weights.bin", name) : "");
    const char *const pairs[] = {"NAME",
                                 name,
                                 "UPPER",
                                 p->upper,
                                 "VERSION",
                                 GCC2NN_VERSION,
                                 "HEADERS",
                                 headers,
                                 "DATA",
                                 data,
                                 "MESON_HEADERS",
                                 words_joined(p->c, headers, "'", ", "),
                                 "MESON_DATA",
                                 words_joined(p->c, data, "'", ", "),
                                 "EXPORTS",
                                 format(p->c, "%s%s", p->is_static ? "" : format(p->c, "%s_arena; ", name),
                                        p->device ? format(p->c, "%s_free; ", name) : ""),
                                 "CMAKE_FIND",
                                 pool ? "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n" : "",
                                 "LIBS",
                                 pool ? " -pthread" : "",
                                 "PC_PRIVATE",
                                 p->device ? " -lcudart -lstdc++" : "",
                                 NULL};
    return arena_copy(&p->c->arena, pairs, sizeof pairs);
}
