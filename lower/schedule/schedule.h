/* Choosing schedules: strategies (point.h) that list steps for a kernel; the steps themselves stand in steps*.c. Called
 * by lowering for every kernel. */
#ifndef NN_LOWER_SCHEDULE_SCHEDULE_H
#define NN_LOWER_SCHEDULE_SCHEDULE_H
#include "ir/loop/loop.h"
#include "lower/machine/machine.h"
#include "lower/problem/problem.h"
#include "lower/schedule/record.h"
#include "lower/schedule/steps_list.h"

/* The layout that was chosen for a parameter: axis 1 in blocks of `block` (0: not blocked), zero borders; or packed. */
struct param_layout {
    int block;
    bool halo;
    struct panels panels;
    const char *spec;
};             /* spec: operand of the layout step; NULL: plain */
struct taken { /* what was chosen, for remarks */
    const char *strategy;
    bool last;       /* the one that any kernel can have */
    bool apart;      /* cells are computed one by one, though the machine has vectors */
    double cycles;   /* predicted; 0: nobody estimates them */
    const char *why; /* last: what the others said */
};
struct scheduling { /* what all kernels of a program are scheduled for */
    const struct machine *machine;
    int threads;             /* that run a kernel at most */
    bool plain;              /* no steps but those that layouts need */
    struct records *records; /* points to take; NULL: none */
    struct text *problems;   /* not NULL: gets what the kernel computes .. */
    struct text *choices;    /* .. and what was tried and taken, with reasons */
    struct taken *taken;     /* NULL: nobody asks */
};
/* Chooses and applies steps for a kernel; layouts: one per parameter, NULL: all plain. Without a fitting schedule the
 * kernel keeps plain loops, with its layouts. Constant parameters may get any layout: the caller packs. A record that
 * names no point of the kernel's gives a warning. */
void schedule_kernel(struct ctx *c, struct proc *p, const struct scheduling *o, const struct param_layout *layouts);
/* Makes the loops of a scheduled kernel parallel that are worth it with so many threads: parallel.c. */
void share_loops(struct ctx *c, struct proc *p, const struct machine *m, int threads, struct text *choices);

/* ---- shared by the strategies (cpu.c) */
/* "y.oc": name of axis k's loop of a stage */
const char *axis_loop(struct ctx *c, const struct stmt *stage, int k);
const char *red_loop(struct ctx *c, const struct stmt *stage, int k);
const struct param_layout *layout_of(const struct proc *p, const struct param_layout *l, const struct buf *b);
void layout_steps(struct step_list *s, const struct proc *p,
                  const struct param_layout *l); /* the steps for all of them */
/* The kernel reads x only to copy all of it, or what fills y, to y, *cells further on; all: it does nothing else. */
bool kernel_copies(struct ctx *c, struct proc *p, const struct buf *y, const struct buf *x, int64_t *cells, bool *all);
#endif
