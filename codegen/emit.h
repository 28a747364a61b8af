/* Writing program text: names, comments, strings, and what the printers of C and CUDA share.
 *
 * Takes scheduled procedures, gives text. Names and texts of a model reach the output only through the functions of
 * this file, so that no model can inject code. */
#ifndef NN_CODEGEN_EMIT_H
#define NN_CODEGEN_EMIT_H
#include "ir/loop/loop.h"
#include "ir/loop/target.h"

/* ---- names */
/* A valid C and C++ identifier for any text: not empty, no keyword, not reserved by the language, the C library or our
 * own prelude (`nn_...`), at most 48 characters. Names in capitals, which are for macros, become small. Not unique: see
 * `names_add`. */
const char *c_ident(struct ctx *c, const char *name);

/* Names used in the open scopes. A name becomes free when its scope ends. */
struct names {
    struct ctx *c;
    const char *avoid; /* names with this prefix, in any case, are changed: it belongs to functions and macros of the
                        * program */
    struct map taken;
    VEC(const char *) stack;
    bool unused; /* only names that were never used before: for a line that is inserted before existing text */
};
void names_init(struct names *n, struct ctx *c);
/* c_ident(name), with a number if needed to make it unique; marks it as used. */
const char *names_add(struct names *n, const char *name);
void names_take(struct names *n, const char *ident);           /* an identifier that c_ident has made */
const char *names_numbered(struct names *n, const char *base); /* base0, base1 ...: the first that is free */
int names_mark(const struct names *n);
void names_leave(struct names *n, int mark); /* forgets the names added since the mark */

/* ---- texts */
/* Text for the inside of a comment: cannot end it, and contains no trigraphs, line ends, control or non-ASCII
 * characters; cut after 2,000 characters. */
void emit_comment_text(struct text *out, const char *s);
/* A string literal with its quotes. Bytes that are not printable ASCII, and ?, become octal escapes, which avoids
 * trigraphs. */
void emit_string(struct text *out, const char *s, size_t n);
/* An initialiser of `const char *` in C; beyond 4,095 bytes, the longest literal that C99 compilers must accept, an
 * array of characters. */
void emit_chars(struct text *out, const char *s, size_t n);
/* A literal of at most n bytes, ending in `...` if it was cut. */
void emit_cut_string(struct text *out, const char *s, size_t n);
/* The same as a text for messages; "NULL" for NULL. */
const char *emit_message(struct ctx *c, const char *s);
/* Starts a line: 4 spaces per level. */
void emit_indent(struct text *out, int depth);
/* Breaks the lines of t, the whole text of a file, that exceed 120 columns (wrap.c). */
void emit_wrap(struct text *t);

/* ---- programs */
/* What the printed procedures need from the prelude: types, helpers, functions. One object for all procedures of a
 * program (or of one of its files). */
struct emit_uses;
struct emit_uses *emit_uses_new(struct ctx *c);

struct emit_options {
    const struct target *target;
    const char *prefix;        /* before every name of a procedure; NULL: none */
    const char *shared_prefix; /* before names that all variants of a program share; NULL: none */
    bool c99_strict;           /* scalar C99 without extensions, whatever the target offers */
    bool external;             /* procedures get external linkage (else `static`) */
    bool no_schedule;          /* leaves the schedule out of the comment above a kernel */
    struct emit_uses *uses;    /* required */
};
/* Prints procedure p as one C function, preceded by outlined loops and constant tables. Parameters in order: buffers
 * (`const float *restrict x`), sizes, `void *restrict ws` if scratch_bytes is not 0, `int *fault` if proc_may_fault,
 * `nn_threads *threads` if proc_is_parallel. p is not changed. */
void emit_proc(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o);
/* Only the function's head, without `;`: for declarations. */
void emit_proc_head(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o);
/* The C name of p, unique in the program. */
const char *emit_proc_name(struct ctx *c, const struct proc *p, const struct emit_options *o);
/* What kernels call of a foreign operator. */
struct foreign;
const char *emit_foreign_name(struct ctx *c, const struct foreign *f, const struct emit_options *o);
/* Bytes that `ws` needs (alignment 64): an index expression over the procedure's symbols; 0 if there is no `ws`. */
expr scratch_bytes(struct ctx *c, const struct proc *p);
/* What must precede the procedures printed with these options: includes, types, helpers, functions of the IR. */
void emit_prelude(struct text *out, const struct emit_options *o);
void emit_end(struct text *out, const struct emit_options *o); /* and what must follow them */
/* Compiler flags for the printed text besides optimisation: "-std=c99" or "-std=gnu99" and the target's. */
void emit_cflags(struct text *out, const struct emit_options *o);
#endif
