/* The interpreter: the meaning of the loop IR. Runs any module, before and after scheduling, with exactly the
 * arithmetic that generated C has (docs/numbers.md N2). Also used for folding and in every equality test. */
#ifndef NN_IR_LOOP_EVAL_H
#define NN_IR_LOOP_EVAL_H
#include "ir/loop/loop.h"
#include <stdio.h>

struct eval_options {
    int64_t fuel;         /* limit of executed statements, in units of time (STRIP_FUEL); 0: 2^40 */
    bool poison;          /* fill unwritten storage with NaN / a pattern and check that no undefined cell is read */
    int64_t max_bytes;    /* limit of memory; 0: 4 GiB */
    FILE *trace_prefetch; /* NULL, or: print touched lines, for tests of the prefetch step */
};
/* One argument per parameter of the procedure. For outputs data may be NULL: then it is allocated (malloc) in the
 * buffer's *logical* shape with the sizes of the run and handed to the caller in `data`, `dims`. Inputs are given in
 * logical layout too; the interpreter maps them to the physical one and back. */
struct eval_arg {
    void *data;
    int64_t dims[32];
    int nd;
};
/* BAD: the module is wrong. REFUSED: it is right, but calls something that cannot be run here (struct foreign). */
enum eval_status { EVAL_OK, EVAL_FAULT, EVAL_FUEL, EVAL_MEMORY, EVAL_BAD, EVAL_REFUSED };
struct eval_result {
    enum eval_status status;
    int64_t executed; /* fuel */
    char message[256];
}; /* fault: which check, at which node, which values */
/* syms: values for p->syms in order; NULL: all are dims of the arguments given. Nested calls bind their own. */
struct eval_result loop_eval(struct module *m, struct proc *p, struct eval_arg *args, const int64_t *syms,
                             const struct eval_options *o);
#endif
