/* Instructions of ARM for products of matrices: I8MM and BF16. Rows say the same thing twice, as those of instr_arm.c;
 * tests/targets/rows holds the two to each other.
 *
 * A vector has 2 x 2 sums, and one instruction adds to each the product of 8 bytes of a row and 8 of a lane, twice what
 * a dot product does. For the loop IR all steps of a product are one instruction, as with AMX (instr_amx.c), since
 * sums do not lie as the vectors of others do: the function sorts them before the steps and behind them. Rows are named
 * as their instructions.
 *
 * bfmmla adds two products of bf16, that to the sum, and the same again for two more, each time rounded to odd, with
 * denormals as zeros; with FEAT_EBF16 a machine may round otherwise. The body sums one after the other. */
#include "lower/target/rows.h"

#define ROW(name_, sum, a, b, side_, bound_, text)                                                                     \
    const struct instr_row nn_##name_ = {.name = #name_,                                                               \
                                         .scope = SCOPE_TILE,                                                          \
                                         .body = text,                                                                 \
                                         .holes = {{"C", sum, {0}}, {"A", a, {0}}, {"B", b, {0}}},                     \
                                         .files = {"templates/instr/matrices.c", "templates/instr/matrix_product.c"},  \
                                         .c = "nn_" #name_ "({&C}, {&A}, {&B}, (struct nn_product){sizes})",           \
                                         .tile = {4, 2, side_, .whole = true},                                         \
                                         .bound = bound_}
#define BODY(sum, a, b, side, update)                                                                                  \
    "proc p(C: " sum "[8,4] inout, A: " a "[8,2,2," #side "] in, B: " b "[2,2,4," #side "] in)\n"                      \
    "  for r<8\n    for t<2\n      for v<4\n        for q<2\n          for k<" #side "\n            " update "\n"
#define BYTES(name, a, b, a_text, b_text)                                                                              \
    ROW(name, I32, a, b, 8, 0, BODY("i32", a_text, b_text, 8, "C[r,v] += A[r,t,q,k] * B[t,q,v,k]"))
BYTES(smmla, I8, I8, "i8", "i8");
BYTES(ummla, U8, U8, "u8", "u8");
BYTES(usmmla, U8, I8, "u8", "i8");
ROW(bfmmla, F32, BF16, BF16, 4, 10, BODY("f32", "bf16", "bf16", 4, "C[r,v] = fma(A[r,t,q,k], B[t,q,v,k], C[r,v])"));
