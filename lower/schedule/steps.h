/* Schedule steps: from the naive nests of a group to tiled, packed, vectorised loops, one small legal step at a time.
 *
 * A step is data (struct step); its printed form is text, e.g.  split y.ow 14 wo wi  |  compute_at acc wo  |  kind
 * unroll wi.  A schedule is a list of steps, as text separated by `;` or newlines. A loop name means every loop with
 * that name, a buffer name every instance with that base name. A step either applies completely or leaves the procedure
 * as it was and records E_STEP, naming step, loop or buffer, reason and remedy. The kinds with their fields and
 * meaning: the table in steps.c. */
#ifndef NN_LOWER_SCHEDULE_STEPS_H
#define NN_LOWER_SCHEDULE_STEPS_H
#include "ir/loop/loop.h"
#include "ir/loop/target.h"

/* ---- steps as data */
enum step_kind {
    STEP_SPLIT,
    STEP_TILES, /* split into tiles of given sizes */
    STEP_CUT,
    STEP_REORDER,
    STEP_FUSE,
    STEP_KIND,
    STEP_GRAIN,
    STEP_OUTLINE,
    STEP_LAYOUT,
    STEP_COMPUTE_AT,
    STEP_CACHE_READ,
    STEP_CACHE_WRITE,
    STEP_RFACTOR,
    STEP_CARRY,
    STEP_JOIN,
    STEP_SPECIALIZE,
    STEP_WIDEN,
    STEP_PAD,
    STEP_SKIP,
    STEP_INLINE,
    STEP_NOINLINE,
    STEP_PREFETCH,
    STEP_PIPELINE,
    STEP_TENSORIZE,
    STEP_SCRATCH,
    STEP_BORDER,
    STEP_OVER,
    STEP_WITHIN,
    STEP_KIND_COUNT
};
struct word_list {
    const char **v;
    int n, cap;
};
/* What happens to iterations that do not fill a tile. TAIL_NONE: not written; treated as TAIL_CUT. */
enum step_tail { TAIL_NONE, TAIL_CUT, TAIL_CUT2, TAIL_GUARD, TAIL_OVERLAP, TAIL_COUNT };
struct tile_sizes {
    struct tile_size {
        int64_t size, count;
    } * v;
    int n;
};
/* Physical dims as functions of logical ones: d; d//a; d%a; (d//a)%b; d with a cells before and b after it; d%a as a
 * ring; d and dim a flattened. */
enum dim_form { DIM_WHOLE, DIM_DIV, DIM_MOD, DIM_DIVMOD, DIM_HALO, DIM_RING, DIM_FLAT };
struct layout_dim {
    int d;
    enum dim_form form;
    int64_t a, b;
};
struct layout_dims {
    struct layout_dim *v; /* NULL: the dims do not change */
    int n, cap;
};
struct layout_pads {
    struct layout_pad {
        int64_t d, cells;
    } * v;
    int n;
};
struct step {
    enum step_kind kind;
    union {
        struct {
            const char *loop;
            int64_t factor;
            const char *outer, *inner;
            enum step_tail tail;
            int64_t pieces; /* TAIL_OVERLAP: the remainder after full tiles is done in a whole number of these; 0: in
                             * one more tile */
        } split;
        struct {
            const char *loop, *outer, *inner;
            struct tile_sizes sizes;
        } tiles;
        struct {
            const char *loop;
            int64_t n;        /* < 0: the last -n iterations */
            const char *name; /* of the new loop; NULL: the same name */
        } cut;
        struct {
            const char *loop;
            int64_t n;
        } widen, pad;
        struct {
            struct word_list loops; /* from outside to inside */
        } reorder;
        struct {
            const char *outer, *inner, *name;
        } fuse;
        struct {
            enum loop_kind kind;
            struct word_list loops;
        } kind;
        struct {
            const char *loop;
            int64_t n;
        } grain;
        struct {
            const char *loop;
        } outline, skip;
        struct {
            const char *buf;
            struct layout_dims dims;
            struct layout_pads pads;
            double fill;      /* of the cells around a parameter */
            enum scope scope; /* SC_PARAM: unchanged */
        } layout;
        struct {
            const char *buf, *loop;
            enum scope scope; /* SC_PARAM: not written; SC_REG is used */
            int64_t roll;     /* dim, -1: none */
        } compute_at;
        struct {
            const char *buf, *name, *reader;
        } cache_read;
        struct {
            const char *buf, *name;
        } cache_write;
        struct {
            const char *buf, *loop;
            int64_t lanes;
            const char *name;
        } rfactor;
        struct {
            const char *loop, *outer, *buf;
        } carry;
        struct {
            const char *first, *second;
        } join;
        struct {
            const char *loop, *cond, *name;
        } specialize;
        struct {
            const char *buf, *at, *ahead;
            int line;                /* bytes of a cache line */
            struct word_list spread; /* v NULL: none */
        } prefetch;
        struct {
            const char *loop;
            struct word_list bufs;
        } pipeline;
        struct {
            const char *instr;
        } tensorize;
        struct {
            const char *fn;
        } noinline;
        struct {
            const char *buf;
        } of; /* inline, scratch, border */
        struct {
            const char *result, *operand;
        } over, within;
    } u;
};

/* Parses a step; records E_STEP and returns false if the text is none. p: for the message. */
bool step_parse(struct ctx *c, const struct proc *p, const char *line, struct step *out);
/* Parses what may follow the buffer in a layout step: "[0 1/8 2+1,1 3+1,1 1%8]" and so on. */
bool layout_parse(struct ctx *c, const struct proc *p, const char *spec, const char *buf, struct step *out);
/* The names that rfactor gives the loops it makes: NAME.k and NAME.lane, BUFFER.lane and BUFFER.rest; if BUFFER has
 * lanes already, NAME.group and BUFFER.group. */
#define RFACTOR_LOOP  "k"
#define RFACTOR_LANE  "lane"
#define RFACTOR_GROUP "group"
#define RFACTOR_REST  "rest"
const char *tail_name(const char *loop); /* "acc.oc" -> "oc" */
/* The canonical text. */
const char *step_text(struct ctx *c, const struct step *s);

/* ---- applying */
/* exact: the bits stay the same. reassociating: sums are done in another order. Some steps can be either, depending on
 * what they are applied to; the effect of the application says which. */
enum step_effect { STEP_REFUSED, STEP_EXACT, STEP_REASSOCIATES };

/* Applies one step, after lowering the remaining stages to nests. On success its text is appended to p->steps. */
bool step_do(struct ctx *c, struct proc *p, const struct step *s);
/* Turns `if cond: b[i] = v`, where v reads b[i], into the store b[i] = select(cond, v, b[i]), which stores the old
 * value where cond is false. `kind vector` does this to tests that differ between lanes. NULL: the test has another
 * form, computing v unconditionally may fault, or other iterations may store the cell. */
struct stmt *test_as_select(struct ctx *c, const struct stmt *test);
bool step_apply(struct ctx *c, struct proc *p, const char *line);
enum step_effect step_effect_of(struct ctx *c, struct proc *p, const char *line); /* also says which effect it had */
/* Applies all steps of a text; stops at the first one that is refused. */
bool steps_apply(struct ctx *c, struct proc *p, const char *text);
/* Applies and empties p->todo. */
bool steps_replay(struct ctx *c, struct proc *p);
/* Replaces every nest that equals the row's body by the instruction. `tensorize NAME` does this after looking the row
 * up in the targets' instruction tables. */
bool tensorize_row(struct ctx *c, struct proc *p, const struct instr_row *row);

/* Not a step: done by lowering before scheduling, for targets with fma. Every float update  x[i] += a*b  becomes x[i] =
 * fma(a, b, x[i]), which rounds once instead of twice. Products of casts and of constants count as products; sums of
 * anything else stay. Steps recognise the new form as a reduction. */
void use_fma(struct ctx *c, struct proc *p);

/* The table: how each kind is written and applied. Several rows with one name are different forms of one step. */
enum { MAX_STEP_FIELDS = 6 };
enum step_field_type {
    FIELD_WORD,  /* const char *: a name of a loop, a buffer, an instruction; a condition */
    FIELD_INT,   /* int64_t */
    FIELD_WORDS, /* struct word_list: all words that follow */
    FIELD_LIST,  /* struct word_list: [a b c] */
    FIELD_TAIL,  /* enum step_tail */
    FIELD_KIND,  /* enum loop_kind */
    FIELD_PLACE, /* enum scope: where a stage may be computed to */
    FIELD_SCOPE, /* enum scope: where a buffer may be moved to */
    FIELD_SIZES, /* struct tile_sizes: [4*3 2] */
    FIELD_DIMS,  /* struct layout_dims: [0 1/8 2+1,1] */
    FIELD_PADS,  /* struct layout_pads: pad 1:8 2:4 */
    FIELD_FILL,  /* double: a whole number, inf or -inf; 0 when it is left out */
};
struct step_field {
    const char *label; /* in messages: "LOOP", "cut|cut2|guard|overlap" */
    enum step_field_type type;
    size_t at;       /* in struct step */
    int least;       /* of words and lists; 0: may be left out */
    const char *key; /* written key=...; NULL: by position */
    int64_t absent;  /* FIELD_INT: the value when it is left out */
};
struct step_run;
struct step_row {
    const char *name;
    enum step_kind kind;
    struct step_field fields[MAX_STEP_FIELDS]; /* label NULL ends */
    bool reassociates;                         /* may change the order of a float sum */
    bool (*apply)(struct step_run *s);
    const char *doc;
};
static inline bool field_is_list(enum step_field_type t) {
    return t == FIELD_LIST || t == FIELD_SIZES || t == FIELD_DIMS;
}
extern const struct step_row step_rows[STEP_KIND_COUNT + 1]; /* one a kind, in their order; name NULL ends */
#endif
