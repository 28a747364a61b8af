/* Memory from the system that is freed one by one: where an arena does not fit. Like an arena, none of these ever
 * returns NULL: what cannot be had ends the process with code 5 (see die.h). No other file calls malloc; a test holds
 * us to that. */
#ifndef NN_IR_BASE_MEMORY_H
#define NN_IR_BASE_MEMORY_H
#include <stdbool.h>
#include <stddef.h>

bool memory_can(size_t bytes); /* Could so much be had now? */
void *memory_new(size_t bytes);
void *memory_zeroed(size_t n, size_t size);
void *memory_grown(void *p, size_t bytes); /* realloc; p may be NULL */
#endif
