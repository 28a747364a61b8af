/* Suggests the word that was probably meant: for messages about options, targets, passes, attributes. */
#ifndef NN_IR_BASE_NEAREST_H
#define NN_IR_BASE_NEAREST_H
#include "ir/base/arena.h"

/* The nearest of n names, if it is near enough to be a typing error; otherwise NULL. */
const char *nearest_name(const char *word, const char *const *names, int n);
/* "; did you mean `name`?", or "" when none is near. */
const char *did_you_mean(struct arena *a, const char *word, const char *const *names, int n);
#endif
