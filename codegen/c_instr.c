/* Instructions as C: the text of their row with operands in its holes. Used by c_stmt.c for what the pass
 * `instructions` left because the target has the row. */
#include "codegen/c_int.h"
#include "lower/passes/passes.h"
#include <string.h>

const struct instr_row *emit_instr(const struct emit_options *o, const char *name) {
    return printed_instr(&(struct printing){.target = o->target, .c99_strict = o->c99_strict}, name);
}
/* Cells of a hole that lie side by side: those that the body's loops walk. */
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
    if (lanes > 1) c_vector_type(f->o, dtype_value(b->type), lanes); /* the row's text names it */
    if (q) return element >= 0 && lanes == 1 ? format(f->c, "%s[%d]", c_ref(f, q->sn), element) : c_ref(f, q->sn);
    struct place pl = c_place_at(f, b, off);
    return lanes > 1 ? format(f->c, "(*(%s *)(%s))", c_memory_type(f->o, b->type, lanes), c_address(f, &pl))
                     : c_cell(f, &pl);
}
void c_print_instr(struct fe *f, const struct stmt *s) {
    const struct instr_row *row = emit_instr(f->o, s->u.instr.row->name);
    struct text t = {0};
    for (const char *p = row->c; *p;) {
        bool address = p[0] == '{' && p[1] == '&';
        const char *name = p + 1 + address, *end = *p == '{' ? strchr(p, '}') : NULL;
        int k = 0;
        while (end && k < s->u.instr.n &&
               (strlen(s->u.instr.holes[k].hole) != (size_t)(end - name) ||
                strncmp(s->u.instr.holes[k].hole, name, (size_t)(end - name))))
            k++;
        if (!end || k == s->u.instr.n) {
            text_char(&t, *p++);
            continue;
        }
        if (address) {
            struct place pl = c_place_at(f, s->u.instr.holes[k].buf, c_instr_place(f, s, k));
            text_add(&t, c_address(f, &pl));
        } else {
            text_add(&t, operand(f, s, k));
        }
        p = end + 1;
    }
    text_char(&t, ';');
    if (f->run->pass == 2) c_put(f, t.s);
    text_free(&t);
    c_use_instr(f->o, row);
    for (int k = 0; k < s->u.instr.n; k++)
        if (stores_to(&s->u.instr.body, s->u.instr.holes[k].buf)) c_forget(f, s->u.instr.holes[k].buf);
}
