/* The description of the model, NAME_info.c: its inputs, outputs and symbols as tables, and functions that convert the
 * arguments common to all models into those of this one. The functions around them are in templates/project/info.c. */
#include "codegen/program.h"
#include "codegen/weights.h"
#include <string.h>

/* ---- tables */
static int symbol_number(const struct program *p, expr e) {
    for (int k = 0; k < p->syms.n; k++)
        if (e->op == X_SYM && e->u.sym == p->syms.v[k]) return k;
    return -1;
}
static void dims_rows(struct program *p, struct text *out, const struct io *v, int n) {
    for (int k = 0; k < n; k++)
        for (int d = 0; d < v[k].buf->nd; d++) {
            int64_t size;
            if (!x_is_int(v[k].buf->dims[d], &size)) size = -1;
            text_printf(out, "    {%lld, %d},\n", (long long)size, symbol_number(p, v[k].buf->dims[d]));
        }
}
static int state_of(const struct program *p, int output) {
    for (int k = 0; k < p->m->kept.n; k++)
        if (p->m->kept.v[k].output == output) return p->m->kept.v[k].input;
    return -1;
}
/* *at: index of its first row among those of dims. */
static void tensor_table(struct program *p, struct text *out, const char *name, const struct io *v, int n, int *at) {
    text_printf(out, "static const struct gcc2nn_tensor_v1 %s[%d] = {\n", name, n + 1);
    for (int k = 0; k < n; k++) {
        const struct buf *b = v[k].buf;
        const char *shape = shape_text(p, b);
        text_add(out, "    {");
        emit_chars(out, b->name, strlen(b->name));
        text_add(out, ", ");
        emit_chars(out, shape, strlen(shape));
        text_printf(out, ", %d, (int32_t)sizeof(%s), %d, %d, %d, io_dims + %d},\n", dtype_onnx(b->type),
                    dtype_c(b->type), b->nd, v[k].produced, v == p->outs.v ? state_of(p, k) : -1, *at);
        *at += b->nd;
    }
    text_add(out, "    {NULL, NULL, 0, 0, 0, 0, -1, NULL},\n};\n");
}
static void symbol_table(struct program *p, struct text *out) {
    text_printf(out, "static const struct gcc2nn_symbol_v1 io_symbols[%d] = {\n", p->syms.n + 1);
    for (int k = 0; k < p->syms.n; k++) {
        const struct sym *s = p->syms.v[k];
        text_add(out, "    {");
        emit_chars(out, s->name, strlen(s->name));
        text_printf(out, ", %lld, %lld, %lld},\n", (long long)s->lo, (long long)s->hi,
                    (long long)program_reference(p, s));
    }
    text_add(out, "    {NULL, 0, 0, 0},\n};\n");
}
/* ---- sizes */
/* The dims of each of v, before a run: local variables for the symbols they use, then a case for each. */
static void dims_function(struct program *p, struct text *out, const char *name, const struct io *v, int n) {
    struct text cases = {0};
    struct map used = {.arena = &p->c->arena};
    bool over = false;
    int named = 0;
    for (int k = 0; k < n; k++) {
        text_printf(&cases, "    case %d:\n", k);
        for (int d = 0; d < v[k].buf->nd; d++)
            text_printf(&cases, "        size[%d] = %s;\n", d,
                        v[k].produced && v[k].dim[d] ? "-1" : program_size(p, v[k].buf->dims[d], &used, &over));
        text_add(&cases, "        break;\n");
    }
    text_printf(out, "static int %s(int32_t number, const int64_t *symbols, int64_t *size) {\n", name);
    for (int k = 0; k < p->syms.n; k++) {
        if (!map_get(&used, PKEY(p->syms.v[k]))) continue;
        text_printf(out, "    const int64_t %s = symbols[%d];\n", program_sym(p, p->syms.v[k]), k);
        named++;
    }
    if (!named) text_add(out, "    (void)symbols;\n");
    if (over) text_add(out, "    int over = 0;\n");
    if (!strstr(cases.s ? cases.s : "", "size[")) text_add(out, "    (void)size;\n");
    text_printf(out, "    switch (number) {\n%s    default: return NN_EARG;\n    }\n", cases.s ? cases.s : "");
    if (over) text_add(out, "    if (over) return NN_EDIMS;\n");
    text_add(out, n ? "    return NN_OK;\n}\n" : "}\n");
    text_free(&cases);
}
static void arena_function(struct program *p, struct text *out) {
    text_add(out, "static int io_arena(const int64_t *symbols, size_t *size) {\n");
    if (p->is_static) {
        text_printf(out, "    (void)symbols;\n    *size = %s_ARENA_BYTES;\n    return NN_OK;\n}\n", p->upper);
        return;
    }
    text_printf(out, "    %s_dims d;\n", p->name);
    for (int k = 0; k < p->syms.n; k++) text_printf(out, "    d.%s = symbols[%d];\n", program_sym(p, p->syms.v[k]), k);
    text_printf(out, "    *size = %s_arena(&d);\n    return *size ? NN_OK : NN_EDIMS;\n}\n", p->name);
}
static void tables(struct program *p, struct text *out) {
    int at = 0;
    text_add(out, "static const struct gcc2nn_dim_v1 io_dims[] = {\n");
    dims_rows(p, out, p->ins.v, p->ins.n);
    dims_rows(p, out, p->outs.v, p->outs.n);
    text_add(out, "    {-1, -1},\n};\n");
    tensor_table(p, out, "io_inputs", p->ins.v, p->ins.n, &at);
    tensor_table(p, out, "io_outputs", p->outs.v, p->outs.n, &at);
    symbol_table(p, out);
    text_char(out, '\n');
    dims_function(p, out, "io_input_dims", p->ins.v, p->ins.n);
    dims_function(p, out, "io_output_dims", p->outs.v, p->outs.n);
    arena_function(p, out);
    text_printf(out, "static int io_variant(const void *context) { %s; }\n",
                p->nall > 1 ? format(p->c, "return ((const %s *)context)->variant", p->name)
                            : "return (void)context, 0");
    text_printf(out, "static void io_close(void *context) { %s; }\n",
                p->device ? format(p->c, "%s_free((%s *)context)", p->name, p->name) : "(void)context");
}
/* ---- a run */
static void take(struct program *p, struct text *out) {
    for (int k = 0; k < p->syms.n; k++)
        text_printf(out, "    in.dims.%s = symbols[%d];\n", program_sym(p, p->syms.v[k]), k);
    for (int k = 0; k < p->ins.n; k++)
        text_printf(out, "    in.%s = (const %s *)inputs[%d];\n", p->ins.v[k].member, dtype_c(p->ins.v[k].buf->type),
                    k);
    for (int k = 0; k < p->outs.n; k++) {
        const struct io *io = &p->outs.v[k];
        text_printf(out, "    out.%s = (%s *)results[%d].data;\n", io->member, dtype_c(io->buf->type), k);
        if (io->produced) text_printf(out, "    out.%s = results[%d].capacity;\n", io->cap, k);
    }
}
static void give(struct program *p, struct text *out) {
    for (int k = 0; k < p->outs.n; k++) {
        const struct io *io = &p->outs.v[k];
        if (!io->produced) continue;
        text_printf(out, "    results[%d].data = out.%s;\n", k, io->member);
        for (int d = 0; d < io->buf->nd; d++)
            if (io->dim[d]) text_printf(out, "    results[%d].dims[%d] = out.%s;\n", k, d, io->dim[d]);
    }
}
static void config(struct program *p, struct text *out) {
    if (p->threads) text_add(out, "    config.threads = (nn_threads *)given->threads;\n");
    if (p->device) text_add(out, "    config.stream = given->stream;\n");
    if (program_any_needs(p)) text_add(out, "    config.without = given->without;\n");
}
/* Its origin, the first members of the structure. */
static void facts(struct program *p, struct text *out) {
    const char *const v[] = {p->name, program_targets(p), "gcc2nn " GCC2NN_VERSION,
                             p->o->model_file ? p->o->model_file : "",
                             format(p->c, "%016llx", (unsigned long long)p->o->model_hash)};
    for (int k = 0; k < 5; k++) {
        text_add(out, k ? " " : "        ");
        emit_chars(out, v[k], strlen(v[k]));
        text_char(out, ',');
    }
    text_char(out, '\n');
}
static const char *flags_of(const struct program *p) {
    return format(p->c, "%s%s%s", p->device ? "GCC2NN_DEVICE" : "0", p->has_region ? " | GCC2NN_REGION" : "",
                  p->threads ? " | GCC2NN_THREADS" : "");
}
static const char *text_of(struct program *p, void (*print)(struct program *p, struct text *out)) {
    struct text t = {0};
    print(p, &t);
    const char *s = format(p->c, "%s", t.s ? t.s : "");
    text_free(&t);
    return s;
}
const char *const *info_values(struct program *p) {
    const char *bytes = p->mode == WEIGHTS_FILE ? format(p->c, "%s_WEIGHTS_BYTES", p->upper) : "0";
    const char *const pairs[] = {
        "NAME",  p->name,           "UPPER", p->upper,         "TABLES",        text_of(p, tables),
        "TAKE",  text_of(p, take),  "GIVE",  text_of(p, give), "CONFIG",        text_of(p, config),
        "FACTS", text_of(p, facts), "FLAGS", flags_of(p),      "WEIGHTS_BYTES", bytes,
        NULL};
    return arena_copy(&p->c->arena, pairs, sizeof pairs);
}
