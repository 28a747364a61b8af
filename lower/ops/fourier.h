/* Fourier transforms of known lengths, faster than by their definition. See fourier.c. */
#ifndef NN_LOWER_OPS_FOURIER_H
#define NN_LOWER_OPS_FOURIER_H
#include "lower/ops/ops.h"

#define TURN 6.28318530717958647692 /* radians */

struct fourier {
    int64_t n, bins;    /* length; number of results that are needed */
    int complex, parts; /* 1: operands are real, and only the real part of results is needed; otherwise 2 */
    bool inverse;       /* with the other sign, and divided by n */
    enum dtype type;    /* of tables and sums: F32 or F64 */
    int64_t p, q;       /* the factors, chosen by fourier_plan; p = 1: no factors */
};
/* Chooses the factors with the fewest products; if there are none, F64. false: only the definition can be used. */
bool fourier_plan(struct fourier *f);
/* Of frames [batch.., p, q, complex]. The sums' dims are their own business; result k of them: fourier_at. */
T fourier_sums(const struct fourier *f, T frames, X batch);
E fourier_at(const struct fourier *f, T sums, X batch, E k, E part);
#endif
