/* How commands end: diagnostics to standard error, results to standard output, the exit status. */
#include "compiler/commands.h"
#include "compiler/sarif.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool want_color(void) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO);
}

static int status_of(enum diag_code code) {
    switch (code) {
    case E_USAGE:
    case E_MACHINE:
    case E_DIM: return EXIT_USAGE;
    case E_BUDGET: return EXIT_BUDGET;
    case E_ENV:
    case E_WRITE:
    case E_FILE: return EXIT_ENV;
    case E_OUTPUT: return EXIT_DIFFERS;
    default: return EXIT_MODEL;
    }
}

static const char *const severities[] = {[DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_NOTE] = "note"};

/* ---- one object a line, for programs */
static void print_json_line(json_t *o) {
    char *s = json_dumps(o, JSON_COMPACT);
    fprintf(stderr, "%s\n", s ? s : "{}");
    free(s);
    json_decref(o);
}
static void set_name(struct arena *a, json_t *o, const char *key, const char *s) {
    if (s) json_object_set_new(o, key, json_name(a, s));
}
static void print_diags_json(const struct diags *d) {
    struct arena a = {0};
    for (int i = 0; i < d->remarks.v.n; i++) {
        const struct remark *r = &d->remarks.v.v[i];
        json_t *o = json_pack("{s:s, s:s, s:o}", "severity", "remark", "remark", remark_kind_name(r->kind), "message",
                              json_name(&a, r->message));
        set_name(&a, o, "file", d->file);
        set_name(&a, o, "origin", r->origin);
        print_json_line(o);
    }
    for (int i = 0; i < d->n; i++) {
        const struct diag *g = &d->v[i];
        json_t *o = json_pack("{s:s, s:s, s:o}", "severity", severities[g->severity], "code",
                              arena_printf(&a, "E%04d", (int)g->code), "message", json_name(&a, g->message));
        set_name(&a, o, "file", g->where);
        set_name(&a, o, "origin", g->origin);
        set_name(&a, o, "excerpt", g->excerpt);
        set_name(&a, o, "help", diag_remedy(d, g));
        print_json_line(o);
    }
    arena_free(&a);
}

int diags_status(const struct diags *d) {
    if (d->ours) return EXIT_INTERNAL;
    for (int i = 0; i < d->n; i++)
        if (d->v[i].severity == DIAG_ERROR) return status_of(d->v[i].code);
    return d->errors ? EXIT_MODEL : EXIT_OK;
}
int report_diags(const struct diags *d) {
    struct text t = {0};
    progress_end();
    if (d->format == DIAG_JSON) print_diags_json(d);
    else if (d->format == DIAG_SARIF) sarif_text(d, &t);
    else diag_print(d, &t, want_color());
    if (t.n) fwrite(t.s, 1, t.n, stderr);
    text_free(&t);
    return diags_status(d);
}

static int print_error; /* the first error of printing, reported at the end */

static void print(const char *s, size_t n) {
    if (n && fwrite(s, 1, n, stdout) != n && !print_error) print_error = errno;
}
void print_text(struct text *t) {
    print(t->s, t->n);
    text_free(t);
}

json_t *json_name(struct arena *a, const char *name) {
    json_t *j = json_string(name);
    return j ? j : json_string(diag_quote(a, name));
}

const char *json_text(const json_t *o, const char *key) {
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}
const char *json_key(struct arena *a, const char *name) {
    json_t *j = json_string(name);
    json_decref(j);
    return j ? name : diag_quote(a, name);
}

void text_json(struct text *out, json_t *root) {
    char *s = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    if (!s) BUG("the result cannot be written as JSON");
    text_add(out, s);
    free(s);
    json_decref(root);
}
void print_json(json_t *root) {
    struct text t = {0};
    text_json(&t, root);
    text_char(&t, '\n');
    print_text(&t);
}

/* If the result could not be printed, the exit status must say so: `diff >/dev/full` must not say that two models
 * differ. */
int flush_output(int status) {
    progress_end();
    if (fflush(stdout) != 0 && !print_error) print_error = errno;
    if (!print_error && !ferror(stdout)) return status;
    const char *why = print_error ? strerror(print_error) : "a part of it is missing";
    fprintf(stderr, "gcc2nn: standard output cannot be written: %s\n", why);
    return status == EXIT_OK || status == EXIT_DIFFERS ? EXIT_ENV : status;
}

/* ---- progress */
static bool wanted; /* set by the program: a library shows no progress */
static bool shown;  /* the cursor is in a progress line */

/* Columns of the terminal: a longer line would wrap, and could not be erased. */
static int room(void) {
    struct winsize w = {0};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col - 1 : 79;
}
void progress_show(void) { wanted = true; }
void progress(const char *fmt, ...) {
    const char *term = getenv("TERM");
    if (!wanted || !isatty(STDERR_FILENO) || !term || !strcmp(term, "dumb")) return;
    struct text t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\r\x1b[K%.*s", room(), t.s ? t.s : "");
    fflush(stderr);
    text_free(&t);
    shown = true;
}

void progress_end(void) {
    if (shown) fputs("\r\x1b[K", stderr);
    shown = false;
}
