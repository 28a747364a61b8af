/* ONNX import: inputs that are sequences, optionals or maps. Their contents are known at compile time, from --shape or
 * from data: each tensor becomes a separate input, and a node at the head of the graph combines them. After that they
 * are treated like those made by nodes (lower/ops/sequence.c); docs/adr/0005. */
#include "compiler/import/onnx_import.h"
#include <string.h>

static struct type *type_copy(struct importer *m, struct type t) {
    struct type *p = NEW(&m->c->arena, struct type);
    *p = t;
    return p;
}
/* The kind that p declares; TENSOR for everything except sequences, optionals and maps. */
static enum value_kind kind_of(const Onnx__TypeProto *p) {
    if (!p) return VALUE_TENSOR;
    if (p->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE) return VALUE_SEQUENCE;
    if (p->value_case == ONNX__TYPE_PROTO__VALUE_MAP_TYPE) return VALUE_MAP;
    if (p->value_case != ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE) return VALUE_TENSOR;
    const Onnx__TypeProto *e = p->optional_type->elem_type;
    return e && e->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE ? VALUE_OPTIONAL_SEQUENCE : VALUE_OPTIONAL;
}
/* The type of the tensors that it holds; NULL: it holds something else. */
static const Onnx__TypeProto__Tensor *tensors_of(const Onnx__TypeProto *p, enum value_kind kind) {
    const Onnx__TypeProto *e = kind == VALUE_SEQUENCE ? p->sequence_type->elem_type : p->optional_type->elem_type;
    if (kind == VALUE_OPTIONAL_SEQUENCE) e = e->sequence_type->elem_type;
    return e && e->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? e->tensor_type : NULL;
}
/* Can x be the contents of such an input? */
static bool contents_fit(struct importer *m, enum value_kind kind, const struct shape_option *x) {
    if (x->none && kind == VALUE_SEQUENCE)
        onnx_error(m, E_USAGE, "%s says that there is none, but a sequence is always there", x->from);
    else if (!x->none && kind == VALUE_OPTIONAL && x->n != 1)
        onnx_error(m, E_USAGE, "%s gives %d shapes, but it is an optional of one tensor", x->from, x->n);
    else if (x->n > HOLDER_MAX)
        onnx_error(m, E_LIMIT, "%s gives %d elements; at most %d are accepted", x->from, x->n, HOLDER_MAX);
    else return true;
    return false;
}
static struct value *holder_node(struct importer *m, const char *op, struct value *const *ins, int n) {
    struct node *h = node_new(m->g->top, NULL, "", op, ins, n, 1);
    h->origin = m->c->diags.origin;
    return h->outs.v[0];
}
/* Creates the node that represents the input. */
static struct value *hold(struct importer *m, enum value_kind kind, const struct type *elem, struct value *const *v,
                          const struct shape_option *x) {
    struct value *sequence = NULL;
    if (!x->none && kind != VALUE_OPTIONAL) {
        sequence = holder_node(m, x->n ? "SequenceConstruct" : "SequenceEmpty", v, x->n);
        if (!x->n) node_set_int(sequence->def, "dtype", dtype_onnx(elem->dtype));
        if (kind == VALUE_SEQUENCE) return sequence;
    }
    struct value *held = holder_node(m, "Optional", sequence ? &sequence : v, !x->none);
    struct type *t = type_copy(m, *elem);
    if (kind == VALUE_OPTIONAL_SEQUENCE) t = type_copy(m, (struct type){.kind = TY_SEQUENCE, .elem = t});
    if (x->none) node_set_attr(held->def, (struct attr){.name = "type", .kind = AT_TYPE, .u.type = t});
    return held;
}
/* Keys and values of a map are vectors of one open size, unless --shape says it. false: of another kind. */
static bool map_input(struct importer *m, struct scope *s, const char *name, const Onnx__TypeProto *type) {
    struct type t = onnx_type(m, type, NULL);
    const struct shape_option *x = onnx_shape_of(m, name);
    if (!t.elem || t.elem->kind != TY_TENSOR || !t.dtype || !t.elem->dtype) return false;
    if (x && (x->none || x->n != 1 || x->v->rank != 1))
        return onnx_error(m, E_USAGE, "--shape %s: of a map it says the number of entries",
                          diag_quote(&m->c->arena, name)),
               true;
    struct holder h = {.name = name, .kind = VALUE_MAP, .present = true, .first = m->g->top->params.n, .n = 2};
    struct value *v[2];
    expr n = x && x->v->dims[0] >= 0 ? x_int(m->c, x->v->dims[0]) : onnx_unnamed_dim(m, name, 0);
    for (int i = 0; i < 2; i++)
        v[i] = region_param(m->g->top, value_part(m->c->names, name, VALUE_MAP, i),
                            type_tensor(m->c, i ? t.elem->dtype : t.dtype, &n, 1));
    PUSH(&m->c->arena, &m->g->taken, h);
    struct node *map = node_new(m->g->top, NULL, "gcc2nn", "Map", v, 2, 1);
    map->origin = m->c->diags.origin;
    map->outs.v[0]->name = name;
    onnx_declare(m, s, name, map->outs.v[0]);
    return true;
}
bool onnx_holder(struct importer *m, struct scope *s, int k, const char *name, const Onnx__TypeProto *type) {
    enum value_kind kind = kind_of(type);
    if (kind == VALUE_TENSOR) return false;
    if (kind == VALUE_MAP) return map_input(m, s, name, type);
    const Onnx__TypeProto__Tensor *p = tensors_of(type, kind);
    const struct shape_option *x = onnx_shape_of(m, name);
    if (!p && !x) return false; /* inference will refuse it */
    if (p && !x && m->o.contents) x = m->o.contents(m->o.env, k, name, kind);
    if (!x) return false;
    if (!p) onnx_error(m, E_TYPE, "a sequence or optional of something else than tensors is not supported");
    if (!p || !contents_fit(m, kind, x)) return true;
    struct type elem = onnx_tensor_type(m, p, NULL, NULL, NULL, true);
    struct value **v = NEWN(&m->c->arena, struct value *, x->n + 1);
    struct holder h = {.name = name, .kind = kind, .present = !x->none, .first = m->g->top->params.n, .n = x->n};
    for (int i = 0; i < x->n; i++) {
        const char *part = value_part(m->c->names, name, kind, i);
        v[i] = region_param(m->g->top, part, onnx_tensor_type(m, p, part, &x->v[i], x->from, kind != VALUE_OPTIONAL));
    }
    PUSH(&m->c->arena, &m->g->taken, h);
    struct value *all = hold(m, kind, &elem, v, x);
    all->name = name;
    onnx_declare(m, s, name, all);
    return true;
}
