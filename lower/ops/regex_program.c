/* From the tree of a regular expression to a program over classes of characters. Characters that no set of the pattern
 * distinguishes form one class, so that tables have few columns. */
#include "ir/base/text.h"
#include "lower/ops/regex.h"
#include <stdlib.h>

enum { INSTS_MAX = 1 << 15, RANGES_MAX = 1 << 14, MEMBERS_MAX = 1 << 20 };

#define LINE    (HERE_LINE_BEGIN | HERE_LINE_END)
#define NO_EDGE HERE_NO_WORD_EDGE
const uint8_t regex_holds[KINDS][KINDS] = {
    {HERE_BEGIN | HERE_END | LINE | NO_EDGE, HERE_BEGIN | HERE_LINE_BEGIN | NO_EDGE, HERE_BEGIN | LINE | NO_EDGE,
     HERE_BEGIN | HERE_LINE_BEGIN | HERE_WORD_EDGE},
    {HERE_END | HERE_LINE_END | NO_EDGE, NO_EDGE, HERE_LINE_END | NO_EDGE, HERE_WORD_EDGE},
    {HERE_END | LINE | NO_EDGE, HERE_LINE_BEGIN | NO_EDGE, LINE | NO_EDGE, HERE_LINE_BEGIN | HERE_WORD_EDGE},
    {HERE_END | HERE_LINE_END | HERE_WORD_EDGE, HERE_WORD_EDGE, HERE_LINE_END | HERE_WORD_EDGE, NO_EDGE},
};

/* ---- classes */
static int by_value(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}
static int range_of(const struct regex *r, int32_t c) {
    int lo = 0, hi = r->nranges;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (r->first[mid] <= c) lo = mid;
        else hi = mid;
    }
    return lo;
}
static bool make_ranges(struct arena *a, struct regex *r, const struct charset *sets, int nsets) {
    int n = 1;
    for (int k = 0; k < nsets; k++) n += 2 * sets[k].of.n;
    r->first = NEWN(a, int32_t, n);
    r->first[0] = INT32_MIN;
    n = 1;
    for (int k = 0; k < nsets; k++)
        for (int j = 0; j < sets[k].of.n; j++) {
            r->first[n++] = sets[k].of.v[j].lo;
            r->first[n++] = sets[k].of.v[j].hi + 1;
        }
    qsort(r->first, (size_t)n, sizeof *r->first, by_value);
    for (int k = 0; k < n; k++)
        if (!k || r->first[k] != r->first[r->nranges - 1]) r->first[r->nranges++] = r->first[k];
    return r->nranges <= RANGES_MAX;
}
/* Splits the classes that are only partly in the set. */
static void refine(struct regex *r, const struct charset *s, int *size, int *inside, int *moved) {
    for (int k = 0; k < r->nclasses; k++) inside[k] = 0, moved[k] = -1;
    for (int j = 0; j < s->of.n; j++)
        for (int k = range_of(r, s->of.v[j].lo); k < r->nranges && r->first[k] <= s->of.v[j].hi; k++)
            inside[r->of[k]]++;
    for (int j = 0; j < s->of.n; j++)
        for (int k = range_of(r, s->of.v[j].lo); k < r->nranges && r->first[k] <= s->of.v[j].hi; k++) {
            int was = r->of[k];
            if (inside[was] == size[was] && moved[was] < 0) continue;
            if (moved[was] < 0) moved[was] = r->nclasses, size[r->nclasses++] = 0;
            r->of[k] = moved[was];
            size[was]--, size[moved[was]]++;
        }
}
static bool make_classes(struct arena *a, struct regex *r, const struct charset *sets, int nsets, int kinds) {
    if (!make_ranges(a, r, sets, nsets)) return false;
    int *size = NEWN(a, int, r->nranges), *inside = NEWN(a, int, r->nranges), *moved = NEWN(a, int, r->nranges);
    r->of = NEWN(a, int32_t, r->nranges);
    r->nclasses = 1;
    size[0] = r->nranges;
    for (int k = 0; k < nsets; k++) refine(r, &sets[k], size, inside, moved);
    r->nsets = nsets;
    if ((int64_t)nsets * r->nclasses > MEMBERS_MAX) return false;
    r->member = NEWN(a, uint8_t, nsets * r->nclasses + 1);
    r->kind = NEWN(a, int, r->nclasses);
    for (int k = 0; k < r->nclasses; k++) r->kind[k] = KIND_OTHER;
    for (int s = 0; s < nsets; s++)
        for (int j = 0; j < sets[s].of.n; j++)
            for (int k = range_of(r, sets[s].of.v[j].lo); k < r->nranges && r->first[k] <= sets[s].of.v[j].hi; k++) {
                r->member[s * r->nclasses + r->of[k]] = 1;
                if (s >= kinds) r->kind[r->of[k]] = s == kinds ? KIND_NEWLINE : KIND_WORD;
            }
    return true;
}

/* ---- the program, from its end to its begin */
struct maker {
    struct arena *a;
    struct regex *r;
    bool full;
};
static int emit(struct maker *m, enum inst_op op, int a, int b) {
    struct inst i = {op, a, b};
    if (m->r->inst.n == INSTS_MAX) m->full = true;
    if (m->full) return 0;
    PUSH(m->a, &m->r->inst, i);
    return m->r->inst.n - 1;
}
static int make(struct maker *m, const struct re *e, int next);
static int make_repeat(struct maker *m, const struct re *e, int next) {
    int to = next;
    if (e->max < 0) { /* a loop, whose body serves as one of the required copies */
        int loop = emit(m, INST_EITHER, 0, next);
        to = make(m, e->last, loop);
        m->r->inst.v[loop].a = to;
        if (!e->min) to = loop;
    }
    for (int k = e->min; k < e->max && !m->full; k++) to = emit(m, INST_EITHER, make(m, e->last, to), next);
    for (int k = e->max < 0; k < e->min && !m->full; k++) to = make(m, e->last, to);
    return to;
}
static int make(struct maker *m, const struct re *e, int next) {
    int to = next;
    if (m->full) return 0;
    switch (e->op) {
    case RE_SET: return emit(m, INST_CHAR, e->arg, next);
    case RE_HERE: m->r->asks = true; return emit(m, INST_HERE, e->arg, next);
    case RE_REPEAT: return make_repeat(m, e, next);
    case RE_ALL:
        for (const struct re *k = e->last; k; k = k->before) to = make(m, k, to);
        return to;
    case RE_ANY:
        to = make(m, e->last, next);
        for (const struct re *k = e->last->before; k; k = k->before) to = emit(m, INST_EITHER, make(m, k, next), to);
        return to;
    }
    return to;
}
bool regex_program(struct arena *a, const struct re_tree *t, struct regex *r, const char **why) {
    struct maker m = {a, r, false};
    struct re_tree all = *t;
    struct charset newline = {0}, word = {0};
    set_add(a, &newline, '\n', '\n');
    set_add_letter(a, &word, 'w');
    r->start = make(&m, t->root, emit(&m, INST_DONE, 0, 0));
    if (r->asks) {
        PUSH(a, &all.sets, newline);
        PUSH(a, &all.sets, word);
    }
    if (!m.full && make_classes(a, r, all.sets.v, all.sets.n, t->sets.n)) return true;
    *why = m.full ? "it is too large" : "it has too many different classes of characters";
    return false;
}
