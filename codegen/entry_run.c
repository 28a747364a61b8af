/* The function `run` of NAME.c: checks its arguments, plans the arena if dims are symbolic, calls the kernels.
 * Statements are printed by entry_stmt.c, buffers by entry_buffers.c. */
#include "codegen/entry_int.h"
#include <string.h>

static void entry_start(struct fe *f, struct entry *entry, struct program *p) {
    c_start(f, p->c, &p->emit, &entry_dialect);
    *entry = (struct entry){.p = p};
    entry->places.arena = entry->touched.arena = entry->swapped.arena = entry->sizes.arena = entry->named.arena =
        entry->args.arena = &p->c->arena;
    f->entry = entry, f->p = p->m->entry, f->names.avoid = internf(p->c->names, "%s_", p->name);
}
const char *program_size(struct program *p, expr e, struct map *used, bool *over) {
    struct entry entry;
    struct fe f;
    entry_start(&f, &entry, p);
    const char *s = c_index(&f, e).s;
    for (int k = 0; used && k < p->syms.n; k++)
        if (map_get(&entry.named, PKEY(p->syms.v[k]))) map_put(used, PKEY(p->syms.v[k]), (void *)p->syms.v[k]);
    if (over) *over |= entry.over;
    return s;
}

/* ---- before the statements */
/* Local variables for the input symbols that the following text uses. */
static void local_dims(struct fe *f, struct text *out) {
    for (int k = 0; k < f->entry->p->syms.n; k++) {
        const char *n = program_sym(f->entry->p, f->entry->p->syms.v[k]);
        if (map_get(&f->entry->named, PKEY(f->entry->p->syms.v[k])))
            text_printf(out, "    const int64_t %s = in->dims.%s;\n", n, n);
    }
}
static void check_pointers(struct fe *f) {
    struct program *p = f->entry->p;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < (pass ? p->outs.n : p->ins.n); k++) {
            const struct io *io = pass ? &p->outs.v[k] : &p->ins.v[k];
            int64_t lo, hi;
            if (pass && io->produced) {
                c_line(f, "if (!out->%s && out->%s > 0) return nn_stop(&m->error, NN_EARG, %s, NULL);", io->member,
                       io->cap, emit_message(f->c, format(f->c, "output %s is missing", io->buf->name)));
                continue;
            }
            expr n = buf_elements(f->c, io->buf);
            x_bounds(f->c, n, &lo, &hi);
            if (hi == 0) continue;
            const char *some = lo > 0 ? "" : format(f->c, " && %s > 0", run_expr(f, n, true, "elements"));
            c_line(f, "if (!%s->%s%s) return nn_stop(&m->error, NN_EARG, %s, NULL);", pass ? "out" : "in", io->member,
                   some,
                   emit_message(f->c, format(f->c, "%s %s is missing", pass ? "output" : "input", io->buf->name)));
        }
}
static void check_dims(struct fe *f, struct text *out) { /* symbols that do not occur in the size of any buffer */
    struct program *p = f->entry->p;
    for (int k = 0; p->is_static && k < p->syms.n; k++) {
        const char *s = format(f->c, "in->dims.%s", program_sym(p, p->syms.v[k]));
        text_printf(out, "    if (%s < %lld || %s > %lld) return nn_stop(&m->error, NN_EDIMS, %s, NULL);\n", s,
                    (long long)p->syms.v[k]->lo, s, (long long)p->syms.v[k]->hi,
                    emit_message(f->c, format(f->c, "dimension %s is out of range", p->syms.v[k]->name)));
    }
}
/* The plan for the dims of this run, and the memory it needs. */
static void make_plan(struct program *p, struct text *out) {
    if (p->is_static) return;
    const char *same = "m->total >= 0";
    for (int k = 0; k < p->syms.n; k++) {
        const char *n = program_sym(p, p->syms.v[k]);
        same = format(p->c, "%s && m->dims.%s == in->dims.%s", same, n, n);
    }
    text_printf(out,
                "    if (!(%s)) {\n        m->dims = in->dims;\n        m->total = plan(&m->dims, m->at);\n    }\n"
                "    if (m->total < 0) return nn_stop(&m->error, NN_EDIMS, \"a dimension is out of range\", NULL);\n"
                "    if (!m->config.arena || m->config.arena_size < (size_t)m->total) {\n        m->error.need = "
                "(size_t)m->total;\n"
                "        return nn_stop(&m->error, NN_EARENA, \"the arena is too small\", NULL);\n    }\n",
                same);
}
static bool take_size(void *env, const struct stmt *s) {
    struct fe *f = env;
    if (s->kind == S_SIZE) names_take(&f->names, program_sym(f->entry->p, s->u.size.sym));
    return true;
}
static bool declare_size(void *env, const struct stmt *s) {
    struct fe *f = env;
    if (s->kind != S_SIZE || map_get(&f->entry->sizes, PKEY(s->u.size.sym))) return true;
    const struct sym *y = s->u.size.sym;
    map_put(&f->entry->sizes, PKEY(y), (void *)y);
    const char *n = program_sym(f->entry->p, y);
    text_printf(f->entry->top, "    int64_t %s = 0;    /* %lld to %lld */\n", n, (long long)y->lo, (long long)y->hi);
    if (!map_get(&f->entry->named, PKEY(y))) text_printf(f->entry->top, "    (void)%s;\n", n);
    return true;
}
/* Inputs and outputs: the caller's memory, or copies of it on the device. */
static void place_io(struct fe *f) {
    struct program *p = f->entry->p;
    for (int k = 0; k < p->ins.n; k++) {
        const struct io *io = &p->ins.v[k];
        if (!p->device) run_set_place(f, io->buf, format(f->c, "in->%s", io->member), true);
        else if (map_get(&f->entry->touched, PKEY(io->buf))) {
            run_pointer(f, io->buf, run_extra_address(f, io->buf, dtype_c(io->buf->type)), false);
            c_line(f, "nn_cuda_put(&m->cuda, %s, in->%s, %s);", run_place(f, io->buf)->text, io->member,
                   run_expr(f, buf_bytes(f->c, io->buf), false, "bytes"));
        }
    }
    for (int k = 0; k < p->outs.n; k++) {
        const struct io *io = &p->outs.v[k];
        if (io->produced) continue;
        if (p->device) run_pointer(f, io->buf, run_extra_address(f, io->buf, dtype_c(io->buf->type)), false);
        else run_set_place(f, io->buf, format(f->c, "out->%s", io->member), false);
    }
    if (p->nfaults) {
        c_line(f, "int *const faults = %s;", run_extra_address(f, NULL, "int"));
        c_line(f, "nn_cuda_fill(&m->cuda, faults, \"\", 1, %d);", 4 * p->nfaults);
    }
}
static void take_outputs(struct fe *f) {
    struct program *p = f->entry->p;
    for (int k = 0; k < p->outs.n; k++) {
        const struct io *io = &p->outs.v[k];
        const char *from = run_place(f, io->buf)->text;
        if (io->produced && !p->device) c_line(f, "out->%s = %s;", io->member, from);
        else if (io->produced) {
            f->entry->uses_status = true;
            c_line(
                f,
                "out->%s = (%s *)nn_cuda_give(&m->cuda, &m->error, &status, &m->results[%d], out->%s, out->%s, %s, %s, "
                "sizeof *%s);",
                io->member, dtype_c(io->buf->type), k, io->member, io->cap, from,
                run_expr(f, buf_elements(f->c, io->buf), false, "elements"), from);
        } else if (p->device)
            c_line(f, "nn_cuda_get(&m->cuda, out->%s, %s, %s);", io->member, from,
                   run_expr(f, buf_bytes(f->c, io->buf), false, "bytes"));
    }
}
static void device_end(struct fe *f, struct text *out) {
    if (f->entry->faults) text_printf(out, "    static const char *const where[] = {%s};\n", f->entry->where);
    text_printf(out, "    %s nn_cuda_done(&m->cuda, &m->error, %s, %d, %s);\n",
                f->entry->uses_status ? "const int done =" : "return", f->entry->faults ? "faults" : "NULL",
                f->entry->faults, f->entry->faults ? "where" : "NULL");
    if (f->entry->uses_status) text_add(out, "    return done != NN_OK ? done : status;\n");
    text_add(out, "}\n\n");
}
/* Does the text contain `what`, other than as the end of a longer name? */
static bool mentions(const char *text, const char *what) {
    const char *s = text;
    while ((s = strstr(s, what))) {
        if (s == text || !in_word(s[-1])) return true;
        s++;
    }
    return false;
}
void entry_run(struct program *p, struct text *out) {
    struct text body = {0}, top = {0};
    struct entry entry;
    struct fe fe, *f = &fe;
    entry_start(f, &entry, p);
    entry.top = &top, f->out = &body, f->depth = 1;
    static const char *const ours[] = {"m",    "in",  "out",     "over", "fault",  "status", "fuel", "arena",
                                       "plan", "run", "no_room", "AT",   "WEIGHT", "faults", "where"};
    for (size_t k = 0; k < sizeof ours / sizeof *ours; k++) names_add(&f->names, ours[k]);
    names_add(&f->names, p->name);
    for (int k = 0; k < p->syms.n; k++) names_take(&f->names, program_sym(p, p->syms.v[k]));
    run_touch(f, &p->m->entry->body);
    survey(&p->m->entry->body, take_size, f);
    check_pointers(f);
    place_io(f);
    if (p->has_region && p->device) {
        const char *before = p->is_static ? format(f->c, "%lld", (long long)p->arena_bytes) : "(size_t)m->total";
        c_line(f, "nn_cuda_region_init(&m->region, m->blocks, %d, m->config.arena, %s, m->config.arena_size - %s);",
               2 * p->nregions + 2, before, before);
    } else if (p->has_region) {
        const char *before = p->is_static ? format(f->c, "%lld", (long long)p->arena_bytes) : "(size_t)m->total";
        c_line(f, "nn_region_init(&m->region, m->config.arena, %s, m->config.arena ? m->config.arena_size - %s : 0);",
               before, before);
    }
    c_block(f, &p->m->entry->body);
    take_outputs(f);
    for (int k = 0; k < p->out_dims.n; k++)
        c_line(f, "out->%s = %s;", p->out_dims.v[k].name, run_expr(f, p->out_dims.v[k].value, false, "size"));
    survey(&p->m->entry->body, declare_size, f);

    size_t begin = out->n;
    text_printf(out, "%s(%s *m, const %s_inputs *in, %s_outputs *out) {\n",
                p->nall > 1 ? format(f->c, "int %s_run", p->own) : "static int run", p->name, p->name, p->name);
    local_dims(f, out);
    if (f->entry->uses_over) text_add(out, "    int over = 0;\n");
    if (f->entry->uses_fault) text_add(out, "    int fault = 0;\n");
    if (f->entry->uses_status) text_add(out, "    int status = NN_OK;\n");
    if (f->entry->uses_fuel) text_add(out, "    int64_t fuel = m->config.max_iterations;\n");
    if (f->entry->uses_arena) text_add(out, "    unsigned char *const arena = (unsigned char *)m->config.arena;\n");
    check_dims(f, out);
    make_plan(p, out);
    text_add(out, top.s ? top.s : "");
    text_add(out, body.s ? body.s : "");
    if (f->entry->uses_over)
        text_add(out, "    if (over) return nn_stop(&m->error, NN_EFAULT, \"a size overflows\", NULL);\n");
    if (!mentions(out->s + begin, "m->")) text_add(out, "    (void)m;\n");
    if (!mentions(out->s + begin, "in->")) text_add(out, "    (void)in;\n");
    if (!mentions(out->s + begin, "out->")) text_add(out, "    (void)out;\n");
    if (p->device) device_end(f, out);
    else text_add(out, "    return NN_OK;\n}\n\n");
    text_free(&body), text_free(&top);
}
