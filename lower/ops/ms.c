/* Building the nodes that operators of com.microsoft are expanded to (lower/ops/ms.h). */
#include "lower/ops/ms.h"
#include <string.h>

V ms_alike(const char *op_type, const V *ins, int nins) {
    struct node *n = n_with_attrs("", op_type, ins, nins, 1);
    if (!n->op->expand) def_infer(n->in->graph, n);
    return n->outs.v[0];
}
V ms_reshaped(V v, const int64_t *dims, int n) { return N_OP("Reshape", v, n_const_i64(dims, n)); }
V ms_flat(V v) { return N_OP("Reshape", v, N_INTS(-1)); }
V ms_joined(const V *parts, int n, int axis) { return n_op("Concat", 0, parts, n, ATTRS(attr_int("axis", axis))); }
V ms_sliced(V v, int axis, int64_t from, int64_t to) {
    return N_OP("Slice", v, N_INTS(from), N_INTS(to), N_INTS(axis));
}
bool ms_split(V v, int axis, const int64_t *sizes, int n, V *parts) {
    V ins[] = {v, sizes ? n_const_i64(sizes, n) : NULL};
    struct node *s = n_node("Split", ins, sizes ? 2 : 1, n);
    node_set_attr(s, attr_int("axis", axis));
    if (!sizes) node_set_attr(s, attr_int("num_outputs", n));
    if (!def_infer(s->in->graph, s)) return false;
    for (int k = 0; k < n; k++) parts[k] = s->outs.v[k];
    return true;
}
V ms_scalar(int64_t v) { return N_OP("Squeeze", N_INTS(v), N_INTS(0)); }
V ms_counted(V n) { return N_OP("Range", ms_scalar(0), n, ms_scalar(1)); }
