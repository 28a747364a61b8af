/* Common subexpressions once layouts are chosen: of two calls of one kernel with the same operands, the second is
 * removed, and its readers use the results of the first. Equal nodes have been merged before (compiler/graph/cse.c).
 * This catches nodes that are written differently and mean the same, such as Relu and a Clip from 0, or equal copies
 * into a layout. Kernels with equal texts are already the same (lower/kernel.c), so that only calls need to be
 * compared. Works on the entry after lowering; see lower.h. */
#include "lower/lower.h"
#include "lower/storage.h"

struct share {
    struct module *m;
    struct storage_uses uses;
    struct map in_place; /* result of a removed call -> that of the one that remains */
    struct map seen;     /* callee -> calls in the current block, the latest first */
};
struct seen_call {
    struct stmt *call;
    const struct seen_call *next;
};
/* A buffer written by exactly one call holds the same value wherever it is read; a parameter also has one before. */
static bool holds_still(struct share *q, struct buf *b) {
    b = storage_of(&q->uses.views, b);
    return storage_writes(&q->uses, b) <= (b->scope != SC_PARAM) && !storage_fixed(&q->uses, b);
}
/* A result that is allocated in this block. */
static bool is_own(struct share *q, const struct block *in, struct buf *b) {
    return own_alloc(&q->uses, in, b) && holds_still(q, b);
}
static bool same_call(struct share *q, const struct stmt *a, const struct stmt *b) {
    if (a->u.call.nbufs != b->u.call.nbufs || a->u.call.nargs != b->u.call.nargs) return false;
    for (int k = 0; k < a->u.call.nargs; k++)
        if (a->u.call.args[k] != b->u.call.args[k]) return false;
    for (int k = 0; k < a->u.call.nbufs; k++) {
        struct buf *x = buf_placed(&q->in_place, a->u.call.bufs[k]), *y = buf_placed(&q->in_place, b->u.call.bufs[k]);
        switch (a->u.call.callee->params.v[k].dir) {
        case DIR_IN:
            if (x != y || !holds_still(q, x)) return false;
            break;
        case DIR_OUT:
            if (!is_own(q, a->in, x) || !is_own(q, a->in, y) || x == y || !lower_same_dims(x, y)) return false;
            break;
        default: return false;
        }
    }
    return true;
}
static void share_in(struct share *q, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *parts[2];
        for (int n = stmt_blocks(s, parts), k = 0; k < n; k++) share_in(q, parts[k]);
    }
    q->seen = (struct map){.arena = &q->m->ctx->arena};
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        if (s->kind != S_CALL) continue;
        const struct seen_call *all = map_get(&q->seen, PKEY(s->u.call.callee)), *c = all;
        while (c && !same_call(q, c->call, s)) c = c->next;
        if (!c) {
            struct seen_call *one = NEW(&q->m->ctx->arena, struct seen_call);
            *one = (struct seen_call){s, all};
            map_put(&q->seen, PKEY(s->u.call.callee), one);
            continue;
        }
        for (int k = 0; k < s->u.call.nbufs; k++)
            if (s->u.call.callee->params.v[k].dir == DIR_OUT)
                map_put(&q->in_place, PKEY(s->u.call.bufs[k]), c->call->u.call.bufs[k]);
        stmt_remove(s);
    }
}
void share_calls(struct module *m) {
    struct arena *a = &m->ctx->arena;
    if (!m->entry) return;
    struct share q = {m, storage_uses_of(m), {.arena = a}, {.arena = a}};
    share_in(&q, &m->entry->body);
    replace_bufs(m, &q.in_place);
}
