/* `gcc2nn quantize MODEL --calib DIR -o FILE`: the model with its products computed of codes of 8 bits, as an ONNX
 * model of QuantizeLinear and DequantizeLinear. Twice down the same passes: once with the tensors of the plan as
 * outputs, run on samples; once to write the operators around them (compiler/quantize/). */
#include "compiler/export/onnx.h"
#include "compiler/graph/passes.h"
#include "compiler/observe.h"
#include "compiler/quantize/equalize.h"
#include "compiler/quantize/insert.h"
#include "ir/graph/op.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char LAST_PASS[] = "fold-affine";      /* the last that folds; those behind it are about machines */
static const double CLIPPED = 0.001, DISTANT = 0.1; /* of evaluation, what is warned about */
static const double PERCENTILE = 99.99;
enum { WARNED_MOST = 5 };

/* How far the samples of --eval lie from those of --calib. */
struct distance {
    int point;
    double clipped, apart; /* share outside of the range; between the histograms */
};
struct power;
struct quantization {
    const struct options *o;
    /* of each point of the plan */
    struct seen *seen;
    struct range *ranges;
    struct quantity *quantities;
    struct distance *distances; /* with --eval */
    struct power *sensitivity;  /* of each product, the most sensitive first; with --sensitivity */
    int samples;
};
static bool find_quantised(struct session *s) {
    struct region *top = s->u.g->top;
    for (struct node *n = top->first; n; n = n->next)
        if (n->op && n->op->flags & (OP_QUANTIZES | OP_DEQUANTIZES)) {
            diag_at(&s->c->diags, DIAG_ERROR, E_OP, NULL, n->origin, "the model is quantised already");
            diag_help(&s->c->diags, "give the model of floats that it was made from");
            return true;
        }
    return false;
}
static bool excluded_exist(struct session *s) {
    const struct quantize_options *q = &s->o->quantize;
    bool ok = true;
    for (int k = 0; k < q->exclude.n; k++) {
        bool found = false;
        for (struct node *n = s->u.g->top->first; n; n = n->next) found |= !strcmp(n->name, q->exclude.v[k]);
        if (found) continue;
        diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "--exclude: no node is called %s",
                diag_quote(&s->c->arena, q->exclude.v[k]));
        diag_help(&s->c->diags, "`gcc2nn compile --dump-after=nodes` lists them, and into which of them others went");
        ok = false;
    }
    return ok;
}
/* The model as far as it is quantised, and what of it is. NULL: a diagnostic. */
static struct quant_plan *prepare(struct session *s, const struct options *o) {
    const struct quantize_options *q = &o->quantize;
    if (!session_open(s, o)) return NULL;
    s->compile.stop_after = LAST_PASS;
    if (!session_compile(s) || find_quantised(s) || !excluded_exist(s)) return NULL;
    if (q->equalize) quant_equalize(s->u.g);
    struct quant_plan *p = quant_plan_new(s->u.g, q->exclude.v, q->exclude.n);
    if (p->products.n) return p;
    diag(&s->c->diags, DIAG_ERROR, E_OP,
         "the model has no product that can be quantised: none with constant weights in f32");
    return NULL;
}

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
/* Do the samples of --eval have values that those of --calib had not? Those that differ most are named. */
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

/* ---- sensitivity */
/* Of each product, over all samples: what it gives, and what the rounding of its operands adds to that. */
struct power {
    int product;
    double signal, noise;
};
static double ratio_db(const struct power *p) { return p->noise > 0 ? 10 * log10(p->signal / p->noise) : INFINITY; }
static int by_ratio(const void *a, const void *b) {
    const struct power *x = a, *y = b;
    double p = ratio_db(x), q = ratio_db(y);
    return p != q ? (p > q) - (p < q) : x->product - y->product;
}
struct powers {
    struct power *v;
    int n, first; /* output of the program */
};
static bool see_powers(void *env, const char *sample, struct tensor *const *outputs) {
    struct powers *p = env;
    (void)sample;
    for (int k = 0; k < p->n; k++) {
        p->v[k].signal += tensor_f(outputs[p->first + 2 * k], 0);
        p->v[k].noise += tensor_f(outputs[p->first + 2 * k + 1], 0);
    }
    return true;
}
/* The products, the most sensitive first. NULL: a diagnostic was printed. */
static struct power *find_sensitivity(const struct quantization *z) {
    struct session s;
    struct samples samples;
    struct runner r;
    struct quant_plan *p = prepare(&s, z->o);
    struct powers powers = {0};
    bool ok = p != NULL;
    if (ok) {
        powers =
            (struct powers){NEWN(z->o->arena, struct power, p->products.n + 1), p->products.n, s.u.g->top->results.n};
        for (int k = 0; k < powers.n; k++) powers.v[k].product = k;
        quant_insert_twins(&(struct insertion){
            .plan = p, .quantities = z->quantities, .seen = z->seen, .per_channel = !z->o->quantize.per_tensor});
        ok = graph_infer(s.u.g) && runner_open(&r, &s) && samples_find(s.c, "calib", z->o->quantize.calib, &samples) &&
             runner_each(&r, &samples, "sensitivity", see_powers, &powers);
    }
    session_close(&s);
    if (!ok) return NULL;
    qsort(powers.v, (size_t)powers.n, sizeof *powers.v, by_ratio);
    return powers.v;
}

/* ---- what is printed */
static int64_t weights_bytes(const struct quant_plan *p) {
    int64_t bytes = 0;
    for (int k = 0; k < p->products.n; k++) {
        const struct tensor *t = p->products.v[k]->ins.v[1]->init;
        bytes += dtype_packed_bytes(t->type, tensor_count(t));
    }
    return bytes;
}
static json_t *tensors_json(const struct quantization *z, const struct quant_plan *p) {
    json_t *list = json_array();
    for (int k = 0; k < p->points.n; k++) {
        const struct quant_point *q = &p->points.v[k];
        struct range r = z->ranges[q->same_as];
        json_t *o = json_pack("{s:o, s:f, s:f, s:f, s:i}", "name", json_name(&p->g->ctx->arena, q->value->name),
                              "least", r.lo, "greatest", r.hi, "scale", (double)z->quantities[q->same_as].scale,
                              "zero_point", z->quantities[q->same_as].zero);
        if (z->distances)
            json_object_update_new(
                o, json_pack("{s:f, s:f}", "clipped", z->distances[k].clipped, "distance", z->distances[k].apart));
        json_array_append_new(list, o);
    }
    return list;
}
static json_t *sensitivity_json(const struct quantization *z, const struct quant_plan *p) {
    json_t *list = json_array();
    for (int k = 0; k < p->products.n; k++) {
        const struct power *w = &z->sensitivity[k];
        const struct node *n = p->products.v[w->product];
        json_t *o = json_pack("{s:o, s:s}", "node", json_name(&p->g->ctx->arena, n->name), "op", n->op_type);
        json_object_set_new(o, "signal_to_noise_db", isfinite(ratio_db(w)) ? json_real(ratio_db(w)) : json_null());
        json_array_append_new(list, o);
    }
    return list;
}
static void print_sensitivity(struct session *s, const struct quantization *z, const struct quant_plan *p) {
    printf("signal to noise of each product whose operands are rounded, the most sensitive first\n");
    for (int k = 0; k < p->products.n; k++) {
        const struct node *n = p->products.v[z->sensitivity[k].product];
        printf("%8.1f dB  %s %s\n", ratio_db(&z->sensitivity[k]), n->op_type, diag_quote(&s->c->arena, n->name));
    }
}
static void report(struct session *s, const struct quantization *z, const struct quant_plan *p, int64_t before,
                   const char *path) {
    const struct quantize_options *q = &s->o->quantize;
    if (s->o->json) {
        json_t *o =
            json_pack("{s:s, s:i, s:i, s:i, s:s, s:b, s:I, s:o}", "file", path, "products", p->products.n, "between",
                      p->islands, "samples", z->samples, "method", range_method_word(q->method), "per_channel",
                      !q->per_tensor, "weights_bytes_before", (json_int_t)before, "tensors", tensors_json(z, p));
        if (z->sensitivity) json_object_set_new(o, "sensitivity", sensitivity_json(z, p));
        session_json(s, o);
        return;
    }
    printf("%s: %d product%s and %d operator%s between them of codes of 8 bits; %d tensor%s, ranges by %s over %d "
           "sample%s; weights of %lld bytes as floats\n",
           path, p->products.n, p->products.n == 1 ? "" : "s", p->islands, p->islands == 1 ? "" : "s", p->points.n,
           p->points.n == 1 ? "" : "s", range_method_word(q->method), z->samples, z->samples == 1 ? "" : "s",
           (long long)before);
    if (z->sensitivity) print_sensitivity(s, z, p);
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
static bool write_model(struct session *s, const char *path) {
    return graph_verify(s->u.g, "quantize") && export_onnx(s->u.g, path, &(struct export_options){0}, NULL);
}
static int quantize_weights(const struct options *o) {
    struct session s;
    struct quant_plan *p = prepare(&s, o);
    if (p) {
        const char *path = output_path(&s);
        int64_t before = weights_bytes(p);
        int n = quant_insert_weights(p, o->quantize.weights_only);
        if (!n)
            diag(&s.c->diags, DIAG_ERROR, E_OP, "no product has weights that int4 can be given to in blocks of %d",
                 QUANT_BLOCK);
        else if (write_model(&s, path)) report_weights(&s, p, n, before, path);
    }
    return session_close(&s);
}
/* What was decided is written into the same model, read anew: the first one was compiled. */
static int quantize_all(const struct options *o) {
    struct session floats, codes;
    struct observer v;
    struct quantization z = {.o = o};
    struct quant_plan *p = prepare(&floats, o);
    bool ok = p && observer_open(&v, &floats, p) && calibrate(&z, &v) && (!o->quantize.eval || compare_samples(&z, &v));
    int status = session_report(&floats);
    if (ok && o->quantize.sensitivity) ok = (z.sensitivity = find_sensitivity(&z)) != NULL;
    if (ok && (p = prepare(&codes, o))) {
        const char *path = output_path(&codes);
        int64_t before = weights_bytes(p);
        quant_insert(&(struct insertion){.plan = p,
                                         .quantities = z.quantities,
                                         .seen = z.seen,
                                         .per_channel = !o->quantize.per_tensor,
                                         .correct_bias = o->quantize.bias_correction});
        if (write_model(&codes, path)) report(&codes, &z, p, before, path);
    }
    if (ok) status = session_close(&codes);
    session_free(&floats);
    return status;
}
/* Options that contradict each other: an exit status, or EXIT_OK. */
static int check_options(const struct options *o) {
    const struct quantize_options *q = &o->quantize;
    struct diags d = {.arena = o->arena};
    options_diags(o, &d);
    if (!q->calib && q->weights_only == NONE) {
        diag(&d, DIAG_ERROR, E_USAGE, "--calib is missing: a folder of samples, by which ranges are found");
        diag_help(&d, "--weights-only needs none");
    }
    if (q->weights_only != NONE && (q->calib || q->eval || q->method || q->bias_correction || q->equalize))
        diag(&d, DIAG_ERROR, E_USAGE, "--weights-only finds no ranges: it takes no samples, and no method for them");
    return report_diags(&d);
}
int cmd_quantize(const struct options *o) {
    int status = check_options(o);
    if (status != EXIT_OK) return status;
    return o->quantize.weights_only == NONE ? quantize_all(o) : quantize_weights(o);
}
