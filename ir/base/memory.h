/* Memory from the system that is freed individually, where an arena does not fit. Like an arena, none of these ever
 * returns NULL: if memory runs out, the process ends with code 5 (see die.h). A test ensures that no other file calls
 * malloc. */
#ifndef NN_IR_BASE_MEMORY_H
#define NN_IR_BASE_MEMORY_H
#include <stdbool.h>
#include <stddef.h>

bool memory_can(size_t bytes); /* could that much be allocated now? */
void *memory_new(size_t bytes);
void *memory_zeroed(size_t n, size_t size);
void *memory_grown(void *p, size_t bytes); /* realloc; p may be NULL */
#endif
