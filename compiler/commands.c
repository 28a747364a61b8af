/* The table of commands. With the table of options (options.c) it drives the parser, `--help`, and the output of
 * docgen.c: man page, shell completions, docs/commands.md. */
#include "compiler/commands.h"

/* the first is used if a model is given in place of a command */
const struct command command_rows[] = {
    {"compile", "MODEL", "write a model as C, with build files",
     "  gcc2nn resnet50.onnx -o resnet50_c --target=x86-avx2\n"
     "  gcc2nn resnet50.onnx -o resnet50_c --target=x86-64+avx2+avx512\n  gcc2nn model.onnx --dim batch=1..64@8 "
     "--weights=file\n",
     1, 1, CMD_COMPILE, cmd_compile},
    {"run", "MODEL", "compile a model and run it on tensors from files",
     "  gcc2nn run model.onnx --data test_data_set_0 --out results\n  gcc2nn run model.onnx --input x=image.npy\n", 1,
     1, CMD_RUN, cmd_run},
    {"verify", "MODEL", "compare the compiled model with ONNX Runtime, LiteRT, reference outputs or the interpreter",
     "  gcc2nn verify model.onnx --data test_data_set_0 --target=aarch64\n"
     "  gcc2nn verify model.onnx --each-node --python=.venv/bin/python\n",
     1, 1, CMD_VERIFY, cmd_verify},
    {"bisect", "MODEL", "find the first pass, rule, kernel or node that makes outputs differ",
     "  gcc2nn bisect model.onnx --data test_data_set_0\n  gcc2nn bisect model.onnx --target=x86-avx512 "
     "--python=.venv/bin/python\n",
     1, 1, CMD_BISECT, cmd_bisect},
    {"doctor", "MODEL",
     "report what is wrong with a model, or slower or larger than necessary, and what to do about it",
     "  gcc2nn doctor model.onnx --target=x86-avx2\n  gcc2nn doctor model.onnx --data test_data_set_0 --json\n", 1, 1,
     CMD_DOCTOR, cmd_doctor},
    {"bench", "MODEL", "time the compiled model", "  gcc2nn bench model.onnx --target=x86-avx512 --runs=200\n", 1, 1,
     CMD_BENCH, cmd_bench},
    {"tune", "MODEL", "measure which kernel variants are fastest on this machine, for --choices",
     "  gcc2nn tune model.onnx -o model.choices\n  gcc2nn compile model.onnx --choices=model.choices\n", 1, 1, CMD_TUNE,
     cmd_tune},
    {"calibrate", "", "measure the properties of this machine by which kernels are chosen, for --machine",
     "  gcc2nn calibrate -o cpu.json\n  gcc2nn compile model.onnx --machine=cpu.json\n", 0, 0, CMD_CALIBRATE,
     cmd_calibrate},
    {"quantize", "MODEL", "round a model of floats to 8 bits, and write it as ONNX",
     "  gcc2nn quantize model.onnx --calib samples -o model_int8.onnx\n"
     "  gcc2nn quantize model.onnx --calib samples --method=entropy --exclude=/head/MatMul\n",
     1, 1, CMD_QUANTIZE, cmd_quantize},
    {"profile", "MODEL", "show for each kernel: time, share of the machine's peak, and events that the CPU counts",
     "  gcc2nn profile model.onnx --dim batch=1 --trace=trace.json\n  gcc2nn profile model.onnx --target=cortex-m4\n",
     1, 1, CMD_PROFILE, cmd_profile},
    {"report", "MODEL|BUILD", "write a page of HTML: graph, layers, memory, times, and the C of each kernel",
     "  gcc2nn report model.onnx -o report.html\n  gcc2nn report model_c --no-run\n", 1, 1, CMD_REPORT, cmd_report},
    {"diff", "A B", "show what differs between two models or compiled folders: nodes, types, sizes, times, outputs",
     "  gcc2nn diff old.onnx new.onnx --dim batch=1\n  gcc2nn diff old_c new.onnx --no-run\n", 2, 2, CMD_DIFF,
     cmd_diff},
    {"inspect", "MODEL", "show a model's inputs, outputs, symbols, operators and size",
     "  gcc2nn inspect resnet50.onnx\n  gcc2nn inspect --json model.onnx\n", 1, 1, CMD_INSPECT, cmd_inspect},
    {"surgeon", "MODEL", "cut a model, change its inputs and outputs, and write it as ONNX",
     "  gcc2nn surgeon detector.onnx --outputs=boxes,scores -o cut.onnx\n"
     "  gcc2nn surgeon resnet50.onnx -o camera.onnx --cast=input=u8 --input-layout=nhwc --mean=123.7,116.3,103.5 "
     "--scale=58.4,57.1,57.4 --softmax=-1 --top-k=5\n",
     1, 1, CMD_SURGEON, cmd_surgeon},
    {"prune", "MODEL", "count the zeros among a model's weights, or write it without redundant channels",
     "  gcc2nn prune model.onnx --report --target=x86-avx2\n  gcc2nn prune model.onnx --structured -o smaller.onnx\n",
     1, 1, CMD_PRUNE, cmd_prune},
    {"opt", "FILE", "run graph passes on a .gir file or schedule steps on a .lir file and print the result",
     "  gcc2nn opt model.gir --passes=infer,dce\n  gcc2nn opt gemm.lir --steps='split m 4 mo mi; kind unroll mi'\n"
     "  gcc2nn opt kernels.lir --replay --emit-c --target=x86-avx2\n",
     1, 1, CMD_OPT, cmd_opt},
    {"explain", "CODE|MODEL [NODE]",
     "explain a diagnostic, what became of a model's nodes, or how and why a node or kernel is computed as it is",
     "  gcc2nn explain E0301\n  gcc2nn explain model.onnx conv2 --target=x86-avx2\n  gcc2nn explain model.onnx "
     "--kernel k3 "
     "--target=x86-avx2\n",
     1, 2, CMD_EXPLAIN, cmd_explain},
    {"ort-ops", "", "write custom operators as sources of a library for ONNX Runtime",
     "  gcc2nn ort-ops --op-path operators -o ort_ops\n", 0, 0, CMD_ORT_OPS, cmd_ort_ops},
    {"list-ops", "", "list the operators, with the opsets accepted", "  gcc2nn list-ops\n  gcc2nn list-ops --json\n", 0,
     0, CMD_LIST_OPS, cmd_list_ops},
    {"list-targets", "", "list the targets", "  gcc2nn list-targets\n", 0, 0, CMD_LIST_TARGETS, cmd_list_targets},
    {"config", "show", "show the options that gcc2nn.toml sets here",
     "  gcc2nn config show --origin\n  gcc2nn config show --profile=small --target=cortex-m4\n", 1, 1, CMD_CONFIG,
     cmd_config},
    {"list-rules", "", "list the algebraic rules of the pass simplify", "  gcc2nn list-rules\n", 0, 0, CMD_LIST_RULES,
     cmd_list_rules},
    {0},
};
