/* Pass `entry-values`: conditions, sizes and stores of the entry that need real arithmetic are moved into procedures,
 * which are printed with exactly the interpreter's meaning. What remains is index arithmetic, integer comparisons and
 * loads. See passes.h. */
#include "lower/passes/passes.h"

/* ---- what the entry's C can express: index arithmetic, integer comparisons, loads */
struct simple {
    struct ctx *c;
    int nodes;
    bool ok;
};
static bool simple_type(enum dtype t) { return t == IDX || t == BOOL || t == I32 || t == I64; }
static bool simple_storage(enum dtype t) {
    return t == BOOL || t == I8 || t == U8 || t == I16 || t == U16 || t == I32 || t == I64;
}
static void check_simple(struct simple *q, expr e) {
    if (++q->nodes > 200) q->ok = false; /* counted as a tree, since shared parts would be printed twice */
    if (!q->ok) return;
    switch ((enum xop)e->op) {
    case X_CONST:
    case X_VAR:
    case X_SYM: break;
    case X_LIN:
    case X_PROD:
    case X_TOIDX:
    case X_IDXVAL:
    case X_NOT: break;
    case X_DIV:
    case X_MOD: q->ok = e->type == IDX; break;
    case X_ADD:
    case X_SUB: q->ok = e->type == IDX || e->type == I64; break;
    case X_MUL: q->ok = e->type == IDX; break;
    case X_MIN:
    case X_MAX: q->ok = e->type == IDX || e->type == I64; break;
    case X_LT:
    case X_LE:
    case X_EQ:
    case X_NE:
    case X_SELECT: break;
    case X_AND:
    case X_OR: q->ok = e->type == BOOL; break;
    case X_CAST:
        q->ok = (e->type == I64 && (e->arg[0]->type == I32 || e->arg[0]->type == BOOL)) ||
                (e->type == I32 && e->arg[0]->type == BOOL) || e->type == BOOL;
        break;
    case X_LOAD: q->ok = !e->has_fill && simple_storage(e->u.buf->type); break;
    default: q->ok = false;
    }
    q->ok = q->ok && simple_type(e->type) && !(e->op == X_NOT && e->type != BOOL);
    if (e->op == X_LOAD && q->ok) {
        check_simple(q, buf_offset(q->c, e->u.buf, e->arg));
        return;
    }
    for (int k = 0; k < e->n && q->ok; k++) check_simple(q, e->arg[k]);
}
static bool entry_simple(struct ctx *c, expr e) {
    struct simple q = {c, 0, true};
    check_simple(&q, e);
    return q.ok;
}

/* ---- procedures for everything else */
struct prepare {
    struct module *m;
    struct ctx *c;
    int n; /* procedures made */
};
/* One procedure being made: what it reads becomes parameters and symbols. */
struct lifted {
    struct prepare *p;
    struct proc *proc;
    VEC(struct buf *) bufs; /* of the entry */
    VEC(struct buf *) params;
    VEC(expr) args;
    struct map vars; /* loop variable or symbol -> expr in the procedure */
};

static bool is_lifted_sym(struct lifted *l, const struct sym *s) {
    for (int k = 0; k < l->proc->syms.n; k++)
        if (l->proc->syms.v[k] == s) return true;
    return false;
}
static void take_sym(struct lifted *l, const struct sym *s, expr arg) {
    if (is_lifted_sym(l, s)) return;
    PUSH(&l->p->c->arena, &l->proc->syms, s);
    PUSH(&l->p->c->arena, &l->args, arg);
}
static bool take_dim_syms(void *env, expr e) {
    if (e->op == X_SYM) take_sym(env, e->u.sym, e);
    return true;
}
static struct buf *take_buf(struct lifted *l, struct buf *b, enum param_dir dir) {
    for (int k = 0; k < l->bufs.n; k++)
        if (l->bufs.v[k] == b) {
            if (l->proc->params.v[k].dir != dir) l->proc->params.v[k].dir = DIR_INOUT;
            return l->params.v[k];
        }
    for (int k = 0; k < b->nd; k++) x_visit_with(b->dims[k], XF_SYM, take_dim_syms, l);
    struct buf *q = proc_param(l->p->c, l->proc, b->name, b->type, dir, b->dims, b->nd);
    if (b->pad) q->pad = arena_copy(&l->p->c->arena, b->pad, sizeof *b->pad * (size_t)b->nd);
    PUSH(&l->p->c->arena, &l->bufs, b);
    PUSH(&l->p->c->arena, &l->params, q);
    return q;
}
static expr lift_leaf(void *env, expr e) {
    struct lifted *l = env;
    struct ctx *c = l->p->c;
    if (e->op == X_SYM) {
        take_sym(l, e->u.sym, e);
        return e;
    }
    if (e->op == X_VAR) {
        expr known = map_get(&l->vars, PKEY(e->u.var));
        if (known) return known;
        int64_t lo, hi;
        x_bounds(c, e, &lo, &hi);
        struct sym *s = sym_new(c, e->u.var->name, 0, hi, false);
        expr r = x_sym(c, s);
        take_sym(l, s, e);
        map_put(&l->vars, PKEY(e->u.var), (void *)r);
        return r;
    }
    if (e->op == X_LOAD) {
        expr idx[34];
        for (int k = 0; k < e->n; k++) idx[k] = x_map(c, e->arg[k], lift_leaf, l);
        int nd = e->n - (e->has_fill ? 1 : 0);
        return x_load(c, take_buf(l, e->u.buf, DIR_IN), idx, nd, e->has_fill ? idx[nd] : NULL);
    }
    return NULL;
}
static struct lifted lifted_new(struct prepare *p, const char *what) {
    struct lifted l = {.p = p, .vars = {.arena = &p->c->arena}};
    l.proc = proc_new(p->c, internf(p->c->names, "%s%d", what, p->n++));
    return l;
}
/* The call of the finished procedure; it goes to the module's procedures. */
static struct stmt *lifted_call(struct lifted *l) {
    struct ctx *c = l->p->c;
    struct stmt *s = s_new(c, S_CALL);
    s->u.call.callee = l->proc;
    s->u.call.nbufs = l->bufs.n, s->u.call.bufs = l->bufs.v;
    s->u.call.nargs = l->args.n, s->u.call.args = l->args.v;
    PUSH(&c->arena, &l->p->m->procs, l->proc);
    /* facts from the entry's loops and checks are unknown in the procedure; the next verification would refuse it */
    proc_guard(l->p->m, l->proc, "entry-values", NULL, NULL);
    return s;
}
/* Statements that put the value of e into a new scalar, before `at`; returns the scalar and, in *call, a call that
 * computes it again. */
static struct buf *lift_value(struct prepare *p, struct stmt *at, expr e, const char *what, struct stmt **call) {
    struct ctx *c = p->c;
    bool index = e->type == IDX;
    struct buf *tmp = buf_new(c, p->m->entry, internf(c->names, "%s%d_value", what, p->n),
                              index ? I64 : (enum dtype)e->type, SC_STACK, NULL, 0);
    struct lifted l = lifted_new(p, what);
    expr value = x_map(c, e, lift_leaf, &l);
    struct buf *out = take_buf(&l, tmp, DIR_OUT);
    block_append(&l.proc->body, s_store(c, out, NULL, 0, RED_NONE, index ? x_idxval(c, value) : value));
    *call = lifted_call(&l);
    stmt_insert_before(at, s_alloc(c, tmp));
    stmt_insert_before(at, *call);
    return tmp;
}
static struct stmt *copy_call(struct ctx *c, const struct stmt *call) {
    struct stmt *s = s_new(c, S_CALL);
    s->u = call->u;
    return s;
}
static expr lift_if_needed(struct prepare *p, struct stmt *at, expr e, const char *what) {
    struct stmt *call;
    if (!e || entry_simple(p->c, e)) return e;
    struct buf *tmp = lift_value(p, at, e, what, &call);
    expr v = x_load(p->c, tmp, NULL, 0, NULL);
    return e->type == IDX ? x_toidx(p->c, v) : v;
}
static bool plain_store(struct prepare *p, struct stmt *s) {
    if (s->kind != S_STORE) return false;
    enum dtype t = s->u.store.buf->type;
    if (t != I64 && t != BOOL && t != I32) return false;
    if (s->u.store.op != RED_NONE && !(s->u.store.op == RED_SUM && t == I64)) return false;
    for (int k = 0; k < s->u.store.n; k++)
        if (!entry_simple(p->c, s->u.store.idx[k])) return false;
    return entry_simple(p->c, s->u.store.value);
}
/* A store, or a whole nest of stores, as a procedure. */
static struct stmt *lift_store(struct prepare *p, struct stmt *s) {
    struct ctx *c = p->c;
    struct lifted l = lifted_new(p, "set");
    expr idx[34];
    for (int k = 0; k < s->u.store.n; k++) idx[k] = x_map(c, s->u.store.idx[k], lift_leaf, &l);
    expr value = x_map(c, s->u.store.value, lift_leaf, &l);
    struct buf *to = take_buf(&l, s->u.store.buf, s->u.store.op == RED_NONE ? DIR_OUT : DIR_INOUT);
    block_append(&l.proc->body, s_store(c, to, idx, s->u.store.n, s->u.store.op, value));
    struct stmt *call = lifted_call(&l);
    stmt_insert_before(s, call);
    stmt_remove(s);
    return call;
}

static void prepare_block(struct prepare *p, struct block *b);
static void prepare_while(struct prepare *p, struct stmt *s) {
    struct stmt *call;
    s->u.loop_while.max = lift_if_needed(p, s, s->u.loop_while.max, "limit");
    expr cond = s->u.loop_while.cond;
    if (entry_simple(p->c, cond)) return;
    struct buf *tmp = lift_value(p, s, cond, "go_on", &call);
    s->u.loop_while.cond = x_load(p->c, tmp, NULL, 0, NULL);
    block_append(&s->u.loop_while.body, copy_call(p->c, call));
}
static void prepare_block(struct prepare *p, struct block *b) {
    struct block *in[2];
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        switch (s->kind) {
        case S_IF: s->u.cond.cond = lift_if_needed(p, s, s->u.cond.cond, "cond"); break;
        case S_CHECK: s->u.check.cond = lift_if_needed(p, s, s->u.check.cond, "check"); break;
        case S_SIZE:
            s->u.size.value = lift_if_needed(p, s, s->u.size.value, "size");
            s->u.size.lo = lift_if_needed(p, s, s->u.size.lo, "size_lo");
            s->u.size.hi = lift_if_needed(p, s, s->u.size.hi, "size_hi");
            break;
        case S_CALL:
            for (int k = 0; k < s->u.call.nargs; k++)
                s->u.call.args[k] = lift_if_needed(p, s, s->u.call.args[k], "arg");
            break;
        case S_WHILE: prepare_while(p, s); break;
        case S_STORE:
            if (!plain_store(p, s)) s = lift_store(p, s);
            break;
        default: break;
        }
        for (int n = stmt_blocks(s, in), k = 0; k < n; k++) prepare_block(p, in[k]);
    }
}
void pass_entry_values(struct module *m, const struct printing *o) {
    (void)o;
    struct prepare p = {.m = m, .c = m->ctx};
    if (!m->entry) return;
    prepare_block(&p, &m->entry->body);
    m->entry->lifted |= p.n > 0;
}
