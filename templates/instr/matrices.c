/* A product of matrices, 2 x 2 sums at a time: rows and vectors of four sums, the bytes from one row or vector to the
 * next, and the steps of the sum in up to three loops; each step multiplies two groups of 8 bytes. */
struct nn_product {
    ptrdiff_t rows, vectors, groups, c_row, c_vector, a_row, b_vector, n[3], a[3], b[3];
};
/* Loops over vectors, which are registers only where they are written out. */
#if defined __clang__
#define NN_WRITTEN_OUT _Pragma("clang loop unroll(full)")
#else
#define NN_WRITTEN_OUT _Pragma("GCC unroll 4")
#endif
/* The first halves of two vectors, and the second ones: of two rows of four sums, or of 16 bytes. */
static inline int32x4_t nn_first_halves(int32x4_t a, int32x4_t b) {
    return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}
static inline int32x4_t nn_second_halves(int32x4_t a, int32x4_t b) {
    return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}
static inline int32x4_t nn_sixteen_bytes(const char *at) { return vreinterpretq_s32_s8(vld1q_s8((const int8_t *)at)); }
#define NN_BYTES(v)              vreinterpretq_s8_s32(v)
#define NN_UNSIGNED(v)           vreinterpretq_u8_s32(v)
#define NN_FLOATS(v)             vreinterpretq_bf16_s32(v)
#define nn_smmla_of(sums, a, b)  vmmlaq_s32(sums, NN_BYTES(a), NN_BYTES(b))
#define nn_usmmla_of(sums, a, b) vusmmlaq_s32(sums, NN_UNSIGNED(a), NN_BYTES(b))
#define nn_ummla_of(sums, a, b)                                                                                        \
    vreinterpretq_s32_u32(vmmlaq_u32(vreinterpretq_u32_s32(sums), NN_UNSIGNED(a), NN_UNSIGNED(b)))
#define nn_bfmmla_of(sums, a, b)                                                                                       \
    vreinterpretq_s32_f32(vbfmmlaq_f32(vreinterpretq_f32_s32(sums), NN_FLOATS(a), NN_FLOATS(b)))
