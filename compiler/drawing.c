/* The picture of a manifest's graph: a box for each group of nodes, which is what becomes a kernel, for each input and
 * each output, and a line for each value between two of them. See facts.h and drawing.h. */
#include "compiler/drawing.h"
#include "compiler/facts.h"
#include <math.h>
#include <stdlib.h>

enum { WIDTH = 176, HEAD = 26, LINE = 17, FOOT = 8, LINES_MOST = 9, PORT_HEIGHT = 38 };
enum box_kind { BOX_INPUT, BOX_GROUP, BOX_OUTPUT };
static const char *const kind_names[] = {"input", "group", "output"};

struct subject {
    enum box_kind kind;
    int number; /* its number among the inputs, groups or outputs */
};
struct line {
    int from, to;
    int value; /* -1: an edge from the owner of a body into the body */
};
struct picture {
    struct drawing d;
    const json_t *graph;
    VEC(struct subject) subjects; /* of the boxes */
    VEC(struct line) lines;       /* edges */
    int *made;                    /* value -> 1 + the box that it comes from */
    int *box_of;                  /* node -> 1 + its box */
};
static const json_t *list(const json_t *o, const char *key) { return json_object_get(o, key); }
static int count(const json_t *a) { return (int)json_array_size(a); }
static int add_box(struct picture *p, enum box_kind kind, int number, int h) {
    PUSH(&p->d.c->arena, &p->d.boxes, ((struct drawn_box){.w = WIDTH, .h = h}));
    PUSH(&p->d.c->arena, &p->subjects, ((struct subject){kind, number}));
    return p->d.boxes.n - 1;
}
static const json_t *node(const struct picture *p, int n) { return json_array_get(list(p->graph, "nodes"), (size_t)n); }
/* Calls fn for each value in the lists `key` of a group's nodes. */
static void each_value(struct picture *p, const json_t *group, const char *nodes, const char *key,
                       void (*fn)(struct picture *p, int value, int box), int box) {
    for (int k = 0; k < count(list(group, nodes)); k++) {
        const json_t *values = list(node(p, facts_index(list(group, nodes), (size_t)k)), key);
        for (size_t j = 0; j < json_array_size(values); j++)
            if (facts_index(values, j) >= 0) fn(p, facts_index(values, j), box);
    }
}
static void makes(struct picture *p, int value, int box) { p->made[value] = 1 + box; }
static void reads(struct picture *p, int value, int box) {
    int from = p->made[value] - 1;
    if (from < 0 || from >= box) return;
    for (int k = p->lines.n; k-- && p->lines.v[k].to == box;)
        if (p->lines.v[k].value == value) return;
    PUSH(&p->d.c->arena, &p->lines, ((struct line){from, box, value}));
}
/* A body is drawn below the node that it belongs to. */
static void add_owner(struct picture *p, int first, int box) {
    const json_t *owner = json_object_get(node(p, first), "owner");
    int from = owner ? p->box_of[json_integer_value(owner)] - 1 : -1;
    if (from >= 0 && from < box) PUSH(&p->d.c->arena, &p->lines, ((struct line){from, box, -1}));
}
static void add_groups(struct picture *p) {
    for (int k = 0; k < count(list(p->graph, "groups")); k++) {
        const json_t *g = json_array_get(list(p->graph, "groups"), (size_t)k), *nodes = list(g, "nodes");
        int lines = count(nodes) + count(list(g, "views")), before = p->lines.n;
        int box = add_box(p, BOX_GROUP, k, HEAD + FOOT + LINE * (lines < LINES_MOST ? lines : LINES_MOST));
        each_value(p, g, "views", "outputs", makes, box);
        each_value(p, g, "nodes", "outputs", makes, box);
        each_value(p, g, "views", "inputs", reads, box);
        each_value(p, g, "nodes", "inputs", reads, box);
        for (size_t j = 0; j < json_array_size(nodes); j++) p->box_of[facts_index(nodes, j)] = 1 + box;
        if (p->lines.n == before) add_owner(p, facts_index(nodes, 0), box);
    }
}
static void add_ports(struct picture *p, enum box_kind kind, const char *key) {
    const json_t *of = list(p->graph, key);
    for (int k = 0; k < count(of); k++) {
        int box = add_box(p, kind, k, PORT_HEIGHT);
        (kind == BOX_INPUT ? makes : reads)(p, facts_index(of, (size_t)k), box);
    }
}
static int by_from(const void *a, const void *b) {
    const struct line *x = a, *y = b;
    return x->from != y->from ? x->from - y->from : x->to != y->to ? x->to - y->to : x->value - y->value;
}
static void add_edges(struct picture *p) {
    if (p->lines.n) qsort(p->lines.v, (size_t)p->lines.n, sizeof *p->lines.v, by_from);
    for (int k = 0; k < p->lines.n; k++)
        PUSH(&p->d.c->arena, &p->d.edges, ((struct drawn_edge){.from = p->lines.v[k].from, .to = p->lines.v[k].to}));
}

/* ---- as JSON */
static json_t *pixels(double v) { return json_real(floor(v * 10 + 0.5) / 10); }
static json_t *box_json(const struct picture *p, int k) {
    const struct drawn_box *b = &p->d.boxes.v[k];
    return json_pack("{s:i, s:o, s:o, s:i, s:i}", kind_names[p->subjects.v[k].kind], p->subjects.v[k].number, "x",
                     pixels(b->x), "y", pixels(b->y), "w", b->w, "h", b->h);
}
static json_t *edge_json(const struct picture *p, int k) {
    const struct drawn_edge *e = &p->d.edges.v[k];
    json_t *points = json_array();
    for (int j = 0; j < e->points.n; j++) json_array_append_new(points, pixels(e->points.v[j]));
    json_t *o = json_pack("{s:i, s:i, s:b, s:o}", "from", e->from, "to", e->to, "far", e->far, "points", points);
    if (p->lines.v[k].value >= 0) json_object_set_new(o, "value", json_integer(p->lines.v[k].value));
    return o;
}
json_t *facts_drawing(struct ctx *c, const json_t *manifest) {
    struct picture p = {.d = {.c = c}, .graph = json_object_get(manifest, "graph")};
    json_t *boxes = json_array(), *edges = json_array();
    if (!json_is_object(p.graph)) return json_decref(boxes), json_decref(edges), json_null();
    p.made = NEWN(&c->arena, int, count(list(p.graph, "values")) + 1);
    p.box_of = NEWN(&c->arena, int, count(list(p.graph, "nodes")) + 1);
    add_ports(&p, BOX_INPUT, "inputs");
    add_groups(&p);
    add_ports(&p, BOX_OUTPUT, "outputs");
    add_edges(&p);
    drawing_place(&p.d);
    for (int k = 0; k < p.d.boxes.n; k++) json_array_append_new(boxes, box_json(&p, k));
    for (int k = 0; k < p.d.edges.n; k++) json_array_append_new(edges, edge_json(&p, k));
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "by", p.d.by, "w", pixels(p.d.w), "h", pixels(p.d.h), "boxes", boxes,
                     "edges", edges);
}
