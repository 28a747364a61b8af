/* The step tensorize: replaces nests that equal an instruction's body by the instruction. The row's body is loop IR
 * text whose parameters are the holes. A nest matches if extents, update and value are the same; and each hole's
 * operand has the hole's type (for an instruction that moves cells: the same width) and the same strides as the hole
 * (STRIDE_ANY: any along that loop). An instruction on tiles matches nests of any size of its kind
 * (ir/loop/tile_nest.h). The nest stays inside of the instruction as its meaning. */
#include "ir/loop/tile_nest.h"
#include "lower/schedule/steps_util.h"
#include <string.h>

enum { MAX_HOLES = 6, MAX_LOOPS = 5 };
struct bound {
    struct buf *buf;
    expr off, cell; /* offset of the operand's first cell in buf; offset of the nest's cell from it, according to the
                     * body */
};
struct match {
    struct step_run *s;
    const struct instr_row *row;
    struct proc *body;          /* the row's, parsed */
    struct stmts pattern, nest; /* loops */
    const struct buf *stored;   /* by the nest */
    struct bound holes[MAX_HOLES];
};
static int hole_of(const struct match *m, const struct buf *param) {
    for (int k = 0; k < MAX_HOLES && m->row->holes[k].name; k++)
        if (!strcmp(m->row->holes[k].name, param->name)) return k;
    return -1;
}
/* Binds a hole: an access of the body, in the nest's variables, and the corresponding access of the nest. */
static bool bind(struct match *m, struct buf *param, const expr *at, struct buf *buf, const expr *idx) {
    struct ctx *c = m->s->c;
    int h = hole_of(m, param);
    struct vars mine = {0};
    struct subst to_nest = {{.arena = &m->s->tmp}};
    if (h < 0 || !instr_has_type(m->row, &m->row->holes[h], buf, m->stored) || !instr_holds(m->row, param->name, buf))
        return false;
    if (m->row->scope == SCOPE_TILE) { /* offsets are found later, when all operands are known */
        m->holes[h] = (struct bound){buf, buf_offset(c, buf, idx), NULL};
        return buf->scope != SC_REG;
    }
    expr place = buf_offset(c, buf, idx);
    for (int k = 0; k < m->nest.n; k++) {
        const struct var *v = m->nest.v[k]->u.loop.var;
        bool any = m->row->holes[h].strides[k] == STRIDE_ANY;
        if (any && (buf->scope == SC_REG || !x_step_along(c, v, &place))) return false;
        PUSH(&m->s->tmp, &mine, v);
        map_put(&to_nest.map, PKEY(m->pattern.v[k]->u.loop.var), (void *)(any ? x_int(c, 0) : x_var(c, v)));
    }
    expr cell = x_subst(c, buf_offset(c, param, at), &to_nest), off = x_sub(c, place, cell);
    for (int k = 0; k < mine.n; k++)
        if (x_is(mine.v[k]->extent, 1)) off = x_subst1(c, off, mine.v[k], x_int(c, 0));
    if (uses_any(off, &mine)) return false;
    if (m->holes[h].buf) return m->holes[h].buf == buf && m->holes[h].off == off;
    m->holes[h] = (struct bound){buf, off, cell};
    return true;
}
static bool same_leaf(expr p, expr e) {
    switch (p->op) {
    case X_CONST:
    case X_SYM:
    case X_ARG: return p == e;
    case X_CALL: return p->u.fn == e->u.fn || (!strcmp(p->u.fn->name, e->u.fn->name) && p->u.fn->body == e->u.fn->body);
    case X_ROUND: return p->u.i == e->u.i;
    default: return true;
    }
}
static bool unify(struct match *m, expr p, expr e);
/* An index that bodies compute with (the number of a field of bits) consists of their loops' variables. */
static bool same_index(struct match *m, expr p, expr e) {
    struct subst to_nest = {{.arena = &m->s->tmp}};
    for (int k = 0; k < m->nest.n && k < m->pattern.n; k++)
        map_put(&to_nest.map, PKEY(m->pattern.v[k]->u.loop.var), (void *)x_var(m->s->c, m->nest.v[k]->u.loop.var));
    return x_subst(m->s->c, p, &to_nest) == e;
}
/* The factors may be in either order. */
static bool unify_product(struct match *m, expr p, expr e) {
    struct bound before[MAX_HOLES];
    if (p->n == 3 && !unify(m, p->arg[2], e->arg[2])) return false;
    memcpy(before, m->holes, sizeof before);
    if (unify(m, p->arg[0], e->arg[0]) && unify(m, p->arg[1], e->arg[1])) return true;
    memcpy(m->holes, before, sizeof before);
    return unify(m, p->arg[0], e->arg[1]) && unify(m, p->arg[1], e->arg[0]);
}
static bool unify(struct match *m, expr p, expr e) {
    if (p->op == X_LOAD)
        return e->op == X_LOAD && !p->has_fill && !e->has_fill && bind(m, p->u.buf, p->arg, e->u.buf, e->arg);
    if (p->type == IDX) return same_index(m, p, e);
    if (p->op != e->op || p->type != e->type || p->n != e->n || !same_leaf(p, e)) return false;
    if (p->op == X_FMA || p->op == X_MUL) return unify_product(m, p, e);
    for (int k = 0; k < p->n; k++)
        if (!unify(m, p->arg[k], e->arg[k])) return false;
    return true;
}
/* An instruction reads all operands before it stores. So an operand in the stored buffer must be exactly the stored
 * cells. */
static bool in_place_ok(struct match *m, int out) {
    const struct instr_hole *h = m->row->holes;
    for (int k = 0; k < MAX_HOLES && h[k].name; k++) {
        if (k == out || !m->holes[k].buf || m->holes[k].buf != m->holes[out].buf) continue;
        if (m->holes[k].off != m->holes[out].off || m->holes[k].cell != m->holes[out].cell) return false;
    }
    return true;
}
/* The nest's loops have the extents and kinds of the body's. */
static bool same_loops(const struct match *m) {
    if (m->nest.n != m->pattern.n) return false;
    for (int k = 0; k < m->nest.n; k++) {
        enum loop_kind of_body = m->pattern.v[k]->u.loop.kind;
        if (m->nest.v[k]->u.loop.var->extent != m->pattern.v[k]->u.loop.var->extent) return false;
        if (of_body != LK_SERIAL && m->nest.v[k]->u.loop.kind != of_body) return false; /* the threads of a warp */
    }
    return true;
}
/* The operands are three different buffers, laid out as a product of tiles requires. Sets the offsets of their first
 * cells. */
static bool is_tile_nest(struct match *m) {
    struct bound *h = m->holes;
    struct tile_nest t;
    if (h[0].buf == h[1].buf || h[0].buf == h[2].buf || h[1].buf == h[2].buf) return false;
    if (!find_tile_nest(m->s->c, m->row, m->nest.v, m->nest.n, h[0].off, h[1].off, h[2].off, &t)) return false;
    h[0].off = t.c, h[1].off = t.a, h[2].off = t.b;
    return true;
}
static bool matches(struct match *m, struct stmt *loop) {
    struct step_run *s = m->s;
    bool tiles = m->row->scope == SCOPE_TILE;
    m->nest = (struct stmts){0};
    memset(m->holes, 0, sizeof m->holes);
    chain_of(s, loop, &m->nest);
    if (!tiles && !same_loops(m)) return false;
    struct block *leaf = leaf_of(&m->nest);
    struct stmt *st = leaf->first, *ps = leaf_of(&m->pattern)->first;
    if (!st || st->next || st->kind != S_STORE || st->u.store.op != ps->u.store.op) return false;
    m->stored = st->u.store.buf;
    if (!bind(m, ps->u.store.buf, ps->u.store.idx, st->u.store.buf, st->u.store.idx) ||
        !unify(m, ps->u.store.value, st->u.store.value))
        return false;
    return tiles ? is_tile_nest(m) : in_place_ok(m, hole_of(m, ps->u.store.buf));
}
static void replace(struct match *m, struct stmt *loop) {
    struct ctx *c = m->s->c;
    struct stmt *t = s_new(c, S_INSTR);
    int n = 0;
    t->u.instr.row = m->row;
    t->u.instr.holes = arena_array(&c->arena, MAX_HOLES, sizeof *t->u.instr.holes);
    for (int h = 0; h < MAX_HOLES && m->row->holes[h].name; h++) {
        if (!m->holes[h].buf) continue;
        t->u.instr.holes[n].hole = m->row->holes[h].name;
        t->u.instr.holes[n].buf = m->holes[h].buf;
        t->u.instr.holes[n++].off = m->holes[h].off;
    }
    t->u.instr.n = n;
    stmt_insert_before(loop, t);
    stmt_remove(loop);
    block_append(&t->u.instr.body, loop);
}
static bool parse_row(struct match *m) {
    struct step_run *s = m->s;
    const struct instr_row *row = m->row;
    struct module *mod = loop_parse(s->c, row->body, strlen(row->body), row->name);
    if (!mod) return step_refuse(s, NULL, "the body of instruction `%s` cannot be read", row->name);
    m->body = mod->procs.n ? mod->procs.v[0] : mod->entry;
    struct stmt *first = m->body ? m->body->body.first : NULL;
    if (first && first->kind == S_FOR) chain_of(s, first, &m->pattern);
    struct block *leaf = m->pattern.n ? leaf_of(&m->pattern) : NULL;
    if (!leaf || first->next || !leaf->first || leaf->first->next || leaf->first->kind != S_STORE ||
        m->pattern.n > MAX_LOOPS)
        return step_refuse(s, NULL, "the body of instruction `%s` is not a perfect nest around one store", row->name);
    return true;
}
bool tensorize_with(struct step_run *s, const struct instr_row *row) {
    struct match m = {.s = s, .row = row};
    struct stmts all = {0};
    int done = 0;
    if (!parse_row(&m)) return false;
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++) {
        struct stmt *up = all.v[k]->in ? stmt_parent(all.v[k]) : NULL;
        if (all.v[k]->kind != S_FOR || (up && up->kind == S_INSTR)) continue;
        while (up && up->kind != S_INSTR) up = stmt_parent(up);
        if (up || !matches(&m, all.v[k])) continue;
        replace(&m, all.v[k]);
        done++;
    }
    if (!done)
        return step_refuse(s,
                           "compare the nest with the instruction's body: extents and order of loops, strides, types, "
                           "values that operands must lie within, the form of the value",
                           "no nest equals `%s`", row->name);
    return true;
}

bool apply_tensorize(struct step_run *s) {
    const char *name = s->step->u.tensorize.instr;
    const struct instr_row *row = instr_by_name(name);
    if (!row) return step_refuse(s, NULL, "no target has an instruction `%s`", name);
    return tensorize_with(s, row);
}
