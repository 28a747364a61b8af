/* Internals of the printer of NAME.c: the state while the run function is printed, besides that of c_int.h, and what
 * its files provide to each other. */
#ifndef NN_CODEGEN_ENTRY_INT_H
#define NN_CODEGEN_ENTRY_INT_H
#include "codegen/c_int.h"
#include "codegen/program.h"

/* Where a buffer is while the run function is printed. */
struct entry_place {
    const char *text;
    bool is_const;
};
struct entry {
    struct program *p;
    struct text *top;   /* declarations at the head of the function */
    struct map places;  /* buffer -> struct entry_place */
    struct map touched; /* buffers that anything reads or writes */
    struct map swapped; /* buffers whose pointers change */
    struct map sizes;   /* produced symbols declared */
    struct map named;   /* symbols that the statements use */
    struct map args;    /* long sizes that are arguments -> name */
    int faults;         /* device: calls so far that may fault */
    const char *where;  /* device: their nodes */
    bool over;          /* something printed since it was set to false may overflow */
    bool inside;        /* what is printed cannot exceed a size that was checked before */
    bool uses_fault, uses_over, uses_arena, uses_fuel, uses_status;
};

/* ---- entry_run.c */
void entry_run(struct program *p, struct text *out); /* the function `run` */

/* ---- entry_buffers.c */
void run_touch(struct fe *f, const struct block *b); /* notes which buffers b uses, and how */
struct entry_place *run_place(struct fe *f, const struct buf *b);
void run_set_place(struct fe *f, const struct buf *b, const char *text, bool is_const);
/* Declares a pointer variable for b. */
const char *run_pointer(struct fe *f, const struct buf *b, const char *value, bool is_const);
/* Address of memory that exists only in a GPU's arena; b NULL: of the fault cells. */
const char *run_extra_address(struct fe *f, const struct buf *b, const char *type);
const char *run_scratch_address(struct fe *f); /* memory that the kernels need beyond the plan */
void run_alloc(struct fe *f, const struct stmt *alloc);
void run_view(struct fe *f, const struct stmt *s);
void run_bind(struct fe *f, const struct stmt *bind); /* allocates a result */
/* Text of e; what: its name in the error that is printed if it may overflow. */
const char *run_expr(struct fe *f, expr e, bool wrap, const char *what);
/* Index arithmetic in conditions must not overflow unnoticed either: the flag is tested afterwards. */
const char *run_condition(struct fe *f, expr e, bool wrap);
/* The same without a test: *over tells whether the flag `over` must be tested after it. */
const char *run_text(struct fe *f, expr e, bool wrap, bool *over);
void run_stop_if_over(struct fe *f, const char *what);

/* ---- entry_stmt.c */
extern const struct dialect entry_dialect;

/* ---- entry_expr.c */
struct piece entry_sum(struct fe *f, expr e);
struct piece entry_product(struct fe *f, expr e);
struct piece entry_call(struct fe *f, enum xop op, enum dtype type, struct piece a, struct piece b);
struct piece entry_load(struct fe *f, expr e);
const char *entry_size(struct fe *f, const struct sym *s);
#endif
