/* Moves permutations to where they cancel; see passes.h. A model in channels-last order has a Transpose before and
 * after every convolution. For one permutation p, each operator that works with any order of axes is computed either as
 * it is or on permuted operands; transposes are needed between the two kinds. Which operators to permute for the least
 * cost is a minimum cut of a graph with a vertex for each (Greig, Porteous and Seheult, 1989, showed that two labels
 * with pairwise costs are a minimum cut). The chosen operators are then written with a Transpose on each side, and the
 * rules of simplify remove those that meet. axis_order.c knows how each operator is rewritten. */
#include "compiler/graph/axis_order.h"
#include "compiler/graph/min_cut.h"
#include "compiler/graph/passes.h"
#include "compiler/graph/rules.h"
#include "ir/define/define.h"
#include "ir/graph/op.h"
#include <string.h>

/* Costs: a byte that is transposed; each transpose, however small; one that is only a view; one that separates a sum
 * and its epilogue into two kernels; an operator that is left in place if no order is better (this decides ties:
 * transposes move to the edge); a sum along an axis that is not last. */
enum {
    COST_BYTE = 4,
    COST_CALL = 1024,
    COST_VIEW = 512,
    COST_SPLITS = 64,
    COST_STAYS = 1,
    COST_STRIDED = 4,
    TYPICAL_SIZE = 64,
    MOST_CELLS = 1 << 24,
    MOST_ORDERS = 16
};

struct mover {
    struct graph *g;
    struct region *r;
    struct probes *probes;
    struct arena tmp;
    struct order p;           /* moved = Transpose(v) {perm=p} */
    struct map vertex;        /* node -> its number + 1 in the cut */
    VEC(struct node *) nodes; /* candidates; their vertices are 2, 3 ... */
    struct cut *cut;
};

static int64_t cells(const struct value *v) {
    int64_t n = 1, d;
    for (int k = 0; k < v->type.rank && n < MOST_CELLS; k++) {
        if (!x_is_int(v->type.dims[k], &d) || d > MOST_CELLS) d = TYPICAL_SIZE;
        n *= d;
    }
    return n < 1 ? 1 : n > MOST_CELLS ? MOST_CELLS : n;
}
/* Does p move only axes of size 1 of v, so that it is a Reshape? */
static bool is_reshape(const struct order *p, const struct value *v) {
    for (int k = 0, last = -1; k < v->type.rank; k++) {
        if (x_is(v->type.dims[p->axis[k]], 1)) continue;
        if (p->axis[k] < last) return false;
        last = p->axis[k];
    }
    return true;
}
static bool splits(const struct mover *m, const struct value *v) {
    struct node *n = v->uses.n == 1 ? v->uses.v[0].node : NULL;
    return n && !n->op->control && value_follows_sums(m->probes, v) && node_is_cellwise(m->probes, n);
}
static int64_t cost_of(const struct mover *m, const struct value *v) {
    bool free = v->type.rank == m->p.rank ? is_reshape(&m->p, v) : type_has_one_element(&v->type);
    return (free ? COST_VIEW : COST_CALL + COST_BYTE * cells(v) * dtype_bytes(v->type.dtype)) +
           (splits(m, v) ? COST_SPLITS : 0);
}
/* Does n permute by p, or is it a view with the same effect, because only axes of size 1 move? */
static bool permutes(const struct node *n, const struct order *p) {
    int perm[32];
    const struct type *to = n->outs.n == 1 ? &n->outs.v[0]->type : NULL;
    if (!to || to->rank != p->rank) return false;
    if (node_perm(n, perm)) return !memcmp(perm, p->axis, (size_t)p->rank * sizeof *perm);
    if (!n->op || !(n->op->flags & OP_VIEW) || n->ins.v[0]->type.rank != p->rank || !is_reshape(p, n->ins.v[0]))
        return false;
    for (int k = 0; k < p->rank; k++)
        if (to->dims[k] != n->ins.v[0]->type.dims[p->axis[k]]) return false;
    return true;
}

/* ---- the cut: vertices on the side of the sink are permuted. */
static int vertex_of(const struct mover *m, const struct node *n) {
    return (int)((intptr_t)map_get(&m->vertex, PKEY(n)) - 1);
}
/* The vertex of v's producer: the source if v is available as it is, the sink if permuted; -1: both are available. */
static int maker(const struct mover *m, const struct value *v, const struct order *back) {
    if (v->init) return -1;
    if (v->def && permutes(v->def, back)) return CUT_SINK;
    int k = v->def ? vertex_of(m, v->def) : -1;
    return k < 0 ? CUT_SOURCE : k;
}
/* Adds the readers of v: each transpose of v is paid once, however many read it. */
static void add_value(struct mover *m, const struct value *v, const struct order *back) {
    int from = maker(m, v, back);
    if (from < 0 || v->type.kind != TY_TENSOR) return;
    int moved = cut_vertex(m->cut), plain = cut_vertex(m->cut);
    int64_t cost = cost_of(m, v);
    cut_edge(m->cut, from, moved, cost);
    cut_edge(m->cut, plain, from, cost);
    for (int k = 0; k < v->uses.n; k++) {
        const struct node *n = v->uses.v[k].node;
        int to = n ? vertex_of(m, n) : -1;
        if (n && to < 0 && (order_is_free(n) || !operand_is_ordered(n, v->uses.v[k].index))) continue;
        if (to >= 0 && !operand_is_ordered(n, v->uses.v[k].index)) to = CUT_SOURCE;
        if (to < 0) to = n && permutes(n, &m->p) ? CUT_SINK : CUT_SOURCE;
        cut_edge(m->cut, moved, to, CUT_NEVER);
        cut_edge(m->cut, to, plain, CUT_NEVER);
    }
}
static void add_node(struct mover *m, const struct node *n) {
    int k = vertex_of(m, n), axis = order_reduced_axis(n);
    int64_t size = cells(n->ins.v[0]);
    if (axis < 0) cut_edge(m->cut, k, CUT_SINK, COST_STAYS);
    else if (axis == m->p.rank - 1) cut_edge(m->cut, CUT_SOURCE, k, COST_STRIDED * size);
    else if (m->p.axis[m->p.rank - 1] == axis) cut_edge(m->cut, k, CUT_SINK, COST_STRIDED * size);
}

/* ---- a permutation that is its own inverse: a Transpose of v is v permuted, and its readers read v in the opposite
 * order. The cut has no such edges, so it counts that Transpose twice; its result is therefore evaluated again. */
static bool is_moved(const struct mover *m, const struct node *n) {
    int k = n ? vertex_of(m, n) : -1;
    return k >= 0 && cut_at_sink(m->cut, k);
}
/* Is v needed permuted, or as it is, by readers of v, or of a Transpose of v (turned)? */
static void asked_for(const struct mover *m, const struct value *v, bool proposed, bool turned, bool needs[2]) {
    for (int k = 0; k < v->uses.n; k++) {
        const struct node *n = v->uses.v[k].node;
        if (n && permutes(n, &m->p) && !turned) {
            asked_for(m, n->outs.v[0], proposed, true, needs);
            continue;
        }
        bool moved = proposed && n && operand_is_ordered(n, v->uses.v[k].index) && is_moved(m, n);
        needs[moved != turned] = true;
    }
}
static int64_t cost_at(const struct mover *m, const struct value *v, bool proposed) {
    bool needs[2] = {false, false};
    if (v->type.kind != TY_TENSOR || (v->def && permutes(v->def, &m->p))) return 0;
    asked_for(m, v, proposed, false, needs);
    bool moved = proposed && is_moved(m, v->def);
    return needs[!moved] && !v->init ? cost_of(m, v) : 0;
}
static bool costs_less(const struct mover *m) {
    int64_t before = 0, after = 0;
    struct order back = order_inverse(&m->p);
    if (!order_equal(&m->p, &back)) return true;
    for (int k = 0; k < m->r->params.n; k++)
        before += cost_at(m, m->r->params.v[k], false), after += cost_at(m, m->r->params.v[k], true);
    for (struct node *n = m->r->first; n; n = n->next)
        for (int k = 0; k < n->outs.n; k++)
            if (n->outs.v[k]) before += cost_at(m, n->outs.v[k], false), after += cost_at(m, n->outs.v[k], true);
    return after <= before;
}

/* ---- the rewrite */
static struct value *inferred(struct mover *m, struct node *n) { return def_infer(m->g, n) ? n->outs.v[0] : NULL; }
static struct value *transposed(struct mover *m, struct node *before, struct value *v, const struct order *p) {
    struct node *n = node_new(before->in, before, "", "Transpose", &v, 1, 1);
    int64_t perm[32];
    for (int k = 0; k < p->rank; k++) perm[k] = p->axis[k];
    node_set_attr(n, (struct attr){.name = "perm",
                                   .kind = AT_INTS,
                                   .n = p->rank,
                                   .u.is = arena_copy(&m->g->ctx->arena, perm, (size_t)p->rank * sizeof *perm)});
    return inferred(m, n);
}
/* Operands with fewer axes get leading axes of 1, as broadcasting does. */
static struct value *moved_operand(struct mover *m, struct node *n, struct value *v) {
    if (type_has_one_element(&v->type) && v->type.rank < m->p.rank) return v;
    if (v->type.rank < m->p.rank) {
        int64_t axes[32];
        int more = m->p.rank - v->type.rank;
        for (int k = 0; k < more; k++) axes[k] = k;
        v = inferred(m, node_new(n->in, n, "", "Unsqueeze", (struct value *[]){v, graph_ints(m->g, axes, more)}, 2, 1));
    }
    return v ? transposed(m, n, v, &m->p) : NULL;
}
/* Computes n on permuted operands and permutes its results back. */
static bool move(struct mover *m, struct node *n) {
    struct node *before = n->prev, *by = node_new(n->in, n, n->domain, n->op_type, NULL, 0, n->outs.n);
    struct value *back[64] = {0};
    struct order inverse = order_inverse(&m->p);
    struct diags said = m->g->ctx->diags;
    bool ok = n->outs.n <= 64;
    for (int k = 0; k < n->attrs.n; k++) node_set_attr(by, n->attrs.v[k]);
    for (int k = 0; ok && k < n->ins.n; k++) {
        struct value *v = n->ins.v[k];
        if (v && operand_is_ordered(n, k)) ok = (v = moved_operand(m, by, v)) != NULL;
        node_set_input(by, k, v);
    }
    ok = ok && order_apply(m->g, by, n, &m->p) && def_infer(m->g, by);
    for (int k = 0; ok && k < n->outs.n; k++) {
        back[k] = transposed(m, n, by->outs.v[k], &inverse);
        ok = back[k] && type_equal(&back[k]->type, &n->outs.v[k]->type);
    }
    if (!ok) { /* discard its diagnostics: n stays as it is */
        m->g->ctx->diags = said;
        nodes_remove_between(before, n);
        return false;
    }
    for (int k = 0; k < n->outs.n; k++) {
        back[k]->name = n->outs.v[k]->name; /* the value with the model's name is the one in the original order */
        value_replace(n->outs.v[k], back[k]);
    }
    trace_because(m->g, NULL, "it is computed in another order of axes");
    node_remove(n);
    return true;
}

/* ---- a region */
static void find_nodes(struct mover *m) {
    for (struct node *n = m->r->first; n; n = n->next) {
        if (!order_is_open(m->probes, n, &m->p)) continue;
        PUSH(&m->tmp, &m->nodes, n);
        map_put(&m->vertex, PKEY(n), (void *)(intptr_t)(cut_vertex(m->cut) + 1));
    }
}
/* probes: recomputed only after a move, because some definitions take long */
static bool move_region(struct graph *g, struct region *r, const struct order *p, struct probes **probes) {
    if (!*probes) *probes = probes_new(g);
    struct mover m = {.g = g, .r = r, .probes = *probes, .p = *p};
    struct order back = order_inverse(p);
    bool changed = false;
    m.vertex.arena = &m.tmp;
    m.cut = cut_new(&m.tmp);
    find_nodes(&m);
    for (int k = 0; k < r->params.n; k++) add_value(&m, r->params.v[k], &back);
    for (struct node *n = r->first; n && m.nodes.n; n = n->next) {
        for (int k = 0; k < n->outs.n; k++)
            if (n->outs.v[k]) add_value(&m, n->outs.v[k], &back);
        if (vertex_of(&m, n) >= 0) add_node(&m, n);
    }
    if (m.nodes.n && cut_minimum(m.cut) && costs_less(&m))
        for (int k = 0; k < m.nodes.n; k++)
            if (cut_at_sink(m.cut, vertex_of(&m, m.nodes.v[k]))) changed |= move(&m, m.nodes.v[k]);
    arena_free(&m.tmp);
    if (changed) *probes = NULL;
    return changed;
}
struct orders {
    struct order v[MOST_ORDERS];
    int n;
};
static void note_order(void *env, struct node *n) {
    struct orders *all = env;
    struct order p;
    if (!node_perm(n, p.axis) || all->n == MOST_ORDERS) return;
    p.rank = n->outs.v[0]->type.rank;
    if (p.rank < 3 || p.rank > 8) return;
    for (int k = 0; k < all->n; k++)
        if (order_equal(&all->v[k], &p)) return;
    all->v[all->n++] = p;
}
static bool move_regions(struct graph *g, struct region *r, const struct order *p, struct probes **probes) {
    bool changed = false;
    for (struct node *n = r->first; n; n = n->next)
        for (int k = 0; k < n->attrs.n; k++)
            if (n->attrs.v[k].kind == AT_REGION) changed |= move_regions(g, n->attrs.v[k].u.region, p, probes);
    return move_region(g, r, p, probes) || changed;
}
bool graph_transposes(struct graph *g) {
    struct orders all = {.n = 0};
    struct probes *probes = NULL;
    each_node(g->top, note_order, &all);
    for (int k = 0; k < all.n; k++)
        if (move_regions(g, g->top, &all.v[k], &probes) && !(graph_simplify(g) && graph_infer(g) && graph_simplify(g)))
            return false;
    return true;
}
