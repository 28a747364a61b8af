/* The interpreter's machine: runs the register code of compile.c. The arithmetic here is the arithmetic of
 * the loop IR: floats in their own precision, integers wrapping, no operation traps. Compiled with -ffp-contract=off.
 */
#include "ir/base/checked.h"
#include "ir/base/convert.h"
#include "ir/base/memory.h"
#include "ir/eval/arith.h"
#include "ir/expr/fold.h"
#include "ir/expr/native.h"
#include "runtime_stub/nn_text.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool run_fault(struct run *r, enum eval_status s, const char *fmt, ...) {
    va_list ap;
    if (r->res.status != EVAL_OK) return false;
    r->res.status = s;
    va_start(ap, fmt);
    vsnprintf(r->res.message, sizeof r->res.message, fmt, ap);
    va_end(ap);
    return false;
}

static const char *proc_name(const struct unit *u) { return u->proc ? u->proc->name : ""; }

static bool fuel_fault(struct run *r, const struct unit *u) {
    return run_fault(r, EVAL_FUEL, "procedure %s: the limit of executed statements is reached", proc_name(u));
}

/* ---- storage */
struct cells *cells_new(struct run *r, enum dtype type, int64_t n, void *data) {
    int64_t size = dtype_bytes(type), bytes = 0, shadow = r->poison && !data ? n : 0;
    if (n < 0 || n > r->max_bytes || __builtin_mul_overflow(n, size, &bytes) ||
        bytes + shadow > r->max_bytes - r->bytes) {
        run_fault(r, EVAL_MEMORY, "a buffer of %lld cells of %s exceeds the memory limit of %lld bytes", (long long)n,
                  dtype_name(type), (long long)r->max_bytes);
        return NULL;
    }
    struct cells *c = memory_zeroed(1, sizeof *c);
    if (!data) {
        c->owned = true;
        c->data = r->poison ? memory_new((size_t)bytes + 1) : memory_zeroed((size_t)bytes + 1, 1);
        c->shadow = r->poison ? memory_zeroed((size_t)n + 1, 1) : NULL;
        c->bytes = bytes + shadow;
    } else {
        c->data = data;
    }
    if (c->shadow) memset(c->data, 0xff, (size_t)bytes);
    c->n = n;
    r->bytes += c->bytes;
    return c;
}

void cells_free(struct run *r, struct cells *c) {
    if (!c) return;
    r->bytes -= c->bytes;
    free(c->shadow);
    if (c->owned) free(c->data);
    free(c);
}

void rbuf_set(struct rbuf *b, struct cells *c) {
    b->cells = c;
    b->data = c ? c->data : NULL;
    b->shadow = c && c->undef ? c->shadow : NULL;
}

struct frame *frame_new(struct run *r, const struct unit *u) {
    struct frame *f = memory_zeroed(1, sizeof *f);
    size_t geo = 0;
    for (int k = 0; k < u->slots.n; k++) geo += 2 * (size_t)u->slots.v[k].buf->nd;
    f->u = u;
    f->r = memory_new(sizeof *f->r * (size_t)(u->nregs + 2));
    f->b = memory_zeroed((size_t)u->slots.n + 1, sizeof *f->b);
    f->geo = memory_zeroed(geo + 1, sizeof *f->geo);
    if (u->nregs) memcpy(f->r, u->init, sizeof *f->r * (size_t)u->nregs);
    int64_t *g = f->geo;
    for (int k = 0; k < u->slots.n; k++) {
        f->b[k].dim = g;
        f->b[k].stride = g + u->slots.v[k].buf->nd;
        g += 2 * u->slots.v[k].buf->nd;
        if (u->slots.v[k].konst && !const_bind(r, u->slots.v[k].buf, &f->b[k])) {
            frame_free(r, f);
            return NULL;
        }
    }
    return f;
}

void frame_free(struct run *r, struct frame *f) {
    if (!f) return;
    if (f->b)
        for (int k = 0; k < f->u->slots.n; k++)
            if ((!f->u->slots.v[k].param || f->u->slots.v[k].late) && !f->u->slots.v[k].konst &&
                f->u->slots.v[k].buf->scope != SC_KEPT)
                cells_free(r, f->b[k].cells);
    free(f->r);
    free(f->b);
    free(f->geo);
    free(f);
}

/* ---- conversions */
union reg eval_cast(union reg v, int from, int to) {
    union reg r = {.l = 0};
    bool flt = from == F32 || from == F64, is_unsigned = from == U64 || from == U32;
    double d = from == F32 ? (double)v.f : v.d;
    int64_t l = from == I32 ? v.i : from == U32 ? (int64_t)v.u : from == BOOL ? v.i : v.l;
    switch (to) {
    case BOOL: r.i = flt ? d != 0 : l != 0; break;
    case I32: r.i = flt ? f64_to_i32_sat(d) : (int32_t)(uint32_t)l; break;
    case U32: r.u = flt ? f64_to_u32_sat(d) : (uint32_t)l; break;
    case I64: r.l = flt ? f64_to_i64_sat(d) : l; break;
    case U64: r.w = flt ? f64_to_u64_sat(d) : (uint64_t)l; break;
    case F32: r.f = flt ? (float)d : is_unsigned ? (float)(uint64_t)l : (float)l; break;
    default: r.d = flt ? d : is_unsigned ? (double)(uint64_t)l : (double)l; break;
    }
    return r;
}

union reg eval_round(union reg v, enum dtype value_type, enum dtype storage) {
    if (value_type == F32) v.f = fold_round_f32(storage, v.f);
    else if (value_type == I64 || value_type == U64 || value_type == IDX) v.l = fold_wrap(storage, v.l);
    else if (value_type != F64) v.i = (int32_t)fold_wrap(storage, v.i);
    return v;
}

/* Types of less than a byte, and small floats: one element per byte. */
static union reg load_sub(const char *p, enum dtype t) {
    union reg r = {.l = 0};
    enum f8_kind k;
    if (f8_kind_of(t, &k)) r.f = f8_to_f32(*(const uint8_t *)p, k);
    else r.i = (int32_t)fold_wrap(t, *(const int8_t *)p);
    return r;
}

static void store_sub(char *p, union reg v, enum dtype t) {
    enum f8_kind k;
    if (f8_kind_of(t, &k)) *(uint8_t *)p = f8_stored(v.f, k);
    else *(int8_t *)p = (int8_t)fold_wrap(t, v.i);
}

void store_cell(struct rbuf *b, enum dtype t, int64_t o, const union reg *v) {
    switch (dtype_bytes(t)) {
    case 1:
        if (t == BOOL) ((uint8_t *)b->data)[o] = v->i != 0;
        else store_sub(b->data + o, *v, t);
        break;
    case 2:
        ((uint16_t *)b->data)[o] = t == F16 ? f32_to_f16(v->f) : t == BF16 ? f32_to_bf16(v->f) : (uint16_t)v->i;
        break;
    case 4: ((uint32_t *)b->data)[o] = v->u; break;
    case 8: ((uint64_t *)b->data)[o] = v->w; break;
    default: memcpy(b->data + 16 * o, v, 16); break;
    }
}

union reg load_cell(const struct rbuf *b, enum dtype t, int64_t o) {
    union reg r = {.l = 0};
    switch (t) {
    case BOOL: r.i = ((const uint8_t *)b->data)[o] != 0; break;
    case I16: r.i = ((const int16_t *)b->data)[o]; break;
    case U16: r.i = ((const uint16_t *)b->data)[o]; break;
    case F16: r.f = f16_to_f32(((const uint16_t *)b->data)[o]); break;
    case BF16: r.f = bf16_to_f32(((const uint16_t *)b->data)[o]); break;
    case I32:
    case U32:
    case F32: r.u = ((const uint32_t *)b->data)[o]; break;
    case I64:
    case U64:
    case F64:
    case IDX:
    case C64: r.w = ((const uint64_t *)b->data)[o]; break;
    default: r = load_sub(b->data + o, t); break;
    }
    return r;
}

void cells_fill(struct cells *c, enum dtype t, expr fill) {
    union reg v[2] = {{.l = 0}, {.l = 0}};
    struct rbuf b = {.data = c->data};
    if (fill->type == F32) v[0].f = (float)fill->u.f;
    else if (fill->type == F64) v[0].d = fill->u.f;
    else v[0].l = fill->u.i;
    for (int64_t k = 0; k < c->n; k++) store_cell(&b, t, k, v);
}

/* ---- faults */
static const char *buf_name(const struct site *s) {
    const struct buf *b = s->buf;
    if (!b && s->stmt && s->stmt->kind == S_STORE) b = s->stmt->u.store.buf;
    if (!b && s->stmt && s->stmt->kind == S_STAGE) b = s->stmt->u.stage.buf;
    return b ? b->name : "";
}

bool index_fault(struct run *r, const struct unit *u, int64_t where, int64_t index, int64_t dim) {
    const struct site *s = &u->sites.v[where];
    return run_fault(r, EVAL_FAULT, "procedure %s: buffer %s: index (%lld) of dim %d outside [0, %lld)", proc_name(u),
                     buf_name(s), (long long)index, s->dim, (long long)dim);
}

bool undefined_fault(struct run *r, const struct unit *u, const struct frame *f, int slot, int64_t off) {
    const struct buf *b = u->slots.v[slot].buf;
    char at[160] = "";
    size_t n = 0;
    for (int d = 0; d < b->nd && n + 24 < sizeof at; d++) {
        int64_t k = f->b[slot].stride[d], i = k > 0 ? off / k : 0;
        off -= i * k;
        n += (size_t)snprintf(at + n, sizeof at - n, "%s%lld", d ? ", " : "", (long long)i);
    }
    return run_fault(r, EVAL_FAULT, "procedure %s: buffer %s: read of undefined cell (%s)", proc_name(u), b->name, at);
}

static int64_t compare_strings(const union reg *a, const union reg *b) {
    nn_str x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return nn_str_order(x, y);
}

/* ---- statements */
/* Stores the dims of list `l` in buffer `slot`. Returns the number of cells, or -1 after a fault. */
static int64_t set_geometry(struct run *r, struct frame *f, int slot, const int *l) {
    struct rbuf *b = &f->b[slot];
    const struct buf *decl = f->u->slots.v[slot].buf;
    for (int d = 0; d < decl->nd; d++) b->dim[d] = f->r[l[d]].l;
    int64_t n = geometry(decl, b->dim, b->stride);
    if (n < 0) run_fault(r, EVAL_FAULT, "buffer %s: a dim is negative or the size overflows", decl->name);
    return n;
}

static bool do_alloc(struct run *r, struct frame *f, const struct ins *i) {
    struct rbuf *b = &f->b[i->b];
    const struct buf *decl = f->u->slots.v[i->b].buf;
    int64_t n = set_geometry(r, f, i->b, f->u->lists.v[i->imm]);
    if (n < 0) return false;
    if (decl->scope == SC_KEPT) {
        if (!(b->cells = cells_new(r, decl->type, n, NULL))) return false;
        PUSH(&r->arena, &r->kept, b->cells);
    } else if (b->cells && b->cells->n != n) {
        cells_free(r, b->cells);
        b->cells = NULL;
    }
    if (!b->cells) {
        if (!(b->cells = cells_new(r, decl->type, n, NULL))) return false;
    } else if (b->cells->shadow) {
        memset(b->cells->data, 0xff, (size_t)(n * dtype_bytes(decl->type)));
        memset(b->cells->shadow, 0, (size_t)n);
    } else {
        memset(b->cells->data, 0, (size_t)(n * dtype_bytes(decl->type)));
    }
    b->cells->undef = b->cells->shadow && i->c < 0 ? count_cells(b->dim, decl->nd) : 0;
    rbuf_set(b, b->cells);
    if (i->c >= 0)
        for (int64_t k = 0; k < n; k++) store_cell(b, decl->type, k, &f->r[i->c]);
    return true;
}

/* A view shares the cells and is not tracked itself: what it reads was stored through the buffer it views, and what it
 * stores may be read there. So its cells count as defined from now on. */
static void define_viewed(struct rbuf *of, int64_t off, int64_t n) {
    for (int64_t k = off; of->shadow && k < off + n; k++) {
        of->cells->undef -= !of->shadow[k];
        of->shadow[k] = 1;
    }
    if (of->cells->undef == 0) of->shadow = NULL;
}
static bool do_view(struct run *r, struct frame *f, const struct ins *i) {
    struct rbuf *b = &f->b[i->b];
    const struct buf *decl = f->u->slots.v[i->b].buf;
    const int *list = f->u->lists.v[i->imm];
    struct rbuf *of = &f->b[list[decl->nd]];
    int64_t n = set_geometry(r, f, i->b, list), off = f->r[i->c].l;
    if (n < 0) return false;
    if (!of->cells || off < 0 || n > of->cells->n || off > of->cells->n - n)
        return run_fault(r, EVAL_FAULT, "view %s leaves the buffer it views", decl->name);
    define_viewed(of, off, n);
    cells_free(r, b->cells);
    b->cells = cells_new(r, decl->type, n, of->cells->data + off * dtype_bytes(decl->type));
    rbuf_set(b, b->cells);
    return b->cells != NULL;
}

/* Large buffers are freed at the end of their block, small ones are kept for the next iteration. */
static void do_drop(struct run *r, struct frame *f, int slot) {
    struct rbuf *b = &f->b[slot];
    if (b->cells && b->cells->bytes > 1 << 16 && f->u->slots.v[slot].buf->scope != SC_KEPT) {
        cells_free(r, b->cells);
        rbuf_set(b, NULL);
    }
}

static void swap_words(char *a, char *b, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        char t = a[k];
        a[k] = b[k];
        b[k] = t;
    }
}

static bool check_failed(struct run *r, const struct stmt *s, const struct ins *i, const union reg *R) {
    const char *what = s->u.check.fault ? s->u.check.fault : "?", *where = s->u.check.origin ? s->u.check.origin : "?";
    if (i->b < 0) return run_fault(r, EVAL_FAULT, "check failed: %s at %s", what, where);
    return run_fault(r, EVAL_FAULT, "check failed: %s at %s (%lld and %lld)", what, where, (long long)R[i->b].l,
                     (long long)R[i->c].l);
}
static bool do_swap(struct run *r, struct frame *f, const struct ins *i) {
    const struct slot *sa = &f->u->slots.v[i->b], *sb = &f->u->slots.v[i->c];
    struct rbuf *a = &f->b[i->b], *b = &f->b[i->c];
    int nd = sa->buf->nd;
    if (sa->buf->type != sb->buf->type || nd != sb->buf->nd || !a->cells || !b->cells)
        return run_fault(r, EVAL_BAD, "swap of %s and %s: types, ranks or lifetimes differ", sa->buf->name,
                         sb->buf->name);
    for (int d = 0; d < nd; d++)
        if (a->stride[d] != b->stride[d] && (sa->stride_known[d] || sb->stride_known[d]))
            return run_fault(r, EVAL_BAD, "swap of %s and %s: layouts differ", sa->buf->name, sb->buf->name);
    for (int d = 0; d < nd; d++)
        if (a->dim[d] != b->dim[d] && (sa->dim_known[d] || sb->dim_known[d] || sa->param || sb->param))
            return run_fault(r, EVAL_FAULT, "swap of %s and %s: dim %d is %lld and %lld", sa->buf->name, sb->buf->name,
                             d, (long long)a->dim[d], (long long)b->dim[d]);
    if (sa->param || sb->param) { /* a parameter's storage belongs to the caller: the contents move */
        if (a->cells->n != b->cells->n)
            return run_fault(r, EVAL_BAD, "swap of %s and %s: sizes differ", sa->buf->name, sb->buf->name);
        swap_words(a->data, b->data, a->cells->n * dtype_bytes(sa->buf->type));
        if ((a->cells->shadow && a->cells->undef) || (b->cells->shadow && b->cells->undef)) {
            /* If all cells are defined, no shadow is needed; a shadow with undefined cells moves to the other side. */
            uint8_t *s = a->cells->shadow;
            int64_t u = a->cells->undef, n = a->cells->n;
            for (int k = 0; k < 2; k++) {
                struct cells *c = k ? b->cells : a->cells;
                if (c->shadow && !c->undef) memset(c->shadow, 1, (size_t)n);
            }
            a->cells->shadow = b->cells->shadow;
            a->cells->undef = b->cells->undef;
            b->cells->shadow = s;
            b->cells->undef = u;
        }
        rbuf_set(a, a->cells);
        rbuf_set(b, b->cells);
        return true;
    }
    struct rbuf t = *a;
    *a = *b;
    *b = t;
    return true;
}

static bool do_call(struct run *r, struct frame *f, const struct call_info *k) {
    struct unit *u = unit_for(r, k->callee);
    if (u->bad) return run_fault(r, u->refused ? EVAL_REFUSED : EVAL_BAD, "%s", u->message);
    if (r->depth >= 64) return run_fault(r, EVAL_BAD, "calls nest deeper than 64 at %s", k->callee->name);
    struct frame *g = frame_new(r, u);
    if (!g) return false;
    for (int j = 0; j < k->nbufs; j++) {
        const struct rbuf *from = &f->b[k->slots[j]];
        int nd = f->u->slots.v[k->slots[j]].buf->nd;
        rbuf_set(&g->b[j], from->cells);
        if (u->slots.v[j].buf->nd == nd) memcpy(g->b[j].dim, from->dim, sizeof *from->dim * (size_t)nd);
    }
    for (int j = 0; j < k->nargs; j++) g->r[u->symregs.v[j]] = f->r[k->regs[j]];
    bool ok = true;
    for (int j = 0; j < u->infers.n && ok; j++) {
        const struct infer *q = &u->infers.v[j];
        if (q->param < 0 || f->u->slots.v[k->slots[q->param]].buf->nd != u->slots.v[q->param].buf->nd)
            ok = run_fault(r, EVAL_BAD, "call of %s: symbol %s has no value", k->callee->name, q->sym->name);
        else g->r[q->reg].l = g->b[q->param].dim[q->dim];
    }
    r->depth++;
    ok = ok && vm_run(r, g);
    r->depth--;
    /* stores may have defined all cells of the caller's buffers; swaps may have moved shadows */
    for (int j = 0; j < k->nbufs; j++) rbuf_set(&f->b[k->slots[j]], f->b[k->slots[j]].cells);
    frame_free(r, g);
    return ok;
}

/* Cells that are read must be defined; those that are written count as defined from now on. */
static bool foreign_cells(struct run *r, struct frame *f, const struct foreign_info *k, int j, void **p) {
    struct rbuf *b = &f->b[k->slots[j]];
    const struct buf *decl = f->u->slots.v[k->slots[j]].buf;
    int64_t o = f->r[k->base[j]].l + f->r[k->var[j]].l * k->coef[j];
    int64_t n = count_cells(b->dim + k->from[j], decl->nd - k->from[j]);
    bool written = foreign_param(k->fn, false, j)->use == FOREIGN_WRITTEN;
    for (int64_t i = o; b->shadow && i < o + n; i++) {
        if (b->shadow[i]) continue;
        if (!written) return undefined_fault(r, f->u, f, k->slots[j], i);
        b->shadow[i] = 1;
        b->cells->undef--;
    }
    if (b->shadow && b->cells->undef == 0) b->shadow = NULL;
    *p = b->data + o * dtype_bytes(decl->type);
    return true;
}
static void foreign_number(union reg v, enum dtype t, void *to) {
    union {
        int8_t b;
        int16_t s;
        int32_t i;
        int64_t l;
        float f;
        double d;
    } u = {.l = v.l};
    if (t == F32) u.f = v.f;
    else if (t == F64) u.d = v.d;
    else if (dtype_bytes(t) == 4) u.i = (int32_t)v.l;
    else if (dtype_bytes(t) == 2) u.s = (int16_t)v.l;
    else if (dtype_bytes(t) == 1) u.b = (int8_t)v.l;
    memcpy(to, &u, sizeof u);
}
static bool do_foreign(struct run *r, struct frame *f, const struct foreign_info *k) {
    enum { MOST = 128 };
    void *args[MOST];
    int64_t numbers[MOST];
    if (k->fn->n > MOST) return run_fault(r, EVAL_BAD, "%s takes more than %d arguments", k->fn->op, MOST);
    for (int i = 0, op = 0, number = 0; i < k->fn->n; i++) {
        args[i] = NULL;
        if (k->fn->params[i].use == FOREIGN_ABSENT) continue;
        if (k->fn->params[i].use != FOREIGN_NUMBER) {
            if (!foreign_cells(r, f, k, op++, &args[i])) return false;
            continue;
        }
        foreign_number(f->r[k->regs[number]], k->fn->params[i].type, &numbers[number]);
        args[i] = &numbers[number++];
    }
    k->fn->run(args);
    return true;
}

static bool do_bind(struct run *r, struct frame *f, const struct ins *i) {
    const struct buf *decl = f->u->slots.v[i->b].buf;
    struct rbuf *b = &f->b[i->b];
    int64_t n = set_geometry(r, f, i->b, f->u->lists.v[i->imm]);
    if (n < 0) return false;
    if (!b->cells || n != b->cells->n)
        return run_fault(r, EVAL_FAULT, "procedure %s: parameter %s has %lld cells, the buffer passed has %lld",
                         proc_name(f->u), decl->name, (long long)n, (long long)(b->cells ? b->cells->n : 0));
    return true;
}

static void trace_prefetch(struct run *r, struct frame *f, int slot, int64_t off) {
    const struct buf *b = f->u->slots.v[slot].buf;
    int64_t byte = off * dtype_bytes(b->type);
    fprintf(r->o->trace_prefetch, "%s+%lld line %lld\n", b->name, (long long)off, (long long)floordiv64(byte, 64));
}

bool note_guard(struct run *r, const struct unit *u, int64_t where, int64_t v, int64_t n) {
    if (!r->guard_fault)
        snprintf(r->guard_message, sizeof r->guard_message, "procedure %s: guard of %s: index %lld outside [0, %lld)",
                 proc_name(u), buf_name(&u->sites.v[where]), (long long)v, (long long)n);
    r->guard_fault = true;
    return n > 0 || run_fault(r, EVAL_FAULT, "%s", r->guard_message);
}

/* ---- the machine */
bool vm_run(struct run *r, struct frame *f) {
    const struct unit *u = f->u;
    union reg *R = f->r;
#define LOAD(body)                                                                                                     \
    {                                                                                                                  \
        const struct rbuf *b = &f->b[i->b];                                                                            \
        int64_t o = R[i->c].l + R[i->d].l * i->imm;                                                                    \
        if (b->shadow && !b->shadow[o]) return undefined_fault(r, u, f, i->b, o);                                      \
        body;                                                                                                          \
        break;                                                                                                         \
    }
#define STORE(body)                                                                                                    \
    {                                                                                                                  \
        struct rbuf *b = &f->b[i->b];                                                                                  \
        int64_t o = R[i->c].l + R[i->d].l * i->imm;                                                                    \
        body;                                                                                                          \
        if (b->shadow && !b->shadow[o]) {                                                                              \
            b->shadow[o] = 1;                                                                                          \
            if (--b->cells->undef == 0) b->shadow = NULL;                                                              \
        }                                                                                                              \
        break;                                                                                                         \
    }
    for (const struct ins *next = u->code;;) {
        const struct ins *i = next++;
        switch ((enum eop)i->op) {
#define ARITH(op, t)                                                                                                   \
    case V_##op##_##t: DO_##op(t, R[i->a], R[i->b], R[i->c], R[i->d]); break;
            TYPED_OPS(ARITH)
#undef ARITH
        case V_END: return true;
        case V_MOV: R[i->a] = R[i->b]; break;
        case V_MOV2:
            R[i->a] = R[i->b];
            R[i->a + 1] = R[i->b + 1];
            break;
        case V_MADD: R[i->a].w = R[i->b].w + R[i->c].w * (uint64_t)i->imm; break;
        case V_MADDR: R[i->a].w = R[i->b].w + R[i->c].w * R[i->d].w * (uint64_t)i->imm; break;
        case V_INC: R[i->a].w += (uint64_t)i->imm; break;
        case V_INCR: R[i->a].w += R[i->b].w * (uint64_t)i->imm; break;
        case V_FDIV: R[i->a].l = floor_div(R[i->b].l, R[i->c].l); break;
        case V_FMOD: R[i->a].l = floor_mod(R[i->b].l, R[i->c].l); break;
        case V_NOTB: R[i->a].i = !R[i->b].i; break;
        case V_SEL: R[i->a] = R[i->b].i ? R[i->c] : R[i->d]; break;
        case V_CAST: R[i->a] = eval_cast(R[i->b], i->x >> 6, i->x & 63); break;
        case V_ROUND: R[i->a] = eval_round(R[i->b], (enum dtype)i->imm, (enum dtype)i->x); break;
        case V_CMPSTR: R[i->a].l = compare_strings(&R[i->b], &R[i->c]); break;
        case V_TEXT: {
            const struct rbuf *b = &f->b[i->b];
            int64_t o = R[i->c].l + R[i->d].l * i->imm, n = R[i->a + 1].l;
            if (n < 0 || n > b->cells->n - o)
                return run_fault(r, EVAL_FAULT, "a string of %lld bytes from byte %lld of buffer %s, which has %lld",
                                 (long long)n, (long long)o, u->slots.v[i->b].buf->name, (long long)b->cells->n);
            const char *p = b->data + o;
            memcpy(&R[i->a], &p, sizeof p);
            break;
        }
        case V_NATIVE: {
            const void *args[4];
            for (int k = 0; k < i->x; k++) args[k] = &R[u->lists.v[i->c][k]];
            R[i->a].l = 0;
            ((const struct native *)(intptr_t)i->imm)->run(&R[i->a], args);
            break;
        }
        case V_JMP: next = i + i->imm; break;
        case V_JZ:
            if (!R[i->a].i) next = i + i->imm;
            break;
        case V_JLE0:
            if (R[i->a].l <= 0) next = i + i->imm;
            break;
        case V_JOUT:
            if (R[i->a].w >= R[i->b].w) next = i + i->imm;
            break;
        case V_LOOP:
        case V_STRIP: {
            int64_t n = R[i->b].l, fuel = i->op == V_STRIP && n >= STRIP_MIN ? n / STRIP_FUEL : n;
            R[i->a].l = 0;
            if (n > 0 && (r->fuel -= fuel) < 0) return fuel_fault(r, u);
            int done = fuel < n ? strip_run(r, f, u->strips.v[i->c], n) : 0;
            if (done < 0) return false;
            if (n > 0 && !done && (r->fuel -= n - fuel) < 0) return fuel_fault(r, u);
            if (n <= 0 || done) next = i + i->imm;
            break;
        }
        case V_NEXT:
            if (++R[i->a].l < R[i->b].l) next = i + i->imm;
            break;
        case V_PASS:
            if (--r->fuel < 0) return fuel_fault(r, u);
            if (i->b >= 0 && R[i->a].l >= R[i->b].l)
                return run_fault(r, EVAL_FAULT, "procedure %s: while: more than %lld passes", proc_name(u),
                                 (long long)R[i->b].l);
            R[i->a].l++;
            break;
        case V_CHK:
            if (R[i->a].w >= R[i->b].w) return index_fault(r, u, i->imm, R[i->a].l, R[i->b].l);
            break;
        case V_CHKRANGE:
            if (R[i->a].l < 0 || R[i->b].l >= R[i->c].l)
                return index_fault(r, u, i->imm, R[i->a].l < 0 ? R[i->a].l : R[i->b].l, R[i->c].l);
            break;
        case V_GUARD: {
            int64_t v = R[i->b].l, n = R[i->c].l;
            if (v < 0 || v >= n) {
                if (!note_guard(r, u, i->imm, v, n)) return false;
                v = 0;
            }
            R[i->a].l = v;
            break;
        }
        case V_LD_BOOL: LOAD(R[i->a].l = ((const uint8_t *)b->data)[o] != 0)
        case V_LD_I8: LOAD(R[i->a].i = ((const int8_t *)b->data)[o])
        case V_LD_U8: LOAD(R[i->a].i = ((const uint8_t *)b->data)[o])
        case V_LD_I16: LOAD(R[i->a].i = ((const int16_t *)b->data)[o])
        case V_LD_U16: LOAD(R[i->a].i = ((const uint16_t *)b->data)[o])
        case V_LD_32: LOAD(R[i->a].u = ((const uint32_t *)b->data)[o])
        case V_LD_64: LOAD(R[i->a].w = ((const uint64_t *)b->data)[o])
        case V_LD_128: LOAD(memcpy(&R[i->a], b->data + 16 * o, 16))
        case V_LD_F16: LOAD(R[i->a].f = f16_to_f32(((const uint16_t *)b->data)[o]))
        case V_LD_BF16: LOAD(R[i->a].f = bf16_to_f32(((const uint16_t *)b->data)[o]))
        case V_LD_SUB: LOAD(R[i->a] = load_sub(b->data + o, (enum dtype)i->x))
        case V_ST_BOOL: STORE(((uint8_t *)b->data)[o] = R[i->a].i != 0)
        case V_ST_8: STORE(((uint8_t *)b->data)[o] = (uint8_t)R[i->a].u)
        case V_ST_16: STORE(((uint16_t *)b->data)[o] = (uint16_t)R[i->a].u)
        case V_ST_32: STORE(((uint32_t *)b->data)[o] = R[i->a].u)
        case V_ST_64: STORE(((uint64_t *)b->data)[o] = R[i->a].w)
        case V_ST_128: STORE(memcpy(b->data + 16 * o, &R[i->a], 16))
        case V_ST_F16: STORE(((uint16_t *)b->data)[o] = f32_to_f16(R[i->a].f))
        case V_ST_BF16: STORE(((uint16_t *)b->data)[o] = f32_to_bf16(R[i->a].f))
        case V_ST_SUB: STORE(store_sub(b->data + o, R[i->a], (enum dtype)i->x))
        case V_DIM: R[i->a].l = f->b[i->b].dim[i->c]; break;
        case V_STRIDE: R[i->a].l = f->b[i->b].stride[i->c]; break;
        case V_BIND:
            if (!do_bind(r, f, i)) return false;
            break;
        case V_RESULT:
            if (!f->b[i->b].cells && !do_alloc(r, f, i)) return false;
            break;
        case V_ALLOC:
            if (!do_alloc(r, f, i)) return false;
            break;
        case V_VIEW:
            if (!do_view(r, f, i)) return false;
            break;
        case V_DROP: do_drop(r, f, i->b); break;
        case V_FREE:
            cells_free(r, f->b[i->b].cells);
            rbuf_set(&f->b[i->b], NULL);
            break;
        case V_LIVE:
            if (!f->b[i->b].cells)
                return run_fault(r, EVAL_FAULT, "buffer %s is used after it was freed", u->slots.v[i->b].buf->name);
            break;
        case V_SWAP:
            if (!do_swap(r, f, i)) return false;
            break;
        case V_SIZE:
            if (R[i->a].l < R[i->b].l || R[i->a].l > R[i->c].l)
                return run_fault(r, EVAL_FAULT, "size %s is %lld, outside %lld..%lld",
                                 u->sites.v[i->imm].stmt->u.size.sym->name, (long long)R[i->a].l, (long long)R[i->b].l,
                                 (long long)R[i->c].l);
            break;
        case V_CHECK:
            if (!R[i->a].i) return check_failed(r, u->sites.v[i->imm].stmt, i, R);
            break;
        case V_CALL:
            if (!do_call(r, f, &u->calls.v[i->imm])) return false;
            break;
        case V_FOREIGN:
            if (!do_foreign(r, f, &u->foreigns.v[i->imm])) return false;
            break;
        case V_PREFETCH: trace_prefetch(r, f, i->b, R[i->a].l); break;
        case V_COUNT:
        default: BUG("interpreter: instruction %d", i->op);
        }
    }
}
