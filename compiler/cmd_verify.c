/* `gcc2nn verify MODEL`: is the compiled model right? Each output is compared with the stored reference when --data has
 * one, else with what ONNX Runtime makes of the same inputs where Python has it, both within a tolerance, and else with
 * the interpreter of the same loops, bit for bit. --each-node compares the results of all nodes with ONNX Runtime's or
 * the interpreter's, in order, and tells the first that departs. */
#include "compiler/compare.h"
#include "compiler/import/tensor_io.h"
#include "compiler/peer.h"
#include <stdio.h>

/* What outputs are compared with. */
struct source {
    const char *key, *name, *possessive; /* for --json, and in messages */
    bool exact;
};
static const struct source reference_file = {"reference", "the reference", "the reference", false};
static const struct source peer = {"onnxruntime", "ONNX Runtime", "ONNX Runtime's", false};
static const struct source interpreter = {"interpreter", "the interpreter", "the interpreter's", true};

struct verification {
    struct session *s;
    const struct program *p;
    struct tensor *const *outputs;
    bool *compared; /* of each output: with something */
    json_t *list;
};
static const char *output_name(const struct verification *v, int k) {
    return diag_quote(&v->s->c->arena, v->p->outs.v[k].buf->name);
}
static void note(struct verification *v, int k, const struct source *with, bool same, const struct deviation *found) {
    json_t *o = json_pack("{s:o, s:s, s:b}", "name", json_name(&v->s->c->arena, v->p->outs.v[k].buf->name), "with",
                          with->key, "same", same);
    if (same && !with->exact) {
        json_object_set_new(o, "error", json_real(found->relative));
        json_object_set_new(o, "absolute", json_real(found->absolute));
    }
    json_array_append_new(v->list, o);
}
static bool compare(struct verification *v, int k, const struct source *with, const struct tensor *want,
                    struct deviation *found, struct text *why) {
    const struct tensor *got = v->outputs[k];
    bool same =
        with->exact ? same_bits(got, want, why) : within_tolerance(got, want, usual_tolerance(want->type), found, why);
    v->compared[k] = true;
    note(v, k, with, same, found);
    return same;
}
/* One of the model's own outputs. */
static void compare_output(struct verification *v, int k, const struct source *with, const struct tensor *want) {
    struct text why = {0};
    struct deviation found = {0, 0};
    if (!compare(v, k, with, want, &found, &why))
        diag(&v->s->c->diags, DIAG_ERROR, E_OUTPUT, "output %d, %s, differs from %s: %s", k, output_name(v, k),
             with->possessive, why.s ? why.s : "");
    else if (!v->s->o->json && !with->exact)
        printf("output %d, %s: as %s, error %.3g (%.3g of the greatest magnitude)\n", k, output_name(v, k),
               with->possessive, found.absolute, found.relative);
    text_free(&why);
}
/* Results of nodes, in the order of nodes, then the model's own; the first that differs tells where to look. want[k]
 * NULL: nothing to compare with. */
static void compare_nodes(struct verification *v, const struct source *with, struct tensor *const *want) {
    int n = v->p->outs.n, own = v->s->own_outputs, same = 0, all = 0;
    double worst = 0;
    for (int j = 0; j < n; j++) {
        int k = (j + own) % n;
        struct text why = {0};
        struct deviation found = {0, 0};
        if (!want[k]) continue;
        bool first = same == all++;
        if (compare(v, k, with, want[k], &found, &why)) same++;
        else if (first)
            diag(&v->s->c->diags, DIAG_ERROR, E_OUTPUT, "%s is the first result of a node that differs from %s: %s",
                 output_name(v, k), with->possessive, why.s ? why.s : "");
        if (found.relative > worst) worst = found.relative;
        text_free(&why);
    }
    if (v->s->o->json || !all) return;
    printf("%d of %d results of nodes: as %s, ", same, all, with->possessive);
    if (with->exact) printf("bit for bit\n");
    else printf("error at most %.3g of the greatest magnitude\n", worst);
}

static void compare_references(struct verification *v) {
    struct session *s = v->s;
    holders given = session_gives(s);
    for (int k = 0; k < given.n && s->o->data; k++) {
        const struct holder *h = &given.v[k];
        struct value_io want;
        if (!session_reference(s, k, h, &want)) continue;
        if (want.present != h->present || want.n != h->n) {
            diag(&s->c->diags, DIAG_ERROR, E_OUTPUT, "output %d, %s, differs from the reference: %s instead of %s", k,
                 diag_quote(&s->c->arena, h->name), session_count(s, h->present, h->n),
                 session_count(s, want.present, want.n));
            for (int i = 0; i < h->n; i++) v->compared[h->first + i] = true;
        } else {
            for (int i = 0; i < h->n; i++) compare_output(v, h->first + i, &reference_file, want.tensors[i]);
        }
    }
}
static bool all_compared(const struct verification *v) {
    for (int k = 0; k < v->p->outs.n; k++)
        if (!v->compared[k]) return false;
    return true;
}
static void compare_peer(struct verification *v, const struct harness *h) {
    const char *why = NULL;
    struct tensor **want = peer_outputs(v->s, h, &why);
    if (!want) {
        diag(&v->s->c->diags, DIAG_NOTE, E_ENV, "not compared with ONNX Runtime: %s", why);
        return;
    }
    if (v->s->o->each_node) compare_nodes(v, &peer, want);
    for (int k = 0; k < v->p->outs.n; k++)
        if (want[k] && !v->compared[k]) compare_output(v, k, &peer, want[k]);
}
/* Those that nothing else was there for; all with --interpret. */
static void compare_interpreter(struct verification *v, struct tensor **inputs) {
    struct tensor **want = NEWN(&v->s->c->arena, struct tensor *, v->p->outs.n + 1);
    int before = v->s->c->diags.errors, n = 0;
    if (!session_interpret(v->s, inputs, want)) return;
    for (int k = 0; k < v->p->outs.n; k++)
        if (v->compared[k] && !v->s->o->interpret) want[k] = NULL;
    if (v->s->o->each_node) {
        compare_nodes(v, &interpreter, want);
        return;
    }
    for (int k = 0; k < v->p->outs.n; k++)
        if (want[k]) compare_output(v, k, &interpreter, want[k]), n++;
    if (!v->s->o->json)
        printf("%d of %d outputs: as the interpreter's, bit for bit\n", n - (v->s->c->diags.errors - before), n);
}

static void verify(struct session *s, const struct harness *h, struct tensor **inputs, struct tensor *const *outputs) {
    int n = s->w->program->outs.n;
    struct verification v = {s, s->w->program, outputs, NEWN(&s->c->arena, bool, n + 1), json_array()};
    if (!s->o->each_node) compare_references(&v);
    if (!s->o->interpret && !all_compared(&v)) compare_peer(&v, h);
    if (s->o->interpret || !all_compared(&v)) compare_interpreter(&v, inputs);
    if (s->o->json) session_json(s, json_pack("{s:b, s:O}", "same", !s->c->diags.errors, "outputs", v.list));
    json_decref(v.list);
}
int cmd_verify(const struct options *o) {
    struct session s;
    if (session_open(&s, o) && (o->each_node ? session_compile_each_node(&s) : session_compile(&s)) &&
        session_write(&s, NULL)) {
        const char *exe = session_build(&s, arena_printf(&s.c->arena, "%s_main", s.w->name));
        struct tensor **inputs = exe ? session_inputs(&s) : NULL,
                      **outputs = NEWN(&s.c->arena, struct tensor *, s.w->program->outs.n + 1);
        struct harness h = {
            .c = s.c, .w = s.w, .exe = exe, .seconds = o->seconds, .symbols = inputs ? session_symbols(&s) : NULL};
        if (inputs && harness_run(&h, (const struct tensor *const *)inputs, outputs, 0, 0, NULL))
            verify(&s, &h, inputs, outputs);
    }
    return session_close(&s);
}
