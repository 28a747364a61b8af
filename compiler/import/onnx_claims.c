/* ONNX import: claims of a model that may be wrong. Outputs that are missing or listed twice, inputs that nothing
 * reads, defaults of inputs; and declared types, which are kept until inference has the actual ones
 * (compiler/graph/declared.c). */
#include "compiler/import/onnx_import.h"
#include <string.h>

static const char *quoted(struct importer *m, const char *s) { return diag_quote(&m->c->arena, s ? s : ""); }

/* ---- names in one message */
struct names {
    struct text t;
    int n;
};
static void add_name(struct importer *m, struct names *l, const char *name) {
    enum { SHOWN = 4 };
    if (l->n < SHOWN) text_printf(&l->t, "%s%s", l->n ? ", " : "", quoted(m, name));
    l->n++;
    if (l->n == SHOWN + 1) text_add(&l->t, " ...");
}
static void complain(struct importer *m, struct names *l, const char *one, const char *several) {
    if (l->n == 1) diag(&m->c->diags, DIAG_NOTE, E_GRAPH, "input %s %s", l->t.s, one);
    else if (l->n) diag(&m->c->diags, DIAG_NOTE, E_GRAPH, "%d inputs %s: %s", l->n, several, l->t.s);
    text_free(&l->t);
}

/* ---- inputs */
static void unread_inputs(struct importer *m) {
    const struct region *top = m->g->top;
    struct names l = {{0}, 0};
    for (int k = 0; k < top->params.n; k++)
        if (!top->params.v[k]->uses.n) add_name(m, &l, top->params.v[k]->name);
    complain(m, &l, "is never read", "are never read");
}
/* Since IR 4 a weight that is also listed as an input is a default, which a caller may replace; before, all weights had
 * to be listed. */
static void defaults_of_inputs(struct importer *m) {
    const Onnx__GraphProto *p = m->model->graph;
    struct map inputs = {.arena = &m->c->arena};
    struct names l = {{0}, 0};
    if (m->o.keep_inputs || m->model->ir_version < 4) return;
    for (size_t i = 0; i < p->n_input; i++) {
        const char *name = intern(m->c->names, p->input[i]->name ? p->input[i]->name : "");
        map_put(&inputs, PKEY(name), m);
    }
    for (size_t i = 0; i < p->n_initializer; i++) {
        const char *name = intern(m->c->names, p->initializer[i]->name ? p->initializer[i]->name : "");
        if (map_get(&inputs, PKEY(name))) add_name(m, &l, name);
    }
    bool any = l.n > 0;
    complain(m, &l, "has a default, which is compiled in", "have defaults, which are compiled in");
    if (any) diag_help(&m->c->diags, "--keep-inputs lets the caller give them");
}

/* ---- outputs. Each value is defined once, but may be listed twice: the checker and ONNX Runtime accept that, and the
 * program then has a result for each. */
static void outputs(struct importer *m) {
    struct map seen = {.arena = &m->c->arena};
    for (int k = 0; k < m->g->outputs.n; k++) {
        const char *name = m->g->outputs.v[k];
        if (map_get(&seen, PKEY(name)))
            diag(&m->c->diags, DIAG_WARNING, E_GRAPH, "output %s is listed twice", quoted(m, name));
        map_put(&seen, PKEY(name), m);
    }
    if (m->g->outputs.n) return;
    diag(&m->c->diags, m->o.keep_unknown ? DIAG_WARNING : DIAG_ERROR, E_GRAPH,
         "the graph has no outputs, so there is nothing to compute");
    diag_help(&m->c->diags, "list those wanted: model.graph.output.append(onnx.ValueInfoProto(name=...))");
}

/* ---- declared types */
static void declare(struct importer *m, const Onnx__ValueInfoProto *v, int output) {
    const Onnx__TypeProto *t = v->type;
    if (!v->name || !t) return;
    if (output >= 0 && t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
        struct type *held = NEW(&m->c->arena, struct type);
        *held = onnx_type(m, t, NULL);
        PUSH(&m->c->arena, &m->g->declared,
             ((struct declared){.name = intern(m->c->names, v->name), .output = output, .rank = -1, .held = held}));
    }
    if (t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) return;
    const Onnx__TensorShapeProto *shape = t->tensor_type->shape;
    struct declared d = {.name = intern(m->c->names, v->name),
                         .output = output,
                         .dtype = dtype_by_onnx(t->tensor_type->elem_type),
                         .rank = shape && shape->n_dim <= 32 ? (int)shape->n_dim : -1};
    int64_t *dims = NEWN(&m->c->arena, int64_t, d.rank > 0 ? d.rank : 1);
    struct text s = {0};
    text_printf(&s, "%s%s", dtype_name(d.dtype), d.rank < 0 ? "" : "[");
    for (int k = 0; k < d.rank; k++) {
        const Onnx__TensorShapeProto__Dimension *p = shape->dim[k];
        bool number = p->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        bool named = p->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && *p->dim_param;
        dims[k] = number ? p->dim_value : -1;
        text_add(&s, k ? "," : "");
        if (number) text_printf(&s, "%lld", (long long)p->dim_value);
        else text_add(&s, named ? p->dim_param : "?");
    }
    if (d.rank >= 0) text_add(&s, "]");
    d.dims = dims;
    d.text = intern(m->c->names, s.s);
    text_free(&s);
    if (d.dtype != NONE) PUSH(&m->c->arena, &m->g->declared, d);
}

void onnx_claims(struct importer *m) {
    const Onnx__GraphProto *p = m->model->graph;
    outputs(m);
    unread_inputs(m);
    defaults_of_inputs(m);
    for (size_t i = 0; i < p->n_output; i++) declare(m, p->output[i], (int)i);
    for (size_t i = 0; i < p->n_value_info; i++) declare(m, p->value_info[i], -1);
}
