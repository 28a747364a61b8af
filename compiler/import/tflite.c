/* TensorFlow Lite import: graphs of the file to regions and nodes. First of all on the way from model to source; the
 * bytes are read by tflite_read.cc. One place decides how the quantisation of tensors reaches the nodes (quantization,
 * docs/adr/0007): as attributes, of each node for its own inputs and outputs. Calls are inlined; WHILE and IF become
 * Loop and If of ONNX, whose bodies take what TFLite's take. */
#include "compiler/import/tflite.h"
#include "compiler/import/onnx_import.h"
#include "compiler/import/tflite_read.h"
#include "ir/graph/op.h"
#include <string.h>

#ifdef HAVE_FLATBUFFERS
enum { TFL_DEPTH = 32 };

struct variable { /* streaming state: what VAR_HANDLE or a tensor with is_variable names */
    const void *key;
    const char *name;
    struct value *first, *now; /* the input it is, and its value at this point of the walk; NULL: not read so far */
    const struct tensor *init; /* what CALL_ONCE gave it; NULL: zeros */
};
struct tflite {
    struct importer m; /* limits, options, diagnostics: as for ONNX */
    const struct tfl_model *model;
    struct map constants; /* tfl_tensor -> value */
    VEC(struct variable) variables;
    int depth, once; /* nested calls, and those of CALL_ONCE */
};
/* One use of a graph of the file: the values of its tensors. */
struct use_of {
    const struct tfl_graph *g;
    struct region *region;
    struct value **values; /* by tensor */
    const void **handles;  /* by tensor: the key of the variable that it is a handle of */
};

#define error(t, ...) onnx_error(&(t)->m, __VA_ARGS__)
static struct arena *arena_of(struct tflite *t) { return &t->m.c->arena; }
static const char *quote(struct tflite *t, const char *s) { return diag_quote(arena_of(t), s); }
static bool stop(struct tflite *t) { return t->m.stopped = true, false; }

/* ---- tensors */
static enum dtype type_of(int type) {
    static const enum dtype types[] = {F32, F16,  I32,  U8,  I64, STR, BOOL, I16, C64, I8,       F64,   C128,
                                       U64, NONE, NONE, U32, U16, I4,  BF16, I2,  U4,  F8E4M3FN, F8E5M2};
    return type >= 0 && type < (int)(sizeof types / sizeof *types) ? types[type] : NONE;
}
static enum dtype element_type(struct tflite *t, const struct tfl_tensor *x) {
    enum dtype type = type_of(x->type);
    if (type == NONE) error(t, E_TYPE, "tensor %s: element type %d is not supported", quote(t, x->name), x->type);
    return type;
}
/* Strings: their number, the offset of each and the end of the last, then the bytes. */
static const struct tensor *string_constant(struct tflite *t, const struct tfl_tensor *x) {
    struct tensor *s = tensor_new(arena_of(t), STR, x->dims, x->rank);
    uint32_t n = 0, at[2];
    if (s && x->nbytes >= 4) memcpy(&n, x->bytes, 4);
    if (!s || tensor_count(s) != n || (uint64_t)n * 4 + 8 > x->nbytes) goto damaged;
    struct str_elem *e = NEWN(arena_of(t), struct str_elem, n);
    for (uint32_t k = 0; k < n; k++) {
        memcpy(at, x->bytes + 4 + (size_t)k * 4, 8);
        if (at[0] > at[1] || at[1] > x->nbytes) goto damaged;
        e[k] = (struct str_elem){(const char *)x->bytes + at[0], at[1] - at[0]};
    }
    s->strs = e;
    return s;
damaged:
    return error(t, E_ONNX, "tensor %s: its strings are damaged", quote(t, x->name)), NULL;
}
static bool charge(struct tflite *t, int64_t bytes) {
    t->m.bytes += bytes;
    if (t->m.bytes <= t->m.o.max_bytes) return true;
    if (!t->m.stopped)
        error(t, E_LIMIT, "constants that had to be expanded take more than %lld bytes", (long long)t->m.o.max_bytes);
    return stop(t);
}
/* The dense form of a sparse constant: the levels are walked as nested loops, each over all its rows or those stored.
 */
struct dense {
    const struct tfl_sparsity *s;
    const struct tfl_tensor *x;
    int64_t level_size[2 * TFL_MAX_RANK], at[2 * TFL_MAX_RANK];
    int order[2 * TFL_MAX_RANK], block[TFL_MAX_RANK], nblocks;
    size_t width, next;
    uint8_t *to;
    int64_t steps;
};
static bool place_value(struct dense *d) {
    int64_t flat = 0, cell[TFL_MAX_RANK];
    int rank = d->x->rank;
    for (int k = 0; k < d->s->nlevels; k++) {
        int dim = d->order[k];
        if (dim < rank) cell[dim] = d->at[k];
    }
    for (int k = 0; k < d->s->nlevels; k++) {
        int dim = d->order[k];
        if (dim >= rank) {
            int whole = d->block[dim - rank];
            cell[whole] = cell[whole] * d->level_size[k] + d->at[k];
        }
    }
    for (int k = 0; k < rank; k++) {
        if (cell[k] < 0 || cell[k] >= d->x->dims[k]) return false;
        flat = flat * d->x->dims[k] + cell[k];
    }
    if (d->next + d->width > d->x->nbytes) return false;
    memcpy(d->to + (size_t)flat * d->width, d->x->bytes + d->next, d->width);
    d->next += d->width;
    return true;
}
static bool place_level(struct dense *d, int k, int64_t row) {
    if (k == d->s->nlevels) return place_value(d);
    const struct tfl_level *l = &d->s->levels[k];
    int64_t from = 0, to = l->dense_size;
    if (l->sparse) {
        if (row < 0 || row + 1 >= l->nsegments) return false;
        from = l->segments[row], to = l->segments[row + 1];
        if (from < 0 || to < from || to > l->nindices) return false;
    }
    for (int64_t i = from; i < to; i++) {
        if (--d->steps < 0) return false;
        d->at[k] = l->sparse ? l->indices[i] : i;
        if (!place_level(d, k + 1, l->sparse ? i : row * l->dense_size + i)) return false;
    }
    return true;
}
static bool read_levels(struct dense *d) {
    const struct tfl_sparsity *s = d->s;
    int rank = d->x->rank;
    d->nblocks = s->block_map.n;
    if (d->nblocks > rank || s->nlevels != rank + d->nblocks || s->traversal_order.n != s->nlevels) return false;
    for (int k = 0; k < d->nblocks; k++) {
        int32_t v;
        memcpy(&v, s->block_map.bytes + 4 * (size_t)k, 4);
        if (v < 0 || v >= rank) return false;
        d->block[k] = v;
    }
    uint64_t seen = 0;
    for (int k = 0; k < s->nlevels; k++) {
        int32_t v;
        memcpy(&v, s->traversal_order.bytes + 4 * (size_t)k, 4);
        if (v < 0 || v >= s->nlevels || seen >> v & 1) return false;
        seen |= UINT64_C(1) << v;
        d->order[k] = v;
        d->level_size[k] = s->levels[k].dense_size;
        if (s->levels[k].dense_size < 0 || (v >= rank && s->levels[k].sparse)) return false;
    }
    return true;
}
static const struct tensor *sparse_constant(struct tflite *t, const struct tfl_tensor *x, enum dtype type) {
    struct tensor *r = tensor_new(arena_of(t), type, x->dims, x->rank);
    int64_t bytes = r ? dtype_packed_bytes(type, tensor_count(r)) : -1;
    if (bytes < 0 || !charge(t, bytes)) return NULL;
    struct dense d = {
        .s = x->sparsity, .x = x, .width = (size_t)dtype_bytes(type), .steps = 4 * tensor_count(r) + 1024};
    d.to = tensor_data(r);
    if (dtype_bits(type) >= 8 && read_levels(&d) && place_level(&d, 0, 0)) return r;
    return error(t, E_ONNX, "tensor %s: its sparse form is damaged", quote(t, x->name)), NULL;
}
static const struct tensor *constant(struct tflite *t, const struct tfl_tensor *x) {
    enum dtype type = element_type(t, x);
    int64_t count = 1;
    if (type == NONE) return NULL;
    for (int k = 0; k < x->rank; k++) {
        if (x->dims[k] < 0 || (x->dims[k] && count > INT64_MAX / 16 / x->dims[k]))
            return error(t, E_SIZE, "constant %s has an impossible shape", quote(t, x->name)), NULL;
        count *= x->dims[k];
    }
    if (type == STR) return string_constant(t, x);
    if (x->sparsity) return sparse_constant(t, x, type);
    int64_t bytes = dtype_packed_bytes(type, count);
    if (bytes < 0 || (uint64_t)bytes > x->nbytes)
        return error(t, E_SIZE, "constant %s holds %zu bytes, not %lld", quote(t, x->name), x->nbytes,
                     (long long)bytes),
               NULL;
    struct tensor *r = NEW(arena_of(t), struct tensor);
    *r =
        (struct tensor){.type = type, .rank = x->rank, .source = TS_MAPPED, .bytes = x->bytes, .nbytes = (size_t)bytes};
    r->name = intern(t->m.c->names, x->name);
    memcpy(r->dims, x->dims, (size_t)x->rank * sizeof *r->dims);
    return r;
}
static double scale_at(const struct tfl_tensor *x, int k) {
    float f;
    memcpy(&f, x->scale.bytes + 4 * (size_t)k, 4);
    return (double)f;
}
static int64_t zero_at(const struct tfl_tensor *x, int k) {
    int64_t z;
    memcpy(&z, x->zero_point.bytes + 8 * (size_t)k, 8);
    return z;
}
static bool is_quantized(const struct tfl_tensor *x) { return x->scale.n > 0 && dtype_is_int(type_of(x->type)); }

/* ---- state: what a variable holds is an input of the model, and what it holds at the end an output. Both come behind
 * those of the file, in the order of their first use. */
static struct type tensor_type(struct tflite *t, const struct tfl_tensor *x, const char *name);
static struct variable *variable(struct tflite *t, const void *key, const char *name) {
    for (int k = 0; k < t->variables.n; k++)
        if (t->variables.v[k].key == key) return &t->variables.v[k];
    PUSH(arena_of(t), &t->variables, ((struct variable){.key = key, .name = name}));
    return &t->variables.v[t->variables.n - 1];
}
static bool may_have_state(struct tflite *t, const struct use_of *u) {
    if (u->region == t->m.g->top) return true;
    return error(t, E_OP, "variables in the branches of IF and the bodies of WHILE are not supported"), false;
}
/* The value of a variable now; x: the tensor that it is, or is read into. */
static struct value *state_of(struct tflite *t, struct use_of *u, struct variable *v, const struct tfl_tensor *x) {
    if (!may_have_state(t, u)) return NULL;
    if (!v->now) v->now = v->first = region_param(t->m.g->top, v->name, tensor_type(t, x, v->name));
    if (!v->init && type_of(x->type) == I8 && is_quantized(x) && x->zero_point.n) { /* LiteRT begins with real zeros */
        struct tensor *zero = tensor_new(arena_of(t), I8, NULL, 0);
        tensor_set_i(zero, 0, zero_at(x, 0));
        v->init = zero;
    }
    return v->now;
}
static const char *state_name(struct tflite *t, const char *name) {
    return intern(t->m.c->names, *name ? name : internf(t->m.c->names, "state_%d", t->variables.n));
}

/* The value of a tensor where an operator reads it: what a node before made, a constant, or a state. */
static struct value *value_of(struct tflite *t, struct use_of *u, int k) {
    const struct tfl_tensor *x = &u->g->tensors[k];
    struct value *v = u->values[k];
    if (x->is_variable) return state_of(t, u, variable(t, x, state_name(t, x->name)), x);
    if (v || (!x->bytes && x->nbytes == 0 && !x->rank)) return v;
    bool empty = false;
    for (int i = 0; i < x->rank; i++) empty |= x->dims[i] == 0;
    if (!x->bytes && !empty) return NULL;
    v = map_get(&t->constants, PKEY(x));
    if (v) return v;
    const struct tensor *c = constant(t, x);
    if (!c) return NULL;
    v = graph_const(t->m.g, c->name ? c->name : "", c);
    map_put(&t->constants, PKEY(x), v);
    return v;
}

/* ---- quantisation: in_scale, in_zero, out_scale, out_zero have an element for each input and output, mid_scale and
 * mid_zero for each intermediate result that the operator lists, scale 0 where there is none; an input with a scale for
 * each channel also gives channel_scale and channel_axis. */
static bool quantization_is_sound(struct tflite *t, const struct tfl_tensor *x) {
    if (x->odd_quantization)
        return error(t, E_OP, "tensor %s is quantized in a way that is not supported (blocks, several axes, custom)",
                     quote(t, x->name)),
               false;
    bool ok = x->zero_point.n == x->scale.n || x->zero_point.n <= 1;
    for (int k = 0; k < x->scale.n && ok; k++) ok = scale_at(x, k) >= 0 && scale_at(x, k) <= 3.4e38;
    for (int k = 0; k < x->zero_point.n && ok; k++)
        ok = zero_at(x, k) >= INT32_MIN && zero_at(x, k) <= INT32_MAX && (x->scale.n == 1 || zero_at(x, k) == 0);
    if (x->scale.n > 1) ok = ok && x->axis >= 0 && x->axis < x->rank && x->dims[x->axis] == x->scale.n;
    if (!ok) error(t, E_ATTR, "tensor %s: its scales and zero points do not fit it", quote(t, x->name));
    return ok;
}
static void set_floats(struct tflite *t, struct node *n, const char *name, const float *v, int count) {
    node_set_attr(n, (struct attr){.name = intern(t->m.c->names, name), .kind = AT_FLOATS, .n = count, .u.fs = v});
}
static void set_ints(struct tflite *t, struct node *n, const char *name, const int64_t *v, int count) {
    node_set_attr(n, (struct attr){.name = intern(t->m.c->names, name), .kind = AT_INTS, .n = count, .u.is = v});
}
static bool quantize(struct tflite *t, struct node *n, const struct tfl_graph *g, const int32_t *which, int count,
                     const char *side) {
    bool ins = !strcmp(side, "in");
    float *scale = NEWN(arena_of(t), float, count);
    int64_t *zero = NEWN(arena_of(t), int64_t, count);
    bool any = false;
    for (int k = 0; k < count; k++) {
        const struct tfl_tensor *x = which[k] < 0 ? NULL : &g->tensors[which[k]];
        bool bias =
            x && x->scale.n > 1 && (type_of(x->type) == I32 || type_of(x->type) == I64); /* as its weights say */
        if (!x || !is_quantized(x) || bias) continue;
        if (!quantization_is_sound(t, x)) return false;
        any = true;
        scale[k] = (float)scale_at(x, 0);
        zero[k] = x->zero_point.n ? zero_at(x, 0) : 0;
        if (!ins || x->scale.n == 1 || node_attr(n, "channel_scale")) continue;
        if (!charge(t, 4 * x->scale.n)) return false;
        set_floats(t, n, "channel_scale", arena_copy(arena_of(t), x->scale.bytes, 4 * (size_t)x->scale.n), x->scale.n);
        node_set_int(n, "channel_axis", x->axis);
    }
    if (!any) return true;
    set_floats(t, n, internf(t->m.c->names, "%s_scale", side), scale, count);
    set_ints(t, n, internf(t->m.c->names, "%s_zero", side), zero, count);
    return true;
}

/* ---- operators */
static void set_options(struct tflite *t, struct node *n, const struct tfl_operator *o) {
    for (int k = 0; k < o->nattrs; k++) {
        const struct tfl_attr *a = &o->attrs[k];
        struct attr to = {.name = intern(t->m.c->names, a->name)};
        switch (a->kind) {
        case TFL_INT: to.kind = AT_INT, to.u.i = a->i; break;
        case TFL_FLOAT: to.kind = AT_FLOAT, to.u.f = a->f; break;
        case TFL_STRING: to.kind = AT_STRING, to.u.s = (struct str_elem){a->s, strlen(a->s)}; break;
        case TFL_FLOATS:
            to.kind = AT_FLOATS, to.n = a->list.n;
            to.u.fs = arena_copy(arena_of(t), a->list.bytes, 4 * (size_t)a->list.n);
            break;
        case TFL_LONGS:
            to.kind = AT_INTS, to.n = a->list.n;
            to.u.is = arena_copy(arena_of(t), a->list.bytes, 8 * (size_t)a->list.n);
            break;
        case TFL_INTS: {
            int64_t *v = NEWN(arena_of(t), int64_t, a->list.n);
            for (int i = 0; i < a->list.n; i++) {
                int32_t e;
                memcpy(&e, a->list.bytes + 4 * (size_t)i, 4);
                v[i] = e;
            }
            to.kind = AT_INTS, to.n = a->list.n, to.u.is = v;
            break;
        }
        }
        if ((to.kind == AT_INTS || to.kind == AT_FLOATS) && !charge(t, 8 * to.n)) return;
        node_set_attr(n, to);
    }
}
static const struct tfl_attr *option(const struct tfl_operator *o, const char *name) {
    for (int k = 0; k < o->nattrs; k++)
        if (!strcmp(o->attrs[k].name, name)) return &o->attrs[k];
    return NULL;
}
static bool count_nodes(struct tflite *t, int n) {
    t->m.nodes += n;
    if (t->m.nodes <= t->m.o.max_nodes && t->m.nodes >= 0) return true;
    if (!t->m.stopped) error(t, E_LIMIT, "the model has more than %d nodes, calls inlined", t->m.o.max_nodes);
    return stop(t);
}
static bool inputs_of(struct tflite *t, struct use_of *u, const struct tfl_operator *o, struct value **ins) {
    for (int k = 0; k < o->nins; k++) {
        ins[k] = o->ins[k] < 0 ? NULL : value_of(t, u, o->ins[k]);
        if (ins[k] || o->ins[k] < 0 || t->m.stopped) continue;
        error(t, E_GRAPH, "input %d, tensor %s, has no value here", k, quote(t, u->g->tensors[o->ins[k]].name));
        return false;
    }
    return !t->m.stopped;
}
static void set_value(struct tflite *t, struct use_of *u, int k, struct value *v) {
    if (k < 0) return;
    if (v->def && !*v->name) v->name = intern(t->m.c->names, u->g->tensors[k].name);
    u->values[k] = v;
}
/* Builtin operators that nothing here takes, and why (docs/tflite.md; tests/tflite/operators holds all three together).
 */
static const struct refusal {
    const char *why, *names; /* a blank on either side of each */
} refusals[] = {
    {"LiteRT has no kernel for it",
     " CONCAT_EMBEDDINGS DELEGATE PLACEHOLDER_FOR_GREATER_OP_CODES STABLEHLO_ABS STABLEHLO_BROADCAST_IN_DIM "
     "STABLEHLO_CBRT STABLEHLO_CLAMP STABLEHLO_COMPARE STABLEHLO_CONCATENATE STABLEHLO_CONVERT STABLEHLO_CONVOLUTION "
     "STABLEHLO_COSINE STABLEHLO_CUSTOM_CALL STABLEHLO_DIVIDE STABLEHLO_DOT_GENERAL STABLEHLO_DYNAMIC_SLICE "
     "STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_IOTA STABLEHLO_LOG "
     "STABLEHLO_LOGISTIC STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REDUCE STABLEHLO_REMAINDER "
     "STABLEHLO_RESHAPE STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SLICE STABLEHLO_SORT STABLEHLO_SUBTRACT "
     "STABLEHLO_TANH STABLEHLO_TRANSPOSE STABLEHLO_WHILE "},
    {"what it draws depends on a generator that LiteRT keeps from run to run",
     " MULTINOMIAL RANDOM_STANDARD_NORMAL RANDOM_UNIFORM "},
    {"hash tables live in LiteRT's runtime", " HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE "},
    {"it is not supported", " EMBEDDING_LOOKUP_SPARSE HASHTABLE_LOOKUP LSH_PROJECTION REDUCE_WINDOW SKIP_GRAM "
                            "STABLEHLO_CASE STABLEHLO_GATHER STABLEHLO_REDUCE_WINDOW STABLEHLO_RNG_BIT_GENERATOR "
                            "STABLEHLO_SCATTER "},
};
static bool is_taken(struct tflite *t, const struct tfl_operator *o) {
    const char *name = internf(t->m.c->names, " %s ", o->name);
    for (size_t k = 0; k < sizeof refusals / sizeof *refusals && !o->custom; k++)
        if (strstr(refusals[k].names, name)) return error(t, E_OP, "operator %s: %s", o->name, refusals[k].why), false;
    return true;
}
static const char *const custom_domain = "tflite.custom";
static bool plain(struct tflite *t, struct use_of *u, const struct tfl_operator *o) {
    struct value **ins = NEWN(arena_of(t), struct value *, o->nins + 1);
    int states = 0;
    if (!is_taken(t, o) || !inputs_of(t, u, o, ins)) return false;
    for (int k = 0; k < o->nins; k++) states += o->ins[k] >= 0 && u->g->tensors[o->ins[k]].is_variable;
    const char *domain = intern(t->m.c->names, o->custom ? custom_domain : "tflite");
    struct node *n = node_new(u->region, NULL, domain, intern(t->m.c->names, o->name), ins, o->nins, o->nouts + states);
    n->version = 1;
    n->op = op_find(n->domain, n->op_type);
    n->name = o->nouts && o->outs[0] >= 0 ? intern(t->m.c->names, u->g->tensors[o->outs[0]].name) : "";
    n->origin = t->m.c->diags.origin;
    set_options(t, n, o);
    /* Codes are LiteRT's to the bit, unless they stand for floats that were computed. */
    if (!o->custom && !strcmp(o->name, "QUANTIZE") && n->ins.n && ins[0] && ins[0]->def)
        t->m.g->quantized |= type_of(u->g->tensors[o->ins[0]].type) == F32;
    if (!quantize(t, n, u->g, o->ins, o->nins, "in") || !quantize(t, n, u->g, o->outs, o->nouts, "out") ||
        !quantize(t, n, u->g, o->mids, o->nmids, "mid"))
        return false;
    if (o->nouts && o->outs[0] >= 0) node_set_int(n, "out_type", dtype_onnx(type_of(u->g->tensors[o->outs[0]].type)));
    if (o->custom)
        node_set_attr(n, (struct attr){.name = intern(t->m.c->names, "options"),
                                       .kind = AT_STRING,
                                       .u.s = {(const char *)o->options, o->noptions}});
    for (int k = 0; k < o->nouts; k++) set_value(t, u, o->outs[k], n->outs.v[k]);
    for (int k = 0, s = 0; k < o->nins; k++) /* the new state, behind what the operator gives */
        if (o->ins[k] >= 0 && u->g->tensors[o->ins[k]].is_variable)
            variable(t, &u->g->tensors[o->ins[k]], NULL)->now = n->outs.v[o->nouts + s++];
    return true;
}

/* ---- calls and control flow */
static bool walk(struct tflite *t, struct use_of *u);
/* Graph k of the file with these arguments, its operators at the end of r. results: as many as it has outputs. */
static bool call(struct tflite *t, struct region *r, int k, struct value *const *args, int nargs,
                 struct value ***results) {
    const char *origin = t->m.c->diags.origin;
    struct use_of u = {.g = &t->model->graphs[k], .region = r};
    if (t->depth == TFL_DEPTH)
        return error(t, E_LIMIT, "graphs call each other more than %d levels deep", TFL_DEPTH), stop(t);
    if (nargs != u.g->nins)
        return error(t, E_ARITY, "graph %s takes %d inputs, not %d", quote(t, u.g->name), u.g->nins, nargs), false;
    if (!count_nodes(t, u.g->ntensors)) return false;
    u.values = NEWN(arena_of(t), struct value *, u.g->ntensors);
    u.handles = NEWN(arena_of(t), const void *, u.g->ntensors);
    for (int i = 0; i < nargs; i++) u.values[u.g->ins[i]] = args[i];
    t->depth++;
    bool ok = walk(t, &u);
    t->depth--;
    t->m.c->diags.origin = origin;
    *results = NEWN(arena_of(t), struct value *, u.g->nouts + 1);
    for (int i = 0; i < u.g->nouts && ok; i++) {
        (*results)[i] = value_of(t, &u, u.g->outs[i]);
        if ((*results)[i]) continue;
        error(t, E_GRAPH, "output %d of graph %s has no value", i, quote(t, u.g->name));
        ok = false;
    }
    return ok;
}
static bool callee(struct tflite *t, const struct tfl_operator *o, const char *name, int *k) {
    const struct tfl_attr *a = option(o, name);
    *k = a ? (int)a->i : 0;
    if (*k >= 0 && *k < t->model->ngraphs && (!a || a->i == *k)) return true;
    return error(t, E_ATTR, "option %s: there is no graph %d", name, *k), false;
}
static struct node *control_node(struct tflite *t, struct use_of *u, const char *op, struct value *const *ins, int nins,
                                 int nouts) {
    struct node *n = node_new(u->region, NULL, "", op, ins, nins, nouts);
    n->op = op_find("", op);
    n->version = OPSET_NEWEST;
    n->origin = t->m.c->diags.origin;
    return n;
}
/* A body of n that is a call of graph k, its parameters behind those that are there. */
static struct region *body(struct tflite *t, struct node *n, const char *attr, const char *name) {
    struct region *r = region_new(t->m.g, n, name);
    node_set_attr(n, (struct attr){.name = intern(t->m.c->names, attr), .kind = AT_REGION, .u.region = r});
    return r;
}
static void add_params(struct region *r, struct value *const *like, int n) {
    for (int i = 0; i < n; i++) {
        struct type unknown = {.kind = TY_NONE, .rank = -1};
        struct type ty = like[i]->type.kind == TY_TENSOR ? like[i]->type : unknown;
        region_param(r, like[i]->name, ty);
    }
}
static bool branch(struct tflite *t, struct node *n, const char *attr, int k, struct value *const *args, int nargs,
                   int nouts) {
    struct region *r = body(t, n, attr, t->model->graphs[k].name);
    struct value **results;
    add_params(r, args, nargs);
    if (!call(t, r, k, r->params.v, nargs, &results)) return false;
    if (t->model->graphs[k].nouts != nouts)
        return error(t, E_ARITY, "graph %s gives %d results, not %d", quote(t, t->model->graphs[k].name),
                     t->model->graphs[k].nouts, nouts),
               false;
    for (int i = 0; i < nouts; i++) region_result(r, results[i]);
    return true;
}
static bool if_operator(struct tflite *t, struct use_of *u, const struct tfl_operator *o) {
    struct value **ins = NEWN(arena_of(t), struct value *, o->nins + 1);
    int then_k, else_k;
    if (!inputs_of(t, u, o, ins) || !callee(t, o, "then_subgraph_index", &then_k) ||
        !callee(t, o, "else_subgraph_index", &else_k))
        return false;
    if (o->nins < 1 || !ins[0]) return error(t, E_ARITY, "IF without a condition"), false;
    struct node *n = control_node(t, u, "If", ins, o->nins, o->nouts);
    if (o->nins > 1) node_set_int(n, "captures", o->nins - 1);
    if (!branch(t, n, "then_branch", then_k, ins + 1, o->nins - 1, o->nouts) ||
        !branch(t, n, "else_branch", else_k, ins + 1, o->nins - 1, o->nouts))
        return false;
    for (int k = 0; k < o->nouts; k++) set_value(t, u, o->outs[k], n->outs.v[k]);
    return true;
}
/* Loop(no count, cond(v), v...): the body is TFLite's body, then the condition of its results. */
static bool while_operator(struct tflite *t, struct use_of *u, const struct tfl_operator *o) {
    struct value **ins = NEWN(arena_of(t), struct value *, o->nins + 2), **first, **next, **again;
    int cond, loop;
    if (!inputs_of(t, u, o, ins + 2) || !callee(t, o, "cond_subgraph_index", &cond) ||
        !callee(t, o, "body_subgraph_index", &loop))
        return false;
    if (!call(t, u->region, cond, ins + 2, o->nins, &first)) return false;
    if (t->model->graphs[cond].nouts != 1 || t->model->graphs[loop].nouts != o->nins || o->nouts != o->nins)
        return error(t, E_ARITY, "the graphs of this WHILE do not fit each other"), false;
    ins[1] = first[0];
    struct node *n = control_node(t, u, "Loop", ins, o->nins + 2, o->nouts);
    struct region *r = body(t, n, "body", t->model->graphs[loop].name);
    region_param(r, "pass", type_tensor(t->m.c, I64, NULL, 0));
    region_param(r, "cond", type_tensor(t->m.c, BOOL, NULL, 0));
    add_params(r, ins + 2, o->nins);
    struct value **params = arena_copy(arena_of(t), r->params.v + 2, (size_t)o->nins * sizeof *params);
    if (!call(t, r, loop, params, o->nins, &next) || !call(t, r, cond, next, o->nins, &again)) return false;
    region_result(r, again[0]);
    for (int k = 0; k < o->nins; k++) region_result(r, next[k]);
    for (int k = 0; k < o->nouts; k++) set_value(t, u, o->outs[k], n->outs.v[k]);
    return true;
}
static bool call_operator(struct tflite *t, struct use_of *u, const struct tfl_operator *o, const char *attr) {
    struct value **ins = NEWN(arena_of(t), struct value *, o->nins + 1), **results;
    int k;
    if (!inputs_of(t, u, o, ins) || !callee(t, o, attr, &k) || !call(t, u->region, k, ins, o->nins, &results))
        return false;
    if (t->model->graphs[k].nouts < o->nouts)
        return error(t, E_ARITY, "graph %s gives fewer than %d results", quote(t, t->model->graphs[k].name), o->nouts),
               false;
    for (int i = 0; i < o->nouts; i++) set_value(t, u, o->outs[i], results[i]);
    return true;
}
static bool called(struct tflite *t, struct use_of *u, const struct tfl_operator *o) {
    return call_operator(t, u, o, "subgraph");
}
static bool composite(struct tflite *t, struct use_of *u, const struct tfl_operator *o) {
    return call_operator(t, u, o, "decomposition_subgraph_index");
}
/* ---- resources: a handle is known by the name of its variable */
static bool handle_operator(struct tflite *t, struct use_of *u, const struct tfl_operator *o) {
    const struct tfl_attr *a = option(o, "shared_name"), *b = option(o, "container");
    const char *key = onnx_key(&t->m, b && b->s ? b->s : "", a && a->s ? a->s : "", "variable");
    if (o->nouts != 1 || o->outs[0] < 0) return error(t, E_ARITY, "VAR_HANDLE without a result"), false;
    struct variable *v = variable(t, key, state_name(t, a && a->s ? a->s : ""));
    u->handles[o->outs[0]] = v->key;
    return true;
}
static struct variable *handle(struct tflite *t, struct use_of *u, const struct tfl_operator *o) {
    const void *key = o->nins > 0 && o->ins[0] >= 0 ? u->handles[o->ins[0]] : NULL;
    if (!key) error(t, E_OP, "the variable is not named by a VAR_HANDLE of the same graph");
    return key ? variable(t, key, NULL) : NULL;
}
static bool read_operator(struct tflite *t, struct use_of *u, const struct tfl_operator *o) {
    struct variable *v = handle(t, u, o);
    if (!v) return false;
    if (o->nouts != 1 || o->outs[0] < 0) return error(t, E_ARITY, "READ_VARIABLE without a result"), false;
    struct value *now = state_of(t, u, v, &u->g->tensors[o->outs[0]]);
    if (now) set_value(t, u, o->outs[0], now);
    return now != NULL;
}
/* In the graph of CALL_ONCE a constant that is assigned is the first value; elsewhere the value from here on. */
static bool assign_operator(struct tflite *t, struct use_of *u, const struct tfl_operator *o) {
    struct variable *v = handle(t, u, o);
    struct value *x = v && o->nins > 1 && o->ins[1] >= 0 ? value_of(t, u, o->ins[1]) : NULL;
    if (!x) return t->m.c->diags.errors ? false : (error(t, E_ARITY, "ASSIGN_VARIABLE without a value"), false);
    if (t->once) {
        if (!x->init) return error(t, E_OP, "CALL_ONCE assigns a value that is no constant"), false;
        v->init = x->init;
        return true;
    }
    if (!may_have_state(t, u)) return false;
    if (!v->first) v->first = region_param(t->m.g->top, v->name, tensor_type(t, &u->g->tensors[o->ins[1]], v->name));
    v->now = x;
    return true;
}
static bool once_operator(struct tflite *t, struct use_of *u, const struct tfl_operator *o) {
    struct value **results;
    int k;
    if (!callee(t, o, "init_subgraph_index", &k)) return false;
    t->once++;
    bool ok = call(t, u->region, k, NULL, 0, &results);
    t->once--;
    return ok;
}
static const struct walker {
    const char *name;
    bool (*fn)(struct tflite *t, struct use_of *u, const struct tfl_operator *o);
} walkers[] = {{"IF", if_operator},
               {"WHILE", while_operator},
               {"CALL", called},
               {"CALL_ONCE", once_operator},
               {"STABLEHLO_COMPOSITE", composite},
               {"VAR_HANDLE", handle_operator},
               {"READ_VARIABLE", read_operator},
               {"ASSIGN_VARIABLE", assign_operator}};

static bool walk(struct tflite *t, struct use_of *u) {
    const char *outer = u->region->owner ? u->region->owner->origin : NULL;
    for (int k = 0; k < u->g->noperators && !t->m.stopped; k++) {
        const struct tfl_operator *o = &u->g->operators[k];
        const char *name = o->nouts && o->outs[0] >= 0 ? u->g->tensors[o->outs[0]].name : "";
        bool (*fn)(struct tflite *, struct use_of *, const struct tfl_operator *) = plain;
        const char *origin = t->m.c->diags.origin = origin_text(t->m.c, outer, k, name, o->name);
        trace_source(t->m.g, origin);
        if (!count_nodes(t, 1)) return false;
        for (size_t w = 0; w < sizeof walkers / sizeof *walkers && !o->custom; w++)
            if (!strcmp(walkers[w].name, o->name)) fn = walkers[w].fn;
        if (!fn(t, u, o)) return false;
        if (fn == plain) continue;
        trace_because(t->m.g, NULL, "what it calls stands in its place"); /* unless it has a node */
        trace_removed(t->m.g, origin);
    }
    t->m.c->diags.origin = NULL;
    return !t->m.stopped;
}

/* ---- the model */
static struct type tensor_type(struct tflite *t, const struct tfl_tensor *x, const char *name) {
    const struct shape_option *given = onnx_shape_of(&t->m, name);
    Onnx__TypeProto__Tensor p =
        ONNX__TYPE_PROTO__TENSOR__INIT; /* so that sizes and options are read by the same code */
    Onnx__TensorShapeProto s = ONNX__TENSOR_SHAPE_PROTO__INIT;
    Onnx__TensorShapeProto__Dimension dims[TFL_MAX_RANK], *list[TFL_MAX_RANK];
    for (int k = 0; k < x->rank; k++) {
        onnx__tensor_shape_proto__dimension__init(list[k] = &dims[k]);
        if (x->dims[k] < 0) continue;
        dims[k].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        dims[k].dim_value = x->dims[k];
    }
    s.n_dim = (size_t)x->rank, s.dim = list;
    p.elem_type = dtype_onnx(element_type(t, x)), p.shape = &s;
    return onnx_tensor_type(&t->m, &p, name, given && given->n == 1 ? given->v : NULL, "--shape", false);
}
/* NULL: the first graph is the entry, or a diagnostic. */
static const struct tfl_signature *signature_of(struct tflite *t) {
    const char *key = t->m.o.signature;
    struct text known = {0};
    if (!key) return t->model->nsignatures == 1 ? &t->model->signatures[0] : NULL;
    for (int k = 0; k < t->model->nsignatures; k++) {
        if (!strcmp(t->model->signatures[k].key, key)) return &t->model->signatures[k];
        text_printf(&known, "%s%s", k ? ", " : "", quote(t, t->model->signatures[k].key));
    }
    error(t, E_USAGE, "--signature %s: the model has none of that name", quote(t, key));
    diag_help(&t->m.c->diags, "its signatures are: %s", known.n ? known.s : "none");
    text_free(&known);
    return NULL;
}
/* A signature that was asked for names inputs and outputs; else they have the names of their tensors. The order is that
 * of the graph, as LiteRT's interpreter has it. */
static const char *port_name(struct tflite *t, const struct tfl_graph *g, int tensor, const struct tfl_port *ports,
                             int n) {
    const char *name = g->tensors[tensor].name;
    for (int k = 0; k < n && t->m.o.signature; k++)
        if (ports[k].tensor == tensor && *ports[k].name) name = ports[k].name;
    return intern(t->m.c->names, *name ? name : internf(t->m.c->names, "tensor_%d", tensor));
}
static bool build(struct tflite *t) {
    struct importer *m = &t->m;
    struct diags *d = &m->c->diags;
    int before = d->errors;
    const struct tfl_signature *sig = signature_of(t);
    const struct tfl_graph *g = &t->model->graphs[sig ? sig->graph : 0];
    struct scope top = {.region = m->g->top, .names = {.arena = arena_of(t)}};
    struct value **args = NEWN(arena_of(t), struct value *, g->nins + 1), **results;
    for (int k = 0; k < g->nins; k++) {
        const char *name = port_name(t, g, g->ins[k], sig ? sig->ins : NULL, sig ? sig->nins : 0);
        d->origin = arena_printf(arena_of(t), "input %s", quote(t, name));
        args[k] = region_param(m->g->top, name, tensor_type(t, &g->tensors[g->ins[k]], name));
        onnx_declare(m, &top, name, args[k]);
    }
    d->origin = NULL;
    onnx_check_options(m);
    if (d->errors > before || !call(t, m->g->top, (int)(g - t->model->graphs), args, g->nins, &results)) return false;
    for (int k = 0; k < g->nouts; k++)
        graph_output(m->g, results[k], port_name(t, g, g->outs[k], sig ? sig->outs : NULL, sig ? sig->nouts : 0));
    for (int k = 0; k < t->variables.n; k++) {
        const struct variable *v = &t->variables.v[k];
        if (!v->first) continue;
        graph_output(m->g, v->now, internf(m->c->names, "%s_next", v->name));
        PUSH(arena_of(t), &m->g->kept, ((struct state){v->first->index, m->g->top->results.n - 1, v->init}));
    }
    onnx_rows(m);
    onnx_take_ranks(m);
    return d->errors == before && graph_verify(m->g, NULL);
}
static struct graph *import_bytes(struct ctx *c, const char *path, const uint8_t *data, size_t n,
                                  const struct import_options *o) {
    struct tflite t = {.m = {.c = c, .external = {.folder = -1}}};
    const char *why;
    onnx_start(&t.m, o);
    t.constants.arena = &c->arena;
    if ((uintptr_t)data % 16) data = arena_copy(&c->arena, data, n);
    t.model = tfl_read(&c->arena, data, n, &why);
    if (!t.model)
        return error(&t, E_ONNX, "not a valid TensorFlow Lite model: %s", why ? diag_quote(&c->arena, why) : ""), NULL;
    t.m.g = graph_new(c, t.model->graphs[0].name);
    trace_pass(t.m.g, "import");
    t.m.g->file = c->diags.file;
    t.m.g->file_bytes = (int64_t)n;
    if (*t.model->description)
        PUSH(&c->arena, &t.m.g->metadata, ((struct metadata){"description", intern(c->names, t.model->description)}));
    PUSH(&c->arena, &t.m.g->opsets, ((struct opset){intern(c->names, "tflite"), 1}));
    PUSH(&c->arena, &c->files_read, intern(c->names, path));
    return build(&t) ? t.m.g : NULL;
}
#else
static struct graph *import_bytes(struct ctx *c, const char *path, const uint8_t *data, size_t n,
                                  const struct import_options *o) {
    (void)path, (void)data, (void)n, (void)o;
    diag(&c->diags, DIAG_ERROR, E_ENV, "this gcc2nn was built without flatbuffers and reads no TensorFlow Lite models");
    diag_help(&c->diags,
              "install flatbuffers (libflatbuffers-dev, flatbuffers-compiler) and build again, or convert the "
              "model with `python3 -m tf2onnx.convert --tflite MODEL --output model.onnx`");
    return NULL;
}
#endif

bool is_tflite(const uint8_t *data, size_t n) { return n >= 8 && !memcmp(data + 4, "TFL3", 4); }
struct graph *import_tflite_bytes(struct ctx *c, const char *path, const uint8_t *data, size_t n,
                                  const struct import_options *o) {
    const char *file = c->diags.file, *origin = c->diags.origin;
    c->diags.file = intern(c->names, path);
    c->diags.origin = NULL;
    struct graph *g = import_bytes(c, path, data, n, o);
    c->diags.file = file;
    c->diags.origin = origin;
    return g;
}
struct graph *import_model(struct ctx *c, const char *path, const struct import_options *o) {
    struct mapped_file file;
    if (other_format_folder(&c->diags, path) || !file_map(&c->diags, path, &file)) return NULL;
    bool tflite = is_tflite(file.bytes, file.size);
    if (!tflite && o && o->signature)
        diag_at(&c->diags, DIAG_ERROR, E_USAGE, path, NULL, "--signature: only TensorFlow Lite models have signatures");
    struct graph *g = tflite ? import_tflite_bytes(c, path, file.bytes, file.size, o)
                             : import_onnx_bytes(c, path, file.bytes, file.size, o);
    if (!g) file_unmap(&file);
    return c->diags.errors ? NULL : g;
}
