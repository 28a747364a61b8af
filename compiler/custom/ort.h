/* Operators of the user's own as sources of a library for ONNX Runtime. See ort.c. */
#ifndef NN_COMPILER_CUSTOM_ORT_H
#define NN_COMPILER_CUSTOM_ORT_H
#include "ir/loop/foreign.h"

/* Writes the file for one source, with its operators of c->own_ops. */
void ort_source(struct ctx *c, const struct foreign_source *s, struct text *out);
/* Writes the function that registers all operators. */
void ort_register(const struct foreign_source *const *sources, int n, struct text *out);
#endif
