/* The files of operators written by the user: each source unchanged, under a name of the program, followed by what
 * kernels call. See ir/loop/foreign.h; which operators a program has: foreigns of program.h. */
#include "codegen/foreign_files.h"
#include "ir/loop/foreign.h"
#include <string.h>

static const struct {
    const char *ending;
    bool cpp; /* its names are those of C++, unless declared extern "C" */
} languages[FOREIGN_LANGUAGES] = {
    [FOREIGN_C] = {"c", false}, [FOREIGN_CPP] = {"cpp", true}, [FOREIGN_CUDA] = {"cu", true}};

const char *foreign_file_name(const struct program *p, const struct foreign_source *s) {
    return internf(p->c->names, "%s_op_%s.%s", p->name, s->stem, languages[s->language].ending);
}

/* ---- declarations of what kernels call */
/* All integers are int64_t, because the source's own types are not visible elsewhere. */
static const char *number_type(enum dtype t) { return dtype_is_int(t) ? "int64_t" : dtype_c(t); }
static const char *list_name(struct ctx *c, int k) { return internf(c->names, "list_%d", k); }
/* The source has its own name for the struct of a string. */
const char *foreign_element(const struct foreign_param *q) { return q->type == STR ? "void" : dtype_c(q->type); }
static const char *param_name(const struct program *p, const struct foreign *f, int k) {
    struct names n;
    const char *name = NULL;
    names_init(&n, p->c);
    n.avoid = p->emit.shared_prefix;
    names_add(&n, "stream"), names_add(&n, "grid"), names_add(&n, "i");
    for (int gpu = 0; gpu < 2; gpu++) /* the prefix of the call: the function, or its namespace */
        if (foreign_body(f, gpu)->source) {
            const char *called = foreign_body(f, gpu)->function;
            names_add(&n, internn(p->c->names, called, strcspn(called, ":<")));
        }
    for (int i = 0; i < f->n; i++)
        if (f->params[i].list) names_add(&n, list_name(p->c, i));
    for (int i = 0; i <= k; i++) name = names_add(&n, f->params[i].name);
    return name;
}
static void put_params(struct text *out, const struct program *p, const struct foreign *f) {
    for (int k = 0, n = 0; k < f->n; k++) {
        const struct foreign_param *q = &f->params[k];
        if (q->use == FOREIGN_ABSENT) continue;
        const char *comma = n++ ? ", " : "", *name = param_name(p, f, k);
        if (q->use == FOREIGN_NUMBER) text_printf(out, "%s%s %s", comma, number_type(q->type), name);
        else text_printf(out, "%s%s%s *%s", comma, q->use == FOREIGN_READ ? "const " : "", foreign_element(q), name);
    }
}
static void put_head(struct text *out, const struct program *p, const struct foreign *f) {
    text_printf(out, "void %s(", emit_foreign_name(p->c, f, &p->emit));
    bool any = foreign_param(f, false, 0) || foreign_param(f, true, 0);
    if (p->device) text_printf(out, "void *stream, const ptrdiff_t *grid%s", any ? ", " : "");
    put_params(out, p, f);
    text_add(out, !p->device && !any ? "void)" : ")");
}
void foreign_declarations(const struct program *p, struct text *out) {
    foreigns all = {0};
    module_foreigns(p->c, p->m, &all);
    if (!all.n) return;
    bool linkage = !p->device; /* otherwise the whole header is extern "C" */
    text_add(out, "\n/* custom operators: written by the user, in separate files */\n");
    if (linkage) text_add(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (int k = 0; k < all.n; k++) {
        text_add(out, "/* ");
        emit_comment_text(out, all.v[k]->op);
        text_add(out, " */\n");
        put_head(out, p, all.v[k]);
        text_add(out, ";\n");
    }
    if (linkage) text_add(out, "#ifdef __cplusplus\n}\n#endif\n");
}

/* ---- the wrappers */
/* An argument, with the type as the source spells it. */
static void put_argument(struct text *out, const struct foreign_param *q, const char *arg, bool cell) {
    const char *type = q->c ? q->c : dtype_c(q->type);
    if (q->use == FOREIGN_ABSENT) arg = "0";
    if (cell && q->use != FOREIGN_NUMBER) text_printf(out, "%s[i]", arg);
    else
        text_printf(out, "(%s%s%s)%s", q->use == FOREIGN_READ ? "const " : "", type,
                    q->use == FOREIGN_NUMBER ? "" : " *", arg);
}
/* An array of the values that make up one argument. */
static void put_list(struct ctx *c, struct text *out, const struct foreign *f, int k, const char *const *args) {
    const struct foreign_param *q = &f->params[k];
    text_printf(out, "%s%s %s%s[] = {", q->use == FOREIGN_READ || q->use == FOREIGN_NUMBER ? "const " : "",
                q->c ? q->c : dtype_c(q->type), q->use == FOREIGN_NUMBER ? "" : "*", list_name(c, k));
    for (int i = 0; i < q->list; i++) {
        text_add(out, i ? ", " : "");
        put_argument(out, &f->params[k + i], args[k + i], false);
    }
    text_add(out, "};\n    ");
}
void foreign_call(struct ctx *c, struct text *out, const struct foreign *f, const struct foreign_body *body,
                  const char *const *args) {
    int n = f->by_cell ? f->n - 2 : f->n;
    for (int k = 0; k < n; k++)
        if (f->params[k].list) put_list(c, out, f, k, args);
    if (f->by_cell)
        text_printf(out, "for (int64_t i = 0; i < %s; i++)\n        %s[i] = %s(", args[n + 1], args[n], body->function);
    else text_printf(out, "%s(", body->function);
    for (int k = 0; k < n; k += f->params[k].list ? f->params[k].list : 1) {
        if (k) text_add(out, ", ");
        if (f->params[k].list) text_add(out, list_name(c, k));
        else put_argument(out, &f->params[k], args[k], f->by_cell);
    }
    text_add(out, ");\n");
}
static void put_launch(struct text *out, const struct foreign *f, const char *const *args) {
    text_add(out, "if (grid[0] > 0 && grid[1] > 0 && grid[2] > 0)\n        NN_LAUNCH(");
    text_printf(out, strchr(f->gpu.function, '<') ? "(%s)" : "%s", f->gpu.function);
    text_add(out, ", dim3(nn_grid(grid[0]), nn_grid(grid[1]), nn_grid(grid[2])),\n            "
                  "dim3(nn_grid(grid[3]), nn_grid(grid[4]), nn_grid(grid[5])), stream");
    for (int k = 0; k < f->n; k++) {
        text_add(out, ", ");
        put_argument(out, &f->params[k], args[k], false);
    }
    text_add(out, ");\n");
}
static void put_wrapper(struct text *out, const struct program *p, const struct foreign *f) {
    const char **args = NEWN(&p->c->arena, const char *, f->n + 1);
    for (int k = 0; k < f->n; k++) args[k] = param_name(p, f, k);
    put_head(out, p, f);
    text_add(out, " {\n    ");
    if (p->device) put_launch(out, f, args);
    else foreign_call(p->c, out, f, &f->cpu, args);
    text_add(out, "}\n");
}
static int lines_in(const char *s, size_t n) {
    int lines = 0;
    for (size_t k = 0; k < n; k++) lines += s[k] == '\n';
    return lines;
}
static void put_line(struct text *out, int line, const char *file) {
    text_printf(out, "#line %d ", line);
    emit_string(out, file, strlen(file));
    text_char(out, '\n');
}
static const char *file_of(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }
void foreign_text(struct text *out, const struct foreign_source *s, const char *into) {
    put_line(out, 1, file_of(s->path));
    text_addn(out, s->text, s->n);
    if (s->n && s->text[s->n - 1] != '\n') text_char(out, '\n');
    put_line(out, lines_in(out->s, out->n) + 2, into);
}
static void put_wrappers(struct text *out, const struct program *p, const struct foreign_source *s,
                         const foreigns *all) {
    bool cpp = languages[s->language].cpp;
    struct text t = {0};
    text_add(&t, cpp ? "\nextern \"C\" {\n" : "\n");
    for (int k = 0; k < all->n && !cpp; k++) /* a prototype, for -Wmissing-prototypes */
        if (foreign_body(all->v[k], p->device)->source == s) put_head(&t, p, all->v[k]), text_add(&t, ";\n");
    for (int k = 0; k < all->n; k++)
        if (foreign_body(all->v[k], p->device)->source == s) put_wrapper(&t, p, all->v[k]);
    if (cpp) text_add(&t, "}\n");
    emit_wrap(&t);
    text_addn(out, t.s, t.n);
    text_free(&t);
}
/* Names with external linkage get a prefix of the program and the file, except those of its functions: two models in
 * one program may have the same operator, two files the same helper, and one may be called `run`. */
static void put_source(struct text *out, const struct program *p, const struct foreign_source *s, const foreigns *all) {
    text_add(out, "/* ");
    emit_comment_text(out, p->name);
    text_add(out, ": operators from ");
    emit_comment_text(out, file_of(s->path));
    text_add(out, ", written by the user and unchanged here; at the end, what kernels call. */\n");
    text_add(out, "#include <stddef.h>\n#include <stdint.h>\n");
    if (s->language == FOREIGN_CUDA) text_add(out, p->target->headers ? p->target->headers : "");
    for (int k = 0; s->globals[k]; k++)
        text_printf(out, "#define %s %s_user_%s_%s\n", s->globals[k], p->name, s->stem, s->globals[k]);
    foreign_text(out, s, foreign_file_name(p, s));
    put_wrappers(out, p, s, all);
}
bool foreign_files(const struct program *p, put_file_fn *put, void *env) {
    foreigns all = {0};
    struct map done = {.arena = &p->c->arena};
    for (int k = 0; k < p->nall; k++) {
        foreigns some = {0};
        module_foreigns(p->c, p->all[k]->m, &some);
        for (int i = 0; i < some.n; i++)
            if (!map_get(&done, PKEY(some.v[i]))) {
                map_put(&done, PKEY(some.v[i]), (void *)some.v[i]);
                PUSH(&p->c->arena, &all, some.v[i]);
            }
    }
    for (int k = 0; k < all.n; k++) {
        const struct foreign_source *s = foreign_body(all.v[k], p->device)->source;
        struct text t = {0};
        if (map_get(&done, PKEY(s))) continue;
        map_put(&done, PKEY(s), (void *)s);
        put_source(&t, p, s, &all);
        if (!put(env, foreign_file_name(p, s), &t)) return false;
    }
    return true;
}
bool foreign_bodies_exist(const struct program *p) {
    foreigns all = {0};
    module_foreigns(p->c, p->m, &all);
    for (int k = 0; k < all.n; k++) {
        if (foreign_body(all.v[k], p->device)->source) continue;
        diag(&p->c->diags, DIAG_ERROR, E_TARGET, "operator %s has no body for target %s",
             diag_quote(&p->c->arena, all.v[k]->op), p->target->name);
        diag_help(&p->c->diags, p->device ? "give one in CUDA with another --op, a .cu file with a __global__ function"
                                          : "give one in C or C++ with another --op, a .c or .cpp file");
        return false;
    }
    return true;
}
