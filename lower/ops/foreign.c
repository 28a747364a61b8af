/* The definition of operators that the user has written. A function of scalars is a map, of what its C says; any other
 * is a call of it, whose sizes its comment says. Not a family of its own: rows come from compiler/custom/. */
#include "lower/ops/foreign.h"
#include "lower/ops/ops.h"
#include <string.h>

/* ---- names of sizes */
struct size {
    const char *name;
    X dims;
    bool many;
};
enum { SIZES_MAX = 64 };
struct sizes_said {
    int n;
    struct size v[SIZES_MAX];
};
static const struct size *size_named(const struct sizes_said *q, const char *name) {
    for (int k = 0; k < q->n; k++)
        if (!strcmp(q->v[k].name, name)) return &q->v[k];
    return NULL;
}
static E size_value(void *env, const char *name) {
    const struct size *s = size_named(env, name);
    return s ? product(s->dims) : NULL;
}
static bool name_size(struct sizes_said *q, const char *name, X dims, bool many) {
    if (fail_if(q->n == SIZES_MAX, E_LIMIT, "more than %d sizes", SIZES_MAX)) return false;
    q->v[q->n++] = (struct size){name, dims, many};
    return true;
}
static int dims_of(const struct sizes_said *q, const struct foreign_dim *d, int rest) {
    const struct size *s = d->name ? size_named(q, d->name) : NULL;
    return !d->many ? 1 : s ? s->dims.n : rest;
}
/* What a formula divides by, unless one of its conditions decides whether it does. */
static void require_divisors(const struct sizes_said *q, const struct formula *f) {
    bool divides = f->kind == FORMULA_DIV || f->kind == FORMULA_REST;
    for (int k = 0; k < 3 && f->arg[k] && (k == 0 || f->kind != FORMULA_SELECT); k++) require_divisors(q, f->arg[k]);
    if (divides && f->arg[1]->kind != FORMULA_NUMBER)
        require(ne(formula_value(f->arg[1], size_value, (void *)q), idx(0)), "a size is divided by 0");
}
static E checked_value(const struct sizes_said *q, const struct formula *f) {
    require_divisors(q, f);
    return formula_value(f, size_value, (void *)q);
}
/* The dims of an operand against what its comment says: names without a value get one, all else must be equal. */
static bool take_dims(struct sizes_said *q, const struct foreign_op_param *p, T t) {
    int said = 0, at = 0;
    if (!p->shaped) return true;
    bool open = false;
    for (int k = 0; k < p->ndims; k++) {
        bool fresh = p->dims[k].many && !size_named(q, p->dims[k].name);
        open |= fresh;
        said += fresh ? 0 : dims_of(q, &p->dims[k], 0);
    }
    int rest = rank(t) - said;
    if (fail_if(open ? rest < 0 : rest != 0, E_RANK, "input %s has %d dims, its operator says %s%d", p->name, rank(t),
                open ? "at least " : "", said))
        return false;
    for (int k = 0; k < p->ndims; k++) {
        const struct foreign_dim *d = &p->dims[k];
        const struct size *known = d->name ? size_named(q, d->name) : NULL;
        int n = dims_of(q, d, rest);
        X part = sub_list(shape(t), at, n);
        at += n;
        if (d->name && !known) {
            if (!name_size(q, d->name, part, d->many)) return false;
            continue;
        }
        for (int i = 0; i < n; i++) {
            E want = known ? known->dims.v[i] : checked_value(q, d->value);
            require(eq(part.v[i], want), "dim %d of input %s is not what its operator says", at - n + i, p->name);
        }
    }
    return true;
}
static bool result_dims(const struct sizes_said *q, const struct foreign_op_param *p, X *dims) {
    *dims = list0();
    for (int k = 0; k < p->ndims; k++) {
        const struct size *s = p->dims[k].name ? size_named(q, p->dims[k].name) : NULL;
        if (p->dims[k].name &&
            fail_if(!s, E_SHAPE, "size %s of result %s is that of no input", p->dims[k].name, p->name))
            return false;
        if (s) *dims = cat(*dims, s->dims);
        if (s) continue;
        E e = checked_value(q, p->dims[k].value);
        require(le(idx(0), e), "dim %d of result %s is negative", k, p->name);
        *dims = push(*dims, e);
    }
    return true;
}

/* ---- the instance for the node's types */
enum { FOREIGN_PARAMS = 64 };
struct instance {
    enum dtype types[FOREIGN_TYPES]; /* of the template's parameters */
    bool absent[FOREIGN_PARAMS];     /* parameters that are NULL */
};
static enum dtype type_of(const struct foreign_op_param *p, const struct instance *q) {
    return p->type != NONE ? p->type : q->types[p->of];
}
static bool find_types(const struct foreign_op *op, struct instance *q) {
    for (int k = 0, input = 0; k < op->n; k++) {
        const struct foreign_op_param *p = &op->params[k];
        if (!foreign_is_input(p)) continue;
        T t = in(input++);
        q->absent[k] = !t && p->optional;
        if (q->absent[k]) continue;
        if (!t) return false;
        if (p->type == NONE && q->types[p->of] == NONE) q->types[p->of] = dtype(t);
        if (fail_if(dtype(t) != type_of(p, q), E_TYPE, "input %s is %s, its operator takes %s", p->name,
                    dtype_name(dtype(t)), dtype_name(type_of(p, q))))
            return false;
    }
    for (int k = 0; k < op->ntypes; k++)
        if (fail_if(q->types[k] == NONE, E_TYPE, "no input says what type %s is", op->types[k])) return false;
    return true;
}
static struct foreign_body instance_body(const struct foreign_op *op, const struct foreign_body *b,
                                         const struct instance *q) {
    const char *words = "";
    for (int k = 0; k < op->ntypes; k++)
        words = format(up_ctx(def_node()), "%s%s%s", words, k ? ", " : "", dtype_c(q->types[k]));
    if (!b->source || !op->ntypes || b->source->language == FOREIGN_C) return *b;
    return (struct foreign_body){b->source, format(up_ctx(def_node()), "%s<%s>", b->function, words)};
}
/* One for each set of types, and of pointers that are NULL, so that equal calls name equal functions. */
static struct foreign *instance_of(const struct foreign_op *op, const struct instance *q) {
    struct ctx *c = up_ctx(def_node());
    const char *name = op->word;
    for (int k = 0; k < op->ntypes; k++) name = internf(c->names, "%s_%s", name, dtype_name(q->types[k]));
    for (int k = 0; k < op->n; k++)
        if (q->absent[k]) name = internf(c->names, "%s_without_%s", name, op->params[k].name);
    name = intern(c->names, name);
    struct foreign *f = map_get(&c->foreigns, PKEY(name));
    if (f) return f;
    f = NEW(&c->arena, struct foreign);
    struct foreign_param *params = NEWN(&c->arena, struct foreign_param, op->n + 1);
    for (int k = 0; k < op->n; k++)
        params[k] = (struct foreign_param){op->params[k].name, q->absent[k] ? FOREIGN_ABSENT : op->params[k].use,
                                           type_of(&op->params[k], q), op->params[k].c};
    *f = (struct foreign){.op = op->op,
                          .name = name,
                          .n = op->n,
                          .params = params,
                          .cpu = instance_body(op, &op->cpu, q),
                          .gpu = instance_body(op, &op->gpu, q),
                          .load = op->load};
    map_put(&c->foreigns, PKEY(name), f);
    return f;
}

/* ---- a call */
static int64_t int_of(const struct foreign_op_param *p, enum dtype t) {
    int64_t lo, hi, v = int_attr(p->name);
    foreign_range(t, &lo, &hi);
    (void)fail_if(v < lo || v > hi, E_ATTR, "attribute %s is %lld, which does not fit the operator's parameter",
                  p->name, (long long)v);
    return v;
}
static E number_value(const struct sizes_said *q, const struct foreign_op_param *p, enum dtype t) {
    int64_t lo, hi;
    if (p->attribute) return dtype_is_int(t) ? idx(int_of(p, t)) : typed(t, float_attr(p->name));
    foreign_range(t, &lo, &hi);
    E e = product(size_named(q, p->name)->dims);
    if (hi < INT64_MAX) require(le(e, idx(hi)), "size %s does not fit the operator's parameter", p->name);
    return e;
}
/* The cells of an attribute that is a list or a text; NULL: there are none. */
static struct tensor *attribute_cells(const struct foreign_op_param *p) {
    struct arena *a = &up_ctx(def_node())->arena;
    const int64_t *ints;
    const float *floats;
    const char *text = p->kind == AT_STRING ? str_attr(p->name) : NULL;
    if (text && !*text && p->optional && !has_attr(p->name)) return NULL;
    int64_t n = text                 ? (int64_t)strlen(text) + 1
                : p->kind == AT_INTS ? ints_attr(p->name, &ints)
                                     : floats_attr(p->name, &floats);
    struct tensor *t = n ? tensor_new(a, p->type, &n, 1) : NULL;
    for (int64_t i = 0; i < n; i++)
        if (text) tensor_set_i(t, i, text[i]);
        else if (p->kind == AT_INTS) tensor_set_i(t, i, ints[i]);
        else tensor_set_f(t, i, (double)floats[i]);
    return t;
}
/* Attributes that count, and the lengths of lists. */
static bool take_attributes(struct sizes_said *q, const struct foreign_op *op, const struct tensor **cells) {
    for (int k = 0; k < op->n; k++) {
        const struct foreign_op_param *p = &op->params[k];
        if (!p->attribute) continue;
        bool number = p->use == FOREIGN_NUMBER;
        if (number && dtype_is_int(p->type) && !name_size(q, p->name, list1(idx(int_attr(p->name))), false))
            return false;
        if (!number) cells[k] = attribute_cells(p);
        if (number || !p->count) continue;
        int64_t n = cells[k] ? cells[k]->dims[0] : 0;
        const struct size *known = size_named(q, p->count);
        if (known) require(eq(product(known->dims), idx(n)), "the lists of length %s differ", p->count);
        else if (!name_size(q, p->count, list1(idx(n)), false)) return false;
    }
    return true;
}
/* What only an absent input would have named is 0. */
static bool name_rest(struct sizes_said *q, const struct foreign_op_param *p) {
    for (int k = 0; k < p->ndims; k++) {
        const struct foreign_dim *d = &p->dims[k];
        if (!d->name || size_named(q, d->name)) continue;
        if (!name_size(q, d->name, list1(idx(0)), d->many)) return false;
    }
    return true;
}
static bool take_inputs(struct sizes_said *q, const struct foreign_op *op, const struct instance *types) {
    for (int k = 0, input = 0; k < op->n; k++)
        if (foreign_is_input(&op->params[k]) && !types->absent[k]) {
            if (!take_dims(q, &op->params[k], in(input++))) return false;
        } else input += foreign_is_input(&op->params[k]);
    for (int k = 0; k < op->n; k++)
        if (foreign_is_input(&op->params[k]) && types->absent[k] && !name_rest(q, &op->params[k])) return false;
    return true;
}
static void call(const struct foreign_op *op) {
    struct sizes_said sizes = {0};
    struct instance types = {{NONE}, {false}};
    const struct tensor *cells[FOREIGN_PARAMS] = {0};
    struct foreign_slice ops[FOREIGN_PARAMS];
    E numbers[FOREIGN_PARAMS], grid[6];
    int nops = 0, nnumbers = 0, ins = 0, outs = 0;
    if (!find_types(op, &types) || !take_attributes(&sizes, op, cells) || !take_inputs(&sizes, op, &types)) return;
    X each = list0();
    const struct size *rows = op->each ? size_named(&sizes, op->each) : NULL;
    if (op->each && fail_if(!rows, E_SHAPE, "size %s, which the operator is called for, is that of no input", op->each))
        return;
    if (rows) each = axes(rows->dims);
    for (int k = 0; k < op->n; k++) {
        const struct foreign_op_param *p = &op->params[k];
        enum dtype t = type_of(p, &types);
        bool sliced = rows && p->ndims && p->dims[0].name && !strcmp(p->dims[0].name, op->each);
        X dims;
        if (p->use == FOREIGN_NUMBER) {
            numbers[nnumbers++] = number_value(&sizes, p, t);
        } else if (p->use == FOREIGN_READ) {
            T from = !p->attribute ? in(ins++) : cells[k] ? const_table(p->name, cells[k]) : NULL;
            types.absent[k] = !from;
            if (from) ops[nops++] = (struct foreign_slice){from, sliced};
        } else {
            types.absent[k] = p->optional && !wants(outs);
            if (!types.absent[k] && !result_dims(&sizes, p, &dims)) return;
            if (!types.absent[k]) ops[nops++] = (struct foreign_slice){result(outs, t, dims), sliced};
            outs++;
        }
    }
    for (int k = 0; k < 6 && op->gpu.source; k++) grid[k] = checked_value(&sizes, op->grid[k]);
    call_foreign(instance_of(op, &types), ops, nops, numbers, nnumbers, each, op->gpu.source ? grid : NULL);
}

/* ---- a function of scalars */
struct cell {
    const struct foreign_op *op;
    X at;
};
static E cell_value(void *env, const char *name) {
    const struct cell *q = env;
    for (int k = 0, input = 0; k < q->op->n; k++) {
        const struct foreign_op_param *p = &q->op->params[k];
        bool here = !strcmp(p->name, name);
        if (here && p->attribute)
            return dtype_is_int(p->type) ? x_const_i(up_ctx(def_node()), dtype_value(p->type), int_of(p, p->type))
                                         : typed(p->type, float_attr(name));
        if (here) return at(in(input), bcast(in(input), q->at));
        input += !p->attribute;
    }
    return NULL;
}
enum { FOREIGN_INS = 64 };
static bool scalar_inputs(const struct foreign_op *op, T ins[FOREIGN_INS], int *n) {
    for (int k = 0; k < op->n; k++) {
        if (op->params[k].attribute) continue;
        T t = ins[*n] = in(*n);
        ++*n;
        if (!t || fail_if(dtype(t) != op->params[k].type, E_TYPE, "input %s is %s, its operator takes %s",
                          op->params[k].name, dtype_name(dtype(t)), dtype_name(op->params[k].type)))
            return false;
    }
    return !fail_if(!*n, E_ARITY, "a function without inputs");
}
static void map(const struct foreign_op *op, const T *ins, int n) {
    struct cell q = {op, axes(bcast_shape(ins, n))};
    out(0, op->result, q.at, formula_value(op->value, cell_value, &q));
}
/* The same by calls: what has other dims than the result is written out before. */
static struct foreign *function_of_cells(const struct foreign_op *op) {
    struct ctx *c = up_ctx(def_node());
    struct foreign *f = map_get(&c->foreigns, PKEY(intern(c->names, op->word)));
    if (f) return f;
    f = NEW(&c->arena, struct foreign);
    struct foreign_param *params = NEWN(&c->arena, struct foreign_param, op->n + 2);
    for (int k = 0; k < op->n; k++)
        params[k] = (struct foreign_param){op->params[k].name, op->params[k].attribute ? FOREIGN_NUMBER : FOREIGN_READ,
                                           op->params[k].type, op->params[k].c};
    params[op->n] = (struct foreign_param){"result", FOREIGN_WRITTEN, op->result, NULL};
    params[op->n + 1] = (struct foreign_param){"cells", FOREIGN_NUMBER, I64, NULL};
    *f = (struct foreign){.op = op->op,
                          .name = op->word,
                          .n = op->n + 2,
                          .params = params,
                          .cpu = op->cpu,
                          .by_cell = true,
                          .load = op->load};
    map_put(&c->foreigns, PKEY(intern(c->names, op->word)), f);
    return f;
}
static void call_by_cell(const struct foreign_op *op, const T *ins, int n) {
    struct foreign_slice ops[FOREIGN_INS + 1];
    E numbers[FOREIGN_INS + 1];
    int nnumbers = 0;
    X dims = bcast_shape(ins, n);
    for (int k = 0; k < n; k++) {
        bool same = rank(ins[k]) == dims.n;
        for (int d = 0; same && d < dims.n; d++) same = dim(ins[k], d) == dims.v[d];
        X at_ = axes(dims);
        ops[k] = (struct foreign_slice){
            same ? ins[k] : stage("wide", dtype(ins[k]), at_, at(ins[k], bcast(ins[k], at_))), false};
    }
    for (int k = 0; k < op->n; k++)
        if (op->params[k].attribute) numbers[nnumbers++] = number_value(NULL, &op->params[k], op->params[k].type);
    numbers[nnumbers++] = product(dims);
    ops[n] = (struct foreign_slice){result(0, op->result, dims), false};
    call_foreign(function_of_cells(op), ops, n + 1, numbers, nnumbers, list0(), NULL);
}
void op_foreign(void) {
    const struct foreign_op *op = def_node()->op->foreign;
    T ins[FOREIGN_INS];
    int n = 0;
    if (op->result == NONE) {
        call(op);
        return;
    }
    if (!scalar_inputs(op, ins, &n)) return;
    if (op->value) map(op, ins, n);
    else call_by_cell(op, ins, n);
}
