/* Regular expressions against results worked out by hand: by the automaton, and by the program, which both follow here
 * as the kernels of templates/kernels do. Patterns that cannot be, and those that would grow. That RE2 means the same
 * is the matter of tests/onnx/ms_ops.py. */
#include "lower/ops/regex.h"
#include "runtime_stub/nn_text.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

struct made {
    struct arena a;
    struct regex r;
    struct dfa d;
    bool small;
    const char *why;
};
static void make(struct made *m, const char *p, size_t n) {
    *m = (struct made){0};
    struct re_tree *t = regex_parse(&m->a, p, n, &m->why);
    m->small = t && regex_program(&m->a, t, &m->r, &m->why) && regex_dfa(&m->a, &m->r, &m->d);
}
static int class_at(const struct regex *r, nn_str s, int64_t at) {
    int32_t c = nn_char_at(s, at);
    int k = r->nranges - 1;
    while (r->first[k] > c) k--;
    return r->of[k];
}
static int64_t behind(nn_str s, int64_t at) {
    for (int k = 0; nn_char_byte(nn_char_at(s, at), k) >= 0 && k < 4; k++)
        if (nn_char_byte(nn_char_at(s, at), k + 1) < 0) return at + k + 1;
    return at + 1;
}
static bool by_table(const struct made *m, nn_str s) {
    int state = m->d.start[KIND_NONE];
    for (int64_t at = 0; at < (int64_t)s.n; at = behind(s, at))
        state = m->d.next[state * m->r.nclasses + class_at(&m->r, s, at)];
    return m->d.accepts[state] >> KIND_NONE & 1;
}
static void reach(const struct regex *r, bool *set, int i, int holds) {
    const struct inst *n = &r->inst.v[i];
    if (set[i]) return;
    set[i] = true;
    if (n->op == INST_EITHER) reach(r, set, n->a, holds), reach(r, set, n->b, holds);
    if (n->op == INST_HERE && (n->a & holds) == n->a) reach(r, set, n->b, holds);
}
static bool by_program(struct made *m, nn_str s) {
    const struct regex *r = &m->r;
    bool *core = NEWN(&m->a, bool, r->inst.n), *all = NEWN(&m->a, bool, r->inst.n);
    int before = KIND_NONE;
    core[r->start] = true;
    for (int64_t at = 0;; at = behind(s, at)) {
        int class = class_at(r, s, at), kind = at < (int64_t)s.n ? r->kind[class] : KIND_NONE;
        memset(all, 0, (size_t)r->inst.n);
        for (int k = 0; k < r->inst.n; k++)
            if (core[k]) reach(r, all, k, regex_holds[before][kind]);
        memset(core, 0, (size_t)r->inst.n);
        for (int k = 0; k < r->inst.n; k++) {
            const struct inst *i = &r->inst.v[k];
            if (all[k] && i->op == INST_DONE && !kind) return true;
            if (all[k] && i->op == INST_CHAR && kind && r->member[i->a * r->nclasses + class]) core[i->b] = true;
        }
        if (!kind) return false;
        before = kind;
    }
}
/* Texts stand between bars, ~ for the empty one; those before # match, those behind it do not. */
static void matches(const char *pattern, const char *texts) {
    struct made m;
    bool want = true;
    make(&m, pattern, strlen(pattern));
    cr_assert(!m.why, "%s: %s", pattern, m.why ? m.why : "");
    cr_assert(m.small, "%s: no automaton", pattern);
    for (const char *p = texts; *p; p += strcspn(p, "|") + (p[strcspn(p, "|")] == '|')) {
        nn_str s = {p, strcspn(p, "|")};
        if (s.n == 1 && *p == '#') {
            want = false;
            continue;
        }
        if (s.n == 1 && *p == '~') s.n = 0;
        cr_expect_eq(by_table(&m, s), want, "/%s/ and \"%.*s\": automaton", pattern, (int)s.n, s.p);
        cr_expect_eq(by_program(&m, s), want, "/%s/ and \"%.*s\": program", pattern, (int)s.n, s.p);
    }
    arena_free(&m.a);
}
Test(regex, characters) {
    matches("", "~|#|a");
    matches("a.c", "abc|a.c|a\xc3\xa4"
                   "c|#|ac|abbc|a\nc|a\xff"
                   "c");
    matches("(?s)a.", "a\n|#|a");
    matches("\\x41\\x{42}\\103\\n\\Qa.*\\E+", "ABC\na.*|ABC\na.**|#|ABC\na.");
    matches("\\d\\D\\w\\W\\s\\S", "1a_- x|#|aa_- x|1a_-\vx");
    matches("[[:alpha:]][[:^alpha:]][^a-c][]-][\\d-]", "Z1d]-|a d-7|#|Z1a]-|11d]-");
    matches("\\pL\\p{Greek}\\P{Lu}\\p{^Lu}", "\xc3\xa4\xcf\x83"
                                             "a1|#|\xc3\xa4\xcf\x83"
                                             "Aa|1\xcf\x83"
                                             "aa");
}
Test(regex, case_) {
    matches("(?i)Stra\xc3\xa5"
            "e",
            "strA\xc3\x85"
            "E|\xc5\xbftra\xe2\x84\xab"
            "e|#|stra");
    matches("(?i)[k-l]", "k|K|\xe2\x84\xaa|L|#|j");
    matches("(?i:a)b|c(?i)d|e", "ab|Ab|cD|E|#|AB|CD"); /* a flag holds to the end of its group */
    matches("(?i)\\P{Lu}", "1|#|a|A");
    matches("(?i)i", "i|I|#|\xc4\xb0|\xc4\xb1"); /* Turkish ones are other letters */
}
Test(regex, structure) {
    matches("a|b|", "a|b|~|#|ab");
    matches("(a*)*", "~|aaa|#|b");
    matches("(?:ab){2,3}?", "abab|ababab|#|ab|abababab|aba");
    matches("a{2,}b{0}c{,2}", "aac{,2}|aaac{,2}|#|ac|aabc");
    matches("(?P<n>a)(?<m>b)(?:c)", "abc|#|ab");
    matches("((a|b)*a(a|b){3})", "abbb|babab|#|bbbb|aab");
}
Test(regex, places) {
    matches("^a$|\\Ab\\z", "a|b|#|a\n");
    matches("(?m)a$\\n^b", "a\nb|#|ab");
    matches("(?m)(?:^.?$\\n?)*", "~|a\n|a\nb\n\n|#|ab");
    matches("a\\b.\\B.", "a..|#|ab.|a.b");
    matches("a^b", "#|~|ab|a");
    matches("(?:\\bfoo\\b\\W*)+", "foo|foo, foo|#|foofoo");
}
Test(regex, equal_states_are_one) {
    struct made m;
    make(&m, "(?:abc|xbc)*", 12);
    cr_expect_eq(m.d.nstates, 4); /* the start, a or x, b, nothing */
    arena_free(&m.a);
}
static int accepted(const struct made *m, int before, const char *text) {
    int state = m->d.start[before];
    for (const char *c = text; *c; c++) state = m->d.next[state * m->r.nclasses + class_at(&m->r, (nn_str){c, 1}, 0)];
    return m->d.accepts[state];
}
Test(regex, an_automaton_of_pieces_knows_what_is_around_them) {
    struct made m;
    make(&m, "\\bab\\b|(?m)^-$", 14);
    int edges = 1 << KIND_NONE | 1 << KIND_OTHER | 1 << KIND_NEWLINE, ends = 1 << KIND_NONE | 1 << KIND_NEWLINE;
    cr_expect_eq(accepted(&m, KIND_NONE, "ab"), edges);
    cr_expect_eq(accepted(&m, KIND_OTHER, "ab"), edges);
    cr_expect_eq(accepted(&m, KIND_WORD, "ab"), 0);
    cr_expect_eq(accepted(&m, KIND_NEWLINE, "-"), ends);
    cr_expect_eq(accepted(&m, KIND_OTHER, "-"), 0);
    arena_free(&m.a);
}
static void refused(const char *pattern, const char *part) {
    struct made m;
    make(&m, pattern, strlen(pattern));
    cr_expect(m.why && strstr(m.why, part), "%s: %s", pattern, m.why ? m.why : "accepted");
    arena_free(&m.a);
}
Test(regex, what_is_refused) {
    refused("(a", ") is missing");
    refused("a)", "there is no (");
    refused("[a", "] is missing");
    refused("*a", "nothing to repeat");
    refused("a**", "repetition of a repetition");
    refused("a{2}{3}", "repetition of a repetition");
    refused("a{2,1}", "end before they begin");
    refused("[b-a]", "ends before it begins");
    refused("[[:foo:]]", "no such class");
    refused("\\p{Foo}", "no such class");
    refused("\\pX", "no such class");
    refused("\\q", "no such escape");
    refused("\\1", "no such escape");
    refused("\\Ca", "\\C, a byte");
    refused("\\x{110000}", "number of a character");
    refused("\\x{}", "number of a character");
    refused("a\\", "ends with a backslash");
    refused("(?=a)", "looking ahead");
    refused("(?<!a)", "looking ahead");
    refused("(?P<n>a)(?P<n>b)", "another one");
    refused("a\xff", "UTF-8");
}
/* Patterns made to grow: they are refused, or followed as programs; none takes long. */
Test(regex, hostile) {
    struct made m;
    refused("x{1000}{1000}", "repetition of a repetition");
    refused("(x{1000}){1000}", "1000 copies");
    refused("((((x{10}){10}){10}){10})", "1000 copies");
    refused("x{999999999}", "1000 copies");
    char many[1 << 16];
    memset(many, '(', sizeof many);
    make(&m, many, sizeof many / 4);
    cr_expect(m.why && strstr(m.why, "nested"), "%s", m.why);
    arena_free(&m.a);
    make(&m, many, sizeof many);
    cr_expect(m.why && strstr(m.why, "longer"), "%s", m.why);
    arena_free(&m.a);
    int n = 0; /* 4,681 copies of a thousand */
    while (n + 7 < 1 << 15) n += sprintf(many + n, "%c{1000}", 'a' + n % 26);
    make(&m, many, (size_t)n);
    cr_expect(m.why && strstr(m.why, "too large"), "%s", m.why);
    arena_free(&m.a);
    make(&m, "(?:x*){1000}", 12);
    cr_expect(!m.why && by_program(&m, (nn_str){"xxxx", 4}) && !by_program(&m, (nn_str){"xxy", 3}));
    arena_free(&m.a);
    make(&m, "(?:.*a.{20}|(?:a?){30}a{30})", 28); /* a million states */
    cr_expect(!m.why && !m.small && by_program(&m, (nn_str){"abcdefghijklmnopqrstu", 21}));
    arena_free(&m.a);
}
