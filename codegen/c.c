/* One procedure of the loop IR as a C function: head, tables of constants, comment, body. Prints kernels as the passes
 * left them (lower/passes/); differences for CUDA are in cuda.c.
 *
 * Register buffers become variables (c_regs.c), blocks are printed (c_stmt.c) with their expressions (c_expr.c),
 * pointers (c_ptrs.c) and memory (c_mem.c). */
#include "codegen/c_int.h"
#include "lower/passes/literals.h"
#include <string.h>

enum { NODE_LINES = 24 }; /* lines for nodes in a kernel's comment */

/* ---- heads */
void c_head(struct text *out, struct fe *f, const struct proc *p, const char *head, const char *first) {
    int n = first != NULL;
    text_printf(out, "%s%s", head, first ? first : "");
    for (int i = 0; i < p->params.n; i++, n++) {
        struct buf *b = p->params.v[i].buf;
        struct sym_name *s = c_declare(
            f, b->name, format(f->c, "%s%s *", p->params.v[i].dir == DIR_IN ? "const " : "", dtype_c(b->type)));
        s->buf = b;
        map_put(&f->bufs, PKEY(b), s);
        text_printf(out, "%s%s%s %s", n ? ", " : "", s->decl, emit_words(f->o)->restricted, s->name);
    }
    for (int i = 0; i < p->syms.n; i++, n++) {
        struct sym_name *s = c_declare(f, p->syms.v[i]->name, format(f->c, "%s ", f->idx));
        map_put(&f->syms, PKEY(p->syms.v[i]), s);
        text_printf(out, "%s%s%s", n ? ", " : "", s->decl, s->name);
    }
    f->ws = NEW(&f->c->arena, struct sym_name);
    f->ws->name = "ws", f->ws->decl = "void *";
    if (!x_is(scratch_bytes(f->c, p), 0))
        text_printf(out, "%svoid *%s ws", n++ ? ", " : "", emit_words(f->o)->restricted);
    f->fault = NEW(&f->c->arena, struct sym_name);
    f->fault->name = "fault", f->fault->decl = "int *";
    if (proc_may_fault(p)) text_printf(out, "%sint *fault", n++ ? ", " : "");
    f->pool = NEW(&f->c->arena, struct sym_name);
    f->pool->name = "threads", f->pool->decl = "nn_threads *";
    if (proc_is_parallel(p)) text_printf(out, "%snn_threads *threads", n++ ? ", " : "");
    text_add(out, n ? ")" : "void)");
}
static void unused(struct text *out, const struct sym_name *n) {
    if (!n->used) text_printf(out, "    (void)%s;\n", n->name);
}
void c_unused(struct text *out, struct fe *f) {
    const struct proc *p = f->p;
    for (int i = 0; i < p->params.n; i++) unused(out, map_get(&f->bufs, PKEY(p->params.v[i].buf)));
    for (int i = 0; i < p->syms.n; i++) unused(out, map_get(&f->syms, PKEY(p->syms.v[i])));
    if (proc_may_fault(p)) unused(out, f->fault);
    if (!x_is(scratch_bytes(f->c, p), 0)) unused(out, f->ws);
}
const struct dialect *c_dialect_of(const struct emit_options *o) { return emit_cuda(o) ? &cuda_dialect : &c_dialect; }
const char *c_linkage(struct ctx *c, const char *name, const struct emit_options *o) {
    return format(c, "%svoid %s(", o->external ? "" : "static ", name);
}
void emit_proc_head(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o) {
    struct fe f;
    c_start(&f, c, o, c_dialect_of(o));
    f.p = p;
    c_head(out, &f, p, c_linkage(c, emit_proc_name(c, p, o), o), emit_cuda(o) ? "void *stream" : NULL);
}

/* ---- functions */
/* A table of constants, in physical order. */
static void const_table(struct text *out, struct fe *f, const struct buf *b) {
    int64_t n;
    const union cell *v = const_cells(f->c, b, &n);
    struct sym_name *s = NEW(&f->c->arena, struct sym_name);
    s->name = names_add(&f->u->globals, format(f->c, "%s_%s", f->fname, b->name));
    s->buf = b;
    map_put(&f->bufs, PKEY(b), s);
    c_add_ptr(f, b, s, 0, NULL, NULL);
    s->level = 1 << 20; /* file scope: visible everywhere, never captured */
    if (!v) BUG("constant %s has no data to print", b->name);
    text_printf(out, "%s %s %s[%lld] = {", emit_words(f->o)->table, dtype_c(b->type), s->name, (long long)n);
    enum dtype vt = dtype_value(b->type);
    size_t line = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *item =
            c_text(f, vt == F32 || vt == F64 ? x_const_f(f->c, vt, v[i].f) : x_const_i(f->c, vt, v[i].i), false);
        if (vt == F32 && b->type != F32)
            item = format(f->c, "0x%0*x", 2 * dtype_bytes(b->type), c_float_code(b->type, v[i].f));
        if (i == 0 || line > 100) text_add(out, "\n    "), line = 0;
        else text_char(out, ' ');
        text_printf(out, "%s,", item);
        line += strlen(item) + 2;
    }
    text_add(out, "\n};\n\n");
}
/* One line for each node; if many layers share a kernel, only the first ones. */
static void describe_nodes(struct text *out, const char *nodes) {
    int lines = 1, shown = 0;
    for (const char *s = nodes; (s = strchr(s, '\n')); s++) lines++;
    for (const char *s = nodes, *end; s && shown < NODE_LINES; s = *end ? end + 1 : NULL, shown++) {
        end = strchr(s, '\n') ? strchr(s, '\n') : s + strlen(s);
        struct text line = {0};
        text_addn(&line, s, (size_t)(end - s));
        text_add(out, shown ? "\n * " : "/* ");
        emit_comment_text(out, line.s ? line.s : "");
        text_free(&line);
    }
    if (lines > shown) text_printf(out, "\n * and %d more nodes", lines - shown);
}
static void describe(struct text *out, struct fe *f, const struct proc *p) {
    describe_nodes(out, p->comment ? p->comment : p->name);
    for (int i = 0; i < p->params.n; i++) {
        static const char *const dirs[] = {"in", "out", "in, out"};
        struct buf *b = p->params.v[i].buf;
        struct text t = {0};
        text_printf(&t, "%s: %s[", b->name, dtype_name(b->type));
        for (int k = 0; k < b->nd; k++) {
            text_add(&t, k ? ", " : "");
            x_print(&t, b->dims[k], NULL, NULL);
        }
        text_printf(&t, "] %s", dirs[p->params.v[i].dir]);
        text_add(out, "\n *   ");
        emit_comment_text(out, t.s);
        text_free(&t);
    }
    size_t at = 0;
    for (int i = 0; i < p->steps.n && !f->o->no_schedule; i++) {
        size_t n = strlen(p->steps.v[i]);
        if (i == 0) text_add(out, "\n * schedule: ");
        else if (at + n > 100) text_add(out, ";\n *   "), at = 0;
        else text_add(out, "; ");
        emit_comment_text(out, p->steps.v[i]);
        at += n + 2;
    }
    text_add(out, p->params.n || (p->steps.n && !f->o->no_schedule) ? "\n */\n" : " */\n");
}

void c_function(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o, const char *name,
                const char *function_head) {
    struct fe fe, *f = &fe;
    c_start(f, c, o, c_dialect_of(o));
    f->p = p;
    f->fname = name;
    f->threads = p->launch && p->launch->grid ? p->launch->threads : NULL;
    f->ws_top = x_int(c, 0);
    struct text head = {0}, body = {0}, outlined = {0}, tables = {0};
    f->outlined = &outlined;
    c_head(&head, f, p, function_head, NULL);
    for (int i = 0; i < p->params.n; i++) {
        struct buf *b = p->params.v[i].buf;
        c_add_ptr(f, b, map_get(&f->bufs, PKEY(b)), 0, NULL, NULL);
    }
    c_find_registers(f);
    f->out = &tables;
    for (int i = 0; i < p->bufs.n; i++)
        if (p->bufs.v[i]->scope == SC_CONST && proc_uses(p, p->bufs.v[i])) const_table(&tables, f, p->bufs.v[i]);
    f->out = &body;
    f->depth = 1;
    for (int i = 0; i < p->bufs.n; i++)
        if (is_local(p->bufs.v[i]) && !proc_allocs(p, p->bufs.v[i])) c_print_alloc(f, p->bufs.v[i], &p->body);
    int keep = f->ptrs.n;
    c_block(f, &p->body);
    f->ptrs.n = keep;
    text_add(out, tables.s ? tables.s : "");
    text_add(out, outlined.s ? outlined.s : "");
    describe(out, f, p);
    text_printf(out, "%s {\n", head.s);
    c_unused(out, f);
    text_add(out, c_holding(f, body.s));
    text_add(out, "}\n");
    text_free(&head), text_free(&body), text_free(&outlined), text_free(&tables);
}
void c_proc(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o) {
    const char *name = emit_proc_name(c, p, o);
    c_function(out, c, p, o, name, c_linkage(c, name, o));
}
