/* Internal to the verifier of the loop IR (ir/verify/). */
#ifndef NN_IR_LOOP_VERIFY_H
#define NN_IR_LOOP_VERIFY_H
#include "ir/base/vec.h"
#include "ir/loop/loop.h"

/* Facts known to hold: e <= 0. Those about loaded values are not kept, because stores would change them. Of a long
 * sequence the first ones are kept, about the inputs, and the last ones: a call needs the checks directly before it. */
enum { FIRST_FACTS = 64, MAX_FACTS = 128 };
struct facts {
    struct ctx *c;
    int n;
    expr v[MAX_FACTS];
};
void facts_add(struct facts *f, expr cond);         /* a condition that holds */
void facts_add_not(struct facts *f, expr cond);     /* one that does not */
void facts_add_le(struct facts *f, expr a, expr b); /* a <= b */
void facts_make_room(struct facts *f);              /* called between consecutive statements, before more is added */
void facts_drop_sym(struct facts *f, const struct sym *s);
bool facts_prove_le(struct facts *f, expr a, expr b);
bool facts_prove_lt(struct facts *f, expr a, expr b);
bool facts_contradict(struct facts *f); /* nothing runs where they hold */
/* Does the condition say anything about indices? */
bool facts_useful(expr cond);

/* Would the loop's iterations do the same if each had its own b? (scratch.c) */
bool is_scratch(struct stmt *loop, const struct buf *b);

/* What could not be proved, and what a run-time check can ensure: that index `dim` of buf is inside, or cond. */
struct unproved {
    struct stmt *at;
    const struct buf *buf;
    int dim;
    expr index, cond;
};
struct unproved_list {
    VEC(struct unproved) v;
};

struct verifier {
    struct module *m;
    struct ctx *c;
    struct proc *p;
    const char *after;
    bool final, in_instr, has_sizes;
    int errors, never;              /* never: number of enclosing loops and axes of extent 0, in which nothing runs */
    struct stmt *at;                /* for messages */
    struct unproved_list *unproved; /* collected here; NULL: reported as errors */
    struct facts facts;
    struct map state;              /* PKEY(var, sym, buf) -> &visible, &gone */
    struct map own;                /* buffers in p->bufs */
    struct map roots;              /* views -> the buffer that they are part of, which is not a view */
    VEC(struct stmt *) loops;      /* enclosing */
    VEC(const struct sym *) sizes; /* produced symbols that are visible */
    struct seen {
        expr key;
        uint32_t gen;
    } * seen; /* expressions already checked in a frame of facts that still holds */
    size_t seen_cap, seen_n;
    uint32_t gen;
    VEC(uint32_t) frames;
};
/* ---- expr.c: short names in these files, which the linker sees with a prefix */
#define refuse      loop_refuse
#define verify_proc loop_verify_proc
void refuse(struct verifier *v, const char *fmt, ...) NN_PRINTF(2, 3);
const char *show(struct verifier *v, expr e);
enum diag_code broken_code(const char *after); /* after: as for loop_verify */
bool is_visible(struct verifier *v, const void *key);
bool is_known(struct verifier *v, const void *key);
void set_visible(struct verifier *v, const void *key);
void set_gone(struct verifier *v, const void *key);
bool use_buf(struct verifier *v, const struct buf *b); /* refuses one that is not alive */
void define_var(struct verifier *v, const struct var *x);
/* Each expression is checked once per frame: facts known when a frame is pushed hold until it is popped. */
void push_frame(struct verifier *v);
void pop_frame(struct verifier *v);
void check_expr(struct verifier *v, expr e);
void check_typed(struct verifier *v, expr e, enum dtype type, const char *what);
void check_access(struct verifier *v, const struct buf *b, const expr *idx, int n, bool proven);
/* A run-time check can ensure what is not refuted. */
bool wants_check(struct verifier *v, struct unproved u, bool refuted);

/* ---- loop.c */
bool verify_proc(struct module *m, struct proc *p, const char *after, bool final, struct unproved_list *unproved);
/* race.c: V5 and V6 for one loop */
void verify_iterations(struct verifier *v, struct stmt *loop);
/* fingerprint.c: changes whenever anything that the verifier looks at changes */
uint64_t proc_fingerprint(const struct proc *p);
#endif
