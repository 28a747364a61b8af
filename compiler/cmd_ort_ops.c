/* `gcc2nn ort-ops`: operators of the user's own as sources of a library that ONNX Runtime loads
 * (docs/custom-operators.md). */
#include "codegen/template.h"
#include "compiler/commands.h"
#include "compiler/custom/ort.h"
#include "compiler/import/file.h"
#include "ir/graph/op.h"
#include "lower/ops/foreign.h"
#include <string.h>

struct ort_files {
    struct ctx *c;
    struct file_set files;
    bool ok;
    VEC(const char *) names;
};
static void put_file(struct ort_files *q, const char *name, struct text *t) {
    q->ok = q->ok && file_set_add(&q->files, name, t->s ? t->s : "", t->n);
    PUSH(&q->c->arena, &q->names, name);
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
static void print_files(const struct ort_files *q, const char *folder, bool json) {
    json_t *list = json_array();
    struct text t = {0};
    bool cpp = false;
    for (int k = 0; k < q->names.n; k++) {
        json_array_append_new(list, json_string(q->names.v[k]));
        cpp |= ends_with(q->names.v[k], ".cpp");
    }
    if (json) print_json(json_pack("{s:o, s:o}", "folder", json_name(&q->c->arena, folder), "files", list));
    else {
        text_printf(&t, "%s: %d operators; (cd %s && cc -O2 -fPIC -c *.c%s && %s -shared *.o -o ops.so -lm)\n", folder,
                    q->c->own_ops.n, folder, cpp ? " && c++ -O2 -fPIC -c *.cpp" : "", cpp ? "c++" : "cc");
        json_decref(list);
        print_text(&t);
    }
}
int cmd_ort_ops(const struct options *o) {
    struct ctx *c = ctx_new();
    struct ort_files q = {.c = c, .ok = true};
    struct custom_options custom = options_custom(o);
    const char *folder = o->out ? o->out : "ort_ops";
    options_diags(o, &c->diags);
    if (!custom.nops && !custom.npaths) {
        diag_at(&c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "no operators are given");
        diag_help(&c->diags, "--op DOMAIN:NAME=FILE, or --op-path DIR");
    } else if (custom_ops(c, &custom) && file_set_begin(&q.files, &c->diags, folder)) {
        write_all_files(&q);
        if (!q.ok) file_set_abandon(&q.files);
        else if (file_set_commit(&q.files)) print_files(&q, folder, o->json);
    }
    int status = report_diags(&c->diags);
    ctx_free(c);
    return status;
}
