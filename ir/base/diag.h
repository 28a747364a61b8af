/* Diagnostics: what the user reads when something is wrong. Collected, printed in the end, at most 20.
 *
 *   model.onnx: node 17 "conv1" (Conv), input 1 "W": expected rank 4, got 3 [E0123]
 *     help: ...
 *
 * A code is a row of diag_codes.h; `gcc2nn explain CODE` prints its text. */
#ifndef NN_IR_BASE_DIAG_H
#define NN_IR_BASE_DIAG_H
#include "ir/base/arena.h"
#include "ir/base/remark.h"
#include "ir/base/text.h"
#include <stdbool.h>

/* TEXT: for people. JSON: an object a line. SARIF: one log, as OASIS has it (2.1.0). */
enum diag_format { DIAG_TEXT, DIAG_JSON, DIAG_SARIF };
enum severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE };

#define CODE(id, number, title, cause, example, remedy) id = number,
enum diag_code {
#include "ir/base/diag_codes.h"
};
#undef CODE

/* How the user wants warnings treated. The last rule counts, but a rule for one code has priority over rules for
 * all. */
enum warning_as { WARN_PLAIN, WARN_ERROR, WARN_NOT };
struct warning_rule {
    int code; /* 0: all */
    enum warning_as as;
};
struct diag {
    enum severity severity;
    bool promoted; /* a warning that is an error because the user wants that */
    enum diag_code code;
    const char *where;          /* file, or file:line for text forms; may be NULL */
    const char *origin;         /* `node 17 "conv1" (Conv), input 1 "W"`, already escaped for a terminal; may be NULL */
    const char *message, *help; /* help may be NULL */
    const char *excerpt;        /* a line of the file, and under it a mark; or NULL */
};
enum { DIAG_MAX = 20 };
/* Assigning a copy back (`*d = before`) drops everything recorded since it was taken. */
struct diags {
    struct arena *arena;
    struct diag v[DIAG_MAX]; /* the first ones; later ones are only counted */
    int n, errors, warnings;
    const struct warning_rule *rules;
    int nrules;
    bool dropped;       /* the newest was only counted, or suppressed: its help is dropped as well */
    const char *file;   /* default for `where` */
    const char *origin; /* default for `origin`: set while a node is being worked on */
    enum diag_format format;
    struct remarks remarks;
    bool ir_text; /* the input is text of our own IRs, so errors in it are not our fault */
    int ours;     /* number of errors that are our fault */
};

/* The first error recorded since d was `before`. NULL: there is none, or it was only counted. */
const struct diag *diag_error_since(const struct diags *d, const struct diags *before);
/* Records one diagnostic. fmt: message; append a help line with diag_help right after. */
void diag(struct diags *d, enum severity s, enum diag_code code, const char *fmt, ...) NN_PRINTF(4, 5);
/* About a node, in the file that is worked on. */
void diag_node(struct diags *d, enum severity s, enum diag_code code, const char *origin, const char *fmt, ...)
    NN_PRINTF(5, 6);
void diag_at(struct diags *d, enum severity s, enum diag_code code, const char *where, const char *origin,
             const char *fmt, ...) NN_PRINTF(6, 7);
void diag_help(struct diags *d, const char *fmt, ...) NN_PRINTF(2, 3);
/* Adds to the newest: the n bytes of a line of text, with `width` of them marked from `column` on (from 1), as
 * compilers show it. */
void diag_excerpt(struct diags *d, int line, const char *text, size_t n, int column, int width);
/* Does an error with this code mean a bug of ours? */
bool diag_is_ours(const struct diags *d, enum diag_code code);
/* What to do: the diagnostic's own help, or what the table says for its code, except for texts of our own IRs, whose
 * authors know. NULL: nothing. */
const char *diag_remedy(const struct diags *d, const struct diag *row);
/* The text of all diagnostics; each remedy of the table only once. Control characters of model strings are shown as \n,
 * \x1b ... */
void diag_print(const struct diags *d, struct text *out, bool color);
/* The meaning of a code, for `explain`; NULL if it does not exist. */
struct diag_row {
    int code;
    const char *title, *cause, *example, *remedy;
};
const struct diag_row *diag_explain(int code);
/* A quoted, escaped copy of a model's string, cut to 60 characters. */
const char *diag_quote(struct arena *a, const char *s);

/* A bug of ours: an invariant is broken. Prints the message and exits 70. Never for user input. */
_Noreturn void bug(const char *file, int line, const char *fmt, ...) NN_PRINTF(3, 4);
#define BUG(...)  bug(__FILE__, __LINE__, __VA_ARGS__)
#define ASSERT(c) ((c) ? (void)0 : BUG("assertion failed: %s", #c))
#endif
