/* What If (branch.c) and the loops (control.c) share: closed regions, sizes that they produce, statements. */
#ifndef NN_LOWER_OPS_CONTROL_H
#define NN_LOWER_OPS_CONTROL_H
#include "ir/graph/op.h"
#include "lower/lower.h"

enum { NO_LIMIT = INT32_MAX };
extern const struct op_control if_control;
void op_require(void);

/* ---- inference */
bool ctl_problem(struct graph *g, struct node *n, enum diag_code code, const char *what); /* false */
void ctl_take_type(struct value *param, const struct value *arg);
/* Truth of a boolean known at compile time: 1, 0, or -1. */
int ctl_known_bool(const struct value *v);
/* The k-th produced symbol of n whose name starts with `kind` ("carried"); made on first use. */
const struct sym *ctl_sym(struct graph *g, struct node *n, int k, const char *kind, int64_t lo, int64_t hi);

int ctl_captures(const struct node *n); /* number of trailing inputs that stand for captured values */

/* ---- sequences and optionals around bodies (holders.c) */
extern const struct op_control map_control;
/* Passes captured sequences and optionals as their contents. Called before the bodies are inferred. */
void ctl_open_captures(struct node *n);
/* Makes tensors of the results of an If that both branches give in the same form; an optional becomes a bool and its
 * contents. Other sequences are packed if nothing in the region depends on them. Called after the branches were
 * inferred. */
enum infer_status ctl_open_results(struct graph *g, struct node *n, struct region *const *branch);
enum infer_status ctl_pack_results(struct node *n, struct region *const *branch);
/* A Loop that carries sequences is unrolled; if only the run knows the number of iterations, it carries them packed. */
bool ctl_carries_holders(const struct node *n, int ncarried);
typedef bool infer_fn(struct region *r);
enum infer_status ctl_unroll(struct graph *g, struct node *n, int ncarried, int ncollected, infer_fn *infer_region);

/* For an operand of n that must have one element: v itself, or if its length is only known at run time, a Reshape
 * before `before` that checks it. */
struct value *ctl_one_element(struct node *n, struct region *r, struct node *before, struct value *v);

/* ---- lowering */
expr ctl_load_scalar(struct lowering *l, struct value *v);
void ctl_set_size(struct lowering *l, const struct sym *s, expr v);
void ctl_swap(struct lowering *l, struct buf *a, struct buf *b);
void ctl_release(struct lowering *l, struct buf *b);
bool ctl_used_twice(const struct region *r, int n, const struct value *v); /* is v several of r's first n results? */
/* May the buffer of v, a result of the body r that was just lowered, be swapped for another one instead of copied? */
bool ctl_may_take(struct lowering *l, const struct region *r, const struct value *v, const struct buf *b);
#endif
