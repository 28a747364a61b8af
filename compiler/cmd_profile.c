/* `gcc2nn profile MODEL`: the cost of each kernel, as `bench --per-kernel` measures it, with CPU event counts if the
 * system allows it, and a trace of all calls for trace viewers. */
#include "compiler/bench.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- the trace: Chrome's format of events, "complete" ones ("X"), in microseconds */
struct tracing {
    struct session *s;
    const struct kernel_rows *rows;
    const struct kernel_row **row; /* by the kernel's number; NULL: it took no time */
    json_t *events;
};
static void add_event(struct tracing *q, json_t *name, const char *category, double begun, double ns, json_t *args) {
    json_array_append_new(q->events,
                          json_pack("{s:o, s:s, s:s, s:f, s:f, s:i, s:i, s:o}", "name", name, "cat", category, "ph",
                                    "X", "ts", begun / 1e3, "dur", ns / 1e3, "pid", 1, "tid", 1, "args", args));
}
static void add_name(struct tracing *q, const char *what, const char *name) {
    json_array_append_new(q->events, json_pack("{s:s, s:s, s:i, s:i, s:{s:o}}", "name", what, "ph", "M", "pid", 1,
                                               "tid", 1, "args", "name", json_name(&q->s->c->arena, name)));
}
static void add_call(struct tracing *q, const struct kernel_call *c) {
    const struct kernel_row *r = q->row[c->kernel];
    if (!r) return;
    json_t *args = json_pack("{s:o}", "nodes", json_name(&q->s->c->arena, r->nodes));
    if (r->work.products > 0) /* of one call: the mean of all */
        json_object_set_new(args, "products", json_real(r->work.products / r->work.calls));
    if (r->work.bytes > 0) json_object_set_new(args, "bytes", json_real(r->work.bytes / r->work.calls));
    for (int k = 0; k < q->rows->nevents; k++) json_object_set_new(args, q->rows->events[k], json_real(c->events[k]));
    add_event(q, json_string(r->name), r->what, c->begun, c->ns, args);
}
/* From where it begins to the end of its last kernel. */
static void add_run(struct tracing *q, int from, int number) {
    double end = q->rows->calls.v[from].begun;
    for (int k = from + 1; k < q->rows->calls.n && q->rows->calls.v[k].kernel >= 0; k++)
        end = q->rows->calls.v[k].begun + q->rows->calls.v[k].ns;
    double begun = q->rows->calls.v[from].begun;
    add_event(q, json_string(format(q->s->c, "run %d", number)), "run", begun, end - begun, json_object());
}
static bool write_trace(struct session *s, const struct bench *b) {
    struct text t = {0};
    struct tracing q = {.s = s, .rows = &b->kernels, .events = json_array()};
    int kernels = 0, runs = 0;
    for (int k = 0; k < q.rows->calls.n; k++)
        if (q.rows->calls.v[k].kernel >= kernels) kernels = q.rows->calls.v[k].kernel + 1;
    q.row = NEWN(&s->c->arena, const struct kernel_row *, kernels + 1);
    for (int k = 0; k < q.rows->v.n; k++) q.row[q.rows->v.v[k].number] = &q.rows->v.v[k];
    add_name(&q, "process_name", format(s->c, "%s on %s", s->w->name, program_targets(s->w->program)));
    add_name(&q, "thread_name", "kernels");
    for (int k = 0; k < q.rows->calls.n; k++)
        if (q.rows->calls.v[k].kernel < 0) add_run(&q, k, runs++);
        else add_call(&q, &q.rows->calls.v[k]);
    text_json(&t, json_pack("{s:s, s:o, s:o}", "displayTimeUnit", "ns", "otherData", bench_identity(b), "traceEvents",
                            q.events));
    bool ok = file_put(&s->c->diags, s->o->trace, t.s, t.n);
    text_free(&t);
    return ok;
}

/* ---- the command */
static void print_json_of(struct session *s, const struct bench *b) {
    json_t *o = bench_json(b), *events = json_array();
    for (int k = 0; k < b->kernels.nevents; k++) json_array_append_new(events, json_string(b->kernels.events[k]));
    json_object_set_new(o, "events", events);
    if (b->kernels.no_events) json_object_set_new(o, "no_events", json_name(&s->c->arena, b->kernels.no_events));
    if (s->o->trace) json_object_set_new(o, "trace", json_name(&s->c->arena, s->o->trace));
    session_json(s, o);
}
static void print_profile(struct session *s, const struct bench *b) {
    if (s->o->json) {
        print_json_of(s, b);
        return;
    }
    bench_print(b);
    if (b->kernels.no_events && *b->kernels.no_events)
        printf("cycles, instructions and misses are not counted here: %s\n", b->kernels.no_events);
    if (s->o->trace) printf("%s\n", s->o->trace);
}
static bool may_trace(struct session *s) {
    if (!s->o->trace) return true;
    if (!s->compile.target->runner) return file_may_put(&s->c->diags, s->o->trace, s->o->args.v[0]);
    diag(&s->c->diags, DIAG_ERROR, E_USAGE, "--trace: the emulator of target %s counts instructions and tells no times",
         s->compile.target->name);
    diag_help(&s->c->diags, "without --trace, their counts are printed for each kernel");
    return false;
}
int cmd_profile(const struct options *o) {
    struct options timed = *o;
    struct session s;
    struct bench b;
    timed.per_kernel = timed.events = true;
    if (session_open(&s, &timed) && may_trace(&s) && bench_run(&b, &s) && (!o->trace || write_trace(&s, &b)))
        print_profile(&s, &b);
    return session_close(&s);
}
