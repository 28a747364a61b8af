/* gcc2nn as a library: what the command `gcc2nn MODEL` does, for programs. docs/library.md shows it in use.
 *
 * Nothing here ends the process, whatever the model; nothing is written but the folder that is asked for, and what
 * options like dump-after print. Threads may have handles of their own; their compilations take turns. */
#ifndef GCC2NN_H
#define GCC2NN_H
#ifdef __cplusplus
extern "C" {
#endif

/* Grows when something here changes its meaning or goes; what only comes does not change it. */
#define GCC2NN_API 1

/* What functions return, the exit status of the command as well. */
enum gcc2nn_status {
    GCC2NN_OK = 0,
    GCC2NN_USAGE = 2,     /* a wrong option, or a call out of turn */
    GCC2NN_MODEL = 3,     /* the model is wrong, or not supported */
    GCC2NN_BUDGET = 4,    /* it would take more than the limits allow */
    GCC2NN_ENV = 5,       /* files, or memory */
    GCC2NN_INTERNAL = 70, /* a mistake in gcc2nn */
};
enum gcc2nn_severity { GCC2NN_ERROR, GCC2NN_WARNING, GCC2NN_NOTE };
struct gcc2nn_problem {
    int severity;       /* enum gcc2nn_severity */
    int code;           /* `gcc2nn explain CODE` tells more; 0: none */
    const char *file;   /* these three may be NULL */
    const char *origin; /* the node of the model, and its input or output */
    const char *help;
    const char *message;
};

/* One compilation of one model. */
typedef struct gcc2nn gcc2nn;

const char *gcc2nn_version(void); /* of the compiler: "0.1.0" */
int gcc2nn_api(void);             /* GCC2NN_API of the library that runs */

gcc2nn *gcc2nn_new(void); /* NULL: no memory */
void gcc2nn_free(gcc2nn *g);
/* An option of the command line without its dashes: "target", "x86-avx2"; value NULL for those that take none. Before
 * the model. */
int gcc2nn_option(gcc2nn *g, const char *name, const char *value);
/* Reads and compiles a model: ONNX, TensorFlow Lite, or the text of a module of loops (.lir). Once for each handle. */
int gcc2nn_load(gcc2nn *g, const char *path);
/* Writes sources, weights and project files of the model that was loaded into a folder; with the option "emit", "onnx"
 * the model as it is after the passes, into a file. place NULL: as the command names it. */
int gcc2nn_write(gcc2nn *g, const char *place);
/* What was written, in one line, or as JSON with the option "json"; NULL before. The handle's. */
const char *gcc2nn_summary(gcc2nn *g);

/* Errors, warnings and notes so far, in the order in which they came. Texts are the handle's. */
int gcc2nn_problem_count(const gcc2nn *g);
int gcc2nn_problem(const gcc2nn *g, int k, struct gcc2nn_problem *out); /* GCC2NN_USAGE: there is no k-th */

#ifdef __cplusplus
}
#endif
#endif
