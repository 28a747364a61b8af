/* Names, comments and strings of the output. Every text from a model passes through here on its way into source
 * code. */
#include "codegen/emit.h"
#include <string.h>
#include <strings.h>

/* Words that our identifiers must not be: keywords of C and C++, macros and functions of the headers that the prelude
 * includes, and the Bessel functions, whose short names make compilers warn. */
static const char *const reserved[] = {
    /* clang-format off */
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "class", "co_await", "co_return", "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr",
    "constinit", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long",
    "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
    "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return", "short", "signed",
    "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
    "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "typeof_unqual", "union",
    "unsigned", "using", "virtual", "void", "volatile", "while", "xor", "xor_eq",
    "I", "abs", "alloca", "assert", "blockDim", "blockIdx", "bool", "ceil", "complex", "cos", "div", "erf", "errno",
    "exp", "far", "fault", "floor", "fma", "fmax", "fmin", "fpclassify", "gamma", "gridDim", "i386", "imaginary",
    "index", "isfinite", "isgreater", "isinf", "isless", "isnan", "isnormal", "isunordered", "j0", "j1", "jn",
    "linux", "log", "main", "max", "memcmp", "memcpy", "memset", "min", "near", "offsetof", "pow", "rint", "round",
    "signbit", "signgam", "sin", "sqrt", "stderr", "stdin", "stdout", "tan", "threadIdx", "time", "trunc", "unix",
    "warpSize", "wchar_t", "ws", "y0", "y1", "yn",
    /* clang-format on */
};

static bool is_reserved(const char *s) {
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(s, reserved[i])) return true;
    size_t n = strlen(s);
    if (n > 2 && !strcmp(s + n - 2, "_t")) /* reserved by POSIX */
        return true;
    if (!strncasecmp(s, "nn", 2) && s[2 + strspn(s + 2, "0123456789")] == '_')
        return true; /* nn_, and nn1_ in nn_rt.h */
    return s[0] == '_';
}

static bool has_small_letter(const char *s) {
    for (; *s; s++)
        if (*s >= 'a' && *s <= 'z') return true;
    return false;
}

const char *c_ident(struct ctx *c, const char *name) {
    char b[64];
    size_t n = 0;
    for (const char *s = name ? name : ""; *s && n < 46; s++) {
        if (is_letter(*s) || is_digit(*s)) {
            if (is_digit(*s) && n == 0) b[n++] = 'v';
            b[n++] = *s;
        } else if (n > 0 && b[n - 1] != '_') {
            b[n++] = '_';
        }
    }
    while (n > 0 && b[n - 1] == '_') n--;
    if (n == 0) b[n++] = 'v';
    b[n] = 0;
    if (n > 1 && !has_small_letter(b)) /* names in capitals are macros, of headers and ours */
        for (char *p = b; *p; p++) *p = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
    if (is_reserved(b)) {
        memmove(b + 2, b, n + 1);
        memcpy(b, "v_", 2);
    }
    return intern(c->names, b);
}

static bool begins_with(const char *s, const char *with) {
    size_t n = strlen(with);
    return n && !strncasecmp(s, with, n);
}

void names_init(struct names *n, struct ctx *c) { *n = (struct names){.c = c, .taken = {.arena = &c->arena}}; }

static char free_again; /* marks a name whose scope has ended: maps have no removal */

static bool is_taken(const struct names *n, const char *s) {
    void *v = map_get(&n->taken, PKEY(s));
    return v && (n->unused || v != &free_again);
}

const char *names_add(struct names *n, const char *name) {
    const char *base = c_ident(n->c, name), *s;
    if (n->avoid && begins_with(base, n->avoid)) base = c_ident(n->c, internf(n->c->names, "v_%s", base));
    s = base;
    size_t len = strlen(base);
    /* after a digit the number needs a separator: x1 and 2 must not become x12 */
    const char *sep = len && is_digit(base[len - 1]) ? "_" : "";
    for (int i = 2; is_taken(n, s); i++) s = internf(n->c->names, "%s%s%d", base, sep, i);
    map_put(&n->taken, PKEY(s), (void *)s);
    PUSH(&n->c->arena, &n->stack, s);
    return s;
}

void names_take(struct names *n, const char *ident) {
    map_put(&n->taken, PKEY(intern(n->c->names, ident)), n);
    PUSH(&n->c->arena, &n->stack, intern(n->c->names, ident));
}

const char *names_numbered(struct names *n, const char *name) {
    const char *base = c_ident(n->c, name);
    size_t len = strlen(base);
    const char *sep = is_digit(base[len - 1]) ? "_" : "";
    for (int i = 0;; i++) {
        const char *s = internf(n->c->names, "%s%s%d", base, sep, i);
        if (!is_taken(n, s) && !is_reserved(s)) return names_add(n, s);
    }
}

int names_mark(const struct names *n) { return n->stack.n; }

void names_leave(struct names *n, int mark) {
    while (n->stack.n > mark) map_put(&n->taken, PKEY(n->stack.v[--n->stack.n]), &free_again);
}

enum { COMMENT_MAX = 2000 };
void emit_comment_text(struct text *out, const char *s) {
    char last = 0;
    const char *begin = s;
    for (; s && *s; s++) {
        if (s - begin == COMMENT_MAX) {
            text_add(out, " ...");
            return;
        }
        char ch = (unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f ? (*s == '\n' || *s == '\t' ? ' ' : '?') : *s;
        if ((last == '*' && ch == '/') || (last == '/' && ch == '*') || (last == '?' && ch == '?')) text_char(out, ' ');
        if (ch == '\\') ch = '|'; /* a backslash could join lines */
        text_char(out, ch);
        last = ch;
    }
    if (last == '*' || last == '/') text_char(out, ' ');
}

static void emit_char(struct text *out, char quote, unsigned char ch) {
    if (ch == (unsigned char)quote || ch == '\\') text_printf(out, "\\%c", ch);
    else if (ch < 0x20 || ch >= 0x7f || ch == '?') text_printf(out, "\\%03o", ch);
    else text_char(out, (char)ch);
}
void emit_string(struct text *out, const char *s, size_t n) {
    text_char(out, '"');
    for (size_t i = 0; i < n; i++) emit_char(out, '"', (unsigned char)s[i]);
    text_char(out, '"');
}
enum { LITERAL_MAX = 4095 }; /* what C99 requires compilers to accept */
void emit_chars(struct text *out, const char *s, size_t n) {
    if (n <= LITERAL_MAX) {
        emit_string(out, s, n);
        return;
    }
    text_add(out, "(const char[]){");
    for (size_t i = 0; i < n; i++) {
        text_add(out, i % 16 ? "'" : "\n'"); /* no line that emit_wrap would break */
        emit_char(out, '\'', (unsigned char)s[i]);
        text_add(out, "',");
    }
    text_add(out, "0}");
}
void emit_cut_string(struct text *out, const char *s, size_t n) {
    static const char dots[] = "...";
    if (n <= LITERAL_MAX) {
        emit_string(out, s, n);
        return;
    }
    struct text cut = {0};
    size_t keep = LITERAL_MAX - strlen(dots);
    while (keep && ((unsigned char)s[keep] & 0xc0) == 0x80) keep--; /* not within a character */
    text_printf(&cut, "%.*s%s", (int)keep, s, dots);
    emit_string(out, cut.s, cut.n);
    text_free(&cut);
}

const char *emit_message(struct ctx *c, const char *s) {
    enum { MOST = 400 }; /* names may be long, but strings in C should not be */
    struct text t = {0};
    if (!s) return "NULL";
    size_t n = strlen(s);
    emit_string(&t, s, n < MOST ? n : MOST);
    return text_take(&t, &c->arena);
}

void emit_indent(struct text *out, int depth) {
    for (int i = 0; i < depth; i++) text_add(out, "    ");
}
