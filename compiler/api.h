/* Handles of gcc2nn.h as the program itself uses them: from options that are parsed, with diagnostics to print. */
#ifndef NN_COMPILER_API_H
#define NN_COMPILER_API_H
#include "compiler/gcc2nn.h"
#include "compiler/session.h"

/* A handle with these options, for the program: what cannot go on ends the process. */
gcc2nn *gcc2nn_of(const struct options *o);
bool gcc2nn_complete(const gcc2nn *g); /* all passes were run: there is something to write */
/* Prints what was not printed yet, frees the handle and gives the exit status. */
int gcc2nn_end(gcc2nn *g);
#endif
