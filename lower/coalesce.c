/* Removes needless copies (rules 2 and 3 of docs/storage.md): a slice becomes a view of its operand, and the operands
 * of a Concat become views of its result. Found by looking at what the scheduled kernels do: they copy cells to a
 * constant distance, whatever the layout. Works on the entry, before reuse.c; see lower.h. */
#include "lower/lower.h"
#include "lower/schedule/schedule.h"
#include "lower/schedule/steps.h"
#include "lower/storage.h"
#include <string.h>

struct coalesce {
    struct ctx *c;
    struct module *m;
    struct storage_uses uses;
    struct map last;   /* buffer -> number of the last statement that writes its storage */
    struct map number; /* statement -> its number, from 1, in program order */
    intptr_t numbers;
};
static struct buf *root_of(struct coalesce *q, struct buf *b) { return storage_of(&q->uses.views, b); }
static intptr_t number_of(const struct map *m, const void *key) { return (intptr_t)map_get(m, PKEY(key)); }
static bool number(void *env, struct stmt *s) {
    struct coalesce *q = env;
    map_put(&q->number, PKEY(s), (void *)++q->numbers);
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++)
        if (b.use & BU_WRITTEN) map_put(&q->last, PKEY(root_of(q, b.buf)), (void *)q->numbers);
    return true;
}
static bool written_once(struct coalesce *q, struct buf *b) {
    return storage_writes(&q->uses, b) == 1 && !storage_fixed(&q->uses, b);
}
struct writing {
    struct coalesce *q;
    struct buf *b;
    bool found;
};
static bool find_write(void *env, struct stmt *s) {
    struct writing *w = env;
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++) w->found |= b.use & BU_WRITTEN && root_of(w->q, b.buf) == w->b;
    return !w->found;
}
/* Is b written after the call, in its block? Most buffers are written only once, before, so there is nothing to
 * search. */
static bool written_after(struct coalesce *q, struct stmt *call, struct buf *b) {
    struct writing w = {q, b, false};
    if (number_of(&q->last, b) <= number_of(&q->number, call)) return false;
    for (struct stmt *s = call->next; s && !w.found; s = s->next) walk_stmt(s, find_write, &w);
    return w.found;
}
static bool writes(struct coalesce *q, struct stmt *call, struct buf *b) {
    struct writing w = {q, b, false};
    find_write(&w, call);
    return w.found;
}
/* A kernel may have been made for the only size that a check allows. But the view's sizes are the entry's, and these
 * must prove that it fits. */
static bool lies_within(struct coalesce *q, const struct buf *b, const struct buf *of, int64_t cells) {
    return x_proves_le(q->c, x_addi(q->c, buf_cells(q->c, b), cells), buf_cells(q->c, of));
}
static struct stmt *view_stmt(struct coalesce *q, struct buf *b, struct buf *of, int64_t cells) {
    struct stmt *s = s_new(q->c, S_VIEW);
    s->u.view.buf = b, s->u.view.of = of, s->u.view.off = x_int(q->c, cells);
    map_put(&q->uses.views, PKEY(b), of);
    struct buf *root = root_of(q, of);
    if (number_of(&q->last, b) > number_of(&q->last, root)) map_put(&q->last, PKEY(root), map_get(&q->last, PKEY(b)));
    return s;
}
/* call copy(in x, out y), where y is a part of x: makes y a view instead. */
static bool slice_to_view(struct coalesce *q, struct stmt *call) {
    struct proc *p = call->u.call.callee;
    int64_t cells;
    bool all;
    if (call->u.call.nbufs != 2) return false;
    int iy = p->params.v[0].dir == DIR_OUT ? 0 : 1, ix = 1 - iy;
    struct buf *y = call->u.call.bufs[iy], *x = call->u.call.bufs[ix], *from = root_of(q, x);
    if (p->params.v[iy].dir != DIR_OUT || p->params.v[ix].dir != DIR_IN || !written_once(q, y)) return false;
    struct stmt *alloc = own_alloc(&q->uses, call->in, y);
    if (!alloc) return false;
    if ((from->scope != SC_ARENA && from->scope != SC_PARAM) || storage_fixed(&q->uses, from)) return false;
    if (!kernel_copies(q->c, p, p->params.v[iy].buf, p->params.v[ix].buf, &cells, &all) || !all || cells > 0)
        return false;
    if (!lies_within(q, y, x, -cells)) return false;
    if (written_after(q, call, from)) return false;
    struct stmt *view = view_stmt(q, y, x, -cells);
    stmt_insert_before(call, view);
    stmt_remove(call);
    stmt_remove(alloc);
    return true;
}
/* Makes operand x of the call a view of its result y from the start. */
static bool operand_within(struct coalesce *q, struct stmt *call, int iy, int ix) {
    struct proc *p = call->u.call.callee;
    struct buf *y = call->u.call.bufs[iy], *x = call->u.call.bufs[ix];
    int64_t cells;
    bool all;
    if (p->params.v[iy].dir != DIR_OUT || p->params.v[ix].dir != DIR_IN || x == y) return false;
    struct stmt *ay = own_alloc(&q->uses, call->in, y), *ax = own_alloc(&q->uses, call->in, x);
    if (!ay || !ax) return false;
    if (storage_fixed(&q->uses, x) || storage_fixed(&q->uses, y)) return false;
    if (writes(q, call, x) || written_after(q, call, x) || written_after(q, call, y)) return false;
    for (int k = 0; k < call->u.call.nbufs; k++)
        if (k != ix && root_of(q, call->u.call.bufs[k]) == x) return false;
    if (!kernel_copies(q->c, p, p->params.v[iy].buf, p->params.v[ix].buf, &cells, &all) || cells < 0) return false;
    if (!lies_within(q, x, y, cells)) return false;
    struct proc *v = clone_proc(q->c, p, p->name);
    struct step_list steps = {.c = q->c};
    step_within(&steps, p->params.v[iy].buf->base, p->params.v[ix].buf->base);
    if (steps_refused(v, &steps)) return false;
    call->u.call.callee = v;
    memmove(call->u.call.bufs + ix, call->u.call.bufs + ix + 1,
            (size_t)(call->u.call.nbufs - ix - 1) * sizeof *call->u.call.bufs);
    call->u.call.nbufs--;
    for (struct stmt *s = ay; s; s = s->next)
        if (s == ax) goto ordered; /* y is allocated first already */
    stmt_remove(ay);
    stmt_insert_before(ax, ay);
ordered:
    stmt_insert_before(ax, view_stmt(q, x, y, cells));
    stmt_remove(ax);
    return true;
}
static void coalesce_in(struct coalesce *q, struct block *b) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        struct block *parts[2];
        next = s->next;
        for (int n = stmt_blocks(s, parts), k = 0; k < n; k++) coalesce_in(q, parts[k]);
        if (s->kind != S_CALL || slice_to_view(q, s)) continue;
        bool changed = false;
        for (int y = 0; y < s->u.call.nbufs; y++)
            for (int x = 0; x < s->u.call.nbufs; x++)
                if (operand_within(q, s, y, x)) changed = true, y = 0, x = -1;
        if (!changed) continue;
        if (!s->u.call.callee->body.first) stmt_remove(s);
        else {
            struct proc *p = s->u.call.callee;
            p->name = internf(q->c->names, "%s_rest%d", p->name, q->m->procs.n);
            PUSH(&q->c->arena, &q->m->procs, p);
        }
    }
}
void coalesce_copies(struct module *m) {
    struct ctx *c = m->ctx;
    struct coalesce q = {c, m, storage_uses_of(m), {.arena = &c->arena}, {.arena = &c->arena}, 0};
    walk(&m->entry->body, number, &q);
    coalesce_in(&q, &m->entry->body);
}
