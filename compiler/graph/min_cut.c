/* Minimum cuts; see min_cut.h. Flow is pushed along shortest paths, level by level (Dinic 1970). */
#include "compiler/graph/min_cut.h"
#include "ir/base/vec.h"
#include <string.h>

struct edge {
    int to, next; /* next: next edge of the same vertex; -1 ends the list. Edges k and k ^ 1 are each other's reverse */
    int64_t room;
};
struct cut {
    struct arena *a;
    VEC(struct edge) edges;
    VEC(int) first;
    int *level, *at, *path;
    int64_t work; /* edges looked at */
};
enum { MOST_WORK = 200000000 };

int cut_vertex(struct cut *c) {
    PUSH(c->a, &c->first, -1);
    return c->first.n - 1;
}
struct cut *cut_new(struct arena *a) {
    struct cut *c = NEW(a, struct cut);
    c->a = a;
    cut_vertex(c), cut_vertex(c);
    return c;
}
static void half(struct cut *c, int from, int to, int64_t room) {
    PUSH(c->a, &c->edges, ((struct edge){to, c->first.v[from], room}));
    c->first.v[from] = c->edges.n - 1;
}
void cut_edge(struct cut *c, int from, int to, int64_t cost) {
    if (from == to) return;
    half(c, from, to, cost);
    half(c, to, from, 0);
}
/* Distance of each vertex to the sink along edges with remaining capacity; -1: unreachable. */
static bool find_levels(struct cut *c) {
    int head = 0, tail = 0, *queue = c->path;
    for (int k = 0; k < c->first.n; k++) c->level[k] = -1;
    c->level[CUT_SINK] = 0;
    queue[tail++] = CUT_SINK;
    while (head < tail) {
        int v = queue[head++];
        for (int k = c->first.v[v]; k >= 0; k = c->edges.v[k].next, c->work++) {
            int u = c->edges.v[k].to;
            if (c->level[u] >= 0 || !c->edges.v[k ^ 1].room) continue;
            c->level[u] = c->level[v] + 1;
            queue[tail++] = u;
        }
    }
    return c->level[CUT_SOURCE] >= 0;
}
/* Finds a path from source to sink along decreasing distances; path[] gets its edges. Returns their number, or 0. */
static int find_path(struct cut *c) {
    int n = 0, v = CUT_SOURCE;
    while (v != CUT_SINK) {
        int k = c->at[v];
        while (k >= 0 && !(c->edges.v[k].room && c->level[c->edges.v[k].to] == c->level[v] - 1))
            k = c->edges.v[k].next, c->work++;
        c->at[v] = k;
        if (k >= 0) {
            c->path[n++] = k;
            v = c->edges.v[k].to;
        } else if (n) { /* a dead end: go back and do not try it again */
            v = c->edges.v[c->path[--n] ^ 1].to;
            c->at[v] = c->edges.v[c->at[v]].next;
        } else return 0;
    }
    return n;
}
bool cut_minimum(struct cut *c) {
    size_t n = (size_t)c->first.n;
    c->level = arena_alloc(c->a, n * sizeof(int));
    c->at = arena_alloc(c->a, n * sizeof(int));
    c->path = arena_alloc(c->a, n * sizeof(int));
    while (find_levels(c)) {
        memcpy(c->at, c->first.v, n * sizeof(int));
        for (int length; (length = find_path(c)) > 0;) {
            int64_t room = CUT_NEVER;
            for (int k = 0; k < length; k++)
                if (c->edges.v[c->path[k]].room < room) room = c->edges.v[c->path[k]].room;
            for (int k = 0; k < length; k++) {
                c->edges.v[c->path[k]].room -= room;
                c->edges.v[c->path[k] ^ 1].room += room;
            }
        }
        if (c->work > MOST_WORK) return false;
    }
    return true;
}
bool cut_at_sink(const struct cut *c, int vertex) { return c->level[vertex] >= 0; }
