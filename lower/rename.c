/* Replaces buffers of the entry by others, everywhere. Used if a result takes over an operand's storage
 * (lower/reuse.c), or if two calls compute the same (lower/share.c). */
#include "lower/lower.h"

struct renaming {
    struct ctx *c;
    const struct map *in_place;
};
struct buf *buf_placed(const struct map *in_place, struct buf *b) {
    for (struct buf *in; (in = map_get(in_place, PKEY(b)));) b = in;
    return b;
}
static expr rename_load(void *env, expr e) {
    struct renaming *r = env;
    struct buf *b = e->op == X_LOAD ? buf_placed(r->in_place, e->u.buf) : NULL;
    return b && b != e->u.buf ? x_map_load(r->c, e, b, rename_load, r) : NULL;
}
static bool rename_stmt(void *env, struct stmt *s) {
    const struct map *in_place = ((struct renaming *)env)->in_place;
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++)
        if (!(b.use & BU_BEGINS)) *stmt_buf_at(s, k) = buf_placed(in_place, b.buf);
    if (s->kind == S_ALLOC && map_get(in_place, PKEY(s->u.alloc.buf))) stmt_remove(s);
    return true;
}
void replace_bufs(struct module *m, struct map *in_place) {
    struct renaming r = {m->ctx, in_place};
    struct block *b = &m->entry->body;
    if (!in_place->n) return;
    walk(b, rename_stmt, &r);
    map_exprs(r.c, b, rename_load, &r);
    proc_drop_bufs(m->entry, in_place);
}
