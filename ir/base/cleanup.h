/* What a signal leaves behind, or an exit that is our bug or for want of memory: nothing. Temporary files and folders,
 * and running children, are noted here while they exist; they are ended and removed before the process is gone. */
#ifndef NN_IR_BASE_CLEANUP_H
#define NN_IR_BASE_CLEANUP_H
#include <sys/types.h>

void cleanup_install(void);
/* A folder of ours in a place for temporary ones, to remove with all that is in it. Gives the number for cleanup_drop,
 * or -1 when the list is full. The text must stay till then. */
int cleanup_path(const char *path);
int cleanup_child(pid_t pid); /* leader of a process group of its own */
/* Something else to do. `call` may be run by a signal handler. */
int cleanup_call(void (*call)(void *), void *env);
void cleanup_drop(int number);
void cleanup_now(int number); /* removes the folder, and drops */
/* Between these no signal ends the process: what is made there is noted before one can. */
void cleanup_hold(void);
void cleanup_release(void);
/* In a child, after fork: a signal ends it and cleans nothing up, which is its parent's. */
void cleanup_child_begins(void);
#endif
