/* Row types for targets and instructions. The rows are in lower/target/, which contains nothing but their texts. */
#ifndef NN_IR_TARGET_H
#define NN_IR_TARGET_H
#include "ir/loop/loop.h"
#include <string.h>

enum target_class { TC_CPU, TC_MCU, TC_GPU };
enum emit_kind { EMIT_C_SCALAR, EMIT_C_VECTOR, EMIT_CUDA };

/* Who runs an instruction: a single thread, or the threads of a warp together. In the latter case the body begins with
 * a loop over them, and operands are fragments: registers of which each thread has a part, dims [threads, cells of
 * each]. SCOPE_TILE: a single thread, for a product of matrices of any size, whose operands C, A and B are in memory
 * (ir/loop/tile_nest.h). */
enum instr_scope { SCOPE_LANE, SCOPE_WARP, SCOPE_TILE };

/* An instruction: C text with holes and a reference body in loop IR. `tensorize` replaces a nest equal to the body. */
enum { STRIDE_ANY = -1 }; /* any constant stride, taken from the nest: {step hole} in the text */
struct instr_hole {
    const char *name;
    enum dtype type;
    int64_t strides[4]; /* strides in cells along each loop of the body; not for fragments. One of them may be any */
};
struct instr_row {
    const char *name;
    enum instr_scope scope;
    const char *body;           /* loop IR text of one procedure whose params are the holes */
    struct instr_hole holes[6]; /* name NULL ends */
    const char *helper;         /* C function that the text calls; may be NULL */
    const char *files[2];       /* templates of such functions, common to all rows that name them; INSTR is the row's
                                 * name */
    /* C text without `;`: {hole} is the operand as an lvalue, {&hole} its address, {step hole} its stride in cells
     * along the loop of any stride, {sizes} an initialiser with the sizes of a product of tiles; NULL: not printable */
    const char *c;
    const char *begin, *end; /* for a function with such instructions, as C text without `;`; may be NULL */
    /* If machines may sum in any order and round differently: by how many units of 2^-23 of the body's result on the
     * operands' absolute values a result may differ. 0: bit for bit the body's result. */
    int bound;
    struct {
        int lanes, groups, side; /* of SCOPE_TILE: the extents of the last three loops */
        bool whole;              /* only all groups, not fewer */
    } tile;
    bool moves; /* moves cells unchanged: operands may have any single type of the same width as the holes' */
    /* The instruction is only correct if that operand's cells are in this range; hole NULL: always correct. */
    struct {
        const char *hole;
        int64_t lo, hi;
    } within;
};

/* The spelling of a vector operation for which C has no operator. In the text: %a %b %c are the operands, $T the vector
 * type; codegen/prelude.c fills in more. X_LOAD and X_ROUND with a storage type: a load from %a with conversion, a
 * store of %a to %b with rounding; with one lane, for halves only: the value of the code %a, the code of the value %a.
 * X_TOIDX: the cells of the table %a at the indices %b, a vector of i32; for bytes, a table of 256. X_CAST: %a rounded
 * to the type, in registers. X_RINT with I32: the nearest integer to %a, which must fit (but see `saturates`). */
struct spell_row {
    enum xop op;
    enum dtype type;
    int lanes;
    const char *c;
};

/* A bare machine without operating system, and the emulator's equivalent. What does not fit into the chip goes to
 * external memory. */
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
    /* What the CPU must have in addition, in terms of nn_cpu_lacks (runtime_stub/nn_cpu.c). The kernels' files enable
     * it by an attribute, and nothing else in the program may use it. NULL: nothing. */
    const char *needs, *attribute;
    const char *headers;           /* "#include <immintrin.h>\n" */
    const struct spell_row *spell; /* op POISON ends; may be NULL */
    /* X_MIN and X_MAX where %a was computed (so it is no signalling NaN), and %b is a number that leaves no doubt about
     * the sign of a zero; X_MIN with I8 or U8: the i32 %a, clamped to that type's range. NULL: nothing special. */
    const struct spell_row *clamps;
    const struct instr_row *const *instrs; /* NULL ends; may be NULL */
    const char *cc;                        /* compiler for run/verify, e.g. "aarch64-linux-gnu-gcc" */
    const char *runner;                    /* how to run a program: "qemu-aarch64 -L ..." or NULL */
    const struct board *board;             /* if there is no operating system: startup code, memory map and system calls
                                            * are included */
    bool branches;                         /* compilers turn a choice between two floats into a branch */
    bool saturates;                        /* X_RINT with I32 in `spell` is correct for any %a, with the semantics of
                                            * casts */
    bool bounded;                          /* run-time sizes are replaced by their bounds (bare metal) */
};
/* NULL if unknown; "native" and "auto" mean the host's own (lower/target/targets.c). */
const struct target *target_by_name(const char *name);
const struct instr_row *instr_by_name(const char *name); /* of any target; NULL if unknown */
/* Is this dim of b, an operand of that instruction, the one along which the threads of a warp differ? */
static inline bool instr_spreads(const struct stmt *instr, const struct buf *b, int dim) {
    return instr && instr->u.instr.row->scope == SCOPE_WARP && b->scope == SC_REG && dim == b->nd - 2;
}
/* The loop along which the operand may have any stride; -1: there is none. */
static inline int instr_any_stride(const struct instr_hole *h) {
    for (int k = 0; k < (int)(sizeof h->strides / sizeof *h->strides); k++)
        if (h->strides[k] == STRIDE_ANY) return k;
    return -1;
}
/* Does b have the hole's type, given another operand? */
static inline bool instr_has_type(const struct instr_row *row, const struct instr_hole *h, const struct buf *b,
                                  const struct buf *other) {
    return row->moves ? b->type == other->type && dtype_bytes(b->type) == dtype_bytes(h->type) : b->type == h->type;
}
/* Can b be that operand? */
static inline bool instr_holds(const struct instr_row *row, const char *hole, const struct buf *b) {
    const char *limited = row->within.hole;
    return !limited || strcmp(limited, hole) != 0 || buf_holds_within(b, row->within.lo, row->within.hi);
}
/* The instruction whose body contains s, or NULL. */
static inline const struct stmt *instr_around(const struct stmt *s) {
    while (s && s->kind != S_INSTR) s = stmt_parent(s);
    return s;
}
const struct target *target_native(void); /* the best row for the machine that gcc2nn runs on; never NULL */
/* Why its code cannot run on the host's CPU, "the CPU has no avx2"; NULL: it can, as far as is known. */
const char *target_lacks(const struct target *t);
extern const struct target *const nn_targets[]; /* NULL ends */
#endif
