/* Parser of the graph IR's text form, upper half: graphs, regions, nodes, attributes. Used by `gcc2nn opt` and the text
 * tests. Never trusts the text: the first error is reported with file and line, and there is no graph. Rules beyond
 * grammar (arity, attribute kinds, closure) are graph_verify's. */
#include "ir/text/graph_parse.h"
#include "ir/base/checked.h"
#include "ir/graph/op.h"
#include <string.h>

static struct arena *arena_of(struct parser *p) { return &p->c->arena; }

/* ---- symbols: `NAME: 1..64@8` after `sym` or `size` */
static struct sym *p_sym_def(struct parser *p, bool produced) {
    const char *name, *key = p_sym_key(p, &name);
    int64_t lo = 0, hi = 0, ref = 0;
    p_expect(p, ":");
    p_int(p, &lo);
    p_expect(p, "..");
    p_int(p, &hi);
    if (p_accept(p, "@")) p_int(p, &ref);
    if (!p->failed && lo > hi) p_fail(p, E_PARSE, "the range of a symbol is empty");
    if (!p->failed && map_get(&p->syms, PKEY(key)))
        p_fail(p, E_PARSE, "symbol %s is declared twice", diag_quote(&p->tmp, name));
    if (p->failed) return NULL;
    struct sym *s = sym_new(p->c, name, lo, hi, produced);
    s->ref = ref;
    map_put(&p->syms, PKEY(key), s);
    return s;
}

/* ---- values */
static const char *p_value_name(struct parser *p) {
    p_expect(p, "%");
    size_t n = 0;
    while (in_word(p->at[n])) n++;
    if (!n) p_fail(p, E_PARSE, "expected a value's name after %%");
    const char *s = internn(p->c->names, p->at, n);
    p->at += n;
    return s;
}

static struct value *p_use(struct parser *p, const struct map *scope) {
    const char *name = p_value_name(p);
    if (p->failed) return NULL;
    struct value *v = map_get(scope, PKEY(name));
    if (!v) v = map_get(&p->consts, PKEY(name));
    if (!v) p_fail(p, E_PARSE, "value %%%s is not defined here", name);
    return v;
}

static void define(struct parser *p, struct map *scope, const char *name, struct value *v) {
    if (p->failed) return;
    if (map_get(scope, PKEY(name)) || map_get(&p->consts, PKEY(name)))
        p_fail(p, E_PARSE, "value %%%s is defined twice", name);
    map_put(scope, PKEY(name), v);
}

/* `%3 "name": f32[2]` */
struct definition {
    const char *key, *name;
    struct type type;
};
static bool p_definition(struct parser *p, struct definition *d) {
    d->key = p_value_name(p);
    d->name = p_peek(p) == '"' ? p_name(p) : "";
    return p_expect(p, ":") && p_type(p, &d->type);
}

/* ---- attributes */
/* `nan(0x7fc00001)`: a NaN with a payload. False: there is none here. */
static bool p_nan_bits(struct parser *p, float *f) {
    if (!p_accept(p, "nan(0x")) return false;
    uint32_t bits = (uint32_t)strtoul(p->at, NULL, 16);
    p->at += strspn(p->at, "0123456789abcdef");
    memcpy(f, &bits, sizeof bits);
    p_expect(p, ")");
    return true;
}

static float p_attr_float(struct parser *p) {
    float f = 0;
    double v;
    if (p_nan_bits(p, &f)) return f;
    p_float(p, &v);
    return (float)v;
}

static void p_list(struct parser *p, struct attr *a, const char *kind) {
    struct arena *arena = arena_of(p);
    VEC(int64_t) is = {0};
    VEC(float) fs = {0};
    VEC(struct str_elem) ss = {0};
    VEC(const struct tensor *) ts = {0};
    p_expect(p, "[");
    char ch = p_peek(p);
    bool floats = p_at_float(p);
    a->kind = ch == '"' ? AT_STRINGS : floats ? AT_FLOATS : p_at_dtype(p) ? AT_TENSORS : AT_INTS;
    if (kind)
        a->kind = strcmp(kind, "floats") == 0    ? AT_FLOATS
                  : strcmp(kind, "strings") == 0 ? AT_STRINGS
                  : strcmp(kind, "tensors") == 0 ? AT_TENSORS
                                                 : AT_INTS;
    if (ch != ']' && !kind) do {
            int64_t i = 0;
            struct str_elem s;
            switch (a->kind) {
            case AT_STRINGS:
                p_string(p, &s);
                PUSH(arena, &ss, s);
                break;
            case AT_TENSORS: PUSH(arena, &ts, p_tensor(p)); break;
            case AT_FLOATS: PUSH(arena, &fs, p_attr_float(p)); break;
            default: p_int(p, &i); PUSH(arena, &is, i);
            }
        } while (p_accept(p, ","));
    p_expect(p, "]");
    a->n = is.n + fs.n + ss.n + ts.n;
    if (a->kind == AT_STRINGS) a->u.ss = ss.v;
    else if (a->kind == AT_TENSORS) a->u.ts = ts.v;
    else if (a->kind == AT_FLOATS) a->u.fs = fs.v;
    else a->u.is = is.v;
}

static void p_attr(struct parser *p, struct attr *a) {
    static const char *const kinds[] = {"ints", "floats", "strings", "tensors"};
    *a = (struct attr){.name = p_word_or_name(p, ".")};
    p_expect(p, "=");
    char ch = p_peek(p);
    if (ch == '"') {
        a->kind = AT_STRING;
        p_string(p, &a->u.s);
        return;
    }
    if (ch == '[') {
        p_list(p, a, NULL);
        return;
    }
    for (int i = 0; i < 4; i++)
        if (p_accept_word(p, kinds[i])) {
            p_list(p, a, kinds[i]);
            return;
        }
    if (p_accept_word(p, "type")) {
        struct type *ty = NEW(arena_of(p), struct type);
        a->kind = AT_TYPE;
        p_type(p, ty);
        a->u.type = ty;
    } else if (p_at_dtype(p)) {
        a->kind = AT_TENSOR;
        a->u.t = p_tensor(p);
    } else if (p_at_float(p)) {
        a->kind = AT_FLOAT;
        a->u.f = p_attr_float(p);
    } else {
        a->kind = AT_INT;
        p_int(p, &a->u.i);
    }
}

static void p_attrs(struct parser *p, struct node *n) {
    if (!p_accept(p, "{")) return;
    do {
        struct attr a;
        p_attr(p, &a);
        if (!p->failed && node_attr(n, a.name))
            p_fail(p, E_PARSE, "attribute %s is given twice", diag_quote(&p->tmp, a.name));
        if (!p->failed) node_set_attr(n, a);
    } while (p_accept(p, ","));
    p_expect(p, "}");
}

/* ---- nodes and regions */
static void p_region(struct parser *p, struct region *r);

typedef VEC(struct definition) definitions;
typedef VEC(const struct sym *) symbols;

static void p_outs(struct parser *p, definitions *outs) {
    do {
        struct definition d = {0};
        if (p_accept_word(p, "_")) PUSH(&p->tmp, outs, d);
        else if (p_definition(p, &d)) PUSH(&p->tmp, outs, d);
    } while (p_accept(p, ","));
    p_expect(p, "=");
}

/* `com.microsoft::Attention:1` */
static void p_op(struct parser *p, const char **domain, const char **op, int *version) {
    int64_t v = 0;
    *domain = "";
    *op = p_word_or_name(p, ".-");
    if (p_accept(p, "::")) {
        *domain = *op;
        *op = p_word_or_name(p, "");
    }
    if (p_accept(p, ":") && p_int(p, &v) && (v < 1 || v > 1000000)) p_fail(p, E_PARSE, "bad opset version");
    *version = v ? (int)v : opset_newest(*domain);
}

static void p_bodies(struct parser *p, struct node *n) {
    while (!p->failed) {
        p_peek(p);
        const char *start = p->at;
        int line = p->line;
        const char *name = p_peek(p) == '"' ? p_name(p) : p_word(p, ".");
        if (p->failed || !name || !p_accept(p, "=") || !p_accept_word(p, "region")) {
            if (!p->failed) {
                p->at = start;
                p->line = line;
            }
            return;
        }
        if (node_attr(n, name)) {
            p_fail(p, E_PARSE, "attribute %s is given twice", diag_quote(&p->tmp, name));
            return;
        }
        struct region *r = region_new(p->g, n, "");
        node_set_attr(n, (struct attr){.name = name, .kind = AT_REGION, .u.region = r});
        p_region(p, r);
    }
}

static void p_node(struct parser *p, struct region *r, struct map *scope, const symbols *syms) {
    definitions outs = {0};
    VEC(struct value *) ins = {0};
    const char *domain, *op;
    int version;
    p_peek(p);
    if (*p->at == '%' || (p->at[0] == '_' && (p->at[1] == ' ' || p->at[1] == ','))) p_outs(p, &outs);
    p_op(p, &domain, &op, &version);
    p_expect(p, "(");
    if (!p->failed && p_peek(p) != ')') do
            PUSH(&p->tmp, &ins, p_accept_word(p, "_") ? NULL : p_use(p, scope));
        while (p_accept(p, ","));
    p_expect(p, ")");
    if (p->failed) return;
    struct node *n = node_new(r, NULL, domain, op, ins.v, ins.n, 0);
    n->version = version;
    for (int i = 0; i < syms->n; i++) PUSH(arena_of(p), &n->syms, syms->v[i]);
    for (int k = 0; k < outs.n; k++) {
        const struct definition *d = &outs.v[k];
        if (!d->key) {
            PUSH(arena_of(p), &n->outs, NULL);
            continue;
        }
        struct value *v = node_out(n, k, d->name);
        v->type = d->type;
        define(p, scope, d->key, v);
    }
    p_attrs(p, n);
    if (p_accept(p, "@")) n->name = p_name(p);
    n->origin = origin_text(p->c, NULL, p->nodes++, n->name, op_shown(n->op, n->op_type));
    p_bodies(p, n);
}

/* After the word `region`: `"name" (params) { nodes return results }`. */
static void p_region(struct parser *p, struct region *r) {
    struct map scope = {.arena = &p->tmp};
    if (!p_enter(p)) return;
    r->name = p_name(p);
    p_expect(p, "(");
    if (!p->failed && p_peek(p) != ')') do {
            struct definition d = {0};
            if (p_definition(p, &d)) define(p, &scope, d.key, region_param(r, d.name, d.type));
        } while (p_accept(p, ","));
    p_expect(p, ")");
    p_expect(p, "{");
    symbols syms = {0};
    while (!p->failed && !p_accept_word(p, "return")) {
        if (p_accept_word(p, "size")) {
            const struct sym *s = p_sym_def(p, true);
            PUSH(&p->tmp, &syms, s);
        } else {
            p_node(p, r, &scope, &syms);
            syms.n = 0;
        }
    }
    if (syms.n) p_fail(p, E_PARSE, "`size` stands before no node");
    if (!p->failed && p_peek(p) != '}') do {
            struct value *v = p_use(p, &scope);
            if (v) region_result(r, v);
            if (!r->owner) PUSH(arena_of(p), &p->g->outputs, p_peek(p) == '"' ? p_name(p) : v ? v->name : "");
        } while (p_accept(p, ","));
    p_expect(p, "}");
    p_leave(p);
}

/* ---- the head of the file */
static void p_opset(struct parser *p) {
    struct opset o = {.domain = p_name(p)};
    int64_t v = 0;
    if (p_int(p, &v) && (v < 0 || v > INT32_MAX)) p_fail(p, E_PARSE, "bad opset version");
    o.version = (int)v;
    PUSH(arena_of(p), &p->g->opsets, o);
}

static void p_metadata(struct parser *p) {
    struct metadata m = {.key = p_name(p)};
    p_expect(p, "=");
    m.value = p_name(p);
    PUSH(arena_of(p), &p->g->metadata, m);
}

/* After `takes` or `gives`. */
static void p_holder(struct parser *p, holders *to) {
    struct holder h = {.present = true};
    int64_t n = 0, first = 0;
    for (enum value_kind k = VALUE_SEQUENCE; k < VALUE_KINDS; k++)
        if (p_accept_word(p, value_kind_name(k))) h.kind = k;
    h.name = p_name(p);
    h.asked = p_accept_word(p, "maybe");
    if (p_accept_word(p, "none")) h.present = false;
    else if (p_accept_word(p, "packed")) h.packed = true, n = 2 + h.asked;
    else p_int(p, &n);
    if (!p_accept_word(p, "at")) p_fail(p, E_PARSE, "expected `at`");
    p_int(p, &first);
    if (n < 0 || n > INT32_MAX || first < 0 || first > INT32_MAX) p_fail(p, E_PARSE, "expected a place");
    h.n = (int)n, h.first = (int)first;
    PUSH(arena_of(p), to, h);
}

static void p_const(struct parser *p) {
    const char *key = p_value_name(p), *name = p_peek(p) == '"' ? p_name(p) : "";
    p_expect(p, ":");
    const struct tensor *t = p->failed ? NULL : p_tensor(p);
    if (!p->failed) define(p, &p->consts, key, graph_const(p->g, name, t));
}

static void p_graph(struct parser *p) {
    if (!p_accept_word(p, "graph")) p_fail(p, E_PARSE, "a graph starts with `graph \"name\"`");
    p->g->name = p_name(p);
    while (!p->failed) {
        if (p_accept_word(p, "opset")) p_opset(p);
        else if (p_accept_word(p, "metadata")) p_metadata(p);
        else if (p_accept_word(p, "const")) p_const(p);
        else if (p_accept_word(p, "takes")) p_holder(p, &p->g->taken);
        else if (p_accept_word(p, "gives")) p_holder(p, &p->g->given);
        else if (p_accept_word(p, "sym")) {
            const struct sym *s = p_sym_def(p, false);
            PUSH(arena_of(p), &p->g->syms, s);
        } else break;
    }
    if (!p->failed && !p_accept_word(p, "region"))
        p_fail(p, E_PARSE, "expected opset, metadata, sym, takes, gives, const or region");
    p_region(p, p->g->top);
    if (!p->failed && (p_peek(p) || p->at != p->end)) p_fail(p, E_PARSE, "text after the end of the graph");
}

struct graph *graph_parse(struct ctx *c, const char *text, size_t n, const char *file) {
    struct parser p = {.c = c, .file = file, .line = 1};
    p.consts.arena = p.syms.arena = &p.tmp;
    char *copy = arena_alloc(&p.tmp, n + 1); /* for the NUL at its end */
    if (n) memcpy(copy, text, n);
    p.at = copy;
    p.end = copy + n;
    p.g = graph_new(c, "");
    p.g->file = intern(c->names, file);
    p_graph(&p);
    arena_free(&p.tmp);
    return p.failed ? NULL : p.g;
}
