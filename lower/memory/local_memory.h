/* Where a procedure's local buffers are stored: in registers or on the stack if they are small, otherwise in scratch
 * memory that the caller provides; and how much of it is needed. Used by passes and printers, and by the plan of the
 * arena. */
#ifndef NN_LOWER_MEMORY_LOCAL_MEMORY_H
#define NN_LOWER_MEMORY_LOCAL_MEMORY_H
#include "ir/loop/loop.h"

bool is_local(const struct buf *b);                              /* its memory belongs to the procedure */
expr local_bytes(struct ctx *c, const struct buf *b);            /* an upper bound when its dims depend on loops */
bool is_on_stack(struct ctx *c, const struct buf *b);            /* small enough for an array in the function */
bool proc_uses(const struct proc *p, const struct buf *b);       /* does anything in p access b? */
bool block_allocs(const struct block *b, const struct buf *buf); /* is it allocated there, or in a block below? */
bool proc_allocs(const struct proc *p, const struct buf *b);
expr scratch_round(struct ctx *c, expr bytes); /* rounded up to the alignment of scratch memory */
/* Bytes of scratch memory (alignment 64) that p needs from its caller: an index expression over its symbols. */
expr scratch_bytes(struct ctx *c, const struct proc *p);
/* The part that a block needs for what is allocated in it; each slice of a parallel loop needs its own. */
expr block_scratch(struct ctx *c, const struct proc *p, const struct block *b);
#endif
