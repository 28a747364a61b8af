/* Runs a user's pass: implements the functions of compiler/gcc2nn.h over the graph IR, and checks the graph afterwards.
 * Handles are the graph's own nodes and values. An impossible request is reported as the pass's error, and never breaks
 * an invariant of the compiler. See custom_pass.h. */
#include "compiler/custom_pass.h"
#include "compiler/gcc2nn.h"
#include "compiler/graph/passes.h"
#include "ir/graph/op.h"
#include <string.h>

struct gcc2nn_graph {
    struct graph *g;
    const struct custom_pass *pass;
};
static struct node *node_of(const gcc2nn_node *n) { return (struct node *)(uintptr_t)n; }
static struct value *value_of(const gcc2nn_value *v) { return (struct value *)(uintptr_t)v; }
/* Functions that only read accept NULL, so that a pass can look through absent operands. */
static const struct node *seen_node(const gcc2nn_node *n) {
    static const struct node none = {.domain = "", .op_type = "", .name = ""};
    return n ? node_of(n) : &none;
}
static const struct value *seen(const gcc2nn_value *v) {
    static const struct value none = {.name = "", .type.rank = -1};
    return v ? value_of(v) : &none;
}
static gcc2nn_node *of_node(struct node *n) { return (gcc2nn_node *)n; }
static gcc2nn_value *of_value(struct value *v) { return (gcc2nn_value *)v; }

/* ---- messages */
static void say(gcc2nn_graph *g, enum severity severity, const gcc2nn_node *about, const char *message,
                const char *help) {
    struct ctx *c = g->g->ctx;
    const struct node *n = node_of(about);
    diag_node(&c->diags, severity, E_PASS, n && n->origin && *n->origin ? n->origin : NULL, "pass %s: %s",
              g->pass->name, message ? message : "something is wrong");
    if (help) diag_help(&c->diags, "%s", help);
}
static void report(gcc2nn_graph *g, enum gcc2nn_severity severity, const gcc2nn_node *about, const char *message,
                   const char *help) {
    say(g,
        severity == GCC2NN_NOTE      ? DIAG_NOTE
        : severity == GCC2NN_WARNING ? DIAG_WARNING
                                     : DIAG_ERROR,
        about, message, help);
}
/* Reports an impossible request of the pass. */
static void wrong(gcc2nn_graph *g, const gcc2nn_node *about, const char *function, const char *what) {
    say(g, DIAG_ERROR, about, format(g->g->ctx, "%s: %s", function, what),
        "it is a mistake of the pass, not of the model");
}
static int decide_of(gcc2nn_graph *g, const gcc2nn_node *about, const char *what) {
    const struct node *n = node_of(about);
    if (!n) return decide(g->g->ctx, "%s", what ? what : "a change");
    return decide(g->g->ctx, "%s at %.*s", what ? what : "a change", OWN_ORIGIN(n));
}

/* ---- walking */
static struct region *first_body(const struct node *n) {
    for (int k = 0; k < n->attrs.n; k++)
        if (n->attrs.v[k].kind == AT_REGION && n->attrs.v[k].u.region->first) return n->attrs.v[k].u.region;
    return NULL;
}
static struct region *body_behind(const struct region *r) {
    bool passed = false;
    for (int k = 0; k < r->owner->attrs.n; k++) {
        const struct attr *a = &r->owner->attrs.v[k];
        if (a->kind != AT_REGION) continue;
        if (passed && a->u.region->first) return a->u.region;
        passed |= a->u.region == r;
    }
    return NULL;
}
static gcc2nn_node *next(gcc2nn_graph *g, gcc2nn_node *after) {
    struct node *n = node_of(after);
    if (!n) return of_node(g->g->top->first);
    if (!n->in) return wrong(g, NULL, "next", "the node was removed"), NULL;
    struct region *body = first_body(n);
    if (body) return of_node(body->first);
    for (; n; n = n->in->owner) {
        if (n->next) return of_node(n->next);
        body = n->in->owner ? body_behind(n->in) : NULL;
        if (body) return of_node(body->first);
    }
    return NULL;
}
static int input_count(gcc2nn_graph *g) { return g->g->top->params.n; }
static gcc2nn_value *input(gcc2nn_graph *g, int k) {
    return k < 0 || k >= g->g->top->params.n ? NULL : of_value(g->g->top->params.v[k]);
}
static int output_count(gcc2nn_graph *g) { return g->g->top->results.n; }
static gcc2nn_value *output(gcc2nn_graph *g, int k) {
    return k < 0 || k >= g->g->top->results.n ? NULL : of_value(g->g->top->results.v[k]);
}

/* ---- nodes */
static const char *domain(const gcc2nn_node *n) { return seen_node(n)->domain; }
static const char *op(const gcc2nn_node *n) { return seen_node(n)->op_type; }
static const char *name(const gcc2nn_node *n) { return seen_node(n)->name; }
static int operand_count(const gcc2nn_node *n) { return seen_node(n)->ins.n; }
static gcc2nn_value *operand(const gcc2nn_node *n, int k) { return k < 0 ? NULL : of_value(node_in(seen_node(n), k)); }
static int result_count(const gcc2nn_node *n) { return seen_node(n)->outs.n; }
static gcc2nn_value *result(const gcc2nn_node *n, int k) {
    const struct node *x = seen_node(n);
    return k < 0 || k >= x->outs.n ? NULL : of_value(x->outs.v[k]);
}
/* The attribute if given; else *row is the operator's default. Both are NULL if it is of another kind, or there is
 * none. */
static const struct attr *attribute(const gcc2nn_node *n, const char *named, enum attr_kind kind,
                                    const struct op_attr **row) {
    const struct attr *a = node_attr(seen_node(n), named);
    *row = a ? NULL : op_attr_named(seen_node(n)->op, named);
    if (*row && (*row)->kind != kind) *row = NULL;
    return a && a->kind == kind ? a : NULL;
}
static int get_int(const gcc2nn_node *n, const char *named, int64_t *to) {
    const struct op_attr *row;
    const struct attr *a = attribute(n, named, AT_INT, &row);
    if (a || row) *to = a ? a->u.i : row->i;
    return a || row;
}
static int get_float(const gcc2nn_node *n, const char *named, float *to) {
    const struct op_attr *row;
    const struct attr *a = attribute(n, named, AT_FLOAT, &row);
    if (a || row) *to = a ? a->u.f : row->f;
    return a || row;
}
static int get_string(gcc2nn_graph *g, const gcc2nn_node *n, const char *named, const char **to) {
    const struct op_attr *row;
    const struct attr *a = attribute(n, named, AT_STRING, &row);
    if (a) *to = internn(g->g->ctx->names, a->u.s.p, a->u.s.n);
    else if (row && row->s) *to = row->s;
    return a || (row && row->s);
}
static int get_ints(const gcc2nn_node *n, const char *named, const int64_t **to, int *count) {
    const struct op_attr *row;
    const struct attr *a = attribute(n, named, AT_INTS, &row);
    if (a) *to = a->u.is, *count = a->n;
    return a != NULL;
}
static int get_floats(const gcc2nn_node *n, const char *named, const float **to, int *count) {
    const struct op_attr *row;
    const struct attr *a = attribute(n, named, AT_FLOATS, &row);
    if (a) *to = a->u.fs, *count = a->n;
    return a != NULL;
}

/* ---- values */
static const char *value_name(const gcc2nn_value *v) { return seen(v)->name; }
static bool is_tensor(const struct value *v) { return v->type.kind == TY_TENSOR && v->type.rank >= 0; }
static int type(const gcc2nn_value *v) { return is_tensor(seen(v)) ? dtype_onnx(seen(v)->type.dtype) : 0; }
static int rank(const gcc2nn_value *v) { return is_tensor(seen(v)) ? seen(v)->type.rank : -1; }
static int64_t dim(const gcc2nn_value *v, int axis) {
    const struct type *t = &seen(v)->type;
    int64_t size;
    return axis < 0 || axis >= rank(v) || !x_is_int(t->dims[axis], &size) ? -1 : size;
}
static int same_shape(const gcc2nn_value *a, const gcc2nn_value *b) {
    return is_tensor(seen(a)) && is_tensor(seen(b)) && type_same_dims(&seen(a)->type, &seen(b)->type);
}
static gcc2nn_node *maker(const gcc2nn_value *v) { return of_node(seen(v)->def); }
static int reader_count(const gcc2nn_value *v) { return seen(v)->uses.n; }
static gcc2nn_node *reader(const gcc2nn_value *v, int k, int *place) {
    const struct value *x = seen(v);
    if (k < 0 || k >= x->uses.n) return NULL;
    if (place) *place = x->uses.v[k].index;
    return of_node(x->uses.v[k].node);
}
static int64_t elements(const gcc2nn_value *v) { return seen(v)->init ? tensor_count(seen(v)->init) : -1; }
/* The constant, if it has this element and the element is a number. */
static const struct tensor *with_element(const gcc2nn_value *v, int64_t i) {
    const struct tensor *t = seen(v)->init;
    bool number = t && t->type != STR && !dtype_is_complex(t->type);
    return number && i >= 0 && i < tensor_count(t) ? t : NULL;
}
static double element(const gcc2nn_value *v, int64_t i) {
    const struct tensor *t = with_element(v, i);
    return t ? tensor_f(t, i) : 0;
}
static int64_t element_int(const gcc2nn_value *v, int64_t i) {
    const struct tensor *t = with_element(v, i);
    return t && !dtype_is_float(t->type) ? tensor_i(t, i) : 0;
}

/* ---- changing */
enum { OPERANDS = 1 << 16 };
static bool alive(gcc2nn_graph *g, const gcc2nn_node *n, const char *function) {
    if (n && node_of(n)->in) return true;
    wrong(g, NULL, function, n ? "the node was removed" : "there is no node");
    return false;
}
static gcc2nn_node *insert(gcc2nn_graph *g, gcc2nn_node *before, const char *of, const char *operator,
                           gcc2nn_value * const * operands, int count, int results) {
    struct ctx *c = g->g->ctx;
    struct node *b = node_of(before);
    if (before && !alive(g, before, "insert")) return NULL;
    if (!operator|| !op_of_model(c, of ? of : "", operator)) {
        wrong(g, before, "insert",
              format(c, "there is no operator %s%s%s", of && *of ? diag_quote(&c->arena, of) : "", of && *of ? ":" : "",
                     diag_quote(&c->arena, operator? operator: "")));
        return NULL;
    }
    if (count < 0 || count > OPERANDS || results < 0 || results > OPERANDS || (count && !operands))
        return wrong(g, before, "insert", "there are no so many operands, or results"), NULL;
    struct value **ins = NEWN(&c->arena, struct value *, count + 1);
    for (int k = 0; k < count; k++) ins[k] = value_of(operands[k]);
    struct node *n = node_new(b ? b->in : g->g->top, b, of ? of : "", operator, ins, count, results);
    n->name = "";
    if (!*n->origin) n->origin = format(c, "%s of pass %s", n->op_type, g->pass->name);
    return of_node(n);
}
static gcc2nn_value *constant(gcc2nn_graph *g, int onnx, const int64_t *dims, int n, const void *elements_of) {
    struct ctx *c = g->g->ctx;
    enum dtype t = dtype_by_onnx(onnx);
    bool ok = n >= 0 && n <= 32 && t && t != STR && t != IDX && dtype_bits(t) >= 8 && (dims || !n);
    for (int k = 0; ok && k < n; k++) ok = dims[k] >= 0;
    struct tensor *x = ok ? tensor_new(&c->arena, t, dims, n) : NULL;
    if (!x || (!elements_of && tensor_count(x)))
        return wrong(g, NULL, "constant", "there is no tensor of that type and size"), NULL;
    if (x->nbytes) memcpy(tensor_data(x), elements_of, x->nbytes);
    for (size_t k = 0; t == BOOL && k < x->nbytes; k++)
        ((uint8_t *)tensor_data(x))[k] = x->bytes && ((const uint8_t *)x->bytes)[k];
    return of_value(graph_const(g->g, "", x));
}
static void set_operand(gcc2nn_graph *g, gcc2nn_node *n, int k, gcc2nn_value *v) {
    if (!alive(g, n, "set_operand")) return;
    if (k < 0 || k >= OPERANDS) wrong(g, n, "set_operand", "there is no such operand");
    else node_set_input(node_of(n), k, value_of(v));
}
static void set(gcc2nn_graph *g, gcc2nn_node *n, const char *function, const char *named, struct attr a) {
    if (!alive(g, n, function)) return;
    if (!named || !*named || a.n < 0) {
        wrong(g, n, function, "an attribute has a name, and a list a length");
        return;
    }
    a.name = named;
    node_set_attr(node_of(n), a);
}
static void set_int(gcc2nn_graph *g, gcc2nn_node *n, const char *named, int64_t to) {
    set(g, n, "set_int", named, (struct attr){.kind = AT_INT, .u.i = to});
}
static void set_float(gcc2nn_graph *g, gcc2nn_node *n, const char *named, float to) {
    set(g, n, "set_float", named, (struct attr){.kind = AT_FLOAT, .u.f = to});
}
static void set_string(gcc2nn_graph *g, gcc2nn_node *n, const char *named, const char *to) {
    to = intern(g->g->ctx->names, to ? to : "");
    set(g, n, "set_string", named, (struct attr){.kind = AT_STRING, .u.s = {to, strlen(to)}});
}
static void *copied(gcc2nn_graph *g, const void *v, int count, size_t each) {
    return count > 0 && v ? arena_copy(&g->g->ctx->arena, v, (size_t)count * each) : NULL;
}
static void set_ints(gcc2nn_graph *g, gcc2nn_node *n, const char *named, const int64_t *to, int count) {
    set(g, n, "set_ints", named,
        (struct attr){.kind = AT_INTS, .n = to ? count : 0, .u.is = copied(g, to, count, sizeof *to)});
}
static void set_floats(gcc2nn_graph *g, gcc2nn_node *n, const char *named, const float *to, int count) {
    set(g, n, "set_floats", named,
        (struct attr){.kind = AT_FLOATS, .n = to ? count : 0, .u.fs = copied(g, to, count, sizeof *to)});
}
static void drop_attribute(gcc2nn_graph *g, gcc2nn_node *n, const char *named) {
    if (alive(g, n, "drop_attribute") && named) node_drop_attr(node_of(n), named);
}
static void replace(gcc2nn_graph *g, gcc2nn_value *old, gcc2nn_value *by) {
    struct value *from = value_of(old), *to = value_of(by);
    if (!from || !to) {
        wrong(g, NULL, "replace", "there is no value");
        return;
    }
    struct node *n = to->def;
    VEC(int) own = {0};
    for (int k = 0; n && k < n->ins.n; k++)
        if (n->ins.v[k] == from) PUSH(&g->g->ctx->arena, &own, k);
    value_replace(from, to);
    for (int k = 0; k < own.n; k++) node_set_input(n, own.v[k], from);
}
static void set_output(gcc2nn_graph *g, int k, gcc2nn_value *v) {
    if (!v || k < 0 || k >= g->g->top->results.n) wrong(g, NULL, "set_output", "there is no such output, or no value");
    else region_set_result(g->g->top, k, value_of(v));
}
static void drop_node(gcc2nn_graph *g, gcc2nn_node *n) {
    if (!alive(g, n, "remove")) return;
    for (int k = 0; k < node_of(n)->outs.n; k++)
        if (node_of(n)->outs.v[k] && node_of(n)->outs.v[k]->uses.n) {
            wrong(g, n, "remove", "its results are still read");
            return;
        }
    node_remove(node_of(n));
}

static const struct gcc2nn_functions functions = {
    sizeof functions,
    next,
    input_count,
    input,
    output_count,
    output,
    domain,
    op,
    name,
    operand_count,
    operand,
    result_count,
    result,
    get_int,
    get_float,
    get_string,
    get_ints,
    get_floats,
    value_name,
    type,
    rank,
    dim,
    same_shape,
    maker,
    reader_count,
    reader,
    elements,
    element,
    element_int,
    insert,
    constant,
    set_operand,
    set_int,
    set_float,
    set_string,
    set_ints,
    set_floats,
    drop_attribute,
    replace,
    set_output,
    drop_node,
    report,
    decide_of,
};
/* The outputs are the program's parameters: if the type of one changes, callers of the program break. */
static void tell_changed_outputs(const gcc2nn_graph *g, const struct type *before) {
    struct ctx *c = g->g->ctx;
    for (int k = 0; k < g->g->top->results.n; k++) {
        const struct type *was = &before[k], *now = &g->g->top->results.v[k]->type;
        if (was->kind == now->kind && (was->kind != TY_TENSOR || (was->dtype == now->dtype && was->rank == now->rank)))
            continue;
        diag_node(&c->diags, DIAG_WARNING, E_PASS, NULL, "pass %s: output %s was %s, and is %s now", g->pass->name,
                  diag_quote(&c->arena, g->g->outputs.v[k]), type_text(c, was), type_text(c, now));
        diag_help(&c->diags,
                  "what calls the program sees it; a Cast or Reshape before the output keeps what was there");
    }
}
bool custom_pass_run(struct graph *g, struct custom_pass *p, bool typed) {
    gcc2nn_graph handle = {g, p};
    const struct region *top = g->top;
    struct type *outputs = NEWN(&g->ctx->arena, struct type, top->results.n + 1);
    for (int k = 0; typed && k < top->results.n; k++) outputs[k] = top->results.v[k]->type;
    struct diags *d = &g->ctx->diags;
    const char *after = format(g->ctx, "pass %s of %s", p->name, p->file);
    int before = d->errors;
    trace_because(g, NULL, format(g->ctx, "pass %s has changed the graph", p->name));
    p->ran = true;
    int status = p->pass->run(&functions, &handle);
    if (status && d->errors == before)
        wrong(&handle, NULL, "run", format(g->ctx, "it has failed, with %d, and says no more", status));
    if (d->errors > before || !graph_verify_as(g, after, E_PASS)) return false;
    if (!typed) return true;
    if (graph_infer(g) && graph_dce(g)) {
        tell_changed_outputs(&handle, outputs);
        return true;
    }
    diag(d, DIAG_ERROR, E_PASS, "%s has left a graph that is wrong, as said above", after);
    return false;
}
