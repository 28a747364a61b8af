/* The program: which command, with which options. Every command is a file of its own, compiler/cmd_*.c. */
#include "compiler/commands.h"
#include "lower/ops/ops.h"
#include <stdio.h>

/* The first one is meant when a model stands in place of a command. */
static const struct command commands[] = {
    {"compile", "MODEL", "write a model as C, with build files",
     "  gcc2nn resnet50.onnx -o resnet50_c --target=x86-avx2\n  gcc2nn model.onnx --dim batch=1..64@8 --weights=file\n",
     1, 1, CMD_COMPILE, cmd_compile},
    {"run", "MODEL", "compile a model and run it on tensors from files",
     "  gcc2nn run model.onnx --data test_data_set_0 --out results\n  gcc2nn run model.onnx --input x=image.npy\n", 1,
     1, CMD_RUN, cmd_run},
    {"verify", "MODEL", "compare the compiled model with reference outputs or with the interpreter",
     "  gcc2nn verify model.onnx --data test_data_set_0 --target=aarch64\n  gcc2nn verify model.onnx --each-node\n", 1,
     1, CMD_VERIFY, cmd_verify},
    {"bench", "MODEL", "time the compiled model", "  gcc2nn bench model.onnx --target=x86-avx512 --runs=200\n", 1, 1,
     CMD_BENCH, cmd_bench},
    {"inspect", "MODEL", "show a model's inputs, outputs, symbols, operators and size",
     "  gcc2nn inspect resnet50.onnx\n  gcc2nn inspect --json model.onnx\n", 1, 1, CMD_INSPECT, cmd_inspect},
    {"opt", "FILE", "run graph passes on a .gir file or schedule steps on a .lir file and print the text after",
     "  gcc2nn opt model.gir --passes=infer,fold\n  gcc2nn opt gemm.lir --steps='split m 4 mo mi; kind unroll mi'\n", 1,
     1, CMD_OPT, cmd_opt},
    {"explain", "CODE", "explain a diagnostic", "  gcc2nn explain E0301\n", 1, 1, CMD_EXPLAIN, cmd_explain},
    {"list-ops", "", "list the operators, with the opsets accepted", NULL, 0, 0, CMD_LIST_OPS, cmd_list_ops},
    {"list-targets", "", "list the targets", NULL, 0, 0, CMD_LIST_TARGETS, cmd_list_targets},
    {0},
};

int main(int argc, char **argv) {
    struct arena arena = {0};
    struct text problem = {0}, out = {0};
    struct options o = {.arena = &arena};
    int status = EXIT_OK;
    ops_register_all();
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
