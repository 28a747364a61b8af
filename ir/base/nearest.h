/* The word that somebody meant who wrote another one: for messages about options, targets, passes, attributes. */
#ifndef NN_IR_BASE_NEAREST_H
#define NN_IR_BASE_NEAREST_H
#include "ir/base/arena.h"

/* The nearest of n names, if any is near enough for a typing error; else NULL. */
const char *nearest_name(const char *word, const char *const *names, int n);
/* "; did you mean `name`?", or "" when none is near. */
const char *did_you_mean(struct arena *a, const char *word, const char *const *names, int n);
#endif
