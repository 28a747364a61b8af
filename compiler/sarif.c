/* See sarif.h. Rules are the codes of diag_codes.h and the kinds of remarks; a node of a model is a logical location,
 * since its file has no lines. Sections are those of the standard. */
#include "compiler/sarif.h"
#include "compiler/commands.h"
#include "compiler/gcc2nn.h"
#include <stdlib.h>
#include <string.h>

static json_t *message(struct arena *a, const char *s) { return json_pack("{s:o}", "text", json_name(a, s)); }
/* 3.10: what a URI may hold, the rest in percents. */
static const char *uri_of(struct arena *a, const char *path, size_t n) {
    struct text t = {0};
    for (size_t k = 0; k < n; k++) {
        unsigned char c = (unsigned char)path[k];
        bool plain = in_word((char)c) || strchr("/.-~", c);
        text_printf(&t, plain ? "%c" : "%%%02X", c);
    }
    return text_take(&t, a);
}
/* 3.28: the file, with a line where `where` ends with ":LINE"; the node. */
static json_t *location(struct arena *a, const char *where, const char *origin) {
    json_t *o = json_object();
    const char *colon = where ? strrchr(where, ':') : NULL;
    char *end = NULL;
    long line = colon ? strtol(colon + 1, &end, 10) : 0;
    bool lined = line > 0 && end && !*end;
    if (where) {
        const char *uri = uri_of(a, where, lined ? (size_t)(colon - where) : strlen(where));
        json_t *file = json_pack("{s:{s:s}}", "artifactLocation", "uri", uri);
        if (lined) json_object_set_new(file, "region", json_pack("{s:i}", "startLine", (int)line));
        json_object_set_new(o, "physicalLocation", file);
    }
    if (origin)
        json_object_set_new(o, "logicalLocations",
                            json_pack("[{s:o, s:s}]", "fullyQualifiedName", json_name(a, origin), "kind", "element"));
    return o;
}
static json_t *result(struct arena *a, const char *rule, const char *level, const char *text, const char *where,
                      const char *origin) {
    return json_pack("{s:s, s:s, s:o, s:[o]}", "ruleId", rule, "level", level, "message", message(a, text), "locations",
                     location(a, where, origin));
}
/* Each once: 3.19.23 */
static void add_rule(json_t *rules, json_t *rule) {
    size_t n = json_array_size(rules);
    const char *id = json_string_value(json_object_get(rule, "id"));
    for (size_t k = 0; k < n; k++)
        if (!strcmp(json_string_value(json_object_get(json_array_get(rules, k), "id")), id)) {
            json_decref(rule);
            return;
        }
    json_array_append_new(rules, rule);
}
void sarif_text(const struct diags *d, struct text *out) {
    static const char *const levels[] = {[DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_NOTE] = "note"};
    struct arena a = {0};
    json_t *rules = json_array(), *results = json_array();
    for (int i = 0; i < d->remarks.v.n; i++) {
        const struct remark *r = &d->remarks.v.v[i];
        const char *id = arena_printf(&a, "R%s", remark_kind_name(r->kind));
        add_rule(rules, json_pack("{s:s}", "id", id));
        json_array_append_new(results, result(&a, id, "note", r->message, d->file, r->origin));
    }
    for (int i = 0; i < d->n; i++) {
        const struct diag *g = &d->v[i];
        const struct diag_row *row = diag_explain((int)g->code);
        const char *id = arena_printf(&a, "E%04d", (int)g->code),
                   *text = g->help ? arena_printf(&a, "%s\nhelp: %s", g->message, g->help) : g->message;
        if (row)
            add_rule(rules, json_pack("{s:s, s:{s:s}, s:{s:s}, s:{s:s}}", "id", id, "shortDescription", "text",
                                      row->title, "fullDescription", "text", row->cause, "help", "text", row->remedy));
        json_array_append_new(results, result(&a, id, levels[g->severity], text, g->where, g->origin));
    }
    text_json(out,
              json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:o}]}", "$schema",
                        "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", "tool", "driver",
                        "name", "gcc2nn", "version", gcc2nn_version(), "rules", rules, "results", results));
    text_char(out, '\n');
    arena_free(&a);
}
