/* An earlier result of `bench --json` as a limit for this one. See baseline.h. Counts of instructions are compared if
 * both have them; of times the minimum, which other load on the machine disturbs least. */
#include "compiler/baseline.h"
#include "compiler/import/file.h"
#include <stdlib.h>

enum { MOST_BYTES = 16 << 20 };

static bool wrong(struct session *s, const char *path, const char *why) {
    diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, path, NULL, "this is no result of `gcc2nn bench --json`: %s", why);
    diag_help(&s->c->diags, "`gcc2nn bench MODEL --json >FILE` writes one");
    return false;
}
/* Sets an item to `factor` times the file's number. */
static void take(struct baseline *b, enum budget_item k, const char *key, double factor) {
    const json_t *j = json_object_get(b->result, key);
    double v = json_is_number(j) ? json_number_value(j) * factor : -1;
    if (v >= 0 && v < 9e18) b->before.has[k] = true, b->before.v[k] = (int64_t)v;
}
bool baseline_read(struct baseline *b, struct session *s) {
    struct mapped_file f;
    json_error_t e = {0};
    *b = (struct baseline){.path = s->o->baseline};
    if (!b->path) return true;
    if (!file_map(&s->c->diags, b->path, &f)) return false;
    b->result = f.size <= MOST_BYTES ? json_loadb((const char *)f.bytes, f.size, 0, &e) : NULL;
    file_unmap(&f);
    if (!b->result)
        return wrong(s, b->path, f.size > MOST_BYTES ? "it is too large" : format(s->c, "line %d is no JSON", e.line));
    take(b, BUDGET_LATENCY, "min_ms", 1e6);
    take(b, BUDGET_INSTRUCTIONS, "instructions", 1);
    take(b, BUDGET_ARENA, "arena_bytes", 1);
    take(b, BUDGET_WEIGHTS, "weights_bytes", 1);
    take(b, BUDGET_CODE, "code_bytes", 1);
    return (b->before.has[BUDGET_LATENCY] && b->before.has[BUDGET_ARENA]) ||
           wrong(s, b->path, "it has no \"min_ms\" and \"arena_bytes\"");
}
void baseline_free(struct baseline *b) { json_decref(b->result); }

/* The items that both have. */
static struct budget compared_of(const struct baseline *b, const struct budget *now) {
    struct budget compared = *now;
    for (int k = 0; k < BUDGET_ITEMS; k++) compared.has[k] &= b->before.has[k];
    if (now->has[BUDGET_INSTRUCTIONS]) compared.has[BUDGET_LATENCY] = false; /* an emulator's times are meaningless */
    return compared;
}
static double allowed(const struct options *o, enum budget_item k) {
    return o->regression_given ? o->max_regression : k == BUDGET_LATENCY ? 10 : 1;
}
static int64_t limit_of(const struct baseline *b, const struct options *o, enum budget_item k) {
    double limit = (double)b->before.v[k] * (1 + allowed(o, k) / 100);
    return limit < 9e18 ? (int64_t)limit : INT64_MAX;
}
static const char *shown(struct arena *a, const json_t *value) {
    if (json_is_string(value)) return diag_quote(a, json_string_value(value));
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    const char *kept = arena_printf(a, "%s", text ? text : "none");
    free(text);
    return kept;
}
/* The numbers of another model, target or size cannot be compared. */
static bool same_thing(const struct baseline *b, const struct bench *bench) {
    struct session *s = bench->s;
    json_t *own = bench_identity(bench);
    const char *key;
    json_t *value;
    bool same = true;
    json_object_foreach(own, key, value) {
        json_t *other = json_object_get(b->result, key);
        if (json_equal(value, other)) continue;
        diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, b->path, NULL, "%s of the baseline is %s, and %s here", key,
                shown(&s->c->arena, other), shown(&s->c->arena, value));
        diag_help(&s->c->diags, "measure it with the options of this run: `gcc2nn bench MODEL --json >FILE`");
        same = false;
    }
    json_decref(own);
    return same;
}
bool baseline_holds(const struct baseline *b, const struct bench *bench, const struct budget *now) {
    if (!b->result) return true;
    if (!same_thing(b, bench)) return false;
    struct session *s = bench->s;
    struct budget compared = compared_of(b, now);
    bool ok = true;
    for (int k = 0; k < BUDGET_ITEMS; k++) {
        int64_t limit = limit_of(b, s->o, (enum budget_item)k);
        if (!compared.has[k] || now->v[k] <= limit) continue;
        const char *before = budget_shown(&s->c->arena, (enum budget_item)k, b->before.v[k]);
        budget_exceeded(
            s, s->w->program, (enum budget_item)k, now, limit,
            format(s->c, "that %s of the baseline and %g %% allow", before, allowed(s->o, (enum budget_item)k)));
        ok = false;
    }
    return ok;
}
json_t *baseline_json(const struct baseline *b, const struct options *o, const struct budget *now) {
    json_t *list = json_array();
    struct budget compared = compared_of(b, now);
    for (int k = 0; k < BUDGET_ITEMS; k++) {
        int64_t limit = limit_of(b, o, (enum budget_item)k);
        if (compared.has[k])
            json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:b}", "name", budget_names[k], "before",
                                                  (json_int_t)b->before.v[k], "value", (json_int_t)now->v[k], "limit",
                                                  (json_int_t)limit, "within", now->v[k] <= limit));
    }
    return list;
}
