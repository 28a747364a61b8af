/* Pass `merge`: `r = a; r += b` on a register becomes one store, and branches on one condition side by side become one.
 * See passes.h. */
#include "lower/passes/passes.h"

/* ---- `r = a; r += b` on registers */
/* For two vector statements of equal width, e of the second one in terms of the first one's variable. */
static expr in_lanes_of(struct ctx *c, const struct stmt *first, const struct stmt *second, expr e) {
    if (first->kind != S_FOR) return e;
    return x_subst1(c, e, second->u.loop.var, x_var(c, first->u.loop.var));
}
static bool same_lanes(const struct stmt *s, const struct stmt *t) {
    return s->kind == t->kind && (s->kind != S_FOR || s->u.loop.var->extent == t->u.loop.var->extent);
}
static bool same_cell(struct ctx *c, const struct stmt *s, const struct stmt *a, const struct stmt *t,
                      const struct stmt *b) {
    if (a->u.store.buf != b->u.store.buf) return false;
    for (int k = 0; k < a->u.store.n; k++)
        if (a->u.store.idx[k] != in_lanes_of(c, s, t, b->u.store.idx[k])) return false;
    return true;
}
/* The store in s, through a vector loop of one store; NULL for other statements. */
static struct stmt *store_in(struct stmt *s) {
    if (s->kind == S_STORE) return s;
    struct stmt *one = s->kind == S_FOR && s->u.loop.kind == LK_VECTOR ? block_only(&s->u.loop.body) : NULL;
    return one && one->kind == S_STORE ? one : NULL;
}
/* Merges the update t into the preceding plain store of the same register cell, if only stores to other cells lie
 * between them, and neither reads what the other writes. The operations and their order stay the same, so it is
 * exact. */
static void merge_updates(struct ctx *c, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        struct stmt *a = store_in(s);
        if (!a) {
            for (int k = stmt_blocks(s, in); k-- > 0;) merge_updates(c, in[k]);
            continue;
        }
        struct buf *buf = a->u.store.buf;
        if (a->u.store.op != RED_NONE || buf->scope != SC_REG || buf->type != dtype_value(buf->type)) continue;
        for (struct stmt *t = s->next, *next; t; t = next) {
            next = t->next;
            struct stmt *u = store_in(t);
            if (!u || !same_lanes(s, t)) break;
            if (!same_cell(c, s, a, t, u)) {
                if (x_loads_from(u->u.store.value, buf) || x_loads_from(a->u.store.value, u->u.store.buf) ||
                    u->u.store.buf == buf)
                    break;
                continue;
            }
            if (u->u.store.op == RED_NONE || x_loads_from(u->u.store.value, buf)) break;
            if (t->kind == S_FOR) { /* a cell shared by all lanes is not one lane of a register */
                bool lane = false;
                for (int k = 0; k < u->u.store.n; k++) lane = lane || x_uses_var(c, u->u.store.idx[k], t->u.loop.var);
                if (!lane) break;
            }
            /* stores between s and t must not have changed what t reads */
            bool clear = true;
            for (struct stmt *m = s->next; m != t; m = m->next)
                if (store_in(m) && x_loads_from(u->u.store.value, store_in(m)->u.store.buf)) clear = false;
            if (!clear) break;
            a->u.store.value = red_apply(c, u->u.store.op, a->u.store.value, in_lanes_of(c, s, t, u->u.store.value));
            stmt_remove(t);
        }
    }
}

/* ---- adjacent `if c: a` and `if c: b` become one, if nothing stored there can change c */
static void merge_ifs(struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        for (struct stmt *t; s->kind == S_IF && !s->u.cond.other.first && !x_has(s->u.cond.cond, XF_LOAD | XF_GUARD) &&
                             (t = s->next) && t->kind == S_IF && t->u.cond.cond == s->u.cond.cond &&
                             !t->u.cond.other.first;) {
            block_move(&s->u.cond.then, &t->u.cond.then);
            stmt_remove(t);
        }
        for (int k = stmt_blocks(s, in); k-- > 0;) merge_ifs(in[k]);
    }
}

void pass_merge(struct module *m, const struct printing *o) {
    (void)o;
    for (int k = 0; k < m->procs.n; k++) {
        merge_ifs(&m->procs.v[k]->body);
        merge_updates(m->ctx, &m->procs.v[k]->body);
    }
}
