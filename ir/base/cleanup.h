/* What a signal leaves behind, or an exit that is our bug or for want of memory: nothing. Temporary files and folders,
 * and running children, are noted here while they exist; they are ended and removed before the process is gone. */
#ifndef NN_IR_BASE_CLEANUP_H
#define NN_IR_BASE_CLEANUP_H
#include <sys/types.h>

void cleanup_install(void);
/* A file or folder to remove; the number for cleanup_drop, or -1 when the list is full. */
int cleanup_path(const char *path);
int cleanup_child(pid_t pid); /* leader of a process group of its own */
void cleanup_drop(int number);
#endif
