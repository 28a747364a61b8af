/* Procedures as CUDA C++: what cuda differs in from c.c, which prints the statements themselves.
 *
 * The body of a procedure is cut into parts, one kernel each, that a host function of the procedure's own name launches
 * in order: a nest of block and thread loops becomes a grid; what lies between such nests runs in one thread. A thread
 * loop is a parallel loop with a join at its end, so barriers follow from the memory that sibling thread loops share:
 * no schedule writes them, except inside of loops that `pipeline` made. A register buffer that lives across thread
 * loops is private to each thread: the dims that only the thread's number indexes are dropped. */
#include "codegen/c_int.h"
#include "ir/base/checked.h"
#include <string.h>

enum { MAX_THREADS = 1024, SHARED_BYTES = 48 << 10, LOCAL_BYTES = 16 << 10, MAX_GRID_YZ = 65535 };

static bool is_block(const struct stmt *s) {
    return s->kind == S_FOR && s->u.loop.kind >= LK_BLOCK_X && s->u.loop.kind <= LK_BLOCK_Z;
}
static bool is_thread(const struct stmt *s) { return s->kind == S_FOR && s->u.loop.kind >= LK_THREAD_X; }

/* ---- may a nest be a grid? */
struct grid {
    struct ctx *c;
    expr blocks[3];           /* NULL: 1 */
    int64_t threads[3];       /* of the widest thread loop */
    int64_t shared;           /* bytes */
    int open[3];              /* thread loops around what is looked at */
    VEC(struct buf *) across; /* register buffers that live outside of thread loops */
    bool ok;
};
static bool no_var(void *env, expr e) {
    (void)env;
    return e->op != X_VAR && e->op != X_TOIDX && e->op != X_GUARD;
}
struct thread_vars {
    const struct var *v[64];
    int n;
};
static bool not_thread(void *env, expr e) {
    const struct thread_vars *t = env;
    for (int k = 0; k < t->n; k++)
        if (e->op == X_VAR && e->u.var == t->v[k]) return false;
    return true;
}
static bool local_fits(struct grid *g, const struct buf *b, bool inside) {
    int64_t bytes;
    if (!x_is_int(c_local_bytes(g->c, b), &bytes)) return false;
    switch (b->scope) {
    case SC_SHARED: g->shared += bytes; return !inside && !b->fill && g->shared <= SHARED_BYTES;
    case SC_REG:
        if (!inside) PUSH(&g->c->arena, &g->across, (struct buf *)b);
        return bytes <= LOCAL_BYTES * (inside ? 1 : MAX_THREADS) && (inside || !b->fill);
    case SC_STACK: return inside && bytes <= LOCAL_BYTES;
    default: return false;
    }
}
static void look_block(struct grid *g, struct block *b, struct thread_vars *t);
static void look_loop(struct grid *g, struct stmt *s, struct thread_vars *t) {
    int64_t n;
    if (is_block(s)) {
        g->ok = false; /* those of the grid were taken off before */
    } else if (is_thread(s)) {
        int axis = (int)s->u.loop.kind - LK_THREAD_X;
        g->ok &= !g->open[axis] && x_is_int(s->u.loop.var->extent, &n) && n <= MAX_THREADS && t->n < 64;
        if (!g->ok) return;
        if (n > g->threads[axis]) g->threads[axis] = n;
        g->open[axis]++;
        t->v[t->n++] = s->u.loop.var;
        look_block(g, &s->u.loop.body, t);
        t->n--;
        g->open[axis]--;
    } else {
        look_block(g, &s->u.loop.body, t);
    }
}
static void look_block(struct grid *g, struct block *b, struct thread_vars *t) {
    for (struct stmt *s = b->first; s && g->ok; s = s->next) {
        bool inside = t->n > 0;
        switch (s->kind) {
        case S_FOR: look_loop(g, s, t); break;
        case S_IF:
            look_block(g, &s->u.cond.then, t);
            look_block(g, &s->u.cond.other, t);
            break;
        case S_WHILE:
            g->ok &= inside;
            look_block(g, &s->u.loop_while.body, t);
            break;
        case S_STORE: g->ok &= inside; break;
        case S_ALLOC: g->ok &= local_fits(g, s->u.alloc.buf, inside); break;
        case S_BARRIER: g->ok &= !inside; break;
        case S_COMMENT: break;
        default: g->ok = false; /* checks and sizes end the procedure, which a thread of many cannot */
        }
    }
}
/* Every index of b along dim d is a thread loop's variable, of one axis; or none has one. *private: the former. */
struct along {
    const struct buf *b;
    struct thread_vars *all; /* thread loops of the nest, by axis */
    int d, axis;
    bool shared, clash;
};
static void look_index(struct along *q, const expr *idx) {
    int axis = -1;
    expr e = idx[q->d];
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < q->all[k].n; j++)
            if (e->op == X_VAR && e->u.var == q->all[k].v[j]) axis = k;
    if (axis < 0) {
        q->shared = true;
        for (int k = 0; k < 3; k++) q->clash |= !x_visit(e, not_thread, &q->all[k]);
    } else {
        q->clash |= q->axis >= 0 && q->axis != axis;
        q->axis = axis;
    }
}
static void along_load(void *env, struct stmt *s, expr load) {
    struct along *q = env;
    (void)s;
    if (load->u.buf == q->b) look_index(q, load->arg);
}
static bool along_store(void *env, struct stmt *s) {
    struct along *q = env;
    if (s->kind == S_STORE && s->u.store.buf == q->b) look_index(q, s->u.store.idx);
    return true;
}
static bool note_thread(void *env, struct stmt *s) {
    struct thread_vars *all = env;
    int axis = is_thread(s) ? (int)s->u.loop.kind - LK_THREAD_X : -1;
    if (axis >= 0 && all[axis].n < 64) all[axis].v[all[axis].n++] = s->u.loop.var;
    return true;
}
/* A register buffer across thread loops: each axis on which threads differ must index one dim of it, wherever it is
 * accessed. *dims: bit d is set when dim d is the thread's own. */
static bool private_dims(const struct grid *g, struct block *nest, const struct buf *b, unsigned *dims) {
    struct thread_vars all[3] = {{.n = 0}};
    unsigned axes = 0, differ = 0;
    walk(nest, note_thread, all);
    *dims = 0;
    for (int k = 0; k < 3; k++) differ |= g->threads[k] > 1 ? 1u << k : 0;
    for (int d = 0; d < b->nd && d < 32; d++) {
        struct along q = {b, all, d, -1, false, false};
        each_load(nest, along_load, &q);
        walk(nest, along_store, &q);
        if (q.clash || (q.axis >= 0 && q.shared)) return false;
        if (q.axis >= 0) *dims |= 1u << d, axes |= 1u << q.axis;
    }
    return (axes & differ) == differ;
}
/* The grid's loops from the outside in; *body: what a block does. */
static bool grid_of(struct ctx *c, struct stmt *s, struct grid *g, struct block **body) {
    *g = (struct grid){.c = c, .threads = {1, 1, 1}, .ok = is_block(s)};
    struct thread_vars t = {.n = 0};
    int64_t lo, hi;
    for (; g->ok && is_block(s); s = s->u.loop.body.first) {
        int axis = (int)s->u.loop.kind - LK_BLOCK_X;
        *body = &s->u.loop.body;
        g->ok &= !g->blocks[axis] && x_visit(s->u.loop.var->extent, no_var, NULL);
        g->blocks[axis] = s->u.loop.var->extent;
        x_bounds(c, s->u.loop.var->extent, &lo, &hi);
        g->ok &= axis == 0 || lo <= MAX_GRID_YZ; /* more, found in the run, is refused by the launch */
        if (!(*body)->first || !is_block((*body)->first)) break;
        g->ok &= (*body)->first == (*body)->last;
    }
    if (g->ok) look_block(g, *body, &t);
    g->ok = g->ok && g->threads[0] * g->threads[1] * g->threads[2] <= MAX_THREADS;
    for (int k = 0; k < g->across.n && g->ok; k++) {
        unsigned dims;
        g->ok = private_dims(g, *body, g->across.v[k], &dims);
    }
    return g->ok;
}

/* ---- private registers */
struct drop {
    struct ctx *c;
    const struct buf *b;
    unsigned dims;
};
static expr drop_index(void *env, expr e) {
    struct drop *q = env;
    if (e->op != X_LOAD || e->u.buf != q->b) return NULL;
    expr idx[34];
    for (int d = 0; d < e->n; d++) idx[d] = q->dims >> d & 1 ? x_int(q->c, 0) : x_map(q->c, e->arg[d], drop_index, q);
    return x_load(q->c, e->u.buf, idx, e->n - e->has_fill, e->has_fill ? e->arg[e->n - 1] : NULL);
}
static bool drop_store(void *env, struct stmt *s) {
    struct drop *q = env;
    for (int d = 0; s->kind == S_STORE && s->u.store.buf == q->b && d < q->b->nd; d++)
        if (q->dims >> d & 1) s->u.store.idx[d] = x_int(q->c, 0);
    return true;
}
static void make_private(struct ctx *c, struct proc *p, const struct grid *g, struct block *nest) {
    for (int k = 0; k < g->across.n; k++) {
        struct drop q = {c, g->across.v[k], 0};
        if (!private_dims(g, nest, q.b, &q.dims)) BUG("register buffer %s is not private", q.b->name);
        walk(&p->body, drop_store, &q);
        map_exprs(c, &p->body, drop_index, &q);
        for (int d = 0; d < q.b->nd; d++)
            if (q.dims >> d & 1) q.b->dims[d] = x_int(c, 1);
    }
}

/* ---- barriers */
struct touched {
    struct ctx *c;
    VEC(const struct buf *) read, stored;
};
static bool has(const struct buf *const *v, int n, const struct buf *b) {
    for (int k = 0; k < n; k++)
        if (v[k] == b) return true;
    return false;
}
static bool of_thread(const struct buf *b) {
    return b->scope == SC_REG || b->scope == SC_STACK || b->scope == SC_CONST;
}
static void add_load(void *env, struct stmt *s, expr load) {
    struct touched *t = env;
    (void)s;
    if (!of_thread(load->u.buf) && !has(t->read.v, t->read.n, load->u.buf)) PUSH(&t->c->arena, &t->read, load->u.buf);
}
static bool add_store(void *env, struct stmt *s) {
    struct touched *t = env;
    if (s->kind != S_STORE || of_thread(s->u.store.buf)) return true;
    if (!has(t->stored.v, t->stored.n, s->u.store.buf)) PUSH(&t->c->arena, &t->stored, s->u.store.buf);
    if (s->u.store.op != RED_NONE && !has(t->read.v, t->read.n, s->u.store.buf))
        PUSH(&t->c->arena, &t->read, s->u.store.buf);
    return true;
}
static struct touched touched_by(struct ctx *c, struct stmt *s) {
    struct touched t = {.c = c};
    stmt_loads(s, add_load, &t);
    walk_stmt(s, add_store, &t);
    return t;
}
static bool conflict(const struct touched *a, const struct touched *b) {
    for (int k = 0; k < a->stored.n; k++)
        if (has(b->read.v, b->read.n, a->stored.v[k]) || has(b->stored.v, b->stored.n, a->stored.v[k])) return true;
    for (int k = 0; k < a->read.n; k++)
        if (has(b->stored.v, b->stored.n, a->read.v[k])) return true;
    return false;
}
static void join(struct touched *to, const struct touched *more) {
    for (int k = 0; k < more->read.n; k++) PUSH(&to->c->arena, &to->read, more->read.v[k]);
    for (int k = 0; k < more->stored.n; k++) PUSH(&to->c->arena, &to->stored, more->stored.v[k]);
}
static bool holds_threads(void *env, struct stmt *s) {
    *(bool *)env |= is_thread(s);
    return !*(bool *)env;
}
/* Barriers between the statements of a block, none inside of thread loops. Returns what happened since the last one;
 * *first gets what happens before the first one. */
static struct touched put_barriers(struct ctx *c, struct block *b, struct touched *first) {
    struct touched since = {.c = c};
    bool any = false;
    *first = (struct touched){.c = c};
    for (struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == S_BARRIER) {
            since = (struct touched){.c = c};
            any = true;
            continue;
        }
        struct touched all = touched_by(c, s), head = all, tail = all;
        struct block *in[2];
        bool threads = false;
        walk_stmt(s, holds_threads, &threads);
        if (threads && !is_thread(s) && !(s->kind == S_FOR && s->u.loop.piped)) {
            struct touched ends = {.c = c};
            head = (struct touched){.c = c};
            for (int n = stmt_blocks(s, in), k = 0; k < n; k++) {
                struct touched h, e = put_barriers(c, in[k], &h);
                if (s->kind == S_FOR && conflict(&e, &h)) { /* from one turn to the next */
                    block_append(in[k], s_new(c, S_BARRIER));
                    e = (struct touched){.c = c};
                }
                join(&head, &h), join(&ends, &e);
            }
            tail = ends;
            /* a loop may make no turn, a branch may not be taken: what was before it still counts */
            if (!conflict(&since, &all)) join(&tail, &since);
        }
        if (conflict(&since, &all)) {
            stmt_insert_before(s, s_new(c, S_BARRIER));
            since = (struct touched){.c = c};
            any = true;
        }
        if (!any) join(first, &head);
        join(&since, &tail);
    }
    return since;
}

/* ---- loops of the grid */
static int64_t threads_of(const struct stmt *s) {
    int64_t n = 0;
    x_is_int(s->u.loop.var->extent, &n);
    return n;
}
/* Do all threads of the kernel take part, and is nothing else around? Then the loop needs no braces. */
static bool alone(const struct stmt *s) {
    for (const struct stmt *t = s->in->first; t; t = t->next)
        if (t != s && t->kind != S_ALLOC && t->kind != S_COMMENT) return false;
    return s->in->owner && (is_block(s->in->owner) || is_thread(s->in->owner));
}
void cuda_for(struct fe *f, struct stmt *s) {
    static const char *const index[] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                        "threadIdx.x", "threadIdx.y", "threadIdx.z"};
    const char *at = index[s->u.loop.kind - LK_BLOCK_X];
    int mark = names_mark(&f->names);
    bool brace = is_thread(s) && (!alone(s) || threads_of(s) < f->threads[s->u.loop.kind - LK_THREAD_X]);
    if (brace) {
        if (threads_of(s) < f->threads[s->u.loop.kind - LK_THREAD_X])
            c_put(f, A("if (%s < %lld) {", at, (long long)threads_of(s)));
        else c_put(f, "{");
        f->depth++;
    }
    const char *n = c_declare_var(f, s->u.loop.var);
    struct sym_name *name = map_get(&f->vars, PKEY(s->u.loop.var));
    struct text body = {0}, *was = f->out;
    f->out = &body;
    c_body(f, s);
    f->out = was;
    if (name->used) c_put(f, A("const %s %s = (%s)%s;", f->idx, n, f->idx, at));
    text_add(f->out, body.s ? body.s : "");
    text_free(&body);
    if (brace) {
        f->depth--;
        c_put(f, "}");
    }
    names_leave(&f->names, mark);
}

/* ---- parts */
struct part {
    struct proc *p;
    bool grid;
    struct grid g;
};
struct parts {
    VEC(struct part) v;
};
static bool may_cut(const struct proc *p) {
    for (const struct stmt *s = p->body.first; s; s = s->next)
        if (s->kind == S_ALLOC || s->kind == S_SIZE || s->kind == S_CHECK) return false;
    for (int k = 0; k < p->bufs.n; k++)
        if (c_local(p->bufs.v[k]) && c_touched(p, p->bufs.v[k]) && !c_has_alloc(p, p->bufs.v[k])) return false;
    return true;
}
/* A copy of p with statements from..to-1 of its body, and only the buffers that these use. */
static struct proc *cut_out(struct ctx *c, const struct proc *p, int from, int to) {
    struct proc *q = clone_proc(c, p, p->name);
    int at = 0;
    for (struct stmt *s = q->body.first, *next; s; s = next, at++) {
        next = s->next;
        if (at < from || at >= to) stmt_remove(s);
    }
    for (int k = 0; k < q->params.n; k++)
        if (!c_touched(q, q->params.v[k].buf)) {
            proc_drop_buf(q, q->params.v[k].buf);
            memmove(&q->params.v[k], &q->params.v[k + 1], sizeof *q->params.v * (size_t)(q->params.n - k - 1));
            q->params.n--, k--;
        }
    return q;
}
static struct parts parts_of(struct ctx *c, const struct proc *p) {
    struct parts r = {{0}};
    struct part whole = {.p = (struct proc *)p};
    int n = 0, from = 0;
    struct block *body;
    if (!may_cut(p)) {
        PUSH(&c->arena, &r.v, whole);
        return r;
    }
    for (struct stmt *s = p->body.first; s; s = s->next, n++) {
        struct part q = {.grid = true};
        if (!grid_of(c, s, &q.g, &body)) continue;
        struct part before = {.p = NULL};
        if (from < n) {
            before.p = cut_out(c, p, from, n);
            PUSH(&c->arena, &r.v, before);
        }
        q.p = cut_out(c, p, n, n + 1);
        grid_of(c, q.p->body.first, &q.g, &body); /* its buffers are those of the copy now */
        make_private(c, q.p, &q.g, body);
        grid_of(c, q.p->body.first, &q.g, &body); /* expressions were rebuilt */
        struct touched first;
        put_barriers(c, body, &first);
        PUSH(&c->arena, &r.v, q);
        from = n + 1;
    }
    if (from < n) {
        struct part rest = {.p = cut_out(c, p, from, n)};
        PUSH(&c->arena, &r.v, rest);
    }
    return r;
}

/* ---- launches */
static const char *grid_dim(struct fe *f, expr blocks, const char **some) {
    int64_t lo, hi;
    if (!blocks) return "1";
    const char *n = c_bound(f, blocks);
    x_bounds(f->c, blocks, &lo, &hi);
    if (lo < 1) *some = A("%s%s%s > 0", *some ? *some : "", *some ? " && " : "", n);
    return lo == hi ? n : A("nn_grid(%s)", n);
}
static void launch(struct fe *f, const struct part *q, const char *kernel) {
    const char *grid = "dim3(1)", *block = "dim3(1)", *args = "", *some = NULL;
    const int64_t *t = q->g.threads;
    if (q->grid) {
        const char *n[3];
        for (int k = 0; k < 3; k++) n[k] = grid_dim(f, q->g.blocks[k], &some);
        grid = A("dim3(%s, %s, %s)", n[0], n[1], n[2]);
        block = A("dim3(%lld, %lld, %lld)", (long long)t[0], (long long)t[1], (long long)t[2]);
    }
    for (int k = 0; k < q->p->params.n; k++)
        args = A("%s, %s", args, c_ref(f, map_get(&f->bufs, PKEY(proc_buf(f->p, q->p->params.v[k].buf->name)))));
    for (int k = 0; k < q->p->syms.n; k++) args = A("%s, %s", args, c_ref(f, map_get(&f->syms, PKEY(q->p->syms.v[k]))));
    if (!x_is(emit_scratch_bytes(f->c, q->p), 0)) args = A("%s, %s", args, c_ref(f, f->ws));
    if (proc_may_fault(q->p)) args = A("%s, %s", args, c_ref(f, f->fault));
    if (some) c_put(f, A("if (%s)", some));
    f->depth += some != NULL;
    c_put(f, A("NN_LAUNCH(%s, %s, %s, stream%s);", kernel, grid, block, args));
    f->depth -= some != NULL;
}
static const char *comment_for(struct ctx *c, const struct proc *p, int k, int n) {
    const char *what = p->comment ? p->comment : p->name;
    return n > 1 ? arena_printf(&c->arena, "%s (%d of %d)", what, k + 1, n) : what;
}
void cuda_proc(struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o) {
    struct parts parts = parts_of(c, p);
    struct fe fe, *f = &fe;
    struct text host = {0}, head = {0};
    const char *name = emit_proc_name(c, p, o);
    c_start(f, c, o);
    f->p = (struct proc *)p, f->orig = p;
    f->out = &host;
    f->depth = 1;
    names_add(&f->names, "stream");
    c_head(&head, f, p, A("%svoid %s(", o->external ? "" : "static ", name), "void *stream");
    for (int k = 0; k < parts.v.n; k++) {
        struct part *q = &parts.v.v[k];
        const char *kernel =
            names_add(&o->uses->globals, parts.v.n > 1 ? A("%s_part%d", name, k + 1) : A("%s_grid", name));
        q->p->comment = comment_for(c, p, k, parts.v.n);
        int64_t threads = q->grid ? q->g.threads[0] * q->g.threads[1] * q->g.threads[2] : 1;
        c_function(out, c, q->p, o, kernel,
                   A("static __global__ void __launch_bounds__(%lld)\n%s(", (long long)threads, kernel),
                   q->grid ? q->g.threads : NULL);
        text_char(out, '\n');
        launch(f, q, kernel);
    }
    text_printf(out, "%s {\n", head.s);
    for (int k = 0; k < p->params.n; k++) {
        struct sym_name *n = map_get(&f->bufs, PKEY(p->params.v[k].buf));
        if (!n->used) text_printf(out, "    (void)%s;\n", n->name);
    }
    for (int k = 0; k < p->syms.n; k++) {
        struct sym_name *n = map_get(&f->syms, PKEY(p->syms.v[k]));
        if (!n->used) text_printf(out, "    (void)%s;\n", n->name);
    }
    if (!parts.v.n) text_add(out, "    (void)stream;\n");
    if (proc_may_fault(p) && !f->fault->used) text_add(out, "    (void)fault;\n");
    if (!x_is(emit_scratch_bytes(c, p), 0) && !f->ws->used) text_add(out, "    (void)ws;\n");
    text_add(out, host.s ? host.s : "");
    text_add(out, "}\n");
    text_free(&host), text_free(&head);
}
