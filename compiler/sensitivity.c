/* `quantize --sensitivity`: what the rounding of each product's own operands does to its result. Beside every product
 * stands its twin with rounded operands, and the program gives the powers of results and differences; see
 * quantization.h. */
#include "compiler/graph/passes.h"
#include "compiler/quantization.h"
#include "compiler/samples.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double sensitivity_db(const struct power *p) { return p->noise > 0 ? 10 * log10(p->signal / p->noise) : INFINITY; }
static int by_ratio(const void *a, const void *b) {
    const struct power *x = a, *y = b;
    double p = sensitivity_db(x), q = sensitivity_db(y);
    return p != q ? (p > q) - (p < q) : x->product - y->product;
}
struct powers {
    struct power *v;
    int n, first; /* output of the program */
};
static bool see_powers(void *env, const struct sample_run *run) {
    struct powers *p = env;
    for (int k = 0; k < p->n; k++) {
        p->v[k].signal += tensor_f(run->outputs[p->first + 2 * k], 0);
        p->v[k].noise += tensor_f(run->outputs[p->first + 2 * k + 1], 0);
    }
    return true;
}
int find_sensitivity(struct quantization *z) {
    struct session s;
    struct samples samples;
    struct runner r;
    struct quant_plan *p = quantization_plan(&s, z->o);
    struct powers powers = {0};
    bool ok = p != NULL;
    if (ok) {
        powers =
            (struct powers){NEWN(z->o->arena, struct power, p->products.n + 1), p->products.n, s.u.g->top->results.n};
        for (int k = 0; k < powers.n; k++)
            powers.v[k] = (struct power){.product = k, .weights_bytes = quant_weights_bytes(p->products.v[k])};
        quant_insert_twins(&(struct insertion){.plan = p,
                                               .measured = p,
                                               .quantities = z->quantities,
                                               .seen = z->seen,
                                               .seven_bits = z->o->quantize.seven_bits,
                                               .per_channel = !z->o->quantize.per_tensor});
        ok = graph_infer(s.u.g) && runner_open(&r, &s) && samples_find(s.c, "calib", z->o->quantize.calib, &samples) &&
             runner_each(&r, &samples, "sensitivity", see_powers, &powers);
    }
    int status = session_close(&s);
    if (!ok) return status;
    qsort(powers.v, (size_t)powers.n, sizeof *powers.v, by_ratio);
    z->sensitivity = powers.v;
    return status;
}

json_t *sensitivity_json(const struct quantization *z, const struct quant_plan *p) {
    json_t *list = json_array();
    for (int k = 0; k < p->products.n; k++) {
        const struct power *w = &z->sensitivity[k];
        const struct node *n = p->products.v[w->product];
        json_t *o = json_pack("{s:o, s:s}", "node", json_name(&p->g->ctx->arena, n->name), "op", n->op_type);
        json_object_set_new(o, "signal_to_noise_db",
                            isfinite(sensitivity_db(w)) ? json_real(sensitivity_db(w)) : json_null());
        json_array_append_new(list, o);
    }
    return list;
}
void print_sensitivity(const struct quantization *z, const struct quant_plan *p) {
    printf("signal to noise of each product whose operands are rounded, the most sensitive first\n");
    for (int k = 0; k < p->products.n; k++) {
        const struct node *n = p->products.v[z->sensitivity[k].product];
        printf("%8.1f dB  %s %s\n", sensitivity_db(&z->sensitivity[k]), n->op_type,
               diag_quote(&p->g->ctx->arena, n->name));
    }
}
