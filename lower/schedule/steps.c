/* How a schedule step is applied: completely or not at all. */
#include "lower/schedule/steps_util.h"
#include <string.h>

/* ---- all or nothing: a copy of what a step may change. Variables and expressions never change and are shared. */
struct saved_buf {
    struct buf *at;
    struct buf was;
};
struct saved {
    struct block body;
    struct proc proc;
    struct saved_buf *bufs;
};

#define KEEP(a, p, n) ((p) = (p) && (n) ? arena_copy((a), (p), (size_t)(n) * sizeof *(p)) : (p))
static void copy_block(struct arena *a, const struct block *from, struct block *to, struct stmt *owner) {
    *to = (struct block){.owner = owner};
    for (const struct stmt *t = from->first; t; t = t->next) {
        struct stmt *n = arena_copy(a, t, sizeof *t);
        struct block *sub[2], *old[2];
        n->in = NULL;
        n->prev = n->next = NULL;
        block_append(to, n);
        if (n->kind == S_STORE) KEEP(a, n->u.store.idx, n->u.store.n);
        if (n->kind == S_CALL) KEEP(a, n->u.call.args, n->u.call.nargs), KEEP(a, n->u.call.bufs, n->u.call.nbufs);
        if (n->kind == S_INSTR) KEEP(a, n->u.instr.holes, n->u.instr.n);
        if (n->kind == S_FOREIGN) {
            KEEP(a, n->u.foreign.ops, n->u.foreign.nops);
            KEEP(a, n->u.foreign.idx, n->u.foreign.nidx), KEEP(a, n->u.foreign.args, n->u.foreign.nargs);
            KEEP(a, n->u.foreign.grid, n->u.foreign.ngrid);
        }
        stmt_blocks((struct stmt *)t, old);
        for (int k = 0, m = stmt_blocks(n, sub); k < m; k++) copy_block(a, old[k], sub[k], n);
    }
}
static struct buf copy_buf(struct arena *a, const struct buf *b) {
    struct buf r = *b;
    KEEP(a, r.dims, r.nd);
    KEEP(a, r.pad, r.nd);
    KEEP(a, r.map, r.nd);
    KEEP(a, r.logical, r.nlogical);
    KEEP(a, r.lvar, r.nlogical);
    return r;
}
static struct proc copy_lists(struct arena *a, const struct proc *p) {
    struct proc r = *p;
    KEEP(a, r.params.v, r.params.n);
    KEEP(a, r.syms.v, r.syms.n);
    KEEP(a, r.bufs.v, r.bufs.n);
    KEEP(a, r.steps.v, r.steps.n);
    r.params.cap = r.params.n, r.syms.cap = r.syms.n, r.bufs.cap = r.bufs.n, r.steps.cap = r.steps.n;
    return r;
}
static struct saved save(struct step_run *s) {
    struct saved r = {.proc = copy_lists(&s->tmp, s->p), .bufs = NEWN(&s->tmp, struct saved_buf, s->p->bufs.n)};
    copy_block(&s->tmp, &s->p->body, &r.body, NULL);
    for (int k = 0; k < s->p->bufs.n; k++)
        r.bufs[k] = (struct saved_buf){s->p->bufs.v[k], copy_buf(&s->tmp, s->p->bufs.v[k])};
    return r;
}
static void restore(struct step_run *s, const struct saved *r) {
    struct arena *a = &s->c->arena;
    *s->p = copy_lists(a, &r->proc);
    copy_block(a, &r->body, &s->p->body, NULL);
    for (int k = 0; k < s->p->bufs.n; k++) *r->bufs[k].at = copy_buf(a, &r->bufs[k].was);
}

/* ---- which vector loops a step has left alone */
static bool same_cells(const void *a, const void *b, int n, size_t each) {
    return n == 0 || a == b || (a && b && !memcmp(a, b, (size_t)n * each));
}
#define SAME(a, b, p, n) same_cells((a)->p, (b)->p, (n), sizeof *(a)->p)
static bool same_layout(const struct buf *a, const struct buf *b) {
    return a->nd == b->nd && SAME(a, b, dims, a->nd) && SAME(a, b, pad, a->nd) && SAME(a, b, map, a->nd);
}
/* Compares what may be in vector loops: stores, and tests of them. */
static bool same_block(const struct block *a, const struct block *b) {
    const struct stmt *s = a->first, *t = b->first;
    for (; s && t && s->kind == t->kind; s = s->next, t = t->next) {
        if (s->kind == S_STORE) {
            if (s->u.store.buf != t->u.store.buf || s->u.store.n != t->u.store.n || s->u.store.op != t->u.store.op ||
                s->u.store.value != t->u.store.value || !SAME(&s->u.store, &t->u.store, idx, s->u.store.n))
                return false;
        } else if (s->kind == S_IF) {
            if (s->u.cond.cond != t->u.cond.cond || !same_block(&s->u.cond.then, &t->u.cond.then) ||
                !same_block(&s->u.cond.other, &t->u.cond.other))
                return false;
        } else if (s->kind != S_COMMENT) return false;
    }
    return !s && !t;
}
static bool is_vector(const struct stmt *t) { return t->kind == S_FOR && t->u.loop.kind == LK_VECTOR; }
/* The bodies of vector loops before the step, by variable; none if the step changed a buffer's layout. */
static struct map vectors_before(struct step_run *s, struct saved *before) {
    struct map bodies = {.arena = &s->tmp};
    struct stmts all = {0};
    for (int k = 0; k < before->proc.bufs.n; k++)
        if (!same_layout(before->bufs[k].at, &before->bufs[k].was)) return bodies;
    stmts_below(s, &before->body, &all);
    for (int k = 0; k < all.n; k++)
        if (is_vector(all.v[k])) map_put(&bodies, PKEY(all.v[k]->u.loop.var), &all.v[k]->u.loop.body);
    return bodies;
}

/* ---- applying */
/* Steps after `kind` may break the strides of a vector loop, so those are checked again; but not loops that this step
 * left alone, because kernels may have thousands of loops and as many steps. */
static bool vectors_ok(struct step_run *s, struct saved *before) {
    struct map bodies = vectors_before(s, before);
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++) {
        if (!is_vector(all.v[k])) continue;
        const struct block *was = map_get(&bodies, PKEY(all.v[k]->u.loop.var));
        if (!(was && same_block(was, &all.v[k]->u.loop.body)) && !vector_strides_ok(s, all.v[k])) return false;
    }
    return true;
}
static enum step_effect apply(struct ctx *c, struct proc *p, const struct step *step, const struct instr_row *instr) {
    struct step_run s = {.c = c, .p = p, .step = step, .rows = step_rows, .line = step_text(c, step)};
    enum step_effect effect = STEP_REFUSED;
    lower_stages(c, p);
    struct saved before = save(&s);
    if ((instr ? tensorize_with(&s, instr) : step_rows[step->kind].apply(&s)) && vectors_ok(&s, &before)) {
        PUSH(&c->arena, &p->steps, s.line);
        effect = s.reassociates ? STEP_REASSOCIATES : STEP_EXACT;
    } else {
        restore(&s, &before);
    }
    arena_free(&s.tmp);
    return effect;
}
bool step_do(struct ctx *c, struct proc *p, const struct step *s) { return apply(c, p, s, NULL) != STEP_REFUSED; }
enum step_effect step_effect_of(struct ctx *c, struct proc *p, const char *line) {
    struct step s;
    return step_parse(c, p, line, &s) ? apply(c, p, &s, NULL) : STEP_REFUSED;
}
bool step_apply(struct ctx *c, struct proc *p, const char *line) { return step_effect_of(c, p, line) != STEP_REFUSED; }
bool tensorize_row(struct ctx *c, struct proc *p, const struct instr_row *row) {
    struct step s = {.kind = STEP_TENSORIZE, .u.tensorize = {row->name}};
    return apply(c, p, &s, row) != STEP_REFUSED;
}

bool steps_replay(struct ctx *c, struct proc *p) {
    for (int k = 0; k < p->todo.n; k++)
        if (!step_apply(c, p, p->todo.v[k])) return false;
    p->todo.n = 0;
    return true;
}
bool steps_apply(struct ctx *c, struct proc *p, const char *text) {
    lower_stages(c, p);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ";\n");
        char *line = arena_printf(&c->arena, "%.*s", (int)n, at);
        const char *word = line + strspn(line, " \t\r");
        if (*word && *word != '#' && !step_apply(c, p, word)) return false;
        at += n + (at[n] != 0);
    }
    return true;
}
