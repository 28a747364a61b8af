/* `gcc2nn compile --targets A,B -o DIR`: the same model for several targets, with a folder for each and one manifest.
 * Everything is made beside its place and moved there in one step; docs/output.md#bundles states the rules. For a
 * single folder see codegen/folder.c. */
#define _GNU_SOURCE 1 /* renameat2 */
#include "compiler/bundle.h"
#include "codegen/folder.h"
#include "compiler/api.h"
#include "compiler/config.h"
#include "ir/base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST "manifest.json"
struct bundle {
    struct ctx *c;
    const struct options *o;
    const char *given, *place; /* as the user names it; with links resolved */
    const char *work;          /* where it is made, beside `place`; NULL: not yet */
    int noted;                 /* for cleanup_drop */
    VEC(const char *) targets; /* also the names of the folders */
    json_t *folders;           /* of the manifest */
};

/* ---- what to do */
static bool refuse(struct bundle *b, enum diag_code code, const char *help, const char *fmt, ...) NN_PRINTF(4, 5);
static bool refuse(struct bundle *b, enum diag_code code, const char *help, const char *fmt, ...) {
    struct text t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    diag_at(&b->c->diags, DIAG_ERROR, code, "gcc2nn", NULL, "%s", t.s);
    diag_help(&b->c->diags, "%s", help);
    text_free(&t);
    return false;
}
static bool read_targets(struct bundle *b) {
    const struct options *o = b->o;
    const char *list = "it takes names of `gcc2nn list-targets`, separated by commas";
    for (const char *at = o->targets; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const char *name = format(b->c, "%.*s", (int)strcspn(at, ","), at);
        if (!*name) return refuse(b, E_USAGE, list, "--targets: a name is missing");
        if (!is_file_name(name)) /* because it is also the name of a folder */
            return refuse(b, E_USAGE, list, "there is no target %s", diag_quote(&b->c->arena, name));
        for (int k = 0; k < b->targets.n; k++)
            if (!strcmp(b->targets.v[k], name)) return refuse(b, E_USAGE, list, "--targets: %s is given twice", name);
        if (!strchr(name, '+') && !target_named(b->c, name)) return false;
        PUSH(&b->c->arena, &b->targets, name);
    }
    return true;
}

/* ---- the place */
enum place { NOTHING, EMPTY, OURS, OTHER };
static enum place look(struct bundle *b, file_names *folders) {
    int folder = open(b->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return errno == ENOENT ? NOTHING : OTHER;
    DIR *d = folder_entries(folder);
    bool empty = d && !next_entry(d);
    if (d) closedir(d);
    struct owned ours = folder_owned(b->c, folder);
    close(folder);
    *folders = ours.folders;
    return empty ? EMPTY : ours.manifest == HAS_MANIFEST ? OURS : OTHER;
}
static bool holds_current(const char *path) {
    char here[PATH_MAX];
    size_t n = strlen(path);
    return getcwd(here, sizeof here) && !strncmp(here, path, n) && (here[n] == '/' || !here[n]);
}
static bool may_replace(struct bundle *b, enum place there) {
    const char *shown = diag_quote(&b->c->arena, b->given), *another = "give another folder with --out";
    if (there == OTHER) return refuse(b, E_WRITE, another, "%s exists and was not written by gcc2nn", shown);
    if (there != NOTHING && holds_current(b->place))
        return refuse(b, E_WRITE, another, "%s holds the current folder", shown);
    return true;
}
static bool begin(struct bundle *b) {
    char real[PATH_MAX];
    size_t n = strlen(b->given);
    while (n > 1 && b->given[n - 1] == '/') n--;
    b->given = format(b->c, "%.*s", (int)n, b->given);
    b->place = realpath(b->given, real) ? format(b->c, "%s", real) : b->given;
    file_names folders;
    if (!may_replace(b, look(b, &folders))) return false;
    char *work = format(b->c, "%s.gcc2nn-XXXXXX", b->place);
    cleanup_hold();
    bool made = mkdtemp(work) != NULL;
    int error = errno;
    if (made) b->noted = cleanup_path(work), b->work = work;
    cleanup_release();
    return made || refuse(b, E_WRITE, "the folder that holds it must be there, and writable", "cannot write %s: %s",
                          diag_quote(&b->c->arena, b->given), strerror(error));
}

/* ---- filling it */
/* EXIT_OK, or the status after a diagnostic. */
static int compile_for(struct bundle *b, const char *target) {
    struct options one = *b->o;
    one.target = target;
    if (!settings_apply(b->c, &one)) return diags_status(&b->c->diags);
    gcc2nn *g = gcc2nn_of(&one);
    const char *place = format(b->c, "%s/%s", b->given, target);
    if (!gcc2nn_load(g, one.args.v[0]) && !gcc2nn_write_for(g, format(b->c, "%s/%s", b->work, target), place)) {
        if (!one.json) printf("%s\n", gcc2nn_summary(g));
        json_array_append_new(b->folders, gcc2nn_facts(g));
    }
    return gcc2nn_end(g);
}
static bool write_manifest(struct bundle *b) {
    json_t *o = json_pack("{s:s, s:i, s:o, s:O, s:[s]}", "generator", "gcc2nn", "format", 1, "model",
                          json_name(&b->c->arena, path_last(b->o->args.v[0])), "bundle", b->folders, "files", MANIFEST);
    char *s = json_dumps(o, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    int fd = open(format(b->c, "%s/" MANIFEST, b->work), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool ok = s && fd >= 0 && write_all(fd, s, strlen(s)) && write_all(fd, "\n", 1);
    if (fd >= 0 && close(fd) != 0) ok = false;
    free(s);
    json_decref(o);
    return ok || refuse(b, E_WRITE, "look whether there is room", "cannot write " MANIFEST ": %s", strerror(errno));
}

/* ---- moving it to its place */
/* Moves files that users and builds have put into the folder `name` of the previous bundle into the new one; dry: only
 * checks whether that is possible. */
static bool keep_others(struct bundle *b, const char *name, bool dry) {
    int from = open(format(b->c, "%s/%s", dry ? b->place : b->work, name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *to_path = format(b->c, "%s/%s", dry ? b->work : b->place, name), *stopped = NULL;
    if (from < 0) return true;
    bool ok = folder_keep_others(b->c, from, to_path, dry, &stopped);
    close(from);
    if (ok) return true;
    const char *what = format(b->c, "%s%s%s/%s", b->given, *name ? "/" : "", name, stopped ? stopped : "");
    return refuse(b, E_WRITE, "remove or rename it, or give another folder with --out",
                  "%s is there already and was not written by gcc2nn", diag_quote(&b->c->arena, what));
}
/* In each folder of an older bundle, and beside them. */
static bool keep_all(struct bundle *b, const file_names *older, bool dry) {
    bool ok = true;
    for (int k = 0; k < older->n && ok; k++) ok = keep_others(b, older->v[k], dry);
    return ok && keep_others(b, "", dry);
}
static bool exchange(const char *a, const char *b, const char *aside) {
    if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    /* if the file system cannot exchange two folders, for a moment there is none */
    if (rename(b, aside) != 0) return false;
    if (rename(a, b) == 0) return rename(aside, a) == 0;
    int error = errno;
    rename(aside, b);
    errno = error;
    return false;
}
/* The previous bundle now only contains our files, and is removed. If a file of others cannot be moved after all, it
 * stays beside the bundle. */
static bool commit_over(struct bundle *b, const file_names *older) {
    if (!keep_all(b, older, true)) return false;
    cleanup_hold();
    bool swapped = exchange(b->work, b->place, format(b->c, "%s-old", b->work));
    int error = errno;
    bool ok = swapped && keep_all(b, older, false);
    if (ok) cleanup_now(b->noted);
    else if (swapped) cleanup_drop(b->noted);
    if (swapped) b->work = NULL;
    cleanup_release();
    errno = error;
    return ok;
}
static bool commit_new(struct bundle *b) {
    cleanup_hold();
    bool ok = rename(b->work, b->place) == 0;
    if (ok) cleanup_drop(b->noted), b->work = NULL;
    cleanup_release();
    return ok;
}
static bool commit(struct bundle *b) {
    mode_t mask = umask(0);
    umask(mask);
    file_names older;
    enum place there = look(b, &older);
    if (!may_replace(b, there)) return false;
    chmod(b->work, 0777 & ~mask); /* mkdtemp made it accessible to us only */
    bool ok = there == OURS ? commit_over(b, &older) : commit_new(b);
    return ok || b->c->diags.errors ||
           refuse(b, E_WRITE, "give another folder with --out", "cannot write %s: %s",
                  diag_quote(&b->c->arena, b->given), strerror(errno));
}
int compile_bundle(const struct options *o) {
    struct bundle b = {.c = ctx_new(), .o = o, .folders = json_array()};
    options_diags(o, &b.c->diags);
    const char *name = path_last(o->args.v[0]), *dot = strrchr(name, '.');
    int stem = dot && dot > name ? (int)(dot - name) : (int)strlen(name), status = EXIT_OK;
    b.given = o->out ? o->out : format(b.c, "%.*s_bundle", stem, name);
    bool ok = read_targets(&b) && begin(&b);
    for (int k = 0; k < b.targets.n && ok; k++) {
        int one = compile_for(&b, b.targets.v[k]);
        if (!status) status = one; /* continue, to see the errors of the other targets, too */
    }
    if (ok && !status && write_manifest(&b) && commit(&b) && !b.c->diags.errors && o->json)
        print_json(json_pack("{s:o, s:O}", "folder", json_name(&b.c->arena, b.given), "bundle", b.folders));
    if (b.work) cleanup_now(b.noted);
    int own = report_diags(&b.c->diags);
    json_decref(b.folders);
    ctx_free(b.c);
    return status ? status : own;
}
