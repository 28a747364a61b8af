/* `gcc2nn config show`: the options that gcc2nn.toml sets here, for a profile and a target, and where. */
#include "compiler/commands.h"
#include "compiler/config.h"
#include "compiler/session.h"
#include "ir/base/nearest.h"
#include <string.h>

/* The value as TOML. */
static void quoted(struct text *t, const char *s) {
    text_char(t, '"');
    for (; *s; s++) {
        if ((unsigned char)*s < ' ' || *s == 0x7f) text_printf(t, "\\u%04X", (unsigned)*s);
        else text_printf(t, "%s%c", *s == '"' || *s == '\\' ? "\\" : "", *s);
    }
    text_char(t, '"');
}
static void value_text(struct text *t, const struct setting *s) {
    bool list = s->row->repeats == REPEATS;
    if (!s->row->arg) {
        text_add(t, s->values.n ? "true" : "false");
        return;
    }
    if (list) text_char(t, '[');
    for (int k = 0; k < s->values.n; k++) {
        if (k) text_add(t, ", ");
        if (s->values.v[k]) quoted(t, s->values.v[k]);
        else text_add(t, "true");
    }
    if (list) text_char(t, ']');
}
static void print(const struct settings *all, bool origin) {
    struct text t = {0};
    if (!all->path) text_add(&t, "no gcc2nn.toml here or in a folder above\n");
    for (int k = 0; k < all->v.n; k++) {
        const struct setting *s = &all->v.v[k];
        text_printf(&t, "%s = ", s->row->name);
        value_text(&t, s);
        if (origin && !s->line) text_printf(&t, "    # %s", s->table);
        else if (origin) text_printf(&t, "    # %s:%d %s", all->path, s->line, s->table);
        text_char(&t, '\n');
    }
    print_text(&t);
}
static json_t *values_json(struct ctx *c, const struct setting *s) {
    json_t *list = json_array();
    if (!s->row->arg) {
        json_decref(list);
        return json_boolean(s->values.n);
    }
    for (int k = 0; k < s->values.n; k++)
        json_array_append_new(list, s->values.v[k] ? json_name(&c->arena, s->values.v[k]) : json_true());
    return list;
}
static json_t *text_or_null(struct ctx *c, const char *s) { return s ? json_name(&c->arena, s) : json_null(); }
static json_t *json_of(struct ctx *c, const struct settings *all) {
    json_t *list = json_array();
    for (int k = 0; k < all->v.n; k++) {
        const struct setting *s = &all->v.v[k];
        json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o}", "name", s->row->name, "value", values_json(c, s),
                                              "line", s->line ? json_integer(s->line) : json_null(), "table",
                                              json_name(&c->arena, s->table)));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "file", text_or_null(c, all->path), "profile",
                     text_or_null(c, all->profile), "target", text_or_null(c, all->target), "options", list);
}
/* Values must be valid for their options; each of several targets is checked when it is compiled. */
static bool check(struct ctx *c, const struct settings *all) {
    bool ok = !all->target || strchr(all->target, '+') || target_named(c, all->target);
    for (int k = 0; k < all->v.n; k++) {
        const struct setting *s = &all->v.v[k];
        struct options scratch = {.arena = &c->arena};
        struct text problem = {0};
        for (int i = 0; i < s->values.n; i++)
            if (!option_take(&scratch, s->row, s->values.v[i], &problem)) {
                diag_at(&c->diags, DIAG_ERROR, E_USAGE, format(c, "%s:%d", all->path, s->line), NULL, "%s", problem.s);
                ok = false;
                break;
            }
        text_free(&problem);
    }
    return ok;
}
int cmd_config(const struct options *o) {
    struct ctx *c = ctx_new();
    struct settings all = {0};
    options_diags(o, &c->diags);
    if (strcmp(o->args.v[0], "show") != 0) {
        const char *const actions[] = {"show"};
        diag_at(&c->diags, DIAG_ERROR, E_USAGE, "gcc2nn", NULL, "`gcc2nn config` cannot %s%s",
                diag_quote(&c->arena, o->args.v[0]), did_you_mean(&c->arena, o->args.v[0], actions, 1));
        diag_help(&c->diags, "`gcc2nn config show` is what there is");
    } else if (settings_read(c, o, &all) && check(c, &all)) {
        if (o->json) print_json(json_of(c, &all));
        else print(&all, o->origin);
    }
    int status = report_diags(&c->diags);
    ctx_free(c);
    return status;
}
