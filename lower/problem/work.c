/* How much a kernel computes and moves in a run: see work.h. For people: `bench --per-kernel`, manifest.json. */
#include "lower/problem/work.h"
#include <math.h>
#include <string.h>

/* ---- one call */
struct sizes_of_call {
    const struct proc *p;
    const struct stmt *call;
    const struct sizes_of_run *run;
};
static bool kernel_size(void *env, expr leaf, int64_t *v) {
    const struct sizes_of_call *q = env;
    for (int k = 0; k < q->p->syms.n; k++)
        if (leaf->op == X_SYM && !strcmp(leaf->u.sym->name, q->p->syms.v[k]->name))
            return x_eval_int(q->call->u.call.args[k], q->run->size, q->run->env, v);
    return false;
}
static double size_in_call(struct sizes_of_call *q, expr e) {
    int64_t n;
    return x_eval_int(e, kernel_size, q, &n) ? (double)n : NAN;
}
static double cells_in_call(struct sizes_of_call *q, const struct var *const *v, int n) {
    double cells = 1;
    for (int k = 0; k < n; k++) cells *= size_in_call(q, v[k]->extent);
    return cells;
}
static double products_in_call(struct sizes_of_call *q, const struct problem *k) {
    double products = k && k->cls != PROBLEM_TEXT ? 0 : NAN;
    for (int n = 0; k && n < k->stages.n; n++) {
        const struct stmt *s = k->stages.v[n];
        if (!sums_products(s->u.stage.op, s->u.stage.value)) continue;
        products +=
            cells_in_call(q, s->u.stage.axes, s->u.stage.naxes) * cells_in_call(q, s->u.stage.red, s->u.stage.nred);
    }
    return products;
}
/* Upper bound of the cells that the stages visit: no more are read of an operand. */
static double cells_of_stages(struct sizes_of_call *q, const struct problem *k) {
    double most = 0;
    for (int n = 0; n < k->stages.n; n++) {
        const struct stmt *s = k->stages.v[n];
        double cells = cells_in_call(q, s->u.stage.axes, s->u.stage.naxes);
        most = fmax(most, cells * cells_in_call(q, s->u.stage.red, s->u.stage.nred));
    }
    return most;
}
/* Bytes of results, and at most of what is read of operands. Reads of loops that were never stages are unknown; moves
 * read as much as they write. */
static double bytes_in_call(struct sizes_of_call *q, const struct problem *p) {
    double in = 0, out = 0, most = p && p->stages.n ? cells_of_stages(q, p) : INFINITY;
    for (int k = 0; k < q->p->params.n; k++) {
        const struct buf *b = q->p->params.v[k].buf;
        bool result = q->p->params.v[k].dir != DIR_IN;
        double cells = 1;
        for (int d = 0; d < b->nd; d++) cells *= size_in_call(q, b->dims[d]);
        if (!result && most < INFINITY) cells = fmin(cells, most);
        *(result ? &out : &in) += cells * dtype_bytes(b->type);
    }
    if (!p || p->cls == PROBLEM_TEXT) return NAN;
    return out + (p->stages.n ? in : fmin(in, out));
}
/* ---- all calls */
/* How often the call runs: the product of the surrounding loops' iterations. NAN: unknown, or it is in a branch. */
static double turns_of(const struct stmt *call, const struct sizes_of_run *run) {
    double turns = 1;
    int64_t n;
    for (const struct stmt *s = stmt_parent(call); s; s = stmt_parent(s))
        turns *= s->kind == S_FOR && x_eval_int(s->u.loop.var->extent, run->size, run->env, &n) ? (double)n : NAN;
    return turns;
}
struct call_sum {
    struct sizes_of_call of;
    const struct problem *problem; /* NULL: not known */
    struct work sum;               /* of the calls in the text, each counted once */
    struct work all;               /* of all calls in a run */
    double sites;
};
static bool add_site(void *env, const struct stmt *s) {
    struct call_sum *q = env;
    if (s->kind != S_CALL || s->u.call.callee != q->of.p) return true;
    q->of.call = s;
    double products = products_in_call(&q->of, q->problem), bytes = bytes_in_call(&q->of, q->problem);
    double turns = turns_of(s, q->of.run);
    q->sites++, q->sum.products += products, q->sum.bytes += bytes;
    q->all.calls += turns, q->all.products += turns * products, q->all.bytes += turns * bytes;
    return true;
}
struct work kernel_work(const struct proc *entry, const struct proc *p, double calls, const struct sizes_of_run *run) {
    struct call_sum q = {.of = {p, NULL, run}, .problem = p->problem};
    survey(&entry->body, add_site, &q);
    if (isnan(calls)) return q.all;
    double times = q.sites > 0 ? calls / q.sites : 0;
    return (struct work){calls, q.sum.products * times, q.sum.bytes * times};
}
