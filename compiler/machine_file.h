/* Files of a machine's measured numbers: `gcc2nn calibrate` writes them, --machine reads them, before anything of a
 * model is. JSON; the numbers are those of the table in lower/machine/numbers.h, see docs/machine.md. */
#ifndef NN_COMPILER_MACHINE_FILE_H
#define NN_COMPILER_MACHINE_FILE_H
#include "compiler/commands.h"
#include "ir/base/ctx.h"
#include "ir/loop/target.h"
#include "lower/machine/numbers.h"

/* The key that tells what a file is, and which form of it. */
#define MACHINE_FORMAT_KEY "gcc2nn-machine"

struct machine_file {
    const struct target *target;
    const char *cpu;            /* what it was measured on, for people */
    double values[NUMBERS_MAX]; /* in the order of the table; of the target's row where that has none */
};
/* false: diagnostics say what is wrong, each with its remedy. */
bool machine_file_read(struct ctx *c, const char *path, struct machine_file *out);
/* The same of its text; `path` for messages. */
bool machine_file_parse(struct ctx *c, const char *path, const void *bytes, size_t n, struct machine_file *out);
/* The text of the file, of all numbers that the row of its target has. */
void machine_file_print(const struct machine_file *f, struct text *out);
/* May it be written there: nothing is, or such a file, sound or not? false: a diagnostic. */
bool machine_file_may_replace(struct ctx *c, const char *path);
/* A copy of the target, in c's arena, that has these numbers. */
const struct target *machine_file_target(struct ctx *c, const struct machine_file *f, const struct target *t);
#endif
