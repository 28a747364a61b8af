/* The statements of the entry procedure as C: calls of kernels, sizes, checks, control flow. See entry_int.h. */
#include "codegen/entry_int.h"
#include <string.h>

/* A size as argument for the kernel's `of`; a long one gets a name for this and all later calls. */
static const char *call_arg(struct fe *f, expr e, const struct sym *of) {
    enum { SHORT = 6 }; /* nodes; not characters: code must not depend on the length of names */
    const char *n = map_get(&f->entry->args, PKEY(e)), *s = n ? n : run_expr(f, e, true, "size");
    if (n || e->op == X_CONST) return s;
    s = format(f->c, "(ptrdiff_t)%s", s);
    if (f->depth > 1 || x_count(e, SHORT + 1) <= SHORT || !size_is_input(e)) return s;
    n = names_add(&f->names, of->name);
    c_line(f, "const ptrdiff_t %s = %s;", n, s);
    map_put(&f->entry->args, PKEY(e), (void *)n);
    return n;
}
static void print_call(struct fe *f, const struct stmt *s) {
    const struct proc *q = s->u.call.callee;
    const char *args = f->entry->p->device ? "m->cuda.stream" : "", *scratch = NULL;
    int n = f->entry->p->device;
    for (int k = 0; k < s->u.call.nbufs; k++)
        args = format(f->c, "%s%s%s", args, n++ ? ", " : "", run_place(f, s->u.call.bufs[k])->text);
    for (int k = 0; k < s->u.call.nargs; k++)
        args = format(f->c, "%s%s%s", args, n++ ? ", " : "", call_arg(f, s->u.call.args[k], q->syms.v[k]));
    if (!x_is(scratch_bytes(f->c, q), 0)) {
        struct subst sub = call_sizes(f->c, q, s);
        expr bytes = x_subst(f->c, scratch_bytes(f->c, q), &sub);
        if (size_is_input(bytes)) {
            args = format(f->c, "%s%s%s", args, n++ ? ", " : "", run_scratch_address(f));
        } else {
            scratch = names_add(&f->names, "scratch");
            c_line(f, "void *%s = %s(&m->region, %s);", scratch, region_words(f->entry->p)->alloc,
                   run_expr(f, bytes, false, "scratch_bytes"));
            c_line(f, "if (!%s) return no_room(m);", scratch);
            args = format(f->c, "%s%s%s", args, n++ ? ", " : "", scratch);
        }
    }
    bool fault = proc_may_fault(q);
    const char *where = s->u.call.origin ? s->u.call.origin : q->comment ? q->comment : q->name;
    size_t line = strcspn(where, "\n");
    if (fault && f->entry->p->device) args = format(f->c, "%s, faults + %d", args, f->entry->faults);
    else if (fault) args = format(f->c, "%s%s&fault", args, n ? ", " : "");
    if (proc_is_parallel(q)) args = format(f->c, "%s%sm->config.threads", args, *args ? ", " : "");
    c_line(f, "%s(%s);", emit_proc_name(f->c, q, &f->entry->p->emit), args);
    if (fault && f->entry->p->device) { /* looked at in the end; until then, an index that faulted counts as 0 */
        f->entry->where = format(f->c, "%s%s%s", f->entry->where ? f->entry->where : "", f->entry->faults++ ? ", " : "",
                                 emit_message(f->c, internn(f->c->names, where, line)));
    } else if (fault) {
        f->entry->uses_fault = true;
        c_line(f, "if (fault) return nn_stop(&m->error, NN_EFAULT, \"an index or a size is out of range\", %s);",
               emit_message(f->c, internn(f->c->names, where, line)));
    }
    if (scratch) c_line(f, "%s(&m->region, %s);", region_words(f->entry->p)->free, scratch);
}
static void print_size(struct fe *f, const struct stmt *s) {
    const struct sym *y = s->u.size.sym;
    const char *n = program_sym(f->entry->p, y);
    bool over;
    c_line(f, "%s = %s;", n, run_text(f, s->u.size.value, false, &over));
    if (over) run_stop_if_over(f, y->name);
    const char *bad = "";
    expr lo = s->u.size.lo, hi = s->u.size.hi;
    if (lo && !x_proves_le(f->c, lo, s->u.size.value)) bad = format(f->c, "%s < %s", n, run_expr(f, lo, true, "least"));
    if (hi && !x_proves_le(f->c, s->u.size.value, hi))
        bad = format(f->c, "%s%s%s > %s", bad, *bad ? " || " : "", n, run_expr(f, hi, true, "most"));
    if (*bad)
        c_line(f, "if (%s) return nn_stop(&m->error, NN_EFAULT, %s, NULL);", bad,
               emit_message(f->c, format(f->c, "size %s is out of range", y->name)));
}
static void print_check(struct fe *f, const struct stmt *s) {
    expr e = s->u.check.cond;
    c_line(f, "if (!%s)", run_condition(f, e, true));
    const char *what = emit_message(f->c, s->u.check.fault), *where = emit_message(f->c, s->u.check.origin);
    if ((e->op == X_EQ || e->op == X_LT || e->op == X_LE) && e->arg[0]->type == IDX)
        c_line(f, "    return nn_stop_values(&m->error, NN_EFAULT, %s, %s, %s, %s);", what, where,
               run_condition(f, e->arg[0], false), run_condition(f, e->arg[1], false));
    else c_line(f, "    return nn_stop(&m->error, NN_EFAULT, %s, %s);", what, where);
}
static void print_store(struct fe *f, const struct stmt *s) {
    struct buf *b = s->u.store.buf;
    expr off = buf_offset(f->c, b, s->u.store.idx);
    const char *at = x_is(off, 0) ? format(f->c, "*%s", run_place(f, b)->text)
                                  : format(f->c, "%s[%s]", run_place(f, b)->text, run_expr(f, off, false, "at"));
    const char *v = run_condition(f, s->u.store.value, true);
    if (f->entry->p->device) {
        const char *b0 = run_place(f, b)->text,
                   *to = x_is(off, 0) ? b0 : format(f->c, "%s + %s", b0, run_expr(f, off, true, "at"));
        if (s->u.store.op == RED_SUM)
            v = format(f->c, "(int64_t)((uint64_t)nn_cuda_value(&m->cuda, %s, sizeof *%s, 1) + (uint64_t)%s)", to, b0,
                       v);
        c_line(f, "nn_cuda_set(&m->cuda, %s, sizeof *%s, %s);", to, b0, v);
    } else if (s->u.store.op == RED_SUM) c_line(f, "%s = (int64_t)((uint64_t)%s + (uint64_t)%s);", at, at, v);
    else c_line(f, "%s = %s%s;", at, b->type == I64 ? "" : format(f->c, "(%s)", dtype_c(b->type)), v);
}
static void print_swap(struct fe *f, const struct stmt *s) {
    const char *t = names_add(&f->names, "other"), *a = run_place(f, s->u.swap.a)->text,
               *b = run_place(f, s->u.swap.b)->text;
    c_line(f, "%s *const %s = %s;", dtype_c(s->u.swap.a->type), t, a);
    c_line(f, "%s = %s;", a, b);
    c_line(f, "%s = %s;", b, t);
}
static void print_while(struct fe *f, const struct stmt *s) {
    const char *left = NULL;
    if (s->u.loop_while.max) {
        left = names_add(&f->names, "passes_left");
        c_line(f, "int64_t %s = %s;", left, run_expr(f, s->u.loop_while.max, false, "limit"));
    }
    c_line(f, "while (%s) {", run_condition(f, s->u.loop_while.cond, false));
    f->depth++;
    if (left)
        c_line(f, "if (%s-- <= 0) return nn_stop(&m->error, NN_EFUEL, \"a loop made more passes than it may\", NULL);",
               left);
    c_line(f, "if (fuel-- <= 0) return nn_stop(&m->error, NN_EFUEL, \"the loops of the run made more than "
              "config.max_iterations passes\", NULL);");
    f->entry->uses_fuel = true;
    f->depth--;
    c_branch(f, &s->u.loop_while.body);
    c_put(f, "}");
}
static void print_free(struct fe *f, const struct stmt *s) {
    const struct buf *b = s->u.alloc.buf;
    if (!map_get(&f->entry->places, PKEY(b))) return;
    c_line(f, "%s(&m->region, %s);", region_words(f->entry->p)->free, run_place(f, b)->text);
    if (map_get(&f->entry->swapped, PKEY(b))) c_line(f, "%s = NULL;", run_place(f, b)->text);
}
static const char *condition(struct fe *f, expr e) { return run_condition(f, e, false); }
static const char *bound(struct fe *f, expr e) { return run_expr(f, e, true, "turns"); }
const struct dialect entry_dialect = {
    .index = "int64_t",
    .wide = true,
    .size = entry_size,
    .sum = entry_sum,
    .product = entry_product,
    .load = entry_load,
    .call = entry_call,
    .condition = condition,
    .bound = bound,
    .print = {[S_FOR] = c_print_for,
              [S_STORE] = print_store,
              [S_IF] = c_print_if,
              [S_ALLOC] = run_alloc,
              [S_FREE] = print_free,
              [S_SIZE] = print_size,
              [S_CALL] = print_call,
              [S_WHILE] = print_while,
              [S_CHECK] = print_check,
              [S_BARRIER] = c_print_nothing,
              [S_PREFETCH] = c_print_nothing,
              [S_SWAP] = print_swap,
              [S_VIEW] = run_view,
              [S_BIND] = run_bind,
              [S_COMMENT] = c_print_comment},
};
