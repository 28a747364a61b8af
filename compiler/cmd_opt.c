/* `gcc2nn opt FILE`: runs graph passes on a .gir file, or schedule steps on a .lir file, and prints the resulting text.
 * Used by text tests. Kernels that a compilation dumped before scheduling can be turned into its C again: --replay
 * --emit-c. */
#include "codegen/program.h"
#include "compiler/commands.h"
#include "compiler/graph/passes.h"
#include "compiler/import/file.h"
#include "compiler/session.h"
#include "ir/loop/loop.h"
#include "ir/loop/target.h"
#include "lower/lower.h"
#include "lower/schedule/steps.h"
#include <string.h>

static bool run_steps(struct ctx *c, struct module *m, const struct options *o) {
    bool found = !o->proc, ok = true;
    for (int i = 0; i < m->procs.n && ok; i++) {
        struct proc *p = m->procs.v[i];
        if (o->proc && strcmp(p->name, o->proc) != 0) continue;
        found = true;
        ok = (!o->replay || steps_replay(c, p)) && (!o->steps || steps_apply(c, p, o->steps));
    }
    if (!found) diag(&c->diags, DIAG_ERROR, E_USAGE, "there is no procedure %s", diag_quote(&c->arena, o->proc));
    if (!found || !ok) return false;
    if (loop_verify(m, NULL)) return true;
    diag_help(&c->diags, "this is what the steps left; a step that leaves what is not proved right is refused, too");
    return false;
}

static const struct target *target_of(struct ctx *c, const struct options *o) {
    return target_named(c, o->target ? o->target : "c99");
}
static bool add_file(void *env, const char *file, struct text *text) {
    struct text *out = env;
    (void)file;
    text_addn(out, text->s, text->n);
    text_free(text);
    return true;
}
/* The files of kernels, one after another, as compiling a model writes them. */
static void print_c(struct ctx *c, const struct options *o, struct module *m, struct text *out) {
    const struct project_options project = {.target = target_of(c, o)};
    const char *name = program_name(c, o->name);
    if (!project.target) return;
    for (int k = 0; k < m->procs.n; k++)
        if (!proc_verify_final(m, m->procs.v[k], "the steps")) return;
    if (!run_change_passes(m, &(struct printing){.target = project.target, .threads = o->threads}, true)) return;
    struct emit_options emit = kernel_options(c, name, &project);
    kernel_files(m, name, &emit, add_file, out);
}
/* Runs the passes that turn a module into what is printed, in the order in which they are named. */
static bool run_loop_passes(struct ctx *c, struct module *m, const struct options *o) {
    const struct target *t = target_of(c, o);
    for (const char *names = o->passes; t && *names;) {
        size_t n = strcspn(names, ",");
        const struct pass_row *p = pass_rows;
        while (p->name && !(p->change && strlen(p->name) == n && !strncmp(p->name, names, n))) p++;
        if (!p->name) {
            diag(&c->diags, DIAG_ERROR, E_USAGE, "there is no pass %s for loop IR",
                 diag_quote(&c->arena, internn(c->names, names, n)));
            return false;
        }
        p->change(m, &(struct printing){.target = t, .threads = o->threads});
        if (!loop_verify(m, p->name)) return false;
        names += n + (names[n] == ',');
    }
    return t != NULL;
}
static void opt_loops(struct ctx *c, const struct options *o, const struct mapped_file *f, struct text *out) {
    nn_find_instr = instr_by_name;
    struct module *m = loop_parse(c, (const char *)f->bytes, f->size, o->args.v[0]);
    if (!m) diag_help(&c->diags, "docs/loop-ir.md has the grammar");
    if (!m || !loop_verify(m, NULL)) return;
    if (o->lower) {
        diag(&c->diags, DIAG_ERROR, E_USAGE, "--lower is for graphs (.gir); this is loop IR");
        return;
    }
    if ((o->steps || o->replay) && !run_steps(c, m, o)) return;
    if (o->passes && !run_loop_passes(c, m, o)) return;
    if (o->emit_c) print_c(c, o, m, out);
    else loop_print(out, m);
}

/* What the nodes become: groups, then kernels with their schedules. */
static void lower_and_print(struct ctx *c, const struct options *o, struct graph *g, struct text *out) {
    const struct target *t = target_of(c, o);
    if (!t) return;
    struct module *m = lower_graph(g, &(struct lower_options){.target = t,
                                                              .threads = o->threads,
                                                              .precision = options_precision(o),
                                                              .algorithms = options_algorithms(o),
                                                              .groups = out});
    if (m) loop_print(out, m);
}

static void opt_graph(struct ctx *c, const struct options *o, const struct mapped_file *f, struct text *out) {
    struct graph *g = graph_parse(c, (const char *)f->bytes, f->size, o->args.v[0]);
    if (!g) diag_help(&c->diags, "docs/graph-ir.md has the grammar");
    if (!g || !graph_verify(g, NULL) || !rules_exist(c, o) || !algorithms_exist(c, o)) return;
    const struct target *t = target_of(c, o);
    if (!t) return;
    allow_bytes(g, options_bytes(o), t->machine);
    for (int k = 0; k < o->rules_off.n; k++) PUSH(&c->arena, &g->rules_off, o->rules_off.v[k]);
    if (o->steps || o->replay || o->emit_c)
        diag(&c->diags, DIAG_ERROR, E_USAGE, "--%s is for loop IR (.lir); this is a graph",
             o->steps    ? "steps"
             : o->replay ? "replay"
                         : "emit-c");
    else if (o->passes && !run_graph_passes(g, o->passes)) return;
    else if (o->lower) lower_and_print(c, o, g, out);
    else graph_print(out, g);
}

int cmd_opt(const struct options *o) {
    struct ctx *c = ctx_new();
    options_diags(o, &c->diags);
    c->diags.ir_text = true;
    struct mapped_file f = {0};
    struct text out = {0};
    const char *path = o->args.v[0];
    struct custom_options custom = options_custom(o);
    c->diags.file = path;
    if (!custom_ops(c, &custom)) {
        /* errors have been reported */
    } else if (ends_with(path, ".gir") || ends_with(path, ".lir")) {
        if (file_map(&c->diags, path, &f)) (ends_with(path, ".gir") ? opt_graph : opt_loops)(c, o, &f, &out);
    } else {
        diag(&c->diags, DIAG_ERROR, E_USAGE, "the file must end in .gir (graph) or .lir (loop IR)");
        diag_help(&c->diags, "`gcc2nn compile MODEL --dump-after=PASS` prints a model as such text");
    }
    int status = report_diags(&c->diags);
    if (o->json && status == EXIT_OK) {
        print_json(json_pack("{s:o}", "text", json_name(&c->arena, out.s ? out.s : "")));
        text_free(&out);
    } else print_text(&out);
    file_unmap(&f);
    ctx_free(c);
    return status;
}
