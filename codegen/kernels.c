/* The files of kernels, from a module's procedures. Their text depends only on these, the name and the options, so
 * kernels with replayed schedules print exactly as before. See program.h. */
#include "codegen/c_int.h"
#include "codegen/program.h"

enum { KERNELS_PER_FILE = 16, BYTES_PER_FILE = 96 << 10 };

struct emit_options kernel_options(struct ctx *c, const char *name, const struct project_options *o) {
    return (struct emit_options){.target = o->target,
                                 .prefix = internf(c->names, "%s_", name),
                                 .c99_strict = o->c99_strict,
                                 .external = true,
                                 .no_schedule = o->no_schedule};
}
struct emit_uses *kernel_uses(const struct module *m, const char *name, const struct emit_options *o) {
    static const char *const api[] = {"init",   "run",  "arena",  "weights", "weights_data",
                                      "config", "dims", "inputs", "outputs", "free"};
    struct ctx *c = m->ctx;
    struct emit_uses *u = emit_uses_new(c);
    names_add(&u->globals, name);
    for (size_t k = 0; k < sizeof api / sizeof *api; k++)
        names_add(&u->globals, internf(c->names, "%s_%s", name, api[k]));
    struct emit_options q = *o;
    q.uses = u;
    for (int k = 0; k < m->procs.n; k++) emit_proc_name(c, m->procs.v[k], &q);
    return u;
}
static struct text whole_file(const char *name, struct text *kernels, const struct emit_options *o) {
    struct text t = {0};
    text_printf(&t, "/* %s: kernels. Called from %s.c. */\n", name, name);
    emit_prelude(&t, o);
    text_printf(&t, "#include \"%s_kernels.h\"\n\n", name);
    text_addn(&t, kernels->s, kernels->n);
    emit_end(&t, o);
    emit_wrap(&t);
    text_free(kernels);
    *kernels = (struct text){0};
    return t;
}
int count_kernels(const struct module *m) {
    int n = 0;
    for (int k = 0; k < m->procs.n; k++) n += !m->procs.v[k]->launch;
    return n;
}
void emit_proc(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o) {
    (emit_cuda(o) ? cuda_proc : c_proc)(out, c, p, o);
}
/* One file, or several of about equal size, so that they can be compiled in parallel. */
bool kernel_files(const struct module *m, const char *name, const struct emit_options *options, put_file_fn *put,
                  void *env) {
    struct ctx *c = m->ctx;
    struct text t = {0};
    struct emit_options o = *options;
    const char *ending = emit_cuda(&o) ? "cu" : "c";
    for (int k = 0, in_file = 0, files = 0; k < m->procs.n; k++) {
        if (t.n == 0) o.uses = kernel_uses(m, name, &o);
        emit_proc(&t, c, m->procs.v[k], &o);
        text_char(&t, '\n');
        if (m->procs.v[k]->launch) continue; /* printed before the procedure that launches it */
        in_file++;
        bool last = k == m->procs.n - 1;
        if (!last && in_file < KERNELS_PER_FILE && t.n < BYTES_PER_FILE) continue;
        struct text whole = whole_file(name, &t, &o);
        if (options->uses) options->uses->text |= o.uses->text;
        const char *file = last && !files ? internf(c->names, "%s_kernels.%s", name, ending)
                                          : internf(c->names, "%s_kernels%d.%s", name, files + 1, ending);
        if (!put(env, file, &whole)) return false;
        files++, in_file = 0;
    }
    return true;
}
