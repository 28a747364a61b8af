/* lir_same BEFORE.lir AFTER.lir: does the last procedure of both compute the same? Both run in the interpreter on the
 * same inputs, all outputs are compared bit for bit (but NaN). AFTER must pass the verifier first.
 *   --proc NAME     another procedure           --dim NAME=N    value of a size (default 5, or the nearest in its
 * range) Inputs are small integers, also where floats are asked for: sums of them are exact in any order, so that steps
 * which reassociate (rfactor) must give the same bits too. Says `same` (exit status 0), `differ: ..`, `interpreter: ..`
 * or `verifier: ..` (1); 2: wrong use. */
#include "ir/base/convert.h"
#include "ir/base/diag.h"
#include "ir/eval/eval.h"
#include "ir/loop/loop.h"
#include "ir/loop/target.h"
#include "tests/tools/same_cell.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 };
struct side {
    struct ctx *c;
    struct module *m;
    struct proc *p;
    int64_t syms[MOST];
    struct eval_arg args[MOST];
};
static const char *dims[MOST];
static int ndims;

static int usage(const char *what) {
    fprintf(stderr, "lir_same: %s\n", what);
    return 2;
}
static char *slurp(const char *file, size_t *n) {
    enum { LARGEST = 1 << 24 };
    FILE *f = fopen(file, "rb");
    char *s = f ? malloc(LARGEST) : NULL;
    *n = s ? fread(s, 1, LARGEST, f) : 0;
    if (f) fclose(f);
    return s;
}
static int64_t size_of(const struct sym *y) {
    size_t l = strlen(y->name);
    for (int k = 0; k < ndims; k++)
        if (!strncmp(dims[k], y->name, l) && dims[k][l] == '=') return atoll(dims[k] + l + 1);
    return y->lo > 5 ? y->lo : y->hi < 5 ? y->hi : 5;
}
static void first_message(struct ctx *c, const char *who) {
    printf("%s: %s\n", who, c->diags.n ? c->diags.v[0].message : "refused");
}
static bool open_side(struct side *s, const char *file, const char *proc) {
    size_t n;
    char *text = slurp(file, &n);
    if (!text) return false;
    s->c = ctx_new();
    s->m = loop_parse(s->c, text, n, file);
    free(text);
    if (!s->m || !s->m->procs.n) return first_message(s->c, "parser"), false;
    if (!loop_verify(s->m, NULL)) return first_message(s->c, "verifier"), false;
    s->p = s->m->procs.v[s->m->procs.n - 1];
    for (int k = 0; proc && k < s->m->procs.n; k++)
        if (!strcmp(s->m->procs.v[k]->name, proc)) s->p = s->m->procs.v[k];
    if (s->p->params.n > MOST || s->p->syms.n > MOST) return printf("too many parameters\n"), false;
    for (int k = 0; k < s->p->syms.n; k++) s->syms[k] = size_of(s->p->syms.v[k]);
    return true;
}
static bool leaf(void *env, expr e, int64_t *v) {
    const struct side *s = env;
    for (int k = 0; k < s->p->syms.n; k++)
        if (e->op == X_SYM && e->u.sym == s->p->syms.v[k]) return *v = s->syms[k], true;
    return false;
}
static void put_number(enum dtype t, unsigned char *to, int v) {
    float f = (float)v;
    double d = v;
    uint16_t half = t == BF16 ? f32_to_bf16(f) : f32_to_f16(f);
    int64_t wide = v;
    if (t == F32) memcpy(to, &f, sizeof f);
    else if (t == F64) memcpy(to, &d, sizeof d);
    else if (t == F16 || t == BF16) memcpy(to, &half, sizeof half);
    else if (t == BOOL) *to = v & 1;
    else memcpy(to, &wide, (size_t)dtype_bytes(t)); /* little-endian, as every machine that runs the tests */
}
/* Parameters that the procedure reads; equal for both sides, as they depend on the position only. */
static bool fill(struct side *s) {
    for (int k = 0; k < s->p->params.n; k++) {
        const struct buf *b = s->p->params.v[k].buf;
        struct eval_arg *a = &s->args[k];
        int64_t cells = 1;
        a->nd = b->nlogical;
        for (int d = 0; d < b->nlogical; d++) {
            if (!x_eval_int(b->logical[d], leaf, s, &a->dims[d])) return printf("a size is not known\n"), false;
            cells *= a->dims[d];
        }
        if (s->p->params.v[k].dir == DIR_OUT) continue;
        unsigned r = 12345u * (unsigned)(k + 1);
        size_t bytes = (size_t)dtype_bytes(b->type);
        unsigned char *p = a->data = malloc((size_t)cells * bytes + 1);
        for (int64_t i = 0; p && i < cells; i++) {
            r = r * 1664525u + 1013904223u;
            put_number(b->type, p + (size_t)i * bytes, (int)(r >> 16) % 7 - 3);
        }
    }
    return true;
}
static bool run(struct side *s) {
    struct eval_result r = loop_eval(s->m, s->p, s->args, s->syms, &(struct eval_options){.poison = true});
    if (r.status != EVAL_OK) printf("interpreter: %s\n", r.message);
    return r.status == EVAL_OK;
}
/* Two zeros, of which one is -0 (types that have one)? */
static bool zeros(enum dtype t, const unsigned char *a, const unsigned char *b) {
    bool signs = t == F64 || t == F32 || t == F16 || t == BF16 || t == F8E4M3FN || t == F8E5M2;
    int last = dtype_bytes(t) - 1;
    for (int i = 0; signs && i < last; i++) signs = !a[i] && !b[i];
    return signs && !(a[last] & 0x7f) && !(b[last] & 0x7f);
}
static bool same_outputs(const struct side *a, const struct side *b) {
    if (a->p->params.n != b->p->params.n) return printf("differ: other parameters\n"), false;
    for (int k = 0; k < a->p->params.n; k++) {
        const struct buf *x = a->p->params.v[k].buf, *y = b->p->params.v[k].buf;
        size_t bytes = (size_t)dtype_bytes(x->type);
        int64_t cells = 1;
        bool alike = x->type == y->type && a->args[k].nd == b->args[k].nd;
        for (int d = 0; alike && d < a->args[k].nd; d++) {
            alike = a->args[k].dims[d] == b->args[k].dims[d];
            cells *= a->args[k].dims[d];
        }
        if (!alike) return printf("differ: the type or shape of %s\n", y->name), false;
        for (int64_t i = 0; a->p->params.v[k].dir != DIR_IN && i < cells; i++) {
            const unsigned char *p = a->args[k].data, *q = b->args[k].data;
            p += (size_t)i * bytes, q += (size_t)i * bytes;
            if (same_cell(x->type, p, q)) continue;
            const char *how = zeros(x->type, p, q) ? " in the sign of a zero" : "";
            return printf("differ%s: element %lld of %s\n", how, (long long)i, y->name), false;
        }
    }
    return true;
}
int main(int argc, char **argv) {
    const char *files[2], *proc = NULL;
    int n = 0;
    nn_find_instr = instr_by_name;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--dim") && i + 1 < argc && ndims < MOST) dims[ndims++] = argv[++i];
        else if (!strcmp(argv[i], "--proc") && i + 1 < argc) proc = argv[++i];
        else if (argv[i][0] == '-' || n == 2) return usage(argv[i]);
        else files[n++] = argv[i];
    }
    if (n != 2) return usage("two files are wanted");
    struct side side[2] = {{0}, {0}};
    bool ok = true;
    for (int k = 0; k < 2 && ok; k++) ok = open_side(&side[k], files[k], proc) && fill(&side[k]) && run(&side[k]);
    ok = ok && same_outputs(&side[0], &side[1]);
    if (ok) printf("same\n");
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < MOST; i++) free(side[k].args[i].data);
        if (side[k].c) ctx_free(side[k].c);
    }
    return ok ? 0 : 1;
}
