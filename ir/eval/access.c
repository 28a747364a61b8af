/* The interpreter's compiler, accesses: where in its buffer a load or store goes, and that it stays inside.
 *
 * Offsets are linear forms over loop variables. Each loop level adds its part once per pass, the innermost variable is
 * scaled by the access itself. A bounds check goes before the outermost loop around which it can be stated for all
 * passes at once: the access is unconditional below it, and extents and other terms do not change inside. */
#include "ir/base/checked.h"
#include "ir/eval/comp.h"
#include <string.h>

/* coef * creg * reg; creg -1: no factor. Levels: where the value and the factor are known. */
struct term {
    bool is_var;
    int level, reg, creg, clevel;
    int64_t coef;
    expr atom;
};
struct form {
    int64_t k;
    VEC(struct term) t;
};

static int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

/* ---- values kept in front of loops */
static int kept_get(struct comp *c, int level, uint64_t key) {
    struct level *l = &c->levels[level + 1];
    for (int k = 0; k < l->kept.n; k++)
        if (l->kept.v[k].key == key) return l->kept.v[k].reg;
    return -1;
}

static void kept_put(struct comp *c, int level, uint64_t key, int reg) {
    struct level *l = &c->levels[level + 1];
    struct kept k = {key, reg};
    if (l->kept.n < 64) PUSH(c->arena, &l->kept, k);
}

static void add_form(struct comp *c, struct form *f, expr e, int64_t scale, int creg, int clevel);
static int form_reg(struct comp *c, struct form *f, int upto);

/* A pure value at level `level` <= cur, or any expression at the current position. */
static int value_at(struct comp *c, expr e, int level) {
    struct form f = {0};
    if (level == c->cur) {
        if (e->op != X_LIN) return expr_here(c, e);
        add_form(c, &f, e, 1, -1, 0);
        return form_reg(c, &f, c->cur);
    }
    int r = kept_get(c, level, PKEY(e));
    if (r >= 0) return r;
    /* with a separate memo: nothing computed inside of the loops may be used */
    int cur = c->cur, fn = c->fn, mark = memo_mark(c);
    c->cur = level;
    c->fn = ++c->fn_count;
    struct level *saved = &c->levels[level];
    code_vec body = saved->body;
    saved->body = c->levels[level + 1].pre; /* `here` of that level, for selects */
    r = value_at(c, e, level);
    c->levels[level + 1].pre = saved->body;
    saved->body = body;
    c->cur = cur;
    c->fn = fn;
    memo_release(c, mark);
    kept_put(c, level, PKEY(e), r);
    return r;
}

int index_reg(struct comp *c, expr e) {
    if (e->op == X_CONST) return expr_reg(c, e);
    bool pure;
    int level = level_of(c, e, &pure);
    if (e->op == X_VAR || e->op == X_SYM)
        return e->op == X_VAR && level == 0 ? int_reg(c, 0)
               : e->op == X_VAR             ? c->levels[level].var_reg
                                            : sym_find(c, e->u.sym)->reg;
    return value_at(c, e, level);
}

/* ---- geometry of buffers */
static int buffer_level(struct comp *c, int slot) {
    int level = c->u->slots.v[slot].level;
    for (int k = c->cur; k > level; k--)
        if (c->levels[k].swaps) return k;
    return level;
}

static int geometry_reg(struct comp *c, int slot, int d, bool stride, int *level) {
    struct slot *s = &c->u->slots.v[slot];
    *level = 0;
    if (stride ? s->stride_known[d] : s->dim_known[d]) return int_reg(c, stride ? s->stride[d] : s->dim[d]);
    *level = buffer_level(c, slot);
    uint64_t key = (uint64_t)slot << 10 | (uint64_t)d << 2 | (uint64_t)stride << 1 | 1; /* odd: no pointer */
    int r = *level < c->cur ? kept_get(c, *level, key) : -1;
    if (r < 0) {
        r = new_reg(c);
        emit_at(c, *level, (struct ins){.op = stride ? V_STRIDE : V_DIM, .a = r, .b = slot, .c = d});
        if (*level < c->cur) kept_put(c, *level, key, r);
    }
    return r;
}

int dim_reg(struct comp *c, int slot, int d) {
    int level;
    return geometry_reg(c, slot, d, false, &level);
}

/* ---- forms */
static void add_term(struct comp *c, struct form *f, struct term t) {
    if (t.coef == 0) return;
    for (int k = 0; k < f->t.n; k++)
        if (t.is_var && t.creg < 0 && f->t.v[k].is_var && f->t.v[k].creg < 0 && f->t.v[k].reg == t.reg) {
            f->t.v[k].coef = wrap_add(f->t.v[k].coef, t.coef);
            return;
        }
    PUSH(c->arena, &f->t, t);
}

static int product_reg(struct comp *c, int a, int la, int b, int lb, int *level) {
    if (a < 0 || b < 0) {
        *level = a < 0 ? lb : la;
        return a < 0 ? b : a;
    }
    *level = la > lb ? la : lb;
    int r = new_reg(c);
    emit_at(c, *level, (struct ins){.op = V_MUL_I64, .a = r, .b = a, .c = b});
    return r;
}

/* f += e * scale * R[creg] */
static void add_atom(struct comp *c, struct form *f, expr e, int64_t scale, int creg, int clevel) {
    bool pure;
    int level = level_of(c, e, &pure);
    if (e->op == X_VAR && level == 0) /* a loop of extent 1 */
        return;
    if (e->op == X_VAR) {
        struct term t = {true, level, c->levels[level].var_reg, creg, clevel, scale, e};
        add_term(c, f, t);
        return;
    }
    if (e->op == X_PROD) /* variable times something known outside of its loop: still a constant step per iteration */
        for (int k = 0; k < 2; k++) {
            bool p;
            int other = level_of(c, e->arg[1 - k], &p);
            if (e->arg[k]->op == X_VAR && level > 0 && p && other < level) {
                int l, r = product_reg(c, index_reg(c, e->arg[1 - k]), other, creg, clevel, &l);
                add_atom(c, f, e->arg[k], scale, r, l);
                return;
            }
        }
    struct term t = {false, level, e->op == X_SYM ? sym_find(c, e->u.sym)->reg : value_at(c, e, level), creg, clevel,
                     scale, e};
    add_term(c, f, t);
}

static void add_form(struct comp *c, struct form *f, expr e, int64_t scale, int creg, int clevel) {
    int64_t k = e->op == X_LIN || e->op == X_CONST ? wrap_mul(e->u.i, scale) : 0;
    if (k && creg >= 0) {
        struct term t = {false, 0, int_reg(c, k), creg, clevel, 1, NULL};
        add_term(c, f, t);
    } else {
        f->k = wrap_add(f->k, k);
    }
    if (e->op == X_LIN)
        for (int j = 0; j < e->n; j++) add_atom(c, f, e->arg[j], wrap_mul(e->coef[j], scale), creg, clevel);
    else if (e->op != X_CONST) add_atom(c, f, e, scale, creg, clevel);
}

static bool steps(const struct term *t, int level) { return t->is_var && t->level == level && t->clevel < level; }

static int max_int(int a, int b) { return a > b ? a : b; }

/* Register that holds the part of the form known at level `upto`. Steps go to the ends of the loops' bodies. */
static int form_reg(struct comp *c, struct form *f, int upto) {
    int r = -1; /* -1: f->k */
    for (int level = 0; level <= upto; level++) {
        int step = -1, nsteps = 0;
        for (int k = 0; k < f->t.n; k++)
            if (steps(&f->t.v[k], level)) step = k, nsteps++;
        if (nsteps == 1 && r < 0 && f->k == 0 && f->t.v[step].coef == 1 && f->t.v[step].creg < 0) {
            r = f->t.v[step].reg;
        } else if (nsteps) {
            struct level *l = &c->levels[level];
            int o = new_reg(c), base = r < 0 ? int_reg(c, f->k) : r;
            struct ins init = {.op = V_MOV, .a = o, .b = base};
            PUSH(c->arena, &l->pre, init);
            for (int k = 0; k < f->t.n; k++)
                if (steps(&f->t.v[k], level)) {
                    struct term *t = &f->t.v[k];
                    struct ins inc = {.op = t->creg < 0 ? V_INC : V_INCR, .a = o, .b = t->creg, .imm = t->coef};
                    PUSH(c->arena, &l->latch, inc);
                }
            r = o;
        }
        for (int k = 0; k < f->t.n; k++) {
            struct term *t = &f->t.v[k];
            if (steps(t, t->level) || max_int(t->level, t->clevel) != level) continue;
            if (r < 0 && f->k == 0 && t->coef == 1 && t->creg < 0) {
                r = t->reg;
                continue;
            }
            int o = new_reg(c), base = r < 0 ? int_reg(c, f->k) : r;
            emit_at(c, level,
                    (struct ins){.op = t->creg < 0 ? V_MADD : V_MADDR,
                                 .a = o,
                                 .b = base,
                                 .c = t->reg,
                                 .d = t->creg,
                                 .imm = t->coef});
            r = o;
        }
    }
    return r < 0 ? int_reg(c, f->k) : r;
}

/* ---- ranges from constants alone, independent of the compiler's own analysis, which this is meant to test */
static void range_of(struct comp *c, expr e, int64_t *lo, int64_t *hi, int depth) {
    *lo = NEG_INF;
    *hi = POS_INF;
    if (depth > 8) return;
    int64_t al, ah, bl, bh, m;
    switch (e->op) {
    case X_CONST: *lo = *hi = e->u.i; break;
    case X_VAR:
        for (int k = c->cur; k > 0; k--)
            if (c->levels[k].is_for && c->levels[k].var == e->u.var) {
                *lo = 0;
                *hi = c->levels[k].ext > 0 ? c->levels[k].ext - 1 : c->levels[k].ext == 0 ? 0 : POS_INF;
                return;
            }
        if (is_unit(c, e->u.var)) *lo = *hi = 0;
        break;
    case X_LIN:
        *lo = *hi = e->u.i;
        for (int j = 0; j < e->n; j++) {
            range_of(c, e->arg[j], &al, &ah, depth + 1);
            *lo = sat_add(*lo, sat_mul(e->coef[j] > 0 ? al : ah, e->coef[j]));
            *hi = sat_add(*hi, sat_mul(e->coef[j] > 0 ? ah : al, e->coef[j]));
        }
        break;
    case X_MOD:
        if (x_is_int(e->arg[1], &m) && m > 0) {
            *lo = 0;
            *hi = m - 1;
        }
        break;
    case X_DIV:
        range_of(c, e->arg[0], &al, &ah, depth + 1);
        if (x_is_int(e->arg[1], &m) && m > 0) {
            *lo = al == NEG_INF ? al : floordiv64(al, m);
            *hi = ah == POS_INF ? ah : floordiv64(ah, m);
        }
        break;
    case X_MIN:
    case X_MAX:
        range_of(c, e->arg[0], &al, &ah, depth + 1);
        range_of(c, e->arg[1], &bl, &bh, depth + 1);
        *lo = (e->op == X_MIN) == (al < bl) ? al : bl;
        *hi = (e->op == X_MIN) == (ah < bh) ? ah : bh;
        break;
    default: break;
    }
}

uint64_t unproved_dims(struct comp *c, int slot, const expr *idx, int n) {
    struct slot *s = &c->u->slots.v[slot];
    uint64_t r = 0;
    for (int d = 0; d < n; d++) {
        int64_t lo, hi;
        range_of(c, idx[d], &lo, &hi, 0);
        if (!s->dim_known[d] || lo < 0 || hi >= s->dim[d]) r |= (uint64_t)1 << d;
    }
    return r;
}

/* ---- checks */
/* The outermost loop before which this form can be checked; cur + 1: at the access. */
static int check_loop(struct comp *c, const struct form *f, int dim_level) {
    int first = dim_level + 1;
    for (int k = 0; k < f->t.n; k++) {
        const struct term *t = &f->t.v[k];
        first = max_int(first, (t->is_var ? t->clevel : max_int(t->level, t->clevel)) + 1);
    }
    int h = c->cur + 1;
    while (h > first) {
        struct level *l = &c->levels[h - 1];
        if (!l->is_for || l->stops || l->cond != c->cond) break;
        /* Extents of the loops inside must be known before loop h-1. */
        for (int k = h - 1; k <= c->cur; k++)
            if (c->levels[k].ext_level > h - 2) return h;
        h--;
    }
    return h;
}

static void emit_check(struct comp *c, int slot, int d, expr idx) {
    int dim_level, dim = geometry_reg(c, slot, d, false, &dim_level);
    int64_t where = site(c, c->u->slots.v[slot].buf, d);
    struct form f = {0};
    add_form(c, &f, idx, 1, -1, 0);
    int h = check_loop(c, &f, dim_level);
    if (h > c->cur) {
        emit(c, (struct ins){.op = V_CHK, .a = form_reg(c, &f, c->cur), .b = dim, .imm = where});
        return;
    }
    /* lo and hi over all passes of loops h .. cur, computed before loop h. */
    int outer = h - 1;
    int jumps[MAX_LEVELS], nj = 0;
    code_vec *pre = &c->levels[h].pre;
    for (int k = h; k <= c->cur; k++)
        if (c->levels[k].ext < 0) {
            struct ins j = {.op = V_JLE0, .a = c->levels[k].ext_reg, .imm = 1};
            jumps[nj++] = pre->n;
            PUSH(c->arena, pre, j);
        } else if (c->levels[k].ext == 0) {
            return; /* never reached, but existing jumps continue at the next instruction */
        }
    struct form base = {.k = f.k};
    for (int k = 0; k < f.t.n; k++)
        if (!f.t.v[k].is_var || f.t.v[k].level <= outer) PUSH(c->arena, &base.t, f.t.v[k]);
    int lo = new_reg(c), hi = new_reg(c), start = form_reg(c, &base, outer);
    struct ins m1 = {.op = V_MOV, .a = lo, .b = start}, m2 = {.op = V_MOV, .a = hi, .b = start};
    PUSH(c->arena, pre, m1);
    PUSH(c->arena, pre, m2);
    for (int k = 0; k < f.t.n; k++) {
        struct term *t = &f.t.v[k];
        if (!t->is_var || t->level <= outer) continue;
        struct level *l = &c->levels[t->level];
        int last = l->ext >= 0 ? int_reg(c, l->ext - 1) : new_reg(c);
        if (l->ext < 0) {
            struct ins dec = {.op = V_MADD, .a = last, .b = l->ext_reg, .c = int_reg(c, 1), .imm = -1};
            PUSH(c->arena, pre, dec);
        }
        struct ins add = {.op = t->creg < 0 ? V_MADD : V_MADDR, .c = last, .d = t->creg, .imm = t->coef};
        if (t->creg >= 0) { /* the factor's sign is unknown: widen both ends in its direction */
            int step = new_reg(c), zero = int_reg(c, 0), up = new_reg(c), down = new_reg(c);
            add.a = step;
            add.b = zero;
            struct ins mx = {.op = V_MAX_I64, .a = up, .b = step, .c = zero},
                       mn = {.op = V_MIN_I64, .a = down, .b = step, .c = zero};
            struct ins ah = {.op = V_ADD_I64, .a = hi, .b = hi, .c = up},
                       al = {.op = V_ADD_I64, .a = lo, .b = lo, .c = down};
            PUSH(c->arena, pre, add);
            PUSH(c->arena, pre, mx);
            PUSH(c->arena, pre, mn);
            PUSH(c->arena, pre, ah);
            PUSH(c->arena, pre, al);
        } else {
            add.a = add.b = t->coef > 0 ? hi : lo;
            PUSH(c->arena, pre, add);
        }
    }
    struct ins chk = {.op = V_CHKRANGE, .a = lo, .b = hi, .c = dim, .imm = where};
    PUSH(c->arena, pre, chk);
    for (int k = 0; k < nj; k++) pre->v[jumps[k]].imm = pre->n - jumps[k];
}

struct access access_to(struct comp *c, int slot, const expr *idx, int n, uint64_t skip_checks) {
    struct slot *s = &c->u->slots.v[slot];
    if (n != s->buf->nd) comp_fail(c, "%s is accessed with %d indices, it has %d dims", s->buf->name, n, s->buf->nd);
    if (!s->live) comp_fail(c, "%s is used outside of its allocation", s->buf->name);
    if (s->freed) emit(c, (struct ins){.op = V_LIVE, .b = slot, .imm = site(c, s->buf, 0)});
    uint64_t checks = unproved_dims(c, slot, idx, n) & ~skip_checks;
    struct form f = {0};
    for (int d = 0; d < n; d++) {
        if (checks >> d & 1) emit_check(c, slot, d, idx[d]);
        s = &c->u->slots.v[slot];
        if (s->stride_known[d]) {
            add_form(c, &f, idx[d], s->stride[d], -1, 0);
        } else {
            int level, r = geometry_reg(c, slot, d, true, &level);
            add_form(c, &f, idx[d], 1, r, level);
        }
    }
    struct access a = {slot, 0, int_reg(c, 0), 0};
    /* the access itself handles the innermost loop's variable */
    if (c->cur > 0 && c->levels[c->cur].is_for)
        for (int k = 0; k < f.t.n; k++)
            if (f.t.v[k].is_var && f.t.v[k].level == c->cur && f.t.v[k].creg < 0) {
                a.var = f.t.v[k].reg;
                a.coef = f.t.v[k].coef;
                f.t.v[k] = f.t.v[--f.t.n];
                break;
            }
    a.base = form_reg(c, &f, c->cur);
    return a;
}

/* ---- loads and stores */
int emit_load(struct comp *c, struct access a, int dst) {
    enum dtype t = c->u->slots.v[a.slot].buf->type;
    struct ins i = {.x = (uint16_t)t, .a = dst, .b = a.slot, .c = a.base, .d = a.var, .imm = a.coef};
    switch (t) {
    case BOOL: i.op = V_LD_BOOL; break;
    case I8: i.op = V_LD_I8; break;
    case U8: i.op = V_LD_U8; break;
    case I16: i.op = V_LD_I16; break;
    case U16: i.op = V_LD_U16; break;
    case I32:
    case U32:
    case F32: i.op = V_LD_32; break;
    case I64:
    case U64:
    case F64:
    case IDX:
    case C64: i.op = V_LD_64; break;
    case C128:
    case STR: i.op = V_LD_128; break;
    case F16: i.op = V_LD_F16; break;
    case BF16: i.op = V_LD_BF16; break;
    default: i.op = V_LD_SUB; break;
    }
    emit(c, i);
    return dst;
}

void emit_store(struct comp *c, struct access a, int src) {
    enum dtype t = c->u->slots.v[a.slot].buf->type;
    struct ins i = {.x = (uint16_t)t, .a = src, .b = a.slot, .c = a.base, .d = a.var, .imm = a.coef};
    switch (t) {
    case BOOL: i.op = V_ST_BOOL; break;
    case I8:
    case U8: i.op = V_ST_8; break;
    case I16:
    case U16: i.op = V_ST_16; break;
    case I32:
    case U32:
    case F32: i.op = V_ST_32; break;
    case I64:
    case U64:
    case F64:
    case IDX:
    case C64: i.op = V_ST_64; break;
    case C128:
    case STR: i.op = V_ST_128; break;
    case F16: i.op = V_ST_F16; break;
    case BF16: i.op = V_ST_BF16; break;
    default: i.op = V_ST_SUB; break;
    }
    emit(c, i);
}
