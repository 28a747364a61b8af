/* What `gcc2nn surgeon` does to a graph between import and export. surgeon_cut.c: where the model begins and ends;
 * surgeon_ends.c: changes to its inputs and outputs; surgeon_nms.c: the largest of these. */
#ifndef NN_COMPILER_SURGEON_H
#define NN_COMPILER_SURGEON_H
#include "compiler/options.h"
#include "ir/graph/graph.h"

struct surgery {
    struct ctx *c;
    struct graph *g; /* keeps_operators is set */
    const struct surgery_words *words;
    VEC(const char *) done; /* interned: pairs of option and input or output that were applied */
};
/* --inputs, --outputs, --keep: removes everything outside. The graph may have nodes of unknown operators, before and
 * after; missing types are inferred. false: a diagnostic. */
bool surgery_cut(struct surgery *s);
bool surgery_unknown(const struct surgery *s); /* are there such nodes? */
/* --softmax, --nms, --top-k, --scale, --mean, --input-layout, --cast, --rename, in this order: each is applied to the
 * result of the previous ones. All but the last need types. false: a diagnostic. */
bool surgery_ends(struct surgery *s);
bool surgery_nms(struct surgery *s, const char *word); /* one --nms */

/* The index of the output of this name; -1: a diagnostic. */
int surgery_output(struct surgery *s, const char *option, const char *name);
/* Appends a node with one result, whose origin is the option. */
struct node *surgery_node(struct surgery *s, const char *option, const char *op, struct value *const *ins, int nins);
/* Makes v the last output, OF_indices. false: a diagnostic. */
bool surgery_indices(struct surgery *s, const char *option, struct value *v, const char *of);
bool surgery_number(const char *value, int64_t lo, int64_t hi, int64_t *v); /* parses a number from lo to hi */

/* "NAME=VALUE": the value behind the last `=`; *name is NULL for "VALUE" alone. */
const char *surgery_split(struct surgery *s, const char *word, const char **name);
/* Reports an error of the command line: "--option: ..."; option NULL: without it. Returns false. */
bool surgery_wrong(struct surgery *s, const char *option, const char *fmt, ...) NN_PRINTF(3, 4);
/* Reports "--option: there is no WHAT called NAME", with the nearest of names. */
void surgery_no_name(struct surgery *s, const char *option, const char *what, const char *name,
                     const char *const *names, int n);
#endif
