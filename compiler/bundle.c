/* `gcc2nn compile --targets A,B -o DIR`: the same model for several targets, a folder for each and one manifest. All of
 * it is made beside its place and put there in one step; docs/output.md#bundles states the rules. A folder alone:
 * codegen/folder.c. */
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
    const char *given, *place; /* as the user calls it; without links */
    const char *work;          /* where it is made, beside it; NULL: not yet */
    int noted;                 /* for cleanup_drop */
    VEC(const char *) targets; /* also the names of the folders */
    json_t *folders;           /* of the manifest */
};

/* ---- what there is to do */
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
        if (!is_file_name(name)) /* it names a folder, too */
            return refuse(b, E_USAGE, list, "there is no target %s", diag_quote(&b->c->arena, name));
        for (int k = 0; k < b->targets.n; k++)
            if (!strcmp(b->targets.v[k], name)) return refuse(b, E_USAGE, list, "--targets: %s is given twice", name);
        if (!strchr(name, '+') && !target_named(b->c, name)) return false;
        PUSH(&b->c->arena, &b->targets, name);
    }
    const char *other = o->target       ? "--target"
                        : o->depfile    ? "--depfile"
                        : o->stop_after ? "--stop-after"
                        : o->emit       ? "--emit"
                                        : NULL;
    return !other ||
           refuse(b, E_USAGE, "it is for a compilation for one target", "--targets and %s exclude each other", other);
}

/* ---- the place */
enum place { NOTHING, EMPTY, OURS, OTHER };
static json_t *read_manifest(const char *folder) {
    struct ctx *c = ctx_new();
    struct mapped_file f = {0};
    json_t *j = NULL;
    if (file_map(&c->diags, format(c, "%s/" MANIFEST, folder), &f))
        j = json_loadb((const char *)f.bytes, f.size, 0, NULL);
    file_unmap(&f);
    ctx_free(c);
    if (manifest_is_ours(j) && json_is_array(json_object_get(j, "bundle"))) return j;
    json_decref(j);
    return NULL;
}
static enum place look(const char *path) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return errno == ENOENT ? NOTHING : OTHER;
    DIR *d = folder_entries(folder);
    bool empty = d && !next_entry(d);
    if (d) closedir(d);
    close(folder);
    json_t *ours = read_manifest(path);
    json_decref(ours);
    return empty ? EMPTY : ours ? OURS : OTHER;
}
static bool holds_current(const char *path) {
    char here[PATH_MAX];
    size_t n = strlen(path);
    return getcwd(here, sizeof here) && !strncmp(here, path, n) && (here[n] == '/' || !here[n]);
}
static bool may_replace(struct bundle *b) {
    const char *shown = diag_quote(&b->c->arena, b->given), *another = "give another folder with --out";
    enum place there = look(b->place);
    if (there == OTHER) return refuse(b, E_WRITE, another, "%s exists and is no bundle of gcc2nn", shown);
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
    if (!may_replace(b)) return false;
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
/* EXIT_OK, or what it came to; then it was said why. */
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

/* ---- putting it in its place */
/* What users and builds have put into the folder `name` of the older bundle goes into the new one; dry: could it?
 * ours NULL: what its manifest lists. */
static bool keep_others(struct bundle *b, const char *name, const file_names *ours, bool dry) {
    int from = open(format(b->c, "%s/%s", dry ? b->place : b->work, name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *to_path = format(b->c, "%s/%s", dry ? b->work : b->place, name), *stopped = NULL;
    if (from < 0) return true;
    bool ok = folder_keep_others(b->c, from, ours, to_path, dry, &stopped);
    close(from);
    if (ok) return true;
    const char *what = format(b->c, "%s%s%s/%s", b->given, *name ? "/" : "", name, stopped ? stopped : "");
    return refuse(b, E_WRITE, "remove or rename it, or give another folder with --out",
                  "%s is there already and was not written by gcc2nn", diag_quote(&b->c->arena, what));
}
/* In each folder of the older bundle, and beside them. */
static bool keep_all(struct bundle *b, json_t *older, bool dry) {
    file_names top = {0};
    bool ok = true;
    PUSH(&b->c->arena, &top, MANIFEST);
    for (size_t k = 0; k < json_array_size(older); k++) {
        const char *name = json_string_value(json_object_get(json_array_get(older, k), "folder"));
        if (!name || !is_file_name(name)) continue;
        PUSH(&b->c->arena, &top, format(b->c, "%s", name));
        ok = ok && keep_others(b, top.v[top.n - 1], NULL, dry);
    }
    return ok && keep_others(b, "", &top, dry);
}
static bool exchange(const char *a, const char *b, const char *aside) {
    if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    /* Where a file system cannot exchange two folders there is none for a moment. */
    if (rename(b, aside) != 0) return false;
    if (rename(a, b) == 0) return rename(aside, a) == 0;
    int error = errno;
    rename(aside, b);
    errno = error;
    return false;
}
/* What was there before is ours now, less what was not, and goes. Where something of others cannot be moved after all,
 * it stays beside the bundle. */
static bool commit_over(struct bundle *b, json_t *older) {
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
    if (!may_replace(b)) return false;
    chmod(b->work, 0777 & ~mask); /* mkdtemp made it for us alone */
    json_t *old = read_manifest(b->place);
    bool ok = old ? commit_over(b, json_object_get(old, "bundle")) : commit_new(b);
    json_decref(old);
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
        if (!status) status = one; /* the others say what is wrong with them, too */
    }
    if (ok && !status && write_manifest(&b) && commit(&b) && !b.c->diags.errors && o->json)
        print_json(json_pack("{s:o, s:O}", "folder", json_name(&b.c->arena, b.given), "bundle", b.folders));
    if (b.work) cleanup_now(b.noted);
    int own = report_diags(&b.c->diags);
    json_decref(b.folders);
    ctx_free(b.c);
    return status ? status : own;
}
