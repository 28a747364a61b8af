/* The definition of operators written by the user. A function of scalars is a map of what its C says; any other is a
 * call, whose sizes its comment gives. Not a family of its own: the rows come from compiler/custom/. */
#include "lower/ops/foreign.h"
#include "lower/ops/ops.h"
#include <string.h>

/* ---- names of sizes */
struct size {
    const char *name;
    X dims;
    bool many;
};
enum { SIZES_MAX = 64, FOREIGN_OPERANDS = 256 };
/* Numbers that differ between the tensors of a list. */
struct size_list {
    const char *name;
    int n;
    E v[FOREIGN_OPERANDS];
};
struct sizes_said {
    int n, nlists;
    struct size v[SIZES_MAX];
    struct size_list *lists[FOREIGN_DIMS];
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
static struct size_list *list_named(const struct sizes_said *q, const char *name) {
    for (int k = 0; k < q->nlists; k++)
        if (!strcmp(q->lists[k]->name, name)) return q->lists[k];
    return NULL;
}
static struct size_list *list_of(struct sizes_said *q, const char *name) {
    struct size_list *l = list_named(q, name);
    if (l || fail_if(q->nlists == FOREIGN_DIMS, E_LIMIT, "more than %d lists of sizes", FOREIGN_DIMS)) return l;
    l = q->lists[q->nlists++] = NEW(&up_ctx(def_node())->arena, struct size_list);
    l->name = name;
    return l;
}
static int dims_of(const struct sizes_said *q, const struct foreign_dim *d, int rest) {
    const struct size *s = d->name ? size_named(q, d->name) : NULL;
    return !d->many ? 1 : s ? s->dims.n : rest;
}
/* Requires the divisors of a formula to be positive, unless one of its conditions decides whether it divides. */
static void require_divisors(const struct sizes_said *q, const struct formula *f) {
    bool divides = f->kind == FORMULA_DIV || f->kind == FORMULA_REST;
    for (int k = 0; k < 3 && f->arg[k] && (k == 0 || f->kind != FORMULA_SELECT); k++) require_divisors(q, f->arg[k]);
    if (divides && f->arg[1]->kind != FORMULA_NUMBER)
        require(ne(formula_value(f->arg[1], size_value, (void *)q), idx(0)), "a size is divided by 0");
}
/* of: what the size is, for the message. */
static E checked_value(const struct sizes_said *q, const struct formula *f, const char *of) {
    require_divisors(q, f);
    E e = formula_value(f, size_value, (void *)q);
    (void)fail_if(e->op == X_POISON, E_SHAPE, "%s is a number beyond 64 bits, or divided by 0", of);
    return e;
}
/* Matches the dims of an operand with its comment: names without a value get one, all others must be equal. */
static bool take_dims(struct sizes_said *q, const struct foreign_op_param *p, int tensor, T t) {
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
        struct size_list *list = d->varies ? list_of(q, d->name) : NULL;
        if (d->varies && !list) return false;
        if (list && tensor == list->n) list->v[list->n++] = part.v[0];
        if (list) {
            require(eq(part.v[0], list->v[tensor]), "dim %d of input %s is not what its operator says", at - 1,
                    p->name);
            continue;
        }
        if (d->name && !known) {
            if (!name_size(q, d->name, part, d->many)) return false;
            continue;
        }
        for (int i = 0; i < n; i++) {
            E want = known ? known->dims.v[i]
                           : checked_value(q, d->value,
                                           format(up_ctx(def_node()), "dim %d of input %s", at - n + i, p->name));
            require(eq(part.v[i], want), "dim %d of input %s is not what its operator says", at - n + i, p->name);
        }
    }
    return true;
}
static bool result_dims(const struct sizes_said *q, const struct foreign_op_param *p, int tensor, X *dims) {
    *dims = list0();
    for (int k = 0; k < p->ndims; k++) {
        const struct size_list *list = p->dims[k].varies ? list_named(q, p->dims[k].name) : NULL;
        if (p->dims[k].varies &&
            fail_if(!list || tensor >= list->n, E_SHAPE, "%s is %d sizes, but there are more results %s",
                    p->dims[k].name, list ? list->n : 0, p->name))
            return false;
        if (list) *dims = push(*dims, list->v[tensor]);
        if (list) continue;
        const struct size *s = p->dims[k].name ? size_named(q, p->dims[k].name) : NULL;
        if (p->dims[k].name &&
            fail_if(!s, E_SHAPE, "size %s of result %s is that of no input", p->dims[k].name, p->name))
            return false;
        if (s) *dims = cat(*dims, s->dims);
        if (s) continue;
        E e = checked_value(q, p->dims[k].value, format(up_ctx(def_node()), "dim %d of result %s", dims->n, p->name));
        require(le(idx(0), e), "dim %d of result %s is negative", k, p->name);
        *dims = push(*dims, e);
    }
    return true;
}

/* ---- the instance for the node's types, and for how many tensors it has */
/* An argument of the function: a parameter, or one element of a parameter that is a list. */
struct argument {
    const struct foreign_op_param *p;
    int part, parts;            /* index in a list and its length; parts is 0: not in a list */
    bool absent;                /* NULL */
    const struct tensor *cells; /* of an attribute that is read */
};
struct instance {
    enum dtype types[FOREIGN_TYPES]; /* of the template's parameters */
    int n;
    struct argument args[FOREIGN_OPERANDS];
};
static enum dtype type_of(const struct foreign_op_param *p, const struct instance *q) {
    return p->type != NONE ? p->type : q->types[p->of];
}
/* The tensors of which a number is a dim; the list of numbers has one for each. Inputs come before results. */
static const struct foreign_op_param *tensors_of(const struct foreign_op *op, const struct foreign_op_param *p) {
    for (int use = FOREIGN_READ; use <= FOREIGN_WRITTEN; use++)
        for (int k = 0; k < op->n && p->use == FOREIGN_NUMBER; k++)
            for (int d = 0; (int)op->params[k].use == use && d < op->params[k].ndims; d++)
                if (op->params[k].dims[d].varies && !strcmp(op->params[k].dims[d].name, p->name)) return &op->params[k];
    return p;
}
static int parts_of(const struct foreign_op *op, const struct foreign_op_param *p) {
    p = tensors_of(op, p);
    bool written = p->use == FOREIGN_WRITTEN;
    int n = written ? n_out() : n_in();
    for (int k = 0; k < op->n; k++)
        n -= !op->params[k].list && (written ? op->params[k].use == FOREIGN_WRITTEN : foreign_is_input(&op->params[k]));
    return n;
}
static bool find_arguments(const struct foreign_op *op, struct instance *q) {
    for (int k = 0; k < op->n; k++) {
        const struct foreign_op_param *p = &op->params[k];
        int parts = p->list ? parts_of(op, p) : 0;
        if (p->list && fail_if(parts < 1, E_ARITY, "%s is a list of tensors, but there is none", p->name)) return false;
        if (fail_if(q->n + (parts ? parts : 1) >= FOREIGN_OPERANDS, E_LIMIT, "more than %d operands",
                    FOREIGN_OPERANDS - 1))
            return false;
        for (int i = 0; i < (parts ? parts : 1); i++)
            q->args[q->n++] = (struct argument){.p = p, .part = i, .parts = parts};
    }
    return true;
}
static bool find_types(const struct foreign_op *op, struct instance *q) {
    for (int k = 0, input = 0; k < q->n; k++) {
        const struct foreign_op_param *p = q->args[k].p;
        if (!foreign_is_input(p)) continue;
        T t = in(input++);
        q->args[k].absent = !t && p->optional;
        if (q->args[k].absent) continue;
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
/* One for each combination of types, list lengths and NULL pointers, so that equal calls name equal functions. */
static const char *instance_name(const struct foreign_op *op, const struct instance *q) {
    struct ctx *c = up_ctx(def_node());
    const char *name = op->word;
    for (int k = 0; k < op->ntypes; k++) name = internf(c->names, "%s_%s", name, dtype_name(q->types[k]));
    for (int k = 0; k < q->n; k++) {
        const struct argument *a = &q->args[k];
        if (a->parts && !a->part && a->p->use != FOREIGN_NUMBER) name = internf(c->names, "%s_of_%d", name, a->parts);
        if (a->absent && a->parts) name = internf(c->names, "%s_without_%s_%d", name, a->p->name, a->part);
        else if (a->absent) name = internf(c->names, "%s_without_%s", name, a->p->name);
    }
    return intern(c->names, name);
}
static struct foreign_param instance_param(const struct instance *q, const struct argument *a) {
    struct ctx *c = up_ctx(def_node());
    return (struct foreign_param){.name = a->parts ? internf(c->names, "%s_%d", a->p->name, a->part) : a->p->name,
                                  .use = a->absent ? FOREIGN_ABSENT : a->p->use,
                                  .type = type_of(a->p, q),
                                  .c = a->p->c,
                                  .list = a->part ? 0 : a->parts};
}
static struct foreign *instance_of(const struct foreign_op *op, const struct instance *q) {
    struct ctx *c = up_ctx(def_node());
    const char *name = instance_name(op, q);
    struct foreign *f = map_get(&c->foreigns, PKEY(name));
    if (f) return f;
    f = NEW(&c->arena, struct foreign);
    struct foreign_param *params = NEWN(&c->arena, struct foreign_param, q->n + 1);
    for (int k = 0; k < q->n; k++) params[k] = instance_param(q, &q->args[k]);
    *f = (struct foreign){.op = op->op,
                          .name = name,
                          .n = q->n,
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
static E number_value(const struct sizes_said *q, const struct argument *a, enum dtype t) {
    const struct foreign_op_param *p = a->p;
    int64_t lo, hi;
    if (p->attribute) return dtype_is_int(t) ? idx(int_of(p, t)) : typed(t, float_attr(p->name));
    foreign_range(t, &lo, &hi);
    E e = a->parts ? list_named(q, p->name)->v[a->part] : product(size_named(q, p->name)->dims);
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
/* Defines a name by a number that is known before the inputs are examined; if it has a value already, it must be
 * equal. */
static bool name_count(struct sizes_said *q, const char *name, int64_t n, const char *what) {
    const struct size *known = size_named(q, name);
    if (known) require(eq(product(known->dims), idx(n)), "the lists of %s %s differ", what, name);
    return known || name_size(q, name, list1(idx(n)), false);
}
/* Defines names by attributes that are numbers, and by the lengths of lists: of attributes, and of tensors. */
static bool take_attributes(struct sizes_said *q, struct instance *types) {
    for (int k = 0; k < types->n; k++) {
        struct argument *a = &types->args[k];
        const struct foreign_op_param *p = a->p;
        bool number = p->use == FOREIGN_NUMBER;
        if (p->tensors && !a->part && !name_count(q, p->tensors, a->parts, "length")) return false;
        if (!p->attribute) continue;
        if (number && dtype_is_int(p->type) && !name_size(q, p->name, list1(idx(int_attr(p->name))), false))
            return false;
        if (!number) a->cells = attribute_cells(p);
        if (number || !p->count) continue;
        if (!name_count(q, p->count, a->cells ? a->cells->dims[0] : 0, "length")) return false;
    }
    return true;
}
/* Names that only an absent input would have defined are 0. */
static bool name_rest(struct sizes_said *q, const struct foreign_op_param *p) {
    for (int k = 0; k < p->ndims; k++) {
        const struct foreign_dim *d = &p->dims[k];
        if (!d->name || size_named(q, d->name)) continue;
        if (!name_size(q, d->name, list1(idx(0)), d->many)) return false;
    }
    return true;
}
/* Defines `sum(d)` for a name that differs between the tensors of a list. */
static bool name_sums(struct sizes_said *q) {
    struct ctx *c = up_ctx(def_node());
    for (int k = 0; k < q->nlists; k++) {
        E sum = idx(0);
        for (int i = 0; i < q->lists[k]->n; i++) sum = add(sum, q->lists[k]->v[i]);
        if (!name_size(q, internf(c->names, "sum(%s)", q->lists[k]->name), list1(sum), false)) return false;
    }
    return true;
}
static bool take_inputs(struct sizes_said *q, const struct instance *types) {
    for (int k = 0, input = 0; k < types->n; k++) {
        const struct argument *a = &types->args[k];
        if (!foreign_is_input(a->p)) continue;
        T t = in(input++);
        if (!a->absent && !take_dims(q, a->p, a->part, t)) return false;
    }
    for (int k = 0; k < types->n; k++)
        if (foreign_is_input(types->args[k].p) && types->args[k].absent && !name_rest(q, types->args[k].p))
            return false;
    return name_sums(q);
}
/* What goes into the call, in the order of the function's parameters. */
struct operands {
    struct foreign_slice ops[FOREIGN_OPERANDS];
    E numbers[FOREIGN_OPERANDS];
    int nops, nnumbers, ins, outs;
};
static bool put_argument(struct operands *to, const struct sizes_said *sizes, const struct instance *types,
                         struct argument *a, const char *each) {
    const struct foreign_op_param *p = a->p;
    enum dtype t = type_of(p, types);
    bool sliced = each && p->ndims && p->dims[0].name && !strcmp(p->dims[0].name, each);
    X dims;
    T tensor = NULL;
    if (p->use == FOREIGN_NUMBER) {
        to->numbers[to->nnumbers++] = number_value(sizes, a, t);
        return true;
    }
    if (p->use == FOREIGN_READ) {
        tensor = !p->attribute ? in(to->ins++) : a->cells ? const_table(p->name, a->cells) : NULL;
        a->absent = !tensor;
    } else {
        int k = to->outs++;
        a->absent = (p->optional || p->list) && !wants(k);
        if (!a->absent && !result_dims(sizes, p, a->part, &dims)) return false;
        if (!a->absent) tensor = result(k, t, dims);
    }
    if (!a->absent) to->ops[to->nops++] = (struct foreign_slice){tensor, sliced};
    return true;
}
static void call(const struct foreign_op *op) {
    struct arena *arena = &up_ctx(def_node())->arena;
    struct sizes_said sizes = {0};
    struct instance *types = NEW(arena, struct instance);
    struct operands *to = NEW(arena, struct operands);
    E grid[6];
    if (!find_arguments(op, types) || !find_types(op, types) || !take_attributes(&sizes, types) ||
        !take_inputs(&sizes, types))
        return;
    X each = list0();
    const struct size *rows = op->each ? size_named(&sizes, op->each) : NULL;
    if (op->each && fail_if(!rows, E_SHAPE, "size %s, which the operator is called for, is that of no input", op->each))
        return;
    if (rows) each = axes(rows->dims);
    for (int k = 0; k < types->n; k++)
        if (!put_argument(to, &sizes, types, &types->args[k], op->each)) return;
    for (int k = 0; k < 6 && op->gpu.source; k++) grid[k] = checked_value(&sizes, op->grid[k], "a size of the grid");
    call_foreign(instance_of(op, types), to->ops, to->nops, to->numbers, to->nnumbers, each,
                 op->gpu.source ? grid : NULL);
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
/* The same by calls: operands with other dims than the result are broadcast into buffers first. */
static struct foreign *function_of_cells(const struct foreign_op *op) {
    struct ctx *c = up_ctx(def_node());
    struct foreign *f = map_get(&c->foreigns, PKEY(intern(c->names, op->word)));
    if (f) return f;
    f = NEW(&c->arena, struct foreign);
    struct foreign_param *params = NEWN(&c->arena, struct foreign_param, op->n + 2);
    for (int k = 0; k < op->n; k++)
        params[k] = (struct foreign_param){op->params[k].name, op->params[k].attribute ? FOREIGN_NUMBER : FOREIGN_READ,
                                           op->params[k].type, op->params[k].c, 0};
    params[op->n] = (struct foreign_param){"result", FOREIGN_WRITTEN, op->result, NULL, 0};
    params[op->n + 1] = (struct foreign_param){"cells", FOREIGN_NUMBER, I64, NULL, 0};
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
        if (op->params[k].attribute)
            numbers[nnumbers++] = number_value(NULL, &(struct argument){.p = &op->params[k]}, op->params[k].type);
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
