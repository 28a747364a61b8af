/* `gcc2nn explain E0123`: the long text of a diagnostic's code. */
#include "compiler/commands.h"
#include <stdio.h>
#include <stdlib.h>

int cmd_explain(const struct options *o) {
    const char *word = o->args.v[0], *title, *text;
    char *end;
    long code = strtol(word + (*word == 'E' || *word == 'e'), &end, 10);
    if (*end || code < 0 || code > 9999 || !diag_explain((int)code, &title, &text)) {
        struct ctx *c = ctx_new();
        c->diags.json = o->json;
        diag(&c->diags, DIAG_ERROR, E_USAGE, "there is no diagnostic %s", diag_quote(&c->arena, word));
        diag_help(&c->diags, "docs/errors.md lists them");
        int status = report_diags(&c->diags);
        ctx_free(c);
        return status;
    }
    if (o->json) {
        struct arena a = {0};
        print_json(
            json_pack("{s:s, s:s, s:s}", "code", arena_printf(&a, "E%04ld", code), "title", title, "text", text));
        arena_free(&a);
        return EXIT_OK;
    }
    printf("E%04ld: %s\n\n%s\n", code, title, text);
    return EXIT_OK;
}
