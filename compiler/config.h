/* gcc2nn.toml: options that a project sets for all of its models, for a profile, and for a target. Found from the
 * current folder upwards; docs/config.md. The command line has priority over it. */
#ifndef NN_COMPILER_CONFIG_H
#define NN_COMPILER_CONFIG_H
#include "compiler/options.h"
#include "ir/base/ctx.h"

/* One option of the file, with its value for the profile and the target. */
struct setting {
    const struct option_row *row; /* the option of that name; the command's, if it has one */
    VEC(const char *) values;     /* empty: a flag that is off */
    const char *table;            /* "[target.cortex-m4]"; or "command line" */
    int line;                     /* 0: there */
};
struct settings {
    const char *path;      /* NULL: there is none */
    const char *profile;   /* the selected one; NULL: none */
    const char *target;    /* from the command line, otherwise from the file, otherwise "native" */
    VEC(struct setting) v; /* in the order of the table of options */
};
/* What the file says for these options. false: a diagnostic. */
bool settings_read(struct ctx *c, const struct options *o, struct settings *out);
/* Sets the options that are not on the command line. false: a diagnostic. */
bool settings_apply(struct ctx *c, struct options *o);
#endif
