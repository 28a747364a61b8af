/* Diagnostics: collects what is wrong with the user's input and prints it in the end, safely for a terminal. */
#include "ir/base/diag.h"
#include "ir/base/die.h"
#include <string.h>

static const struct diag_row rows[] = {
#define CODE(id, number, title, cause, example, remedy) {number, title, cause, example, remedy},
#include "ir/base/diag_codes.h"
#undef CODE
};

const struct diag_row *diag_explain(int code) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == code) return &rows[i];
    return NULL;
}

/* When the list is full, an error still replaces the newest warning or note: the reason of a failure must always be
 * shown. */
static struct diag *new_row(struct diags *d, enum severity s) {
    if (d->n == DIAG_MAX) {
        int i = d->n - 1;
        while (i >= 0 && d->v[i].severity == DIAG_ERROR) i--;
        if (s != DIAG_ERROR || i < 0) return NULL;
        memmove(&d->v[i], &d->v[i + 1], (size_t)(d->n - 1 - i) * sizeof *d->v);
        d->n--;
    }
    return &d->v[d->n++];
}

/* Errors stay in order; the ones beyond the list are only counted. */
const struct diag *diag_error_since(const struct diags *d, const struct diags *before) {
    int known = before->errors;
    for (int k = 0; k < d->n; k++)
        if (d->v[k].severity == DIAG_ERROR && known-- <= 0) return &d->v[k];
    return NULL;
}

bool diag_is_ours(const struct diags *d, enum diag_code code) {
    bool text = code == E_PARSE || code == E_VERIFY || code == E_STEP; /* such codes concern IR text, which models do
                                                                        * not contain: we wrote it */
    return code == E_BROKEN || (text && !d->ir_text);
}

static enum warning_as wanted(const struct diags *d, enum diag_code code) {
    enum warning_as all = WARN_PLAIN, own = WARN_PLAIN;
    bool named = false;
    for (int k = 0; k < d->nrules; k++) {
        if (d->rules[k].code == (int)code) own = d->rules[k].as, named = true;
        else if (!d->rules[k].code) all = d->rules[k].as;
    }
    return named ? own : all;
}
static void record(struct diags *d, enum severity s, enum diag_code code, const char *where, const char *origin,
                   const char *fmt, va_list ap) {
    enum warning_as as = s == DIAG_WARNING ? wanted(d, code) : WARN_PLAIN;
    if (as == WARN_NOT) {
        d->dropped = true;
        return;
    }
    if (as == WARN_ERROR) s = DIAG_ERROR;
    d->errors += s == DIAG_ERROR;
    d->warnings += s == DIAG_WARNING;
    struct diag *row = new_row(d, s);
    d->dropped = !row;
    if (!row) return;
    struct text t = {0};
    text_vprintf(&t, fmt, ap);
    *row = (struct diag){.severity = s, .code = code, .promoted = as == WARN_ERROR};
    if (s == DIAG_ERROR && diag_is_ours(d, code) && d->ours++ == 0) row->help = die_report();
    row->message = text_take(&t, d->arena);
    /* Copies: the caller's names may go away before the end */
    row->where = where ? arena_copy(d->arena, where, strlen(where) + 1) : NULL;
    row->origin = origin ? arena_copy(d->arena, origin, strlen(origin) + 1) : NULL;
}

void diag(struct diags *d, enum severity s, enum diag_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    record(d, s, code, d->file, d->origin, fmt, ap);
    va_end(ap);
}

void diag_node(struct diags *d, enum severity s, enum diag_code code, const char *origin, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    record(d, s, code, d->file, origin, fmt, ap);
    va_end(ap);
}

void diag_at(struct diags *d, enum severity s, enum diag_code code, const char *where, const char *origin,
             const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    record(d, s, code, where, origin, fmt, ap);
    va_end(ap);
}

void diag_help(struct diags *d, const char *fmt, ...) {
    if (!d->n || d->dropped || diag_is_ours(d, d->v[d->n - 1].code))
        return; /* there is nothing that the user could
                 * do */
    struct text t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    d->v[d->n - 1].help = text_take(&t, d->arena);
}

/* Tabs become blanks, so that the mark is in the right place; of long lines only the part around it is shown. */
void diag_excerpt(struct diags *d, int line, const char *text, size_t n, int column, int width) {
    enum { MOST = 100 };
    if (!d->n || d->dropped || column < 1) return;
    size_t at = (size_t)column - 1, from = at > MOST - 20 ? at - (MOST - 20) : 0;
    if (at > n) return;
    struct text t = {0};
    text_printf(&t, "%5d | ", line);
    for (size_t k = from; k < n && k < from + MOST; k++) text_char(&t, text[k] == '\t' ? ' ' : text[k]);
    text_add(&t, "\n      | ");
    for (size_t k = from; k < at; k++) text_char(&t, ' ');
    text_char(&t, '^');
    for (int k = 1; k < width && at + (size_t)k < n && at + (size_t)k < from + MOST; k++) text_char(&t, '~');
    d->v[d->n - 1].excerpt = text_take(&t, d->arena);
}

/* Length of the well-formed UTF-8 sequence at s (2 to 4 bytes), or 0; C1 controls and bidirectional overrides, with
 * which a model's name could rewrite the line it stands in, count as not well formed. */
static int printable_sequence(const unsigned char *s) {
    int n = s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    uint32_t u = n ? s[0] & (0xffu >> (n + 1)) : 0;
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        u = u << 6 | (s[i] & 0x3f);
    }
    bool overlong = (n == 3 && u < 0x800) || (n == 4 && u < 0x10000);
    bool invalid = (u >= 0xd800 && u < 0xe000) || u > 0x10ffff;
    bool control =
        u < 0xa0 || (u >= 0x200e && u <= 0x200f) || (u >= 0x2028 && u <= 0x202e) || (u >= 0x2066 && u <= 0x2069);
    return overlong || invalid || control ? 0 : n;
}

/* Adds the character at s, escaped if necessary; returns the number of bytes it took. */
static int add_escaped(struct text *t, const char *s) {
    unsigned char c = (unsigned char)*s;
    int n = 1;
    if (c == '\n') text_add(t, "\\n");
    else if (c == '\t') text_add(t, "\\t");
    else if (c == '\r') text_add(t, "\\r");
    else if (c >= 0x80 && (n = printable_sequence((const unsigned char *)s)) > 0) text_addn(t, s, (size_t)n);
    else if (c < 0x20 || c >= 0x7f) {
        text_printf(t, "\\x%02x", c);
        n = 1;
    } else text_char(t, *s);
    return n;
}

static void add_all_escaped(struct text *t, const char *s) {
    while (*s) s += add_escaped(t, s);
}

const char *diag_quote(struct arena *a, const char *s) {
    enum { CUT = 60 };
    struct text t = {0};
    text_char(&t, '"');
    int shown = 0;
    for (; *s && shown < CUT; shown++) {
        if (*s == '"' || *s == '\\') text_char(&t, '\\');
        s += add_escaped(&t, s);
    }
    text_add(&t, *s ? "...\"" : "\"");
    return text_take(&t, a);
}

const char *diag_remedy(const struct diags *d, const struct diag *row) {
    bool wants = row->severity == DIAG_ERROR && !row->promoted && !d->ir_text;
    const struct diag_row *code = wants ? diag_explain((int)row->code) : NULL;
    return row->help ? row->help : code ? code->remedy : NULL;
}
static void print_row(const struct diag *d, const char *help, struct text *out, bool color) {
    static const char *const words[] = {[DIAG_ERROR] = "", [DIAG_WARNING] = "warning: ", [DIAG_NOTE] = "note: "};
    static const char *const colors[] = {
        [DIAG_ERROR] = "\x1b[31m", [DIAG_WARNING] = "\x1b[35m", [DIAG_NOTE] = "\x1b[36m"};
    if (d->where) {
        add_all_escaped(out, d->where);
        text_add(out, ": ");
    }
    if (d->origin) {
        add_all_escaped(out, d->origin);
        text_add(out, ": ");
    }
    if (color) text_add(out, colors[d->severity]);
    text_add(out, words[d->severity]);
    add_all_escaped(out, d->message);
    if (color) text_add(out, "\x1b[0m");
    text_printf(out, d->promoted ? " [E%04d, -Werror]\n" : " [E%04d]\n", (int)d->code);
    for (const char *s = d->excerpt; s && *s;) { /* line by line: the rest is escaped */
        size_t n = strcspn(s, "\n");
        for (const char *end = s + n; s < end;) s += add_escaped(out, s);
        text_char(out, '\n');
        s += *s == '\n';
    }
    if (help) {
        text_add(out, "  help: ");
        add_all_escaped(out, help);
        text_char(out, '\n');
    }
}

static void print_remark(const struct diags *d, const struct remark *r, struct text *out, bool color) {
    if (d->file) add_all_escaped(out, d->file), text_add(out, ": ");
    add_all_escaped(out, r->origin);
    text_printf(out, ": %sremark: ", color ? "\x1b[34m" : "");
    add_all_escaped(out, r->message);
    text_printf(out, "%s [-R%s]\n", color ? "\x1b[0m" : "", remark_kind_name(r->kind));
}
static bool said_before(const struct diags *d, int row) {
    const char *help = diag_remedy(d, &d->v[row]);
    for (int k = 0; k < row; k++) {
        const char *earlier = diag_remedy(d, &d->v[k]);
        if (help && earlier && !strcmp(earlier, help)) return true;
    }
    return false;
}
void diag_print(const struct diags *d, struct text *out, bool color) {
    for (int i = 0; i < d->remarks.v.n; i++) print_remark(d, &d->remarks.v.v[i], out, color);
    int errors = d->errors, warnings = d->warnings;
    for (int i = 0; i < d->n; i++) {
        print_row(&d->v[i], said_before(d, i) ? NULL : diag_remedy(d, &d->v[i]), out, color);
        errors -= d->v[i].severity == DIAG_ERROR;
        warnings -= d->v[i].severity == DIAG_WARNING;
    }
    if (errors) text_printf(out, "%d more error%s\n", errors, errors == 1 ? "" : "s");
    if (warnings) text_printf(out, "%d more warning%s\n", warnings, warnings == 1 ? "" : "s");
}
