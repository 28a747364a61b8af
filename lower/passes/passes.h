/* Passes: from scheduled kernels and a planned entry to exactly the program that is printed. They are the last stage
 * before codegen/, whose printers change nothing: what a pass leaves is verified, and can be dumped, parsed and
 * interpreted.
 *
 * Each pass preserves the meaning of a module bit for bit. Their order is in the table of compiler/driver.c. */
#ifndef NN_LOWER_PASSES_PASSES_H
#define NN_LOWER_PASSES_PASSES_H
#include "ir/loop/loop.h"
#include "ir/loop/target.h"

/* What the program is printed for. */
struct printing {
    const struct target *target;
    bool c99_strict; /* scalar C99 without any extension, whatever the target offers */
    int threads;     /* for which parallel loops get scratch memory; 0: 1 */
};
int printed_lanes(const struct printing *o); /* f32 lanes of vectors that can be printed; 1: none */
/* The instruction's row, if the target has it and C need not be strict; otherwise NULL. */
const struct instr_row *printed_instr(const struct printing *o, const char *name);

/* ---- the passes; see their files */
void pass_entry_values(struct module *m, const struct printing *o);
void pass_frees(struct module *m, const struct printing *o);
void pass_results(struct module *m, const struct printing *o);
void pass_nests(struct module *m, const struct printing *o);
void pass_instructions(struct module *m, const struct printing *o);
void pass_unroll(struct module *m, const struct printing *o);
void pass_vectorise(struct module *m, const struct printing *o);
void pass_literals(struct module *m, const struct printing *o);
void pass_rounding(struct module *m, const struct printing *o);
void pass_merge(struct module *m, const struct printing *o);
void pass_grids(struct module *m, const struct printing *o);
void pass_private(struct module *m, const struct printing *o);
void pass_barriers(struct module *m, const struct printing *o);
void pass_parallel(struct module *m, const struct printing *o);

/* ---- for passes that unroll */
/* Inserts a copy of `body` with var = value before `at`. */
void copy_with(struct ctx *c, struct stmt *at, struct block *body, const struct var *var, expr value);
/* Unrolls a loop completely. */
void write_out(struct ctx *c, struct stmt *loop, int64_t extent);
void unroll_loops(struct ctx *c, struct proc *p); /* as the pass does */
enum { MAX_WRITTEN = 1 << 14 };                   /* statements that one loop may become */
#endif
