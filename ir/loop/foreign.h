/* Foreign functions: from a source given by the user, called by kernels (docs/custom-operators.md, docs/adr/0022). What
 * they compute is unknown; their parameters say what they read, write and take. The statement that calls one is
 * S_FOREIGN (ir/loop/loop.h); the source is copied to the output unchanged. */
#ifndef NN_IR_FOREIGN_H
#define NN_IR_FOREIGN_H
#include "ir/loop/loop.h"
#include <stddef.h>

/* ABSENT: of an instance, a pointer that is NULL, because the node lacks that optional input or result. Strings are
 * structs of a pointer and a length, which the source defines; elsewhere they are nn_str. */
enum foreign_use { FOREIGN_READ, FOREIGN_WRITTEN, FOREIGN_NUMBER, FOREIGN_ABSENT };
struct foreign_param {
    const char *name;
    enum foreign_use use;
    enum dtype type; /* of an element; for a number, an integer or float type */
    const char *c;   /* the type as the source spells it, "unsigned long"; NULL: its usual name */
    int list;        /* that many parameters from this one on form one argument, an array; 0: it is a separate argument,
                      * or part of a list that began before */
};
enum foreign_language { FOREIGN_C, FOREIGN_CPP, FOREIGN_CUDA, FOREIGN_LANGUAGES };
/* A file of the user's, as it was read. */
struct foreign_source {
    const char *path, *stem; /* stem: base name of its files in the output */
    enum foreign_language language;
    const char *text;
    size_t n;
    const char *const *globals; /* names with external linkage that it defines; NULL ends */
};
/* One body of a function: in C or C++ for a CPU, in CUDA for a GPU. */
struct foreign_body {
    const struct foreign_source *source; /* NULL: there is none */
    const char *function;                /* its name in the source, with template arguments: "norm<float>" */
};
struct foreign {
    const char *op;   /* "my.domain:Sparse" */
    const char *name; /* an identifier for this instance: "Sparse_f32" */
    int n;
    const struct foreign_param *params; /* in the order of the function's parameters */
    struct foreign_body cpu, gpu;
    /* The function takes and returns scalars: it is called for each cell of its buffers; the last number is the count
     * of cells. That number is not an argument, nor is the last buffer, which gets the returned values. */
    bool by_cell;
    /* For the interpreter: runs the function on pointers to cells, and to numbers of the parameters' types. NULL:
     * `load` sets it when needed; false: it cannot be run here, and why_not is the reason. */
    void (*run)(void *const *args);
    bool (*load)(struct ctx *c, struct foreign *f);
    const char *why_not;
};
/* The k-th parameter that is a number, or that is a buffer; NULL: there are not that many. */
static inline const struct foreign_param *foreign_param(const struct foreign *f, bool number, int k) {
    for (int i = 0; i < f->n; i++)
        if (f->params[i].use != FOREIGN_ABSENT && (f->params[i].use == FOREIGN_NUMBER) == number && k-- == 0)
            return &f->params[i];
    return NULL;
}
/* Those that a module's kernels call, each once, in the order of the first calls. */
typedef VEC(const struct foreign *) foreigns;
void module_foreigns(struct ctx *c, const struct module *m, foreigns *out);
/* The body to run in a program for a GPU, or for a CPU. */
static inline const struct foreign_body *foreign_body(const struct foreign *f, bool gpu) {
    return gpu ? &f->gpu : &f->cpu;
}
#endif
