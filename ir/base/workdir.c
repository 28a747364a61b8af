/* Folders where output is made. See workdir.h; the rules are stated in docs/output.md. */
#include "ir/base/workdir.h"
#include "ir/base/cleanup.h"
#include "ir/base/die.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARKER "written-by-gcc2nn"
/* The first line of a marker. After it come the names of files, one a line. */
static const char head[] = "gcc2nn works in this folder, or was killed; its next run removes it with these files:\n";
enum { HEAD = sizeof head - 1, WAIT_SECONDS = 300 };

/* ---- folders that are open */
bool is_file_name(const char *name) {
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}
int open_folder(int at, const char *name) { return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }
bool remove_file(int folder, const char *name) {
    struct stat st;
    return is_file_name(name) && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           unlinkat(folder, name, 0) == 0;
}
bool write_all(int fd, const void *bytes, size_t n) {
    for (const char *p = bytes; n;) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k == 0) errno = EIO;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}
static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}
DIR *folder_entries(int folder) {
    int fd = open_folder(folder, ".");
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d && errno == ENOMEM) die_memory(0);
    if (!d && fd >= 0) close(fd);
    return d;
}
const char *next_entry(DIR *d) {
    struct dirent *e;
    do e = readdir(d);
    while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
    return e ? e->d_name : NULL;
}
static bool has(int folder, const char *name) {
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}
/* Nothing in it but perhaps a marker. */
static bool is_bare(int folder) {
    DIR *d = folder_entries(folder);
    const char *name = NULL;
    do name = d ? next_entry(d) : "";
    while (name && !strcmp(name, MARKER));
    if (d) closedir(d);
    return !name;
}

/* ---- the marker */
/* The name at *at, which moves past it. An incomplete line names a file that does not exist yet. Also called by the
 * signal handler. */
static bool next_name(int marker, off_t *at, char *name) {
    ssize_t n = pread(marker, name, NAME_MAX + 1, *at);
    char *end = n > 0 ? memchr(name, '\n', (size_t)n) : NULL;
    if (!end) return false;
    *end = 0;
    *at += end - name + 1;
    return true;
}
file_names workdir_names(const struct workdir *w) {
    file_names all = {0};
    char name[NAME_MAX + 1];
    for (off_t at = HEAD; next_name(w->marker, &at, name);)
        PUSH(w->diags->arena, &all, arena_copy(w->diags->arena, name, strlen(name) + 1));
    return all;
}
/* Is it a marker, or the beginning of one in an otherwise empty folder, whose writer was killed? For a folder that was
 * just made, nothing is done that needs memory: if that failed, nobody would remove the folder yet. */
static bool is_marker(const struct workdir *w, bool made) {
    char b[HEAD];
    struct stat st;
    ssize_t n = pread(w->marker, b, HEAD, 0);
    return fstat(w->marker, &st) == 0 && S_ISREG(st.st_mode) && n >= 0 && !memcmp(b, head, (size_t)n) &&
           (n == HEAD || (st.st_size == n && (made || is_bare(w->dir))));
}

/* ---- removing it */
/* A folder that still holds something keeps its marker. */
static void remove_dir(struct workdir *w) {
    if (has(w->dir, WORKDIR_NEW) || has(w->dir, WORKDIR_OLD)) return;
    unlinkat(w->dir, MARKER, 0);
    unlinkat(w->parent, w->name, AT_REMOVEDIR);
}
/* Also called by a signal handler, so it only calls functions that POSIX allows there. */
static void remove_new(void *env) {
    struct workdir *w = env;
    char name[NAME_MAX + 1];
    struct stat fresh, st;
    /* something that has taken its place is not ours to remove */
    if (w->fresh >= 0 && fstat(w->fresh, &fresh) == 0 && fstatat(w->dir, WORKDIR_NEW, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        same_file(&fresh, &st)) {
        for (off_t at = HEAD; next_name(w->marker, &at, name);) remove_file(w->fresh, name);
        unlinkat(w->dir, WORKDIR_NEW, AT_REMOVEDIR);
    }
    remove_dir(w);
}
/* ---- taking the folder */
bool workdir_problem(const struct workdir *w, const char *what, const char *name) {
    int error = errno;
    const char *path = name ? arena_printf(w->diags->arena, "%s/%s", w->shown, name) : w->shown;
    diag(w->diags, DIAG_ERROR, E_WRITE, "%s %s: %s", what, diag_quote(w->diags->arena, path), strerror(error));
    return false;
}
static int refused(const struct workdir *w, const char *why) {
    diag(w->diags, DIAG_ERROR, E_WRITE, "cannot write %s: %s, in the folder that holds it, %s",
         diag_quote(w->diags->arena, w->shown), diag_quote(w->diags->arena, w->name), why);
    diag_help(w->diags, "gcc2nn makes its output there; remove or rename it, or give another place with --out");
    return -1;
}
static void release(struct workdir *w) {
    if (w->marker >= 0) close(w->marker);
    if (w->dir >= 0) close(w->dir);
    w->marker = w->dir = -1;
}
/* The open folder and marker are still those that the names refer to: a previous user has not removed them
 * meanwhile. */
static bool still_there(const struct workdir *w) {
    struct stat dir, marker, a, b;
    return fstat(w->dir, &dir) == 0 && fstat(w->marker, &marker) == 0 &&
           fstatat(w->parent, w->name, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(w->dir, MARKER, &b, AT_SYMLINK_NOFOLLOW) == 0 && same_file(&dir, &a) && same_file(&marker, &b);
}
static bool lock(const struct workdir *w, bool made) {
    for (int k = 0; k < WAIT_SECONDS * 100; k++) {
        if (flock(w->marker, LOCK_EX | LOCK_NB) == 0) return true;
        /* the file system has no locks: what we have just made is ours anyway, and nobody will take it over */
        if (errno != EWOULDBLOCK && errno != EINTR) return made;
        cleanup_release();
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        cleanup_hold();
    }
    errno = EWOULDBLOCK;
    return false;
}
enum { TAKEN, AGAIN, REFUSED };
static int take(struct workdir *w, bool made) {
    struct stat st;
    w->dir = open_folder(w->parent, w->name);
    if (w->dir < 0 && errno == ENOENT) return AGAIN;
    if (w->dir < 0 && (errno == ENOTDIR || errno == ELOOP)) return refused(w, "is no folder"), REFUSED;
    if (w->dir < 0 || fstat(w->dir, &st) != 0) return workdir_problem(w, "cannot write", NULL), REFUSED;
    if (!made && st.st_uid != geteuid()) return refused(w, "belongs to another user"), REFUSED;
    w->marker = openat(w->dir, MARKER, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (w->marker < 0 && errno == ENOENT && (made || is_bare(w->dir)))
        w->marker = openat(w->dir, MARKER, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    else if (w->marker < 0 && (errno == ELOOP || (errno == ENOENT && !has(w->dir, MARKER))))
        return refused(w, "was not made by gcc2nn"), REFUSED;
    if (w->marker < 0 && (errno == EEXIST || errno == ENOENT)) return AGAIN;
    if (w->marker < 0) return workdir_problem(w, "cannot write", NULL), REFUSED;
    if (!lock(w, made))
        return refused(w, errno == EWOULDBLOCK ? "is in use by another gcc2nn" : "cannot be locked"), REFUSED;
    if (!still_there(w)) return AGAIN;
    return is_marker(w, made) ? TAKEN : (refused(w, "was not made by gcc2nn"), REFUSED);
}
int workdir_open(struct workdir *w, struct diags *d, int parent, const char *name, const char *shown) {
    *w = (struct workdir){d, shown, parent, name, -1, -1, -1, -1};
    int error = 0, r = AGAIN;
    cleanup_hold();
    while (r == AGAIN && !error) {
        bool made = mkdirat(parent, name, 0700) == 0;
        if (!made && errno != EEXIST) error = errno;
        else r = take(w, made);
        if (r == TAKEN) w->noted = cleanup_call(remove_new, w);
        else release(w);
    }
    cleanup_release();
    return r == REFUSED ? -1 : error;
}

/* ---- working there */
bool workdir_clear(struct workdir *w) {
    w->fresh = open_folder(w->dir, WORKDIR_NEW);
    if (w->fresh < 0 && errno == ENOENT) return true;
    char name[NAME_MAX + 1];
    for (off_t at = HEAD; w->fresh >= 0 && next_name(w->marker, &at, name);) remove_file(w->fresh, name);
    if (w->fresh >= 0) close(w->fresh);
    w->fresh = -1;
    if (unlinkat(w->dir, WORKDIR_NEW, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    workdir_problem(w, "cannot write", arena_printf(w->diags->arena, "%s/" WORKDIR_NEW, w->name));
    workdir_close(w);
    return false;
}
bool workdir_begin(struct workdir *w) {
    bool ok = ftruncate(w->marker, 0) == 0 && lseek(w->marker, 0, SEEK_SET) == 0 && write_all(w->marker, head, HEAD);
    if (ok) {
        cleanup_hold();
        ok = mkdirat(w->dir, WORKDIR_NEW, 0777) == 0 && (w->fresh = open_folder(w->dir, WORKDIR_NEW)) >= 0;
        cleanup_release();
    }
    if (ok) return true;
    workdir_problem(w, "cannot write", NULL);
    unlinkat(w->dir, WORKDIR_NEW, AT_REMOVEDIR);
    workdir_close(w);
    return false;
}
int workdir_create(struct workdir *w, const char *name) {
    if (!is_file_name(name) || strlen(name) >= NAME_MAX || strchr(name, '\n')) BUG("a file called %s", name);
    const char *line = arena_printf(w->diags->arena, "%s\n", name);
    int fd = write_all(w->marker, line, strlen(line))
                 ? openat(w->fresh, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)
                 : -1;
    if (fd < 0) workdir_problem(w, "cannot write", name);
    return fd;
}
bool workdir_finish(const struct workdir *w, const char *name, int fd, bool written) {
    int error = errno;
    if (close(fd) != 0 && written) error = errno, written = false;
    errno = error;
    return written || workdir_problem(w, "cannot write", name);
}
void workdir_keep(struct workdir *w) {
    cleanup_drop(w->noted);
    w->noted = -1;
}
static void close_all(struct workdir *w) {
    workdir_keep(w);
    if (w->fresh >= 0) close(w->fresh);
    w->fresh = -1;
    release(w);
}
void workdir_abandon(struct workdir *w) {
    remove_new(w);
    close_all(w);
}
void workdir_close(struct workdir *w) {
    remove_dir(w);
    close_all(w);
}
