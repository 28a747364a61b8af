/* Packed sequences (packed.h): every operator on them becomes a few operators on two tensors, which all later stages
 * know. The rank of the elements is known at compile time, like all ranks; their number and sizes are only known at run
 * time. Why so: docs/adr/0005. */
#include "lower/ops/packed.h"
#include "lower/ops/control.h"
#include "lower/ops/ops.h"
#include "lower/ops/sequence.h"
#include <string.h>

typedef struct value *V;

/* ---- nodes in front of `at` */
static V ints(struct node *at, const int64_t *v, int n) { return up_const_i64(at, v, n); }
static V one(struct node *at, int64_t v) { return ints(at, &v, 1); }
static V number(struct node *at, int64_t v) { return graph_scalar(at->in->graph, I64, v); }
static struct node *made(struct node *at, const char *domain, const char *op, const V *ins, int n, int outs) {
    struct node *r = node_new(at->in, at, domain, op, (struct value **)(uintptr_t)ins, n, outs);
    r->origin = at->origin, r->name = at->name;
    return r;
}
static V op_n(struct node *at, const char *op, const V *ins, int n) { return made(at, "", op, ins, n, 1)->outs.v[0]; }
#define OP(op, ...) op_n(at, op, (const V[]){__VA_ARGS__}, (int)(sizeof((const V[]){__VA_ARGS__}) / sizeof(V)))
static V with_int(V v, const char *name, int64_t i) {
    node_set_int(v->def, name, i);
    return v;
}
static V concat(struct node *at, const V *v, int n, int64_t axis) {
    return n == 1 ? v[0] : with_int(op_n(at, "Concat", v, n), "axis", axis);
}
#define CONCAT(axis, ...)                                                                                              \
    concat(at, (const V[]){__VA_ARGS__}, (int)(sizeof((const V[]){__VA_ARGS__}) / sizeof(V)), axis)
static V gather(struct node *at, V from, V which) { return with_int(OP("Gather", from, which), "axis", 0); }
static V slice(struct node *at, V v, V from, V to) { return OP("Slice", v, from, to, one(at, 0)); }
static V rest(struct node *at, V v, V from) { return slice(at, v, from, one(at, INT64_MAX)); }
static V reshape(struct node *at, V v, V shape) { return with_int(OP("Reshape", v, shape), "allowzero", 1); }
static V flat(struct node *at, V v) { return OP("Reshape", v, one(at, -1)); }
static V as_type(struct node *at, V v, enum dtype to) { return with_int(OP("Cast", v), "to", dtype_onnx(to)); }
static V transposed(struct node *at, V v, const int64_t *perm, int rank) {
    V t = OP("Transpose", v);
    struct attr a = {.name = "perm", .kind = AT_INTS, .n = rank};
    a.u.is = arena_copy(&at->in->graph->ctx->arena, perm, (size_t)rank * sizeof *perm);
    node_set_attr(t->def, a);
    return t;
}
/* Over one axis, which is kept or not. */
static V reduced(struct node *at, const char *op, V v, int64_t axis, bool keep) {
    return with_int(OP(op, v, one(at, axis)), "keepdims", keep);
}
static V cells_in(struct node *at, V v) { return reduced(at, "ReduceProd", v, 0, true); } /* of a vector, as [1] */
static void must(struct node *at, V condition, const char *reason) {
    struct node *n = made(at, "gcc2nn", "Require", &condition, 1, 0);
    node_set_int(n, "condition", 1);
    node_set_attr(n, (struct attr){.name = "reason", .kind = AT_STRING, .u.s = {.p = reason, .n = strlen(reason)}});
}
static V all_true(struct node *at, V v) { /* of a vector of booleans */
    return as_type(at, reduced(at, "ReduceMin", as_type(at, v, I32), 0, false), BOOL);
}

/* ---- what is packed */
bool packed_of(const struct value *v, struct packed *x) {
    if (!node_is_packed(v->def)) return false;
    *x = (struct packed){v->def->ins.v[0], v->def->ins.v[1]};
    return true;
}
static int rank_of(const struct packed *x) {
    int64_t r;
    return x->shapes->type.rank == 2 && x_is_int(x->shapes->type.dims[1], &r) && r <= 30 ? (int)r : -1;
}
int packed_rank(const struct value *v) {
    struct packed x;
    struct contents held;
    if (packed_of(v, &x)) return rank_of(&x);
    if (!contents_of(v, &held) || held.kind != VALUE_SEQUENCE || !held.n) return -1;
    for (int k = 1; k < held.n; k++)
        if (held.v[k]->type.rank != held.v[0]->type.rank) return -1;
    return held.v[0]->type.rank;
}
struct value *packed_node(struct node *at, const struct packed *x) {
    return made(at, "gcc2nn", "Packed", (const V[]){x->cells, x->shapes}, 2, 1)->outs.v[0];
}
static V shape_row(struct node *at, V element, int rank) {
    return reshape(at, OP("Shape", element), ints(at, (int64_t[]){1, rank}, 2));
}
bool packed_from(struct node *at, const struct value *v, int rank_of_none, struct packed *x) {
    struct contents held;
    struct arena *a = &at->in->graph->ctx->arena;
    if (packed_of(v, x)) return true;
    if (!contents_of(v, &held) || held.kind != VALUE_SEQUENCE) return false;
    int rank = held.n ? packed_rank(v) : rank_of_none;
    if (rank < 0) return false;
    if (!held.n) {
        x->cells = graph_const(at->in->graph, "", tensor_new(a, v->type.elem->dtype, (int64_t[]){0}, 1));
        x->shapes = graph_const(at->in->graph, "", tensor_new(a, I64, (int64_t[]){0, rank}, 2));
        return true;
    }
    V *cells = NEWN(a, V, held.n), *shapes = NEWN(a, V, held.n);
    for (int k = 0; k < held.n; k++) cells[k] = flat(at, held.v[k]), shapes[k] = shape_row(at, held.v[k], rank);
    *x = (struct packed){concat(at, cells, held.n, 0), concat(at, shapes, held.n, 0)};
    return true;
}

/* ---- places */
static V count_of_rows(struct node *at, const struct packed *x) {
    return gather(at, OP("Shape", x->shapes), one(at, 0));
}
struct value *packed_length(struct node *at, const struct packed *x) {
    return gather(at, OP("Shape", x->shapes), number(at, 0));
}
static V cells_of_each(struct node *at, const struct packed *x) {
    return reduced(at, "ReduceProd", x->shapes, 1, false);
}
/* An index as i64[1] in 0 .. count - 1 + more. */
static V place(struct node *at, const struct packed *x, V position, int64_t more) {
    V n = count_of_rows(at, x), p = as_type(at, flat(at, position), I64), zero = one(at, 0);
    p = OP("Where", OP("Less", p, zero), OP("Add", p, n), p);
    V end = OP("Add", n, one(at, more));
    must(at, OP("And", OP("LessOrEqual", zero, p), OP("Less", p, end)), "a place outside of the sequence");
    return p;
}
/* Number of cells before that element, [1]. */
static V cells_before(struct node *at, const struct packed *x, V p) {
    return reduced(at, "ReduceSum", slice(at, cells_of_each(at, x), one(at, 0), p), 0, true);
}
struct value *packed_at(struct node *at, const struct packed *x, struct value *position) {
    V p = place(at, x, position, 0), from = cells_before(at, x, p);
    V shape = OP("Reshape", gather(at, x->shapes, p), one(at, rank_of(x)));
    V to = OP("Add", from, cells_in(at, shape));
    return reshape(at, slice(at, x->cells, from, to), shape);
}
struct packed packed_insert(struct node *at, const struct packed *x, struct value *element, struct value *position) {
    V row = shape_row(at, element, rank_of(x));
    if (!position) return (struct packed){CONCAT(0, x->cells, flat(at, element)), CONCAT(0, x->shapes, row)};
    V p = place(at, x, position, 1), cell = cells_before(at, x, p), zero = one(at, 0);
    return (struct packed){
        CONCAT(0, slice(at, x->cells, zero, cell), flat(at, element), rest(at, x->cells, cell)),
        CONCAT(0, slice(at, x->shapes, zero, p), row, rest(at, x->shapes, p)),
    };
}
struct packed packed_erase(struct node *at, const struct packed *x, struct value *position) {
    V p = place(at, x, position ? position : one(at, -1), 0), zero = one(at, 0), next = OP("Add", p, one(at, 1));
    V from = cells_before(at, x, p), to = cells_before(at, x, next);
    return (struct packed){CONCAT(0, slice(at, x->cells, zero, from), rest(at, x->cells, to)),
                           CONCAT(0, slice(at, x->shapes, zero, p), rest(at, x->shapes, next))};
}

/* ---- one tensor and its parts along an axis. lengths: of the parts; before, behind: the product of the other sizes,
 * [1]. Finds the position of element [a, j, b] of the tensor in the cells of the packed sequence. */
static V counting(struct node *at, V n) { return OP("Range", number(at, 0), OP("Squeeze", n), number(at, 1)); }
static V along(struct node *at, V v, int axis) { /* a vector as axis `axis` of three */
    int64_t others[2] = {axis == 0, axis == 2 ? 1 : 2};
    return OP("Unsqueeze", v, ints(at, others, 2));
}
static V cell_of_each(struct node *at, V lengths, V before, V behind) {
    V total = reduced(at, "ReduceSum", lengths, 0, true), j = counting(at, total);
    V ends = OP("CumSum", lengths, number(at, 0)), starts = OP("Sub", ends, lengths);
    V past = OP("LessOrEqual", OP("Unsqueeze", ends, one(at, 0)), OP("Unsqueeze", j, one(at, 1))); /* [total, parts] */
    V part = reduced(at, "ReduceSum", as_type(at, past, I64), 1, false);
    V start = gather(at, starts, part), length = gather(at, lengths, part), row = OP("Sub", j, start);
    V a = along(at, counting(at, before), 0), b = along(at, counting(at, behind), 2);
    V rows = OP("Add", OP("Mul", a, along(at, length, 1)), along(at, row, 1));
    V cells = OP("Add", OP("Mul", rows, behind), b);
    return OP("Add", cells, along(at, OP("Mul", start, OP("Mul", before, behind)), 1));
}
struct value *packed_concat(struct node *at, const struct packed *x, int64_t axis, bool new_axis) {
    struct arena *mem = &at->in->graph->ctx->arena;
    int rank = rank_of(x), a = (int)(axis < 0 ? axis + rank + new_axis : axis);
    if (rank < 0 || a < 0 || a >= rank + new_axis) return NULL;
    V n = count_of_rows(at, x), end = one(at, INT64_MAX), zero = one(at, 0);
    must(at, OP("Less", zero, n), "the sequence is empty");
    V first = OP("Reshape", gather(at, x->shapes, zero), one(at, rank));
    V same = OP("Equal", reduced(at, "ReduceMax", x->shapes, 0, false), reduced(at, "ReduceMin", x->shapes, 0, false));
    if (!new_axis) {
        struct tensor *open = tensor_new(mem, BOOL, (int64_t[]){rank}, 1);
        tensor_set_i(open, a, 1);
        same = OP("Or", same, graph_const(at->in->graph, "", open));
    }
    must(at, all_true(at, same), "the elements of a sequence that are put together differ in shape");
    V before = slice(at, first, zero, one(at, a)), behind = slice(at, first, one(at, a + !new_axis), end);
    if (new_axis) {
        int64_t perm[32];
        for (int k = 0; k <= rank; k++) perm[k] = k == a ? 0 : k < a ? k + 1 : k;
        return transposed(at, reshape(at, x->cells, CONCAT(0, n, first)), perm, rank + 1);
    }
    V lengths = gather(at, OP("Transpose", x->shapes), number(at, a));
    V total = reduced(at, "ReduceSum", lengths, 0, true), shape = CONCAT(0, before, total, behind);
    if (a == 0) return reshape(at, x->cells, shape);
    V index = cell_of_each(at, lengths, cells_in(at, before), cells_in(at, behind));
    return reshape(at, gather(at, x->cells, index), shape);
}
struct value *packed_lengths(struct node *at, struct value *x, int axis, struct value *split) {
    V length = slice(at, OP("Shape", x), one(at, axis), one(at, axis + 1)), zero = one(at, 0);
    if (!split) return OP("Expand", one(at, 1), length);
    V v = as_type(at, split, I64);
    if (split->type.rank == 1) {
        must(at, all_true(at, OP("LessOrEqual", zero, v)), "a part has a negative size");
        must(at, OP("Equal", reduced(at, "ReduceSum", v, 0, true), length), "the parts are not the whole");
        return v;
    }
    V part = OP("Min", flat(at, v), OP("Add", length, one(at, 1)));
    must(at, OP("Less", zero, part), "the size of the parts must be positive");
    V n = OP("Div", OP("Add", length, OP("Sub", part, one(at, 1))), part);
    return OP("Min", part, OP("Sub", length, OP("Mul", counting(at, n), part)));
}
struct packed packed_split(struct node *at, struct value *x, struct value *lengths, int axis, bool alone) {
    int rank = x->type.rank, nparts = 0;
    V shape = OP("Shape", x), n = OP("Shape", lengths), zero = one(at, 0), end = one(at, INT64_MAX), parts[3];
    V before = slice(at, shape, zero, one(at, axis)), behind = slice(at, shape, one(at, axis + 1), end);
    int sides[2] = {axis, rank - axis - 1};
    for (int side = 0; side < 2; side++) {
        V columns = one(at, sides[side]);
        if (side && !alone) parts[nparts++] = OP("Unsqueeze", lengths, one(at, 1));
        V row = reshape(at, side ? behind : before, ints(at, (int64_t[]){1, sides[side]}, 2));
        if (sides[side] || alone) parts[nparts++] = OP("Expand", row, CONCAT(0, n, columns));
    }
    V shapes = concat(at, parts, nparts, 1);
    if (axis == 0) return (struct packed){flat(at, x), shapes};
    if (alone) {
        int64_t perm[32];
        for (int k = 0; k < rank; k++) perm[k] = k == 0 ? axis : k <= axis ? k - 1 : k;
        return (struct packed){flat(at, transposed(at, x, perm, rank)), shapes};
    }
    V index = flat(at, cell_of_each(at, lengths, cells_in(at, before), cells_in(at, behind)));
    return (struct packed){OP("ScatterElements", flat(at, x), index, flat(at, x)), shapes};
}
