/* `gcc2nn list-ops`, `list-targets` and `list-rules`: the registries, as tables or JSON. */
#include "compiler/commands.h"
#include "compiler/graph/rules.h"
#include "ir/graph/op.h"
#include "ir/loop/target.h"
#include "lower/machine/numbers.h"
#include <string.h>

static const char *kind_of(const struct op *op) {
    return op->define ? "definition" : op->expand ? "expansion" : "control";
}

static json_t *slots(const struct op_slot *s) {
    json_t *list = json_array();
    for (; s && s->name; s++)
        json_array_append_new(list, json_pack("{s:s, s:b, s:b}", "name", s->name, "optional", !!(s->flags & OPTIONAL),
                                              "variadic", !!(s->flags & VARIADIC)));
    return list;
}
static json_t *attributes(const struct op_attr *a) {
    static const char *const kinds[] = {
        [AT_INT] = "int",         [AT_FLOAT] = "float", [AT_STRING] = "string", [AT_TENSOR] = "tensor",
        [AT_REGION] = "graph",    [AT_INTS] = "ints",   [AT_FLOATS] = "floats", [AT_STRINGS] = "strings",
        [AT_TENSORS] = "tensors", [AT_TYPE] = "type"};
    json_t *list = json_array();
    for (; a && a->name; a++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "name", a->name, "kind", kinds[a->kind], "required",
                                              !!(a->flags & A_REQUIRED)));
    return list;
}

/* Prints one or the other as a whole, so that the reason is known if it cannot be written. */
static int print_list(const struct options *o, json_t *list, struct text *rows) {
    if (o->json) print_json(list), text_free(rows);
    else print_text(rows), json_decref(list);
    return EXIT_OK;
}

int cmd_list_ops(const struct options *o) {
    json_t *list = json_array();
    struct text rows = {0};
    for (int i = 0; i < op_count(); i++) {
        const struct op *op = op_at(i);
        const char *domain = *op->domain ? op->domain : "ai.onnx", *spec = op->spec ? op->spec : "";
        if (o->json)
            json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i, s:s, s:s, s:o, s:o, s:o}", "domain", domain,
                                                  "name", op->name, "since", op->since, "oldest", op->first, "kind",
                                                  kind_of(op), "notes", spec, "inputs", slots(op->ins), "outputs",
                                                  slots(op->outs), "attributes", attributes(op->attrs)));
        else
            text_printf(&rows, "%-14s %-28s %2d..%-2d %-10s %s\n", domain, op->name, op->first,
                        opset_newest(op->domain), kind_of(op), spec);
    }
    return print_list(o, list, &rows);
}

static bool is_native(const struct target *t) { return strcmp(t->name, target_native()->name) == 0; }

static json_t *instructions(const struct target *t) {
    json_t *list = json_array();
    static const char *const scopes[] = {[SCOPE_LANE] = "lane", [SCOPE_WARP] = "warp", [SCOPE_TILE] = "tile"};
    for (const struct instr_row *const *r = t->instrs; r && *r; r++) {
        json_t *o = json_pack("{s:s, s:s, s:s, s:i}", "name", (*r)->name, "scope", scopes[(*r)->scope], "body",
                              (*r)->body, "bound", (*r)->bound);
        if ((*r)->within.hole)
            json_object_set_new(o, "within",
                                json_pack("{s:s, s:I, s:I}", "operand", (*r)->within.hole, "least",
                                          (json_int_t)(*r)->within.lo, "greatest", (json_int_t)(*r)->within.hi));
        json_array_append_new(list, o);
    }
    return list;
}
static json_t *numbers(const struct target *t) {
    json_t *list = json_array();
    double value;
    for (const struct number_row *n = machine_numbers; n->name; n++)
        if (machine_number(t->machine, n, &value))
            json_array_append_new(list, json_pack("{s:s, s:s, s:f}", "name", n->name, "unit", n->unit, "value", value));
    return list;
}
static json_t *board_json(const struct board *b) {
    if (!b) return json_null();
    return json_pack("{s:s, s:I, s:I, s:I}", "name", b->name, "flash_bytes", (json_int_t)b->flash_bytes, "ram_bytes",
                     (json_int_t)b->ram_bytes, "more_bytes", (json_int_t)b->more_bytes);
}
int cmd_list_targets(const struct options *o) {
    static const char *const classes[] = {[TC_CPU] = "cpu", [TC_MCU] = "mcu", [TC_GPU] = "gpu"};
    json_t *list = json_array();
    struct text rows = {0};
    for (const struct target *const *t = nn_targets; *t; t++)
        if (o->json)
            json_array_append_new(
                list, json_pack("{s:s, s:s, s:i, s:s, s:s?, s:s?, s:s?, s:b, s:s, s:o, s:o, s:o}", "name", (*t)->name,
                                "class", classes[(*t)->cls], "lanes", machine_lanes((*t)->machine, F32), "cflags",
                                (*t)->cflags ? (*t)->cflags : "", "needs", (*t)->needs, "cc", (*t)->cc, "runner",
                                (*t)->runner, "native", is_native(*t), "help", (*t)->help, "instructions",
                                instructions(*t), "numbers", numbers(*t), "board", board_json((*t)->board)));
        else
            text_printf(&rows, "%-16s %-4s %s%s\n", (*t)->name, classes[(*t)->cls], (*t)->help,
                        is_native(*t) ? "; this machine: native, auto" : "");
    return print_list(o, list, &rows);
}

int cmd_list_rules(const struct options *o) {
    json_t *list = json_array();
    struct text rows = {0};
    for (int k = 0; k < rule_count(); k++) {
        const struct rule *r = rule_at(k);
        if (o->json)
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", r->name, "pattern", r->pattern,
                                                  "result", r->result, "keeps", exactness_name(r->exactness)));
        else text_printf(&rows, "%-22s %-11s %s -> %s\n", r->name, exactness_name(r->exactness), r->pattern, r->result);
    }
    return print_list(o, list, &rows);
}
