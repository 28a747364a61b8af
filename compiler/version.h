/* What `gcc2nn --version` says. */
#ifndef NN_COMPILER_VERSION_H
#define NN_COMPILER_VERSION_H
#include "compiler/options.h"

/* Prints the version, the commit that was built ("unknown" if built from an archive), and which optional parts are
 * included; with o->json as JSON. */
void version_show(const struct options *o, const char *commit);
#endif
