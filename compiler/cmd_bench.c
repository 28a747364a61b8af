/* `gcc2nn bench MODEL`: times of the compiled model; under an emulator, whose times mean nothing, exact counts of
 * instructions. */
#include "codegen/weights.h"
#include "compiler/bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { RUNS = 50, WARMUP = 5 };

static int by_count(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
static long long arena_bytes(const struct program *p) {
    return (long long)(p->is_static ? p->arena_bytes : p->plan->peak);
}
/* Weights that are part of the program are among its constants. */
static long long code_bytes(const struct bench *b) {
    const struct project *w = b->s->w;
    long long inside = w->weights_file ? 0 : (long long)weights_size(w->program), all = b->size.text + b->size.rodata;
    return all > inside ? all - inside : all;
}
static json_t *dims_json(const struct bench *b) {
    json_t *o = json_object();
    const struct program *p = b->s->w->program;
    for (int y = 0; y < p->syms.n; y++)
        json_object_set_new(o, json_key(&b->s->c->arena, p->syms.v[y]->name), json_integer(b->dims[y]));
    return o;
}
static void print_times(const struct bench *b, double least, double median, double p99) {
    const struct program *p = b->s->w->program;
    json_t *o =
        json_pack("{s:s, s:s, s:i, s:o, s:i, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:s}", "model", p->name, "target",
                  program_targets(p), "threads", p->threads ? p->o->threads : 1, "dims", dims_json(b), "runs", b->runs,
                  "min_ms", least, "median_ms", median, "p99_ms", p99, "arena_bytes", (json_int_t)arena_bytes(p),
                  "weights_bytes", (json_int_t)weights_size(p), "code_bytes", (json_int_t)code_bytes(b),
                  "static_ram_bytes", (json_int_t)(b->size.data + b->size.bss), "checksum", b->checksum);
    if (o && b->instructions)
        json_object_update_new(o, json_pack("{s:I, s:s}", "instructions", (json_int_t)b->instructions[b->runs / 2],
                                            "counted_by", "plugin of the emulator"));
    if (o && b->s->o->per_kernel) json_object_set_new(o, "kernels", per_kernel_json(&b->kernels));
    session_json(b->s, o);
}
static void report(struct bench *b) {
    const struct program *p = b->s->w->program;
    double least = b->times[0] / 1e6, median = b->times[b->runs / 2] / 1e6,
           p99 = b->times[(int)((double)(b->runs - 1) * 0.99)] / 1e6;
    if (b->s->o->json) {
        print_times(b, least, median, p99);
        return;
    }
    printf("%s on %s: ", p->name, program_targets(p));
    if (b->instructions)
        printf("%llu instructions a run, counted by a plugin of the emulator",
               (unsigned long long)b->instructions[b->runs / 2]);
    else printf("least %.4f ms, median %.4f ms, 99th percentile %.4f ms in %d runs", least, median, p99, b->runs);
    printf("; arena %lld bytes, weights %lld bytes, code %lld bytes\n", arena_bytes(p), (long long)weights_size(p),
           code_bytes(b));
    if (b->s->o->per_kernel) per_kernel_print(&b->kernels);
}
/* "batch=1..512@128": what the user could have said, by the range that is known. */
static const char *dim_example(struct session *s, const struct sym *y) {
    if (y->hi == INT32_MAX) return format(s->c, "%s=8", y->name);
    int64_t some = y->hi / 4;
    if (some < y->lo) some = y->lo;
    if (some < 1) some = 1;
    return format(s->c, "%s=%lld..%lld@%lld", y->name, (long long)y->lo, (long long)y->hi, (long long)some);
}
/* A time means nothing without the sizes it is for: no symbol gets one by itself. Asked before anything is compiled. */
static bool every_dim_is_given(void *env, const struct sym *const *v, int n) {
    struct session *s = env;
    struct text missing = {0}, example = {0};
    for (int y = 0; y < n && !s->o->data && !s->o->inputs.n; y++) {
        bool given = false;
        for (int k = 0; k < s->o->dims.n; k++)
            given |= !strcmp(s->o->dims.v[k].name, v[y]->name) && s->o->dims.v[k].ref;
        if (given) continue;
        text_printf(&missing, "%s%s", missing.n ? ", " : "", v[y]->name);
        text_printf(&example, " --dim %s", dim_example(s, v[y]));
    }
    bool ok = !missing.n;
    if (!ok) {
        diag(&s->c->diags, DIAG_ERROR, E_DIM, "no value is given for %s", missing.s);
        diag_help(&s->c->diags, "give inputs with --data, or sizes, such as%s", example.s);
    }
    text_free(&missing);
    text_free(&example);
    return ok;
}
static void add_checksum(struct bench *b, struct tensor *const *outputs) {
    uint64_t h = 0;
    for (int k = 0; k < b->s->w->program->outs.n; k++) {
        const struct tensor *t = outputs[k];
        if (t->type == STR)
            for (int64_t i = 0; i < tensor_count(t); i++) h = XXH64(t->strs[i].p, t->strs[i].n, h);
        else h = XXH64(t->bytes, (size_t)dtype_packed_bytes(t->type, tensor_count(t)), h);
    }
    snprintf(b->checksum, sizeof b->checksum, "%016llx", (unsigned long long)h);
}
static bool measure(struct bench *b, const char *exe) {
    struct session *s = b->s;
    struct tensor **inputs = session_inputs(s),
                  **outputs = NEWN(&s->c->arena, struct tensor *, s->w->program->outs.n + 1);
    b->times = NEWN(&s->c->arena, double, b->runs);
    if (s->compile.target->runner) b->instructions = NEWN(&s->c->arena, uint64_t, b->runs);
    struct harness h = {.c = s->c,
                        .w = s->w,
                        .exe = exe,
                        .seconds = s->o->seconds,
                        .instructions = b->instructions,
                        .functions = s->o->per_kernel ? PER_KERNEL_FUNCTIONS : NULL};
    if (!inputs) return false;
    h.symbols = session_symbols(s);
    b->dims = session_dims(s, inputs);
    if (!harness_run(&h, inputs, outputs, b->runs, b->warmup, b->times)) {
        session_blame_inputs(s);
        return false;
    }
    qsort(b->times, (size_t)b->runs, sizeof *b->times, harness_by_time);
    if (b->instructions) qsort(b->instructions, (size_t)b->runs, sizeof *b->instructions, by_count);
    if (s->o->per_kernel && !per_kernel_read(s, b->runs, b->warmup, bench_median(b), b->dims, &b->kernels))
        return false;
    add_checksum(b, outputs);
    return session_write_outputs(s, outputs) && library_size(s->c, s->w, &b->size);
}
double bench_median(const struct bench *b) {
    return b->instructions ? (double)b->instructions[b->runs / 2] : b->times[b->runs / 2];
}
bool bench_run(struct bench *b, struct session *s) {
    const struct options *o = s->o;
    struct build_options build = {.cc = o->cc, .seconds = o->seconds};
    *b = (struct bench){.s = s};
    s->compile.sizes = every_dim_is_given;
    if (!session_compile(s) || !session_write(s, NULL) || (o->per_kernel && !per_kernel_prepare(s, &build)))
        return false;
    bool counted = s->compile.target->runner != NULL; /* equal inputs, equal counts: one run says it all */
    b->runs = o->runs ? o->runs : counted ? 1 : RUNS;
    b->warmup = o->warmup_given ? o->warmup_given - 1 : counted ? 0 : WARMUP;
    const char *exe = build_program(s->c, s->w, arena_printf(&s->c->arena, "%s_main", s->w->name), &build);
    return exe && measure(b, exe);
}
int cmd_bench(const struct options *o) {
    struct session s;
    struct bench b;
    if (session_open(&s, o) && bench_run(&b, &s)) report(&b);
    return session_close(&s);
}
