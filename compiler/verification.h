/* What a program's run gave, compared with what a referee says it should be (referee.h), within the usual tolerances or
 * those of the options. For verify, which tells all of it, and bisect, which asks whether anything departs. */
#ifndef NN_COMPILER_VERIFICATION_H
#define NN_COMPILER_VERIFICATION_H
#include "compiler/compare.h"
#include "compiler/referee.h"

struct verification {
    struct session *s;
    const struct program *p;
    struct tensor *const *outputs; /* NULL: in the files of the run */
    struct question q;
    bool *compared;     /* of each output: with something */
    bool open_sums;     /* the machine's instructions sum in an order of their own */
    const char *target; /* of the variant; NULL: there is one */
    json_t *list;       /* gets an object for each comparison */
};
struct verification verification_of(struct session *s, const struct harness *h, struct tensor **inputs,
                                    struct tensor *const *outputs, json_t *list);
/* Asks the referee that --against names, else those that know, and compares; what departs is a diagnostic. */
void verification_ask(struct verification *v);
/* Is output k as wanted, within the tolerance? false: *why says how it departs. */
bool verification_same(const struct verification *v, int k, const struct tensor *want, struct text *why);
/* What the outputs should be, NULL where it is not known: by --data, else by the one who knows, which *with is. NULL:
 * a diagnostic. */
struct tensor **verification_wanted(struct verification *v, const struct referee **with);
/* With the result of every node as an output: asks the one who knows. false: nobody can be asked. */
bool verification_ask_nodes(struct verification *v);
/* Then: is output k as it says, or does it not say? With memory for the two tensors, whose model has many. */
bool verification_node_same(const struct verification *v, int k, struct text *why);
#endif
