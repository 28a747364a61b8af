/* Reads build folders back; see facts.h. Their contents are not trusted: file names must stay inside the folder, and
 * numbers are checked before use. */
#include "compiler/facts.h"
#include "codegen/folder.h"
#include "compiler/import/file.h"
#include "ir/base/map.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANIFEST_MOST = 256 << 20, KERNEL_MOST = 48 << 10, CODE_MOST = 1536 << 10 };

bool facts_is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}
int facts_index(const json_t *list, size_t k) {
    const json_t *v = json_array_get(list, k);
    return json_is_integer(v) ? (int)json_integer_value(v) : -1;
}
/* A regular file of the folder, not a link. */
static bool map_inside(struct ctx *c, const char *folder, const char *name, struct mapped_file *f) {
    const char *path = format(c, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) return diag_at(&c->diags, DIAG_ERROR, E_FILE, path, NULL, "%s", strerror(errno)), false;
    bool ok = file_map_fd(&c->diags, E_FILE, fd, path, f);
    close(fd);
    return ok;
}
/* ---- validation of manifests: their readers check nothing again */
static bool is_text(const json_t *o, const char *key) { return json_is_string(json_object_get(o, key)); }
static bool is_list(const json_t *o, const char *key) { return json_is_array(json_object_get(o, key)); }
static bool is_whole(const json_t *o, const char *key) {
    json_t *v = json_object_get(o, key);
    return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) < INT32_MAX;
}
/* Are all numbers below n? null is allowed where it may occur. */
static bool are_below(const json_t *o, const char *key, size_t n, bool or_null) {
    size_t k;
    json_t *v;
    json_array_foreach(json_object_get(o, key), k, v) {
        if (or_null && json_is_null(v)) continue;
        if (!json_is_integer(v) || json_integer_value(v) < 0 || (size_t)json_integer_value(v) >= n) return false;
    }
    return is_list(o, key);
}
static bool are_texts(const json_t *o, const char *key) {
    size_t k;
    json_t *v;
    json_array_foreach(json_object_get(o, key), k, v) if (!json_is_string(v)) return false;
    return is_list(o, key);
}
static bool sound_kernels(const json_t *m) {
    size_t k;
    json_t *e;
    json_array_foreach(json_object_get(m, "kernels"), k,
                       e) if (!is_text(e, "name") || !are_texts(e, "nodes")) return false;
    json_array_foreach(json_object_get(m, "nodes"), k, e) if (!is_text(e, "node") || !is_text(e, "state")) return false;
    return is_list(m, "kernels") && is_list(m, "nodes") && is_list(m, "symbols");
}
static bool sound_graph(const json_t *g) {
    size_t k, nvalues = json_array_size(json_object_get(g, "values")),
              nnodes = json_array_size(json_object_get(g, "nodes"));
    json_t *e;
    json_array_foreach(json_object_get(g, "values"), k, e) if (!is_text(e, "name") || !is_text(e, "type")) return false;
    json_array_foreach(json_object_get(g, "nodes"), k, e) {
        json_t *owner = json_object_get(e, "owner");
        if (!is_text(e, "op") || !is_text(e, "name") || !are_texts(e, "nodes")) return false;
        if (!are_below(e, "inputs", nvalues, true) || !are_below(e, "outputs", nvalues, true)) return false;
        if (owner && (!is_whole(e, "owner") || (size_t)json_integer_value(owner) >= k)) return false;
    }
    json_array_foreach(json_object_get(g, "groups"), k, e) {
        if (!is_text(e, "class") || !are_texts(e, "kernels")) return false;
        if (!are_below(e, "nodes", nnodes, false) || !are_below(e, "views", nnodes, false)) return false;
        if (!json_array_size(json_object_get(e, "nodes"))) return false;
    }
    return nvalues < INT32_MAX / 64 && nnodes < INT32_MAX / 64 && is_list(g, "groups") && is_list(g, "values") &&
           is_list(g, "nodes") && are_below(g, "inputs", nvalues, false) && are_below(g, "outputs", nvalues, false);
}
static bool sound_plan(const json_t *p) {
    size_t k;
    json_t *e, *positions = json_object_get(p, "positions");
    if (!is_whole(p, "positions") || json_integer_value(positions) > 16 << 20) return false;
    json_array_foreach(json_object_get(p, "buffers"), k, e) {
        json_int_t last = json_integer_value(json_object_get(e, "last"));
        if (!is_text(e, "name") || !is_text(e, "type") || last >= json_integer_value(positions)) return false;
    }
    json_array_foreach(json_object_get(p, "calls"), k, e) if (!is_whole(e, "at") || !is_text(e, "kernel")) return false;
    return is_list(p, "buffers") && is_list(p, "calls");
}
static bool sound(const json_t *m) {
    const json_t *graph = json_object_get(m, "graph");
    return is_text(m, "name") && is_text(m, "target") && is_text(m, "cflags") && sound_kernels(m) &&
           json_is_object(json_object_get(m, "arena")) && is_whole(json_object_get(m, "weights"), "bytes") &&
           is_text(json_object_get(m, "weights"), "kept_as") && (!graph || sound_graph(graph)) &&
           sound_plan(json_object_get(m, "plan"));
}
json_t *facts_manifest(struct ctx *c, const char *folder) {
    struct mapped_file f;
    json_error_t e = {.text = "it is too long"};
    const char *path = format(c, "%s/manifest.json", folder);
    if (access(path, F_OK) != 0) {
        diag_at(&c->diags, DIAG_ERROR, E_FILE, folder, NULL, "this folder has no manifest.json");
        diag_help(&c->diags, "it takes a model, or a folder that `gcc2nn MODEL -o DIR` wrote");
        return NULL;
    }
    if (!map_inside(c, folder, "manifest.json", &f)) return NULL;
    json_t *m = f.size <= MANIFEST_MOST ? json_loadb((const char *)f.bytes, f.size, 0, &e) : NULL;
    bool ours = manifest_is_ours(m);
    file_unmap(&f);
    if (ours && sound(m)) return m;
    if (m) diag_at(&c->diags, DIAG_ERROR, E_FILE, path, NULL, "this is no manifest that this version of gcc2nn writes");
    else diag_at(&c->diags, DIAG_ERROR, E_FILE, path, NULL, "this is no JSON: %s", e.text);
    if (ours && json_object_get(m, "bundle")) diag_help(&c->diags, "it is of a bundle: name one of its folders");
    else if (ours) diag_help(&c->diags, "compile the model again");
    json_decref(m);
    return NULL;
}

/* ---- the C of kernels */
struct code {
    struct ctx *c;
    struct map known; /* interned names of kernels */
    json_t *all;
    const char *file;
    size_t total;
};
/* The function that ends a piece of a file: named by the last line that begins with "void ". */
static const char *function_in(struct code *q, const char *s, size_t n) {
    const char *name = NULL;
    for (const char *line = s; line && line < s + n; line = memchr(line, '\n', (size_t)(s + n - line))) {
        line += *line == '\n';
        if (s + n - line < 5 || memcmp(line, "void ", 5) != 0) continue;
        name = internn(q->c->names, line + 5, strcspn(line + 5, "( \n"));
    }
    return name;
}
static void add_code(struct code *q, const char *name, const char *s, size_t n) {
    size_t most = q->total < CODE_MOST ? KERNEL_MOST : 0, shown = n;
    for (; n && (*s == '\n' || *s == ' '); n--) s++;
    if (n > most)
        for (shown = most; shown && s[shown - 1] != '\n'; shown--) continue;
    else shown = n;
    const char *rest = shown < n ? format(q->c, "/* ... %zu bytes more: %s */\n", n - shown, q->file) : "";
    json_t *text = json_string(format(q->c, "%.*s%s", (int)shown, s, rest));
    if (text) json_object_set_new(q->all, name, text);
    q->total += shown;
}
/* Functions end with a brace in the first column. The text before a kernel's function is its helpers, except for what
 * the whole file needs. */
static void read_kernels(struct code *q, const char *text) {
    const char *own = strstr(text, "_kernels.h\"\n"), *begin = own ? strchr(own, '\n') + 1 : text, *end;
    for (const char *at = begin; (end = strstr(at, "\n}\n")); at = end) {
        end += 3;
        const char *name = function_in(q, at, (size_t)(end - at));
        if (!name || !map_get(&q->known, PKEY(name))) continue;
        add_code(q, name, begin, (size_t)(end - begin));
        begin = end;
    }
}
json_t *facts_code(struct ctx *c, const char *folder, const json_t *manifest) {
    struct code q = {.c = c, .known = {.arena = &c->arena}, .all = json_object()};
    json_t *e;
    size_t k;
    json_array_foreach(json_object_get(manifest, "kernels"), k, e) {
        const char *name = json_string_value(json_object_get(e, "name"));
        if (name) map_put(&q.known, PKEY(intern(c->names, name)), c);
    }
    json_array_foreach(json_object_get(manifest, "sources"), k, e) {
        struct mapped_file f;
        q.file = json_string_value(e);
        if (!q.file || !strstr(q.file, "_kernels") || !is_file_name(q.file)) continue;
        if (!map_inside(c, folder, q.file, &f)) return json_decref(q.all), NULL;
        char *text = format(c, "%.*s", f.size < INT32_MAX ? (int)f.size : 0, (const char *)f.bytes);
        file_unmap(&f);
        read_kernels(&q, text);
    }
    return q.all;
}
