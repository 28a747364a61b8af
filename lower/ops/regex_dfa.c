/* From the program of a regular expression to a table, whose states are sets of instructions (M. Rabin, D. Scott,
 * Finite Automata and Their Decision Problems, 1959). Conditions on a position also depend on the next character, so a
 * state keeps them pending, together with the kind of the previous character. */
#include "ir/base/diag.h"
#include "lower/ops/regex.h"
#include <string.h>

enum { INSTS_MAX = 1 << 13, WORK_MAX = 20000000, SLOTS = 4 * DFA_STATES };
typedef uint64_t word;
struct builder {
    struct arena *a;
    const struct regex *r;
    int words;          /* of a set of instructions */
    VEC(word *) states; /* the set, and behind it the kind */
    int slot[SLOTS];    /* 1 + state, by hash */
    int *stack;
    word *now, *then, *fixed; /* fixed: instructions other than EITHER */
    int start[KINDS];
    int64_t work;
};

static bool holds_bit(const word *s, int k) { return s[k / 64] >> k % 64 & 1; }
static bool add_bit(word *s, int k) {
    bool is_new = !holds_bit(s, k);
    s[k / 64] |= (word)1 << k % 64;
    return is_new;
}
/* Adds an instruction and what can be reached from it without consuming a character, if the conditions `holds` hold. */
static void reach(struct builder *b, word *set, int from, int holds) {
    int n = 0;
    if (add_bit(set, from)) b->stack[n++] = from;
    while (n > 0) {
        const struct inst *i = &b->r->inst.v[b->stack[--n]];
        b->work++;
        if (i->op == INST_EITHER && add_bit(set, i->a)) b->stack[n++] = i->a;
        if ((i->op == INST_EITHER || (i->op == INST_HERE && (i->a & holds) == i->a)) && add_bit(set, i->b))
            b->stack[n++] = i->b;
    }
}
/* The next instruction of a set from k on; the number of all if there is none. */
static int next_in(const struct builder *b, const word *set, int k) {
    int n = b->r->inst.n;
    for (; k < n; k++) {
        if (!(set[k / 64] >> k % 64)) k |= 63;
        else if (holds_bit(set, k)) break;
    }
    return k < n ? k : n;
}
/* The state for a set and a kind; made if there is none. */
static int state_of(struct builder *b, word *set, int kind) {
    uint64_t hash = 0;
    for (int k = 0; k < b->words; k++) set[k] &= b->fixed[k];
    set[b->words] = b->r->asks ? (word)kind : 0;
    for (int k = 0; k <= b->words; k++) hash = (hash ^ set[k]) * UINT64_C(0x9e3779b97f4a7c15), hash ^= hash >> 29;
    size_t bytes = sizeof *set * (size_t)(b->words + 1);
    int at = (int)(hash % SLOTS);
    for (; b->slot[at]; at = (at + 1) % SLOTS)
        if (!memcmp(b->states.v[b->slot[at] - 1], set, bytes)) return b->slot[at] - 1;
    word *copy = arena_copy(b->a, set, bytes);
    PUSH(b->a, &b->states, copy);
    return (b->slot[at] = b->states.n) - 1;
}
/* The full set of state s before a character of this kind, in b->now. */
static void settle(struct builder *b, int s, int kind) {
    const word *set = b->states.v[s];
    int holds = regex_holds[set[b->words]][kind];
    memcpy(b->now, set, sizeof *set * (size_t)b->words);
    for (int k = next_in(b, set, 0); b->r->asks && k < b->r->inst.n; k = next_in(b, set, k + 1)) {
        const struct inst *i = &b->r->inst.v[k];
        if (i->op == INST_HERE && (i->a & holds) == i->a) reach(b, b->now, i->b, holds);
    }
    b->work += b->words;
}
static int step(struct builder *b, int s, int class) {
    const struct regex *r = b->r;
    settle(b, s, r->kind[class]);
    memset(b->then, 0, sizeof *b->then * (size_t)b->words);
    for (int k = next_in(b, b->now, 0); k < r->inst.n; k = next_in(b, b->now, k + 1)) {
        const struct inst *i = &r->inst.v[k];
        b->work++;
        if (i->op == INST_CHAR && r->member[i->a * r->nclasses + class]) reach(b, b->then, i->b, 0);
    }
    bool none = next_in(b, b->then, 0) == r->inst.n;
    return none ? 0 : state_of(b, b->then, r->kind[class]);
}
static bool accepts(struct builder *b, int s, int kind) {
    settle(b, s, kind);
    for (int k = next_in(b, b->now, 0); k < b->r->inst.n; k = next_in(b, b->now, k + 1))
        if (b->r->inst.v[k].op == INST_DONE) return true;
    return false;
}
static struct builder *begin(struct arena *a, const struct regex *r) {
    struct builder *b = NEW(a, struct builder);
    b->a = a, b->r = r;
    b->words = r->inst.n / 64 + 1;
    b->stack = NEWN(a, int, r->inst.n);
    b->now = NEWN(a, word, b->words + 1), b->then = NEWN(a, word, b->words + 1), b->fixed = NEWN(a, word, b->words);
    for (int k = 0; k < r->inst.n; k++)
        if (r->inst.v[k].op != INST_EITHER) add_bit(b->fixed, k);
    state_of(b, b->then, KIND_NONE); /* 0: nothing is left */
    reach(b, b->then, r->start, 0);
    for (int kind = 0; kind < KINDS; kind++)
        if ((b->start[kind] = state_of(b, b->then, kind)) == 0) BUG("a program that does not begin");
    return b;
}
/* Merges equivalent states (E. Moore, Gedanken-Experiments on Sequential Machines, 1956): blocks of states are split
 * until all states of a block lead to the same blocks. If that takes too long, states stay as they are. */
struct blocks {
    int count, *of, *one; /* of each state; a state of each block */
};
static bool alike(const struct dfa *d, int classes, const int *block, int s, int t) {
    if (block[s] != block[t]) return false;
    for (int k = 0; k < classes; k++)
        if (block[d->next[s * classes + k]] != block[d->next[t * classes + k]]) return false;
    return true;
}
static int divide(const struct dfa *d, int classes, const int *block, int *slot, struct blocks *to) {
    memset(slot, 0, sizeof *slot * SLOTS);
    to->count = 0;
    for (int s = 0; s < d->nstates; s++) {
        uint64_t hash = (uint64_t)block[s];
        for (int k = 0; k < classes; k++)
            hash = (hash ^ (uint64_t)block[d->next[s * classes + k]]) * UINT64_C(0x9e3779b97f4a7c15),
            hash ^= hash >> 29;
        int at = (int)(hash % SLOTS);
        while (slot[at] && !alike(d, classes, block, s, to->one[slot[at] - 1])) at = (at + 1) % SLOTS;
        if (!slot[at]) to->one[to->count++] = s, slot[at] = to->count;
        to->of[s] = slot[at] - 1;
    }
    return to->count;
}
static void merge_alike(struct arena *a, struct dfa *d, int classes) {
    int n = d->nstates, before = 0, *block = NEWN(a, int, n), *slot = NEWN(a, int, SLOTS);
    struct blocks b = {0, NEWN(a, int, n), NEWN(a, int, n)};
    int64_t rounds = WORK_MAX / ((int64_t)n * classes);
    for (int s = 0; s < n; s++) block[s] = d->accepts[s];
    for (; divide(d, classes, block, slot, &b) != before; before = b.count) {
        if (rounds-- == 0) return;
        memcpy(block, b.of, sizeof *block * (size_t)n);
    }
    struct dfa m = {b.count, {0}, NEWN(a, int32_t, b.count * classes), NEWN(a, uint8_t, b.count)};
    for (int kind = 0; kind < KINDS; kind++) m.start[kind] = b.of[d->start[kind]];
    for (int s = 0; s < m.nstates; s++) {
        for (int k = 0; k < classes; k++) m.next[s * classes + k] = b.of[d->next[b.one[s] * classes + k]];
        m.accepts[s] = d->accepts[b.one[s]];
    }
    *d = m;
}
bool regex_dfa(struct arena *a, const struct regex *r, struct dfa *d) {
    if (r->inst.n > INSTS_MAX) return false;
    struct builder *b = begin(a, r);
    int classes = r->nclasses, most = DFA_CELLS / classes < DFA_STATES ? DFA_CELLS / classes : DFA_STATES;
    VEC(int32_t) next = {0};
    for (int s = 0; s < b->states.n; s++)
        for (int k = 0; k < classes; k++) {
            PUSH(a, &next, s ? step(b, s, k) : 0);
            if (b->states.n > most || b->work > WORK_MAX) return false;
        }
    *d = (struct dfa){b->states.n, {0}, next.v, NEWN(a, uint8_t, b->states.n)};
    memcpy(d->start, b->start, sizeof d->start);
    for (int s = 1; s < d->nstates; s++)
        for (int kind = 0; kind < KINDS; kind++) d->accepts[s] |= (uint8_t)(accepts(b, s, kind) << kind);
    merge_alike(a, d, classes);
    return true;
}
