/* Regular expressions in RE2's syntax, for RegexFullMatch and Tokenizer (regex.c). A pattern becomes a tree
 * (regex_parse.c) over sets of characters (regex_set.c, regex_unicode.c), then a program over classes of characters
 * (regex_program.c), and if that stays small, the table of a finite automaton (regex_dfa.c). Since whole texts, or
 * their longest pieces, are matched and nothing is captured, greediness does not matter. The program is that of K.
 * Thompson, Regular Expression Search Algorithm, 1968. */
#ifndef NN_LOWER_OPS_REGEX_H
#define NN_LOWER_OPS_REGEX_H
#include "ir/base/arena.h"
#include "ir/base/vec.h"
#include <stdbool.h>
#include <stdint.h>

/* ---- sets of characters */
enum { CHAR_LAST = 0x10ffff };
struct span {
    int32_t lo, hi;
};
struct charset {
    VEC(struct span) of;
};
void set_add(struct arena *a, struct charset *s, int32_t lo, int32_t hi);
void set_add_all(struct arena *a, struct charset *s, const struct charset *t);
void set_tidy(struct charset *s); /* makes it ascending, disjoint and not adjacent, as the next two require and
                                   * preserve */
void set_negate(struct arena *a, struct charset *s);
struct char_cases;
const struct char_cases *char_cases(struct arena *a);
/* Adds all characters that differ only in case, by Unicode's simple mapping. */
void set_fold(struct arena *a, struct charset *s, const struct char_cases *cases);
/* Adds what \d \s \w stand for; what [:name:] stands for; a general category or script. false: there is no such
 * name. */
bool set_add_letter(struct arena *a, struct charset *s, char letter);
bool set_add_posix(struct arena *a, struct charset *s, const char *name, size_t n);
bool set_add_unicode(struct arena *a, struct charset *s, const char *name, size_t n);

/* ---- trees */
enum re_op { RE_SET, RE_HERE, RE_ALL, RE_ANY, RE_REPEAT };
struct re {
    enum re_op op;
    struct re *last, *before; /* its last child; the sibling before it */
    int arg;                  /* RE_SET: which; RE_HERE: what must hold */
    int min, max;             /* RE_REPEAT; max -1: any number */
    int copies;               /* how often a character in it is repeated, at most */
};
struct re_tree {
    struct re *root;
    VEC(struct charset) sets;
};
/* Conditions on a position between two characters. */
enum {
    HERE_BEGIN = 1,
    HERE_END = 2,
    HERE_LINE_BEGIN = 4,
    HERE_LINE_END = 8,
    HERE_WORD_EDGE = 16,
    HERE_NO_WORD_EDGE = 32
};
/* NULL: *why says why not. */
struct re_tree *regex_parse(struct arena *a, const char *p, size_t n, const char **why);

/* ---- programs */
/* The kinds of characters before and after a position; KIND_NONE: there is none. */
enum { KIND_NONE, KIND_OTHER, KIND_NEWLINE, KIND_WORD, KINDS };
enum inst_op { INST_DONE, INST_EITHER, INST_HERE, INST_CHAR };
struct inst {
    enum inst_op op;
    int a, b; /* EITHER: on to a or b; HERE: if a holds on to b; CHAR: a character of set a, then on to b */
};
struct regex {
    VEC(struct inst) inst;
    int start;
    bool asks; /* has INST_HERE */
    /* Characters from first[k] on are in class of[k]; invalid ones are below 0 and in no set. */
    int nranges, nclasses, nsets;
    int32_t *first, *of;
    int *kind;       /* [nclasses] */
    uint8_t *member; /* [nsets][nclasses] */
};
/* The conditions that hold between two characters of these kinds. */
extern const uint8_t regex_holds[KINDS][KINDS];
bool regex_program(struct arena *a, const struct re_tree *t, struct regex *r, const char **why);

/* ---- automata. State 0 is the dead state. */
enum { DFA_STATES = 4096, DFA_CELLS = 1 << 16 };
struct dfa {
    int nstates;
    int start[KINDS]; /* behind a character of that kind */
    int32_t *next;    /* [nstates][nclasses] */
    uint8_t *accepts; /* [nstates]: bit k is set if it does before a character of kind k */
};
/* false: it would exceed DFA_STATES or DFA_CELLS, or take too much work to find. */
bool regex_dfa(struct arena *a, const struct regex *r, struct dfa *d);
#endif
