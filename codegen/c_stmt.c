/* Statements as C: stores, control flow, calls; the inside of a function. In straight runs of stores, repeated values
 * get names (c_expr.c); loops declare the pointers that can be computed in them (c_ptrs.c); buffers are declared where
 * they are allocated (c_mem.c). */
#include "codegen/c_int.h"
#include "ir/loop/kinds.h"

/* ---- stores */
static void print_store(struct fe *f, const struct stmt *s) {
    struct buf *b = s->u.store.buf;
    bool pass2 = f->run->pass == 2;
    enum dtype vt = dtype_value(b->type);
    int element = -1;
    struct reg_piece *q = c_piece(f, b, s->u.store.idx, &element);
    struct place pl = {0};
    bool vec = f->lane != NULL, shared = false; /* shared: one cell for all lanes */
    const char *dst = NULL;
    struct piece copy;
    if (q) {
        vec = vec && q->lanes > 1 && element < 0;
        shared = f->lane && !vec;
        dst = element >= 0 ? format(f->c, "%s[%d]", c_ref(f, q->sn), element) : c_ref(f, q->sn);
    } else {
        pl = c_place(f, b, s->u.store.idx);
        vec = vec && pl.k != 0;
        shared = f->lane && !vec;
        dst = vec && pl.k == 1 ? c_address(f, &pl) : vec ? NULL : c_cell(f, &pl);
    }
    enum red_op op = s->u.store.op;
    expr value = s->u.store.value, own = x_load(f->c, b, s->u.store.idx, s->u.store.n, NULL);
    if (shared) {
        if (q && b->type != vt) value = x_round(f->c, b->type, value);
        struct piece v = c_value(f, value, on_lane(f, value) ? f->width : op != RED_NONE ? f->width : 1);
        const char *text;
        struct piece r;
        if (op != RED_NONE) {
            struct piece old = c_value(f, own, 1);
            enum dtype steps = vt == F32 ? b->type : vt; /* integers may wrap at the end */
            r = piece_of(format(f->c, "%s(%s, %s)", c_reduce_lanes(f->o, op, steps, f->width), old.s, v.s), P_ATOM);
        } else {
            r = on_lane(f, value) ? piece_of(format(f->c, "%s[%d]", paren(f, v, P_ATOM), f->width - 1), P_ATOM)
                                  : v; /* the last lane's remains */
        }
        text = format(f->c, "%s = %s;", dst, (q ? r : c_storage(f, b, r)).s);
        if (pass2) c_put(f, text);
    } else if (vec && !q && pl.k != 1) { /* scattered lanes */
        expr full = op == RED_NONE ? value : red_apply(f->c, op, own, value);
        struct piece v = c_value(f, full, f->width);
        const char *name = "";
        if (pass2) {
            name = names_numbered(&f->names, "t");
            c_line(f, "const %s %s = %s;", c_vector_type(f->o, vt, f->width), name, v.s);
        }
        for (int i = 0; i < f->width; i++) {
            const struct var *lane = f->lane;
            expr idx[40];
            for (int k = 0; k < s->u.store.n; k++) idx[k] = x_subst1(f->c, s->u.store.idx[k], lane, x_int(f->c, i));
            f->lane = NULL;
            struct place one = c_place(f, b, idx);
            const char *cell = c_cell(f, &one);
            struct piece v1 = c_storage(f, b, piece_of(format(f->c, "%s[%d]", name, i), P_ATOM));
            f->lane = lane;
            if (pass2) c_line(f, "%s = %s;", cell, v1.s);
        }
    } else if (!q && op == RED_NONE && c_code(f, b->type, value, &copy)) {
        if (pass2) c_line(f, "%s = %s;", dst, copy.s);
    } else {
        bool flt = vt == F32 || vt == F64;
        const char *sign = (op == RED_SUM || op == RED_PROD) && flt && b->type == vt && (q || !vec)
                               ? (op == RED_SUM ? "+=" : "*=")
                               : NULL;
        /* `acc += v` reads like the definition; the same operation as acc = acc + v */
        if (sign && red_apply(f->c, op, own, value)->op == (op == RED_SUM ? X_ADD : X_MUL)) {
            struct piece v = c_value(f, value, vec ? f->width : 1);
            if (pass2) c_line(f, "%s %s %s;", dst, sign, v.s);
        } else {
            expr full = op == RED_NONE ? value : red_apply(f->c, op, own, value);
            if (q && b->type != vt) full = x_round(f->c, b->type, full);
            struct piece v = c_value(f, full, vec ? f->width : 1);
            const char *text = vec && !q ? format(f->c, "%s(%s, %s);", c_vstore(f->o, b->type, f->width), dst, v.s)
                                         : format(f->c, "%s = %s;", dst, (q ? v : c_storage(f, b, v)).s);
            if (pass2) c_put(f, text);
        }
    }
    c_forget(f, b);
}
static void print_prefetch(struct fe *f, const struct stmt *s) {
    if (!emit_gnu(f->o)) return;
    if (!map_get(&f->bufs, PKEY(s->u.prefetch.buf))) return; /* its cells are variables */
    struct place pl = c_place_at(f, s->u.prefetch.buf, s->u.prefetch.off);
    if (f->run->pass == 2) c_line(f, "__builtin_prefetch(%s + %s, 0, 2);", pl.base, paren(f, pl.rest, P_ADD));
}

/* A run: statements without control flow, from `first` to before `end`. */
struct stretch {
    const struct stmt *first, *end;
};
/* The store that s is, or that it does for each lane; NULL: none. */
static const struct stmt *store_of(const struct stmt *s) {
    return s->kind == S_FOR && s->u.loop.kind == LK_VECTOR ? s->u.loop.body.first : s->kind == S_STORE ? s : NULL;
}
static expr store_exists(struct fe *f, const struct stmt *store) {
    return c_guards_exist(f, store->u.store.idx, store->u.store.n);
}
static bool simple(struct fe *f, const struct stmt *s) {
    const struct stmt *store = store_of(s);
    if (!f->d->names_values) return false;
    return store ? x_is_true(store_exists(f, store)) : s->kind == S_PREFETCH || s->kind == S_INSTR;
}
/* All vector statements of one width are printed with one lane variable, so that equal values are equal expressions. */
static void print_vector(struct fe *f, const struct stmt *s) {
    const struct var *v = s->u.loop.var;
    struct stmt one = *s->u.loop.body.first;
    expr idx[34];
    f->width = (int)v->extent->u.i;
    f->lane = c_lane(f, v);
    if (f->lane != v) {
        for (int k = 0; k < one.u.store.n; k++) idx[k] = x_subst1(f->c, one.u.store.idx[k], v, x_var(f->c, f->lane));
        one.u.store.idx = idx;
        one.u.store.value = x_subst1(f->c, one.u.store.value, v, x_var(f->c, f->lane));
    }
    print_store(f, &one);
    f->lane = NULL;
    f->width = 1;
}
static void print_stretch(struct fe *f, void *env) {
    struct stretch *q = env;
    for (const struct stmt *s = q->first; s != q->end; s = s->next) {
        if (s->kind == S_PREFETCH) {
            print_prefetch(f, s);
        } else if (s->kind == S_INSTR) {
            c_print_instr(f, s);
        } else if (s->kind == S_STORE) {
            print_store(f, s);
        } else {
            print_vector(f, s);
        }
    }
}

/* A store, or a vector of them, whose guard has no valid index if a size is 0. */
static void print_guarded_store(struct fe *f, const struct stmt *s) {
    struct stretch one = {s, s->next};
    const char *exists = c_text(f, store_exists(f, store_of(s)), false); /* names are also used after the `if` */
    int mark = names_mark(&f->names);
    c_line(f, "if (%s) {", exists);
    f->depth++;
    c_run(f, print_stretch, &one);
    f->depth--;
    names_leave(&f->names, mark);
    c_put(f, "} else {");
    c_line(f, "    *%s = 1;", c_ref(f, f->fault));
    c_put(f, "}");
}

/* ---- control flow */
static bool not_outlinable(void *env, const struct stmt *s) {
    if (s->kind == S_CHECK || s->kind == S_SIZE) *(bool *)env = true;
    return true;
}
struct outside {
    struct fe *f;
    const struct block *b;
    bool found;
};
static void reg_outside(struct outside *q, const struct buf *b) {
    q->found |= c_regs(q->f, b) && !block_allocs(q->b, b);
}
static void load_outside(void *env, const struct stmt *s, expr load) {
    (void)s;
    reg_outside(env, load->u.buf);
}
static bool store_outside(void *env, const struct stmt *s) {
    if (s->kind == S_STORE) reg_outside(env, s->u.store.buf);
    return true;
}
static bool can_outline(struct fe *f, const struct stmt *s) {
    bool bad = false;
    struct outside q = {f, &s->u.loop.body, false};
    survey(&s->u.loop.body, not_outlinable, &bad);
    each_load(&s->u.loop.body, load_outside, &q);
    survey(&s->u.loop.body, store_outside, &q);
    return !bad && !q.found && s->u.loop.kind != LK_VECTOR && !emit_cuda(f->o);
}
/* The body of a loop between its braces: pointers, statements. */
void c_body(struct fe *f, const struct stmt *s) {
    int mark;
    if (!f->d->names_values) {
        c_block(f, &s->u.loop.body);
        return;
    }
    c_open_pointers(f, s->u.loop.var, &s->u.loop.body, &mark);
    struct text body = {0}, *was = f->out;
    f->out = &body;
    c_block(f, &s->u.loop.body);
    f->out = was;
    c_close_pointers(f, mark);
    text_add(f->out, body.s ? body.s : "");
    text_free(&body);
}
/* An innermost loop of vector statements whose body was unrolled. If its extent is small, gcc -O3 would peel it
 * completely, and run out of registers: measured 1.6 times slower for a 3x3 convolution. */
static bool written_out(struct fe *f, const struct block *b) {
    int n = 0;
    for (const struct stmt *s = b->first; s; s = s->next, n++)
        if (!simple(f, s)) return false;
    return n >= 8 && emit_gnu(f->o);
}
const char *c_declare_var(struct fe *f, const struct var *v) {
    struct sym_name *n = c_declare(f, c_loop_name(v), format(f->c, "%s ", f->idx));
    map_put(&f->vars, PKEY(v), n);
    return n->name;
}
void c_print_for(struct fe *f, const struct stmt *s) {
    if (s->u.loop.kind == LK_PARALLEL) {
        c_print_parallel(f, s);
        return;
    }
    if (s->u.loop.kind == LK_VECTOR) {
        print_guarded_store(f, s);
        return;
    }
    const struct var *v = s->u.loop.var;
    const char *extent = f->d->bound(f, v->extent);
    int mark = names_mark(&f->names);
    const char *n = c_declare_var(f, v);
    if (written_out(f, &s->u.loop.body)) {
        f->u->no_unroll = true;
        c_put(f, "NN_NO_UNROLL");
    }
    c_line(f, "for (%s %s = 0; %s < %s; %s++) {", f->idx, n, n, extent, n);
    const struct var *outer = f->loop, *tile = f->tile;
    f->depth++;
    f->loop = v;
    if (s->u.loop.outline && can_outline(f, s)) c_print_outlined(f, s);
    else c_body(f, s);
    f->loop = outer, f->tile = tile;
    f->depth--;
    c_put(f, "}");
    names_leave(&f->names, mark);
}
void c_branch(struct fe *f, const struct block *b) {
    int mark = names_mark(&f->names);
    f->depth++;
    c_block(f, b);
    f->depth--;
    names_leave(&f->names, mark);
}
void c_print_if(struct fe *f, const struct stmt *s) {
    expr cond = s->u.cond.cond;
    const struct block *then = &s->u.cond.then, *other = &s->u.cond.other;
    if (!then->first) {
        if (!other->first) return;
        cond = x_not(f->c, cond);
        then = other;
        other = NULL;
    }
    c_line(f, "if (%s) {", f->d->condition(f, cond));
    c_branch(f, then);
    if (other && other->first) {
        c_put(f, "} else {");
        c_branch(f, other);
    }
    c_put(f, "}");
}
static void fail(struct fe *f) {
    c_line(f, "    *%s = 1;", c_ref(f, f->fault));
    c_line(f, "    return;");
    c_put(f, "}");
}
/* A loop that would run more than `max` iterations is a fault, as in the interpreter. */
static void print_while(struct fe *f, const struct stmt *s) {
    const char *head = "for (;;) {", *n = NULL;
    const char *max = s->u.loop_while.max ? c_bound(f, s->u.loop_while.max) : NULL; /* names are also used after the
                                                                                     * loop */
    int mark = names_mark(&f->names);
    if (max) {
        n = names_add(&f->names, "pass");
        head = format(f->c, "for (%s %s = 0;; %s++) {", f->idx, n, n);
    }
    struct text lines = {0}, *was = f->out; /* values that the condition names are computed before each iteration */
    f->out = &lines;
    f->depth++;
    const char *cond = c_text(f, s->u.loop_while.cond, false);
    f->depth--;
    f->out = was;
    if (!lines.n && !max) {
        c_line(f, "while (%s) {", cond);
    } else {
        c_put(f, head);
        text_add(f->out, lines.s ? lines.s : "");
        f->depth++;
        c_line(f, "if (!(%s))", cond);
        c_line(f, "    break;");
        if (max) {
            c_line(f, "if (%s >= %s) {", n, max);
            fail(f);
        }
        f->depth--;
    }
    text_free(&lines);
    f->depth++;
    c_block(f, &s->u.loop_while.body);
    f->depth--;
    c_put(f, "}");
    names_leave(&f->names, mark);
}
static void print_size(struct fe *f, const struct stmt *s) {
    const struct sym *y = s->u.size.sym;
    struct sym_name *n = c_declare(f, y->name, format(f->c, "%s ", f->idx));
    const char *v = c_text(f, s->u.size.value, true);
    c_line(f, "const %s %s = %s;", f->idx, n->name, v);
    map_put(&f->syms, PKEY(y), n);
    expr low = s->u.size.lo, high = s->u.size.hi;
    if (low && high && x_proves_le(f->c, low, s->u.size.value) && x_proves_le(f->c, s->u.size.value, high)) return;
    if (low && high) {
        c_line(f, "if (%s < %s || %s > %s) {", n->name, c_bound(f, low), n->name, c_bound(f, high));
        fail(f);
    }
}

/* ---- calls, comments, blocks */
static void print_call(struct fe *f, const struct stmt *s) {
    const char *args = "";
    const struct proc *callee = s->u.call.callee;
    int n = 0;
    for (int k = 0; k < s->u.call.nbufs; k++, n++) {
        struct sym_name *b = map_get(&f->bufs, PKEY(s->u.call.bufs[k]));
        if (!b) BUG("buffer %s is passed before it has a place", s->u.call.bufs[k]->name);
        args = format(f->c, "%s%s%s", args, n ? ", " : "", c_ref(f, b));
    }
    for (int k = 0; k < s->u.call.nargs; k++, n++)
        args = format(f->c, "%s%s%s", args, n ? ", " : "", c_text(f, s->u.call.args[k], true));
    if (!x_is(scratch_bytes(f->c, callee), 0))
        args =
            format(f->c, "%s%s(unsigned char *)%s + %s", args, n++ ? ", " : "", c_ref(f, f->ws), c_bound(f, f->ws_top));
    if (proc_may_fault(callee)) args = format(f->c, "%s%s%s", args, n++ ? ", " : "", c_ref(f, f->fault));
    if (proc_is_parallel(callee)) args = format(f->c, "%s%s%s", args, n++ ? ", " : "", c_ref(f, f->pool));
    c_line(f, "%s(%s);", emit_proc_name(f->c, callee, f->o), args);
}
static void print_swap(struct fe *f, const struct stmt *s) {
    struct buf *a = s->u.swap.a, *b = s->u.swap.b;
    struct sym_name *na = map_get(&f->bufs, PKEY(a)), *nb = map_get(&f->bufs, PKEY(b));
    ASSERT(na && nb);
    /* exchanges contents cell by cell: pointers may be used outside of this function */
    const char *i = names_add(&f->names, "i"), *t = names_numbered(&f->names, "t");
    c_line(f, "for (%s %s = 0; %s < %s; %s++) {", f->idx, i, i, c_bound(f, buf_cells(f->c, a)), i);
    c_line(f, "    const %s %s = %s[%s];", dtype_c(a->type), t, c_ref(f, na), i);
    c_line(f, "    %s[%s] = %s[%s];", na->name, i, c_ref(f, nb), i);
    c_line(f, "    %s[%s] = %s;", nb->name, i, t);
    c_put(f, "}");
}
void c_print_comment(struct fe *f, const struct stmt *s) {
    const char *text = s->u.comment.text;
    if (!text) return;
    struct text t = {0};
    text_add(&t, "/* ");
    emit_comment_text(&t, text);
    text_add(&t, " */");
    c_put(f, t.s);
    text_free(&t);
}

void c_print_nothing(struct fe *f, const struct stmt *s) { (void)f, (void)s; }
static void print_alloc(struct fe *f, const struct stmt *s) { c_print_alloc(f, s->u.alloc.buf, s->in); }
static void print_check(struct fe *f, const struct stmt *s) {
    c_line(f, "if (!(%s)) {", c_text(f, s->u.check.cond, false));
    fail(f);
}
static const char *condition(struct fe *f, expr e) { return c_text(f, e, false); }
#define KERNELS(loop, barrier)                                                                                         \
    {                                                                                                                  \
        .index = "ptrdiff_t", .orders = true, .names_values = true, .size = c_size_name, .sum = c_print_sum,           \
        .product = c_print_product, .load = c_print_load, .call = c_call, .condition = condition, .bound = c_bound,    \
        .print = {                                                                                                     \
            [S_FOR] = loop,                                                                                            \
            [S_STORE] = print_guarded_store,                                                                           \
            [S_IF] = c_print_if,                                                                                       \
            [S_ALLOC] = print_alloc,                                                                                   \
            [S_FREE] = c_print_nothing,                                                                                \
            [S_SIZE] = print_size,                                                                                     \
            [S_CALL] = print_call,                                                                                     \
            [S_WHILE] = print_while,                                                                                   \
            [S_CHECK] = print_check,                                                                                   \
            [S_BARRIER] = barrier,                                                                                     \
            [S_SWAP] = print_swap,                                                                                     \
            [S_FOREIGN] = c_print_foreign,                                                                             \
            [S_COMMENT] = c_print_comment                                                                              \
        }                                                                                                              \
    }
const struct dialect c_dialect = KERNELS(c_print_for, c_print_nothing), cuda_dialect = KERNELS(cuda_for, cuda_barrier);

void c_block(struct fe *f, const struct block *b) {
    int ptrs = f->ptrs.n;
    expr top = f->ws_top;
    for (const struct stmt *s = b->first; s;) {
        if (simple(f, s)) {
            struct stretch q = {s, s};
            while (q.end && simple(f, q.end)) q.end = q.end->next;
            c_run(f, print_stretch, &q);
            s = q.end;
            continue;
        }
        if (!f->d->print[s->kind]) BUG("%s in C", stmt_rows[s->kind].what);
        f->d->print[s->kind](f, s);
        s = s->next;
    }
    f->ptrs.n = ptrs;
    f->ws_top = top;
}
