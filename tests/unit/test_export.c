/* compiler/export: graphs that ONNX has no words for, which only the text of a graph can hold. What is written is
 * tested in tests/export. */
#include "compiler/export/onnx.h"
#include "lower/ops/ops.h"
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

TestSuite(export, .init = ops_register_all);

/* Nothing is written, for the reason `why`, which concerns `origin`. */
static void refused(const char *text, const char *origin, const char *why) {
    struct ctx *c = ctx_new();
    struct graph *g = graph_parse(c, text, strlen(text), "a.gir");
    cr_assert(g && graph_verify(g, NULL));
    cr_assert_not(export_onnx(g, "refused.onnx", &(struct export_options){0}, NULL));
    const struct diag *d = &c->diags.v[c->diags.n - 1];
    cr_assert_eq(d->code, E_SAY);
    cr_assert(!origin ? !d->origin : d->origin && strstr(d->origin, origin), "%s", d->origin ? d->origin : "no origin");
    cr_assert(strstr(d->message, why), "%s", d->message);
    cr_assert(access("refused.onnx", F_OK));
    ctx_free(c);
}
Test(export, operators_of_our_own) {
    refused("graph \"own\"\nopset \"\" 17\nregion \"main\" (%0 \"c\": bool[]) {\n"
            "  gcc2nn::Require(%0) {condition=1, reason=\"no\"} @\"check\"\n  return %0\n}\n",
            "\"check\" (Require)", "Require of the compiler's own");
}
Test(export, operators_of_our_own_are_told_once) {
    refused("graph \"own\"\nopset \"\" 17\nregion \"main\" (%0 \"c\": bool[]) {\n"
            "  gcc2nn::Require(%0) {condition=1, reason=\"a\"} @\"one\"\n"
            "  gcc2nn::Require(%0) {condition=1, reason=\"b\"} @\"two\"\n  return %0\n}\n",
            "\"one\" (Require)", "own; 2 nodes are such");
}
Test(export, contents_that_are_not_there) {
    refused("graph \"hash\"\nopset \"\" 17\nconst %w \"w\": f32[100] = hash 0x0123456789abcdef\n"
            "region \"main\" (%0 \"x\": f32[100]) {\n  %1 \"y\": f32[100] = Add(%0, %w)\n  return %1\n}\n",
            NULL, "constant \"w\"");
}
Test(export, sequences_of_unknown_length) {
    refused("graph \"packed\"\nopset \"\" 17\ngives sequence \"s\" packed at 0\n"
            "region \"main\" (%0 \"cells\": f32[4], %1 \"shapes\": i64[2,1]) {\n"
            "  return %0 \"s_cells\", %1 \"s_shapes\"\n}\n",
            NULL, "output \"s\"");
}
