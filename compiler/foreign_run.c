/* Custom operators in the interpreter: a user's source is compiled into a library, which this process loads. Its code
 * then runs with our rights and in our memory, as it will in the user's program: docs/adr/0022. It is compiled when the
 * interpreter first calls it; compiling a model runs none of it. */
#include "compiler/foreign_run.h"
#include "codegen/foreign_files.h"
#include "compiler/build.h"
#include "compiler/session.h"
#include "ir/base/cleanup.h"
#include <dlfcn.h>
#include <string.h>

/* Writes the source, followed by a function that takes the arguments in the interpreter's form. */
static void put_source(struct ctx *c, struct text *out, const struct foreign *f) {
    const struct foreign_source *s = f->cpu.source;
    const char **args = NEWN(&c->arena, const char *, f->n + 1);
    text_add(out, "#include <stdint.h>\n");
    text_addn(out, s->text, s->n);
    text_add(out, s->language == FOREIGN_C ? "\n" : "\nextern \"C\"\n");
    text_add(out, "void gcc2nn_run(void *const *a) {\n");
    for (int k = 0; k < f->n; k++) {
        const struct foreign_param *p = &f->params[k];
        bool number = p->use == FOREIGN_NUMBER;
        const char *type = format(c, "%s%s", p->use == FOREIGN_WRITTEN ? "" : "const ", foreign_element(p));
        args[k] = format(c, "gcc2nn_%d", k);
        if (p->use == FOREIGN_ABSENT) continue;
        text_printf(out, number ? "    %s %s = *(%s *)a[%d];\n" : "    %s *%s = (%s *)a[%d];\n", type, args[k], type,
                    k);
    }
    text_add(out, "    ");
    foreign_call(c, out, f, &f->cpu, args);
    text_add(out, "}\n");
}
static bool compile_library(struct ctx *c, const struct foreign *f, const char *folder, const char *library) {
    bool cpp = f->cpu.source->language != FOREIGN_C;
    const char *name = cpp ? "operator.cpp" : "operator.c", *cc = cpp ? "c++" : "cc";
    const char *argv[] = {cc,      cpp ? "-std=c++17" : "-std=gnu99",
                          "-O1",   "-ffp-contract=off",
                          "-fPIC", "-shared",
                          "-w",    name,
                          "-o",    library,
                          "-lm",   NULL};
    struct text t = {0};
    put_source(c, &t, f);
    bool ok = harness_file(c, format(c, "%s/%s", folder, name), &t, NULL, 0);
    text_free(&t);
    if (!ok) return false;
    struct outcome o = process_run(argv, folder, 600);
    ok = o.started && !o.timed_out && o.status == 0;
    outcome_free(&o);
    return ok;
}
bool foreign_load(struct ctx *c, struct foreign *f) {
    int noted;
    if (f->run || f->why_not) return f->run != NULL;
    if (!f->cpu.source) return f->why_not = "it has a body for a GPU alone", false;
    const char *folder = temporary_folder(c, &noted), *library = format(c, "%s/operator.so", folder ? folder : "");
    bool ok = folder && compile_library(c, f, folder, "operator.so");
    void *loaded = ok ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL; /* until the process ends */
    void *run = loaded ? dlsym(loaded, "gcc2nn_run") : NULL;
    if (folder) cleanup_now(noted);
    if (run) memcpy(&f->run, &run, sizeof run);
    else f->why_not = ok ? "its library cannot be loaded" : "the compiler of this machine does not take its source";
    return run != NULL;
}
