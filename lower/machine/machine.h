/* What schedules know of a machine: numbers, in rows. A target (ir/loop/target.h) names its row; no constant of a
 * machine stands anywhere else. The rows are in cpus.c and gpus.c beside this file. */
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
    int latency;   /* cycles until the next one can use its result */
    double starts; /* in one cycle */
};
struct micro_speed { /* micro NULL ends a table */
    const struct micro *micro;
    int latency;
    double starts;
};
struct squares { /* of n x n cells that an instruction (lower/target/) transposes in registers; n 0 ends a table */
    int bytes, n;
    const char *instr;
    int planes; /* or of n x planes cells, the operand's one after another, of which each n become a row; 0: a square */
};
struct cache {
    int64_t bytes;
    double byte; /* cycles that a byte costs which comes from beyond it, besides the operations */
    int ways;    /* lines that a set holds; 0: not known */
};
/* The device of a GPU: how many threads take part, and what they share. */
struct gpu {
    int warp;                            /* threads that step together */
    int block_threads, few_threads;      /* of a block, at most; where there is little to do; both multiples of warp */
    int64_t few_cells;                   /* results with fewer cells do not fill the machine */
    int max_threads;                     /* of a block, whatever it does */
    int64_t max_grid_yz;                 /* blocks along y and z; along x there is no limit */
    int64_t shared_bytes, private_bytes; /* of a block; of a thread, in local memory */
    /* Products of matrices: cells of a block along each side, of a thread, steps of the sum at a time; sides and sums
     * shorter than `least` and `depth` are not worth it. */
    int tile, cell, depth, least;
    int warps;      /* along each side of the tile, where warps compute it */
    int results;    /* of a thread along N, at most, for other contractions */
    int64_t enough; /* threads that fill the machine */
    double launch;  /* cycles until a kernel has begun and ended */
};
struct machine {
    const char *name;
    struct register_file scalar, vector; /* for f32: scalar is what code without vectors has */
    bool loads_ahead;                    /* compilers move loads ahead of their uses: gcc, except for x86 */
    const struct operation *ops;
    const struct micro_speed *micros; /* besides micro_multiply_add; NULL: none */
    const struct squares *squares;    /* NULL: none */
    struct cache l1, l2;
    int64_t last_bytes;      /* that the last level keeps for a core; 0: l2 is the last */
    double memory_byte;      /* cycles for a byte of weights, which nothing has kept since the last run */
    double partial_sum_byte; /* cycles for a byte of a sum that waits in memory, there and back */
    int streams;             /* that hardware prefetching follows at a time */
    int follows;           /* bytes from an instruction's load to its next one, at most, that it reads ahead; 0: any */
    int line;              /* bytes of a cache line */
    int panel_vectors;     /* at most, of a panel of weights */
    int body;              /* multiply-adds in a loop's body, at most; without vectors: in a tile */
    int hides_call;        /* steps of a sum that hide a call behind it, of a function of vectors */
    int whole_tile;        /* cells of a tile of i32 sums without vectors, at most; 0: as many as body says */
    int stack_cells;       /* scratch of a row that lies on the stack, at most */
    int row_cells;         /* of a row whose stages are one kernel, at most */
    double fork;           /* cycles until several threads have begun a loop and ended it; 0: loops stay with one */
    int apart;             /* cells from one lane's to the next one's, at most, which shuffles make faster */
    double byte_tables;    /* vectors looked up in a cycle in 256 bytes, which registers hold; 0: they do not */
    double division;       /* cycles of a division of an index, which loops that became one need */
    bool excess;           /* no instruction rounds to 16-bit floats: between kernels they keep f32's precision */
    const struct gpu *gpu; /* NULL: a CPU */
};
extern const struct machine machine_c99, machine_sse2, machine_avx2, machine_avxvnni, machine_avx512,
    machine_avx512vnni, machine_avx512bf16, machine_amx, machine_neon, machine_dotprod, machine_i8mm,
    machine_cortex_a55, machine_rv64, machine_cortex_m4, machine_cortex_m55, machine_nvidia, machine_orin;

const struct operation *machine_op(const struct machine *m, enum xop op, enum dtype t); /* NULL: it has no such */
/* The operation that sums products: a fused one, else the addition. NULL: nothing is known of sums of that type. */
const struct operation *machine_multiply_add(const struct machine *m, enum dtype t);
/* Products that a micro-kernel adds in a cycle. */
double micro_products(const struct machine *m, const struct micro_speed *s);
/* Cycles of so many sums that go through memory, if a micro-kernel does it so, besides its steps. */
double micro_sums(const struct machine *m, const struct micro *micro, double cells);
/* Of so many cells: those that fill no vector are computed in pieces of powers of two. */
static inline int64_t vectors_and_pieces(int64_t cells, int64_t lanes) {
    int64_t vectors = cells / lanes;
    for (int64_t left = cells % lanes; left; left &= left - 1) vectors++;
    return vectors;
}
/* Products of factors that lie as t which are summed as `sum` in a cycle, by the first micro-kernel for them; 0:
 * nothing is known of such sums. */
double machine_products(const struct machine *m, enum dtype t, enum dtype sum);
/* Steps of a sum that the first micro-kernel takes at a time for operands as wide as t, and floats if t is; 1: there is
 * none. */
int machine_group(const struct machine *m, enum dtype t);
/* So many channels of what it multiplies as t lie side by side, in whole vectors: as the first micro-kernel takes them
 * of which all channels are a multiple; the lanes of a vector, if none does. */
int machine_block(const struct machine *m, enum dtype t, int64_t channels);
/* Of so many rows that lie as many bytes apart those whose lines meet in a set of the first level of cache which has
 * not ways for them. */
int machine_colliding(const struct machine *m, int rows, int64_t apart);
/* Of a vector; 1: there are no vectors. */
static inline int machine_lanes(const struct machine *m, enum dtype t) {
    return m->vector.count ? m->vector.bits / (8 * dtype_bytes(t)) : 1;
}
/* That hold the sums of a tile: vectors where there are some. */
static inline int machine_registers(const struct machine *m) {
    return m->vector.count ? m->vector.count : m->scalar.count;
}
#endif
