/* The command line: the table of options, and the parser. See options.h. */
#include "compiler/foreign_run.h"
#include "compiler/import/tflite.h"
#include "compiler/option_values.h"
#include "compiler/referee.h"
#include "ir/base/nearest.h"
#include <string.h>
#include <unistd.h>

const struct option_row option_rows[] = {
    {"name", 0, "NAME", "prefix of all generated symbols and files (default: from the file's name)",
     CMD_COMPILE | CMD_OPT, take_name, NULL, ONCE},
    {"target", 't', "TARGET",
     "what to generate code for (default: native, this machine; of opt: c99; of prune: nothing); `gcc2nn "
     "list-targets` names them; several for one program, which chooses in init: x86-64+avx2+avx512",
     CMD_COMPILE | CMD_PROGRAM | CMD_OPT | CMD_EXPLAIN | CMD_CALIBRATE | CMD_CONFIG | CMD_PRUNE, take_target, NULL,
     ONCE},
    {"targets", 0, "TARGET,..",
     "one folder for each of these targets, and one manifest, in the folder of --out (default MODEL_bundle)",
     CMD_COMPILE | OPTION_OF_CALL, take_targets, NULL, ONCE},
    {"weights", 0, "KIND", "auto, array (C), incbin (assembler) or file (loaded by the caller)",
     CMD_COMPILE | CMD_PROGRAM, take_weights, "auto array incbin file", ONCE},
    {"std", 0, "STD", "c99-strict: scalar C99 without extensions; gnu99", CMD_COMPILE | CMD_PROGRAM, take_std,
     "c99-strict gnu99", ONCE},
    {"data", 0, "FILE.npz|DIR",
     "folder of input_N.pb, .npy, .png or .jpg, and output_N.pb or .npy for verify; or an archive of arrays by the "
     "names "
     "of inputs and outputs, or input_N and output_N (default: made-up inputs)",
     CMD_PROGRAM, take_data, NULL, ONCE},
    {"input", 'i', "NAME=FILE", "an input's values: .pb, .npy, .npz, or a picture, .png or .jpg", CMD_PROGRAM,
     take_input, NULL, REPEATS},
    {"mean", 0, "M[,M,M]", "subtract this from a picture's values, 0 to 255: one number, or one for each colour",
     CMD_PROGRAM, take_mean, NULL, ONCE},
    {"scale", 0, "S[,S,S]", "then divide a picture's values by this: one number, or one for each colour", CMD_PROGRAM,
     take_scale, NULL, ONCE},
    {"emit", 0, "KIND",
     "c: the program (default); onnx: the model as ONNX, as it is after the pass of --stop-after, else after all graph "
     "passes",
     CMD_COMPILE | OPTION_OF_CALL, take_emit, "c onnx", ONCE},
    {"opset", 0, "N",
     "opset of the ONNX model that is written (default: the model's own, or the oldest newer one that has all of its "
     "operators)",
     CMD_COMPILE | CMD_SURGEON | CMD_PRUNE, take_opset, NULL, ONCE},
    {"external-data", 0, NULL,
     "write the weights of an ONNX model beside it, in FILE.data (default: only where it would have 2 GiB or more)",
     CMD_COMPILE | CMD_SURGEON | CMD_PRUNE, take_external_data, NULL, ONCE},
    {"out", 'o', "FILE", "the ONNX model that is written", CMD_SURGEON | CMD_PRUNE | OPTION_OF_CALL, take_out, NULL,
     ONCE},
    {"report", 0, NULL,
     "print how many elements of each weight tensor are zero or near zero, and in which patterns; with --target also "
     "which algorithms kernels use for them",
     CMD_PRUNE | OPTION_OF_CALL, take_prune_report, NULL, ONCE},
    {"structured", 0, NULL,
     "write the model without channels that are constant or never read: filters of zeros, and what is computed from "
     "them up to their readers",
     CMD_PRUNE | OPTION_OF_CALL, take_structured, NULL, ONCE},
    {"threshold", 0, "X",
     "with --structured: first set filters with a smaller Euclidean norm to zero, which changes results; with "
     "--report: what counts as near zero (default: a thousandth of each tensor's greatest magnitude)",
     CMD_PRUNE | OPTION_OF_CALL, take_threshold, NULL, ONCE},
    {"inputs", 0, "NAME,...", "these values become the model's only inputs; nodes that only computed them are removed",
     CMD_SURGEON | OPTION_OF_CALL, take_cut_input, NULL, REPEATS},
    {"outputs", 0, "NAME,...",
     "these values become the model's only outputs; nodes and inputs that they do not need are removed",
     CMD_SURGEON | OPTION_OF_CALL, take_cut_output, NULL, REPEATS},
    {"keep", 0, "NODE", "keep this node: its results become further outputs, after the others",
     CMD_SURGEON | OPTION_OF_CALL, take_keep, NULL, REPEATS},
    {"softmax", 0, "[OUTPUT=]AXIS", "apply softmax to an output, over this axis; -1 is the last",
     CMD_SURGEON | OPTION_OF_CALL, take_softmax, NULL, REPEATS},
    {"nms", 0, "boxes=OUTPUT,scores=OUTPUT[,KEY=VALUE]",
     "non-maximum suppression: of boxes that overlap by more than iou (default 0.5), keep the one with the greatest "
     "score; drop scores below score (0.25), keep at most max (100) of a class; format: xyxy, corners (default), or "
     "cxcywh. The indices of the kept boxes become the output BOXES_indices",
     CMD_SURGEON | OPTION_OF_CALL, take_nms, NULL, REPEATS},
    {"top-k", 0, "[OUTPUT=]K",
     "replace an output by its K greatest elements along the last axis; their indices become the output OUTPUT_indices",
     CMD_SURGEON | OPTION_OF_CALL, take_top_k, NULL, REPEATS},
    {"mean", 0, "[INPUT=]M,...", "subtract from an input, before --scale: one number, or one for each channel",
     CMD_SURGEON | OPTION_OF_CALL, take_surgery_mean, NULL, REPEATS},
    {"scale", 0, "[INPUT=]S,...", "divide an input: one number, or one for each channel", CMD_SURGEON | OPTION_OF_CALL,
     take_surgery_scale, NULL, REPEATS},
    {"input-layout", 0, "[INPUT=]nhwc", "take an input, whose channels the model has first, with channels last",
     CMD_SURGEON | OPTION_OF_CALL, take_layout, NULL, REPEATS},
    {"cast", 0, "NAME=TYPE",
     "take an input, or give an output, as u8, i32, f16 ...; inside the model its type stays the same",
     CMD_SURGEON | OPTION_OF_CALL, take_cast, NULL, REPEATS},
    {"rename", 0, "OLD=NEW", "rename an input or output, after all other changes", CMD_SURGEON | OPTION_OF_CALL,
     take_rename, NULL, REPEATS},
    {"fold", 0, NULL, "compute everything that depends only on constants, also quantised weights",
     CMD_SURGEON | OPTION_OF_CALL, take_fold, NULL, ONCE},
    {"out", 'o', "DIR|FILE",
     "folder for what is written (compile: default MODEL_c), or with --emit=onnx the file (default: MODEL.PASS.onnx)",
     CMD_COMPILE | OPTION_OF_CALL, take_out, NULL, ONCE},
    {"out", 'o', "DIR", "folder for what is written", CMD_RUN | CMD_BENCH | OPTION_OF_CALL, take_out, NULL, ONCE},
    {"out", 'o', "DIR", "folder for the sources (default: ort_ops)", CMD_ORT_OPS, take_out, NULL, ONCE},
    {"out", 'o', "FILE",
     "the file of records to write (default: MODEL.choices); kernels that it already has are not measured again",
     CMD_TUNE | OPTION_OF_CALL, take_out, NULL, ONCE},
    {"time", 0, "SECONDS", "start no further round after this time (default 600)", CMD_TUNE, take_time, NULL, ONCE},
    {"out", 'o', "FILE", "the file of numbers to write (default: TARGET.json)", CMD_CALIBRATE | OPTION_OF_CALL,
     take_out, NULL, ONCE},
    {"time", 0, "SECONDS", "measure for about this time at most (default 20)", CMD_CALIBRATE, take_time, NULL, ONCE},
    {"out", 'o', "FILE", "the page that is written (default: NAME_report.html)", CMD_REPORT | OPTION_OF_CALL, take_out,
     NULL, ONCE},
    {"trace", 0, "FILE",
     "write when each call of a kernel began and ended, for Perfetto (ui.perfetto.dev) and chrome://tracing",
     CMD_PROFILE | OPTION_OF_CALL, take_trace, NULL, ONCE},
    {"verified", 0, "FILE", "also show errors, from this output of `gcc2nn verify MODEL --each-node --json`",
     CMD_REPORT | OPTION_OF_CALL, take_verified, NULL, ONCE},
    {"no-run", 0, NULL, "do not run the program: no times or instruction counts, and in diff no outputs",
     CMD_REPORT | CMD_DIFF, take_no_run, NULL, ONCE},
    {"machine", 0, "FILE",
     "predict times with this machine's numbers, measured by `gcc2nn calibrate`; for the target that they were "
     "measured for",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN, take_machine, NULL, ONCE},
    {"budget", 0, "ITEM=LIMIT,..",
     "fail with exit status 4, and write nothing, where the model takes more: arena=64K, weights, flash (code, "
     "constants "
     "and weights), code (without the weights), latency=2.5ms (median of runs on this machine), instructions=3.5M (of "
     "a run "
     "in an emulator)",
     CMD_COMPILE | CMD_BENCH, take_limits, NULL, REPEATS},
    {"baseline", 0, "FILE",
     "compare with this result of an earlier `bench --json`, and fail with exit status 4 where something got worse: "
     "instructions where both have them, else the least time; arena, weights and code",
     CMD_BENCH, take_baseline, NULL, ONCE},
    {"max-regression", 0, "PERCENT",
     "how much worse than the baseline a result may be (default: 10 for times, 1 for counts and sizes)", CMD_BENCH,
     take_regression, NULL, ONCE},
    {"depfile", 0, NULL, "also write NAME.d into the folder: the dependencies, for make and ninja (also -MD)",
     CMD_COMPILE, take_depfile, NULL, ONCE},
    {"interpret", 0, NULL, "interpret instead of compiling", CMD_RUN, take_interpret, NULL, ONCE},
    {"against", 0, "REFEREE",
     "compare with ONNX Runtime (ort), LiteRT (litert), the output_N of --data (ref) or the interpreter of the same "
     "loops, "
     "bit for bit (default: ref for those that there are, for the rest ort, or litert for .tflite); one that is "
     "missing is "
     "an error",
     CMD_VERIFY | CMD_BISECT | CMD_DOCTOR, take_against, REFEREE_WORDS, ONCE},
    {"rtol", 0, "R", "allowed error of an element, relative to the greatest magnitude of its tensor (default: by type)",
     CMD_VERIFY | CMD_BISECT | CMD_DOCTOR | CMD_DIFF, take_rtol, NULL, ONCE},
    {"atol", 0, "A", "allowed error in addition to that of --rtol (default 0)",
     CMD_VERIFY | CMD_BISECT | CMD_DOCTOR | CMD_DIFF, take_atol, NULL, ONCE},
    {"steps", 0, "N",
     "allowed error of quantized values, and of integers in any model, in quantization steps (default 1)",
     CMD_VERIFY | CMD_BISECT | CMD_DOCTOR, take_step_count, NULL, ONCE},
    {"each-node", 0, NULL,
     "compare the result of every node, alone, then of every kernel, and name the first that differs", CMD_VERIFY,
     take_each_node, NULL, ONCE},
    {"dataset", 0, "DIR",
     "run the samples in this folder, each a folder as for --data with the files that --metric needs, instead of "
     "comparing one run",
     CMD_VERIFY, take_dataset, NULL, ONCE},
    {"metric", 0, "NAME|FILE.py",
     "metric for --dataset or --eval: top1 (label.txt: a class), map (label.txt: lines of CLASS X0 Y0 X1 Y1), mse "
     "(against output_N, or else the reference's outputs; the default), or the function metric(samples) of a Python "
     "file",
     CMD_VERIFY | CMD_QUANTIZE, take_metric, NULL, ONCE},
    {"max-drop", 0, "X",
     "fail if the metric of --dataset is lower than ONNX Runtime's by more than this, such as 0.01 or 1%, or mse "
     "greater. quantize: leave products in floats, the most sensitive first, until the metric of --eval is within it",
     CMD_VERIFY | CMD_QUANTIZE, take_drop, NULL, ONCE},
    {"python", 0, "PROGRAM", "Python with the package onnxruntime (default python3)",
     CMD_VERIFY | CMD_BISECT | CMD_DOCTOR | CMD_QUANTIZE, take_python, NULL, ONCE},
    {"runs", 0, "R", "how many runs to time (default 50; tune 20)",
     CMD_BENCH | CMD_TUNE | CMD_REPORT | CMD_PROFILE | CMD_DIFF, take_runs, NULL, ONCE},
    {"warmup", 0, "W", "runs before the first timed one (default 5)",
     CMD_BENCH | CMD_TUNE | CMD_REPORT | CMD_PROFILE | CMD_DIFF, take_warmup, NULL, ONCE},
    {"per-kernel", 0, NULL,
     "print for each kernel, the slowest first: time, operations, bytes, and how near that is to the machine's peak",
     CMD_BENCH, take_per_kernel, NULL, ONCE},
    {"threads", 0, "N",
     "compile kernels for this many threads, and run them with as many (default 1); results have the same bits for any "
     "number",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN | CMD_OPT, take_threads, NULL, ONCE},
    {"cc", 0, "COMPILER", "C compiler (default: the target's)", CMD_PROGRAM | CMD_QUANTIZE | CMD_CALIBRATE, take_cc,
     NULL, ONCE},
    {"build-dir", 0, "DIR", "keep the generated code here", CMD_PROGRAM, take_build_dir, NULL, ONCE},
    {"timeout", 0, "SECONDS", "time limit for each compilation and for the run (default 600)",
     CMD_PROGRAM | CMD_QUANTIZE, take_seconds, NULL, ONCE},
    {"no-fuse", 0, "[NODE,..]", "one kernel for each node; with names, only for each of these nodes",
     CMD_COMPILE | CMD_PROGRAM, take_no_fuse, NULL, REPEATS},
    {"no-schedule", 0, NULL, "kernels as plain loops", CMD_COMPILE | CMD_PROGRAM, take_no_schedule, NULL, ONCE},
    {"precision", 0, "[NODE=]TYPE",
     "round the operands of f32 products, and values between products, to this type when they are stored: bf16, fp16; "
     "f32 or fp32 (default): do not round. With NODE only for that node, which overrides the setting for all",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN | CMD_OPT, take_precision, PRECISIONS, REPEATS},
    {"weights-precision", 0, "TYPE",
     "round constant factors of products that are limited by memory bandwidth to this type, with a scale for each "
     "channel; with --activations-precision, matrices of all products that bytes make faster, with a scale for each "
     "block: int8; f32 (default): do not round",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN | CMD_OPT, take_weights_precision, BYTE_PRECISIONS, ONCE},
    {"activations-precision", 0, "TYPE",
     "round floats that products multiply by constant weights of 4 or 8 bits, or by rounded ones "
     "(--weights-precision), to this type, with a scale for each block, if the target has instructions for it: int8; "
     "f32 (default): do not round, but where the model has accuracy_level 4",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN | CMD_OPT, take_activations_precision, BYTE_PRECISIONS, ONCE},
    {"no-excess-precision", 0, NULL,
     "round 16-bit floats after each operator (default on CPUs: only at the model's outputs, and by Cast)",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN, take_no_excess_precision, NULL, ONCE},
    {"dump-after", 0, "PASS",
     "print the program after this pass, or after `all`; `fuse`: the groups; `problems`: what each kernel computes; "
     "`choices`: what was tried for it and taken; `nodes`: what became of the model's nodes; `kernels`: the kernels "
     "before their schedules, with the steps to do",
     CMD_COMPILE | (CMD_PROGRAM & ~(CMD_TUNE | CMD_REPORT | CMD_PROFILE | CMD_DIFF)), take_dump, NULL, REPEATS},
    {"stop-after", 0, "PASS", "stop after this pass", CMD_COMPILE, take_stop, NULL, ONCE},
    {"no-pass", 0, "PASS", "leave this pass out", CMD_COMPILE | CMD_PROGRAM, take_skip, NULL, REPEATS},
    {"no-rule", 0, "RULE", "leave this rule of simplify out; `gcc2nn list-rules` names them",
     CMD_COMPILE | CMD_PROGRAM | CMD_OPT, take_rule_off, NULL, REPEATS},
    {"algorithm", 0, "[NODE=]NAME",
     "compute this node, or all, by this algorithm where it fits; `--dump-after=choices` shows which do",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN | CMD_OPT, take_algorithm, NULL, REPEATS},
    {"no-algorithm", 0, "NAME", "leave this algorithm out, or `all` but the definition",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN | CMD_OPT, take_algorithm_off, NULL, REPEATS},
    {"choices", 0, "FILE",
     "compute kernels as this file records, in the form of `--dump-after=choices`: the line above `taken` is used if "
     "the machine and the kernel's problem are the same; algorithms are chosen anew, or by `--algorithm`",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN, take_choices, NULL, REPEATS},
    {"bisect-limit", 0, "N",
     "make only the first N of the decisions by which the program differs from the plainest one, as `gcc2nn bisect` "
     "counts them",
     CMD_COMPILE | (CMD_PROGRAM & ~CMD_BISECT), take_limit, NULL, ONCE},
    {"op", 0, "DOMAIN:NAME=FILE[:FUNCTION]",
     "an operator of your own: a function of a .c, .cpp or .cu file (docs/custom-operators.md); one for a CPU and one "
     "for a GPU may be given",
     CMD_MODEL | CMD_OPT | CMD_ORT_OPS, take_op, NULL, REPEATS},
    {"op-path", 0, "DIR", "a folder of files as for --op; the comments of their functions name the operators",
     CMD_MODEL | CMD_OPT | CMD_ORT_OPS, take_op_path, NULL, REPEATS},
    {"pass", 0, "FILE[:PLACE]",
     "a pass of your own: a shared object (docs/custom-passes.md), that works on the graph after=PASS or before=PASS "
     "(default: after=infer)",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN, take_own_pass, NULL, REPEATS},
    {"stub-unsupported", 0, "DIR",
     "compile nothing, but write a C function for each unknown operator of the model, to be filled in and passed with "
     "--op-path",
     CMD_COMPILE | OPTION_OF_CALL, take_stubs, NULL, ONCE},
    {"verify-each", 0, NULL,
     "run the verifiers after every pass, also after those from loop IR to C, to find bugs in gcc2nn",
     CMD_COMPILE | CMD_PROGRAM, take_verify_each, NULL, ONCE},
    {"time-passes", 0, NULL, "print the time of each pass", CMD_COMPILE | CMD_PROGRAM, take_time_passes, NULL, ONCE},
    {"dim", 'd', "NAME=SIZE|LO..HI[@REF]",
     "fix the size of a symbolic dimension, or give its range and the size to optimise for", CMD_MODEL, take_dim, NULL,
     REPEATS},
    {"shape", 0, "INPUT=1x3x?x?",
     "the shape of an input that the model leaves open; ? is any size; for a sequence the shapes of its elements, "
     "s=3x?,4x? or s=empty; for an optional without a value o=none",
     CMD_MODEL, take_shape, NULL, REPEATS},
    {"rank", 0, "NAME=N",
     "the rank of an input that the model leaves open, of a result whose rank depends on a length known only at run "
     "time (which is then checked), or of the elements of a sequence that a loop carries",
     CMD_MODEL, take_rank, NULL, REPEATS},
    {"signature", 0, "KEY", "TFLite: the entry of that name (default: the only one, else the first graph)", CMD_MODEL,
     take_signature, NULL, ONCE},
    {"keep-inputs", 0, NULL, "keep weights that the model also lists as inputs as inputs", CMD_MODEL, take_keep_inputs,
     NULL, ONCE},
    {"warnings", 'W', "WHAT",
     "-Werror: treat warnings as errors; -Werror=E0302: only those of this code; -Wno-error=E0302: not those; "
     "-Wno-E0302: do not give them",
     CMD_MODEL | CMD_OPT, take_warning, NULL, REPEATS},
    {"remarks", 'R', "KIND[=PATTERN]",
     "-Rfuse: explain decisions: fuse, layout, algorithm, slow or all; -Rslow=conv*: only for nodes whose name or "
     "operator matches",
     CMD_COMPILE | (CMD_PROGRAM & ~(CMD_BISECT | CMD_DOCTOR)), take_remark, NULL, REPEATS},
    {"diagnostics-format", 0, "FORMAT",
     "how diagnostics and remarks are written to standard error: text; json, an object a line (default with --json); "
     "sarif, one "
     "log of version 2.1.0",
     CMD_ALL, take_format, DIAG_FORMATS, ONCE},
    {"passes", 0, "NAMES",
     "passes to run on the file, separated by commas: graph passes (.gir, models), or those of the loop IR (.lir)",
     CMD_OPT | CMD_SURGEON, take_passes, NULL, ONCE},
    {"steps", 0, "STEPS", "schedule steps to apply to a .lir file, separated by `;`", CMD_OPT, take_steps, NULL, ONCE},
    {"replay", 0, NULL, "apply the steps that the text of each procedure lists as `todo`", CMD_OPT, take_replay, NULL,
     ONCE},
    {"emit-c", 0, NULL, "print the files of C, with --name and for --target, instead of the loop IR", CMD_OPT,
     take_emit_c, NULL, ONCE},
    {"lower", 0, NULL, "lower the graph for --target: print its groups and kernels", CMD_OPT, take_lower, NULL, ONCE},
    {"proc", 0, "NAME", "the procedure that the steps are for (default: every one)", CMD_OPT, take_proc, NULL, ONCE},
    {"calib", 0, "DIR",
     "samples from which the range of each tensor is found: a folder of folders, each as for --data, or one such "
     "folder",
     CMD_QUANTIZE | OPTION_OF_CALL, take_calib, NULL, ONCE},
    {"method", 0, "METHOD",
     "how the range of the values seen is found: all of them (minmax, the default), without the rarest (percentile), "
     "with the least loss of information (entropy), with the least squared error (mse)",
     CMD_QUANTIZE, take_method, RANGE_METHOD_WORDS, ONCE},
    {"percentile", 0, "P", "percentage of the values inside the range, for --method=percentile (default 99.99)",
     CMD_QUANTIZE, take_percentile, NULL, ONCE},
    {"per-tensor", 0, NULL, "use one scale for each weight tensor, instead of one for each channel of the result",
     CMD_QUANTIZE, take_per_tensor, NULL, ONCE},
    {"weight-bits", 0, "N",
     "codes of weights have 8 bits, -127 to 127 (default), or 7, -64 to 64: faster on CPUs that add two products in 16 "
     "bits, such as x86 without VNNI (see docs/quantize.md)",
     CMD_QUANTIZE, take_weight_bits, WEIGHT_BITS, ONCE},
    {"weights-only", 0, "TYPE",
     "round only constant weights, which needs no samples: int8, with a scale for each channel of the result; int4, "
     "only weights of matrix products, with a scale for each 32 terms of a sum",
     CMD_QUANTIZE, take_weights_only, WEIGHTS_ONLY, ONCE},
    {"sensitivity", 0, NULL,
     "also print for each product how much rounding its operands changes its result, over the samples", CMD_QUANTIZE,
     take_sensitivity, NULL, ONCE},
    {"exclude", 0, "NODE", "keep the node of this name in floats", CMD_QUANTIZE, take_exclude, NULL, REPEATS},
    {"equalize", 0, NULL, "move scale between consecutive products, to make the ranges of their channels similar",
     CMD_QUANTIZE, take_equalize, NULL, ONCE},
    {"bias-correction", 0, NULL, "correct each bias by the average error of rounding the weights", CMD_QUANTIZE,
     take_bias_correction, NULL, ONCE},
    {"eval", 0, "DIR", "warn if tensors have other values for these samples than for those of --calib",
     CMD_QUANTIZE | OPTION_OF_CALL, take_eval, NULL, ONCE},
    {"out", 'o', "FILE", "the ONNX model that is written (default: MODEL_int8.onnx)", CMD_QUANTIZE | OPTION_OF_CALL,
     take_out, NULL, ONCE},
    {"kernel", 0, "NAME", "the kernel to explain, `k3_conv` or `k3`", CMD_EXPLAIN, take_kernel, NULL, ONCE},
    {"origin", 0, NULL, "print for each option where the file sets it", CMD_CONFIG | OPTION_OF_CALL, take_origin, NULL,
     ONCE},
    {"profile", 0, "NAME", "also use the options of [profile.NAME] in gcc2nn.toml", CMD_SETTINGS | OPTION_OF_CALL,
     take_profile, NULL, ONCE},
    {"config", 0, "FILE", "read options from this file (default: gcc2nn.toml here, or in the nearest folder above)",
     CMD_SETTINGS | OPTION_OF_CALL, take_config, NULL, ONCE},
    {"no-config", 0, NULL, "read no gcc2nn.toml", CMD_SETTINGS | OPTION_OF_CALL, take_no_config, NULL, ONCE},
    {"json", 0, NULL, "print JSON; diagnostics on standard error are objects too, one a line", CMD_ALL, take_json, NULL,
     ONCE},
    {"help", 'h', NULL, "print this text", CMD_ALL, take_help, NULL, ONCE},
    {"version", 0, NULL, "print the version, the commit, and what was built in", CMD_ALL, take_version, NULL, ONCE},
    {0},
};

/* Options that mean something only beside another one, or beside one of several. */
static const struct {
    const char *name;
    unsigned commands;
    const char *needs; /* "NAME|NAME=VALUE" */
} company[] = {
    {"opset", CMD_COMPILE, "emit=onnx"},
    {"external-data", CMD_COMPILE, "emit=onnx"},
    {"mean", CMD_PROGRAM, "input|data|dataset"},
    {"scale", CMD_PROGRAM, "input|data|dataset"},
    {"metric", CMD_VERIFY, "dataset"},
    {"max-drop", CMD_VERIFY, "dataset"},
    {"max-regression", CMD_BENCH, "baseline"},
    {"target", CMD_PRUNE, "report"},
    {"out", CMD_PRUNE, "structured"},
    {"opset", CMD_PRUNE, "structured"},
    {"external-data", CMD_PRUNE, "structured"},
    {"metric", CMD_QUANTIZE, "max-drop"},
    {"max-drop", CMD_QUANTIZE, "eval"},
    {"percentile", CMD_QUANTIZE, "method=percentile"},
    {"per-tensor", CMD_QUANTIZE, "calib"},
    {"weight-bits", CMD_QUANTIZE, "calib"},
    {"sensitivity", CMD_QUANTIZE, "calib"},
    {"name", CMD_OPT, "emit-c"},
    {"proc", CMD_OPT, "steps|replay"},
    {"precision", CMD_OPT, "lower"},
    {"weights-precision", CMD_OPT, "lower|passes"},
    {"activations-precision", CMD_OPT, "passes"},
    {"no-rule", CMD_OPT, "passes"},
    {"algorithm", CMD_OPT, "lower"},
    {"no-algorithm", CMD_OPT, "lower"},
};

/* Options that contradict each other on one command line: any of `one` with any of `other`, for these commands. What
 * gcc2nn.toml sets gives way instead. */
static const struct {
    const char *one; /* "NAME|NAME=VALUE" */
    unsigned commands;
    const char *other;
    bool of_one_value; /* only where both have the same */
} opposites[] = {
    {"targets", CMD_COMPILE, "target|depfile|stop-after|emit=onnx|stub-unsupported", false},
    {"emit=onnx|stop-after|stub-unsupported", CMD_COMPILE, "budget|depfile", false},
    {"stub-unsupported", CMD_COMPILE, "emit|stop-after|dump-after|out", false},
    {"algorithm", CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN | CMD_OPT, "no-algorithm", true},
    {"dataset", CMD_VERIFY, "data|input|each-node", false},
    {"no-run", CMD_REPORT | CMD_DIFF, "runs|warmup|data|input", false},
    {"no-run", CMD_DIFF, "rtol|atol", false},
    {"weights-only", CMD_QUANTIZE,
     "calib|eval|method|percentile|bias-correction|equalize|sensitivity|per-tensor|weight-bits|max-drop", false},
    {"steps", CMD_OPT, "replay", false},
    {"lower", CMD_OPT, "steps|replay|proc|emit-c", false},
    {"no-config", CMD_SETTINGS, "config|profile", false},
};

const struct exit_row exit_rows[] = {
    {EXIT_OK, "done"},
    {EXIT_DIFFERS, "outputs differ"},
    {EXIT_USAGE, "wrong usage"},
    {EXIT_MODEL, "bad or unsupported model"},
    {EXIT_BUDGET, "over budget"},
    {EXIT_ENV, "environment: a file, compiler, emulator or memory is missing, or something cannot be written"},
    {EXIT_INTERNAL, "a mistake in gcc2nn itself: please report it"},
    {0},
};

bool option_needs_arg(const struct option_row *r) { return r->arg && !(*r->arg == '[' && ends_with(r->arg, "]")); }
void option_usage(struct text *out, const struct option_row *r) {
    bool needs = option_needs_arg(r);
    text_printf(out, "--%s%s%s", r->name, needs ? "=" : r->arg ? "[=" : "", !r->arg ? "" : needs ? r->arg : r->arg + 1);
}

/* ---- did you mean */
static const char *nearest_option(const char *word, unsigned bit) {
    const char *names[sizeof option_rows / sizeof *option_rows];
    int n = 0;
    for (const struct option_row *r = option_rows; r->name; r++)
        if (r->commands & bit) names[n++] = r->name;
    return nearest_name(word, names, n);
}

static void unknown_command(const struct options *o, const struct command *commands, const char *word,
                            struct text *problem) {
    const char *names[64];
    int n = 0;
    for (; commands->name && n < 64; commands++) names[n++] = commands->name;
    text_printf(problem, "there is no command `%s`, and no model of that name%s", word,
                did_you_mean(o->arena, word, names, n));
}

/* ---- parsing */
struct words {
    int at, argc;
    char **argv;
    int before; /* options that others have set */
};

/* That of the command, for a name may mean something else in another one; else any, for the message. */
static const struct option_row *find_option(const char *name, size_t n, char letter, unsigned bit) {
    const struct option_row *found = NULL;
    for (const struct option_row *r = option_rows; r->name; r++) {
        bool same = letter ? r->letter == letter : strlen(r->name) == n && memcmp(r->name, name, n) == 0;
        if (same && (!found || r->commands & bit)) found = r;
    }
    return found;
}

bool option_take(struct options *o, const struct option_row *r, const char *value, struct text *problem) {
    struct text reason = {0};
    const char *equals = r->choices && strchr(r->arg, '=') ? strrchr(value, '=') : NULL; /* NODE=CHOICE */
    bool ok = (!r->choices || one_of(o->arena, equals ? equals + 1 : value, r->choices, &reason)) &&
              r->parse(o, value, &reason);
    struct given_option taken = {r, value};
    if (ok) PUSH(o->arena, &o->taken, taken);
    else text_printf(problem, "--%s: %s", r->name, reason.s);
    text_free(&reason);
    return ok;
}
static bool may_be_set(const struct option_row *r) {
    return r->commands & CMD_SETTINGS && !(r->commands & OPTION_OF_CALL);
}
const struct option_row *option_setting(const char *name, unsigned bit) {
    const struct option_row *r = find_option(name, strlen(name), 0, bit);
    return r && may_be_set(r) ? r : NULL;
}
const char *option_setting_near(struct arena *a, const char *name) {
    const char *names[sizeof option_rows / sizeof *option_rows];
    int n = 0;
    for (const struct option_row *r = option_rows; r->name; r++)
        if (may_be_set(r)) names[n++] = r->name;
    return did_you_mean(a, name, names, n);
}

/* One option at w->at; takes the next word too when it holds the value. */
static bool parse_option(struct options *o, struct words *w, struct text *problem) {
    const char *word = w->argv[w->at++], *value = NULL;
    if (strcmp(word, "-MD") == 0) word = "--depfile"; /* as compilers call it */
    bool is_long = word[1] == '-';
    const char *name = word + 2, *eq = is_long ? strchr(name, '=') : NULL;
    size_t n = eq ? (size_t)(eq - name) : strlen(name);
    const struct option_row *r = find_option(name, n, is_long ? 0 : word[1], o->command->bit);
    if (!r) {
        const char *near =
            is_long ? nearest_option(arena_printf(o->arena, "%.*s", (int)n, name), o->command->bit) : NULL;
        text_printf(problem, "unknown option `%s`", word);
        if (near) text_printf(problem, "; did you mean `--%s`?", near);
        return false;
    }
    if (!(r->commands & o->command->bit)) {
        text_printf(problem, "option `--%s` is not one of `gcc2nn %s`", r->name, o->command->name);
        return false;
    }
    value = eq ? eq + 1 : !is_long && word[2] ? word + 2 : NULL;
    if (!r->arg && value) {
        text_printf(problem, "option `--%s` takes no argument", r->name);
        return false;
    }
    if (option_needs_arg(r) && !value && w->at < w->argc) value = w->argv[w->at++];
    if (option_needs_arg(r) && !value) {
        text_printf(problem, "option `--%s` needs an argument: %s", r->name, r->arg);
        return false;
    }
    for (int k = w->before; k < o->given.n; k++)
        if (o->given.v[k].row == r && r->repeats == ONCE) {
            text_printf(problem, "option `--%s` is given twice", r->name);
            return false;
        }
    struct given_option given = {r, value};
    PUSH(o->arena, &o->given, given);
    return option_take(o, r, value, problem);
}

static const struct command *find_command(const struct command *commands, const char *word) {
    for (; commands->name; commands++)
        if (strcmp(commands->name, word) == 0) return commands;
    return NULL;
}

/* Does the option stand in a list of words "NAME|NAME=VALUE"? */
static bool is_among(const struct given_option *g, const char *words) {
    for (const char *at = words; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        size_t n = strcspn(at, "|"), name = strcspn(at, "=|");
        if (strlen(g->row->name) != name || memcmp(g->row->name, at, name) != 0) continue;
        if (name == n ||
            (g->value && strlen(g->value) == n - name - 1 && !memcmp(g->value, at + name + 1, n - name - 1)))
            return true;
    }
    return false;
}
/* With its value where that matters. */
static const char *as_given(const struct options *o, const struct given_option *g, bool value) {
    return (value || g->row->choices) && g->value ? arena_printf(o->arena, "--%s=%s", g->row->name, g->value)
                                                  : arena_printf(o->arena, "--%s", g->row->name);
}
static bool check_opposites(const struct options *o, struct text *problem) {
    for (size_t k = 0; k < sizeof opposites / sizeof *opposites && !problem->n; k++)
        for (int i = 0; i < o->given.n && opposites[k].commands & o->command->bit; i++)
            for (int j = 0; j < o->given.n && !problem->n; j++) {
                const struct given_option *a = &o->given.v[i], *b = &o->given.v[j];
                bool value = opposites[k].of_one_value;
                if (!is_among(a, opposites[k].one) || !is_among(b, opposites[k].other)) continue;
                if (value && (!a->value || !b->value || strcmp(a->value, b->value) != 0)) continue;
                text_printf(problem, "cannot specify `%s` with `%s`", as_given(o, a, value), as_given(o, b, value));
            }
    return !problem->n;
}

static bool check_args(const struct options *o, struct text *problem) {
    const struct command *c = o->command;
    if (o->help || o->version) return true;
    if (!check_opposites(o, problem)) return false;
    if (o->args.n < c->min_args) text_printf(problem, "`gcc2nn %s` needs %s", c->name, c->args);
    else if (o->args.n > c->max_args)
        text_printf(problem, "`%s` is one word too many for `gcc2nn %s`", o->args.v[c->max_args], c->name);
    return !problem->n;
}

bool options_parse(struct options *o, const struct command *commands, int argc, char **argv, struct text *problem) {
    struct words w = {1, argc, argv, o->given.n};
    const char *first = argc > 1 ? argv[1] : "";
    o->command = find_command(commands, first);
    if (o->command) {
        w.at = 2;
    } else {
        /* A model is a file, or its name has a point or a slash. Anything else was meant as a command. */
        if (*first && *first != '-' && !strpbrk(first, "./") && access(first, F_OK) != 0) {
            unknown_command(o, commands, first, problem);
            return false;
        }
        o->command = commands;
    }
    bool only_args = false;
    while (w.at < argc) {
        const char *word = argv[w.at];
        if (!only_args && strcmp(word, "--") == 0) {
            only_args = true;
            w.at++;
        } else if (!only_args && word[0] == '-' && word[1]) {
            if (!parse_option(o, &w, problem)) return false;
        } else {
            PUSH(o->arena, &o->args, word);
            w.at++;
        }
    }
    return check_args(o, problem);
}

bool option_given(const struct options *o, const char *name) {
    for (int k = 0; k < o->given.n; k++)
        if (!strcmp(o->given.v[k].row->name, name)) return true;
    return false;
}
/* "NAME" or "NAME=VALUE", as one of the options that count. */
static bool is_taken(const struct options *o, const char *word) {
    size_t n = strcspn(word, "=");
    for (int k = 0; k < o->taken.n; k++) {
        const struct given_option *t = &o->taken.v[k];
        if (strlen(t->row->name) == n && !memcmp(t->row->name, word, n) &&
            (!word[n] || (t->value && !strcmp(t->value, word + n + 1))))
            return true;
    }
    return false;
}
/* Is one of the words there? *missing: those of this command, as they are given. */
static bool is_accompanied(const struct options *o, const char *words, struct text *missing) {
    for (const char *at = words; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        const char *word = arena_printf(o->arena, "%.*s", (int)strcspn(at, "|"), at);
        if (is_taken(o, word)) return true;
        if (find_option(word, strcspn(word, "="), 0, o->command->bit)->commands & o->command->bit)
            text_printf(missing, "%s`--%s`", missing->n ? " or " : "", word);
    }
    return false;
}
bool options_complete(const struct options *o, struct text *problem) {
    for (size_t k = 0; k < sizeof company / sizeof *company; k++) {
        struct text missing = {0};
        if (company[k].commands & o->command->bit && option_given(o, company[k].name) &&
            !is_accompanied(o, company[k].needs, &missing))
            text_printf(problem, "option `--%s` does nothing without %s", company[k].name, missing.s);
        text_free(&missing);
        if (problem->n) return false;
    }
    return true;
}

bool options_set(struct options *o, const char *name, const char *value, struct text *problem) {
    char *word = arena_printf(o->arena, "--%s%s%s", name, value ? "=" : "", value ? value : "");
    return parse_option(o, &(struct words){0, 1, &word, o->given.n}, problem);
}

void options_diags(const struct options *o, struct diags *d) {
    d->format = o->diagnostics ? o->diagnostics : o->json ? DIAG_JSON : DIAG_TEXT;
    d->remarks.wishes = o->remarks.v, d->remarks.nwishes = o->remarks.n;
    d->rules = o->warnings.v, d->nrules = o->warnings.n;
}
struct byte_products options_bytes(const struct options *o) {
    return (struct byte_products){.operands = o->activations_precision != NONE,
                                  .weights = o->weights_precision != NONE};
}
struct precision_wishes options_precision(const struct options *o) {
    return (struct precision_wishes){o->precision, o->precision != NONE && !o->precision_all, o->precision_pins.v,
                                     o->precision_pins.n};
}
struct import_options options_import(const struct options *o) {
    return (struct import_options){.dims = o->dims.v,
                                   .ndims = o->dims.n,
                                   .shapes = o->shapes.v,
                                   .nshapes = o->shapes.n,
                                   .ranks = o->ranks.v,
                                   .nranks = o->ranks.n,
                                   .signature = o->signature,
                                   .keep_inputs = o->keep_inputs};
}

struct custom_options options_custom(const struct options *o) {
    return (struct custom_options){
        .ops = o->ops.v, .nops = o->ops.n, .paths = o->op_paths.v, .npaths = o->op_paths.n, .load = foreign_load};
}
struct graph *options_model(struct ctx *c, const struct options *o, bool keep_unknown) {
    struct import_options import = options_import(o);
    struct custom_options custom = options_custom(o);
    import.keep_unknown = keep_unknown;
    return custom_ops(c, &custom) ? import_model(c, o->args.v[0], &import) : NULL;
}
