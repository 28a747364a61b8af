/* Algebraic simplification: applies the rules (rules.h) with a work list. A node is examined once, and again whenever
 * something near it has changed, so the time is proportional to the graph and to the rules applied. See passes.h. */
#include "compiler/graph/passes.h"
#include "compiler/graph/rules.h"
#include "ir/graph/op.h"
#include "lower/group.h"
#include <string.h>

static const struct rule *const tables[] = {rules_arithmetic, rules_logic, rules_shape, rules_parts, rules_layout};
enum { TABLES = sizeof tables / sizeof *tables };

const char *exactness_name(enum exactness e) { return e == SAME_BITS ? "same bits" : "same values"; }
int rule_count(void) {
    int n = 0;
    for (int t = 0; t < TABLES; t++)
        for (const struct rule *r = tables[t]; r->name; r++) n++;
    return n;
}
const struct rule *rule_at(int k) {
    for (int t = 0; t < TABLES; t++)
        for (const struct rule *r = tables[t]; r->name; r++)
            if (!k--) return r;
    return NULL;
}
const struct rule *rule_named(const char *name) {
    for (int k = 0; k < rule_count(); k++)
        if (!strcmp(rule_at(k)->name, name)) return rule_at(k);
    return NULL;
}

/* A row with its parsed pattern. */
struct prepared {
    const struct rule *rule;
    struct pattern *pattern, *result;
    struct prepared *next; /* next rule whose root is the same operator */
};
struct simplifier {
    struct graph *g;
    struct arena tmp;
    struct map of_op; /* interned operator -> struct prepared */
    struct prepared *of_any;
    VEC(struct node *) work;
    VEC(char) waits; /* by id of node: is it in the work list? */
    int next;        /* of work */
    int64_t fuel;    /* bounds the work, because rules that undo each other would run for ever */
};

/* ---- the table */
static bool left_out(const struct graph *g, const char *name) {
    for (int k = 0; k < g->rules_off.n; k++)
        if (!strcmp(g->rules_off.v[k], name)) return true;
    return false;
}
static void append(struct prepared **list, struct prepared *p) {
    while (*list) list = &(*list)->next;
    *list = p;
}
static void prepare(struct simplifier *s, const struct rule *r) {
    struct pattern *p = pattern_parse(&s->tmp, r->pattern),
                   *result = r->make ? NULL : pattern_parse(&s->tmp, r->result);
    struct prepared row = {r, p, result, NULL};
    for (int k = 0; k < p->nops; k++) {
        struct prepared *one = arena_copy(&s->tmp, &row, sizeof row);
        uint64_t key = PKEY(intern(s->g->ctx->names, p->ops[k]));
        struct prepared *first = map_get(&s->of_op, key);
        if (first) append(&first, one);
        else map_put(&s->of_op, key, one);
    }
    if (!p->nops) append(&s->of_any, arena_copy(&s->tmp, &row, sizeof row));
}

/* ---- the work list */
static void look_at(struct simplifier *s, struct node *n) {
    if (!n) return;
    while (s->waits.n <= n->id) PUSH(&s->tmp, &s->waits, 0);
    if (s->waits.v[n->id]) return;
    s->waits.v[n->id] = 1;
    PUSH(&s->tmp, &s->work, n);
}
/* Patterns are at most three nodes deep. */
static void look_at_readers(struct simplifier *s, const struct value *v, int depth) {
    for (int k = 0; k < v->uses.n; k++) {
        struct node *n = v->uses.v[k].node;
        if (!n) continue;
        look_at(s, n);
        for (int j = 0; depth > 1 && j < n->outs.n; j++)
            if (n->outs.v[j]) look_at_readers(s, n->outs.v[j], depth - 1);
    }
}
static void look_at_all(struct simplifier *s, struct region *r) {
    for (struct node *n = r->first; n; n = n->next) {
        for (int k = 0; k < n->attrs.n; k++)
            if (n->attrs.v[k].kind == AT_REGION) look_at_all(s, n->attrs.v[k].u.region);
        look_at(s, n);
    }
}

/* ---- applying */
static struct value *build(struct match *m, const struct pattern *p) {
    struct value *ins[PATTERN_ARGS];
    if (p->kind == P_VALUE) return MATCHED(m, p->letter);
    if (p->kind == P_NUMBER) return rule_splat(m, &m->node[0]->outs.v[0]->type, p->number);
    for (int k = 0; k < p->n; k++)
        if (!(ins[k] = build(m, p->arg[k]))) return NULL;
    return rule_node(m, p->ops[0], ins, p->n, NULL, 0);
}
static bool same_type(const struct type *a, const struct type *b) {
    return a->kind == TY_TENSOR && b->kind == TY_TENSOR && a->dtype == b->dtype && type_same_dims(a, b);
}
static const char *reason(struct graph *g, const struct rule *r) {
    return internf(g->ctx->names, "%s becomes %s", r->pattern, r->result);
}
static bool matched(const struct match *m, const struct node *n) {
    for (int k = 0; k < PATTERN_NODES; k++)
        if (m->node[k] == n) return true;
    return false;
}
/* Removes the root of the match, and the nodes before it that only it reads. Operands that lose a reader are examined
 * again, because some rules require a single reader. into: the origin of the new node that replaces them; NULL:
 * none. */
static void drop(struct simplifier *s, const struct match *m, const struct rule *r, const char *into) {
    VEC(struct node *) dead = {0};
    struct node *n;
    PUSH(&s->tmp, &dead, m->node[0]);
    while (dead.n) {
        n = dead.v[--dead.n];
        if (!n->in || node_is_used(n)) continue;
        trace_because(s->g, r->name, matched(m, n) ? reason(s->g, r) : "nothing reads its results any more");
        if (matched(m, n)) trace_into(s->g, into);
        int ins = n->ins.n;
        struct value **in = arena_copy(&s->tmp, n->ins.v, (size_t)ins * sizeof *in);
        node_remove(n);
        for (int k = 0; k < ins; k++) {
            if (!in[k]) continue;
            if (in[k]->def) PUSH(&s->tmp, &dead, in[k]->def);
            if (in[k]->uses.n == 1) look_at_readers(s, in[k], 1);
        }
    }
}
static bool apply(struct simplifier *s, const struct prepared *p, struct node *n) {
    struct match m = {.g = s->g};
    if (!pattern_match(p->pattern, n, &m)) return false;
    struct node *before = n->prev;
    const char *into = n->origin;
    struct diags said = s->g->ctx->diags;
    struct value *out = n->outs.v[0], *by = p->rule->make ? p->rule->make(&m) : build(&m, p->result);
    bool fails = s->g->ctx->diags.errors != said.errors; /* the result would be refused: the node stays as it is */
    if (fails) s->g->ctx->diags = said;
    if (fails || !by || by == out || !same_type(&by->type, &out->type)) {
        nodes_remove_between(before, n); /* remove the nodes built for nothing */
        return false;
    }
    if (!decide(s->g->ctx, "rule %s at %.*s", p->rule->name, OWN_ORIGIN(n))) {
        nodes_remove_between(before, n);
        return false;
    }
    if (n->prev == before) into = NULL;
    else if (by->def && *by->def->origin) into = by->def->origin; /* the new value may replace a node before the root */
    for (struct node *q = n->prev; q != before; q = q->prev) look_at(s, q);
    if (by->def && by->def->in == n->in && !*by->name && by->uses.n == 0) by->name = out->name;
    value_replace(out, by);
    look_at_readers(s, by, 2);
    drop(s, &m, p->rule, into);
    return true;
}
static bool apply_one_of(struct simplifier *s, const struct prepared *list, struct node *n) {
    for (; list; list = list->next)
        if (apply(s, list, n)) return true;
    return false;
}
bool graph_simplify(struct graph *g) {
    struct simplifier s = {.g = g};
    s.of_op.arena = &s.tmp;
    for (int k = 0; k < rule_count(); k++)
        if (!left_out(g, rule_at(k)->name)) prepare(&s, rule_at(k));
    look_at_all(&s, g->top);
    s.fuel = 8 * (int64_t)s.work.n + 1000;
    while (s.next < s.work.n) {
        struct node *n = s.work.v[s.next++];
        s.waits.v[n->id] = 0;
        if (!n->in || n->outs.n < 1 || !n->outs.v[0] || !n->outs.v[0]->uses.n || *n->domain) continue;
        if (s.fuel > 0 && (apply_one_of(&s, map_get(&s.of_op, PKEY(n->op_type)), n) || apply_one_of(&s, s.of_any, n)))
            s.fuel--;
    }
    arena_free(&s.tmp);
    return graph_dce(g);
}
