/* Ends the process, or what die_catch guards, with one line on stderr: code 5 when memory runs out, code 70 for a
 * broken invariant. Errors of models and users go through diag.c instead. */
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
/* Quoted for a shell. Characters that might control a terminal are left out. */
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

/* ---- the ends */
static _Thread_local struct die_catch *catcher;
void die_catch(struct die_catch *c) { catcher = c; }

/* Prints the message, or hands it to the catcher, then without the program's name, which is not the caller's. */
_Noreturn NN_PRINTF(2, 0) static void leave(int status, const char *fmt, va_list ap) {
    if (!catcher) {
        fputs("gcc2nn: ", stderr);
        vfprintf(stderr, fmt, ap);
        if (status == EXIT_INTERNAL) fprintf(stderr, "\n  help: %s", die_report());
        fputc('\n', stderr);
        exit(status);
    }
    struct die_catch *c = catcher;
    catcher = NULL;
    c->status = status;
    vsnprintf(c->message, sizeof c->message, fmt, ap);
    longjmp(c->to, 1);
}
_Noreturn NN_PRINTF(2, 3) static void leave_with(int status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    leave(status, fmt, ap);
}
void die_memory(size_t wanted) {
    if (wanted == SIZE_MAX) leave_with(EXIT_INTERNAL, "out of memory: a size exceeds the address space");
    if (wanted) leave_with(EXIT_ENV, "out of memory: %zu bytes were needed", wanted);
    leave_with(EXIT_ENV, "out of memory");
}
void die_limit(size_t limit) { leave_with(EXIT_ENV, "the memory limit of %zu bytes was reached", limit); }

void bug(const char *file, int line, const char *fmt, ...) {
    static _Thread_local char where[2000]; /* static, because there may be no memory left */
    va_list ap;
    va_start(ap, fmt);
    int n = snprintf(where, sizeof where, "internal error at %s:%d: ", file, line);
    if (n > 0 && (size_t)n < sizeof where) vsnprintf(where + n, sizeof where - (size_t)n, fmt, ap);
    va_end(ap);
    leave_with(EXIT_INTERNAL, "%s", where);
}
