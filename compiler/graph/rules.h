/* Algebraic rules: rows that say as what a node, with the nodes before it, may be written more simply. The rows stand
 * in rules_*.c, the matcher in pattern.c, the work list that applies them in simplify.c. `gcc2nn list-rules` shows
 * them. */
#ifndef NN_COMPILER_GRAPH_RULES_H
#define NN_COMPILER_GRAPH_RULES_H
#include "ir/base/map.h"
#include "ir/graph/graph.h"

/* What a rule keeps, for all inputs: NaN, infinities, -0 and integers that wrap among them.
 * SAME_BITS: every bit (of a NaN: that it is one). SAME_VALUES: the sign of a zero may differ, where the operators
 * leave it open (max and min of zeros; a sum of one term). */
enum exactness { SAME_BITS, SAME_VALUES };
const char *exactness_name(enum exactness e);

/* A pattern is a term over operators of ai.onnx:
 *     Where(Not(c), a, b)
 * x             any value; a letter that comes twice is the same value twice
 * x:int         of this element type: int, signed, float, bool, tensor (any); `const`: a constant
 * 0 1 -1 2 -0   a constant whose elements all are this number; -0 is the negative zero of floats and 0 of integers
 * true false    a constant whose elements all are this truth
 * A|B(x)        one of several operators
 * Op!(x)        only if nothing else reads it
 * Op(x, ...)    further operands may follow
 * ?(x, ...)     any operator with a definition
 * Operators of two operands that commute match in either order. The root has one result. */
enum pattern_kind { P_VALUE, P_NUMBER, P_NODE };
enum { PATTERN_OPS = 12, PATTERN_ARGS = 3, PATTERN_NODES = 4 };
struct pattern {
    enum pattern_kind kind;
    char letter;       /* P_VALUE */
    const char *which; /* P_VALUE: the element type, or "tensor" */
    double number;     /* P_NUMBER; true and false are 1 and 0 */
    bool truth;        /* P_NUMBER: written as one */
    const char *ops[PATTERN_OPS];
    int nops; /* P_NODE; 0: any */
    bool alone, more;
    struct pattern *arg[PATTERN_ARGS];
    int n;
    int place; /* P_NODE: its number in match.node, in order of the text */
};
struct match {
    struct graph *g;
    struct node *node[PATTERN_NODES]; /* the nodes of the pattern, in order of its text; [0] is the root */
    struct value *value['z' - 'a' + 1];
};
#define MATCHED(m, letter) ((m)->value[(letter) - 'a'])

struct rule {
    const char *name, *pattern;
    const char *result; /* a term over the letters of the pattern; with make: what it gives, in words */
    enum exactness exactness;
    /* The value that stands for the root's result, or NULL: the rule does not hold here. New nodes by rule_node. */
    struct value *(*make)(struct match *m);
};
extern const struct rule rules_arithmetic[], rules_logic[], rules_shape[], rules_parts[],
    rules_layout[]; /* name NULL */
int rule_count(void);
const struct rule *rule_at(int k);
const struct rule *rule_named(const char *name); /* NULL if there is none */

struct pattern *pattern_parse(struct arena *a, const char *text);
bool pattern_match(const struct pattern *p, struct node *n, struct match *m);

/* ---- for `make` and results: nodes in front of the root, with their types. NULL passes through: of what could not be
 * made nothing is made. */
struct value *rule_node(struct match *m, const char *op, struct value *const *ins, int nins, const struct attr *attrs,
                        int nattrs);
#define RULE_NODE(m, op, ...)                                                                                          \
    rule_node(m, op, (struct value *const[]){__VA_ARGS__},                                                             \
              (int)(sizeof((struct value *const[]){__VA_ARGS__}) / sizeof(struct value *)), NULL, 0)
/* The same operator, with the attributes of n, on other operands. */
struct value *rule_node_like(struct match *m, const struct node *n, struct value *const *ins, int nins);
/* The result of a node that was made by hand, with its type. */
struct value *rule_typed(struct match *m, struct node *n);
struct value *rule_ints(struct match *m, const int64_t *v, int n);          /* a constant of rank 1 */
struct value *rule_splat(struct match *m, const struct type *ty, double v); /* NULL: its size is not known */
struct value *rule_scalar(struct match *m, enum dtype t, double v);
/* A Reshape of x to these dims; NULL when more than one is neither known nor that of x in the same place. */
struct value *rule_reshape(struct match *m, struct value *x, const struct type *to);
struct attr rule_attr_int(const char *name, int64_t v);
struct attr rule_attr_ints(struct match *m, const char *name, const int64_t *v, int n);

/* ---- questions */
/* A constant of integers of rank 0 or 1 as input k: its length (at most max) and elements; -1: absent or no such. */
int node_ints(const struct node *n, int k, int64_t *v, int max);
bool const_number(const struct value *v, double *x); /* of one element */
bool value_is_static(const struct value *v, int64_t *dims);
/* The permutation, if n is one and says which. */
bool node_perm(const struct node *n, int *perm);
#endif
