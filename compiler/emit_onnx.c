/* Writes a session's graph as a model. See emit_onnx.h. */
#include "compiler/emit_onnx.h"
#include <string.h>

bool emits_onnx(const struct options *o) { return o->emit && !strcmp(o->emit, "onnx"); }

bool emit_onnx_stop(struct session *s) {
    const char *last = NULL;
    s->compile.keep_operators = true;
    for (const struct pass_row *p = pipeline_of(&s->compile); p->name && p->level != LEVEL_LOOP; p++) {
        last = p->name;
        if (s->o->stop_after && !strcmp(p->name, s->o->stop_after)) return true;
    }
    if (!s->o->stop_after && !ends_with(s->compile.path, ".lir")) {
        s->compile.stop_after = last;
        return true;
    }
    diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL,
            "--emit=onnx writes graphs, and %s leaves loops; the last pass that leaves a graph is %s",
            s->o->stop_after ? s->o->stop_after : "a module", last);
    return false;
}
bool emit_onnx(struct session *s, const char *path, struct exported *e) {
    if (!path) path = format(s->c, "%s.%s.onnx", s->project.name, s->compile.stop_after);
    return export_onnx(s->u.g, path, &(struct export_options){s->o->opset, s->o->external_data}, e);
}
const char *exported_line(struct arena *a, const struct exported *e) {
    return arena_printf(a, "%s: opset %d, %d nodes, weights %lld bytes%s%s", e->file, e->opset, e->nodes,
                        (long long)e->weights, e->data ? " in " : "", e->data ? e->data : "");
}
json_t *exported_json(struct arena *a, const struct exported *e) {
    return json_pack("{s:o, s:i, s:i, s:I, s:o}", "file", json_name(a, e->file), "opset", e->opset, "nodes", e->nodes,
                     "weights_bytes", (json_int_t)e->weights, "data_file",
                     e->data ? json_name(a, e->data) : json_null());
}
