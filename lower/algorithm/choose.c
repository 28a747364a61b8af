/* Asks the rows of algorithms, and builds what they rewrite into. See algorithm.h. */
#include "ir/define/define.h"
#include "lower/algorithm/rows.h"
#include <math.h>
#include <string.h>

const struct algorithm *algorithm_named(const char *name) {
    for (const struct algorithm *r = algorithm_rows; r->name; r++)
        if (!strcmp(r->name, name)) return r;
    return NULL;
}
bool algorithm_left_out(const struct algorithm_wishes *w, const char *name) {
    for (int k = 0; k < w->noff; k++)
        if (!strcmp(w->off[k], name) || !strcmp(w->off[k], "all")) return true;
    return false;
}
/* The row that the user asks for: for this node, otherwise for all nodes. beside: looks only at rows that go beside
 * others; otherwise only at the rest. */
static const struct algorithm *pinned(const struct algorithm_wishes *w, const char *node, bool beside) {
    const struct algorithm *all = NULL;
    size_t n = strlen(node);
    for (int k = 0; k < w->npins; k++) {
        const char *equals = strrchr(w->pins[k], '=');
        const struct algorithm *row = algorithm_named(equals ? equals + 1 : w->pins[k]);
        if (row && !row->beside == beside) continue;
        if (!equals) all = row;
        else if ((size_t)(equals - w->pins[k]) == n && !strncmp(w->pins[k], node, n)) return row;
    }
    return all;
}
/* Why the row cannot be taken, whatever it costs; NULL: it can. */
static const char *refusal(const struct algorithm_query *q, const struct algorithm *row, const struct algorithm *pin) {
    const char *why = row->refuses ? row->refuses(q, row) : NULL;
    if (why) return why;
    if (pin && row != pin) return "another one is asked for";
    return !pin && row->refuses && algorithm_left_out(q->wishes, row->name) ? "left out by an option" : NULL;
}
/* Rows that may change results must be a tenth faster. */
static double weighed(const struct algorithm *row, double cycles) {
    return row->bound || row->finite ? cycles / 0.9 : cycles;
}
const struct algorithm *algorithm_choose(const struct algorithm_query *q, const char *node, struct text *why) {
    const struct algorithm *best = algorithm_rows, *pin = pinned(q->wishes, node, false);
    double least = 0, fewest = 0, taken = 0;
    bool asked = false;
    for (const struct algorithm *r = algorithm_rows; r->name; r++) {
        if (r->beside) continue;
        const char *no = refusal(q, r, pin);
        if (no && !*no) continue;
        double cycles = no ? 0 : r->cycles(q, r);
        asked |= r != algorithm_rows;
        text_printf(why, "  algorithm %s: ", r->name);
        if (no) text_printf(why, "%s\n", no);
        else text_printf(why, "%.0f cycles\n", cycles);
        if (!no && (fewest == 0 || cycles < fewest)) fewest = cycles;
        if (!no && (least == 0 || weighed(r, cycles) < least)) best = r, least = weighed(r, cycles), taken = cycles;
    }
    if (best != algorithm_rows && !decide(q->c, "algorithm %s for node %s", best->name, diag_quote(&q->c->arena, node)))
        best = algorithm_rows;
    if (asked) text_printf(why, "    taken: %s%s\n", best->name, fewest < taken ? "; less does not save a tenth" : "");
    else text_free(why); /* there was nothing to choose */
    return best;
}

/* Applies one such row; returns its title as a line, "" if it did nothing. */
static const char *go_beside(const struct algorithm_query *q, const struct algorithm *row, const char *node, bool asked,
                             struct text *why) {
    bool out = (!asked && algorithm_left_out(q->wishes, row->name)) ||
               !decide(q->c, "algorithm %s beside node %s", row->name, diag_quote(&q->c->arena, node));
    struct algorithm_saving saved = row->beside(q, row, asked, !out);
    if (!saved.places) return "";
    text_printf(why, "  algorithm %s: ", row->name);
    if (out) return text_add(why, "left out by an option\n"), "";
    text_printf(why, "%s %.0f cycles\n    taken beside it\n", saved.cycles < 0 ? "adds" : "saves", fabs(saved.cycles));
    return internf(q->c->names, "%s\n", row->title);
}
const char *algorithm_beside(const struct algorithm_query *q, const char *node, struct text *why) {
    const struct algorithm *pin = pinned(q->wishes, node, true);
    const char *titles = pin ? go_beside(q, pin, node, true, why) : ""; /* first, before other rows change what the
                                                                         * user's row is asked for */
    for (const struct algorithm *r = algorithm_rows; r->name; r++)
        if (r->beside && r != pin) titles = internf(q->c->names, "%s%s", titles, go_beside(q, r, node, false, why));
    return titles;
}

/* ---- kernel texts that rows replace by others */
bool calls_text(const struct algorithm_query *q, const struct stmt *s, const char *text) {
    return s->kind == S_CALL && s->u.call.callee->is_kernel_text &&
           s->u.call.callee->name == internf(q->c->names, "%s_%s", text, dtype_name(s->u.call.bufs[0]->type));
}
struct proc *algorithm_text(const struct algorithm_query *q, const struct stmt *call, const char *name) {
    enum dtype type = call->u.call.bufs[0]->type;
    return kernel_of_text(q->c, q->module, name, type, &type, 1);
}

/* ---- what rows make */
void algorithm_part(const struct algorithm_query *q, struct rewriting *out, const char *what) {
    PUSH(&q->c->arena, &out->parts, ((struct algorithm_part){.what = what}));
}
struct buf *algorithm_stage(const struct algorithm_query *q, struct rewriting *out, const char *name, enum dtype t,
                            const struct var **axes, int naxes, enum red_op op, const struct var **red, int nred,
                            expr value) {
    struct block *b = &out->parts.v[out->parts.n - 1].stmts;
    expr dims[32];
    for (int k = 0; k < naxes; k++) dims[k] = axes[k]->extent;
    struct buf *made = buf_new(q->c, q->entry, name, t, SC_ARENA, dims, naxes);
    block_append(b, s_alloc(q->c, made));
    block_append(b, s_stage(q->c, made, axes, naxes, op, red, nred, NULL, value));
    return made;
}
expr algorithm_own_axes(const struct algorithm_query *q, const struct stmt *s, expr value, const struct var **axes,
                        expr *at) {
    struct subst own = {{.arena = &q->c->arena}};
    for (int d = 0; d < s->u.stage.naxes; d++) {
        axes[d] = var_new(q->c, s->u.stage.axes[d]->name, s->u.stage.axes[d]->extent);
        at[d] = x_var(q->c, axes[d]);
        map_put(&own.map, PKEY(s->u.stage.axes[d]), (void *)at[d]);
    }
    return x_subst(q->c, value, &own);
}
void algorithm_rest(const struct algorithm_query *q, struct rewriting *out, expr value) {
    struct block *b = &out->parts.v[out->parts.n - 1].stmts;
    for (struct stmt *s = q->stmts->first, *next; s; s = next) {
        next = s->next;
        stmt_remove(s);
        if (value && s == q->k->sum)
            s = s_stage(q->c, s->u.stage.buf, s->u.stage.axes, s->u.stage.naxes, RED_NONE, NULL, 0, NULL, value);
        block_append(b, s);
    }
}
void algorithm_between(const struct algorithm_query *q, struct rewriting *out, struct buf *b) {
    PUSH(&q->c->arena, &out->between, b);
}
struct buf *algorithm_view(const struct algorithm_query *q, struct rewriting *out, const char *name, struct buf *of,
                           const expr *dims, int nd) {
    struct stmt *s = s_new(q->c, S_VIEW);
    s->u.view.buf = buf_new(q->c, q->entry, name, of->type, SC_ARENA, dims, nd);
    s->u.view.of = of, s->u.view.off = x_int(q->c, 0);
    block_append(&out->parts.v[out->parts.n - 1].stmts, s);
    algorithm_between(q, out, s->u.view.buf);
    return s->u.view.buf;
}
