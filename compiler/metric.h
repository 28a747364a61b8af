/* How good are outputs on labelled data? One number for a whole data set: top1, map or mse (docs/diagnosis.md). Samples
 * are added one by one, and only what the number needs is kept. */
#ifndef NN_COMPILER_METRIC_H
#define NN_COMPILER_METRIC_H
#include "ir/base/ctx.h"
#include "ir/base/tensor.h"

#define METRIC_WORDS "top1 map mse"
struct metric;
/* name: one of METRIC_WORDS. The metric lives as long as c. */
struct metric *metric_new(struct ctx *c, const char *name);
/* Adds the outputs of the sample in `folder`, in the order of the model; want: the expected outputs, for mse, NULL
 * where unknown. false: a diagnostic says what is missing or does not fit. */
bool metric_add(struct metric *m, const char *folder, struct tensor *const *outputs, struct tensor *const *want, int n);
double metric_value(struct metric *m);
bool metric_is_error(const struct metric *m); /* smaller is better */
#endif
