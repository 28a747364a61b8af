/* Limits on what a compiled model may need: --budget of compile and bench. What is known before the build is checked
 * here; what only a build or a run tells, by the code that does those. */
#ifndef NN_COMPILER_BUDGET_H
#define NN_COMPILER_BUDGET_H
#include "ir/base/arena.h"
#include "ir/base/text.h"
#include <stdbool.h>
#include <stdint.h>

enum budget_item { BUDGET_LATENCY, BUDGET_INSTRUCTIONS, BUDGET_ARENA, BUDGET_WEIGHTS, BUDGET_FLASH, BUDGET_CODE };
enum { BUDGET_ITEMS = BUDGET_CODE + 1 };
/* A number for each item that has one: nanoseconds, instructions, bytes. Either a budget, or what a program needs. */
struct budget {
    bool has[BUDGET_ITEMS];
    int64_t v[BUDGET_ITEMS];
};
extern const char *const budget_names[BUDGET_ITEMS]; /* "latency" */

/* "arena=64K,latency=2.5ms", added to what *b has. false: *problem says what is wrong. */
bool budget_parse(struct budget *b, const char *value, struct text *problem);
bool budget_is_given(const struct budget *b);
bool budget_needs_build(const struct budget *b); /* it limits an item that only compiled code tells */
bool budget_needs_run(const struct budget *b);   /* it limits an item that only a run tells */

struct session;
struct program;
struct code_size;
/* What is known without building the program. */
void budget_of_program(struct budget *taken, const struct program *p);
/* Adds what the built library needs. */
void budget_of_code(struct budget *taken, const struct program *p, const struct code_size *size);
/* false, after a diagnostic: an item of the session's budget is meaningless for its target. */
bool budget_fits_target(struct session *s);
/* false: diagnostics say what is over the session's budget, by how much, and what would help. */
bool budget_holds(struct session *s, const struct program *p, const struct budget *taken);
/* The diagnostic for one item: p needs more than `limit`, "that --budget allows". */
void budget_exceeded(struct session *s, const struct program *p, enum budget_item k, const struct budget *taken,
                     int64_t limit, const char *whose);
const char *budget_shown(struct arena *a, enum budget_item k, int64_t v); /* "2.5 ms" */
/* For a command's JSON: of each limit `name`, `limit`, `value`, `within`. */
struct json_t;
struct json_t *budget_json(const struct budget *limits, const struct budget *taken);
#endif
