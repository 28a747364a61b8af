/* The part of the output before the kernels: vector types and small functions, each printed only if used. The
 * expression printer (c_expr.c) asks for the name of an operation; whatever is asked for is printed. */
#ifndef NN_CODEGEN_PRELUDE_H
#define NN_CODEGEN_PRELUDE_H
#include "codegen/emit.h"

struct emit_uses {
    struct ctx *c;
    struct map seen;                       /* interned name -> itself: types and helpers in use */
    VEC(const char *) types, helpers, fns; /* their texts, each after those that it needs */
    struct names globals;                  /* C names of procedures, functions and tables */
    struct map procs, fn_names;            /* proc -> name; fn, lanes -> name */
    bool math, text, complex, intrinsics;  /* headers needed; text: nn_text.h, complex: nn_rt.h */
    bool no_unroll;                        /* NN_NO_UNROLL */
    bool threads;                          /* nn_threads.h */
};

int emit_lanes(const struct emit_options *o); /* of f32; 1: no vectors */
/* Has the text GNU extensions (attributes, builtins)? */
bool emit_gnu(const struct emit_options *o);

/* Is the text CUDA C++? */
bool emit_cuda(const struct emit_options *o);
/* Words that differ between C and CUDA: before a function of the prelude, before a table of constants, and for a
 * pointer without aliases. */
struct emit_words {
    const char *fn, *table, *restricted;
};
const struct emit_words *emit_words(const struct emit_options *o);

/* C type of a value type; IDX gives `ptrdiff_t`, BOOL `int`. */
const char *c_value_type(enum dtype t);
/* Vector type of a value type: "nn_f32x8". BOOL: a mask of 32-bit lanes, 0 or -1. */
const char *c_vector_type(const struct emit_options *o, enum dtype t, int lanes);
/* Name of the function for an operation on values of `type`; lanes 1: scalar. Operators of C have none: see
 * c_operator. */
const char *c_op(const struct emit_options *o, enum xop op, enum dtype type, int lanes);
/* The same for X_MIN and X_MAX if one of the target's clamps can do it. */
const char *c_clamp(const struct emit_options *o, enum xop op, enum dtype type, int lanes);
/* The same for X_MIN and X_MAX of floats if either is equally likely, so that a branch would be unpredictable; NULL: no
 * special one. */
const char *c_open_choice(const struct emit_options *o, enum xop op, enum dtype type);
/* The C operator of op on `type` ("+"), or NULL if a function is needed. */
const char *c_operator(enum xop op, enum dtype type, int lanes);
const char *c_splat(const struct emit_options *o, enum dtype type, int lanes);
const char *c_select(const struct emit_options *o, enum dtype type, int lanes);
/* Conversions; NULL: a plain C cast (scalar only). */
const char *c_cast(const struct emit_options *o, enum dtype to, enum dtype from, int lanes);
/* The nearest i32 of an f32 that is known to have one; small: of one up to 2^22. NULL: round, then convert. */
/* Of an i32, clamped to the range of I8 or U8; NULL: the target has no instruction for it. */
const char *c_clamp_to(const struct emit_options *o, enum dtype range);
const char *c_nearest(const struct emit_options *o, int lanes, bool small);
const char *c_bitcast(const struct emit_options *o, enum dtype to, enum dtype from, int lanes);
const char *c_round(const struct emit_options *o, enum dtype storage, int lanes);
/* Storage to value and back, for single elements; NULL: C's conversions are enough. */
const char *c_decode(const struct emit_options *o, enum dtype storage);
const char *c_encode(const struct emit_options *o, enum dtype storage);
/* The code of a value in a float type of one or two bytes (not F32). */
unsigned c_float_code(enum dtype storage, double v);
/* Vector load and store of a storage type, at any alignment. anew: the load must not be hoisted out of a loop, although
 * it gives the same value in each iteration. */
const char *c_vload(const struct emit_options *o, enum dtype storage, int lanes, bool anew);
/* Loads every second or third cell. */
const char *c_vload_apart(const struct emit_options *o, enum dtype storage, int lanes, int apart);
/* Loads alternately from two places that distance apart; NULL: none for this type. */
const char *c_vload_turns(const struct emit_options *o, enum dtype storage, int lanes);
/* Loads that many cells of a block from p on, then those of the next block; NULL: none for this type. */
const char *c_vload_over(const struct emit_options *o, enum dtype storage, int lanes);
struct runs {
    int64_t run, step, at, cells;
};
/* Loads the cells at, at + step .. of a vector, each into `run` lanes; NULL: none for this type. */
const char *c_vload_runs(const struct emit_options *o, enum dtype storage, int lanes, struct runs r);
/* p[i] for each lane of i, a vector of i32; NULL: there are no vectors of that type. */
const char *c_look_up(const struct emit_options *o, enum dtype storage, int lanes, bool whole_bytes);
const char *c_vstore(const struct emit_options *o, enum dtype storage, int lanes);
/* f(acc, v): acc op lane 0, op lane 1, ... in this order; each result is rounded to the storage type. */
const char *c_reduce_lanes(const struct emit_options *o, enum red_op op, enum dtype storage, int lanes);
/* The instruction's row, if the target has it and C need not be strict; otherwise NULL (c_instr.c). */
const struct instr_row *emit_instr(const struct emit_options *o, const char *name);
void c_use_instr(const struct emit_options *o, const struct instr_row *row); /* adds its header and helper */
/* A vector of a storage type in memory, at any alignment. */
const char *c_memory_type(const struct emit_options *o, enum dtype storage, int lanes);
/* Index helpers: "guard", "floordiv", "floormod", "min", "max". */
const char *c_index_helper(const struct emit_options *o, const char *what);
/* Defines a helper whose text another file gives; the pointer is kept. */
void emit_define_fn(struct emit_uses *u, const char *text);
#endif
