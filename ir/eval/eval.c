/* The interpreter, from the caller's arrays to buffers and back: symbols, layouts, constants. The code that runs in
 * between is made by compile.c and run by vm.c. */
#include "ir/base/memory.h"
#include "ir/eval/int.h"
#include <stdlib.h>
#include <string.h>

struct values {
    VEC(struct value {
        const struct sym *sym;
        int64_t v;
    })
    v;
};

static bool value_of(void *env, expr leaf, int64_t *v) {
    struct values *t = env;
    if (leaf->op == X_SYM)
        for (int k = 0; k < t->v.n; k++)
            if (t->v.v[k].sym == leaf->u.sym) {
                *v = t->v.v[k].v;
                return true;
            }
    return false;
}

/* Symbols passed, and those that are a dim of an argument given. */
static bool bind_symbols(struct run *r, const struct proc *p, const struct eval_arg *args, const int64_t *syms,
                         struct values *t) {
    int64_t known;
    for (int k = 0; syms && k < p->syms.n; k++) {
        struct value v = {p->syms.v[k], syms[k]};
        PUSH(&r->arena, &t->v, v);
    }
    for (int k = 0; k < p->params.n; k++) {
        const struct buf *b = p->params.v[k].buf;
        int nd = b->nlogical;
        for (int d = 0; args[k].data && d < nd && d < args[k].nd; d++) {
            expr e = b->logical[d];
            if (e->op == X_SYM && !value_of(t, e, &known)) {
                struct value v = {e->u.sym, args[k].dims[d]};
                PUSH(&r->arena, &t->v, v);
            }
        }
    }
    for (int k = 0; k < p->syms.n; k++) {
        struct expr leaf = {.op = X_SYM, .type = IDX, .u.sym = p->syms.v[k]};
        if (!value_of(t, &leaf, &known)) return run_fault(r, EVAL_BAD, "symbol %s has no value", p->syms.v[k]->name);
    }
    for (int k = 0; k < t->v.n; k++)
        if (t->v.v[k].v < t->v.v[k].sym->lo || t->v.v[k].v > t->v.v[k].sym->hi)
            return run_fault(r, EVAL_FAULT, "symbol %s is %lld, outside %lld..%lld", t->v.v[k].sym->name,
                             (long long)t->v.v[k].v, (long long)t->v.v[k].sym->lo, (long long)t->v.v[k].sym->hi);
    return true;
}

static bool leaf_known(void *t, expr e) {
    int64_t v;
    return e->op == X_CONST || e->arg[0] || value_of(t, e, &v);
}
/* Sizes are computed before the first statement runs, and so before the checks that would refuse impossible ones. */
static bool eval_dims(struct run *r, const struct buf *b, const expr *dims, int nd, struct values *t, int64_t *out) {
    for (int d = 0; d < nd; d++)
        if (x_eval_int(dims[d], value_of, t, &out[d])) {
            if (out[d] < 0)
                return run_fault(r, EVAL_FAULT, "buffer %s: dim %d is negative: %lld", b->name, d, (long long)out[d]);
        } else if (x_visit(dims[d], leaf_known, t)) {
            return run_fault(r, EVAL_FAULT, "buffer %s: dim %d is too large, or divided by 0", b->name, d);
        } else {
            return run_fault(r, EVAL_BAD, "buffer %s: the value of dim %d is not known", b->name, d);
        }
    return true;
}

/* Gives the inferred symbols of a unit their values. */
static bool give_symbols(struct run *r, struct frame *f, struct values *t) {
    const struct unit *u = f->u;
    for (int k = 0; k < u->symregs.n; k++) {
        struct expr leaf = {.op = X_SYM, .type = IDX, .u.sym = u->proc->syms.v[k]};
        if (!value_of(t, &leaf, &f->r[u->symregs.v[k]].l))
            return run_fault(r, EVAL_BAD, "symbol %s has no value", u->proc->syms.v[k]->name);
    }
    for (int k = 0; k < u->infers.n; k++) {
        struct expr leaf = {.op = X_SYM, .type = IDX, .u.sym = u->infers.v[k].sym};
        if (!value_of(t, &leaf, &f->r[u->infers.v[k].reg].l))
            return run_fault(r, EVAL_BAD, "symbol %s has no value", u->infers.v[k].sym->name);
    }
    return true;
}

static bool convert_layout(struct run *r, const struct buf *b, const struct proc *p, struct values *t,
                           struct cells *physical, struct cells *logical, bool to_physical) {
    struct unit *u = unit_for_layout(r, b, p, to_physical);
    if (u->bad) return run_fault(r, u->refused ? EVAL_REFUSED : EVAL_BAD, "%s", u->message);
    struct frame *f = frame_new(r, u);
    if (!f) return false;
    rbuf_set(&f->b[0], physical);
    rbuf_set(&f->b[1], logical);
    bool ok = give_symbols(r, f, t) && vm_run(r, f);
    frame_free(r, f);
    return ok;
}

static void define_all(struct cells *c) {
    c->undef = 0;
    if (c->shadow) memset(c->shadow, 1, (size_t)c->n);
}

/* New storage of n cells, of which `live` (without pitch padding) can be accessed. */
static struct cells *new_storage(struct run *r, const struct buf *b, int64_t n, int64_t live) {
    if (b->fill && (b->fill->op != X_CONST || b->fill->type != dtype_value(b->type)))
        return run_fault(r, EVAL_BAD, "the fill of %s is no constant of its elements' type", b->name), NULL;
    struct cells *c = cells_new(r, b->type, n, NULL);
    if (!c) return NULL;
    c->undef = c->shadow ? live : 0;
    if (b->fill) {
        cells_fill(c, b->type, b->fill);
        define_all(c);
    }
    return c;
}

/* The only cells without an element are those after the last channel of a block: there is no border. */
static bool only_pad_lanes(const struct buf *b) {
    for (int k = 0; k < b->nd; k++)
        if (b->map[k]->op != X_VAR && b->map[k]->op != X_CONST && b->map[k]->op != X_DIV && b->map[k]->op != X_MOD)
            return false;
    return true;
}
/* Physical storage of a buffer with these contents in logical layout (NULL: none yet). Other cells of a packed constant
 * are 0, as in the weights file; pad lanes of an operand may hold anything: NaN, if cells are tracked. */
static struct cells *make_storage(struct run *r, const struct buf *b, const struct proc *p, struct values *t,
                                  void *data, const int64_t *logical, int nlogical) {
    int64_t dims[64], strides[64], n, count = count_cells(logical, nlogical);
    if (b->nd > 60) return run_fault(r, EVAL_BAD, "buffer %s has %d dims", b->name, b->nd), NULL;
    if (!eval_dims(r, b, b->dims, b->nd, t, dims)) return NULL;
    if ((n = geometry(b, dims, strides)) < 0 || count < 0)
        return run_fault(r, EVAL_MEMORY, "the size of buffer %s overflows", b->name), NULL;
    struct cells *c = new_storage(r, b, n, count_cells(dims, b->nd));
    if (!c || !data) return c;
    if (buf_is_plain(b)) {
        memcpy(c->data, data, (size_t)(n * dtype_bytes(b->type)));
        define_all(c);
        return c;
    }
    if (b->scope == SC_CONST && !b->fill) memset(c->data, 0, (size_t)(n * dtype_bytes(b->type)));
    struct cells *from = cells_new(r, b->type, count, data);
    bool ok = from && convert_layout(r, b, p, t, c, from, true);
    cells_free(r, from);
    if (!ok) {
        cells_free(r, c);
        return NULL;
    }
    if (b->scope == SC_CONST || only_pad_lanes(b)) define_all(c);
    return c;
}

/* ---- constants */
static bool is_direct(const struct buf *b, const struct tensor *t) {
    return buf_is_plain(b) && t->source != TS_SPLAT && t->type != STR &&
           dtype_bits(t->type) == 8 * dtype_bytes(t->type) &&
           (uintptr_t)t->bytes % (uintptr_t)dtype_bytes(t->type) == 0;
}

static struct cells *make_const(struct run *r, const struct buf *b) {
    const struct tensor *t = b->data;
    struct values none = {0};
    int64_t logical[64], n;
    int nl = b->nlogical;
    if (!t) return run_fault(r, EVAL_BAD, "constant %s has no data", b->name), NULL;
    if (nl > 60 || !eval_dims(r, b, b->logical, nl, &none, logical))
        return run_fault(r, EVAL_BAD, "constant %s: bad dims", b->name), NULL;
    n = count_cells(logical, nl);
    if (t->type != b->type || tensor_count(t) != n)
        return run_fault(r, EVAL_BAD, "constant %s: %lld elements of %s, the buffer has %lld of %s", b->name,
                         (long long)tensor_count(t), dtype_name(t->type), (long long)n, dtype_name(b->type)),
               NULL;
    if (is_direct(b, t)) return cells_new(r, b->type, n, (void *)(uintptr_t)t->bytes);
    if (t->type == STR && buf_is_plain(b) && t->source != TS_SPLAT)
        return cells_new(r, b->type, n, (void *)(uintptr_t)t->strs);
    int64_t size = dtype_bytes(t->type), bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > r->max_bytes - r->bytes)
        return run_fault(r, EVAL_MEMORY, "constant %s exceeds the memory limit", b->name), NULL;
    char *plain = memory_new((size_t)bytes + 1);
    if (t->type == STR)
        for (int64_t k = 0; k < n; k++) memcpy(plain + 16 * k, &t->strs[t->source == TS_SPLAT ? 0 : k], 16);
    else tensor_unpack(t, plain);
    struct cells *c = make_storage(r, b, NULL, &none, plain, logical, nl);
    free(plain);
    return c;
}

bool const_bind(struct run *r, const struct buf *b, struct rbuf *to) {
    struct cells *c = map_get(&r->consts, PKEY(b));
    struct values none = {0};
    if (!c) {
        if (!(c = make_const(r, b))) return false;
        PUSH(&r->arena, &r->const_list, c);
        map_put(&r->consts, PKEY(b), c);
    }
    rbuf_set(to, c);
    return eval_dims(r, b, b->dims, b->nd, &none, to->dim) && geometry(b, to->dim, to->stride) >= 0;
}

/* ---- arguments */
static bool bind_arg(struct run *r, const struct proc *p, int k, const struct eval_arg *a, struct values *t,
                     struct cells **out) {
    const struct buf *b = p->params.v[k].buf;
    enum param_dir dir = p->params.v[k].dir;
    int nl = b->nlogical;
    int64_t logical[64];
    if (nl > 32) return run_fault(r, EVAL_BAD, "argument %s has more than 32 dims", b->name);
    if (!eval_dims(r, b, b->logical, nl, t, logical)) return false;
    if (!a->data && dir != DIR_OUT && count_cells(logical, nl) != 0)
        return run_fault(r, EVAL_BAD, "argument %s has no data", b->name);
    if (a->data && a->nd != nl)
        return run_fault(r, EVAL_BAD, "argument %s has %d dims, %d are declared", b->name, a->nd, nl);
    for (int d = 0; a->data && d < nl; d++)
        if (a->dims[d] != logical[d])
            return run_fault(r, EVAL_BAD, "argument %s: dim %d is %lld, declared %lld", b->name, d,
                             (long long)a->dims[d], (long long)logical[d]);
    if (dir == DIR_IN && a->data && buf_is_plain(b)) *out = cells_new(r, b->type, count_cells(logical, nl), a->data);
    else *out = make_storage(r, b, p, t, dir == DIR_OUT ? NULL : a->data, logical, nl);
    return *out != NULL;
}

/* Strings of a result may point to memory that ends with the run. */
static void own_strings(struct ctx *c, struct str_elem *s, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (s[k].n) s[k].p = arena_copy(&c->arena, s[k].p, s[k].n);
}
static bool return_arg(struct run *r, const struct proc *p, int k, struct eval_arg *a, struct values *t, bool late,
                       const struct rbuf *stored) {
    struct cells *c = stored->cells;
    const struct buf *b = p->params.v[k].buf;
    int nl = b->nlogical;
    int64_t logical[64], size = dtype_bytes(b->type);
    if (late) memcpy(logical, stored->dim, sizeof *logical * (size_t)nl);
    else if (!eval_dims(r, b, b->logical, nl, t, logical)) return false;
    int64_t n = count_cells(logical, nl), bytes;
    bool fits = n >= 0 && !__builtin_mul_overflow(n, size, &bytes) && bytes <= r->max_bytes;
    void *data = !fits ? NULL : a->data ? a->data : memory_zeroed((size_t)bytes + 1, 1);
    if (!data) return run_fault(r, EVAL_MEMORY, "output %s exceeds the memory limit", b->name);
    bool ok = true;
    if (!buf_is_plain(b)) {
        struct cells *to = cells_new(r, b->type, n, data);
        ok = to && convert_layout(r, b, p, t, c, to, false);
        cells_free(r, to);
    } else {
        for (int64_t j = 0; c->undef && c->shadow && ok && j < n; j++)
            if (!c->shadow[j])
                ok = run_fault(r, EVAL_FAULT, "procedure %s: output %s: cell %lld was never stored", p->name, b->name,
                               (long long)j);
        if (ok) memcpy(data, c->data, (size_t)bytes);
    }
    if (!ok) {
        if (!a->data) free(data);
        return false;
    }
    if (b->type == STR && r->kept.n) own_strings(r->m->ctx, data, n);
    a->data = data;
    a->nd = nl;
    memcpy(a->dims, logical, sizeof *logical * (size_t)nl);
    return true;
}

static bool run_all(struct run *r, struct proc *p, struct eval_arg *args, const int64_t *syms, struct cells **cells) {
    struct values t = {0};
    struct unit *u = unit_for(r, p);
    if (u->bad) return run_fault(r, u->refused ? EVAL_REFUSED : EVAL_BAD, "%s", u->message);
    if (!bind_symbols(r, p, args, syms, &t)) return false;
    for (int k = 0; k < p->params.n; k++)
        if (!u->slots.v[k].late && !bind_arg(r, p, k, &args[k], &t, &cells[k])) return false;
    struct frame *f = frame_new(r, u);
    if (!f) return false;
    for (int k = 0; k < p->params.n; k++) rbuf_set(&f->b[k], cells[k]);
    bool ok = give_symbols(r, f, &t) && vm_run(r, f);
    for (int k = 0; k < p->params.n && ok; k++) {
        if (p->params.v[k].dir == DIR_IN) continue;
        if (!f->b[k].cells)
            ok = run_fault(r, EVAL_BAD, "the size of output %s was not found", p->params.v[k].buf->name);
        else ok = return_arg(r, p, k, &args[k], &t, u->slots.v[k].late, &f->b[k]);
    }
    frame_free(r, f);
    return ok;
}

struct eval_result loop_eval(struct module *m, struct proc *p, struct eval_arg *args, const int64_t *syms,
                             const struct eval_options *o) {
    static const struct eval_options plain;
    struct run r = {.m = m, .o = o ? o : &plain};
    r.fuel = r.o->fuel ? r.o->fuel : (int64_t)1 << 40;
    r.max_bytes = r.o->max_bytes ? r.o->max_bytes : (int64_t)4 << 30;
    r.poison = r.o->poison;
    r.units.arena = r.consts.arena = &r.arena;
    struct cells **cells = NEWN(&r.arena, struct cells *, p->params.n + 1);
    run_all(&r, p, args, syms, cells);
    for (int k = 0; k < p->params.n; k++) cells_free(&r, cells[k]);
    for (int k = 0; k < r.const_list.n; k++) cells_free(&r, r.const_list.v[k]);
    for (int k = 0; k < r.kept.n; k++) cells_free(&r, r.kept.v[k]);
    r.res.executed = (r.o->fuel ? r.o->fuel : (int64_t)1 << 40) - (r.fuel > 0 ? r.fuel : 0);
    if (r.res.status == EVAL_OK && r.guard_fault) {
        r.res.status = EVAL_FAULT;
        memcpy(r.res.message, r.guard_message, sizeof r.res.message);
    }
    free(r.lanes);
    arena_free(&r.arena);
    return r.res;
}
