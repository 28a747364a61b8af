/* The pipeline with custom passes: where each shared object runs among the compiler's passes. See driver.h. */
#include "compiler/driver.h"
#include "ir/base/nearest.h"
#include <string.h>

typedef VEC(struct pass_row) row_list;
struct place {
    const char *file, *pass; /* pass: the neighbouring pass */
    bool before;
};
static struct place place_of(struct ctx *c, const char *word) {
    static const struct {
        const char *word;
        bool before;
    } sides[] = {{":after=", false}, {":before=", true}};
    const char *colon = strrchr(word, ':'); /* a `:` may also be part of the file's name */
    for (int k = 0; k < 2 && colon; k++) {
        size_t n = strlen(sides[k].word);
        if (!strncmp(colon, sides[k].word, n))
            return (struct place){internn(c->names, word, (size_t)(colon - word)), colon + n, sides[k].before};
    }
    return (struct place){word, "infer", false};
}
static int row_named(const row_list *rows, const char *name) {
    for (int k = 0; k < rows->n; k++)
        if (!strcmp(rows->v[k].name, name)) return k;
    return -1;
}
static int refuse(struct ctx *c, const struct place *at, const char *why, const char *help) {
    diag_at(&c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "--pass: %s: %s", diag_quote(&c->arena, at->file), why);
    diag_help(&c->diags, "%s", help);
    return -1;
}
/* The position of the new row: after a pass that leaves a graph. -1: a diagnostic. */
static int find_place(struct ctx *c, const row_list *rows, const struct place *at) {
    const char *names[128];
    const char *all = "", *quoted = diag_quote(&c->arena, at->pass);
    int n = 0, k = row_named(rows, at->pass);
    for (int j = 0; j < rows->n && rows->v[j].level != LEVEL_LOOP && n < 128; j++) {
        names[n++] = rows->v[j].name;
        all = format(c, "%s%s%s", all, j ? " " : "", rows->v[j].name);
    }
    if (k < 0)
        return refuse(c, at, format(c, "there is no pass %s%s", quoted, did_you_mean(&c->arena, at->pass, names, n)),
                      format(c, "it can stand behind %s", all));
    k += !at->before;
    if (k && rows->v[k - 1].level != LEVEL_LOOP) {
        while (!at->before && rows->v[k].custom) k++; /* those given earlier come first */
        return k;
    }
    return refuse(c, at, format(c, "there is no graph %s pass %s", at->before ? "before" : "after", quoted),
                  format(c, "it can stand behind %s", all));
}
static bool name_is_free(struct ctx *c, const row_list *rows, const struct custom_pass *p) {
    static const char others[] = " " DUMP_NAMES " ";
    int k = row_named(rows, p->name);
    if (k < 0 && !strstr(others, format(c, " %s ", p->name))) return true;
    const struct custom_pass *twin = k >= 0 ? rows->v[k].custom : NULL;
    diag_at(&c->diags, DIAG_ERROR, E_PASS, p->file, NULL, "there is a pass %s already: %s", p->name,
            twin ? diag_quote(&c->arena, twin->file) : "the compiler's own");
    diag_help(&c->diags, "give one of them another name");
    return false;
}
static bool add(struct ctx *c, row_list *rows, const char *word) {
    struct place at = place_of(c, word);
    struct custom_pass *p = NEW(&c->arena, struct custom_pass);
    int k = find_place(c, rows, &at);
    if (k < 0 || !custom_pass_load(c, at.file, p) || !name_is_free(c, rows, p)) return false;
    PUSH(&c->arena, rows, (struct pass_row){0});
    memmove(rows->v + k + 1, rows->v + k, (size_t)(rows->n - 1 - k) * sizeof *rows->v);
    rows->v[k] = (struct pass_row){.name = p->name, .level = rows->v[k - 1].level, .doc = p->help, .custom = p};
    return true;
}
const struct pass_row *pipeline_with(struct ctx *c, const char *const *words, int n) {
    row_list rows = {0};
    for (const struct pass_row *p = pass_rows; p->name; p++) PUSH(&c->arena, &rows, *p);
    for (int k = 0; k < n; k++)
        if (!add(c, &rows, words[k])) return NULL;
    PUSH(&c->arena, &rows, (struct pass_row){0});
    return rows.v;
}
