/* ARM: 64-bit NEON, and the Cortex-M cores, scalar except for their instruction rows (instr_arm.c). NEON's min and max
 * differ from `a < b ? a : b` for NaN, so these stay compare-and-select, unless b is known not to be NaN. */
#include "lower/target/rows.h"

#define FROM_F16(codes) "vcvt_f32_f16(vreinterpret_f16_u16(" codes "))"
#define TO_F16(values)  "vreinterpret_u16_f16(vcvt_f16_f32(" values "))"
/* Four bytes to 32-bit lanes, and back without saturation: gcc 12 would move them one by one. */
#define WIDE(s)                                                                                                        \
    "__extension__({ uint32_t n; __builtin_memcpy(&n, %a, 4); ($T)vmovl_" s "16(vget_low_" s "16(vmovl_" s             \
    "8(vcreate_" s "8(n)))); })"
#define NARROW                                                                                                         \
    "__extension__({ const uint16x4_t h = vmovn_u32((uint32x4_t)%a); const uint32_t n = "                              \
    "vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(h, h))), 0); __builtin_memcpy(%b, &n, 4); })"

static const struct spell_row neon_rows[] = {{X_LOAD, U8, 4, WIDE("u")},
                                             {X_LOAD, I8, 4, WIDE("s")},
                                             {X_ROUND, U8, 4, NARROW},
                                             {X_ROUND, I8, 4, NARROW},
                                             {X_FMA, F32, 4, "vfmaq_f32(%c, %a, %b)"},
                                             {X_FMA, F64, 2, "vfmaq_f64(%c, %a, %b)"},
                                             {X_SQRT, F32, 4, "vsqrtq_f32(%a)"},
                                             {X_SQRT, F64, 2, "vsqrtq_f64(%a)"},
                                             {X_FLOOR, F32, 4, "vrndmq_f32(%a)"},
                                             {X_CEIL, F32, 4, "vrndpq_f32(%a)"},
                                             {X_TRUNC, F32, 4, "vrndq_f32(%a)"},
                                             {X_RINT, F32, 4, "vrndnq_f32(%a)"},
                                             {X_RINT, I32, 4, "($T)vcvtnq_s32_f32(%a)"},
                                             {X_MIN, I32, 4, "($T)vminq_s32((int32x4_t)%a, (int32x4_t)%b)"},
                                             {X_MAX, I32, 4, "($T)vmaxq_s32((int32x4_t)%a, (int32x4_t)%b)"},
                                             {X_RINT, I32, 1, "vcvtns_s32_f32(%a)"},
                                             {X_LOAD, F16, 1, "vgetq_lane_f32(" FROM_F16("vdup_n_u16(%a)") ", 0)"},
                                             {X_ROUND, F16, 1, "vget_lane_u16(" TO_F16("vdupq_n_f32(%a)") ", 0)"},
                                             {X_LOAD, F16, 4, FROM_F16("vld1_u16(%a)")},
                                             {X_ROUND, F16, 4, "vst1_u16(%b, " TO_F16("%a") ")"},
                                             {X_POISON, NONE, 0, NULL}};

static const struct spell_row neon_clamps[] = {
    {X_MIN, F32, 4, "vminnmq_f32(%a, %b)"}, {X_MAX, F32, 4, "vmaxnmq_f32(%a, %b)"}, {X_POISON, NONE, 0, NULL}};

/* What the rows share; each row says what it adds. */
#define AARCH64                                                                                                        \
    .cls = TC_CPU, .emit = EMIT_C_VECTOR, .headers = "#include <arm_neon.h>\n", .spell = neon_rows,                    \
    .clamps = neon_clamps, .cc = "aarch64-linux-gnu-gcc", .runner = "qemu-aarch64 -L /usr/aarch64-linux-gnu"

const struct target nn_target_aarch64 = {
    AARCH64,
    .name = "aarch64",
    .machine = &machine_neon,
    .help = "64-bit ARM with NEON: 4 lanes",
    .cflags = "-march=armv8-a",
    .instrs = nn_instrs_neon,
};
const struct target nn_target_aarch64_dotprod = {
    AARCH64,
    .name = "aarch64-dotprod",
    .machine = &machine_dotprod,
    .help = "64-bit ARM with the dot product instructions (Cortex-A55, A76 and later)",
    .cflags = "-march=armv8.2-a+dotprod", /* clang's header before version 16 only looks at the flag */
    .needs = "dotprod",
    .attribute = "arch=armv8.2-a+dotprod",
    .instrs = nn_instrs_dotprod,
};
const struct target nn_target_aarch64_i8mm = {
    AARCH64,
    .name = "aarch64-i8mm",
    .machine = &machine_i8mm,
    .help =
        "aarch64-dotprod with products of matrices of bytes and bf16 (Neoverse V1 and N2, Cortex-A510, A710 and later)",
    .cflags = "-march=armv8.2-a+dotprod+i8mm+bf16",
    .needs = "dotprod i8mm bf16",
    .attribute = "arch=armv8.2-a+dotprod+i8mm+bf16",
    .instrs = nn_instrs_i8mm,
};
const struct target nn_target_cortex_a55 = {
    AARCH64,
    .name = "cortex-a55",
    .machine = &machine_cortex_a55,
    .help = "Cortex-A55, small cores of phones and boards: aarch64-dotprod, one vector at a time",
    .cflags = "-march=armv8.2-a+dotprod -mtune=cortex-a55",
    .needs = "dotprod",
    .attribute = "arch=armv8.2-a+dotprod",
    .instrs = nn_instrs_dotprod,
};
/* How the emulator runs a bare program: its arguments follow as one word after -append. */
#define BARE(machine)                                                                                                  \
    "qemu-system-arm -M " machine                                                                                      \
    " -display none -monitor none -serial none -semihosting-config enable=on,target=native -kernel"

static const struct board an386 = {
    .name = "MPS2 with AN386",
    .machine = "mps2-an386",
    .flash = 0x400,
    .flash_bytes = (4u << 20) - 0x400,
    .ram = 0x20000000,
    .ram_bytes = 4u << 20,
    .more = 0x21000000,
    .more_bytes = 16u << 20,
};
static const struct board an547 = {
    .name = "MPS3 with AN547",
    .machine = "mps3-an547",
    .flash = 0x28000000,
    .flash_bytes = 8u << 20,
    .ram = 0x21000000,
    .ram_bytes = 4u << 20,
    .more = 0x60000000,
    .more_bytes = 16u << 20,
};

/* Rounds according to the mode, which is to nearest; Cortex-M55 has an instruction just for that. */
#define NEAREST(instr)                                                                                                 \
    "__extension__({ int32_t n; __asm(\"" instr ".s32.f32 %%1, %%1\\n\\tvmov %%0, %%1\" : \"=r\"(n), \"+t\"(%a)); n; " \
    "})"
/* Halves are in the lower half of a register. */
#define HALVES                                                                                                         \
    {X_LOAD, F16, 1,                                                                                                   \
     "__extension__({ float x; __asm(\"vmov %%0, %%1\\n\\tvcvtb.f32.f16 %%0, %%0\" : \"=t\"(x) : \"r\"(%a)); x; })"},  \
        {X_ROUND, F16, 1,                                                                                              \
         "__extension__({ uint32_t n; __asm(\"vcvtb.f16.f32 %%1, %%1\\n\\tvmov %%0, %%1\" : \"=r\"(n), \"+t\"(%a)); "  \
         "(uint16_t)n; })"},                                                                                           \
    {                                                                                                                  \
        X_CAST, F16, 1,                                                                                                \
            "__extension__({ __asm(\"vcvtb.f16.f32 %%0, %%0\\n\\tvcvtb.f32.f16 %%0, %%0\" : \"+t\"(%a)); %a; })"       \
    }
static const struct spell_row m4_rows[] = {{X_RINT, I32, 1, NEAREST("vcvtr")}, HALVES, {X_POISON, NONE, 0, NULL}},
                              m55_rows[] = {{X_RINT, I32, 1, NEAREST("vcvtn")}, HALVES, {X_POISON, NONE, 0, NULL}};

/* If limits are used several times, gcc keeps them in registers, compares, and does not find the instruction. */
#define CLAMP(instr) "__extension__({ int32_t n; __asm(\"" instr " %%0, #8, %%1\" : \"=r\"(n) : \"r\"(%a)); n; })"
static const struct spell_row cortex_m_clamps[] = {
    {X_MIN, I8, 1, CLAMP("ssat")}, {X_MIN, U8, 1, CLAMP("usat")}, {X_POISON, NONE, 0, NULL}};

/* gcc hoists the loads of a tile's operands, for which these cores do not have enough registers. */
#define IN_ORDER "#if defined __GNUC__ && !defined __clang__\n#pragma GCC optimize(\"no-schedule-insns\")\n#endif\n"
#define CORTEX_M .cls = TC_MCU, .emit = EMIT_C_SCALAR, .cc = "arm-none-eabi-gcc", .bounded = true, .saturates = true

const struct target nn_target_cortex_m4 = {
    CORTEX_M,
    .name = "cortex-m4",
    .help = "Cortex-M4F, bare",
    .machine = &machine_cortex_m4,
    .cflags = "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16",
    .headers = IN_ORDER,
    .spell = m4_rows,
    .clamps = cortex_m_clamps,
    .instrs = nn_instrs_dsp,
    .runner = BARE("mps2-an386"),
    .board = &an386,
};
const struct target nn_target_cortex_m55 = {
    CORTEX_M,
    .name = "cortex-m55",
    .help = "Cortex-M55, bare",
    .machine = &machine_cortex_m55,
    .cflags = "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard",
    .headers = "#include <arm_mve.h>\n" IN_ORDER,
    .spell = m55_rows,
    .clamps = cortex_m_clamps,
    .instrs = nn_instrs_mve,
    .runner = BARE("mps3-an547"),
    .board = &an547,
};
