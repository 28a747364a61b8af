/* `gcc2nn tune MODEL`: measures the points that the cost model ranks first, and records the fastest, in a file that
 * --choices reads. Kernels are measured together: each round compiles the model with another point for every kernel
 * that has one left, and times all of them in place, among the others' data. */
#include "compiler/bench.h"
#include "compiler/choices.h"
#include "lower/problem/problem.h"
#include "lower/schedule/point.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 20, SECONDS = 600 };
/* Points predicted to take FAR times as long as the best are not measured; and a point must take less than GAIN of the
 * time, because runs vary. */
static const double FAR = 1.6, GAIN = 0.98;

struct trial {
    const char *point;
    double cycles, taken; /* predicted, 0: no prediction; time of all calls in a run, 0: not measured, INFINITY:
                           * refused */
};
/* All kernels of one problem. */
struct tuned {
    const char *name, *problem; /* name of the first such kernel; text from its class on, as in records */
    const char *machine;
    const struct strategy *const *by;
    VEC(struct trial) trials; /* the first one is taken without a record */
    int now;                  /* the trial of this round */
    double sum;               /* time in this round; INFINITY: a kernel was computed differently */
    bool stays;               /* keeps the first trial, because the fastest one did not win again */
};
struct tuning {
    const struct options *o;
    struct arena *a; /* lives as long as the command */
    VEC(struct tuned *) all;
    struct records *given; /* from the file of an earlier run */
    struct ctx *records;   /* owns those records */
    const char *target;    /* "x86-avx512" */
    const char *file;      /* the output file */
    const char *choices;   /* of the round */
    double start;          /* seconds */
    double before, last;   /* time of a run without records, and in the last round */
    int rounds;
    bool counted; /* in instructions instead of nanoseconds */
};
struct round {
    struct session s; /* first member, because the dump's callback gets the session */
    struct tuning *q;
};
/* Reads earlier measurements from the file that will be overwritten. false: a diagnostic. */
static bool read_given(struct tuning *q, struct session *s) {
    struct mapped_file f;
    if (access(q->file, F_OK) != 0) return true;
    if (!file_map(&s->c->diags, q->file, &f)) return false;
    bool empty = !f.size;
    q->records = ctx_new(); /* whose arena lives as long as the command */
    q->given = records_read(
        q->records, arena_printf(q->a, "%.*s", f.size < INT32_MAX ? (int)f.size : INT32_MAX, (const char *)f.bytes));
    file_unmap(&f);
    if (q->given->list.n || empty) return true;
    diag(&s->c->diags, DIAG_ERROR, E_WRITE, "%s is no file of records: it is left as it is",
         diag_quote(&s->c->arena, q->file));
    diag_help(&s->c->diags, "--out names another file");
    return false;
}

/* ---- which points */
static int trial_of(struct tuned *k, const char *point) {
    for (int i = 0; i < k->trials.n; i++)
        if (!strcmp(k->trials.v[i].point, point)) return i;
    return -1;
}
static int fastest(const struct tuned *k) {
    int best = 0;
    if (k->stays) return 0;
    for (int i = 1; i < k->trials.n; i++) {
        double t = k->trials.v[i].taken, limit = k->trials.v[best].taken * (best ? 1 : GAIN);
        if (t > 0 && t < limit) best = i;
    }
    return best;
}
/* The next trial that is not measured; if there is none, the fastest. */
static int next_trial(const struct tuned *k) {
    for (int i = 0; i < k->trials.n; i++)
        if (k->trials.v[i].taken == 0) return i;
    return fastest(k);
}
static void add_given(struct tuning *q, struct tuned *k, const struct machine *m) {
    for (int n = 0; q->given && n < q->given->list.n; n++) {
        const struct record *r = &q->given->list.v[n];
        if (r->measured <= 0 || !record_is_of(r, m, k->problem, k->by)) continue;
        int i = trial_of(k, r->point);
        struct trial t = {r->point, 0, r->measured};
        if (i >= 0) k->trials.v[i].taken = r->measured;
        else PUSH(q->a, &k->trials, t);
    }
}
/* A kernel's part of the choices, from the class on; NULL: it has none. */
static const char *part_of(struct tuning *q, const char *kernel) {
    const char *at = q->choices, *name, *text;
    while ((text = choices_next(q->a, &at, &name)))
        if (!strcmp(name, kernel)) return text + strlen(name) + 2;
    return NULL;
}
static const char *problem_text(struct tuning *q, struct session *s, const struct kernel_row *r) {
    struct text t = {0};
    problem_print(&t, s->c, r->p->problem);
    const char *text = arena_printf(q->a, "%s", t.s);
    text_free(&t);
    return text;
}
static struct tuned *new_tuned(struct tuning *q, const struct kernel_row *r, const char *problem,
                               const struct choice_list *points) {
    struct tuned *k = NEW(q->a, struct tuned);
    k->name = arena_printf(q->a, "%s", r->p->name), k->problem = problem;
    k->machine = r->m->name, k->by = strategies_for(r->m, r->p->problem);
    double best = points->v.v[0].cycles;
    for (int n = 1; n < points->v.n; n++)
        if (points->v.v[n].cycles > 0) best = fmin(best, points->v.v[n].cycles);
    for (int n = 0; n < points->v.n; n++) {
        struct trial t = {points->v.v[n].point, points->v.v[n].cycles, 0};
        if (n == 0 || t.cycles <= FAR * best) PUSH(q->a, &k->trials, t);
    }
    add_given(q, k, r->m);
    PUSH(q->a, &q->all, k);
    return k;
}

/* ---- a round */
static void add_record(struct text *t, const struct tuned *k, int trial) {
    text_printf(t, "machine %s\n%s: %s  %s\n    taken\n", k->machine, k->name, k->problem, k->trials.v[trial].point);
}
static const char *records_of_round(struct tuning *q, int (*which)(const struct tuned *k)) {
    struct text t = {0};
    for (int n = 0; n < q->all.n; n++) {
        struct tuned *k = q->all.v[n];
        k->now = which(k);
        if (k->now) add_record(&t, k, k->now);
    }
    const char *text = arena_printf(q->a, "%s", t.s ? t.s : "");
    text_free(&t);
    return text;
}
static void keep_choices(void *env, const char *pass, const char *text) {
    struct round *r = env;
    (void)pass;
    r->q->choices = arena_printf(r->q->a, "%s", text);
}
static struct tuned *tuned_of(const struct tuning *q, const struct machine *m, const char *problem) {
    for (int n = 0; n < q->all.n; n++)
        if (!strcmp(q->all.v[n]->machine, m->name) && !strcmp(q->all.v[n]->problem, problem)) return q->all.v[n];
    return NULL;
}
/* Adds a kernel's time in this round. */
static void take_time(struct tuning *q, struct session *s, const struct kernel_row *r) {
    const char *part = r->p->problem && !r->p->is_kernel_text ? part_of(q, r->p->name) : NULL;
    if (!part) return;
    const char *problem = problem_text(q, s, r);
    struct choice_list points = {0};
    choices_points(q->a, part, strlen(problem), &points);
    if (!points.v.n || strncmp(part, problem, strlen(problem)) != 0) return;
    struct tuned *k = tuned_of(q, r->m, problem);
    if (!k) k = new_tuned(q, r, problem, &points);
    k->sum = trial_of(k, points.v.v[0].point) == k->now ? k->sum + r->taken : INFINITY;
}
/* A point refused for one of the kernels counts as refused for all. */
static void take_times(struct tuning *q, struct session *s, const struct kernel_rows *rows) {
    for (int n = 0; n < q->all.n; n++) q->all.v[n]->sum = 0;
    for (int n = 0; n < rows->v.n; n++) take_time(q, s, &rows->v.v[n]);
    for (int n = 0; n < q->all.n; n++) {
        struct tuned *k = q->all.v[n];
        struct trial *t = &k->trials.v[k->now];
        if (k->sum > 0) t->taken = t->taken > 0 ? fmin(t->taken, k->sum) : k->sum;
    }
}
static bool has_clock(struct session *s) {
    if (!s->compile.target->machine->gpu && s->ntargets == 1) return true;
    diag(&s->c->diags, DIAG_ERROR, E_TARGET,
         s->ntargets > 1 ? "tune is for one target, not for several variants"
                         : "tune cannot time the kernels of a GPU");
    diag_help(&s->c->diags,
              s->ntargets > 1 ? "tune for each by itself: records name their machine, and --choices takes several files"
                              : "--choices takes records that are written by hand, as --dump-after=choices shows them");
    return false;
}
static bool play_round(struct tuning *q, int (*which)(const struct tuned *k), int *status) {
    static const char *const choices[] = {"choices"};
    struct options o = *q->o;
    struct round r = {.q = q};
    struct bench b;
    struct warning_rule quiet = {E_RECORD, WARN_NOT};
    o.per_kernel = true, o.out = NULL;
    if (!o.runs) o.runs = RUNS;
    PUSH(q->a, &o.warnings, quiet);
    bool ok = session_open(&r.s, &o);
    if (ok) {
        r.s.compile.dump_after = choices, r.s.compile.ndump = 1;
        r.s.compile.dump = keep_choices;
        r.s.compile.more_choices = records_of_round(q, which);
        if (q->rounds == 0) ok = has_clock(&r.s) && read_given(q, &r.s);
    }
    ok = ok && bench_run(&b, &r.s);
    if (ok) {
        q->counted = b.instructions != NULL, q->last = bench_median(&b), q->rounds++;
        q->target = arena_printf(q->a, "%s", r.s.compile.target->name);
        take_times(q, &r.s, &b.kernels);
    }
    *status = session_close(&r.s);
    return ok;
}

/* ---- what is written */
static void print_trial(struct tuning *q, struct text *t, const struct trial *p, const char *taken) {
    text_printf(t, "  %s\n%s    measured %.0f %s\n", p->point, taken, p->taken, q->counted ? "instructions" : "ns");
}
static void print_records(struct tuning *q, struct text *t) {
    text_printf(t, "// measured by gcc2nn tune, target %s, threads %d\n", q->target, q->o->threads ? q->o->threads : 1);
    for (int n = 0; n < q->all.n; n++) {
        const struct tuned *k = q->all.v[n];
        int best = fastest(k);
        double taken = k->trials.v[best].taken;
        if (k->trials.n < 2 || taken == 0 || isinf(taken)) continue;
        text_printf(t, "machine %s\n%s: %s", k->machine, k->name, k->problem);
        print_trial(q, t, &k->trials.v[best], "    taken\n");
        for (int i = 0; i < k->trials.n; i++)
            if (i != best && k->trials.v[i].taken > 0 && isfinite(k->trials.v[i].taken))
                print_trial(q, t, &k->trials.v[i], "");
    }
}
static bool write_records(struct tuning *q) {
    struct ctx *c = ctx_new();
    struct text t = {0};
    options_diags(q->o, &c->diags);
    print_records(q, &t);
    bool ok = file_put(&c->diags, q->file, t.s, t.n);
    report_diags(&c->diags);
    text_free(&t);
    ctx_free(c);
    return ok;
}
static json_t *amount(double taken) { return isfinite(taken) ? json_real(taken) : json_null(); }
static json_t *kernels_json(const struct tuning *q) {
    json_t *list = json_array();
    const char *unit = q->counted ? "instructions" : "ns";
    for (int n = 0; n < q->all.n; n++) {
        const struct tuned *k = q->all.v[n];
        int best = fastest(k), measured = 0;
        for (int i = 0; i < k->trials.n; i++) measured += k->trials.v[i].taken > 0 && isfinite(k->trials.v[i].taken);
        json_array_append_new(list, json_pack("{s:s, s:i, s:b, s:s, s:o, s:o, s:s}", "kernel", k->name, "measured",
                                              measured, "changed", best != 0, "point", k->trials.v[best].point,
                                              "before", amount(k->trials.v[0].taken), "after",
                                              amount(k->trials.v[best].taken), "unit", unit));
    }
    return list;
}
static void report(const struct tuning *q) {
    double unit = q->counted ? 1 : 1e6;
    int changed = 0, measured = 0;
    for (int n = 0; n < q->all.n; n++) {
        changed += fastest(q->all.v[n]) != 0;
        for (int i = 0; i < q->all.v[n]->trials.n; i++) measured += q->all.v[n]->trials.v[i].taken > 0;
    }
    if (q->o->json) {
        print_json(json_pack("{s:s, s:s, s:i, s:i, s:s, s:f, s:f, s:o}", "target", q->target, "file", q->file, "rounds",
                             q->rounds, "points", measured, "unit", q->counted ? "instructions" : "ms", "before",
                             q->before / unit, "after", q->last / unit, "kernels", kernels_json(q)));
        return;
    }
    printf("%s: %d points of %d kernels in %d rounds, %d kernels changed; a run %.*f -> %.*f %s\n", q->file, measured,
           q->all.n, q->rounds, changed, q->counted ? 0 : 4, q->before / unit, q->counted ? 0 : 4, q->last / unit,
           q->counted ? "instructions" : "ms");
}

/* ---- the command */
static int the_first(const struct tuned *k) {
    (void)k;
    return 0;
}
static int points_left(const struct tuning *q) {
    int most = 0;
    for (int n = 0; n < q->all.n; n++) {
        int left = 0;
        for (int i = 0; i < q->all.v[n]->trials.n; i++) left += q->all.v[n]->trials.v[i].taken == 0;
        if (left > most) most = left;
    }
    return most;
}
/* A point may have been the fastest by chance, or thanks to its neighbours: it has to win once more against the point
 * taken without a record, in two consecutive rounds. */
static bool play_final(struct tuning *q, int *status) {
    if (!play_round(q, the_first, status)) return false;
    q->before = q->last;
    double *sums = NEWN(q->a, double, q->all.n);
    for (int n = 0; n < q->all.n; n++) sums[n] = q->all.v[n]->sum;
    if (!play_round(q, fastest, status)) return false;
    bool all_won = true;
    for (int n = 0; n < q->all.n; n++) {
        struct tuned *k = q->all.v[n];
        k->stays = k->now && k->sum >= sums[n];
        all_won &= !k->stays;
    }
    return all_won || play_round(q, fastest, status);
}
/* All points once, then the apparently fastest ones again. */
static int tune(struct tuning *q) {
    int status = EXIT_OK, budget = q->o->budget ? q->o->budget : SECONDS, left;
    q->start = seconds_now();
    if (!play_round(q, the_first, &status)) return status;
    double round = seconds_now() - q->start;
    while ((left = points_left(q)) > 0 && seconds_now() - q->start + 4 * round <= budget) {
        progress("tune: round %d of at most %d", q->rounds + 1, q->rounds + left + 2);
        if (!play_round(q, next_trial, &status) || !write_records(q)) return status ? status : EXIT_ENV;
    }
    if (!play_final(q, &status)) return status;
    if (!write_records(q)) return EXIT_ENV;
    progress_end();
    report(q);
    return status;
}
int cmd_tune(const struct options *o) {
    struct arena a = {0};
    const char *base = path_last(o->args.v[0]), *dot = strrchr(base, '.');
    size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    struct tuning q = {.o = o, .a = &a};
    q.file = o->out ? o->out : arena_printf(&a, "%.*s.choices", (int)n, base);
    int status = tune(&q);
    if (q.records) ctx_free(q.records);
    arena_free(&a);
    return status;
}
