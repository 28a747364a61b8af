/* The loop IR: statements, buffers, procedures. From `stage` statements (what an op computes) to scheduled loops (how).
 *
 * A module is a whole program: an entry procedure that allocates, computes sizes, branches and calls kernels, and the
 * kernels themselves; one procedure type for both. Text form, grammar and rules: docs/loop-ir.md. loop_print/loop_parse
 * round-trip, loop_verify states what is legal, loop_eval is the meaning. */
#ifndef NN_IR_LOOP_H
#define NN_IR_LOOP_H
#include "ir/base/tensor.h"
#include "ir/base/vec.h"
#include "ir/expr/buf.h"
#include "ir/graph/holder.h"
#include "ir/graph/trace.h"

enum loop_kind {
    LK_SERIAL,
    LK_PARALLEL,
    LK_VECTOR,
    LK_UNROLL,
    LK_BLOCK_X,
    LK_BLOCK_Y,
    LK_BLOCK_Z,
    LK_THREAD_X,
    LK_THREAD_Y,
    LK_THREAD_Z,
    LK_COUNT
};
const char *loop_kind_name(enum loop_kind k);
/* Reduction operators of stages and of store updates. */
/* RED_NMAX, RED_NMIN: of floats; NaN if one of them is, whereas RED_MAX and RED_MIN leave NaN out. */
enum red_op { RED_NONE, RED_SUM, RED_PROD, RED_MAX, RED_MIN, RED_NMAX, RED_NMIN, RED_AND, RED_OR, RED_COUNT };
const char *red_op_name(enum red_op r); /* "+" "*" "max" "min" "nmax" "nmin" "and" "or" */
static inline bool red_keeps_nan(enum red_op r) { return r == RED_NMAX || r == RED_NMIN; }
static inline bool red_picks(enum red_op r) {
    return r >= RED_MAX && r <= RED_NMIN;
} /* the result is one of the cells */
/* The neutral element, as it can be stored: the least i8 is -128, although it is computed as i32. */
expr red_identity(struct ctx *c, enum red_op r, enum dtype stored);
expr red_apply(struct ctx *c, enum red_op r, expr acc, expr v);

enum stmt_kind {
    S_FOR,
    S_STORE,
    S_IF,
    S_ALLOC,
    S_FREE,
    S_STAGE,
    S_SIZE,
    S_CALL,
    S_WHILE,
    S_CHECK,
    S_INSTR,
    S_BARRIER,
    S_PREFETCH,
    S_SWAP,
    S_VIEW,
    S_BIND,
    S_FOREIGN,
    S_COMMENT
};
enum { S_KIND_COUNT = S_COMMENT + 1 };

struct stmt;
struct block {
    struct stmt *first, *last;
    struct stmt *owner;
}; /* owner NULL: a procedure's body */

struct instr_row; /* ir/loop/target.h */
struct foreign;   /* ir/loop/foreign.h */
struct proc;
struct instr_operand {
    const char *hole;
    struct buf *buf;
    expr off;
};
/* The slice of a buffer that a function gets: all cells whose leading n indices are idx[first], ..., idx[first + n -
 * 1]; n 0: the whole buffer. */
struct foreign_operand {
    struct buf *buf;
    int first, n;
};
struct stmt {
    enum stmt_kind kind;
    struct stmt *prev, *next;
    struct block *in; /* the block that holds it */
    union {
        struct {
            const struct var *var;
            enum loop_kind kind;
            bool outline, piped;
            bool independent, assumed; /* iterations may run in any order; assumed: this was declared, not proved */
            int64_t grain;             /* parallel: the number of iterations worth a thread; 0: one */
            int64_t slices;            /* parallel: the number of slices with separate scratch memory; 0: iterations
                                        * have none */
            struct block body;
        } loop; /* name and extent: var's */
        struct {
            struct buf *buf;
            int n;
            expr *idx;
            enum red_op op;
            expr value;
        } store; /* op RED_NONE: plain */
        struct {
            expr cond;
            struct block then, other;
        } cond;
        struct {
            struct buf *buf;
        } alloc; /* lives to the end of its block (also S_FREE, regions only; S_BIND, results only) */
        struct { /* buf[axes] = value; with op: reduced over red axes from init */
            struct buf *buf;
            int naxes, nred;
            const struct var **axes, **red;
            enum red_op op;
            expr init, value; /* init NULL: the identity */
        } stage;
        struct {
            const struct sym *sym;
            expr lo, hi, value;
        } size; /* value: IDX (may hold loads via TOIDX) */
        struct {
            struct proc *callee;
            int nbufs, nargs;
            struct buf **bufs;
            expr *args;
            const char *origin; /* the node of the model to which its faults are attributed; NULL: the one in the
                                 * callee's comment */
        } call;                 /* bufs bind params, args bind syms, in order */
        struct {
            expr cond, max;
            struct block body;
        } loop_while; /* tested before each pass; max NULL: cfg fuel only */
        struct {
            expr cond;
            const char *fault, *origin;
        } check; /* false: the program stops with the named fault */
        struct {
            const struct instr_row *row;
            int n;
            struct instr_operand *holes;
            struct block body;
        } instr;
        struct {
            struct buf *buf;
            expr off;
        } prefetch;
        struct {
            struct buf *a, *b;
        } swap; /* contents change places (carried values at the back edge) */
        struct {
            struct buf *buf, *of;
            expr off;
        } view;  /* buf is the storage of `of`, from cell `off` on; entry only. Text: `view y: f32[4] arena of x+off` */
        struct { /* a foreign function; grid: blocks along x, y, z, then threads, of its GPU body, or none */
            struct foreign *fn;
            int nops, nidx, nargs, ngrid;
            struct foreign_operand *ops;
            expr *idx, *args, *grid; /* args: its numbers, integers of type IDX */
        } foreign;
        struct {
            const char *text;
        } comment;
    } u;
};

/* What a procedure does with a parameter; the verifier checks it against the body. */
enum param_dir { DIR_IN, DIR_OUT, DIR_INOUT };
struct param {
    struct buf *buf;
    enum param_dir dir;
};
/* A procedure that the host launches on a GPU, as a grid of blocks of threads, or in a single thread. */
struct launch {
    bool grid;
    expr blocks[3];     /* along x, y, z */
    int64_t threads[3]; /* in a block */
};
struct proc {
    const char *name, *comment;   /* comment: the ONNX nodes it came from, for the printer; may be NULL */
    VEC(struct param) params;     /* buffers, scope SC_PARAM */
    VEC(const struct sym *) syms; /* sizes passed by the caller */
    VEC(struct buf *) bufs;       /* all buffers, params first */
    struct map names, numbers;    /* of bufs: name -> buffer; base -> least number that may be unused; see buf_new */
    struct block body;
    VEC(const char *) steps;       /* the schedule steps applied so far, as text */
    VEC(const char *) todo;        /* steps listed by a text for this procedure, not applied yet */
    const struct proc *before;     /* the kernel before its first step; NULL: not kept */
    const struct problem *problem; /* what the kernel computes (lower/problem/), as seen by its schedule; NULL: it was
                                    * not scheduled */
    bool is_kernel_text;           /* from templates/kernels: the body has general loops */
    const struct launch *launch;   /* NULL: it is called like a C function */
    bool lifted;                   /* an entry whose values are computed by procedures, so that proofs no longer see
                                    * them */
    uint64_t verified;             /* fingerprint of what the verifier has accepted; 0: nothing yet */
};
struct lowered; /* lower/lower.h */
struct module {
    struct ctx *ctx;
    VEC(struct proc *) procs;   /* kernels, in order of first call */
    struct proc *entry;         /* NULL in texts of single kernels */
    VEC(const struct fn *) fns; /* functions used */
    holders taken, given;       /* which inputs and outputs of the entry form one value */
    states kept;                /* inputs of the entry that the next run takes from outputs */
    sources sources;            /* what became of the model's nodes */
    const struct lowered *from; /* the graph; NULL: the module was read from text */
};

/* ---- building */
struct module *module_new(struct ctx *c);
struct proc *proc_new(struct ctx *c, const char *name);
struct buf *buf_new(struct ctx *c, struct proc *p, const char *name, enum dtype type, enum scope scope,
                    const expr *dims, int nd);
/* Gives `to`, which has from's logical dims, from's physical form; map expressions use to's own logical variables.
 * sizes: what from's symbols are for `to`; NULL: the same. */
void buf_take_layout(struct ctx *c, struct buf *to, const struct buf *from, struct subst *sizes);
struct buf *proc_param(struct ctx *c, struct proc *p, const char *name, enum dtype type, enum param_dir dir,
                       const expr *dims, int nd);
struct buf *proc_buf(const struct proc *p, const char *name); /* NULL if none */
void proc_drop_buf(struct proc *p, struct buf *b);
int proc_param_at(const struct proc *p, const struct buf *b); /* -1: it is not a parameter */
void proc_drop_param(struct proc *p, int k);                  /* along with its buffer */
void proc_drop_bufs(struct proc *p, const struct map *which); /* the keys */
struct stmt *s_for(struct ctx *c, const struct var *v, enum loop_kind k);
/* A nest of serial loops over the variables, the first outermost, around s. */
struct stmt *s_nest(struct ctx *c, const struct var *const *vars, int n, struct stmt *s);
struct stmt *s_store(struct ctx *c, struct buf *b, const expr *idx, int n, enum red_op op, expr value);
struct stmt *s_if(struct ctx *c, expr cond);
struct stmt *s_alloc(struct ctx *c, struct buf *b);
struct stmt *s_stage(struct ctx *c, struct buf *b, const struct var **axes, int naxes, enum red_op op,
                     const struct var **red, int nred, expr init, expr value);
struct stmt *s_new(struct ctx *c, enum stmt_kind k); /* zeroed; for the other kinds */
void block_append(struct block *b, struct stmt *s);
void stmt_insert_before(struct stmt *at, struct stmt *s);
void stmt_insert_after(struct stmt *at, struct stmt *s);
void stmt_remove(struct stmt *s); /* unlink */
/* Appends all statements of `from`, which may be a copy returned by value, to `to`; from is emptied. */
void block_move(struct block *to, struct block *from);
void block_move_before(struct stmt *at, struct block *from); /* the same, in front of a statement */
/* Replaces s by the statements of `body` (body is emptied, s unlinked). */
void stmt_replace(struct stmt *s, struct block *body);
struct stmt *stmt_parent(const struct stmt *s); /* enclosing statement or NULL */
/* The only statement of a block; NULL: there are none, or several. */
static inline struct stmt *block_only(const struct block *b) { return b->first == b->last ? b->first : NULL; }

/* ---- the parts of a statement, not counting the contents of its blocks (from the table in ir/loop/kinds.h) */
/* The blocks of a statement: 0, 1 or 2 of them; the k-th one, NULL: there are not that many. */
int stmt_blocks(struct stmt *s, struct block *out[2]);
const struct block *stmt_block(const struct stmt *s, int k);
/* The k-th variable that it defines, and the k-th expression in it, which may be missing (*NULL); NULL: there are not
 * that many. Extents belong to their variables. */
const struct var **stmt_var(struct stmt *s, int k);
expr *stmt_expr(struct stmt *s, int k);
/* The expressions that are not missing, extents first. */
void stmt_exprs(const struct stmt *s, void (*fn)(void *env, expr e), void *env);
/* What a statement does with a buffer that it names: a set, possibly empty, as for the buffer that a view refers to. An
 * instruction names its operands; its body says what it does with them. */
enum buf_use { BU_READ = 1, BU_WRITTEN = 2, BU_BEGINS = 4, BU_ENDS = 8, BU_MOVED = 16 };
struct named_buf {
    struct buf *buf;
    unsigned use;
};
/* The k-th buffer that it names, not counting those its expressions load from; false, NULL: there are not that many. */
bool stmt_buf(const struct stmt *s, int k, struct named_buf *out);
struct buf **stmt_buf_at(struct stmt *s, int k);
/* Copies its arrays, as needed for a copied statement. */
void stmt_own_arrays(struct ctx *c, struct stmt *s);

/* ---- walking and rewriting */
/* Every statement, parents first; fn returns false to skip its blocks. Instructions' reference bodies are walked too
 * unless `fn` returns false for the instruction. fn must not unlink other statements than s. */
void walk(struct block *b, bool (*fn)(void *env, struct stmt *s), void *env);
void walk_stmt(struct stmt *s, bool (*fn)(void *env, struct stmt *s), void *env); /* s and everything in it */
/* The same for callers that do not change anything. */
void survey(const struct block *b, bool (*fn)(void *env, const struct stmt *s), void *env);
void survey_stmt(const struct stmt *s, bool (*fn)(void *env, const struct stmt *s), void *env);
/* Rebuilds every expression below b with x_map(fn), in place, including the geometry of buffers allocated there.
 * Extents are not rewritten in place: loops whose extent changes get a new variable. `if`s with constant conditions
 * collapse; loops of extent 0 disappear, and so do loops and `if`s that become empty. */
void map_exprs(struct ctx *c, struct block *b, expr (*fn)(void *env, expr e), void *env);
void map_proc(struct ctx *c, struct proc *p, expr (*fn)(void *env, expr e), void *env); /* its parameters, too */
void subst_block(struct ctx *c, struct block *b, const struct subst *s);
/* The values that a call passes for the symbols of p. */
struct subst call_sizes(struct ctx *c, const struct proc *p, const struct stmt *call);
/* Deep copy with new loop variables; buffers and symbols are shared. Use block_move or stmt_replace on the result,
 * never plain assignment, because statements point to the block that contains them. */
struct block clone_block(struct ctx *c, const struct block *b);
struct proc *clone_proc(struct ctx *c, const struct proc *p, const char *name); /* fresh buffers too */
/* Every load below b, or in s: each occurrence in each statement. */
void each_load(const struct block *b, void (*fn)(void *env, const struct stmt *s, expr load), void *env);
void stmt_loads(const struct stmt *s, void (*fn)(void *env, const struct stmt *s, expr load), void *env);
/* Views: `views` gets view -> the viewed buffer, for use by storage_of, which gives the buffer that has the memory of
 * b. */
void note_views(struct map *views, const struct block *b);
struct buf *storage_of(struct map *views, struct buf *b);
/* Does s, or anything in it, load from the storage of b, which is not a view; or use it at all? views NULL: there are
 * none. */
bool stmt_reads(const struct stmt *s, const struct buf *b, struct map *views);
bool stmt_uses(const struct stmt *s, const struct buf *b, struct map *views);
/* Can it set the fault flag or stop the program: does it contain a check, a size, a guarded index? */
bool stmt_may_fault(const struct stmt *s);
bool proc_may_fault(const struct proc *p);
bool proc_is_parallel(const struct proc *p); /* does it, or a callee, have a parallel loop? */
/* A map or a plain store: its cells are written once, not accumulated. */
bool stmt_writes_once(const struct stmt *s);
/* Is there a statement that stores to `buf`? */
bool stores_to(const struct block *b, const struct buf *buf);
bool stmt_stores_to(const struct stmt *s, const struct buf *buf);
/* Replaces S_STAGE by its loop nests (init nest, update nest), with loops named "<buffer base>.<axis>". Axes are
 * logical dims: the buffer's layout, if it has one already, is applied. */
void lower_stages(struct ctx *c, struct proc *p);

/* ---- text (loop_print.c, loop_parse.c) */
void loop_print(struct text *out, const struct module *m);
void proc_print(struct text *out, struct ctx *c, const struct proc *p);
/* The type, sizes and layout of a buffer of p, as printed at its allocation. */
void buf_print(struct text *out, struct ctx *c, const struct proc *p, const struct buf *b);
/* For diagnostics: a statement's own line, and an expression as it reads at that statement; cut to about 120
 * characters. */
const char *stmt_text(struct ctx *c, const struct proc *p, const struct stmt *s);
const char *expr_text(struct ctx *c, const struct proc *p, const struct stmt *s, expr e);
/* NULL after syntax errors, which are recorded with file:line. Constants without data are allowed. */
struct module *loop_parse(struct ctx *c, const char *text, size_t n, const char *file);
/* The same, adding to m, whose functions and procedures the text may use. false after errors (m is then unusable). */
bool loop_parse_into(struct ctx *c, struct module *m, const char *text, size_t n, const char *file);
/* Finds instruction rows by name for the parser; set by the code that has the rows. If unset, or if it returns NULL,
 * the statement gets a row that only has the name. */
extern const struct instr_row *(*nn_find_instr)(const char *name);
/* The same for foreign functions: if there is none, the statement gets a row derived from the statement itself. */
extern _Thread_local struct foreign *(*nn_find_foreign)(const char *name);

/* ---- rules (ir/verify/loop.c): records diagnostics; true if none. `after`: name of the pass or step, for the message.
 */
bool loop_verify(struct module *m, const char *after);
bool proc_verify(struct module *m, struct proc *p, const char *after);
/* Also checks what only holds after all steps: register buffers are indexed by loops that the printer unrolls (V7). */
bool proc_verify_final(struct module *m, struct proc *p, const char *after);
/* Adds run-time checks for what cannot be proved about p (ir/verify/guard.c); true if p is valid with them. An index
 * that may be out of range gets a guard; sizes that a call needs to be equal, or in a range, get a preceding `check`.
 * origin_of: the model's node that a call belongs to. */
bool proc_guard(struct module *m, struct proc *p, const char *after,
                const char *(*origin_of)(void *env, const struct stmt *call), void *env);
#endif
