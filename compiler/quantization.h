/* What `quantize` knows of a model: what stages find out, and later ones go by. Each stage reads the model anew, down
 * the same passes, for the one before has compiled it: calibration (cmd_quantize.c), sensitivity.c, mixed.c, and in the
 * end the writing. */
#ifndef NN_COMPILER_QUANTIZATION_H
#define NN_COMPILER_QUANTIZATION_H
#include "compiler/quantize/insert.h"
#include "compiler/session.h"

/* How far the samples of --eval lie from those of --calib. */
struct distance {
    int point;
    double clipped, apart; /* share outside of the range; between the histograms */
};
/* Of each product, over all samples: what it gives, and what the rounding of its operands adds to that. */
struct power {
    int product;
    int64_t weights_bytes; /* of floats */
    double signal, noise;
};
/* What --max-drop came to. */
struct trial {
    int floats;
    double value;
};
struct mixture {
    int floats; /* so many products, the most sensitive ones, are left in floats */
    const char *metric;
    double base, value, drop; /* of the metric: with floats, with codes, by how much that is worse */
    int samples;
    VEC(struct trial) trials; /* in the order in which they were made */
};
struct quantization {
    const struct options *o;
    /* of each point of the plan */
    struct seen *seen;
    struct range *ranges;
    struct quantity *quantities;
    struct distance *distances; /* with --eval */
    struct power *sensitivity;  /* of each product, the most sensitive first; NULL: nobody asked */
    int samples;
    struct mixture mixture; /* without --max-drop, nothing is left in floats by it */
};
/* The model as far as it is quantised, and what of it is, but for --exclude. NULL: a diagnostic. */
struct quant_plan *quantization_plan(struct session *s, const struct options *o);
/* Puts the codes into the graph of `whole`, the plan of all products, but for the `floats` most sensitive ones. The
 * plan of what was quantised. */
struct quant_plan *quantization_insert(const struct quantization *z, struct quant_plan *whole, int floats);

/* sensitivity.c */
/* Fills z->sensitivity. An exit status; what went wrong was printed. */
int find_sensitivity(struct quantization *z);
double sensitivity_db(const struct power *p); /* infinite: nothing is lost */
json_t *sensitivity_json(const struct quantization *z, const struct quant_plan *p);
void print_sensitivity(const struct quantization *z, const struct quant_plan *p);

/* mixed.c */
/* Fills z->mixture by the samples of --eval, and z->sensitivity where it is needed. v: what was calibrated with, whose
 * program is of floats. An exit status, of what was printed; other diagnostics are in the session of v. */
struct observer;
int find_mixture(struct quantization *z, struct observer *v);
json_t *mixture_json(const struct quantization *z, const struct quant_plan *whole);
/* weights_bytes: of all products, as floats. */
void print_mixture(const struct quantization *z, const struct quant_plan *whole, int64_t weights_bytes);
#endif
