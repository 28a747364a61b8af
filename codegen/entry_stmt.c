/* The statements of the entry procedure as C: calls of kernels, sizes, checks, control flow. See entry_int.h. */
#include "codegen/entry_int.h"
#include <string.h>

/* A size as the kernel's `of`; a long one gets a name for all calls after this one. */
static const char *call_arg(struct writer *f, expr e, const struct sym *of) {
    enum { SHORT = 6 }; /* nodes: what is done must not depend on how long names are */
    const char *n = map_get(&f->args, PKEY(e)), *s = n ? n : run_expr(f, e, true, "size");
    if (n || e->op == X_CONST) return s;
    s = A("(ptrdiff_t)%s", s);
    if (f->depth > 1 || x_count(e, SHORT + 1) <= SHORT || !size_is_input(e)) return s;
    n = names_add(&f->names, of->name);
    PUT("const ptrdiff_t %s = %s;", n, s);
    map_put(&f->args, PKEY(e), (void *)n);
    return n;
}
static void print_call(struct writer *f, struct stmt *s) {
    struct proc *q = s->u.call.callee;
    const char *args = f->p->device ? "m->cuda.stream" : "", *scratch = NULL;
    int n = f->p->device;
    for (int k = 0; k < s->u.call.nbufs; k++)
        args = A("%s%s%s", args, n++ ? ", " : "", run_place(f, s->u.call.bufs[k])->text);
    for (int k = 0; k < s->u.call.nargs; k++)
        args = A("%s%s%s", args, n++ ? ", " : "", call_arg(f, s->u.call.args[k], q->syms.v[k]));
    if (!x_is(scratch_bytes(f->c, q), 0)) {
        struct subst sub = {{.arena = &f->c->arena}};
        for (int k = 0; k < q->syms.n; k++) map_put(&sub.map, PKEY(q->syms.v[k]), (void *)s->u.call.args[k]);
        expr bytes = x_subst(f->c, scratch_bytes(f->c, q), &sub);
        if (size_is_input(bytes)) {
            args = A("%s%s%s", args, n++ ? ", " : "", run_scratch_address(f));
        } else {
            scratch = names_add(&f->names, "scratch");
            PUT("void *%s = %s(&m->region, %s);", scratch, region_words(f->p)->alloc,
                run_expr(f, bytes, false, "scratch_bytes"));
            PUT("if (!%s) return no_room(m);", scratch);
            args = A("%s%s%s", args, n++ ? ", " : "", scratch);
        }
    }
    bool fault = proc_may_fault(q);
    const char *where = s->u.call.origin ? s->u.call.origin : q->comment ? q->comment : q->name;
    size_t line = strcspn(where, "\n");
    if (fault && f->p->device) args = A("%s, faults + %d", args, f->faults);
    else if (fault) args = A("%s%s&fault", args, n ? ", " : "");
    if (proc_is_parallel(q)) args = A("%s%sm->config.threads", args, *args ? ", " : "");
    PUT("%s(%s);", emit_proc_name(f->c, q, &f->p->emit), args);
    if (fault && f->p->device) { /* looked at in the end: until then, an index that faulted is 0 */
        f->where = A("%s%s%s", f->where ? f->where : "", f->faults++ ? ", " : "",
                     run_string(f, internn(f->c->names, where, line)));
    } else if (fault) {
        f->uses_fault = true;
        PUT("if (fault) return nn_stop(&m->error, NN_EFAULT, \"an index or a size is out of range\", %s);",
            run_string(f, internn(f->c->names, where, line)));
    }
    if (scratch) PUT("%s(&m->region, %s);", region_words(f->p)->free, scratch);
}
static void print_size(struct writer *f, struct stmt *s) {
    const struct sym *y = s->u.size.sym;
    const char *n = program_sym(f->p, y);
    bool over;
    PUT("%s = %s;", n, run_text(f, s->u.size.value, false, &over));
    if (over) run_stop_if_over(f, y->name);
    const char *bad = "";
    expr lo = s->u.size.lo, hi = s->u.size.hi;
    if (lo && !x_proves_le(f->c, lo, s->u.size.value)) bad = A("%s < %s", n, run_expr(f, lo, true, "least"));
    if (hi && !x_proves_le(f->c, s->u.size.value, hi))
        bad = A("%s%s%s > %s", bad, *bad ? " || " : "", n, run_expr(f, hi, true, "most"));
    if (*bad)
        PUT("if (%s) return nn_stop(&m->error, NN_EFAULT, %s, NULL);", bad,
            run_string(f, A("size %s is out of range", y->name)));
}
static void print_check(struct writer *f, struct stmt *s) {
    expr e = s->u.check.cond;
    PUT("if (!%s)", run_condition(f, e, true));
    const char *what = run_string(f, s->u.check.fault), *where = run_string(f, s->u.check.origin);
    if ((e->op == X_EQ || e->op == X_LT || e->op == X_LE) && e->arg[0]->type == IDX)
        PUT("    return nn_stop_values(&m->error, NN_EFAULT, %s, %s, %s, %s);", what, where,
            run_condition(f, e->arg[0], false), run_condition(f, e->arg[1], false));
    else PUT("    return nn_stop(&m->error, NN_EFAULT, %s, %s);", what, where);
}
static void print_store(struct writer *f, struct stmt *s) {
    struct buf *b = s->u.store.buf;
    expr off = buf_offset(f->c, b, s->u.store.idx);
    const char *at = x_is(off, 0) ? A("*%s", run_place(f, b)->text)
                                  : A("%s[%s]", run_place(f, b)->text, run_expr(f, off, false, "at"));
    const char *v = run_condition(f, s->u.store.value, true);
    if (f->p->device) {
        const char *b0 = run_place(f, b)->text,
                   *to = x_is(off, 0) ? b0 : A("%s + %s", b0, run_expr(f, off, true, "at"));
        if (s->u.store.op == RED_SUM)
            v = A("(int64_t)((uint64_t)nn_cuda_value(&m->cuda, %s, sizeof *%s, 1) + (uint64_t)%s)", to, b0, v);
        PUT("nn_cuda_set(&m->cuda, %s, sizeof *%s, %s);", to, b0, v);
    } else if (s->u.store.op == RED_SUM) PUT("%s = (int64_t)((uint64_t)%s + (uint64_t)%s);", at, at, v);
    else PUT("%s = %s%s;", at, b->type == I64 ? "" : A("(%s)", dtype_c(b->type)), v);
}
static void print_swap(struct writer *f, struct stmt *s) {
    const char *t = names_add(&f->names, "other"), *a = run_place(f, s->u.swap.a)->text,
               *b = run_place(f, s->u.swap.b)->text;
    PUT("%s *const %s = %s;", dtype_c(s->u.swap.a->type), t, a);
    PUT("%s = %s;", a, b);
    PUT("%s = %s;", b, t);
}
static void inside(struct writer *f, struct block *b) {
    int mark = names_mark(&f->names);
    f->depth++;
    run_block(f, b);
    f->depth--;
    names_leave(&f->names, mark);
}
static void print_if(struct writer *f, struct stmt *s) {
    PUT("if (%s) {", run_condition(f, s->u.cond.cond, false));
    inside(f, &s->u.cond.then);
    if (s->u.cond.other.first) {
        run_put(f, "} else {");
        inside(f, &s->u.cond.other);
    }
    run_put(f, "}");
}
static void print_while(struct writer *f, struct stmt *s) {
    const char *left = NULL;
    if (s->u.loop_while.max) {
        left = names_add(&f->names, "passes_left");
        PUT("int64_t %s = %s;", left, run_expr(f, s->u.loop_while.max, false, "limit"));
    }
    PUT("while (%s) {", run_condition(f, s->u.loop_while.cond, false));
    f->depth++;
    if (left)
        PUT("if (%s-- <= 0) return nn_stop(&m->error, NN_EFUEL, \"a loop made more passes than it may\", NULL);", left);
    PUT("if (fuel-- <= 0) return nn_stop(&m->error, NN_EFUEL, \"the loops of the run made more than "
        "config.max_iterations passes\", NULL);");
    f->uses_fuel = true;
    f->depth--;
    inside(f, &s->u.loop_while.body);
    run_put(f, "}");
}
static void print_for(struct writer *f, struct stmt *s) {
    int mark = names_mark(&f->names);
    const struct var *v = s->u.loop.var;
    const char *dot = strrchr(v->name, '.'), *n = run_expr(f, v->extent, true, "turns");
    const char *i = names_add(&f->names, dot ? dot + 1 : v->name);
    map_put(&f->vars, PKEY(v), (void *)i);
    PUT("for (int64_t %s = 0; %s < %s; %s++) {", i, i, n, i);
    inside(f, &s->u.loop.body);
    run_put(f, "}");
    names_leave(&f->names, mark);
}
static void print_stmt(struct writer *f, struct stmt *s) {
    switch (s->kind) {
    case S_ALLOC: run_alloc(f, s->u.alloc.buf); break;
    case S_VIEW: run_view(f, s); break;
    case S_BIND: run_bind(f, s->u.alloc.buf); break;
    case S_FREE:
        if (!map_get(&f->places, PKEY(s->u.alloc.buf))) break;
        PUT("%s(&m->region, %s);", region_words(f->p)->free, run_place(f, s->u.alloc.buf)->text);
        if (map_get(&f->swapped, PKEY(s->u.alloc.buf))) PUT("%s = NULL;", run_place(f, s->u.alloc.buf)->text);
        break;
    case S_CALL: print_call(f, s); break;
    case S_SIZE: print_size(f, s); break;
    case S_CHECK: print_check(f, s); break;
    case S_STORE: print_store(f, s); break;
    case S_SWAP: print_swap(f, s); break;
    case S_IF: print_if(f, s); break;
    case S_WHILE: print_while(f, s); break;
    case S_FOR: print_for(f, s); break;
    case S_COMMENT: {
        struct text t = {0};
        emit_comment_text(&t, s->u.comment.text ? s->u.comment.text : "");
        PUT("/* %s */", t.s ? t.s : "");
        text_free(&t);
        break;
    }
    case S_BARRIER:
    case S_PREFETCH: break;
    default: BUG("statement of kind %d in the entry", s->kind);
    }
}
void run_block(struct writer *f, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) print_stmt(f, s);
}
