/* Whole files; see file.h. */
#include "compiler/import/file.h"
#include "ir/base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_map_fd(struct diags *d, enum diag_code code, int fd, const char *path, struct mapped_file *out) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        diag_at(d, DIAG_ERROR, code, path, d->origin, "%s", strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode)) {
        diag_at(d, DIAG_ERROR, code, path, d->origin, "not a regular file");
        return false;
    }
    *out = (struct mapped_file){(const uint8_t *)"", 0};
    if (st.st_size == 0) /* cannot be mapped */
        return true;
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
        diag_at(d, DIAG_ERROR, code, path, d->origin, "%s", strerror(errno));
        return false;
    }
    *out = (struct mapped_file){p, (size_t)st.st_size};
    return true;
}

bool file_map(struct diags *d, const char *path, struct mapped_file *out) {
    *out = (struct mapped_file){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: a fifo must not hang us */
    if (fd < 0) {
        diag_at(d, DIAG_ERROR, E_FILE, path, d->origin, "%s", strerror(errno));
        return false;
    }
    bool ok = file_map_fd(d, E_FILE, fd, path, out);
    close(fd);
    return ok;
}

void file_unmap(struct mapped_file *f) {
    if (f->size) munmap((void *)(uintptr_t)f->bytes, f->size);
    *f = (struct mapped_file){0};
}

static bool write_all(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

bool file_write(struct diags *d, const char *path, const void *bytes, size_t n) {
    struct text tmp = {0};
    text_printf(&tmp, "%s.tmp-%ld", path, (long)getpid());
    int fd = open(tmp.s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int noted = fd >= 0 ? cleanup_path(tmp.s) : -1;
    bool ok = fd >= 0 && write_all(fd, bytes, n);
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok && rename(tmp.s, path) != 0) {
        ok = false;
        error = errno;
    }
    cleanup_drop(noted);
    if (!ok) {
        if (fd >= 0) unlink(tmp.s);
        diag_at(d, DIAG_ERROR, E_WRITE, path, d->origin, "%s", strerror(error));
    }
    text_free(&tmp);
    return ok;
}
