/* ONNX export: the model as a whole - its opsets, what it takes and gives, metadata - and the order of the steps. */
#include "compiler/export/onnx_export.h"
#include "ir/graph/op.h"
#include <string.h>

static char *chars(const char *s) { return (char *)(uintptr_t)s; }
static const char *quoted(struct exporter *x, const char *s) { return diag_quote(&x->c->arena, s); }

/* ---- what ONNX has no words for */
static void refuse(struct exporter *x, const char *origin, const char *fmt, ...) NN_PRINTF(3, 4);
static void refuse(struct exporter *x, const char *origin, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    diag_at(&x->c->diags, DIAG_ERROR, E_SAY, x->g->file, origin, "%s", arena_vprintf(&x->c->arena, fmt, ap));
    va_end(ap);
}
static const char *const earlier = "an earlier pass may not have it yet: `gcc2nn compile --emit=onnx "
                                   "--stop-after=import` writes the model's own nodes";
static const char *const rounding = "its integers are rounded as TensorFlow Lite does, which no operator of ONNX does: "
                                    "convert the model of floats, and "
                                    "quantise what is written";

/* ---- opsets */
struct newest {
    const char *domain;
    int form, canonical; /* the newest that a node's form, or its canonical version, asks for */
    const struct node *by;
};
static void ask(void *env, struct node *n) {
    struct newest *w = env;
    if (strcmp(n->domain, w->domain) != 0 || !n->op) return;
    int form = node_form_since(n);
    if (form > w->form) w->form = form, w->by = n;
    if (n->op->since > w->canonical) w->canonical = n->op->since;
}
static int version_in(const struct opset *v, int n, const char *domain) { /* 0: it is not there */
    for (int k = 0; k < n; k++)
        if (!strcmp(v[k].domain, domain)) return v[k].version;
    return 0;
}
/* Forms of nodes are those of the newest version, which older ones have had since node_form_since. What the model's own
 * opset has stays in it; a graph that has none gets what every type of operand is allowed in. */
static int choose_opset(struct exporter *x, const char *domain) {
    struct newest w = {.domain = domain, .form = 1, .canonical = 1};
    int own = version_in(x->g->opsets.v, x->g->opsets.n, domain);
    each_node(x->g->top, ask, &w);
    int least = own ? w.form : w.canonical, asked = *domain ? 0 : x->o->opset;
    if (!asked) return own > least ? own : least;
    if (asked < w.form) {
        refuse(x, w.by->origin, "the operator has this form since opset %d only, not in %d", w.form, asked);
        diag_help(&x->c->diags, "--opset=%d, or more, can say it", w.form);
    }
    return asked;
}
static int opset_of(const struct exporter *x, const char *domain) {
    return version_in(x->opsets.v, x->opsets.n, domain);
}
bool onnx_has(struct exporter *x, const char *op, int since, const char *origin) {
    if (opset_of(x, "") >= since) return true;
    if (x->o->opset) {
        refuse(x, origin, "it needs %s, which ONNX has since opset %d", op, since);
        return false;
    }
    for (int k = 0; k < x->opsets.n; k++)
        if (!*x->opsets.v[k].domain) x->opsets.v[k].version = since;
    return true;
}
static void take_domain(struct exporter *x, const char *domain) {
    if (opset_of(x, domain) || domain_is_ours(domain)) return;
    PUSH(&x->c->arena, &x->opsets, ((struct opset){domain, choose_opset(x, domain)}));
}
/* Operators of our own: told once each, with the first node. */
static void note_own(struct exporter *x, const struct node *n) {
    for (int k = 0; k < x->own.n; k++)
        if (!strcmp(x->own.v[k].first->op_type, n->op_type)) {
            x->own.v[k].count++;
            return;
        }
    PUSH(&x->c->arena, &x->own, ((struct own_nodes){n, 1}));
}
static void refuse_own(struct exporter *x) {
    for (int k = 0; k < x->own.n; k++) {
        const struct own_nodes *o = &x->own.v[k];
        refuse(x, o->first->origin, "ONNX has no operator for what stands here: %s of the compiler's own%s",
               o->first->op_type, o->count > 1 ? format(x->c, "; %d nodes are such", o->count) : "");
        diag_help(&x->c->diags, "%s", strcmp(o->first->domain, "gcc2nn") ? rounding : earlier);
    }
}
/* Forms of our own go first, as what they become may need another opset. */
static void to_standard(void *env, struct node *n) {
    const char *why = n->op && n->op->standard ? n->op->standard(n) : NULL;
    if (why) refuse(env, n->origin, "ONNX cannot say the form that stands here: %s", why);
}
static void look(void *env, struct node *n) {
    struct exporter *x = env;
    if (domain_is_ours(n->domain)) {
        note_own(x, n);
        return;
    }
    take_domain(x, n->domain);
    for (int k = 0; k < n->attrs.n; k++) {
        const struct op_attr *row = op_attr_named(n->op, n->attrs.v[k].name);
        if (!row || !(row->flags & A_OURS)) continue;
        refuse(x, n->origin, "ONNX has no attribute for what %s says here", row->name);
        diag_help(&x->c->diags, "%s", earlier);
    }
    if (n->op && n->op->until && opset_of(x, n->domain) > n->op->until) {
        refuse(x, n->origin, "ONNX has the operator up to opset %d only; the model needs %d", n->op->until,
               opset_of(x, n->domain));
        diag_help(&x->c->diags, "--stop-after=infer, or a later pass, has what it means");
    }
}

/* ---- what the model takes. A sequence, whose tensors are parameters of the graph, is taken apart at the head. */
static struct type held_by(struct exporter *x, enum value_kind kind, const struct type *tensor) {
    struct type *held = NEW(&x->c->arena, struct type);
    *held = *tensor;
    if (kind == VALUE_OPTIONAL_SEQUENCE) {
        struct type *sequence = NEW(&x->c->arena, struct type);
        *sequence = (struct type){.kind = TY_SEQUENCE, .elem = held};
        held = sequence;
    }
    return (struct type){.kind = kind == VALUE_SEQUENCE ? TY_SEQUENCE : TY_OPTIONAL, .elem = held};
}
static void refuse_holder(struct exporter *x, const struct holder *h, const char *what) {
    refuse(x, NULL, "%s %s: ONNX cannot say how the %s stands here", what, quoted(x, h->name),
           value_kind_name(h->kind));
    diag_help(&x->c->diags, "%s", earlier);
}
/* The type that all tensors of an input have; of sizes that differ the rank is left. */
static struct type common_type(const struct holder *h, struct value *const *v) {
    struct type t = v[0]->type;
    for (int k = 1; k < h->n; k++)
        if (!type_equal(&t, &v[k]->type)) t.rank = -1;
    return t;
}
static void take_apart(struct exporter *x, struct onnx_body *b, const struct holder *h, struct value *const *v) {
    if (!h->n || value_kind_is_map(h->kind)) {
        refuse_holder(x, h, "input");
        return;
    }
    struct type t = common_type(h, v);
    t = held_by(x, h->kind, &t);
    const char *whole = onnx_fresh(x, h->name), *ins[2] = {whole};
    PUSH(&x->c->arena, &b->ins, onnx_info(x, whole, &t));
    if (h->kind != VALUE_SEQUENCE) {
        if (!onnx_has(x, "OptionalGetElement", 15, NULL)) return;
        ins[0] = h->kind == VALUE_OPTIONAL ? onnx_name(x, v[0]) : onnx_fresh(x, h->name);
        onnx_node(x, b, "", "OptionalGetElement", &whole, 1, ins, 1);
    }
    for (int k = 0; k < h->n && h->kind != VALUE_OPTIONAL && onnx_has(x, "SequenceAt", 11, NULL); k++) {
        ins[1] = onnx_name(x, graph_scalar(x->g, I64, k));
        const char *part = onnx_name(x, v[k]);
        onnx_node(x, b, "", "SequenceAt", ins, 2, &part, 1);
    }
}
static void inputs(struct exporter *x, struct onnx_body *b) {
    const struct region *top = x->g->top;
    for (int k = 0, next = 0; k < top->params.n || next < x->g->taken.n;) {
        const struct holder *h = next < x->g->taken.n ? &x->g->taken.v[next] : NULL;
        if (h && h->first == k) {
            take_apart(x, b, h, top->params.v + k);
            k += h->n, next++;
            continue;
        }
        const struct value *v = top->params.v[k++];
        PUSH(&x->c->arena, &b->ins, onnx_info(x, onnx_name(x, v), &v->type));
    }
}

/* ---- what it gives */
static Onnx__ValueInfoProto *output_info(struct exporter *x, const char *name, const struct value *v) {
    struct type t = v->type;
    const struct declared *d = map_get(&x->declared, PKEY(name));
    if (t.kind == TY_NONE && d && d->held) t = *d->held;
    else if (t.kind == TY_NONE && d) { /* nothing was inferred yet */
        expr *dims = NEWN(&x->c->arena, expr, d->rank > 0 ? d->rank : 1);
        for (int i = 0; i < d->rank; i++)
            dims[i] = d->dims[i] >= 0
                          ? x_int(x->c, d->dims[i])
                          : x_sym(x->c, graph_sym(x->g, internf(x->c->names, "%s_d%d", name, i), 0, INT32_MAX));
        t = type_tensor(x->c, d->dtype, dims, d->rank);
    }
    return onnx_info(x, name, &t);
}
/* The name belongs to the result from the start, so that other values get another one. */
static void reserve_outputs(struct exporter *x) {
    const struct region *top = x->g->top;
    for (int k = 0; k < top->results.n; k++) {
        const struct value *v = top->results.v[k];
        const char *name = intern(x->c->names, x->g->outputs.v[k]);
        if (map_get(&x->taken, PKEY(name))) continue;
        name = onnx_fresh(x, name);
        if (v->def && !map_get(&x->names, PKEY(v))) map_put(&x->names, PKEY(v), chars(name));
    }
}
static void outputs(struct exporter *x, struct onnx_body *b) {
    const struct region *top = x->g->top;
    struct map made = {.arena = &x->c->arena};
    for (int k = 0; k < top->results.n; k++) {
        const char *name = intern(x->c->names, x->g->outputs.v[k]);
        if (!map_get(&made, PKEY(name))) onnx_result(x, b, top, k, name); /* else it is listed twice */
        map_put(&made, PKEY(name), x);
        PUSH(&x->c->arena, &b->outs, output_info(x, name, top->results.v[k]));
    }
}

/* ---- the model */
static void metadata(struct exporter *x, Onnx__ModelProto *m) {
    VEC(Onnx__StringStringEntryProto *) rest = {0};
    m->producer_name = chars("gcc2nn");
    m->producer_version = chars(GCC2NN_VERSION);
    for (int k = 0; k < x->g->metadata.n; k++) {
        const struct metadata *p = &x->g->metadata.v[k];
        if (!strncmp(p->key, "producer_", 9)) continue;
        if (!strcmp(p->key, "domain")) m->domain = chars(p->value);
        else if (!strcmp(p->key, "doc_string")) m->doc_string = chars(p->value);
        else if (!strcmp(p->key, "model_version"))
            m->has_model_version = 1, m->model_version = strtoll(p->value, NULL, 10);
        else {
            Onnx__StringStringEntryProto *e = onnx_message(x, &onnx__string_string_entry_proto__descriptor);
            e->key = chars(p->key), e->value = chars(p->value);
            PUSH(&x->c->arena, &rest, e);
        }
    }
    m->n_metadata_props = (size_t)rest.n, m->metadata_props = rest.v;
}
/* The format that came with an opset: readers of that time take no newer one. */
static int ir_version(int opset) {
    static const struct {
        int opset, ir;
    } rows[] = {{9, 4}, {10, 5}, {11, 6}, {14, 7}, {18, 8}, {20, 9}, {22, 10}, {23, 11}, {24, 12}, {27, 13}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (opset <= rows[k].opset) return rows[k].ir;
    return 14;
}
static void opsets(struct exporter *x, Onnx__ModelProto *m) {
    m->n_opset_import = (size_t)x->opsets.n;
    m->opset_import = NEWN(&x->c->arena, Onnx__OperatorSetIdProto *, x->opsets.n);
    for (int k = 0; k < x->opsets.n; k++) {
        Onnx__OperatorSetIdProto *p = m->opset_import[k] = onnx_message(x, &onnx__operator_set_id_proto__descriptor);
        p->domain = chars(x->opsets.v[k].domain);
        p->has_version = 1, p->version = x->opsets.v[k].version;
    }
    m->has_ir_version = 1, m->ir_version = ir_version(opset_of(x, ""));
}
bool export_onnx(struct graph *g, const char *path, const struct export_options *o, struct exported *out) {
    struct ctx *c = g->ctx;
    struct exporter x = {
        .c = c, .g = g, .o = o, .names.arena = &c->arena, .taken.arena = &c->arena, .node_names.arena = &c->arena};
    struct onnx_body b = {.given.arena = &c->arena};
    struct exported unwanted;
    int before = c->diags.errors;
    x.declared.arena = &c->arena;
    for (int k = g->declared.n; k--;)
        map_put(&x.declared, PKEY(intern(c->names, g->declared.v[k].name)), &g->declared.v[k]);
    each_node(g->top, to_standard, &x);
    take_domain(&x, "");
    each_node(g->top, look, &x);
    refuse_own(&x);
    if (c->diags.errors > before) return false;
    for (int k = 0; k < g->given.n; k++) refuse_holder(&x, &g->given.v[k], "output");
    for (int k = 0; k < g->top->params.n; k++) onnx_name(&x, g->top->params.v[k]);
    reserve_outputs(&x);
    inputs(&x, &b);
    onnx_nodes(&x, &b, g->top);
    outputs(&x, &b);
    if (c->diags.errors > before) return false;
    Onnx__ModelProto *m = onnx_message(&x, &onnx__model_proto__descriptor);
    m->graph = onnx_graph_of(&x, &b, *g->name ? g->name : "graph");
    metadata(&x, m);
    opsets(&x, m);
    out = out ? out : &unwanted;
    *out = (struct exported){.file = path, .opset = opset_of(&x, ""), .nodes = x.nodes};
    return onnx_file(&x, m, path, out);
}
