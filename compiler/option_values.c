/* How options of the command line store their values: each has its own function here. See option_values.h. */
#include "compiler/option_values.h"
#include "compiler/metric.h"
#include "compiler/referee.h"
#include "ir/base/nearest.h"
#include "ir/graph/op.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool parse_size(const char **s, int64_t *v) {
    char *end;
    errno = 0;
    if (**s < '0' || **s > '9') return false;
    *v = strtoll(*s, &end, 10);
    *s = end;
    return errno == 0 && *v <= INT32_MAX;
}

bool dim_option_parse(struct arena *a, const char *value, struct dim_option *out, struct text *problem) {
    const char *eq = strrchr(value, '='), *s = eq ? eq + 1 : ""; /* the last `=`, because names of models may contain
                                                                  * one */
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

/* Reads one shape, up to the end or a comma. */
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

bool take_dim(struct options *o, const char *value, struct text *problem) {
    struct dim_option d;
    if (!dim_option_parse(o->arena, value, &d, problem)) return false;
    for (int k = 0; k < o->dims.n; k++)
        if (!strcmp(o->dims.v[k].name, d.name)) return text_printf(problem, "`%s` is given twice", d.name), false;
    PUSH(o->arena, &o->dims, d);
    return true;
}

/* NAME=N */
bool take_rank(struct options *o, const char *value, struct text *problem) {
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
bool take_shape(struct options *o, const char *value, struct text *problem) {
    struct shape_option x;
    if (!shape_option_parse(o->arena, value, &x, problem)) return false;
    for (int k = 0; k < o->shapes.n; k++)
        if (!strcmp(o->shapes.v[k].name, x.name)) return text_printf(problem, "`%s` is given twice", x.name), false;
    PUSH(o->arena, &o->shapes, x);
    return true;
}

/* error[=CODE], no-error[=CODE], no-CODE */
bool take_warning(struct options *o, const char *value, struct text *problem) {
    static const struct {
        const char *word;
        enum warning_as as;
        bool all; /* also without a code */
    } forms[] = {{"error", WARN_ERROR, true}, {"no-error", WARN_PLAIN, true}, {"no-", WARN_NOT, false}};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        size_t n = strlen(forms[k].word);
        const char *s = value + n;
        if (strncmp(value, forms[k].word, n) != 0 || (forms[k].all && *s && *s != '=')) continue;
        if (forms[k].all && *s) s++;
        char *end = NULL;
        long code = *s == 'E' && is_digit(s[1]) ? strtol(s + 1, &end, 10) : 0;
        bool all = forms[k].all && s == value + n;
        if (!all && (!end || *end || code > 9999 || !diag_explain((int)code)))
            return text_printf(problem, "there is no code `%s`; messages end with theirs, such as E0302", s), false;
        struct warning_rule rule = {(int)code, forms[k].as};
        PUSH(o->arena, &o->warnings, rule);
        return true;
    }
    return text_printf(problem, "`%s` is not error, error=CODE, no-error=CODE or no-CODE", value), false;
}

bool one_of(struct arena *a, const char *value, const char *words, struct text *problem) {
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
bool take_remark(struct options *o, const char *value, struct text *problem) {
    size_t n = strcspn(value, "=");
    int kind = remark_kind_named(value, n);
    if (kind < 0 || (value[n] && !value[n + 1]))
        return text_printf(problem, "`%s` is not KIND or KIND=PATTERN, with one of " REMARK_WORDS, value), false;
    struct remark_wish wish = {(enum remark_kind)kind, value[n] ? value + n + 1 : NULL};
    PUSH(o->arena, &o->remarks, wish);
    return true;
}
bool take_format(struct options *o, const char *value, struct text *problem) {
    if (!one_of(o->arena, value, DIAG_FORMATS, problem)) return false;
    o->diagnostics = !strcmp(value, "sarif") ? DIAG_SARIF : !strcmp(value, "json") ? DIAG_JSON : DIAG_TEXT;
    return true;
}
#define SETTER(fn, field, may_be_empty)                                                                                \
    bool fn(struct options *o, const char *value, struct text *problem) {                                              \
        if (!(may_be_empty) && !*value) text_add(problem, "its argument is empty");                                    \
        o->field = value;                                                                                              \
        return !problem->n;                                                                                            \
    }
#define FLAG(fn, field)                                                                                                \
    bool fn(struct options *o, const char *value, struct text *problem) {                                              \
        (void)problem;                                                                                                 \
        (void)value;                                                                                                   \
        o->field = true;                                                                                               \
        return true;                                                                                                   \
    }
#define LIST(fn, field)                                                                                                \
    bool fn(struct options *o, const char *value, struct text *problem) {                                              \
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
bool take_runs(struct options *o, const char *value, struct text *problem) {
    return parse_count(value, 1, &o->runs, problem);
}
bool take_warmup(struct options *o, const char *value, struct text *problem) {
    bool ok = parse_count(value, 0, &o->warmup_given, problem);
    o->warmup_given++;
    return ok;
}
bool take_seconds(struct options *o, const char *value, struct text *problem) {
    return parse_count(value, 1, &o->seconds, problem);
}
bool take_input(struct options *o, const char *value, struct text *problem) {
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
bool take_step_count(struct options *o, const char *value, struct text *problem) {
    bool ok = parse_count(value, 0, &o->steps_given, problem);
    o->steps_given++;
    return ok;
}
bool take_limit(struct options *o, const char *value, struct text *problem) {
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
    bool fn(struct options *o, const char *value, struct text *problem) {                                              \
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
COLOURS(take_mean, mean, true)
COLOURS(take_scale, scale, false)
bool take_rtol(struct options *o, const char *value, struct text *problem) {
    o->rtol_given = true;
    return parse_error(value, &o->rtol, problem);
}
bool take_threshold(struct options *o, const char *value, struct text *problem) {
    return parse_error(value, &o->prune.threshold, problem);
}
bool take_regression(struct options *o, const char *value, struct text *problem) {
    o->regression_given = parse_error(value, &o->max_regression, problem);
    return o->regression_given;
}
bool take_atol(struct options *o, const char *value, struct text *problem) {
    return parse_error(value, &o->atol, problem);
}
/* TYPE or NODE=TYPE; the type is one of the choices. */
bool take_precision(struct options *o, const char *value, struct text *problem) {
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
static bool take_byte_precision(struct options *o, const char *value, enum dtype *t, struct text *problem) {
    if (!one_of(o->arena, value, BYTE_PRECISIONS, problem)) return false;
    *t = strcmp(value, "int8") == 0 ? I8 : NONE;
    return true;
}
bool take_weights_precision(struct options *o, const char *value, struct text *problem) {
    return take_byte_precision(o, value, &o->weights_precision, problem);
}
bool take_activations_precision(struct options *o, const char *value, struct text *problem) {
    return take_byte_precision(o, value, &o->activations_precision, problem);
}
bool take_threads(struct options *o, const char *value, struct text *problem) {
    return parse_count(value, 1, &o->threads, problem);
}
bool take_time(struct options *o, const char *value, struct text *problem) {
    return parse_count(value, 1, &o->budget, problem);
}
bool take_method(struct options *o, const char *value, struct text *problem) {
    (void)problem; /* the table has checked the value */
    o->quantize.method = range_method_named(value);
    return true;
}
bool take_percentile(struct options *o, const char *value, struct text *problem) {
    const char *end = value;
    double v = text_read_f64(value, &end);
    if (end == value || *end || !(v > 50 && v <= 100))
        return text_printf(problem, "`%s` is not a percentage above 50, such as 99.99", value), false;
    o->quantize.percentile = v;
    return true;
}
bool take_weight_bits(struct options *o, const char *value, struct text *problem) {
    if (!one_of(o->arena, value, WEIGHT_BITS, problem)) return false;
    o->quantize.seven_bits = strcmp(value, "7") == 0;
    return true;
}
bool take_weights_only(struct options *o, const char *value, struct text *problem) {
    if (!one_of(o->arena, value, WEIGHTS_ONLY, problem)) return false;
    o->quantize.weights_only = strcmp(value, "int4") == 0 ? I4 : I8;
    return true;
}
SETTER(take_calib, quantize.calib, false)
SETTER(take_eval, quantize.eval, false)
FLAG(take_sensitivity, quantize.sensitivity)
FLAG(take_per_tensor, quantize.per_tensor)
FLAG(take_bias_correction, quantize.bias_correction)
FLAG(take_equalize, quantize.equalize)
LIST(take_exclude, quantize.exclude)
bool take_limits(struct options *o, const char *value, struct text *problem) {
    return budget_parse(&o->limits, value, problem);
}

bool take_opset(struct options *o, const char *value, struct text *problem) {
    if (!parse_count(value, 1, &o->opset, problem)) return false;
    if (o->opset <= OPSET_NEWEST) return true;
    return text_printf(problem, "opset %d is not known; 1 to %d are", o->opset, OPSET_NEWEST), false;
}
#define WORDS(fn, field)                                                                                               \
    bool fn(struct options *o, const char *value, struct text *problem) {                                              \
        if (!*value) return text_add(problem, "its argument is empty"), false;                                         \
        PUSH(o->arena, &o->field, value);                                                                              \
        return true;                                                                                                   \
    }
WORDS(take_cut_input, surgery.inputs)
WORDS(take_cut_output, surgery.outputs)
WORDS(take_keep, surgery.keep)
WORDS(take_softmax, surgery.softmax)
WORDS(take_nms, surgery.nms)
WORDS(take_top_k, surgery.top_k)
WORDS(take_surgery_scale, surgery.scale)
WORDS(take_surgery_mean, surgery.mean)
WORDS(take_layout, surgery.layout)
WORDS(take_cast, surgery.cast)
WORDS(take_rename, surgery.rename)
FLAG(take_fold, surgery.fold)
FLAG(take_prune_report, prune.report)
FLAG(take_structured, prune.structured)
LIST(take_dump, dump_after)
LIST(take_skip, skip)
LIST(take_rule_off, rules_off)
LIST(take_algorithm, algorithms)
LIST(take_algorithm_off, algorithms_off)
LIST(take_choices, choices)
/* A word, or a file of Python. */
bool take_metric(struct options *o, const char *value, struct text *problem) {
    o->metric = value;
    return ends_with(value, ".py") || one_of(o->arena, value, METRIC_WORDS, problem);
}
/* 0.01 or 1% */
bool take_drop(struct options *o, const char *value, struct text *problem) {
    size_t n = strlen(value);
    bool percent = n && value[n - 1] == '%';
    o->max_drop_given = true;
    if (!parse_error(percent ? arena_printf(o->arena, "%.*s", (int)n - 1, value) : value, &o->max_drop, problem))
        return false;
    if (percent) o->max_drop /= 100;
    return true;
}
SETTER(take_dataset, dataset, false)
LIST(take_op, ops)
LIST(take_op_path, op_paths)
WORDS(take_own_pass, own_passes)
SETTER(take_signature, signature, false)
SETTER(take_weights, weights, false)
SETTER(take_std, std, false)
FLAG(take_depfile, depfile)
SETTER(take_data, data, false)
SETTER(take_out, out, false)
SETTER(take_cc, cc, false)
SETTER(take_python, python, false)
SETTER(take_build_dir, build_dir, false)
SETTER(take_stop, stop_after, false)
SETTER(take_emit, emit, false)
SETTER(take_stubs, stubs, false)
FLAG(take_external_data, external_data)
FLAG(take_interpret, interpret)
SETTER(take_against, against, false)
FLAG(take_each_node, each_node)
bool take_no_fuse(struct options *o, const char *value, struct text *problem) {
    if (!value) return o->no_fuse = true;
    if (!*value) return text_add(problem, "its argument is empty"), false;
    PUSH(o->arena, &o->alone, value);
    return true;
}
FLAG(take_no_schedule, no_schedule)
FLAG(take_no_excess_precision, no_excess_precision)
FLAG(take_verify_each, verify_each)
FLAG(take_time_passes, time_passes)
FLAG(take_lower, lower)
FLAG(take_replay, replay)
FLAG(take_emit_c, emit_c)
FLAG(take_per_kernel, per_kernel)
FLAG(take_no_run, no_run)
SETTER(take_trace, trace, false)
SETTER(take_verified, verified, false)
SETTER(take_passes, passes, true)
SETTER(take_steps, steps, true)
SETTER(take_proc, proc, false)
SETTER(take_kernel, kernel, false)
bool take_name(struct options *o, const char *value, struct text *problem) {
    bool ok = *value && !is_digit(*value);
    for (const char *s = value; *s && ok; s++) ok = in_word(*s);
    if (ok) o->name = value;
    else text_printf(problem, "`%s` is not a name in C", value);
    return ok;
}
SETTER(take_target, target, false)
SETTER(take_targets, targets, false)
SETTER(take_machine, machine, false)
SETTER(take_baseline, baseline, false)
FLAG(take_keep_inputs, keep_inputs)
SETTER(take_config, config, false)
SETTER(take_profile, profile, false)
FLAG(take_no_config, no_config)
FLAG(take_origin, origin)
FLAG(take_json, json)
FLAG(take_help, help)
FLAG(take_version, version)
