/* Buffers and constants in loop IR text: types, dims, layouts, contents. See loop_lex.h. */
#include "ir/base/checked.h"
#include "ir/text/loop_lex.h"
#include <string.h>

/* ---- geometry */
bool parse_type_and_dims(struct parser *p, struct geometry *g) {
    memset(g, 0, sizeof *g);
    if ((g->type = parse_type(p)) == NONE || !expect(p, "[")) return false;
    return (g->nd = parse_indices(p, g->dims, MAX_RANK, NULL, NONE)) >= 0;
}
static bool parse_layout(struct parser *p, struct geometry *g) {
    g->has_layout = true;
    if (!expect(p, "[") || (g->nlogical = parse_indices(p, g->logical, MAX_RANK, NULL, NONE)) < 0) return false;
    struct binding *top = p->top;
    for (int k = 0; k < g->nlogical; k++) {
        const char *name = internf(p->c->names, "d%d", k);
        g->lvar[k] = var_new(p->c, name, g->logical[k]);
        bind_name(p, name, B_DIM, x_var(p->c, g->lvar[k]), NULL);
    }
    if (!accept_word(p, "map")) unexpected(p, "`map`");
    else if (expect(p, "[")) g->nmap = parse_indices(p, g->map, MAX_RANK, NULL, NONE);
    unbind_to(p, top);
    if (!p->failed && g->nmap != g->nd)
        parse_error(p, peek(p)->line, "the map has %d dims, the buffer %d", g->nmap, g->nd);
    return !p->failed;
}
static bool parse_pad(struct parser *p, struct geometry *g) {
    if (!expect(p, "[")) return false;
    do {
        if (g->npad == MAX_RANK) break;
        if (!parse_int64(p, &g->pad[g->npad])) return false;
        g->npad++;
    } while (accept(p, ","));
    if (!expect(p, "]")) return false;
    if (g->npad != g->nd) parse_error(p, peek(p)->line, "pad has %d numbers, the buffer %d dims", g->npad, g->nd);
    return !p->failed;
}
static bool parse_apart(struct parser *p, struct geometry *g) {
    int64_t k;
    if (!expect(p, "[")) return false;
    do {
        if (!parse_int64(p, &k)) return false;
        if (k < 0 || k >= g->nd) return parse_error(p, peek(p)->line, "there is no dim %lld", (long long)k), false;
        g->apart |= 1u << k;
    } while (accept(p, ","));
    return expect(p, "]");
}
bool parse_attributes(struct parser *p, struct geometry *g) {
    for (;;) {
        if (accept_word(p, "base")) {
            if (!(g->base = parse_name(p, "a buffer's base name"))) return false;
        } else if (accept_word(p, "pad")) {
            if (!parse_pad(p, g)) return false;
        } else if (accept_word(p, "apart")) {
            if (!parse_apart(p, g)) return false;
        } else if (accept_word(p, "fill")) {
            if (!(g->fill = parse_as(p, dtype_value(g->type)))) return false;
        } else if (accept_word(p, "within")) {
            g->has_within = true;
            if (!parse_range(p, &g->within[0], &g->within[1])) return false;
        } else if (accept_word(p, "logical")) {
            if (!parse_layout(p, g)) return false;
        } else return true;
    }
}
static void set_geometry(struct parser *p, struct buf *b, const struct geometry *g) {
    struct arena *a = &p->c->arena;
    if (g->base) b->base = g->base;
    if (g->npad) b->pad = arena_copy(a, g->pad, (size_t)g->npad * sizeof *g->pad);
    b->fill = g->fill;
    b->apart = g->apart;
    if (g->has_within) b->within = arena_copy(a, g->within, sizeof g->within);
    if (!g->has_layout) return;
    b->nlogical = g->nlogical;
    b->logical = arena_copy(a, g->logical, (size_t)g->nlogical * sizeof *g->logical);
    b->lvar = arena_copy(a, g->lvar, (size_t)g->nlogical * sizeof *g->lvar);
    b->map = arena_copy(a, g->map, (size_t)g->nd * sizeof *g->map);
}
/* Is this the geometry of b? Then another `alloc` in a different block refers to the same buffer. */
static bool same_geometry(struct parser *p, const struct buf *b, const struct geometry *g, enum scope scope) {
    if (b->type != g->type || b->nd != g->nd || b->scope != scope || b->fill != g->fill ||
        b->base != (g->base ? g->base : b->name))
        return false;
    if (!b->pad != !g->npad || b->apart != g->apart || b->nlogical != (g->has_layout ? g->nlogical : g->nd))
        return false;
    struct subst s = {{.arena = &p->c->arena}};
    for (int k = 0; k < b->nlogical; k++) {
        if (b->logical[k] != (g->has_layout ? g->logical[k] : g->dims[k])) return false;
        if (g->has_layout) map_put(&s.map, PKEY(g->lvar[k]), (void *)x_var(p->c, b->lvar[k]));
    }
    for (int k = 0; k < b->nd; k++) {
        if (b->dims[k] != g->dims[k] || (b->pad && b->pad[k] != g->pad[k])) return false;
        if (b->map[k] != (g->has_layout ? x_subst(p->c, g->map[k], &s) : x_var(p->c, b->lvar[k]))) return false;
    }
    return true;
}

/* ---- constants */
static bool parse_element(struct parser *p, struct tensor *d, int64_t k) {
    struct token *t = peek(p);
    if (d->type == STR) {
        if (t->kind != T_QUOTED) return unexpected(p, "a quoted string"), false;
        struct str_elem *v = (struct str_elem *)d->strs + k;
        *v = (struct str_elem){t->s, strlen(t->s)};
        return p->l.at++, true;
    }
    bool neg = accept(p, "-");
    t = peek(p);
    bool flt = dtype_is_float(d->type);
    if (flt && (t->kind == T_FLOAT || at_word(p, "nan") || at_word(p, "inf"))) {
        double v = t->kind == T_FLOAT     ? (d->type == F64 ? t->wide : t->f)
                   : !strcmp(t->s, "nan") ? __builtin_nan("")
                                          : __builtin_inf();
        tensor_set_f(d, k, neg ? -v : v);
    } else if (flt && t->kind == T_INT) tensor_set_f(d, k, neg ? -(double)t->i : (double)t->i);
    else if (t->kind == T_INT) tensor_set_i(d, k, neg ? (int64_t)(0 - t->i) : (int64_t)t->i);
    else return unexpected(p, "a number"), false;
    p->l.at++;
    return true;
}
static void parse_data(struct parser *p, struct buf *b) {
    if (accept(p, "...") || !expect(p, "=")) return;
    bool splat = accept_word(p, "splat");
    int64_t dims[MAX_RANK], count = 1;
    for (int k = 0; k < b->nlogical; k++)
        if (!x_is_int(b->logical[k], &dims[k]) || dims[k] < 0 || !mul_ok(count, dims[k], &count)) {
            parse_error(p, p->l.number, "a constant with contents needs constant dims");
            return;
        }
    if (dtype_is_complex(b->type)) {
        parse_error(p, p->l.number, "complex constants have no text; write ...");
        return;
    }
    if (!splat && count > p->tokens.n) {
        parse_error(p, p->l.number, "%lld elements expected", (long long)count);
        return;
    }
    int64_t one = 1;
    struct tensor *d = tensor_new(&p->c->arena, b->type, splat ? &one : dims, splat ? 1 : b->nlogical);
    if (!d) {
        parse_error(p, p->l.number, "this constant is too large");
        return;
    }
    int64_t n = splat ? 1 : count;
    if (b->type == STR) d->strs = NEWN(&p->c->arena, struct str_elem, n);
    if (!splat && !expect(p, "{")) return;
    for (int64_t k = 0; k < n; k++)
        if ((k && !expect(p, ",")) || !parse_element(p, d, k)) return;
    if (!splat && !expect(p, "}")) return;
    if (splat) {
        d->source = TS_SPLAT;
        d->rank = b->nlogical;
        memcpy(d->dims, dims, (size_t)b->nlogical * sizeof *dims);
    }
    d->name = b->name;
    b->data = d;
}
/* A kernel's own buffer is new each time, as if a loop were unrolled. */
static bool is_again(struct parser *p, const char *name, enum scope scope) {
    if (scope == SC_PARAM || scope == SC_CONST) return false;
    bool fresh = p->proc != p->m->entry && scope != SC_REGION && scope != SC_KEPT;
    return fresh || !lookup(p, name, true, false);
}
struct buf *declare_buf(struct parser *p, const char *name, enum scope scope, const struct geometry *g, int line) {
    struct buf *b = proc_buf(p->proc, name);
    if (b) {
        if (is_again(p, name, scope) && same_geometry(p, b, g, scope)) {
            bind_name(p, b->name, B_BUF, NULL, b);
            return b;
        }
        parse_error(p, line, "%s is declared twice", diag_quote(&p->c->arena, name));
        return NULL;
    }
    b = buf_new(p->c, p->proc, name, g->type, scope, g->dims, g->nd);
    set_geometry(p, b, g);
    bind_name(p, b->name, B_BUF, NULL, b);
    return b;
}
void parse_const(struct parser *p) {
    struct geometry g;
    int line = p->l.number;
    const char *name = parse_name(p, "a constant's name");
    if (!name || !expect(p, ":") || !parse_type_and_dims(p, &g) || !parse_attributes(p, &g)) return;
    struct buf *b = declare_buf(p, name, SC_CONST, &g, line);
    if (b) parse_data(p, b);
}
struct buf *parse_buf(struct parser *p) {
    int line = peek(p)->line;
    const char *name = parse_name(p, "a buffer");
    struct binding *b = name ? lookup(p, name, true, false) : NULL;
    if (name && !b) parse_error(p, line, "no buffer %s here", diag_quote(&p->c->arena, name));
    return b ? b->buf : NULL;
}
bool parse_at(struct parser *p, struct buf **b, expr *off) {
    return (*b = parse_buf(p)) && expect(p, "+") && (*off = parse_index(p));
}
