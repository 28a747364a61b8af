/* Patterns of rules: reading their text, and matching them at a node. The language stands in rules.h. */
#include "compiler/graph/rules.h"
#include "ir/graph/op.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- text. The rows are part of the compiler: one that does not parse is a compiler bug. */
struct reader {
    struct arena *a;
    const char *s, *text;
    int nodes;
};
static void skip_blanks(struct reader *r) {
    while (*r->s == ' ') r->s++;
}
static bool taken(struct reader *r, const char *word) {
    skip_blanks(r);
    size_t n = strlen(word);
    if (strncmp(r->s, word, n)) return false;
    r->s += n;
    return true;
}
static const char *word(struct reader *r) {
    const char *s = r->s;
    while (isalnum((unsigned char)*r->s) || *r->s == '_') r->s++;
    return arena_printf(r->a, "%.*s", (int)(r->s - s), s);
}
static struct pattern *term(struct reader *r);
static void operands(struct reader *r, struct pattern *p) {
    p->alone = taken(r, "!");
    if (!taken(r, "(")) BUG("rule pattern %s: no operands at %s", r->text, r->s);
    while (!taken(r, ")")) {
        if (taken(r, "...")) p->more = true;
        else if (p->n == PATTERN_ARGS) BUG("rule pattern %s: too many operands", r->text);
        else p->arg[p->n++] = term(r);
        taken(r, ",");
    }
}
static struct pattern *term(struct reader *r) {
    struct pattern *p = NEW(r->a, struct pattern);
    skip_blanks(r);
    char *end;
    if (taken(r, "true") || taken(r, "false")) {
        p->kind = P_NUMBER, p->truth = true, p->number = r->s[-2] == 'u';
    } else if (islower((unsigned char)*r->s)) {
        p->kind = P_VALUE, p->letter = *r->s++;
        p->which = taken(r, ":") ? word(r) : "tensor";
    } else if (*r->s == '-' || isdigit((unsigned char)*r->s)) {
        p->kind = P_NUMBER, p->number = strtod(r->s, &end);
        r->s = end;
    } else {
        p->kind = P_NODE, p->place = r->nodes++;
        if (p->place >= PATTERN_NODES) BUG("rule pattern %s: too many operators", r->text);
        if (!taken(r, "?")) do {
                if (p->nops == PATTERN_OPS) BUG("rule pattern %s: too many names", r->text);
                p->ops[p->nops++] = word(r);
            } while (taken(r, "|"));
        operands(r, p);
    }
    return p;
}
struct pattern *pattern_parse(struct arena *a, const char *text) {
    struct reader r = {a, text, text, 0};
    struct pattern *p = term(&r);
    if (*r.s) BUG("rule pattern %s: nothing is known of %s", text, r.s);
    return p;
}

/* ---- matching */
static bool is_which(const struct value *v, const char *which) {
    if (v->type.kind != TY_TENSOR) return false;
    enum dtype t = v->type.dtype;
    if (!strcmp(which, "int")) return (TS_INT & TSET(t)) != 0;
    if (!strcmp(which, "signed")) return ((TS_SIGNED | TS_FLOAT) & TSET(t)) != 0;
    if (!strcmp(which, "float")) return (TS_FLOAT & TSET(t)) != 0;
    if (!strcmp(which, "bool")) return t == BOOL;
    if (!strcmp(which, "const")) return v->init != NULL;
    return true;
}
static bool same_number(const struct tensor *t, int64_t k, const struct pattern *p) {
    if (!dtype_is_float(t->type)) return tensor_i(t, k) == (int64_t)p->number;
    double v = tensor_f(t, k);
    return !memcmp(&v, &p->number, sizeof v);
}
/* Weights in files are not compared: reading all of them would take too long. */
static bool is_number(const struct value *v, const struct pattern *p) {
    const struct tensor *t = v->init;
    if (!t || t->type == STR || (t->type == BOOL) != p->truth) return false;
    if (!p->truth && !(TS_NUM & TSET(t->type))) return false;
    if (dtype_is_int(t->type) && !dtype_is_signed(t->type) && p->number < 0) return false;
    int64_t n = t->source == TS_SPLAT ? 1 : tensor_count(t);
    if (!tensor_count(t) || n > 1 << 16 || (n > 1 && t->source == TS_MAPPED)) return false;
    for (int64_t k = 0; k < n; k++)
        if (!same_number(t, k, p)) return false;
    return true;
}
static bool match_value(const struct pattern *p, struct value *v, struct match *m) {
    if (!v) return false;
    if (p->kind == P_NODE) return v->def && pattern_match(p, v->def, m);
    if (p->kind == P_NUMBER) return is_number(v, p);
    struct value **known = &m->value[p->letter - 'a'];
    if (*known && *known != v) return false;
    *known = v;
    return is_which(v, p->which);
}
static bool match_operands(const struct pattern *p, struct node *n, struct match *m, bool swapped) {
    for (int k = 0; k < p->n; k++)
        if (!match_value(p->arg[k], n->ins.v[swapped ? 1 - k : k], m)) return false;
    return true;
}
bool pattern_match(const struct pattern *p, struct node *n, struct match *m) {
    bool named = !p->nops;
    for (int k = 0; k < p->nops && !named; k++) named = node_is(n, p->ops[k]);
    if (!named || !n->op || !n->op->define || n->op->flags & (OP_RANDOM | OP_EFFECT)) return false;
    if (!n->outs.n || !n->outs.v[0] || (p->place == 0 && n->outs.n > 1)) return false;
    if (p->alone && n->outs.v[0]->uses.n != 1) return false;
    int ins = values_given(n->ins.v, n->ins.n);
    if (ins < p->n || (ins > p->n && !p->more)) return false;
    struct match before = *m;
    m->node[p->place] = n;
    if (match_operands(p, n, m, false)) return true;
    *m = before;
    m->node[p->place] = n;
    if (p->n == 2 && ins == 2 && n->op && n->op->flags & OP_COMMUTES && match_operands(p, n, m, true)) return true;
    *m = before;
    return false;
}
