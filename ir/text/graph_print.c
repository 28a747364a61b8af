/* Text form of the graph IR: what --dump-after shows and text tests contain; graph_parse reads it back. Canonical:
 * values are numbered in order of appearance and the terms of dims are sorted by their text, so that printing what was
 * parsed gives the same bytes. The grammar stands in docs/graph-ir.md. */
#include "ir/base/map.h"
#include "ir/base/memory.h"
#include "ir/graph/graph.h"
#include "ir/graph/op.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { FULL_CONST = 64, MAX_DIM_NODES = 1 << 12 };

struct printer {
    struct text *out;
    struct arena tmp;
    struct map values;     /* struct value -> its text, "%3" or "%w2" */
    struct map symbols;    /* struct sym -> its text */
    struct map name_count; /* interned name -> how many symbols have it (struct counter) */
    int next_value, next_const;
    VEC(const struct value *) consts;
};
struct counter {
    int n;
};

/* ---- strings and names */
static void print_string(struct text *t, const char *s, size_t n) {
    text_char(t, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\') text_printf(t, "\\%c", c);
        else if (c == '\n') text_add(t, "\\n");
        else if (c == '\t') text_add(t, "\\t");
        else if (c < 0x20 || c >= 0x7f) text_printf(t, "\\x%02x", c);
        else text_char(t, (char)c);
    }
    text_char(t, '"');
}
static void print_cstring(struct text *t, const char *s) { print_string(t, s, strlen(s)); }

/* Letters, digits and _, plus the characters of `more`; not starting with a digit; no word that opens a line. */
static bool is_word(const char *s, const char *more) {
    if (!*s || is_digit(*s) || strcmp(s, "_") == 0 || strcmp(s, "return") == 0 || strcmp(s, "size") == 0) return false;
    for (; *s; s++)
        if (!in_word(*s) && !strchr(more, *s)) return false;
    return true;
}

static void print_word(struct text *t, const char *s, const char *more) {
    if (is_word(s, more)) text_add(t, s);
    else print_cstring(t, s);
}

static void print_sym_name(struct text *t, const char *s) {
    static const char *const reserved[] = {"min", "max", "select", "and", "or", "not", "poison"};
    bool word = is_word(s, "");
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) word = word && strcmp(s, reserved[i]) != 0;
    if (word) text_add(t, s);
    else print_cstring(t, s);
}

/* ---- dims. Shared subexpressions are printed each time, which could be exponential for a hostile model, hence the
 * budget. */
struct dims {
    const struct map *symbols; /* NULL in diagnostics, where symbols go by their plain names */
    int budget;
};
static void print_dim(struct dims *p, struct text *t, expr e);

static void print_symbol(struct dims *p, struct text *t, const struct sym *s) {
    const char *name = p->symbols ? map_get(p->symbols, PKEY(s)) : NULL;
    if (name) text_add(t, name);
    else print_sym_name(t, s->name);
}

static bool is_compound(expr e) { return e->op == X_LIN || e->op == X_PROD || e->op == X_DIV || e->op == X_MOD; }

/* first: the left operand of * / %, where products need no parentheses, because those operators are
 * left-associative. */
static void print_operand(struct dims *p, struct text *t, expr e, bool first) {
    bool paren = first ? e->op == X_LIN : is_compound(e);
    if (paren) text_char(t, '(');
    print_dim(p, t, e);
    if (paren) text_char(t, ')');
}

/* Adds the texts of n operands, sorted and separated by `between`; frees them. */
static void add_sorted(struct text *t, char **texts, int n, const char *between) {
    qsort(texts, (size_t)n, sizeof *texts, text_order);
    for (int i = 0; i < n; i++) {
        text_printf(t, "%s%s", i ? between : "", texts[i]);
        free(texts[i]);
    }
}

static int factors_of(expr e, expr *out, int max) {
    int n = 0;
    for (; e->op == X_PROD && n < max - 1; e = e->arg[0]) out[n++] = e->arg[1];
    out[n++] = e;
    return n;
}

static void print_product(struct dims *p, struct text *t, expr e) {
    enum { MAX = 64 };
    expr f[MAX];
    char *texts[MAX];
    int n = factors_of(e, f, MAX);
    for (int i = 0; i < n; i++) {
        struct text s = {0};
        print_operand(p, &s, f[i], false);
        texts[i] = s.s;
    }
    add_sorted(t, texts, n, "*");
}

struct lin_term {
    char *text;
    int64_t coef;
};
static int by_term(const void *a, const void *b) {
    return strcmp(((const struct lin_term *)a)->text, ((const struct lin_term *)b)->text);
}

static void print_linear(struct dims *p, struct text *t, expr e) {
    struct lin_term *terms = memory_zeroed((size_t)e->n, sizeof *terms);
    for (int k = 0; k < e->n; k++) {
        struct text s = {0};
        bool one = e->coef[k] == 1 || e->coef[k] == -1;
        if (e->arg[k]->op == X_PROD) print_product(p, &s, e->arg[k]);
        else print_operand(p, &s, e->arg[k], one);
        terms[k] = (struct lin_term){s.s, e->coef[k]};
    }
    qsort(terms, e->n, sizeof *terms, by_term);
    for (int k = 0; k < e->n; k++) {
        int64_t f = terms[k].coef;
        text_add(t, k ? (f < 0 ? " - " : " + ") : (f < 0 ? "-" : ""));
        uint64_t size = f < 0 ? -(uint64_t)f : (uint64_t)f;
        if (size != 1) text_printf(t, "%" PRIu64 "*", size);
        text_add(t, terms[k].text);
        free(terms[k].text);
    }
    free(terms);
    if (e->u.i)
        text_printf(t, " %c %" PRIu64, e->u.i < 0 ? '-' : '+', e->u.i < 0 ? -(uint64_t)e->u.i : (uint64_t)e->u.i);
}

static void print_call(struct dims *p, struct text *t, expr e, bool commutes) {
    char *texts[3];
    ASSERT(e->n <= 3);
    for (int k = 0; k < e->n; k++) {
        struct text s = {0};
        print_dim(p, &s, e->arg[k]);
        texts[k] = s.s;
    }
    text_printf(t, "%s(", xop_name(e->op));
    if (commutes) {
        add_sorted(t, texts, e->n, ", ");
    } else {
        for (int k = 0; k < e->n; k++) {
            text_printf(t, "%s%s", k ? ", " : "", texts[k]);
            free(texts[k]);
        }
    }
    text_char(t, ')');
}

static void print_compare(struct dims *p, struct text *t, expr e) {
    struct text a = {0}, b = {0};
    print_dim(p, &a, e->arg[0]);
    print_dim(p, &b, e->arg[1]);
    bool swap = (e->op == X_EQ || e->op == X_NE) && strcmp(a.s, b.s) > 0;
    text_printf(t, "%s %s %s", swap ? b.s : a.s, xop_name(e->op), swap ? a.s : b.s);
    text_free(&a);
    text_free(&b);
}

static void print_dim(struct dims *p, struct text *t, expr e) {
    if (--p->budget < 0) {
        text_add(t, "...");
        return;
    }
    switch (e->op) {
    case X_CONST: text_printf(t, "%" PRId64, e->u.i); break;
    case X_SYM: print_symbol(p, t, e->u.sym); break;
    case X_LIN: print_linear(p, t, e); break;
    case X_PROD: print_product(p, t, e); break;
    case X_DIV:
    case X_MOD:
        print_operand(p, t, e->arg[0], true);
        text_add(t, xop_name(e->op));
        print_operand(p, t, e->arg[1], false);
        break;
    case X_LT:
    case X_LE:
    case X_EQ:
    case X_NE: print_compare(p, t, e); break;
    case X_MIN:
    case X_MAX:
    case X_AND:
    case X_OR: print_call(p, t, e, true); break;
    case X_SELECT:
    case X_NOT: print_call(p, t, e, false); break;
    case X_POISON: text_add(t, "poison"); break;
    default: text_printf(t, "<%s>", xop_name(e->op)); /* no dim; the verifier refuses it */
    }
}

static void print_type(struct printer *p, struct text *t, const struct type *ty) {
    switch (ty->kind) {
    case TY_NONE: text_char(t, '?'); return;
    case TY_SEQUENCE:
    case TY_OPTIONAL:
        text_add(t, ty->kind == TY_SEQUENCE ? "seq<" : "opt<");
        print_type(p, t, ty->elem);
        text_char(t, '>');
        return;
    case TY_MAP:
        text_printf(t, "map<%s,", dtype_name(ty->dtype));
        print_type(p, t, ty->elem);
        text_char(t, '>');
        return;
    case TY_TENSOR: break;
    }
    text_printf(t, "%s[", dtype_name(ty->dtype));
    if (ty->rank < 0) text_char(t, '*');
    for (int i = 0; i < ty->rank; i++) {
        text_add(t, i ? "," : "");
        print_dim(&(struct dims){p ? &p->symbols : NULL, MAX_DIM_NODES}, t, ty->dims[i]);
    }
    text_char(t, ']');
}

void dim_print(struct text *t, expr dim) { print_dim(&(struct dims){NULL, MAX_DIM_NODES}, t, dim); }
void type_print(struct text *t, const struct type *ty) { print_type(NULL, t, ty); }
const char *type_text(struct ctx *c, const struct type *ty) {
    struct text t = {0};
    type_print(&t, ty);
    return text_take(&t, &c->arena);
}

/* ---- constants */
/* One element; as bytes, if a decimal number would not restore it bit for bit. */
static void print_bits(struct text *t, const unsigned char *p, size_t size) {
    text_add(t, "0x");
    for (size_t i = size; i-- > 0;) text_printf(t, "%02x", p[i]);
}

static void print_float(struct text *t, const struct tensor *x, int64_t i) {
    size_t size = (size_t)dtype_bytes(x->type);
    double v = tensor_f(x, i);
    struct text s = {0};
    if (x->type == F64) text_f64(&s, v);
    else text_f32(&s, (float)v);
    struct arena tmp = {0};
    struct tensor *back = tensor_new(&tmp, x->type, NULL, 0);
    tensor_set_f(back, 0, text_read_f64(s.s, NULL));
    bool same;
    if (dtype_bits(x->type) < 8) same = tensor_f(back, 0) == v;
    else same = memcmp(back->bytes, (const char *)x->bytes + (x->source == TS_SPLAT ? 0 : (size_t)i * size), size) == 0;
    if (same) text_add(t, s.s);
    else print_bits(t, (const unsigned char *)x->bytes + (x->source == TS_SPLAT ? 0 : (size_t)i * size), size);
    arena_free(&tmp);
    text_free(&s);
}

static void print_element(struct text *t, const struct tensor *x, int64_t i) {
    if (x->type == STR) print_string(t, x->strs[i].p ? x->strs[i].p : "", x->strs[i].n);
    else if (dtype_is_float(x->type)) print_float(t, x, i);
    else if (x->type == U64) text_printf(t, "%" PRIu64, (uint64_t)tensor_i(x, i));
    else if (dtype_is_complex(x->type))
        print_bits(
            t, (const unsigned char *)x->bytes + (x->source == TS_SPLAT ? 0 : (size_t)i * (size_t)dtype_bytes(x->type)),
            (size_t)dtype_bytes(x->type));
    else text_printf(t, "%" PRId64, tensor_i(x, i));
}

static uint64_t contents_hash(const struct tensor *x) {
    if (x->stand_in) return x->stand_in;
    uint64_t h;
    if (x->type == STR) {
        h = 0;
        for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
            h = XXH64(&x->strs[i].n, sizeof x->strs[i].n, h);
            h = XXH64(x->strs[i].p ? x->strs[i].p : "", x->strs[i].n, h);
        }
    } else {
        h = XXH64(x->bytes, x->nbytes, 0);
    }
    return h ? h : 1;
}

/* `f32[2] = [1.0, 2.0]`, or a hash if there is more than a person would read. */
static void print_tensor(struct text *t, const struct tensor *x) {
    text_printf(t, "%s[", dtype_name(x->type));
    for (int i = 0; i < x->rank; i++) text_printf(t, "%s%" PRId64, i ? "," : "", x->dims[i]);
    text_add(t, "] = ");
    int64_t n = tensor_count(x);
    if (x->source == TS_SPLAT && n > 1) {
        text_add(t, "splat ");
        print_element(t, x, 0);
    } else if (n > FULL_CONST || x->stand_in) {
        text_printf(t, "hash 0x%016" PRIx64, contents_hash(x));
    } else {
        text_char(t, '[');
        for (int64_t i = 0; i < n; i++) {
            text_add(t, i ? ", " : "");
            print_element(t, x, i);
        }
        text_char(t, ']');
    }
}

/* ---- attributes */
static void print_attr_float(struct text *t, float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (f != f && bits != 0x7fc00000) text_printf(t, "nan(0x%08" PRIx32 ")", bits);
    else text_f32(t, f);
}

static void print_attr(struct printer *p, const struct attr *a) {
    struct text *t = p->out;
    static const char *const empty[] = {
        [AT_INTS] = "ints", [AT_FLOATS] = "floats", [AT_STRINGS] = "strings", [AT_TENSORS] = "tensors"};
    print_word(t, a->name, ".");
    text_char(t, '=');
    switch (a->kind) {
    case AT_INT: text_printf(t, "%" PRId64, a->u.i); return;
    case AT_FLOAT: print_attr_float(t, a->u.f); return;
    case AT_STRING: print_string(t, a->u.s.p, a->u.s.n); return;
    case AT_TENSOR: print_tensor(t, a->u.t); return;
    case AT_TYPE:
        text_add(t, "type ");
        print_type(p, t, a->u.type);
        return;
    case AT_REGION: BUG("a region among the attributes in braces");
    case AT_INTS:
    case AT_FLOATS:
    case AT_STRINGS:
    case AT_TENSORS: break;
    }
    if (!a->n) text_add(t, empty[a->kind]);
    text_char(t, '[');
    for (int i = 0; i < a->n; i++) {
        text_add(t, i ? "," : "");
        if (a->kind == AT_INTS) text_printf(t, "%" PRId64, a->u.is[i]);
        else if (a->kind == AT_FLOATS) print_attr_float(t, a->u.fs[i]);
        else if (a->kind == AT_STRINGS) print_string(t, a->u.ss[i].p, a->u.ss[i].n);
        else print_tensor(t, a->u.ts[i]);
    }
    text_char(t, ']');
}

/* ---- values, nodes, regions */
static void print_ref(struct printer *p, const struct value *v) {
    const char *name = v ? map_get(&p->values, PKEY(v)) : "_";
    if (name) text_add(p->out, name);
    else text_printf(p->out, "%%undefined_%d", v->id); /* a broken graph, printed to find out why */
}

static void print_def(struct printer *p, const struct value *v) {
    if (!v) {
        text_char(p->out, '_');
        return;
    }
    map_put(&p->values, PKEY(v), arena_printf(&p->tmp, "%%%d", p->next_value++));
    print_ref(p, v);
    if (*v->name) {
        text_char(p->out, ' ');
        print_cstring(p->out, v->name);
    }
    text_add(p->out, ": ");
    print_type(p, p->out, &v->type);
}

/* Gives a symbol its text: the name, and for the second of the same name `name#2`. */
static void name_symbol(struct printer *p, const struct sym *s) {
    struct counter *k = map_get(&p->name_count, PKEY(s->name));
    if (!k) {
        k = NEW(&p->tmp, struct counter);
        map_put(&p->name_count, PKEY(s->name), k);
    }
    k->n++;
    struct text t = {0};
    print_sym_name(&t, s->name);
    if (k->n > 1) text_printf(&t, "#%d", k->n);
    map_put(&p->symbols, PKEY(s), text_take(&t, &p->tmp));
}

static void print_sym_def(struct printer *p, const char *keyword, const struct sym *s) {
    if (!map_get(&p->symbols, PKEY(s))) name_symbol(p, s);
    text_printf(p->out, "%s ", keyword);
    text_add(p->out, map_get(&p->symbols, PKEY(s)));
    text_printf(p->out, ": %" PRId64 "..%" PRId64, s->lo, s->hi);
    if (s->ref) text_printf(p->out, "@%" PRId64, s->ref);
    text_char(p->out, '\n');
}

static void print_region(struct printer *p, const struct region *r, int depth);

static void print_node(struct printer *p, const struct node *n, int depth) {
    struct text *t = p->out;
    for (int i = 0; i < n->syms.n; i++) {
        text_indent(t, depth);
        print_sym_def(p, "size", n->syms.v[i]);
    }
    text_indent(t, depth);
    for (int i = 0; i < n->outs.n; i++) {
        text_add(t, i ? ", " : "");
        print_def(p, n->outs.v[i]);
    }
    text_add(t, n->outs.n ? " = " : "");
    if (*n->domain) {
        print_word(t, n->domain, ".-");
        text_add(t, "::");
    }
    print_word(t, n->op_type, "");
    if (n->version != opset_newest(n->domain)) text_printf(t, ":%d", n->version);
    text_char(t, '(');
    for (int i = 0; i < n->ins.n; i++) {
        text_add(t, i ? ", " : "");
        print_ref(p, n->ins.v[i]);
    }
    text_char(t, ')');
    int plain = 0, regions = 0;
    for (int i = 0; i < n->attrs.n; i++) {
        if (n->attrs.v[i].kind == AT_REGION) {
            regions++;
            continue;
        }
        text_add(t, plain++ ? ", " : " {");
        print_attr(p, &n->attrs.v[i]);
    }
    text_add(t, plain ? "}" : "");
    if (*n->name) {
        text_add(t, " @");
        print_cstring(t, n->name);
    }
    text_char(t, '\n');
    for (int i = 0; regions && i < n->attrs.n; i++) {
        const struct attr *a = &n->attrs.v[i];
        if (a->kind != AT_REGION) continue;
        text_indent(t, depth + 1);
        print_word(t, a->name, ".");
        text_add(t, " = ");
        print_region(p, a->u.region, depth + 1);
    }
}

static void print_region(struct printer *p, const struct region *r, int depth) {
    struct text *t = p->out;
    text_add(t, "region ");
    print_cstring(t, r->name);
    text_add(t, " (");
    for (int i = 0; i < r->params.n; i++) {
        text_add(t, i ? ", " : "");
        print_def(p, r->params.v[i]);
    }
    text_add(t, ") {\n");
    for (const struct node *n = r->first; n; n = n->next) print_node(p, n, depth + 1);
    text_indent(t, depth + 1);
    text_add(t, "return");
    for (int i = 0; i < r->results.n; i++) {
        text_add(t, i ? ", " : " ");
        print_ref(p, r->results.v[i]);
        if (!r->owner && i < r->graph->outputs.n && strcmp(r->graph->outputs.v[i], r->results.v[i]->name) != 0) {
            text_char(t, ' ');
            print_cstring(t, r->graph->outputs.v[i]);
        }
    }
    text_char(t, '\n');
    text_indent(t, depth);
    text_add(t, "}\n");
}

/* Constants in the order of their first use. */
static void number_const(struct printer *p, const struct value *v) {
    if (!v || !v->init || map_get(&p->values, PKEY(v))) return;
    map_put(&p->values, PKEY(v), arena_printf(&p->tmp, "%%w%d", p->next_const++));
    PUSH(&p->tmp, &p->consts, v);
}

static void number_consts(struct printer *p, const struct region *r) {
    for (const struct node *n = r->first; n; n = n->next) {
        for (int i = 0; i < n->ins.n; i++) number_const(p, n->ins.v[i]);
        for (int i = 0; i < n->attrs.n; i++)
            if (n->attrs.v[i].kind == AT_REGION) number_consts(p, n->attrs.v[i].u.region);
    }
    for (int i = 0; i < r->results.n; i++) number_const(p, r->results.v[i]);
}

void node_attrs_print(struct text *out, const struct node *n) {
    struct printer p = {.out = out};
    int printed = 0;
    for (int i = 0; i < n->attrs.n; i++) {
        if (n->attrs.v[i].kind == AT_REGION) continue;
        text_add(out, printed++ ? ", " : "");
        print_attr(&p, &n->attrs.v[i]);
    }
}
void graph_print(struct text *out, const struct graph *g) {
    struct printer p = {.out = out};
    p.values.arena = p.symbols.arena = p.name_count.arena = &p.tmp;
    text_add(out, "graph ");
    print_cstring(out, g->name);
    text_char(out, '\n');
    for (int i = 0; i < g->opsets.n; i++) {
        text_add(out, "opset ");
        print_cstring(out, g->opsets.v[i].domain);
        text_printf(out, " %d\n", g->opsets.v[i].version);
    }
    for (int i = 0; i < g->metadata.n; i++) {
        text_add(out, "metadata ");
        print_cstring(out, g->metadata.v[i].key);
        text_add(out, " = ");
        print_cstring(out, g->metadata.v[i].value);
        text_char(out, '\n');
    }
    for (int i = 0; i < g->syms.n; i++) print_sym_def(&p, "sym", g->syms.v[i]);
    holders_print(out, "takes", &g->taken, print_cstring);
    holders_print(out, "gives", &g->given, print_cstring);
    number_consts(&p, g->top);
    for (int i = 0; i < p.consts.n; i++) {
        const struct value *v = p.consts.v[i];
        text_printf(out, "const %s", (const char *)map_get(&p.values, PKEY(v)));
        if (*v->name) {
            text_char(out, ' ');
            print_cstring(out, v->name);
        }
        text_add(out, ": ");
        print_tensor(out, v->init);
        text_char(out, '\n');
    }
    print_region(&p, g->top, 0);
    arena_free(&p.tmp);
}
