/* The build folder as a whole: made beside its final place, then put there. See folder.h. */
#define _GNU_SOURCE 1 /* renameat2 */
#include "codegen/folder.h"
#include "ir/base/cleanup.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define A(...) arena_printf(&f->c->arena, __VA_ARGS__)
/* FINAL.gcc2nn-PID is being filled; FINAL.gcc2nn-PID.old stood there before and was moved aside. */
#define MARK ".gcc2nn-"
#define OLD  ".old"

static bool problem(struct new_folder *f, const char *what) {
    diag(&f->c->diags, DIAG_ERROR, E_WRITE, "%s %s: %s", what, diag_quote(&f->c->arena, f->given), strerror(errno));
    return false;
}
/* Removes a folder and what is in it. Links are removed, not followed. */
static void remove_tree(const char *path) {
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        struct text t = {0};
        struct stat st;
        text_printf(&t, "%s/%s", path, e->d_name);
        if (lstat(t.s, &st) == 0 && S_ISDIR(st.st_mode)) remove_tree(t.s);
        else unlink(t.s);
        text_free(&t);
    }
    if (d) closedir(d);
    rmdir(path);
}

/* ---- what stands in a folder */
static bool is_empty(const char *path) {
    DIR *d = opendir(path);
    int n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return d && n <= 2;
}
/* NULL where we did not write the folder. The caller's. */
static json_t *our_manifest(const char *folder) {
    struct text t = {0};
    text_printf(&t, "%s/manifest.json", folder);
    json_t *j = json_load_file(t.s, 0, NULL);
    const char *by = json_string_value(json_object_get(j, "generator"));
    text_free(&t);
    if (by && !strcmp(by, "gcc2nn")) return j;
    json_decref(j);
    return NULL;
}
static bool has_our_manifest(const char *folder) {
    json_t *j = our_manifest(folder);
    bool ours = j != NULL;
    json_decref(j);
    return ours;
}
static bool listed(const json_t *names, const char *name) {
    for (size_t k = 0; k < json_array_size(names); k++) {
        const char *s = json_string_value(json_array_get(names, k));
        if (s && !strcmp(s, name)) return true;
    }
    return false;
}
/* Removes a folder that we wrote, or the part of one that a killed process wrote; what others have put into it since
 * goes to `to`, unless that has something of this name. */
static void retire(const char *folder, const char *to) {
    json_t *manifest = our_manifest(folder), *files = json_object_get(manifest, "files");
    DIR *d = manifest ? opendir(folder) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        struct text a = {0}, b = {0};
        struct stat st;
        text_printf(&a, "%s/%s", folder, e->d_name);
        text_printf(&b, "%s/%s", to, e->d_name);
        bool other = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && !listed(files, e->d_name);
        if (other && lstat(b.s, &st) != 0 && rename(a.s, b.s) != 0) files = NULL; /* it must not be lost */
        text_free(&a);
        text_free(&b);
    }
    if (d) closedir(d);
    if (!manifest || files) remove_tree(folder);
    json_decref(manifest);
}

/* ---- may it be replaced? */
static bool holds_current(const char *folder) {
    char *here = getcwd(NULL, 0);
    size_t n = strlen(folder);
    bool holds = here && !strncmp(here, folder, n) && (!here[n] || here[n] == '/');
    free(here);
    return holds;
}
static bool may_replace(struct new_folder *f) {
    struct stat st;
    if (lstat(f->final, &st) != 0) return errno == ENOENT ? true : problem(f, "cannot look at");
    bool ours = S_ISDIR(st.st_mode) && (is_empty(f->final) || has_our_manifest(f->final));
    if (ours && !holds_current(f->final)) return true;
    diag(&f->c->diags, DIAG_ERROR, E_WRITE,
         ours ? "%s holds the current folder" : "%s exists and was not written by gcc2nn",
         diag_quote(&f->c->arena, f->given));
    diag_help(&f->c->diags, ours ? "a folder is replaced as a whole: give another one with --out"
                                 : "give another folder with --out, or remove this one");
    return false;
}

/* ---- what a killed process left */
/* Whoever fills a folder holds a lock on it and lives: what has neither is left over. */
static void remove_left_over(struct new_folder *f, const char *path, const char *number) {
    char *end;
    long pid = strtol(number, &end, 10);
    if ((*end && strcmp(end, OLD) != 0) || pid <= 1 || kill((pid_t)pid, 0) == 0 || errno != ESRCH) return;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && (!*end || rename(path, f->final) != 0)) retire(path, f->final);
    if (fd >= 0) close(fd);
}
static void remove_left_overs(struct new_folder *f) {
    const char *slash = strrchr(f->final, '/'), *name = slash ? slash + 1 : f->final;
    const char *parent = !slash ? "." : slash == f->final ? "/" : A("%.*s", (int)(slash - f->final), f->final);
    const char *prefix = A("%s" MARK, name);
    size_t n = strlen(prefix);
    DIR *d = opendir(parent);
    for (struct dirent *e; d && (e = readdir(d));)
        if (!strncmp(e->d_name, prefix, n)) remove_left_over(f, A("%s/%s", parent, e->d_name), e->d_name + n);
    if (d) closedir(d);
}

bool folder_begin(struct new_folder *f, struct ctx *c, const char *given) {
    size_t n = strlen(given);
    while (n > 1 && given[n - 1] == '/') n--;
    *f = (struct new_folder){.c = c, .given = internn(c->names, given, n), .lock = -1, .noted = -1};
    char *real = realpath(f->given, NULL);
    f->final = real ? A("%s", real) : f->given;
    free(real);
    f->path = A("%s" MARK "%ld", f->final, (long)getpid());
    if (!may_replace(f)) return false;
    remove_left_overs(f);
    if (mkdir(f->path, 0777) != 0) return problem(f, "cannot make the folder");
    f->noted = cleanup_path(f->path);
    f->lock = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->lock >= 0) flock(f->lock, LOCK_EX | LOCK_NB);
    return true;
}
static void end(struct new_folder *f) {
    if (f->lock >= 0) close(f->lock);
    cleanup_drop(f->noted);
}
void folder_abandon(struct new_folder *f) {
    remove_tree(f->path);
    end(f);
}
/* Where a file system cannot exchange two folders there is none for a moment. */
static bool move_aside(struct new_folder *f, const char *old) {
    retire(old, f->final);
    return rename(f->final, old) == 0 || errno == ENOENT;
}
bool folder_commit(struct new_folder *f) {
    const char *old = A("%s" OLD, f->path);
    bool done = false;
    for (int tries = 0; tries < 1000 && !done; tries++) { /* others may put theirs there, or take it away */
        done = rename(f->path, f->final) == 0;            /* nothing is there, or an empty folder */
        if (done || (errno != ENOTEMPTY && errno != EEXIST)) break;
        done = renameat2(AT_FDCWD, f->path, AT_FDCWD, f->final, RENAME_EXCHANGE) == 0;
        if (!done && errno != ENOENT && ((errno != EINVAL && errno != ENOSYS) || !move_aside(f, old))) break;
    }
    if (!done) {
        problem(f, "cannot write");
        rename(old, f->final);
        folder_abandon(f);
        return false;
    }
    retire(f->path, f->final); /* after an exchange what stood there before */
    retire(old, f->final);
    end(f);
    return true;
}
