/* Reads records of choices, and finds those of a problem. See record.h. */
#include "lower/schedule/record.h"
#include "ir/base/text.h"
#include "lower/schedule/point.h"
#include <stdlib.h>
#include <string.h>

const char *record_point(struct arena *a, const char *line, size_t n) {
    while (n && *line == ' ') line++, n--;
    while (n && (line[n - 1] == ' ' || line[n - 1] == '\r')) n--;
    static const char cycles[] = " cycles";
    size_t end = n, unit = sizeof cycles - 1;
    if (n > unit && !memcmp(line + n - unit, cycles, unit)) {
        for (end = n - unit; end && is_digit(line[end - 1]);) end--;
        end = end > 2 && !memcmp(line + end - 2, "; ", 2) ? end - 2 : n;
    }
    return arena_printf(a, "%.*s", (int)end, line);
}
struct reading {
    struct ctx *c;
    struct records *out;
    const char *machine;
    const char *block; /* the rest of the kernel's text after its name; NULL: none has begun */
    const char *last;  /* the previous line, if it does not continue another */
    size_t nlast;
};
static void read_head(struct reading *q, const char *line, size_t n) {
    static const char machine[] = "machine ";
    const char *colon = memchr(line, ':', n);
    q->block = NULL;
    if (n > sizeof machine - 1 && !memcmp(line, machine, sizeof machine - 1))
        q->machine = record_point(&q->c->arena, line + sizeof machine - 1, n - (sizeof machine - 1));
    else if (colon && colon[1] == ' ') q->block = colon + 2;
}
static void read_line(struct reading *q, const char *line, size_t n) {
    static const char measured[] = "measured ";
    const char *said = record_point(&q->c->arena, line, n);
    bool taken = !strcmp(said, "taken"), time = !strncmp(said, measured, sizeof measured - 1);
    if (n && *line != ' ') read_head(q, line, n);
    else if (q->machine && q->block && q->last && (taken || time)) {
        struct record r = {q->machine, q->block, record_point(&q->c->arena, q->last, q->nlast), taken, 0};
        if (time) r.measured = strtod(said + sizeof measured - 1, NULL);
        PUSH(&q->c->arena, &q->out->list, r);
    }
    if (!taken && !time) q->last = line, q->nlast = n;
}
bool records_add(struct ctx *c, struct records *to, const char *text) {
    const char *copy = arena_printf(&c->arena, "%s", text);
    struct reading q = {.c = c, .out = to};
    for (const char *at = copy; *at;) {
        size_t line = strcspn(at, "\n");
        read_line(&q, at, line);
        at += line + (at[line] == '\n');
    }
    return q.machine != NULL;
}
struct records *records_read(struct ctx *c, const char *text) {
    struct records *r = NEW(&c->arena, struct records);
    records_add(c, r, text);
    return r;
}
/* The line after the problem's text names a strategy; otherwise the text is only the beginning of a longer problem. */
static bool names_strategy(const char *line, const struct strategy *const *by) {
    if (strncmp(line, "  ", 2) != 0) return false;
    for (; *by; by++) {
        size_t n = strlen((*by)->name);
        if (!strncmp(line + 2, (*by)->name, n) && strchr(":\r\n", line[2 + n])) return true;
    }
    return false;
}
bool record_is_of(const struct record *r, const struct machine *m, const char *problem,
                  const struct strategy *const *by) {
    size_t n = strlen(problem);
    return !strcmp(r->machine, m->name) && !strncmp(r->text, problem, n) && names_strategy(r->text + n, by);
}
const char *recorded_point(const struct records *r, const struct machine *m, const char *problem,
                           const struct strategy *const *by) {
    for (int k = r ? r->list.n : 0; k--;) {
        const struct record *q = &r->list.v[k];
        if (q->taken && record_is_of(q, m, problem, by)) return q->point;
    }
    return NULL;
}
