/* Schedules as lists of steps, for strategies: these functions append steps. Names, conditions and lists are copied. */
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

/* ---- lists that steps hold, either written out or grown; {0} is empty. Names that are NULL are left out. */
#define COUNT_OF(T, ...) (int)(sizeof((const T[]){__VA_ARGS__}) / sizeof(T))
#define LOOPS(...)       ((struct word_list){(const char *[]){__VA_ARGS__}, COUNT_OF(char *, __VA_ARGS__), 0})
#define LAYOUT(...)                                                                                                    \
    ((struct layout_dims){(struct layout_dim[]){__VA_ARGS__}, COUNT_OF(struct layout_dim, __VA_ARGS__), 0})
void add_loop(struct step_list *l, struct word_list *to, const char *loop);
void add_loops(struct step_list *l, struct word_list *to, struct word_list more);
void add_dim(struct step_list *l, struct layout_dims *to, struct layout_dim d);

static inline struct layout_dim dim_whole(int d) { return (struct layout_dim){d, DIM_WHOLE, 0, 0}; }
static inline struct layout_dim dim_div(int d, int64_t by) { return (struct layout_dim){d, DIM_DIV, by, 0}; }
static inline struct layout_dim dim_mod(int d, int64_t by) { return (struct layout_dim){d, DIM_MOD, by, 0}; }
/* d // by % n */
static inline struct layout_dim dim_digit(int d, int64_t by, int64_t n) {
    return (struct layout_dim){d, DIM_DIVMOD, by, n};
}
static inline struct layout_dim dim_halo(int d, int64_t lo, int64_t hi) {
    return (struct layout_dim){d, DIM_HALO, lo, hi};
}
static inline struct layout_dim dim_flat(int d, int e) { return (struct layout_dim){d, DIM_FLAT, e, 0}; }

/* ---- the kinds */
void step_split(struct step_list *l, const char *loop, int64_t factor, const char *outer, const char *inner,
                enum step_tail tail);
/* The last tile starts early and covers a whole number of pieces. */
void step_split_early(struct step_list *l, const char *loop, int64_t factor, const char *outer, const char *inner,
                      int64_t pieces);
void step_tiles(struct step_list *l, const char *loop, const char *outer, const char *inner,
                const struct tile_size *sizes, int n);
void step_cut(struct step_list *l, const char *loop, int64_t n, const char *name); /* name NULL: the same name */
void step_widen(struct step_list *l, const char *loop, int64_t n);
void step_pad(struct step_list *l, const char *loop, int64_t n);
void step_reorder(struct step_list *l, struct word_list loops); /* no step for fewer than two loops */
void step_fuse(struct step_list *l, const char *outer, const char *inner, const char *name);
void step_kind(struct step_list *l, enum loop_kind kind, struct word_list loops); /* no step if there is no loop */
void step_grain(struct step_list *l, const char *loop, int64_t n);
void step_outline(struct step_list *l, const char *loop);
void step_layout(struct step_list *l, const char *buf, struct layout_dims dims);
void step_compute_at(struct step_list *l, const char *buf, const char *loop, enum scope scope); /* SC_PARAM: not
                                                                                                 * written */
void step_cache_read(struct step_list *l, const char *buf, const char *name, const char *reader);
void step_cache_write(struct step_list *l, const char *buf, const char *name);
void step_rfactor(struct step_list *l, const char *buf, const char *loop, int64_t lanes, const char *name);
void step_carry(struct step_list *l, const char *loop, const char *outer, const char *buf);
void step_join(struct step_list *l, const char *first, const char *second);
void step_specialize(struct step_list *l, const char *loop, const char *cond, const char *name);
void step_inline(struct step_list *l, const char *buf);
void step_skip(struct step_list *l, const char *loop);
void step_noinline(struct step_list *l, const char *fn);
void step_prefetch(struct step_list *l, const char *buf, int line, const char *at, const char *ahead,
                   struct word_list spread);
void step_pipeline(struct step_list *l, const char *loop, struct word_list bufs);
void step_tensorize(struct step_list *l, const char *instr);
void step_scratch(struct step_list *l, const char *buf);
void step_border(struct step_list *l, const char *result);
void step_over(struct step_list *l, const char *result, const char *operand);
void step_within(struct step_list *l, const char *result, const char *operand);

/* Applies all of them; stops at the first one that is refused. */
bool steps_do(struct proc *p, const struct step_list *l);
/* Applies all steps or none. Returns NULL, or the first reason for which it failed; leaves no diagnostics. */
const char *steps_refused(struct proc *p, const struct step_list *steps);
/* One step a line. */
const char *step_list_text(const struct step_list *l);
#endif
