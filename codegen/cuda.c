/* Procedures as CUDA C++: what cuda differs in from c.c, which prints the statements themselves.
 *
 * A procedure that is launched (lower/passes/grids.c) is a kernel; one that calls such procedures is a function of the
 * host, whose calls are launches, in order. */
#include "codegen/c_int.h"

static bool is_block(const struct stmt *s) {
    return s->kind == S_FOR && s->u.loop.kind >= LK_BLOCK_X && s->u.loop.kind <= LK_BLOCK_Z;
}
static bool is_thread(const struct stmt *s) { return s->kind == S_FOR && s->u.loop.kind >= LK_THREAD_X; }

/* ---- loops of the grid */
static int64_t threads_of(const struct stmt *s) {
    int64_t n = 0;
    x_is_int(s->u.loop.var->extent, &n);
    return n;
}
/* Do all threads of the kernel take part, and is nothing else around? Then the loop needs no braces. */
static bool alone(const struct stmt *s) {
    for (const struct stmt *t = s->in->first; t; t = t->next)
        if (t != s && t->kind != S_ALLOC && t->kind != S_COMMENT) return false;
    return s->in->owner && (is_block(s->in->owner) || is_thread(s->in->owner));
}
void cuda_barrier(struct fe *f, const struct stmt *s) {
    (void)s;
    if (f->threads) c_put(f, "__syncthreads();"); /* else one thread runs */
}
void cuda_for(struct fe *f, const struct stmt *s) {
    if (!f->threads || s->u.loop.kind < LK_BLOCK_X) {
        c_print_for(f, s);
        return;
    }
    static const char *const index[] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                        "threadIdx.x", "threadIdx.y", "threadIdx.z"};
    const char *at = index[s->u.loop.kind - LK_BLOCK_X];
    int mark = names_mark(&f->names);
    bool brace = is_thread(s) && (!alone(s) || threads_of(s) < f->threads[s->u.loop.kind - LK_THREAD_X]);
    if (brace) {
        if (threads_of(s) < f->threads[s->u.loop.kind - LK_THREAD_X])
            c_line(f, "if (%s < %lld) {", at, (long long)threads_of(s));
        else c_put(f, "{");
        f->depth++;
    }
    const char *n = c_declare_var(f, s->u.loop.var);
    struct sym_name *name = map_get(&f->vars, PKEY(s->u.loop.var));
    struct text body = {0}, *was = f->out;
    f->out = &body;
    c_body(f, s);
    f->out = was;
    if (name->used) c_line(f, "const %s %s = (%s)%s;", f->idx, n, f->idx, at);
    text_add(f->out, body.s ? body.s : "");
    text_free(&body);
    if (brace) {
        f->depth--;
        c_put(f, "}");
    }
    names_leave(&f->names, mark);
}

/* ---- launches */
static const char *grid_dim(struct fe *f, expr blocks, const char **some) {
    int64_t lo, hi;
    const char *n = c_bound(f, blocks);
    x_bounds(f->c, blocks, &lo, &hi);
    if (lo < 1) *some = format(f->c, "%s%s%s > 0", *some ? *some : "", *some ? " && " : "", n);
    return lo == hi ? n : format(f->c, "nn_grid(%s)", n);
}
static void launch(struct fe *f, const struct stmt *call) {
    const struct proc *q = call->u.call.callee;
    const struct launch *l = q->launch;
    const char *grid = "dim3(1)", *block = "dim3(1)", *args = "", *some = NULL;
    struct subst sizes = {{.arena = &f->c->arena}};
    for (int k = 0; k < q->syms.n; k++) map_put(&sizes.map, PKEY(q->syms.v[k]), (void *)call->u.call.args[k]);
    if (l->grid) {
        const char *n[3];
        for (int k = 0; k < 3; k++) n[k] = grid_dim(f, x_subst(f->c, l->blocks[k], &sizes), &some);
        grid = format(f->c, "dim3(%s, %s, %s)", n[0], n[1], n[2]);
        block = format(f->c, "dim3(%lld, %lld, %lld)", (long long)l->threads[0], (long long)l->threads[1],
                       (long long)l->threads[2]);
    }
    for (int k = 0; k < call->u.call.nbufs; k++)
        args = format(f->c, "%s, %s", args, c_ref(f, map_get(&f->bufs, PKEY(call->u.call.bufs[k]))));
    for (int k = 0; k < call->u.call.nargs; k++)
        args = format(f->c, "%s, %s", args, c_text(f, call->u.call.args[k], true));
    if (!x_is(scratch_bytes(f->c, q), 0)) args = format(f->c, "%s, %s", args, c_ref(f, f->ws));
    if (proc_may_fault(q)) args = format(f->c, "%s, %s", args, c_ref(f, f->fault));
    if (some) c_line(f, "if (%s)", some);
    f->depth += some != NULL;
    c_line(f, "NN_LAUNCH(%s, %s, %s, stream%s);", emit_proc_name(f->c, q, f->o), grid, block, args);
    f->depth -= some != NULL;
}
static void print_kernel(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o) {
    const char *name = emit_proc_name(c, p, o);
    const int64_t *t = p->launch->threads;
    const char *head =
        format(c, "static __global__ void __launch_bounds__(%lld)\n%s(", (long long)(t[0] * t[1] * t[2]), name);
    c_function(out, c, p, o, name, head);
}
static void print_host(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o) {
    struct fe fe, *f = &fe;
    struct text host = {0}, head = {0};
    c_start(f, c, o, &cuda_dialect);
    f->p = p;
    f->out = &host;
    f->depth = 1;
    names_add(&f->names, "stream");
    c_head(&head, f, p, format(f->c, "%svoid %s(", o->external ? "" : "static ", emit_proc_name(c, p, o)),
           "void *stream");
    for (const struct stmt *s = p->body.first; s; s = s->next) launch(f, s);
    text_printf(out, "%s {\n", head.s);
    for (int k = 0; k < p->params.n; k++) {
        struct sym_name *n = map_get(&f->bufs, PKEY(p->params.v[k].buf));
        if (!n->used) text_printf(out, "    (void)%s;\n", n->name);
    }
    for (int k = 0; k < p->syms.n; k++) {
        struct sym_name *n = map_get(&f->syms, PKEY(p->syms.v[k]));
        if (!n->used) text_printf(out, "    (void)%s;\n", n->name);
    }
    if (!p->body.first) text_add(out, "    (void)stream;\n");
    if (proc_may_fault(p) && !f->fault->used) text_add(out, "    (void)fault;\n");
    if (!x_is(scratch_bytes(c, p), 0) && !f->ws->used) text_add(out, "    (void)ws;\n");
    text_add(out, host.s ? host.s : "");
    text_add(out, "}\n");
    text_free(&host), text_free(&head);
}
void cuda_proc(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o) {
    if (p->launch) print_kernel(out, c, p, o);
    else print_host(out, c, p, o);
}
