/* Choosing schedules: strategies (point.h) list steps for a kernel; the steps themselves are in steps*.c. Called by
 * lowering for every kernel. */
#ifndef NN_LOWER_SCHEDULE_SCHEDULE_H
#define NN_LOWER_SCHEDULE_SCHEDULE_H
#include "ir/loop/loop.h"
#include "lower/machine/machine.h"
#include "lower/problem/problem.h"
#include "lower/schedule/record.h"
#include "lower/schedule/steps_list.h"

/* The layout chosen for a parameter: axis 1 in blocks of `block` (0: not blocked), zero borders; or packed. */
struct param_layout {
    int block;
    bool halo;
    struct panels panels;
    const char *spec;
};             /* spec: operand of the layout step; NULL: plain */
struct taken { /* what was chosen, for remarks */
    const char *strategy;
    bool last;       /* it is the fallback that fits every kernel */
    bool apart;      /* cells are computed one by one although the machine has vectors */
    double cycles;   /* predicted; 0: there is no estimate */
    const char *why; /* if last: why the other strategies refused */
};
struct scheduling { /* what is common to all kernels of a program */
    const struct machine *machine;
    int threads;             /* most threads that run a kernel */
    bool plain;              /* only steps that layouts need */
    struct records *records; /* points to take; NULL: none */
    struct text *problems;   /* if not NULL, gets the problem of each kernel .. */
    struct text *choices;    /* .. and what was tried and taken, with reasons */
    struct taken *taken;     /* if not NULL, is filled in */
};
/* Chooses and applies steps for a kernel; layouts: one per parameter, NULL: all plain. If no schedule fits, the kernel
 * keeps plain loops, with its layouts. Constant parameters may get any layout: the caller packs them. A record that
 * does not name a point of the kernel gives a warning. */
void schedule_kernel(struct ctx *c, struct proc *p, const struct scheduling *o, const struct param_layout *layouts);
/* Makes those loops of a scheduled kernel parallel for which it pays with that many threads: parallel.c. */
void share_loops(struct ctx *c, struct proc *p, const struct machine *m, int threads, struct text *choices);

/* ---- shared by the strategies (cpu.c) */
/* "y.oc": name of axis k's loop of a stage */
const char *axis_loop(struct ctx *c, const struct stmt *stage, int k);
const char *red_loop(struct ctx *c, const struct stmt *stage, int k);
const struct param_layout *layout_of(const struct proc *p, const struct param_layout *l, const struct buf *b);
void layout_steps(struct step_list *s, const struct proc *p,
                  const struct param_layout *l); /* the steps for all of them */
/* Does the kernel read x only to copy all of it to y (or enough to fill y), *cells further on? all: and it does nothing
 * else. */
bool kernel_copies(struct ctx *c, struct proc *p, const struct buf *y, const struct buf *x, int64_t *cells, bool *all);
#endif
