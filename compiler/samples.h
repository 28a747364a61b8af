/* A model run on samples: what calibration and sensitivity do with a graph that they have given further outputs, and
 * what a metric is made of. */
#ifndef NN_COMPILER_SAMPLES_H
#define NN_COMPILER_SAMPLES_H
#include "compiler/session.h"

/* Folders of inputs, or archives, as --data takes them, in order of their names. */
struct samples {
    path_list v;
};
/* Those below `folder`, or that itself where it holds inputs. false: a diagnostic, which names the option. */
bool samples_find(struct ctx *c, const char *option, const char *folder, struct samples *out);

struct runner {
    struct session *s;
    struct options options; /* of s, with the folder of a sample */
    const char *exe;
    const char *const *symbols; /* of the command line, for the program */
    bool in_files;              /* outputs stay in files of the build folder */
};
/* Of a program that is built. */
struct runner runner_of(struct session *s, const char *exe);
/* Lowers the graph of s as it stands, prints and builds it. false: a diagnostic. */
bool runner_open(struct runner *r, struct session *s);
/* `see` gets the program's outputs for each sample, which go with its return, NULL with in_files; false from it, or a
 * failed run, ends the walk, with a diagnostic. `what` is shown as progress: "ranges of sample 3 of 10". */
struct sample_run {
    const char *sample;
    int number;
    struct tensor *const *outputs;
};
typedef bool see_outputs(void *env, const struct sample_run *x);
bool runner_each(struct runner *r, const struct samples *samples, const char *what, see_outputs *see, void *env);
#endif
