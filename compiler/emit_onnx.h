/* `compile --emit=onnx`: writes the graph as a model instead of the program. For api.c, which the command calls;
 * cmd_surgeon.c prints the same summary. */
#ifndef NN_COMPILER_EMIT_ONNX_H
#define NN_COMPILER_EMIT_ONNX_H
#include "compiler/export/onnx.h"
#include "compiler/session.h"

bool emits_onnx(const struct options *o);
/* To be called before session_compile: passes run up to the one that the user names, which must leave a graph; else up
 * to the last one that does. false: a diagnostic. */
bool emit_onnx_stop(struct session *s);
/* path NULL: MODEL.PASS.onnx here. false: a diagnostic. */
bool emit_onnx(struct session *s, const char *path, struct exported *e);
/* The summary of what was written, as text and as JSON; the text is in the arena. */
const char *exported_line(struct arena *a, const struct exported *e);
json_t *exported_json(struct arena *a, const struct exported *e);
#endif
