/* The kinds of attributes by ONNX's numbers for them, for import and export. */
#ifndef NN_COMPILER_IMPORT_ONNX_KINDS_H
#define NN_COMPILER_IMPORT_ONNX_KINDS_H
#include "compiler/import/onnx.pb-c.h"
#include "ir/graph/graph.h"

/* false: a kind that the graph IR does not have. A sparse tensor is one, made dense. */
bool attr_kind_by_onnx(int type, enum attr_kind *k);
Onnx__AttributeProto__AttributeType attr_kind_onnx(enum attr_kind k);
#endif
