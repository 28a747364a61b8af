/* `gcc2nn verify --dataset DIR --metric M [--max-drop X]`: how good the compiled model is on labelled data, and how
 * much worse than the model itself, as its referee computes it (referee.h). */
#ifndef NN_COMPILER_DATASET_H
#define NN_COMPILER_DATASET_H
#include "compiler/build.h"
#include "compiler/session.h"

/* Of the program that was built; h: how it is run. Prints what it finds; a greater drop than allowed is a diagnostic.
 */
void dataset_verify(struct session *s, struct harness *h);
#endif
