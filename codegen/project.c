/* The files of the build folder. See project.h; folder.h moves it into its place. */
#include "codegen/project.h"
#include "codegen/folder.h"
#include "codegen/foreign_files.h"
#include "codegen/prelude.h"
#include "codegen/template.h"
#include "codegen/weights.h"
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct writer {
    struct program *p;
    struct ctx *c;
    struct new_folder folder;
    struct project *w;
};

/* ---- files */
static void add_file(struct writer *q, const char *name) {
    for (int k = 0; k < q->w->files.n; k++)
        if (!strcmp(q->w->files.v[k], name)) BUG("%s would be written twice", name);
    PUSH(&q->c->arena, &q->w->files, name);
}
static bool write_file(struct writer *q, const char *name, struct text *t) {
    int fd = folder_create(&q->folder, name);
    bool ok = fd >= 0 && folder_close(&q->folder, name, fd, write_all(fd, t->s, t->n));
    text_free(t);
    return ok;
}
static bool put_file(struct writer *q, const char *name, struct text *t) {
    add_file(q, name);
    return write_file(q, name, t);
}
static bool put_code(struct writer *q, const char *name, struct text *t) {
    emit_wrap(t);
    return put_file(q, name, t);
}
static void add_source(struct writer *q, const char *name) { PUSH(&q->c->arena, &q->w->sources, name); }

static bool put_kernel_file(void *env, const char *name, struct text *t) {
    struct writer *q = env;
    add_source(q, name);
    return put_file(q, name, t);
}
static bool put_kernels(struct writer *q) {
    bool text = false;
    for (int k = 0; k < q->p->nall; k++) {
        struct program *p = q->p->all[k];
        if (!kernel_files(p->m, p->own, &p->emit, put_kernel_file, q)) return false;
        text |= p->emit.uses->text;
    }
    /* only included if needed */
    if (text) add_source(q, "nn_text.c");
    if (program_has_pool(q->p)) add_source(q, "nn_pool.c");
    return true;
}
static bool put_foreign_file(void *env, const char *name, struct text *t) {
    struct writer *q = env;
    q->w->cpp |= ends_with(name, ".cpp");
    add_source(q, name);
    return put_file(q, name, t);
}
static bool put_array(struct writer *q, int packed) {
    const char *name = format(q->c, "%s_weights.c", q->p->name);
    add_source(q, name);
    add_file(q, name);
    int fd = folder_create(&q->folder, name);
    return fd >= 0 && folder_close(&q->folder, name, fd, weights_array(q->p, packed, fd));
}
/* All modes begin with the packed file; it remains if it is a source or read at run time. */
static bool put_weights(struct writer *q) {
    struct program *p = q->p;
    const char *bin = format(q->c, "%s_weights.bin", p->name);
    int packed = folder_create(&q->folder, bin), before = q->c->diags.errors;
    if (packed < 0) return false;
    bool ok = weights_pack(p, packed), any = p->weights_bytes > WEIGHTS_HEADER;
    if (!ok && q->c->diags.errors > before) return close(packed), false;
    if (ok && any && p->mode == WEIGHTS_C && !put_array(q, packed)) return close(packed), false;
    if (!folder_close(&q->folder, bin, packed, ok)) return false;
    if (any && p->mode == WEIGHTS_INCBIN) {
        struct text t = {0};
        const char *name = format(q->c, "%s_weights.S", p->name);
        add_source(q, name);
        weights_assembly(p, &t);
        if (!put_file(q, name, &t)) return false;
    }
    q->w->weights_file = program_weights_file(p);
    if (any && p->mode != WEIGHTS_C) add_file(q, format(q->c, "%s_weights.bin", p->name));
    else return folder_remove(&q->folder, bin);
    return true;
}
static bool put_program(struct writer *q) {
    struct program *p = q->p;
    struct text t = {0};
    entry_header(p, &t);
    if (!put_code(q, format(q->c, "%s.h", p->name), &t)) return false;
    entry_source(p, &t);
    add_source(q, format(q->c, "%s.c", p->name));
    if (!put_code(q, format(q->c, "%s.c", p->name), &t)) return false;
    q->w->info = format(q->c, "%s_info.c", p->name);
    add_source(q, q->w->info);
    template_text(&t, "templates/project/info.c", info_values(p));
    if (!put_code(q, q->w->info, &t)) return false;
    if (p->nall > 1) variants_header(p, &t);
    if (p->nall > 1 && !put_code(q, format(q->c, "%s_variants.h", p->name), &t)) return false;
    for (int k = 0; k < p->nall; k++) {
        struct program *v = p->all[k];
        if (p->nall > 1) {
            entry_variant(v, &t);
            add_source(q, format(q->c, "%s.c", v->own));
            if (!put_code(q, format(q->c, "%s.c", v->own), &t)) return false;
        }
        kernels_header(v, &t);
        if (!put_code(q, format(q->c, "%s_kernels.h", v->own), &t)) return false;
    }
    return true;
}
static const char *joined(struct writer *q, const char *before, const char *between, bool objects) {
    const char *s = "";
    for (int k = 0; k < q->w->sources.n; k++) {
        const char *name = q->w->sources.v[k];
        if (objects) name = format(q->c, "%.*s.o", (int)(strrchr(name, '.') - name), name);
        s = format(q->c, "%s%s%s%s%s", s, k ? between : "", before, name, before);
    }
    return s;
}
/* The sources with an ending, or all the others. */
static const char *of_kind(struct writer *q, const char *ending, bool with) {
    const char *s = "";
    for (int k = 0; k < q->w->sources.n; k++)
        if (!strcmp(strrchr(q->w->sources.v[k], '.'), ending) == with)
            s = format(q->c, "%s%s%s", s, *s ? " " : "", q->w->sources.v[k]);
    return s;
}
/* The `ar` of a cross compiler. */
static const char *archiver(struct writer *q, const char *cc) {
    return cc && ends_with(cc, "-gcc") ? format(q->c, "%.*s-ar", (int)strlen(cc) - 4, cc) : "ar";
}
static bool put_template(struct writer *q, const char *from, const char *to, const char *const *values) {
    struct text t = {0};
    template_text(&t, from, values);
    bool code = ends_with(to, ".c") || ends_with(to, ".h");
    return (code ? put_code : put_file)(q, to, &t);
}
static bool put_runtime(struct writer *q, const char *const *values) {
    struct text t = {0};
    template_text(&t, "runtime_stub/nn_rt.c", values);
    if (!q->p->o->c99_strict) text_char(&t, '\n'), template_text(&t, "runtime_stub/nn_cpu.c", values);
    return put_code(q, "nn_rt.c", &t);
}
/* What a program without operating system needs. */
static bool put_board(struct writer *q, const char *const *values) {
    static const char *const sources[] = {"startup.c", "semihost.c"};
    if (!q->p->o->target->board) return true;
    for (int k = 0; k < 2; k++) {
        if (!put_template(q, format(q->c, "templates/project/bare/%s", sources[k]), sources[k], values)) return false;
        PUSH(&q->c->arena, &q->w->board, sources[k]);
    }
    return put_template(q, "templates/project/bare/board.ld", "board.ld", bare_values(q->p));
}
/* With an operating system: a library that programs in any language can load, share and install. */
static bool put_library(struct writer *q) {
    static const char *const files[][2] = {{"export.c", "_export.c"},   {"exports.map", ".map"},
                                           {"pkgconfig.in", ".pc.in"},  {"nn_model.py", "nn_model.py"},
                                           {"crate.rs", ".rs"},         {"build.rs", "build.rs"},
                                           {"Cargo.toml", "Cargo.toml"}};
    bool ok = true;
    for (size_t k = 0; k < sizeof files / sizeof *files && ok && !q->p->o->target->board; k++) {
        const char *to = files[k][1];
        ok = put_template(q, format(q->c, "templates/project/%s", files[k][0]),
                          *to == '_' || *to == '.' ? format(q->c, "%s%s", q->p->name, to) : to, library_values(q->p));
    }
    return ok;
}
/* The part of a project file for a library; "" for a board. */
static const char *library_part(struct writer *q, const char *from) {
    struct text t = {0};
    if (!q->p->o->target->board) template_text(&t, format(q->c, "templates/project/%s", from), library_values(q->p));
    const char *s = format(q->c, "%s", t.s ? t.s : "");
    text_free(&t);
    return s;
}
/* The command that runs bench; a weights file is its third argument. */
static const char *bench_words(struct writer *q, const char *file) {
    const struct target *t = q->p->o->target;
    const char *words = *file ? format(q->c, "50 5 %s", file) : "";
    if (t->board) return format(q->c, "%s ./bench%s", t->runner, *file ? format(q->c, " -append '%s'", words) : "");
    return format(q->c, "%s%s./bench%s%s", t->runner ? t->runner : "", t->runner ? " " : "", *words ? " " : "", words);
}
static bool put_templates(struct writer *q) {
    struct program *p = q->p;
    /* from, to ("_": prefixed with the model's name), and the file used instead for a GPU (NULL: none) */
    static const char *const files[][3] = {
        {"templates/project/io.h", "_io.h", "templates/project/io.h"},
        {"templates/project/run_main.c", "_main.c", "templates/project/run_main.c"},
        {"templates/project/selftest.c", "selftest.c", "templates/project/selftest.c"},
        {"templates/project/bench.c", "bench.c", "templates/project/bench.c"},
        {"templates/project/Makefile", "Makefile", "templates/project/cuda/Makefile"},
        {"templates/project/meson.build", "meson.build", NULL},
        {"templates/project/CMakeLists.txt", "CMakeLists.txt", "templates/project/cuda/CMakeLists.txt"},
        {"templates/project/README.md", "README.md", "templates/project/cuda/README.md"},
        {"runtime_stub/nn_rt.h", "nn_rt.h", "runtime_stub/nn_rt.h"},
        {"runtime_stub/nn_model.h", "nn_model.h", "runtime_stub/nn_model.h"},
        {"templates/project/nn_model.hpp", "nn_model.hpp", "templates/project/nn_model.hpp"},
        {NULL, "nn_rt_cuda.h", "runtime_stub/nn_rt_cuda.h"},
        {NULL, "nn_rt_cuda.cu", "runtime_stub/nn_rt_cuda.cu"},
        {NULL, "nn_cuda_dev.h", "runtime_stub/nn_cuda_dev.h"},
        {NULL, "cuda_emu.h", "templates/cuda_emu/cuda_emu.h"},
        {NULL, "cuda_emu.cpp", "templates/cuda_emu/cuda_emu.cpp"}};
    bool board = p->o->target->board != NULL, assembly = p->mode == WEIGHTS_INCBIN && p->weights_bytes > WEIGHTS_HEADER;
    const char *file = q->w->weights_file ? format(q->c, "%s_weights.bin", p->name) : "";
    const char *name = q->w->cflags + strlen("-std="), *std = format(q->c, "%.*s", (int)strcspn(name, " "), name);
    const char *rest = strchr(q->w->cflags, ' ') ? strchr(q->w->cflags, ' ') + 1 : "";
    const char *values[] = {
        "NAME",
        p->name,
        "UPPER",
        p->upper,
        "TARGET",
        program_targets(p),
        "CC",
        p->o->target->cc ? p->o->target->cc : "cc",
        "AR",
        archiver(q, p->o->target->cc),
        "RUNNER",
        p->o->target->runner ? format(q->c, " %s", p->o->target->runner) : "",
        "CFLAGS",
        q->w->cflags,
        "STD",
        std,
        "OBJECTS",
        format(q->c, "%s nn_rt.o%s", joined(q, "", " ", true), board ? "" : format(q->c, " %s_export.o", p->name)),
        "SOURCES",
        joined(q, "", " ", false),
        "MESON_SOURCES",
        joined(q, "'", ", ", false),
        "MESON_CFLAGS",
        words_joined(q->c, rest, "'", ", "),
        "CMAKE_CFLAGS",
        words_joined(q->c, q->w->cflags, "", ";"),
        "LANGUAGES",
        format(q->c, "C%s%s", assembly ? " ASM" : "", q->w->cpp ? " CXX" : ""),
        "CXX_WORDS",
        q->w->cpp ? format(q->c, "ifeq ($(origin CXX),default)\nCXX = %s\nendif\nCXXFLAGS ?= -O2\n", q->w->cxx) : "",
        "CPP_RULE",
        q->w->cpp ? format(q->c, "%%.o: %%.cpp\n\t$(CXX) $(CXXFLAGS) %s%s -I$(SRC) -c $< -o $@\n", q->w->cxxflags,
                           board ? "" : " -fPIC")
                  : "",
        "MESON_LANGUAGES",
        q->w->cpp ? "'c', 'cpp'" : "'c'",
        "MESON_CPP_STD",
        q->w->cpp ? ", 'cpp_std=c++17'" : "",
        "MESON_CPP_ARGS",
        q->w->cpp ? format(q->c, "\n  cpp_args: [%s],", words_joined(q->c, rest, "'", ", ")) : "",
        "CMAKE_CPP",
        q->w->cpp ? format(q->c, "target_compile_options(%s PRIVATE $<$<COMPILE_LANGUAGE:CXX>:%s>)\n", p->name,
                           words_joined(q->c, q->w->cxxflags, "", ";"))
                  : "",
        "LDFLAGS",
        *q->w->ldflags ? format(q->c, " %s", q->w->ldflags) : "",
        "BENCH",
        bench_words(q, file),
        "BOARD_FLAGS",
        board ? format(q->c, " %s", q->w->cflags) : "",
        "BOARD_SOURCES",
        board ? " startup.c semihost.c" : "",
        "MESON_BOARD",
        board ? ", 'startup.c', 'semihost.c'" : "",
        "MESON_LDFLAGS",
        *q->w->ldflags ? format(q->c, ", link_args: [%s]", words_joined(q->c, q->w->ldflags, "'", ", ")) : "",
        "CMAKE_LDFLAGS",
        *q->w->ldflags ? format(q->c, "\n    target_link_options(${program} PRIVATE %s)", q->w->ldflags) : "",
        "WEIGHTS_ARG",
        *file ? format(q->c, " %s%s", board ? "-append " : "", file) : "",
        "MESON_WEIGHTS_ARG",
        *file ? format(q->c, "'%s'", file) : "",
        "WEIGHTS_RULE",
        assembly ? format(q->c, "%s_weights.o: %s_weights.bin\n", p->name, p->name) : "",
        "CMAKE_WEIGHTS",
        assembly ? format(q->c,
                          "set_source_files_properties(%s_weights.S PROPERTIES OBJECT_DEPENDS "
                          "${CMAKE_CURRENT_SOURCE_DIR}/%s_weights.bin\n"
                          "  COMPILE_OPTIONS -I${CMAKE_CURRENT_SOURCE_DIR})\n",
                          p->name, p->name)
                 : "",
        "NVCC_FLAGS",
        q->w->nvcc_flags,
        "EMU_FLAGS",
        q->w->emu_flags,
        "CMAKE_EMU_FLAGS",
        words_joined(q->c, q->w->emu_flags, "", ";"),
        "CUDA_ARCH",
        strstr(q->w->nvcc_flags, "sm_") ? strstr(q->w->nvcc_flags, "sm_") + 3 : "75",
        "CU_SOURCES",
        of_kind(q, ".cu", true),
        "C_SOURCES",
        of_kind(q, ".cu", false),
        "LIBS",
        format(q->c, "%s%s", program_has_pool(p) ? " -pthread" : "", q->w->cpp ? " -lstdc++" : ""),
        "MESON_LIBS",
        program_has_pool(p) ? "[m, dependency('threads')]" : "m",
        "CMAKE_THREADS",
        program_has_pool(p) ? "find_package(Threads REQUIRED)\n" : "",
        "CMAKE_LIBS",
        program_has_pool(p) ? " Threads::Threads" : "",
        "README_THREADS",
        program_has_pool(p) ? "| `nn_threads.h`, `nn_pool.h`, `nn_pool.c` | threads that run parts of "
                              "kernels, if the configuration names them |\n"
                            : "",
        "RUN_THREADS",
        program_has_pool(p) ? "        else if (strcmp(argv[at], \"--threads\") == 0) "
                              "io_threads(&s.config, atoi(argv[at + 1]));\n"
                            : "",
        "BENCH_THREADS",
        program_has_pool(p) ? format(q->c, "    io_threads(&s.config, %d);\n", p->o->threads) : "",
        "IO_THREADS",
        program_has_pool(p) ? library_part(q, "io_threads.h") : "",
        "README_LIBRARY",
        library_part(q, "library.md"),
        "VERSION",
        GCC2NN_VERSION,
        "PIC",
        board ? "" : " -fPIC",
        "EXPORT_SOURCE",
        board ? "" : format(q->c, " %s_export.c", p->name),
        "MESON_EXPORT_SOURCE",
        board ? "" : format(q->c, ", '%s_export.c'", p->name),
        "MESON_SHARED",
        board ? "" : library_part(q, "library.meson"),
        "MESON_INSTALL",
        library_part(q, "install.meson"),
        "MAKE_SHARED",
        library_part(q, "shared.mk"),
        "MAKE_SHARED_TEXT",
        board ? ""
              : format(q->c,
                       "# `make shared` builds lib%s.so; `make install prefix=/usr/local` puts libraries, headers, the "
                       "file of pkg-config and data there.\n",
                       p->name),
        "CMAKE_SHARED",
        library_part(q, "shared.cmake"),
        NULL};
    bool ok = true;
    for (size_t k = 0; k < sizeof files / sizeof *files && ok; k++) {
        const char *from = files[k][p->device ? 2 : 0], *to = files[k][1];
        if (from) ok = put_template(q, from, *to == '_' ? format(q->c, "%s%s", p->name, to) : to, values);
    }
    ok = ok && put_runtime(q, values);
    if (ok && p->emit.uses->text)
        ok = put_template(q, "runtime_stub/nn_text.h", "nn_text.h", values) &&
             put_template(q, "runtime_stub/nn_text.c", "nn_text.c", values);
    if (ok && p->threads) ok = put_template(q, "runtime_stub/nn_threads.h", "nn_threads.h", values);
    if (ok && program_has_pool(p))
        ok = put_template(q, "runtime_stub/nn_pool.h", "nn_pool.h", values) &&
             put_template(q, "runtime_stub/nn_pool.c", "nn_pool.c", values);
    if (ok && p->o->target->runner) ok = put_template(q, "templates/emulator/count.c", "count.c", values);
    if (ok) ok = put_board(q, values) && put_library(q);
    return ok;
}
/* Dependencies in the syntax of make and ninja: the folder depends on the model and its external data. */
static void make_word(struct text *t, const char *s) {
    for (; *s; s++) {
        if (*s == ' ' || *s == '#' || *s == ':') text_char(t, '\\');
        if (*s == '$') text_char(t, '$');
        text_char(t, *s);
    }
}
static bool put_depfile(struct writer *q) {
    struct text t = {0};
    make_word(&t, format(q->c, "%s/%s.c", q->w->folder, q->w->name));
    text_add(&t, ":");
    for (int k = 0; k < q->c->files_read.n; k++) {
        text_add(&t, " \\\n  ");
        make_word(&t, q->c->files_read.v[k]);
    }
    text_add(&t, "\n");
    return put_file(q, format(q->c, "%s.d", q->w->name), &t);
}
static bool put_manifest(struct writer *q) {
    struct text t = {0};
    add_file(q, "manifest.json");
    project_manifest(q->w, &t); /* lists itself, too */
    return write_file(q, "manifest.json", &t);
}

struct project *project_write(const struct module *m, const struct memory_plan *plan, const struct project_options *o,
                              const char *folder) {
    struct ctx *c = m->ctx;
    struct writer writer = {.c = c}, *q = &writer;
    if (!(q->p = programs_new(m, plan, o)) || !folder_begin(&q->folder, c, folder)) return NULL;
    q->w = NEW(&c->arena, struct project);
    *q->w = (struct project){.folder = q->folder.given, .name = q->p->name, .program = q->p};
    struct text flags = {0};
    emit_cflags(&flags, &q->p->emit);
    q->w->cflags = format(q->c, "%s", flags.s);
    text_free(&flags);
    const char *cc = o->target->cc;
    q->w->cxx = cc && ends_with(cc, "gcc") ? format(q->c, "%.*sg++", (int)strlen(cc) - 3, cc) : "c++";
    q->w->cxxflags = format(q->c, "-std=c++17%s", strchr(q->w->cflags, ' '));
    q->w->nvcc_flags = format(q->c, "-std=c++14 -fmad=false %s", o->target->cflags ? o->target->cflags : "");
    q->w->emu_flags = "-std=c++17 -ffp-contract=off -DNN_CUDA_EMU";
    q->w->ldflags = o->target->board ? "-nostartfiles -specs=nosys.specs -T board.ld" : "";
    if (put_weights(q) && (!o->allow || o->allow(o->allow_env, q->p)) && put_program(q) && put_kernels(q) &&
        foreign_files(q->p, put_foreign_file, q) && put_templates(q) && (!o->depfile || put_depfile(q)) &&
        put_manifest(q) && !c->diags.errors)
        return folder_commit(&q->folder) ? q->w : NULL;
    folder_abandon(&q->folder);
    return NULL;
}
