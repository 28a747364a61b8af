/* Ends the process with one line on stderr: with code 5 when memory runs out, with code 70 when an invariant of ours is
 * broken. What a model or a user can do wrong goes through diag.c instead. */
#include "ir/base/die.h"
#include "ir/base/diag.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *our_version = "";
static int nwords;
static char **words;
void die_command(const char *version, int argc, char **argv) {
    our_version = version;
    nwords = argc;
    words = argv;
}

struct report {
    char s[2000];
    size_t n;
};
static void add(struct report *r, const char *s, size_t n) {
    if (n > sizeof r->s - 1 - r->n) n = sizeof r->s - 1 - r->n;
    memcpy(r->s + r->n, s, n);
    r->n += n;
    r->s[r->n] = 0;
}
/* As a shell reads it. What a terminal might obey is left out. */
static void add_word(struct report *r, const char *s) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=.,:/@%";
    bool quoted = !*s || s[strspn(s, plain)];
    add(r, quoted ? " '" : " ", quoted ? 2 : 1);
    for (; *s; s++) {
        bool odd = (unsigned char)*s < ' ' || (unsigned char)*s >= 0x7f;
        if (*s == '\'') add(r, "'\\''", 4);
        else add(r, odd ? "?" : s, 1);
    }
    if (quoted) add(r, "'", 1);
}
const char *die_report(void) {
    static struct report r;
    static const char ask[] =
        "this is a mistake in gcc2nn, not in what it was given: please report it with this message, "
        "the model (or the least part of it that shows the same) and the command, gcc2nn ";
    r.n = 0;
    add(&r, ask, sizeof ask - 1);
    add(&r, our_version, strlen(our_version));
    add(&r, ":", 1);
    for (int k = 0; k < nwords; k++) add_word(&r, words[k]);
    return r.s;
}

void die_memory(size_t wanted) {
    if (wanted == SIZE_MAX)
        fprintf(stderr, "gcc2nn: out of memory: a size exceeds the address space\n  help: %s\n", die_report());
    else if (wanted) fprintf(stderr, "gcc2nn: out of memory: %zu bytes were needed\n", wanted);
    else fprintf(stderr, "gcc2nn: out of memory\n");
    exit(wanted == SIZE_MAX ? EXIT_INTERNAL : EXIT_ENV);
}

void die_limit(size_t limit) {
    fprintf(stderr, "gcc2nn: the memory limit of %zu bytes was reached\n", limit);
    exit(EXIT_ENV);
}

void bug(const char *file, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "gcc2nn: internal error at %s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n  help: %s\n", die_report());
    va_end(ap);
    exit(EXIT_INTERNAL);
}
