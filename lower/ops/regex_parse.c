/* RE2's syntax (its wiki page Syntax): from a pattern to a tree. Refuses what RE2 refuses, and also \C, a single
 * byte. */
#include "ir/base/text.h"
#include "lower/ops/regex.h"
#include "runtime_stub/nn_text.h"
#include <string.h>

enum { PATTERN_MAX = 1 << 15, NESTED_MAX = 1000, COPIES_MAX = 1000, SETS_MAX = 4096, FIRST_TOO_LARGE = 100000000 };
enum { ANY_CASE = 1, LINES = 2, DOT_ALL = 4, SHORT_FIRST = 8 };
struct parser {
    struct arena *a;
    nn_str s;
    int64_t at;
    int flags, depth;
    const char **why; /* *why: the first error, after which the rest is ignored */
    struct re_tree *t;
    VEC(nn_str) names;
    const struct char_cases *cases; /* NULL until needed */
};

static void NN_PRINTF(2, 3) wrong(struct parser *p, const char *fmt, ...) {
    va_list ap;
    struct text t = {0};
    if (*p->why) return;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    *p->why = arena_printf(p->a, "at byte %lld: %s", (long long)p->at, t.s);
    text_free(&t);
    p->at = (int64_t)p->s.n;
}
static bool ends(const struct parser *p) { return (uint64_t)p->at >= p->s.n; }
static int32_t byte_at(const struct parser *p, int64_t k) {
    return nn_str_byte(p->s, p->at + k);
} /* 0 behind the end */
static bool is_next(const struct parser *p, const char *what) {
    size_t n = strlen(what);
    return (size_t)p->at + n <= p->s.n && !memcmp(p->s.p + p->at, what, n);
}
static bool take(struct parser *p, const char *what) {
    bool found = is_next(p, what);
    if (found) p->at += (int64_t)strlen(what);
    return found;
}
/* Where `what` is next, not before k bytes from here; -1 nowhere. */
static int64_t next_of(const struct parser *p, int64_t k, const char *what) {
    return nn_str_find(p->s, nn_str_of(what, (int64_t)strlen(what)), p->at + k);
}
static int32_t take_char(struct parser *p) {
    int32_t c = nn_char_at(p->s, p->at);
    if (ends(p)) return wrong(p, "the pattern ends too early"), 0;
    if (c < 0) return wrong(p, "this is no UTF-8"), 0;
    for (int k = 0; nn_char_byte(c, k) >= 0; k++) p->at++;
    return c;
}

/* ---- nodes */
static struct re *node(struct parser *p, enum re_op op) {
    struct re *r = NEW(p->a, struct re);
    r->op = op;
    r->copies = 1;
    return r;
}
static void append(struct re *to, struct re *r) {
    r->before = to->last;
    to->last = r;
    if (r->copies > to->copies) to->copies = r->copies;
}
static void append_set(struct parser *p, struct re *to, struct charset s) {
    struct re *r = node(p, RE_SET);
    set_tidy(&s);
    for (r->arg = 0; r->arg < p->t->sets.n; r->arg++) {
        const struct charset *t = &p->t->sets.v[r->arg];
        if (t->of.n == s.of.n && (!s.of.n || !memcmp(t->of.v, s.of.v, (size_t)s.of.n * sizeof *s.of.v))) break;
    }
    if (r->arg == SETS_MAX) wrong(p, "more than %d different characters and classes", SETS_MAX);
    else if (r->arg == p->t->sets.n) PUSH(p->a, &p->t->sets, s);
    append(to, r);
}
/* Tidies a set, applying the current flags. */
static void fold(struct parser *p, struct charset *s) {
    if (!(p->flags & ANY_CASE)) return;
    if (!p->cases) p->cases = char_cases(p->a);
    set_fold(p->a, s, p->cases);
}
static void append_char(struct parser *p, struct re *to, int32_t c) {
    struct charset s = {0};
    set_add(p->a, &s, c, c);
    fold(p, &s);
    append_set(p, to, s);
}
static void append_here(struct parser *p, struct re *to, int what) {
    struct re *r = node(p, RE_HERE);
    r->arg = what;
    append(to, r);
}

/* ---- escapes */
static int digit_of(int32_t c, int base) {
    int v = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 16;
    return v < base ? v : -1;
}
/* A number of up to `most` digits; at least one is needed. */
static int32_t take_number(struct parser *p, int base, int most) {
    int32_t v = 0;
    int n = 0;
    for (; n < most && digit_of(byte_at(p, 0), base) >= 0 && v <= CHAR_LAST; n++, p->at++)
        v = v * base + digit_of(byte_at(p, 0), base);
    if (!n || v > CHAR_LAST) wrong(p, "this is no number of a character");
    return v;
}
/* What stands behind a backslash, as one character. */
static int32_t take_escaped(struct parser *p) {
    static const char letters[] = "afnrtv", mean[] = "\a\f\n\r\t\v";
    int32_t c = byte_at(p, 0);
    const char *letter = c ? strchr(letters, c) : NULL;
    bool octal = c == '0' || (digit_of(c, 8) > 0 && digit_of(byte_at(p, 1), 8) >= 0);
    bool word = c >= 0x80 || digit_of(c, 10) >= 0 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (octal) return take_number(p, 8, 3);
    if (take(p, "x{")) {
        int32_t v = take_number(p, 16, INT32_MAX);
        if (!take(p, "}")) wrong(p, "} is missing");
        return v;
    }
    if (take(p, "x")) {
        if (digit_of(byte_at(p, 1), 16) < 0) wrong(p, "two hexadecimal digits belong here");
        return take_number(p, 16, 2);
    }
    if (ends(p)) wrong(p, "the pattern ends with a backslash");
    else if (word && !letter) wrong(p, c == 'C' ? "\\C, a byte, is not supported" : "there is no such escape");
    p->at++;
    return letter ? mean[letter - letters] : c;
}
/* A class written with a backslash, \d or \pN; false: none stands here. */
static bool take_class(struct parser *p, struct charset *to) {
    struct charset s = {0};
    int64_t begin = p->at;
    int32_t c = byte_at(p, 1), lower = c | 32;
    bool negated = c != lower;
    if (byte_at(p, 0) != '\\' || !(lower == 'p' || lower == 'd' || lower == 's' || lower == 'w')) return false;
    p->at += 2;
    if (lower != 'p') set_add_letter(p->a, &s, (char)lower);
    else {
        int64_t from = p->at, n;
        if (take(p, "{")) {
            if (take(p, "^")) negated = !negated;
            from = p->at;
            n = next_of(p, 0, "}") - from;
            p->at += n + 1;
        } else {
            take_char(p);
            n = p->at - from;
        }
        if (*p->why) return true;
        if (n < 0 || !set_add_unicode(p->a, &s, p->s.p + from, (size_t)n)) {
            p->at = begin;
            wrong(p, "there is no such class of characters");
            return true;
        }
    }
    set_tidy(&s);
    fold(p, &s);
    if (negated) set_negate(p->a, &s);
    set_add_all(p->a, to, &s);
    return true;
}
/* [:name:]; false: none stands here. */
static bool take_posix(struct parser *p, struct charset *to) {
    struct charset s = {0};
    int64_t end = next_of(p, 2, ":]");
    if (!is_next(p, "[:") || end < 0) return false;
    bool negated = byte_at(p, 2) == '^';
    int64_t from = p->at + 2 + negated;
    if (from > end || !set_add_posix(p->a, &s, p->s.p + from, (size_t)(end - from)))
        return wrong(p, "there is no such class of characters"), true;
    p->at = end + 2;
    set_tidy(&s);
    fold(p, &s);
    if (negated) set_negate(p->a, &s);
    set_add_all(p->a, to, &s);
    return true;
}
static int32_t take_char_of_class(struct parser *p) { return take(p, "\\") ? take_escaped(p) : take_char(p); }
/* Behind the [ */
static void take_brackets(struct parser *p, struct re *to) {
    struct charset s = {0};
    bool negated = take(p, "^");
    for (bool first = true; first || !is_next(p, "]"); first = false) {
        if (ends(p)) wrong(p, "] is missing");
        if (*p->why) return;
        if (take_posix(p, &s) || take_class(p, &s)) continue;
        int32_t lo = take_char_of_class(p), hi = lo;
        struct charset range = {0};
        if (is_next(p, "-") && byte_at(p, 1) != ']' && (size_t)p->at + 1 < p->s.n) {
            p->at++;
            hi = take_char_of_class(p);
        }
        if (hi < lo) wrong(p, "a range of characters ends before it begins");
        set_add(p->a, &range, lo, hi);
        fold(p, &range);
        set_add_all(p->a, &s, &range);
    }
    p->at++;
    set_tidy(&s);
    if (negated) set_negate(p->a, &s);
    append_set(p, to, s);
}

/* ---- groups and repetitions */
static struct re *parse_any(struct parser *p);

static void take_name(struct parser *p) {
    int64_t end = next_of(p, 0, ">"), n = end - p->at;
    nn_str name = nn_str_part(p->s, p->at, end < 0 ? 0 : n);
    bool good = end >= 0 && n > 0;
    struct charset word = {0};
    static const char *const of[] = {"L", "M", "N", "Pc"};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) set_add_unicode(p->a, &word, of[k], strlen(of[k]));
    for (int64_t from = p->at; good && p->at < end;) {
        int32_t c = take_char(p);
        bool found = false;
        for (int k = 0; k < word.of.n; k++) found = found || (word.of.v[k].lo <= c && c <= word.of.v[k].hi);
        good = found && p->at > from;
    }
    for (int k = 0; k < p->names.n; k++) good = good && !nn_str_equal(p->names.v[k], name);
    if (!good) wrong(p, "a group has no name, or that of another one");
    PUSH(p->a, &p->names, name);
    p->at = *p->why ? p->at : end + 1;
}
/* Flags behind "(?", up to : or ). true: a group follows. */
static bool take_flags(struct parser *p) {
    static const char letters[] = "imsU";
    int flags = p->flags, given = 0;
    bool off = false;
    for (;; p->at++) {
        int32_t c = byte_at(p, 0);
        const char *letter = c ? strchr(letters, c) : NULL;
        if (letter) {
            int bit = 1 << (letter - letters);
            flags = off ? flags & ~bit : flags | bit;
            given++;
        } else if (c == '-' && !off) off = true, given = 0;
        else break;
    }
    bool group = byte_at(p, 0) == ':';
    if ((!group && byte_at(p, 0) != ')') || (off && !given))
        wrong(p, "only names, flags and (?: may stand behind (?; there is no looking ahead or back");
    p->at++;
    p->flags = flags;
    return group;
}
/* Behind the ( */
static void take_group(struct parser *p, struct re *to) {
    int before = p->flags;
    if (take(p, "?P<") || (is_next(p, "?<") && byte_at(p, 2) != '=' && byte_at(p, 2) != '!' && take(p, "?<")))
        take_name(p);
    else if (take(p, "?") && !take_flags(p)) return; /* they apply until the end of the surrounding group */
    if (++p->depth > NESTED_MAX) wrong(p, "groups are nested more than %d deep", NESTED_MAX);
    else append(to, parse_any(p));
    if (!take(p, ")")) wrong(p, ") is missing");
    p->depth--;
    p->flags = before;
}
/* The count in {n,m}; -1: none, or not as RE2 writes it. */
static int take_count(struct parser *p) {
    int v = 0;
    if (digit_of(byte_at(p, 0), 10) < 0 || (byte_at(p, 0) == '0' && digit_of(byte_at(p, 1), 10) >= 0)) return -1;
    for (; digit_of(byte_at(p, 0), 10) >= 0; p->at++) {
        if (v >= FIRST_TOO_LARGE) return -1;
        v = v * 10 + digit_of(byte_at(p, 0), 10);
    }
    return v;
}
static bool take_braces(struct parser *p, int *min, int *max) {
    int64_t begin = p->at++;
    *min = *max = take_count(p);
    bool good = *min >= 0;
    if (good && take(p, ",")) {
        *max = is_next(p, "}") ? -1 : take_count(p);
        good = is_next(p, "}");
    }
    good = good && take(p, "}");
    if (!good) p->at = begin; /* a brace as any character */
    return good;
}
/* A repetition of the last child of `to`; false: none stands here. */
static bool take_repetition(struct parser *p, struct re *to, bool again) {
    int min = 0, max = -1;
    int64_t begin = p->at;
    struct re *r = node(p, RE_REPEAT), *of = to->last;
    if (take(p, "+")) min = 1;
    else if (take(p, "?")) max = 1;
    else if (!take(p, "*") && !(is_next(p, "{") && take_braces(p, &min, &max))) return false;
    int most = max < 0 ? min : max;
    p->at = of && !again ? p->at : begin;
    if (!of) wrong(p, "there is nothing to repeat");
    else if (again) wrong(p, "a repetition of a repetition; put the first one into a group");
    else if ((max >= 0 && max < min) || most > COPIES_MAX || (most > 1 && most * of->copies > COPIES_MAX))
        wrong(p, "repetitions must not make more than %d copies, nor end before they begin", COPIES_MAX);
    else {
        take(p, "?"); /* non-greedy: makes no difference here */
        r->min = min, r->max = max;
        to->last = of->before;
        of->before = NULL;
        append(r, of);
        r->copies = (most > 1 ? most : 1) * of->copies;
        append(to, r);
    }
    return true;
}
static void take_backslash(struct parser *p, struct re *to) {
    struct charset s = {0};
    if (take(p, "\\Q")) {
        while (!ends(p) && !is_next(p, "\\E")) append_char(p, to, take_char(p));
        take(p, "\\E");
    } else if (take(p, "\\A")) append_here(p, to, HERE_BEGIN);
    else if (take(p, "\\z")) append_here(p, to, HERE_END);
    else if (take(p, "\\b")) append_here(p, to, HERE_WORD_EDGE);
    else if (take(p, "\\B")) append_here(p, to, HERE_NO_WORD_EDGE);
    else if (take_class(p, &s)) append_set(p, to, s);
    else p->at++, append_char(p, to, take_escaped(p));
}
static struct re *parse_all(struct parser *p) {
    struct re *r = node(p, RE_ALL);
    struct charset dot = {0};
    for (bool repeated = false; !ends(p) && !is_next(p, "|") && !is_next(p, ")");) {
        repeated = take_repetition(p, r, repeated);
        if (repeated) continue;
        if (is_next(p, "\\")) take_backslash(p, r);
        else if (take(p, "[")) take_brackets(p, r);
        else if (take(p, "(")) take_group(p, r);
        else if (take(p, "^")) append_here(p, r, p->flags & LINES ? HERE_LINE_BEGIN : HERE_BEGIN);
        else if (take(p, "$")) append_here(p, r, p->flags & LINES ? HERE_LINE_END : HERE_END);
        else if (take(p, ".")) {
            dot = (struct charset){0};
            set_add(p->a, &dot, 0, '\n' - 1);
            set_add(p->a, &dot, p->flags & DOT_ALL ? '\n' : '\n' + 1, CHAR_LAST);
            append_set(p, r, dot);
        } else append_char(p, r, take_char(p));
    }
    return r;
}
static struct re *parse_any(struct parser *p) {
    struct re *r = node(p, RE_ANY);
    do append(r, parse_all(p));
    while (take(p, "|"));
    return r;
}
struct re_tree *regex_parse(struct arena *a, const char *s, size_t n, const char **why) {
    struct parser p = {.a = a, .s = {s, n}, .why = why, .t = NEW(a, struct re_tree)};
    *why = NULL;
    if (n > PATTERN_MAX) wrong(&p, "it is longer than %d bytes", PATTERN_MAX);
    p.t->root = parse_any(&p);
    if (!ends(&p)) wrong(&p, "there is no ( for this )");
    return *why ? NULL : p.t;
}
