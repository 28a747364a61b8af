/* `gcc2nn bench MODEL`: times of the compiled model. */
#include "compiler/session.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 50, WARMUP = 5 };

static int by_time(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* times: sorted, nanoseconds */
static void report(const struct session *s, const double *times, int n) {
    const struct program *p = s->w->program;
    double least = times[0] / 1e6, median = times[n / 2] / 1e6, p99 = times[(int)((double)(n - 1) * 0.99)] / 1e6;
    long long arena = (long long)(p->is_static ? p->arena_bytes : p->plan->peak);
    if (!s->o->json) {
        printf("%s on %s: least %.4f ms, median %.4f ms, 99th percentile %.4f ms in %d runs; arena %lld bytes, weights "
               "%lld bytes\n",
               p->name, p->o->target->name, least, median, p99, n, arena, (long long)p->weights_bytes);
        return;
    }
    json_t *o = json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:I, s:I}", "name", p->name, "target", p->o->target->name,
                          "runs", n, "min_ms", least, "median_ms", median, "p99_ms", p99, "arena_bytes",
                          (json_int_t)arena, "weights_bytes", (json_int_t)p->weights_bytes);
    char *text = o ? json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    if (!text) BUG("the results cannot be written as JSON");
    puts(text);
    free(text);
    json_decref(o);
}
int cmd_bench(const struct options *o) {
    struct session s;
    int runs = o->runs ? o->runs : RUNS, warmup = o->warmup_given ? o->warmup_given - 1 : WARMUP;
    if (session_open(&s, o) && session_compile(&s) && session_write(&s, NULL)) {
        const char *exe = session_build(&s, arena_printf(&s.c->arena, "%s_main", s.w->name));
        struct tensor **inputs = exe ? session_inputs(&s) : NULL,
                      **outputs = NEWN(&s.c->arena, struct tensor *, s.w->program->outs.n + 1);
        double *times = NEWN(&s.c->arena, double, runs);
        struct harness h = {
            .c = s.c, .w = s.w, .exe = exe, .seconds = o->seconds, .symbols = inputs ? session_symbols(&s) : NULL};
        if (inputs && harness_run(&h, (const struct tensor *const *)inputs, outputs, runs, warmup, times)) {
            qsort(times, (size_t)runs, sizeof *times, by_time);
            report(&s, times, runs);
        }
    }
    return session_close(&s);
}
