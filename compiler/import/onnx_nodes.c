/* ONNX import: graphs and functions to regions and nodes. A graph is read in three rounds, because not all exporters
 * sort nodes: declare every name, then connect inputs and read bodies, then inline the calls of model-local
 * functions. */
#include "compiler/import/onnx_import.h"
#include "ir/graph/op.h"
#include <string.h>

/* Bound to a function's input that the caller omitted. */
static struct value absent_input;
#define ABSENT (&absent_input)

/* A node during the three rounds. function: it is a call. */
struct pending {
    const Onnx__NodeProto *proto;
    struct node *node; /* NULL: a Constant, already bound */
    const Onnx__FunctionProto *function;
};

static const char *quote(struct importer *m, const char *s) { return diag_quote(&m->c->arena, s); }
/* Names inside of functions, for messages; long ones get no prefix, so that inlining cannot multiply their bytes. */
static const char *prefixed(struct importer *m, const struct frame *f, const char *s) {
    bool shown = f && *s && strlen(f->prefix) + strlen(s) < 200;
    return shown ? internf(m->c->names, "%s/%s", f->prefix, s) : s;
}

/* ---- names */
bool onnx_declare(struct importer *m, struct scope *s, const char *name, struct value *v) {
    name = intern(m->c->names, name);
    if (!*name) return onnx_error(m, E_GRAPH, "an input or initializer has no name"), false;
    if (map_get(&s->names, PKEY(name)))
        return onnx_error(m, E_GRAPH, "the name %s is defined twice", quote(m, name)), false;
    map_put(&s->names, PKEY(name), v);
    return true;
}

/* The value that represents `outer` in the body with scope s. */
static struct value *capture(struct importer *m, struct scope *s, struct value *outer) {
    struct arena *a = &m->c->arena;
    struct captured *all = s->captured;
    int k = (int)(intptr_t)map_get(&all->number, PKEY(outer)) - 1;
    if (k < 0) {
        k = all->values.n;
        PUSH(a, &all->values, outer);
        map_put(&all->number, PKEY(outer), (void *)(intptr_t)(k + 1));
    }
    while (s->params.n <= k) PUSH(a, &s->params, NULL);
    if (!s->params.v[k]) s->params.v[k] = region_param(s->region, outer->name, outer->type);
    return s->params.v[k];
}

/* NULL: no such name. Constants are visible everywhere; other outer values are captured, level by level. */
static struct value *look_up(struct importer *m, struct scope *s, const char *name) {
    struct value *v = map_get(&s->names, PKEY(name));
    if (v || !s->outer) return v;
    v = look_up(m, s->outer, name);
    if (!v || v == ABSENT || v->init) return v;
    v = capture(m, s, v);
    map_put(&s->names, PKEY(name), v);
    return v;
}

/* ---- functions */
const char *onnx_key(struct importer *m, const char *a, const char *b, const char *c) {
    struct text t = {0};
    text_add(&t, a);
    text_char(&t, 0);
    text_add(&t, b);
    text_char(&t, 0);
    text_add(&t, c);
    const char *key = internn(m->c->names, t.s, t.n);
    text_free(&t);
    return key;
}

void onnx_functions(struct importer *m) {
    for (size_t i = 0; i < m->model->n_functions; i++) {
        const Onnx__FunctionProto *f = m->model->functions[i];
        const char *key = onnx_key(m, onnx_domain(m, onnx_text(f->domain)), onnx_text(f->name), onnx_text(f->overload));
        if (map_get(&m->functions, PKEY(key)))
            onnx_error(m, E_GRAPH, "function %s is defined twice", quote(m, onnx_text(f->name)));
        else map_put(&m->functions, PKEY(key), (void *)(uintptr_t)f);
        if (f->n_attribute_proto > ONNX_MAX_ATTRS)
            onnx_error(m, E_LIMIT, "function %s has more than %d attributes", quote(m, onnx_text(f->name)),
                       ONNX_MAX_ATTRS);
    }
}

/* ---- round 1: names */
/* t NULL: the tensor could not be read, which was reported. Its name is declared anyway, so that its readers cause no
 * further errors. */
static void initializer(struct importer *m, struct scope *s, const char *name, const struct tensor *t) {
    onnx_declare(m, s, name, t ? graph_const(m->g, name, t) : ABSENT);
}
static void initializers(struct importer *m, struct scope *s, const Onnx__GraphProto *p) {
    for (size_t i = 0; i < p->n_initializer && !m->stopped; i++) {
        const char *name = intern(m->c->names, onnx_text(p->initializer[i]->name));
        if ((m->o.keep_inputs || s->outer) && map_get(&s->names, PKEY(name)))
            continue; /* a default that the caller's value replaces */
        initializer(m, s, name, onnx_tensor(m, p->initializer[i]));
    }
    for (size_t i = 0; i < p->n_sparse_initializer && !m->stopped; i++) {
        const Onnx__SparseTensorProto *q = p->sparse_initializer[i];
        initializer(m, s, q->values ? onnx_text(q->values->name) : "", onnx_sparse(m, q));
    }
}

static const char *node_origin(struct importer *m, const struct scope *s, const Onnx__NodeProto *p, int number) {
    const struct node *owner = s->region->owner;
    const char *outer = owner ? owner->origin : s->frame ? s->frame->origin : NULL;
    if (node_is(owner, "If")) /* If has two bodies */
        outer = internf(m->c->names, "%s %s", outer, node_region(owner, "else_branch") == s->region ? "else" : "then");
    const char *op = onnx_text(p->op_type);
    const struct op *row = op_of_model(m->c, onnx_domain(m, onnx_text(p->domain)), op);
    return origin_text(m->c, outer, number, onnx_text(p->name), op_shown(row, op));
}

static bool count_node(struct importer *m) {
    if (++m->nodes <= m->o.max_nodes) return true;
    if (!m->stopped) onnx_error(m, E_LIMIT, "the model has more than %d nodes, functions inlined", m->o.max_nodes);
    m->stopped = true;
    return false;
}

static void declare_constant(struct importer *m, struct scope *s, const Onnx__NodeProto *p) {
    const struct tensor *t = onnx_constant(m, s, p);
    if (!t || p->n_output != 1 || !*p->output[0]) {
        if (t) onnx_error(m, E_ARITY, "a Constant must have one output");
        return;
    }
    onnx_declare(m, s, p->output[0], graph_const(m->g, prefixed(m, s->frame, p->output[0]), t));
}

static void declare_node(struct importer *m, struct scope *s, const Onnx__NodeProto *p, int number, struct pending *q) {
    const char *domain = onnx_domain(m, onnx_text(p->domain)), *op = onnx_text(p->op_type),
               *origin = node_origin(m, s, p, number);
    q->proto = p;
    m->c->diags.origin = origin;
    trace_source(m->g, origin);
    if (p->n_attribute > ONNX_MAX_ATTRS) {
        onnx_error(m, E_LIMIT, "more than %d attributes", ONNX_MAX_ATTRS);
        m->stopped = true;
        return;
    }
    if (domain_is_ours(domain)) /* they trust their operands, as only the compiler makes them */
        onnx_error(m, E_OP, "operators of the domain %s are made by the compiler; no ONNX model may hold them", domain);
    if (!*domain && strcmp(op, "Constant") == 0) {
        declare_constant(m, s, p);
        trace_because(m->g, NULL, "it is a constant");
        trace_removed(m->g, origin);
        return;
    }
    q->function = map_get(&m->functions, PKEY(onnx_key(m, domain, op, onnx_text(p->overload))));
    struct node *n = q->node = node_new(s->region, NULL, domain, op, NULL, 0, 0);
    n->name = intern(m->c->names, prefixed(m, s->frame, onnx_text(p->name)));
    n->origin = origin;
    n->version = onnx_version(m, s->frame, domain);
    for (size_t k = 0; k < p->n_output; k++) {
        if (!*p->output[k]) {
            PUSH(&m->c->arena, &n->outs, NULL);
            continue;
        }
        struct value *v = node_out(n, (int)k, prefixed(m, s->frame, p->output[k]));
        onnx_declare(m, s, p->output[k], v);
    }
}

/* ---- round 2: inputs and bodies */
static void connect(struct importer *m, struct scope *s, const struct pending *q) {
    size_t n = q->proto->n_input;
    while (n && !*q->proto->input[n - 1]) n--;
    if (n > ONNX_MAX_INPUTS) {
        onnx_error(m, E_LIMIT, "more than %d inputs", ONNX_MAX_INPUTS);
        return;
    }
    for (size_t k = 0; k < n; k++) {
        const char *name = q->proto->input[k];
        struct value *v = *name ? look_up(m, s, intern(m->c->names, name)) : NULL;
        if (*name && !v) onnx_error(m, E_GRAPH, "input %zu %s is not defined", k, quote(m, name));
        node_set_input(q->node, (int)k, v == ABSENT ? NULL : v);
    }
}

static void body(struct importer *m, struct scope *outer, struct node *n, const char *attr_name,
                 const Onnx__GraphProto *p, struct scope *s, struct captured *captured) {
    *s = (struct scope){.outer = outer, .frame = outer->frame, .captured = captured, .depth = outer->depth + 1};
    s->names.arena = &m->c->arena;
    s->region = region_new(m->g, n, onnx_text(p->name));
    node_set_attr(n, (struct attr){.name = attr_name, .kind = AT_REGION, .u.region = s->region});
    if (s->depth > m->o.max_depth) {
        onnx_error(m, E_LIMIT, "bodies and functions are nested more than %d levels deep", m->o.max_depth);
        m->stopped = true;
        return;
    }
    for (size_t i = 0; i < p->n_input; i++) {
        struct type t = onnx_type(m, p->input[i]->type, NULL);
        onnx_declare(m, s, onnx_text(p->input[i]->name),
                     region_param(s->region, prefixed(m, s->frame, onnx_text(p->input[i]->name)), t));
    }
    onnx_graph(m, s, p);
}

/* All bodies of a node get all of its captured values, in the same order, after their own parameters. */
static void close_body(struct importer *m, const struct scope *s, int own) {
    struct region *r = s->region;
    r->params.n = own;
    for (int k = 0; k < s->captured->values.n; k++) {
        struct value *v = k < s->params.n ? s->params.v[k] : NULL, *outer = s->captured->values.v[k];
        if (!v) {
            region_param(r, outer->name, outer->type);
            continue;
        }
        v->index = r->params.n;
        PUSH(&m->c->arena, &r->params, v);
    }
}

/* Index of the first captured value: after the non-variadic slots of the operator, even if the model fills fewer. */
static int own_inputs(const struct node *n) {
    int slots = 0;
    while (n->op && n->op->ins[slots].name && !(n->op->ins[slots].flags & VARIADIC)) slots++;
    return n->ins.n > slots ? n->ins.n : slots;
}

static void attributes(struct importer *m, struct scope *s, const struct pending *q) {
    struct node *n = q->node;
    struct captured captured = {.number = {.arena = &m->c->arena}};
    VEC(struct scope) bodies = {0};
    VEC(int) own = {0};
    for (size_t i = 0; i < q->proto->n_attribute && !m->stopped; i++) {
        const char *name = intern(m->c->names, onnx_text(q->proto->attribute[i]->name));
        const Onnx__AttributeProto *p = onnx_resolve(s->frame, q->proto->attribute[i]);
        struct attr a;
        if (!p) continue; /* refers to an attribute that the function's caller left out */
        if (node_attr(n, name)) {
            onnx_error(m, E_ATTR, "attribute %s is given twice", quote(m, name));
            continue;
        }
        switch (onnx_attr(m, name, p, &a)) {
        case ATTR_OK: node_set_attr(n, a); break;
        case ATTR_BAD:
            onnx_error(m, E_ATTR, "attribute %s has a kind that is not supported, or no value", quote(m, name));
            break;
        case ATTR_GRAPH: {
            struct scope b;
            body(m, s, n, name, p->g, &b, &captured);
            m->c->diags.origin = n->origin;
            PUSH(&m->c->arena, &bodies, b);
            PUSH(&m->c->arena, &own, (int)p->g->n_input);
            break;
        }
        }
    }
    if (!bodies.n) return;
    node_drop_attr(n, "captures"); /* the compiler's own attribute; a model must not set it */
    for (int i = 0; i < bodies.n; i++) close_body(m, &bodies.v[i], own.v[i]);
    int first = own_inputs(n);
    for (int k = 0; k < captured.values.n; k++) node_set_input(n, first + k, captured.values.v[k]);
    if (captured.values.n) node_set_int(n, "captures", captured.values.n);
}

/* ---- rounds 1 and 2 for the nodes of a graph or function */
struct batch {
    struct pending *v;
    size_t n;
};

static struct batch read_nodes(struct importer *m, struct scope *s, Onnx__NodeProto *const *nodes, size_t n) {
    const char *origin = m->c->diags.origin;
    struct batch b = {NEWN(&m->c->arena, struct pending, n), 0};
    for (; b.n < n && !m->stopped && count_node(m); b.n++) declare_node(m, s, nodes[b.n], (int)b.n, &b.v[b.n]);
    for (size_t i = 0; i < b.n && !m->stopped; i++) {
        if (!b.v[i].node) continue;
        m->c->diags.origin = b.v[i].node->origin;
        connect(m, s, &b.v[i]);
        if (!b.v[i].function) attributes(m, s, &b.v[i]);
    }
    m->c->diags.origin = origin;
    return b;
}

/* ---- round 3: calls. All uses of a call's outputs exist by now, so that replacing them reaches every one. */
static void inline_calls(struct importer *m, struct scope *s, const struct batch *b);

static bool is_recursive(const struct frame *f, const Onnx__FunctionProto *p) {
    for (; f; f = f->caller)
        if (f->function == p) return true;
    return false;
}

/* A closed region with the function's body; NULL after an error. args[k] gets the k-th parameter's argument. */
static struct region *function_body(struct importer *m, const struct scope *s, const struct pending *q,
                                    const struct frame *f, struct value **args) {
    const Onnx__FunctionProto *p = q->function;
    struct scope in = {.region = region_new(m->g, NULL, onnx_text(p->name)), .frame = f, .depth = s->depth + 1};
    in.names.arena = &m->c->arena;
    int nargs = 0;
    bool ok = true;
    for (size_t k = 0; k < p->n_input; k++) {
        struct value *given = (int)k < q->node->ins.n ? q->node->ins.v[k] : NULL;
        struct value *param = given ? region_param(in.region, prefixed(m, f, p->input[k]), given->type) : ABSENT;
        if (given) args[nargs++] = given;
        ok = onnx_declare(m, &in, p->input[k], param) && ok;
    }
    int before = m->c->diags.errors;
    struct batch b = read_nodes(m, &in, p->node, p->n_node);
    for (size_t k = 0; k < p->n_output && ok; k++) {
        struct value *v = look_up(m, &in, intern(m->c->names, p->output[k]));
        if (v && v != ABSENT) region_result(in.region, v);
        else if (k < (size_t)q->node->outs.n && q->node->outs.v[k]) {
            onnx_error(m, E_GRAPH, "output %s of the function is not defined", quote(m, p->output[k]));
            ok = false;
        } else {
            break; /* nobody wants it, nor, as a rule, what is behind it */
        }
    }
    inline_calls(m, &in, &b);
    return ok && m->c->diags.errors == before && !m->stopped ? in.region : NULL;
}

static void inline_call(struct importer *m, struct scope *s, const struct pending *q) {
    struct node *n = q->node;
    m->c->diags.origin = n->origin;
    if (is_recursive(s->frame, q->function)) {
        onnx_error(m, E_GRAPH, "the function calls itself");
        return;
    }
    if (s->depth + 1 > m->o.max_depth) {
        onnx_error(m, E_LIMIT, "bodies and functions are nested more than %d levels deep", m->o.max_depth);
        m->stopped = true;
        return;
    }
    if (n->ins.n > (int)q->function->n_input || n->outs.n > (int)q->function->n_output) {
        onnx_error(m, E_ARITY, "the function takes %zu inputs and gives %zu outputs", q->function->n_input,
                   q->function->n_output);
        return;
    }
    const char *prefix = *n->name ? n->name : n->outs.n && n->outs.v[0] ? n->outs.v[0]->name : n->op_type;
    struct frame f = {
        .function = q->function, .call = q->proto, .caller = s->frame, .prefix = prefix, .origin = n->origin};
    struct value **args = NEWN(&m->c->arena, struct value *, q->function->n_input),
                 **results = NEWN(&m->c->arena, struct value *, q->function->n_output);
    struct region *r = function_body(m, s, q, &f, args);
    m->c->diags.origin = n->origin;
    if (!r) return;
    int nresults = r->results.n;
    for (int k = 0; k < nresults && k < n->outs.n; k++) /* a parameter keeps its outer name */
        if (n->outs.v[k] && r->results.v[k]->def) r->results.v[k]->name = n->outs.v[k]->name;
    region_inline(r, n, args, results);
    for (int k = 0; k < n->outs.n; k++) {
        struct value *out = n->outs.v[k];
        if (!out) continue;
        if (k >= nresults || results[k]->def == n) {
            onnx_error(m, E_GRAPH, "output %d of the function %s", k,
                       k >= nresults ? "is not defined" : "needs itself");
            return;
        }
        value_replace(out, results[k]);
    }
    trace_because(m->g, NULL, "the nodes of its function stand in its place");
    node_remove(n);
}

static void inline_calls(struct importer *m, struct scope *s, const struct batch *b) {
    int before = m->c->diags.errors;
    const char *origin = m->c->diags.origin;
    for (size_t i = 0; i < b->n && !m->stopped && m->c->diags.errors == before; i++)
        if (b->v[i].function && b->v[i].node) inline_call(m, s, &b->v[i]);
    m->c->diags.origin = origin;
}

bool onnx_graph(struct importer *m, struct scope *s, const Onnx__GraphProto *p) {
    int before = m->c->diags.errors;
    initializers(m, s, p);
    struct batch b = read_nodes(m, s, p->node, p->n_node);
    for (size_t k = 0; k < p->n_output && !m->stopped; k++) {
        const char *name = intern(m->c->names, onnx_text(p->output[k]->name));
        struct value *v = look_up(m, s, name);
        if (v && v != ABSENT) region_result(s->region, v);
        else onnx_error(m, E_GRAPH, "output %zu %s is not defined", k, quote(m, name));
        if (!s->outer) PUSH(&m->c->arena, &m->g->outputs, name);
    }
    if (m->c->diags.errors == before) inline_calls(m, s, &b);
    return m->c->diags.errors == before && !m->stopped;
}
