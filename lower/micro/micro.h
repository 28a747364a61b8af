/* Micro-kernels: the innermost part of a contraction, with the sum in registers. A row says which types it multiplies
 * and how many cells and steps of the sum it takes at a time, which also determines the layout of its operands; the
 * strategies for contractions follow it. Machines list the rows that they have, with their speed
 * (lower/machine/machine.h).
 *
 *     sum[m0, n0] += a[m0, k0] * b[n0, k0]
 *
 * a: k0 cells of the sum, contiguous in memory, the same for all n0 lanes. b: a constant, packed so that the k0 cells
 * of a lane are contiguous, and the lanes follow each other; or so that only `side` of them are contiguous, for all n0
 * lanes, followed by the next `side` of each lane. */
#ifndef NN_LOWER_MICRO_H
#define NN_LOWER_MICRO_H
#include "ir/base/dtype.h"
#include <stdint.h>

struct micro {
    enum dtype a, b, sum; /* NONE: any type that is loaded as the sum's type */
    int m0, n0, k0;       /* n0 0: a vector of the sum's type; without vectors one cell */
    int side;             /* a divisor of k0 */
    /* How many instructions besides the products are needed to prepare operands, for a row of a tile and for a vector
     * of b; they keep as many registers in use. 0: only a load. */
    int row, vector;
    const char *instr; /* name of the instruction's row (lower/target/); NULL: the loop IR's own operations */
    int per; /* lanes that share k0 cells of a; the cells for the next lanes follow directly; 0: all lanes share them */
    int fields; /* of each byte of b, each with k0 cells of a of its own, which follow directly; 0: b has whole cells */
};
/* How a factor that is computed at run time is packed for those who multiply it as b: its dim `along` in panels of
 * `lanes` lanes, and in each lane `group` cells of its dim `summed` side by side. lanes 0: not packed; 1: a single
 * panel, for any number of lanes. */
struct panels {
    int lanes, group, along, summed;
};
/* The packing that m takes; open: the number of lanes is unknown. */
struct panels micro_panels(const struct micro *m, bool open, int along, int summed);
/* Sums are in tile registers of m0 rows, and go through memory to the epilogue. */
static inline bool micro_has_tiles(const struct micro *micro) { return micro->m0 > 1; }
/* Range to which b's values must be limited for the instruction to be correct; false: only its type limits them. */
bool micro_within(const struct micro *micro, int64_t *lo, int64_t *hi);
/* The one for every machine: adds a product in all lanes. */
extern const struct micro micro_multiply_add;
extern const struct micro micro_vpdpbusd, micro_vpdpbusd_4x4, micro_vpdpbusd_2x8, micro_vpdpbusd_vex_2x4,
    micro_vpmaddubsw_2x4, micro_vpmaddubsw_4x4, micro_vpmaddubsw_2x8, micro_vpmaddwd_2x4, micro_vpdpbusd_x8,
    micro_vpdpbusd_x4, micro_vpdpbusd_vex, micro_vpdpbusd_vex_x4, micro_vpdpwssd, micro_pmaddwd, micro_vpmaddwd,
    micro_vpmaddwd_x16, micro_vpmaddubsw, micro_vpmaddubsw_x16, micro_vdpbf16ps, micro_vdpbf16ps_x8, micro_vdpbf16ps_x4;
extern const struct micro micro_tile_dpbusd_64, micro_tile_dpbssd_64, micro_tile_dpbuud_64, micro_tile_dpbsud_64,
    micro_tile_dpbusd_32, micro_tile_dpbssd_32, micro_tile_dpbuud_32, micro_tile_dpbsud_32, micro_tile_dpbf16ps_32,
    micro_tile_dpbf16ps_16;
extern const struct micro micro_smmla, micro_ummla, micro_usmmla, micro_bfmmla, micro_usdot, micro_sudot, micro_sdot_x4,
    micro_udot_x4;
extern const struct micro micro_sdot, micro_udot, micro_smull_smlal_sadalp, micro_smull_sadalp, micro_umull_uadalp,
    micro_smlal, micro_smlal_x4;
extern const struct micro micro_smlad_i8i8, micro_smlad_u8i8, micro_smlad_u8u8, micro_smlad_i8u8, micro_vmladava_s8,
    micro_vmladava_u8;
/* For sums of blocks (lower/schedule/block_sums.c). */
extern const struct micro micro_pmaddwd_s8u8, micro_vpmaddwd_s8u8, micro_vpmaddwd_s8u8_x16, micro_vpdpbusd_vex_s8u8,
    micro_vpdpbusd_s8u8, micro_smlal_s8u8, micro_sdot_s8u8;
extern const struct micro micro_pmaddwd_s8u4, micro_vpmaddubsw_s8u4, micro_vpmaddubsw_s8u4_x16, micro_vpdpbusd_vex_s8u4,
    micro_vpdpbusd_s8u4, micro_smull_s8u4, micro_sdot_s8u4, micro_smlad_s8u4;
extern const struct micro micro_mma_m16n8k8_f16, micro_mma_m16n8k16_f16, micro_mma_m16n8k16_bf16;
#endif
