/* `quantize --max-drop`: quantises as many products as labelled data allow. The most sensitive ones stay in floats, as
 * few as keep the metric within the limit: their number is doubled until it does, then bisected between the last two.
 * Each trial builds a program and runs it on all samples; see quantization.h. */
#include "compiler/dataset.h"
#include "compiler/observe.h"
#include "compiler/quantization.h"
#include "ir/base/die.h"
#include <stdio.h>

struct search {
    struct quantization *z;
    struct dataset floats;
};
static bool within(const struct search *m, double value) {
    return dataset_drop(&m->floats, value, m->z->mixture.base) <= m->z->o->max_drop;
}
/* Computes the metric of the model with `floats` products left out. Returns an exit status. */
static int try_floats(struct search *m, int floats, bool *good) {
    struct mixture *x = &m->z->mixture;
    struct session s;
    struct runner r;
    struct dataset d;
    double value = 0;
    struct quant_plan *p = quantization_plan(&s, m->z->o);
    if (p) {
        quantization_insert(m->z, p, floats);
        if (runner_open(&r, &s) && dataset_open(&d, &s, "eval", m->z->o->quantize.eval)) {
            d.want = m->floats.own;
            if (dataset_run(&d, r.exe)) dataset_value(&d, d.own, &value);
        }
    }
    int status = session_close(&s);
    if (status != EXIT_OK) return status;
    PUSH(m->z->o->arena, &x->trials, ((struct trial){floats, value}));
    *good = within(m, value);
    if (*good) x->floats = floats, x->value = value;
    return EXIT_OK;
}
static int search(struct search *m, int products) {
    int bad = 0, good = products, status;
    bool is;
    if ((status = try_floats(m, 0, &is)) != EXIT_OK || is) return status;
    if (!m->z->sensitivity && (status = find_sensitivity(m->z)) != EXIT_OK) return status;
    while (good - bad > 1) {
        int n = good < products ? bad + (good - bad) / 2 : bad ? 2 * bad : 1;
        if (n >= products) n = products - 1;
        if ((status = try_floats(m, n, &is)) != EXIT_OK) return status;
        *(is ? &good : &bad) = n;
    }
    m->z->mixture.floats = good;
    return EXIT_OK;
}
int find_mixture(struct quantization *z, struct observer *v) {
    struct search m = {.z = z};
    struct session *s = v->runner.s;
    struct mixture *x = &z->mixture;
    if (!dataset_open(&m.floats, s, "eval", z->o->quantize.eval)) return EXIT_OK;
    m.floats.outputs = v->results;
    m.floats.want = m.floats.own;
    if (!dataset_run(&m.floats, v->runner.exe) || !dataset_value(&m.floats, m.floats.own, &x->base)) return EXIT_OK;
    x->metric = m.floats.metric, x->samples = m.floats.samples.v.n;
    if (!within(&m, x->base)) {
        diag(&s->c->diags, DIAG_ERROR, E_OUTPUT, "%s is %.6g with floats already: %.3g is allowed", x->metric, x->base,
             z->o->max_drop);
        diag_help(&s->c->diags, "are the outputs in %s this model's?", z->o->quantize.eval);
        return EXIT_OK;
    }
    int products = v->plan->products.n, status = search(&m, products);
    if (status == EXIT_OK && x->floats == products) {
        const struct trial *last = &x->trials.v[x->trials.n - 1];
        diag(&s->c->diags, DIAG_ERROR, E_OUTPUT,
             "%s drops by more than %.3g (%.6g with floats, %.6g with %d of %d products in floats): nothing is left to "
             "quantise",
             x->metric, z->o->max_drop, x->base, last->value, last->floats, products);
        diag_help(&s->c->diags, "allow a greater --max-drop, or try another --method, more samples, --equalize, "
                                "--bias-correction");
    }
    x->drop = dataset_drop(&m.floats, x->value, x->base);
    return status;
}

/* ---- what is printed */
static const struct node *floats_node(const struct quantization *z, const struct quant_plan *whole, int k) {
    return whole->products.v[z->sensitivity[k].product];
}
json_t *mixture_json(const struct quantization *z, const struct quant_plan *whole) {
    const struct mixture *x = &z->mixture;
    struct arena *a = &whole->g->ctx->arena;
    json_t *floats = json_array(), *trials = json_array();
    for (int k = 0; k < x->floats; k++) {
        const struct node *n = floats_node(z, whole, k);
        json_array_append_new(floats, json_pack("{s:o, s:s, s:I}", "node", json_name(a, n->name), "op", n->op_type,
                                                "weights_bytes", (json_int_t)z->sensitivity[k].weights_bytes));
    }
    for (int k = 0; k < x->trials.n; k++)
        json_array_append_new(trials,
                              json_pack("{s:i, s:f}", "floats", x->trials.v[k].floats, "value", x->trials.v[k].value));
    return json_pack("{s:o, s:i, s:f, s:f, s:f, s:f, s:o, s:o}", "metric", json_name(a, x->metric), "samples",
                     x->samples, "baseline", x->base, "value", x->value, "drop", x->drop, "max_drop", z->o->max_drop,
                     "floats", floats, "trials", trials);
}
void print_mixture(const struct quantization *z, const struct quant_plan *whole, int64_t weights_bytes) {
    const struct mixture *x = &z->mixture;
    int64_t kept = 0;
    for (int k = 0; k < x->floats; k++) kept += z->sensitivity[k].weights_bytes;
    printf("%s %.6g on %d samples, with floats %.6g: a drop of %.3g (%.3g is allowed)\n", x->metric, x->value,
           x->samples, x->base, x->drop, z->o->max_drop);
    if (x->floats)
        printf("left in floats: %d of %d products, %lld of %lld bytes of weights\n", x->floats, whole->products.n,
               (long long)kept, (long long)weights_bytes);
    for (int k = 0; k < x->floats; k++) {
        const struct node *n = floats_node(z, whole, k);
        printf("%8.1f dB  %s %s\n", sensitivity_db(&z->sensitivity[k]), n->op_type,
               diag_quote(&whole->g->ctx->arena, n->name));
    }
}
