/* Machine rows (lower/machine/): every target has one that says what schedules ask. */
#include "ir/loop/target.h"
#include "lower/machine/machine.h"
#include <criterion/criterion.h>
#include <string.h>

Test(machine, every_target_names_one) {
    for (int k = 0; nn_targets[k]; k++) {
        const struct target *t = nn_targets[k];
        const struct machine *m = t->machine;
        cr_assert(m && m->name, "%s", t->name);
        cr_assert_eq(m->gpu != NULL, t->cls == TC_GPU, "%s", t->name);
        cr_assert_eq(machine_lanes(m, F32) > 1, t->emit == EMIT_C_VECTOR, "%s", t->name);
        cr_assert(machine_registers(m) >= 8 && m->l1.bytes > 0 && m->line > 0, "%s", t->name);
        cr_assert(machine_multiply_add(m, F32)->starts > 0, "%s", t->name);
    }
}
Test(machine, a_cpu_says_what_its_schedules_ask) {
    for (int k = 0; nn_targets[k]; k++) {
        const struct machine *m = nn_targets[k]->machine;
        if (m->gpu) continue;
        cr_assert(machine_op(m, X_ADD, F32) && machine_op(m, X_LOAD, F32), "%s", m->name);
        cr_assert(m->l1.byte > 0 && m->l2.byte >= m->l1.byte && m->partial_sum_byte > 0, "%s", m->name);
        cr_assert(m->streams > 0 && m->panel_vectors > 0 && m->body > 0 && m->stack_cells > 0 && m->row_cells > 0, "%s",
                  m->name);
    }
}
static bool has_instr(const struct target *t, const char *name) {
    for (const struct instr_row *const *r = t->instrs; r && *r; r++)
        if (!strcmp((*r)->name, name)) return true;
    return false;
}
/* Without it the body would be printed, and predicted as if it were the instruction. */
Test(machine, a_target_has_the_instructions_of_its_machine) {
    for (int k = 0; nn_targets[k]; k++) {
        const struct machine *m = nn_targets[k]->machine;
        for (int blocks = 0; blocks < 2; blocks++)
            for (const struct micro_speed *s = blocks ? m->blocks : m->micros; s && s->micro; s++)
                if (s->micro->instr)
                    cr_assert(has_instr(nn_targets[k], s->micro->instr), "%s lacks %s", nn_targets[k]->name,
                              s->micro->instr);
    }
}
Test(machine, a_gpu_has_tiles_that_fill_its_blocks) {
    const struct gpu *g = machine_nvidia.gpu;
    int side = g->tile / g->cell;
    cr_assert(g->tile % g->cell == 0 && side * side == g->block_threads && g->block_threads <= g->max_threads);
    cr_assert(g->block_threads % g->warp == 0 && g->few_threads % g->warp == 0);
    cr_assert(2 * g->tile * g->depth * 4 <= g->shared_bytes);
    cr_assert(g->tile % g->warps == 0 && g->warps * g->warps * g->warp <= g->max_threads);
}
/* Integers of 16 bits are summed in groups, halves one by one. */
Test(machine, groups_follow_from_the_type) {
    cr_assert_eq(machine_group(&machine_neon, I8), 4);
    cr_assert_eq(machine_group(&machine_neon, I16), 4);
    cr_assert_eq(machine_group(&machine_neon, F16), 1);
    cr_assert_eq(machine_group(&machine_avx2, I16), 2);
    cr_assert_eq(machine_group(&machine_c99, I8), 1);
}
Test(machine, lanes_follow_from_the_type) {
    cr_assert_eq(machine_lanes(&machine_avx512, F32), 16);
    cr_assert_eq(machine_lanes(&machine_avx512, I8), 64);
    cr_assert_eq(machine_lanes(&machine_neon, F64), 2);
    cr_assert_eq(machine_lanes(&machine_c99, F32), 1);
    cr_assert_null(machine_op(&machine_sse2, X_FMA, F32));
    cr_assert_eq(machine_multiply_add(&machine_sse2, F32)->op, X_ADD);
    cr_assert_eq(machine_multiply_add(&machine_avx2, F32)->op, X_FMA);
}
