/* The commands of the program: one file each, compiler/cmd_*.c; the table of them stands in main.c. */
#ifndef NN_COMPILER_COMMANDS_H
#define NN_COMPILER_COMMANDS_H
#include "compiler/options.h"

int cmd_compile(const struct options *o);
int cmd_run(const struct options *o);
int cmd_verify(const struct options *o);
int cmd_bench(const struct options *o);
int cmd_inspect(const struct options *o);
int cmd_opt(const struct options *o);
int cmd_explain(const struct options *o);
int cmd_list_ops(const struct options *o);
int cmd_list_targets(const struct options *o);

/* Prints what was recorded to standard error, in colour where that is wanted (NO_COLOR), and gives the exit status that
 * the first error stands for; EXIT_OK when there is none. */
int report_diags(const struct diags *d);
/* Writes to standard output and frees the text. */
void print_text(struct text *t);
#endif
