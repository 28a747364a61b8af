/* Procedures as CUDA C++: differences from c.c, which prints the statements.
 *
 * A procedure that is launched (lower/passes/grids.c) is a kernel; one that calls such procedures is a host function
 * whose calls are launches, in order. */
#include "codegen/c_int.h"

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
    struct subst sizes = call_sizes(f->c, q, call);
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
/* The kernel is the user's: the function that launches it is in the operator's own file. */
static void launch_foreign(struct fe *f, const struct stmt *s) {
    const char *sizes = "", *args = c_foreign_args(f, s);
    for (int k = 0; k < s->u.foreign.ngrid; k++)
        sizes = format(f->c, "%s%s%s", sizes, k ? ", " : "", c_text(f, s->u.foreign.grid[k], true));
    c_put(f, "{");
    f->depth++;
    c_line(f, "const ptrdiff_t grid[] = {%s};", sizes);
    c_line(f, "%s(stream, grid%s%s);", emit_foreign_name(f->c, s->u.foreign.fn, f->o), *args ? ", " : "", args);
    f->depth--;
    c_put(f, "}");
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
    names_add(&f->names, "stream"), names_add(&f->names, "grid");
    c_head(&head, f, p, c_linkage(c, emit_proc_name(c, p, o), o), "void *stream");
    for (int i = 0; i < p->params.n; i++) {
        struct buf *b = p->params.v[i].buf;
        c_add_ptr(f, b, map_get(&f->bufs, PKEY(b)), 0, NULL, NULL);
    }
    for (const struct stmt *s = p->body.first; s; s = s->next) (s->kind == S_FOREIGN ? launch_foreign : launch)(f, s);
    text_printf(out, "%s {\n", head.s);
    if (!p->body.first) text_add(out, "    (void)stream;\n");
    c_unused(out, f);
    text_add(out, host.s ? host.s : "");
    text_add(out, "}\n");
    text_free(&host), text_free(&head);
}
void cuda_proc(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o) {
    if (p->launch) print_kernel(out, c, p, o);
    else print_host(out, c, p, o);
}
