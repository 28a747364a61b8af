/* `gcc2nn bench MODEL`: times of the compiled model; under an emulator, whose times are meaningless, exact counts of
 * instructions. */
#include "codegen/weights.h"
#include "compiler/baseline.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { RUNS = 50, WARMUP = 5 };

static int by_count(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
static json_t *dims_json(const struct bench *b) {
    json_t *o = json_object();
    const struct program *p = b->s->w->program;
    for (int y = 0; y < p->syms.n; y++)
        json_object_set_new(o, json_key(&b->s->c->arena, p->syms.v[y]->name), json_integer(b->dims[y]));
    return o;
}
/* Sizes given at compile time are not symbols of the program, so the inputs show what was run. */
static json_t *input_dims_json(const struct bench *b) {
    json_t *all = json_array();
    for (int k = 0; k < b->s->w->program->ins.n; k++) {
        json_t *dims = json_array();
        for (int d = 0; d < b->inputs[k]->rank; d++) json_array_append_new(dims, json_integer(b->inputs[k]->dims[d]));
        json_array_append_new(all, dims);
    }
    return all;
}
json_t *bench_identity(const struct bench *b) {
    const struct program *p = b->s->w->program;
    return json_pack("{s:s, s:s, s:i, s:o, s:o}", "model", p->name, "target", program_targets(p), "threads",
                     p->threads ? p->o->threads : 1, "dims", dims_json(b), "input_dims", input_dims_json(b));
}
double bench_median(const struct bench *b) {
    return b->instructions ? (double)b->instructions[b->runs / 2] : b->times[b->runs / 2];
}
struct budget bench_taken(const struct bench *b) {
    struct budget taken = {0};
    budget_of_program(&taken, b->s->w->program);
    budget_of_code(&taken, b->s->w->program, &b->size);
    enum budget_item of_run = b->instructions ? BUDGET_INSTRUCTIONS : BUDGET_LATENCY;
    taken.has[of_run] = true, taken.v[of_run] = (int64_t)bench_median(b);
    return taken;
}
/* With the minimum time, which is compared with the baseline's. */
static struct budget best_taken(const struct bench *b) {
    struct budget taken = bench_taken(b);
    if (taken.has[BUDGET_LATENCY]) taken.v[BUDGET_LATENCY] = (int64_t)b->times[0];
    return taken;
}
static double least_ms(const struct bench *b) { return b->times[0] / 1e6; }
static double median_ms(const struct bench *b) { return b->times[b->runs / 2] / 1e6; }
/* The least time that 99 of 100 runs do not exceed. */
static double p99_ms(const struct bench *b) { return b->times[((int64_t)b->runs * 99 + 99) / 100 - 1] / 1e6; }
json_t *bench_json(const struct bench *b) {
    const struct program *p = b->s->w->program;
    struct budget taken = bench_taken(b);
    json_t *o = bench_identity(b);
    json_object_update_new(o, json_pack("{s:i, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:s}", "runs", b->runs, "min_ms",
                                        least_ms(b), "median_ms", median_ms(b), "p99_ms", p99_ms(b), "arena_bytes",
                                        (json_int_t)program_arena(p), "weights_bytes", (json_int_t)weights_size(p),
                                        "code_bytes", (json_int_t)taken.v[BUDGET_CODE], "static_ram_bytes",
                                        (json_int_t)(b->size.data + b->size.bss), "checksum", b->checksum));
    if (budget_is_given(&b->s->o->limits)) json_object_set_new(o, "budget", budget_json(&b->s->o->limits, &taken));
    if (o && b->instructions)
        json_object_update_new(o, json_pack("{s:I, s:s}", "instructions", (json_int_t)b->instructions[b->runs / 2],
                                            "counted_by", "plugin of the emulator"));
    if (o && b->s->o->per_kernel) json_object_set_new(o, "kernels", per_kernel_json(&b->kernels));
    return o;
}
void bench_print(const struct bench *b) {
    const struct program *p = b->s->w->program;
    struct budget taken = bench_taken(b);
    printf("%s on %s: ", p->name, program_targets(p));
    if (b->instructions)
        printf("%llu instructions a run, counted by a plugin of the emulator",
               (unsigned long long)b->instructions[b->runs / 2]);
    else
        printf("least %.4f ms, median %.4f ms, 99th percentile %.4f ms in %d runs", least_ms(b), median_ms(b),
               p99_ms(b), b->runs);
    printf("; arena %lld bytes, weights %lld bytes, code %lld bytes\n", (long long)program_arena(p),
           (long long)weights_size(p), (long long)taken.v[BUDGET_CODE]);
    if (b->s->o->per_kernel) per_kernel_print(&b->kernels);
}
static void report(const struct bench *b, const struct baseline *base) {
    if (!b->s->o->json) {
        bench_print(b);
        return;
    }
    json_t *o = bench_json(b);
    struct budget best = best_taken(b);
    if (base->result) json_object_set_new(o, "baseline", baseline_json(base, b->s->o, &best));
    session_json(b->s, o);
}
static void add_checksum(struct bench *b) {
    uint64_t h = 0;
    for (int k = 0; k < b->s->w->program->outs.n; k++) {
        const struct tensor *t = b->outputs[k];
        if (t->type == STR)
            for (int64_t i = 0; i < tensor_count(t); i++) h = XXH64(t->strs[i].p, t->strs[i].n, h);
        else h = XXH64(t->bytes, (size_t)dtype_packed_bytes(t->type, tensor_count(t)), h);
    }
    snprintf(b->checksum, sizeof b->checksum, "%016llx", (unsigned long long)h);
}
static bool measure(struct bench *b, const char *exe) {
    struct session *s = b->s;
    b->inputs = session_inputs(s);
    b->outputs = NEWN(&s->c->arena, struct tensor *, s->w->program->outs.n + 1);
    b->times = NEWN(&s->c->arena, double, b->runs);
    if (s->compile.target->runner) b->instructions = NEWN(&s->c->arena, uint64_t, b->runs);
    struct harness h = {.c = s->c,
                        .w = s->w,
                        .exe = exe,
                        .seconds = s->o->seconds,
                        .instructions = b->instructions,
                        .functions = s->o->per_kernel ? PER_KERNEL_FUNCTIONS : NULL};
    if (!b->inputs) return false;
    h.symbols = session_symbols(s);
    b->dims = session_dims(s, b->inputs);
    if (!harness_run(&h, b->inputs, b->outputs, b->runs, b->warmup, b->times)) {
        session_blame_inputs(s);
        return false;
    }
    qsort(b->times, (size_t)b->runs, sizeof *b->times, harness_by_time);
    if (b->instructions) qsort(b->instructions, (size_t)b->runs, sizeof *b->instructions, by_count);
    if (s->o->per_kernel && !per_kernel_read(s, b->runs, b->warmup, bench_median(b), b->dims, &b->kernels))
        return false;
    add_checksum(b);
    return library_size(s->c, s->w, &b->size);
}
bool bench_run(struct bench *b, struct session *s) {
    s->compile.sizes = session_sizes_given;
    return session_compile(s) && bench_compiled(b, s);
}
bool bench_compiled(struct bench *b, struct session *s) {
    const struct options *o = s->o;
    struct build_options build = {.cc = o->cc, .seconds = o->seconds};
    *b = (struct bench){.s = s};
    if (!session_write(s, NULL) || (o->per_kernel && !per_kernel_prepare(s, &build))) return false;
    bool counted = s->compile.target->runner != NULL; /* equal inputs give equal counts, so one run is enough */
    b->runs = o->runs ? o->runs : counted ? 1 : RUNS;
    b->warmup = o->warmup_given ? o->warmup_given - 1 : counted ? 0 : WARMUP;
    const char *exe = build_program(s->c, s->w, arena_printf(&s->c->arena, "%s_main", s->w->name), &build);
    return exe && measure(b, exe);
}
int cmd_bench(const struct options *o) {
    struct session s;
    struct bench b;
    struct baseline base = {0};
    if (session_open(&s, o) && baseline_read(&base, &s) && bench_run(&b, &s) && session_write_outputs(&s, b.outputs)) {
        struct budget taken = bench_taken(&b), best = best_taken(&b);
        report(&b, &base);
        budget_holds(&s, s.w->program, &taken);
        baseline_holds(&base, &b, &best);
    }
    baseline_free(&base);
    return session_close(&s);
}
