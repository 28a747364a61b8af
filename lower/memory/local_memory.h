/* Where the local buffers of a procedure lie: in registers or on the stack when they are small, else in scratch memory
 * that the caller gives; and how much of that it is. Asked by passes and printers, and by the plan of the arena. */
#ifndef NN_LOWER_MEMORY_LOCAL_MEMORY_H
#define NN_LOWER_MEMORY_LOCAL_MEMORY_H
#include "ir/loop/loop.h"

bool is_local(const struct buf *b);                              /* its memory belongs to the procedure */
expr local_bytes(struct ctx *c, const struct buf *b);            /* an upper bound when its dims depend on loops */
bool is_on_stack(struct ctx *c, const struct buf *b);            /* small enough for an array in the function */
bool proc_uses(const struct proc *p, const struct buf *b);       /* does anything in p access b? */
bool block_allocs(const struct block *b, const struct buf *buf); /* is it allocated there, or in a block below? */
bool proc_allocs(const struct proc *p, const struct buf *b);
expr scratch_round(struct ctx *c, expr bytes); /* to what scratch is aligned to */
/* Bytes of scratch that p needs of its caller (alignment 64), an index expression over its symbols. */
expr scratch_bytes(struct ctx *c, const struct proc *p);
/* The part of it that a block needs for what is allocated there and below; of a parallel loop each slice does. */
expr block_scratch(struct ctx *c, const struct proc *p, const struct block *b);
#endif
