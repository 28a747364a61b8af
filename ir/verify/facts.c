/* What the verifier knows at a statement: surrounding conditions, as inequalities e <= 0, and proofs from them. Proofs
 * without conditions are in ir/expr/prove.c. */
#include "ir/base/checked.h"
#include "ir/verify/loop_int.h"

enum { PROOF_FACTS = 3 };

static void add(struct facts *f, expr e);
/* A lower bound of a minimum holds for both of its arms, and so does an upper bound of a maximum. If a maximum is at
 * least x and one arm is below x, the other is at least x: max(n - 3, 0) >= 1 implies n - 3 >= 1. A sum of several is
 * not taken apart: the combinations would displace other facts. */
static void add_arms(struct facts *f, expr e) {
    int64_t konst;
    const expr *t;
    const int64_t *co;
    int n = x_terms(f->c, e, &konst, &t, &co), at[2], count[2] = {0};
    for (int k = 0; k < n; k++) {
        if (t[k]->op != X_MIN && t[k]->op != X_MAX) continue;
        int both = (t[k]->op == X_MAX) == (co[k] > 0);
        at[both] = k, count[both]++;
    }
    bool both = count[1] > 0;
    if (count[both] != 1) return;
    int k = at[both];
    expr rest = x_sub(f->c, e, x_muli(f->c, t[k], co[k])), arms[2];
    for (int j = 0; j < 2; j++) arms[j] = x_add(f->c, rest, x_muli(f->c, t[k]->arg[j], co[k]));
    for (int j = 0; j < 2; j++)
        if (both || x_proves_le(f->c, x_int(f->c, 1), arms[1 - j])) add(f, arms[j]);
}
/* The atom t as x//p, p > 0: a quotient, or a digit (y//p)%k, which is (y%(p*k))//p. */
static bool is_quotient(struct ctx *c, expr t, expr *x, int64_t *p) {
    int64_t k, both;
    bool digit = t->op == X_MOD && t->arg[0]->op == X_DIV && x_is_int(t->arg[1], &k) && k > 0;
    expr q = digit ? t->arg[0] : t;
    if (q->op != X_DIV || !x_is_int(q->arg[1], p) || *p < 1 || (digit && !mul_ok(*p, k, &both))) return false;
    *x = digit ? x_modi(c, q->arg[0], both) : q->arg[0];
    return true;
}
/* For e = rest + k*t, t = x//p and k 1 or -1: x//p + rest <= 0 implies x <= p - 1 - p*rest, and rest - x//p <= 0
 * implies x >= p*rest. */
static expr undivided(struct ctx *c, expr e, expr t, int64_t k, expr x, int64_t p) {
    expr rest = x_muli(c, x_sub(c, e, x_muli(c, t, k)), p);
    return x_addi(c, x_add(c, rest, x_muli(c, x, k)), k > 0 ? 1 - p : 0);
}
/* A bound of a quotient also bounds its dividend. */
static void add_undivided(struct facts *f, expr e) {
    int64_t konst, p;
    const expr *t;
    const int64_t *co;
    expr x;
    int n = x_terms(f->c, e, &konst, &t, &co);
    for (int k = 0; k < n; k++) {
        if ((co[k] != 1 && co[k] != -1) || !is_quotient(f->c, t[k], &x, &p)) continue;
        add(f, undivided(f->c, e, t[k], co[k], x, p));
        return;
    }
}
static void add(struct facts *f, expr e) {
    if (e->op == X_POISON || f->n >= MAX_FACTS || x_has(e, XF_LOAD)) return;
    if (x_proves_le(f->c, e, x_int(f->c, 0))) return; /* it tells nothing new */
    f->v[f->n++] = e;
    add_arms(f, e);
    add_undivided(f, e);
}
void facts_add_le(struct facts *f, expr a, expr b) { add(f, x_sub(f->c, a, b)); }
static void add_cmp(struct facts *f, enum xop op, expr a, expr b) {
    if (a->type != IDX) return;
    switch (op) {
    case X_LT: facts_add_le(f, x_addi(f->c, a, 1), b); break;
    case X_LE: facts_add_le(f, a, b); break;
    case X_EQ:
        facts_add_le(f, a, b), facts_add_le(f, b, a);
        if (a->op == X_MOD && x_is(b, 0)) { /* a whole multiple: the division is exact */
            expr d = x_bin(f->c, X_DIV, a->arg[0], a->arg[1]);
            facts_add_le(f, a->arg[0], x_mul(f->c, d, a->arg[1]));
        }
        break;
    case X_NE: /* together with an order: a != b and a <= b gives a < b */
        if (facts_prove_le(f, a, b)) facts_add_le(f, x_addi(f->c, a, 1), b);
        else if (facts_prove_le(f, b, a)) facts_add_le(f, x_addi(f->c, b, 1), a);
        break;
    default: break;
    }
}
static void add_never(struct facts *f) { add(f, x_int(f->c, 1)); } /* 1 <= 0: nothing runs here */
void facts_add(struct facts *f, expr cond) {
    if (x_is_false(cond)) add_never(f);
    else if (cond->op == X_AND) facts_add(f, cond->arg[0]), facts_add(f, cond->arg[1]);
    else if (cond->op == X_NOT) facts_add_not(f, cond->arg[0]);
    else if (cond->n == 2) add_cmp(f, (enum xop)cond->op, cond->arg[0], cond->arg[1]);
}
void facts_add_not(struct facts *f, expr cond) {
    if (x_is_true(cond)) add_never(f);
    else if (cond->op == X_OR) facts_add_not(f, cond->arg[0]), facts_add_not(f, cond->arg[1]);
    else if (cond->op == X_NOT) facts_add(f, cond->arg[0]);
    else if (cond->n == 2 && cond->op != X_AND && cond->arg[0]->type == IDX) {
        expr n = x_not(f->c, cond);
        if (n->op != X_NOT) facts_add(f, n);
    }
}
bool facts_useful(expr cond) { return x_has(cond, XF_INDEX_TEST); }
void facts_make_room(struct facts *f) {
    enum { ROOM = 16 };
    if (f->n <= MAX_FACTS - ROOM) return;
    int gone = f->n - (MAX_FACTS - ROOM);
    for (int k = FIRST_FACTS; k + gone < f->n; k++) f->v[k] = f->v[k + gone];
    f->n -= gone;
}
void facts_drop_sym(struct facts *f, const struct sym *s) {
    int n = 0;
    for (int k = 0; k < f->n; k++)
        if (!x_uses_sym(f->v[k], s)) f->v[n++] = f->v[k];
    f->n = n;
}

/* ---- goal <= 0, from fact <= 0: goal = k*fact + rest with k > 0 and rest <= 0, for each k that cancels an atom; or
 * with ceil(fact / d), which is not positive either */
static bool prove(struct facts *f, expr goal, int count, int from);
static bool by_fact(struct facts *f, expr goal, int which, int count) {
    int64_t kg, kf;
    const expr *tg, *tf;
    const int64_t *cg, *cf;
    expr fact = f->v[which];
    int ng = x_terms(f->c, goal, &kg, &tg, &cg), nf = x_terms(f->c, fact, &kf, &tf, &cf);
    int64_t tried = 0;
    for (int i = 0; i < ng; i++)
        for (int j = 0; j < nf; j++) {
            if (tg[i] != tf[j] || (cg[i] % cf[j] && cf[j] % cg[i])) continue;
            int64_t k = cg[i] / cf[j], d = cf[j] / cg[i];
            if ((k <= 0 && d <= 1) || (k ? k : -d) == tried) continue;
            tried = k ? k : -d;
            expr less = k ? x_muli(f->c, fact, k) : x_divi(f->c, x_addi(f->c, fact, d - 1), d);
            expr rest = x_sub(f->c, goal, less);
            if (rest->op != X_POISON && prove(f, rest, count - 1, which + 1)) return true;
        }
    return false;
}
/* With exactly `count` facts, from number `from` on. */
static bool prove(struct facts *f, expr goal, int count, int from) {
    if (!count) return x_proves_le(f->c, goal, x_int(f->c, 0));
    for (int k = from; k < f->n; k++)
        if (by_fact(f, goal, k, count)) return true;
    return false;
}
/* A select in the goal: both arms, each with its assumption. Likewise min and max. */
static bool prove_arms(struct facts *f, expr goal, int depth) {
    for (int count = 0; count <= PROOF_FACTS; count++) /* one fact is mostly enough, and there are many pairs */
        if (prove(f, goal, count, 0)) return true;
    int64_t k, p;
    const expr *t;
    const int64_t *co;
    int n = x_terms(f->c, goal, &k, &t, &co);
    for (int i = 0; depth && i < n; i++) { /* c*(e//c) is e - e%c, and facts may bound either */
        expr rest = x_sub(f->c, goal, x_muli(f->c, t[i], co[i])), x, whole = NULL;
        if (!is_quotient(f->c, t[i], &x, &p)) continue;
        if (co[i] == 1 || co[i] == -1) whole = undivided(f->c, goal, t[i], co[i], x, p);
        else if (co[i] % p == 0) whole = x_add(f->c, rest, x_muli(f->c, x_sub(f->c, x, x_modi(f->c, x, p)), co[i] / p));
        if (whole && prove_arms(f, whole, depth - 1)) return true;
        if (whole) break;
    }
    for (int i = 0; depth && i < n; i++) {
        bool minmax = t[i]->op == X_MIN || t[i]->op == X_MAX;
        if (t[i]->op != X_SELECT && !minmax) continue;
        expr rest = x_sub(f->c, goal, x_muli(f->c, t[i], co[i]));
        if (minmax) { /* the goal's upper end: for a minimum either operand will do, for a maximum both are needed */
            bool either = (t[i]->op == X_MIN) == (co[i] > 0);
            bool a = prove_arms(f, x_add(f->c, rest, x_muli(f->c, t[i]->arg[0], co[i])), depth - 1);
            if (a == either) return a;
            return prove_arms(f, x_add(f->c, rest, x_muli(f->c, t[i]->arg[1], co[i])), depth - 1);
        }
        int mark = f->n;
        facts_add(f, t[i]->arg[0]);
        bool ok = prove_arms(f, x_add(f->c, rest, x_muli(f->c, t[i]->arg[1], co[i])), depth - 1);
        f->n = mark;
        if (!ok) return false;
        facts_add_not(f, t[i]->arg[0]);
        ok = prove_arms(f, x_add(f->c, rest, x_muli(f->c, t[i]->arg[2], co[i])), depth - 1);
        f->n = mark;
        return ok;
    }
    return false;
}
/* If a surrounding loop has no iterations, or a condition never holds, everything is proved. */
static bool never(const struct facts *f) {
    int64_t v;
    for (int k = 0; k < f->n; k++)
        if (x_is_int(f->v[k], &v) && v > 0) return true;
    return false;
}
bool facts_prove_le(struct facts *f, expr a, expr b) {
    expr goal = x_sub(f->c, a, b);
    if (never(f)) return true;
    return goal->op != X_POISON && prove_arms(f, goal, 4);
}
/* Surrounding loops that never run together have no iterations: one fact is the opposite of another. */
bool facts_contradict(struct facts *f) {
    for (int k = 0; k < f->n; k++)
        if (prove(f, x_sub(f->c, x_int(f->c, 1), f->v[k]), 1, 0)) return true;
    return false;
}
/* e <= k*quotient + rest: the quotient in the sum e with the greatest weight, and the greatest value of everything
 * else. */
static bool one_quotient(struct facts *f, expr e, expr *quotient, int64_t *k, int64_t *rest) {
    const expr *t;
    const int64_t *co;
    int64_t lo, hi;
    int n = x_terms(f->c, e, rest, &t, &co), at = -1;
    for (int i = 0; i < n; i++)
        if (t[i]->op == X_DIV && co[i] > 0 && (at < 0 || co[i] > co[at])) at = i;
    if (e->type != IDX || at < 0) return false;
    for (int i = 0; i < n; i++) {
        if (i == at) continue;
        x_bounds(f->c, t[i], &lo, &hi);
        if ((co[i] > 0 ? hi : lo) == (co[i] > 0 ? POS_INF : NEG_INF)) return false;
        *rest = sat_add(*rest, sat_mul(co[i], co[i] > 0 ? hi : lo));
    }
    *quotient = t[at], *k = co[at];
    return *rest > NEG_INF && *rest < POS_INF;
}
/* 0 <= e < b*c implies e//c < b, for any c that is not negative: it cannot be 0 then. k*(e//c) + rest < b is e//c < (b
 * - rest + k - 1)//k. */
static bool by_division(struct facts *f, expr a, expr b, int depth) {
    int64_t lo, hi, k, rest;
    expr q;
    if (!depth || !one_quotient(f, a, &q, &k, &rest)) return false;
    b = x_divi(f->c, x_addi(f->c, b, k - 1 - rest), k);
    x_bounds(f->c, q->arg[1], &lo, &hi);
    expr most = x_mul(f->c, b, q->arg[1]);
    if (lo < 0 || most->op == X_POISON || !facts_prove_le(f, x_int(f->c, 0), q->arg[0])) return false;
    return facts_prove_le(f, x_addi(f->c, q->arg[0], 1), most) || by_division(f, q->arg[0], most, depth - 1);
}
bool facts_prove_lt(struct facts *f, expr a, expr b) {
    return facts_prove_le(f, x_addi(f->c, a, 1), b) || by_division(f, a, b, 8);
}
