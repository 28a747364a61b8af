/* Pass `frees`: what a block of the entry allocates in the region is freed after the block's last statement that uses
 * it or a view of it. See passes.h. */
#include "lower/passes/passes.h"

struct frees {
    struct ctx *c;
    struct map views;
};
static bool uses(struct frees *f, struct stmt *s, const struct buf *b) { return stmt_uses(s, b, &f->views); }
static bool in_region(const struct stmt *s) { return s->kind == S_ALLOC && s->u.alloc.buf->scope == SC_REGION; }
static bool is_freed(const struct stmt *alloc) {
    for (const struct stmt *s = alloc; s; s = s->next)
        if (s->kind == S_FREE && s->u.alloc.buf == alloc->u.alloc.buf) return true;
    return false;
}
/* Frees go after the statement in the order of the allocations; `next`: the statement after it, NULL at the end. */
static void free_before(struct frees *f, struct block *b, struct stmt *next, struct buf *buf) {
    struct stmt *s = s_new(f->c, S_FREE);
    s->u.alloc.buf = buf;
    if (next) stmt_insert_before(next, s);
    else block_append(b, s);
}
static void in_block(struct frees *f, struct block *b) {
    struct stmt *first = b->first;
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        for (int n = stmt_blocks(s, in), k = 0; k < n; k++) in_block(f, in[k]);
    }
    for (struct stmt *a = first; a; a = a->next) {
        if (!in_region(a) || is_freed(a)) continue;
        struct stmt *last = NULL;
        for (struct stmt *s = a->next; s; s = s->next)
            if (uses(f, s, a->u.alloc.buf)) last = s;
        if (!last) continue; /* unused: it gets no memory */
        struct stmt *next = last->next;
        while (next && next->kind == S_FREE) next = next->next;
        free_before(f, b, next, a->u.alloc.buf);
    }
}
void pass_frees(struct module *m, const struct printing *o) {
    (void)o;
    if (!m->entry) return;
    struct frees f = {m->ctx, {.arena = &m->ctx->arena}};
    note_views(&f.views, &m->entry->body);
    in_block(&f, &m->entry->body);
}
