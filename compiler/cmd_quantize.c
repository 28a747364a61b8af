/* `gcc2nn quantize MODEL --calib DIR -o FILE`: the model with its products computed from 8-bit codes, as an ONNX model
 * with QuantizeLinear and DequantizeLinear. Runs the same passes twice: once with the tensors of the plan as outputs,
 * run on samples; once to insert the operators around them (compiler/quantize/). */
#include "compiler/export/onnx.h"
#include "compiler/observe.h"
#include "compiler/quantization.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double CLIPPED = 0.001, DISTANT = 0.1; /* of evaluation, what is warned about */
static const double PERCENTILE = 99.99;
enum { WARNED_MOST = 5 };

/* ---- calibration */
static bool calibrate(struct quantization *z, struct observer *v) {
    const struct quantize_options *q = &z->o->quantize;
    struct samples samples;
    struct session *s = v->runner.s;
    int n = v->plan->points.n;
    z->seen = seen_new(v);
    if (!samples_find(s->c, "calib", q->calib, &samples) || !observe_ranges(v, &samples, z->seen)) return false;
    if ((q->method != RANGE_MINMAX || q->eval) && !observe_values(v, &samples, z->seen, NULL)) return false;
    z->samples = samples.v.n;
    z->ranges = NEWN(&s->c->arena, struct range, n + 1);
    z->quantities = NEWN(&s->c->arena, struct quantity, n + 1);
    for (int k = 0; k < n; k++) {
        z->ranges[k] = range_choose(&z->seen[k].values, q->method, q->percentile > 0 ? q->percentile : PERCENTILE);
        z->quantities[k] = quantity_of_range(z->ranges[k]);
    }
    return true;
}
/* Do the samples of --eval have values outside of those of --calib? Names the tensors that differ most. */
static int by_share(const void *a, const void *b) {
    const struct distance *x = a, *y = b;
    double p = fmax(x->clipped / CLIPPED, x->apart / DISTANT), q = fmax(y->clipped / CLIPPED, y->apart / DISTANT);
    return (p < q) - (p > q);
}
static bool compare_samples(struct quantization *z, struct observer *v) {
    struct session *s = v->runner.s;
    struct samples samples;
    struct seen *now = seen_new(v);
    int n = v->plan->points.n, found = 0;
    if (!samples_find(s->c, "eval", z->o->quantize.eval, &samples)) return false;
    for (int k = 0; k < n; k++) now[k].values.lo = z->seen[k].values.lo, now[k].values.hi = z->seen[k].values.hi;
    if (!observe_values(v, &samples, now, z->ranges)) return false;
    z->distances = NEWN(&s->c->arena, struct distance, n + 1);
    for (int k = 0; k < n; k++)
        z->distances[k] = (struct distance){.point = k,
                                            .clipped = now[k].all ? (double)now[k].outside / (double)now[k].all : 0,
                                            .apart = histogram_distance(&z->seen[k].values, &now[k].values)};
    struct distance *worst = arena_copy(&s->c->arena, z->distances, sizeof *worst * (size_t)n);
    qsort(worst, (size_t)n, sizeof *worst, by_share);
    for (int k = 0; k < n; k++) found += worst[k].clipped > CLIPPED || worst[k].apart > DISTANT;
    for (int k = 0; k < found && k < WARNED_MOST; k++)
        diag(&s->c->diags, DIAG_WARNING, E_CALIBRATION,
             "tensor %s has other values in %s than in %s: %.2g %% lie outside of its range, distance %.2g",
             diag_quote(&s->c->arena, v->plan->points.v[worst[k].point].value->name), z->o->quantize.eval,
             z->o->quantize.calib, 100 * worst[k].clipped, worst[k].apart);
    if (found > WARNED_MOST) diag(&s->c->diags, DIAG_NOTE, E_CALIBRATION, "%d more tensors do", found - WARNED_MOST);
    if (found) diag_help(&s->c->diags, "calibrate on samples like those that the model will see");
    return true;
}

/* ---- what is printed */
static int64_t weights_bytes(const struct quant_plan *p) {
    int64_t bytes = 0;
    for (int k = 0; k < p->products.n; k++) bytes += quant_weights_bytes(p->products.v[k]);
    return bytes;
}
/* whole: the plan of all products, whose points were measured; done: the part of it that was quantised. */
struct written {
    const struct quant_plan *whole, *done;
    const char *path;
    int64_t floats_bytes; /* of weights, as they were */
};
static json_t *tensors_json(const struct quantization *z, const struct written *w) {
    json_t *list = json_array();
    struct arena *a = &w->whole->g->ctx->arena;
    for (int k = 0; k < w->done->points.n; k++) {
        const struct quant_point *q = &w->done->points.v[k];
        int own = quant_point_number(w->whole, q->value),
            as = quant_point_number(w->whole, w->done->points.v[q->same_as].value);
        struct range r = z->ranges[as];
        json_t *o =
            json_pack("{s:o, s:f, s:f, s:f, s:i}", "name", json_name(a, q->value->name), "least", r.lo, "greatest",
                      r.hi, "scale", (double)z->quantities[as].scale, "zero_point", z->quantities[as].zero);
        if (z->distances)
            json_object_update_new(
                o, json_pack("{s:f, s:f}", "clipped", z->distances[own].clipped, "distance", z->distances[own].apart));
        json_array_append_new(list, o);
    }
    return list;
}
static void report(struct session *s, const struct quantization *z, const struct written *w) {
    const struct quantize_options *q = &s->o->quantize;
    const struct quant_plan *p = w->done;
    if (s->o->json) {
        json_t *o = json_pack("{s:s, s:i, s:i, s:i, s:s, s:b, s:I, s:o}", "file", w->path, "products", p->products.n,
                              "between", p->islands, "samples", z->samples, "method", range_method_word(q->method),
                              "per_channel", !q->per_tensor, "weights_bytes_before", (json_int_t)w->floats_bytes,
                              "tensors", tensors_json(z, w));
        if (q->sensitivity) json_object_set_new(o, "sensitivity", sensitivity_json(z, w->whole));
        if (s->o->max_drop_given) json_object_set_new(o, "mixture", mixture_json(z, w->whole));
        session_json(s, o);
        return;
    }
    printf("%s: %d product%s and %d operator%s between them of codes of 8 bits; %d tensor%s, ranges by %s over %d "
           "sample%s; weights of %lld bytes as floats\n",
           w->path, p->products.n, p->products.n == 1 ? "" : "s", p->islands, p->islands == 1 ? "" : "s", p->points.n,
           p->points.n == 1 ? "" : "s", range_method_word(q->method), z->samples, z->samples == 1 ? "" : "s",
           (long long)w->floats_bytes);
    if (q->sensitivity) print_sensitivity(z, w->whole);
    if (s->o->max_drop_given) print_mixture(z, w->whole, w->floats_bytes);
}
static void report_weights(struct session *s, const struct quant_plan *p, int n, int64_t before, const char *path) {
    if (s->o->json)
        session_json(s, json_pack("{s:s, s:i, s:i, s:I}", "file", path, "products", p->products.n, "rounded", n,
                                  "weights_bytes_before", (json_int_t)before));
    else
        printf("%s: weights of %d of %d product%s rounded; %lld bytes as floats\n", path, n, p->products.n,
               p->products.n == 1 ? "" : "s", (long long)before);
}

/* ---- the command */
static const char *output_path(struct session *s) {
    const enum dtype w = s->o->quantize.weights_only;
    return s->o->out ? s->o->out : format(s->c, "%s_%s.onnx", s->project.name, w == I4 ? "int4" : "int8");
}
/* Checked before anything that takes time. */
static bool may_write(struct session *s) { return file_may_put(&s->c->diags, output_path(s), NULL); }
static bool write_model(struct session *s, const char *path) {
    return graph_verify(s->u.g, "quantize") && export_onnx(s->u.g, path, &(struct export_options){0}, NULL);
}
static int quantize_weights(const struct options *o) {
    struct session s;
    struct quant_plan *p = quantization_plan(&s, o);
    if (p) {
        const char *path = output_path(&s);
        int64_t before = weights_bytes(p);
        int n = quant_insert_weights(p, o->quantize.weights_only);
        if (!n) {
            diag(&s.c->diags, DIAG_ERROR, E_OP, "no product has weights that int4 can be given to in blocks of %d",
                 QUANT_BLOCK);
            diag_help(&s.c->diags, "--weights-only=int8 takes weights of any shape");
        } else if (write_model(&s, path)) report_weights(&s, p, n, before, path);
    }
    return session_close(&s);
}
/* Inserts the operators into the model, read again because the first one was compiled. */
static int write_codes(const struct quantization *z) {
    struct session s;
    struct quant_plan *whole = quantization_plan(&s, z->o);
    if (whole) {
        const char *path = output_path(&s);
        struct written w = {whole, NULL, path, weights_bytes(whole)};
        w.done = quantization_insert(z, whole, z->mixture.floats);
        if (write_model(&s, path)) report(&s, z, &w);
    }
    return session_close(&s);
}
static int quantize_all(const struct options *o) {
    struct session floats;
    struct observer v;
    struct quantization z = {.o = o};
    struct quant_plan *p = quantization_plan(&floats, o);
    int status = EXIT_OK;
    bool ok = p && may_write(&floats) && observer_open(&v, &floats, p) && calibrate(&z, &v) &&
              (!o->quantize.eval || compare_samples(&z, &v));
    if (ok && o->quantize.sensitivity) status = find_sensitivity(&z);
    if (ok && status == EXIT_OK && o->max_drop_given) status = find_mixture(&z, &v);
    int reported = session_report(&floats);
    if (status == EXIT_OK) status = reported;
    if (status == EXIT_OK) status = write_codes(&z);
    session_free(&floats);
    return status;
}
/* An exit status, or EXIT_OK. */
static int check_options(const struct options *o) {
    const struct quantize_options *q = &o->quantize;
    struct diags d = {.arena = o->arena};
    options_diags(o, &d);
    if (!q->calib && q->weights_only == NONE) {
        diag(&d, DIAG_ERROR, E_USAGE, "--calib is missing: a folder of samples, by which ranges are found");
        diag_help(&d, "--weights-only needs none");
    }
    return report_diags(&d);
}
int cmd_quantize(const struct options *o) {
    int status = check_options(o);
    if (status != EXIT_OK) return status;
    return o->quantize.weights_only == NONE ? quantize_all(o) : quantize_weights(o);
}
