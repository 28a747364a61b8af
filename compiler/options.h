/* The command line: one table of options feeds the parser, `--help`, the man page and shell completions. */
#ifndef NN_COMPILER_OPTIONS_H
#define NN_COMPILER_OPTIONS_H
#include "compiler/budget.h"
#include "compiler/custom/custom.h"
#include "compiler/import/onnx.h"
#include "compiler/quantize/range.h"
#include "ir/base/diag.h"
#include "ir/base/die.h"
#include "ir/base/text.h"
#include "ir/base/vec.h"
#include "lower/lower.h"
#include <stdbool.h>

/* What the process returns; 70 (die.h) for broken invariants of ours. */

struct option_row;
struct given_option {
    const struct option_row *row;
    const char *value; /* NULL: it takes none */
};
struct quantize_options {
    const char *calib, *eval; /* folders */
    enum range_method method;
    double percentile;       /* in percent */
    enum dtype weights_only; /* I8, I4; NONE: all */
    bool sensitivity, per_tensor, seven_bits, bias_correction, equalize;
    VEC(const char *) exclude;
};
typedef VEC(const char *) word_list;
struct options {
    const struct command *command;
    struct arena *arena;                   /* of what follows */
    VEC(struct given_option) given, taken; /* on the command line; those of gcc2nn.toml, too */
    const char *config, *profile;          /* a file, and what of it; NULL: not given */
    bool no_config, origin;
    VEC(const char *) args; /* words that are no options */
    VEC(struct dim_option) dims;
    const char *signature;
    VEC(struct shape_option) shapes;
    VEC(struct said_rank) ranks;
    VEC(struct warning_rule) warnings;
    VEC(struct remark_wish) remarks;
    enum diag_format diagnostics; /* DIAG_TEXT: as --json says */
    bool keep_inputs, json, depfile, help, version;
    const char *name, *target, *targets; /* NULL: not given */
    const char *passes, *steps, *proc, *kernel;
    const char *data, *out, *cc, *python, *weights, *std, *build_dir, *stop_after, *emit, *stubs;
    const char *machine, *trace, *verified;  /* files */
    VEC(const char *) inputs;                /* NAME=FILE */
    VEC(const char *) alone, precision_pins; /* of --no-fuse; NODE=TYPE */
    VEC(const char *) ops, op_paths, own_passes;
    VEC(const char *) dump_after, skip, rules_off, algorithms, algorithms_off, choices;
    bool external_data, interpret, each_node, no_fuse, no_schedule, no_excess_precision, verify_each, time_passes,
        per_kernel, no_run, events, lower, replay, emit_c;
    const char *dataset, *metric; /* NULL: not given */
    double max_drop;
    bool max_drop_given;
    const char *against; /* verify: a word of the table of referees; NULL: not given */
    enum dtype precision, weights_precision, activations_precision; /* NONE: not given, or f32 */
    bool precision_given, precision_all;                            /* for all nodes, and not f32 */
    double rtol, atol;
    VEC(double) mean, scale; /* of a picture's colours */
    bool rtol_given;
    int steps_given, limit_given;    /* 1 + --steps; 1 + --bisect-limit */
    int runs, warmup_given, seconds; /* 0: not given; warmup_given: 1 + the number of runs */
    int threads;                     /* 0: not given */
    int budget;                      /* seconds; 0: not given */
    struct budget limits;            /* --budget */
    const char *baseline;            /* a file */
    double max_regression;           /* percent */
    bool regression_given;
    int opset; /* of ai.onnx; 0: not given */
    struct quantize_options quantize;
    struct {
        bool report, structured;
        double threshold; /* 0: not given */
    } prune;
    struct surgery_words {
        word_list inputs, outputs, keep, softmax, nms, top_k, scale, mean, layout, cast, rename;
        bool fold;
    } surgery; /* as they were given */
};

/* run gets checked options and returns an exit_code. */
struct command {
    const char *name, *args; /* "MODEL" */
    const char *help;        /* one sentence */
    const char *examples;    /* lines, may be NULL */
    int min_args, max_args;
    unsigned bit;
    int (*run)(const struct options *o);
};
enum { /* bits of commands, for the table of options */
       CMD_COMPILE = 1 << 0,
       CMD_INSPECT = 1 << 1,
       CMD_VERIFY = 1 << 2,
       CMD_RUN = 1 << 3,
       CMD_BENCH = 1 << 4,
       CMD_OPT = 1 << 5,
       CMD_EXPLAIN = 1 << 6,
       CMD_LIST_OPS = 1 << 7,
       CMD_LIST_TARGETS = 1 << 8,
       CMD_LIST_RULES = 1 << 9,
       CMD_TUNE = 1 << 10,
       CMD_CALIBRATE = 1 << 11,
       CMD_CONFIG = 1 << 12,
       CMD_BISECT = 1 << 13,
       CMD_QUANTIZE = 1 << 14,
       CMD_SURGEON = 1 << 15,
       CMD_DOCTOR = 1 << 16,
       CMD_REPORT = 1 << 17,
       CMD_PROFILE = 1 << 18,
       CMD_DIFF = 1 << 19,
       CMD_ORT_OPS = 1 << 20,
       CMD_PRUNE = 1 << 21,
       CMD_PROGRAM = CMD_VERIFY | CMD_RUN | CMD_BENCH | CMD_TUNE | CMD_BISECT | CMD_DOCTOR | CMD_REPORT | CMD_PROFILE |
                     CMD_DIFF, /* those that build and run */
       CMD_MODEL = CMD_COMPILE | CMD_INSPECT | CMD_PROGRAM | CMD_EXPLAIN | CMD_QUANTIZE | CMD_SURGEON | CMD_PRUNE,
       CMD_SETTINGS = CMD_MODEL | CMD_CALIBRATE | CMD_CONFIG, /* those that gcc2nn.toml is for */
       OPTION_OF_CALL = 1 << 30,                              /* an option that it cannot set */
       CMD_ALL = 0x7fffffff,
};
struct exit_row {
    int code;
    const char *text; /* NULL ends */
};
extern const struct exit_row exit_rows[];
struct option_row {
    const char *name;
    char letter;     /* 0: none */
    const char *arg; /* NULL: takes none */
    const char *help;
    unsigned commands;
    /* false: *problem says what is wrong with the value; NULL: there is none */
    bool (*parse)(struct options *o, const char *value, struct text *problem);
    const char *choices; /* the values there are, separated by blanks; NULL: any */
    enum option_times { ONCE, REPEATS } repeats;
};
extern const struct option_row option_rows[]; /* name NULL ends */

/* The first word names a command; else it is a model, for the first command of the table. false: *problem has the
 * message (with "did you mean"). commands: name NULL ends. */
bool options_parse(struct options *o, const struct command *commands, int argc, char **argv, struct text *problem);
/* One option of o->command by its name; value NULL: it takes none. */
bool options_set(struct options *o, const char *name, const char *value, struct text *problem);
/* Does the command line give it? */
bool option_given(const struct options *o, const char *name);
/* Has each option of the command line what it means something with, be it of gcc2nn.toml? false: *problem says what is
 * missing. */
bool options_complete(const struct options *o, struct text *problem);
/* A value for an option, as if the command line gave it. */
bool option_take(struct options *o, const struct option_row *r, const char *value, struct text *problem);
/* The option of that name that gcc2nn.toml may set, that of the command first; NULL: there is none. And ", did you
 * mean" for one that there is not. */
const struct option_row *option_setting(const char *name, unsigned bit);
const char *option_setting_near(struct arena *a, const char *name);
/* Text in lines of at most 100 columns, all of which start at column `indent`, where the first one already is. */
void help_wrap(struct text *out, const char *s, int indent);
/* As it is given: "--target=TARGET", "--no-fuse[=NODE,..]": an argument in brackets stands behind `=`, or not at all.
 */
void option_usage(struct text *out, const struct option_row *r);
bool option_needs_arg(const struct option_row *r);
/* What stands behind the help of an option that may be given more than once; "" for the others. */
const char *option_repeats(const struct option_row *r);
/* Help of one command, or of the program (command NULL). */
void options_help(struct text *out, const struct command *commands, const struct command *command);
/* Values of --dim (NAME=4, NAME=1..64, NAME=1..64@8) and --shape (NAME=1x3x?x?; `NAME=` is a scalar; `NAME=3x?,4x?` and
 * `NAME=empty` sequences, `NAME=none` an empty optional). */
bool dim_option_parse(struct arena *a, const char *value, struct dim_option *out, struct text *problem);
bool shape_option_parse(struct arena *a, const char *value, struct shape_option *out, struct text *problem);
struct import_options options_import(const struct options *o);
struct precision_wishes options_precision(const struct options *o);
struct byte_products options_bytes(const struct options *o);
struct custom_options options_custom(const struct options *o);
/* The model that is named first, with operators of the user's. NULL: a diagnostic. */
struct graph *options_model(struct ctx *c, const struct options *o, bool keep_unknown);
void options_diags(const struct options *o, struct diags *d); /* how to report, and what of warnings */
#endif
