/* Forming groups: epilogues of contractions and windows, row groups, elementwise groups. See group.h for the classes. A
 * group grows from its first node, in node order, through the nodes that read it. It is then cut to the longest prefix
 * of which only one result is read outside. That result belongs to the last node, so no reader of the group can also
 * feed it, and groups can run in the order of their last nodes. */
#include "lower/group.h"
#include "ir/graph/op.h"
#include "lower/problem/problem.h"
#include "lower/problem/row_space.h"
#include <string.h>

enum { GROUP_MAX = 32, OPERANDS_MAX = 6, ROW_OPERANDS_MAX = 16, STAGES_MAX = 128 };
struct info { /* of a node */
    const struct node_class *cls;
    int position;
    bool through;                /* a view that all its readers read through, so that it needs no kernel */
    bool alone;                  /* the user wants a separate kernel for it */
    struct group *group, *trial; /* trial: the group that is trying to add the node */
};
struct grouping {
    struct probes *probes;
    struct ctx *c;
    const struct machine *m;
    struct region *r;
    struct groups *gs;
    struct map info;
};
static struct info *info_of(struct grouping *q, const struct node *n) { return n ? map_get(&q->info, PKEY(n)) : NULL; }
static bool in_group(struct grouping *q, const struct node *n, const struct group *gr) {
    struct info *i = info_of(q, n);
    return i && i->trial == gr;
}
static struct group *new_group(struct grouping *q, struct node *n) {
    struct group *gr = NEW(&q->c->arena, struct group);
    gr->id = q->gs->list.n;
    gr->cls = info_of(q, n)->cls->cls;
    gr->anchor = n;
    info_of(q, n)->trial = gr;
    PUSH(&q->c->arena, &gr->nodes, n);
    PUSH(&q->c->arena, &q->gs->list, gr);
    return gr;
}

/* ---- views that readers read through */
/* Does the product have so few rows that sums across lanes are faster than transposing all of its factor v? (A decoding
 * step reads each key once; lower/algorithm/turned.c.) Not on a machine without lanes. */
static bool is_read_as_fast(struct grouping *q, struct node *product, struct value *v) {
    struct block stages = classify_node(q->probes, product)->stmts;
    struct problem p;
    int lanes = q->m ? machine_lanes(q->m, F32) : 0;
    if (!lanes || q->m->gpu || !stages_problem(q->c, &stages, NULL, &p) || !p.product) return false;
    const struct buf *b = probed_operand(q->probes, v);
    const struct operand *o = p.a.read->u.buf == b ? &p.a : &p.b;
    double depth = typical_cells(q->c, p.sum->u.stage.red, p.sum->u.stage.nred, OPEN_SIZE);
    if (o->read->u.buf != b || p.a.read->u.buf == p.b.read->u.buf) return false;
    return lanes < 2 || typical_rows(q->c, p.sum, o) * lanes < depth;
}
/* No load of v has a fill value for indices outside of it. */
static bool fills(void *env, expr e) { return !(e->op == X_LOAD && e->u.buf == env && e->has_fill); }
static bool reads_inside(struct grouping *q, struct node *n, struct value *v) {
    const struct node_class *k = classify_node(q->probes, n);
    bool inside = true;
    for (int i = 0; i < k->stages.n; i++)
        inside &= x_visit(k->stages.v[i]->u.stage.value, fills, probed_operand(q->probes, v));
    return inside;
}
/* A contraction can read through a permutation of a constant, which is packed anyway; of a value whose cells stay
 * contiguous along the last axis; or of one that it reads for only a few rows. */
static bool read_through(struct grouping *q, struct node *n) {
    int k;
    bool inner, part;
    if (info_of(q, n)->alone || n->outs.n != 1 || !n->outs.v[0]->uses.n ||
        !node_permutes(q->probes, n, &k, &inner, &part))
        return false;
    bool direct = inner || n->ins.v[k]->init;
    for (int j = 0; j < n->outs.v[0]->uses.n; j++) {
        const struct use *u = &n->outs.v[0]->uses.v[j];
        struct info *reader = u->region ? NULL : info_of(q, u->node);
        if (!reader || reader->alone || reader->cls->cls != CLASS_CONTRACT) return false;
        if (!direct && !is_read_as_fast(q, u->node, n->outs.v[0])) return false;
        if (part && !reads_inside(q, u->node, n->outs.v[0])) return false;
    }
    return decide(q->c, "%.*s is read through", OWN_ORIGIN(n));
}
static void take_views(struct grouping *q, struct group *gr) {
    for (int k = 0; k < gr->anchor->ins.n; k++) {
        struct value *v = gr->anchor->ins.v[k];
        struct info *i = v ? info_of(q, v->def) : NULL;
        bool seen = !i || !i->through;
        for (int j = 0; j < gr->views.n && !seen; j++) seen = gr->views.v[j] == v->def;
        if (!seen) PUSH(&q->c->arena, &gr->views, v->def);
    }
}

/* ---- may a node join? */
static bool reads_group(struct grouping *q, const struct node *n, const struct group *gr) {
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k] && in_group(q, n->ins.v[k]->def, gr)) return true;
    return false;
}
static int outside_operands(struct grouping *q, const struct node *n, const struct group *gr) {
    struct map seen = {.arena = &q->c->arena};
    int count = 0;
    for (int j = 0; j <= gr->nodes.n; j++) {
        const struct node *m = j < gr->nodes.n ? gr->nodes.v[j] : n;
        for (int k = 0; k < m->ins.n && m != gr->anchor; k++) {
            struct value *v = m->ins.v[k];
            if (!v || in_group(q, v->def, gr) || map_get(&seen, PKEY(v))) continue;
            if (v->init && tensor_count(v->init) == 1) continue; /* it becomes a number in the code */
            map_put(&seen, PKEY(v), v);
            count++;
        }
    }
    return count;
}
/* n is a map with the group's extents that reads the group's values at its own index; returns NULL, or why not. */
static const char *elementwise(struct grouping *q, const struct node *n, const struct group *gr) {
    const struct node_class *nc = info_of(q, n)->cls;
    if (nc->cls != CLASS_MAP) return "consumer-not-map";
    for (int k = 0; k < n->ins.n && k < 32; k++) {
        struct value *v = n->ins.v[k];
        if (!v || !in_group(q, v->def, gr)) continue;
        if (!nc->identity[k]) return "other-index";
        if (!type_same_dims(&v->type, &n->outs.v[0]->type)) return "other-extents";
    }
    if (!type_same_dims(&gr->anchor->outs.v[0]->type, &n->outs.v[0]->type)) return "other-extents";
    return outside_operands(q, n, gr) > OPERANDS_MAX ? "too-many-operands" : NULL;
}
static double row_cells(struct ctx *c, const struct row_space *r, const struct stmt *s) {
    double cells = 1;
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (row_role(r, s->u.stage.axes[k]) == ROW_INNER) cells *= (double)x_typical(c, s->u.stage.axes[k]->extent, 1);
    return cells;
}
/* All stages of the group and of n share rows, and a row with its scratch fits into the cache; returns NULL, or why
 * not. */
static const char *shares_rows(struct grouping *q, const struct node *n, const struct group *gr) {
    struct stmt *stages[STAGES_MAX] = {0};
    struct row_space r;
    int count = 0;
    for (int j = 0; j <= gr->nodes.n; j++) {
        const struct node_class *nc = info_of(q, j < gr->nodes.n ? gr->nodes.v[j] : n)->cls;
        for (int k = 0; k < nc->stages.n; k++) {
            if (count == STAGES_MAX) return "group-full";
            stages[count++] = nc->stages.v[k];
        }
    }
    if (!row_space(q->c, stages, count, &r)) return "other-rows";
    for (int k = 0; k < count; k++)
        if (q->m && row_cells(q->c, &r, stages[k]) > q->m->row_cells) return "row-too-large";
    return outside_operands(q, n, gr) > ROW_OPERANDS_MAX ? "too-many-operands" : NULL;
}
/* Other row stages, and maps of other axes, must not join a product: neither of its factors could be packed then. */
static bool has_product(struct grouping *q, const struct group *gr) {
    for (int k = 0; k < gr->nodes.n; k++)
        if (info_of(q, gr->nodes.v[k])->cls->product) return true;
    return false;
}
/* Do sums over channels read v, perhaps after maps? */
static bool goes_to_channels(struct grouping *q, const struct value *v, int maps) {
    for (int k = 0; k < v->uses.n; k++) {
        struct info *reader = v->uses.v[k].region ? NULL : info_of(q, v->uses.v[k].node);
        const struct node_class *cls = reader ? reader->cls : NULL;
        const struct node *n = v->uses.v[k].node;
        if (cls && cls->channels) return true;
        if (cls && cls->cls == CLASS_MAP && n->outs.n == 1 && maps && goes_to_channels(q, n->outs.v[0], maps - 1))
            return true;
    }
    return false;
}
/* Does n put cells of a row apart that lay side by side? Squares of the whole result are turned faster than each row is
 * written cell by cell. Not if rows are shorter than a vector: as many rows as one has lanes are computed side by side;
 * nor if sums over channels read them: these have blocks, in which channels lie side by side. */
static bool takes_rows_apart(struct grouping *q, struct node *n) {
    enum { MAPS = 4 }; /* in between */
    int k;
    bool inner, part;
    if (!q->m || !q->m->squares || !node_permutes(q->probes, n, &k, &inner, &part) || inner) return false;
    const struct stmt *s = info_of(q, n)->cls->stages.v[0];
    const expr last = s->u.stage.value->arg[s->u.stage.value->n - 1];
    int64_t cells;
    if (x_is_int(last->u.var->extent, &cells) && cells < machine_lanes(q->m, F32)) return false;
    for (int d = s->u.stage.naxes; d-- && s->u.stage.axes[d] != last->u.var;)
        if (!x_is(s->u.stage.axes[d]->extent, 1)) return !goes_to_channels(q, n->outs.v[0], MAPS);
    return false;
}
/* Why n cannot join the group; NULL: it can. *rows: as a member of a row group. */
static const char *refusal(struct grouping *q, const struct node *n, const struct group *gr, bool *rows) {
    struct info *i = info_of(q, n);
    enum stage_class cls = i->cls->cls;
    *rows = false;
    if (i->through) return "read-through";
    if (i->alone || info_of(q, gr->anchor)->alone) return "asked-to-be-alone";
    if (gr->nodes.n >= GROUP_MAX) return "group-full";
    if (gr->cls == CLASS_VIEW || gr->cls == CLASS_OPAQUE) return "anchor-not-fusible";
    if (i->group) return "in-another-group";
    if (n->outs.n != 1 || !n->outs.v[0] || gr->anchor->outs.n != 1) return "several-results";
    if (gr->cls != CLASS_ROW) {
        const char *why = elementwise(q, n, gr);
        if (!why || gr->cls != CLASS_MAP || cls != CLASS_ROW) return why;
    } else if (cls != CLASS_MAP && cls != CLASS_ROW && cls != CLASS_VIEW) return "consumer-not-map";
    bool product = has_product(q, gr);
    if (cls == CLASS_ROW && (i->cls->product || product)) return "product";
    if (product) return elementwise(q, n, gr);
    if (cls == CLASS_VIEW && takes_rows_apart(q, (struct node *)n)) return "takes-rows-apart";
    *rows = true;
    return shares_rows(q, n, gr);
}

/* ---- growing */
static int last_use(struct grouping *q, const struct node *n) {
    int last = 0;
    for (int k = 0; k < n->outs.n; k++)
        for (int j = 0; n->outs.v[k] && j < n->outs.v[k]->uses.n; j++) {
            struct info *i = info_of(q, n->outs.v[k]->uses.v[j].node);
            if (i && i->position > last) last = i->position;
        }
    return last;
}
/* Is the value read outside, or are its sizes needed before the group is done? */
static bool leaves_group(struct grouping *q, const struct use *u, const struct group *gr) {
    struct info *user = u->region ? NULL : info_of(q, u->node);
    if (user && user->trial == gr) return false;
    bool behind = user && user->position > info_of(q, gr->nodes.v[gr->nodes.n - 1])->position;
    return !behind || use_reads(q->probes, u);
}
static bool used_outside(struct grouping *q, const struct node *n, const struct group *gr) {
    for (int k = 0; k < n->outs.n; k++)
        for (int j = 0; n->outs.v[k] && j < n->outs.v[k]->uses.n; j++)
            if (leaves_group(q, &n->outs.v[k]->uses.v[j], gr)) return true;
    return false;
}
/* Only the last node's result is read outside. */
static bool closed(struct grouping *q, const struct group *gr) {
    for (int k = 0; k + 1 < gr->nodes.n; k++)
        if (used_outside(q, gr->nodes.v[k], gr)) return false;
    return true;
}
/* A result of the region must be the group's last: no later node could close the group. */
static bool ends_here(const struct node *n) {
    for (int k = 0; k < n->outs.n; k++)
        if (n->outs.v[k] && value_is_result(n->outs.v[k])) return true;
    return false;
}
/* Why the first reader of the last node's result did not join. */
static const char *why_ended(struct grouping *q, struct group *gr) {
    const struct node *last = gr->nodes.v[gr->nodes.n - 1];
    const char *why = NULL;
    bool rows;
    for (int k = 0; k < last->outs.n && !why; k++)
        for (int j = 0; last->outs.v[k] && j < last->outs.v[k]->uses.n && !why; j++) {
            const struct use *u = &last->outs.v[k]->uses.v[j];
            if (u->region) continue;
            why = refusal(q, u->node, gr, &rows);
            if (!why) why = "several-consumers";
            gr->reader = u->node;
        }
    return why;
}
/* Ending the group before n keeps bytes in memory: n converts them to floats for a reader that can do the conversion
 * itself. */
static bool better_for_reader(struct grouping *q, const struct node *n) {
    const struct value *v = n->outs.v[0], *x = n->ins.n ? n->ins.v[0] : NULL;
    bool widens = x && dtype_is_byte(x->type.dtype) && dtype_is_float(v->type.dtype);
    struct info *reader = info_of(q, value_only_reader(v));
    return widens && reader && (reader->cls->cls == CLASS_MAP || reader->cls->cls == CLASS_ROW);
}
static void join(struct grouping *q, struct group *gr, struct node *n) {
    PUSH(&q->c->arena, &gr->nodes, n);
    info_of(q, n)->trial = gr;
}
/* A conversion of bytes to floats that only n reads joins along with n: a residual. */
static void join_widened(struct grouping *q, struct group *gr, const struct node *n) {
    for (int k = 0; k < n->ins.n; k++) {
        struct node *d = n->ins.v[k] ? n->ins.v[k]->def : NULL;
        struct info *i = d ? info_of(q, d) : NULL;
        if (i && !i->group && !i->alone && i->trial != gr && !i->through && i->cls->cls == CLASS_MAP &&
            better_for_reader(q, d) && type_same_dims(&d->outs.v[0]->type, &n->outs.v[0]->type) &&
            decide(q->c, "%.*s joins the kernel of %.*s", OWN_ORIGIN(d), OWN_ORIGIN(gr->anchor)))
            join(q, gr, d);
    }
}
static void grow(struct grouping *q, struct group *gr) {
    int last = last_use(q, gr->anchor), best = 1;
    enum stage_class cls = gr->cls;
    bool ends = ends_here(gr->anchor);
    for (struct node *n = gr->anchor->next; !ends && n && info_of(q, n)->position <= last; n = n->next) {
        bool rows;
        if (!reads_group(q, n, gr) || refusal(q, n, gr, &rows)) continue;
        if (!decide(q->c, "%.*s joins the kernel of %.*s", OWN_ORIGIN(n), OWN_ORIGIN(gr->anchor))) continue;
        if (rows) gr->cls = CLASS_ROW;
        else join_widened(q, gr, n);
        join(q, gr, n);
        if (last_use(q, n) > last) last = last_use(q, n);
        if (closed(q, gr) && !better_for_reader(q, n)) best = gr->nodes.n, cls = gr->cls;
        ends = ends_here(n);
    }
    for (int k = best; k < gr->nodes.n; k++) info_of(q, gr->nodes.v[k])->trial = NULL;
    gr->nodes.n = best, gr->cls = cls;
    for (int k = 0; k < best; k++) {
        info_of(q, gr->nodes.v[k])->group = gr;
        map_put(&q->gs->of_node, PKEY(gr->nodes.v[k]), gr);
    }
    gr->refused = why_ended(q, gr);
}
/* Begins a group at n, unless n is in one. */
static void begin(struct grouping *q, struct node *n) {
    if (info_of(q, n)->group || info_of(q, n)->through) return;
    struct group *gr = new_group(q, n);
    take_views(q, gr);
    grow(q, gr);
}
/* A group runs at the position of its last node: everything it reads exists there, and nobody reads its results
 * earlier. */
static void sort_groups(struct grouping *q) {
    struct groups *gs = q->gs;
    for (int i = 1; i < gs->list.n; i++)
        for (int j = i; j > 0; j--) {
            struct group *a = gs->list.v[j - 1], *b = gs->list.v[j];
            if (info_of(q, a->nodes.v[a->nodes.n - 1])->position <= info_of(q, b->nodes.v[b->nodes.n - 1])->position)
                break;
            gs->list.v[j - 1] = b, gs->list.v[j] = a;
        }
    for (int i = 0; i < gs->list.n; i++) gs->list.v[i]->id = i;
}
bool node_named(const struct node_names *names, const struct node *n) {
    bool named = false;
    for (int k = 0; k < names->n; k++) named |= !strcmp(names->v[k], n->name);
    return named;
}
/* Products of bytes form groups first: their epilogues should not join the group of a residual instead, because the
 * result would then go through memory as floats. */
struct groups *group_region(struct probes *probes, struct region *r, const struct machine *m, bool fuse,
                            struct node_names alone) {
    struct ctx *c = probes_ctx(probes);
    struct grouping q = {probes, c, m, r, NEW(&c->arena, struct groups), {.arena = &c->arena}};
    q.gs->of_node.arena = &c->arena;
    int position = 0;
    for (struct node *n = r->first; n; n = n->next) {
        struct info *i = NEW(&c->arena, struct info);
        i->cls = classify_node(probes, n);
        i->position = ++position;
        i->alone = node_named(&alone, n);
        map_put(&q.info, PKEY(n), i);
    }
    for (struct node *n = r->first; n && fuse; n = n->next) info_of(&q, n)->through = read_through(&q, n);
    for (struct node *n = r->first; n && fuse; n = n->next)
        if (info_of(&q, n)->cls->cls == CLASS_CONTRACT && dtype_is_byte(n->outs.v[0]->type.dtype)) begin(&q, n);
    for (struct node *n = r->first; n; n = n->next) {
        if (fuse) begin(&q, n);
        else map_put(&q.gs->of_node, PKEY(n), new_group(&q, n));
    }
    sort_groups(&q);
    return q.gs;
}
const char *group_reason_text(const char *refused) {
    static const char *const rows[][2] = {
        {"consumer-not-map", "the reader reduces, moves cells, or is a call"},
        {"other-index", "the reader reads at another index than this kernel stores at"},
        {"other-extents", "the reader has other extents"},
        {"other-rows", "the reader shares no rows with this kernel"},
        {"takes-rows-apart", "the reader puts the cells of a row apart"},
        {"product", "the reader is a row, and one of the two a sum of products, whose factors rows could not pack"},
        {"row-too-large", "a row with what the reader needs does not stay in the cache"},
        {"several-consumers", "the reader could join, but another reader of the result could not"},
        {"in-another-group", "the reader belongs to an earlier kernel"},
        {"read-through", "the reader is a view, through which its own readers read"},
        {"several-results", "the reader, or the first node here, has several results"},
        {"too-many-operands", "together they would read too many operands"},
        {"group-full", "the kernel holds as many nodes or stages as one may"},
        {"asked-to-be-alone", "--no-fuse names the reader, or the first node here"},
        {"anchor-not-fusible", "the first node here is a view or a call, which stand alone"},
    };
    for (size_t k = 0; refused && k < sizeof rows / sizeof *rows; k++)
        if (!strcmp(rows[k][0], refused)) return rows[k][1];
    return "";
}
void groups_print(struct text *t, const struct groups *gs) {
    for (int i = 0; i < gs->list.n; i++) {
        const struct group *gr = gs->list.v[i];
        text_printf(t, "group %d %s:", gr->id, stage_class_name(gr->cls));
        for (int k = 0; k < gr->views.n; k++) text_printf(t, " (%s)", gr->views.v[k]->op_type);
        for (int k = 0; k < gr->nodes.n; k++) text_printf(t, " %s", gr->nodes.v[k]->op_type);
        text_printf(t, "%s%s\n", gr->refused ? "   // ends: " : "", gr->refused ? gr->refused : "");
    }
}
