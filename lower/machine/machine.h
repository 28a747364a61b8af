/* What schedules know of a machine: numbers, in rows. A target (ir/loop/target.h) names its row; constants of machines
 * appear nowhere else. The rows are in cpus.c and gpus.c beside this file. */
#ifndef NN_LOWER_MACHINE_H
#define NN_LOWER_MACHINE_H
#include "ir/base/dtype.h"
#include "ir/expr/expr.h"
#include "lower/micro/micro.h"

struct register_file { /* count 0: there is none */
    int count, bits;
};
struct operation { /* op POISON ends a table */
    enum xop op;
    enum dtype type;
    int latency;   /* cycles until a dependent operation can start */
    double starts; /* per cycle */
};
struct micro_speed { /* micro NULL ends a table */
    const struct micro *micro;
    int latency;
    double starts;
};
struct squares { /* n x n cells that an instruction (lower/target/) transposes in registers; n 0 ends a table */
    int bytes, n;
    const char *instr;
    int planes; /* or n x planes cells, contiguous in the operand, each n of which become a row of the result; 0: a
                 * square */
};
static inline int squares_rows(const struct squares *q) { return q->planes ? q->planes : q->n; } /* of the result */
struct cache {
    int64_t bytes;
    double byte; /* cycles that a byte from beyond this cache costs, in addition to the operations */
    int ways;    /* lines of a set; 0: unknown */
};
/* A GPU: how many threads there are, and what they share. */
struct gpu {
    int warp;                            /* threads that step together */
    int block_threads, few_threads;      /* at most per block; if there is little to do; both multiples of warp */
    int64_t few_cells;                   /* results with fewer cells do not fill the machine */
    int max_threads;                     /* hardware limit per block */
    int64_t max_grid_yz;                 /* blocks along y and z; x has no such limit */
    int64_t shared_bytes, private_bytes; /* per block; per thread, in local memory */
    /* Matrix products: side of a block's tile, side of a thread's square, steps of the sum at a time. Sides shorter
     * than `least`, and sums shorter than `depth`, do not pay. */
    int tile, cell, depth, least;
    int warps;      /* along each side of the tile, if warps compute it */
    int results;    /* at most per thread, along N, for other contractions */
    int64_t enough; /* threads that fill the machine */
    double launch;  /* cycles to start and end a kernel */
};
struct machine {
    const char *name;
    struct register_file scalar, vector; /* for f32; scalar is for code without vectors */
    bool loads_ahead;                    /* compilers hoist loads above their uses: gcc, except on x86 */
    const struct operation *ops;
    const struct micro_speed *micros; /* in addition to micro_multiply_add; NULL: none */
    const struct micro_speed *blocks; /* .. of signed bytes times bytes, for sums of blocks; NULL: none */
    const struct squares *squares;    /* NULL: none */
    struct cache l1, l2;
    int64_t last_bytes;      /* a core's share of the last level of cache; 0: l2 is the last */
    double memory_byte;      /* cycles per byte of weights that no cache has kept since the last run */
    double partial_sum_byte; /* cycles per byte of a partial sum that is stored to memory and loaded again */
    int streams;             /* that the hardware prefetches at the same time */
    int follows;             /* greatest stride, in bytes, between successive loads of one instruction that is still
                              * prefetched; 0: any */
    int line;                /* bytes of a cache line */
    double alone;            /* times as long that a line takes whose neighbours are not read, and so not prefetched */
    int panel_vectors;       /* most vectors in a panel of weights */
    int body;                /* most multiply-adds in a loop's body; without vectors: in a tile */
    int hides_call;          /* steps of a sum that hide the cost of calling a vector function */
    int whole_tile;          /* most cells of a tile of i32 sums without vectors; 0: as many as body says */
    int stack_cells;         /* most scratch cells of a row that go on the stack */
    int row_cells;           /* most cells of a row whose stages become one kernel */
    double fork;             /* cycles to start and end a loop on several threads; 0: loops stay serial */
    int apart;               /* greatest stride, in cells, at which shuffled vector loads are faster than scalar ones */
    double byte_tables;      /* vectors per cycle that are looked up in a table of 256 bytes in registers; 0: not
                              * possible */
    double division;         /* cycles to divide an index, which fused loops have to do */
    const struct gpu *gpu;   /* NULL: a CPU */
};
extern const struct machine machine_c99, machine_sse2, machine_avx2, machine_avxvnni, machine_avx512,
    machine_avx512vnni, machine_avx512bf16, machine_amx, machine_neon, machine_dotprod, machine_i8mm,
    machine_cortex_a55, machine_rv64, machine_cortex_m4, machine_cortex_m55, machine_nvidia, machine_orin;

const struct operation *machine_op(const struct machine *m, enum xop op, enum dtype t); /* NULL: there is none */
/* The operation that accumulates products: a fused one, otherwise an addition. NULL: unknown for sums of that type. */
const struct operation *machine_multiply_add(const struct machine *m, enum dtype t);
/* Products that a micro-kernel adds per cycle. */
double micro_products(const struct machine *m, const struct micro_speed *s);
/* Additional cycles if the micro-kernel's sums go through memory, for that many cells. */
double micro_sums(const struct machine *m, const struct micro *micro, double cells);
/* Number of vectors for that many cells, counting the remainder in pieces of powers of two. */
static inline int64_t vectors_and_pieces(int64_t cells, int64_t lanes) {
    int64_t vectors = cells / lanes;
    for (int64_t left = cells % lanes; left; left &= left - 1) vectors++;
    return vectors;
}
/* Products per cycle of factors stored as t, summed as `sum`, by the first micro-kernel for them; 0: unknown. */
double machine_products(const struct machine *m, enum dtype t, enum dtype sum);
/* Steps of a sum that the first micro-kernel takes at a time, for operands as wide as t, and floats if t is; 1: there
 * is none. */
int machine_group(const struct machine *m, enum dtype t);
/* Channels per block of what is multiplied as t, in whole vectors: as the first micro-kernel takes them that divides
 * the number of channels; if none does, the lanes of a vector. */
int machine_block(const struct machine *m, enum dtype t, int64_t channels);
/* The number of rows, at that distance in bytes, whose lines collide: they map to sets of the first level of cache that
 * have not enough ways for them. */
int machine_colliding(const struct machine *m, int rows, int64_t apart);
/* Do these squares fit what is moved, and then, at which distance in bytes are the rows that they write? */
typedef bool squares_fn(void *env, const struct squares *q, int64_t *apart);
/* The largest squares that fit and whose rows do not collide, since the rest of their lines is written next; if all
 * collide, the largest that fit. NULL: none do. */
const struct squares *machine_squares(const struct machine *m, squares_fn *fits, void *env);
/* Do products of bytes, neither of which is constant, take less time than those of floats? (computed_bytes.c) */
bool machine_prefers_bytes(const struct machine *m);
/* Of a machine that has rows in `blocks`: columns and rows of weights from which products of bytes, with the rounding
 * of what they multiply, take less time than those of floats. */
int64_t machine_least_blocks(const struct machine *m);
/* And is a sum of a block fastest if both of its factors are signed bytes? */
static inline bool machine_adds_signed_blocks(const struct machine *m) { return m->blocks->micro->b == I8; }
/* Lanes of a vector; 1: there are no vectors. */
static inline int machine_lanes(const struct machine *m, enum dtype t) {
    return m->vector.count ? m->vector.bits / (8 * dtype_bytes(t)) : 1;
}
/* Registers that can hold the sums of a tile: vectors if there are any. */
static inline int machine_registers(const struct machine *m) {
    return m->vector.count ? m->vector.count : m->scalar.count;
}
#endif
