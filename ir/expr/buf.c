/* Buffers: their scopes by name, layouts, geometry. See buf.h. */
#include "ir/expr/buf.h"
#include "ir/base/checked.h"

enum { MAX_KNOWN = 16 };

const char *scope_name(enum scope s) {
    static const char *const names[SC_COUNT] = {"param", "arena", "region", "kept", "stack", "reg", "shared", "const"};
    return names[s];
}
bool buf_layout_is_plain(const struct buf *b) {
    if (b->nd != b->nlogical) return false;
    for (int k = 0; k < b->nd; k++) /* a border after the last cell does not change the map */
        if (b->dims[k] != b->logical[k] || b->map[k]->op != X_VAR || b->map[k]->u.var != b->lvar[k]) return false;
    return true;
}
bool buf_is_plain(const struct buf *b) {
    for (int k = 0; b->pad && k < b->nd; k++)
        if (b->pad[k]) return false;
    return buf_layout_is_plain(b);
}

/* ---- geometry: the pitch of dim k is dims[k] times the next inner pitch, plus pad[k] */
static expr extent(struct ctx *c, const struct buf *b, int k, bool own) {
    return own && buf_is_apart(b, k) ? x_int(c, 1) : b->dims[k];
}
static expr stride(struct ctx *c, const struct buf *b, int dim, bool own) {
    expr s = x_int(c, 1);
    for (int k = b->nd - 1; k > dim; k--) s = x_addi(c, x_mul(c, s, extent(c, b, k, own)), b->pad ? b->pad[k] : 0);
    return s;
}
/* The same if strides are constant, as for most buffers. */
static expr known_offset(struct ctx *c, const struct buf *b, const expr *idx, bool own) {
    expr of[MAX_KNOWN];
    int64_t by[MAX_KNOWN], s = 1, n;
    int terms = 0;
    if (b->nd > MAX_KNOWN) return NULL;
    for (int k = b->nd - 1; k >= 0; k--) {
        bool skip = own && buf_is_apart(b, k);
        if (!skip) of[terms] = idx[k], by[terms++] = s;
        if (k == 0) break;
        if (skip) n = 1;
        else if (!x_is_int(b->dims[k], &n)) return NULL;
        if (!mul_ok(s, n, &s) || !add_ok(s, b->pad ? b->pad[k] : 0, &s)) return NULL;
    }
    return x_dot(c, of, by, terms);
}
static expr offset(struct ctx *c, const struct buf *b, const expr *idx, bool own) {
    expr known = known_offset(c, b, idx, own);
    if (known) return known;
    expr s = x_int(c, 1), off = x_int(c, 0);
    for (int k = b->nd - 1; k >= 0; k--) {
        if (!own || !buf_is_apart(b, k)) off = x_add(c, off, x_mul(c, idx[k], s));
        s = x_addi(c, x_mul(c, s, extent(c, b, k, own)), b->pad ? b->pad[k] : 0);
    }
    return off;
}
bool buf_is_apart(const struct buf *b, int dim) { return dim < 32 && b->apart >> dim & 1; }
expr buf_stride(struct ctx *c, const struct buf *b, int dim) { return stride(c, b, dim, false); }
bool buf_is_produced(const struct buf *b) {
    for (int k = 0; k < b->nd; k++)
        if (x_has(b->dims[k], XF_PRODUCED)) return true;
    return false;
}
expr buf_cells(struct ctx *c, const struct buf *b) { return buf_stride(c, b, -1); }
expr buf_bytes(struct ctx *c, const struct buf *b) { return x_muli(c, buf_cells(c, b), dtype_bytes(b->type)); }
expr buf_offset(struct ctx *c, const struct buf *b, const expr *idx) { return offset(c, b, idx, false); }
bool buf_proves_inside(struct ctx *c, const struct buf *b, const expr *idx) {
    for (int k = 0; k < b->nd; k++)
        if (!x_proves_inside(c, idx[k], b->dims[k])) return false;
    return true;
}
expr buf_own_stride(struct ctx *c, const struct buf *b, int dim) { return stride(c, b, dim, true); }
expr buf_own_cells(struct ctx *c, const struct buf *b) { return buf_own_stride(c, b, -1); }
expr buf_own_offset(struct ctx *c, const struct buf *b, const expr *idx) { return offset(c, b, idx, true); }
expr buf_own_place(struct ctx *c, const struct buf *b, expr off) {
    expr own = x_int(c, 0);
    if (!b->apart) return off;
    for (int k = 0; k < b->nd; k++) {
        if (buf_is_apart(b, k)) continue;
        expr at = x_mod(c, x_div(c, off, buf_stride(c, b, k)), b->dims[k]);
        own = x_add(c, own, x_mul(c, at, buf_own_stride(c, b, k)));
    }
    return own;
}
