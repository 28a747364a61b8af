/* Statements as C: one procedure of the loop IR becomes one function. The stage that prints kernels; what CUDA does
 * otherwise is in cuda.c.
 *
 * The procedure is cloned and expanded (expand.c); then its blocks are printed from the outside in. Register buffers
 * become variables, addresses become pointers that are declared at the loop where their last variable appears, straight
 * runs of stores are printed with their repeated values named (c_expr.c). */
#include "codegen/c_int.h"
#include "ir/base/checked.h"
#include <string.h>

#define A(...) arena_printf(&f->c->arena, __VA_ARGS__)

static void print_block(struct fe *f, struct block *b);

void c_put(struct fe *f, const char *s) {
    emit_indent(f->out, f->depth);
    text_add(f->out, s);
    text_char(f->out, '\n');
}
enum { NODE_LINES = 24 }; /* of the nodes in a kernel's comment */
#define PUT(...) c_put(f, A(__VA_ARGS__))

/* ---- pointers */
static void add_ptr(struct fe *f, const struct buf *b, struct sym_name *sn, int n, expr *atoms, int64_t *coefs) {
    struct ptr *q = NEW(&f->c->arena, struct ptr);
    *q = (struct ptr){b, n, atoms, coefs, sn};
    PUSH(&f->c->arena, &f->ptrs, q);
}
struct group {
    const struct buf *buf;
    int n, count;
    bool inner, lower;
    expr *atoms;
    int64_t *coefs;
};
struct gather {
    struct fe *f;
    const struct var *var;
    VEC(struct group) groups;
    const struct var *lane;
    bool inner;
};

static bool var_known(void *env, expr e) {
    struct fe *f = env;
    if (e->op == X_VAR) return map_get(&f->vars, PKEY(e->u.var)) != NULL;
    if (e->op == X_SYM) return map_get(&f->syms, PKEY(e->u.sym)) != NULL;
    return true;
}
static void gather_offset(struct gather *g, const struct buf *b, expr off) {
    struct fe *f = g->f;
    struct regs *r = map_get(&f->regs, PKEY(b));
    if ((r && !r->array) || !map_get(&f->bufs, PKEY(b))) return; /* in registers, or declared further in */
    int64_t konst;
    const expr *atoms;
    const int64_t *coefs;
    int n = x_terms(f->c, off, &konst, &atoms, &coefs), m = 0;
    expr *ga = NEWN(&f->c->arena, expr, n + 1);
    int64_t *gc = NEWN(&f->c->arena, int64_t, n + 1);
    bool new_term = false;
    for (int i = 0; i < n; i++) {
        if (opaque_atom(atoms[i]) || !x_visit(atoms[i], var_known, f)) continue;
        new_term = new_term || x_uses_var(f->c, atoms[i], g->var);
        ga[m] = atoms[i], gc[m++] = coefs[i];
    }
    if (!new_term) return;
    for (int i = 0; i < g->groups.n; i++) {
        struct group *q = &g->groups.v[i];
        if (q->buf == b && q->n == m && !memcmp(q->atoms, ga, (size_t)m * sizeof *ga) &&
            !memcmp(q->coefs, gc, (size_t)m * sizeof *gc)) {
            q->count++;
            q->inner = q->inner || g->inner;
            return;
        }
    }
    struct group q = {.buf = b, .n = m, .count = 1, .inner = g->inner, .atoms = ga, .coefs = gc};
    PUSH(&f->c->arena, &g->groups, q);
}
static void gather_access(struct gather *g, const struct buf *b, const expr *idx) {
    gather_offset(g, b, buf_offset(g->f->c, b, idx));
}
static bool gather_loads(void *env, expr e) {
    struct gather *g = env;
    if (e->op == X_LOAD) gather_access(g, e->u.buf, e->arg);
    return true;
}
static void gather_block(struct gather *g, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        bool was = g->inner;
        if (s->kind == S_INSTR) {
            for (int k = 0; k < s->u.instr.n; k++) gather_offset(g, s->u.instr.holes[k].buf, s->u.instr.holes[k].off);
            continue;
        }
        switch (s->kind) {
        case S_STORE:
            x_visit(s->u.store.value, gather_loads, g);
            gather_access(g, s->u.store.buf, s->u.store.idx);
            break;
        case S_FOR: g->inner = g->inner || s->u.loop.kind != LK_VECTOR; break;
        case S_WHILE: g->inner = true; break;
        case S_IF: x_visit(s->u.cond.cond, gather_loads, g); break;
        default: break;
        }
        for (int n = stmt_blocks(s, in), k = 0; k < n; k++) gather_block(g, in[k]);
        g->inner = was;
    }
}
static bool const_data(struct fe *f, const struct buf *b) { return b->scope == SC_CONST || !stores_to(&f->p->body, b); }
/* The pointers that become computable with loop variable v, declared before the statements of its body: worth it when
 * an inner loop uses one, or several accesses do. Each lies inside of its buffer whenever the loop runs. The texts are
 * made after the body, when it is known which ones it uses. */
static void open_pointers(struct fe *f, const struct var *v, struct block *body, int *mark) {
    struct gather g = {.f = f, .var = v};
    gather_block(&g, body);
    *mark = f->ptrs.n;
    for (int i = 0; i < g.groups.n; i++) {
        struct group *q = &g.groups.v[i];
        expr sum = x_int(f->c, 0);
        for (int k = 0; k < q->n; k++) sum = x_add(f->c, sum, x_muli(f->c, q->atoms[k], q->coefs[k]));
        if ((!q->inner && q->count < 2) || (q->n == 1 && q->coefs[0] == 1 && (q->count == 1 || !q->inner)) ||
            !x_proves_le(f->c, x_int(f->c, 0), sum) || !x_proves_le(f->c, sum, buf_cells(f->c, q->buf)))
            continue;
        struct sym_name *sn = c_declare(
            f, internf(f->c->names, "%s_%s", q->buf->name, ((struct sym_name *)map_get(&f->vars, PKEY(v)))->name),
            A("%s%s *", const_data(f, q->buf) ? "const " : "", dtype_c(q->buf->type)));
        sn->buf = q->buf;
        add_ptr(f, q->buf, sn, q->n, q->atoms, q->coefs);
    }
}
static void print_pointer(struct fe *f, void *env);
static void close_pointers(struct fe *f, int mark) {
    const char *lines = "";
    while (f->ptrs.n > mark) {
        struct ptr *q = f->ptrs.v[--f->ptrs.n];
        if (!q->sn->used) continue;
        struct text t = {0}, *was = f->out;
        f->out = &t;
        f->names.unused = true;
        c_run(f, print_pointer, q);
        f->names.unused = false;
        f->out = was;
        lines = A("%s%s", t.s, lines);
        text_free(&t);
    }
    text_add(f->out, lines);
}
static void print_pointer(struct fe *f, void *env) {
    struct ptr *q = env, *best = NULL;
    for (int i = 0; i < f->ptrs.n; i++) { /* those declared before it */
        struct ptr *o = f->ptrs.v[i];
        if (o->buf != q->buf || (best && o->n < best->n)) continue;
        int hit = 0;
        for (int k = 0; k < o->n; k++)
            for (int j = 0; j < q->n; j++) hit += o->atoms[k] == q->atoms[j] && o->coefs[k] == q->coefs[j];
        if (hit == o->n && o->n < q->n) best = o;
    }
    ASSERT(best);
    expr *rest = NEWN(&f->c->arena, expr, q->n);
    int64_t *rc = NEWN(&f->c->arena, int64_t, q->n);
    int n = 0;
    for (int j = 0; j < q->n; j++) {
        bool covered = false;
        for (int k = 0; k < best->n; k++) covered = covered || best->atoms[k] == q->atoms[j];
        if (!covered) rest[n] = q->atoms[j], rc[n++] = q->coefs[j];
    }
    const char *base = c_ref(f, best->sn), *sum = c_sum(f, 0, rest, rc, n).s;
    if (f->run->pass == 2)
        PUT("%s%s = %s %c %s;", q->sn->decl, q->sn->name, base, sum[0] == '-' ? '-' : '+', sum + (sum[0] == '-'));
}

/* ---- stores */
static struct cs to_storage(struct fe *f, const struct buf *b, struct cs v) {
    const char *enc = c_encode(f->o, b->type);
    if (enc) return cs_of(A("%s(%s)", enc, v.s), P_ATOM);
    if (dtype_bits(b->type) < 8 && b->type != STR) v = cs_of(A("%s(%s)", c_round(f->o, b->type, 1), v.s), P_ATOM);
    if (b->type == dtype_value(b->type) && b->type != BOOL) return v;
    return cs_of(A("(%s)%s", dtype_c(b->type), paren(f, v, P_UNARY)), P_UNARY);
}
static void print_store(struct fe *f, struct stmt *s) {
    struct buf *b = s->u.store.buf;
    bool pass2 = f->run->pass == 2;
    enum dtype vt = dtype_value(b->type);
    int element = -1;
    struct piece *q = c_piece(f, b, s->u.store.idx, &element);
    struct place pl = {0};
    bool vec = f->lane != NULL, shared = false; /* shared: one cell for all lanes */
    const char *dst = NULL;
    if (q) {
        vec = vec && q->lanes > 1 && element < 0;
        shared = f->lane && !vec;
        dst = element >= 0 ? A("%s[%d]", c_ref(f, q->sn), element) : c_ref(f, q->sn);
    } else {
        pl = c_place(f, b, s->u.store.idx);
        vec = vec && pl.k != 0;
        shared = f->lane && !vec;
        dst = vec && pl.k == 1 ? c_address(f, &pl) : vec ? NULL : c_cell(f, &pl);
    }
    enum red_op op = s->u.store.op;
    expr value = s->u.store.value, own = x_load(f->c, b, s->u.store.idx, s->u.store.n, NULL);
    if (shared) {
        struct cs v = c_value(f, value, on_lane(f, value) ? f->width : op != RED_NONE ? f->width : 1);
        const char *text;
        struct cs r;
        if (op != RED_NONE) {
            if (b->type != vt) /* each lane's sum is rounded: no helper for that */
                r = cs_of("", P_ATOM);
            struct cs old = c_value(f, own, 1);
            r = cs_of(A("%s(%s, %s)", c_reduce_lanes(f->o, op, vt, f->width), old.s, v.s), P_ATOM);
        } else {
            r = on_lane(f, value) ? cs_of(A("%s[%d]", paren(f, v, P_ATOM), f->width - 1), P_ATOM)
                                  : v; /* the last lane's stays */
        }
        text = A("%s = %s;", dst, (q ? r : to_storage(f, b, r)).s);
        if (pass2) c_put(f, text);
    } else if (vec && !q && pl.k != 1) { /* scattered lanes */
        expr full = op == RED_NONE ? value : red_apply(f->c, op, own, value);
        struct cs v = c_value(f, full, f->width);
        const char *name = "";
        if (pass2) {
            name = names_numbered(&f->names, "t");
            PUT("const %s %s = %s;", c_vector_type(f->o, vt, f->width), name, v.s);
        }
        for (int i = 0; i < f->width; i++) {
            const struct var *lane = f->lane;
            expr idx[40];
            for (int k = 0; k < s->u.store.n; k++) idx[k] = x_subst1(f->c, s->u.store.idx[k], lane, x_int(f->c, i));
            f->lane = NULL;
            struct place one = c_place(f, b, idx);
            const char *cell = c_cell(f, &one);
            struct cs v1 = to_storage(f, b, cs_of(A("%s[%d]", name, i), P_ATOM));
            f->lane = lane;
            if (pass2) PUT("%s = %s;", cell, v1.s);
        }
    } else {
        bool flt = vt == F32 || vt == F64;
        const char *sign = (op == RED_SUM || op == RED_PROD) && flt && b->type == vt && (q || !vec)
                               ? (op == RED_SUM ? "+=" : "*=")
                               : NULL;
        /* `acc += v` reads like the definition; the same operation as acc = acc + v */
        if (sign && red_apply(f->c, op, own, value)->op == (op == RED_SUM ? X_ADD : X_MUL)) {
            struct cs v = c_value(f, value, vec ? f->width : 1);
            if (pass2) PUT("%s %s %s;", dst, sign, v.s);
        } else {
            expr full = op == RED_NONE ? value : red_apply(f->c, op, own, value);
            if (q && b->type != vt) full = x_round(f->c, b->type, full);
            struct cs v = c_value(f, full, vec ? f->width : 1);
            const char *text = vec && !q ? A("%s(%s, %s);", c_vstore(f->o, b->type, f->width), dst, v.s)
                                         : A("%s = %s;", dst, (q ? v : to_storage(f, b, v)).s);
            if (pass2) c_put(f, text);
        }
    }
    c_forget(f, b);
}
static void print_prefetch(struct fe *f, struct stmt *s) {
    if (!emit_gnu(f->o) || f->o->target->emit == EMIT_CUDA) return;
    /* the offset is in cells: a place in a one-dimensional view of the buffer */
    int64_t konst;
    const expr *atoms;
    const int64_t *coefs;
    int n = x_terms(f->c, s->u.prefetch.off, &konst, &atoms, &coefs);
    struct ptr *best = NULL;
    for (int i = 0; i < f->ptrs.n; i++) {
        struct ptr *q = f->ptrs.v[i];
        int hit = 0;
        if (q->buf != s->u.prefetch.buf || (best && q->n < best->n)) continue;
        for (int k = 0; k < q->n; k++)
            for (int j = 0; j < n; j++) hit += atoms[j] == q->atoms[k] && coefs[j] == q->coefs[k];
        if (hit == q->n) best = q;
    }
    if (!best) return;
    expr *rest = NEWN(&f->c->arena, expr, n + 1);
    int64_t *rc = NEWN(&f->c->arena, int64_t, n + 1);
    int keep = 0;
    for (int j = 0; j < n; j++) {
        bool covered = false;
        for (int k = 0; k < best->n; k++) covered = covered || atoms[j] == best->atoms[k];
        if (!covered) rest[keep] = atoms[j], rc[keep++] = coefs[j];
    }
    struct cs sum = c_sum(f, konst, rest, rc, keep);
    const char *base = c_ref(f, best->sn);
    if (f->run->pass == 2) PUT("__builtin_prefetch(%s + %s, 0, 2);", base, paren(f, sum, P_ADD));
}

/* A run: statements without control flow, from `first` to before `end`. */
struct stretch {
    struct stmt *first, *end;
};
static bool simple(const struct stmt *s) {
    return s->kind == S_STORE || s->kind == S_PREFETCH || s->kind == S_INSTR ||
           (s->kind == S_FOR && s->u.loop.kind == LK_VECTOR);
}
static void print_stretch(struct fe *f, void *env) {
    struct stretch *q = env;
    for (struct stmt *s = q->first; s != q->end; s = s->next) {
        if (s->kind == S_PREFETCH) {
            print_prefetch(f, s);
        } else if (s->kind == S_INSTR) {
            c_print_instr(f, s);
        } else if (s->kind == S_STORE) {
            print_store(f, s);
        } else {
            f->lane = s->u.loop.var;
            f->width = (int)s->u.loop.var->extent->u.i;
            print_store(f, s->u.loop.body.first);
            f->lane = NULL;
            f->width = 1;
        }
    }
}

/* ---- control flow */
struct cond_env {
    expr e;
    const char *text;
    enum prec most;
    bool index;
};
static void print_cond(struct fe *f, void *env) {
    struct cond_env *q = env;
    q->text = paren(f, q->index ? c_index(f, q->e) : c_value(f, q->e, 1), q->most);
}
const char *c_text(struct fe *f, expr e, bool index) {
    struct cond_env q = {.e = e, .most = P_COND, .index = index};
    c_run(f, print_cond, &q);
    return q.text;
}
/* An index as operand of a comparison. */
const char *c_bound(struct fe *f, expr e) {
    struct cond_env q = {.e = e, .most = P_SHIFT, .index = true};
    c_run(f, print_cond, &q);
    return q.text;
}
struct cs c_fill_value(struct fe *f, const struct buf *b, int lanes) {
    struct cond_env q = {.e = b->fill, .most = P_COND};
    c_run(f, print_cond, &q);
    return lanes > 1 ? cs_of(A("%s(%s)", c_splat(f->o, dtype_value(b->type), lanes), q.text), P_ATOM)
                     : cs_of(q.text, P_COND);
}
static bool not_outlinable(void *env, struct stmt *s) {
    if (s->kind == S_CHECK || s->kind == S_SIZE) *(bool *)env = true;
    return true;
}
struct outside {
    struct fe *f;
    struct block *b;
    bool found;
};
static void reg_outside(struct outside *q, const struct buf *b);
static void load_outside(void *env, struct stmt *s, expr load) {
    (void)s;
    reg_outside(env, load->u.buf);
}
static bool store_outside(void *env, struct stmt *s) {
    if (s->kind == S_STORE) reg_outside(env, s->u.store.buf);
    return true;
}
static bool allocs(struct block *b, const struct buf *buf) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        if (s->kind == S_ALLOC && s->u.alloc.buf == buf) return true;
        for (int k = stmt_blocks(s, in); k-- > 0;)
            if (allocs(in[k], buf)) return true;
    }
    return false;
}
static void reg_outside(struct outside *q, const struct buf *b) {
    struct regs *r = map_get(&q->f->regs, PKEY(b));
    if (r && !r->array && !allocs(q->b, b)) q->found = true;
}
static bool can_outline(struct fe *f, struct stmt *s) {
    bool bad = false;
    struct outside q = {f, &s->u.loop.body, false};
    walk(&s->u.loop.body, not_outlinable, &bad);
    each_load(&s->u.loop.body, load_outside, &q);
    walk(&s->u.loop.body, store_outside, &q);
    return !bad && !q.found && s->u.loop.kind != LK_VECTOR && !emit_cuda(f->o);
}
static const char *last_part(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}
/* The body of a loop between its braces: pointers, statements. */
void c_body(struct fe *f, struct stmt *s) {
    int mark;
    open_pointers(f, s->u.loop.var, &s->u.loop.body, &mark);
    struct text body = {0}, *was = f->out;
    f->out = &body;
    print_block(f, &s->u.loop.body);
    f->out = was;
    close_pointers(f, mark);
    text_add(f->out, body.s ? body.s : "");
    text_free(&body);
}
static void print_outlined(struct fe *f, struct stmt *s) {
    struct name_list caps = {0}, *was_caps = f->captures;
    struct text body = {0}, *was = f->out;
    int depth = f->depth;
    f->captures = &caps;
    f->out = &body;
    f->depth = 1;
    f->level++;
    c_body(f, s);
    f->level--;
    f->depth = depth;
    f->out = was;
    f->captures = was_caps;
    const char *name = names_add(&f->u->globals, A("%s_%s", f->fname, last_part(s->u.loop.var->name)));
    const char *params = "", *args = "";
    for (int i = 0; i < caps.n; i++) {
        struct sym_name *n = caps.v[i];
        bool alone = true; /* two restrict pointers into one buffer would contradict each other */
        for (int k = 0; k < caps.n; k++) alone = alone && (k == i || caps.v[k]->buf != n->buf || !n->buf);
        params = A("%s%s%s%s%s", params, i ? ", " : "", n->decl, n->buf && alone ? "restrict " : "", n->name);
        args = A("%s%s%s", args, i ? ", " : "", c_ref(f, n));
    }
    const char *attr = emit_gnu(f->o) ? "__attribute__((noinline)) " : "";
    text_printf(f->outlined, "static %svoid %s(%s) {\n%s}\n\n", attr, name, caps.n ? params : "void",
                body.s ? body.s : "");
    text_free(&body);
    PUT("%s(%s);", name, args);
}
/* An innermost loop of vector statements whose body was written out. gcc -O3 would peel it completely when its extent
 * is small, and run out of registers: measured 1.6 times slower for a 3x3 convolution. */
static bool written_out(struct fe *f, struct block *b) {
    int n = 0;
    for (struct stmt *s = b->first; s; s = s->next, n++)
        if (!simple(s)) return false;
    return n >= 8 && emit_gnu(f->o);
}
const char *c_declare_var(struct fe *f, const struct var *v) {
    struct sym_name *n = c_declare(f, last_part(v->name), A("%s ", f->idx));
    map_put(&f->vars, PKEY(v), n);
    return n->name;
}
static void print_for(struct fe *f, struct stmt *s) {
    if (f->threads && s->u.loop.kind >= LK_BLOCK_X) {
        cuda_for(f, s);
        return;
    }
    const struct var *v = s->u.loop.var;
    const char *extent = c_bound(f, v->extent);
    int mark = names_mark(&f->names);
    const char *n = c_declare_var(f, v);
    if (written_out(f, &s->u.loop.body)) {
        f->u->no_unroll = true;
        c_put(f, "NN_NO_UNROLL");
    }
    PUT("for (%s %s = 0; %s < %s; %s++) {", f->idx, n, n, extent, n);
    f->depth++;
    if (s->u.loop.outline && can_outline(f, s)) print_outlined(f, s);
    else c_body(f, s);
    f->depth--;
    c_put(f, "}");
    names_leave(&f->names, mark);
}
static void print_branch(struct fe *f, struct block *b) {
    int mark = names_mark(&f->names);
    f->depth++;
    print_block(f, b);
    f->depth--;
    names_leave(&f->names, mark);
}
static void print_if(struct fe *f, struct stmt *s) {
    expr cond = s->u.cond.cond;
    struct block *then = &s->u.cond.then, *other = &s->u.cond.other;
    if (!then->first) {
        if (!other->first) return;
        cond = x_not(f->c, cond);
        then = other;
        other = NULL;
    }
    PUT("if (%s) {", c_text(f, cond, false));
    print_branch(f, then);
    if (other && other->first) {
        c_put(f, "} else {");
        print_branch(f, other);
    }
    c_put(f, "}");
}
static void fail(struct fe *f) {
    PUT("    *%s = 1;", c_ref(f, f->fault));
    PUT("    return;");
    c_put(f, "}");
}
/* A loop that would make more passes than `max` is a fault, as in the interpreter. */
static void print_while(struct fe *f, struct stmt *s) {
    int mark = names_mark(&f->names);
    const char *head = "for (;;) {", *max = NULL, *n = NULL;
    if (s->u.loop_while.max) {
        max = c_bound(f, s->u.loop_while.max), n = names_add(&f->names, "pass");
        head = A("for (%s %s = 0;; %s++) {", f->idx, n, n);
    }
    struct text lines = {0}, *was = f->out; /* values that the condition names are computed before each pass */
    f->out = &lines;
    f->depth++;
    const char *cond = c_text(f, s->u.loop_while.cond, false);
    f->depth--;
    f->out = was;
    if (!lines.n && !s->u.loop_while.max) {
        PUT("while (%s) {", cond);
    } else {
        c_put(f, head);
        text_add(f->out, lines.s ? lines.s : "");
        f->depth++;
        PUT("if (!(%s))", cond);
        PUT("    break;");
        if (max) {
            PUT("if (%s >= %s) {", n, max);
            fail(f);
        }
        f->depth--;
    }
    text_free(&lines);
    f->depth++;
    print_block(f, &s->u.loop_while.body);
    f->depth--;
    c_put(f, "}");
    names_leave(&f->names, mark);
}
static void print_size(struct fe *f, struct stmt *s) {
    const struct sym *y = s->u.size.sym;
    struct sym_name *n = c_declare(f, y->name, A("%s ", f->idx));
    const char *v = c_text(f, s->u.size.value, true);
    PUT("const %s %s = %s;", f->idx, n->name, v);
    map_put(&f->syms, PKEY(y), n);
    expr low = s->u.size.lo, high = s->u.size.hi;
    if (low && high && x_proves_le(f->c, low, s->u.size.value) && x_proves_le(f->c, s->u.size.value, high)) return;
    if (low && high) {
        PUT("if (%s < %s || %s > %s) {", n->name, c_bound(f, low), n->name, c_bound(f, high));
        fail(f);
    }
}

/* ---- memory of a block */
static expr round_up(struct ctx *c, expr bytes) { return x_muli(c, x_divi(c, x_addi(c, bytes, 63), 64), 64); }
static bool only_syms(void *env, expr e) {
    (void)env;
    return e->op != X_VAR && e->op != X_TOIDX && e->op != X_GUARD;
}
/* Bytes of a local buffer: an upper bound when its dims depend on loops. */
expr c_local_bytes(struct ctx *c, const struct buf *b) {
    expr cells = buf_cells(c, b);
    if (!x_visit(cells, only_syms, NULL)) {
        int64_t lo, hi;
        x_bounds(c, cells, &lo, &hi);
        if (hi == POS_INF) BUG("buffer %s has no bound on its size", b->name);
        cells = x_int(c, hi);
    }
    return x_muli(c, cells, dtype_bytes(b->type));
}
static bool on_stack(struct ctx *c, const struct buf *b) {
    enum { MOST = 64 << 10 };
    int64_t bytes;
    return (b->scope == SC_STACK || b->scope == SC_REG || b->scope == SC_SHARED) &&
           x_is_int(c_local_bytes(c, b), &bytes) && bytes <= MOST;
}
/* Is the buffer used at all? Steps leave the allocations of buffers behind that moved into a loop. */
struct touch {
    const struct buf *b;
    bool found;
};
static void touch_load(void *env, struct stmt *s, expr load) {
    struct touch *q = env;
    (void)s;
    q->found = q->found || load->u.buf == q->b;
}
static bool touch_stmt(void *env, struct stmt *s) {
    struct touch *q = env;
    for (int k = 0; s->kind == S_CALL && k < s->u.call.nbufs; k++) q->found = q->found || s->u.call.bufs[k] == q->b;
    q->found = q->found || (s->kind == S_STORE && s->u.store.buf == q->b) ||
               (s->kind == S_STAGE && s->u.stage.buf == q->b) ||
               (s->kind == S_SWAP && (s->u.swap.a == q->b || s->u.swap.b == q->b)) ||
               (s->kind == S_PREFETCH && s->u.prefetch.buf == q->b);
    return !q->found;
}
bool c_touched(const struct proc *p, const struct buf *b) {
    struct touch q = {b, false};
    walk((struct block *)&p->body, touch_stmt, &q);
    if (!q.found) each_load((struct block *)&p->body, touch_load, &q);
    return q.found;
}
static bool in_registers_only(struct fe *f, const struct buf *b) {
    struct regs *r = map_get(&f->regs, PKEY(b));
    return r && !r->array;
}
static void print_alloc(struct fe *f, struct buf *b, struct block *home) {
    if (!c_touched(f->p, b)) return;
    if (in_registers_only(f, b)) {
        c_declare_registers(f, b, map_get(&f->regs, PKEY(b)), home);
        return;
    }
    const char *type = dtype_c(b->type);
    struct sym_name *n = c_declare(f, b->name, A("%s *", type));
    n->buf = b;
    map_put(&f->bufs, PKEY(b), n);
    add_ptr(f, b, n, 0, NULL, NULL);
    if (f->threads && b->scope == SC_SHARED) {
        PUT("NN_SHARED(%s, %s, %s);", type, n->name, c_text(f, buf_cells(f->c, b), true));
    } else if (on_stack(f->c, b)) {
        int64_t bytes = 0;
        x_is_int(c_local_bytes(f->c, b), &bytes);
        int64_t cells = bytes / dtype_bytes(b->type);
        PUT("%s %s[%lld]%s;", type, n->name, (long long)(cells > 0 ? cells : 1),
            emit_gnu(f->o) ? " __attribute__((aligned(64)))" : "");
    } else {
        const char *at = c_text(f, f->ws_top, true), *ws = c_ref(f, f->ws);
        const char *p = x_is(f->ws_top, 0)
                            ? ws
                            : A("(void *)((unsigned char *)%s + %s)", ws, strpbrk(at, "+-?") ? A("(%s)", at) : at);
        PUT("%s *%s %s = (%s *)%s;", type, emit_words(f->o)->restricted, n->name, type, p);
        f->ws_top = x_add(f->c, f->ws_top, round_up(f->c, c_local_bytes(f->c, b)));
    }
    if (b->fill) {
        const char *i = names_add(&f->names, "i");
        PUT("for (%s %s = 0; %s < %s; %s++)", f->idx, i, i, c_bound(f, buf_cells(f->c, b)), i);
        struct cs v = to_storage(f, b, c_fill_value(f, b, 1));
        PUT("    %s[%s] = %s;", n->name, i, v.s);
    }
}
static void print_call(struct fe *f, struct stmt *s) {
    const char *args = "";
    struct proc *callee = s->u.call.callee;
    int n = 0;
    for (int k = 0; k < s->u.call.nbufs; k++, n++) {
        struct sym_name *b = map_get(&f->bufs, PKEY(s->u.call.bufs[k]));
        if (!b) BUG("buffer %s is passed before it has a place", s->u.call.bufs[k]->name);
        args = A("%s%s%s", args, n ? ", " : "", c_ref(f, b));
    }
    for (int k = 0; k < s->u.call.nargs; k++, n++)
        args = A("%s%s%s", args, n ? ", " : "", c_text(f, s->u.call.args[k], true));
    if (!x_is(emit_scratch_bytes(f->c, callee), 0))
        args = A("%s%s(unsigned char *)%s + %s", args, n++ ? ", " : "", c_ref(f, f->ws), c_bound(f, f->ws_top));
    if (emit_needs_fault(callee)) args = A("%s%s%s", args, n++ ? ", " : "", c_ref(f, f->fault));
    PUT("%s(%s);", emit_proc_name(f->c, callee, f->o), args);
}
static void print_swap(struct fe *f, struct stmt *s) {
    struct buf *a = s->u.swap.a, *b = s->u.swap.b;
    struct sym_name *na = map_get(&f->bufs, PKEY(a)), *nb = map_get(&f->bufs, PKEY(b));
    ASSERT(na && nb);
    /* contents change places, cell by cell: pointers may be used outside of this function */
    const char *i = names_add(&f->names, "i"), *t = names_numbered(&f->names, "t");
    PUT("for (%s %s = 0; %s < %s; %s++) {", f->idx, i, i, c_bound(f, buf_cells(f->c, a)), i);
    PUT("    const %s %s = %s[%s];", dtype_c(a->type), t, c_ref(f, na), i);
    PUT("    %s[%s] = %s[%s];", na->name, i, c_ref(f, nb), i);
    PUT("    %s[%s] = %s;", nb->name, i, t);
    c_put(f, "}");
}
static void print_comment(struct fe *f, const char *text) {
    if (!text) return;
    struct text t = {0};
    text_add(&t, "/* ");
    emit_comment_text(&t, text);
    text_add(&t, " */");
    c_put(f, t.s);
    text_free(&t);
}

static void print_block(struct fe *f, struct block *b) {
    int ptrs = f->ptrs.n;
    expr top = f->ws_top;
    for (struct stmt *s = b->first; s;) {
        if (simple(s)) {
            struct stretch q = {s, s};
            while (q.end && simple(q.end)) q.end = q.end->next;
            c_run(f, print_stretch, &q);
            s = q.end;
            continue;
        }
        switch (s->kind) {
        case S_FOR: print_for(f, s); break;
        case S_IF: print_if(f, s); break;
        case S_WHILE: print_while(f, s); break;
        case S_ALLOC: print_alloc(f, s->u.alloc.buf, b); break;
        case S_CHECK:
            PUT("if (!(%s)) {", c_text(f, s->u.check.cond, false));
            fail(f);
            break;
        case S_SIZE: print_size(f, s); break;
        case S_CALL: print_call(f, s); break;
        case S_SWAP: print_swap(f, s); break;
        case S_COMMENT: print_comment(f, s->u.comment.text); break;
        case S_BARRIER:
            if (f->threads) c_put(f, "__syncthreads();"); /* else one thread runs */
            break;
        case S_FREE: break;
        default: BUG("statement of kind %d in text", s->kind);
        }
        s = s->next;
    }
    f->ptrs.n = ptrs;
    f->ws_top = top;
}

/* ---- functions */
bool c_has_alloc(const struct proc *p, const struct buf *b) { return allocs((struct block *)&p->body, b); }

static expr block_scratch(struct ctx *c, const struct proc *p, struct block *b) {
    expr here = x_int(c, 0), most = x_int(c, 0);
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        expr inside = x_int(c, 0);
        if (s->kind == S_ALLOC && s->u.alloc.buf->scope != SC_REG && !on_stack(c, s->u.alloc.buf) &&
            c_touched(p, s->u.alloc.buf))
            here = x_add(c, here, round_up(c, c_local_bytes(c, s->u.alloc.buf)));
        if (s->kind == S_CALL) inside = emit_scratch_bytes(c, s->u.call.callee);
        for (int k = stmt_blocks(s, in); k-- > 0;) inside = x_max(c, inside, block_scratch(c, p, in[k]));
        most = x_max(c, most, x_add(c, here, inside));
    }
    return most;
}
bool c_local(const struct buf *b) { return b->scope != SC_PARAM && b->scope != SC_CONST; }
expr emit_scratch_bytes(struct ctx *c, const struct proc *p) {
    expr here = x_int(c, 0);
    for (int i = 0; i < p->bufs.n; i++) {
        struct buf *b = p->bufs.v[i];
        if (c_local(b) && b->scope != SC_REG && !c_has_alloc(p, b) && !on_stack(c, b) && c_touched(p, b))
            here = x_add(c, here, round_up(c, c_local_bytes(c, b)));
    }
    return x_add(c, here, block_scratch(c, p, (struct block *)&p->body));
}
static bool no_guard(void *env, expr e) {
    (void)env;
    return e->op != X_GUARD;
}
struct fault_env {
    bool found;
};
static bool stmt_fault(void *env, struct stmt *s) {
    struct fault_env *q = env;
    switch (s->kind) {
    case S_CHECK:
    case S_SIZE: q->found = true; break;
    case S_STORE:
        q->found = q->found || !x_visit(s->u.store.value, no_guard, NULL);
        for (int k = 0; k < s->u.store.n; k++) q->found = q->found || !x_visit(s->u.store.idx[k], no_guard, NULL);
        break;
    case S_STAGE:
        q->found = q->found || !x_visit(s->u.stage.value, no_guard, NULL) ||
                   (s->u.stage.init && !x_visit(s->u.stage.init, no_guard, NULL));
        break;
    case S_FOR: q->found = q->found || !x_visit(s->u.loop.var->extent, no_guard, NULL); break;
    case S_IF: q->found = q->found || !x_visit(s->u.cond.cond, no_guard, NULL); break;
    case S_WHILE: q->found = q->found || s->u.loop_while.max || !x_visit(s->u.loop_while.cond, no_guard, NULL); break;
    case S_CALL: q->found = q->found || emit_needs_fault(s->u.call.callee); break;
    default: break;
    }
    return true;
}
bool emit_needs_fault(const struct proc *p) {
    struct fault_env q = {false};
    walk((struct block *)&p->body, stmt_fault, &q);
    return q.found;
}
const char *emit_proc_name(struct ctx *c, const struct proc *p, const struct emit_options *o) {
    const char *n = map_get(&o->uses->procs, PKEY(p));
    if (!n) {
        n = names_add(&o->uses->globals, internf(c->names, "%s%s", o->prefix ? o->prefix : "", p->name));
        map_put(&o->uses->procs, PKEY(p), (void *)n);
    }
    return n;
}

/* A comma, and a new line when this one is full. */
static const char *next_param(const struct text *out, int n) {
    size_t line = 0;
    while (line < out->n && out->s[out->n - 1 - line] != '\n') line++;
    return !n ? "" : line > 90 ? ",\n        " : ", ";
}
void c_head(struct text *out, struct fe *f, const struct proc *p, const char *head, const char *first) {
    int n = first != NULL;
    text_printf(out, "%s%s", head, first ? first : "");
    for (int i = 0; i < p->params.n; i++, n++) {
        struct buf *b = p->params.v[i].buf;
        struct sym_name *s =
            c_declare(f, b->name, A("%s%s *", p->params.v[i].dir == DIR_IN ? "const " : "", dtype_c(b->type)));
        s->buf = b;
        map_put(&f->bufs, PKEY(b), s);
        text_printf(out, "%s%s%s %s", next_param(out, n), s->decl, emit_words(f->o)->restricted, s->name);
    }
    for (int i = 0; i < p->syms.n; i++, n++) {
        struct sym_name *s = c_declare(f, p->syms.v[i]->name, A("%s ", f->idx));
        map_put(&f->syms, PKEY(p->syms.v[i]), s);
        text_printf(out, "%s%s%s", next_param(out, n), s->decl, s->name);
    }
    f->ws = NEW(&f->c->arena, struct sym_name);
    f->ws->name = "ws", f->ws->decl = "void *";
    if (!x_is(emit_scratch_bytes(f->c, p), 0))
        text_printf(out, "%svoid *%s ws", next_param(out, n++), emit_words(f->o)->restricted);
    f->fault = NEW(&f->c->arena, struct sym_name);
    f->fault->name = "fault", f->fault->decl = "int *";
    if (emit_needs_fault(p)) text_printf(out, "%sint *fault", next_param(out, n++));
    text_add(out, n ? ")" : "void)");
}
void c_start(struct fe *f, struct ctx *c, const struct emit_options *o) {
    *f = (struct fe){.c = c, .o = o, .u = o->uses, .idx = "ptrdiff_t", .width = 1};
    names_init(&f->names, c);
    f->names.avoid = o->prefix;
    f->vars.arena = f->syms.arena = f->bufs.arena = f->regs.arena = f->safe.arena = &c->arena;
    for (int k = 0; k <= MAX_LANES_LOG; k++) f->dep[k].arena = &c->arena;
}
static const char *linkage(struct ctx *c, const char *name, const struct emit_options *o) {
    return arena_printf(&c->arena, "%svoid %s(", o->external ? "" : "static ", name);
}
void emit_proc_head(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o) {
    struct fe f;
    c_start(&f, c, o);
    c_head(out, &f, p, linkage(c, emit_proc_name(c, p, o), o), emit_cuda(o) ? "void *stream" : NULL);
}

/* A table of constants, in physical order. */
static void const_table(struct text *out, struct fe *f, const struct buf *b) {
    int64_t n;
    const union cell *v = const_cells(f->c, b, &n);
    struct sym_name *s = NEW(&f->c->arena, struct sym_name);
    s->name = names_add(&f->u->globals, A("%s_%s", f->fname, b->name));
    s->buf = b;
    map_put(&f->bufs, PKEY(b), s);
    add_ptr(f, b, s, 0, NULL, NULL);
    s->level = 1 << 20; /* file scope: visible everywhere, never captured */
    if (!v) BUG("constant %s has no data to print", b->name);
    text_printf(out, "%s %s %s[%lld] = {", emit_words(f->o)->table, dtype_c(b->type), s->name, (long long)n);
    enum dtype vt = dtype_value(b->type);
    size_t line = 0;
    for (int64_t i = 0; i < n; i++) {
        struct cond_env q = {.e = vt == F32 || vt == F64 ? x_const_f(f->c, vt, v[i].f) : x_const_i(f->c, vt, v[i].i)};
        c_run(f, print_cond, &q);
        const char *item = q.text;
        if (vt == F32 && b->type != F32) item = A("0x%0*x", 2 * dtype_bytes(b->type), c_float_code(b->type, v[i].f));
        if (i == 0 || line > 100) text_add(out, "\n    "), line = 0;
        else text_char(out, ' ');
        text_printf(out, "%s,", item);
        line += strlen(item) + 2;
    }
    text_add(out, "\n};\n\n");
}
/* One line for each node; of a kernel that many layers share, the first ones. */
static void describe_nodes(struct text *out, const char *nodes) {
    int lines = 1, shown = 0;
    for (const char *s = nodes; (s = strchr(s, '\n')); s++) lines++;
    for (const char *s = nodes, *end; s && shown < NODE_LINES; s = *end ? end + 1 : NULL, shown++) {
        end = strchr(s, '\n') ? strchr(s, '\n') : s + strlen(s);
        struct text line = {0};
        text_addn(&line, s, (size_t)(end - s));
        text_add(out, shown ? "\n * " : "/* ");
        emit_comment_text(out, line.s ? line.s : "");
        text_free(&line);
    }
    if (lines > shown) text_printf(out, "\n * and %d more nodes", lines - shown);
}
static void describe(struct text *out, struct fe *f, const struct proc *p) {
    describe_nodes(out, p->comment ? p->comment : p->name);
    for (int i = 0; i < p->params.n; i++) {
        static const char *const dirs[] = {"in", "out", "in, out"};
        struct buf *b = p->params.v[i].buf;
        struct text t = {0};
        text_printf(&t, "%s: %s[", b->name, dtype_name(b->type));
        for (int k = 0; k < b->nd; k++) {
            text_add(&t, k ? ", " : "");
            x_print(&t, b->dims[k], NULL, NULL);
        }
        text_printf(&t, "] %s", dirs[p->params.v[i].dir]);
        text_add(out, "\n *   ");
        emit_comment_text(out, t.s);
        text_free(&t);
    }
    size_t at = 0;
    for (int i = 0; i < p->steps.n && !f->o->no_schedule; i++) {
        size_t n = strlen(p->steps.v[i]);
        if (i == 0) text_add(out, "\n * schedule: ");
        else if (at + n > 100) text_add(out, ";\n *   "), at = 0;
        else text_add(out, "; ");
        emit_comment_text(out, p->steps.v[i]);
        at += n + 2;
    }
    text_add(out, p->params.n || (p->steps.n && !f->o->no_schedule) ? "\n */\n" : " */\n");
}

void emit_proc(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o) {
    const char *name = emit_proc_name(c, p, o);
    if (emit_cuda(o)) cuda_proc(out, c, p, o);
    else c_function(out, c, p, o, name, linkage(c, name, o), NULL);
}
void c_function(struct text *out, struct ctx *c, const struct proc *orig, const struct emit_options *o,
                const char *name, const char *function_head, const int64_t *threads) {
    struct fe fe, *f = &fe;
    c_start(f, c, o);
    f->orig = orig;
    f->p = clone_proc(c, orig, orig->name);
    f->fname = name;
    f->threads = threads;
    f->ws_top = x_int(c, 0);
    f->ex = expand_proc(c, f->p, emit_lanes(o), o);
    struct text head = {0}, body = {0}, outlined = {0}, tables = {0};
    f->outlined = &outlined;
    c_head(&head, f, f->p, function_head, NULL);
    for (int i = 0; i < f->p->params.n; i++) {
        struct buf *b = f->p->params.v[i].buf;
        add_ptr(f, b, map_get(&f->bufs, PKEY(b)), 0, NULL, NULL);
    }
    c_find_registers(f);
    f->out = &tables;
    for (int i = 0; i < f->p->bufs.n; i++)
        if (f->p->bufs.v[i]->scope == SC_CONST && c_touched(f->p, f->p->bufs.v[i]))
            const_table(&tables, f, f->p->bufs.v[i]);
    f->out = &body;
    f->depth = 1;
    for (int i = 0; i < f->p->bufs.n; i++)
        if (c_local(f->p->bufs.v[i]) && !c_has_alloc(f->p, f->p->bufs.v[i]))
            print_alloc(f, f->p->bufs.v[i], &f->p->body);
    int keep = f->ptrs.n;
    print_block(f, &f->p->body);
    f->ptrs.n = keep;
    text_add(out, tables.s ? tables.s : "");
    text_add(out, outlined.s ? outlined.s : "");
    describe(out, f, orig);
    text_printf(out, "%s {\n", head.s);
    for (int i = 0; i < f->p->params.n; i++) {
        struct sym_name *n = map_get(&f->bufs, PKEY(f->p->params.v[i].buf));
        if (!n->used) text_printf(out, "    (void)%s;\n", n->name);
    }
    for (int i = 0; i < f->p->syms.n; i++) {
        struct sym_name *n = map_get(&f->syms, PKEY(f->p->syms.v[i]));
        if (!n->used) text_printf(out, "    (void)%s;\n", n->name);
    }
    if (!f->fault->used && emit_needs_fault(f->p)) text_add(out, "    (void)fault;\n");
    if (!f->ws->used && !x_is(emit_scratch_bytes(c, f->p), 0)) text_add(out, "    (void)ws;\n");
    text_add(out, body.s ? body.s : "");
    text_add(out, "}\n");
    text_free(&head), text_free(&body), text_free(&outlined), text_free(&tables);
}
