/* Ensembles of decision trees on their way from attributes (ml_tree_attrs.c) to constant tables (ml_tree_table.c) that
 * the kernel of TreeEnsemble and its kin (ml_tree.c) walks through. */
#ifndef NN_LOWER_OPS_ML_TREE_H
#define NN_LOWER_OPS_ML_TREE_H
#include "lower/ops/ml.h"

/* With the numbers of TreeEnsemble-5. */
enum branch { B_LEQ, B_LT, B_GTE, B_GT, B_EQ, B_NEQ, B_MEMBER, BRANCHES };
enum { YES, NO };
struct tree_node {
    enum branch branch;
    int32_t feature;
    double split;
    bool nan_is_yes;       /* whatever the branch says of it */
    const double *members; /* B_MEMBER: NaN ends them */
    int to[2];             /* YES, NO: a node, or ~leaf */
    int32_t tree, number;  /* as the model calls it, for messages */
};
struct tree_weight {
    int32_t column;
    double value;
};
struct ensemble {
    enum dtype type; /* of splits, values and sums: F32 or F64 */
    struct tree_node *nodes;
    int nnodes;
    int *roots; /* a node, or ~leaf */
    int nroots;
    struct tree_weight *weights;
    int *first; /* of each leaf's weights; one more entry ends the last */
    int nleaves;
    int64_t columns; /* targets or classes */
};
/* Reads and checks the node's attributes. false: a diagnostic was given that names the tree's node. */
bool ensemble_of_lists(struct ensemble *e, const char *prefix); /* TreeEnsembleClassifier and -Regressor; "class_" */
bool ensemble_of_leaves(struct ensemble *e);                    /* TreeEnsemble-5 */

/* The tables that the kernels take. Each leaf has a row of columns and of their values. */
enum { TT_ROOT, TT_FEATURE, TT_SPLIT, TT_TO, TT_COLUMN, TT_VALUE, TT_START, TT_FIRST, TT_TERM, TREE_TABLES };
enum tree_sum { TREE_SUM, TREE_MIN, TREE_MAX };
/* The order in which the values for one sample are added: as the leaves' rows say; by column, if each column has the
 * same position in all rows of a tree (TT_FIRST, TT_TERM); or the rows hold all columns, in order. */
enum tree_order { TREE_ROWS, TREE_TERMS, TREE_DENSE };
struct tree_tables {
    V v[TREE_TABLES];
    enum tree_order order;
    int64_t features; /* samples must have as many */
    int64_t columns;  /* of the result */
    int first_seen;   /* column that counts the leaves with a value for column 0, others follow; -1: none is needed */
    bool nans;        /* is there a node where NaN goes to YES? */
    bool seen[2];     /* then, where there are two columns: do leaves have values for them? */
};
bool tree_tables(const struct ensemble *e, enum tree_sum sum, struct tree_tables *t);
#endif
