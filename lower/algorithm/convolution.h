/* What is a convolution among the problems, and along which axes its windows slide; for algorithms. */
#ifndef NN_LOWER_ALGORITHM_CONVOLUTION_H
#define NN_LOWER_ALGORITHM_CONVOLUTION_H
#include "lower/algorithm/algorithm.h"

/* Windows of the row's size slide along one axis or two; `over` are others with several taps, which are summed as in
 * the definition. All other axes of the sum stand beside them: pictures, and those along which the kernel has one tap.
 */
enum { CHANNEL_AXIS = 1, PLACES = 4 }; /* of results, whose other axes are at most PLACES; of taps, channels are 0 */
struct slide {
    int tap, axis, at; /* summed taps, axis of the sum, dim of the operand: at = axis + tap + offset */
    int64_t offset;
};
struct convolution {
    struct slide along[2], over[PLACES];
    int nalong, nover, channel; /* channel: the operand's dim */
};
/* Has this summed variable several taps? */
bool has_taps(const struct stmt *sum, int red);
/* Which of the n slides has this axis; -1: none. */
int slide_of(const struct slide *w, int n, int axis);
/* The sum is x[.., ic, o + tap + offset, .. else zero] * w[oc, ic, taps], whatever the order of the dims of x is. zero
 * NULL: any fill. */
bool convolves(struct ctx *c, const struct problem *k, int dims, int taps, expr zero, struct convolution *v);
#endif
