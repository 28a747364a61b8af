/* Pointers into buffers: an address is a pointer, declared at the loop where its last variable appears, plus what
 * changes inside of that loop. Used by c_stmt.c; c_index.c finds addresses with them. */
#include "codegen/c_int.h"
#include <string.h>

/* ---- which pointers are worth declaring at a loop */
struct group {
    const struct buf *buf;
    int n, count;
    bool inner, lower;
    expr *atoms;
    int64_t *coefs;
};
struct gather {
    struct fe *f;
    const struct var *var;
    VEC(struct group) groups;
    const struct var *lane;
    bool inner;
};

static bool var_known(void *env, expr e) {
    struct fe *f = env;
    if (e->op == X_VAR) return map_get(&f->vars, PKEY(e->u.var)) != NULL;
    if (e->op == X_SYM) return map_get(&f->syms, PKEY(e->u.sym)) != NULL;
    return true;
}
static void gather_offset(struct gather *g, const struct buf *b, expr off) {
    struct fe *f = g->f;
    if (c_regs(f, b) || !map_get(&f->bufs, PKEY(b))) return; /* in registers, or declared further in */
    int64_t konst;
    const expr *atoms;
    const int64_t *coefs;
    int n = x_terms(f->c, off, &konst, &atoms, &coefs), m = 0;
    expr *ga = NEWN(&f->c->arena, expr, n + 1);
    int64_t *gc = NEWN(&f->c->arena, int64_t, n + 1);
    bool new_term = false;
    for (int i = 0; i < n; i++) {
        if (opaque_atom(atoms[i]) || !x_visit_with(atoms[i], XF_VAR | XF_SYM, var_known, f)) continue;
        new_term = new_term || x_uses_var(f->c, atoms[i], g->var);
        ga[m] = atoms[i], gc[m++] = coefs[i];
    }
    if (!new_term) return;
    for (int i = 0; i < g->groups.n; i++) {
        struct group *q = &g->groups.v[i];
        if (q->buf == b && q->n == m && !memcmp(q->atoms, ga, (size_t)m * sizeof *ga) &&
            !memcmp(q->coefs, gc, (size_t)m * sizeof *gc)) {
            q->count++;
            q->inner = q->inner || g->inner;
            return;
        }
    }
    struct group q = {.buf = b, .n = m, .count = 1, .inner = g->inner, .atoms = ga, .coefs = gc};
    PUSH(&f->c->arena, &g->groups, q);
}
static void gather_access(struct gather *g, const struct buf *b, const expr *idx) {
    gather_offset(g, b, buf_own_offset(g->f->c, b, idx));
}
static void gather_load(void *env, expr load) { gather_access(env, load->u.buf, load->arg); }
static void gather_block(struct gather *g, const struct block *b) {
    for (const struct stmt *s = b->first; s; s = s->next) {
        const struct block *in;
        bool was = g->inner;
        if (s->kind == S_INSTR) {
            for (int k = 0; k < s->u.instr.n; k++) gather_offset(g, s->u.instr.holes[k].buf, c_instr_place(g->f, s, k));
            continue;
        }
        switch (s->kind) {
        case S_FOREIGN:
            for (int k = 0; k < s->u.foreign.nops; k++)
                gather_offset(g, s->u.foreign.ops[k].buf, c_foreign_place(g->f, s, k));
            break;
        case S_STORE:
            x_each_load(s->u.store.value, gather_load, g);
            gather_access(g, s->u.store.buf, s->u.store.idx);
            break;
        case S_FOR: g->inner = g->inner || s->u.loop.kind != LK_VECTOR; break;
        case S_WHILE: g->inner = true; break;
        case S_IF: x_each_load(s->u.cond.cond, gather_load, g); break;
        default: break;
        }
        for (int k = 0; (in = stmt_block(s, k)); k++) gather_block(g, in);
        g->inner = was;
    }
}

/* ---- declaring them */
static bool const_data(struct fe *f, const struct buf *b) { return b->scope == SC_CONST || !stores_to(&f->p->body, b); }
/* Declares, before the statements of the body, the pointers that can be computed once loop variable v is known; worth
 * it if an inner loop uses one, or several accesses do. Each is inside of its buffer whenever the loop runs. Their text
 * is written after the body, when it is known which ones it uses. */
void c_open_pointers(struct fe *f, const struct var *v, const struct block *body, int *mark) {
    struct gather g = {.f = f, .var = v};
    gather_block(&g, body);
    *mark = f->ptrs.n;
    for (int i = 0; i < g.groups.n; i++) {
        struct group *q = &g.groups.v[i];
        expr sum = x_int(f->c, 0);
        for (int k = 0; k < q->n; k++) sum = x_add(f->c, sum, x_muli(f->c, q->atoms[k], q->coefs[k]));
        if ((!q->inner && q->count < 2) || (q->n == 1 && q->coefs[0] == 1 && (q->count == 1 || !q->inner)) ||
            !x_proves_le(f->c, x_int(f->c, 0), sum) || !x_proves_le(f->c, sum, buf_own_cells(f->c, q->buf)))
            continue;
        struct sym_name *sn = c_declare(
            f, internf(f->c->names, "%s_%s", q->buf->name, ((struct sym_name *)map_get(&f->vars, PKEY(v)))->name),
            format(f->c, "%s%s *", const_data(f, q->buf) ? "const " : "", dtype_c(q->buf->type)));
        sn->buf = q->buf;
        c_add_ptr(f, q->buf, sn, q->n, q->atoms, q->coefs);
    }
}
static void print_pointer(struct fe *f, void *env) {
    struct ptr *q = env;
    int n = q->n;
    expr *rest = arena_copy(&f->c->arena, q->atoms, (size_t)n * sizeof *rest);
    int64_t *rc = arena_copy(&f->c->arena, q->coefs, (size_t)n * sizeof *rc);
    struct ptr *best = c_cover(f, q->buf, rest, rc, &n); /* among those declared before it */
    ASSERT(best);
    const char *base = c_ref(f, best->sn), *sum = c_sum(f, 0, rest, rc, n).s;
    if (f->run->pass == 2)
        c_line(f, "%s%s = %s %c %s;", q->sn->decl, q->sn->name, base, sum[0] == '-' ? '-' : '+', sum + (sum[0] == '-'));
}
void c_close_pointers(struct fe *f, int mark) {
    const char *lines = "";
    while (f->ptrs.n > mark) {
        struct ptr *q = f->ptrs.v[--f->ptrs.n];
        if (!q->sn->used) continue;
        struct text t = {0}, *was = f->out;
        f->out = &t;
        f->names.unused = true;
        c_run(f, print_pointer, q);
        f->names.unused = false;
        f->out = was;
        lines = format(f->c, "%s%s", t.s, lines);
        text_free(&t);
    }
    text_add(f->out, lines);
}
