/* From options to module, folder and program. See session.h. */
#include "compiler/session.h"
#include "compiler/graph/rules.h"
#include "ir/base/cleanup.h"
#include "ir/base/memory.h"
#include "ir/base/nearest.h"
#include "ir/eval/eval.h"
#include "lower/lower.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- options */
static void take_options(struct session *s) {
    const struct options *o = s->o;
    s->compile = (struct compile_options){
        .path = o->args.v[0],
        .custom = options_custom(o),
        .import = options_import(o),
        .no_fuse = o->no_fuse || o->each_node,
        .no_schedule = o->no_schedule,
        .no_excess = o->no_excess_precision,
        .bytes = options_bytes(o),
        .alone = o->alone.v,
        .nalone = o->alone.n,
        .precision = options_precision(o),
        .threads = o->threads,
        .verify_each = o->verify_each,
        .dump_after = o->dump_after.v,
        .ndump = o->dump_after.n,
        .stop_after = o->stop_after,
        .skip = o->skip.v,
        .nskip = o->skip.n,
        .rules_off = o->rules_off.v,
        .nrules_off = o->rules_off.n,
        .algorithms = options_algorithms(o),
        .choices = o->choices.v,
        .nchoices = o->choices.n,
        .time_passes = o->time_passes,
    };
}
/* Standard output must get exactly one JSON value. */
static void keep_dump(void *env, const char *pass, const char *text) {
    struct session *s = env;
    json_array_append_new(s->dumps, json_pack("{s:s, s:o}", "after", pass, "text", json_name(&s->c->arena, text)));
}
void session_add_dumps(struct session *s, json_t *root) {
    if (s->dumps) json_object_set_new(root, "dumps", s->dumps);
    s->dumps = NULL;
}
void session_json_text(struct session *s, json_t *root, struct text *out) {
    session_add_dumps(s, root);
    text_json(out, root);
}
void session_json(struct session *s, json_t *root) {
    struct text t = {0};
    session_json_text(s, root, &t);
    text_char(&t, '\n');
    print_text(&t);
}
static enum weights_mode weights_mode(const char *name) {
    if (!name || !strcmp(name, "auto")) return WEIGHTS_AUTO;
    return !strcmp(name, "array") ? WEIGHTS_C : !strcmp(name, "incbin") ? WEIGHTS_INCBIN : WEIGHTS_FILE;
}
const char *path_last(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
static int64_t reference(void *env, const struct sym *y) {
    const struct options *o = env;
    for (int k = 0; k < o->dims.n; k++)
        if (!strcmp(o->dims.v[k].name, y->name) && o->dims.v[k].ref) return o->dims.v[k].ref;
    return 1;
}
const struct target *target_named(struct ctx *c, const char *name) {
    const struct target *t = target_by_name(name);
    if (t) return t;
    const char *names[64] = {"native", "auto"};
    int n = 2;
    for (int k = 0; nn_targets[k] && n < 64; k++) names[n++] = nn_targets[k]->name;
    diag_at(&c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "there is no target %s%s", diag_quote(&c->arena, name),
            did_you_mean(&c->arena, name, names, n));
    diag_help(&c->diags, "`gcc2nn list-targets` names them");
    return NULL;
}
struct algorithm_wishes options_algorithms(const struct options *o) {
    return (struct algorithm_wishes){.pins = o->algorithms.v,
                                     .off = o->algorithms_off.v,
                                     .npins = o->algorithms.n,
                                     .noff = o->algorithms_off.n,
                                     .weights = o->weights_precision};
}
static void no_such(struct ctx *c, const char *option, const char *what, const char *name, const char *const *names,
                    int n) {
    diag_at(&c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "--%s: there is no %s %s%s", option, what,
            diag_quote(&c->arena, name), did_you_mean(&c->arena, name, names, n));
}
bool rules_exist(struct ctx *c, const struct options *o) {
    const char **names = NEWN(&c->arena, const char *, rule_count());
    bool ok = true;
    for (int k = 0; k < rule_count(); k++) names[k] = rule_at(k)->name;
    for (int k = 0; k < o->rules_off.n; k++) {
        const char *name = o->rules_off.v[k];
        if (rule_named(name)) continue;
        no_such(c, "no-rule", "rule", name, names, rule_count());
        diag_help(&c->diags, "`gcc2nn list-rules` names them");
        ok = false;
    }
    return ok;
}
bool algorithms_exist(struct ctx *c, const struct options *o) {
    int n = 0;
    bool ok = true;
    while (algorithm_rows[n].name) n++;
    const char **names = NEWN(&c->arena, const char *, n);
    for (int k = 0; k < n; k++) names[k] = algorithm_rows[k].name;
    for (int k = 0; k < o->algorithms.n + o->algorithms_off.n; k++) {
        bool off = k >= o->algorithms.n;
        const char *word = off ? o->algorithms_off.v[k - o->algorithms.n] : o->algorithms.v[k];
        const char *equals = strrchr(word, '='), *name = off || !equals ? word : equals + 1;
        if ((off && !strcmp(name, "all")) || algorithm_named(name)) continue;
        no_such(c, off ? "no-algorithm" : "algorithm", "algorithm", name, names, n);
        ok = false;
    }
    return ok;
}
/* Checks a pass name of --dump-after, --stop-after or --no-pass; also: other names that the option accepts; any: all
 * passes, not only optional ones. */
static bool pass_exists(struct session *s, const char *option, const char *name, const char *also, bool any) {
    enum { MOST = 80 };
    const char *names[MOST] = {0};
    int n = 0;
    for (const struct pass_row *p = pipeline_of(&s->compile); p->name && n < MOST; p++)
        if (any || !p->required) names[n++] = p->name;
    for (const char *at = also; *at && n < MOST; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        names[n++] = format(s->c, "%.*s", (int)length, at);
        at += length;
    }
    for (int k = 0; k < n; k++)
        if (!strcmp(names[k], name)) return true;
    no_such(s->c, option, "pass", name, names, n);
    const char *all = "";
    for (int k = 0; k < n; k++) all = format(s->c, "%s%s%s", all, k ? " " : "", names[k]);
    diag_help(&s->c->diags, "it takes %s", all);
    return false;
}
static bool passes_exist(struct session *s) {
    const struct options *o = s->o;
    bool ok = !o->stop_after || pass_exists(s, "stop-after", o->stop_after, "", true);
    for (int k = 0; k < o->dump_after.n; k++) ok &= pass_exists(s, "dump-after", o->dump_after.v[k], DUMP_NAMES, true);
    for (int k = 0; k < o->skip.n; k++) {
        const struct pass_row *p = pipeline_of(&s->compile);
        while (p->name && !(p->required && !strcmp(p->name, o->skip.v[k]))) p++;
        if (p->name)
            diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "--no-pass: nothing works without %s", p->name);
        ok &= !p->name && pass_exists(s, "no-pass", o->skip.v[k], "all", false);
    }
    return ok;
}
/* --pass */
static bool take_passes(struct session *s) {
    const struct options *o = s->o;
    if (!o->own_passes.n) return true;
    if (ends_with(o->args.v[0], ".lir")) {
        diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "--pass is for graphs, and a module of loops is none");
        return false;
    }
    return (s->compile.pipeline = pipeline_with(s->c, o->own_passes.v, o->own_passes.n)) != NULL;
}
bool session_open(struct session *s, const struct options *o) {
    *s = (struct session){.o = o, .c = ctx_new()};
    const char *path = o->args.v[0], *name = path_last(path), *dot = strrchr(name, '.');
    s->c->diags.file = path;
    options_diags(o, &s->c->diags);
    take_options(s);
    s->compile.import.contents = session_contents;
    s->compile.import.env = s->compile.env = s;
    if (o->limit_given) s->c->decisions.limited = true, s->c->decisions.limit = o->limit_given - 1;
    if (o->json && (o->dump_after.n || o->stop_after)) s->dumps = json_array(), s->compile.dump = keep_dump;
    if (!take_passes(s) || !passes_exist(s) || !rules_exist(s->c, o) || !algorithms_exist(s->c, o)) return false;
    bool strict = o->std && !strcmp(o->std, "c99-strict"); /* strict C has no vectors to lay values out for */
    bool known = session_targets(s, o->target ? o->target : strict ? "c99" : "native") && session_machine(s);
    s->compile.target = s->targets[0];
    s->compile.c99_strict = strict;
    s->u = (struct compilation){.c = s->c, .o = &s->compile};
    if (!known || !budget_fits_target(s)) return false;
    if (budget_needs_run(&o->limits)) s->compile.sizes = session_sizes_given;
    if (s->ntargets > 1 && (strict || o->each_node || ends_with(path, ".lir"))) {
        diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "%s is for one target, not for %d variants",
                strict         ? "--std=c99-strict"
                : o->each_node ? "--each-node"
                               : "a module of loops",
                s->ntargets);
        return false;
    }
    s->project = (struct project_options){
        .name = o->name             ? o->name
                : dot && dot > name ? format(s->c, "%.*s", (int)(dot - name), name)
                                    : name,
        .target = s->compile.target,
        .c99_strict = s->compile.c99_strict,
        .depfile = o->depfile,
        .threads = o->threads,
        .weights = weights_mode(o->weights),
        .model_file = name,
        .reference = reference,
        .env = (void *)o,
    };
    return true;
}
int session_report(struct session *s) {
    if (s->temporary) cleanup_now(s->noted);
    s->temporary = false;
    int status = report_diags(&s->c->diags);
    if (s->dumps) session_json(s, json_object()); /* there was no other output */
    return status;
}
void session_free(struct session *s) {
    if (s->temporary) cleanup_now(s->noted);
    json_decref(s->dumps);
    for (int k = 0; k < s->files.n; k++) file_unmap(&s->files.v[k]);
    if (s->c) ctx_free(s->c);
}
int session_close(struct session *s) {
    int status = session_report(s);
    session_free(s);
    return status;
}

/* ---- model to program */
static int64_t plan_reference(void *env, const struct sym *y) {
    int64_t v = reference(env, y);
    return v < y->lo ? y->lo : v > y->hi ? y->hi : v;
}
bool session_plan(struct session *s) {
    s->u.plan = memory_plan(s->u.m, plan_reference, (void *)s->o);
    const struct printing printing = {s->compile.target, s->compile.c99_strict, s->compile.threads};
    return s->u.complete = s->u.plan && plan_verify(s->u.m, s->u.plan) &&
                           run_change_passes(s->u.m, &printing, s->compile.verify_each);
}
bool session_lower(struct session *s) {
    struct lower_options lo;
    if (!read_lower_options(&s->u, &lo)) return false;
    s->u.m = lower_graph(s->u.g, &lo);
    return s->u.m && session_plan(s);
}
/* A module in text form goes straight to the planner. */
static bool parse_loops(struct session *s, const struct mapped_file *f) {
    nn_find_instr = instr_by_name;
    s->c->diags.ir_text = true;
    s->u.m = loop_parse(s->c, (const char *)f->bytes, f->size, s->compile.path);
    if (!s->u.m || !loop_verify(s->u.m, NULL)) return false;
    if (!s->u.m->entry) {
        diag(&s->c->diags, DIAG_ERROR, E_VERIFY, "the module has no entry procedure");
        return false;
    }
    const struct proc *e = s->u.m->entry;
    if (s->compile.sizes && !s->compile.sizes(s->compile.env, e->syms.v, e->syms.n)) return false;
    return session_plan(s);
}
/* Compiles the same model for each of the other targets, without repeating the diagnostics of the first. */
static bool compile_variants(struct session *s) {
    struct diags *d = &s->c->diags;
    for (int k = 1; k < s->ntargets && s->u.complete; k++) {
        struct compile_options o = s->compile;
        struct compilation u = {.c = s->c, .o = &o};
        struct diags said = *d;
        int files = s->c->files_read.n;
        o.target = s->targets[k];
        if (!compile_model(&u)) return false;
        *d = said;
        s->c->files_read.n = files;
        s->variants[k - 1] = (struct variant){u.m, u.plan, o.target};
    }
    s->project.more = s->variants;
    s->project.nmore = s->u.complete ? s->ntargets - 1 : 0;
    return true;
}
bool session_compile(struct session *s) {
    struct mapped_file f = {0};
    if (other_format_folder(&s->c->diags, s->compile.path) || !file_map(&s->c->diags, s->compile.path, &f))
        return false;
    s->project.model_hash = XXH64(f.bytes, f.size, 0);
    bool loops = ends_with(s->compile.path, ".lir"), ok = loops && parse_loops(s, &f);
    file_unmap(&f);
    return loops ? ok : compile_model(&s->u) && compile_variants(s);
}
const char *temporary_folder(struct ctx *c, int *noted) {
    const char *tmp = getenv("TMPDIR");
    char *path = format(c, "%s/gcc2nn-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    cleanup_hold();
    bool made = mkdtemp(path) != NULL;
    if (made) *noted = cleanup_path(path);
    cleanup_release();
    if (made) return path;
    diag(&c->diags, DIAG_ERROR, E_WRITE, "cannot make a folder like %s: %s", diag_quote(&c->arena, path),
         strerror(errno));
    diag_help(&c->diags, "TMPDIR says where");
    return NULL;
}
static bool make_temporary(struct session *s) {
    const char *folder = temporary_folder(s->c, &s->noted);
    s->temporary = folder != NULL;
    if (folder) s->folder = folder;
    return s->temporary;
}
/* The custom passes that the model went through, for the manifest. */
static void note_passes(struct session *s) {
    VEC(struct used_pass) used = {0};
    for (const struct pass_row *p = pipeline_of(&s->compile); p->name; p++) {
        if (!p->custom || !p->custom->ran) continue;
        struct used_pass u = {p->name, path_last(p->custom->file), p[-1].name, p->custom->hash};
        PUSH(&s->c->arena, &used, u);
    }
    s->project.passes = used.v, s->project.npasses = used.n;
}
bool session_write(struct session *s, const char *path) {
    s->folder = path ? path : s->o->build_dir;
    if (!s->folder && !make_temporary(s)) return false;
    note_passes(s);
    s->w = project_write(s->u.m, s->u.plan, &s->project, s->folder);
    return s->w != NULL;
}
const char *session_build(struct session *s, const char *program) {
    return build_program(s->c, s->w, program, &(struct build_options){.cc = s->o->cc, .seconds = s->o->seconds});
}
const char *const *session_symbols(struct session *s) {
    const struct program *p = s->w->program;
    const char **v = NEWN(&s->c->arena, const char *, s->o->dims.n + 1);
    int n = 0;
    for (int k = 0; k < s->o->dims.n; k++)
        for (int j = 0; j < p->syms.n; j++) /* without it, sizes come from inputs; --dim gives those that the inputs do
                                             * not determine */
            if (!strcmp(p->syms.v[j]->name, s->o->dims.v[k].name) && s->o->dims.v[k].ref && !s->o->data &&
                !s->o->inputs.n)
                v[n++] = format(s->c, "%s=%lld", s->o->dims.v[k].name, (long long)s->o->dims.v[k].ref);
    return v;
}

/* "batch=1..512@128": an example of what the user could write, for the known range. */
static const char *dim_example(struct session *s, const struct sym *y) {
    if (y->hi == INT32_MAX) return format(s->c, "%s=8", y->name);
    int64_t some = y->hi / 4;
    if (some < y->lo) some = y->lo;
    if (some < 1) some = 1;
    return format(s->c, "%s=%lld..%lld@%lld", y->name, (long long)y->lo, (long long)y->hi, (long long)some);
}
/* A time is meaningless without sizes: no symbol gets one by default. Checked before anything is compiled. */
bool session_sizes_given(void *env, const struct sym *const *v, int n) {
    struct session *s = env;
    struct text missing = {0}, example = {0};
    for (int y = 0; y < n && !s->o->data && !s->o->inputs.n; y++) {
        bool given = false;
        for (int k = 0; k < s->o->dims.n; k++)
            given |= !strcmp(s->o->dims.v[k].name, v[y]->name) && s->o->dims.v[k].ref;
        if (given) continue;
        text_printf(&missing, "%s%s", missing.n ? ", " : "", v[y]->name);
        text_printf(&example, " --dim %s", dim_example(s, v[y]));
    }
    bool ok = !missing.n;
    if (!ok) {
        diag(&s->c->diags, DIAG_ERROR, E_DIM, "no value is given for %s", missing.s);
        diag_help(&s->c->diags, "give inputs with --data, or sizes, such as%s", example.s);
    }
    text_free(&missing);
    text_free(&example);
    return ok;
}
/* ---- the interpreter */
const int64_t *session_dims(struct session *s, struct tensor *const *inputs) {
    const struct program *p = s->w->program;
    int64_t *values = NEWN(&s->c->arena, int64_t, p->syms.n + 1);
    for (int y = 0; y < p->syms.n; y++) {
        values[y] = program_reference(p, p->syms.v[y]);
        for (int k = p->ins.n; k--;)
            for (int d = 0; d < p->ins.v[k].buf->nlogical && d < inputs[k]->rank; d++)
                if (p->ins.v[k].buf->logical[d]->op == X_SYM && p->ins.v[k].buf->logical[d]->u.sym == p->syms.v[y])
                    values[y] = inputs[k]->dims[d];
    }
    return values;
}
static struct tensor *from_cells(struct session *s, const struct eval_arg *a, enum dtype type) {
    struct tensor *t = tensor_new(&s->c->arena, type, a->dims, a->nd);
    if (t) tensor_pack(t, a->data);
    return t;
}
bool session_interpret(struct session *s, struct tensor *const *inputs, struct tensor **outputs) {
    struct proc *e = s->u.m->entry;
    struct eval_arg *args = NEWN(&s->c->arena, struct eval_arg, e->params.n + 1);
    const int64_t *values = session_dims(s, inputs);
    int in = 0, out = 0;
    for (int k = 0; k < e->params.n; k++) {
        if (e->params.v[k].dir != DIR_IN) continue;
        const struct tensor *t = inputs[in++];
        size_t bytes = (size_t)tensor_count(t) * (size_t)dtype_bytes(t->type);
        args[k].data = memory_new(bytes);
        tensor_unpack(t, args[k].data);
        args[k].nd = t->rank;
        memcpy(args[k].dims, t->dims, sizeof args[k].dims);
    }
    struct eval_result r = loop_eval(s->u.m, e, args, values, &(struct eval_options){.fuel = s->fuel});
    bool ok = r.status == EVAL_OK;
    for (int k = 0; k < e->params.n; k++) {
        if (ok && e->params.v[k].dir == DIR_OUT)
            ok = (outputs[out++] = from_cells(s, &args[k], e->params.v[k].buf->type)) != NULL;
        free(args[k].data);
    }
    if (!ok)
        diag(&s->c->diags, DIAG_ERROR,
             r.status == EVAL_BAD       ? E_VERIFY
             : r.status == EVAL_REFUSED ? E_CUSTOM
                                        : E_FAULT,
             "%s", *r.message ? r.message : "an output is too large");
    return ok;
}
