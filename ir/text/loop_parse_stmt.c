/* Statements in loop IR text: blocks, loops, stages, stores, calls. See loop_lex.h. */
#include "ir/base/checked.h"
#include "ir/expr/print.h"
#include "ir/loop/foreign.h"
#include "ir/loop/kinds.h"
#include "ir/loop/target.h"
#include "ir/text/loop_lex.h"
#include <string.h>

const struct instr_row *(*nn_find_instr)(const char *name);
_Thread_local struct foreign *(*nn_find_foreign)(const char *name);

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
        return internn(p->c->names, s, k);
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
    if (accept_word(p, "grain") && !parse_int64(p, &s->u.loop.grain)) return NULL;
    if (accept_word(p, "slices") && !parse_int64(p, &s->u.loop.slices)) return NULL;
    s->u.loop.outline = accept_word(p, "outline");
    s->u.loop.piped = accept_word(p, "piped");
    s->u.loop.independent = accept_word(p, "independent");
    s->u.loop.assumed = s->u.loop.independent && accept_word(p, "assumed");
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
    if (!(b = declare_buf(p, name, scope, &g, line))) return NULL;
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
    return unexpected(p, "a reduction: + * max min nmax nmin and or"), false;
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
bool parse_let(struct parser *p) {
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
bool parse_range(struct parser *p, int64_t *lo, int64_t *hi) {
    if (!parse_bound(p, lo) || !expect(p, "..") || !parse_bound(p, hi)) return false;
    if (*lo > *hi) parse_error(p, peek(p)->line, "an empty range");
    return !p->failed;
}
/* If a produced symbol of that name is visible, it is set again; an invisible one with this range becomes visible
 * again. */
struct sym *size_symbol(struct parser *p, const char *name, int64_t lo, int64_t hi, int line) {
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
struct proc *proc_named(struct parser *p, const char *name) {
    if (p->m->entry && p->m->entry->name == name) return p->m->entry;
    for (int k = 0; k < p->m->procs.n; k++)
        if (p->m->procs.v[k]->name == name) return p->m->procs.v[k];
    struct proc *q = proc_new(p->c, name);
    PUSH(&p->c->arena, &p->m->procs, q);
    return q;
}
bool parse_dir(struct parser *p, enum param_dir *d) {
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
    if (accept(p, "@") && !(s->u.call.origin = parse_name(p, "an origin"))) return NULL;
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
/* For an unknown function: parameters as in the statement, buffers first. */
static struct foreign *blank_foreign(struct parser *p, const char *name, const struct stmt *s,
                                     const enum param_dir *dirs) {
    struct foreign *f = NEW(&p->c->arena, struct foreign);
    int nops = s->u.foreign.nops, n = nops + s->u.foreign.nargs;
    struct foreign_param *q = NEWN(&p->c->arena, struct foreign_param, n + 1);
    for (int k = 0; k < nops; k++)
        q[k] = (struct foreign_param){.name = s->u.foreign.ops[k].buf->name,
                                      .use = dirs[k] == DIR_IN ? FOREIGN_READ : FOREIGN_WRITTEN,
                                      .type = s->u.foreign.ops[k].buf->type};
    for (int k = nops; k < n; k++) {
        enum dtype t = (enum dtype)s->u.foreign.args[k - nops]->type;
        q[k] = (struct foreign_param){
            .name = internf(p->c->names, "n%d", k - nops), .use = FOREIGN_NUMBER, .type = t == IDX ? I64 : t};
    }
    *f = (struct foreign){.op = name, .name = name, .n = n, .params = q, .why_not = "its source was not given"};
    return f;
}
static bool parse_foreign_operand(struct parser *p, struct stmt *s, enum param_dir *dir) {
    struct foreign_operand *o = &s->u.foreign.ops[s->u.foreign.nops];
    if (!parse_dir(p, dir) || !(o->buf = parse_buf(p))) return false;
    o->first = s->u.foreign.nidx;
    if (accept(p, "[") && (o->n = parse_indices(p, s->u.foreign.idx + o->first, MAX_RANK, NULL, NONE)) < 0)
        return false;
    s->u.foreign.nidx += o->n;
    s->u.foreign.nops++;
    return true;
}
static struct stmt *parse_foreign(struct parser *p) {
    enum { MOST = 256 };
    struct arena *a = &p->c->arena;
    struct stmt *s = s_new(p->c, S_FOREIGN);
    enum param_dir dirs[MOST];
    const char *name = parse_name(p, "a function");
    int n;
    if (!name || !expect(p, "(")) return NULL;
    s->u.foreign.ops = NEWN(a, struct foreign_operand, MOST);
    s->u.foreign.idx = NEWN(a, expr, MOST * MAX_RANK);
    s->u.foreign.args = NEWN(a, expr, MOST);
    while (!at_punct(p, ")") && !at_punct(p, ";")) {
        if (s->u.foreign.nops == MOST) return parse_error(p, p->l.number, "too many operands"), NULL;
        if (s->u.foreign.nops && !expect(p, ",")) return NULL;
        if (!parse_foreign_operand(p, s, &dirs[s->u.foreign.nops])) return NULL;
    }
    if (accept(p, ";")) do {
            if (s->u.foreign.nargs == MOST) return parse_error(p, p->l.number, "too many numbers"), NULL;
            if (!(s->u.foreign.args[s->u.foreign.nargs] = parse_sum(p))) return NULL;
            s->u.foreign.nargs++;
        } while (accept(p, ","));
    if (!expect(p, ")")) return NULL;
    if (accept_word(p, "grid")) {
        s->u.foreign.grid = NEWN(a, expr, 6);
        if (!expect(p, "[") || (n = parse_indices(p, s->u.foreign.grid, 6, NULL, NONE)) < 0) return NULL;
        if (n != 6) return unexpected(p, "six sizes"), NULL;
        s->u.foreign.ngrid = n;
    }
    s->u.foreign.fn = nn_find_foreign ? nn_find_foreign(name) : NULL;
    if (!s->u.foreign.fn) s->u.foreign.fn = blank_foreign(p, name, s, dirs);
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
static struct stmt *parse_of_buf(struct parser *p, enum stmt_kind kind) { /* free, bind */
    struct stmt *s = s_new(p->c, kind);
    return (s->u.alloc.buf = parse_buf(p)) ? s : NULL;
}
static struct stmt *parse_prefetch(struct parser *p) {
    struct stmt *s = s_new(p->c, S_PREFETCH);
    return parse_at(p, &s->u.prefetch.buf, &s->u.prefetch.off) ? s : NULL;
}
static struct stmt *parse_swap(struct parser *p) {
    struct stmt *s = s_new(p->c, S_SWAP);
    return (s->u.swap.a = parse_buf(p)) && expect(p, ",") && (s->u.swap.b = parse_buf(p)) ? s : NULL;
}
/* The kind that the line's first word says; a name and `[` are a store, whatever the name. */
static bool parse_first_word(struct parser *p, enum stmt_kind *kind) {
    *kind = S_STORE;
    if (peek2(p)->kind == T_PUNCT && !strcmp(peek2(p)->s, "[")) return true;
    for (int k = 0; k < S_KIND_COUNT; k++)
        if (stmt_rows[k].word && accept_word(p, stmt_rows[k].word)) return *kind = (enum stmt_kind)k, true;
    return unexpected(p, "a statement"), false;
}
static struct stmt *parse_rest(struct parser *p, enum stmt_kind kind) {
    switch (kind) {
    case S_FOR: return parse_for(p);
    case S_STORE: return parse_store(p);
    case S_IF: return parse_if(p);
    case S_ALLOC: return parse_alloc(p, false);
    case S_FREE:
    case S_BIND: return parse_of_buf(p, kind);
    case S_STAGE: return parse_stage(p);
    case S_SIZE: return parse_size(p);
    case S_CALL: return parse_call_stmt(p);
    case S_WHILE: return parse_while(p);
    case S_CHECK: return parse_check(p);
    case S_INSTR: return parse_instr(p);
    case S_BARRIER: return s_new(p->c, S_BARRIER);
    case S_PREFETCH: return parse_prefetch(p);
    case S_SWAP: return parse_swap(p);
    case S_VIEW: return parse_alloc(p, true);
    case S_FOREIGN: return parse_foreign(p);
    case S_COMMENT: break; /* a line that has no tokens */
    }
    return NULL;
}
static struct stmt *comment_line(struct parser *p) {
    struct stmt *s = s_new(p->c, S_COMMENT);
    s->u.comment.text = internn(p->c->names, p->l.rest, p->l.nrest);
    next_line(p);
    return s;
}
static struct stmt *parse_stmt(struct parser *p) {
    int indent = p->l.indent, before = p->errors;
    size_t at_line = p->pos;
    enum stmt_kind kind;
    struct stmt *s = parse_first_word(p, &kind) ? parse_rest(p, kind) : NULL;
    bool blocks = stmt_rows[kind].blocks[0]; /* these read the lines below, and leave the next one loaded */
    if (!blocks && p->pos == at_line) end_of_line(p);
    if ((!blocks || !s) && p->pos == at_line) next_line(p);
    if (!s && p->errors > before) { /* skips what belongs to a line that could not be read */
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
void parse_block(struct parser *p, int parent_indent, struct block *b) {
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
