/* Rules of the graph IR, checked after import, after parsing and after every pass. Each rule has its diagnostic; a
 * user's text or model can violate arity, attributes and order, only a bug of ours the others. docs/graph-ir.md lists
 * the rules. */
#include "ir/graph/graph.h"
#include "ir/graph/op.h"
#include <string.h>

enum { MAX_DEPTH = 64, MAX_TYPE_DEPTH = 64, MAX_RANK = 32 };

struct verifier {
    struct graph *g;
    const char *after;   /* the pass that ran before, or NULL */
    enum diag_code code; /* says whose mistake a violation is */
    struct arena tmp;
    struct map place; /* value -> region where it may be used, for values met so far */
    struct map count; /* value -> struct tally of its uses met */
    struct map seen;  /* nodes and regions met; slots of the use lists */
    struct map syms;  /* declared symbols */
    VEC(struct value *) values;
    int depth;
    bool ok;
};
struct tally {
    int n;
};

static void refuse(struct verifier *v, enum diag_code code, const struct node *n, const char *fmt, ...) NN_PRINTF(4, 5);
static void refuse(struct verifier *v, enum diag_code code, const struct node *n, const char *fmt, ...) {
    struct diags *d = &v->g->ctx->diags;
    struct text t = {0};
    va_list ap;
    if (v->after) code = v->code;
    if (v->after) text_printf(&t, "after %s: ", v->after);
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    diag_at(d, DIAG_ERROR, code, d->file, n ? n->origin : NULL, "%s", t.s);
    text_free(&t);
    v->ok = false;
}

/* ---- types */
static bool is_dim_op(void *env, expr e) {
    struct verifier *v = env;
    switch (e->op) {
    case X_CONST:
    case X_LIN:
    case X_PROD:
    case X_DIV:
    case X_MOD:
    case X_MIN:
    case X_MAX:
    case X_SELECT:
    case X_AND:
    case X_OR:
    case X_NOT:
    case X_LT:
    case X_LE:
    case X_EQ:
    case X_NE: return true;
    case X_SYM: return map_get(&v->syms, PKEY(e->u.sym)) != NULL;
    default: return false;
    }
}

static const char *type_problem(struct verifier *v, const struct type *ty) {
    for (int depth = 0; ty; ty = ty->elem, depth++) {
        if (depth > MAX_TYPE_DEPTH) return "its type nests too deeply";
        if (ty->kind != TY_TENSOR && ty->kind != TY_NONE && !ty->elem) return "its type lacks an element type";
        if (ty->kind != TY_TENSOR) continue;
        if (ty->rank > MAX_RANK) return "its rank is too large";
        for (int i = 0; i < ty->rank; i++)
            if (!ty->dims[i] || ty->dims[i]->type != IDX || !x_visit(ty->dims[i], is_dim_op, v))
                return "a dimension is no expression over declared symbols";
    }
    return NULL;
}

static void check_type(struct verifier *v, const struct value *x) {
    const char *problem = type_problem(v, &x->type);
    if (problem) refuse(v, E_VERIFY, x->def, "value %d %s: %s", x->id, diag_quote(&v->tmp, x->name), problem);
}

/* ---- values */
static void define(struct verifier *v, struct value *x, struct region *r) {
    if (map_get(&v->place, PKEY(x))) refuse(v, E_VERIFY, x->def, "value %d is defined twice", x->id);
    map_put(&v->place, PKEY(x), r);
    PUSH(&v->tmp, &v->values, x);
    check_type(v, x);
}

static void count_use(struct verifier *v, struct value *x) {
    struct tally *t = map_get(&v->count, PKEY(x));
    if (!t) {
        t = NEW(&v->tmp, struct tally);
        map_put(&v->count, PKEY(x), t);
        if (x->init) PUSH(&v->tmp, &v->values, x);
    }
    t->n++;
}

/* x is used in r by n (NULL: as a result of r). */
static void check_use(struct verifier *v, struct value *x, struct region *r, const struct node *n, int k) {
    count_use(v, x);
    if (x->init) {
        if (x->def || x->param_of)
            refuse(v, E_VERIFY, n, "constant %d is also defined by a node or a parameter", x->id);
        return;
    }
    const struct region *place = map_get(&v->place, PKEY(x));
    const char *what = n ? "input" : "result", *name = diag_quote(&v->tmp, x->name);
    if (place == r) return;
    if (place || (x->param_of && x->param_of != r) || (x->def && x->def->in && x->def->in != r))
        refuse(v, E_VERIFY, n, "%s %d uses the value %s of another region", what, k, name);
    else if (x->def && x->def->in == r)
        refuse(v, E_GRAPH, n, "%s %d uses the value %s before it is defined", what, k, name);
    else refuse(v, E_VERIFY, n, "%s %d uses the value %s, which nothing defines", what, k, name);
}

/* ---- nodes against their rows */
static int slot_count(const struct op_slot *s, int *required, bool *variadic) {
    int n = 0;
    *required = 0;
    *variadic = false;
    for (; s && s[n].name; n++) {
        if (!(s[n].flags & OPTIONAL)) *required = n + 1;
        *variadic = s[n].flags & VARIADIC;
    }
    return n;
}

static void check_arity(struct verifier *v, const struct node *n, bool has_regions) {
    int required;
    bool variadic;
    int slots = slot_count(n->op->ins, &required, &variadic), ins = values_given(n->ins.v, n->ins.n);
    /* captured values come after the op's own inputs */
    if (ins > slots && !variadic && !has_regions)
        refuse(v, E_ARITY, n, "%d inputs, but the operator takes at most %d", ins, slots);
    for (int k = 0; k < required; k++)
        if (!(n->op->ins[k].flags & OPTIONAL) && (k >= ins || !n->ins.v[k]))
            refuse(v, E_ARITY, n, "input %d \"%s\" is missing", k, n->op->ins[k].name);
    slots = slot_count(n->op->outs, &required, &variadic);
    if (values_given(n->outs.v, n->outs.n) > slots && !variadic)
        refuse(v, E_ARITY, n, "%d outputs, but the operator gives at most %d", n->outs.n, slots);
}

static const char *kind_name(enum attr_kind k) {
    static const char *const names[] = {
        "an integer",       "a float",           "a string", "a tensor",          "a list of integers",
        "a list of floats", "a list of strings", "a graph",  "a list of tensors", "a type"};
    return names[k];
}

static void check_attrs(struct verifier *v, const struct node *n) {
    for (const struct op_attr *row = n->op->attrs; row && row->name; row++) {
        const struct attr *a = node_attr(n, row->name);
        if (!a && row->flags & A_REQUIRED) refuse(v, E_ATTR, n, "attribute \"%s\" is missing", row->name);
        /* an empty list has no kind of its own in every exporter */
        bool empty = a && a->kind >= AT_INTS && a->kind <= AT_STRINGS && a->n == 0 && row->kind >= AT_INTS &&
                     row->kind <= AT_STRINGS;
        if (a && a->kind != row->kind && !empty)
            refuse(v, E_ATTR, n, "attribute \"%s\" must be %s, but is %s", row->name, kind_name(row->kind),
                   kind_name(a->kind));
    }
}

/* ---- regions */
static void check_region(struct verifier *v, struct region *r, struct node *owner);

static bool check_regions_of(struct verifier *v, struct node *n) {
    bool has = false;
    for (int k = 0; k < n->attrs.n; k++) {
        if (n->attrs.v[k].kind != AT_REGION) continue;
        has = true;
        check_region(v, n->attrs.v[k].u.region, n);
    }
    return has;
}

static void check_links(struct verifier *v, const struct region *r, const struct node *n) {
    if (n->in != r || (n->prev ? n->prev->next : r->first) != n || (n->next ? n->next->prev : r->last) != n)
        refuse(v, E_VERIFY, n, "the list of nodes is broken");
    if (n->op != op_of_model(v->g->ctx, n->domain, n->op_type))
        refuse(v, E_VERIFY, n, "the node's row is not that of its operator");
}

static void check_node(struct verifier *v, struct region *r, struct node *n) {
    check_links(v, r, n);
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k]) check_use(v, n->ins.v[k], r, n, k);
    bool has_regions = check_regions_of(v, n);
    for (int k = 0; k < n->outs.n; k++) {
        struct value *x = n->outs.v[k];
        if (!x) continue;
        if (x->def != n || x->index != k || x->param_of || x->init)
            refuse(v, E_VERIFY, n, "output %d belongs to something else", k);
        define(v, x, r);
    }
    if (!n->op) return;
    check_arity(v, n, has_regions);
    check_attrs(v, n);
}

static void check_region(struct verifier *v, struct region *r, struct node *owner) {
    if (r->owner != owner || r->graph != v->g || map_get(&v->seen, PKEY(r))) {
        refuse(v, E_VERIFY, owner, "region %s has another owner", diag_quote(&v->tmp, r->name));
        return;
    }
    if (v->depth == MAX_DEPTH) {
        refuse(v, E_LIMIT, owner, "regions are nested more than %d levels deep", MAX_DEPTH);
        return;
    }
    v->depth++;
    map_put(&v->seen, PKEY(r), r);
    for (int k = 0; k < r->params.n; k++) {
        struct value *x = r->params.v[k];
        if (x->param_of != r || x->index != k || x->def || x->init)
            refuse(v, E_VERIFY, owner, "parameter %d of region %s belongs to something else", k,
                   diag_quote(&v->tmp, r->name));
        define(v, x, r);
    }
    for (struct node *n = r->first; n; n = n->next) {
        if (map_get(&v->seen, PKEY(n))) {
            refuse(v, E_VERIFY, n, "the node stands in two places");
            break;
        }
        map_put(&v->seen, PKEY(n), n);
        check_node(v, r, n);
    }
    for (int k = 0; k < r->results.n; k++)
        if (r->results.v[k]) check_use(v, r->results.v[k], r, NULL, k);
        else refuse(v, E_VERIFY, owner, "result %d of region %s is missing", k, diag_quote(&v->tmp, r->name));
    v->depth--;
}

/* ---- use lists: every entry names a slot that holds the value, none twice, and no use is missing */
static struct value **slot_of(struct verifier *v, const struct use *u) {
    if (u->node && (!map_get(&v->seen, PKEY(u->node)) || u->region || u->index < 0 || u->index >= u->node->ins.n))
        return NULL;
    if (u->node) return &u->node->ins.v[u->index];
    if (!u->region || !map_get(&v->seen, PKEY(u->region)) || u->index < 0 || u->index >= u->region->results.n)
        return NULL;
    return &u->region->results.v[u->index];
}

static void check_uses(struct verifier *v, const struct value *x) {
    for (int i = 0; i < x->uses.n; i++) {
        struct value **slot = slot_of(v, &x->uses.v[i]);
        if (!slot || *slot != x || map_get(&v->seen, PKEY(slot))) {
            refuse(v, E_VERIFY, x->def, "the use list of value %d %s has a wrong entry", x->id,
                   diag_quote(&v->tmp, x->name));
            return;
        }
        map_put(&v->seen, PKEY(slot), slot);
    }
    const struct tally *t = map_get(&v->count, PKEY(x));
    if (x->uses.n != (t ? t->n : 0))
        refuse(v, E_VERIFY, x->def, "the use list of value %d %s lacks a use", x->id, diag_quote(&v->tmp, x->name));
}

/* ---- symbols */
static void declare(struct verifier *v, const struct sym *s, const struct node *n) {
    if (map_get(&v->syms, PKEY(s))) refuse(v, E_VERIFY, n, "symbol %s is declared twice", diag_quote(&v->tmp, s->name));
    if (s->lo > s->hi || s->produced != (n != NULL))
        refuse(v, E_VERIFY, n, "symbol %s has no sizes, or is declared in the wrong place",
               diag_quote(&v->tmp, s->name));
    map_put(&v->syms, PKEY(s), (void *)(uintptr_t)1);
}

static void declare_of_node(void *env, struct node *n) {
    for (int i = 0; i < n->syms.n; i++) declare(env, n->syms.v[i], n);
}

bool graph_verify(struct graph *g, const char *after) { return graph_verify_as(g, after, E_BROKEN); }
bool graph_verify_as(struct graph *g, const char *after, enum diag_code code) {
    struct verifier v = {.g = g, .after = after, .code = code, .ok = true};
    v.place.arena = v.count.arena = v.seen.arena = v.syms.arena = &v.tmp;
    for (int i = 0; i < g->syms.n; i++) declare(&v, g->syms.v[i], NULL);
    each_node(g->top, declare_of_node, &v);
    check_region(&v, g->top, NULL);
    if (!holders_fit(&g->taken, g->top->params.n) || !holders_fit(&g->given, g->top->results.n))
        refuse(&v, E_VERIFY, NULL, "what the model takes or gives as a sequence or optional does not fit its tensors");
    for (int i = 0; v.ok && i < v.values.n; i++) check_uses(&v, v.values.v[i]);
    arena_free(&v.tmp);
    return v.ok;
}
