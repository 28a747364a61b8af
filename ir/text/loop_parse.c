/* Reads the text form of the loop IR (docs/loop-ir.md) into a module: functions, procedures, the whole. Recursive
 * descent over logical lines; the text is untrusted: nesting, sizes and names are checked, and after an error reading
 * goes on at the next line. What the text means is only partly checked here; loop_verify has the rules. Statements are
 * read by loop_parse_stmt.c, buffers by loop_parse_buf.c, expressions by loop_parse_expr.c. */
#include "ir/text/loop_lex.h"
#include <string.h>

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
    f->noinline = accept_word(p, "noinline");
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
        bool found = accept_word(p, "out"); /* by the run: its `size` statement is in the body */
        const char *name = parse_name(p, "a symbol");
        int64_t lo = 0, hi = INT32_MAX, typical = 0;
        if (!name) return;
        if (accept_word(p, "in")) {
            if (!parse_range(p, &lo, &hi) || (!found && accept(p, "@") && !parse_int64(p, &typical))) return;
        }
        if (lookup(p, name, false, true)) {
            parse_error(p, line, "symbol %s is declared twice", diag_quote(&p->c->arena, name));
            return;
        }
        if (found) {
            size_symbol(p, name, lo, hi, line);
            continue;
        }
        struct sym *y = sym_new(p->c, name, lo, hi, false);
        y->ref = typical;
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
    if ((q.buf = declare_buf(p, name, SC_PARAM, &g, line))) PUSH(&p->c->arena, &p->proc->params, q);
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
/* launch, or launch blocks [X, Y, Z] threads [X, Y, Z] */
static void parse_launch(struct parser *p) {
    if (!p->have || p->l.indent == 0 || !at_word(p, "launch")) return;
    struct launch *l = NEW(&p->c->arena, struct launch);
    accept_word(p, "launch");
    *l = (struct launch){accept_word(p, "blocks"), {x_int(p->c, 1), x_int(p->c, 1), x_int(p->c, 1)}, {1, 1, 1}};
    if (l->grid && expect(p, "[") && parse_indices(p, l->blocks, 3, NULL, NONE) != 3 && !p->failed)
        parse_error(p, p->l.number, "blocks has three numbers");
    if (l->grid && !p->failed) {
        if (!accept_word(p, "threads")) unexpected(p, "`threads`");
        for (int k = 0; k < 3 && !p->failed; k++)
            if (expect(p, k ? "," : "[") && parse_int64(p, &l->threads[k]) && l->threads[k] < 1)
                parse_error(p, p->l.number, "a block has at least one thread");
        if (!p->failed) expect(p, "]");
    }
    end_of_line(p);
    p->proc->launch = l;
    next_line(p);
}
static void parse_steps(struct parser *p) {
    for (; p->have && p->l.indent > 0 && peek2(p)->kind == T_END && p->l.nrest > 5; next_line(p)) {
        bool todo = at_word(p, "todo");
        if (!todo && !at_word(p, "step")) return;
        const char *s = internn(p->c->names, p->l.rest + 5, p->l.nrest - 5);
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
    for (int k = 0; k < p->m->procs.n; k++) { /* procedures are listed in the order of the text, except the entry */
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
    parse_launch(p);
    parse_steps(p);
    parse_block(p, 0, &q->body);
    unbind_to(p, top);
    p->proc = NULL;
}

/* ---- modules */
/* After `takes` or `gives`. */
static void parse_holder(struct parser *p, holders *to) {
    struct holder h = {.present = true};
    int64_t n = 0, first = 0;
    for (enum value_kind k = VALUE_SEQUENCE; k < VALUE_KINDS; k++)
        if (accept_word(p, value_kind_name(k))) h.kind = k;
    h.name = parse_name(p, "a name");
    h.asked = accept_word(p, "maybe");
    if (accept_word(p, "none")) h.present = false;
    else if (accept_word(p, "packed")) h.packed = true, n = 2 + h.asked;
    else if (!parse_int64(p, &n)) return;
    if (!accept_word(p, "at")) unexpected(p, "`at`");
    else if (parse_int64(p, &first)) {
        if (n < 0 || n > INT32_MAX || first < 0 || first > INT32_MAX) unexpected(p, "a place");
        h.n = (int)n, h.first = (int)first;
        PUSH(&p->c->arena, to, h);
        end_of_line(p);
    }
}
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
        if (accept_word(p, "takes") || accept_word(p, "gives")) {
            parse_holder(p, p->l.rest[0] == 't' ? &p->m->taken : &p->m->given);
            next_line(p);
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
    if (n && memchr(text, 0, n)) { /* steps and comments are kept as C strings */
        parse_error(&p, 1, "the text holds a NUL byte");
        return false;
    }
    next_line(&p);
    parse_top(&p);
    if (!p.errors) check_calls(&p);
    return !p.errors;
}
struct module *loop_parse(struct ctx *c, const char *text, size_t n, const char *file) {
    struct module *m = module_new(c);
    return loop_parse_into(c, m, text, n, file) ? m : NULL;
}
