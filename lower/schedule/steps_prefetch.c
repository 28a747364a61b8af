/* The step prefetch: during one iteration, touches the cache lines of an operand that the next iteration reads. */
#include "lower/schedule/steps_util.h"
#include <string.h>

enum { MAX_LINES = 64, WIDEST_CELL = 16 };
static struct stmt *around(struct stmt *t, const char *name) {
    for (; t; t = stmt_parent(t))
        if (is_named(t, name)) return t;
    return NULL;
}
/* Loops of one name side by side, made by cut or sizes, share the prefetching: how many iterations come before this
 * loop, and how many there are in all. An open size counts with its typical value: smaller runs leave some lines
 * untouched, larger ones touch lines beyond. */
static bool shares(struct ctx *c, struct stmt *loop, int64_t *before, int64_t *all) {
    *before = *all = 0;
    struct stmt *t = loop->in->first;
    for (bool past = false; t; t = t->next) {
        past |= t == loop;
        if (!is_named(t, loop->u.loop.var->name)) continue;
        int64_t n = x_reference(c, t->u.loop.var->extent);
        if (n < 0 || !add_ok(*all, n, all)) return false;
        if (!past) *before += n;
    }
    return true;
}
static bool prefetch_in(struct step_run *s, struct stmt *at, struct stmt *ahead, const struct word_list *spread,
                        expr load) {
    struct ctx *c = s->c;
    struct buf *b = load->u.buf;
    struct vars inside = {0};
    const struct var *v = ahead->u.loop.var;
    expr off = buf_offset(c, b, load->arg), rest, it = x_int(c, 0);
    const expr *t;
    const int64_t *co;
    int64_t line = s->step->u.prefetch.line / dtype_bytes(b->type);
    int64_t panel, c0, each = line; /* cells per iteration */
    if (!x_linear_in(c, off, v, &panel, &rest) || panel <= 0)
        return step_refuse(s, "pack the buffer so that what one iteration reads is contiguous",
                           "`%s` is not read panel by panel along `%s`", b->name, v->name);
    PUSH(&s->tmp, &inside, v);
    vars_below(s, &ahead->u.loop.body, &inside);
    int n = x_terms(c, rest, &c0, &t, &co);
    expr base = x_addi(c, x_muli(c, x_addi(c, x_var(c, v), 1), panel), c0);
    for (int k = 0; k < n; k++) /* loops outside of `ahead` contribute as they are */
        if (!uses_any(t[k], &inside)) base = x_add(c, base, x_muli(c, t[k], co[k]));
    for (int k = 0; k < spread->n; k++) {
        struct stmt *loop = around(at, spread->v[k]);
        int64_t before, all;
        if (!shares(c, loop, &before, &all) || !mul_ok(each, all, &each))
            return step_refuse(s, "spread over loops whose extents are known, or said to be typical",
                               "`%s` has a run-time extent", spread->v[k]);
        it = x_add(c, x_muli(c, it, all), x_addi(c, x_var(c, loop->u.loop.var), before));
    }
    if (!each) return true; /* a typical run does not execute this nest */
    int64_t lines = (panel - 1) / each + 1;
    if (lines > MAX_LINES)
        return step_refuse(s, "spread the lines over more loops", "each iteration of `%s` would touch %lld lines",
                           at->u.loop.var->name, (long long)lines);
    struct stmt *first = at->u.loop.body.first;
    for (int64_t j = 0; j < lines; j++) {
        struct stmt *f = s_new(c, S_PREFETCH);
        f->u.prefetch.buf = b;
        f->u.prefetch.off = x_addi(c, x_add(c, base, x_muli(c, it, lines * line)), j * line);
        stmt_insert_before(first, f);
    }
    return true;
}
/* The name of a loop that this nest lacks, because it has another form; NULL: it has all of them. */
static const char *loop_missing(struct stmt *at, struct stmt *ahead, const struct word_list *spread) {
    for (int k = 0; k < spread->n; k++) {
        struct stmt *loop = around(at, spread->v[k]);
        if (!loop || loop == ahead || !encloses(ahead, loop)) return spread->v[k];
    }
    return NULL;
}
bool apply_prefetch(struct step_run *s) {
    struct stmts l = {0};
    const char *buf = s->step->u.prefetch.buf, *at = s->step->u.prefetch.at, *further = s->step->u.prefetch.ahead;
    if (!find_buf(s, buf) || !find_loops(s, at, &l)) return false;
    if (s->step->u.prefetch.line < WIDEST_CELL)
        return step_refuse(s, NULL, "a line has %d bytes at least", WIDEST_CELL);
    const struct word_list *spread = &s->step->u.prefetch.spread;
    const char *missing = NULL;
    int done = 0;
    for (int k = 0; k < l.n; k++) {
        struct accesses a = {0};
        struct stmt *ahead = around(l.v[k], further);
        expr load = NULL;
        if (!ahead || (missing = loop_missing(l.v[k], ahead, spread))) continue;
        accesses_of(s, &l.v[k]->u.loop.body, &a);
        for (int j = 0; j < a.n && !load; j++)
            if (a.v[j].load && !strcmp(a.v[j].buf->base, buf)) load = a.v[j].load;
        if (!load) return step_refuse(s, NULL, "`%s` does not read `%s`", at, buf);
        if (l.v[k]->u.loop.kind == LK_VECTOR) return step_refuse(s, NULL, "`%s` is a vector loop", at);
        if (!prefetch_in(s, l.v[k], ahead, spread, load)) return false;
        done++;
    }
    if (done) return true;
    if (!missing) return step_refuse(s, NULL, "`%s` is not inside of `%s`", at, further);
    return step_refuse(s, NULL, "`%s` is no loop between `%s` and `%s`", missing, further, at);
}
