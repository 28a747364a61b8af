/* The tables of NAME_io.h: the model's inputs, outputs and symbols for programs that treat all models alike. The
 * functions around them are in templates/project/io.h. */
#include "codegen/program.h"
#include <string.h>

static void names_table(struct text *out, const char *which, const struct io *v, int n) {
    text_printf(out, "static const char *const io_%s_names[%d] = {", which, n + 1);
    for (int k = 0; k < n; k++) {
        emit_chars(out, v[k].buf->name, strlen(v[k].buf->name));
        text_add(out, ", ");
    }
    text_add(out, "NULL};\n");
}
static void symbols_table(struct program *p, struct text *out) {
    text_printf(out, "static const struct io_symbol io_symbols[%d] = {", p->syms.n + 1);
    for (int k = 0; k < p->syms.n; k++) {
        const struct sym *s = p->syms.v[k];
        text_add(out, "{");
        emit_chars(out, s->name, strlen(s->name));
        text_printf(out, ", %lld, %lld, %lld}, ", (long long)s->lo, (long long)s->hi,
                    (long long)program_reference(p, s));
    }
    text_add(out, "{NULL, 0, 0, 0}};\n");
}
static void shape_case(struct program *p, struct text *out, int k, const struct io *io, struct map *used, bool *over) {
    text_printf(out, "    case %d:\n        tensor->type = %d;    /* %s */\n        tensor->rank = %d;\n", k,
                dtype_onnx(io->buf->type), dtype_name(io->buf->type), io->buf->nd);
    for (int d = 0; d < io->buf->nd; d++) {
        if (io->produced && io->dim[d]) text_printf(out, "        tensor->dims[%d] = out->%s;\n", d, io->dim[d]);
        else text_printf(out, "        tensor->dims[%d] = %s;\n", d, program_size(p, io->buf->dims[d], used, over));
    }
    text_add(out, "        break;\n");
}
/* The types and shapes of v; before them local names for the symbols they use, from the array that the programs have.
 */
static void shape_cases(struct program *p, struct text *out, const struct io *v, int n) {
    struct text cases = {0};
    struct map used = {.arena = &p->c->arena};
    bool over = false;
    int named = 0;
    for (int k = 0; k < n; k++) shape_case(p, &cases, k, &v[k], &used, &over);
    for (int k = 0; k < p->syms.n; k++) {
        if (!map_get(&used, PKEY(p->syms.v[k]))) continue;
        text_printf(out, "    const int64_t %s = symbols[%d];\n", program_sym(p, p->syms.v[k]), k);
        named++;
    }
    if (!named) text_add(out, "    (void)symbols;\n");
    if (over) text_add(out, "    int over = 0;\n");
    text_add(out, "    switch (number) {\n");
    text_add(out, cases.s ? cases.s : "");
    text_add(out, "    default: tensor->rank = 0;\n    }\n}\n");
    text_free(&cases);
}
static bool has_produced(const struct program *p) {
    for (int k = 0; k < p->outs.n; k++)
        if (p->outs.v[k].produced) return true;
    return false;
}
static void shapes(struct program *p, struct text *out) {
    text_add(
        out,
        "/* Type and shape of an input. */\nstatic inline void io_input(int number, const int64_t *symbols, struct "
        "io_tensor *tensor) {\n");
    shape_cases(p, out, p->ins.v, p->ins.n);
    text_add(out,
             "/* Type and shape of an output; sizes that the run finds are in *out after it. */\n"
             "static inline void io_output(int number, const int64_t *symbols, const io_outputs *out, struct io_tensor "
             "*tensor) {\n");
    if (!has_produced(p)) text_add(out, "    (void)out;\n");
    shape_cases(p, out, p->outs.v, p->outs.n);
}
static void input_symbols(struct program *p, struct text *out) {
    text_add(out, "/* The symbol that dim d of input k is, -1: none. */\nstatic inline int io_input_symbol(int k, int "
                  "d) {\n");
    bool any = false;
    for (int k = 0; k < p->ins.n; k++)
        for (int d = 0; d < p->ins.v[k].buf->nd; d++)
            for (int s = 0; s < p->syms.n; s++)
                if (p->ins.v[k].buf->dims[d]->op == X_SYM && p->ins.v[k].buf->dims[d]->u.sym == p->syms.v[s])
                    any = true, text_printf(out, "    if (k == %d && d == %d) return %d;\n", k, d, s);
    if (!any) text_add(out, "    (void)k;\n    (void)d;\n");
    text_add(out, "    return -1;\n}\n");
}
static void members(struct program *p, struct text *out) {
    text_add(out, "static inline void io_set_symbols(io_inputs *in, const int64_t *symbols) {\n");
    if (!p->syms.n) text_add(out, "    (void)in;\n    (void)symbols;\n");
    for (int k = 0; k < p->syms.n; k++)
        text_printf(out, "    in->dims.%s = symbols[%d];\n", program_sym(p, p->syms.v[k]), k);
    text_add(out, "}\nstatic inline void io_set_input(io_inputs *in, int k, const void *data) {\n");
    if (!p->ins.n) text_add(out, "    (void)in;\n    (void)k;\n    (void)data;\n");
    for (int k = 0; k < p->ins.n; k++)
        text_printf(out, "    if (k == %d) in->%s = (const %s *)data;\n", k, p->ins.v[k].member,
                    dtype_c(p->ins.v[k].buf->type));
    text_add(out, "}\nstatic inline void io_set_output(io_outputs *out, int k, void *data) {\n");
    if (!p->outs.n) text_add(out, "    (void)out;\n    (void)k;\n    (void)data;\n");
    for (int k = 0; k < p->outs.n; k++)
        text_printf(out, "    if (k == %d) out->%s = (%s *)data;\n", k, p->outs.v[k].member,
                    dtype_c(p->outs.v[k].buf->type));
    text_add(out, "}\nstatic inline void *io_get_output(const io_outputs *out, int k) {\n");
    if (!p->outs.n) text_add(out, "    (void)out;\n    (void)k;\n");
    for (int k = 0; k < p->outs.n; k++) text_printf(out, "    if (k == %d) return out->%s;\n", k, p->outs.v[k].member);
    text_add(out, "    return NULL;\n}\n/* Is the size of output k known before the run? */\nstatic inline int "
                  "io_output_known(int k) {\n");
    if (!has_produced(p)) text_add(out, "    (void)k;\n");
    for (int k = 0; k < p->outs.n; k++)
        if (p->outs.v[k].produced) text_printf(out, "    if (k == %d) return 0;\n", k);
    text_add(out, "    return 1;\n}\n");
}
static void arena(struct program *p, struct text *out) {
    text_add(out, "/* Bytes of arena to begin with. */\nstatic inline size_t io_arena(const int64_t *symbols) {\n    "
                  "size_t more = ");
    text_printf(out, "%s;\n", p->has_region ? "1 << 16" : "0");
    if (p->is_static) {
        text_printf(out, "    (void)symbols;\n    return %s_ARENA_BYTES + more;\n}\n", p->upper);
        return;
    }
    text_printf(out,
                "    io_inputs in;\n    memset(&in, 0, sizeof in);\n    io_set_symbols(&in, symbols);\n    return "
                "%s_arena(&in.dims) + more;\n}\n",
                p->name);
}
void entry_glue(struct program *p, struct text *out) {
    const char *n = p->name;
    text_printf(out,
                "typedef %s io_model;\ntypedef %s_config io_config;\ntypedef %s_inputs io_inputs;\ntypedef %s_outputs "
                "io_outputs;\n",
                n, n, n, n);
    text_printf(out, "#define io_init(...) %s_init(__VA_ARGS__)\n#define io_run(...) %s_run(__VA_ARGS__)\n", n, n);
    text_printf(out, "enum { IO_INPUTS = %d, IO_OUTPUTS = %d, IO_SYMBOLS = %d, IO_DEVICE = %d };\n", p->ins.n,
                p->outs.n, p->syms.n, p->device);
    text_printf(
        out, p->device ? "#define io_free %s_free\n" : "#define io_free(m) ((void)(m))    /* nothing to do for %s */\n",
        n);
    text_add(out, p->nall > 1 ? "#define io_variant(m) ((m)->variant)\n"
                              : "#define io_variant(m) ((void)(m), 0)    /* there is one */\n");
    names_table(out, "input", p->ins.v, p->ins.n);
    names_table(out, "output", p->outs.v, p->outs.n);
    symbols_table(p, out);
    shapes(p, out);
    input_symbols(p, out);
    members(p, out);
    arena(p, out);
}
