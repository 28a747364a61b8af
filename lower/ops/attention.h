/* Attention, for the operators that are written with it (lower/ops/attention.c). */
#ifndef NN_LOWER_OPS_ATTENTION_H
#define NN_LOWER_OPS_ATTENTION_H
#include "lower/ops/ops.h"

/* Operands as those of Attention-24 of ai.onnx; NULL: there is none. */
struct attention_parts {
    V q, k, v, mask, past_k, past_v, filled, bias; /* bias: added to the scores before the mask */
    int64_t heads, kv_heads;                       /* of operands of rank 3 */
    int64_t left, right;                           /* keys that a query sees beside its own; -1: all */
    bool causal;
    double scale, cap; /* 0: one by the root of a key's size; scores are not capped */
    int64_t mode;      /* which scores are a result */
    bool scores;       /* they are wanted */
    bool precise;      /* scores and softmax in f64 */
};
enum { ATTENTION_RESULTS = 4 };
/* The nodes of it, before the one that is expanded: what is mixed, keys and values with what the cache holds, scores.
 * out[0] NULL: after a diagnostic. */
void attention_expand(const struct attention_parts *p, V out[ATTENTION_RESULTS]);
#endif
