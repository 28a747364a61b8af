/* Chains of groups, tile by tile; see chain.h. Finds the groups; their tiles are made in chain_axes.c, chain_tiles.c
 * and chain_change.c. */
#include "ir/graph/op.h"
#include "lower/chain_tiling.h"
#include "lower/layout.h"
#include "lower/machine/machine.h"
#include "lower/narrow.h"

static bool may_be_link(struct lowering *l, const struct group *gr) {
    for (int k = 0; k < gr->nodes.n; k++) {
        const struct node *n = gr->nodes.v[k];
        if (!n->op || n->op->control) return false;
    }
    return gr->cls == CLASS_CONTRACT || gr->cls == CLASS_ROW || gr->cls == CLASS_MAP ||
           (gr->cls == CLASS_WINDOW && !slides_along_channels(l, gr->anchor));
}
/* The only group that reads what gr makes, if that is more than a cache holds; otherwise NULL. */
static const struct group *only_reader(struct lowering *l, const struct groups *gs, const struct group *gr) {
    const struct node *last = gr->nodes.v[gr->nodes.n - 1];
    const struct value *v = last->outs.v[0];
    const struct value_layout *lay = layout_of_value(l, v);
    const struct group *reader = NULL;
    if (last->outs.n != 1 || map_get(&l->bufs, PKEY(v)) || (lay && lay->spec)) return NULL;
    if (v->type.kind != TY_TENSOR) return NULL;
    double bytes = chain_bytes(l->c, v->type.dims, v->type.rank, narrow_type(l, v));
    for (int k = 0; k < v->uses.n; k++) {
        const struct use *u = &v->uses.v[k];
        const struct group *by = u->region ? NULL : map_get(&gs->of_node, PKEY(u->node));
        if (!by || (reader && by != reader)) return NULL;
        reader = by;
    }
    return bytes > (double)chain_room(l) && reader && may_be_link(l, reader) ? reader : NULL;
}
void find_chain(struct lowering *l, const struct groups *gs, int at, int end, const struct map *done,
                struct positions *found) {
    const struct group *gr = gs->list.v[at];
    *found = (struct positions){0};
    if (l->o->no_fuse || l->o->no_schedule || l->o->target->machine->gpu || !may_be_link(l, gr)) return;
    while (gr) {
        while (at < end && gs->list.v[at] != gr) at++;
        if (at == end) break;
        PUSH(&l->c->arena, &found->at, at);
        gr = only_reader(l, gs, gr);
        if (gr && map_get(done, PKEY(gr))) break;
    }
}

/* ---- tiling */
static const char *sizes_of_tiles(const struct tiling *t) {
    struct text s = {0};
    for (int k = 0; k < t->naxes; k++) {
        text_add(&s, k ? ", " : "");
        if (is_whole(t, k)) text_add(&s, "all");
        else text_printf(&s, "%lld", (long long)t->axes[k].tile);
        text_add(&s, " of ");
        x_print(&s, t->axes[k].extent, NULL, NULL);
    }
    return text_take(&s, &t->l->c->arena);
}
static void say(const struct tiling *t, const struct node *first, const struct node *last) {
    struct lowering *l = t->l;
    const char *how = sizes_of_tiles(t);
    if (l->o->groups) {
        text_printf(l->o->groups, "tiles of groups");
        for (int k = t->from; k < t->end; k++) text_printf(l->o->groups, " %d", t->chain->links.v[k]->group->id);
        text_printf(l->o->groups, ": %s\n", how);
    }
    for (int k = t->from; k < t->end; k++) /* so that each kernel's comment explains why it is small */
        remark(l->c, REMARK_FUSE, t->chain->links.v[k]->group->anchor->origin, "is computed tile by tile with %s: %s",
               (k < t->end - 1 ? last : first)->origin, how);
}
int tile_chain(struct lowering *l, struct chain *chain, int from) {
    enum { LONGEST = 16 }; /* links; bounded, because each attempt looks at all of them */
    int end = chain->links.n < from + LONGEST ? chain->links.n : from + LONGEST;
    for (; end > from + 1; end--) {
        struct tiling t = {l, chain, from, end, .number = {.arena = &l->c->arena}};
        const struct node *first = chain->links.v[from]->group->anchor, *last = chain->links.v[end - 1]->group->anchor;
        if (!find_tiled_axes(&t) || !choose_tiles(&t)) continue;
        if (!decide(l->c, "%.*s is computed tile by tile", OWN_ORIGIN(last))) continue;
        say(&t, first, last);
        make_tiles(&t);
        return end - from;
    }
    return 0;
}
