/* Are two tensors the same? Exactly, or within a tolerance. For verify. */
#ifndef NN_COMPILER_COMPARE_H
#define NN_COMPILER_COMPARE_H
#include "ir/base/text.h"
#include "ir/tensor.h"

/* Bits, except that all NaNs are equal (docs/numbers.md N5). false: *why says where they differ. */
bool same_bits(const struct tensor *got, const struct tensor *want, struct text *why);
struct deviation {
    double absolute, relative; /* greatest |got - want|; the same by the greatest magnitude in want */
};
/* Floats: relative <= tolerance; everything else must be equal. */
bool within_tolerance(const struct tensor *got, const struct tensor *want, double tolerance, struct deviation *found,
                      struct text *why);
/* The tolerance for outputs of this type against another implementation of the model. */
double usual_tolerance(enum dtype t);
#endif
