/* manifest.json: the facts of a build folder for other programs. See project.h. */
#include "codegen/manifest.h"
#include "lower/problem/work.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    json_object_set_new(o, "name", manifest_text(w, io->buf->name));
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
        json_object_set_new(o, "name", manifest_text(w, s->name));
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
    json_object_set_new(e, "name", manifest_text(w, q->buf->name));
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
/* Which output the caller should pass as which input of the next run. */
static json_t *manifest_states(const struct program *p) {
    json_t *list = json_array();
    for (int k = 0; k < p->m->kept.n; k++)
        json_array_append_new(
            list, json_pack("{s:i, s:i}", "input", p->m->kept.v[k].input, "output", p->m->kept.v[k].output));
    return list;
}
/* What became of each node of the model. */
static json_t *nodes(const struct project *w) {
    struct program *p = w->program;
    struct map of_node = {.arena = &p->c->arena};
    json_t *all = json_array(), *lists = json_array();
    manifest_kernels(w, &of_node, lists);
    for (int k = 0; k < p->m->sources.n; k++) {
        const struct source_node *s = &p->m->sources.v[k];
        json_t *o = json_object(), *kernels = map_get(&of_node, PKEY(s->into ? s->into : s->origin));
        json_object_set_new(o, "node", manifest_text(w, s->origin));
        json_object_set_new(o, "state", json_string(source_state_name(s->state)));
        if (s->into) json_object_set_new(o, "into", manifest_text(w, s->into));
        if (s->pass) json_object_set_new(o, "pass", json_string(s->pass));
        if (s->rule) json_object_set_new(o, "rule", json_string(s->rule));
        const char *why = s->why || s->state != SOURCE_ALIVE || kernels ? s->why : "statements of the run function";
        if (why) json_object_set_new(o, "why", manifest_text(w, why));
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
        json_t *o = json_pack("{s:o, s:s, s:b, s:i, s:i}", "name", manifest_text(w, x->name), "kind",
                              value_kind_name(x->kind), "present", x->present, "first", x->first, "count", x->n);
        if (x->asked) json_object_set_new(o, "asked", json_true());
        if (x->packed) json_object_set_new(o, "packed", json_true());
        json_array_append_new(all, o);
    }
    return all;
}
/* The user's passes, without which the model would be a different one. */
static json_t *own_passes(const struct project *w) {
    json_t *all = json_array();
    for (int k = 0; k < w->program->o->npasses; k++) {
        const struct used_pass *u = &w->program->o->passes[k];
        json_array_append_new(all, json_pack("{s:s, s:o, s:s, s:s}", "name", u->name, "file", manifest_text(w, u->file),
                                             "hash", format(w->program->c, "%016llx", (unsigned long long)u->hash),
                                             "after", u->after));
    }
    return all;
}
static json_t *number_or_null(double v) { return isfinite(v) ? json_integer((json_int_t)v) : json_null(); }
static json_t *kernel_value(const struct project *w, struct program *p, const struct proc *q) {
    struct work work = kernel_work(p->m->entry, q, NAN, &(struct sizes_of_run){program_typical, p});
    json_t *e = json_pack(
        "{s:s, s:o, s:s, s:o, s:o, s:o}", "name", emit_proc_name(p->c, q, &p->emit), "nodes",
        manifest_lines(w, q->comment), "problem", q->problem ? problem_class_name(q->problem->cls) : "loops", "calls",
        number_or_null(work.calls), "products", number_or_null(work.products), "bytes", number_or_null(work.bytes));
    return e;
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
    json_object_set_new(source, "file", manifest_text(w, p->o->model_file));
    json_object_set_new(source, "hash", json_string(format(p->c, "%016llx", (unsigned long long)p->o->model_hash)));
    json_object_set_new(source, "producer", manifest_text(w, p->o->producer));
    json_object_set_new(o, "source", source);
    if (p->o->npasses) json_object_set_new(o, "passes", own_passes(w));
    for (int k = 0; k < p->ins.n; k++) json_array_append_new(ins, io_value(w, &p->ins.v[k]));
    for (int k = 0; k < p->outs.n; k++) json_array_append_new(outs, io_value(w, &p->outs.v[k]));
    for (int k = 0; k < w->sources.n; k++) json_array_append_new(sources, json_string(w->sources.v[k]));
    for (int k = 0; k < w->files.n; k++) json_array_append_new(files, json_string(w->files.v[k]));
    for (int j = 0; j < p->nall; j++)
        for (int k = 0; k < p->all[j]->m->procs.n; k++) {
            const struct proc *q = p->all[j]->m->procs.v[k];
            if (!manifest_lists(q)) continue;
            json_t *e = kernel_value(w, p->all[j], q);
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
    if (p->m->from) json_object_set_new(o, "graph", manifest_graph(w));
    json_object_set_new(o, "plan", manifest_plan(w));
    json_object_set_new(o, "sources", sources);
    json_object_set_new(o, "files", files);
    char *s = json_dumps(o, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    if (!s) BUG("the manifest cannot be written as JSON");
    text_add(out, s);
    text_char(out, '\n');
    free(s);
    json_decref(o);
}
