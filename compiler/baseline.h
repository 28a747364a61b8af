/* `gcc2nn bench --baseline FILE`: what a model takes now beside what an earlier `bench --json` wrote. */
#ifndef NN_COMPILER_BASELINE_H
#define NN_COMPILER_BASELINE_H
#include "compiler/bench.h"

struct baseline {
    const char *path;
    json_t *result; /* the file's; NULL: there is no baseline */
    struct budget before;
};
/* --baseline, if it was given, before anything is compiled. false: a diagnostic. baseline_free in each case. */
bool baseline_read(struct baseline *b, struct session *s);
void baseline_free(struct baseline *b);
/* false: diagnostics say what got worse, or that the file is of something else. */
bool baseline_holds(const struct baseline *b, const struct bench *bench, const struct budget *now);
/* For each that is compared `name`, `before`, `value`, `limit`, `within`. */
json_t *baseline_json(const struct baseline *b, const struct options *o, const struct budget *now);
#endif
