/* TopK by sorted runs: where one thread would insert all elements of a row, one after another, into the best so far,
 * parts of them are sorted at once and become one run, two by two (a merge by ranks; Knuth, TAOCP 3, 5.2.4). The same
 * results. For rows of GPUs, and where nearly all elements stay. It takes the call's place, so it goes beside others.
 */
#include "ir/define/define.h"
#include "lower/algorithm/rows.h"
#include <math.h>
#include <string.h>

enum { PART = 64, THREADS = 128 }; /* as in templates/kernels/topk_runs.lir */
/* Of the call: x, values, places; what dims x has, how many are taken, whether the largest. */
enum { BUFS = 3 };
enum { A, D, B, K, LARGEST, SIZES };
/* Cycles, of a CPU: an element that is no better than those so far, one of these moved, a step of a halving, whose
 * branch nobody foretells. A thread of a GPU takes longer for all of them alike. */
enum { ELEMENT = 15, MOVE = 6, STEP = 30 };
struct sizes_of_topk {
    double rows, n, k, threads;
};

/* Elements in random order: the i-th is among the best k with probability k/i, and then moves half of them. */
static double inserting(double n, double k) {
    double stay = n < k ? n : k;
    return ELEMENT * n + (stay < 1 ? 0 : MOVE * stay * (1 + log(n / stay)) * stay / 2);
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
static bool is_topk(const struct algorithm_query *q, const struct stmt *s) {
    return s->kind == S_CALL && s->u.call.callee->is_kernel_text &&
           s->u.call.callee->name == internf(q->c->names, "topk_%s", dtype_name(s->u.call.bufs[0]->type));
}
/* The call with what it needs besides, which is allocated before it. false: sizes may be too large for it. */
static bool call_runs(const struct algorithm_query *q, struct stmt *s, bool rewrites) {
    struct ctx *c = q->c;
    expr *a = s->u.call.args;
    expr parts = x_div(c, x_addi(c, a[D], PART - 1), x_int(c, PART)), best = x_min(c, a[K], x_int(c, PART));
    expr run[] = {a[A], a[B], x_int(c, 2), x_mul(c, parts, best)};
    expr args[] = {a[A], a[D], a[B], a[K], a[LARGEST], parts, best, run[3]};
    struct buf *const *b = s->u.call.bufs;
    enum { NARGS = sizeof args / sizeof *args };
    struct proc *p = kernel_of_text(c, q->module, "topk_runs", b[0]->type, &b[0]->type, 1);
    for (int k = SIZES; k < NARGS; k++)
        if (!x_proves_le(c, args[k], x_int(c, p->syms.v[k]->hi))) return false;
    if (!rewrites) return true;
    struct buf *more[] = {buf_new(c, q->entry, "run", I32, SC_ARENA, run, 4),
                          buf_new(c, q->entry, "side", I64, SC_ARENA, run, 2)};
    struct buf **bufs = NEWN(&c->arena, struct buf *, BUFS + 2);
    memcpy(bufs, b, BUFS * sizeof *bufs);
    for (int k = 0; k < 2; k++) {
        bufs[BUFS + k] = more[k];
        stmt_insert_before(s, s_alloc(c, more[k]));
    }
    s->u.call.callee = p;
    s->u.call.bufs = bufs, s->u.call.nbufs = BUFS + 2;
    s->u.call.args = arena_copy(&c->arena, args, sizeof args), s->u.call.nargs = NARGS;
    return true;
}
double sorted_runs_beside(const struct algorithm_query *q, bool asked, bool rewrites) {
    double saved = 0;
    for (struct stmt *s = q->stmts->first; s; s = s->next) {
        if (!is_topk(q, s)) continue;
        double n[SIZES];
        for (int k = 0; k < SIZES; k++) n[k] = (double)x_typical(q->c, s->u.call.args[k], OPEN_SIZE);
        struct sizes_of_topk of = {n[A] * n[B], n[D], n[K], q->m->gpu ? (double)q->m->gpu->enough : 1};
        double direct = at_once(&of, of.rows, inserting(of.n, of.k)), runs = sorting_runs(q->m, &of);
        if (!asked && 2 * runs > direct) continue; /* it takes more memory, and more code */
        if (call_runs(q, s, rewrites)) saved += direct - runs;
    }
    return saved;
}
