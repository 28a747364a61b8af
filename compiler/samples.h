/* Runs a model on samples: for calibration and sensitivity, which have added outputs to its graph, and for metrics. */
#ifndef NN_COMPILER_SAMPLES_H
#define NN_COMPILER_SAMPLES_H
#include "compiler/session.h"

/* Folders of inputs, or archives, as for --data, sorted by name. */
struct samples {
    path_list v;
};
/* The samples in `folder`, or `folder` itself if it has inputs. false: a diagnostic, which names the option. */
bool samples_find(struct ctx *c, const char *option, const char *folder, struct samples *out);

struct runner {
    struct session *s;
    struct options options; /* of s, with the folder of a sample */
    const char *exe;
    const char *const *symbols; /* from the command line, for the program */
    bool in_files;              /* outputs stay in files of the build folder */
};
/* For a program that is already built. */
struct runner runner_of(struct session *s, const char *exe);
/* Lowers the current graph of s, prints and builds it. false: a diagnostic. */
bool runner_open(struct runner *r, struct session *s);
/* `see` gets the program's outputs for each sample, which are freed when it returns, NULL with in_files; if it returns
 * false, or a run fails, the walk ends, with a diagnostic. `what` is shown as progress: "ranges of sample 3 of 10". */
struct sample_run {
    const char *sample;
    int number;
    struct tensor *const *outputs;
};
typedef bool see_outputs(void *env, const struct sample_run *x);
bool runner_each(struct runner *r, const struct samples *samples, const char *what, see_outputs *see, void *env);
#endif
