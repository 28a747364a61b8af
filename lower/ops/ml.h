/* What the families of ai.onnx.ml share (ml.c): rows of samples, constants made of attributes, scores and labels. The
 * meaning is ONNX Runtime's wherever the specification leaves it open. */
#ifndef NN_LOWER_OPS_ML_H
#define NN_LOWER_OPS_ML_H
#include "lower/ops/ops.h"

/* What becomes of scores, with the numbers of TreeEnsemble-5. */
enum ml_transform { ML_NONE, ML_SOFTMAX, ML_LOGISTIC, ML_SOFTMAX_ZERO, ML_PROBIT, ML_TRANSFORMS };
/* By the name in the attribute post_transform. false: a diagnostic was given. */
bool ml_transform_attr(enum ml_transform *t);
/* In definitions: the scores p[n,c] at i, transformed in f32; for PROBIT only a single column is allowed. */
E ml_transformed(T p, X i, enum ml_transform t);
E ml_logistic(E x);
/* The score of class c of two, from that of the second one. */
E ml_split_in_two(E c, E score, enum ml_transform t, bool adds_to_one);

/* ---- in expansions */
/* Input k as samples [N,F] of type t: one sample may come without its axis. NULL: a diagnostic was given. */
V ml_samples(int k, enum dtype t);
/* f32 for all but f64, which it keeps. */
enum dtype ml_float_type(enum dtype t);
V ml_floats(const float *v, const int64_t *dims, int rank);
V ml_scores(V scores, enum ml_transform t); /* [N,C] to f32 */
/* Scores of two classes from one [N,1] of the second: s and its negative, or 1 - s; LOGISTIC of both where asked for.
 */
V ml_two_scores(V score, enum ml_transform t, bool adds_to_one);
V ml_top_class(V scores);                       /* the first greatest of each row */
V ml_label(V index, const struct attr *labels); /* of an i64; labels: ints or strings */
/* Labels as search keys. Returns the columns that they stand for in ascending order, and the keys in *keys; NULL: they
 * are ascending already. */
const struct tensor *ml_ascending(const struct attr *labels, V *keys);
V ml_place_among(V v, const struct attr *labels); /* the index of each element among ascending labels; if it is none of
                                                   * them, their number */
V ml_own_places(const struct attr *labels);       /* of the labels themselves */
/* The labels of a classifier, under these names; strings first. NULL: none is given. */
const struct attr *ml_labels_attr(const char *strings, const char *ints);

extern const struct op_slot slots_ml_numbers[], slots_ml_classes[];
#endif
