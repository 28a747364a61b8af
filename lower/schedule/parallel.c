/* Which loops of a scheduled kernel run on several threads: from outside to inside, those for which the fewest cycles
 * are predicted. The steps `kind parallel` and `grain` share a loop; if it has too few iterations, `fuse` first joins
 * it with the loops inside of it. What the steps refuse stays serial, and the choices say why. This runs after the
 * steps of whichever strategy was taken. See docs/schedules.md. */
#include "ir/base/checked.h"
#include "lower/memory/sharing.h"
#include "lower/schedule/schedule.h"
#include <math.h>
#include <string.h>

enum { DEEPEST = 4 };             /* loops fused into one */
enum { PASSES = 8 };              /* assumed for a `while`, whose number of passes is unknown */
static const double WORTH = 0.95; /* of the cycles: a less simple choice must save at least this */

struct share { /* perfectly nested loops that threads share as one */
    const char *loop[DEEPEST];
    int n;
    struct stmt *innermost;
    double iteration, cycles; /* of one iteration; of all, on all threads */
};
struct sharing {
    struct ctx *c;
    struct proc *p; /* a copy whose stages are lowered */
    const struct machine *m;
    int threads;
    struct text *choices;
    VEC(struct share) taken;
};

/* ---- cycles of one thread */
static double extent_with(struct sharing *q, const struct stmt *loop, int64_t open) {
    return (double)x_typical(q->c, loop->u.loop.var->extent, open);
}
static double extent_of(struct sharing *q, const struct stmt *loop) { return extent_with(q, loop, OPEN_SIZE); }
/* Work of a statement: operations, loads and stores. Index arithmetic runs beside them for free. */
struct done {
    int operations, accesses;
};
static bool count_done(void *env, expr e) {
    struct done *q = env;
    if (e->op == X_LOAD) q->accesses += e->u.buf->scope != SC_REG;
    else if (e->op == X_CALL && e->u.fn->body) x_visit(e->u.fn->body, count_done, env); /* else: written in C */
    else q->operations += e->type != IDX && e->op != X_CONST;
    return true;
}
static double work(struct sharing *q, const struct block *b);
/* Nothing is known about a foreign function: assume a fixed cost for each cell it is given. */
static double foreign_work(struct sharing *q, const struct stmt *s) {
    enum { FOR_EACH_CELL = 4 };
    double cells = 0;
    for (int k = 0; k < s->u.foreign.nops; k++) {
        const struct foreign_operand *o = &s->u.foreign.ops[k];
        double n = 1;
        for (int d = o->n; d < o->buf->nd; d++) n *= (double)x_typical(q->c, o->buf->dims[d], OPEN_SIZE);
        cells += n;
    }
    return FOR_EACH_CELL * cells;
}
static double work_of(struct sharing *q, const struct stmt *s) {
    struct done n = {1, 0};
    switch (s->kind) {
    case S_FOR: {
        double once = work(q, &s->u.loop.body), all = extent_of(q, s);
        if (s->u.loop.kind == LK_VECTOR) return once * all / machine_lanes(q->m, F32);
        return all * (once + (s->u.loop.kind != LK_UNROLL));
    }
    case S_IF: {
        double then = work(q, &s->u.cond.then), other = work(q, &s->u.cond.other);
        return then > other ? then : other;
    }
    case S_WHILE: return PASSES * (work(q, &s->u.loop_while.body) + 1);
    case S_STORE:
        n = (struct done){0, s->u.store.buf->scope != SC_REG};
        x_visit(s->u.store.value, count_done, &n);
        break;
    case S_CALL: return work(q, &s->u.call.callee->body);
    case S_FOREIGN: return foreign_work(q, s);
    default: break;
    }
    double computed = n.operations / machine_multiply_add(q->m, F32)->starts,
           moved = n.accesses / machine_op(q->m, X_LOAD, F32)->starts;
    return computed > moved ? computed : moved;
}
static double work(struct sharing *q, const struct block *b) {
    double sum = 0;
    for (const struct stmt *s = b->first; s; s = s->next) sum += work_of(q, s);
    return sum;
}

/* ---- which loops */
static int64_t grain_of(const struct sharing *q, const struct share *t) {
    return t->iteration < q->m->fork ? (int64_t)(q->m->fork / t->iteration) + 1 : 1;
}
static struct step_list steps_for(struct sharing *q, const struct share *t) {
    struct step_list s = {.c = q->c};
    const char *one = t->loop[0];
    for (int k = 1; k < t->n; k++) {
        const char *both = internf(q->c->names, "%s_%s", tail_name(one), tail_name(t->loop[k]));
        step_fuse(&s, one, t->loop[k], both);
        one = both;
    }
    step_kind(&s, LK_PARALLEL, LOOPS(one));
    step_grain(&s, one, grain_of(q, t));
    return s;
}
static void print_share(struct sharing *q, const struct share *t, const char *why) {
    if (!q->choices) return;
    text_add(q->choices, "    parallel over ");
    for (int k = 0; k < t->n; k++) text_printf(q->choices, "%s%s", k ? " and " : "", t->loop[k]);
    if (why) text_printf(q->choices, ": %s\n", why);
    else
        text_printf(q->choices, " in grains of %lld; %.0f cycles on %d threads\n", (long long)grain_of(q, t), t->cycles,
                    q->threads);
}
static bool can_share(struct sharing *q, const struct share *t) {
    const char *why = iterations_share(q->p, t->innermost);
    struct step_list steps = steps_for(q, t);
    if (!why) why = steps_refused(clone_proc(q->c, q->p, q->p->name), &steps);
    if (why) print_share(q, t, why);
    return !why;
}
static bool is_taken(const struct sharing *q, const char *loop) { /* a name stands for all loops that have it */
    for (int k = 0; k < q->taken.n; k++)
        for (int j = 0; j < q->taken.v[k].n; j++)
            if (q->taken.v[k].loop[j] == loop) return true;
    return false;
}
static bool may_share(const struct stmt *s) {
    return s->kind == S_FOR && s->u.loop.kind == LK_SERIAL && !s->u.loop.piped;
}
/* Expected number of iterations that run one after another. An unknown size may just as well be 1, in which case a loop
 * over it has nothing to share. */
static double turns(const struct sharing *q, double all, double least, int open) {
    double shared = ceil(all / q->threads), known = ceil(all / (least < q->threads ? least : q->threads));
    return shared + ldexp(known - shared, -open);
}
/* The loop s alone, and fused with 1, 2 .. loops inside of it; the best first. */
static int shares_of(struct sharing *q, struct stmt *s, struct share out[DEEPEST]) {
    struct share t = {.n = 0};
    double all = 1, least = 1;
    int open = 0;
    for (; t.n < DEEPEST; s = s->u.loop.body.first) {
        int at = t.n;
        t.loop[t.n++] = s->u.loop.var->name;
        t.innermost = s;
        double typical = extent_of(q, s), known = extent_with(q, s, 1);
        all *= typical, least *= known > 1 ? known : 1, open += known < typical;
        t.iteration = work(q, &s->u.loop.body) + 1 + (t.n - 1) * q->m->division;
        t.cycles = q->m->fork + turns(q, all, least, open) * t.iteration;
        for (; at > 0 && t.cycles < WORTH * out[at - 1].cycles; at--) out[at] = out[at - 1];
        out[at] = t;
        if (!block_only(&s->u.loop.body) || !may_share(s->u.loop.body.first)) break;
    }
    return t.n;
}
static double share_block(struct sharing *q, struct block *b);
/* Predicted cycles of s on all threads, given the loops chosen in it. */
static double share_stmt(struct sharing *q, struct stmt *s) {
    double alone = work_of(q, s);
    if (alone < 2 * q->m->fork) return alone;
    if (s->kind == S_IF) {
        double then = share_block(q, &s->u.cond.then), other = share_block(q, &s->u.cond.other);
        return then > other ? then : other;
    }
    if (s->kind == S_WHILE) return PASSES * (share_block(q, &s->u.loop_while.body) + 1);
    if (!may_share(s)) return alone;
    int mark = q->taken.n;
    double below = extent_of(q, s) * (share_block(q, &s->u.loop.body) + 1);
    struct share here[DEEPEST];
    int n = shares_of(q, s, here);
    for (int k = 0; k < n; k++) {
        if (here[k].cycles > WORTH * below || !can_share(q, &here[k])) continue;
        q->taken.n = mark;
        if (!is_taken(q, here[k].loop[0])) PUSH(&q->c->arena, &q->taken, here[k]);
        return here[k].cycles;
    }
    return below;
}
static double share_block(struct sharing *q, struct block *b) {
    double sum = 0;
    for (struct stmt *s = b->first; s; s = s->next) sum += share_stmt(q, s);
    return sum;
}
void share_loops(struct ctx *c, struct proc *p, const struct machine *m, int threads, struct text *choices) {
    if (!m->fork || threads < 2) return;
    struct sharing q = {.c = c, .p = clone_proc(c, p, p->name), .m = m, .threads = threads, .choices = choices};
    lower_stages(c, q.p);
    share_block(&q, &q.p->body);
    for (int k = 0; k < q.taken.n; k++) {
        struct step_list steps = steps_for(&q, &q.taken.v[k]);
        print_share(&q, &q.taken.v[k], steps_refused(p, &steps));
    }
}
