/* Reads the text form of the loop IR (docs/loop-ir.md) into a module. Recursive descent over logical lines; the text is
 * untrusted: nesting, sizes and names are checked, and after an error reading goes on at the next line. What the text
 * means is only partly checked here; loop_verify has the rules. */
#include "ir/base/checked.h"
#include "ir/expr_print.h"
#include "ir/loop_lex.h"
#include "ir/target.h"
#include <string.h>

const struct instr_row *(*nn_find_instr)(const char *name);

enum { MAX_PARSE_ERRORS = 60 };

/* ---- lines */
static bool at_end(struct parser *p) { return peek(p)->kind == T_END; }
static void end_of_line(struct parser *p) {
    if (!p->failed && !at_end(p)) {
        bool slash = at_punct(p, "//");
        unexpected(p,
                   slash ? "the end of the line (remarks at the end of a line start with #)" : "the end of the line");
    }
}
static void skip_deeper(struct parser *p, int indent) {
    while (p->have && p->l.indent > indent) next_line(p);
}
static const char *keep_text(struct parser *p, const char *s, size_t n) { return internn(p->c->names, s, n); }

/* ---- buffers */
struct geometry {
    enum dtype type;
    int nd, nlogical, npad, nmap;
    expr dims[MAX_RANK], logical[MAX_RANK], map[MAX_RANK], fill;
    const struct var *lvar[MAX_RANK];
    int64_t pad[MAX_RANK];
    const char *base;
    bool has_layout;
};
static bool parse_type_and_dims(struct parser *p, struct geometry *g) {
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
static bool parse_attributes(struct parser *p, struct geometry *g) {
    for (;;) {
        if (accept_word(p, "base")) {
            if (!(g->base = parse_name(p, "a buffer's base name"))) return false;
        } else if (accept_word(p, "pad")) {
            if (!parse_pad(p, g)) return false;
        } else if (accept_word(p, "fill")) {
            if (!(g->fill = parse_as(p, dtype_value(g->type)))) return false;
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
    if (!g->has_layout) return;
    b->nlogical = g->nlogical;
    b->logical = arena_copy(a, g->logical, (size_t)g->nlogical * sizeof *g->logical);
    b->lvar = arena_copy(a, g->lvar, (size_t)g->nlogical * sizeof *g->lvar);
    b->map = arena_copy(a, g->map, (size_t)g->nd * sizeof *g->map);
}
/* Is this the geometry of b? Then a second `alloc` in another block means the same buffer. */
static bool same_geometry(struct parser *p, const struct buf *b, const struct geometry *g, enum scope scope) {
    if (b->type != g->type || b->nd != g->nd || b->scope != scope || b->fill != g->fill ||
        b->base != (g->base ? g->base : b->name))
        return false;
    if (!b->pad != !g->npad || b->nlogical != (g->has_layout ? g->nlogical : g->nd)) return false;
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
    if (b->type == C64 || b->type == C128) {
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
static struct buf *declare(struct parser *p, const char *name, enum scope scope, const struct geometry *g, int line) {
    struct buf *b = proc_buf(p->proc, name);
    if (b) {
        if (!lookup(p, name, true, false) && scope != SC_PARAM && scope != SC_CONST && same_geometry(p, b, g, scope)) {
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
static void parse_const(struct parser *p) {
    struct geometry g;
    int line = p->l.number;
    const char *name = parse_name(p, "a constant's name");
    if (!name || !expect(p, ":") || !parse_type_and_dims(p, &g) || !parse_attributes(p, &g)) return;
    struct buf *b = declare(p, name, SC_CONST, &g, line);
    if (b) parse_data(p, b);
}
static struct buf *parse_buf(struct parser *p) {
    int line = peek(p)->line;
    const char *name = parse_name(p, "a buffer");
    struct binding *b = name ? lookup(p, name, true, false) : NULL;
    if (name && !b) parse_error(p, line, "no buffer %s here", diag_quote(&p->c->arena, name));
    return b ? b->buf : NULL;
}
static bool parse_at(struct parser *p, struct buf **b, expr *off) {
    return (*b = parse_buf(p)) && expect(p, "+") && (*off = parse_index(p));
}

/* ---- statements */
static void parse_block(struct parser *p, int parent_indent, struct block *b);
static void parse_body(struct parser *p, struct block *b) {
    int indent = p->l.indent;
    p->serial++;
    end_of_line(p);
    next_line(p);
    parse_block(p, indent, b);
}
static bool parse_kind(struct parser *p, enum loop_kind *kind) {
    if (!at_word(p, "gpu")) {
        for (int k = 0; k < LK_BLOCK_X; k++)
            if (accept_word(p, loop_kind_name((enum loop_kind)k))) return *kind = (enum loop_kind)k, true;
        return true;
    }
    p->l.at++;
    if (!expect(p, ".")) return false;
    int k = at_word(p, "block") ? LK_BLOCK_X : at_word(p, "thread") ? LK_THREAD_X : -1;
    if (k < 0) return unexpected(p, "`block` or `thread`"), false;
    p->l.at++;
    if (!expect(p, ".")) return false;
    int axis = at_word(p, "x") ? 0 : at_word(p, "y") ? 1 : at_word(p, "z") ? 2 : -1;
    if (axis < 0) return unexpected(p, "x, y or z"), false;
    p->l.at++;
    *kind = (enum loop_kind)(k + axis);
    return true;
}
/* The loop's name in the schedule: the first word of the remark, or the quoted text; without a remark, the variable. */
static const char *loop_name(struct parser *p, const char *var) {
    const char *s = p->l.remark;
    size_t n = p->l.nremark, k = 0;
    if (!s || !n) return var;
    if (*s != '"') {
        while (k < n && s[k] != ' ') k++;
        return keep_text(p, s, k);
    }
    struct parser q = *p; /* the lexer reads the quoted text */
    q.text = s, q.n = n, q.pos = 0, q.have = false, q.failed = false;
    q.tokens.v = NULL, q.tokens.n = q.tokens.cap = 0;
    next_line(&q);
    if (q.failed || !q.tokens.n || q.tokens.v[0].kind != T_QUOTED) {
        parse_error(p, p->l.number, "the loop's name after # does not end");
        return var;
    }
    return q.tokens.v[0].s;
}
static bool parse_axis(struct parser *p, const struct var **v, const char *name) {
    if (!expect(p, "<")) return false;
    expr extent = parse_index(p);
    if (extent) *v = var_new(p->c, name, extent);
    return extent != NULL;
}
static struct stmt *parse_for(struct parser *p) {
    struct token *t = peek(p);
    if (t->kind != T_NAME || !is_plain_name(t->s)) return unexpected(p, "a loop variable"), NULL;
    const char *shown = t->s;
    const struct var *v;
    enum loop_kind kind = LK_SERIAL;
    p->l.at++;
    if (!parse_axis(p, &v, loop_name(p, shown)) || !parse_kind(p, &kind)) return NULL;
    struct stmt *s = s_for(p->c, v, kind);
    s->u.loop.outline = accept_word(p, "outline");
    s->u.loop.piped = accept_word(p, "piped");
    end_of_line(p);
    if (p->failed) return NULL;
    struct binding *top = p->top;
    bind_name(p, shown, B_VALUE, x_var(p->c, v), NULL);
    parse_body(p, &s->u.loop.body);
    unbind_to(p, top);
    return s;
}
static struct stmt *parse_if(struct parser *p) {
    expr cond = parse_cond(p);
    if (!cond) return NULL;
    end_of_line(p);
    if (p->failed) return NULL;
    struct stmt *s = s_if(p->c, cond);
    int indent = p->l.indent;
    parse_body(p, &s->u.cond.then);
    if (p->have && p->l.indent == indent && !p->l.comment && at_word(p, "else")) {
        p->l.at++;
        parse_body(p, &s->u.cond.other);
    }
    return s;
}
static struct stmt *parse_while(struct parser *p) {
    expr cond = parse_cond(p), max = NULL;
    if (!cond || (accept_word(p, "max") && !(max = parse_index(p)))) return NULL;
    end_of_line(p);
    if (p->failed) return NULL;
    struct stmt *s = s_new(p->c, S_WHILE);
    s->u.loop_while.cond = cond;
    s->u.loop_while.max = max;
    parse_body(p, &s->u.loop_while.body);
    return s;
}
/* alloc NAME: geometry, and view NAME: geometry of BUF + offset */
static struct stmt *parse_alloc(struct parser *p, bool view) {
    struct geometry g;
    int line = p->l.number;
    const char *name = parse_name(p, "a buffer's name");
    if (!name || !expect(p, ":") || !parse_type_and_dims(p, &g)) return NULL;
    enum scope scope = SC_COUNT;
    for (int k = SC_ARENA; k < SC_CONST; k++)
        if (accept_word(p, scope_name((enum scope)k))) scope = (enum scope)k;
    if (scope == SC_COUNT) return unexpected(p, "arena, region, stack, reg or shared"), NULL;
    if (!parse_attributes(p, &g)) return NULL;
    struct buf *of = NULL, *b;
    expr off = NULL;
    if (view && !accept_word(p, "of")) return unexpected(p, "`of`"), NULL;
    if (view && !parse_at(p, &of, &off)) return NULL;
    if (!(b = declare(p, name, scope, &g, line))) return NULL;
    if (!view) return s_alloc(p->c, b);
    struct stmt *s = s_new(p->c, S_VIEW);
    s->u.view.buf = b;
    s->u.view.of = of;
    s->u.view.off = off;
    return s;
}
static bool parse_red_op(struct parser *p, enum red_op *op) {
    for (int k = RED_SUM; k < RED_COUNT; k++)
        if (accept(p, red_op_name((enum red_op)k)) || accept_word(p, red_op_name((enum red_op)k)))
            return *op = (enum red_op)k, true;
    return unexpected(p, "a reduction: + * max min and or"), false;
}
static int parse_axes(struct parser *p, const struct var **v) {
    int n = 0;
    if (!expect(p, "[")) return -1;
    if (accept(p, "]")) return 0;
    do {
        if (n == MAX_RANK) return parse_error(p, peek(p)->line, "more than %d axes", MAX_RANK), -1;
        const char *name = parse_name(p, "an axis"), *shown = name;
        if (!name || (accept_word(p, "as") && !(shown = parse_name(p, "a variable")))) return -1;
        if (!parse_axis(p, &v[n], name)) return -1;
        bind_name(p, shown, B_VALUE, x_var(p->c, v[n]), NULL);
        n++;
    } while (accept(p, ","));
    return expect(p, "]") ? n : -1;
}
static bool parse_let(struct parser *p) {
    const char *name = parse_name(p, "a name");
    if (!name || !expect(p, "=")) return false;
    expr e = parse_expr(p);
    if (!e) return false;
    bind_name(p, name, B_LET, e, NULL);
    return true;
}
/* The lines below a stage that has no value on its own: let lines, init, return. */
static void parse_stage_block(struct parser *p, enum dtype type, expr *init, expr *value) {
    int indent = p->l.indent, before = p->errors;
    next_line(p);
    while (p->have && p->l.indent > indent && !*value && p->errors == before) {
        if (accept_word(p, "let")) parse_let(p);
        else if (accept_word(p, "init")) *init = parse_as(p, type);
        else if (accept_word(p, "return")) *value = parse_as(p, type);
        else unexpected(p, "`let`, `init` or `return`");
        end_of_line(p);
        next_line(p);
    }
    if (!*value && p->errors == before) parse_error(p, p->have ? p->l.number : p->next_line, "a stage without a value");
    if (p->errors > before) *value = NULL;
}
static struct stmt *parse_stage(struct parser *p) {
    const struct var *axes[MAX_RANK], *red[MAX_RANK];
    struct binding *top = p->top;
    struct stmt *s = NULL;
    enum red_op op = RED_NONE;
    expr init = NULL, value = NULL;
    int na, nr = 0;
    struct buf *b = parse_buf(p);
    if (!b || (na = parse_axes(p, axes)) < 0) goto out;
    enum dtype type = dtype_value(b->type);
    if (accept_word(p, "reduce") && (!parse_red_op(p, &op) || (nr = parse_axes(p, red)) < 0)) goto out;
    if (at_end(p)) parse_stage_block(p, type, &init, &value);
    else {
        if (op != RED_NONE && accept_word(p, "init") && !(init = parse_as(p, type))) goto out;
        if (!expect(p, "=") || !(value = parse_as(p, type))) goto out;
        end_of_line(p);
    }
    if (value && init && op == RED_NONE) parse_error(p, p->l.number, "init without a reduction");
    else if (value) s = s_stage(p->c, b, axes, na, op, red, nr, init, value);
out:
    unbind_to(p, top);
    return s;
}
static bool parse_bound(struct parser *p, int64_t *v) {
    bool neg = at_punct(p, "-") && peek2(p)->kind == T_NAME && !strcmp(peek2(p)->s, "inf");
    if (neg) p->l.at++;
    if (accept_word(p, "inf")) return *v = neg ? NEG_INF : POS_INF, true;
    return parse_int64(p, v);
}
static bool parse_range(struct parser *p, int64_t *lo, int64_t *hi) {
    if (!parse_bound(p, lo) || !expect(p, "..") || !parse_bound(p, hi)) return false;
    if (*lo > *hi) parse_error(p, peek(p)->line, "an empty range");
    return !p->failed;
}
/* The visible produced symbol of that name is set anew; an invisible one with this range comes into view again. */
static struct sym *size_symbol(struct parser *p, const char *name, int64_t lo, int64_t hi, int line) {
    struct binding *b = lookup(p, name, false, true);
    for (int k = 0; k < p->sizes.n; k++) {
        struct sym *y = p->sizes.v[k];
        bool seen = b && b->e == x_sym(p->c, y);
        if (y->name != name || y->lo != lo || y->hi != hi || (b && !seen)) continue;
        if (!seen) bind_name(p, name, B_VALUE, x_sym(p->c, y), NULL);
        return y;
    }
    if (b) {
        parse_error(p, line, "%s is something else here, or has another range", diag_quote(&p->c->arena, name));
        return NULL;
    }
    struct sym *y = sym_new(p->c, name, lo, hi, true);
    PUSH(&p->c->arena, &p->sizes, y);
    bind_name(p, y->name, B_VALUE, x_sym(p->c, y), NULL);
    return y;
}
static struct stmt *parse_size(struct parser *p) {
    int line = p->l.number;
    const char *name = parse_name(p, "a symbol's name");
    expr lo, hi, value;
    int64_t from, to, no;
    if (!name) return NULL;
    if (!accept_word(p, "in")) return unexpected(p, "`in`"), NULL;
    if (!(lo = parse_index(p)) || !expect(p, "..") || !(hi = parse_index(p))) return NULL;
    x_bounds(p->c, lo, &from, &no);
    x_bounds(p->c, hi, &no, &to);
    if (accept_word(p, "range") && !parse_range(p, &from, &to)) return NULL;
    if (from > to) return parse_error(p, line, "an empty range"), NULL;
    if (!expect(p, "=") || !(value = parse_index(p))) return NULL;
    struct sym *y = size_symbol(p, name, from, to, line);
    if (!y) return NULL;
    struct stmt *s = s_new(p->c, S_SIZE);
    s->u.size.sym = y;
    s->u.size.lo = lo;
    s->u.size.hi = hi;
    s->u.size.value = value;
    return s;
}
static struct proc *proc_named(struct parser *p, const char *name) {
    if (p->m->entry && p->m->entry->name == name) return p->m->entry;
    for (int k = 0; k < p->m->procs.n; k++)
        if (p->m->procs.v[k]->name == name) return p->m->procs.v[k];
    struct proc *q = proc_new(p->c, name);
    PUSH(&p->c->arena, &p->m->procs, q);
    return q;
}
static bool parse_dir(struct parser *p, enum param_dir *d) {
    if (accept_word(p, "in")) return *d = DIR_IN, true;
    if (accept_word(p, "out")) return *d = DIR_OUT, true;
    if (accept_word(p, "inout")) return *d = DIR_INOUT, true;
    return unexpected(p, "in, out or inout"), false;
}
static struct stmt *parse_call_stmt(struct parser *p) {
    struct arena *a = &p->c->arena;
    VEC(struct buf *) bufs = {0};
    VEC(enum param_dir) dirs = {0};
    VEC(expr) args = {0};
    int line = p->l.number;
    const char *name = parse_name(p, "a procedure");
    if (!name || !expect(p, "(")) return NULL;
    while (!at_punct(p, ")") && !at_punct(p, ";")) {
        enum param_dir d;
        if (bufs.n && !expect(p, ",")) return NULL;
        if (!parse_dir(p, &d)) return NULL;
        struct buf *b = parse_buf(p);
        if (!b) return NULL;
        PUSH(a, &bufs, b);
        PUSH(a, &dirs, d);
    }
    if (accept(p, ";")) do {
            expr e = parse_index(p);
            if (!e) return NULL;
            PUSH(a, &args, e);
        } while (accept(p, ","));
    if (!expect(p, ")")) return NULL;
    struct stmt *s = s_new(p->c, S_CALL);
    s->u.call.callee = proc_named(p, name);
    s->u.call.nbufs = bufs.n;
    s->u.call.bufs = bufs.v;
    s->u.call.nargs = args.n;
    s->u.call.args = args.v;
    struct pending_call later = {s, dirs.v, line};
    PUSH(a, &p->calls, later);
    return s;
}
static struct stmt *parse_check(struct parser *p) {
    expr cond = parse_cond(p);
    if (!cond) return NULL;
    if (!accept_word(p, "else")) return unexpected(p, "`else`"), NULL;
    struct stmt *s = s_new(p->c, S_CHECK);
    s->u.check.cond = cond;
    if (!(s->u.check.fault = parse_name(p, "a fault's name"))) return NULL;
    if (accept(p, "@") && !(s->u.check.origin = parse_name(p, "an origin"))) return NULL;
    return s;
}
static const struct instr_row *instr_named(struct parser *p, const char *name) {
    const struct instr_row *r = nn_find_instr ? nn_find_instr(name) : NULL;
    if (r) return r;
    struct instr_row *blank =
        NEW(&p->c->arena, struct instr_row); /* texts can be read without the target that has the row */
    blank->name = name;
    return blank;
}
static struct stmt *parse_instr(struct parser *p) {
    struct stmt *s = s_new(p->c, S_INSTR);
    const char *row = parse_name(p, "an instruction");
    if (!row) return NULL;
    s->u.instr.row = instr_named(p, row);
    enum { MAX_HOLES = 16 };
    s->u.instr.holes = arena_array(&p->c->arena, MAX_HOLES, sizeof *s->u.instr.holes);
    while (!at_end(p)) {
        int k = s->u.instr.n;
        if (k == MAX_HOLES) return parse_error(p, p->l.number, "too many operands"), NULL;
        if (k && !expect(p, ",")) return NULL;
        if (!(s->u.instr.holes[k].hole = parse_name(p, "an operand")) || !expect(p, "=")) return NULL;
        if (!parse_at(p, &s->u.instr.holes[k].buf, &s->u.instr.holes[k].off)) return NULL;
        s->u.instr.n++;
    }
    parse_body(p, &s->u.instr.body);
    return s;
}
static struct stmt *parse_store(struct parser *p) {
    struct buf *b = parse_buf(p);
    expr idx[MAX_RANK];
    if (!b || !expect(p, "[")) return NULL;
    int n = parse_indices(p, idx, MAX_RANK, NULL, NONE);
    enum red_op op = RED_NONE;
    if (n < 0) return NULL;
    if (accept(p, "+=")) op = RED_SUM;
    else if (accept(p, "*=")) op = RED_PROD;
    else if (!at_punct(p, "=") && !parse_red_op(p, &op)) return NULL;
    if (op != RED_SUM && op != RED_PROD && !expect(p, "=")) return NULL;
    expr v = parse_as(p, dtype_value(b->type));
    return v ? s_store(p->c, b, idx, n, op, v) : NULL;
}
static struct stmt *parse_simple(struct parser *p) {
    struct stmt *s;
    if (peek2(p)->kind == T_PUNCT && !strcmp(peek2(p)->s, "[")) return parse_store(p);
    if (accept_word(p, "alloc")) return parse_alloc(p, false);
    if (accept_word(p, "view")) return parse_alloc(p, true);
    if (accept_word(p, "size")) return parse_size(p);
    if (accept_word(p, "call")) return parse_call_stmt(p);
    if (accept_word(p, "check")) return parse_check(p);
    if (accept_word(p, "barrier")) return s_new(p->c, S_BARRIER);
    if (accept_word(p, "free")) {
        s = s_new(p->c, S_FREE);
        return (s->u.alloc.buf = parse_buf(p)) ? s : NULL;
    }
    if (accept_word(p, "prefetch")) {
        s = s_new(p->c, S_PREFETCH);
        return parse_at(p, &s->u.prefetch.buf, &s->u.prefetch.off) ? s : NULL;
    }
    if (accept_word(p, "swap")) {
        s = s_new(p->c, S_SWAP);
        return (s->u.swap.a = parse_buf(p)) && expect(p, ",") && (s->u.swap.b = parse_buf(p)) ? s : NULL;
    }
    return unexpected(p, "a statement"), NULL;
}
/* Statements that have lines of their own below them read these, and leave the next line loaded. */
static struct stmt *parse_compound(struct parser *p, bool *compound) {
    bool store = peek2(p)->kind == T_PUNCT && !strcmp(peek2(p)->s, "[");
    *compound = !store;
    if (!store) {
        if (accept_word(p, "for")) return parse_for(p);
        if (accept_word(p, "if")) return parse_if(p);
        if (accept_word(p, "while")) return parse_while(p);
        if (accept_word(p, "instr")) return parse_instr(p);
    }
    *compound = false;
    return NULL;
}
static struct stmt *comment_line(struct parser *p) {
    struct stmt *s = s_new(p->c, S_COMMENT);
    s->u.comment.text = keep_text(p, p->l.rest, p->l.nrest);
    next_line(p);
    return s;
}
static struct stmt *parse_stmt(struct parser *p) {
    int indent = p->l.indent, before = p->errors;
    size_t at_line = p->pos;
    bool compound;
    struct stmt *s = parse_compound(p, &compound);
    if (!compound) {
        bool stage = peek2(p)->kind != T_PUNCT && accept_word(p, "stage");
        s = stage ? parse_stage(p) : parse_simple(p);
        if (p->pos == at_line) {
            end_of_line(p);
            next_line(p);
        }
    } else if (!s && p->pos == at_line) next_line(p);
    if (!s && p->errors > before) { /* what belongs to a line that could not be read goes with it */
        skip_deeper(p, indent);
        if (p->have && p->l.indent == indent && at_word(p, "else")) {
            next_line(p);
            skip_deeper(p, indent);
        }
    }
    return s;
}
static bool starts_with_word(struct parser *p, const char *word) {
    return at_word(p, word) && peek2(p)->kind != T_PUNCT;
}
static void parse_block(struct parser *p, int parent_indent, struct block *b) {
    if (!p->have || p->l.indent <= parent_indent) return;
    if (p->depth >= MAX_NEST) {
        parse_error(p, p->l.number, "nested more than %d levels deep", MAX_NEST);
        skip_deeper(p, parent_indent);
        return;
    }
    p->depth++;
    int indent = p->l.indent;
    struct binding *scope = p->top;
    bool let = false;
    while (p->have && p->l.indent > parent_indent && p->errors < MAX_PARSE_ERRORS) {
        if (p->l.comment) {
            block_append(b, comment_line(p));
            continue;
        }
        if (p->l.indent != indent) {
            parse_error(p, p->l.number, "unexpected indentation: %d blanks, where this block has %d", p->l.indent,
                        indent);
            next_line(p);
            continue;
        }
        bool is_let = starts_with_word(p, "let");
        if (is_let || starts_with_word(p, "const")) {
            p->l.at++;
            if (is_let) parse_let(p);
            else parse_const(p);
            let |= is_let;
            end_of_line(p);
            next_line(p);
            continue;
        }
        struct stmt *s = parse_stmt(p);
        if (s) block_append(b, s);
        p->serial++;
        let = false;
    }
    if (let && p->errors < MAX_PARSE_ERRORS)
        parse_error(p, p->have ? p->l.number : p->next_line, "`let` without a statement after it");
    unbind_to(p, scope);
    p->depth--;
}

/* ---- functions */
static void parse_fn_block(struct parser *p, struct fn *f) {
    end_of_line(p);
    next_line(p);
    while (p->have && p->l.indent > 0 && !f->body) {
        int before = p->errors;
        if (p->l.comment) {
            next_line(p);
            continue;
        }
        if (accept_word(p, "let")) parse_let(p);
        else if (accept_word(p, "return")) f->body = parse_as(p, f->type);
        else unexpected(p, "`let` or `return`");
        end_of_line(p);
        next_line(p);
        if (p->errors > before) {
            skip_deeper(p, 0);
            return;
        }
    }
    if (!f->body)
        parse_error(p, p->l.number ? p->l.number : p->next_line, "function %s returns nothing",
                    diag_quote(&p->c->arena, f->name));
}
static bool parse_fn_head(struct parser *p, struct fn *f) {
    if (!(f->name = parse_name(p, "a function's name")) || !expect(p, "(")) return false;
    while (!at_punct(p, ")")) {
        if (f->nargs && !expect(p, ",")) return false;
        if (f->nargs == 4) return parse_error(p, p->l.number, "more than 4 arguments"), false;
        const char *name = parse_name(p, "an argument's name");
        if (!name || !expect(p, ":")) return false;
        enum dtype t = parse_type(p);
        if (t == NONE) return false;
        if (dtype_value(t) != t) return parse_error(p, p->l.number, "%s is not a value type", dtype_name(t)), false;
        f->args[f->nargs] = t;
        bind_name(p, name, B_VALUE, x_arg(p->c, f->nargs, t), NULL);
        f->nargs++;
    }
    p->l.at++;
    if (!expect(p, ":") || (f->type = parse_type(p)) == NONE) return false;
    if (dtype_value(f->type) != f->type)
        return parse_error(p, p->l.number, "%s is not a value type", dtype_name(f->type)), false;
    return true;
}
static void parse_fn(struct parser *p) {
    struct fn *f = NEW(&p->c->arena, struct fn);
    struct binding *top = p->top;
    int before = p->errors;
    f->id = ++p->c->next_id;
    if (parse_fn_head(p, f)) {
        for (int k = 0; k < p->m->fns.n; k++)
            if (p->m->fns.v[k]->name == f->name)
                parse_error(p, p->l.number, "function %s is defined twice", diag_quote(&p->c->arena, f->name));
        if (at_end(p)) parse_fn_block(p, f);
        else {
            if (expect(p, "=")) f->body = parse_as(p, f->type);
            end_of_line(p);
            next_line(p);
        }
    } else next_line(p);
    if (p->errors > before) skip_deeper(p, 0);
    else {
        const struct fn *done = f;
        PUSH(&p->c->arena, &p->m->fns, done);
    }
    unbind_to(p, top);
}

/* ---- procedures */
static void parse_syms(struct parser *p) {
    do {
        int line = peek(p)->line;
        const char *name = parse_name(p, "a symbol");
        int64_t lo = 0, hi = INT32_MAX;
        if (!name || (accept_word(p, "in") && !parse_range(p, &lo, &hi))) return;
        if (lookup(p, name, false, true)) {
            parse_error(p, line, "symbol %s is declared twice", diag_quote(&p->c->arena, name));
            return;
        }
        struct sym *y = sym_new(p->c, name, lo, hi, false);
        PUSH(&p->c->arena, &p->proc->syms, y);
        bind_name(p, y->name, B_VALUE, x_sym(p->c, y), NULL);
    } while (accept(p, ","));
    expect(p, "]");
}
static void parse_param(struct parser *p) {
    struct geometry g;
    struct param q = {0};
    int line = peek(p)->line;
    const char *name = parse_name(p, "a parameter");
    if (!name || !expect(p, ":") || !parse_type_and_dims(p, &g) || !parse_dir(p, &q.dir) || !parse_attributes(p, &g))
        return;
    if ((q.buf = declare(p, name, SC_PARAM, &g, line))) PUSH(&p->c->arena, &p->proc->params, q);
}
/* Position after the bracket that closes the one before the next token. */
static int after_closing(struct parser *p) {
    int open = 1, k = p->l.at;
    for (; p->tokens.v[k].kind != T_END && open; k++) {
        if (p->tokens.v[k].kind != T_PUNCT) continue;
        if (strchr("([{", p->tokens.v[k].s[0])) open++;
        if (strchr(")]}", p->tokens.v[k].s[0])) open--;
    }
    return k;
}
/* Symbols stand after the parameters that use them, so they are read first. */
static void parse_header(struct parser *p) {
    if (!expect(p, "(")) return;
    int params = p->l.at;
    p->l.at = after_closing(p);
    if (accept(p, "[")) parse_syms(p);
    end_of_line(p);
    if (p->failed) return;
    p->l.at = params;
    while (!p->failed && !at_punct(p, ")")) {
        if (p->proc->params.n && !expect(p, ",")) return;
        parse_param(p);
    }
}
static void parse_steps(struct parser *p) {
    for (; p->have && p->l.indent > 0 && peek2(p)->kind == T_END && p->l.nrest > 5; next_line(p)) {
        bool todo = at_word(p, "todo");
        if (!todo && !at_word(p, "step")) return;
        const char *s = keep_text(p, p->l.rest + 5, p->l.nrest - 5);
        if (todo) PUSH(&p->c->arena, &p->proc->todo, s);
        else PUSH(&p->c->arena, &p->proc->steps, s);
    }
}
static void parse_proc(struct parser *p, bool entry, bool kernel, const char *comment) {
    int line = p->l.number;
    const char *name = parse_name(p, "a procedure's name");
    struct binding *top = p->top;
    if (name && entry && p->m->entry) parse_error(p, line, "a second entry procedure");
    struct proc *q = NULL;
    if (!p->failed && name) {
        q = proc_named(p, name);
        if (map_get(&p->declared, PKEY(q)))
            parse_error(p, line, "procedure %s is defined twice", diag_quote(&p->c->arena, name));
    }
    if (p->failed || !q) {
        next_line(p);
        skip_deeper(p, 0);
        return;
    }
    map_put(&p->declared, PKEY(q), q);
    for (int k = 0; k < p->m->procs.n; k++) { /* procedures stand in the order of their texts, the entry apart */
        if (p->m->procs.v[k] != q) continue;
        memmove(p->m->procs.v + k, p->m->procs.v + k + 1, (size_t)(p->m->procs.n - k - 1) * sizeof *p->m->procs.v);
        p->m->procs.n--;
    }
    if (entry) p->m->entry = q;
    else PUSH(&p->c->arena, &p->m->procs, q);
    q->is_kernel_text = kernel;
    q->comment = comment;
    p->proc = q;
    p->sizes.n = 0;
    parse_header(p);
    bool failed = p->failed;
    next_line(p);
    if (failed) skip_deeper(p, 0);
    parse_steps(p);
    parse_block(p, 0, &q->body);
    unbind_to(p, top);
    p->proc = NULL;
}

/* ---- modules */
static void check_calls(struct parser *p) {
    for (int k = 0; k < p->calls.n; k++) {
        struct pending_call *l = &p->calls.v[k];
        const struct proc *q = l->s->u.call.callee;
        p->failed = false;
        if (!map_get(&p->declared, PKEY(q))) {
            parse_error(p, l->line, "no procedure %s", diag_quote(&p->c->arena, q->name));
            continue;
        }
        if (q->params.n != l->s->u.call.nbufs) {
            parse_error(p, l->line, "%s takes %d buffers, not %d", diag_quote(&p->c->arena, q->name), q->params.n,
                        l->s->u.call.nbufs);
            continue;
        }
        for (int j = 0; j < q->params.n; j++)
            if (q->params.v[j].dir != l->dirs[j])
                parse_error(p, l->line, "argument %d of %s has another direction than the parameter", j + 1,
                            diag_quote(&p->c->arena, q->name));
    }
}
static void parse_top(struct parser *p) {
    struct text comment = {0};
    int comment_line_number = -1;
    while (p->have && p->errors < MAX_PARSE_ERRORS) {
        if (p->l.comment) {
            bool joins = comment_line_number == p->l.number - 1;
            if (!joins) comment.n = 0;
            else text_char(&comment, '\n');
            text_addn(&comment, p->l.rest, p->l.nrest);
            text_add(&comment, "");
            comment_line_number = p->l.number;
            next_line(p);
            continue;
        }
        const char *above = comment_line_number == p->l.number - 1 ? internn(p->c->names, comment.s, comment.n) : NULL;
        if (p->l.indent) {
            parse_error(p, p->l.number, "unexpected indentation outside of procedures");
            skip_deeper(p, 0);
            continue;
        }
        if (accept_word(p, "fn")) {
            parse_fn(p);
            continue;
        }
        bool entry = accept_word(p, "entry"), kernel = accept_word(p, "kernel");
        if (accept_word(p, "proc")) {
            parse_proc(p, entry, kernel, above);
            continue;
        }
        unexpected(p, "`proc` or `fn`");
        next_line(p);
        skip_deeper(p, 0);
    }
    text_free(&comment);
}
bool loop_parse_into(struct ctx *c, struct module *m, const char *text, size_t n, const char *file) {
    struct arena *a = &c->arena;
    struct parser p = {.c = c,
                       .m = m,
                       .text = text,
                       .n = n,
                       .file = file ? file : "text",
                       .next_line = 1,
                       .values = {.arena = a},
                       .bufs = {.arena = a},
                       .measures = {.arena = a},
                       .declared = {.arena = a}};
    for (int k = 0; k < m->procs.n; k++) map_put(&p.declared, PKEY(m->procs.v[k]), m->procs.v[k]);
    if (m->entry) map_put(&p.declared, PKEY(m->entry), m->entry);
    next_line(&p);
    parse_top(&p);
    if (!p.errors) check_calls(&p);
    return !p.errors;
}
struct module *loop_parse(struct ctx *c, const char *text, size_t n, const char *file) {
    struct module *m = module_new(c);
    return loop_parse_into(c, m, text, n, file) ? m : NULL;
}
