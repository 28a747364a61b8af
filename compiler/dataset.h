/* How good a model is on labelled data: its program is run on every sample, whose outputs stay in files, and a metric
 * makes one number of them. For `verify --dataset`, which compares a program with what its referee computes
 * (referee.h), and `quantize --max-drop`, which compares codes with floats. */
#ifndef NN_COMPILER_DATASET_H
#define NN_COMPILER_DATASET_H
#include "compiler/samples.h"

/* The files of a set of outputs are PREFIX_<sample>_<output>.nnt. */
struct dataset {
    struct session *s; /* of the program */
    const char *metric;
    struct samples samples;
    int outputs;            /* of the program, those that the metric is given: the first */
    const char *own, *want; /* prefixes: of the program's outputs; of those of the one it is compared with */
};
/* The samples of the folder that `option` gave, for the metric that --metric did. false: a diagnostic. */
bool dataset_open(struct dataset *d, struct session *s, const char *option, const char *folder);
/* Runs the program on all samples. false: a diagnostic. */
bool dataset_run(struct dataset *d, const char *exe);
/* The metric of the outputs with this prefix. false: a diagnostic. */
bool dataset_value(struct dataset *d, const char *whose, double *value);
bool dataset_is_error(const struct dataset *d); /* less is better, and 0 is best */
/* By how much `value` is worse: than that of floats, or than 0 where it is an error. */
double dataset_drop(const struct dataset *d, double value, double base);
/* The whole of verify's, of the program that was built. Prints what it finds; a greater drop than allowed is a
 * diagnostic. */
void dataset_verify(struct session *s, const char *exe);
#endif
