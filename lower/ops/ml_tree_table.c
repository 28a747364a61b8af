/* Ensembles of trees as tables (ml_tree.h). All branch conditions become "feature <= split": the others compare with
 * the next smaller number, or use two rows, or exchange the two sides. These transformations are exact, so nothing is
 * rounded. */
#include "ir/base/checked.h"
#include "lower/ops/ml_tree.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_MAX = 1 << 28 }; /* entries of the leaves' values, including padding */
struct row {
    int32_t feature; /* doubled, plus 1 where NaN goes to YES */
    double split;
    int to[2]; /* a row, or ~leaf */
};
struct open { /* a branch of a row whose end has no row yet */
    int node, row, side;
};
struct builder {
    const struct ensemble *e;
    struct arena *a;
    VEC(struct row) rows;
    VEC(struct open) open;
    VEC(int) leaves, first; /* in the order of the table: number in the ensemble; where each tree's begin */
    int *row_of, *leaf_of;  /* of nodes and leaves of the ensemble, plus 1 */
    bool shared;            /* do trees share leaves? */
};

/* ---- rows */
static double below(const struct builder *b, double v) {
    if (v == -INFINITY) return NAN; /* nothing is below */
    return b->e->type == F64 ? nextafter(v, -INFINITY) : (double)nextafterf((float)v, -INFINITY);
}
static int new_row(struct builder *b, int32_t feature, double split, bool nan_is_yes) {
    PUSH(b->a, &b->rows, ((struct row){2 * feature + nan_is_yes, split, {0, 0}}));
    return b->rows.n - 1;
}
static int leaf_place(struct builder *b, int leaf) {
    if (!b->leaf_of[leaf]) {
        PUSH(b->a, &b->leaves, leaf);
        b->leaf_of[leaf] = b->leaves.n;
    }
    b->shared |= b->leaf_of[leaf] <= b->first.v[b->first.n - 1];
    return ~(b->leaf_of[leaf] - 1);
}
/* Sets where a side of a row leads: to the ensemble's `to`. */
static void aim(struct builder *b, int row, int side, int to) {
    if (to < 0) b->rows.v[row].to[side] = leaf_place(b, ~to);
    else PUSH(b->a, &b->open, ((struct open){to, row, side}));
}
static int compare_reals(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}
/* Is the feature one of members[from..to), which are ascending? A binary search: the middle one, then those to its left
 * and right. Ends in row.to[side]. */
static void member_rows(struct builder *b, const struct tree_node *n, const double *members, int from, int to, int row,
                        int side) {
    if (from == to) {
        aim(b, row, side, n->to[NO]);
        return;
    }
    int mid = from + (to - from) / 2, high = new_row(b, n->feature, members[mid], row < 0 && n->nan_is_yes),
        low = new_row(b, n->feature, below(b, members[mid]), false);
    if (row >= 0) b->rows.v[row].to[side] = high;
    b->rows.v[high].to[YES] = low;
    member_rows(b, n, members, mid + 1, to, high, NO);
    member_rows(b, n, members, from, mid, low, YES);
    aim(b, low, NO, n->to[YES]);
}
static void set_rows(struct builder *b, const struct tree_node *n) {
    int count = 0, kept = 0;
    while (!isnan(n->members[count])) count++;
    double *sorted = arena_copy(b->a, n->members, (size_t)(count + 1) * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_reals);
    for (int k = 0; k < count; k++)
        if (!kept || sorted[k] != sorted[kept - 1]) sorted[kept++] = sorted[k];
    if (kept) {
        member_rows(b, n, sorted, 0, kept, -1, NO);
        return;
    }
    int r = new_row(b, n->feature, NAN, n->nan_is_yes); /* an empty set contains no number */
    aim(b, r, YES, n->to[YES]), aim(b, r, NO, n->to[NO]);
}
/* With NaN as split: no number is less, equal or greater, and every number differs. */
static void node_rows(struct builder *b, const struct tree_node *n) {
    bool nan = isnan(n->split), less = n->branch == B_LT || n->branch == B_GTE;
    bool swap = (n->branch == B_GT || n->branch == B_GTE) && !nan, equal = n->branch == B_EQ || n->branch == B_NEQ;
    if (n->branch == B_MEMBER) {
        set_rows(b, n);
    } else if (equal && !nan) { /* at most the split, and not at most the number below it */
        int same = n->branch == B_EQ ? YES : NO, r = new_row(b, n->feature, n->split, n->nan_is_yes && same == YES);
        int low = new_row(b, n->feature, below(b, n->split), false);
        b->rows.v[r].to[YES] = low;
        aim(b, low, YES, n->to[!same]), aim(b, low, NO, n->to[same]), aim(b, r, NO, n->to[!same]);
    } else { /* an inverted comparison has its sides exchanged, including NaN's */
        bool differs = n->branch == B_NEQ, yes = swap ? !n->nan_is_yes : n->nan_is_yes && !differs;
        int r = new_row(b, n->feature, less ? below(b, n->split) : n->split, yes), first = swap || differs ? NO : YES;
        aim(b, r, NO, n->to[!first]), aim(b, r, YES, n->to[first]);
    }
}
/* Depth first, so that paths go forward in memory; what two branches share gets rows only once. */
static void tree_rows(struct builder *b, int root, struct tensor *roots, int k) {
    int rows = b->rows.n; /* of the trees before */
    PUSH(b->a, &b->first, b->leaves.n);
    if (root < 0) {
        tensor_set_i(roots, k, leaf_place(b, ~root));
        return;
    }
    PUSH(b->a, &b->open, ((struct open){root, -1, YES}));
    while (b->open.n) {
        struct open o = b->open.v[--b->open.n];
        int place = b->row_of[o.node] ? b->row_of[o.node] - 1 : b->rows.n;
        b->shared |= place < rows;
        if (o.row >= 0) b->rows.v[o.row].to[o.side] = place;
        else tensor_set_i(roots, k, place);
        if (b->row_of[o.node]) continue;
        b->row_of[o.node] = place + 1;
        node_rows(b, &b->e->nodes[o.node]);
    }
}

/* ---- which classes have values in which leaves */
static void note_seen(const struct builder *b, bool *always, bool *any) {
    const struct ensemble *e = b->e;
    int *count = NEWN(b->a, int, e->columns), *last = NEWN(b->a, int, e->columns);
    for (int t = 0; t < b->first.n; t++) {
        int to = t + 1 < b->first.n ? b->first.v[t + 1] : b->leaves.n, leaves = to - b->first.v[t];
        for (int k = b->first.v[t]; k < to; k++)
            for (int w = e->first[b->leaves.v[k]]; w < e->first[b->leaves.v[k] + 1]; w++) {
                int c = e->weights[w].column;
                if (last[c] == k + 1) continue; /* the same leaf again */
                if (last[c] <= b->first.v[t]) count[c] = 0;
                last[c] = k + 1;
                any[c] = true;
                always[c] |= ++count[c] == leaves;
            }
    }
}

/* ---- tables */
static enum dtype small_type(int64_t lo, int64_t hi) {
    if (lo >= 0) return hi <= UINT8_MAX ? U8 : hi <= UINT16_MAX ? U16 : I32;
    return lo >= INT8_MIN && hi <= INT8_MAX ? I8 : lo >= INT16_MIN && hi <= INT16_MAX ? I16 : I32;
}
/* The values of a leaf are entries of its row: columns, and what is added to them. */
struct entries {
    const struct builder *b;
    int counted;   /* 2: after each value a 1 for the column that counts it */
    int64_t width; /* of a row */
    int first_seen;
};
static int64_t entries_of(const struct entries *q, int leaf) {
    const int *first = &q->b->e->first[q->b->leaves.v[leaf]];
    int64_t n = (int64_t)(first[1] - first[0]) * q->counted;
    return n < q->width ? n : q->width;
}
static struct tree_weight entry_of(const struct entries *q, int leaf, int64_t k) {
    const struct ensemble *e = q->b->e;
    struct tree_weight w = e->weights[e->first[q->b->leaves.v[leaf]] + k / q->counted];
    if (k % q->counted) w.column += q->first_seen, w.value = 1;
    return w;
}
/* The positions of each column in the rows of one tree, or of all trees. */
struct places {
    int *most, *first, *here; /* of each column: how often a leaf has it, at most; from which place on; in this leaf */
    VEC(int) columns;         /* that any leaf has */
    bool fixed;               /* the same for all leaves */
};
static int compare_ints(const void *x, const void *y) {
    int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}
static void find_places(const struct entries *q, int from, int to, struct places *p) {
    int64_t total = 0;
    p->columns.n = 0;
    for (int leaf = from; leaf < to; leaf++) {
        for (int64_t k = 0; k < entries_of(q, leaf); k++) {
            int c = entry_of(q, leaf, k).column;
            if (!p->most[c]) PUSH(q->b->a, &p->columns, c);
            if (++p->here[c] > p->most[c]) p->most[c] = p->here[c], total++;
        }
        for (int64_t k = 0; k < entries_of(q, leaf); k++) p->here[entry_of(q, leaf, k).column] = 0;
    }
    p->fixed = total <= q->width;
    if (p->columns.n) qsort(p->columns.v, (size_t)p->columns.n, sizeof *p->columns.v, compare_ints);
    for (int k = 0, at = 0; k < p->columns.n; at += p->most[p->columns.v[k++]]) p->first[p->columns.v[k]] = at;
}
/* Fills the rows of leaves [from, to). Padding entries add a neutral value to some column. */
static void leaf_rows(const struct entries *q, int from, int to, struct places *p, double none, struct tensor *column,
                      struct tensor *value) {
    for (int leaf = from; leaf < to; leaf++) {
        int64_t row = leaf * q->width;
        for (int64_t k = 0; k < q->width; k++) tensor_set_f(value, row + k, none);
        for (int j = 0; j < p->columns.n && p->fixed; j++)
            for (int c = p->columns.v[j], k = 0; k < p->most[c]; k++) tensor_set_i(column, row + p->first[c] + k, c);
        for (int64_t k = 0; k < entries_of(q, leaf); k++) {
            struct tree_weight w = entry_of(q, leaf, k);
            int64_t at = row + (p->fixed ? p->first[w.column] + p->here[w.column]++ : k);
            tensor_set_i(column, at, w.column), tensor_set_f(value, at, w.value);
        }
        for (int64_t k = 0; k < entries_of(q, leaf); k++) p->here[entry_of(q, leaf, k).column] = 0;
    }
}
struct term {
    int column, tree, place;
};
struct terms {
    VEC(struct term) v;
};
static void add_terms(const struct entries *q, int tree, const struct places *p, struct terms *to) {
    for (int j = 0; j < p->columns.n && p->fixed; j++)
        for (int c = p->columns.v[j], k = 0; k < p->most[c]; k++)
            PUSH(q->b->a, &to->v, ((struct term){c, tree, p->first[c] + k}));
}
/* By columns, and in the order of the trees. */
static void term_tables(const struct builder *b, const struct terms *all, struct tree_tables *t) {
    int *next = NEWN(b->a, int, t->columns + 1);
    struct tensor *first = n_tensor(I32, (const int64_t[]){t->columns + 1}, 1),
                  *term = n_tensor(I32, (const int64_t[]){all->v.n ? all->v.n : 1, 2}, 2);
    for (int k = 0; k < all->v.n; k++) next[all->v.v[k].column + 1]++;
    for (int64_t c = 0; c < t->columns; c++) next[c + 1] += next[c];
    for (int64_t c = 0; c <= t->columns; c++) tensor_set_i(first, c, next[c]);
    for (int k = 0; k < all->v.n; k++) {
        int64_t at = next[all->v.v[k].column]++;
        tensor_set_i(term, 2 * at, all->v.v[k].tree), tensor_set_i(term, 2 * at + 1, all->v.v[k].place);
    }
    t->v[TT_FIRST] = n_const(first), t->v[TT_TERM] = n_const(term);
}
static bool leaf_tables(const struct builder *b, enum tree_sum sum, bool one, struct tree_tables *t) {
    const struct ensemble *e = b->e;
    int leaves = b->leaves.n, trees = b->first.n;
    int64_t entries;
    struct entries q = {b, t->first_seen >= 0 ? 2 : 1, 1, t->first_seen};
    for (int k = 0; k < leaves && !one; k++) {
        int64_t n = (int64_t)(e->first[b->leaves.v[k] + 1] - e->first[b->leaves.v[k]]) * q.counted;
        if (n > q.width) q.width = n;
    }
    if (!mul_ok(leaves, q.width, &entries) || entries > TABLE_MAX)
        return fail(E_LIMIT, "the values of the leaves make a table of more than %d entries", TABLE_MAX), false;
    double start = sum == TREE_SUM ? 0 : sum == TREE_MIN ? INFINITY : -INFINITY;
    struct tensor *column = n_tensor(small_type(0, t->columns), (const int64_t[]){leaves, q.width}, 2),
                  *value = n_tensor(e->type, (const int64_t[]){leaves, q.width}, 2), *from = n_tensor(e->type, NULL, 0);
    if (!column || !value) return fail(E_LIMIT, "the values of the leaves are too many"), false;
    struct places p = {NEWN(b->a, int, t->columns), NEWN(b->a, int, t->columns), NEWN(b->a, int, t->columns), {0}, 0};
    struct terms terms = {{0}};
    t->order = q.width == t->columns ? TREE_DENSE : TREE_TERMS;
    for (int k = 0; k < trees; k++) { /* leaves that trees share are those of all trees */
        int own = b->shared ? 0 : b->first.v[k], end = b->shared || k + 1 == trees ? leaves : b->first.v[k + 1];
        if (!b->shared || k == 0) {
            for (int j = 0; j < p.columns.n; j++) p.most[p.columns.v[j]] = 0;
            find_places(&q, own, end, &p);
            leaf_rows(&q, own, end, &p, sum == TREE_SUM ? -0.0 : start, column, value);
        }
        if (!p.fixed) t->order = TREE_ROWS;
        else if (t->order == TREE_DENSE && p.columns.n < t->columns) t->order = TREE_TERMS;
        add_terms(&q, k, &p, &terms);
    }
    tensor_set_f(from, 0, start);
    t->v[TT_COLUMN] = n_const(column), t->v[TT_VALUE] = n_const(value), t->v[TT_START] = n_const(from);
    term_tables(b, &terms, t);
    return true;
}
static void row_tables(const struct builder *b, struct tree_tables *t) {
    int n = b->rows.n ? b->rows.n : 1; /* a row that nobody asks, where each tree is a leaf */
    int64_t dims[] = {n};
    for (int k = 0; k < b->rows.n; k++) {
        int64_t features = b->rows.v[k].feature / 2 + 1;
        if (features > t->features) t->features = features;
        t->nans |= b->rows.v[k].feature & 1;
    }
    struct tensor *feature = n_tensor(small_type(0, 2 * t->features), dims, 1), *split = n_tensor(b->e->type, dims, 1),
                  *to = n_tensor(small_type(-b->leaves.n, n), (const int64_t[]){n, 2}, 2);
    for (int k = 0; k < b->rows.n; k++) {
        const struct row *r = &b->rows.v[k];
        tensor_set_i(feature, k, r->feature), tensor_set_f(split, k, r->split);
        tensor_set_i(to, 2 * k, r->to[YES]), tensor_set_i(to, 2 * k + 1, r->to[NO]);
    }
    t->v[TT_FEATURE] = n_const(feature), t->v[TT_SPLIT] = n_const(split), t->v[TT_TO] = n_const(to);
}
bool tree_tables(const struct ensemble *e, enum tree_sum sum, struct tree_tables *t) {
    struct arena *a = def_arena();
    struct builder b = {.e = e, .a = a};
    b.row_of = NEWN(a, int, e->nnodes + 1), b.leaf_of = NEWN(a, int, e->nleaves + 1);
    struct tensor *roots = n_tensor(I32, (const int64_t[]){e->nroots}, 1);
    for (int k = 0; k < e->nroots; k++) tree_rows(&b, e->roots[k], roots, k);
    bool *always = NEWN(a, bool, e->columns), *any = NEWN(a, bool, e->columns), known = true, all = true;
    note_seen(&b, always, any);
    for (int64_t k = 0; k < e->columns; k++) all &= always[k], known &= always[k] || !any[k];
    *t = (struct tree_tables){.features = 1, .columns = e->columns, .first_seen = -1, .seen = {any[0]}};
    if (e->columns > 1) t->seen[1] = any[1];
    if (e->columns > 1 && !all && !(e->columns == 2 && known)) t->first_seen = (int)e->columns, t->columns *= 2;
    row_tables(&b, t);
    t->v[TT_ROOT] = n_const(roots);
    return leaf_tables(&b, sum, e->columns == 1, t);
}
