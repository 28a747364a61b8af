/* What the kernels of a build folder came from: the graph with its groups, and the memory plan over time. Parts of
 * manifest.json, which `gcc2nn report` and `gcc2nn diff` read; docs/output.md describes them. */
#include "codegen/manifest.h"
#include "lower/group.h"
#include "lower/lower.h"
#include <string.h>

/* ---- the graph */
struct listing {
    const struct project *w;
    const struct lowered *from;
    struct ctx *c;
    json_t *values, *nodes;
    struct map value, node; /* -> 1 + number */
    int nvalues, nnodes;
};
static int number_in(const struct map *m, const void *p) { return (int)(intptr_t)map_get(m, PKEY(p)) - 1; }
/* How its cells are stored, if not as its type says. */
static const char *stored(struct listing *q, const struct value *v) {
    const struct buf *b = map_get(&q->from->bufs, PKEY(v));
    struct text t = {0};
    if (!b || (buf_layout_is_plain(b) && b->type == v->type.dtype)) return NULL;
    buf_print(&t, q->c, q->w->program->m->entry, b);
    return text_take(&t, &q->c->arena);
}
static json_t *value_number(struct listing *q, const struct value *v) {
    int n = v ? number_in(&q->value, v) : -1;
    if (!v || n >= 0) return v ? json_integer(n) : json_null();
    struct text t = {0};
    type_print(&t, &v->type);
    json_t *o = json_pack("{s:o, s:o}", "name", manifest_text(q->w, v->name), "type", manifest_text(q->w, t.s));
    text_free(&t);
    if (v->init) {
        int64_t bytes = dtype_packed_bytes(v->init->type, tensor_count(v->init));
        json_object_set_new(o, "constant_bytes", json_integer(bytes));
    } else if (stored(q, v)) json_object_set_new(o, "stored", manifest_text(q->w, stored(q, v)));
    json_array_append_new(q->values, o);
    map_put(&q->value, PKEY(v), (void *)(intptr_t)++q->nvalues);
    return json_integer(q->nvalues - 1);
}
static json_t *numbers(struct listing *q, struct value *const *v, int n) {
    json_t *a = json_array();
    for (int k = 0; k < n; k++) json_array_append_new(a, value_number(q, v[k]));
    return a;
}
static void add_node(void *env, struct node *n) {
    struct listing *q = env;
    struct text attrs = {0};
    node_attrs_print(&attrs, n);
    json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o}", "op", manifest_text(q->w, n->op_type), "name",
                          manifest_text(q->w, n->name), "nodes", manifest_lines(q->w, n->origin), "inputs",
                          numbers(q, n->ins.v, n->ins.n), "outputs", numbers(q, n->outs.v, n->outs.n));
    if (*n->domain) json_object_set_new(o, "domain", manifest_text(q->w, n->domain));
    if (attrs.n) json_object_set_new(o, "attributes", manifest_text(q->w, attrs.s));
    if (n->in->owner) json_object_set_new(o, "owner", json_integer(number_in(&q->node, n->in->owner)));
    text_free(&attrs);
    json_array_append_new(q->nodes, o);
    map_put(&q->node, PKEY(n), (void *)(intptr_t)++q->nnodes);
}
static json_t *node_numbers(struct listing *q, struct node *const *v, int n) {
    json_t *a = json_array();
    for (int k = 0; k < n; k++) json_array_append_new(a, json_integer(number_in(&q->node, v[k])));
    return a;
}
static json_t *group_value(struct listing *q, const struct map *kernels, const struct group *gr) {
    const char *origin = gr->nodes.v[0]->origin ? gr->nodes.v[0]->origin : "";
    json_t *of = map_get(kernels, PKEY(internn(q->c->names, origin, strcspn(origin, "\n"))));
    json_t *o = json_pack("{s:s, s:o, s:o, s:o}", "class", stage_class_name(gr->cls), "nodes",
                          node_numbers(q, gr->nodes.v, gr->nodes.n), "views", node_numbers(q, gr->views.v, gr->views.n),
                          "kernels", of ? json_deep_copy(of) : json_array());
    if (!gr->refused) return o;
    json_object_set_new(o, "ends", json_string(gr->refused));
    json_object_set_new(o, "why", json_string(group_reason_text(gr->refused)));
    json_object_set_new(o, "reader", json_integer(number_in(&q->node, gr->reader)));
    return o;
}
json_t *manifest_graph(const struct project *w) {
    const struct program *p = w->program;
    struct ctx *c = p->c;
    struct listing q = {.w = w, .from = p->m->from, .c = c, .values = json_array(), .nodes = json_array()};
    struct map kernels = {.arena = &c->arena};
    json_t *groups = json_array(), *lists = json_array();
    struct region *top = q.from->graph->top;
    q.value.arena = q.node.arena = &c->arena;
    json_t *inputs = numbers(&q, top->params.v, top->params.n);
    each_node(top, add_node, &q);
    json_t *outputs = numbers(&q, top->results.v, top->results.n);
    manifest_kernels(w, &kernels, lists);
    for (int k = 0; k < q.from->groups.n; k++)
        json_array_append_new(groups, group_value(&q, &kernels, q.from->groups.v[k]));
    json_decref(lists);
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "inputs", inputs, "outputs", outputs, "values", q.values, "nodes",
                     q.nodes, "groups", groups);
}

/* ---- the plan */
/* Sizes that are only known at run time: -1. */
static int64_t bytes_of(const struct program *p, expr e) {
    int64_t n;
    return x_eval_int(e, program_typical, (void *)p, &n) ? n : -1;
}
/* The position of each slot; -1: in the region, or unused. Slots come after those that they are part of. */
static int64_t *places(const struct program *p) {
    const struct memory_plan *plan = p->plan;
    int64_t *at = NEWN(&p->c->arena, int64_t, plan->slots.n + 1);
    for (int k = 0; k < plan->slots.n; k++) {
        const struct plan_slot *s = &plan->slots.v[k];
        at[k] = -1;
        if (s->cls == PLAN_REGION || s->first < 0) continue;
        if (s->alias >= 0) {
            int64_t off = s->alias_offset ? bytes_of(p, s->alias_offset) : 0;
            if (at[s->alias] >= 0 && off >= 0) at[k] = at[s->alias] + off;
            continue;
        }
        at[k] = s->offset >= 0 ? s->offset : 0;
        for (int j = 0; j < s->nbelow && s->offset < 0; j++) {
            int64_t end = at[s->below[j]] + bytes_of(p, plan->slots.v[s->below[j]].bytes);
            if (end > at[k]) at[k] = end;
        }
    }
    return at;
}
static json_t *slot_value(const struct project *w, int k, int64_t at) {
    const struct program *p = w->program;
    const struct plan_slot *s = &p->plan->slots.v[k];
    struct text t = {0};
    buf_print(&t, p->c, p->m->entry, s->buf);
    json_t *o = json_pack("{s:o, s:o, s:i, s:i}", "name", manifest_text(w, s->buf->name), "type", manifest_text(w, t.s),
                          "first", s->first, "last", s->last);
    int64_t bytes = bytes_of(p, s->bytes);
    text_free(&t);
    json_object_set_new(o, "bytes", bytes < 0 ? json_null() : json_integer(bytes));
    json_object_set_new(o, "offset", at < 0 ? json_null() : json_integer(at));
    if (s->alias >= 0) json_object_set_new(o, "of", json_integer(s->alias));
    return o;
}
json_t *manifest_plan(const struct project *w) {
    const struct program *p = w->program;
    json_t *buffers = json_array(), *calls = json_array();
    const int64_t *at = places(p);
    for (int k = 0; k < p->plan->slots.n; k++) json_array_append_new(buffers, slot_value(w, k, at[k]));
    for (int k = 0; k < p->plan->calls.n; k++)
        json_array_append_new(calls,
                              json_pack("{s:i, s:s}", "at", p->plan->calls.v[k].at, "kernel",
                                        emit_proc_name(p->c, p->plan->calls.v[k].call->u.call.callee, &p->emit)));
    return json_pack("{s:i, s:o, s:o}", "positions", p->plan->positions, "buffers", buffers, "calls", calls);
}
