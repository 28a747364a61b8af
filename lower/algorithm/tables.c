/* Tables: a function of one byte (such as an activation between a dequantization and a quantization) has at most 256
 * values. The interpreter computes them at compile time, and the run looks them up; bits are unchanged. A byte is a
 * load of one, a value rounded to one, or an i32 proved to be in such a small range. The function may be spread over
 * several maps of the group, and may read constants. It goes beside other rows, because the byte is mostly a sum of
 * products, and the rest an epilogue. A lookup takes a load per lane, so cheap functions are still computed (worth_it);
 * where registers hold tables of bytes, it costs a few operations. */
#include "lower/algorithm/constants.h"
#include "lower/algorithm/rows.h"
#include "lower/problem/problem.h"

enum { MOST = 256 };
/* What an expression depends on: itself with the maps that it reads substituted, if that is a single byte. */
struct source {
    expr whole, byte; /* byte NULL: constants alone */
    bool other;       /* depends on something else, or on several bytes */
};
struct tables {
    const struct algorithm_query *q;
    struct ctx *c;
    bool asked, rewrites;
    struct map maps;    /* buffer that only the group reads -> the map that makes it */
    struct map sources; /* expression -> struct source */
    struct map made;    /* the function, with the byte replaced by argument 0 -> struct table_made */
    struct algorithm_saving saved;
    double cells; /* of the stage in progress */
};
struct table_made {
    struct buf *b;
    int64_t lo, hi;
};

/* ---- which byte it depends on */
/* Is e a byte, whatever it is computed from? */
static bool is_byte(expr e, int64_t *lo, int64_t *hi) {
    if (e->type != I32 || e->op == X_CONST) return false;
    if (e->op == X_LOAD && !dtype_is_byte(e->u.buf->type)) return false;
    struct x_range r = x_range(e);
    *lo = (int64_t)r.lo, *hi = (int64_t)r.hi;
    return !r.nan && *hi - *lo < MOST;
}
static const struct source *source_of(struct tables *t, expr e);
/* The map's value at the loaded cell, as its buffer stores it. */
static expr made_value(struct tables *t, const struct stmt *map, expr load) {
    struct subst at = {{.arena = &t->c->arena}};
    const struct buf *b = load->u.buf;
    for (int k = 0; k < map->u.stage.naxes; k++) map_put(&at.map, PKEY(map->u.stage.axes[k]), (void *)load->arg[k]);
    expr v = x_subst(t->c, map->u.stage.value, &at);
    return b->type == dtype_value(b->type) ? v : x_round(t->c, b->type, v);
}
struct of_source {
    struct tables *t;
    expr e;
};
static expr operand_whole(void *env, expr e) {
    struct of_source *o = env;
    return e == o->e ? NULL : source_of(o->t, e)->whole;
}
/* What all operands together depend on. */
static struct source of_operands(struct tables *t, expr e) {
    struct source s = {.whole = e};
    for (int k = 0; k < e->n && !s.other; k++) {
        const struct source *a = source_of(t, e->arg[k]);
        s.other = a->other || (a->byte && s.byte && a->byte != s.byte);
        if (a->byte) s.byte = a->byte;
    }
    if (!s.other) s.whole = x_map(t->c, e, operand_whole, &(struct of_source){t, e});
    return s;
}
static struct source of_load(struct tables *t, expr e) {
    const struct stmt *map = e->has_fill ? NULL : map_get(&t->maps, PKEY(e->u.buf));
    if (map) {
        const struct source *s = source_of(t, made_value(t, map, e));
        if (!s->other && s->whole != s->byte) return *s;
    }
    return is_known_constant(e->u.buf) ? of_operands(t, e) : (struct source){.whole = e, .other = true};
}
static struct source find_source(struct tables *t, expr e) {
    switch (e->op) {
    case X_CONST: return (struct source){.whole = e};
    case X_LOAD: return of_load(t, e);
    case X_CALL: return e->u.fn->body ? of_operands(t, e) : (struct source){.whole = e, .other = true};
    case X_VAR:
    case X_SYM:
    case X_ARG:
    case X_GUARD:
    case X_POISON:
    case X_TEXT: return (struct source){.whole = e, .other = true};
    default: return of_operands(t, e);
    }
}
static const struct source *source_of(struct tables *t, expr e) {
    struct source *s = map_get(&t->sources, PKEY(e));
    int64_t lo, hi;
    if (s) return s;
    s = NEW(&t->c->arena, struct source);
    *s = find_source(t, e);
    if (s->other && is_byte(e, &lo, &hi)) *s = (struct source){.whole = e, .byte = e};
    map_put(&t->sources, PKEY(e), s);
    return s;
}

/* ---- is it worth it? */
struct work {
    const struct machine *m;
    double cycles; /* for a vector of 32-bit lanes, or for one cell */
    int operations;
};
static double cycles_of_op(const struct machine *m, enum xop op, enum dtype t) {
    const struct operation *o = op == X_DIV || op == X_MOD || op == X_SQRT ? machine_op(m, X_DIV, F32)
                                : op == X_FMA                              ? machine_multiply_add(m, t)
                                                                           : machine_op(m, op, t);
    if (!o) o = machine_op(m, X_ADD, F32);
    return 1 / o->starts;
}
static bool add_work(void *env, expr e) {
    struct work *w = env;
    if (e->op == X_CALL) return x_visit(e->u.fn->body, add_work, env);
    if (e->n == 0 || e->type == IDX || e->op == X_LOAD || e->op == X_BITCAST || e->op == X_NEG) return true;
    w->cycles += cycles_of_op(w->m, (enum xop)e->op, (enum dtype)e->type), w->operations++;
    return true;
}
struct replacing {
    expr byte, by;
};
static expr replaced_byte(void *env, expr e) {
    const struct replacing *r = env;
    return e == r->byte ? r->by : NULL;
}
static expr with_byte(struct tables *t, const struct source *s, expr by) {
    return x_map(t->c, s->whole, replaced_byte, &(struct replacing){s->byte, by});
}
/* A table must halve the cycles, because its cells displace others from the caches. They are read once in any case. */
static bool worth_it(struct tables *t, const struct source *s, int64_t entries, double *saved) {
    const struct machine *m = t->q->m;
    int lanes = machine_lanes(m, F32);
    struct work w = {m, 0, 0};
    x_visit(with_byte(t, s, x_arg(t->c, 0, I32)), add_work, &w);
    bool bytes_to_bytes = entries == MOST && s->whole->type == I32 && (x_fits(s->whole, U8) || x_fits(s->whole, I8)),
         held = m->byte_tables > 0 && bytes_to_bytes;
    bool wide = (lanes > 1 && !held) || s->whole->type == F32;
    double vectors = t->cells / lanes, bytes = (double)entries * (wide ? 4 : 1),
           starts = held ? m->byte_tables : machine_op(m, X_TOIDX, I32)->starts,
           lookups = vectors / starts + bytes * m->memory_byte;
    *saved = w.cycles * vectors - lookups;
    return t->asked ? w.operations > 1 : 2 * lookups <= w.cycles * vectors;
}

/* ---- the table */
/* The smallest type that holds all cells. Vectors look up cells in the type in which they compute, unless the machine
 * holds whole tables of bytes in registers. */
static enum dtype cell_type(const struct tables *t, const struct tensor *cells) {
    static const enum dtype narrow[] = {U8, I8, I16};
    static const int64_t ends[][2] = {{0, UINT8_MAX}, {INT8_MIN, INT8_MAX}, {INT16_MIN, INT16_MAX}};
    int64_t lo, hi;
    if (cells->type != I32) return cells->type;
    tensor_range(cells, &lo, &hi);
    bool held = t->q->m->byte_tables > 0 && tensor_count(cells) == MOST;
    int most = machine_lanes(t->q->m, F32) < 2 ? 3 : held ? 2 : 0;
    for (int k = 0; k < most; k++)
        if (ends[k][0] <= lo && hi <= ends[k][1]) return narrow[k];
    return I32;
}
static struct buf *make_table(struct tables *t, const struct source *s, int64_t lo, int64_t hi) {
    struct ctx *c = t->c;
    expr function = with_byte(t, s, x_arg(c, 0, I32));
    struct table_made *known = map_get(&t->made, PKEY(function));
    if (known && known->lo == lo && known->hi == hi) return known->b;
    const struct var *v = var_new(c, "v", x_int(c, hi - lo + 1));
    expr value = with_byte(t, s, x_cast(c, I32, x_idxval(c, x_addi(c, x_var(c, v), lo))));
    const struct tensor *cells = stage_constant(c, (enum dtype)value->type, &v, 1, RED_NONE, NULL, 0, value);
    if (!cells) return NULL;
    enum dtype type = cell_type(t, cells);
    known = NEW(&c->arena, struct table_made);
    *known = (struct table_made){
        constant_buf(c, t->q->entry, "table", type == cells->type ? cells : tensor_as(c, cells, type)), lo, hi};
    map_put(&t->made, PKEY(function), known);
    return known->b;
}
/* Adds a clamp, because no bounds are known of cells that are stored in another type. */
static expr clamped(struct tables *t, expr byte, int64_t lo, int64_t hi) {
    struct ctx *c = t->c;
    if (byte->op != X_LOAD || t->q->stored(t->q->env, byte->u.buf) == byte->u.buf) return byte;
    return x_min(c, x_max(c, byte, x_const_i(c, I32, lo)), x_const_i(c, I32, hi));
}
static expr looked_up(void *env, expr e) {
    struct tables *t = env;
    int64_t lo, hi;
    double saved;
    if (e->type != I32 && e->type != F32) return NULL;
    const struct source *s = source_of(t, e);
    if (s->other || !s->byte || s->whole == s->byte || !is_byte(s->byte, &lo, &hi)) return NULL;
    if (!worth_it(t, s, hi - lo + 1, &saved)) return NULL;
    struct buf *table = NULL;
    if (t->rewrites && !(table = make_table(t, s, lo, hi))) return e;
    t->saved.places++, t->saved.cycles += saved;
    if (!table) return e;
    expr at = x_addi(t->c, x_toidx(t->c, clamped(t, s->byte, lo, hi)), -lo);
    return x_load(t->c, table, &at, 1, NULL);
}

/* ---- the stages of a group */
static bool is_map(const struct stmt *s) { return s->kind == S_STAGE && s->u.stage.op == RED_NONE; }
/* Does anyone but s write b? */
static bool written_elsewhere(const struct algorithm_query *q, const struct stmt *s, const struct buf *b) {
    for (const struct stmt *t = q->stmts->first; t; t = t->next) {
        if (t == s || t->kind == S_ALLOC) continue;
        if (t->kind == S_STAGE ? t->u.stage.buf == b : stmt_uses(t, b, NULL)) return true;
    }
    return false;
}
/* All readers of the map now look up its source directly. */
static bool is_passed(struct tables *t, const struct stmt *map) {
    const struct buf *b = map->u.stage.buf;
    if (!map_get(&t->maps, PKEY(b)) || source_of(t, map->u.stage.value)->other) return false;
    for (const struct stmt *s = t->q->stmts->first; s; s = s->next)
        if (!is_map(s) && stmt_reads(s, b, NULL)) return false;
    return true;
}
static bool is_read(const struct algorithm_query *q, const struct buf *b) {
    if (!q->results || map_get(q->results, PKEY(b))) return true;
    for (struct stmt *s = q->stmts->first; s; s = s->next)
        if (stmt_reads(s, b, NULL)) return true;
    return false;
}
/* Removes the maps that only the group could read and that nobody reads any more. */
static void drop_unread(const struct tables *t) {
    const struct algorithm_query *q = t->q;
    for (bool again = true; again;) {
        again = false;
        for (struct stmt *s = q->stmts->first, *next; s; s = next) {
            next = s->next;
            struct buf *b = is_map(s) ? s->u.stage.buf : NULL;
            if (!b || !map_get(&t->maps, PKEY(b)) || is_read(q, b)) continue;
            for (struct stmt *a = q->stmts->first; a; a = a->next)
                if (a->kind == S_ALLOC && a->u.alloc.buf == b) {
                    stmt_remove(a);
                    break;
                }
            next = s->next;
            stmt_remove(s);
            proc_drop_buf(q->entry, b);
            again = true;
        }
    }
}
static void find_maps(struct tables *t) {
    const struct algorithm_query *q = t->q;
    struct map allocated = {.arena = &t->c->arena};
    for (struct stmt *s = q->stmts->first; s; s = s->next) {
        if (s->kind == S_ALLOC) map_put(&allocated, PKEY(s->u.alloc.buf), s);
        struct buf *b = is_map(s) ? s->u.stage.buf : NULL;
        if (b && map_get(&allocated, PKEY(b)) && q->results && !map_get(q->results, PKEY(b)) &&
            !written_elsewhere(q, s, b))
            map_put(&t->maps, PKEY(b), s);
    }
}
/* A map may only be moved to its reader if all statements are stages. */
static bool holds_stages_only(const struct block *b) {
    for (const struct stmt *s = b->first; s; s = s->next)
        if (s->kind != S_STAGE && s->kind != S_ALLOC && s->kind != S_CHECK && s->kind != S_VIEW) return false;
    return true;
}
struct algorithm_saving tables_beside(const struct algorithm_query *q, const struct algorithm *row, bool asked,
                                      bool rewrites) {
    (void)row;
    struct map none = {.arena = &q->c->arena};
    struct tables t = {q, q->c, asked, rewrites, none, none, none, {0}, 0};
    if (q->m->gpu || !machine_op(q->m, X_TOIDX, I32) || !holds_stages_only(q->stmts)) return t.saved;
    find_maps(&t);
    for (struct stmt *s = q->stmts->last; s; s = s->prev) { /* readers first, while the maps that they read are
                                                             * unchanged */
        if (!is_map(s) || is_passed(&t, s)) continue;
        t.cells = typical_result(q->c, s);
        expr v = x_map(q->c, s->u.stage.value, looked_up, &t);
        if (rewrites) s->u.stage.value = v;
    }
    if (rewrites) drop_unread(&t);
    return t.saved;
}
