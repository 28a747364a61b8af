/* The interpreter's compiler, statements: from a procedure to register code. */
#include "ir/eval/comp.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Noreturn void comp_fail(struct comp *c, const char *fmt, ...) {
    va_list ap;
    int n = snprintf(c->u->message, sizeof c->u->message, "procedure %s: ", c->proc ? c->proc->name : "(layout)");
    va_start(ap, fmt);
    if (n >= 0 && (size_t)n < sizeof c->u->message)
        vsnprintf(c->u->message + n, sizeof c->u->message - (size_t)n, fmt, ap);
    va_end(ap);
    c->u->bad = true;
    longjmp(c->fail, 1);
}

/* ---- registers and code */
int new_reg(struct comp *c) {
    union reg zero = {.l = 0};
    PUSH(c->arena, &c->init, zero);
    return c->init.n - 1;
}

int const_reg(struct comp *c, union reg v) {
    void *known = map_get(&c->const_regs, v.w);
    if (known) return (int)(intptr_t)known - 1;
    int r = new_reg(c);
    c->init.v[r] = v;
    map_put(&c->const_regs, v.w, (void *)(intptr_t)(r + 1));
    return r;
}

/* The empty string, which needs two registers. */
int empty_string_reg(struct comp *c) {
    int r = new_reg(c);
    new_reg(c);
    return r;
}

int int_reg(struct comp *c, int64_t v) { return const_reg(c, (union reg){.l = v}); }

int emit(struct comp *c, struct ins i) {
    code_vec *code = &c->levels[c->cur].body;
    PUSH(c->arena, code, i);
    return code->n - 1;
}

void emit_at(struct comp *c, int level, struct ins i) {
    if (level >= c->cur) emit(c, i);
    else PUSH(c->arena, &c->levels[level + 1].pre, i);
}

int here(struct comp *c) { return c->levels[c->cur].body.n; }

void patch(struct comp *c, int jump) { c->levels[c->cur].body.v[jump].imm = here(c) - jump; }

int site(struct comp *c, const struct buf *b, int dim) {
    struct site s = {b, dim, c->stmt};
    PUSH(c->arena, &c->u->sites, s);
    return c->u->sites.n - 1;
}

static void append(struct comp *c, code_vec *to, const code_vec *from) {
    for (int k = 0; k < from->n; k++) PUSH(c->arena, to, from->v[k]);
}

/* ---- buffers and symbols */
/* Cells between neighbours in dim d, from the pitches of the dims inside. */
int64_t geometry(const struct buf *b, const int64_t *dim, int64_t *stride) {
    int64_t k = 1;
    for (int d = b->nd - 1; d >= 0; d--) {
        stride[d] = k;
        if (dim[d] < 0 || __builtin_mul_overflow(k, dim[d], &k) || (b->pad && __builtin_add_overflow(k, b->pad[d], &k)))
            return -1;
    }
    return k;
}

/* The last dim first: a 0 there keeps the product small. -1 on overflow. */
int64_t count_cells(const int64_t *dim, int nd) {
    int64_t n = 1;
    for (int d = nd - 1; d >= 0; d--)
        if (dim[d] < 0 || __builtin_mul_overflow(n, dim[d], &n)) return -1;
    return n;
}

static int new_slot(struct comp *c, const struct buf *b, bool param, bool konst) {
    struct slot s = {.buf = b, .param = param, .konst = konst, .live = param || konst};
    if (b->nd > 60) comp_fail(c, "buffer %s has %d dims", b->name, b->nd);
    s.dim_known = NEWN(c->arena, bool, b->nd + 1);
    s.stride_known = NEWN(c->arena, bool, b->nd + 1);
    s.dim = NEWN(c->arena, int64_t, b->nd + 1);
    s.stride = NEWN(c->arena, int64_t, b->nd + 1);
    bool known = true;
    int64_t k = 1;
    for (int d = b->nd - 1; d >= 0; d--) {
        s.dim_known[d] = x_is_int(b->dims[d], &s.dim[d]) && s.dim[d] >= 0;
        s.stride_known[d] = known;
        s.stride[d] = k;
        known = known && s.dim_known[d] && !__builtin_mul_overflow(k, s.dim[d], &k) &&
                !(b->pad && __builtin_add_overflow(k, b->pad[d], &k));
        if (konst && !s.dim_known[d]) comp_fail(c, "constant %s has a size that is not constant", b->name);
    }
    PUSH(c->arena, &c->u->slots, s);
    map_put(&c->slot_of, PKEY(b), (void *)(intptr_t)c->u->slots.n);
    return c->u->slots.n - 1;
}

int slot_for(struct comp *c, const struct buf *b) {
    void *known = map_get(&c->slot_of, PKEY(b));
    return known ? (int)(intptr_t)known - 1 : new_slot(c, b, false, b->scope == SC_CONST);
}

static struct symbind *sym_bound(struct comp *c, const struct sym *s) {
    for (int k = c->syms.n - 1; k >= 0; k--)
        if (c->syms.v[k].sym == s) return &c->syms.v[k];
    return NULL;
}

struct symbind *sym_find(struct comp *c, const struct sym *s) {
    struct symbind *bound = sym_bound(c, s);
    if (bound) return bound;
    /* not passed, so a parameter's dim must give it */
    struct infer f = {s, new_reg(c), -1, 0};
    for (int p = 0; p < c->u->nparams && f.param < 0; p++)
        for (int d = 0; d < c->u->slots.v[p].buf->nd; d++)
            if (c->u->slots.v[p].buf->dims[d]->op == X_SYM && c->u->slots.v[p].buf->dims[d]->u.sym == s) {
                f.param = p;
                f.dim = d;
            }
    PUSH(c->arena, &c->u->infers, f);
    struct symbind b = {.sym = s, .reg = f.reg};
    PUSH(c->arena, &c->syms, b);
    return &c->syms.v[c->syms.n - 1];
}

/* The level at which a symbol keeps its value. */
int sym_level(struct comp *c, const struct sym *s) {
    struct symbind *b = sym_find(c, s);
    for (int k = c->cur; b->changes && k > b->level; k--)
        if (c->levels[k].sizes) return k;
    return b->level;
}

static int list_of_dims(struct comp *c, const struct buf *b) {
    int *l = NEWN(c->arena, int, b->nd + 1);
    for (int d = 0; d < b->nd; d++) l[d] = expr_reg(c, b->dims[d]);
    PUSH(c->arena, &c->u->lists, l);
    return c->u->lists.n - 1;
}

/* ---- loops */
struct traits {
    bool stops, swaps, sizes;
};
static bool note_traits(void *env, struct stmt *s) {
    struct traits *t = env;
    t->stops |= s->kind == S_CHECK || s->kind == S_CALL || s->kind == S_SIZE || s->kind == S_WHILE || s->kind == S_FREE;
    t->swaps |= s->kind == S_SWAP;
    t->sizes |= s->kind == S_SIZE;
    return true;
}

static struct level *open_level(struct comp *c, struct block *body) {
    if (c->cur + 1 >= MAX_LEVELS) comp_fail(c, "loops nest deeper than %d", MAX_LEVELS);
    struct traits t = {0};
    if (body) walk(body, note_traits, &t);
    struct level *l = &c->levels[c->cur + 1];
    memset(l, 0, sizeof *l);
    l->stops = t.stops;
    l->swaps = t.swaps;
    l->sizes = t.sizes;
    l->cond = c->cond;
    memo_release(c, 0);
    return l;
}

bool is_unit(struct comp *c, const struct var *v) {
    for (int k = 0; k < c->units.n; k++)
        if (c->units.v[k] == v) return true;
    return false;
}

static void open_loop(struct comp *c, const struct var *v, struct block *body) {
    memo_release(c, 0);
    int64_t ext;
    bool known = x_is_int(v->extent, &ext), pure = true;
    if (known && ext == 1) {
        PUSH(c->arena, &c->units, v);
        return;
    }
    int level = known ? 0 : level_of(c, v->extent, &pure);
    int reg = known ? int_reg(c, ext) : expr_reg(c, v->extent);
    struct level *l = open_level(c, body);
    if (!known && l->sizes) { /* the body may set a symbol in the extent, but the loop keeps the first value */
        int own = new_reg(c);
        emit(c, (struct ins){.op = V_MOV, .x = 8, .a = own, .b = reg});
        reg = own;
        level = c->cur;
    }
    l->is_for = true;
    l->var = v;
    l->ext = known ? (ext < 0 ? 0 : ext) : -1;
    l->ext_reg = reg;
    l->ext_level = level;
    c->cur++;
    l->var_reg = new_reg(c);
}

static void close_loop(struct comp *c, const struct var *v) {
    if (c->units.n && c->units.v[c->units.n - 1] == v) {
        c->units.n--;
        memo_release(c, 0);
        return;
    }
    struct level *l = &c->levels[c->cur--];
    code_vec *out = &c->levels[c->cur].body;
    int n = l->body.n + l->latch.n;
    append(c, out, &l->pre);
    struct ins loop = {.op = V_LOOP, .a = l->var_reg, .b = l->ext_reg, .imm = n + 2};
    struct strip *s = l->ext < 0 || l->ext >= STRIP_MIN ? strip_find(c->arena, &l->body, &l->latch, l->var_reg) : NULL;
    if (s) {
        loop.op = V_STRIP;
        loop.c = c->u->strips.n;
        PUSH(c->arena, &c->u->strips, s);
    }
    PUSH(c->arena, out, loop);
    append(c, out, &l->body);
    append(c, out, &l->latch);
    struct ins next = {.op = V_NEXT, .a = l->var_reg, .b = l->ext_reg, .imm = -n};
    PUSH(c->arena, out, next);
    memo_release(c, 0);
}

/* ---- statements */
static void compile_block(struct comp *c, struct block *b, int depth);

static int red_code(struct comp *c, enum red_op op, enum dtype value) {
    switch (op) {
    case RED_SUM: return typed_op(c, X_ADD, value);
    case RED_PROD: return typed_op(c, X_MUL, value);
    case RED_MAX:
    case RED_NMAX: return typed_op(c, X_MAX, value);
    case RED_MIN:
    case RED_NMIN: return typed_op(c, X_MIN, value);
    case RED_AND: return typed_op(c, X_AND, value);
    case RED_OR: return typed_op(c, X_OR, value);
    default: comp_fail(c, "bad reduction operator");
    }
}
/* As red_apply: the register of acc with v. */
static int reduced(struct comp *c, enum red_op op, enum dtype t, int acc, int v) {
    int r = new_reg(c), first = red_picks(op) ? v : acc, second = red_picks(op) ? acc : v;
    emit(c, (struct ins){.op = (uint16_t)red_code(c, op, t), .a = r, .b = first, .c = second});
    if (!red_keeps_nan(op)) return r;
    int nan = new_reg(c), kept = new_reg(c);
    emit(c, (struct ins){.op = (uint16_t)typed_op(c, X_NE, t), .a = nan, .b = v, .c = v});
    emit(c, (struct ins){.op = V_SEL, .x = reg_width(t), .a = kept, .b = nan, .c = v, .d = r});
    return kept;
}
static void store(struct comp *c, struct buf *b, const expr *idx, int n, enum red_op op, expr value) {
    int slot = slot_for(c, b);
    enum dtype t = dtype_value(b->type);
    if (c->u->slots.v[slot].konst) comp_fail(c, "store to constant %s", b->name);
    if (value->type != t)
        comp_fail(c, "store of type %s to %s, whose elements are %s", dtype_name(value->type), b->name,
                  dtype_name(b->type));
    int v = expr_reg(c, value);
    struct access a = access_to(c, slot, idx, n, 0);
    if (op != RED_NONE) {
        int acc = emit_load(c, a, new_reg(c));
        v = reduced(c, op, t, acc, v);
    }
    emit_store(c, a, v);
}

static void open_loops(struct comp *c, const struct var *const *v, int n) {
    for (int k = 0; k < n; k++) open_loop(c, v[k], NULL);
}

static void close_loops(struct comp *c, const struct var *const *v, int n) {
    for (int k = n - 1; k >= 0; k--) close_loop(c, v[k]);
}

/* The axis whose loop can go inside of the reduction's loops, to run in strips: cells are independent, and each is
 * still reduced in the statement's order. -1: none. */
static int inner_axis(struct ctx *ctx, struct stmt *s) {
    int best = -1;
    int64_t most = 2 * STRIP_MIN - 1, ext;
    if (s->u.stage.nred == 0 || x_loads_from(s->u.stage.value, s->u.stage.buf)) return -1;
    for (int k = s->u.stage.naxes - 1; k >= 0; k--) {
        for (int j = 0; j < s->u.stage.nred; j++)
            if (x_uses_var(ctx, s->u.stage.red[j]->extent, s->u.stage.axes[k])) return -1;
        for (int j = 0; j < s->u.stage.naxes; j++)
            if (x_uses_var(ctx, s->u.stage.axes[j]->extent, s->u.stage.axes[k])) return -1;
        if (x_is_int(s->u.stage.axes[k]->extent, &ext) && (ext > 4 * most || (best < 0 && ext > most))) {
            best = k;
            most = ext;
        }
    }
    return best;
}

static void compile_stage(struct comp *c, struct stmt *s) {
    struct ctx *ctx = c->run->m->ctx;
    struct buf *b = s->u.stage.buf;
    int n = s->u.stage.naxes;
    const struct var **axes = s->u.stage.axes;
    expr *idx = NEWN(c->arena, expr, n + 1);
    for (int k = 0; k < n; k++) idx[k] = x_var(ctx, axes[k]);
    if (s->u.stage.op != RED_NONE) {
        open_loops(c, axes, n);
        store(c, b, idx, n, RED_NONE, s->u.stage.init ? s->u.stage.init : red_identity(ctx, s->u.stage.op, b->type));
        close_loops(c, axes, n);
    }
    const struct var **order = NEWN(c->arena, const struct var *, n + s->u.stage.nred + 1);
    int inner = inner_axis(ctx, s), loops = 0;
    for (int k = 0; k < n; k++)
        if (k != inner) order[loops++] = axes[k];
    for (int k = 0; k < s->u.stage.nred; k++) order[loops++] = s->u.stage.red[k];
    if (inner >= 0) order[loops++] = axes[inner];
    open_loops(c, order, loops);
    store(c, b, idx, n, s->u.stage.op, s->u.stage.value);
    close_loops(c, order, loops);
}

static void compile_if(struct comp *c, struct stmt *s, int depth) {
    int cond = expr_reg(c, s->u.cond.cond);
    int jz = emit(c, (struct ins){.op = V_JZ, .a = cond});
    c->cond++;
    compile_block(c, &s->u.cond.then, depth);
    if (s->u.cond.other.first) {
        int jmp = emit(c, (struct ins){.op = V_JMP});
        patch(c, jz);
        compile_block(c, &s->u.cond.other, depth);
        patch(c, jmp);
    } else {
        patch(c, jz);
    }
    c->cond--;
    memo_release(c, 0);
}

static void compile_while(struct comp *c, struct stmt *s, int depth) {
    int max = -1;
    if (s->u.loop_while.max) {
        max = new_reg(c);
        emit(c, (struct ins){.op = V_MOV, .x = 8, .a = max, .b = expr_reg(c, s->u.loop_while.max)});
    }
    int count = new_reg(c), where = site(c, NULL, 0);
    struct level *l = open_level(c, &s->u.loop_while.body);
    c->cur++;
    c->cond++;
    int cond = expr_reg(c, s->u.loop_while.cond);
    int jz = emit(c, (struct ins){.op = V_JZ, .a = cond});
    emit(c, (struct ins){.op = V_PASS, .a = count, .b = max, .imm = where});
    compile_block(c, &s->u.loop_while.body, depth);
    c->cond--;
    c->cur--;
    l->body.v[jz].imm = l->body.n + 1 - jz;
    code_vec *out = &c->levels[c->cur].body;
    append(c, out, &l->pre);
    struct ins zero = {.op = V_MOV, .a = count, .b = int_reg(c, 0)};
    PUSH(c->arena, out, zero);
    append(c, out, &l->body);
    struct ins back = {.op = V_JMP, .imm = -l->body.n};
    PUSH(c->arena, out, back);
    memo_release(c, 0);
}

static void compile_call(struct comp *c, struct stmt *s) {
    struct proc *p = s->u.call.callee;
    struct call_info k = {.callee = p, .nbufs = s->u.call.nbufs, .nargs = s->u.call.nargs};
    if (k.nbufs != p->params.n || k.nargs != p->syms.n)
        comp_fail(c, "call of %s with %d buffers and %d sizes, it takes %d and %d", p->name, k.nbufs, k.nargs,
                  p->params.n, p->syms.n);
    k.slots = NEWN(c->arena, int, k.nbufs + 1);
    k.regs = NEWN(c->arena, int, k.nargs + 1);
    for (int j = 0; j < k.nbufs; j++) {
        struct buf *b = s->u.call.bufs[j];
        k.slots[j] = slot_for(c, b);
        if (b->type != p->params.v[j].buf->type)
            comp_fail(c, "call of %s: %s is %s, parameter %s is %s", p->name, b->name, dtype_name(b->type),
                      p->params.v[j].buf->name, dtype_name(p->params.v[j].buf->type));
        if (!c->u->slots.v[k.slots[j]].live) comp_fail(c, "%s is used outside of its allocation", b->name);
        if (c->u->slots.v[k.slots[j]].konst && p->params.v[j].dir != DIR_IN)
            comp_fail(c, "call of %s writes constant %s", p->name, b->name);
        if (c->u->slots.v[k.slots[j]].freed) emit(c, (struct ins){.op = V_LIVE, .b = k.slots[j], .imm = site(c, b, 0)});
    }
    for (int j = 0; j < k.nargs; j++) k.regs[j] = expr_reg(c, s->u.call.args[j]);
    PUSH(c->arena, &c->u->calls, k);
    emit(c, (struct ins){.op = V_CALL, .imm = c->u->calls.n - 1});
}

/* Each operand from the start of its slice: omitted indices are 0, and need no check. */
static void compile_foreign(struct comp *c, const struct stmt *s) {
    enum { MOST_DIMS = 64 };
    struct ctx *ctx = c->run->m->ctx;
    int nops = s->u.foreign.nops;
    struct foreign_info k = {.fn = s->u.foreign.fn};
    expr idx[MOST_DIMS];
    c->u->refused = !k.fn->run && !(s->u.foreign.fn->load && s->u.foreign.fn->load(ctx, s->u.foreign.fn));
    if (c->u->refused)
        comp_fail(c, "%s cannot be interpreted: %s", k.fn->op, k.fn->why_not ? k.fn->why_not : "it has no C");
    k.slots = NEWN(c->arena, int, nops + 1), k.base = NEWN(c->arena, int, nops + 1);
    k.var = NEWN(c->arena, int, nops + 1), k.from = NEWN(c->arena, int, nops + 1);
    k.coef = NEWN(c->arena, int64_t, nops + 1), k.regs = NEWN(c->arena, int, s->u.foreign.nargs + 1);
    for (int j = 0; j < nops; j++) {
        const struct foreign_operand *o = &s->u.foreign.ops[j];
        int slot = k.slots[j] = slot_for(c, o->buf), nd = o->buf->nd;
        if (nd > MOST_DIMS || o->n > nd) comp_fail(c, "%s has %d dims", o->buf->name, nd);
        if (c->u->slots.v[slot].konst && foreign_param(k.fn, false, j)->use == FOREIGN_WRITTEN)
            comp_fail(c, "%s writes constant %s", k.fn->op, o->buf->name);
        for (int d = 0; d < nd; d++) idx[d] = d < o->n ? s->u.foreign.idx[o->first + d] : x_int(ctx, 0);
        struct access a = access_to(c, slot, idx, nd, ~UINT64_C(0) << o->n);
        k.base[j] = a.base, k.var[j] = a.var, k.coef[j] = a.coef, k.from[j] = o->n;
    }
    for (int j = 0; j < s->u.foreign.nargs; j++) k.regs[j] = expr_reg(c, s->u.foreign.args[j]);
    PUSH(c->arena, &c->u->foreigns, k);
    emit(c, (struct ins){.op = V_FOREIGN, .imm = c->u->foreigns.n - 1});
}

/* Keeps both sides of a comparison of sizes, for the message. */
static void compile_check(struct comp *c, expr cond) {
    bool sides = (cond->op == X_EQ || cond->op == X_LT || cond->op == X_LE) && cond->arg[0]->type == IDX;
    int left = sides ? expr_reg(c, cond->arg[0]) : -1, right = sides ? expr_reg(c, cond->arg[1]) : -1;
    emit(c, (struct ins){.op = V_CHECK, .a = expr_reg(c, cond), .b = left, .c = right, .imm = site(c, NULL, 0)});
}
static void compile_size(struct comp *c, struct stmt *s) {
    int v = expr_reg(c, s->u.size.value);
    int lo = s->u.size.lo ? expr_reg(c, s->u.size.lo) : int_reg(c, s->u.size.sym->lo);
    int hi = s->u.size.hi ? expr_reg(c, s->u.size.hi) : int_reg(c, s->u.size.sym->hi);
    emit(c, (struct ins){.op = V_SIZE, .a = v, .b = lo, .c = hi, .imm = site(c, NULL, 0)});
    /* a separate register, since the value's may be shared; a visible symbol is set again */
    struct symbind *bound = sym_bound(c, s->u.size.sym);
    struct symbind b = {s->u.size.sym, bound ? bound->reg : new_reg(c), c->cur,
                        map_get(&c->set_again, PKEY(s->u.size.sym)) != NULL};
    emit(c, (struct ins){.op = V_MOV, .x = 8, .a = b.reg, .b = v});
    if (!bound) PUSH(c->arena, &c->syms, b);
}

static void compile_alloc(struct comp *c, struct stmt *s) {
    struct buf *b = s->u.alloc.buf;
    int slot = slot_for(c, b);
    struct slot *sl = &c->u->slots.v[slot];
    /* new cells each time, as if the loop were unrolled */
    if (sl->param || sl->konst || (sl->live && (b->scope == SC_REGION || b->scope == SC_KEPT)))
        comp_fail(c, "%s is allocated twice, or is a parameter or constant", b->name);
    if (b->fill && b->fill->type != dtype_value(b->type))
        comp_fail(c, "the fill of %s has another type than its elements", b->name);
    int list = list_of_dims(c, b), fill = b->fill ? expr_reg(c, b->fill) : -1;
    sl = &c->u->slots.v[slot];
    sl->live = true;
    sl->level = c->cur;
    emit(c, (struct ins){.op = V_ALLOC, .a = c->cur, .b = slot, .c = fill, .imm = list});
}

static void compile_view(struct comp *c, struct stmt *s) {
    struct buf *b = s->u.view.buf;
    int slot = slot_for(c, b), of = slot_for(c, s->u.view.of);
    if (!c->u->slots.v[of].live && !c->u->slots.v[of].param && !c->u->slots.v[of].konst)
        comp_fail(c, "%s is viewed outside of its allocation", s->u.view.of->name);
    if (c->u->slots.v[slot].live || b->type != s->u.view.of->type)
        comp_fail(c, "%s is defined twice, or views elements of another type", b->name);
    int list = list_of_dims(c, b), off = expr_reg(c, s->u.view.off);
    c->u->lists.v[list][b->nd] = of;
    c->u->slots.v[slot].live = true;
    c->u->slots.v[slot].level = c->cur;
    emit(c, (struct ins){.op = V_VIEW, .a = c->cur, .b = slot, .c = off, .imm = list});
}

/* ---- outputs whose size the run finds: allocated before the first statement that names them */
static bool finds_size(struct comp *c, const struct param *p) {
    bool found = false;
    for (int d = 0; p->dir == DIR_OUT && d < p->buf->nd; d++) found |= x_uses_any(p->buf->dims[d], &c->set_once);
    return found;
}
static bool bound_leaf(void *env, expr e) { return e->op != X_SYM || sym_bound(env, e->u.sym); }
static bool names_buf(struct stmt *s, const struct buf *b) {
    struct named_buf q;
    for (int k = 0; stmt_buf(s, k, &q); k++)
        if (q.buf == b && !(q.use & BU_BEGINS)) return true;
    return false;
}
static void bind_late(struct comp *c, struct stmt *s) { /* s NULL: at the end */
    for (int k = 0; k < c->u->nparams; k++) {
        struct buf *b = (struct buf *)c->u->slots.v[k].buf;
        bool known = true;
        if (!c->u->slots.v[k].late || (s && !names_buf(s, b))) continue;
        for (int d = 0; d < b->nd; d++) known = known && x_visit_with(b->dims[d], XF_SYM, bound_leaf, c);
        if (known) emit(c, (struct ins){.op = V_RESULT, .b = k, .c = -1, .imm = list_of_dims(c, b)});
    }
}

static void compile_stmt(struct comp *c, struct stmt *s, int depth) {
    struct block *in[2];
    memo_release(c, 0);
    c->stmt = s;
    if (!stmt_blocks(s, in)) bind_late(c, s);
    switch (s->kind) {
    case S_FOR:
        open_loop(c, s->u.loop.var, &s->u.loop.body);
        compile_block(c, &s->u.loop.body, depth);
        close_loop(c, s->u.loop.var);
        break;
    case S_STORE: store(c, s->u.store.buf, s->u.store.idx, s->u.store.n, s->u.store.op, s->u.store.value); break;
    case S_IF: compile_if(c, s, depth); break;
    case S_ALLOC: compile_alloc(c, s); break;
    case S_VIEW: compile_view(c, s); break;
    case S_FREE: {
        int slot = slot_for(c, s->u.alloc.buf);
        if (!c->u->slots.v[slot].live || c->u->slots.v[slot].param || c->u->slots.v[slot].konst)
            comp_fail(c, "free of %s, which is not allocated here", s->u.alloc.buf->name);
        emit(c, (struct ins){.op = V_FREE, .b = slot, .imm = site(c, s->u.alloc.buf, 0)});
        break;
    }
    case S_STAGE: compile_stage(c, s); break;
    case S_SIZE: compile_size(c, s); break;
    case S_CALL: compile_call(c, s); break;
    case S_WHILE: compile_while(c, s, depth); break;
    case S_CHECK: compile_check(c, s->u.check.cond); break;
    case S_INSTR: compile_block(c, &s->u.instr.body, depth); break;
    case S_PREFETCH:
        if (c->run->o->trace_prefetch)
            emit(c, (struct ins){
                        .op = V_PREFETCH, .a = expr_reg(c, s->u.prefetch.off), .b = slot_for(c, s->u.prefetch.buf)});
        break;
    case S_SWAP:
        emit(c, (struct ins){.op = V_SWAP,
                             .b = slot_for(c, s->u.swap.a),
                             .c = slot_for(c, s->u.swap.b),
                             .imm = site(c, s->u.swap.a, 0)});
        break;
    case S_FOREIGN: compile_foreign(c, s); break;
    case S_BIND: /* results have memory from the beginning here */
    case S_BARRIER:
    case S_COMMENT: break;
    }
}

static void compile_block(struct comp *c, struct block *b, int depth) {
    struct named_buf q;
    if (depth > 400) comp_fail(c, "statements nest too deeply");
    int syms = c->syms.n;
    for (struct stmt *s = b->first; s; s = s->next) compile_stmt(c, s, depth + 1);
    if (!b->owner) bind_late(c, NULL);
    /* Buffers and sizes defined here end here. Symbols inferred meanwhile stay. */
    for (struct stmt *s = b->last; s; s = s->prev)
        for (int k = 0; stmt_buf(s, k, &q); k++) {
            if (!(q.use & BU_BEGINS)) continue;
            int slot = slot_for(c, q.buf);
            c->u->slots.v[slot].live = false;
            emit(c, (struct ins){.op = V_DROP, .b = slot});
        }
    int keep = syms;
    for (int k = syms; k < c->syms.n; k++) {
        bool defined_here = false;
        for (int j = 0; j < c->u->infers.n; j++) defined_here |= c->u->infers.v[j].reg == c->syms.v[k].reg;
        if (defined_here || b->owner == NULL) c->syms.v[keep++] = c->syms.v[k];
    }
    c->syms.n = keep;
    memo_release(c, 0);
}

/* A region buffer gets the geometry of the buffer with which it is swapped, whatever its own dims are. */
static void geometry_moves(struct comp *c, const struct buf *b) {
    int slot = slot_for(c, b); /* may move the slots */
    struct slot *s = &c->u->slots.v[slot];
    for (int d = 0; b->scope == SC_REGION && d < b->nd; d++) {
        s->dim_known[d] = false;
        s->stride_known[d] = d == b->nd - 1;
    }
}
static bool note_stmt(void *env, struct stmt *s) {
    struct comp *c = env;
    if (s->kind == S_SWAP) geometry_moves(c, s->u.swap.a), geometry_moves(c, s->u.swap.b);
    if (s->kind == S_SIZE)
        map_put(map_get(&c->set_once, PKEY(s->u.size.sym)) ? &c->set_again : &c->set_once, PKEY(s->u.size.sym), s);
    if (s->kind == S_FREE) {
        int slot = slot_for(c, s->u.alloc.buf); /* may move the slots */
        c->u->slots.v[slot].freed = true;
    }
    return true;
}

/* ---- procedures */
static void finish(struct comp *c) {
    emit(c, (struct ins){.op = V_END});
    struct unit *u = c->u;
    u->code = c->levels[0].body.v;
    u->ncode = c->levels[0].body.n;
    u->init = c->init.v;
    u->nregs = c->init.n;
}

static struct comp *comp_new(struct run *r, const struct proc *p) {
    struct comp *c = NEW(&r->arena, struct comp);
    c->run = r;
    c->arena = &r->arena;
    c->proc = p;
    c->u = NEW(&r->arena, struct unit);
    c->u->proc = p;
    c->levels = NEWN(&r->arena, struct level, MAX_LEVELS);
    c->const_regs.arena = c->slot_of.arena = c->set_once.arena = c->set_again.arena = &r->arena;
    memset(c->heads, 0xff, sizeof c->heads);
    return c;
}

static void bind_param(struct comp *c, int slot) {
    struct ins i = {.op = V_BIND, .b = slot, .imm = list_of_dims(c, c->u->slots.v[slot].buf)};
    emit(c, i);
}

struct unit *unit_for(struct run *r, const struct proc *p) {
    struct unit *known = map_get(&r->units, PKEY(p));
    if (known) return known;
    struct comp *c = comp_new(r, p);
    map_put(&r->units, PKEY(p), c->u);
    if (setjmp(c->fail)) return c->u;
    for (int k = 0; k < p->params.n; k++) new_slot(c, p->params.v[k].buf, true, false);
    c->u->nparams = p->params.n;
    for (int k = 0; k < p->syms.n; k++) {
        struct symbind b = {.sym = p->syms.v[k], .reg = new_reg(c)};
        PUSH(c->arena, &c->syms, b);
        PUSH(c->arena, &c->u->symregs, b.reg);
    }
    struct block *body = (struct block *)&p->body;
    walk(body, note_stmt, c);
    for (int k = 0; k < p->params.n; k++) {
        c->u->slots.v[k].late = finds_size(c, &p->params.v[k]);
        if (!c->u->slots.v[k].late) bind_param(c, k);
    }
    compile_block(c, body, 0);
    finish(c);
    return c->u;
}

struct unit *unit_for_layout(struct run *r, const struct buf *b, const struct proc *p, bool to_physical) {
    struct ctx *ctx = r->m->ctx;
    struct comp *c = comp_new(r, p);
    if (setjmp(c->fail)) return c->u;
    struct buf *logical = NEW(c->arena, struct buf);
    *logical = (struct buf){.name = b->name, .type = b->type, .scope = SC_PARAM, .nd = b->nlogical, .dims = b->logical};
    int physical = new_slot(c, b, true, false), plain = new_slot(c, logical, true, false);
    c->u->nparams = 2;
    for (int k = 0; p && k < p->syms.n; k++) {
        struct symbind s = {.sym = p->syms.v[k], .reg = new_reg(c)};
        PUSH(c->arena, &c->syms, s);
        PUSH(c->arena, &c->u->symregs, s.reg);
    }
    bind_param(c, physical);
    bind_param(c, plain);
    expr *idx = NEWN(c->arena, expr, b->nlogical + 1);
    for (int k = 0; k < b->nlogical; k++) idx[k] = x_var(ctx, b->lvar[k]);
    open_loops(c, b->lvar, b->nlogical);
    int v = new_reg(c);
    new_reg(c);
    if (to_physical) {
        emit_load(c, access_to(c, plain, idx, b->nlogical, 0), v);
        emit_store(c, access_to(c, physical, b->map, b->nd, 0), v);
    } else {
        emit_load(c, access_to(c, physical, b->map, b->nd, 0), v);
        emit_store(c, access_to(c, plain, idx, b->nlogical, 0), v);
    }
    close_loops(c, b->lvar, b->nlogical);
    finish(c);
    return c->u;
}
