/* What became of each node of the model; see trace.h. */
#include "ir/graph/trace.h"
#include "ir/graph/graph.h"
#include <string.h>

struct fate {
    const char *pass, *rule, *why, *into;
};

void trace_source(struct graph *g, const char *origin) {
    struct trace *t = &g->trace;
    t->known.arena = &g->ctx->arena;
    if (map_get(&t->known, PKEY(origin))) return;
    map_put(&t->known, PKEY(origin), (void *)origin);
    PUSH(&g->ctx->arena, &t->origins, origin);
}
void trace_pass(struct graph *g, const char *pass) {
    g->trace.pass = pass;
    trace_because(g, NULL, NULL);
}
void trace_because(struct graph *g, const char *rule, const char *why) {
    g->trace.rule = rule, g->trace.why = why, g->trace.into = NULL;
}

/* The line at *s, interned; advances *s. */
static const char *next_line(struct ctx *c, const char **s) {
    size_t n = strcspn(*s, "\n");
    const char *line = internn(c->names, *s, n);
    *s += n + ((*s)[n] == '\n');
    return line;
}
void trace_into(struct graph *g, const char *origin) {
    g->trace.into = origin && *origin ? next_line(g->ctx, &origin) : NULL;
}
void trace_removed(struct graph *g, const char *origin) {
    struct trace *t = &g->trace;
    t->known.arena = t->fates.arena = &g->ctx->arena;
    for (const char *s = origin; s && *s;) {
        const char *line = next_line(g->ctx, &s);
        if (!map_get(&t->known, PKEY(line)) || line == t->into) continue;
        struct fate *f = NEW(&g->ctx->arena, struct fate);
        *f = (struct fate){t->pass, t->rule, t->why, t->into};
        map_put(&t->fates, PKEY(line), f);
    }
}
void trace_merge(struct node *into, const struct node *n) {
    if (into->origin && n->origin && *n->origin && strcmp(into->origin, n->origin) != 0)
        into->origin = internf(into->in->graph->ctx->names, "%s\n%s", into->origin, n->origin);
}

/* ---- the end */
struct living {
    struct ctx *c;
    struct map own, merged; /* origin -> itself; -> the origin that it was merged into */
};
static void note_living(void *env, struct node *n) {
    struct living *l = env;
    const char *s = n->origin;
    if (!s || !*s) return;
    const char *own = next_line(l->c, &s);
    map_put(&l->own, PKEY(own), (void *)own);
    while (*s) map_put(&l->merged, PKEY(next_line(l->c, &s)), (void *)own);
}
/* The remaining node that does the work of `origin`, which is gone; NULL: none. */
static const char *heir(const struct graph *g, const struct living *l, const char *origin) {
    for (int hops = 0; hops < 1000; hops++) { /* nodes may have been merged in a cycle before they were removed */
        const char *into = map_get(&l->merged, PKEY(origin));
        const struct fate *f = map_get(&g->trace.fates, PKEY(origin));
        if (!into) into = f ? f->into : NULL;
        if (!into || map_get(&l->own, PKEY(into))) return into;
        origin = into;
    }
    return NULL;
}
sources trace_end(struct graph *g) {
    struct arena *a = &g->ctx->arena;
    struct living l = {g->ctx, {.arena = a}, {.arena = a}};
    sources all = {0};
    g->trace.fates.arena = a;
    each_node(g->top, note_living, &l);
    for (int k = 0; k < g->trace.origins.n; k++) {
        struct source_node s = {.origin = g->trace.origins.v[k], .state = SOURCE_ALIVE};
        const struct fate *f = map_get(&g->trace.fates, PKEY(s.origin));
        if (!map_get(&l.own, PKEY(s.origin))) {
            s.into = heir(g, &l, s.origin);
            s.state = s.into ? SOURCE_MERGED : SOURCE_REMOVED;
            if (f) s.pass = f->pass, s.rule = f->rule, s.why = f->why;
        }
        PUSH(a, &all, s);
    }
    return all;
}
const char *source_state_name(enum source_state s) {
    return s == SOURCE_ALIVE ? "alive" : s == SOURCE_MERGED ? "merged" : "removed";
}
void sources_print(struct text *t, const sources *all) {
    for (int k = 0; k < all->n; k++) {
        const struct source_node *s = &all->v[k];
        text_printf(t, "%s: %s", s->origin, source_state_name(s->state));
        if (s->into) text_printf(t, " into %s", s->into);
        if (s->pass) text_printf(t, " by %s%s%s", s->pass, s->rule ? ", rule " : "", s->rule ? s->rule : "");
        text_printf(t, "%s%s\n", s->why ? ": " : "", s->why ? s->why : "");
    }
}
