/* Einsum: one reduction over the letters that the result does not have. */
#include "lower/ops/ops.h"
#include <ctype.h>
#include <string.h>

struct einsum {
    E extent[128], var[128]; /* by letter; NULL: not seen */
    const char *term[X_MAX_LIST + 1];
    int length[X_MAX_LIST + 1];
    int n; /* operands; term[n] is the result */
};
/* Splits "ij,jk->ik"; blanks were dropped. */
static bool split_terms(struct einsum *s, const char *eq) {
    const char *arrow = strstr(eq, "->"), *end = arrow ? arrow : eq + strlen(eq);
    for (const char *p = eq;; p++) { /* one operand each */
        size_t n = strcspn(p, ",-");
        if (s->n >= X_MAX_LIST) return fail(E_LIMIT, "too many operands"), false;
        s->term[s->n] = p, s->length[s->n++] = (int)n;
        p += n;
        if (p >= end) break;
    }
    s->term[s->n] = arrow ? arrow + 2 : NULL;
    s->length[s->n] = arrow ? (int)strlen(arrow + 2) : 0;
    for (const char *p = eq; *p; p++)
        if (!isdigit((unsigned char)*p) && !isalpha((unsigned char)*p) && *p != ',' && *p != '-' && *p != '>')
            return fail(E_ATTR, "Einsum: \"%c\" in the equation is not supported", *p), false;
    return true;
}
static bool bind_letters(struct einsum *s) {
    for (int t = 0; t < s->n; t++) {
        if (s->length[t] != rank(in(t)))
            return fail(E_RANK, "Einsum: operand %d has rank %d, the equation says %d", t, rank(in(t)), s->length[t]),
                   false;
        for (int k = 0; k < s->length[t]; k++) {
            E *e = &s->extent[(unsigned char)s->term[t][k] & 127], d = dim(in(t), k);
            if (!*e || x_is(*e, 1)) *e = d; /* one of 1 broadcasts */
            else if (!x_is(d, 1)) require(eq(*e, d), "Einsum: dim %d of operand %d does not fit", k, t);
        }
    }
    return true;
}
/* Without "->": the letters that occur once, in alphabetical order. */
static int implicit_result(const struct einsum *s, char *r) {
    int n = 0, count[128] = {0};
    for (int t = 0; t < s->n; t++)
        for (int k = 0; k < s->length[t]; k++) count[(unsigned char)s->term[t][k] & 127]++;
    for (int c = 0; c < 128; c++)
        if (count[c] == 1 || (count[c] && isdigit(c))) r[n++] = (char)c;
    return n;
}
/* The equation without blanks, an ellipsis as digits: the last dim that it covers is 0, the one before 1 ... */
static bool plain_equation(char *eq, size_t size) {
    const char *p = str_attr("equation");
    size_t n = 0;
    int operand = 0, widest = 0;
    bool result = false;
    for (; *p; p++) {
        if (*p == ' ') continue;
        if (n + 12 > size) return fail(E_LIMIT, "Einsum: the equation is too long"), false;
        if (strncmp(p, "...", 3)) {
            operand += *p == ',';
            result |= *p == '>';
            eq[n++] = *p;
            continue;
        }
        int letters = 0, covered = widest;
        const char *first = p;
        while (first > str_attr("equation") && first[-1] != ',' && first[-1] != '>') first--;
        for (const char *q = first; *q && *q != ',' && *q != '-'; q++) letters += isalpha((unsigned char)*q) != 0;
        if (!result) covered = rank(in(operand)) - letters;
        if (covered < 0 || covered > 10) return fail(E_RANK, "Einsum: operand %d does not fit", operand), false;
        widest = covered > widest ? covered : widest;
        while (covered-- > 0) eq[n++] = (char)('0' + covered);
        p += 2;
    }
    eq[n] = 0;
    return true;
}
static void op_einsum(void) {
    struct einsum s = {0};
    char eq[512], implied[128];
    if (!plain_equation(eq, sizeof eq)) return;
    if (!split_terms(&s, eq)) return;
    if (fail_if(s.n != n_in(), E_ARITY, "Einsum: the equation has %d operands, the node %d", s.n, n_in())) return;
    if (!bind_letters(&s)) return;
    if (!s.term[s.n]) s.term[s.n] = implied, s.length[s.n] = implicit_result(&s, implied);
    X d = list0(), rd = list0();
    char rest[128];
    for (int k = 0; k < s.length[s.n]; k++) {
        E e = s.extent[(unsigned char)s.term[s.n][k] & 127];
        if (fail_if(!e || memchr(s.term[s.n], s.term[s.n][k], (size_t)k), E_ATTR,
                    "Einsum: letter \"%c\" of the result is unknown or repeated", s.term[s.n][k]))
            return;
        d = push(d, e);
    }
    for (int c = 0; c < 128; c++)
        if (s.extent[c] && !memchr(s.term[s.n], c, (size_t)s.length[s.n]))
            rest[rd.n] = (char)c, rd = push(rd, s.extent[c]);
    X o = axes(d), r = raxes(rd, NULL);
    for (int k = 0; k < d.n; k++) s.var[(unsigned char)s.term[s.n][k] & 127] = o.v[k];
    for (int k = 0; k < rd.n; k++) s.var[(unsigned char)rest[k] & 127] = r.v[k];
    enum dtype at_type = acc(in(0));
    E v = NULL;
    for (int t = 0; t < s.n; t++) {
        X i = list0();
        for (int k = 0; k < s.length[t]; k++) {
            int c = (unsigned char)s.term[t][k] & 127;
            E n = dim(in(t), k);
            i = push(i, n == s.extent[c] ? s.var[c] : x_is(n, 1) ? idx(0) : wrap_index(s.var[c], n));
        }
        E e = cast(at_type, at(in(t), i));
        v = v ? mul(v, e) : e;
    }
    if (!rd.n) {
        out(0, dtype(in(0)), o, v);
        return;
    }
    T sum = reduce("sum", at_type, o, RED_SUM, r, v, NULL);
    if (!sum) return;
    X i = axes(d);
    out(0, dtype(in(0)), i, at(sum, i));
}
static const struct op_slot s_einsum[] = {{"Inputs", TS_NUM, VARIADIC}, {0}};
static const struct op_attr a_einsum[] = {A_STRING("equation", .flags = A_REQUIRED), {0}};
const struct op ops_misc[] = {
    {"", "Einsum", 12, 12, a_einsum, s_einsum, slots_y, .define = op_einsum,
     .spec = "Einsum-12; an ellipsis covers at most 10 dims"},
    {0},
};
