/* Operators of the user's own as a library that ONNX Runtime loads: its sources (`gcc2nn ort-ops`), and built, so that
 * verify can ask ONNX Runtime about models that have them. */
#ifndef NN_COMPILER_ORT_OPS_H
#define NN_COMPILER_ORT_OPS_H
#include "compiler/import/file.h"
#include "ir/base/ctx.h"
#include "ir/base/workdir.h"

/* Writes the operators of c into the folder; their files. false: a diagnostic. */
bool ort_ops_write(struct ctx *c, const char *folder, file_names *names);
bool ort_ops_have_cpp(const file_names *names);
/* The library, in the folder `sub` of `folder`: its path from there. NULL: a diagnostic, or *why says what is missing.
 */
const char *ort_ops_build(struct ctx *c, const char *folder, const char *sub, const char **why);
#endif
