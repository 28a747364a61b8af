/* The ways to end at once: no memory left, a limit of ours reached. (A broken invariant ends in bug(), see diag.h.) */
#ifndef NN_IR_BASE_DIE_H
#define NN_IR_BASE_DIE_H
#include <stddef.h>

enum { EXIT_MEMORY = 5 };    /* as when anything else is missing in the environment */
enum { EXIT_INTERNAL = 70 }; /* EX_SOFTWARE: a mistake of ours */

/* No memory for `wanted` bytes (0: some). SIZE_MAX, a size that overflowed and that nobody checked, is a mistake. */
_Noreturn void die_memory(size_t wanted);
/* An arena would have grown past its limit. */
_Noreturn void die_limit(size_t limit);
#endif
