/* `gcc2nn explain E0123`: the long text of a diagnostic's code. `gcc2nn explain MODEL --kernel K`: what a kernel
 * computes, and why it is computed as it is. `gcc2nn explain MODEL [NODE]`: explain_node.h. */
#include "compiler/choices.h"
#include "compiler/explain_node.h"
#include "compiler/session.h"
#include "ir/base/nearest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int explain_code(const struct options *o) {
    const char *word = o->args.v[0];
    char *end;
    long code = strtol(word + (*word == 'E' || *word == 'e'), &end, 10);
    const struct diag_row *row = *end || code < 0 || code > 9999 ? NULL : diag_explain((int)code);
    if (!row) {
        struct ctx *c = ctx_new();
        options_diags(o, &c->diags);
        diag(&c->diags, DIAG_ERROR, E_USAGE, "there is no diagnostic %s", diag_quote(&c->arena, word));
        diag_help(&c->diags, "docs/errors.md lists them; of a model, its nodes and kernels are explained");
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

/* ---- a kernel */
struct explaining {
    struct session s; /* first member, because the dump's callback gets the session */
    const char *choices;
};
static void take_choices(void *env, const char *pass, const char *text) {
    struct explaining *x = env;
    (void)pass;
    x->choices = arena_printf(&x->s.c->arena, "%s", text);
}
/* By its name, "k3_conv", or the number in it, "k3". */
static bool is_called(const char *name, const char *word) {
    size_t n = strlen(word);
    return !strcmp(name, word) || (!strncmp(name, word, n) && name[n] == '_');
}
static void print_kernel(struct explaining *x, const char *word) {
    struct arena *a = &x->s.c->arena;
    VEC(const char *) names = {0};
    const char *at = x->choices, *name, *text;
    while ((text = choices_next(a, &at, &name))) {
        if (is_called(name, word)) {
            struct text t = {0};
            text_add(&t, text);
            if (x->s.o->json) print_json(json_pack("{s:s, s:s}", "kernel", name, "text", text));
            else print_text(&t);
            text_free(&t);
            return;
        }
        PUSH(a, &names, name);
    }
    diag(&x->s.c->diags, DIAG_ERROR, E_USAGE, "--kernel: there is no kernel %s%s", diag_quote(a, word),
         did_you_mean(a, word, names.v, names.n));
    diag_help(&x->s.c->diags, "--dump-after=choices shows all of them");
}
static int explain_kernel(const struct options *o) {
    static const char *const choices[] = {"choices"};
    struct explaining x = {.choices = ""};
    if (session_open(&x.s, o)) {
        x.s.compile.dump_after = choices, x.s.compile.ndump = 1;
        x.s.compile.dump = take_choices;
        x.s.compile.stop_after = "lower";
        if (session_compile(&x.s)) print_kernel(&x, o->kernel);
    }
    return session_close(&x.s);
}
/* A code, a file, or a misspelt code. */
static bool names_model(const char *word) {
    char *end;
    long code = strtol(word + (*word == 'E' || *word == 'e'), &end, 10);
    return (*end || !diag_explain((int)code)) && (strpbrk(word, "./") || access(word, F_OK) == 0);
}
int cmd_explain(const struct options *o) {
    if (o->kernel) return explain_kernel(o);
    bool model = o->args.n > 1 || names_model(o->args.v[0]);
    return model ? explain_model(o, o->args.n > 1 ? o->args.v[1] : NULL) : explain_code(o);
}
