/* TopK, where the definition lets one thread insert all elements of a row into the best so far, one after another.
 * Alternatives: a heap, in which an element moves few of many (Knuth, TAOCP 3, 5.2.3). A heap that most elements of a
 * row never reach, because many at a time are compared with its worst. Sorting by digits, where much of a row is taken
 * (5.2.5). Sorted runs for rows on GPUs: parts are sorted in parallel and merged pairwise, by ranks (5.2.4). For the
 * best element alone, a reduction. Results are the same. Each replaces the call, so it goes beside other algorithms. */
#include "lower/algorithm/rows.h"
#include <math.h>
#include <string.h>

enum { PART = 64, THREADS = 128 }; /* as in templates/kernels/topk_runs.lir */
#define MOST_CELLS ((int64_t)1 << 31)
/* Buffers of the call, followed by those allocated for it. Its sizes: those of x before, along and after the axis, how
 * many to take, whether the largest; then, for the text with runs: the number of parts, how many each keeps at most,
 * and the cells of a run. */
enum { INPUT, VALUES, PLACES, BUFS, RUN = BUFS, SIDE, ALL_BUFS };
enum { A, D, B, K, LARGEST, SIZES, PARTS = SIZES, BEST, CELLS, ALL_SIZES };
/* Cycles on a CPU: for an element that is not among the best; for each element moved by an insertion; for each level
 * that one sinks in the heap; for a step of a binary search, whose branch is unpredictable. A GPU's thread takes
 * proportionally longer for each. */
enum { ELEMENT = 15, MOVE = 6, LEVEL = 40, STEP = 30 };
/* Cycles where blocks are skipped: for each element in a block that is not skipped; per level of a heap that holds the
 * values themselves (64-bit values keep their places in a second heap); extra per element if a row's elements are not
 * adjacent. */
enum { BLOCK = 64, IN_BLOCK = 3, OWN_LEVEL = 20, WIDE_LEVEL = 25, ACROSS = 2 };
/* Cycles to make a vector of keys, compare it with the greatest, and later search for an equal one. */
enum { ONCE = 6 };
/* Sorting by digits: cycles per element and digit, per value of a digit, and, where less than half of a row is taken,
 * per element to select those to sort; ALIKE times as many as are taken are sorted then, as some agree in two digits.
 */
enum { DIGIT = 8, VALUE = 2, SELECTED = 7 };
static const double ALIKE = 1.2;
struct sizes_of_topk {
    double rows, n, k, threads;
};

/* With elements in random order, the i-th is among the best k with probability k/i, and then moves half of them. */
static double inserting(double n, double k) {
    double stay = n < k ? n : k;
    return ELEMENT * n + (stay < 1 ? 0 : MOVE * stay * (1 + log(n / stay)) * stay / 2);
}
/* Every element taken sinks to its place twice: when the heap is built, and when it is sorted at the end. */
static double heaping(double n, double k) {
    double stay = n < k ? n : k, moved = 2 * stay + (stay < 1 ? 0 : stay * log(n / stay));
    return ELEMENT * n + LEVEL * moved * log2(stay + 1);
}
/* Blocks that are not skipped are those with a better element; in the worst case each such element is in a different
 * block. */
static double skipping(const struct machine *m, double n, double k, enum dtype key, bool across) {
    double stay = n < k ? n : k, moved = stay < 1 ? 0 : stay * log(n / stay), lanes = machine_lanes(m, key);
    double looked_at = BLOCK * fmin(moved, ceil(n / BLOCK));
    return n * (fmax(8 / lanes, 0.5) + (across ? ACROSS : 0)) + IN_BLOCK * looked_at +
           (key == I64 ? WIDE_LEVEL : OWN_LEVEL) * (2 * stay + moved) * log2(stay + 1);
}
/* Cycles of that many equal tasks on all threads. */
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
/* The sizes of the text for many threads. */
static void sizes_of_runs(const struct algorithm_query *q, const struct stmt *call, expr *args) {
    struct ctx *c = q->c;
    memcpy(args, call->u.call.args, SIZES * sizeof *args);
    args[PARTS] = x_div(c, x_addi(c, args[D], PART - 1), x_int(c, PART));
    args[BEST] = x_min(c, args[K], x_int(c, PART));
    args[CELLS] = x_mul(c, args[PARTS], args[BEST]);
}
static struct buf *allocated(const struct algorithm_query *q, struct stmt *call, const char *name, enum dtype t,
                             const expr *dims, int nd) {
    struct buf *b = buf_new(q->c, q->entry, name, t, SC_ARENA, dims, nd);
    stmt_insert_before(call, s_alloc(q->c, b));
    return b;
}
static void sort_runs_instead(const struct algorithm_query *q, struct stmt *call) {
    struct buf **bufs = NEWN(&q->c->arena, struct buf *, ALL_BUFS);
    expr args[ALL_SIZES];
    sizes_of_runs(q, call, args);
    expr dims[] = {args[A], args[B], x_int(q->c, 2), args[CELLS]};
    memcpy(bufs, call->u.call.bufs, BUFS * sizeof *bufs);
    bufs[RUN] = allocated(q, call, "run", I32, dims, 4);
    bufs[SIDE] = allocated(q, call, "side", I64, dims, 2);
    call->u.call.callee = algorithm_text(q, call, "topk_runs");
    call->u.call.bufs = bufs, call->u.call.nbufs = ALL_BUFS;
    call->u.call.args = arena_copy(&q->c->arena, args, ALL_SIZES * sizeof *args), call->u.call.nargs = ALL_SIZES;
}
/* An open size without a typical value counts as its upper bound, if it has one: short rows do not take long anyway. */
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
/* An integer type of the same width as t, for keys; NONE: t's order is not that of integers. */
static enum dtype type_of_keys(enum dtype t) {
    bool number = dtype_is_float(t) || dtype_is_int(t);
    return !number ? NONE : dtype_bytes(dtype_value(t)) == 8 ? I64 : I32;
}
/* A key whose integer order is that of v, the better one greater: NaN is above all numbers, zeros are equal. */
static expr order_key(struct ctx *c, expr v, bool largest) {
    enum dtype t = type_of_keys((enum dtype)v->type);
    expr most = x_const_i(c, t, t == I64 ? INT64_MAX : INT32_MAX), ones = x_const_i(c, t, -1), key = v;
    if (dtype_is_float((enum dtype)v->type)) {
        expr bits = x_bitcast(c, t, x_add(c, v, x_num(c, (enum dtype)v->type, 0)));
        expr negative = x_cmp(c, X_LT, bits, x_const_i(c, t, 0));
        key = x_select(c, negative, x_bin(c, X_XOR, bits, most), bits);
        key = x_select(c, x_cmp(c, X_NE, v, v), most, key);
    } else if (!dtype_is_signed((enum dtype)v->type)) {
        key = x_bin(c, X_XOR, x_bitcast(c, t, v), x_bin(c, X_XOR, most, ones));
    }
    return largest ? key : x_bin(c, X_XOR, key, ones);
}
/* The dim of x that the call goes along; -1: unknown. */
static int axis_of(struct ctx *c, const struct stmt *call) {
    const struct buf *x = call->u.call.bufs[INPUT];
    for (int a = 0; a < x->nlogical; a++) {
        expr before = x_int(c, 1), behind = x_int(c, 1);
        for (int d = 0; d < a; d++) before = x_mul(c, before, x->logical[d]);
        for (int d = a + 1; d < x->nlogical; d++) behind = x_mul(c, behind, x->logical[d]);
        if (before == call->u.call.args[A] && x->logical[a] == call->u.call.args[D] && behind == call->u.call.args[B])
            return a;
    }
    return -1;
}
static bool has_keys(const struct algorithm_query *q, const struct stmt *call) {
    int64_t largest;
    return type_of_keys(call->u.call.bufs[INPUT]->type) != NONE && x_is_int(call->u.call.args[LARGEST], &largest) &&
           axis_of(q->c, call) >= 0;
}
/* Loops over the rows along an axis of a tensor, and inside of them along the row: indices of the tensor, and of
 * buffers that have the axis last. */
struct row_loops {
    const struct var *v[32];
    expr dims[32], cell[32], moved[32];
    int n;
};
static struct row_loops loops_over_rows(struct ctx *c, const struct buf *b, int axis) {
    struct row_loops l = {.n = b->nlogical};
    for (int k = 0; k < l.n; k++) {
        int d = k == l.n - 1 ? axis : k < axis ? k : k + 1;
        l.dims[k] = b->logical[d];
        l.v[k] = var_new(c, internf(c->names, "i%d", d), l.dims[k]);
        l.moved[k] = l.cell[d] = x_var(c, l.v[k]);
    }
    return l;
}
static struct stmt *stage_of_rows(struct ctx *c, struct buf *b, const struct row_loops *l, expr value) {
    const struct var **v = arena_copy(&c->arena, l->v, (size_t)l->n * sizeof *v);
    return s_stage(c, b, v, l->n, RED_NONE, NULL, 0, NULL, value);
}
/* A stage that computes cell by cell, in b's order. */
static struct stmt *stage_of_cells(struct ctx *c, struct buf *b, const struct row_loops *l, int axis, expr value) {
    const struct var **v = NEWN(&c->arena, const struct var *, l->n);
    for (int d = 0; d < l->n; d++) v[d] = l->v[d == axis ? l->n - 1 : d < axis ? d : d - 1];
    return s_stage(c, b, v, l->n, RED_NONE, NULL, 0, NULL, value);
}
/* Makes keys, row by row; then, by that text, the places of the best; then the values there. */
static void call_on_keys(const struct algorithm_query *q, struct stmt *call, const char *text, bool best) {
    struct ctx *c = q->c;
    struct buf *x = call->u.call.bufs[INPUT], *values = call->u.call.bufs[VALUES], *places = call->u.call.bufs[PLACES];
    const expr *args = call->u.call.args, rows = x_mul(c, args[A], args[B]);
    const expr sizes[] = {rows, args[D], args[K], x_int(c, dtype_bytes(type_of_keys(x->type)))};
    int axis = axis_of(c, call), n = x->nlogical;
    struct row_loops in = loops_over_rows(c, x, axis), out = loops_over_rows(c, values, axis);
    struct buf *key = allocated(q, call, "key", type_of_keys(x->type), in.dims, n);
    struct buf *found = axis == n - 1 ? places : allocated(q, call, "found", I64, out.dims, n);
    struct buf **bufs = NEWN(&c->arena, struct buf *, 3);
    bufs[0] = key, bufs[1] = found;
    if (best) bufs[2] = allocated(q, call, "best", I64, out.dims, n);
    expr value = order_key(c, x_load(c, x, in.cell, n, NULL), x_is(args[LARGEST], 1));
    stmt_insert_before(call, stage_of_rows(c, key, &in, value));
    expr place = x_guard(c, x_toidx(c, x_load(c, found, out.moved, n, NULL)), args[D]);
    out.cell[axis] = place;
    stmt_insert_after(call, stage_of_cells(c, values, &out, axis, x_load(c, x, out.cell, n, NULL)));
    out = loops_over_rows(c, places, axis);
    if (found != places)
        stmt_insert_after(call, stage_of_cells(c, places, &out, axis, x_load(c, found, out.moved, n, NULL)));
    call->u.call.bufs = bufs, call->u.call.nbufs = best ? 3 : 2;
    call->u.call.callee = algorithm_text(q, call, text);
    call->u.call.args = arena_copy(&c->arena, sizes, sizeof sizes), call->u.call.nargs = call->u.call.callee->syms.n;
}
static void skip_instead(const struct algorithm_query *q, struct stmt *call) {
    bool wide = type_of_keys(call->u.call.bufs[INPUT]->type) == I64;
    call_on_keys(q, call, wide ? "topk_skip_wide" : "topk_skip", wide);
}
static void sort_digits_instead(const struct algorithm_query *q, struct stmt *call) {
    call_on_keys(q, call, "topk_digits", false);
}
static void heap_instead(const struct algorithm_query *q, struct stmt *call) {
    call->u.call.callee = algorithm_text(q, call, "topk_heap");
}
/* A stage over the rows: over all axes of b but the one that rows go along. */
static struct stmt *stage_for_rows(struct ctx *c, struct buf *b, const struct row_loops *l, enum red_op op,
                                   expr value) {
    const struct var **v = arena_copy(&c->arena, l->v, (size_t)l->n * sizeof *v);
    return s_stage(c, b, v, l->n - 1, op, v + l->n - 1, 1, NULL, value);
}
/* The greatest key of each row, the first place that has it, and the value there. With k = 0 nothing is computed. */
static void reduce_instead(const struct algorithm_query *q, struct stmt *call) {
    struct ctx *c = q->c;
    struct buf *x = call->u.call.bufs[INPUT], *values = call->u.call.bufs[VALUES], *places = call->u.call.bufs[PLACES];
    const expr *args = call->u.call.args;
    int axis = axis_of(c, call), n = x->nlogical;
    int64_t least, most;
    x_bounds(c, args[D], &least, &most);
    enum dtype t = type_of_keys(x->type), number = most <= INT32_MAX ? I32 : I64;
    struct row_loops l = loops_over_rows(c, x, axis);
    struct buf *key = allocated(q, call, "key", t, x->logical, n), *best = allocated(q, call, "best", t, l.dims, n - 1),
               *first = allocated(q, call, "first", number, l.dims, n - 1);
    expr value = order_key(c, x_load(c, x, l.cell, n, NULL), x_is(args[LARGEST], 1));
    stmt_insert_before(call, stage_of_cells(c, key, &l, axis, value));
    l = loops_over_rows(c, x, axis);
    stmt_insert_before(call, stage_for_rows(c, best, &l, RED_MAX, x_load(c, key, l.cell, n, NULL)));
    l = loops_over_rows(c, x, axis);
    expr here = x_cmp(c, X_EQ, x_load(c, key, l.cell, n, NULL), x_load(c, best, l.moved, n - 1, NULL));
    expr none = x_const_i(c, number, number == I32 ? INT32_MAX : INT64_MAX);
    value = x_select(c, here, x_cast(c, number, x_idxval(c, l.moved[n - 1])), none);
    stmt_insert_before(call, stage_for_rows(c, first, &l, RED_MIN, value));
    l = loops_over_rows(c, values, axis);
    l.cell[axis] = x_guard(c, x_toidx(c, x_load(c, first, l.moved, n - 1, NULL)), args[D]);
    stmt_insert_before(call, stage_of_cells(c, values, &l, axis, x_load(c, x, l.cell, n, NULL)));
    l = loops_over_rows(c, places, axis);
    value = x_cast(c, I64, x_load(c, first, l.moved, n - 1, NULL));
    stmt_insert_before(call, stage_of_cells(c, places, &l, axis, value));
    stmt_remove(call);
}

/* ---- the ways to do it, each with its cycles for a call; INFINITY: it cannot take the call */
static double told(const struct sizes_of_topk *n) { return at_once(n, n->rows, inserting(n->n, n->k)); }
static double reduction_cycles(const struct algorithm_query *q, const struct stmt *call,
                               const struct sizes_of_topk *n) {
    int64_t least, most;
    x_bounds(q->c, call->u.call.args[K], &least, &most);
    if (most > 1 || !has_keys(q, call)) return INFINITY;
    int lanes = machine_lanes(q->m, type_of_keys(call->u.call.bufs[INPUT]->type));
    return at_once(n, n->rows, ONCE * (n->n / lanes + 1));
}
static double runs_cycles(const struct algorithm_query *q, const struct stmt *call, const struct sizes_of_topk *n) {
    expr args[ALL_SIZES];
    sizes_of_runs(q, call, args);
    return x_proves_le(q->c, args[CELLS], x_int(q->c, MOST_CELLS)) ? sorting_runs(q->m, n) : INFINITY;
}
static double digits_cycles(const struct algorithm_query *q, const struct stmt *call, const struct sizes_of_topk *n) {
    int64_t least, most;
    x_bounds(q->c, call->u.call.args[D], &least, &most);
    if (q->m->gpu || !has_keys(q, call) || most > INT32_MAX) return INFINITY;
    double digits = dtype_bytes(type_of_keys(call->u.call.bufs[INPUT]->type));
    bool few = 2 * n->k < n->n;
    double sorted = few ? ALIKE * n->k : n->n;
    return at_once(n, n->rows, digits * (DIGIT * sorted + 256 * VALUE) + (few ? SELECTED * n->n + 256 * VALUE : 0));
}
static double skipping_cycles(const struct algorithm_query *q, const struct stmt *call, const struct sizes_of_topk *n) {
    if (q->m->gpu || !has_keys(q, call)) return INFINITY;
    bool across = !x_is(call->u.call.args[B], 1);
    return at_once(n, n->rows, skipping(q->m, n->n, n->k, type_of_keys(call->u.call.bufs[INPUT]->type), across));
}
static double heap_cycles(const struct algorithm_query *q, const struct stmt *call, const struct sizes_of_topk *n) {
    (void)q, (void)call;
    return at_once(n, n->rows, heaping(n->n, n->k));
}
static const struct way {
    const char *name; /* of its row */
    double handicap;  /* its cycles count this many times, as it needs more code or memory than the definition */
    double (*cycles)(const struct algorithm_query *q, const struct stmt *call, const struct sizes_of_topk *n);
    void (*rewrite)(const struct algorithm_query *q, struct stmt *call);
} ways[] = {{"best-alone", 1.1, reduction_cycles, reduce_instead},
            {"sorted-runs", 2, runs_cycles, sort_runs_instead},
            {"digits", 1.1, digits_cycles, sort_digits_instead},
            {"skipping", 1.1, skipping_cycles, skip_instead},
            {"heap", 1.1, heap_cycles, heap_instead}};
enum { WAYS = sizeof ways / sizeof *ways };
static bool is_best(const struct algorithm_query *q, const struct stmt *call, const struct sizes_of_topk *n,
                    const struct way *way) {
    double least = told(n);
    const struct way *best = NULL;
    for (const struct way *w = ways; w < ways + WAYS; w++) {
        if (w != way && algorithm_left_out(q->wishes, w->name)) continue;
        double cycles = w->handicap * w->cycles(q, call, n);
        if (cycles < least) least = cycles, best = w;
    }
    return best == way;
}
struct algorithm_saving topk_beside(const struct algorithm_query *q, const struct algorithm *row, bool asked,
                                    bool rewrites) {
    struct algorithm_saving saved = {0};
    const struct way *way = ways;
    while (strcmp(way->name, row->name) != 0) way++;
    for (struct stmt *s = q->stmts->first, *next; s; s = next) {
        next = s->next;
        if (!calls_text(q, s, "topk")) continue;
        struct sizes_of_topk n = sizes_of(q, s);
        double cycles = way->cycles(q, s, &n);
        if (isinf(cycles) || (!asked && !is_best(q, s, &n, way))) continue;
        if (rewrites) way->rewrite(q, s);
        saved.places++, saved.cycles += told(&n) - cycles;
    }
    return saved;
}
