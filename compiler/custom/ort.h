/* Operators of the user's own as sources of a library for ONNX Runtime. See ort.c. */
#ifndef NN_COMPILER_CUSTOM_ORT_H
#define NN_COMPILER_CUSTOM_ORT_H
#include "ir/loop/foreign.h"

/* The file of one source, with the operators of c->own_ops that it holds. */
void ort_source(struct ctx *c, const struct foreign_source *s, struct text *out);
/* The function that registers those of all. */
void ort_register(const struct foreign_source *const *sources, int n, struct text *out);
#endif
