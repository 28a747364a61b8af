/* Ends the process with one line on stderr and code 70. Used by the base when memory runs out and by every stage when
 * an invariant of ours is broken; what a user can do wrong goes through diag.c instead. */
#include "ir/base/die.h"
#include "ir/base/diag.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void die_memory(size_t wanted) {
    if (wanted == SIZE_MAX) fprintf(stderr, "gcc2nn: out of memory: a size exceeds the address space\n");
    else fprintf(stderr, "gcc2nn: out of memory: %zu bytes were needed\n", wanted);
    exit(EXIT_INTERNAL);
}

void die_limit(size_t limit) {
    fprintf(stderr, "gcc2nn: the memory limit of %zu bytes was reached\n", limit);
    exit(EXIT_INTERNAL);
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
