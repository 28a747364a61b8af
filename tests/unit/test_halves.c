/* How precise 16-bit floats are between kernels (lower/halves.c): machines that have instructions for it round them by
 * each operator, others where they leave the model and where a Cast says so. */
#include "ops_kit.h"

static const int64_t no_sizes[4];
TestSuite(halves, .init = setup, .fini = done);

/* What `nodes` make of x = 1 + 2^-10, the float of 16 bits behind 1. */
static double computed(const struct lower_options *o, const char *param, const char *nodes) {
    float x = 0x1.004p0f, y = 0;
    uint16_t code = 0x3c01;
    bool half = strstr(param, "f16");
    struct module *m = lower_graph(graph_of("const %a: f16[] = splat 1.001953125\nconst %b: f16[] = splat 1024.0\n"
                                            "const %c: bf16[] = splat 1.0\n",
                                            param, nodes),
                                   o);
    cr_assert(m, "%s", nodes);
    struct eval_arg args[2] = {{.data = half ? (void *)&code : &x, .dims = {1}, .nd = 1}};
    struct eval_result r = loop_eval(m, m->entry, args, no_sizes, &(struct eval_options){.poison = true});
    cr_assert_eq(r.status, EVAL_OK, "%s: %s", nodes, r.message);
    memcpy(&y, args[1].data, sizeof y);
    return (double)y;
}
/* x * x = 1 + 2^-9 + 2^-20, of which 16 bits hold 1 + 2^-9; what they lose is 2^-10 in the end. */
#define LOST    "%p: ? = Mul(%x, %x) %d: ? = Sub(%p, %a) %h: ? = Mul(%d, %b) "
#define LOST_TO "%y: ? = Cast(%h) {to=1}"
Test(halves, cpus_do_not_round_between_operators) {
    static const char *const targets[] = {"c99", "x86-64", "riscv64", "x86-avx2", "x86-avx512", "aarch64", "cortex-m4"};
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++)
        for (int apart = 0; apart < 2; apart++) { /* one kernel, or one for each operator */
            struct lower_options o = {.target = target_by_name(targets[k]), .no_fuse = apart};
            double y = computed(&o, "%x: f16[1]", LOST LOST_TO);
            cr_expect_eq(y, 0x1p-10, "%s: %a", targets[k], y);
            o.no_excess = true;
            cr_expect_eq(computed(&o, "%x: f16[1]", LOST LOST_TO), 0, "%s, no_excess", targets[k]);
        }
}
Test(halves, the_definition_rounds) {
    struct lower_options o = {.target = target_by_name("c99"), .no_schedule = true};
    cr_expect_eq(computed(&o, "%x: f16[1]", LOST LOST_TO), 0, "the definition");
}
/* What its author casts, and what leaves the model, has 16 bits. */
Test(halves, a_cast_rounds) {
    struct lower_options o = {.target = target_by_name("c99")};
    double y = computed(&o, "%x: f32[1]", "%p: ? = Mul(%x, %x) %h: ? = Cast(%p) {to=10} %y: ? = Cast(%h) {to=1}");
    cr_expect_eq(y, 0x1.008p0, "f16: %a", y);
    y = computed(&o, "%x: f32[1]", "%h: ? = Cast(%x) {to=16} %s: ? = Add(%h, %c) %y: ? = Cast(%s) {to=1}");
    cr_expect_eq(y, 2, "bf16: %a", y);
}
Test(halves, results_of_the_model_have_16_bits) {
    struct lower_options o = {.target = target_by_name("c99")};
    struct module *m = lower_graph(graph_of("", "%x: f16[1]", "%y: ? = Mul(%x, %x)"), &o);
    uint16_t code = 0x3c01, y = 0;
    struct eval_arg args[2] = {{.data = &code, .dims = {1}, .nd = 1}};
    cr_assert_eq(loop_eval(m, m->entry, args, no_sizes, &(struct eval_options){.poison = true}).status, EVAL_OK);
    memcpy(&y, args[1].data, sizeof y);
    cr_expect_eq(y, 0x3c02, "%x", y);
}
/* Weights that come from memory in each run, for sums over so many rows: read as f32 where the product takes as long as
 * their bytes, so that converting them would come on top. */
static enum dtype type_of_weights(const char *target, int rows) {
    char param[40];
    snprintf(param, sizeof param, "%%x: f16[%d,64]", rows);
    struct graph *g = graph_of("const %w: f16[64,64] = splat 0.5\n", param, "%y: ? = MatMul(%x, %w)");
    g->file_bytes = 1 << 30;
    struct module *m = lower_graph(g, &(struct lower_options){.target = target_by_name(target)});
    cr_assert(m, "%s", target);
    for (int k = 0; k < m->entry->bufs.n; k++)
        if (m->entry->bufs.v[k]->data) return m->entry->bufs.v[k]->type;
    return NONE;
}
Test(halves, weights_become_f32_where_converting_takes_longer_than_their_bytes) {
    cr_expect_eq(type_of_weights("x86-avx2", 4), F16);
    cr_expect_eq(type_of_weights("x86-avx2", 16), F32);
    cr_expect_eq(type_of_weights("x86-avx512", 16), F16);
    cr_expect_eq(type_of_weights("x86-avx512", 256), F32);
    cr_expect_eq(type_of_weights("c99", 4), F32);
}
