/* Operators of com.microsoft whose channels stand behind the spatial axes, as ONNX Runtime's layout pass leaves them:
 * expanded to the operator with channels in front, between Transposes. */
#include "lower/ops/ms.h"
#include "lower/ops/window.h"

/* The operator by that name on the same inputs, of which these (a mask) and the result have the channels last. The
 * weights of NhwcConv have them last, too, which the schema does not say: its kernels for GPUs and the optimiser that
 * writes it do. */
static void channels_last(const char *domain, const char *op, unsigned moved) {
    enum { MANY = 9 };
    V ins[MANY];
    int n = n_in() < MANY ? n_in() : MANY;
    for (int k = 0; k < n; k++) ins[k] = gin(k) && moved >> k & 1 ? n_channels_first(gin(k)) : gin(k);
    struct node *y = n_with_attrs(domain, op, ins, n, 1);
    if (def_infer(y->in->graph, y)) gout(0, moved ? n_channels_last(y->outs.v[0]) : y->outs.v[0]);
}
static void exp_conv(void) { channels_last("", "Conv", 1 | 2); }
static void exp_fusedconv(void) { channels_last("com.microsoft", "FusedConv", 1 | 8); }
static void exp_maxpool(void) { channels_last("", "MaxPool", 1); }
static void exp_qlinearconv(void) { channels_last("", "QLinearConv", int_attr("channels_last") ? 1 : 0); }

static const struct op_attr a_qlinear[] = {CONV_ATTRS, A_INT("channels_last"), {0}},
                            a_pool[] = {WINDOW_ATTRS, A_INT("ceil_mode"), {0}};
static const struct op_slot s_pool[] = {{"x", TSET(I8) | TSET(U8), 0}, {0}};
#define ROW(name, attrs, slots, fn)                                                                                    \
    { "com.microsoft", name, 1, 1, attrs, slots, slots_y, .expand = fn, .spec = "com.microsoft." name }
const struct op ops_ms_layout[] = {
    ROW("NhwcConv", attrs_conv, slots_conv, exp_conv),
    ROW("NhwcFusedConv", attrs_fused_conv, slots_fused_conv, exp_fusedconv),
    ROW("NhwcMaxPool", a_pool, s_pool, exp_maxpool),
    ROW("QLinearConv", a_qlinear, slots_qlinear_conv, exp_qlinearconv),
    {0},
};
