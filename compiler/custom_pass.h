/* Custom passes: a shared object that --pass names is loaded before the pipeline is built, and runs at its position
 * there. custom_pass.c: loading; custom_pass_run.c: running, and the functions that it may call. See
 * docs/custom-passes.md. */
#ifndef NN_COMPILER_CUSTOM_PASS_H
#define NN_COMPILER_CUSTOM_PASS_H
#include "ir/graph/graph.h"

struct gcc2nn_pass;
struct custom_pass {
    const char *name, *help;
    const char *file; /* as it was given */
    uint64_t hash;    /* of the file's bytes */
    bool ran;
    const struct gcc2nn_pass *pass;
};
/* Loads `file`, which stays loaded until the process ends. false: a diagnostic. */
bool custom_pass_load(struct ctx *c, const char *file, struct custom_pass *out);
/* typed: inference ran before, and is repeated. false: diagnostics, also if the graph is invalid afterwards. */
bool custom_pass_run(struct graph *g, struct custom_pass *p, bool typed);
#endif
