/* What is known of a compiled model, as JSON, from the build folder: manifest.json and the C of its kernels. What
 * `report` shows and `diff` compares, whether the folder was made a moment ago or by somebody else. */
#ifndef NN_COMPILER_FACTS_H
#define NN_COMPILER_FACTS_H
#include "ir/base/ctx.h"
#include <jansson.h>

bool facts_is_folder(const char *path);
/* manifest.json of a folder that gcc2nn wrote. NULL: a diagnostic was recorded. */
json_t *facts_manifest(struct ctx *c, const char *folder);
/* Name of each kernel -> its text: comment, helpers of its own, function. What is too long for a page is cut, and says
 * so. Kernels that are not found are left out. NULL: a diagnostic was recorded. */
json_t *facts_code(struct ctx *c, const char *folder, const json_t *manifest);
/* A picture of the graph in a manifest: `boxes`, each for a `group`, `input` or `output` (their numbers there), and
 * `edges` between boxes, each with the `value` that flows. null: the manifest has no graph. */
json_t *facts_drawing(struct ctx *c, const json_t *manifest);
#endif
