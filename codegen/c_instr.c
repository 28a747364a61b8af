/* Instructions as C: the text of their row with operands in its holes. Used by c_stmt.c for what the pass
 * `instructions` left because the target has the row. */
#include "codegen/c_int.h"
#include "ir/loop/tile_nest.h"
#include "lower/passes/passes.h"
#include <string.h>

const struct instr_row *emit_instr(const struct emit_options *o, const char *name) {
    return printed_instr(&(struct printing){.target = o->target, .c99_strict = o->c99_strict}, name);
}
/* Contiguous cells of a hole: those that the body's loops cover. */
int c_instr_lanes(const struct stmt *s, const char *hole) {
    const struct instr_hole *h = s->u.instr.row->holes;
    const struct stmt *loop = s->u.instr.body.first;
    int64_t lanes = 1, extent;
    while (strcmp(h->name, hole)) h++;
    for (int k = 0; loop && loop->kind == S_FOR; k++, loop = loop->u.loop.body.first)
        if (h->strides[k] && x_is_int(loop->u.loop.var->extent, &extent)) lanes *= extent;
    return (int)lanes;
}
expr c_instr_place(struct fe *f, const struct stmt *s, int k) {
    return buf_own_place(f->c, s->u.instr.holes[k].buf, s->u.instr.holes[k].off);
}

/* {C}: the operand as a value that can be assigned: its register variable, or the cells in memory. */
static const char *operand(struct fe *f, const struct stmt *s, int k) {
    struct buf *b = s->u.instr.holes[k].buf;
    expr off = c_instr_place(f, s, k);
    int lanes = c_instr_lanes(s, s->u.instr.holes[k].hole), element = -1;
    struct reg_piece *q = c_piece_at(f, b, off, &element);
    if (lanes > 1) c_vector_type(f->o, dtype_value(b->type), lanes); /* because the row's text names it */
    if (q) return element >= 0 && lanes == 1 ? format(f->c, "%s[%d]", c_ref(f, q->sn), element) : c_ref(f, q->sn);
    struct place pl = c_place_at(f, b, off);
    return lanes > 1 ? format(f->c, "(*(%s *)(%s))", c_memory_type(f->o, b->type, lanes), c_address(f, &pl))
                     : c_cell(f, &pl);
}
/* {sizes}: the sizes of a product of tiles, and strides in bytes; sums without a loop have one step. */
static const char *times(struct fe *f, expr e, const struct buf *b) {
    return c_text(f, b ? x_muli(f->c, e, dtype_bytes(b->type)) : e, true);
}
static const char *tile_sizes(struct fe *f, const struct stmt *s) {
    const struct buf *c = s->u.instr.holes[0].buf, *a = s->u.instr.holes[1].buf, *b = s->u.instr.holes[2].buf;
    const char *n = "", *in_a = "", *in_b = "";
    struct tile_nest t;
    if (!tile_nest_of(f->c, s, &t)) BUG("%s is no product of tiles", s->u.instr.row->name);
    for (int k = 0; k < TILE_STEPS; k++) {
        const struct tile_step *step = k < t.n ? &t.steps[k] : NULL;
        const char *comma = k ? ", " : "";
        n = format(f->c, "%s%s%s", n, comma, step ? times(f, step->n, NULL) : "1");
        in_a = format(f->c, "%s%s%s", in_a, comma, step ? times(f, step->a, a) : "0");
        in_b = format(f->c, "%s%s%s", in_b, comma, step ? times(f, step->b, b) : "0");
    }
    return format(f->c, "{%s, %s, %d, %s, %s, %s, %s, {%s}, {%s}, {%s}}", times(f, t.rows, NULL),
                  times(f, t.vectors, NULL), t.groups, times(f, t.c_row, c), times(f, t.c_vector, c),
                  times(f, t.a_row, a), times(f, t.b_vector, b), n, in_a, in_b);
}
struct access {
    const struct buf *b;
    const expr *idx;
};
static void find_access(void *env, expr load) {
    struct access *q = env;
    if (load->u.buf == q->b) q->idx = load->arg;
}
/* {step X}: stride in cells of the operand along the loop that may have any stride. */
static const char *any_step(struct fe *f, const struct stmt *s, int k) {
    const struct instr_hole *h = s->u.instr.row->holes;
    const struct stmt *loop = s->u.instr.body.first, *leaf = loop;
    struct access q = {s->u.instr.holes[k].buf, NULL};
    while (strcmp(h->name, s->u.instr.holes[k].hole)) h++;
    for (int i = instr_any_stride(h); i > 0; i--) loop = loop->u.loop.body.first;
    while (leaf->kind == S_FOR) leaf = leaf->u.loop.body.first;
    x_each_load(leaf->u.store.value, find_access, &q);
    expr at = buf_own_offset(f->c, q.b, leaf->u.store.buf == q.b ? leaf->u.store.idx : q.idx);
    return c_text(f, x_step_along(f->c, loop->u.loop.var, &at), true);
}
/* The text for a hole of that name, n characters long; NULL: there is none. */
static const char *hole_text(struct fe *f, const struct stmt *s, const char *name, size_t n) {
    static const char sizes[] = "sizes";
    static const char step[] = "step ";
    bool address = *name == '&', apart = !strncmp(name, step, strlen(step));
    if (n == strlen(sizes) && !memcmp(name, sizes, n)) return tile_sizes(f, s);
    size_t before = address ? 1 : apart ? strlen(step) : 0;
    name += before, n -= before;
    for (int k = 0; k < s->u.instr.n; k++) {
        const struct instr_operand *h = &s->u.instr.holes[k];
        if (strlen(h->hole) != n || memcmp(h->hole, name, n) != 0) continue;
        if (apart) return any_step(f, s, k);
        if (!address) return operand(f, s, k);
        struct place pl = c_place_at(f, h->buf, c_instr_place(f, s, k));
        return c_address(f, &pl);
    }
    return NULL;
}
void c_print_instr(struct fe *f, const struct stmt *s) {
    const struct instr_row *row = emit_instr(f->o, s->u.instr.row->name);
    struct text t = {0};
    for (const char *p = row->c; *p;) {
        const char *end = *p == '{' ? strchr(p, '}') : NULL;
        const char *in_hole = end ? hole_text(f, s, p + 1, (size_t)(end - p - 1)) : NULL;
        if (in_hole) text_add(&t, in_hole), p = end + 1;
        else text_char(&t, *p++);
    }
    text_char(&t, ';');
    if (f->run->pass == 2) c_put(f, t.s);
    text_free(&t);
    c_use_instr(f->o, row);
    if (row->begin) f->held = row;
    for (int k = 0; k < s->u.instr.n; k++)
        if (stores_to(&s->u.instr.body, s->u.instr.holes[k].buf)) c_forget(f, s->u.instr.holes[k].buf);
}
/* Instructions that keep state in special registers from one to the next hold these while their function runs. */
const char *c_holding(struct fe *f, const char *body) {
    if (!f->held) return body ? body : "";
    return format(f->c, "    %s;\n%s    %s;\n", f->held->begin, body, f->held->end);
}
