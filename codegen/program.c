/* Names and facts of a program, computed once for all files. See program.h. */
#include "codegen/program.h"
#include "codegen/foreign_files.h"
#include "codegen/weights.h"
#include "ir/base/checked.h"
#include <string.h>

/* Weights as a C array are slow to compile; in the program they are limited by the small code model. */
enum { SMALL_WEIGHTS = 128 << 10, LARGE_ARRAY = 64 << 20, LARGE_PROGRAM = 256 << 20, NAME_MAX_LENGTH = 32 };

/* ---- symbols */
bool size_is_input(expr e) { return !x_has(e, XF_VAR | XF_TOIDX | XF_GUARD | XF_PRODUCED); }
const char *program_sym(struct program *p, const struct sym *s) {
    const char *n = map_get(&p->sym_names, PKEY(s));
    if (!n) BUG("symbol %s has no name in C", s->name);
    return n;
}
static bool note_size(void *env, const struct stmt *s) {
    struct program *p = ((void **)env)[0];
    struct names *names = ((void **)env)[1];
    if (s->kind == S_SIZE && !map_get(&p->sym_names, PKEY(s->u.size.sym)))
        map_put(&p->sym_names, PKEY(s->u.size.sym), (void *)names_add(names, s->u.size.sym->name));
    return true;
}
static void name_symbols(struct program *p) {
    struct names names;
    names_init(&names, p->c);
    names.avoid = internf(p->c->names, "%s_", p->name);
    static const char *const ours[] = {"m",     "in",  "out",     "over",    "fault",  "status",  "fuel",   "arena",
                                       "total", "at",  "end",     "d",       "size",   "nothing", "AT",     "WEIGHT",
                                       "plan",  "run", "no_room", "symbols", "tensor", "number",  "faults", "where"};
    for (size_t k = 0; k < sizeof ours / sizeof *ours; k++) names_add(&names, ours[k]);
    names_add(&names, p->name);
    for (int k = 0; k < p->m->entry->syms.n; k++) {
        const struct sym *s = p->m->entry->syms.v[k];
        PUSH(&p->c->arena, &p->syms, s);
        map_put(&p->sym_names, PKEY(s), (void *)names_add(&names, s->name));
    }
    survey(&p->m->entry->body, note_size, (void *[]){p, &names});
}
int64_t program_reference(const struct program *p, const struct sym *s) {
    int64_t v = p->o->reference ? p->o->reference(p->o->env, s) : 1;
    return v < s->lo ? s->lo : v > s->hi ? s->hi : v;
}
bool program_typical(void *env, expr leaf, int64_t *v) {
    return leaf->op == X_SYM && (*v = program_reference(env, leaf->u.sym), true);
}

const char *program_needs(const struct program *p) { return p->o->c99_strict ? NULL : p->target->needs; }
bool program_has_pool(const struct program *p) { return p->threads && !p->o->target->board; }
bool program_any_needs(const struct program *p) {
    bool any = false;
    for (int k = 0; k < p->nall; k++) any |= program_needs(p->all[k]) != NULL;
    return any;
}
const char *program_targets(const struct program *p) {
    const char *s = p->all[0]->target->name;
    for (int k = 1; k < p->nall; k++) s = internf(p->c->names, "%s+%s", s, p->all[k]->target->name);
    return s;
}

/* ---- inputs and outputs */
static void name_dims(struct program *p, struct io *io, struct names *names) {
    struct buf *b = io->buf;
    io->dim = NEWN(&p->c->arena, const char *, b->nd + 1);
    for (int k = 0; k < b->nd; k++) {
        if (!x_has(b->dims[k], XF_PRODUCED)) continue;
        io->produced = true;
        for (int j = 0; j < p->out_dims.n; j++)
            if (p->out_dims.v[j].value == b->dims[k]) io->dim[k] = p->out_dims.v[j].name;
        if (io->dim[k]) continue;
        const char *want =
            b->dims[k]->op == X_SYM ? b->dims[k]->u.sym->name : internf(p->c->names, "%s_d%d", io->member, k);
        struct dim_member d = {names_add(names, want), b->dims[k]};
        PUSH(&p->c->arena, &p->out_dims, d);
        io->dim[k] = d.name;
    }
    if (io->produced) {
        io->cap = names_add(names, internf(p->c->names, "%s_cap", io->member));
        p->has_region = true;
    }
}
static bool name_io(struct program *p) {
    struct names in, out;
    names_init(&in, p->c), names_init(&out, p->c);
    in.avoid = out.avoid = internf(p->c->names, "%s_", p->name); /* macros of sizes begin with it */
    names_add(&in, "dims"), names_add(&in, "nothing"), names_add(&out, "nothing");
    for (int k = 0; k < p->m->entry->params.n; k++) {
        struct param *q = &p->m->entry->params.v[k];
        struct io io = {.buf = q->buf};
        if (q->dir == DIR_INOUT || !buf_is_plain(q->buf)) {
            diag(&p->c->diags, DIAG_ERROR, E_VERIFY, "parameter %s of the entry is %s",
                 diag_quote(&p->c->arena, q->buf->name),
                 q->dir == DIR_INOUT ? "both input and output" : "not in the model's own layout");
            return false;
        }
        io.member = names_add(q->dir == DIR_IN ? &in : &out, q->buf->name);
        if (q->dir == DIR_IN) PUSH(&p->c->arena, &p->ins, io);
        else PUSH(&p->c->arena, &p->outs, io);
    }
    for (int k = 0; k < p->outs.n; k++) name_dims(p, &p->outs.v[k], &out); /* members for tensors keep their names */
    return true;
}

/* ---- memory */
static bool note_scratch(void *env, const struct stmt *s) {
    struct program *p = env;
    if (s->kind != S_CALL) return true;
    const struct proc *q = s->u.call.callee;
    struct subst sub = call_sizes(p->c, q, s);
    expr bytes = x_subst(p->c, scratch_bytes(p->c, q), &sub);
    if (size_is_input(bytes)) p->scratch = x_max(p->c, p->scratch, bytes);
    else p->has_region = true;
    return true;
}
/* ---- what else is in a GPU's arena */
const struct device_slot *program_extra(const struct program *p, const struct buf *b) {
    for (int k = 0; k < p->extras.n; k++)
        if (p->extras.v[k].buf == b) return &p->extras.v[k];
    return NULL;
}
static void add_extra(struct program *p, const struct buf *b, expr bytes) {
    struct device_slot s = {b, x_muli(p->c, x_divi(p->c, x_addi(p->c, bytes, PLAN_ALIGN - 1), PLAN_ALIGN), PLAN_ALIGN),
                            -1};
    PUSH(&p->c->arena, &p->extras, s);
}
static bool note_local(void *env, const struct stmt *s) {
    struct program *p = env;
    if (s->kind == S_ALLOC) {
        const struct buf *b = s->u.alloc.buf;
        const struct plan_slot *q = plan_slot_of(p->plan, b);
        if (b->scope == SC_REGION) p->nregions++;
        else if (!q || q->first < 0) add_extra(p, b, buf_bytes(p->c, b));
    } else if (s->kind == S_CALL) {
        p->nfaults += proc_may_fault(s->u.call.callee);
        p->nregions++; /* it may need scratch memory of a size found at run time */
    }
    return true;
}
static void device_memory(struct program *p) {
    for (int k = 0; k < p->ins.n; k++) add_extra(p, p->ins.v[k].buf, buf_bytes(p->c, p->ins.v[k].buf));
    for (int k = 0; k < p->outs.n; k++) {
        if (!p->outs.v[k].produced) add_extra(p, p->outs.v[k].buf, buf_bytes(p->c, p->outs.v[k].buf));
        p->nregions += p->outs.v[k].produced;
    }
    survey(&p->m->entry->body, note_local, p);
    if (p->nfaults) add_extra(p, NULL, x_int(p->c, 4 * (int64_t)p->nfaults));
}
static void plan_memory(struct program *p) {
    p->scratch = x_int(p->c, 0);
    p->has_region |= p->plan->has_region;
    survey(&p->m->entry->body, note_scratch, p);
    if (p->device) device_memory(p);
    int64_t scratch = 0, bytes;
    p->is_static = p->plan->is_static && x_is_int(p->scratch, &scratch);
    for (int k = 0; k < p->extras.n; k++) p->is_static &= x_is_int(p->extras.v[k].bytes, &bytes);
    p->arena_bytes = p->is_static ? program_peak(p) + scratch : -1;
    if (p->is_static && p->extras.n) p->arena_bytes = (p->arena_bytes + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
    for (int k = 0; k < p->extras.n && p->is_static; k++) {
        bytes = 0;
        x_is_int(p->extras.v[k].bytes, &bytes);
        p->extras.v[k].offset = p->arena_bytes;
        p->arena_bytes += bytes;
    }
}
/* Types that no GPU supports. */
static bool device_types(struct program *p) {
    for (int k = 0; p->device && k < p->m->entry->bufs.n; k++)
        if (p->m->entry->bufs.v[k]->type == STR) {
            diag(&p->c->diags, DIAG_ERROR, E_TARGET, "target %s has no strings, as in %s", p->target->name,
                 diag_quote(&p->c->arena, p->m->entry->bufs.v[k]->name));
            diag_help(&p->c->diags, "cut the model into a part with strings, for a CPU, and the rest");
            return false;
        }
    return true;
}
int64_t program_peak(const struct program *p) {
    int64_t peak = 0;
    for (int k = 0; k < p->plan->slots.n; k++) {
        const struct plan_slot *s = &p->plan->slots.v[k];
        int64_t bytes;
        if (slot_placed(s) && x_is_int(s->bytes, &bytes) && s->offset + bytes > peak) peak = s->offset + bytes;
    }
    return peak;
}

/* ---- the rest */
const char *program_capitals(struct ctx *c, const char *s) {
    struct text t = {0};
    for (; *s; s++) text_char(&t, *s >= 'a' && *s <= 'z' ? (char)(*s - 'a' + 'A') : *s);
    const char *r = intern(c->names, t.s ? t.s : "");
    text_free(&t);
    return r;
}
const char *program_name(struct ctx *c, const char *name) {
    const char *s = c_ident(c, name ? name : "model");
    if (strlen(s) > NAME_MAX_LENGTH) s = c_ident(c, internn(c->names, s, NAME_MAX_LENGTH));
    return program_name_taken(s) ? internf(c->names, "model_%s", s) : s;
}
static bool choose_weights(struct program *p) {
    int64_t estimate = weights_estimate(p);
    if (estimate < 0) {
        diag(&p->c->diags, DIAG_ERROR, E_SIZE, "the model's constants are too large");
        return false;
    }
    p->mode = p->o->weights;
    estimate = sat_mul(estimate, p->o->nmore + 1); /* each variant has its own packing; equal entries are stored once */
    if (p->mode == WEIGHTS_AUTO) {
        bool array = p->o->c99_strict || estimate <= SMALL_WEIGHTS;
        p->mode = estimate > (array ? LARGE_ARRAY : LARGE_PROGRAM) ? WEIGHTS_FILE : array ? WEIGHTS_C : WEIGHTS_INCBIN;
    }
    if (p->mode == WEIGHTS_INCBIN && p->o->c99_strict) p->mode = WEIGHTS_C;
    return true;
}
static struct program *variant_new(const struct module *m, const struct memory_plan *plan, const struct target *target,
                                   const struct project_options *o) {
    struct ctx *c = m->ctx;
    struct program *p = NEW(&c->arena, struct program);
    *p = (struct program){.c = c,
                          .m = m,
                          .plan = plan,
                          .target = target,
                          .o = arena_copy(&c->arena, o, sizeof *o),
                          .sym_names = {.arena = &c->arena},
                          .nall = 1};
    p->all = arena_copy(&c->arena, &p, sizeof p);
    if (!m->entry) {
        diag(&c->diags, DIAG_ERROR, E_VERIFY, "the module has no entry procedure");
        return NULL;
    }
    p->name = program_name(c, o->name);
    p->upper = program_capitals(c, p->name);
    p->own = o->nmore ? internf(c->names, "%s_%s", p->name, c_ident(c, target->name)) : p->name;
    p->device = target->emit == EMIT_CUDA;
    if (!device_types(p) || !foreign_bodies_exist(p)) return NULL;
    p->emit = kernel_options(c, p->own, o);
    p->emit.target = target;
    p->emit.shared_prefix = internf(c->names, "%s_", p->name);
    p->emit.uses = kernel_uses(m, p->own, &p->emit);
    name_symbols(p);
    if (!name_io(p) || !choose_weights(p)) return NULL;
    plan_memory(p);
    return p;
}
struct program *program_new(const struct module *m, const struct memory_plan *plan, const struct project_options *o) {
    return variant_new(m, plan, o->target, o);
}
/* All variants share one context and one arena. */
static void share_memory(struct program *lead) {
    bool is_static = true, has_region = false;
    int64_t bytes = 0;
    for (int k = 0; k < lead->nall; k++) {
        is_static &= lead->all[k]->is_static;
        has_region |= lead->all[k]->has_region;
        if (lead->all[k]->arena_bytes > bytes) bytes = lead->all[k]->arena_bytes;
    }
    for (int k = 0; k < lead->nall; k++) {
        struct program *p = lead->all[k];
        p->is_static = is_static;
        p->arena_bytes = is_static ? bytes : -1;
        p->has_region = has_region;
    }
}
int64_t program_arena(const struct program *p) { return p->is_static ? p->arena_bytes : p->plan->peak; }
struct program *programs_new(const struct module *m, const struct memory_plan *plan, const struct project_options *o) {
    struct program *lead = program_new(m, plan, o), **all = NEWN(&m->ctx->arena, struct program *, o->nmore + 1);
    all[0] = lead;
    for (int k = 0; lead && k < o->nmore; k++)
        if (!(all[k + 1] = variant_new(o->more[k].m, o->more[k].plan, o->more[k].target, o))) return NULL;
    for (int k = 0; lead && k <= o->nmore; k++)
        all[k]->all = all, all[k]->nall = o->nmore + 1, all[k]->mode = lead->mode;
    for (int k = 0; lead && k <= o->nmore; k++)
        for (int j = 0; j < all[k]->m->procs.n; j++) lead->threads |= proc_is_parallel(all[k]->m->procs.v[j]);
    for (int k = 0; lead && k <= o->nmore; k++) all[k]->threads = lead->threads;
    if (lead && o->nmore) share_memory(lead);
    return lead;
}

expr buf_elements(struct ctx *c, const struct buf *b) {
    expr n = x_int(c, 1);
    for (int k = 0; k < b->nlogical; k++) n = x_mul(c, n, b->logical[k]);
    return n;
}
static const char *dim_name(void *env, expr leaf) {
    struct program *p = env;
    return leaf->op == X_SYM ? map_get(&p->sym_names, PKEY(leaf->u.sym)) : NULL;
}
const char *shape_text(struct program *p, const struct buf *b) {
    struct text t = {0};
    text_printf(&t, "%s[", dtype_name(b->type));
    for (int k = 0; k < b->nlogical; k++) {
        if (k) text_add(&t, ", ");
        x_print(&t, b->logical[k], dim_name, p);
    }
    text_add(&t, "]");
    const char *r = intern(p->c->names, t.s);
    text_free(&t);
    return r;
}
