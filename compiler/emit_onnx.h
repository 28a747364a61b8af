/* `compile --emit=onnx`: the graph as a model instead of the program. For api.c, which the command calls;
 * cmd_surgeon.c tells in the same words what is written. */
#ifndef NN_COMPILER_EMIT_ONNX_H
#define NN_COMPILER_EMIT_ONNX_H
#include "compiler/export/onnx.h"
#include "compiler/session.h"

bool emits_onnx(const struct options *o);
/* Before session_compile: passes run up to the one that the user names, which must leave a graph; else up to the last
 * that does. false: a diagnostic. */
bool emit_onnx_stop(struct session *s);
/* path NULL: MODEL.PASS.onnx here. false: a diagnostic. */
bool emit_onnx(struct session *s, const char *path, struct exported *e);
/* What was written, for people and for programs; the text is the arena's. */
const char *exported_line(struct arena *a, const struct exported *e);
json_t *exported_json(struct arena *a, const struct exported *e);
#endif
