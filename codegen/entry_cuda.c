/* The API's functions around the run if the arena is memory of a GPU: weights are copied there once; the arena is the
 * caller's or the context's own. Parts of NAME.c that entry.c inserts; see program.h. */
#include "codegen/program.h"
#include "codegen/weights.h"
#include <string.h>

const struct region_words *region_words(const struct program *p) {
    static const struct region_words c = {"nn_region", "nn_region_alloc", "nn_region_free"},
                                     cuda = {"nn_cuda_region", "nn_cuda_region_alloc", "nn_cuda_region_free"};
    return p->device ? &cuda : &c;
}
void device_init(struct program *p, struct text *out) {
    bool any = p->weights_bytes > WEIGHTS_HEADER;
    text_printf(out, "    %s = nn_cuda_open(&m->cuda, &m->error, config->stream, %s, ", "const int status",
                any ? "m->weights" : "NULL");
    if (any) text_printf(out, "%s_WEIGHTS_BYTES);\n", p->upper);
    else text_add(out, "0);\n");
    text_add(out, "    if (status != NN_OK) return status;\n");
    if (any) text_add(out, "    m->weights = (const unsigned char *)m->cuda.weights;\n");
    text_printf(out,
                "    if ((uintptr_t)config->arena %% %d != 0) return nn_stop(&m->error, NN_EARG, \"the arena is not "
                "aligned to %d bytes\", NULL);\n    if (!config->arena) m->config.arena_size = 0;\n",
                PLAN_ALIGN, PLAN_ALIGN);
    if (p->is_static && p->arena_bytes) {
        text_printf(out,
                    "    if (!config->arena) {\n        const int got = nn_cuda_arena(&m->cuda, &m->error, "
                    "config->arena_size > "
                    "%s_ARENA_BYTES ? config->arena_size : %s_ARENA_BYTES, &m->config.arena, &m->config.arena_size);\n"
                    "        if (got != NN_OK) return got;\n",
                    p->upper, p->upper);
        text_printf(out,
                    "    } else if (config->arena_size < %s_ARENA_BYTES) {\n        m->error.need = %s_ARENA_BYTES;\n"
                    "        return nn_stop(&m->error, NN_EARENA, \"the arena is too small\", NULL);\n    }\n",
                    p->upper, p->upper);
    }
    text_add(out, "    m->ready = 1;\n    return NN_OK;\n}\n\n");
}
void device_close(struct program *p, struct text *out) {
    text_printf(out, "void %s_free(%s *m) {\n    if (m) nn_cuda_close(&m->cuda, %s);\n}\n", p->name, p->name,
                p->has_region && p->outs.n ? format(p->c, "m->results, %d", p->outs.n) : "NULL, 0");
}
void device_grow(struct text *out) {
    text_add(out,
             "    for (;;) {\n        int status = run(m, in, out);\n        if (status != NN_EARENA) return status;\n"
             "        if (m->cuda.arena || !m->config.arena) {    /* the context's own: at least doubled */\n"
             "            const size_t need = m->error.need, twice = 2 * m->config.arena_size;\n"
             "            if (need > SIZE_MAX / 4) return status;\n"
             "            status = nn_cuda_arena(&m->cuda, &m->error, need > twice ? need : twice, "
             "&m->config.arena, &m->config.arena_size);\n"
             "            if (status != NN_OK) return status;\n"
             "        } else {\n"
             "            if (!m->config.grow || !m->config.grow(m->config.user, m->error.need, "
             "&m->config.arena, &m->config.arena_size)) return status;\n" GROWN_IS_USABLE(
                 "            ") "        }\n        memset(&m->error, 0, sizeof m->error);\n    }\n}\n");
}
void device_ranges(struct program *p, struct text *out) {
    text_add(out, "#ifdef NN_NVTX /* each launch is a range of Nsight's, by NVIDIA's header */\n#include "
                  "<nvtx3/nvToolsExt.h>\n");
    for (int k = 0; k < p->m->procs.n; k++) {
        const struct proc *q = p->m->procs.v[k];
        if (q->launch) continue;
        const char *name = emit_proc_name(p->c, q, &p->emit);
        size_t n = q->comment ? strcspn(q->comment, "\n") : 0;
        const char *title = format(p->c, "%s%s%.*s", name, n ? ": " : "", (int)n, n ? q->comment : "");
        text_printf(out, "#define %s(...) (nvtxRangePushA(", name);
        emit_cut_string(out, title, strlen(title));
        text_printf(out, "), %s(__VA_ARGS__), (void)nvtxRangePop())\n", name);
    }
    text_add(out, "#endif\n\n");
}
