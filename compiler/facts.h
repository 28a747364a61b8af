/* Facts about a compiled model, as JSON, from the build folder: manifest.json and the C of its kernels. `report` shows
 * them and `diff` compares them, whether the folder was just made or came from somebody else. */
#ifndef NN_COMPILER_FACTS_H
#define NN_COMPILER_FACTS_H
#include "ir/base/ctx.h"
#include <jansson.h>

bool facts_is_folder(const char *path);
/* The manifest.json of a folder written by gcc2nn. NULL: a diagnostic was recorded. */
json_t *facts_manifest(struct ctx *c, const char *folder);
/* An index in a list of a manifest's graph; -1: null. */
int facts_index(const json_t *list, size_t k);
/* Name of each kernel -> its text: comment, helpers of its own, function. Texts that are too long for a page are cut,
 * and say so. Kernels that are not found are left out. NULL: a diagnostic was recorded. */
json_t *facts_code(struct ctx *c, const char *folder, const json_t *manifest);
/* The picture of a manifest's graph: `boxes`, each for a `group`, `input` or `output` (their numbers in the manifest),
 * and `edges` between boxes, each with its `value`. null: the manifest has no graph. */
json_t *facts_drawing(struct ctx *c, const json_t *manifest);
#endif
