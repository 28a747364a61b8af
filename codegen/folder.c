/* The build folder as a whole: built beside its final place, then moved there. See folder.h. */
#define _GNU_SOURCE 1 /* renameat2, O_PATH */
#include "codegen/folder.h"
#include "ir/base/cleanup.h"
#include "ir/base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST "manifest.json"
static const char inside_name[] = ".gcc2nn";

static bool folder_problem(struct new_folder *f, const char *name) {
    return workdir_problem(&f->work, "cannot write", name);
}
static bool refuse(struct new_folder *f, const char *what, const char *help) {
    diag(&f->c->diags, DIAG_ERROR, E_WRITE, "%s %s", diag_quote(&f->c->arena, f->given), what);
    diag_help(&f->c->diags, "%s", help);
    return false;
}

/* ---- which files in a folder are ours: those listed in its manifest */
static bool listed(const file_names *names, const char *name) {
    for (int k = 0; k < names->n; k++)
        if (!strcmp(names->v[k], name)) return true;
    return false;
}
/* The contents of a file of moderate size; false: errno says why; errno 0: it is no regular file. */
static bool read_file(int folder, const char *name, struct text *out) {
    enum { MOST = 1 << 28, PART = 1 << 16 };
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = -1;
    if (fd < 0) {
        if (errno == ENOENT || errno == ELOOP) errno = 0;
        return false;
    }
    errno = 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        char *part = memory_new(PART);
        while ((n = read(fd, part, PART)) > 0 && out->n < MOST) text_addn(out, part, (size_t)n);
        free(part);
    }
    int error = errno;
    close(fd);
    errno = error;
    return n == 0;
}
bool manifest_is_ours(const json_t *manifest) {
    const char *by = json_string_value(json_object_get(manifest, "generator"));
    return by && !strcmp(by, "gcc2nn");
}
static void push_name(struct ctx *c, file_names *names, const json_t *name) {
    const char *s = json_string_value(name);
    if (s && is_file_name(s)) PUSH(&c->arena, names, arena_copy(&c->arena, s, strlen(s) + 1));
}
struct owned folder_owned(struct ctx *c, int folder) {
    struct owned o = {.manifest = NO_MANIFEST};
    struct text t = {0};
    if (!read_file(folder, MANIFEST, &t)) {
        int error = errno;
        text_free(&t);
        errno = error;
        return (struct owned){.manifest = error ? UNREADABLE : NO_MANIFEST};
    }
    json_t *j = json_loadb(t.s ? t.s : "", t.n, 0, NULL), *files = json_object_get(j, "files"),
           *bundle = json_object_get(j, "bundle");
    for (size_t k = 0; k < json_array_size(files); k++) push_name(c, &o.files, json_array_get(files, k));
    for (size_t k = 0; k < json_array_size(bundle); k++)
        push_name(c, &o.folders, json_object_get(json_array_get(bundle, k), "folder"));
    if (manifest_is_ours(j) && listed(&o.files, MANIFEST)) o.manifest = HAS_MANIFEST;
    json_decref(j);
    text_free(&t);
    return o;
}
static bool is_regular(int folder, const char *name) {
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}
static bool is_folder(int folder, const char *name) {
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* ---- emptying a folder of ours */
/* Never replaces anything. */
static bool move(int from, const char *name, int to, const char *as) {
    struct stat st;
    if (renameat2(from, name, to, as, RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    if (fstatat(to, as, &st, AT_SYMLINK_NOFOLLOW) == 0) errno = EEXIST;
    else if (errno == ENOENT) return renameat(from, name, to, as) == 0;
    return false;
}
/* Moves files that are not ours to `to`. On failure *stopped is the name of the one that cannot be moved; those before
 * it have been. Allocates no memory, because it runs while folders are being exchanged. */
static bool move_others(DIR *d, int from, const file_names *ours, int to, char stopped[NAME_MAX + 1]) {
    rewinddir(d);
    for (const char *name; (name = next_entry(d));)
        if (!(listed(ours, name) && is_regular(from, name)) && !move(from, name, to, name)) {
            snprintf(stopped, NAME_MAX + 1, "%s", name);
            return false;
        }
    return true;
}
bool folder_keep_others(struct ctx *c, int from, const char *to_path, bool dry, const char **stopped) {
    struct owned ours = folder_owned(c, from);
    int to = open(to_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = folder_entries(from);
    bool ok = d && ours.manifest != UNREADABLE;
    for (const char *entry; ok && (entry = next_entry(d));) {
        if (listed(&ours.files, entry) && is_regular(from, entry)) continue;
        if (listed(&ours.folders, entry) && is_folder(from, entry)) continue;
        if (to < 0 && !dry && mkdir(to_path, 0777) == 0) to = open(to_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct stat st;
        ok = dry ? to < 0 || (fstatat(to, entry, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
                 : to >= 0 && move(from, entry, to, entry);
        if (!ok) *stopped = format(c, "%s", entry);
    }
    if (d) closedir(d);
    if (to >= 0) close(to);
    return ok;
}
/* The manifest is removed last, so that a half removed folder can still be recognised as ours. */
static void remove_ours(int folder, const file_names *ours) {
    bool gone = true;
    for (int k = 0; k < ours->n; k++)
        if (strcmp(ours->v[k], MANIFEST) != 0 && !remove_file(folder, ours->v[k]))
            gone &= !is_regular(folder, ours->v[k]);
    if (gone && listed(ours, MANIFEST)) remove_file(folder, MANIFEST);
}

/* ---- what exists at the output's place */
enum place { NOTHING, EMPTY, OURS, OTHER, UNKNOWN };
/* Opens what exists there, if it is a folder. */
static enum place look(struct new_folder *f, int *folder, struct owned *ours) {
    *folder = open_folder(f->parent, f->name);
    *ours = (struct owned){0};
    if (*folder < 0 && errno == ENOENT) return NOTHING;
    if (*folder < 0) return errno == ENOTDIR || errno == ELOOP ? OTHER : UNKNOWN;
    *ours = folder_owned(f->c, *folder);
    if (ours->manifest != NO_MANIFEST) return ours->manifest == HAS_MANIFEST ? OURS : UNKNOWN;
    DIR *d = folder_entries(*folder);
    if (!d) return UNKNOWN;
    const char *name = next_entry(d);
    if (name && f->inside >= 0 && !strcmp(name, inside_name)) name = next_entry(d); /* the one that we fill it from */
    closedir(d);
    return name ? OTHER : EMPTY;
}
/* The folder is not the current directory, nor one of its parents. */
static bool holds_current(int folder) {
    struct stat want, at, above;
    int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool holds = false, top = fd < 0 || fstat(folder, &want) != 0 || fstat(fd, &at) != 0;
    while (!holds && !top) {
        holds = at.st_dev == want.st_dev && at.st_ino == want.st_ino;
        int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = up;
        top = fd < 0 || fstat(fd, &above) != 0 || (above.st_dev == at.st_dev && above.st_ino == at.st_ino);
        at = above;
    }
    if (fd >= 0) close(fd);
    return holds;
}
static bool may_replace(struct new_folder *f, enum place there, int folder) {
    const char *another = "give another folder with --out, or remove this one";
    if (there == UNKNOWN) return workdir_problem(&f->work, "cannot look at", NULL);
    if (there == OTHER) return refuse(f, "exists and was not written by gcc2nn", another);
    if (there == OURS && f->inside < 0 && holds_current(folder))
        return refuse(f, "holds the current folder", "a folder is replaced as a whole: give another one with --out");
    if (there == OURS && f->inside >= 0)
        return refuse(f, "is not empty, and the folder that holds it cannot be changed",
                      "a folder is replaced as a whole, from beside: give one inside of it with --out");
    return true;
}

/* ---- leftovers of a killed process */
/* A folder of that process, or the one it was replacing: files of others in it are moved to the output's place. */
static bool recover_part(struct new_folder *f, const char *part) {
    char stopped[NAME_MAX + 1] = "";
    int folder = open_folder(f->work.dir, part);
    if (folder < 0) return errno == ENOENT || folder_problem(f, NULL);
    struct owned ours = folder_owned(f->c, folder);
    file_names names = ours.files;
    if (ours.manifest == NO_MANIFEST && !strcmp(part, WORKDIR_NEW)) names = workdir_names(&f->work);
    int to = open_folder(f->parent, f->name);
    DIR *d = ours.manifest == UNREADABLE ? NULL : folder_entries(folder);
    bool ok = d && move_others(d, folder, &names, to, stopped);
    if (ok) remove_ours(folder, &names);
    else if (to < 0) errno = ENOENT;
    ok = ok && unlinkat(f->work.dir, part, AT_REMOVEDIR) == 0;
    if (!ok)
        diag(&f->c->diags, DIAG_ERROR, E_WRITE, "cannot write %s: %s is left in %s, in the folder that holds it: %s",
             diag_quote(&f->c->arena, f->given), *stopped ? diag_quote(&f->c->arena, stopped) : "something",
             diag_quote(&f->c->arena, format(f->c, "%s/%s", f->work.name, part)), strerror(errno));
    if (!ok) diag_help(&f->c->diags, "a compilation was killed while it replaced the folder: take out what is yours");
    if (d) closedir(d);
    if (to >= 0) close(to);
    close(folder);
    return ok;
}
/* Files that had been moved into an empty folder when the process was killed before it moved the manifest, the last
 * one. */
static void recover_inside(struct new_folder *f) {
    file_names names = workdir_names(&f->work);
    int left = open_folder(f->work.dir, WORKDIR_NEW);
    struct stat st;
    for (int k = 0; k < names.n && left >= 0 && listed(&names, MANIFEST); k++)
        if (fstatat(left, names.v[k], &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
            remove_file(f->inside, names.v[k]);
    if (left >= 0) close(left);
}
static bool recover(struct new_folder *f) {
    if (f->inside >= 0 && !is_regular(f->inside, MANIFEST)) recover_inside(f);
    /* if the file system cannot exchange folders, the older one may not be back in its place yet */
    if (f->inside < 0) move(f->work.dir, WORKDIR_OLD, f->parent, f->name);
    return recover_part(f, WORKDIR_OLD) && recover_part(f, WORKDIR_NEW);
}

/* ---- begin */
static bool find_place(struct new_folder *f) {
    char real[PATH_MAX];
    const char *path = realpath(f->given, real) ? format(f->c, "%s", real) : f->given, *slash = strrchr(path, '/');
    f->name = slash ? slash + 1 : path;
    if (!*f->name) f->name = ".";
    f->parent = open(!slash          ? "."
                     : slash == path ? "/"
                                     : format(f->c, "%.*s", (int)(slash - path), path),
                     O_PATH | O_DIRECTORY | O_CLOEXEC);
    return f->parent >= 0 || folder_problem(f, NULL);
}
/* Must the folder be filled from inside? Yes if something is mounted in it, since it cannot be exchanged then; if it is
 * some process's current directory; and if it was being filled from inside before. */
static bool only_inside(struct new_folder *f, int folder) {
    struct stat in, on;
    bool mounted = fstat(folder, &in) == 0 && fstat(f->parent, &on) == 0 && in.st_dev != on.st_dev;
    return mounted || holds_current(folder) || faccessat(folder, inside_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
static bool open_inside(struct new_folder *f, int folder) {
    f->inside = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    int error = f->inside < 0 ? errno : workdir_open(&f->work, &f->c->diags, f->inside, inside_name, f->given);
    errno = error;
    return error <= 0 ? error == 0 : folder_problem(f, NULL);
}
static bool open_work(struct new_folder *f, enum place there, int folder) {
    bool can_inside = folder >= 0 && there != UNKNOWN;
    int error = EXDEV;
    if (!can_inside || !only_inside(f, folder))
        error = workdir_open(&f->work, &f->c->diags, f->parent, format(f->c, "%s.gcc2nn", f->name), f->given);
    if (error <= 0) return error == 0;
    if (can_inside && (error == EXDEV || error == EACCES || error == EPERM || error == EROFS))
        return open_inside(f, folder);
    errno = error;
    return folder_problem(f, NULL);
}
static void close_place(struct new_folder *f) {
    if (f->parent >= 0) close(f->parent);
    if (f->inside >= 0) close(f->inside);
    f->parent = f->inside = -1;
}
static bool take_place(struct new_folder *f) {
    struct owned ours;
    int folder;
    enum place there = look(f, &folder, &ours);
    bool left = there != UNKNOWN && folder >= 0 && faccessat(folder, inside_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    bool ok = (left || may_replace(f, there, folder)) && open_work(f, there, folder);
    if (folder >= 0) close(folder);
    if (!ok) return false;
    /* nobody else works there any more, so what is found now stays */
    ok = recover(f);
    there = look(f, &folder, &ours);
    ok = ok && may_replace(f, there, folder);
    if (folder >= 0) close(folder);
    if (ok) return workdir_begin(&f->work);
    workdir_close(&f->work);
    return false;
}
bool folder_begin(struct new_folder *f, struct ctx *c, const char *given) {
    size_t n = strlen(given);
    while (n > 1 && given[n - 1] == '/') n--;
    *f = (struct new_folder){.c = c, .given = internn(c->names, given, n), .parent = -1, .inside = -1};
    f->work = (struct workdir){.diags = &c->diags, .shown = f->given};
    if (find_place(f) && take_place(f)) return true;
    close_place(f);
    return false;
}
int folder_create(struct new_folder *f, const char *name) { return workdir_create(&f->work, name); }
bool folder_close(struct new_folder *f, const char *name, int fd, bool written) {
    return workdir_finish(&f->work, name, fd, written);
}
bool folder_remove(struct new_folder *f, const char *name) {
    return unlinkat(f->work.fresh, name, 0) == 0 || workdir_problem(&f->work, "cannot remove", name);
}
void folder_abandon(struct new_folder *f) {
    workdir_abandon(&f->work);
    close_place(f);
}

/* ---- commit: no memory is allocated between the first change and the last */
static bool put_inside(struct new_folder *f) {
    file_names names = workdir_names(&f->work);
    const char *problem = NULL;
    cleanup_hold();
    for (int k = 0; k <= names.n && !problem; k++) {
        const char *name = k < names.n ? names.v[k] : MANIFEST;
        if (k < names.n && !strcmp(name, MANIFEST)) continue; /* moved last */
        if (!move(f->work.fresh, name, f->inside, name) && errno != ENOENT) problem = name;
    }
    int error = errno;
    for (int k = 0; problem && k < names.n; k++)
        if (!is_regular(f->work.fresh, names.v[k])) remove_file(f->inside, names.v[k]);
    if (!problem) unlinkat(f->work.dir, WORKDIR_NEW, AT_REMOVEDIR);
    if (!problem) workdir_close(&f->work);
    cleanup_release();
    errno = error;
    return !problem || folder_problem(f, problem);
}
/* Exchanges `new` and the existing folder, or back. */
static bool exchange(struct new_folder *f) {
    int work = f->work.dir;
    if (renameat2(work, WORKDIR_NEW, f->parent, f->name, RENAME_EXCHANGE) == 0) {
        if (renameat(work, WORKDIR_NEW, work, WORKDIR_OLD) == 0) return true;
        int error = errno;
        renameat2(work, WORKDIR_NEW, f->parent, f->name, RENAME_EXCHANGE);
        errno = error;
        return false;
    }
    /* if the file system cannot exchange two folders, for a moment there is none */
    if ((errno != EINVAL && errno != ENOSYS) || !move(f->parent, f->name, work, WORKDIR_OLD)) return false;
    if (move(work, WORKDIR_NEW, f->parent, f->name)) return true;
    int error = errno;
    move(work, WORKDIR_OLD, f->parent, f->name);
    errno = error;
    return false;
}
static void exchange_back(struct new_folder *f) {
    int work = f->work.dir;
    if (renameat(work, WORKDIR_OLD, work, WORKDIR_NEW) == 0 &&
        renameat2(work, WORKDIR_NEW, f->parent, f->name, RENAME_EXCHANGE) != 0 &&
        renameat(work, WORKDIR_NEW, work, WORKDIR_OLD) == 0 && move(f->parent, f->name, work, WORKDIR_NEW))
        move(work, WORKDIR_OLD, f->parent, f->name);
}
struct older {
    int folder;
    struct owned ours;  /* our files in it */
    file_names *within; /* for each folder of a bundle, our files there */
    DIR *entries, *new_entries;
};
/* Finds our files in the folders of an older bundle: those are among what was moved into the new one. */
static void look_within(struct new_folder *f, struct older *o) {
    o->within = NEWN(&f->c->arena, file_names, o->ours.folders.n);
    for (int k = 0; k < o->ours.folders.n; k++) {
        int folder = open_folder(o->folder, o->ours.folders.v[k]);
        o->within[k] = folder < 0 ? (file_names){0} : folder_owned(f->c, folder).files;
        if (folder >= 0) close(folder);
    }
}
static void remove_within(struct new_folder *f, const struct older *o) {
    for (int k = 0; k < o->ours.folders.n; k++) {
        int folder = open_folder(f->work.fresh, o->ours.folders.v[k]);
        if (folder < 0) continue;
        remove_ours(folder, &o->within[k]);
        close(folder);
        unlinkat(f->work.fresh, o->ours.folders.v[k], AT_REMOVEDIR); /* which stays if others have files in it */
    }
}
/* The older folder is recognised by its inode, so that nothing that came in between is taken for it. */
static bool is_older(struct new_folder *f, const struct older *o) {
    struct stat a, b;
    return fstat(o->folder, &a) == 0 && fstatat(f->work.dir, WORKDIR_OLD, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}
static bool replace(struct new_folder *f, const struct older *o, const file_names *names) {
    char stopped[NAME_MAX + 1] = "", back[NAME_MAX + 1];
    cleanup_hold();
    bool swapped = exchange(f), ok = swapped;
    if (ok && !is_older(f, o)) errno = EAGAIN, ok = false;
    if (ok) ok = move_others(o->entries, o->folder, &o->ours.files, f->work.fresh, stopped);
    int error = errno;
    if (ok) {
        workdir_keep(&f->work);
        remove_ours(o->folder, &o->ours.files);
        remove_within(f, o);
        unlinkat(f->work.dir, WORKDIR_OLD, AT_REMOVEDIR);
        workdir_close(&f->work);
    } else if (swapped) {
        move_others(o->new_entries, f->work.fresh, names, o->folder, back);
        exchange_back(f);
    }
    cleanup_release();
    errno = error;
    return ok || folder_problem(f, *stopped ? stopped : NULL);
}
/* Files of the new folder may only get their names if nobody else has put files there. */
static bool others_may_stay(struct new_folder *f, const struct older *o) {
    rewinddir(o->entries);
    for (const char *name; (name = next_entry(o->entries));)
        if (faccessat(f->work.fresh, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
            !(listed(&o->ours.files, name) && is_regular(o->folder, name))) {
            diag(&f->c->diags, DIAG_ERROR, E_WRITE, "%s is there already and was not written by gcc2nn",
                 diag_quote(&f->c->arena, format(f->c, "%s/%s", f->given, name)));
            diag_help(&f->c->diags, "remove or rename it, or give another folder with --out");
            return false;
        }
    return true;
}
static bool commit_over(struct new_folder *f, struct older *o) {
    file_names names = workdir_names(&f->work);
    o->entries = folder_entries(o->folder);
    o->new_entries = folder_entries(f->work.fresh);
    look_within(f, o);
    bool ok = o->entries && o->new_entries ? others_may_stay(f, o) && replace(f, o, &names) : folder_problem(f, NULL);
    if (o->entries) closedir(o->entries);
    if (o->new_entries) closedir(o->new_entries);
    return ok;
}
/* Moves to a place where nothing exists, or an empty folder. */
static bool commit_new(struct new_folder *f) {
    cleanup_hold();
    bool ok = renameat(f->work.dir, WORKDIR_NEW, f->parent, f->name) == 0;
    int error = errno;
    if (ok) workdir_close(&f->work);
    cleanup_release();
    errno = error;
    return ok || folder_problem(f, NULL);
}
bool folder_commit(struct new_folder *f) {
    struct older o;
    enum place there = look(f, &o.folder, &o.ours);
    bool ok = may_replace(f, there, o.folder) && (f->inside >= 0  ? put_inside(f)
                                                  : there == OURS ? commit_over(f, &o)
                                                                  : commit_new(f));
    if (o.folder >= 0) close(o.folder);
    if (!ok) workdir_abandon(&f->work);
    close_place(f);
    return ok;
}
