/* Models cut and shaped: what `gcc2nn surgeon` does to a graph between import and export. surgeon_cut.c: where it
 * begins and ends; surgeon_ends.c: what is done to its inputs and outputs there; surgeon_nms.c: a longer piece of that.
 */
#ifndef NN_COMPILER_SURGEON_H
#define NN_COMPILER_SURGEON_H
#include "compiler/options.h"
#include "ir/graph/graph.h"

struct surgery {
    struct ctx *c;
    struct graph *g; /* keeps_operators is set */
    const struct surgery_words *words;
    VEC(const char *) done; /* interned: which option for which input or output */
};
/* --inputs, --outputs, --keep: what lies outside goes. Nodes of operators that nobody knows may be in the graph, before
 * and after; types are inferred where there are none. false: a diagnostic. */
bool surgery_cut(struct surgery *s);
bool surgery_unknown(const struct surgery *s); /* are there such nodes? */
/* --softmax, --nms, --top-k, --scale, --mean, --input-layout, --cast, --rename, in this order: each takes what the ones
 * before left. All but the last need types. false: a diagnostic. */
bool surgery_ends(struct surgery *s);
bool surgery_nms(struct surgery *s, const char *word); /* one --nms */

/* The number of the output of this name; -1: a diagnostic. */
int surgery_output(struct surgery *s, const char *option, const char *name);
/* A node of one result behind all others, which is told to come from the option. */
struct node *surgery_node(struct surgery *s, const char *option, const char *op, struct value *const *ins, int nins);
/* v becomes the last output, OF_indices. false: a diagnostic. */
bool surgery_indices(struct surgery *s, const char *option, struct value *v, const char *of);
bool surgery_number(const char *value, int64_t lo, int64_t hi, int64_t *v); /* is it one, from lo to hi? */

/* "NAME=VALUE": the value behind the last `=`; *name is NULL for "VALUE" alone. */
const char *surgery_split(struct surgery *s, const char *word, const char **name);
/* An error of the command line: "--option: ..."; option NULL: as it is. false. */
bool surgery_wrong(struct surgery *s, const char *option, const char *fmt, ...) NN_PRINTF(3, 4);
/* "--option: there is no WHAT called NAME", with the nearest of names. */
void surgery_no_name(struct surgery *s, const char *option, const char *what, const char *name,
                     const char *const *names, int n);
#endif
