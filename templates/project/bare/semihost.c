/* What newlib asks of a system, by semihosting: files and arguments of the debugger's or emulator's machine. Only the
 * programs selftest, bench and @NAME@_main need it; the model itself calls nothing of this. */
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/times.h>

enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE = 5, SYS_READ = 6, SYS_SEEK = 10, SYS_FLEN = 12, SYS_CLOCK = 16, SYS_GET_CMDLINE = 21, SYS_EXIT_EXTENDED = 32 };
enum { MOST_FILES = 16 };

static int call(int operation, const void *argument) {
    register int r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

/* ---- start and end */
static char command_line[8192];
int semihost_arguments(char **argv, int most) {
    struct { char *text; int size; } block = {command_line, sizeof command_line};
    int n = 0;
    if (call(SYS_GET_CMDLINE, &block) != 0) command_line[0] = 0;
    for (char *s = command_line; *s && n < most;) {
        argv[n++] = s;
        while (*s && *s != ' ') s++;
        while (*s == ' ') *s++ = 0;
    }
    argv[n] = 0;
    return n;
}
void semihost_exit(int status) {
    const int block[2] = {0x20026, status}; /* ADP_Stopped_ApplicationExit */
    for (;;) call(SYS_EXIT_EXTENDED, block);
}

/* ---- files: newlib's numbers are indices here; semihosting does not say where a file stands */
static struct { int handle, used; long at; } files[MOST_FILES];

static int open_as(const char *path, int mode) {
    const struct { const char *path; int mode, length; } block = {path, mode, (int)__builtin_strlen(path)};
    return call(SYS_OPEN, &block);
}
static int valid(int file) {
    static const int modes[3] = {0, 4, 8}; /* ":tt" opened for r, w, a: standard input, output, error */
    if (file >= 0 && file < 3 && !files[file].used) {
        files[file].handle = open_as(":tt", modes[file]);
        files[file].used = files[file].handle != -1;
    }
    if (file >= 0 && file < MOST_FILES && files[file].used) return 1;
    errno = EBADF;
    return 0;
}
int _open(const char *path, int flags, int rights) {
    int file = 3;
    (void)rights;
    while (file < MOST_FILES && files[file].used) file++;
    if (file == MOST_FILES) return errno = EMFILE, -1;
    files[file].handle = open_as(path, (flags & 3) == 0 ? 1 : 5); /* rb or wb */
    files[file].at = 0;
    if (files[file].handle == -1) return errno = ENOENT, -1;
    files[file].used = 1;
    return file;
}
int _close(int file) {
    if (!valid(file)) return -1;
    files[file].used = 0;
    return call(SYS_CLOSE, &files[file].handle);
}
static int transfer(int operation, int file, const void *data, int n) {
    if (!valid(file)) return -1;
    const struct { int handle; const void *data; int n; } block = {files[file].handle, data, n};
    const int left = call(operation, &block);
    if (left < 0 || left > n) return errno = EIO, -1;
    files[file].at += n - left;
    return n - left;
}
int _read(int file, char *data, int n) { return transfer(SYS_READ, file, data, n); }
int _write(int file, const char *data, int n) { return transfer(SYS_WRITE, file, data, n); }
int _lseek(int file, int offset, int from) {
    if (!valid(file)) return -1;
    const long at = from == 0 ? offset : from == 1 ? files[file].at + offset : call(SYS_FLEN, &files[file].handle) + offset;
    const int block[2] = {files[file].handle, (int)at};
    if (call(SYS_SEEK, block) < 0) return errno = EINVAL, -1;
    files[file].at = at;
    return (int)at;
}
int _isatty(int file) { return file < 3; }
int _fstat(int file, struct stat *s) {
    s->st_mode = file < 3 ? S_IFCHR : S_IFREG;
    s->st_blksize = 4096;
    return 0;
}

/* ---- the rest */
extern char board_heap_start, board_heap_end;
void *_sbrk(int n) {
    static char *at;
    if (!at) at = &board_heap_start;
    char *const old = at;
    if (n > &board_heap_end - at) return errno = ENOMEM, (void *)-1;
    at += n;
    return old;
}
clock_t _times(struct tms *t) {
    t->tms_utime = (clock_t)call(SYS_CLOCK, 0) * (CLOCKS_PER_SEC / 100); /* centiseconds */
    t->tms_stime = t->tms_cutime = t->tms_cstime = 0;
    return t->tms_utime;
}
int _getpid(void) { return 1; }
int _kill(int process, int signal) { return (void)process, (void)signal, errno = EINVAL, -1; }
void _exit(int status) {
    for (;;) semihost_exit(status); /* compilers know that this one does not return */
}
