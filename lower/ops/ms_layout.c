/* Operators of com.microsoft whose channels stand behind the spatial axes, as ONNX Runtime's layout pass leaves them:
 * expanded to the operator with channels in front, between Transposes. */
#include "lower/ops/ms.h"

/* The operator by that name on the same inputs, of which these (a mask) and the result have the channels last. */
static void channels_last(const char *domain, const char *op, unsigned moved) {
    enum { MANY = 9 };
    V ins[MANY];
    int n = n_in() < MANY ? n_in() : MANY;
    for (int k = 0; k < n; k++) ins[k] = gin(k) && moved >> k & 1 ? ms_channels_first(gin(k)) : gin(k);
    struct node *y = ms_node(domain, op, ins, n, 1);
    if (def_infer(y->in->graph, y)) gout(0, moved ? ms_channels_last(y->outs.v[0]) : y->outs.v[0]);
}
static void exp_conv(void) { channels_last("", "Conv", 1); }
static void exp_fusedconv(void) { channels_last("com.microsoft", "FusedConv", 1 | 8); }
static void exp_maxpool(void) { channels_last("", "MaxPool", 1); }
static void exp_qlinearconv(void) { channels_last("", "QLinearConv", int_attr("channels_last") ? 1 : 0); }

#define WINDOW                                                                                                         \
    {.name = "auto_pad", .kind = AT_STRING, .s = "NOTSET"}, {.name = "kernel_shape", .kind = AT_INTS},                 \
        {.name = "strides", .kind = AT_INTS}, {.name = "dilations", .kind = AT_INTS}, {                                \
        .name = "pads", .kind = AT_INTS                                                                                \
    }
static const struct op_attr a_conv[] = {WINDOW, {.name = "group", .kind = AT_INT, .i = 1}, {0}},
                            a_fused[] = {WINDOW,
                                         {.name = "group", .kind = AT_INT, .i = 1},
                                         {.name = "activation", .kind = AT_STRING},
                                         {.name = "activation_params", .kind = AT_FLOATS},
                                         {0}},
                            a_qlinear[] = {WINDOW,
                                           {.name = "group", .kind = AT_INT, .i = 1},
                                           {.name = "channels_last", .kind = AT_INT},
                                           {0}},
                            a_pool[] = {WINDOW, {.name = "ceil_mode", .kind = AT_INT}, {0}};
enum { TF = TS_FLOAT, T8 = TSET(I8) | TSET(U8) };
static const struct op_slot s_conv[] = {{"X", TF, 0}, {"W", TF, 0}, {"B", TF, OPTIONAL}, {0}},
                            s_fused[] = {{"X", TF, 0}, {"W", TF, 0}, {"B", TF, OPTIONAL}, {"Z", TF, OPTIONAL}, {0}},
                            s_pool[] = {{"x", T8, 0}, {0}};
static const struct op_slot s_qlinear[] = {{"x", T8, 0},
                                           {"x_scale", TSET(F32), 0},
                                           {"x_zero_point", T8, 0},
                                           {"w", T8, 0},
                                           {"w_scale", TSET(F32), 0},
                                           {"w_zero_point", T8, 0},
                                           {"y_scale", TSET(F32), 0},
                                           {"y_zero_point", T8, 0},
                                           {"B", TSET(I32), OPTIONAL},
                                           {0}};
#define ROW(name, attrs, slots, fn)                                                                                    \
    { "com.microsoft", name, 1, 1, attrs, slots, slots_y, .expand = fn, .spec = "com.microsoft." name }
const struct op ops_ms_layout[] = {
    ROW("NhwcConv", a_conv, s_conv, exp_conv),
    ROW("NhwcFusedConv", a_fused, s_fused, exp_fusedconv),
    ROW("NhwcMaxPool", a_pool, s_pool, exp_maxpool),
    ROW("QLinearConv", a_qlinear, s_qlinear, exp_qlinearconv),
    {0},
};
