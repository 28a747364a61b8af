/* See storage.h. Works on the entry after lowering, when only calls compute anything. */
#include "lower/storage.h"

static bool note(void *env, struct stmt *s) {
    struct storage_uses *u = env;
    struct named_buf b;
    if (s->kind == S_ALLOC) map_put(&u->allocs, PKEY(s->u.alloc.buf), s);
    for (int k = 0; stmt_buf(s, k, &b); k++) {
        struct buf *of = storage_of(&u->views, b.buf);
        if (s->kind == S_CALL && b.use & BU_WRITTEN) map_put(&u->writes, PKEY(of), (void *)(storage_writes(u, of) + 1));
        else if (s->kind != S_CALL && b.use & (BU_WRITTEN | BU_ENDS)) map_put(&u->fixed, PKEY(of), s);
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
