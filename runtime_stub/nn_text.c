/* See nn_text.h. */
#include "nn_text.h"

int64_t nn_str_find(nn_str s, nn_str what, int64_t from) {
    if (from < 0) from = 0;
    if (what.n > s.n) return -1;
    for (size_t i = (size_t)from; i <= s.n - what.n; i++)
        if (what.n == 0 || (s.p[i] == what.p[0] && memcmp(s.p + i, what.p, what.n) == 0)) return (int64_t)i;
    return -1;
}

/* ---- decimal numbers of any length. They are multiplied by powers of 2, exactly, until the digits before the point
 * are the required mantissa (as in "Simple Decimal Conversion", N. Tao 2020). */
enum { DIGITS = 800 }; /* a tie has at most 767 digits; later ones only tell on which side of it a number is */
struct decimal {
    int n, more;   /* number of digits; more: some later ones are not 0 */
    int64_t point; /* 0.d0 d1 d2 ... * 10^point */
    unsigned char d[DIGITS];
};

static void put_digit(struct decimal *x, int at, unsigned v) {
    if (at < DIGITS) x->d[at] = (unsigned char)v;
    else if (v) x->more = 1;
}
static void trim(struct decimal *x) {
    while (x->n > 0 && x->d[x->n - 1] == 0) x->n--;
    if (x->n == 0) x->point = 0;
}
static void set_integer(struct decimal *x, uint64_t v) {
    unsigned char digits[20];
    int n = 0;
    for (; v; v /= 10) digits[n++] = (unsigned char)(v % 10);
    x->n = n;
    x->more = 0;
    x->point = n;
    for (int k = 0; k < n; k++) x->d[k] = digits[n - 1 - k];
    trim(x);
}
/* times 2^k, 0 < k < 60 */
static void shift_left(struct decimal *x, int k) {
    uint64_t carry = 0;
    unsigned char front[20];
    int n = 0;
    for (int i = x->n; i-- > 0;) {
        carry += (uint64_t)x->d[i] << k;
        x->d[i] = (unsigned char)(carry % 10);
        carry /= 10;
    }
    for (; carry; carry /= 10) front[n++] = (unsigned char)(carry % 10);
    for (int i = x->n; i-- > 0;) put_digit(x, i + n, x->d[i]);
    for (int i = 0; i < n; i++) x->d[i] = front[n - 1 - i];
    x->n = x->n + n < DIGITS ? x->n + n : DIGITS;
    x->point += n;
    trim(x);
}
/* divided by 2^k, 0 < k < 60 */
static void shift_right(struct decimal *x, int k) {
    const uint64_t mask = (UINT64_C(1) << k) - 1;
    uint64_t rest = 0;
    int from = 0, to = 0;
    for (; rest >> k == 0 && (from < x->n || rest); from++) rest = rest * 10 + (from < x->n ? x->d[from] : 0);
    x->point -= from - 1;
    for (; from < x->n; from++) {
        const unsigned v = (unsigned)(rest >> k);
        rest = (rest & mask) * 10 + x->d[from];
        put_digit(x, to++, v);
    }
    for (; rest; rest = (rest & mask) * 10) put_digit(x, to++, (unsigned)(rest >> k));
    x->n = to < DIGITS ? to : DIGITS;
    trim(x);
}
static void shift(struct decimal *x, int k) {
    for (int left = k; x->n && left > 0; left -= 50) shift_left(x, left < 50 ? left : 50);
    for (int left = -k; x->n && left > 0; left -= 50) shift_right(x, left < 50 ? left : 50);
}
/* The integer part, rounded to nearest, ties to even; *exact: nothing was lost. Below 2^63. */
static uint64_t rounded(const struct decimal *x, int *exact) {
    uint64_t v = 0;
    int64_t i = 0;
    for (; i < x->point; i++) v = v * 10 + (i < x->n ? x->d[i] : 0);
    *exact = !x->more && x->n <= x->point;
    if (x->point < 0 || x->n <= x->point) return v;
    const unsigned next = x->d[x->point];
    const int tie = next == 5 && x->n == x->point + 1 && !x->more;
    return v + (tie ? v & 1 : next >= 5);
}

/* ---- numbers to text */
static uint64_t bits_of(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}
/* The code: sign, kind, eight digits, exponent + 1024 of the first one. */
enum { CODE_ZERO = 0, CODE_FINITE = 1, CODE_INF = 2, CODE_NAN = 3 };
int64_t nn_float_text(double x) {
    const uint64_t b = bits_of(x), mantissa = b & ((UINT64_C(1) << 52) - 1);
    const int e = (int)(b >> 52 & 2047);
    const int64_t sign = (int64_t)(b >> 63) << 50;
    struct decimal t;
    int exact;
    if (e == 2047) return mantissa ? (int64_t)CODE_NAN << 48 : sign | (int64_t)CODE_INF << 48;
    if (!e && !mantissa) return sign;
    set_integer(&t, e ? mantissa | UINT64_C(1) << 52 : mantissa);
    shift(&t, (e ? e : 1) - 1075);
    const int64_t point = t.point;
    t.point = 8;
    uint64_t digits = rounded(&t, &exact);
    const int over = digits == 100000000;
    if (over) digits = 10000000;
    return sign | (int64_t)CODE_FINITE << 48 | (int64_t)digits << 16 | (point - 1 + over + 1024);
}
static int float_text(char *out, int64_t code) {
    static const char *const words[] = {"0", "", "INF", "NaN"};
    const int kind = (int)(code >> 48 & 3), e = (int)(code & 65535) - 1024;
    int n = 0, last = 7;
    char d[8];
    if (code >> 50 & 1) out[n++] = '-';
    if (kind != CODE_FINITE) {
        memcpy(out + n, words[kind], strlen(words[kind]));
        return n + (int)strlen(words[kind]);
    }
    int64_t digits = code >> 16 & 0xffffffff;
    for (int k = 8; k-- > 0; digits /= 10) d[k] = (char)('0' + digits % 10);
    while (last > 0 && d[last] == '0') last--;
    if (e >= -4 && e < 8) { /* without exponent */
        if (e < 0) out[n++] = '0', out[n++] = '.';
        for (int k = -1; k > e; k--) out[n++] = '0';
        for (int k = 0; k <= last || k <= e; k++) {
            if (k == e + 1 && e >= 0) out[n++] = '.';
            out[n++] = d[k];
        }
        return n;
    }
    out[n++] = d[0];
    if (last > 0) out[n++] = '.';
    for (int k = 1; k <= last; k++) out[n++] = d[k];
    const int a = e < 0 ? -e : e;
    out[n++] = 'e';
    out[n++] = e < 0 ? '-' : '+';
    if (a >= 100) out[n++] = (char)('0' + a / 100);
    out[n++] = (char)('0' + a / 10 % 10);
    out[n++] = (char)('0' + a % 10);
    return n;
}
static int integer_text(char *out, uint64_t v, int negative) {
    char back[20];
    int n = 0, at = 0;
    do back[n++] = (char)('0' + v % 10);
    while (v /= 10);
    if (negative) out[at++] = '-';
    while (n > 0) out[at++] = back[--n];
    return at;
}
int32_t nn_number_byte(int64_t v, int32_t kind, int32_t i) {
    char text[NN_NUMBER_BYTES];
    const uint64_t u = (uint64_t)v;
    const int n = kind == NN_FLOAT
                      ? float_text(text, v)
                      : integer_text(text, kind == NN_SIGNED && v < 0 ? 0 - u : u, kind == NN_SIGNED && v < 0);
    return i >= 0 && i < n ? (int32_t)text[i] : 0;
}

/* ---- text to numbers */
static int lower_at(nn_str s, size_t i) {
    const int c = i < s.n ? (unsigned char)s.p[i] : 0;
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}
static int is_digit_at(nn_str s, size_t i) { return i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; }
static int hex_at(nn_str s, size_t i) {
    const int c = lower_at(s, i);
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
static int has_word(nn_str s, size_t at, const char *word) {
    size_t k = 0;
    while (word[k] && lower_at(s, at + k) == word[k]) k++;
    return !word[k];
}
/* Index after blanks and sign. */
static size_t start_of(nn_str s, int *negative) {
    size_t i = 0;
    while (i < s.n && (s.p[i] == ' ' || (s.p[i] >= '\t' && s.p[i] <= '\r'))) i++;
    *negative = i < s.n && s.p[i] == '-';
    return i + (i < s.n && (s.p[i] == '-' || s.p[i] == '+'));
}
/* "e-12" at i, the letter given; 0 when there is no digit. */
static int64_t exponent_at(nn_str s, size_t i, int letter) {
    int64_t e = 0;
    if (lower_at(s, i) != letter) return 0;
    const int sign = lower_at(s, i + 1);
    i += sign == '-' || sign == '+' ? 2 : 1;
    for (; is_digit_at(s, i); i++)
        if (e < 100000000) e = e * 10 + (s.p[i] - '0');
    return sign == '-' ? -e : e;
}
static int read_decimal(nn_str s, size_t i, struct decimal *x) {
    int any = 0, behind = 0;
    x->n = x->more = 0;
    x->point = 0;
    for (;; i++) {
        if (!behind && i < s.n && s.p[i] == '.') behind = 1;
        else if (!is_digit_at(s, i)) break;
        else {
            any = 1;
            if (x->n || s.p[i] != '0') {
                put_digit(x, x->n, (unsigned)(s.p[i] - '0'));
                if (x->n < DIGITS) x->n++;
                x->point += !behind;
            } else x->point -= behind;
        }
    }
    if (any) x->point += exponent_at(s, i, 'e');
    trim(x);
    return any;
}
/* Hexadecimal digits behind "0x": an integer and a power of 2. */
static int read_hex(nn_str s, size_t i, struct decimal *x, int64_t *power) {
    uint64_t v = 0;
    int64_t e = 0;
    int any = 0, behind = 0, more = 0;
    for (;; i++) {
        if (!behind && i < s.n && s.p[i] == '.') behind = 1;
        else if (hex_at(s, i) < 0) break;
        else {
            any = 1;
            if (v >> 58 == 0) v = v << 4 | (uint64_t)hex_at(s, i), e -= behind ? 4 : 0;
            else more |= hex_at(s, i) != 0, e += behind ? 0 : 4;
        }
    }
    set_integer(x, v);
    x->more = more;
    *power = any ? e + exponent_at(s, i, 'p') : 0;
    return any;
}
/* The double nearest to x * 2^power; 0: it is too large, or so small that it loses digits. */
static int to_double(struct decimal *x, int64_t power, double *out) {
    int64_t e = 0; /* the number is x * 2^e */
    int exact;
    *out = 0;
    if (x->n == 0) return 1;
    if (power > 5000 || power < -5000 || x->point > 5000 || x->point < -5000) return 0;
    shift(x, (int)power);
    while (x->point > 0) { /* to 0.5 <= x < 1 */
        const int k = x->point > 15 ? 50 : x->point > 3 ? 10 : 1;
        shift(x, -k);
        e += k;
    }
    while (x->point < 0 || x->d[0] < 5) {
        const int k = x->point < -15 ? 50 : x->point < -3 ? 10 : 1;
        shift(x, k);
        e -= k;
    }
    const int denormal = e < -1021;
    shift(x, denormal ? (int)(e + 1074) : 53);
    uint64_t m = rounded(x, &exact);
    if (!denormal && m >> 53) m >>= 1, e++;
    if (e > 1024 || (denormal && !exact)) return 0;
    const uint64_t b = denormal ? m : (uint64_t)(e + 1022) << 52 | (m & ((UINT64_C(1) << 52) - 1));
    memcpy(out, &b, sizeof b);
    return 1;
}
static int read_double(nn_str s, double *out) {
    struct decimal x;
    int negative, ok = 1;
    int64_t power = 0;
    const size_t i = start_of(s, &negative);
    const uint64_t infinite = UINT64_C(2047) << 52, nan = infinite | UINT64_C(1) << 51;
    *out = 0;
    if (has_word(s, i, "inf")) memcpy(out, &infinite, sizeof infinite);
    else if (has_word(s, i, "nan")) memcpy(out, &nan, sizeof nan);
    else if (has_word(s, i, "0x") && read_hex(s, i + 2, &x, &power)) ok = to_double(&x, power, out);
    else ok = read_decimal(s, i, &x) && to_double(&x, 0, out);
    if (negative) *out = -*out;
    return ok;
}
/* Digits, without the sign. 0: there are none, or more than `most`. */
static int read_integer(nn_str s, uint64_t most, uint64_t *out, int *negative) {
    size_t i = start_of(s, negative);
    const int any = is_digit_at(s, i);
    *out = 0;
    for (; is_digit_at(s, i); i++) {
        const unsigned d = (unsigned)(s.p[i] - '0');
        if (*out > (most - d) / 10) return 0;
        *out = *out * 10 + d;
    }
    return any;
}
static int read_number(nn_str s, int32_t kind, double *f, uint64_t *u) {
    int negative;
    if (kind == NN_FLOAT) return read_double(s, f);
    start_of(s, &negative);
    const uint64_t most = kind == NN_UNSIGNED ? UINT64_MAX : (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (!read_integer(s, most, u, &negative)) return 0;
    if (negative) *u = 0 - *u;
    return 1;
}
int32_t nn_is_number(nn_str s, int32_t kind) {
    double f;
    uint64_t u;
    return read_number(s, kind, &f, &u);
}
double nn_float_of(nn_str s) {
    double f;
    return read_double(s, &f) ? f : 0;
}
int64_t nn_integer_of(nn_str s, int32_t kind) {
    uint64_t u;
    return read_number(s, kind, NULL, &u) ? (int64_t)u : 0;
}

/* ---- characters */
int32_t nn_char_at(nn_str s, int64_t i) {
    const int32_t b = nn_str_byte(s, i);
    const int more = b < 0xc2 || b > 0xf4 ? 0 : b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
    static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
    int32_t c = more ? b & (0x3f >> more) : b;
    if (b >= 0x80 && !more) return -1 - b;
    for (int k = 1; k <= more; k++) {
        const int32_t next = nn_str_byte(s, i + k);
        if ((next & 0xc0) != 0x80) return -1 - b;
        c = c * 64 + (next & 0x3f);
    }
    return c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? -1 - b : c;
}
int32_t nn_char_byte(int32_t c, int32_t k) {
    const int32_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    if (k < 0 || k > more) return -1;
    if (c < 0) return -1 - c;
    if (more == 0) return c;
    if (k > 0) return 0x80 | (c >> 6 * (more - k) & 0x3f);
    return (0xf0 << (3 - more) & 0xff) | c >> 6 * more;
}

/* ---- case. Rows of Unicode 14: `count` characters, beginning with `first` and `step` apart, have their counterpart
 * `by` characters further on. */
struct range {
    int32_t first;
    int16_t count, step;
    int32_t by;
};
// clang-format off
static const struct range to_upper[] = {
    {0x61, 26, 1, -32}, {0xb5, 1, 1, 743}, {0xe0, 23, 1, -32}, {0xf8, 7, 1, -32}, {0xff, 1, 1, 121},
    {0x101, 24, 2, -1}, {0x131, 1, 1, -232}, {0x133, 3, 2, -1}, {0x13a, 8, 2, -1}, {0x14b, 23, 2, -1},
    {0x17a, 3, 2, -1}, {0x17f, 1, 1, -300}, {0x180, 1, 1, 195}, {0x183, 2, 2, -1}, {0x188, 1, 1, -1},
    {0x18c, 1, 1, -1}, {0x192, 1, 1, -1}, {0x195, 1, 1, 97}, {0x199, 1, 1, -1}, {0x19a, 1, 1, 163},
    {0x19e, 1, 1, 130}, {0x1a1, 3, 2, -1}, {0x1a8, 1, 1, -1}, {0x1ad, 1, 1, -1}, {0x1b0, 1, 1, -1}, {0x1b4, 2, 2, -1},
    {0x1b9, 1, 1, -1}, {0x1bd, 1, 1, -1}, {0x1bf, 1, 1, 56}, {0x1c5, 1, 1, -1}, {0x1c6, 1, 1, -2}, {0x1c8, 1, 1, -1},
    {0x1c9, 1, 1, -2}, {0x1cb, 1, 1, -1}, {0x1cc, 1, 1, -2}, {0x1ce, 8, 2, -1}, {0x1dd, 1, 1, -79}, {0x1df, 9, 2, -1},
    {0x1f2, 1, 1, -1}, {0x1f3, 1, 1, -2}, {0x1f5, 1, 1, -1}, {0x1f9, 20, 2, -1}, {0x223, 9, 2, -1}, {0x23c, 1, 1, -1},
    {0x23f, 2, 1, 10815}, {0x242, 1, 1, -1}, {0x247, 5, 2, -1}, {0x250, 1, 1, 10783}, {0x251, 1, 1, 10780},
    {0x252, 1, 1, 10782}, {0x253, 1, 1, -210}, {0x254, 1, 1, -206}, {0x256, 2, 1, -205}, {0x259, 1, 1, -202},
    {0x25b, 1, 1, -203}, {0x25c, 1, 1, 42319}, {0x260, 1, 1, -205}, {0x261, 1, 1, 42315}, {0x263, 1, 1, -207},
    {0x265, 1, 1, 42280}, {0x266, 1, 1, 42308}, {0x268, 1, 1, -209}, {0x269, 1, 1, -211}, {0x26a, 1, 1, 42308},
    {0x26b, 1, 1, 10743}, {0x26c, 1, 1, 42305}, {0x26f, 1, 1, -211}, {0x271, 1, 1, 10749}, {0x272, 1, 1, -213},
    {0x275, 1, 1, -214}, {0x27d, 1, 1, 10727}, {0x280, 1, 1, -218}, {0x282, 1, 1, 42307}, {0x283, 1, 1, -218},
    {0x287, 1, 1, 42282}, {0x288, 1, 1, -218}, {0x289, 1, 1, -69}, {0x28a, 2, 1, -217}, {0x28c, 1, 1, -71},
    {0x292, 1, 1, -219}, {0x29d, 1, 1, 42261}, {0x29e, 1, 1, 42258}, {0x345, 1, 1, 84}, {0x371, 2, 2, -1},
    {0x377, 1, 1, -1}, {0x37b, 3, 1, 130}, {0x3ac, 1, 1, -38}, {0x3ad, 3, 1, -37}, {0x3b1, 17, 1, -32},
    {0x3c2, 1, 1, -31}, {0x3c3, 9, 1, -32}, {0x3cc, 1, 1, -64}, {0x3cd, 2, 1, -63}, {0x3d0, 1, 1, -62},
    {0x3d1, 1, 1, -57}, {0x3d5, 1, 1, -47}, {0x3d6, 1, 1, -54}, {0x3d7, 1, 1, -8}, {0x3d9, 12, 2, -1},
    {0x3f0, 1, 1, -86}, {0x3f1, 1, 1, -80}, {0x3f2, 1, 1, 7}, {0x3f3, 1, 1, -116}, {0x3f5, 1, 1, -96},
    {0x3f8, 1, 1, -1}, {0x3fb, 1, 1, -1}, {0x430, 32, 1, -32}, {0x450, 16, 1, -80}, {0x461, 17, 2, -1},
    {0x48b, 27, 2, -1}, {0x4c2, 7, 2, -1}, {0x4cf, 1, 1, -15}, {0x4d1, 48, 2, -1}, {0x561, 38, 1, -48},
    {0x10d0, 43, 1, 3008}, {0x10fd, 3, 1, 3008}, {0x13f8, 6, 1, -8}, {0x1c80, 1, 1, -6254}, {0x1c81, 1, 1, -6253},
    {0x1c82, 1, 1, -6244}, {0x1c83, 2, 1, -6242}, {0x1c85, 1, 1, -6243}, {0x1c86, 1, 1, -6236}, {0x1c87, 1, 1, -6181},
    {0x1c88, 1, 1, 35266}, {0x1d79, 1, 1, 35332}, {0x1d7d, 1, 1, 3814}, {0x1d8e, 1, 1, 35384}, {0x1e01, 75, 2, -1},
    {0x1e9b, 1, 1, -59}, {0x1ea1, 48, 2, -1}, {0x1f00, 8, 1, 8}, {0x1f10, 6, 1, 8}, {0x1f20, 8, 1, 8},
    {0x1f30, 8, 1, 8}, {0x1f40, 6, 1, 8}, {0x1f51, 4, 2, 8}, {0x1f60, 8, 1, 8}, {0x1f70, 2, 1, 74},
    {0x1f72, 4, 1, 86}, {0x1f76, 2, 1, 100}, {0x1f78, 2, 1, 128}, {0x1f7a, 2, 1, 112}, {0x1f7c, 2, 1, 126},
    {0x1f80, 8, 1, 8}, {0x1f90, 8, 1, 8}, {0x1fa0, 8, 1, 8}, {0x1fb0, 2, 1, 8}, {0x1fb3, 1, 1, 9},
    {0x1fbe, 1, 1, -7205}, {0x1fc3, 1, 1, 9}, {0x1fd0, 2, 1, 8}, {0x1fe0, 2, 1, 8}, {0x1fe5, 1, 1, 7},
    {0x1ff3, 1, 1, 9}, {0x214e, 1, 1, -28}, {0x2170, 16, 1, -16}, {0x2184, 1, 1, -1}, {0x24d0, 26, 1, -26},
    {0x2c30, 48, 1, -48}, {0x2c61, 1, 1, -1}, {0x2c65, 1, 1, -10795}, {0x2c66, 1, 1, -10792}, {0x2c68, 3, 2, -1},
    {0x2c73, 1, 1, -1}, {0x2c76, 1, 1, -1}, {0x2c81, 50, 2, -1}, {0x2cec, 2, 2, -1}, {0x2cf3, 1, 1, -1},
    {0x2d00, 38, 1, -7264}, {0x2d27, 1, 1, -7264}, {0x2d2d, 1, 1, -7264}, {0xa641, 23, 2, -1}, {0xa681, 14, 2, -1},
    {0xa723, 7, 2, -1}, {0xa733, 31, 2, -1}, {0xa77a, 2, 2, -1}, {0xa77f, 5, 2, -1}, {0xa78c, 1, 1, -1},
    {0xa791, 2, 2, -1}, {0xa794, 1, 1, 48}, {0xa797, 10, 2, -1}, {0xa7b5, 8, 2, -1}, {0xa7c8, 2, 2, -1},
    {0xa7d1, 1, 1, -1}, {0xa7d7, 2, 2, -1}, {0xa7f6, 1, 1, -1}, {0xab53, 1, 1, -928}, {0xab70, 80, 1, -38864},
    {0xff41, 26, 1, -32}, {0x10428, 40, 1, -40}, {0x104d8, 36, 1, -40}, {0x10597, 11, 1, -39}, {0x105a3, 15, 1, -39},
    {0x105b3, 7, 1, -39}, {0x105bb, 2, 1, -39}, {0x10cc0, 51, 1, -64}, {0x118c0, 32, 1, -32}, {0x16e60, 32, 1, -32},
    {0x1e922, 34, 1, -34}
};
static const struct range to_lower[] = {
    {0x41, 26, 1, 32}, {0xc0, 23, 1, 32}, {0xd8, 7, 1, 32}, {0x100, 24, 2, 1}, {0x130, 1, 1, -199}, {0x132, 3, 2, 1},
    {0x139, 8, 2, 1}, {0x14a, 23, 2, 1}, {0x178, 1, 1, -121}, {0x179, 3, 2, 1}, {0x181, 1, 1, 210}, {0x182, 2, 2, 1},
    {0x186, 1, 1, 206}, {0x187, 1, 1, 1}, {0x189, 2, 1, 205}, {0x18b, 1, 1, 1}, {0x18e, 1, 1, 79}, {0x18f, 1, 1, 202},
    {0x190, 1, 1, 203}, {0x191, 1, 1, 1}, {0x193, 1, 1, 205}, {0x194, 1, 1, 207}, {0x196, 1, 1, 211},
    {0x197, 1, 1, 209}, {0x198, 1, 1, 1}, {0x19c, 1, 1, 211}, {0x19d, 1, 1, 213}, {0x19f, 1, 1, 214},
    {0x1a0, 3, 2, 1}, {0x1a6, 1, 1, 218}, {0x1a7, 1, 1, 1}, {0x1a9, 1, 1, 218}, {0x1ac, 1, 1, 1}, {0x1ae, 1, 1, 218},
    {0x1af, 1, 1, 1}, {0x1b1, 2, 1, 217}, {0x1b3, 2, 2, 1}, {0x1b7, 1, 1, 219}, {0x1b8, 1, 1, 1}, {0x1bc, 1, 1, 1},
    {0x1c4, 1, 1, 2}, {0x1c5, 1, 1, 1}, {0x1c7, 1, 1, 2}, {0x1c8, 1, 1, 1}, {0x1ca, 1, 1, 2}, {0x1cb, 9, 2, 1},
    {0x1de, 9, 2, 1}, {0x1f1, 1, 1, 2}, {0x1f2, 2, 2, 1}, {0x1f6, 1, 1, -97}, {0x1f7, 1, 1, -56}, {0x1f8, 20, 2, 1},
    {0x220, 1, 1, -130}, {0x222, 9, 2, 1}, {0x23a, 1, 1, 10795}, {0x23b, 1, 1, 1}, {0x23d, 1, 1, -163},
    {0x23e, 1, 1, 10792}, {0x241, 1, 1, 1}, {0x243, 1, 1, -195}, {0x244, 1, 1, 69}, {0x245, 1, 1, 71},
    {0x246, 5, 2, 1}, {0x370, 2, 2, 1}, {0x376, 1, 1, 1}, {0x37f, 1, 1, 116}, {0x386, 1, 1, 38}, {0x388, 3, 1, 37},
    {0x38c, 1, 1, 64}, {0x38e, 2, 1, 63}, {0x391, 17, 1, 32}, {0x3a3, 9, 1, 32}, {0x3cf, 1, 1, 8}, {0x3d8, 12, 2, 1},
    {0x3f4, 1, 1, -60}, {0x3f7, 1, 1, 1}, {0x3f9, 1, 1, -7}, {0x3fa, 1, 1, 1}, {0x3fd, 3, 1, -130},
    {0x400, 16, 1, 80}, {0x410, 32, 1, 32}, {0x460, 17, 2, 1}, {0x48a, 27, 2, 1}, {0x4c0, 1, 1, 15}, {0x4c1, 7, 2, 1},
    {0x4d0, 48, 2, 1}, {0x531, 38, 1, 48}, {0x10a0, 38, 1, 7264}, {0x10c7, 1, 1, 7264}, {0x10cd, 1, 1, 7264},
    {0x13a0, 80, 1, 38864}, {0x13f0, 6, 1, 8}, {0x1c90, 43, 1, -3008}, {0x1cbd, 3, 1, -3008}, {0x1e00, 75, 2, 1},
    {0x1e9e, 1, 1, -7615}, {0x1ea0, 48, 2, 1}, {0x1f08, 8, 1, -8}, {0x1f18, 6, 1, -8}, {0x1f28, 8, 1, -8},
    {0x1f38, 8, 1, -8}, {0x1f48, 6, 1, -8}, {0x1f59, 4, 2, -8}, {0x1f68, 8, 1, -8}, {0x1f88, 8, 1, -8},
    {0x1f98, 8, 1, -8}, {0x1fa8, 8, 1, -8}, {0x1fb8, 2, 1, -8}, {0x1fba, 2, 1, -74}, {0x1fbc, 1, 1, -9},
    {0x1fc8, 4, 1, -86}, {0x1fcc, 1, 1, -9}, {0x1fd8, 2, 1, -8}, {0x1fda, 2, 1, -100}, {0x1fe8, 2, 1, -8},
    {0x1fea, 2, 1, -112}, {0x1fec, 1, 1, -7}, {0x1ff8, 2, 1, -128}, {0x1ffa, 2, 1, -126}, {0x1ffc, 1, 1, -9},
    {0x2126, 1, 1, -7517}, {0x212a, 1, 1, -8383}, {0x212b, 1, 1, -8262}, {0x2132, 1, 1, 28}, {0x2160, 16, 1, 16},
    {0x2183, 1, 1, 1}, {0x24b6, 26, 1, 26}, {0x2c00, 48, 1, 48}, {0x2c60, 1, 1, 1}, {0x2c62, 1, 1, -10743},
    {0x2c63, 1, 1, -3814}, {0x2c64, 1, 1, -10727}, {0x2c67, 3, 2, 1}, {0x2c6d, 1, 1, -10780}, {0x2c6e, 1, 1, -10749},
    {0x2c6f, 1, 1, -10783}, {0x2c70, 1, 1, -10782}, {0x2c72, 1, 1, 1}, {0x2c75, 1, 1, 1}, {0x2c7e, 2, 1, -10815},
    {0x2c80, 50, 2, 1}, {0x2ceb, 2, 2, 1}, {0x2cf2, 1, 1, 1}, {0xa640, 23, 2, 1}, {0xa680, 14, 2, 1},
    {0xa722, 7, 2, 1}, {0xa732, 31, 2, 1}, {0xa779, 2, 2, 1}, {0xa77d, 1, 1, -35332}, {0xa77e, 5, 2, 1},
    {0xa78b, 1, 1, 1}, {0xa78d, 1, 1, -42280}, {0xa790, 2, 2, 1}, {0xa796, 10, 2, 1}, {0xa7aa, 1, 1, -42308},
    {0xa7ab, 1, 1, -42319}, {0xa7ac, 1, 1, -42315}, {0xa7ad, 1, 1, -42305}, {0xa7ae, 1, 1, -42308},
    {0xa7b0, 1, 1, -42258}, {0xa7b1, 1, 1, -42282}, {0xa7b2, 1, 1, -42261}, {0xa7b3, 1, 1, 928}, {0xa7b4, 8, 2, 1},
    {0xa7c4, 1, 1, -48}, {0xa7c5, 1, 1, -42307}, {0xa7c6, 1, 1, -35384}, {0xa7c7, 2, 2, 1}, {0xa7d0, 1, 1, 1},
    {0xa7d6, 2, 2, 1}, {0xa7f5, 1, 1, 1}, {0xff21, 26, 1, 32}, {0x10400, 40, 1, 40}, {0x104b0, 36, 1, 40},
    {0x10570, 11, 1, 39}, {0x1057c, 15, 1, 39}, {0x1058c, 7, 1, 39}, {0x10594, 2, 1, 39}, {0x10c80, 51, 1, 64},
    {0x118a0, 32, 1, 32}, {0x16e40, 32, 1, 32}, {0x1e900, 34, 1, 34}
};
// clang-format on
int32_t nn_char_case(int32_t c, int32_t to) {
    const struct range *r = to == NN_UPPER ? to_upper : to_lower;
    size_t low = 0, high = to == NN_UPPER ? sizeof to_upper / sizeof *to_upper : sizeof to_lower / sizeof *to_lower;
    while (high - low > 1) { /* the last row that does not begin after c */
        const size_t mid = (low + high) / 2;
        if (r[mid].first <= c) low = mid;
        else high = mid;
    }
    r += low;
    const int32_t off = c - r->first;
    return off >= 0 && off <= (r->count - 1) * r->step && off % r->step == 0 ? c + r->by : c;
}
