/* `gcc2nn surgeon MODEL -o OUT.onnx`: cuts a model, changes its shapes and writes it again. Only the order of the steps
 * is here; the steps are in surgeon_cut.c and surgeon_ends.c. */
#include "compiler/emit_onnx.h"
#include "compiler/graph/passes.h"
#include "compiler/surgeon.h"

static void report(struct ctx *c, const struct graph *g, const struct exported *e, bool json) {
    struct text t = {0};
    if (json) {
        json_t *o = exported_json(&c->arena, e);
        json_ends(g, o);
        print_json(o);
        return;
    }
    text_printf(&t, "%s\n", exported_line(&c->arena, e));
    print_ends(g, &t, 8);
    print_text(&t);
}

static bool fold(struct surgery *s) {
    if (!s->words->fold) return true;
    return graph_fold_constants(s->g) && graph_dce(s->g);
}
static bool shape(struct surgery *s, const char *passes) {
    if (!surgery_cut(s) || !surgery_ends(s)) return false;
    if ((s->words->fold || passes) && surgery_unknown(s))
        return graph_infer(s->g); /* reports the operator that is in the way */
    return fold(s) && (!passes || run_graph_passes(s->g, passes)) && graph_dce(s->g) && graph_verify(s->g, "surgeon");
}
int cmd_surgeon(const struct options *o) {
    struct ctx *c = ctx_new();
    options_diags(o, &c->diags);
    struct exported e;
    struct surgery s = {.c = c, .words = &o->surgery};
    if (!o->out) diag_at(&c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "--out is missing: where the model goes");
    else s.g = options_model(c, o, true);
    if (s.g) {
        c->diags.file = s.g->file;
        s.g->keeps_operators = true;
        if (shape(&s, o->passes) && export_onnx(s.g, o->out, &(struct export_options){o->opset, o->external_data}, &e))
            report(c, s.g, &e, o->json);
    }
    int status = report_diags(&c->diags);
    ctx_free(c);
    return status;
}
