/* Calls of foreign functions in kernels. They call a wrapper in the operator's own file (foreign_files.c), which takes
 * all integers as int64_t. See ir/loop/foreign.h. */
#include "codegen/c_int.h"
#include "ir/loop/foreign.h"

const char *emit_foreign_name(struct ctx *c, const struct foreign *f, const struct emit_options *o) {
    return internf(c->names, "%s%s", o->shared_prefix ? o->shared_prefix : "", f->name);
}
expr c_foreign_place(struct fe *f, const struct stmt *s, int k) {
    const struct foreign_operand *o = &s->u.foreign.ops[k];
    expr idx[64];
    for (int d = 0; d < o->buf->nd; d++) idx[d] = d < o->n ? s->u.foreign.idx[o->first + d] : x_int(f->c, 0);
    return buf_own_offset(f->c, o->buf, idx);
}
const char *c_foreign_args(struct fe *f, const struct stmt *s) {
    const struct foreign *fn = s->u.foreign.fn;
    const char *args = "";
    for (int i = 0, op = 0, number = 0; i < fn->n; i++) {
        const char *comma = *args ? ", " : "";
        if (fn->params[i].use == FOREIGN_ABSENT) continue;
        if (fn->params[i].use == FOREIGN_NUMBER) {
            args = format(f->c, "%s%s%s", args, comma, c_text(f, s->u.foreign.args[number++], true));
            continue;
        }
        struct place pl = c_place_at(f, s->u.foreign.ops[op].buf, c_foreign_place(f, s, op));
        args = format(f->c, "%s%s%s", args, comma, c_address(f, &pl));
        op++;
    }
    return args;
}
void c_print_foreign(struct fe *f, const struct stmt *s) {
    const char *args = c_foreign_args(f, s);
    c_line(f, "%s(%s);", emit_foreign_name(f->c, s->u.foreign.fn, f->o), args);
}
