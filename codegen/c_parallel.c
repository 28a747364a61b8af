/* A parallel loop as C: a function that runs some of its iterations, a structure of the values they share, and the call
 * that passes both to the caller's threads (runtime_stub/nn_threads.h). Also loops whose body is a function. */
#include "codegen/c_int.h"
#include <string.h>

/* A text for each name that the function captures; restrict only for a pointer that is the only one into its buffer. */
static const char *each_captured(struct fe *f, const struct name_list *v,
                                 const char *(*one)(struct fe *f, struct sym_name *n, bool alone)) {
    const char *all = "";
    for (int i = 0; i < v->n; i++) {
        bool alone = v->v[i]->buf != NULL;
        for (int k = 0; k < v->n; k++) alone = alone && (k == i || v->v[k]->buf != v->v[i]->buf);
        all = format(f->c, "%s%s", all, one(f, v->v[i], alone));
    }
    return all;
}
static const char *list_of(struct fe *f, const struct name_list *v,
                           const char *(*one)(struct fe *f, struct sym_name *n, bool alone)) {
    const char *all = each_captured(f, v, one);
    return format(f->c, "%.*s", v->n ? (int)strlen(all) - 2 : 0, all); /* without the last comma */
}
static const char *as_member(struct fe *f, struct sym_name *n, bool alone) {
    (void)alone;
    return format(f->c, "    %s%s;\n", n->decl, n->name);
}
static const char *as_param(struct fe *f, struct sym_name *n, bool alone) {
    return format(f->c, "%s%s%s, ", n->decl, alone ? "restrict " : "", n->name);
}
static const char *as_arg(struct fe *f, struct sym_name *n, bool alone) {
    (void)alone;
    if (n == f->fault) return "&fault, ";
    return n == f->ws ? format(f->c, "(unsigned char *)s->%s + k * s->nn_cut.bytes, ", n->name)
                      : format(f->c, "s->%s, ", n->name);
}
static const char *as_value(struct fe *f, struct sym_name *n, bool alone) {
    (void)alone;
    return format(f->c, "%s, ", c_ref(f, n));
}
/* The loop from `begin` to `end`, as the body of a function; `from` gets what it captures. */
static const char *loop_text(struct fe *f, const struct stmt *s, struct name_list *from, const char *begin,
                             const char *end) {
    const struct var *outer = f->loop, *tile = f->tile;
    const struct instr_row *held = f->held;
    struct text body = {0}, *was = f->out;
    struct name_list *was_captures = f->captures;
    int depth = f->depth;
    f->captures = from, f->out = &body, f->depth = 1, f->level++, f->held = NULL;
    const char *n = c_declare_var(f, s->u.loop.var);
    c_line(f, "for (%s %s = %s; %s < %s; %s++) {", f->idx, n, begin, n, end, n);
    f->depth++;
    f->loop = s->u.loop.var;
    c_body(f, s);
    f->loop = outer, f->tile = tile;
    f->depth--;
    c_put(f, "}");
    const char *text = format(f->c, "%s", c_holding(f, body.s));
    f->captures = was_captures, f->out = was, f->depth = depth, f->level--, f->held = held;
    text_free(&body);
    return text;
}
/* Runs part of the loop: iterations, or slices of them with separate scratch memory. */
static void print_part(struct fe *f, const struct stmt *loop, const char *part, const char *name,
                       const struct name_list *from) {
    bool faults = stmt_may_fault(loop); /* each part has its own flag */
    const char *args = each_captured(f, from, as_arg);
    text_printf(f->outlined,
                "static void %s(const void *shared, ptrdiff_t begin, ptrdiff_t end) {\n"
                "    const struct %s *s = (const struct %s *)shared;\n%s",
                part, name, name, faults ? "    int fault = 0;\n" : "");
    if (loop->u.loop.slices)
        text_printf(f->outlined,
                    "    for (ptrdiff_t k = begin; k < end; k++)\n"
                    "        %s(%snn_slice_begin(&s->nn_cut, k), nn_slice_begin(&s->nn_cut, k + 1));\n",
                    name, args);
    else text_printf(f->outlined, "    %s(%sbegin, end);\n", name, args);
    text_printf(f->outlined, "%s}\n\n", faults ? "    if (fault) nn_note_fault(s->fault);\n" : "");
}
void c_print_parallel(struct fe *f, const struct stmt *s) {
    const char *loop = c_loop_name(s->u.loop.var);
    const char *name = names_add(&f->u->globals, format(f->c, "%s_%s", f->fname, loop));
    const char *part = names_add(&f->u->globals, format(f->c, "%s_part", name));
    const char *n = c_text(f, s->u.loop.var->extent, true), *sliced = s->u.loop.slices ? "    nn_sliced nn_cut;\n" : "";
    long long grain = s->u.loop.grain ? s->u.loop.grain : 1;
    struct name_list from = {0};
    int mark = names_mark(&f->names);
    const char *begin = names_add(&f->names, "begin"), *end = names_add(&f->names, "end");
    const char *body = loop_text(f, s, &from, begin, end);
    names_leave(&f->names, mark);
    text_printf(f->outlined, "struct %s {\n%s%s};\nstatic void %s(%s%s %s, %s %s) {\n%s}\n", name,
                each_captured(f, &from, as_member), sliced, name, each_captured(f, &from, as_param), f->idx, begin,
                f->idx, end, body);
    print_part(f, s, part, name, &from);
    const char *values = list_of(f, &from, as_value), *shared = names_add(&f->names, format(f->c, "%s_shared", loop));
    if (s->u.loop.slices) {
        const char *bytes = c_text(f, block_scratch(f->c, f->p, &s->u.loop.body), true);
        values = format(f->c, "%s, nn_slice(%s, %lld, %lld, %s)", values, n, grain, (long long)s->u.loop.slices, bytes);
        n = format(f->c, "%s.nn_cut.slices", shared), grain = 1;
    }
    c_line(f, "const struct %s %s = {%s};", name, shared, values);
    c_line(f, "nn_share(%s, %s, %lld, %s, &%s);", c_ref(f, f->pool), n, grain, part, shared);
    f->u->threads = true;
}
void c_print_outlined(struct fe *f, const struct stmt *s) {
    struct name_list from = {0}, *was_captures = f->captures;
    const struct instr_row *held = f->held;
    struct text body = {0}, *was = f->out;
    int depth = f->depth;
    f->captures = &from, f->out = &body, f->depth = 1, f->level++, f->held = NULL;
    c_body(f, s);
    const char *inside = c_holding(f, body.s);
    f->captures = was_captures, f->out = was, f->depth = depth, f->level--, f->held = held;
    const char *name = names_add(&f->u->globals, format(f->c, "%s_%s", f->fname, c_loop_name(s->u.loop.var)));
    text_printf(f->outlined, "static %svoid %s(%s) {\n%s}\n\n", emit_gnu(f->o) ? "__attribute__((noinline)) " : "",
                name, from.n ? list_of(f, &from, as_param) : "void", inside);
    text_free(&body);
    c_line(f, "%s(%s);", name, list_of(f, &from, as_value));
}
