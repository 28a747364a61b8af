/* The pipeline, as one table. See driver.h. */
#include "compiler/driver.h"
#include "compiler/commands.h"
#include "compiler/graph/passes.h"
#include "compiler/import/file.h"
#include "compiler/import/tflite.h"
#include "compiler/named_nodes.h"
#include "lower/lower.h"
#include "lower/schedule/record.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The head is part of the text from the beginning; a blank line separates it from comments of the text itself. */
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
void allow_bytes(struct graph *g, struct byte_products allowed, const struct machine *m) {
    if (m->blocks) {
        g->quantized |= allowed.operands;
        g->bytes = allowed;
        g->bytes.signed_weights = machine_adds_signed_blocks(m), g->bytes.least = machine_least_blocks(m);
    }
    g->bytes.computed = machine_prefers_bytes(m);
}
static bool import_pass(struct compilation *u) {
    if (!custom_ops(u->c, &u->o->custom)) return false;
    u->g = import_model(u->c, u->o->path, &u->o->import);
    if (u->g) {
        u->g->keeps_operators = u->o->keep_operators;
        if (u->o->target) allow_bytes(u->g, u->o->bytes, u->o->target->machine);
    }
    for (int k = 0; u->g && k < u->o->nrules_off; k++) PUSH(&u->c->arena, &u->g->rules_off, u->o->rules_off[k]);
    return u->g && (!u->o->sizes || u->o->sizes(u->o->env, u->g->syms.v, u->g->syms.n));
}
static bool infer_pass(struct compilation *u) { return graph_infer(u->g) && graph_declared(u->g); }
/* Simpler nodes let inference know more, and vice versa. */
static bool simplify_pass(struct compilation *u) {
    return graph_simplify(u->g) && graph_infer(u->g) && graph_dce(u->g);
}
static bool transposes_pass(struct compilation *u) { return graph_transposes(u->g) && graph_dce(u->g); }
static bool few_bits_pass(struct compilation *u) { return graph_few_bits(u->g) && graph_dce(u->g); }
static bool integers_pass(struct compilation *u) { return graph_integers(u->g) && graph_dce(u->g); }
static bool constants_pass(struct compilation *u) { return graph_fold_constants(u->g) && graph_dce(u->g); }
static bool affine_pass(struct compilation *u) { return graph_fold_affine(u->g) && graph_dce(u->g); }
static bool cse_pass(struct compilation *u) { return graph_cse(u->g); }
static bool listed(const char *const *names, int n, const char *name) {
    for (int k = 0; k < n; k++)
        if (!strcmp(names[k], name) || !strcmp(names[k], "all")) return true;
    return false;
}
static bool node_exists(struct compilation *u, const char *option, const char *name, size_t length) {
    return nodes_named(u->g, NODES_OF_ALL, name, length).n || no_node_named(u->g, NODES_OF_ALL, option, name, length);
}
/* The node in "NODE=VALUE" must exist. */
static bool pins_exist(struct compilation *u, const char *option, const char *const *pins, int n) {
    bool ok = true;
    for (int k = 0; k < n; k++) {
        const char *equals = strrchr(pins[k], '=');
        size_t length = equals ? (size_t)(equals - pins[k]) : 0;
        if (equals && !node_exists(u, option, pins[k], length)) ok = false;
    }
    return ok;
}
/* Splits the words of --no-fuse into names: a word is one name, or several separated by commas. */
static bool split_alone(struct compilation *u, struct lower_options *lo) {
    VEC(const char *) names = {0};
    bool ok = true;
    for (int k = 0; k < u->o->nalone; k++) {
        const char *word = u->o->alone[k];
        bool whole = nodes_named(u->g, NODES_OF_ALL, word, strlen(word)).n > 0;
        for (const char *at = word; at; at = !whole && strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
            size_t length = whole ? strlen(at) : strcspn(at, ",");
            if (!node_exists(u, "no-fuse", at, length)) ok = false;
            PUSH(&u->c->arena, &names, arena_printf(&u->c->arena, "%.*s", (int)length, at));
        }
    }
    lo->alone = names.v, lo->nalone = names.n;
    return ok;
}
/* Reads the files of --choices as if they were one. */
static bool read_choices(struct compilation *u, struct lower_options *lo) {
    struct ctx *c = u->c;
    struct records *all = NEW(&c->arena, struct records);
    for (int k = 0; k < u->o->nchoices; k++) {
        const char *path = u->o->choices[k];
        struct mapped_file f;
        if (!file_map(&c->diags, path, &f)) return false;
        const char *text =
            arena_printf(&c->arena, "%.*s", f.size < INT32_MAX ? (int)f.size : INT32_MAX, (const char *)f.bytes);
        file_unmap(&f);
        if (records_add(c, all, text)) continue;
        diag_at(&c->diags, DIAG_ERROR, E_FILE, path, NULL, "this is not what `--dump-after=choices` prints");
        diag_help(&c->diags, "`gcc2nn tune` writes such a file, too");
        return false;
    }
    if (u->o->more_choices) records_add(c, all, u->o->more_choices);
    if (all->list.n) lo->records = all;
    return true;
}
bool read_lower_options(struct compilation *u, struct lower_options *lo) {
    *lo = (struct lower_options){.target = u->o->target,
                                 .no_fuse = u->o->no_fuse,
                                 .no_schedule = u->o->no_schedule,
                                 .no_excess = u->o->no_excess,
                                 .precision = u->o->precision,
                                 .threads = u->o->threads,
                                 .algorithms = u->o->algorithms};
    return pins_exist(u, "algorithm", u->o->algorithms.pins, u->o->algorithms.npins) &&
           pins_exist(u, "precision", u->o->precision.pins, u->o->precision.npins) && split_alone(u, lo) &&
           read_choices(u, lo);
}
static bool lower_pass(struct compilation *u) {
    struct lower_options lo;
    if (u->o->before_lower && !u->o->before_lower(u->o->env, u)) return false;
    if (!read_lower_options(u, &lo)) return false;
    struct {
        const char *name;
        struct text **to, t;
    } within[] = {{.name = "fuse", .to = &lo.groups},
                  {.name = "problems", .to = &lo.problems},
                  {.name = "choices", .to = &lo.choices}};
    enum { N = sizeof within / sizeof *within };
    for (int k = 0; k < N; k++)
        if (listed(u->o->dump_after, u->o->ndump, within[k].name)) {
            within[k].t = begin_dump(u, within[k].name);
            *within[k].to = &within[k].t;
        }
    u->m = lower_graph(u->g, &lo);
    for (int k = 0; k < N; k++)
        if (*within[k].to) put_dump(u, within[k].name, &within[k].t);
    return u->m != NULL;
}
static bool rematerialise_pass(struct compilation *u) { return graph_rematerialise(u->g); }
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
    {"import", LEVEL_MODEL, true, "read the model, bring every node to the newest opset", .run = import_pass},
    {"infer", LEVEL_GRAPH, true, "find types, shapes and symbolically known contents; expand functions; fold constants",
     .run = infer_pass},
    {"integers", LEVEL_GRAPH, false, "compute products of quantized operands in integers", .run = integers_pass},
    {"few-bits", LEVEL_GRAPH, false, "keep weights of few bits as they are where they are multiplied",
     .run = few_bits_pass},
    {"constants", LEVEL_GRAPH, true, "compute what is left of nodes of constants", .run = constants_pass},
    {"simplify", LEVEL_GRAPH, false, "apply the algebraic rules (`gcc2nn list-rules`)", .run = simplify_pass},
    {"transposes", LEVEL_GRAPH, false, "move transposes to where they cancel, or to the edge of the graph",
     .run = transposes_pass},
    {"cse", LEVEL_GRAPH, false, "make one node of equal ones", .run = cse_pass},
    {"fold-affine", LEVEL_GRAPH, false, "put scales and shifts by constants into weights", .run = affine_pass},
    {"rematerialise", LEVEL_GRAPH, false, "compute where it is read what bytes stand for", .run = rematerialise_pass},
    {"lower", LEVEL_LOOP, true, "form groups, choose layouts, emit and schedule kernels", .run = lower_pass},
    {"share", LEVEL_LOOP, false, "make one call of those that do the same", .run = share_pass},
    {"reuse", LEVEL_LOOP, false, "let results take the place of operands that nothing reads afterwards",
     .run = reuse_pass},
    {"plan", LEVEL_LOOP, true, "place every buffer in one arena", .run = plan_pass},
    {"entry-values", LEVEL_LOOP, true, "compute what the entry's C cannot in procedures of their own",
     .change = pass_entry_values},
    {"frees", LEVEL_LOOP, true, "free memory of the region after its last use", .change = pass_frees},
    {"results", LEVEL_LOOP, true, "give memory to results once the run has found their size", .change = pass_results},
    {"nests", LEVEL_LOOP, true, "write stages that have no schedule as loops", .change = pass_nests},
    {"instructions", LEVEL_LOOP, true, "replace instructions that the target does not have by what they mean",
     .change = pass_instructions},
    {"grids", LEVEL_LOOP, true, "cut procedures into kernels of a GPU", .change = pass_grids},
    {"private", LEVEL_LOOP, true, "mark the registers that threads of a GPU have apart", .change = pass_private},
    {"barriers", LEVEL_LOOP, true, "let threads wait for each other where they share memory", .change = pass_barriers},
    {"unroll", LEVEL_LOOP, true, "write out loops of kind unroll, and of one pass", .change = pass_unroll},
    {"vectorise", LEVEL_LOOP, true, "make vector statements of vector loops", .change = pass_vectorise},
    {"literals", LEVEL_LOOP, true, "replace loads of known constants by their values", .change = pass_literals},
    {"rounding", LEVEL_LOOP, false, "make integers of what is rounded, then moved and clamped",
     .change = pass_rounding},
    {"merge", LEVEL_LOOP, true, "make one statement of updates, and of conditions, that follow each other",
     .change = pass_merge},
    {"parallel", LEVEL_LOOP, true, "keep parallel only the loops whose passes share nothing", .change = pass_parallel},
    {0},
};
const struct pass_row *pipeline_of(const struct compile_options *o) { return o->pipeline ? o->pipeline : pass_rows; }

/* The kernels before scheduling, with the steps for `gcc2nn opt --replay`; not a separate pass. */
static void dump_kernels(const struct compilation *u) {
    struct text t = begin_dump(u, "kernels");
    loop_print(&t, kernels_before(u->m));
    put_dump(u, "kernels", &t);
}
/* What has become of the model's nodes so far. */
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
double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* The passes towards the printed program preserve its meaning only together; what is printed must be right. */
static bool is_between(const struct compilation *u, const struct pass_row *p) {
    return p->change && p[1].name && !u->o->verify_each;
}
static bool verify(const struct compilation *u, const struct pass_row *p) {
    if (is_between(u, p)) return true;
    return p->level == LEVEL_LOOP ? loop_verify(u->m, p->name) : graph_verify(u->g, p->name);
}
bool run_pass(struct compilation *u, const struct pass_row *p) {
    double t0 = seconds_now();
    progress("%s: %s", p->name, p->doc);
    if (u->g) trace_pass(u->g, p->name);
    u->c->decisions.during = p->name;
    if (p->change) p->change(u->m, &(struct printing){u->o->target, u->o->c99_strict, u->o->threads});
    bool ran = p->change || (p->custom ? custom_pass_run(u->g, p->custom, p->level == LEVEL_GRAPH) : p->run(u));
    bool ok = ran && !u->c->diags.errors; /* warnings may count as errors */
    progress_end();
    if (ok && u->o->time_passes) fprintf(stderr, "%-14s %9.3f ms\n", p->name, (seconds_now() - t0) * 1e3);
    return ok && verify(u, p);
}
bool run_change_passes(struct module *m, const struct printing *o, bool verify_each) {
    struct compile_options options = {
        .target = o->target, .c99_strict = o->c99_strict, .threads = o->threads, .verify_each = verify_each};
    struct compilation u = {.c = m->ctx, .o = &options, .m = m};
    for (const struct pass_row *p = pass_rows; p->name; p++)
        if (p->change && !pass_left_out(&u, p) && !run_pass(&u, p)) return false;
    return true;
}
bool pass_left_out(struct compilation *u, const struct pass_row *p) {
    if (p->required) return false;
    u->c->decisions.during = p->name;
    return listed(u->o->skip, u->o->nskip, p->name) || !decide(u->c, "the pass itself");
}
bool compile_model(struct compilation *u) {
    u->c->diags.file = u->o->path;
    for (const struct pass_row *p = pipeline_of(u->o); p->name; p++) {
        if (!pass_left_out(u, p) && !run_pass(u, p)) return false;
        if (listed(u->o->dump_after, u->o->ndump, p->name)) dump(u, p);
        if (u->o->stop_after && !strcmp(u->o->stop_after, p->name)) break;
        u->complete = !p[1].name;
    }
    if (u->m && listed(u->o->dump_after, u->o->ndump, "kernels")) dump_kernels(u);
    if (listed(u->o->dump_after, u->o->ndump, "nodes")) dump_nodes(u);
    return true;
}
