/* A kernel from outlining to the finished module: reused if an equal one exists, otherwise scheduled; the layouts of
 * its parameters are applied to the buffers of the entry, and its scratch memory is moved there. */
#include "lower/layout.h"
#include "lower/lower.h"
#include "lower/schedule/schedule.h"
#include "lower/schedule/steps.h"
#include "lower/size_names.h"
#include <string.h>

struct known_kernel {
    const char *text;
    struct proc *p;
    VEC(struct buf *) scratch;
    VEC(const char *) nodes; /* nodes for which it was made */
    struct map noted;        /* the same as a set */
};
struct kernel_list {
    VEC(struct known_kernel *) v;
};

struct kernel_list *kernel_list_new(struct ctx *c) {
    return NEW(&c->arena, struct kernel_list);
}

/* Does the kernel read zeros outside of a buffer other than in its border? Then what they are multiplied by may have to
 * be finite. */
struct zeros {
    const struct proc *p;
    const struct param_layout *lay;
    bool found;
};
static void find_zeros(void *env, const struct stmt *s, expr load) {
    struct zeros *q = env;
    const struct param_layout *l = load->has_fill ? layout_of(q->p, q->lay, load->u.buf) : NULL;
    (void)s;
    q->found |= load->has_fill && !(l && l->halo);
}
static char kind_of_data(const struct zeros *q, const struct tensor *t) {
    return !t ? '-' : q->found && !x_data_is_finite(t) ? 'i' : 'c';
}
/* Kernels are equal if their texts before scheduling, and their constant parameters, are equal. */
static const char *kernel_text(struct ctx *c, struct proc *p, const struct param_layout *lay) {
    struct text t = {0};
    const char *name = p->name;
    p->name = "kernel";
    proc_print(&t, c, p);
    p->name = name;
    struct zeros zeros = {p, lay, false};
    each_load(&p->body, find_zeros, &zeros);
    for (int k = 0; k < p->params.n; k++)
        text_printf(&t, "%c%s", kind_of_data(&zeros, p->params.v[k].buf->data), lay[k].spec ? lay[k].spec : "");
    const char *r = intern(c->names, t.s);
    text_free(&t);
    return r;
}
/* Scratch memory that remains in the arena becomes a parameter: the entry's plan places it with everything else. In a
 * parallel loop there is one for each thread. */
static bool find_scratch(void *env, struct stmt *s) {
    const char **base = env;
    if (s->kind == S_FOR && s->u.loop.kind == LK_PARALLEL) return false;
    if (s->kind == S_ALLOC && s->u.alloc.buf->scope == SC_ARENA && !s->u.alloc.buf->fill) *base = s->u.alloc.buf->base;
    return !*base;
}
static void hoist_scratch(struct ctx *c, struct known_kernel *k) {
    int params = k->p->params.n;
    for (const char *base = NULL;; base = NULL) {
        walk(&k->p->body, find_scratch, &base);
        if (!base) break;
        if (!step_do(c, k->p, &(struct step){.kind = STEP_SCRATCH, .u.of = {base}}))
            BUG("kernel %s keeps its scratch %s", k->p->name, base);
    }
    for (int i = params; i < k->p->params.n; i++) PUSH(&c->arena, &k->scratch, k->p->params.v[i].buf);
}
static bool divides(int64_t part, expr cells) {
    int64_t n;
    return x_is_int(cells, &n) && n % part == 0;
}
static bool has_pad_lanes(const struct param_layout *lay, const struct buf *b) {
    const struct panels *p = &lay->panels;
    return (lay->block && !divides(lay->block, b->logical[1])) ||
           (p->lanes && !divides(p->lanes, b->logical[p->along]));
}
/* The arena is reused, so whoever writes the inside of a result must also write its border and pad lanes, in every
 * run. */
static void write_borders(struct ctx *c, struct proc *p, const struct param_layout *lay) {
    for (int k = 0; k < p->params.n; k++) {
        const struct stmt *last = p->body.last;
        if (p->params.v[k].dir == DIR_IN || !(lay[k].halo || has_pad_lanes(&lay[k], p->params.v[k].buf))) continue;
        if (!step_do(c, p, &(struct step){.kind = STEP_BORDER, .u.of = {p->params.v[k].buf->base}}))
            BUG("kernel %s cannot write its border", p->name);
        if (p->body.last == last) p->steps.n--; /* not needed: a widened kernel fills its pad lanes itself */
    }
}
/* The nodes for which the current kernel is made: a few of them, separated by commas. */
static const char *nodes_in_short(struct lowering *l) {
    enum { SHOWN = 3 };
    struct text t = {0};
    int lines = 0;
    for (const char *s = l->nodes ? l->nodes : ""; *s; s += strcspn(s, "\n"), s += *s == '\n')
        if (lines++ < SHOWN) text_printf(&t, "%s%.*s", t.n ? ", " : "", (int)strcspn(s, "\n"), s);
    if (lines > SHOWN) text_printf(&t, " and %d more", lines - SHOWN);
    return text_take(&t, &l->c->arena);
}
void schedule_as_asked(struct lowering *l, struct proc *p, const struct param_layout *lay) {
    const struct lower_options *o = l->o;
    bool plain = !decide(l->c, "the schedule of kernel %s: %s", p->name, nodes_in_short(l));
    struct taken taken = {0};
    struct scheduling how = {o->target->machine, o->threads, plain, plain ? NULL : o->records,
                             o->problems,        o->choices, &taken};
    schedule_kernel(l->c, p, &how, lay);
    if (!plain) remark_kernel(l, p, &taken);
}
static struct known_kernel *make_kernel(struct lowering *l, struct proc *p, const char *text,
                                        const struct param_layout *lay) {
    struct ctx *c = l->c;
    struct known_kernel *k = NEW(&c->arena, struct known_kernel);
    k->text = text;
    k->p = p;
    k->noted.arena = &c->arena;
    if (!proc_guard(l->m, p, "lowering", NULL, NULL)) return NULL;
    if (!l->o->no_schedule) {
        schedule_as_asked(l, p, lay);
        if (l->o->choices && l->why) text_add(l->o->choices, l->why);
        write_borders(c, p, lay);
        if (!proc_verify(l->m, p, "scheduling")) return NULL;
    } else lower_stages(c, p);
    hoist_scratch(c, k);
    PUSH(&c->arena, &l->m->procs, p);
    PUSH(&c->arena, &l->known->v, k);
    return k;
}

/* ---- layouts of the call's buffers */
/* arg: a buffer of the entry. The kernel may have other names for sizes that a check has proved equal. */
static bool same_layout(struct lowering *l, const struct buf *arg, const struct buf *param, struct subst *by) {
    if (arg->nd != param->nd || !arg->pad != !param->pad) return false;
    for (int k = 0; k < arg->nd; k++) {
        expr have = sizes_argument(l->sizes, sizes_in_kernel(l->sizes, arg->dims[k]));
        if (have != x_subst(l->c, param->dims[k], by) || (arg->pad && arg->pad[k] != param->pad[k])) return false;
    }
    return true;
}
static bool same_map(struct ctx *c, const struct buf *a, const struct buf *b) {
    struct subst s = {{.arena = &c->arena}};
    for (int k = 0; k < a->nlogical; k++) map_put(&s.map, PKEY(a->lvar[k]), (void *)x_var(c, b->lvar[k]));
    for (int k = 0; k < a->nd; k++)
        if (x_subst(c, a->map[k], &s) != b->map[k]) return false;
    return true;
}
/* The constant, packed as the parameter needs it: one buffer of the entry for each packing. */
static struct buf *packed_const(struct lowering *l, struct buf *b, const struct buf *param, struct subst *by) {
    if (buf_is_plain(param) && buf_is_plain(b)) return b;
    for (int k = 0; k < l->entry->bufs.n; k++) {
        struct buf *v = l->entry->bufs.v[k];
        if (v->scope == SC_CONST && v->data == b->data && v->nlogical == b->nlogical && same_layout(l, v, param, by) &&
            same_map(l->c, v, param))
            return v;
    }
    struct buf *v = buf_new(l->c, l->entry, b->name, b->type, SC_CONST, b->logical, b->nlogical);
    v->data = b->data, v->within = b->within;
    buf_take_layout(l->c, v, param, by);
    return v;
}
static void bind_layouts(struct lowering *l, struct proc *p, struct stmt *call) {
    struct subst by = call_sizes(l->c, p, call);
    for (int k = 0; k < call->u.call.nbufs; k++) {
        struct buf *param = p->params.v[k].buf, **arg = &call->u.call.bufs[k];
        if ((*arg)->scope == SC_CONST) *arg = packed_const(l, *arg, param, &by);
        else if (!same_layout(l, *arg, param, &by))
            BUG("kernel %s changed the layout of parameter %s", p->name, param->name);
    }
}
static void add_scratch_args(struct lowering *l, struct known_kernel *k, struct stmt *call) {
    struct ctx *c = l->c;
    int n = call->u.call.nbufs;
    struct buf **bufs = NEWN(&c->arena, struct buf *, n + k->scratch.n + 1);
    struct subst by = call_sizes(c, k->p, call);
    memcpy(bufs, call->u.call.bufs, (size_t)n * sizeof *bufs);
    for (int i = 0; i < k->scratch.n; i++) {
        struct buf *s = k->scratch.v[i];
        expr dims[32];
        for (int d = 0; d < s->nlogical; d++) dims[d] = x_subst(c, s->logical[d], &by);
        struct buf *b = lower_alloc(l, s->base, s->type, dims, s->nlogical);
        if (!buf_is_plain(s)) buf_take_layout(c, b, s, &by);
        bufs[n++] = b;
    }
    call->u.call.bufs = bufs;
    call->u.call.nbufs = n;
}
/* A kernel over physical cells (for a border) takes the buffer as it is; all others use logical indices. */
static bool logical_form(struct lowering *l, const struct buf *param, const struct buf *arg) {
    if (param->nd != arg->nlogical) return false;
    for (int k = 0; k < param->nd; k++)
        if (param->dims[k] != sizes_in_kernel(l->sizes, arg->logical[k])) return false;
    return true;
}
/* Adds each node once, in the order of the calls. */
static void note_nodes(struct lowering *l, struct known_kernel *k) {
    for (const char *s = l->nodes, *end; s; s = *end ? end + 1 : NULL) {
        end = s + strcspn(s, "\n");
        const char *line = internn(l->c->names, s, (size_t)(end - s));
        if (map_get(&k->noted, PKEY(line))) continue;
        map_put(&k->noted, PKEY(line), (void *)line);
        PUSH(&l->c->arena, &k->nodes, line);
    }
}
void kernels_describe(struct lowering *l) {
    for (int i = 0; i < l->known->v.n; i++) {
        struct known_kernel *k = l->known->v.v[i];
        struct text t = {0};
        for (int n = 0; n < k->nodes.n; n++) text_printf(&t, "%s%s", n ? "\n" : "", k->nodes.v[n]);
        k->p->comment = t.s ? intern(l->c->names, t.s) : NULL;
        text_free(&t);
    }
}
bool finish_kernel(struct lowering *l, struct proc *p, struct stmt *call) {
    struct param_layout *lay = NEWN(&l->c->arena, struct param_layout, p->params.n + 1);
    for (int i = 0; i < p->params.n; i++) {
        struct value_layout *v = map_get(&l->specs, PKEY(call->u.call.bufs[i]));
        if (v && logical_form(l, p->params.v[i].buf, call->u.call.bufs[i])) lay[i] = layout_of_param(v);
    }
    const char *text = kernel_text(l->c, p, lay);
    struct known_kernel *k = NULL;
    for (int i = 0; i < l->known->v.n && !k; i++)
        if (l->known->v.v[i]->text == text) k = l->known->v.v[i];
    if (!k) k = make_kernel(l, p, text, lay);
    if (!k) return false;
    note_nodes(l, k);
    call->u.call.callee = k->p;
    call->u.call.origin = proc_may_fault(k->p) ? l->origin : NULL;
    if (l->origin) map_put(&l->origins, PKEY(call), (void *)l->origin);
    bind_layouts(l, k->p, call);
    add_scratch_args(l, k, call);
    lower_stmt(l, call);
    return true;
}

struct module *kernels_before(const struct module *m) {
    struct ctx *c = m->ctx;
    struct module *r = module_new(c);
    r->fns = m->fns;
    for (int k = 0; k < m->procs.n; k++) {
        struct proc *p = m->procs.v[k];
        if (p->before) {
            struct proc *q = clone_proc(c, p->before, p->name);
            q->comment = p->comment;
            for (int i = 0; i < p->steps.n; i++) PUSH(&c->arena, &q->todo, p->steps.v[i]);
            p = q;
        }
        PUSH(&c->arena, &r->procs, p);
    }
    return r;
}
