/* `gcc2nn doctor MODEL`: what is wrong with a model, or costs more than necessary, and what to do about it. Follows the
 * stages of a compilation: can the model be read (baseline), what did its exporter leave in it (simplify), which sizes
 * are open (graph), what is computed in which types (precision), what is slow (runtime), are the results right
 * (validate). The facts come from the passes: diagnostics, what became of nodes, remarks. */
#include "compiler/graph/passes.h"
#include "compiler/verification.h"
#include "ir/graph/op.h"
#include "lower/machine/machine.h"
#include <stdio.h>
#include <string.h>

enum stage { BASELINE, SIMPLIFY, GRAPH, PRECISION, RUNTIME, VALIDATE, STAGES };
static const char *const stage_names[] = {"baseline", "simplify", "graph", "precision", "runtime", "validate"};
enum gravity { FINE, NOTE, ADVICE, WRONG }; /* FINE: the stage itself, when nothing else is said; NOTE: to be known */
static const char *const weight_names[] = {"fine", "note", "advice", "wrong"};
struct finding {
    enum stage stage;
    enum gravity weight;
    const char *node, *what, *remedy; /* node, remedy: may be NULL */
};
struct visit {
    const struct options *o;
    struct session whole; /* holds all texts */
    VEC(struct finding) found;
    int status;
};
static void find(struct visit *v, enum stage s, enum gravity w, const char *node, const char *what,
                 const char *remedy) {
    struct arena *a = &v->whole.c->arena;
    struct finding f = {s, w, node ? origin_own(v->whole.c, node) : NULL, arena_printf(a, "%s", what),
                        remedy ? arena_printf(a, "%s", remedy) : NULL};
    PUSH(a, &v->found, f);
}
/* Turns what was recorded into findings; it is no longer a diagnostic. */
static void take_diags(struct visit *v, enum stage s, struct diags *d, int from) {
    for (int k = from; k < d->n; k++) {
        const struct diag *g = &d->v[k];
        bool sizes = g->code == E_SHAPE || g->code == E_RANK || g->code == E_DIM;
        find(v, s == BASELINE && sizes ? GRAPH : s,
             g->severity == DIAG_ERROR     ? WRONG
             : g->severity == DIAG_WARNING ? ADVICE
                                           : NOTE,
             g->origin, g->message, g->help);
    }
    d->n = from;
}

/* ---- simplify: what passes removed, and what remains of exporters' artefacts */
struct removed {
    const char *pass, *rule, *origin;
    int n;
};
static void note_removed(struct visit *v) {
    struct ctx *c = v->whole.c;
    const sources *all = &v->whole.u.m->sources;
    VEC(struct removed) list = {0};
    for (int k = 0; k < all->n; k++) {
        const struct source_node *s = &all->v[k];
        struct removed *r = NULL;
        if (s->state == SOURCE_ALIVE || !s->pass) continue;
        for (int j = 0; j < list.n && !r; j++)
            if (!strcmp(list.v[j].pass, s->pass) &&
                (list.v[j].rule == s->rule || (s->rule && list.v[j].rule && !strcmp(s->rule, list.v[j].rule))))
                r = &list.v[j];
        if (r) r->n++;
        else PUSH(&c->arena, &list, ((struct removed){s->pass, s->rule, s->origin, 1}));
    }
    for (int k = 0; k < list.n; k++) {
        const struct removed *r = &list.v[k];
        find(v, SIMPLIFY, NOTE, NULL,
             format(c, "pass %s%s%s does without %d node%s, such as %s", r->pass, r->rule ? ", rule " : "",
                    r->rule ? r->rule : "", r->n, r->n == 1 ? "" : "s", origin_own(v->whole.c, r->origin)),
             NULL);
    }
}
struct left {
    int moves, doubles, folded;
    const char *move, *double_;
};
static void look_at_left(void *env, struct node *n) {
    struct left *l = env;
    const struct value *v = n->outs.n ? n->outs.v[0] : NULL;
    int perm[32];
    bool moved = false, turns = v && n->op && n->op->permutes && v->type.rank <= 32 && n->op->permutes(n, perm);
    for (int k = 0; turns && k < v->type.rank; k++) moved |= perm[k] != k;
    if (moved && l->moves++ == 0) l->move = n->origin;
    if (v && v->type.kind == TY_TENSOR && v->type.dtype == F64 && l->doubles++ == 0) l->double_ = n->origin;
}
static void look_at_graph(struct visit *v) {
    struct ctx *c = v->whole.c;
    struct left l = {0};
    note_removed(v);
    each_node(v->whole.u.g->top, look_at_left, &l);
    if (l.moves)
        find(v, SIMPLIFY, ADVICE, NULL,
             format(c, "%d %s axes and did not cancel, such as %s", l.moves, l.moves == 1 ? "node turns" : "nodes turn",
                    origin_own(v->whole.c, l.move)),
             "an exporter that keeps one order of axes (channels first for convolutions) writes none; "
             "`gcc2nn explain MODEL NODE` says between what they stand");
    if (l.doubles)
        find(v, SIMPLIFY, ADVICE, NULL,
             format(c, "%d %s in f64, such as %s", l.doubles, l.doubles == 1 ? "node computes" : "nodes compute",
                    origin_own(v->whole.c, l.double_)),
             "exporters make f64 of Python's and NumPy's numbers: give these as float32 in the program that is "
             "exported");
}

/* ---- graph: sizes */
struct makers {
    struct visit *v;
    int n;
    const char *first;
};
static void look_at_sizes(void *env, struct node *n) {
    struct makers *m = env;
    if (n->syms.n && m->n++ == 0) m->first = n->origin;
}
static void look_at_symbols(struct visit *v) {
    const struct graph *g = v->whole.u.g;
    struct ctx *c = v->whole.c;
    for (int k = 0; k < g->syms.n; k++) {
        const struct sym *s = g->syms.v[k];
        if (s->lo == s->hi) continue;
        find(v, GRAPH, NOTE, NULL,
             format(c, "size %s is open, from %lld to %lld", diag_quote(&c->arena, s->name), (long long)s->lo,
                    (long long)s->hi),
             "--dim fixes it, or says the size to optimise for: kernels with rests for any size are slower, and the "
             "arena is "
             "that of the run");
    }
    struct makers m = {v, 0, NULL};
    each_node(g->top, look_at_sizes, &m);
    if (m.n)
        find(v, GRAPH, ADVICE, NULL,
             format(c, "%d %s sizes in the run, such as %s: what has them is allocated while it runs", m.n,
                    m.n == 1 ? "node finds" : "nodes find", origin_own(v->whole.c, m.first)),
             "where such a size is known, export the model with it, or give --shape");
}

/* ---- precision */
struct floats {
    struct visit *v;
    struct graph *g;
    int fake;
    const char *first;
};
static void look_at_floats(void *env, struct node *n) {
    struct floats *f = env;
    const char *why = graph_why_floats(f->g, n);
    if (why)
        find(f->v, PRECISION, ADVICE, n->origin, format(f->v->whole.c, "is quantised, but computed in floats: %s", why),
             "quantise it as the others: bytes with one scale for data, constants with one scale for each output "
             "channel");
    const struct value *q = n->op && n->op->flags & OP_QUANTIZES ? n->outs.v[0] : NULL;
    const struct node *reader = q ? value_only_reader(q) : NULL;
    if (reader && reader->op && reader->op->flags & OP_DEQUANTIZES && f->fake++ == 0) f->first = n->origin;
}
static void look_at_precision(struct visit *v) {
    struct session s;
    bool ok = session_open(&s, v->o);
    s.compile.stop_after = "integers";
    if (ok && session_compile(&s)) {
        struct floats f = {v, s.u.g, 0, NULL};
        each_node(s.u.g->top, look_at_floats, &f);
        if (f.fake)
            find(v, PRECISION, ADVICE, NULL,
                 format(v->whole.c,
                        "%d value%s quantised and turned back at once, such as by %s: it costs time and saves nothing",
                        f.fake, f.fake == 1 ? " is" : "s are", origin_own(v->whole.c, f.first)),
                 "quantise the operators around it, too, or leave these values out when the model is quantised");
    }
    session_free(&s);
}

/* ---- runtime */
static void look_at_kernels(struct visit *v) {
    const struct remarks *r = &v->whole.c->diags.remarks;
    for (int k = 0; k < r->v.n; k++)
        find(v, RUNTIME, ADVICE, r->v.v[k].origin, r->v.v[k].message,
             "`gcc2nn bench --per-kernel` says what it takes in a run, `gcc2nn explain MODEL NODE` what was tried");
    v->whole.c->diags.remarks = (struct remarks){0};
}

/* ---- validate */
static void compare(struct visit *v, struct harness *h, struct tensor **inputs, struct tensor **outputs) {
    struct session *s = &v->whole;
    int before = s->c->diags.n;
    const struct referee *with;
    json_t *list = json_array();
    struct verification w = verification_of(s, h, inputs, outputs, list);
    struct tensor **want = verification_wanted(&w, &with);
    if (!want) {
        s->c->diags.errors = 0; /* a missing referee is not the model's fault */
        for (int k = before; k < s->c->diags.n; k++) s->c->diags.v[k].severity = DIAG_NOTE;
        take_diags(v, VALIDATE, &s->c->diags, before);
    }
    int wrong = 0, n = 0;
    for (int k = 0; want && k < w.p->outs.n; k++) {
        struct text why = {0};
        bool departs = want[k] && !verification_same(&w, k, want[k], &why);
        n += want[k] != NULL, wrong += departs;
        if (departs)
            find(v, VALIDATE, WRONG, NULL,
                 format(s->c, "output %d, %s, departs from %s: %s", k,
                        diag_quote(&s->c->arena, w.p->outs.v[k].buf->name), with->possessive, why.s ? why.s : ""),
                 "`gcc2nn bisect MODEL` finds the pass or node; `gcc2nn verify --each-node` compares all results");
        text_free(&why);
    }
    if (wrong) v->status = EXIT_DIFFERS;
    if (want && !wrong)
        find(v, VALIDATE, FINE, NULL,
             format(s->c, "%d output%s as %s%s", n, n == 1 ? " is" : "s are", with->possessive,
                    s->made_up ? ", on made-up inputs" : ""),
             NULL);
    json_decref(list);
}
static void run(struct visit *v) {
    struct session *s = &v->whole;
    int before = s->c->diags.n;
    const char *exe = session_build(s, format(s->c, "%s_main", s->w->name));
    struct tensor **inputs = exe ? session_inputs(s) : NULL,
                  **outputs = NEWN(&s->c->arena, struct tensor *, s->w->program->outs.n + 1);
    struct harness h = {
        .c = s->c, .w = s->w, .exe = exe, .seconds = v->o->seconds, .symbols = inputs ? session_symbols(s) : NULL};
    if (inputs && harness_run(&h, inputs, outputs, 0, 0, NULL)) {
        compare(v, &h, inputs, outputs);
    } else {
        if (inputs && exe) session_blame_inputs(s);
        v->status = diags_status(&s->c->diags);
        take_diags(v, VALIDATE, &s->c->diags, before);
    }
}

/* ---- the report */
static enum gravity gravest(const struct visit *v, int stage) {
    enum gravity w = FINE;
    for (int k = 0; k < v->found.n; k++)
        if ((stage == STAGES || v->found.v[k].stage == (enum stage)stage) && v->found.v[k].weight > w)
            w = v->found.v[k].weight;
    return w;
}
static void print_visit(struct visit *v, int reached) {
    static const char *const marks[] = {[FINE] = "ok", [NOTE] = "ok", [ADVICE] = "!", [WRONG] = "x"};
    struct text t = {0};
    for (int s = 0; s < STAGES; s++) {
        text_printf(&t, "[%s] %s", s < reached ? marks[gravest(v, s)] : " ", stage_names[s]);
        text_add(&t, s < reached ? "\n" : ": not reached\n");
        for (int k = 0; k < v->found.n; k++) {
            const struct finding *f = &v->found.v[k];
            if (f->stage != (enum stage)s) continue;
            text_add(&t, "    ");
            help_wrap(&t, f->node ? format(v->whole.c, "%s: %s", f->node, f->what) : f->what, 4);
            if (f->remedy) text_add(&t, "      do: "), help_wrap(&t, f->remedy, 10);
        }
    }
    print_text(&t);
}
static void print_visit_json(struct visit *v, int reached) {
    struct arena *a = &v->whole.c->arena;
    json_t *list = json_array();
    for (int s = 0; s < STAGES; s++) {
        json_t *findings = json_array();
        for (int k = 0; k < v->found.n; k++) {
            const struct finding *f = &v->found.v[k];
            if (f->stage != (enum stage)s) continue;
            json_t *o = json_pack("{s:s, s:o}", "weight", weight_names[f->weight], "what", json_name(a, f->what));
            if (f->node) json_object_set_new(o, "node", json_name(a, f->node));
            if (f->remedy) json_object_set_new(o, "remedy", json_name(a, f->remedy));
            json_array_append_new(findings, o);
        }
        json_array_append_new(list, json_pack("{s:s, s:b, s:s, s:o}", "stage", stage_names[s], "reached", s < reached,
                                              "weight", weight_names[gravest(v, s)], "findings", findings));
    }
    session_json(&v->whole, json_pack("{s:s, s:o}", "weight", weight_names[gravest(v, STAGES)], "stages", list));
}
/* How many stages were reached. */
static int walk_stages(struct visit *v) {
    static const struct remark_wish slow = {REMARK_SLOW, NULL};
    struct session *s = &v->whole;
    s->c->diags.remarks.wishes = &slow, s->c->diags.remarks.nwishes = 1;
    bool ok = session_compile(s);
    v->status = diags_status(&s->c->diags);
    take_diags(v, BASELINE, &s->c->diags, 0);
    if (!ok) return s->u.m ? RUNTIME : s->u.g ? GRAPH + 1 : BASELINE + 1;
    look_at_graph(v);
    look_at_symbols(v);
    look_at_precision(v);
    look_at_kernels(v);
    if (!session_write(s, NULL)) return RUNTIME;
    run(v);
    return STAGES;
}
int cmd_doctor(const struct options *o) {
    struct visit v = {.o = o};
    struct session *s = &v.whole;
    if (session_open(s, o)) {
        int reached = walk_stages(&v);
        progress_end();
        o->json ? print_visit_json(&v, reached) : print_visit(&v, reached);
        s->c->diags.errors = 0; /* reported above */
    }
    int reported = session_close(s);
    return reported ? reported : v.status;
}
