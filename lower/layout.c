/* Choosing layouts; see layout.h. A float tensor with one to three spatial axes gets its channels in blocks if a
 * contraction or window makes it, or if a map reads one with blocks; it gets a border if windows read past its edge. */
#include "lower/layout.h"
#include "ir/base/checked.h"
#include "ir/graph/op.h"
#include "lower/machine/machine.h"
#include "lower/narrow.h"
#include "lower/packing.h"
#include <string.h>

struct value_layout *layout_of_value(struct lowering *l, const struct value *v) {
    return map_get(&l->layouts, PKEY(v));
}
static bool has_blocks(struct lowering *l, const struct value *v) {
    const struct value_layout *lay = layout_of_value(l, v);
    return lay && lay->block;
}
/* However narrow it is in memory, vectors compute with it in 32-bit lanes. */
static bool fills_lanes(enum dtype t) {
    return t == F32 || dtype_is_half(t) || dtype_is_byte(t) || t == I16 || t == U16;
}
enum { BLOCK_MAX = 4096 };
/* How many channels a block of v would have, to *lanes; or for people, why it has no blocks. */
static const char *find_lanes(const struct lowering *l, const struct value *v, int *lanes) {
    const struct machine *m = l->o->target->machine;
    int vector = machine_lanes(m, F32), group = machine_group(m, narrow_type(l, v));
    int64_t channels;
    if (l->o->no_schedule) return "nothing is scheduled";
    if (vector < 2 && group < 2) return "the target has no vectors";
    if (!fills_lanes(v->type.dtype)) return "elements of its type do not fill lanes";
    if (v->type.rank < 3) return "it has no axis after its channels";
    if (v->type.rank > 5) return "it has more than five axes";
    if (!x_is_int(v->type.dims[1], &channels)) return "how many channels it has is known in the run only";
    if (2 * channels < (vector < 2 ? group : vector))
        return "its channels would leave more than half of the lanes empty";
    if (vector < 2 && channels > BLOCK_MAX) return "it has more channels than a block may";
    *lanes = vector < 2 ? (int)((channels + group - 1) / group * group) /* one block of all */
                        : machine_block(m, narrow_type(l, v), channels);
    return NULL;
}
static int lanes_for(const struct lowering *l, const struct value *v) {
    int lanes = 0;
    find_lanes(l, v, &lanes);
    return lanes;
}
/* Does the group read a value in blocks that has the result's channels? Flattening does not count: rows of pixels go to
 * products and concatenations, which want them plain. */
static bool reads_blocked(struct lowering *l, const struct group *gr, const struct value *out) {
    for (int i = 0; i < gr->nodes.n; i++)
        for (int k = 0; k < gr->nodes.v[i]->ins.n; k++) {
            struct value *v = gr->nodes.v[i]->ins.v[k];
            struct value_layout *lay = v ? layout_of_value(l, v) : NULL;
            bool flattened = gr->cls == CLASS_VIEW && v && v->type.rank > out->type.rank;
            if (lay && lay->block && !flattened && v->type.dims[1] == out->type.dims[1]) return true;
        }
    return false;
}
/* Concatenated values have the same sizes, or the run stops with a fault; but open sizes may be different
 * expressions. */
static bool may_equal(const struct group *gr, expr a, expr b) {
    int64_t n;
    return a == b || (gr->cls == CLASS_OPAQUE && !(x_is_int(a, &n) && x_is_int(b, &n)));
}
struct channel_reads {
    struct ctx *c;
    const struct stmt *s;
    bool same; /* exactly the result's channel; otherwise one that depends only on it */
};
static bool reads_channel(void *env, expr e) {
    const struct channel_reads *q = env;
    const struct stmt *s = q->s;
    bool found = e->op == X_LOAD && e->n - e->has_fill == s->u.stage.naxes, ok = true;
    for (int d = 0; found && d < s->u.stage.naxes; d++)
        ok &= d == 1 || !x_uses_var(q->c, e->arg[1], s->u.stage.axes[d]);
    return ok && (!found || !q->same || (e->arg[1]->op == X_VAR && e->arg[1]->u.var == s->u.stage.axes[1]));
}
/* Does each read of the group use the channel of the result, whatever its other indices are? True for a resize, and for
 * a sum of two operands, one of which may turn out to have a single row. */
static bool keeps_channels(struct lowering *l, const struct group *gr, bool same) {
    const struct node_class *k = gr->nodes.n == 1 ? classify_node(l->probes, gr->anchor) : NULL;
    for (int i = 0; k && i < k->stages.n; i++) {
        struct channel_reads q = {l->c, k->stages.v[i], same};
        if (q.s->u.stage.op != RED_NONE) return false;
        if (q.s->u.stage.naxes > 2 && !x_visit(q.s->u.stage.value, reads_channel, &q)) return false;
    }
    return k && k->stages.n;
}
/* Results of a slice, and of a concatenation whose operands all have blocks, keep the blocks: channels are moved in
 * blocks. */
static bool moves_blocked(struct lowering *l, const struct group *gr, const struct value *out) {
    int found = 0, least = gr->cls == CLASS_VIEW ? 1 : 2;
    if ((gr->cls != CLASS_VIEW && gr->cls != CLASS_OPAQUE) || gr->nodes.n != 1 || gr->anchor->outs.n < 1) return false;
    if (gr->cls == CLASS_VIEW && !keeps_channels(l, gr, false))
        return false; /* transposed; the sizes agree by chance */
    for (int k = 0; k < gr->anchor->ins.n; k++) {
        struct value *v = gr->anchor->ins.v[k];
        if (!v || v->type.rank != out->type.rank) continue;
        struct value_layout *lay = layout_of_value(l, v);
        if (!lay || !lay->block) return false;
        for (int d = 0; d < out->type.rank; d++)
            if (d != 1 && !may_equal(gr, v->type.dims[d], out->type.dims[d])) return false;
        found++;
    }
    return found >= least;
}
/* The value is the same in each run: a constant, or computed by a few nodes from constants alone. */
static bool is_fixed_within(const struct value *v, int *nodes) {
    if (!v || v->init) return true;
    const struct node *n = v->def;
    bool fixed = n && !n->op->control && n->ins.n && --*nodes >= 0;
    for (int k = 0; fixed && k < n->ins.n; k++) fixed = is_fixed_within(n->ins.v[k], nodes);
    return fixed;
}
static bool is_fixed(const struct value *v) { return is_fixed_within(v, &(int){64}); }
/* Is the factor another one for each channel of the result? A picture is not. */
static bool makes_channels(const struct node_class *k, expr factor) {
    bool uses = false;
    for (int d = 0; d < factor->n; d++) uses |= x_uses_var(NULL, factor->arg[d], k->sum->u.stage.axes[1]);
    return uses;
}
/* Does n have packed weights, or need none? Weights computed at run time are packed by channels where that pays
 * (packing.h); otherwise they are read row by row, and then everything else should be plain as well. What is no product
 * has no weights, and nor does a square. */
static bool has_packed_weights(struct lowering *l, struct node *n) {
    const struct node_class *k = classify_node(l->probes, n);
    if (!k->sum) return true;
    const struct packed_factor *packed = map_get(&l->packed, PKEY(n));
    bool weights = packed && packed->weights, square = true;
    const struct value *other = probed_value(l->probes, n, k->factors[1]->u.buf);
    for (int f = 0; f < 2; f++) {
        const struct value *v = probed_value(l->probes, n, k->factors[f]->u.buf);
        square &= v == other;
        weights |= v && is_fixed(v) && (!k->channels || makes_channels(k, k->factors[f]));
    }
    return weights || square;
}
static void pack_factor(struct lowering *l, struct node *n) {
    const struct node_class *k = n->op->control ? NULL : classify_node(l->probes, n);
    if (!k || !k->sum || map_get(&l->packed, PKEY(n))) return;
    const struct operand *b;
    struct panels how;
    struct problem p;
    struct block stages = k->stmts;
    if (!stages_problem(l->c, &stages, NULL, &p) || !p.product) return;
    if (!(k->channels ? find_packed_weights : find_colliding)(l, &p, &b, &how)) return;
    struct value *v = probed_value(l->probes, n, b->read->u.buf);
    if (is_fixed(v)) return;
    struct packed_factor *f = NEW(&l->c->arena, struct packed_factor);
    f->value = v, f->weights = k->channels;
    f->layout = layout_packed(l->c, how, b->read->n);
    map_put(&l->packed, PKEY(n), f);
}
/* Is n a product in which each channel of v has separate weights (depthwise)? Not if a group of channels shares
 * weights, or if there are none (pooling). */
static bool weighs_channels(struct lowering *l, struct node *n, struct value *v) {
    const struct node_class *k = classify_node(l->probes, n);
    if (!k->sum) return false;
    const expr read = k->factors[k->factors[0]->u.buf != probed_operand(l->probes, v)];
    int64_t apart, lo, hi;
    expr rest;
    if (read->n < 2 || !x_linear_in(l->c, read->arg[1], k->sum->u.stage.axes[1], &apart, &rest)) return false;
    x_bounds(l->c, rest, &lo, &hi);
    return apart == 1 && lo == 0 && hi == 0;
}
/* A window within channels computes with vectors of channels, so its operand should be in blocks as well. weighted:
 * only if it is a depthwise convolution; other windows are as fast on plain rows, which need no copy. */
static bool read_by_window(struct lowering *l, struct value *v, bool weighted) {
    for (int i = 0; i < v->uses.n; i++) {
        struct node *n = v->uses.v[i].node;
        if (n && v->uses.v[i].index == 0 && !n->op->control && n->outs.n == 1 &&
            n->outs.v[0]->type.rank == v->type.rank && n->outs.v[0]->type.dims[1] == v->type.dims[1] &&
            classify_node(l->probes, n)->cls == CLASS_WINDOW && has_packed_weights(l, n) &&
            (!weighted || weighs_channels(l, n, v)))
            return true;
    }
    return false;
}
/* Is v read by a convolution in groups of fewer channels than a vector has lanes? Vectors can span several groups if v
 * is in blocks. */
static bool read_in_narrow_groups(struct lowering *l, struct value *v) {
    int lanes = machine_lanes(l->o->target->machine, F32);
    for (int i = 0; i < v->uses.n; i++) {
        struct node *n = v->uses.v[i].node;
        const struct node_class *k =
            n && v->uses.v[i].index == 0 && !n->op->control ? classify_node(l->probes, n) : NULL;
        if (!k || !k->sum || !k->channels || !has_packed_weights(l, n)) continue;
        const expr read = k->factors[k->factors[0]->u.buf != probed_operand(l->probes, v)];
        int64_t per = shared_neighbours(l->c, read, k->sum->u.stage.axes[1]);
        if (per > 1 && per < lanes && lanes % per == 0) return true;
    }
    return false;
}
/* Can the group's anchor make blocks of channels? */
static bool may_make_blocks(struct lowering *l, const struct group *gr) {
    bool sums =
        gr->cls == CLASS_WINDOW || (gr->cls == CLASS_CONTRACT && classify_node(l->probes, gr->anchor)->channels);
    return sums && has_packed_weights(l, gr->anchor);
}
static bool is_pool(struct lowering *l, struct node *n) {
    if (!n || n->op->control) return false;
    const struct node_class *k = classify_node(l->probes, n);
    return k->cls == CLASS_WINDOW && !k->sum;
}
/* Is n a pool whose result only pools read? */
static bool pools_alone(struct lowering *l, struct node *n) {
    bool pools = is_pool(l, n) && n->outs.v[0]->uses.n;
    for (int i = 0; pools && i < n->outs.v[0]->uses.n; i++) pools = is_pool(l, n->outs.v[0]->uses.v[i].node);
    return pools;
}
/* Is v, computed or given in the run, read at each channel of out, but not in blocks? */
static bool is_plain_beside(struct lowering *l, const struct value *v, const struct value *out) {
    int d = v->type.rank - out->type.rank + 1; /* where broadcasting puts the channels */
    const struct value_layout *lay = layout_of_value(l, v);
    return !is_fixed(v) && d >= 0 && v->type.rank <= out->type.rank && v->type.dims[d] == out->type.dims[1] &&
           !(lay && lay->block);
}
/* Does something plain join what the anchor computes, whose channels leave a part of the last block? Vectors of it
 * would end beyond its own channels. */
static bool joins_plain_part(struct lowering *l, const struct groups *gs, const struct group *gr) {
    const struct value *out = gr->anchor->outs.v[0];
    int64_t channels;
    int lanes = lanes_for(l, out);
    if (!lanes || !x_is_int(out->type.dims[1], &channels) || channels % lanes == 0) return false;
    for (int i = 0; i < gr->nodes.n; i++) {
        const struct node *n = gr->nodes.v[i];
        for (int k = 0; n != gr->anchor && k < n->ins.n; k++) {
            const struct value *v = n->ins.v[k];
            bool own = v && v->def && map_get(&gs->of_node, PKEY(v->def)) == gr;
            if (v && !own && is_plain_beside(l, v, out)) return true;
        }
    }
    return false;
}
/* It can, and it pays. Not for a window that reads computed plain rows: it computes row by row, since it would have to
 * gather vectors of channels cell by cell. If it reads an input, it does make blocks: it is the first of many kernels
 * that then have them, unless these are all pools. */
static bool makes_blocks(struct lowering *l, const struct groups *gs, const struct group *gr) {
    if (joins_plain_part(l, gs, gr)) return false;
    bool blocked = gr->cls != CLASS_WINDOW, first = !pools_alone(l, gr->anchor);
    for (int k = 0; k < gr->anchor->ins.n; k++) {
        const struct value *v = gr->anchor->ins.v[k];
        blocked |= v && !v->init && (v->def ? has_blocks(l, v) : first);
    }
    return blocked && may_make_blocks(l, gr);
}
static bool must_be_plain(struct lowering *l, const struct value *v) {
    const struct value_layout *lay = layout_of_value(l, v);
    return lay && lay->plain;
}
bool value_leaves(struct lowering *l, const struct value *v) { return value_is_result(v) || must_be_plain(l, v); }
static bool is_given(struct lowering *l, const struct value *v) {
    for (int k = 0; k < v->uses.n; k++)
        if (v->uses.v[k].region && v->uses.v[k].region != l->g->top) return false;
    return value_is_result(v);
}
/* Does n compute only results of the model, by a map or a move? Those write plain cells, because they would take them
 * out of blocks one by one. Row kernels are as fast without blocks, which would cost two copies. */
static bool writes_plain(struct lowering *l, struct node *n) {
    for (int i = 0; i < n->outs.n; i++) {
        const struct value *v = n->outs.v[i];
        if (v && !value_is_result(v)) return false;
        for (int k = 0; v && k < v->uses.n; k++)
            if (v->uses.v[k].node) return false;
    }
    enum stage_class cls = n->op->control ? CLASS_OPAQUE : classify_node(l->probes, n)->cls;
    return cls == CLASS_MAP || cls == CLASS_VIEW || cls == CLASS_ROW;
}
/* A result of the model that kernels read as well has the layout that they want; the caller gets a plain copy. */
static bool is_given_and_read(struct lowering *l, const struct value *v) {
    bool read = false;
    for (int k = 0; k < v->uses.n && !read; k++) {
        struct node *n = v->uses.v[k].node;
        read = n && use_reads(l->probes, &v->uses.v[k]) && !writes_plain(l, n);
    }
    return read && is_given(l, v);
}
static bool keeps_plain(struct lowering *l, const struct value *v) {
    return must_be_plain(l, v) || (value_is_result(v) && !is_given_and_read(l, v));
}
/* Likewise for windows and row kernels on blocks: they compute vectors of channels in blocks, but cell by cell across
 * them. Not for products, which write plain cells just as well, nor for maps and moves, which may write far more than
 * they read. */
static bool is_given_of_blocks(struct lowering *l, const struct group *gr, const struct value *v) {
    return machine_lanes(l->o->target->machine, F32) > 1 && (gr->cls == CLASS_WINDOW || gr->cls == CLASS_ROW) &&
           is_given(l, v) && !must_be_plain(l, v) && reads_blocked(l, gr, v);
}
/* Is v added to the result of a window or convolution in the same kernel? Then it is read in lanes if it has the same
 * layout. */
static bool joins_blocks(struct lowering *l, const struct groups *gs, const struct value *v) {
    for (int i = 0; i < v->uses.n; i++) {
        struct node *n = v->uses.v[i].node;
        const struct group *gr = n && !n->op->control ? map_get(&gs->of_node, PKEY(n)) : NULL;
        if (gr && n != gr->anchor && n->outs.n == 1 && type_same_dims(&n->outs.v[0]->type, &v->type) &&
            may_make_blocks(l, gr) && !keeps_plain(l, n->outs.v[0]))
            return true;
    }
    return false;
}
static struct value_layout *layout_for(struct lowering *l, const struct value *v) {
    struct value_layout *lay = layout_of_value(l, v);
    if (lay) return lay;
    lay = NEW(&l->c->arena, struct value_layout);
    map_put(&l->layouts, PKEY(v), lay);
    return lay;
}
const char *layout_why_plain(struct lowering *l, const struct value *v) {
    int lanes;
    if (l->o->target->machine->gpu) return "kernels of a GPU want tensors plain";
    const char *why = find_lanes(l, v, &lanes);
    if (why) return why;
    if (value_is_result(v) && !is_given_and_read(l, v))
        return "it is a result of the model, which lies as the caller expects";
    if (must_be_plain(l, v)) return "a call or a body reads or makes it";
    return "no product or window over its channels makes or reads it, nor what is computed of blocks";
}
/* Operands and results of n must be plain. Kernel texts need that; and for what goes into a body or comes out of one,
 * the nodes inside choose layouts without knowing those outside, and carried values change places. */
static void find_plain(struct lowering *l, const struct node *n) {
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k]) layout_for(l, n->ins.v[k])->plain = true;
    for (int k = 0; k < n->outs.n; k++)
        if (n->outs.v[k]) layout_for(l, n->outs.v[k])->plain = true;
}
/* Has each group of the convolution n, if it has several, whole groups of what a micro-kernel sums at a time? The
 * channels of other groups would begin anywhere in a block. */
static bool sums_whole_groups(struct lowering *l, struct node *n) {
    const struct node_class *k = classify_node(l->probes, n);
    int group = machine_group(l->o->target->machine, narrow_type(l, n->ins.v[0]));
    if (!k->sum) return true;
    const expr read = k->factors[k->factors[0]->u.buf != probed_operand(l->probes, n->ins.v[0])];
    if (read->n < 2 || !x_uses_var(l->c, read->arg[1], k->sum->u.stage.axes[1])) return true;
    for (int r = 0; r < k->sum->u.stage.nred; r++) {
        const struct var *summed = k->sum->u.stage.red[r];
        if (x_uses_var(l->c, read->arg[1], summed) && const_extent(summed) > 1 && const_extent(summed) % group)
            return false;
    }
    return true;
}
/* Is v read by a convolution with packed weights? Micro-kernels that take several steps of a sum need channels side by
 * side. A parameter is copied anyway if it gets a border, and otherwise blocks are worth a copy; also for what is
 * multiplied in 16 bits. */
static bool read_in_groups(struct lowering *l, const struct value *v) {
    for (int i = 0; i < v->uses.n; i++) {
        struct node *n = v->uses.v[i].node;
        const struct node_class *k =
            n && v->uses.v[i].index == 0 && !n->op->control ? classify_node(l->probes, n) : NULL;
        if (k && k->channels && has_packed_weights(l, n) && sums_whole_groups(l, n)) return true;
        const struct value *view = k && k->cls == CLASS_VIEW && n->outs.n == 1 ? n->outs.v[0] : NULL;
        bool same = view && view->type.rank == v->type.rank && view->type.dims[1] == v->type.dims[1];
        if (same && read_in_groups(l, view)) return true; /* through a slice */
    }
    return false;
}
/* Does n make the last axis of its operand the channels? They are contiguous there, as they are in blocks. */
static bool turns_channels(struct lowering *l, struct node *n) {
    const struct node_class *k = classify_node(l->probes, n);
    const struct stmt *s = k->cls == CLASS_VIEW && k->stages.n == 1 ? k->stages.v[0] : NULL;
    const expr e = s && s->u.stage.naxes > 2 ? s->u.stage.value : NULL;
    const expr last = e && e->op == X_LOAD && !e->has_fill && e->n > 1 ? e->arg[e->n - 1] : NULL;
    return last && last->op == X_VAR && last->u.var == s->u.stage.axes[1];
}
static bool is_turned_for_products(struct lowering *l, const struct group *gr, const struct value *v) {
    bool turned = false;
    for (int i = 0; i < gr->nodes.n; i++) {
        struct node *n = gr->nodes.v[i];
        const struct type *t = n->outs.n == 1 ? &n->outs.v[0]->type : NULL;
        turned |= t && t->rank > 1 && t->dims[1] == v->type.dims[1] && turns_channels(l, n);
    }
    return turned && gr->cls != CLASS_CONTRACT && read_in_groups(l, v);
}
/* Of bytes that no instruction takes, but one that takes them as 16 bits. */
static bool widens_to_groups(struct lowering *l, const struct value *v) {
    const struct machine *m = l->o->target->machine;
    return dtype_is_byte(v->type.dtype) && machine_group(m, v->type.dtype) < 2 && machine_group(m, I16) > 1;
}
static bool wants_groups(struct lowering *l, const struct value *v) {
    bool in_groups = machine_group(l->o->target->machine, narrow_type(l, v)) > 1 || widens_to_groups(l, v);
    return in_groups && read_in_groups(l, v);
}
/* Does a pointwise convolution, to many channels, read v whose plain channels would displace each other from the
 * caches? It reads them once for each few channels of its result. */
static bool collides(struct lowering *l, const struct value *v) {
    enum { MANY = 32, ROWS = 64 };
    int64_t channels, cells = dtype_bytes(v->type.dtype), n;
    if (v->type.rank < 3 || !x_is_int(v->type.dims[1], &channels)) return false;
    for (int d = 2; d < v->type.rank; d++) {
        if (!x_is_int(v->type.dims[d], &n)) return false;
        cells = sat_mul(cells, n);
    }
    if (!machine_colliding(l->o->target->machine, (int)(channels < ROWS ? channels : ROWS), cells)) return false;
    for (int i = 0; i < v->uses.n; i++) {
        struct node *reader = v->uses.v[i].node;
        const struct node_class *k =
            reader && v->uses.v[i].index == 0 && !reader->op->control ? classify_node(l->probes, reader) : NULL;
        if (!k || !k->sum || !k->channels || !has_packed_weights(l, reader)) continue;
        int64_t taps = 1;
        for (int r = 0; r < k->sum->u.stage.nred; r++) taps = sat_mul(taps, const_extent(k->sum->u.stage.red[r]));
        if (taps == channels && const_extent(k->sum->u.stage.axes[1]) >= MANY) return true;
    }
    return false;
}
/* ---- why a result of a group lies in blocks of channels */
struct result {
    struct lowering *l;
    const struct groups *gs;
    const struct group *gr;
    struct value *v;
};
static bool is_made(const struct result *q) { return makes_blocks(q->l, q->gs, q->gr); }
static bool is_moved(const struct result *q) { return moves_blocked(q->l, q->gr, q->v); }
static bool is_computed(const struct result *q) {
    enum stage_class cls = q->gr->cls;
    bool moves = (cls == CLASS_VIEW || cls == CLASS_OPAQUE) && keeps_channels(q->l, q->gr, true);
    return (cls == CLASS_MAP || cls == CLASS_ROW || moves) && reads_blocked(q->l, q->gr, q->v);
}
static bool is_no_sum(const struct result *q) { return q->gr->cls != CLASS_CONTRACT && q->gr->cls != CLASS_WINDOW; }
static bool is_windowed(const struct result *q) { return is_no_sum(q) && read_by_window(q->l, q->v, false); }
static bool is_joined(const struct result *q) { return is_no_sum(q) && joins_blocks(q->l, q->gs, q->v); }
static bool is_turned(const struct result *q) { return is_turned_for_products(q->l, q->gr, q->v); }
/* Not of row kernels: what they compute of plain rows they would write cell by cell, which costs more than plain
 * operands of a product. */
static bool is_narrow(const struct result *q) {
    return q->gr->cls != CLASS_ROW && map_get(&q->l->narrow, PKEY(q->v)) && wants_groups(q->l, q->v);
}
static bool is_colliding(const struct result *q) { return is_no_sum(q) && collides(q->l, q->v); }
static const struct blocks_reason {
    bool (*holds)(const struct result *);
    const char *why;
} blocks_reasons[] = {{is_made, "a product or window over its channels makes it"},
                      {is_moved, "its cells are moved from blocks"},
                      {is_computed, "it is computed from blocks"},
                      {is_windowed, "a window within channels reads it"},
                      {is_joined, "it is added to what a product or window makes"},
                      {is_turned, "its channels become contiguous for a product"},
                      {is_narrow, "a product takes its channels in groups"},
                      {is_colliding, "its channels would displace each other from the caches"}};
/* Does a convolution read v whose weights are made in the run, and not packed? It takes plain rows. */
static bool read_beside_plain_weights(struct lowering *l, const struct value *v) {
    for (int i = 0; i < v->uses.n; i++) {
        struct node *n = v->uses.v[i].node;
        const struct node_class *k = n && !n->op->control ? classify_node(l->probes, n) : NULL;
        if (k && k->cls == CLASS_CONTRACT && k->channels && !has_packed_weights(l, n)) return true;
    }
    return false;
}
static void block_result(const struct result *q) {
    struct value_layout *lay;
    int lanes = lanes_for(q->l, q->v);
    if (!lanes || read_beside_plain_weights(q->l, q->v) ||
        (keeps_plain(q->l, q->v) && !is_given_of_blocks(q->l, q->gr, q->v)))
        return;
    for (size_t k = 0; k < sizeof blocks_reasons / sizeof *blocks_reasons; k++)
        if (blocks_reasons[k].holds(q)) {
            lay = layout_for(q->l, q->v), lay->block = lanes, lay->why = blocks_reasons[k].why;
            return;
        }
}
static void block_results(struct lowering *l, const struct groups *gs, const struct group *gr) {
    for (int i = 0; i < gr->nodes.n; i++)
        for (int k = 0; k < gr->nodes.v[i]->outs.n; k++)
            if (gr->nodes.v[i]->outs.v[k]) block_result(&(struct result){l, gs, gr, gr->nodes.v[i]->outs.v[k]});
}
/* If a picture is small compared to its border, most of what is written and read would be border. A dilated convolution
 * of floats then tests its indices instead, and leaves out taps, if caches do not hide the cost; and so does any that
 * reads beyond a known size by more than WIDE cells, which would take too much memory. Other bytes keep their border:
 * with the zero points in the bias, a tap that meets padding adds a number. */
static bool outgrows(struct lowering *l, const struct value *v, const int64_t *lo, const int64_t *hi) {
    enum { TIMES = 4, WIDE = 64, SOME = 64 };
    double cells = (double)dtype_bytes(v->type.dtype), bordered = cells;
    bool wide = false;
    int64_t known;
    for (int d = 1; d < v->type.rank; d++) {
        double n = (double)x_typical(l->c, v->type.dims[d], SOME);
        wide |= x_is_int(v->type.dims[d], &known) && (lo[d] > WIDE || hi[d] > WIDE);
        cells *= n, bordered *= n + (double)(lo[d] + hi[d]);
    }
    int64_t cache = l->o->target->machine->l2.bytes;
    bool slow = dtype_is_float(v->type.dtype) && cache && bordered > (double)cache;
    return (slow || wide) && bordered > TIMES * cells;
}
/* Adds the border that the node wants on operand k. */
static void add_halo(struct lowering *l, struct node *n, int k) {
    int64_t lo[32], hi[32];
    double fill = 0;
    struct value *v = n->ins.v[k];
    if (!v || v->init || v->type.kind != TY_TENSOR || !fills_lanes(v->type.dtype) || keeps_plain(l, v) ||
        !node_halo(l->probes, n, k, lo, hi, &fill))
        return;
    struct value_layout *lay = layout_for(l, v);
    if (outgrows(l, v, lo, hi)) { /* also the smaller border of another would hide which taps meet nothing else */
        memset(lay->lo, 0, sizeof lay->lo), memset(lay->hi, 0, sizeof lay->hi);
        lay->halo = false, lay->borderless = true;
    }
    if (lay->borderless || (lay->halo && lay->fill != fill))
        return; /* another reader wants another fill: this one tests its indices */
    lay->fill = fill;
    for (int d = 0; d < v->type.rank; d++) {
        if (lo[d] > lay->lo[d]) lay->lo[d] = lo[d];
        if (hi[d] > lay->hi[d]) lay->hi[d] = hi[d];
        lay->halo |= lay->lo[d] || lay->hi[d];
    }
}
static void add_halos(struct lowering *l, const struct groups *gs, enum stage_class cls) {
    for (int i = 0; i < gs->list.n; i++)
        for (int k = 0; gs->list.v[i]->cls == cls && k < gs->list.v[i]->anchor->ins.n; k++)
            add_halo(l, gs->list.v[i]->anchor, k);
}
/* All channels, as a product reads them one behind the other, if they are whole vectors. */
static int block_of_all(const struct value *v, int lanes) {
    int64_t channels;
    return x_is_int(v->type.dims[1], &channels) && channels <= BLOCK_MAX && channels % lanes == 0 ? (int)channels
                                                                                                  : lanes;
}
/* Is v added to such a result whose last block its channels do not fill? Then vectors of v would end beyond its own. */
static bool joins_part_of_block(struct lowering *l, const struct groups *gs, const struct value *v, int lanes) {
    int64_t channels;
    return x_is_int(v->type.dims[1], &channels) && channels % lanes && joins_blocks(l, gs, v);
}
static void block_params(struct lowering *l, struct region *r, const struct groups *gs) {
    bool vectors = machine_lanes(l->o->target->machine, F32) > 1;
    for (int k = 0; k < r->params.n; k++) {
        struct value *v = r->params.v[k];
        int lanes = must_be_plain(l, v) ? 0 : lanes_for(l, v);
        bool groups = lanes && wants_groups(l, v);
        if (groups || (lanes && vectors &&
                       (read_by_window(l, v, true) || read_in_narrow_groups(l, v) ||
                        joins_part_of_block(l, gs, v, lanes) || collides(l, v))))
            layout_for(l, v)->block = groups && widens_to_groups(l, v) ? block_of_all(v, lanes) : lanes;
    }
}
/* Weights in single cells: each panel is contiguous, because all of it is read before the next. */
static void write_panels_of_cells(struct text *t, const struct panels *p, int rank) {
    text_printf(t, "%d/%d", p->along, p->lanes);
    for (int d = 0; d < rank; d++)
        if (d != p->along) text_printf(t, " %d", d);
    text_printf(t, " %d%%%d", p->along, p->lanes);
}
static void write_panels(struct text *t, const struct panels *p, int rank) {
    if (p->group == 1) {
        write_panels_of_cells(t, p, rank);
        return;
    }
    for (int d = 0; d < rank; d++)
        if (d != p->along && d != p->summed) text_printf(t, "%d ", d);
    if (p->lanes > 1) text_printf(t, "%d/%d ", p->along, p->lanes);
    text_printf(t, "%d/%d %d", p->summed, p->group, p->along);
    if (p->lanes > 1) text_printf(t, "%%%d", p->lanes);
    text_printf(t, " %d%%%d", p->summed, p->group);
}
static void write_blocks(struct text *t, const struct value_layout *lay, int rank) {
    for (int d = 0; d < rank; d++) {
        text_printf(t, "%s%d", d ? " " : "", d);
        if (d == 1 && lay->block) text_printf(t, "/%d", lay->block);
        else if (lay->lo[d] || lay->hi[d]) text_printf(t, "+%lld,%lld", (long long)lay->lo[d], (long long)lay->hi[d]);
    }
    if (lay->block) text_printf(t, " 1%%%d", lay->block);
}
static void write_spec(struct ctx *c, struct value_layout *lay, int rank) {
    struct text t = {0};
    if (!lay->block && !lay->halo && !lay->panels.lanes) return;
    text_char(&t, '[');
    if (lay->panels.lanes) write_panels(&t, &lay->panels, rank);
    else write_blocks(&t, lay, rank);
    text_char(&t, ']');
    if (lay->halo && lay->fill != 0) text_printf(&t, " fill=%.0f", lay->fill);
    lay->spec = intern(c->names, t.s);
    text_free(&t);
}
struct value_layout *layout_padded(struct ctx *c, int dim, int64_t cells) {
    struct value_layout *lay = NEW(&c->arena, struct value_layout);
    lay->spec = internf(c->names, "pad %d:%lld", dim, (long long)cells);
    return lay;
}
struct value_layout *layout_packed(struct ctx *c, struct panels how, int rank) {
    struct value_layout *lay = NEW(&c->arena, struct value_layout);
    lay->panels = how;
    write_spec(c, lay, rank);
    return lay;
}
struct value_layout *layout_changed(struct ctx *c, const struct value_layout *lay, int rank, double fill, int block) {
    struct value_layout *r = arena_copy(&c->arena, lay, sizeof *lay);
    r->fill = fill, r->block = block;
    write_spec(c, r, rank);
    return r;
}
/* Moves whose result only such a product reads write panels directly. */
static void pack_moves(struct lowering *l, struct region *r, const struct groups *gs) {
    for (struct node *n = r->first; n; n = n->next) {
        const struct packed_factor *f = map_get(&l->packed, PKEY(n));
        const struct group *gr = f && f->value->def ? map_get(&gs->of_node, PKEY(f->value->def)) : NULL;
        if (gr && gr->cls == CLASS_VIEW && gr->nodes.v[gr->nodes.n - 1] == f->value->def && f->value->uses.n == 1 &&
            !layout_of_value(l, f->value))
            map_put(&l->layouts, PKEY(f->value), f->layout);
    }
}
void choose_layouts(struct lowering *l, struct region *r, const struct groups *gs) {
    for (struct node *n = r->first; n; n = n->next)
        if (n->op->control || classify_node(l->probes, n)->calls) find_plain(l, n);
    choose_narrow(l, r);
    if (l->o->no_schedule || l->o->target->machine->gpu || !decide(l->c, "layouts of values")) return;
    for (struct node *n = r->first; n; n = n->next) pack_factor(l, n);
    block_params(l, r, gs);
    for (int i = 0; i < gs->list.n; i++) block_results(l, gs, gs->list.v[i]);
    add_halos(l, gs, CLASS_CONTRACT); /* products lose more by tests than other windows, so their borders come first */
    add_halos(l, gs, CLASS_WINDOW);
    pack_moves(l, r, gs);
    for (struct node *n = r->first; n; n = n->next)
        for (int k = 0; k < n->outs.n; k++) {
            struct value_layout *lay = n->outs.v[k] ? layout_of_value(l, n->outs.v[k]) : NULL;
            if (lay) write_spec(l->c, lay, n->outs.v[k]->type.rank);
        }
    for (int k = 0; k < r->params.n; k++) {
        struct value_layout *lay = layout_of_value(l, r->params.v[k]);
        if (lay) write_spec(l->c, lay, r->params.v[k]->type.rank);
    }
}

/* ---- windows along channels */
struct sliding {
    struct ctx *c;
    const struct stmt *s;
};
/* Do neighbours along the channels read disjoint channels? True for groups and for depthwise convolutions. */
static bool stays_in_channel(void *env, expr e) {
    const struct sliding *q = env;
    const struct stmt *s = q->s;
    int64_t apart, step;
    expr rest;
    if (e->op != X_LOAD || e->n - e->has_fill < 2) return true;
    if (!x_linear_in(q->c, e->arg[1], s->u.stage.axes[1], &apart, &rest) || apart == 0) return true;
    for (int k = 0; k < s->u.stage.nred; k++) {
        int64_t n = const_extent(s->u.stage.red[k]);
        if (x_linear_in(q->c, e->arg[1], s->u.stage.red[k], &step, &rest) && step && n > 1 && step * (n - 1) >= apart)
            return false;
    }
    return true;
}
bool slides_along_channels(struct lowering *l, struct node *n) {
    const struct node_class *k = n->op && !n->op->control ? classify_node(l->probes, n) : NULL;
    for (int i = 0; k && k->cls == CLASS_WINDOW && i < k->stages.n; i++) {
        struct sliding q = {l->c, k->stages.v[i]};
        bool reduces = q.s->u.stage.op != RED_NONE && q.s->u.stage.naxes > 1;
        if (reduces && !x_visit(q.s->u.stage.value, stays_in_channel, &q)) return true;
    }
    return false;
}

static bool sums_along(const struct stmt *s, expr index) {
    for (int k = 0; k < s->u.stage.nred; k++)
        if (x_uses_var(NULL, index, s->u.stage.red[k])) return true;
    return false;
}
/* How often the product reads each cell of a factor: the cells of the axes that the factor lacks; -1: an open
 * number. */
static int64_t times_read(struct lowering *l, const struct stmt *s, expr factor) {
    int64_t times = 1;
    for (int k = 0; k < s->u.stage.naxes; k++) {
        const struct var *v = s->u.stage.axes[k];
        if (!x_uses_var(l->c, factor, v) && (const_extent(v) < 0 || !mul_ok(times, const_extent(v), &times))) return -1;
    }
    return times;
}
bool rows_in_blocks(struct lowering *l, struct node *n, int operand) {
    const struct node_class *k = n->op && !n->op->control ? classify_node(l->probes, n) : NULL;
    struct value *v = n->ins.v[operand];
    if (!v || !has_blocks(l, v) || !k || k->cls != CLASS_CONTRACT || k->channels || !k->sum) return false;
    for (int f = 0; f < 2; f++) {
        const expr read = k->factors[f];
        const struct value *other = probed_value(l->probes, n, k->factors[!f]->u.buf);
        int64_t times = times_read(l, k->sum, read);
        bool lanes = (other && other->init) || (times > 0 && times < machine_lanes(l->o->target->machine, F32));
        bool serve = lanes && sums_along(k->sum, read->arg[1]);
        if (read->u.buf == probed_operand(l->probes, v) && !serve) return true;
    }
    return false;
}

/* ---- views that are copies */
enum { MOVES_MAX = 8 }; /* each may divide the indices of the one before */
bool reads_plain_copy(struct lowering *l, struct node *n, int *operand) {
    expr off;
    if (!node_is_view(l->probes, n, operand, &off) || !node_divides(l->probes, n)) return false;
    const struct value_layout *lay = layout_of_value(l, n->ins.v[*operand]);
    return lay && lay->spec;
}
/* Does the view move cells? Between plain layouts it may be the same storage; between blocks and rows it is not. */
static bool is_copy(struct lowering *l, const struct group *gr) {
    int operand;
    expr off;
    struct node *n = gr->nodes.v[gr->nodes.n - 1];
    return has_blocks(l, gr->nodes.v[0]->ins.v[0]) || has_blocks(l, n->outs.v[0]) ||
           !node_is_view(l->probes, n, &operand, &off);
}
static bool is_move(const struct group *gr) {
    const struct node *n = gr->nodes.v[gr->nodes.n - 1];
    return gr->cls == CLASS_VIEW && !gr->views.n && n->outs.n == 1 && gr->nodes.v[0]->ins.n && gr->nodes.v[0]->ins.v[0];
}
/* The move that is the only reader of gr's result. (Intermediate blocks would be moved as vectors.) */
static struct group *next_move(struct lowering *l, const struct groups *gs, const struct group *gr) {
    const struct value *v = gr->nodes.v[gr->nodes.n - 1]->outs.v[0];
    if (v->uses.n != 1 || v->uses.v[0].region || v->uses.v[0].index != 0 || value_leaves(l, v) || has_blocks(l, v))
        return NULL;
    struct group *next = map_get(&gs->of_node, PKEY(v->uses.v[0].node));
    return next && is_move(next) && next->nodes.n == 1 ? next : NULL;
}
/* From rows into blocks: a transposition, followed by a move that adds axes. */
static bool turns_into_blocks(struct lowering *l, const struct group *gr, const struct group *next) {
    struct node *last = next->nodes.v[0];
    return is_copy(l, gr) && has_blocks(l, last->outs.v[0]) && !node_divides(l->probes, last) &&
           last->outs.v[0]->type.rank > last->ins.v[0]->type.rank;
}
void join_copies(struct lowering *l, struct groups *gs) {
    int kept = 0, operand;
    for (int i = 0; i < gs->list.n; i++) {
        struct group *gr = gs->list.v[i],
                     *next = is_move(gr) && gr->nodes.n < MOVES_MAX && !reads_plain_copy(l, gr->nodes.v[0], &operand)
                                 ? next_move(l, gs, gr)
                                 : NULL;
        bool blocks = next && (has_blocks(l, gr->nodes.v[0]->ins.v[0]) || turns_into_blocks(l, gr, next));
        if (!blocks || !is_copy(l, next)) {
            gs->list.v[kept++] = gr;
            continue;
        }
        struct node *last = next->nodes.v[0];
        next->nodes = gr->nodes;
        PUSH(&l->c->arena, &next->nodes, last);
        for (int k = 0; k < next->nodes.n; k++) map_put(&gs->of_node, PKEY(next->nodes.v[k]), next);
    }
    gs->list.n = kept;
}
