/* What the strategies for CPUs share, and the last one, plain loops. See cpu.h, docs/schedules.md. */
#include "lower/schedule/cpu.h"

void plan_inline_maps(struct plan *u) {
    for (int i = 0; i < u->k->stages.n; i++) {
        const struct stmt *s = u->k->stages.v[i];
        if (s->u.stage.op == RED_NONE && s->u.stage.buf->scope != SC_PARAM)
            text_printf(&u->s, "inline %s\n", s->u.stage.buf->base);
    }
}
void plan_tiles(struct plan *u, const char *loop, const char *inside, int64_t extent, int64_t unit, int64_t most) {
    int64_t units = (extent + unit - 1) / unit, tiles = (units + most - 1) / most, q = units / tiles * unit,
            more = units % tiles, lacking = units * unit - extent;
    if (!more && !lacking) {
        text_printf(&u->s, "split %s %lld %s\n", loop, (long long)q, inside);
        return;
    }
    const int64_t runs[][2] = {{q + unit, more}, {q, tiles - more - (lacking > 0)}, {q - lacking, lacking > 0}};
    const char *before = "[";
    text_printf(&u->s, "split %s %s sizes=", loop, inside);
    for (int k = 0; k < 3; k++) {
        if (!runs[k][1]) continue;
        text_printf(&u->s, "%s%lld", before, (long long)runs[k][0]);
        if (runs[k][1] > 1) text_printf(&u->s, "*%lld", (long long)runs[k][1]);
        before = " ";
    }
    text_add(&u->s, "]\n");
}
int dim_of(expr load, const struct var *v) {
    for (int k = 0; k < load->n - load->has_fill; k++)
        if (load->arg[k]->op == X_VAR && load->arg[k]->u.var == v) return k;
    return -1;
}

/* The dim of a constant that every load indexes by an axis of that many channels, one for each channel; -1: none. */
struct channel_scan {
    const struct buf *b;
    const struct problem *k;
    int dim;
};
static bool scan_channels(void *env, expr e) {
    struct channel_scan *q = env;
    if (e->op != X_LOAD || e->u.buf != q->b) return true;
    for (int i = 0; i < q->k->stages.n; i++) {
        const struct stmt *s = q->k->stages.v[i];
        int d = s->u.stage.naxes > 1 ? dim_of(e, s->u.stage.axes[1]) : -1;
        if (d >= 0) q->dim = d;
    }
    return true;
}
static int channel_dim(const struct plan *u, const struct buf *b) {
    struct channel_scan q = {b, u->k, -1};
    for (int k = 0; k < u->k->stages.n; k++) {
        x_visit(u->k->stages.v[k]->u.stage.value, scan_channels, &q);
        if (u->k->stages.v[k]->u.stage.init) x_visit(u->k->stages.v[k]->u.stage.init, scan_channels, &q);
    }
    return q.dim;
}
/* Channels lie one beside the other without a layout of their own. */
static bool is_last(const struct buf *b, int dim) {
    for (int d = dim + 1; d < b->nlogical; d++)
        if (!x_is(b->logical[d], 1)) return false;
    return true;
}
void plan_channels(struct plan *u, const struct stmt *out, const struct buf *besides) {
    int lanes = lanes_of(u);
    bool full = const_extent(out->u.stage.axes[1]) % lanes == 0;
    for (int i = 0; i < u->p->params.n; i++) {
        const struct buf *b = u->p->params.v[i].buf;
        int dim = b->data && b != besides ? channel_dim(u, b) : -1;
        if (dim < 0 || (full && is_last(b, dim))) continue;
        text_printf(&u->s, "layout %s [", b->base);
        for (int d = 0; d < b->nlogical; d++) text_printf(&u->s, d == dim ? "%s%d/%d" : "%s%d", d ? " " : "", d, lanes);
        text_printf(&u->s, " %d%%%d]\n", dim, lanes);
    }
}
void plan_widen(struct plan *u, const char *acc, const struct stmt *out) {
    int lanes = lanes_of(u);
    if (const_extent(out->u.stage.axes[1]) % lanes == 0) return;
    if (acc) text_printf(&u->s, "widen %s %d\n", acc, lanes);
    text_printf(&u->s, "widen %s %d\n", axis_loop(u->c, out, 1), lanes);
}

/* ---- one nest over contiguous memory; the compiler's own vectoriser does the rest for what stays scalar */
static const char *plain_points(struct plan *u, struct points *out) {
    if (u->k->stages.n && !u->m->gpu) add_point(u, out, &strategy_plain)->u.inlined = true;
    add_point(u, out, &strategy_plain);
    return NULL;
}
static const char *plain_steps(struct plan *u, const struct point *p) {
    layout_steps(&u->s, u->p, u->l);
    if (p->u.inlined) plan_inline_maps(u);
    return NULL;
}
static void print_plain(struct text *t, struct plan *u, const struct point *p) {
    (void)u;
    text_add(t, p->u.inlined ? "maps inlined" : "as it is");
}
const struct strategy strategy_plain = {"plain loops", plain_points, plain_steps, print_plain};
