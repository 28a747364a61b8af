/* From gcc2nn.toml to options. See config.h. Priority of values: the profile's table for the target, the profile's, the
 * target's, then the one for all. */
#include "compiler/config.h"
#include "compiler/import/file.h"
#include "compiler/toml_read.h"
#include "ir/base/nearest.h"
#include "ir/loop/target.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "gcc2nn.toml"
enum { MOST_BYTES = 1 << 20, MOST_FOLDERS = 128 };

/* ---- the file */
/* "../gcc2nn.toml": the nearest from here upwards; NULL: there is none. */
static const char *find_file(struct ctx *c) {
    const char *folder = "";
    for (int k = 0; k < MOST_FOLDERS; k++) {
        const char *path = format(c, "%s" FILE_NAME, folder);
        struct stat here, above;
        if (access(path, F_OK) == 0) return path;
        if (stat(*folder ? folder : ".", &here) != 0 || stat(format(c, "%s..", folder), &above) != 0) break;
        if (here.st_dev == above.st_dev && here.st_ino == above.st_ino) break; /* the root */
        folder = format(c, "../%s", folder);
    }
    return NULL;
}
struct file {
    struct ctx *c;
    const char *path, *folder; /* "": the current one; else with a slash */
    struct toml_list list;
};
static void wrong(struct file *f, int line, const char *fmt, ...) NN_PRINTF(3, 4);
static void wrong(struct file *f, int line, const char *fmt, ...) {
    struct text t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    diag_at(&f->c->diags, DIAG_ERROR, E_USAGE, format(f->c, "%s:%d", f->path, line), NULL, "%s", t.s);
    text_free(&t);
}
static bool read_file(struct file *f) {
    struct mapped_file m;
    const char *slash = strrchr(f->path, '/');
    f->folder = slash ? format(f->c, "%.*s", (int)(slash + 1 - f->path), f->path) : "";
    if (!file_map(&f->c->diags, f->path, &m)) return false;
#ifdef HAVE_TOMLPLUSPLUS
    if (m.size <= MOST_BYTES) f->list = toml_read(&f->c->arena, (const char *)m.bytes, m.size);
    else f->list = (struct toml_list){.bad_line = 1, .problem = "the file is too large"};
    file_unmap(&m);
    if (!f->list.problem) return true;
    wrong(f, f->list.bad_line, "this is no TOML: %s", f->list.problem);
    diag_help(&f->c->diags, "--no-config goes on without it; docs/config.md has an example");
#else
    file_unmap(&m);
    diag_at(&f->c->diags, DIAG_ERROR, E_ENV, f->path, NULL, "this gcc2nn was built without toml++, which reads it");
    diag_help(&f->c->diags, "--no-config goes on without it");
#endif
    return false;
}

/* ---- tables */
/* [profile], [target] and [profile.P.target] hold tables, and no option. */
static bool holds_tables(const struct toml_entry *e) {
    const char *const *k = e->path;
    return (e->npath == 0 || (e->npath == 1 && (!strcmp(k[0], "profile") || !strcmp(k[0], "target"))) ||
            (e->npath == 3 && !strcmp(k[0], "profile") && !strcmp(k[2], "target"))) &&
           e->kind == TOML_TABLE;
}
/* The table of an entry: [options], [target.T], [profile.P], [profile.P.target.T]; and the number of keys in that. */
struct place {
    const char *profile, *target; /* NULL: for all */
    int depth;
    bool known;
};
static struct place place_of(const struct toml_entry *e) {
    const char *const *k = e->path;
    int n = e->npath;
    if (holds_tables(e)) return (struct place){.known = false};
    if (n >= 1 && !strcmp(k[0], "options")) return (struct place){NULL, NULL, 1, true};
    if (n >= 2 && !strcmp(k[0], "target")) return (struct place){NULL, k[1], 2, true};
    if (n >= 4 && !strcmp(k[0], "profile") && !strcmp(k[2], "target") && (n > 4 || e->kind == TOML_TABLE))
        return (struct place){k[1], k[3], 4, true};
    if (n >= 2 && !strcmp(k[0], "profile")) return (struct place){k[1], NULL, 2, true};
    return (struct place){.known = false};
}
static const char *place_text(struct ctx *c, const struct place *p) {
    if (!p->profile) return p->target ? format(c, "[target.%s]", p->target) : "[options]";
    return p->target ? format(c, "[profile.%s.target.%s]", p->profile, p->target)
                     : format(c, "[profile.%s]", p->profile);
}
static bool target_exists(const char *words) { return strchr(words, '+') || target_by_name(words); }
static bool check_place(struct file *f, const struct toml_entry *e, const struct place *p) {
    static const char *const tables[] = {"options", "target", "profile"};
    struct arena *a = &f->c->arena;
    if (!p->known) {
        bool table = false;
        for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) table |= !strcmp(e->path[0], tables[k]);
        if (table) wrong(f, e->line, "%s is a table, and not a key", diag_quote(a, e->path[0]));
        else
            wrong(f, e->line, "there is no table or key %s%s", diag_quote(a, e->path[0]),
                  did_you_mean(a, e->path[0], tables, 3));
        diag_help(&f->c->diags,
                  "options stand in [options], [target.NAME], [profile.NAME] or [profile.NAME.target.NAME]");
        return false;
    }
    if (!p->target || e->npath != p->depth || target_exists(p->target)) return true;
    const char *names[64] = {"native"};
    int n = 1;
    for (int k = 0; nn_targets[k] && n < 64; k++) names[n++] = nn_targets[k]->name;
    wrong(f, e->line, "there is no target %s%s", diag_quote(a, p->target), did_you_mean(a, p->target, names, n));
    diag_help(&f->c->diags, "`gcc2nn list-targets` names them");
    return false;
}

/* ---- values */
/* Paths of files, folders, and programs with a slash are relative to the file's folder. */
static const char *placed(struct file *f, const struct option_row *r, const char *value) {
    const char *arg = r->arg ? r->arg : "", *equals = strchr(arg, '=') ? strrchr(value, '=') : NULL,
               *path = equals ? equals + 1 : value;
    bool file = ends_with(arg, "FILE") || ends_with(arg, "DIR") || strstr(arg, "FILE[:"),
         program = !strcmp(arg, "COMPILER") || !strcmp(arg, "PROGRAM");
    if (*path == '/' || !*f->folder || !(file || (program && strchr(path, '/')))) return value;
    return format(f->c, "%.*s%s%s", (int)(path - value), value, f->folder, path);
}
/* The option's argument may be a list: "a=1,b=2" are two values. */
static bool takes_list(const struct option_row *r) { return r->arg && ends_with(r->arg, ",.."); }
static bool takes_pairs(const struct option_row *r) { return r->arg && strchr(r->arg, '='); }
static void add_value(struct file *f, struct setting *s, const char *value) {
    for (const char *at = value; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const char *one = takes_list(s->row) ? format(f->c, "%.*s", (int)strcspn(at, ","), at) : at;
        PUSH(&f->c->arena, &s->values, placed(f, s->row, one));
        if (!takes_list(s->row)) break;
    }
}
/* The entry as a value of the option. false: a diagnostic. */
static bool take_entry(struct file *f, const struct toml_entry *e, const struct place *p, struct setting *s) {
    const struct option_row *r = s->row;
    const char *key = e->path[p->depth], *within = e->npath > p->depth + 1 ? e->path[p->depth + 1] : NULL;
    bool flag = !r->arg || (!option_needs_arg(r) && e->kind == TOML_BOOL), several = e->in_array || within;
    if (e->kind == TOML_TABLE && takes_pairs(r) && !within) return true; /* its entries follow */
    if (e->npath > p->depth + 2 || e->kind == TOML_OTHER || e->kind == TOML_TABLE || (within && !takes_pairs(r)) ||
        flag != (e->kind == TOML_BOOL)) {
        wrong(f, e->line, "%s takes %s", key,
              flag             ? "true or false"
              : takes_pairs(r) ? "a string, an array of strings, or a table of its names"
                               : "a string or a number");
        struct text usage = {0};
        option_usage(&usage, r);
        diag_help(&f->c->diags, "on the command line it is %s", usage.s);
        text_free(&usage);
        return false;
    }
    if (several && r->repeats != REPEATS) return wrong(f, e->line, "%s takes one value", key), false;
    if (!flag) add_value(f, s, within ? format(f->c, "%s=%s", within, e->text) : e->text);
    else if (!strcmp(e->text, "true")) PUSH(&f->c->arena, &s->values, NULL);
    return true;
}

/* ---- which value counts */
/* How specific a table is for the given profile and target; -1: it does not apply. */
static int rank_of(const struct settings *out, const struct place *p) {
    const struct target *t = target_by_name(out->target);
    int rank = 0;
    if (p->profile && !(out->profile && !strcmp(out->profile, p->profile))) return -1;
    if (p->target && !strcmp(p->target, out->target)) rank = 2;
    else if (p->target && t && !strcmp(p->target, t->name)) rank = 1; /* the target that `native` means here */
    else if (p->target) return -1;
    return rank + (p->profile ? 3 : 0);
}
enum { RANKS = 6 };
static const char *name_of(const char *pair, size_t *n) {
    const char *equals = strrchr(pair, '=');
    *n = equals ? (size_t)(equals - pair) : 0;
    return pair;
}
/* Adds the values of the less specific table, except for names that the more specific one has. */
static void merge(struct ctx *c, struct setting *near, const struct setting *far) {
    int own = near->values.n;
    for (int k = 0; k < far->values.n && takes_pairs(near->row) && near->row->repeats == REPEATS; k++) {
        size_t n, m;
        bool given = false;
        const char *name = name_of(far->values.v[k], &n);
        for (int j = 0; j < own; j++) given |= !memcmp(name_of(near->values.v[j], &m), name, n) && m == n;
        if (!given) PUSH(&c->arena, &near->values, far->values.v[k]);
    }
}
static struct setting *setting_of(struct ctx *c, struct settings *out, const struct option_row *r) {
    for (int k = 0; k < out->v.n; k++)
        if (!strcmp(out->v.v[k].row->name, r->name)) return &out->v.v[k];
    struct setting s = {.row = r};
    PUSH(&c->arena, &out->v, s);
    return &out->v.v[out->v.n - 1];
}
/* Takes the options of all tables of one rank; check_file has reported their errors. */
static void take_rank(struct file *f, const struct options *o, struct settings *out, int rank) {
    struct settings at = {0};
    for (int k = 0; k < f->list.n; k++) {
        const struct toml_entry *e = &f->list.v[k];
        struct place p = place_of(e);
        if (!p.known || e->npath <= p.depth || rank_of(out, &p) != rank) continue;
        struct setting *s = setting_of(f->c, &at, option_setting(e->path[p.depth], o->command->bit));
        if (!s->line) s->line = e->line, s->table = place_text(f->c, &p);
        take_entry(f, e, &p, s);
    }
    for (int k = 0; k < at.v.n; k++) {
        struct setting *s = setting_of(f->c, out, at.v.v[k].row);
        if (s->line) merge(f->c, &at.v.v[k], s);
        *s = at.v.v[k];
    }
}
static bool same_key(const struct toml_entry *a, const struct toml_entry *b) {
    if (a->line != b->line || a->npath != b->npath) return false;
    for (int k = 0; k < a->npath; k++)
        if (strcmp(a->path[k], b->path[k])) return false;
    return true;
}
/* Checks every table, even if it does not apply, so that mistakes are reported at once. */
static bool check_file(struct file *f, const struct options *o, const struct settings *out) {
    bool ok = true, found = !out->profile;
    const char *names[64] = {0};
    int n = 0;
    for (int k = 0; k < f->list.n; k++) {
        const struct toml_entry *e = &f->list.v[k];
        struct place p = place_of(e);
        if (holds_tables(e)) continue;
        if (!check_place(f, e, &p)) return false;
        found |= out->profile && p.profile && !strcmp(p.profile, out->profile);
        if (p.profile && n < 64 && (!n || strcmp(names[n - 1], p.profile) != 0)) names[n++] = p.profile;
        if (e->npath <= p.depth) {
            if (e->kind == TOML_TABLE) continue;
            wrong(f, e->line, "%s is a table of options", place_text(f->c, &p));
            ok = false;
            continue;
        }
        const char *key = e->path[p.depth];
        struct setting s = {.row = option_setting(key, o->command->bit)};
        if (!s.row && !(k && same_key(&f->list.v[k - 1], e))) { /* each element of an array is an entry */
            wrong(f, e->line, "%s: %s is no option that a file can set%s", place_text(f->c, &p),
                  diag_quote(&f->c->arena, key), option_setting_near(&f->c->arena, key));
            diag_help(&f->c->diags, "the options of `gcc2nn compile --help` and its like, by their long names");
        }
        ok &= s.row && take_entry(f, e, &p, &s);
    }
    if (found) return ok;
    diag_at(&f->c->diags, DIAG_ERROR, E_USAGE, f->path, NULL, "there is no profile %s%s",
            diag_quote(&f->c->arena, out->profile), did_you_mean(&f->c->arena, out->profile, names, n));
    const char *all = n ? "it has" : "it has none: a table [profile.NAME] makes one";
    for (int k = 0; k < n; k++) all = format(f->c, "%s%s %s", all, k ? "," : "", names[k]);
    diag_help(&f->c->diags, "%s", all);
    return false;
}
bool settings_read(struct ctx *c, const struct options *o, struct settings *out) {
    struct file f = {.c = c, .path = o->no_config ? NULL : o->config ? o->config : find_file(c)};
    *out = (struct settings){.path = f.path, .profile = o->profile};
    if (!f.path && o->profile) {
        diag_at(&c->diags, DIAG_ERROR, E_USAGE, NULL, NULL,
                "--profile: there is no " FILE_NAME " here or in a folder above");
        return false;
    }
    if (!f.path) return true;
    if (!read_file(&f) || !check_file(&f, o, out)) return false;
    /* Which target it is for, tables without one decide. */
    out->target = o->target;
    for (int k = 0; k < f.list.n && !o->target; k++) {
        const struct toml_entry *e = &f.list.v[k];
        struct place p = place_of(e);
        bool mine = p.known && !p.target && e->npath == p.depth + 1 && !strcmp(e->path[p.depth], "target") &&
                    (!p.profile || (o->profile && !strcmp(p.profile, o->profile)));
        if (mine && e->text && (!out->target || p.profile)) out->target = e->text;
    }
    if (!out->target) out->target = "native";
    for (int rank = 0; rank < RANKS; rank++) take_rank(&f, o, out, rank);
    if (!o->target) return true;
    struct setting *s = setting_of(c, out, option_setting("target", o->command->bit));
    s->line = 0, s->table = "command line", s->values.n = 0;
    PUSH(&c->arena, &s->values, o->target);
    return true;
}

/* ---- to the options */
/* The option as given on the command line, as a setting. */
static struct setting given_of(struct ctx *c, const struct options *o, const struct option_row *r) {
    struct setting s = {.row = r};
    struct file here = {.c = c, .folder = ""};
    for (int k = 0; k < o->given.n; k++)
        if (!strcmp(o->given.v[k].row->name, r->name)) {
            s.line = 1;
            if (o->given.v[k].value) add_value(&here, &s, o->given.v[k].value);
        }
    return s;
}
static bool apply(struct ctx *c, struct options *o, const char *path, const struct setting *s) {
    struct setting given = given_of(c, o, s->row);
    int own = given.values.n;
    if (!(s->row->commands & o->command->bit)) return true;
    if (given.line) merge(c, &given, s);
    const struct setting *from = given.line ? &given : s;
    for (int k = given.line ? own : 0; k < from->values.n; k++) {
        struct text problem = {0};
        const char *value = from->values.v[k];
        if (value) value = arena_printf(o->arena, "%s", value); /* the context does not live as long */
        bool ok = option_take(o, s->row, value, &problem);
        if (!ok) diag_at(&c->diags, DIAG_ERROR, E_USAGE, format(c, "%s:%d", path, s->line), NULL, "%s", problem.s);
        text_free(&problem);
        if (!ok) return false;
    }
    return true;
}
bool settings_apply(struct ctx *c, struct options *o) {
    struct settings all;
    int own = o->dims.n;
    bool ok = settings_read(c, o, &all);
    for (int k = 0; k < all.v.n && ok; k++) ok = apply(c, o, all.path, &all.v.v[k]);
    for (int k = own; k < o->dims.n; k++) o->dims.v[k].if_there = true; /* the file may be for several models */
    return ok;
}
