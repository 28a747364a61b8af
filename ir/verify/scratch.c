/* Scratch of a loop: buffers allocated around it that each iteration stores to before it reads, and that nobody reads
 * after the loop. Iterations that share nothing else are independent, because each could get its own. Part of rule V6a
 * of docs/loop-ir.md; the rest is in race.c. */
#include "ir/verify/loop_int.h"

/* The first access to a buffer. STORED: all of it is written, on every path. READ: possibly read. */
enum first { UNTOUCHED, STORED, READ };
static enum first first_in_block(struct block *in, const struct buf *b);

static void look_into(void *env, expr e) {
    const struct buf **b = env;
    if (*b && x_loads_from(e, *b)) *b = NULL;
}
/* The statement itself, not what is in it. */
static bool loads(struct stmt *s, const struct buf *b) {
    stmt_exprs(s, look_into, &b);
    return !b;
}
/* A nest around one plain store that runs through all cells of b. */
static bool fills(struct stmt *s, const struct buf *b) {
    struct stmt *leaf = s;
    int loops = 0;
    while (leaf && leaf->kind == S_FOR) leaf = block_only(&leaf->u.loop.body);
    if (!leaf || leaf->kind != S_STORE || leaf->u.store.buf != b || leaf->u.store.op != RED_NONE) return false;
    for (; s != leaf; s = s->u.loop.body.first, loops++) {
        const struct var *v = s->u.loop.var;
        int k = 0;
        while (k < b->nd && !(leaf->u.store.idx[k]->op == X_VAR && leaf->u.store.idx[k]->u.var == v)) k++;
        if (k == b->nd || b->dims[k] != v->extent) return false;
    }
    return loops == b->nd;
}
static enum first first_in(struct stmt *s, const struct buf *b) {
    struct named_buf n;
    if (loads(s, b)) return READ;
    switch (s->kind) {
    case S_FOR: {
        enum first body = first_in_block(&s->u.loop.body, b);
        if (body == READ) return READ;
        expr n = s->u.loop.var->extent;
        bool runs = n->op == X_CONST && n->u.i > 0;
        return fills(s, b) || (body == STORED && runs) ? STORED : UNTOUCHED;
    }
    case S_IF: {
        enum first then = first_in_block(&s->u.cond.then, b), other = first_in_block(&s->u.cond.other, b);
        return then == READ || other == READ ? READ : then == STORED && other == STORED ? STORED : UNTOUCHED;
    }
    case S_WHILE: return first_in_block(&s->u.loop_while.body, b) == READ ? READ : UNTOUCHED;
    case S_STORE:
        if (s->u.store.buf != b) return UNTOUCHED;
        return s->u.store.op != RED_NONE ? READ : b->nd ? UNTOUCHED : STORED;
    case S_ALLOC: return s->u.alloc.buf == b ? STORED : UNTOUCHED; /* previous contents are gone */
    case S_FREE:
    case S_STAGE:
    case S_SIZE:
    case S_CALL:
    case S_CHECK:
    case S_INSTR:
    case S_BARRIER:
    case S_PREFETCH:
    case S_SWAP:
    case S_VIEW:
    case S_BIND:
    case S_FOREIGN:
    case S_COMMENT:
        for (int k = 0; stmt_buf(s, k, &n); k++)
            if (n.buf == b) return READ;
        return UNTOUCHED;
    }
    return READ;
}
static enum first first_from(struct stmt *s, const struct buf *b) {
    for (; s; s = s->next) {
        enum first f = first_in(s, b);
        if (f != UNTOUCHED) return f;
    }
    return UNTOUCHED;
}
static enum first first_in_block(struct block *in, const struct buf *b) { return first_from(in->first, b); }
/* May something read what s leaves in b? */
static bool read_after(struct stmt *s, const struct buf *b) {
    struct stmt *up = stmt_parent(s);
    enum first f = first_from(s->next, b);
    if (f != UNTOUCHED || !up) return f == READ;
    bool again = up->kind == S_FOR || up->kind == S_WHILE;
    return (again && first_in(up, b) == READ) || read_after(up, b);
}
bool is_scratch(struct stmt *loop, const struct buf *b) {
    if (b->scope == SC_PARAM || b->scope == SC_CONST) return false;
    return first_in_block(&loop->u.loop.body, b) != READ && !read_after(loop, b);
}
