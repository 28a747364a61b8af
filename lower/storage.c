/* See storage.h. Works on the entry after lowering, when only calls compute. */
#include "lower/storage.h"

static void note_fixed(struct storage_uses *u, struct buf *b, struct stmt *by) {
    map_put(&u->fixed, PKEY(storage_of(&u->views, b)), by);
}
static bool note(void *env, struct stmt *s) {
    struct storage_uses *u = env;
    switch (s->kind) {
    case S_ALLOC: map_put(&u->allocs, PKEY(s->u.alloc.buf), s); break;
    case S_STORE: note_fixed(u, s->u.store.buf, s); break;
    case S_FREE: note_fixed(u, s->u.alloc.buf, s); break;
    case S_SWAP: note_fixed(u, s->u.swap.a, s), note_fixed(u, s->u.swap.b, s); break;
    case S_CALL:
        for (int k = 0; k < s->u.call.nbufs; k++) {
            struct buf *b = storage_of(&u->views, s->u.call.bufs[k]);
            if (s->u.call.callee->params.v[k].dir == DIR_IN) continue;
            map_put(&u->writes, PKEY(b), (void *)(storage_writes(u, b) + 1));
        }
        break;
    default: break;
    }
    return true;
}
struct storage_uses storage_uses_of(struct module *m) {
    struct arena *a = &m->ctx->arena;
    struct storage_uses u = {{.arena = a}, {.arena = a}, {.arena = a}, {.arena = a}};
    note_views(&u.views, &m->entry->body);
    walk(&m->entry->body, note, &u);
    return u;
}
intptr_t storage_writes(struct storage_uses *u, struct buf *b) {
    return (intptr_t)map_get(&u->writes, PKEY(storage_of(&u->views, b)));
}
bool storage_fixed(struct storage_uses *u, struct buf *b) {
    return map_get(&u->fixed, PKEY(storage_of(&u->views, b))) != NULL;
}
struct stmt *own_alloc(const struct storage_uses *u, const struct block *in, const struct buf *b) {
    struct stmt *s = map_get(&u->allocs, PKEY(b));
    return s && s->in == in && b->scope == SC_ARENA && !b->fill ? s : NULL;
}
