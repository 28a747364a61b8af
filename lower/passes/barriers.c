/* Pass `barriers`: a thread loop is a parallel loop with a join at its end, so the memory that sibling thread loops
 * share determines where threads must wait for each other. Schedules write no barriers, except in loops made by
 * `pipeline`. See passes.h. */
#include "lower/passes/grid.h"
#include "lower/passes/passes.h"

struct touched {
    struct ctx *c;
    VEC(const struct buf *) read, stored;
};
static bool has(const struct buf *const *v, int n, const struct buf *b) {
    for (int k = 0; k < n; k++)
        if (v[k] == b) return true;
    return false;
}
static bool of_thread(const struct buf *b) {
    return b->scope == SC_REG || b->scope == SC_STACK || b->scope == SC_CONST;
}
static void add_load(void *env, const struct stmt *s, expr load) {
    struct touched *t = env;
    (void)s;
    if (!of_thread(load->u.buf) && !has(t->read.v, t->read.n, load->u.buf)) PUSH(&t->c->arena, &t->read, load->u.buf);
}
static bool add_store(void *env, struct stmt *s) {
    struct touched *t = env;
    if (s->kind != S_STORE || of_thread(s->u.store.buf)) return true;
    if (!has(t->stored.v, t->stored.n, s->u.store.buf)) PUSH(&t->c->arena, &t->stored, s->u.store.buf);
    if (s->u.store.op != RED_NONE && !has(t->read.v, t->read.n, s->u.store.buf))
        PUSH(&t->c->arena, &t->read, s->u.store.buf);
    return true;
}
static struct touched touched_by(struct ctx *c, struct stmt *s) {
    struct touched t = {.c = c};
    stmt_loads(s, add_load, &t);
    walk_stmt(s, add_store, &t);
    return t;
}
static bool conflict(const struct touched *a, const struct touched *b) {
    for (int k = 0; k < a->stored.n; k++)
        if (has(b->read.v, b->read.n, a->stored.v[k]) || has(b->stored.v, b->stored.n, a->stored.v[k])) return true;
    for (int k = 0; k < a->read.n; k++)
        if (has(b->stored.v, b->stored.n, a->read.v[k])) return true;
    return false;
}
static void join(struct touched *to, const struct touched *more) {
    for (int k = 0; k < more->read.n; k++) PUSH(&to->c->arena, &to->read, more->read.v[k]);
    for (int k = 0; k < more->stored.n; k++) PUSH(&to->c->arena, &to->stored, more->stored.v[k]);
}
static bool holds_threads(void *env, struct stmt *s) {
    *(bool *)env |= is_thread_loop(s);
    return !*(bool *)env;
}
static bool add_decision(void *env, expr e) {
    if (e->op == X_LOAD) add_load(env, NULL, e);
    return true;
}
/* What all threads read to decide whether, or how often, they run the blocks in s. */
static struct touched decided_by(struct ctx *c, const struct stmt *s) {
    struct touched t = {.c = c};
    if (s->kind == S_IF) x_visit(s->u.cond.cond, add_decision, &t);
    if (s->kind == S_WHILE) x_visit(s->u.loop_while.cond, add_decision, &t);
    if (s->kind == S_FOR) x_visit(s->u.loop.var->extent, add_decision, &t);
    return t;
}
static struct touched put_barriers(struct ctx *c, struct block *b, struct touched *since);
/* Puts barriers into the blocks of a statement. *head: accesses before the first barrier; *tail: after the last. */
static void put_inside(struct ctx *c, struct stmt *s, struct touched *head, struct touched *tail) {
    const struct touched d = decided_by(c, s);
    struct block *in[2];
    *head = *tail = (struct touched){.c = c};
    join(head, &d), join(tail, &d);
    for (int n = stmt_blocks(s, in), k = 0; k < n; k++) {
        struct touched e = {.c = c};
        join(&e, &d);
        const struct touched h = put_barriers(c, in[k], &e);
        /* between iterations, and before the decision whether there is another one */
        if (s->kind != S_IF && (conflict(&e, &h) || conflict(&e, &d))) {
            block_append(in[k], s_new(c, S_BARRIER));
            e = (struct touched){.c = c};
        }
        join(head, &h), join(tail, &e);
    }
}
/* Puts barriers between the statements of a block, none inside of thread loops. since: in: accesses since the last
 * barrier; out: those since the last barrier in the block. Returns the accesses before the first one. */
static struct touched put_barriers(struct ctx *c, struct block *b, struct touched *since) {
    struct touched first = {.c = c};
    bool any = false;
    for (struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == S_BARRIER) {
            *since = (struct touched){.c = c};
            any = true;
            continue;
        }
        bool threads = false;
        walk_stmt(s, holds_threads, &threads);
        bool inside = threads && !is_thread_loop(s) && !(s->kind == S_FOR && s->u.loop.piped);
        struct touched all = touched_by(c, s), head = all, tail = all;
        if (conflict(since, &all)) {
            stmt_insert_before(s, s_new(c, S_BARRIER));
            *since = (struct touched){.c = c};
            any = true;
        }
        /* a loop may run no iteration, a branch may not be taken, so earlier accesses still count */
        if (inside) put_inside(c, s, &head, &tail);
        if (!any) join(&first, &head);
        join(since, &tail);
    }
    return first;
}
void pass_barriers(struct module *m, const struct printing *o) {
    (void)o;
    for (int k = 0; k < m->procs.n; k++) {
        struct touched since = {.c = m->ctx};
        struct grid g;
        struct block *body;
        struct stmt *nest = m->procs.v[k]->body.first;
        if (m->procs.v[k]->launch && m->procs.v[k]->launch->grid && grid_of(m->ctx, NULL, nest, &g, &body))
            put_barriers(m->ctx, body, &since);
    }
}
