/* What the files of the prelude share: texts of helpers, and how they are named and stored. */
#ifndef NN_CODEGEN_PRELUDE_INT_H
#define NN_CODEGEN_PRELUDE_INT_H
#include "codegen/prelude.h"

/* A template's holes: $N name, $T C type or vector type of the value, $E element type, $U its unsigned twin,
 * $M integer vector of the same lane width, $L lanes, $B bits, $S name of the scalar function. */
struct holes {
    const char *name, *type, *elem, *uns, *mask, *scalar;
    int lanes, bits;
};
void prelude_holes(const struct emit_options *o, struct holes *h, const char *name, enum dtype t, int lanes);
/* Adds a helper from a template. */
void prelude_add(const struct emit_options *o, const char *tmpl, const struct holes *h);
/* "nn_what_f32x8" */
const char *prelude_name(const struct emit_options *o, const char *what, enum dtype t, int lanes);
/* True when the name is asked for the first time. */
bool prelude_first(struct emit_uses *u, const char *name);
/* The target's row for an operation; NULL: it has none. */
const char *prelude_spelled(const struct emit_options *o, enum xop op, enum dtype t, int lanes);
/* A template of a function with that head, which does what the row's text says. */
const char *prelude_from_row(const struct emit_options *o, const char *row, const char *head);

/* ---- prelude_casts.c: between 16-bit floats in memory and f32, in lanes */
const char *prelude_half(const struct emit_options *o, enum dtype s, int lanes, bool encode);
#endif
