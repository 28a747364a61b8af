/* See remark.h. */
#include "ir/base/remark.h"
#include "ir/base/ctx.h"
#include <fnmatch.h>
#include <string.h>

static const char *const names[] = {
#define NAME(kind, name, about) name,
    REMARK_KINDS(NAME)
#undef NAME
};
const char *remark_kind_name(enum remark_kind k) { return names[k]; }
int remark_kind_named(const char *word, size_t n) {
    if (n == 3 && !memcmp(word, "all", n)) return REMARKS_ALL;
    for (int k = 0; k < REMARKS_ALL; k++)
        if (strlen(names[k]) == n && !memcmp(word, names[k], n)) return k;
    return -1;
}
/* Compares the last part of an origin between two marks, such as its name or its operator. */
static bool part_matches(const char *origin, size_t n, char open, char close, const char *pattern) {
    char part[256];
    size_t end = n;
    while (end && origin[end - 1] != close) end--;
    size_t from = end ? end - 1 : 0;
    while (from && origin[from - 1] != open) from--;
    if (!from || end - 1 - from >= sizeof part) return false;
    memcpy(part, origin + from, end - 1 - from);
    part[end - 1 - from] = 0;
    return fnmatch(pattern, part, 0) == 0;
}
bool remark_wanted(const struct ctx *c, enum remark_kind k, const char *origin) {
    const struct remarks *r = &c->diags.remarks;
    size_t n = origin ? strcspn(origin, "\n") : 0;
    for (int i = 0; i < r->nwishes; i++) {
        const struct remark_wish *w = &r->wishes[i];
        if (w->kind != REMARKS_ALL && w->kind != k) continue;
        if (!w->pattern || part_matches(origin, n, '"', '"', w->pattern) ||
            part_matches(origin, n, '(', ')', w->pattern))
            return true;
    }
    return false;
}
const char *origin_own(struct ctx *c, const char *origin) {
    return format(c, "%.*s", (int)strcspn(origin, "\n"), origin);
}
void remark(struct ctx *c, enum remark_kind k, const char *origin, const char *fmt, ...) {
    if (!origin || !remark_wanted(c, k, origin)) return;
    va_list ap;
    va_start(ap, fmt);
    struct remark r = {k, origin_own(c, origin), arena_vprintf(&c->arena, fmt, ap)};
    va_end(ap);
    PUSH(&c->arena, &c->diags.remarks.v, r);
}
