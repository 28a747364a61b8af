/* What models with strings need in addition to nn_rt.h. Compiled into the output, and into the compiler, whose
 * interpreter calls the same functions. All are pure; none allocates. */
#ifndef NN_TEXT_H
#define NN_TEXT_H
#include "nn_rt.h"
#include <string.h>

#define nn_str_find    nn1_str_find
#define nn_char_case   nn1_char_case
#define nn_char_at     nn1_char_at
#define nn_char_byte   nn1_char_byte
#define nn_is_number   nn1_is_number
#define nn_float_of    nn1_float_of
#define nn_integer_of  nn1_integer_of
#define nn_float_text  nn1_float_text
#define nn_number_byte nn1_number_byte

#ifdef __cplusplus
extern "C" {
#endif

/* Strings are sequences of bytes: case and equivalent characters are different, NUL is an ordinary byte. */
static inline int nn_str_equal(nn_str a, nn_str b) { return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0); }
/* negative, 0, positive: a is less than, equal to, greater than b, comparing bytes as unsigned numbers */
static inline int nn_str_order(nn_str a, nn_str b) {
    const size_t n = a.n < b.n ? a.n : b.n;
    const int k = n ? memcmp(a.p, b.p, n) : 0;
    return k ? k : (a.n > b.n) - (a.n < b.n);
}
static inline int64_t nn_str_length(nn_str s) { return (int64_t)s.n; }
/* byte i; 0 outside of the string */
static inline int32_t nn_str_byte(nn_str s, int64_t i) {
    return i >= 0 && (uint64_t)i < s.n ? (int32_t)(unsigned char)s.p[i] : 0;
}
/* up to n bytes from byte `from` on, as far as they exist; shared, not copied */
static inline nn_str nn_str_part(nn_str s, int64_t from, int64_t n) {
    const int64_t length = (int64_t)s.n, first = from < 0 ? 0 : from > length ? length : from;
    const int64_t left = length - first;
    const nn_str part = {first ? s.p + first : s.p, (size_t)(n < 0 ? 0 : n > left ? left : n)};
    return part;
}
/* the n bytes at p as a string */
static inline nn_str nn_str_of(const void *p, int64_t n) {
    const nn_str s = {(const char *)p, (size_t)n};
    return s;
}
/* Index of the first `what` in s, not before byte `from`; -1: none. */
int64_t nn_str_find(nn_str s, nn_str what, int64_t from);

/* The upper or lower case of c by Unicode's simple case mapping: one character for one, independent of language. c
 * itself if there is none. */
enum { NN_UPPER = 0, NN_LOWER = 1 };
int32_t nn_char_case(int32_t c, int32_t to);
/* The character whose UTF-8 encoding begins at byte i; a byte that begins none gives -1 minus the byte. */
int32_t nn_char_at(nn_str s, int64_t i);
/* Byte k of such a character; -1 after its end. */
int32_t nn_char_byte(int32_t c, int32_t k);

/* Numbers. Like strtod, strtoll and strtoull of C (without locale): blanks, sign, and as many characters as form a
 * number; whatever follows is ignored. is_number: 0 if there is none at all, if it is too large, and for a float so
 * small that it loses digits. A minus before NN_UNSIGNED wraps. */
enum { NN_FLOAT = 0, NN_SIGNED = 1, NN_UNSIGNED = 2, NN_NUMBER_BYTES = 24 };
int32_t nn_is_number(nn_str s, int32_t kind);
double nn_float_of(nn_str s); /* to nearest, ties to even */
int64_t nn_integer_of(nn_str s, int32_t kind);
/* A float's text as from printf("%.8g"), "NaN", "INF" and "-INF", as a code for nn_number_byte. */
int64_t nn_float_text(double x);
/* Byte i of the text of an integer, or (NN_FLOAT) of such a code; 0 after its end. */
int32_t nn_number_byte(int64_t v, int32_t kind, int32_t i);

#ifdef __cplusplus
}
#endif
#endif
