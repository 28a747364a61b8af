/* A tiny protobuf writer for tests: messages of onnx.proto as texts, put into each other. Texts given to a function are
 * freed by it. */
#ifndef NN_TESTS_ONNX_WRITER_H
#define NN_TESTS_ONNX_WRITER_H
#include "ir/base/text.h"
#include <stdlib.h>
#include <string.h>

typedef struct text msg;

static inline void w_varint(msg *m, uint64_t v) {
    for (; v >= 0x80; v >>= 7) text_char(m, (char)(v | 0x80));
    text_char(m, (char)v);
}
static inline void w_int(msg *m, int field, int64_t v) {
    w_varint(m, (uint64_t)field << 3);
    w_varint(m, (uint64_t)v);
}
static inline void w_bytes(msg *m, int field, const void *p, size_t n) {
    w_varint(m, (uint64_t)field << 3 | 2);
    w_varint(m, n);
    text_addn(m, p, n);
}
static inline void w_str(msg *m, int field, const char *s) { w_bytes(m, field, s, strlen(s)); }
static inline void w_float(msg *m, int field, float f) {
    w_varint(m, (uint64_t)field << 3 | 5);
    text_addn(m, (const char *)&f, sizeof f);
}
static inline void w_msg(msg *m, int field, msg sub) {
    w_bytes(m, field, sub.n ? sub.s : "", sub.n);
    text_free(&sub);
}
/* Words separated by blanks, each as a string field; `-` is an empty one. */
static inline void w_words(msg *m, int field, const char *words) {
    while (*words) {
        size_t n = strcspn(words, " ");
        w_bytes(m, field, words, n == 1 && *words == '-' ? 0 : n);
        words += n + (words[n] == ' ');
    }
}

/* ---- messages */
static inline msg w_node(const char *op, const char *ins, const char *outs) {
    msg m = {0};
    w_words(&m, 1, ins);
    w_words(&m, 2, outs);
    w_str(&m, 4, op);
    return m;
}
static inline msg w_node_in(const char *domain, const char *op, const char *name, const char *ins, const char *outs) {
    msg m = w_node(op, ins, outs);
    w_str(&m, 3, name);
    w_str(&m, 7, domain);
    return m;
}
enum { W_FLOAT = 1, W_INT, W_STRING, W_TENSOR, W_GRAPH, W_FLOATS, W_INTS, W_STRINGS };
static inline msg w_attr(const char *name, int type) {
    msg m = {0};
    w_str(&m, 1, name);
    w_int(&m, 20, type);
    return m;
}
static inline msg w_attr_int(const char *name, int64_t v) {
    msg m = w_attr(name, W_INT);
    w_int(&m, 3, v);
    return m;
}
static inline msg w_attr_ints(const char *name, const int64_t *v, int n) {
    msg m = w_attr(name, W_INTS);
    for (int k = 0; k < n; k++) w_int(&m, 8, v[k]);
    return m;
}
static inline msg w_attr_str(const char *name, const char *s) {
    msg m = w_attr(name, W_STRING);
    w_str(&m, 4, s);
    return m;
}
static inline msg w_attr_graph(const char *name, msg graph) {
    msg m = w_attr(name, W_GRAPH);
    w_msg(&m, 6, graph);
    return m;
}
static inline msg w_attr_ref(const char *name, int type, const char *of) {
    msg m = w_attr(name, type);
    w_str(&m, 21, of);
    return m;
}
/* dims: "2 3"; i64 contents 0, 1, 2 ... or f32 */
static inline msg w_tensor(const char *name, int type, const int64_t *dims, int rank) {
    msg m = {0};
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        w_int(&m, 1, dims[i]);
        n *= dims[i];
    }
    w_int(&m, 2, type);
    w_str(&m, 8, name);
    for (int64_t i = 0; i < n; i++)
        if (type == 7) w_int(&m, 7, i);
        else w_float(&m, 4, (float)i);
    return m;
}
/* dims: "N 3 ? - *" : named, fixed, unnamed (no value), -1 (or another negative number), named so that it is no name;
 * NULL: no shape at all */
static inline msg w_tensor_type(int type, const char *dims) {
    msg tensor = {0}, shape = {0}, ty = {0};
    w_int(&tensor, 1, type);
    while (dims && *dims) {
        size_t n = strcspn(dims, " ");
        msg d = {0};
        if (*dims >= '0' && *dims <= '9') w_int(&d, 1, strtoll(dims, NULL, 10));
        else if (*dims == '-') w_int(&d, 1, n > 1 ? strtoll(dims, NULL, 10) : -1);
        else if (*dims != '?') w_bytes(&d, 2, dims, n);
        w_msg(&shape, 1, d);
        dims += n + (dims[n] == ' ');
    }
    if (dims) w_msg(&tensor, 2, shape);
    w_msg(&ty, 1, tensor);
    return ty;
}
static inline msg w_of_type(int field, msg elem) {
    msg of = {0}, ty = {0};
    w_msg(&of, 1, elem);
    w_msg(&ty, field, of);
    return ty;
}
static inline msg w_seq_type(msg elem) { return w_of_type(4, elem); }
static inline msg w_opt_type(msg elem) { return w_of_type(9, elem); }
static inline msg w_value(const char *name, msg type) {
    msg m = {0};
    w_str(&m, 1, name);
    w_msg(&m, 2, type);
    return m;
}
static inline msg w_f32(const char *name, const char *dims) { return w_value(name, w_tensor_type(1, dims)); }
static inline msg w_name(const char *name) {
    msg m = {0};
    w_str(&m, 1, name);
    return m;
}
static inline msg w_opset(const char *domain, int64_t version) {
    msg m = {0};
    w_str(&m, 1, domain);
    w_int(&m, 2, version);
    return m;
}
static inline msg w_model(msg graph) {
    msg m = {0};
    w_int(&m, 1, 8);
    w_msg(&m, 8, w_opset("", 17));
    w_msg(&m, 7, graph);
    return m;
}
enum {
    G_NODE = 1,
    G_INIT = 5,
    G_IN = 11,
    G_OUT = 12,
    G_VALUE = 13,
    G_SPARSE = 15,
    N_ATTR = 5,
    M_FUNCTION = 25,
    F_IN = 4,
    F_OUT = 5,
    F_ATTR = 6,
    F_NODE = 7,
    F_OPSET = 9,
    F_DEFAULT = 11
};
#endif
