/* Functions that are not ours: of a source that the user gives, called by kernels (docs/custom-operators.md,
 * docs/adr/0022). What they compute nobody here knows; what they read, write and take is said by their parameters. The
 * statement that calls one is S_FOREIGN (ir/loop/loop.h); the source goes into the output as it is. */
#ifndef NN_IR_FOREIGN_H
#define NN_IR_FOREIGN_H
#include "ir/loop/loop.h"
#include <stddef.h>

/* ABSENT: of an instance, a pointer that is NULL: an optional input or result that the node does not have. Strings are
 * structs of a pointer and a length, which the source defines; elsewhere they are nn_str. */
enum foreign_use { FOREIGN_READ, FOREIGN_WRITTEN, FOREIGN_NUMBER, FOREIGN_ABSENT };
struct foreign_param {
    const char *name;
    enum foreign_use use;
    enum dtype type; /* of an element; of a number: its type, an integer or a float */
    const char *c;   /* the same as the source spells it, "unsigned long"; NULL: as that type is called */
    int list;        /* so many from here on are one argument, an array of them; 0: it is one by itself, or of a list
                        that began before */
};
enum foreign_language { FOREIGN_C, FOREIGN_CPP, FOREIGN_CUDA, FOREIGN_LANGUAGES };
/* A file of the user's, as it was read. */
struct foreign_source {
    const char *path, *stem; /* the latter is what its files in the output are named after */
    enum foreign_language language;
    const char *text;
    size_t n;
    const char *const *globals; /* names with external linkage that it defines; NULL ends */
};
/* One body of a function: in C or C++ for a CPU, in CUDA for a GPU. */
struct foreign_body {
    const struct foreign_source *source; /* NULL: there is none */
    const char *function;                /* as the source calls it, with the arguments of a template: "norm<float>" */
};
struct foreign {
    const char *op;   /* "my.domain:Sparse" */
    const char *name; /* of this instance, a word: "Sparse_f32" */
    int n;
    const struct foreign_param *params; /* as the function takes them */
    struct foreign_body cpu, gpu;
    /* The function takes and returns scalars: it is called for each cell of its buffers, of which the last number says
     * how many there are. That one is no argument, nor is the last buffer, which gets what is returned. */
    bool by_cell;
    /* The interpreter's: runs the function on pointers to cells, and to numbers of the parameters' types. NULL: `load`
     * sets it, when it is wanted; false: it cannot be run here, and why_not says the reason. */
    void (*run)(void *const *args);
    bool (*load)(struct ctx *c, struct foreign *f);
    const char *why_not;
};
/* The k-th parameter that is a buffer (or that is none); NULL: there are not so many. */
static inline const struct foreign_param *foreign_param(const struct foreign *f, bool number, int k) {
    for (int i = 0; i < f->n; i++)
        if (f->params[i].use != FOREIGN_ABSENT && (f->params[i].use == FOREIGN_NUMBER) == number && k-- == 0)
            return &f->params[i];
    return NULL;
}
/* Those that the kernels of a module call, each once, in the order of the first calls. */
typedef VEC(const struct foreign *) foreigns;
void module_foreigns(struct ctx *c, const struct module *m, foreigns *out);
/* The body that a program for a GPU, or for a CPU, runs. */
static inline const struct foreign_body *foreign_body(const struct foreign *f, bool gpu) {
    return gpu ? &f->gpu : &f->cpu;
}
#endif
