/* What both parts of manifest.json have in common: texts of the model, sizes, which kernels belong to which node. */
#include "codegen/manifest.h"
#include <string.h>

json_t *manifest_text(const struct project *w, const char *s) {
    json_t *j = s ? json_string(s) : json_null();
    return j ? j : json_string(diag_quote(&w->program->c->arena, s));
}
json_t *manifest_lines(const struct project *w, const char *s) {
    json_t *all = json_array();
    for (const char *end; s; s = *end ? end + 1 : NULL) {
        end = s + strcspn(s, "\n");
        json_array_append_new(all, manifest_text(w, format(w->program->c, "%.*s", (int)(end - s), s)));
    }
    return all;
}
bool manifest_lists(const struct proc *p) { return !p->launch; }
void manifest_kernels(const struct project *w, struct map *of_node, json_t *lists) {
    struct program *p = w->program;
    for (int k = 0; k < p->m->procs.n; k++)
        for (const char *s = manifest_lists(p->m->procs.v[k]) ? p->m->procs.v[k]->comment : NULL, *end; s;
             s = *end ? end + 1 : NULL) {
            end = s + strcspn(s, "\n");
            uint64_t key = PKEY(internn(p->c->names, s, (size_t)(end - s)));
            json_t *list = map_get(of_node, key);
            if (!list) {
                map_put(of_node, key, list = json_array());
                json_array_append_new(lists, list);
            }
            json_array_append_new(list, json_string(emit_proc_name(p->c, p->m->procs.v[k], &p->emit)));
        }
}
