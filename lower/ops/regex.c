/* RegexFullMatch: the pattern becomes tables when the model is compiled, which a kernel follows over the characters of
 * each string: those of an automaton, or, where that would be large, the program itself, whose instructions are
 * followed side by side. Either takes a time that grows with the string as its length does. */
#include "lower/ops/regex.h"
#include "lower/ops/ops.h"

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
static void by_automaton(struct arena *a, T x, const struct regex *r, const struct dfa *d) {
    const T bufs[] = {x,
                      table("first", I32, r->nranges, 0, r->first),
                      table("group", U16, r->nranges, 0, r->of),
                      table("next", U16, d->nstates, r->nclasses, d->next),
                      bytes(a, "accepts", d->nstates, 0, d->accepts),
                      result(0, BOOL, shape(x))};
    call_kernel("regex_automaton", STR, bufs, 6,
                (const E[]){numel(x), idx(r->nranges), idx(d->nstates), idx(r->nclasses), idx(d->start)}, 5);
}
static void by_program(struct arena *a, T x, const struct regex *r) {
    int n = r->inst.n;
    int32_t *code = NEWN(a, int32_t, 3 * n), *kind = NEWN(a, int32_t, r->nclasses);
    for (int k = 0; k < n; k++) {
        const struct inst *i = &r->inst.v[k];
        code[3 * k] = (int32_t)i->op, code[3 * k + 1] = i->a, code[3 * k + 2] = i->b;
    }
    for (int k = 0; k < r->nclasses; k++) kind[k] = r->kind[k];
    const T bufs[] = {x,
                      table("first", I32, r->nranges, 0, r->first),
                      table("group", U16, r->nranges, 0, r->of),
                      table("kind", U8, r->nclasses, 0, kind),
                      bytes(a, "holds", KINDS, KINDS, regex_holds[0]),
                      bytes(a, "member", r->nsets, r->nclasses, r->member),
                      table("code", I32, n, 3, code),
                      scratch("todo", I32, list2(idx(2), idx(n))),
                      scratch("seen", I64, list2(idx(2), idx(n))),
                      result(0, BOOL, shape(x))};
    call_kernel("regex_program", STR, bufs, 10,
                (const E[]){numel(x), idx(r->nranges), idx(r->nclasses), idx(r->nsets), idx(n), idx(r->start)}, 6);
}
static void op_match(void) {
    const struct attr *pattern = node_attr(def_node(), "pattern");
    struct str_elem p = pattern ? pattern->u.s : (struct str_elem){"", 0};
    struct arena a = {0};
    struct regex r = {0};
    struct dfa d;
    const char *why;
    struct re_tree *t = regex_parse(&a, p.p, p.n, &why);
    if (!t || !regex_program(&a, t, &r, &why))
        fail(E_ATTR, "the pattern \"%.*s\" cannot be compiled: %s", (int)(p.n < 1000 ? p.n : 1000), p.p, why);
    else if (regex_dfa(&a, &r, &d)) by_automaton(&a, in(0), &r, &d);
    else by_program(&a, in(0), &r);
    arena_free(&a);
}

static const struct op_slot s_x[] = {{"X", TSET(STR), 0}, {0}}, s_y[] = {{"Y", TSET(BOOL), 0}, {0}};
static const struct op_attr a_match[] = {{.name = "pattern", .kind = AT_STRING}, {0}};

const struct op ops_regex[] = {
    {"", "RegexFullMatch", 20, 20, a_match, s_x, s_y, .define = op_match,
     .spec = "RegexFullMatch-20; RE2's syntax with Unicode 14, without \\C; bytes that are no UTF-8 match nothing"},
    {0},
};
