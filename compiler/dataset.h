/* How good a model is on labelled data: its program is run on every sample, its outputs are kept in files, and a metric
 * computes one number from them. For `verify --dataset`, which compares a program with its referee (referee.h), and
 * `quantize --max-drop`, which compares the quantised model with the float one. */
#ifndef NN_COMPILER_DATASET_H
#define NN_COMPILER_DATASET_H
#include "compiler/samples.h"

/* The files of a set of outputs are PREFIX_<sample>_<output>.nnt. */
struct dataset {
    struct session *s; /* of the program */
    const char *metric;
    struct samples samples;
    int outputs;            /* number of outputs that the metric gets, the first ones of the program */
    const char *own, *want; /* prefixes of the program's outputs and of those it is compared with */
};
/* The samples of the folder given by `option`, for the metric given by --metric. false: a diagnostic. */
bool dataset_open(struct dataset *d, struct session *s, const char *option, const char *folder);
/* Runs the program on all samples. false: a diagnostic. */
bool dataset_run(struct dataset *d, const char *exe);
/* The metric of the outputs with this prefix. false: a diagnostic. */
bool dataset_value(struct dataset *d, const char *whose, double *value);
bool dataset_is_error(const struct dataset *d); /* smaller is better, and 0 is best */
/* How much worse `value` is than that of the reference, or than 0 for an error measure. */
double dataset_drop(const struct dataset *d, double value, double base);
/* All of `verify --dataset`, for the built program. Prints the results; a greater drop than allowed is a diagnostic. */
void dataset_verify(struct session *s, const char *exe);
#endif
