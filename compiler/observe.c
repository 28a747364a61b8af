/* Observes values over samples; see observe.h. */
#include "compiler/observe.h"
#include <float.h>
#include <math.h>

/* ---- the program */
/* The index of v among the results of its region, to which it is added if necessary. */
static int exposed(struct graph *g, struct value *v, int number) {
    struct region *top = g->top;
    for (int k = 0; k < top->results.n; k++)
        if (top->results.v[k] == v) return k;
    graph_output(g, v, format(g->ctx, "point%d", number));
    return top->results.n - 1;
}
bool observer_open(struct observer *o, struct session *s, struct quant_plan *plan) {
    *o = (struct observer){
        .plan = plan, .results = s->u.g->top->results.n, .output = NEWN(&s->c->arena, int, plan->points.n + 1)};
    for (int k = 0; k < plan->points.n; k++) o->output[k] = exposed(s->u.g, plan->points.v[k].value, k);
    return runner_open(&o->runner, s);
}

/* ---- observation */
struct seen *seen_new(const struct observer *o) {
    struct seen *v = NEWN(&o->plan->g->ctx->arena, struct seen, o->plan->points.n + 1);
    for (int k = 0; k < o->plan->points.n; k++) v[k].values = (struct histogram){.lo = DBL_MAX, .hi = -DBL_MAX};
    return v;
}
struct sight { /* one walk over the samples */
    struct observer *o;
    const char *sample;
    struct seen *seen;
    const struct range *ranges;
    bool (*see)(struct sight *x, int point, const struct tensor *t);
};
static void see_means(struct sight *x, int point, const struct tensor *t) {
    struct seen *s = &x->seen[point];
    int64_t behind = 1, n = tensor_count(t);
    if (t->rank < 2 || !n) return;
    if (!s->channel_sum) {
        s->channels = t->dims[1];
        s->channel_sum = NEWN(&x->o->plan->g->ctx->arena, double, s->channels + 1);
    }
    if (s->channels != t->dims[1]) return;
    for (int k = 2; k < t->rank; k++) behind *= t->dims[k];
    for (int64_t i = 0; i < n; i++) s->channel_sum[i / behind % s->channels] += tensor_f(t, i);
    s->each += n / s->channels;
}
static bool see_ranges(struct sight *x, int point, const struct tensor *t) {
    struct histogram *h = &x->seen[point].values;
    struct ctx *c = x->o->plan->g->ctx;
    for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
        double v = tensor_f(t, i);
        if (!isfinite(v)) {
            diag(&c->diags, DIAG_ERROR, E_FAULT, "in sample %s tensor %s is not finite: it has no range",
                 diag_quote(&c->arena, x->sample), diag_quote(&c->arena, x->o->plan->points.v[point].value->name));
            diag_help(&c->diags, "leave the node that reads it out, by --exclude, or give other samples");
            return false;
        }
        if (v < h->lo) h->lo = v;
        if (v > h->hi) h->hi = v;
    }
    see_means(x, point, t);
    return true;
}
static bool see_values(struct sight *x, int point, const struct tensor *t) {
    struct seen *s = &x->seen[point];
    for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
        double v = tensor_f(t, i);
        histogram_add(&s->values, v);
        s->outside += x->ranges && (v < x->ranges[point].lo || v > x->ranges[point].hi);
    }
    s->all += tensor_count(t);
    return true;
}
static bool see_sample(void *env, const struct sample_run *run) {
    struct sight *x = env;
    bool ok = true;
    x->sample = run->sample;
    for (int k = 0; k < x->o->plan->points.n && ok; k++) ok = x->see(x, k, run->outputs[x->o->output[k]]);
    return ok;
}
bool observe_ranges(struct observer *o, const struct samples *samples, struct seen *seen) {
    struct sight x = {.o = o, .seen = seen, .see = see_ranges};
    return runner_each(&o->runner, samples, "ranges", see_sample, &x);
}
bool observe_values(struct observer *o, const struct samples *samples, struct seen *seen, const struct range *ranges) {
    struct sight x = {.o = o, .seen = seen, .ranges = ranges, .see = see_values};
    return runner_each(&o->runner, samples, "values", see_sample, &x);
}
