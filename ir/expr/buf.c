/* Buffers: their scopes by name, layouts, geometry. See buf.h. */
#include "ir/expr/buf.h"

const char *scope_name(enum scope s) {
    static const char *const names[SC_COUNT] = {"param", "arena", "region", "kept", "stack", "reg", "shared", "const"};
    return names[s];
}
bool buf_layout_is_plain(const struct buf *b) {
    if (b->nd != b->nlogical) return false;
    for (int k = 0; k < b->nd; k++) /* a border behind the last cell leaves the map as it is */
        if (b->dims[k] != b->logical[k] || b->map[k]->op != X_VAR || b->map[k]->u.var != b->lvar[k]) return false;
    return true;
}
bool buf_is_plain(const struct buf *b) {
    for (int k = 0; b->pad && k < b->nd; k++)
        if (b->pad[k]) return false;
    return buf_layout_is_plain(b);
}

/* ---- geometry: dim k's pitch is dims[k] times the pitch below it, plus pad[k] */
expr buf_stride(struct ctx *c, const struct buf *b, int dim) {
    expr s = x_int(c, 1);
    for (int k = b->nd - 1; k > dim; k--) s = x_addi(c, x_mul(c, s, b->dims[k]), b->pad ? b->pad[k] : 0);
    return s;
}
expr buf_cells(struct ctx *c, const struct buf *b) { return buf_stride(c, b, -1); }
expr buf_offset(struct ctx *c, const struct buf *b, const expr *idx) {
    expr s = x_int(c, 1), off = x_int(c, 0);
    for (int k = b->nd - 1; k >= 0; k--) {
        off = x_add(c, off, x_mul(c, idx[k], s));
        s = x_addi(c, x_mul(c, s, b->dims[k]), b->pad ? b->pad[k] : 0);
    }
    return off;
}
