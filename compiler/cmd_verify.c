/* `gcc2nn verify MODEL`: is the compiled model right? Its outputs are compared with reference outputs, when --data has
 * them, within a tolerance, and else with the interpreter of the same loops, bit for bit. With --each-node the results
 * of all nodes are compared with the interpreter: finds the first node that is wrong. */
#include "compiler/compare.h"
#include "compiler/import/tensor_io.h"
#include "compiler/session.h"
#include <stdio.h>

static const char *output_name(const struct session *s, int k) {
    return diag_quote(&s->c->arena, s->w->program->outs.v[k].buf->name);
}
/* For --json: what was compared, output by output. error below 0: bit for bit. */
static void note(struct session *s, json_t *list, int k, const char *with, bool same, double error) {
    json_t *o = json_pack("{s:o, s:s, s:b}", "name", json_name(&s->c->arena, s->w->program->outs.v[k].buf->name),
                          "with", with, "same", same);
    if (error >= 0) json_object_set_new(o, "error", json_real(error));
    json_array_append_new(list, o);
}
static void differs(struct session *s, int k, const char *from, struct text *why) {
    diag(&s->c->diags, DIAG_ERROR, E_OUTPUT, "output %d, %s, differs from %s: %s", k, output_name(s, k), from,
         why->s ? why->s : "");
    text_free(why);
}
static void compare_reference(struct session *s, int k, const struct tensor *got, const struct tensor *want,
                              json_t *list) {
    struct text why = {0};
    double error = -1;
    bool same = within_tolerance(got, want, usual_tolerance(want->type), &error, &why);
    note(s, list, k, "reference", same, same ? error : -1);
    if (!same) differs(s, k, "the reference", &why);
    else if (!s->o->json) printf("output %d, %s: as the reference, error %.3g\n", k, output_name(s, k), error);
}
/* Number of the program's outputs with a reference. */
static int compare_references(struct session *s, struct tensor *const *outputs, json_t *list) {
    holders given = session_gives(s);
    int found = 0;
    for (int k = 0; k < given.n && s->o->data && !s->o->each_node; k++) {
        const struct holder *h = &given.v[k];
        struct value_io want;
        if (!session_reference(s, k, h, &want)) continue;
        found += h->n;
        if (want.present != h->present || want.n != h->n)
            diag(&s->c->diags, DIAG_ERROR, E_OUTPUT, "output %d, %s, differs from the reference: %s instead of %s", k,
                 diag_quote(&s->c->arena, h->name), session_count(s, h->present, h->n),
                 session_count(s, want.present, want.n));
        else
            for (int i = 0; i < h->n; i++)
                compare_reference(s, h->first + i, outputs[h->first + i], want.tensors[i], list);
    }
    return found;
}
static bool compare_interpreter(struct session *s, struct tensor **inputs, struct tensor *const *outputs,
                                json_t *list) {
    const struct program *p = s->w->program;
    struct tensor **want = NEWN(&s->c->arena, struct tensor *, p->outs.n + 1);
    int same = 0;
    if (!session_interpret(s, inputs, want)) return false;
    for (int k = 0; k < p->outs.n; k++) {
        struct text why = {0};
        bool equal = same_bits(outputs[k], want[k], &why);
        note(s, list, k, "interpreter", equal, -1);
        if (equal) same++;
        else differs(s, k, "the interpreter", &why);
    }
    if (s->o->json) return same == p->outs.n;
    printf("%d of %d %s: as the interpreter, bit for bit\n", same, p->outs.n,
           s->o->each_node ? "results of nodes and outputs" : "outputs");
    return same == p->outs.n;
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
        if (inputs && harness_run(&h, (const struct tensor *const *)inputs, outputs, 0, 0, NULL)) {
            json_t *list = json_array();
            int references = compare_references(&s, outputs, list);
            if (references < s.w->program->outs.n || o->interpret) compare_interpreter(&s, inputs, outputs, list);
            if (o->json) print_json(json_pack("{s:b, s:O}", "same", !s.c->diags.errors, "outputs", list));
            json_decref(list);
        }
    }
    return session_close(&s);
}
