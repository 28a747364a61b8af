/* Compares the outputs of a program with those of a referee (referee.h), within the default tolerances or those of the
 * options. For verify, which prints everything, and bisect, which only needs to know whether something differs. */
#ifndef NN_COMPILER_VERIFICATION_H
#define NN_COMPILER_VERIFICATION_H
#include "compiler/compare.h"
#include "compiler/referee.h"

struct verification {
    struct session *s;
    const struct program *p;
    struct tensor *const *outputs; /* NULL: in the files of the run */
    struct question q;
    bool *compared;     /* for each output: compared with anything */
    bool open_sums;     /* the machine's instructions sum in an unspecified order */
    const char *target; /* name of the variant; NULL: there is only one */
    json_t *list;       /* gets an object for each comparison */
};
struct verification verification_of(struct session *s, const struct harness *h, struct tensor **inputs,
                                    struct tensor *const *outputs, json_t *list);
/* Compares with the referee that --against names, else with those that know the outputs; differences are
 * diagnostics. */
void verification_ask(struct verification *v);
/* Is output k as expected, within the tolerance? false: *why says how it differs. */
bool verification_same(const struct verification *v, int k, const struct tensor *want, struct text *why);
/* The expected outputs, NULL where unknown: from --data, else from the referee, which *with becomes. NULL: a
 * diagnostic. */
struct tensor **verification_wanted(struct verification *v, const struct referee **with);
/* With the result of every node as an output: runs the referee. false: there is none. */
bool verification_ask_nodes(struct verification *v);
/* Then: is output k as the referee says, or is it unknown to it? Loads only the two tensors, for models with many. */
bool verification_node_same(const struct verification *v, int k, struct text *why);
#endif
