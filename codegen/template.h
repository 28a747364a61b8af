/* Embedded texts (ir/base/embed.h), with their placeholders filled in. Used by everything in codegen that writes
 * one. */
#ifndef NN_CODEGEN_TEMPLATE_H
#define NN_CODEGEN_TEMPLATE_H
#include "ir/base/text.h"

/* The text of an embedded file with @NAME@ and the other placeholders of `values` ("NAME", text, ..., NULL) replaced.
 */
void template_text(struct text *out, const char *path, const char *const *values);
#endif
