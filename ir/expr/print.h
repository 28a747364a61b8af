/* How expressions and names look in IR text. Internal to the printers and the parser of the loop IR (docs/loop-ir.md);
 * everyone else calls x_print. */
#ifndef NN_IR_EXPR_PRINT_H
#define NN_IR_EXPR_PRINT_H
#include "ir/base/vec.h"
#include "ir/expr/expr.h"
#include "ir/expr/precedence.h"

struct expr_printer {
    struct text *t;
    const char *(*name_of)(void *env, expr leaf);   /* VAR SYM ARG: a name as printed; NULL function: name_id */
    int (*rank_of)(void *env, const struct var *v); /* position in the nest, outermost 0; NULL function: by id */
    void *env;
    const struct map *lets; /* PKEY(expr) -> name of a `let` line; may be NULL */
};
/* most: text that binds weaker is put into parentheses. */
void expr_print(const struct expr_printer *p, expr e, enum prec most);
/* A name as an identifier, or in quotes with escapes when it is not one or is a word of the language. */
void print_name(struct text *t, const char *name);
void print_quoted(struct text *t, const char *s);
bool is_plain_name(const char *s);
bool is_builtin_fn(const char *s); /* names of operations and types: functions of that name are printed quoted */

/* The `let` lines that a statement needs, in order of definition. Few need any: its tree must have more than 2,000
 * nodes, or be deeper than the parser accepts; then shared and deep parts get names. `always`: names every shared
 * part. */
struct let_plan {
    struct map names;
    VEC(expr) order;
};
void let_plan_make(struct ctx *c, const struct expr_printer *p, struct let_plan *plan, const expr *roots, int n,
                   bool always);
#endif
