/* gcc2nn as a library: what the command `gcc2nn MODEL` does, for programs. docs/library.md shows how to use it.
 *
 * Nothing here ends the process, whatever the model; nothing is written except the requested folder, and what options
 * such as dump-after print. Each thread may have its own handles; their compilations run one at a time. */
#ifndef GCC2NN_H
#define GCC2NN_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Incremented when something here changes its meaning or is removed; additions do not change it. */
#define GCC2NN_API 1

/* What functions return; also the exit status of the command. */
enum gcc2nn_status {
    GCC2NN_OK = 0,
    GCC2NN_USAGE = 2,     /* a wrong option, or a call in the wrong order */
    GCC2NN_MODEL = 3,     /* the model is wrong, or not supported */
    GCC2NN_BUDGET = 4,    /* it would need more than the limits allow */
    GCC2NN_ENV = 5,       /* files, or memory */
    GCC2NN_INTERNAL = 70, /* a bug in gcc2nn */
};
enum gcc2nn_severity { GCC2NN_ERROR, GCC2NN_WARNING, GCC2NN_NOTE };
struct gcc2nn_problem {
    int severity;       /* enum gcc2nn_severity */
    int code;           /* see `gcc2nn explain CODE`; 0: none */
    const char *file;   /* these three may be NULL */
    const char *origin; /* the node of the model, and its input or output */
    const char *help;
    const char *message;
};

/* One compilation of one model. */
typedef struct gcc2nn gcc2nn;

const char *gcc2nn_version(void); /* version of the compiler: "0.1.0" */
int gcc2nn_api(void);             /* GCC2NN_API of the library in use */

gcc2nn *gcc2nn_new(void); /* NULL: no memory */
void gcc2nn_free(gcc2nn *g);
/* Sets an option of the command line, without its dashes: "target", "x86-avx2"; value NULL if it takes none. Call
 * before gcc2nn_load. */
int gcc2nn_option(gcc2nn *g, const char *name, const char *value);
/* Reads and compiles a model: ONNX, TensorFlow Lite, or the text of a loop IR module (.lir). Once for each handle. */
int gcc2nn_load(gcc2nn *g, const char *path);
/* Writes sources, weights and project files of the loaded model into a folder; with option "emit" set to "onnx", writes
 * the model after the passes into a file. place NULL: the name that the command would use. */
int gcc2nn_write(gcc2nn *g, const char *place);
/* What was written, in one line, or as JSON with the option "json"; NULL before. Owned by the handle. */
const char *gcc2nn_summary(gcc2nn *g);

/* Errors, warnings and notes so far, in order. Texts are owned by the handle. */
int gcc2nn_problem_count(const gcc2nn *g);
int gcc2nn_problem(const gcc2nn *g, int k, struct gcc2nn_problem *out); /* GCC2NN_USAGE: there are not that many */

/* ---- passes of your own: a shared object that the option "pass" names is loaded, and works on the graph of the model
 * between the compiler's own passes (docs/custom-passes.md). It is linked with nothing: what it may do is a table of
 * functions. It defines
 *
 *     const struct gcc2nn_pass gcc2nn_pass = {GCC2NN_PASS_ABI, "my-pass", "one sentence", run};
 */

/* Incremented when something below changes its meaning or is removed; new functions are added at the end of the
 * table. */
#define GCC2NN_PASS_ABI 1

/* valid until run returns */
typedef struct gcc2nn_graph gcc2nn_graph;
typedef struct gcc2nn_node gcc2nn_node;
typedef struct gcc2nn_value gcc2nn_value;

/* Texts and lists returned by functions live as long as the graph; texts and lists passed to them are copied. Element
 * types are the numbers of onnx.TensorProto.DataType: 1 is float, 7 int64. */
struct gcc2nn_functions {
    uint64_t size; /* size in bytes of this compiler's table */

    /* -- walking. Definitions come before uses. */
    /* The first node for NULL, otherwise the node after n; nodes of bodies (of If, Loop, Scan) follow their owner.
     * NULL: n was the last. Must be called before n is removed. */
    gcc2nn_node *(*next)(gcc2nn_graph *g, gcc2nn_node *n);
    int (*input_count)(gcc2nn_graph *g);
    gcc2nn_value *(*input)(gcc2nn_graph *g, int k); /* input k of the model; NULL: there is none */
    int (*output_count)(gcc2nn_graph *g);
    gcc2nn_value *(*output)(gcc2nn_graph *g, int k);

    /* -- nodes. For NULL, functions on nodes and values return "", 0, NULL, or -1 if that means that something is
     * missing. */
    const char *(*domain)(const gcc2nn_node *n); /* "" for operators of ai.onnx */
    const char *(*op)(const gcc2nn_node *n);     /* "Conv" */
    const char *(*name)(const gcc2nn_node *n);   /* "" for one without */
    int (*operand_count)(const gcc2nn_node *n);
    gcc2nn_value *(*operand)(const gcc2nn_node *n, int k); /* NULL: it is absent */
    int (*result_count)(const gcc2nn_node *n);
    gcc2nn_value *(*result)(const gcc2nn_node *n, int k); /* NULL: it is not used */
    /* Attributes as given, otherwise the operator's default. 0: there is none of this name and kind, and *to is
     * unchanged. */
    int (*get_int)(const gcc2nn_node *n, const char *attribute, int64_t *to);
    int (*get_float)(const gcc2nn_node *n, const char *attribute, float *to);
    int (*get_string)(gcc2nn_graph *g, const gcc2nn_node *n, const char *attribute, const char **to);
    int (*get_ints)(const gcc2nn_node *n, const char *attribute, const int64_t **to, int *count);
    int (*get_floats)(const gcc2nn_node *n, const char *attribute, const float **to, int *count);

    /* -- values */
    const char *(*value_name)(const gcc2nn_value *v);                /* "" for one without */
    int (*type)(const gcc2nn_value *v);                              /* 0: unknown, or not a tensor */
    int (*rank)(const gcc2nn_value *v);                              /* -1: unknown, or not a tensor */
    int64_t (*dim)(const gcc2nn_value *v, int axis);                 /* -1: there is none, or it is only known at run
                                                                      * time */
    int (*same_shape)(const gcc2nn_value *a, const gcc2nn_value *b); /* known to be equal, including open dims */
    gcc2nn_node *(*maker)(const gcc2nn_value *v);                    /* NULL: an input or a constant */
    /* The readers of a value: operands of nodes, and outputs of the model or of a body, for which `reader` returns
     * NULL. *place: index of the operand or output; place may be NULL. */
    int (*reader_count)(const gcc2nn_value *v);
    gcc2nn_node *(*reader)(const gcc2nn_value *v, int k, int *place);
    int64_t (*elements)(const gcc2nn_value *v); /* of a constant; -1: it is not constant */
    /* Element i of a constant, in row-major order. 0: there is none; strings and complex numbers cannot be read, nor
     * floats as integers. */
    double (*element)(const gcc2nn_value *v, int64_t i);
    int64_t (*element_int)(const gcc2nn_value *v, int64_t i);

    /* -- changing. Invalid requests are errors of the pass, and change nothing. */
    /* Inserts a node before `before` (NULL: at the end), of an operator known to gcc2nn. Its results are new values,
     * whose types are known once the pass is over. Absent operands are NULL. Returns NULL: an error. */
    gcc2nn_node *(*insert)(gcc2nn_graph *g, gcc2nn_node *before, const char *domain, const char *op,
                           gcc2nn_value *const *operands, int count, int results);
    /* A constant with elements in row-major order as in memory, of 8 bits or more; halves as their bits. NULL: an
     * error. */
    gcc2nn_value *(*constant)(gcc2nn_graph *g, int type, const int64_t *dims, int rank, const void *elements);
    void (*set_operand)(gcc2nn_graph *g, gcc2nn_node *n, int k, gcc2nn_value *v); /* NULL: absent */
    void (*set_int)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute, int64_t to);
    void (*set_float)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute, float to);
    void (*set_string)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute, const char *to);
    void (*set_ints)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute, const int64_t *to, int count);
    void (*set_floats)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute, const float *to, int count);
    void (*drop_attribute)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute);
    /* Replaces `old` by `by` in all readers, except in the node that makes `by`. */
    void (*replace)(gcc2nn_graph *g, gcc2nn_value *old, gcc2nn_value *by);
    void (*set_output)(gcc2nn_graph *g, int k, gcc2nn_value *v); /* makes v the model's output k */
    /* Removes a node whose results nobody reads. Nodes that nobody reads when the pass is over are removed
     * automatically. */
    void (*remove)(gcc2nn_graph *g, gcc2nn_node *n);

    /* -- telling */
    /* After an error, the compilation ends when run returns. about, help: may be NULL. */
    void (*report)(gcc2nn_graph *g, enum gcc2nn_severity severity, const gcc2nn_node *about, const char *message,
                   const char *help);
    /* Call before each change. 0: do not make it, because `gcc2nn bisect` is looking for the change that makes results
     * differ. what: "Gelu without erf". */
    int (*decide)(gcc2nn_graph *g, const gcc2nn_node *about, const char *what);
};
struct gcc2nn_pass {
    int abi;          /* GCC2NN_PASS_ABI */
    const char *name; /* small letters, digits and `-` */
    const char *help; /* what it does, in one sentence */
    /* Returns nonzero if it failed; then the compilation ends. */
    int (*run)(const struct gcc2nn_functions *f, gcc2nn_graph *g);
};

#ifdef __cplusplus
}
#endif
#endif
