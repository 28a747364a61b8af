/* Cleaning up when a signal ends the process, or an exit because of a bug or lack of memory. Temporary files and
 * folders, and running children, are registered here while they exist; they are removed and ended before the process is
 * gone. */
#ifndef NN_IR_BASE_CLEANUP_H
#define NN_IR_BASE_CLEANUP_H
#include <sys/types.h>

void cleanup_install(void);
/* A temporary folder of ours, to be removed with its contents. Returns a number for cleanup_drop, or -1 if the list is
 * full. The text must stay valid until then. */
int cleanup_path(const char *path);
int cleanup_child(pid_t pid); /* leader of its own process group */
/* Anything else to do. A signal handler may run `call`. */
int cleanup_call(void (*call)(void *), void *env);
void cleanup_drop(int number);
void cleanup_now(int number); /* removes the folder, and drops */
/* Between these two no signal ends the process, so that whatever is created there is registered first. */
void cleanup_hold(void);
void cleanup_release(void);
/* In a child, after fork: a signal ends it without cleaning up, which is up to the parent. */
void cleanup_child_begins(void);
#endif
