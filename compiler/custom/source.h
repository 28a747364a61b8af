/* Private to compiler/custom/: what the parts of the reader share.
 *
 *   custom.c     options to files to rows
 *   clang.c      libclang itself
 *   read.c       a file by libclang: which function, its parameters
 *   comment.c    its comment: operator, shapes, attributes
 *   c_formula.c  a function of scalars as a formula
 */
#ifndef NN_COMPILER_CUSTOM_SOURCE_H
#define NN_COMPILER_CUSTOM_SOURCE_H
#include "compiler/custom/custom.h"
#include "lower/ops/foreign.h"

/* A position in a file, counted from 1. */
struct source_place {
    int line, column, width;
};
struct source {
    struct ctx *c;
    struct foreign_source *file;
    const char *wanted; /* the function; NULL: the one that the operator is named after, or the only one */
    const char *op;     /* the operator; NULL: the comment says it */
    void *tu;           /* CXTranslationUnit */
    const struct formula *(*function)(struct source *s, const char *name, const struct formula *const *args, int n,
                                      struct source_place at); /* a function of the file, on these; NULL: refused */
};
/* An error, or another message, at a place of the file, with its line. */
void source_error(struct source *s, struct source_place at, const char *fmt, ...) NN_PRINTF(3, 4);
void source_tell(struct source *s, enum severity severity, struct source_place at, const char *fmt, ...)
    NN_PRINTF(4, 5);

/* ---- comment.c */
struct comment {
    const char *op; /* NULL: not given */
    struct source_place op_at;
    const char *each;
    struct source_place each_at;
    const struct formula *grid[6];
    struct source_place grid_at; /* line 0: no grid is given */
    struct comment_attr {
        const char *name;
        bool has_default, optional;
        double value;
        const char *text;  /* the default of a text; NULL: a number */
        const char *count; /* of a list: the name of its length; NULL: not a list */
        struct source_place at;
    } attrs[32];
    int nattrs;
    struct comment_param {
        const char *name;
        struct source_place at;
        enum dtype type;     /* F16, BF16: the meaning of its 16 bits; NONE: the C type says it */
        const char *tensors; /* of a list of tensors: the name of their number */
        bool shaped, optional;
        int ndims;
        struct foreign_dim dims[FOREIGN_DIMS];
    } params[64];
    int nparams;
};
/* Parses the comment, which begins at `at` in the file. false: diagnostics. */
bool comment_read(struct source *s, const char *text, struct source_place at, struct comment *out);
/* The first unknown name of the formula; NULL: there is none. */
const char *formula_unnamed(const struct formula *f, bool (*known)(void *env, const char *name), void *env);

/* ---- read.c; NULL after diagnostics. The rows of one file: the operator, or, with --op-path, all that it defines. */
struct custom_op {
    struct foreign_op *op;
    struct op *row;
    const struct source *from;
    struct source_place at;
};
typedef VEC(struct custom_op) custom_op_list;
bool source_read(struct source *s, custom_op_list *out);

/* ---- custom.c */
const char *c_word(struct ctx *c, const char *s); /* letters and digits, the rest is _ */
#endif
