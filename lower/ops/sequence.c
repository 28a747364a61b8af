/* Sequences and optionals, of which nothing remains at run time. SequenceConstruct, SequenceEmpty and Optional remain
 * as nodes that say what they hold; other operators look that up during inference and are replaced by the elements, and
 * the holders become dead. A sequence whose length is only known at run time is packed into two tensors (packed.c). */
#include "lower/ops/sequence.h"
#include "lower/ops/control.h"
#include "lower/ops/ops.h"
#include "lower/ops/packed.h"
#include <string.h>

/* ---- holders */
static const struct type *element_of(struct graph *g, const struct node *n) {
    struct type *t = NEW(&g->ctx->arena, struct type);
    const struct attr *type = node_attr(n, "type"), *dtype = node_attr(n, "dtype");
    if (n->ins.n && n->ins.v[0]) *t = n->ins.v[0]->type;
    else if (type && type->kind == AT_TYPE) *t = *type->u.type;
    else *t = (struct type){.kind = TY_TENSOR, .dtype = dtype ? dtype_by_onnx((int)dtype->u.i) : F32};
    if (t->kind == TY_TENSOR) t->rank = -1, t->dims = NULL; /* elements have different shapes */
    return t;
}
static enum infer_status infer_holder(struct graph *g, struct node *n, bool (*infer_region)(struct region *r)) {
    (void)infer_region;
    const struct type *elem = element_of(g, n);
    bool optional = node_is(n, "Optional");
    for (int k = 0; k < n->ins.n && !optional; k++) {
        const struct type *t = n->ins.v[k] ? &n->ins.v[k]->type : NULL;
        if (t && t->kind == TY_TENSOR && t->dtype == elem->dtype) continue;
        ctl_problem(g, n, E_TYPE, "the elements of a sequence are tensors of one type");
        return INFER_FAILED;
    }
    struct value *out = node_out(n, 0, "");
    out->type = (struct type){.kind = optional ? TY_OPTIONAL : TY_SEQUENCE, .elem = elem};
    return INFER_OK;
}
static enum infer_status infer_packed(struct graph *g, struct node *n, bool (*infer_region)(struct region *r)) {
    (void)infer_region;
    struct type *elem = NEW(&g->ctx->arena, struct type);
    *elem = (struct type){.kind = TY_TENSOR, .dtype = n->ins.v[0]->type.dtype, .rank = -1};
    node_out(n, 0, "")->type = (struct type){.kind = TY_SEQUENCE, .elem = elem};
    return INFER_OK;
}
static bool lower_holder(struct lowering *l, struct node *n) {
    (void)l;
    if (!n->outs.v[0]->uses.n) return true;
    ctl_problem(n->in->graph, n, E_OP, "a sequence or optional that is left at run time is not supported");
    return false;
}
static enum infer_status infer_maybe(struct graph *g, struct node *n, bool (*infer_region)(struct region *r)) {
    (void)infer_region;
    struct type *held = NEW(&g->ctx->arena, struct type);
    *held = n->ins.v[1]->type;
    if (held->kind == TY_TENSOR) held->rank = -1, held->dims = NULL;
    node_out(n, 0, "")->type = (struct type){.kind = TY_OPTIONAL, .elem = held};
    return INFER_OK;
}
static const struct op_control holder = {infer_holder, lower_holder}, packed = {infer_packed, lower_holder},
                               maybe = {infer_maybe, lower_holder};

/* A map is made of keys [n] and values [n], several with the same keys of values [count,n]. */
static enum infer_status infer_map(struct graph *g, struct node *n, bool (*infer_region)(struct region *r)) {
    (void)infer_region;
    struct type *map = NEW(&g->ctx->arena, struct type), *of = NEW(&g->ctx->arena, struct type);
    const struct type *keys = &n->ins.v[0]->type, *values = &n->ins.v[1]->type;
    *of = type_tensor(g->ctx, values->dtype, NULL, 0);
    *map = (struct type){.kind = TY_MAP, .dtype = keys->dtype, .elem = of};
    node_out(n, 0, "")->type = values->rank == 1 ? *map : (struct type){.kind = TY_SEQUENCE, .elem = map};
    return INFER_OK;
}
const struct op_control map_holder = {infer_map, lower_holder};

bool node_is_packed(const struct node *n) { return n && !strcmp(n->op_type, "Packed") && !strcmp(n->domain, "gcc2nn"); }
static bool node_is_maybe(const struct node *n) {
    return n && !strcmp(n->op_type, "Maybe") && !strcmp(n->domain, "gcc2nn");
}
static bool is_sequence(const struct node *n) { return node_is(n, "SequenceConstruct") || node_is(n, "SequenceEmpty"); }
static bool is_map(const struct node *n) { return n && n->op && n->op->control == &map_holder; }
bool node_is_holder(const struct node *n) {
    return is_sequence(n) || node_is(n, "Optional") || node_is_maybe(n) || node_is_packed(n) || is_map(n);
}
bool optional_of(const struct value *v, struct optional *o) {
    const struct node *n = v->def;
    *o = (struct optional){0};
    if (node_is_maybe(n)) return o->there = n->ins.v[0], o->value = n->ins.v[1], true;
    if (!node_is(n, "Optional")) return false;
    o->value = n->ins.n ? n->ins.v[0] : NULL;
    return true;
}
bool contents_of(const struct value *v, struct contents *x) {
    const struct node *n = v->def;
    bool optional = node_is(n, "Optional");
    if (n && n->op && n->op->control == &map_holder) {
        *x = (struct contents){.kind = v->type.kind == TY_MAP ? VALUE_MAP : VALUE_MAPS, .present = true};
        x->v = n->ins.v, x->n = n->ins.n;
        return true;
    }
    *x = (struct contents){.kind = optional ? VALUE_OPTIONAL : VALUE_SEQUENCE, .present = true};
    if (optional) {
        const struct type *held = v->type.elem;
        if (held && held->kind == TY_SEQUENCE) x->kind = VALUE_OPTIONAL_SEQUENCE;
        x->present = n->ins.n && n->ins.v[0];
        if (!x->present) return true;
        if (n->ins.v[0]->type.kind == TY_SEQUENCE) n = n->ins.v[0]->def;
        else if (n->ins.v[0]->type.kind != TY_TENSOR) return false;
    }
    if (!optional || x->kind == VALUE_OPTIONAL_SEQUENCE)
        if (!is_sequence(n)) return false;
    x->v = n->ins.v, x->n = n->ins.n;
    return true;
}

/* ---- operators on sequences */
struct list {
    V *v;
    int n;
};
static bool list_of(V seq, struct list *l) {
    if (!is_sequence(seq->def))
        return fail(E_OP, "the elements of this sequence are not known when the model is compiled"), false;
    l->n = seq->def->ins.n;
    l->v = NEWN(def_arena(), V, l->n + 1); /* room for one more */
    for (int k = 0; k < l->n; k++) l->v[k] = seq->def->ins.v[k];
    return true;
}
static void out_list(const struct list *l) {
    V seq =
        l->n ? n_node("SequenceConstruct", l->v, l->n, 1)->outs.v[0] : n_node("SequenceEmpty", NULL, 0, 1)->outs.v[0];
    gout(0, seq);
}
/* Input k as an index in 0..last; `absent` if it is missing. -1: a diagnostic was given. */
static int place(int k, int last, int absent) {
    double p;
    if (!in(k)) return absent;
    if (!const_value(in(k), 0, &p))
        return fail(E_OP, "a place in a sequence that only the run knows is not supported"), -1;
    if (p < 0) p += last + 1;
    if (p < 0 || p > last) return fail(E_SHAPE, "a place outside of the sequence"), -1;
    return (int)p;
}
/* gin(0) in packed form: because it is packed, or since input k is an index that is only known at run time. rank: of
 * the elements, if there are none. */
static bool is_packed_here(int k, int rank, struct packed *x) {
    double p;
    if (packed_of(gin(0), x)) return true;
    return k && in(k) && !const_value(in(k), 0, &p) && packed_from(def_node(), gin(0), rank, x);
}
static void out_packed(struct packed x) { gout(0, packed_node(def_node(), &x)); }
static void op_insert(void) {
    struct list l;
    struct packed x;
    if (is_packed_here(2, gin(1)->type.rank, &x)) {
        if (packed_rank(gin(0)) >= 0 && packed_rank(gin(0)) != gin(1)->type.rank)
            fail(E_RANK, "the elements of a sequence whose length only the run knows have one rank, not %d and %d",
                 packed_rank(gin(0)), gin(1)->type.rank);
        else out_packed(packed_insert(def_node(), &x, gin(1), gin(2)));
        return;
    }
    if (!list_of(gin(0), &l)) return;
    double p;
    bool from_end = in(2) && const_value(in(2), 0, &p) && p < 0; /* -1 is before the last element */
    int at = place(2, from_end ? l.n - 1 : l.n, l.n);
    if (at < 0) return;
    memmove(l.v + at + 1, l.v + at, (size_t)(l.n - at) * sizeof *l.v);
    l.v[at] = gin(1);
    if (++l.n > HOLDER_MAX) fail(E_LIMIT, "a sequence of more than %d elements", HOLDER_MAX);
    else out_list(&l);
}
static void op_erase(void) {
    struct list l;
    struct packed x;
    if (is_packed_here(1, -1, &x)) {
        out_packed(packed_erase(def_node(), &x, gin(1)));
        return;
    }
    if (!list_of(gin(0), &l)) return;
    int at = place(1, l.n - 1, l.n - 1);
    if (at < 0) return;
    memmove(l.v + at, l.v + at + 1, (size_t)(l.n - at - 1) * sizeof *l.v);
    l.n--;
    out_list(&l);
}
static V joined(const struct list *l, int64_t axis) {
    return n_op("Concat", 0, l->v, l->n, ATTRS(attr_int("axis", axis)));
}
static V stacked(const struct list *l, int64_t axis) {
    for (int k = 0; k < l->n; k++) l->v[k] = N_OP("Unsqueeze", l->v[k], N_INTS(axis));
    return joined(l, axis);
}
static void op_element(void) {
    struct list l;
    struct packed x;
    double p;
    if (packed_of(gin(0), &x)) {
        gout(0, packed_at(def_node(), &x, gin(1)));
        return;
    }
    if (!list_of(gin(0), &l)) return;
    bool alike = l.n > 0;
    for (int k = 1; k < l.n; k++) alike &= type_same_dims(&l.v[0]->type, &l.v[k]->type);
    if (alike && l.v[0]->type.rank >= 0 && !const_value(in(1), 0, &p)) {
        gout(0, N_OP("Gather", stacked(&l, 0), gin(1)));
        return;
    }
    if (is_packed_here(1, -1, &x)) {
        gout(0, packed_at(def_node(), &x, gin(1)));
        return;
    }
    int at = place(1, l.n - 1, -1);
    if (at >= 0) gout(0, l.v[at]);
}
static void op_length(void) {
    struct list l;
    struct packed x;
    if (packed_of(gin(0), &x)) {
        gout(0, packed_length(def_node(), &x));
        return;
    }
    if (!list_of(gin(0), &l)) return;
    gout(0, graph_scalar(def_node()->in->graph, I64, l.n));
}
static void op_concat_from(void) {
    struct list l;
    struct packed x;
    if (packed_of(gin(0), &x)) {
        V all = packed_concat(def_node(), &x, int_attr("axis"), int_attr("new_axis"));
        if (all) gout(0, all);
        else fail(E_ATTR, "axis %lld is outside the rank", (long long)int_attr("axis"));
        return;
    }
    if (!list_of(gin(0), &l)) return;
    if (!l.n) fail(E_ARITY, "the sequence is empty");
    else gout(0, (int_attr("new_axis") ? stacked : joined)(&l, int_attr("axis")));
}

/* ---- SplitToSequence */
enum { PARTS_MAX = 4096 };
/* The sizes of the *n parts; NULL: unknown at compile time, or (*n < 0) after a diagnostic. */
static V part_sizes(T split, E length, int *n) {
    int64_t total, chunk = 1, size[PARTS_MAX];
    double v;
    *n = -1;
    if (has(split) && rank(split) == 1) {
        if (!const_int(dim(split, 0), &total)) return *n = 0, NULL;
        if (total > PARTS_MAX) return fail(E_LIMIT, "more than %d parts", PARTS_MAX), NULL;
        *n = (int)total;
        return n_cast(gin(1), I64);
    }
    if (has(split) && rank(split)) return fail(E_RANK, "the sizes of the parts are no number and no vector"), NULL;
    if (has(split) && !const_value(split, 0, &v)) return *n = 0, NULL;
    if (has(split)) chunk = v < 1 ? 0 : v < DIM_MAX ? (int64_t)v : DIM_MAX;
    if (chunk < 1) return fail(E_SHAPE, "the size of the parts must be positive"), NULL;
    if (!const_int(length, &total)) return *n = 0, NULL;
    if (total / chunk >= PARTS_MAX) return fail(E_LIMIT, "more than %d parts", PARTS_MAX), NULL;
    for (*n = 0; *n * chunk < total; ++*n) size[*n] = total - *n * chunk < chunk ? total - *n * chunk : chunk;
    return n_const_i64(size, *n);
}
static void op_split_to(void) {
    T x = in(0), split = in(1);
    struct list l = {0};
    if (fail_if(rank(x) == 0, E_RANK, "a scalar cannot be split")) return;
    int64_t axis = axis_attr("axis", x);
    V sizes = part_sizes(split, dim(x, (int)axis), &l.n);
    bool alone = !has(split) && !int_attr("keepdims");
    if (!sizes && !l.n) {
        V lengths = packed_lengths(def_node(), gin(0), (int)axis, gin(1));
        out_packed(packed_split(def_node(), gin(0), lengths, (int)axis, alone));
    }
    if (!sizes) return;
    l.v = NEWN(def_arena(), V, l.n + 1);
    struct node *parts = l.n ? n_node("Split", (const V[]){gin(0), sizes}, 2, l.n) : NULL;
    if (parts) node_set_attr(parts, attr_int("axis", axis));
    for (int k = 0; k < l.n; k++) {
        l.v[k] = node_out(parts, k, "");
        if (alone) l.v[k] = n_node("Squeeze", (const V[]){l.v[k], N_INTS(axis)}, 2, 1)->outs.v[0];
    }
    out_list(&l);
}

/* ---- operators on optionals: a tensor or sequence counts as one that is present */
static bool held(V v, struct optional *o) {
    *o = (struct optional){.value = v};
    if (!v || v->type.kind != TY_OPTIONAL || optional_of(v, o)) return true;
    return fail(E_OP, "whether this optional is there is not known when the model is compiled"), false;
}
static void op_get_element(void) {
    static const char empty[] = "the optional is empty";
    struct optional o;
    if (!held(gin(0), &o)) return;
    if (o.there) {
        struct attr a[] = {attr_int("condition", 1), attr_str("reason", empty)};
        n_private("Require", &o.there, 1, 0, a, 2);
    }
    if (o.value) gout(0, o.value);
    else fail(E_SHAPE, "%s", empty);
}
static void op_has_element(void) {
    struct optional o;
    if (!held(gin(0), &o)) return;
    if (o.there) {
        gout(0, o.there);
        return;
    }
    gout(0, graph_scalar(def_node()->in->graph, BOOL, o.value != NULL));
}

/* ---- at the end of a body: a sequence as the tensors that are carried on */
static void op_unpack(void) {
    struct packed x;
    int rank = (int)int_attr("rank");
    if (!packed_from(def_node(), gin(0), rank, &x))
        fail(E_RANK, "what the elements of a sequence are, whose length only the run knows, is not known");
    else if (!x.shapes->init && packed_rank(gin(0)) != rank)
        fail(E_RANK, "the elements of a sequence whose length only the run knows have one rank");
    else gout(0, x.cells), gout(1, x.shapes);
}

static const struct op_slot s_maybe[] = {{"there", TSET(BOOL), SCALAR}, {"value", TS_ANY, HOLDER}, {0}};
static const struct op_slot s_packed[] = {{"cells", TS_ANY, 0}, {"shapes", TSET(I64), 0}, {0}};
static const struct op_slot s_parts[] = {{"cells", TS_ANY, 0}, {"shapes", TS_ANY, 0}, {0}};
static const struct op_attr a_unpack[] = {A_INT("rank", .flags = A_REQUIRED), {0}};
static const struct op_slot s_seq[] = {{"input_sequence", 0, HOLDER}, {0}};
static const struct op_slot s_elements[] = {{"inputs", TS_ANY, VARIADIC}, {0}};
static const struct op_slot s_nothing[] = {{0}};
static const struct op_slot s_map_of[] = {{"keys", TS_ANY, 0}, {"values", TS_ANY, 0}, {0}};
static const struct op_slot s_insert[] = {
    {"input_sequence", 0, HOLDER}, {"tensor", TS_ANY, 0}, {"position", TS_INDEX, OPTIONAL | SCALAR}, {0}};
static const struct op_slot s_erase[] = {{"input_sequence", 0, HOLDER}, {"position", TS_INDEX, OPTIONAL | SCALAR}, {0}};
static const struct op_slot s_at[] = {{"input_sequence", 0, HOLDER}, {"position", TS_INDEX, SCALAR}, {0}};
static const struct op_slot s_split_to[] = {{"input", TS_ANY, 0}, {"split", TS_INDEX, OPTIONAL}, {0}};
static const struct op_slot s_optional[] = {{"input", TS_ANY, OPTIONAL | HOLDER}, {0}};
static const struct op_slot s_get[] = {{"input", TS_ANY, HOLDER}, {0}};
static const struct op_slot s_map[] = {
    {"input_sequence", 0, HOLDER}, {"additional_inputs", TS_ANY, VARIADIC | OPTIONAL | HOLDER}, {0}};
static const struct op_slot s_mapped[] = {{"out_sequence", 0, VARIADIC | HOLDER}, {0}};
static const struct op_attr a_map[] = {A_REGION("body", .flags = A_REQUIRED), {0}};
static const struct op_attr a_empty[] = {A_INT("dtype", .i = 1), {0}};
static const struct op_attr a_optional[] = {{.name = "type", .kind = AT_TYPE}, {0}};
static const struct op_attr a_concat_from[] = {A_INT("axis", .flags = A_REQUIRED), A_INT("new_axis"), {0}};
static const struct op_attr a_split_to[] = {A_INT("axis"), A_INT("keepdims", .i = 1), {0}};
const struct op ops_sequence[] = {
    {"", "SequenceConstruct", 11, 11, attrs_none, s_elements, slots_y, .control = &holder,
     .spec = "SequenceConstruct-11"},
    {"", "SequenceEmpty", 11, 11, a_empty, s_nothing, slots_y, .control = &holder, .spec = "SequenceEmpty-11"},
    {"gcc2nn", "Map", 1, 1, attrs_none, s_map_of, slots_y, .control = &map_holder,
     .spec = "stands for a map that the model takes, or for the maps that a ZipMap gives"},
    {"", "SequenceInsert", 11, 11, attrs_none, s_insert, slots_y, .expand = op_insert, .spec = "SequenceInsert-11"},
    {"", "SequenceErase", 11, 11, attrs_none, s_erase, slots_y, .expand = op_erase, .spec = "SequenceErase-11"},
    {"", "SequenceAt", 11, 11, attrs_none, s_at, slots_y, .expand = op_element,
     .spec = "SequenceAt-11; at a place of the run if the elements have one rank"},
    {"", "SequenceLength", 11, 11, attrs_none, s_seq, slots_y, .expand = op_length, .spec = "SequenceLength-11"},
    {"", "SequenceMap", 17, 17, a_map, s_map, s_mapped, .control = &map_control,
     .spec = "SequenceMap-17, unrolled over the elements"},
    {"", "ConcatFromSequence", 11, 11, a_concat_from, s_seq, slots_y, .expand = op_concat_from,
     .spec = "ConcatFromSequence-11"},
    {"", "SplitToSequence", 24, 11, a_split_to, s_split_to, slots_y, .expand = op_split_to,
     .spec = "SplitToSequence-24"},
    {"", "Optional", 15, 15, a_optional, s_optional, slots_y, .control = &holder, .spec = "Optional-15"},
    {"", "OptionalGetElement", 18, 15, attrs_none, s_get, slots_y, .expand = op_get_element,
     .spec = "OptionalGetElement-18"},
    {"", "OptionalHasElement", 18, 15, attrs_none, s_optional, slots_y, .expand = op_has_element,
     .spec = "OptionalHasElement-18"},
    {"gcc2nn", "Maybe", 1, 1, attrs_none, s_maybe, slots_y, .control = &maybe,
     .spec = "made by the compiler: an optional of which the run knows whether it is there"},
    {"gcc2nn", "Packed", 1, 1, attrs_none, s_packed, slots_y, .control = &packed,
     .spec = "made by the compiler: a sequence by the cells of all elements and their shapes"},
    {"gcc2nn", "Unpack", 1, 1, a_unpack, s_seq, s_parts, .expand = op_unpack,
     .spec = "made by the compiler: these two"},
    {0},
};
