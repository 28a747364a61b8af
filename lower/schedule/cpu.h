/* Shared by the schedules for CPUs: the text that grows, and what every kind of kernel needs of it. One file a kind:
 * contraction.c, window.c, map.c, pointwise.c; cpu.c tries them in turn. What they choose is described in
 * docs/schedules.md. */
#ifndef NN_LOWER_SCHEDULE_CPU_H
#define NN_LOWER_SCHEDULE_CPU_H
#include "lower/schedule/schedule.h"
#include "lower/schedule/steps.h"

struct plan { /* of one kernel's schedule, and the text that grows */
    struct ctx *c;
    struct proc *p;
    const struct machine *m;
    const struct problem *k;
    const struct param_layout *l;
    struct text s;
};
static inline int lanes_of(const struct plan *u) { return machine_lanes(u->m, F32); }
/* Each writes and applies a schedule, or leaves the kernel alone and returns false. */
bool schedule_contraction(struct plan *u);
bool schedule_window(struct plan *u);
bool schedule_blocked_map(struct plan *u);
bool schedule_nests(struct plan *u);
bool schedule_cells(struct plan *u);

void plan_clear(struct plan *u); /* empties the text */
void plan_start(struct plan *u); /* empties the text, then the steps for the layouts of the parameters */
bool plan_apply(struct plan *u);
void plan_inline_maps(struct plan *u); /* all maps before the result go into it */
/* The loop, of that extent, is split into the two loops that `inside` names: tiles of at most `most` units, balanced.
 */
void plan_tiles(struct plan *u, const char *loop, const char *inside, int64_t extent, int64_t unit, int64_t most);
/* out's nest with the channel block innermost, in tiles of pixels for the stage tile_of, if any (window.c). */
void blocked_nest(struct plan *u, const struct stmt *out, int lanes, const char *tile_of);
bool lanes_fit(const struct stmt *s); /* s has a constant number of channels */
/* For a blocked result: what constants hold for each channel is blocked as well. besides: one that has its layout. */
void plan_channels(struct plan *u, const struct stmt *out, const struct buf *besides);
/* Where channels do not fill their last block, the loop acc (may be NULL) and out's run over all of it. */
void plan_widen(struct plan *u, const char *acc, const struct stmt *out);
/* Position of a bare variable among the indices of a load, -1 if it is not bare there. */
int dim_of(expr load, const struct var *v);
#endif
