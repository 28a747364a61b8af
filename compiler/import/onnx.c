/* ONNX import: the model as a whole - opsets, inputs, symbols, metadata - and the order of the import's steps. */
#include "compiler/import/onnx.h"
#include "compiler/import/onnx_import.h"
#include "ir/graph/op.h"
#include <string.h>
#include <unistd.h>

void onnx_error(struct importer *m, enum diag_code code, const char *fmt, ...) {
    struct text t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    diag(&m->c->diags, DIAG_ERROR, code, "%s", t.s);
    text_free(&t);
}

/* ---- opsets */
const char *onnx_domain(struct importer *m, const char *domain) {
    return intern(m->c->names, strcmp(domain, "ai.onnx") == 0 ? "" : domain);
}

static int version_in(struct importer *m, Onnx__OperatorSetIdProto *const *v, size_t n, const char *domain) {
    for (size_t i = 0; i < n; i++)
        if (onnx_domain(m, onnx_text(v[i]->domain)) == domain)
            return v[i]->version > 0 && v[i]->version < 1000000 ? (int)v[i]->version : 1;
    return 0;
}

/* A domain that is used but not imported. Before IR 3 there were no opsets, and domains with a single version need
 * none. */
static void tell_missing(struct importer *m, const char *domain) {
    bool before = m->model->has_ir_version && m->model->ir_version < 3;
    const char *key = onnx_key(m, "opset", domain, ""), *name = *domain ? domain : "ai.onnx";
    if (before || opset_newest(domain) == 1 || map_get(&m->told, PKEY(key))) return;
    map_put(&m->told, PKEY(key), (void *)(intptr_t)1);
    diag(&m->c->diags, *domain ? DIAG_WARNING : DIAG_ERROR, E_OPSET,
         "the model does not say which opset of domain %s it uses%s", diag_quote(&m->c->arena, name),
         *domain ? ": 1 is taken" : "");
    diag_help(&m->c->diags, "add it: model.opset_import.append(onnx.helper.make_opsetid(DOMAIN, VERSION)), with the "
                            "version that the exporter wrote for");
}

int onnx_version(struct importer *m, const struct frame *f, const char *domain) {
    int v = f && f->function ? version_in(m, f->function->opset_import, f->function->n_opset_import, domain) : 0;
    if (!v) v = version_in(m, m->model->opset_import, m->model->n_opset_import, domain);
    if (!v) tell_missing(m, domain);
    return v ? v : 1;
}

static void check_opsets(struct importer *m, Onnx__OperatorSetIdProto *const *v, size_t n, bool keep) {
    if (n > ONNX_MAX_OPSETS) {
        onnx_error(m, E_LIMIT, "more than %d opsets", ONNX_MAX_OPSETS);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *domain = onnx_domain(m, onnx_text(v[i]->domain));
        int newest = opset_newest(domain);
        bool known = !*domain || strcmp(domain, "ai.onnx.ml") == 0;
        if (v[i]->version < 1 || v[i]->version > INT32_MAX || (known && v[i]->version > newest)) {
            onnx_error(m, E_OPSET, "opset %lld of domain %s is not known; 1 to %d are", (long long)v[i]->version,
                       *domain ? diag_quote(&m->c->arena, domain) : "ai.onnx", newest);
            diag_help(&m->c->diags, "export the model with opset %d or older", newest);
        }
        int first = version_in(m, v, n, domain);
        if (first != v[i]->version)
            onnx_error(m, E_OPSET, "opset %d and opset %lld of domain %s are both asked for", first,
                       (long long)v[i]->version, *domain ? diag_quote(&m->c->arena, domain) : "ai.onnx");
        if (keep) PUSH(&m->c->arena, &m->g->opsets, ((struct opset){domain, (int)v[i]->version}));
    }
}

static void opsets(struct importer *m) {
    if (m->model->ir_version > ONNX_NEWEST_IR)
        diag(&m->c->diags, DIAG_WARNING, E_OPSET, "IR version %lld is newer than %d, the newest that is known",
             (long long)m->model->ir_version, ONNX_NEWEST_IR);
    check_opsets(m, m->model->opset_import, m->model->n_opset_import, true);
    for (size_t i = 0; i < m->model->n_functions; i++)
        check_opsets(m, m->model->functions[i]->opset_import, m->model->functions[i]->n_opset_import, false);
}

/* ---- metadata: raw; escaped by whoever prints it */
static void keep(struct importer *m, const char *key, const char *value) {
    if (value && *value)
        PUSH(&m->c->arena, &m->g->metadata, ((struct metadata){intern(m->c->names, key), intern(m->c->names, value)}));
}

static void metadata(struct importer *m) {
    const Onnx__ModelProto *p = m->model;
    keep(m, "producer_name", p->producer_name);
    keep(m, "producer_version", p->producer_version);
    keep(m, "domain", p->domain);
    keep(m, "doc_string", p->doc_string);
    if (p->has_model_version) keep(m, "model_version", format(m->c, "%lld", (long long)p->model_version));
    for (size_t i = 0; i < p->n_metadata_props; i++)
        keep(m, onnx_text(p->metadata_props[i]->key), p->metadata_props[i]->value);
}

/* ---- inputs */
static void note_dim_names(struct importer *m, const Onnx__TypeProto *t) {
    if (!t || t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !t->tensor_type->shape) return;
    for (size_t i = 0; i < t->tensor_type->shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *d = t->tensor_type->shape->dim[i];
        if (d->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM || !*d->dim_param) continue;
        const char *name = intern(m->c->names, d->dim_param);
        map_put(&m->dim_names, PKEY(name), (void *)(uintptr_t)name);
    }
}

/* Names of initializers, which older models also list as inputs. */
static struct map initializer_names(struct importer *m, const Onnx__GraphProto *p) {
    struct map names = {.arena = &m->c->arena};
    for (size_t i = 0; i < p->n_initializer; i++) {
        const char *s = intern(m->c->names, onnx_text(p->initializer[i]->name));
        map_put(&names, PKEY(s), m);
    }
    for (size_t i = 0; i < p->n_sparse_initializer; i++) {
        const Onnx__TensorProto *v = p->sparse_initializer[i]->values;
        const char *s = intern(m->c->names, v ? onnx_text(v->name) : "");
        map_put(&names, PKEY(s), m);
    }
    return names;
}

static void inputs(struct importer *m, struct scope *s, const Onnx__GraphProto *p) {
    struct map constants = initializer_names(m, p);
    for (size_t i = 0; i < p->n_input; i++) note_dim_names(m, p->input[i]->type);
    for (size_t i = 0, k = 0; i < p->n_input; i++) {
        const char *name = intern(m->c->names, onnx_text(p->input[i]->name));
        if (!m->o.keep_inputs && map_get(&constants, PKEY(name))) continue;
        m->c->diags.origin = format(m->c, "input %s", diag_quote(&m->c->arena, name));
        if (onnx_holder(m, s, (int)k++, name, p->input[i]->type)) continue;
        struct type t = onnx_type(m, p->input[i]->type, name);
        onnx_declare(m, s, name, region_param(m->g->top, name, t));
        if (t.kind == TY_TENSOR && t.rank < 0) {
            onnx_error(m, E_RANK, "the model does not say how many dimensions it has");
            diag_help(&m->c->diags,
                      "say it with --shape '%s=1x3x?x?' (as many sizes as there are dimensions, ? for any), or with "
                      "--rank '%s=N'",
                      name, name);
        }
    }
    m->c->diags.origin = NULL;
}

void onnx_check_options(struct importer *m) {
    struct text known = {0};
    for (int i = 0; i < m->g->syms.n; i++)
        text_printf(&known, "%s%s", i ? ", " : "", diag_quote(&m->c->arena, m->g->syms.v[i]->name));
    for (int i = 0; i < m->o.ndims; i++)
        if (!m->dim_used[i] && !m->o.dims[i].if_there) {
            onnx_error(m, E_USAGE, "--dim %s: no input has a dimension of that name",
                       diag_quote(&m->c->arena, m->o.dims[i].name));
            diag_help(&m->c->diags, "the model's symbols are: %s", known.n ? known.s : "none");
        }
    for (int i = 0; i < m->o.nshapes; i++)
        if (!m->shape_used[i]) {
            onnx_error(m, E_USAGE, "--shape %s: no input has that name", diag_quote(&m->c->arena, m->o.shapes[i].name));
            diag_help(&m->c->diags, "`gcc2nn inspect` shows the model's inputs");
        }
    text_free(&known);
}
struct named {
    const char *name;
    bool found;
};
static void find_name(void *env, struct node *n) {
    struct named *x = env;
    for (int k = 0; k < n->outs.n; k++) x->found |= n->outs.v[k] && !strcmp(n->outs.v[k]->name, x->name);
}
void onnx_take_ranks(struct importer *m) {
    for (int i = 0; i < m->o.nranks; i++) {
        struct named x = {m->o.ranks[i].name, false};
        each_node(m->g->top, find_name, &x);
        if (x.found) PUSH(&m->c->arena, &m->g->ranks, m->o.ranks[i]);
        else if (!m->rank_used[i])
            onnx_error(m, E_USAGE, "--rank %s: no value has that name", diag_quote(&m->c->arena, x.name));
    }
}

/* ---- steps */
static bool build(struct importer *m) {
    struct diags *d = &m->c->diags;
    int before = d->errors;
    struct scope top = {.region = m->g->top, .names = {.arena = &m->c->arena}};
    opsets(m);
    metadata(m);
    onnx_functions(m);
    if (d->errors > before) return false;
    inputs(m, &top, m->model->graph);
    onnx_check_options(m);
    if (!onnx_graph(m, &top, m->model->graph) || d->errors > before || !graph_sort(m->g)) return false;
    onnx_rows(m);
    onnx_claims(m);
    onnx_take_ranks(m);
    return d->errors == before && graph_verify(m->g, NULL);
}

void onnx_start(struct importer *m, const struct import_options *o) {
    if (o) m->o = *o;
    m->o.max_depth = m->o.max_depth ? m->o.max_depth : ONNX_NESTING;
    m->o.max_nodes = m->o.max_nodes ? m->o.max_nodes : 1 << 18;
    m->o.max_bytes = m->o.max_bytes ? m->o.max_bytes : INT64_C(4) << 30;
    m->dim_used = NEWN(&m->c->arena, bool, m->o.ndims);
    m->shape_used = NEWN(&m->c->arena, bool, m->o.nshapes);
    m->rank_used = NEWN(&m->c->arena, bool, m->o.nranks);
    m->functions.arena = m->dim_names.arena = m->told.arena = &m->c->arena;
}

struct graph *import_onnx_bytes(struct ctx *c, const char *path, const uint8_t *data, size_t n,
                                const struct import_options *o) {
    struct importer m = {.c = c, .external = {.folder = -1}};
    struct raw_spans *spans = NEW(&c->arena, struct raw_spans);
    const char *file = c->diags.file, *origin = c->diags.origin;
    c->diags.file = intern(c->names, path);
    c->diags.origin = NULL;
    onnx_start(&m, o);
    bool ok = false;
    struct diags found = {.arena = &c->arena}; /* discarded: diagnostics about a file of another format would not
                                                * help */
    m.model = onnx_unpack(&found, &c->arena, data, n, &onnx__model_proto__descriptor, spans);
    bool whole = m.model && m.model->graph;
    if (!whole && !other_format_file(&c->diags, c->diags.file, data, n)) {
        for (int k = 0; k < found.n; k++) onnx_error(&m, found.v[k].code, "%s", found.v[k].message);
        if (m.model) onnx_error(&m, E_ONNX, "the file is no ONNX model, or an empty one: it has no graph");
    }
    if (whole && external_open(&m.external, &c->diags, &c->arena, path)) {
        m.g = graph_new(c, onnx_text(m.model->graph->name));
        trace_pass(m.g, "import");
        m.g->file = c->diags.file;
        m.reader = (struct tensor_reader){&c->diags, &c->arena, spans, &m.external};
        ok = build(&m);
    }
    /* Files that tensors point into stay mapped, as the model itself does */
    const char *slash = strrchr(path, '/');
    PUSH(&c->arena, &c->files_read, intern(c->names, path));
    if (ok) m.g->file_bytes = (int64_t)n;
    for (int k = 0; ok && k < m.external.files.n; k++) {
        m.g->file_bytes += (int64_t)m.external.files.v[k].file.size;
        PUSH(&c->arena, &c->files_read,
             internf(c->names, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, m.external.files.v[k].location));
    }
    if (!ok) external_close(&m.external);
    else close(m.external.folder);
    c->diags.file = file;
    c->diags.origin = origin;
    return ok ? m.g : NULL;
}
