/* Instructions of ARM for products of matrices: I8MM. Rows say the same thing twice, as those of instr_arm.c;
 * tests/targets/rows holds the two to each other.
 *
 * A vector has 2 x 2 sums, and one instruction adds to each the product of 8 bytes of a row and 8 of a lane, twice what
 * a dot product does. For the loop IR all steps of a product are one instruction, as with AMX (instr_amx.c), since
 * sums do not lie as the vectors of others do: the function sorts them before the steps and behind them. Rows are named
 * as their instructions. */
#include "lower/target/rows.h"

#define ROW(name_, a, b, a_text, b_text)                                                                               \
    const struct instr_row nn_##name_ = {                                                                              \
        .name = #name_,                                                                                                \
        .scope = SCOPE_TILE,                                                                                           \
        .body = "proc p(C: i32[8,4] inout, A: " a_text "[8,2,2,8] in, B: " b_text "[2,2,4,8] in)\n"                    \
                "  for r<8\n    for t<2\n      for v<4\n        for q<2\n          for k<8\n"                          \
                "            C[r,v] += A[r,t,q,k] * B[t,q,v,k]\n",                                                     \
        .holes = {{"C", I32, {0}}, {"A", a, {0}}, {"B", b, {0}}},                                                      \
        .files = {"templates/instr/matrices.c", "templates/instr/matrix_product.c"},                                   \
        .c = "nn_" #name_ "({&C}, {&A}, {&B}, (struct nn_product){sizes})",                                            \
        .tile = {4, 2, 8, .whole = true}}
ROW(smmla, I8, I8, "i8", "i8");
ROW(ummla, U8, U8, "u8", "u8");
ROW(usmmla, U8, I8, "u8", "i8");
