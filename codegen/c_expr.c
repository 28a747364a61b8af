/* Expressions as C: scalars and vectors; which values get names. Indices are in c_index.c, loads in c_load.c. Between
 * the expanded loop IR and c_stmt.c's statements.
 *
 * An expression is a DAG: what occurs twice must be printed only once, or the text would grow exponentially. Therefore
 * a run of statements is walked twice, see c_run. Order of evaluation, laziness of selects and rounding stay as in the
 * IR. */
#include "codegen/c_int.h"
#include "ir/expr/native.h"
#include <math.h>
#include <string.h>

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
/* A slow quotient: compilers do not know the divisor. */
static bool is_open_quotient(expr e) { return (e->op == X_DIV || e->op == X_MOD) && e->arg[1]->op != X_CONST; }
/* Can e be computed even if the IR would not? It must not load out of bounds or set the fault flag, nor take long. */
static bool is_safe(struct fe *f, expr e) {
    if (e->n == 0) return true;
    uintptr_t known = (uintptr_t)map_get(&f->safe, PKEY(e));
    if (known) return known == 2;
    bool s = e->op != X_GUARD && !is_open_quotient(e) &&
             (e->op != X_LOAD || e->has_fill || buf_proves_inside(f->c, e->u.buf, e->arg));
    for (int k = 0; k < e->n && s; k++) s = is_safe(f, e->arg[k]);
    map_put(&f->safe, PKEY(e), (void *)(uintptr_t)(s ? 2 : 1));
    return s;
}
bool opaque_atom(expr e) { return x_has(e, XF_LOAD | XF_GUARD | XF_TOIDX); }

/* ---- named values */
static bool worth_a_name(struct fe *f, expr e) {
    if (!f->d->names_values) return false;
    switch (e->op) {
    case X_CONST:
    case X_VAR:
    case X_SYM:
    case X_ARG:
    case X_LIN:
    case X_PROD:
    case X_TOIDX:
    case X_IDXVAL: return false;
    case X_LOAD: return !c_regs(f, e->u.buf) || e->has_fill;
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
                            &s->active); /* maps have no removal: the map itself stands for "gone" */
                s->list.v[i--] = s->list.v[--s->list.n];
                break;
            }
    }
}
static const char *type_of(struct fe *f, expr e, int lanes) {
    if (e->type == IDX) return f->idx;
    return lanes > 1 ? c_vector_type(f->o, (enum dtype)e->type, lanes) : c_value_type((enum dtype)e->type);
}
static void line(struct vscope *s, const char *text) {
    emit_indent(s->out, s->depth);
    text_add(s->out, text);
    text_char(s->out, '\n');
}
static struct piece print_value(struct fe *f, expr e);
static const char *fn_name(struct fe *caller, const struct fn *fn, int lanes);

/* A value looked up among the named ones. splat > 0: e in all lanes of a vector. */
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
        line(home, format(f->c, "const %s %s = %s;", type_of(f, e, lanes), i->name, v.s));
        return piece_of(i->name, P_ATOM);
    }
    return v;
}
static struct piece print_splat(struct fe *f, expr e, int splat) {
    return c_applied(f, c_splat(f->o, (enum dtype)e->type, splat), c_value(f, e, 1));
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
struct piece c_index(struct fe *f, expr e) {
    if (worth_a_name(f, e) && (e->op == X_DIV || e->op == X_MOD || e->op == X_GUARD || e->op == X_SELECT))
        return named(f, e, 0, print_plain);
    return print_value(f, e);
}

/* ---- values */
static struct piece constant(struct fe *f, expr e) {
    if (dtype_is_complex((enum dtype)e->type))
        return piece_of(format(f->c, "(%s){0}", dtype_c((enum dtype)e->type)), P_ATOM);
    if (e->type == F32 || e->type == F64) {
        double v = e->u.f;
        if (isnan(v) || isinf(v)) {
            f->u->math = true;
            const char *s = isnan(v) ? "NAN" : v < 0 ? "-INFINITY" : "INFINITY";
            return e->type == F32 ? piece_of(s, v < 0 ? P_UNARY : P_ATOM)
                                  : piece_of(format(f->c, "(double)%s", s), P_UNARY);
        }
        struct text t = {0};
        if (e->type == F32) text_f32(&t, (float)v);
        else text_f64(&t, v);
        struct piece r =
            piece_of(format(f->c, "%s%s%s", t.s, strpbrk(t.s, ".e") ? "" : ".0", e->type == F32 ? "f" : ""),
                     signbit(v) ? P_UNARY : P_ATOM);
        text_free(&t);
        return r;
    }
    int64_t v = e->u.i;
    switch (e->type) {
    case STR: return piece_of("(nn_str){\"\", 0}", P_ATOM);
    case U32: return piece_of(format(f->c, "%luu", (unsigned long)(uint32_t)v), P_ATOM);
    case U64: return piece_of(format(f->c, "UINT64_C(%llu)", (unsigned long long)v), P_ATOM);
    case I32:
        return v == INT32_MIN ? piece_of("INT32_MIN", P_ATOM)
                              : piece_of(format(f->c, "%ld", (long)v), v < 0 ? P_UNARY : P_ATOM);
    case I64: return c_integer(f, v);
    default: return piece_of(format(f->c, "%ld", (long)v), P_ATOM);
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
    const char *call = format(f->c, "%s(%s, %s)", equal ? "nn_str_equal" : "nn_str_order", c_value(f, e->arg[0], 1).s,
                              c_value(f, e->arg[1], 1).s);
    if (equal) return e->op == X_EQ ? piece_of(call, P_ATOM) : piece_of(format(f->c, "!%s", call), P_UNARY);
    return piece_of(format(f->c, "%s %s 0", call, c_operator((enum xop)e->op, I32, 1)), P_REL);
}
/* gcc 12 folds 0 - x to -x, and -x + 0 as well, if it sees in one expression that x is a converted integer or an
 * absolute value; then 0 - 0 gives -0 instead of 0. So a value that is added to 0, or subtracted from it, gets a
 * name. */
static bool beside_zero(expr e, int k) {
    expr other = e->arg[1 - k];
    return (e->op == X_ADD || e->op == X_SUB) && (e->type == F32 || e->type == F64) && other->op == X_CONST &&
           other->u.f == 0 && e->arg[k]->op != X_CONST && e->arg[k]->op != X_ARG && e->arg[k]->op != X_LOAD;
}
/* If it sees the conversion in one expression, gcc 12 takes an operation on an unsigned and a widened signed integer
 * for a signed one, and warns. */
static bool is_widened(expr v) {
    if (v->op == X_SELECT) return is_widened(v->arg[1]) || is_widened(v->arg[2]);
    return v->op == X_CAST && dtype_is_signed((enum dtype)v->arg[0]->type);
}
static bool mixes_signs(expr e, int k) {
    return e->type == U32 && xop_class((enum xop)e->op) == XC_BINARY && c_operator((enum xop)e->op, U32, 1) &&
           is_widened(e->arg[k]);
}
/* gcc warns if it sees in one expression that a complement of a widened unsigned integer is compared. */
static bool is_complement(expr e, int k) {
    expr v = e->arg[k]->op == X_NOT ? e->arg[k]->arg[0] : NULL;
    return v && xop_class((enum xop)e->op) == XC_COMPARE && v->op == X_CAST && v->arg[0]->type != BOOL &&
           !dtype_is_signed((enum dtype)v->arg[0]->type);
}
static struct piece operand(struct fe *f, expr e, int k, int lanes) {
    if (lanes > 1 || (!beside_zero(e, k) && !mixes_signs(e, k) && !is_complement(e, k)))
        return c_value(f, e->arg[k], lanes);
    named(f, e->arg[k], 0, print_plain); /* counts as a second use, which makes it a named value */
    return named(f, e->arg[k], 0, print_plain);
}
/* Is it the result of an operation, and therefore not a signalling NaN? */
static bool is_computed(expr e) {
    switch (e->op) {
    case X_ADD:
    case X_SUB:
    case X_MUL:
    case X_DIV:
    case X_FMA:
    case X_CONST: return true;
    case X_MIN:
    case X_MAX: return is_computed(e->arg[0]) && is_computed(e->arg[1]);
    case X_SELECT: return is_computed(e->arg[1]) && is_computed(e->arg[2]);
    default: return false;
    }
}
/* Is a computed value clamped by a number? Zeros of different sign matter only if the smaller one may be e's. */
static bool is_clamp(expr e) {
    if ((e->op != X_MIN && e->op != X_MAX) || e->type != F32 || e->arg[1]->op != X_CONST) return false;
    double v = e->arg[1]->u.f;
    bool number = v != 0 ? !isnan(v) : e->op == X_MAX && !signbit(v);
    return number && is_computed(e->arg[0]);
}
static bool is_i32(expr e, int64_t v) { return e->op == X_CONST && e->type == I32 && e->u.i == v; }
/* The type to whose range e clamps an integer; NONE: it does not. */
static enum dtype range_clamped_to(expr e) {
    expr low = e->op == X_MIN && e->type == I32 ? e->arg[0] : NULL;
    if (!low || low->op != X_MAX) return NONE;
    if (is_i32(low->arg[1], INT8_MIN) && is_i32(e->arg[1], INT8_MAX)) return I8;
    return is_i32(low->arg[1], 0) && is_i32(e->arg[1], UINT8_MAX) ? U8 : NONE;
}
/* The greater or lesser of zero and a float: branches would be unpredictable, since many values are on each side. Other
 * numbers only bound a few values, and for two floats gcc uses an instruction. */
static bool is_open_choice(expr e) {
    bool zero = false;
    for (int k = 0; k < 2 && (e->op == X_MIN || e->op == X_MAX); k++)
        zero |= e->arg[k]->op == X_CONST && e->arg[k]->u.f == 0;
    return zero && dtype_is_float((enum dtype)e->type);
}
static struct piece binary(struct fe *f, expr e, int lanes) {
    enum dtype t = (enum dtype)e->arg[0]->type;
    bool index = t == IDX, logic = t == BOOL && lanes == 1;
    enum xop op = (enum xop)e->op;
    enum dtype range = lanes == 1 && !f->entry ? range_clamped_to(e) : NONE;
    const char *to_range = range != NONE ? c_clamp_to(f->o, range) : NULL;
    if (to_range) return c_applied(f, to_range, c_value(f, e->arg[0]->arg[0], 1));
    if (t == BOOL && lanes > 1) /* in a mask, true is -1, which is below 0 */
        op = op == X_MIN ? X_AND : op == X_MAX ? X_OR : op;
    const char *sign = index ? c_operator(op, I64, 1) : c_operator(op, t, lanes);
    struct piece a = index ? c_index(f, e->arg[0]) : operand(f, e, 0, lanes),
                 b = index ? c_index(f, e->arg[1]) : operand(f, e, 1, lanes);
    if (t == BOOL && lanes > 1 && (op == X_LT || op == X_LE)) {
        struct piece swap = a;
        a = b, b = swap;
    }
    const char *open = lanes == 1 && !f->entry && is_open_choice(e) ? c_open_choice(f->o, op, t) : NULL;
    if (open) return piece_of(format(f->c, "%s(%s, %s)", open, a.s, b.s), P_ATOM);
    bool clamp = is_clamp(e) && !f->entry;
    if (!sign && !clamp && lanes == 1) return f->d->call(f, op, t, a, b);
    const char *fn = sign ? NULL : clamp ? c_clamp(f->o, op, t, lanes) : c_op(f->o, op, t, lanes);
    if (fn) return piece_of(format(f->c, "%s(%s, %s)", fn, a.s, b.s), P_ATOM);
    if (logic && (op == X_AND || op == X_OR)) {
        enum prec p = op == X_AND ? P_AND : P_OR, in = op == X_AND ? P_EQ : P_AND;
        if (op == X_OR && (a.p == P_AND || b.p == P_AND)) in = P_EQ; /* compilers want parentheses there */
        const char *sa = a.p == p ? a.s : paren(f, a, in);
        return piece_of(format(f->c, "%s %s %s", sa, sign, paren(f, b, in)), p);
    }
    if (f->d->orders && op == X_LE && x_is(e->arg[0], 0))
        return piece_of(format(f->c, "%s >= 0", paren(f, b, P_ADD)), P_REL);
    enum prec l, r, p = operand_prec(op == X_XOR && logic ? X_NE : op, &l, &r); /* of booleans it is printed as != */
    if (e->arg[0]->type == BOOL && lanes == 1) l = P_ATOM; /* compilers want parentheses in (!a) != b */
    return piece_of(format(f->c, "%s %s %s", paren(f, a, l), sign, paren(f, b, r)), p);
}

/* A scalar select. It must be lazy: if an arm needs named values that must not be computed for the other one, it
 * becomes an `if`. */
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
        return piece_of(format(f->c, "%s(%s, %s, %s)", c_select(f->o, (enum dtype)e->type, lanes),
                               c_value(f, e->arg[0], lanes).s, c_value(f, e->arg[1], lanes).s,
                               c_value(f, e->arg[2], lanes).s),
                        P_ATOM);
    struct piece cond = c_value(f, e->arg[0], 1);
    if (!f->d->names_values || (is_safe(f, e->arg[1]) && is_safe(f, e->arg[2]))) {
        struct piece a = e->type == IDX ? c_index(f, e->arg[1]) : c_value(f, e->arg[1], lanes),
                     b = e->type == IDX ? c_index(f, e->arg[2]) : c_value(f, e->arg[2], lanes);
        return c_chosen(f, cond, a, b);
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
        if (!on_lane(f, e->arg[1])) a = c_applied(f, c_splat(f->o, (enum dtype)e->type, lanes), a);
        if (!on_lane(f, e->arg[2])) b = c_applied(f, c_splat(f->o, (enum dtype)e->type, lanes), b);
    }
    if (r->pass == 1 && (sa.named || sb.named)) {
        r->forms.v[form] = true;
        r->scope->named = true; /* an `if` also needs room for statements in the arm that contains it */
    }
    if (r->pass == 2 && r->forms.v[form]) {
        const char *n = names_numbered(&f->names, "t");
        struct vscope *s = r->scope;
        line(s, format(f->c, "%s %s;", type_of(f, e, lanes), n));
        line(&sa, format(f->c, "%s = %s;", n, a.s));
        line(&sb, format(f->c, "%s = %s;", n, b.s));
        line(s, format(f->c, "if (%s) {", cond.s));
        text_add(s->out, ta.s);
        line(s, "} else {");
        text_add(s->out, tb.s);
        line(s, "}");
        v = piece_of(n, P_ATOM);
    } else {
        v = c_chosen(f, cond, a, b);
    }
    text_free(&ta);
    text_free(&tb);
    return v;
}

/* The range for which C defines its own conversion to i32. */
static bool fits_i32(expr e) { return e->type != IDX && x_within(e, -2147483648.0, 2147483520.0); }
/* The machine's function for the nearest integer; NULL: it has none. */
static const char *nearest(struct fe *f, expr rounded, int lanes) {
    expr x = rounded->arg[0];
    return rounded->op == X_RINT && rounded->type == F32 ? c_nearest(f->o, lanes, x_within(x, -4194304.0, 4194304.0))
                                                         : NULL;
}
/* Indices of lanes in 32 bits: lanes times a step is a constant vector, and the rest is the same for all lanes. */
static const char *lane_steps(struct fe *f, int64_t step, int lanes) {
    const char *steps = "";
    for (int i = 0; i < lanes; i++) steps = format(f->c, "%s%s%lld", steps, i ? ", " : "", (long long)(i * step));
    return format(f->c, "(%s){%s}", c_vector_type(f->o, I32, lanes), steps);
}
static struct piece same_place(struct fe *f, expr place, int lanes) {
    return c_applied(f, c_splat(f->o, I32, lanes), c_converted(f, "int32_t", c_index(f, place)));
}
static struct piece lane_places(struct fe *f, int64_t step, expr rest, int lanes) {
    return piece_of(format(f->c, "%s(%s, %s)", c_op(f->o, X_ADD, I32, lanes), lane_steps(f, step, lanes),
                           same_place(f, rest, lanes).s),
                    P_ATOM);
}
static struct piece print_cast(struct fe *f, expr e, int lanes) {
    enum dtype to = (enum dtype)e->type, from = (enum dtype)e->arg[0]->type;
    if (e->arg[0]->op == X_IDXVAL && lanes == 1) {
        struct piece i = c_index(f, e->arg[0]->arg[0]);
        const char *fn = c_cast(f->o, to, I64, 1);
        return fn ? c_applied(f, fn, i) : c_converted(f, c_value_type(to), i);
    }
    expr rest;
    int64_t step;
    if (lanes > 1 && e->arg[0]->op == X_IDXVAL && x_lane_places(f->c, e->arg[0]->arg[0], f->lane, &step, &rest)) {
        const char *fn = to == I32 ? NULL : c_cast(f->o, to, I32, lanes);
        struct piece v = lane_places(f, step, rest, lanes);
        return fn ? c_applied(f, fn, v) : v;
    }
    bool floats = from == F32 || from == F64, fits = to == I32 && floats && fits_i32(e->arg[0]);
    bool any = to == I32 && floats && f->o->target->saturates;
    const char *at_once = fits || any ? nearest(f, e->arg[0], lanes) : NULL;
    if (at_once) return c_applied(f, at_once, c_value(f, e->arg[0]->arg[0], lanes));
    struct piece v = c_value(f, e->arg[0], lanes);
    if (fits && lanes > 1)
        return piece_of(format(f->c, "__builtin_convertvector(%s, %s)", v.s, c_vector_type(f->o, to, lanes)), P_ATOM);
    const char *fn = fits ? NULL : c_cast(f->o, to, from, lanes);
    return fn ? c_applied(f, fn, v) : c_converted(f, c_value_type(to), v);
}
static struct piece print_call(struct fe *f, expr e, int lanes) {
    const struct native *native = native_of(e->u.fn);
    if (native && lanes > 1) return c_lane_by_lane(f, e);
    f->u->text |= native != NULL;
    const char *s = native ? native->c : fn_name(f, e->u.fn, lanes);
    s = format(f->c, "%s(", s);
    for (int k = 0; k < e->n; k++) s = format(f->c, "%s%s%s", s, k ? ", " : "", c_value(f, e->arg[k], lanes).s);
    return piece_of(format(f->c, "%s)", s), P_ATOM);
}
static struct piece print_text(struct fe *f, expr e) {
    struct place at = c_place(f, e->arg[0]->u.buf, e->arg[0]->arg);
    f->u->text = true;
    return piece_of(format(f->c, "nn_str_of(%s, %s)", c_address(f, &at), c_value(f, e->arg[1], 1).s), P_ATOM);
}
static struct piece compare_places(struct fe *f, expr e, int lanes) {
    expr rest;
    int64_t step;
    if (!x_lane_places(f->c, x_sub(f->c, e->arg[0], e->arg[1]), f->lane, &step, &rest)) return c_lane_by_lane(f, e);
    return piece_of(format(f->c, "%s(%s, %s)", c_op(f->o, (enum xop)e->op, I32, lanes), lane_steps(f, step, lanes),
                           same_place(f, x_muli(f->c, rest, -1), lanes).s),
                    P_ATOM);
}
static struct piece print_value(struct fe *f, expr e) {
    int lanes = on_lane(f, e) ? f->width : 1;
    if (e->type == IDX && e->op != X_SELECT) return c_print_index(f, e);
    switch (e->op) {
    case X_CONST: return constant(f, e);
    case X_ARG: return piece_of(c_ref(f, f->args[e->u.i]), P_ATOM);
    case X_LOAD: return f->d->load(f, e);
    case X_IDXVAL:
        if (lanes > 1) return c_lane_by_lane(f, e);
        if (f->d->wide) return c_index(f, e->arg[0]);
        return piece_of(format(f->c, "(int64_t)%s", paren(f, c_index(f, e->arg[0]), P_UNARY)), P_UNARY);
    case X_FMA:
        return piece_of(format(f->c, "%s(%s, %s, %s)", c_op(f->o, X_FMA, (enum dtype)e->type, lanes),
                               c_value(f, e->arg[0], lanes).s, c_value(f, e->arg[1], lanes).s,
                               c_value(f, e->arg[2], lanes).s),
                        P_ATOM);
    case X_NEG:
        if (lanes == 1 && (e->type == F32 || e->type == F64)) {
            struct piece v = c_value(f, e->arg[0], 1);
            return piece_of(format(f->c, "-%s", v.s[0] == '-' ? format(f->c, "(%s)", v.s) : paren(f, v, P_UNARY)),
                            P_UNARY);
        }
        break;
    case X_NOT:
        /* compilers warn about `~` of a truth value, even through a cast */
        if (lanes == 1 && e->type != BOOL && e->arg[0]->op == X_CAST && e->arg[0]->arg[0]->type == BOOL)
            return piece_of(format(f->c, "%s ^ -1", paren(f, c_value(f, e->arg[0], 1), P_BITS)), P_BITS);
        if (lanes == 1)
            return piece_of(
                format(f->c, "%s%s", e->type == BOOL ? "!" : "~", paren(f, c_value(f, e->arg[0], 1), P_UNARY)),
                P_UNARY);
        break;
    case X_SELECT: return print_select(f, e);
    case X_CAST: return print_cast(f, e, lanes);
    case X_BITCAST: {
        const char *fn = c_bitcast(f->o, (enum dtype)e->type, (enum dtype)e->arg[0]->type, lanes);
        struct piece v = c_value(f, e->arg[0], lanes);
        return lanes > 1 ? piece_of(format(f->c, "%s%s", fn, paren(f, v, P_UNARY)), P_UNARY) : c_applied(f, fn, v);
    }
    case X_ROUND: return c_applied(f, c_round(f->o, (enum dtype)e->u.i, lanes), c_value(f, e->arg[0], lanes));
    case X_CALL: return print_call(f, e, lanes);
    case X_TEXT: return print_text(f, e);
    default: break;
    }
    switch (xop_class((enum xop)e->op)) {
    case XC_BINARY: return binary(f, e, lanes);
    case XC_COMPARE:
        if (lanes > 1 && e->arg[0]->type == STR) return c_lane_by_lane(f, e);
        if (lanes > 1 && e->arg[0]->type == IDX) return compare_places(f, e, lanes);
        if (e->arg[0]->type == STR) return compare_strings(f, e);
        return binary(f, e, lanes);
    case XC_UNARY: break;
    default: BUG("expression of kind %s", xop_name((enum xop)e->op));
    }
    return c_applied(f, c_op(f->o, (enum xop)e->op, (enum dtype)e->type, lanes), c_value(f, e->arg[0], lanes));
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

/* ---- one expression, outside of statements */
struct cond_env {
    expr e;
    const char *text;
    enum prec most;
    bool index;
};
static void print_cond(struct fe *f, void *env) {
    struct cond_env *q = env;
    q->text = paren(f, q->index ? c_index(f, q->e) : c_value(f, q->e, 1), q->most);
}
const char *c_text(struct fe *f, expr e, bool index) {
    struct cond_env q = {.e = e, .most = P_COND, .index = index};
    c_run(f, print_cond, &q);
    return q.text;
}
/* An index as operand of a comparison. */
const char *c_bound(struct fe *f, expr e) {
    struct cond_env q = {.e = e, .most = P_SHIFT, .index = true};
    c_run(f, print_cond, &q);
    return q.text;
}
struct piece c_fill_value(struct fe *f, const struct buf *b, int lanes) {
    struct cond_env q = {.e = b->fill, .most = P_COND};
    c_run(f, print_cond, &q);
    struct piece v = piece_of(q.text, P_COND);
    return lanes > 1 ? c_applied(f, c_splat(f->o, dtype_value(b->type), lanes), v) : v;
}

/* ---- functions of the IR */
struct fn_env {
    const struct fn *fn;
    int lanes;
};
static void print_body(struct fe *f, void *env) {
    struct fn_env *q = env;
    struct piece v = c_value(f, q->fn->body, q->lanes);
    if (f->run->pass == 2) line(f->run->root, format(f->c, "return %s;", v.s));
}
static bool too_wide(void *env, expr e) {
    int most = *(int *)env;
    return e->type == BOOL || e->type == IDX || dtype_bytes((enum dtype)e->type) <= most;
}
static const char *fn_name(struct fe *caller, const struct fn *fn, int lanes) {
    const struct emit_options *o = caller->o;
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
    struct fe fe, *f = &fe;
    c_start(f, c, o, caller->d);
    f->out = &out, f->depth = 1, f->width = f->arg_lanes = lanes;
    f->args = NEWN(&c->arena, struct sym_name *, fn->nargs + 1);
    const char *head = "";
    for (int k = 0; k < fn->nargs; k++) {
        f->args[k] = c_declare(f, fn->nargs == 1 ? "x" : internf(c->names, "%c", "abcd"[k & 3]), NULL);
        const char *type = lanes > 1 ? c_vector_type(o, fn->args[k], lanes) : c_value_type(fn->args[k]);
        head = format(f->c, "%s%s%s %s", head, k ? ", " : "", type, f->args[k]->name);
    }
    const char *rtype = lanes > 1 ? c_vector_type(o, fn->type, lanes) : c_value_type(fn->type);
    head = format(f->c, "static %s%s %s(%s) {\n",
                  !fn->noinline    ? "inline "
                  : emit_gnu(f->o) ? "__attribute__((noinline)) "
                                   : "",
                  rtype, name, fn->nargs ? head : "void");
    int most = lanes > 1 ? emit_lanes(o) * 4 / lanes : 8;
    if (most < 4) most = 4;
    if (lanes > 1 && !x_visit(fn->body, too_wide, &most)) {
        /* wider than the machine's vectors: lane by lane */
        const char *scalar = fn_name(f, fn, 1), *args = "";
        for (int k = 0; k < fn->nargs; k++) args = format(f->c, "%s%s%s[i]", args, k ? ", " : "", f->args[k]->name);
        text_printf(&out, "    %s r = {0};\n    for (int i = 0; i < %d; i++)\n        r[i] = %s(%s);\n    return r;\n",
                    rtype, lanes, scalar, args);
    } else {
        struct fn_env q = {fn, lanes};
        c_run(f, print_body, &q);
    }
    const char *unused = "";
    for (int k = 0; k < fn->nargs; k++)
        if (!f->args[k]->used && !strstr(out.s, f->args[k]->name))
            unused = format(f->c, "%s    (void)%s;\n", unused, f->args[k]->name);
    emit_define_fn(u, format(f->c, "%s%s%s}\n", head, unused, out.s));
    text_free(&out);
    return name;
}
