/* Opens external data safely; see external.h. */
#include "compiler/import/external.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined __linux__ && defined SYS_openat2
#include <linux/openat2.h>
#endif
#include "ir/base/vec.h"

bool external_open(struct external *x, struct diags *d, struct arena *a, const char *model_path) {
    *x = (struct external){.diags = d, .arena = a, .folder = -1};
    const char *slash = strrchr(model_path, '/');
    const char *folder = !slash                ? "."
                         : slash == model_path ? "/"
                                               : arena_printf(a, "%.*s", (int)(slash - model_path), model_path);
    /* The user gave this folder: links in its own path are allowed. */
    x->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (x->folder < 0) diag_at(d, DIAG_ERROR, E_FILE, folder, NULL, "%s", strerror(errno));
    return x->folder >= 0;
}

/* What is wrong with a location, before the file system is accessed; NULL: nothing. */
static const char *bad_location(const char *s) {
    if (!*s) return "the location is empty";
    if (*s == '/') return "the location is an absolute path";
    for (const char *p = s; *p; p += strcspn(p, "/"), p += *p == '/')
        if (strncmp(p, "..", 2) == 0 && (p[2] == 0 || p[2] == '/')) return "the location contains `..`";
    return NULL;
}

/* Descends one component at a time without following links: what openat2 does in one call. */
static int open_walk(int folder, const char *location) {
    int at = folder;
    for (const char *p = location;;) {
        size_t n = strcspn(p, "/");
        const char *next = p + n + strspn(p + n, "/");
        char name[256];
        if (n >= sizeof name) {
            errno = ENAMETOOLONG;
            n = 0;
        }
        memcpy(name, p, n);
        name[n] = 0;
        int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (*next ? O_DIRECTORY : 0);
        int fd = n ? openat(at, name, flags) : -1;
        int error = errno;
        if (at != folder) close(at);
        errno = error;
        if (fd < 0 || !*next) return fd;
        at = fd;
        p = next;
    }
}

static int open_beneath(struct external *x, const char *location) {
#if defined __linux__ && defined SYS_openat2
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    if (!x->no_openat2) {
        long fd = syscall(SYS_openat2, x->folder, location, &how, sizeof how);
        /* EPERM: sandboxes that do not know the call; EAGAIN: something was renamed meanwhile */
        if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN)) return (int)fd;
        x->no_openat2 = errno != EAGAIN;
    }
#endif
    return open_walk(x->folder, location);
}

static bool refuse(struct external *x, const char *location, const char *why) {
    return diag(x->diags, DIAG_ERROR, E_EXTERNAL, "external data %s: %s", diag_quote(x->arena, location), why), false;
}

static bool map_location(struct external *x, const char *location, struct mapped_file *out) {
    const char *wrong = bad_location(location);
    if (wrong) return refuse(x, location, wrong);
    int fd = open_beneath(x, location);
    if (fd < 0) {
        bool link = errno == ELOOP || errno == EXDEV;
        refuse(x, location, link ? "there is a symbolic link on the way" : strerror(errno));
        if (link) diag_help(x->diags, "copy the file that the link leads to into the model's folder");
        return false;
    }
    struct stat st;
    bool ok = false;
    if (fstat(fd, &st) != 0) refuse(x, location, strerror(errno));
    else if (!S_ISREG(st.st_mode)) refuse(x, location, "not a regular file");
    else if (st.st_nlink != 1) refuse(x, location, "the file has more than one hard link");
    else ok = file_map_fd(x->diags, E_EXTERNAL, fd, location, out);
    close(fd);
    return ok;
}

/* Refused files are kept too, so that a thousand tensors in one of them give only one diagnostic. */
static struct external_file *find_file(struct external *x, const char *location) {
    for (int i = x->files.n - 1; i >= 0; i--)
        if (strcmp(x->files.v[i].location, location) == 0) return &x->files.v[i];
    struct external_file f = {.location = arena_copy(x->arena, location, strlen(location) + 1)};
    f.ok = map_location(x, location, &f.file);
    PUSH(x->arena, &x->files, f);
    return &x->files.v[x->files.n - 1];
}

bool external_bytes(struct external *x, const char *location, int64_t offset, int64_t length, const uint8_t **p,
                    size_t *n) {
    if (x->folder < 0) return false; /* reported when it could not be opened */
    struct external_file *f = find_file(x, location);
    if (!f->ok) return false;
    if (offset < 0 || length < -1) return refuse(x, location, "offset or length is negative");
    if ((uint64_t)offset > f->file.size) return refuse(x, location, "the offset lies beyond the end of the file");
    uint64_t rest = f->file.size - (uint64_t)offset;
    if (length >= 0 && (uint64_t)length > rest) return refuse(x, location, "the file ends before the tensor does");
    *p = f->file.bytes + offset;
    *n = length < 0 ? rest : (size_t)length;
    return true;
}

void external_close(struct external *x) {
    for (int i = 0; i < x->files.n; i++)
        if (x->files.v[i].ok) file_unmap(&x->files.v[i].file);
    if (x->folder >= 0) close(x->folder);
    x->folder = -1;
    x->files.n = 0;
}
