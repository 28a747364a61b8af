/* `gcc2nn bisect MODEL`: finds what makes outputs differ. The program is compiled again and again with fewer of the
 * decisions (ir/base/decide.h) that distinguish it from the plain one, until a single decision remains without which it
 * is right, and with which it is wrong. If the plain program is wrong, the results of all nodes are compared. Where
 * that is fast, programs are interpreted instead of compiled; then the passes towards C can be told apart, too. */
#include "compiler/verification.h"
#include "ir/eval/eval.h"
#include <stdio.h>
#include <string.h>

/* How many statements a program may be interpreted with: a few seconds. */
enum { FUEL = 1 << 26 };

struct bisection {
    const struct options *o;
    struct session whole; /* with every decision; has the reference values, and texts */
    const struct referee *with;
    struct tensor **want; /* each output; NULL: unknown */
    bool interpret;       /* the interpreter has the same results as the C */
    int tries;
};
struct attempt {
    bool ran, departs;
    bool interpreted;
    const char *pass, *decision; /* of the last decision */
    const char *why;             /* how the outputs differ */
};
/* PASS: one that cannot be left out. REFERENCE: the data given by --data, from which the referee asked about nodes
 * differs as well. PROGRAM: the plainest one, so nothing more specific can be said. */
enum culprit_kind { NOTHING, DECISION, PASS, NODE, REFERENCE, PROGRAM };
struct culprit {
    enum culprit_kind kind;
    const char *pass; /* NULL: none */
    const char *what; /* the decision, or the node */
    const char *then; /* the pass towards C that changes what the decision made; NULL: none, or unknown */
    const char *why;  /* of the first value that differs */
    int number;       /* of the decision, from 1; 0: none */
    bool printed;     /* the loops are right, but the printed C is not */
};

static const char *kept(struct bisection *b, const char *s) { return s ? format(b->whole.c, "%s", s) : NULL; }
static const char *first_message(const struct session *s) {
    return s->c->diags.n ? s->c->diags.v[0].message : "it fails";
}
/* Does an output differ? *why: how the first one does. */
static bool departs(struct bisection *b, struct session *s, struct harness *h, struct tensor **inputs,
                    struct tensor **outputs, const char **why) {
    json_t *list = json_array();
    struct verification v = verification_of(s, h, inputs, outputs, list);
    bool any = false;
    for (int k = 0; k < v.p->outs.n && !any; k++) {
        struct text t = {0};
        any = b->want[k] && !verification_same(&v, k, b->want[k], &t);
        if (any)
            *why = format(b->whole.c, "output %d, %s: %s", k, diag_quote(&b->whole.c->arena, v.p->outs.v[k].buf->name),
                          t.s ? t.s : "");
        text_free(&t);
    }
    json_decref(list);
    return any;
}
static bool run_in_c(struct session *s, struct harness *h, struct tensor **inputs, struct tensor **outputs) {
    h->exe = session_build(s, format(s->c, "%s_main", s->w->name));
    h->symbols = session_symbols(s);
    bool ran = h->exe && harness_run(h, inputs, outputs, 0, 0, NULL);
    if (h->exe && !ran) session_blame_inputs(s);
    return ran;
}
static bool interpreted(struct session *s, struct tensor **inputs, struct tensor **outputs) {
    struct diags before = s->c->diags;
    s->fuel = FUEL;
    bool ok = session_interpret(s, inputs, outputs);
    if (!ok) s->c->diags = before;
    return ok;
}
/* The program with the first `limit` decisions. */
static struct attempt attempt(struct bisection *b, int limit, bool interpret) {
    struct session s;
    struct attempt a = {0};
    struct tensor **inputs = NULL, **outputs = NULL;
    progress("bisect: %d decisions, program %d", limit, ++b->tries);
    bool ok = session_open(&s, b->o);
    s.c->decisions.limited = true, s.c->decisions.limit = limit;
    ok = ok && session_compile(&s) && session_write(&s, NULL) && (inputs = session_inputs(&s));
    struct harness h = {.c = s.c, .w = s.w, .seconds = b->o->seconds};
    if (ok) outputs = NEWN(&s.c->arena, struct tensor *, s.w->program->outs.n + 1);
    a.interpreted = ok && interpret && interpreted(&s, inputs, outputs);
    a.ran = ok && (a.interpreted || run_in_c(&s, &h, inputs, outputs));
    a.departs = !a.ran || departs(b, &s, &h, inputs, outputs, &a.why);
    if (!a.ran) a.why = kept(b, first_message(&s));
    a.pass = kept(b, s.c->decisions.last_pass), a.decision = kept(b, s.c->decisions.last);
    session_free(&s);
    return a;
}

/* Is the program right before it is printed as C? */
static bool right_in_loops(struct bisection *b, int limit) {
    struct attempt a = attempt(b, limit, true);
    return a.interpreted && !a.departs;
}

/* ---- passes towards C, none of which can be left out */
static bool same_outputs(struct session *s, struct tensor **a, struct tensor **b) {
    bool same = true;
    for (int k = 0; k < s->w->program->outs.n && same; k++) {
        struct text why = {0};
        same = same_bits(a[k], b[k], &why);
        text_free(&why);
    }
    return same;
}
/* The first pass after which the same inputs give other bits; NULL: none, or it would take too long. */
static const char *first_change(struct bisection *b, int limit) {
    struct session s;
    const char *found = NULL;
    bool ok = session_open(&s, b->o);
    s.c->decisions.limited = true, s.c->decisions.limit = limit;
    s.compile.stop_after = "plan";
    ok = ok && session_compile(&s);
    s.w = b->whole.w; /* the same inputs and outputs */
    struct tensor **inputs = ok ? session_inputs(&s) : NULL;
    int n = s.w->program->outs.n;
    struct tensor **was = NEWN(&s.c->arena, struct tensor *, n + 1), **now = NEWN(&s.c->arena, struct tensor *, n + 1);
    ok = inputs && interpreted(&s, inputs, was);
    for (const struct pass_row *p = pass_rows; p->name && ok && !found; p++) {
        if (!p->change || pass_left_out(&s.u, p)) continue;
        if (!run_pass(&s.u, p) || !interpreted(&s, inputs, now) || !same_outputs(&s, was, now)) found = p->name;
    }
    s.w = NULL;
    session_free(&s);
    return found;
}

/* ---- nodes */
/* Do the model's own outputs differ from the reference data, although the referee confirms them? */
static bool reference_departs(struct bisection *b, const struct verification *v) {
    bool any = false;
    for (int k = 0; k < v->s->own_outputs && !any; k++) {
        struct text t = {0};
        any = b->want[k] && !verification_same(v, k, b->want[k], &t);
        text_free(&t);
    }
    return any;
}
/* Looks for the first node whose result differs in the plain program. If there is something to compare with: NODE,
 * otherwise REFERENCE or NOTHING; if there is not: PROGRAM. */
static enum culprit_kind first_node(struct bisection *b, struct culprit *q) {
    struct options each = *b->o;
    struct session s;
    enum culprit_kind found = PROGRAM;
    each.each_node = true;
    progress("bisect: every node");
    bool ok = session_open(&s, &each);
    s.c->decisions.limited = true;
    ok = ok && session_compile_each_node(&s) && session_write(&s, NULL);
    struct tensor **inputs = ok ? session_inputs(&s) : NULL;
    struct harness h = {.c = s.c, .w = s.w, .seconds = each.seconds};
    int n = ok ? s.w->program->outs.n : 0;
    struct tensor **outputs = NEWN(&s.c->arena, struct tensor *, n + 1);
    bool quick = inputs && b->interpret && interpreted(&s, inputs, outputs) && harness_inputs(&h, inputs);
    ok = quick || (inputs && run_in_c(&s, &h, inputs, NULL));
    json_t *list = json_array();
    if (ok) {
        struct verification v = verification_of(&s, &h, inputs, quick ? outputs : NULL, list);
        if (verification_ask_nodes(&v)) found = NOTHING;
        for (int j = 0; j < n && found == NOTHING; j++) {
            int k = (j + s.own_outputs) % n; /* the model's own outputs come last, in its order */
            struct text t = {0};
            const struct value *r = s.u.g->top->results.v[k];
            if (!verification_node_same(&v, k, &t)) {
                found = NODE;
                q->what = kept(b, r->def ? r->def->origin : diag_quote(&s.c->arena, r->name));
                q->why = kept(b, t.s);
            }
            text_free(&t);
        }
        if (found == NOTHING && reference_departs(b, &v)) found = REFERENCE;
    }
    json_decref(list);
    session_free(&s);
    return found;
}

/* ---- the search */
static void blame_baseline(struct bisection *b, const struct attempt *plain, struct culprit *q) {
    q->kind = PROGRAM, q->why = plain->why;
    if (!plain->interpreted && right_in_loops(b, 0)) {
        q->printed = true;
        return;
    }
    if (plain->interpreted && (q->then = first_change(b, 0))) {
        q->kind = PASS, q->pass = q->then, q->then = NULL;
        return;
    }
    q->kind = first_node(b, q);
    if (q->kind == NOTHING)
        q->kind = PASS, q->pass = "constants"; /* nothing else lies between the nodes and the plain
                                                * program */
}
static void blame_decision(struct bisection *b, int number, const struct attempt *wrong, struct culprit *q) {
    *q = (struct culprit){
        .kind = DECISION, .pass = wrong->pass, .what = wrong->decision, .why = wrong->why, .number = number};
    if (wrong->interpreted) q->then = first_change(b, number);
    else q->printed = right_in_loops(b, number);
    if (q->then && !strcmp(q->then, q->pass)) q->then = NULL;
}
static void search(struct bisection *b, struct culprit *q) {
    int right = 0, wrong = b->whole.c->decisions.made;
    struct attempt first = attempt(b, 0, b->interpret), at_wrong = {0};
    if (first.departs) {
        blame_baseline(b, &first, q);
        return;
    }
    while (wrong - right > 1 || !at_wrong.why) {
        int middle = wrong - right > 1 ? right + (wrong - right) / 2 : wrong;
        struct attempt a = attempt(b, middle, b->interpret);
        if (a.departs) wrong = middle, at_wrong = a;
        else if (middle == wrong) at_wrong = (struct attempt){.why = "and not a second time"};
        else right = middle;
    }
    blame_decision(b, wrong, &at_wrong, q);
}

/* ---- the report */
static void tell(struct bisection *b, const struct culprit *q) {
    struct ctx *c = b->whole.c;
    const char *than = b->with->possessive,
               *printed = q->printed ? " (the loops are right: what is printed of them is not, or the C compiler)" : "";
    if (q->kind == DECISION) {
        diag(&c->diags, DIAG_ERROR, E_OUTPUT, "outputs depart from %s with %s %s, %s%s%s%s%s; %s", than,
             q->pass ? "pass" : "decision", q->pass ? q->pass : format(c, "%d", q->number),
             q->what ? q->what : "the last", q->then ? ", as pass " : "", q->then ? q->then : "",
             q->then ? " leaves it" : "", printed, q->why);
        diag_help(&c->diags, "--bisect-limit=%d is right, --bisect-limit=%d is wrong", q->number - 1, q->number);
    } else if (q->kind == PASS) {
        diag(&c->diags, DIAG_ERROR, E_OUTPUT, "outputs depart from %s with pass %s; %s", than, q->pass, q->why);
    } else if (q->kind == NODE) {
        diag_node(&c->diags, DIAG_ERROR, E_OUTPUT, q->what,
                  "the first node whose result departs from %s, in the plainest program, too: %s", than, q->why);
        diag_help(&c->diags, "the kernel of its operator is wrong, or a weight that it reads");
    } else if (q->kind == REFERENCE) {
        diag(&c->diags, DIAG_ERROR, E_OUTPUT, "every node is right by %s, which departs from %s, too; %s",
             referee_usual(&b->whole)->name, than, q->why);
        diag_help(&c->diags, "the reference was made of other inputs, or by another model: look at what prepares the "
                             "inputs, and at the export");
    } else {
        diag(&c->diags, DIAG_ERROR, E_OUTPUT, "outputs depart from %s in the plainest program already%s%s; %s", than,
             q->printed ? "" : ": an operator, a weight or the import", printed, q->why);
        if (q->printed) return;
        diag_help(&c->diags, "nobody could be asked for results of nodes; --python names a Python that has the package "
                             "onnxruntime");
    }
}
static json_t *culprit_json(struct bisection *b, const struct culprit *q) {
    static const char *const kinds[] = {NULL, "decision", "pass", "node", "reference", "program"};
    struct arena *a = &b->whole.c->arena;
    json_t *o = json_pack("{s:s, s:s}", "kind", kinds[q->kind], "with", b->with->key);
    if (q->pass) json_object_set_new(o, "pass", json_string(q->pass));
    if (q->what) json_object_set_new(o, "what", json_name(a, q->what));
    if (q->then) json_object_set_new(o, "then", json_string(q->then));
    if (q->why) json_object_set_new(o, "why", json_name(a, q->why));
    if (q->number) json_object_set_new(o, "number", json_integer(q->number));
    if (q->printed) json_object_set_new(o, "printed", json_true());
    return o;
}
static bool can_bisect(struct session *s) {
    const char *no = s->ntargets > 1 ? "bisect is for one target"
                     : s->o->against && !strcmp(s->o->against, "interpreter")
                         ? "the interpreter runs the loops that are looked for"
                     : ends_with(s->o->args.v[0], ".lir") ? "a module of loops came about by no decisions"
                                                          : NULL;
    if (no) diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "%s", no);
    return !no;
}
static void bisect(struct bisection *b, struct harness *h, struct tensor **inputs) {
    struct session *s = &b->whole;
    struct tensor **outputs = NEWN(&s->c->arena, struct tensor *, s->w->program->outs.n + 1),
                  **read = NEWN(&s->c->arena, struct tensor *, s->w->program->outs.n + 1);
    json_t *list = json_array();
    const char *why = NULL;
    struct culprit q = {.kind = NOTHING};
    if (run_in_c(s, h, inputs, outputs)) {
        struct verification v = verification_of(s, h, inputs, outputs, list);
        b->want = verification_wanted(&v, &b->with);
    }
    if (b->want && departs(b, s, h, inputs, outputs, &why)) {
        b->interpret = interpreted(s, inputs, read) && same_outputs(s, outputs, read);
        q.why = why;
        search(b, &q);
        tell(b, &q);
    } else if (b->want && !s->o->json) {
        printf("outputs are as %s: nothing departs\n", b->with->possessive);
    }
    if (b->want && s->o->json) {
        json_t *root =
            json_pack("{s:b, s:i, s:i}", "same", !q.kind, "decisions", s->c->decisions.made, "tries", b->tries);
        json_object_set_new(root, "culprit", q.kind ? culprit_json(b, &q) : json_null());
        session_json(s, root);
    }
    json_decref(list);
}
int cmd_bisect(const struct options *o) {
    struct bisection b = {.o = o};
    struct session *s = &b.whole;
    if (session_open(s, o) && can_bisect(s) && session_compile(s) && session_write(s, NULL)) {
        struct tensor **inputs = session_inputs(s);
        struct harness h = {.c = s->c, .w = s->w, .seconds = o->seconds};
        if (inputs) bisect(&b, &h, inputs);
    }
    progress_end();
    return session_close(s);
}
