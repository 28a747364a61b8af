/* Derives what an instruction of tiles computes from its nest; see tile_nest.h. */
#include "ir/loop/tile_nest.h"

enum { INNER = 3, MOST = 16 }; /* lanes, q, k; all loops */

/* The last loops have the extents and strides of the body: its lanes, and the contiguous cells. */
static bool inner_loops(struct stmt *const *loop, expr (*step)[3], const struct instr_row *row, int *found) {
    int64_t side = row->tile.side, lanes = row->tile.lanes, groups;
    if (!x_is_int(loop[1]->u.loop.var->extent, &groups) || groups > row->tile.groups) return false;
    if (row->tile.whole && groups < row->tile.groups) return false;
    *found = (int)groups;
    const int64_t want[INNER][4] = {{lanes, 1, 0, side}, {groups, 0, side, side * lanes}, {side, 0, 1, 1}};
    for (int k = 0; k < INNER; k++) {
        if (!x_is(loop[k]->u.loop.var->extent, want[k][0])) return false;
        for (int i = 0; i < 3; i++)
            if (!x_is(step[k][i], want[k][1 + i])) return false;
    }
    return true;
}
static bool outer_loop(expr extent, const expr *step, struct tile_nest *t) {
    bool in_c = !x_is(step[0], 0), in_b = !x_is(step[2], 0);
    if (x_is(extent, 1)) return true;
    if (!in_c) { /* of the sum */
        if (t->n == TILE_STEPS) return false;
        t->steps[t->n++] = (struct tile_step){extent, step[1], step[2]};
        return true;
    }
    if (in_b ? t->b_vector || !x_is(step[1], 0) : t->a_row != NULL) return false;
    if (in_b) t->vectors = extent, t->c_vector = step[0], t->b_vector = step[2];
    else t->rows = extent, t->c_row = step[0], t->a_row = step[1];
    return true;
}
bool find_tile_nest(struct ctx *ctx, const struct instr_row *row, struct stmt *const *loops, int n, expr c, expr a,
                    expr b, struct tile_nest *nest) {
    expr step[MOST][3], at[3] = {c, a, b};
    if (n < INNER || n > MOST) return false;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 3; i++)
            if (!(step[k][i] = x_step_along(ctx, loops[k]->u.loop.var, &at[i]))) return false;
    *nest = (struct tile_nest){.c = at[0], .a = at[1], .b = at[2]};
    for (int k = 0; k < n - INNER; k++)
        if (!outer_loop(loops[k]->u.loop.var->extent, step[k], nest)) return false;
    expr one = x_int(ctx, 1), none = x_int(ctx, 0);
    if (!nest->a_row) nest->rows = one, nest->c_row = nest->a_row = none;
    if (!nest->b_vector) nest->vectors = one, nest->c_vector = nest->b_vector = none;
    return inner_loops(loops + n - INNER, step + n - INNER, row, &nest->groups);
}

struct loads {
    struct ctx *ctx;
    const struct stmt *instr;
    expr at[3];
};
/* Operands are told apart by their buffers: in an instruction of tiles no two share one. */
static void see(struct loads *q, const struct buf *b, const expr *idx) {
    for (int k = 0; k < q->instr->u.instr.n && k < 3; k++)
        if (q->instr->u.instr.holes[k].buf == b) q->at[k] = buf_offset(q->ctx, b, idx);
}
static void see_load(void *env, expr load) { see(env, load->u.buf, load->arg); }
bool tile_nest_of(struct ctx *ctx, const struct stmt *instr, struct tile_nest *nest) {
    struct stmt *loops[MOST], *s = instr->u.instr.body.first;
    struct loads q = {.ctx = ctx, .instr = instr};
    int n = 0;
    for (; s && !s->next && s->kind == S_FOR && n < MOST; s = s->u.loop.body.first) loops[n++] = s;
    if (!s || s->next || s->kind != S_STORE || instr->u.instr.n != 3) return false;
    x_each_load(s->u.store.value, see_load, &q);
    see(&q, s->u.store.buf, s->u.store.idx);
    if (!q.at[0] || !q.at[1] || !q.at[2]) return false;
    return find_tile_nest(ctx, instr->u.instr.row, loops, n, q.at[0], q.at[1], q.at[2], nest) &&
           nest->c == instr->u.instr.holes[0].off && nest->a == instr->u.instr.holes[1].off &&
           nest->b == instr->u.instr.holes[2].off;
}
