/* ONNX export: names, types, nodes and bodies, from the graph IR to protobuf-c's structs. A body captures by name
 * again: the parameters that stand for captured values are written as those values. */
#include "compiler/export/onnx_export.h"
#include "compiler/import/onnx_kinds.h"
#include "ir/graph/op.h"
#include <string.h>

static char *chars(const char *s) { return (char *)(uintptr_t)s; }

void *onnx_message(struct exporter *x, const ProtobufCMessageDescriptor *d) {
    void *p = arena_alloc(&x->c->arena, d->sizeof_message);
    protobuf_c_message_init(d, p);
    return p;
}

/* ---- names: one for each value of the file, bodies included */
static const char *fresh(struct exporter *x, struct map *taken, const char *base) {
    const char *stem = intern(x->c->names, base), *name = stem;
    intptr_t k = (intptr_t)map_get(taken, PKEY(stem));
    while (map_get(taken, PKEY(name))) name = internf(x->c->names, "%s_%d", stem, (int)++k);
    map_put(taken, PKEY(name), (void *)(intptr_t)1);
    map_put(taken, PKEY(stem), (void *)(k ? k : (intptr_t)1));
    return name;
}
const char *onnx_fresh(struct exporter *x, const char *base) { return fresh(x, &x->taken, base); }
static const char *base_name(const struct value *v) {
    if (*v->name) return v->name;
    if (v->init) return v->init->name && *v->init->name ? v->init->name : "const";
    return !v->def ? "arg" : *v->def->name ? v->def->name : v->def->op_type;
}
static void store(struct exporter *x, const char *name, const struct value *v) {
    Onnx__TensorProto *p = onnx_message(x, &onnx__tensor_proto__descriptor);
    p->name = chars(name);
    if (v->init->stand_in)
        diag_at(&x->c->diags, DIAG_ERROR, E_SAY, x->g->file, NULL,
                "the contents of constant %s are not in the text, which has their hash alone",
                diag_quote(&x->c->arena, name));
    PUSH(&x->c->arena, &x->weights, ((struct stored){p, v->init}));
}
const char *onnx_name(struct exporter *x, const struct value *v) {
    const char *name = map_get(&x->names, PKEY(v));
    if (name) return name;
    name = onnx_fresh(x, base_name(v));
    map_put(&x->names, PKEY(v), chars(name));
    if (v->init) store(x, name, v);
    return name;
}

/* ---- types */
static Onnx__TensorShapeProto *shape_of(struct exporter *x, const struct type *t) {
    Onnx__TensorShapeProto *s = onnx_message(x, &onnx__tensor_shape_proto__descriptor);
    s->n_dim = (size_t)t->rank;
    s->dim = NEWN(&x->c->arena, Onnx__TensorShapeProto__Dimension *, t->rank);
    for (int k = 0; k < t->rank; k++) {
        Onnx__TensorShapeProto__Dimension *d = s->dim[k] =
            onnx_message(x, &onnx__tensor_shape_proto__dimension__descriptor);
        if (x_is_int(t->dims[k], &d->dim_value)) {
            d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            continue;
        }
        struct text text = {0};
        dim_print(&text, t->dims[k]);
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        d->dim_param = text_take(&text, &x->c->arena);
    }
    return s;
}
static Onnx__TypeProto__Tensor *tensor_type(struct exporter *x, const struct type *t) {
    Onnx__TypeProto__Tensor *p = onnx_message(x, &onnx__type_proto__tensor__descriptor);
    p->has_elem_type = 1, p->elem_type = dtype_onnx(t->dtype);
    if (t->rank >= 0) p->shape = shape_of(x, t);
    return p;
}
Onnx__TypeProto *onnx_type_of(struct exporter *x, const struct type *t) {
    Onnx__TypeProto *p = onnx_message(x, &onnx__type_proto__descriptor), *elem = NULL;
    if (t->kind == TY_NONE || ((t->kind == TY_TENSOR || t->kind == TY_MAP) && !t->dtype)) return NULL;
    if (t->kind != TY_TENSOR && (!t->elem || !(elem = onnx_type_of(x, t->elem)))) return NULL;
    switch (t->kind) {
    case TY_TENSOR:
        p->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
        p->tensor_type = tensor_type(x, t);
        break;
    case TY_SEQUENCE:
        p->value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
        p->sequence_type = onnx_message(x, &onnx__type_proto__sequence__descriptor);
        p->sequence_type->elem_type = elem;
        break;
    case TY_OPTIONAL:
        p->value_case = ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
        p->optional_type = onnx_message(x, &onnx__type_proto__optional__descriptor);
        p->optional_type->elem_type = elem;
        break;
    case TY_MAP:
        p->value_case = ONNX__TYPE_PROTO__VALUE_MAP_TYPE;
        p->map_type = onnx_message(x, &onnx__type_proto__map__descriptor);
        p->map_type->has_key_type = 1, p->map_type->key_type = dtype_onnx(t->dtype);
        p->map_type->value_type = elem;
        break;
    case TY_NONE: break;
    }
    return p;
}
Onnx__ValueInfoProto *onnx_info(struct exporter *x, const char *name, const struct type *t) {
    Onnx__ValueInfoProto *v = onnx_message(x, &onnx__value_info_proto__descriptor);
    v->name = chars(name);
    v->type = onnx_type_of(x, t);
    return v;
}

/* ---- attributes */
static ProtobufCBinaryData bytes_of(const struct str_elem *s) {
    return (ProtobufCBinaryData){s->n, (uint8_t *)(uintptr_t)s->p};
}
static Onnx__TensorProto *tensor_of(struct exporter *x, const struct tensor *t) {
    Onnx__TensorProto *p = onnx_message(x, &onnx__tensor_proto__descriptor);
    if (t->name) p->name = chars(t->name);
    onnx_data(x, p, t);
    return p;
}
static Onnx__GraphProto *body(struct exporter *x, struct region *r) {
    struct node *n = r->owner;
    const struct attr *c = node_attr(n, "captures");
    int captures = c ? (int)c->u.i : 0, own = r->params.n - captures;
    struct onnx_body b = {.given.arena = &x->c->arena};
    for (int k = 0; k < captures; k++)
        map_put(&x->names, PKEY(r->params.v[own + k]), chars(onnx_name(x, n->ins.v[n->ins.n - captures + k])));
    for (int k = 0; k < own; k++) {
        const struct value *v = r->params.v[k];
        PUSH(&x->c->arena, &b.ins, onnx_info(x, onnx_name(x, v), &v->type));
    }
    onnx_nodes(x, &b, r);
    for (int k = 0; k < r->results.n; k++)
        PUSH(&x->c->arena, &b.outs, onnx_info(x, onnx_result(x, &b, r, k, NULL), &r->results.v[k]->type));
    return onnx_graph_of(x, &b, *r->name ? r->name : "body");
}
static void tensor_list(struct exporter *x, Onnx__AttributeProto *p, const struct attr *a) {
    p->n_tensors = (size_t)a->n;
    p->tensors = NEWN(&x->c->arena, Onnx__TensorProto *, a->n);
    for (int k = 0; k < a->n; k++) p->tensors[k] = tensor_of(x, a->u.ts[k]);
}
static void string_list(struct exporter *x, Onnx__AttributeProto *p, const struct attr *a) {
    p->n_strings = (size_t)a->n;
    p->strings = NEWN(&x->c->arena, ProtobufCBinaryData, a->n);
    for (int k = 0; k < a->n; k++) p->strings[k] = bytes_of(&a->u.ss[k]);
}
static Onnx__AttributeProto *attribute(struct exporter *x, const struct attr *a) {
    Onnx__AttributeProto *p = onnx_message(x, &onnx__attribute_proto__descriptor);
    p->name = chars(a->name);
    p->has_type = 1, p->type = attr_kind_onnx(a->kind);
    switch (a->kind) {
    case AT_INT: p->has_i = 1, p->i = a->u.i; break;
    case AT_FLOAT: p->has_f = 1, p->f = a->u.f; break;
    case AT_STRING: p->has_s = 1, p->s = bytes_of(&a->u.s); break;
    case AT_INTS: p->n_ints = (size_t)a->n, p->ints = (int64_t *)(uintptr_t)a->u.is; break;
    case AT_FLOATS: p->n_floats = (size_t)a->n, p->floats = (float *)(uintptr_t)a->u.fs; break;
    case AT_STRINGS: string_list(x, p, a); break;
    case AT_TENSOR: p->t = tensor_of(x, a->u.t); break;
    case AT_TENSORS: tensor_list(x, p, a); break;
    case AT_TYPE: p->tp = onnx_type_of(x, a->u.type); break;
    case AT_REGION: p->g = body(x, a->u.region); break;
    }
    return p;
}

/* ---- nodes */
Onnx__NodeProto *onnx_node(struct exporter *x, struct onnx_body *b, const char *domain, const char *op,
                           const char *const *ins, int nins, const char *const *outs, int nouts) {
    Onnx__NodeProto *p = onnx_message(x, &onnx__node_proto__descriptor);
    p->op_type = chars(op);
    if (*domain) p->domain = chars(domain);
    p->n_input = (size_t)nins, p->n_output = (size_t)nouts;
    p->input = arena_copy(&x->c->arena, ins, (size_t)nins * sizeof *ins);
    p->output = arena_copy(&x->c->arena, outs, (size_t)nouts * sizeof *outs);
    PUSH(&x->c->arena, &b->nodes, p);
    x->nodes++;
    return p;
}
/* Absent inputs at the end go, but for those in front of slots that take any number, which ONNX counts. */
static int least_inputs(const struct node *n) {
    int k = 0;
    while (n->op && n->op->ins[k].name && !(n->op->ins[k].flags & VARIADIC)) k++;
    return n->op && n->op->ins[k].name ? k : 0;
}
static void node(struct exporter *x, struct onnx_body *b, const struct node *n) {
    const struct attr *captures = node_attr(n, "captures");
    int own = n->ins.n - (captures ? (int)captures->u.i : 0), nins = values_given(n->ins.v, own);
    int least = least_inputs(n);
    if (nins < least) nins = least;
    const char **ins = NEWN(&x->c->arena, const char *, nins), **outs = NEWN(&x->c->arena, const char *, n->outs.n);
    for (int k = 0; k < nins; k++) ins[k] = k < own && n->ins.v[k] ? onnx_name(x, n->ins.v[k]) : "";
    for (int k = 0; k < n->outs.n; k++) outs[k] = n->outs.v[k] ? onnx_name(x, n->outs.v[k]) : "";
    VEC(Onnx__AttributeProto *) attrs = {0};
    for (int k = 0; k < n->attrs.n; k++) {
        const struct op_attr *row = op_attr_named(n->op, n->attrs.v[k].name);
        if (&n->attrs.v[k] != captures && !(row && row->flags & A_NOTE))
            PUSH(&x->c->arena, &attrs, attribute(x, &n->attrs.v[k]));
    }
    Onnx__NodeProto *p = onnx_node(x, b, n->domain, n->op_type, ins, nins, outs, n->outs.n);
    if (*n->name) p->name = chars(fresh(x, &x->node_names, n->name)); /* ONNX Runtime wants them to differ */
    p->n_attribute = (size_t)attrs.n, p->attribute = attrs.v;
}
void onnx_nodes(struct exporter *x, struct onnx_body *b, struct region *r) {
    for (struct node *n = r->first; n; n = n->next) {
        node(x, b, n);
        for (int k = 0; k < n->outs.n; k++) {
            const struct value *v = n->outs.v[k];
            if (v && v->type.kind != TY_NONE && !value_is_result(v))
                PUSH(&x->c->arena, &b->known, onnx_info(x, onnx_name(x, v), &v->type));
        }
    }
}
/* A result is made by a node of the graph itself: not every reader takes what is a parameter, a weight, or there twice.
 */
const char *onnx_result(struct exporter *x, struct onnx_body *b, const struct region *r, int k, const char *as) {
    const struct value *v = r->results.v[k];
    const char *name = onnx_name(x, v);
    bool again = !v->def || v->def->in != r || map_get(&b->given, PKEY(v));
    map_put(&b->given, PKEY(v), b);
    if (as ? as == name : !again) return name;
    if (!as) as = onnx_fresh(x, name);
    onnx_node(x, b, "", "Identity", &name, 1, &as, 1);
    return as;
}
Onnx__GraphProto *onnx_graph_of(struct exporter *x, const struct onnx_body *b, const char *name) {
    Onnx__GraphProto *p = onnx_message(x, &onnx__graph_proto__descriptor);
    p->name = chars(name);
    p->n_node = (size_t)b->nodes.n, p->node = b->nodes.v;
    p->n_input = (size_t)b->ins.n, p->input = b->ins.v;
    p->n_output = (size_t)b->outs.n, p->output = b->outs.v;
    p->n_value_info = (size_t)b->known.n, p->value_info = b->known.v;
    return p;
}
