/* `gcc2nn run MODEL --data DIR --out DIR2`: compiles, runs on input_N, writes output_N.pb. */
#include "compiler/session.h"
#include <stdio.h>

/* Without --out: type, shape and first elements of each output. */
static void show_outputs(struct session *s, struct tensor *const *outputs) {
    enum { SHOWN = 6 };
    const struct program *p = s->w->program;
    for (int k = 0; k < p->outs.n && !s->o->out; k++) {
        const struct tensor *t = outputs[k];
        struct text line = {0};
        text_printf(&line, "%s: %s[", diag_quote(&s->c->arena, p->outs.v[k].buf->name), dtype_name(t->type));
        for (int d = 0; d < t->rank; d++) text_printf(&line, "%s%lld", d ? "," : "", (long long)t->dims[d]);
        text_add(&line, "]");
        for (int64_t i = 0; i < tensor_count(t) && i < SHOWN && t->type != STR && t->type != C64 && t->type != C128;
             i++) {
            text_char(&line, ' ');
            if (t->type == F64) text_f64(&line, tensor_f(t, i));
            else if (dtype_is_float(t->type)) text_f32(&line, (float)tensor_f(t, i));
            else text_printf(&line, "%lld", (long long)tensor_i(t, i));
        }
        puts(line.s);
        text_free(&line);
    }
}
static json_t *tensor_json(struct session *s, int k, const struct tensor *t) {
    json_t *dims = json_array();
    for (int d = 0; d < t->rank; d++) json_array_append_new(dims, json_integer(t->dims[d]));
    return json_pack("{s:o, s:s, s:o}", "name", json_name(&s->c->arena, s->w->program->outs.v[k].buf->name), "type",
                     dtype_name(t->type), "dims", dims);
}
/* With --json: all but the contents, and the file where there is one. */
static void show_outputs_json(struct session *s, struct tensor *const *outputs) {
    const struct program *p = s->w->program;
    json_t *list = json_array();
    holders given = session_gives(s);
    for (int k = 0; k < given.n; k++)
        for (int i = given.v[k].first; i < given.v[k].first + given.v[k].n; i++) {
            json_t *o = tensor_json(s, i, outputs[i]);
            if (s->o->out) json_object_set_new(o, "file", json_name(&s->c->arena, s->written.v[k]));
            json_array_append_new(list, o);
        }
    json_t *all = json_pack("{s:s, s:s, s:o}", "model", p->name, "target",
                            s->o->interpret ? "interpreter" : program_targets(p), "outputs", list);
    if (p->m->given.n) json_object_set_new(all, "gives", manifest_holders(s->w, &p->m->given));
    session_json(s, all);
}
static bool run_program(struct session *s, const char *exe, struct tensor **inputs, struct tensor **outputs) {
    struct harness h = {.c = s->c, .w = s->w, .exe = exe, .seconds = s->o->seconds, .symbols = session_symbols(s)};
    return harness_run(&h, inputs, outputs, 0, 0, NULL);
}
static bool compute(struct session *s, struct tensor **inputs, struct tensor **outputs) {
    const char *exe = s->o->interpret ? NULL : session_build(s, format(s->c, "%s_main", s->w->name));
    if (!s->o->interpret && !exe) return false;
    bool ok = exe ? run_program(s, exe, inputs, outputs) : session_interpret(s, inputs, outputs);
    if (!ok) session_blame_inputs(s);
    return ok;
}
int cmd_run(const struct options *o) {
    struct session s;
    if (session_open(&s, o) && session_compile(&s) && session_write(&s, NULL)) {
        struct tensor **inputs = session_inputs(&s),
                      **outputs = NEWN(&s.c->arena, struct tensor *, s.w->program->outs.n + 1);
        if (inputs && compute(&s, inputs, outputs) && session_write_outputs(&s, outputs))
            (o->json ? show_outputs_json : show_outputs)(&s, outputs);
    }
    return session_close(&s);
}
