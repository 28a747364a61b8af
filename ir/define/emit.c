/* The definition builder, writing side: stages, sizes, kernel calls, checks; and the nodes of expansions. */
#include "ir/base/embed.h"
#include "ir/define/impl.h"
#include "ir/loop/foreign.h"
#include <stdlib.h>
#include <string.h>

void def_append(struct stmt *s) {
    if (def_now->mode != DEF_EXPAND) block_append(def_now->into, s);
}
T def_tensor_new(enum dtype t, X dims) {
    struct def_tensor *r = NEW(&DEF_CTX->arena, struct def_tensor);
    r->type = t;
    for (int k = 0; k < dims.n; k++) {
        if (dims.v[k]->op == X_POISON) return NULL;
        if (r->rank == 32) return fail(E_LIMIT, "a tensor of more than 32 dimensions"), NULL;
        r->dims[r->rank++] = dims.v[k];
    }
    return r;
}
static T scratch_in(enum scope scope, const char *name, enum dtype t, X dims) {
    T r = def_tensor_new(t, dims);
    if (!r) return NULL;
    r->buf = buf_new(DEF_CTX, def_now->p, name, t, scope, r->dims, r->rank);
    def_append(s_alloc(DEF_CTX, r->buf));
    return r;
}
T scratch(const char *name, enum dtype t, X dims) { return scratch_in(SC_ARENA, name, t, dims); }
T kept_bytes(const char *name, E n) { return scratch_in(SC_KEPT, name, U8, list1(n)); }
T const_table(const char *name, const struct tensor *t) {
    X dims = list0();
    for (int k = 0; k < t->rank; k++) dims = push(dims, idx(t->dims[k]));
    T r = def_tensor_new(t->type, dims);
    if (!r) return NULL;
    r->buf = buf_new(DEF_CTX, def_now->p, name, t->type, SC_CONST, r->dims, r->rank);
    r->buf->data = t;
    return r;
}
T result(int k, enum dtype t, X dims) {
    if (k < def_now->n->outs.n && def_now->outs[k]) return def_now->outs[k];
    if (t == NONE) return fail(E_TYPE, "the element type of result %d is not given", k), NULL;
    T r = def_tensor_new(t, dims);
    if (!r) return NULL;
    struct value *v = k < def_now->n->outs.n ? def_now->n->outs.v[k] : NULL;
    if (!v) { /* not used: computed into scratch, which dead code elimination may drop */
        r->buf = buf_new(DEF_CTX, def_now->p, "unused", t, SC_ARENA, r->dims, r->rank);
        def_append(s_alloc(DEF_CTX, r->buf));
        return r;
    }
    if (def_now->mode == DEF_EMIT) r->buf = def_now->buf_of(def_now->env, v);
    else r->buf = buf_new(DEF_CTX, def_now->p, "out", t, SC_ARENA, r->dims, r->rank);
    r->val = v;
    return def_now->outs[k] = r;
}
static X extents(X vars) {
    X r = list0();
    for (int k = 0; k < vars.n; k++) r = push(r, vars.v[k]->op == X_VAR ? vars.v[k]->u.var->extent : x_poison(DEF_CTX));
    return r;
}
static const struct var *own_axis(struct subst *own, E axis) {
    const struct var *v = var_new(DEF_CTX, axis->u.var->name, axis->u.var->extent);
    map_put(&own->map, PKEY(axis->u.var), (void *)x_var(DEF_CTX, v));
    return v;
}
static void put_stage(T t, X ax, enum red_op op, X r, E v, E init) {
    struct ctx *c = DEF_CTX;
    const struct var *va[X_MAX_LIST], *vr[X_MAX_LIST];
    if (!t || v->op == X_POISON) {
        if (t && !c->diags.errors) def_unfit();
        return;
    }
    enum dtype vt = dtype_value(t->type);
    if (v->type != vt) v = x_cast(c, vt, v);
    if (init && init->type != vt)
        init = init->op == X_CONST
                   ? x_num(c, vt, init->type == F32 || init->type == F64 ? init->u.f : (double)init->u.i)
                   : x_cast(c, vt, init);
    struct subst own = {{.arena = &c->arena}}; /* definitions may use one list of axes for several stages, but a
                                                * variable has only one loop */
    for (int k = 0; k < ax.n; k++) va[k] = own_axis(&own, ax.v[k]);
    for (int k = 0; k < r.n; k++) {
        if (r.v[k]->op != X_VAR) return;
        vr[k] = own_axis(&own, r.v[k]);
    }
    v = x_subst(c, v, &own);
    if (init) init = x_subst(c, init, &own);
    def_append(s_stage(c, t->buf, va, ax.n, op, vr, r.n, init, v));
}
T stage(const char *name, enum dtype t, X ax, E v) {
    T r = scratch(name, t, extents(ax));
    put_stage(r, ax, RED_NONE, list0(), v, NULL);
    return r;
}
T reduce(const char *name, enum dtype t, X ax, enum red_op op, X r, E v, E init) {
    T s = scratch(name, t, extents(ax));
    put_stage(s, ax, op, r, v, init);
    return s;
}
void out(int k, enum dtype t, X ax, E v) { put_stage(result(k, t, extents(ax)), ax, RED_NONE, list0(), v, NULL); }
void out_reduce(int k, enum dtype t, X ax, enum red_op op, X r, E v, E init) {
    T o = result(k, t, extents(ax));
    put_stage(o, ax, op, r, v, init);
}
static void put_into(T t, X ax, X index, E v, bool apart) {
    struct ctx *c = DEF_CTX;
    if (!t || v->op == X_POISON) return;
    if (v->type != dtype_value(t->type)) v = x_cast(c, dtype_value(t->type), v);
    E at_i[X_MAX_LIST];
    for (int k = 0; k < index.n; k++) at_i[k] = x_toidx(c, index.v[k]);
    struct stmt *s = s_store(c, t->buf, at_i, index.n, RED_NONE, v);
    for (int k = ax.n; k--;) {
        const struct var *old = ax.v[k]->u.var, *fresh = var_new(c, internf(c->names, "to.%s", old->name), old->extent);
        struct stmt *loop = s_for(c, fresh, LK_SERIAL);
        loop->u.loop.independent = loop->u.loop.assumed = apart;
        block_append(&loop->u.loop.body, s);
        struct subst by = {{.arena = &c->arena}};
        map_put(&by.map, PKEY(old), (void *)x_var(c, fresh));
        subst_block(c, &loop->u.loop.body, &by);
        s = loop;
    }
    def_append(s);
}
void stage_into(T t, X ax, X index, E v) { put_into(t, ax, index, v, false); }
void stage_apart(T t, X ax, X index, E v) { put_into(t, ax, index, v, true); }

/* ---- kernels in loop IR text */
enum { TYPED_BUFS = 10 }; /* $0 to $9 */
/* The text with types filled in: $T is t, $A the type in which its sums are accumulated, $0 to $9 the types of the
 * buffers. Those that it uses are added to *name. */
static char *instantiate(struct ctx *c, const char *text, size_t n, enum dtype t, const enum dtype *types, int ntypes,
                         const char **name) {
    struct text r = {0};
    bool told[TYPED_BUFS] = {false};
    *name = internf(c->names, "%s_%s", *name, dtype_name(t));
    for (size_t k = 0; k < n; k++) {
        int of = text[k] == '$' && k + 1 < n ? text[k + 1] - '0' : -1;
        if (of == 'T' - '0') text_add(&r, dtype_name(t)), k++;
        else if (of == 'A' - '0') text_add(&r, dtype_name(dtype_is_half(t) ? F32 : t)), k++;
        else if (of >= 0 && of < ntypes) {
            text_add(&r, dtype_name(types[of])), k++;
            if (!told[of]) *name = internf(c->names, "%s_%s", *name, dtype_name(types[of]));
            told[of] = true;
        } else text_char(&r, text[k]);
    }
    return text_take(&r, &c->arena);
}
struct proc *kernel_of_text(struct ctx *c, struct module *m, const char *name, enum dtype t, const enum dtype *types,
                            int n) {
    const char *full = name, *path = internf(c->names, "templates/kernels/%s.lir", name);
    for (size_t k = 0; k < nn_embedded_count; k++) {
        if (strcmp(nn_embedded[k].path, path)) continue;
        char *text = instantiate(c, (const char *)nn_embedded[k].data, nn_embedded[k].size, t, types, n, &full);
        for (int i = 0; i < m->procs.n; i++)
            if (m->procs.v[i]->name == full) return m->procs.v[i];
        struct module *km = loop_parse(c, text, strlen(text), path);
        if (!km || km->procs.n != 1) BUG("%s does not hold one procedure", path);
        struct proc *p = km->procs.v[0];
        p->name = full;
        p->is_kernel_text = true;
        PUSH(&c->arena, &m->procs, p);
        return p;
    }
    BUG("no kernel text %s", path);
}
void call_kernel(const char *name, enum dtype t, const T *bufs, int nbufs, const E *args, int nargs) {
    struct def *d = def_now;
    if (d->mode != DEF_EMIT) return;
    for (int k = 0; k < nbufs; k++)
        if (!bufs[k]) return;
    enum dtype types[TYPED_BUFS];
    for (int k = 0; k < nbufs && k < TYPED_BUFS; k++) types[k] = bufs[k]->type;
    struct stmt *s = s_new(d->c, S_CALL);
    s->u.call.callee = kernel_of_text(d->c, d->m, name, t, types, nbufs < TYPED_BUFS ? nbufs : TYPED_BUFS);
    s->u.call.nbufs = nbufs, s->u.call.nargs = nargs;
    s->u.call.bufs = NEWN(&d->c->arena, struct buf *, nbufs);
    s->u.call.args = NEWN(&d->c->arena, expr, nargs);
    for (int k = 0; k < nbufs; k++) s->u.call.bufs[k] = bufs[k]->buf;
    for (int k = 0; k < nargs; k++) {
        const struct sym *y = s->u.call.callee->syms.v[k];
        expr a = s->u.call.args[k] = x_toidx(d->c, args[k]);
        require(and_(le(idx(y->lo), a), le(a, idx(y->hi))), "a product of sizes is too large");
    }
    def_append(s);
}
void call_foreign(struct foreign *f, const struct foreign_slice *ops, int nops, const E *numbers, int nnumbers, X each,
                  const E *grid) {
    struct ctx *c = DEF_CTX;
    for (int k = 0; k < nops; k++)
        if (!ops[k].t) return;
    struct stmt *s = s_new(c, S_FOREIGN);
    s->u.foreign.fn = f;
    s->u.foreign.nops = nops, s->u.foreign.ops = NEWN(&c->arena, struct foreign_operand, nops + 1);
    s->u.foreign.idx = NEWN(&c->arena, expr, nops * each.n + 1);
    for (int k = 0; k < nops; k++) {
        s->u.foreign.ops[k] = (struct foreign_operand){ops[k].t->buf, s->u.foreign.nidx, ops[k].each ? each.n : 0};
        for (int i = 0; ops[k].each && i < each.n; i++) s->u.foreign.idx[s->u.foreign.nidx++] = each.v[i];
    }
    s->u.foreign.nargs = nnumbers, s->u.foreign.args = NEWN(&c->arena, expr, nnumbers + 1);
    for (int k = 0; k < nnumbers; k++)
        s->u.foreign.args[k] = dtype_is_float(numbers[k]->type) ? numbers[k] : x_toidx(c, numbers[k]);
    if (grid) {
        s->u.foreign.ngrid = 6, s->u.foreign.grid = NEWN(&c->arena, expr, 6);
        for (int k = 0; k < 6; k++) s->u.foreign.grid[k] = x_toidx(c, grid[k]);
    }
    for (int k = each.n; k--;) {
        struct stmt *loop = s_for(c, each.v[k]->u.var, LK_SERIAL);
        loop->u.loop.independent = true;
        block_append(&loop->u.loop.body, s);
        s = loop;
    }
    def_append(s);
}
E size_from(const char *name, T t, int k, E lo, E hi) {
    struct def *d = def_now;
    struct ctx *c = d->c;
    if (!t || lo->op == X_POISON || hi->op == X_POISON) return x_poison(c);
    int64_t n, least, most;
    if (t->rank > 1 || (t->rank && x_is_int(t->dims[0], &n) && k >= n) ||
        (x_is_int(lo, &least) && x_is_int(hi, &most) && least > most)) { /* such as an axis of a scalar */
        def_unfit();
        return x_poison(c);
    }
    int at = d->nsyms++;
    if (at == d->n->syms.n) { /* the same symbol every time the definition runs */
        int64_t l0, l1, h0, h1;
        x_bounds(c, lo, &l0, &l1), x_bounds(c, hi, &h0, &h1);
        const char *n = name ? internf(c->names, "%s_%d", name, d->n->id) : internf(c->names, "n%d_%d", d->n->id, at);
        PUSH(&c->arena, &d->n->syms, sym_new(c, n, l0, h1, true));
    }
    const struct sym *sym = d->n->syms.v[at];
    if (d->mode == DEF_EXPAND) return x_sym(c, sym);
    struct stmt *s = s_new(c, S_SIZE);
    E i = x_int(c, k);
    s->u.size.sym = sym;
    s->u.size.lo = lo, s->u.size.hi = hi;
    s->u.size.value = x_toidx(c, x_load(c, t->buf, &i, t->rank ? 1 : 0, NULL));
    def_append(s);
    return x_sym(c, sym);
}
const char *size_text(E e) {
    struct text t = {0};
    dim_print(&t, e);
    const char *s = intern(DEF_CTX->names, t.s ? t.s : "");
    text_free(&t);
    return s;
}
/* "512 and 768", "9 > 3"; 0 > -5 is about -5. */
static const char *refuted_text(const struct refuted *r) {
    static const char *const words[X_COUNT] = {
        [X_EQ] = " and ", [X_MOD] = " and ", [X_NE] = " = ", [X_LE] = " > ", [X_LT] = " >= "};
    bool order = r->op == X_LE || r->op == X_LT;
    if (order && x_is(r->a, 0)) return size_text(r->b);
    struct text t = {0};
    text_printf(&t, "%s%s%s", size_text(r->a), words[r->op], size_text(r->b));
    const char *s = intern(DEF_CTX->names, t.s);
    text_free(&t);
    return s;
}
static int by_text(const void *a, const void *b) {
    return strcmp(refuted_text((const struct refuted *)a), refuted_text((const struct refuted *)b));
}
/* In a fixed order: compilers may evaluate arguments in any order. */
static void add_refuted(struct def *d, struct text *t) {
    qsort(d->refuted, (size_t)d->nrefuted, sizeof *d->refuted, by_text);
    for (int k = 0; k < d->nrefuted; k++) {
        const char *s = refuted_text(&d->refuted[k]);
        if (!k || strcmp(s, refuted_text(&d->refuted[k - 1])) != 0) text_printf(t, "%s%s", k ? "; " : ": ", s);
    }
}
void require_begin(void) { def_now->nrefuted = 0; }
void require_that(E cond, const char *fmt, ...) {
    struct def *d = def_now;
    if (cond->op == X_POISON || x_is_true(cond)) return;
    va_list ap;
    va_start(ap, fmt);
    struct text t = {0};
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    if (x_is_false(cond)) add_refuted(d, &t);
    const char *what = intern(d->c->names, t.s ? t.s : "");
    text_free(&t);
    if (x_is_false(cond)) {
        diag(&d->c->diags, DIAG_ERROR, E_SHAPE, "%s", what);
        return;
    }
    struct stmt *s = s_new(d->c, S_CHECK);
    s->u.check.cond = cond;
    s->u.check.fault = what;
    s->u.check.origin = d->n->origin;
    def_append(s);
}

/* ---- expansions */
struct node *def_node(void) {
    return def_now->n;
}
struct arena *def_arena(void) {
    return &def_now->c->arena;
}
V gin(int k) { return k < def_now->n->ins.n ? def_now->n->ins.v[k] : NULL; }
void gout(int k, V v) {
    struct node *n = def_now->n;
    if (k >= n->outs.n || !n->outs.v[k] || !v) return;
    if (v->name[0] == 0 && v->def) v->name = n->outs.v[k]->name;
    value_replace(n->outs.v[k], v);
}
struct node *n_node_in(const char *domain, const char *op_type, const V *ins, int nins, int nouts) {
    struct node *of = def_now->n, *n = node_new(of->in, of, domain, op_type, ins, nins, nouts);
    n->op = op_find(domain, op_type);
    if (!n->op) BUG("expansion of %s uses unknown op %s", of->op_type, op_type);
    n->version = opset_newest(domain);
    return n;
}
struct node *n_node(const char *op_type, const V *ins, int nins, int nouts) {
    return n_node_in("", op_type, ins, nins, nouts);
}
struct node *n_private(const char *op_type, const V *ins, int nins, int nouts, const struct attr *attrs, int nattrs) {
    struct node *n = n_node_in(intern(DEF_CTX->names, "gcc2nn"), op_type, ins, nins, nouts);
    for (int k = 0; k < nattrs; k++) node_set_attr(n, attrs[k]);
    def_infer(def_now->g, n);
    return n;
}
V n_op(const char *op_type, int nout_index, const V *ins, int nins, const struct attr *attrs, int nattrs) {
    struct node *n = n_node(op_type, ins, nins, nout_index + 1);
    for (int k = 0; k < nattrs; k++) node_set_attr(n, attrs[k]);
    if (!(def_now->n->op->expand && n->op->expand))
        def_infer(def_now->g, n); /* so that gdims works on what was built */
    return n->outs.v[nout_index];
}
V n_inferred(struct node *n) { return n && def_infer(def_now->g, n) ? n->outs.v[0] : NULL; }
V n_const(const struct tensor *t) { return graph_const(def_now->g, "", t); }
struct tensor *n_tensor(enum dtype t, const int64_t *dims, int rank) {
    return tensor_new(&DEF_CTX->arena, t, dims, rank);
}
V n_const_i64(const int64_t *v, int n) { return graph_ints(def_now->g, v, n); }
V n_const_f(enum dtype t, double v) {
    if (!dtype_is_int(t) && !dtype_is_float(t) && t != BOOL) {
        fail(E_TYPE, "%s is no number", dtype_name(t));
        t = F32;
    }
    struct tensor *s = tensor_new(&DEF_CTX->arena, t, NULL, 0);
    tensor_set_f(s, 0, v);
    return graph_const(def_now->g, "", s);
}
static struct attr attr_named(const char *name, enum attr_kind k) {
    struct attr a = {.name = intern(DEF_CTX->names, name), .kind = k};
    return a;
}
struct attr attr_int(const char *name, int64_t v) {
    struct attr a = attr_named(name, AT_INT);
    a.u.i = v;
    return a;
}
struct attr attr_float(const char *name, double v) {
    struct attr a = attr_named(name, AT_FLOAT);
    a.u.f = (float)v;
    return a;
}
struct attr attr_str(const char *name, const char *v) {
    struct attr a = attr_named(name, AT_STRING);
    a.u.s.p = intern(DEF_CTX->names, v), a.u.s.n = strlen(v);
    return a;
}
struct attr attr_ints(const char *name, const int64_t *v, int n) {
    struct attr a = attr_named(name, AT_INTS);
    a.n = n;
    a.u.is = arena_copy(&DEF_CTX->arena, v, (size_t)n * sizeof *v);
    return a;
}
struct attr attr_floats(const char *name, const float *v, int n) {
    struct attr a = attr_named(name, AT_FLOATS);
    a.n = n;
    a.u.fs = arena_copy(&DEF_CTX->arena, v, (size_t)n * sizeof *v);
    return a;
}
V n_cast(V v, enum dtype to) {
    struct attr a = attr_int("to", dtype_onnx(to));
    return !v || v->type.dtype == to ? v : n_op("Cast", 0, &v, 1, &a, 1);
}
V n_transpose(V v, const int64_t *perm, int n) {
    struct attr a = attr_ints("perm", perm, n);
    return n_op("Transpose", 0, &v, 1, &a, 1);
}
V n_dim(V v, int k) {
    const struct attr range[] = {attr_int("start", k), attr_int("end", k + 1)};
    return n_op("Shape", 0, &v, 1, range, 2);
}
int gdims(V v, E *dims) {
    if (!v || v->type.kind != TY_TENSOR || v->type.rank < 0) return -1;
    for (int k = 0; k < v->type.rank; k++) dims[k] = v->type.dims[k];
    return v->type.rank;
}
