/* ONNX import: attributes, types and constants, from protobuf-c's structs to those of the graph IR. */
#include "compiler/import/onnx_import.h"
#include "compiler/import/onnx_kinds.h"
#include "ir/base/checked.h"
#include <string.h>

enum { TYPE_DEPTH = 32 };
static const int64_t SIZE_MAX_DIM = INT32_MAX; /* default range of a symbol: design, run-time sizes */

/* ---- dims and symbols */
static bool symbol_range(struct importer *m, const char *name, struct dim_option *d) {
    *d = (struct dim_option){.name = name, .hi = SIZE_MAX_DIM};
    for (int i = 0; i < m->o.ndims; i++)
        if (strcmp(m->o.dims[i].name, name) == 0) {
            *d = m->o.dims[i];
            m->dim_used[i] = true;
            return true;
        }
    return false;
}

/* A symbol, or the number that the user gave for it. */
static expr symbol(struct importer *m, const char *name) {
    struct dim_option d;
    symbol_range(m, name, &d);
    if (d.lo == d.hi) return x_int(m->c, d.lo);
    if (m->g->syms.n == ONNX_MAX_SYMBOLS)
        return onnx_error(m, E_LIMIT, "the inputs have more than %d symbolic dimensions", ONNX_MAX_SYMBOLS),
               x_poison(m->c);
    const struct sym *s = graph_sym(m->g, name, d.lo, d.hi);
    if (d.ref) ((struct sym *)(uintptr_t)s)->ref = d.ref; /* created by us just now, so it may be modified */
    return x_sym(m->c, s);
}

expr onnx_unnamed_dim(struct importer *m, const char *input, int i) {
    const char *name = internf(m->c->names, "%s_d%d", input, i);
    while (map_get(&m->dim_names, PKEY(name))) /* a dim_param of another input may have this name */
        name = internf(m->c->names, "%s_", name);
    return symbol(m, name);
}

/* Some exporters give all unknown dims the same name, although they are not one size. */
static bool is_no_name(const char *s) {
    static const char *const names[] = {"", "?", "*", "-1", "None", "none"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(s, names[i]) == 0) return true;
    return false;
}

static expr model_dim(struct importer *m, const Onnx__TensorShapeProto__Dimension *d, const char *input, int i) {
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && d->dim_value >= 0)
        return x_int(m->c, d->dim_value);
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && !is_no_name(d->dim_param))
        return symbol(m, intern(m->c->names, d->dim_param));
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && d->dim_value < -1) {
        /* some exporters write -1 for unknown */
        onnx_error(m, E_SIZE, "dimension %d is %lld", i, (long long)d->dim_value);
        diag_help(&m->c->diags, "say the shape with --shape '%s=1x3x?x?' (? for any size)", input);
    }
    return onnx_unnamed_dim(m, input, i);
}

/* A shape with only the rank given. */
static const struct shape_option *open_shape(struct importer *m, const struct said_rank *r) {
    struct shape *s = NEW(&m->c->arena, struct shape);
    struct shape_option *x = NEW(&m->c->arena, struct shape_option);
    s->rank = r->rank;
    for (int k = 0; k < r->rank; k++) s->dims[k] = -1;
    *x = (struct shape_option){.name = r->name, .n = 1, .v = s, .from = "--rank"};
    return x;
}
const struct shape_option *onnx_shape_of(struct importer *m, const char *input) {
    const struct shape_option *x = NULL;
    for (int i = 0; i < m->o.nshapes; i++)
        if (strcmp(m->o.shapes[i].name, input) == 0) {
            m->shape_used[i] = true;
            x = &m->o.shapes[i];
        }
    for (int i = 0; i < m->o.nranks; i++)
        if (strcmp(m->o.ranks[i].name, input) == 0) {
            m->rank_used[i] = true;
            if (!x) x = open_shape(m, &m->o.ranks[i]);
            else if (x->n != 1 || x->v->rank != m->o.ranks[i].rank)
                onnx_error(m, E_USAGE, "--shape and --rank %s differ", diag_quote(&m->c->arena, input));
        }
    return x;
}

/* input: names unnamed dims; NULL: dims are left out. given: the shape that `from` (--shape, a file) says, or NULL.
 * part: of a sequence, whose elements need not share the sizes that its type names. */
struct type onnx_tensor_type(struct importer *m, const Onnx__TypeProto__Tensor *p, const char *input,
                             const struct shape *given, const char *from, bool part) {
    enum dtype t = dtype_by_onnx(p->elem_type);
    const Onnx__TensorShapeProto *shape = p->shape;
    if (!t)
        onnx_error(m, E_TYPE, "element type %d of %s is not known", p->elem_type,
                   input ? diag_quote(&m->c->arena, input) : "a value");
    if (!input || (!shape && !given)) /* except that a body may declare its parameter a scalar */
        return type_tensor(m->c, t, NULL, !input && shape && !shape->n_dim ? 0 : -1);
    int rank = given ? given->rank : shape->n_dim > 32 ? 33 : (int)shape->n_dim;
    if (rank > 32)
        return onnx_error(m, E_LIMIT, "%s has more than 32 dimensions", diag_quote(&m->c->arena, input)),
               type_tensor(m->c, t, NULL, -1);
    if (given && shape && shape->n_dim != (size_t)rank)
        onnx_error(m, E_USAGE, "%s gives %s %d dimensions, but the model gives it %zu", from,
                   diag_quote(&m->c->arena, input), rank, shape->n_dim);
    expr dims[32];
    for (int i = 0; i < rank; i++) {
        bool in_model = shape && (size_t)i < shape->n_dim;
        const Onnx__TensorShapeProto__Dimension *d = in_model ? shape->dim[i] : NULL;
        if (given && given->dims[i] >= 0) {
            dims[i] = x_int(m->c, given->dims[i]);
            if (d && d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && d->dim_value >= 0 &&
                d->dim_value != given->dims[i])
                onnx_error(m, E_USAGE, "%s gives dimension %d of %s the size %lld, but the model says %lld", from, i,
                           diag_quote(&m->c->arena, input), (long long)given->dims[i], (long long)d->dim_value);
        } else {
            bool named = part && d && d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            dims[i] = d && !named ? model_dim(m, d, input, i) : onnx_unnamed_dim(m, input, i);
        }
    }
    return type_tensor(m->c, t, dims, rank);
}

static struct type tensor_type(struct importer *m, const Onnx__TypeProto__Tensor *p, const char *input) {
    const struct shape_option *given = input ? onnx_shape_of(m, input) : NULL;
    if (given && (given->none || given->n != 1)) {
        onnx_error(m, E_USAGE, "--shape %s: it is one tensor", diag_quote(&m->c->arena, input));
        given = NULL;
    }
    return onnx_tensor_type(m, p, input, given ? given->v : NULL, given ? given->from : NULL, false);
}

static struct type type_of(struct importer *m, const Onnx__TypeProto *p, const char *input, int depth) {
    struct type ty = {.rank = -1}, *elem;
    const Onnx__TypeProto *inner = NULL;
    if (depth > TYPE_DEPTH) return onnx_error(m, E_LIMIT, "a type nests more than %d levels deep", TYPE_DEPTH), ty;
    switch (p ? p->value_case : ONNX__TYPE_PROTO__VALUE__NOT_SET) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE: return tensor_type(m, p->tensor_type, input);
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        ty.kind = TY_SEQUENCE;
        inner = p->sequence_type->elem_type;
        break;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        ty.kind = TY_OPTIONAL;
        inner = p->optional_type->elem_type;
        break;
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        ty.kind = TY_MAP;
        ty.dtype = dtype_by_onnx(p->map_type->key_type);
        if (!dtype_is_int(ty.dtype) && ty.dtype != STR)
            onnx_error(m, E_TYPE, "the keys of a map must be integers or strings");
        inner = p->map_type->value_type;
        break;
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
    case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
        onnx_error(m, E_TYPE, "%s is a sparse or opaque value, which is not supported",
                   input ? diag_quote(&m->c->arena, input) : "a value");
        return ty;
    default: return ty;
    }
    elem = NEW(&m->c->arena, struct type);
    *elem = type_of(m, inner, input, depth + 1);
    ty.elem = elem;
    return ty;
}

struct type onnx_type(struct importer *m, const Onnx__TypeProto *p, const char *input) {
    return type_of(m, p, input, 0);
}

/* ---- constants */
static bool charge(struct importer *m, int64_t bytes) {
    if (bytes <= m->o.max_bytes - m->bytes) {
        m->bytes += bytes;
        return true;
    }
    if (!m->stopped)
        onnx_error(m, E_LIMIT, "the model's constants hold more than %lld bytes", (long long)m->o.max_bytes);
    m->stopped = true;
    return false;
}

const struct tensor *onnx_tensor(struct importer *m, const Onnx__TensorProto *p) {
    struct tensor *t = tensor_from_proto(&m->reader, p);
    if (t && t->source != TS_MAPPED && !charge(m, (int64_t)t->nbytes)) return NULL;
    return t;
}

/* Position in the dense tensor of the k-th value, or -1. Indices are linear, or one row per value. */
static int64_t dense_index(const struct tensor *idx, const struct tensor *dense, int64_t k, int64_t count) {
    if (idx->rank == 1) {
        int64_t i = tensor_i(idx, k);
        return i >= 0 && i < count ? i : -1;
    }
    int64_t at = 0;
    for (int d = 0; d < dense->rank; d++) {
        int64_t i = tensor_i(idx, k * dense->rank + d);
        if (i < 0 || i >= dense->dims[d]) return -1;
        at = at * dense->dims[d] + i;
    }
    return at;
}

const struct tensor *onnx_sparse(struct importer *m, const Onnx__SparseTensorProto *p) {
    const struct tensor *v = p->values ? onnx_tensor(m, p->values) : NULL,
                        *idx = p->indices ? onnx_tensor(m, p->indices) : NULL;
    if (!v || !idx) return onnx_error(m, E_ONNX, "a sparse tensor lacks its values or indices"), NULL;
    int rank = p->n_dims > 32 ? 33 : (int)p->n_dims;
    int64_t count = 1, bytes = 0, n = tensor_count(v);
    bool ok = rank >= 1 && rank <= 32 && v->rank == 1 && v->type != STR && idx->type == I64 &&
              ((idx->rank == 1 && idx->dims[0] == n) || (idx->rank == 2 && idx->dims[0] == n && idx->dims[1] == rank));
    for (int i = 0; ok && i < rank; i++) ok = p->dims[i] >= 0 && mul_ok(count, p->dims[i], &count);
    ok = ok && (bytes = dtype_packed_bytes(v->type, count)) >= 0;
    if (!ok) return onnx_error(m, E_ONNX, "the shape, values and indices of a sparse tensor do not fit together"), NULL;
    if (!charge(m, bytes)) return NULL;
    struct tensor *t = tensor_new(&m->c->arena, v->type, p->dims, rank);
    t->name = v->name;
    size_t size = (size_t)dtype_bytes(v->type);
    for (int64_t k = 0; k < n; k++) {
        int64_t at = dense_index(idx, t, k, count);
        if (at < 0)
            return onnx_error(m, E_ONNX, "index %lld of a sparse tensor is outside of its shape", (long long)k), NULL;
        if (dtype_bits(t->type) < 8) tensor_set_i(t, at, tensor_i(v, k));
        else memcpy((char *)tensor_data(t) + (size_t)at * size, (const char *)v->bytes + (size_t)k * size, size);
    }
    return t;
}

/* ---- attributes */
const Onnx__AttributeProto *onnx_resolve(const struct frame *f, const Onnx__AttributeProto *a) {
    while (a && a->ref_attr_name && *a->ref_attr_name && f && f->function) {
        const char *name = a->ref_attr_name;
        a = NULL;
        for (size_t i = 0; !a && i < f->call->n_attribute; i++)
            if (f->call->attribute[i]->name && strcmp(f->call->attribute[i]->name, name) == 0)
                a = f->call->attribute[i];
        if (!a) {
            for (size_t i = 0; !a && i < f->function->n_attribute_proto; i++)
                if (f->function->attribute_proto[i]->name && strcmp(f->function->attribute_proto[i]->name, name) == 0)
                    a = f->function->attribute_proto[i];
            return a; /* defaults are never references */
        }
        f = f->caller;
    }
    return a;
}

/* Before IR version 2 attributes had no type field. */
static int guess_kind(const Onnx__AttributeProto *p) {
    return p->has_f           ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT
           : p->has_i         ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT
           : p->has_s         ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING
           : p->t             ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR
           : p->g             ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH
           : p->n_floats      ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS
           : p->n_strings     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS
           : p->n_tensors     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSORS
           : p->sparse_tensor ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR
           : p->tp            ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTO
                              : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
}

static struct str_elem bytes_of(const ProtobufCBinaryData *b) {
    return (struct str_elem){b->len ? (const char *)b->data : "", b->len};
}

static bool tensor_list(struct importer *m, const Onnx__AttributeProto *p, struct attr *a) {
    const struct tensor **ts = NEWN(&m->c->arena, const struct tensor *, p->n_tensors);
    for (size_t i = 0; i < p->n_tensors; i++)
        if (!(ts[i] = onnx_tensor(m, p->tensors[i]))) return false;
    a->n = (int)p->n_tensors;
    a->u.ts = ts;
    return true;
}

static void string_list(struct importer *m, const Onnx__AttributeProto *p, struct attr *a) {
    struct str_elem *ss = NEWN(&m->c->arena, struct str_elem, p->n_strings);
    for (size_t i = 0; i < p->n_strings; i++) ss[i] = bytes_of(&p->strings[i]);
    a->n = (int)p->n_strings;
    a->u.ss = ss;
}

static bool one_tensor(struct importer *m, const Onnx__AttributeProto *p, bool sparse, struct attr *a) {
    if (sparse) a->u.t = p->sparse_tensor ? onnx_sparse(m, p->sparse_tensor) : NULL;
    else a->u.t = p->t ? onnx_tensor(m, p->t) : NULL;
    return a->u.t != NULL;
}
static void type_value(struct importer *m, const Onnx__AttributeProto *p, struct attr *a) {
    struct type *ty = NEW(&m->c->arena, struct type);
    *ty = onnx_type(m, p->tp, NULL);
    a->u.type = ty;
}

enum attr_kind_result onnx_attr(struct importer *m, const char *name, const Onnx__AttributeProto *p, struct attr *a) {
    int type = p->has_type && p->type ? (int)p->type : guess_kind(p);
    *a = (struct attr){.name = name};
    if (!attr_kind_by_onnx(type, &a->kind)) return ATTR_BAD;
    switch (a->kind) {
    case AT_INT: a->u.i = p->i; break;
    case AT_FLOAT: a->u.f = p->f; break;
    case AT_STRING: a->u.s = bytes_of(&p->s); break;
    case AT_INTS: a->n = (int)p->n_ints, a->u.is = p->ints; break;
    case AT_FLOATS: a->n = (int)p->n_floats, a->u.fs = p->floats; break;
    case AT_STRINGS: string_list(m, p, a); break;
    case AT_TENSOR:
        return one_tensor(m, p, type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR, a) ? ATTR_OK : ATTR_BAD;
    case AT_TENSORS: return tensor_list(m, p, a) ? ATTR_OK : ATTR_BAD;
    case AT_TYPE: type_value(m, p, a); break;
    case AT_REGION: return p->g ? ATTR_GRAPH : ATTR_BAD;
    }
    return ATTR_OK;
}

/* ---- Constant nodes: exactly one of eight attributes */
static const struct tensor *from_list(struct importer *m, enum dtype t, const struct attr *a, bool scalar) {
    struct tensor *x = tensor_new(&m->c->arena, t, (int64_t[]){a->n}, scalar ? 0 : 1);
    for (int i = 0; i < (scalar ? 1 : a->n); i++)
        if (t == I64) tensor_set_i(x, i, scalar ? a->u.i : a->u.is[i]);
        else if (t == F32)
            memcpy((float *)tensor_data(x) + i, scalar ? &a->u.f : &a->u.fs[i],
                   sizeof(float)); /* NaNs keep their bits */
        else ((struct str_elem *)tensor_data(x))[i] = scalar ? a->u.s : a->u.ss[i];
    return x;
}

const struct tensor *onnx_constant(struct importer *m, const struct scope *s, const Onnx__NodeProto *p) {
    static const struct {
        const char *name;
        enum attr_kind kind;
        enum dtype type;
    } forms[] = {
        {"value", AT_TENSOR, NONE},       {"sparse_value", AT_TENSOR, NONE},  {"value_float", AT_FLOAT, F32},
        {"value_floats", AT_FLOATS, F32}, {"value_int", AT_INT, I64},         {"value_ints", AT_INTS, I64},
        {"value_string", AT_STRING, STR}, {"value_strings", AT_STRINGS, STR},
    };
    for (size_t i = 0; i < p->n_attribute; i++) {
        const Onnx__AttributeProto *q = onnx_resolve(s->frame, p->attribute[i]);
        for (size_t k = 0; q && p->attribute[i]->name && k < sizeof forms / sizeof *forms; k++) {
            struct attr a;
            if (strcmp(p->attribute[i]->name, forms[k].name) != 0) continue;
            if (onnx_attr(m, forms[k].name, q, &a) != ATTR_OK || a.kind != forms[k].kind)
                return onnx_error(m, E_ATTR, "attribute \"%s\" has the wrong type", forms[k].name), NULL;
            return a.kind == AT_TENSOR
                       ? a.u.t
                       : from_list(m, forms[k].type, &a, a.kind == AT_INT || a.kind == AT_FLOAT || a.kind == AT_STRING);
        }
    }
    return onnx_error(m, E_ATTR, "a Constant has no value"), NULL;
}
