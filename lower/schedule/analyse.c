/* What the scheduling heuristics know about a kernel: its stages, and the roles of the axes of a contraction. */
#include "lower/schedule/schedule.h"
#include "lower/schedule/steps.h"
#include <string.h>

bool kernel_info(struct ctx *c, struct proc *p, struct kernel_info *k) {
    *k = (struct kernel_info){.p = p};
    for (struct stmt *s = p->body.first; s; s = s->next) {
        if (s->kind == S_ALLOC) continue;
        if (s->kind != S_STAGE) return false;
        PUSH(&c->arena, &k->stages, s);
        k->nreductions += s->u.stage.op != RED_NONE;
        if (s->u.stage.buf->scope == SC_PARAM) k->out = s, k->nparams_out++;
    }
    return k->out != NULL;
}
int64_t const_extent(const struct var *v) {
    int64_t n;
    return x_is_int(v->extent, &n) ? n : -1;
}
const char *axis_loop(struct ctx *c, const struct stmt *s, int k) {
    return internf(c->names, "%s.%s", s->u.stage.buf->base, s->u.stage.axes[k]->name);
}
const char *red_loop(struct ctx *c, const struct stmt *s, int k) {
    return internf(c->names, "%s.%s", s->u.stage.buf->base, s->u.stage.red[k]->name);
}

struct has_var {
    const struct var *v;
    bool found;
};
static bool look(void *env, expr e) {
    struct has_var *h = env;
    h->found |= e->op == X_VAR && e->u.var == h->v;
    return true;
}
static bool load_uses(expr load, const struct var *v) {
    struct has_var h = {v, false};
    for (int k = 0; k < load->n; k++) x_visit(load->arg[k], look, &h);
    return h.found;
}
static bool is_load(expr e) { return e->op == X_LOAD; }
static bool constant(const struct buf *b) { return b->data != NULL; }
static void set_roles(struct contraction *q) {
    for (int k = 0; k < q->naxes; k++) {
        const struct var *v = q->acc->u.stage.axes[k];
        bool ina = load_uses(q->a, v), inb = load_uses(q->b, v);
        q->role[k] = ina && inb ? ROLE_BATCH : inb ? ROLE_N : ROLE_M;
    }
}
/* Every stage after acc is a map that reads the one before at its own index. */
static bool maps_follow(struct kernel_info *k, int from) {
    for (int i = from; i < k->stages.n; i++)
        if (k->stages.v[i]->u.stage.op != RED_NONE ||
            k->stages.v[i]->u.stage.naxes != k->stages.v[from - 1]->u.stage.naxes)
            return false;
    return true;
}
bool find_contraction(struct ctx *c, struct kernel_info *k, struct contraction *q) {
    (void)c;
    *q = (struct contraction){.n_axis = -1};
    if (k->nreductions != 1 || k->nparams_out != 1) return false;
    int at = 0;
    while (k->stages.v[at]->u.stage.op == RED_NONE) at++;
    struct stmt *s = k->stages.v[at];
    expr v = s->u.stage.value;
    if (at || s->u.stage.op != RED_SUM || v->op != X_MUL || !is_load(v->arg[0]) || !is_load(v->arg[1])) return false;
    if (s->u.stage.naxes > MAX_AXES || s->u.stage.nred > MAX_AXES || !maps_follow(k, 1)) return false;
    q->acc = s, q->out = k->out;
    q->naxes = s->u.stage.naxes, q->nred = s->u.stage.nred;
    q->a = v->arg[0], q->b = v->arg[1];
    if (constant(q->a->u.buf) && !constant(q->b->u.buf)) q->a = v->arg[1], q->b = v->arg[0];
    q->b_const = constant(q->b->u.buf);
    set_roles(q);
    for (int i = 0; i < q->naxes; i++)
        if (q->role[i] == ROLE_N) q->n_axis = i;
    return true;
}
bool try_schedule(struct ctx *c, struct proc *p, const char *text) {
    struct diags before = c->diags;
    struct proc *copy = clone_proc(c, p, p->name);
    if (!steps_apply(c, copy, text ? text : "") || !proc_verify(module_new(c), copy, "scheduling")) {
        c->diags.n = before.n, c->diags.errors = before.errors, c->diags.warnings = before.warnings;
        c->diags.ours = before.ours;
        return false;
    }
    struct proc old = *p;
    *p = *copy;
    p->comment = old.comment;
    for (struct stmt *s = p->body.first; s; s = s->next) s->in = &p->body;
    return true;
}
