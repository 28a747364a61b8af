/* See ort_ops.h; what a source becomes: compiler/custom/ort.c. */
#include "compiler/ort_ops.h"
#include "codegen/template.h"
#include "compiler/build.h"
#include "compiler/custom/ort.h"
#include "ir/graph/op.h"
#include "lower/ops/foreign.h"
#include <string.h>

struct ort_files {
    struct ctx *c;
    struct file_set files;
    bool ok;
    file_names *names;
};
static void put_file(struct ort_files *q, const char *name, struct text *t) {
    q->ok = q->ok && file_set_add(&q->files, name, t->s ? t->s : "", t->n);
    PUSH(&q->c->arena, q->names, name);
    text_free(t);
}
static void write_all_files(struct ort_files *q) {
    struct ctx *c = q->c;
    struct text t = {0};
    VEC(const struct foreign_source *) sources = {0};
    for (int k = 0; k < c->own_ops.n; k++) {
        const struct foreign_source *s = c->own_ops.v[k]->foreign->cpu.source;
        bool known = !s;
        for (int i = 0; i < sources.n; i++) known |= sources.v[i] == s;
        if (!s)
            diag_at(&c->diags, DIAG_WARNING, E_CUSTOM, NULL, NULL, "operator %s has no body for a CPU: left out",
                    diag_quote(&c->arena, c->own_ops.v[k]->foreign->op));
        if (known) continue;
        PUSH(&c->arena, &sources, s);
        ort_source(c, s, &t);
        put_file(q, internf(c->names, "%s_ort.%s", s->stem, s->language == FOREIGN_CPP ? "cpp" : "c"), &t);
    }
    ort_register(sources.v, sources.n, &t);
    put_file(q, "ort_register.c", &t);
    template_text(&t, "templates/ort/ort_ops.h", (const char *const[]){NULL});
    put_file(q, "ort_ops.h", &t);
}
bool ort_ops_write(struct ctx *c, const char *folder, file_names *names) {
    struct ort_files q = {.c = c, .ok = true, .names = names};
    if (!file_set_begin(&q.files, &c->diags, folder)) return false;
    write_all_files(&q);
    if (q.ok) return file_set_commit(&q.files);
    file_set_abandon(&q.files);
    return false;
}
bool ort_ops_have_cpp(const file_names *names) {
    for (int k = 0; k < names->n; k++)
        if (ends_with(names->v[k], ".cpp")) return true;
    return false;
}

static bool run(struct ctx *c, const char *const *argv, const char *folder, const char **why) {
    struct outcome o = process_run(argv, folder, 600);
    const char *said = o.err.s ? o.err.s : "";
    bool ok = o.started && !o.timed_out && o.status == 0;
    if (!ok && !o.started) *why = format(c, "%s, which builds the operators for it, cannot be started", argv[0]);
    else if (!ok)
        *why = format(c, "%s cannot build the operators for it: %.*s", argv[0], (int)strcspn(said, "\n"), said);
    outcome_free(&o);
    return ok;
}
const char *ort_ops_build(struct ctx *c, const char *folder, const char *sub, const char **why) {
    const char *own = format(c, "%s/%s", folder, sub);
    file_names names = {0}, words = {0};
    if (!ort_ops_write(c, own, &names)) return NULL;
    const char *const first[] = {ort_ops_have_cpp(&names) ? "c++" : "cc", "-shared", "-o", "ops.so"};
    for (int k = 0; k < 4; k++) PUSH(&c->arena, &words, first[k]);
    for (int k = 0; k < names.n; k++) {
        const char *name = names.v[k], *object = format(c, "%s.o", name);
        bool cpp = ends_with(name, ".cpp");
        if (ends_with(name, ".h")) continue;
        if (!run(c,
                 (const char *const[]){cpp ? "c++" : "cc", "-O1", "-ffp-contract=off", "-fPIC", "-w", "-c", name, "-o",
                                       object, NULL},
                 own, why))
            return NULL;
        PUSH(&c->arena, &words, object);
    }
    PUSH(&c->arena, &words, "-lm");
    PUSH(&c->arena, &words, NULL);
    return run(c, words.v, own, why) ? format(c, "./%s/ops.so", sub) : NULL;
}
