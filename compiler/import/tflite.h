/* TensorFlow Lite model to graph IR, beside the ONNX import (onnx.h): another first step, the rest of the way is one.
 * Each operator becomes a node of the domain "tflite" of its name; their rows (lower/ops/tflite*.c) say what it is. */
#ifndef NN_COMPILER_IMPORT_TFLITE_H
#define NN_COMPILER_IMPORT_TFLITE_H
#include "compiler/import/onnx.h"

/* By the file identifier, as the format wants it. */
bool is_tflite(const uint8_t *data, size_t n);
/* NULL: diagnostics were recorded. data must live as long as the graph. */
struct graph *import_tflite_bytes(struct ctx *c, const char *path, const uint8_t *data, size_t n,
                                  const struct import_options *o);
/* A model file of either format. NULL: diagnostics were recorded. The file stays mapped as long as the process. */
struct graph *import_model(struct ctx *c, const char *path, const struct import_options *o);
#endif
