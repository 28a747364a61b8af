/* Are two tensors the same? Exactly, or within a tolerance. For verify. */
#ifndef NN_COMPILER_COMPARE_H
#define NN_COMPILER_COMPARE_H
#include "ir/base/tensor.h"
#include "ir/base/text.h"

/* Bits, except that all NaNs are equal (docs/numbers.md N5). false: *why says where they differ. */
bool same_bits(const struct tensor *got, const struct tensor *want, struct text *why);

/* The allowed deviation of an element is atol + rtol * M + steps * step, where M is the greatest magnitude in the
 * wanted tensor; for integers, which only have steps, steps * step. bool and strings must be equal. */
struct tolerance {
    double rtol, atol;
    double step; /* of quantised values: 1 of integers, the scale of floats; 0: they are not quantised */
    int steps;
};
enum { STEPS_COUNTED = 4 };
struct deviation {
    double absolute, relative;      /* greatest |got - want|; the same by the greatest magnitude in want */
    int64_t counted[STEPS_COUNTED]; /* elements that are 1, 2, 3 and more steps off; where there is a step */
};
bool within_tolerance(const struct tensor *got, const struct tensor *want, const struct tolerance *t,
                      struct deviation *found, struct text *why);
/* "12 elements differ by 1 step of 0.5, 1 by 2"; "" when none does. */
void steps_text(const struct deviation *d, double step, struct text *out);

/* The usual tolerance against another implementation of the model, by element type; other types are exact. */
struct usual_tolerance {
    const char *types;
    double rtol;
};
extern const struct usual_tolerance usual_tolerances[]; /* types NULL ends */
double usual_rtol(enum dtype t);
/* For floats computed from values that were rounded to 2^bits steps, `times` times in a row. */
double usual_rtol_of_steps(int bits, int times);
/* How many steps a value may be off after being rounded to steps `times` times in a row. */
int usual_steps(int times);
#endif
