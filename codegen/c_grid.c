/* Loops over blocks and threads as those of the hardware, and barriers: the statements that exist only in CUDA. Beside
 * c_stmt.c. */
#include "codegen/c_int.h"
#include "lower/passes/grid.h"

static int64_t threads_of(const struct stmt *s) {
    int64_t n = 0;
    x_is_int(s->u.loop.var->extent, &n);
    return n;
}
/* Do all threads of the kernel take part, with nothing else around? Then the loop needs no braces. */
static bool alone(const struct stmt *s) {
    for (const struct stmt *t = s->in->first; t; t = t->next)
        if (t != s && t->kind != S_ALLOC && t->kind != S_COMMENT) return false;
    const struct stmt *around = s->in->owner;
    return around && around->kind == S_FOR && around->u.loop.kind >= LK_BLOCK_X;
}
void cuda_barrier(struct fe *f, const struct stmt *s) {
    (void)s;
    if (f->threads) c_put(f, "__syncthreads();"); /* otherwise a single thread runs */
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
    bool brace = is_thread_loop(s) && (!alone(s) || threads_of(s) < f->threads[s->u.loop.kind - LK_THREAD_X]);
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
