/* Ends the process with one line on stderr: with code 5 when memory runs out, with code 70 when an invariant of ours is
 * broken. What a model or a user can do wrong goes through diag.c instead. */
#include "ir/base/die.h"
#include "ir/base/diag.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void die_memory(size_t wanted) {
    if (wanted == SIZE_MAX) fprintf(stderr, "gcc2nn: out of memory: a size exceeds the address space\n");
    else if (wanted) fprintf(stderr, "gcc2nn: out of memory: %zu bytes were needed\n", wanted);
    else fprintf(stderr, "gcc2nn: out of memory\n");
    exit(wanted == SIZE_MAX ? EXIT_INTERNAL : EXIT_MEMORY);
}

void die_limit(size_t limit) {
    fprintf(stderr, "gcc2nn: the memory limit of %zu bytes was reached\n", limit);
    exit(EXIT_MEMORY);
}

void bug(const char *file, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "gcc2nn: internal error at %s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(EXIT_INTERNAL);
}
