/* The table of measurable numbers, and a row with others in their place; see numbers.h. */
#include "lower/machine/numbers.h"
#include <assert.h>
#include <string.h>

#define OF_MACHINE(field)             offsetof(struct machine, field), X_POISON, NONE
#define OF_OPERATION(op, type, field) offsetof(struct operation, field), op, type
#define LATENCY(name_, op_, text)                                                                                      \
    {                                                                                                                  \
        name_ ".latency", "cycles", NUMBER_INT, 1, 64, OF_OPERATION(op_, F32, latency),                                \
            "until the next one can use the result of " text, "a chain in which each waits for the one before"         \
    }
#define STARTS(name_, op_, text, how_)                                                                                 \
    { name_ ".starts", "1/cycle", NUMBER_RATE, 1 / 256.0, 16, OF_OPERATION(op_, F32, starts), text, how_ }
#define SIDE_BY_SIDE "several chains side by side"
#define SYSTEM       "what the system says of the first CPU's data cache"

const struct number_row machine_numbers[] = {
    {"l1.bytes", "bytes", NUMBER_BYTES, 1 << 12, 1 << 22, OF_MACHINE(l1.bytes), "size of the first level of cache",
     SYSTEM},
    {"l1.ways", "lines", NUMBER_INT, 1, 64, OF_MACHINE(l1.ways), "lines that a set of the first level holds", SYSTEM},
    {"l1.byte", "cycles/byte", NUMBER_REAL, 1 / 4096.0, 8, OF_MACHINE(l1.byte),
     "what a byte costs that comes from the second level, besides the operations",
     "a tile of multiply-adds with its panel there, less the same with the panel in the first level"},
    {"l2.bytes", "bytes", NUMBER_BYTES, 1 << 14, 1 << 28, OF_MACHINE(l2.bytes), "size of the second level of cache",
     SYSTEM},
    {"l2.byte", "cycles/byte", NUMBER_REAL, 1 / 4096.0, 32, OF_MACHINE(l2.byte),
     "what a byte costs that comes from beyond the second level, besides the operations",
     "the same tile with panels of four times the second level"},
    {"memory_byte", "cycles/byte", NUMBER_REAL, 1 / 1024.0, 64, OF_MACHINE(memory_byte),
     "a byte of weights, which nothing has kept since the last run",
     "reading twice the last level of cache, 64 to 512 MiB, from end to end"},
    {"partial_sum_byte", "cycles/byte", NUMBER_REAL, 1 / 1024.0, 16, OF_MACHINE(partial_sum_byte),
     "a byte of a sum that waits in memory, for each access",
     "loading, adding to and storing half of the second level, by two accesses"},
    {"line", "bytes", NUMBER_INT, 16, 1024, OF_MACHINE(line), "a line of cache", SYSTEM},
    LATENCY("multiply_add", X_FMA, "a fused multiply-add of f32"),
    STARTS("multiply_add", X_FMA, "fused multiply-adds of vectors of f32", SIDE_BY_SIDE),
    LATENCY("add", X_ADD, "an addition of f32"),
    STARTS("add", X_ADD, "additions of vectors of f32", SIDE_BY_SIDE),
    STARTS("load", X_LOAD, "loads of vectors from the first level", "loads that nothing waits for"),
    STARTS("divide", X_DIV, "divisions of vectors of f32", SIDE_BY_SIDE),
    {"fork", "cycles", NUMBER_REAL, 10, 1e7, OF_MACHINE(fork), "until several threads have begun a loop and ended it",
     "an empty loop, given to the pool that generated code takes along, of up to four threads, a little work apart; "
     "the first quartile"},
    {"division", "cycles", NUMBER_REAL, 1, 256, OF_MACHINE(division),
     "a division of an index, which loops that became one need", "a chain of divisions of 64 bits"},
    {0},
};
static_assert(sizeof machine_numbers / sizeof *machine_numbers <= NUMBERS_MAX + 1, "NUMBERS_MAX");

/* The number in m, or in its copy, whose operations are `ops`; NULL: the row has no such operation. */
static const void *place_of(const struct machine *m, const struct operation *ops, const struct number_row *n) {
    if (n->type == NONE) return (const char *)m + n->offset;
    for (; ops->op != X_POISON; ops++)
        if (ops->op == n->op && ops->type == n->type) return (const char *)ops + n->offset;
    return NULL;
}
bool machine_number(const struct machine *m, const struct number_row *n, double *value) {
    const void *at = place_of(m, m->ops, n);
    if (!at) return false;
    if (n->kind == NUMBER_INT) *value = *(const int *)at;
    else if (n->kind == NUMBER_BYTES) *value = (double)*(const int64_t *)at;
    else *value = *(const double *)at;
    return *value != 0;
}
static void put(void *at, enum number_kind kind, double value) {
    if (kind == NUMBER_INT) *(int *)at = (int)value;
    else if (kind == NUMBER_BYTES) *(int64_t *)at = (int64_t)value;
    else *(double *)at = value;
}
/* Instructions start in proportion to f32 multiply-adds, as in the row: they share units. */
static const struct micro_speed *micros_with(struct arena *a, const struct micro_speed *list, const struct machine *m,
                                             const struct machine *with) {
    int n = 1;
    const struct operation *was = machine_op(m, X_FMA, F32), *is = machine_op(with, X_FMA, F32);
    for (const struct micro_speed *s = list; s && s->micro; s++) n++;
    if (!list || !was) return list;
    struct micro_speed *copy = NEWN(a, struct micro_speed, n);
    memcpy(copy, list, (size_t)n * sizeof *copy);
    for (int k = 0; k < n - 1; k++) copy[k].starts *= is->starts / was->starts;
    return copy;
}
/* Rows are shared by all compilations of a process, and their operations by several rows: both are copied. */
const struct machine *machine_with(struct arena *a, const struct machine *m, const double *values) {
    int nops = 1;
    for (const struct operation *o = m->ops; o->op != X_POISON; o++) nops++;
    struct machine *copy = NEW(a, struct machine);
    struct operation *ops = NEWN(a, struct operation, nops);
    *copy = *m;
    memcpy(ops, m->ops, (size_t)nops * sizeof *ops);
    copy->ops = ops;
    for (int k = 0; machine_numbers[k].name; k++) {
        const struct number_row *n = &machine_numbers[k];
        double before;
        if (machine_number(m, n, &before)) put((void *)(uintptr_t)place_of(copy, ops, n), n->kind, values[k]);
    }
    copy->micros = micros_with(a, m->micros, m, copy);
    copy->blocks = micros_with(a, m->blocks, m, copy);
    return copy;
}
