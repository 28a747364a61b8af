/* The library's functions (gcc2nn.h), also used by the command `compile`. Messages stay in the session; errors that
 * would end the process are returned as a status (die_catch). */
#include "compiler/api.h"
#include "codegen/weights.h"
#include "compiler/bench.h"
#include "compiler/emit_onnx.h"
#include "ir/base/memory.h"
#include "lower/ops/ops.h"
#include <pthread.h>
#include <string.h>

struct gcc2nn {
    struct arena arena;
    struct options options;
    struct diags said; /* diagnostics of calls; those about the model are in the session */
    struct session session;
    struct exported exported; /* with --emit=onnx, once it is written */
    bool opened, wrote;
    bool ends_process; /* fatal errors end the process instead of being returned as a status */
    const char *summary;
    struct die_catch caught; /* status 0: nothing was caught */
};
/* Threads take turns: the registry of operators and the clean-up list exist only once. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

const char *gcc2nn_version(void) { return GCC2NN_VERSION; }
int gcc2nn_api(void) { return GCC2NN_API; }

/* ---- handles */
static gcc2nn *new_handle(void) {
    gcc2nn *g = memory_new(sizeof *g);
    *g = (gcc2nn){0};
    g->said.arena = g->options.arena = &g->arena;
    g->options.command = command_rows;
    return g;
}
gcc2nn *gcc2nn_new(void) {
    struct die_catch out;
    gcc2nn *volatile g = NULL;
    pthread_mutex_lock(&turn);
    if (!setjmp(out.to)) {
        die_catch(&out);
        ops_register_all();
        g = new_handle();
    }
    die_catch(NULL);
    pthread_mutex_unlock(&turn);
    return g;
}
gcc2nn *gcc2nn_of(const struct options *o) {
    gcc2nn *g = new_handle();
    g->options = *o;
    g->ends_process = true;
    return g;
}
void gcc2nn_free(gcc2nn *g) {
    if (!g) return;
    if (g->opened) session_free(&g->session);
    arena_free(&g->arena);
    free(g);
}
int gcc2nn_end(gcc2nn *g) {
    struct diags *d = &g->session.c->diags;
    if (d->n && g->options.targets) /* of a bundle: other targets may give the same message or not */
        diag(d, DIAG_NOTE, d->v[d->n - 1].code, "the target was %s", g->options.target);
    int status = session_report(&g->session);
    gcc2nn_free(g);
    return status;
}
bool gcc2nn_complete(const gcc2nn *g) {
    const struct compilation *u = &g->session.u;
    return g->opened && (emits_onnx(&g->options) ? u->g && !g->session.c->diags.errors : u->complete);
}

/* ---- calls that may fail */
typedef int call(gcc2nn *g, const char *name, const char *value);
/* Runs f; a fatal error ends f instead of the process. After that, only the problems can be asked for. */
static int guarded(gcc2nn *g, call *f, const char *name, const char *value) {
    if (g->ends_process) return f(g, name, value);
    if (g->caught.status) return g->caught.status;
    volatile int status = GCC2NN_OK;
    pthread_mutex_lock(&turn);
    if (!setjmp(g->caught.to)) {
        die_catch(&g->caught);
        status = f(g, name, value);
    } else status = g->caught.status;
    die_catch(NULL);
    pthread_mutex_unlock(&turn);
    return status;
}
static int misused(gcc2nn *g, const char *problem) {
    diag(&g->said, DIAG_ERROR, E_USAGE, "%s", problem);
    return GCC2NN_USAGE;
}
static int set_option(gcc2nn *g, const char *name, const char *value) {
    struct text problem = {0};
    if (g->opened) return misused(g, "options come before the model");
    if (options_set(&g->options, name, value, &problem)) return GCC2NN_OK;
    misused(g, arena_printf(&g->arena, "%s", problem.s));
    text_free(&problem);
    return GCC2NN_USAGE;
}
int gcc2nn_option(gcc2nn *g, const char *name, const char *value) { return guarded(g, set_option, name, value); }

static int load(gcc2nn *g, const char *path, const char *none) {
    (void)none;
    if (g->opened) return misused(g, "a handle is for one model");
    g->options.args.v = NULL, g->options.args.n = g->options.args.cap = 0;
    path = arena_printf(&g->arena, "%s", path);
    PUSH(&g->arena, &g->options.args, path);
    g->opened = true;
    bool ok = session_open(&g->session, &g->options) && (!emits_onnx(&g->options) || emit_onnx_stop(&g->session)) &&
              session_compile(&g->session);
    return ok ? GCC2NN_OK : diags_status(&g->session.c->diags);
}
int gcc2nn_load(gcc2nn *g, const char *path) { return guarded(g, load, path, NULL); }

/* Measures what --budget limits but only a build, or runs, can tell. */
static bool measure_for_budget(struct session *s) {
    struct bench b;
    struct code_size size;
    if (budget_needs_run(&s->o->limits)) {
        if (!bench_compiled(&b, s)) return false;
        s->taken = bench_taken(&b);
    } else if (budget_needs_build(&s->o->limits)) {
        if (!session_write(s, NULL) || !session_build(s, format(s->c, "%s_main", s->w->name)) ||
            !library_size(s->c, s->w, &size))
            return false;
        budget_of_code(&s->taken, s->w->program, &size);
    }
    return true;
}
static bool allow(void *env, struct program *p) {
    struct session *s = env;
    budget_of_program(&s->taken, p);
    bare_fits(p, DIAG_WARNING);
    return budget_holds(s, p, &s->taken) && !s->c->diags.errors; /* a warning may be one */
}
static bool write_project(struct session *s, const char *folder) {
    if (!measure_for_budget(s)) return false;
    s->project.allow = allow, s->project.allow_env = s;
    return session_write(s, folder ? folder : format(s->c, "%s_c", s->project.name));
}
static int write_place(gcc2nn *g, const char *place, const char *none) {
    struct session *s = &g->session;
    (void)none;
    if (!gcc2nn_complete(g)) return misused(g, "there is no compiled model to write");
    if (place) place = arena_printf(&g->arena, "%s", place);
    g->wrote = emits_onnx(&g->options) ? emit_onnx(s, place, &g->exported) : write_project(s, place);
    return g->wrote ? GCC2NN_OK : diags_status(&s->c->diags);
}
int gcc2nn_write(gcc2nn *g, const char *place) { return guarded(g, write_place, place, NULL); }
int gcc2nn_write_for(gcc2nn *g, const char *folder, const char *place) {
    int status = gcc2nn_write(g, folder);
    if (g->wrote) g->session.w->folder = place;
    return status;
}

/* ---- what was written */
/* The sizes for which the arena is given: "batch = 1, seq = 8". */
static const char *sizes_text(const struct session *s) {
    enum { SHOWN = 4 };
    const struct program *p = s->w->program;
    const char *text = "";
    for (int y = 0; y < p->syms.n && y < SHOWN; y++)
        text = format(s->c, "%s%s%s = %lld", text, y ? ", " : "", diag_quote(&s->c->arena, p->syms.v[y]->name),
                      (long long)program_reference(p, p->syms.v[y]));
    return p->syms.n > SHOWN ? format(s->c, "%s ...", text) : text;
}
static int kernels_of(const struct program *p) {
    int n = 0;
    for (int k = 0; k < p->nall; k++) n += count_kernels(p->all[k]->m);
    return n;
}
static const char *line(const struct session *s) {
    const struct program *p = s->w->program;
    struct arena *a = &s->c->arena;
    const char *at = p->is_static ? "" : format(s->c, "%s%s", p->syms.n ? " at " : "", sizes_text(s));
    return arena_printf(a, "%s: %s, %d kernels, arena %lld bytes%s%s, weights %lld bytes", s->w->folder,
                        program_targets(p), kernels_of(p), (long long)program_arena(p), at,
                        p->has_region ? " and what sizes found in the run need" : "", (long long)weights_size(p));
}
static json_t *json(const struct session *s) {
    const struct program *p = s->w->program;
    struct arena *a = &s->c->arena;
    json_t *o = json_pack("{s:o, s:s, s:s, s:i, s:I, s:b, s:b, s:I}", "folder", json_name(a, s->w->folder), "name",
                          p->name, "target", program_targets(p), "kernels", kernels_of(p), "arena_bytes",
                          (json_int_t)program_arena(p), "arena_is_static", p->is_static, "region", p->has_region,
                          "weights_bytes", (json_int_t)weights_size(p));
    json_t *at = json_object();
    for (int y = 0; y < p->syms.n; y++)
        json_object_set_new(at, json_key(a, p->syms.v[y]->name), json_integer(program_reference(p, p->syms.v[y])));
    json_object_set_new(o, "dims", at);
    if (budget_is_given(&s->o->limits)) json_object_set_new(o, "budget", budget_json(&s->o->limits, &s->taken));
    return o;
}
json_t *gcc2nn_facts(gcc2nn *g) {
    struct session *s = &g->session;
    json_t *o = json(s);
    json_object_set_new(o, "folder", json_name(&s->c->arena, path_last(s->w->folder)));
    session_add_dumps(s, o);
    return o;
}
static int summarise(gcc2nn *g, const char *none, const char *nothing) {
    struct text t = {0};
    (void)none, (void)nothing;
    bool onnx = emits_onnx(&g->options);
    if (!g->options.json) g->summary = onnx ? exported_line(&g->arena, &g->exported) : line(&g->session);
    else {
        session_json_text(&g->session, onnx ? exported_json(&g->arena, &g->exported) : json(&g->session), &t);
        g->summary = arena_printf(&g->arena, "%s", t.s);
        text_free(&t);
    }
    return GCC2NN_OK;
}
const char *gcc2nn_summary(gcc2nn *g) {
    if (g->wrote && !g->summary) guarded(g, summarise, NULL, NULL);
    return g->summary;
}

/* ---- problems: those of calls, of the model, and what would have ended the process */
static const struct diag *nth(const gcc2nn *g, int k) {
    const struct diags *model = g->session.c ? &g->session.c->diags : NULL;
    if (k < 0 || k < g->said.n) return k < 0 ? NULL : &g->said.v[k];
    k -= g->said.n;
    return model && k < model->n ? &model->v[k] : NULL;
}
static int recorded(const gcc2nn *g) { return g->said.n + (g->session.c ? g->session.c->diags.n : 0); }
int gcc2nn_problem_count(const gcc2nn *g) { return recorded(g) + (g->caught.status != 0); }
int gcc2nn_problem(const gcc2nn *g, int k, struct gcc2nn_problem *out) {
    static const int severities[] = {
        [DIAG_ERROR] = GCC2NN_ERROR, [DIAG_WARNING] = GCC2NN_WARNING, [DIAG_NOTE] = GCC2NN_NOTE};
    const struct diag *d = nth(g, k);
    if (d)
        *out = (struct gcc2nn_problem){.severity = severities[d->severity],
                                       .code = (int)d->code,
                                       .file = d->where,
                                       .origin = d->origin,
                                       .help = diag_remedy(&g->said, d),
                                       .message = d->message};
    else if (g->caught.status && k == recorded(g))
        *out = (struct gcc2nn_problem){.severity = GCC2NN_ERROR, .message = g->caught.message};
    else return GCC2NN_USAGE;
    return GCC2NN_OK;
}
