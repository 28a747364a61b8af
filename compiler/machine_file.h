/* Files with a machine's measured numbers: `gcc2nn calibrate` writes them, --machine reads them, before the model is
 * read. JSON; the numbers are those of the table in lower/machine/numbers.h, see docs/machine.md. */
#ifndef NN_COMPILER_MACHINE_FILE_H
#define NN_COMPILER_MACHINE_FILE_H
#include "compiler/commands.h"
#include "ir/base/ctx.h"
#include "ir/loop/target.h"
#include "lower/machine/numbers.h"

/* The key that identifies such a file, and its format version. */
#define MACHINE_FORMAT_KEY "gcc2nn-machine"

struct machine_file {
    const struct target *target;
    const char *cpu;            /* the CPU that was measured, for display */
    double values[NUMBERS_MAX]; /* in the order of the table; taken from the target's row where the file has none */
};
/* false: diagnostics say what is wrong, each with its remedy. */
bool machine_file_read(struct ctx *c, const char *path, struct machine_file *out);
/* The same of its text; `path` for messages. */
bool machine_file_parse(struct ctx *c, const char *path, const void *bytes, size_t n, struct machine_file *out);
/* The text of the file, with all numbers that its target's row has. */
void machine_file_print(const struct machine_file *f, struct text *out);
/* May the file be written: is there nothing at that path, or such a file, valid or not? false: a diagnostic. */
bool machine_file_may_replace(struct ctx *c, const char *path);
/* A copy of the target, in c's arena, with these numbers. */
const struct target *machine_file_target(struct ctx *c, const struct machine_file *f, const struct target *t);
#endif
