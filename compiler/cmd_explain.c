/* `gcc2nn explain E0123`: the long text of a diagnostic's code. */
#include "compiler/commands.h"
#include <stdio.h>
#include <stdlib.h>

int cmd_explain(const struct options *o) {
    const char *word = o->args.v[0];
    char *end;
    long code = strtol(word + (*word == 'E' || *word == 'e'), &end, 10);
    const struct diag_row *row = *end || code < 0 || code > 9999 ? NULL : diag_explain((int)code);
    if (!row) {
        struct ctx *c = ctx_new();
        options_diags(o, &c->diags);
        diag(&c->diags, DIAG_ERROR, E_USAGE, "there is no diagnostic %s", diag_quote(&c->arena, word));
        diag_help(&c->diags, "docs/errors.md lists them");
        int status = report_diags(&c->diags);
        ctx_free(c);
        return status;
    }
    if (o->json) {
        struct arena a = {0};
        print_json(json_pack("{s:s, s:s, s:s, s:s, s:s}", "code", arena_printf(&a, "E%04ld", code), "title", row->title,
                             "cause", row->cause, "example", row->example, "remedy", row->remedy));
        arena_free(&a);
        return EXIT_OK;
    }
    struct text t = {0};
    text_printf(&t, "E%04ld: %s\n\n", code, row->title);
    help_wrap(&t, row->cause, 0);
    text_printf(&t, "\nExample:\n    %s\n\nWhat to do:\n    ", row->example);
    help_wrap(&t, row->remedy, 4);
    print_text(&t);
    return EXIT_OK;
}
