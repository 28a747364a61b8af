/* Computes a node at compile time: its definition is emitted into a procedure that the interpreter runs, so folding
 * gives exactly the bits of the generated code. Used by inference and by the pass `fold`. */
#include "compiler/graph/passes.h"
#include "ir/base/checked.h"
#include "ir/base/memory.h"
#include "ir/define/define.h"
#include "ir/eval/eval.h"
#include "ir/graph/op.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 256 };
/* Statements for one node; statements for all nodes and bytes of all their results, each PER_BYTE more for a byte of
 * the model's files. What is left then stays to be computed in the run. */
static const int64_t FUEL = INT64_C(1) << 28, FUEL_OF_ALL = INT64_C(1) << 29, BYTES_OF_ALL = INT64_C(1) << 29;
enum { PER_BYTE = 2 };

/* A result: written directly into a parameter, or, if its size is known only after the run, into a local buffer that is
 * copied into a parameter of the largest size; a second parameter gets the sizes. */
struct result {
    struct value *v;
    struct buf *buf, *param, *sizes;
    int arg, sizes_arg;
    int64_t dims[32];
};
struct evaluation {
    struct graph *g;
    struct ctx *c;
    struct node *n;
    struct module *m;
    struct proc *p;
    struct eval_arg args[MAX_ARGS];
    struct buf *ins[MAX_ARGS];
    struct value *in_values[MAX_ARGS];
    int nargs, nins;
    struct result results[MAX_ARGS];
    int nresults;
};

static bool is_computable(const struct type *ty) {
    return ty->kind == TY_TENSOR && ty->rank >= 0 && ty->rank <= 32 && ty->dtype != STR &&
           dtype_value(ty->dtype) != NONE;
}

/* Upper bounds of the sizes of a type; false: unbounded, or more than max elements in all. */
static bool largest(struct ctx *c, const struct type *ty, int64_t max, int64_t *dims) {
    int64_t count = 1, lo;
    for (int i = 0; i < ty->rank; i++) {
        x_bounds(c, ty->dims[i], &lo, &dims[i]);
        if (dims[i] < 0 || dims[i] == POS_INF || !mul_ok(count, dims[i] ? dims[i] : 1, &count) || count > max)
            return false;
    }
    return true;
}

static bool is_static(const struct type *ty) {
    int64_t v;
    for (int i = 0; i < ty->rank; i++)
        if (!x_is_int(ty->dims[i], &v)) return false;
    return true;
}

static struct buf *parameter(struct evaluation *e, enum dtype t, enum param_dir dir, const int64_t *dims, int rank) {
    expr x[32];
    for (int i = 0; i < rank; i++) x[i] = x_int(e->c, dims[i]);
    struct buf *b = proc_param(e->c, e->p, internf(e->c->names, "p%d", e->nargs), t, dir, x, rank);
    e->args[e->nargs++].nd = rank;
    return b;
}

static bool add_input(struct evaluation *e, struct value *v, int64_t max) {
    for (int i = 0; i < e->nins; i++)
        if (e->in_values[i] == v) return true;
    int64_t n = tensor_count(v->init);
    if (!is_computable(&v->type) || n > max || e->nargs + 4 > MAX_ARGS) return false;
    e->in_values[e->nins] = v;
    int arg = e->nargs;
    e->ins[e->nins++] = parameter(e, v->type.dtype, DIR_IN, v->init->dims, v->init->rank);
    memcpy(e->args[arg].dims, v->init->dims, sizeof e->args[arg].dims);
    e->args[arg].data = memory_zeroed((size_t)n + 1, (size_t)dtype_bytes(v->type.dtype));
    tensor_unpack(v->init, e->args[arg].data);
    return true;
}

static bool add_result(struct evaluation *e, struct value *v, int64_t max) {
    struct result *r = &e->results[e->nresults];
    *r = (struct result){.v = v};
    if (!is_computable(&v->type) || e->nargs + 4 > MAX_ARGS || !largest(e->c, &v->type, max, r->dims)) return false;
    r->arg = e->nargs;
    r->param = parameter(e, v->type.dtype, DIR_OUT, r->dims, v->type.rank);
    if (is_static(&v->type)) {
        r->buf = r->param;
    } else {
        r->sizes_arg = e->nargs;
        r->sizes = parameter(e, I64, DIR_OUT, (int64_t[]){v->type.rank}, 1);
    }
    e->nresults++;
    return true;
}

static struct buf *buf_of(void *env, struct value *v) {
    struct evaluation *e = env;
    for (int i = 0; i < e->nins; i++)
        if (e->in_values[i] == v) return e->ins[i];
    for (int i = 0; i < e->nresults; i++) {
        struct result *r = &e->results[i];
        if (r->v != v) continue;
        if (!r->buf) { /* requested after its sizes are set */
            r->buf = buf_new(e->c, e->p, internf(e->c->names, "r%d", i), v->type.dtype, SC_ARENA, v->type.dims,
                             v->type.rank);
            block_append(&e->p->body, s_alloc(e->c, r->buf));
        }
        return r->buf;
    }
    BUG("the definition of %s asks for a value that is not its own", e->n->op_type);
}

/* Emits param[i] = buf[i] over the actual sizes, and stores those sizes. */
static void copy_out(struct evaluation *e, struct result *r) {
    struct ctx *c = e->c;
    const struct var **axes = NEWN(&c->arena, const struct var *, r->buf->nd);
    expr at[32];
    vars_over(c, "i", r->buf->dims, r->buf->nd, axes, at);
    block_append(&e->p->body, s_stage(c, r->param, axes, r->buf->nd, RED_NONE, NULL, 0, NULL,
                                      x_load(c, r->buf, at, r->buf->nd, NULL)));
    for (int i = 0; i < r->buf->nd; i++) {
        expr zero = x_int(c, i);
        block_append(&e->p->body, s_store(c, r->sizes, &zero, 1, RED_NONE, x_idxval(c, r->buf->dims[i])));
    }
}

/* Stores one element, as activations are stored, into a packed tensor. */
static void store_code(struct tensor *t, int64_t i, const char *from, int64_t k) {
    size_t size = (size_t)dtype_bytes(t->type);
    if (dtype_bits(t->type) >= 8) memcpy((char *)tensor_data(t) + (size_t)i * size, from + (size_t)k * size, size);
    else { /* one element per byte, the code in the low bits; F4 and integers alike */
        int per_byte = 8 / dtype_bits(t->type), shift = (int)(i % per_byte) * dtype_bits(t->type);
        unsigned mask = (1u << dtype_bits(t->type)) - 1;
        ((unsigned char *)tensor_data(t))[i / per_byte] |= (unsigned char)(((unsigned)from[k] & mask) << shift);
    }
}

static struct tensor *tensor_of(struct evaluation *e, const struct result *r) {
    const struct eval_arg *a = &e->args[r->arg];
    const int64_t *dims = r->sizes ? e->args[r->sizes_arg].data : r->dims;
    int rank = r->v->type.rank;
    for (int d = 0; d < rank; d++)
        if (dims[d] < 0 || dims[d] > r->dims[d]) return NULL;
    struct tensor *t = tensor_new(&e->c->arena, r->v->type.dtype, dims, rank);
    int64_t n = t ? tensor_count(t) : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, k = 0, pitch = 1;
        for (int d = rank - 1; d >= 0; d--) {
            k += rest % dims[d] * pitch;
            rest /= dims[d];
            pitch *= r->dims[d];
        }
        store_code(t, i, a->data, k);
    }
    return t;
}

static bool run(struct evaluation *e) {
    if (!def_emit(e->g, e->n, e->m, e->p, &e->p->body, buf_of, e)) return false;
    for (int i = 0; i < e->nresults; i++) {
        if (!e->results[i].buf) return false;
        if (e->results[i].sizes) copy_out(e, &e->results[i]);
    }
    int64_t more = PER_BYTE * e->g->file_bytes, left = FUEL_OF_ALL + more - e->c->folded;
    /* the results of one node are bounded (max_elements), so that going over once does no harm */
    struct eval_options o = {.fuel = left < FUEL ? left : FUEL, .max_bytes = INT64_C(1) << 30};
    if (left <= 0 || e->c->folded_bytes > BYTES_OF_ALL + more) return false;
    struct eval_result r = loop_eval(e->m, e->p, e->args, NULL, &o);
    e->c->folded += r.executed;
    return r.status == EVAL_OK;
}

static bool replace_by_constants(struct evaluation *e) {
    struct tensor *t[MAX_ARGS];
    for (int i = 0; i < e->nresults; i++)
        if (!(t[i] = tensor_of(e, &e->results[i]))) return false;
    for (int i = 0; i < e->nresults; i++)
        value_replace(e->results[i].v, graph_const(e->g, e->results[i].v->name, t[i]));
    node_remove(e->n);
    for (int i = 0; i < e->nresults; i++) e->c->folded_bytes += (int64_t)t[i]->nbytes;
    return true;
}

bool evaluate_node(struct graph *g, struct node *n, int64_t max_elements) {
    if (!n->op || !n->op->define || n->op->flags & (OP_RANDOM | OP_FOREIGN)) return false;
    struct evaluation *e = NEW(&g->ctx->arena, struct evaluation);
    e->g = g;
    e->c = g->ctx;
    e->n = n;
    e->m = module_new(g->ctx);
    e->p = proc_new(g->ctx, "fold");
    bool ok = true;
    for (int k = 0; k < n->ins.n && ok; k++)
        if (n->ins.v[k]) ok = n->ins.v[k]->init && add_input(e, n->ins.v[k], 4 * max_elements);
    for (int k = 0; k < n->outs.n && ok; k++)
        if (n->outs.v[k]) ok = add_result(e, n->outs.v[k], max_elements);
    ok = ok && run(e) && replace_by_constants(e);
    for (int i = 0; i < e->nargs; i++) free(e->args[i].data);
    return ok;
}
