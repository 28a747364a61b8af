/* See dataset.h. Each sample is run; its inputs and outputs stay in files of the build folder, in_<i>_<k>.nnt and
 * own_<i>_<k>.nnt, where the referee, all of whose runs are one process, leaves want_<i>_<k>.nnt beside them. Both sets
 * go through the same metric. */
#include "compiler/dataset.h"
#include "compiler/metric.h"
#include "compiler/peer.h"
#include "compiler/samples.h"
#include "compiler/verification.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dataset {
    struct session *s;
    struct harness *h;
    const char *metric;
    bool python; /* a file of the user's */
    struct samples samples;
};
/* Metrics of Python run in another folder: the paths are absolute. */
static bool find_samples(struct dataset *d) {
    struct ctx *c = d->s->c;
    char real[PATH_MAX];
    if (!realpath(d->s->o->dataset, real)) snprintf(real, sizeof real, "%s", d->s->o->dataset);
    return samples_find(c, "dataset", format(c, "%s", real), &d->samples);
}
static bool keep(struct dataset *d, const char *as, const char *to, int sample, int n) {
    bool ok = true;
    for (int k = 0; k < n && ok; k++)
        ok = rename(format(d->s->c, "%s/%s%d.nnt", d->h->w->folder, as, k),
                    format(d->s->c, "%s/%s_%d_%d.nnt", d->h->w->folder, to, sample, k)) == 0;
    if (!ok)
        diag(&d->s->c->diags, DIAG_ERROR, E_WRITE, "files of a sample cannot be moved in %s: %s",
             diag_quote(&d->s->c->arena, d->h->w->folder), strerror(errno));
    return ok;
}
/* The inputs of a sample are those of --data there. */
static bool run_samples(struct dataset *d) {
    struct session *s = d->s;
    const struct program *p = s->w->program;
    const struct options *given = s->o;
    struct options o = *given;
    bool ok = true;
    s->o = &o;
    for (int k = 0; k < d->samples.v.n && ok; k++) {
        progress("sample %d of %d", k + 1, d->samples.v.n);
        o.data = d->samples.v.v[k];
        struct tensor **inputs = session_inputs(s);
        ok = inputs && harness_run(d->h, inputs, NULL, 0, 0, NULL) && keep(d, "in", "in", k, p->ins.n) &&
             keep(d, "out", "own", k, p->outs.n);
    }
    progress_end();
    s->o = given;
    return ok;
}

/* ---- the metric of one set of outputs */
static bool load(struct dataset *d, struct arena *a, const char *whose, int sample, struct tensor **to) {
    bool all = true;
    for (int k = 0; k < d->s->w->program->outs.n; k++) {
        const char *path = format(d->s->c, "%s/%s_%d_%d.nnt", d->h->w->folder, whose, sample, k);
        to[k] = access(path, F_OK) == 0 ? harness_tensor(d->h, a, path) : NULL;
        all &= to[k] != NULL;
    }
    return all;
}
/* What the sample's output_<k> say; else the referee, if it was asked. */
static void wanted(struct dataset *d, struct arena *a, int sample, struct tensor **to) {
    struct session *s = d->s;
    const struct options *given = s->o;
    struct options o = *given;
    o.data = d->samples.v.v[sample];
    s->o = &o;
    memset(to, 0, (size_t)s->w->program->outs.n * sizeof *to);
    if (!session_references(s, to)) load(d, a, "want", sample, to);
    s->o = given;
}
static bool by_metric(struct dataset *d, const char *whose, double *value) {
    struct metric *m = metric_new(d->s->c, d->metric);
    int n = d->s->w->program->outs.n;
    bool ok = true;
    for (int k = 0; k < d->samples.v.n && ok; k++) {
        struct arena a = {0};
        struct tensor **outputs = NEWN(&a, struct tensor *, n + 1), **want = NEWN(&a, struct tensor *, n + 1);
        if (metric_is_error(m)) wanted(d, &a, k, want);
        ok = load(d, &a, whose, k, outputs);
        if (!ok)
            diag(&d->s->c->diags, DIAG_ERROR, E_ENV, "the referee has no value for an output of sample %s",
                 diag_quote(&d->s->c->arena, d->samples.v.v[k]));
        ok = ok && metric_add(m, d->samples.v.v[k], outputs, want, n);
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
static bool value_of(struct dataset *d, const char *whose, double *value) {
    return d->python ? by_python(d, whose, value) : by_metric(d, whose, value);
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
static void tell(struct dataset *d, const struct referee *with, double value, double base, bool error) {
    const struct options *o = d->s->o;
    struct ctx *c = d->s->c;
    double drop = error ? value : base - value;
    bool worse = o->max_drop_given && !(drop <= o->max_drop);
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
void dataset_verify(struct session *s, struct harness *h) {
    struct dataset d = {.s = s, .h = h, .metric = s->o->metric ? s->o->metric : "mse"};
    d.python = ends_with(d.metric, ".py");
    bool error = !strcmp(d.metric, "mse");
    const struct referee *with = s->o->against ? referee_named(s->o->against) : referee_usual(s);
    double value = 0, base = 0;
    if (!find_samples(&d) || !run_samples(&d)) return;
    struct arena a = {0};
    struct tensor **want = NEWN(&a, struct tensor *, s->w->program->outs.n + 1);
    if (error) wanted(&d, &a, 0, want);
    bool asks = error ? !want[0] : s->o->max_drop_given;
    arena_free(&a);
    if ((asks && !ask_referee(&d, with)) || !value_of(&d, "own", &value)) return;
    if (!error && s->o->max_drop_given && !value_of(&d, "want", &base)) return;
    tell(&d, with, value, base, error);
}
