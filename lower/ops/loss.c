/* Losses: NegativeLogLikelihoodLoss, and SoftmaxCrossEntropyLoss, which is LogSoftmax and the former. */
#include "lower/ops/ops.h"
#include <string.h>

/* x[n, class, ...] at the target's class, with its weight; 0 for ignored targets. */
struct loss {
    T x, target, weight;
};
static E weight_at(const struct loss *l, X i, E *place) {
    E t = cast(I64, at(l->target, i)), w = typed(acc(l->x), 1), ignored = NULL;
    if (has_attr("ignore_index")) ignored = eq(t, val(idx(int_attr("ignore_index"))));
    *place = wrap_index(ignored ? sel(ignored, val(idx(0)), t) : t, dim(l->x, 1));
    if (has(l->weight)) w = cast(acc(l->x), at(l->weight, list1(wrap_index(*place, dim(l->weight, 0)))));
    return ignored ? sel(ignored, typed(acc(l->x), 0), w) : w;
}
static E loss_at(const struct loss *l, X i) {
    E place, w = weight_at(l, i, &place);
    X from = splice(i, 1, 0, list1(place));
    for (int k = 0; k < from.n; k++)
        if (k != 1) from.v[k] = wrap_index(from.v[k], dim(l->x, k));
    return mul(neg(cast(acc(l->x), at(l->x, from))), w);
}
static void op_nll(void) {
    struct loss l = {in(0), in(1), in(2)};
    const char *how = str_attr("reduction");
    bool mean = !strcmp(how, "mean");
    E place;
    if (fail_if(rank(l.x) < 2 || rank(l.target) != rank(l.x) - 1 || (has(l.weight) && rank(l.weight) != 1), E_RANK,
                "input of rank %d with a target of rank %d", rank(l.x), rank(l.target)))
        return;
    if (fail_if(!mean && strcmp(how, "sum") && strcmp(how, "none"), E_ATTR,
                "attribute \"reduction\" must be none, sum or mean"))
        return;
    for (int k = 0; k < rank(l.target); k++)
        require(eq(dim(l.target, k), dim(l.x, k + (k > 0))), "input and target differ on axis %d", k);
    if (!strcmp(how, "none")) {
        X i = axes(shape(l.target));
        out(0, dtype(l.x), i, loss_at(&l, i));
        return;
    }
    X r = raxes(shape(l.target), NULL), q = raxes(shape(l.target), NULL);
    T sum = reduce("sum", acc(l.x), list0(), RED_SUM, r, loss_at(&l, r), NULL);
    T all = mean ? reduce("weights", acc(l.x), list0(), RED_SUM, q, weight_at(&l, q, &place), NULL) : NULL;
    if (!sum || (mean && !all)) return;
    E v = at(sum, list0());
    out(0, dtype(l.x), list0(), mean ? div_(v, at(all, list0())) : v);
}
static void op_sce(void) {
    struct attr more[2];
    int n = 0;
    V p = N_WITH("LogSoftmax", ATTRS(attr_int("axis", 1)), gin(0));
    more[n++] = attr_str("reduction", str_attr("reduction"));
    if (has_attr("ignore_index")) more[n++] = attr_int("ignore_index", int_attr("ignore_index"));
    gout(0, n_op("NegativeLogLikelihoodLoss", 0, (const V[]){p, gin(1), gin(2)}, gin(2) ? 3 : 2, more, n));
    gout(1, p);
}

static const struct op_slot s_loss[] = {
    {"input", TS_FLOAT, 0}, {"target", TS_INDEX, 0}, {"weight", TS_FLOAT, OPTIONAL}, {0}};
static const struct op_slot s_loss_out[] = {{"output", TS_ANY, 0}, {"log_prob", TS_ANY, OPTIONAL}, {0}};
static const struct op_attr a_loss[] = {A_STRING("reduction", .s = "mean"), A_INT("ignore_index"), {0}};
const struct op ops_loss[] = {
    {"", "NegativeLogLikelihoodLoss", 22, 12, a_loss, s_loss, slots_y, .define = op_nll,
     .spec = "NegativeLogLikelihoodLoss-22"},
    {"", "SoftmaxCrossEntropyLoss", 13, 12, a_loss, s_loss, s_loss_out, .expand = op_sce,
     .spec = "SoftmaxCrossEntropyLoss-13"},
    {0},
};
