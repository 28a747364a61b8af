/* Inside of the interpreter: the register code that a procedure is compiled to, and the machine that runs it.
 *
 *   eval.c          arguments, layouts, constants: from the caller's arrays to buffers and back
 *   compile.c  statements to code
 *   access.c   index arithmetic, where values are hoisted to, bounds checks
 *   expr.c     expressions to code
 *   vm.c       runs the code
 *   strip.c    runs straight innermost loops a strip of passes at a time
 *
 * A procedure is compiled once per run. Registers are 64 bits wide and typed by the instructions that use them. */
#ifndef NN_IR_LOOP_EVAL_INT_H
#define NN_IR_LOOP_EVAL_INT_H
#include "ir/base/vec.h"
#include "ir/eval/eval.h"
#include "ir/loop/foreign.h"
#include <setjmp.h>

/* All members alias in the low bits (little endian): bitcasts are plain moves. */
union reg {
    int64_t l;
    uint64_t w;
    int32_t i;
    uint32_t u;
    float f;
    double d;
};

#define EACH_INT(O, op) O(op, I32) O(op, U32) O(op, I64) O(op, U64)
#define EACH_FLT(O, op) O(op, F32) O(op, F64)
#define EACH_NUM(O, op) EACH_INT(O, op) EACH_FLT(O, op)
/* Typed arithmetic: a = op(b, c, d). Their codes are grouped in this order; expr.c maps (xop, type) to them.
 */
// clang-format off
#define VALUE_OPS(O) \
    EACH_NUM(O, ADD) EACH_NUM(O, SUB) EACH_NUM(O, MUL) EACH_NUM(O, DIV) EACH_NUM(O, MOD) EACH_NUM(O, FMA) \
    EACH_NUM(O, MIN) EACH_NUM(O, MAX) EACH_NUM(O, NEG) EACH_NUM(O, ABS) \
    EACH_FLT(O, SQRT) EACH_FLT(O, FLOOR) EACH_FLT(O, CEIL) EACH_FLT(O, TRUNC) EACH_FLT(O, RINT) \
    EACH_INT(O, AND) EACH_INT(O, OR) EACH_INT(O, XOR) EACH_INT(O, NOT) EACH_INT(O, SHL) EACH_INT(O, SHR)
// clang-format on
#define COMPARE_OPS(O) EACH_NUM(O, LT) EACH_NUM(O, LE) EACH_NUM(O, EQ) EACH_NUM(O, NE)
#define TYPED_OPS(O)   VALUE_OPS(O) COMPARE_OPS(O)

/* The others. R: registers; off = R[c] + R[d] * imm is the cell of an access, b its buffer's slot. */
// clang-format off
#define PLAIN_OPS(O) \
    O(END)                      /* of the procedure */ \
    O(MOV)                      /* R[a] = R[b]; x: bytes that matter (strips) */ \
    O(MOV2)                     /* two registers: elements of 16 bytes */ \
    O(MADD)                     /* R[a] = R[b] + R[c] * imm */ \
    O(MADDR)                    /* R[a] = R[b] + R[c] * R[d] * imm */ \
    O(INC)                      /* R[a] += imm */ \
    O(INCR)                     /* R[a] += R[b] * imm */ \
    O(FDIV) O(FMOD)             /* floor division and modulo of indices; by 0: 0 */ \
    O(NOTB)                     /* logical */ \
    O(SEL)                      /* R[a] = R[b] ? R[c] : R[d], both computed; x: bytes */ \
    O(CAST)                     /* R[a] = R[b]; x: from * 64 + to, value types */ \
    O(ROUND)                    /* R[a] = R[b] through storage type x; imm: value type */ \
    O(CMPSTR)                   /* R[a] < 0, 0, > 0: order of the strings at R[b], R[c] */ \
    O(TEXT)                     /* R[a]: the string of R[a + 1] bytes from that cell on; imm as in accesses */ \
    O(NATIVE)                   /* R[a] = function b of C on the registers of list c */ \
    O(JMP) O(JZ) O(JLE0)        /* by imm instructions: always; R[a] == 0; R[a] <= 0 */ \
    O(JOUT)                     /* when R[a] outside of [0, R[b]) */ \
    O(LOOP)                     /* R[a] = 0; R[b] passes; none: by imm */ \
    O(NEXT)                     /* ++R[a] < R[b]: by imm */ \
    O(STRIP)                    /* as LOOP; the body can run in strips: number c */ \
    O(PASS)                     /* a pass of a while: fuel; R[a] passes, at most R[b] when b >= 0 */ \
    O(CHK)                      /* R[a] in [0, R[b]), else the fault of site imm */ \
    O(CHKRANGE)                 /* R[a] >= 0 and R[b] < R[c] */ \
    O(GUARD)                    /* R[a] = R[b] in [0, R[c]) ? R[b] : 0 and the fault flag; imm: site */ \
    O(LD_BOOL) O(LD_I8) O(LD_U8) O(LD_I16) O(LD_U16) O(LD_32) O(LD_64) O(LD_128) O(LD_F16) O(LD_BF16) O(LD_SUB) \
    O(ST_BOOL) O(ST_8) O(ST_16) O(ST_32) O(ST_64) O(ST_128) O(ST_F16) O(ST_BF16) O(ST_SUB)   /* SUB: x is the type */ \
    O(DIM) O(STRIDE)            /* R[a] = dim, stride c of buffer b */ \
    O(BIND)                     /* geometry of parameter b: dims in list imm */ \
    O(RESULT)                   /* as ALLOC, of a parameter whose size the run finds; the first time only */ \
    O(ALLOC)                    /* buffer b, dims in list imm, fill in R[c] if c >= 0 */ \
    O(VIEW)                     /* buffer b: the storage of the buffer last in list imm, from cell R[c] on */ \
    O(DROP) O(FREE) O(LIVE)     /* buffer b: end of block; free statement; fault when freed */ \
    O(SWAP)                     /* buffers b, c */ \
    O(SIZE)                     /* R[a] in R[b] .. R[c]; imm: site */ \
    O(CHECK)                    /* R[a] == 0: fault of site imm */ \
    O(CALL)                     /* call imm */ \
    O(FOREIGN)                  /* function imm of the unit's */ \
    O(PREFETCH)                 /* buffer b, cell R[a] */
// clang-format on

enum eop {
#define T(op, t) V_##op##_##t,
#define P(op)    V_##op,
    TYPED_OPS(T) PLAIN_OPS(P)
#undef T
#undef P
        V_COUNT
};

struct ins {
    uint16_t op, x;
    int32_t a, b, c, d;
    int64_t imm;
};
typedef VEC(struct ins) code_vec;

/* Where an instruction that may fault stands, for the message. */
struct site {
    const struct buf *buf;
    int dim;
    const struct stmt *stmt;
};
struct call_info {
    const struct proc *callee;
    int nbufs, nargs;
    int *slots, *regs;
};
struct foreign_info {
    const struct foreign *fn;
    int *slots, *base, *var, *from; /* of each operand: cell R[base] + R[var] * coef on, all cells of dims `from` on */
    int64_t *coef;
    int *regs; /* of its numbers */
};
/* A buffer of a procedure. Geometry that is constant is known at compile time. */
struct slot {
    const struct buf *buf;
    bool param, konst, freed, live;
    bool late; /* an output whose dims depend on sizes that the procedure computes */
    int level; /* loop level that holds its alloc (0 for parameters and constants) */
    bool *dim_known, *stride_known;
    int64_t *dim, *stride;
};
/* A symbol whose value the caller does not pass: taken from a parameter's dim. */
struct infer {
    const struct sym *sym;
    int reg, param, dim;
};

struct strip;
/* Passes from which strips pay; how many of their statements take as long as one elsewhere, and as much fuel. */
enum { STRIP_MIN = 8, STRIP_FUEL = 8 };
struct unit {
    const struct proc *proc;
    struct ins *code;
    int ncode, nregs;
    union reg *init; /* [nregs] constants preset */
    VEC(struct slot) slots;
    int nparams;
    VEC(int) symregs;
    VEC(struct infer) infers;
    VEC(int *) lists;
    VEC(struct site) sites;
    VEC(struct call_info) calls;
    VEC(struct foreign_info) foreigns;
    VEC(struct strip *) strips;
    bool bad, refused; /* EVAL_BAD, or EVAL_REFUSED: with the reason in the message */
    char message[256];
};

/* Storage of one buffer. */
struct cells {
    char *data;
    uint8_t *shadow;         /* 1: defined; NULL: not tracked, or all defined */
    int64_t n, undef, bytes; /* cells with padding; cells not yet stored; bytes counted against the limit */
    bool owned;              /* data is ours to free */
};
struct rbuf {
    char *data;
    uint8_t *shadow;
    struct cells *cells;
    int64_t *dim, *stride;
};
struct frame {
    const struct unit *u;
    union reg *r;
    struct rbuf *b;
    int64_t *geo;
};

struct run {
    struct module *m;
    const struct eval_options *o;
    struct arena arena;
    struct map units, consts;             /* proc -> unit, constant -> cells */
    VEC(struct cells *) const_list, kept; /* kept: buffers of that scope, until the run ends */
    int64_t fuel, bytes, max_bytes;
    int depth;
    bool poison, guard_fault;
    char guard_message[256];
    struct eval_result res;
    char *lanes; /* vector registers of strips */
    int lanes_cap;
};

/* ---- compile.c */
struct unit *unit_for(struct run *r, const struct proc *p);
/* Code that copies between a buffer's logical and physical layout: slot 0 physical, slot 1 logical (extents given). */
struct unit *unit_for_layout(struct run *r, const struct buf *b, const struct proc *p, bool to_physical);

/* ---- strip.c */
/* The strip form of a loop's body, or NULL when it has jumps, calls or values carried between passes. */
struct strip *strip_find(struct arena *a, const code_vec *body, const code_vec *latch, int var_reg);
/* Runs the passes. 1: done; 0: not possible with these operands, nothing was done; -1: a fault. */
int strip_run(struct run *r, struct frame *f, const struct strip *s, int64_t passes);

/* ---- vm.c */
bool vm_run(struct run *r, struct frame *f);
struct frame *frame_new(struct run *r, const struct unit *u);
void frame_free(struct run *r, struct frame *f);
struct cells *cells_new(struct run *r, enum dtype type, int64_t n,
                        void *data); /* NULL after recording why; data NULL: allocated, undefined */
void cells_free(struct run *r, struct cells *c);
void cells_fill(struct cells *c, enum dtype type, expr fill); /* a constant of the value type */
void rbuf_set(struct rbuf *b, struct cells *c);
/* Strides from dims and pad; -1 on overflow, else the number of cells. */
int64_t geometry(const struct buf *b, const int64_t *dim, int64_t *stride);
int64_t count_cells(const int64_t *dim, int nd); /* without padding; -1 on overflow */
/* Binds the contents of a constant, packed as its layout says; made once per run. In eval.c. */
bool const_bind(struct run *r, const struct buf *b, struct rbuf *to);
bool run_fault(struct run *r, enum eval_status s, const char *fmt, ...)
    NN_PRINTF(3, 4); /* records the first; false always */
bool note_guard(struct run *r, const struct unit *u, int64_t where, int64_t v, int64_t n); /* false: there is no valid
                                                                                            * index at all */
bool index_fault(struct run *r, const struct unit *u, int64_t where, int64_t index, int64_t dim);
bool undefined_fault(struct run *r, const struct unit *u, const struct frame *f, int slot, int64_t off);
union reg load_cell(const struct rbuf *b, enum dtype t, int64_t o);
void store_cell(struct rbuf *b, enum dtype t, int64_t o, const union reg *v);
union reg eval_cast(union reg v, int from, int to);
union reg eval_round(union reg v, enum dtype value_type, enum dtype storage);
#endif
