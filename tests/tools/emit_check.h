/* Prints a procedure as C, compiles it, runs it and the interpreter on the same inputs and compares every bit of every
 * output cell (NaN payloads are free). Used by tests/unit/test_emit.c and by the program lir_check. */
#ifndef NN_TESTS_EMIT_CHECK_H
#define NN_TESTS_EMIT_CHECK_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "codegen/emit.h"
#include "ir/base/convert.h"
#include "ir/base/diag.h"
#include "ir/loop_eval.h"

struct check_options {
    const struct target *target;
    const char *compilers[4];       /* NULL ends; e.g. "gcc", "clang-14" */
    const char *flags;              /* optimisation, e.g. "-O3" */
    bool strict;                    /* scalar C99 */
    bool special;                   /* inputs hold NaN, infinities, -0, denormals */
    unsigned seed;
    const char *keep;               /* folder to work in and keep; NULL: a temporary one */
    int64_t syms[16];               /* values of the procedure's sizes */
    int bench;                      /* > 0: time that many calls */
};
static const char *const check_warnings = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror";

struct check_get { const struct proc *p; const int64_t *syms; const struct buf *b; const int64_t *at; };
static bool check_leaf(void *env, expr leaf, int64_t *v) {
    const struct check_get *q = env;
    if (leaf->op == X_SYM) {
        for (int k = 0; k < q->p->syms.n; k++)
            if (q->p->syms.v[k] == leaf->u.sym) return *v = q->syms[k], true;
        return false;
    }
    for (int k = 0; q->b && leaf->op == X_VAR && k < q->b->nlogical; k++)
        if (q->b->lvar[k] == leaf->u.var) return *v = q->at[k], true;
    return false;
}
static bool check_num(const struct check_get *q, expr e, int64_t *v) { return x_eval_int(e, check_leaf, (void *)q, v); }

static unsigned check_random(unsigned *s) { return *s = *s * 1664525u + 1013904223u, *s >> 8; }
static void check_element(enum dtype t, unsigned char *p, unsigned *s, bool special) {
    unsigned r = check_random(s);
    double v = ((int)(r % 4001u) - 2000) / 700.0;
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-42, -3e38, 65520.0, 6e-8, 1.0, 2147483648.0, -9.3e18};
    if (special && check_random(s) % 3 == 0) v = odd[check_random(s) % (sizeof odd / sizeof *odd)];
    switch (t) {
    case F32: { float f = (float)v; memcpy(p, &f, 4); break; }
    case F64: memcpy(p, &v, 8); break;
    case F16: { uint16_t h = f32_to_f16((float)v); memcpy(p, &h, 2); break; }
    case BF16: { uint16_t h = f32_to_bf16((float)v); memcpy(p, &h, 2); break; }
    case BOOL: *p = (unsigned char)(r & 1); break;
    default:
        for (int k = 0; k < dtype_bytes(t); k++) p[k] = (unsigned char)check_random(s);
        if (!special && dtype_bytes(t) >= 4) memset(p + 2, (p[1] & 0x80) && dtype_is_signed(t) ? 0xff : 0, (size_t)dtype_bytes(t) - 2);
        if (dtype_bits(t) < 8) *p = (unsigned char)((*p & ((1 << dtype_bits(t)) - 1)));
        if (t == I4 && *p & 8) *p |= 0xf0;
        if (t == I2 && *p & 2) *p |= 0xfc;
        break;
    }
}
static bool check_equal(enum dtype t, const unsigned char *a, const unsigned char *b) {
    if (!memcmp(a, b, (size_t)dtype_bytes(t))) return true;
    uint16_t x, y;
    memcpy(&x, a, 2), memcpy(&y, b, 2);
    switch (t) {
    case F32: { float f, g; memcpy(&f, a, 4), memcpy(&g, b, 4); return isnan(f) && isnan(g); }
    case F64: { double f, g; memcpy(&f, a, 8), memcpy(&g, b, 8); return isnan(f) && isnan(g); }
    case F16: return isnan(f16_to_f32(x)) && isnan(f16_to_f32(y));
    case BF16: return isnan(bf16_to_f32(x)) && isnan(bf16_to_f32(y));
    default: return false;
    }
}

struct check_param { int64_t dims[32], count, cells; unsigned char *logical, *physical, *result; };

/* Physical cell of each logical element, in order. */
static bool check_map(struct ctx *c, const struct check_get *base, const struct buf *b, const struct check_param *p, int64_t *to) {
    int64_t at[32] = {0};
    struct check_get q = *base;
    q.b = b, q.at = at;
    expr off = buf_offset(c, b, b->map);
    for (int64_t i = 0; i < p->count; i++) {
        if (!check_num(&q, off, &to[i]) || to[i] < 0 || to[i] >= p->cells) return false;
        for (int k = b->nlogical - 1; k >= 0 && ++at[k] == p->dims[k]; k--) at[k] = 0;
    }
    return true;
}
static void check_main(struct text *t, struct ctx *c, const struct proc *p, const struct emit_options *o, const struct check_param *ps, const struct check_options *k, int64_t ws) {
    text_add(t, "\n#include <stdio.h>\n#include <stdlib.h>\n");
    if (k->bench) text_add(t, "#include <time.h>\n");
    for (int i = 0; i < p->params.n; i++) {
        const struct buf *b = p->params.v[i].buf;
        const char *al = k->strict ? "" : "__attribute__((aligned(64))) ";
        text_printf(t, "static %s%s io_%d[%lld];\n", al, dtype_c(b->type), i, (long long)(ps[i].cells ? ps[i].cells : 1));
    }
    if (ws) text_printf(t, "static double scratch[%lld];\n", (long long)(ws / 8 + 16));
    text_add(t, "int main(int argc, char **argv) {\n    int bad = 0;\n    FILE *in = argc == 3 ? fopen(argv[1], \"rb\") : NULL, *out = in ? fopen(argv[2], \"wb\") : NULL;\n    if (!out)\n        return 1;\n");
    for (int i = 0; i < p->params.n; i++)
        text_printf(t, "    if (fread(io_%d, sizeof *io_%d, %lld, in) != %lld)\n        return 2;\n", i, i, (long long)ps[i].cells, (long long)ps[i].cells);
    struct text call = {0};
    text_printf(&call, "%s(", emit_proc_name(c, p, o));
    int n = 0;
    for (int i = 0; i < p->params.n; i++) text_printf(&call, "%sio_%d", n++ ? ", " : "", i);
    for (int i = 0; i < p->syms.n; i++) text_printf(&call, "%s%lld", n++ ? ", " : "", (long long)k->syms[i]);
    if (ws) text_printf(&call, "%sscratch", n++ ? ", " : "");
    if (emit_needs_fault(p)) text_printf(&call, "%s&bad", n++ ? ", " : "");
    text_add(&call, ");");
    text_printf(t, "    %s\n", call.s);
    for (int i = 0; i < p->params.n; i++)
        text_printf(t, "    fwrite(io_%d, sizeof *io_%d, %lld, out);\n", i, i, (long long)ps[i].cells);
    if (k->bench)
        text_printf(t, "    double best = 1e9;\n    for (int r = 0; r < %d; r++) {\n        struct timespec a, b;\n        clock_gettime(CLOCK_MONOTONIC, &a);\n        %s\n        clock_gettime(CLOCK_MONOTONIC, &b);\n"
                       "        double t = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);\n        if (t < best)\n            best = t;\n    }\n    fprintf(stderr, \"%%.4f ms\\n\", best * 1e3);\n", k->bench, call.s);
    text_add(t, "    return fclose(out) || bad ? 3 : 0;\n}\n");
    text_free(&call);
}
static bool check_write(const char *file, const void *data, size_t n) {
    FILE *f = fopen(file, "wb");
    bool ok = f && fwrite(data, 1, n, f) == n;
    if (f && fclose(f)) ok = false;
    return ok;
}
/* Values for dims given as plain symbols etc.; false with a message in `why`. */
static bool emit_check(struct module *m, struct proc *p, const struct check_options *k, char *why, size_t cap) {
    struct ctx *c = m->ctx;
    struct emit_options o = {.target = k->target, .c99_strict = k->strict, .uses = emit_uses_new(c)};
    struct check_get get = {.p = p, .syms = k->syms};
    struct check_param ps[64];
    struct eval_arg args[64];
    unsigned seed = k->seed + 1;
    memset(ps, 0, sizeof ps);
    memset(args, 0, sizeof args);
    if (p->params.n > 64) return snprintf(why, cap, "too many parameters"), false;
    for (int i = 0; i < p->params.n; i++) {
        const struct buf *b = p->params.v[i].buf;
        struct check_param *q = &ps[i];
        size_t w = (size_t)dtype_bytes(b->type);
        q->count = 1;
        for (int d = 0; d < b->nlogical; d++) {
            if (!check_num(&get, b->logical[d], &q->dims[d])) return snprintf(why, cap, "dims of %s are not known", b->name), false;
            q->count *= q->dims[d];
        }
        if (!check_num(&get, buf_cells(c, b), &q->cells)) return snprintf(why, cap, "size of %s is not known", b->name), false;
        q->logical = calloc((size_t)q->count + 1, w);
        q->physical = calloc((size_t)q->cells + 1, w);
        q->result = calloc((size_t)q->cells + 1, w);
        int64_t *to = calloc((size_t)q->count + 1, sizeof *to);
        if (!check_map(c, &get, b, q, to)) return snprintf(why, cap, "layout of %s leaves the buffer", b->name), false;
        bool given = p->params.v[i].dir != DIR_OUT;
        for (int64_t e = 0; e < q->cells; e++) {      /* what the caller leaves undefined in outputs is noise */
            if (b->fill && b->fill->type == F32 && b->type == F32) { float f = (float)b->fill->u.f; memcpy(q->physical + w * (size_t)e, &f, 4); }
            else if (!given && !b->fill) check_element(b->type, q->physical + w * (size_t)e, &seed, false);
        }
        for (int64_t e = 0; given && e < q->count; e++) {
            check_element(b->type, q->logical + w * (size_t)e, &seed, k->special);
            memcpy(q->physical + w * (size_t)to[e], q->logical + w * (size_t)e, w);
        }
        args[i].data = given ? q->logical : NULL;
        args[i].nd = b->nlogical;
        memcpy(args[i].dims, q->dims, sizeof q->dims);
        free(to);
    }
    /* inputs of the program */
    char dir[512], path[600], exe[600], in[600], out[600], cmd[4096];
    snprintf(dir, sizeof dir, "%s", k->keep ? k->keep : "/tmp/emit_check_XXXXXX");
    if (k->keep ? mkdir(dir, 0777) != 0 && access(dir, W_OK) != 0 : !mkdtemp(dir)) return snprintf(why, cap, "no folder to work in"), false;
    snprintf(path, sizeof path, "%s/k.c", dir), snprintf(exe, sizeof exe, "%s/k", dir), snprintf(in, sizeof in, "%s/in", dir), snprintf(out, sizeof out, "%s/out", dir);
    struct text data = {0};
    for (int i = 0; i < p->params.n; i++) text_addn(&data, (const char *)ps[i].physical, (size_t)ps[i].cells * (size_t)dtype_bytes(p->params.v[i].buf->type));
    check_write(in, data.s ? data.s : "", data.n);
    text_free(&data);
    struct eval_result r = loop_eval(m, p, args, k->syms, &(struct eval_options){0});
    bool faulted = r.status == EVAL_FAULT;
    bool ok = r.status == EVAL_OK || faulted;
    if (!ok) snprintf(why, cap, "interpreter: %s", r.message);
    struct text body = {0}, text = {0}, flags = {0};
    emit_proc(&body, c, p, &o);
    emit_prelude(&text, c, &o);
    text_printf(&text, "\n%s", body.s);
    int64_t ws = 0;
    check_num(&get, emit_scratch_bytes(c, p), &ws);
    check_main(&text, c, p, &o, ps, k, ws);
    emit_cflags(&flags, &o);
    check_write(path, text.s, text.n);
    const struct target *t = k->target;
    for (int i = 0; ok && k->compilers[i]; i++) {
        snprintf(cmd, sizeof cmd, "%s %s %s %s %s -o %s %s -lm 2>&1", k->compilers[i], flags.s, k->flags ? k->flags : "-O2", k->bench ? "-D_POSIX_C_SOURCE=199309L" : "", check_warnings, exe, path);
        if (system(cmd)) { ok = false; snprintf(why, cap, "does not compile without warnings: %.500s", cmd); break; }
        snprintf(cmd, sizeof cmd, "%s %s %s %s", t->runner ? t->runner : "", exe, in, out);
        int status = system(cmd);
        if (faulted) {
            if (status == 0) ok = false, snprintf(why, cap, "the interpreter faults (%s), the program does not", r.message);
            continue;
        }
        if (status) { ok = false; snprintf(why, cap, "%s: the program ends with status %d", k->compilers[i], status >> 8); break; }
        FILE *f = fopen(out, "rb");
        for (int q = 0; f && q < p->params.n; q++) {
            size_t w = (size_t)dtype_bytes(p->params.v[q].buf->type), n = fread(ps[q].result, w, (size_t)ps[q].cells, f);
            if (n != (size_t)ps[q].cells) ok = false, snprintf(why, cap, "output is short");
        }
        if (f) fclose(f);
        for (int q = 0; ok && q < p->params.n; q++) {
            if (p->params.v[q].dir == DIR_IN) continue;
            const struct buf *b = p->params.v[q].buf;
            size_t w = (size_t)dtype_bytes(b->type);
            int64_t *to = calloc((size_t)ps[q].count + 1, sizeof *to);
            check_map(c, &get, b, &ps[q], to);
            const unsigned char *want = args[q].data;
            for (int64_t e = 0; ok && e < ps[q].count; e++) {
                const unsigned char *got = ps[q].result + w * (size_t)to[e];
                if (check_equal(b->type, want + w * (size_t)e, got)) continue;
                ok = false;
                float fw = 0, fg = 0;
                if (b->type == F32) memcpy(&fw, want + w * (size_t)e, 4), memcpy(&fg, got, 4);
                uint64_t uw = 0, ug = 0;
                memcpy(&uw, want + w * (size_t)e, w), memcpy(&ug, got, w);
                snprintf(why, cap, "%s: %s differs at element %lld: interpreter %g (0x%llx), C %g (0x%llx)", k->compilers[i], b->name, (long long)e, (double)fw, (unsigned long long)uw, (double)fg, (unsigned long long)ug);
            }
            free(to);
        }
    }
    if (!k->keep && ok) {
        remove(path), remove(exe), remove(in), remove(out);
        rmdir(dir);
    } else if (!ok) {
        size_t n = strlen(why);
        snprintf(why + n, cap - n, " [files in %s]", dir);
    }
    for (int i = 0; i < p->params.n; i++) {
        if (p->params.v[i].dir == DIR_OUT) free(args[i].data);
        free(ps[i].logical), free(ps[i].physical), free(ps[i].result);
    }
    text_free(&body), text_free(&text), text_free(&flags);
    return ok;
}
#endif
