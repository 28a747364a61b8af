/* Schedules for CPUs with vector registers (and, with one lane, for scalar ones): tries the kinds in turn. A kind whose
 * steps are refused leaves the kernel as it was. See cpu.h, docs/schedules.md. */
#include "lower/schedule/cpu.h"

void plan_clear(struct plan *u) {
    text_free(&u->s);
    u->s = (struct text){0};
}
void plan_start(struct plan *u) {
    plan_clear(u);
    layout_steps(&u->s, u->p, u->l);
}
bool plan_apply(struct plan *u) { return try_schedule(u->c, u->p, u->s.s); }
void plan_inline_maps(struct plan *u) {
    for (int i = 0; i < u->k->stages.n; i++) {
        const struct stmt *s = u->k->stages.v[i];
        if (s->u.stage.op == RED_NONE && s->u.stage.buf->scope != SC_PARAM)
            text_printf(&u->s, "inline %s\n", s->u.stage.buf->base);
    }
}
void plan_tiles(struct plan *u, const char *loop, int64_t rows, int64_t mr) {
    int64_t tiles = (rows + mr - 1) / mr, q = rows / tiles, more = rows % tiles;
    if (!more) {
        text_printf(&u->s, "split %s %lld wo wi\n", loop, (long long)q);
        return;
    }
    text_printf(&u->s, "split %s wo wi sizes=[", loop);
    for (int64_t k = 0; k < tiles; k++) text_printf(&u->s, "%s%lld", k ? " " : "", (long long)(q + (k < more)));
    text_add(&u->s, "]\n");
}
int dim_of(expr load, const struct var *v) {
    for (int k = 0; k < load->n - load->has_fill; k++)
        if (load->arg[k]->op == X_VAR && load->arg[k]->u.var == v) return k;
    return -1;
}

/* One nest over contiguous memory; the compiler's own vectoriser does the rest for what stays scalar. */
static bool schedule_plain(struct plan *u, bool inlined) {
    plan_start(u);
    if (inlined) plan_inline_maps(u);
    return !u->s.s || plan_apply(u);
}
void schedule_cpu(struct ctx *c, struct proc *p, const struct target *t, const struct param_layout *l,
                  struct kernel_info *k) {
    struct plan u = {c, p, t, k, l, {0}};
    bool done = k ? schedule_contraction(&u) || schedule_window(&u) || schedule_blocked_map(&u) ||
                        schedule_rows(c, p, t, l, k) || schedule_cells(&u) || schedule_plain(&u, true)
                  : schedule_nests(&u);
    if (!done && !schedule_plain(&u, false)) BUG("kernel %s does not take its layouts", p->name);
    text_free(&u.s);
}
