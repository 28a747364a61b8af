/* TensorFlow Lite files, read by flatbuffers: verifier first, then everything that the import needs as C structs
 * (tflite_read.h). Options of operators are read by reflection, so that each field of each table is an attribute of its
 * name and no operator needs a line here. First step of a .tflite file on the way from model to source. */
#include "compiler/import/tflite_read.h"
#include "compiler/import/tflite_generated.h"
#include "flatbuffers/flexbuffers.h"
#include "flatbuffers/minireflect.h"
extern "C" {
#include "ir/base/arena.h"
}
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace {
using flatbuffers::Vector;
namespace fb = flatbuffers;

struct reader {
    struct arena *a;
    const uint8_t *data;
    size_t size;
    const tflite::Model *model;
    const char **why;
    size_t tables; /* visited: many may be one, so that a small file says much */
};
const size_t MAX_TABLES = 1 << 20;

bool wrong(reader &r, const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    std::vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    *r.why = static_cast<const char *>(arena_copy(r.a, text, std::strlen(text) + 1));
    return false;
}
bool visit(reader &r, size_t n) {
    r.tables += n;
    return r.tables <= MAX_TABLES || wrong(r, "more than %zu tables", MAX_TABLES);
}
template <typename T> int length(const Vector<T> *v) { return v ? static_cast<int>(v->size()) : 0; }
template <typename T> tfl_list list_of(const Vector<T> *v) {
    tfl_list l = {v ? v->Data() : nullptr, length(v)};
    return l;
}
const int32_t *ints(reader &r, const Vector<int32_t> *v) {
    return v ? static_cast<const int32_t *>(arena_copy(r.a, v->Data(), v->size() * sizeof(int32_t))) : nullptr;
}
/* Names are hashed once for each use: long ones that many tensors share would cost minutes. */
const char *text(reader &r, const fb::String *s, bool *ok) {
    if (s && s->size() > TFL_NAME_MAX) *ok = wrong(r, "a name of more than %d bytes", TFL_NAME_MAX);
    return s && *ok ? s->c_str() : "";
}

/* ---- tensors */
template <typename T> const int32_t *widened(reader &r, const Vector<T> *v, int *n) {
    *n = length(v);
    int32_t *to = NEWN(r.a, int32_t, *n);
    for (int k = 0; k < *n; k++) {
        T e;
        std::memcpy(&e, v->Data() + static_cast<size_t>(k) * sizeof e, sizeof e);
        to[k] = static_cast<int32_t>(e);
    }
    return to;
}
const int32_t *sparse_indices(reader &r, tflite::SparseIndexVector type, const void *table, int *n) {
    *n = 0;
    if (!table) return nullptr;
    if (type == tflite::SparseIndexVector_Int32Vector)
        return widened(r, static_cast<const tflite::Int32Vector *>(table)->values(), n);
    if (type == tflite::SparseIndexVector_Uint16Vector)
        return widened(r, static_cast<const tflite::Uint16Vector *>(table)->values(), n);
    if (type == tflite::SparseIndexVector_Uint8Vector)
        return widened(r, static_cast<const tflite::Uint8Vector *>(table)->values(), n);
    return nullptr;
}
const tfl_sparsity *sparsity_of(reader &r, const tflite::SparsityParameters *p) {
    if (!p) return nullptr;
    tfl_sparsity *s = NEW(r.a, tfl_sparsity);
    s->traversal_order = list_of(p->traversal_order());
    s->block_map = list_of(p->block_map());
    s->nlevels = length(p->dim_metadata());
    s->levels = NEWN(r.a, tfl_level, s->nlevels);
    for (int k = 0; k < s->nlevels; k++) {
        const tflite::DimensionMetadata *d = p->dim_metadata()->Get(static_cast<fb::uoffset_t>(k));
        tfl_level *l = &s->levels[k];
        l->sparse = d->format() == tflite::DimensionType_SPARSE_CSR;
        l->dense_size = d->dense_size();
        l->segments = sparse_indices(r, d->array_segments_type(), d->array_segments(), &l->nsegments);
        l->indices = sparse_indices(r, d->array_indices_type(), d->array_indices(), &l->nindices);
    }
    return s;
}
/* The bytes of buffer k. Buffer 0 is the empty one. */
bool buffer(reader &r, uint32_t k, tfl_tensor *t) {
    if (k == 0) return true;
    if (k >= static_cast<uint32_t>(length(r.model->buffers())))
        return wrong(r, "a tensor has buffer %u of %d", k, length(r.model->buffers()));
    const tflite::Buffer *b = r.model->buffers()->Get(k);
    if (b->data() && b->data()->size()) {
        t->bytes = b->data()->Data();
        t->nbytes = b->data()->size();
    } else if (b->offset() > 1) { /* behind the flatbuffer; 1 marks a buffer that was left empty */
        if (b->offset() > r.size || b->size() > r.size - b->offset())
            return wrong(r, "buffer %u lies outside of the file", k);
        t->bytes = r.data + b->offset();
        t->nbytes = static_cast<size_t>(b->size());
    }
    return true;
}
bool tensor(reader &r, const tflite::Tensor *p, tfl_tensor *t) {
    bool ok = true;
    const Vector<int32_t> *shape = p->shape(), *open = p->shape_signature();
    t->name = text(r, p->name(), &ok);
    t->type = p->type();
    t->is_variable = p->is_variable();
    t->rank = length(shape);
    if (!ok) return false;
    if (t->rank > TFL_MAX_RANK) return wrong(r, "a tensor of rank %d", t->rank);
    int64_t *dims = NEWN(r.a, int64_t, t->rank + 1);
    for (int k = 0; k < t->rank; k++) {
        dims[k] = shape->Get(static_cast<fb::uoffset_t>(k));
        if (length(open) == t->rank && open->Get(static_cast<fb::uoffset_t>(k)) < 0) dims[k] = -1;
        if (dims[k] < -1) return wrong(r, "a tensor with a dimension of %lld", static_cast<long long>(dims[k]));
    }
    t->dims = dims;
    if (p->external_buffer()) return wrong(r, "weights in files of their own are not supported");
    if (const tflite::QuantizationParameters *q = p->quantization()) {
        t->scale = list_of(q->scale());
        t->zero_point = list_of(q->zero_point());
        t->axis = q->quantized_dimension();
        t->odd_quantization = q->details_type() != tflite::QuantizationDetails_NONE;
    }
    if (p->sparsity() && !visit(r, 1 + static_cast<size_t>(length(p->sparsity()->dim_metadata())))) return false;
    t->sparsity = sparsity_of(r, p->sparsity());
    return buffer(r, p->buffer(), t);
}

/* ---- options as attributes */
struct options_reader : fb::IterationVisitor {
    reader *r;
    tfl_attr attrs[64];
    int n = 0, depth = 0;
    bool in_vector = false, ok = true;
    void StartSequence() override { depth++; }
    void EndSequence() override { depth--; }
    void StartVector() override { in_vector = true; }
    void EndVector() override { in_vector = false; }
    void Field(size_t, size_t, fb::ElementaryType type, bool is_vector, const fb::TypeTable *, const char *name,
               const uint8_t *val) override {
        if (!val || depth != 1 || n == 64) return;
        tfl_attr *a = &attrs[n++];
        *a = tfl_attr();
        a->name = name;
        if (!is_vector) return; /* its value comes next */
        const uint8_t *vec = val + fb::ReadScalar<fb::uoffset_t>(val);
        uint32_t count = fb::ReadScalar<fb::uoffset_t>(vec);
        bool known = type == fb::ET_INT || type == fb::ET_LONG || type == fb::ET_FLOAT;
        if (!known || count > TFL_LIST_MAX) {
            n--;
            ok = ok && (!known || wrong(*r, "an option %s of %u elements", name, count));
            return;
        }
        a->kind = type == fb::ET_FLOAT ? TFL_FLOATS : type == fb::ET_LONG ? TFL_LONGS : TFL_INTS;
        a->list.bytes = vec + sizeof(fb::uoffset_t);
        a->list.n = static_cast<int>(count);
    }
    void set(int64_t v) {
        if (!in_vector && depth == 1) attrs[n - 1].kind = TFL_INT, attrs[n - 1].i = v;
    }
    void Bool(bool v) override { set(v); }
    void Char(int8_t v, const char *) override { set(v); }
    void UChar(uint8_t v, const char *) override { set(v); }
    void Short(int16_t v, const char *) override { set(v); }
    void UShort(uint16_t v, const char *) override { set(v); }
    void Int(int32_t v, const char *) override { set(v); }
    void UInt(uint32_t v, const char *) override { set(v); }
    void Long(int64_t v) override { set(v); }
    void Float(float v) override {
        if (!in_vector && depth == 1) attrs[n - 1].kind = TFL_FLOAT, attrs[n - 1].f = v;
    }
    void String(const fb::String *s) override {
        if (in_vector || depth != 1) return;
        attrs[n - 1].kind = TFL_STRING;
        attrs[n - 1].s = text(*r, s, &ok);
    }
};
/* The table that member `type` of the union has. */
const fb::TypeTable *member(const fb::TypeTable *u, int type) {
    for (size_t k = 0; k < u->num_elems; k++)
        if ((u->values ? u->values[k] : static_cast<int64_t>(k)) == type &&
            u->type_codes[k].base_type == fb::ET_SEQUENCE)
            return u->type_refs[u->type_codes[k].sequence_ref]();
    return nullptr;
}
bool options(reader &r, const tflite::Operator *p, tfl_operator *o) {
    const fb::TypeTable *t = nullptr;
    const void *table = nullptr;
    if (o->custom) return true;
    if (p->builtin_options_type() != tflite::BuiltinOptions_NONE)
        t = member(tflite::BuiltinOptionsTypeTable(), p->builtin_options_type()), table = p->builtin_options();
    else if (p->builtin_options_2_type() != tflite::BuiltinOptions2_NONE)
        t = member(tflite::BuiltinOptions2TypeTable(), p->builtin_options_2_type()), table = p->builtin_options_2();
    if (!t || !table) return true;
    options_reader v;
    v.r = &r;
    fb::IterateObject(static_cast<const uint8_t *>(table), t, &v);
    o->nattrs = v.n;
    o->attrs = static_cast<tfl_attr *>(arena_copy(r.a, v.attrs, static_cast<size_t>(v.n) * sizeof *v.attrs));
    return v.ok;
}

/* Options of custom operators are a flexbuffer, as a rule: a map whose numbers are attributes. Others have none. */
const int MAX_KEYS = 64;
bool custom_options(reader &r, tfl_operator *o) {
    if (!o->noptions || o->noptions > TFL_LIST_MAX) return true;
    const uint8_t *copy = static_cast<const uint8_t *>(arena_copy(r.a, o->options, o->noptions)); /* aligned */
    if (!flexbuffers::VerifyBuffer(copy, o->noptions, nullptr)) return true;
    flexbuffers::Reference root = flexbuffers::GetRoot(copy, o->noptions);
    if (!root.IsMap()) return true;
    flexbuffers::TypedVector keys = root.AsMap().Keys();
    flexbuffers::Vector values = root.AsMap().Values();
    size_t n = keys.size() < values.size() ? keys.size() : values.size();
    o->attrs = NEWN(r.a, tfl_attr, MAX_KEYS);
    for (size_t k = 0; k < n && o->nattrs < MAX_KEYS; k++) {
        flexbuffers::Reference v = values[k];
        tfl_attr *a = &o->attrs[o->nattrs];
        const char *name = keys[k].AsKey();
        if (!(v.IsIntOrUint() || v.IsBool() || v.IsFloat())) continue;
        a->name = static_cast<const char *>(arena_copy(r.a, name, std::strlen(name) + 1));
        a->kind = v.IsFloat() ? TFL_FLOAT : TFL_INT;
        if (v.IsFloat()) a->f = v.AsFloat();
        else a->i = v.IsBool() ? v.AsBool() : v.AsInt64();
        o->nattrs++;
    }
    return true;
}

/* ---- operators and graphs */
bool in_range(reader &r, const int32_t *v, int n, int limit, bool may_be_absent, const char *what) {
    for (int k = 0; k < n; k++)
        if (v[k] >= limit || v[k] < (may_be_absent ? -1 : 0))
            return wrong(r, "%s names tensor %d of %d", what, v[k], limit);
    return true;
}
bool name_of(reader &r, const tflite::Operator *p, tfl_operator *o) {
    bool ok = true;
    if (p->opcode_index() >= static_cast<uint32_t>(length(r.model->operator_codes())))
        return wrong(r, "an operator has code %u of %d", p->opcode_index(), length(r.model->operator_codes()));
    const tflite::OperatorCode *c = r.model->operator_codes()->Get(p->opcode_index());
    int code = c->deprecated_builtin_code(), wide = c->builtin_code(); /* one byte, in the files of old; or both */
    if (wide > code) code = wide;
    o->custom = code == tflite::BuiltinOperator_CUSTOM;
    if (o->custom) {
        o->name = text(r, c->custom_code(), &ok);
        o->options = p->custom_options() ? p->custom_options()->Data() : nullptr;
        o->noptions = static_cast<size_t>(length(p->custom_options()));
        return ok && custom_options(r, o);
    }
    if (code < tflite::BuiltinOperator_MIN || code > tflite::BuiltinOperator_MAX)
        return wrong(r, "builtin operator %d is not known", code);
    o->name = tflite::EnumNameBuiltinOperator(static_cast<tflite::BuiltinOperator>(code));
    return true;
}
bool oper(reader &r, const tflite::Operator *p, int ntensors, tfl_operator *o) {
    if (!name_of(r, p, o)) return false;
    o->nins = length(p->inputs());
    o->nouts = length(p->outputs());
    o->nmids = length(p->intermediates());
    if (!visit(r, static_cast<size_t>(o->nins) + static_cast<size_t>(o->nouts) + static_cast<size_t>(o->nmids)))
        return false;
    o->ins = ints(r, p->inputs());
    o->outs = ints(r, p->outputs());
    o->mids = ints(r, p->intermediates());
    if (!in_range(r, o->mids, o->nmids, ntensors, false, o->name)) return false;
    return in_range(r, o->ins, o->nins, ntensors, true, o->name) &&
           in_range(r, o->outs, o->nouts, ntensors, true, o->name) && options(r, p, o);
}
bool graph(reader &r, const tflite::SubGraph *p, tfl_graph *g) {
    bool ok = true;
    g->name = text(r, p->name(), &ok);
    g->ntensors = length(p->tensors());
    g->noperators = length(p->operators());
    g->nins = length(p->inputs());
    g->nouts = length(p->outputs());
    if (!ok || !visit(r, static_cast<size_t>(g->ntensors) + static_cast<size_t>(g->noperators) +
                             static_cast<size_t>(g->nins) + static_cast<size_t>(g->nouts)))
        return false;
    g->tensors = NEWN(r.a, tfl_tensor, g->ntensors);
    g->operators = NEWN(r.a, tfl_operator, g->noperators);
    g->ins = ints(r, p->inputs());
    g->outs = ints(r, p->outputs());
    for (int k = 0; k < g->ntensors; k++)
        if (!tensor(r, p->tensors()->Get(static_cast<fb::uoffset_t>(k)), &g->tensors[k])) return false;
    for (int k = 0; k < g->noperators; k++)
        if (!oper(r, p->operators()->Get(static_cast<fb::uoffset_t>(k)), g->ntensors, &g->operators[k])) return false;
    return in_range(r, g->ins, g->nins, g->ntensors, false, "the list of inputs") &&
           in_range(r, g->outs, g->nouts, g->ntensors, false, "the list of outputs");
}
bool ports(reader &r, const Vector<fb::Offset<tflite::TensorMap>> *v, int ntensors, tfl_port **to, int *n) {
    bool ok = true;
    *n = length(v);
    *to = NEWN(r.a, tfl_port, *n);
    if (!visit(r, static_cast<size_t>(*n))) return false;
    for (int k = 0; k < *n && ok; k++) {
        const tflite::TensorMap *m = v->Get(static_cast<fb::uoffset_t>(k));
        (*to)[k].name = text(r, m->name(), &ok);
        (*to)[k].tensor = static_cast<int>(m->tensor_index());
        ok = ok && in_range(r, &(*to)[k].tensor, 1, ntensors, false, "a signature");
    }
    return ok;
}
bool signature(reader &r, const tflite::SignatureDef *p, const tfl_model *m, tfl_signature *s) {
    bool ok = true;
    s->key = text(r, p->signature_key(), &ok);
    if (p->subgraph_index() >= static_cast<uint32_t>(m->ngraphs))
        return wrong(r, "a signature is of graph %u of %d", p->subgraph_index(), m->ngraphs);
    s->graph = static_cast<int>(p->subgraph_index());
    int n = m->graphs[s->graph].ntensors;
    return ok && ports(r, p->inputs(), n, &s->ins, &s->nins) && ports(r, p->outputs(), n, &s->outs, &s->nouts);
}
bool model(reader &r, tfl_model *m) {
    bool ok = true;
    m->version = static_cast<int>(r.model->version());
    m->description = text(r, r.model->description(), &ok);
    m->ngraphs = length(r.model->subgraphs());
    m->nsignatures = length(r.model->signature_defs());
    if (!ok) return false;
    if (m->version != 3) return wrong(r, "schema version %d; 3 is supported", m->version);
    if (m->ngraphs < 1) return wrong(r, "the model has no graph");
    m->graphs = NEWN(r.a, tfl_graph, m->ngraphs);
    m->signatures = NEWN(r.a, tfl_signature, m->nsignatures);
    for (int k = 0; k < m->ngraphs; k++)
        if (!graph(r, r.model->subgraphs()->Get(static_cast<fb::uoffset_t>(k)), &m->graphs[k])) return false;
    for (int k = 0; k < m->nsignatures; k++)
        if (!signature(r, r.model->signature_defs()->Get(static_cast<fb::uoffset_t>(k)), m, &m->signatures[k]))
            return false;
    return true;
}
} // namespace

const struct tfl_model *tfl_read(struct arena *a, const uint8_t *data, size_t size, const char **why) {
    reader r = {a, data, size, nullptr, why, 0};
    size_t covered =
        size < FLATBUFFERS_MAX_BUFFER_SIZE ? size : FLATBUFFERS_MAX_BUFFER_SIZE - 1; /* buffers may follow */
    fb::Verifier::Options limits;
    limits.max_depth = 64;
    limits.max_tables = MAX_TABLES;
    fb::Verifier verifier(data, covered, limits);
    *why = nullptr;
    if (!tflite::VerifyModelBuffer(verifier))
        return wrong(r, "its tables are damaged, or more than %zu", MAX_TABLES), nullptr;
    r.model = tflite::GetModel(data);
    tfl_model *m = NEW(a, tfl_model);
    return model(r, m) ? m : nullptr;
}
