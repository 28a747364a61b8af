/* The memory plan: where in the single arena each buffer allocated by the entry procedure lies (docs/storage.md). Made
 * after lowering and scheduling, read by codegen/entry_buffers.c and checked by plan_verify.c. */
#ifndef NN_LOWER_MEMORY_PLAN_H
#define NN_LOWER_MEMORY_PLAN_H
#include "ir/loop/loop.h"
#include "ir/loop/target.h"

enum plan_class { PLAN_STATIC, PLAN_SYMBOLIC, PLAN_REGION }; /* S, P, R */
struct plan_slot {
    struct buf *buf; /* an S_ALLOC of the entry, any depth */
    enum plan_class cls;
    expr bytes;     /* with alignment; IDX over input symbols (R: also produced ones) */
    int64_t offset; /* S, if the whole plan is static; otherwise -1 */
    /* Symbolic plans: offset = max over `below` of offset(j) + bytes(j), 0 if there are none. Slots are sorted so that
     * every `below` comes first. */
    const int *below;
    int nbelow;
    int alias;         /* slot whose storage this one shares (in place, view), or -1 */
    expr alias_offset; /* bytes into it; NULL: 0 */
    int first, last;   /* live range: positions of statements in execution order of the entry */
};
struct plan_call {
    const struct stmt *call;
    int at; /* its position */
};
struct memory_plan {
    VEC(struct plan_slot) slots;
    VEC(struct plan_call) calls; /* calls of the entry, in order, at the time of the plan */
    int positions;
    bool is_static; /* no symbols: peak is a number */
    int64_t peak;   /* bytes, at the reference dims when symbolic */
    int64_t bound;  /* lower bound in bytes, at the same dims (see plan_bound.c) */
    bool has_region;
};
enum { PLAN_ALIGN = 64 };
/* dims: reference values of symbols, NULL: 1 for each. */
struct memory_plan *memory_plan(struct module *m, int64_t (*reference)(void *env, const struct sym *s), void *env);
bool slot_placed(const struct plan_slot *s); /* has it its own place in the arena? */
struct plan_slot *plan_slot_of(const struct memory_plan *p, const struct buf *b); /* NULL if none */
/* Most logical bytes alive at any step: no plan can be smaller (plan_bound.c). */
int64_t plan_bound(struct module *m, int64_t (*reference)(void *env, const struct sym *s), void *env);
/* Recomputes from the finished plan that no two live byte ranges overlap unless they are aliases; shares no code with
 * the planner. */
bool plan_verify(struct module *m, struct memory_plan *p);
#endif
