/* The commands of the program: one file each, compiler/cmd_*.c; the table of them stands in commands.c. */
#ifndef NN_COMPILER_COMMANDS_H
#define NN_COMPILER_COMMANDS_H
#include "compiler/options.h"
#include <jansson.h>

struct graph;
extern const struct command command_rows[]; /* name NULL ends; the first is used if a model is given in place of a
                                             * command */

int cmd_compile(const struct options *o);
int cmd_run(const struct options *o);
int cmd_verify(const struct options *o);
int cmd_bisect(const struct options *o);
int cmd_doctor(const struct options *o);
int cmd_bench(const struct options *o);
int cmd_tune(const struct options *o);
int cmd_calibrate(const struct options *o);
int cmd_quantize(const struct options *o);
int cmd_profile(const struct options *o);
int cmd_diff(const struct options *o);
int cmd_report(const struct options *o);
int cmd_inspect(const struct options *o);
int cmd_opt(const struct options *o);
int cmd_surgeon(const struct options *o);
int cmd_prune(const struct options *o);
int cmd_explain(const struct options *o);
int cmd_list_ops(const struct options *o);
int cmd_list_targets(const struct options *o);
int cmd_list_rules(const struct options *o);
int cmd_config(const struct options *o);
int cmd_ort_ops(const struct options *o);

int stub_unsupported(const struct options *o); /* compile --stub-unsupported (stubs.c) */

/* Prints the diagnostics to standard error, in colour if wanted (NO_COLOR), and returns the exit status for the first
 * error; EXIT_INTERNAL if any is a bug of ours; EXIT_OK if there is none. */
int report_diags(const struct diags *d);
int diags_status(const struct diags *d); /* the exit status alone */
/* Writes to standard output and frees the text. */
void print_text(struct text *t);
/* The same for JSON; frees it. */
void print_json(json_t *root);
void text_json(struct text *out, json_t *root); /* the same as text, without a line end */
/* Bytes as a JSON string; escaped if they are not valid UTF-8, since JSON cannot hold them. */
json_t *json_name(struct arena *a, const char *name);
const char *json_key(struct arena *a, const char *name); /* the same as a key */
const char *json_text(const json_t *o, const char *key); /* a string member; "" if there is none */
/* A graph's inputs and outputs with their types (cmd_inspect.c): lines, with titles of that width; members of `to`. */
void print_ends(const struct graph *g, struct text *t, int width);
void json_ends(const struct graph *g, json_t *to);
/* At the end: returns the status, or EXIT_ENV with a message if standard output could not be written. */
int flush_output(int status);
void progress_show(void); /* from now on */
/* A progress line that replaces the previous one; only on a terminal. */
void progress(const char *fmt, ...) NN_PRINTF(1, 2);
void progress_end(void);
#endif
