/* Instructions of x86 for products of matrices: AMX. Rows say the same thing twice, as those of instr_x86.c;
 * tests/targets/rows holds the two to each other.
 *
 * A tile is a register of 16 rows of 64 bytes. One has sums, [row, lane]; one rows of A, 64 bytes of the sum's steps
 * each; one a vector of B, in which the steps of a lane lie side by side as far as 4 bytes go: [16, lane, 4 bytes]. A
 * product takes as long for few rows as for 16, and loads hide behind it. Tiles are configured for their rows, which
 * takes as long as several products, so that is kept from one to the next. Rows are named as the compilers' functions
 * for the instruction.
 *
 * Products of bf16 are exact in f32. A tile's even steps are summed, and its odd ones, each with one rounding, then
 * both together with what there was; the body sums one after the other. So a result differs by no more than both may be
 * off, 32 + 16 + 2 half units of each step of 32. Denormals count as zeros. */
#include "lower/target/rows.h"

#define BODY(sum, a, b, side, update)                                                                                  \
    "proc p(C: " sum "[16,16] inout, A: " a "[16,2,16," #side "] in, B: " b "[2,16,16," #side "] in)\n"                \
    "  for r<16\n    for t<2\n      for v<16\n        for q<16\n          for k<" #side "\n            " update "\n"
#define ROW(name_, sum, a, b, side_, bound_, text)                                                                     \
    const struct instr_row nn_##name_ = {.name = #name_,                                                               \
                                         .scope = SCOPE_TILE,                                                          \
                                         .body = text,                                                                 \
                                         .holes = {{"C", sum, {0}}, {"A", a, {0}}, {"B", b, {0}}},                     \
                                         .files = {"templates/instr/tiles.c", "templates/instr/tile_product.c"},       \
                                         .c = "nn_" #name_ "(&nn_held, {&C}, {&A}, {&B}, (struct nn_product){sizes})", \
                                         .begin = "struct nn_tiles nn_held = {0}",                                     \
                                         .end = "nn_tiles_release(&nn_held)",                                          \
                                         .tile = {16, 16, side_},                                                      \
                                         .bound = bound_}
#define BYTES(name, a, b, a_text, b_text)                                                                              \
    ROW(name, I32, a, b, 4, 0, BODY("i32", a_text, b_text, 4, "C[r,v] += A[r,t,q,k] * B[t,q,v,k]"))
BYTES(tile_dpbusd, U8, I8, "u8", "i8");
BYTES(tile_dpbssd, I8, I8, "i8", "i8");
BYTES(tile_dpbuud, U8, U8, "u8", "u8");
BYTES(tile_dpbsud, I8, U8, "i8", "u8");
ROW(tile_dpbf16ps, F32, BF16, BF16, 2, 25,
    BODY("f32", "bf16", "bf16", 2, "C[r,v] = fma(A[r,t,q,k], B[t,q,v,k], C[r,v])"));
