/* The basis of all C printers: their state while one function is printed, lines of text, names in scope. See
 * c_int.h. */
#include "codegen/c_int.h"
#include <string.h>

void c_start(struct fe *f, struct ctx *c, const struct emit_options *o, const struct dialect *d) {
    *f = (struct fe){.c = c, .d = d, .o = o, .u = o->uses, .idx = d->index, .width = 1};
    names_init(&f->names, c);
    f->names.avoid = o->prefix;
    f->vars.arena = f->syms.arena = f->bufs.arena = f->regs.arena = f->safe.arena = &c->arena;
    for (int k = 0; k <= MAX_LANES_LOG; k++) f->dep[k].arena = &c->arena;
}
void c_put(struct fe *f, const char *line) { c_line(f, "%s", line); }
void c_line(struct fe *f, const char *fmt, ...) {
    va_list ap;
    emit_indent(f->out, f->depth);
    va_start(ap, fmt);
    text_vprintf(f->out, fmt, ap);
    va_end(ap);
    text_char(f->out, '\n');
}
const char *paren(struct fe *f, struct piece v, enum prec most) { return piece_text(&f->c->arena, v, most); }

/* ---- names */
const char *c_ref(struct fe *f, struct sym_name *n) {
    n->used = true;
    if (n->level < f->level) {
        for (int i = 0; i < f->captures->n; i++)
            if (f->captures->v[i] == n) return n->name;
        PUSH(&f->c->arena, f->captures, n);
    }
    return n->name;
}
struct sym_name *c_declare(struct fe *f, const char *base, const char *decl) {
    struct sym_name *n = NEW(&f->c->arena, struct sym_name);
    n->name = names_add(&f->names, base);
    n->decl = decl;
    n->level = f->level;
    n->place = ++f->declared;
    return n;
}
const char *emit_proc_name(struct ctx *c, const struct proc *p, const struct emit_options *o) {
    const char *n = map_get(&o->uses->procs, PKEY(p));
    if (!n) {
        n = names_add(&o->uses->globals, internf(c->names, "%s%s", o->prefix ? o->prefix : "", p->name));
        map_put(&o->uses->procs, PKEY(p), (void *)n);
    }
    return n;
}
struct regs *c_regs(struct fe *f, const struct buf *b) {
    struct regs *r = map_get(&f->regs, PKEY(b));
    return r && !r->array ? r : NULL;
}
struct piece c_applied(struct fe *f, const char *fn, struct piece v) {
    return piece_of(format(f->c, "%s(%s)", fn, v.s), P_ATOM);
}
struct piece c_converted(struct fe *f, const char *type, struct piece v) {
    return piece_of(format(f->c, "(%s)%s", type, paren(f, v, P_UNARY)), P_UNARY);
}
struct piece c_chosen(struct fe *f, struct piece cond, struct piece a, struct piece b) {
    return piece_of(format(f->c, "%s ? %s : %s", paren(f, cond, P_OR), paren(f, a, P_OR), paren(f, b, P_COND)), P_COND);
}
const char *c_loop_name(const struct var *v) {
    const char *dot = strrchr(v->name, '.');
    return dot ? dot + 1 : v->name;
}
