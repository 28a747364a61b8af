/* gcc2nn with one mistake in it: the program of this file is linked with --wrap, so that calls of the functions below
 * come here first. The environment variable PLANT says which mistake is made; without it there is none. `run` beside
 * this file holds `bisect` and `verify --each-node` to naming each. */
#include "codegen/emit.h"
#include "compiler/graph/passes.h"
#include "compiler/import/tflite.h"
#include "ir/define/define.h"
#include "ir/graph/op.h"
#include "lower/algorithm/rows.h"
#include "lower/lower.h"
#include "lower/passes/passes.h"
#include "lower/schedule/schedule.h"
#include "lower/schedule/steps.h"
#include <stdlib.h>
#include <string.h>

/* Is this mistake to be made? `name` up to a colon, what follows in PLANT goes to *of. */
static bool planted(const char *name, const char **of) {
    const char *s = getenv("PLANT");
    size_t n = strlen(name);
    if (!s || strncmp(s, name, n) != 0 || (s[n] && s[n] != ':')) return false;
    if (of) *of = s[n] ? s + n + 1 : "";
    return true;
}

/* ---- mistakes */
/* The first float that b computes is one more. */
static bool spoil_statement(void *env, struct stmt *s) {
    struct ctx **c = env;
    expr *v = s->kind == S_STAGE ? &s->u.stage.value : s->kind == S_STORE ? &s->u.store.value : NULL;
    if (!*c || !v || (*v)->type != F32) return *c != NULL;
    *v = x_add(*c, *v, x_const_f(*c, F32, 1));
    *c = NULL;
    return false;
}
static void spoil(struct ctx *c, struct block *b) { walk(b, spoil_statement, &c); }
static struct tensor *spoiled(struct ctx *c, const struct tensor *t) {
    struct tensor *r = tensor_new(&c->arena, t->type, t->dims, t->rank);
    for (int64_t i = 0; i < tensor_count(t); i++) tensor_set_f(r, i, tensor_f(t, i) + (i == 0));
    return r;
}
/* The last node that reads a constant of floats reads another one. */
static void spoil_graph(struct graph *g) {
    for (struct node *n = g->top->last; n; n = n->prev)
        for (int k = n->ins.n; k--;) {
            struct value *v = n->ins.v[k];
            if (!v || !v->init || v->type.dtype != F32) continue;
            node_set_input(n, k, graph_const(g, v->name, spoiled(g->ctx, v->init)));
            return;
        }
}
/* The kernel that the entry calls last. */
static struct proc *last_kernel(const struct module *m) {
    struct proc *p = NULL;
    for (struct stmt *s = m->entry->body.first; s; s = s->next)
        if (s->kind == S_CALL) p = s->u.call.callee;
    return p;
}
static void spoil_module(struct module *m) {
    struct proc *p = last_kernel(m);
    if (p) spoil(m->ctx, &p->body);
}
/* What b stores first goes before its buffer: this is no loop IR any more. */
static bool break_statement(void *env, struct stmt *s) {
    if (s->kind != S_STORE || !s->u.store.n) return false;
    s->u.store.idx[0] = x_int(env, -1);
    return true;
}

/* ---- where they are made. Prototypes of what the linker calls: __real_f is f, calls of f become calls of __wrap_f. */
#define WRAP_GRAPH(f, name)                                                                                            \
    bool __real_##f(struct graph *g);                                                                                  \
    bool __wrap_##f(struct graph *g);                                                                                  \
    bool __wrap_##f(struct graph *g) {                                                                                 \
        bool ok = __real_##f(g);                                                                                       \
        if (ok && planted(name, NULL) && !strcmp(g->ctx->decisions.during, name)) spoil_graph(g);                      \
        return ok;                                                                                                     \
    }
WRAP_GRAPH(graph_integers, "integers")
WRAP_GRAPH(graph_fold_constants, "constants")
WRAP_GRAPH(graph_simplify, "simplify")
WRAP_GRAPH(graph_transposes, "transposes")
WRAP_GRAPH(graph_cse, "cse")
WRAP_GRAPH(graph_fold_affine, "fold-affine")
WRAP_GRAPH(graph_rematerialise, "rematerialise")

#define WRAP_CHANGE(f, name)                                                                                           \
    void __real_##f(struct module *m, const struct printing *o);                                                       \
    void __wrap_##f(struct module *m, const struct printing *o);                                                       \
    void __wrap_##f(struct module *m, const struct printing *o) {                                                      \
        __real_##f(m, o);                                                                                              \
        if (planted(name, NULL)) spoil_module(m);                                                                      \
        if (planted("break:" name, NULL)) walk(&last_kernel(m)->body, break_statement, m->ctx);                        \
    }
WRAP_CHANGE(pass_unroll, "unroll")
WRAP_CHANGE(pass_vectorise, "vectorise")
WRAP_CHANGE(pass_literals, "literals")
WRAP_CHANGE(pass_merge, "merge")
WRAP_CHANGE(pass_rounding, "rounding")

#define WRAP_MODULE(f, name)                                                                                           \
    void __real_##f(struct module *m);                                                                                 \
    void __wrap_##f(struct module *m);                                                                                 \
    void __wrap_##f(struct module *m) {                                                                                \
        __real_##f(m);                                                                                                 \
        if (planted(name, NULL)) spoil_module(m);                                                                      \
    }
WRAP_MODULE(share_calls, "share")
WRAP_MODULE(reuse_storage, "reuse")

/* A tensor of the file is read wrong: weight:NAME. */
static void spoil_weight(void *env, struct node *n) {
    const char *name = env;
    for (int k = 0; k < n->ins.n; k++) {
        struct value *v = n->ins.v[k];
        if (v && v->init && !strcmp(v->name, name)) v->init = spoiled(n->in->graph->ctx, v->init);
    }
}
struct graph *__real_import_model(struct ctx *c, const char *path, const struct import_options *o);
struct graph *__wrap_import_model(struct ctx *c, const char *path, const struct import_options *o);
struct graph *__wrap_import_model(struct ctx *c, const char *path, const struct import_options *o) {
    const char *name;
    struct graph *g = __real_import_model(c, path, o);
    if (g && planted("weight", &name)) each_node(g->top, spoil_weight, (void *)name);
    return g;
}
/* An operator's kernel is wrong: op:TYPE. */
#define EMIT                                                                                                           \
    struct graph *g, struct node *n, struct module *m, struct proc *p, struct block *into,                             \
        struct buf *(*buf_of)(void *env, struct value *v), void *env
bool __real_def_emit(EMIT);
bool __wrap_def_emit(EMIT);
bool __wrap_def_emit(EMIT) {
    const char *type;
    struct block own = {0};
    bool ok = __real_def_emit(g, n, m, p, &own, buf_of, env);
    if (ok && planted("op", &type) && !strcmp(type, n->op_type)) spoil(g->ctx, &own);
    block_move(into, &own);
    return ok;
}
/* Nodes in one kernel are computed wrong, alone right. */
static const char *nodes_now; /* that kernels are made for */
bool __real_lower_statements(struct lowering *l, struct block *stmts, const char *node, const char *name);
bool __wrap_lower_statements(struct lowering *l, struct block *stmts, const char *node, const char *name);
bool __wrap_lower_statements(struct lowering *l, struct block *stmts, const char *node, const char *name) {
    nodes_now = l->nodes;
    if (planted("fuse", NULL) && l->nodes && strchr(l->nodes, '\n')) spoil(l->c, stmts);
    return __real_lower_statements(l, stmts, node, name);
}
/* What an algorithm makes of a kernel is wrong. */
#define STAGE                                                                                                          \
    const struct algorithm_query *q, struct rewriting *out, const char *name, enum dtype t, const struct var **axes,   \
        int naxes, enum red_op op, const struct var **red, int nred, expr value
struct buf *__real_algorithm_stage(STAGE);
struct buf *__wrap_algorithm_stage(STAGE);
struct buf *__wrap_algorithm_stage(STAGE) {
    bool wrong = planted("algorithm", NULL) && value->type == F32;
    return __real_algorithm_stage(q, out, name, t, axes, naxes, op, red, nred,
                                  wrong ? x_add(q->c, value, x_const_f(q->c, F32, 1)) : value);
}
/* The schedule of the kernel of a node is wrong: schedule:NODE. */
#define SCHEDULE struct ctx *c, struct proc *p, const struct scheduling *o, const struct param_layout *layouts
void __real_schedule_kernel(SCHEDULE);
void __wrap_schedule_kernel(SCHEDULE);
void __wrap_schedule_kernel(SCHEDULE) {
    const char *name;
    __real_schedule_kernel(c, p, o, layouts);
    if (planted("schedule", &name) && nodes_now && strstr(nodes_now, name) && !o->plain) spoil(c, &p->body);
}
void __real_use_fma(struct ctx *c, struct proc *p);
void __wrap_use_fma(struct ctx *c, struct proc *p);
void __wrap_use_fma(struct ctx *c, struct proc *p) {
    __real_use_fma(c, p);
    if (planted("use-fma", NULL)) spoil(c, &p->body);
}
/* The printer writes another number into vectors than the loops have. */
#define PROC struct text *out, struct ctx *c, const struct proc *p, const struct emit_options *o
void __real_c_proc(PROC);
void __wrap_c_proc(PROC);
void __wrap_c_proc(PROC) {
    size_t from = out->n;
    if (planted("bug", NULL)) BUG("planted in %s", p->name);
    __real_c_proc(out, c, p, o);
    for (char *s = planted("print", NULL) ? out->s + from : NULL; s && (s = strstr(s, "(0.0f)")); s++) s[1] = '9';
}
