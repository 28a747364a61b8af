/* The rules of the loop IR (V1 ... V10 in docs/loop-ir.md), checked after every pass and step. Conditions and proofs
 * are in facts.c, rules for expressions in expr.c, what iterations may do to each other in race.c. */
#include "ir/base/checked.h"
#include "ir/base/die.h"
#include "ir/loop/foreign.h"
#include "ir/loop/kinds.h"
#include "ir/loop/target.h"
#include "ir/loop/tile_nest.h"
#include "ir/verify/loop_int.h"
#include <stdlib.h>
#include <string.h>

/* ---- buffers */
static void check_dim(struct verifier *v, const struct buf *b, expr e) {
    check_typed(v, e, IDX, "a dim");
    if (e && x_has(e, XF_VAR | XF_LOAD | XF_GUARD))
        refuse(v, "a dim of %s depends on a loop or on contents: %s", b->name, show(v, e));
    int64_t n;
    if (e && x_is_int(e, &n) && n < 0) refuse(v, "a dim of %s is negative", b->name);
}
static enum param_dir direction(const struct proc *p, const struct buf *b) {
    for (int k = 0; k < p->params.n; k++)
        if (p->params.v[k].buf == b) return p->params.v[k].dir;
    return DIR_INOUT;
}
/* Are the contents of b, or their known range, within these limits? */
static bool lies_within(const struct buf *b, const int64_t *within) {
    int64_t lo, hi;
    if (!b->data) return buf_holds_within(b, within[0], within[1]);
    tensor_range(b->data, &lo, &hi);
    return within[0] <= lo && hi <= within[1];
}
/* Only for constants and their stand-ins, to which nobody stores. Cells after the last are zeros. */
static void check_within(struct verifier *v, const struct buf *b) {
    bool inside = b->scope == SC_PARAM && v->p != v->m->entry && direction(v->p, b) == DIR_IN;
    if (!dtype_is_int(b->type) || (b->scope != SC_CONST && !inside))
        refuse(v, "only whole numbers of constants, and of `in` parameters of kernels, are known to lie within bounds");
    else if (!lies_within(b, b->within) || b->within[0] > 0 || b->within[1] < 0)
        refuse(v, "not all cells of %s are within %lld..%lld", b->name, (long long)b->within[0],
               (long long)b->within[1]);
}
static void check_geometry(struct verifier *v, const struct buf *b) {
    for (int k = 0; k < b->nd; k++) check_dim(v, b, b->dims[k]);
    for (int k = 0; k < b->nlogical; k++) check_dim(v, b, b->logical[k]);
    for (int k = 0; b->pad && k < b->nd; k++)
        if (b->pad[k] < 0) refuse(v, "%s has a negative pad", b->name);
    if (b->fill && (b->fill->op != X_CONST || b->fill->type != dtype_value(b->type)))
        refuse(v, "the fill of %s is not a constant of its type", b->name);
    if (b->within) check_within(v, b);
    if (b->scope == SC_CONST && b->data && (b->data->type != b->type || b->data->rank != b->nlogical))
        refuse(v, "the contents of %s have another type or rank", b->name);
    for (int k = 0; b->scope == SC_CONST && b->data && k < b->nlogical && k < b->data->rank; k++)
        if (!x_is(b->logical[k], b->data->dims[k])) refuse(v, "the contents of %s have another shape", b->name);
}
static const struct buf *root_of(struct verifier *v, const struct buf *b) {
    const struct buf *r = map_get(&v->roots, PKEY(b));
    return r ? r : b;
}
static void check_stored(struct verifier *v, const struct buf *b) {
    b = root_of(v, b);
    if (b && b->scope == SC_CONST) refuse(v, "%s is constant, but stored to", b->name);
    if (b && b->scope == SC_PARAM && direction(v->p, b) == DIR_IN)
        refuse(v, "%s is an `in` parameter, but stored to", b->name);
}

/* ---- statements */
static void verify_block(struct verifier *v, struct block *b);
static bool drop_set_sizes(void *env, struct stmt *s) {
    if (s->kind == S_SIZE) facts_drop_sym(env, s->u.size.sym);
    return true;
}
static void forget_sizes(struct verifier *v, struct block *b) {
    if (v->has_sizes) walk(b, drop_set_sizes, &v->facts);
}
/* A block under a condition. What is learned in it ends with it; facts about symbols that it sets again end, too.
 * again: a loop's body, which runs again after that. */
static void verify_under(struct verifier *v, struct block *b, expr cond, bool holds, bool again) {
    struct facts before = v->facts;
    if (again) forget_sizes(v, b);
    if (cond && cond->type == BOOL) (holds ? facts_add : facts_add_not)(&v->facts, cond);
    push_frame(v);
    verify_block(v, b);
    pop_frame(v);
    v->facts = before;
    forget_sizes(v, b);
}
static void verify_for(struct verifier *v, struct stmt *s) {
    const struct var *x = s->u.loop.var;
    check_typed(v, x->extent, IDX, "the extent");
    enum loop_kind kind = s->u.loop.kind;
    int64_t n;
    if ((kind == LK_UNROLL || kind == LK_VECTOR) && !x_is_int(x->extent, &n))
        refuse(v, "%s needs a constant extent, not %s", loop_kind_name(kind), show(v, x->extent));
    if (s->u.loop.grain < 0 || s->u.loop.slices < 0 || ((s->u.loop.grain || s->u.loop.slices) && kind != LK_PARALLEL))
        refuse(v, "grain %lld, slices %lld of a %s loop", (long long)s->u.loop.grain, (long long)s->u.loop.slices,
               loop_kind_name(kind));
    define_var(v, x);
    PUSH(&v->c->arena, &v->loops, s);
    v->never += x_is(x->extent, 0);
    if (x->extent->type == IDX) verify_iterations(v, s);
    expr runs = x->extent->type == IDX ? x_cmp(v->c, X_LT, x_int(v->c, 0), x->extent) : NULL;
    verify_under(v, &s->u.loop.body, runs, true, true);
    v->loops.n--;
    v->never -= x_is(x->extent, 0);
    set_gone(v, x);
}
static void verify_store(struct verifier *v, struct stmt *s) {
    struct buf *b = s->u.store.buf;
    for (int k = 0; k < s->u.store.n; k++) check_expr(v, s->u.store.idx[k]);
    check_access(v, b, s->u.store.idx, s->u.store.n, true);
    if (!b) return;
    check_typed(v, s->u.store.value, dtype_value(b->type), "the stored value");
    check_stored(v, b);
    enum red_op op = s->u.store.op;
    if (op != RED_NONE && red_identity(v->c, op, b->type)->op == X_POISON)
        refuse(v, "no reduction %s for %s", red_op_name(op), dtype_name(b->type));
}
static void verify_alloc(struct verifier *v, struct stmt *s) {
    struct buf *b = s->u.alloc.buf;
    if (!b) {
        refuse(v, "a buffer is missing");
        return;
    }
    if (!map_get(&v->own, PKEY(b))) refuse(v, "buffer %s is not one of this procedure's", b->name);
    /* in a kernel it is new each time, as if a loop were unrolled */
    if (is_visible(v, b) && (v->p == v->m->entry || b->scope == SC_REGION || b->scope == SC_KEPT))
        refuse(v, "buffer %s is allocated twice", b->name);
    if (b->scope == SC_PARAM || b->scope == SC_CONST)
        refuse(v, "a %s buffer cannot be allocated", scope_name(b->scope));
    check_geometry(v, b);
    set_visible(v, b);
}
static void verify_view(struct verifier *v, struct stmt *s) {
    struct buf *b = s->u.view.buf, *of = s->u.view.of;
    if (!b || !of) {
        refuse(v, "a buffer is missing");
        return;
    }
    check_typed(v, s->u.view.off, IDX, "the place");
    if (!map_get(&v->own, PKEY(b))) refuse(v, "buffer %s is not one of this procedure's", b->name);
    if (is_visible(v, b)) refuse(v, "buffer %s is defined twice", b->name);
    check_geometry(v, b);
    if (!use_buf(v, of)) return;
    if (dtype_bytes(b->type) != dtype_bytes(of->type))
        refuse(v, "%s and %s have elements of different sizes", b->name, of->name);
    expr end = x_add(v->c, s->u.view.off, buf_cells(v->c, b));
    if (!facts_prove_le(&v->facts, x_int(v->c, 0), s->u.view.off) ||
        !facts_prove_le(&v->facts, end, buf_cells(v->c, of)))
        refuse(v, "%s may reach past the end of %s", b->name, of->name);
    map_put(&v->roots, PKEY(b), (void *)root_of(v, of));
    set_visible(v, b);
}
static void verify_stage(struct verifier *v, struct stmt *s) {
    struct buf *b = s->u.stage.buf;
    if (!use_buf(v, b)) return;
    check_stored(v, b);
    int mark = v->facts.n, na = s->u.stage.naxes, never = v->never;
    if (na != b->nlogical) refuse(v, "the stage has %d axes, %s has %d dims", na, b->name, b->nlogical);
    for (int k = 0; k < na; k++) {
        const struct var *x = s->u.stage.axes[k];
        check_typed(v, x->extent, IDX, "an axis' extent");
        define_var(v, x);
        v->never += x_is(x->extent, 0);
        facts_add_le(&v->facts, x_int(v->c, 1), x->extent);
        if (k < b->nlogical && !facts_prove_le(&v->facts, x->extent, b->logical[k]))
            refuse(v, "axis %s may run past dim %d of %s: %s", x->name, k + 1, b->name, show(v, b->logical[k]));
    }
    push_frame(v);
    if (s->u.stage.init) check_typed(v, s->u.stage.init, dtype_value(b->type), "the initial value");
    if (s->u.stage.op == RED_NONE && (s->u.stage.nred || s->u.stage.init))
        refuse(v, "reduction axes or init without a reduction");
    if (s->u.stage.op != RED_NONE && red_identity(v->c, s->u.stage.op, b->type)->op == X_POISON)
        refuse(v, "no reduction %s for %s", red_op_name(s->u.stage.op), dtype_name(b->type));
    for (int k = 0; k < s->u.stage.nred; k++) {
        check_typed(v, s->u.stage.red[k]->extent, IDX, "an axis' extent");
        define_var(v, s->u.stage.red[k]);
        v->never += x_is(s->u.stage.red[k]->extent, 0);
        facts_add_le(&v->facts, x_int(v->c, 1), s->u.stage.red[k]->extent);
    }
    check_typed(v, s->u.stage.value, dtype_value(b->type), "the value");
    pop_frame(v);
    v->never = never;
    v->facts.n = mark;
    for (int k = 0; k < na; k++) set_gone(v, s->u.stage.axes[k]);
    for (int k = 0; k < s->u.stage.nred; k++) set_gone(v, s->u.stage.red[k]);
}
static bool dims_mention(const struct buf *b, const struct sym *y) {
    for (int k = 0; k < b->nd; k++)
        if (b->dims[k] && x_uses_sym(b->dims[k], y)) return true;
    return false;
}
/* A result of the entry whose size is found at run time exists once the size does. */
static bool size_leaf(void *env, expr e) { return e->op != X_SYM || !e->u.sym->produced || is_visible(env, e->u.sym); }
static bool sizes_known(struct verifier *v, const struct buf *b) {
    for (int k = 0; k < b->nd; k++)
        if (!x_visit_with(b->dims[k], XF_PRODUCED, size_leaf, v)) return false;
    return true;
}
static bool found_in_run(struct verifier *v, const struct param *q) {
    return v->p == v->m->entry && q->dir == DIR_OUT && !sizes_known(v, q->buf);
}
static void show_results(struct verifier *v) {
    for (int k = 0; v->p == v->m->entry && k < v->p->params.n; k++) {
        struct buf *b = v->p->params.v[k].buf;
        if (is_known(v, b) || !sizes_known(v, b)) continue;
        set_visible(v, b);
        check_geometry(v, b);
    }
}
static void verify_size(struct verifier *v, struct stmt *s) {
    const struct sym *y = s->u.size.sym;
    check_typed(v, s->u.size.lo, IDX, "the lower end");
    check_typed(v, s->u.size.hi, IDX, "the upper end");
    check_typed(v, s->u.size.value, IDX, "the size");
    if (!y->produced) refuse(v, "%s is not a produced symbol", y->name);
    bool again = is_visible(v, y);
    for (int k = 0; again && k < v->p->bufs.n; k++) {
        const struct buf *b = v->p->bufs.v[k];
        if (b->scope != SC_REGION && b->scope != SC_KEPT && is_visible(v, b) && dims_mention(b, y))
            refuse(v, "%s is set anew while %s, which is not in the region, has dims of it", y->name, b->name);
    }
    facts_drop_sym(&v->facts, y);
    facts_make_room(&v->facts);
    if (!again) PUSH(&v->c->arena, &v->sizes, y);
    set_visible(v, y);
    show_results(v);
    if (x_sym(v->c, y)->op != X_SYM || !s->u.size.lo || !s->u.size.hi || !s->u.size.value) return;
    if (!x_uses_sym(s->u.size.lo, y)) facts_add_le(&v->facts, s->u.size.lo, x_sym(v->c, y));
    if (!x_uses_sym(s->u.size.hi, y)) facts_add_le(&v->facts, x_sym(v->c, y), s->u.size.hi);
    if (x_uses_sym(s->u.size.value, y)) return;
    facts_add_le(&v->facts, s->u.size.value, x_sym(v->c, y));
    facts_add_le(&v->facts, x_sym(v->c, y), s->u.size.value);
}
static bool knows_proc(const struct verifier *v, const struct proc *p) {
    for (int k = 0; k < v->m->procs.n; k++)
        if (v->m->procs.v[k] == p) return true;
    return v->m->entry == p;
}
static bool other_shape(const struct stmt *s, const struct buf *b, const struct buf *param) {
    return s->u.call.callee->is_kernel_text && buf_is_plain(b) && buf_is_plain(param);
}
static bool holds(struct verifier *v, struct stmt *s, expr cond) {
    return wants_check(v, (struct unproved){.at = s, .cond = cond}, x_is_false(cond));
}
static bool is_equal(struct verifier *v, struct stmt *s, expr a, expr b) {
    if (a == b || (facts_prove_le(&v->facts, a, b) && facts_prove_le(&v->facts, b, a))) return true;
    return holds(v, s, x_cmp(v->c, X_EQ, a, b));
}
static void verify_call_buf(struct verifier *v, struct stmt *s, int k, const struct subst *sizes) {
    const struct param *q = &s->u.call.callee->params.v[k];
    const struct buf *b = s->u.call.bufs[k];
    if (!use_buf(v, b)) return;
    if (q->dir != DIR_IN) {
        check_stored(v, b);
        for (int j = 0; j < s->u.call.nbufs; j++)
            if (j != k && s->u.call.bufs[j] == b) {
                refuse(v, "%s is bound to an output and to another parameter", b->name);
                break;
            }
    }
    if (b->type != q->buf->type)
        refuse(v, "%s is %s, parameter %s is %s", b->name, dtype_name(b->type), q->buf->name, dtype_name(q->buf->type));
    if (q->buf->within && !lies_within(b, q->buf->within))
        refuse(v, "%s is not known to lie within %lld..%lld, as parameter %s must", b->name,
               (long long)q->buf->within[0], (long long)q->buf->within[1], q->buf->name);
    if (other_shape(s, b, q->buf)) { /* a kernel text sees a plain buffer with its own dims */
        expr want = x_subst(v->c, buf_cells(v->c, q->buf), sizes), have = buf_cells(v->c, b);
        if (!is_equal(v, s, want, have))
            refuse(v, "%s has %s cells, parameter %s needs %s", b->name, show(v, have), q->buf->name, show(v, want));
        return;
    }
    if (b->nd != q->buf->nd) {
        refuse(v, "%s has %d dims, parameter %s has %d", b->name, b->nd, q->buf->name, q->buf->nd);
        return;
    }
    for (int j = 0; j < b->nd; j++) {
        expr want = x_subst(v->c, q->buf->dims[j], sizes);
        if (!is_equal(v, s, want, b->dims[j]))
            refuse(v, "dim %d of %s is %s, parameter %s needs %s", j + 1, b->name, show(v, b->dims[j]), q->buf->name,
                   show(v, want));
    }
}
static void verify_call(struct verifier *v, struct stmt *s) {
    struct proc *q = s->u.call.callee;
    for (int k = 0; k < s->u.call.nargs; k++) check_typed(v, s->u.call.args[k], IDX, "a size");
    if (!q || !knows_proc(v, q)) refuse(v, "the called procedure is not in this module");
    else if (q == v->p) refuse(v, "a procedure calls itself");
    else if (q->params.n != s->u.call.nbufs)
        refuse(v, "%s takes %d buffers, not %d", q->name, q->params.n, s->u.call.nbufs);
    else if (q->syms.n != s->u.call.nargs) refuse(v, "%s takes %d sizes, not %d", q->name, q->syms.n, s->u.call.nargs);
    else {
        struct subst sizes = {{.arena = &v->c->arena}};
        for (int k = 0; k < q->syms.n; k++) {
            const struct sym *y = q->syms.v[k];
            expr a = s->u.call.args[k];
            expr least = x_int(v->c, y->lo), most = x_int(v->c, y->hi);
            bool low =
                y->lo == NEG_INF || facts_prove_le(&v->facts, least, a) || holds(v, s, x_cmp(v->c, X_LE, least, a));
            bool high =
                y->hi == POS_INF || facts_prove_le(&v->facts, a, most) || holds(v, s, x_cmp(v->c, X_LE, a, most));
            if (!low || !high)
                refuse(v, "size %s may leave the range %lld..%lld of %s", show(v, a), (long long)y->lo,
                       (long long)y->hi, y->name);
            map_put(&sizes.map, PKEY(y), (void *)a);
        }
        for (int k = 0; k < q->params.n; k++) verify_call_buf(v, s, k, &sizes);
    }
}
/* V11: all threads of a warp run its instruction together. A warp consists of threads that differ only in x, so nothing
 * around it may depend on x: the loop over x is in its body. */
static void verify_warp_instr(struct verifier *v, const struct stmt *s) {
    const struct instr_row *row = s->u.instr.row;
    const struct stmt *lanes = s->u.instr.body.first;
    const struct launch *l = v->p->launch;
    int64_t n = 0;
    if (!lanes || lanes->kind != S_FOR || lanes->u.loop.kind != LK_THREAD_X || !x_is_int(lanes->u.loop.var->extent, &n))
        refuse(v, "the body of %s, an instruction of a warp, is no loop over its threads", row->name);
    else if (l && (!l->grid || l->threads[0] != n))
        refuse(v, "%s is for the %lld threads of a warp, not for %lld along x", row->name, (long long)n,
               (long long)l->threads[0]);
    for (int k = 0; k < v->loops.n; k++)
        if (v->loops.v[k]->u.loop.kind == LK_THREAD_X)
            refuse(v, "%s is for all threads of a warp, but stands in the loop %s over them", row->name,
                   v->loops.v[k]->u.loop.var->name);
    for (int k = 0; k < s->u.instr.n; k++)
        if (s->u.instr.holes[k].buf->scope != SC_REG || s->u.instr.holes[k].buf->nd < 2)
            refuse(v, "operand %s of %s is no fragment: registers, the threads their last dim but one",
                   s->u.instr.holes[k].hole, row->name);
}
/* V4b: an instruction of tiles is printed from its nest. */
static void verify_tile_instr(struct verifier *v, const struct stmt *s) {
    struct tile_nest t;
    for (int k = 0; k < s->u.instr.n; k++)
        if (s->u.instr.holes[k].buf->scope == SC_REG)
            refuse(v, "operand %s of %s is in registers", s->u.instr.holes[k].hole, s->u.instr.row->name);
    if (s->u.instr.row->holes[0].name && !tile_nest_of(v->c, s, &t))
        refuse(v, "the body of %s is no product of tiles of its kind", s->u.instr.row->name);
}
static void verify_instr(struct verifier *v, struct stmt *s) {
    const struct instr_row *row = s->u.instr.row;
    if (!row) {
        refuse(v, "an instruction without a row");
        return;
    }
    for (int k = 0; k < s->u.instr.n; k++) {
        check_typed(v, s->u.instr.holes[k].off, IDX, "an operand's place");
        if (!use_buf(v, s->u.instr.holes[k].buf) || !row->holes[0].name) continue;
        const struct instr_hole *h = row->holes, *end = row->holes + sizeof row->holes / sizeof *row->holes;
        while (h < end && h->name && strcmp(h->name, s->u.instr.holes[k].hole)) h++;
        if (h == end || !h->name) refuse(v, "instruction %s has no operand %s", row->name, s->u.instr.holes[k].hole);
        else if (!instr_has_type(row, h, s->u.instr.holes[k].buf, s->u.instr.holes[0].buf))
            refuse(v, "operand %s of %s is %s", h->name, row->name, dtype_name(s->u.instr.holes[k].buf->type));
        else if (!instr_holds(row, h->name, s->u.instr.holes[k].buf))
            refuse(v, "operand %s of %s is not known to lie within %lld..%lld", h->name, row->name,
                   (long long)row->within.lo, (long long)row->within.hi);
        else if (instr_any_stride(h) >= 0 && s->u.instr.holes[k].buf->scope == SC_REG)
            refuse(v, "operand %s of %s is in registers", h->name, row->name);
    }
    if (!s->u.instr.body.first) refuse(v, "an instruction without a reference body");
    if (row->scope == SCOPE_WARP) verify_warp_instr(v, s);
    if (row->scope == SCOPE_TILE) verify_tile_instr(v, s);
    bool was = v->in_instr;
    v->in_instr = true;
    verify_under(v, &s->u.instr.body, NULL, true, false);
    v->in_instr = was;
}
/* V12 */
static void verify_foreign_operand(struct verifier *v, struct stmt *s, int k, const struct foreign_param *q) {
    const struct foreign *f = s->u.foreign.fn;
    const struct foreign_operand *o = &s->u.foreign.ops[k];
    const expr *idx = s->u.foreign.idx + o->first;
    struct buf *b = o->buf;
    if (!use_buf(v, b)) return;
    if (b->type != q->type)
        refuse(v, "%s is %s, %s of %s is %s", b->name, dtype_name(b->type), q->name, f->op, dtype_name(q->type));
    if (!buf_is_plain(b)) refuse(v, "%s, which %s is given, has a layout of its own", b->name, f->op);
    if (b->scope == SC_REG) refuse(v, "%s, which %s is given, is in registers", b->name, f->op);
    if (o->n > b->nd || o->first < 0 || o->first + o->n > s->u.foreign.nidx)
        refuse(v, "%s has %d dims, but %d indices", b->name, b->nd, o->n);
    for (int i = 0; i < o->n && i < b->nd; i++) {
        check_typed(v, idx[i], IDX, "an index");
        bool inside = idx[i]->type == IDX && facts_prove_le(&v->facts, x_int(v->c, 0), idx[i]) &&
                      facts_prove_lt(&v->facts, idx[i], b->dims[i]);
        if (!inside && !v->never) refuse(v, "index %d of %s may lie outside: %s", i + 1, b->name, show(v, idx[i]));
    }
    if (q->use == FOREIGN_READ) return;
    check_stored(v, b);
    for (int j = 0; j < s->u.foreign.nops; j++)
        if (j != k && root_of(v, s->u.foreign.ops[j].buf) == root_of(v, b))
            refuse(v, "%s, which %s writes, is given to it twice", b->name, f->op);
}
static void verify_foreign(struct verifier *v, struct stmt *s) {
    const struct foreign *f = s->u.foreign.fn;
    int nops = 0, nargs = 0;
    while (foreign_param(f, false, nops)) nops++;
    while (foreign_param(f, true, nargs)) nargs++;
    if (nops != s->u.foreign.nops || nargs != s->u.foreign.nargs) {
        refuse(v, "%s takes %d buffers and %d numbers, not %d and %d", f->op, nops, nargs, s->u.foreign.nops,
               s->u.foreign.nargs);
        return;
    }
    for (int k = 0; k < nops; k++) verify_foreign_operand(v, s, k, foreign_param(f, false, k));
    for (int k = 0; k < nargs; k++) {
        enum dtype t = foreign_param(f, true, k)->type;
        check_typed(v, s->u.foreign.args[k], dtype_is_int(t) ? IDX : t, "a number");
    }
    for (int k = 0; k < s->u.foreign.ngrid; k++) check_typed(v, s->u.foreign.grid[k], IDX, "a size of the grid");
}
static void verify_while(struct verifier *v, struct stmt *s) {
    forget_sizes(v, &s->u.loop_while.body);
    push_frame(v);
    check_typed(v, s->u.loop_while.cond, BOOL, "the condition");
    if (s->u.loop_while.max) check_typed(v, s->u.loop_while.max, IDX, "the bound");
    pop_frame(v);
    verify_under(v, &s->u.loop_while.body, s->u.loop_while.cond, true, true);
}
static void verify_free(struct verifier *v, struct stmt *s) {
    if (!use_buf(v, s->u.alloc.buf)) return;
    if (s->u.alloc.buf->scope != SC_REGION) refuse(v, "free of %s, which is not in the region", s->u.alloc.buf->name);
    const struct stmt *a = s->prev; /* not from a nested block: a loop would free it again */
    while (a && !(a->kind == S_ALLOC && a->u.alloc.buf == s->u.alloc.buf)) a = a->prev;
    if (!a) refuse(v, "%s is freed in another block than it is allocated in", s->u.alloc.buf->name);
    set_gone(v, s->u.alloc.buf);
    for (int k = 0; k < v->p->bufs.n; k++)
        if (map_get(&v->roots, PKEY(v->p->bufs.v[k])) == s->u.alloc.buf && is_known(v, v->p->bufs.v[k]))
            set_gone(v, v->p->bufs.v[k]);
}
static void verify_swap(struct verifier *v, struct stmt *s) {
    struct buf *a = s->u.swap.a, *b = s->u.swap.b;
    if (!use_buf(v, a) || !use_buf(v, b)) return;
    if (a->type != b->type || a->nd != b->nd || a->scope != b->scope)
        refuse(v, "%s and %s differ in type, rank or scope", a->name, b->name);
    else if (a->scope == SC_PARAM || a->scope == SC_CONST || a->scope == SC_REG || a->scope == SC_KEPT)
        refuse(v, "%s buffers cannot be swapped", scope_name(a->scope));
    else if (a->scope != SC_REGION)
        for (int k = 0; k < a->nd; k++)
            if (a->dims[k] != b->dims[k]) {
                refuse(v, "%s and %s differ in size", a->name, b->name);
                break;
            }
}
static void verify_bind(struct verifier *v, struct stmt *s) {
    const struct buf *b = s->u.alloc.buf;
    bool found = false;
    if (!use_buf(v, s->u.alloc.buf)) return;
    for (int k = 0; k < v->p->params.n; k++)
        found |= v->p->params.v[k].buf == b && v->p->params.v[k].dir == DIR_OUT && buf_is_produced(b);
    if (!found) refuse(v, "%s is no result whose size the run finds", b->name);
    for (int k = 0; k < b->nd; k++) check_typed(v, b->dims[k], IDX, "a size");
}
static void verify_stmt(struct verifier *v, struct stmt *s) {
    const struct stmt_row *row = &stmt_rows[s->kind];
    if (row->entry_only && v->p != v->m->entry) refuse(v, "%s stands in the entry procedure only", row->what);
    switch (s->kind) {
    case S_FOR: verify_for(v, s); break;
    case S_STORE: verify_store(v, s); break;
    case S_IF:
        check_typed(v, s->u.cond.cond, BOOL, "the condition");
        verify_under(v, &s->u.cond.then, s->u.cond.cond, true, false);
        verify_under(v, &s->u.cond.other, s->u.cond.cond, false, false);
        break;
    case S_ALLOC: verify_alloc(v, s); break;
    case S_FREE: verify_free(v, s); break;
    case S_STAGE: verify_stage(v, s); break;
    case S_SIZE: verify_size(v, s); break;
    case S_CALL: verify_call(v, s); break;
    case S_WHILE: verify_while(v, s); break;
    case S_CHECK:
        check_typed(v, s->u.check.cond, BOOL, "the condition");
        if (!s->u.check.fault) refuse(v, "a check without a fault");
        facts_make_room(&v->facts);
        if (s->u.check.cond && s->u.check.cond->type == BOOL) facts_add(&v->facts, s->u.check.cond);
        break;
    case S_INSTR: verify_instr(v, s); break;
    case S_PREFETCH:
        use_buf(v, s->u.prefetch.buf);
        check_typed(v, s->u.prefetch.off, IDX, "the place");
        break;
    case S_SWAP: verify_swap(v, s); break;
    case S_VIEW: verify_view(v, s); break;
    case S_BIND: verify_bind(v, s); break;
    case S_FOREIGN: verify_foreign(v, s); break;
    case S_BARRIER:
    case S_COMMENT: break;
    }
}
static void verify_block(struct verifier *v, struct block *b) {
    struct stmt *last = NULL;
    int sizes = v->sizes.n;
    for (struct stmt *s = b->first; s; last = s, s = s->next) {
        if (s->in != b || s->prev != last) BUG("statement list of %s is broken", v->p->name);
        struct block *sub[2];
        for (int n = stmt_blocks(s, sub), k = 0; k < n; k++)
            if (sub[k]->owner != s) BUG("a block of %s does not know its statement", v->p->name);
        struct stmt *outer = v->at;
        v->at = s;
        push_frame(v);
        verify_stmt(v, s);
        pop_frame(v);
        v->at = outer;
    }
    struct named_buf n;
    for (struct stmt *s = b->first; s; s = s->next) /* the end of the block */
        for (int k = 0; stmt_buf(s, k, &n); k++)
            if (n.use & BU_BEGINS && n.buf) set_gone(v, n.buf);
    while (v->sizes.n > sizes) set_gone(v, v->sizes.v[--v->sizes.n]);
}
static bool find_size(void *env, struct stmt *s) {
    if (s->kind == S_SIZE) *(bool *)env = true;
    return true;
}
static void verify_names(struct verifier *v) {
    walk(&v->p->body, find_size, &v->has_sizes);
    struct map names = {.arena = &v->c->arena};
    for (int k = 0; k < v->p->bufs.n; k++) {
        struct buf *b = v->p->bufs.v[k];
        const char *name = intern(v->c->names, b->name);
        if (map_get(&names, PKEY(name))) refuse(v, "two buffers are called %s", b->name);
        map_put(&names, PKEY(name), b);
        map_put(&v->own, PKEY(b), b);
        if (b->scope == SC_CONST) set_visible(v, b);
    }
    for (int k = 0; k < v->p->syms.n; k++) set_visible(v, v->p->syms.v[k]);
    for (int k = 0; k < v->p->params.n; k++) {
        struct buf *b = v->p->params.v[k].buf;
        if (b->scope != SC_PARAM) refuse(v, "parameter %s has scope %s", b->name, scope_name(b->scope));
        if (!map_get(&v->own, PKEY(b))) refuse(v, "parameter %s is not one of this procedure's buffers", b->name);
        if (!found_in_run(v, &v->p->params.v[k])) set_visible(v, b);
    }
    for (int k = 0; k < v->p->bufs.n; k++)
        if (is_visible(v, v->p->bufs.v[k])) check_geometry(v, v->p->bufs.v[k]);
}
bool verify_proc(struct module *m, struct proc *p, const char *after, bool final, struct unproved_list *unproved) {
    struct ctx *c = m->ctx;
    struct verifier v = {.m = m,
                         .c = c,
                         .p = p,
                         .after = after,
                         .final = final,
                         .unproved = unproved,
                         .facts = {.c = c},
                         .state = {.arena = &c->arena},
                         .own = {.arena = &c->arena},
                         .roots = {.arena = &c->arena}};
    push_frame(&v);
    verify_names(&v);
    verify_block(&v, &p->body);
    free(v.seen);
    return !v.errors;
}
bool proc_verify(struct module *m, struct proc *p, const char *after) { return verify_proc(m, p, after, false, NULL); }
bool proc_verify_final(struct module *m, struct proc *p, const char *after) {
    return verify_proc(m, p, after, true, NULL);
}

/* ---- functions: only their arguments, constants, operations, other functions */
struct fn_check {
    const struct fn *f;
    bool ok;
};
static bool fn_node(void *env, expr e) {
    struct fn_check *k = env;
    if (e->op == X_ARG && (e->u.i < 0 || e->u.i >= k->f->nargs || k->f->args[e->u.i] != e->type)) k->ok = false;
    return k->ok;
}
static bool verify_changed(struct module *m, struct proc *p, const char *after) {
    uint64_t now = proc_fingerprint(p);
    if (p->verified == now) return true;
    struct unproved_list shown_before = {0};
    p->verified = verify_proc(m, p, after, false, p->lifted ? &shown_before : NULL) ? now : 0;
    return p->verified != 0;
}
bool loop_verify(struct module *m, const char *after) {
    bool ok = true;
    for (int k = 0; k < m->fns.n; k++) {
        const struct fn *f = m->fns.v[k];
        bool own = f->body && f->body->type == f->type && !x_has(f->body, XF_VAR | XF_SYM | XF_LOAD | XF_POISON);
        struct fn_check check = {f, own};
        if (own) x_visit_with(f->body, XF_ARG, fn_node, &check);
        if (!check.ok)
            diag(&m->ctx->diags, DIAG_ERROR, broken_code(after),
                 "%s%sfunction %s: its body is not an expression of type %s over its arguments", after ? after : "",
                 after ? ": " : "", f->name, dtype_name(f->type));
        ok &= check.ok;
    }
    for (int k = 0; k < m->procs.n; k++)
        if (m->procs.v[k] != m->entry) ok &= verify_changed(m, m->procs.v[k], after);
    if (m->entry) ok &= verify_changed(m, m->entry, after);
    int ins = 0;
    for (int k = 0; m->entry && k < m->entry->params.n; k++) ins += m->entry->params.v[k].dir == DIR_IN;
    if (!holders_fit(&m->taken, ins) || !holders_fit(&m->given, m->entry ? m->entry->params.n - ins : 0)) {
        diag(&m->ctx->diags, DIAG_ERROR, broken_code(after),
             "%s%swhat the entry takes or gives as a sequence or optional does not fit its parameters",
             after ? after : "", after ? ": " : "");
        ok = false;
    }
    return ok;
}
