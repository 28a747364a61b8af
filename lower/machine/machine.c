/* Questions to a machine row; see machine.h. */
#include "lower/machine/machine.h"

const struct operation *machine_op(const struct machine *m, enum xop op, enum dtype t) {
    for (const struct operation *o = m->ops; o->op != X_POISON; o++)
        if (o->op == op && o->type == t) return o;
    return NULL;
}
const struct operation *machine_multiply_add(const struct machine *m, enum dtype t) {
    const struct operation *o = machine_op(m, X_FMA, t);
    return o ? o : machine_op(m, X_ADD, t);
}
int machine_group(const struct machine *m, enum dtype t) {
    for (const struct micro_speed *s = m->micros; s && s->micro; s++)
        if (dtype_bytes(s->micro->a) == dtype_bytes(t) && dtype_is_float(s->micro->a) == dtype_is_float(t))
            return s->micro->k0;
    return 1;
}
