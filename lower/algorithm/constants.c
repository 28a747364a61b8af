/* Stages over constants, run by the interpreter, so that folding gives exactly the bits that a kernel would have
 * computed. See constants.h. */
#include "lower/algorithm/constants.h"
#include "ir/base/checked.h"
#include "ir/base/memory.h"
#include "ir/eval/eval.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMS = 16, MAX_CELLS = 1 << 26 };
static const int64_t FUEL = INT64_C(1) << 29;

struct folding {
    struct ctx *c;
    struct proc *p;
    struct eval_arg args[MAX_PARAMS];
    const struct buf *of[MAX_PARAMS];
    struct buf *param[MAX_PARAMS];
    int n;
    bool bad;
};
bool is_known_constant(const struct buf *b) {
    return b->data && buf_is_plain(b) && b->type != STR && dtype_bits(b->type) >= 8;
}
static struct buf *param_of(struct folding *f, const struct buf *b) {
    for (int k = 0; k < f->n; k++)
        if (f->of[k] == b) return f->param[k];
    if (!is_known_constant(b) || f->n + 1 >= MAX_PARAMS) {
        f->bad = true;
        return NULL;
    }
    struct eval_arg *a = &f->args[f->n];
    a->nd = b->data->rank;
    memcpy(a->dims, b->data->dims, (size_t)b->data->rank * sizeof *a->dims);
    a->data = memory_zeroed((size_t)tensor_count(b->data) + 1, (size_t)dtype_bytes(b->type));
    tensor_unpack(b->data, a->data);
    struct buf *p = proc_param(f->c, f->p, internf(f->c->names, "c%d", f->n), b->type, DIR_IN, b->logical, b->nlogical);
    f->of[f->n] = b, f->param[f->n++] = p;
    return p;
}
static expr read_param(void *env, expr e) {
    struct folding *f = env;
    if (e->op != X_LOAD) return NULL;
    struct buf *b = param_of(f, e->u.buf);
    return b ? x_map_load(f->c, e, b, read_param, f) : e;
}
static bool cells_of(const struct var *const *axes, int naxes, int64_t *dims, int64_t *cells) {
    *cells = 1;
    for (int k = 0; k < naxes; k++)
        if (!x_is_int(axes[k]->extent, &dims[k]) || !mul_ok(*cells, dims[k], cells) || *cells > MAX_CELLS) return false;
    return true;
}
const struct tensor *stage_constant(struct ctx *c, enum dtype type, const struct var **axes, int naxes, enum red_op op,
                                    const struct var **red, int nred, expr value) {
    struct folding f = {.c = c, .p = proc_new(c, "fold")};
    int64_t dims[32], cells;
    expr extents[32];
    if (dtype_bits(type) < 8 || type == STR || !cells_of(axes, naxes, dims, &cells)) return NULL;
    value = x_map(c, value, read_param, &f);
    struct tensor *t = NULL;
    if (!f.bad) {
        struct module *m = module_new(c);
        for (int k = 0; k < naxes; k++) extents[k] = axes[k]->extent;
        struct buf *out = proc_param(c, f.p, "r", type, DIR_OUT, extents, naxes);
        block_append(&f.p->body, s_stage(c, out, axes, naxes, op, red, nred, NULL, value));
        f.args[f.n] = (struct eval_arg){.nd = naxes};
        m->entry = f.p;
        struct eval_result r = loop_eval(m, f.p, f.args, NULL, &(struct eval_options){.fuel = FUEL});
        if (r.status == EVAL_OK) {
            t = tensor_new(&c->arena, type, dims, naxes);
            memcpy(tensor_data(t), f.args[f.n].data, (size_t)(cells * dtype_bytes(type)));
        }
        free(f.args[f.n].data);
    }
    for (int k = 0; k < f.n; k++) free(f.args[k].data);
    return t;
}
struct buf *constant_buf(struct ctx *c, struct proc *p, const char *name, const struct tensor *t) {
    expr dims[32];
    for (int k = 0; k < t->rank; k++) dims[k] = x_int(c, t->dims[k]);
    struct buf *b = buf_new(c, p, name, t->type, SC_CONST, dims, t->rank);
    b->data = t;
    return b;
}

const struct tensor *tensor_as(struct ctx *c, const struct tensor *t, enum dtype type) {
    struct tensor *r = tensor_new(&c->arena, type, t->dims, t->rank);
    for (int64_t k = 0, n = tensor_count(t); k < n; k++) tensor_set_f(r, k, tensor_f(t, k));
    return r;
}
const struct tensor *tensor_slice_as(struct ctx *c, const struct tensor *t, enum dtype type, int dim, int64_t from,
                                     int64_t n) {
    int64_t dims[32], each = 1;
    memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
    dims[dim] = n;
    for (int d = dim + 1; d < t->rank; d++) each *= dims[d];
    struct tensor *r = tensor_new(&c->arena, type, dims, t->rank);
    for (int64_t k = 0, cells = tensor_count(r); k < cells; k++)
        tensor_set_f(r, k, tensor_f(t, (k / (n * each) * t->dims[dim] + from) * each + k % (n * each)));
    return r;
}

/* ---- parts of values */
struct parts {
    struct ctx *c;
    struct proc *p;
    const struct stmt *s;
};
struct part {
    struct parts *q;
    uint64_t axes;  /* axes of the stage that the part uses */
    int64_t loaded; /* cells of the largest constant it reads */
    int loads;
    bool bad;
};
static bool look_at(void *env, expr e) {
    struct part *a = env;
    const struct stmt *s = a->q->s;
    if (e->op == X_SYM || e->op == X_GUARD || e->op == X_IDXVAL || e->op == X_TOIDX || e->op == X_ARG) a->bad = true;
    if (e->op == X_LOAD) {
        if (!is_known_constant(e->u.buf)) return a->bad = true, false;
        if (tensor_count(e->u.buf->data) > a->loaded) a->loaded = tensor_count(e->u.buf->data);
        a->loads++;
    }
    if (e->op == X_VAR) {
        int k = 0;
        while (k < s->u.stage.naxes && s->u.stage.axes[k] != e->u.var) k++;
        if (k == s->u.stage.naxes) a->bad = true;
        else a->axes |= UINT64_C(1) << k;
    }
    return !a->bad;
}
/* Not for a single load, possibly converted: it computes nothing. Nor if the result would have more cells than what it
 * reads. */
static bool worth_folding(struct parts *q, expr e, struct part *a) {
    int64_t cells = 1, n;
    *a = (struct part){.q = q};
    if (e->type == IDX || e->op == X_LOAD || e->op == X_CONST || e->op == X_CAST) return false;
    x_visit(e, look_at, a);
    for (int k = 0; k < q->s->u.stage.naxes && !a->bad; k++) {
        if (!(a->axes >> k & 1)) continue;
        if (!x_is_int(q->s->u.stage.axes[k]->extent, &n) || !mul_ok(cells, n, &cells)) a->bad = true;
    }
    return !a->bad && a->loads && a->axes && cells <= a->loaded;
}
/* All cells are one integer, so no table is needed. */
static bool is_uniform(const struct tensor *t) {
    if (!dtype_is_int(t->type) && t->type != BOOL) return false;
    for (int64_t k = 1, n = tensor_count(t); k < n; k++)
        if (tensor_i(t, k) != tensor_i(t, 0)) return false;
    return tensor_count(t) > 0;
}
static expr folded(struct parts *q, expr e, uint64_t axes) {
    struct ctx *c = q->c;
    const struct var *v[32];
    expr idx[32];
    int n = 0;
    for (int k = 0; k < q->s->u.stage.naxes; k++) {
        if (!(axes >> k & 1)) continue;
        v[n] = q->s->u.stage.axes[k];
        idx[n] = x_var(c, v[n]), n++;
    }
    const struct tensor *t = stage_constant(c, (enum dtype)e->type, v, n, RED_NONE, NULL, 0, e);
    if (!t) return e;
    if (is_uniform(t))
        return e->type == BOOL ? x_bool(c, tensor_i(t, 0)) : x_const_i(c, (enum dtype)e->type, tensor_i(t, 0));
    return x_load(c, constant_buf(c, q->p, "folded", t), idx, n, NULL);
}
static expr fold_part(void *env, expr e) {
    struct parts *q = env;
    struct part a;
    if (e->op == X_LOAD) return e;
    return worth_folding(q, e, &a) ? folded(q, e, a.axes) : NULL;
}
expr fold_constant_parts(struct ctx *c, struct proc *p, const struct stmt *s, expr value) {
    struct parts q = {c, p, s};
    return x_map(c, value, fold_part, &q);
}
