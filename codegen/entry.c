/* NAME.c: the program around the kernels, as functions of the API: init, plan, run, and so on. See program.h;
 * entry_run.c prints the body of the run, entry_header.c the header. */
#include "codegen/entry_int.h"
#include "codegen/weights.h"
#include <string.h>

static void plan_function(struct program *p, struct text *out) {
    struct text body = {0};
    int n = 0;
    text_printf(&body, "    if (");
    for (int k = 0; k < p->syms.n; k++) {
        const char *s = program_sym(p, p->syms.v[k]);
        if (k) text_add(&body, " || ");
        text_printf(&body, "%s < %lld || %s > %lld", s, (long long)p->syms.v[k]->lo, s, (long long)p->syms.v[k]->hi);
    }
    text_add(&body, p->syms.n ? ") return -1;\n" : "0) return -1;\n");
    int *number = NEWN(&p->c->arena, int, p->plan->slots.n + 1);
    for (int k = 0; k < p->plan->slots.n; k++) {
        const struct plan_slot *s = &p->plan->slots.v[k];
        if (!slot_placed(s)) continue;
        number[k] = n++;
        text_printf(&body, "    at[%d] = ", number[k]);
        if (!s->nbelow) text_add(&body, "0");
        for (int j = 0; j < s->nbelow; j++) text_add(&body, j + 1 < s->nbelow ? "nn_max64(" : "");
        for (int j = 0; j < s->nbelow; j++)
            text_printf(&body, "%send[%d]%s", j ? ", " : "", number[s->below[j]], j ? ")" : "");
        struct text name = {0};
        emit_comment_text(&name, s->buf->name);
        text_printf(&body, ";    /* %s: ", name.s ? name.s : "");
        text_free(&name);
        emit_comment_text(&body, shape_text(p, s->buf));
        text_printf(&body, " */\n    end[%d] = nn_add64(at[%d], %s, &over);\n    total = nn_max64(total, end[%d]);\n",
                    number[k], number[k], program_size(p, s->bytes, NULL, NULL), number[k]);
    }
    if (!x_is(p->scratch, 0)) {
        text_printf(&body, "    at[%d] = total;    /* scratch of the kernels */\n", n);
        text_printf(&body, "    total = nn_add64(total, %s, &over);\n", program_size(p, p->scratch, NULL, NULL));
    }
    if (p->extras.n)
        text_printf(&body, "    total = nn_add64(total, %d, &over) / %d * %d;\n", PLAN_ALIGN - 1, PLAN_ALIGN,
                    PLAN_ALIGN);
    for (int k = 0; k < p->extras.n; k++) {
        const struct device_slot *s = &p->extras.v[k];
        text_printf(&body, "    at[%d] = total;    /* ", n + 1 + k);
        emit_comment_text(&body, s->buf ? s->buf->name : "faults");
        text_printf(&body, " */\n    total = nn_add64(total, %s, &over);\n", program_size(p, s->bytes, NULL, NULL));
    }
    text_printf(out,
                "/* The offset of every buffer in the arena for these dims: above the buffers that are in use at the "
                "same time and\n * were placed below it. Returns the total in bytes, -1 if dims are out of range. */\n"
                "static int64_t plan(const %s_dims *d, int64_t *at) {\n",
                p->name);
    for (int k = 0; k < p->syms.n; k++)
        text_printf(out, "    const int64_t %s = d->%s;\n", program_sym(p, p->syms.v[k]), program_sym(p, p->syms.v[k]));
    text_printf(out, "    int64_t end[%d], total = %d;\n    int over = 0;\n", n ? n : 1, PLAN_ALIGN);
    if (!n) text_add(out, "    (void)end;\n");
    text_add(out, body.s);
    text_add(out, "    return over || (uint64_t)total > (uint64_t)(SIZE_MAX / 2) ? -1 : total;\n}\n");
    text_printf(out,
                "size_t %s_arena(const %s_dims *dims) {\n    int64_t at[%d];\n    const int64_t total = dims ? "
                "plan(dims, at) : -1;\n    return total < 0 ? 0 : (size_t)total;\n}\n\n",
                p->own, p->name, n + 1 + p->extras.n);
    text_free(&body);
}
/* Chooses the last variant that the CPU can run; if there is none, reports what the first one lacks. */
static void ask_cpu(struct program *p, struct text *out) {
    const char *first = program_needs(p);
    if (p->nall == 1 && first) text_printf(out, "    const char *const needs = \"%s\";\n", first);
    if (p->nall > 1) {
        text_printf(out,
                    "    /* Instruction sets needed by each of %s; the last one that the CPU can run is used. */\n"
                    "    static const char *const needs[%d] = {",
                    program_targets(p), p->nall);
        for (int k = 0; k < p->nall; k++)
            text_printf(out, "%s\"%s\"", k ? ", " : "", program_needs(p->all[k]) ? program_needs(p->all[k]) : "");
        text_printf(out,
                    "};\n    m->variant = %d;\n    while (m->variant > 0 && nn_cpu_lacks(needs[m->variant], "
                    "m->config.without)) m->variant--;\n",
                    p->nall - 1);
    }
    if (first)
        text_printf(out,
                    "    const char *const lacks = nn_cpu_lacks(%s, m->config.without);\n"
                    "    if (lacks) return nn_stop(&m->error, NN_ETARGET, lacks, NULL);\n",
                    p->nall > 1 ? "needs[m->variant]" : "needs");
}
/* `run` and NAME_arena, which call those of the variants. */
static void dispatch(struct program *p, struct text *out) {
    if (!p->is_static) {
        text_printf(out,
                    "/* Enough for every variant. */\nsize_t %s_arena(const %s_dims *dims) {\n    size_t most = 0;\n",
                    p->name, p->name);
        for (int k = 0; k < p->nall; k++)
            text_printf(out,
                        "    const size_t of_%d = %s_arena(dims);\n    if (of_%d == 0) return 0;\n    if (of_%d > "
                        "most) most = of_%d;\n",
                        k, p->all[k]->own, k, k, k);
        text_add(out, "    return most;\n}\n\n");
    }
    text_printf(out,
                "/* The variant that %s_init chose. */\nstatic int run(%s *m, const %s_inputs *in, %s_outputs *out) "
                "{\n    switch (m->variant) {\n",
                p->name, p->name, p->name, p->name);
    for (int k = p->nall - 1; k > 0; k--)
        text_printf(out, "    case %d: return %s_run(m, in, out);\n", k, p->all[k]->own);
    text_printf(out, "    default: return %s_run(m, in, out);\n    }\n}\n\n", p->own);
}
static void init_function(struct program *p, struct text *out) {
    const char *w = p->mode == WEIGHTS_FILE ? NULL : weights_address(p);
    bool any = p->weights_bytes > WEIGHTS_HEADER;
    text_printf(
        out,
        "int %s_init(%s *m, const %s_config *config) {\n    if (!m) return NN_EARG;\n    memset(m, 0, sizeof *m);\n"
        "    if (!config) return nn_stop(&m->error, NN_EARG, \"the configuration is missing\", NULL);\n    m->config = "
        "*config;\n"
        "    if (m->config.max_iterations <= 0) m->config.max_iterations = 2147483647;\n",
        p->name, p->name, p->name);
    ask_cpu(p, out);
    if (!p->is_static) text_add(out, "    m->total = -1;    /* no plan yet */\n");
    if (any) {
        text_printf(out, "    m->weights = config->weights ? (const unsigned char *)config->weights : %s;\n",
                    w ? w : "NULL");
        text_printf(out,
                    "    if (!m->weights || (uintptr_t)m->weights %% %d != 0) return nn_stop(&m->error, NN_EARG, \"the "
                    "weights are missing or not aligned\", NULL);\n",
                    p->mode == WEIGHTS_C ? 8 : 64);
        text_printf(out,
                    "    /* The header of the weights: format and version, number of entries, bytes, hash. */\n"
                    "    static const unsigned char head[32] = {'N', 'N', 'W', 'E', 'I', 'G', 'H', 'T', %d, 0, 0, 0",
                    WEIGHTS_VERSION);
        uint64_t parts[3] = {(uint64_t)p->weights_entries, (uint64_t)p->weights_bytes, p->weights_hash};
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < (k ? 8 : 4); j++) text_printf(out, ", %u", (unsigned)(parts[k] >> 8 * j) & 255);
        text_add(out, "};\n");
        text_printf(out,
                    "    if (config->weights && config->weights_size < %s_WEIGHTS_BYTES) return nn_stop(&m->error, "
                    "NN_EWEIGHTS, \"the weights are incomplete\", NULL);\n"
                    "    if (memcmp(m->weights, head, sizeof head) != 0) return nn_stop(&m->error, NN_EWEIGHTS, \"the "
                    "weights are not those of this model\", NULL);\n",
                    p->upper);
    }
    if (p->device) {
        device_init(p, out);
        return;
    }
    text_printf(out,
                "    if ((uintptr_t)config->arena %% %d != 0) return nn_stop(&m->error, NN_EARG, \"the arena is not "
                "aligned to %d bytes\", NULL);\n",
                PLAN_ALIGN, PLAN_ALIGN);
    if (p->is_static && p->arena_bytes)
        text_printf(out,
                    "    if (!config->arena || config->arena_size < %s_ARENA_BYTES) {\n        m->error.need = "
                    "%s_ARENA_BYTES;\n"
                    "        return nn_stop(&m->error, NN_EARENA, \"the arena is too small\", NULL);\n    }\n",
                    p->upper, p->upper);
    text_add(out, "    m->ready = 1;\n    return NN_OK;\n}\n\n");
}
static void api_run(struct program *p, struct text *out) {
    text_printf(out,
                "int %s_run(%s *m, const %s_inputs *in, %s_outputs *out) {\n    if (!m) return NN_EARG;\n"
                "    memset(&m->error, 0, sizeof m->error);\n"
                "    if (!m->ready) return nn_stop(&m->error, NN_EARG, \"%s_init has not succeeded\", NULL);\n"
                "    if (!in || !out) return nn_stop(&m->error, NN_EARG, \"inputs or outputs are missing\", NULL);\n",
                p->name, p->name, p->name, p->name, p->name);
    if (p->is_static && !p->has_region) text_add(out, "    return run(m, in, out);\n}\n");
    else if (p->device) device_grow(out);
    else
        text_add(out, "    for (;;) {\n        int status = run(m, in, out);\n        if (status != NN_EARENA || "
                      "!m->config.grow) return status;\n"
                      "        if (!m->config.grow(m->config.user, m->error.need, &m->config.arena, "
                      "&m->config.arena_size)) return status;\n" GROWN_IS_USABLE(
                          "        ") "        memset(&m->error, 0, sizeof m->error);\n    }\n}\n");
}
static void weights_list(struct program *p, struct text *out) {
    if (!p->weights.n) return;
    text_add(out, "/* Weights by offset:\n");
    for (int k = 0; k < p->weights.n; k++) {
        const struct weight *w = &p->weights.v[k];
        if (w->array) text_printf(out, " *  %10s  ", w->array);
        else text_printf(out, " *  %10lld  ", (long long)w->offset);
        emit_comment_text(out, w->buf->name);
        text_add(out, ": ");
        emit_comment_text(out, shape_text(p, w->buf));
        text_char(out, '\n');
    }
    text_add(out, " */\n\n");
}
/* Plan and run of one variant, or of the only program. */
static void plan_and_run(struct program *p, struct text *body) {
    struct text run = {0};
    entry_run(p, &run);
    if (run.s && strstr(run.s, "no_room(m)"))
        text_printf(body,
                    "static int no_room(%s *m) {\n    m->error.need = m->region.need;\n    return nn_stop(&m->error, "
                    "NN_EARENA, \"the arena is too small for sizes found in the run\", NULL);\n}\n",
                    p->name);
    text_add(body, "/* The model: kernels in order, buffers at their offsets in the arena. */\n");
    text_add(body, run.s);
    text_free(&run);
}
static void places_macros(struct program *p, struct text *out) {
    weights_list(p, out);
    text_add(out, "/* A buffer at its offset in the arena; a constant at its offset in the weights. */\n"
                  "#define AT(type, offset) ((type *)(void *)(arena + (offset)))\n"
                  "#define WEIGHT(type, offset) ((const type *)(const void *)(m->weights + (offset)))\n\n");
}
void entry_variant(struct program *p, struct text *out) {
    text_printf(out,
                "/* %s for target %s: its plan and its run, which %s.c calls if the CPU can run it. */\n#include "
                "\"%s_variants.h\"\n#include <string.h>\n#include \"%s_kernels.h\"\n\n",
                p->name, p->target->name, p->name, p->name, p->own);
    places_macros(p, out);
    weights_strings(p, out);
    if (!p->is_static) plan_function(p, out);
    plan_and_run(p, out);
}
void entry_source(struct program *p, struct text *out) {
    struct text body = {0};
    bool one = p->nall == 1;
    if (one) weights_strings(p, &body);
    if (one && !p->is_static) plan_function(p, &body);
    init_function(p, &body);
    if (one) plan_and_run(p, &body);
    else dispatch(p, &body);
    api_run(p, &body);
    if (p->device) device_close(p, &body);

    text_printf(out,
                "/* %s: the program around the kernels. How to use it: %s.h. */\n#include \"%s.h\"\n#include "
                "<string.h>\n#include \"%s_%s.h\"\n\n",
                p->name, p->name, p->name, p->name, one ? "kernels" : "variants");
    if (one && p->device) device_ranges(p, out);
    if (one) places_macros(p, out);
    text_add(out, body.s);
    text_free(&body);
}
