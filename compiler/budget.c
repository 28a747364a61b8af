/* Limits on what a compiled model needs, and what would help if it exceeds them. See budget.h; docs/budgets.md. Runs
 * after the passes: what would help is found by compiling again with other options. */
#include "compiler/budget.h"
#include "codegen/weights.h"
#include "compiler/session.h"
#include "ir/base/nearest.h"
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { TIME, COUNT, BYTES };
static const struct unit {
    const char *name;
    double factor;
    enum kind kind;
} units[] = {
    {"ns", 1, TIME},    {"us", 1e3, TIME},       {"ms", 1e6, TIME},       {"s", 1e9, TIME},
    {"", 1, COUNT},     {"k", 1e3, COUNT},       {"M", 1e6, COUNT},       {"G", 1e9, COUNT},
    {"", 1, BYTES},     {"K", 1 << 10, BYTES},   {"M", 1 << 20, BYTES},   {"G", 1 << 30, BYTES},
    {"B", 1, BYTES},    {"KiB", 1 << 10, BYTES}, {"MiB", 1 << 20, BYTES}, {"GiB", 1 << 30, BYTES},
    {"kB", 1e3, BYTES}, {"MB", 1e6, BYTES},      {"GB", 1e9, BYTES},
};
static const struct row {
    const char *what, *verb;
    enum kind kind;
    bool built, run; /* only known after a build, after a run */
} rows[BUDGET_ITEMS] = {
    [BUDGET_LATENCY] = {"a run", "takes", TIME, true, true},
    [BUDGET_INSTRUCTIONS] = {"a run", "takes", COUNT, true, true},
    [BUDGET_ARENA] = {"the arena", "takes", BYTES, false, false},
    [BUDGET_WEIGHTS] = {"the weights", "take", BYTES, false, false},
    [BUDGET_FLASH] = {"code, constants and weights", "take", BYTES, true, false},
    [BUDGET_CODE] = {"code and constants without the weights", "take", BYTES, true, false},
};
const char *const budget_names[BUDGET_ITEMS] = {[BUDGET_LATENCY] = "latency", [BUDGET_INSTRUCTIONS] = "instructions",
                                                [BUDGET_ARENA] = "arena",     [BUDGET_WEIGHTS] = "weights",
                                                [BUDGET_FLASH] = "flash",     [BUDGET_CODE] = "code"};

/* ---- the option */
static bool parse_limit(enum kind kind, const char *s, size_t n, int64_t *to, struct text *problem) {
    static const char *const forms[] = {[TIME] = "a time, such as 2.5ms: ns, us, ms or s",
                                        [COUNT] = "a number, such as 3500000 or 3.5M",
                                        [BYTES] =
                                            "a size, such as 64K: bytes, K, M and G of 1024, kB, MB and GB of 1000"};
    const char *end = s;
    double v = text_read_f64(s, &end);
    size_t rest = (size_t)(s + n - end);
    for (size_t k = 0; end != s && end <= s + n && k < sizeof units / sizeof *units; k++) {
        if (units[k].kind != kind || strlen(units[k].name) != rest || memcmp(units[k].name, end, rest) != 0) continue;
        double limit = floor(v * units[k].factor);
        if (!(limit >= 0 && limit < 9e18)) break;
        *to = (int64_t)limit;
        return true;
    }
    text_printf(problem, "`%.*s` is not %s", (int)n, s, forms[kind]);
    return false;
}
bool budget_parse(struct budget *b, const char *value, struct text *problem) {
    struct arena a = {0};
    bool ok = *value || (text_add(problem, "its argument is empty"), false);
    for (const char *at = value; ok && at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t n = strcspn(at, ","), name = strcspn(at, "=,");
        int k = 0;
        while (k < BUDGET_ITEMS && !(strlen(budget_names[k]) == name && !memcmp(budget_names[k], at, name))) k++;
        ok = false;
        if (k == BUDGET_ITEMS) {
            const char *word = arena_printf(&a, "%.*s", (int)name, at);
            text_printf(problem, "`%s` is not one of", word);
            for (int i = 0; i < BUDGET_ITEMS; i++) text_printf(problem, "%s %s", i ? "," : "", budget_names[i]);
            text_add(problem, did_you_mean(&a, word, budget_names, BUDGET_ITEMS));
        } else if (name == n) text_printf(problem, "%s has no limit: %s=LIMIT", budget_names[k], budget_names[k]);
        else if (b->has[k]) text_printf(problem, "`%s` is given twice", budget_names[k]);
        else ok = b->has[k] = parse_limit(rows[k].kind, at + name + 1, n - name - 1, &b->v[k], problem);
    }
    arena_free(&a);
    return ok;
}
bool budget_is_given(const struct budget *b) {
    bool any = false;
    for (int k = 0; k < BUDGET_ITEMS; k++) any |= b->has[k];
    return any;
}
bool budget_needs_build(const struct budget *b) {
    bool any = false;
    for (int k = 0; k < BUDGET_ITEMS; k++) any |= b->has[k] && rows[k].built;
    return any;
}
bool budget_needs_run(const struct budget *b) { return b->has[BUDGET_LATENCY] || b->has[BUDGET_INSTRUCTIONS]; }

/* ---- what the program needs */
static void put(struct budget *b, enum budget_item k, int64_t v) { b->has[k] = true, b->v[k] = v; }
void budget_of_program(struct budget *taken, const struct program *p) {
    put(taken, BUDGET_ARENA, program_arena(p));
    put(taken, BUDGET_WEIGHTS, weights_size(p));
}
void budget_of_code(struct budget *taken, const struct program *p, const struct code_size *size) {
    int64_t inside = program_weights_file(p) ? 0 : weights_size(p), code = size->text + size->rodata;
    if (code > inside) code -= inside; /* weights in the program are part of its constants */
    put(taken, BUDGET_CODE, code);
    put(taken, BUDGET_FLASH, code + weights_size(p) + size->data); /* variables are initialised from flash */
}

/* ---- what would help */
/* What the same model needs with other options. Its diagnostics have been given before. */
static void taken_with(struct session *s, enum dtype precision, enum dtype weights, struct budget *out) {
    struct diags *d = &s->c->diags, said = *d;
    struct compile_options o = s->compile;
    struct compilation u = {.c = s->c, .o = &o};
    struct project_options project = s->project;
    int files = s->c->files_read.n;
    o.ndump = 0, o.time_passes = false;
    project.nmore = 0;
    d->errors = 0; /* being over budget must not stop a pass */
    if (precision != NONE) o.precision = (struct precision_wishes){.type = precision};
    if (weights != NONE) o.algorithms.weights = weights;
    struct program *p = compile_model(&u) && u.complete ? programs_new(u.m, u.plan, &project) : NULL;
    *d = said;
    s->c->files_read.n = files;
    int nowhere = p ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1; /* packing determines the size, because equal weights
                                                                   * are stored once */
    if (nowhere >= 0 && weights_pack(p, nowhere)) budget_of_program(out, p);
    if (nowhere >= 0) close(nowhere);
}
static const struct {
    const char *option;
    enum dtype precision, weights;
} tries[] = {{"--precision=fp16", F16, NONE}, {"--precision=bf16", BF16, NONE}, {"--weights-precision=int8", NONE, I8}};
enum { TRIES = sizeof tries / sizeof *tries };
/* What is needed with each of these options, computed once; empty for options that are in use already, or that fail. */
static const struct budget *try_options(struct session *s) {
    if (s->tried) return s->tried;
    s->tried = NEWN(&s->c->arena, struct budget, TRIES);
    for (int i = 0; i < TRIES && !ends_with(s->compile.path, ".lir"); i++) {
        bool same = (tries[i].precision != NONE && s->compile.precision.type != NONE) ||
                    (tries[i].weights != NONE && s->compile.algorithms.weights != NONE);
        if (!same) taken_with(s, tries[i].precision, tries[i].weights, &s->tried[i]);
    }
    return s->tried;
}
/* Names options that would reduce an item that is known before the build; flash changes as the weights do. */
static void name_options(struct session *s, enum budget_item k, int64_t over, const struct budget *taken,
                         struct text *help) {
    enum budget_item of = k == BUDGET_ARENA ? BUDGET_ARENA : BUDGET_WEIGHTS;
    const struct budget *with = try_options(s);
    for (int i = 0; i < TRIES; i++) {
        int64_t less = with[i].has[of] ? taken->v[of] - with[i].v[of] : 0;
        if (less > 0)
            text_printf(help, "%s%s saves %lld bytes%s", help->n ? "; " : "", tries[i].option, (long long)less,
                        less >= over ? ", which is enough" : "");
    }
}
/* The largest buffers at the step with the most memory in use. */
static void name_worst(struct session *s, const struct program *p, struct text *help) {
    enum { SHOWN = 3 };
    const struct memory_plan *plan = p->plan;
    int n = plan->slots.n, worst = 0;
    int64_t *bytes = NEWN(&s->c->arena, int64_t, n + 1), most = -1;
    for (int k = 0; k < n; k++)
        if (!slot_placed(&plan->slots.v[k]) ||
            !x_eval_int(plan->slots.v[k].bytes, program_typical, (void *)p, &bytes[k]))
            bytes[k] = 0;
    for (int k = 0; k < n; k++) { /* only where a buffer begins can more be in use */
        int64_t alive = 0;
        int at = plan->slots.v[k].first;
        for (int j = 0; j < n; j++)
            if (plan->slots.v[j].first <= at && at <= plan->slots.v[j].last) alive += bytes[j];
        if (bytes[k] && alive > most) most = alive, worst = at;
    }
    for (int shown = 0; shown < SHOWN; shown++) {
        int largest = -1;
        for (int k = 0; k < n; k++)
            if (bytes[k] && plan->slots.v[k].first <= worst && worst <= plan->slots.v[k].last &&
                (largest < 0 || bytes[k] > bytes[largest]))
                largest = k;
        if (largest < 0) break;
        text_printf(help, "%s%s (%lld bytes)",
                    shown     ? ", "
                    : help->n ? "; the most is alive with "
                              : "the most is alive with ",
                    diag_quote(&s->c->arena, plan->slots.v[largest].buf->name), (long long)bytes[largest]);
        bytes[largest] = 0;
    }
}
static bool may_be_smaller(const struct program *p) {
    bool any = false;
    for (int y = 0; y < p->syms.n; y++) any |= program_reference(p, p->syms.v[y]) > 1;
    return any;
}
static void help_with(struct session *s, const struct program *p, enum budget_item k, int64_t over,
                      const struct budget *taken) {
    struct text help = {0};
    switch (k) {
    case BUDGET_LATENCY:
    case BUDGET_INSTRUCTIONS:
        text_add(&help, "`gcc2nn bench --per-kernel` shows which kernels take it, `gcc2nn tune` finds faster ways");
        if (k == BUDGET_LATENCY && s->compile.threads < 2)
            text_add(&help, ", --threads=N shares them among processors");
        if (s->o->target && s->compile.target->cls == TC_CPU && target_native() != s->compile.target)
            text_printf(&help, "; this machine's own target is %s", target_native()->name);
        break;
    case BUDGET_ARENA:
    case BUDGET_WEIGHTS:
    case BUDGET_FLASH:
        name_options(s, k, over, taken, &help);
        if (k == BUDGET_ARENA && may_be_smaller(p))
            text_printf(&help, "%sa smaller --dim makes it smaller", help.n ? "; " : "");
        if (k == BUDGET_ARENA) name_worst(s, p, &help);
        else if (!help.n) text_add(&help, "a model quantized to bytes has a quarter of the weights of one in f32");
        break;
    case BUDGET_CODE:
        text_add(&help, "--no-schedule makes plain loops of the kernels, which are smaller and slower; so is the "
                        "code of targets with fewer lanes");
    }
    if (help.n) diag_help(&s->c->diags, "%s", help.s);
    text_free(&help);
}

/* ---- holding them against each other */
/* "2.5 ms", "1200 instructions", "65536 bytes" */
const char *budget_shown(struct arena *a, enum budget_item k, int64_t v) {
    enum kind kind = rows[k].kind;
    if (kind != TIME) return arena_printf(a, "%lld %s", (long long)v, kind == BYTES ? "bytes" : "instructions");
    int unit = v >= 1000000000 ? 3 : v >= 1000000 ? 2 : v >= 1000 ? 1 : 0;
    return arena_printf(a, "%.4g %s", (double)v / units[unit].factor, units[unit].name);
}
static const char *taken_text(struct arena *a, enum budget_item k, int64_t v) {
    return arena_printf(a, "%s %s %s", rows[k].what, rows[k].verb, budget_shown(a, k, v));
}
void budget_exceeded(struct session *s, const struct program *p, enum budget_item k, const struct budget *taken,
                     int64_t limit, const char *whose) {
    struct arena *a = &s->c->arena;
    int64_t over = taken->v[k] - limit;
    double percent = 100 * (double)over / (double)(limit ? limit : 1);
    diag(&s->c->diags, DIAG_ERROR, E_BUDGET, "%s, %s more than the %s %s%s", taken_text(a, k, taken->v[k]),
         budget_shown(a, k, over), budget_shown(a, k, limit), whose,
         limit ? arena_printf(a, " (%.3g %%)", percent) : "");
    help_with(s, p, k, over, taken);
}
bool budget_holds(struct session *s, const struct program *p, const struct budget *taken) {
    const struct budget *limits = &s->o->limits;
    bool ok = true;
    for (int k = 0; k < BUDGET_ITEMS; k++) {
        if (!limits->has[k] || !taken->has[k] || taken->v[k] <= limits->v[k]) continue;
        budget_exceeded(s, p, (enum budget_item)k, taken, limits->v[k],
                        arena_printf(&s->c->arena, "that --budget allows for %s", budget_names[k]));
        ok = false;
    }
    return ok;
}
/* An emulator's times are meaningless, and only emulators count instructions. */
bool budget_fits_target(struct session *s) {
    const struct budget *limits = &s->o->limits;
    const struct target *t = s->compile.target;
    enum budget_item wrong = t->runner ? BUDGET_LATENCY : BUDGET_INSTRUCTIONS;
    if (!limits->has[wrong]) return true;
    diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "--budget: %s not known of target %s, %s",
            t->runner ? "latency is" : "instructions are", t->name,
            t->runner ? "which runs in an emulator" : "which runs on this machine");
    diag_help(&s->c->diags, "%s",
              t->runner ? "instructions=N limits what the emulator counts"
                        : "latency=TIME limits the median time of a run");
    return false;
}
json_t *budget_json(const struct budget *limits, const struct budget *taken) {
    json_t *list = json_array();
    for (int k = 0; k < BUDGET_ITEMS; k++)
        if (limits->has[k] && taken->has[k])
            json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:b}", "name", budget_names[k], "limit",
                                                  (json_int_t)limits->v[k], "value", (json_int_t)taken->v[k], "within",
                                                  taken->v[k] <= limits->v[k]));
    return list;
}
