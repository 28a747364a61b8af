/* See explain_node.h. The model is compiled twice: up to inference, where nodes are still the model's own and all types
 * are known, and through lowering, with all remarks. The results of both are combined into one JSON value, from which
 * the text is made. */
#include "compiler/explain_node.h"
#include "compiler/choices.h"
#include "compiler/named_nodes.h"
#include <string.h>

struct explained {
    const struct options *o;
    struct ctx *c; /* owns the texts */
    struct session made, lowered;
    const struct node *n; /* node of the first compilation */
    const char *choices;  /* of the second compilation .. */
    struct remarks remarks;
    json_t *root;
};
struct numbered {
    const char *number;
    const struct node *found;
};
/* Finds a node by its number: `node 17`. */
static void find_numbered(void *env, struct node *n) {
    struct numbered *w = env;
    const char *own = n->origin && !strncmp(n->origin, "node ", 5) ? n->origin + 5 : "";
    size_t digits = strspn(own, "0123456789");
    if (!w->found && digits && strlen(w->number) == digits && !strncmp(own, w->number, digits)) w->found = n;
}
static const char *from_text(const struct value *v) {
    return v->init              ? "a constant"
           : v->def             ? v->def->origin
           : v->param_of->owner ? "of the body's node"
                                : "an input of the model";
}
/* ---- where a dim comes from */
struct dim_source {
    struct ctx *c;
    const struct graph *g;
    struct text *out;
    struct node *maker;
    const struct sym *sym;
};
static void find_maker(void *env, struct node *n) {
    struct dim_source *q = env;
    for (int k = 0; k < n->syms.n; k++)
        if (n->syms.v[k] == q->sym) q->maker = n;
}
static bool explain_symbol(void *env, expr e) {
    struct dim_source *q = env;
    if (e->op != X_SYM) return true;
    q->sym = e->u.sym, q->maker = NULL;
    const char *name = diag_quote(&q->c->arena, e->u.sym->name);
    for (int k = 0; k < q->g->top->params.n; k++) {
        const struct value *v = q->g->top->params.v[k];
        for (int d = 0; d < v->type.rank; d++)
            if (v->type.dims[d] == e) {
                text_printf(q->out, "; %s is dim %d of input %s", name, d, diag_quote(&q->c->arena, v->name));
                return true;
            }
    }
    each_node(q->g->top, find_maker, q);
    if (q->maker) text_printf(q->out, "; %s is found in the run by %s", name, q->maker->origin);
    return true;
}
/* "as dim 1 of input 0; "N" is dim 0 of input "x"" */
static const char *dim_from(struct ctx *c, const struct graph *g, const struct node *n, int place, expr dim) {
    struct text t = {0};
    int64_t size;
    bool one = x_is_int(dim, &size) && size == 1;
    for (int j = 0; j < 2 * n->ins.n && !t.n && !one; j++) { /* prefer a dim at the same position */
        const struct value *v = n->ins.v[j % n->ins.n];
        for (int d = 0; v && d < v->type.rank && !t.n; d++)
            if (v->type.dims[d] == dim && (j >= n->ins.n || d == place))
                text_printf(&t, "as dim %d of %s", d, *v->name ? diag_quote(&c->arena, v->name) : "an operand");
    }
    if (!t.n) text_add(&t, "by the operator, from its operands and attributes");
    struct dim_source q = {c, g, &t, NULL, NULL};
    x_visit(dim, explain_symbol, &q);
    return text_take(&t, &c->arena);
}
static json_t *values_json(struct explained *x, bool results) {
    struct ctx *c = x->c;
    json_t *list = json_array();
    for (int k = 0; k < (results ? x->n->outs.n : x->n->ins.n); k++) {
        const struct value *v = results ? x->n->outs.v[k] : x->n->ins.v[k];
        if (!v) continue;
        json_t *o = json_pack("{s:o, s:o}", "name", json_name(&c->arena, v->name), "type",
                              json_name(&c->arena, type_text(c, &v->type)));
        if (!results) json_object_set_new(o, "from", json_name(&c->arena, from_text(v)));
        json_t *dims = json_array();
        for (int d = 0; results && v->type.kind == TY_TENSOR && d < v->type.rank; d++) {
            struct text t = {0};
            dim_print(&t, v->type.dims[d]);
            json_array_append_new(dims,
                                  json_pack("{s:s, s:o}", "dim", t.s ? t.s : "", "from",
                                            json_name(&c->arena, dim_from(c, x->made.u.g, x->n, d, v->type.dims[d]))));
            text_free(&t);
        }
        if (results) json_object_set_new(o, "sizes", dims);
        json_decref(results ? NULL : dims);
        json_array_append_new(list, o);
    }
    return list;
}
static bool has_line(const char *text, const char *line) {
    size_t n = strlen(line);
    for (const char *at = text; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strcspn(at, "\n") == n && !strncmp(at, line, n)) return true;
    return false;
}
static json_t *kernels_json(struct explained *x, const char *origin) {
    struct arena *a = &x->c->arena;
    const struct module *m = x->lowered.u.m;
    json_t *list = json_array();
    for (int k = 0; k < m->procs.n; k++) {
        const struct proc *p = m->procs.v[k];
        if (!p->comment || !has_line(p->comment, origin)) continue;
        const char *at = x->choices, *name, *text, *said = "";
        while ((text = choices_next(a, &at, &name)))
            if (!strcmp(name, p->name)) said = text;
        json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "kernel", p->name, "nodes", json_name(a, p->comment),
                                              "text", json_name(a, said)));
    }
    return list;
}
static void add_fate(struct explained *x, const char *origin) {
    const sources *all = &x->lowered.u.m->sources;
    for (int k = 0; k < all->n; k++) {
        const struct source_node *s = &all->v[k];
        if (strcmp(s->origin, origin) != 0) continue;
        json_object_set_new(x->root, "state", json_string(source_state_name(s->state)));
        if (s->into) json_object_set_new(x->root, "into", json_name(&x->c->arena, s->into));
        if (s->pass) json_object_set_new(x->root, "pass", json_string(s->pass));
        if (s->rule) json_object_set_new(x->root, "rule", json_string(s->rule));
        if (s->why) json_object_set_new(x->root, "why", json_name(&x->c->arena, s->why));
    }
}
static json_t *remarks_json(struct explained *x, const char *origin) {
    const struct remarks *r = &x->remarks;
    json_t *list = json_array();
    for (int k = 0; k < r->v.n; k++)
        if (!strcmp(r->v.v[k].origin, origin))
            json_array_append_new(list, json_pack("{s:s, s:o}", "remark", remark_kind_name(r->v.v[k].kind), "message",
                                                  json_name(&x->c->arena, r->v.v[k].message)));
    return list;
}
/* ", merged into node 3 .. by pass simplify, rule x: why"; "" if it still exists. */
static void print_fate(struct text *t, const json_t *v) {
    static const char *const parts[][2] = {
        {"into", " into "}, {"pass", " by pass "}, {"rule", ", rule "}, {"why", ": "}};
    bool alive = !strcmp(json_text(v, "state"), source_state_name(SOURCE_ALIVE));
    if (!alive) text_printf(t, " %s", json_text(v, "state"));
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (*json_text(v, parts[k][0])) text_printf(t, "%s%s", parts[k][1], json_text(v, parts[k][0]));
}
/* The same as text. */
static void print_node(struct arena *a, const json_t *root) {
    struct text t = {0};
    size_t k, d;
    json_t *v, *dim;
    text_printf(&t, "%s\n", json_text(root, "node"));
    json_array_foreach(json_object_get(root, "inputs"), k, v) text_printf(
        &t, "  reads %s: %s, %s\n", diag_quote(a, json_text(v, "name")), json_text(v, "type"), json_text(v, "from"));
    json_array_foreach(json_object_get(root, "results"), k, v) {
        text_printf(&t, "  makes %s: %s\n", diag_quote(a, json_text(v, "name")), json_text(v, "type"));
        json_array_foreach(json_object_get(v, "sizes"), d, dim)
            text_printf(&t, "    dim %d, %s: %s\n", (int)d, json_text(dim, "dim"), json_text(dim, "from"));
    }
    print_fate(&t, root);
    if (t.s[t.n - 1] != '\n') text_char(&t, '\n');
    json_array_foreach(json_object_get(root, "remarks"), k, v)
        text_printf(&t, "  %s: %s\n", json_text(v, "remark"), json_text(v, "message"));
    json_array_foreach(json_object_get(root, "kernels"), k, v) text_printf(&t, "\n%s", json_text(v, "text"));
    print_text(&t);
}

/* ---- all nodes */
/* "kernel k3_conv", or what became of a node that was removed. */
static json_t *summary_json(struct explained *x, const struct source_node *s) {
    x->root = json_pack("{s:o}", "node", json_name(&x->c->arena, s->origin));
    add_fate(x, s->origin);
    json_t *names = json_array();
    const struct module *m = x->lowered.u.m;
    for (int k = 0; k < m->procs.n; k++)
        if (m->procs.v[k]->comment && has_line(m->procs.v[k]->comment, s->origin))
            json_array_append_new(names, json_string(m->procs.v[k]->name));
    json_object_set_new(x->root, "kernels", names);
    return x->root;
}
static void print_summary(const json_t *list) {
    struct text t = {0};
    size_t k, j;
    json_t *v, *name;
    json_array_foreach(list, k, v) {
        text_printf(&t, "%s:", json_text(v, "node"));
        json_array_foreach(json_object_get(v, "kernels"), j, name) text_printf(&t, " %s", json_string_value(name));
        print_fate(&t, v);
        text_char(&t, '\n');
    }
    print_text(&t);
}
static void explain_all(struct explained *x) {
    const sources *all = &x->lowered.u.m->sources;
    json_t *list = json_array();
    for (int k = 0; k < all->n; k++) json_array_append_new(list, summary_json(x, &all->v[k]));
    if (x->o->json) session_json(&x->lowered, json_pack("{s:O}", "nodes", list));
    else print_summary(list);
    json_decref(list);
}

/* ---- the command */
static void take_choices(void *env, const char *pass, const char *text) {
    struct explained *x = env;
    (void)pass;
    x->choices = arena_printf(&x->lowered.c->arena, "%s", text);
}
static bool lower_model(struct explained *x) {
    static const char *const choices[] = {"choices"};
    static const struct remark_wish everything = {REMARKS_ALL, NULL};
    struct session *s = &x->lowered;
    if (!session_open(s, x->o)) return false;
    s->compile.dump_after = choices, s->compile.ndump = 1;
    s->compile.dump = take_choices, s->compile.env = x;
    s->compile.stop_after = "lower";
    s->c->diags.remarks.wishes = &everything, s->c->diags.remarks.nwishes = 1;
    bool ok = session_compile(s);
    x->remarks = s->c->diags.remarks;
    s->c->diags.remarks = (struct remarks){0}; /* they are part of the output here, not diagnostics */
    return ok;
}
static bool find(struct explained *x, const char *word) {
    struct session *s = &x->made;
    struct numbered w = {.number = word};
    if (!session_open(s, x->o)) return false;
    s->compile.stop_after = "infer";
    if (!session_compile(s)) return false;
    node_list named = nodes_named(s->u.g, NODES_OF_ALL, word, strlen(word));
    if (!named.n) each_node(s->u.g->top, find_numbered, &w);
    x->n = named.n ? named.v[0] : w.found;
    return x->n || no_node_named(s->u.g, NODES_OF_ALL, NULL, word, strlen(word));
}
static void explain_one(struct explained *x) {
    const char *origin = origin_own(x->c, x->n->origin);
    x->root = json_pack("{s:o, s:o, s:o}", "node", json_name(&x->c->arena, origin), "inputs", values_json(x, false),
                        "results", values_json(x, true));
    add_fate(x, origin);
    const char *into = json_text(x->root, "into");
    json_object_set_new(x->root, "remarks", remarks_json(x, *into ? into : origin));
    json_object_set_new(x->root, "kernels", kernels_json(x, origin));
    if (x->o->json) {
        session_json(&x->lowered, x->root);
        return;
    }
    print_node(&x->c->arena, x->root);
    json_decref(x->root);
}
int explain_model(const struct options *o, const char *node) {
    struct explained x = {.o = o, .choices = ""};
    int status = EXIT_OK;
    bool found = !node || find(&x, node);
    if (!found) status = session_report(&x.made);
    else if (lower_model(&x)) {
        x.c = x.lowered.c;
        node ? explain_one(&x) : explain_all(&x);
    }
    if (found) status = session_report(&x.lowered);
    session_free(&x.made);
    session_free(&x.lowered);
    return status;
}
