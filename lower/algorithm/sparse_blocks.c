/* Sparse blocks: where a product's constant weights are zero for several channels of the result at a time, what they
 * would be multiplied by is not looked at:
 *
 *     sum over k of a[m, k] * w[n, k]   becomes   sum over j of a[m, at[n / V, j]] * l[n, j]
 *
 * with a list of places for each block of V channels (`at`), and the weights there (`l`), as constants. Lists are as
 * long as the longest; behind a shorter one stand places where all weights of the block are zero. So every term is one
 * of the definition's, once, and in its order, and those that are left out are products with zero: results are the same
 * but for operands that are infinite or no number where nothing multiplies them. A row of algorithms (rows.c); the sum
 * is a contraction like others then. docs/adr/0025 says what that gains. */
#include "ir/base/memory.h"
#include "lower/algorithm/constants.h"
#include "lower/algorithm/rows.h"
#include "lower/schedule/cost.h"
#include "lower/schedule/cpu.h"
#include <math.h>
#include <stdlib.h>

enum { NARROW = 4 };       /* channels of the smallest block */
enum { MOST_VECTORS = 4 }; /* of a tile */
enum { STEPS = 4 };        /* lengths of lists are multiples of this, so that a loop may do several steps */

struct lists {
    const struct tensor *w;
    int channel;                                             /* the axis of the result that indexes the weights .. */
    int64_t channels, apart;                                 /* .. its extent, and the distance of its cells in the
                                                              * weights */
    int sum[PROBLEM_AXES], n;                                /* reduced variables with more than one cell */
    int64_t cells[PROBLEM_AXES], step[PROBLEM_AXES], places; /* extent of each; its stride in the weights; the product
                                                              * of the extents */
    bool *used;            /* [channels / NARROW, places]: a narrow block has a weight that is not zero; to be freed */
    int64_t width, length; /* channels of a block; places of the longest list */
};

/* ---- what fits */
/* Stride in the weights along v; 0: v is not an index by itself. */
static int64_t step_along(expr read, const struct tensor *w, const struct var *v) {
    int64_t each = 1;
    for (int d = read->n; d--; each *= w->dims[d])
        if (is_var(read->arg[d], v)) return each;
    return 0;
}
static bool find_channel(const struct problem *p, struct lists *l) {
    const struct stmt *s = p->sum;
    if (!p->b.wide || p->b.wide & (p->b.wide - 1) || p->b.wide & p->a.axes) return false;
    while (!(p->b.wide >> l->channel & 1)) l->channel++;
    l->channels = const_extent(s->u.stage.axes[l->channel]);
    l->apart = step_along(p->b.read, l->w, s->u.stage.axes[l->channel]);
    return l->channels > 0 && l->apart > 0;
}
static bool find_sums(const struct problem *p, struct lists *l) {
    const struct stmt *s = p->sum;
    l->places = 1;
    for (int k = 0; k < s->u.stage.nred; k++) {
        int64_t n = const_extent(s->u.stage.red[k]);
        if (n == 1) continue;
        if (n < 1 || n > INT32_MAX || !(p->a.sums >> k & 1)) return false;
        l->sum[l->n] = k, l->cells[l->n] = n, l->places *= n;
        if (!(l->step[l->n++] = step_along(p->b.read, l->w, s->u.stage.red[k]))) return false;
    }
    return l->n > 0;
}
static const char *find_factors(const struct algorithm_query *q, struct lists *l) {
    const struct problem *p = q->k;
    if (q->m->gpu || p->cls != PROBLEM_CONTRACTION || !p->product) return "";
    const struct buf *a = p->a.read->u.buf, *b = p->b.read->u.buf;
    if (p->sum->u.stage.buf->type != F32 || a->type != F32 || b->type != F32 || p->indirect) return "";
    if (!is_known_constant(b) || is_constant(a) || p->b.read->has_fill) return "";
    *l = (struct lists){.w = b->data};
    if (no_plain_product(p)) return no_plain_product(p);
    if (!find_channel(p, l) || !find_sums(p, l)) return "the weights have no channels of their own";
    return l->channels * l->places == tensor_count(l->w) ? NULL : "not all of the weights are read, each once";
}

/* ---- the lists */
/* Offset of the weight at place k of the sum, for channel 0. */
static int64_t weight_at(const struct lists *l, int64_t k) {
    int64_t at = 0;
    for (int i = l->n; i--; k /= l->cells[i]) at += k % l->cells[i] * l->step[i];
    return at;
}
static int64_t most_places(const struct lists *l) { return l->places * 3 / 4; }
/* Fills l->used. false: some channels have so many weights that lists would not pay. */
static bool find_used(struct lists *l) {
    int64_t *at = memory_zeroed((size_t)l->places, sizeof *at), n = 0;
    l->used = memory_zeroed((size_t)(l->channels / NARROW * l->places), sizeof *l->used);
    for (int64_t k = 0; k < l->places; k++) at[k] = weight_at(l, k);
    for (int64_t b = 0; b < l->channels / NARROW && n <= most_places(l); b++) {
        bool *used = l->used + b * l->places;
        n = 0;
        for (int64_t k = 0; k < l->places && n <= most_places(l); k++) {
            for (int i = 0; i < NARROW && !used[k]; i++)
                used[k] = tensor_f(l->w, at[k] + (b * NARROW + i) * l->apart) != 0;
            n += used[k];
        }
    }
    free(at);
    return n <= most_places(l);
}
static bool is_used(const struct lists *l, int64_t block, int64_t k) {
    int64_t n = l->width / NARROW;
    for (int64_t b = block * n; b < (block + 1) * n; b++)
        if (l->used[b * l->places + k]) return true;
    return false;
}
/* Length of the longest list, rounded up to steps; 0: it has most of the places. */
static int64_t longest(const struct lists *l) {
    int64_t most = 1;
    for (int64_t b = 0; b < l->channels / l->width; b++) {
        int64_t n = 0;
        for (int64_t k = 0; k < l->places; k++) n += is_used(l, b, k);
        if (n > most_places(l)) return 0;
        if (n > most) most = n;
    }
    most = (most + STEPS - 1) / STEPS * STEPS;
    return most < l->places ? most : 0;
}
/* A tile is the vectors of a block (without vectors: its cells) by as many rows as there are registers for; all of the
 * rows pass through the first level of cache once per block. */
static double cycles_of(const struct algorithm_query *q, const struct lists *l) {
    const struct machine *m = q->m;
    int64_t lanes = machine_lanes(m, F32), all = (l->width + lanes - 1) / lanes;
    int64_t vectors = all < MOST_VECTORS ? all : MOST_VECTORS;
    double rows = fmax(typical_result(q->c, q->k->sum) / (double)l->channels, 1);
    double blocks = (double)(l->channels / l->width), length = (double)l->length;
    double step =
        (double)(all / vectors) * cost_of_rows(m, machine_multiply_add(m, F32), &micro_multiply_add, (struct made){0},
                                               (int64_t)rows, (machine_registers(m) - 1 - vectors) / vectors, vectors);
    double operand = rows * (double)l->places * (double)dtype_bytes(F32) * m->l1.byte;
    return blocks * (length * step + operand) + weights_cycles(m, length * blocks * (double)(l->width + l->n));
}
/* Finds the lists of the width that takes the fewest cycles. Returns NULL, or why there are none. */
static const char *find_lists(const struct algorithm_query *q, struct lists *best) {
    const char *why = find_factors(q, best);
    if (why) return why;
    if (best->channels % NARROW) return "the weights' channels are no blocks of lanes";
    why = "too few blocks of weights are zero";
    if (!find_used(best)) return why;
    struct lists l = *best;
    int lanes = machine_lanes(q->m, F32);
    for (l.width = MOST_VECTORS * (lanes < NARROW ? NARROW : lanes); l.width >= NARROW; l.width /= 2) {
        l.length = l.channels % l.width ? 0 : longest(&l);
        if (l.length && (!best->length || cycles_of(q, &l) < cycles_of(q, best))) *best = l;
    }
    return best->length ? NULL : why;
}
const char *sparse_blocks_refuse(const struct algorithm_query *q, const struct algorithm *row) {
    struct lists l = {0};
    const char *why = find_lists(q, &l);
    (void)row;
    free(l.used);
    return why;
}
double sparse_blocks_cycles(const struct algorithm_query *q, const struct algorithm *row) {
    struct lists l = {0};
    (void)row;
    find_lists(q, &l);
    free(l.used);
    return cycles_of(q, &l);
}

/* ---- the stages */
struct listed {
    struct tensor *weights, *at[PROBLEM_AXES]; /* [channel, j]; for each reduced variable: [block, j] */
};
static void list_place(const struct lists *l, const struct listed *t, int64_t block, int64_t j, int64_t k) {
    int64_t at = weight_at(l, k);
    for (int64_t n = block * l->width; n < (block + 1) * l->width; n++)
        tensor_set_f(t->weights, n * l->length + j, tensor_f(l->w, at + n * l->apart));
    for (int i = l->n; i--; k /= l->cells[i])
        ((int32_t *)tensor_data(t->at[i]))[block * l->length + j] = (int32_t)(k % l->cells[i]);
}
/* Shorter lists are filled up with the last place where the block's weights are zero, since it is the nearest. */
static void fill_lists(struct ctx *c, const struct lists *l, struct listed *t) {
    int64_t blocks = l->channels / l->width;
    t->weights = tensor_new(&c->arena, l->w->type, (int64_t[]){l->channels, l->length}, 2);
    for (int i = 0; i < l->n; i++) t->at[i] = tensor_new(&c->arena, I32, (int64_t[]){blocks, l->length}, 2);
    for (int64_t b = 0; b < blocks; b++) {
        int64_t n = 0, zero = 0;
        for (int64_t k = 0; k < l->places; k++)
            if (is_used(l, b, k)) list_place(l, t, b, n++, k);
            else zero = k;
        while (n < l->length) list_place(l, t, b, n++, zero);
    }
}
void sparse_blocks_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out) {
    struct ctx *c = q->c;
    struct stmt *s = q->k->sum;
    const struct buf *b = q->k->b.read->u.buf;
    struct lists l = {0};
    struct listed t;
    struct subst listed = {{.arena = &c->arena}};
    (void)row;
    find_lists(q, &l);
    fill_lists(c, &l, &t);
    free(l.used);
    const struct var *j = var_new(c, s->u.stage.red[l.sum[0]]->name, x_int(c, l.length));
    expr channel = x_var(c, s->u.stage.axes[l.channel]);
    expr block = x_divi(c, channel, l.width), at[] = {block, x_var(c, j)};
    for (int k = 0; k < s->u.stage.nred; k++) map_put(&listed.map, PKEY(s->u.stage.red[k]), (void *)x_int(c, 0));
    for (int i = 0; i < l.n; i++) {
        struct buf *places = constant_buf(c, q->entry, internf(c->names, "%s_at", b->name), t.at[i]);
        places->within = arena_copy(&c->arena, ((int64_t[]){0, l.cells[i] - 1}), 2 * sizeof(int64_t));
        map_put(&listed.map, PKEY(s->u.stage.red[l.sum[i]]), (void *)x_toidx(c, x_load(c, places, at, 2, NULL)));
    }
    expr cells[] = {channel, x_var(c, j)}, product = s->u.stage.value, read = q->k->b.read;
    expr weight = x_load(c, constant_buf(c, q->entry, b->name, t.weights), cells, 2, NULL);
    expr a = x_subst(c, product->arg[product->arg[0] == read], &listed);
    s->u.stage.value = product->arg[0] == read ? x_mul(c, weight, a) : x_mul(c, a, weight);
    s->u.stage.red = arena_copy(&c->arena, &j, sizeof j), s->u.stage.nred = 1;
    algorithm_part(q, out, NULL);
    algorithm_rest(q, out, NULL);
}
