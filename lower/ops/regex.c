/* RegexFullMatch: at compile time the pattern becomes tables that a kernel follows over the characters of each string:
 * those of an automaton; or if that would be large, the program itself, all of whose alternatives are followed in
 * parallel. Both take time linear in the string's length. Tokenizer cuts strings into pieces, for which there must be
 * an automaton. */
#include "lower/ops/regex.h"
#include "lower/ops/ops.h"
#include <string.h>

static T table(const char *name, enum dtype t, int rows, int columns, const int32_t *v) {
    int64_t dims[] = {rows, columns};
    struct tensor *r = n_tensor(t, columns ? dims : &dims[0], columns ? 2 : 1);
    for (int k = 0; k < rows * (columns ? columns : 1); k++) tensor_set_i(r, k, v[k]);
    return const_table(name, r);
}
static T bytes(struct arena *a, const char *name, int rows, int columns, const uint8_t *v) {
    int n = rows * (columns ? columns : 1);
    int32_t *wide = NEWN(a, int32_t, n);
    for (int k = 0; k < n; k++) wide[k] = v[k];
    return table(name, U8, rows, columns, wide);
}
/* For each state, whether it accepts before a character of each kind. */
static T accepting(struct arena *a, const struct dfa *d, int kinds) {
    uint8_t *v = NEWN(a, uint8_t, d->nstates * KINDS);
    for (int s = 0; s < d->nstates; s++)
        for (int k = 0; k < kinds; k++) v[s * kinds + k] = d->accepts[s] >> k & 1;
    return bytes(a, "accepts", d->nstates, kinds > 1 ? kinds : 0, v);
}
static T kinds_of_classes(const struct regex *r) { return table("kind", U8, r->nclasses, 0, r->kind); }
static void by_automaton(struct arena *a, T x, const struct regex *r, const struct dfa *d) {
    const T bufs[] = {x,
                      table("first", I32, r->nranges, 0, r->first),
                      table("group", U16, r->nranges, 0, r->of),
                      table("next", U16, d->nstates, r->nclasses, d->next),
                      accepting(a, d, 1),
                      result(0, BOOL, shape(x))};
    call_kernel("regex_automaton", STR, bufs, 6,
                (const E[]){numel(x), idx(r->nranges), idx(d->nstates), idx(r->nclasses), idx(d->start[KIND_NONE])}, 5);
}
static void by_program(struct arena *a, T x, const struct regex *r) {
    int n = r->inst.n;
    int32_t *code = NEWN(a, int32_t, 3 * n);
    for (int k = 0; k < n; k++) {
        const struct inst *i = &r->inst.v[k];
        code[3 * k] = (int32_t)i->op, code[3 * k + 1] = i->a, code[3 * k + 2] = i->b;
    }
    const T bufs[] = {x,
                      table("first", I32, r->nranges, 0, r->first),
                      table("group", U16, r->nranges, 0, r->of),
                      kinds_of_classes(r),
                      bytes(a, "holds", KINDS, KINDS, regex_holds[0]),
                      bytes(a, "member", r->nsets, r->nclasses, r->member),
                      table("code", I32, n, 3, code),
                      scratch("todo", I32, list2(idx(2), idx(n))),
                      scratch("seen", I64, list2(idx(2), idx(n))),
                      result(0, BOOL, shape(x))};
    call_kernel("regex_program", STR, bufs, 10,
                (const E[]){numel(x), idx(r->nranges), idx(r->nclasses), idx(r->nsets), idx(n), idx(r->start)}, 6);
}
static bool program_of(struct arena *a, struct str_elem p, struct regex *r) {
    const char *why;
    struct re_tree *t = regex_parse(a, p.p, p.n, &why);
    if (t && regex_program(a, t, r, &why)) return true;
    fail(E_ATTR, "the pattern \"%.*s\" cannot be compiled: %s", (int)(p.n < 1000 ? p.n : 1000), p.p, why);
    return false;
}
static void op_match(void) {
    const struct attr *pattern = node_attr(def_node(), "pattern");
    struct arena a = {0};
    struct regex r = {0};
    struct dfa d;
    if (program_of(&a, pattern ? pattern->u.s : (struct str_elem){"", 0}, &r)) {
        if (regex_dfa(&a, &r, &d)) by_automaton(&a, in(0), &r, &d);
        else by_program(&a, in(0), &r);
    }
    arena_free(&a);
}

/* ---- Tokenizer */
static void tokens(struct arena *a, const struct regex *r, const struct dfa *d) {
    T x = in(0);
    const struct attr *pad = node_attr(def_node(), "pad_value");
    struct tensor *words = n_tensor(STR, (int64_t[]){3}, 1);
    const struct str_elem v[3] = {pad ? pad->u.s : (struct str_elem){"", 0}, {"\2", 1}, {"\3", 1}};
    memcpy(tensor_data(words), v, sizeof v);
    E width = idx(1), n = numel(x), least = idx(int_attr("mincharnum"));
    T shared[] = {x,
                  table("first", I32, r->nranges, 0, r->first),
                  table("group", U16, r->nranges, 0, r->of),
                  kinds_of_classes(r),
                  table("next", U16, d->nstates, r->nclasses, d->next),
                  table("start", U16, KINDS, 0, d->start),
                  accepting(a, d, KINDS),
                  const_table("words", words)};
    for (int counted = 0; counted < 2; counted++) {
        T bufs[10], found = scratch(counted ? "again" : "width", I64, list0());
        memcpy(bufs, shared, sizeof shared);
        bufs[8] = counted ? result(0, STR, push(shape(x), width)) : scratch("some", STR, list2(n, width));
        bufs[9] = found;
        call_kernel("regex_tokens", STR, bufs, 10,
                    (const E[]){n, idx(r->nranges), idx(r->nclasses), idx(d->nstates), width,
                                idx(int_attr("mark") != 0), least},
                    7);
        if (!counted) width = size_from("tokens", found, 0, idx(0), idx(DIM_MAX));
    }
}
/* The pattern, its dots matching the ends of lines, too. */
static struct str_elem any_character(struct str_elem p) {
    char *s = NEWN(&up_ctx(def_node())->arena, char, p.n + 5);
    memcpy(s, "(?s)", 4);
    memcpy(s + 4, p.p, p.n);
    return (struct str_elem){s, p.n + 4};
}
static void op_tokenizer(void) {
    const struct attr *pattern = node_attr(def_node(), "tokenexp"), *separators = node_attr(def_node(), "separators");
    bool characters = !pattern && separators && separators->n == 1 && !separators->u.ss[0].n;
    struct arena a = {0};
    struct regex r = {0};
    struct dfa d;
    if (rank(in(0)) < 1 || rank(in(0)) > 2) fail(E_RANK, "the input of Tokenizer must have the shape [C] or [N, C]");
    else if (int_attr("mincharnum") < 1) fail(E_ATTR, "mincharnum is %lld", (long long)int_attr("mincharnum"));
    else if (!pattern && !characters)
        fail(E_ATTR, "separators are not supported: give a pattern of the tokens, in tokenexp");
    else if (program_of(&a, any_character(characters ? (struct str_elem){".", 1} : pattern->u.s), &r)) {
        if (regex_dfa(&a, &r, &d)) tokens(&a, &r, &d);
        else fail(E_SIZE, "the automaton of the pattern \"%s\" would be too large", str_attr("tokenexp"));
    }
    arena_free(&a);
}

static const struct op_slot s_y[] = {{"Y", TSET(BOOL), 0}, {0}};
static const struct op_attr a_match[] = {A_STRING("pattern"), {0}};

static const struct op_slot s_tokens[] = {{"Y", TSET(STR), 0}, {0}};
static const struct op_attr a_tokenizer[] = {A_INT("mark", .flags = A_REQUIRED),
                                             A_INT("mincharnum", .flags = A_REQUIRED),
                                             A_STRING("pad_value", .flags = A_REQUIRED),
                                             A_STRINGS("separators"),
                                             A_STRING("tokenexp"),
                                             {0}};

const struct op ops_regex[] = {
    {"", "RegexFullMatch", 20, 20, a_match, slots_text, s_y, .define = op_match,
     .spec = "RegexFullMatch-20; RE2's syntax with Unicode 14, without \\C; bytes that are no UTF-8 match nothing"},
    {"com.microsoft", "Tokenizer", 1, 1, a_tokenizer, slots_text, s_tokens, .define = op_tokenizer,
     .spec = "Tokenizer of ONNX Runtime with tokenexp, or with one empty separator (each character); other separators "
             "are refused"},
    {0},
};
