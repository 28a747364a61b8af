/* The program: which command, with which options. Every command is a file of its own, compiler/cmd_*.c. */
#include <stdio.h>
#include "compiler/commands.h"

/* The first one is meant when a model stands in place of a command. */
static const struct command commands[] = {
    {"inspect", "MODEL", "show a model's inputs, outputs, symbols, operators and size",
     "  gcc2nn inspect resnet50.onnx\n  gcc2nn inspect --json model.onnx\n", 1, 1, CMD_INSPECT, cmd_inspect},
    {"opt", "FILE", "run graph passes on a .gir file or schedule steps on a .lir file and print the text after",
     "  gcc2nn opt model.gir --passes=infer,fold\n  gcc2nn opt gemm.lir --steps='split m 4 mo mi; kind unroll mi'\n", 1, 1, CMD_OPT, cmd_opt},
    {"explain", "CODE", "explain a diagnostic", "  gcc2nn explain E0301\n", 1, 1, CMD_EXPLAIN, cmd_explain},
    {"list-ops", "", "list the operators, with the opsets accepted", NULL, 0, 0, CMD_LIST_OPS, cmd_list_ops},
    {"list-targets", "", "list the targets", NULL, 0, 0, CMD_LIST_TARGETS, cmd_list_targets},
    {0},
};

int main(int argc, char **argv)
{
    struct arena arena = {0};
    struct text problem = {0}, out = {0};
    struct options o = {.arena = &arena};
    int status = EXIT_OK;
    if (!options_parse(&o, commands, argc, argv, &problem)) {
        struct ctx *c = ctx_new();
        diag_at(&c->diags, DIAG_ERROR, E_USAGE, "gcc2nn", NULL, "%s", problem.s);
        diag_help(&c->diags, "`gcc2nn --help` lists commands and options");
        status = report_diags(&c->diags);
        ctx_free(c);
    } else if (o.version) {
        text_printf(&out, "gcc2nn %s\n", GCC2NN_VERSION);
    } else if (o.help || argc < 2) {
        bool whole_program = argc < 3;
        options_help(&out, commands, whole_program ? NULL : o.command);
    } else {
        status = o.command->run(&o);
    }
    print_text(&out);
    text_free(&problem);
    arena_free(&arena);
    return status;
}
