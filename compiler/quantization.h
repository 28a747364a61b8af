/* What `quantize` knows of a model: results of its stages, which later stages use. Each stage reads the model again and
 * runs the same passes, because compilation in the previous stage has changed the graph: calibration (cmd_quantize.c),
 * sensitivity.c, mixed.c, and finally writing. */
#ifndef NN_COMPILER_QUANTIZATION_H
#define NN_COMPILER_QUANTIZATION_H
#include "compiler/quantize/insert.h"
#include "compiler/session.h"

/* How much the samples of --eval differ from those of --calib. */
struct distance {
    int point;
    double clipped, apart; /* share outside of the range; distance between the histograms */
};
/* For each product, over all samples: the power of its result, and of the error from rounding its operands. */
struct power {
    int product;
    int64_t weights_bytes; /* as floats */
    double signal, noise;
};
/* The result of --max-drop. */
struct trial {
    int floats;
    double value;
};
struct mixture {
    int floats; /* number of products, the most sensitive ones, that stay in floats */
    const char *metric;
    double base, value, drop; /* the metric in floats, with codes, and how much worse that is */
    int samples;
    VEC(struct trial) trials; /* in order of execution */
};
struct quantization {
    const struct options *o;
    /* of each point of the plan */
    struct seen *seen;
    struct range *ranges;
    struct quantity *quantities;
    struct distance *distances; /* with --eval */
    struct power *sensitivity;  /* of each product, the most sensitive first; NULL: not requested */
    int samples;
    struct mixture mixture; /* without --max-drop, it leaves nothing in floats */
};
/* The model up to quantisation, and the plan without the nodes of --exclude. NULL: a diagnostic. */
struct quant_plan *quantization_plan(struct session *s, const struct options *o);
/* Inserts codes into the graph of `whole`, the plan of all products, except for the `floats` most sensitive ones.
 * Returns the plan of the quantised products. */
struct quant_plan *quantization_insert(const struct quantization *z, struct quant_plan *whole, int floats);

/* sensitivity.c */
/* Computes z->sensitivity. Returns an exit status; errors were printed. */
int find_sensitivity(struct quantization *z);
double sensitivity_db(const struct power *p); /* infinite: there is no error */
json_t *sensitivity_json(const struct quantization *z, const struct quant_plan *p);
void print_sensitivity(const struct quantization *z, const struct quant_plan *p);

/* mixed.c */
/* Computes z->mixture from the samples of --eval, and z->sensitivity if needed. v: the session of calibration, whose
 * program computes in floats. Returns an exit status, of what was printed; other diagnostics are in the session of
 * v. */
struct observer;
int find_mixture(struct quantization *z, struct observer *v);
json_t *mixture_json(const struct quantization *z, const struct quant_plan *whole);
/* weights_bytes: of all products, as floats. */
void print_mixture(const struct quantization *z, const struct quant_plan *whole, int64_t weights_bytes);
#endif
