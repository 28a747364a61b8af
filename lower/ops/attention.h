/* Attention, for operators that are expanded to it (lower/ops/attention.c). */
#ifndef NN_LOWER_OPS_ATTENTION_H
#define NN_LOWER_OPS_ATTENTION_H
#include "lower/ops/ops.h"

/* Operands as those of Attention-24 of ai.onnx; NULL: there is none. */
struct attention_parts {
    V q, k, v, mask, past_k, past_v, filled, bias; /* bias: added to the scores before the mask */
    int64_t heads, kv_heads;                       /* of operands of rank 3 */
    int64_t left, right;                           /* keys that a query sees before and after its own; -1: all */
    bool causal;
    double scale, cap; /* scale 0: one divided by the root of a key's size; cap 0: scores are not capped */
    int64_t mode;      /* which scores the result gives */
    bool scores;       /* scores are a result */
    bool precise;      /* scores and softmax in f64 */
};
enum { ATTENTION_RESULTS = 4 };
/* Builds the nodes before the node that is expanded. Results: the mixed values, keys and values including the cache,
 * scores. out[0] NULL: a diagnostic was given. */
void attention_expand(const struct attention_parts *p, V out[ATTENTION_RESULTS]);
#endif
