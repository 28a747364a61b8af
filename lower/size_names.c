/* Long size expressions get one name in kernels. Rows numbering max(0, ((n + 255) / 256 + 3) / 2) become a plain
 * number, which the kernel gets as an argument: its index arithmetic is short, and schedules can prove what they need.
 * The symbols from which such a size is computed disappear from the kernel completely, so no relation between its sizes
 * is lost. Part of outlining. */
#include "lower/size_names.h"
#include "ir/base/checked.h"

enum {
    LONG = 10,
    PART = 4,
    TRIED = 24,
    MOST = 200
}; /* LONG, PART: nodes of a long size, of a part worth a name;
    * TRIED: attempts; MOST: parts */

struct exprs {
    expr *v;
    int n, cap;
};
/* ---- the contents of the run: all expressions, and the logical and physical dims of its buffers */
struct run {
    struct sizes *z;
    struct arena *a;
    struct exprs all, dims;
    struct map seen;
};
static void note_buf(struct run *r, const struct buf *b) {
    if (map_get(&r->seen, PKEY(b))) return;
    map_put(&r->seen, PKEY(b), (void *)b);
    for (int k = 0; k < b->nlogical; k++) PUSH(r->a, &r->dims, sizes_in_kernel(r->z, b->logical[k]));
    for (int k = 0; k < b->nd; k++) PUSH(r->a, &r->dims, sizes_in_kernel(r->z, b->dims[k]));
}
static void note_load(void *env, expr load) { note_buf(env, load->u.buf); }
static void note_expr(void *env, expr e) {
    struct run *r = env;
    PUSH(r->a, &r->all, e);
    x_each_load(e, note_load, r);
}
static bool note_stmt(void *env, struct stmt *s) {
    struct named_buf b;
    stmt_exprs(s, note_expr, env);
    for (int k = 0; stmt_buf(s, k, &b); k++)
        if (!(b.use & BU_BEGINS)) note_buf(env, b.buf);
    return true;
}

/* ---- sizes and their parts */
static int node_count(expr e) { return x_count(e, MOST); }
static bool is_name(expr e) { return e->op == X_SYM || e->op == X_CONST; }
struct parts {
    struct run *r;
    struct exprs v;
    struct map seen;
};
static bool note_part(void *env, expr e) {
    struct parts *q = env;
    if (is_name(e) || map_get(&q->seen, PKEY(e))) return true;
    map_put(&q->seen, PKEY(e), (void *)e);
    if (e->type == IDX && node_count(e) > PART && size_is_fixed(q->r->z, e)) PUSH(q->r->a, &q->v, e);
    return q->v.n < MOST;
}
static int by_length(const void *a, const void *b) {
    int x = node_count(*(const expr *)a), y = node_count(*(const expr *)b);
    return x != y ? y - x : (*(const expr *)a)->id < (*(const expr *)b)->id ? -1 : 1;
}
/* The long dims and their parts, the longest first. */
static struct exprs long_parts(struct run *r) {
    struct parts q = {r, {0}, {.arena = r->a}};
    for (int k = 0; k < r->dims.n; k++)
        if (node_count(r->dims.v[k]) > LONG) x_visit(r->dims.v[k], note_part, &q);
    if (q.v.n) qsort(q.v.v, (size_t)q.v.n, sizeof *q.v.v, by_length);
    return q.v;
}

/* ---- a name for one of them */
static bool note_sym(void *env, expr e) {
    if (e->op == X_SYM) map_put(env, PKEY(e->u.sym), (void *)e);
    return true;
}
static bool is_dim(const struct run *r, expr e) {
    for (int k = 0; k < r->dims.n; k++)
        if (r->dims.v[k] == e) return true;
    return false;
}
static const struct sym *first_sym(expr e) {
    while (e->op != X_SYM) {
        int k = 0;
        while (k < e->n && e->arg[k]->op == X_CONST) k++;
        e = e->arg[k];
    }
    return e->u.sym;
}
/* The symbol gets the range and typical value that follow from its expression; no typical value if a symbol in it has
 * none. */
static const struct sym *name_of(struct run *r, expr part, expr argument) {
    struct lowering *l = r->z->l;
    int64_t lo, hi;
    struct sym *s = map_get(&l->parts, PKEY(argument));
    if (s) {
        if (is_dim(r, part) && s->lo < 0) s->lo = 0; /* it has not been a dim of the kernels before */
        return s;
    }
    x_bounds(l->c, part, &lo, &hi);
    if (is_dim(r, part) && lo < 0) lo = 0;
    const char *name = internf(l->c->names, "%s_size%d", first_sym(argument)->name, l->nsizes + 1);
    struct sym *made = sym_new(l->c, name, lo, hi, false);
    int64_t reference = x_reference(l->c, argument);
    if (reference > 0) made->ref = reference;
    return made;
}
/* The term to name if a sum is solved for it: the longest one; otherwise all of it, unless that would hide a divisor.
 * NULL: none. */
static expr solvable(struct ctx *c, expr sum, int64_t *coef) {
    const expr *t;
    const int64_t *co;
    int64_t konst, divisor = 0;
    int n = x_terms(c, sum, &konst, &t, &co), best = -1;
    for (int k = 0; k < n; k++) {
        divisor = gcd64(divisor, co[k]);
        if ((co[k] == 1 || co[k] == -1) && !is_name(t[k]) && (best < 0 || node_count(t[k]) > node_count(t[best])))
            best = k;
    }
    *coef = best < 0 ? 1 : co[best];
    return best >= 0 ? t[best] : n > 1 && divisor == 1 ? sum : NULL;
}
/* With this name, do the same symbols no longer occur in the run, and are its dims still represented? */
static bool name_fits(struct run *r, struct sizes *with, expr part, const struct sym *s) {
    struct map gone = {.arena = r->a};
    struct subst back = {{.arena = r->a}};
    x_visit_with(part, XF_SYM, note_sym, &gone);
    map_put(&back.map, PKEY(s), (void *)part);
    for (int k = 0; k < r->dims.n; k++) {
        expr now = sizes_in_kernel(with, r->dims.v[k]);
        if (x_uses_any(now, &gone) || x_subst(r->z->c, now, &back) != r->dims.v[k]) return false;
    }
    for (int k = 0; k < r->all.n; k++)
        if (x_uses_any(sizes_in_kernel(with, r->all.v[k]), &gone)) return false;
    return true;
}
static bool give_name(struct run *r, expr part) {
    struct ctx *c = r->z->c;
    struct lowering *l = r->z->l;
    struct sizes with;
    int64_t coef = 1;
    expr from = part->op == X_LIN ? solvable(c, part, &coef) : part;
    if (!from) return false;
    expr argument = sizes_argument(r->z, part);
    const struct sym *s = name_of(r, part, argument);
    expr rest = x_sub(c, part, x_muli(c, from, coef)), to = x_muli(c, x_sub(c, x_sym(c, s), rest), coef);
    sizes_none(&with, l);
    sizes_put(&with, from, to);
    if (!name_fits(r, &with, part, s)) return false;
    if (!map_get(&l->parts, PKEY(argument))) {
        map_put(&l->parts, PKEY(argument), (void *)s);
        l->nsizes++;
    }
    sizes_put(r->z, from, to);
    map_put(&r->z->parts, PKEY(s), (void *)argument);
    for (int k = 0; k < r->dims.n; k++) r->dims.v[k] = sizes_in_kernel(&with, r->dims.v[k]);
    for (int k = 0; k < r->all.n; k++) r->all.v[k] = sizes_in_kernel(&with, r->all.v[k]);
    return true;
}
void sizes_shorten(struct sizes *z, struct lowering *l, struct block *stmts) {
    struct run r = {.z = z, .a = &l->c->arena, .seen = {.arena = &l->c->arena}};
    sizes_none(z, l);
    z->before = l->sizes, z->made = l->sizes->made;
    walk(stmts, note_stmt, &r);
    for (int k = 0; k < r.dims.n; k++) sizes_of_dim(z, sizes_in_kernel(z, r.dims.v[k]));
    for (int k = 0; k < r.dims.n; k++) r.dims.v[k] = sizes_in_kernel(z, r.dims.v[k]);
    for (int k = 0; k < r.all.n; k++) r.all.v[k] = sizes_in_kernel(z, r.all.v[k]);
    for (bool more = true; more;) {
        struct exprs parts = long_parts(&r);
        more = false;
        for (int k = 0; k < parts.n && k < TRIED && !more; k++) more = give_name(&r, parts.v[k]);
    }
    sizes_rewrite(z, stmts);
}
