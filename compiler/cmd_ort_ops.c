/* `gcc2nn ort-ops`: custom operators as sources of a library that ONNX Runtime loads (docs/custom-operators.md). */
#include "compiler/commands.h"
#include "compiler/ort_ops.h"

static void print_files(struct ctx *c, const file_names *names, const char *folder, bool json) {
    json_t *list = json_array();
    struct text t = {0};
    bool cpp = ort_ops_have_cpp(names);
    for (int k = 0; k < names->n; k++) json_array_append_new(list, json_string(names->v[k]));
    if (json) print_json(json_pack("{s:o, s:o}", "folder", json_name(&c->arena, folder), "files", list));
    else {
        text_printf(&t, "%s: %d operators; (cd %s && cc -O2 -fPIC -c *.c%s && %s -shared *.o -o ops.so -lm)\n", folder,
                    c->own_ops.n, folder, cpp ? " && c++ -O2 -fPIC -c *.cpp" : "", cpp ? "c++" : "cc");
        json_decref(list);
        print_text(&t);
    }
}
int cmd_ort_ops(const struct options *o) {
    struct ctx *c = ctx_new();
    file_names names = {0};
    struct custom_options custom = options_custom(o);
    const char *folder = o->out ? o->out : "ort_ops";
    options_diags(o, &c->diags);
    if (!custom.nops && !custom.npaths) {
        diag_at(&c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "no operators are given");
        diag_help(&c->diags, "--op DOMAIN:NAME=FILE, or --op-path DIR");
    } else if (custom_ops(c, &custom) && ort_ops_write(c, folder, &names)) {
        print_files(c, &names, folder, o->json);
    }
    int status = report_diags(&c->diags);
    ctx_free(c);
    return status;
}
