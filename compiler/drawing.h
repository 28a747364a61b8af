/* Where the boxes of a graph stand on a page, and how the lines between them run: for `gcc2nn report`. By Graphviz's
 * `dot` where there is one, else by layers of our own (docs/adr/0019-reports-are-drawn-from-the-manifest.md). Numbers
 * are pixels, y goes down. */
#ifndef NN_COMPILER_DRAWING_H
#define NN_COMPILER_DRAWING_H
#include "ir/base/ctx.h"
#include "ir/base/vec.h"

struct drawn_box {
    int w, h;
    double x, y; /* of its centre */
};
struct drawn_edge {
    int from, to;       /* boxes: from < to, so there is no circle */
    bool far;           /* over so many layers that no line is drawn: both ends have its name */
    VEC(double) points; /* x, y, x, y ...: a start, and three points for each curve of Bezier */
};
struct drawing {
    struct ctx *c;
    VEC(struct drawn_box) boxes;
    VEC(struct drawn_edge) edges; /* in the order of `from` */
    double w, h;                  /* of the page */
    const char *by;               /* "dot", "layers" */
};
/* Places everything. Which edges are far is the same either way. */
void drawing_place(struct drawing *d);

/* ---- its two parts */
void drawing_layers(struct drawing *d); /* drawing_layers.c: marks the far ones, and places all */
/* drawing_dot.c, after that one: places all anew. false, and nothing changes: there is no dot, or it has failed, or
 * would take too long. */
bool drawing_dot(struct drawing *d);
#endif
