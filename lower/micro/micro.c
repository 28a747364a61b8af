/* The rows of micro-kernels; see micro.h. */
#include "lower/micro/micro.h"
#include "ir/loop/target.h"

const struct micro micro_multiply_add = {NONE, NONE, NONE, 1, 0, 1, 1, 0, 0, NULL, 0, 0};

/* Dot products of bytes, or of types to which bytes are widened, are named after their instructions. */
#define PARTS(name, a, b, n0, k0, side, row, vector)                                                                   \
    const struct micro micro_##name = {a, b, I32, 1, n0, k0, side, row, vector, #name, 0, 0}
#define DOT(row, a, b, n0, k0) PARTS(row, a, b, n0, k0, k0, 0, 0)
#define DOT_OF_GROUPS(row, a, b, n0, k0, per)                                                                          \
    const struct micro micro_##row = {a, b, I32, 1, n0, k0, k0, 0, 0, #row, per, 0}
DOT(vpdpbusd, U8, I8, 16, 4);
DOT_OF_GROUPS(vpdpbusd_4x4, U8, I8, 16, 4, 4);
DOT_OF_GROUPS(vpdpbusd_2x8, U8, I8, 16, 4, 8);
DOT_OF_GROUPS(vpdpbusd_vex_2x4, U8, I8, 8, 4, 4);
DOT_OF_GROUPS(vpmaddubsw_2x4, U8, I8, 8, 4, 4);
DOT_OF_GROUPS(vpmaddubsw_4x4, U8, I8, 16, 4, 4);
DOT_OF_GROUPS(vpmaddubsw_2x8, U8, I8, 16, 4, 8);
DOT_OF_GROUPS(vpmaddwd_2x4, I16, I16, 8, 2, 4);
DOT(vpdpbusd_x8, U8, I8, 8, 4);
DOT(vpdpbusd_x4, U8, I8, 4, 4);
DOT(vpdpbusd_vex, U8, I8, 8, 4);
DOT(vpdpbusd_vex_x4, U8, I8, 4, 4);
DOT(vpmaddubsw, U8, I8, 8, 4);
DOT(vpmaddubsw_x16, U8, I8, 16, 4);
DOT(vpdpwssd, I16, I16, 16, 2);
DOT(pmaddwd, I16, I16, 4, 2);
DOT(vpmaddwd, I16, I16, 8, 2);
DOT(vpmaddwd_x16, I16, I16, 16, 2);
DOT(sdot, I8, I8, 4, 4);
DOT(udot, U8, U8, 4, 4);
PARTS(sdot_x4, I8, I8, 4, 16, 4, 1, 4);
PARTS(udot_x4, U8, U8, 4, 16, 4, 1, 4);
DOT(usdot, U8, I8, 4, 4);
DOT(sudot, I8, U8, 4, 4);
PARTS(smull_smlal_sadalp, I8, I8, 4, 4, 2, 2, 1);
DOT(smull_sadalp, I8, I8, 4, 2);
DOT(umull_uadalp, U8, U8, 4, 2);
DOT(smlal, I16, I16, 4, 1);
PARTS(smlal_x4, I16, I16, 4, 4, 1, 1, 2);
DOT(smlad_i8i8, I8, I8, 1, 4);
DOT(smlad_u8i8, U8, I8, 1, 4);
DOT(smlad_u8u8, U8, U8, 1, 4);
DOT(smlad_i8u8, I8, U8, 1, 4);
DOT(vmladava_s8, I8, I8, 1, 16);
DOT(vmladava_u8, U8, U8, 1, 16);

/* Signed bytes times unsigned ones, whole or in two fields, for sums of blocks. */
#define WHOLE(name, n0, side, row, vector) PARTS(name, I8, U8, n0, 4, side, row, vector)
#define FIELDS(name, n0, row, vector)                                                                                  \
    const struct micro micro_##name = {I8, U8, I32, 1, n0, 4, 4, row, vector, #name, 0, 2}
WHOLE(pmaddwd_s8u8, 4, 4, 3, 2);
WHOLE(vpmaddwd_s8u8, 8, 4, 3, 2);
WHOLE(vpmaddwd_s8u8_x16, 16, 4, 3, 2);
WHOLE(vpdpbusd_vex_s8u8, 8, 4, 0, 0);
WHOLE(vpdpbusd_s8u8, 16, 4, 0, 0);
WHOLE(smlal_s8u8, 4, 1, 1, 2);
WHOLE(sdot_s8u8, 4, 4, 2, 1);
FIELDS(pmaddwd_s8u4, 4, 6, 5);
FIELDS(vpmaddubsw_s8u4, 8, 0, 1);
FIELDS(vpmaddubsw_s8u4_x16, 16, 0, 1);
FIELDS(vpdpbusd_vex_s8u4, 8, 0, 1);
FIELDS(vpdpbusd_s8u4, 16, 0, 1);
FIELDS(smull_s8u4, 4, 0, 1);
FIELDS(sdot_s8u4, 4, 0, 1);
FIELDS(smlad_s8u4, 1, 0, 0);

/* Products of bf16 pairs. */
#define BF16_PAIRS(row, lanes) const struct micro micro_##row = {BF16, BF16, F32, 1, lanes, 2, 2, 0, 0, #row, 0, 0}
BF16_PAIRS(vdpbf16ps, 16);
BF16_PAIRS(vdpbf16ps_x8, 8);
BF16_PAIRS(vdpbf16ps_x4, 4);

/* Tile products: 64 bytes of the sum at a time, or half as many in the same time. */
#define TILE(row, a, b, sum, k0, side)                                                                                 \
    const struct micro micro_##row##_##k0 = {a, b, sum, 16, 16, k0, side, 0, 0, #row, 0, 0}
#define BYTE_TILES(row, a, b)                                                                                          \
    TILE(row, a, b, I32, 64, 4);                                                                                       \
    TILE(row, a, b, I32, 32, 4)
BYTE_TILES(tile_dpbusd, U8, I8);
BYTE_TILES(tile_dpbssd, I8, I8);
BYTE_TILES(tile_dpbuud, U8, U8);
BYTE_TILES(tile_dpbsud, I8, U8);
TILE(tile_dpbf16ps, BF16, BF16, F32, 32, 2);
TILE(tile_dpbf16ps, BF16, BF16, F32, 16, 2);

/* 2 x 2 sums per vector; 8 rows of two vectors fill the registers. */
#define MATRICES(row, a, b, sum, side)                                                                                 \
    const struct micro micro_##row = {a, b, sum, 8, 4, 2 * side, side, 0, 0, #row, 0, 0}
MATRICES(smmla, I8, I8, I32, 8);
MATRICES(ummla, U8, U8, I32, 8);
MATRICES(usmmla, U8, I8, I32, 8);
MATRICES(bfmmla, BF16, BF16, F32, 4);

/* Warp instructions, again named after the instructions. */
const struct micro micro_mma_m16n8k8_f16 = {F16, F16, F32, 16, 8, 8, 8, 0, 0, "mma_m16n8k8_f16", 0, 0};
const struct micro micro_mma_m16n8k16_f16 = {F16, F16, F32, 16, 8, 16, 16, 0, 0, "mma_m16n8k16_f16", 0, 0};
const struct micro micro_mma_m16n8k16_bf16 = {BF16, BF16, F32, 16, 8, 16, 16, 0, 0, "mma_m16n8k16_bf16", 0, 0};

struct panels micro_panels(const struct micro *m, bool open, int along, int summed) {
    return (struct panels){open ? 1 : m->n0, m->side, along, summed};
}
bool micro_within(const struct micro *micro, int64_t *lo, int64_t *hi) {
    const struct instr_row *row = micro->instr ? instr_by_name(micro->instr) : NULL;
    if (!row || !row->within.hole) return false;
    *lo = row->within.lo, *hi = row->within.hi;
    return true;
}
