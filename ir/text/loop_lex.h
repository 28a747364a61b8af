/* Lines and tokens of loop IR text, and what the files of its parser provide to each other (loop_lex.c,
 * loop_parse*.c). */
#ifndef NN_IR_LOOP_LEX_H
#define NN_IR_LOOP_LEX_H
#include "ir/base/vec.h"
#include "ir/loop/loop.h"

enum { MAX_RANK = 32, MAX_NEST = 256, MAX_PARSE_ERRORS = 60 };

enum token_kind { T_END, T_NAME, T_QUOTED, T_INT, T_FLOAT, T_PUNCT };
struct token {
    enum token_kind kind;
    const char *s;     /* interned: the name, the contents of a quoted name, the punctuation */
    uint64_t i;        /* T_INT */
    double f, wide;    /* T_FLOAT: rounded to the number's own type; as f64 */
    enum dtype suffix; /* of a number; NONE: none */
    int line;
};
/* One logical line: a physical line, and those after it while brackets are open and they are indented deeper. */
struct line {
    int number, indent;
    bool comment;     /* a `//` line; its text is in `rest` */
    const char *rest; /* whole text after the indentation (first physical line) */
    size_t nrest;
    const char *remark; /* after `#`; NULL if none */
    size_t nremark;
    int at; /* next token */
};

/* B_DIM: d0, d1 ... inside a buffer's map. B_LET: a name for the one statement that follows. */
enum binding_kind { B_VALUE, B_DIM, B_LET, B_BUF };
struct binding {
    struct binding *outer, *below;
    const char *name;
    enum binding_kind kind;
    int serial;
    expr e;
    struct buf *buf;
};
struct pending_call {
    struct stmt *s;
    enum param_dir *dirs;
    int line;
};

struct parser {
    struct ctx *c;
    struct module *m;
    const char *text, *file;
    size_t n, pos;
    int next_line;  /* number of the physical line at pos */
    size_t code_at; /* position of the next line of code after the last comment, and its indentation + 2; 0: unknown */
    int code_indent;
    struct line l;
    bool have; /* l holds a line; false at the end of the text */
    VEC(struct token) tokens;
    bool failed; /* an error was recorded for this line */
    int errors, depth;
    struct map values, bufs; /* PKEY(interned name) -> innermost struct binding */
    struct binding *top;
    int serial;          /* grows with every statement: let names of earlier ones are gone */
    struct map measures; /* PKEY(expr) -> its height and size, to keep work on expressions bounded */
    struct proc *proc;
    VEC(struct sym *) sizes; /* produced symbols of the procedure */
    struct map declared;     /* procedures that have a body */
    VEC(struct pending_call) calls;
};

/* Loads the next logical line; sets have. */
void next_line(struct parser *p);
void skip_deeper(struct parser *p, int indent); /* all lines that are indented deeper */
void end_of_line(struct parser *p);             /* records an error if something remains on the line */
void parse_error(struct parser *p, int line, const char *fmt, ...) NN_PRINTF(3, 4);
struct token *peek(struct parser *p);
struct token *peek2(struct parser *p);
bool at_end(struct parser *p);
bool at_punct(struct parser *p, const char *s);
bool at_word(struct parser *p, const char *s);
bool accept(struct parser *p, const char *punct);
bool accept_word(struct parser *p, const char *word);
bool expect(struct parser *p, const char *punct); /* records an error if it is not there */
void unexpected(struct parser *p, const char *wanted);
/* A name, plain or quoted; NULL with an error if there is none. */
const char *parse_name(struct parser *p, const char *what);
/* [-] digits, as int64 */
bool parse_int64(struct parser *p, int64_t *v);

void bind_name(struct parser *p, const char *name, enum binding_kind kind, expr e, struct buf *buf);
void unbind_to(struct parser *p, struct binding *top);
struct binding *lookup(struct parser *p, const char *name, bool buf, bool quoted);

/* ---- loop_parse_expr.c: NULL with an error recorded. `sum`: stops before comparisons and logic. */
expr parse_expr(struct parser *p);
expr parse_sum(struct parser *p);
expr parse_index(struct parser *p);               /* a sum of type IDX */
expr parse_as(struct parser *p, enum dtype type); /* an expression of this value type; plain integers adapt */
expr parse_cond(struct parser *p);
enum dtype parse_type(struct parser *p);
/* The elements of `[a,b,...]` (opening bracket already taken), IDX. Returns the number or -1; *fill if allowed. */
int parse_indices(struct parser *p, expr *out, int max, expr *fill, enum dtype fill_type);

/* ---- loop_parse_buf.c: buffers and constants */
/* What follows a buffer's name: `f32[N,8] pad [..] fill 0.0 logical [..] map [..]`. */
struct geometry {
    enum dtype type;
    int nd, nlogical, npad, nmap;
    expr dims[MAX_RANK], logical[MAX_RANK], map[MAX_RANK], fill;
    const struct var *lvar[MAX_RANK];
    int64_t pad[MAX_RANK], within[2];
    const char *base;
    bool has_layout, has_within;
    unsigned apart;
};
bool parse_type_and_dims(struct parser *p, struct geometry *g);
bool parse_attributes(struct parser *p, struct geometry *g); /* the rest of it */
/* NULL with an error when the name is taken by another buffer. */
struct buf *declare_buf(struct parser *p, const char *name, enum scope scope, const struct geometry *g, int line);
void parse_const(struct parser *p);
struct buf *parse_buf(struct parser *p);                    /* the name of a buffer in scope */
bool parse_at(struct parser *p, struct buf **b, expr *off); /* BUF + offset */

/* ---- loop_parse_stmt.c */
void parse_block(struct parser *p, int parent_indent, struct block *b);
bool parse_let(struct parser *p);
bool parse_range(struct parser *p, int64_t *lo, int64_t *hi); /* LO..HI */
bool parse_dir(struct parser *p, enum param_dir *d);
/* A size found at run time; NULL with an error if the name is something else. */
struct sym *size_symbol(struct parser *p, const char *name, int64_t lo, int64_t hi, int line);
struct proc *proc_named(struct parser *p, const char *name); /* of the module; a new one without a body */
#endif
