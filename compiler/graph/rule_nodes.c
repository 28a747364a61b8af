/* Functions that build nodes for rules and that query nodes; see rules.h. */
#include "compiler/graph/rules.h"
#include "ir/define/define.h"
#include "ir/graph/op.h"
#include <string.h>

/* ---- making */
struct value *rule_node(struct match *m, const char *op, struct value *const *ins, int nins, const struct attr *attrs,
                        int nattrs) {
    struct node *root = m->node[0];
    for (int k = 0; k < nins; k++)
        if (!ins[k] && k < 1) return NULL;
    struct node *n = node_new(root->in, root, "", op, ins, nins, 1);
    for (int k = 0; k < nattrs; k++) node_set_attr(n, attrs[k]);
    return rule_typed(m, n);
}
struct value *rule_typed(struct match *m, struct node *n) {
    return def_infer(m->g, n) ? n->outs.v[0] : NULL;
}
struct value *rule_node_like(struct match *m, const struct node *n, struct value *const *ins, int nins) {
    return rule_node(m, n->op_type, ins, nins, n->attrs.v, n->attrs.n);
}
struct value *rule_ints(struct match *m, const int64_t *v, int n) {
    return graph_ints(m->g, v, n);
}
static struct value *filled(struct match *m, enum dtype t, const int64_t *dims, int rank, double v) {
    struct tensor *r = tensor_new(&m->g->ctx->arena, t, dims, rank);
    for (int64_t k = 0, n = r ? tensor_count(r) : 0; k < n; k++) {
        if (dtype_is_float(t)) tensor_set_f(r, k, v);
        else tensor_set_i(r, k, (int64_t)v);
    }
    return r ? graph_const(m->g, "", r) : NULL;
}
struct value *rule_splat(struct match *m, const struct type *ty, double v) {
    enum { MOST = 1 << 16 }; /* a larger constant costs more than the operation it replaces */
    int64_t dims[32], count = 1;
    for (int k = 0; k < ty->rank; k++) {
        if (!x_is_int(ty->dims[k], &dims[k]) || dims[k] > MOST) return NULL;
        count *= dims[k];
        if (count > MOST) return NULL;
    }
    return filled(m, ty->dtype, dims, ty->rank, v);
}
struct value *rule_scalar(struct match *m, enum dtype t, double v) {
    return filled(m, t, NULL, 0, v);
}
struct value *rule_reshape(struct match *m, struct value *x, const struct type *to) {
    int64_t dims[32];
    int open = 0;
    for (int k = 0; k < to->rank; k++) {
        bool known = x_is_int(to->dims[k], &dims[k]);
        if (known && dims[k] == 0) return NULL; /* 0 in a Reshape means that the dim is copied */
        if (known) continue;
        bool copied = k < x->type.rank && x->type.dims[k] == to->dims[k];
        dims[k] = copied ? 0 : -1, open += !copied;
    }
    return open > 1 ? NULL : RULE_NODE(m, "Reshape", x, rule_ints(m, dims, to->rank));
}
struct attr rule_attr_int(const char *name, int64_t v) {
    return (struct attr){.name = name, .kind = AT_INT, .u.i = v};
}
struct attr rule_attr_ints(struct match *m, const char *name, const int64_t *v, int n) {
    return (struct attr){
        .name = name, .kind = AT_INTS, .n = n, .u.is = arena_copy(&m->g->ctx->arena, v, (size_t)n * sizeof *v)};
}

/* ---- asking */
int node_ints(const struct node *n, int k, int64_t *v, int max) {
    const struct tensor *t = k < n->ins.n && n->ins.v[k] ? n->ins.v[k]->init : NULL;
    if (!t || !dtype_is_int(t->type) || t->rank > 1 || tensor_count(t) > max) return -1;
    for (int64_t i = 0; i < tensor_count(t); i++) v[i] = tensor_i(t, i);
    return (int)tensor_count(t);
}
bool const_number(const struct value *v, double *x) {
    const struct tensor *t = v ? v->init : NULL;
    if (!t || t->type == STR || !((TS_NUM | TSET(BOOL)) & TSET(t->type)) || tensor_count(t) != 1) return false;
    *x = dtype_is_float(t->type) ? tensor_f(t, 0) : (double)tensor_i(t, 0);
    return true;
}
bool value_is_static(const struct value *v, int64_t *dims) {
    if (v->type.kind != TY_TENSOR || v->type.rank < 0) return false;
    for (int k = 0; k < v->type.rank; k++)
        if (!x_is_int(v->type.dims[k], &dims[k])) return false;
    return true;
}
bool node_perm(const struct node *n, int *perm) {
    return n->op && n->op->permutes && n->outs.v[0] && n->op->permutes(n, perm);
}
