/* `gcc2nn prune MODEL`: --report counts zeros among the weights, and with --target says whether kernels there make use
 * of them; --structured writes a model without the channels that carry no information. Between import and export;
 * counting and removing are done in compiler/prune/. */
#include "compiler/emit_onnx.h"
#include "compiler/graph/passes.h"
#include "compiler/prune/channels.h"
#include "compiler/prune/sparsity.h"
#include "compiler/session.h"
#include <math.h>
#include <string.h>

static double percent(int64_t part, int64_t all) { return all ? 100.0 * (double)part / (double)all : 0; }

/* ---- --report --target */
/* The model as it is compiled, with the algorithms available for its kernels. */
static bool lower_for_target(struct session *s, const struct options *o) {
    static const struct remark_wish algorithms = {REMARK_ALGORITHM, NULL};
    if (!session_open(s, o)) return false;
    s->c->diags.remarks.wishes = &algorithms, s->c->diags.remarks.nwishes = 1;
    s->compile.stop_after = "lower";
    return session_compile(s);
}
/* NULL: there was no choice, or none was recorded. */
static const char *algorithms_of(const struct session *s, const struct node *n) {
    const struct remarks *r = s->c ? &s->c->diags.remarks : NULL;
    const char *origin = r && n->origin ? origin_own(s->c, n->origin) : NULL;
    for (int k = 0; origin && k < r->v.n; k++)
        if (!strcmp(r->v.v[k].origin, origin)) return r->v.v[k].message;
    return NULL;
}

/* ---- --report */
static const char *part(struct ctx *c, int64_t n, int64_t all) {
    return all ? format(c, "%lld of %lld", (long long)n, (long long)all) : "-";
}
static void report_text(struct ctx *c, const struct session *lowered, const sparsities *all, struct text *t) {
    int64_t count = 0, zeros = 0;
    text_printf(t, "%7s %7s %15s %15s %7s  weights\n", "zero", "near", "zero filters", "zero channels", "blocks");
    for (int k = 0; k < all->n; k++) {
        const struct sparsity *s = &all->v[k];
        text_printf(t, "%6.1f%% %6.1f%% %15s %15s %6.1f%%  %s %s: %.*s\n", percent(s->zeros, s->count),
                    percent(s->near, s->count), part(c, s->zero_filters, s->filters),
                    part(c, s->zero_channels, s->channels), percent(s->zero_blocks, s->blocks),
                    diag_quote(&c->arena, s->w->name), type_text(c, &s->w->type), OWN_ORIGIN(s->n));
        const char *algorithms = s->zeros ? algorithms_of(lowered, s->n) : NULL;
        if (algorithms) text_printf(t, "    %s\n", algorithms);
        count += s->count, zeros += s->zeros;
    }
    text_printf(t, "%lld of %lld weights are zero (%.1f%%)\n", (long long)zeros, (long long)count,
                percent(zeros, count));
}
static json_t *report_json(struct ctx *c, const struct session *lowered, const sparsities *all) {
    json_t *list = json_array();
    for (int k = 0; k < all->n; k++) {
        const struct sparsity *s = &all->v[k];
        json_t *o = json_pack("{s:o, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "weights",
                              json_name(&c->arena, s->w->name), "type", type_text(c, &s->w->type), "node",
                              json_name(&c->arena, format(c, "%.*s", OWN_ORIGIN(s->n))), "count", (json_int_t)s->count,
                              "zeros", (json_int_t)s->zeros, "near_zero", (json_int_t)s->near, "filters",
                              (json_int_t)s->filters, "zero_filters", (json_int_t)s->zero_filters, "blocks",
                              (json_int_t)s->blocks, "zero_blocks", (json_int_t)s->zero_blocks);
        json_object_set_new(o, "channels", s->channels ? json_integer(s->channels) : json_null());
        json_object_set_new(o, "zero_channels", s->channels ? json_integer(s->zero_channels) : json_null());
        const char *algorithms = algorithms_of(lowered, s->n);
        json_object_set_new(o, "algorithms", algorithms ? json_name(&c->arena, algorithms) : json_null());
        json_array_append_new(list, o);
    }
    return list;
}

/* ---- --threshold */
/* Sets filters with a norm below the threshold to zero. Returns their number. */
static int64_t make_zero(struct graph *g, double threshold) {
    int64_t made = 0;
    for (struct node *n = g->top->first; n; n = n->next) {
        struct product q;
        if (!product_of(n, &q)) continue;
        int64_t filters = op_channel_count(q.w, &q.lie.out), all = tensor_count(q.w), before = made;
        double *norm = NEWN(&g->ctx->arena, double, filters);
        for (int64_t i = 0; i < all; i++)
            norm[op_channel_of(q.w, &q.lie.out, i)] += tensor_f(q.w, i) * tensor_f(q.w, i);
        for (int64_t k = 0; k < filters; k++) {
            norm[k] = sqrt(norm[k]);
            made += norm[k] > 0 && norm[k] < threshold;
        }
        if (made == before) continue;
        struct tensor *t = tensor_new(&g->ctx->arena, q.w->type, q.w->dims, q.w->rank);
        for (int64_t i = 0; i < all; i++)
            if (!(norm[op_channel_of(q.w, &q.lie.out, i)] < threshold)) tensor_set_f(t, i, tensor_f(q.w, i));
        node_set_input(n, 1, graph_const(g, n->ins.v[1]->name, t));
    }
    return made;
}

/* ---- --structured */
static bool cut(struct graph *g, struct pruning *p) {
    *p = (struct pruning){.g = g};
    channels_find(p);
    channels_cut(p);
    return graph_infer(g) && graph_dce(g) && graph_verify(g, "prune");
}
static void pruned_text(const struct pruning *p, int64_t before, int64_t after, struct text *t) {
    int64_t removed = 0;
    for (int k = 0; k < p->results.n; k++) {
        const struct pruned *r = &p->results.v[k];
        text_printf(t, "%.*s: %lld of %lld filters go, %lld are zero\n", OWN_ORIGIN(r->n), (long long)r->removed,
                    (long long)r->filters, (long long)r->zero);
        if (r->why) text_printf(t, "    a zero one stays: its channel %s\n", r->why);
        removed += r->removed;
    }
    text_printf(t, "%lld filters went; weights take %lld bytes, %lld before\n", (long long)removed, (long long)after,
                (long long)before);
}
static json_t *pruned_json(struct ctx *c, const struct pruning *p) {
    json_t *list = json_array();
    for (int k = 0; k < p->results.n; k++) {
        const struct pruned *r = &p->results.v[k];
        json_t *o = json_pack("{s:o, s:I, s:I, s:I}", "node", json_name(&c->arena, format(c, "%.*s", OWN_ORIGIN(r->n))),
                              "filters", (json_int_t)r->filters, "zero", (json_int_t)r->zero, "removed",
                              (json_int_t)r->removed);
        json_object_set_new(o, "why_kept", r->why ? json_name(&c->arena, r->why) : json_null());
        json_array_append_new(list, o);
    }
    return list;
}
static bool structured(const struct options *o, struct graph *g, json_t *root, struct text *t) {
    struct ctx *c = g->ctx;
    struct pruning p;
    struct exported e;
    int64_t before = weights_bytes_of(g), made = o->prune.threshold > 0 ? make_zero(g, o->prune.threshold) : 0;
    if (made) {
        diag(&c->diags, DIAG_NOTE, E_OUTPUT, "%lld filters below the threshold were made zero: results change",
             (long long)made);
        diag_help(&c->diags, "`gcc2nn verify --dataset` or `gcc2nn diff` say by how much");
    }
    if (!cut(g, &p) || !export_onnx(g, o->out, &(struct export_options){o->opset, o->external_data}, &e)) return false;
    int64_t after = weights_bytes_of(g);
    pruned_text(&p, before, after, t);
    text_printf(t, "%s\n", exported_line(&c->arena, &e));
    json_object_set_new(root, "made_zero", json_integer(made));
    json_object_set_new(root, "products", pruned_json(c, &p));
    json_object_set_new(root, "weights_bytes_before", json_integer(before));
    json_object_set_new(root, "written", exported_json(&c->arena, &e));
    return true;
}

/* ---- the command */
static bool check(struct ctx *c, const struct options *o) {
    const char *wrong = !o->prune.report && !o->prune.structured ? "say --report, --structured or both"
                        : o->prune.structured && !o->out         ? "--out is missing: where the model goes"
                                                                 : NULL;
    if (wrong) diag_at(&c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "%s", wrong);
    return !wrong;
}
static struct graph *read_graph(struct ctx *c, const struct options *o) {
    struct graph *g = options_model(c, o, false);
    if (!g) return NULL;
    c->diags.file = g->file;
    g->keeps_operators = true;
    return graph_infer(g) && graph_dce(g) ? g : NULL;
}
int cmd_prune(const struct options *o) {
    struct ctx *c = ctx_new();
    struct text t = {0};
    struct session lowered = {0};
    json_t *root = json_object();
    options_diags(o, &c->diags);
    struct graph *g = check(c, o) ? read_graph(c, o) : NULL;
    bool compiled = !g || !o->prune.report || !o->target || lower_for_target(&lowered, o);
    if (g && compiled && o->prune.report) {
        sparsities all = sparsity_of(g, o->prune.threshold > 0 ? o->prune.threshold : -1);
        report_text(c, &lowered, &all, &t);
        json_object_set_new(root, "tensors", report_json(c, &lowered, &all));
    }
    bool ok = g && compiled && (!o->prune.structured || structured(o, g, root, &t)) && !c->diags.errors;
    int status = report_diags(compiled ? &c->diags : &lowered.c->diags);
    if (ok && o->json) print_json(root);
    else if (ok) print_text(&t);
    if (!(ok && o->json)) json_decref(root);
    text_free(&t);
    session_free(&lowered);
    ctx_free(c);
    return status;
}
