/* Expressions as C: scalars, indices, vectors; which values get names. Between the expanded loop IR and
 * c_stmt.c's statements.
 *
 * An expression is a DAG: what occurs twice must be printed once, or text would grow exponentially. A run of statements
 * is therefore walked twice, see struct run. Order of evaluation, laziness of selects and rounding stay as in the IR.
 */
#include "codegen/c_int.h"
#include "ir/expr/native.h"
#include <math.h>
#include <string.h>

const char *paren(struct fe *f, struct piece v, enum prec most) { return piece_text(&f->c->arena, v, most); }

/* ---- names */
const char *c_ref(struct fe *f, struct sym_name *n) {
    n->used = true;
    if (n->level < f->level) {
        for (int i = 0; i < f->captures->n; i++)
            if (f->captures->v[i] == n) return n->name;
        PUSH(&f->c->arena, f->captures, n);
    }
    return n->name;
}
struct sym_name *c_declare(struct fe *f, const char *base, const char *decl) {
    struct sym_name *n = NEW(&f->c->arena, struct sym_name);
    n->name = names_add(&f->names, base);
    n->decl = decl;
    n->level = f->level;
    n->place = ++f->declared;
    return n;
}

/* ---- properties of expressions, remembered */
static int lanes_log(int lanes) {
    int k = 0;
    while (1 << k < lanes) k++;
    return k;
}
const struct var *c_lane(struct fe *f, const struct var *v) {
    const struct var **lane = &f->lanes[lanes_log((int)v->extent->u.i)];
    if (!*lane) *lane = v;
    return *lane;
}
bool on_lane(struct fe *f, expr e) {
    if (f->arg_lanes > 1) { /* in an IR function all arguments are vectors */
        if (e->op == X_ARG) return true;
    } else if (!f->lane) {
        return false;
    }
    if (e->op == X_VAR) return e->u.var == f->lane;
    if (e->n == 0) return false;
    struct map *m = &f->dep[lanes_log(f->width)];
    uintptr_t known = (uintptr_t)map_get(m, PKEY(e));
    if (known) return known == 2;
    bool d = false;
    for (int k = 0; k < e->n && !d; k++) d = on_lane(f, e->arg[k]);
    map_put(m, PKEY(e), (void *)(uintptr_t)(d ? 2 : 1));
    return d;
}
static bool in_range(struct ctx *c, expr load) {
    const struct buf *b = load->u.buf;
    for (int k = 0; k < b->nd; k++)
        if (!x_proves_le(c, x_int(c, 0), load->arg[k]) || !x_proves_lt(c, load->arg[k], b->dims[k])) return false;
    return true;
}
/* May e be computed although the IR would not? It must not load out of bounds nor set the fault flag. */
static bool is_safe(struct fe *f, expr e) {
    if (e->n == 0) return true;
    uintptr_t known = (uintptr_t)map_get(&f->safe, PKEY(e));
    if (known) return known == 2;
    bool s = e->op != X_GUARD && (e->op != X_LOAD || e->has_fill || in_range(f->c, e));
    for (int k = 0; k < e->n && s; k++) s = is_safe(f, e->arg[k]);
    map_put(&f->safe, PKEY(e), (void *)(uintptr_t)(s ? 2 : 1));
    return s;
}
bool opaque_atom(expr e) { return x_has(e, XF_LOAD | XF_GUARD | XF_TOIDX); }

/* ---- named values */
static bool in_register(struct fe *f, const struct buf *b) {
    struct regs *r = map_get(&f->regs, PKEY(b));
    return r && !r->array;
}
static bool worth_a_name(struct fe *f, expr e) {
    switch (e->op) {
    case X_CONST:
    case X_VAR:
    case X_SYM:
    case X_ARG:
    case X_LIN:
    case X_PROD:
    case X_TOIDX:
    case X_IDXVAL: return false;
    case X_LOAD: return !in_register(f, e->u.buf) || e->has_fill;
    case X_CAST: return e->arg[0]->op != X_IDXVAL || on_lane(f, e);
    case X_MIN:
    case X_MAX: return e->type != IDX || e->n > 0;
    default: return true;
    }
}
static uint64_t inst_key(expr e, int splat) { return PKEY(e) + (uint64_t)lanes_log(splat ? splat : 1); }

static void collect_read(void *env, expr load) {
    struct {
        struct ctx *c;
        struct inst *i;
    } *q = env;
    PUSH(&q->c->arena, &q->i->reads, load->u.buf);
}
void c_forget(struct fe *f, const struct buf *b) {
    struct vscope *s = f->run->root;
    for (int i = 0; i < s->list.n; i++) {
        struct inst *t = s->list.v[i];
        for (int k = 0; k < t->reads.n; k++)
            if (t->reads.v[k] == b) {
                if (map_get(&s->active, inst_key(t->e, t->splat)) == t)
                    map_put(&s->active, inst_key(t->e, t->splat),
                            &s->active); /* no removal in maps: the map itself stands for "gone" */
                s->list.v[i--] = s->list.v[--s->list.n];
                break;
            }
    }
}
const char *c_type_of(struct fe *f, expr e, int lanes) {
    if (e->type == IDX) return f->idx;
    return lanes > 1 ? c_vector_type(f->o, (enum dtype)e->type, lanes) : c_value_type((enum dtype)e->type);
}
static void line(struct vscope *s, const char *text) {
    emit_indent(s->out, s->depth);
    text_add(s->out, text);
    text_char(s->out, '\n');
}
static struct piece print_value(struct fe *f, expr e);

/* A value through the table of named ones. splat > 0: e in all lanes of a vector. */
static struct piece named(struct fe *f, expr e, int splat, struct piece (*print)(struct fe *, expr, int)) {
    struct run *r = f->run;
    uint64_t key = inst_key(e, splat);
    for (struct vscope *s = r->scope; s; s = s->up) {
        struct inst *i = map_get(&s->active, key);
        if (!i || (void *)i == (void *)&s->active) continue;
        i->uses++;
        if (r->pass == 2) ASSERT(i->name);
        if (r->pass == 1) s->named = true;
        return piece_of(r->pass == 1 ? "" : i->name, P_ATOM);
    }
    struct inst *i;
    if (r->pass == 1) {
        i = NEW(&f->c->arena, struct inst);
        i->e = e;
        i->splat = splat;
        i->uses = 1;
        struct {
            struct ctx *c;
            struct inst *i;
        } q = {f->c, i};
        x_each_load(e, collect_read, &q);
        PUSH(&f->c->arena, &r->insts, i);
    } else {
        i = r->insts.v[r->at++];
        ASSERT(i->e == e && i->splat == splat);
    }
    struct vscope *home = is_safe(f, e) ? r->root : r->scope, *was = r->scope;
    r->scope = home;
    struct piece v = print(f, e, splat);
    r->scope = was;
    map_put(&home->active, key, i);
    PUSH(&f->c->arena, &home->list, i);
    if (r->pass == 2 && i->uses > 1) {
        int lanes = splat ? splat : on_lane(f, e) ? f->width : 1;
        i->name = names_numbered(&f->names, e->op == X_LOAD ? e->u.buf->name : "t");
        line(home, A("const %s %s = %s;", c_type_of(f, e, lanes), i->name, v.s));
        return piece_of(i->name, P_ATOM);
    }
    return v;
}
static struct piece print_splat(struct fe *f, expr e, int splat) {
    return piece_of(A("%s(%s)", c_splat(f->o, (enum dtype)e->type, splat), c_value(f, e, 1).s), P_ATOM);
}
static struct piece print_plain(struct fe *f, expr e, int splat) {
    (void)splat;
    return print_value(f, e);
}
struct piece c_value(struct fe *f, expr e, int lanes) {
    if (lanes > 1 && !on_lane(f, e)) {
        if (e->op == X_CONST || e->op == X_ARG) return print_splat(f, e, lanes);
        return named(f, e, lanes, print_splat);
    }
    if (!worth_a_name(f, e)) return print_value(f, e);
    return named(f, e, 0, print_plain);
}

/* ---- indices */
static struct piece sum_text(struct fe *f, const struct terms *q) {
    const char *s = "";
    enum prec p = P_ATOM;
    int terms = 0;
    for (int sign = 1; sign >= -1; sign -= 2) { /* positive terms first: no leading minus */
        for (int i = 0; i < q->n; i++) {
            if ((q->coef[i] > 0) != (sign > 0)) continue;
            int64_t k = q->coef[i] * sign;
            struct piece a = c_index(f, q->atom[i]);
            const char *t = k == 1 ? paren(f, a, sign > 0 && !terms ? P_ADD : P_MUL)
                                   : A("%s * %lld", paren(f, a, P_MUL), (long long)k);
            enum prec tp = k == 1 ? a.p : P_MUL;
            if (!terms)
                s = sign > 0 ? t : A("-%s", k == 1 ? paren(f, a, P_UNARY) : t), p = sign > 0 ? tp
                                                                                    : k == 1 ? P_UNARY
                                                                                             : P_MUL;
            else s = A("%s %s %s", s, sign > 0 ? "+" : "-", t), p = P_ADD;
            terms++;
        }
        if (sign > 0 && q->konst > 0) {
            s = terms ? A("%s + %lld", s, (long long)q->konst) : A("%lld", (long long)q->konst);
            p = terms ? P_ADD : P_ATOM;
            terms++;
        }
    }
    if (q->konst < 0)
        s = terms ? A("%s - %lld", s, -(long long)q->konst) : A("%lld", (long long)q->konst),
        p = terms ? P_ADD : P_UNARY, terms++;
    return terms ? piece_of(s, p) : piece_of("0", P_ATOM);
}
struct piece c_sum(struct fe *f, int64_t konst, const expr *atoms, const int64_t *coefs, int n) {
    struct terms t = c_sorted(f, konst, atoms, coefs, n);
    return sum_text(f, &t);
}
static struct piece product_text(struct fe *f, expr e) {
    expr *v;
    int n = c_factors(f, e, &v);
    const char *s = paren(f, c_index(f, v[0]), P_MUL);
    for (int k = 1; k < n; k++) s = A("%s * %s", s, paren(f, c_index(f, v[k]), P_UNARY));
    return piece_of(s, P_MUL);
}
static struct piece min_max_text(struct fe *f, expr e) {
    bool turned = c_before(f, e->arg[0], e->arg[1]) > 0;
    struct piece a = c_index(f, e->arg[turned]), b = c_index(f, e->arg[!turned]);
    return piece_of(A("%s(%s, %s)", c_index_helper(f->o, e->op == X_MIN ? "min" : "max"), a.s, b.s), P_ATOM);
}
static bool nonnegative(struct fe *f, expr e) {
    int64_t lo, hi;
    x_bounds(f->c, e, &lo, &hi);
    return lo >= 0;
}
static struct piece division(struct fe *f, expr e) {
    int64_t lo, hi;
    x_bounds(f->c, e->arg[1], &lo, &hi);
    struct piece a = c_index(f, e->arg[0]), b = c_index(f, e->arg[1]);
    if (lo > 0 && (nonnegative(f, e->arg[0]) || x_proves_le(f->c, x_int(f->c, 0), e->arg[0])))
        return piece_of(A("%s %c %s", paren(f, a, P_MUL), e->op == X_DIV ? '/' : '%', paren(f, b, P_UNARY)), P_MUL);
    return piece_of(A("%s(%s, %s)", c_index_helper(f->o, e->op == X_DIV ? "floordiv" : "floormod"), a.s, b.s), P_ATOM);
}
static struct piece print_select(struct fe *f, expr e);
struct piece c_index(struct fe *f, expr e) {
    if (worth_a_name(f, e) && (e->op == X_DIV || e->op == X_MOD || e->op == X_GUARD || e->op == X_SELECT))
        return named(f, e, 0, print_plain);
    return print_value(f, e);
}
static struct piece print_index(struct fe *f, expr e) {
    switch (e->op) {
    case X_CONST: return piece_of(A("%lld", (long long)e->u.i), e->u.i < 0 ? P_UNARY : P_ATOM);
    case X_VAR: {
        struct sym_name *n = map_get(&f->vars, PKEY(e->u.var));
        if (!n) BUG("loop variable %s_%d is used outside of its loop", e->u.var->name, e->u.var->id);
        return piece_of(c_ref(f, n), P_ATOM);
    }
    case X_SYM: {
        struct sym_name *n = map_get(&f->syms, PKEY(e->u.sym));
        if (!n) BUG("size %s is not known to %s", e->u.sym->name, f->p->name);
        return piece_of(c_ref(f, n), P_ATOM);
    }
    case X_LIN: {
        struct terms t = c_terms(f, e);
        return sum_text(f, &t);
    }
    case X_PROD: return product_text(f, e);
    case X_DIV:
    case X_MOD: return division(f, e);
    case X_MIN:
    case X_MAX: return min_max_text(f, e);
    case X_TOIDX: return piece_of(A("(%s)%s", f->idx, paren(f, c_value(f, e->arg[0], 1), P_UNARY)), P_UNARY);
    case X_GUARD: {
        expr v = e->arg[0]; /* a guarded value is compared before it is made an index */
        struct piece a = v->op == X_TOIDX && v->arg[0]->type != U64 ? c_value(f, v->arg[0], 1) : c_index(f, v);
        return piece_of(
            A("%s(%s, %s, %s)", c_index_helper(f->o, "guard"), a.s, c_index(f, e->arg[1]).s, c_ref(f, f->fault)),
            P_ATOM);
    }
    case X_SELECT: return print_select(f, e);
    default: BUG("index expression of kind %s", xop_name((enum xop)e->op));
    }
}

/* ---- places in memory */
struct place c_place(struct fe *f, const struct buf *b, const expr *idx) {
    return c_place_at(f, b, buf_own_offset(f->c, b, idx));
}
struct place c_place_at(struct fe *f, const struct buf *b, expr off) {
    int64_t konst;
    const expr *atoms;
    const int64_t *coefs;
    int n = x_terms(f->c, off, &konst, &atoms, &coefs), left = 0;
    struct place pl = {.linear = true};
    expr *rest = NEWN(&f->c->arena, expr, n + 1);
    int64_t *rc = NEWN(&f->c->arena, int64_t, n + 1);
    for (int i = 0; i < n; i++) {
        if (f->lane && atoms[i]->op == X_VAR && atoms[i]->u.var == f->lane) {
            pl.k = coefs[i];
            continue;
        }
        if (on_lane(f, atoms[i])) pl.linear = false;
        rest[left] = atoms[i], rc[left++] = coefs[i];
    }
    if (!pl.linear) return pl;
    struct ptr *best = c_cover(f, b, rest, rc, &left);
    if (!best) BUG("buffer %s is not in scope in %s", b->name, f->p->name);
    pl.base = c_ref(f, best->sn);
    pl.zero = left == 0 && konst == 0;
    pl.rest = c_sum(f, konst, rest, rc, left);
    return pl;
}
const char *c_cell(struct fe *f, const struct place *p) { return A("%s[%s]", p->base, p->rest.s); }
const char *c_address(struct fe *f, const struct place *p) {
    if (p->zero) return p->base;
    return p->rest.s[0] == '-' ? A("%s - %s", p->base, p->rest.s + 1) : A("%s + %s", p->base, p->rest.s);
}
struct reg_piece *c_piece(struct fe *f, const struct buf *b, const expr *idx, int *element) {
    return c_piece_at(f, b, buf_own_offset(f->c, b, idx), element);
}
struct reg_piece *c_piece_at(struct fe *f, const struct buf *b, expr off, int *element) {
    struct regs *r = map_get(&f->regs, PKEY(b));
    if (!r || r->array) return NULL;
    int64_t k = 0, at;
    bool ok = !f->lane || x_linear_in(f->c, off, f->lane, &k, &off);
    ASSERT(ok && x_is_int(off, &at) && at >= 0 && at < r->ncells && r->of_cell[at] >= 0);
    struct reg_piece *q = &r->pieces.v[r->of_cell[at]];
    *element = k == 0 && q->lanes > 1 ? (int)(at - q->cell) : -1;
    return q;
}

/* ---- loads */
/* The value of a scalar cell as C, from its text. */
static struct piece decoded(struct fe *f, const struct buf *b, const char *cell) {
    const char *dec = c_decode(f->o, b->type);
    if (dec) return piece_of(A("%s(%s)", dec, cell), P_ATOM);
    if (b->type == BOOL) return piece_of(A("%s != 0", cell), P_EQ);
    return piece_of(cell, P_ATOM);
}
static expr in_bounds(struct fe *f, expr load) {
    expr cond = x_bool(f->c, true);
    for (int k = 0; k < load->u.buf->nd; k++) {
        cond = x_and(f->c, cond, x_cmp(f->c, X_LE, x_int(f->c, 0), load->arg[k]));
        cond = x_and(f->c, cond, x_cmp(f->c, X_LT, load->arg[k], load->u.buf->dims[k]));
    }
    return cond;
}
/* e lane by lane, for what no vector instruction says: each lane's scalar expression in an initializer. */
static struct piece lane_by_lane(struct fe *f, expr e) {
    const struct var *lane = f->lane;
    int width = f->width;
    ASSERT(lane);
    const char *s = "";
    f->lane = NULL;
    for (int i = 0; i < width; i++) {
        struct piece v = c_value(f, x_subst1(f->c, e, lane, x_int(f->c, i)), 1);
        s = A("%s%s%s", s, i ? ", " : "", e->type == BOOL ? A("-(%s)", v.s) : v.s);
    }
    f->lane = lane;
    return piece_of(A("(%s){%s}", c_vector_type(f->o, (enum dtype)e->type, width), s), P_ATOM);
}
/* A guard below 0 has no index to give: an access by it is no access, and a fault. What must hold for there to be one.
 */
struct guard_sizes {
    struct ctx *c;
    expr cond;
};
static bool add_guard_size(void *env, expr e) {
    struct guard_sizes *q = env;
    if (e->op == X_GUARD) q->cond = x_and(q->c, q->cond, x_cmp(q->c, X_LT, x_int(q->c, 0), e->arg[1]));
    return true;
}
expr c_guards_exist(struct fe *f, const expr *idx, int n) {
    struct guard_sizes q = {f->c, x_bool(f->c, true)};
    for (int k = 0; k < n; k++) x_visit_with(idx[k], XF_GUARD, add_guard_size, &q);
    return q.cond;
}
bool c_code(struct fe *f, enum dtype storage, expr e, struct piece *out) {
    int element;
    if ((storage != F16 && storage != BF16) || e->op != X_LOAD || e->u.buf->type != storage || f->lane) return false;
    if (!x_is_true(c_guards_exist(f, e->arg, e->n)) || (e->has_fill && e->arg[e->n - 1]->op != X_CONST)) return false;
    if (!e->has_fill && c_piece(f, e->u.buf, e->arg, &element)) return false;
    expr cond = e->has_fill ? in_bounds(f, e) : x_bool(f->c, true);
    if (x_is_false(cond)) return false;
    struct place pl = c_place(f, e->u.buf, e->arg);
    *out = piece_of(c_cell(f, &pl), P_ATOM);
    if (!x_is_true(cond))
        *out = piece_of(A("%s ? %s : 0x%04x", paren(f, c_value(f, cond, 1), P_OR), out->s,
                          c_float_code(storage, e->arg[e->n - 1]->u.f)),
                        P_COND);
    return true;
}
static struct piece print_load(struct fe *f, expr e) {
    const struct buf *b = e->u.buf;
    bool vec = on_lane(f, e);
    int element;
    struct reg_piece *q = e->has_fill ? NULL : c_piece(f, b, e->arg, &element);
    if (q) {
        const char *n = c_ref(f, q->sn);
        return piece_of(element >= 0 ? A("%s[%d]", n, element) : n, P_ATOM);
    }
    expr fill = e->has_fill ? e->arg[e->n - 1] : NULL, cond = fill ? in_bounds(f, e) : x_bool(f->c, true);
    bool faults = false; /* where there is nothing to load */
    if (!fill) {
        cond = c_guards_exist(f, e->arg, e->n);
        faults = !x_is_true(cond);
        fill = x_num(f->c, (enum dtype)e->type, 0);
    }
    if (vec && (on_lane(f, cond) || on_lane(f, fill))) return lane_by_lane(f, e);
    struct piece none = {0};
    if (!x_is_true(cond)) { none = c_value(f, fill, vec ? f->width : 1); }
    if (faults)
        none = piece_of(A("(%s(%s), %s)", c_index_helper(f->o, "fault"), c_ref(f, f->fault), paren(f, none, P_COND)),
                        P_ATOM);
    if (x_is_false(cond)) return none;
    struct place pl = c_place(f, b, e->arg);
    if (vec && (!pl.linear || pl.k != 1)) return lane_by_lane(f, e);
    bool anew = f->tile && f->loop == f->tile && !x_uses_var(f->c, e, f->loop);
    struct piece v = vec ? piece_of(A("%s(%s)", c_vload(f->o, b->type, f->width, anew), c_address(f, &pl)), P_ATOM)
                         : decoded(f, b, c_cell(f, &pl));
    if (x_is_true(cond)) return v;
    return piece_of(A("%s ? %s : %s", paren(f, c_value(f, cond, 1), P_OR), paren(f, v, P_OR), paren(f, none, P_COND)),
                    P_COND);
}

/* ---- values */
static struct piece constant(struct fe *f, expr e) {
    if (dtype_is_complex((enum dtype)e->type)) return piece_of(A("(%s){0}", dtype_c((enum dtype)e->type)), P_ATOM);
    if (e->type == F32 || e->type == F64) {
        double v = e->u.f;
        if (isnan(v) || isinf(v)) {
            f->u->math = true;
            const char *s = isnan(v) ? "NAN" : v < 0 ? "-INFINITY" : "INFINITY";
            return e->type == F32 ? piece_of(s, v < 0 ? P_UNARY : P_ATOM) : piece_of(A("(double)%s", s), P_UNARY);
        }
        struct text t = {0};
        if (e->type == F32) text_f32(&t, (float)v);
        else text_f64(&t, v);
        struct piece r = piece_of(A("%s%s%s", t.s, strpbrk(t.s, ".e") ? "" : ".0", e->type == F32 ? "f" : ""),
                                  signbit(v) ? P_UNARY : P_ATOM);
        text_free(&t);
        return r;
    }
    int64_t v = e->u.i;
    switch (e->type) {
    case STR: return piece_of("(nn_str){\"\", 0}", P_ATOM);
    case U32: return piece_of(A("%luu", (unsigned long)(uint32_t)v), P_ATOM);
    case U64: return piece_of(A("UINT64_C(%llu)", (unsigned long long)v), P_ATOM);
    case I32:
        return v == INT32_MIN ? piece_of("INT32_MIN", P_ATOM) : piece_of(A("%ld", (long)v), v < 0 ? P_UNARY : P_ATOM);
    case I64:
        if (v == INT64_MIN) return piece_of("INT64_MIN", P_ATOM);
        return v >= INT32_MIN && v <= INT32_MAX ? piece_of(A("%ld", (long)v), v < 0 ? P_UNARY : P_ATOM)
                                                : piece_of(A("INT64_C(%lld)", (long long)v), P_ATOM);
    default: return piece_of(A("%ld", (long)v), P_ATOM);
    }
}
static enum prec operand_prec(enum xop op, enum prec *left, enum prec *right) {
    switch (op) {
    case X_ADD: return *left = P_ADD, *right = P_MUL, P_ADD;
    case X_SUB: return *left = P_ADD, *right = P_MUL, P_ADD;
    case X_MUL:
    case X_DIV: return *left = P_MUL, *right = P_UNARY, P_MUL;
    case X_LT:
    case X_LE: return *left = P_ADD, *right = P_ADD, P_REL;
    case X_EQ:
    case X_NE: return *left = P_ADD, *right = P_ADD, P_EQ;
    default: return *left = P_UNARY, *right = P_UNARY, P_BITS; /* & | ^: always parenthesised operands */
    }
}
static struct piece compare_strings(struct fe *f, expr e) {
    bool equal = e->op == X_EQ || e->op == X_NE;
    f->u->text = true;
    const char *call = A("%s(%s, %s)", equal ? "nn_str_equal" : "nn_str_order", c_value(f, e->arg[0], 1).s,
                         c_value(f, e->arg[1], 1).s);
    if (equal) return e->op == X_EQ ? piece_of(call, P_ATOM) : piece_of(A("!%s", call), P_UNARY);
    return piece_of(A("%s %s 0", call, c_operator((enum xop)e->op, I32, 1)), P_REL);
}
/* gcc 12 folds 0 - x to -x, and -x + 0 too, where one expression shows it that x is a converted integer or an absolute
 * value: the 0 that 0 - 0 is becomes -0. So what is added to 0, or taken from it, has a name. */
static bool beside_zero(expr e, int k) {
    expr other = e->arg[1 - k];
    return (e->op == X_ADD || e->op == X_SUB) && (e->type == F32 || e->type == F64) && other->op == X_CONST &&
           other->u.f == 0 && e->arg[k]->op != X_CONST && e->arg[k]->op != X_ARG && e->arg[k]->op != X_LOAD;
}
static struct piece operand(struct fe *f, expr e, int k, int lanes) {
    if (lanes > 1 || !beside_zero(e, k)) return c_value(f, e->arg[k], lanes);
    named(f, e->arg[k], 0, print_plain); /* the second use is what gives it the name */
    return named(f, e->arg[k], 0, print_plain);
}
static struct piece binary(struct fe *f, expr e, int lanes) {
    enum dtype t = (enum dtype)e->arg[0]->type;
    bool index = t == IDX, logic = t == BOOL && lanes == 1;
    enum xop op = (enum xop)e->op;
    if (t == BOOL && lanes > 1) /* a mask's true is -1: below 0 */
        op = op == X_MIN ? X_AND : op == X_MAX ? X_OR : op;
    const char *sign = index ? c_operator(op, I64, 1) : c_operator(op, t, lanes);
    struct piece a = index ? c_index(f, e->arg[0]) : operand(f, e, 0, lanes),
                 b = index ? c_index(f, e->arg[1]) : operand(f, e, 1, lanes);
    if (t == BOOL && lanes > 1 && (op == X_LT || op == X_LE)) {
        struct piece swap = a;
        a = b, b = swap;
    }
    if (!sign) return piece_of(A("%s(%s, %s)", c_op(f->o, op, t, lanes), a.s, b.s), P_ATOM);
    if (logic && (op == X_AND || op == X_OR)) {
        enum prec p = op == X_AND ? P_AND : P_OR, in = op == X_AND ? P_EQ : P_AND;
        if (op == X_OR && (a.p == P_AND || b.p == P_AND)) in = P_EQ; /* compilers want parentheses there */
        const char *sa = a.p == p ? a.s : paren(f, a, in);
        return piece_of(A("%s %s %s", sa, sign, paren(f, b, in)), p);
    }
    if (op == X_LE && x_is(e->arg[0], 0)) return piece_of(A("%s >= 0", paren(f, b, P_ADD)), P_REL);
    enum prec l, r, p = operand_prec(op == X_XOR && logic ? X_NE : op, &l, &r); /* of truths it is printed so */
    return piece_of(A("%s %s %s", paren(f, a, l), sign, paren(f, b, r)), p);
}

/* A scalar select. Lazy: when an arm needs named values that must not be computed for the other, it becomes an `if`. */
static struct piece arm(struct fe *f, expr e, struct vscope *s) {
    struct run *r = f->run;
    *s =
        (struct vscope){.up = r->scope, .active = {.arena = &f->c->arena}, .out = s->out, .depth = r->scope->depth + 1};
    r->scope = s;
    struct piece v = e->type == IDX ? c_index(f, e) : c_value(f, e, on_lane(f, e) ? f->width : 1);
    r->scope = s->up;
    return v;
}
static struct piece print_select(struct fe *f, expr e) {
    struct run *r = f->run;
    bool vec = on_lane(f, e);
    int lanes = vec ? f->width : 1;
    if (vec && on_lane(f, e->arg[0]))
        return piece_of(A("%s(%s, %s, %s)", c_select(f->o, (enum dtype)e->type, lanes), c_value(f, e->arg[0], lanes).s,
                          c_value(f, e->arg[1], lanes).s, c_value(f, e->arg[2], lanes).s),
                        P_ATOM);
    struct piece cond = c_value(f, e->arg[0], 1);
    if (is_safe(f, e->arg[1]) && is_safe(f, e->arg[2])) {
        struct piece a = e->type == IDX ? c_index(f, e->arg[1]) : c_value(f, e->arg[1], lanes),
                     b = e->type == IDX ? c_index(f, e->arg[2]) : c_value(f, e->arg[2], lanes);
        return piece_of(A("%s ? %s : %s", paren(f, cond, P_OR), paren(f, a, P_OR), paren(f, b, P_COND)), P_COND);
    }
    int form;
    if (r->pass == 1) {
        bool no = false;
        PUSH(&f->c->arena, &r->forms, no);
        form = r->forms.n - 1;
    } else {
        form = r->form_at++;
    }
    struct text ta = {0}, tb = {0};
    struct vscope sa = {.out = &ta}, sb = {.out = &tb};
    struct piece a = arm(f, e->arg[1], &sa), b = arm(f, e->arg[2], &sb), v;
    if (vec) {
        if (!on_lane(f, e->arg[1])) a = piece_of(A("%s(%s)", c_splat(f->o, (enum dtype)e->type, lanes), a.s), P_ATOM);
        if (!on_lane(f, e->arg[2])) b = piece_of(A("%s(%s)", c_splat(f->o, (enum dtype)e->type, lanes), b.s), P_ATOM);
    }
    if (r->pass == 1 && (sa.named || sb.named)) {
        r->forms.v[form] = true;
        r->scope->named = true; /* an `if` needs a place for statements in the arm it stands in, too */
    }
    if (r->pass == 2 && r->forms.v[form]) {
        const char *n = names_numbered(&f->names, "t");
        struct vscope *s = r->scope;
        line(s, A("%s %s;", c_type_of(f, e, lanes), n));
        line(&sa, A("%s = %s;", n, a.s));
        line(&sb, A("%s = %s;", n, b.s));
        line(s, A("if (%s) {", cond.s));
        text_add(s->out, ta.s);
        line(s, "} else {");
        text_add(s->out, tb.s);
        line(s, "}");
        v = piece_of(n, P_ATOM);
    } else {
        v = piece_of(A("%s ? %s : %s", paren(f, cond, P_OR), paren(f, a, P_OR), paren(f, b, P_COND)), P_COND);
    }
    text_free(&ta);
    text_free(&tb);
    return v;
}

/* What C's own conversion to i32 is defined for. */
static bool fits_i32(expr e) { return e->type != IDX && x_within(e, -2147483648.0, 2147483520.0); }
/* The nearest integer, by what the machine has for it; NULL: it has nothing. */
static const char *nearest(struct fe *f, expr rounded, int lanes) {
    expr x = rounded->arg[0];
    return rounded->op == X_RINT && rounded->type == F32 ? c_nearest(f->o, lanes, x_within(x, -4194304.0, 4194304.0))
                                                         : NULL;
}
static struct piece print_cast(struct fe *f, expr e, int lanes) {
    enum dtype to = (enum dtype)e->type, from = (enum dtype)e->arg[0]->type;
    if (e->arg[0]->op == X_IDXVAL && lanes == 1) {
        struct piece i = c_index(f, e->arg[0]->arg[0]);
        const char *fn = c_cast(f->o, to, I64, 1);
        return fn ? piece_of(A("%s(%s)", fn, i.s), P_ATOM)
                  : piece_of(A("(%s)%s", c_value_type(to), paren(f, i, P_UNARY)), P_UNARY);
    }
    bool floats = from == F32 || from == F64, fits = to == I32 && floats && fits_i32(e->arg[0]);
    const char *at_once = fits ? nearest(f, e->arg[0], lanes) : NULL;
    if (at_once) return piece_of(A("%s(%s)", at_once, c_value(f, e->arg[0]->arg[0], lanes).s), P_ATOM);
    struct piece v = c_value(f, e->arg[0], lanes);
    if (fits)
        return lanes > 1 ? piece_of(A("__builtin_convertvector(%s, %s)", v.s, c_vector_type(f->o, to, lanes)), P_ATOM)
                         : piece_of(A("(%s)%s", c_value_type(to), paren(f, v, P_UNARY)), P_UNARY);
    const char *fn = c_cast(f->o, to, from, lanes);
    return fn ? piece_of(A("%s(%s)", fn, v.s), P_ATOM)
              : piece_of(A("(%s)%s", c_value_type(to), paren(f, v, P_UNARY)), P_UNARY);
}
static struct piece print_call(struct fe *f, expr e, int lanes) {
    const struct native *native = native_of(e->u.fn);
    if (native && lanes > 1) return lane_by_lane(f, e);
    f->u->text |= native != NULL;
    const char *s = native ? native->c : c_fn(f->o, e->u.fn, lanes);
    s = A("%s(", s);
    for (int k = 0; k < e->n; k++) s = A("%s%s%s", s, k ? ", " : "", c_value(f, e->arg[k], lanes).s);
    return piece_of(A("%s)", s), P_ATOM);
}
static struct piece print_text(struct fe *f, expr e) {
    struct place at = c_place(f, e->arg[0]->u.buf, e->arg[0]->arg);
    f->u->text = true;
    return piece_of(A("nn_str_of(%s, %s)", c_address(f, &at), c_value(f, e->arg[1], 1).s), P_ATOM);
}
static struct piece print_value(struct fe *f, expr e) {
    int lanes = on_lane(f, e) ? f->width : 1;
    if (e->type == IDX) return print_index(f, e);
    switch (e->op) {
    case X_CONST: return constant(f, e);
    case X_ARG: return piece_of(c_ref(f, f->args[e->u.i]), P_ATOM);
    case X_LOAD: return print_load(f, e);
    case X_IDXVAL:
        if (lanes > 1) return lane_by_lane(f, e);
        return piece_of(A("(int64_t)%s", paren(f, c_index(f, e->arg[0]), P_UNARY)), P_UNARY);
    case X_FMA:
        return piece_of(A("%s(%s, %s, %s)", c_op(f->o, X_FMA, (enum dtype)e->type, lanes),
                          c_value(f, e->arg[0], lanes).s, c_value(f, e->arg[1], lanes).s,
                          c_value(f, e->arg[2], lanes).s),
                        P_ATOM);
    case X_NEG:
        if (lanes == 1 && (e->type == F32 || e->type == F64)) {
            struct piece v = c_value(f, e->arg[0], 1);
            return piece_of(A("-%s", v.s[0] == '-' ? A("(%s)", v.s) : paren(f, v, P_UNARY)), P_UNARY);
        }
        break;
    case X_NOT:
        /* `~` of a truth value is what compilers warn of, also through a cast */
        if (lanes == 1 && e->type != BOOL && e->arg[0]->op == X_CAST && e->arg[0]->arg[0]->type == BOOL)
            return piece_of(A("%s ^ -1", paren(f, c_value(f, e->arg[0], 1), P_BITS)), P_BITS);
        if (lanes == 1)
            return piece_of(A("%s%s", e->type == BOOL ? "!" : "~", paren(f, c_value(f, e->arg[0], 1), P_UNARY)),
                            P_UNARY);
        break;
    case X_SELECT: return print_select(f, e);
    case X_CAST: return print_cast(f, e, lanes);
    case X_BITCAST: {
        const char *fn = c_bitcast(f->o, (enum dtype)e->type, (enum dtype)e->arg[0]->type, lanes);
        struct piece v = c_value(f, e->arg[0], lanes);
        return lanes > 1 ? piece_of(A("%s%s", fn, paren(f, v, P_UNARY)), P_UNARY)
                         : piece_of(A("%s(%s)", fn, v.s), P_ATOM);
    }
    case X_ROUND:
        return piece_of(A("%s(%s)", c_round(f->o, (enum dtype)e->u.i, lanes), c_value(f, e->arg[0], lanes).s), P_ATOM);
    case X_CALL: return print_call(f, e, lanes);
    case X_TEXT: return print_text(f, e);
    default: break;
    }
    switch (xop_class((enum xop)e->op)) {
    case XC_BINARY: return binary(f, e, lanes);
    case XC_COMPARE:
        if (lanes > 1 && (e->arg[0]->type == IDX || e->arg[0]->type == STR)) return lane_by_lane(f, e);
        if (e->arg[0]->type == STR) return compare_strings(f, e);
        return binary(f, e, lanes);
    case XC_UNARY: break;
    default: BUG("expression of kind %s", xop_name((enum xop)e->op));
    }
    return piece_of(
        A("%s(%s)", c_op(f->o, (enum xop)e->op, (enum dtype)e->type, lanes), c_value(f, e->arg[0], lanes).s), P_ATOM);
}

void c_run(struct fe *f, void (*print)(struct fe *f, void *env), void *env) {
    struct run r = {0}, *was = f->run;
    f->run = &r;
    for (r.pass = 1; r.pass <= 2; r.pass++) {
        struct text dummy = {0};
        struct vscope root = {
            .active = {.arena = &f->c->arena}, .out = r.pass == 1 ? &dummy : f->out, .depth = f->depth};
        r.root = r.scope = &root;
        print(f, env);
        text_free(&dummy);
    }
    f->run = was;
}

/* ---- functions of the IR */
struct fn_env {
    const struct fn *fn;
    int lanes;
};
static void print_body(struct fe *f, void *env) {
    struct fn_env *q = env;
    struct piece v = c_value(f, q->fn->body, q->lanes);
    if (f->run->pass == 2) line(f->run->root, A("return %s;", v.s));
}
static bool too_wide(void *env, expr e) {
    int most = *(int *)env;
    return e->type == BOOL || e->type == IDX || dtype_bytes((enum dtype)e->type) <= most;
}
const char *c_fn(const struct emit_options *o, const struct fn *fn, int lanes) {
    struct emit_uses *u = o->uses;
    struct ctx *c = u->c;
    uint64_t key = PKEY(fn) + (uint64_t)lanes_log(lanes);
    const char *name = map_get(&u->fn_names, key);
    if (name) return name;
    const char *plain = c_ident(c, fn->name);
    name = internf(c->names, lanes > 1 ? "nn_fn_%s_x%d" : "nn_fn_%s", plain, lanes);
    for (int i = 2; map_get(&u->seen, PKEY(name)); i++)
        name = internf(c->names, lanes > 1 ? "nn_fn_%s_%d_x%d" : "nn_fn_%s_%d", plain, lanes > 1 ? i : i, lanes);
    map_put(&u->seen, PKEY(name), (void *)name);
    map_put(&u->fn_names, key, (void *)name);
    struct text out = {0};
    struct fe fe = {.c = c,
                    .o = o,
                    .u = u,
                    .out = &out,
                    .depth = 1,
                    .d = c_dialect_of(o),
                    .idx = c_dialect_of(o)->index,
                    .width = lanes,
                    .arg_lanes = lanes},
              *f = &fe;
    names_init(&f->names, c);
    f->safe.arena = f->vars.arena = f->syms.arena = f->bufs.arena = f->regs.arena = &c->arena;
    for (int k = 0; k <= MAX_LANES_LOG; k++) f->dep[k].arena = &c->arena;
    f->args = NEWN(&c->arena, struct sym_name *, fn->nargs + 1);
    const char *head = "";
    for (int k = 0; k < fn->nargs; k++) {
        f->args[k] = c_declare(f, fn->nargs == 1 ? "x" : internf(c->names, "%c", "abcd"[k & 3]), NULL);
        const char *type = lanes > 1 ? c_vector_type(o, fn->args[k], lanes) : c_value_type(fn->args[k]);
        head = A("%s%s%s %s", head, k ? ", " : "", type, f->args[k]->name);
    }
    const char *rtype = lanes > 1 ? c_vector_type(o, fn->type, lanes) : c_value_type(fn->type);
    head = A("static inline %s %s(%s) {\n", rtype, name, fn->nargs ? head : "void");
    int most = lanes > 1 ? emit_lanes(o) * 4 / lanes : 8;
    if (most < 4) most = 4;
    if (lanes > 1 && !x_visit(fn->body, too_wide, &most)) {
        /* wider than the machine's vectors inside: lane by lane */
        const char *scalar = c_fn(o, fn, 1), *args = "";
        for (int k = 0; k < fn->nargs; k++) args = A("%s%s%s[i]", args, k ? ", " : "", f->args[k]->name);
        text_printf(&out, "    %s r = {0};\n    for (int i = 0; i < %d; i++)\n        r[i] = %s(%s);\n    return r;\n",
                    rtype, lanes, scalar, args);
    } else {
        struct fn_env q = {fn, lanes};
        c_run(f, print_body, &q);
    }
    const char *unused = "";
    for (int k = 0; k < fn->nargs; k++)
        if (!f->args[k]->used && !strstr(out.s, f->args[k]->name))
            unused = A("%s    (void)%s;\n", unused, f->args[k]->name);
    emit_define_fn(u, A("%s%s%s}\n", head, unused, out.s));
    text_free(&out);
    return name;
}
