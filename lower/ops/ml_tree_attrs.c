/* Ensembles of trees: from the attributes of ai.onnx.ml's operators to linked nodes (ml_tree.h). Nothing is assumed
 * valid: neither the numbers of trees, nodes, features and classes, nor that every path ends at a leaf. */
#include "ir/base/map.h"
#include "lower/ops/ml_tree.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- lists */
/* Numbers from a list of floats or from a tensor. */
struct reals {
    const float *f;
    const struct tensor *t;
    int n;
};
static double real(const struct reals *r, int k) { return r->t ? tensor_f(r->t, k) : (double)r->f[k]; }
static bool reals_of_tensor(struct reals *r, const char *name, enum dtype want) {
    *r = (struct reals){.t = tensor_attr(name)};
    if (!r->t) return true;
    if (r->t->type != want)
        return fail(E_TYPE, "attribute \"%s\" is of type %s, the samples are %s", name, dtype_name(r->t->type),
                    dtype_name(want)),
               false;
    if (tensor_count(r->t) > INT32_MAX) return fail(E_LIMIT, "attribute \"%s\" is too long", name), false;
    r->n = (int)tensor_count(r->t);
    return true;
}
static bool reals_of(struct reals *r, const char *name, enum dtype want) {
    char tensor[64];
    snprintf(tensor, sizeof tensor, "%s_as_tensor", name);
    if (!reals_of_tensor(r, tensor, want)) return false;
    const float *f;
    int n = floats_attr(name, &f);
    if (n && r->t) return fail(E_ATTR, "both \"%s\" and \"%s\" are given", name, tensor), false;
    if (n) *r = (struct reals){.f = f, .n = n};
    return true;
}
struct ints {
    const int64_t *v;
    int n;
};
static struct ints ints_of(const char *prefix, const char *name) {
    char full[64];
    struct ints r;
    snprintf(full, sizeof full, "%s%s", prefix, name);
    r.n = ints_attr(full, &r.v);
    return r;
}
static bool in_range(int64_t v) { return v >= 0 && v <= INT32_MAX; }

/* ---- every path must end */
static void wrong(const struct tree_node *n, const char *what) {
    fail(E_GRAPH, "node %d of tree %d %s", n->number, n->tree, what);
}
/* Depth first from each root. state: 1 on the current path, 2 done. */
static bool ways_end(const struct ensemble *e) {
    char *state = arena_alloc(def_arena(), (size_t)e->nnodes + 1);
    VEC(int) way = {0};
    int reached = 0;
    for (int r = 0; r < e->nroots; r++) {
        if (e->roots[r] >= 0 && !state[e->roots[r]]) PUSH(def_arena(), &way, e->roots[r]);
        while (way.n) {
            int k = way.v[way.n - 1];
            if (state[k]) {
                state[k] = 2, way.n--;
                continue;
            }
            state[k] = 1, reached++;
            for (int side = 0; side < 2; side++) {
                int to = e->nodes[k].to[side];
                if (to < 0 || state[to] == 2) continue;
                if (state[to] == 1) return wrong(&e->nodes[k], "is below itself"), false;
                PUSH(def_arena(), &way, to);
            }
        }
    }
    if (reached < e->nnodes) {
        int k = 0;
        while (state[k]) k++;
        diag(&def_node()->in->graph->ctx->diags, DIAG_WARNING, E_GRAPH,
             "%d nodes of its trees cannot be reached and are left out; the first is node %d of tree %d",
             e->nnodes - reached, e->nodes[k].number, e->nodes[k].tree);
    }
    return true;
}

/* ---- TreeEnsembleClassifier, TreeEnsembleRegressor: nodes and leaves in one list, found by their numbers */
static const char *const branch_names[BRANCHES] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",   "BRANCH_GT",
                                                   "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER"};
enum { LEAF = BRANCHES };
static int branch_of(const struct str_elem *s) {
    if (s->n == 4 && !memcmp(s->p, "LEAF", 4)) return LEAF;
    for (int k = 0; k < B_MEMBER; k++)
        if (s->n == strlen(branch_names[k]) && !memcmp(s->p, branch_names[k], s->n)) return k;
    return -1;
}
struct lists {
    struct ints tree, number, feature, yes, no, missing, w_tree, w_number, w_column;
    const struct attr *modes;
    struct reals splits, weights;
    int n;
    struct map at; /* tree and number to entry + 1 */
    int *ref;      /* of each entry: a node, or ~leaf */
};
static uint64_t key(int64_t tree, int64_t number) { return (uint64_t)tree << 32 | (uint64_t)number; }
static int entry(const struct lists *l, int64_t tree, int64_t number) {
    if (!in_range(tree) || !in_range(number)) return -1;
    return (int)(intptr_t)map_get(&l->at, key(tree, number)) - 1;
}
static bool read_lists(struct lists *l, const char *prefix, enum dtype t) {
    char weights[64];
    snprintf(weights, sizeof weights, "%sweights", prefix);
    l->tree = ints_of("nodes_", "treeids"), l->number = ints_of("nodes_", "nodeids");
    l->feature = ints_of("nodes_", "featureids"), l->missing = ints_of("nodes_", "missing_value_tracks_true");
    l->yes = ints_of("nodes_", "truenodeids"), l->no = ints_of("nodes_", "falsenodeids");
    l->w_tree = ints_of(prefix, "treeids"), l->w_number = ints_of(prefix, "nodeids"),
    l->w_column = ints_of(prefix, "ids");
    l->modes = node_attr(def_node(), "nodes_modes");
    l->n = l->tree.n;
    if (!reals_of(&l->splits, "nodes_values", t) || !reals_of(&l->weights, weights, t)) return false;
    if (!l->n || l->number.n != l->n || l->feature.n != l->n || l->yes.n != l->n || l->no.n != l->n ||
        l->splits.n != l->n || !l->modes || l->modes->n != l->n || (l->missing.n && l->missing.n != l->n))
        return fail(E_ATTR, "the lists of nodes differ in length, or are empty"), false;
    int n = l->weights.n;
    if (!n || l->w_tree.n != n || l->w_number.n != n || l->w_column.n != n)
        return fail(E_ATTR, "the lists of the leaves' values differ in length, or are empty"), false;
    return true;
}
/* Numbers the entries, nodes and leaves apart. */
static bool number_entries(struct ensemble *e, struct lists *l) {
    l->at.arena = def_arena();
    l->ref = NEWN(def_arena(), int, l->n);
    for (int k = 0; k < l->n; k++) {
        int64_t tree = l->tree.v[k], number = l->number.v[k];
        if (!in_range(tree) || !in_range(number))
            return fail(E_ATTR, "entry %d has the number %lld in tree %lld", k, (long long)number, (long long)tree),
                   false;
        if (entry(l, tree, number) >= 0)
            return fail(E_GRAPH, "node %lld of tree %lld is there twice", (long long)number, (long long)tree), false;
        map_put(&l->at, key(tree, number), (void *)(intptr_t)(k + 1));
        l->ref[k] = branch_of(&l->modes->u.ss[k]) == LEAF ? ~e->nleaves++ : e->nnodes++;
    }
    return true;
}
/* A tree begins where the number of the tree changes. */
static bool find_roots(struct ensemble *e, const struct lists *l) {
    struct map known = {.arena = def_arena()};
    VEC(int) roots = {0};
    for (int k = 0; k < l->n; k++) {
        if (k && l->tree.v[k] == l->tree.v[k - 1]) continue;
        if (map_get(&known, (uint64_t)l->tree.v[k]))
            return fail(E_GRAPH, "the nodes of tree %lld are not together", (long long)l->tree.v[k]), false;
        map_put(&known, (uint64_t)l->tree.v[k], e);
        PUSH(def_arena(), &roots, l->ref[k]);
    }
    e->roots = roots.v, e->nroots = roots.n;
    return true;
}
static bool read_node(struct ensemble *e, const struct lists *l, int k) {
    struct tree_node *n = &e->nodes[l->ref[k]];
    int branch = branch_of(&l->modes->u.ss[k]);
    *n = (struct tree_node){.tree = (int32_t)l->tree.v[k], .number = (int32_t)l->number.v[k]};
    if (branch < 0) return wrong(n, "has a mode that is not known"), false;
    if (!in_range(l->feature.v[k]) || l->feature.v[k] > INT32_MAX / 2)
        return wrong(n, "asks for a feature that cannot be"), false;
    n->branch = (enum branch)branch;
    n->feature = (int32_t)l->feature.v[k];
    n->split = real(&l->splits, k);
    n->nan_is_yes = l->missing.n && l->missing.v[k] == 1;
    for (int side = 0; side < 2; side++) {
        int to = entry(l, l->tree.v[k], side == YES ? l->yes.v[k] : l->no.v[k]);
        if (to < 0) return wrong(n, "has a branch to a node that its tree does not have"), false;
        n->to[side] = l->ref[to];
    }
    return true;
}
/* The values of each leaf, together, in the order of the lists. What is given to other nodes has no effect. */
static bool read_weights(struct ensemble *e, const struct lists *l) {
    int n = l->weights.n, *leaf = NEWN(def_arena(), int, n);
    e->first = NEWN(def_arena(), int, e->nleaves + 2);
    e->weights = NEWN(def_arena(), struct tree_weight, n);
    for (int k = 0; k < n; k++) {
        int at = entry(l, l->w_tree.v[k], l->w_number.v[k]);
        int64_t column = l->w_column.v[k];
        if (at < 0)
            return fail(E_GRAPH, "value %d is for node %lld of tree %lld, which is not there", k,
                        (long long)l->w_number.v[k], (long long)l->w_tree.v[k]),
                   false;
        if (column < 0 || column >= e->columns)
            return fail(E_ATTR, "node %lld of tree %lld has a value for number %lld of %lld",
                        (long long)l->w_number.v[k], (long long)l->w_tree.v[k], (long long)column,
                        (long long)e->columns),
                   false;
        leaf[k] = l->ref[at] < 0 ? ~l->ref[at] : -1;
        if (leaf[k] >= 0) e->first[leaf[k] + 2]++;
    }
    for (int k = 0; k < l->n; k++)
        if (l->ref[k] < 0 && !e->first[~l->ref[k] + 2])
            return fail(E_GRAPH, "node %lld of tree %lld is a leaf without a value", (long long)l->number.v[k],
                        (long long)l->tree.v[k]),
                   false;
    for (int k = 2; k <= e->nleaves; k++) e->first[k] += e->first[k - 1];
    for (int k = 0; k < n; k++)
        if (leaf[k] >= 0)
            e->weights[e->first[leaf[k] + 1]++] = (struct tree_weight){(int32_t)l->w_column.v[k], real(&l->weights, k)};
    return true;
}
bool ensemble_of_lists(struct ensemble *e, const char *prefix) {
    struct lists l = {0};
    if (!read_lists(&l, prefix, e->type) || !number_entries(e, &l) || !find_roots(e, &l)) return false;
    e->nodes = NEWN(def_arena(), struct tree_node, e->nnodes + 1);
    for (int k = 0; k < l.n; k++)
        if (l.ref[k] >= 0 && !read_node(e, &l, k)) return false;
    return read_weights(e, &l) && ways_end(e);
}

/* ---- TreeEnsemble: nodes and leaves in lists of their own, found by their places */
struct places {
    struct ints feature, missing, to[2], is_leaf[2], columns, roots;
    const struct tensor *modes;
    struct reals splits, weights, members;
    int n;
};
static bool read_places(struct places *p, enum dtype t) {
    p->feature = ints_of("nodes_", "featureids"), p->missing = ints_of("nodes_", "missing_value_tracks_true");
    p->to[YES] = ints_of("nodes_", "truenodeids"), p->to[NO] = ints_of("nodes_", "falsenodeids");
    p->is_leaf[YES] = ints_of("nodes_", "trueleafs"), p->is_leaf[NO] = ints_of("nodes_", "falseleafs");
    p->columns = ints_of("leaf_", "targetids"), p->roots = ints_of("tree_", "roots");
    p->modes = tensor_attr("nodes_modes");
    p->n = p->feature.n;
    if (!reals_of_tensor(&p->splits, "nodes_splits", t) || !reals_of_tensor(&p->weights, "leaf_weights", t) ||
        !reals_of_tensor(&p->members, "membership_values", t))
        return false;
    bool fit = p->n && p->splits.n == p->n && p->modes && p->modes->type == U8 && tensor_count(p->modes) == p->n &&
               (!p->missing.n || p->missing.n == p->n);
    for (int side = 0; side < 2; side++) fit = fit && p->to[side].n == p->n && p->is_leaf[side].n == p->n;
    if (!fit) return fail(E_ATTR, "the lists of nodes differ in length, or are empty"), false;
    if (!p->weights.n || p->columns.n != p->weights.n || !p->roots.n)
        return fail(E_ATTR, "the lists of leaves differ in length, or there is no tree"), false;
    return true;
}
static bool read_branches(struct ensemble *e, const struct places *p, int k) {
    struct tree_node *n = &e->nodes[k];
    for (int side = 0; side < 2; side++) {
        int64_t to = p->to[side].v[k];
        bool leaf = p->is_leaf[side].v[k] != 0;
        if (to < 0 || to >= (leaf ? e->nleaves : e->nnodes))
            return wrong(n, leaf ? "has a branch to a leaf that is not there"
                                 : "has a branch to a node that is not there"),
                   false;
        n->to[side] = leaf ? ~(int)to : (int)to;
    }
    return true;
}
bool ensemble_of_leaves(struct ensemble *e) {
    struct places p = {0};
    if (!read_places(&p, e->type)) return false;
    e->nnodes = p.n, e->nleaves = p.weights.n, e->nroots = p.roots.n;
    e->nodes = NEWN(def_arena(), struct tree_node, e->nnodes);
    double *members = NEWN(def_arena(), double, p.members.n + 1);
    for (int k = 0; k < p.members.n; k++) members[k] = real(&p.members, k);
    members[p.members.n] = NAN;
    for (int k = 0, member = 0; k < e->nnodes; k++) {
        struct tree_node *n = &e->nodes[k];
        int64_t mode = tensor_i(p.modes, k);
        *n = (struct tree_node){.number = k, .members = members};
        if (mode < 0 || mode >= BRANCHES) return wrong(n, "has a mode that is not known"), false;
        if (!in_range(p.feature.v[k]) || p.feature.v[k] > INT32_MAX / 2)
            return wrong(n, "asks for a feature that cannot be"), false;
        n->branch = (enum branch)mode;
        n->feature = (int32_t)p.feature.v[k];
        n->split = real(&p.splits, k);
        n->nan_is_yes = p.missing.n && p.missing.v[k] == 1;
        if (!read_branches(e, &p, k)) return false;
        if (mode != B_MEMBER) continue;
        if (member >= p.members.n) return wrong(n, "has no entries in membership_values"), false;
        n->members = members + member;
        while (!isnan(members[member])) member++;
        member++;
    }
    e->roots = NEWN(def_arena(), int, e->nroots);
    for (int k = 0; k < e->nroots; k++) {
        if (p.roots.v[k] < 0 || p.roots.v[k] >= e->nnodes)
            return fail(E_ATTR, "the root of tree %d is not there", k), false;
        e->roots[k] = (int)p.roots.v[k];
    }
    e->first = NEWN(def_arena(), int, e->nleaves + 1);
    e->weights = NEWN(def_arena(), struct tree_weight, e->nleaves);
    for (int k = 0; k < e->nleaves; k++) {
        if (p.columns.v[k] < 0 || p.columns.v[k] >= e->columns)
            return fail(E_ATTR, "leaf %d is for target %lld of %lld", k, (long long)p.columns.v[k],
                        (long long)e->columns),
                   false;
        e->weights[k] = (struct tree_weight){(int32_t)p.columns.v[k], real(&p.weights, k)};
        e->first[k + 1] = k + 1;
    }
    return ways_end(e);
}
