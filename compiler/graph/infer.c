/* Inference: walks the regions in order and runs every node's definition to get the types of its results. Nodes with
 * known results become constants immediately, because later shapes may depend on them; operators that are defined by
 * other nodes are replaced by these. The first pass after import. */
#include "compiler/graph/passes.h"
#include "ir/base/checked.h"
#include "ir/define/define.h"
#include "ir/graph/op.h"
#include "lower/ops/packed.h"
#include "lower/ops/sequence.h"
#include <string.h>

/* MAX_WEIGHTS: what is computed of so many stored elements may have as many. MAX_FILLED: what stands for weights, and
 * would be made anew in each run. */
enum { MAX_ELEMENTS = 1 << 20, MAX_WEIGHTS = 1 << 24, MAX_FILLED = 1 << 27, MAX_DIM_NODES = 1 << 16 };
static const int64_t MAX_BYTES = INT64_C(1) << 48; /* address space of today's processors */

static bool infer_region(struct region *r);

static bool is_number(expr e) { return e->op == X_CONST; }

/* A constant with these contents if all are known numbers, or NULL. */
static struct value *constant_of(struct graph *g, const struct value *v) {
    const struct type *ty = &v->type;
    int64_t dims[32];
    if (!v->elems || ty->kind != TY_TENSOR || ty->rank < 0 || ty->rank > 32) return NULL;
    for (int i = 0; i < ty->rank; i++)
        if (!x_is_int(ty->dims[i], &dims[i])) return NULL;
    for (int i = 0; i < v->nelems; i++)
        if (!is_number(v->elems[i])) return NULL;
    struct tensor *t = tensor_new(&g->ctx->arena, ty->dtype, dims, ty->rank);
    if (!t || tensor_count(t) != v->nelems) return NULL;
    for (int i = 0; i < v->nelems; i++) {
        expr e = v->elems[i];
        if (e->type == F32 || e->type == F64) tensor_set_f(t, i, e->u.f);
        else tensor_set_i(t, i, e->u.i);
    }
    return graph_const(g, v->name, t);
}

static bool inputs_are_constants(const struct node *n) {
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k] && !n->ins.v[k]->init) return false;
    return true;
}

/* A folded constant must not be much larger than the constants that the model stores. */
static int64_t most_elements(const struct node *n) {
    int64_t most = n->op && n->op->flags & OP_WEIGHTS ? MAX_FILLED : MAX_ELEMENTS;
    for (int k = 0; k < n->ins.n; k++) {
        const struct tensor *t = n->ins.v[k] ? n->ins.v[k]->init : NULL;
        int64_t count = t && t->source != TS_SPLAT ? tensor_count(t) : 0;
        if (count > most && count <= MAX_WEIGHTS) most = count;
    }
    return most;
}

/* True if n became constants and was removed. */
static bool fold(struct graph *g, struct node *n) {
    if (n->op->flags & (OP_RANDOM | OP_EFFECT | OP_DEQUANTIZES | OP_FOREIGN)) return false;
    bool constants = inputs_are_constants(n);
    if (!constants && !region_is_settled(n->in))
        return false; /* types may still change, and with them contents derived
                       * from them */
    bool left = false;
    for (int k = 0; k < n->outs.n; k++) {
        struct value *v = n->outs.v[k], *by = v ? constant_of(g, v) : NULL;
        if (by) value_replace(v, by);
        left = left || (v && !by);
    }
    trace_because(g, NULL, "its results are known");
    if (!left) {
        node_remove(n);
        return true;
    }
    return constants && evaluate_node(g, n, most_elements(n));
}

/* An operand of n was already refused: report nothing more about n. */
static bool waits_for_refused(const struct node *n) {
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k] && n->ins.v[k]->type.kind == TY_NONE) return true;
    return false;
}

/* ---- sizes are checked here, because later stages multiply dims without overflow checks */
static bool count_nodes(expr e, int *left) {
    if (--*left < 0) return false;
    for (int k = 0; k < e->n; k++)
        if (!count_nodes(e->arg[k], left)) return false;
    return true;
}
static bool fits(struct graph *g, const struct type *t, const char *origin) {
    int64_t least = dtype_bytes(t->dtype), lo, hi;
    expr bytes = x_int(g->ctx, least);
    int left = MAX_DIM_NODES;
    for (int k = 0; k < t->rank; k++) {
        if (!count_nodes(t->dims[k], &left)) {
            diag_node(&g->ctx->diags, DIAG_ERROR, E_LIMIT, origin, "the sizes are too long as expressions");
            diag_help(&g->ctx->diags, "fix symbolic dimensions with --dim NAME=SIZE");
            return false;
        }
        x_bounds(g->ctx, t->dims[k], &lo, &hi);
        least = sat_mul(least, lo > 1 ? lo : 1);
        bytes = x_mul(g->ctx, bytes, t->dims[k]);
    }
    if (least <= MAX_BYTES && bytes->op != X_POISON) return true;
    return diag_node(&g->ctx->diags, DIAG_ERROR, E_SIZE, origin, "a tensor would have more than 2^48 bytes"), false;
}
static bool all_fit(struct graph *g, struct value *const *v, int n, const char *origin) {
    for (int k = 0; k < n; k++)
        if (v[k] && v[k]->type.kind == TY_TENSOR && !fits(g, &v[k]->type, origin)) return false;
    return true;
}

static bool holds_tensors(const struct type *t) {
    const struct type *held = t->elem;
    if (t->kind == TY_OPTIONAL && held && held->kind == TY_SEQUENCE) held = held->elem;
    return held && held->kind == TY_TENSOR && t->kind != TY_MAP;
}
/* ---- operators that are kept although they have an expansion: for writing the graph as a model again */
static bool takes_holders(const struct node *n) {
    for (const struct op_slot *s = n->op->ins; s->name; s++)
        if (s->flags & HOLDER) return true;
    return false;
}
/* Builds n's expansion in a separate region, whose results are those of n. */
static struct region *expanded_apart(struct graph *g, const struct node *n) {
    struct region *r = region_new(g, n->in->owner, "");
    struct map values = {.arena = &g->ctx->arena};
    struct node *copy = node_copy(r, n, &values);
    r->unsettled = n->in->unsettled;
    for (int k = 0; k < copy->outs.n; k++)
        if (copy->outs.v[k]) region_result(r, copy->outs.v[k]);
    g->keeps_operators = false; /* inside the expansion they are expanded */
    bool ok = infer_region(r);
    g->keeps_operators = true;
    return ok ? r : NULL;
}
static void discard(struct region *r) {
    region_drop_results(r);
    while (r->last) node_remove(r->last);
}
/* Is the node kept rather than its expansion? Not if that is a single ONNX operator, if it makes sequences of tensors,
 * which are known only by the nodes that make them, or if it finds sizes at run time, which belong to its nodes. */
static bool stays_whole(const struct region *r) {
    bool ours = false;
    int nodes = 0;
    for (const struct node *n = r->first; n; n = n->next, nodes++) {
        if (n->syms.n) return false;
        ours |= domain_is_ours(n->domain);
    }
    for (int k = 0; k < r->results.n; k++)
        if (holds_tensors(&r->results.v[k]->type)) return false;
    return ours || nodes > 1;
}
/* Takes the types of n's results from its expansion, which is discarded. */
static bool infer_whole(struct graph *g, struct node *n) {
    struct diags *d = &g->ctx->diags;
    const struct diags before = *d;
    bool again = n->outs.n && n->outs.v[0] && n->outs.v[0]->type.kind != TY_NONE; /* warnings were already given the
                                                                                   * first time */
    struct region *r = expanded_apart(g, n);
    if (!r) return false;
    bool whole = stays_whole(r);
    for (int k = 0, i = 0; k < n->outs.n && whole; k++) {
        if (!n->outs.v[k]) continue;
        n->outs.v[k]->type = r->results.v[i]->type;
        n->outs.v[k]->elems = r->results.v[i]->elems, n->outs.v[k]->nelems = r->results.v[i]->nelems;
        n->outs.v[k]->each = r->results.v[i]->each;
        i++;
    }
    discard(r);
    if (again || !whole) *d = before;
    return whole || def_expand(g, n);
}
static bool infer_node(struct graph *g, struct node *n) {
    if (!n->op)
        return diag_node(&g->ctx->diags, DIAG_ERROR, E_OP, n->origin, "operator %s is not supported",
                         diag_quote(&g->ctx->arena, n->op_type)),
               false;
    if (n->op->control) return def_check(g, n) && n->op->control->infer(g, n, infer_region) != INFER_FAILED;
    if (n->op->expand && g->keeps_operators && !domain_is_ours(n->domain) && !takes_holders(n))
        return infer_whole(g, n);
    if (n->op->expand) return def_expand(g, n);
    if (!def_infer(g, n)) return false;
    fold(g, n);
    return true;
}

/* Continues after a node that fails, so that one run reports all errors. */
static bool infer_region(struct region *r) {
    struct graph *g = r->graph;
    struct diags *d = &g->ctx->diags;
    int before = d->errors;
    for (struct node *n = r->first, *prev; n && d->errors < DIAG_MAX;) {
        prev = n->prev;
        if (d->errors == 0 || !waits_for_refused(n))
            if (infer_node(g, n) && n->in == r) all_fit(g, n->outs.v, n->outs.n, n->origin);
        n = node_after(r, n, prev);
    }
    return d->errors == before;
}

/* ---- the model's own sequences and optionals */
static bool inputs_are_tensors(struct graph *g) {
    bool ok = true;
    for (int k = 0; k < g->top->params.n; k++) {
        const struct value *v = g->top->params.v[k];
        if (v->type.kind == TY_TENSOR || v->type.kind == TY_NONE) continue;
        const char *name = diag_quote(&g->ctx->arena, v->name);
        ok = false;
        if (!holds_tensors(&v->type)) {
            diag(&g->ctx->diags, DIAG_ERROR, E_TYPE,
                 "input %s: maps, and sequences and optionals of something else than tensors, are not supported", name);
            continue;
        }
        bool sequence = v->type.kind == TY_SEQUENCE;
        diag(&g->ctx->diags, DIAG_ERROR, E_SHAPE, "input %s is %s, of which it is not known %s", name,
             sequence ? "a sequence" : "an optional", sequence ? "what elements it has" : "whether it is there");
        diag_help(&g->ctx->diags,
                  sequence
                      ? "say it with --shape '%s=3x?,4x?' (the shape of each element, ? for any size; `empty`: "
                        "none), or give it with --data"
                      : "say it with --shape '%s=3x?' (what it holds, ? for any size; `none`: nothing), or give it "
                        "with --data",
                  v->name);
    }
    return ok;
}
/* Replaces a result that holds tensors by these, as results of the model. */
static bool give_contents(struct graph *g, struct value *v, const char *name) {
    struct contents x;
    struct packed p;
    struct optional o;
    struct interner *names = g->ctx->names;
    struct holder h = {.name = name, .present = true, .first = g->top->results.n};
    h.asked = optional_of(v, &o) && o.there;
    const struct value *held = h.asked ? o.value : v;
    h.packed = packed_of(held, &p);
    if (h.asked && held->type.kind == TY_TENSOR) x = (struct contents){VALUE_OPTIONAL, true, &o.value, 1};
    else if (h.packed) x = (struct contents){.kind = VALUE_SEQUENCE, .present = true, .n = 2};
    else if (!contents_of(held, &x))
        return diag(&g->ctx->diags, DIAG_ERROR, E_OP,
                    "output %s: what this sequence, optional or map holds is not known when the model is compiled",
                    diag_quote(&g->ctx->arena, name)),
               false;
    h.kind = h.asked && x.kind == VALUE_SEQUENCE ? VALUE_OPTIONAL_SEQUENCE : x.kind;
    h.present = x.present, h.n = h.asked + x.n;
    PUSH(&g->ctx->arena, &g->given, h);
    if (h.asked) graph_output(g, o.there, internf(names, "%s_there", name));
    if (h.packed) {
        graph_output(g, p.cells, internf(names, "%s_cells", name));
        graph_output(g, p.shapes, internf(names, "%s_shapes", name));
        return true;
    }
    for (int i = 0; i < x.n; i++) graph_output(g, x.v[i], value_part(names, name, h.kind, i));
    return true;
}
static bool results_to_tensors(struct graph *g) {
    struct region *top = g->top;
    int n = top->results.n, held = 0;
    bool ok = true;
    for (int k = 0; k < n; k++)
        held += top->results.v[k]->type.kind != TY_TENSOR && top->results.v[k]->type.kind != TY_NONE;
    if (!held) return true;
    struct value **v = arena_copy(&g->ctx->arena, top->results.v, (size_t)n * sizeof *v);
    const char **names = arena_copy(&g->ctx->arena, g->outputs.v, (size_t)n * sizeof *names);
    region_drop_results(top);
    g->outputs.n = 0;
    for (int k = 0; k < n; k++) {
        if (v[k]->type.kind != TY_TENSOR) {
            ok &= give_contents(g, v[k], names[k]);
            continue;
        }
        graph_output(g, v[k], names[k]);
    }
    return ok;
}

/* Folds the nodes of constants that inference left, and those that they make constant. */
struct folding {
    struct graph *g;
    bool sizes_known; /* a removed node introduced sizes that dims refer to */
};
static void fold_rest(void *env, struct node *n) {
    struct folding *f = env;
    struct graph *g = f->g;
    if (!n->op || !n->op->define || !inputs_are_constants(n) || n->op->flags & (OP_RANDOM | OP_EFFECT | OP_FOREIGN))
        return;
    trace_because(g, NULL, "its results are known");
    bool has_sizes = n->syms.n > 0;
    if (evaluate_node(g, n, most_elements(n))) f->sizes_known |= has_sizes;
}
bool graph_infer(struct graph *g) {
    return all_fit(g, g->top->params.v, g->top->params.n, "the model's inputs") && inputs_are_tensors(g) &&
           infer_region(g->top) && (g->keeps_operators || results_to_tensors(g));
}
bool graph_fold_constants(struct graph *g) {
    struct folding f = {.g = g};
    each_node(g->top, fold_rest, &f);
    return !f.sizes_known || graph_infer(g);
}
