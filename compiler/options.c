/* The command line: table of options, parser, help. See options.h. */
#include "compiler/options.h"
#include "compiler/foreign_run.h"
#include "compiler/metric.h"
#include "compiler/referee.h"
#include "ir/base/nearest.h"
#include "ir/graph/op.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- values */
static bool parse_size(const char **s, int64_t *v) {
    char *end;
    errno = 0;
    if (**s < '0' || **s > '9') return false;
    *v = strtoll(*s, &end, 10);
    *s = end;
    return errno == 0 && *v <= INT32_MAX;
}

bool dim_option_parse(struct arena *a, const char *value, struct dim_option *out, struct text *problem) {
    const char *eq = strrchr(value, '='), *s = eq ? eq + 1 : ""; /* names come from models and may contain `=` */
    struct dim_option d = {0};
    bool ok = eq && eq > value && parse_size(&s, &d.lo);
    d.hi = d.lo;
    if (ok && strncmp(s, "..", 2) == 0) {
        s += 2;
        ok = parse_size(&s, &d.hi);
        if (ok && *s == '@') {
            s++;
            ok = parse_size(&s, &d.ref) && d.ref >= d.lo && d.ref <= d.hi && d.ref > 0;
        }
    }
    if (!ok || *s || d.lo > d.hi) {
        text_printf(problem,
                    "`%s` is not of the form NAME=SIZE or NAME=LO..HI@REFERENCE, such as batch=1..64@8, with sizes up "
                    "to 2147483647",
                    value);
        return false;
    }
    d.name = arena_printf(a, "%.*s", (int)(eq - value), value);
    *out = d;
    return true;
}

/* One shape, up to the end or a comma. */
static bool parse_dims(const char **s, struct shape *x) {
    while (**s && **s != ',') {
        if (x->rank == 32) return false;
        int64_t *dim = &x->dims[x->rank++];
        if (**s == '?') {
            *dim = -1;
            ++*s;
        } else if (!parse_size(s, dim)) {
            return false;
        }
        if (**s == 'x' && (*s)[1] && (*s)[1] != ',') ++*s;
        else if (**s && **s != ',') return false;
    }
    return true;
}
bool shape_option_parse(struct arena *a, const char *value, struct shape_option *out, struct text *problem) {
    const char *eq = strrchr(value, '='), *s = eq ? eq + 1 : "";
    VEC(struct shape) shapes = {0};
    bool ok = eq && eq > value, none = !strcmp(s, "none"), empty = !strcmp(s, "empty");
    while (ok && !none && !empty) {
        struct shape x = {0};
        ok = parse_dims(&s, &x);
        PUSH(a, &shapes, x);
        if (*s++ != ',') break;
    }
    if (!ok) {
        text_printf(
            problem,
            "`%s` is not of the form NAME=1x3x?x?, nor NAME=3x?,4x? or NAME=empty for a sequence, nor NAME=none "
            "for an optional",
            value);
        return false;
    }
    *out = (struct shape_option){.name = arena_printf(a, "%.*s", (int)(eq - value), value),
                                 .none = none,
                                 .n = shapes.n,
                                 .v = shapes.v,
                                 .from = "--shape"};
    return true;
}

static bool parse_dim(struct options *o, const char *value, struct text *problem) {
    struct dim_option d;
    if (!dim_option_parse(o->arena, value, &d, problem)) return false;
    for (int k = 0; k < o->dims.n; k++)
        if (!strcmp(o->dims.v[k].name, d.name)) return text_printf(problem, "`%s` is given twice", d.name), false;
    PUSH(o->arena, &o->dims, d);
    return true;
}

/* NAME=N */
static bool parse_rank(struct options *o, const char *value, struct text *problem) {
    const char *eq = strrchr(value, '='), *s = eq ? eq + 1 : "";
    int64_t rank = 0;
    if (!eq || eq == value || !parse_size(&s, &rank) || *s || rank > 32)
        return text_printf(problem, "`%s` is not of the form NAME=N, N up to 32", value), false;
    struct said_rank r = {arena_printf(o->arena, "%.*s", (int)(eq - value), value), (int)rank};
    for (int k = 0; k < o->ranks.n; k++)
        if (!strcmp(o->ranks.v[k].name, r.name)) return text_printf(problem, "`%s` is given twice", r.name), false;
    PUSH(o->arena, &o->ranks, r);
    return true;
}
static bool parse_shape(struct options *o, const char *value, struct text *problem) {
    struct shape_option x;
    if (!shape_option_parse(o->arena, value, &x, problem)) return false;
    for (int k = 0; k < o->shapes.n; k++)
        if (!strcmp(o->shapes.v[k].name, x.name)) return text_printf(problem, "`%s` is given twice", x.name), false;
    PUSH(o->arena, &o->shapes, x);
    return true;
}

/* error[=CODE], no-error[=CODE], no-CODE */
static bool parse_warning(struct options *o, const char *value, struct text *problem) {
    static const struct {
        const char *word;
        enum warning_as as;
        bool all; /* without a code, too */
    } forms[] = {{"error", WARN_ERROR, true}, {"no-error", WARN_PLAIN, true}, {"no-", WARN_NOT, false}};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        size_t n = strlen(forms[k].word);
        const char *s = value + n;
        if (strncmp(value, forms[k].word, n) != 0 || (forms[k].all && *s && *s != '=')) continue;
        if (forms[k].all && *s) s++;
        char *end = NULL;
        long code = *s == 'E' && s[1] >= '0' && s[1] <= '9' ? strtol(s + 1, &end, 10) : 0;
        bool all = forms[k].all && s == value + n;
        if (!all && (!end || *end || code > 9999 || !diag_explain((int)code)))
            return text_printf(problem, "there is no code `%s`; messages end with theirs, such as E0302", s), false;
        struct warning_rule rule = {(int)code, forms[k].as};
        PUSH(o->arena, &o->warnings, rule);
        return true;
    }
    return text_printf(problem, "`%s` is not error, error=CODE, no-error=CODE or no-CODE", value), false;
}

/* value among blank-separated words */
static bool one_of(struct arena *a, const char *value, const char *words, struct text *problem) {
    const char *v[16];
    int n = 0;
    for (const char *s = words; *s && n < 16;) {
        size_t k = strcspn(s, " ");
        v[n] = arena_printf(a, "%.*s", (int)k, s);
        if (strcmp(v[n++], value) == 0) return true;
        s += k + (s[k] == ' ');
    }
    text_printf(problem, "`%s` is not one of", value);
    for (int i = 0; i < n; i++) text_printf(problem, "%s %s", i ? "," : "", v[i]);
    text_add(problem, did_you_mean(a, value, v, n));
    return false;
}
/* fuse, fuse=conv* */
static bool parse_remark(struct options *o, const char *value, struct text *problem) {
    size_t n = strcspn(value, "=");
    int kind = remark_kind_named(value, n);
    if (kind < 0 || (value[n] && !value[n + 1]))
        return text_printf(problem, "`%s` is not KIND or KIND=PATTERN, with one of " REMARK_WORDS, value), false;
    struct remark_wish wish = {(enum remark_kind)kind, value[n] ? value + n + 1 : NULL};
    PUSH(o->arena, &o->remarks, wish);
    return true;
}
#define DIAG_FORMATS "text json sarif"
static bool parse_format(struct options *o, const char *value, struct text *problem) {
    if (!one_of(o->arena, value, DIAG_FORMATS, problem)) return false;
    o->diagnostics = !strcmp(value, "sarif") ? DIAG_SARIF : !strcmp(value, "json") ? DIAG_JSON : DIAG_TEXT;
    return true;
}
#define SETTER(fn, field, may_be_empty)                                                                                \
    static bool fn(struct options *o, const char *value, struct text *problem) {                                       \
        if (!(may_be_empty) && !*value) text_add(problem, "its argument is empty");                                    \
        o->field = value;                                                                                              \
        return !problem->n;                                                                                            \
    }
#define FLAG(fn, field)                                                                                                \
    static bool fn(struct options *o, const char *value, struct text *problem) {                                       \
        (void)problem;                                                                                                 \
        (void)value;                                                                                                   \
        o->field = true;                                                                                               \
        return true;                                                                                                   \
    }
#define LIST(fn, field)                                                                                                \
    static bool fn(struct options *o, const char *value, struct text *problem) {                                       \
        (void)problem;                                                                                                 \
        PUSH(o->arena, &o->field, value);                                                                              \
        return true;                                                                                                   \
    }
static bool parse_count(const char *value, int least, int *to, struct text *problem) {
    int64_t v;
    const char *s = value;
    if (!parse_size(&s, &v) || *s || v < least || v > 1000000) {
        text_printf(problem, "`%s` is not a number from %d to 1000000", value, least);
        return false;
    }
    *to = (int)v;
    return true;
}
static bool parse_runs(struct options *o, const char *value, struct text *problem) {
    return parse_count(value, 1, &o->runs, problem);
}
static bool parse_warmup(struct options *o, const char *value, struct text *problem) {
    bool ok = parse_count(value, 0, &o->warmup_given, problem);
    o->warmup_given++;
    return ok;
}
static bool parse_seconds(struct options *o, const char *value, struct text *problem) {
    return parse_count(value, 1, &o->seconds, problem);
}
static bool parse_input(struct options *o, const char *value, struct text *problem) {
    const char *eq = strrchr(value, '=');
    if (!eq || eq == value || !eq[1]) {
        text_printf(problem, "`%s` is not of the form NAME=FILE", value);
        return false;
    }
    for (int k = 0; k < o->inputs.n; k++)
        if (strrchr(o->inputs.v[k], '=') - o->inputs.v[k] == eq - value &&
            !memcmp(o->inputs.v[k], value, (size_t)(eq - value)))
            return text_printf(problem, "`%.*s` is given twice", (int)(eq - value), value), false;
    PUSH(o->arena, &o->inputs, value);
    return true;
}
static bool parse_steps(struct options *o, const char *value, struct text *problem) {
    bool ok = parse_count(value, 0, &o->steps_given, problem);
    o->steps_given++;
    return ok;
}
static bool parse_limit(struct options *o, const char *value, struct text *problem) {
    bool ok = parse_count(value, 0, &o->limit_given, problem);
    o->limit_given++;
    return ok;
}
static bool parse_error(const char *value, double *to, struct text *problem) {
    const char *end = value;
    *to = text_read_f64(value, &end);
    if (end != value && !*end && *to >= 0 && *to < HUGE_VAL) return true;
    text_printf(problem, "`%s` is not a number of 0 or more, such as 1e-3", value);
    return false;
}
/* N[,N]..., at most one for each colour of a picture */
#define COLOURS(fn, field, may_be_zero)                                                                                \
    static bool fn(struct options *o, const char *value, struct text *problem) {                                       \
        const char *s = value, *end = value;                                                                           \
        do {                                                                                                           \
            double v = text_read_f64(s, &end);                                                                         \
            if (end == s || !isfinite(v) || (v == 0 && !(may_be_zero)) || o->field.n == 4) break;                      \
            PUSH(o->arena, &o->field, v);                                                                              \
            s = end + 1;                                                                                               \
        } while (*end == ',');                                                                                         \
        if (s == end + 1 && !*end) return true;                                                                        \
        text_printf(problem, "`%s` is not one to four numbers, such as 123.7,116.3,103.5%s", value,                    \
                    may_be_zero ? "" : ", none of them 0");                                                            \
        return false;                                                                                                  \
    }
COLOURS(parse_mean, mean, true)
COLOURS(parse_scale, scale, false)
static bool parse_rtol(struct options *o, const char *value, struct text *problem) {
    o->rtol_given = true;
    return parse_error(value, &o->rtol, problem);
}
static bool parse_threshold(struct options *o, const char *value, struct text *problem) {
    return parse_error(value, &o->prune.threshold, problem);
}
static bool parse_regression(struct options *o, const char *value, struct text *problem) {
    o->regression_given = parse_error(value, &o->max_regression, problem);
    return o->regression_given;
}
static bool parse_atol(struct options *o, const char *value, struct text *problem) {
    return parse_error(value, &o->atol, problem);
}
#define PRECISIONS "f32 fp32 bf16 fp16"
/* TYPE or NODE=TYPE; the type is one of the choices. */
static bool parse_precision(struct options *o, const char *value, struct text *problem) {
    const char *equals = strrchr(value, '='), *type = equals ? equals + 1 : value;
    enum dtype t = strcmp(type, "fp16") == 0 ? F16 : strcmp(type, "bf16") == 0 ? BF16 : NONE;
    if (equals == value) return text_add(problem, "the name of the node is missing"), false;
    if (!equals && o->precision_given) return text_add(problem, "it is given twice for all nodes"), false;
    if (t != NONE && o->precision != NONE && t != o->precision)
        return text_add(problem, "a model has one type of 16 bits, fp16 or bf16"), false;
    if (t != NONE) o->precision = t;
    if (!equals) {
        o->precision_given = true;
        o->precision_all = t != NONE;
        return true;
    }
    const char *pin = arena_printf(o->arena, "%.*s=%s", (int)(equals - value), value, dtype_name(t == NONE ? F32 : t));
    PUSH(o->arena, &o->precision_pins, pin);
    return true;
}
#define WEIGHTS_PRECISIONS "f32 int8"
static bool parse_weights_precision(struct options *o, const char *value, struct text *problem) {
    if (!one_of(o->arena, value, WEIGHTS_PRECISIONS, problem)) return false;
    o->weights_precision = strcmp(value, "int8") == 0 ? I8 : NONE;
    return true;
}
static bool parse_threads(struct options *o, const char *value, struct text *problem) {
    return parse_count(value, 1, &o->threads, problem);
}
static bool parse_time(struct options *o, const char *value, struct text *problem) {
    return parse_count(value, 1, &o->budget, problem);
}
static bool set_method(struct options *o, const char *value, struct text *problem) {
    (void)problem; /* the table has looked whether it is one */
    o->quantize.method = range_method_named(value);
    return true;
}
static bool parse_percentile(struct options *o, const char *value, struct text *problem) {
    const char *end = value;
    double v = text_read_f64(value, &end);
    if (end == value || *end || !(v > 50 && v <= 100))
        return text_printf(problem, "`%s` is not a percentage above 50, such as 99.99", value), false;
    o->quantize.percentile = v;
    return true;
}
#define WEIGHTS_ONLY "int8 int4"
static bool parse_weights_only(struct options *o, const char *value, struct text *problem) {
    if (!one_of(o->arena, value, WEIGHTS_ONLY, problem)) return false;
    o->quantize.weights_only = strcmp(value, "int4") == 0 ? I4 : I8;
    return true;
}
SETTER(set_calib, quantize.calib, false)
SETTER(set_eval, quantize.eval, false)
FLAG(set_sensitivity, quantize.sensitivity)
FLAG(set_per_tensor, quantize.per_tensor)
FLAG(set_bias_correction, quantize.bias_correction)
FLAG(set_equalize, quantize.equalize)
LIST(add_exclude, quantize.exclude)
static bool add_limits(struct options *o, const char *value, struct text *problem) {
    return budget_parse(&o->limits, value, problem);
}

static bool parse_opset(struct options *o, const char *value, struct text *problem) {
    if (!parse_count(value, 1, &o->opset, problem)) return false;
    if (o->opset <= OPSET_NEWEST) return true;
    return text_printf(problem, "opset %d is not known; 1 to %d are", o->opset, OPSET_NEWEST), false;
}
#define WORDS(fn, field)                                                                                               \
    static bool fn(struct options *o, const char *value, struct text *problem) {                                       \
        if (!*value) return text_add(problem, "its argument is empty"), false;                                         \
        PUSH(o->arena, &o->field, value);                                                                              \
        return true;                                                                                                   \
    }
WORDS(add_cut_input, surgery.inputs)
WORDS(add_cut_output, surgery.outputs)
WORDS(add_keep, surgery.keep)
WORDS(add_softmax, surgery.softmax)
WORDS(add_nms, surgery.nms)
WORDS(add_top_k, surgery.top_k)
WORDS(add_scale, surgery.scale)
WORDS(add_mean, surgery.mean)
WORDS(add_layout, surgery.layout)
WORDS(add_cast, surgery.cast)
WORDS(add_rename, surgery.rename)
FLAG(set_fold, surgery.fold)
FLAG(set_prune_report, prune.report)
FLAG(set_structured, prune.structured)
LIST(add_dump, dump_after)
LIST(add_skip, skip)
LIST(add_rule_off, rules_off)
LIST(add_algorithm, algorithms)
LIST(add_algorithm_off, algorithms_off)
LIST(add_choices, choices)
/* A word, or a file of Python. */
static bool set_metric(struct options *o, const char *value, struct text *problem) {
    o->metric = value;
    return ends_with(value, ".py") || one_of(o->arena, value, METRIC_WORDS, problem);
}
/* 0.01 or 1% */
static bool parse_drop(struct options *o, const char *value, struct text *problem) {
    size_t n = strlen(value);
    bool percent = n && value[n - 1] == '%';
    o->max_drop_given = true;
    if (!parse_error(percent ? arena_printf(o->arena, "%.*s", (int)n - 1, value) : value, &o->max_drop, problem))
        return false;
    if (percent) o->max_drop /= 100;
    return true;
}
SETTER(set_dataset, dataset, false)
LIST(add_op, ops)
LIST(add_op_path, op_paths)
WORDS(add_own_pass, own_passes)
SETTER(set_signature, signature, false)
SETTER(set_weights, weights, false)
SETTER(set_std, std, false)
FLAG(set_depfile, depfile)
SETTER(set_data, data, false)
SETTER(set_out, out, false)
SETTER(set_cc, cc, false)
SETTER(set_python, python, false)
SETTER(set_build_dir, build_dir, false)
SETTER(set_stop, stop_after, false)
SETTER(set_emit, emit, false)
SETTER(set_stubs, stubs, false)
FLAG(set_external_data, external_data)
FLAG(set_interpret, interpret)
SETTER(set_against, against, false)
FLAG(set_each_node, each_node)
static bool set_no_fuse(struct options *o, const char *value, struct text *problem) {
    if (!value) return o->no_fuse = true;
    if (!*value) return text_add(problem, "its argument is empty"), false;
    PUSH(o->arena, &o->alone, value);
    return true;
}
FLAG(set_no_schedule, no_schedule)
FLAG(set_no_excess_precision, no_excess_precision)
FLAG(set_verify_each, verify_each)
FLAG(set_time_passes, time_passes)
FLAG(set_lower, lower)
FLAG(set_replay, replay)
FLAG(set_emit_c, emit_c)
FLAG(set_per_kernel, per_kernel)
FLAG(set_no_run, no_run)
SETTER(set_trace, trace, false)
SETTER(set_verified, verified, false)
SETTER(set_passes, passes, true)
SETTER(set_steps, steps, true)
SETTER(set_proc, proc, false)
SETTER(set_kernel, kernel, false)
static bool set_name(struct options *o, const char *value, struct text *problem) {
    bool ok = *value && (*value < '0' || *value > '9');
    for (const char *s = value; *s && ok; s++)
        ok = *s == '_' || (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');
    if (ok) o->name = value;
    else text_printf(problem, "`%s` is not a name in C", value);
    return ok;
}
SETTER(set_target, target, false)
SETTER(set_targets, targets, false)
SETTER(set_machine, machine, false)
SETTER(set_baseline, baseline, false)
FLAG(set_keep_inputs, keep_inputs)
SETTER(set_config, config, false)
SETTER(set_profile, profile, false)
FLAG(set_no_config, no_config)
FLAG(set_origin, origin)
FLAG(set_json, json)
FLAG(set_help, help)
FLAG(set_version, version)

const struct option_row option_rows[] = {
    {"name", 0, "NAME", "prefix of all generated symbols and files (default: from the file's name)",
     CMD_COMPILE | CMD_OPT, set_name, NULL, ONCE},
    {"target", 't', "TARGET",
     "what to generate code for (default: native, this machine; of opt: c99); `gcc2nn list-targets` names them; "
     "several for one program, which chooses in init: x86-64+avx2+avx512",
     CMD_COMPILE | CMD_PROGRAM | CMD_OPT | CMD_EXPLAIN | CMD_CALIBRATE | CMD_CONFIG, set_target, NULL, ONCE},
    {"targets", 0, "TARGET,..",
     "one folder for each of these targets, and one manifest, in the folder of --out (default MODEL_bundle)",
     CMD_COMPILE | OPTION_OF_CALL, set_targets, NULL, ONCE},
    {"weights", 0, "KIND", "auto, array (C), incbin (assembler) or file (loaded by the caller)",
     CMD_COMPILE | CMD_PROGRAM, set_weights, "auto array incbin file", ONCE},
    {"std", 0, "STD", "c99-strict: scalar C99 without extensions; gnu99", CMD_COMPILE | CMD_PROGRAM, set_std,
     "c99-strict gnu99", ONCE},
    {"data", 0, "FILE.npz|DIR",
     "folder of input_N.pb, .npy, .png or .jpg, and output_N.pb or .npy for verify; or an archive of arrays by the "
     "names "
     "of inputs and outputs, or input_N and output_N (default: made-up inputs)",
     CMD_PROGRAM, set_data, NULL, ONCE},
    {"input", 'i', "NAME=FILE", "an input's values: .pb, .npy, .npz, or a picture, .png or .jpg", CMD_PROGRAM,
     parse_input, NULL, REPEATS},
    {"mean", 0, "M[,M,M]", "what is taken from a picture's values, 0 to 255, of all colours or of each", CMD_PROGRAM,
     parse_mean, NULL, ONCE},
    {"scale", 0, "S[,S,S]", "by what they are divided then", CMD_PROGRAM, parse_scale, NULL, ONCE},
    {"emit", 0, "KIND",
     "c: the program (default); onnx: the model as ONNX, as it is after the pass of --stop-after, else after all "
     "passes "
     "of graphs",
     CMD_COMPILE | OPTION_OF_CALL, set_emit, "c onnx", ONCE},
    {"opset", 0, "N",
     "of the ONNX model that is written (default: the model's own, or the oldest above it that has all of its "
     "operators)",
     CMD_COMPILE | CMD_SURGEON | CMD_PRUNE, parse_opset, NULL, ONCE},
    {"external-data", 0, NULL,
     "write the weights of an ONNX model beside it, in FILE.data (default: only where it would have 2 GiB or more)",
     CMD_COMPILE | CMD_SURGEON | CMD_PRUNE, set_external_data, NULL, ONCE},
    {"out", 'o', "FILE", "the ONNX model that is written", CMD_SURGEON | CMD_PRUNE | OPTION_OF_CALL, set_out, NULL,
     ONCE},
    {"report", 0, NULL, "how many of each tensor of weights are zero, or near it, and how they lie",
     CMD_PRUNE | OPTION_OF_CALL, set_prune_report, NULL, ONCE},
    {"structured", 0, NULL,
     "write the model without channels that are the same whatever the input, or that nobody reads: filters of zeros, "
     "and "
     "what lies between them and their readers",
     CMD_PRUNE | OPTION_OF_CALL, set_structured, NULL, ONCE},
    {"threshold", 0, "X",
     "of --structured: filters of a smaller Euclidean norm become zero first, which changes results; of --report: what "
     "is "
     "near zero (default: a thousandth of each tensor's greatest magnitude)",
     CMD_PRUNE | OPTION_OF_CALL, parse_threshold, NULL, ONCE},
    {"inputs", 0, "NAME,...",
     "the model begins at these values: what only they need goes, and there are no other inputs",
     CMD_SURGEON | OPTION_OF_CALL, add_cut_input, NULL, REPEATS},
    {"outputs", 0, "NAME,...", "the model ends at these values: what they do not need goes, inputs too",
     CMD_SURGEON | OPTION_OF_CALL, add_cut_output, NULL, REPEATS},
    {"keep", 0, "NODE", "this node stays: its results become outputs behind the others", CMD_SURGEON | OPTION_OF_CALL,
     add_keep, NULL, REPEATS},
    {"softmax", 0, "[OUTPUT=]AXIS", "an output gets a softmax over this axis; -1 is the last",
     CMD_SURGEON | OPTION_OF_CALL, add_softmax, NULL, REPEATS},
    {"nms", 0, "boxes=OUTPUT,scores=OUTPUT[,KEY=VALUE]",
     "of boxes that overlap by more than iou (default 0.5) keep the one of the greatest score, at least score (0.25), "
     "max "
     "(100) of a class; format: xyxy, corners (default), or cxcywh. Where they were is the output BOXES_indices",
     CMD_SURGEON | OPTION_OF_CALL, add_nms, NULL, REPEATS},
    {"top-k", 0, "[OUTPUT=]K",
     "an output becomes its K greatest along the last axis; where they were is the output OUTPUT_indices",
     CMD_SURGEON | OPTION_OF_CALL, add_top_k, NULL, REPEATS},
    {"mean", 0, "[INPUT=]M,...", "subtract from an input, before --scale: one number, or one for each channel",
     CMD_SURGEON | OPTION_OF_CALL, add_mean, NULL, REPEATS},
    {"scale", 0, "[INPUT=]S,...", "divide an input: one number, or one for each channel", CMD_SURGEON | OPTION_OF_CALL,
     add_scale, NULL, REPEATS},
    {"input-layout", 0, "[INPUT=]nhwc", "an input with channels first is taken with channels last",
     CMD_SURGEON | OPTION_OF_CALL, add_layout, NULL, REPEATS},
    {"cast", 0, "NAME=TYPE", "an input is taken, or an output given, as u8, i32, f16 ...; within, its type stays",
     CMD_SURGEON | OPTION_OF_CALL, add_cast, NULL, REPEATS},
    {"rename", 0, "OLD=NEW", "call an input or output so, after all else", CMD_SURGEON | OPTION_OF_CALL, add_rename,
     NULL, REPEATS},
    {"fold", 0, NULL, "compute what depends on constants alone, quantised weights too", CMD_SURGEON | OPTION_OF_CALL,
     set_fold, NULL, ONCE},
    {"out", 'o', "DIR|FILE",
     "folder for what is written (compile: default MODEL_c), or with --emit=onnx the file (default: MODEL.PASS.onnx)",
     CMD_COMPILE | OPTION_OF_CALL, set_out, NULL, ONCE},
    {"out", 'o', "DIR", "folder for what is written", CMD_RUN | CMD_BENCH | OPTION_OF_CALL, set_out, NULL, ONCE},
    {"out", 'o', "DIR", "folder for the sources (default: ort_ops)", CMD_ORT_OPS, set_out, NULL, ONCE},
    {"out", 'o', "FILE",
     "the records that are written (default: MODEL.choices); what it holds already is not measured again",
     CMD_TUNE | OPTION_OF_CALL, set_out, NULL, ONCE},
    {"time", 0, "SECONDS", "begin no further round when so much time is over (default 600)", CMD_TUNE, parse_time, NULL,
     ONCE},
    {"out", 'o', "FILE", "the numbers that are written (default: TARGET.json)", CMD_CALIBRATE | OPTION_OF_CALL, set_out,
     NULL, ONCE},
    {"time", 0, "SECONDS", "measure for so long at most, about (default 20)", CMD_CALIBRATE, parse_time, NULL, ONCE},
    {"out", 'o', "FILE", "the page that is written (default: NAME_report.html)", CMD_REPORT | OPTION_OF_CALL, set_out,
     NULL, ONCE},
    {"trace", 0, "FILE",
     "write when each call of a kernel began and ended, for Perfetto (ui.perfetto.dev) and chrome://tracing",
     CMD_PROFILE | OPTION_OF_CALL, set_trace, NULL, ONCE},
    {"verified", 0, "FILE", "show errors, too, as `gcc2nn verify MODEL --each-node --json` has printed them",
     CMD_REPORT | OPTION_OF_CALL, set_verified, NULL, ONCE},
    {"no-run", 0, NULL, "leave out what only a run tells: times, or counts of instructions, and of diff the outputs",
     CMD_REPORT | CMD_DIFF, set_no_run, NULL, ONCE},
    {"machine", 0, "FILE",
     "predict with the numbers of this machine, as `gcc2nn calibrate` has measured them; for the target that they are "
     "of",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN, set_machine, NULL, ONCE},
    {"budget", 0, "ITEM=LIMIT,..",
     "fail with exit status 4, and write nothing, where the model takes more: arena=64K, weights, flash (code, "
     "constants "
     "and weights), code (without the weights), latency=2.5ms (median of runs on this machine), instructions=3.5M (of "
     "a run "
     "in an emulator)",
     CMD_COMPILE | CMD_BENCH, add_limits, NULL, REPEATS},
    {"baseline", 0, "FILE",
     "compare with this result of an earlier `bench --json`, and fail with exit status 4 where something got worse: "
     "instructions where both have them, else the least time; arena, weights and code",
     CMD_BENCH, set_baseline, NULL, ONCE},
    {"max-regression", 0, "PERCENT",
     "how much worse than the baseline is no failure (default: 10 for times, 1 for what is counted)", CMD_BENCH,
     parse_regression, NULL, ONCE},
    {"depfile", 0, NULL, "also write NAME.d into the folder: what it was made from, for make and ninja (also -MD)",
     CMD_COMPILE, set_depfile, NULL, ONCE},
    {"interpret", 0, NULL, "interpret instead of compiling", CMD_RUN, set_interpret, NULL, ONCE},
    {"against", 0, "REFEREE",
     "compare with ONNX Runtime (ort), LiteRT (litert), the output_N of --data (ref) or the interpreter of the same "
     "loops, "
     "bit for bit (default: ref for those that there are, for the rest ort, or litert for .tflite); one that is "
     "missing is "
     "an error",
     CMD_VERIFY | CMD_BISECT | CMD_DOCTOR, set_against, REFEREE_WORDS, ONCE},
    {"rtol", 0, "R", "what an element may be off, by the greatest magnitude of its tensor (default: by type)",
     CMD_VERIFY | CMD_BISECT | CMD_DOCTOR | CMD_DIFF, parse_rtol, NULL, ONCE},
    {"atol", 0, "A", "what it may be off besides (default 0)", CMD_VERIFY | CMD_BISECT | CMD_DOCTOR | CMD_DIFF,
     parse_atol, NULL, ONCE},
    {"steps", 0, "N", "how many quantization steps quantized values may be off (default 1), and integers of any model",
     CMD_VERIFY | CMD_BISECT | CMD_DOCTOR, parse_steps, NULL, ONCE},
    {"each-node", 0, NULL,
     "compare the result of every node, alone, then of every kernel, and name the first that differs", CMD_VERIFY,
     set_each_node, NULL, ONCE},
    {"dataset", 0, "DIR",
     "run the samples there, each a folder as --data takes it, with what --metric wants beside, instead of comparing "
     "one run",
     CMD_VERIFY, set_dataset, NULL, ONCE},
    {"metric", 0, "NAME|FILE.py",
     "of --dataset or --eval: top1 (label.txt: a class), map (label.txt: lines of CLASS X0 Y0 X1 Y1), mse (output_N, "
     "else what is compared with; the default), or metric(samples) of a file of Python",
     CMD_VERIFY | CMD_QUANTIZE, set_metric, NULL, ONCE},
    {"max-drop", 0, "X",
     "fail if the metric of --dataset is lower than ONNX Runtime's by more, 0.01 or 1%; or mse greater. quantize: "
     "leave "
     "products in floats, the most sensitive first, until that of --eval is not",
     CMD_VERIFY | CMD_QUANTIZE, parse_drop, NULL, ONCE},
    {"python", 0, "PROGRAM", "Python with the package onnxruntime (default python3)",
     CMD_VERIFY | CMD_BISECT | CMD_DOCTOR | CMD_QUANTIZE, set_python, NULL, ONCE},
    {"runs", 0, "R", "how many runs to time (default 50; tune 20)",
     CMD_BENCH | CMD_TUNE | CMD_REPORT | CMD_PROFILE | CMD_DIFF, parse_runs, NULL, ONCE},
    {"warmup", 0, "W", "runs before the first timed one (default 5)",
     CMD_BENCH | CMD_TUNE | CMD_REPORT | CMD_PROFILE | CMD_DIFF, parse_warmup, NULL, ONCE},
    {"per-kernel", 0, NULL,
     "what each kernel takes, the longest first: time, operations, bytes, and how near that is to the machine's best",
     CMD_BENCH, set_per_kernel, NULL, ONCE},
    {"threads", 0, "N",
     "kernels are made for so many threads, and run by as many (default 1); results are the same bits for any number",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN | CMD_OPT, parse_threads, NULL, ONCE},
    {"cc", 0, "COMPILER", "C compiler (default: the target's)", CMD_PROGRAM | CMD_QUANTIZE | CMD_CALIBRATE, set_cc,
     NULL, ONCE},
    {"build-dir", 0, "DIR", "keep the generated code here", CMD_PROGRAM, set_build_dir, NULL, ONCE},
    {"timeout", 0, "SECONDS", "limit of each compilation and of the run (default 600)", CMD_PROGRAM | CMD_QUANTIZE,
     parse_seconds, NULL, ONCE},
    {"no-fuse", 0, "[NODE,..]", "one kernel for each node; with names, for each of these alone",
     CMD_COMPILE | CMD_PROGRAM, set_no_fuse, NULL, REPEATS},
    {"no-schedule", 0, NULL, "kernels as plain loops", CMD_COMPILE | CMD_PROGRAM, set_no_schedule, NULL, ONCE},
    {"precision", 0, "[NODE=]TYPE",
     "what products of f32 multiply, and what lies between them, is rounded to this type when it is stored: bf16, "
     "fp16; f32 or fp32 (default): nothing is. With NODE only of this one, which counts before what is said of all",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN | CMD_OPT, parse_precision, PRECISIONS, REPEATS},
    {"weights-precision", 0, "TYPE",
     "constant factors of products that come from memory more slowly than they are multiplied are rounded to this "
     "type, "
     "with a scale for each channel: int8; f32 (default): none are",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN | CMD_OPT, parse_weights_precision, WEIGHTS_PRECISIONS, ONCE},
    {"no-excess-precision", 0, NULL,
     "round floats of 16 bits after each operator also where the target has no instruction for it (default there: "
     "where "
     "they leave the model, and by Cast)",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN, set_no_excess_precision, NULL, ONCE},
    {"dump-after", 0, "PASS",
     "print the program after this pass, or after `all`; `fuse`: the groups; `problems`: what each kernel computes; "
     "`choices`: what was tried for it and taken; `nodes`: what became of the model's nodes; `kernels`: the kernels "
     "before their schedules, with the steps to do",
     CMD_COMPILE | (CMD_PROGRAM & ~(CMD_TUNE | CMD_REPORT | CMD_PROFILE | CMD_DIFF)), add_dump, NULL, REPEATS},
    {"stop-after", 0, "PASS", "stop after this pass", CMD_COMPILE, set_stop, NULL, ONCE},
    {"no-pass", 0, "PASS", "leave this pass out", CMD_COMPILE | CMD_PROGRAM, add_skip, NULL, REPEATS},
    {"no-rule", 0, "RULE", "leave this rule of simplify out; `gcc2nn list-rules` names them",
     CMD_COMPILE | CMD_PROGRAM | CMD_OPT, add_rule_off, NULL, REPEATS},
    {"algorithm", 0, "[NODE=]NAME",
     "compute this node, or all, by this algorithm where it fits; `--dump-after=choices` shows which do",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN, add_algorithm, NULL, REPEATS},
    {"no-algorithm", 0, "NAME", "leave this algorithm out, or `all` but the definition",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN, add_algorithm_off, NULL, REPEATS},
    {"choices", 0, "FILE",
     "compute kernels as this file says, in the form of `--dump-after=choices`: the line above `taken` counts, where "
     "the machine and what a kernel computes are the same; algorithms are chosen anew, or as `--algorithm` says",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN, add_choices, NULL, REPEATS},
    {"bisect-limit", 0, "N",
     "make only the first N of the decisions that tell the program from the plainest one, as `gcc2nn bisect` counts "
     "them",
     CMD_COMPILE | (CMD_PROGRAM & ~CMD_BISECT), parse_limit, NULL, ONCE},
    {"op", 0, "DOMAIN:NAME=FILE[:FUNCTION]",
     "an operator of your own: a function of a .c, .cpp or .cu file (docs/custom-operators.md); one for a CPU and one "
     "for a GPU may be given",
     CMD_MODEL | CMD_OPT | CMD_ORT_OPS, add_op, NULL, REPEATS},
    {"op-path", 0, "DIR", "a folder of such files; the comments of their functions say which operators they are",
     CMD_MODEL | CMD_OPT | CMD_ORT_OPS, add_op_path, NULL, REPEATS},
    {"pass", 0, "FILE[:PLACE]",
     "a pass of your own: a shared object (docs/custom-passes.md), that works on the graph after=PASS or before=PASS "
     "(default: after=infer)",
     CMD_COMPILE | CMD_PROGRAM | CMD_EXPLAIN, add_own_pass, NULL, REPEATS},
    {"stub-unsupported", 0, "DIR",
     "compile nothing, but write a C function for each operator of the model that is not known, to be filled in and "
     "given with --op-path",
     CMD_COMPILE | OPTION_OF_CALL, set_stubs, NULL, ONCE},
    {"verify-each", 0, NULL, "look for mistakes of gcc2nn after every pass, also of those towards the C",
     CMD_COMPILE | CMD_PROGRAM, set_verify_each, NULL, ONCE},
    {"time-passes", 0, NULL, "print the time of each pass", CMD_COMPILE | CMD_PROGRAM, set_time_passes, NULL, ONCE},
    {"dim", 'd', "NAME=SIZE|LO..HI[@REF]",
     "fix the size of a symbolic dimension, or say its range and the size to optimise for", CMD_MODEL, parse_dim, NULL,
     REPEATS},
    {"shape", 0, "INPUT=1x3x?x?",
     "the shape of an input that the model leaves open; ? is any size; of a sequence those of its elements, s=3x?,4x? "
     "or s=empty; of an optional that holds nothing o=none",
     CMD_MODEL, parse_shape, NULL, REPEATS},
    {"rank", 0, "NAME=N",
     "the rank of an input that the model leaves open, of a result whose rank depends on a length that only the run "
     "knows and then checks, or of what a sequence holds that a loop carries",
     CMD_MODEL, parse_rank, NULL, REPEATS},
    {"signature", 0, "KEY", "TFLite: the entry of that name (default: the only one, else the first graph)", CMD_MODEL,
     set_signature, NULL, ONCE},
    {"keep-inputs", 0, NULL, "weights that the model lists among its inputs stay inputs", CMD_MODEL, set_keep_inputs,
     NULL, ONCE},
    {"warnings", 'W', "WHAT",
     "as in -Werror: warnings are errors; -Werror=E0302: those of this code; -Wno-error=E0302: those are not; "
     "-Wno-E0302: they are not given",
     CMD_MODEL | CMD_OPT, parse_warning, NULL, REPEATS},
    {"remarks", 'R', "KIND[=PATTERN]",
     "as in -Rfuse: say what was decided and why: fuse, layout, algorithm, slow or all; -Rslow=conv*: about nodes of "
     "such a "
     "name or operator",
     CMD_COMPILE | (CMD_PROGRAM & ~(CMD_BISECT | CMD_DOCTOR)), parse_remark, NULL, REPEATS},
    {"diagnostics-format", 0, "FORMAT",
     "how diagnostics and remarks are written to standard error: text; json, an object a line (default with --json); "
     "sarif, one "
     "log of version 2.1.0",
     CMD_ALL, parse_format, DIAG_FORMATS, ONCE},
    {"passes", 0, "NAMES",
     "passes to run on the file, separated by commas: of graphs (.gir, models), or of those that make what is printed "
     "(.lir)",
     CMD_OPT | CMD_SURGEON, set_passes, NULL, ONCE},
    {"steps", 0, "STEPS", "schedule steps to apply to a .lir file, separated by `;`", CMD_OPT, set_steps, NULL, ONCE},
    {"replay", 0, NULL, "apply the steps that the text of each procedure lists as `todo`", CMD_OPT, set_replay, NULL,
     ONCE},
    {"emit-c", 0, NULL, "print the files of C, with --name and for --target, instead of the loop IR", CMD_OPT,
     set_emit_c, NULL, ONCE},
    {"lower", 0, NULL, "lower the graph for --target: print its groups and kernels", CMD_OPT, set_lower, NULL, ONCE},
    {"proc", 0, "NAME", "the procedure that the steps are for (default: every one)", CMD_OPT, set_proc, NULL, ONCE},
    {"calib", 0, "DIR",
     "samples by which the range of each tensor is found: a folder of folders, each as --data takes it, or one such",
     CMD_QUANTIZE | OPTION_OF_CALL, set_calib, NULL, ONCE},
    {"method", 0, "METHOD",
     "how a range is found of the values seen: all of them (minmax, the default), without the rarest (percentile), the "
     "one whose codes tell most (entropy), the one of the least squared error (mse)",
     CMD_QUANTIZE, set_method, RANGE_METHOD_WORDS, ONCE},
    {"percentile", 0, "P", "of the values, as many percent lie within the range by --method=percentile (default 99.99)",
     CMD_QUANTIZE, parse_percentile, NULL, ONCE},
    {"per-tensor", 0, NULL, "weights have one scale, not one for each channel of the result", CMD_QUANTIZE,
     set_per_tensor, NULL, ONCE},
    {"weights-only", 0, "TYPE",
     "round nothing but constant weights, which needs no samples: int8, with a scale for each channel of the result; "
     "int4, those of matrices, with one for each 32 that are summed",
     CMD_QUANTIZE, parse_weights_only, WEIGHTS_ONLY, ONCE},
    {"sensitivity", 0, NULL,
     "also tell of each product what the rounding of its own operands does to its result, over the samples",
     CMD_QUANTIZE, set_sensitivity, NULL, ONCE},
    {"exclude", 0, "NODE", "the node of this name stays in floats", CMD_QUANTIZE, add_exclude, NULL, REPEATS},
    {"equalize", 0, NULL, "move scale between products that follow each other, to like ranges of their channels",
     CMD_QUANTIZE, set_equalize, NULL, ONCE},
    {"bias-correction", 0, NULL, "take off each bias what the rounding of weights changes on average", CMD_QUANTIZE,
     set_bias_correction, NULL, ONCE},
    {"eval", 0, "DIR", "warn where these samples, of the same form, have other values than those of --calib",
     CMD_QUANTIZE | OPTION_OF_CALL, set_eval, NULL, ONCE},
    {"out", 'o', "FILE", "the ONNX model that is written (default: MODEL_int8.onnx)", CMD_QUANTIZE | OPTION_OF_CALL,
     set_out, NULL, ONCE},
    {"kernel", 0, "NAME", "the kernel to explain, `k3_conv` or `k3`", CMD_EXPLAIN, set_kernel, NULL, ONCE},
    {"origin", 0, NULL, "say for each option where the file sets it", CMD_CONFIG | OPTION_OF_CALL, set_origin, NULL,
     ONCE},
    {"profile", 0, "NAME", "also the options of [profile.NAME] in gcc2nn.toml", CMD_SETTINGS | OPTION_OF_CALL,
     set_profile, NULL, ONCE},
    {"config", 0, "FILE", "options from this file (default: gcc2nn.toml here, or in the nearest folder above)",
     CMD_SETTINGS | OPTION_OF_CALL, set_config, NULL, ONCE},
    {"no-config", 0, NULL, "read no gcc2nn.toml", CMD_SETTINGS | OPTION_OF_CALL, set_no_config, NULL, ONCE},
    {"json", 0, NULL, "print JSON; diagnostics on standard error are objects too, one a line", CMD_ALL, set_json, NULL,
     ONCE},
    {"help", 'h', NULL, "print this text", CMD_ALL, set_help, NULL, ONCE},
    {"version", 0, NULL, "print the version, the commit, and what was built in", CMD_ALL, set_version, NULL, ONCE},
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
    {"out", CMD_PRUNE, "structured"},
    {"opset", CMD_PRUNE, "structured"},
    {"external-data", CMD_PRUNE, "structured"},
    {"metric", CMD_QUANTIZE, "max-drop"},
    {"max-drop", CMD_QUANTIZE, "eval"},
    {"percentile", CMD_QUANTIZE, "method=percentile"},
    {"per-tensor", CMD_QUANTIZE, "calib"},
    {"sensitivity", CMD_QUANTIZE, "calib"},
    {"name", CMD_OPT, "emit-c"},
    {"proc", CMD_OPT, "steps|replay"},
    {"precision", CMD_OPT, "lower"},
    {"weights-precision", CMD_OPT, "lower"},
    {"no-rule", CMD_OPT, "passes"},
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

static bool check_args(const struct options *o, struct text *problem) {
    const struct command *c = o->command;
    if (o->help || o->version) return true;
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

/* ---- help */
void help_wrap(struct text *out, const char *s, int indent) {
    enum { WIDTH = 100 };
    int at = indent;
    while (*s) {
        int n = (int)strcspn(s, " ");
        bool first = at == indent;
        if (!first && at + 1 + n > WIDTH) {
            text_printf(out, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        text_printf(out, "%s%.*s", first ? "" : " ", n, s);
        at += n + !first;
        s += n + (s[n] == ' ');
    }
    text_char(out, '\n');
}

static void two_columns(struct text *out, const char *left, const char *right) {
    enum { COLUMN = 36 };
    text_printf(out, "  %s", left);
    int at = 2 + (int)strlen(left);
    if (at + 2 > COLUMN) {
        text_char(out, '\n');
        at = 0;
    }
    text_printf(out, "%*s", COLUMN - at, "");
    help_wrap(out, right, COLUMN);
}

const char *option_repeats(const struct option_row *r) { return r->repeats == REPEATS ? "; may be repeated" : ""; }

static void options_of(struct text *out, unsigned bit) {
    text_add(out, "\nOptions:\n");
    for (const struct option_row *r = option_rows; r->name; r++) {
        if (!(r->commands & bit)) continue;
        struct text left = {0};
        if (r->letter) text_printf(&left, "-%c, ", r->letter);
        option_usage(&left, r);
        struct text right = {0};
        text_printf(&right, "%s%s", r->help, option_repeats(r));
        two_columns(out, left.s, right.s);
        text_free(&left);
        text_free(&right);
    }
}

void options_help(struct text *out, const struct command *commands, const struct command *command) {
    if (command) {
        text_printf(out, "Usage: gcc2nn %s [OPTION]...%s%s\n\n", command->name, *command->args ? " " : "",
                    command->args);
        help_wrap(out, command->help, 0);
        options_of(out, command->bit);
        if (command->examples) text_printf(out, "\nExamples:\n%s", command->examples);
        return;
    }
    text_printf(out, "Usage: gcc2nn COMMAND [OPTION]... ARGUMENT...\n\n"
                     "Compiles neural networks (ONNX, TensorFlow Lite) to standalone C or CUDA.\n\nCommands:\n");
    for (const struct command *c = commands; c->name; c++) two_columns(out, c->name, c->help);
    text_add(out, "\nA model's file name in place of a command means the first one. `gcc2nn COMMAND --help` explains a "
                  "command.\n\nExit status:\n");
    for (const struct exit_row *e = exit_rows; e->text; e++) text_printf(out, "  %2d  %s\n", e->code, e->text);
}
