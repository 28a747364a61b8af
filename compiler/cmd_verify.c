/* `gcc2nn verify MODEL`: is the compiled model right? Its outputs are compared with those of a referee (referee.h):
 * the one that --against names, else the stored reference where --data has one and the one that knows the model's
 * format for the rest. What no referee could be asked about is an error. --each-node compares the results of all nodes,
 * in order, and tells the first that departs. */
#include "compiler/compare.h"
#include "compiler/import/tensor_io.h"
#include "compiler/referee.h"
#include "compiler/result_precision.h"
#include "ir/loop/target.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct verification {
    struct session *s;
    const struct program *p;
    struct tensor *const *outputs;
    struct question q;
    bool *compared;     /* of each output: with something */
    bool open_sums;     /* the machine's instructions sum in an order of their own */
    const char *target; /* of the variant; NULL: there is one */
    json_t *list;
};
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
/* The usual one, or what the options say. */
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
/* Results of nodes, in the order of nodes, then the model's own; the first that differs tells where to look. */
static void compare_nodes(struct verification *v, const struct referee *with, struct tensor *const *want) {
    int n = v->p->outs.n, own = v->s->own_outputs, same = 0, all = 0;
    double worst = 0;
    for (int j = 0; j < n; j++) {
        int k = (j + own) % n;
        struct text why = {0};
        struct deviation found = {0};
        if (!want[k]) continue;
        bool first = same == all++;
        if (compare(v, k, with, v->outputs[k], want[k], &found, &why)) same++;
        else if (first)
            diag(&v->s->c->diags, DIAG_ERROR, E_OUTPUT, "%s is the first result of a node that differs from %s: %s",
                 output_name(v, k), with->possessive, why.s ? why.s : "");
        if (found.relative > worst) worst = found.relative;
        text_free(&why);
    }
    if (!all) diag(&v->s->c->diags, DIAG_ERROR, E_ENV, "%s has no value for any result of a node", with->name);
    if (v->s->o->json || !all) return;
    printf("%d of %d results of nodes: as %s, ", same, all, with->possessive);
    if (is_exact(v, with)) printf("bit for bit");
    else printf("error at most %.3g of the greatest magnitude", worst);
    if (all < n) printf("; it has no value for %d more", n - all);
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
        else /* elements of a packed sequence are all of its first tensor */
            for (int i = 0; i < got.n; i++)
                compare_output(v, h->first + h->asked + (h->packed ? 0 : i), referee_named("ref"), got.tensors[i],
                               want.tensors[i]);
    }
}
/* Compares what is not compared yet. */
static void ask(struct verification *v, const struct referee *with) {
    const char *why = NULL;
    struct diags *d = &v->s->c->diags;
    int before = d->errors;
    struct tensor **want = with->values(&v->q, &why);
    if (!want && d->errors == before) {
        diag(d, DIAG_ERROR, E_ENV, "%s cannot be asked: %s", with->name, why);
        if (with->package)
            diag_help(d, "--python names a Python that has the package %s; --against says what else to compare with",
                      with->package);
        else diag_help(d, "--against says what else to compare with");
    }
    if (!want) return;
    if (with == referee_named("ref")) { /* values as the model declares them */
        compare_references(v);
        return;
    }
    if (v->s->o->each_node) {
        compare_nodes(v, with, want);
        return;
    }
    for (int k = 0; k < v->p->outs.n; k++)
        if (want[k] && !v->compared[k]) compare_output(v, k, with, v->outputs[k], want[k]);
}
static bool all_compared(const struct verification *v) {
    for (int k = 0; k < v->p->outs.n; k++)
        if (!v->compared[k]) return false;
    return true;
}
static void ask_all(struct verification *v) {
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

/* ---- variants: each is run where the CPU can, for what they compute differs in the last bits */
/* A need of each variant behind number k that k can do without: then k is the last one that can run. */
static const char *without_later(struct session *s, int k) {
    const char *all = "", *own = s->targets[k]->needs ? s->targets[k]->needs : "";
    for (int j = k + 1; j < s->ntargets; j++)
        for (const char *at = s->targets[j]->needs; *at; at += strcspn(at, " "), at += *at == ' ') {
            const char *word = format(s->c, "%.*s", (int)strcspn(at, " "), at);
            if (strstr(own, word)) continue;
            all = format(s->c, "%s%s%s", all, *all ? " " : "", word);
            break;
        }
    return *all ? all : NULL;
}
static void verify_variant(struct session *s, struct harness h, struct tensor **inputs, int k, json_t *list) {
    int n = s->w->program->outs.n;
    struct tensor **outputs = NEWN(&s->c->arena, struct tensor *, n + 1);
    bool other = false, several = s->ntargets > 1;
    if (several) {
        h.variant = k + 1;
        h.without = without_later(s, k);
        h.other = &other;
        if (k) s->u.m = s->variants[k - 1].m;
    }
    bool ran = harness_run(&h, inputs, outputs, 0, 0, NULL);
    if (several && !s->o->json) printf("%s%s\n", s->targets[k]->name, other ? ": not run, this CPU cannot" : "");
    if (!ran && !other) session_blame_inputs(s);
    if (!ran) return;
    struct verification v = {.s = s,
                             .p = s->w->program,
                             .outputs = outputs,
                             .q = {s, &h, inputs},
                             .compared = NEWN(&s->c->arena, bool, n + 1),
                             .open_sums = has_open_sums(s->w->program),
                             .target = several ? s->targets[k]->name : NULL,
                             .list = list};
    ask_all(&v);
}
static void verify(struct session *s, const struct harness *h, struct tensor **inputs) {
    json_t *list = json_array();
    for (int k = 0; k < s->ntargets && !s->c->diags.errors; k++) verify_variant(s, *h, inputs, k, list);
    if (s->o->json) session_json(s, json_pack("{s:b, s:O}", "same", !s->c->diags.errors, "outputs", list));
    json_decref(list);
}
int cmd_verify(const struct options *o) {
    struct session s;
    if (session_open(&s, o) && (o->each_node ? session_compile_each_node(&s) : session_compile(&s)) &&
        session_write(&s, NULL)) {
        const char *exe = session_build(&s, arena_printf(&s.c->arena, "%s_main", s.w->name));
        struct tensor **inputs = exe ? session_inputs(&s) : NULL;
        struct harness h = {
            .c = s.c, .w = s.w, .exe = exe, .seconds = o->seconds, .symbols = inputs ? session_symbols(&s) : NULL};
        if (inputs) verify(&s, &h, inputs);
    }
    return session_close(&s);
}
