/* See verification.h. */
#include "compiler/verification.h"
#include "compiler/import/tensor_io.h"
#include "compiler/result_precision.h"
#include "ir/loop/target.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool find_open_sums(void *env, struct stmt *s) {
    bool *found = env;
    *found |= s->kind == S_INSTR && s->u.instr.row->scope != SCOPE_WARP && s->u.instr.row->bound;
    return !*found;
}
static bool has_open_sums(const struct program *p) { /* some variant of it */
    bool found = false;
    for (int i = 0; i < p->nall; i++)
        for (int k = 0; k < p->all[i]->m->procs.n; k++) walk(&p->all[i]->m->procs.v[k]->body, find_open_sums, &found);
    return found;
}
/* To the bit? What two ways of summing may differ in is rounded to steps of the precision before long. */
static bool is_exact(const struct verification *v, const struct referee *with) { return with->exact && !v->open_sums; }
static const char *output_name(const struct verification *v, int k) {
    return diag_quote(&v->s->c->arena, v->p->outs.v[k].buf->name);
}
/* The default tolerance, or that of the options. */
static struct tolerance tolerance_of(const struct verification *v, int k) {
    const struct options *o = v->s->o;
    enum dtype t = v->p->outs.v[k].buf->type;
    double step = quant_step(v->s->u.g, k);
    if (o->steps_given && dtype_is_int(t)) step = 1;
    const struct graph *g = v->s->u.g;
    bool known = g && k < g->top->results.n, computed = known && dtype_is_float(t) && !step;
    double usual = computed ? usual_rtol_of_result(g, k) : usual_rtol(t);
    if (dtype_is_float(t)) usual = fmax(usual, usual_rtol(o->precision));
    /* a step of a weight is about as much of the channel's greatest as one of bf16 is of the number itself */
    if (dtype_is_float(t) && o->weights_precision != NONE) usual = fmax(usual, usual_rtol(BF16));
    return (struct tolerance){.rtol = o->rtol_given ? o->rtol : usual,
                              .atol = o->atol,
                              .step = step,
                              .steps = o->steps_given      ? o->steps_given - 1
                                       : known && step > 0 ? usual_steps(quant_depth(g, k))
                                                           : 1};
}
static void note(struct verification *v, int k, const struct referee *with, bool same, const struct deviation *found) {
    json_t *o = json_pack("{s:o, s:s, s:b}", "name", json_name(&v->s->c->arena, v->p->outs.v[k].buf->name), "with",
                          with->key, "same", same);
    if (same && !is_exact(v, with)) {
        json_object_set_new(o, "error", json_real(found->relative));
        json_object_set_new(o, "absolute", json_real(found->absolute));
    }
    if (v->target) json_object_set_new(o, "target", json_string(v->target));
    struct tolerance t = tolerance_of(v, k);
    if (!is_exact(v, with) && t.step > 0) {
        json_t *counted = json_array();
        for (int i = 0; i < STEPS_COUNTED; i++) json_array_append_new(counted, json_integer(found->counted[i]));
        json_object_set_new(o, "step", json_real(t.step));
        json_object_set_new(o, "steps", counted);
    }
    json_array_append_new(v->list, o);
}
static bool compare(struct verification *v, int k, const struct referee *with, const struct tensor *got,
                    const struct tensor *want, struct deviation *found, struct text *why) {
    struct tolerance t = tolerance_of(v, k);
    bool same = is_exact(v, with) ? same_bits(got, want, why) : within_tolerance(got, want, &t, found, why);
    v->compared[k] = true;
    note(v, k, with, same, found);
    return same;
}
/* One of the model's own outputs. */
static void compare_output(struct verification *v, int k, const struct referee *with, const struct tensor *got,
                           const struct tensor *want) {
    struct text why = {0}, steps = {0};
    struct deviation found = {0};
    if (!compare(v, k, with, got, want, &found, &why)) {
        diag(&v->s->c->diags, DIAG_ERROR, E_OUTPUT, "output %d, %s, differs from %s: %s", k, output_name(v, k),
             with->possessive, why.s ? why.s : "");
    } else if (!v->s->o->json) {
        printf("output %d, %s: as %s", k, output_name(v, k), with->possessive);
        if (is_exact(v, with)) printf(", bit for bit\n");
        else {
            steps_text(&found, tolerance_of(v, k).step, &steps);
            printf(", error %.3g (%.3g of the greatest magnitude)%s%s\n", found.absolute, found.relative,
                   steps.n ? "; " : "", steps.n ? steps.s : "");
        }
    }
    text_free(&why);
    text_free(&steps);
}
/* The nodes that result k comes from, one per line; NULL: none. */
static const char *nodes_of(const struct verification *v, int k) {
    const struct value *r = v->s->u.g->top->results.v[k];
    return r->def && *r->def->origin ? r->def->origin : NULL;
}
static void tell_first(struct verification *v, const struct referee *with, int k, const char *why) {
    struct ctx *c = v->s->c;
    const char *nodes = nodes_of(v, k);
    size_t own = nodes ? strcspn(nodes, "\n") : 0;
    const char *others = "";
    for (const char *s = nodes ? nodes + own : ""; *s; s += strcspn(s, "\n"))
        others =
            format(c, "%s%s%.*s", others, *others ? ", " : ", in one kernel with ", (int)strcspn(s + 1, "\n"), s + 1),
        s++;
    diag_node(&c->diags, DIAG_ERROR, E_OUTPUT, nodes ? format(c, "%.*s", (int)own, nodes) : NULL,
              "%s is the first result of a %s that differs from %s%s%s: %s", output_name(v, k),
              v->s->kernels ? "kernel" : "node", with->possessive, others,
              v->s->kernels ? "; each node alone is right" : "", why);
    if (v->s->kernels) diag_help(&c->diags, "`gcc2nn bisect` finds the decision or pass that makes it so");
}
static struct tensor *output_of(const struct verification *v, struct arena *a, int k) {
    return v->outputs ? v->outputs[k] : harness_output(v->q.h, a, k);
}
struct nodes_compared {
    int same, all;
    double worst;
};
/* Only two tensors are in memory at a time. */
static void compare_node(struct verification *v, const struct referee *with, int k, struct nodes_compared *sum) {
    struct arena a = {0};
    struct text why = {0};
    struct deviation found = {0};
    struct tensor *want = with->value(&v->q, &a, k), *got = want ? output_of(v, &a, k) : NULL;
    bool first = got && sum->same == sum->all++;
    if (got && compare(v, k, with, got, want, &found, &why)) sum->same++;
    else if (first) tell_first(v, with, k, why.s ? why.s : "");
    sum->worst = fmax(sum->worst, found.relative);
    text_free(&why);
    arena_free(&a);
}
/* Results of nodes, in the order of nodes, then the model's own outputs; the first that differs shows where to look. */
static void compare_nodes(struct verification *v, const struct referee *with) {
    int n = v->p->outs.n;
    struct nodes_compared sum = {0};
    for (int j = 0; j < n; j++) compare_node(v, with, (j + v->s->own_outputs) % n, &sum);
    if (!sum.all) diag(&v->s->c->diags, DIAG_ERROR, E_ENV, "%s has no value for any result of a node", with->name);
    if (v->s->o->json || !sum.all) return;
    printf("%d of %d results of %s: as %s, ", sum.same, sum.all, v->s->kernels ? "kernels" : "nodes", with->possessive);
    if (is_exact(v, with)) printf("bit for bit");
    else printf("error at most %.3g of the greatest magnitude", sum.worst);
    if (sum.all < n) printf("; it has no value for %d more", n - sum.all);
    printf("\n");
}

static void compare_references(struct verification *v) {
    struct session *s = v->s;
    holders given = session_gives(s);
    for (int k = 0; k < given.n; k++) {
        const struct holder *h = &given.v[k];
        struct value_io want, got;
        if (!session_reference(s, k, h, &want) || !session_output(s, h, v->outputs, &got)) continue;
        for (int i = 0; i < h->n; i++) v->compared[h->first + i] = true;
        if (want.present != got.present || want.n != got.n)
            diag(&s->c->diags, DIAG_ERROR, E_OUTPUT, "output %d, %s, differs from the reference: %s instead of %s", k,
                 diag_quote(&s->c->arena, h->name), session_count(s, got.present, got.n),
                 session_count(s, want.present, want.n));
        else /* the elements of a packed sequence are all in its first tensor */
            for (int i = 0; i < got.n; i++)
                compare_output(v, h->first + h->asked + (h->packed ? 0 : i), referee_named("ref"), got.tensors[i],
                               want.tensors[i]);
    }
}
/* false: a diagnostic. */
static bool asked(struct verification *v, const struct referee *with) {
    const char *why = NULL;
    struct diags *d = &v->s->c->diags;
    int before = d->errors;
    if (with->ask(&v->q, &why)) return true;
    if (d->errors != before) return false;
    diag(d, DIAG_ERROR, E_ENV, "%s cannot be asked: %s", with->name, why);
    if (with->package && v->s->c->own_ops.n)
        diag_help(d,
                  "--python names a Python that has the package %s; `gcc2nn ort-ops` writes the library of your "
                  "operators that is loaded there; outputs of --data and --against=interpreter need neither",
                  with->package);
    else if (with->package)
        diag_help(d, "--python names a Python that has the package %s; --against says what else to compare with",
                  with->package);
    else diag_help(d, "--against says what else to compare with");
    return false;
}
/* Compares the outputs that have not been compared yet. */
static void ask(struct verification *v, const struct referee *with) {
    if (!asked(v, with)) return;
    if (with == referee_named("ref")) { /* values as the model declares them */
        compare_references(v);
        return;
    }
    if (v->s->o->each_node) {
        compare_nodes(v, with);
        return;
    }
    for (int k = 0; k < v->p->outs.n; k++) {
        struct tensor *want = v->compared[k] ? NULL : with->value(&v->q, &v->s->c->arena, k);
        if (want) compare_output(v, k, with, v->outputs[k], want);
    }
}
static bool all_compared(const struct verification *v) {
    for (int k = 0; k < v->p->outs.n; k++)
        if (!v->compared[k]) return false;
    return true;
}
void verification_ask(struct verification *v) {
    const struct options *o = v->s->o;
    const struct referee *last = o->against ? referee_named(o->against) : referee_usual(v->s);
    int before = v->s->c->diags.errors;
    if (!o->against && o->data && !o->each_node) ask(v, referee_named("ref"));
    if (!all_compared(v)) ask(v, last);
    for (int k = 0; k < v->p->outs.n && !o->each_node && v->s->c->diags.errors == before; k++) {
        if (v->compared[k]) continue;
        diag(&v->s->c->diags, DIAG_ERROR, E_ENV, "output %d, %s, is not compared: %s has no value for it", k,
             output_name(v, k), last->name);
        diag_help(&v->s->c->diags, "--against says what else to compare with");
    }
}

/* ---- for other files */
bool verification_same(const struct verification *v, int k, const struct tensor *want, struct text *why) {
    struct tolerance t = tolerance_of(v, k);
    struct deviation found;
    return within_tolerance(output_of(v, &v->s->c->arena, k), want, &t, &found, why);
}
struct tensor **verification_wanted(struct verification *v, const struct referee **with) {
    const struct options *o = v->s->o;
    struct tensor **want = NEWN(&v->s->c->arena, struct tensor *, v->p->outs.n + 1);
    *with = o->against ? referee_named(o->against) : referee_named("ref");
    if (*with == referee_named("ref") && (o->against || o->data)) {
        if (o->data && session_references(v->s, want)) return want;
        if (o->against) return asked(v, *with) ? want : NULL;
    }
    if (!o->against) *with = referee_usual(v->s);
    if (!asked(v, *with)) return NULL;
    for (int k = 0; k < v->p->outs.n; k++) want[k] = (*with)->value(&v->q, &v->s->c->arena, k);
    return want;
}
bool verification_ask_nodes(struct verification *v) {
    const char *why = NULL;
    return referee_usual(v->s)->ask(&v->q, &why);
}
bool verification_node_same(const struct verification *v, int k, struct text *why) {
    struct arena a = {0};
    struct tolerance t = tolerance_of(v, k);
    struct deviation found;
    struct tensor *want = referee_usual(v->s)->value(&v->q, &a, k), *got = want ? output_of(v, &a, k) : NULL;
    bool same = !got || within_tolerance(got, want, &t, &found, why);
    arena_free(&a);
    return same;
}
struct verification verification_of(struct session *s, const struct harness *h, struct tensor **inputs,
                                    struct tensor *const *outputs, json_t *list) {
    return (struct verification){.s = s,
                                 .p = s->w->program,
                                 .outputs = outputs,
                                 .q = {s, h, inputs, NULL},
                                 .compared = NEWN(&s->c->arena, bool, s->w->program->outs.n + 1),
                                 .open_sums = has_open_sums(s->w->program),
                                 .list = list};
}
