/* Dead kernels: a definition may only use the sizes of an operand and never load it (the shape of a Reshape). Kernels
 * that compute such operands have no readers once everything is lowered. Runs at the end of lowering. */
#include "lower/lower.h"

struct dead {
    struct ctx *c;
    struct proc *entry;
    struct map views;  /* see note_views */
    struct map wanted; /* storage that something reads or that leaves the entry */
    struct map called; /* procedures */
    bool changed;
};
static void want(struct dead *d, struct buf *b) {
    b = storage_of(&d->views, b);
    map_put(&d->wanted, PKEY(b), b);
}
static bool is_wanted(struct dead *d, struct buf *b) {
    b = storage_of(&d->views, b);
    return b->scope == SC_PARAM || b->scope == SC_CONST || map_get(&d->wanted, PKEY(b));
}
static void want_loaded(void *env, const struct stmt *s, expr load) {
    (void)s;
    want(env, load->u.buf);
}
static bool want_read(void *env, struct stmt *s) {
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++)
        if (b.use & BU_READ) want(env, b.buf);
    return true;
}
static bool has_wanted_result(struct dead *d, const struct stmt *call) {
    int results = 0;
    for (int k = 0; k < call->u.call.nbufs; k++) {
        if (call->u.call.callee->params.v[k].dir == DIR_IN) continue;
        if (is_wanted(d, call->u.call.bufs[k])) return true;
        results++;
    }
    return !results;
}
static bool drop_call(void *env, struct stmt *s) {
    struct dead *d = env;
    if (s->kind != S_CALL || has_wanted_result(d, s)) return true;
    stmt_remove(s);
    return d->changed = true;
}

/* ---- storage and procedures that are no longer used */
static bool note_use(void *env, struct stmt *s) {
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++)
        if (b.use & (BU_READ | BU_WRITTEN)) want(env, b.buf);
    return true;
}
static bool note_called(void *env, struct stmt *s) {
    struct dead *d = env;
    if (s->kind == S_CALL) map_put(&d->called, PKEY(s->u.call.callee), s);
    return true;
}
static bool drop_storage(void *env, struct stmt *s) {
    struct dead *d = env;
    struct named_buf of;
    if (!stmt_buf(s, 0, &of) || !(of.use & (BU_BEGINS | BU_ENDS)) || is_wanted(d, of.buf)) return true;
    stmt_remove(s);
    if (of.use & BU_BEGINS) proc_drop_buf(d->entry, of.buf);
    return true;
}
static void drop_procs(struct dead *d, struct module *m) {
    int n = 0;
    walk(&m->entry->body, note_called, d);
    for (int k = 0; k < m->procs.n; k++) walk(&m->procs.v[k]->body, note_called, d);
    for (int k = 0; k < m->procs.n; k++)
        if (map_get(&d->called, PKEY(m->procs.v[k]))) m->procs.v[n++] = m->procs.v[k];
    m->procs.n = n;
}

void drop_dead_kernels(struct module *m) {
    struct dead d = {m->ctx, m->entry, {.arena = &m->ctx->arena}, {0}, {.arena = &m->ctx->arena}, true};
    note_views(&d.views, &m->entry->body);
    while (d.changed) {
        d.changed = false;
        d.wanted = (struct map){.arena = &m->ctx->arena};
        walk(&m->entry->body, want_read, &d);
        each_load(&m->entry->body, want_loaded, &d);
        walk(&m->entry->body, drop_call, &d);
    }
    d.wanted = (struct map){.arena = &m->ctx->arena};
    each_load(&m->entry->body, want_loaded, &d);
    walk(&m->entry->body, note_use, &d);
    walk(&m->entry->body, drop_storage, &d);
    drop_procs(&d, m);
}
