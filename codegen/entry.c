/* NAME.c: the entry procedure as a function of the API. It checks what it is given, finds the buffers' places in the
 * arena and calls the kernels. See program.h; the header is entry_header.c's. */
#include "codegen/program.h"
#include "codegen/weights.h"
#include "ir/base/convert.h"
#include <string.h>

/* Where a buffer is while the run function is printed. */
struct place {
    const char *text;
    bool is_const;
};
struct writer {
    struct program *p;
    struct ctx *c;
    struct text *out, *top; /* the statements; declarations at the head of the function */
    int depth;
    struct names names;
    struct map places;  /* buffer -> struct place */
    struct map touched; /* buffers that anything reads or writes */
    struct map swapped; /* buffers whose pointers change */
    struct map vars;    /* loop variable -> name */
    struct map sizes;   /* produced symbols declared */
    struct map bound;   /* results whose size is known by now */
    int faults;         /* device: calls so far that may fault */
    const char *where;  /* device: their nodes */
    bool uses_fault, uses_over, uses_arena, uses_fuel, uses_status;
};
#define A(...) arena_printf(&f->c->arena, __VA_ARGS__)

static void put(struct writer *f, const char *s) {
    emit_indent(f->out, f->depth);
    text_add(f->out, s);
    text_char(f->out, '\n');
}
#define PUT(...) put(f, A(__VA_ARGS__))
enum { MESSAGE_MAX = 400 }; /* names may be long, strings of C only so */
static const char *quoted(struct writer *f, const char *s) {
    struct text t = {0};
    if (!s) return "NULL";
    size_t n = strlen(s);
    emit_string(&t, s, n < MESSAGE_MAX ? n : MESSAGE_MAX);
    const char *r = A("%s", t.s);
    text_free(&t);
    return r;
}

/* ---- which buffers are used, and how */
static void touch(struct writer *f, const struct buf *b) { map_put(&f->touched, PKEY(b), (void *)b); }
static void touch_load(void *env, struct stmt *s, expr load) {
    (void)s;
    touch(env, load->u.buf);
}
static bool touch_stmt(void *env, struct stmt *s) {
    struct writer *f = env;
    switch (s->kind) {
    case S_CALL:
        for (int k = 0; k < s->u.call.nbufs; k++) touch(f, s->u.call.bufs[k]);
        break;
    case S_STORE: touch(f, s->u.store.buf); break;
    case S_VIEW: touch(f, s->u.view.of); break;
    case S_SWAP:
        touch(f, s->u.swap.a), touch(f, s->u.swap.b);
        map_put(&f->swapped, PKEY(s->u.swap.a), s), map_put(&f->swapped, PKEY(s->u.swap.b), s);
        break;
    default: break;
    }
    return true;
}
struct reads {
    const struct buf *b;
    struct writer *f;
    bool found;
};
static void read_load(void *env, struct stmt *s, expr load) {
    struct reads *q = env;
    (void)s;
    q->found |= load->u.buf == q->b;
}
static bool stmt_touches(struct writer *f, struct stmt *s, const struct buf *b);
static bool block_touches(struct writer *f, struct block *in, const struct buf *b) {
    for (struct stmt *s = in->first; s; s = s->next)
        if (stmt_touches(f, s, b)) return true;
    return false;
}
static void expr_load(void *env, expr *e) {
    struct reads *q = env;
    struct stmt probe = {.kind = S_CHECK};
    struct block one = {0};
    if (!*e) return;
    probe.u.check.cond = *e;
    block_append(&one, &probe);
    each_load(&one, read_load, q);
}
/* Does s, or anything in it, use the storage of b? */
static bool stmt_touches(struct writer *f, struct stmt *s, const struct buf *b) {
    struct block *in[2];
    struct reads q = {b, f, false};
    stmt_exprs(s, expr_load, &q);
    if (q.found) return true;
    switch (s->kind) {
    case S_CALL:
        for (int k = 0; k < s->u.call.nbufs; k++)
            if (s->u.call.bufs[k] == b) return true;
        break;
    case S_STORE:
        if (s->u.store.buf == b) return true;
        break;
    case S_SWAP:
        if (s->u.swap.a == b || s->u.swap.b == b) return true;
        break;
    case S_FREE:
        if (s->u.alloc.buf == b) return true;
        break;
    case S_VIEW:
        if (s->u.view.of == b) return true;
        break;
    default: break;
    }
    for (int n = stmt_blocks(s, in), k = 0; k < n; k++)
        if (block_touches(f, in[k], b)) return true;
    return false;
}

/* ---- expressions */
static struct place *place_of(struct writer *f, const struct buf *b) {
    struct place *q = map_get(&f->places, PKEY(b));
    if (q) return q;
    const struct weight *w = program_weight(f->p, b);
    if (!w) BUG("buffer %s is used before it has a place", b->name);
    q = NEW(&f->c->arena, struct place);
    q->is_const = true;
    q->text = w->array ? w->array : A("WEIGHT(%s, %lld)", dtype_c(b->type), (long long)w->offset);
    map_put(&f->places, PKEY(b), q);
    return q;
}
static int slot_number(struct program *p, const struct plan_slot *s) { /* among the placed ones; NULL: their number */
    int n = 0;
    for (int k = 0; k < p->plan->slots.n && &p->plan->slots.v[k] != s; k++) n += slot_placed(&p->plan->slots.v[k]);
    return n;
}
/* Address of memory that only a GPU's arena has; b NULL: of the fault cells. */
static const char *extra_address(struct writer *f, const struct buf *b, const char *type) {
    const struct device_slot *s = program_extra(f->p, b);
    f->uses_arena = true;
    if (f->p->is_static) return A("AT(%s, %lld)", type, (long long)s->offset);
    return A("AT(%s, m->at[%d])", type, slot_number(f->p, NULL) + 1 + (int)(s - f->p->extras.v));
}
static void set_place(struct writer *f, const struct buf *b, const char *text, bool is_const) {
    struct place *q = NEW(&f->c->arena, struct place);
    *q = (struct place){text, is_const};
    map_put(&f->places, PKEY(b), q);
}
static const char *buf_expr(void *env, const struct buf *b) { return place_of(env, b)->text; }
static const char *var_expr(void *env, const struct var *v) {
    struct writer *f = env;
    const char *n = map_get(&f->vars, PKEY(v));
    if (!n) BUG("loop variable %s is used outside of its loop", v->name);
    return n;
}
static void stop_if_over(struct writer *f, const char *what) {
    PUT("if (over) return nn_stop(&m->error, NN_EFAULT, %s, NULL);", quoted(f, A("the size of %s overflows", what)));
}
/* Text of e; what: names it in the error that is printed when it may overflow. */
static const char *text_of(struct writer *f, expr e, bool wrap, const char *what) {
    struct size_text t = {.p = f->p, .buf = buf_expr, .var = var_expr, .env = f};
    const char *s = entry_text(&t, e, wrap);
    if (t.used_over) {
        const char *n = names_add(&f->names, what);
        f->uses_over = true;
        PUT("const int64_t %s = %s;", n, s);
        stop_if_over(f, what);
        return n;
    }
    return s;
}
/* Conditions hold index arithmetic that cannot overflow unnoticed either: the flag is tested after them. */
static const char *condition(struct writer *f, expr e, bool wrap) {
    struct size_text t = {.p = f->p, .buf = buf_expr, .var = var_expr, .env = f};
    const char *s = entry_text(&t, e, wrap);
    f->uses_over |= t.used_over;
    return s;
}

/* ---- memory */
static const struct plan_slot *slot_of(struct writer *f, const struct buf *b) { return plan_slot_of(f->p->plan, b); }
static const char *slot_address(struct writer *f, const struct plan_slot *s, enum dtype type) {
    const char *more = "";
    for (; s->alias >= 0; s = &f->p->plan->slots.v[s->alias])
        if (s->alias_offset && !x_is(s->alias_offset, 0))
            more = A("%s + %s", more, text_of(f, s->alias_offset, true, "view"));
    if (!slot_placed(s)) BUG("buffer %s has no place in the plan", s->buf->name);
    f->uses_arena = true;
    if (f->p->is_static) return A("AT(%s, %lld%s)", dtype_c(type), (long long)s->offset, more);
    return A("AT(%s, m->at[%d]%s)", dtype_c(type), slot_number(f->p, s), more);
}
static const char *pointer(struct writer *f, const struct buf *b, const char *value, bool is_const) {
    const char *n = names_add(&f->names, b->name);
    bool moves = map_get(&f->swapped, PKEY(b)) != NULL;
    const char *decl =
        A("%s%s *%s%s = %s;", is_const ? "const " : "", dtype_c(b->type), moves ? "" : "const ", n, value);
    if (moves) text_printf(f->top, "    %s\n", decl);
    else put(f, decl);
    set_place(f, b, n, is_const);
    return n;
}
static expr storage_bytes(struct writer *f, const struct buf *b) {
    return x_muli(f->c, buf_cells(f->c, b), dtype_bytes(b->type));
}
static void fill_buffer(struct writer *f, const struct buf *b) {
    unsigned char bytes[16] = {0}, zeros[16] = {0};
    uint64_t room[2] = {0};
    int size = dtype_bytes(b->type);
    struct tensor t = {.type = b->type, .source = TS_BYTES, .bytes = room, .nbytes = sizeof room};
    if (dtype_is_float(b->fill->type)) tensor_set_f(&t, 0, b->fill->u.f);
    else tensor_set_i(&t, 0, b->fill->u.i);
    tensor_unpack(&t, bytes);
    const char *n = place_of(f, b)->text;
    if (!memcmp(bytes, zeros, (size_t)size) && !f->p->device) {
        PUT("memset(%s, 0, (size_t)(%s));", n, text_of(f, storage_bytes(f, b), false, "fill"));
        return;
    }
    const char *list = "";
    for (int k = 0; k < size; k++) list = A("%s%s%d", list, k ? ", " : "", bytes[k]);
    const char *q = names_add(&f->names, A("%s_fill", b->name));
    PUT("static const unsigned char %s[%d] = {%s};", q, size, list);
    PUT("%s%s, %s, sizeof %s, %s);", f->p->device ? "nn_cuda_fill(&m->cuda, " : "nn_fill(", n, q, q,
        text_of(f, buf_cells(f->c, b), false, "fill"));
}
static void region_alloc(struct writer *f, const struct buf *b) {
    const char *n = names_add(&f->names, b->name),
               *bytes = text_of(f, storage_bytes(f, b), false, A("%s_bytes", b->name));
    bool moves = map_get(&f->swapped, PKEY(b)) != NULL;
    if (moves) text_printf(f->top, "    %s *%s = NULL;\n", dtype_c(b->type), n);
    PUT("%s%s = (%s *)%s(&m->region, %s);", moves ? "" : A("%s *", dtype_c(b->type)), n, dtype_c(b->type),
        region_words(f->p)->alloc, bytes);
    PUT("if (!%s) return no_room(m);", n);
    set_place(f, b, n, false);
}
static void local_array(struct writer *f, const struct buf *b) {
    int64_t cells;
    if (f->p->device) {
        pointer(f, b, extra_address(f, b, dtype_c(b->type)), false);
        return;
    }
    if (!x_is_int(buf_cells(f->c, b), &cells) || cells > 4096) BUG("buffer %s has no place in the plan", b->name);
    const char *n = names_add(&f->names, b->name);
    if (map_get(&f->swapped, PKEY(b))) {
        const char *cell = names_add(&f->names, A("%s_cells", b->name));
        text_printf(f->top, "    %s %s[%lld];\n    %s *%s = %s;\n", dtype_c(b->type), cell,
                    (long long)(cells ? cells : 1), dtype_c(b->type), n, cell);
    } else {
        PUT("%s %s[%lld];", dtype_c(b->type), n, (long long)(cells ? cells : 1));
    }
    set_place(f, b, n, false);
}
static void print_alloc(struct writer *f, struct buf *b) {
    const struct plan_slot *s = slot_of(f, b);
    if (!map_get(&f->touched, PKEY(b))) return;
    if (b->scope == SC_REGION) region_alloc(f, b);
    else if (s && s->first >= 0) pointer(f, b, slot_address(f, s, b->type), false);
    else local_array(f, b);
    if (b->fill) fill_buffer(f, b);
}
static void print_view(struct writer *f, struct stmt *s) {
    struct buf *b = s->u.view.buf, *of = s->u.view.of;
    if (!map_get(&f->touched, PKEY(b))) return;
    struct place *from = place_of(f, of);
    const char *q =
        x_is(s->u.view.off, 0) ? from->text : A("%s + %s", from->text, text_of(f, s->u.view.off, true, "view"));
    if (b->type != of->type)
        q = A("(%s%s *)(%svoid *)(%s)", from->is_const ? "const " : "", dtype_c(b->type),
              from->is_const ? "const " : "", q);
    pointer(f, b, q, from->is_const);
}

/* ---- results whose size the run finds */
static void bind_result(struct writer *f, const struct io *io) {
    struct place *q = map_get(&f->places, PKEY(io->buf));
    if (!q) {
        const char *n = names_add(&f->names, io->member);
        text_printf(f->top, "    %s *%s = NULL;\n", dtype_c(io->buf->type), n);
        set_place(f, io->buf, n, false);
        q = place_of(f, io->buf);
    }
    f->uses_status = true;
    if (f->p->device)
        PUT("if (!%s) %s = (%s *)nn_cuda_result(&m->region, &m->error, &status, %s, sizeof *%s);", q->text, q->text,
            dtype_c(io->buf->type), text_of(f, buf_elements(f->c, io->buf), false, "elements"), q->text);
    else
        PUT("if (!%s) %s = (%s *)nn_result(&m->region, &m->error, &status, out->%s, out->%s, %s, sizeof *%s);", q->text,
            q->text, dtype_c(io->buf->type), io->member, io->cap,
            text_of(f, buf_elements(f->c, io->buf), false, "elements"), q->text);
    PUT("if (status != NN_OK) return status;");
    map_put(&f->bound, PKEY(io->buf), (void *)io);
}
static void bind_results(struct writer *f, struct stmt *s) { /* s NULL: all that are left */
    for (int k = 0; k < f->p->outs.n; k++) {
        const struct io *io = &f->p->outs.v[k];
        if (io->produced && !map_get(&f->bound, PKEY(io->buf)) && (!s || stmt_touches(f, s, io->buf)))
            bind_result(f, io);
    }
}

/* ---- statements */
static void print_block(struct writer *f, struct block *b);
static const char *call_arg(struct writer *f, expr e) {
    const char *s = text_of(f, e, true, "size");
    return e->op == X_CONST ? s : A("(ptrdiff_t)%s", s);
}
static bool scratch_leaf(void *env, expr e) {
    (void)env;
    return !(e->op == X_VAR || e->op == X_TOIDX || e->op == X_GUARD || (e->op == X_SYM && e->u.sym->produced));
}
static void print_call(struct writer *f, struct stmt *s) {
    struct proc *q = s->u.call.callee;
    const char *args = f->p->device ? "m->cuda.stream" : "", *scratch = NULL;
    int n = f->p->device;
    for (int k = 0; k < s->u.call.nbufs; k++)
        args = A("%s%s%s", args, n++ ? ", " : "", place_of(f, s->u.call.bufs[k])->text);
    for (int k = 0; k < s->u.call.nargs; k++) args = A("%s%s%s", args, n++ ? ", " : "", call_arg(f, s->u.call.args[k]));
    if (!x_is(emit_scratch_bytes(f->c, q), 0)) {
        struct subst sub = {{.arena = &f->c->arena}};
        for (int k = 0; k < q->syms.n; k++) map_put(&sub.map, PKEY(q->syms.v[k]), (void *)s->u.call.args[k]);
        expr bytes = x_subst(f->c, emit_scratch_bytes(f->c, q), &sub);
        if (x_visit(bytes, scratch_leaf, NULL)) {
            f->uses_arena = true;
            args = A("%s%s%s", args, n++ ? ", " : "",
                     f->p->is_static ? A("AT(void, %lld)", (long long)program_peak(f->p))
                                     : A("AT(void, m->at[%d])", slot_number(f->p, NULL)));
        } else {
            scratch = names_add(&f->names, "scratch");
            PUT("void *%s = %s(&m->region, %s);", scratch, region_words(f->p)->alloc,
                text_of(f, bytes, false, "scratch_bytes"));
            PUT("if (!%s) return no_room(m);", scratch);
            args = A("%s%s%s", args, n++ ? ", " : "", scratch);
        }
    }
    bool fault = emit_needs_fault(q);
    const char *where = q->comment ? q->comment : q->name;
    size_t line = strcspn(where, "\n");
    if (fault && f->p->device) args = A("%s, faults + %d", args, f->faults);
    else if (fault) args = A("%s%s&fault", args, n ? ", " : "");
    PUT("%s(%s);", emit_proc_name(f->c, q, &f->p->emit), args);
    if (fault && f->p->device) { /* looked at in the end: until then, an index that faulted is 0 */
        f->where = A("%s%s%s", f->where ? f->where : "", f->faults++ ? ", " : "",
                     quoted(f, internn(f->c->names, where, line)));
    } else if (fault) {
        f->uses_fault = true;
        PUT("if (fault) return nn_stop(&m->error, NN_EFAULT, \"an index or a size is out of range\", %s);",
            quoted(f, internn(f->c->names, where, line)));
    }
    if (scratch) PUT("%s(&m->region, %s);", region_words(f->p)->free, scratch);
}
static void print_size(struct writer *f, struct stmt *s) {
    const struct sym *y = s->u.size.sym;
    const char *n = program_sym(f->p, y);
    struct size_text t = {.p = f->p, .buf = buf_expr, .var = var_expr, .env = f};
    PUT("%s = %s;", n, entry_text(&t, s->u.size.value, false));
    if (t.used_over) {
        f->uses_over = true;
        stop_if_over(f, y->name);
    }
    const char *bad = "";
    expr lo = s->u.size.lo, hi = s->u.size.hi;
    if (lo && !x_proves_le(f->c, lo, s->u.size.value)) bad = A("%s < %s", n, text_of(f, lo, true, "least"));
    if (hi && !x_proves_le(f->c, s->u.size.value, hi))
        bad = A("%s%s%s > %s", bad, *bad ? " || " : "", n, text_of(f, hi, true, "most"));
    if (*bad)
        PUT("if (%s) return nn_stop(&m->error, NN_EFAULT, %s, NULL);", bad,
            quoted(f, A("size %s is out of range", y->name)));
}
static void print_check(struct writer *f, struct stmt *s) {
    expr e = s->u.check.cond;
    PUT("if (!%s)", condition(f, e, true));
    const char *what = quoted(f, s->u.check.fault), *where = quoted(f, s->u.check.origin);
    if ((e->op == X_EQ || e->op == X_LT || e->op == X_LE) && e->arg[0]->type == IDX)
        PUT("    return nn_stop_values(&m->error, NN_EFAULT, %s, %s, %s, %s);", what, where,
            condition(f, e->arg[0], false), condition(f, e->arg[1], false));
    else PUT("    return nn_stop(&m->error, NN_EFAULT, %s, %s);", what, where);
}
static void print_store(struct writer *f, struct stmt *s) {
    struct buf *b = s->u.store.buf;
    expr off = buf_offset(f->c, b, s->u.store.idx);
    const char *at =
        x_is(off, 0) ? A("*%s", place_of(f, b)->text) : A("%s[%s]", place_of(f, b)->text, text_of(f, off, false, "at"));
    const char *v = condition(f, s->u.store.value, true);
    if (f->p->device) {
        const char *b0 = place_of(f, b)->text, *to = x_is(off, 0) ? b0 : A("%s + %s", b0, text_of(f, off, true, "at"));
        if (s->u.store.op == RED_SUM)
            v = A("(int64_t)((uint64_t)nn_cuda_value(&m->cuda, %s, sizeof *%s, 1) + (uint64_t)%s)", to, b0, v);
        PUT("nn_cuda_set(&m->cuda, %s, sizeof *%s, %s);", to, b0, v);
    } else if (s->u.store.op == RED_SUM) PUT("%s = (int64_t)((uint64_t)%s + (uint64_t)%s);", at, at, v);
    else PUT("%s = %s%s;", at, b->type == I64 ? "" : A("(%s)", dtype_c(b->type)), v);
}
static void print_swap(struct writer *f, struct stmt *s) {
    const char *t = names_add(&f->names, "other"), *a = place_of(f, s->u.swap.a)->text,
               *b = place_of(f, s->u.swap.b)->text;
    PUT("%s *const %s = %s;", dtype_c(s->u.swap.a->type), t, a);
    PUT("%s = %s;", a, b);
    PUT("%s = %s;", b, t);
}
/* Results bound in a part that may not run count as bound after it only when all parts bind them. */
static struct map copy_map(struct writer *f, const struct map *m) {
    struct map r = {.arena = &f->c->arena};
    for (int k = 0; k < f->p->outs.n; k++) {
        struct buf *b = f->p->outs.v[k].buf;
        if (map_get(m, PKEY(b))) map_put(&r, PKEY(b), b);
    }
    return r;
}
static void inside(struct writer *f, struct block *b) {
    int mark = names_mark(&f->names);
    f->depth++;
    print_block(f, b);
    f->depth--;
    names_leave(&f->names, mark);
}
static void print_if(struct writer *f, struct stmt *s) {
    struct map before = copy_map(f, &f->bound);
    PUT("if (%s) {", condition(f, s->u.cond.cond, false));
    inside(f, &s->u.cond.then);
    struct map then = f->bound;
    f->bound = copy_map(f, &before);
    if (s->u.cond.other.first) {
        put(f, "} else {");
        inside(f, &s->u.cond.other);
    }
    put(f, "}");
    for (int k = 0; k < f->p->outs.n; k++) {
        struct buf *b = f->p->outs.v[k].buf;
        if (map_get(&f->bound, PKEY(b)) && map_get(&then, PKEY(b))) map_put(&before, PKEY(b), b);
    }
    f->bound = before;
}
static void print_while(struct writer *f, struct stmt *s) {
    struct map before = copy_map(f, &f->bound);
    const char *left = NULL;
    if (s->u.loop_while.max) {
        left = names_add(&f->names, "passes_left");
        PUT("int64_t %s = %s;", left, text_of(f, s->u.loop_while.max, false, "limit"));
    }
    PUT("while (%s) {", condition(f, s->u.loop_while.cond, false));
    f->depth++;
    if (left)
        PUT("if (%s-- <= 0) return nn_stop(&m->error, NN_EFUEL, \"a loop made more passes than it may\", NULL);", left);
    PUT("if (fuel-- <= 0) return nn_stop(&m->error, NN_EFUEL, \"the loops of the run made more than "
        "config.max_iterations passes\", NULL);");
    f->uses_fuel = true;
    f->depth--;
    inside(f, &s->u.loop_while.body);
    put(f, "}");
    f->bound = before;
}
static void print_for(struct writer *f, struct stmt *s) {
    struct map before = copy_map(f, &f->bound);
    int mark = names_mark(&f->names);
    const struct var *v = s->u.loop.var;
    const char *dot = strrchr(v->name, '.'), *n = text_of(f, v->extent, true, "turns");
    const char *i = names_add(&f->names, dot ? dot + 1 : v->name);
    map_put(&f->vars, PKEY(v), (void *)i);
    PUT("for (int64_t %s = 0; %s < %s; %s++) {", i, i, n, i);
    inside(f, &s->u.loop.body);
    put(f, "}");
    names_leave(&f->names, mark);
    f->bound = before;
}
static void print_stmt(struct writer *f, struct stmt *s) {
    switch (s->kind) {
    case S_ALLOC: print_alloc(f, s->u.alloc.buf); break;
    case S_VIEW: print_view(f, s); break;
    case S_FREE:
        if (!map_get(&f->places, PKEY(s->u.alloc.buf))) break;
        PUT("%s(&m->region, %s);", region_words(f->p)->free, place_of(f, s->u.alloc.buf)->text);
        PUT("%s = NULL;", place_of(f, s->u.alloc.buf)->text);
        break;
    case S_CALL: print_call(f, s); break;
    case S_SIZE: print_size(f, s); break;
    case S_CHECK: print_check(f, s); break;
    case S_STORE: print_store(f, s); break;
    case S_SWAP: print_swap(f, s); break;
    case S_IF: print_if(f, s); break;
    case S_WHILE: print_while(f, s); break;
    case S_FOR: print_for(f, s); break;
    case S_COMMENT: {
        struct text t = {0};
        emit_comment_text(&t, s->u.comment.text ? s->u.comment.text : "");
        PUT("/* %s */", t.s ? t.s : "");
        text_free(&t);
        break;
    }
    case S_BARRIER:
    case S_PREFETCH: break;
    default: BUG("statement of kind %d in the entry", s->kind);
    }
}
/* Frees what b allocated from the region and nothing after s in b uses. */
static void free_dead(struct writer *f, struct block *b, struct stmt *s) {
    for (struct stmt *a = b->first; a; a = a->next) {
        struct buf *r = a->kind == S_ALLOC && a->u.alloc.buf->scope == SC_REGION ? a->u.alloc.buf : NULL;
        if (!r || !map_get(&f->touched, PKEY(r))) {
            if (a == s) break;
            continue;
        }
        bool last = a == s || stmt_touches(f, s, r), freed = false;
        for (struct stmt *t = s->next; t && last; t = t->next) last = !stmt_touches(f, t, r);
        for (struct stmt *t = b->first; t; t = t->next) freed |= t->kind == S_FREE && t->u.alloc.buf == r;
        if (last && !freed) PUT("%s(&m->region, %s);", region_words(f->p)->free, place_of(f, r)->text);
        if (a == s) break;
    }
}
static void print_block(struct writer *f, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        if (!stmt_blocks(s, in)) bind_results(f, s);
        print_stmt(f, s);
        free_dead(f, b, s);
    }
}

/* ---- functions */
/* Input symbols that `text` may use, as local variables. */
static void local_dims(struct program *p, struct text *out, const char *from) {
    for (int k = 0; k < p->syms.n; k++) {
        const char *n = program_sym(p, p->syms.v[k]);
        text_printf(out, "    const int64_t %s = %s%s;\n", n, from, n);
    }
    for (int k = 0; k < p->syms.n; k++)
        text_printf(out, "%s(void)%s;%s", k ? " " : "    ", program_sym(p, p->syms.v[k]),
                    k == p->syms.n - 1 ? "\n" : "");
}
static void plan_function(struct program *p, struct text *out) {
    struct text body = {0};
    struct size_text t = {.p = p};
    int n = 0;
    text_printf(&body, "    if (");
    for (int k = 0; k < p->syms.n; k++) {
        const char *s = program_sym(p, p->syms.v[k]);
        if (k) text_add(&body, " || ");
        text_printf(&body, "%s < %lld || %s > %lld", s, (long long)p->syms.v[k]->lo, s, (long long)p->syms.v[k]->hi);
    }
    text_add(&body, p->syms.n ? ") return -1;\n" : "0) return -1;\n");
    int *number = NEWN(&p->c->arena, int, p->plan->slots.n + 1);
    for (int k = 0; k < p->plan->slots.n; k++) {
        const struct plan_slot *s = &p->plan->slots.v[k];
        if (!slot_placed(s)) continue;
        number[k] = n++;
        text_printf(&body, "    at[%d] = ", number[k]);
        if (!s->nbelow) text_add(&body, "0");
        for (int j = 0; j < s->nbelow; j++) text_add(&body, j + 1 < s->nbelow ? "nn_max64(" : "");
        for (int j = 0; j < s->nbelow; j++)
            text_printf(&body, "%send[%d]%s", j ? ", " : "", number[s->below[j]], j ? ")" : "");
        struct text name = {0};
        emit_comment_text(&name, s->buf->name);
        text_printf(&body, ";    /* %s: ", name.s ? name.s : "");
        text_free(&name);
        emit_comment_text(&body, shape_text(p, s->buf));
        text_printf(&body, " */\n    end[%d] = nn_add64(at[%d], %s, &over);\n    total = nn_max64(total, end[%d]);\n",
                    number[k], number[k], entry_text(&t, s->bytes, false), number[k]);
    }
    if (!x_is(p->scratch, 0)) {
        text_printf(&body, "    at[%d] = total;    /* scratch of the kernels */\n", n);
        text_printf(&body, "    total = nn_add64(total, %s, &over);\n", entry_text(&t, p->scratch, false));
    }
    if (p->extras.n)
        text_printf(&body, "    total = nn_add64(total, %d, &over) / %d * %d;\n", PLAN_ALIGN - 1, PLAN_ALIGN,
                    PLAN_ALIGN);
    for (int k = 0; k < p->extras.n; k++) {
        const struct device_slot *s = &p->extras.v[k];
        text_printf(&body, "    at[%d] = total;    /* ", n + 1 + k);
        emit_comment_text(&body, s->buf ? s->buf->name : "faults");
        text_printf(&body, " */\n    total = nn_add64(total, %s, &over);\n", entry_text(&t, s->bytes, false));
    }
    text_printf(out,
                "/* Where every buffer lies in the arena, for these dims: above those that live at the same time and "
                "were placed below it.\n"
                " * Returns the bytes of all, -1 when dims are out of range. */\n"
                "static int64_t plan(const %s_dims *d, int64_t *at) {\n",
                p->name);
    local_dims(p, out, "d->");
    text_printf(out, "    int64_t end[%d], total = %d;\n    int over = 0;\n", n ? n : 1, PLAN_ALIGN);
    if (!n) text_add(out, "    (void)end;\n");
    text_add(out, body.s);
    text_add(out, "    return over || (uint64_t)total > (uint64_t)(SIZE_MAX / 2) ? -1 : total;\n}\n");
    text_printf(out,
                "size_t %s_arena(const %s_dims *dims) {\n    int64_t at[%d];\n    const int64_t total = dims ? "
                "plan(dims, at) : -1;\n    return total < 0 ? 0 : (size_t)total;\n}\n\n",
                p->name, p->name, n + 1 + p->extras.n);
    text_free(&body);
}
static void init_function(struct program *p, struct text *out) {
    const char *w = p->mode == WEIGHTS_FILE ? NULL : weights_address(p);
    bool any = p->weights_bytes > WEIGHTS_HEADER;
    text_printf(
        out,
        "int %s_init(%s *m, const %s_config *config) {\n    if (!m) return NN_EARG;\n    memset(m, 0, sizeof *m);\n"
        "    if (!config) return nn_stop(&m->error, NN_EARG, \"the configuration is missing\", NULL);\n    m->config = "
        "*config;\n"
        "    if (m->config.max_iterations <= 0) m->config.max_iterations = 2147483647;\n",
        p->name, p->name, p->name);
    if (!p->is_static) text_add(out, "    m->total = -1;    /* no plan yet */\n");
    if (any) {
        text_printf(out, "    m->weights = config->weights ? (const unsigned char *)config->weights : %s;\n",
                    w ? w : "NULL");
        text_printf(out,
                    "    if (!m->weights || (uintptr_t)m->weights %% %d != 0) return nn_stop(&m->error, NN_EARG, \"the "
                    "weights are missing or not aligned\", NULL);\n",
                    p->mode == WEIGHTS_C ? 8 : 64);
        text_printf(out,
                    "    static const unsigned char head[32] = {'N', 'N', 'W', 'E', 'I', 'G', 'H', 'T', %d, 0, 0, 0",
                    WEIGHTS_VERSION);
        uint64_t parts[3] = {(uint64_t)p->weights.n, (uint64_t)p->weights_bytes, p->weights_hash};
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < (k ? 8 : 4); j++) text_printf(out, ", %u", (unsigned)(parts[k] >> 8 * j) & 255);
        text_add(out, "};\n");
        text_printf(out,
                    "    if (config->weights && config->weights_size < %s_WEIGHTS_BYTES) return nn_stop(&m->error, "
                    "NN_EWEIGHTS, \"the weights are incomplete\", NULL);\n"
                    "    if (memcmp(m->weights, head, sizeof head) != 0) return nn_stop(&m->error, NN_EWEIGHTS, \"the "
                    "weights are not those of this model\", NULL);\n",
                    p->upper);
    }
    if (p->device) {
        device_init(p, out);
        return;
    }
    text_printf(out,
                "    if ((uintptr_t)config->arena %% %d != 0) return nn_stop(&m->error, NN_EARG, \"the arena is not "
                "aligned to %d bytes\", NULL);\n",
                PLAN_ALIGN, PLAN_ALIGN);
    if (p->is_static && p->arena_bytes)
        text_printf(out,
                    "    if (!config->arena || config->arena_size < %s_ARENA_BYTES) {\n        m->error.need = "
                    "%s_ARENA_BYTES;\n"
                    "        return nn_stop(&m->error, NN_EARENA, \"the arena is too small\", NULL);\n    }\n",
                    p->upper, p->upper);
    text_add(out, "    return NN_OK;\n}\n\n");
}
static void check_pointers(struct writer *f) {
    struct program *p = f->p;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < (pass ? p->outs.n : p->ins.n); k++) {
            const struct io *io = pass ? &p->outs.v[k] : &p->ins.v[k];
            int64_t lo, hi;
            if (pass && io->produced) {
                PUT("if (!out->%s && out->%s > 0) return nn_stop(&m->error, NN_EARG, %s, NULL);", io->member, io->cap,
                    quoted(f, A("output %s is missing", io->buf->name)));
                continue;
            }
            expr n = buf_elements(f->c, io->buf);
            x_bounds(f->c, n, &lo, &hi);
            if (hi == 0) continue;
            const char *some = lo > 0 ? "" : A(" && %s > 0", text_of(f, n, true, "elements"));
            PUT("if (!%s->%s%s) return nn_stop(&m->error, NN_EARG, %s, NULL);", pass ? "out" : "in", io->member, some,
                quoted(f, A("%s %s is missing", pass ? "output" : "input", io->buf->name)));
        }
}
/* The plan for the dims of this run, and the room it needs. */
static void make_plan(struct program *p, struct text *out) {
    if (p->is_static) return;
    const char *same = "m->total >= 0";
    for (int k = 0; k < p->syms.n; k++) {
        const char *n = program_sym(p, p->syms.v[k]);
        same = arena_printf(&p->c->arena, "%s && m->dims.%s == in->dims.%s", same, n, n);
    }
    text_printf(out,
                "    if (!(%s)) {\n        m->dims = in->dims;\n        m->total = plan(&m->dims, m->at);\n    }\n"
                "    if (m->total < 0) return nn_stop(&m->error, NN_EDIMS, \"a dimension is out of range\", NULL);\n"
                "    if (!m->config.arena || m->config.arena_size < (size_t)m->total) {\n        m->error.need = "
                "(size_t)m->total;\n"
                "        return nn_stop(&m->error, NN_EARENA, \"the arena is too small\", NULL);\n    }\n",
                same);
}
static void check_dims(struct program *p, struct text *out) { /* symbols that no buffer's size needs */
    if (!p->is_static || !p->syms.n) return;
    for (int k = 0; k < p->syms.n; k++) {
        const char *s = program_sym(p, p->syms.v[k]);
        text_printf(out, "    if (%s < %lld || %s > %lld) return nn_stop(&m->error, NN_EDIMS, ", s,
                    (long long)p->syms.v[k]->lo, s, (long long)p->syms.v[k]->hi);
        const char *what = arena_printf(&p->c->arena, "dimension %s is out of range", p->syms.v[k]->name);
        size_t n = strlen(what);
        emit_string(out, what, n < MESSAGE_MAX ? n : MESSAGE_MAX);
        text_add(out, ", NULL);\n");
    }
}
static bool declare_size(void *env, struct stmt *s) {
    struct writer *f = env;
    if (s->kind == S_SIZE && !map_get(&f->sizes, PKEY(s->u.size.sym))) {
        const struct sym *y = s->u.size.sym;
        map_put(&f->sizes, PKEY(y), (void *)y);
        const char *n = program_sym(f->p, y);
        names_take(&f->names, n);
        text_printf(f->top, "    int64_t %s = 0;    /* %lld to %lld */\n    (void)%s;\n", n, (long long)y->lo,
                    (long long)y->hi, n);
    }
    return true;
}
/* Inputs and outputs: the caller's memory, or copies of it on the device. */
static void place_io(struct writer *f) {
    struct program *p = f->p;
    for (int k = 0; k < p->ins.n; k++) {
        const struct io *io = &p->ins.v[k];
        if (!p->device) set_place(f, io->buf, A("in->%s", io->member), true);
        else if (map_get(&f->touched, PKEY(io->buf))) {
            pointer(f, io->buf, extra_address(f, io->buf, dtype_c(io->buf->type)), false);
            PUT("nn_cuda_put(&m->cuda, %s, in->%s, %s);", place_of(f, io->buf)->text, io->member,
                text_of(f, storage_bytes(f, io->buf), false, "bytes"));
        }
    }
    for (int k = 0; k < p->outs.n; k++) {
        const struct io *io = &p->outs.v[k];
        if (io->produced) continue;
        if (p->device) pointer(f, io->buf, extra_address(f, io->buf, dtype_c(io->buf->type)), false);
        else set_place(f, io->buf, A("out->%s", io->member), false);
    }
    if (p->nfaults) {
        PUT("int *const faults = %s;", extra_address(f, NULL, "int"));
        PUT("nn_cuda_fill(&m->cuda, faults, \"\", 1, %d);", 4 * p->nfaults);
    }
}
static void take_outputs(struct writer *f) {
    struct program *p = f->p;
    for (int k = 0; k < p->outs.n; k++) {
        const struct io *io = &p->outs.v[k];
        const char *from = place_of(f, io->buf)->text;
        if (io->produced && !p->device) PUT("out->%s = %s;", io->member, from);
        else if (io->produced) {
            f->uses_status = true;
            PUT("out->%s = (%s *)nn_cuda_give(&m->cuda, &m->error, &status, &m->results[%d], out->%s, out->%s, %s, %s, "
                "sizeof *%s);",
                io->member, dtype_c(io->buf->type), k, io->member, io->cap, from,
                text_of(f, buf_elements(f->c, io->buf), false, "elements"), from);
        } else if (p->device)
            PUT("nn_cuda_get(&m->cuda, out->%s, %s, %s);", io->member, from,
                text_of(f, storage_bytes(f, io->buf), false, "bytes"));
    }
}
static void device_end(struct writer *f, struct text *out) {
    if (f->faults) text_printf(out, "    static const char *const where[] = {%s};\n", f->where);
    text_printf(out, "    %s nn_cuda_done(&m->cuda, &m->error, %s, %d, %s);\n",
                f->uses_status ? "const int done =" : "return", f->faults ? "faults" : "NULL", f->faults,
                f->faults ? "where" : "NULL");
    if (f->uses_status) text_add(out, "    return done != NN_OK ? done : status;\n");
    text_add(out, "}\n\n");
}
/* Is `what` in the text, not as the end of a longer name? */
static bool mentions(const char *text, const char *what) {
    const char *s = text;
    while ((s = strstr(s, what))) {
        char before = s > text ? s[-1] : ' ';
        if (before != '_' && !(before >= '0' && before <= '9') && !((before | 32) >= 'a' && (before | 32) <= 'z'))
            return true;
        s++;
    }
    return false;
}
static void run_function(struct program *p, struct text *out) {
    struct text body = {0}, top = {0};
    struct writer fn = {.p = p, .c = p->c, .out = &body, .top = &top, .depth = 1}, *f = &fn;
    f->places.arena = f->touched.arena = f->swapped.arena = f->vars.arena = f->sizes.arena = f->bound.arena =
        &p->c->arena;
    names_init(&f->names, p->c);
    f->names.avoid = internf(p->c->names, "%s_", p->name);
    static const char *const ours[] = {"m",    "in",  "out",     "over", "fault",  "status", "fuel", "arena",
                                       "plan", "run", "no_room", "AT",   "WEIGHT", "faults", "where"};
    for (size_t k = 0; k < sizeof ours / sizeof *ours; k++) names_add(&f->names, ours[k]);
    names_add(&f->names, p->name);
    for (int k = 0; k < p->syms.n; k++) names_take(&f->names, program_sym(p, p->syms.v[k]));
    walk(&p->m->entry->body, touch_stmt, f);
    each_load(&p->m->entry->body, touch_load, f);
    walk(&p->m->entry->body, declare_size, f);
    check_pointers(f);
    place_io(f);
    if (p->has_region && p->device) {
        const char *before = p->is_static ? A("%lld", (long long)p->arena_bytes) : "(size_t)m->total";
        PUT("nn_cuda_region_init(&m->region, m->blocks, %d, m->config.arena, %s, m->config.arena_size - %s);",
            2 * p->nregions + 2, before, before);
    } else if (p->has_region) {
        const char *before = p->is_static ? A("%lld", (long long)p->arena_bytes) : "(size_t)m->total";
        PUT("nn_region_init(&m->region, m->config.arena, %s, m->config.arena ? m->config.arena_size - %s : 0);", before,
            before);
    }
    print_block(f, &p->m->entry->body);
    bind_results(f, NULL);
    take_outputs(f);
    for (int k = 0; k < p->out_dims.n; k++)
        PUT("out->%s = %s;", p->out_dims.v[k].name, text_of(f, p->out_dims.v[k].value, false, "size"));

    size_t begin = out->n;
    text_printf(out, "static int run(%s *m, const %s_inputs *in, %s_outputs *out) {\n", p->name, p->name, p->name);
    if (p->syms.n) local_dims(p, out, "in->dims.");
    if (f->uses_over) text_add(out, "    int over = 0;\n");
    if (f->uses_fault) text_add(out, "    int fault = 0;\n");
    if (f->uses_status) text_add(out, "    int status = NN_OK;\n");
    if (f->uses_fuel) text_add(out, "    int64_t fuel = m->config.max_iterations;\n");
    if (f->uses_arena) text_add(out, "    unsigned char *const arena = (unsigned char *)m->config.arena;\n");
    check_dims(p, out);
    make_plan(p, out);
    text_add(out, top.s ? top.s : "");
    text_add(out, body.s ? body.s : "");
    if (f->uses_over)
        text_add(out, "    if (over) return nn_stop(&m->error, NN_EFAULT, \"a size overflows\", NULL);\n");
    if (!mentions(out->s + begin, "m->")) text_add(out, "    (void)m;\n");
    if (!mentions(out->s + begin, "in->")) text_add(out, "    (void)in;\n");
    if (!mentions(out->s + begin, "out->")) text_add(out, "    (void)out;\n");
    if (p->device) device_end(f, out);
    else text_add(out, "    return NN_OK;\n}\n\n");
    text_free(&body), text_free(&top);
}
static void api_run(struct program *p, struct text *out) {
    text_printf(out,
                "int %s_run(%s *m, const %s_inputs *in, %s_outputs *out) {\n    if (!m) return NN_EARG;\n"
                "    memset(&m->error, 0, sizeof m->error);\n"
                "    if (!in || !out) return nn_stop(&m->error, NN_EARG, \"inputs or outputs are missing\", NULL);\n",
                p->name, p->name, p->name, p->name);
    if (p->is_static && !p->has_region) text_add(out, "    return run(m, in, out);\n}\n");
    else if (p->device) device_grow(p, out);
    else
        text_add(out, "    for (;;) {\n        int status = run(m, in, out);\n        if (status != NN_EARENA || "
                      "!m->config.grow) return status;\n"
                      "        if (!m->config.grow(m->config.user, m->error.need, &m->config.arena, "
                      "&m->config.arena_size)) return status;\n"
                      "        if (m->config.arena_size < m->error.need || (uintptr_t)m->config.arena % 64 != 0) "
                      "return status;\n    }\n}\n");
}
static void weights_list(struct program *p, struct text *out) {
    if (!p->weights.n) return;
    text_add(out, "/* Weights, by their place:\n");
    for (int k = 0; k < p->weights.n; k++) {
        const struct weight *w = &p->weights.v[k];
        if (w->array) text_printf(out, " *  %10s  ", w->array);
        else text_printf(out, " *  %10lld  ", (long long)w->offset);
        emit_comment_text(out, w->buf->name);
        text_add(out, ": ");
        emit_comment_text(out, shape_text(p, w->buf));
        text_char(out, '\n');
    }
    text_add(out, " */\n\n");
}
void entry_source(struct program *p, struct text *out) {
    struct text body = {0};
    weights_strings(p, &body);
    if (!p->is_static) plan_function(p, &body);
    init_function(p, &body);
    struct text run = {0};
    run_function(p, &run);
    if (run.s && strstr(run.s, "no_room(m)"))
        text_printf(&body,
                    "static int no_room(%s *m) {\n    m->error.need = m->region.need;\n    return nn_stop(&m->error, "
                    "NN_EARENA, \"the arena is too small for sizes found in the run\", NULL);\n}\n",
                    p->name);
    text_add(&body, "/* The model: kernels in order, buffers at their places in the arena. */\n");
    text_add(&body, run.s);
    api_run(p, &body);
    if (p->device) device_close(p, &body);

    text_printf(out,
                "/* %s: the program around the kernels. How to use it: %s.h. */\n#include \"%s.h\"\n#include "
                "<string.h>\n#include \"%s_kernels.h\"\n\n",
                p->name, p->name, p->name, p->name);
    weights_list(p, out);
    text_add(out, "/* A buffer at its place in the arena; a constant at its place in the weights. */\n"
                  "#define AT(type, offset) ((type *)(void *)(arena + (offset)))\n"
                  "#define WEIGHT(type, offset) ((const type *)(const void *)(m->weights + (offset)))\n\n");
    text_add(out, body.s);
    text_free(&body), text_free(&run);
}
