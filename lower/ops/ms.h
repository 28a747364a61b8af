/* What the families of com.microsoft share: building the nodes of their expansions (lower/ops/ms.c), and weights of few
 * bits (lower/ops/ms_blocks.c). */
#ifndef NN_LOWER_OPS_MS_H
#define NN_LOWER_OPS_MS_H
#include "lower/ops/ops.h"

/* n_with_attrs, of ai.onnx, with one result, which has a type at once. */
V ms_alike(const char *op_type, const V *ins, int nins);
/* v with these dims, where 0 keeps the dim of v and -1 is inferred. */
V ms_reshaped(V v, const int64_t *dims, int n);
V ms_flat(V v);                               /* of rank 1 */
V ms_joined(const V *parts, int n, int axis); /* Concat */
V ms_sliced(V v, int axis, int64_t from, int64_t to);
/* v in n parts along an axis, of these sizes or (NULL) equal ones; false after a diagnostic. */
bool ms_split(V v, int axis, const int64_t *sizes, int n, V *parts);
V ms_scalar(int64_t v);
V ms_counted(V n); /* 0 .. n-1 */
/* Field number `from` of the fields of `bits` bits in a byte, the lowest first. */
E ms_bits(E byte, E from, int64_t bits);
bool ms_known_bits(int64_t bits);  /* 2, 4 or 8; else a diagnostic */
bool ms_is_block(int64_t size);    /* a power of 2 from 16 on */
bool ms_known_block(int64_t size); /* the same; else a diagnostic */
/* A constant of the same cells with these dims, where indices stand by themselves; t, if it is none or has others. */
T ms_of_dims(const char *name, T t, const int64_t *dims, int n);
#endif
