/* Layered layout after Sugiyama, Tagawa and Toda (1981): each box is in a layer below everything that it reads, long
 * edges pass through a point in each layer between, the order in a layer follows the positions of the neighbours, and
 * coordinates are as near to the neighbours' as that order allows. Handles some thousand boxes in some milliseconds.
 * See drawing.h. */
#include "compiler/drawing.h"
#include <math.h>
#include <stdlib.h>

enum { FAR = 40, SWEEPS = 16, GAP_X = 28, GAP_Y = 44, MARGIN = 24, POINT_WIDTH = 10, STRAIGHT = 8 };
struct item { /* a box, or the point of an edge */
    int box;  /* -1: a point */
    int layer;
    double w, h, x;
    int place;         /* position in its layer */
    VEC(int) up, down; /* neighbours */
};
struct layer {
    VEC(int) items;
    double h, y;
};
struct layering {
    struct drawing *d;
    struct arena *a;
    VEC(struct item) items; /* the boxes, then points */
    VEC(struct layer) layers;
    struct chain {
        int first, n; /* points of the edge, one after the other among the items */
    } * chains;
};

/* ---- layers */
static void choose_layers(struct layering *q) {
    struct drawing *d = q->d;
    int *reader = NEWN(q->a, int, d->boxes.n + 1), last = 0; /* 1 + the lowest layer number of its readers */
    for (int k = 0; k < d->boxes.n; k++) {
        struct item i = {.box = k, .w = d->boxes.v[k].w, .h = d->boxes.v[k].h};
        PUSH(q->a, &q->items, i);
    }
    for (int e = 0; e < d->edges.n; e++) { /* those that lead to `from` came before */
        struct item *from = &q->items.v[d->edges.v[e].from], *to = &q->items.v[d->edges.v[e].to];
        if (to->layer <= from->layer) to->layer = from->layer + 1;
    }
    bool *read = NEWN(q->a, bool, d->boxes.n + 1);
    for (int e = 0; e < d->edges.n; e++) {
        int from = d->edges.v[e].from, layer = q->items.v[d->edges.v[e].to].layer;
        read[d->edges.v[e].to] = true;
        if (!reader[from] || layer + 1 < reader[from]) reader[from] = layer + 1;
    }
    for (int k = 0; k < d->boxes.n; k++) { /* boxes that read nothing are placed right above their readers */
        if (!read[k] && reader[k]) q->items.v[k].layer = reader[k] - 2;
        if (q->items.v[k].layer > last) last = q->items.v[k].layer;
    }
    for (int k = 0; k <= last; k++) PUSH(q->a, &q->layers, ((struct layer){.h = 0}));
}
static void connect(struct layering *q, int upper, int lower) {
    PUSH(q->a, &q->items.v[upper].down, lower);
    PUSH(q->a, &q->items.v[lower].up, upper);
}
static void add_points(struct layering *q) {
    struct drawing *d = q->d;
    q->chains = NEWN(q->a, struct chain, d->edges.n + 1);
    for (int e = 0; e < d->edges.n; e++) {
        int from = d->edges.v[e].from, to = d->edges.v[e].to, above = from;
        int begin = q->items.v[from].layer + 1, end = q->items.v[to].layer;
        d->edges.v[e].far = end - begin >= FAR;
        if (d->edges.v[e].far) continue;
        q->chains[e] = (struct chain){q->items.n, end - begin};
        for (int l = begin; l < end; l++) {
            PUSH(q->a, &q->items, ((struct item){.box = -1, .layer = l, .w = POINT_WIDTH}));
            connect(q, above, q->items.n - 1);
            above = q->items.n - 1;
        }
        connect(q, above, to);
    }
    for (int k = 0; k < q->items.n; k++) {
        struct layer *l = &q->layers.v[q->items.v[k].layer];
        q->items.v[k].place = l->items.n;
        PUSH(q->a, &l->items, k);
        l->h = fmax(l->h, q->items.v[k].h);
    }
}

/* ---- order */
struct key {
    int item, place;
    double v;
};
static int by_key(const void *a, const void *b) {
    const struct key *x = a, *y = b;
    return x->v != y->v ? (x->v > y->v) - (x->v < y->v) : x->place - y->place;
}
/* Sorts by the mean position of the neighbours in the layer above, or below. */
static void sort_layer(struct layering *q, struct layer *l, bool down) {
    struct key *keys = NEWN(q->a, struct key, l->items.n + 1);
    for (int k = 0; k < l->items.n; k++) {
        const struct item *i = &q->items.v[l->items.v[k]];
        const int *v = down ? i->up.v : i->down.v, n = down ? i->up.n : i->down.n;
        double sum = 0;
        for (int j = 0; j < n; j++) {
            const struct item *o = &q->items.v[v[j]];
            sum += (o->place + 0.5) / q->layers.v[o->layer].items.n;
        }
        keys[k] = (struct key){l->items.v[k], i->place, n ? sum / n : (i->place + 0.5) / l->items.n};
    }
    qsort(keys, (size_t)l->items.n, sizeof *keys, by_key);
    for (int k = 0; k < l->items.n; k++) q->items.v[l->items.v[k] = keys[k].item].place = k;
}

/* ---- coordinates */
/* Among all coordinates that keep the order and the gaps, finds those with the least sum of squared distances to the
 * wanted ones: items that would be too close move together as one block. */
struct block {
    double sum, weight; /* of the items' wanted coordinates, relative to the block */
    int n;
};
static double gap_before(const struct layering *q, const struct layer *l, int k) {
    const struct item *i = &q->items.v[l->items.v[k]], *left = &q->items.v[l->items.v[k - 1]];
    return (left->w + i->w) / 2 + (left->box < 0 && i->box < 0 ? GAP_X / 2 : GAP_X);
}
static void place_layer(struct layering *q, struct layer *l, bool down) {
    struct block *blocks = NEWN(q->a, struct block, l->items.n + 1);
    int n = 0, k = 0;
    double offset = 0;
    for (int j = 0; j < l->items.n; j++) {
        struct item *i = &q->items.v[l->items.v[j]];
        const int *v = down ? i->up.v : i->down.v, neighbours = down ? i->up.n : i->down.n;
        double sum = 0, weight = 0;
        for (int m = 0; m < neighbours; m++) {
            const struct item *o = &q->items.v[v[m]];
            double w = o->box < 0 || i->box < 0 ? STRAIGHT : 1;
            sum += w * o->x, weight += w;
        }
        if (weight == 0) sum = i->x * 0.01, weight = 0.01;
        if (j) offset += gap_before(q, l, j);
        blocks[n++] = (struct block){sum - weight * offset, weight, 1};
        for (; n > 1 && blocks[n - 2].sum / blocks[n - 2].weight > blocks[n - 1].sum / blocks[n - 1].weight; n--) {
            blocks[n - 2].sum += blocks[n - 1].sum, blocks[n - 2].weight += blocks[n - 1].weight;
            blocks[n - 2].n += blocks[n - 1].n;
        }
    }
    offset = 0;
    for (int b = 0; b < n; b++)
        for (int j = 0; j < blocks[b].n; j++, k++) {
            if (k) offset += gap_before(q, l, k);
            q->items.v[l->items.v[k]].x = blocks[b].sum / blocks[b].weight + offset;
        }
}
static void pack_layer(struct layering *q, struct layer *l) {
    double x = 0;
    for (int k = 0; k < l->items.n; k++) {
        if (k) x += gap_before(q, l, k);
        q->items.v[l->items.v[k]].x = x;
    }
    for (int k = 0; k < l->items.n; k++) q->items.v[l->items.v[k]].x -= x / 2;
}
static void sweep(struct layering *q, void (*fn)(struct layering *q, struct layer *l, bool down)) {
    for (int turn = 0; turn < SWEEPS; turn++) {
        bool down = turn % 2 == 0;
        for (int k = 1; k < q->layers.n; k++) fn(q, &q->layers.v[down ? k : q->layers.n - 1 - k], down);
    }
}

/* ---- the result */
static void put_boxes(struct layering *q) {
    struct drawing *d = q->d;
    double left = INFINITY, right = -INFINITY, y = MARGIN;
    for (int k = 0; k < q->layers.n; k++) {
        q->layers.v[k].y = y + q->layers.v[k].h / 2;
        y += q->layers.v[k].h + GAP_Y;
    }
    for (int k = 0; k < q->items.n; k++) {
        left = fmin(left, q->items.v[k].x - q->items.v[k].w / 2);
        right = fmax(right, q->items.v[k].x + q->items.v[k].w / 2);
    }
    for (int k = 0; k < q->items.n; k++) q->items.v[k].x += MARGIN - left;
    for (int k = 0; k < d->boxes.n; k++)
        d->boxes.v[k].x = q->items.v[k].x, d->boxes.v[k].y = q->layers.v[q->items.v[k].layer].y;
    d->w = d->boxes.n ? right - left + 2 * MARGIN : 2 * MARGIN;
    d->h = d->boxes.n ? y - GAP_Y + MARGIN : 2 * MARGIN;
}
static void curve_to(struct layering *q, struct drawn_edge *e, double x0, double y0, double x, double y) {
    double middle = (y0 + y) / 2, more[] = {x0, middle, x, middle, x, y};
    for (int k = 0; k < 6; k++) PUSH(&q->d->c->arena, &e->points, more[k]);
}
/* Down through its points: straight across a layer, curved between two layers. */
static void draw_edge(struct layering *q, int n) {
    struct drawn_edge *e = &q->d->edges.v[n];
    const struct drawn_box *from = &q->d->boxes.v[e->from], *to = &q->d->boxes.v[e->to];
    double x = from->x, y = from->y + from->h / 2.0;
    PUSH(&q->d->c->arena, &e->points, x);
    PUSH(&q->d->c->arena, &e->points, y);
    for (int k = 0; k < q->chains[n].n; k++) {
        const struct item *i = &q->items.v[q->chains[n].first + k];
        const struct layer *l = &q->layers.v[i->layer];
        curve_to(q, e, x, y, i->x, l->y - l->h / 2);
        x = i->x, y = l->y + l->h / 2;
        curve_to(q, e, x, l->y - l->h / 2, x, y);
    }
    curve_to(q, e, x, y, to->x, to->y - to->h / 2.0);
}
void drawing_layers(struct drawing *d) {
    struct arena a = {0};
    struct layering q = {.d = d, .a = &a};
    choose_layers(&q);
    add_points(&q);
    sweep(&q, sort_layer);
    for (int k = 0; k < q.layers.n; k++) pack_layer(&q, &q.layers.v[k]);
    sweep(&q, place_layer);
    put_boxes(&q);
    for (int k = 0; k < d->edges.n; k++)
        if (!d->edges.v[k].far) draw_edge(&q, k);
    d->by = "layers";
    arena_free(&a);
}
void drawing_place(struct drawing *d) {
    drawing_layers(d);
    if (drawing_dot(d)) d->by = "dot";
}
