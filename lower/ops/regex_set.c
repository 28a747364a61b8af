/* Sets of characters of regular expressions, as ranges. */
#include "lower/ops/regex.h"
#include "runtime_stub/nn_text.h"
#include <stdlib.h>
#include <string.h>

void set_add(struct arena *a, struct charset *s, int32_t lo, int32_t hi) {
    struct span r = {lo, hi};
    if (lo <= hi) PUSH(a, &s->of, r);
}
void set_add_all(struct arena *a, struct charset *s, const struct charset *t) {
    for (int k = 0; k < t->of.n; k++) set_add(a, s, t->of.v[k].lo, t->of.v[k].hi);
}
static int by_lo(const void *a, const void *b) {
    const struct span *x = a, *y = b;
    return (x->lo > y->lo) - (x->lo < y->lo);
}
void set_tidy(struct charset *s) {
    int n = 0;
    struct span *v = s->of.v;
    if (s->of.n) qsort(v, (size_t)s->of.n, sizeof *v, by_lo);
    for (int k = 0; k < s->of.n; k++) {
        if (!n || v[k].lo > v[n - 1].hi + 1) v[n++] = v[k];
        else if (v[k].hi > v[n - 1].hi) v[n - 1].hi = v[k].hi;
    }
    s->of.n = n;
}
void set_negate(struct arena *a, struct charset *s) {
    struct charset r = {0};
    int32_t from = 0;
    for (int k = 0; k < s->of.n; k++) {
        set_add(a, &r, from, s->of.v[k].lo - 1);
        from = s->of.v[k].hi + 1;
    }
    set_add(a, &r, from, CHAR_LAST);
    *s = r;
}

/* ---- case */
enum { CASED = 0x20000 }; /* no character from here on has another case */
/* A representative of all characters that differ only in case. The Turkish dotted I and dotless i stand alone: their
 * partners are the i and I of other languages. */
static int32_t without_case(int32_t c) {
    return c == 0x130 || c == 0x131 ? c : nn_char_case(nn_char_case(c, NN_UPPER), NN_LOWER);
}
struct char_case {
    int32_t c, common;
};
struct char_cases {
    VEC(struct char_case) of; /* by what they have in common */
};
static int by_common(const void *a, const void *b) {
    const struct char_case *x = a, *y = b;
    return x->common != y->common ? (x->common > y->common) - (x->common < y->common) : (x->c > y->c) - (x->c < y->c);
}
const struct char_cases *char_cases(struct arena *a) {
    struct char_cases *r = NEW(a, struct char_cases);
    uint8_t *shared = NEWN(a, uint8_t, CASED);
    for (int32_t c = 0; c < CASED; c++) {
        struct char_case one = {c, without_case(c)};
        if (one.common == c) continue;
        PUSH(a, &r->of, one);
        if (shared[one.common]++) continue;
        one.c = one.common;
        PUSH(a, &r->of, one);
    }
    qsort(r->of.v, (size_t)r->of.n, sizeof *r->of.v, by_common);
    return r;
}
static bool contains(const struct charset *s, int32_t c) {
    int lo = 0, hi = s->of.n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (s->of.v[mid].hi < c) lo = mid + 1;
        else hi = mid;
    }
    return lo < s->of.n && s->of.v[lo].lo <= c;
}
void set_fold(struct arena *a, struct charset *s, const struct char_cases *cases) {
    struct charset more = {0};
    const struct char_case *v = cases->of.v;
    for (int k = 0, end = 0; k < cases->of.n; k = end) {
        bool hit = false;
        for (; end < cases->of.n && v[end].common == v[k].common; end++) hit = hit || contains(s, v[end].c);
        for (int j = k; hit && j < end; j++) set_add(a, &more, v[j].c, v[j].c);
    }
    set_add_all(a, s, &more);
    set_tidy(s);
}

/* ---- names */
/* Pairs of first and last characters, one pair behind the other. */
static const struct {
    const char *name, *pairs;
} posix[] = {
    {"alnum", "09AZaz"}, {"alpha", "AZaz"}, {"ascii", "\x00\x7f"}, {"blank", "\t\t  "},  {"cntrl", "\x00\x1f\x7f\x7f"},
    {"digit", "09"},     {"graph", "!~"},   {"lower", "az"},       {"print", " ~"},      {"punct", "!/:@[`{~"},
    {"space", "\t\r  "}, {"upper", "AZ"},   {"word", "09AZaz__"},  {"xdigit", "09AFaf"},
};
static void add_pairs(struct arena *a, struct charset *s, const char *pairs) {
    for (const char *p = pairs; p == pairs || *p; p += 2) set_add(a, s, p[0], p[1]); /* a NUL can only be the first */
}
bool set_add_posix(struct arena *a, struct charset *s, const char *name, size_t n) {
    for (size_t k = 0; k < sizeof posix / sizeof *posix; k++)
        if (strlen(posix[k].name) == n && !memcmp(posix[k].name, name, n)) return add_pairs(a, s, posix[k].pairs), true;
    return false;
}
bool set_add_letter(struct arena *a, struct charset *s, char letter) {
    const char *pairs = letter == 'd' ? "09" : letter == 's' ? "\t\n\f\r  " : letter == 'w' ? "09AZaz__" : NULL;
    if (pairs) add_pairs(a, s, pairs);
    return pairs;
}
