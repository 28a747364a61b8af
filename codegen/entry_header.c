/* NAME.h, which users of the generated code read: types, functions, sizes and metadata. See program.h. */
#include "codegen/foreign_files.h"
#include "codegen/program.h"
#include "codegen/weights.h"
#include <string.h>

/* One line of a comment, from texts that may come from the model. */
static void comment_line(struct text *out, const char *before, const char *s) {
    text_add(out, before);
    emit_comment_text(out, s);
    text_char(out, '\n');
}
static void arena_example(struct program *p, struct text *out) {
    const char *n = p->name, *more = p->has_region ? "    (and more: see below)" : "";
    if (p->is_static) text_printf(out, " *     config.arena_size = %s_ARENA_BYTES;%s\n", p->upper, more);
    else text_printf(out, " *     %s_dims dims = {...};\n *     config.arena_size = %s_arena(&dims);%s\n", n, n, more);
    text_add(out, " *     config.arena = aligned_alloc(64, config.arena_size);\n");
}
static void example(struct program *p, struct text *out) {
    const char *n = p->name;
    text_printf(out, " *\n *     %s model;\n", n);
    text_printf(out, " *     %s_config config = {0};%s\n", n, p->device ? "    (config.stream = ...)" : "");
    if (!p->device) arena_example(p, out);
    if (p->mode == WEIGHTS_FILE)
        text_printf(out,
                    " *     config.weights = ...;    config.weights_size = %s_WEIGHTS_BYTES;    (%s_weights.bin)\n",
                    p->upper, n);
    text_printf(out, " *     int status = %s_init(&model, &config);\n", n);
    text_printf(out, " *     %s_inputs in = {...};\n *     %s_outputs out = {...};\n", n, n);
    text_printf(out, " *     if (status == NN_OK) status = %s_run(&model, &in, &out);\n", n);
    text_add(out, " *     if (status != NN_OK) puts(model.error.what);\n");
    if (p->device) text_printf(out, " *     %s_free(&model);\n", n);
    text_add(out, " *\n");
}
static void how_to_use(struct program *p, struct text *out) {
    text_printf(out, "/* %s: a neural network as C", p->name);
    if (p->o->model_file) {
        text_add(out, ", made by gcc2nn from ");
        emit_comment_text(out, p->o->model_file);
    }
    text_add(out, ".\n");
    if (p->o->producer) comment_line(out, " * The model was written by ", p->o->producer);
    example(p, out);
    text_add(out,
             p->device
                 ? " * The kernels run on a GPU, in the order of config.stream. Weights are copied to the device in "
                   "init, inputs and\n * outputs are the host's and are copied in each run, which returns when all "
                   "is done. There is no state outside of the\n * context: any number of contexts may run at the "
                   "same time, each with its own stream and arena. */\n"
                 : " * No function allocates memory, prints or keeps state outside of the context: any number of "
                   "contexts may run at the\n"
                   " * same time, each with its own arena. Inputs are not changed; outputs must not overlap "
                   "them. */\n");
}
static void dims_type(struct program *p, struct text *out) {
    if (!p->syms.n) return;
    text_add(out, "/* The sizes that the caller chooses. */\ntypedef struct {\n");
    for (int k = 0; k < p->syms.n; k++) {
        const struct sym *s = p->syms.v[k];
        text_printf(out, "    int64_t %s;    /* %lld to %lld */\n", program_sym(p, s), (long long)s->lo,
                    (long long)s->hi);
    }
    text_printf(out, "} %s_dims;\n\n", p->name);
}
static void io_comment(struct program *p, struct text *out, const struct io *io) {
    text_printf(out, "    /* ");
    emit_comment_text(out, shape_text(p, io->buf));
    if (strcmp(io->buf->name, io->member)) {
        text_add(out, ", ");
        emit_comment_text(out, io->buf->name);
    }
    if (dtype_bits(io->buf->type) < 8 && io->buf->type != STR) text_add(out, ", one element in each byte");
    text_add(out, " */\n");
}
static void inputs_type(struct program *p, struct text *out) {
    text_add(out, "typedef struct {\n");
    if (p->syms.n) text_printf(out, "    %s_dims dims;\n", p->name);
    for (int k = 0; k < p->ins.n; k++) {
        text_printf(out, "    const %s *%s;", dtype_c(p->ins.v[k].buf->type), p->ins.v[k].member);
        io_comment(p, out, &p->ins.v[k]);
    }
    if (!p->syms.n && !p->ins.n) text_add(out, "    char nothing;    /* the model has no inputs */\n");
    text_printf(out, "} %s_inputs;\n\n", p->name);
}
static void outputs_type(struct program *p, struct text *out) {
    text_add(out, "typedef struct {\n");
    for (int k = 0; k < p->out_dims.n; k++)
        text_printf(out, "    int64_t %s;    /* set by the run */\n", p->out_dims.v[k].name);
    for (int k = 0; k < p->outs.n; k++) {
        const struct io *io = &p->outs.v[k];
        text_printf(out, "    %s *%s;", dtype_c(io->buf->type), io->member);
        io_comment(p, out, io);
        if (io->produced)
            text_printf(out,
                        "    size_t %s;    /* elements that %s has room for; 0: %s is set to point into the arena, "
                        "valid until the next run */\n",
                        io->cap, io->member, io->member);
    }
    if (!p->outs.n) text_add(out, "    char nothing;    /* the model has no outputs */\n");
    text_printf(out, "} %s_outputs;\n\n", p->name);
}
static void config_type(struct program *p, struct text *out) {
    text_printf(
        out,
        "typedef struct {\n"
        "    void *arena;               /* %s */\n"
        "    size_t arena_size;\n%s"
        "    const void *weights;       /* %s */\n"
        "    size_t weights_size;\n"
        "    int64_t max_iterations;    /* of all loops of a run together; 0: 2147483647 */\n"
        "    /* Called if the arena is too small for a run. To start the run again, provide a larger one and return "
        "true. May be NULL. */\n"
        "    int (*grow)(void *user, size_t need, void **arena, size_t *arena_size);\n"
        "    void *user;\n%s%s"
        "} %s_config;\n\n",
        p->device ? "memory of the device, aligned to 64 bytes; NULL: the context allocates it, and more when "
                    "it must"
                  : "aligned to 64 bytes; the context uses it until the last run",
        p->device ? "    void *stream;              /* a cudaStream_t; NULL: the default stream */\n" : "",
        p->mode == WEIGHTS_FILE ? "contents of the weights file, aligned to 64 bytes"
                                : "NULL: those that are part of the program",
        p->threads ? "    nn_threads *threads;       /* threads that run parts of kernels; NULL: only the caller's */\n"
                   : "",
        program_any_needs(p)
            ? "    const char *without;       /* instruction sets not to use, as in \"avx512f avx2\"; NULL: none */\n"
            : "",
        p->name);
}
/* Number of elements of `at`: that of the variant with the most. */
static int places(const struct program *lead) {
    int most = 0;
    for (int j = 0; j < lead->nall; j++) {
        const struct program *p = lead->all[j];
        int n = 1 + p->extras.n;
        for (int k = 0; k < p->plan->slots.n; k++) n += slot_placed(&p->plan->slots.v[k]);
        if (n > most) most = n;
    }
    return most;
}
static void context_type(struct program *p, struct text *out) {
    text_printf(out,
                "/* The context. Callers should only read `error`. */\ntypedef struct {\n    nn_error error;\n    "
                "%s_config config;\n",
                p->name);
    text_printf(out, "    const unsigned char *weights;\n    int ready;    /* %s_init succeeded */\n", p->name);
    if (p->nall > 1) text_add(out, "    int variant;    /* the one that the CPU runs */\n");
    if (!p->is_static)
        text_printf(out, "    %s_dims dims;    /* of the plan below */\n    int64_t total;\n    int64_t at[%d];\n",
                    p->name, places(p));
    if (p->device) text_add(out, "    nn_cuda cuda;\n");
    if (p->has_region) text_printf(out, "    %s region;\n", region_words(p)->type);
    if (p->has_region && p->device)
        text_printf(out, "    nn_cuda_block blocks[%d];\n    nn_cuda_host results[%d];\n", 2 * p->nregions + 2,
                    p->outs.n ? p->outs.n : 1);
    text_printf(out, "} %s;\n\n", p->name);
}
static void io_metadata(struct program *p, struct text *out, const struct io *io, const char *kind, int k) {
    int64_t n;
    text_printf(out, "#define %s_%s_%d_NAME ", p->upper, kind, k);
    emit_cut_string(out, io->buf->name, strlen(io->buf->name));
    text_printf(out, "\n#define %s_%s_%d_SHAPE ", p->upper, kind, k);
    const char *shape = shape_text(p, io->buf);
    emit_cut_string(out, shape, strlen(shape));
    text_add(out, "\n");
    if (x_is_int(buf_elements(p->c, io->buf), &n))
        text_printf(out, "#define %s_%s_%d_ELEMENTS %lld\n", p->upper, kind, k, (long long)n);
}
static void metadata(struct program *p, struct text *out) {
    if (p->is_static) text_printf(out, "#define %s_ARENA_BYTES %lld\n", p->upper, (long long)p->arena_bytes);
    if (p->has_region)
        text_printf(out,
                    "/* Buffers whose sizes are found during a run need arena memory beyond what %s says: provide "
                    "more, or read\n"
                    " * error.need after NN_EARENA and try again, or set config.grow. */\n#define %s_HAS_REGION 1\n",
                    p->is_static ? "ARENA_BYTES" : "the function arena", p->upper);
    text_printf(out, "#define %s_WEIGHTS_BYTES %lld\n", p->upper, (long long)weights_size(p));
    text_printf(out, "#define %s_MODEL_HASH \"%016llx\"\n", p->upper, (unsigned long long)p->o->model_hash);
    text_printf(out, "#define %s_TARGET ", p->upper);
    emit_string(out, program_targets(p), strlen(program_targets(p)));
    if (program_any_needs(p))
        text_printf(out, "\n/* Instruction sets that %s_init checks the CPU for. */\n#define %s_NEEDS \"%s\"", p->name,
                    p->upper, program_needs(p->all[p->nall - 1]) ? program_needs(p->all[p->nall - 1]) : "");
    text_printf(out, "\n#define %s_INPUTS %d\n#define %s_OUTPUTS %d\n#define %s_SYMBOLS %d\n", p->upper, p->ins.n,
                p->upper, p->outs.n, p->upper, p->syms.n);
    for (int k = 0; k < p->ins.n; k++) io_metadata(p, out, &p->ins.v[k], "INPUT", k);
    for (int k = 0; k < p->outs.n; k++) io_metadata(p, out, &p->outs.v[k], "OUTPUT", k);
    text_char(out, '\n');
}
void entry_header(struct program *p, struct text *out) {
    how_to_use(p, out);
    text_printf(
        out,
        "#ifndef GCC2NN_%s_H\n#define GCC2NN_%s_H\n#include \"nn_model.h\"\n%s%s\n#ifdef __cplusplus\nextern \"C\" "
        "{\n#endif\n\n",
        p->upper, p->upper, p->device ? "#include \"nn_rt_cuda.h\"\n" : "",
        p->threads ? "#include \"nn_threads.h\"\n" : "");
    metadata(p, out);
    dims_type(p, out);
    inputs_type(p, out);
    outputs_type(p, out);
    config_type(p, out);
    context_type(p, out);
    text_printf(
        out, "int %s_init(%s *m, const %s_config *config);\nint %s_run(%s *m, const %s_inputs *in, %s_outputs *out);\n",
        p->name, p->name, p->name, p->name, p->name, p->name, p->name);
    if (p->device)
        text_printf(out,
                    "/* Frees the context's memory on the device; also needed after a failed init. */\nvoid "
                    "%s_free(%s *m);\n",
                    p->name, p->name);
    if (!p->is_static)
        text_printf(out,
                    "/* Bytes of arena that a run with these dims needs%s; 0: dims out of range. */\nsize_t "
                    "%s_arena(const %s_dims *dims);\n",
                    p->has_region ? ", without buffers whose sizes are found during the run" : ", exactly", p->name,
                    p->name);
    text_printf(
        out,
        "/* Bytes of the context, for callers that do not know its type; and a description of the model with functions "
        "for any\n * caller: nn_model.h. */\nsize_t %s_sizeof(void);\nconst struct gcc2nn_model_v1 "
        "*%s_info(void);\n",
        p->name, p->name);
    text_add(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
void kernels_header(struct program *p, struct text *out) {
    const char *capitals = program_capitals(p->c, p->own);
    text_printf(out,
                "/* Internal to %s: its kernels%s. Not for users of the model. */\n#ifndef "
                "GCC2NN_%s_KERNELS_H\n#define GCC2NN_%s_KERNELS_H\n#include \"nn_rt.h\"\n%s\n",
                p->name, p->nall > 1 ? "" : " and weights", capitals, capitals,
                p->threads ? "#include \"nn_threads.h\"\n" : "");
    if (p->device) text_add(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    if (p->nall == 1) weights_declaration(p, out);
    for (int k = 0; k < p->m->procs.n; k++) {
        if (p->m->procs.v[k]->launch)
            continue; /* a kernel of the GPU, declared in the file of the procedure that
                       * launches it */
        emit_proc_head(out, p->c, p->m->procs.v[k], &p->emit);
        text_add(out, ";\n");
    }
    foreign_declarations(p, out);
    text_add(out, p->device ? "#ifdef __cplusplus\n}\n#endif\n#endif\n" : "#endif\n");
}
void variants_header(struct program *p, struct text *out) {
    text_printf(out,
                "/* Internal to %s: the weights, and the run of each variant. Not for users of the model. */\n#ifndef "
                "GCC2NN_%s_VARIANTS_H\n#define GCC2NN_%s_VARIANTS_H\n#include \"%s.h\"\n\n",
                p->name, p->upper, p->upper, p->name);
    weights_declaration(p, out);
    for (int k = 0; k < p->nall; k++) {
        const char *own = p->all[k]->own;
        if (!p->is_static) text_printf(out, "size_t %s_arena(const %s_dims *dims);\n", own, p->name);
        text_printf(out, "int %s_run(%s *m, const %s_inputs *in, %s_outputs *out);\n", own, p->name, p->name, p->name);
    }
    text_add(out, "#endif\n");
}
