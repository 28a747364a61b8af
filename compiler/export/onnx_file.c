/* ONNX export: the bytes. Weights are never copied: protobuf-c reads them where they lie, mapped or made, and the file
 * is written as it packs. A message must be smaller than 2 GiB, so beyond that weights go into a file of their own. */
#include "compiler/export/onnx_export.h"
#include "compiler/import/tensor_io.h"
#include <string.h>

/* PAGE: where readers may map a tensor. SMALL: a tensor that stays in the message, as shapes are read from there. */
enum { PAGE = 4096, SMALL = 1024, PENDING = 1 << 16 };
static const size_t MESSAGE_MAX = INT32_MAX;

/* ---- tensors */
void onnx_data(struct exporter *x, Onnx__TensorProto *p, const struct tensor *t) {
    int64_t count = tensor_count(t);
    p->n_dims = (size_t)t->rank, p->dims = (int64_t *)(uintptr_t)t->dims;
    p->has_data_type = 1, p->data_type = dtype_onnx(t->type);
    if (t->type == STR) {
        p->n_string_data = (size_t)count;
        p->string_data = NEWN(&x->c->arena, ProtobufCBinaryData, count);
        for (int64_t k = 0; k < count; k++) {
            const struct str_elem *e = &t->strs[t->source == TS_SPLAT ? 0 : k];
            p->string_data[k] = (ProtobufCBinaryData){e->n, (uint8_t *)(uintptr_t)e->p};
        }
        return;
    }
    size_t n = (size_t)dtype_packed_bytes(t->type, count);
    uint8_t *bytes = (uint8_t *)(uintptr_t)t->bytes;
    if (t->source == TS_SPLAT) {
        bytes = arena_alloc(&x->c->arena, n);
        tensor_fill_splat(t, bytes, n);
    }
    p->has_raw_data = 1, p->raw_data = (ProtobufCBinaryData){n, bytes};
}
static size_t bytes_of(const struct tensor *t) {
    return t->type == STR ? 0 : (size_t)dtype_packed_bytes(t->type, tensor_count(t));
}
static void entry(struct exporter *x, Onnx__TensorProto *p, const char *key, const char *value) {
    Onnx__StringStringEntryProto *e = onnx_message(x, &onnx__string_string_entry_proto__descriptor);
    e->key = (char *)(uintptr_t)key, e->value = (char *)(uintptr_t)value;
    p->external_data[p->n_external_data++] = e;
}

/* ---- files */
struct sink {
    ProtobufCBuffer base;
    int fd;
    bool ok;
    struct text pending;
};
static void flush(struct sink *s) {
    s->ok = s->ok && write_all(s->fd, s->pending.s, s->pending.n);
    s->pending.n = 0;
}
static void append(ProtobufCBuffer *to, size_t n, const uint8_t *bytes) {
    struct sink *s = (struct sink *)to; /* its first member */
    if (!n) return;
    if (s->pending.n + n > PENDING) flush(s);
    if (n > PENDING) s->ok = s->ok && write_all(s->fd, bytes, n);
    else text_addn(&s->pending, (const char *)bytes, n);
}
static void end_sink(struct sink *s) {
    flush(s);
    text_free(&s->pending);
}
static bool write_message(struct file_set *f, const char *name, const Onnx__ModelProto *m) {
    struct sink s = {.base.append = append, .fd = workdir_create(&f->work, name), .ok = true};
    if (s.fd < 0) return false;
    protobuf_c_message_pack_to_buffer(&m->base, &s.base);
    end_sink(&s);
    return workdir_finish(&f->work, name, s.fd, s.ok);
}
static void put_cells(struct sink *s, const struct tensor *t, size_t n) {
    uint8_t part[PAGE];
    if (t->source != TS_SPLAT) {
        append(&s->base, n, t->bytes);
        return;
    }
    tensor_fill_splat(t, part, n < PAGE ? n : PAGE);
    for (size_t at = 0; at < n; at += PAGE) append(&s->base, n - at < PAGE ? n - at : PAGE, part);
}
/* The large weights, each at the head of a page; their messages say where. */
static bool write_weights(struct exporter *x, struct file_set *f, const char *name) {
    static const uint8_t zeros[PAGE];
    struct sink s = {.base.append = append, .fd = workdir_create(&f->work, name), .ok = true};
    int64_t at = 0;
    if (s.fd < 0) return false;
    for (int k = 0; k < x->weights.n; k++) {
        Onnx__TensorProto *p = x->weights.v[k].proto;
        if (!p->n_external_data) continue;
        int64_t gap = (PAGE - at % PAGE) % PAGE, n = (int64_t)bytes_of(x->weights.v[k].t);
        append(&s.base, (size_t)gap, zeros);
        p->external_data[1]->value = format(x->c, "%lld", (long long)(at + gap));
        put_cells(&s, x->weights.v[k].t, (size_t)n);
        at += gap + n;
    }
    end_sink(&s);
    return workdir_finish(&f->work, name, s.fd, s.ok);
}

/* ---- in the message, or beside it */
static bool put_beside(struct exporter *x, const char *location) {
    bool any = false;
    for (int k = 0; k < x->weights.n; k++) {
        Onnx__TensorProto *p = x->weights.v[k].proto;
        size_t n = bytes_of(x->weights.v[k].t);
        if (n < SMALL) continue;
        p->has_raw_data = 0;
        p->has_data_location = 1, p->data_location = 1;
        p->external_data = NEWN(&x->c->arena, Onnx__StringStringEntryProto *, 3);
        entry(x, p, "location", location);
        entry(x, p, "offset", "");
        entry(x, p, "length", format(x->c, "%zu", n));
        any = true;
    }
    return any;
}
static size_t weights_bytes(const struct exporter *x) {
    size_t n = 0;
    for (int k = 0; k < x->weights.n; k++) n += bytes_of(x->weights.v[k].t);
    return n;
}
static void initializers(struct exporter *x, Onnx__GraphProto *g, bool beside) {
    g->n_initializer = (size_t)x->weights.n;
    g->initializer = NEWN(&x->c->arena, Onnx__TensorProto *, x->weights.n);
    for (int k = 0; k < x->weights.n; k++) {
        struct stored *s = &x->weights.v[k];
        g->initializer[k] = s->proto;
        if (!beside || bytes_of(s->t) < SMALL) onnx_data(x, s->proto, s->t);
        else
            s->proto->n_dims = (size_t)s->t->rank, s->proto->dims = (int64_t *)(uintptr_t)s->t->dims,
            s->proto->has_data_type = 1, s->proto->data_type = dtype_onnx(s->t->type);
    }
}
static bool fits(struct exporter *x, const Onnx__ModelProto *m) {
    if (protobuf_c_message_get_packed_size(&m->base) <= MESSAGE_MAX) return true;
    diag_at(&x->c->diags, DIAG_ERROR, E_LIMIT, x->g->file, NULL,
            "the model would have 2 GiB or more without its weights, which no ONNX file may have");
    return false;
}
/* What else it was made of, such as passes, stays as it is; the model itself may be replaced, and then its weights. */
static bool may_replace(const struct exporter *x, const char *path, const char *model) {
    if (x->g->file && file_is_same(model, x->g->file)) return true;
    for (int k = 0; k < x->c->files_read.n; k++)
        if (!file_may_put(&x->c->diags, path, x->c->files_read.v[k])) return false;
    return true;
}
bool onnx_file(struct exporter *x, Onnx__ModelProto *m, const char *path, struct exported *out) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
               *folder = !slash          ? "."
                         : slash == path ? "/"
                                         : format(x->c, "%.*s", (int)(slash - path), path),
               *data = format(x->c, "%s.data", name), *data_path = format(x->c, "%s.data", path);
    size_t bytes = weights_bytes(x);
    bool beside = x->o->external || bytes > MESSAGE_MAX - (MESSAGE_MAX >> 4);
    struct file_set files;
    initializers(x, m->graph, beside);
    beside = beside && put_beside(x, data);
    if (!may_replace(x, path, path) || (beside && !may_replace(x, data_path, path))) return false;
    if (!fits(x, m) || !file_set_begin(&files, &x->c->diags, folder)) return false;
    if ((beside && !write_weights(x, &files, data)) || !write_message(&files, name, m)) {
        file_set_abandon(&files);
        return false;
    }
    out->weights = (int64_t)bytes;
    out->data = beside ? data_path : NULL;
    return file_set_commit(&files);
}
