/* How commands end: diagnostics to standard error, results to standard output, the exit status. */
#include "compiler/commands.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool want_color(void) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO);
}

static int status_of(enum diag_code code) {
    switch (code) {
    case E_USAGE: return EXIT_USAGE;
    case E_BUDGET: return EXIT_BUDGET;
    case E_ENV:
    case E_WRITE:
    case E_FILE: return EXIT_ENV;
    case E_OUTPUT: return EXIT_DIFFERS;
    default: return EXIT_MODEL;
    }
}

int report_diags(const struct diags *d) {
    struct text t = {0};
    diag_print(d, &t, want_color());
    if (t.n) fwrite(t.s, 1, t.n, stderr);
    text_free(&t);
    for (int i = 0; i < d->n; i++)
        if (d->v[i].severity == DIAG_ERROR) return status_of(d->v[i].code);
    return d->errors ? EXIT_MODEL : EXIT_OK;
}

void print_text(struct text *t) {
    if (t->n) fwrite(t->s, 1, t->n, stdout);
    text_free(t);
}
