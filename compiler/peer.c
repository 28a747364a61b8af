/* See peer.h. Values go through files in the build folder. */
#include "compiler/peer.h"
#include "codegen/template.h"
#include "compiler/ort_ops.h"
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PACKAGE_MISSING = 77 };

static const char *want_file(const struct harness *h, int k) { return format(h->c, "%s/want%d.nnt", h->w->folder, k); }
/* The names that the model has for the inputs and outputs of the program; operators: a library, or NULL. */
static bool write_names(struct session *s, const struct peer_data *data, const char *operators) {
    const struct program *p = s->w->program;
    json_t *ins = json_array(), *outs = json_array();
    for (int k = 0; k < p->ins.n; k++) json_array_append_new(ins, json_name(&s->c->arena, p->ins.v[k].buf->base));
    for (int k = 0; k < p->outs.n; k++) json_array_append_new(outs, json_name(&s->c->arena, p->outs.v[k].buf->base));
    json_t *samples = json_array();
    for (int k = 0; k < data->n; k++) json_array_append_new(samples, json_name(&s->c->arena, data->folders[k]));
    json_t *names =
        json_pack("{s:o, s:o, s:o, s:s?}", "inputs", ins, "outputs", outs, "samples", samples, "operators", operators);
    char *dumped = json_dumps(names, 0);
    struct text t = {0};
    text_add(&t, dumped);
    bool ok = harness_file(s->c, format(s->c, "%s/names.json", s->w->folder), &t, NULL, 0);
    text_free(&t);
    free(dumped);
    json_decref(names);
    return ok;
}
/* It runs in the build folder; a link stays one, for that is how Python knows a virtual environment. */
static const char *python_program(struct session *s) {
    const char *given = s->o->python ? s->o->python : "python3";
    char here[PATH_MAX];
    return strchr(given, '/') && *given != '/' && getcwd(here, sizeof here) ? format(s->c, "%s/%s", here, given)
                                                                            : given;
}
static const char *failure(struct session *s, const char *python, const struct outcome *o) {
    const char *said = o->err.s ? o->err.s : "";
    int n = (int)strcspn(said, "\n");
    if (!o->started) return format(s->c, "%s cannot be started", python);
    if (o->timed_out) return "it did not finish in time";
    if (o->status == PACKAGE_MISSING) return format(s->c, "%s: %.*s", python, n, said);
    return format(s->c, "it cannot run the model: %.*s", n, said);
}
bool peer_ask(struct session *s, const struct harness *h, const char *script, const char **why) {
    for (int k = 0; k < s->w->program->outs.n; k++) unlink(want_file(h, k)); /* the folder may have been there before */
    return peer_ask_all(s, script, &(struct peer_data){0}, why);
}
bool peer_ask_all(struct session *s, const char *script, struct peer_data *data, const char **why) {
    const struct program *p = s->w->program;
    const char *python = python_program(s);
    char real[PATH_MAX], *model = realpath(s->o->args.v[0], real);
    const char *operators = NULL; /* of the user's own */
    struct text text = {0};
    template_text(&text, "templates/peer/values.py", (const char *const[]){NULL});
    template_text(&text, script, (const char *const[]){NULL});
    const char *words[24] = {python,
                             "-c",
                             text.s,
                             model,
                             s->o->each_node ? "1" : "0",
                             s->u.g && s->u.g->quantized ? "1" : "0",
                             s->o->signature ? s->o->signature : "",
                             NULL};
    struct outcome o = {0};
    bool ok = false;
    for (int k = 0; data->more && data->more[k]; k++) words[7 + k] = data->more[k];
    if (!program_exists(python)) *why = format(s->c, "%s was not found", python);
    else if (p->m->taken.n) *why = "it is given tensors only";
    else if (s->c->own_ops.n && !(operators = ort_ops_build(s->c, s->w->folder, "ort_ops", why))) ok = false;
    else if (!model || !write_names(s, data, operators)) *why = "the files for it cannot be written";
    else {
        o = process_run(words, s->w->folder, s->o->seconds ? s->o->seconds : 600);
        ok = o.started && !o.timed_out && o.status == 0;
        if (ok) data->said = format(s->c, "%s", o.out.s ? o.out.s : "");
        if (!ok) *why = failure(s, python, &o);
    }
    outcome_free(&o);
    text_free(&text);
    return ok;
}
struct tensor *peer_value(const struct harness *h, struct arena *a, int k) {
    return access(want_file(h, k), F_OK) == 0 ? harness_tensor(h, a, want_file(h, k)) : NULL;
}
