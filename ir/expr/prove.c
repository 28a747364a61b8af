/* Proofs over index expressions (rule B2 of docs/loop-ir.md). Every proof that an access stays in its buffer, and every
 * padding test that disappears, comes from here. */
#include "ir/base/checked.h"
#include "ir/expr/int.h"

/* ---- B2: is e <= -1 for all values? Replaces one term after the other by something that is never smaller. First
 * variables that occur in no other term, since their ends lose nothing; then the others, each in turn until one
 * succeeds. `depth` limits successive replacements, `budget` those of the whole proof. */
static bool negative(struct ctx *c, expr e, int depth, int *budget);
static expr without(struct ctx *c, expr e, int k) {
    return x_sub(c, e, x_muli(c, e->op == X_LIN ? e->arg[k] : e, e->op == X_LIN ? e->coef[k] : 1));
}
/* e with the atom of term k replaced. */
static expr with_term(struct ctx *c, expr e, int k, expr by) {
    return x_add(c, without(c, e, k), x_muli(c, by, e->coef[k]));
}
static int terms_in(struct ctx *c, expr e) {
    int64_t konst;
    const expr *t;
    const int64_t *co;
    return x_terms(c, e, &konst, &t, &co);
}
static expr last_of(struct ctx *c, const struct var *v) { return x_addi(c, v->extent, -1); }

/* p = v * rest with v a loop variable and rest >= 0: its upper (k > 0) or lower end as an expression, else NULL. */
static expr product_end(struct ctx *c, expr p, int64_t k) {
    for (int side = 0; side < 2; side++) {
        expr v = p->arg[side], rest = p->arg[1 - side];
        int64_t lo, hi;
        x_bounds(c, rest, &lo, &hi);
        if (lo < 0) continue;
        if (v->op == X_VAR) return k > 0 ? x_mul(c, last_of(c, v->u.var), rest) : x_int(c, 0);
        if (v->op == X_PROD) {
            expr inner = product_end(c, v, k);
            if (inner) return x_mul(c, inner, rest);
        }
    }
    return NULL;
}
/* f*((x//p)%q) <= f/p * (x % (p*q)) if p divides f, even if whole periods were removed from x; NULL if m has another
 * form. */
static expr mod_of_div(struct ctx *c, expr m, int64_t f) {
    const expr *t;
    const int64_t *co;
    int64_t periods, p, q, pq, more;
    if (x_terms(c, m->arg[0], &periods, &t, &co) != 1 || *co != 1 || (*t)->op != X_DIV) return NULL;
    expr x = (*t)->arg[0], by = (*t)->arg[1];
    if (!x_is_int(by, &p) || !x_is_int(m->arg[1], &q) || f % p) return NULL;
    if (!mul_ok(p, q, &pq) || !mul_ok(p, periods, &more)) return NULL;
    return x_muli(c, x_modi(c, x_addi(c, x, more), pq), f / p);
}
/* x%q, if e contains it besides m = x%p and p divides q: it is not below x%p. NULL: it does not. */
static expr coarser_mod(expr e, expr m) {
    int64_t p, q;
    for (int j = 0; e->op == X_LIN && j < e->n; j++) {
        expr o = e->arg[j];
        if (o->op != X_MOD || o == m || o->arg[0] != m->arg[0] || e->coef[j] > 0) continue;
        if (x_is_int(m->arg[1], &p) && x_is_int(o->arg[1], &q) && p > 0 && q % p == 0) return o;
    }
    return NULL;
}
/* For m = x % p: x less the periods in its least value, which is not negative and not below m. For example, N - 2 is
 * written as (N+4)%6; if N is at least 2, the result is N - 2. NULL: x has no least value. */
static expr least_rest(struct ctx *c, expr m, int64_t lo) {
    int64_t p, over;
    if (!x_is_int(m->arg[1], &p) || p <= 0 || lo == NEG_INF) return lo >= 0 ? m->arg[0] : NULL;
    return mul_ok(floordiv64(lo, p), -p, &over) ? x_addi(c, m->arg[0], over) : NULL;
}
/* Term k is a minimum or maximum of constants and symbols on which no other term depends: x_bounds knows its ends, and
 * its operands tell nothing more. Sums of sizes found at run time consist of such terms. */
static bool ends_are_known(expr e, int k) {
    expr a = e->op == X_LIN ? e->arg[k] : e;
    if (a->op != X_MIN && a->op != X_MAX) return false;
    for (int side = 0; side < 2; side++) {
        if (a->arg[side]->op == X_CONST) continue;
        if (a->arg[side]->op != X_SYM) return false;
        for (int j = 0; e->op == X_LIN && j < e->n; j++)
            if (j != k && x_uses_sym(e->arg[j], a->arg[side]->u.sym)) return false;
    }
    return true;
}
/* x//p, if e contains it besides div = x//(p*q) and q divides f: q*(x//(p*q)) is not above x//p, and above x//p - q.
 * Occurs for tiles of rows whose number is itself halved, (n+1)//2 by 6. */
static expr finer_div(expr e, expr div, int64_t f, int64_t *q) {
    for (int j = 0; e->op == X_LIN && div->arg[1]->op == X_CONST && j < e->n; j++) {
        expr d = e->arg[j];
        if (d->op != X_DIV || d == div || d->arg[0] != div->arg[0] || d->arg[1]->op != X_CONST) continue;
        int64_t p = d->arg[1]->u.i, pq = div->arg[1]->u.i;
        if (p < 1 || pq % p || f % (pq / p)) continue;
        *q = pq / p;
        return d;
    }
    return NULL;
}
/* The sum x with each of its variables at the end that makes x greatest (f > 0) or least: a bound for x also bounds its
 * quotient by a constant. For example (2*v + 1)//4 <= N-1 for v < 2*N. NULL: x has no variables. */
static expr at_ends(struct ctx *c, expr x, int64_t f) {
    expr r = x;
    const expr *t;
    const int64_t *co;
    int64_t constant;
    int n = x_terms(c, x, &constant, &t, &co);
    for (int k = 0; k < n; k++) {
        if (t[k]->op != X_VAR) continue;
        expr end = (co[k] > 0) == (f > 0) ? last_of(c, t[k]->u.var) : x_int(c, 0);
        r = x_add(c, r, x_muli(c, x_sub(c, end, t[k]), co[k]));
    }
    return r == x ? NULL : r;
}
/* A strict upper bound of x, for a loop that was split or flattened: 16*v + u + 1 for v < N//16 and u < 16 is at most
 * 16*(N//16), which is N - N%16, and so x is below N. NULL: x has no variables. */
static expr end_of(struct ctx *c, expr x) {
    if (x->op == X_VAR) return x->u.var->extent;
    expr last = at_ends(c, x, 1);
    int64_t konst;
    const expr *t;
    const int64_t *co;
    for (int pass = 0; last && pass < 2; pass++) /* quotients first: what remains may combine */
        for (int k = 0; last->op == X_LIN && k < last->n; k++) {
            expr a = last->arg[k], most = NULL;
            int64_t p, f = last->coef[k];
            if (pass == 0 && a->op == X_DIV && x_is_int(a->arg[1], &p) && f > 0 && f % p == 0)
                most = x_muli(c, x_sub(c, a->arg[0], x_modi(c, a->arg[0], p)), f / p);
            if (pass == 0 && a->op == X_MOD && f > 0) most = mod_of_div(c, a, f);
            if (pass == 1 && a->op == X_MOD && f < 0) most = x_int(c, 0);
            if (most) last = x_add(c, without(c, last, k), most), k = -1;
        }
    if (!last) return NULL;
    x_terms(c, last, &konst, &t, &co); /* some of a vector's lanes end before the others */
    return x_addi(c, last, konst < -1 ? -konst : 1);
}
/* The greatest value of x//n for x < n*q: q - 1. NULL: it is not such a quotient. */
static expr last_quotient(struct ctx *c, expr a) {
    expr end = end_of(c, a->arg[0]), q = end ? idx_exact_quotient(c, end, a->arg[1]) : NULL;
    return q ? x_addi(c, q, -1) : NULL;
}
static expr undivided(struct ctx *c, expr e);
static bool not_negative(struct ctx *c, expr e, int depth, int *budget) {
    expr below = x_addi(c, x_muli(c, e, -1), -1), whole = undivided(c, below);
    return negative(c, below, depth, budget) || (whole && negative(c, whole, depth, budget));
}
/* Replaces term k of e (atom, coefficient): is the result negative? -1: there is no replacement for this atom. */
static int replaced(struct ctx *c, expr e, int k, int depth, int *budget) {
    expr a = e->op == X_LIN ? e->arg[k] : e;
    int64_t f = e->op == X_LIN ? e->coef[k] : 1, lo, hi, q;
    if (a->op == X_SYM || ends_are_known(e, k)) return -1; /* before computing the rest, since sums of sizes are long */
    expr rest = without(c, e, k), end;
    switch (a->op) {
    case X_VAR:
        return negative(c, f > 0 ? x_add(c, rest, x_muli(c, last_of(c, a->u.var), f)) : rest, depth - 1, budget);
    case X_GUARD:
        return negative(c, f > 0 ? x_add(c, rest, x_muli(c, x_addi(c, a->arg[1], -1), f)) : rest, depth - 1, budget);
    case X_PROD:
        end = product_end(c, a, f);
        return end ? negative(c, x_add(c, rest, x_muli(c, end, f)), depth - 1, budget) : -1;
    case X_MIN:
    case X_MAX:
    case X_SELECT: {
        expr x = a->arg[a->op == X_SELECT], y = a->arg[1 + (a->op == X_SELECT)];
        bool nx = negative(c, x_add(c, rest, x_muli(c, x, f)), depth - 1, budget);
        bool any = a->op != X_SELECT && (a->op == X_MIN) == (f > 0);
        if (any ? nx : !nx) return nx;
        return negative(c, x_add(c, rest, x_muli(c, y, f)), depth - 1, budget);
    }
    case X_DIV:
        if ((end = finer_div(e, a, f, &q)) &&
            negative(c, x_add(c, rest, x_muli(c, f > 0 ? end : x_addi(c, end, 1 - q), f / q)), depth - 1, budget))
            return true;
        if (f < 0 && negative(c, rest, depth - 1, budget) && not_negative(c, a->arg[0], depth - 1, budget)) return true;
        if (a->arg[1]->op != X_CONST) {
            end = f > 0 ? last_quotient(c, a) : NULL;
            return end ? negative(c, x_add(c, rest, x_muli(c, end, f)), depth - 1, budget) : -1;
        }
        if (f % a->arg[1]->u.i) {
            end = at_ends(c, a->arg[0], f);
            return end ? negative(c, x_add(c, rest, x_muli(c, x_div(c, end, a->arg[1]), f)), depth - 1, budget) : -1;
        }
        /* c*(e//c) <= e  and  -c*(e//c) <= c - 1 - e */
        if (f > 0) return negative(c, x_add(c, rest, x_muli(c, a->arg[0], f / a->arg[1]->u.i)), depth - 1, budget);
        return negative(c, x_add(c, rest, x_muli(c, x_sub(c, a->arg[0], x_addi(c, a->arg[1], -1)), f / a->arg[1]->u.i)),
                        depth - 1, budget);
    case X_MOD:
        x_bounds(c, a->arg[0], &lo, &hi);
        if (f < 0) return negative(c, rest, depth - 1, budget);
        if ((end = coarser_mod(e, a)) && negative(c, x_add(c, rest, x_muli(c, end, f)), depth - 1, budget)) return true;
        if ((end = mod_of_div(c, a, f)) && negative(c, x_add(c, rest, end), depth - 1, budget)) return true;
        if ((end = least_rest(c, a, lo)) && negative(c, x_add(c, rest, x_muli(c, end, f)), depth - 1, budget))
            return true;
        return negative(c, x_add(c, rest, x_muli(c, x_addi(c, a->arg[1], -1), f)), depth - 1, budget);
    default: return -1;
    }
}
/* Rounded terms are only bounded, so the order of replacement matters: 3*(M//3) + 2*(M%3//2) <= M needs the second one
 * first, so that the remainder can be combined with the quotient. */
static int turn_of(expr atom) {
    return atom->op == X_DIV || atom->op == X_MOD                           ? 2
           : atom->op == X_MIN || atom->op == X_MAX || atom->op == X_SELECT ? 1
                                                                            : 0;
}
struct mention {
    struct ctx *c;
    const struct var *v;
    bool found;
};
static bool mentions(void *env, expr e) {
    struct mention *q = env;
    if (e->op == X_VAR) q->found |= e->u.var == q->v || x_uses_var(q->c, e->u.var->extent, q->v);
    return !q->found;
}
/* Is term k a variable on which no other term depends, nor the extent of another variable's loop? */
static bool stands_alone(struct ctx *c, expr e, int k) {
    expr a = e->op == X_LIN ? e->arg[k] : e;
    if (a->op != X_VAR) return false;
    struct mention q = {c, a->u.var, false};
    for (int j = 0; e->op == X_LIN && j < e->n && !q.found; j++)
        if (j != k) x_visit_with(e->arg[j], XF_VAR, mentions, &q);
    return !q.found;
}
/* Replaces c*(e//c) by e - e%c for a quotient where that leaves no more terms; NULL: there is none. This proves the
 * remainder of a loop that was split repeatedly, n%16%8 - 4*(n%16%8//4). */
static expr rejoined(struct ctx *c, expr e) {
    int64_t p;
    for (int k = 0; e->op == X_LIN && k < e->n; k++) {
        expr a = e->arg[k];
        if (a->op != X_DIV || e->coef[k] < 0 || !x_is_int(a->arg[1], &p) || e->coef[k] % p) continue;
        expr joined = x_add(c, without(c, e, k), x_muli(c, a->arg[0], e->coef[k] / p));
        if (terms_in(c, joined) < e->n - 1) return x_sub(c, joined, x_muli(c, x_modi(c, a->arg[0], p), e->coef[k] / p));
    }
    return NULL;
}
/* e with a remainder or quotient at its greatest value, if that cancels other terms: x%n - n, whatever n is. NULL:
 * there is none. */
static expr ended(struct ctx *c, expr e) {
    for (int k = 0; e->op == X_LIN && k < e->n; k++) {
        expr a = e->arg[k];
        if (e->coef[k] < 0 || (a->op != X_MOD && a->op != X_DIV) || a->arg[1]->op == X_CONST) continue;
        expr last = a->op == X_MOD ? x_addi(c, a->arg[1], -1) : last_quotient(c, a);
        expr r = last ? with_term(c, e, k, last) : e;
        if (terms_in(c, r) < e->n - 1) return r;
    }
    return NULL;
}
/* x%p and x%p%q are not above x, if x is not negative: e with x instead of one of them, if that cancels other terms.
 * NULL: there is none. For example, the last cells of a row of x start at x - x%16%8. */
static expr unreduced(struct ctx *c, expr e, int depth, int *budget) {
    for (int k = 0; e->op == X_LIN && k < e->n; k++) {
        expr x = e->arg[k];
        while (x->op == X_MOD) x = x->arg[0];
        if (x == e->arg[k] || e->coef[k] < 0) continue;
        expr r = with_term(c, e, k, x);
        if (terms_in(c, r) < e->n && not_negative(c, x, depth - 1, budget)) return r;
    }
    return NULL;
}
static bool negative(struct ctx *c, expr e, int depth, int *budget) {
    int64_t lo, hi;
    if (e->op == X_POISON || (*budget -= 1 + e->n / 8) < 0) return false; /* long sums cost more, and prove less */
    x_bounds(c, e, &lo, &hi);
    if (hi < 0) return true;
    if (!depth || e->op == X_CONST || lo >= 0) return false;
    int n = e->op == X_LIN ? e->n : 1;
    expr joined = rejoined(c, e);
    if (joined && negative(c, joined, depth - 1, budget)) return true;
    expr last = ended(c, e);
    if (last && negative(c, last, depth - 1, budget)) return true;
    expr whole = unreduced(c, e, depth, budget);
    if (whole && negative(c, whole, depth - 1, budget)) return true;
    for (int pass = 0; pass < 3; pass++)
        for (int k = 0; k < n; k++) {
            if (turn_of(e->op == X_LIN ? e->arg[k] : e) != pass) continue;
            int r = replaced(c, e, k, depth, budget);
            if (r > 0) return true;
            if (r == 0 && stands_alone(c, e, k)) return false;
        }
    return false;
}
/* If e is not negative for some sizes and some iteration, there is no need to search for a proof. */
struct sample {
    int number, left; /* number of leaves that may still be visited: sharing can make exponentially many of few */
};
static bool sample_leaf(void *env, expr leaf, int64_t *v) {
    struct sample *q = env;
    int64_t n;
    if (--q->left < 0) return false;
    if (leaf->op == X_SYM) {
        const struct sym *s = leaf->u.sym;
        *v = min64(max64(q->number == 0 ? s->lo : q->number * 31 + s->id % (5 + q->number), s->lo), s->hi);
        return true;
    }
    if (leaf->op != X_VAR || !x_eval_int(leaf->u.var->extent, sample_leaf, q, &n) || n <= 0) return false;
    *v = q->number == 1 ? 0 : q->number == 2 ? n / 2 : n - 1;
    return true;
}
static bool refuted(expr e) {
    int64_t v;
    for (int k = 0; k < 4; k++) {
        struct sample q = {k, 1000};
        if (x_eval_int(e, sample_leaf, &q, &v) && v >= 0) return true;
    }
    return false;
}
/* ---- The rows of an unpadded window are max(0, x). In an iteration of a loop with that extent, or over a part of it,
 * the maximum equals x. Not used for loops over several such sizes at once: without the maxima their extents are
 * products of sums, which get multiplied out, and long sums cost much and prove little. */
struct clamps {
    expr last; /* which contains no other, since operands are visited first */
    int n;
};
static bool count_clamps(void *env, expr e) {
    struct clamps *q = env;
    if (e->op == X_MAX && (e->arg[0]->op == X_CONST || e->arg[1]->op == X_CONST)) q->last = e, q->n++;
    return true;
}
/* The maximum in e that contains all others in e; NULL: there is none. */
static expr outer_clamp(expr e) {
    struct clamps all = {0}, inner = {0};
    x_visit_with(e, XF_CLAMP, count_clamps, &all);
    if (all.n) x_visit_with(all.last, XF_CLAMP, count_clamps, &inner);
    return inner.n == all.n ? all.last : NULL;
}
static expr put_clamp(void *env, expr e) {
    const struct unclamped *q = env;
    return e == q->clamp ? q->is : NULL;
}
void var_unclamp(struct ctx *c, struct var *v) {
    int64_t lo, hi;
    expr m = v->extent->op == X_CONST ? NULL : outer_clamp(v->extent);
    if (!m) return;
    int constant = m->arg[0]->op != X_CONST;
    struct unclamped q = {m, m->arg[constant], NULL};
    x_bounds(c, x_map(c, v->extent, put_clamp, &q), &lo, &hi);
    if (hi > 0) return; /* the loop also runs if the maximum is the constant */
    q.is = m->arg[!constant];
    q.var = x_var(c, var_new(c, v->name, x_map(c, v->extent, put_clamp, &q)));
    v->unclamped = arena_copy(&c->arena, &q, sizeof q);
}
static bool find_unclamped(void *env, expr e) {
    if (e->op == X_VAR && e->u.var->unclamped) *(const struct var **)env = e->u.var;
    return !*(const struct var **)env;
}
static expr put_unclamped(void *env, expr e) {
    const struct var *v = env;
    return e->op == X_VAR && e->u.var == v ? v->unclamped->var : put_clamp((void *)v->unclamped, e);
}
/* e with such variables and maxima replaced. The result no longer implies that x is not negative. */
static expr unclamped(struct ctx *c, expr e) {
    const struct var *v = NULL;
    while (!x_visit_with(e, XF_UNCLAMPED, find_unclamped, &v)) {
        e = x_map(c, e, put_unclamped, (void *)v);
        v = NULL;
    }
    return e;
}
/* ---- x//p + e is negative exactly if x + p*e is; and e - x//p is if p*e - x + p-1 is: whole periods of x that were
 * moved out of the quotient are combined with x again. NULL: there is no such term. */
static expr undivided(struct ctx *c, expr e) {
    for (int k = 0, n = e->op == X_LIN ? e->n : 1; k < n; k++) {
        expr a = e->op == X_LIN ? e->arg[k] : e;
        int64_t f = e->op == X_LIN ? e->coef[k] : 1, p;
        if (a->op != X_DIV || (f != 1 && f != -1) || !x_is_int(a->arg[1], &p)) continue;
        return x_addi(c, x_add(c, x_muli(c, without(c, e, k), p), x_muli(c, a->arg[0], f)), f > 0 ? 0 : p - 1);
    }
    return NULL;
}
enum { PROOF_DEPTH = 12, PROOF_BUDGET = 400 };
static bool search_negative(struct ctx *c, expr e) {
    int budget = PROOF_BUDGET, again = PROOF_BUDGET, last = PROOF_BUDGET;
    if (refuted(e)) return false;
    if (negative(c, e, PROOF_DEPTH, &budget)) return true;
    expr simpler = unclamped(c, e); /* building it asks for proofs about expressions with fewer such variables */
    if (simpler != e && negative(c, simpler, PROOF_DEPTH, &again)) return true;
    expr whole = undivided(c, e);
    return whole && negative(c, whole, PROOF_DEPTH, &last);
}
enum proof { PROOF_NEW, PROOF_FOUND, PROOF_MISSING };
/* Remembers answers, because the same questions recur for each copy of a body, from every verifier and printer. */
static bool always_negative(struct ctx *c, expr e) {
    if (*x_proof(c, e) == PROOF_NEW) {
        bool found = search_negative(c, e);
        *x_proof(c, e) = found ? PROOF_FOUND : PROOF_MISSING;
    }
    return *x_proof(c, e) == PROOF_FOUND;
}
bool x_proves_lt(struct ctx *c, expr a, expr b) {
    return a->type == IDX && b->type == IDX && always_negative(c, x_sub(c, a, b));
}
bool x_proves_le(struct ctx *c, expr a, expr b) {
    return a->type == IDX && b->type == IDX && (a == b || always_negative(c, x_addi(c, x_sub(c, a, b), -1)));
}
bool x_proves_inside(struct ctx *c, expr e, expr n) { return x_proves_le(c, x_int(c, 0), e) && x_proves_lt(c, e, n); }
