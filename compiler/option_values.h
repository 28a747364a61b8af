/* How options of the command line store their values, only for the table of options (options.c). false: *problem says
 * what is wrong with the value. */
#ifndef NN_COMPILER_OPTION_VALUES_H
#define NN_COMPILER_OPTION_VALUES_H
#include "compiler/options.h"

/* The allowed values of options that have only a few. */
#define DIAG_FORMATS    "text json sarif"
#define PRECISIONS      "f32 fp32 bf16 fp16"
#define BYTE_PRECISIONS "f32 int8"
#define WEIGHTS_ONLY    "int8 int4"
#define WEIGHT_BITS     "8 7"

typedef bool option_value(struct options *o, const char *value, struct text *problem);
option_value take_dim, take_rank, take_shape, take_warning, take_remark, take_format, take_runs, take_warmup,
    take_seconds, take_input, take_steps, take_limit, take_rtol, take_threshold, take_regression, take_atol,
    take_precision, take_weights_precision, take_activations_precision, take_threads, take_time, take_method,
    take_percentile, take_weights_only, take_weight_bits, take_limits, take_opset, take_metric, take_drop, take_no_fuse,
    take_name, take_mean, take_scale, take_calib, take_eval, take_sensitivity, take_per_tensor, take_bias_correction,
    take_equalize, take_exclude, take_cut_input, take_cut_output, take_keep, take_softmax, take_nms, take_top_k,
    take_surgery_scale, take_surgery_mean, take_layout, take_cast, take_rename, take_fold, take_prune_report,
    take_structured, take_dump, take_skip, take_rule_off, take_algorithm, take_algorithm_off, take_choices,
    take_dataset, take_op, take_op_path, take_own_pass, take_signature, take_weights, take_std, take_depfile, take_data,
    take_out, take_cc, take_python, take_build_dir, take_stop, take_emit, take_stubs, take_external_data,
    take_interpret, take_against, take_each_node, take_no_schedule, take_no_excess_precision, take_verify_each,
    take_time_passes, take_lower, take_replay, take_emit_c, take_per_kernel, take_no_run, take_trace, take_verified,
    take_passes, take_step_count, take_proc, take_kernel, take_target, take_targets, take_machine, take_baseline,
    take_keep_inputs, take_config, take_profile, take_no_config, take_origin, take_json, take_help, take_version;
/* Is it among blank-separated words? */
bool one_of(struct arena *a, const char *value, const char *words, struct text *problem);
#endif
