/* What several passes ask about targets, and do to statements. See passes.h. */
#include "lower/passes/passes.h"
#include "lower/machine/machine.h"
#include <string.h>

int printed_lanes(const struct printing *o) {
    return o->c99_strict || o->target->emit != EMIT_C_VECTOR ? 1 : machine_lanes(o->target->machine, F32);
}
const struct instr_row *printed_instr(const struct printing *o, const char *name) {
    for (const struct instr_row *const *r = o->target->instrs; r && *r && !o->c99_strict; r++)
        if (!strcmp((*r)->name, name)) return *r;
    return NULL;
}

void copy_with(struct ctx *c, struct stmt *at, struct block *body, const struct var *var, expr value) {
    struct block copy = clone_block(c, body), b = {0};
    block_move(&b, &copy);
    struct subst s = {.map = {.arena = &c->arena}};
    map_put(&s.map, PKEY(var), (void *)value);
    subst_block(c, &b, &s);
    block_move_before(at, &b);
}
void write_out(struct ctx *c, struct stmt *loop, int64_t extent) {
    for (int64_t i = 0; i < extent; i++) copy_with(c, loop, &loop->u.loop.body, loop->u.loop.var, x_int(c, i));
    stmt_remove(loop);
}
