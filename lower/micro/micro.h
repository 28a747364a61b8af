/* Micro-kernels: what a contraction does innermost, with the sum in registers. A row says which types it multiplies,
 * how many cells and steps of the sum it takes at a time, and by that how its operands lie; the strategies for
 * contractions go by it. Machines list the rows that they have, with their speed (lower/machine/machine.h).
 *
 *     sum[m0, n0] += a[m0, k0] * b[n0, k0]
 *
 * a: k0 cells of the sum side by side in memory, the same for all n0 lanes. b: a constant, packed so that the k0 cells
 * of a lane lie side by side, and the lanes one after the other; or only `side` of them, of all n0 lanes, behind which
 * the next so many of each lane follow. */
#ifndef NN_LOWER_MICRO_H
#define NN_LOWER_MICRO_H
#include "ir/base/dtype.h"
#include <stdint.h>

struct micro {
    enum dtype a, b, sum; /* NONE: any that loads give as the sum's type */
    int m0, n0, k0;       /* n0 0: a vector of the sum's type, one cell without vectors */
    int side;             /* a divisor of k0 */
    /* What the instruction does to its operands, for a row of a tile and for a vector of b: so many instructions
     * besides the products, which leave as many registers of a row in use. 0: their loads are all. */
    int row, vector;
    const char *instr; /* the instruction's row (lower/target/); NULL: the loop IR's own operations */
    int per; /* lanes that read the same k0 cells of a; those of the next ones lie as far on; 0: all of them */
};
/* How a factor lies that the run computes, for those who multiply it as b: its dim `along` in panels of so many lanes,
 * and in each lane `group` cells of its dim `summed` side by side. lanes 0: it is not packed; 1: there is one panel,
 * for any number of lanes. */
struct panels {
    int lanes, group, along, summed;
};
/* How m takes it; open: the lanes are of an open number. */
struct panels micro_panels(const struct micro *m, bool open, int along, int summed);
/* The sums are in registers of m0 rows, and go through memory to what follows. */
static inline bool micro_has_tiles(const struct micro *micro) { return micro->m0 > 1; }
/* What b's values must lie within besides, for the instruction to be right; false: no more than its type. */
bool micro_within(const struct micro *micro, int64_t *lo, int64_t *hi);
/* The one that every machine has: a product is added, in all lanes. */
extern const struct micro micro_multiply_add;
extern const struct micro micro_vpdpbusd, micro_vpdpbusd_4x4, micro_vpdpbusd_2x8, micro_vpdpbusd_vex_2x4,
    micro_vpmaddubsw_2x4, micro_vpmaddubsw_4x4, micro_vpmaddubsw_2x8, micro_vpmaddwd_2x4, micro_vpdpbusd_x8,
    micro_vpdpbusd_x4, micro_vpdpbusd_vex, micro_vpdpbusd_vex_x4, micro_vpdpwssd, micro_pmaddwd, micro_vpmaddwd,
    micro_vpmaddwd_x16, micro_vpmaddubsw, micro_vpmaddubsw_x16, micro_vdpbf16ps, micro_vdpbf16ps_x8, micro_vdpbf16ps_x4;
extern const struct micro micro_tile_dpbusd_64, micro_tile_dpbssd_64, micro_tile_dpbuud_64, micro_tile_dpbsud_64,
    micro_tile_dpbusd_32, micro_tile_dpbssd_32, micro_tile_dpbuud_32, micro_tile_dpbsud_32, micro_tile_dpbf16ps_32,
    micro_tile_dpbf16ps_16;
extern const struct micro micro_smmla, micro_ummla, micro_usmmla, micro_bfmmla, micro_usdot, micro_sudot;
extern const struct micro micro_sdot, micro_udot, micro_smull_smlal_sadalp, micro_smull_sadalp, micro_umull_uadalp,
    micro_smlal, micro_smlal_x4;
extern const struct micro micro_smlad_i8i8, micro_smlad_u8i8, micro_smlad_u8u8, micro_smlad_i8u8, micro_vmladava_s8,
    micro_vmladava_u8;
extern const struct micro micro_mma_m16n8k8_f16, micro_mma_m16n8k16_f16, micro_mma_m16n8k16_bf16;
#endif
