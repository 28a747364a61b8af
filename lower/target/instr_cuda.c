/* Instructions of NVIDIA's tensor cores: products of small matrices by the threads of a warp, mma.sync. Rows say the
 * same thing twice, as those of instr_x86.c; tests/targets/rows holds the two to each other in the emulator.
 *
 * Operands are fragments: registers of the 32 threads, of which each has a few cells. The bodies say which cell of the
 * matrices lies where, as the manual of PTX does: with k the step of the sum, and a register of 4 bytes holding P cells
 * that are neighbours along k,
 *
 *     C[row,col]  thread row%8*4 + col//2      cell row//8*2 + col%2
 *     A[row,k]    thread row%8*4 + k//P%4      cell (k//(P*4)*2 + row//8)*P + k%P
 *     B[k,col]    thread col*4 + k//P%4        cell k//(P*4)*P + k%P
 *
 * The loops are those of C: thread `lane`, row m*8 + lane//4, column lane%4*2 + n. In which order machines sum, and how
 * they round, is open. Measured ones truncate what each term loses to the greatest of a few, so that a unit of the
 * greatest for each term, the sum so far, and for the rounding of the sum, bounds it (N. Higham et al., Numerical
 * behavior of NVIDIA tensor cores, 2021). */
#include "lower/target/rows.h"

/* cells: per thread, in A and in B */
#define BODY(type, k0, a, b)                                                                                           \
    "proc p(C: f32[32,4] inout, A: " type "[32," #a "] in, B: " type "[32," #b "] in)\n"                               \
    "  for lane<32 gpu.thread.x\n    for m<2\n      for n<2\n        for k<" #k0 "\n"                                  \
    "          C[lane,m*2+n] = fma(A[lane//4*4+k//2%4,(k//8*2+m)*2+k%2], B[(lane%4*2+n)*4+k//2%4,k//8*2+k%2], "        \
    "C[lane,m*2+n])\n"
#define ROW(name_, kind, storage, k0, a, b, registers)                                                                 \
    static const struct instr_row name_ = {.name = #name_,                                                             \
                                           .scope = SCOPE_WARP,                                                        \
                                           .body = BODY(kind, k0, a, b),                                               \
                                           .holes = {{"C", F32, {0}}, {"A", storage, {0}}, {"B", storage, {0}}},       \
                                           .helper = "static __device__ inline void nn_" #name_                        \
                                                     "(float *c, const uint16_t *a, const uint16_t *b) {\n"            \
                                                     "#if defined NN_CUDA_EMU\n"                                       \
                                                     "    cuemu::mma_" kind "<" #k0 ">(c, a, b);\n"                    \
                                                     "#else\n" registers "#endif\n}\n",                                \
                                           .c = "nn_" #name_ "({&C}, {&A}, {&B})",                                     \
                                           .bound = k0 + 2}
/* Two cells form a register; sums are registers themselves. */
#define PAIR(v, i) #v "[" #i "] | (uint32_t)" #v "[" #i " + 1] << 16"
#define SUMS       "\"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3])"
#define IN(v, i)   "\"r\"(" PAIR(v, i) ")"
#define K8(kind)                                                                                                       \
    "    asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32." kind "." kind ".f32 \"\n"                               \
    "                 \"{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};\"\n"                                       \
    "                 : " SUMS "\n"                                                                                    \
    "                 : " IN(a, 0) ", " IN(a, 2) ", " IN(b, 0) ");\n"
#define K16(kind)                                                                                                      \
    "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32." kind "." kind ".f32 \"\n"                              \
    "                 \"{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"                           \
    "                 : " SUMS "\n"                                                                                    \
    "                 : " IN(a, 0) ", " IN(a, 2) ", " IN(a, 4) ", " IN(a, 6) ", " IN(b, 0) ", " IN(b, 2) ");\n"

ROW(mma_m16n8k8_f16, "f16", F16, 8, 4, 2, K8("f16"));
ROW(mma_m16n8k16_f16, "f16", F16, 16, 8, 4, K16("f16"));
ROW(mma_m16n8k16_bf16, "bf16", BF16, 16, 8, 4, K16("bf16"));

const struct instr_row *const nn_instrs_sm75[] = {&mma_m16n8k8_f16, NULL};
const struct instr_row *const nn_instrs_sm80[] = {&mma_m16n8k16_f16, &mma_m16n8k16_bf16, &mma_m16n8k8_f16, NULL};
