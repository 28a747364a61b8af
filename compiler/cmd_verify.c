/* `gcc2nn verify MODEL`: is the compiled model right? Compares its outputs with those of a referee (referee.h): the one
 * that --against names; otherwise the reference data if --data has any, and for the rest the referee for the model's
 * format. It is an error if no referee can be asked about something. --each-node compares the results of all nodes, in
 * order, and reports the first that differs; if none does, it compares what the kernels of the normally compiled
 * program leave in memory. */
#include "compiler/dataset.h"
#include "compiler/verification.h"
#include "ir/loop/target.h"
#include <stdio.h>
#include <string.h>

/* ---- variants: each is run if the CPU can, because their results differ in the last bits */
/* An instruction set that each variant after number k needs, but k does not: without it, k is the last one that can
 * run. */
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
    bool ran = harness_run(&h, inputs, s->o->each_node ? NULL : outputs, 0, 0, NULL);
    if (several && !s->o->json) printf("%s%s\n", s->targets[k]->name, other ? ": not run, this CPU cannot" : "");
    if (!ran && !other) session_blame_inputs(s);
    if (!ran) return;
    struct verification v = verification_of(s, &h, inputs, s->o->each_node ? NULL : outputs, list);
    if (several) v.target = s->targets[k]->name;
    verification_ask(&v);
}
static void verify(struct session *s, const struct harness *h, struct tensor **inputs, json_t *list) {
    for (int k = 0; k < s->ntargets && !s->c->diags.errors; k++) verify_variant(s, *h, inputs, k, list);
}
static bool can_verify(struct session *s) {
    const struct options *o = s->o;
    const char *no = o->dataset && s->ntargets > 1 ? "--dataset is for one program as it is written" : NULL;
    if (no) diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "%s", no);
    return !no;
}
/* Compiles, builds and runs the model of s, which is open, and compares. false: diagnostics, possibly about
 * differences. */
static bool verify_once(struct session *s, bool (*compile)(struct session *s), json_t *list) {
    const struct options *o = s->o;
    struct diags said = s->c->diags;
    if (!compile(s) || !session_write(s, NULL)) return false;
    if (s->kernels) s->c->diags = said; /* the model's warnings have been given for its nodes */
    const char *exe = session_build(s, arena_printf(&s->c->arena, "%s_main", s->w->name));
    struct tensor **inputs = exe && !o->dataset ? session_inputs(s) : NULL;
    struct harness h = {
        .c = s->c, .w = s->w, .exe = exe, .seconds = o->seconds, .symbols = exe ? session_symbols(s) : NULL};
    if (inputs) verify(s, &h, inputs, list);
    if (exe && o->dataset) dataset_verify(s, exe);
    return !s->c->diags.errors;
}
static void tell_json(struct session *s, json_t *outputs, json_t *kernels) {
    json_t *root = json_pack("{s:b, s:O}", "same", !s->c->diags.errors, "outputs", outputs);
    if (kernels) json_object_set(root, "kernels", kernels);
    session_json(s, root);
}
/* Nodes may be right alone, but wrong in the program: because of a pass, of fusion, or of their schedule. */
static int verify_kernels(const struct options *o, json_t *outputs) {
    struct session s;
    json_t *kernels = json_array();
    if (session_open(&s, o)) verify_once(&s, session_compile_each_kernel, kernels);
    if (o->json && s.w) tell_json(&s, outputs, kernels);
    json_decref(kernels);
    return session_close(&s);
}
int cmd_verify(const struct options *o) {
    struct session s;
    json_t *outputs = json_array();
    bool right = session_open(&s, o) && can_verify(&s) &&
                 verify_once(&s, o->each_node ? session_compile_each_node : session_compile, outputs);
    bool kernels = right && o->each_node && s.u.g;
    if (o->json && !kernels && !o->dataset && json_array_size(outputs)) tell_json(&s, outputs, NULL);
    int status = session_close(&s);
    if (kernels) status = verify_kernels(o, outputs);
    json_decref(outputs);
    return status;
}
