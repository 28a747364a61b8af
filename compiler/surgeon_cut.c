/* Where a model begins and ends: extraction between values. See surgeon.h. */
#include "compiler/graph/passes.h"
#include "compiler/named_nodes.h"
#include "compiler/surgeon.h"
#include "ir/base/map.h"
#include "ir/base/nearest.h"
#include <string.h>

static const char *quoted(struct surgery *s, const char *name) { return diag_quote(&s->c->arena, name); }
bool surgery_wrong(struct surgery *s, const char *option, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "%s%s%s%s", option ? "--" : "", option ? option : "",
            option ? ": " : "", arena_vprintf(&s->c->arena, fmt, ap));
    va_end(ap);
    return false;
}
void surgery_no_name(struct surgery *s, const char *option, const char *what, const char *name,
                     const char *const *names, int n) {
    surgery_wrong(s, option, "there is no %s called %s%s", what, quoted(s, name),
                  did_you_mean(&s->c->arena, name, names, n));
}
const char *surgery_split(struct surgery *s, const char *word, const char **name) {
    const char *eq = strrchr(word, '='); /* the last `=`, because names of models may contain one */
    *name = eq ? internn(s->c->names, word, (size_t)(eq - word)) : NULL;
    return eq ? eq + 1 : word;
}

/* ---- values by name: those of the top region that a parameter is or a node makes, and the model's outputs */
struct named_values {
    struct map by_name; /* interned name -> value */
    VEC(const char *) names;
};
static void add(struct surgery *s, struct named_values *all, const char *name, struct value *v) {
    name = intern(s->c->names, name);
    if (!*name || map_get(&all->by_name, PKEY(name))) return;
    map_put(&all->by_name, PKEY(name), v);
    PUSH(&s->c->arena, &all->names, name);
}
static struct named_values values_of(struct surgery *s) {
    struct named_values all = {.by_name.arena = &s->c->arena};
    const struct region *top = s->g->top;
    for (int k = 0; k < top->results.n; k++) add(s, &all, s->g->outputs.v[k], top->results.v[k]);
    for (int k = 0; k < top->params.n; k++) add(s, &all, top->params.v[k]->name, top->params.v[k]);
    for (const struct node *n = top->first; n; n = n->next)
        for (int k = 0; k < n->outs.n; k++)
            if (n->outs.v[k]) add(s, &all, n->outs.v[k]->name, n->outs.v[k]);
    return all;
}
typedef VEC(const char *) name_list;
/* A word is one name, or several separated by commas; names of models may contain commas. */
static bool take_names(struct surgery *s, const struct named_values *all, const char *option, const char *word,
                       name_list *out) {
    for (const char *at = word; *at;) {
        size_t n = map_get(&all->by_name, PKEY(intern(s->c->names, at))) ? strlen(at) : strcspn(at, ",");
        const char *name = internn(s->c->names, at, n);
        if (!map_get(&all->by_name, PKEY(name))) {
            surgery_no_name(s, option, "value", name, all->names.v, all->names.n);
            diag_help(&s->c->diags, "`gcc2nn compile --stop-after=import --dump-after=import` shows all values");
            return false;
        }
        for (int k = 0; k < out->n; k++)
            if (out->v[k] == name) return surgery_wrong(s, option, "%s is named twice", quoted(s, name));
        PUSH(&s->c->arena, out, name);
        at += n + (at[n] == ',');
    }
    return true;
}

/* ---- where the model ends */
static bool end_at(struct surgery *s) {
    struct named_values all = values_of(s);
    name_list names = {0};
    for (int k = 0; k < s->words->outputs.n; k++)
        if (!take_names(s, &all, "outputs", s->words->outputs.v[k], &names)) return false;
    if (!names.n) return true;
    region_drop_results(s->g->top);
    s->g->outputs.n = 0;
    for (int k = 0; k < names.n; k++) graph_output(s->g, map_get(&all.by_name, PKEY(names.v[k])), names.v[k]);
    return true;
}
/* Appends the results of nodes that are to be kept to the outputs. */
static bool keep_node(struct surgery *s, const char *name) {
    node_list nodes = nodes_named(s->g, NODES_OF_TOP, name, strlen(name));
    for (int j = 0; j < nodes.n; j++) {
        const struct node *n = nodes.v[j];
        for (int k = 0; k < n->outs.n; k++)
            if (n->outs.v[k] && *n->outs.v[k]->name && !value_is_result(n->outs.v[k]))
                graph_output(s->g, n->outs.v[k], n->outs.v[k]->name);
    }
    return nodes.n || no_node_named(s->g, NODES_OF_TOP, "keep", name, strlen(name));
}

/* ---- where the model begins */
static struct type declared_type(struct surgery *s, const char *name) {
    for (int k = 0; k < s->g->declared.n; k++) {
        const struct declared *d = &s->g->declared.v[k];
        if (strcmp(d->name, name) != 0 || d->rank < 0 || d->held) continue;
        expr *dims = NEWN(&s->c->arena, expr, d->rank ? d->rank : 1);
        for (int i = 0; i < d->rank; i++) dims[i] = d->dims[i] >= 0 ? x_int(s->c, d->dims[i]) : NULL;
        return type_tensor(s->c, d->dtype, dims, d->rank);
    }
    return (struct type){.kind = TY_NONE};
}
/* Are all symbols of a dim the model's own, rather than produced by a node that may be removed? */
static bool outlives(const struct graph *g, expr e) {
    if (e->op == X_SYM) {
        for (int k = 0; k < g->syms.n; k++)
            if (g->syms.v[k] == e->u.sym) return true;
        return false;
    }
    for (int k = 0; k < e->n; k++)
        if (!outlives(g, e->arg[k])) return false;
    return true;
}
/* A parameter that replaces v. If an output has v's name but another value, only that output is replaced. NULL: a
 * diagnostic. */
static struct value *begin_with(struct surgery *s, struct value *v, const char *name) {
    struct type t = v->type.kind == TY_NONE ? declared_type(s, name) : v->type;
    if (t.kind != TY_TENSOR || t.rank < 0) {
        surgery_wrong(s, "inputs", "%s %s", quoted(s, name),
                      t.kind == TY_NONE ? "has no type that is known or declared" : "is no tensor of known rank");
        return NULL;
    }
    expr *dims = NEWN(&s->c->arena, expr, t.rank ? t.rank : 1);
    for (int k = 0; k < t.rank; k++)
        dims[k] = t.dims[k] && outlives(s->g, t.dims[k])
                      ? t.dims[k]
                      : x_sym(s->c, graph_sym(s->g, internf(s->c->names, "%s_d%d", name, k), 0, INT32_MAX));
    struct value *p = region_param(s->g->top, name, type_tensor(s->c, t.dtype, dims, t.rank));
    if (!strcmp(v->name, name)) {
        v->name = "";
        value_replace(v, p);
    }
    for (int k = 0; k < s->g->outputs.n; k++)
        if (!strcmp(s->g->outputs.v[k], name)) region_set_result(s->g->top, k, p);
    return p;
}
/* Makes `wanted` the graph's inputs, in this order; others are removed if nothing reads them any more. */
static void order_params(struct surgery *s, struct value *const *wanted, int n) {
    struct region *top = s->g->top;
    VEC(struct value *) params = {0};
    for (int k = 0; k < n; k++) PUSH(&s->c->arena, &params, wanted[k]);
    top->params.n = 0;
    for (int k = 0; k < params.n; k++) {
        params.v[k]->index = k;
        PUSH(&s->c->arena, &top->params, params.v[k]);
    }
}
static bool begin_at(struct surgery *s) {
    struct named_values all = values_of(s);
    name_list names = {0};
    struct region *top = s->g->top;
    for (int k = 0; k < s->words->inputs.n; k++)
        if (!take_names(s, &all, "inputs", s->words->inputs.v[k], &names)) return false;
    if (!names.n) return true;
    struct value **wanted = NEWN(&s->c->arena, struct value *, names.n);
    for (int k = 0; k < names.n; k++) {
        struct value *v = map_get(&all.by_name, PKEY(names.v[k]));
        wanted[k] = v->param_of && !strcmp(v->name, names.v[k]) ? v : begin_with(s, v, names.v[k]);
        if (!wanted[k]) return false;
    }
    graph_dce(s->g);
    for (int k = 0; k < top->params.n; k++) {
        const struct value *p = top->params.v[k];
        bool listed = false;
        for (int i = 0; i < names.n; i++) listed |= wanted[i] == p;
        if (listed || !p->uses.n) continue;
        surgery_wrong(s, "inputs", "the outputs still need %s", quoted(s, p->name));
        diag_help(&s->c->diags, "name it too, or another value on the way from it");
        return false;
    }
    order_params(s, wanted, names.n);
    return true;
}
/* Removes inputs whose readers were cut off. */
static void drop_unread(struct surgery *s, const bool *was_read) {
    VEC(struct value *) kept = {0};
    const struct region *top = s->g->top;
    for (int k = 0; k < top->params.n; k++)
        if (top->params.v[k]->uses.n || !was_read[k]) PUSH(&s->c->arena, &kept, top->params.v[k]);
    order_params(s, kept.v, kept.n);
}

static void note_unknown(void *env, struct node *n) { *(bool *)env |= !n->op; }
bool surgery_unknown(const struct surgery *s) {
    bool any = false;
    each_node(s->g->top, note_unknown, &any);
    return any;
}
static bool infer_if_known(struct surgery *s) { return surgery_unknown(s) || graph_infer(s->g); }
bool surgery_cut(struct surgery *s) {
    const struct region *top = s->g->top;
    const struct surgery_words *w = s->words;
    if (s->g->taken.n && (w->inputs.n || w->outputs.n))
        return surgery_wrong(s, NULL, "--inputs and --outputs are for models that take tensors; %s is none",
                             quoted(s, s->g->taken.v[0].name));
    bool *was_read = NEWN(&s->c->arena, bool, top->params.n + 1);
    for (int k = 0; k < top->params.n; k++) was_read[k] = top->params.v[k]->uses.n > 0;
    if (!end_at(s)) return false;
    for (int k = 0; k < w->keep.n; k++)
        if (!keep_node(s, w->keep.v[k])) return false;
    graph_dce(s->g);
    if (w->outputs.n) drop_unread(s, was_read);
    return infer_if_known(s) && begin_at(s) && (!w->inputs.n || infer_if_known(s));
}
