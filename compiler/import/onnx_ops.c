/* ONNX import: checks every node against the registry and rewrites older opset versions into the newest form, so that
 * all passes see only one. Unsupported operators are collected, with one diagnostic for each. */
#include "compiler/import/onnx_import.h"
#include "ir/base/nearest.h"
#include "ir/graph/op.h"
#include <string.h>

static void note_unknown(struct importer *m, const struct node *n) {
    const char *key = onnx_key(m, n->domain, n->op_type, "");
    intptr_t k = (intptr_t)map_get(&m->told, PKEY(key));
    if (k) {
        m->unknown.v[k - 1].count++;
        return;
    }
    PUSH(&m->c->arena, &m->unknown, ((struct unknown_op){n->domain, n->op_type, n->origin, n->version, 1}));
    map_put(&m->told, PKEY(key), (void *)(intptr_t)m->unknown.n);
}

static const char *nearest_attribute(const struct op *op, const char *name) {
    enum { MOST = 64 };
    const char *names[MOST];
    int n = 0;
    for (const struct op_attr *a = op->attrs; a && a->name && n < MOST; a++) names[n++] = a->name;
    return nearest_name(name, names, n);
}

/* Warns, once for each operator and name, about an attribute that the row does not have, because it has no effect. */
static void check_attributes(struct importer *m, const struct node *n) {
    for (int k = 0; k < n->attrs.n; k++) {
        const struct attr *a = &n->attrs.v[k];
        const struct op_attr *row = n->op->attrs;
        while (row && row->name && strcmp(row->name, a->name) != 0) row++;
        const char *key = onnx_key(m, n->domain, n->op_type, a->name);
        if ((row && row->name) || strcmp(a->name, "captures") == 0 || map_get(&m->told, PKEY(key))) continue;
        map_put(&m->told, PKEY(key), (void *)(intptr_t)1);
        diag(&m->c->diags, DIAG_WARNING, E_ATTR, "attribute %s is not known and has no effect",
             diag_quote(&m->c->arena, a->name));
        const char *near = nearest_attribute(n->op, a->name);
        if (near) diag_help(&m->c->diags, "did you mean \"%s\"?", near);
    }
}

/* Runs the upgrades of the node's row. true: the node became another operator, whose row comes next. */
static bool upgrade_by_row(struct node *n) {
    const struct op *row = n->op;
    for (const struct op_upgrade *u = row->upgrades; u && u->upto; u++) {
        if (n->version > u->upto) continue;
        trace_because(n->in->graph, NULL, "what the newest form of the operator says stands in its place");
        u->fn(n);
        if (!n->in) return false; /* replaced by other nodes, of the newest version */
        n->op = op_of_model(n->in->graph->ctx, n->domain, n->op_type);
        if (n->op != row) return n->op != NULL;
    }
    return false;
}

static void upgrade(struct node *n) {
    enum { MAX_RENAMES = 8 };
    for (int i = 0; upgrade_by_row(n); i++)
        if (i == MAX_RENAMES) BUG("upgrades of %s go in a circle", n->op_type);
    n->version = opset_newest(n->domain);
}

static void visit(void *env, struct node *n) {
    struct importer *m = env;
    struct diags *d = &m->c->diags;
    m->g->quantized |= op_is_quantized(n->op_type);
    if (!n->op) {
        note_unknown(m, n);
        return;
    }
    const char *before = d->origin;
    d->origin = n->origin;
    if (n->version < n->op->first) {
        onnx_error(m, E_OPSET, "version %d of the operator is not supported; %d is the oldest", n->version,
                   n->op->first);
        diag_help(d, "convert the model to a newer opset (onnx.version_converter)");
    } else {
        upgrade(n);
        if (n->in && n->op && m->model) check_attributes(m, n); /* TFLite's schema has no unknown attributes */
    }
    d->origin = before;
}

/* Operators, or whole domains (op NULL), with a workaround that the general advice does not mention. */
static const char *advice(const struct unknown_op *u) {
    static const char *const search =
                                 "the search over tokens calls the decoder many times: compile the decoder, which is "
                                 "a graph in an attribute of this node, as a model, and write the search around it",
                             *const quantised =
                                 "convert the model without layouts of one device (QOrdered*), or quantise "
                                 "it to the QDQ format",
                             *const device =
                                 "ONNX Runtime has it for a GPU alone: save the model as it is before it is "
                                 "optimised for that device",
                             *const undefined =
                                 "it has no definition yet (docs/adding.md): export the model with the nodes that "
                                 "this one was fused from";
    static const struct {
        const char *domain, *op, *what;
    } rows[] = {
        {"com.microsoft.nchwc", NULL,
         "its weights are packed for the vector width of the machine that optimised the model: save it with "
         "disabled_optimizers=[\"NchwcTransformer\"], or at the level extended"},
        {"com.ms.internal.nhwc", NULL, "it was optimised for one execution provider: save it for the CPU's"},
        {"com.microsoft", "BeamSearch", search},
        {"com.microsoft", "GreedySearch", search},
        {"com.microsoft", "Sampling", search},
        {"com.microsoft", "WhisperBeamSearch", search},
        {"com.microsoft", "QOrderedAttention", quantised},
        {"com.microsoft", "QOrderedGelu", quantised},
        {"com.microsoft", "QOrderedLayerNormalization", quantised},
        {"com.microsoft", "QOrderedLongformerAttention", quantised},
        {"com.microsoft", "QOrderedMatMul", quantised},
        {"com.microsoft", "QuantizeWithOrder", quantised},
        {"com.microsoft", "DequantizeWithOrder", quantised},
        {"com.microsoft", "EPContext", "it holds a program for one device: compile the model that it was made from"},
        {"com.microsoft", "Snpe", "it holds a program for one device: compile the model that it was made from"},
        {"com.microsoft", "MatMulFpQ4",
         "its weights are packed for the machine that quantised the model: quantise to MatMulNBits"},
        {"com.microsoft", "SparseToDenseMatMul", "sparse tensors are not supported: store the operand densely"},
        {"ai.onnx.contrib", NULL,
         "it is of onnxruntime-extensions, which work on text, pictures and sound: export the model without what comes "
         "before and behind it, and do that in the program that calls it"},
        {"com.microsoft", "BitmaskBiasDropout", device},
        {"com.microsoft", "BitmaskDropout", device},
        {"com.microsoft", "DecoderAttention", device},
        {"com.microsoft", "DecoderMaskedSelfAttention", device},
        {"com.microsoft", "DequantizeBFP", device},
        {"com.microsoft", "DynamicSparseAttention", device},
        {"com.microsoft", "GatedDeltaNet", device},
        {"com.microsoft", "GemmFloat8", device},
        {"com.microsoft", "LongformerAttention", device},
        {"com.microsoft", "MatMulBlockQuantizedFp4Weight", device},
        {"com.microsoft", "MatMulBlockQuantizedFp8Weight", device},
        {"com.microsoft", "MatMulNBitsMlp", device},
        {"com.microsoft", "MatMulNBitsQkv", device},
        {"com.microsoft", "PackedSparseAttentionIndexer", device},
        {"com.microsoft", "PagedAttention", device},
        {"com.microsoft", "QuantizeBFP", device},
        {"com.microsoft", "SparseAttentionIndexer", device},
        {"com.microsoft", "SparsePagedAttention", device},
        {"com.microsoft", "VarlenCausalConvWithState", device},
        {"com.microsoft", "AttnLSTM", undefined},
        {"com.microsoft", "BifurcationDetector", undefined},
        {"com.microsoft", "BranchwiseRMSNorm", undefined},
        {"com.microsoft", "CausalConvWithState", undefined},
        {"com.microsoft", "DynamicTimeWarping", undefined},
        {"com.microsoft", "EngramGate", undefined},
        {"com.microsoft", "HyperConnectionPostMix", undefined},
        {"com.microsoft", "HyperConnectionPreMix", undefined},
        {"com.microsoft", "LinearAttention", undefined},
        {"com.microsoft", "LinearAttentionGate", undefined},
        {"com.microsoft", "MRotaryEmbedding", undefined},
        {"com.microsoft", "MaxpoolWithMask", undefined},
        {"com.microsoft", "NGramHashMapping", undefined},
        {"com.microsoft", "SparseAttention", undefined},
        {"com.microsoft", "VarlenNGramHashMapping", undefined},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (!strcmp(rows[k].domain, u->domain) && (!rows[k].op || !strcmp(rows[k].op, u->op))) return rows[k].what;
    return "`gcc2nn list-ops` shows what is; write it yourself (--op, and --stub-unsupported writes a function to be "
           "filled in: docs/custom-operators.md), or export it as standard operators or as a model function";
}

/* The nearest operator of the same domain; NULL: none is near. */
static const char *nearest_operator(struct importer *m, const struct unknown_op *u) {
    VEC(const char *) names = {0};
    for (int k = 0; k < op_count(); k++)
        if (!strcmp(op_at(k)->domain, u->domain)) PUSH(&m->c->arena, &names, op_at(k)->name);
    return nearest_name(u->op, names.v, names.n);
}
static void report(struct importer *m, const struct unknown_op *u) {
    struct diags *d = &m->c->diags;
    struct text t = {0};
    text_printf(&t, "operator %s", diag_quote(&m->c->arena, u->op));
    if (*u->domain) text_printf(&t, " of domain %s", diag_quote(&m->c->arena, u->domain));
    text_printf(&t, " (opset %d) is not supported", u->version);
    if (u->count > 1) text_printf(&t, "; %d nodes use it", u->count);
    diag_at(d, DIAG_ERROR, E_OP, d->file, u->origin, "%s", t.s);
    const char *near = nearest_operator(m, u);
    diag_help(d, near ? "%s; the nearest in name is `%s`" : "%s", advice(u), near);
    text_free(&t);
}

void onnx_rows(struct importer *m) {
    each_node(m->g->top, visit, m);
    for (int i = 0; i < m->unknown.n && !m->o.keep_unknown; i++) report(m, &m->unknown.v[i]);
}
