/* `gcc2nn verify MODEL`: is the compiled model right? Its outputs are compared with those of a referee (referee.h):
 * the one that --against names, else the stored reference where --data has one and the one that knows the model's
 * format for the rest. What no referee could be asked about is an error. --each-node compares the results of all nodes,
 * in order, and tells the first that departs. */
#include "compiler/dataset.h"
#include "compiler/verification.h"
#include "ir/loop/target.h"
#include <stdio.h>
#include <string.h>

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
    bool ran = harness_run(&h, inputs, s->o->each_node ? NULL : outputs, 0, 0, NULL);
    if (several && !s->o->json) printf("%s%s\n", s->targets[k]->name, other ? ": not run, this CPU cannot" : "");
    if (!ran && !other) session_blame_inputs(s);
    if (!ran) return;
    struct verification v = verification_of(s, &h, inputs, s->o->each_node ? NULL : outputs, list);
    if (several) v.target = s->targets[k]->name;
    verification_ask(&v);
}
static void verify(struct session *s, const struct harness *h, struct tensor **inputs) {
    json_t *list = json_array();
    for (int k = 0; k < s->ntargets && !s->c->diags.errors; k++) verify_variant(s, *h, inputs, k, list);
    if (s->o->json) session_json(s, json_pack("{s:b, s:O}", "same", !s->c->diags.errors, "outputs", list));
    json_decref(list);
}
static bool can_verify(struct session *s) {
    const struct options *o = s->o;
    const char *no = !o->dataset && o->metric                 ? "--metric is of --dataset"
                     : !o->dataset && o->max_drop_given       ? "--max-drop is of --dataset"
                     : o->dataset && (o->data || o->inputs.n) ? "--dataset has the inputs: no --data or --input"
                     : o->dataset && (o->each_node || s->ntargets > 1) ? "--dataset is for one program as it is written"
                                                                       : NULL;
    if (no) diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "%s", no);
    return !no;
}
int cmd_verify(const struct options *o) {
    struct session s;
    if (session_open(&s, o) && can_verify(&s) && (o->each_node ? session_compile_each_node(&s) : session_compile(&s)) &&
        session_write(&s, NULL)) {
        const char *exe = session_build(&s, arena_printf(&s.c->arena, "%s_main", s.w->name));
        struct tensor **inputs = exe && !o->dataset ? session_inputs(&s) : NULL;
        struct harness h = {
            .c = s.c, .w = s.w, .exe = exe, .seconds = o->seconds, .symbols = exe ? session_symbols(&s) : NULL};
        if (inputs) verify(&s, &h, inputs);
        if (exe && o->dataset) dataset_verify(&s, &h);
    }
    return session_close(&s);
}
