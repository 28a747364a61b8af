/* From the model to the plan, and from calibration results to codes in the graph; see quantization.h. */
#include "compiler/quantization.h"
#include "compiler/named_nodes.h"
#include "compiler/quantize/equalize.h"
#include "ir/graph/op.h"
#include <string.h>

static const char LAST_PASS[] = "fold-affine"; /* the last folding pass; later ones depend on the machine */

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
/* The nodes that --exclude names. false: one of them does not exist. */
static bool find_excluded(struct session *s, node_list *nodes) {
    const struct quantize_options *q = &s->o->quantize;
    bool ok = true;
    for (int k = 0; k < q->exclude.n; k++) {
        const char *name = q->exclude.v[k];
        node_list found = nodes_named(s->u.g, NODES_OF_TOP, name, strlen(name));
        for (int j = 0; j < found.n; j++) PUSH(&s->c->arena, nodes, found.v[j]);
        if (!found.n) ok = no_node_named(s->u.g, NODES_OF_TOP, "exclude", name, strlen(name));
    }
    return ok;
}
struct quant_plan *quantization_plan(struct session *s, const struct options *o) {
    if (!session_open(s, o)) return NULL;
    node_list excluded = {0};
    s->compile.stop_after = LAST_PASS;
    if (!session_compile(s) || find_quantised(s) || !find_excluded(s, &excluded)) return NULL;
    if (o->quantize.equalize) quant_equalize(s->u.g);
    struct quant_plan *p = quant_plan_new(s->u.g, &excluded);
    if (p->products.n) return p;
    diag(&s->c->diags, DIAG_ERROR, E_OP,
         "the model has no product that can be quantised: none with constant weights in f32%s",
         excluded.n ? " that --exclude leaves" : "");
    diag_help(&s->c->diags, "convolutions and products of matrices are, with one operand constant in f32; "
                            "`gcc2nn doctor` looks for what an exporter has left between weights and products");
    return NULL;
}
struct quant_plan *quantization_insert(const struct quantization *z, struct quant_plan *whole, int floats) {
    struct quant_plan *p = whole;
    node_list out = {0};
    for (int k = 0; k < whole->left_out.n; k++) PUSH(&whole->g->ctx->arena, &out, whole->left_out.v[k]);
    for (int k = 0; k < floats; k++) PUSH(&whole->g->ctx->arena, &out, whole->products.v[z->sensitivity[k].product]);
    if (floats) p = quant_plan_new(whole->g, &out);
    quant_insert(&(struct insertion){.plan = p,
                                     .measured = whole,
                                     .quantities = z->quantities,
                                     .seen = z->seen,
                                     .seven_bits = z->o->quantize.seven_bits,
                                     .per_channel = !z->o->quantize.per_tensor,
                                     .correct_bias = z->o->quantize.bias_correction});
    return p;
}
