/* `gcc2nn calibrate`: measures the numbers of a machine row on this machine, and writes a file for --machine. No model
 * is involved; a program of ours (templates/calibrate/measure.c) measures one number at a time, in several rounds, so
 * that a short disturbance affects only one round of a number. */
#include "codegen/template.h"
#include "compiler/machine_file.h"
#include "compiler/session.h"
#include "ir/base/cleanup.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 5, SECONDS = 20 };
struct calibration {
    const struct options *o;
    struct ctx *c;
    const struct target *target;
    const char *folder, *exe; /* of the program */
    const char *file;         /* that is written */
    int noted;                /* of the program's folder */
    struct machine_file out;
    bool kept[NUMBERS_MAX]; /* kept from the row, because it cannot be measured here */
};

/* ---- whether */
/* Checked before anything that takes time. */
static bool may_write(struct calibration *q) {
    return file_may_put(&q->c->diags, q->file, NULL) && machine_file_may_replace(q->c, q->file);
}
static bool runs_here(struct calibration *q) {
    const struct target *t = q->target;
    const char *lacks = target_lacks(t);
    const char *why = t->machine->gpu ? "it is a GPU, whose numbers are documented"
                      : t->board      ? "it is a board, and programs for it run in an emulator"
                      : t->runner     ? "programs for it run here in an emulator, whose times mean nothing"
                                      : lacks;
    if (!why) return true;
    diag(&q->c->diags, DIAG_ERROR, E_TARGET, "target %s cannot be measured: %s", t->name, why);
    diag_help(&q->c->diags, "run calibrate on the machine itself; this one is of target %s", target_native()->name);
    return false;
}

/* ---- the program */
static bool put(struct calibration *q, const char *from, const char *name) {
    struct text t = {0};
    template_text(&t, from, (const char *const[]){NULL});
    bool ok = harness_file(q->c, format(q->c, "%s/%s", q->folder, name), &t, NULL, 0);
    text_free(&t);
    return ok;
}
/* -mavx2 -mfma; the target's attributes as flags for the whole file. */
static const char *attribute_flags(struct calibration *q) {
    const char *all = "";
    for (const char *s = q->target->attribute; s && *s; s += strcspn(s, ",") + (s[strcspn(s, ",")] == ','))
        all = format(q->c, "%s -m%.*s", all, (int)strcspn(s, ","), s);
    return all;
}
static bool build(struct calibration *q) {
    const struct machine *m = q->target->machine;
    const char *flags =
        format(q->c, "-O2 -fno-tree-vectorize -ffp-contract=%s -pthread -DVECTOR_BYTES=%d -DREGISTERS=%d%s",
               machine_op(m, X_FMA, F32) ? "fast" : "off", 4 * machine_lanes(m, F32), machine_registers(m),
               attribute_flags(q));
    q->folder = temporary_folder(q->c, &q->noted);
    if (!q->folder || !put(q, "templates/calibrate/measure.c", "measure.c") ||
        !put(q, "runtime_stub/nn_pool.c", "nn_pool.c") || !put(q, "runtime_stub/nn_pool.h", "nn_pool.h") ||
        !put(q, "runtime_stub/nn_threads.h", "nn_threads.h"))
        return false;
    progress("calibrate: compiling");
    q->exe = build_alone(q->c, q->target, q->folder, "measure", flags, q->o->cc);
    return q->exe != NULL;
}

/* ---- numbers */
/* Measures once. false: a diagnostic; *value 0: it cannot be measured here. */
static bool measure(struct calibration *q, const struct number_row *n, double milliseconds, double *value) {
    const char *argv[] = {q->exe, n->name, format(q->c, "%.0f", milliseconds), NULL};
    struct outcome o = process_run(argv, NULL, 60 + (int)(milliseconds / 100));
    const char *said = o.out.s ? o.out.s : "", *end = said;
    bool ok = o.started && !o.timed_out && o.status == 0 && *said;
    *value = ok && strncmp(said, "none", 4) != 0 ? text_read_f64(said, &end) : 0;
    if (!ok || !isfinite(*value)) {
        diag(&q->c->diags, DIAG_ERROR, E_ENV, "the program that measures \"%s\" %s", n->name,
             !o.started      ? "cannot be started"
             : o.timed_out   ? "did not finish"
             : o.status > 4  ? "was ended: does this CPU have what the target needs?"
             : o.status == 4 ? "did not get enough memory"
                             : "failed");
        ok = false;
    }
    outcome_free(&o);
    return ok;
}
/* Units start a whole number of operations per cycle, or one in a whole number of cycles: deviations of up to 5 % are
 * noise. At best three digits are significant. */
static double rounded(const struct number_row *n, double v) {
    double whole = v >= 1 ? round(v) : 1 / round(1 / v);
    if (n->kind == NUMBER_INT || n->kind == NUMBER_BYTES) return round(v);
    if (n->kind == NUMBER_RATE && fabs(v / whole - 1) < 0.05) v = whole;
    char digits[32];
    const char *end = digits;
    snprintf(digits, sizeof digits, "%.3g", v);
    return text_read_f64(digits, &end);
}
/* Differences of measurements may be zero or negative. */
static double within(const struct number_row *n, double v) { return fmin(fmax(v, n->least), n->most); }
static bool measure_all(struct calibration *q) {
    double v[NUMBERS_MAX][ROUNDS], own;
    int n = 0, seconds = q->o->budget ? q->o->budget : SECONDS;
    while (machine_numbers[n].name) n++;
    for (int r = 0; r < ROUNDS; r++)
        for (int k = 0; k < n; k++) {
            const struct number_row *row = &machine_numbers[k];
            v[k][r] = 0;
            if (!machine_number(q->target->machine, row, &own)) continue;
            progress("calibrate: %s, round %d of %d", row->name, r + 1, ROUNDS);
            if (!measure(q, row, 1e3 * seconds / (ROUNDS * n), &v[k][r])) return false;
        }
    progress_end();
    for (int k = 0; k < n; k++) {
        const struct number_row *row = &machine_numbers[k];
        qsort(v[k], ROUNDS, sizeof **v, harness_by_time);
        double middle = v[k][ROUNDS / 2];
        if (!machine_number(q->target->machine, row, &own)) continue;
        q->kept[k] = middle == 0;
        q->out.values[k] = q->kept[k] ? own : within(row, rounded(row, middle));
    }
    return true;
}
/* The first "model name" of /proc/cpuinfo; "unknown" elsewhere. */
static const char *cpu_name(struct ctx *c) {
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    const char *name = NULL;
    while (f && !name && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
            const char *s = strchr(line, ':') + 1;
            s += strspn(s, " ");
            name = format(c, "%.*s", (int)strcspn(s, "\n"), s);
        }
    if (f) fclose(f);
    return name ? name : "unknown";
}

/* ---- what is written */
static bool write_file(struct calibration *q) {
    struct machine_file again;
    struct text t = {0};
    machine_file_print(&q->out, &t);
    /* writes nothing that --machine would refuse, such as sizes invented by a virtual machine */
    bool sound = machine_file_parse(q->c, q->file, t.s, t.n, &again);
    bool ok = sound && file_put(&q->c->diags, q->file, t.s, t.n);
    text_free(&t);
    return ok;
}
static void report(const struct calibration *q) {
    json_t *list = json_array();
    double own;
    if (!q->o->json) printf("%s: %s, %s\n", q->file, q->target->name, q->out.cpu);
    for (int k = 0; machine_numbers[k].name; k++) {
        const struct number_row *n = &machine_numbers[k];
        if (!machine_number(q->target->machine, n, &own)) continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:f, s:b}", "name", n->name, "unit", n->unit, "row", own,
                                              "value", q->out.values[k], "measured", !q->kept[k]));
        if (!q->o->json)
            printf("  %-21s %10.8g %-11s (row: %.8g)%s\n", n->name, q->out.values[k], n->unit, own,
                   q->kept[k] ? "; kept: cannot be measured here" : "");
    }
    if (q->o->json)
        print_json(json_pack("{s:s, s:s, s:s, s:O}", "file", q->file, "target", q->target->name, "cpu", q->out.cpu,
                             "numbers", list));
    json_decref(list);
}
static bool calibrate(struct calibration *q) {
    q->target = target_named(q->c, q->o->target ? q->o->target : "native");
    if (q->target && !strcmp(q->target->name, target_native()->name)) q->target = target_native(); /* no emulator */
    if (!q->target || !runs_here(q)) return false;
    q->file = q->o->out ? q->o->out : format(q->c, "%s.json", q->target->name);
    q->out = (struct machine_file){.target = q->target, .cpu = cpu_name(q->c)};
    return may_write(q) && build(q) && measure_all(q) && write_file(q);
}
int cmd_calibrate(const struct options *o) {
    struct calibration q = {.o = o, .c = ctx_new()};
    options_diags(o, &q.c->diags);
    if (calibrate(&q)) report(&q);
    if (q.folder) cleanup_now(q.noted);
    int status = report_diags(&q.c->diags);
    ctx_free(q.c);
    return status;
}
