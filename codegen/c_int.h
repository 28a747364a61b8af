/* Internals of the C and CUDA printers: the state while one function is printed, and what their files provide to each
 * other. In order: each file uses those above it, except that the files for expressions (c_expr.c, c_index.c, c_load.c)
 * use each other, and those for statements (c_stmt.c, c_grid.c, c_parallel.c). */
#ifndef NN_CODEGEN_C_INT_H
#define NN_CODEGEN_C_INT_H
#include "codegen/prelude.h"
#include "ir/expr/precedence.h"
#include "lower/memory/local_memory.h"

enum { MAX_LANES_LOG = 6 };

/* A name in scope. level: of the function that declares it (0: the kernel, 1: an outlined loop in it ...). */
struct sym_name {
    const char *name, *decl;
    int level;
    int place; /* position among all declarations */
    bool used;
    const struct buf *buf;
};
struct name_list {
    struct sym_name **v;
    int n, cap;
};
/* A pointer into a buffer: base plus a set of terms. n == 0: the buffer itself. */
struct ptr {
    const struct buf *buf;
    int n;
    expr *atoms;
    int64_t *coefs;
    struct sym_name *sn;
};

/* A register buffer: its cells as separate variables, or (array) as a local array. */
struct reg_piece {
    int64_t cell;
    int lanes;
    struct sym_name *sn;
    bool loaded;
};
struct regs {
    const struct buf *buf;
    bool array;
    int64_t ncells;
    int *of_cell;
    VEC(struct reg_piece) pieces;
};

/* A value that occurs in a run of statements. The run is printed twice: first to count, then values that occur more
 * than once get a name. Values in the lazy arm of a select belong to its own scope. */
struct inst {
    expr e;
    int splat, uses;
    const char *name;
    VEC(struct buf *) reads;
};
struct vscope {
    struct vscope *up;
    struct map active;
    VEC(struct inst *) list;
    struct text *out;
    int depth;
    bool named;
};
struct run {
    int pass;
    VEC(struct inst *) insts;
    int at;
    VEC(bool) forms;
    int form_at;
    struct vscope *scope, *root;
};

/* What C, CUDA, and the entry print differently; everything else is common. */
struct fe;
struct dialect {
    const char *index; /* C type of loop variables, and of sizes */
    bool wide;         /* it is also the type of the widest integers, so that they need no cast */
    bool orders;       /* operands are printed in the order that a reader expects (c_order.c) */
    bool names_values; /* values and indices used in several statements get names */
    const char *(*size)(struct fe *f, const struct sym *s);
    struct piece (*sum)(struct fe *f, expr e); /* of indices, as are products */
    struct piece (*product)(struct fe *f, expr e);
    struct piece (*load)(struct fe *f, expr e);
    /* Scalar operations without an operator in C. */
    struct piece (*call)(struct fe *f, enum xop op, enum dtype type, struct piece a, struct piece b);
    const char *(*condition)(struct fe *f, expr e);                  /* the inside of parentheses */
    const char *(*bound)(struct fe *f, expr e);                      /* an index, as operand of a comparison */
    void (*print[S_KIND_COUNT])(struct fe *f, const struct stmt *s); /* NULL: such statements do not occur */
};

struct fe {
    struct ctx *c;
    const struct dialect *d;
    struct entry *entry; /* entry_int.h; NULL in kernels */
    const struct emit_options *o;
    struct emit_uses *u;
    const struct proc *p;
    const char *fname;
    struct text *out;
    int depth, level, declared;
    struct names names;
    struct map vars, syms, bufs, regs; /* var, sym, buf -> sym_name; buf -> regs */
    VEC(struct ptr *) ptrs;
    struct name_list *captures;         /* of the outlined function being printed */
    struct text *outlined;              /* functions printed before the kernel */
    struct sym_name *fault, *ws, *pool; /* parameters that only some procedures have */
    expr ws_top;                        /* bytes of scratch in use */
    const struct var *loop;             /* the innermost loop being printed */
    const struct var *tile;             /* the loop whose body keeps a tile of sums in registers; NULL: none */
    const struct var *lane;             /* of the vector statement being printed, else NULL */
    int width;
    const struct var *lanes[MAX_LANES_LOG + 1]; /* [log2 of width] the lane variable of all vector statements of that
                                                 * width */
    struct map dep[MAX_LANES_LOG + 1];          /* expr -> does it depend on the lane */
    struct map safe;                            /* expr -> harmless to compute even if not needed */
    struct run *run;
    const struct instr_row
        *held;              /* an instruction of the function being printed that has texts for its beginning and end */
    struct sym_name **args; /* of the IR function being printed (X_ARG) */
    int arg_lanes;
    const char *idx;        /* C type of indices */
    const int64_t *threads; /* [3] of a CUDA block, if block and thread loops are those of the hardware; otherwise
                             * NULL */
};

/* ---- c_scope.c */
void c_start(struct fe *f, struct ctx *c, const struct emit_options *o, const struct dialect *d);
void c_put(struct fe *f, const char *line);
void c_line(struct fe *f, const char *fmt, ...) NN_PRINTF(2, 3);
const char *c_ref(struct fe *f, struct sym_name *n);
struct sym_name *c_declare(struct fe *f, const char *base, const char *decl);
const char *c_loop_name(const struct var *v);                             /* the last part of the loop's name */
struct regs *c_regs(struct fe *f, const struct buf *b);                   /* its variables; NULL: it is in memory */
struct piece c_applied(struct fe *f, const char *fn, struct piece v);     /* fn(v) */
struct piece c_converted(struct fe *f, const char *type, struct piece v); /* (type)v */
struct piece c_chosen(struct fe *f, struct piece cond, struct piece a, struct piece b); /* cond ? a : b */
const char *paren(struct fe *f, struct piece v, enum prec most); /* its text, in parentheses if it binds weaker */

/* ---- c_order.c: order of terms and factors; < 0: a first, 0: the same */
int c_before(struct fe *f, expr a, expr b);
struct terms {
    int n;
    int64_t konst;
    expr *atom;
    int64_t *coef;
};
struct terms c_terms(struct fe *f, expr e);      /* of a sum, in order */
int c_factors(struct fe *f, expr e, expr **out); /* of a product, in order */
struct terms c_sorted(struct fe *f, int64_t konst, const expr *atoms, const int64_t *coefs, int n);

/* ---- c_expr.c */
/* A value; lanes > 1: as a vector of that many (splat when it is the same in all). */
struct piece c_value(struct fe *f, expr e, int lanes);
struct piece c_index(struct fe *f, expr e);
bool on_lane(struct fe *f, expr e);
/* The lane variable of all vector statements that have as many lanes as v. */
const struct var *c_lane(struct fe *f, const struct var *v);
/* Prints twice: `print` with pass 1 (counting), then pass 2 (text). */
void c_run(struct fe *f, void (*print)(struct fe *f, void *env), void *env);
void c_forget(struct fe *f, const struct buf *b);     /* b was stored to: named values that read it are stale */
bool opaque_atom(expr e);                             /* contains loads or guards, so it is only computed where it is
                                                       * used */
const char *c_text(struct fe *f, expr e, bool index); /* outside of runs */
const char *c_bound(struct fe *f, expr e);            /* an index, as operand of a comparison or a sum */
struct piece c_fill_value(struct fe *f, const struct buf *b, int lanes);

/* ---- c_index.c */
struct piece c_print_index(struct fe *f, expr e);
struct piece c_integer(struct fe *f, int64_t v); /* of 64 bits */
struct piece c_print_sum(struct fe *f, expr e);
struct piece c_print_product(struct fe *f, expr e);
const char *c_size_name(struct fe *f, const struct sym *s);
struct piece c_call(struct fe *f, enum xop op, enum dtype type, struct piece a, struct piece b);
void c_add_ptr(struct fe *f, const struct buf *b, struct sym_name *sn, int n, expr *atoms, int64_t *coefs);
/* The pointer in scope that covers most of these terms; NULL if the buffer has none. Removes the covered terms from the
 * list. */
struct ptr *c_cover(struct fe *f, const struct buf *b, expr *atoms, int64_t *coefs, int *n);
/* Where a cell is: pointer name, the rest of the index ("" when 0) and the stride along the lane (0: same cell). */
struct place {
    const char *base;
    struct piece rest;
    bool zero;
    int64_t k;
    bool linear;
};
struct place c_place(struct fe *f, const struct buf *b, const expr *idx);
struct place c_place_at(struct fe *f, const struct buf *b, expr off); /* off in cells */
const char *c_cell(struct fe *f, const struct place *p);              /* base[rest] */
const char *c_address(struct fe *f, const struct place *p);           /* base + rest */
/* Text of an index sum of some terms. */
struct piece c_sum(struct fe *f, int64_t konst, const expr *atoms, const int64_t *coefs, int n);
/* The variable of a register cell; NULL when the buffer is an array. *element: >= 0: that lane of a vector variable. */
struct reg_piece *c_piece(struct fe *f, const struct buf *b, const expr *idx, int *element);
struct reg_piece *c_piece_at(struct fe *f, const struct buf *b, expr off, int *element);

/* ---- c_load.c */
struct piece c_print_load(struct fe *f, expr e);
struct piece c_lane_by_lane(struct fe *f, expr e); /* for operations without a vector instruction */
/* If e loads a 16-bit float that is only stored again in the same type, gives its code unconverted; false: it does
 * not. */
bool c_code(struct fe *f, enum dtype storage, expr e, struct piece *out);
expr c_guards_exist(struct fe *f, const expr *idx, int n); /* the condition that the access is valid for these sizes;
                                                            * true: for all */
struct piece c_storage(struct fe *f, const struct buf *b, struct piece v); /* a value as it is stored in b's cells */

/* ---- c_instr.c */
int c_instr_lanes(const struct stmt *s, const char *hole);
expr c_instr_place(struct fe *f, const struct stmt *s, int k); /* offset of operand k in the thread's registers */
void c_print_instr(struct fe *f, const struct stmt *s);
const char *c_holding(struct fe *f, const char *body); /* a function's body, with the state that it holds */

/* ---- c_foreign.c */
expr c_foreign_place(struct fe *f, const struct stmt *s, int k); /* where operand k begins */
void c_print_foreign(struct fe *f, const struct stmt *s);
/* ", x, n": the function's arguments. */
const char *c_foreign_args(struct fe *f, const struct stmt *s);

/* ---- c_regs.c */
void c_find_registers(struct fe *f);
/* Declares the variables of a register buffer. home: the block where it is alive. */
void c_declare_registers(struct fe *f, const struct buf *b, struct regs *r, const struct block *home);

/* ---- c_mem.c */
/* home: the block where it is alive. */
void c_print_alloc(struct fe *f, struct buf *b, const struct block *home);

/* ---- c_ptrs.c */
/* Called around the printing of a loop's body; close writes the declarations of the pointers that the body used. */
void c_open_pointers(struct fe *f, const struct var *v, const struct block *body, int *mark);
void c_close_pointers(struct fe *f, int mark);

/* ---- c_stmt.c */
extern const struct dialect c_dialect, cuda_dialect;
void c_block(struct fe *f, const struct block *b);
void c_branch(struct fe *f, const struct block *b); /* a block between braces */
void c_print_for(struct fe *f, const struct stmt *s);
void c_print_if(struct fe *f, const struct stmt *s);
void c_print_comment(struct fe *f, const struct stmt *s);
void c_print_nothing(struct fe *f, const struct stmt *s);
void c_body(struct fe *f, const struct stmt *loop); /* of a loop, between its braces: pointers, statements */
const char *c_declare_var(struct fe *f, const struct var *v);

/* ---- c_parallel.c */
void c_print_parallel(struct fe *f, const struct stmt *loop);
void c_print_outlined(struct fe *f, const struct stmt *loop); /* the body as a function, and the call */

/* ---- c_grid.c */
void cuda_barrier(struct fe *f, const struct stmt *s);
void cuda_for(struct fe *f, const struct stmt *s); /* of a grid, or any other */

/* ---- c.c */
const struct dialect *c_dialect_of(const struct emit_options *o);
/* `head`, then the parameters in parentheses; first: a parameter before all others, or NULL. */
void c_head(struct text *out, struct fe *f, const struct proc *p, const char *head, const char *first);
void c_unused(struct text *out, struct fe *f); /* a line for each parameter that nothing uses */
const char *c_linkage(struct ctx *c, const char *name, const struct emit_options *o); /* "static void name(" */
void c_proc(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o);
/* One function with its tables and outlined loops before it; head: "void name(". */
void c_function(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o, const char *name,
                const char *head);

/* ---- cuda.c */
void cuda_proc(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o);
#endif
