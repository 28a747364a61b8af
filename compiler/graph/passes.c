/* The table of graph passes, and running them by name. */
#include "compiler/graph/passes.h"
#include <string.h>

const struct graph_pass graph_passes[] = {
    {"sort", "order the nodes so that definitions come before uses", graph_sort},
    {"infer", "find all types, fold what is known, replace operators by their expansions", graph_infer},
    {"integers", "compute products of quantized operands in integers", graph_integers},
    {"few-bits", "keep weights of few bits as they are where they are multiplied", graph_few_bits},
    {"constants", "compute what inference left of nodes of constants", graph_fold_constants},
    {"dce", "remove nodes whose results nobody uses", graph_dce},
    {"cse", "make one node of equal ones", graph_cse},
    {"simplify", "apply the algebraic rules (`gcc2nn list-rules`)", graph_simplify},
    {"transposes", "move transposes to where they cancel", graph_transposes},
    {"rematerialise", "compute where it is read what bytes stand for", graph_rematerialise},
    {"fold-affine", "put scales and shifts by constants into weights", graph_fold_affine},
    {0},
};

static const struct graph_pass *find(const char *s, size_t n) {
    for (const struct graph_pass *p = graph_passes; p->name; p++)
        if (strlen(p->name) == n && memcmp(p->name, s, n) == 0) return p;
    return NULL;
}

static void unknown(struct graph *g, const char *s, size_t n) {
    struct diags *d = &g->ctx->diags;
    struct text t = {0};
    for (const struct graph_pass *p = graph_passes; p->name; p++)
        text_printf(&t, "%s%s", p == graph_passes ? "" : ", ", p->name);
    diag(d, DIAG_ERROR, E_USAGE, "there is no pass %s",
         diag_quote(&g->ctx->arena, arena_printf(&g->ctx->arena, "%.*s", (int)n, s)));
    diag_help(d, "passes: %s", t.s);
    text_free(&t);
}

bool run_graph_passes(struct graph *g, const char *names) {
    while (*names) {
        size_t n = strcspn(names, ",");
        const struct graph_pass *p = find(names, n);
        if (!p) {
            unknown(g, names, n);
            return false;
        }
        trace_pass(g, p->name);
        if (!p->run(g) || !graph_verify(g, p->name)) return false;
        names += n + (names[n] == ',');
    }
    return true;
}
