/* Prints the loop IR as text. loop_parse.c reads it back; grammar and examples: docs/loop-ir.md. The text is canonical:
 * it depends on what a module is, not on ids, so printing what was parsed gives the same bytes again. */
#include "ir/base/checked.h"
#include "ir/expr/print.h"
#include "ir/loop/foreign.h"
#include "ir/loop/kinds.h"
#include "ir/loop/loop.h"
#include "ir/loop/target.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DATA_MAX = 256, LINE_MAX_CHARS = 110 };

/* ---- names: unique among what is visible; a loop variable is called by the last part of its loop's name */
struct given {
    const char *name;
    int rank;
    bool visible;
};
struct printer {
    struct text *t;
    struct ctx *c;
    struct map given; /* PKEY(var or sym) -> struct given */
    struct map taken; /* PKEY(interned name) -> how many visible things have it, + 1 */
    int depth_of_vars;
    struct expr_printer x;
};
static intptr_t taken(struct printer *p, const char *name) {
    intptr_t n = (intptr_t)map_get(&p->taken, PKEY(name));
    return n ? n - 1 : 0;
}
static void take(struct printer *p, const char *name, int by) {
    map_put(&p->taken, PKEY(name), (void *)(taken(p, name) + by + 1));
}
static const char *unique(struct printer *p, const char *name) {
    name = intern(p->c->names, name);
    const char *s = name;
    for (int k = 2; taken(p, s); k++) s = internf(p->c->names, "%s_%d", name, k);
    take(p, s, 1);
    return s;
}
/* "acc.ow" -> "ow", as an identifier */
static const char *short_name(struct printer *p, const char *name) {
    const char *dot = strrchr(name, '.');
    char *s = arena_printf(&p->c->arena, "%s", dot && dot[1] ? dot + 1 : name);
    for (char *q = s; *q; q++)
        if (!in_word(*q)) *q = '_';
    return is_plain_name(s) ? s : arena_printf(&p->c->arena, "v_%s", s);
}
static struct given *give(struct printer *p, const void *key, const char *name) {
    struct given *g = NEW(&p->c->arena, struct given);
    *g = (struct given){name, 0, true};
    map_put(&p->given, PKEY(key), g);
    return g;
}
static const char *push_var(struct printer *p, const struct var *v) {
    struct given *g = give(p, v, unique(p, short_name(p, v->name)));
    g->rank = ++p->depth_of_vars;
    return g->name;
}
static void pop_var(struct printer *p, const struct var *v) {
    struct given *g = map_get(&p->given, PKEY(v));
    take(p, g->name, -1);
    g->visible = false;
    p->depth_of_vars--;
}
/* Symbols in a buffer's map are printed beside the dims d0, d1 ...; quotes distinguish them. */
static bool looks_like_dim(const char *s) { return s[0] == 'd' && s[1] && !s[1 + strspn(s + 1, "0123456789")]; }
static const char *sym_text(struct printer *p, const char *name) {
    struct text t = {0};
    if (looks_like_dim(name)) print_quoted(&t, name);
    else print_name(&t, name);
    const char *s = internn(p->c->names, t.s, t.n);
    text_free(&t);
    return s;
}
static const char *const arg_names[] = {"x", "y", "z", "w"}; /* of functions */
static const char *name_of(void *env, expr e) {
    struct printer *p = env;
    if (e->op == X_ARG) return e->u.i >= 0 && e->u.i < 4 ? arg_names[e->u.i] : "poison";
    struct given *g = map_get(&p->given, e->op == X_VAR ? PKEY(e->u.var) : PKEY(e->u.sym));
    if (g && g->visible) return e->op == X_VAR ? g->name : sym_text(p, g->name);
    if (e->op == X_VAR) return internf(p->c->names, "%s$%d", short_name(p, e->u.var->name), e->u.var->id);
    return sym_text(p, e->u.sym->name);
}
static int rank_of(void *env, const struct var *v) {
    struct given *g = map_get(&((struct printer *)env)->given, PKEY(v));
    return g && g->visible ? g->rank : 1000000;
}
static void printer_init(struct printer *p, struct text *t, struct ctx *c) {
    *p = (struct printer){.t = t, .c = c, .given = {.arena = &c->arena}, .taken = {.arena = &c->arena}};
    p->x = (struct expr_printer){.t = t, .name_of = name_of, .rank_of = rank_of, .env = p};
}
static void print_expr(struct printer *p, expr e, enum prec most) {
    if (e) expr_print(&p->x, e, most);
    else text_add(p->t, "poison");
}
static void print_list(struct printer *p, const expr *e, int n) {
    text_char(p->t, '[');
    for (int k = 0; k < n; k++) {
        if (k) text_char(p->t, ',');
        print_expr(p, e[k], P_COND);
    }
    text_char(p->t, ']');
}
static void print_bound(struct text *t, int64_t v) {
    if (v == POS_INF || v == NEG_INF) text_add(t, v > 0 ? "inf" : "-inf");
    else text_printf(t, "%lld", (long long)v);
}

/* ---- buffers */
/* type[dims] word, then whatever is not the default: base, pad, fill, layout */
static void print_layout(struct printer *p, const struct buf *b, const char *word) {
    text_add(p->t, dtype_name(b->type));
    print_list(p, b->dims, b->nd);
    if (word) text_printf(p->t, " %s", word);
    if (b->base != b->name) {
        text_add(p->t, " base ");
        print_name(p->t, b->base);
    }
    if (b->pad) {
        text_add(p->t, " pad [");
        for (int k = 0; k < b->nd; k++) text_printf(p->t, "%s%lld", k ? "," : "", (long long)b->pad[k]);
        text_char(p->t, ']');
    }
    for (int k = 0, n = 0; k < b->nd; k++)
        if (buf_is_apart(b, k)) text_printf(p->t, n++ ? ",%d" : " apart [%d", k);
    if (b->apart) text_char(p->t, ']');
    if (b->fill) {
        text_add(p->t, " fill ");
        print_expr(p, b->fill, P_COND);
    }
    if (b->within) text_printf(p->t, " within %lld..%lld", (long long)b->within[0], (long long)b->within[1]);
    if (buf_layout_is_plain(b)) return;
    text_add(p->t, " logical ");
    print_list(p, b->logical, b->nlogical);
    for (int k = 0; k < b->nlogical; k++) {
        struct given *g = give(p, b->lvar[k], internf(p->c->names, "d%d", k));
        g->rank = k;
    }
    text_add(p->t, " map ");
    print_list(p, b->map, b->nd);
}
static void print_decl(struct printer *p, const struct buf *b, const char *word) {
    print_name(p->t, b->name);
    text_add(p->t, ": ");
    print_layout(p, b, word);
}
static void print_element(struct text *t, const struct tensor *d, int64_t k) {
    if (d->type == STR) {
        struct text s = {0};
        text_addn(&s, d->strs[k].p, d->strs[k].n);
        text_add(&s, "");
        print_quoted(t, s.s);
        text_free(&s);
    } else if (d->type == F64) text_f64(t, tensor_f(d, k));
    else if (dtype_is_float(d->type)) text_f32(t, (float)tensor_f(d, k));
    else if (d->type == U64) text_printf(t, "%llu", (unsigned long long)tensor_i(d, k));
    else text_printf(t, "%lld", (long long)tensor_i(d, k));
}
static void print_data(struct text *t, const struct tensor *d) {
    bool splat = d && d->source == TS_SPLAT;
    int64_t n = !d ? 0 : splat ? 1 : tensor_count(d);
    if (!d || dtype_is_complex(d->type) || n > DATA_MAX) {
        text_add(t, " ...");
        return;
    }
    text_add(t, splat ? " = splat " : " = {");
    for (int64_t k = 0; k < n; k++) {
        if (k) text_add(t, ", ");
        print_element(t, d, k);
    }
    if (!splat) text_char(t, '}');
}

/* ---- statements */
static void print_block(struct printer *p, const struct block *b, int depth);

struct roots {
    struct ctx *c;
    VEC(expr) v;
};
static void collect(void *env, expr e) {
    struct roots *r = env;
    PUSH(&r->c->arena, &r->v, e);
}
/* let lines of a statement with very large expressions */
static void print_lets(struct printer *p, struct let_plan *plan, int depth) {
    p->x.lets = &plan->names;
    for (int k = 0; k < plan->order.n; k++) {
        text_indent(p->t, depth);
        const char *name = unique(p, internf(p->c->names, "t%d", k + 1));
        text_printf(p->t, "let %s = ", name);
        print_expr(p, plan->order.v[k], P_COND);
        text_char(p->t, '\n');
        map_put(&plan->names, PKEY(plan->order.v[k]), (void *)name);
    }
}
static void end_lets(struct printer *p, struct let_plan *plan) {
    for (int k = 0; k < plan->order.n; k++) take(p, map_get(&plan->names, PKEY(plan->order.v[k])), -1);
    p->x.lets = NULL;
}
static void print_loop_name(struct text *t, const char *name) {
    bool raw = *name;
    for (const char *s = name; *s; s++) raw &= *s > ' ' && *s < 127 && *s != '"' && *s != '\\';
    if (raw) text_add(t, name);
    else print_quoted(t, name);
}
/* Called before the variable gets its name, because the extent does not see it. */
static const char *extent_text(struct printer *p, const struct var *v) {
    struct text t = {0};
    p->x.t = &t;
    print_expr(p, v->extent, P_ADD);
    p->x.t = p->t;
    return text_take(&t, &p->c->arena);
}
/* The variable is visible in the body only; the caller pops it after that. */
static void print_for(struct printer *p, const struct stmt *s) {
    struct text *t = p->t;
    const struct var *v = s->u.loop.var;
    const char *extent = extent_text(p, v), *name = push_var(p, v);
    text_printf(t, "for %s<%s", name, extent);
    if (s->u.loop.kind != LK_SERIAL) text_printf(t, " %s", loop_kind_name(s->u.loop.kind));
    if (s->u.loop.grain) text_printf(t, " grain %lld", (long long)s->u.loop.grain);
    if (s->u.loop.slices) text_printf(t, " slices %lld", (long long)s->u.loop.slices);
    if (s->u.loop.outline) text_add(t, " outline");
    if (s->u.loop.piped) text_add(t, " piped");
    if (s->u.loop.independent) text_add(t, s->u.loop.assumed ? " independent assumed" : " independent");
    if (strcmp(name, v->name)) {
        text_add(t, "  # ");
        print_loop_name(t, v->name);
    }
}
static void print_axes(struct printer *p, const struct var **v, int n) {
    text_char(p->t, '[');
    for (int k = 0; k < n; k++) {
        const char *extent = extent_text(p, v[k]), *name = push_var(p, v[k]);
        if (k) text_add(p->t, ", ");
        if (strcmp(name, v[k]->name)) {
            print_name(p->t, v[k]->name);
            text_add(p->t, " as ");
        }
        text_printf(p->t, "%s<%s", name, extent);
    }
    text_char(p->t, ']');
}
/* The value on the same line, or with let lines in a block below, where the axes are visible. */
static void print_stage(struct printer *p, const struct stmt *s, int depth) {
    text_add(p->t, "stage ");
    print_name(p->t, s->u.stage.buf->name);
    print_axes(p, s->u.stage.axes, s->u.stage.naxes);
    if (s->u.stage.op != RED_NONE) {
        text_printf(p->t, " reduce %s ", red_op_name(s->u.stage.op));
        print_axes(p, s->u.stage.red, s->u.stage.nred);
    }
    expr roots[2] = {s->u.stage.value, s->u.stage.init};
    struct let_plan lets;
    let_plan_make(p->c, &p->x, &lets, roots, s->u.stage.init ? 2 : 1, false);
    bool block = lets.order.n > 0;
    if (block) {
        text_char(p->t, '\n');
        print_lets(p, &lets, depth + 1);
    }
    if (s->u.stage.init) {
        if (block) text_indent(p->t, depth + 1);
        text_add(p->t, block ? "init " : " init ");
        print_expr(p, s->u.stage.init, P_COND);
        if (block) text_char(p->t, '\n');
    }
    if (block) text_indent(p->t, depth + 1);
    text_add(p->t, block ? "return " : " = ");
    print_expr(p, s->u.stage.value, P_COND);
    end_lets(p, &lets);
    for (int k = s->u.stage.nred; k-- > 0;) pop_var(p, s->u.stage.red[k]);
    for (int k = s->u.stage.naxes; k-- > 0;) pop_var(p, s->u.stage.axes[k]);
}
static void print_size(struct printer *p, const struct stmt *s) {
    const struct sym *y = s->u.size.sym;
    struct given *g = map_get(&p->given, PKEY(y));
    text_printf(p->t, "size %s in ", sym_text(p, g ? g->name : y->name));
    print_expr(p, s->u.size.lo, P_ADD);
    text_add(p->t, "..");
    print_expr(p, s->u.size.hi, P_ADD);
    int64_t lo, hi, no;
    x_bounds(p->c, s->u.size.lo, &lo, &no);
    x_bounds(p->c, s->u.size.hi, &no, &hi);
    if (lo != y->lo || hi != y->hi) {
        text_add(p->t, " range ");
        print_bound(p->t, y->lo);
        text_add(p->t, "..");
        print_bound(p->t, y->hi);
    }
    text_add(p->t, " = ");
    print_expr(p, s->u.size.value, P_COND);
}
static const char *dir_name(enum param_dir d) { return d == DIR_IN ? "in" : d == DIR_OUT ? "out" : "inout"; }
static void print_origin(struct printer *p, const char *origin) {
    if (!origin) return;
    text_add(p->t, " @ ");
    print_quoted(p->t, origin);
}
static void print_call(struct printer *p, const struct stmt *s) {
    const struct proc *q = s->u.call.callee;
    text_add(p->t, "call ");
    print_name(p->t, q ? q->name : "?");
    text_char(p->t, '(');
    for (int k = 0; k < s->u.call.nbufs; k++) {
        text_printf(p->t, "%s%s ", k ? ", " : "", q && k < q->params.n ? dir_name(q->params.v[k].dir) : "inout");
        print_name(p->t, s->u.call.bufs[k]->name);
    }
    for (int k = 0; k < s->u.call.nargs; k++) {
        text_add(p->t, k ? ", " : "; ");
        print_expr(p, s->u.call.args[k], P_COND);
    }
    text_char(p->t, ')');
    print_origin(p, s->u.call.origin);
}
static void print_at(struct printer *p, const struct buf *b, expr off) {
    print_name(p->t, b->name);
    text_char(p->t, '+');
    print_expr(p, off, P_COND);
}
static void print_instr(struct printer *p, const struct stmt *s) {
    text_add(p->t, "instr ");
    print_name(p->t, s->u.instr.row->name);
    for (int k = 0; k < s->u.instr.n; k++) {
        text_add(p->t, k ? ", " : " ");
        print_name(p->t, s->u.instr.holes[k].hole);
        text_char(p->t, '=');
        print_at(p, s->u.instr.holes[k].buf, s->u.instr.holes[k].off);
    }
}
static void print_exprs(struct printer *p, const expr *e, int n, const char *first) {
    for (int k = 0; k < n; k++) {
        text_add(p->t, k ? ", " : first);
        print_expr(p, e[k], P_COND);
    }
}
static void print_foreign(struct printer *p, const struct stmt *s) {
    const struct foreign *f = s->u.foreign.fn;
    text_add(p->t, "foreign ");
    print_name(p->t, f->name);
    text_char(p->t, '(');
    for (int k = 0; k < s->u.foreign.nops; k++) {
        const struct foreign_operand *o = &s->u.foreign.ops[k];
        const struct foreign_param *q = foreign_param(f, false, k);
        text_printf(p->t, "%s%s ", k ? ", " : "", dir_name(q && q->use == FOREIGN_READ ? DIR_IN : DIR_OUT));
        print_name(p->t, o->buf->name);
        if (o->n) print_list(p, s->u.foreign.idx + o->first, o->n);
    }
    print_exprs(p, s->u.foreign.args, s->u.foreign.nargs, "; ");
    text_char(p->t, ')');
    print_exprs(p, s->u.foreign.grid, s->u.foreign.ngrid, " grid [");
    if (s->u.foreign.ngrid) text_char(p->t, ']');
}
static void print_check(struct printer *p, const struct stmt *s) {
    text_add(p->t, "check ");
    print_expr(p, s->u.check.cond, P_COND);
    text_add(p->t, " else ");
    print_name(p->t, s->u.check.fault ? s->u.check.fault : "");
    print_origin(p, s->u.check.origin);
}
static void print_store(struct printer *p, const struct stmt *s) {
    print_name(p->t, s->u.store.buf->name);
    print_list(p, s->u.store.idx, s->u.store.n);
    text_printf(p->t, " %s= ", red_op_name(s->u.store.op));
    print_expr(p, s->u.store.value, P_COND);
}
/* One `//` line per line of text; blanks at ends of lines do not survive, control characters are escaped. */
static void print_comment(struct text *t, const char *s, int depth) {
    for (;;) {
        size_t n = strcspn(s, "\n"), end = n;
        while (end && (s[end - 1] == ' ' || s[end - 1] == '\t' || s[end - 1] == '\r')) end--;
        size_t start = 0;
        while (start < end && s[start] == ' ') start++;
        text_indent(t, depth);
        text_add(t, "//");
        if (end > start) text_char(t, ' ');
        for (size_t k = start; k < end; k++) {
            unsigned char u = (unsigned char)s[k];
            if (u < 32 || u == 127) text_printf(t, "\\x%02x", u);
            else text_char(t, s[k]);
        }
        text_char(t, '\n');
        if (!s[n]) return;
        s += n + 1;
    }
}
static void print_line(struct printer *p, const struct stmt *s, int depth) {
    struct text *t = p->t;
    switch (s->kind) {
    case S_FOR: print_for(p, s); break;
    case S_STORE: print_store(p, s); break;
    case S_IF:
        text_add(t, "if ");
        print_expr(p, s->u.cond.cond, P_COND);
        break;
    case S_ALLOC:
        text_add(t, "alloc ");
        print_decl(p, s->u.alloc.buf, scope_name(s->u.alloc.buf->scope));
        break;
    case S_VIEW:
        text_add(t, "view ");
        print_decl(p, s->u.view.buf, scope_name(s->u.view.buf->scope));
        text_add(t, " of ");
        print_at(p, s->u.view.of, s->u.view.off);
        break;
    case S_FREE:
    case S_BIND:
        text_printf(t, "%s ", stmt_rows[s->kind].word);
        print_name(t, s->u.alloc.buf->name);
        break;
    case S_STAGE: print_stage(p, s, depth); break;
    case S_SIZE: print_size(p, s); break;
    case S_CALL: print_call(p, s); break;
    case S_WHILE:
        text_add(t, "while ");
        print_expr(p, s->u.loop_while.cond, P_COND);
        if (s->u.loop_while.max) {
            text_add(t, " max ");
            print_expr(p, s->u.loop_while.max, P_ADD);
        }
        break;
    case S_CHECK: print_check(p, s); break;
    case S_INSTR: print_instr(p, s); break;
    case S_BARRIER: text_add(t, "barrier"); break;
    case S_PREFETCH:
        text_add(t, "prefetch ");
        print_at(p, s->u.prefetch.buf, s->u.prefetch.off);
        break;
    case S_SWAP:
        text_add(t, "swap ");
        print_name(t, s->u.swap.a->name);
        text_add(t, ", ");
        print_name(t, s->u.swap.b->name);
        break;
    case S_FOREIGN: print_foreign(p, s); break;
    case S_COMMENT: break; /* lines of its own */
    }
    text_char(t, '\n');
}
static void print_stmt(struct printer *p, const struct stmt *s, int depth) {
    if (s->kind == S_COMMENT) {
        print_comment(p->t, s->u.comment.text ? s->u.comment.text : "", depth);
        return;
    }
    struct roots roots = {p->c, {0}};
    if (s->kind != S_STAGE) stmt_exprs(s, collect, &roots);
    struct let_plan lets;
    let_plan_make(p->c, &p->x, &lets, roots.v.v, roots.v.n, false);
    print_lets(p, &lets, depth);
    text_indent(p->t, depth);
    print_line(p, s, depth);
    end_lets(p, &lets);
    const struct block *in;
    for (int k = 0; (in = stmt_block(s, k)); k++) {
        if (k) {
            if (!in->first) break;
            text_indent(p->t, depth);
            text_add(p->t, "else\n");
        }
        print_block(p, in, depth + 1);
    }
    if (s->kind == S_FOR) pop_var(p, s->u.loop.var);
}
static void print_block(struct printer *p, const struct block *b, int depth) {
    for (const struct stmt *s = b->first; s; s = s->next) print_stmt(p, s, depth);
}

/* ---- procedures */
static bool name_sizes(void *env, const struct stmt *s) {
    struct printer *p = env;
    if (s->kind == S_SIZE && !map_get(&p->given, PKEY(s->u.size.sym)))
        give(p, s->u.size.sym, unique(p, s->u.size.sym->name));
    return true;
}
/* Sizes of results that are found at run time: their `size` statements come after the parameters that use them. */
struct found_sizes {
    struct ctx *c;
    const struct proc *q;
    VEC(const struct sym *) v;
};
static bool note_found(void *env, expr e) {
    struct found_sizes *f = env;
    if (e->op != X_SYM) return true;
    for (int k = 0; k < f->q->syms.n; k++)
        if (f->q->syms.v[k] == e->u.sym) return true;
    for (int k = 0; k < f->v.n; k++)
        if (f->v.v[k] == e->u.sym) return true;
    PUSH(&f->c->arena, &f->v, e->u.sym);
    return true;
}
static void print_sym(struct printer *p, const struct sym *y, const char *before) {
    struct given *g = map_get(&p->given, PKEY(y));
    text_printf(p->t, "%s%s", before, sym_text(p, g ? g->name : y->name));
    int64_t typical = y->produced ? 0 : y->ref;
    if (y->lo == 0 && y->hi == INT32_MAX && !typical) return;
    text_add(p->t, " in ");
    print_bound(p->t, y->lo);
    text_add(p->t, "..");
    print_bound(p->t, y->hi);
    if (typical) text_printf(p->t, "@%lld", (long long)typical);
}
static void print_header(struct printer *p, const struct proc *q, const char *between) {
    print_name(p->t, q->name);
    text_char(p->t, '(');
    for (int k = 0; k < q->params.n; k++) {
        text_add(p->t, k ? between : *between == ',' && between[1] == ' ' ? "" : between + 1);
        print_decl(p, q->params.v[k].buf, dir_name(q->params.v[k].dir));
    }
    text_char(p->t, ')');
    struct found_sizes found = {p->c, q, {0}};
    for (int k = 0; k < q->params.n; k++)
        for (int d = 0; d < q->params.v[k].buf->nlogical; d++)
            x_visit_with(q->params.v[k].buf->logical[d], XF_PRODUCED, note_found, &found);
    for (int k = 0; k < q->syms.n; k++) print_sym(p, q->syms.v[k], k ? ", " : " [");
    for (int k = 0; k < found.v.n; k++) print_sym(p, found.v.v[k], k || q->syms.n ? ", out " : " [out ");
    text_add(p->t, q->syms.n || found.v.n ? "]\n" : "\n");
}
/* The names of a procedure's buffers and symbols, before any of its text is printed. */
static void enter_proc(struct printer *p, const struct proc *q) {
    for (int k = 0; k < q->bufs.n; k++) take(p, intern(p->c->names, q->bufs.v[k]->name), 1);
    for (int k = 0; k < q->syms.n; k++) give(p, q->syms.v[k], unique(p, q->syms.v[k]->name));
    survey(&q->body, name_sizes, p);
}
static void print_launch(struct printer *p, const struct launch *l) {
    if (!l) return;
    text_add(p->t, "  launch");
    if (l->grid) {
        text_add(p->t, " blocks ");
        print_list(p, l->blocks, 3);
        text_printf(p->t, " threads [%lld,%lld,%lld]", (long long)l->threads[0], (long long)l->threads[1],
                    (long long)l->threads[2]);
    }
    text_char(p->t, '\n');
}
static void print_proc(struct text *t, struct ctx *c, const struct proc *q, bool entry) {
    struct printer p;
    printer_init(&p, t, c);
    enter_proc(&p, q);
    if (q->comment) print_comment(t, q->comment, 0);
    text_printf(t, "%s%sproc ", entry ? "entry " : "", q->is_kernel_text ? "kernel " : "");
    size_t start = t->n;
    print_header(&p, q, ", ");
    if (t->n - start > LINE_MAX_CHARS && q->params.n > 1) {
        t->n = start;
        print_header(&p, q, ",\n    ");
    }
    print_launch(&p, q->launch);
    for (int k = 0; k < q->steps.n; k++) text_printf(t, "  step %s\n", q->steps.v[k]);
    for (int k = 0; k < q->todo.n; k++) text_printf(t, "  todo %s\n", q->todo.v[k]);
    for (int k = 0; k < q->bufs.n; k++) {
        const struct buf *b = q->bufs.v[k];
        if (b->scope != SC_CONST) continue;
        text_add(t, "  const ");
        print_decl(&p, b, NULL);
        print_data(t, b->data);
        text_char(t, '\n');
    }
    print_block(&p, &q->body, 1);
}
void proc_print(struct text *out, struct ctx *c, const struct proc *p) { print_proc(out, c, p, false); }

void buf_print(struct text *out, struct ctx *c, const struct proc *p, const struct buf *b) {
    struct printer at;
    printer_init(&at, out, c);
    enter_proc(&at, p);
    print_layout(&at, b, NULL);
}

/* ---- single lines, for diagnostics */
static void enter_loops(struct printer *p, const struct stmt *s) {
    if (!s) return;
    enter_loops(p, stmt_parent(s));
    if (s->kind == S_FOR) push_var(p, s->u.loop.var);
}
/* Inside q, in the body of `at` (NULL: outside of all loops). */
static void printer_at(struct printer *p, struct text *t, struct ctx *c, const struct proc *q, const struct stmt *at) {
    printer_init(p, t, c);
    enter_proc(p, q);
    enter_loops(p, at);
}
static const char *cut_text(struct ctx *c, struct text *t) {
    enum { CUT = 120 };
    text_add(t, "");
    size_t n = t->n;
    while (n && t->s[n - 1] == '\n') n--;
    const char *s = arena_printf(&c->arena, "%.*s%s", (int)(n > CUT ? CUT : n), t->s, n > CUT ? " ..." : "");
    text_free(t);
    return s;
}
const char *stmt_text(struct ctx *c, const struct proc *q, const struct stmt *s) {
    struct text t = {0};
    struct printer p;
    printer_at(&p, &t, c, q, stmt_parent(s));
    print_line(&p, s, 0);
    return cut_text(c, &t);
}
const char *expr_text(struct ctx *c, const struct proc *q, const struct stmt *s, expr e) {
    struct text t = {0};
    struct printer p;
    printer_at(&p, &t, c, q, s);
    for (int k = 0; s && s->kind == S_STAGE && k < s->u.stage.naxes; k++) push_var(&p, s->u.stage.axes[k]);
    for (int k = 0; s && s->kind == S_STAGE && k < s->u.stage.nred; k++) push_var(&p, s->u.stage.red[k]);
    print_expr(&p, e, P_COND);
    return cut_text(c, &t);
}

/* ---- functions and modules */
static void print_fn_def(struct text *t, struct ctx *c, const struct fn *f) {
    struct printer p;
    printer_init(&p, t, c);
    text_add(t, "fn ");
    if (is_builtin_fn(f->name)) print_quoted(t, f->name);
    else print_name(t, f->name);
    text_char(t, '(');
    for (int k = 0; k < f->nargs; k++) text_printf(t, "%s%s: %s", k ? ", " : "", arg_names[k], dtype_name(f->args[k]));
    text_printf(t, "): %s%s", dtype_name(f->type), f->noinline ? " noinline" : "");
    struct let_plan lets;
    let_plan_make(c, &p.x, &lets, &f->body, 1, true);
    text_add(t, lets.order.n ? "\n" : " = ");
    print_lets(&p, &lets, 1);
    if (lets.order.n) text_add(t, "  return ");
    print_expr(&p, f->body, P_COND);
    text_char(t, '\n');
}
struct fn_printer {
    struct text *t;
    struct ctx *c;
    struct map done;
};
static bool print_called(void *env, expr e);
static void print_fn_once(struct fn_printer *f, const struct fn *fn) {
    if (map_get(&f->done, PKEY(fn))) return;
    map_put(&f->done, PKEY(fn), (void *)fn);
    if (!fn->body) return;
    x_visit_with(fn->body, XF_CALL, print_called, f);
    print_fn_def(f->t, f->c, fn);
}
static bool print_called(void *env, expr e) {
    if (e->op == X_CALL) print_fn_once(env, e->u.fn);
    return true;
}
static void called_in_expr(void *env, expr e) { x_visit_with(e, XF_CALL, print_called, env); }
static bool called_in_stmt(void *env, const struct stmt *s) {
    stmt_exprs(s, called_in_expr, env);
    return true;
}
void loop_print(struct text *out, const struct module *m) {
    struct fn_printer f = {out, m->ctx, {.arena = &m->ctx->arena}};
    for (int k = 0; k < m->fns.n; k++) print_fn_once(&f, m->fns.v[k]);
    for (int k = 0; k < m->procs.n; k++) survey(&m->procs.v[k]->body, called_in_stmt, &f);
    if (m->entry) survey(&m->entry->body, called_in_stmt, &f);
    for (int k = 0; k < m->procs.n; k++) {
        if (m->procs.v[k] == m->entry) continue;
        if (out->n) text_char(out, '\n');
        print_proc(out, m->ctx, m->procs.v[k], false);
    }
    if (!m->entry) return;
    if (out->n) text_char(out, '\n');
    holders_print(out, "takes", &m->taken, print_quoted);
    holders_print(out, "gives", &m->given, print_quoted);
    print_proc(out, m->ctx, m->entry, true);
}
