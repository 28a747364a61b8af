/* CPUs; see machine.h. Latencies and rates are those of current cores of each kind. The cost of a byte was fitted to
 * convolutions of ResNet on Zen 3, each within 4 %; for other CPUs it is assumed until someone measures it. */
#include "lower/machine/machine.h"

#define END                                                                                                            \
    { X_POISON, NONE, 0, 0 }
/* X_TOIDX stands for looking up a vector of table cells: a gather, or a load per lane; without vectors: what is lost
 * because compilers vectorise only loops without look-ups. Any division counts as X_DIV. The product of i32 and its
 * addition are two instructions, of which the first is slow. Conversions from 16 bits take one instruction for halves,
 * two for other types, or a dozen; those from bytes two or more, via i32. */
static const struct operation fused[] = {{X_FMA, F32, 4, 2},
                                         {X_FMA, F64, 4, 2},
                                         {X_ADD, I32, 10, 0.5},
                                         {X_ADD, F32, 4, 2},
                                         {X_LOAD, F32, 4, 2},
                                         {X_CAST, F16, 8, 1},
                                         {X_CAST, BF16, 4, 1},
                                         {X_CAST, I8, 8, 1},
                                         {X_DIV, F32, 11, 0.2},
                                         {X_TOIDX, I32, 20, 0.1},
                                         END};
/* Vectors of 512 bits take two passes through 256-bit units: Zen 4, as `calibrate` measured it. Zen 5 has full
 * units. */
static const struct operation halved[] = {{X_FMA, F32, 4, 1},
                                          {X_FMA, F64, 4, 1},
                                          {X_ADD, I32, 10, 0.5},
                                          {X_ADD, F32, 3, 1},
                                          {X_LOAD, F32, 4, 1},
                                          {X_CAST, F16, 8, 0.5},
                                          {X_CAST, BF16, 4, 0.5},
                                          {X_CAST, I8, 8, 0.5},
                                          {X_DIV, F32, 11, 0.17},
                                          {X_TOIDX, I32, 20, 0.1},
                                          END};
/* No clamping of floats: the instructions differ for NaN. */
static const struct operation neon[] = {{X_FMA, F32, 4, 2},     {X_FMA, F64, 4, 2},      {X_ADD, I32, 10, 0.5},
                                        {X_ADD, F32, 4, 2},     {X_MIN, I32, 2, 2},      {X_LOAD, F32, 4, 2},
                                        {X_CAST, F16, 8, 1},    {X_CAST, BF16, 4, 1},    {X_CAST, I8, 8, 0.5},
                                        {X_DIV, F32, 12, 0.15}, {X_TOIDX, I32, 8, 0.25}, END};
static const struct operation separate[] = {{X_ADD, I32, 10, 0.5},  {X_ADD, F32, 4, 2},      {X_LOAD, F32, 4, 2},
                                            {X_CAST, F16, 12, 0.2}, {X_CAST, BF16, 4, 1},    {X_CAST, I8, 8, 0.4},
                                            {X_DIV, F32, 12, 0.25}, {X_TOIDX, I32, 10, 0.2}, END};
/* Two 64-bit units, so one 128-bit vector at a time; loading one takes two cycles. Latencies and rates are those of
 * LLVM's scheduling model of the core; conversions as in `fused`, at half the rate. Nothing was measured. */
static const struct operation a55[] = {{X_FMA, F32, 4, 1},    {X_FMA, F64, 4, 1},      {X_ADD, I32, 4, 1},
                                       {X_ADD, F32, 4, 1},    {X_MIN, I32, 2, 1},      {X_LOAD, F32, 4, 0.5},
                                       {X_CAST, F16, 8, 0.5}, {X_CAST, BF16, 4, 0.5},  {X_CAST, I8, 8, 0.25},
                                       {X_DIV, F32, 13, 0.1}, {X_TOIDX, I32, 10, 0.1}, END};
static const struct operation scalars[] = {{X_ADD, I32, 4, 1},     {X_ADD, F32, 4, 2},      {X_LOAD, F32, 4, 2},
                                           {X_CAST, F16, 12, 0.2}, {X_CAST, BF16, 4, 1},    {X_CAST, I8, 6, 1},
                                           {X_DIV, F32, 11, 0.25}, {X_TOIDX, I32, 5, 0.25}, END};
static const struct operation fused_scalars[] = {{X_FMA, F32, 4, 2},
                                                 {X_FMA, F64, 4, 2},
                                                 {X_ADD, I32, 4, 1},
                                                 {X_ADD, F32, 4, 2},
                                                 {X_LOAD, F32, 4, 2},
                                                 {X_CAST, F16, 12, 0.2},
                                                 {X_CAST, BF16, 4, 1},
                                                 {X_CAST, I8, 6, 1},
                                                 {X_DIV, F32, 12, 0.2},
                                                 {X_TOIDX, I32, 5, 0.25},
                                                 END};
static const struct operation cortex_m[] = {
    {X_FMA, F32, 3, 1 / 3.0},   {X_ADD, I32, 1, 1},
    {X_ADD, F32, 1, 1},         {X_MIN, I32, 1, 1}, /* together with the maximum: ssat, usat */
    {X_LOAD, F32, 2, 0.5},      {X_DIV, F32, 14, 1 / 14.0},
    {X_TOIDX, I32, 3, 1 / 3.0}, END};

/* Cortex-M keeps floats in separate registers. Of 13 integer registers, a tile of 2 x 2 takes 4 and its operands the
 * rest. Dot products of bytes: where products are widened first, each counts as a few instructions. */
#define NO_MORE                                                                                                        \
    { NULL, 0, 0 }
#define SMLAD                                                                                                          \
    {&micro_smlad_i8i8, 2, 1 / 6.0}, {&micro_smlad_u8i8, 2, 1 / 6.0}, {&micro_smlad_u8u8, 2, 1 / 6.0}, {               \
        &micro_smlad_i8u8, 2, 1 / 6.0                                                                                  \
    }
#define MULL                                                                                                           \
    {&micro_smull_sadalp, 4, 0.7}, {&micro_umull_uadalp, 4, 0.7}, {&micro_smlal_x4, 8, 0.45}, { &micro_smlal, 4, 1 }
/* The shorter vectors are for groups of fewer channels. */
#define PAIRS_256                                                                                                      \
    {&micro_vpmaddwd, 6, 1.5}, { &micro_pmaddwd, 6, 1.5 }
#define PAIRS_256_OF_GROUPS                                                                                            \
    {&micro_vpmaddwd, 6, 1.5}, {&micro_vpmaddwd_2x4, 6, 1.5}, { &micro_pmaddwd, 6, 1.5 }
#define VNNI(starts)                                                                                                   \
    {&micro_vpdpbusd, 5, starts}, {&micro_vpdpbusd_4x4, 5, starts}, {&micro_vpdpbusd_2x8, 5, starts},                  \
        {&micro_vpdpbusd_x8, 5, 2}, {&micro_vpdpbusd_x4, 5, 2}, {                                                      \
        &micro_vpdpwssd, 5, starts                                                                                     \
    }
#define TILES(row, all, half)                                                                                          \
    {&micro_##row##_##all, 52, 1}, { &micro_##row##_##half, 52, 1 }
static const struct micro_speed
    sse2_dots[] = {{&micro_pmaddwd, 6, 1.5}, NO_MORE},
    avx2_dots[] = {{&micro_vpmaddubsw, 6, 0.95}, {&micro_vpmaddubsw_2x4, 6, 0.95}, PAIRS_256_OF_GROUPS, NO_MORE},
    avxvnni_dots[] = {{&micro_vpdpbusd_vex, 5, 2},
                      {&micro_vpdpbusd_vex_2x4, 5, 2},
                      {&micro_vpdpbusd_vex_x4, 5, 2},
                      PAIRS_256_OF_GROUPS,
                      NO_MORE},
    avx512_dots[] = {{&micro_vpmaddubsw_x16, 6, 2 / 3.0},
                     {&micro_vpmaddubsw_4x4, 6, 2 / 3.0},
                     {&micro_vpmaddubsw_2x8, 6, 2 / 3.0},
                     {&micro_vpmaddubsw, 6, 2 / 3.0},
                     {&micro_vpmaddwd_x16, 6, 1},
                     PAIRS_256,
                     NO_MORE},
    avx512vnni_dots[] = {VNNI(2), NO_MORE},
    /* start as often as f32 multiply-adds, on Zen 4 and 5 */
    avx512bf16_dots[] = {{&micro_vdpbf16ps, 6, 1},
                         {&micro_vdpbf16ps_x8, 6, 1},
                         {&micro_vdpbf16ps_x4, 6, 1},
                         VNNI(1),
                         NO_MORE},
    /* a tile in 16 cycles, so one of its rows per cycle */
    amx_dots[] = {TILES(tile_dpbusd, 64, 32),
                  TILES(tile_dpbssd, 64, 32),
                  TILES(tile_dpbuud, 64, 32),
                  TILES(tile_dpbsud, 64, 32),
                  TILES(tile_dpbf16ps, 32, 16),
                  VNNI(2),
                  NO_MORE},
    neon_dots[] = {{&micro_smull_smlal_sadalp, 4, 0.6}, MULL, NO_MORE},
    dotprod_dots[] =
        {{&micro_sdot_x4, 12, 0.5}, {&micro_udot_x4, 12, 0.5}, {&micro_sdot, 3, 2}, {&micro_udot, 3, 2}, MULL, NO_MORE},
    /* two instructions each */
    i8mm_dots[] = {{&micro_smmla, 6, 1},
                   {&micro_ummla, 6, 1},
                   {&micro_usmmla, 6, 1},
                   {&micro_bfmmla, 8, 1},
                   {&micro_usdot, 3, 2},
                   {&micro_sudot, 3, 2},
                   {&micro_sdot, 3, 2},
                   {&micro_udot, 3, 2},
                   MULL,
                   NO_MORE},
    a55_dots[] = {{&micro_sdot_x4, 16, 0.25},  {&micro_udot_x4, 16, 0.25},     {&micro_sdot, 4, 1},
                  {&micro_udot, 4, 1},         {&micro_smull_sadalp, 4, 0.35}, {&micro_umull_uadalp, 4, 0.35},
                  {&micro_smlal_x4, 16, 0.25}, {&micro_smlal, 4, 1},           NO_MORE},
    dsp_dots[] = {SMLAD, NO_MORE},
    mve_dots[] = {{&micro_vmladava_s8, 2, 0.5}, {&micro_vmladava_u8, 2, 0.5}, SMLAD, NO_MORE};

/* Signed bytes times unsigned ones, whole or in two fields: twice the products of a step. */
#define BLOCKS(u8, u8_latency, u8_starts, u4, u4_latency, u4_starts)                                                   \
    { {&micro_##u8, u8_latency, u8_starts}, {&micro_##u4, u4_latency, u4_starts}, NO_MORE }
/* Besides, signed bytes where they take less time. */
#define SIGNED_BLOCKS(s8, s8_latency, s8_starts, u8, u8_latency, u8_starts, u4, u4_latency, u4_starts)                 \
    {                                                                                                                  \
        {&micro_##s8, s8_latency, s8_starts}, {&micro_##u8, u8_latency, u8_starts},                                    \
            {&micro_##u4, u4_latency, u4_starts}, NO_MORE                                                              \
    }
static const struct micro_speed sse2_blocks[] = BLOCKS(pmaddwd_s8u8, 7, 0.75, pmaddwd_s8u4, 9, 0.35),
                                avx2_blocks[] = BLOCKS(vpmaddwd_s8u8, 7, 0.75, vpmaddubsw_s8u4, 7, 0.6),
                                avxvnni_blocks[] = BLOCKS(vpdpbusd_vex_s8u8, 5, 2, vpdpbusd_vex_s8u4, 10, 1),
                                avx512_blocks[] = BLOCKS(vpmaddwd_s8u8_x16, 7, 0.5, vpmaddubsw_s8u4_x16, 7, 0.4),
                                avx512vnni_blocks[] = BLOCKS(vpdpbusd_s8u8, 5, 2, vpdpbusd_s8u4, 10, 1),
                                avx512bf16_blocks[] = BLOCKS(vpdpbusd_s8u8, 5, 1, vpdpbusd_s8u4, 10, 0.5),
                                neon_blocks[] =
                                    SIGNED_BLOCKS(smull_smlal_sadalp, 4, 0.6, smlal_s8u8, 16, 0.45, smull_s8u4, 8, 0.3),
                                dotprod_blocks[] = SIGNED_BLOCKS(sdot, 3, 2, sdot_s8u8, 5, 1, sdot_s8u4, 6, 1),
                                i8mm_blocks[] = BLOCKS(sudot, 3, 2, sdot_s8u4, 6, 1),
                                a55_blocks[] = SIGNED_BLOCKS(sdot, 4, 1, sdot_s8u8, 6, 1 / 2.0, sdot_s8u4, 8, 0.5),
                                dsp_blocks[] = BLOCKS(smlad_i8u8, 2, 0.5, smlad_s8u4, 4, 0.2);

/* What all CPUs share (memory_byte: weights arrive at 14 GB/s if a core runs at 3.5 GHz, as measured on a Sapphire
 * Rapids; alone: products of BERT and ViT on Zen 3, 5 to 10); and cache sizes. */
#define CPU                                                                                                            \
    .memory_byte = 1 / 4.0, .streams = 16, .line = 64, .alone = 8, .panel_vectors = 8, .stack_cells = 4096,            \
    .row_cells = 1 << 16
/* Waiting threads look for work for a moment before they sleep (runtime_stub/nn_pool.c). */
#define THREADS               .fork = 10000, .division = 20
#define CACHES(first, second) .l1 = {first, 1 / 96.0, 4}, .l2 = {second, 1 / 24.0, 8}, .partial_sum_byte = 1 / 64.0
#define X86_CACHES(second, sum)                                                                                        \
    .l1 = {32 << 10, 1 / 96.0, 8}, .l2 = {second, 1 / 24.0, 8}, .last_bytes = 16 << 20, .partial_sum_byte = 1 / (sum), \
    .follows = 1792
/* Without vectors the body of a loop is one tile; small machines must save code. */
#define SCALAR(registers, most) .scalar = {registers, 32}, .body = most
/* With vectors the body is several steps of a tile, to hide the loop overhead, even if a sibling hyper-thread is
 * busy. */
#define SQUARES_128                                                                                                    \
    {2, 8, "transpose8_u16", 0}, { 4, 4, "transpose4_u32", 0 }
#define SQUARES_256                                                                                                    \
    {1, 8, "transpose8_u8", 0}, {4, 8, "transpose8_u32", 0}, { 8, 4, "transpose4_u64", 0 }
#define PLANES(bytes, n, planes, instr)                                                                                \
    { bytes, n, instr, planes }
#define PLANES_128 PLANES(1, 16, 4, "planes4_u8"), PLANES(1, 16, 8, "planes8_u8"), PLANES(2, 8, 4, "planes4_u16")
#define PLANES_256                                                                                                     \
    PLANES(1, 32, 4, "planes4_u8_x32"), PLANES(1, 32, 8, "planes8_u8_x32"), PLANES(2, 16, 4, "planes4_u16_x16"),       \
        PLANES_128
#define PLANES_512                                                                                                     \
    PLANES(1, 64, 4, "planes4_u8_x64"), PLANES(1, 64, 8, "planes8_u8_x64"), PLANES(2, 32, 4, "planes4_u16_x32"),       \
        PLANES_256
static const struct squares sse2_squares[] = {PLANES_128, {1, 16, "transpose16_u8", 0}, SQUARES_128, {0}},
                            avx2_squares[] = {PLANES_256,
                                              {1, 16, "transpose16_u8_x32", 0},
                                              {2, 16, "transpose16_u16", 0},
                                              SQUARES_256,
                                              SQUARES_128,
                                              {0}},
                            avx512_squares[] = {PLANES_512,
                                                {1, 16, "transpose16_u8_x64", 0},
                                                {2, 16, "transpose16_u16_x32", 0},
                                                {4, 16, "transpose16_u32", 0},
                                                {8, 8, "transpose8_u64", 0},
                                                SQUARES_256,
                                                SQUARES_128,
                                                {0}},
                            neon_squares[] = {PLANES(1, 16, 4, "unzip4_u8"),
                                              PLANES(1, 16, 8, "unzip8_u8"),
                                              PLANES(2, 8, 4, "unzip4_u16"),
                                              {1, 16, "zip16_u8", 0},
                                              {2, 8, "zip8_u16", 0},
                                              {4, 4, "zip4_u32", 0},
                                              {0}};
#define VECTOR(registers, bits) .scalar = {registers, 32}, .vector = {registers, bits}, .body = 48, .hides_call = 128

const struct machine machine_c99 = {CPU,           THREADS,       CACHES(32 << 10, 256 << 10),
                                    SCALAR(16, 8), .name = "c99", .ops = scalars};
const struct machine machine_rv64 = {
    CPU, THREADS, CACHES(32 << 10, 512 << 10), SCALAR(32, 16), .name = "rv64", .ops = fused_scalars};
const struct machine machine_cortex_m4 = {CPU,
                                          CACHES(16 << 10, 0),
                                          SCALAR(32, 16),
                                          .name = "cortex-m4",
                                          .ops = cortex_m,
                                          .micros = dsp_dots,
                                          .blocks = dsp_blocks,
                                          .whole_tile = 4};
const struct machine machine_cortex_m55 = {CPU,
                                           CACHES(32 << 10, 0),
                                           SCALAR(32, 16),
                                           .name = "cortex-m55",
                                           .ops = cortex_m,
                                           .micros = mve_dots,
                                           .blocks = dsp_blocks,
                                           .whole_tile = 4};
const struct machine machine_sse2 = {CPU,
                                     THREADS,
                                     X86_CACHES(256 << 10, 64.0),
                                     VECTOR(16, 128),
                                     .name = "sse2",
                                     .ops = separate,
                                     .micros = sse2_dots,
                                     .blocks = sse2_blocks,
                                     .apart = 2,
                                     .squares = sse2_squares};
#define AVX2                                                                                                           \
    CPU, THREADS, X86_CACHES(512 << 10, 10.0), VECTOR(16, 256), .apart = 3, .squares = avx2_squares, .ops = fused
#define AVX512_OF(second, how)                                                                                         \
    CPU, THREADS, X86_CACHES(second, 64.0), VECTOR(32, 512), .apart = 3, .byte_tables = 0.25,                          \
                                                             .squares = avx512_squares, .ops = how
#define AVX512 AVX512_OF(1 << 20, fused)
#define NEON                                                                                                           \
    CPU, THREADS, CACHES(32 << 10, 512 << 10), VECTOR(32, 128), .loads_ahead = true, .apart = 2,                       \
                                                                .squares = neon_squares, .ops = neon
const struct machine machine_avx2 = {AVX2, .name = "avx2", .micros = avx2_dots, .blocks = avx2_blocks};
const struct machine machine_avxvnni = {AVX2, .name = "avxvnni", .micros = avxvnni_dots, .blocks = avxvnni_blocks};
const struct machine machine_avx512 = {AVX512, .name = "avx512", .micros = avx512_dots, .blocks = avx512_blocks};
const struct machine machine_avx512vnni = {AVX512, .name = "avx512vnni", .micros = avx512vnni_dots,
                                           .blocks = avx512vnni_blocks};
const struct machine machine_avx512bf16 = {AVX512_OF(1 << 20, halved), .name = "avx512bf16", .micros = avx512bf16_dots,
                                           .blocks = avx512bf16_blocks};
const struct machine machine_amx = {AVX512_OF(2 << 20, fused), .name = "amx", .micros = amx_dots,
                                    .blocks = avx512vnni_blocks};
const struct machine machine_neon = {NEON, .name = "neon", .micros = neon_dots, .blocks = neon_blocks};
const struct machine machine_dotprod = {NEON, .name = "dotprod", .micros = dotprod_dots, .blocks = dotprod_blocks};
const struct machine machine_i8mm = {NEON, .name = "i8mm", .micros = i8mm_dots, .blocks = i8mm_blocks};
/* Its second level of cache has 64 to 256 KB; usually half of that. The cost of a byte is assumed to be that of the
 * others. */
const struct machine machine_cortex_a55 = {CPU,
                                           THREADS,
                                           CACHES(32 << 10, 128 << 10),
                                           VECTOR(32, 128),
                                           .loads_ahead = true,
                                           .apart = 2,
                                           .squares = neon_squares,
                                           .name = "cortex-a55",
                                           .ops = a55,
                                           .micros = a55_dots,
                                           .blocks = a55_blocks};
