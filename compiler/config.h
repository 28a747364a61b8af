/* gcc2nn.toml: options that a project has for all of its models, for a profile, and for a target. Found from the
 * current folder upwards; docs/config.md. Between the command line, which goes before it, and the command. */
#ifndef NN_COMPILER_CONFIG_H
#define NN_COMPILER_CONFIG_H
#include "compiler/options.h"
#include "ir/base/ctx.h"

/* One option of the file, as it counts for the profile and the target. */
struct setting {
    const struct option_row *row; /* of that name, the command's if it has it */
    VEC(const char *) values;     /* none: a flag that is off */
    const char *table;            /* "[target.cortex-m4]"; or "command line" */
    int line;                     /* 0: there */
};
struct settings {
    const char *path;      /* NULL: there is no file */
    const char *profile;   /* the one asked for; NULL: none */
    const char *target;    /* that of the command line, else the file's, else "native" */
    VEC(struct setting) v; /* as the table of options goes */
};
/* What the file says for these options. false: a diagnostic. */
bool settings_read(struct ctx *c, const struct options *o, struct settings *out);
/* Sets those options of the command that the command line does not give. false: a diagnostic. */
bool settings_apply(struct ctx *c, struct options *o);
#endif
