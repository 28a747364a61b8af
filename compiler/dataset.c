/* See dataset.h. Each sample is run; its inputs and outputs are kept in files of the build folder, in_<i>_<k>.nnt and
 * own_<i>_<k>.nnt. The referee handles all samples in one process and writes want_<i>_<k>.nnt beside them. The same
 * metric is applied to both sets. */
#include "compiler/dataset.h"
#include "compiler/metric.h"
#include "compiler/peer.h"
#include "compiler/verification.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Metrics in Python run in another folder, so the paths are absolute. */
bool dataset_open(struct dataset *d, struct session *s, const char *option, const char *folder) {
    char real[PATH_MAX];
    *d = (struct dataset){.s = s, .metric = s->o->metric ? s->o->metric : "mse", .outputs = s->w->program->outs.n};
    const char *built = realpath(s->w->folder, real) ? real : s->w->folder;
    d->own = format(s->c, "%s/own", built), d->want = format(s->c, "%s/want", built);
    if (!realpath(folder, real)) snprintf(real, sizeof real, "%s", folder);
    return samples_find(s->c, option, format(s->c, "%s", real), &d->samples);
}
static const char *value_path(const struct dataset *d, const char *whose, int sample, int k) {
    return format(d->s->c, "%s_%d_%d.nnt", whose, sample, k);
}
static bool keep(struct dataset *d, const char *from, const char *to, int sample, int n) {
    struct ctx *c = d->s->c;
    for (int k = 0; k < n; k++)
        if (rename(format(c, "%s/%s%d.nnt", d->s->w->folder, from, k), value_path(d, to, sample, k)) != 0) {
            diag(&c->diags, DIAG_ERROR, E_WRITE, "files of a sample cannot be moved in %s: %s",
                 diag_quote(&c->arena, d->s->w->folder), strerror(errno));
            return false;
        }
    return true;
}
static bool keep_sample(void *env, const struct sample_run *run) {
    struct dataset *d = env;
    const char *in = format(d->s->c, "%s/in", d->s->w->folder);
    return keep(d, "in", in, run->number, d->s->w->program->ins.n) && keep(d, "out", d->own, run->number, d->outputs);
}
bool dataset_run(struct dataset *d, const char *exe) {
    struct runner r = runner_of(d->s, exe);
    r.in_files = true;
    return runner_each(&r, &d->samples, "run", keep_sample, d);
}

/* ---- the metric of one set of outputs */
static bool load(struct dataset *d, struct arena *a, const char *whose, int sample, struct tensor **to) {
    const struct harness h = {.c = d->s->c, .w = d->s->w};
    bool all = true;
    for (int k = 0; k < d->outputs; k++) {
        const char *path = value_path(d, whose, sample, k);
        to[k] = access(path, F_OK) == 0 ? harness_tensor(&h, a, path) : NULL;
        all &= to[k] != NULL;
    }
    return all;
}
/* The sample's output_<k> files; else the other program's outputs, if there are any. */
static void wanted(struct dataset *d, struct arena *a, int sample, struct tensor **to) {
    struct session *s = d->s;
    const struct options *given = s->o;
    struct options o = *given;
    o.data = d->samples.v.v[sample];
    s->o = &o;
    memset(to, 0, (size_t)s->w->program->outs.n * sizeof *to);
    if (!session_references(s, to)) load(d, a, d->want, sample, to);
    s->o = given;
}
static bool by_metric(struct dataset *d, const char *whose, double *value) {
    struct metric *m = metric_new(d->s->c, d->metric);
    bool ok = true;
    for (int k = 0; k < d->samples.v.n && ok; k++) {
        struct arena a = {0};
        struct tensor **outputs = NEWN(&a, struct tensor *, d->outputs + 1),
                      **want = NEWN(&a, struct tensor *, d->s->w->program->outs.n + 1);
        if (metric_is_error(m)) wanted(d, &a, k, want);
        ok = load(d, &a, whose, k, outputs);
        if (!ok)
            diag(&d->s->c->diags, DIAG_ERROR, E_ENV, "the referee has no value for an output of sample %s",
                 diag_quote(&d->s->c->arena, d->samples.v.v[k]));
        ok = ok && metric_add(m, d->samples.v.v[k], outputs, want, d->outputs);
        arena_free(&a);
    }
    *value = metric_value(m);
    return ok;
}
static bool by_python(struct dataset *d, const char *whose, double *value) {
    struct ctx *c = d->s->c;
    char real[PATH_MAX];
    const char *why = NULL, *file = realpath(d->metric, real);
    const char *more[] = {file, whose, NULL};
    struct peer_data data = {d->samples.v.v, d->samples.v.n, more, NULL};
    char *end = NULL;
    if (file && peer_ask_all(d->s, "templates/peer/metric.py", &data, &why)) {
        *value = strtod(data.said, &end);
        if (end != data.said && isfinite(*value)) return true;
        why = "its result is no finite number";
    }
    diag(&c->diags, DIAG_ERROR, E_ENV, "--metric: %s: %s", diag_quote(&c->arena, d->metric),
         file ? why : strerror(errno));
    diag_help(&c->diags, "it defines metric(samples); docs/diagnosis.md has an example");
    return false;
}
bool dataset_value(struct dataset *d, const char *whose, double *value) {
    return ends_with(d->metric, ".py") ? by_python(d, whose, value) : by_metric(d, whose, value);
}
bool dataset_is_error(const struct dataset *d) { return !strcmp(d->metric, "mse"); }
double dataset_drop(const struct dataset *d, double value, double base) {
    return dataset_is_error(d) ? value : base - value;
}

/* ---- the command */
static bool ask_referee(struct dataset *d, const struct referee *with) {
    struct ctx *c = d->s->c;
    struct peer_data data = {d->samples.v.v, d->samples.v.n, NULL, NULL};
    const char *why = "it is asked for one run, not for a data set";
    if (with->script && peer_ask_all(d->s, with->script, &data, &why)) return true;
    diag(&c->diags, DIAG_ERROR, E_ENV, "%s cannot be asked: %s", with->name, why);
    diag_help(&c->diags,
              "--python names a Python that has the package onnxruntime; without --max-drop nobody is asked");
    return false;
}
static void tell(struct dataset *d, const struct referee *with, double value, double base) {
    const struct options *o = d->s->o;
    struct ctx *c = d->s->c;
    double drop = dataset_drop(d, value, base);
    bool error = dataset_is_error(d), worse = o->max_drop_given && !(drop <= o->max_drop);
    const char *than = error ? "" : format(c, ", %s %.6g: a drop of %.3g", with->name, base, drop),
               *allowed = o->max_drop_given ? format(c, " (%.3g is allowed)", o->max_drop) : "";
    if (!o->max_drop_given) than = "";
    if (worse)
        diag(&c->diags, DIAG_ERROR, E_OUTPUT, "%s %.6g on %d samples%s%s", d->metric, value, d->samples.v.n, than,
             allowed);
    else if (!o->json) printf("%s %.6g on %d samples%s%s\n", d->metric, value, d->samples.v.n, than, allowed);
    if (!o->json) return;
    json_t *root = json_pack("{s:b, s:o, s:i, s:f}", "same", !worse, "metric", json_name(&c->arena, d->metric),
                             "samples", d->samples.v.n, "value", value);
    if (o->max_drop_given) {
        if (!error) json_object_set_new(root, "baseline", json_real(base));
        json_object_set_new(root, "drop", json_real(drop));
        json_object_set_new(root, "max_drop", json_real(o->max_drop));
    }
    session_json(d->s, root);
}
void dataset_verify(struct session *s, const char *exe) {
    struct dataset d;
    const struct referee *with = s->o->against ? referee_named(s->o->against) : referee_usual(s);
    double value = 0, base = 0;
    if (!dataset_open(&d, s, "dataset", s->o->dataset) || !dataset_run(&d, exe)) return;
    bool error = dataset_is_error(&d), compared = !error && s->o->max_drop_given;
    struct arena a = {0};
    struct tensor **want = NEWN(&a, struct tensor *, d.outputs + 1);
    if (error) wanted(&d, &a, 0, want);
    bool asks = error ? !want[0] : compared;
    arena_free(&a);
    if ((asks && !ask_referee(&d, with)) || !dataset_value(&d, d.own, &value)) return;
    if (!compared || dataset_value(&d, d.want, &base)) tell(&d, with, value, base);
}
