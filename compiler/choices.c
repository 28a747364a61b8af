/* Reads what `--dump-after=choices` shows, kernel by kernel. See choices.h. */
#include "compiler/choices.h"
#include <stdlib.h>
#include <string.h>

const char *choices_next(struct arena *a, const char **at, const char **name) {
    const char *from = *at, *end = from, *line;
    size_t colon = strcspn(from, ":\n");
    while (from[colon] == '\n') from = end = from + colon + 1, colon = strcspn(from, ":\n");
    if (from[colon] != ':') return NULL;
    do line = strchr(end, '\n'), end = line ? line + 1 : end + strlen(end);
    while (*end == ' ');
    *name = arena_printf(a, "%.*s", (int)colon, from);
    *at = end;
    return arena_printf(a, "%.*s", (int)(end - from), from);
}
/* "N" of "..; N cycles"; 0: not given. */
static double cycles_of(const char *line, size_t n) {
    const char *at = NULL;
    for (size_t k = 0; k + 1 < n; k++)
        if (line[k] == ';') at = line + k + 1;
    return at && n > 7 && !memcmp(line + n - 7, " cycles", 7) ? strtod(at, NULL) : 0;
}
/* Points follow the problem: the one above `taken`, those above `refused`, and, indented deeper, those that were not
 * tried. */
void choices_points(struct arena *a, const char *text, size_t problem, struct choice_list *out) {
    const char *last = NULL;
    size_t nlast = 0;
    bool others = false;
    for (const char *at = text + problem; *at;) {
        size_t n = strcspn(at, "\n"), deep = strspn(at, " ");
        bool taken = n == deep + 5 && !memcmp(at + deep, "taken", 5), other = others && deep == 6;
        if (taken && last) {
            struct choice p = {record_point(a, last, nlast), cycles_of(last, nlast)};
            PUSH(a, &out->v, p);
        } else if (other) {
            struct choice p = {record_point(a, at, n), cycles_of(at, n)};
            PUSH(a, &out->v, p);
        }
        others = other || (deep == 4 && !memcmp(at, "    and ", 8));
        last = at, nlast = n;
        at += n + (at[n] == '\n');
    }
}
