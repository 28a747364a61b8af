/* Finding the class of a problem, its operands and the roles of its axes; see problem.h. */
#include "lower/problem/problem.h"

const char *problem_class_name(enum problem_class k) {
    static const char *const names[] = {"move", "map", "rows", "window", "contraction", "text"};
    return names[k];
}
const char *axis_role_name(enum axis_role r) {
    static const char *const names[] = {"cell", "batch", "group", "m", "n", "spatial", "k", "window"};
    return names[r];
}
int64_t const_extent(const struct var *v) {
    int64_t n;
    return x_is_int(v->extent, &n) ? n : -1;
}
double typical_cells(struct ctx *c, const struct var *const *v, int n, int64_t open) {
    double cells = 1;
    for (int k = 0; k < n; k++) cells *= (double)x_typical(c, v[k]->extent, open);
    return cells;
}
double typical_size(struct ctx *c, const expr *dims, int n, int64_t open) {
    double cells = 1;
    for (int k = 0; k < n; k++) cells *= (double)x_typical(c, dims[k], open);
    return cells;
}
double typical_axis(struct ctx *c, const struct stmt *s, int k) {
    return (double)x_typical(c, s->u.stage.axes[k]->extent, k ? OPEN_SIZE : 1);
}
double typical_result(struct ctx *c, const struct stmt *s) {
    double cells = 1;
    for (int k = 0; k < s->u.stage.naxes; k++) cells *= typical_axis(c, s, k);
    return cells;
}
double typical_rows(struct ctx *c, const struct stmt *sum, const struct operand *factor) {
    double rows = 1;
    for (int k = 0; k < sum->u.stage.naxes; k++)
        if (!(factor->axes >> k & 1)) rows *= typical_axis(c, sum, k);
    return rows;
}
int dim_of(expr load, const struct var *v) {
    for (int k = 0; k < load->n - load->has_fill; k++)
        if (load->arg[k]->op == X_VAR && load->arg[k]->u.var == v) return k;
    return -1;
}
bool operand_uses(struct ctx *c, expr load, const struct var *v) {
    for (int k = 0; k < load->n - load->has_fill; k++)
        if (x_uses_var(c, load->arg[k], v)) return true;
    return false;
}
bool rows_meet_lanes(const struct stmt *s, expr a, expr b, int *along, int *summed) {
    const struct var *lane = s->u.stage.naxes ? s->u.stage.axes[s->u.stage.naxes - 1] : NULL;
    if (s->u.stage.nred != 1 || !lane || a->has_fill || b->has_fill || operand_uses(NULL, a, lane)) return false;
    *along = dim_of(b, lane), *summed = dim_of(b, s->u.stage.red[0]);
    return *along >= 0 && *summed >= 0 && dim_of(a, s->u.stage.red[0]) == a->n - 1;
}

/* ---- which axes an index has */
struct index_use {
    const struct stmt *s;
    uint64_t axes, sums;
};
static bool note_var(void *env, expr e) {
    struct index_use *u = env;
    if (e->op != X_VAR) return true;
    for (int k = 0; k < u->s->u.stage.nred; k++)
        if (u->s->u.stage.red[k] == e->u.var) u->sums |= UINT64_C(1) << k;
    for (int k = 0; k < u->s->u.stage.naxes; k++)
        if (u->s->u.stage.axes[k] == e->u.var) u->axes |= UINT64_C(1) << k;
    return true;
}
static struct index_use index_use(const struct stmt *s, expr index) {
    struct index_use u = {s, 0, 0};
    x_visit(index, note_var, &u);
    return u;
}
/* Axes of extent 1 do not distinguish two reads. */
static uint64_t wide(const struct var *const *v, int n) {
    uint64_t w = 0;
    for (int k = 0; k < n; k++)
        if (!x_is(v[k]->extent, 1)) w |= UINT64_C(1) << k;
    return w;
}
static uint64_t wide_sums(const struct stmt *s) { return wide(s->u.stage.red, s->u.stage.nred); }

/* ---- operands */
static struct operand operand_of(const struct stmt *s, expr value, expr read) {
    struct operand o = {.value = value, .read = read};
    for (int k = 0; k < read->n - read->has_fill; k++) {
        struct index_use u = index_use(s, read->arg[k]);
        o.axes |= u.axes, o.sums |= u.sums;
    }
    o.wide = o.axes & wide(s->u.stage.axes, s->u.stage.naxes);
    return o;
}
static int bits(uint64_t m) {
    int n = 0;
    for (; m; m &= m - 1) n++;
    return n;
}
struct widest {
    const struct stmt *s;
    expr value;
    struct operand o;
};
static bool note_widest(void *env, expr e) {
    struct widest *w = env;
    if (e->op != X_LOAD) return true;
    struct operand o = operand_of(w->s, w->value, e);
    if (!w->o.read || bits(o.axes) + bits(o.sums) >= bits(w->o.axes) + bits(w->o.sums)) w->o = o;
    return true;
}
/* The read in value with the most axes: zero points and scales have fewer. */
static struct operand find_operand(const struct stmt *s, expr value) {
    if (value->op == X_LOAD) return operand_of(s, value, value);
    struct widest w = {s, value, {0}};
    x_visit(value, note_widest, &w);
    return w.o;
}
static bool find_factors(struct stmt *s, struct problem *p) {
    expr v = s->u.stage.value;
    if (!sums_products(s->u.stage.op, v)) return false;
    p->a = find_operand(s, v->arg[0]), p->b = find_operand(s, v->arg[1]);
    if (!p->a.read || !p->b.read) return false;
    if (is_constant(p->a.read->u.buf) && !is_constant(p->b.read->u.buf)) {
        struct operand o = p->a;
        p->a = p->b, p->b = o;
    }
    return true;
}

expr operand_shift(struct ctx *c, const struct problem *p, const struct operand *o) {
    if (o->value == o->read) return x_num(c, (enum dtype)o->value->type, 0);
    if (o->value->op != X_SUB || o->value->arg[0] != o->read) return NULL;
    for (int k = 0; k < p->sum->u.stage.nred; k++)
        if (x_uses_var(c, o->value->arg[1], p->sum->u.stage.red[k])) return NULL;
    return o->value->arg[1];
}

/* ---- one stage */
struct scan {
    struct problem *p;
    const struct stmt *s;
};
static bool scan_node(void *env, expr e) {
    struct scan *q = env;
    q->p->indirect |= e->op == X_TOIDX, q->p->guarded |= e->op == X_GUARD;
    if (e->op != X_LOAD) return true;
    q->p->nreads++;
    for (int k = 0; k < e->n - e->has_fill && !q->p->slides; k++) {
        struct index_use u = index_use(q->s, e->arg[k]);
        q->p->slides |= u.sums && u.axes;
    }
    return true;
}
bool moves_cells(expr e) {
    if (e->op == X_SELECT) return !x_has(e->arg[0], XF_LOAD) && moves_cells(e->arg[1]) && moves_cells(e->arg[2]);
    return e->op == X_LOAD || e->op == X_CONST;
}
/* Reduced variables that no axis of the result accompanies in an index, except axes of groups: k. */
static uint64_t sliding_sums(const struct stmt *s, expr read, uint64_t but) {
    uint64_t m = 0;
    for (int k = 0; k < read->n - read->has_fill; k++) {
        struct index_use u = index_use(s, read->arg[k]);
        if (u.axes & ~but) m |= u.sums;
    }
    return m & wide_sums(s);
}
/* Both factors depend on what is summed and serve several results: each has an axis of its own, or one has an axis that
 * the other lacks, and there are channels to sum. */
static bool contracts(const struct stmt *s, struct problem *p) {
    uint64_t da = p->a.wide, db = p->b.wide, shared = p->a.sums & p->b.sums, both = p->a.axes & p->b.axes;
    p->apart = da != db && ((da & ~db && db & ~da) || !da || !db);
    if (!shared || da == db) return false;
    uint64_t k = shared & ~sliding_sums(s, p->a.read, both) & ~sliding_sums(s, p->b.read, both);
    return p->apart || (k & wide_sums(s));
}
/* Squared differences, such as the distances between the rows of two matrices. */
static bool find_differences(const struct stmt *s, struct problem *p) {
    expr v = s->u.stage.value, d = v->n == 2 ? v->arg[0] : NULL;
    if (!sums_products(s->u.stage.op, v) || v->arg[1] != d || d->op != X_SUB) return false;
    if (d->arg[0]->op != X_LOAD || d->arg[1]->op != X_LOAD) return false;
    bool turned = is_constant(d->arg[0]->u.buf) && !is_constant(d->arg[1]->u.buf);
    p->a = operand_of(s, d->arg[turned], d->arg[turned]), p->b = operand_of(s, d->arg[!turned], d->arg[!turned]);
    return contracts(s, p);
}
void stage_problem(struct ctx *c, struct stmt *s, struct problem *p) {
    struct scan q = {p, s};
    *p = (struct problem){.cls = PROBLEM_MAP, .out = s};
    PUSH(&c->arena, &p->stages, s);
    x_visit(s->u.stage.value, scan_node, &q);
    if (s->u.stage.op == RED_NONE) {
        if (p->nreads && moves_cells(s->u.stage.value)) p->cls = PROBLEM_MOVE;
        return;
    }
    p->sum = s, p->nreductions = 1;
    p->differences = find_differences(s, p);
    p->product = !p->differences && find_factors(s, p);
    if (!p->product && !p->differences) p->a = find_operand(s, s->u.stage.value), p->b = (struct operand){0};
    p->cls = p->product && contracts(s, p)                      ? PROBLEM_CONTRACTION
             : p->slides || (!p->nreads && s->u.stage.nred > 0) ? PROBLEM_WINDOW
                                                                : PROBLEM_ROWS;
}
bool problem_sums_channels(const struct problem *p) {
    const struct operand *const factor[] = {&p->a, &p->b};
    for (int k = 0; k < 2 && p->product; k++) {
        const struct operand *weights = factor[k], *data = factor[1 - k];
        if (data->read->n - data->read->has_fill < 2) continue;
        if (weights->read->n - weights->read->has_fill != p->sum->u.stage.naxes) continue;
        if (index_use(p->sum, data->read->arg[1]).sums && (weights->axes & 3) == 2 && (data->axes & 3) == 1)
            return true;
    }
    return false;
}

/* ---- roles */
int64_t next_divisor(int64_t n, int64_t d) {
    enum { LIMIT = 4096 }; /* more parts are useless, and the search stays fast however large n is */
    for (d++; d <= n && d <= LIMIT && n % d;) d++;
    return d <= LIMIT ? d : n + 1;
}
int64_t shared_neighbours(struct ctx *c, expr load, const struct var *v) {
    int64_t n = const_extent(v);
    if (!operand_uses(c, load, v)) return 0;
    for (int64_t groups = next_divisor(n, 1); groups < n; groups = next_divisor(n, groups)) {
        int64_t p = n / groups;
        const struct var *group = var_new(c, "group", x_int(c, groups)), *within = var_new(c, "within", x_int(c, p));
        expr channel = x_add(c, x_muli(c, x_var(c, group), p), x_var(c, within));
        bool same = true;
        for (int k = 0; k < load->n - load->has_fill; k++)
            same &= !x_uses_var(c, x_subst1(c, load->arg[k], v, channel), within);
        if (same) return p;
    }
    return 1;
}
struct divided {
    struct ctx *c;
    const struct var *v;
};
static bool not_divided(void *env, expr e) {
    struct divided *d = env;
    return !(e->type == IDX && e->op == X_DIV && x_uses_var(d->c, e, d->v));
}
static bool is_divided(struct ctx *c, expr load, const struct var *v) {
    struct divided d = {c, v};
    for (int k = 0; k < load->n - load->has_fill; k++)
        if (!x_visit(load->arg[k], not_divided, &d)) return true;
    return false;
}
/* Both factors have the axis, but neighbours along it read the same cells of one: its index is a quotient of the
 * axis. */
static bool is_group(struct ctx *c, const struct problem *p, int axis) {
    const struct var *v = p->sum->u.stage.axes[axis];
    expr a = p->a.read, b = p->b.read;
    if (!(p->a.axes & p->b.axes & UINT64_C(1) << axis)) return false;
    return (is_divided(c, a, v) && shared_neighbours(c, a, v) > 1) ||
           (is_divided(c, b, v) && shared_neighbours(c, b, v) > 1);
}
int problem_group_axis(struct ctx *c, const struct problem *p) {
    for (int k = 0; k < p->sum->u.stage.naxes && k < PROBLEM_AXES; k++)
        if (is_group(c, p, k)) return k;
    return -1;
}
bool problem_sums_groups(struct ctx *c, const struct problem *p) {
    const expr factor[] = {p->a.read, p->b.read};
    for (int k = 0; k < 2 && p->product; k++)
        if (factor[k]->n - factor[k]->has_fill >= 2 && index_use(p->sum, factor[k]->arg[1]).sums)
            return problem_group_axis(c, p) == 1;
    return false;
}
bool sums_whole_blocks(struct ctx *c, expr at, const struct var *v, int64_t block) {
    expr from;
    int64_t by;
    return x_linear_in(c, at, v, &by, &from) && by == 1 && const_extent(v) % block == 0 &&
           x_is(x_modi(c, from, block), 0);
}
static uint64_t sliding_axes(const struct stmt *s, expr read) {
    uint64_t m = 0;
    for (int k = 0; read && k < read->n - read->has_fill; k++) {
        struct index_use u = index_use(s, read->arg[k]);
        if (u.sums & wide_sums(s)) m |= u.axes;
    }
    return m;
}
static void find_roles(struct ctx *c, struct problem *p) {
    const struct stmt *s = p->sum;
    uint64_t slide, groups = 0;
    if (!s) return; /* all axes of a map are cells */
    slide = sliding_axes(s, p->a.read) | sliding_axes(s, p->b.read);
    for (int k = 0; k < s->u.stage.naxes && k < PROBLEM_AXES; k++) {
        bool a = p->a.axes >> k & 1, b = p->b.axes >> k & 1;
        p->axis[k] = a == b || !(p->product || p->differences) ? ROLE_BATCH : a ? ROLE_M : ROLE_N;
        if (is_group(c, p, k)) p->axis[k] = ROLE_GROUP, groups |= UINT64_C(1) << k;
        else if (slide >> k & 1) p->axis[k] = ROLE_SPATIAL;
    }
    slide = p->a.read ? sliding_sums(s, p->a.read, groups) : 0;
    if (p->b.read) slide |= sliding_sums(s, p->b.read, groups);
    for (int k = 0; k < s->u.stage.nred && k < PROBLEM_AXES; k++) p->summed[k] = slide >> k & 1 ? ROLE_WINDOW : ROLE_K;
}

/* ---- stages */
int stage_loops(const struct stmt *s) {
    int n = 0;
    for (int k = 0; k < s->u.stage.naxes; k++) n += !x_is(s->u.stage.axes[k]->extent, 1);
    for (int k = 0; k < s->u.stage.nred; k++) n += !x_is(s->u.stage.red[k]->extent, 1);
    return n;
}
struct worth {
    int ops;
    bool divides;
};
static bool count_op(void *env, expr e) {
    struct worth *w = env;
    bool index = e->type == IDX || e->op == X_IDXVAL || (e->op == X_CAST && e->arg[0]->op == X_IDXVAL);
    w->divides |= e->op == X_DIV && dtype_is_float(e->type);
    w->ops += !index && e->op != X_CONST && e->op != X_LOAD;
    return true;
}
static struct worth worth_of(expr e) {
    struct worth w = {0};
    x_visit(e, count_op, &w);
    return w;
}
int operations_of(expr e) { return worth_of(e).ops; }
bool costs_much(expr e) {
    enum { MUCH = 8 };
    struct worth w = worth_of(e);
    return x_has(e, XF_CALL | XF_TOIDX) || (w.divides && w.ops >= MUCH);
}

/* ---- a kernel */
static const struct stmt *made_by(const struct problem *p, expr read) {
    for (int k = 0; read && k < p->stages.n && p->stages.v[k] != p->sum; k++)
        if (p->stages.v[k]->u.stage.buf == read->u.buf) return p->stages.v[k];
    return NULL;
}
bool stages_problem(struct ctx *c, const struct block *b, const struct map *results, struct problem *p) {
    struct problem all = {.cls = PROBLEM_MOVE}, one;
    struct stmt *out = NULL;
    *p = all;
    for (struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == S_ALLOC || checks_sizes(s)) continue;
        if (s->kind != S_STAGE) return false;
        stage_problem(c, s, &one);
        if (one.cls > p->cls || !p->stages.n) *p = one;
        PUSH(&c->arena, &all.stages, s);
        all.indirect |= one.indirect, all.guarded |= one.guarded;
        all.nreductions += one.nreductions;
        if (s->u.stage.buf->scope == SC_PARAM || (results && map_get(results, PKEY(s->u.stage.buf))))
            out = s, all.nresults++;
    }
    if (!out) return false;
    p->stages = all.stages, p->out = out, p->indirect = all.indirect, p->guarded = all.guarded,
    p->nreductions = all.nreductions, p->nresults = all.nresults;
    p->a.made = made_by(p, p->a.read), p->b.made = made_by(p, p->b.read);
    find_roles(c, p);
    return true;
}
void kernel_problem(struct ctx *c, struct proc *proc, struct problem *p) {
    if (!stages_problem(c, &proc->body, NULL, p)) loops_problem(c, proc, p);
}

/* ---- sums of sums */
struct own_reads {
    const struct stmt *inner, *outer;
    int found;
    bool other;
};
static bool reads_own(void *env, expr e) {
    struct own_reads *q = env;
    const struct stmt *s = q->outer;
    if (e->op != X_LOAD || e->u.buf != q->inner->u.stage.buf) return true;
    q->found++;
    q->other |= e->has_fill;
    for (int d = 0; d < e->n - e->has_fill; d++) {
        const struct var *own = d < s->u.stage.naxes ? s->u.stage.axes[d] : s->u.stage.red[d - s->u.stage.naxes];
        q->other |= e->arg[d]->op != X_VAR || e->arg[d]->u.var != own;
    }
    return true;
}
bool adds_up(const struct stmt *outer, const struct stmt *inner) {
    struct own_reads q = {inner, outer, 0, false};
    if (outer->u.stage.op != RED_SUM || inner->u.stage.op != RED_SUM || inner->u.stage.init || !outer->u.stage.nred ||
        inner->u.stage.naxes != outer->u.stage.naxes + outer->u.stage.nred)
        return false;
    x_visit_with(outer->u.stage.value, XF_LOAD, reads_own, &q);
    return q.found == 1 && !q.other;
}
