/* The buffers of the run function: which ones are used, where each is (arena, region, weights, the caller's memory),
 * and the expressions of their sizes. See entry_int.h. */
#include "codegen/entry_int.h"
#include "codegen/weights.h"
#include <string.h>

/* ---- which buffers are used, and how */
static void touch(struct fe *f, const struct buf *b) { map_put(&f->entry->touched, PKEY(b), (void *)b); }
static void touch_load(void *env, const struct stmt *s, expr load) {
    (void)s;
    touch(env, load->u.buf);
}
static bool touch_stmt(void *env, const struct stmt *s) {
    struct fe *f = env;
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++) {
        if (!(b.use & (BU_BEGINS | BU_ENDS))) touch(f, b.buf);
        if (b.use & BU_MOVED) map_put(&f->entry->swapped, PKEY(b.buf), b.buf);
    }
    return true;
}
void run_touch(struct fe *f, const struct block *b) {
    survey(b, touch_stmt, f);
    each_load(b, touch_load, f);
}

/* ---- expressions */
struct entry_place *run_place(struct fe *f, const struct buf *b) {
    struct entry_place *q = map_get(&f->entry->places, PKEY(b));
    if (q) return q;
    const struct weight *w = program_weight(f->entry->p, b);
    if (!w) BUG("buffer %s is used before it has a place", b->name);
    q = NEW(&f->c->arena, struct entry_place);
    q->is_const = true;
    q->text = w->array ? w->array : format(f->c, "WEIGHT(%s, %lld)", dtype_c(b->type), (long long)w->offset);
    map_put(&f->entry->places, PKEY(b), q);
    return q;
}
static int slot_number(struct program *p, const struct plan_slot *s) { /* index among the placed slots; NULL: their
                                                                        * number */
    int n = 0;
    for (int k = 0; k < p->plan->slots.n && &p->plan->slots.v[k] != s; k++) n += slot_placed(&p->plan->slots.v[k]);
    return n;
}
const char *run_extra_address(struct fe *f, const struct buf *b, const char *type) {
    const struct device_slot *s = program_extra(f->entry->p, b);
    f->entry->uses_arena = true;
    if (f->entry->p->is_static) return format(f->c, "AT(%s, %lld)", type, (long long)s->offset);
    return format(f->c, "AT(%s, m->at[%d])", type,
                  slot_number(f->entry->p, NULL) + 1 + (int)(s - f->entry->p->extras.v));
}
void run_set_place(struct fe *f, const struct buf *b, const char *text, bool is_const) {
    struct entry_place *q = NEW(&f->c->arena, struct entry_place);
    *q = (struct entry_place){text, is_const};
    map_put(&f->entry->places, PKEY(b), q);
}
void run_stop_if_over(struct fe *f, const char *what) {
    c_line(f, "if (over) return nn_stop(&m->error, NN_EFAULT, %s, NULL);",
           emit_message(f->c, format(f->c, "a size overflows: %s", what)));
}
const char *run_text(struct fe *f, expr e, bool wrap, bool *over) {
    f->entry->over = false;
    const char *s = paren(f, e->type == IDX ? c_index(f, e) : c_value(f, e, 1), wrap ? P_UNARY : P_COND);
    f->entry->uses_over |= *over = f->entry->over;
    return s;
}
const char *run_expr(struct fe *f, expr e, bool wrap, const char *what) {
    bool over;
    const char *s = run_text(f, e, wrap, &over);
    if (over) {
        const char *n = names_add(&f->names, what);
        c_line(f, "const int64_t %s = %s;", n, s);
        run_stop_if_over(f, what);
        return n;
    }
    return s;
}
const char *run_condition(struct fe *f, expr e, bool wrap) {
    bool over;
    return run_text(f, e, wrap, &over);
}

/* ---- memory */
static const struct plan_slot *slot_of(struct fe *f, const struct buf *b) { return plan_slot_of(f->entry->p->plan, b); }
static const char *slot_address(struct fe *f, const struct plan_slot *s, enum dtype type) {
    const char *more = "";
    for (; s->alias >= 0; s = &f->entry->p->plan->slots.v[s->alias])
        if (s->alias_offset && !x_is(s->alias_offset, 0))
            more = format(f->c, "%s + %s", more, run_expr(f, s->alias_offset, true, "view"));
    if (!slot_placed(s)) BUG("buffer %s has no place in the plan", s->buf->name);
    f->entry->uses_arena = true;
    if (f->entry->p->is_static) return format(f->c, "AT(%s, %lld%s)", dtype_c(type), (long long)s->offset, more);
    return format(f->c, "AT(%s, m->at[%d]%s)", dtype_c(type), slot_number(f->entry->p, s), more);
}
const char *run_scratch_address(struct fe *f) {
    f->entry->uses_arena = true;
    return f->entry->p->is_static ? format(f->c, "AT(void, %lld)", (long long)program_peak(f->entry->p))
                                  : format(f->c, "AT(void, m->at[%d])", slot_number(f->entry->p, NULL));
}
const char *run_pointer(struct fe *f, const struct buf *b, const char *value, bool is_const) {
    const char *n = names_add(&f->names, b->name);
    bool moves = map_get(&f->entry->swapped, PKEY(b)) != NULL;
    const char *decl =
        format(f->c, "%s%s *%s%s = %s;", is_const ? "const " : "", dtype_c(b->type), moves ? "" : "const ", n, value);
    if (moves) text_printf(f->entry->top, "    %s\n", decl);
    else c_put(f, decl);
    run_set_place(f, b, n, is_const);
    return n;
}
static void fill_buffer(struct fe *f, const struct buf *b) {
    unsigned char bytes[16] = {0}, zeros[16] = {0};
    int size = dtype_bytes(b->type);
    fill_cell(b, bytes);
    const char *n = run_place(f, b)->text;
    if (!memcmp(bytes, zeros, (size_t)size) && !f->entry->p->device) {
        c_line(f, "memset(%s, 0, (size_t)(%s));", n, run_expr(f, buf_bytes(f->c, b), false, "fill"));
        return;
    }
    const char *list = "";
    for (int k = 0; k < size; k++) list = format(f->c, "%s%s%d", list, k ? ", " : "", bytes[k]);
    const char *q = names_add(&f->names, format(f->c, "%s_fill", b->name));
    c_line(f, "static const unsigned char %s[%d] = {%s};", q, size, list);
    c_line(f, "%s%s, %s, sizeof %s, %s);", f->entry->p->device ? "nn_cuda_fill(&m->cuda, " : "nn_fill(", n, q, q,
           run_expr(f, buf_cells(f->c, b), false, "fill"));
}
static void region_alloc(struct fe *f, const struct buf *b) {
    const char *n = names_add(&f->names, b->name),
               *bytes = run_expr(f, buf_bytes(f->c, b), false, format(f->c, "%s_bytes", b->name));
    bool moves = map_get(&f->entry->swapped, PKEY(b)) != NULL;
    if (moves) text_printf(f->entry->top, "    %s *%s = NULL;\n", dtype_c(b->type), n);
    c_line(f, "%s%s = (%s *)%s(&m->region, %s);", moves ? "" : format(f->c, "%s *", dtype_c(b->type)), n,
           dtype_c(b->type), region_words(f->entry->p)->alloc, bytes);
    c_line(f, "if (!%s) return no_room(m);", n);
    run_set_place(f, b, n, false);
}
static void local_array(struct fe *f, const struct buf *b) {
    int64_t cells;
    if (f->entry->p->device) {
        run_pointer(f, b, run_extra_address(f, b, dtype_c(b->type)), false);
        return;
    }
    if (!x_is_int(buf_cells(f->c, b), &cells) || cells > 4096) BUG("buffer %s has no place in the plan", b->name);
    const char *n = names_add(&f->names, b->name);
    if (map_get(&f->entry->swapped, PKEY(b))) {
        const char *cell = names_add(&f->names, format(f->c, "%s_cells", b->name));
        text_printf(f->entry->top, "    %s %s[%lld];\n    %s *%s = %s;\n", dtype_c(b->type), cell,
                    (long long)(cells ? cells : 1), dtype_c(b->type), n, cell);
    } else {
        c_line(f, "%s %s[%lld];", dtype_c(b->type), n, (long long)(cells ? cells : 1));
    }
    run_set_place(f, b, n, false);
}
void run_alloc(struct fe *f, const struct stmt *alloc) {
    const struct buf *b = alloc->u.alloc.buf;
    const struct plan_slot *s = slot_of(f, b);
    if (!map_get(&f->entry->touched, PKEY(b))) return;
    if (b->scope == SC_REGION || b->scope == SC_KEPT) region_alloc(f, b);
    else if (s && s->first >= 0) run_pointer(f, b, slot_address(f, s, b->type), false);
    else local_array(f, b);
    if (b->fill) fill_buffer(f, b);
}
/* A view is inside of its buffer. If the plan has checked the size of that, no partial sum can be too large, provided
 * all terms are at least 0. */
static bool is_checked(struct fe *f, const struct stmt *view) {
    struct terms t = c_terms(f, view->u.view.off);
    const struct plan_slot *slot = slot_of(f, view->u.view.of);
    int64_t lo = t.konst, hi;
    for (int k = 0; k < t.n && lo >= 0; k++) {
        x_bounds(f->c, t.atom[k], &lo, &hi);
        if (t.coef[k] < 0) lo = -1;
    }
    return slot && slot->cls != PLAN_REGION && lo >= 0;
}
void run_view(struct fe *f, const struct stmt *s) {
    struct buf *b = s->u.view.buf, *of = s->u.view.of;
    if (!map_get(&f->entry->touched, PKEY(b))) return;
    struct entry_place *from = run_place(f, of);
    f->entry->inside = is_checked(f, s);
    const char *q = x_is(s->u.view.off, 0)
                        ? from->text
                        : format(f->c, "%s + %s", from->text, run_expr(f, s->u.view.off, true, "view"));
    f->entry->inside = false;
    if (b->type != of->type)
        q = format(f->c, "(%s%s *)(%svoid *)(%s)", from->is_const ? "const " : "", dtype_c(b->type),
                   from->is_const ? "const " : "", q);
    run_pointer(f, b, q, from->is_const);
}

/* ---- results whose sizes are found at run time */
void run_bind(struct fe *f, const struct stmt *bind) {
    const struct io *io = f->entry->p->outs.v;
    while (io->buf != bind->u.alloc.buf) io++;
    struct entry_place *q = map_get(&f->entry->places, PKEY(io->buf));
    if (!q) {
        const char *n = names_add(&f->names, io->member);
        text_printf(f->entry->top, "    %s *%s = NULL;\n", dtype_c(io->buf->type), n);
        run_set_place(f, io->buf, n, false);
        q = run_place(f, io->buf);
    }
    f->entry->uses_status = true;
    if (f->entry->p->device)
        c_line(f, "if (!%s) %s = (%s *)nn_cuda_result(&m->region, &m->error, &status, %s, sizeof *%s);", q->text,
               q->text, dtype_c(io->buf->type), run_expr(f, buf_elements(f->c, io->buf), false, "elements"), q->text);
    else
        c_line(f, "if (!%s) %s = (%s *)nn_result(&m->region, &m->error, &status, out->%s, out->%s, %s, sizeof *%s);",
               q->text, q->text, dtype_c(io->buf->type), io->member, io->cap,
               run_expr(f, buf_elements(f->c, io->buf), false, "elements"), q->text);
    c_line(f, "if (status != NN_OK) return status;");
}
