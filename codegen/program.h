/* A program to be written: a finished module, its memory plan, and the names of its parts in C. c.c prints the kernels;
 * everything around them (API, entry function, weights, build files) is printed from here. */
#ifndef NN_CODEGEN_PROGRAM_H
#define NN_CODEGEN_PROGRAM_H
#include "codegen/emit.h"
#include "lower/memory_plan.h"

enum weights_mode {
    WEIGHTS_AUTO,   /* a C array if small, or if strict C99 is asked for; otherwise .incbin; a file if too large for
                     * either */
    WEIGHTS_INCBIN, /* NAME_weights.bin, and NAME_weights.S that includes it */
    WEIGHTS_C,      /* NAME_weights.c */
    WEIGHTS_FILE,   /* NAME_weights.bin only: the caller loads or maps it and passes a pointer */
};
/* The same model for another machine of the same kind, in the same program. */
struct variant {
    struct module *m;
    const struct memory_plan *plan;
    const struct target *target;
};
struct program;
/* A pass of the user's that the model went through. */
struct used_pass {
    const char *name, *file; /* the last part of its path */
    const char *after;       /* the pass after which it ran */
    uint64_t hash;           /* of the file's bytes */
};
struct project_options {
    const char *name; /* of the model; made an identifier */
    const struct target *target;
    const struct variant *more; /* additional variants; NAME_init takes the last one that the CPU can run */
    int nmore;
    bool c99_strict;  /* no extensions, scalar code */
    bool no_schedule; /* no schedules in the kernels' comments */
    bool depfile;     /* also writes NAME.d */
    int threads;      /* of a run, in the sample programs */
    enum weights_mode weights;
    const char *model_file; /* last part of its path, for comments and the manifest; may be NULL */
    uint64_t model_hash;    /* of the model's bytes; 0: not known */
    const char *producer;   /* from the model; may be NULL */
    const struct used_pass *passes;
    int npasses;
    /* Typical values of the input symbols, for selftest and benchmark; NULL: 1, clamped to the symbol's range. */
    int64_t (*reference)(void *env, const struct sym *s);
    void *env;
    /* Called when all sizes are known; false, after a diagnostic: nothing is written. NULL: always allowed. */
    bool (*allow)(void *env, struct program *p);
    void *allow_env;
};

/* An input or output of the model. */
struct io {
    struct buf *buf;
    const char *member; /* in NAME_inputs or NAME_outputs */
    bool produced;      /* its size is only known at run time */
    const char *cap;    /* if produced: the member with the caller's capacity */
    const char **dim;   /* [nd] if produced: the member that gives this dim; NULL: the caller knows it */
};
struct dim_member {
    const char *name;
    expr value;
}; /* members of NAME_outputs that tell sizes */

/* On a GPU: a buffer of the entry that would be elsewhere in C (the caller's inputs and outputs, small arrays on the
 * stack), or the cells in which kernels record faults. They are in the arena, after what the plan places. */
struct device_slot {
    const struct buf *buf; /* NULL: the fault cells */
    expr bytes;            /* rounded up to PLAN_ALIGN */
    int64_t offset;        /* static plans */
};

/* A constant in the weights: entries are aligned to 64 bytes. */
struct weight {
    const struct buf *buf;
    int64_t offset, bytes;
    const char *array; /* for strings: name of a C array, instead of an offset; otherwise NULL */
};

struct program {
    struct ctx *c;
    const struct module *m;
    const struct memory_plan *plan;
    const struct project_options *o;
    const char *name, *upper; /* identifier of the model, the same in capitals */
    const char *own;          /* prefix of the names of kernels and files: name, or name and target */
    const struct target *target;
    struct program **all; /* all variants in order of preference; only this one: n is 1 */
    int nall;
    VEC(struct io) ins, outs;
    VEC(const struct sym *) syms; /* input symbols */
    VEC(struct dim_member) out_dims;
    struct map sym_names; /* symbol -> C name */
    VEC(struct weight) weights;
    int64_t weights_bytes; /* including the header; for all variants, like the next two */
    int weights_entries;
    uint64_t weights_hash;
    enum weights_mode mode; /* never AUTO */
    struct emit_options emit;
    bool has_region;                /* some buffers or results have sizes that are only known at run time */
    bool threads;                   /* some variant has kernels with parallel loops */
    bool device;                    /* the arena is GPU memory, which the host can only copy to and from */
    VEC(struct device_slot) extras; /* device: in the order of the arena */
    int nfaults, nregions;          /* device: calls that may fault; places that allocate in the region */
    expr scratch;                   /* bytes that kernels need in addition to the plan: an index expression over input
                                     * symbols */
    bool is_static;                 /* the arena's size is a number */
    int64_t arena_bytes;            /* static: exact (without region) */
};

/* NULL after diagnostics. m: after the passes (lower/passes/passes.h). */
struct program *program_new(const struct module *m, const struct memory_plan *plan, const struct project_options *o);
/* The same with all variants of o: returns the first one, whose `all` lists them. Arena sizes are those of the
 * largest. */
struct program *programs_new(const struct module *m, const struct memory_plan *plan, const struct project_options *o);
/* The identifier for a model of this name; NULL: "model". */
const char *program_name(struct ctx *c, const char *name);
const char *program_capitals(struct ctx *c, const char *s);
bool program_name_taken(const char *s); /* used by the library, the build tools, or accompanying files; ignoring case */
/* The instruction sets that the CPU must have, for nn_cpu_lacks; NULL: none. */
const char *program_needs(const struct program *p);
bool program_any_needs(const struct program *p);      /* this one or another variant */
const char *program_targets(const struct program *p); /* "x86-64+x86-avx2" */
const char *program_sym(struct program *p, const struct sym *s);
/* Typical value of a symbol. */
int64_t program_reference(const struct program *p, const struct sym *s);
bool program_typical(void *env, expr leaf, int64_t *v); /* the same for x_eval_int; env: the program */
const struct weight *program_weight(const struct program *p, const struct buf *b);
/* Does the program include nn_pool.c, for users of POSIX threads? */
bool program_has_pool(const struct program *p);
/* Is it computed only from what the caller passes, so that the program knows it before anything runs? */
bool size_is_input(expr e);
const struct device_slot *program_extra(const struct program *p, const struct buf *b); /* NULL if none */
/* Bytes of the arena; if there is no fixed size, at typical sizes. */
int64_t program_arena(const struct program *p);
/* Are the weights a file that the caller loads? */
bool program_weights_file(const struct program *p);
/* Offset of the scratch area in a static plan. */
int64_t program_peak(const struct program *p);

/* ---- kernels.c: `name` is the program's */
struct emit_options kernel_options(struct ctx *c, const char *name, const struct project_options *o); /* without uses */
/* A new `uses` for one file of kernels; kernels have the same names in all files. */
struct emit_uses *kernel_uses(const struct module *m, const char *name, const struct emit_options *o);
int count_kernels(const struct module *m); /* called by the entry, not counting the parts that they launch */
/* Prints the kernels of m, and passes the files to `put` one after another. false: a `put` failed. */
typedef bool put_file_fn(void *env, const char *file, struct text *text);
bool kernel_files(const struct module *m, const char *name, const struct emit_options *o, put_file_fn *put, void *env);

/* ---- entry_run.c */
/* The text of a size that depends on the dims alone, an int64_t. `used` gets the symbols in it; *over becomes true if
 * it records overflow in `over`, an int that must be in scope. Both may be NULL. */
const char *program_size(struct program *p, expr e, struct map *used, bool *over);

/* ---- entry.c, entry_header.c, entry_cuda.c, info_tables.c, weights.c */
/* Names of the region's functions and of its type. */
struct region_words {
    const char *type, *alloc, *free;
};
const struct region_words *region_words(const struct program *p);
void device_init(struct program *p, struct text *out);   /* part of NAME_init: weights and arena on the device */
void device_close(struct program *p, struct text *out);  /* NAME_free */
void device_grow(struct text *out);                      /* part of NAME_run, after a run that lacked memory */
void device_ranges(struct program *p, struct text *out); /* macros that put ranges around the launches */
/* C code after config.grow: ensures that no run continues, now or later, with an arena that init would have refused. */
#define GROWN_IS_USABLE(indent)                                                                                        \
    indent "if (!m->config.arena || m->config.arena_size < m->error.need || (uintptr_t)m->config.arena % 64 != 0) "    \
           "{\n" indent "    m->ready = 0;\n" indent                                                                   \
           "    return nn_stop(&m->error, NN_EARG, \"grow gave an arena that is missing, too small or not aligned\", " \
           "NULL);\n" indent "}\n"

void entry_header(struct program *p, struct text *out);    /* NAME.h */
void entry_source(struct program *p, struct text *out);    /* NAME.c; with variants: chooses among them */
void entry_variant(struct program *p, struct text *out);   /* NAME_TARGET.c: plan and run of one variant */
void variants_header(struct program *p, struct text *out); /* NAME_variants.h: what NAME.c calls in them */
void kernels_header(struct program *p, struct text *out);  /* NAME_kernels.h */
/* Placeholders and values of NAME_info.c, for template_text. */
const char *const *info_values(struct program *p);
/* "f32[batch, 3]" of a logical shape. */
const char *shape_text(struct program *p, const struct buf *b);
/* Product of the dims as an index expression. */
expr buf_elements(struct ctx *c, const struct buf *b);
#endif
