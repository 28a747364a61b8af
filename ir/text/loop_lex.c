/* Splits loop IR text into logical lines and tokens, and keeps the parser's scopes. The text is untrusted. */
#include "ir/text/loop_lex.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>

void parse_error(struct parser *p, int line, const char *fmt, ...) {
    p->errors++;
    if (p->failed) return; /* one message for each line */
    p->failed = true;
    struct text t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    diag_at(&p->c->diags, DIAG_ERROR, E_PARSE, arena_printf(&p->c->arena, "%s:%d", p->file, line), NULL, "%s", t.s);
    text_free(&t);
}

/* ---- tokens */
static char char_at(const struct parser *p, size_t at) { return at < p->n ? p->text[at] : '\n'; }

static struct token *add_token(struct parser *p, enum token_kind kind, size_t from, size_t to, int line) {
    struct token t = {.kind = kind, .line = line};
    if (kind == T_NAME || kind == T_PUNCT) t.s = internn(p->c->names, p->text + from, to - from);
    PUSH(&p->c->arena, &p->tokens, t);
    return &p->tokens.v[p->tokens.n - 1];
}
static int hex(char ch) { return is_digit(ch) ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1; }
static size_t lex_quoted(struct parser *p, size_t at, int line) {
    struct text t = {0};
    text_add(&t, "");
    size_t from = at++;
    for (;; at++) {
        char ch = char_at(p, at);
        if (ch == '\n') {
            parse_error(p, line, "a quoted name does not end");
            break;
        }
        if (ch == '"') {
            at++;
            break;
        }
        if (ch == '\\') {
            ch = char_at(p, ++at);
            if (ch == 'n') ch = '\n';
            else if (ch == 'x' && hex(char_at(p, at + 1)) >= 0 && hex(char_at(p, at + 2)) >= 0) {
                ch = (char)(hex(char_at(p, at + 1)) * 16 + hex(char_at(p, at + 2)));
                at += 2;
            } else if (ch != '"' && ch != '\\') {
                parse_error(p, line, "unknown escape in a quoted name");
                break;
            }
            if (!ch) {
                parse_error(p, line, "a name cannot hold a NUL byte");
                break;
            }
        }
        text_char(&t, ch);
    }
    add_token(p, T_QUOTED, from, from, line)->s = internn(p->c->names, t.s ? t.s : "", t.n);
    text_free(&t);
    return at;
}
static double decimal(const char *s, bool single) {
    static locale_t c_locale;
    if (!c_locale) c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = uselocale(c_locale);
    double v = single ? (double)strtof(s, NULL) : strtod(s, NULL);
    uselocale(before);
    return v;
}
static size_t lex_number(struct parser *p, size_t at, int line) {
    size_t from = at;
    uint64_t v = 0;
    bool big = false, flt = false;
    for (; is_digit(char_at(p, at)); at++) {
        big |= __builtin_mul_overflow(v, 10u, &v);
        big |= __builtin_add_overflow(v, (uint64_t)(char_at(p, at) - '0'), &v);
    }
    if (char_at(p, at) == '.' && is_digit(char_at(p, at + 1))) {
        flt = true;
        for (at++; is_digit(char_at(p, at)); at++) {}
    }
    if (char_at(p, at) == 'e') {
        size_t e = at + 1;
        if (char_at(p, e) == '+' || char_at(p, e) == '-') e++;
        if (is_digit(char_at(p, e))) {
            flt = true;
            for (at = e; is_digit(char_at(p, at)); at++) {}
        }
    }
    size_t end = at;
    while (in_word(char_at(p, at))) at++;
    enum dtype suffix = at > end ? dtype_by_name(p->text + end, at - end) : NONE;
    bool value_type =
        suffix != NONE && suffix != BOOL && suffix != STR && suffix != IDX && dtype_value(suffix) == suffix;
    if (at > end && (!value_type || (flt && suffix != F32 && suffix != F64)))
        parse_error(p, line, "unknown ending of a number");
    if (suffix == F32 || suffix == F64) flt = true;
    if (!flt && big) parse_error(p, line, "this integer does not fit in 64 bits");
    if (end - from > 200) parse_error(p, line, "a number of more than 200 characters");
    struct token *t = add_token(p, flt ? T_FLOAT : T_INT, from, from, line);
    t->suffix = flt && suffix == NONE ? F32 : suffix;
    t->i = v;
    if (flt && end - from <= 200) {
        char s[208] = {0};
        memcpy(s, p->text + from, end - from);
        t->f = decimal(s, t->suffix == F32);
        t->wide = decimal(s, false);
    }
    return at;
}
static size_t punct_length(const struct parser *p, size_t at) {
    static const char *const words[] = {"...", "..", "//", "<=", ">=", "==", "!=", "+=", "*=", NULL};
    for (int k = 0; words[k]; k++) {
        size_t n = strlen(words[k]);
        if (at + n <= p->n && !memcmp(p->text + at, words[k], n)) return n;
    }
    char ch = char_at(p, at);
    return ch && strchr("()[]{},:;+-*/%<>=@.", ch) ? 1 : 0;
}
/* ---- lines */
static size_t skip_blank(const struct parser *p, size_t at) {
    while (at < p->n && (p->text[at] == ' ' || p->text[at] == '\r')) at++;
    return at;
}
static size_t line_end(const struct parser *p, size_t at) {
    const char *e = at < p->n ? memchr(p->text + at, '\n', p->n - at) : NULL;
    return e ? (size_t)(e - p->text) : p->n;
}
/* Start of the next line that is not blank; *at_line is its number. */
static size_t next_start(const struct parser *p, size_t at, int *at_line) {
    while (at < p->n) {
        size_t end = line_end(p, at), s = skip_blank(p, at);
        if (s < end) return at;
        at = end + 1;
        ++*at_line;
    }
    return p->n;
}
static bool is_comment(const struct parser *p, size_t s) { return char_at(p, s) == '/' && char_at(p, s + 1) == '/'; }
/* Indentation of the next line of code, at or after `at`; -1 at the end. Cached, because comments come in runs. */
static int code_indent(struct parser *p, size_t at) {
    int ignored = 0;
    if (p->code_indent && at <= p->code_at) return p->code_indent - 2;
    p->code_indent = 1;
    for (at = next_start(p, at, &ignored); at < p->n; at = next_start(p, line_end(p, at) + 1, &ignored)) {
        size_t s = skip_blank(p, at);
        if (is_comment(p, s)) continue;
        p->code_indent = (int)(s - at > 100000 ? 100000 : s - at) + 2;
        break;
    }
    p->code_at = at;
    return p->code_indent - 2;
}
static void trim(const char **s, size_t *n) {
    while (*n && (**s == ' ' || **s == '\t')) ++*s, --*n;
    while (*n && ((*s)[*n - 1] == ' ' || (*s)[*n - 1] == '\t' || (*s)[*n - 1] == '\r')) --*n;
}
/* Tokens of one physical line; returns the position of its end. Adjusts *open by the brackets. */
static size_t lex_line(struct parser *p, size_t at, int line, int *open) {
    size_t end = line_end(p, at);
    while ((at = skip_blank(p, at)) < end) {
        char ch = p->text[at];
        if (ch == '#') {
            p->l.remark = p->text + at + 1;
            p->l.nremark = end - at - 1;
            trim(&p->l.remark, &p->l.nremark);
            break;
        }
        if (begins_word(ch)) {
            size_t from = at;
            while (in_word(char_at(p, at))) at++;
            add_token(p, T_NAME, from, at, line);
        } else if (is_digit(ch)) at = lex_number(p, at, line);
        else if (ch == '"') at = lex_quoted(p, at, line);
        else {
            size_t n = punct_length(p, at);
            if (!n) {
                if (ch > ' ' && ch < 127) parse_error(p, line, "unexpected character `%c`", ch);
                else
                    parse_error(p, line, "unexpected byte 0x%02x%s", (unsigned char)ch,
                                ch == '\t' ? " (indent with blanks)" : "");
                break;
            }
            if (n == 1 && strchr("([{", ch)) ++*open;
            if (n == 1 && strchr(")]}", ch) && *open) --*open;
            add_token(p, T_PUNCT, at, at + n, line);
            at += n;
        }
    }
    return end;
}
static size_t indent_at(const struct parser *p, size_t at) { return skip_blank(p, at) - at; }
void next_line(struct parser *p) {
    p->failed = false;
    p->tokens.n = 0;
    p->l = (struct line){0};
    size_t at = p->pos = next_start(p, p->pos, &p->next_line);
    p->have = at < p->n;
    if (!p->have) {
        add_token(p, T_END, 0, 0, p->next_line);
        return;
    }
    size_t s = skip_blank(p, at), end = line_end(p, at);
    p->l.number = p->next_line;
    p->l.indent = (int)(s - at > 100000 ? 100000 : s - at);
    p->l.rest = p->text + s;
    p->l.nrest = end - s;
    trim(&p->l.rest, &p->l.nrest);
    if (is_comment(p, s)) {
        p->l.comment = true;
        p->l.rest += 2;
        p->l.nrest -= 2;
        trim(&p->l.rest, &p->l.nrest);
        int code = code_indent(p, end + 1); /* a comment is indented like the code after it, unless it is deeper
                                             * itself */
        if (code > p->l.indent) p->l.indent = code;
        p->pos = end + 1;
        p->next_line++;
        add_token(p, T_END, 0, 0, p->l.number);
        return;
    }
    bool raw = p->l.nrest > 5 && (!memcmp(p->l.rest, "step ", 5) || !memcmp(p->l.rest, "todo ", 5));
    int open = 0;
    if (raw) add_token(p, T_NAME, s, s + 4, p->l.number);
    else lex_line(p, s, p->l.number, &open);
    p->pos = end + 1;
    p->next_line++;
    while (open && !p->failed) {
        int number = p->next_line;
        size_t from = next_start(p, p->pos, &number);
        if (from >= p->n || indent_at(p, from) <= (size_t)p->l.indent) break;
        p->pos = lex_line(p, from, number, &open) + 1;
        p->next_line = number + 1;
    }
    add_token(p, T_END, 0, 0, p->next_line - 1);
}

/* ---- reading tokens */
struct token *peek(struct parser *p) {
    return &p->tokens.v[p->l.at];
}
struct token *peek2(struct parser *p) {
    return &p->tokens.v[peek(p)->kind == T_END ? p->l.at : p->l.at + 1];
}
bool at_punct(struct parser *p, const char *s) { return peek(p)->kind == T_PUNCT && !strcmp(peek(p)->s, s); }
bool at_word(struct parser *p, const char *s) { return peek(p)->kind == T_NAME && !strcmp(peek(p)->s, s); }
bool accept(struct parser *p, const char *punct) { return at_punct(p, punct) ? (p->l.at++, true) : false; }
bool accept_word(struct parser *p, const char *word) { return at_word(p, word) ? (p->l.at++, true) : false; }
void unexpected(struct parser *p, const char *wanted) {
    struct token *t = peek(p);
    if (t->kind == T_END) parse_error(p, t->line, "%s expected at the end of the line", wanted);
    else if (t->s) parse_error(p, t->line, "%s expected before %s", wanted, diag_quote(&p->c->arena, t->s));
    else parse_error(p, t->line, "%s expected before a number", wanted);
}
bool expect(struct parser *p, const char *punct) {
    if (accept(p, punct)) return true;
    unexpected(p, arena_printf(&p->c->arena, "`%s`", punct));
    return false;
}
const char *parse_name(struct parser *p, const char *what) {
    struct token *t = peek(p);
    if (t->kind == T_NAME || t->kind == T_QUOTED) return p->l.at++, t->s;
    unexpected(p, what);
    return NULL;
}
bool parse_int64(struct parser *p, int64_t *v) {
    bool neg = accept(p, "-");
    struct token *t = peek(p);
    if (t->kind != T_INT || t->suffix != NONE || t->i > (uint64_t)INT64_MAX + neg) {
        unexpected(p, "an integer");
        return false;
    }
    *v = neg ? (int64_t)(0 - t->i) : (int64_t)t->i;
    p->l.at++;
    return true;
}

/* ---- scopes: a stack, and for each name a chain of what it means from the innermost outwards */
static struct binding none;
static struct binding *visible(struct parser *p, struct binding *b, bool quoted) {
    while (b && b != &none && ((b->kind == B_LET && b->serial != p->serial) || (b->kind == B_DIM && quoted)))
        b = b->outer;
    return b == &none ? NULL : b;
}
void bind_name(struct parser *p, const char *name, enum binding_kind kind, expr e, struct buf *buf) {
    struct binding *b = NEW(&p->c->arena, struct binding);
    struct map *m = kind == B_BUF ? &p->bufs : &p->values;
    *b = (struct binding){visible(p, map_get(m, PKEY(name)), false), p->top, name, kind, p->serial, e, buf};
    map_put(m, PKEY(name), b);
    p->top = b;
}
void unbind_to(struct parser *p, struct binding *top) {
    for (; p->top != top; p->top = p->top->below)
        map_put(p->top->kind == B_BUF ? &p->bufs : &p->values, PKEY(p->top->name),
                p->top->outer ? p->top->outer : &none);
}
struct binding *lookup(struct parser *p, const char *name, bool buf, bool quoted) {
    return visible(p, map_get(buf ? &p->bufs : &p->values, PKEY(name)), quoted);
}

/* ---- ends of lines */
bool at_end(struct parser *p) { return peek(p)->kind == T_END; }
void end_of_line(struct parser *p) {
    if (!p->failed && !at_end(p)) {
        bool slash = at_punct(p, "//");
        unexpected(p,
                   slash ? "the end of the line (remarks at the end of a line start with #)" : "the end of the line");
    }
}
void skip_deeper(struct parser *p, int indent) {
    while (p->have && p->l.indent > indent) next_line(p);
}
