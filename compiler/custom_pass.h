/* Passes of the user's own: a shared object that --pass names, loaded before the pipeline is put together, and run
 * where it stands there. custom_pass.c: loading; custom_pass_run.c: running, and the functions that it gets. See
 * docs/custom-passes.md. */
#ifndef NN_COMPILER_CUSTOM_PASS_H
#define NN_COMPILER_CUSTOM_PASS_H
#include "ir/graph/graph.h"

struct gcc2nn_pass;
struct custom_pass {
    const char *name, *help;
    const char *file; /* as it was given */
    uint64_t hash;    /* of its bytes */
    bool ran;
    const struct gcc2nn_pass *pass;
};
/* Loads `file`, until the process ends. false: a diagnostic. */
bool custom_pass_load(struct ctx *c, const char *file, struct custom_pass *out);
/* typed: inference was there before, and comes again. false: diagnostics, also of a graph that is not whole afterwards.
 */
bool custom_pass_run(struct graph *g, struct custom_pass *p, bool typed);
#endif
