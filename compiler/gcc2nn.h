/* gcc2nn as a library: what the command `gcc2nn MODEL` does, for programs. docs/library.md shows it in use.
 *
 * Nothing here ends the process, whatever the model; nothing is written but the folder that is asked for, and what
 * options like dump-after print. Threads may have handles of their own; their compilations take turns. */
#ifndef GCC2NN_H
#define GCC2NN_H
#include <stdint.h>
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

/* ---- passes of your own: a shared object that the option "pass" names is loaded, and works on the graph of the model
 * between the compiler's own passes (docs/custom-passes.md). It is linked with nothing: what it may do is a table of
 * functions. It defines
 *
 *     const struct gcc2nn_pass gcc2nn_pass = {GCC2NN_PASS_ABI, "my-pass", "one sentence", run};
 */

/* Grows when something below changes its meaning or goes; functions that come stand at the end of the table. */
#define GCC2NN_PASS_ABI 1

/* Good until run returns. */
typedef struct gcc2nn_graph gcc2nn_graph;
typedef struct gcc2nn_node gcc2nn_node;
typedef struct gcc2nn_value gcc2nn_value;

/* Texts and lists that functions give live as long as the graph; those that they take are copied. Types of elements are
 * the numbers of onnx.TensorProto.DataType: 1 is float, 7 int64. */
struct gcc2nn_functions {
    uint64_t size; /* of the table that this compiler has, in bytes */

    /* -- walking. Definitions come before uses. */
    /* The first node for NULL, else the one behind n; nodes of bodies (of If, Loop, Scan) come behind their owner.
     * NULL: n was the last. To be asked before n is removed. */
    gcc2nn_node *(*next)(gcc2nn_graph *g, gcc2nn_node *n);
    int (*input_count)(gcc2nn_graph *g);
    gcc2nn_value *(*input)(gcc2nn_graph *g, int k); /* of the model; NULL: there is none */
    int (*output_count)(gcc2nn_graph *g);
    gcc2nn_value *(*output)(gcc2nn_graph *g, int k);

    /* -- nodes. Of NULL, here and of values: "", 0, NULL, or -1 where that says that something is missing. */
    const char *(*domain)(const gcc2nn_node *n); /* "" for operators of ai.onnx */
    const char *(*op)(const gcc2nn_node *n);     /* "Conv" */
    const char *(*name)(const gcc2nn_node *n);   /* "" for one without */
    int (*operand_count)(const gcc2nn_node *n);
    gcc2nn_value *(*operand)(const gcc2nn_node *n, int k); /* NULL: it is absent */
    int (*result_count)(const gcc2nn_node *n);
    gcc2nn_value *(*result)(const gcc2nn_node *n, int k); /* NULL: nobody wants it */
    /* Attributes as they are given, else what the operator has for nodes without. 0: there is none of this name and
     * kind, and *to stays. */
    int (*get_int)(const gcc2nn_node *n, const char *attribute, int64_t *to);
    int (*get_float)(const gcc2nn_node *n, const char *attribute, float *to);
    int (*get_string)(gcc2nn_graph *g, const gcc2nn_node *n, const char *attribute, const char **to);
    int (*get_ints)(const gcc2nn_node *n, const char *attribute, const int64_t **to, int *count);
    int (*get_floats)(const gcc2nn_node *n, const char *attribute, const float **to, int *count);

    /* -- values */
    const char *(*value_name)(const gcc2nn_value *v);                /* "" for one without */
    int (*type)(const gcc2nn_value *v);                              /* 0: not known yet, or no tensor */
    int (*rank)(const gcc2nn_value *v);                              /* -1: not known yet, or no tensor */
    int64_t (*dim)(const gcc2nn_value *v, int axis);                 /* -1: there is none, or the run decides */
    int (*same_shape)(const gcc2nn_value *a, const gcc2nn_value *b); /* known to be equal, open dims too */
    gcc2nn_node *(*maker)(const gcc2nn_value *v);                    /* NULL: an input or a constant */
    /* Where it is read: by operands of nodes, and by outputs of the model or of a body, for which `reader` gives NULL.
     * *place: which operand or output; place may be NULL. */
    int (*reader_count)(const gcc2nn_value *v);
    gcc2nn_node *(*reader)(const gcc2nn_value *v, int k, int *place);
    int64_t (*elements)(const gcc2nn_value *v); /* of a constant; -1: it is none */
    /* Element i of a constant, row by row. 0: there is none; strings and complex numbers cannot be read, nor floats as
     * integers. */
    double (*element)(const gcc2nn_value *v, int64_t i);
    int64_t (*element_int)(const gcc2nn_value *v, int64_t i);

    /* -- changing. What cannot be done is an error of the pass, and changes nothing. */
    /* A node in front of `before` (NULL: behind all), of an operator that gcc2nn has, with new values as results, whose
     * types are known when the pass is over. Absent operands are NULL. NULL: an error. */
    gcc2nn_node *(*insert)(gcc2nn_graph *g, gcc2nn_node *before, const char *domain, const char *op,
                           gcc2nn_value *const *operands, int count, int results);
    /* A constant: elements row by row as in memory, of 8 bits or more, halves as their bits. NULL: an error. */
    gcc2nn_value *(*constant)(gcc2nn_graph *g, int type, const int64_t *dims, int rank, const void *elements);
    void (*set_operand)(gcc2nn_graph *g, gcc2nn_node *n, int k, gcc2nn_value *v); /* NULL: absent */
    void (*set_int)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute, int64_t to);
    void (*set_float)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute, float to);
    void (*set_string)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute, const char *to);
    void (*set_ints)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute, const int64_t *to, int count);
    void (*set_floats)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute, const float *to, int count);
    void (*drop_attribute)(gcc2nn_graph *g, gcc2nn_node *n, const char *attribute);
    /* Wherever `old` is read, `by` is, but in the node that makes `by`. */
    void (*replace)(gcc2nn_graph *g, gcc2nn_value *old, gcc2nn_value *by);
    void (*set_output)(gcc2nn_graph *g, int k, gcc2nn_value *v); /* what the model gives as output k */
    /* A node whose results nobody reads; those that nobody reads when the pass is over go by themselves. */
    void (*remove)(gcc2nn_graph *g, gcc2nn_node *n);

    /* -- telling */
    /* After an error, the compilation ends when run returns. about, help: NULL: none. */
    void (*report)(gcc2nn_graph *g, enum gcc2nn_severity severity, const gcc2nn_node *about, const char *message,
                   const char *help);
    /* To be asked before each change: 0: leave it out, for `gcc2nn bisect` looks for the one that makes results depart.
     * what: "Gelu without erf". */
    int (*decide)(gcc2nn_graph *g, const gcc2nn_node *about, const char *what);
};
struct gcc2nn_pass {
    int abi;          /* GCC2NN_PASS_ABI */
    const char *name; /* of small letters, digits and `-` */
    const char *help; /* what it does, in one sentence */
    /* Not 0: it has failed, and the compilation ends. */
    int (*run)(const struct gcc2nn_functions *f, gcc2nn_graph *g);
};

#ifdef __cplusplus
}
#endif
#endif
