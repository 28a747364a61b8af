/* `gcc2nn report MODEL|BUILD`: one page of HTML about a compiled model: its graph with what was fused, times and counts
 * of its layers, memory over time, how close the kernels are to the machine's limits, and their C. The page contains
 * the facts as JSON (as printed by --json) and draws itself from them; it needs no network. */
#include "codegen/template.h"
#include "compiler/bench.h"
#include "compiler/facts.h"
#include "lower/machine/machine.h"
#include <stdlib.h>
#include <string.h>

struct reporting {
    const struct options *o;
    struct ctx *c;
    const char *folder, *file; /* of the build; that is written */
    json_t *run;               /* NULL: nothing was run */
};

/* ---- the page */
/* JSON for a `script` element, escaped so that a text of the model cannot end the element. */
static void add_script_json(struct text *t, const json_t *facts) {
    char *s = json_dumps(facts, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!s) BUG("the facts cannot be written as JSON");
    for (const char *at = s; *at; at++) {
        if (*at == '<' || *at == '>' || *at == '&') text_printf(t, "\\u%04x", *at);
        else text_char(t, *at);
    }
    free(s);
}
static const char *script(struct ctx *c) {
    static const char *const parts[] = {"base", "panel", "graph", "charts", "tables", "main"};
    struct text t = {0};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        template_text(&t, format(c, "templates/report/%s.js", parts[k]), (const char *const[]){NULL});
    return text_take(&t, &c->arena);
}
static void page(struct ctx *c, const json_t *facts, struct text *out) {
    struct text style = {0}, json = {0};
    template_text(&style, "templates/report/style.css", (const char *const[]){NULL});
    add_script_json(&json, facts);
    template_text(out, "templates/report/page.html",
                  (const char *const[]){"STYLE", style.s, "FACTS", json.s, "SCRIPT", script(c), NULL});
    text_free(&style);
    text_free(&json);
}

/* ---- facts */
/* Reads what `gcc2nn verify --each-node --json` printed: `outputs`, each with its `name`. null without --verified;
 * NULL: a diagnostic was recorded. */
static json_t *verified(struct reporting *q) {
    struct mapped_file f;
    const char *path = q->o->verified;
    size_t k;
    json_t *v;
    if (!path) return json_null();
    if (!file_map(&q->c->diags, path, &f)) return NULL;
    json_t *all = json_loadb((const char *)f.bytes, f.size, 0, NULL), *outputs = json_object_get(all, "outputs");
    bool ok = json_is_array(outputs);
    file_unmap(&f);
    json_array_foreach(outputs, k, v) ok &= json_is_string(json_object_get(v, "name"));
    if (ok) return all;
    json_decref(all);
    diag_at(&q->c->diags, DIAG_ERROR, E_FILE, path, NULL, "this is not what `verify --json` prints");
    diag_help(&q->c->diags, "make it by `gcc2nn verify MODEL --each-node --json >FILE`");
    return NULL;
}
static json_t *gather(struct reporting *q) {
    json_t *build = facts_manifest(q->c, q->folder), *code = build ? facts_code(q->c, q->folder, build) : NULL,
           *errors = code ? verified(q) : NULL;
    if (!errors) return json_decref(build), json_decref(code), NULL;
    return json_pack("{s:o, s:o, s:O?, s:o, s:o, s:o}", "file", json_name(&q->c->arena, q->file), "build", build, "run",
                     q->run, "code", code, "drawing", facts_drawing(q->c, build), "verified", errors);
}
static bool write_page(struct reporting *q, json_t *facts) {
    struct text t = {0};
    page(q->c, facts, &t);
    bool ok = file_put(&q->c->diags, q->file, t.s, t.n);
    text_free(&t);
    return ok;
}
static void report(struct reporting *q) {
    json_t *facts = gather(q);
    bool ok = facts && write_page(q, facts);
    struct text t = {0};
    if (ok && q->o->json) print_json(json_incref(facts));
    else if (ok) text_printf(&t, "%s\n", q->file);
    print_text(&t);
    json_decref(facts);
}
static const char *default_file(struct ctx *c, const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    const char *name = path_last(format(c, "%.*s", (int)n, path)), *dot = strrchr(name, '.');
    return format(c, "%.*s_report.html", dot && dot > name ? (int)(dot - name) : (int)strlen(name), name);
}
static bool begin(struct reporting *q, struct ctx *c) {
    q->c = c;
    q->file = q->o->out ? q->o->out : default_file(c, q->o->args.v[0]);
    return file_may_put(&c->diags, q->file, q->o->args.v[0]) && file_may_put(&c->diags, q->file, q->o->verified);
}

/* ---- of a folder, or of a model that is compiled and, where it can be, run */
static int report_build(struct reporting *q) {
    struct ctx *c = ctx_new();
    options_diags(q->o, &c->diags);
    q->folder = q->o->args.v[0];
    if (begin(q, c)) report(q);
    int status = report_diags(&c->diags);
    ctx_free(c);
    return status;
}
static bool compile_and_run(struct reporting *q, struct session *s) {
    struct bench b;
    bool device = s->compile.target->machine->gpu; /* the program's clock does not see GPU kernels */
    if (q->o->no_run || device) return session_compile(s) && session_write(s, NULL);
    if (!bench_run(&b, s)) return false;
    q->run = bench_json(&b);
    return true;
}
static int report_model(struct reporting *q) {
    struct options timed = *q->o;
    struct session s;
    timed.per_kernel = true;
    if (session_open(&s, &timed) && begin(q, s.c) && compile_and_run(q, &s)) {
        q->folder = s.folder;
        report(q);
    }
    json_decref(q->run);
    return session_close(&s);
}
int cmd_report(const struct options *o) {
    struct reporting q = {.o = o};
    return facts_is_folder(o->args.v[0]) ? report_build(&q) : report_model(&q);
}
