/* The table of statement kinds (kinds.h), and what is read off it alone: blocks, expressions, variables, buffers. */
#include "ir/loop/kinds.h"
#include "ir/loop/foreign.h"
#include <stddef.h>
#include <string.h>

static bool always(const struct stmt *s) { return (void)s, true; }
static bool has_bound(const struct stmt *s) { return s->u.loop_while.max != NULL; }
static bool callee_faults(const struct stmt *s) { return proc_may_fault(s->u.call.callee); }
static unsigned read_by_update(const struct stmt *s, int k) {
    (void)k;
    return s->u.store.op == RED_NONE ? 0 : BU_READ;
}
static unsigned passed(const struct stmt *s, int k) {
    const struct proc *p = s->u.call.callee;
    enum param_dir dir = p && k < p->params.n ? p->params.v[k].dir : DIR_INOUT;
    return dir == DIR_IN ? BU_READ : dir == DIR_OUT ? BU_WRITTEN : BU_READ | BU_WRITTEN;
}

static unsigned given(const struct stmt *s, int k) {
    const struct foreign_param *p = foreign_param(s->u.foreign.fn, false, k);
    return !p ? BU_READ | BU_WRITTEN : p->use == FOREIGN_READ ? BU_READ : BU_WRITTEN;
}

#define AT(field) offsetof(struct stmt, u.field)
#define ONE(field)                                                                                                     \
    { .at = AT(field) }
#define MANY(field, n, type)                                                                                           \
    { .at = AT(field), .count = AT(n), .stride = sizeof(type) }
#define OPERANDS(which)                                                                                                \
    .at = AT(instr.holes), .count = AT(instr.n), .stride = sizeof(struct instr_operand),                               \
    .member = offsetof(struct instr_operand, which)
const struct stmt_row stmt_rows[S_KIND_COUNT] = {
    [S_FOR] = {.word = "for", .what = "a loop", .vars = {ONE(loop.var)}, .blocks = {AT(loop.body)}},
    [S_STORE] = {.what = "a store",
                 .bufs = {{.at = AT(store.buf), .use = BU_WRITTEN, .more = read_by_update}},
                 .exprs = {MANY(store.idx, store.n, expr), ONE(store.value)}},
    [S_IF] = {.word = "if", .what = "an if", .exprs = {ONE(cond.cond)}, .blocks = {AT(cond.then), AT(cond.other)}},
    [S_ALLOC] = {.word = "alloc", .what = "an alloc", .bufs = {{.at = AT(alloc.buf), .use = BU_BEGINS}}},
    [S_FREE] = {.word = "free", .what = "a free", .bufs = {{.at = AT(alloc.buf), .use = BU_ENDS}}},
    [S_STAGE] = {.word = "stage",
                 .what = "a stage",
                 .vars = {MANY(stage.axes, stage.naxes, struct var *), MANY(stage.red, stage.nred, struct var *)},
                 .bufs = {{.at = AT(stage.buf), .use = BU_WRITTEN}},
                 .exprs = {ONE(stage.init), ONE(stage.value)}},
    [S_SIZE] = {.word = "size",
                .what = "a size",
                .exprs = {ONE(size.lo), ONE(size.hi), ONE(size.value)},
                .faults = always},
    [S_CALL] =
        {.word = "call",
         .what = "a call",
         .bufs = {{.at = AT(call.bufs), .count = AT(call.nbufs), .stride = sizeof(struct buf *), .more = passed}},
         .exprs = {MANY(call.args, call.nargs, expr)},
         .faults = callee_faults},
    [S_WHILE] = {.word = "while",
                 .what = "a while",
                 .exprs = {ONE(loop_while.cond), ONE(loop_while.max)},
                 .blocks = {AT(loop_while.body)},
                 .faults = has_bound},
    [S_CHECK] = {.word = "check", .what = "a check", .exprs = {ONE(check.cond)}, .faults = always},
    [S_INSTR] = {.word = "instr",
                 .what = "an instruction",
                 .bufs = {{OPERANDS(buf)}},
                 .exprs = {{OPERANDS(off)}},
                 .blocks = {AT(instr.body)}},
    [S_BARRIER] = {.word = "barrier", .what = "a barrier"},
    [S_PREFETCH] = {.word = "prefetch",
                    .what = "a prefetch",
                    .bufs = {ONE(prefetch.buf)},
                    .exprs = {ONE(prefetch.off)}},
    [S_SWAP] = {.word = "swap",
                .what = "a swap",
                .bufs = {{.at = AT(swap.a), .use = BU_READ | BU_WRITTEN | BU_MOVED},
                         {.at = AT(swap.b), .use = BU_READ | BU_WRITTEN | BU_MOVED}}},
    [S_VIEW] = {.word = "view",
                .what = "a view",
                .bufs = {{.at = AT(view.buf), .use = BU_BEGINS}, ONE(view.of)},
                .exprs = {ONE(view.off)},
                .entry_only = true},
    [S_BIND] = {.word = "bind", .what = "a bind", .bufs = {ONE(alloc.buf)}, .entry_only = true},
    [S_FOREIGN] = {.word = "foreign",
                   .what = "a foreign function",
                   .bufs = {{.at = AT(foreign.ops),
                             .count = AT(foreign.nops),
                             .stride = sizeof(struct foreign_operand),
                             .member = offsetof(struct foreign_operand, buf),
                             .more = given}},
                   .exprs = {MANY(foreign.idx, foreign.nidx, expr), MANY(foreign.args, foreign.nargs, expr),
                             MANY(foreign.grid, foreign.ngrid, expr)}},
    [S_COMMENT] = {.what = "a comment"},
};

/* ---- fields */
static void *place(const struct stmt *s, size_t at) { return (char *)s + at; }
static int field_count(const struct stmt *s, const struct stmt_field *f) {
    return f->stride ? *(const int *)place(s, f->count) : 1;
}
static void *field_at(const struct stmt *s, const struct stmt_field *f, int k) {
    char *array;
    if (!f->stride) return place(s, f->at);
    memcpy(&array, place(s, f->at), sizeof array);
    return array + (size_t)k * f->stride + f->member;
}
/* Field k in a list of fields; NULL: there are not that many. *of: the row that describes it. */
static void *nth_field(const struct stmt *s, const struct stmt_field *f, int k, const struct stmt_field **of) {
    for (; f->at; f++) {
        int n = field_count(s, f);
        *of = f;
        if (k < n) return field_at(s, f, k);
        k -= n;
    }
    return NULL;
}
int stmt_blocks(struct stmt *s, struct block *out[2]) {
    const uint16_t *at = stmt_rows[s->kind].blocks;
    int n = 0;
    for (; at[n]; n++) out[n] = place(s, at[n]);
    return n;
}
const struct block *stmt_block(const struct stmt *s, int k) {
    const uint16_t *at = stmt_rows[s->kind].blocks;
    while (k > 0 && *at) k--, at++;
    return *at ? place(s, *at) : NULL;
}
const struct var **stmt_var(struct stmt *s, int k) {
    const struct stmt_field *of;
    return nth_field(s, stmt_rows[s->kind].vars, k, &of);
}
expr *stmt_expr(struct stmt *s, int k) {
    const struct stmt_field *of;
    return nth_field(s, stmt_rows[s->kind].exprs, k, &of);
}
struct buf **stmt_buf_at(struct stmt *s, int k) {
    const struct stmt_field *of;
    return nth_field(s, stmt_rows[s->kind].bufs, k, &of);
}
bool stmt_buf(const struct stmt *s, int k, struct named_buf *out) {
    const struct stmt_field *of;
    struct buf *const *at = nth_field(s, stmt_rows[s->kind].bufs, k, &of);
    if (at) *out = (struct named_buf){*at, of->use | (of->more ? of->more(s, k) : 0)};
    return at != NULL;
}
static void own_array(struct ctx *c, struct stmt *s, const struct stmt_field *f) {
    void *array;
    int n = field_count(s, f);
    if (!f->stride) return;
    memcpy(&array, place(s, f->at), sizeof array);
    array = n ? arena_copy(&c->arena, array, (size_t)n * f->stride) : NULL;
    memcpy(place(s, f->at), &array, sizeof array);
}
void stmt_own_arrays(struct ctx *c, struct stmt *s) {
    const struct stmt_row *row = &stmt_rows[s->kind];
    for (const struct stmt_field *f = row->vars; f->at; f++) own_array(c, s, f);
    for (const struct stmt_field *f = row->bufs; f->at; f++) own_array(c, s, f);
    for (const struct stmt_field *f = row->exprs; f->at; f++)
        if (f->at != row->bufs[0].at) own_array(c, s, f); /* operands have both in the same array */
}
void stmt_exprs(const struct stmt *s, void (*fn)(void *env, expr e), void *env) {
    const struct stmt_field *of;
    const struct var *const *v;
    const expr *e;
    for (int k = 0; (v = nth_field(s, stmt_rows[s->kind].vars, k, &of)); k++) fn(env, (*v)->extent);
    for (int k = 0; (e = nth_field(s, stmt_rows[s->kind].exprs, k, &of)); k++)
        if (*e) fn(env, *e);
}
