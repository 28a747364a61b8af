/* Response files. See response.h. Before the command line is parsed. */
#include "compiler/response.h"
#include "compiler/import/file.h"
#include "ir/base/ctx.h"
#include <string.h>

/* Deeper than any hand-made file; ends recursion of files that name themselves. */
enum { DEPTH = 16, MOST_BYTES = 1 << 20, MOST_WORDS = 1 << 16 };
struct expansion {
    struct arena *a;
    struct text *problem;
    VEC(char *) words;
    bool only_args; /* after `--` */
};
static bool take_word(struct expansion *e, char *word, int depth);

/* Blanks separate words, except within quotes; a backslash quotes the next character. */
static char *next_word(struct arena *a, const char **at, const char *end) {
    const char *s = *at;
    char quote = 0;
    struct text word = {0};
    while (s < end && strchr(" \t\r\n\f\v", *s)) s++;
    bool any = s < end;
    for (; s < end && (quote || !strchr(" \t\r\n\f\v", *s)); s++) {
        if (*s == '\\' && s + 1 < end) text_char(&word, *++s);
        else if (quote ? *s == quote : *s == '"' || *s == '\'') quote = quote ? 0 : *s;
        else text_char(&word, *s);
    }
    char *copy = any ? arena_printf(a, "%s", word.s ? word.s : "") : NULL;
    text_free(&word);
    *at = s;
    return copy;
}
static bool take_words(struct expansion *e, const char *path, const char *s, size_t n, int depth) {
    const char *end = s + n;
    if (n > MOST_BYTES || memchr(s, 0, n))
        return text_printf(e->problem, "`@%s` is no file of options: it %s", path,
                           n > MOST_BYTES ? "is too large" : "holds a zero byte"),
               false;
    for (char *word; (word = next_word(e->a, &s, end));)
        if (!take_word(e, word, depth)) return false;
    return true;
}
static bool take_file(struct expansion *e, const char *path, int depth) {
    struct ctx *c = ctx_new();
    struct mapped_file f = {0};
    bool ok = depth <= DEPTH;
    if (!ok) text_printf(e->problem, "`@%s`: files of options name each other %d deep", path, DEPTH);
    else if (!(ok = file_map(&c->diags, path, &f)))
        text_printf(e->problem, "`@%s`: %s", path, c->diags.n ? c->diags.v[0].message : "it cannot be read");
    if (ok) ok = take_words(e, path, (const char *)f.bytes, f.size, depth);
    file_unmap(&f);
    ctx_free(c);
    return ok;
}
static bool take_word(struct expansion *e, char *word, int depth) {
    if (!e->only_args && word[0] == '@' && word[1]) return take_file(e, word + 1, depth + 1);
    e->only_args |= !strcmp(word, "--");
    if (e->words.n >= MOST_WORDS) return text_add(e->problem, "there are too many words"), false;
    PUSH(e->a, &e->words, word);
    return true;
}
bool response_expand(struct arena *a, int *argc, char ***argv, struct text *problem) {
    struct expansion e = {.a = a, .problem = problem};
    PUSH(a, &e.words, **argv); /* the program's name */
    for (int k = 1; k < *argc; k++)
        if (!take_word(&e, (*argv)[k], 0)) return false;
    PUSH(a, &e.words, NULL);
    *argc = e.words.n - 1, *argv = e.words.v;
    return true;
}
