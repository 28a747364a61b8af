/* Forming groups: epilogues of contractions and windows, row groups, elementwise groups. See group.h for the classes.
 * All groups form in node order; every refusal leaves its reason. */
#include "lower/group.h"
#include "ir/op.h"
#include <string.h>

enum { GROUP_MAX = 32, OPERANDS_MAX = 6 };
struct grouping {
    struct graph *g;
    struct ctx *c;
    struct region *r;
    struct groups *gs;
    struct map cls;   /* node -> struct node_class */
    struct map order; /* node -> position + 1 */
};
static struct group *group_of(struct grouping *q, const struct node *n) {
    return n ? map_get(&q->gs->of_node, PKEY(n)) : NULL;
}
static int position(struct grouping *q, const struct node *n) { return (int)(intptr_t)map_get(&q->order, PKEY(n)); }
static struct node_class *class_of(struct grouping *q, const struct node *n) { return map_get(&q->cls, PKEY(n)); }
static struct group *new_group(struct grouping *q, struct node *n) {
    struct group *gr = NEW(&q->c->arena, struct group);
    gr->id = q->gs->list.n;
    gr->cls = class_of(q, n)->cls;
    gr->anchor = n;
    PUSH(&q->c->arena, &gr->nodes, n);
    PUSH(&q->c->arena, &q->gs->list, gr);
    map_put(&q->gs->of_node, PKEY(n), gr);
    return gr;
}
static bool is_result(const struct value *v) {
    for (int k = 0; k < v->uses.n; k++)
        if (v->uses.v[k].region) return true;
    return false;
}
/* Every use of v is an input of n. */
static bool only_used_by(const struct value *v, const struct node *n) {
    for (int k = 0; k < v->uses.n; k++)
        if (v->uses.v[k].node != n) return false;
    return true;
}
static bool same_dims(const struct type *a, const struct type *b) {
    if (a->rank != b->rank) return false;
    for (int k = 0; k < a->rank; k++)
        if (a->dims[k] != b->dims[k]) return false;
    return true;
}
/* Does n depend on a node of gr through nodes outside of it? */
static bool depends(struct grouping *q, struct node *n, struct group *gr, struct map *seen) {
    if (!n || n->in != q->r) return false;
    if (group_of(q, n) == gr) return true;
    if (position(q, n) < position(q, gr->nodes.v[0]) || map_get(seen, PKEY(n))) return false;
    map_put(seen, PKEY(n), n);
    struct group *own = group_of(q, n); /* a joined group runs as one: all its operands count */
    for (int j = 0; j < (own ? own->nodes.n : 1); j++) {
        struct node *m = own ? own->nodes.v[j] : n;
        for (int k = 0; k < m->ins.n; k++)
            if (m->ins.v[k] && depends(q, m->ins.v[k]->def, gr, seen)) return true;
    }
    return false;
}
static bool would_cycle(struct grouping *q, struct node *n, struct group *gr) {
    struct map seen = {.arena = &q->c->arena};
    for (int k = 0; k < n->ins.n; k++) {
        struct node *d = n->ins.v[k] ? n->ins.v[k]->def : NULL;
        if (d && group_of(q, d) != gr && depends(q, d, gr, &seen)) return true;
    }
    return false;
}
static int outside_operands(struct grouping *q, struct node *n, struct group *gr) {
    int count = 0;
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k] && group_of(q, n->ins.v[k]->def) != gr) count++;
    for (int j = 0; j < gr->nodes.n; j++)
        if (gr->nodes.v[j] != gr->anchor)
            for (int k = 0; k < gr->nodes.v[j]->ins.n; k++) {
                struct value *v = gr->nodes.v[j]->ins.v[k];
                if (v && group_of(q, v->def) != gr) count++;
            }
    return count;
}
static bool pointwise(enum stage_class k) { return k == CLASS_MAP; }
/* Reason why n does not join the group of its operand k, or NULL: it may. */
static const char *refusal(struct grouping *q, struct node *n, int k, struct group *gr) {
    struct value *v = n->ins.v[k];
    struct node_class *nc = class_of(q, n);
    if (gr->nodes.n >= GROUP_MAX) return "group-full";
    if (!pointwise(nc->cls)) return "consumer-not-map";
    if (n->outs.n != 1 || !n->outs.v[0]) return "several-results";
    if (gr->cls == CLASS_VIEW || gr->cls == CLASS_OPAQUE) return "anchor-not-fusible";
    if (!nc->identity[k]) return "other-index";
    if (!same_dims(&v->type, &n->outs.v[0]->type)) return "other-extents";
    if (gr->nodes.v[gr->nodes.n - 1] != v->def) return "not-last";
    if (is_result(v) || !only_used_by(v, n)) return "several-consumers";
    if (outside_operands(q, n, gr) > OPERANDS_MAX) return "too-many-operands";
    if (would_cycle(q, n, gr)) return "cycle";
    return NULL;
}
static void try_join(struct grouping *q, struct node *n) {
    for (int k = 0; k < n->ins.n && k < 32; k++) {
        struct node *d = n->ins.v[k] ? n->ins.v[k]->def : NULL;
        struct group *gr = d && d->in == q->r ? group_of(q, d) : NULL;
        if (!gr) continue;
        const char *why = refusal(q, n, k, gr);
        if (why) {
            if (!gr->refused) gr->refused = why;
            continue;
        }
        PUSH(&q->c->arena, &gr->nodes, n);
        map_put(&q->gs->of_node, PKEY(n), gr);
        return;
    }
    new_group(q, n);
}
/* Groups run where their last node stands: then everything they read is there, and nobody reads them earlier. */
static void sort_groups(struct grouping *q) {
    struct groups *gs = q->gs;
    for (int i = 1; i < gs->list.n; i++)
        for (int j = i; j > 0; j--) {
            struct group *a = gs->list.v[j - 1], *b = gs->list.v[j];
            if (position(q, a->nodes.v[a->nodes.n - 1]) <= position(q, b->nodes.v[b->nodes.n - 1])) break;
            gs->list.v[j - 1] = b, gs->list.v[j] = a;
        }
    for (int i = 0; i < gs->list.n; i++) gs->list.v[i]->id = i;
}
struct groups *group_region(struct graph *g, struct region *r, bool fuse) {
    struct ctx *c = g->ctx;
    struct grouping q = {g, c, r, NEW(&c->arena, struct groups), {.arena = &c->arena}, {.arena = &c->arena}};
    q.gs->of_node.arena = &c->arena;
    int pos = 0;
    for (struct node *n = r->first; n; n = n->next) {
        struct node_class *nc = NEW(&c->arena, struct node_class);
        *nc = classify_node(g, n);
        map_put(&q.cls, PKEY(n), nc);
        map_put(&q.order, PKEY(n), (void *)(intptr_t)++pos);
        if (fuse) try_join(&q, n);
        else new_group(&q, n);
    }
    sort_groups(&q);
    return q.gs;
}
void groups_print(struct text *t, const struct groups *gs) {
    for (int i = 0; i < gs->list.n; i++) {
        const struct group *gr = gs->list.v[i];
        text_printf(t, "group %d %s:", gr->id, stage_class_name(gr->cls));
        for (int k = 0; k < gr->nodes.n; k++) text_printf(t, " %s", gr->nodes.v[k]->op_type);
        text_printf(t, "%s%s\n", gr->refused ? "   // ends: " : "", gr->refused ? gr->refused : "");
    }
}
