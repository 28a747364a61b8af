/* Reads and writes files with a machine's numbers; see machine_file.h. */
#include "compiler/machine_file.h"
#include "compiler/import/file.h"
#include "ir/base/nearest.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT = 1, MOST_BYTES = 1 << 16 };

static int row_named(const char *name) {
    int k = 0;
    while (machine_numbers[k].name && strcmp(machine_numbers[k].name, name) != 0) k++;
    return k;
}

/* ---- writing */
/* The smallest number of digits that reproduces the value exactly. */
static size_t digits_of(double v) {
    char s[32];
    const char *end;
    size_t n = 0;
    do end = s, snprintf(s, sizeof s, "%.*g", (int)++n, v);
    while (n < 17 && text_read_f64(s, &end) != v);
    return n;
}
static json_t *number_json(const struct number_row *n, double value) {
    bool whole = n->kind == NUMBER_INT || n->kind == NUMBER_BYTES;
    return whole ? json_integer((json_int_t)value) : json_real(value);
}
void machine_file_print(const struct machine_file *f, struct text *out) {
    struct arena a = {0};
    json_t *numbers = json_object();
    size_t digits = 1;
    double own;
    for (int k = 0; machine_numbers[k].name; k++) {
        const struct number_row *n = &machine_numbers[k];
        if (!machine_number(f->target->machine, n, &own)) continue;
        json_object_set_new(numbers, n->name, number_json(n, f->values[k]));
        if (digits_of(f->values[k]) > digits) digits = digits_of(f->values[k]);
    }
    json_t *root = json_pack("{s:i, s:s, s:o, s:o}", MACHINE_FORMAT_KEY, FORMAT, "target", f->target->name, "cpu",
                             json_name(&a, f->cpu), "numbers", numbers);
    char *s = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(digits)); /* reading gives exactly the values
                                                                               * written */
    if (!s) BUG("a file of a machine's numbers cannot be printed");
    text_printf(out, "%s\n", s);
    free(s);
    json_decref(root);
    arena_free(&a);
}

/* ---- reading */
struct reading {
    struct ctx *c;
    const char *path;
    bool ok;
};
static void refuse(struct reading *r, const char *fmt, ...) NN_PRINTF(2, 3);
static void refuse(struct reading *r, const char *fmt, ...) {
    struct text t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    diag_at(&r->c->diags, DIAG_ERROR, E_MACHINE, r->path, NULL, "%s", t.s);
    diag_help(&r->c->diags,
              "`gcc2nn calibrate -o FILE` measures, and writes a whole file; docs/machine.md has its keys");
    text_free(&t);
    r->ok = false;
}
static const char *quote(struct reading *r, const char *s) { return diag_quote(&r->c->arena, s); }
/* Unknown keys are errors: otherwise users would believe that their numbers have an effect. */
static void know_all(struct reading *r, json_t *object, const char *const *names, int n) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        bool known = false;
        for (int k = 0; k < n; k++) known |= !strcmp(names[k], key);
        if (!known) refuse(r, "the key %s is not known%s", quote(r, key), did_you_mean(&r->c->arena, key, names, n));
    }
}
static double read_number(struct reading *r, const struct number_row *n, json_t *numbers) {
    json_t *j = json_object_get(numbers, n->name);
    double v = json_number_value(j);
    bool whole = n->kind == NUMBER_INT || n->kind == NUMBER_BYTES;
    if (!j) refuse(r, "the number \"%s\" is missing", n->name);
    else if (!json_is_number(j)) refuse(r, "\"%s\" is not a number", n->name);
    else if (!(v >= n->least && v <= n->most))
        refuse(r, "\"%s\" is %g, and must be from %g to %g %s", n->name, v, n->least, n->most, n->unit);
    else if (whole && v != floor(v)) refuse(r, "\"%s\" is %g, and must be a whole number of %s", n->name, v, n->unit);
    return v;
}
static void read_numbers(struct reading *r, json_t *numbers, struct machine_file *f) {
    const char *names[NUMBERS_MAX];
    int n = 0;
    for (int k = 0; machine_numbers[k].name; k++)
        if (machine_number(f->target->machine, &machine_numbers[k], &f->values[k]))
            names[n++] = machine_numbers[k].name;
    know_all(r, numbers, names, n);
    for (int k = 0; k < n; k++) {
        int row = row_named(names[k]);
        f->values[row] = read_number(r, &machine_numbers[row], numbers);
    }
}
/* Combinations of numbers that are valid one by one, but that no machine has. */
static void look_at_sizes(struct reading *r, const struct machine_file *f) {
    double l1 = f->values[row_named("l1.bytes")], l2 = f->values[row_named("l2.bytes")],
           line = f->values[row_named("line")], ways = f->values[row_named("l1.ways")];
    if (l2 > 0 && l2 < l1) refuse(r, "\"l2.bytes\" is %g, less than \"l1.bytes\", %g", l2, l1);
    if (ways * line > l1) refuse(r, "\"l1.ways\" times \"line\" is %g, more than \"l1.bytes\", %g", ways * line, l1);
    if ((int64_t)line & ((int64_t)line - 1)) refuse(r, "\"line\" is %g, and must be a power of two", line);
}
static const struct target *read_target(struct reading *r, json_t *root) {
    const char *name = json_string_value(json_object_get(root, "target"));
    const struct target *t = name ? target_by_name(name) : NULL;
    if (!name) refuse(r, "\"target\" is missing, or not a text");
    else if (!t || strcmp(t->name, name) != 0) refuse(r, "\"target\" is %s, which is no target", quote(r, name));
    else return t;
    return NULL;
}
static void read_file(struct reading *r, json_t *root, struct machine_file *out) {
    static const char *const keys[] = {MACHINE_FORMAT_KEY, "target", "cpu", "numbers"};
    json_t *format = json_object_get(root, MACHINE_FORMAT_KEY), *numbers = json_object_get(root, "numbers");
    const char *cpu = json_string_value(json_object_get(root, "cpu"));
    if (!json_is_integer(format) || json_integer_value(format) != FORMAT) {
        refuse(r, "\"" MACHINE_FORMAT_KEY "\" must be %d: this is no file of a machine's numbers that is known",
               FORMAT);
        return;
    }
    know_all(r, root, keys, 4);
    out->target = read_target(r, root);
    if (!cpu) refuse(r, "\"cpu\" is missing, or not a text");
    else out->cpu = arena_printf(&r->c->arena, "%s", cpu);
    if (!json_is_object(numbers)) refuse(r, "\"numbers\" is missing, or not an object");
    else if (out->target) read_numbers(r, numbers, out);
    if (r->ok) look_at_sizes(r, out);
}
bool machine_file_parse(struct ctx *c, const char *path, const void *bytes, size_t n, struct machine_file *out) {
    struct reading r = {c, path, true};
    json_error_t e;
    *out = (struct machine_file){0};
    if (n > MOST_BYTES) {
        refuse(&r, "%zu bytes are too many for a file of a machine's numbers", n);
        return false;
    }
    json_t *root = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &e);
    if (!root) refuse(&r, "line %d is no JSON: %s", e.line, e.text);
    else read_file(&r, root, out);
    json_decref(root);
    return r.ok;
}
bool machine_file_read(struct ctx *c, const char *path, struct machine_file *out) {
    struct mapped_file f;
    if (!file_map(&c->diags, path, &f)) return false;
    bool ok = machine_file_parse(c, path, f.bytes, f.size, out);
    file_unmap(&f);
    return ok;
}
bool machine_file_may_replace(struct ctx *c, const char *path) {
    struct mapped_file f;
    if (access(path, F_OK) != 0) return true;
    if (!file_map(&c->diags, path, &f)) return false;
    json_t *root = f.size <= MOST_BYTES ? json_loadb((const char *)f.bytes, f.size, 0, NULL) : NULL;
    bool ours = f.size == 0 || json_object_get(root, MACHINE_FORMAT_KEY);
    json_decref(root);
    file_unmap(&f);
    if (ours) return true;
    diag_at(&c->diags, DIAG_ERROR, E_WRITE, path, NULL, "this is no file of a machine's numbers: it is left as it is");
    diag_help(&c->diags, "--out names another file");
    return false;
}
const struct target *machine_file_target(struct ctx *c, const struct machine_file *f, const struct target *t) {
    struct target *copy = NEW(&c->arena, struct target);
    *copy = *t;
    copy->machine = machine_with(&c->arena, t->machine, f->values);
    return copy;
}
