/* Pictures of graphs (compiler/drawing.h): boxes do not meet, lines go down from box to box, and nothing is lost, for
 * random graphs; by layers of our own, and by dot where there is one.
 */
#include "compiler/drawing.h"
#include "lower/group.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ctx *c;
static void setup(void) { c = ctx_new(); }
static void done(void) { ctx_free(c); }
TestSuite(drawing, .init = setup, .fini = done);

static uint32_t seed;
static int below(int n) {
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}
/* Chains with edges to what was just before, and some from far above. */
static struct drawing random_graph(int boxes) {
    struct drawing d = {.c = c};
    for (int k = 0; k < boxes; k++) PUSH(&c->arena, &d.boxes, ((struct drawn_box){.w = 176, .h = 34 + 17 * below(9)}));
    for (int from = 0; from + 1 < boxes; from++)
        for (int n = 1 + below(3); n--;) {
            int reach = below(40) ? 5 : boxes,
                to = from + 1 + below(boxes - from - 1 < reach ? boxes - from - 1 : reach);
            PUSH(&c->arena, &d.edges, ((struct drawn_edge){.from = from, .to = to}));
        }
    return d;
}
static void check_boxes(const struct drawing *d, const char *what) {
    for (int j = 0; j < d->boxes.n; j++) {
        const struct drawn_box *a = &d->boxes.v[j];
        cr_assert(a->x - a->w / 2.0 >= 0 && a->x + a->w / 2.0 <= d->w && a->y - a->h / 2.0 >= 0 &&
                      a->y + a->h / 2.0 <= d->h,
                  "%s: box %d stands at %g, %g of a page of %g x %g", what, j, a->x, a->y, d->w, d->h);
        for (int k = 0; k < j; k++) {
            const struct drawn_box *b = &d->boxes.v[k];
            bool meet = fabs(a->x - b->x) < (a->w + b->w) / 2.0 && fabs(a->y - b->y) < (a->h + b->h) / 2.0;
            cr_assert(!meet, "%s: boxes %d and %d meet", what, j, k);
        }
    }
}
static void check_edges(const struct drawing *d, const char *what) {
    for (int k = 0; k < d->edges.n; k++) {
        const struct drawn_edge *e = &d->edges.v[k];
        const struct drawn_box *from = &d->boxes.v[e->from], *to = &d->boxes.v[e->to];
        cr_assert(from->y < to->y, "%s: edge %d goes up", what, k);
        if (e->far) continue;
        const double *p = e->points.v, *end = p + e->points.n - 2;
        cr_assert(e->points.n >= 8 && e->points.n % 6 == 2, "%s: edge %d has %d numbers", what, k, e->points.n);
        cr_assert(fabs(p[1] - (from->y + from->h / 2.0)) < 1 && fabs(end[1] - (to->y - to->h / 2.0)) < 1,
                  "%s: edge %d begins or ends beside its box", what, k);
        cr_assert(fabs(p[0] - from->x) <= from->w / 2.0 + 1 && fabs(end[0] - to->x) <= to->w / 2.0 + 1,
                  "%s: edge %d begins or ends beside its box", what, k);
    }
}
Test(drawing, layers) {
    for (int n = 0; n < 40; n++) {
        seed = (uint32_t)n;
        struct drawing d = random_graph(n < 4 ? n : 10 * n);
        char what[40];
        snprintf(what, sizeof what, "graph %d by layers", n);
        drawing_layers(&d);
        check_boxes(&d, what);
        check_edges(&d, what);
    }
}
/* No line crosses another where there is a drawing without crossings: two arms of a diamond, however they are told. */
Test(drawing, no_needless_crossings) {
    struct drawing d = {.c = c};
    static const int edges[][2] = {{0, 1}, {0, 2}, {1, 4}, {2, 3}, {3, 5}, {4, 5}};
    for (int k = 0; k < 6; k++) PUSH(&c->arena, &d.boxes, ((struct drawn_box){.w = 176, .h = 51}));
    for (int k = 0; k < 6; k++)
        PUSH(&c->arena, &d.edges, ((struct drawn_edge){.from = edges[k][0], .to = edges[k][1]}));
    drawing_layers(&d);
    double first = d.boxes.v[1].x - d.boxes.v[2].x, second = d.boxes.v[4].x - d.boxes.v[3].x;
    cr_assert(first * second > 0, "the arms cross");
    cr_assert_float_eq(d.boxes.v[0].x, d.boxes.v[5].x, 1);
}
Test(drawing, dot) {
    seed = 7;
    struct drawing d = random_graph(60);
    drawing_layers(&d);
    if (!drawing_dot(&d)) cr_skip_test("dot is not here (Debian's package graphviz)");
    check_boxes(&d, "by dot");
    check_edges(&d, "by dot");
}
/* What the page says of a group's end: each reason that docs/groups.md names has a sentence. */
Test(drawing, reasons) {
    char line[4096], path[4096];
    int found = 0;
    snprintf(path, sizeof path, "%s/docs/groups.md", getenv("GCC2NN_SOURCE_ROOT"));
    FILE *f = fopen(path, "r");
    cr_assert(f);
    bool table = false;
    while (fgets(line, sizeof line, f)) {
        table |= !strncmp(line, "| reason |", 10);
        char *cell =
            table && !strncmp(line, "| `", 3) ? line + 2 : NULL; /* the first: `other-index`, `other-extents` */
        if (cell && strchr(cell, '|')) *strchr(cell, '|') = 0;
        for (char *code = cell ? strtok(cell, "`, ") : NULL; code; code = strtok(NULL, "`, "), found++)
            cr_expect(*group_reason_text(code), "%s has no sentence", code);
    }
    fclose(f);
    cr_assert_geq(found, 10);
}
