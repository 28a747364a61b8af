/* Layout by Graphviz: its program `dot` gets the boxes and lines and prints their positions in its plain format, one
 * per line. See drawing.h. */
#include "compiler/build.h"
#include "compiler/drawing.h"
#include "compiler/session.h"
#include "ir/base/cleanup.h"
#include <stdlib.h>
#include <string.h>

enum { SECONDS = 10, BOXES_MOST = 1200, INCH = 72, MARGIN = 24 };

static void print_graph(const struct drawing *d, struct text *t) {
    text_printf(t, "digraph g {\ngraph [nodesep=0.35, ranksep=0.55]\nnode [shape=box, fixedsize=true, label=\"\"]\n"
                   "edge [arrowhead=none]\n");
    for (int k = 0; k < d->boxes.n; k++)
        text_printf(t, "n%d [width=%.3f, height=%.3f]\n", k, (double)d->boxes.v[k].w / INCH,
                    (double)d->boxes.v[k].h / INCH);
    for (int k = 0; k < d->edges.n; k++)
        if (!d->edges.v[k].far) text_printf(t, "n%d -> n%d\n", d->edges.v[k].from, d->edges.v[k].to);
    text_add(t, "}\n");
}

/* ---- reading dot's output */
struct reader {
    struct drawing *to;
    const char *at;
    bool ok;
};
/* The next word is a number. */
static double number(struct reader *r) {
    const char *end = r->at + strspn(r->at, " ");
    double v = text_read_f64(end, &r->at);
    if (r->at == end) r->ok = false;
    return v;
}
static double across(struct reader *r) { return number(r) * INCH + MARGIN; }
static double down(struct reader *r) { return r->to->h - MARGIN - number(r) * INCH; }
/* "n12": a box. */
static int box(struct reader *r) {
    char *end;
    r->at += strspn(r->at, " ");
    long k = *r->at == 'n' ? strtol(r->at + 1, &end, 10) : -1;
    if (k < 0 || k >= r->to->boxes.n) return r->ok = false, 0;
    r->at = end;
    return (int)k;
}
/* Lines between the same boxes are printed one after the other. */
static struct drawn_edge *next_edge(struct drawing *d, int from, int to) {
    for (int k = 0; k < d->edges.n; k++) {
        struct drawn_edge *e = &d->edges.v[k];
        if (e->from == from && e->to == to && !e->far && !e->points.n) return e;
    }
    return NULL;
}
static void read_edge(struct reader *r) {
    int from = box(r), to = box(r);
    int n = (int)number(r);
    struct drawn_edge *e = r->ok ? next_edge(r->to, from, to) : NULL;
    if (!e || n < 4 || n % 3 != 1) r->ok = false;
    for (int k = 0; k < n && r->ok; k++) {
        double x = across(r), y = down(r);
        PUSH(&r->to->c->arena, &e->points, x);
        PUSH(&r->to->c->arena, &e->points, y);
    }
}
static bool begins(struct reader *r, const char *word) {
    size_t n = strlen(word);
    if (strncmp(r->at, word, n) != 0 || r->at[n] != ' ') return false;
    r->at += n;
    return true;
}
static void read_line(struct reader *r) {
    if (begins(r, "graph")) {
        number(r); /* scale */
        double w = number(r), h = number(r);
        r->to->w = w * INCH + 2 * MARGIN, r->to->h = h * INCH + 2 * MARGIN;
    } else if (begins(r, "node")) {
        struct drawn_box *b = &r->to->boxes.v[box(r)];
        b->x = across(r), b->y = down(r);
    } else if (begins(r, "edge")) read_edge(r);
}
static bool all_told(const struct drawing *d) {
    for (int k = 0; k < d->edges.n; k++)
        if (!d->edges.v[k].far && !d->edges.v[k].points.n) return false;
    return true;
}
/* dot prints five digits, which is some pixels off in a long drawing: move the ends of lines to their boxes. */
static void mend_ends(struct drawing *d) {
    for (int k = 0; k < d->edges.n; k++) {
        struct drawn_edge *e = &d->edges.v[k];
        const struct drawn_box *from = &d->boxes.v[e->from], *to = &d->boxes.v[e->to];
        if (e->far) continue;
        e->points.v[1] = from->y + from->h / 2.0;
        e->points.v[e->points.n - 1] = to->y - to->h / 2.0;
    }
}
static bool read_places(struct drawing *d, const char *said) {
    struct drawing to = {.c = d->c};
    struct reader r = {&to, said, true};
    for (int k = 0; k < d->boxes.n; k++) PUSH(&d->c->arena, &to.boxes, d->boxes.v[k]);
    for (int k = 0; k < d->edges.n; k++) {
        struct drawn_edge e = d->edges.v[k];
        PUSH(&d->c->arena, &to.edges, ((struct drawn_edge){.from = e.from, .to = e.to, .far = e.far}));
    }
    for (const char *line = said; *line && r.ok;) {
        r.at = line;
        read_line(&r);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    if (!r.ok || !all_told(&to)) return false;
    mend_ends(&to);
    *d = to;
    return true;
}

bool drawing_dot(struct drawing *d) {
    struct text t = {0};
    int noted;
    if (d->boxes.n > BOXES_MOST || !program_exists("dot")) return false;
    const char *folder = temporary_folder(d->c, &noted);
    if (!folder) return false;
    print_graph(d, &t);
    bool ok = harness_file(d->c, format(d->c, "%s/graph.dot", folder), &t, NULL, 0);
    text_free(&t);
    if (ok) {
        struct outcome o = process_run((const char *const[]){"dot", "-Tplain", "graph.dot", NULL}, folder, SECONDS);
        ok = o.started && !o.timed_out && o.status == 0 && o.out.s && read_places(d, o.out.s);
        outcome_free(&o);
    }
    cleanup_now(noted);
    return ok;
}
