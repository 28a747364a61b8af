/* Writing program text: names, comments, strings, and what the printers of C and CUDA share.
 *
 * Last stage but one on the way from model to source: takes scheduled procedures, gives text. Names and texts of a
 * model reach the output through the functions of this file only, so that no model can write code. */
#ifndef NN_CODEGEN_EMIT_H
#define NN_CODEGEN_EMIT_H
#include "ir/loop/loop.h"
#include "ir/loop/target.h"

/* ---- names */
/* A valid C and C++ identifier for any text: no keyword, no name reserved by the language, the C library or our own
 * prelude (`nn_...`), not empty, at most 48 characters; names in capitals, which belong to macros, become small. Not
 * unique: see `names_add`. */
const char *c_ident(struct ctx *c, const char *name);

/* Names taken in the scopes that are open. A name is free again when its scope was left. */
struct names {
    struct ctx *c;
    const char *avoid; /* a name that begins so, in any case, gets another one: functions and macros of the program */
    struct map taken;
    VEC(const char *) stack;
    bool unused; /* only names that nothing had yet: for a line that goes in front of text that is there already */
};
void names_init(struct names *n, struct ctx *c);
/* c_ident(name), made unique among the names taken by a number; it is taken from now on. */
const char *names_add(struct names *n, const char *name);
void names_take(struct names *n, const char *ident);           /* an identifier that c_ident made already */
const char *names_numbered(struct names *n, const char *base); /* base0, base1 ...: the first that is free */
int names_mark(const struct names *n);
void names_leave(struct names *n, int mark); /* forgets the names added since the mark */

/* ---- texts */
/* Text inside of a comment: cannot end it, holds no trigraph, no line end, no control and no non-ASCII character; cut
 * after 2,000 characters. */
void emit_comment_text(struct text *out, const char *s);
/* A string literal with its quotes; every byte that is not printable ASCII, and ?, is an octal escape: no trigraphs. */
void emit_string(struct text *out, const char *s, size_t n);
/* An initialiser of `const char *`, in C: beyond 4,095 bytes, which is what a C99 compiler must take in one literal, an
 * array of characters. */
void emit_chars(struct text *out, const char *s, size_t n);
/* A literal of at most so many bytes, with `...` where the rest was. */
void emit_cut_string(struct text *out, const char *s, size_t n);
/* The same as a text for messages; "NULL" for NULL. */
const char *emit_message(struct ctx *c, const char *s);
/* Starts a line: 4 spaces per level. */
void emit_indent(struct text *out, int depth);
/* Breaks the lines of t, a file's whole text, that are longer than 120 columns (wrap.c). */
void emit_wrap(struct text *t);

/* ---- programs */
/* What the printed procedures need from the prelude: types, helpers, functions. One object serves all procedures of a
 * program (or of one file of it). */
struct emit_uses;
struct emit_uses *emit_uses_new(struct ctx *c);

struct emit_options {
    const struct target *target;
    const char *prefix;        /* before every name of a procedure; NULL: none */
    const char *shared_prefix; /* before names that all variants of a program share; NULL: none */
    bool c99_strict;           /* scalar C99 without any extension, whatever the target offers */
    bool external;             /* procedures get external linkage (else `static`) */
    bool no_schedule;          /* leaves the schedule out of the comment above a kernel */
    struct emit_uses *uses;    /* required */
};
/* Prints procedure p as one C function, outlined loops and constant tables before it. Parameters in order:
 * buffers (`const float *restrict x`), sizes, `void *restrict ws` when scratch_bytes is not 0, `int *fault` when
 * proc_may_fault, `nn_threads *threads` when proc_is_parallel. p is not changed. */
void emit_proc(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o);
/* Only the function's head, without `;`: for declarations. */
void emit_proc_head(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o);
/* The C name of p, unique in the program. */
const char *emit_proc_name(struct ctx *c, const struct proc *p, const struct emit_options *o);
/* What kernels call of an operator that is not ours. */
struct foreign;
const char *emit_foreign_name(struct ctx *c, const struct foreign *f, const struct emit_options *o);
/* Bytes that `ws` must have (alignment 64), an index expression over the procedure's symbols; 0 when there is no `ws`.
 */
expr scratch_bytes(struct ctx *c, const struct proc *p);
/* What must stand before the procedures printed with these options: includes, types, helpers, functions of the IR. */
void emit_prelude(struct text *out, const struct emit_options *o);
void emit_end(struct text *out, const struct emit_options *o); /* and what must stand behind them */
/* Compiler flags for the printed text besides optimisation: "-std=c99" or "-std=gnu99" and the target's. */
void emit_cflags(struct text *out, const struct emit_options *o);
#endif
