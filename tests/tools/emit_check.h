/* Prints procedures as C, compiles them into one program, runs it and the interpreter on the same inputs and compares
 * every bit of every output cell (NaN payloads are free). Used by tests/unit/test_emit.c and by the program lir_check.
 */
#ifndef NN_TESTS_EMIT_CHECK_H
#define NN_TESTS_EMIT_CHECK_H
#include "codegen/emit.h"
#include "ir/base/convert.h"
#include "ir/base/diag.h"
#include "ir/loop_eval.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct check_options {
    const struct target *target;
    const char *compilers[4]; /* NULL ends; e.g. "gcc", "clang-14" */
    const char *flags;        /* optimisation, e.g. "-O3" */
    bool strict;              /* scalar C99 */
    bool special;             /* inputs hold NaN, infinities, -0, denormals */
    unsigned seed;
    const char *keep;     /* folder to work in and keep; NULL: a temporary one */
    const char *dims[16]; /* "N=7": values of sizes; else 5, or the nearest in the size's range */
    int bench;            /* > 0: time that many calls */
};
static const char *const check_warnings = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror";

struct check_get {
    const struct proc *p;
    const int64_t *syms;
    const struct buf *b;
    const int64_t *at;
};
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
    static const double odd[] = {NAN,   INFINITY, -INFINITY, -0.0, 0.0,          1e-42,
                                 -3e38, 65520.0,  6e-8,      1.0,  2147483648.0, -9.3e18};
    if (special && check_random(s) % 3 == 0) v = odd[check_random(s) % (sizeof odd / sizeof *odd)];
    switch (t) {
    case F32: {
        float f = (float)v;
        memcpy(p, &f, 4);
        break;
    }
    case F64: memcpy(p, &v, 8); break;
    case F16: {
        uint16_t h = f32_to_f16((float)v);
        memcpy(p, &h, 2);
        break;
    }
    case BF16: {
        uint16_t h = f32_to_bf16((float)v);
        memcpy(p, &h, 2);
        break;
    }
    case BOOL: *p = (unsigned char)(r & 1); break;
    default:
        for (int k = 0; k < dtype_bytes(t); k++) p[k] = (unsigned char)check_random(s);
        if (!special && dtype_bytes(t) >= 4)
            memset(p + 2, (p[1] & 0x80) && dtype_is_signed(t) ? 0xff : 0, (size_t)dtype_bytes(t) - 2);
        if (dtype_bits(t) < 8) *p = (unsigned char)((*p & ((1 << dtype_bits(t)) - 1)));
        if (t == I4 && *p & 8) *p |= 0xf0;
        if (t == I2 && *p & 2) *p |= 0xfc;
        break;
    }
}
static bool check_equal(enum dtype t, const unsigned char *a, const unsigned char *b) {
    if (!memcmp(a, b, (size_t)dtype_bytes(t))) return true;
    uint16_t x = 0, y = 0;
    if (dtype_bytes(t) > 1) memcpy(&x, a, 2), memcpy(&y, b, 2);
    switch (t) {
    case F32: {
        float f, g;
        memcpy(&f, a, 4), memcpy(&g, b, 4);
        return isnan(f) && isnan(g);
    }
    case F64: {
        double f, g;
        memcpy(&f, a, 8), memcpy(&g, b, 8);
        return isnan(f) && isnan(g);
    }
    case F16: return isnan(f16_to_f32(x)) && isnan(f16_to_f32(y));
    case BF16: return isnan(bf16_to_f32(x)) && isnan(bf16_to_f32(y));
    case F8E4M3FN: return isnan(f8_to_f32(*a, F8_E4M3FN)) && isnan(f8_to_f32(*b, F8_E4M3FN));
    case F8E5M2: return isnan(f8_to_f32(*a, F8_E5M2)) && isnan(f8_to_f32(*b, F8_E5M2));
    default: return false;
    }
}

struct check_param {
    int64_t dims[32], count, cells;
    unsigned char *logical, *physical;
};
struct check_proc {
    struct proc *p;
    int64_t syms[16], ws;
    struct check_param ps[32];
    struct eval_arg args[32];
    bool faulted;
    char fault[256];
};
static int64_t check_size(const struct check_options *k, const struct sym *y) {
    size_t l = strlen(y->name);
    for (int i = 0; i < 16 && k->dims[i]; i++)
        if (!strncmp(k->dims[i], y->name, l) && k->dims[i][l] == '=') return atoll(k->dims[i] + l + 1);
    return y->lo > 5 ? y->lo : y->hi < 5 ? y->hi : 5;
}

/* Physical cell of each logical element, in order; NULL when one lies outside of the buffer. Caller frees. */
static int64_t *check_map(struct ctx *c, const struct check_get *base, const struct buf *b,
                          const struct check_param *p) {
    int64_t at[32] = {0}, *to = calloc((size_t)p->count + 1, sizeof *to);
    struct check_get q = *base;
    q.b = b, q.at = at;
    expr off = buf_offset(c, b, b->map);
    for (int64_t i = 0; i < p->count; i++) {
        if (!check_num(&q, off, &to[i]) || to[i] < 0 || to[i] >= p->cells) return free(to), NULL;
        for (int k = b->nlogical - 1; k >= 0 && ++at[k] == p->dims[k]; k--) at[k] = 0;
    }
    return to;
}
/* Inputs of one procedure, random, appended to the program's input; and the interpreter's answer. */
static bool check_prepare(struct module *m, struct check_proc *cp, const struct check_options *k, struct text *input,
                          char *why, size_t cap) {
    struct ctx *c = m->ctx;
    struct proc *p = cp->p;
    unsigned seed = k->seed + 1;
    if (p->params.n > 32 || p->syms.n > 16) return snprintf(why, cap, "%s: too many parameters", p->name), false;
    for (int i = 0; i < p->syms.n; i++) cp->syms[i] = check_size(k, p->syms.v[i]);
    struct check_get get = {.p = p, .syms = cp->syms};
    for (int i = 0; i < p->params.n; i++) {
        const struct buf *b = p->params.v[i].buf;
        struct check_param *q = &cp->ps[i];
        size_t w = (size_t)dtype_bytes(b->type);
        q->count = 1;
        for (int d = 0; d < b->nlogical; d++) {
            if (!check_num(&get, b->logical[d], &q->dims[d]))
                return snprintf(why, cap, "dims of %s are not known", b->name), false;
            q->count *= q->dims[d];
        }
        if (!check_num(&get, buf_cells(c, b), &q->cells))
            return snprintf(why, cap, "size of %s is not known", b->name), false;
        q->logical = calloc((size_t)q->count + 1, w);
        q->physical = calloc((size_t)q->cells + 1, w);
        int64_t *to = check_map(c, &get, b, q);
        if (!to) return snprintf(why, cap, "layout of %s leaves the buffer", b->name), false;
        bool given = p->params.v[i].dir != DIR_OUT;
        for (int64_t e = 0; e < q->cells; e++) { /* what the caller leaves undefined in outputs is noise */
            if (b->fill && b->type == F32) {
                float f = (float)b->fill->u.f;
                memcpy(q->physical + w * (size_t)e, &f, 4);
            } else if (!given && !b->fill) check_element(b->type, q->physical + w * (size_t)e, &seed, false);
        }
        for (int64_t e = 0; given && e < q->count; e++) {
            check_element(b->type, q->logical + w * (size_t)e, &seed, k->special);
            memcpy(q->physical + w * (size_t)to[e], q->logical + w * (size_t)e, w);
        }
        text_addn(input, (const char *)q->physical, (size_t)q->cells * w);
        cp->args[i].data = given ? q->logical : NULL;
        cp->args[i].nd = b->nlogical;
        memcpy(cp->args[i].dims, q->dims, sizeof q->dims);
        free(to);
    }
    if (!check_num(&get, emit_scratch_bytes(c, p), &cp->ws))
        return snprintf(why, cap, "%s: scratch size is not known", p->name), false;
    struct eval_result r = loop_eval(m, p, cp->args, cp->syms, &(struct eval_options){0});
    cp->faulted = r.status == EVAL_FAULT;
    snprintf(cp->fault, sizeof cp->fault, "%.200s", r.message);
    if (r.status != EVAL_OK && !cp->faulted)
        return snprintf(why, cap, "%s: interpreter: %s", p->name, r.message), false;
    return true;
}
static void check_main(struct text *t, struct ctx *c, const struct check_proc *cps, int n, const struct emit_options *o,
                       const struct check_options *k) {
    int64_t ws = 0;
    text_add(t, "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n");
    if (k->bench) text_add(t, "#include <time.h>\n");
    struct text call = {0}, reads = {0};
    for (int j = 0; j < n; j++) {
        const struct proc *p = cps[j].p;
        struct text a = {0};
        if (o->target->emit == EMIT_CUDA) text_add(&a, "NULL"); /* the stream */
        emit_proc_head(t, c, p, o);
        text_add(t, ";\n");
        if (cps[j].ws > ws) ws = cps[j].ws;
        for (int i = 0; i < p->params.n; i++) {
            const struct buf *b = p->params.v[i].buf;
            long long cells = cps[j].ps[i].cells;
            text_printf(t, "static %s%s io_%d_%d[%lld];\n", k->strict ? "" : "__attribute__((aligned(64))) ",
                        dtype_c(b->type), j, i, cells ? cells : 1);
            text_printf(&reads, "    if (fread(io_%d_%d, sizeof *io_%d_%d, %lld, in) != %lld)\n        return 2;\n", j,
                        i, j, i, cells, cells);
            text_printf(&a, "%sio_%d_%d%s", a.n ? ", " : "", j, i, cells ? "" : " + 1"); /* nothing there to touch */
        }
        for (int i = 0; i < p->syms.n; i++) text_printf(&a, "%s%lld", a.n ? ", " : "", (long long)cps[j].syms[i]);
        if (cps[j].ws) text_printf(&a, "%sscratch", a.n ? ", " : "");
        if (emit_needs_fault(p)) text_printf(&a, "%s&bad", a.n ? ", " : "");
        text_printf(&call, "    bad = 0;\n    %s(%s);\n", emit_proc_name(c, p, o), a.s ? a.s : "");
        for (int i = 0; i < p->params.n; i++)
            text_printf(&call, "    fwrite(io_%d_%d, sizeof *io_%d_%d, %lld, out);\n", j, i, j, i,
                        (long long)cps[j].ps[i].cells);
        text_add(&call, "    fwrite(&bad, sizeof bad, 1, out);\n");
        if (k->bench)
            text_printf(
                &call,
                "    double best_%d = 1e9;\n    for (int r = 0; r < %d; r++) {\n        struct timespec a, b;\n        "
                "clock_gettime(CLOCK_MONOTONIC, &a);\n        %s(%s);\n        clock_gettime(CLOCK_MONOTONIC, &b);\n"
                "        const double t = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);\n    "
                "    if (t < best_%d)\n            best_%d = t;\n    }\n    fprintf(stderr, \"%s %%.4f ms\\n\", "
                "best_%d * 1e3);\n",
                j, k->bench, emit_proc_name(c, p, o), a.s ? a.s : "", j, j, p->name, j);
        text_free(&a);
    }
    if (ws)
        text_printf(t, "static %sdouble scratch[%lld];\n", k->strict ? "" : "__attribute__((aligned(64))) ",
                    (long long)(ws / 8 + 16));
    text_add(t, "int main(int argc, char **argv) {\n    int bad = 0;\n    FILE *in = argc == 3 ? fopen(argv[1], "
                "\"rb\") : NULL, *out = in ? fopen(argv[2], \"wb\") : NULL;\n    if (!out)\n        return 1;\n");
    text_printf(t, "%s%s    return fclose(out) ? 3 : 0;\n}\n", reads.s ? reads.s : "", call.s);
    text_free(&call), text_free(&reads);
}
static bool check_write(const char *file, const void *data, size_t n) {
    FILE *f = fopen(file, "wb");
    bool ok = f && fwrite(data, 1, n, f) == n;
    if (f && fclose(f)) ok = false;
    return ok;
}
/* The program's output against the interpreter's. */
static bool check_outputs(struct ctx *c, const struct check_proc *cp, FILE *f, const char *cc, char *why, size_t cap) {
    const struct proc *p = cp->p;
    bool ok = true;
    for (int q = 0; q < p->params.n; q++) {
        const struct buf *b = p->params.v[q].buf;
        size_t w = (size_t)dtype_bytes(b->type), cells = (size_t)cp->ps[q].cells;
        unsigned char *got = calloc(cells + 1, w);
        if (fread(got, w, cells, f) != cells) ok = false, snprintf(why, cap, "output is short");
        struct check_get get = {.p = p, .syms = cp->syms};
        int64_t *to = check_map(c, &get, b, &cp->ps[q]);
        const unsigned char *want = cp->args[q].data;
        for (int64_t e = 0; ok && !cp->faulted && p->params.v[q].dir != DIR_IN && e < cp->ps[q].count; e++) {
            const unsigned char *g = got + w * (size_t)to[e], *v = want + w * (size_t)e;
            if (check_equal(b->type, v, g)) continue;
            ok = false;
            float fw = 0, fg = 0;
            uint64_t uw = 0, ug = 0;
            if (b->type == F32) memcpy(&fw, v, 4), memcpy(&fg, g, 4);
            memcpy(&uw, v, w > 8 ? 8 : w), memcpy(&ug, g, w > 8 ? 8 : w);
            snprintf(why, cap, "%s: %s.%s differs at element %lld: interpreter %g (0x%llx), C %g (0x%llx)", cc, p->name,
                     b->name, (long long)e, (double)fw, (unsigned long long)uw, (double)fg, (unsigned long long)ug);
        }
        free(to), free(got);
    }
    int bad = 0;
    if (fread(&bad, sizeof bad, 1, f) != 1) return snprintf(why, cap, "output is short"), false;
    if (ok && !bad != !cp->faulted)
        ok = false, snprintf(why, cap, "%s: %s: fault is %d in C, %d in the interpreter %s", cc, p->name, bad,
                             cp->faulted, cp->fault);
    return ok;
}
/* The commands' part that differs for CUDA: it goes through the emulator, whose files stand below $GCC2NN_SOURCE_ROOT.
 */
static const char *check_emulator(char *s, size_t cap) {
    const char *root = getenv("GCC2NN_SOURCE_ROOT");
    if (!root) root = "../..";
    snprintf(
        s, cap,
        "-std=c++17 -ffp-contract=off -DNN_CUDA_EMU -Wall -Wextra -Werror -I%s/runtime_stub -I%s/templates/cuda_emu "
        "-x c++ %s/templates/cuda_emu/cuda_emu.cpp",
        root, root, root);
    return s;
}
static bool emit_check(struct module *m, struct proc *const *procs, int n, const struct check_options *k, char *why,
                       size_t cap) {
    struct ctx *c = m->ctx;
    struct emit_options o = {.target = k->target, .c99_strict = k->strict, .external = true, .uses = emit_uses_new(c)};
    struct check_proc *cps = calloc((size_t)n + 1, sizeof *cps);
    struct text input = {0}, body = {0}, text = {0}, flags = {0};
    bool ok = true;
    for (int j = 0; ok && j < n; j++) {
        cps[j].p = procs[j];
        ok = check_prepare(m, &cps[j], k, &input, why, cap);
    }
    bool cuda = k->target->emit == EMIT_CUDA;
    char dir[512], path[600], caller[600], exe[600], in[600], out[600], cmd[4096], emulator[1200];
    snprintf(dir, sizeof dir, "%s", k->keep ? k->keep : "/tmp/emit_check_XXXXXX");
    if (k->keep ? mkdir(dir, 0777) != 0 && access(dir, W_OK) != 0 : !mkdtemp(dir))
        ok = false, snprintf(why, cap, "no folder to work in");
    snprintf(path, sizeof path, "%s/k.%s", dir, cuda ? "cu" : "c"), snprintf(caller, sizeof caller, "%s/main.c", dir),
        snprintf(exe, sizeof exe, "%s/k", dir), snprintf(in, sizeof in, "%s/in", dir),
        snprintf(out, sizeof out, "%s/out", dir);
    for (int j = 0; ok && j < n; j++) {
        emit_proc(&body, c, procs[j], &o);
        text_char(&body, '\n');
    }
    emit_prelude(&text, c, &o);
    text_printf(&text, "\n%s", body.s ? body.s : "");
    emit_cflags(&flags, &o);
    check_write(in, input.s ? input.s : "", input.n);
    check_write(path, text.s, text.n);
    text.n = 0; /* the caller is a file of its own: a compiler must not see sizes through calls */
    if (ok) check_main(&text, c, cps, n, &o, k);
    check_write(caller, text.s, text.n);
    for (int i = 0; ok && k->compilers[i]; i++) {
        const struct target *t = k->target;
        snprintf(cmd, sizeof cmd, "%s %s %s %s %s -o %s %s %s -lm 2>&1", k->compilers[i], cuda ? "" : flags.s,
                 k->flags ? k->flags : "-O2", k->bench ? "-D_POSIX_C_SOURCE=199309L" : "",
                 cuda ? check_emulator(emulator, sizeof emulator) : check_warnings, exe, path, caller);
        if (system(cmd)) {
            ok = false;
            snprintf(why, cap, "does not compile without warnings: %.500s", cmd);
            break;
        }
        snprintf(cmd, sizeof cmd, "%s %s %s %s", t->runner ? t->runner : "", exe, in, out);
        int status = system(cmd);
        if (status) {
            ok = false;
            snprintf(why, cap, "%s: the program ends with status %d", k->compilers[i], status >> 8);
            break;
        }
        FILE *f = fopen(out, "rb");
        if (!f) ok = false, snprintf(why, cap, "no output");
        for (int j = 0; ok && j < n; j++) ok = check_outputs(c, &cps[j], f, k->compilers[i], why, cap);
        if (f) fclose(f);
    }
    if (!k->keep && ok) {
        remove(path), remove(caller), remove(exe), remove(in), remove(out);
        rmdir(dir);
    } else if (!ok) {
        size_t l = strlen(why);
        snprintf(why + l, cap - l, " [files in %s]", dir);
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; cps[j].p && i < cps[j].p->params.n; i++) {
            if (cps[j].p->params.v[i].dir == DIR_OUT) free(cps[j].args[i].data);
            free(cps[j].ps[i].logical), free(cps[j].ps[i].physical);
        }
    free(cps);
    text_free(&input), text_free(&body), text_free(&text), text_free(&flags);
    return ok;
}
#endif
