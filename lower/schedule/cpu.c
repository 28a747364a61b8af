/* Schedules for CPUs with vector registers (and, with one lane, for scalar ones): direct convolution in blocked
 * layouts, matrix products with packed weights, windows, maps. The shapes of tiles follow docs/schedules.md. */
#include "lower/schedule/schedule.h"
#include "lower/schedule/steps.h"
#include <string.h>

struct tile {
    int mr, nr;
};
/* Register tile of mr rows by nr vectors: accumulators, nr operands and one broadcast must fit the registers; balanced,
 * so that no small rest remains (research: 5+5+4 beats 6+6+2). The most multiply-adds per load wins. */
static struct tile choose_tile(const struct target *t, int64_t rows, int64_t vectors) {
    struct tile best = {1, 1};
    double score = 0;
    for (int nr = 1; nr <= 4; nr++) {
        if (vectors % nr && vectors > nr) continue;
        if (nr > vectors) break;
        int64_t max = (t->vregs - 1 - nr) / nr;
        if (max < 1) continue;
        int64_t tiles = rows > 0 ? (rows + max - 1) / max : 1, mr = rows > 0 ? (rows + tiles - 1) / tiles : max;
        double s = (double)(mr * nr) / (double)(mr + nr);
        if (mr * nr < 8) s *= (double)(mr * nr) / 8; /* too few chains to hide the latency of fma */
        if (s > score) score = s, best = (struct tile){(int)mr, nr};
    }
    return best;
}
static void sizes_of(struct text *t, int64_t rows, int64_t mr) { /* sizes=[..], balanced */
    int64_t tiles = (rows + mr - 1) / mr, q = rows / tiles, more = rows % tiles;
    text_add(t, " sizes=[");
    for (int64_t k = 0; k < tiles; k++) text_printf(t, "%s%lld", k ? " " : "", (long long)(q + (k < more)));
    text_char(t, ']');
}
static void inline_maps(struct text *t, const struct kernel_info *k) {
    for (int i = 0; i < k->stages.n; i++) {
        const struct stmt *s = k->stages.v[i];
        if (s->u.stage.op == RED_NONE && s->u.stage.buf->scope != SC_PARAM)
            text_printf(t, "inline %s\n", s->u.stage.buf->base);
    }
}
/* Position of a bare variable among the indices of a load, -1 if it is not bare there. */
static int dim_of(expr load, const struct var *v) {
    for (int k = 0; k < load->n - load->has_fill; k++)
        if (load->arg[k]->op == X_VAR && load->arg[k]->u.var == v) return k;
    return -1;
}
/* ---- contractions */
struct plan { /* of one contraction's schedule, and the text that grows */
    struct ctx *c;
    struct proc *p;
    const struct target *t;
    struct kernel_info *k;
    struct contraction *q;
    const struct param_layout *l;
    struct text s;
};
static const char *y_loop(struct plan *u, int axis) { return axis_loop(u->c, u->q->out, axis); }
static const char *a_loop(struct plan *u, int axis) { return axis_loop(u->c, u->q->acc, axis); }

/* Weights as [n/NV][other dims][k/V][k%V][n%NV]: the tile walks them in order. k is blocked with the activations. */
static bool pack_b(struct plan *u, int nv, int kblock, const struct var *kvar) {
    expr b = u->q->b;
    int nd = dim_of(b, u->q->acc->u.stage.axes[u->q->n_axis]), kd = kvar ? dim_of(b, kvar) : -1;
    if (nd < 0 || b->has_fill) return false;
    text_printf(&u->s, "layout %s [%d/%d", b->u.buf->base, nd, nv);
    if (kd >= 0 && kblock) text_printf(&u->s, " %d/%d", kd, kblock);
    for (int d = 0; d < b->n; d++)
        if (d != nd && !(d == kd && kblock)) text_printf(&u->s, " %d", d);
    if (kd >= 0 && kblock) text_printf(&u->s, " %d%%%d", kd, kblock);
    text_printf(&u->s, " %d%%%d]\n", nd, nv);
    return true;
}
/* The reduced axis with the largest extent that indexes b directly: input channels, or K. */
static int main_red(struct plan *u) {
    int best = -1;
    int64_t most = 0;
    for (int k = 0; k < u->q->nred; k++) {
        int64_t n = const_extent(u->q->acc->u.stage.red[k]);
        if (dim_of(u->q->b, u->q->acc->u.stage.red[k]) >= 0 && (n < 0 ? INT64_MAX : n) > most)
            most = n < 0 ? INT64_MAX : n, best = k;
    }
    return best;
}
/* gcc keeps the accumulators of a loop in their registers only when one iteration is one step of the sum, unless there
 * are registers to spare: in longer straight code it moves them, and spills on the way. */
static int unroll_of(const struct target *t) { return t->vregs > 16 ? 4 : 1; }
/* acc in registers: [.. n/V .. n%V], its loops in micro-kernel order. */
static void acc_tile(struct plan *u, int lanes, int kred, int kblock) {
    struct contraction *q = u->q;
    int n = q->n_axis;
    text_printf(&u->s, "layout %s [", q->acc->u.stage.buf->base);
    for (int k = 0; k < q->naxes; k++) text_printf(&u->s, k == n ? "%s%d/%d" : "%s%d", k ? " " : "", k, lanes);
    text_printf(&u->s, " %d%%%d]\n", n, lanes);
    text_printf(&u->s, "split %s %d aj av\n", a_loop(u, n), lanes);
    if (kred >= 0 && kblock)
        text_printf(&u->s, "split %s %d kb kc\nsplit kc %d ko ku\n", red_loop(u->c, q->acc, kred), kblock,
                    unroll_of(u->t));
}
static void acc_rows(struct plan *u) { /* the axes of acc that are not lanes: extent 1 but for the tile's rows */
    for (int k = 0; k < u->q->naxes; k++)
        if (k != u->q->n_axis) text_printf(&u->s, " %s", a_loop(u, k));
}
/* Without blocks the innermost reduction is unrolled by 4 after the reorder, for the cut leaves an imperfect nest. */
static void acc_order(struct plan *u, int kred, int kblock) {
    struct contraction *q = u->q;
    int inner = kred >= 0 && kblock ? kred : q->nred - 1;
    text_add(&u->s, kblock ? "reorder kb" : "reorder");
    for (int k = 0; k < q->nred; k++)
        if (k != inner) text_printf(&u->s, " %s", red_loop(u->c, q->acc, k));
    if (kblock) text_add(&u->s, " ko ku");
    else text_printf(&u->s, " %s", red_loop(u->c, q->acc, inner));
    acc_rows(u);
    text_add(&u->s, " aj av\n");
    if (!kblock) text_printf(&u->s, "split %s %d ko ku\n", red_loop(u->c, q->acc, inner), unroll_of(u->t));
    text_add(&u->s, "kind unroll wi yj ku aj");
    acc_rows(u);
    text_add(&u->s, "\nkind vector yv av\n");
}
static int last_m(const struct contraction *q) {
    for (int k = q->naxes; k--;)
        if (q->role[k] == ROLE_M && k != q->n_axis) return k;
    return -1;
}
/* y's loops: N panels, then rows, then the tile (wi yj yv). */
static void y_tile(struct plan *u, struct tile tile, int lanes) {
    struct contraction *q = u->q;
    int n = q->n_axis, m = last_m(q);
    int64_t rows = m >= 0 ? const_extent(q->out->u.stage.axes[m]) : 1;
    text_printf(&u->s, "split %s %d yo yi\nsplit yi %d yj yv\nreorder", y_loop(u, n), tile.nr * lanes, lanes);
    for (int k = 0; k < q->naxes; k++)
        if (q->role[k] == ROLE_BATCH) text_printf(&u->s, " %s", y_loop(u, k));
    bool outer = true; /* a leading batch axis stays outside of the panels: one image after the other */
    for (int k = 0; k < q->naxes; k++) {
        if (k == n || q->role[k] == ROLE_BATCH) continue;
        if (outer && (k > 0 || q->naxes < 4)) text_add(&u->s, " yo"), outer = false;
        text_printf(&u->s, " %s", y_loop(u, k));
    }
    if (outer) text_add(&u->s, " yo");
    text_add(&u->s, " yj yv\n");
    if (m < 0) {
        text_printf(&u->s, "compute_at %s yo\n", q->acc->u.stage.buf->base);
        return;
    }
    text_printf(&u->s, "split %s", y_loop(u, m));
    if (rows > 0) {
        text_add(&u->s, " wo wi");
        sizes_of(&u->s, rows, tile.mr);
    } else text_printf(&u->s, " %d wo wi cut2", tile.mr);
    text_printf(&u->s, "\ncompute_at %s wo\n", q->acc->u.stage.buf->base);
}
/* N is walked by lanes: its extent must be whole vectors, and every map operand must lie along it with stride 0 or 1,
 * which blocked layouts and a last axis give. */
static bool contraction_text(struct plan *u) {
    struct contraction *q = u->q;
    int lanes = u->t->lanes_f32, n = q->n_axis;
    if (q->out == q->acc || n < 0 || lanes < 2 || !q->b_const || q->out->u.stage.naxes != q->naxes) return false;
    if (q->acc->u.stage.buf->type != F32) return false;
    int64_t N = const_extent(q->acc->u.stage.axes[n]);
    const struct param_layout *ly = layout_of(u->p, u->l, q->out->u.stage.buf),
                              *la = layout_of(u->p, u->l, q->a->u.buf);
    bool y_blocked = ly && ly->block == lanes && n == 1;
    if (N < lanes || N % lanes || (!y_blocked && n != q->naxes - 1)) return false;
    int m = last_m(q), kred = main_red(u); /* the reduced axis that is blocked with the activations */
    int64_t rows = m >= 0 ? const_extent(q->out->u.stage.axes[m]) : 1;
    int kblock = la && la->block ? la->block : 0;
    if (kblock && (kred < 0 || dim_of(q->a, q->acc->u.stage.red[kred]) != 1)) return false;
    struct tile tile = choose_tile(u->t, rows, N / lanes);
    layout_steps(&u->s, u->p, u->l);
    if (!pack_b(u, tile.nr * lanes, kblock, kred >= 0 ? q->acc->u.stage.red[kred] : NULL)) return false;
    inline_maps(&u->s, u->k);
    y_tile(u, tile, lanes);
    acc_tile(u, lanes, kred, kblock);
    acc_order(u, kred, kblock);
    return true;
}
static bool schedule_contraction(struct ctx *c, struct proc *p, const struct target *t, const struct param_layout *l,
                                 struct kernel_info *k) {
    struct contraction q;
    if (!find_contraction(c, k, &q)) return false;
    struct plan u = {c, p, t, k, &q, l, {0}};
    bool ok = contraction_text(&u) && try_schedule(c, p, u.s.s);
    text_free(&u.s);
    return ok;
}

/* ---- blocked windows and maps: the lanes run over the block of channels */
static bool lanes_fit(const struct stmt *s, int lanes) {
    int64_t n = s->u.stage.naxes > 1 ? const_extent(s->u.stage.axes[1]) : -1;
    return n > 0 && n % lanes == 0;
}
/* y's nest with the channel block innermost: rows of `tile` pixels inside of everything else. */
static void blocked_nest(struct plan *u, const struct stmt *out, int lanes, const char *tile_of) {
    struct ctx *c = u->c;
    int n = out->u.stage.naxes, last = n - 1;
    text_printf(&u->s, "split %s %d cb cv\nreorder %s cb", axis_loop(c, out, 1), lanes, axis_loop(c, out, 0));
    for (int k = 2; k < n; k++) text_printf(&u->s, " %s", axis_loop(c, out, k));
    text_add(&u->s, " cv\n");
    if (!tile_of) return;
    int64_t rows = n > 2 ? const_extent(out->u.stage.axes[last]) : 1, most = u->t->vregs / 2;
    if (n <= 2) text_printf(&u->s, "compute_at %s cb\n", tile_of);
    else if (rows > 0) {
        text_printf(&u->s, "split %s wo wi", axis_loop(c, out, last));
        sizes_of(&u->s, rows, rows < most ? rows : most);
        text_printf(&u->s, "\ncompute_at %s wo\n", tile_of);
    } else
        text_printf(&u->s, "split %s %lld wo wi cut2\ncompute_at %s wo\n", axis_loop(c, out, last), (long long)most,
                    tile_of);
}
static void window_order(struct plan *u, const struct stmt *red, const char *acc) {
    int n = red->u.stage.naxes, r = red->u.stage.nred;
    int64_t taps = 1;
    for (int k = 0; k < r; k++)
        taps *= const_extent(red->u.stage.red[k]) > 0 ? const_extent(red->u.stage.red[k]) : 1000;
    text_printf(&u->s, "layout %s [0", acc);
    for (int k = 2; k < n; k++) text_printf(&u->s, " %d", k);
    text_add(&u->s, " 1]\nreorder");
    for (int k = 0; k < r; k++) text_printf(&u->s, " %s.%s", acc, red->u.stage.red[k]->name);
    for (int k = 0; k < n; k++)
        if (k != 1) text_printf(&u->s, " %s.%s", acc, red->u.stage.axes[k]->name);
    text_printf(&u->s, " %s.%s\nkind unroll", acc, red->u.stage.axes[1]->name);
    if (n > 2) text_add(&u->s, " wi");
    for (int k = 0; k < r && taps <= 25; k++) text_printf(&u->s, " %s.%s", acc, red->u.stage.red[k]->name);
    for (int k = 0; k < n; k++)
        if (k != 1) text_printf(&u->s, " %s.%s", acc, red->u.stage.axes[k]->name);
    text_printf(&u->s, "\nkind vector cv %s.%s\n", acc, red->u.stage.axes[1]->name);
}
/* Depthwise weights follow the channels' blocks. */
static void pack_channels(struct plan *u, const struct stmt *red, int lanes) {
    expr v = red->u.stage.value;
    for (int k = 0; v->op == X_MUL && k < 2; k++) {
        expr w = v->arg[k];
        if (w->op != X_LOAD || !w->u.buf->data || w->has_fill || dim_of(w, red->u.stage.axes[1]) != 0) continue;
        text_printf(&u->s, "layout %s [0/%d", w->u.buf->base, lanes);
        for (int d = 1; d < w->n; d++) text_printf(&u->s, " %d", d);
        text_printf(&u->s, " 0%%%d]\n", lanes);
    }
}
static bool schedule_window(struct ctx *c, struct proc *p, const struct target *t, const struct param_layout *l,
                            struct kernel_info *k) {
    int lanes = t->lanes_f32, at = 0;
    const struct param_layout *ly = layout_of(p, l, k->out->u.stage.buf);
    if (lanes < 2 || !ly || ly->block != lanes || k->nreductions != 1 || k->nparams_out != 1) return false;
    while (k->stages.v[at]->u.stage.op == RED_NONE) at++;
    const struct stmt *red = k->stages.v[at];
    if (at || !lanes_fit(red, lanes) || !lanes_fit(k->out, lanes) || red->u.stage.naxes != k->out->u.stage.naxes)
        return false;
    struct plan u = {c, p, t, k, NULL, l, {0}};
    const char *acc = red->u.stage.buf->base;
    layout_steps(&u.s, p, l);
    pack_channels(&u, red, lanes);
    inline_maps(&u.s, k);
    if (red == k->out) {
        acc = "acc";
        text_printf(&u.s, "cache_write %s acc\n", red->u.stage.buf->base);
    }
    blocked_nest(&u, k->out, lanes, acc);
    window_order(&u, red, acc);
    bool ok = try_schedule(c, p, u.s.s);
    text_free(&u.s);
    return ok;
}
static bool schedule_blocked_map(struct ctx *c, struct proc *p, const struct target *t, const struct param_layout *l,
                                 struct kernel_info *k) {
    int lanes = t->lanes_f32;
    const struct param_layout *ly = layout_of(p, l, k->out->u.stage.buf);
    if (lanes < 2 || !ly || ly->block != lanes || k->nreductions || k->nparams_out != 1 || !lanes_fit(k->out, lanes))
        return false;
    struct plan u = {c, p, t, k, NULL, l, {0}};
    layout_steps(&u.s, p, l);
    inline_maps(&u.s, k);
    blocked_nest(&u, k->out, lanes, NULL);
    text_add(&u.s, "kind vector cv\n");
    bool ok = try_schedule(c, p, u.s.s);
    text_free(&u.s);
    return ok;
}

/* ---- maps: one nest over contiguous memory, the compiler's own vectoriser does the rest for what stays scalar */
static bool schedule_plain(struct ctx *c, struct proc *p, const struct param_layout *l, struct kernel_info *k) {
    struct text t = {0};
    layout_steps(&t, p, l);
    if (k) inline_maps(&t, k);
    bool ok = !t.s || try_schedule(c, p, t.s);
    text_free(&t);
    return ok;
}
/* Nests of stores into a blocked result (Concat), the channels innermost as one vector. The loops of such nests have
 * the names of their axes, the same in each. */
static bool schedule_nests(struct ctx *c, struct proc *p, const struct target *t, const struct param_layout *l) {
    struct text s = {0};
    int lanes = t->lanes_f32;
    const struct stmt *first = p->body.first;
    while (first && first->kind == S_ALLOC) first = first->next;
    const struct param_layout *ly = NULL;
    const char *axis[32] = {0};
    int n = 0;
    for (const struct stmt *f = first; f && f->kind == S_FOR && n < 32; f = f->u.loop.body.first) {
        axis[n++] = f->u.loop.var->name;
        const struct stmt *in = f->u.loop.body.first;
        if (in && in->kind == S_STORE) ly = layout_of(p, l, in->u.store.buf);
    }
    if (lanes < 2 || !ly || ly->block != lanes || n < 2) return false;
    layout_steps(&s, p, l);
    text_printf(&s, "split %s %d cb cv\nreorder %s cb", axis[1], lanes, axis[0]);
    for (int k = 2; k < n; k++) text_printf(&s, " %s", axis[k]);
    text_add(&s, " cv\nkind vector cv\n");
    bool ok = try_schedule(c, p, s.s);
    text_free(&s);
    return ok;
}
void schedule_cpu(struct ctx *c, struct proc *p, const struct target *t, const struct param_layout *l) {
    struct kernel_info k;
    if (!kernel_info(c, p, &k)) {
        if (!schedule_nests(c, p, t, l) && !schedule_plain(c, p, l, NULL))
            BUG("kernel %s does not take its layouts", p->name);
        return;
    }
    if (t->fma) use_fma(c, p);
    if (schedule_contraction(c, p, t, l, &k) || schedule_window(c, p, t, l, &k) || schedule_blocked_map(c, p, t, l, &k))
        return;
    if (schedule_rows(c, p, t, l, &k) || schedule_plain(c, p, l, &k)) return;
    if (!schedule_plain(c, p, l, NULL)) BUG("kernel %s does not take its layouts", p->name);
}
