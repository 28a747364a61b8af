/* Windows of convolutions and pools: kernel, strides, pads, dilations, auto_pad (lower/ops/window.c). */
#ifndef NN_LOWER_OPS_WINDOW_H
#define NN_LOWER_OPS_WINDOW_H
#include "lower/ops/ops.h"

enum { SPATIAL_MAX = 8 };
struct window {
    int n; /* spatial axes */
    int64_t stride[SPATIAL_MAX], dilation[SPATIAL_MAX];
    E begin[SPATIAL_MAX], end[SPATIAL_MAX]; /* pads */
    X kernel, in, out;                      /* extents */
};
/* From the node's attributes; x's axes from 2 on are spatial. kernel: extents, from weights or kernel_shape. */
bool window_of(struct window *w, T x, X kernel, bool ceil_mode);
bool window_over(struct window *w, X sizes, X kernel, bool ceil_mode); /* of spatial axes, wherever they are */
X kernel_shape_attr(T x); /* attribute kernel_shape as extents; checks the rank */
X kernel_of_weights(T w); /* the last axes of w; checks that attribute kernel_shape says the same */
/* Strides, dilations and the names of auto_pad; pads as constants (0 when absent). */
bool window_attrs(struct window *w, int n);
int64_t window_pad_attr(int k); /* pads[k] or 0 */
/* Positions in x read by output o[at..] and kernel element r[..]. */
X window_at(const struct window *w, X o, int at, X r, int rat);
X window_axes(X dims, const char *lead); /* index variables: lead names, then od oh ow */
X window_raxes(X lead, X kernel, const char *lead_names);

/* Rows of what convolutions, of channels in front or last, have in common. */
#define WINDOW_ATTRS                                                                                                   \
    A_STRING("auto_pad", .s = "NOTSET"), A_INTS("kernel_shape"), A_INTS("strides"), A_INTS("dilations"), A_INTS("pads")
#define CONV_ATTRS WINDOW_ATTRS, A_INT("group", .i = 1)
extern const struct op_attr attrs_conv[], attrs_fused_conv[];
extern const struct op_slot slots_conv[], slots_fused_conv[], slots_qlinear_conv[];
#endif
