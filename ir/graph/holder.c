/* See holder.h. */
#include "ir/graph/holder.h"

const char *value_kind_name(enum value_kind k) {
    static const char *const names[VALUE_KINDS] = {"tensor", "sequence", "optional", "optional_sequence",
                                                   "map",    "maps"};
    return names[k];
}
bool value_kind_is_map(enum value_kind k) { return k == VALUE_MAP || k == VALUE_MAPS; }
const char *value_part(struct interner *n, const char *name, enum value_kind k, int i) {
    if (k == VALUE_OPTIONAL || k == VALUE_TENSOR) return name;
    return value_kind_is_map(k) ? internf(n, "%s_%s", name, i ? "values" : "keys") : internf(n, "%s_%d", name, i);
}
bool holders_fit(const holders *h, int n) {
    int at = 0;
    for (int k = 0; k < h->n; k++) {
        const struct holder *x = &h->v[k];
        bool sequence = x->kind != VALUE_OPTIONAL;
        if (value_kind_is_map(x->kind) && (x->n != 2 || !x->present)) return false;
        if (x->kind == VALUE_TENSOR || x->first < at || x->n < 0 || x->n > n - x->first) return false;
        bool optional = x->kind == VALUE_OPTIONAL || x->kind == VALUE_OPTIONAL_SEQUENCE;
        int own = x->n - x->asked; /* the tensors it holds */
        if (x->asked && (!optional || !x->present)) return false;
        if (x->packed && (!(x->kind == VALUE_SEQUENCE || x->asked) || !sequence || !x->present || own != 2))
            return false;
        if (x->present ? !sequence && own != 1 : x->n != 0 || x->kind == VALUE_SEQUENCE) return false;
        at = x->first + x->n;
    }
    return at <= n;
}
void holders_print(struct text *out, const char *word, const holders *h,
                   void (*quoted)(struct text *t, const char *s)) {
    for (int k = 0; k < h->n; k++) {
        const struct holder *x = &h->v[k];
        text_printf(out, "%s %s ", word, value_kind_name(x->kind));
        quoted(out, x->name);
        text_char(out, ' ');
        if (x->asked) text_add(out, "maybe ");
        if (x->packed) text_printf(out, "packed at %d\n", x->first);
        else if (x->present) text_printf(out, "%d at %d\n", x->n, x->first);
        else text_printf(out, "none at %d\n", x->first);
    }
}
