/* What values the tensors take that are to be rounded: the model is compiled with them as further outputs, and run on
 * samples. Between plan.h, which says which tensors, and range.h, which makes ranges of what was seen. */
#ifndef NN_COMPILER_OBSERVE_H
#define NN_COMPILER_OBSERVE_H
#include "compiler/quantize/plan.h"
#include "compiler/quantize/range.h"
#include "compiler/samples.h"

struct observer {
    struct runner runner;
    struct quant_plan *plan;
    int results; /* of the model itself; they are the program's first */
    int *output; /* of each point: which output of the program it is */
};
/* Compiles and builds the model of s, whose graph the plan is of. false: a diagnostic. */
bool observer_open(struct observer *o, struct session *s, struct quant_plan *plan);
struct seen *seen_new(const struct observer *o); /* of each point; nothing yet */
/* Least, greatest and mean values. Here and below, no more than one sample's values lie in memory. false: a diagnostic.
 */
bool observe_ranges(struct observer *o, const struct samples *samples, struct seen *seen);
/* How often each part of the histograms' ranges was met, and how often none of `ranges` (NULL: not asked). */
bool observe_values(struct observer *o, const struct samples *samples, struct seen *seen, const struct range *ranges);
#endif
