/* Custom operators as a library for ONNX Runtime: each source unchanged, followed by functions that check the shapes
 * that its comments declare, allocate the results and call it. Shared code is in templates/ort/ort_ops.h. */
#include "compiler/custom/ort.h"
#include "codegen/emit.h"
#include "codegen/foreign_files.h"
#include "codegen/template.h"
#include "lower/ops/foreign.h"
#include <string.h>

/* ---- formulas in C */
/* The C name of a size; sum(d) is not an identifier. */
static void put_size(struct text *t, const char *name) {
    text_add(t, "size_");
    for (; *name; name++) text_char(t, *name == '(' || *name == ')' ? '_' : *name);
}
static void put_formula(struct text *t, const struct formula *f) {
    static const char *const words[X_COUNT] = {
        [X_ADD] = "+", [X_SUB] = "-", [X_MUL] = "*", [X_AND] = "&&", [X_OR] = "||",
        [X_LT] = "<",  [X_LE] = "<=", [X_EQ] = "==", [X_NE] = "!="};
    text_char(t, '(');
    if (f->kind == FORMULA_NUMBER) text_printf(t, "%lld", (long long)f->whole);
    else if (f->kind == FORMULA_NAME) put_size(t, f->name);
    else if (f->kind == FORMULA_CAST) put_formula(t, f->arg[0]);
    else if (f->kind == FORMULA_XOP && !f->arg[1]) {
        text_add(t, f->op == X_NOT ? "!" : "-");
        put_formula(t, f->arg[0]);
    } else {
        bool extreme = f->kind == FORMULA_XOP && (f->op == X_MIN || f->op == X_MAX);
        put_formula(t, f->arg[0]);
        if (extreme) {
            text_add(t, f->op == X_MIN ? " < " : " > ");
            put_formula(t, f->arg[1]);
        }
        if (extreme || f->kind == FORMULA_SELECT) {
            text_add(t, " ? ");
            put_formula(t, extreme ? f->arg[0] : f->arg[1]);
            text_add(t, " : ");
            put_formula(t, extreme ? f->arg[1] : f->arg[2]);
        } else {
            text_printf(t, " %s ", f->kind == FORMULA_DIV ? "/" : f->kind == FORMULA_REST ? "%" : words[f->op]);
            put_formula(t, f->arg[1]);
        }
    }
    text_char(t, ')');
}
/* Division by 0 must be reported, not end the process. */
static void put_divisors(struct text *t, const struct formula *f) {
    for (int k = 0; k < 3 && f->arg[k] && (k == 0 || f->kind != FORMULA_SELECT); k++) put_divisors(t, f->arg[k]);
    if (f->kind != FORMULA_DIV && f->kind != FORMULA_REST) return;
    text_add(t, "    if (");
    put_formula(t, f->arg[1]);
    text_add(t, " == 0) return ort_fail(k, \"a size is divided by 0\");\n");
}

/* ---- one instance */
struct instance {
    struct ctx *c;
    const struct foreign_op *op;
    const struct op *row;
    const enum dtype *types;
    struct text *t;
    struct map sizes; /* names that have a value, and how many dims it stands for */
    struct map lists; /* names of sizes that differ from one tensor of the list to the next */
    int list_at;      /* index of the first input of the list */
};
static enum dtype type_of(const struct instance *q, const struct foreign_op_param *p) {
    return p->type != NONE ? p->type : q->types[p->of];
}
static const char *c_type_of(const struct instance *q, const struct foreign_op_param *p) {
    return p->c ? p->c : dtype_c(type_of(q, p));
}
static void name_size(struct instance *q, const char *name, const char *value) {
    text_add(q->t, "    const int64_t ");
    put_size(q->t, name);
    text_printf(q->t, " = %s;\n    (void)", value);
    put_size(q->t, name);
    text_add(q->t, ";\n");
    map_put(&q->sizes, PKEY(name), q);
}
static void put_check(struct instance *q, const char *cond, const char *what, const char *name) {
    text_printf(q->t, "    if (!(%s)) return ort_fail(k, \"%s of input %s is not what the operator says\");\n", cond,
                what, name);
}
/* Defines a size that is known before the inputs are examined. */
static void name_count(struct instance *q, const char *name, const char *value) {
    if (!map_get(&q->sizes, PKEY(name))) name_size(q, name, value);
    else
        text_printf(q->t, "    if (%s != size_%s) return ort_fail(k, \"the lists of length %s differ\");\n", value,
                    name, name);
}
/* The dims that match any number of axes. */
static const char *take_many(struct instance *q, const struct foreign_op_param *p, const struct foreign_dim *e,
                             const char *at, const char *place, const char *count) {
    const char *or_absent = p->optional ? format(q->c, "!in[%s].there || ", at) : "";
    if (!map_get(&q->sizes, PKEY(e->name))) {
        name_size(q, e->name, format(q->c, "ort_product(in[%s].dims + %s, %s)", at, place, count));
        text_printf(q->t, "    const int64_t *const dims_%s = in[%s].dims + %s;\n    const size_t rank_%s = %s;\n",
                    e->name, at, place, e->name, count);
    } else
        put_check(q,
                  format(q->c, "%s(%s == rank_%s && !memcmp(in[%s].dims + %s, dims_%s, sizeof(int64_t) * rank_%s))",
                         or_absent, count, e->name, at, place, e->name, e->name),
                  "a dim", p->name);
    return format(q->c, "%s + rank_%s", place, e->name);
}
static void take_dim(struct instance *q, const struct foreign_op_param *p, int d, const char *at, const char *dim) {
    const char *or_absent = p->optional ? format(q->c, "!in[%s].there || ", at) : "",
               *there = p->optional ? format(q->c, "!in[%s].there ? 0 : ", at) : "";
    const struct foreign_dim *e = &p->dims[d];
    bool before = false; /* does the name occur earlier in this tensor */
    for (int k = 0; k < d && e->varies; k++) before |= p->dims[k].varies && p->dims[k].name == e->name;
    if (e->varies && !before) {
        text_printf(q->t, "    list_%s[%s - %d] = %s;\n", e->name, at, q->list_at, dim);
        return;
    }
    if (e->name && !e->varies && !map_get(&q->sizes, PKEY(e->name))) {
        name_size(q, e->name, format(q->c, "%s%s", there, dim));
        return;
    }
    struct text f = {0};
    if (e->varies) text_printf(&f, "list_%s[%s - %d]", e->name, at, q->list_at);
    else if (e->name) put_size(&f, e->name);
    else put_divisors(q->t, e->value), put_formula(&f, e->value);
    put_check(q, format(q->c, "%s%s == %s", or_absent, dim, f.s), "a dim", p->name);
    text_free(&f);
}
/* An absent optional input is not checked; sizes that only it defines are 0. */
static void take_input(struct instance *q, const struct foreign_op_param *p, const char *at) {
    int fixed = 0;
    const char *many = NULL, *place = "0", *or_absent = p->optional ? format(q->c, "!in[%s].there || ", at) : "",
               *there = p->optional ? format(q->c, "!in[%s].there ? 0 : ", at) : "";
    text_printf(q->t, "    if ((failed = ort_input(k, context, %s, &in[%s])) != NULL) return failed;\n", at, at);
    if (!p->shaped) return;
    for (int d = 0; d < p->ndims; d++)
        if (p->dims[d].many) many = p->dims[d].name;
        else fixed++;
    if (!many || fixed)
        put_check(q, format(q->c, "%sin[%s].rank %s %d", or_absent, at, many ? ">=" : "==", fixed), "the rank",
                  p->name);
    for (int d = 0; d < p->ndims; d++) {
        if (p->dims[d].many) {
            const char *count = format(q->c, "(%sin[%s].rank - %d)", there, at, fixed);
            place = take_many(q, p, &p->dims[d], at, place, count);
            continue;
        }
        take_dim(q, p, d, at, format(q->c, "in[%s].dims[%s]", at, place));
        place = format(q->c, "%s + 1", place);
    }
}
/* The first tensor defines sizes, which all others must have; those that may differ are stored for each. */
static void take_list(struct instance *q, const struct foreign_op_param *p, int at) {
    q->list_at = at;
    for (int d = 0, n = 0; d < p->ndims; d++) {
        if (!p->dims[d].varies || map_get(&q->lists, PKEY(p->dims[d].name))) continue;
        text_printf(q->t, "    int64_t *const list_%s = room->sizes + %d * room->ins;\n", p->dims[d].name, n++);
        map_put(&q->lists, PKEY(p->dims[d].name), q);
    }
    take_input(q, p, format(q->c, "%d", at));
    text_printf(q->t, "    for (size_t j = %d; j < room->ins; j++) {\n", at + 1);
    take_input(q, p, "j");
    text_add(q->t, "    }\n");
    for (int d = 0; d < p->ndims; d++) {
        const char *name = p->dims[d].name, *sum = p->dims[d].varies ? internf(q->c->names, "sum(%s)", name) : NULL;
        if (sum && !map_get(&q->sizes, PKEY(sum)))
            name_size(q, sum, format(q->c, "ort_sum(list_%s, room->ins - %d)", name, at));
    }
}
static void give_output(struct instance *q, const struct foreign_op_param *p, int first) {
    const char *at = p->list ? "j" : format(q->c, "%d", first);
    if (p->list) text_printf(q->t, "    for (size_t j = %d; j < room->outs; j++) {\n", first);
    text_printf(q->t, "    out[%s].rank = 0;\n", at);
    for (int d = 0; d < p->ndims; d++) {
        const struct foreign_dim *e = &p->dims[d];
        if (e->many) {
            text_printf(q->t, "    if (out[%s].rank + rank_%s > ORT_RANK) return ort_fail(k, \"too many dims\");\n", at,
                        e->name);
            text_printf(q->t,
                        "    memcpy(out[%s].dims + out[%s].rank, dims_%s, sizeof(int64_t) * rank_%s);\n    "
                        "out[%s].rank += rank_%s;\n",
                        at, at, e->name, e->name, at, e->name);
            continue;
        }
        if (e->varies)
            text_printf(q->t,
                        "    if (j - %d >= room->ins - %d) return ort_fail(k, \"more results %s than sizes %s\");\n",
                        first, q->list_at, p->name, e->name);
        if (!e->name) put_divisors(q->t, e->value);
        text_printf(q->t,
                    "    if (out[%s].rank == ORT_RANK) return ort_fail(k, \"too many dims\");\n    "
                    "out[%s].dims[out[%s].rank++] = ",
                    at, at, at);
        if (e->varies) text_printf(q->t, "list_%s[j - %d]", e->name, first);
        else if (e->name) put_size(q->t, e->name);
        else put_formula(q->t, e->value);
        text_add(q->t, ";\n");
    }
    text_printf(q->t,
                "    for (size_t d = 0; d < out[%s].rank; d++)\n        if (out[%s].dims[d] < 0) return ort_fail(k, "
                "\"a result of a negative size\");\n",
                at, at);
    text_printf(q->t, "    if ((failed = ort_output(k, context, %s, &out[%s])) != NULL) return failed;\n", at, at);
    if (p->list) text_add(q->t, "    }\n");
}
static const char *function_of(const struct instance *q) {
    const char *words = "";
    for (int k = 0; k < q->op->ntypes; k++) words = format(q->c, "%s%s%s", words, k ? ", " : "", dtype_c(q->types[k]));
    return q->op->ntypes ? format(q->c, "%s<%s>", q->op->cpu.function, words) : q->op->cpu.function;
}
static void put_number(struct instance *q, const struct foreign_op_param *p, int attr) {
    if (!p->attribute) text_printf(q->t, "(%s)size_%s", c_type_of(q, p), p->name);
    else text_printf(q->t, "(%s)k->%c[%d]", c_type_of(q, p), dtype_is_int(p->type) ? 'i' : 'f', attr);
}
/* Defines sizes that are attributes, and the lengths of lists. */
static void take_attributes(struct instance *q) {
    for (int k = 0, attr = 0, ins = 0, outs = 0; k < q->op->n; k++) {
        const struct foreign_op_param *p = &q->op->params[k];
        bool read = foreign_is_input(p);
        if (p->tensors)
            name_count(q, p->tensors,
                       format(q->c, "(int64_t)(room->%s - %d)", read ? "ins" : "outs", read ? ins : outs));
        ins += read, outs += p->use == FOREIGN_WRITTEN;
        if (!p->attribute) continue;
        if (p->use == FOREIGN_NUMBER && dtype_is_int(p->type)) name_size(q, p->name, format(q->c, "k->i[%d]", attr));
        if (p->count) name_count(q, p->count, format(q->c, "(int64_t)k->n[%d]", attr));
        attr++;
    }
}
static void take_inputs(struct instance *q, bool optional) {
    for (int k = 0, at = 0; k < q->op->n; k++) {
        const struct foreign_op_param *p = &q->op->params[k];
        bool now = foreign_is_input(p) && p->optional == optional;
        if (now && p->list) take_list(q, p, at);
        else if (now) take_input(q, p, format(q->c, "%d", at));
        at += foreign_is_input(p);
    }
}
/* Pointer to the first cell of a tensor, for this call. */
static const char *cells_of(const struct instance *q, const struct foreign_op_param *p, const char *at) {
    bool read = p->use == FOREIGN_READ, sliced = q->op->each && p->ndims && p->dims[0].name == q->op->each;
    const char *tensor = format(q->c, "%s[%s]", read ? "in" : "out", at),
               *cells = format(q->c, "(%s%s *)%s.cells", read ? "const " : "", c_type_of(q, p), tensor);
    return sliced ? format(q->c, "%s + row * (%s.n / size_%s)", cells, tensor, q->op->each) : cells;
}
/* The pointers of lists. */
static void put_lists(struct instance *q) {
    int at[2] = {0, 0};
    for (int k = 0; k < q->op->n; k++) {
        const struct foreign_op_param *p = &q->op->params[k];
        if (p->use == FOREIGN_NUMBER || p->attribute) continue;
        bool read = p->use == FOREIGN_READ;
        int first = at[read]++;
        if (!p->list) continue;
        const char *type = format(q->c, "%s%s **", read ? "const " : "", c_type_of(q, p)), *side = read ? "in" : "out";
        text_printf(q->t,
                    "    %sconst list_%s = (%s)room->pointers_%s;\n    for (size_t j = %d; j < room->%ss; j++) "
                    "list_%s[j - %d] = %s;\n",
                    type, p->name, type, side, first, side, p->name, first, cells_of(q, p, "j"));
    }
}
static void put_tensors(struct instance *q) {
    int ins = 0, outs = 0, attrs = 0;
    take_attributes(q);
    take_inputs(q, false), take_inputs(q, true);
    for (int k = 0; k < q->op->n; k++)
        if (q->op->params[k].use == FOREIGN_WRITTEN) give_output(q, &q->op->params[k], outs++);
    if (q->op->each) text_printf(q->t, "    for (int64_t row = 0; row < size_%s; row++) {\n", q->op->each);
    put_lists(q);
    text_printf(q->t, "    %s(", function_of(q));
    ins = outs = 0;
    for (int k = 0; k < q->op->n; k++) {
        const struct foreign_op_param *p = &q->op->params[k];
        if (k) text_add(q->t, ", ");
        if (p->list) {
            text_printf(q->t, "list_%s", p->name);
            ins += p->use == FOREIGN_READ, outs += p->use == FOREIGN_WRITTEN;
            continue;
        }
        if (p->use == FOREIGN_NUMBER) put_number(q, p, attrs);
        else if (p->attribute) text_printf(q->t, "(const %s *)k->list[%d]", c_type_of(q, p), attrs);
        attrs += p->attribute;
        if (p->use == FOREIGN_NUMBER || p->attribute) continue;
        text_add(q->t, cells_of(q, p, format(q->c, "%d", p->use == FOREIGN_READ ? ins++ : outs++)));
    }
    text_printf(q->t, ");\n%s    return NULL;\n", q->op->each ? "    }\n" : "");
}
static void put_cells(struct instance *q, int nins) {
    int ins = 0, attrs = 0;
    for (int k = 0; k < nins; k++)
        text_printf(q->t, "    if ((failed = ort_input(k, context, %d, &in[%d])) != NULL) return failed;\n", k, k);
    text_printf(q->t, "    if (!ort_spread(in, %d, &out[0])) return ort_fail(k, \"the inputs do not broadcast\");\n",
                nins);
    text_add(q->t, "    if ((failed = ort_output(k, context, 0, &out[0])) != NULL) return failed;\n");
    text_printf(q->t, "    for (int64_t i = 0; i < out[0].n; i++)\n        ((%s *)out[0].cells)[i] = %s(",
                dtype_c(q->op->result), function_of(q));
    for (int k = 0; k < q->op->n; k++) {
        const struct foreign_op_param *p = &q->op->params[k];
        if (k) text_add(q->t, ", ");
        if (p->attribute) put_number(q, p, attrs++);
        else {
            text_printf(q->t, "((const %s *)in[%d].cells)[ort_cell(&in[%d], &out[0], i)]", c_type_of(q, p), ins, ins);
            ins++;
        }
    }
    text_add(q->t, ");\n    return NULL;\n");
}
static int slots(const struct op_slot *s) {
    int n = 0;
    while (s[n].name) n++;
    return n;
}
static const char *attr_kind_word(enum attr_kind k) {
    return k == AT_INT      ? "ORT_INT"
           : k == AT_FLOAT  ? "ORT_FLOAT"
           : k == AT_INTS   ? "ORT_INTS"
           : k == AT_FLOATS ? "ORT_FLOATS"
                            : "ORT_TEXT";
}
static void put_row(struct instance *q, int number, int nins, int nouts) {
    text_printf(q->t, "static const struct ort_slot slots_%d[] = {", number);
    if (q->op->result != NONE) {
        for (int k = 0; k < q->op->n; k++)
            if (!q->op->params[k].attribute)
                text_printf(q->t, "{%d, ORT_REQUIRED}, ", dtype_onnx(q->op->params[k].type));
        text_printf(q->t, "{%d, ORT_REQUIRED}", dtype_onnx(q->op->result));
    } else
        for (int pass = FOREIGN_READ, n = 0; pass <= FOREIGN_WRITTEN; pass++)
            for (int k = 0; k < q->op->n; k++) {
                const struct foreign_op_param *p = &q->op->params[k];
                if ((int)p->use == pass && !p->attribute)
                    text_printf(q->t, "%s{%d, %s}", n++ ? ", " : "", dtype_onnx(type_of(q, p)),
                                p->list       ? "ORT_LIST"
                                : p->optional ? "ORT_OPTIONAL"
                                              : "ORT_REQUIRED");
            }
    text_printf(q->t, "};\nstatic const struct ort_attr attrs_%d[] = {", number);
    for (const struct op_attr *a = q->row->attrs; a->name; a++) {
        text_printf(q->t, "{\"%s\", %s, %d, %.17g, ", a->name, attr_kind_word(a->kind), !(a->flags & A_REQUIRED),
                    a->kind == AT_FLOAT ? (double)a->f : (double)a->i);
        if (a->s) emit_string(q->t, a->s, strlen(a->s));
        else text_add(q->t, "NULL");
        text_add(q->t, "}, ");
    }
    text_add(q->t, "{NULL, ORT_INT, 0, 0, NULL}};\n");
    text_printf(q->t, "static const struct ort_what what_%d = {\"%s\", \"%s\", slots_%d, %d, %d, attrs_%d, run_%d};\n",
                number, *q->row->domain ? q->row->domain : "ai.onnx", q->row->name, number, nins, nouts, number,
                number);
}
static int put_instance(struct instance *q, int number) {
    int nins = slots(q->row->ins), nouts = slots(q->row->outs);
    text_printf(
        q->t,
        "\n/* %s */\nstatic void *run_%d(const struct ort_kernel *k, void *context, const struct ort_room *room) "
        "{\n    struct ort_tensor *const in = room->in, *const out = room->out;\n    void *failed;\n    (void)in;\n",
        q->op->op, number);
    if (q->op->result != NONE) put_cells(q, nins);
    else put_tensors(q);
    text_add(q->t, "}\n");
    put_row(q, number, nins, nouts);
    return number + 1;
}
/* Templates: an instance of each of these types for all of its parameters. */
static int put_operator(struct ctx *c, struct text *t, const struct op *row, int number) {
    static const enum dtype all[] = {F32, F64, I32, I64};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        enum dtype types[FOREIGN_TYPES] = {all[k], all[k], all[k], all[k]};
        struct instance q = {c, row->foreign, row, types, t, {.arena = &c->arena}, {.arena = &c->arena}, 0};
        if (k && !row->foreign->ntypes) break;
        number = put_instance(&q, number);
    }
    return number;
}
void ort_source(struct ctx *c, const struct foreign_source *s, struct text *out) {
    int rows = 0;
    struct text t = {0};
    bool cpp = s->language == FOREIGN_CPP;
    text_add(out, "/* Operators for ONNX Runtime, by gcc2nn: the user's source, and behind it what the runtime calls. "
                  "*/\n#include \"ort_ops.h\"\n");
    foreign_text(out, s, internf(c->names, "%s_ort.%s", s->stem, cpp ? "cpp" : "c"));
    for (int k = 0; k < c->own_ops.n; k++)
        if (c->own_ops.v[k]->foreign->cpu.source == s) rows = put_operator(c, &t, c->own_ops.v[k], rows);
    const char *linkage = cpp ? "extern \"C\" " : "";
    text_printf(&t, "\n%sstruct ort_row *ort_rows_%s(int n);\n", linkage, s->stem);
    text_printf(&t, "%sstruct ort_row *ort_rows_%s(int n) {\n    static struct ort_row rows[%d];\n", linkage, s->stem,
                rows);
    text_add(&t, "    static const struct ort_what *const whats[] = {");
    for (int k = 0; k < rows; k++) text_printf(&t, "%s&what_%d", k ? ", " : "", k);
    text_printf(&t, "};\n    if (n >= %d) return NULL;\n    rows[n].what = whats[n];\n    return &rows[n];\n}\n", rows);
    emit_wrap(&t);
    text_addn(out, t.s, t.n);
    text_free(&t);
}
void ort_register(const struct foreign_source *const *sources, int n, struct text *out) {
    text_add(out, "/* What ONNX Runtime calls when it loads this library: register_custom_ops_library in Python,\n * "
                  "RegisterCustomOpsLibrary in C. */\n#include \"ort_ops.h\"\n\n");
    for (int k = 0; k < n; k++) text_printf(out, "struct ort_row *ort_rows_%s(int n);\n", sources[k]->stem);
    text_add(out, "void *RegisterCustomOps(void *options, const struct ort_base *base);\nvoid *RegisterCustomOps(void "
                  "*options, const struct ort_base *base) {\n"
                  "    static struct ort_row *(*const files[])(int n) = {");
    for (int k = 0; k < n; k++) text_printf(out, "ort_rows_%s, ", sources[k]->stem);
    text_add(out, "NULL};\n"
                  "    const struct ort_api *api = base->api(ORT_OP_VERSION);\n"
                  "    struct ort_row *last = NULL; /* those that are registered, by `before` */\n"
                  "    if (!api) return base->api(1)->status(ORT_FAIL, \"this ONNX Runtime is older than 1.16\");\n"
                  "    for (int f = 0; files[f]; f++)\n"
                  "        for (int k = 0; files[f](k); k++) {\n"
                  "            void *failed = ort_add(api, options, files[f](k), last);\n"
                  "            if (failed) return failed;\n"
                  "            last = files[f](k);\n"
                  "        }\n"
                  "    return NULL;\n}\n");
    emit_wrap(out);
}
