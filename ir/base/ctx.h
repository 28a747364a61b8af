/* The compilation context: what every stage of one compilation shares. Created first, freed last. */
#ifndef NN_IR_CTX_H
#define NN_IR_CTX_H
#include "ir/base/arena.h"
#include "ir/base/decide.h"
#include "ir/base/diag.h"
#include "ir/base/map.h"
#include "ir/base/text.h"
#include "ir/base/vec.h"

struct expr_table;
struct module;
struct op;
struct ctx {
    struct arena arena;
    struct interner *names;
    struct diags diags;
    struct decisions decisions;
    struct expr_table *exprs; /* hash-consing (expr.c) */
    struct module *math;      /* the functions of templates/kernels/math.lir, parsed on first use (ir/define/run.c) */
    int64_t folded, folded_bytes;   /* statements executed and bytes made by constant folding (graph/evaluate.c) */
    VEC(const char *) files_read;   /* by import: the model and its external data */
    VEC(const struct op *) own_ops; /* operators given by the user, in addition to the registry */
    struct map foreigns;            /* name -> struct foreign: instances of those (lower/ops/foreign.c) */
    int next_id;                    /* variables, buffers, symbols: ids in order of creation */
};
struct ctx *ctx_new(void);
void ctx_free(struct ctx *c);
char *format(struct ctx *c, const char *fmt, ...) NN_PRINTF(2, 3); /* text that lives as long as c */
/* The empty table, in c's arena (expr.c); called by ctx_new. */
struct expr_table *expr_table_new(struct ctx *c);
#endif
