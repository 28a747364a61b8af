/* Every algebraic rule on random graphs made around its own pattern: the graph with the rule and without it, both
 * interpreted, on inputs with NaN, infinities, -0 and integers that wrap, must give what the rule's class promises. And
 * every rule has its two texts below tests/text/rules: NAME.gir where it fires, NAME.keeps.gir where it must not. */
#include "compiler/graph/passes.h"
#include "compiler/graph/rules.h"
#include "ir/define/define.h"
#include "ir/eval/eval.h"
#include "ir/graph/op.h"
#include "lower/lower.h"
#include "lower/ops/ops.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WANTED = 40, TRIES = 20000, MOST_INPUTS = 24, BASE_RANK = 4 };

TestSuite(rules, .init = ops_register_all, .timeout = 110);

/* ---- drawing */
struct maker {
    struct graph *g;
    struct ctx *c;
    uint64_t state;
    enum dtype type; /* of most values */
    int rank;
    int64_t dims[BASE_RANK];
    bool open; /* sizes are symbols, named by their value: N3 is 3 */
    struct value *letter[26];
};
static uint64_t draw(struct maker *m) {
    m->state ^= m->state << 13, m->state ^= m->state >> 7, m->state ^= m->state << 17;
    return m->state * 0x2545F4914F6CDD1Du >> 16;
}
static int below(struct maker *m, int n) { return n > 0 ? (int)(draw(m) % (uint64_t)n) : 0; }
static bool chance(struct maker *m, int percent) { return below(m, 100) < percent; }

static struct value *input(struct maker *m, enum dtype t, const int64_t *dims, int rank) {
    expr d[32];
    for (int k = 0; k < rank; k++)
        d[k] = m->open && dims[k] > 1 && chance(m, 50)
                   ? x_sym(m->c, graph_sym(m->g, internf(m->c->names, "N%d", (int)dims[k]), 0, 64))
                   : x_int(m->c, dims[k]);
    return region_param(m->g->top, internf(m->c->names, "p%d", m->g->top->params.n), type_tensor(m->c, t, d, rank));
}
static struct value *ints(struct maker *m, const int64_t *v, int n) {
    struct tensor *t = tensor_new(&m->c->arena, I64, (int64_t[]){n}, 1);
    for (int k = 0; k < n; k++) tensor_set_i(t, k, v[k]);
    return graph_const(m->g, "", t);
}
static struct value *filled(struct maker *m, enum dtype t, const int64_t *dims, int rank, double v) {
    struct tensor *r = tensor_new(&m->c->arena, t, dims, rank);
    for (int64_t k = 0; k < tensor_count(r); k++) {
        if (dtype_is_float(t)) tensor_set_f(r, k, v);
        else tensor_set_i(r, k, (int64_t)v);
    }
    return graph_const(m->g, "", r);
}
/* A shape that broadcasts with the base: often the same. */
static int near_shape(struct maker *m, int64_t *dims) {
    int skip = chance(m, 70) ? 0 : below(m, m->rank + 1);
    for (int k = skip; k < m->rank; k++) dims[k - skip] = chance(m, 80) ? m->dims[k] : 1;
    return m->rank - skip;
}
static double some_number(struct maker *m) {
    static const double v[] = {0, -0.0, 1, -1, 2, 6, -3, 0.5, INFINITY, -INFINITY};
    return v[below(m, 10)];
}
static struct value *inferred(struct maker *m, struct node *n) { return def_infer(m->g, n) ? n->outs.v[0] : NULL; }
/* A vector in these dims. */
static struct value *renamed(struct maker *m, enum dtype t, const int64_t *dims, int rank) {
    int64_t count = 1;
    for (int k = 0; k < rank; k++) count *= dims[k];
    struct value *ins[] = {input(m, t, &count, 1), ints(m, dims, rank)};
    struct node *n = node_new(m->g->top, NULL, "", "Reshape", ins, 2, 1);
    if (count == 0) node_set_attr(n, (struct attr){.name = "allowzero", .kind = AT_INT, .u.i = 1});
    return inferred(m, n);
}
/* Sums of products in these dims. */
static struct value *summed(struct maker *m, enum dtype t, const int64_t *dims, int rank) {
    int64_t left[BASE_RANK], depth = 1 + below(m, 3);
    memcpy(left, dims, (size_t)rank * sizeof *left);
    left[rank - 1] = depth;
    struct value *ins[] = {input(m, t, left, rank), input(m, t, (int64_t[]){depth, dims[rank - 1]}, 2)};
    return inferred(m, node_new(m->g->top, NULL, "", "MatMul", ins, 2, 1));
}
static struct value *letter(struct maker *m, const struct pattern *p, enum dtype t) {
    struct value **v = &m->letter[p->letter - 'a'];
    int64_t dims[BASE_RANK];
    if (*v) return *v;
    int rank = near_shape(m, dims);
    if (chance(m, 60)) rank = m->rank, memcpy(dims, m->dims, sizeof dims);
    if (!strcmp(p->which, "const")) return *v = filled(m, t, dims, chance(m, 70) ? 0 : rank, some_number(m));
    if (rank > 1 && (t == F32 || t == F64) && chance(m, 30)) return *v = summed(m, t, dims, rank);
    return *v = chance(m, 75) ? input(m, t, dims, rank) : renamed(m, t, dims, rank);
}
static struct value *number(struct maker *m, const struct pattern *p, enum dtype t) {
    int64_t dims[BASE_RANK];
    int rank = near_shape(m, dims);
    return filled(m, p->truth ? BOOL : t, dims, chance(m, 60) ? 0 : rank, p->number);
}

/* ---- what operators want besides the operands of the pattern */
static bool size_of(struct maker *m, const struct value *v, int k, int64_t *n) {
    (void)m;
    expr d = v->type.dims[k];
    if (x_is_int(d, n)) return true;
    return d->op == X_SYM && sscanf(d->u.sym->name, "N%ld", (long *)n) == 1;
}
static struct node *made(struct maker *m, struct node *before, const char *op, struct value **ins, int n) {
    return node_new(m->g->top, before, "", op, ins, n, 1);
}
static void set_ints(struct maker *m, struct node *n, const char *name, const int64_t *v, int count) {
    node_set_attr(n, (struct attr){.name = name,
                                   .kind = AT_INTS,
                                   .n = count,
                                   .u.is = arena_copy(&m->c->arena, v, (size_t)count * sizeof *v)});
}
static void set_int(struct node *n, const char *name, int64_t v) {
    node_set_attr(n, (struct attr){.name = name, .kind = AT_INT, .u.i = v});
}
static void more_transpose(struct maker *m, struct node *n, int rank) {
    int64_t perm[32];
    for (int k = 0; k < rank; k++) perm[k] = k;
    for (int k = rank - 1; k > 0; k--) {
        int j = below(m, k + 1);
        int64_t t = perm[k];
        perm[k] = perm[j], perm[j] = t;
    }
    if (chance(m, 15)) return; /* the default: all axes reversed */
    if (chance(m, 10))
        for (int k = 0; k < rank; k++) perm[k] = k;
    set_ints(m, n, "perm", perm, rank);
}
static void more_reshape(struct maker *m, struct node *n, const struct value *x) {
    int64_t dims[32], size, count = 1, base = 1;
    int rank = 0;
    for (int k = 0; k < x->type.rank; k++) count *= size_of(m, x, k, &size) ? size : 1;
    for (int k = 0; k < m->rank; k++) base *= m->dims[k];
    if (chance(m, 20)) dims[rank++] = -1;
    else if (base == count && chance(m, 60)) {
        for (int k = 0; k < m->rank; k++) dims[rank++] = m->dims[k];
    } else {
        for (int64_t left = count, f = 2; left > 1; f++)
            while (left > 1 && left % f == 0) {
                if (rank && chance(m, 50)) dims[rank - 1] *= f;
                else dims[rank++] = f;
                left /= f;
            }
        if (count < 1) dims[rank++] = 0;
        if (chance(m, 30)) dims[rank++] = 1;
    }
    if (rank && chance(m, 40)) dims[below(m, rank)] = -1;
    if (chance(m, 20) && rank) dims[0] = 0; /* copies, or is none at all */
    node_set_input(n, 1, ints(m, dims, rank));
    if (count < 1 && chance(m, 50)) set_int(n, "allowzero", 1);
}
static void more_slice(struct maker *m, struct node *n, const struct value *x, bool whole) {
    int64_t starts[32], ends[32], axes[32], steps[32], size;
    int count = 0;
    for (int k = 0; k < x->type.rank; k++) {
        if (!size_of(m, x, k, &size) || chance(m, 40)) continue;
        axes[count] = k, starts[count] = whole ? 0 : below(m, (int)size + 1),
        steps[count] = whole ? 1 : 1 + below(m, 3);
        ends[count] = whole || chance(m, 30) ? INT64_MAX : starts[count] + below(m, (int)size + 2);
        if (!whole && chance(m, 15)) steps[count] = -1, ends[count] = INT64_MIN;
        count++;
    }
    node_set_input(n, 1, ints(m, starts, count)), node_set_input(n, 2, ints(m, ends, count));
    node_set_input(n, 3, ints(m, axes, count)), node_set_input(n, 4, ints(m, steps, count));
}
static void more_pad(struct maker *m, struct node *n, const struct value *x, bool none) {
    int64_t pads[64] = {0};
    int rank = x->type.rank;
    bool outwards = chance(m, 80);
    for (int k = chance(m, 80) ? 2 : 0; k < rank && !none; k++)
        pads[k] = below(m, 3) - !outwards, pads[k + rank] = below(m, 3) - !outwards;
    node_set_input(n, 1, ints(m, pads, 2 * rank));
    if (chance(m, 30)) node_set_input(n, 2, filled(m, x->type.dtype, NULL, 0, some_number(m)));
    if (chance(m, 15)) node_set_attr(n, (struct attr){.name = "mode", .kind = AT_STRING, .u.s = {"edge", 4}});
}
static void more_axes(struct maker *m, struct node *n, const struct value *x) {
    int64_t axes[32], size;
    int count = 0;
    bool ones = chance(m, 60);
    for (int k = 0; k < x->type.rank; k++)
        if (ones ? size_of(m, x, k, &size) && size == 1 : chance(m, 50))
            axes[count++] = chance(m, 20) ? k - x->type.rank : k;
    if (count || chance(m, 50)) node_set_input(n, 1, ints(m, axes, count));
    if (chance(m, 60)) set_int(n, "keepdims", below(m, 2));
    if (chance(m, 20)) set_int(n, "noop_with_empty_axes", 1);
}
static void more_concat(struct maker *m, struct node *n, struct value *x) {
    int axis = below(m, x->type.rank);
    struct node *d = x->def;
    set_int(n, "axis", chance(m, 20) ? axis - x->type.rank : axis);
    if (node_is(d, "Split")) {
        set_int(n, "axis", node_int(d, "axis"));
        for (int k = 1; k < d->outs.n; k++) node_set_input(n, k, d->outs.v[k]);
        if (chance(m, 20)) node_set_input(n, 0, d->outs.v[d->outs.n - 1]);
        return;
    }
    int64_t starts[32], ends[32], axes[32], steps[32], size;
    int count = node_is(d, "Slice") ? node_ints(d, 3, axes, 32) : -1;
    if (count > 0 && chance(m, 80)) { /* what follows behind the slice along one of its axes */
        int k = below(m, count);
        node_ints(d, 1, starts, 32), node_ints(d, 2, ends, 32), node_ints(d, 4, steps, 32);
        if (!size_of(m, d->ins.v[0], (int)axes[k], &size)) return;
        set_int(n, "axis", axes[k]);
        starts[k] = chance(m, 85) ? (ends[k] < size ? ends[k] : size) : 0, ends[k] = starts[k] + 1 + below(m, 2);
        struct node *next = made(m, n, "Slice",
                                 (struct value *[]){d->ins.v[0], ints(m, starts, count), ints(m, ends, count),
                                                    ints(m, axes, count), d->ins.v[4]},
                                 5);
        struct value *v = inferred(m, next);
        if (v) node_set_input(n, 1, v);
        return;
    }
    for (int k = 1, more = below(m, 3); k <= more; k++) {
        struct node *inner = chance(m, 50) ? made(m, n, "Concat", (struct value *[]){x, x}, 2) : NULL;
        if (inner) set_int(inner, "axis", axis);
        struct value *v = inner ? inferred(m, inner) : x;
        if (v) node_set_input(n, k, v);
    }
}
static void more_window(struct maker *m, struct node *n, const struct value *x, bool pool) {
    bool most = !strcmp(n->op_type, "MaxPool");
    int widest = most ? 6 : 3;
    int64_t kernel[2] = {1 + below(m, widest), 1 + below(m, widest)}, pads[4], channels = 1, apart = 1;
    if (!pool) {
        size_of(m, x, 1, &channels);
        int64_t dims[] = {2, channels, kernel[0], kernel[1]};
        if (!strcmp(n->op_type, "ConvTranspose")) {
            dims[0] = channels, dims[1] = 2;
            if (channels > 0 && chance(m, 40)) set_int(n, "group", channels);
        }
        node_set_input(
            n, 1, chance(m, 50) ? filled(m, x->type.dtype, dims, 4, some_number(m)) : input(m, x->type.dtype, dims, 4));
        if (chance(m, 30)) apart = 2 + below(m, 4), set_ints(m, n, "dilations", (int64_t[]){apart, apart}, 2);
    }
    for (int k = 0; k < 4; k++) pads[k] = below(m, (int)((kernel[k % 2] - 1) * apart + 1));
    if (pool && chance(m, 50)) set_int(n, most ? "ceil_mode" : "count_include_pad", below(m, 2));
    if (most && chance(m, 30)) set_ints(m, n, "dilations", (int64_t[]){1, 2}, 2);
    set_ints(m, n, "kernel_shape", kernel, 2);
    if (chance(m, 30)) set_ints(m, n, "pads", pads, 4);
    else if (chance(m, 20))
        node_set_attr(n, (struct attr){.name = "auto_pad", .kind = AT_STRING, .u.s = {"SAME_UPPER", 10}});
    if (chance(m, 30)) set_ints(m, n, "strides", (int64_t[]){2, 1}, 2);
}
/* Behind the operands of a convolution, scales and zero points of x, w and the result. */
static void more_scales(struct maker *m, struct node *n, enum dtype t) {
    struct value *w = n->ins.v[1];
    for (int k = 1; k < 8; k++)
        node_set_input(n, k,
                       k == 3                 ? w
                       : k % 3 == 2 || k == 7 ? filled(m, t, NULL, 0, below(m, 100))
                                              : filled(m, F32, NULL, 0, 0.25 * (1 + below(m, 8))));
}
static void more_expand(struct maker *m, struct node *n, const struct value *x) {
    int64_t dims[32], size;
    int rank = 0;
    if (chance(m, 20) && x->type.rank < 4) dims[rank++] = 2;
    for (int k = 0; k < x->type.rank; k++)
        dims[rank++] = size_of(m, x, k, &size) && size == 1 && chance(m, 60)
                           ? (k < m->rank && chance(m, 70) ? m->dims[k] : 1 + below(m, 3))
                           : 1;
    node_set_input(n, 1, ints(m, dims, rank));
}
static void more_operands(struct maker *m, struct node *n, const struct value *x) {
    for (int k = 0, more = below(m, 3); k < more; k++) {
        int64_t dims[BASE_RANK];
        int rank = near_shape(m, dims);
        node_set_input(n, n->ins.n, input(m, x->type.dtype, dims, rank));
    }
}
static void more_split(struct maker *m, struct node *n, const struct value *x) {
    int64_t size = 1;
    int axis = below(m, x->type.rank);
    size_of(m, x, axis, &size);
    set_int(n, "axis", axis);
    int parts = 1 + below(m, 3);
    int64_t sizes[4];
    for (int k = 0; k < parts; k++) sizes[k] = k < parts - 1 ? size / parts : size - (parts - 1) * (size / parts);
    node_set_input(n, 1, ints(m, sizes, parts));
    for (int k = 1; k < parts; k++) node_out(n, k, "");
}
/* Of a vector: one, or some that follow each other. */
static bool more_gather(struct maker *m, struct node *n, const struct value *x) {
    int64_t size = 0, at[4];
    if (x->type.rank != 1 || !size_of(m, x, 0, &size) || size < 1) return false;
    int count = 1 + below(m, 3), first = below(m, (int)size);
    for (int k = 0; k < count; k++) at[k] = chance(m, 90) && first + k < size ? first + k : -1;
    node_set_input(n, 1, chance(m, 50) ? filled(m, I64, NULL, 0, (double)at[0]) : ints(m, at, count));
    return true;
}
static enum dtype any_type(struct maker *m) {
    static const enum dtype list[] = {F32, F32, F64, F16, BF16, I32, I64, I8, U8, I16, U16, U32, U64, BOOL};
    return list[below(m, sizeof list / sizeof *list)];
}
/* false: these operands are none for it. */
static bool more(struct maker *m, struct node *n, bool trivial) {
    struct value *x = n->ins.v[0];
    const char *op = n->op_type;
    if (!strcmp(op, "Transpose")) more_transpose(m, n, x->type.rank);
    else if (!strcmp(op, "Reshape")) more_reshape(m, n, x);
    else if (!strcmp(op, "Flatten")) set_int(n, "axis", below(m, x->type.rank + 1));
    else if (!strcmp(op, "Squeeze"))
        more_axes(m, n, x), node_drop_attr(n, "keepdims"), node_drop_attr(n, "noop_with_empty_axes");
    else if (!strcmp(op, "Unsqueeze")) node_set_input(n, 1, ints(m, (int64_t[]){below(m, x->type.rank + 1)}, 1));
    else if (!strcmp(op, "Expand")) more_expand(m, n, x);
    else if (!strcmp(op, "Slice")) more_slice(m, n, x, trivial);
    else if (!strcmp(op, "Pad")) more_pad(m, n, x, trivial);
    else if (!strcmp(op, "Tile")) {
        int64_t by[32];
        for (int k = 0; k < x->type.rank; k++) by[k] = trivial ? 1 : 1 + below(m, 2);
        node_set_input(n, 1, ints(m, by, x->type.rank));
    } else if (!strcmp(op, "Concat")) {
        if (x->type.rank < 1) return false;
        if (trivial) set_int(n, "axis", 0);
        else more_concat(m, n, x);
    } else if (!strncmp(op, "Reduce", 6)) more_axes(m, n, x);
    else if (!strcmp(op, "Clip")) {
        if (chance(m, 80)) node_set_input(n, 1, filled(m, x->type.dtype, NULL, 0, some_number(m)));
        if (chance(m, 80)) node_set_input(n, 2, filled(m, x->type.dtype, NULL, 0, some_number(m)));
    } else if (!strcmp(op, "Cast")) set_int(n, "to", dtype_onnx(any_type(m)));
    else if (!strcmp(op, "Conv") || !strcmp(op, "ConvTranspose") || strstr(op, "Pool")) {
        if (x->type.rank != 4) return false;
        more_window(m, n, x, strstr(op, "Pool"));
    } else if (!strcmp(op, "ConvInteger")) {
        if (x->type.rank != 4) return false;
        more_window(m, n, x, false);
        node_set_input(n, 2, input(m, x->type.dtype, NULL, 0));
    } else if (!strcmp(op, "QLinearConv")) {
        if (x->type.rank != 4) return false;
        more_window(m, n, x, false);
        more_scales(m, n, x->type.dtype);
    } else if (!strcmp(op, "Split")) {
        if (x->type.rank < 1) return false;
        more_split(m, n, x);
    } else if ((!strcmp(op, "Max") || !strcmp(op, "Min")) && n->ins.n == 1) more_operands(m, n, x);
    else if (!strcmp(op, "Gather") && n->ins.n == 1) return more_gather(m, n, x);
    else if (!strcmp(op, "Shape") && chance(m, 20)) set_int(n, "start", below(m, 2));
    else if (!strcmp(op, "Gemm") && chance(m, 30)) set_int(n, "transA", 1);
    return true;
}

/* ---- terms */
static const char *const whole[] = {"Reshape", "Expand", "Slice", "Transpose", "Tile",
                                    "Pad",     "Concat", "Sum",   "Flatten",   "Abs"};
static bool on_truths(const char *op) {
    return !strcmp(op, "Not") || !strcmp(op, "And") || !strcmp(op, "Or") || !strcmp(op, "Xor");
}
/* The shape of another input: the base, perhaps with an axis of 1. */
static struct value *shape_of_another(struct maker *m) {
    int64_t dims[BASE_RANK + 1];
    memcpy(dims, m->dims, sizeof m->dims);
    dims[m->rank] = 1;
    struct value *v = input(m, m->type, dims, m->rank + chance(m, 50));
    return inferred(m, made(m, NULL, "Shape", &v, 1));
}
static struct value *term(struct maker *m, const struct pattern *p, enum dtype t) {
    if (p->kind == P_VALUE) return letter(m, p, t);
    if (p->kind == P_NUMBER) return number(m, p, t);
    const char *op = p->nops ? p->ops[below(m, p->nops)] : whole[below(m, sizeof whole / sizeof *whole)];
    struct value *ins[PATTERN_ARGS];
    bool swap = p->n == 2 && (op_find("", op)->flags & OP_COMMUTES) && chance(m, 50);
    for (int k = 0; k < p->n; k++) {
        enum dtype want = on_truths(op) || (!strcmp(op, "Where") && k == 0) ? BOOL : t;
        if (!strcmp(op, "Cast")) want = any_type(m);
        if (!strcmp(op, "Not") && p->arg[0]->kind == P_NODE) want = m->type; /* comparisons */
        if (!strcmp(op, "Gather") && k == 1) {
            int64_t at[3] = {0, 1, 2};
            if (chance(m, 30)) at[below(m, 3)] = below(m, 2);
            ins[k] = ints(m, at, 2 + below(m, 2));
            m->letter['i' - 'a'] = ins[k];
        } else if (!strcmp(op, "Reshape") && k == 1) ins[k] = shape_of_another(m);
        else ins[k] = term(m, p->arg[k], want);
        if (!ins[k]) return NULL;
    }
    if (swap) {
        struct value *v = ins[0];
        ins[0] = ins[1], ins[1] = v;
    }
    struct node *n = made(m, NULL, op, ins, p->n);
    if (p->more || (strcmp(op, "Max") && strcmp(op, "Reshape"))) {
        if (!more(m, n, !p->nops && chance(m, 85))) return NULL;
    }
    for (int k = 1; k < n->outs.n; k++) /* all parts are wanted */
        if (!node_is(n, "Split")) return NULL;
    return inferred(m, n);
}
static bool says(const char *text, const char *word) { return strstr(text, word) != NULL; }
static enum dtype type_for(struct maker *m, const char *pattern) {
    static const enum dtype ints_[] = {I32, I64, I8, U8, I16, U16, U32, U64}, floats[] = {F32, F32, F64, F16, BF16};
    if (says(pattern, ":int") || (says(pattern, "Bitwise"))) return ints_[below(m, 8)];
    if (says(pattern, "ConvInteger") || says(pattern, "QLinearConv")) return chance(m, 50) ? U8 : I8;
    if (says(pattern, ":float") || says(pattern, "Conv") || says(pattern, "AveragePool") || says(pattern, "Round"))
        return floats[below(m, 5)];
    if (says(pattern, "true") || says(pattern, "false")) return chance(m, 60) ? BOOL : any_type(m);
    return any_type(m);
}
/* The graph of this draw, or NULL: what was drawn is no graph. The same for the same state. */
static struct graph *graph_of(struct ctx *c, const struct rule *r, uint64_t seed) {
    struct maker m = {.c = c, .state = seed * 0x9E3779B97F4A7C15u + 0x1234567u};
    for (int k = 0; k < 8; k++) draw(&m);
    m.g = graph_new(c, "drawn");
    m.type = type_for(&m, r->pattern);
    m.rank = below(&m, BASE_RANK + 1);
    for (int k = 0; k < m.rank; k++) m.dims[k] = chance(&m, 4) ? 0 : chance(&m, 30) ? 1 : 2 + below(&m, 4);
    if (says(r->pattern, "Gemm") || says(r->pattern, "MatMul")) m.rank = 2, m.dims[0] = m.dims[1] = 1 + below(&m, 5);
    if (says(r->pattern, "Conv") || says(r->pattern, "AveragePool")) {
        m.rank = 4;
        for (int k = 0; k < 4; k++) m.dims[k] = k < 2 ? 1 + below(&m, 2) : 3 + below(&m, 4);
    }
    m.open = chance(&m, 25);
    struct value *y = term(&m, pattern_parse(&c->arena, r->pattern), m.type);
    if (!y || c->diags.errors) return NULL;
    region_result(m.g->top, y);
    PUSH(&c->arena, &m.g->outputs, "y");
    return graph_verify(m.g, "drawing") ? m.g : NULL;
}
static void only(struct graph *g, const struct rule *r) {
    for (int k = 0; k < rule_count(); k++)
        if (rule_at(k) != r) PUSH(&g->ctx->arena, &g->rules_off, rule_at(k)->name);
}
static char *text_of(const struct graph *g) {
    struct text t = {0};
    graph_print(&t, g);
    return t.s;
}

/* ---- running */
static void special(struct maker *m, enum dtype t, char *to, int64_t count) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-42, -1e-42, 3.4e38, 65504, -1, 1, 2.5, -7.5};
    for (int64_t k = 0; k < count; k++) {
        struct tensor *e = tensor_new(&m->c->arena, t, NULL, 0);
        uint64_t bits = draw(m) << 40 ^ draw(m);
        if (dtype_is_float(t)) {
            double v = chance(m, 40) ? odd[below(m, 13)] : (double)(int64_t)(bits % 4001) / 1000 - 2;
            tensor_set_f(e, 0, v);
        } else {
            int width = dtype_bits(t);
            int64_t most = (int64_t)(UINT64_MAX >> (65 - (width < 2 ? 2 : width)));
            int64_t edge[] = {most, -most - 1, -1, 0, 1, most - 1};
            tensor_set_i(e, 0,
                         t == BOOL       ? (int64_t)(bits & 1)
                         : chance(m, 30) ? edge[below(m, 6)]
                                         : (int64_t)(bits % 19) - 9);
        }
        tensor_unpack(e, to + k * dtype_bytes(t));
    }
}
struct outcome {
    enum eval_status status;
    enum dtype type;
    struct eval_arg y;
    int64_t count;
    char message[256];
};
static struct outcome run(struct graph *g, uint64_t seed) {
    struct outcome r = {.status = EVAL_OK};
    struct maker m = {.c = g->ctx, .state = seed | 1};
    struct lower_options o = {.target = target_by_name("c99"), .no_schedule = true};
    struct module *mod = lower_graph(g, &o);
    struct eval_arg args[MOST_INPUTS + 2] = {{0}};
    int64_t syms[16] = {0}, size;
    cr_assert(mod, "%s is not lowered", text_of(g));
    int n = g->top->params.n;
    cr_assert_leq(n, MOST_INPUTS);
    for (int k = 0; k < n; k++) {
        const struct value *v = g->top->params.v[k];
        int64_t count = 1;
        args[k].nd = v->type.rank;
        for (int d = 0; d < v->type.rank; d++) {
            cr_assert(size_of(&m, v, d, &size));
            args[k].dims[d] = size, count *= size;
        }
        args[k].data = calloc((size_t)count + 1, (size_t)dtype_bytes(v->type.dtype));
        special(&m, v->type.dtype, args[k].data, count);
    }
    for (int k = 0; k < mod->entry->syms.n && k < 16; k++)
        if (sscanf(mod->entry->syms.v[k]->name, "N%ld", (long *)&size) == 1) syms[k] = size;
    struct eval_result e = loop_eval(mod, mod->entry, args, syms, &(struct eval_options){.poison = true});
    r.status = e.status;
    snprintf(r.message, sizeof r.message, "%s", e.message);
    r.type = g->top->results.v[0]->type.dtype;
    r.y = args[n], r.count = 1;
    for (int d = 0; d < r.y.nd; d++) r.count *= r.y.dims[d];
    for (int k = 0; k < n; k++) free(args[k].data);
    return r;
}
static double as_float(enum dtype t, const char *p) {
    struct ctx *c = ctx_new();
    struct tensor *e = tensor_new(&c->arena, t, NULL, 0);
    memcpy(tensor_data(e), p, (size_t)dtype_bytes(t));
    double v = tensor_f(e, 0);
    ctx_free(c);
    return v;
}
static bool same_cell(enum dtype t, const char *a, const char *b, enum exactness e) {
    if (!memcmp(a, b, (size_t)dtype_bytes(t))) return true;
    if (!dtype_is_float(t)) return false;
    double x = as_float(t, a), y = as_float(t, b);
    return (isnan(x) && isnan(y)) || (e == SAME_VALUES && x == 0 && y == 0);
}

/* Draws until the rule fired often enough; -1: something differs. */
static int fires(const struct rule *r, int *tried) {
    int fired = 0;
    for (*tried = 0; *tried < TRIES && fired < WANTED; ++*tried) {
        struct ctx *c = ctx_new();
        uint64_t seed = (uint64_t)*tried + 1;
        struct graph *plain = graph_of(c, r, seed), *g = plain ? graph_of(c, r, seed) : NULL;
        if (g) {
            only(g, r);
            char *before = text_of(g);
            bool ok = graph_simplify(g) && graph_verify(g, r->name) && !c->diags.errors;
            char *after = text_of(g);
            cr_assert(ok, "%s, draw %d: no longer a graph\n%s\n%s", r->name, *tried, before, after);
            if (strcmp(before, after)) {
                struct outcome a = run(plain, seed), b = run(g, seed);
                fired++;
                cr_assert_eq(a.status, b.status, "%s, draw %d: %s against %s\n%s\n%s", r->name, *tried, a.message,
                             b.message, before, after);
                cr_assert_eq(a.count, b.count);
                for (int64_t k = 0; a.status == EVAL_OK && k < a.count; k++) {
                    size_t at = (size_t)k * (size_t)dtype_bytes(a.type);
                    cr_assert(same_cell(a.type, (char *)a.y.data + at, (char *)b.y.data + at, r->exactness),
                              "%s, draw %d: element %d differs: %g, %g\n%s\n%s", r->name, *tried, (int)k,
                              dtype_is_float(a.type) ? as_float(a.type, (char *)a.y.data + at) : 0,
                              dtype_is_float(a.type) ? as_float(a.type, (char *)b.y.data + at) : 0, before, after);
                }
                free(a.y.data), free(b.y.data);
            }
            free(before), free(after);
        }
        ctx_free(c);
    }
    return fired;
}
Test(rules, random_graphs_keep_what_the_class_says) {
    const char *one = getenv("RULE");
    for (int k = 0; k < rule_count(); k++) {
        const struct rule *r = rule_at(k);
        int tried;
        if (one && strcmp(one, r->name)) continue;
        int fired = fires(r, &tried);
        if (getenv("RULE")) fprintf(stderr, "%-24s fired %d times in %d draws\n", r->name, fired, tried);
        cr_expect_geq(fired, WANTED, "%s fired %d times in %d draws", r->name, fired, tried);
    }
}

/* ---- the texts */
static struct graph *read_text(struct ctx *c, const char *name, const char *end) {
    const char *root = getenv("GCC2NN_SOURCE_ROOT");
    char *path = arena_printf(&c->arena, "%s/tests/text/rules/%s%s", root ? root : ".", name, end);
    FILE *f = fopen(path, "rb");
    cr_expect(f, "the rule %s has no text %s", name, path);
    if (!f) return NULL;
    static char text[1 << 16];
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    struct graph *g = graph_parse(c, text, n, path);
    cr_expect(g && graph_infer(g), "%s is no graph", path);
    return g;
}
static void changes(const struct rule *r, const char *end, bool want) {
    struct ctx *c = ctx_new();
    struct graph *g = read_text(c, r->name, end);
    if (g) {
        only(g, r);
        graph_dce(g);
        char *before = text_of(g);
        graph_simplify(g);
        char *after = text_of(g);
        cr_expect_eq(strcmp(before, after) != 0, want, "%s%s: the rule %s", r->name, end,
                     want ? "does not fire" : "fires");
        free(before), free(after);
    }
    ctx_free(c);
}
Test(rules, each_has_its_texts) {
    for (int k = 0; k < rule_count(); k++) {
        changes(rule_at(k), ".gir", true);
        changes(rule_at(k), ".keeps.gir", false);
    }
}
Test(rules, names_are_told_apart) {
    for (int k = 0; k < rule_count(); k++) cr_expect_eq(rule_named(rule_at(k)->name), rule_at(k));
}
