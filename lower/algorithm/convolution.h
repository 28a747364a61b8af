/* What is a convolution among the problems, and along which axes its windows slide; for algorithms. */
#ifndef NN_LOWER_ALGORITHM_CONVOLUTION_H
#define NN_LOWER_ALGORITHM_CONVOLUTION_H
#include "lower/algorithm/algorithm.h"

/* Windows of the row's size slide along one axis or two; those of a row that is `split` are larger, and are a sum of
 * windows of that size side by side. Over the taps of all others, `over`, is summed as in the definition. All other
 * axes of the sum stand beside them: pictures, and those along which the kernel has one tap. */
enum { CHANNEL_AXIS = 1, PLACES = 4 }; /* of results, whose other axes are at most PLACES; of taps, channels are 0 */
struct slide {
    int tap, axis, at; /* summed taps, axis of the sum, dim of the operand: at = axis + step * tap + offset */
    int64_t step, offset;
    int64_t count, unit; /* of `over`: so many terms, of so many taps each */
};
struct convolution {
    struct slide along[2], over[PLACES];
    int nalong, nover, channel; /* channel: the operand's dim */
    int64_t groups;             /* of channels */
};
/* Has this summed variable several taps? */
bool has_taps(const struct stmt *sum, int red);
/* Which share of the taps of the windows meets the operand, and not only what lies around it. */
double taps_inside(struct ctx *c, const struct problem *k);
/* Which of the n slides has this axis; -1: none. */
int slide_of(const struct slide *w, int n, int axis);
/* The sum is x[.., ic, o + tap + offset, .. else zero] * w[oc, ic, taps], whatever the order of the dims of x is, or
 * the same in groups of channels. zero NULL: any fill. */
bool convolves(struct ctx *c, const struct problem *k, const struct algorithm *row, expr zero, struct convolution *v);
#endif
