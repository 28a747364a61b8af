/* What the two files of the graph parser share: graph_parse.c reads graphs, regions and nodes; graph_lex.c
 * reads words, strings, numbers, dims, types and tensors. Private to them. */
#ifndef NN_IR_GRAPH_PARSE_H
#define NN_IR_GRAPH_PARSE_H
#include "ir/graph/graph.h"

struct parser {
    struct ctx *c;
    struct graph *g;
    const char *file;
    const char *at; /* in a NUL-terminated copy of the text */
    const char *end;
    int line;
    bool failed; /* an error was reported; from then on the text appears to have ended */
    int depth;
    int64_t made_up; /* bytes of stand-in constants */
    struct arena tmp;
    struct map consts, syms;
    int nodes;
};
enum { PARSE_DEPTH = 64 };

bool p_fail(struct parser *p, enum diag_code code, const char *fmt, ...) NN_PRINTF(3, 4); /* returns false */
char p_peek(struct parser *p);                     /* next character after blanks and comments */
bool p_accept(struct parser *p, const char *mark); /* exactly these characters, after blanks */
bool p_expect(struct parser *p, const char *mark);
bool p_enter(struct parser *p); /* one level of nesting deeper; paired with p_leave */
void p_leave(struct parser *p);
const char *p_word(struct parser *p, const char *more); /* interned; NULL when there is none */
bool p_accept_word(struct parser *p, const char *word);
bool p_string(struct parser *p, struct str_elem *s);
const char *p_name(struct parser *p); /* a string without NUL, interned; "" after an error */
const char *p_word_or_name(struct parser *p, const char *more);
bool p_int(struct parser *p, int64_t *v);
bool p_at_float(struct parser *p); /* the number that follows has a point, an exponent, inf or nan */
bool p_float(struct parser *p, double *v);
const char *p_sym_key(struct parser *p, const char **name); /* `N`, `"any text"`, `N#2` */
bool p_type(struct parser *p, struct type *ty);
bool p_at_dtype(struct parser *p);               /* a type name and `[` follow */
const struct tensor *p_tensor(struct parser *p); /* `f32[2] = [1.0, 2.0]`; NULL after an error */
#endif
