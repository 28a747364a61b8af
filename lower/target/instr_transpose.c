/* Instructions that transpose squares of cells in registers, and pixels of a few cells, of x86 and of NEON. See
 * instr_x86.c for what a row is; they move cells as they are, so a row serves all types as wide as its own.
 *
 * A piece is 16 bytes of a row, and a vector has the pieces of rows that lie `count` apart, one behind the other.
 * Interleaving the cells of each piece of vector j with those of vector j + count/2, then in either half of the vectors
 * again, and so on, leaves side by side what the rows of a piece have of one column. Where that does not fill a piece,
 * a row of the result is put together of several when it is stored.
 */
#include "lower/target/rows.h"

#define GET(row, count, j)     "v[" #j "] = nn_get_" #row "(x + " #j " * x_step, " #count " * x_step);"
#define ZIP(row, j, k)         "nn_zip_" #row "(v + " #j ", v + " #k ");"
#define PUT(row, rows, j)      "nn_put_" #row "(y + " #j " * " rows " * y_step, y_step, v[" #j "]);"
#define LINE(a, b)             "        " a " " b "\n"
#define GETS(row, count, j, k) LINE(GET(row, count, j), GET(row, count, k))
#define ZIPS(row, j, k, l, m)  LINE(ZIP(row, j, k), ZIP(row, l, m))
#define PUTS(row, rows, j, k)  LINE(PUT(row, rows, j), PUT(row, rows, k))
// clang-format off
#define MOVE_2(row, rows) \
    GETS(row, 2, 0, 1) \
    "        " ZIP(row, 0, 1) "\n" \
    PUTS(row, rows, 0, 1)
#define GET_4(row)     GETS(row, 4, 0, 1) GETS(row, 4, 2, 3)
#define HALVES_4(row)  ZIPS(row, 0, 2, 1, 3)
#define ZIP_4(row)     HALVES_4(row) ZIPS(row, 0, 1, 2, 3)
#define MOVE_4(row, rows) \
    GET_4(row) ZIP_4(row) \
    PUTS(row, rows, 0, 1) PUTS(row, rows, 2, 3)
#define GET_8(row)     GETS(row, 8, 0, 1) GETS(row, 8, 2, 3) GETS(row, 8, 4, 5) GETS(row, 8, 6, 7)
#define HALVES_8(row)  ZIPS(row, 0, 4, 1, 5) ZIPS(row, 2, 6, 3, 7)
#define ZIP_8(row)     HALVES_8(row) ZIPS(row, 0, 2, 1, 3) ZIPS(row, 4, 6, 5, 7) ZIPS(row, 0, 1, 2, 3) ZIPS(row, 4, 5, 6, 7)
#define MOVE_8(row, rows) \
    GET_8(row) ZIP_8(row) \
    PUTS(row, rows, 0, 1) PUTS(row, rows, 2, 3) PUTS(row, rows, 4, 5) PUTS(row, rows, 6, 7)
#define MOVE_16(row, rows) \
    GETS(row, 16, 0, 1) GETS(row, 16, 2, 3) GETS(row, 16, 4, 5) GETS(row, 16, 6, 7) \
    GETS(row, 16, 8, 9) GETS(row, 16, 10, 11) GETS(row, 16, 12, 13) GETS(row, 16, 14, 15) \
    ZIPS(row, 0, 8, 1, 9) ZIPS(row, 2, 10, 3, 11) ZIPS(row, 4, 12, 5, 13) ZIPS(row, 6, 14, 7, 15) \
    ZIPS(row, 0, 4, 1, 5) ZIPS(row, 2, 6, 3, 7) ZIPS(row, 8, 12, 9, 13) ZIPS(row, 10, 14, 11, 15) \
    ZIPS(row, 0, 2, 1, 3) ZIPS(row, 4, 6, 5, 7) ZIPS(row, 8, 10, 9, 11) ZIPS(row, 12, 14, 13, 15) \
    ZIPS(row, 0, 1, 2, 3) ZIPS(row, 4, 5, 6, 7) ZIPS(row, 8, 9, 10, 11) ZIPS(row, 12, 13, 14, 15) \
    PUTS(row, rows, 0, 1) PUTS(row, rows, 2, 3) PUTS(row, rows, 4, 5) PUTS(row, rows, 6, 7) \
    PUTS(row, rows, 8, 9) PUTS(row, rows, 10, 11) PUTS(row, rows, 12, 13) PUTS(row, rows, 14, 15)
/* A square's rows of a few cells follow each other: those of `count` pieces are put apart into as many planes, by one
 * interleaving more for each time that a piece has twice as many rows. */
#define PLANE(row, j, plane)      "nn_put_" #row "(y + " #plane " * y_step, 0, v[" #j "]);"
#define PLANES(row, j, a, k, b)   LINE(PLANE(row, j, a), PLANE(row, k, b))
#define PART_4_U8(row) \
    GET_4(row) ZIP_4(row) ZIP_4(row) \
    PLANES(row, 0, 0, 1, 1) PLANES(row, 2, 2, 3, 3)
#define PART_4_U16(row) \
    GET_4(row) ZIP_4(row) HALVES_4(row) \
    PLANES(row, 0, 0, 1, 2) PLANES(row, 2, 1, 3, 3)
#define PART_8_U8(row) \
    GET_8(row) ZIP_8(row) HALVES_8(row) \
    PLANES(row, 0, 0, 1, 2) PLANES(row, 2, 4, 3, 6) PLANES(row, 4, 1, 5, 3) PLANES(row, 6, 5, 7, 7)
// clang-format on

/* Of n x n cells of so many bytes, `piece` of them in 16; by `count` vectors, each of which has so many rows of the
 * result in the end. */
#define SQUARES(row, n, type_, text, bytes, piece, vector, count, rows, get, low, high, put)                           \
    const struct instr_row nn_##row = {                                                                                \
        .name = #row,                                                                                                  \
        .body = "proc p(Y: " text "[" n "," n "] out, X: " text "[" n "," n "] in)\n"                                  \
                "  for i<" n "\n    for j<" n "\n      Y[j,i] = X[i,j]\n",                                             \
        .holes = {{"Y", type_, {1, STRIDE_ANY}}, {"X", type_, {STRIDE_ANY, 1}}},                                       \
        .moves = true,                                                                                                 \
        .helper = HELPERS(row, vector, get, low, high,                                                                 \
                          put) "static inline void nn_" #row                                                           \
                               "(void *to, ptrdiff_t y_step, const void *from, ptrdiff_t x_step) {\n"                  \
                               "    const char *x = from;\n    char *y = to;\n"                                        \
                               "    y_step *= " bytes ", x_step *= " bytes ";\n"                                       \
                               "    for (int k = 0; k < " n "; k += " piece ", x += 16, y += " piece " * y_step) {\n"  \
                               "        " vector " v[" #count "];\n" MOVE_##count(row, rows) "    }\n}\n",             \
        .c = "nn_" #row "({&Y}, {step Y}, {&X}, {step X})"}
#define HELPERS(row, vector, get, low, high, put)                                                                      \
    "static inline " vector " nn_get_" #row "(const char *x, ptrdiff_t step) {\n" get "}\n"                            \
    "static inline void nn_zip_" #row "(" vector " *a, " vector " *b) {\n"                                             \
    "    const " vector " low = " low "(*a, *b);\n    *b = " high "(*a, *b);\n    *a = low;\n}\n"                      \
    "static inline void nn_put_" #row "(char *y, ptrdiff_t step, " vector " v) {\n" put "}\n"
/* Of n x `planes` cells, which lie side by side, by as many vectors. */
#define PARTED(row, planes, n, type_, text, bytes, vector, part, get, low, high, put)                                  \
    const struct instr_row nn_##row = {                                                                                \
        .name = #row,                                                                                                  \
        .body = "proc p(Y: " text "[" #planes "," n "] out, X: " text "[" n "," #planes "] in)\n"                      \
                "  for i<" n "\n    for j<" #planes "\n      Y[j,i] = X[i,j]\n",                                       \
        .holes = {{"Y", type_, {1, STRIDE_ANY}}, {"X", type_, {planes, 1}}},                                           \
        .moves = true,                                                                                                 \
        .helper = HELPERS(row, vector, get, low, high,                                                                 \
                          put) "static inline void nn_" #row "(void *to, ptrdiff_t y_step, const void *from) {\n"      \
                               "    const char *x = from;\n    char *y = to;\n"                                        \
                               "    const ptrdiff_t x_step = 16;\n    y_step *= " bytes ";\n"                          \
                               "        " vector " v[" #planes "];\n" part(row) "}\n",                                 \
        .c = "nn_" #row "({&Y}, {step Y}, {&X})"}

/* ---- x86 */
#define PIECE(j) "_mm_loadu_si128((const void *)(x + " j " * step))"
#define GET_128  "    (void)step;\n    return _mm_loadu_si128((const void *)x);\n"
#define GET_256  "    return _mm256_inserti128_si256(_mm256_castsi128_si256(" PIECE("0") "), " PIECE("1") ", 1);\n"
// clang-format off
#define ADD_PIECE(j) "    v = _mm512_inserti32x4(v, " PIECE(j) ", " j ");\n"
#define GET_512      "    __m512i v = _mm512_castsi128_si512(" PIECE("0") ");\n" ADD_PIECE("1") ADD_PIECE("2") ADD_PIECE("3") "    return v;\n"
// clang-format on
#define PUT_128 "    (void)step;\n    _mm_storeu_si128((void *)y, v);\n"
#define PUT_256 "    (void)step;\n    _mm256_storeu_si256((void *)y, v);\n"
#define PUT_512 "    (void)step;\n    _mm512_storeu_si512(y, v);\n"
#define PUT_2_OF_256                                                                                                   \
    "    const __m256i rows = _mm256_permute4x64_epi64(v, 0xd8);\n"                                                    \
    "    _mm_storeu_si128((void *)y, _mm256_castsi256_si128(rows));\n"                                                 \
    "    _mm_storeu_si128((void *)(y + step), _mm256_extracti128_si256(rows, 1));\n"
#define PUT_2_OF_512                                                                                                   \
    "    const __m512i rows = _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0), v);\n"                \
    "    _mm256_storeu_si256((void *)y, _mm512_castsi512_si256(rows));\n"                                              \
    "    _mm256_storeu_si256((void *)(y + step), _mm512_extracti64x4_epi64(rows, 1));\n"
#define PUT_4_OF_512                                                                                                   \
    "    const __m512i at = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);\n"                 \
    "    const __m512i rows = _mm512_permutexvar_epi32(at, v);\n"                                                      \
    "    _mm_storeu_si128((void *)y, _mm512_castsi512_si128(rows));\n"                                                 \
    "    _mm_storeu_si128((void *)(y + step), _mm512_extracti32x4_epi32(rows, 1));\n"                                  \
    "    _mm_storeu_si128((void *)(y + 2 * step), _mm512_extracti32x4_epi32(rows, 2));\n"                              \
    "    _mm_storeu_si128((void *)(y + 3 * step), _mm512_extracti32x4_epi32(rows, 3));\n"
#define UNPACK(set, cells) set "_unpacklo_" cells, set "_unpackhi_" cells
#define U8_CELLS           U8, "u8", "1", "16"
#define U16_CELLS          U16, "u16", "2", "8"
#define U32_CELLS          U32, "u32", "4", "4"
#define U64_CELLS          U64, "u64", "8", "2"
#define SQUARES_OF(...)    SQUARES(__VA_ARGS__)
/* Rows of 8 bytes: those of a vector are interleaved as soon as they are loaded. */
#define GET_2_OF_128                                                                                                   \
    "    return _mm_unpacklo_epi8(_mm_loadl_epi64((const void *)x), _mm_loadl_epi64((const void *)(x + step)));\n"
#define PUT_2_OF_128                                                                                                   \
    "    _mm_storel_epi64((void *)y, v);\n    _mm_storel_epi64((void *)(y + step), _mm_unpackhi_epi64(v, v));\n"
#define SQUARES_128(row, n, cells, count, set)                                                                         \
    SQUARES_OF(row, n, cells, "__m128i", count, "1", GET_128, UNPACK("_mm", set), PUT_128)
#define SQUARES_256(row, n, cells, count, rows, set, put)                                                              \
    SQUARES_OF(row, n, cells, "__m256i", count, rows, GET_256, UNPACK("_mm256", set), put)
#define SQUARES_512(row, n, cells, count, rows, set, put)                                                              \
    SQUARES_OF(row, n, cells, "__m512i", count, rows, GET_512, UNPACK("_mm512", set), put)
SQUARES_OF(transpose8_u8, "8", U8, "u8", "1", "8", "__m128i", 4, "2", GET_2_OF_128, UNPACK("_mm", "epi8"),
           PUT_2_OF_128);
SQUARES_128(transpose16_u8, "16", U8_CELLS, 16, "epi8");
SQUARES_128(transpose8_u16, "8", U16_CELLS, 8, "epi16");
SQUARES_128(transpose4_u32, "4", U32_CELLS, 4, "epi32");
SQUARES_256(transpose16_u8_x32, "16", U8_CELLS, 8, "2", "epi8", PUT_2_OF_256);
SQUARES_256(transpose16_u16, "16", U16_CELLS, 8, "1", "epi16", PUT_256);
SQUARES_256(transpose8_u32, "8", U32_CELLS, 4, "1", "epi32", PUT_256);
SQUARES_256(transpose4_u64, "4", U64_CELLS, 2, "1", "epi64", PUT_256);
SQUARES_512(transpose16_u8_x64, "16", U8_CELLS, 4, "4", "epi8", PUT_4_OF_512);
SQUARES_512(transpose16_u16_x32, "16", U16_CELLS, 4, "2", "epi16", PUT_2_OF_512);
SQUARES_512(transpose16_u32, "16", U32_CELLS, 4, "1", "epi32", PUT_512);
SQUARES_512(transpose8_u64, "8", U64_CELLS, 2, "1", "epi64", PUT_512);

#define PARTED_OF(...) PARTED(__VA_ARGS__)
#define PARTED_128(row, planes, n, cells, part, set)                                                                   \
    PARTED_OF(row, planes, n, cells, "__m128i", part, GET_128, UNPACK("_mm", set), PUT_128)
#define PARTED_256(row, planes, n, cells, part, set)                                                                   \
    PARTED_OF(row, planes, n, cells, "__m256i", part, GET_256, UNPACK("_mm256", set), PUT_256)
#define PARTED_512(row, planes, n, cells, part, set)                                                                   \
    PARTED_OF(row, planes, n, cells, "__m512i", part, GET_512, UNPACK("_mm512", set), PUT_512)
#define U8_PLANES  U8, "u8", "1"
#define U16_PLANES U16, "u16", "2"
PARTED_128(planes4_u8, 4, "16", U8_PLANES, PART_4_U8, "epi8");
PARTED_128(planes8_u8, 8, "16", U8_PLANES, PART_8_U8, "epi8");
PARTED_128(planes4_u16, 4, "8", U16_PLANES, PART_4_U16, "epi16");
PARTED_256(planes4_u8_x32, 4, "32", U8_PLANES, PART_4_U8, "epi8");
PARTED_256(planes8_u8_x32, 8, "32", U8_PLANES, PART_8_U8, "epi8");
PARTED_256(planes4_u16_x16, 4, "16", U16_PLANES, PART_4_U16, "epi16");
PARTED_512(planes4_u8_x64, 4, "64", U8_PLANES, PART_4_U8, "epi8");
PARTED_512(planes8_u8_x64, 8, "64", U8_PLANES, PART_8_U8, "epi8");
PARTED_512(planes4_u16_x32, 4, "32", U16_PLANES, PART_4_U16, "epi16");

/* ---- NEON */
#define SQUARES_NEON(row, n, cells, type, count, set)                                                                  \
    SQUARES_OF(row, n, cells, type, count, "1", "    (void)step;\n    return vld1q_" set "((const void *)x);\n",       \
               "vzip1q_" set, "vzip2q_" set, "    (void)step;\n    vst1q_" set "((void *)y, v);\n")
SQUARES_NEON(zip16_u8, "16", U8_CELLS, "uint8x16_t", 16, "u8");
SQUARES_NEON(zip8_u16, "8", U16_CELLS, "uint16x8_t", 8, "u16");
SQUARES_NEON(zip4_u32, "4", U32_CELLS, "uint32x4_t", 4, "u32");
#define PARTED_NEON(row, planes, n, cells, type, part, set)                                                            \
    PARTED_OF(row, planes, n, cells, type, part, "    (void)step;\n    return vld1q_" set "((const void *)x);\n",      \
              "vzip1q_" set, "vzip2q_" set, "    (void)step;\n    vst1q_" set "((void *)y, v);\n")
PARTED_NEON(unzip4_u8, 4, "16", U8_PLANES, "uint8x16_t", PART_4_U8, "u8");
PARTED_NEON(unzip8_u8, 8, "16", U8_PLANES, "uint8x16_t", PART_8_U8, "u8");
PARTED_NEON(unzip4_u16, 4, "8", U16_PLANES, "uint16x8_t", PART_4_U16, "u16");
