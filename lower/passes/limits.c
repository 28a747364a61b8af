/* Numbers hidden from C compilers: a procedure gets them through a parameter, which its callers bind to a constant. See
 * limits.h. */
#include "lower/passes/limits.h"
#include <string.h>

struct calls {
    struct stmt *s;
    struct calls *next;
};
struct pair { /* of the entry's constants, or of a procedure's parameter */
    double lo, hi;
    struct buf *b;
    struct pair *next;
};
struct limits {
    struct ctx *c;
    struct module *m;
    struct map calls; /* procedure -> struct calls, all in the entry */
    struct map inner; /* procedures that others call */
    struct map given; /* procedure -> struct pair */
    struct pair *constants;
};
static bool note_call(void *env, struct stmt *s) {
    struct limits *q = env;
    if (s->kind != S_CALL) return true;
    struct calls *first = NEW(&q->c->arena, struct calls);
    *first = (struct calls){s, map_get(&q->calls, PKEY(s->u.call.callee))};
    map_put(&q->calls, PKEY(s->u.call.callee), first);
    return true;
}
static bool note_inner(void *env, struct stmt *s) {
    struct limits *q = env;
    if (s->kind == S_CALL) map_put(&q->inner, PKEY(s->u.call.callee), s);
    return true;
}
struct limits *limits_new(struct module *m) {
    struct limits *q = NEW(&m->ctx->arena, struct limits);
    struct map empty = {.arena = &m->ctx->arena};
    *q = (struct limits){m->ctx, m, empty, empty, empty, NULL};
    if (m->entry) walk(&m->entry->body, note_call, q);
    for (int k = 0; k < m->procs.n; k++) walk(&m->procs.v[k]->body, note_inner, q);
    return q;
}
static struct buf *constant(struct limits *q, double lo, double hi) {
    struct ctx *c = q->c;
    for (struct pair *p = q->constants; p; p = p->next)
        if (p->lo == lo && p->hi == hi) return p->b;
    struct tensor *t = tensor_new(&c->arena, F32, (int64_t[]){2}, 1);
    tensor_set_f(t, 0, lo), tensor_set_f(t, 1, hi);
    struct buf *b = buf_new(c, q->m->entry, "limits", F32, SC_CONST, (expr[]){x_int(c, 2)}, 1);
    b->data = t;
    struct pair *first = NEW(&c->arena, struct pair);
    *first = (struct pair){lo, hi, b, q->constants};
    q->constants = first;
    return b;
}
static void bind(struct limits *q, struct stmt *call, struct buf *arg) {
    int n = call->u.call.nbufs;
    struct buf **bufs = NEWN(&q->c->arena, struct buf *, n + 1);
    if (n) memcpy(bufs, call->u.call.bufs, (size_t)n * sizeof *bufs);
    bufs[n] = arg;
    call->u.call.bufs = bufs, call->u.call.nbufs = n + 1;
}
struct buf *limits_of(struct limits *q, struct proc *p, double lo, double hi) {
    struct pair *given = map_get(&q->given, PKEY(p));
    struct calls *calls = map_get(&q->calls, PKEY(p));
    if (given) return given->lo == lo && given->hi == hi ? given->b : NULL;
    if (!calls || map_get(&q->inner, PKEY(p))) return NULL;
    struct buf *b = proc_param(q->c, p, "limits", F32, DIR_IN, (expr[]){x_int(q->c, 2)}, 1);
    int at = p->params.n - 1; /* parameters are the first buffers */
    memmove(&p->bufs.v[at + 1], &p->bufs.v[at], sizeof *p->bufs.v * (size_t)(p->bufs.n - 1 - at));
    p->bufs.v[at] = b;
    given = NEW(&q->c->arena, struct pair);
    *given = (struct pair){lo, hi, b, NULL};
    map_put(&q->given, PKEY(p), given);
    for (; calls; calls = calls->next) bind(q, calls->s, constant(q, lo, hi));
    return b;
}
