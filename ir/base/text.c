/* Text building, number formatting and interned names: used by every printer. Nothing here depends on the locale. */
#include "ir/base/text.h"
#include "ir/base/die.h"
#include "ir/base/memory.h"
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct text *t, size_t more) {
    if (more >= SIZE_MAX / 2 || t->n >= SIZE_MAX / 2 - more) die_memory(SIZE_MAX);
    size_t need = t->n + more + 1;
    if (need <= t->cap) return;
    size_t cap = t->cap ? t->cap : 64;
    while (cap < need) cap *= 2;
    t->s = memory_grown(t->s, cap);
    t->cap = cap;
}

void text_addn(struct text *t, const char *s, size_t n) {
    reserve(t, n);
    if (n) memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = 0;
}

void text_add(struct text *t, const char *s) { text_addn(t, s, strlen(s)); }
void text_char(struct text *t, char c) { text_addn(t, &c, 1); }

void text_indent(struct text *t, int depth) {
    for (int i = 0; i < depth; i++) text_addn(t, "  ", 2);
}

void text_free(struct text *t) {
    free(t->s);
    *t = (struct text){0};
}

int text_order(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }
bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

char *text_take(struct text *t, struct arena *a) {
    char *s = arena_copy(a, t->s ? t->s : "", t->n + 1);
    text_free(t);
    return s;
}

/* A program that links this code may have called setlocale, but a decimal comma must not get into any output. */
static locale_t enter_c_locale(void) {
    static _Atomic(locale_t) c;
    locale_t l = c;
    if (!l) {
        l = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (!l) die_memory(0);
        c = l;
    }
    return uselocale(l);
}

/* For the formats used here, vsnprintf only fails for lack of memory. */
static size_t print_into(char *p, size_t cap, const char *fmt, va_list ap) {
    locale_t before = enter_c_locale();
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(p, cap, fmt, again);
    va_end(again);
    uselocale(before);
    if (n < 0) die_memory(0);
    return (size_t)n;
}

void text_vprintf(struct text *t, const char *fmt, va_list ap) {
    char small[256];
    size_t n = print_into(small, sizeof small, fmt, ap);
    reserve(t, n);
    if (n < sizeof small) memcpy(t->s + t->n, small, n + 1);
    else print_into(t->s + t->n, n + 1, fmt, ap);
    t->n += n;
}

void text_printf(struct text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(t, fmt, ap);
    va_end(ap);
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) {
    char small[256];
    size_t n = print_into(small, sizeof small, fmt, ap);
    if (n < sizeof small) return arena_copy(a, small, n + 1);
    char *p = arena_alloc(a, n + 1);
    print_into(p, n + 1, fmt, ap);
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

/* inf and nan; false for finite x. */
static bool add_special(struct text *t, double x) {
    if (isnan(x)) text_add(t, "nan");
    else if (isinf(x)) text_add(t, x < 0 ? "-inf" : "inf");
    return !isfinite(x);
}

/* Adds digits, with ".0" if they would otherwise look like an integer. */
static void add_digits(struct text *t, const char *digits) {
    text_add(t, digits);
    if (!strpbrk(digits, ".e")) text_add(t, ".0");
}

/* %.6g returns every decimal of 6 digits from which a normal float was read (15 for double), so shorter precisions need
 * not be tried; subnormal numbers have fewer digits. 9 (17) digits are always enough. */
void text_f32(struct text *t, float x) {
    if (add_special(t, x)) return;
    char s[48];
    locale_t before = enter_c_locale();
    for (int p = isnormal(x) ? 6 : 1; p <= 9; p++) {
        snprintf(s, sizeof s, "%.*g", p, (double)x);
        if (strtof(s, NULL) == x) break;
    }
    uselocale(before);
    add_digits(t, s);
}

void text_f64(struct text *t, double x) {
    if (add_special(t, x)) return;
    char s[48];
    locale_t before = enter_c_locale();
    for (int p = isnormal(x) ? 15 : 1; p <= 17; p++) {
        snprintf(s, sizeof s, "%.*g", p, x);
        if (strtod(s, NULL) == x) break;
    }
    uselocale(before);
    add_digits(t, s);
}

double text_read_f64(const char *s, const char **end) {
    char *stop;
    locale_t before = enter_c_locale();
    double v = strtod(s, &stop);
    uselocale(before);
    if (end) *end = stop;
    return v;
}

struct name {
    const char *s;
    size_t n;
    uint64_t hash;
};
struct interner {
    struct arena *arena;
    struct name *slots;
    size_t n, cap;
};

struct interner *interner_new(struct arena *a) {
    struct interner *in = NEW(a, struct interner);
    in->arena = a;
    in->cap = 256;
    in->slots = NEWN(a, struct name, in->cap);
    return in;
}

static uint64_t hash_bytes(const char *s, size_t n) {
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
    return h ^ h >> 32;
}

/* The slot of this string, or the free one where it belongs. */
static struct name *find(const struct interner *in, const char *s, size_t n, uint64_t hash) {
    size_t i = hash & (in->cap - 1);
    for (; in->slots[i].s; i = (i + 1) & (in->cap - 1)) {
        const struct name *x = &in->slots[i];
        if (x->hash == hash && x->n == n && memcmp(x->s, s, n) == 0) break;
    }
    return &in->slots[i];
}

const char *internn(struct interner *in, const char *s, size_t n) {
    uint64_t hash = hash_bytes(s, n);
    struct name *slot = find(in, s, n, hash);
    if (slot->s) return slot->s;
    if ((in->n + 1) * 3 > in->cap * 2) {
        struct interner old = *in;
        in->cap *= 2;
        in->slots = NEWN(in->arena, struct name, in->cap);
        for (size_t i = 0; i < old.cap; i++)
            if (old.slots[i].s) *find(in, old.slots[i].s, old.slots[i].n, old.slots[i].hash) = old.slots[i];
        slot = find(in, s, n, hash);
    }
    char *copy = arena_alloc(in->arena, n + 1);
    memcpy(copy, s, n);
    *slot = (struct name){copy, n, hash};
    in->n++;
    return copy;
}

const char *intern(struct interner *in, const char *s) { return internn(in, s, strlen(s)); }

const char *internf(struct interner *in, const char *fmt, ...) {
    struct text t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    const char *s = internn(in, t.s, t.n);
    text_free(&t);
    return s;
}
