/* The kinds of attributes: one table for both directions. See onnx_kinds.h. */
#include "compiler/import/onnx_kinds.h"

#define TYPE(t) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##t
/* If a kind has two rows, the first is written. */
static const struct {
    Onnx__AttributeProto__AttributeType type;
    enum attr_kind kind;
} kinds[] = {
    {TYPE(INT), AT_INT},       {TYPE(FLOAT), AT_FLOAT},          {TYPE(STRING), AT_STRING},
    {TYPE(INTS), AT_INTS},     {TYPE(FLOATS), AT_FLOATS},        {TYPE(STRINGS), AT_STRINGS},
    {TYPE(TENSOR), AT_TENSOR}, {TYPE(SPARSE_TENSOR), AT_TENSOR}, {TYPE(TENSORS), AT_TENSORS},
    {TYPE(GRAPH), AT_REGION},  {TYPE(TYPE_PROTO), AT_TYPE},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

bool attr_kind_by_onnx(int type, enum attr_kind *k) {
    for (int i = 0; i < KINDS; i++)
        if ((int)kinds[i].type == type) return *k = kinds[i].kind, true;
    return false;
}
Onnx__AttributeProto__AttributeType attr_kind_onnx(enum attr_kind k) {
    int i = 0;
    while (kinds[i].kind != k) i++;
    return kinds[i].type;
}
