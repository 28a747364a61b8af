/* What a kernel text can know from its calls. A size for which all of them give the same constant becomes that constant
 * in the text, so that a schedule knows it as in kernels made for a single node. Integers that are constants in every
 * call lie within the range of those, so that clamps which no value needs disappear. Runs before texts are scheduled;
 * see lower.h. */
#include "ir/base/checked.h"
#include "lower/lower.h"

struct texts {
    struct ctx *c;
    struct map given;  /* symbol of a text -> the argument of the last call */
    struct map vary;   /* symbols whose arguments are not one constant */
    struct map ranges; /* parameter -> struct range */
};
struct range {
    bool known;
    int64_t within[2]; /* of all constants given; includes 0, as pad cells are zeros */
};
/* The range of a constant is noted with it, too: dumps show no more of a long one. */
static void note_range(struct texts *q, const struct buf *param, struct buf *given) {
    struct range *r = map_get(&q->ranges, PKEY(param));
    if (!r) {
        r = NEW(&q->c->arena, struct range);
        r->known = true;
        map_put(&q->ranges, PKEY(param), r);
    }
    r->known = r->known && given->scope == SC_CONST && (given->data || given->within);
    if (!r->known) return;
    if (!given->within) {
        int64_t lo, hi;
        tensor_range(given->data, &lo, &hi);
        given->within = arena_copy(&q->c->arena, ((int64_t[]){min64(lo, 0), max64(hi, 0)}), 2 * sizeof(int64_t));
    }
    r->within[0] = min64(r->within[0], given->within[0]), r->within[1] = max64(r->within[1], given->within[1]);
}
static bool is_text_call(const struct stmt *s) { return s->kind == S_CALL && s->u.call.callee->is_kernel_text; }
static bool note_call(void *env, struct stmt *s) {
    struct texts *q = env;
    if (!is_text_call(s)) return true;
    const struct proc *text = s->u.call.callee;
    for (int k = 0; k < s->u.call.nargs; k++) {
        const struct sym *y = text->syms.v[k];
        expr now = s->u.call.args[k], before = map_get(&q->given, PKEY(y));
        if (now->op != X_CONST || (before && before != now)) map_put(&q->vary, PKEY(y), (void *)y);
        map_put(&q->given, PKEY(y), (void *)now);
    }
    for (int k = 0; k < s->u.call.nbufs; k++)
        if (text->params.v[k].dir == DIR_IN && dtype_is_int(text->params.v[k].buf->type))
            note_range(q, text->params.v[k].buf, s->u.call.bufs[k]);
    return true;
}
/* The constant for y; NULL: calls differ, or there is none. */
static expr settled(const struct texts *q, const struct sym *y) {
    return map_get(&q->vary, PKEY(y)) ? NULL : map_get(&q->given, PKEY(y));
}
static expr put_settled(void *env, expr leaf) { return leaf->op == X_SYM ? settled(env, leaf->u.sym) : NULL; }
static bool drop_args(void *env, struct stmt *s) {
    int n = 0;
    if (!is_text_call(s)) return true;
    for (int k = 0; k < s->u.call.nargs; k++)
        if (!settled(env, s->u.call.callee->syms.v[k])) s->u.call.args[n++] = s->u.call.args[k];
    s->u.call.nargs = n;
    return true;
}
static void settle(struct texts *q, struct proc *p) {
    int n = 0;
    for (int k = 0; k < p->params.n; k++) {
        const struct range *r = map_get(&q->ranges, PKEY(p->params.v[k].buf));
        if (r && r->known) p->params.v[k].buf->within = r->within;
    }
    map_proc(q->c, p, put_settled, q);
    for (int k = 0; k < p->syms.n; k++)
        if (!settled(q, p->syms.v[k])) p->syms.v[n++] = p->syms.v[k];
    p->syms.n = n;
}
void settle_texts(struct module *m) {
    struct arena *a = &m->ctx->arena;
    struct texts q = {.c = m->ctx, .given.arena = a, .vary.arena = a, .ranges.arena = a};
    walk(&m->entry->body, note_call, &q);
    walk(&m->entry->body, drop_args, &q);
    for (int k = 0; k < m->procs.n; k++)
        if (m->procs.v[k]->is_kernel_text) settle(&q, m->procs.v[k]);
}
