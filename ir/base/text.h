/* Text building and interned names.
 *
 * Interned strings are equal when their pointers are equal; they live as long as the compilation. */
#ifndef NN_IR_BASE_TEXT_H
#define NN_IR_BASE_TEXT_H
#include "ir/base/arena.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __GNUC__
#define NN_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define NN_PRINTF(f, a)
#endif

/* ASCII, whatever the locale is. */
static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static inline bool begins_word(char c) { return is_letter(c) || c == '_'; } /* of C */
static inline bool in_word(char c) { return begins_word(c) || is_digit(c); }

/* A growing text in malloc'd memory; s is always NUL-terminated once anything was added (else NULL). */
struct text {
    char *s;
    size_t n, cap;
};
void text_add(struct text *t, const char *s);
void text_addn(struct text *t, const char *s, size_t n);
void text_char(struct text *t, char c);
void text_printf(struct text *t, const char *fmt, ...) NN_PRINTF(2, 3);
void text_vprintf(struct text *t, const char *fmt, va_list ap);
void text_indent(struct text *t, int depth); /* 2 spaces per level */
void text_free(struct text *t);
bool ends_with(const char *s, const char *end);
int text_order(const void *a, const void *b);     /* of two const char *, for qsort */
char *text_take(struct text *t, struct arena *a); /* as a string of the arena; the text is empty afterwards */
/* Shortest decimal text that reads back as the same float / double ("1.0", "0.1", "inf", "-inf", "nan"); locale-free.
 */
void text_f32(struct text *t, float x);
void text_f64(struct text *t, double x);
double text_read_f64(const char *s, const char **end); /* strtod, locale-free; end may be NULL */

struct interner; /* open-addressing hash set */
struct interner *interner_new(struct arena *a);
const char *intern(struct interner *in, const char *s);
const char *internn(struct interner *in, const char *s, size_t n);
const char *internf(struct interner *in, const char *fmt, ...) NN_PRINTF(2, 3);
char *arena_printf(struct arena *a, const char *fmt, ...) NN_PRINTF(2, 3);
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap);
#endif
