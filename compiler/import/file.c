/* Whole files; see file.h. */
#define _GNU_SOURCE 1 /* renameat2 */
#include "compiler/import/file.h"
#include "ir/base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_map_fd(struct diags *d, enum diag_code code, int fd, const char *path, struct mapped_file *out) {
    struct stat st;
    if (fstat(fd, &st) != 0) return diag_at(d, DIAG_ERROR, code, path, d->origin, "%s", strerror(errno)), false;
    if (!S_ISREG(st.st_mode))
        return diag_at(d, DIAG_ERROR, code, path, d->origin, "%s",
                       S_ISDIR(st.st_mode) ? "a folder, not a file" : "not a regular file"),
               false;
    *out = (struct mapped_file){(const uint8_t *)"", 0};
    if (st.st_size == 0) /* empty files cannot be mapped */
        return true;
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) return diag_at(d, DIAG_ERROR, code, path, d->origin, "%s", strerror(errno)), false;
    *out = (struct mapped_file){p, (size_t)st.st_size};
    return true;
}

bool file_map(struct diags *d, const char *path, struct mapped_file *out) {
    *out = (struct mapped_file){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: opening a fifo must not block */
    if (fd < 0) return diag_at(d, DIAG_ERROR, E_FILE, path, d->origin, "%s", strerror(errno)), false;
    bool ok = file_map_fd(d, E_FILE, fd, path, out);
    close(fd);
    return ok;
}

void file_unmap(struct mapped_file *f) {
    if (f->size) munmap((void *)(uintptr_t)f->bytes, f->size);
    *f = (struct mapped_file){0};
}

/* ---- files that appear together */
bool file_set_begin(struct file_set *s, struct diags *d, const char *folder) {
    *s = (struct file_set){.made = mkdir(folder, 0777) == 0, .path = folder};
    s->work = (struct workdir){.diags = d, .shown = folder};
    s->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = s->folder < 0 ? errno : workdir_open(&s->work, d, s->folder, ".gcc2nn", folder);
    if (error == 0 && workdir_clear(&s->work) && workdir_begin(&s->work)) return true;
    errno = error;
    if (error > 0) workdir_problem(&s->work, "cannot write", NULL);
    if (s->folder >= 0) close(s->folder);
    if (s->made) rmdir(folder);
    return false;
}
bool file_set_add(struct file_set *s, const char *name, const void *bytes, size_t n) {
    int fd = workdir_create(&s->work, name);
    return fd >= 0 && workdir_finish(&s->work, name, fd, write_all(fd, bytes, n));
}
/* Moves a file into place by exchanging it with the one that had the name. On file systems that cannot do that, the
 * latter is lost. */
static bool put(int from, int to, const char *name) {
    struct stat st;
    if (fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT && renameat(from, name, to, name) == 0;
    if (!S_ISREG(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EEXIST;
        return false;
    }
    return renameat2(from, name, to, name, RENAME_EXCHANGE) == 0 ||
           ((errno == EINVAL || errno == ENOSYS) && renameat(from, name, to, name) == 0);
}
bool file_set_commit(struct file_set *s) {
    file_names names = workdir_names(&s->work);
    const char *failed = NULL;
    int n = 0;
    cleanup_hold();
    while (n < names.n && put(s->work.fresh, s->folder, names.v[n])) n++;
    int error = errno;
    if (n < names.n) failed = names.v[n];
    while (failed && n--) put(s->folder, s->work.fresh, names.v[n]);
    workdir_abandon(&s->work);
    cleanup_release();
    close(s->folder);
    errno = error;
    return !failed || workdir_problem(&s->work, "cannot write", failed);
}
void file_set_abandon(struct file_set *s) {
    workdir_abandon(&s->work);
    close(s->folder);
    if (s->made) rmdir(s->path);
}

/* ---- one file */
/* The folder of the file, written to the caller's buffer; false: errno. */
static bool folder_of(const char *path, char folder[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    size_t n = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    errno = ENAMETOOLONG;
    return snprintf(folder, PATH_MAX, "%.*s", n ? (int)n : 1, n ? path : ".") < PATH_MAX && n < PATH_MAX;
}
bool file_is_same(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
bool file_may_put(struct diags *d, const char *path, const char *read) {
    char folder[PATH_MAX];
    struct stat st;
    if (read && file_is_same(path, read)) {
        diag(d, DIAG_ERROR, E_WRITE, "%s is read by this command: it is left as it is", diag_quote(d->arena, path));
        diag_help(d, "name another file for what is written");
        return false;
    }
    bool ok = folder_of(path, folder) && access(folder, W_OK | X_OK) == 0;
    if (ok && lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) ok = false, errno = S_ISDIR(st.st_mode) ? EISDIR : EEXIST;
    if (!ok) diag(d, DIAG_ERROR, E_WRITE, "cannot write %s: %s", diag_quote(d->arena, path), strerror(errno));
    return ok;
}
bool file_put(struct diags *d, const char *path, const void *bytes, size_t n) {
    char folder[PATH_MAX];
    struct file_set files;
    const char *slash = strrchr(path, '/');
    if (!file_may_put(d, path, NULL) || !folder_of(path, folder) || !file_set_begin(&files, d, folder)) return false;
    if (file_set_add(&files, slash ? slash + 1 : path, bytes, n)) return file_set_commit(&files);
    file_set_abandon(&files);
    return false;
}

bool folder_paths(struct arena *a, const char *path, path_list *out) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = folder >= 0 ? folder_entries(folder) : NULL;
    int error = errno;
    if (folder >= 0) close(folder);
    for (const char *name; d && (name = next_entry(d));)
        if (*name != '.') PUSH(a, out, arena_printf(a, "%s/%s", path, name));
    if (d) closedir(d);
    if (out->n) qsort(out->v, (size_t)out->n, sizeof *out->v, text_order);
    errno = error;
    return d != NULL;
}
