/* Lists of steps: one function per kind appends a step. */
#include "lower/schedule/steps_list.h"
#include "lower/passes/passes.h"

static struct step *add(struct step_list *l, enum step_kind kind) {
    struct step s = {.kind = kind};
    PUSH(&l->c->arena, l, s);
    return &l->v[l->n - 1];
}
static const char *word(struct step_list *l, const char *name) { return intern(l->c->names, name); }
void add_loop(struct step_list *l, struct word_list *to, const char *loop) {
    if (loop) PUSH(&l->c->arena, to, word(l, loop));
}
void add_loops(struct step_list *l, struct word_list *to, struct word_list more) {
    for (int k = 0; k < more.n; k++) add_loop(l, to, more.v[k]);
}
void add_dim(struct step_list *l, struct layout_dims *to, struct layout_dim d) { PUSH(&l->c->arena, to, d); }
static struct word_list copied(struct step_list *l, struct word_list from) {
    struct word_list r = {0};
    add_loops(l, &r, from);
    return r;
}
void step_split(struct step_list *l, const char *loop, int64_t factor, const char *outer, const char *inner,
                enum step_tail tail) {
    struct step *s = add(l, STEP_SPLIT);
    s->u.split.loop = word(l, loop), s->u.split.factor = factor, s->u.split.tail = tail;
    s->u.split.outer = word(l, outer), s->u.split.inner = word(l, inner);
}
void step_split_early(struct step_list *l, const char *loop, int64_t factor, const char *outer, const char *inner,
                      int64_t pieces) {
    step_split(l, loop, factor, outer, inner, TAIL_OVERLAP);
    l->v[l->n - 1].u.split.pieces = pieces;
}
void step_tiles(struct step_list *l, const char *loop, const char *outer, const char *inner,
                const struct tile_size *sizes, int n) {
    struct step *s = add(l, STEP_TILES);
    s->u.tiles.loop = word(l, loop), s->u.tiles.outer = word(l, outer), s->u.tiles.inner = word(l, inner);
    s->u.tiles.sizes = (struct tile_sizes){arena_copy(&l->c->arena, sizes, (size_t)n * sizeof *sizes), n};
}
void step_cut(struct step_list *l, const char *loop, int64_t n, const char *name) {
    struct step *s = add(l, STEP_CUT);
    s->u.cut.loop = word(l, loop), s->u.cut.n = n, s->u.cut.name = name ? word(l, name) : NULL;
}
void step_widen(struct step_list *l, const char *loop, int64_t n) {
    struct step *s = add(l, STEP_WIDEN);
    s->u.widen.loop = word(l, loop), s->u.widen.n = n;
}
void step_pad(struct step_list *l, const char *loop, int64_t n) {
    struct step *s = add(l, STEP_PAD);
    s->u.pad.loop = word(l, loop), s->u.pad.n = n;
}
void step_reorder(struct step_list *l, struct word_list loops) {
    loops = copied(l, loops);
    if (loops.n > 1) add(l, STEP_REORDER)->u.reorder.loops = loops;
}
void step_fuse(struct step_list *l, const char *outer, const char *inner, const char *name) {
    struct step *s = add(l, STEP_FUSE);
    s->u.fuse.outer = word(l, outer), s->u.fuse.inner = word(l, inner), s->u.fuse.name = word(l, name);
}
void step_kind(struct step_list *l, enum loop_kind kind, struct word_list loops) {
    loops = copied(l, loops);
    if (!loops.n) return;
    struct step *s = add(l, STEP_KIND);
    s->u.kind.kind = kind, s->u.kind.loops = loops;
}
void step_grain(struct step_list *l, const char *loop, int64_t n) {
    struct step *s = add(l, STEP_GRAIN);
    s->u.grain.loop = word(l, loop), s->u.grain.n = n;
}
void step_outline(struct step_list *l, const char *loop) { add(l, STEP_OUTLINE)->u.outline.loop = word(l, loop); }
void step_layout(struct step_list *l, const char *buf, struct layout_dims dims) {
    struct step *s = add(l, STEP_LAYOUT);
    s->u.layout.buf = word(l, buf);
    for (int k = 0; k < dims.n; k++) add_dim(l, &s->u.layout.dims, dims.v[k]);
}
void step_compute_at(struct step_list *l, const char *buf, const char *loop, enum scope scope) {
    struct step *s = add(l, STEP_COMPUTE_AT);
    s->u.compute_at.buf = word(l, buf), s->u.compute_at.loop = word(l, loop);
    s->u.compute_at.scope = scope, s->u.compute_at.roll = -1;
}
void step_cache_read(struct step_list *l, const char *buf, const char *name, const char *reader) {
    struct step *s = add(l, STEP_CACHE_READ);
    s->u.cache_read.buf = word(l, buf), s->u.cache_read.name = word(l, name), s->u.cache_read.reader = word(l, reader);
}
void step_cache_write(struct step_list *l, const char *buf, const char *name) {
    struct step *s = add(l, STEP_CACHE_WRITE);
    s->u.cache_write.buf = word(l, buf), s->u.cache_write.name = word(l, name);
}
void step_rfactor(struct step_list *l, const char *buf, const char *loop, int64_t lanes, const char *name) {
    struct step *s = add(l, STEP_RFACTOR);
    s->u.rfactor.buf = word(l, buf), s->u.rfactor.loop = word(l, loop), s->u.rfactor.lanes = lanes,
    s->u.rfactor.name = word(l, name);
}
void step_carry(struct step_list *l, const char *loop, const char *outer, const char *buf) {
    struct step *s = add(l, STEP_CARRY);
    s->u.carry.loop = word(l, loop), s->u.carry.outer = word(l, outer), s->u.carry.buf = word(l, buf);
}
void step_join(struct step_list *l, const char *first, const char *second) {
    struct step *s = add(l, STEP_JOIN);
    s->u.join.first = word(l, first), s->u.join.second = word(l, second);
}
void step_specialize(struct step_list *l, const char *loop, const char *cond, const char *name) {
    struct step *s = add(l, STEP_SPECIALIZE);
    s->u.specialize.loop = word(l, loop), s->u.specialize.cond = word(l, cond), s->u.specialize.name = word(l, name);
}
void step_inline(struct step_list *l, const char *buf) { add(l, STEP_INLINE)->u.of.buf = word(l, buf); }
void step_skip(struct step_list *l, const char *loop) { add(l, STEP_SKIP)->u.skip.loop = word(l, loop); }
void step_noinline(struct step_list *l, const char *fn) { add(l, STEP_NOINLINE)->u.noinline.fn = word(l, fn); }
void step_prefetch(struct step_list *l, const char *buf, int line, const char *at, const char *ahead,
                   struct word_list spread) {
    struct step *s = add(l, STEP_PREFETCH);
    s->u.prefetch.buf = word(l, buf), s->u.prefetch.at = word(l, at), s->u.prefetch.ahead = word(l, ahead);
    s->u.prefetch.line = line;
    s->u.prefetch.spread = copied(l, spread);
}
void step_pipeline(struct step_list *l, const char *loop, struct word_list bufs) {
    struct step *s = add(l, STEP_PIPELINE);
    s->u.pipeline.loop = word(l, loop), s->u.pipeline.bufs = copied(l, bufs);
}
void step_tensorize(struct step_list *l, const char *instr) {
    add(l, STEP_TENSORIZE)->u.tensorize.instr = word(l, instr);
}
void step_scratch(struct step_list *l, const char *buf) { add(l, STEP_SCRATCH)->u.of.buf = word(l, buf); }
void step_border(struct step_list *l, const char *result) { add(l, STEP_BORDER)->u.of.buf = word(l, result); }
void step_over(struct step_list *l, const char *result, const char *operand) {
    struct step *s = add(l, STEP_OVER);
    s->u.over.result = word(l, result), s->u.over.operand = word(l, operand);
}
void step_within(struct step_list *l, const char *result, const char *operand) {
    struct step *s = add(l, STEP_WITHIN);
    s->u.within.result = word(l, result), s->u.within.operand = word(l, operand);
}

bool steps_do(struct proc *p, const struct step_list *l) {
    for (int k = 0; k < l->n; k++)
        if (!step_do(l->c, p, &l->v[k])) return false;
    return true;
}
const char *step_list_text(const struct step_list *l) {
    struct text t = {0};
    for (int k = 0; k < l->n; k++) text_printf(&t, "%s%s", k ? "\n" : "", step_text(l->c, &l->v[k]));
    return t.s ? text_take(&t, &l->c->arena) : "";
}
/* ---- An index modulo an open size is below that size by its form. But if its operand becomes 0 by unrolling, it
 * simplifies to 0, which is below the size only if that is known not to be 0. So such kernels are verified unrolled as
 * well. */
static bool closed_divisor(void *env, expr e) {
    (void)env;
    return (e->op != X_MOD && e->op != X_DIV) || e->type != IDX || e->arg[1]->op == X_CONST;
}
static void find_open_divisor(void *env, expr e) { *(bool *)env |= !x_visit(e, closed_divisor, NULL); }
static bool find_divided(void *env, const struct stmt *s) {
    stmt_exprs(s, find_open_divisor, env);
    return !*(bool *)env;
}
static bool is_right(struct ctx *c, struct proc *p) {
    bool divided = false;
    if (!proc_verify(module_new(c), p, "scheduling")) return false;
    survey(&p->body, find_divided, &divided);
    if (!divided) return true;
    struct proc *written = clone_proc(c, p, p->name);
    unroll_loops(c, written);
    return proc_verify(module_new(c), written, "scheduling");
}
const char *steps_refused(struct proc *p, const struct step_list *steps) {
    struct ctx *c = steps->c;
    struct diags before = c->diags;
    struct proc *copy = clone_proc(c, p, p->name);
    if (!steps_do(copy, steps) || !is_right(c, copy)) {
        const struct diag *error = diag_error_since(&c->diags, &before);
        const char *why = error ? error->message : "a step is refused";
        c->diags = before;
        return why;
    }
    struct proc old = *p;
    *p = *copy;
    p->comment = old.comment;
    for (struct stmt *s = p->body.first; s; s = s->next) s->in = &p->body;
    return NULL;
}
