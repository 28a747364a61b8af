/* What the tests of the loop IR's text share: reading, printing, sample files. */
#ifndef NN_TESTS_LOOP_TEXT_H
#define NN_TESTS_LOOP_TEXT_H
#include "ir/loop/loop.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline char *sample(const char *name, size_t *n) {
    const char *root = getenv("GCC2NN_SOURCE_ROOT");
    char path[512];
    snprintf(path, sizeof path, "%s/tests/text/loop/inputs/%s.lir", root ? root : ".", name);
    FILE *f = fopen(path, "rb");
    cr_assert(f, "no sample %s", path);
    char *s = malloc(1 << 16);
    *n = fread(s, 1, (1 << 16) - 1, f);
    s[*n] = 0;
    fclose(f);
    return s;
}
/* The diagnostics so far; valid until the next call. */
static inline const char *complaints(struct ctx *c) {
    static struct text t;
    t.n = 0;
    text_add(&t, "");
    diag_print(&c->diags, &t, false);
    return t.s;
}
static inline char *printed(const struct module *m) {
    struct text t = {0};
    loop_print(&t, m);
    return t.s;
}
#endif
