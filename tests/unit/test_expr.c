/* Expression constructors: identities that shape inference and the schedule steps rely on. */
#include "ir/base/checked.h"
#include "ir/loop/loop.h"
#include <criterion/criterion.h>
#include <math.h>

static struct ctx *c;
static expr n, h, V, W;
static void setup(void) {
    c = ctx_new();
    n = x_sym(c, sym_new(c, "N", 1, 1000000, false));
    h = x_sym(c, sym_new(c, "H", 0, INT32_MAX, false));
    V = x_var(c, var_new(c, "v", n));
    W = x_var(c, var_new(c, "w", x_int(c, 14)));
}
static void teardown(void) { ctx_free(c); }
TestSuite(expr, .init = setup, .fini = teardown);

Test(expr, division_by_symbols_and_constants_cancels) {
    cr_assert_eq(x_divi(c, x_muli(c, n, 6), 6), n);
    cr_assert_eq(x_div(c, x_mul(c, x_mul(c, n, h), x_int(c, 12)), x_muli(c, h, 3)), x_muli(c, n, 4));
}
Test(expr, quotient_and_remainder_rejoin) {
    cr_assert_eq(x_add(c, x_muli(c, x_divi(c, V, 16), 16), x_modi(c, V, 16)), V);
    /* the rest's quotient, 4 i + l // 4, looks like none */
    expr i = x_var(c, var_new(c, "i", x_int(c, 30))), l = x_var(c, var_new(c, "l", x_int(c, 16))),
         e = x_add(c, x_muli(c, i, 16), l), quarter = x_divi(c, e, 4);
    cr_assert_eq(x_add(c, x_muli(c, x_divi(c, e, 40), 10), x_modi(c, quarter, 10)), quarter);
    cr_assert_neq(x_add(c, x_muli(c, x_divi(c, e, 44), 10), x_modi(c, quarter, 10)), quarter);
}
Test(expr, remainders_rejoin) {
    expr low = x_modi(c, V, 16), high = x_modi(c, x_divi(c, V, 16), 7);
    cr_assert_eq(x_add(c, x_muli(c, high, 48), x_muli(c, low, 3)), x_muli(c, x_modi(c, V, 112), 3));
    cr_assert_neq(x_add(c, x_muli(c, high, 16), x_modi(c, V, 8)), x_modi(c, V, 56));
    cr_assert_neq(x_add(c, x_muli(c, high, 15), low), x_modi(c, V, 112));
}
Test(expr, quotient_and_remainder_by_sizes_rejoin) {
    expr m = x_sym(c, sym_new(c, "M", 0, 1000, false)), i = x_var(c, var_new(c, "i", x_mul(c, n, x_mul(c, h, m))));
    for (int k = 0; k < 3; k++) {
        expr by = k == 0 ? n : k == 1 ? x_mul(c, h, n) : x_muli(c, x_mul(c, n, m), 3);
        cr_assert_eq(x_add(c, x_mul(c, x_div(c, i, by), by), x_mod(c, i, by)), i);
        expr more = x_add(c, x_muli(c, x_mul(c, x_div(c, i, by), by), 2), x_mod(c, i, by));
        cr_assert(x_uses_var(c, x_sub(c, more, i), i->u.var));
    }
    cr_assert(x_proves_lt(c, x_div(c, i, x_mul(c, n, m)), h));
    cr_assert_not(x_proves_lt(c, x_div(c, i, x_mul(c, n, m)), x_addi(c, h, -1)));
    cr_assert_not(x_proves_lt(c, x_div(c, i, x_mul(c, n, n)), h));
}
Test(expr, remainders_by_sizes_rejoin) {
    /* the last three axes of cells in four: what a reshape of open sizes reads */
    expr m = x_sym(c, sym_new(c, "M", 1, 1000, false)), i = x_var(c, var_new(c, "i", x_mul(c, n, x_mul(c, h, m))));
    expr hm = x_mul(c, h, m), in_row = x_mod(c, i, m), row = x_mod(c, x_div(c, i, m), h);
    expr plane = x_modi(c, x_div(c, i, hm), 116), in_plane = x_add(c, x_mul(c, row, m), in_row);
    cr_assert_eq(in_plane, x_mod(c, i, hm));
    cr_assert_eq(x_add(c, x_muli(c, x_mul(c, row, m), 8), x_muli(c, in_row, 8)), x_muli(c, x_mod(c, i, hm), 8));
    expr in_image = x_add(c, x_mul(c, plane, hm), in_plane);
    cr_assert_eq(in_image, x_mod(c, i, x_muli(c, hm, 116)));
    cr_assert_eq(x_add(c, x_mul(c, x_div(c, i, x_muli(c, hm, 116)), x_muli(c, hm, 116)), in_image), i);
    cr_assert_neq(x_add(c, x_mul(c, row, h), in_row), x_mod(c, i, hm));
    cr_assert_neq(x_add(c, x_mul(c, row, m), x_mod(c, i, h)), x_mod(c, i, hm));
    cr_assert_neq(x_add(c, x_muli(c, x_mul(c, row, m), 2), in_row), x_mod(c, i, hm));
}
Test(expr, quotient_and_remainder_by_sums_rejoin) {
    expr m = x_sym(c, sym_new(c, "M", 0, 1000, false)), one_more = x_addi(c, n, 1),
         clamped = x_addi(c, x_sub(c, x_bin(c, X_MAX, x_int(c, 0), x_addi(c, x_muli(c, m, 2), -1)), m), 1),
         square = x_add(c, x_mul(c, n, m), x_addi(c, n, 3)), sums[] = {one_more, clamped, square};
    for (int k = 0; k < 3; k++) {
        expr by = sums[k], i = x_var(c, var_new(c, "i", x_mul(c, x_muli(c, h, 6), by))), q = x_div(c, i, by);
        cr_assert_eq(x_add(c, x_mul(c, q, by), x_mod(c, i, by)), i);
        cr_assert_eq(x_add(c, x_mul(c, x_muli(c, q, 5), by), x_muli(c, x_mod(c, i, by), 5)), x_muli(c, i, 5));
        expr row = x_modi(c, q, 6);
        cr_assert_eq(x_add(c, x_mul(c, row, by), x_mod(c, i, by)), x_mod(c, i, x_muli(c, by, 6)));
        cr_assert_neq(x_add(c, x_mul(c, row, by), x_mod(c, i, x_addi(c, by, 1))), x_mod(c, i, x_muli(c, by, 6)));
        expr more = x_add(c, x_mul(c, q, x_addi(c, by, 1)), x_mod(c, i, by));
        cr_assert_neq(more, i);
        cr_assert(x_uses_var(c, x_sub(c, x_add(c, x_mul(c, x_muli(c, q, 2), by), x_mod(c, i, by)), i), i->u.var));
        cr_assert(x_proves_lt(c, q, x_muli(c, h, 6)));
        cr_assert_not(x_proves_lt(c, q, x_addi(c, x_muli(c, h, 6), -1)));
    }
}
Test(expr, what_fills_a_size_up_to_a_multiple) {
    expr m = x_addi(c, x_mul(c, n, h), 3), fill = x_modi(c, x_muli(c, m, -1), 9), full = x_add(c, m, fill);
    cr_assert_eq(full, x_muli(c, x_divi(c, x_addi(c, m, 8), 9), 9));
    cr_assert(x_is(x_sub(c, x_sub(c, x_muli(c, m, -1), fill), x_muli(c, full, -1)), 0));
    cr_assert(x_uses_sym(x_sub(c, x_add(c, x_muli(c, m, 2), fill), full), n->u.sym));
    /* Mod of values: the remainder of truncation, and the divisor where that is negative */
    expr v = x_idxval(c, x_muli(c, m, -1)), nine = x_const_i(c, I64, 9), r = x_bin(c, X_MOD, v, nine),
         less = x_cmp(c, X_LT, r, x_const_i(c, I64, 0));
    cr_assert_eq(x_select(c, less, x_add(c, r, nine), r), x_idxval(c, fill));
    cr_assert_neq(x_select(c, less, r, x_add(c, r, nine)), x_idxval(c, fill));
    cr_assert_neq(x_select(c, less, x_add(c, r, x_const_i(c, I64, 8)), r), x_idxval(c, fill));
}
static expr counted(enum xop round, enum dtype t, expr n, double less, double by, double more) {
    expr v = x_cast(c, t, x_idxval(c, n));
    v = x_bin(c, X_ADD, x_bin(c, X_DIV, x_bin(c, X_SUB, v, x_const_f(c, t, less)), x_const_f(c, t, by)),
              x_const_f(c, t, more));
    return x_cast(c, I64, round == X_ADD ? v : x_un(c, round, v));
}
Test(expr, sizes_that_floats_count) {
    expr m = x_sym(c, sym_new(c, "M", 0, 100000, false)), far = x_sym(c, sym_new(c, "F", 0, 10000000, false));
    /* the frames of a window of 7 cells, 3 apart, rounded up */
    cr_assert_eq(counted(X_CEIL, F32, m, 7, 3, 1), x_idxval(c, x_divi(c, x_addi(c, m, -2), 3)));
    cr_assert_eq(counted(X_FLOOR, F32, m, 7, 3, 1), x_idxval(c, x_divi(c, x_addi(c, m, -4), 3)));
    cr_assert_eq(counted(X_ADD, F32, x_addi(c, m, 4), 7, 3, 1), x_idxval(c, x_divi(c, m, 3)));
    cr_assert_eq(counted(X_ADD, F32, x_muli(c, m, -1), 7, 3, 1),
                 x_idxval(c, x_divi(c, x_addi(c, x_muli(c, m, -1), -2), 3)));
    cr_assert_eq(counted(X_ADD, F32, m, 7, 3, 1)->op, X_CAST);    /* of either sign */
    cr_assert_eq(counted(X_CEIL, F32, far, 7, 3, 1)->op, X_CAST); /* floats do not tell these apart */
    cr_assert_eq(counted(X_CEIL, F64, far, 7, 3, 1), x_idxval(c, x_divi(c, x_addi(c, far, -2), 3)));
    cr_assert_eq(counted(X_CEIL, F32, m, 7, 2.5, 1)->op, X_CAST);
    cr_assert_eq(counted(X_CEIL, F32, m, 7, -3, 1)->op, X_CAST);
    for (int up = 0; up < 2; up++) /* and so do floats */
        for (int64_t k = 0; k <= 100000; k += k < 1000 || k > 99000 ? 1 : 61) {
            float v = ((float)k - 7) / 3 + 1;
            int64_t found, want = (int64_t)(up ? ceilf(v) : floorf(v));
            expr e = x_toidx(c, counted(up ? X_CEIL : X_FLOOR, F32, m, 7, 3, 1));
            struct subst at = {{.arena = &c->arena}};
            map_put(&at.map, PKEY(m->u.sym), (void *)x_int(c, k));
            cr_assert(x_is_int(x_subst(c, e, &at), &found) && found == want, "%d: %d", (int)k, (int)found);
        }
}
Test(expr, factors_leave_divisions_by_sums) {
    expr i = x_var(c, var_new(c, "i", x_muli(c, n, 3))), two = x_var(c, var_new(c, "two", x_int(c, 2)));
    expr e = x_add(c, x_muli(c, i, 2), two), less = x_addi(c, x_muli(c, h, 2), 3), by = x_muli(c, less, 2);
    cr_assert_eq(x_div(c, e, by), x_div(c, i, less));
    cr_assert_eq(x_mod(c, e, by), x_add(c, x_muli(c, x_mod(c, i, less), 2), two));
    cr_assert_eq(x_div(c, x_addi(c, e, 1), by)->arg[1], by);
    cr_assert_eq(x_div(c, e, x_addi(c, by, 1))->arg[1], x_addi(c, by, 1));
}
Test(expr, factors_leave_divisions_by_sizes) {
    expr i = x_var(c, var_new(c, "i", x_muli(c, n, 3))), two = x_var(c, var_new(c, "two", x_int(c, 2)));
    expr e = x_add(c, x_muli(c, i, 2), two), by = x_muli(c, h, 6);
    cr_assert_eq(x_div(c, e, by), x_div(c, i, x_muli(c, h, 3)));
    cr_assert_eq(x_mod(c, e, by), x_add(c, x_muli(c, x_mod(c, i, x_muli(c, h, 3)), 2), two));
    cr_assert_eq(x_div(c, x_addi(c, e, 1), by)->arg[1], by); /* 2i + two + 1 may be the next pair's */
    cr_assert_eq(x_div(c, e, h)->arg[1], h);
}
Test(expr, flat_index_splits) {
    cr_assert_eq(x_divi(c, x_add(c, x_muli(c, V, 14), W), 14), V);
    cr_assert_eq(x_modi(c, x_add(c, x_muli(c, V, 28), x_muli(c, W, 2)), 28), x_muli(c, W, 2));
    expr flat = x_add(c, x_mul(c, W, n), V);
    cr_assert_eq(x_div(c, flat, n), W);
    cr_assert_eq(x_mod(c, flat, n), V);
}
Test(expr, symbolic_bounds_are_proved_and_not_overproved) {
    cr_assert(x_proves_lt(c, x_add(c, x_mul(c, W, n), V), x_muli(c, n, 14)));
    cr_assert(x_is_true(x_cmp(c, X_LT, x_addi(c, V, -1), n)));
    cr_assert_eq(x_cmp(c, X_LT, x_addi(c, V, 1), n)->op, X_LT);
    cr_assert_not(x_proves_lt(c, x_add(c, x_mul(c, W, n), V), x_muli(c, n, 13)));
}
Test(expr, optional_tiles_of_powers_of_two_stay_inside) {
    /* for t < N%3//2: for i < 2: 3*(N//3) + 2*t + i < N */
    expr rest = x_modi(c, n, 3), t = x_var(c, var_new(c, "t", x_divi(c, rest, 2))),
         i = x_var(c, var_new(c, "i", x_int(c, 2)));
    expr e = x_add(c, x_muli(c, x_divi(c, n, 3), 3), x_add(c, x_muli(c, t, 2), i));
    cr_assert(x_proves_lt(c, e, n));
    cr_assert_not(x_proves_lt(c, x_addi(c, e, 1), n));
}
Test(expr, tiles_of_a_size_that_a_maximum_keeps_from_being_negative_stay_inside) {
    /* the results of a window as long as n over max(0, 2n - 1): n, or 1 if n is 0 */
    expr m = x_sym(c, sym_new(c, "M", 0, 1000, false)),
         longer = x_bin(c, X_MAX, x_int(c, 0), x_addi(c, x_muli(c, m, 2), -1)),
         sizes[] = {x_addi(c, x_sub(c, longer, m), 1), x_sub(c, m, x_bin(c, X_MIN, m, x_int(c, 1)))};
    for (int k = 0; k < 2; k++) {
        expr size = sizes[k], rest = x_modi(c, size, 8), low = x_modi(c, rest, 4), base = x_sub(c, size, low),
             i = x_var(c, var_new(c, "i", x_divi(c, low, 2))), lane = x_var(c, var_new(c, "lane", x_int(c, 2))),
             at = x_add(c, base, x_add(c, x_muli(c, i, 2), lane));
        cr_assert(x_proves_inside(c, at, size));
        cr_assert_not(x_proves_le(c, x_int(c, 1), at));
        cr_assert_not(x_proves_lt(c, x_addi(c, at, 1), size));
    }
}
Test(expr, tiles_of_a_halved_size_stay_inside) {
    /* for t < (N+1)//12: for i < 6: 6*t + i < (N+1)//2, the rows that a stride of two leaves */
    expr rows = x_divi(c, x_addi(c, n, 1), 2), t = x_var(c, var_new(c, "t", x_divi(c, rows, 6))),
         i = x_var(c, var_new(c, "i", x_int(c, 6))), e = x_add(c, x_muli(c, t, 6), i);
    cr_assert(x_proves_lt(c, e, rows));
    cr_assert_not(x_proves_lt(c, x_addi(c, e, 1), rows));
    expr whole = x_muli(c, x_divi(c, rows, 6), 6);
    cr_assert(x_proves_le(c, rows, x_addi(c, whole, 5)));
    cr_assert_not(x_proves_le(c, rows, x_addi(c, whole, 4)));
}
Test(expr, fused_loops_that_are_cut_stay_inside) {
    /* the last tile of at most 4 of 3*n cells, as rows of 3: n joins what was taken out of the quotient again */
    expr cells = x_muli(c, n, 3), rest = x_modi(c, x_modi(c, cells, 16), 8), i = x_var(c, var_new(c, "i", x_int(c, 4))),
         t = x_var(c, var_new(c, "t", x_modi(c, x_divi(c, rest, 4), 2))),
         e = x_add(c, x_sub(c, cells, rest), x_add(c, x_muli(c, t, 4), i)), row = x_divi(c, e, 3);
    cr_assert(x_proves_le(c, x_int(c, 0), row));
    cr_assert(x_proves_lt(c, row, n));
    cr_assert_not(x_proves_lt(c, x_addi(c, row, 1), n));
}
Test(expr, tiles_of_a_size_less_a_border_stay_inside) {
    /* rows = P - 2 with P >= 2, and their rest is written (P+4)%6: the tiles of 4, 2 and 1 rows do not start below 0 */
    const struct sym *padded = sym_new(c, "P", 2, INT32_MAX, false);
    expr rows = x_addi(c, x_sym(c, padded), -2), few = x_modi(c, rows, 6);
    cr_assert(x_proves_le(c, few, rows));
    cr_assert_not(x_proves_lt(c, few, rows));
    for (int w = 4; w; w /= 2)
        cr_assert(x_proves_le(c, x_modi(c, few, w), rows), "the first cell of tiles of %d rows", w);
    cr_assert_not(x_proves_le(c, few, x_addi(c, rows, -1)));
}
Test(expr, turns_that_depend_on_another_loop_end_with_it) {
    /* for b<(N+15)//16, for r<min(16, N-b*16): b*16+r < N */
    const struct var *b = var_new(c, "b", x_divi(c, x_addi(c, n, 15), 16));
    expr before = x_muli(c, x_var(c, b), 16);
    const struct var *r = var_new(c, "r", x_min(c, x_int(c, 16), x_sub(c, n, before)));
    cr_assert(x_proves_lt(c, x_add(c, before, x_var(c, r)), n));
    cr_assert_not(x_proves_lt(c, x_addi(c, x_add(c, before, x_var(c, r)), 1), n));
}
/* Pieces of what tiles of 6 leave of n, 4, 2 and 1 at a time: where one ends the next begins. */
Test(expr, pieces_of_a_rest_follow_each_other) {
    expr rest = x_modi(c, n, 6), whole = x_muli(c, x_divi(c, n, 6), 6);
    expr fours = x_add(c, whole, x_muli(c, x_divi(c, rest, 4), 4)), twos = x_sub(c, n, x_modi(c, rest, 4)),
         ones = x_sub(c, n, x_modi(c, rest, 2));
    cr_assert(x_proves_le(c, fours, twos));
    cr_assert(x_proves_le(c, fours, ones));
    cr_assert_not(x_proves_lt(c, fours, twos));
    cr_assert_not(x_proves_le(c, ones, twos));
    expr rows = x_addi(c, x_sym(c, sym_new(c, "few", 2, 6, false)),
                       -2); /* of which periods are taken out of quotient and rest */
    expr pairs = x_muli(c, x_modi(c, x_divi(c, rows, 2), 2), 2), left = x_modi(c, rows, 4);
    cr_assert(x_proves_le(c, pairs, left));
    cr_assert_not(x_proves_lt(c, pairs, left));
}
Test(expr, quotients_of_what_is_not_negative_are_not_negative) {
    /* n*h less its rest, by h, and by 5 */
    expr few = x_modi(c, x_mul(c, n, h), 16), at = x_sub(c, x_mul(c, n, h), few), zero = x_int(c, 0);
    cr_assert(x_proves_le(c, zero, x_div(c, at, h)));
    cr_assert(x_proves_le(c, zero, x_divi(c, at, 5)));
    cr_assert_not(x_proves_le(c, zero, x_div(c, x_addi(c, at, -1), h)));
    expr least = x_min(c, n, x_int(c, 4)), most = x_min(c, n, x_int(c, 99));
    cr_assert(x_proves_le(c, zero, x_muli(c, x_divi(c, x_sub(c, most, least), 16), 16)));
    cr_assert_not(x_proves_le(c, zero, x_muli(c, x_divi(c, x_sub(c, least, most), 16), 16)));
}
Test(expr, sums_leave_divisions_by_sums) {
    expr m = x_sym(c, sym_new(c, "M", 1, 1000, false)), sum = x_add(c, x_mul(c, n, m), x_addi(c, x_add(c, n, m), 1)),
         q = x_add(c, x_muli(c, h, 64), x_mul(c, h, m)), j = x_var(c, var_new(c, "j", sum));
    cr_assert_eq(x_div(c, x_mul(c, q, sum), sum), q);
    cr_assert(x_is(x_bin(c, X_MOD, x_mul(c, q, sum), sum), 0));
    cr_assert_eq(x_div(c, x_add(c, x_mul(c, q, sum), j), sum), q);
    cr_assert_eq(x_bin(c, X_MOD, x_add(c, x_mul(c, q, sum), j), sum), j);
    cr_assert_eq(x_div(c, x_addi(c, x_mul(c, q, sum), -1), sum)->op, X_DIV);
    cr_assert_eq(x_div(c, x_add(c, x_mul(c, q, sum), x_addi(c, j, 1)), sum)->op, X_DIV);
}
Test(expr, what_fits_below_a_sum_is_its_own_rest) {
    /* for flat < 2*(n*h + n + 1): flat // that is 0, and flat % that is flat */
    expr sum = x_muli(c, x_add(c, x_mul(c, n, h), x_addi(c, n, 1)), 2), flat = x_var(c, var_new(c, "flat", sum));
    cr_assert(x_is(x_div(c, flat, sum), 0));
    cr_assert_eq(x_bin(c, X_MOD, flat, sum), flat);
    cr_assert_eq(x_div(c, x_addi(c, flat, 1), sum)->op, X_DIV);
}
Test(expr, windows_of_a_clamped_number_stay_inside) {
    /* rows = max(0, N//5 - 1), of windows of 10 cells, 5 apart: for t < rows//6: for i < 6: 5*(6*t + i) + 9 < N */
    expr rows = x_max(c, x_addi(c, x_divi(c, n, 5), -1), x_int(c, 0));
    expr t = x_var(c, var_new(c, "t", x_divi(c, rows, 6))), i = x_var(c, var_new(c, "i", x_int(c, 6)));
    expr last = x_addi(c, x_muli(c, x_add(c, x_muli(c, t, 6), i), 5), 9);
    cr_assert(x_proves_lt(c, last, n));
    cr_assert_not(x_proves_lt(c, x_addi(c, last, 1), n));
    expr few = x_modi(c, rows, 6); /* and in the tiles of what is left: 4, 2 and 1 rows */
    for (int w = 4; w; w /= 2) {
        expr from = w == 4 ? x_sub(c, rows, few) : x_sub(c, rows, x_modi(c, few, 2 * w));
        expr times = w == 4 ? x_divi(c, few, 4) : w == 2 ? x_modi(c, x_divi(c, few, 2), 2) : x_modi(c, few, 2);
        expr u = x_var(c, var_new(c, "u", times)), j = x_var(c, var_new(c, "j", x_int(c, w)));
        expr at = x_add(c, from, x_add(c, x_muli(c, u, w), j));
        cr_assert(x_proves_lt(c, x_addi(c, x_muli(c, at, 5), 9), n), "the last cell of tiles of %d rows", w);
        cr_assert(x_proves_le(c, x_int(c, 0), at), "the first cell of tiles of %d rows", w);
    }
    /* a loop that runs once where there are no rows tells nothing about them */
    expr once = x_var(c, var_new(c, "once", x_addi(c, rows, 1)));
    cr_assert_not(x_proves_lt(c, x_addi(c, x_muli(c, once, 5), 4), n));
}
Test(expr, cells_that_share_a_source_stay_inside) {
    /* for v < 2*n: v//2 < n, and (v+1)//2 is not; for w < 3*n: -(w//3) >= 1 - n */
    expr v = x_var(c, var_new(c, "v", x_muli(c, n, 2))), w = x_var(c, var_new(c, "w", x_muli(c, n, 3)));
    cr_assert(x_proves_lt(c, x_divi(c, v, 2), n));
    cr_assert_not(x_proves_lt(c, x_divi(c, x_addi(c, v, 1), 2), n));
    cr_assert(x_proves_lt(c, x_add(c, x_divi(c, v, 2), x_divi(c, w, 3)), x_addi(c, x_muli(c, n, 2), -1)));
    cr_assert(x_proves_le(c, x_sub(c, x_int(c, 1), n), x_muli(c, x_divi(c, w, 3), -1)));
}
/* A remainder or quotient by a size that many open dims make together, as they do when they are broadcast. */
Test(expr, cells_of_chained_sizes) {
    expr chain[2];
    for (int k = 0; k < 2; k++) {
        chain[k] = x_int(c, 1);
        for (int d = 0; d < 12; d++) {
            expr y = x_sym(c, sym_new(c, "D", 0, INT32_MAX, false));
            chain[k] = x_select(c, x_cmp(c, X_EQ, y, x_int(c, 1)), chain[k], y);
        }
    }
    expr cell = x_var(c, var_new(c, "cell", x_mul(c, chain[0], chain[1])));
    cr_assert(x_proves_lt(c, x_mod(c, cell, chain[1]), chain[1]));
    cr_assert(x_proves_lt(c, x_div(c, cell, chain[1]), chain[0]));
    cr_assert_not(x_proves_lt(c, x_mod(c, cell, chain[1]), chain[0]));
    cr_assert_not(x_proves_lt(c, x_div(c, cell, chain[1]), x_addi(c, chain[0], -1)));
}
Test(expr, sums_of_minima_are_bounded_alone_and_together) {
    expr a = x_min(c, n, x_int(c, 5)), b = x_min(c, h, x_int(c, 7)), u = x_var(c, var_new(c, "u", b));
    cr_assert(x_proves_lt(c, x_add(c, a, b), x_int(c, 13)));
    cr_assert_not(x_proves_lt(c, x_add(c, a, b), x_int(c, 12)));
    cr_assert(x_proves_lt(c, x_add(c, a, b), x_addi(c, n, 8)), "n is known to another term");
    cr_assert(x_proves_lt(c, x_add(c, u, a), x_add(c, h, n)), "so is h, through the extent of u");
    cr_assert_not(x_proves_lt(c, x_add(c, x_addi(c, u, 1), a), x_add(c, h, n)));
}
Test(expr, index_arithmetic_passes_through_values) {
    expr e = x_mul(c, x_idxval(c, n), x_const_i(c, I64, 3));
    cr_assert_eq(x_toidx(c, e), x_muli(c, n, 3));
}
Test(expr, a_value_equals_itself_unless_it_may_be_nan) {
    expr i = x_arg(c, 0, U64), f = x_arg(c, 0, F32);
    cr_assert(x_is_true(x_cmp(c, X_LE, i, i)) && x_is_true(x_cmp(c, X_EQ, i, i)));
    cr_assert(x_is_false(x_cmp(c, X_LT, i, i)) && x_is_false(x_cmp(c, X_NE, i, i)));
    cr_assert(x_is_false(x_bin(c, X_XOR, x_arg(c, 0, BOOL), x_arg(c, 0, BOOL))));
    cr_assert_eq(x_cmp(c, X_EQ, f, f)->op, X_EQ);
    cr_assert_eq(x_cmp(c, X_EQ, i, x_arg(c, 1, U64))->op, X_EQ);
}
Test(expr, a_truth_value_is_no_more_than_one) {
    expr v = x_cast(c, I8, x_arg(c, 0, BOOL));
    cr_expect(x_is_false(x_cmp(c, X_LT, x_num(c, I8, 7), v)));
    cr_expect(x_is_true(x_cmp(c, X_LE, v, x_num(c, I8, 1))));
    cr_expect(x_cmp(c, X_EQ, v, x_num(c, I8, 1))->op == X_EQ);
}
Test(expr, overflow_gives_poison) {
    cr_assert_eq(x_muli(c, x_muli(c, n, INT64_MAX / 2), 3)->op, X_POISON);
    cr_assert_eq(x_addi(c, x_int(c, INT64_MAX), 1)->op, X_POISON);
}
/* gcc takes -(x*y + z) for -(x*y) - z */
Test(expr, sums_of_products_are_negated_by_their_bits) {
    expr f = x_fma(c, x_arg(c, 0, F32), x_arg(c, 1, F32), x_arg(c, 2, F32));
    cr_expect_eq(x_un(c, X_NEG, f)->op, X_BITCAST);
    cr_expect_eq(x_un(c, X_NEG, x_arg(c, 0, F32))->op, X_NEG);
}
Test(expr, sums_of_integers_are_joined_as_they_wrap) {
    expr x = x_arg(c, 0, I32), y = x_arg(c, 1, I32), n = x_const_i(c, I32, 203), big = x_const_i(c, I32, INT32_MAX);
    cr_assert_eq(x_sub(c, x_add(c, x, n), n), x);
    cr_assert_eq(x_add(c, x_sub(c, x, n), n), x);
    cr_assert_eq(x_sub(c, x_add(c, x, y), y), x);
    cr_assert_eq(x_add(c, x_add(c, x, n), n), x_add(c, x, x_const_i(c, I32, 406)));
    cr_assert_eq(x_sub(c, x_sub(c, x, n), n), x_sub(c, x, x_const_i(c, I32, 406)));
    cr_assert_eq(x_add(c, x_add(c, x, big), big), x_add(c, x, x_const_i(c, I32, -2)));
    expr z = x_arg(c, 0, F32), t = x_const_f(c, F32, 203);
    cr_assert_neq(x_sub(c, x_add(c, z, t), t), z, "floats round");
}
Test(expr, a_clamped_value_is_a_place_within_its_ends) {
    int64_t lo, hi;
    expr x = x_arg(c, 0, I32), place = x_toidx(c, x_min(c, x_max(c, x, x_const_i(c, I32, -9)), x_const_i(c, I32, 90)));
    x_bounds(c, x_addi(c, place, 9), &lo, &hi);
    cr_assert(lo == 0 && hi == 99, "%lld .. %lld", (long long)lo, (long long)hi);
    x_bounds(c, x_toidx(c, x_round(c, I8, x)), &lo, &hi);
    cr_assert(lo == -128 && hi == 127);
    x_bounds(c, x_toidx(c, x), &lo, &hi);
    cr_assert(lo == INT32_MIN && hi == INT32_MAX);
}
Test(expr, minus_zero_is_kept) {
    struct var *v = var_new(c, "k", x_int(c, 4));
    expr x = x_cast(c, F32, x_var(c, v)), sum = x_add(c, x, x_const_f(c, F32, 0.0));
    cr_assert_neq(sum, x, "x + 0.0 is not x for x = -0.0");
    cr_assert_eq(x_add(c, x, x_const_f(c, F32, -0.0)), x);
}
/* Random index expressions against direct evaluation: rewriting must not change a value, bounds must hold. */
static uint64_t rng = 88172645463325252u;
static int64_t rnd(int64_t k) {
    rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
    return (int64_t)(rng % (uint64_t)k);
}
struct env {
    const struct var *v[3];
    int64_t x[3];
};
static bool leaf(void *p, expr e, int64_t *out) {
    struct env *env = p;
    for (int k = 0; k < 3; k++)
        if (e->op == X_VAR && e->u.var == env->v[k]) return *out = env->x[k], true;
    return false;
}
static expr random_expr(struct env *env, int depth, int64_t *value) {
    if (!depth || rnd(5) == 0) {
        int k = (int)rnd(4);
        if (k == 3) return *value = rnd(21) - 10, x_int(c, *value);
        return *value = env->x[k], x_var(c, env->v[k]);
    }
    int64_t a, b, d = rnd(9) + 1;
    expr ea = random_expr(env, depth - 1, &a), eb = random_expr(env, depth - 1, &b);
    switch (rnd(8)) {
    case 0: return *value = a + b, x_add(c, ea, eb);
    case 1: return *value = a - b, x_sub(c, ea, eb);
    case 2: return *value = a * d, x_muli(c, ea, d);
    case 3: return *value = floordiv64(a, d), x_divi(c, ea, d);
    case 4: return *value = floormod64(a, d), x_modi(c, ea, d);
    case 5: return *value = a < b ? a : b, x_min(c, ea, eb);
    case 6: return *value = a / d, x_toidx(c, x_div(c, x_idxval(c, ea), x_const_i(c, I64, d))); /* values truncate */
    default: return *value = a > b ? a : b, x_max(c, ea, eb);
    }
}
Test(expr, random_index_expressions_keep_their_value) {
    struct env env;
    int64_t extents[3] = {7, 16, 5};
    for (int k = 0; k < 3; k++) env.v[k] = var_new(c, "r", x_int(c, extents[k]));
    for (int round = 0; round < 20000; round++) {
        int64_t want, got, lo, hi;
        for (int k = 0; k < 3; k++) env.x[k] = rnd(extents[k]);
        expr e = random_expr(&env, 4, &want);
        cr_assert(x_eval_int(e, leaf, &env, &got));
        cr_assert_eq(got, want, "round %d: %ld instead of %ld", round, (long)got, (long)want);
        x_bounds(c, e, &lo, &hi);
        cr_assert(lo <= want && want <= hi);
        if (x_proves_lt(c, e, x_int(c, 3))) cr_assert_lt(want, 3);
    }
}

/* Random proofs against all values of two sizes and two loops: tiles of an open size, of what they leave and of what
 * these leave, windows of clamped rows, and rows of an open length among them. */
struct world {
    const struct sym *size[2];
    const struct var *v[2];
    int64_t at[2], x[2], least, greatest, values;
};
static bool leaf_of_world(void *p, expr e, int64_t *out) {
    struct world *w = p;
    for (int k = 0; k < 2; k++) {
        if (e->op == X_SYM && e->u.sym == w->size[k]) return *out = w->at[k], true;
        if (e->op == X_VAR && e->u.var == w->v[k]) return *out = w->x[k], true;
    }
    return false;
}
static int64_t divisor(void) {
    static const int64_t some[] = {1, 2, 2, 3, 4, 4, 5, 6, 8, 12, 16};
    return some[rnd(11)];
}
static expr random_part(expr x, expr few) {
    for (int64_t k = 1 + rnd(3); k; k--) {
        x = x_addi(c, x, rnd(4) ? 0 : rnd(9) - 4);
        expr by = rnd(9) ? x_int(c, divisor()) : few;
        x = rnd(2) ? x_div(c, x, by) : x_mod(c, x, by);
    }
    return x;
}
static expr random_sum(const expr *x, int n) {
    expr sum = x_int(c, rnd(5) - 2);
    for (int64_t k = 1 + rnd(3); k; k--) sum = x_add(c, sum, x_muli(c, x[rnd(n)], rnd(4) ? divisor() : -divisor()));
    return sum;
}
static void all_values(struct world *w, expr e, int loop) {
    int64_t n;
    if (loop == 2) {
        cr_assert(x_eval_int(e, leaf_of_world, w, &n));
        w->least = !w->values || n < w->least ? n : w->least;
        w->greatest = !w->values || n > w->greatest ? n : w->greatest;
        w->values++;
        return;
    }
    cr_assert(x_eval_int(w->v[loop]->extent, leaf_of_world, w, &n));
    for (w->x[loop] = 0; w->x[loop] < n; w->x[loop]++) all_values(w, e, loop + 1);
}
Test(expr, random_proofs_hold) {
    int proved = 0, asked = 0;
    for (int round = 0; round < 25000; round++) {
        struct world w = {.values = 0};
        int64_t lo = rnd(4), hi = lo + 1 + rnd(20);
        w.size[0] = sym_new(c, "N", lo, hi, false), w.size[1] = sym_new(c, "M", 1, 3, false);
        expr n = x_sym(c, w.size[0]), m = x_sym(c, w.size[1]), rows = x_max(c, x_addi(c, n, -rnd(6)), x_int(c, 0));
        expr extents[] = {n, x_mul(c, n, m), rows, x_addi(c, rows, 1), random_part(rows, m), random_part(n, m)};
        w.v[0] = var_new(c, "v", extents[rnd(6)]);
        expr v = x_var(c, w.v[0]), others[] = {x_int(c, 1 + rnd(4)), m, x_sub(c, rows, v)};
        w.v[1] = var_new(c, "w", others[rnd(3)]);
        expr x[] = {n,
                    v,
                    rows,
                    x_var(c, w.v[1]),
                    m,
                    x_mul(c, v, m),
                    x_mul(c, v, x_min(c, x_addi(c, n, -2), m)),
                    x_div(c, x_addi(c, v, -rnd(9)), m),
                    x_div(c, v, m),
                    x_div(c, n, m)};
        int some = rnd(2) ? 3 : 1 + (int)rnd(10);
        expr of = random_sum(x, some), e = rnd(2) ? of : random_sum(x, some);
        for (int64_t k = rnd(4); k; k--)
            e = x_add(c, e, x_muli(c, random_part(of, m), rnd(2) ? divisor() : -divisor()));
        for (w.at[0] = lo; w.at[0] <= hi; w.at[0]++)
            for (w.at[1] = 1; w.at[1] <= 3; w.at[1]++) all_values(&w, e, 0);
        if (!w.values) continue;
        expr least = x_int(c, w.least), greatest = x_int(c, w.greatest);
        cr_assert_not(x_proves_lt(c, e, greatest), "round %d: it may be %lld", round, (long long)w.greatest);
        cr_assert_not(x_proves_lt(c, least, e), "round %d: it may be %lld", round, (long long)w.least);
        proved += x_proves_le(c, e, greatest) + x_proves_le(c, least, e), asked += 2;
    }
    cr_assert_gt(proved, asked / 3, "%d of %d", proved, asked);
}

/* ---- what an expression holds */
static struct buf *vector(const char *name, expr dim) {
    return buf_new(c, proc_new(c, "p"), name, F32, SC_ARENA, &dim, 1);
}
Test(expr, holds_what_its_operands_hold) {
    expr made = x_sym(c, sym_new(c, "made", 0, 9, true)), at = x_addi(c, V, 1);
    struct buf *x = vector("x", n), *y = vector("y", n);
    expr load = x_load(c, x, &at, 1, NULL), e = x_add(c, load, x_const_f(c, F32, 1));
    cr_assert(x_has(e, XF_LOAD) && x_has(e, XF_VAR) && !x_has(e, XF_SYM | XF_GUARD | XF_TOIDX | XF_CALL));
    cr_assert(x_loads_from(e, x) && !x_loads_from(e, y));
    cr_assert(x_has(x_add(c, made, n), XF_PRODUCED) && !x_has(x_add(c, h, n), XF_PRODUCED));
    cr_assert(x_has(x_guard(c, at, n), XF_GUARD) && x_has(x_cmp(c, X_LT, at, n), XF_INDEX_TEST));
    cr_assert(!x_has(x_cmp(c, X_LT, load, e), XF_INDEX_TEST));
    cr_assert_eq(x_poison(c)->holds, XF_POISON);
    cr_assert_eq(x_int(c, 3)->holds, 0);
}
Test(expr, uses_leaves_of_a_set) {
    struct map set = {.arena = &c->arena};
    expr e = x_add(c, x_mul(c, V, n), W);
    cr_assert_not(x_uses_any(e, &set));
    map_put(&set, PKEY(h->u.sym), (void *)h);
    cr_assert_not(x_uses_any(e, &set));
    map_put(&set, PKEY(W->u.var), (void *)W);
    cr_assert(x_uses_any(e, &set) && x_uses_var(c, e, W->u.var) && !x_uses_any(x_mul(c, V, n), &set));
}
static bool count_one(void *env, expr e) {
    (void)e;
    return ++*(int *)env, true;
}
static expr to_zero(void *env, expr e) { return e->op == X_VAR ? x_int(env, 0) : NULL; }
Test(expr, walks_leave_out_what_cannot_hold_it) {
    expr e = x_add(c, x_mul(c, V, n), x_divi(c, h, 3));
    int all = 0, some = 0;
    x_visit(e, count_one, &all);
    x_visit_with(e, XF_VAR, count_one, &some);
    cr_assert_eq(some, 3); /* the sum, the product, V */
    cr_assert_gt(all, some);
    cr_assert_eq(x_map_with(c, e, XF_VAR, to_zero, c), x_divi(c, h, 3));
    cr_assert_eq(x_map_with(c, e, XF_LOAD, to_zero, c), e);
}

/* Rows of windows that are not padded, of many inputs at once. */
Test(expr, proofs_without_maxima_end, .timeout = 10) {
    expr zero = x_int(c, 0), least = n, sum = zero;
    for (int k = 0; k < 9; k++) {
        expr size = x_sym(c, sym_new(c, internf(c->names, "S%d", k), 0, 4096, false));
        expr v = x_var(c, var_new(c, "v", x_max(c, x_addi(c, size, -2 - k), zero)));
        least = x_min(c, x_add(c, v, x_muli(c, least, 2)), x_addi(c, x_divi(c, v, 3), k));
        sum = x_add(c, sum, x_sub(c, least, x_max(c, size, v)));
        cr_expect(x_proves_lt(c, v, size));
        cr_expect_not(x_proves_lt(c, x_addi(c, v, 3 + k), size));
    }
    cr_expect_not(x_proves_lt(c, n, sum));
}
/* ---- ranges of values */
static bool ranges(expr e, double lo, double hi) {
    struct x_range r = x_range(e);
    return !r.nan && r.lo == lo && r.hi == hi;
}
Test(expr, values_have_ranges) {
    struct proc *p = proc_new(c, "p");
    expr dims[1] = {x_int(c, 4)}, at[1] = {x_int(c, 1)};
    expr byte = x_load(c, proc_param(c, p, "b", U8, DIR_IN, dims, 1), at, 1, NULL);
    expr number = x_load(c, proc_param(c, p, "x", F32, DIR_IN, dims, 1), at, 1, NULL);
    expr sum = x_load(c, proc_param(c, p, "s", I32, DIR_IN, dims, 1), at, 1, NULL);
    cr_assert(ranges(byte, 0, 255));
    cr_assert(ranges(x_sub(c, byte, x_const_i(c, I32, 128)), -128, 127));
    cr_assert(ranges(x_mul(c, byte, x_const_i(c, I32, -3)), -765, 0));
    cr_assert(ranges(x_add(c, sum, byte), INT32_MIN, INT32_MAX), "it may wrap");
    expr four = x_const_i(c, I32, 4), low = x_const_i(c, I32, 15), high = x_bin(c, X_SHR, byte, four);
    cr_assert(ranges(high, 0, 15) && ranges(x_and(c, sum, low), 0, 15) &&
              ranges(x_bin(c, X_SHR, sum, four), INT32_MIN, INT32_MAX));
    cr_assert(x_and(c, high, low) == high && x_and(c, byte, low) != byte, "a mask of all that there is is none");
    cr_assert(ranges(x_cast(c, I32, number), INT32_MIN, INT32_MAX), "conversions saturate");
    cr_assert(x_range(number).nan);
    expr most = x_const_f(c, F32, 9), least = x_const_f(c, F32, -9);
    cr_assert(ranges(x_min(c, x_max(c, number, least), most), -9, 9));
    cr_assert(x_range(x_max(c, least, number)).nan, "the second operand, if one is no number");
    expr scaled = x_mul(c, x_cast(c, F32, sum), x_const_f(c, F32, 0.25));
    cr_assert(x_within(scaled, -0x1p29 - 256, 0x1p29 + 256) && !x_within(scaled, -1e8, 1e8));
    cr_assert(x_range(x_mul(c, scaled, x_const_f(c, F32, 1e38))).nan, "infinite, perhaps, and then no number");
    cr_assert(x_is_false(x_cmp(c, X_NE, scaled, scaled)));
    cr_assert_eq(x_cmp(c, X_NE, number, number)->op, X_NE);
}
Test(expr, comparisons_follow_from_ranges) {
    struct proc *p = proc_new(c, "p");
    expr dims[1] = {x_int(c, 4)}, at[1] = {x_int(c, 1)};
    expr byte = x_load(c, proc_param(c, p, "b", U8, DIR_IN, dims, 1), at, 1, NULL);
    expr wide = x_load(c, proc_param(c, p, "w", I64, DIR_IN, dims, 1), at, 1, NULL);
    expr natural = x_load(c, proc_param(c, p, "n", U64, DIR_IN, dims, 1), at, 1, NULL);
    expr below = x_const_i(c, I32, -100), most = x_const_i(c, I32, 255), least = x_const_i(c, I32, 0);
    cr_assert(x_is_true(x_cmp(c, X_LT, below, byte)) && x_is_false(x_cmp(c, X_LT, byte, below)));
    cr_assert(x_is_true(x_cmp(c, X_NE, below, byte)) && x_is_false(x_cmp(c, X_EQ, below, byte)));
    cr_assert(x_is_true(x_cmp(c, X_LE, byte, most)) && x_is_false(x_cmp(c, X_LT, most, byte)));
    cr_assert_eq(x_cmp(c, X_LT, byte, most)->op, X_LT, "255 is possible");
    cr_assert_eq(x_cmp(c, X_LE, byte, least)->op, X_LE, "0 is possible");
    cr_assert(x_is_true(x_cmp(c, X_LE, x_const_i(c, U64, 0), natural)), "nothing is below 0");
    cr_assert_eq(x_cmp(c, X_LT, x_const_i(c, U64, -1), natural)->op, X_LT, "too great for the ends of ranges");
    cr_assert_eq(x_cmp(c, X_LT, x_const_i(c, I64, INT64_MAX - 1), wide)->op, X_LT);
    cr_assert_eq(x_cmp(c, X_LT, x_const_i(c, I64, INT64_MIN + 1), wide)->op, X_LT);
}
/* Loops over b x 4 x rows x 32 cells that are one, 16 cells at a time; rows = N - max(0, N - 16), or 16*(N//16) + 16.
 */
static expr odd_rows(bool tiles) {
    expr whole = x_muli(c, x_divi(c, n, 16), 16);
    return tiles ? x_addi(c, whole, 16) : x_sub(c, n, x_max(c, x_int(c, 0), x_addi(c, n, -16)));
}
Test(expr, loops_over_sums_that_are_one_come_apart_and_together) {
    for (int k = 0; k < 2; k++) {
        expr rows = odd_rows(k), plane = x_muli(c, rows, 32), all = x_mul(c, h, x_muli(c, plane, 4));
        expr cells = x_var(c, var_new(c, "cells", x_divi(c, all, 16))), lane = x_var(c, var_new(c, "l", x_int(c, 16))),
             flat = x_add(c, x_muli(c, cells, 16), lane), group = x_mod(c, flat, x_muli(c, plane, 4));
        expr b = x_div(c, flat, x_muli(c, plane, 4)), g = x_div(c, group, plane), rest = x_mod(c, group, plane),
             row = x_divi(c, rest, 32), at = x_modi(c, rest, 32);
        cr_assert_eq(b, x_div(c, cells, x_divi(c, x_muli(c, plane, 4), 16)));
        cr_assert_eq(at, x_add(c, x_muli(c, x_modi(c, cells, 2), 16), lane), "no rest is left of more than 32");
        expr joined = x_add(c, x_mul(c, x_add(c, x_mul(c, x_muli(c, b, 4), rows), x_mul(c, g, rows)), x_int(c, 32)),
                            x_add(c, x_muli(c, row, 32), at));
        cr_assert_eq(joined, flat);
        cr_assert(x_proves_lt(c, b, h));
        cr_assert_not(x_proves_lt(c, x_addi(c, b, 1), h));
        /* half a vector's lanes end before the others, at no whole row of 17 */
        expr odd = x_muli(c, rows, 17), half = x_var(c, var_new(c, "half", x_int(c, 8))),
             some = x_var(c, var_new(c, "some", x_divi(c, x_mul(c, h, odd), 16)));
        cr_assert(x_proves_lt(c, x_div(c, x_add(c, x_muli(c, some, 16), half), odd), h));
    }
}
Test(expr, cells_in_the_rest_of_vectors_are_of_the_last_row) {
    /* what 16 cells at a time leave of h x rows x 17, 8 at a time: at no row below 0, nor behind the last one */
    expr rows = x_addi(c, n, 1), all = x_muli(c, x_mul(c, h, rows), 17), less = x_modi(c, all, 16);
    expr cells = x_var(c, var_new(c, "cells", x_divi(c, less, 8))), lane = x_var(c, var_new(c, "l", x_int(c, 8))),
         flat = x_add(c, x_add(c, x_sub(c, all, less), x_muli(c, cells, 8)), lane),
         row = x_div(c, flat, x_muli(c, rows, 17));
    cr_assert(x_proves_inside(c, row, h));
    cr_assert_not(x_proves_lt(c, x_addi(c, row, 1), h));
    cr_assert(x_proves_le(c, x_modi(c, less, 8), all), "the last cells do not begin below 0");
    cr_assert_not(x_proves_le(c, x_addi(c, x_modi(c, less, 8), 1), all));
}
Test(expr, a_loop_over_one_size_reads_it_as_it_is) {
    expr one = x_cmp(c, X_EQ, n, x_int(c, 1)), other = x_cmp(c, X_EQ, h, x_int(c, 1)), zero = x_int(c, 0);
    cr_assert_eq(x_guard(c, x_select(c, one, zero, V), n), V);
    cr_assert_eq(x_select(c, other, zero, V)->op, X_SELECT);
    cr_assert_eq(x_select(c, one, zero, x_addi(c, V, 1))->op, X_SELECT);
}
