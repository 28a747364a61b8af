/* Lists of steps, for what makes schedules: one function a kind appends a step. */
#include "lower/schedule/steps_list.h"

static struct step *add(struct step_list *l, enum step_kind kind) {
    struct step s = {.kind = kind};
    PUSH(&l->c->arena, l, s);
    return &l->v[l->n - 1];
}
static struct word_list words(struct step_list *l, const char *const *v, int n) {
    struct word_list r = {NEWN(&l->c->arena, const char *, n + 1), n};
    for (int k = 0; k < n; k++) r.v[k] = v[k];
    return r;
}
void step_split(struct step_list *l, const char *loop, int64_t factor, const char *outer, const char *inner,
                enum step_tail tail) {
    struct step *s = add(l, STEP_SPLIT);
    s->u.split.loop = loop, s->u.split.factor = factor, s->u.split.tail = tail;
    s->u.split.outer = outer, s->u.split.inner = inner;
}
void step_tiles(struct step_list *l, const char *loop, const char *outer, const char *inner,
                const struct tile_size *sizes, int n) {
    struct step *s = add(l, STEP_TILES);
    s->u.tiles.loop = loop, s->u.tiles.outer = outer, s->u.tiles.inner = inner;
    s->u.tiles.sizes = (struct tile_sizes){arena_copy(&l->c->arena, sizes, (size_t)n * sizeof *sizes), n};
}
void step_cut(struct step_list *l, const char *loop, int64_t n) {
    struct step *s = add(l, STEP_CUT);
    s->u.cut.loop = loop, s->u.cut.n = n;
}
void step_widen(struct step_list *l, const char *loop, int64_t n) {
    struct step *s = add(l, STEP_WIDEN);
    s->u.widen.loop = loop, s->u.widen.n = n;
}
void step_pad(struct step_list *l, const char *loop, int64_t n) {
    struct step *s = add(l, STEP_PAD);
    s->u.pad.loop = loop, s->u.pad.n = n;
}
void step_reorder(struct step_list *l, const char *const *loops, int n) {
    add(l, STEP_REORDER)->u.reorder.loops = words(l, loops, n);
}
void step_fuse(struct step_list *l, const char *outer, const char *inner, const char *name) {
    struct step *s = add(l, STEP_FUSE);
    s->u.fuse.outer = outer, s->u.fuse.inner = inner, s->u.fuse.name = name;
}
void step_kind(struct step_list *l, enum loop_kind kind, const char *const *loops, int n) {
    struct step *s = add(l, STEP_KIND);
    s->u.kind.kind = kind, s->u.kind.loops = words(l, loops, n);
}
void step_outline(struct step_list *l, const char *loop) { add(l, STEP_OUTLINE)->u.outline.loop = loop; }
void step_layout(struct step_list *l, const char *buf, const struct layout_dim *dims, int n) {
    struct step *s = add(l, STEP_LAYOUT);
    s->u.layout.buf = buf;
    s->u.layout.dims = (struct layout_dims){arena_copy(&l->c->arena, dims, (size_t)n * sizeof *dims), n};
}
void step_compute_at(struct step_list *l, const char *buf, const char *loop, enum scope scope, int roll) {
    struct step *s = add(l, STEP_COMPUTE_AT);
    s->u.compute_at.buf = buf, s->u.compute_at.loop = loop;
    s->u.compute_at.scope = scope, s->u.compute_at.roll = roll;
}
void step_cache_read(struct step_list *l, const char *buf, const char *name, const char *reader) {
    struct step *s = add(l, STEP_CACHE_READ);
    s->u.cache_read.buf = buf, s->u.cache_read.name = name, s->u.cache_read.reader = reader;
}
void step_cache_write(struct step_list *l, const char *buf, const char *name) {
    struct step *s = add(l, STEP_CACHE_WRITE);
    s->u.cache_write.buf = buf, s->u.cache_write.name = name;
}
void step_rfactor(struct step_list *l, const char *buf, const char *loop, int64_t lanes, const char *name) {
    struct step *s = add(l, STEP_RFACTOR);
    s->u.rfactor.buf = buf, s->u.rfactor.loop = loop, s->u.rfactor.lanes = lanes, s->u.rfactor.name = name;
}
void step_carry(struct step_list *l, const char *loop, const char *outer, const char *buf) {
    struct step *s = add(l, STEP_CARRY);
    s->u.carry.loop = loop, s->u.carry.outer = outer, s->u.carry.buf = buf;
}
void step_join(struct step_list *l, const char *first, const char *second) {
    struct step *s = add(l, STEP_JOIN);
    s->u.join.first = first, s->u.join.second = second;
}
void step_specialize(struct step_list *l, const char *loop, const char *cond, const char *name) {
    struct step *s = add(l, STEP_SPECIALIZE);
    s->u.specialize.loop = loop, s->u.specialize.cond = cond, s->u.specialize.name = name;
}
void step_inline(struct step_list *l, const char *buf) { add(l, STEP_INLINE)->u.of.buf = buf; }
void step_prefetch(struct step_list *l, const char *buf, const char *at, const char *ahead, const char *const *spread,
                   int n) {
    struct step *s = add(l, STEP_PREFETCH);
    s->u.prefetch.buf = buf, s->u.prefetch.at = at, s->u.prefetch.ahead = ahead;
    if (n) s->u.prefetch.spread = words(l, spread, n);
}
void step_pipeline(struct step_list *l, const char *loop, const char *const *bufs, int n) {
    struct step *s = add(l, STEP_PIPELINE);
    s->u.pipeline.loop = loop, s->u.pipeline.bufs = words(l, bufs, n);
}
void step_tensorize(struct step_list *l, const char *instr) { add(l, STEP_TENSORIZE)->u.tensorize.instr = instr; }
void step_scratch(struct step_list *l, const char *buf) { add(l, STEP_SCRATCH)->u.of.buf = buf; }
void step_border(struct step_list *l, const char *result) { add(l, STEP_BORDER)->u.of.buf = result; }
void step_over(struct step_list *l, const char *result, const char *operand) {
    struct step *s = add(l, STEP_OVER);
    s->u.over.result = result, s->u.over.operand = operand;
}
void step_within(struct step_list *l, const char *result, const char *operand) {
    struct step *s = add(l, STEP_WITHIN);
    s->u.within.result = result, s->u.within.operand = operand;
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
