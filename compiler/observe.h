/* Observes the values of the tensors that are to be rounded: the model is compiled with them as further outputs, and
 * run on samples. Between plan.h, which says which tensors, and range.h, which computes ranges from the
 * observations. */
#ifndef NN_COMPILER_OBSERVE_H
#define NN_COMPILER_OBSERVE_H
#include "compiler/quantize/plan.h"
#include "compiler/quantize/range.h"
#include "compiler/samples.h"

struct observer {
    struct runner runner;
    struct quant_plan *plan;
    int results; /* number of the model's own results, which are the program's first */
    int *output; /* for each point the index of its output of the program */
};
/* Compiles and builds the model of s, for whose graph the plan was made. false: a diagnostic. */
bool observer_open(struct observer *o, struct session *s, struct quant_plan *plan);
struct seen *seen_new(const struct observer *o); /* for each point; empty */
/* Collects least, greatest and mean values. Here and below, only one sample's values are in memory at a time. false: a
 * diagnostic. */
bool observe_ranges(struct observer *o, const struct samples *samples, struct seen *seen);
/* Counts the values in each bin of the histograms, and those outside of `ranges` (NULL: not needed). */
bool observe_values(struct observer *o, const struct samples *samples, struct seen *seen, const struct range *ranges);
#endif
