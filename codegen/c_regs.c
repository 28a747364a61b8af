/* Register buffers as variables: which cells become one variable, what it is called, and which must start at zero. Used
 * by c.c while it prints a function.
 *
 * If all accesses of a buffer have constant indices (with contiguous lanes), it becomes variables, one for each vector
 * or single cell; gcc keeps such variables in registers, but not an array. Other buffers become local arrays. */
#include "codegen/c_int.h"
#include "lower/machine/machine.h"
#include <string.h>

/* ---- which cells are accessed, and how */
struct reg_env {
    struct fe *f;
    const struct buf *buf;
    struct regs *r;
    const struct var *lane;
    int width;
};

static void reg_cells(struct reg_env *q, expr off, int lanes, bool load) {
    struct ctx *c = q->f->c;
    struct regs *r = q->r;
    int64_t at;
    if (!x_is_int(off, &at) || at < 0 || at + lanes > r->ncells) {
        r->array = true;
        return;
    }
    for (int i = 0; i < r->pieces.n; i++) {
        struct reg_piece *p = &r->pieces.v[i];
        if (at >= p->cell + p->lanes || p->cell >= at + lanes) continue;
        if (lanes == 1 || (p->cell == at && p->lanes == lanes)) {
            p->loaded = p->loaded || load;
            return;
        }
        if (p->lanes > 1) { /* vectors that overlap but are not equal */
            r->array = true;
            return;
        }
        r->pieces.v[i--] = r->pieces.v[--r->pieces.n]; /* a single cell that is part of a vector */
        load = true;
    }
    struct reg_piece n = {.cell = at, .lanes = lanes, .loaded = load};
    PUSH(&c->arena, &r->pieces, n);
}
static void reg_access(struct reg_env *q, const expr *idx, bool load) {
    int64_t k = 0;
    expr off = buf_own_offset(q->f->c, q->buf, idx);
    if (q->r->array) return;
    if ((q->lane && !x_linear_in(q->f->c, off, q->lane, &k, &off)) || k < 0 || k > 1) q->r->array = true;
    else reg_cells(q, off, k == 0 ? 1 : q->width, load);
}
/* An instruction takes an operand as one vector, or by address; variables have no address. */
static void reg_instr(struct reg_env *q, const struct stmt *s) {
    for (int k = 0; k < s->u.instr.n; k++) {
        if (s->u.instr.holes[k].buf != q->buf) continue;
        const char *by_address = format(q->f->c, "{&%s}", s->u.instr.holes[k].hole);
        if (strstr(emit_instr(q->f->o, s->u.instr.row->name)->c, by_address)) q->r->array = true;
        if (!q->r->array) reg_cells(q, c_instr_place(q->f, s, k), c_instr_lanes(s, s->u.instr.holes[k].hole), true);
    }
}
static void reg_load(void *env, expr e) {
    struct reg_env *q = env;
    if (e->u.buf != q->buf) return;
    if (e->has_fill) q->r->array = true;
    reg_access(q, e->arg, true);
}
static void reg_loads(void *env, expr e) { x_each_load(e, reg_load, env); }
static void reg_block(struct reg_env *q, const struct block *b) {
    for (const struct stmt *s = b->first; s; s = s->next) {
        const struct block *in;
        struct named_buf named;
        struct reg_env inner = *q;
        if (s->kind == S_INSTR) {
            reg_instr(q, s);
            continue;
        }
        stmt_exprs(s, reg_loads, q);
        if (s->kind == S_FOR && s->u.loop.kind == LK_VECTOR)
            inner.lane = s->u.loop.var, inner.width = (int)s->u.loop.var->extent->u.i;
        for (int k = 0; stmt_buf(s, k, &named); k++) {
            if (named.buf != q->buf || named.use & BU_BEGINS) continue;
            if (s->kind == S_STORE) reg_access(q, s->u.store.idx, s->u.store.op != RED_NONE);
            else q->r->array = true; /* other statements take its address */
        }
        for (int k = 0; (in = stmt_block(s, k)); k++) reg_block(&inner, in);
    }
}
void c_find_registers(struct fe *f) {
    enum { MOST = 4096 };
    for (int i = 0; i < f->p->bufs.n; i++) {
        struct buf *b = f->p->bufs.v[i];
        int64_t cells;
        if (b->scope != SC_REG) continue;
        struct regs *r = NEW(&f->c->arena, struct regs);
        r->buf = b;
        map_put(&f->regs, PKEY(b), r);
        if (!x_is_int(buf_own_cells(f->c, b), &cells) || cells > MOST || cells < 1) {
            r->array = true;
            continue;
        }
        r->ncells = cells;
        struct reg_env q = {.f = f, .buf = b, .r = r};
        reg_block(&q, &f->p->body);
        for (int k = 0; b->type == BOOL && k < r->pieces.n; k++)
            r->array = r->array || r->pieces.v[k].lanes > 1; /* single elements of masks cannot be stored to */
        if (r->array) continue;
        r->of_cell = NEWN(&f->c->arena, int, cells);
        memset(r->of_cell, -1, sizeof(int) * (size_t)cells);
        for (int k = 0; k < r->pieces.n; k++)
            for (int j = 0; j < r->pieces.v[k].lanes; j++) r->of_cell[r->pieces.v[k].cell + j] = k;
    }
}

/* "acc_1_12": the indices of a cell in the dims that are longer than 1; vectors leave their lanes out. */
static const char *piece_name(struct fe *f, const struct buf *b, const struct reg_piece *p) {
    int64_t rest = p->cell;
    const char *s = b->name;
    for (int k = 0; k < b->nd; k++) {
        int64_t stride, dim;
        if (!x_is_int(buf_own_stride(f->c, b, k), &stride) || !x_is_int(b->dims[k], &dim) || stride < 1) return b->name;
        if (buf_is_apart(b, k)) continue;
        int64_t i = rest / stride;
        rest %= stride;
        if (k == b->nd - 1 && p->lanes > 1) {
            if (dim <= p->lanes) continue;
            i /= p->lanes;
        }
        if (dim > 1) s = format(f->c, "%s_%lld", s, (long long)i);
    }
    return s;
}

/* Which registers might a compiler believe to be read before they are set? It does not know what conditions imply, so
 * such registers start at zero. The state of each piece: */
enum { UNTOUCHED, SET, DOUBTFUL };
struct flow {
    struct fe *f;
    const struct buf *b;
    struct regs *r;
    unsigned char *state;
};
static void flow_block(struct flow *w, const struct block *b);
static void flow_touch_at(struct flow *w, expr off, bool set) {
    int element = -1;
    struct reg_piece *q = c_piece_at(w->f, w->b, off, &element);
    unsigned char *st = &w->state[q - w->r->pieces.v];
    if (*st == UNTOUCHED) *st = set && element < 0 ? SET : DOUBTFUL;
}
static void flow_touch(struct flow *w, const expr *idx, bool set) {
    flow_touch_at(w, buf_own_offset(w->f->c, w->b, idx), set);
}
static void flow_load(void *env, expr load) {
    struct flow *w = env;
    if (load->u.buf == w->b) flow_touch(w, load->arg, false);
}
/* The states after b, on a copy, because b may not run. */
static unsigned char *flow_copy(struct flow *w, const struct block *b) {
    struct flow in = *w;
    in.state = arena_copy(&w->f->c->arena, w->state, (size_t)w->r->pieces.n);
    flow_block(&in, b);
    return in.state;
}
/* The effect of a block that may not run. */
static void flow_maybe(struct flow *w, const struct block *b) {
    unsigned char *in = flow_copy(w, b);
    for (int k = 0; k < w->r->pieces.n; k++)
        if (w->state[k] == UNTOUCHED && in[k] != UNTOUCHED) w->state[k] = DOUBTFUL;
}
static void flow_block(struct flow *w, const struct block *b) {
    for (const struct stmt *s = b->first; s; s = s->next) {
        int64_t extent;
        switch (s->kind) {
        case S_INSTR:
            for (int k = 0; k < s->u.instr.n; k++)
                if (s->u.instr.holes[k].buf == w->b) flow_touch_at(w, c_instr_place(w->f, s, k), false);
            break;
        case S_STORE:
            x_each_load(s->u.store.value, flow_load, w);
            if (s->u.store.buf == w->b) flow_touch(w, s->u.store.idx, s->u.store.op == RED_NONE);
            break;
        case S_FOR:
            if (s->u.loop.kind == LK_VECTOR) w->f->lane = s->u.loop.var, w->f->width = (int)s->u.loop.var->extent->u.i;
            if (x_is_int(s->u.loop.var->extent, &extent) && extent > 0) {
                flow_block(w, &s->u.loop.body);
            } else {
                flow_maybe(w, &s->u.loop.body);
            }
            w->f->lane = NULL, w->f->width = 1;
            break;
        case S_IF: {
            x_each_load(s->u.cond.cond, flow_load, w);
            unsigned char *a = flow_copy(w, &s->u.cond.then), *o = flow_copy(w, &s->u.cond.other);
            for (int k = 0; k < w->r->pieces.n; k++)
                if (w->state[k] == UNTOUCHED) w->state[k] = a[k] == o[k] ? a[k] : DOUBTFUL;
            break;
        }
        case S_WHILE:
            x_each_load(s->u.loop_while.cond, flow_load, w);
            flow_maybe(w, &s->u.loop_while.body);
            break;
        default: break;
        }
    }
}
/* ---- declaring */
void c_declare_registers(struct fe *f, const struct buf *b, struct regs *r, const struct block *home) {
    struct flow w = {f, b, r, NEWN(&f->c->arena, unsigned char, r->pieces.n + 1)};
    int vectors = 0;
    flow_block(&w, home);
    for (int k = 0; k < r->pieces.n; k++) vectors += r->pieces.v[k].lanes > 1;
    if (2 * vectors >= machine_registers(f->o->target->machine)) f->tile = f->loop;
    for (int lanes = 1; lanes <= 1 << MAX_LANES_LOG; lanes *= 2) {
        struct text l = {0};
        enum dtype v = dtype_value(b->type);
        for (int64_t cell = 0; cell < r->ncells; cell++) {
            int k = r->of_cell[cell];
            if (k < 0 || r->pieces.v[k].cell != cell || r->pieces.v[k].lanes != lanes) continue;
            struct reg_piece *p = &r->pieces.v[k];
            p->sn = c_declare(f, piece_name(f, b, p), NULL);
            const char *init = b->fill                  ? format(f->c, " = %s", c_fill_value(f, b, lanes).s)
                               : w.state[k] == DOUBTFUL ? lanes > 1 ? " = {0}" : " = 0"
                                                        : "";
            if (l.n && l.n + strlen(p->sn->name) + strlen(init) > 100) {
                text_add(&l, ";");
                c_put(f, l.s);
                l.n = 0;
            }
            if (!l.n)
                text_printf(&l, "%s %s%s", lanes > 1 ? c_vector_type(f->o, v, lanes) : c_value_type(v), p->sn->name,
                            init);
            else text_printf(&l, ", %s%s", p->sn->name, init);
        }
        if (l.n) {
            text_add(&l, ";");
            c_put(f, l.s);
        }
        text_free(&l);
    }
}
