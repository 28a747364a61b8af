/* `gcc2nn verify MODEL`: is the compiled model right? Its outputs are compared with reference outputs, when --data has
 * them, within a tolerance, and else with the interpreter of the same loops, bit for bit. With --each-node the results
 * of all nodes are compared with the interpreter: finds the first node that is wrong. */
#include "compiler/compare.h"
#include "compiler/session.h"
#include <stdio.h>

static const char *output_name(const struct session *s, int k) {
    return diag_quote(&s->c->arena, s->w->program->outs.v[k].buf->name);
}
static void differs(struct session *s, int k, const char *from, struct text *why) {
    diag(&s->c->diags, DIAG_ERROR, E_OUTPUT, "output %d, %s, differs from %s: %s", k, output_name(s, k), from,
         why->s ? why->s : "");
    text_free(why);
}
/* Number of outputs with a reference. */
static int compare_references(struct session *s, struct tensor *const *outputs) {
    const struct program *p = s->w->program;
    int found = 0;
    for (int k = 0; k < p->outs.n && s->o->data && !s->o->each_node; k++) {
        struct tensor *want = session_tensor(s, "output", k, p->outs.v[k].buf->type);
        struct text why = {0};
        double error;
        if (!want) continue;
        found++;
        if (within_tolerance(outputs[k], want, usual_tolerance(want->type), &error, &why))
            printf("output %d, %s: as the reference, error %.3g\n", k, output_name(s, k), error);
        else differs(s, k, "the reference", &why);
    }
    return found;
}
static bool compare_interpreter(struct session *s, struct tensor **inputs, struct tensor *const *outputs) {
    const struct program *p = s->w->program;
    struct tensor **want = NEWN(&s->c->arena, struct tensor *, p->outs.n + 1);
    int same = 0;
    if (!session_interpret(s, inputs, want)) return false;
    for (int k = 0; k < p->outs.n; k++) {
        struct text why = {0};
        if (same_bits(outputs[k], want[k], &why)) same++;
        else differs(s, k, "the interpreter", &why);
    }
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
            int references = compare_references(&s, outputs);
            if (references < s.w->program->outs.n || o->interpret) compare_interpreter(&s, inputs, outputs);
        }
    }
    return session_close(&s);
}
