/* The interpreter's strips: innermost loops whose body is straight code run an instruction at a time over many passes,
 * which the C compiler turns into vector code. Exactly the operations and results of running pass after pass: a loop is
 * only run this way when no pass reads what another stores, or when all that is carried is one accumulator, which is
 * then updated in order. */
#include "ir/base/convert.h"
#include "ir/base/memory.h"
#include "ir/eval/arith.h"
#include <stdlib.h>
#include <string.h>

/* Lanes at a time. Arithmetic is done on whole groups; lanes past the end hold old values and are not stored. */
enum { LANES = 128, GROUP = 16, MAX_VECTORS = 512, SPARE = 4 };

/* Operands a, b, c, d are vectors where they were registers; accesses keep the slot in b, and their base: vector d when
 * `indexed`, else register c. */
struct lane_ins {
    struct ins i;
    bool indexed;
    int end;
}; /* end: JOUT: index where its region ends */
struct source {
    int reg, vec, width;
    int step_reg;
    int64_t step;
}; /* step_reg -1: step; -2: the same in all passes */
struct strip {
    VEC(struct lane_ins) code;
    VEC(struct source) sources;
    int nvec;
    int acc_load, acc_op, acc_store; /* instructions of the accumulator; -1: none */
    int acc_operand;                 /* 0, 1, 2: b, c or d of acc_op */
};

/* ---- finding */
struct finder {
    struct arena *a;
    struct strip *s;
    const code_vec *body, *latch;
    int var_reg;
    struct map vec, defined;
    bool bad;
};

static int new_vec(struct finder *f) {
    f->bad |= f->s->nvec >= MAX_VECTORS;
    return f->s->nvec++;
}

static int define(struct finder *f, int reg) {
    void *known = map_get(&f->vec, (uint64_t)reg * 16 + 1);
    if (known) return (int)(intptr_t)known;
    int v = new_vec(f);
    map_put(&f->vec, (uint64_t)reg * 16 + 1, (void *)(intptr_t)v);
    return v;
}

/* The vector that holds a register as its reader wants it: 4 or 8 bytes per lane. */
static int use(struct finder *f, int reg, int width) {
    void *known = map_get(&f->vec, (uint64_t)reg * 16 + 1);
    if (known) return (int)(intptr_t)known;
    if (map_get(&f->defined, (uint64_t)reg + 1)) { /* from the pass before */
        f->bad = true;
        return 0;
    }
    if ((known = map_get(&f->vec, (uint64_t)reg * 16 + (uint64_t)width))) return (int)(intptr_t)known;
    struct source s = {reg, new_vec(f), width, -2, 0};
    if (reg == f->var_reg) {
        s.step_reg = -1;
        s.step = 1;
    }
    for (int k = 0; k < f->latch->n; k++)
        if (f->latch->v[k].a == reg) {
            f->bad |= s.step_reg != -2 || width != 8;
            s.step_reg = f->latch->v[k].op == V_INC ? -1 : f->latch->v[k].b;
            s.step = f->latch->v[k].imm;
        }
    PUSH(f->a, &f->s->sources, s);
    map_put(&f->vec, (uint64_t)reg * 16 + (uint64_t)width, (void *)(intptr_t)s.vec);
    return s.vec;
}

static bool varies(struct finder *f, int reg) {
    if (map_get(&f->defined, (uint64_t)reg + 1)) return true;
    for (int k = 0; k < f->latch->n; k++)
        if (f->latch->v[k].a == reg) return true;
    return false;
}

static bool is_load(int op) { return op >= V_LD_BOOL && op <= V_LD_SUB && op != V_LD_128; }
static bool is_store(int op) { return op >= V_ST_BOOL && op <= V_ST_SUB && op != V_ST_128; }
static int value_width(int type) { return type == I64 || type == U64 || type == F64 || type == IDX ? 8 : 4; }

/* Bytes per lane that a typed operation reads. */
static int typed_width(int op) {
    switch (op) {
#define I32_WIDTH 4
#define U32_WIDTH 4
#define F32_WIDTH 4
#define I64_WIDTH 8
#define U64_WIDTH 8
#define F64_WIDTH 8
#define W(o, t)                                                                                                        \
    case V_##o##_##t: return t##_WIDTH;
        TYPED_OPS(W)
#undef W
    default: return 0;
    }
}

static int operand_count(int op) {
    switch (op) {
// clang-format off
#define ONE(o, t) case V_##o##_##t:
#define THREE(o, t) case V_##o##_##t:
    EACH_NUM(ONE, NEG) EACH_NUM(ONE, ABS) EACH_FLT(ONE, SQRT) EACH_FLT(ONE, FLOOR) EACH_FLT(ONE, CEIL) EACH_FLT(ONE, TRUNC) EACH_FLT(ONE, RINT)
    EACH_INT(ONE, NOT)
        return 1;
    EACH_NUM(THREE, FMA)
        return 3;
// clang-format on
#undef ONE
#undef THREE
    default: return 2;
    }
}

/* Bytes per lane of an operand, 0 for b, 1 for c, 2 for d; 0: the instruction has none there. Not for accesses, checks
 * and jumps. */
static int operand_width(const struct ins *i, int k) {
    int typed = typed_width(i->op);
    if (typed) return k < operand_count(i->op) ? typed : 0;
    switch (i->op) {
    case V_MADDR: return 8;
    case V_MADD:
    case V_FDIV:
    case V_FMOD:
    case V_GUARD: return k < 2 ? 8 : 0;
    case V_SEL: return k == 0 ? 4 : i->x;
    case V_MOV: return k == 0 ? i->x : 0;
    case V_NOTB: return k == 0 ? 4 : 0;
    case V_CAST: return k == 0 ? value_width(i->x >> 6) : 0;
    case V_ROUND: return k == 0 ? value_width((int)i->imm) : 0;
    default: return 0;
    }
}

/* Missing operands are set to b, so that all of them name a vector. */
static void find_ins(struct finder *f, const struct ins *i, bool masked) {
    struct lane_ins o = {.i = *i};
    if (is_load(i->op) || is_store(i->op)) {
        f->bad |= (i->imm != 0 && i->d != f->var_reg) || (masked && is_store(i->op));
        o.indexed = varies(f, i->c);
        if (o.indexed) o.i.d = use(f, i->c, 8);
        if (is_load(i->op)) o.i.a = define(f, i->a);
        else o.i.a = use(f, i->a, i->op == V_ST_64 ? 8 : 4);
    } else if (i->op == V_CHK || i->op == V_JOUT) {
        f->bad |= masked && i->op == V_CHK;
        o.i.a = use(f, i->a, 8);
        o.i.b = o.i.c = o.i.d = use(f, i->b, 8);
    } else {
        int c = operand_width(i, 1), d = operand_width(i, 2);
        f->bad |= masked && i->op == V_GUARD;
        o.i.b = use(f, i->b, operand_width(i, 0));
        o.i.c = c ? use(f, i->c, c) : o.i.b;
        o.i.d = d ? use(f, i->d, d) : o.i.b;
        o.i.a = define(f, i->a);
    }
    PUSH(f->a, &f->s->code, o);
}

static bool defines(const struct ins *i) { return !is_store(i->op) && i->op != V_CHK && i->op != V_JOUT; }

static bool reads(const struct lane_ins *o, int vec) {
    const struct ins *i = &o->i;
    if (is_load(i->op)) return o->indexed && i->d == vec;
    if (is_store(i->op)) return i->a == vec || (o->indexed && i->d == vec);
    return i->b == vec || i->c == vec || i->d == vec || (!defines(i) && i->a == vec);
}

static int readers(const struct strip *s, int vec) {
    int n = 0;
    for (int k = 0; k < s->code.n; k++) n += reads(&s->code.v[k], vec);
    return n;
}

static int writers(const struct strip *s, int vec) {
    int n = 0;
    for (int k = 0; k < s->code.n; k++) n += defines(&s->code.v[k].i) && s->code.v[k].i.a == vec;
    return n;
}

/* A store to one cell for all passes must be acc = op(acc, ...) with nothing else reading acc or the result. */
static bool find_accumulator(struct strip *s, int store) {
    const struct lane_ins *st = &s->code.v[store];
    if (s->acc_store >= 0 || st->indexed || (st->i.op != V_ST_32 && st->i.op != V_ST_64)) return false;
    int op = -1, load = -1, operand = 0;
    for (int k = 0; k < store; k++)
        if (defines(&s->code.v[k].i) && s->code.v[k].i.a == st->i.a) op = k;
    if (op < 0 || !typed_width(s->code.v[op].i.op) || readers(s, st->i.a) != 1 || writers(s, st->i.a) != 1)
        return false;
    int in[3] = {s->code.v[op].i.b, s->code.v[op].i.c, s->code.v[op].i.d}, count = operand_count(s->code.v[op].i.op);
    for (int k = 0; k < op; k++) {
        const struct ins *i = &s->code.v[k].i;
        if ((i->op == V_LD_32 || i->op == V_LD_64) && !s->code.v[k].indexed && i->b == st->i.b && i->c == st->i.c &&
            i->imm == 0)
            for (int j = 0; j < count; j++)
                if (in[j] == i->a) {
                    load = k;
                    operand = j;
                }
    }
    if (load < 0 || readers(s, s->code.v[load].i.a) != 1 || writers(s, s->code.v[load].i.a) != 1) return false;
    for (int j = 0; j < count; j++)
        if (j != operand && in[j] == in[operand]) return false;
    s->acc_load = load;
    s->acc_op = op;
    s->acc_store = store;
    s->acc_operand = operand;
    return true;
}

struct strip *strip_find(struct arena *a, const code_vec *body, const code_vec *latch, int var_reg) {
    for (int k = 0; k < body->n; k++) { /* most loops fail here, before anything is allocated */
        int op = body->v[k].op;
        if (!is_load(op) && !is_store(op) && op != V_CHK && op != V_JOUT && !operand_width(&body->v[k], 0)) return NULL;
    }
    if (body->n > MAX_VECTORS) return NULL;
    struct strip *s = NEW(a, struct strip);
    struct finder f = {
        .a = a, .s = s, .body = body, .latch = latch, .var_reg = var_reg, .vec.arena = a, .defined.arena = a};
    s->nvec = SPARE; /* vector 0 means none: maps hold no 0 */
    s->acc_load = s->acc_op = s->acc_store = -1;
    for (int k = 0; k < body->n; k++)
        if (defines(&body->v[k])) map_put(&f.defined, (uint64_t)body->v[k].a + 1, s);
    for (int k = 0; k < latch->n; k++)
        f.bad |= map_get(&f.defined, (uint64_t)latch->v[k].a + 1) != NULL ||
                 (latch->v[k].op != V_INC && latch->v[k].op != V_INCR);
    int region = 0; /* code before this index is masked */
    for (int k = 0; k < body->n && !f.bad; k++) {
        const struct ins *i = &body->v[k];
        if (i->op == V_JOUT) {
            int end = k + (int)i->imm;
            f.bad |= i->imm <= 0 || (k < region && end != region);
            region = end;
        }
        find_ins(&f, i, k < region);
        if (i->op == V_JOUT && !f.bad) s->code.v[s->code.n - 1].end = region;
    }
    for (int k = 0; k < s->code.n && !f.bad; k++)
        if (is_store(s->code.v[k].i.op) && !s->code.v[k].indexed && s->code.v[k].i.imm == 0)
            f.bad |= !find_accumulator(s, k);
    return f.bad ? NULL : s;
}

/* ---- running */
struct span {
    const struct cells *cells;
    int64_t lo, hi, base, coef;
    bool indexed;
};

static struct span span_of(const struct frame *f, const struct lane_ins *o, int64_t passes) {
    struct span s = {.cells = f->b[o->i.b].cells, .indexed = o->indexed, .coef = o->i.imm};
    s.base = o->indexed ? 0 : f->r[o->i.c].l;
    int64_t last = s.base + s.coef * (passes - 1);
    s.lo = s.base < last ? s.base : last;
    s.hi = s.base < last ? last : s.base;
    return s;
}

/* No pass reads or overwrites what another stores, except the accumulator. */
static bool independent(const struct frame *f, const struct strip *s, int64_t passes) {
    for (int k = 0; k < s->code.n; k++) {
        if (!is_store(s->code.v[k].i.op)) continue;
        struct span st = span_of(f, &s->code.v[k], passes);
        for (int j = 0; j < s->code.n; j++) {
            const struct lane_ins *o = &s->code.v[j];
            if (j == k || (!is_load(o->i.op) && !is_store(o->i.op)) || (k == s->acc_store && j == s->acc_load))
                continue;
            struct span t = span_of(f, o, passes);
            if (t.cells != st.cells && t.cells->data != st.cells->data) continue;
            bool apart = !t.indexed && !st.indexed && (t.hi < st.lo || st.hi < t.lo);
            bool same = !t.indexed && !st.indexed && t.base == st.base && t.coef == st.coef && st.coef != 0;
            if (!apart && !same) return false;
        }
    }
    return true;
}

static void *vector(struct run *r, int k) { return r->lanes + (size_t)k * LANES * 8; }

/* Values for passes first .. first+n-1. */
static void fill_source(struct run *r, const struct frame *f, const struct source *s, int64_t first, int n) {
    union reg v = f->r[s->reg];
    if (s->width == 4) {
        uint32_t *o = vector(r, s->vec);
        for (int k = 0; k < n; k++) o[k] = v.u;
        return;
    }
    uint64_t *o = vector(r, s->vec), step = (uint64_t)s->step;
    if (s->step_reg == -2) step = 0;
    else if (s->step_reg >= 0) step *= f->r[s->step_reg].w;
    for (int k = 0; k < n; k++) o[k] = v.w + step * (uint64_t)(first + k);
}

/* The active lanes: a range, and within it a mask if there are gaps. */
struct active {
    int lo, hi;
    bool holes;
    uint8_t mask[LANES];
};

static int64_t cell_at(struct run *r, const struct frame *f, const struct lane_ins *o, int64_t first, int k) {
    int64_t base = o->indexed ? ((const int64_t *)vector(r, o->i.d))[k] : f->r[o->i.c].l;
    return base + (first + k) * o->i.imm;
}

#define EACH_LANE                                                                                                      \
    for (int k = on->lo; k < on->hi; k++)                                                                              \
        if (!on->holes || on->mask[k])
static bool lanes_load(struct run *r, struct frame *f, const struct lane_ins *o, int64_t first,
                       const struct active *on) {
    struct rbuf *b = &f->b[o->i.b];
    if (b->shadow) {
        EACH_LANE {
            int64_t c = cell_at(r, f, o, first, k);
            if (!b->shadow[c]) return undefined_fault(r, f->u, f, o->i.b, c);
        }
    }
    uint32_t *o4 = vector(r, o->i.a);
    uint64_t *o8 = vector(r, o->i.a);
    if (!o->indexed && !on->holes && (o->i.op == V_LD_32 || o->i.op == V_LD_U8 || o->i.op == V_LD_I8)) {
        int64_t c = f->r[o->i.c].l + first * o->i.imm, step = o->i.imm;
        if (o->i.op == V_LD_32 && step == 1 && on->hi > on->lo)
            memcpy(o4 + on->lo, (const uint32_t *)b->data + c + on->lo, 4 * (size_t)(on->hi - on->lo));
        else if (o->i.op == V_LD_32)
            for (int k = on->lo; k < on->hi; k++) o4[k] = ((const uint32_t *)b->data)[c + k * step];
        else if (o->i.op == V_LD_U8)
            for (int k = on->lo; k < on->hi; k++) o4[k] = ((const uint8_t *)b->data)[c + k * step];
        else
            for (int k = on->lo; k < on->hi; k++) ((int32_t *)o4)[k] = ((const int8_t *)b->data)[c + k * step];
        return true;
    }
    EACH_LANE {
        union reg v = load_cell(b, (enum dtype)o->i.x, cell_at(r, f, o, first, k));
        if (o->i.op == V_LD_64) o8[k] = v.w;
        else o4[k] = v.u;
    }
    return true;
}

static void lanes_store(struct run *r, struct frame *f, const struct lane_ins *o, int64_t first, int n) {
    struct rbuf *b = &f->b[o->i.b];
    enum dtype t = (enum dtype)o->i.x;
    const uint32_t *v4 = vector(r, o->i.a);
    const uint64_t *v8 = vector(r, o->i.a);
    if (o->i.op == V_ST_32 && !o->indexed && o->i.imm == 1) {
        memcpy((uint32_t *)b->data + f->r[o->i.c].l + first, v4, 4 * (size_t)n);
    } else {
        for (int k = 0; k < n; k++) {
            union reg v = {.w = o->i.op == V_ST_64 ? v8[k] : v4[k]};
            store_cell(b, t, cell_at(r, f, o, first, k), &v);
        }
    }
    for (int k = 0; b->shadow && k < n; k++) {
        int64_t c = cell_at(r, f, o, first, k);
        if (!b->shadow[c]) {
            b->shadow[c] = 1;
            if (--b->cells->undef == 0) b->shadow = NULL;
        }
    }
}

/* One typed operation on scalars, for accumulators without a loop of their own. */
static union reg typed_once(int op, union reg x, union reg y, union reg z) {
    union reg r = {.l = 0};
    switch (op) {
#define ONCE(o, t)                                                                                                     \
    case V_##o##_##t: DO_##o(t, r, x, y, z); break;
        TYPED_OPS(ONCE)
#undef ONCE
    default: break;
    }
    return r;
}

static union reg lane(struct run *r, int vec, int width, int k) {
    union reg v = {.l = 0};
    if (width == 4) v.u = ((const uint32_t *)vector(r, vec))[k];
    else v.w = ((const uint64_t *)vector(r, vec))[k];
    return v;
}

/* The accumulator's update over n lanes, in order. */
static union reg accumulate(struct run *r, const struct strip *s, union reg acc, int n) {
    const struct ins *i = &s->code.v[s->acc_op].i;
    int w = typed_width(i->op), at = s->acc_operand;
    if (i->op == V_ADD_F32) {
        const float *x = vector(r, at ? i->b : i->c);
        for (int k = 0; k < n; k++) acc.f += x[k];
    } else if (i->op == V_FMA_F32 && at == 2) {
        const float *x = vector(r, i->b), *y = vector(r, i->c);
        for (int k = 0; k < n; k++) acc.f = e_fma_F32(x[k], y[k], acc.f);
    } else if (i->op == V_ADD_I32) {
        const uint32_t *x = vector(r, at ? i->b : i->c);
        for (int k = 0; k < n; k++) acc.u += x[k];
    } else {
        for (int k = 0; k < n; k++) {
            union reg x = at == 0 ? acc : lane(r, i->b, w, k), y = at == 1 ? acc : lane(r, i->c, w, k);
            acc = typed_once(i->op, x, y, at == 2 ? acc : lane(r, i->d, w, k));
        }
    }
    return acc;
}

static void narrow(struct active *on, const int64_t *index, const int64_t *bound, int n) {
    int lo = n, hi = 0, count = 0;
    for (int k = 0; k < n; k++) {
        on->mask[k] = on->mask[k] && (uint64_t)index[k] < (uint64_t)bound[k];
        if (on->mask[k]) {
            lo = lo < k ? lo : k;
            hi = k + 1;
            count++;
        }
    }
    on->lo = lo < hi ? lo : 0;
    on->hi = hi;
    on->holes = count != on->hi - on->lo;
}

static void all_on(struct active *on, int n) {
    on->lo = 0;
    on->hi = n;
    on->holes = false;
    memset(on->mask, 1, (size_t)n);
}

/* Everything that is not a typed operation or an access. false after a fault. */
static bool lanes_other(struct run *r, struct frame *f, const struct ins *i, int n) {
    int64_t *o8 = vector(r, i->a);
    uint32_t *o4 = vector(r, i->a);
    const int64_t *b8 = vector(r, i->b), *c8 = vector(r, i->c), *d8 = vector(r, i->d);
    const uint32_t *b4 = vector(r, i->b), *c4 = vector(r, i->c), *d4 = vector(r, i->d);
    switch (i->op) {
    case V_MOV: memcpy(o8, b8, (size_t)n * i->x); break;
    case V_MADD:
        for (int k = 0; k < n; k++) o8[k] = (int64_t)((uint64_t)b8[k] + (uint64_t)c8[k] * (uint64_t)i->imm);
        break;
    case V_MADDR:
        for (int k = 0; k < n; k++)
            o8[k] = (int64_t)((uint64_t)b8[k] + (uint64_t)c8[k] * (uint64_t)d8[k] * (uint64_t)i->imm);
        break;
    case V_FDIV:
        for (int k = 0; k < n; k++) o8[k] = floor_div(b8[k], c8[k]);
        break;
    case V_FMOD:
        for (int k = 0; k < n; k++) o8[k] = floor_mod(b8[k], c8[k]);
        break;
    case V_NOTB:
        for (int k = 0; k < n; k++) o4[k] = !b4[k];
        break;
    case V_SEL:
        if (i->x == 4)
            for (int k = 0; k < n; k++) o4[k] = b4[k] ? c4[k] : d4[k];
        else
            for (int k = 0; k < n; k++) o8[k] = b4[k] ? c8[k] : d8[k];
        break;
    case V_CAST:
    case V_ROUND: {
        int from = value_width(i->op == V_CAST ? i->x >> 6 : (int)i->imm),
            to = i->op == V_CAST ? value_width(i->x & 63) : from;
        for (int k = 0; k < n; k++) {
            union reg v = lane(r, i->b, from, k);
            v = i->op == V_CAST ? eval_cast(v, i->x >> 6, i->x & 63)
                                : eval_round(v, (enum dtype)i->imm, (enum dtype)i->x);
            if (to == 4) o4[k] = v.u;
            else o8[k] = v.l;
        }
        break;
    }
    case V_CHK:
        for (int k = 0; k < n; k++)
            if ((uint64_t)o8[k] >= (uint64_t)b8[k]) return index_fault(r, f->u, i->imm, o8[k], b8[k]);
        break;
    case V_GUARD:
        for (int k = 0; k < n; k++) {
            bool in = b8[k] >= 0 && b8[k] < c8[k];
            if (!in && !note_guard(r, f->u, i->imm, b8[k], c8[k])) return false;
            o8[k] = in ? b8[k] : 0;
        }
        break;
    default: BUG("interpreter: strip instruction %d", i->op);
    }
    return true;
}

/* On the lowest x86, fused multiply-add is a library call; if the machine has the instruction it is used instead, with
 * the same bits. */
#if defined __x86_64__ && defined __GNUC__
__attribute__((target("avx2,fma"))) static void lanes_fma_hardware(float *o, const float *x, const float *y,
                                                                   const float *z, int n) {
    for (int g = 0; g < n; g += GROUP) {
        float out[GROUP];
        for (int k = 0; k < GROUP; k++) out[k] = __builtin_fmaf(x[g + k], y[g + k], z[g + k]);
        memcpy(o + g, out, sizeof out);
    }
}
static bool has_fma(void) { return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"); }
#else
static void lanes_fma_hardware(float *o, const float *x, const float *y, const float *z, int n) {
    for (int k = 0; k < n; k++) o[k] = fmaf(x[k], y[k], z[k]);
}
static bool has_fma(void) { return false; }
#endif

static void lanes_typed(struct run *r, const struct ins *i, int n) {
    const void *vb = vector(r, i->b), *vc = vector(r, i->c), *vd = vector(r, i->d);
    void *va = vector(r, i->a);
    if (i->op == V_FMA_F32 && has_fma()) {
        lanes_fma_hardware(va, vb, vc, vd, n);
        return;
    }
    switch (i->op) {
#define LANE_LOOP(o, t, R, m)                                                                                          \
    case V_##o##_##t: {                                                                                                \
        const CT(t) *X = vb, *Y = vc, *Z = vd;                                                                         \
        R *O = va;                                                                                                     \
        for (int g = 0; g < n; g += GROUP) {                                                                           \
            R out[GROUP];                                                                                              \
            for (int k = 0; k < GROUP; k++) {                                                                          \
                union reg r_, x = {.l = 0}, y = {.l = 0}, z = {.l = 0};                                                \
                x.M(t) = X[g + k];                                                                                     \
                y.M(t) = Y[g + k];                                                                                     \
                z.M(t) = Z[g + k];                                                                                     \
                (void)z, (void)y;                                                                                      \
                DO_##o(t, r_, x, y, z);                                                                                \
                out[k] = (R)r_.m;                                                                                      \
            }                                                                                                          \
            memcpy(O + g, out, sizeof out);                                                                            \
        }                                                                                                              \
        break;                                                                                                         \
    }
#define VALUE(o, t)   LANE_LOOP(o, t, CT(t), M(t))
#define COMPARE(o, t) LANE_LOOP(o, t, int32_t, l)
        VALUE_OPS(VALUE)
        COMPARE_OPS(COMPARE)
#undef VALUE
#undef COMPARE
#undef LANE_LOOP
    default: BUG("interpreter: strip instruction %d", i->op);
    }
}

static bool run_lanes(struct run *r, struct frame *f, const struct strip *s, int64_t first, int n, union reg *acc) {
    struct active on;
    all_on(&on, n);
    int region = 0;
    for (int k = 0; k < s->code.n; k++) {
        const struct lane_ins *o = &s->code.v[k];
        if (region && k >= region) {
            region = 0;
            all_on(&on, n);
        }
        if (k == s->acc_load || k == s->acc_store) continue;
        if (k == s->acc_op) {
            *acc = accumulate(r, s, *acc, n);
        } else if (is_load(o->i.op)) {
            if (!lanes_load(r, f, o, first, &on)) return false;
        } else if (is_store(o->i.op)) {
            lanes_store(r, f, o, first, n);
        } else if (o->i.op == V_JOUT) {
            narrow(&on, vector(r, o->i.a), vector(r, o->i.b), n);
            region = o->end;
            if (on.hi == 0) k = region - 1;
        } else if (typed_width(o->i.op)) {
            lanes_typed(r, &o->i, n);
        } else if (!lanes_other(r, f, &o->i, n)) {
            return false;
        }
    }
    return true;
}

int strip_run(struct run *r, struct frame *f, const struct strip *s, int64_t passes) {
    if (!independent(f, s, passes)) return 0;
    if (s->nvec > r->lanes_cap) {
        free(r->lanes);
        r->lanes_cap = s->nvec + 16;
        r->lanes = memory_zeroed((size_t)r->lanes_cap * LANES, 8);
    }
    union reg acc = {.l = 0};
    struct rbuf *b = NULL;
    int64_t cell = 0;
    enum dtype t = F32;
    if (s->acc_store >= 0) {
        const struct ins *i = &s->code.v[s->acc_load].i;
        b = &f->b[i->b];
        cell = f->r[i->c].l;
        t = (enum dtype)i->x;
        if (b->shadow && !b->shadow[cell]) {
            undefined_fault(r, f->u, f, i->b, cell);
            return -1;
        }
        acc = load_cell(b, t, cell);
    }
    for (int64_t first = 0; first < passes; first += LANES) {
        int n = passes - first < LANES ? (int)(passes - first) : LANES;
        for (int k = 0; k < s->sources.n; k++)
            if (first == 0 || s->sources.v[k].step_reg != -2) fill_source(r, f, &s->sources.v[k], first, n);
        if (!run_lanes(r, f, s, first, n, &acc)) return -1;
    }
    if (b) store_cell(b, t, cell, &acc);
    return 1;
}
