/* The ways to end at once: no memory left, a limit of ours reached. (A broken invariant ends in bug(), see diag.h.) */
#ifndef NN_IR_BASE_DIE_H
#define NN_IR_BASE_DIE_H
#include <stddef.h>

enum { EXIT_INTERNAL = 70 }; /* EX_SOFTWARE: what the process returns after any of these */

/* No memory for `wanted` bytes (SIZE_MAX: a size that overflowed). */
_Noreturn void die_memory(size_t wanted);
/* An arena would have grown past its limit. */
_Noreturn void die_limit(size_t limit);
#endif
