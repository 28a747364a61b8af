/* Questions to a machine row; see machine.h. */
#include "lower/machine/machine.h"
#include <math.h>

const struct operation *machine_op(const struct machine *m, enum xop op, enum dtype t) {
    for (const struct operation *o = m->ops; o->op != X_POISON; o++)
        if (o->op == op && o->type == t) return o;
    return NULL;
}
const struct operation *machine_multiply_add(const struct machine *m, enum dtype t) {
    const struct operation *o = machine_op(m, X_FMA, t);
    return o ? o : machine_op(m, X_ADD, t);
}
double micro_products(const struct machine *m, const struct micro_speed *s) {
    return (s->micro->n0 ? s->micro->n0 : machine_lanes(m, s->micro->sum)) * s->micro->k0 * s->starts;
}
int64_t machine_least_blocks(const struct machine *m) {
    enum { OFTEN = 2, FAST = 32, SLOW = 128 }; /* measured with and without VNNI */
    return micro_products(m, m->blocks) > OFTEN * machine_products(m, F32, F32) ? FAST : SLOW;
}
bool machine_prefers_bytes(const struct machine *m) {
    enum { COPIES = 2 }; /* how many times as fast they must be, since both factors are copied */
    double bytes = fmax(machine_products(m, U8, I32), machine_products(m, I8, I32));
    return !m->gpu && bytes > COPIES * machine_products(m, F32, F32);
}
double micro_sums(const struct machine *m, const struct micro *micro, double cells) {
    enum { ACCESSES = 4 }; /* accesses per sum: initialised there, loaded, stored, loaded by the epilogue */
    return micro_has_tiles(micro) ? cells / micro->n0 * ACCESSES / machine_op(m, X_LOAD, F32)->starts : 0;
}
double machine_products(const struct machine *m, enum dtype t, enum dtype sum) {
    for (const struct micro_speed *s = m->micros; s && s->micro; s++)
        if (s->micro->a == t && s->micro->sum == sum) return micro_products(m, s);
    const struct operation *op = machine_multiply_add(m, sum);
    return op ? op->starts * machine_lanes(m, sum) : 0;
}
/* Does it take operands of that type, or bytes of the other sign? An instruction that is only correct for weights of
 * seven bits is not a reason to choose a layout. */
static bool takes(const struct micro *micro, enum dtype t) {
    int64_t lo, hi;
    bool floats = dtype_is_float(micro->a) || dtype_is_float(t);
    if (floats ? micro->a != t : dtype_bytes(micro->a) != dtype_bytes(t)) return false;
    return !micro_within(micro, &lo, &hi) || hi >= INT8_MAX;
}
int machine_block(const struct machine *m, enum dtype t, int64_t channels) {
    int lanes = machine_lanes(m, F32);
    for (const struct micro_speed *s = m->micros; s && s->micro; s++)
        if (takes(s->micro, t) && s->micro->k0 % lanes == 0 && channels % s->micro->k0 == 0) return s->micro->k0;
    return lanes;
}
int machine_group(const struct machine *m, enum dtype t) {
    for (const struct micro_speed *s = m->micros; s && s->micro; s++)
        if (takes(s->micro, t)) return s->micro->k0;
    return 1;
}
int machine_colliding(const struct machine *m, int rows, int64_t apart) {
    int64_t sets = m->l1.ways ? m->l1.bytes / m->line / m->l1.ways : 0;
    int found = 0;
    if (!sets || rows <= m->l1.ways || apart < m->line || apart > 1 << 30) return 0;
    for (int i = 0; i < rows; i++) {
        int together = 0;
        for (int k = 0; k < rows; k++) together += i * apart / m->line % sets == k * apart / m->line % sets;
        found += together > m->l1.ways;
    }
    return found;
}
const struct squares *machine_squares(const struct machine *m, squares_fn *fits, void *env) {
    const struct squares *largest = NULL;
    for (const struct squares *q = m->squares; q && q->n; q++) {
        int64_t apart;
        if (!fits(env, q, &apart)) continue;
        if (!machine_colliding(m, squares_rows(q), apart)) return q;
        if (!largest) largest = q;
    }
    return largest;
}
