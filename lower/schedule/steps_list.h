/* Schedules as lists of steps: what chooses a schedule appends steps by these functions, instead of writing text. Names
 * and conditions are kept, not copied; arrays are copied. */
#ifndef NN_LOWER_SCHEDULE_STEPS_LIST_H
#define NN_LOWER_SCHEDULE_STEPS_LIST_H
#include "ir/base/ctx.h"
#include "ir/base/vec.h"
#include "lower/schedule/steps.h"

struct step_list {
    struct ctx *c;
    struct step *v;
    int n, cap;
}; /* {.c = c} is empty */

void step_split(struct step_list *l, const char *loop, int64_t factor, const char *outer, const char *inner,
                enum step_tail tail);
void step_tiles(struct step_list *l, const char *loop, const char *outer, const char *inner,
                const struct tile_size *sizes, int n);
void step_cut(struct step_list *l, const char *loop, int64_t n);
void step_widen(struct step_list *l, const char *loop, int64_t n);
void step_pad(struct step_list *l, const char *loop, int64_t n);
void step_reorder(struct step_list *l, const char *const *loops, int n);
void step_fuse(struct step_list *l, const char *outer, const char *inner, const char *name);
void step_kind(struct step_list *l, enum loop_kind kind, const char *const *loops, int n);
void step_outline(struct step_list *l, const char *loop);
void step_layout(struct step_list *l, const char *buf, const struct layout_dim *dims, int n);
/* scope: SC_PARAM is the usual one, not said. roll: -1: none. */
void step_compute_at(struct step_list *l, const char *buf, const char *loop, enum scope scope, int roll);
void step_cache_read(struct step_list *l, const char *buf, const char *name, const char *reader);
void step_cache_write(struct step_list *l, const char *buf, const char *name);
void step_rfactor(struct step_list *l, const char *buf, const char *loop, int64_t lanes, const char *name);
void step_carry(struct step_list *l, const char *loop, const char *outer, const char *buf);
void step_join(struct step_list *l, const char *first, const char *second);
void step_specialize(struct step_list *l, const char *loop, const char *cond, const char *name);
void step_inline(struct step_list *l, const char *buf);
void step_prefetch(struct step_list *l, const char *buf, const char *at, const char *ahead, const char *const *spread,
                   int n);
void step_pipeline(struct step_list *l, const char *loop, const char *const *bufs, int n);
void step_tensorize(struct step_list *l, const char *instr);
void step_scratch(struct step_list *l, const char *buf);
void step_border(struct step_list *l, const char *result);
void step_over(struct step_list *l, const char *result, const char *operand);
void step_within(struct step_list *l, const char *result, const char *operand);

/* All of them, stops at the first refused one. */
bool steps_do(struct proc *p, const struct step_list *l);
/* One step a line. */
const char *step_list_text(const struct step_list *l);
#endif
