/* What a target and an instruction are: row types. The rows stand in lower/target/, beside nothing but their texts. */
#ifndef NN_IR_TARGET_H
#define NN_IR_TARGET_H
#include "ir/loop/loop.h"
#include <string.h>

enum target_class { TC_CPU, TC_MCU, TC_GPU };
enum emit_kind { EMIT_C_SCALAR, EMIT_C_VECTOR, EMIT_CUDA };

/* Who runs an instruction: a thread alone, or the threads of a warp together. The body of the latter begins with a loop
 * over them, and its operands are fragments: registers of which each has a part, dims [threads, cells of each].
 * SCOPE_TILE: a thread, for a product of matrices of any sizes, whose operands C, A and B are in memory
 * (ir/loop/tile_nest.h). */
enum instr_scope { SCOPE_LANE, SCOPE_WARP, SCOPE_TILE };

/* An instruction: C text with holes and a reference body in loop IR. `tensorize` replaces a nest equal to the body. */
enum { STRIDE_ANY = -1 }; /* always the same number, which the nest says: {step hole} in the text */
struct instr_hole {
    const char *name;
    enum dtype type;
    int64_t strides[4]; /* cells per loop of the body; not for fragments. One of them may be any */
};
struct instr_row {
    const char *name;
    enum instr_scope scope;
    const char *body;           /* loop IR text of one procedure whose params are the holes */
    struct instr_hole holes[6]; /* name NULL ends */
    const char *helper;         /* C function that the text calls; may be NULL */
    const char *files[2];       /* templates of such functions: for all rows that name it; INSTR is the row's name */
    /* C text without `;`: {hole} is the operand as an lvalue, {&hole} its address, {step hole} the cells from one
     * iteration to the next along its loop of any stride, {sizes} an initialiser with the sizes of a product of tiles;
     * NULL: not printable */
    const char *c;
    const char *begin, *end; /* of the function that has such instructions, as C text without `;`; may be NULL */
    /* Where machines leave open in which order they sum and how they round: by how many units of 2^-23 of what the body
     * gives on the operands' absolute values a result may differ from the body's. 0: it is the body's, bit for bit. */
    int bound;
    struct {
        int lanes, groups, side; /* of SCOPE_TILE: the extents of the last three loops */
        bool whole;              /* all groups, no fewer */
    } tile;
    bool moves; /* cells, as they are: the operands may be of any one type that is as wide as the holes' */
    /* The text is right where that operand's cells lie within these two; hole NULL: wherever they lie. */
    struct {
        const char *hole;
        int64_t lo, hi;
    } within;
};

/* How a vector operation is spelled for which C has no operator. In the text: %a %b %c the operands, $T the vector type
 * and what else codegen/prelude.c fills in. X_LOAD and X_ROUND with a storage type: a load from %a with conversion, a
 * store of %a to %b with rounding; of one lane, halves only: the value of the code %a, the code of the value %a.
 * X_TOIDX: the cells of the table %a at the places %b, a vector of i32; of bytes, a table of 256. X_CAST: %a rounded to
 * the type, in registers. X_RINT with I32: the nearest integer of %a, which fits (but see `saturates`). */
struct spell_row {
    enum xop op;
    enum dtype type;
    int lanes;
    const char *c;
};

/* A bare machine without an operating system, and the emulator's machine that plays it. What does not fit the chip goes
 * to memory outside of it. */
struct board {
    const char *name, *machine; /* "MPS2 with AN386", of qemu-system-arm */
    uint32_t vectors, flash, flash_bytes, ram, ram_bytes, more, more_bytes;
};

struct machine;
struct target {
    const char *name, *help; /* "x86-avx2" */
    enum target_class cls;
    enum emit_kind emit;
    const struct machine *machine; /* its numbers (lower/machine/machine.h) */
    const char *cflags;            /* of all files: -march=armv8-a */
    /* What the CPU must have besides, in words of nn_cpu_lacks (runtime_stub/nn_cpu.c); the kernels' files allow it to
     * the compiler by attribute, and nothing else of the program may use it. NULL: nothing. */
    const char *needs, *attribute;
    const char *headers;           /* "#include <immintrin.h>\n" */
    const struct spell_row *spell; /* op POISON ends; may be NULL */
    /* X_MIN and X_MAX where %a was computed (so it is no signalling NaN) and %b is a number, by which not even the sign
     * of a zero is in doubt; X_MIN with I8 or U8: the i32 %a, clamped to that type's range. NULL: as elsewhere. */
    const struct spell_row *clamps;
    const struct instr_row *const *instrs; /* NULL ends; may be NULL */
    const char *cc;                        /* compiler for run/verify, e.g. "aarch64-linux-gnu-gcc" */
    const char *runner;                    /* how to run a program: "qemu-aarch64 -L ..." or NULL */
    const struct board *board;             /* no operating system: startup, memory map and system calls come along */
    bool branches;                         /* compilers make branches of a choice between two floats */
    bool saturates;                        /* X_RINT with I32 in `spell` is right for any %a, as casts are defined */
    bool bounded;                          /* run-time sizes are replaced by their bounds (bare metal) */
};
/* NULL if unknown; "native" and "auto" are the machine's own (lower/target/targets.c). */
const struct target *target_by_name(const char *name);
const struct instr_row *instr_by_name(const char *name); /* of any target; NULL if unknown */
/* Is a dim of b, an operand of that instruction, the one along which the threads of a warp differ? */
static inline bool instr_spreads(const struct stmt *instr, const struct buf *b, int dim) {
    return instr && instr->u.instr.row->scope == SCOPE_WARP && b->scope == SC_REG && dim == b->nd - 2;
}
/* The loop along which the operand may have any stride; -1: there is none. */
static inline int instr_any_stride(const struct instr_hole *h) {
    for (int k = 0; k < (int)(sizeof h->strides / sizeof *h->strides); k++)
        if (h->strides[k] == STRIDE_ANY) return k;
    return -1;
}
/* Is b of the type of that hole, beside another operand? */
static inline bool instr_has_type(const struct instr_row *row, const struct instr_hole *h, const struct buf *b,
                                  const struct buf *other) {
    return row->moves ? b->type == other->type && dtype_bytes(b->type) == dtype_bytes(h->type) : b->type == h->type;
}
/* May b be that operand? */
static inline bool instr_holds(const struct instr_row *row, const char *hole, const struct buf *b) {
    const char *limited = row->within.hole;
    return !limited || strcmp(limited, hole) != 0 || buf_holds_within(b, row->within.lo, row->within.hi);
}
/* The instruction whose body holds s, or NULL. */
static inline const struct stmt *instr_around(const struct stmt *s) {
    while (s && s->kind != S_INSTR) s = stmt_parent(s);
    return s;
}
const struct target *target_native(void); /* the best row for the machine that gcc2nn runs on; never NULL */
/* Why its code cannot run on the CPU that gcc2nn runs on, "the CPU has no avx2"; NULL: it can, as far as is known. */
const char *target_lacks(const struct target *t);
extern const struct target *const nn_targets[]; /* NULL ends */
#endif
