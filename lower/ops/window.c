/* Windows: the geometry that convolutions and pools share. All extents may be symbolic. */
#include "lower/ops/window.h"
#include <string.h>

/* Checks element k of an attribute: sizes are sums and products of these, which must not overflow. */
static bool in_range(const char *name, int k, int64_t v, int64_t least) {
    if (least <= v && v <= INT32_MAX) return true;
    fail(E_ATTR, "attribute \"%s\": element %d is %lld, not from %d to %d", name, k, (long long)v, (int)least,
         INT32_MAX);
    return false;
}
static bool per_axis(const char *name, int n, int64_t *v) {
    const int64_t *given;
    int have = ints_attr(name, &given);
    if (fail_if(have && have != n, E_ATTR, "attribute \"%s\" has %d elements for %d spatial axes", name, have, n))
        return false;
    for (int k = 0; k < n; k++) {
        v[k] = have ? given[k] : 1;
        if (!in_range(name, k, v[k], 1)) return false;
    }
    return true;
}
static bool auto_pad_known(const char *mode) {
    static const char *const known[] = {"", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (!strcmp(mode, known[k])) return true;
    fail(E_ATTR, "attribute \"auto_pad\" is \"%s\", not NOTSET, VALID, SAME_UPPER or SAME_LOWER", mode);
    return false;
}
bool window_attrs(struct window *w, int n) {
    const int64_t *p;
    const char *mode = str_attr("auto_pad");
    if (!auto_pad_known(mode)) return false;
    w->n = n;
    if (fail_if(n < 1 || n > SPATIAL_MAX, E_RANK, "%d spatial axes; 1 to %d are supported", n, SPATIAL_MAX))
        return false;
    int np = ints_attr("pads", &p);
    if (fail_if(np && np != 2 * n, E_ATTR, "attribute \"pads\" has %d elements for %d spatial axes", np, n))
        return false;
    for (int k = 0; k < np && *mode && strcmp(mode, "NOTSET") != 0; k++)
        if (fail_if(p[k], E_ATTR,
                    "attributes \"auto_pad\", %s, and \"pads\", where element %d is %lld, exclude each other", mode, k,
                    (long long)p[k]))
            return false;
    for (int k = 0; k < np; k++)
        if (!in_range("pads", k, p[k], 0)) return false;
    return per_axis("strides", n, w->stride) && per_axis("dilations", n, w->dilation);
}
int64_t window_pad_attr(int k) {
    const int64_t *p;
    return k < ints_attr("pads", &p) ? p[k] : 0;
}
X kernel_shape_attr(T x) {
    const int64_t *v;
    int n = ints_attr("kernel_shape", &v);
    X r = list0();
    if (n != rank(x) - 2)
        fail(E_ATTR, "attribute \"kernel_shape\" has %d elements for %d spatial axes", n, rank(x) - 2);
    for (int k = 0; k < n; k++) r = push(r, idx(in_range("kernel_shape", k, v[k], 1) ? v[k] : 1));
    return r;
}
X kernel_of_weights(T w) {
    X kernel = sub_list(shape(w), 2, rank(w));
    const int64_t *v;
    int n = ints_attr("kernel_shape", &v);
    if (n && n != kernel.n) fail(E_ATTR, "attribute \"kernel_shape\" has %d elements for %d spatial axes", n, kernel.n);
    for (int k = 0; n == kernel.n && k < n; k++)
        require(eq(kernel.v[k], idx(v[k])), "the weights and attribute \"kernel_shape\" differ on spatial axis %d", k);
    return kernel;
}
/* Number of outputs over `span` cells: how often a window of `reach` cells fits, rounded down or up. */
static E outputs(E span, E reach, int64_t stride, bool up) {
    E room = sub(span, reach);
    return add(up ? ceil_div(room, idx(stride)) : div_(room, idx(stride)), idx(1));
}
bool window_of(struct window *w, T x, X kernel, bool ceil_mode) {
    return window_over(w, sub_list(shape(x), 2, rank(x) - 2), kernel, ceil_mode);
}
bool window_over(struct window *w, X sizes, X kernel, bool ceil_mode) {
    const char *mode = str_attr("auto_pad");
    bool given = !*mode || !strcmp(mode, "NOTSET"), valid = !strcmp(mode, "VALID"), upper = !strcmp(mode, "SAME_UPPER");
    if (!window_attrs(w, sizes.n)) return false;
    if (fail_if(kernel.n != w->n, E_RANK, "a kernel of %d spatial axes for an input of %d", kernel.n, w->n))
        return false;
    w->kernel = kernel;
    w->in = w->out = list0();
    for (int k = 0; k < w->n; k++) {
        E size = sizes.v[k], reach = add(mul(sub(kernel.v[k], idx(1)), idx(w->dilation[k])), idx(1)), o;
        int64_t s = w->stride[k];
        if (given || valid) {
            w->begin[k] = idx(given ? window_pad_attr(k) : 0);
            w->end[k] = idx(given ? window_pad_attr(k + w->n) : 0);
            o = outputs(add(size, add(w->begin[k], w->end[k])), reach, s, ceil_mode);
            if (ceil_mode) { /* a last window that starts in the end padding does not count */
                E starts = mul(sub(o, idx(1)), idx(s));
                o = sel(lt(starts, add(size, w->begin[k])), o, sub(o, idx(1)));
            }
        } else {
            o = ceil_div(size, idx(s));
            E total = max_(sub(add(mul(sub(o, idx(1)), idx(s)), reach), size), idx(0));
            E small = div_(total, idx(2));
            w->begin[k] = upper ? small : sub(total, small);
            w->end[k] = upper ? sub(total, small) : small;
        }
        w->in = push(w->in, size);
        E fits = ge(o, idx(0));
        require(fits, "a window of %s is larger than the padded input of %s on spatial axis %d", size_text(reach),
                size_text(given || valid ? add(size, add(w->begin[k], w->end[k])) : size), k);
        w->out = push(w->out, max_(o, idx(0)));
    }
    return true;
}
X window_at(const struct window *w, X o, int at, X r, int rat) {
    X p = list0();
    for (int k = 0; k < w->n; k++)
        p = push(p, add(sub(mul(o.v[at + k], idx(w->stride[k])), w->begin[k]), mul(r.v[rat + k], idx(w->dilation[k]))));
    return p;
}
static const char *spatial_names(int n, char prefix, char *buf) {
    static const char letters[] = "dhw";
    char *s = buf;
    for (int k = 0; k < n && n <= 3; k++) *s++ = ' ', *s++ = prefix, *s++ = letters[3 - n + k];
    *s = 0;
    return buf;
}
static X named(X dims, const char *lead, int nlead, char prefix, bool red) {
    char names[64], tail[16];
    strcpy(names, lead);
    strcat(names, spatial_names(dims.n - nlead, prefix, tail));
    return red ? raxes(dims, names) : axes_named(dims, names);
}
static int words(const char *s) {
    int n = *s != 0;
    for (; *s; s++) n += *s == ' ';
    return n;
}
X window_axes(X dims, const char *lead) { return named(dims, lead, words(lead), 'o', false); }
X window_raxes(X lead, X kernel, const char *names) { return named(cat(lead, kernel), names, words(names), 'k', true); }
