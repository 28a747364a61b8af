/* `gcc2nn compile --targets A,B -o DIR`: one model for several targets. */
#ifndef NN_COMPILER_BUNDLE_H
#define NN_COMPILER_BUNDLE_H
#include "compiler/options.h"

/* Compiles for each of --targets and writes the folder of folders, whole or not at all. The exit status. */
int compile_bundle(const struct options *o);
#endif
