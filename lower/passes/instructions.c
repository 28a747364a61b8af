/* Pass `instructions`: replaces an instruction that the target does not have by its reference body, which is loop IR.
 * The others are printed as their rows say. See passes.h. */
#include "lower/passes/passes.h"

/* Reference bodies may have loops inside of lanes, which vector loops elsewhere may not. */
static bool serial_lanes(void *env, struct stmt *s) {
    (void)env;
    if (s->kind != S_FOR || s->u.loop.kind != LK_VECTOR) return true;
    for (const struct stmt *t = s->u.loop.body.first; t; t = t->next)
        if (t->kind != S_STORE) s->u.loop.kind = LK_SERIAL;
    return true;
}
static bool in_stmt(void *env, struct stmt *s) {
    if (s->kind != S_INSTR) return true;
    const struct instr_row *row = printed_instr(env, s->u.instr.row->name);
    if (row && row->c && s->u.instr.row->holes[0].name) return false;
    struct block body = {0};
    walk(&s->u.instr.body, serial_lanes, NULL);
    block_move(&body, &s->u.instr.body);
    stmt_replace(s, &body);
    return false;
}
void pass_instructions(struct module *m, const struct printing *o) {
    for (int k = 0; k < m->procs.n; k++) walk(&m->procs.v[k]->body, in_stmt, (void *)o);
}
