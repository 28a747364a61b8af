/* Schedule steps: from the naive nests of a group to tiled, packed, vectorised loops, one small legal step at a time.
 *
 * A schedule is text: steps separated by `;` or newlines, e.g.  split y.ow 14 wo wi; compute_at acc wo; kind unroll wi
 * A loop name means every loop with that name, a buffer name every instance with that base name. A step either applies
 * completely or leaves the procedure as it was and records E_STEP, naming step, loop or buffer, reason and remedy.
 * Grammar and meaning of each step: the table in steps.c. */
#ifndef NN_LOWER_SCHEDULE_STEPS_H
#define NN_LOWER_SCHEDULE_STEPS_H
#include "ir/loop/loop.h"
#include "ir/loop/target.h"

/* exact: same bits before and after. reassociating: sums are done in another order. Some steps are the one or the
 * other, depending on what they are applied to: they say so in the step's effect. */
enum step_effect { STEP_REFUSED, STEP_EXACT, STEP_REASSOCIATES };

/* One step; stages that are left are lowered to nests first. On success the line is appended to p->steps. */
bool step_apply(struct ctx *c, struct proc *p, const char *line);
enum step_effect step_effect_of(struct ctx *c, struct proc *p, const char *line); /* the same, and says which it was */
/* All steps of a text, stops at the first refused one. */
bool steps_apply(struct ctx *c, struct proc *p, const char *text);
/* All steps of p->todo, which is then empty. */
bool steps_replay(struct ctx *c, struct proc *p);
/* Replaces every nest that equals the row's body by the instruction: what `tensorize NAME` does after looking the row
 * up in the instruction tables of the targets. */
bool step_tensorize(struct ctx *c, struct proc *p, const struct instr_row *row);

/* Not a step, but done by lowering for targets with fma, before scheduling: every float update  x[i] += a*b  becomes
 * x[i] = fma(a, b, x[i])  (one rounding instead of two). Products of casts and of constants count as products; sums
 * of anything else stay. Steps take the new form for the reduction it is. */
void use_fma(struct ctx *c, struct proc *p);

/* The table, for help texts and docs. */
struct step;
struct step_row {
    const char *name, *args; /* "L FACTOR OUTER INNER [cut|cut2|guard|overlap] [sizes=[N|N*COUNT ..]]" */
    bool reassociates;       /* may change the order of a float sum */
    bool (*apply)(struct step *s);
    const char *doc;
};
extern const struct step_row step_rows[]; /* name NULL ends */
const struct step_row *step_row_by_name(const char *name);
#endif
