/* From a group's statements to kernels, using the algorithm chosen for them (lower/algorithm/). */
#include "lower/algorithm/algorithm.h"
#include "lower/chain.h"
#include "lower/layout.h"
#include "lower/size_names.h"

static struct param_layout layout_of_buf(void *env, const struct buf *b) {
    const struct value_layout *v = map_get(&((struct lowering *)env)->specs, PKEY(b));
    return layout_of_param(v);
}
static void lay_out(void *env, struct buf *to, const struct buf *like, int64_t add, int block) {
    lower_lay_out(env, to, like, add, block);
}
static void pad(void *env, struct buf *b, int dim, int64_t cells) {
    lower_give_layout(env, b, layout_padded(((struct lowering *)env)->c, dim, cells));
}
static void pack(void *env, struct buf *b, struct panels how) {
    lower_give_layout(env, b, layout_packed(((struct lowering *)env)->c, how, b->nlogical));
}
/* Writes the result's border before the parts of the result, along with some cells that are written again later. */
static void write_border(struct lowering *l, struct buf *result) {
    struct ctx *c = l->c;
    const struct var *vars[32];
    expr dims[32], at[32];
    for (int d = 0; d < result->nlogical; d++) dims[d] = d == 2 ? x_int(c, 1) : result->logical[d];
    vars_over(c, "border.i", dims, result->nlogical, vars, at);
    struct stmt *s = s_store(c, result, at, result->nlogical, RED_NONE, x_num(c, dtype_value(result->type), 0));
    outline_statement(l, s_nest(c, vars, result->nlogical, s), "border");
}
static void bands(void *env, struct block *stmts, struct buf *result, struct algorithm_cut *cuts, int n) {
    struct lowering *l = env;
    for (struct stmt *s = stmts->first, *next; s; s = next) { /* the loops fill it, and others read it */
        next = s->next;
        if (s->kind != S_ALLOC || s->u.alloc.buf != result) continue;
        stmt_remove(s);
        lower_stmt(l, s);
    }
    if (layout_of_buf(l, result).halo) write_border(l, result);
    for (int k = 0; k < n; k++) {
        expr extent = result->logical[cuts[k].dim],
             passes = x_divi(l->c, x_addi(l->c, extent, cuts[k].cells - 1), cuts[k].cells);
        cuts[k].from = lower_tile_loop(l, "band", k, passes, cuts[k].cells, extent);
    }
}
static struct buf *stored(void *env, struct buf *b) { return lower_stored(env, b); }
static const struct tensor *given(void *env, const struct buf *b) {
    const struct tensor *t = map_get(&((struct lowering *)env)->given, PKEY(b));
    return t ? t : b->data;
}
/* Checks of sizes apply to all parts, so they go before the first. */
static void check_sizes_first(struct rewriting *r) {
    struct block checks = {0}, *first = &r->parts.v[0].stmts;
    for (int k = 0; k < r->parts.n; k++)
        for (struct stmt *s = r->parts.v[k].stmts.first, *next; s; s = next) {
            next = s->next;
            if (!checks_sizes(s)) continue;
            stmt_remove(s);
            block_append(&checks, s);
        }
    block_move(&checks, first);
    block_move(first, &checks);
}
/* Kernel texts are scheduled at the end (lower.c); keeps until then, for each node that calls a text, what was decided
 * about it. */
static void say_of_texts(struct lowering *l, const struct block *stmts) {
    for (const struct stmt *s = stmts->first; s && l->why; s = s->next) {
        if (s->kind != S_CALL || !s->u.call.callee->is_kernel_text) continue;
        const char *before = map_get(&l->text_whys, PKEY(s->u.call.callee));
        const char *now = internf(l->c->names, "%s  for %s:\n%s", before ? before : "", l->origin, l->why);
        map_put(&l->text_whys, PKEY(s->u.call.callee), (void *)now);
    }
}
/* Applies the algorithms that go beside others to a kernel's stages; mentioned in the kernels' comments. */
static bool outline_beside(struct lowering *l, const struct algorithm_query *of, struct block *stmts, const char *node,
                           const char *name) {
    struct algorithm_query q = *of;
    struct text why = {0};
    const char *nodes = l->nodes, *before = l->why;
    q.stmts = stmts, q.k = NULL, q.results = &l->external;
    const char *titles = algorithm_beside(&q, node, &why);
    if (*titles) l->nodes = internf(l->c->names, "%s%s", titles, nodes ? nodes : "");
    if (why.s) l->why = internf(l->c->names, "%s%s", before ? before : "", why.s);
    say_of_texts(l, stmts);
    bool ok = outline_kernels(l, stmts, name);
    l->nodes = nodes, l->why = before;
    text_free(&why);
    return ok;
}
/* Makes one or more kernels of each part; buffers that other parts read are not local to one. The loops over bands, if
 * there are any, are the last statement of `around`. */
static bool outline_parts(struct lowering *l, const struct algorithm_query *q, const struct algorithm *row,
                          struct rewriting *r, struct block *around, const char *node, const char *name) {
    const char *nodes = l->nodes;
    struct sizes sizes, *outer = l->sizes;
    bool ok = true;
    check_sizes_first(r);
    sizes_of_checks(&sizes, l, &r->parts.v[0].stmts);
    l->sizes = &sizes;
    for (int k = 0; k < r->between.n; k++) map_put(&l->external, PKEY(r->between.v[k]), r->between.v[k]);
    for (int k = 0; k < r->parts.n && ok; k++) {
        struct algorithm_part *p = &r->parts.v[k];
        l->nodes = internf(l->c->names, p->what ? "%s: %s\n%s" : "%s%s\n%s", row->title, p->what ? p->what : "", nodes);
        struct block before = {0}, *bands = l->block;
        if (p->once && bands != around) l->block = &before;
        ok = outline_beside(l, q, &p->stmts, node, name);
        if (p->once && bands != around) block_move_before(around->last, &before), l->block = bands;
    }
    l->nodes = nodes, l->sizes = outer;
    return ok;
}
/* "  algorithm direct: 2304 cycles\n ..": joins the lines with semicolons, without indentation. */
static const char *in_one_line(struct ctx *c, const char *s) {
    struct text t = {0};
    for (s += strspn(s, " \n"); *s; s += strspn(s, " \n")) {
        size_t n = strcspn(s, "\n");
        text_printf(&t, "%s%.*s", t.n ? "; " : "", (int)n, s);
        s += n;
    }
    return text_take(&t, &c->arena);
}
bool lower_statements(struct lowering *l, struct block *stmts, const char *node, const char *name) {
    struct problem k;
    struct text why = {0};
    struct rewriting r = {0};
    if (l->o->no_schedule) return outline_kernels(l, stmts, name);
    bool stages = stages_problem(l->c, stmts, &l->external, &k);
    struct algorithm_query q = {.c = l->c,
                                .m = l->o->target->machine,
                                .threads = lower_threads(l),
                                .module = l->m,
                                .entry = l->entry,
                                .stmts = stmts,
                                .k = stages ? &k : NULL,
                                .wishes = &l->o->algorithms,
                                .env = l,
                                .layout = layout_of_buf,
                                .lay_out = lay_out,
                                .pad = pad,
                                .pack = pack,
                                .stored = stored,
                                .bands = bands,
                                .given = given};
    if (!stages) return outline_beside(l, &q, stmts, node, name);
    const struct algorithm *row = algorithm_choose(&q, node, &why);
    l->why = why.s ? intern(l->c->names, why.s) : NULL;
    if (why.s) remark(l->c, REMARK_ALGORITHM, l->origin, "%s", in_one_line(l->c, why.s));
    text_free(&why);
    struct block *outer = l->block;
    if (row->rewrite) row->rewrite(&q, row, &r);
    bool ok =
        row->rewrite ? outline_parts(l, &q, row, &r, outer, node, name) : outline_beside(l, &q, stmts, node, name);
    l->why = NULL, l->block = outer;
    return ok;
}
