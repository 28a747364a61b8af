/* The build folder: all files of a compiled model, written beside their final place and moved there by one rename. The
 * last stage from model to source. See project.c. */
#ifndef NN_CODEGEN_PROJECT_H
#define NN_CODEGEN_PROJECT_H
#include "codegen/program.h"

/* What was written, for compiling and running it. */
struct project {
    const char *folder, *name;
    VEC(const char *) files;            /* all names in the folder, in the order of writing */
    VEC(const char *) sources;          /* .c, .cu and .S files of the library, without nn_rt.c */
    const char *info;                   /* one of them that is linked only into programs that ask for it */
    const char *cflags;                 /* language, contraction, target */
    const char *cxx, *cxxflags;         /* for .cpp files, which exist only for operators of the user's */
    const char *nvcc_flags, *emu_flags; /* GPU: for .cu files, with nvcc and with a C++ compiler and the emulator */
    const char *ldflags;                /* of programs, beside the libraries */
    VEC(const char *) board;            /* .c files for every program on a bare machine */
    bool cpp;                           /* some sources are .cpp: operators of the user's */
    bool weights_file;                  /* weights are not part of the program: NAME_weights.bin */
    struct program *program;
};
/* Writes the folder. An existing one is replaced if it is empty, or was written by this function (according to its
 * manifest.json); other files in it stay. NULL after diagnostics; then nothing is left behind. */
struct project *project_write(const struct module *m, const struct memory_plan *plan, const struct project_options *o,
                              const char *folder);
/* Placeholders and values of the memory map, for template_text (bare.c); all empty for a target without a board. */
const char *const *bare_values(struct program *p);
/* Placeholders and values for a library that can be shared and installed (library.c). */
const char *const *library_values(struct program *p);
/* "a b" -> "'a', 'b'" or "a;b". */
const char *words_joined(struct ctx *c, const char *s, const char *quote, const char *between);
/* Do weights, arena, inputs and outputs fit the target's board, or has it none? false: a diagnostic, E_BUDGET. */
bool bare_fits(struct program *p, enum severity severity);
/* The sequences and optionals among the inputs or outputs, as in manifest.json. */
struct json_t;
struct json_t *manifest_holders(const struct project *w, const holders *h);
/* manifest.json (manifest.c). */
void project_manifest(const struct project *w, struct text *out);
#endif
