/* Reads records of choices, and finds those of a problem. See record.h. */
#include "lower/schedule/record.h"
#include "ir/base/text.h"
#include "lower/schedule/point.h"
#include <string.h>

/* A line of the dump without blanks around it and the predicted cycles. */
static const char *point_text(struct arena *a, const char *line, size_t n) {
    while (n && *line == ' ') line++, n--;
    while (n && (line[n - 1] == ' ' || line[n - 1] == '\r')) n--;
    static const char cycles[] = " cycles";
    size_t end = n, unit = sizeof cycles - 1;
    if (n > unit && !memcmp(line + n - unit, cycles, unit)) {
        for (end = n - unit; end && line[end - 1] >= '0' && line[end - 1] <= '9';) end--;
        end = end > 2 && !memcmp(line + end - 2, "; ", 2) ? end - 2 : n;
    }
    return arena_printf(a, "%.*s", (int)end, line);
}
struct reading {
    struct ctx *c;
    struct records *out;
    const char *machine;
    const char *block; /* the kernel's, from behind its name on; NULL: none has begun */
    const char *last;  /* the line before */
    size_t nlast;
};
static void read_head(struct reading *q, const char *line, size_t n) {
    static const char machine[] = "machine ";
    const char *colon = memchr(line, ':', n);
    q->block = NULL;
    if (n > sizeof machine - 1 && !memcmp(line, machine, sizeof machine - 1))
        q->machine = point_text(&q->c->arena, line + sizeof machine - 1, n - (sizeof machine - 1));
    else if (colon && colon[1] == ' ') q->block = colon + 2;
}
static void read_line(struct reading *q, const char *line, size_t n) {
    if (n && *line != ' ') read_head(q, line, n);
    else if (q->machine && q->block && q->last && !strcmp(point_text(&q->c->arena, line, n), "taken")) {
        struct record r = {q->machine, q->block, point_text(&q->c->arena, q->last, q->nlast)};
        PUSH(&q->c->arena, &q->out->list, r);
    }
    q->last = line, q->nlast = n;
}
struct records *records_read(struct ctx *c, const char *text) {
    const char *copy = arena_printf(&c->arena, "%s", text);
    struct reading q = {.c = c, .out = NEW(&c->arena, struct records)};
    for (const char *at = copy; *at;) {
        size_t line = strcspn(at, "\n");
        read_line(&q, at, line);
        at += line + (at[line] == '\n');
    }
    return q.out;
}
/* Behind the problem's text a strategy is named: it is not the beginning of a longer problem. */
static bool names_strategy(const char *line, const struct strategy *const *by) {
    if (strncmp(line, "  ", 2) != 0) return false;
    for (; *by; by++) {
        size_t n = strlen((*by)->name);
        if (!strncmp(line + 2, (*by)->name, n) && strchr(":\r\n", line[2 + n])) return true;
    }
    return false;
}
const char *recorded_point(const struct records *r, const struct machine *m, const char *problem,
                           const struct strategy *const *by) {
    size_t n = strlen(problem);
    for (int k = r ? r->list.n : 0; k--;) {
        const struct record *q = &r->list.v[k];
        if (!strcmp(q->machine, m->name) && !strncmp(q->text, problem, n) && names_strategy(q->text + n, by))
            return q->point;
    }
    return NULL;
}
