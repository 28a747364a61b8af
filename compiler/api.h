/* Handles of gcc2nn.h as the program itself uses them: from options that are parsed, with diagnostics to print. */
#ifndef NN_COMPILER_API_H
#define NN_COMPILER_API_H
#include "compiler/gcc2nn.h"
#include "compiler/session.h"

/* A handle with these options, for the program: fatal errors end the process. */
gcc2nn *gcc2nn_of(const struct options *o);
bool gcc2nn_complete(const gcc2nn *g); /* all passes ran, so there is something to write */
/* gcc2nn_write for a folder that will be moved to `place`, which is the name used in texts. */
int gcc2nn_write_for(gcc2nn *g, const char *folder, const char *place);
json_t *gcc2nn_facts(gcc2nn *g); /* the summary of what was written; `folder` is only its name */
/* Prints what has not been printed yet, frees the handle and returns the exit status. */
int gcc2nn_end(gcc2nn *g);
#endif
