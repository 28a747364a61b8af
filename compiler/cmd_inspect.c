/* `gcc2nn inspect MODEL`: inputs, outputs and contents of a model, whether or not it can be compiled. */
#include "compiler/commands.h"
#include "compiler/graph/passes.h"
#include "ir/base/map.h"
#include "ir/graph/op.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct op_tally {
    const char *domain, *op;
    int count;
    bool supported;
    const struct op *custom; /* the user has written it; else NULL */
};
struct summary {
    struct ctx *c;
    struct graph *g;
    VEC(struct op_tally) ops;
    struct map constants; /* those counted */
    struct map op_number; /* interned "domain op" -> 1 + place in ops */
    int nconstants, nodes, unsupported;
    int64_t elements, bytes;
};

static void count_constant(struct summary *s, const struct value *v) {
    if (!v || !v->init || map_get(&s->constants, PKEY(v))) return;
    int64_t n = tensor_count(v->init);
    map_put(&s->constants, PKEY(v), s);
    s->nconstants++;
    s->elements += n;
    s->bytes += dtype_packed_bytes(v->init->type, n);
}

static void count_node(void *env, struct node *n) {
    struct summary *s = env;
    s->nodes++;
    s->unsupported += !n->op;
    for (int i = 0; i < n->ins.n; i++) count_constant(s, n->ins.v[i]);
    const char *key = internf(s->c->names, "%zu %s %s", strlen(n->domain), n->domain, n->op_type);
    intptr_t at = (intptr_t)map_get(&s->op_number, PKEY(key));
    if (at) {
        s->ops.v[at - 1].count++;
        return;
    }
    PUSH(&s->c->arena, &s->ops,
         ((struct op_tally){n->domain, n->op_type, 1, n->op != NULL, n->op && n->op->foreign ? n->op : NULL}));
    map_put(&s->op_number, PKEY(key), (void *)(intptr_t)s->ops.n);
}

static int by_count(const void *a, const void *b) {
    const struct op_tally *x = a, *y = b;
    int d = strcmp(x->domain, y->domain);
    return x->count != y->count ? y->count - x->count : d ? d : strcmp(x->op, y->op);
}

static const char *full_name(struct summary *s, const struct op_tally *t) {
    const char *q = diag_quote(&s->c->arena, *t->domain ? format(s->c, "%s.%s", t->domain, t->op) : t->op);
    return format(s->c, "%.*s", (int)strlen(q) - 2, q + 1);
}

/* ---- for people */
static const char *state_text(struct summary *s, const struct op_tally *t) {
    if (t->custom) return format(s->c, "   (custom: %s)", t->custom->spec);
    return t->supported ? "" : "   (not supported)";
}
static void print_values(struct ctx *c, struct text *t, int width, const char *title, struct value *const *v,
                         const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        text_printf(t, "%-*s %s: %s\n", width, i ? "" : title, diag_quote(&c->arena, names ? names[i] : v[i]->name),
                    type_text(c, &v[i]->type));
}
void print_ends(const struct graph *g, struct text *t, int width) {
    print_values(g->ctx, t, width, "inputs", g->top->params.v, NULL, g->top->params.n);
    print_values(g->ctx, t, width, "outputs", g->top->results.v, g->outputs.v, g->top->results.n);
}

static void print_summary(struct summary *s) {
    struct graph *g = s->g;
    struct arena *a = &s->c->arena;
    struct text t = {0};
    text_printf(&t, "%-11s %s\n", "model", diag_quote(a, g->name));
    for (int i = 0; i < g->metadata.n; i++)
        text_printf(&t, "%-11s %s: %s\n", i ? "" : "metadata", diag_quote(a, g->metadata.v[i].key),
                    diag_quote(a, g->metadata.v[i].value));
    for (int i = 0; i < g->opsets.n; i++)
        text_printf(&t, "%-11s %s %d\n", i ? "" : "opsets",
                    *g->opsets.v[i].domain ? diag_quote(a, g->opsets.v[i].domain) : "ai.onnx", g->opsets.v[i].version);
    print_ends(g, &t, 11);
    for (int i = 0; i < g->syms.n; i++)
        text_printf(&t, "%-11s %s: %" PRId64 "..%" PRId64 "\n", i ? "" : "symbols", diag_quote(a, g->syms.v[i]->name),
                    g->syms.v[i]->lo, g->syms.v[i]->hi);
    text_printf(&t, "%-11s %" PRId64 " elements, %" PRId64 " bytes in %d tensors\n", "constants", s->elements, s->bytes,
                s->nconstants);
    text_printf(&t, "%-11s %d\n", "nodes", s->nodes);
    for (int i = 0; i < s->ops.n; i++)
        text_printf(&t, "%-11s %6d %s%s\n", i ? "" : "operators", s->ops.v[i].count, full_name(s, &s->ops.v[i]),
                    state_text(s, &s->ops.v[i]));
    print_text(&t);
}

/* ---- for programs. Names are bytes; if they are not valid UTF-8 they are escaped, since JSON cannot hold them. */
static json_t *json_values(struct ctx *c, struct value *const *v, const char *const *names, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *o = json_object();
        json_object_set_new(o, "name", json_name(&c->arena, names ? names[i] : v[i]->name));
        json_object_set_new(o, "type", json_string(type_text(c, &v[i]->type)));
        json_array_append_new(list, o);
    }
    return list;
}
void json_ends(const struct graph *g, json_t *to) {
    json_object_set_new(to, "inputs", json_values(g->ctx, g->top->params.v, NULL, g->top->params.n));
    json_object_set_new(to, "outputs", json_values(g->ctx, g->top->results.v, g->outputs.v, g->top->results.n));
}

static void print_summary_json(struct summary *s) {
    struct graph *g = s->g;
    json_t *root = json_object(), *list = json_array();
    json_object_set_new(root, "model", json_name(&s->c->arena, g->name));
    json_object_set_new(root, "file", json_name(&s->c->arena, g->file));
    json_object_set_new(root, "metadata", list);
    for (int i = 0; i < g->metadata.n; i++)
        json_array_append_new(list, json_pack("[o,o]", json_name(&s->c->arena, g->metadata.v[i].key),
                                              json_name(&s->c->arena, g->metadata.v[i].value)));
    json_object_set_new(root, "opsets", list = json_array());
    for (int i = 0; i < g->opsets.n; i++)
        json_array_append_new(list, json_pack("{s:o, s:i}", "domain", json_name(&s->c->arena, g->opsets.v[i].domain),
                                              "version", g->opsets.v[i].version));
    json_ends(g, root);
    json_object_set_new(root, "symbols", list = json_array());
    for (int i = 0; i < g->syms.n; i++)
        json_array_append_new(list,
                              json_pack("{s:o, s:I, s:I}", "name", json_name(&s->c->arena, g->syms.v[i]->name), "min",
                                        (json_int_t)g->syms.v[i]->lo, "max", (json_int_t)g->syms.v[i]->hi));
    json_object_set_new(root, "constants",
                        json_pack("{s:i, s:I, s:I}", "tensors", s->nconstants, "elements", (json_int_t)s->elements,
                                  "bytes", (json_int_t)s->bytes));
    json_object_set_new(root, "nodes", json_integer(s->nodes));
    json_object_set_new(root, "operators", list = json_array());
    for (int i = 0; i < s->ops.n; i++) {
        const struct op_tally *t = &s->ops.v[i];
        json_t *o = json_pack("{s:o, s:o, s:i, s:b}", "domain", json_name(&s->c->arena, t->domain), "name",
                              json_name(&s->c->arena, t->op), "count", t->count, "supported", t->supported);
        if (t->custom) json_object_set_new(o, "custom", json_name(&s->c->arena, t->custom->spec));
        json_array_append_new(list, o);
    }
    print_json(root);
}

int cmd_inspect(const struct options *o) {
    struct ctx *c = ctx_new();
    options_diags(o, &c->diags);
    struct summary s = {.c = c, .constants = {.arena = &c->arena}, .op_number = {.arena = &c->arena}};
    s.g = options_model(c, o, true);
    if (s.g) {
        each_node(s.g->top, count_node, &s);
        for (int i = 0; i < s.g->top->results.n; i++) count_constant(&s, s.g->top->results.v[i]);
        if (s.ops.n) qsort(s.ops.v, (size_t)s.ops.n, sizeof *s.ops.v, by_count);
        if (!s.unsupported) graph_infer(s.g); /* for the types of the outputs; what is wrong with them is told below */
        (o->json ? print_summary_json : print_summary)(&s);
    }
    int status = report_diags(&c->diags);
    ctx_free(c);
    return status;
}
