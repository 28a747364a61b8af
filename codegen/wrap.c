/* Breaks long lines of program text where a person would: outside of as many parentheses as possible, after a comma,
 * before an operator. Runs over the finished text of a file, so that printers need not count columns. The last step
 * from model to source; see emit.h. */
#include "codegen/emit.h"
#include <string.h>

enum { COLUMNS = 120, SHORTEST = 60, PER_DEPTH = 8, CONTINUED = 8 };

/* What a break here costs: the tighter the operator binds, the more; -1: no place for a break. s[i] comes after a
 * space.
 */
static int cost_at(const char *s, size_t i, size_t n) {
    static const struct {
        const char *op;
        int cost;
    } before[] = {{"/*", 0}, {"? ", 1},  {": ", 1},  {"|| ", 2}, {"&& ", 3}, {"== ", 4}, {"!= ", 4}, {"< ", 4},
                  {"> ", 4}, {"<= ", 4}, {">= ", 4}, {"+ ", 5},  {"- ", 5},  {"* ", 6},  {"/ ", 6},  {"% ", 6}};
    if (s[i - 2] == ',' || s[i - 2] == ';') return 0;
    for (size_t k = 0; k < sizeof before / sizeof *before; k++) {
        size_t len = strlen(before[k].op);
        if (n - i > len && !memcmp(s + i, before[k].op, len)) return before[k].cost;
    }
    return -1;
}
/* Past the literal or comment that starts at s[i]; i when none does. */
static size_t skip_opaque(const char *s, size_t i, size_t n) {
    if (s[i] == '"' || s[i] == '\'') {
        size_t k = i + 1;
        while (k < n && s[k] != s[i]) k += s[k] == '\\' ? 2 : 1;
        return k < n ? k + 1 : n;
    }
    if (i + 1 < n && s[i] == '/' && s[i + 1] == '*') {
        size_t k = i + 2;
        while (k + 1 < n && (s[k] != '*' || s[k + 1] != '/')) k++;
        return k + 1 < n ? k + 2 : n;
    }
    return i;
}
/* Where the next line starts, for code with `room` columns; 0: nowhere. *depth: of the parentheses there. */
static size_t code_break(const char *s, size_t n, size_t room, int *depth) {
    size_t best = 0, shortest = room < 2 * SHORTEST ? room / 2 : SHORTEST;
    int best_cost = 0, best_depth = 0, d = *depth;
    for (size_t i = 0; i < n && i <= room;) {
        int cost = i > 1 && s[i - 1] == ' ' && s[i] != ' ' ? cost_at(s, i, n) : -1;
        if (cost >= 0) {
            cost += d * PER_DEPTH + (i < shortest ? 1000 : 0);
            if (!best || cost <= best_cost) best = i, best_cost = cost, best_depth = d;
        }
        if (strchr("([{", s[i])) d++;
        if (strchr(")]}", s[i])) d--;
        size_t past = skip_opaque(s, i, n);
        i = past > i ? past : i + 1;
    }
    *depth = best_depth;
    return best;
}
static size_t comment_break(const char *s, size_t n, size_t room) {
    size_t best = 0;
    for (size_t i = 4; i < n && i <= room; i++)
        if (s[i - 1] == ' ' && s[i] != '*') best = i;
    return best;
}
static void wrap_line(struct text *out, const char *s, size_t n, bool comment) {
    size_t indent = 0, hang, room = COLUMNS;
    int depth = 0;
    while (indent < n && s[indent] == ' ') indent++;
    comment |= n - indent > 1 && s[indent] == '/' && s[indent + 1] == '*';
    hang = comment ? indent - (s[indent] == '*') : indent + CONTINUED;
    text_addn(out, s, indent);
    for (s += indent, n -= indent, room -= indent < room / 2 ? indent : room / 2; n > room;) {
        size_t at = comment ? comment_break(s, n, room) : code_break(s, n, room, &depth), end = at;
        if (!at) break;
        while (s[end - 1] == ' ') end--;
        text_addn(out, s, end);
        text_char(out, '\n');
        for (size_t k = 0; k < hang; k++) text_char(out, ' ');
        s += at, n -= at;
        while (n && *s == ' ') s++, n--; /* names may contain several in a row */
        comment |= s[0] == '/' && s[1] == '*';
        if (comment && s[0] != '/') text_add(out, " * ");
        room = hang < COLUMNS / 2 ? COLUMNS - hang - (comment ? 3 : 0) : COLUMNS / 2;
    }
    text_addn(out, s, n);
}
/* Does a comment that began earlier, or on this line, go on behind it? */
static bool in_comment(const char *s, size_t n, bool comment) {
    for (size_t i = 0; i + 1 < n;) {
        if (comment) {
            comment = s[i] != '*' || s[i + 1] != '/';
            i += comment ? 1 : 2;
        } else if (s[i] == '/' && s[i + 1] == '*') {
            comment = true, i += 2;
        } else {
            size_t past = skip_opaque(s, i, n);
            i = past > i ? past : i + 1;
        }
    }
    return comment;
}
void emit_wrap(struct text *t) {
    struct text out = {0};
    bool comment = false, directive = false; /* go on from the line before */
    for (const char *s = t->s, *end = t->s + t->n; s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        size_t n = (size_t)((stop ? stop : end) - s);
        directive |= n && s[0] == '#' && !comment;
        if (directive || n <= COLUMNS) text_addn(&out, s, n);
        else wrap_line(&out, s, n, comment);
        comment = in_comment(s, n, comment);
        directive &= n && s[n - 1] == '\\';
        if (stop) text_char(&out, '\n');
        s += n + (stop != NULL);
    }
    text_free(t);
    *t = out;
}
