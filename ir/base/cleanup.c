/* Cleans up when a signal or an exit ends the process half way. See cleanup.h. The handler calls only functions that
 * POSIX allows there. */
#include "ir/base/cleanup.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENTRIES_MAX = 256 };
/* what to do at the end; exactly one of the three is set */
static struct {
    const char *volatile path;
    volatile pid_t pid;
    void (*volatile call)(void *); /* set last, cleared first, so that the handler sees complete entries */
    void *volatile env;
} entries[ENTRIES_MAX];
static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                              SIGPIPE, SIGXCPU, SIGBUS}; /* the last one: a mapped file was truncated */
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* Calls rm, because a folder of intermediate files may contain any names, and a signal handler may not list it. */
static void remove_path(const char *path) {
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/rm", "rm", "-rf", "--", path, (char *)NULL);
        _exit(1);
    }
    if (pid > 0) waitpid(pid, NULL, 0);
}
static void clean(void) {
    for (int k = 0; k < ENTRIES_MAX; k++)
        if (entries[k].pid > 0) kill(-entries[k].pid, SIGKILL);
    for (int k = 0; k < ENTRIES_MAX; k++)
        if (entries[k].call) entries[k].call(entries[k].env);
    for (int k = 0; k < ENTRIES_MAX; k++)
        if (entries[k].path) remove_path(entries[k].path);
}
static void on_signal(int number) {
    clean();
    signal(number, SIG_DFL);
    raise(number); /* so that the parent process sees which signal ended it */
}
void cleanup_install(void) {
    atexit(clean);
    struct sigaction a = {.sa_handler = on_signal};
    sigfillset(&a.sa_mask);
    for (int k = 0; k < NUMBERS; k++) {
        struct sigaction was;
        if (sigaction(numbers[k], NULL, &was) == 0 && was.sa_handler != SIG_IGN) sigaction(numbers[k], &a, NULL);
    }
}
static void mask(int how) {
    sigset_t all;
    sigemptyset(&all);
    for (int k = 0; k < NUMBERS; k++) sigaddset(&all, numbers[k]);
    sigprocmask(how, &all, NULL);
}
void cleanup_hold(void) { mask(SIG_BLOCK); }
void cleanup_release(void) { mask(SIG_UNBLOCK); }
void cleanup_child_begins(void) {
    for (int k = 0; k < NUMBERS; k++) {
        struct sigaction was;
        if (sigaction(numbers[k], NULL, &was) == 0 && was.sa_handler == on_signal) signal(numbers[k], SIG_DFL);
    }
    cleanup_release();
}

static int free_entry(void) {
    for (int k = 0; k < ENTRIES_MAX; k++)
        if (!entries[k].path && !entries[k].pid && !entries[k].call) return k;
    return -1;
}
int cleanup_path(const char *path) {
    int k = free_entry();
    if (k >= 0) entries[k].path = path;
    return k;
}
int cleanup_child(pid_t pid) {
    int k = free_entry();
    if (k >= 0) entries[k].pid = pid;
    return k;
}
int cleanup_call(void (*call)(void *), void *env) {
    int k = free_entry();
    if (k >= 0) entries[k].env = env;
    if (k >= 0) entries[k].call = call;
    return k;
}
void cleanup_drop(int number) {
    if (number < 0) return;
    entries[number].path = NULL;
    entries[number].pid = 0;
    entries[number].call = NULL;
}
void cleanup_now(int number) {
    if (number >= 0 && entries[number].path) remove_path(entries[number].path);
    cleanup_drop(number);
}
