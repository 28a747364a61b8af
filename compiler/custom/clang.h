/* What the readers of sources share of libclang. Inside of compiler/custom/, where it is built in. */
#ifndef NN_COMPILER_CUSTOM_CLANG_H
#define NN_COMPILER_CUSTOM_CLANG_H
#include "compiler/custom/source.h"
#include <clang-c/Index.h>

struct source_place place_of(CXSourceLocation l, int width);
const char *source_string(struct source *s, CXString t); /* interned; t is disposed of */
enum dtype clang_dtype(CXType t);                        /* of a number; NONE: it is none */
/* What a function of sizes returns for these. NULL after an error: it does what a formula cannot say. */
const struct formula *c_formula(struct source *s, CXCursor fn, const struct formula *const *args, int nargs);
/* The same of a function of scalars, whose parameters stand for themselves, by name; without an error: NULL, and *why
 * at *at says what is in the way. */
const struct formula *c_formula_or(struct source *s, CXCursor fn, const char **why, struct source_place *at);
#endif
