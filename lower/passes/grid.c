/* Can a nest of block and thread loops be a grid? See grid.h. */
#include "lower/passes/grid.h"
#include "ir/base/checked.h"
#include "ir/loop/target.h"
#include "lower/memory/local_memory.h"

/* Products of these do not overflow. */
static const struct gpu no_limits = {
    .max_threads = 1 << 20, .max_grid_yz = INT64_MAX, .shared_bytes = INT64_MAX, .private_bytes = INT64_MAX >> 20};

static bool is_block_loop(const struct stmt *s) {
    return s->kind == S_FOR && s->u.loop.kind >= LK_BLOCK_X && s->u.loop.kind <= LK_BLOCK_Z;
}
bool is_thread_loop(const struct stmt *s) { return s->kind == S_FOR && s->u.loop.kind >= LK_THREAD_X; }

struct thread_vars {
    const struct var *v[64];
    int n;
};
static bool not_thread(void *env, expr e) {
    const struct thread_vars *t = env;
    for (int k = 0; k < t->n; k++)
        if (e->op == X_VAR && e->u.var == t->v[k]) return false;
    return true;
}
/* The axes of the thread loops in a block. */
static bool add_axis(void *env, struct stmt *s) {
    if (is_thread_loop(s)) *(unsigned *)env |= 1u << (s->u.loop.kind - LK_THREAD_X);
    return true;
}
static bool local_fits(struct grid *g, const struct stmt *alloc, bool inside) {
    struct buf *b = alloc->u.alloc.buf;
    unsigned axes = 0;
    int64_t bytes, threads = 1;
    if (!x_is_int(local_bytes(g->c, b), &bytes)) return false;
    switch (b->scope) {
    case SC_SHARED: g->shared += bytes; return !inside && !b->fill && g->shared <= g->limits->shared_bytes;
    case SC_REG:
        walk(alloc->in, add_axis, &axes);
        if (!inside || axes) {
            struct across a = {b, inside ? axes : 7};
            PUSH(&g->c->arena, &g->across, a);
            threads = g->limits->max_threads;
        }
        return bytes <= g->limits->private_bytes * threads && (threads == 1 || !b->fill);
    case SC_STACK:
        if (!inside) g->shared += bytes; /* for all threads, see grids.c */
        return inside ? bytes <= g->limits->private_bytes : !b->fill && g->shared <= g->limits->shared_bytes;
    default: return false;
    }
}
static void look_block(struct grid *g, struct block *b, struct thread_vars *t);
static void look_loop(struct grid *g, struct stmt *s, struct thread_vars *t) {
    int64_t n;
    if (is_block_loop(s)) {
        g->ok = false; /* those of the grid have been removed before */
    } else if (is_thread_loop(s)) {
        int axis = (int)s->u.loop.kind - LK_THREAD_X;
        g->ok &= !g->open[axis] && x_is_int(s->u.loop.var->extent, &n) && n <= g->limits->max_threads && t->n < 64;
        if (!g->ok) return;
        if (n > g->threads[axis]) g->threads[axis] = n;
        g->open[axis]++;
        t->v[t->n++] = s->u.loop.var;
        look_block(g, &s->u.loop.body, t);
        t->n--;
        g->open[axis]--;
    } else {
        look_block(g, &s->u.loop.body, t);
    }
}
/* Warp instructions involve all threads along x, whose number is the extent of the loop in their body; other
 * instructions do not exist on GPUs. */
static void look_instr(struct grid *g, const struct stmt *s) {
    const struct stmt *lanes = s->u.instr.body.first;
    g->ok &= s->u.instr.row->scope == SCOPE_WARP && !g->open[0] && is_thread_loop(lanes) &&
             x_is_int(lanes->u.loop.var->extent, &g->warp);
    if (g->ok && g->warp > g->threads[0]) g->threads[0] = g->warp;
}
static void look_block(struct grid *g, struct block *b, struct thread_vars *t) {
    for (struct stmt *s = b->first; s && g->ok; s = s->next) {
        bool inside = t->n > 0;
        switch (s->kind) {
        case S_FOR: look_loop(g, s, t); break;
        case S_IF:
            look_block(g, &s->u.cond.then, t);
            look_block(g, &s->u.cond.other, t);
            break;
        case S_WHILE: look_block(g, &s->u.loop_while.body, t); break;
        case S_STORE: g->ok &= inside; break;
        case S_ALLOC: g->ok &= local_fits(g, s, inside); break;
        case S_INSTR: look_instr(g, s); break;
        case S_BARRIER: g->ok &= !inside; break;
        case S_COMMENT: break;
        default: g->ok = false; /* checks and sizes end the procedure, which one thread of many cannot do */
        }
    }
}
/* Either every access indexes dim d of b with the variable of a thread loop, always of the same axis, or none does. */
struct along {
    const struct buf *b;
    struct thread_vars *all; /* thread loops of the nest, by axis */
    int d, axis;
    bool shared, clash;
};
static void look_index(struct along *q, const struct stmt *s, const expr *idx) {
    int axis = instr_spreads(instr_around(s), q->b, q->d) ? 0 : -1;
    expr e = idx[q->d];
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < q->all[k].n; j++)
            if (e->op == X_VAR && e->u.var == q->all[k].v[j]) axis = k;
    if (axis < 0) {
        q->shared = true;
        for (int k = 0; k < 3; k++) q->clash |= !x_visit(e, not_thread, &q->all[k]);
    } else {
        q->clash |= q->axis >= 0 && q->axis != axis;
        q->axis = axis;
    }
}
static void along_load(void *env, const struct stmt *s, expr load) {
    struct along *q = env;
    if (load->u.buf == q->b) look_index(q, s, load->arg);
}
static bool along_store(void *env, struct stmt *s) {
    struct along *q = env;
    if (s->kind == S_STORE && s->u.store.buf == q->b) look_index(q, s, s->u.store.idx);
    return true;
}
static bool note_thread(void *env, struct stmt *s) {
    struct thread_vars *all = env;
    int axis = is_thread_loop(s) ? (int)s->u.loop.kind - LK_THREAD_X : -1;
    if (axis >= 0 && all[axis].n < 64) all[axis].v[all[axis].n++] = s->u.loop.var;
    return true;
}
bool dims_apart(const struct grid *g, struct block *nest, const struct across *a, unsigned *dims) {
    const struct buf *b = a->buf;
    struct thread_vars all[3] = {{.n = 0}};
    unsigned axes = 0, differ = 0;
    walk(nest, note_thread, all);
    *dims = 0;
    for (int k = 0; k < 3; k++) differ |= g->threads[k] > 1 ? a->axes & 1u << k : 0;
    for (int d = 0; d < b->nd && d < 32; d++) {
        struct along q = {b, all, d, -1, false, false};
        each_load(nest, along_load, &q);
        walk(nest, along_store, &q);
        if (q.clash || (q.axis >= 0 && q.shared)) return false;
        if (q.axis >= 0) *dims |= 1u << d, axes |= 1u << q.axis;
    }
    return (axes & differ) == differ;
}
/* The grid's loops from the outside in; *body: what a block does. */
bool grid_of(struct ctx *c, const struct gpu *limits, struct stmt *s, struct grid *g, struct block **body) {
    *g = (struct grid){.c = c, .limits = limits ? limits : &no_limits, .threads = {1, 1, 1}, .ok = is_block_loop(s)};
    struct thread_vars t = {.n = 0};
    int64_t lo, hi;
    for (; g->ok && is_block_loop(s); s = s->u.loop.body.first) {
        int axis = (int)s->u.loop.kind - LK_BLOCK_X;
        *body = &s->u.loop.body;
        g->ok &= !g->blocks[axis] && !x_has(s->u.loop.var->extent, XF_VAR | XF_TOIDX | XF_GUARD);
        g->blocks[axis] = s->u.loop.var->extent;
        x_bounds(c, s->u.loop.var->extent, &lo, &hi);
        g->ok &= axis == 0 || lo <= g->limits->max_grid_yz; /* if the run finds more, the launch is refused */
        if (!(*body)->first || !is_block_loop((*body)->first)) break;
        g->ok &= (*body)->first == (*body)->last;
    }
    if (g->ok) look_block(g, *body, &t);
    g->ok = g->ok && g->threads[0] * g->threads[1] * g->threads[2] <= g->limits->max_threads;
    g->ok = g->ok && (!g->warp || g->threads[0] == g->warp);
    for (int k = 0; k < g->across.n && g->ok; k++) {
        unsigned dims;
        g->ok = dims_apart(g, *body, &g->across.v[k], &dims);
    }
    return g->ok;
}
