/* manifest.json: the facts of a build folder for other programs. See project.h. */
#include "codegen/project.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Names of a model need not be UTF-8; then their escaped form is given. */
static json_t *text_value(const struct project *w, const char *s) {
    json_t *j = s ? json_string(s) : json_null();
    return j ? j : json_string(diag_quote(&w->program->c->arena, s));
}
/* An array of the lines of a text; empty for NULL. */
static json_t *lines(const struct project *w, const char *s) {
    json_t *all = json_array();
    for (const char *end; s; s = *end ? end + 1 : NULL) {
        end = s + strcspn(s, "\n");
        json_array_append_new(all, text_value(w, format(w->program->c, "%.*s", (int)(end - s), s)));
    }
    return all;
}
static json_t *dims_value(struct program *p, const struct buf *b) {
    json_t *a = json_array();
    for (int k = 0; k < b->nlogical; k++) {
        int64_t n;
        if (x_is_int(b->logical[k], &n)) json_array_append_new(a, json_integer(n));
        else json_array_append_new(a, json_string(program_size(p, b->logical[k], NULL, NULL)));
    }
    return a;
}
static json_t *io_value(const struct project *w, const struct io *io) {
    json_t *o = json_object();
    json_object_set_new(o, "name", text_value(w, io->buf->name));
    json_object_set_new(o, "member", json_string(io->member));
    json_object_set_new(o, "type", json_string(dtype_name(io->buf->type)));
    json_object_set_new(o, "onnx_type", json_integer(dtype_onnx(io->buf->type)));
    json_object_set_new(o, "dims", dims_value(w->program, io->buf));
    if (io->produced) json_object_set_new(o, "size_found_in_run", json_true());
    return o;
}
static json_t *symbols(const struct project *w) {
    struct program *p = w->program;
    json_t *a = json_array();
    for (int k = 0; k < p->syms.n; k++) {
        const struct sym *s = p->syms.v[k];
        json_t *o = json_object();
        json_object_set_new(o, "name", text_value(w, s->name));
        json_object_set_new(o, "member", json_string(program_sym(p, s)));
        json_object_set_new(o, "least", json_integer(s->lo));
        json_object_set_new(o, "most", json_integer(s->hi));
        json_object_set_new(o, "typical", json_integer(program_reference(p, s)));
        json_array_append_new(a, o);
    }
    return a;
}
static json_t *weight_entry(const struct project *w, struct program *p, int k) {
    const struct weight *q = &p->weights.v[k];
    json_t *e = json_object();
    json_object_set_new(e, "name", text_value(w, q->buf->name));
    json_object_set_new(e, "type", json_string(dtype_name(q->buf->type)));
    json_object_set_new(e, "dims", dims_value(p, q->buf));
    json_object_set_new(e, "offset", json_integer(q->offset));
    json_object_set_new(e, "bytes", json_integer(q->bytes));
    if (p->nall > 1) json_object_set_new(e, "target", json_string(p->target->name));
    return e;
}
static json_t *weights(const struct project *w) {
    struct program *p = w->program;
    static const char *const modes[] = {
        [WEIGHTS_AUTO] = "auto", [WEIGHTS_INCBIN] = "incbin", [WEIGHTS_C] = "array", [WEIGHTS_FILE] = "file"};
    json_t *o = json_object(), *entries = json_array();
    json_object_set_new(o, "kept_as", json_string(modes[p->mode]));
    json_object_set_new(o, "bytes", json_integer(p->weights_bytes));
    json_object_set_new(o, "hash", json_string(format(p->c, "%016llx", (unsigned long long)p->weights_hash)));
    for (int j = 0; j < p->nall; j++)
        for (int k = 0; k < p->all[j]->weights.n; k++) json_array_append_new(entries, weight_entry(w, p->all[j], k));
    json_object_set_new(o, "entries", entries);
    return o;
}
/* Which output a caller gives as which input of the next run. */
static json_t *manifest_states(const struct program *p) {
    json_t *list = json_array();
    for (int k = 0; k < p->m->kept.n; k++)
        json_array_append_new(
            list, json_pack("{s:i, s:i}", "input", p->m->kept.v[k].input, "output", p->m->kept.v[k].output));
    return list;
}
/* By the entry: the parts that it launches stand beside it in its file. */
static bool is_called(const struct proc *p) { return !p->launch; }
/* The kernels that are for a node of the model, by its origin; all of these lists are in `lists`. */
static void note_kernels(const struct project *w, struct map *of_node, json_t *lists) {
    struct program *p = w->program;
    for (int k = 0; k < p->m->procs.n; k++)
        for (const char *s = is_called(p->m->procs.v[k]) ? p->m->procs.v[k]->comment : NULL, *end; s;
             s = *end ? end + 1 : NULL) {
            end = s + strcspn(s, "\n");
            uint64_t key = PKEY(internn(p->c->names, s, (size_t)(end - s)));
            json_t *list = map_get(of_node, key);
            if (!list) {
                map_put(of_node, key, list = json_array());
                json_array_append_new(lists, list);
            }
            json_array_append_new(list, json_string(emit_proc_name(p->c, p->m->procs.v[k], &p->emit)));
        }
}
/* What became of each node of the model. */
static json_t *nodes(const struct project *w) {
    struct program *p = w->program;
    struct map of_node = {.arena = &p->c->arena};
    json_t *all = json_array(), *lists = json_array();
    note_kernels(w, &of_node, lists);
    for (int k = 0; k < p->m->sources.n; k++) {
        const struct source_node *s = &p->m->sources.v[k];
        json_t *o = json_object(), *kernels = map_get(&of_node, PKEY(s->into ? s->into : s->origin));
        json_object_set_new(o, "node", text_value(w, s->origin));
        json_object_set_new(o, "state", json_string(source_state_name(s->state)));
        if (s->into) json_object_set_new(o, "into", text_value(w, s->into));
        if (s->pass) json_object_set_new(o, "pass", json_string(s->pass));
        if (s->rule) json_object_set_new(o, "rule", json_string(s->rule));
        const char *why = s->why || s->state != SOURCE_ALIVE || kernels ? s->why : "statements of the run function";
        if (why) json_object_set_new(o, "why", text_value(w, why));
        if (s->state != SOURCE_REMOVED)
            json_object_set_new(o, "kernels", kernels ? json_deep_copy(kernels) : json_array());
        json_array_append_new(all, o);
    }
    json_decref(lists);
    return all;
}
static json_t *arena(struct program *p) {
    json_t *o = json_object();
    if (p->is_static) json_object_set_new(o, "bytes", json_integer(p->arena_bytes));
    else json_object_set_new(o, "bytes_at_typical_sizes", json_integer(p->plan->peak));
    json_object_set_new(o, "least_possible", json_integer(p->plan->bound));
    json_object_set_new(o, "region", json_boolean(p->has_region));
    return o;
}
json_t *manifest_holders(const struct project *w, const holders *h) {
    json_t *all = json_array();
    for (int k = 0; k < h->n; k++) {
        const struct holder *x = &h->v[k];
        json_t *o = json_pack("{s:o, s:s, s:b, s:i, s:i}", "name", text_value(w, x->name), "kind",
                              value_kind_name(x->kind), "present", x->present, "first", x->first, "count", x->n);
        if (x->asked) json_object_set_new(o, "asked", json_true());
        if (x->packed) json_object_set_new(o, "packed", json_true());
        json_array_append_new(all, o);
    }
    return all;
}
void project_manifest(const struct project *w, struct text *out) {
    struct program *p = w->program;
    json_t *o = json_object(), *ins = json_array(), *outs = json_array(), *kernels = json_array(),
           *sources = json_array(), *files = json_array(), *source = json_object();
    json_object_set_new(o, "generator", json_string("gcc2nn"));
    json_object_set_new(o, "version", json_string(GCC2NN_VERSION));
    json_object_set_new(o, "format", json_integer(1));
    json_object_set_new(o, "name", json_string(p->name));
    json_object_set_new(o, "target", json_string(program_targets(p)));
    json_object_set_new(o, "cflags", json_string(w->cflags));
    json_object_set_new(source, "file", text_value(w, p->o->model_file));
    json_object_set_new(source, "hash", json_string(format(p->c, "%016llx", (unsigned long long)p->o->model_hash)));
    json_object_set_new(source, "producer", text_value(w, p->o->producer));
    json_object_set_new(o, "source", source);
    for (int k = 0; k < p->ins.n; k++) json_array_append_new(ins, io_value(w, &p->ins.v[k]));
    for (int k = 0; k < p->outs.n; k++) json_array_append_new(outs, io_value(w, &p->outs.v[k]));
    for (int k = 0; k < w->sources.n; k++) json_array_append_new(sources, json_string(w->sources.v[k]));
    for (int k = 0; k < w->files.n; k++) json_array_append_new(files, json_string(w->files.v[k]));
    for (int j = 0; j < p->nall; j++)
        for (int k = 0; k < p->all[j]->m->procs.n; k++) {
            const struct proc *q = p->all[j]->m->procs.v[k];
            if (!is_called(q)) continue;
            json_t *e = json_object();
            json_object_set_new(e, "name", json_string(emit_proc_name(p->c, q, &p->all[j]->emit)));
            json_object_set_new(e, "nodes", lines(w, q->comment));
            json_array_append_new(kernels, e);
        }
    json_object_set_new(o, "symbols", symbols(w));
    json_object_set_new(o, "inputs", ins);
    json_object_set_new(o, "outputs", outs);
    if (p->m->taken.n) json_object_set_new(o, "takes", manifest_holders(w, &p->m->taken));
    if (p->m->given.n) json_object_set_new(o, "gives", manifest_holders(w, &p->m->given));
    if (p->m->kept.n) json_object_set_new(o, "states", manifest_states(p));
    json_object_set_new(o, "arena", arena(p));
    json_object_set_new(o, "weights", weights(w));
    json_object_set_new(o, "kernels", kernels);
    json_object_set_new(o, "nodes", nodes(w));
    json_object_set_new(o, "sources", sources);
    json_object_set_new(o, "files", files);
    char *s = json_dumps(o, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    if (!s) BUG("the manifest cannot be written as JSON");
    text_add(out, s);
    text_char(out, '\n');
    free(s);
    json_decref(o);
}
