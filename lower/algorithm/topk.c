/* TopK where one thread would insert all elements of a row, one after another, into the best so far. As a heap: of many
 * that are taken, few move for an element (Knuth, TAOCP 3, 5.2.3). By sorted runs: parts of them are sorted at once and
 * become one run, two by two (a merge by ranks; 5.2.4), for rows of GPUs. And as a heap of which most elements of a
 * row never hear, as many at a time are compared with its worst. The same results. Each takes the call's place, so it
 * goes beside others.
 */
#include "lower/algorithm/rows.h"
#include <math.h>
#include <string.h>

enum { PART = 64, THREADS = 128 }; /* as in templates/kernels/topk_runs.lir */
/* The call's buffers, and those that are allocated for it; its sizes: what dims x has, how many are taken, whether the
 * largest, and for the other text how many parts there are, of each at most how many stay, and cells of a run. */
enum { INPUT, VALUES, PLACES, BUFS, RUN = BUFS, SIDE, ALL_BUFS };
enum { A, D, B, K, LARGEST, SIZES, PARTS = SIZES, BEST, CELLS, ALL_SIZES };
/* Cycles, of a CPU: an element that is no better than those so far, one of these moved, one that sinks by a level of
 * the heap, a step of a halving, whose branch nobody foretells. A thread of a GPU takes longer for all of them alike.
 */
enum { ELEMENT = 15, MOVE = 6, LEVEL = 40, STEP = 30 };
/* The same where blocks are skipped: of an element that is compared with others at once, of one in a block that is not
 * skipped, and a level of a heap that holds the values themselves. */
enum { BLOCK = 64, IN_BLOCK = 3, OWN_LEVEL = 20 };
struct sizes_of_topk {
    double rows, n, k, threads;
};

/* Elements in random order: the i-th is among the best k with probability k/i, and then moves half of them. */
static double inserting(double n, double k) {
    double stay = n < k ? n : k;
    return ELEMENT * n + (stay < 1 ? 0 : MOVE * stay * (1 + log(n / stay)) * stay / 2);
}
/* All that are taken sink to their places twice, in front and in the end. */
static double heaping(double n, double k) {
    double stay = n < k ? n : k, moved = 2 * stay + (stay < 1 ? 0 : stay * log(n / stay));
    return ELEMENT * n + LEVEL * moved * log2(stay + 1);
}
/* Blocks that hold a better element, at most one in each, of those that are not skipped. */
static double skipping(const struct machine *m, double n, double k) {
    double stay = n < k ? n : k, moved = stay < 1 ? 0 : stay * log(n / stay), lanes = machine_lanes(m, F32);
    double looked_at = BLOCK * fmin(moved, ceil(n / BLOCK));
    return n * fmax(8 / lanes, 0.5) + IN_BLOCK * looked_at + OWN_LEVEL * (2 * stay + moved) * log2(stay + 1);
}
/* So many equal tasks for the threads. */
static double at_once(const struct sizes_of_topk *s, double tasks, double cycles) {
    return tasks * cycles / (tasks < s->threads ? fmax(tasks, 1) : s->threads);
}
static double sorting_runs(const struct machine *m, const struct sizes_of_topk *s) {
    double parts = ceil(s->n / PART), cycles = at_once(s, parts * s->rows, inserting(PART, s->k));
    for (double w = 1; w < parts; w *= 2) {
        double run = fmin(w * PART, s->k), steps = fmin(ceil(parts / w) * run, s->n) * log2(run + 1);
        cycles += at_once(s, s->rows * THREADS, STEP * steps / THREADS);
    }
    return cycles + (m->gpu ? 2 * m->gpu->launch : 0);
}
/* The sizes of the text for many threads. false: they may be too large for it. */
static bool sizes_of_runs(const struct algorithm_query *q, const struct stmt *call, struct proc *text, expr *args) {
    struct ctx *c = q->c;
    memcpy(args, call->u.call.args, SIZES * sizeof *args);
    args[PARTS] = x_div(c, x_addi(c, args[D], PART - 1), x_int(c, PART));
    args[BEST] = x_min(c, args[K], x_int(c, PART));
    args[CELLS] = x_mul(c, args[PARTS], args[BEST]);
    for (int k = SIZES; k < ALL_SIZES; k++)
        if (!x_proves_le(c, args[k], x_int(c, text->syms.v[k]->hi))) return false;
    return true;
}
static struct buf *allocated(const struct algorithm_query *q, struct stmt *call, const char *name, enum dtype t,
                             const expr *dims, int nd) {
    struct buf *b = buf_new(q->c, q->entry, name, t, SC_ARENA, dims, nd);
    stmt_insert_before(call, s_alloc(q->c, b));
    return b;
}
static void call_runs(const struct algorithm_query *q, struct stmt *call, struct proc *text, expr *args) {
    struct buf **bufs = NEWN(&q->c->arena, struct buf *, ALL_BUFS);
    expr dims[] = {args[A], args[B], x_int(q->c, 2), args[CELLS]};
    memcpy(bufs, call->u.call.bufs, BUFS * sizeof *bufs);
    bufs[RUN] = allocated(q, call, "run", I32, dims, 4);
    bufs[SIDE] = allocated(q, call, "side", I64, dims, 2);
    call->u.call.callee = text;
    call->u.call.bufs = bufs, call->u.call.nbufs = ALL_BUFS;
    call->u.call.args = arena_copy(&q->c->arena, args, ALL_SIZES * sizeof *args), call->u.call.nargs = ALL_SIZES;
}
/* An open size of which nothing typical is known counts as its upper bound, if it has one: short rows are done soon
 * anyway. */
static struct sizes_of_topk sizes_of(const struct algorithm_query *q, const struct stmt *call) {
    double n[SIZES];
    for (int k = 0; k < SIZES; k++) {
        int64_t low, high;
        x_bounds(q->c, call->u.call.args[k], &low, &high);
        int64_t said = x_reference(q->c, call->u.call.args[k]);
        n[k] = (double)(said >= 0 ? said : high < INT32_MAX ? high : x_typical(q->c, call->u.call.args[k], OPEN_SIZE));
    }
    return (struct sizes_of_topk){n[A] * n[B], n[D], n[K], q->m->gpu ? (double)q->m->gpu->enough : 1};
}
/* The order of what has at most 32 bits, as i32, the better one greater: NaN is above all numbers, zeros are equal. */
static expr order_key(struct ctx *c, expr v, bool largest) {
    expr key = v, ones = x_const_i(c, I32, INT32_MAX);
    if (v->type == F32) {
        expr bits = x_bitcast(c, I32, x_add(c, v, x_num(c, F32, 0)));
        expr negative = x_cmp(c, X_LT, bits, x_const_i(c, I32, 0));
        key = x_select(c, negative, x_bin(c, X_XOR, bits, ones), bits);
        key = x_select(c, x_cmp(c, X_NE, v, v), ones, key);
    }
    return largest ? key : x_bin(c, X_XOR, key, x_const_i(c, I32, -1));
}
static bool has_keys(const struct algorithm_query *q, const struct stmt *call) {
    enum dtype t = dtype_value(call->u.call.bufs[INPUT]->type);
    int64_t largest;
    return (t == F32 || t == I32) && x_is(call->u.call.args[B], 1) && x_is_int(call->u.call.args[LARGEST], &largest) &&
           x_proves_le(q->c, call->u.call.args[D], x_int(q->c, INT32_MAX));
}
static void call_skipping(const struct algorithm_query *q, struct stmt *call) {
    struct ctx *c = q->c;
    struct buf *x = call->u.call.bufs[INPUT], **bufs = NEWN(&c->arena, struct buf *, BUFS + 1);
    const expr args[] = {call->u.call.args[A], call->u.call.args[D], call->u.call.args[K]};
    const struct var **axes = NEWN(&c->arena, const struct var *, x->nlogical + 1);
    expr at[32];
    struct buf *key = allocated(q, call, "key", I32, x->logical, x->nlogical);
    for (int k = 0; k < x->nlogical; k++)
        axes[k] = var_new(c, internf(c->names, "i%d", k), x->logical[k]), at[k] = x_var(c, axes[k]);
    expr value = order_key(c, x_load(c, x, at, x->nlogical, NULL), x_is(call->u.call.args[LARGEST], 1));
    stmt_insert_before(call, s_stage(c, key, axes, x->nlogical, RED_NONE, NULL, 0, NULL, value));
    memcpy(bufs, call->u.call.bufs, BUFS * sizeof *bufs);
    bufs[BUFS] = key;
    call->u.call.callee = algorithm_text(q, call, "topk_skip");
    call->u.call.bufs = bufs, call->u.call.nbufs = BUFS + 1;
    call->u.call.args = arena_copy(&c->arena, args, sizeof args), call->u.call.nargs = 3;
}
/* What the text that the definition calls takes. */
static double told(const struct sizes_of_topk *n) { return at_once(n, n->rows, inserting(n->n, n->k)); }
struct algorithm_saving skipping_beside(const struct algorithm_query *q, bool asked, bool rewrites) {
    struct algorithm_saving saved = {0};
    for (struct stmt *s = q->stmts->first; s; s = s->next) {
        if (q->m->gpu || !calls_text(q, s, "topk") || !has_keys(q, s)) continue;
        struct sizes_of_topk n = sizes_of(q, s);
        double direct = fmin(told(&n), at_once(&n, n.rows, heaping(n.n, n.k))),
               skips = at_once(&n, n.rows, skipping(q->m, n.n, n.k));
        if (!asked && skips > 0.9 * direct) continue; /* it is more code */
        if (rewrites) call_skipping(q, s);
        saved.places++, saved.cycles += told(&n) - skips;
    }
    return saved;
}
struct algorithm_saving heap_beside(const struct algorithm_query *q, bool asked, bool rewrites) {
    struct algorithm_saving saved = {0};
    for (struct stmt *s = q->stmts->first; s; s = s->next) {
        if (!calls_text(q, s, "topk")) continue;
        struct sizes_of_topk n = sizes_of(q, s);
        double direct = told(&n), heap = at_once(&n, n.rows, heaping(n.n, n.k));
        if (!asked && heap > 0.9 * direct) continue; /* it is more code */
        if (rewrites) s->u.call.callee = algorithm_text(q, s, "topk_heap");
        saved.places++, saved.cycles += direct - heap;
    }
    return saved;
}
struct algorithm_saving sorted_runs_beside(const struct algorithm_query *q, bool asked, bool rewrites) {
    struct algorithm_saving saved = {0};
    for (struct stmt *s = q->stmts->first; s; s = s->next) {
        if (!calls_text(q, s, "topk")) continue;
        struct sizes_of_topk n = sizes_of(q, s);
        double one = inserting(n.n, n.k);
        if (!algorithm_left_out(q->wishes, "heap")) one = fmin(one, heaping(n.n, n.k));
        double direct = at_once(&n, n.rows, one), runs = sorting_runs(q->m, &n);
        if (!asked && 2 * runs > direct) continue; /* it takes more memory, and more code */
        struct proc *text = algorithm_text(q, s, "topk_runs");
        expr args[ALL_SIZES];
        if (!sizes_of_runs(q, s, text, args)) continue;
        if (rewrites) call_runs(q, s, text, args);
        saved.places++, saved.cycles += direct - runs;
    }
    return saved;
}
