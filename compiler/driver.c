/* The pipeline, as one table. See driver.h. */
#include "compiler/driver.h"
#include "compiler/commands.h"
#include "compiler/graph/passes.h"
#include "compiler/import/tflite.h"
#include "lower/lower.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The head stands in the text before the rest does: a blank line keeps it from being the comment of what follows. */
static struct text begin_dump(const struct compilation *u, const char *pass) {
    struct text t = {0};
    if (!u->o->dump) text_printf(&t, "// after %s\n", pass);
    return t;
}
static void put_dump(const struct compilation *u, const char *pass, struct text *t) {
    const char *s = t->s ? t->s : "";
    if (u->o->dump) u->o->dump(u->o->env, pass, s);
    else fputs(s, stdout);
    text_free(t);
}
static bool import_pass(struct compilation *u) {
    u->g = import_model(u->c, u->o->path, &u->o->import);
    for (int k = 0; u->g && k < u->o->nrules_off; k++) PUSH(&u->c->arena, &u->g->rules_off, u->o->rules_off[k]);
    return u->g && (!u->o->sizes || u->o->sizes(u->o->env, u->g->syms.v, u->g->syms.n));
}
static bool infer_pass(struct compilation *u) { return graph_infer(u->g) && graph_declared(u->g); }
/* Simpler nodes let inference know more, and the other way round. */
static bool simplify_pass(struct compilation *u) {
    return graph_simplify(u->g) && graph_infer(u->g) && graph_dce(u->g);
}
static bool transposes_pass(struct compilation *u) { return graph_transposes(u->g) && graph_dce(u->g); }
static bool affine_pass(struct compilation *u) { return graph_fold_affine(u->g) && graph_dce(u->g); }
static bool cse_pass(struct compilation *u) { return graph_cse(u->g); }
static bool listed(const char *const *names, int n, const char *name) {
    for (int k = 0; k < n; k++)
        if (!strcmp(names[k], name) || !strcmp(names[k], "all")) return true;
    return false;
}
static bool lower_pass(struct compilation *u) {
    struct text groups = begin_dump(u, "fuse");
    struct lower_options lo = {.target = u->o->target, .no_fuse = u->o->no_fuse, .no_schedule = u->o->no_schedule};
    if (listed(u->o->dump_after, u->o->ndump, "fuse")) lo.groups = &groups;
    u->m = lower_graph(u->g, &lo);
    if (lo.groups) put_dump(u, "fuse", &groups);
    else text_free(&groups);
    return u->m != NULL;
}
static bool share_pass(struct compilation *u) {
    share_calls(u->m);
    return true;
}
static bool reuse_pass(struct compilation *u) {
    reuse_storage(u->m);
    return true;
}
static int64_t reference(void *env, const struct sym *s) {
    (void)env;
    int64_t v = s->ref ? s->ref : 1;
    return v < s->lo ? s->lo : v > s->hi ? s->hi : v;
}
static bool plan_pass(struct compilation *u) {
    u->plan = memory_plan(u->m, reference, NULL);
    return u->plan && plan_verify(u->m, u->plan);
}
const struct pass_row pass_rows[] = {
    {"import", LEVEL_MODEL, true, import_pass, "read the model, bring every node to the newest opset"},
    {"infer", LEVEL_GRAPH, true, infer_pass,
     "find types, shapes and symbolically known contents; expand functions; fold constants"},
    {"simplify", LEVEL_GRAPH, false, simplify_pass, "apply the algebraic rules (`gcc2nn list-rules`)"},
    {"transposes", LEVEL_GRAPH, false, transposes_pass,
     "move transposes to where they cancel, or to the edge of the graph"},
    {"cse", LEVEL_GRAPH, false, cse_pass, "make one node of equal ones"},
    {"fold-affine", LEVEL_GRAPH, false, affine_pass, "put scales and shifts by constants into weights"},
    {"lower", LEVEL_LOOP, true, lower_pass, "form groups, choose layouts, emit and schedule kernels"},
    {"share", LEVEL_LOOP, false, share_pass, "make one call of those that do the same"},
    {"reuse", LEVEL_LOOP, false, reuse_pass, "let results take the place of operands that nothing reads afterwards"},
    {"plan", LEVEL_LOOP, true, plan_pass, "place every buffer in one arena"},
    {0},
};

/* Not after a pass of their own: the kernels before their schedules, with the steps that `gcc2nn opt --replay` does. */
static void dump_kernels(const struct compilation *u) {
    struct text t = begin_dump(u, "kernels");
    loop_print(&t, kernels_before(u->m));
    put_dump(u, "kernels", &t);
}
/* What became of the model's nodes up to here. */
static void dump_nodes(const struct compilation *u) {
    struct text t = {0};
    sources all = u->m ? u->m->sources : trace_end(u->g);
    sources_print(&t, &all);
    if (u->o->dump) put_dump(u, "nodes", &t);
    else printf("// nodes\n%s", t.s ? t.s : "");
    text_free(&t);
}
static void dump(const struct compilation *u, const struct pass_row *p) {
    struct text t = begin_dump(u, p->name);
    if (p->level == LEVEL_LOOP) loop_print(&t, u->m);
    else graph_print(&t, u->g);
    put_dump(u, p->name, &t);
}
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static bool verify(const struct compilation *u, const struct pass_row *p) {
    return p->level == LEVEL_LOOP ? loop_verify(u->m, p->name) : graph_verify(u->g, p->name);
}
static bool run_pass(struct compilation *u, const struct pass_row *p) {
    double t0 = seconds();
    progress("%s: %s", p->name, p->doc);
    if (u->g) trace_pass(u->g, p->name);
    bool ok = p->run(u) && !u->c->diags.errors; /* a warning may be one */
    progress_end();
    if (ok && u->o->time_passes) fprintf(stderr, "%-14s %9.3f ms\n", p->name, (seconds() - t0) * 1e3);
    return ok && verify(u, p);
}
bool compile_model(struct compilation *u) {
    u->c->diags.file = u->o->path;
    for (const struct pass_row *p = pass_rows; p->name; p++) {
        bool left_out = !p->required && listed(u->o->skip, u->o->nskip, p->name);
        if (!left_out && !run_pass(u, p)) return false;
        if (listed(u->o->dump_after, u->o->ndump, p->name)) dump(u, p);
        if (u->o->stop_after && !strcmp(u->o->stop_after, p->name)) break;
    }
    if (u->m && listed(u->o->dump_after, u->o->ndump, "kernels")) dump_kernels(u);
    if (listed(u->o->dump_after, u->o->ndump, "nodes")) dump_nodes(u);
    return true;
}
