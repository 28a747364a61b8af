/* The interpreter's compiler: state shared by compile.c (statements, accesses) and expr.c. */
#ifndef NN_IR_LOOP_EVAL_COMP_H
#define NN_IR_LOOP_EVAL_COMP_H
#include "ir/eval/int.h"

struct kept {
    uint64_t key;
    int reg;
};
/* A loop level: level 0 is the procedure, then one per enclosing for and while. Pure values are computed in the `pre`
 * code of the outermost loop that they do not depend on; that code stands right before the loop. */
struct level {
    bool is_for, stops, swaps, sizes; /* stops: its body may end the program other than by an invalid access */
    const struct var *var;
    int var_reg, ext_reg, ext_level, cond; /* cond: conditions around the loop when it was opened */
    int64_t ext;                           /* extent if constant, else -1 */
    code_vec pre, body, latch;
    VEC(struct kept) kept; /* values computed in the `pre` of this loop */
};
enum { MAX_LEVELS = 256, MEMO_HEADS = 256, MAX_EXPR_DEPTH = 3000, MAX_FN_DEPTH = 32 };
struct memo {
    expr e;
    int reg, next, fn;
};
struct symbind {
    const struct sym *sym;
    int reg, level;
    bool changes;
}; /* changes: set by more than one statement */

struct comp {
    struct run *run;
    struct arena *arena;
    struct unit *u;
    const struct proc *proc;
    struct level *levels; /* [MAX_LEVELS] */
    int cur, cond, depth;
    const struct stmt *stmt;
    VEC(struct symbind) syms;
    VEC(const struct var *) units; /* open loops of extent 1: no code, the variable is 0 */
    VEC(union reg) init;
    struct map const_regs, slot_of, set_once, set_again; /* symbols with one, with more size statements */
    VEC(struct memo) memo;                               /* nodes computed in this statement, newest last */
    int heads[MEMO_HEADS];
    int fn, fn_count, fn_depth; /* which inlined function body; its arguments */
    const int *fn_args;
    jmp_buf fail;
};
_Noreturn void comp_fail(struct comp *c, const char *fmt, ...) NN_PRINTF(2, 3);

/* An access: off = R[base] + R[var] * coef in buffer `slot`. */
struct access {
    int slot, base, var;
    int64_t coef;
};

/* ---- emitting */
int new_reg(struct comp *c);
int const_reg(struct comp *c, union reg v);
int empty_string_reg(struct comp *c);
int int_reg(struct comp *c, int64_t v);
/* Appends at the current place, and at loop level `level` (its body here, or right before the loop that encloses here).
 */
int emit(struct comp *c, struct ins i);
void emit_at(struct comp *c, int level, struct ins i);
int here(struct comp *c);             /* position in the current code, for jumps */
void patch(struct comp *c, int jump); /* the jump at that position goes to here */
int site(struct comp *c, const struct buf *b, int dim);

/* ---- compile.c */
int slot_for(struct comp *c, const struct buf *b);
struct symbind *sym_find(struct comp *c, const struct sym *s);
int sym_level(struct comp *c, const struct sym *s);
/* Bounds checks and offset of buf[idx]. skip_checks: bit per dim that needs none (tested already). */
struct access access_to(struct comp *c, int slot, const expr *idx, int n, uint64_t skip_checks);
/* Dims of the access that are not proved in range by constant intervals. */
uint64_t unproved_dims(struct comp *c, int slot, const expr *idx, int n);
int dim_reg(struct comp *c, int slot, int d);
bool is_unit(struct comp *c, const struct var *v);
int index_reg(struct comp *c, expr e); /* value of an index expression, hoisted as far as it goes */
int emit_load(struct comp *c, struct access a, int dst);
void emit_store(struct comp *c, struct access a, int src);

/* ---- expr.c */
int expr_reg(struct comp *c, expr e);
int expr_here(struct comp *c, expr e); /* computes e at the current place, without memo and hoisting of e itself */
/* Level that e depends on; c->cur when it must be computed in place (loads, guards). *pure tells which. */
int level_of(struct comp *c, expr e, bool *pure);
int typed_op(struct comp *c, enum xop op, enum dtype t);
uint16_t reg_width(enum dtype value); /* bytes of a register that counts, for instructions that move it */
int memo_mark(struct comp *c);
void memo_release(struct comp *c, int mark);
static inline bool is_wide(enum dtype value) { return value == C128 || value == STR; }
#endif
