/* What the tests of the interpreter share: procedures built by hand, and running them. */
#ifndef NN_TESTS_EVAL_KIT_H
#define NN_TESTS_EVAL_KIT_H
#include "ir/eval/eval.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct ctx *c;
static struct module *m;
static void setup(void) {
    c = ctx_new();
    m = module_new(c);
}
static void teardown(void) { ctx_free(c); }

/* ---- building */
static inline expr K(int64_t k) { return x_int(c, k); }
static inline expr V(const struct var *v) { return x_var(c, v); }
static inline struct buf *param(struct proc *p, const char *name, enum dtype t, enum param_dir dir, int nd,
                                const int64_t *dims) {
    expr d[8];
    for (int k = 0; k < nd; k++) d[k] = K(dims[k]);
    return proc_param(c, p, name, t, dir, d, nd);
}
#define PARAM(p, name, t, dir, ...)                                                                                    \
    param(p, name, t, dir, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})
static inline struct buf *local(struct proc *p, struct block *in, const char *name, enum dtype t, enum scope s, int nd,
                                const int64_t *dims) {
    expr d[8];
    for (int k = 0; k < nd; k++) d[k] = K(dims[k]);
    struct buf *b = buf_new(c, p, name, t, s, d, nd);
    block_append(in, s_alloc(c, b));
    return b;
}
#define LOCAL(p, in, name, t, s, ...)                                                                                  \
    local(p, in, name, t, s, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})
#define LD(b, ...)        x_load(c, b, (expr[]){__VA_ARGS__}, (int)(sizeof((expr[]){__VA_ARGS__}) / sizeof(expr)), NULL)
#define LDF(b, fill, ...) x_load(c, b, (expr[]){__VA_ARGS__}, (int)(sizeof((expr[]){__VA_ARGS__}) / sizeof(expr)), fill)
#define ST(in, b, op, value, ...)                                                                                      \
    block_append(in,                                                                                                   \
                 s_store(c, b, (expr[]){__VA_ARGS__}, (int)(sizeof((expr[]){__VA_ARGS__}) / sizeof(expr)), op, value))
static inline struct block *loop(struct block *in, const struct var *v) {
    struct stmt *s = s_for(c, v, LK_SERIAL);
    block_append(in, s);
    return &s->u.loop.body;
}
static inline struct var *var(const char *name, int64_t n) { return var_new(c, name, K(n)); }

/* ---- running */
static inline struct eval_arg arg(void *data, int nd, const int64_t *dims) {
    struct eval_arg a = {.data = data, .nd = nd};
    memcpy(a.dims, dims, sizeof *dims * (size_t)nd);
    return a;
}
#define ARG(data, ...) arg(data, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})
static const struct eval_options checked = {.poison = true};
static inline struct eval_result run(struct proc *p, struct eval_arg *args) {
    return loop_eval(m, p, args, NULL, &checked);
}
static inline void ok(struct eval_result r) { cr_assert_eq(r.status, EVAL_OK, "%d: %s", r.status, r.message); }
static inline void fault(struct eval_result r, enum eval_status s, const char *text) {
    cr_assert_eq(r.status, s, "%d: %s", r.status, r.message);
    cr_assert(strstr(r.message, text), "message is: %s", r.message);
}
static inline float noise(int k) { return (float)((k * 2654435761u >> 8) % 2000u) / 1000.0f - 1.0f; }
static inline void fill_noise(float *p, int n, int seed) {
    for (int k = 0; k < n; k++) p[k] = noise(k + seed * 7919);
}
/* y[0] = e for scalars: element of the storage type. */
static inline struct eval_result scalar(enum dtype storage, expr e, void *out) {
    struct proc *p = proc_new(c, "scalar");
    struct buf *y = PARAM(p, "y", storage, DIR_OUT, 1);
    ST(&p->body, y, RED_NONE, e, K(0));
    struct eval_arg a = {.data = NULL};
    struct eval_result r = run(p, &a);
    if (r.status == EVAL_OK || a.data) {
        memcpy(out, a.data, (size_t)dtype_bytes(storage));
        free(a.data);
    }
    return r;
}
/* A value that the constructors cannot fold: loaded from memory. */
static inline expr hidden(struct proc *p, const char *name, enum dtype t) {
    return LD(PARAM(p, name, t, DIR_IN, 1), K(0));
}
#endif
