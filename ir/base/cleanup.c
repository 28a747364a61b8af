/* Nothing is left behind by a signal or an exit in the midst of things. See cleanup.h. The handler calls only what
 * POSIX allows there. */
#include "ir/base/cleanup.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENTRIES_MAX = 256 };
static struct {
    char *volatile path; /* set last, cleared first: what the handler sees is whole */
    volatile pid_t pid;
} entries[ENTRIES_MAX];

static void clean(void) {
    for (int k = 0; k < ENTRIES_MAX; k++)
        if (entries[k].pid > 0) kill(-entries[k].pid, SIGKILL);
    for (int k = 0; k < ENTRIES_MAX; k++)
        if (entries[k].path) {
            pid_t pid = fork();
            if (pid == 0) {
                execl("/bin/rm", "rm", "-rf", "--", entries[k].path, (char *)NULL);
                _exit(1);
            }
            if (pid > 0) waitpid(pid, NULL, 0);
        }
}
static void on_signal(int number) {
    clean();
    signal(number, SIG_DFL);
    raise(number); /* whoever waits for this process sees what ended it */
}
void cleanup_install(void) {
    /* SIGBUS: somebody made a mapped file shorter */
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGBUS};
    atexit(clean);
    struct sigaction a = {.sa_handler = on_signal};
    sigfillset(&a.sa_mask);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        struct sigaction was;
        if (sigaction(numbers[k], NULL, &was) == 0 && was.sa_handler != SIG_IGN) sigaction(numbers[k], &a, NULL);
    }
}
static int free_entry(void) {
    int k = 0;
    while (k < ENTRIES_MAX && (entries[k].path || entries[k].pid)) k++;
    return k < ENTRIES_MAX ? k : -1;
}
int cleanup_path(const char *path) {
    int k = free_entry();
    if (k >= 0) entries[k].path = strdup(path);
    return k;
}
int cleanup_child(pid_t pid) {
    int k = free_entry();
    if (k >= 0) entries[k].pid = pid;
    return k;
}
void cleanup_drop(int number) {
    if (number < 0) return;
    char *path = entries[number].path;
    entries[number].path = NULL;
    entries[number].pid = 0;
    free(path);
}
