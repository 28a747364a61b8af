/* Layout of a graph's picture, the positions of its boxes and the course of the lines between them: for `gcc2nn
 * report`. Made by Graphviz's `dot` if it is installed, else by our own layered layout
 * (docs/adr/0019-reports-are-drawn-from-the-manifest.md). Numbers are pixels, y points down. */
#ifndef NN_COMPILER_DRAWING_H
#define NN_COMPILER_DRAWING_H
#include "ir/base/ctx.h"
#include "ir/base/vec.h"

struct drawn_box {
    int w, h;
    double x, y; /* centre */
};
struct drawn_edge {
    int from, to;       /* boxes: from < to, so there is no cycle */
    bool far;           /* it would span too many layers: no line is drawn, and both ends show its name */
    VEC(double) points; /* x, y, x, y ...: a start, and three points for each Bezier curve */
};
struct drawing {
    struct ctx *c;
    VEC(struct drawn_box) boxes;
    VEC(struct drawn_edge) edges; /* in the order of `from` */
    double w, h;                  /* of the page */
    const char *by;               /* "dot", "layers" */
};
/* Positions everything. Which edges are far does not depend on the method. */
void drawing_place(struct drawing *d);

/* ---- its two parts */
void drawing_layers(struct drawing *d); /* drawing_layers.c: marks the far edges and positions everything */
/* drawing_dot.c, called after drawing_layers: positions everything again. false, without any change: dot is not
 * installed, has failed, or would take too long. */
bool drawing_dot(struct drawing *d);
#endif
