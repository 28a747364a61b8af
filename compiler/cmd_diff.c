/* `gcc2nn diff A B`: what differs between two models, or between compiled folders: nodes and their types, sizes, times,
 * and outputs for the same inputs. Both sides are described by their manifests (facts.h), so a model can be compared
 * with the folder of an older one. */
#include "compiler/bench.h"
#include "compiler/compare.h"
#include "compiler/facts.h"
#include "ir/base/map.h"
#include "lower/machine/machine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct side {
    const char *path;
    struct options o; /* the command's, with only this side as model */
    struct session s;
    struct bench b;
    bool opened, ran; /* a folder has no session; b has times and outputs */
    json_t *build;    /* manifest.json */
};
struct difference {
    const struct options *o;
    struct ctx *c; /* of the command itself */
    struct side a, b;
    json_t *all; /* what --json prints */
    bool same;   /* apart from sizes and times */
};

/* ---- nodes: identified by name, or if there is none, by operator and its number of occurrence */
static const json_t *list(const json_t *o, const char *key) { return json_object_get(o, key); }
struct listed {
    VEC(const char *) keys; /* interned, of the nodes in order */
    struct map node;        /* key -> JSON */
    const char **made;      /* value -> the key of the node that gives it; NULL: an input or a constant */
};
static void list_nodes(struct difference *d, const json_t *build, struct listed *out) {
    struct map seen = {.arena = &d->c->arena};
    const json_t *nodes = list(list(build, "graph"), "nodes");
    out->node.arena = &d->c->arena;
    out->made = NEWN(&d->c->arena, const char *, json_array_size(list(list(build, "graph"), "values")) + 1);
    for (size_t k = 0; k < json_array_size(nodes); k++) {
        json_t *n = json_array_get(nodes, k);
        const char *name = json_text(n, "name"), *op = json_text(n, "op");
        const char *word = *name ? internf(d->c->names, "%s (%s)", name, op) : intern(d->c->names, op);
        intptr_t before = (intptr_t)map_get(&seen, PKEY(word));
        map_put(&seen, PKEY(word), (void *)(before + 1));
        const char *key = before ? internf(d->c->names, "%s, number %d", word, (int)before + 1) : word;
        PUSH(&d->c->arena, &out->keys, key);
        map_put(&out->node, PKEY(key), n);
        for (size_t j = 0; j < json_array_size(list(n, "outputs")); j++)
            if (facts_index(list(n, "outputs"), j) >= 0) out->made[facts_index(list(n, "outputs"), j)] = key;
    }
}
/* The types of what a node reads or gives: "f32[1,8], f32[8]". */
static const char *types(struct difference *d, const json_t *build, const json_t *node, const char *which) {
    struct text t = {0};
    const json_t *of = list(node, which), *values = list(list(build, "graph"), "values");
    for (size_t k = 0; k < json_array_size(of); k++) {
        const json_t *v = json_array_get(of, k);
        text_printf(&t, "%s%s", k ? ", " : "",
                    json_is_null(v) ? "nothing"
                                    : json_text(json_array_get(values, (size_t)json_integer_value(v)), "type"));
    }
    return t.s ? text_take(&t, &d->c->arena) : "";
}
static void add_change(json_t *to, const char *what, const char *a, const char *b) {
    if (strcmp(a, b) != 0) json_array_append_new(to, json_pack("{s:s, s:s, s:s}", "what", what, "a", a, "b", b));
}
/* Compares the nodes whose results a node reads. Nodes that one side lacks are reported elsewhere. */
static void compare_sources(struct difference *d, const struct listed *a, const struct listed *b, const json_t *na,
                            const json_t *nb, json_t *changes) {
    const json_t *ra = list(na, "inputs"), *rb = list(nb, "inputs");
    for (size_t k = 0; k < json_array_size(ra) && k < json_array_size(rb); k++) {
        int va = facts_index(ra, k), vb = facts_index(rb, k);
        const char *from = va < 0 ? NULL : a->made[va], *now = vb < 0 ? NULL : b->made[vb];
        bool both = (!from || map_get(&b->node, PKEY(from))) && (!now || map_get(&a->node, PKEY(now)));
        if (from == now || !both) continue;
        add_change(changes, format(d->c, "input %zu is of", k), from ? from : "no node", now ? now : "no node");
    }
}
static void compare_node(struct difference *d, const struct listed *in_a, const struct listed *in_b, const char *key,
                         json_t *changed) {
    const json_t *a = map_get(&in_a->node, PKEY(key)), *b = map_get(&in_b->node, PKEY(key));
    json_t *changes = json_array();
    add_change(changes, "attributes", json_text(a, "attributes"), json_text(b, "attributes"));
    add_change(changes, "inputs", types(d, d->a.build, a, "inputs"), types(d, d->b.build, b, "inputs"));
    add_change(changes, "outputs", types(d, d->a.build, a, "outputs"), types(d, d->b.build, b, "outputs"));
    compare_sources(d, in_a, in_b, a, b, changes);
    if (json_array_size(changes))
        json_array_append_new(changed, json_pack("{s:s, s:O}", "node", key, "changes", changes));
    json_decref(changes);
}
static void compare_nodes(struct difference *d) {
    struct listed a = {0}, b = {0};
    json_t *removed = json_array(), *added = json_array(), *changed = json_array();
    list_nodes(d, d->a.build, &a);
    list_nodes(d, d->b.build, &b);
    for (int k = 0; k < a.keys.n; k++) {
        if (map_get(&b.node, PKEY(a.keys.v[k]))) compare_node(d, &a, &b, a.keys.v[k], changed);
        else json_array_append_new(removed, json_string(a.keys.v[k]));
    }
    for (int k = 0; k < b.keys.n; k++)
        if (!map_get(&a.node, PKEY(b.keys.v[k]))) json_array_append_new(added, json_string(b.keys.v[k]));
    d->same &= !json_array_size(removed) && !json_array_size(added) && !json_array_size(changed);
    json_object_set_new(d->all, "nodes",
                        json_pack("{s:o, s:o, s:o}", "removed", removed, "added", added, "changed", changed));
}

/* ---- the model's inputs and outputs, by position */
static void compare_ports(struct difference *d, const char *which) {
    json_t *changed = json_array();
    const json_t *a = list(d->a.build, which), *b = list(d->b.build, which);
    size_t na = json_array_size(a), nb = json_array_size(b);
    for (size_t k = 0; k < (na > nb ? na : nb); k++) {
        const char *said[2] = {"nothing", "nothing"};
        for (int side = 0; side < 2; side++) {
            const json_t *io = json_array_get(side ? b : a, k);
            char *dims = io ? json_dumps(list(io, "dims"), JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
            if (io)
                said[side] = format(d->c, "%s: %s%s", json_text(io, "name"), json_text(io, "type"), dims ? dims : "");
            free(dims);
        }
        add_change(changed, format(d->c, "%zu", k), said[0], said[1]);
    }
    d->same &= !json_array_size(changed);
    json_object_set_new(d->all, which, changed);
}

/* ---- sizes and times */
static void add_size(json_t *to, const char *what, const char *unit, double a, double b) {
    json_array_append_new(to, json_pack("{s:s, s:s, s:f, s:f}", "what", what, "unit", unit, "a", a, "b", b));
}
static double arena(const json_t *build) {
    const json_t *a = list(build, "arena"), *bytes = json_object_get(a, "bytes");
    return (double)json_integer_value(bytes ? bytes : json_object_get(a, "bytes_at_typical_sizes"));
}
static double products(const json_t *build) {
    double sum = 0;
    const json_t *kernels = list(build, "kernels");
    for (size_t k = 0; k < json_array_size(kernels); k++)
        sum += (double)json_integer_value(json_object_get(json_array_get(kernels, k), "products"));
    return sum;
}
static double weights(const json_t *build) {
    return (double)json_integer_value(json_object_get(list(build, "weights"), "bytes"));
}
static void compare_sizes(struct difference *d) {
    const json_t *a = d->a.build, *b = d->b.build;
    json_t *sizes = json_array();
    bool packed = !strcmp(json_text(a, "target"), json_text(b, "target")); /* alike, so that bytes can be compared */
    const char *hashes[2] = {json_text(list(a, "weights"), "hash"), json_text(list(b, "weights"), "hash")};
    add_size(sizes, "nodes", "", (double)json_array_size(list(list(a, "graph"), "nodes")),
             (double)json_array_size(list(list(b, "graph"), "nodes")));
    add_size(sizes, "kernels", "", (double)json_array_size(list(a, "kernels")),
             (double)json_array_size(list(b, "kernels")));
    add_size(sizes, "multiply-adds", "", products(a), products(b));
    add_size(sizes, "arena", "bytes", arena(a), arena(b));
    add_size(sizes, "weights", "bytes", weights(a), weights(b));
    if (d->a.ran && d->b.ran) {
        const char *unit = d->a.b.instructions ? "instructions" : "ms";
        double by = d->a.b.instructions ? 1 : 1e6;
        if (!d->a.b.instructions == !d->b.b.instructions)
            add_size(sizes, "time of a run", unit, bench_median(&d->a.b) / by, bench_median(&d->b.b) / by);
    }
    json_object_set_new(d->all, "sizes", sizes);
    json_object_set_new(d->all, "weights",
                        packed ? json_string(strcmp(hashes[0], hashes[1]) ? "differ" : "same") : json_null());
}

/* ---- outputs, for the same inputs */
static json_t *compare_output(struct difference *d, const struct tensor *a, const struct tensor *b, const char *name) {
    struct text why = {0};
    struct deviation found = {0};
    struct tolerance t = {.rtol = d->o->rtol_given ? d->o->rtol : usual_rtol(a->type), .atol = d->o->atol};
    bool bits = same_bits(b, a, &why), same = bits;
    text_free(&why);
    if (!bits) same = within_tolerance(b, a, &t, &found, &why);
    json_t *o = json_pack("{s:o, s:b, s:b}", "name", json_name(&d->c->arena, name), "same", same, "bits", bits);
    if (!bits && isfinite(found.relative)) json_object_set_new(o, "error", json_real(found.relative));
    if (!same) json_object_set_new(o, "why", json_name(&d->c->arena, why.s ? why.s : ""));
    text_free(&why);
    d->same &= same;
    return o;
}
static void compare_outputs(struct difference *d) {
    json_t *outputs = json_array();
    const struct program *a = d->a.ran ? d->a.s.w->program : NULL, *b = d->b.ran ? d->b.s.w->program : NULL;
    for (int k = 0; a && b && k < a->outs.n && k < b->outs.n; k++)
        json_array_append_new(outputs, compare_output(d, d->a.b.outputs[k], d->b.b.outputs[k], a->outs.v[k].buf->base));
    json_object_set_new(d->all, "compared", json_boolean(a && b));
    json_object_set_new(d->all, "results", outputs);
}

/* ---- for people */
enum { SHOWN = 12 };
static void print_names(struct text *t, const json_t *names, char mark) {
    size_t n = json_array_size(names);
    for (size_t k = 0; k < n && k < SHOWN; k++)
        text_printf(t, "%c %s\n", mark, json_string_value(json_array_get(names, k)));
    if (n > SHOWN) text_printf(t, "%c and %zu more\n", mark, n - SHOWN);
}
static void print_changes(struct text *t, const json_t *changes, const char *indent) {
    for (size_t k = 0; k < json_array_size(changes); k++) {
        const json_t *c = json_array_get(changes, k);
        text_printf(t, "%s%s: %s -> %s\n", indent, json_text(c, "what"), json_text(c, "a"), json_text(c, "b"));
    }
}
static void print_nodes(struct text *t, const json_t *nodes) {
    const json_t *changed = list(nodes, "changed");
    size_t n = json_array_size(changed);
    print_names(t, list(nodes, "removed"), '-');
    print_names(t, list(nodes, "added"), '+');
    for (size_t k = 0; k < n && k < SHOWN; k++) {
        text_printf(t, "~ %s\n", json_text(json_array_get(changed, k), "node"));
        print_changes(t, list(json_array_get(changed, k), "changes"), "    ");
    }
    if (n > SHOWN) text_printf(t, "~ and %zu more\n", n - SHOWN);
}
static void print_sizes(struct text *t, const json_t *sizes) {
    for (size_t k = 0; k < json_array_size(sizes); k++) {
        const json_t *s = json_array_get(sizes, k);
        double a = json_real_value(json_object_get(s, "a")), b = json_real_value(json_object_get(s, "b"));
        text_printf(t, "%-14s %14.12g  %14.12g %s", json_text(s, "what"), a, b, json_text(s, "unit"));
        if (a > 0 && a != b) text_printf(t, "  %+.1f %%", 100 * (b / a - 1));
        text_char(t, '\n');
    }
}
static void print_results(struct text *t, const struct difference *d) {
    const json_t *results = list(d->all, "results");
    if (!d->a.ran || !d->b.ran) text_add(t, "outputs        not compared: only models that are run here have any\n");
    for (size_t k = 0; k < json_array_size(results); k++) {
        const json_t *o = json_array_get(results, k), *error = json_object_get(o, "error");
        text_printf(t, "output %s: ", json_text(o, "name"));
        if (json_is_true(json_object_get(o, "bits"))) text_add(t, "the same bits");
        else if (error) text_printf(t, "error %.3g of the greatest magnitude", json_real_value(error));
        if (!json_is_true(json_object_get(o, "same"))) text_printf(t, "%s%s", error ? ", " : "", json_text(o, "why"));
        text_char(t, '\n');
    }
}
static void print_difference(struct difference *d) {
    struct text t = {0};
    const char *weight = json_text(d->all, "weights");
    text_printf(&t, "--- %s (%s)\n+++ %s (%s)\n", d->a.path, json_text(d->a.build, "target"), d->b.path,
                json_text(d->b.build, "target"));
    print_changes(&t, list(d->all, "inputs"), "~ input ");
    print_changes(&t, list(d->all, "outputs"), "~ output ");
    print_nodes(&t, list(d->all, "nodes"));
    print_sizes(&t, list(d->all, "sizes"));
    if (!strcmp(weight, "differ")) text_add(&t, "weights        of other values, or in other places\n");
    print_results(&t, d);
    print_text(&t);
}

/* ---- both sides */
static bool run_side(struct side *q) {
    bool device = q->s.compile.target->machine->gpu;
    if (q->o.no_run || device) return session_compile(&q->s) && session_write(&q->s, NULL);
    return q->ran = bench_run(&q->b, &q->s);
}
/* true: q->build is set. */
static bool take_side(struct difference *d, struct side *q, const char *path, bool run) {
    q->path = path, q->o = *d->o;
    q->o.args.n = 0, q->o.args.v = NULL, q->o.args.cap = 0;
    PUSH(d->o->arena, &q->o.args, path);
    if (!run) q->o.no_run = true; /* there is nothing to compare times with */
    if (facts_is_folder(path)) return (q->build = facts_manifest(d->c, path)) != NULL;
    q->opened = true;
    if (!session_open(&q->s, &q->o) || !run_side(q)) return false;
    return (q->build = facts_manifest(q->s.c, q->s.folder)) != NULL;
}
static int close_side(struct side *q) {
    json_decref(q->build);
    return q->opened ? session_close(&q->s) : EXIT_OK;
}
static void compare(struct difference *d) {
    d->same = true;
    d->all = json_pack("{s:o, s:o, s:s, s:s}", "a", json_name(&d->c->arena, d->a.path), "b",
                       json_name(&d->c->arena, d->b.path), "target_a", json_text(d->a.build, "target"), "target_b",
                       json_text(d->b.build, "target"));
    compare_ports(d, "inputs");
    compare_ports(d, "outputs");
    compare_nodes(d);
    compare_sizes(d);
    compare_outputs(d);
    const char *weight = json_text(d->all, "weights");
    d->same &= strcmp(weight, "differ") != 0;
    json_object_set_new(d->all, "same", json_boolean(d->same));
}
int cmd_diff(const struct options *o) {
    struct difference d = {.o = o, .c = ctx_new(), .same = true};
    const char *const *paths = o->args.v;
    options_diags(o, &d.c->diags);
    bool run = !facts_is_folder(paths[0]) && !facts_is_folder(paths[1]);
    bool ok = take_side(&d, &d.a, paths[0], run) && take_side(&d, &d.b, paths[1], run);
    if (ok) {
        compare(&d);
        if (o->json) print_json(json_incref(d.all));
        else print_difference(&d);
        json_decref(d.all);
    }
    int a = close_side(&d.a), b = close_side(&d.b), own = report_diags(&d.c->diags);
    ctx_free(d.c);
    int status = a ? a : b ? b : own;
    return status ? status : ok && d.same ? EXIT_OK : EXIT_DIFFERS;
}
