/* Preloaded into gcc2nn by the tests of this folder: makes one call of the C library fail, or ends the process at it.
 *
 *   FAULT_MEMORY=N     allocation N fails; N+ and all after it
 *   FAULT_FILES=N      call N that opens, writes, closes, makes, moves or removes a file fails; N+ and all after it
 *   FAULT_CLOSE=1      of them only those count that close a file which was written
 *   FAULT_ERRNO=E      with this error (28 is ENOSPC)
 *   FAULT_KILL=1       it does not fail, the process is killed in its place
 *   FAULT_SHORT=1      each write takes 7 bytes at most
 *   FAULT_NO_EXCHANGE  a file system that knows no flags of renameat2
 *   FAULT_COUNT=FILE   gets the number of allocations and of file calls, as text
 *
 * Programs that gcc2nn starts are left alone. Failing calls are counted from main on: what the loader does is not ours.
 */
#define _GNU_SOURCE 1
#undef _FILE_OFFSET_BITS /* both names of each function are made here */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-declarations"

struct fault {
    long count, at;
    int from_there_on;
};
static struct fault memory, files;
static int begun, kill_it, only_close, short_writes, no_exchange, error = EIO;
enum { MOST = 1024 };
static char written[MOST]; /* by file descriptor */
static const char *count_file;
static pid_t owner;

static void read_fault(struct fault *f, const char *name) {
    const char *s = getenv(name);
    char *end;
    if (!s) return;
    f->at = strtol(s, &end, 10);
    f->from_there_on = *end == '+';
}
__attribute__((constructor)) static void begin(void) {
    read_fault(&memory, "FAULT_MEMORY");
    read_fault(&files, "FAULT_FILES");
    if (getenv("FAULT_ERRNO")) error = atoi(getenv("FAULT_ERRNO"));
    kill_it = getenv("FAULT_KILL") != NULL;
    only_close = getenv("FAULT_CLOSE") != NULL;
    short_writes = getenv("FAULT_SHORT") != NULL;
    no_exchange = getenv("FAULT_NO_EXCHANGE") != NULL;
    count_file = getenv("FAULT_COUNT");
    unsetenv("LD_PRELOAD");
    owner = getpid();
    begun = 1;
}
__attribute__((destructor)) static void end(void) {
    char s[64];
    if (!count_file || getpid() != owner) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, count_file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int n = snprintf(s, sizeof s, "%ld %ld\n", memory.count, files.count);
    if (fd < 0 || syscall(SYS_write, fd, s, (size_t)n) != n) abort();
}

static int fails(struct fault *f) {
    if (!begun) return 0;
    f->count++;
    return f->at && (f->count == f->at || (f->from_there_on && f->count > f->at));
}

/* ---- memory */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
static int no_memory(void) {
    if (!fails(&memory)) return 0;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t n) { return no_memory() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return no_memory() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return no_memory() ? NULL : __libc_realloc(p, n); }

/* ---- files */
static int fails_now(void) {
    if (!fails(&files)) return 0;
    if (kill_it) kill(getpid(), SIGKILL);
    errno = error;
    return 1;
}
static int file_fails(void) { return only_close ? 0 : fails_now(); }
static long result(long r) { return r; }
#define CALL(...) (file_fails() ? -1 : result(syscall(__VA_ARGS__)))

static mode_t mode_of(int flags, va_list ap) { return flags & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(ap, int) : 0; }
#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list ap;                                                                                                    \
        va_start(ap, flags);                                                                                           \
        mode_t mode = mode_of(flags, ap);                                                                              \
        va_end(ap);                                                                                                    \
        return (int)CALL(SYS_openat, AT_FDCWD, path, flags, mode);                                                     \
    }
#define OPENAT(name)                                                                                                   \
    int name(int at, const char *path, int flags, ...) {                                                               \
        va_list ap;                                                                                                    \
        va_start(ap, flags);                                                                                           \
        mode_t mode = mode_of(flags, ap);                                                                              \
        va_end(ap);                                                                                                    \
        return (int)CALL(SYS_openat, at, path, flags, mode);                                                           \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
ssize_t write(int fd, const void *p, size_t n) {
    if (fd >= 0 && fd < MOST) written[fd] = 1;
    return CALL(SYS_write, fd, p, short_writes && n > 7 && fd > 2 ? (size_t)7 : n);
}
int mkdir(const char *path, mode_t mode) { return (int)CALL(SYS_mkdirat, AT_FDCWD, path, mode); }
int mkdirat(int at, const char *path, mode_t mode) { return (int)CALL(SYS_mkdirat, at, path, mode); }
int unlinkat(int at, const char *path, int flags) { return (int)CALL(SYS_unlinkat, at, path, flags); }
int rmdir(const char *path) { return (int)CALL(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR); }
int renameat(int a, const char *from, int b, const char *to) { return (int)CALL(SYS_renameat2, a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    if (file_fails()) return -1;
    if (no_exchange && flags) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, a, from, b, to, flags);
}
#define TRUNCATE(name)                                                                                                 \
    int name(int fd, off_t n) { return (int)CALL(SYS_ftruncate, fd, n); }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)
/* The file is closed all the same, as by the system. */
int close(int fd) {
    int counts = !only_close || (fd >= 0 && fd < MOST && written[fd]);
    int failed = counts && fails_now(), saved = errno;
    if (fd >= 0 && fd < MOST) written[fd] = 0;
    int r = (int)syscall(SYS_close, fd);
    if (!failed) return r;
    errno = saved;
    return -1;
}
