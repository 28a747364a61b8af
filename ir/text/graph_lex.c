/* Parser of the graph IR, lower half: words, strings, numbers, symbolic dims, types, constant tensors. The text is not
 * trusted: every length is checked against what the text can hold before memory is taken. */
#include "ir/base/checked.h"
#include "ir/text/graph_parse.h"
#include <errno.h>
#include <string.h>

enum { MAX_RANK = 32 };
static const int64_t MAX_MADE_UP = INT64_C(256) << 20;

bool p_fail(struct parser *p, enum diag_code code, const char *fmt, ...) {
    if (p->failed) return false;
    struct text t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    diag_at(&p->c->diags, DIAG_ERROR, code, arena_printf(&p->c->arena, "%s:%d", p->file, p->line), NULL, "%s", t.s);
    text_free(&t);
    p->failed = true;
    p->at = p->end;
    return false;
}

/* ---- characters and words */
char p_peek(struct parser *p) {
    for (; p->at < p->end; p->at++) {
        if (*p->at == '\n') p->line++;
        else if (p->at[0] == '/' && p->at[1] == '/')
            while (p->at + 1 < p->end && p->at[1] != '\n') p->at++;
        else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r') break;
    }
    return *p->at;
}

bool p_accept(struct parser *p, const char *mark) {
    p_peek(p);
    size_t n = strlen(mark);
    if (strncmp(p->at, mark, n) != 0) return false;
    p->at += n;
    return true;
}

/* The next characters, for messages. */
static const char *here(struct parser *p) {
    p_peek(p);
    if (p->at == p->end) return "the end of the text";
    size_t n = strcspn(p->at, "\n");
    return diag_quote(&p->tmp, arena_printf(&p->tmp, "%.*s", (int)(n < 20 ? n : 20), p->at));
}

bool p_expect(struct parser *p, const char *mark) {
    return p_accept(p, mark) || p_fail(p, E_PARSE, "expected `%s`, got %s", mark, here(p));
}

bool p_enter(struct parser *p) {
    return ++p->depth <= PARSE_DEPTH || p_fail(p, E_LIMIT, "nested more than %d levels deep", PARSE_DEPTH);
}
void p_leave(struct parser *p) { p->depth--; }

static size_t word_length(const char *s, const char *more) {
    size_t n = 0;
    if (begins_word(*s) || (*s && strchr(more, *s)))
        while (in_word(s[n]) || (s[n] && strchr(more, s[n]))) n++;
    return n;
}

const char *p_word(struct parser *p, const char *more) {
    p_peek(p);
    size_t n = word_length(p->at, more);
    if (!n) return NULL;
    const char *s = internn(p->c->names, p->at, n);
    p->at += n;
    return s;
}

bool p_accept_word(struct parser *p, const char *word) {
    p_peek(p);
    size_t n = word_length(p->at, "");
    if (n != strlen(word) || strncmp(p->at, word, n) != 0) return false;
    p->at += n;
    return true;
}

/* ---- strings */
static int hex_digit(char c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One character of a string, with escapes; -1 after an error. */
static int string_char(struct parser *p) {
    char c = *p->at++;
    if (c != '\\') return (unsigned char)c;
    c = *p->at++;
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case '"':
    case '\\': return c;
    case 'x':
        if (hex_digit(p->at[0]) >= 0 && hex_digit(p->at[1]) >= 0) {
            p->at += 2;
            return hex_digit(p->at[-2]) * 16 + hex_digit(p->at[-1]);
        }
    }
    p->at -= 1;
    p_fail(p, E_PARSE, "unknown escape in a string");
    return -1;
}

bool p_string(struct parser *p, struct str_elem *s) {
    *s = (struct str_elem){"", 0};
    if (!p_expect(p, "\"")) return false;
    struct text t = {0};
    while (!p->failed && *p->at != '"') {
        if (p->at >= p->end || *p->at == '\n') {
            p_fail(p, E_PARSE, "a string has no end");
            break;
        }
        int c = string_char(p);
        if (c >= 0) text_char(&t, (char)c);
    }
    if (!p->failed) {
        p->at++;
        *s = (struct str_elem){arena_copy(&p->c->arena, t.n ? t.s : "", t.n + 1), t.n};
    }
    text_free(&t);
    return !p->failed;
}

const char *p_name(struct parser *p) {
    struct str_elem s;
    if (!p_string(p, &s)) return "";
    if (memchr(s.p, 0, s.n)) p_fail(p, E_PARSE, "a name must not contain NUL");
    return intern(p->c->names, s.p);
}

const char *p_word_or_name(struct parser *p, const char *more) {
    if (p_peek(p) == '"') return p_name(p);
    const char *s = p_word(p, more);
    if (!s) p_fail(p, E_PARSE, "expected a name, got %s", here(p));
    return s ? s : "";
}

/* ---- numbers */
bool p_int(struct parser *p, int64_t *v) {
    p_peek(p);
    *v = 0;
    if (!is_digit(*p->at) && !(*p->at == '-' && is_digit(p->at[1])))
        return p_fail(p, E_PARSE, "expected an integer, got %s", here(p));
    char *stop;
    errno = 0;
    *v = strtoll(p->at, &stop, 10);
    if (errno) return p_fail(p, E_PARSE, "the number %s is too large", here(p));
    p->at = stop;
    return true;
}

static bool p_hex(struct parser *p, uint64_t *v) {
    int digits = 0;
    *v = 0;
    if (!p_expect(p, "0x")) return false;
    for (; hex_digit(*p->at) >= 0 && digits < 16; digits++) *v = *v << 4 | (unsigned)hex_digit(*p->at++);
    return digits > 0 || p_fail(p, E_PARSE, "expected hexadecimal digits");
}

/* Length of a decimal number; `1..64` is the number 1. */
static size_t number_length(const char *s) {
    size_t n = *s == '-';
    if (strncmp(s + n, "inf", 3) == 0 || strncmp(s + n, "nan", 3) == 0) return n + 3;
    while (is_digit(s[n])) n++;
    if (s[n] == '.' && s[n + 1] != '.')
        for (n++; is_digit(s[n]);) n++;
    if (s[n] == 'e' && (is_digit(s[n + 1]) || ((s[n + 1] == '-' || s[n + 1] == '+') && is_digit(s[n + 2]))))
        for (n += 2; is_digit(s[n]);) n++;
    return n;
}

bool p_at_float(struct parser *p) {
    p_peek(p);
    size_t n = number_length(p->at);
    return n && (memchr(p->at, '.', n) || memchr(p->at, 'e', n) || memchr(p->at, 'n', n));
}

bool p_float(struct parser *p, double *v) {
    p_peek(p);
    *v = 0;
    size_t n = number_length(p->at);
    char s[64];
    if (!n || n >= sizeof s) return p_fail(p, E_PARSE, "expected a number, got %s", here(p));
    memcpy(s, p->at, n);
    s[n] = 0;
    const char *stop;
    *v = text_read_f64(s, &stop);
    if (*stop || stop == s) return p_fail(p, E_PARSE, "expected a number, got %s", here(p));
    p->at += n;
    return true;
}

/* ---- dims */
const char *p_sym_key(struct parser *p, const char **name) {
    *name = p_word_or_name(p, "");
    int64_t number = 1;
    if (!p->failed && *p->at == '#') {
        p->at++;
        p_int(p, &number);
    }
    struct text t = {0};
    text_printf(&t, "%s", *name);
    text_char(&t, 0); /* no name contains it */
    text_printf(&t, "%lld", (long long)number);
    const char *key = internn(p->c->names, t.s, t.n);
    text_free(&t);
    return key;
}

static expr p_sum(struct parser *p);

static expr p_condition(struct parser *p) {
    struct ctx *c = p->c;
    expr r = x_poison(c);
    if (!p_enter(p)) return r;
    p_peek(p);
    const char *start = p->at;
    bool is_and = p_accept_word(p, "and"), is_or = !is_and && p_accept_word(p, "or");
    if ((is_and || is_or) && p_accept(p, "(")) {
        expr a = p_condition(p);
        p_expect(p, ",");
        expr b = p_condition(p);
        p_expect(p, ")");
        r = is_and ? x_and(c, a, b) : x_or(c, a, b);
    } else if (!is_and && !is_or && p_accept_word(p, "not") && p_accept(p, "(")) {
        r = x_not(c, p_condition(p));
        p_expect(p, ")");
    } else if (!p->failed) {
        p->at = start; /* everything must be on one line */
        expr a = p_sum(p);
        enum xop op = p_accept(p, "<=")   ? X_LE
                      : p_accept(p, "<")  ? X_LT
                      : p_accept(p, "==") ? X_EQ
                      : p_accept(p, "!=") ? X_NE
                                          : X_POISON;
        if (op == X_POISON) p_fail(p, E_PARSE, "expected a comparison, got %s", here(p));
        else r = x_cmp(c, op, a, p_sum(p));
    }
    p_leave(p);
    return r;
}

static expr p_call(struct parser *p, const char *fn) {
    struct ctx *c = p->c;
    bool select = strcmp(fn, "select") == 0;
    p_expect(p, "(");
    expr cond = select ? p_condition(p) : NULL;
    if (select) p_expect(p, ",");
    expr a = p_sum(p);
    p_expect(p, ",");
    expr b = p_sum(p);
    p_expect(p, ")");
    if (p->failed) return x_poison(c);
    return select ? x_select(c, cond, a, b) : strcmp(fn, "min") == 0 ? x_min(c, a, b) : x_max(c, a, b);
}

static expr p_factor(struct parser *p) {
    static const char *const calls[] = {"min", "max", "select"};
    expr e = x_poison(p->c);
    int64_t v;
    char ch = p_peek(p);
    if (is_digit(ch)) return p_int(p, &v) ? x_int(p->c, v) : e;
    if (p_accept(p, "(")) {
        e = p_sum(p);
        p_expect(p, ")");
        return e;
    }
    for (int i = 0; i < 3; i++)
        if (p_accept_word(p, calls[i])) return p_call(p, calls[i]);
    if (p_accept_word(p, "poison")) return e;
    const char *name, *key = p_sym_key(p, &name);
    if (p->failed) return e;
    const struct sym *s = map_get(&p->syms, PKEY(key));
    if (!s) p_fail(p, E_PARSE, "symbol %s is not declared", diag_quote(&p->tmp, name));
    return s ? x_sym(p->c, s) : e;
}

static expr p_term(struct parser *p) {
    expr e = p_factor(p);
    for (;;) {
        char op = p_peek(p);
        if (p->failed || (op != '*' && op != '/' && op != '%') || p->at[1] == '/') return e;
        p->at++;
        expr f = p_factor(p);
        e = op == '*' ? x_mul(p->c, e, f) : op == '/' ? x_div(p->c, e, f) : x_mod(p->c, e, f);
    }
}

static expr p_sum(struct parser *p) {
    expr e = x_poison(p->c);
    if (!p_enter(p)) return e;
    bool minus = p_accept(p, "-");
    e = p_term(p);
    if (minus) e = x_muli(p->c, e, -1);
    for (;;) {
        char op = p_peek(p);
        if (p->failed || (op != '+' && op != '-')) break;
        p->at++;
        expr t = p_term(p);
        e = op == '+' ? x_add(p->c, e, t) : x_sub(p->c, e, t);
    }
    p_leave(p);
    return e;
}

/* ---- types */
static enum dtype p_dtype(struct parser *p) {
    p_peek(p);
    size_t n = word_length(p->at, "");
    if (n == 4 && strncmp(p->at, "none", 4) == 0) {
        p->at += n;
        return NONE;
    }
    enum dtype t = dtype_by_name(p->at, n);
    if (!t) p_fail(p, E_PARSE, "expected a type, got %s", here(p));
    else p->at += n;
    return t;
}

bool p_at_dtype(struct parser *p) {
    p_peek(p);
    size_t n = word_length(p->at, "");
    return p->at[n] == '[' && dtype_by_name(p->at, n);
}

static bool p_tensor_type(struct parser *p, struct type *ty) {
    enum dtype t = p_dtype(p);
    expr dims[MAX_RANK];
    int rank = 0;
    p_expect(p, "[");
    if (p_accept(p, "*")) rank = -1;
    else if (p_peek(p) != ']') do {
            if (rank == MAX_RANK) return p_fail(p, E_LIMIT, "more than %d dimensions", MAX_RANK);
            dims[rank++] = p_sum(p);
        } while (p_accept(p, ","));
    p_expect(p, "]");
    *ty = type_tensor(p->c, t, dims, rank);
    return !p->failed;
}

bool p_type(struct parser *p, struct type *ty) {
    *ty = (struct type){.rank = -1};
    if (p_accept(p, "?")) return true;
    bool seq = p_accept_word(p, "seq"), opt = !seq && p_accept_word(p, "opt"),
         map = !seq && !opt && p_accept_word(p, "map");
    if (!seq && !opt && !map) return p_tensor_type(p, ty);
    if (!p_enter(p)) return false;
    p_expect(p, "<");
    ty->kind = seq ? TY_SEQUENCE : opt ? TY_OPTIONAL : TY_MAP;
    if (map) {
        ty->dtype = p_dtype(p);
        p_expect(p, ",");
    }
    struct type *elem = NEW(&p->c->arena, struct type);
    p_type(p, elem);
    ty->elem = elem;
    p_expect(p, ">");
    p_leave(p);
    return !p->failed;
}

/* ---- constant tensors */
static bool p_bytes(struct parser *p, unsigned char *to, size_t size) {
    p_expect(p, "0x");
    for (size_t i = size; i-- > 0 && !p->failed; p->at += 2) {
        if (hex_digit(p->at[0]) < 0 || hex_digit(p->at[1]) < 0)
            return p_fail(p, E_PARSE, "expected %zu hexadecimal digits", 2 * size);
        to[i] = (unsigned char)(hex_digit(p->at[0]) * 16 + hex_digit(p->at[1]));
    }
    return !p->failed;
}

static bool p_element(struct parser *p, struct tensor *x, int64_t i) {
    if (x->type == STR) return p_string(p, &((struct str_elem *)tensor_data(x))[i]);
    bool is_float = dtype_is_float(x->type), bits = p_peek(p) == '0' && p->at[1] == 'x';
    if (dtype_is_complex(x->type) || (is_float && bits && dtype_bits(x->type) >= 8)) {
        size_t size = (size_t)dtype_bytes(x->type);
        return p_bytes(p, (unsigned char *)tensor_data(x) + (size_t)i * size, size);
    }
    if (is_float) {
        double v;
        if (!p_float(p, &v)) return false;
        tensor_set_f(x, i, v);
        return true;
    }
    int64_t v;
    if (x->type == U64) {
        char *stop;
        errno = 0;
        v = (int64_t)strtoull(p->at, &stop, 10);
        if (!is_digit(*p->at) || errno) return p_fail(p, E_PARSE, "expected an unsigned integer, got %s", here(p));
        p->at = stop;
    } else if (!p_int(p, &v)) {
        return false;
    }
    tensor_set_i(x, i, v);
    return tensor_i(x, i) == v || p_fail(p, E_PARSE, "%lld does not fit in %s", (long long)v, dtype_name(x->type));
}

/* Small values that only depend on the hash: usable in computations, and the same everywhere. */
static void make_up(struct tensor *x, uint64_t hash, int64_t n) {
    uint64_t state = hash | 1;
    int span = dtype_bits(x->type) < 4 ? 2 : 8;
    x->stand_in = hash;
    for (int64_t i = 0; i < n && x->type != STR && x->type != C64 && x->type != C128; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        int k = (int)(state >> 40) & 15;
        if (dtype_is_float(x->type)) tensor_set_f(x, i, (double)(k - 8) / 8);
        else tensor_set_i(x, i, x->type == BOOL ? k & 1 : k % span);
    }
}

static bool count_of(const int64_t *dims, int rank, int64_t *n) {
    *n = 1;
    for (int i = 0; i < rank; i++)
        if (!mul_ok(*n, dims[i] ? dims[i] : 1, n)) return false;
    for (int i = 0; i < rank; i++)
        if (!dims[i]) *n = 0;
    return true;
}

/* The contents after `=`. */
static struct tensor *p_contents(struct parser *p, enum dtype t, const int64_t *dims, int rank, int64_t n) {
    struct arena *a = &p->c->arena;
    struct tensor *x;
    if (t != STR && p_accept_word(p, "splat")) {
        x = tensor_new(a, t, NULL, 0);
        p_element(p, x, 0);
        x->source = TS_SPLAT;
        x->rank = rank;
        memcpy(x->dims, dims, (size_t)rank * sizeof *dims);
        return x;
    }
    if (p_accept_word(p, "hash")) {
        uint64_t hash;
        if (!p_hex(p, &hash)) return NULL;
        int64_t bytes = dtype_packed_bytes(t, n);
        if (bytes < 0 || bytes > MAX_MADE_UP - p->made_up) {
            p_fail(p, E_LIMIT, "the constants of this text hold more than %lld bytes", (long long)MAX_MADE_UP);
            return NULL;
        }
        p->made_up += bytes;
        x = tensor_new(a, t, dims, rank);
        make_up(x, hash ? hash : 1, n);
        return x;
    }
    if (n > p->end - p->at) {
        p_fail(p, E_PARSE, "the text is too short for %lld elements", (long long)n);
        return NULL;
    }
    x = tensor_new(a, t, dims, rank);
    p_expect(p, "[");
    for (int64_t i = 0; i < n && !p->failed; i++) {
        if (i) p_expect(p, ",");
        p_element(p, x, i);
    }
    p_expect(p, "]");
    return x;
}

const struct tensor *p_tensor(struct parser *p) {
    enum dtype t = p_dtype(p);
    int64_t dims[MAX_RANK] = {0}, n;
    int rank = 0;
    p_expect(p, "[");
    if (!p->failed && p_peek(p) != ']') do {
            if (rank == MAX_RANK) p_fail(p, E_LIMIT, "more than %d dimensions", MAX_RANK);
            else if (p_int(p, &dims[rank]) && dims[rank++] < 0)
                p_fail(p, E_PARSE, "a constant has a negative dimension");
        } while (!p->failed && p_accept(p, ","));
    p_expect(p, "]");
    p_expect(p, "=");
    if (!p->failed && (t == NONE || t == IDX)) p_fail(p, E_PARSE, "no constant can have the type %s", dtype_name(t));
    if (!p->failed && (!count_of(dims, rank, &n) || dtype_packed_bytes(t, n) < 0))
        p_fail(p, E_SIZE, "a constant is too large");
    struct tensor *x = p->failed ? NULL : p_contents(p, t, dims, rank, n);
    return p->failed ? NULL : x;
}
