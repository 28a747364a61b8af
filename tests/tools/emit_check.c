/* Equality of printed C and interpreter. See emit_check.h.
 *
 * The program reads sizes and physical contents of every parameter and writes what it stored: one program serves all
 * rounds, and its compiler sees no size. */
#include "tests/tools/emit_check.h"
#include "ir/base/convert.h"
#include "ir/base/diag.h"
#include "ir/eval/eval.h"
#include "tests/tools/printable.h"
#include "tests/tools/same_cell.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const warnings = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror";
enum { MOST_PARAMS = 48, MOST_SYMS = 32 };

/* What a result holds before is noise, another for each side: a cell that both left alone may differ, but one that was
 * computed from such a cell is found. */
struct check_param {
    int64_t dims[32], count, cells;
    unsigned char *physical, *logical; /* what C gets; what the interpreter gets, then its answer */
    unsigned char *before;             /* a result: logical, before the run */
};
struct check_proc {
    struct proc *p, *printed; /* before the passes and after them */
    int64_t syms[MOST_SYMS], ws;
    struct check_param ps[MOST_PARAMS];
    struct eval_arg args[MOST_PARAMS];
    bool faulted;
    char fault[256];
};

/* ---- values */
static unsigned check_random(unsigned *s) { return *s = *s * 1664525u + 1013904223u, *s >> 8; }
static void integer_element(enum dtype t, unsigned char *p, unsigned *s, enum check_values how) {
    size_t bytes = (size_t)dtype_bytes(t);
    for (size_t k = 0; k < bytes; k++) p[k] = (unsigned char)check_random(s);
    if (how == CHECK_INDEX) memset(p + 1, 0, bytes - 1), *p &= 1;
    if (how == CHECK_ZERO) memset(p, 0, bytes);
    if (how == CHECK_PLAIN && bytes >= 4) memset(p + 2, (p[1] & 0x80) && dtype_is_signed(t) ? 0xff : 0, bytes - 2);
    if (dtype_bits(t) < 8) *p = (unsigned char)((*p & ((1 << dtype_bits(t)) - 1)));
    if (t == I4 && *p & 8) *p |= 0xf0;
    if (t == I2 && *p & 2) *p |= 0xfc;
}
static void check_element(enum dtype t, unsigned char *p, unsigned *s, enum check_values how) {
    unsigned r = check_random(s);
    double v = ((int)(r % 4001u) - 2000) / 700.0;
    static const double odd[] = {NAN,   INFINITY, -INFINITY, -0.0, 0.0,          1e-42,
                                 -3e38, 65520.0,  6e-8,      1.0,  2147483648.0, -9.3e18};
    if (how == CHECK_SPECIAL && check_random(s) % 3 == 0) v = odd[check_random(s) % (sizeof odd / sizeof *odd)];
    float f = (float)v;
    uint16_t h = t == F16 ? f32_to_f16(f) : f32_to_bf16(f);
    switch (t) {
    case F32: memcpy(p, &f, 4); break;
    case F64: memcpy(p, &v, 8); break;
    case F16:
    case BF16: memcpy(p, &h, 2); break;
    case BOOL: *p = (unsigned char)(r & 1); break;
    default: integer_element(t, p, s, how); break;
    }
}
/* An integer of a parameter that is known to lie within a range. */
static void element_within(const struct buf *b, unsigned char *p, unsigned *s) {
    uint64_t span = (uint64_t)b->within[1] - (uint64_t)b->within[0] + 1;
    int64_t v = b->within[0] + (int64_t)(span ? check_random(s) % span : 0);
    memcpy(p, &v, (size_t)dtype_bytes(b->type)); /* the low bytes come first */
}
/* ---- sizes and places */
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
static int64_t check_size(const struct check_options *k, const struct check_round *r, const struct sym *y, int index) {
    static const int64_t choice[] = {5, 7, 1, 13, 2, 0};
    size_t l = strlen(y->name);
    for (int i = 0; i < 16 && k->dims[i]; i++)
        if (!strncmp(k->dims[i], y->name, l) && k->dims[i][l] == '=') return atoll(k->dims[i] + l + 1);
    int64_t v = r->sizes ? choice[(r->sizes - 1 + index) % 6] : 5;
    return y->lo > v ? y->lo : y->hi < v ? y->hi : v;
}
/* How often the innermost statements run, roughly. */
static double work_of(const struct check_get *get, struct block *b) {
    double sum = 0;
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        int64_t n = 1;
        if (s->kind == S_FOR && !check_num(get, s->u.loop.var->extent, &n)) n = 1;
        double inner = s->kind == S_STORE;
        for (int k = stmt_blocks(s, in); k-- > 0;) inner += work_of(get, in[k]);
        sum += (double)n * inner;
    }
    return sum;
}
/* Sizes for one round; large ones are halved while that would take the interpreter long. */
static void choose_sizes(struct check_proc *cp, const struct check_options *k, const struct check_round *round) {
    struct proc *p = cp->p;
    struct check_get get = {.p = p, .syms = cp->syms};
    for (int i = 0; i < p->syms.n; i++) cp->syms[i] = check_size(k, round, p->syms.v[i], i);
    while (round->sizes && work_of(&get, &p->body) > 2e7) {
        int most = -1;
        for (int i = 0; i < p->syms.n; i++)
            if (cp->syms[i] / 2 >= 1 && cp->syms[i] / 2 >= p->syms.v[i]->lo &&
                (most < 0 || cp->syms[i] > cp->syms[most]))
                most = i;
        if (most < 0) break;
        cp->syms[most] /= 2;
    }
}

/* Physical cell of a logical element. Mostly a sum of one number for each logical index: then from tables. */
struct places {
    struct check_get get;
    expr off;
    int64_t first, *of[32];
    bool separable;
};
struct one_var {
    const struct buf *b;
    int seen; /* -1: none, -2: several */
};
static bool note_var(void *env, expr e) {
    struct one_var *q = env;
    for (int k = 0; e->op == X_VAR && k < q->b->nlogical; k++)
        if (q->b->lvar[k] == e->u.var) q->seen = q->seen == -1 || q->seen == k ? k : -2;
    return true;
}
static bool make_tables(struct places *w, const int64_t *dims) {
    int64_t at[32] = {0};
    struct check_get get = w->get;
    get.at = at;
    if (!check_num(&get, w->off, &w->first)) return false;
    for (int k = 0; k < get.b->nlogical; k++) {
        w->of[k] = malloc(sizeof **w->of * (size_t)dims[k]);
        for (at[k] = 0; at[k] < dims[k]; at[k]++) {
            if (!check_num(&get, w->off, &w->of[k][at[k]])) return false;
            w->of[k][at[k]] -= w->first;
        }
        at[k] = 0;
    }
    return true;
}
static bool places_open(struct places *w, struct ctx *c, const struct check_get *base, const struct buf *b,
                        const struct check_param *p) {
    *w = (struct places){.get = *base, .off = buf_offset(c, b, b->map), .separable = p->count > 0};
    w->get.b = b;
    for (int k = 0; k < b->nd; k++) {
        struct one_var q = {b, -1};
        x_visit(b->map[k], note_var, &q);
        w->separable = w->separable && q.seen != -2;
    }
    return !w->separable || make_tables(w, p->dims);
}
static void places_close(struct places *w) {
    for (int k = 0; k < 32; k++) free(w->of[k]);
}
static bool place(struct places *w, const int64_t *at, int64_t *to) {
    w->get.at = at;
    if (!w->separable) return check_num(&w->get, w->off, to);
    *to = w->first;
    for (int k = 0; k < w->get.b->nlogical; k++) *to += w->of[k][at[k]];
    return true;
}
static void next(int64_t *at, const int64_t *dims, int n) {
    for (int k = n - 1; k >= 0 && ++at[k] == dims[k]; k--) at[k] = 0;
}

/* ---- inputs, and the interpreter's answer */
static void check_release(struct check_proc *cp) {
    for (int i = 0; i < cp->p->params.n; i++) free(cp->ps[i].logical), free(cp->ps[i].physical), free(cp->ps[i].before);
    memset(cp->ps, 0, sizeof cp->ps);
    memset(cp->args, 0, sizeof cp->args);
}
static bool fill_param(struct check_proc *cp, int i, struct ctx *c, const struct check_get *get, unsigned *seed,
                       enum check_values how) {
    const struct buf *b = cp->p->params.v[i].buf;
    struct check_param *q = &cp->ps[i];
    size_t w = (size_t)dtype_bytes(b->type);
    bool given = cp->p->params.v[i].dir != DIR_OUT, ok = true;
    q->physical = calloc((size_t)q->cells + 1, w);
    q->logical = calloc((size_t)q->count + 1, w);
    q->before = given ? NULL : calloc((size_t)q->count + 1, w);
    if (!q->physical || !q->logical || (!given && !q->before)) return false;
    float f = b->fill && b->type == F32 ? (float)b->fill->u.f : 0;
    for (int64_t e = 0; f != 0 && e < q->cells; e++) memcpy(q->physical + w * (size_t)e, &f, 4);
    struct places places;
    int64_t at[32] = {0};
    ok = places_open(&places, c, get, b, q);
    for (int64_t e = 0, to; ok && e < q->count; e++, next(at, q->dims, b->nlogical)) {
        unsigned char *mine = q->logical + w * (size_t)e, *theirs;
        ok = place(&places, at, &to) && to >= 0 && to < q->cells;
        if (!ok) break;
        theirs = q->physical + w * (size_t)to;
        if (b->within) element_within(b, theirs, seed);
        else check_element(b->type, theirs, seed, given ? how : CHECK_PLAIN);
        if (given) memcpy(mine, theirs, w);
        else check_element(b->type, mine, seed, CHECK_PLAIN);
    }
    if (!given && ok) memcpy(q->before, q->logical, w * (size_t)q->count);
    places_close(&places);
    return ok;
}
/* With contents in results, which a caller does not give. */
static struct eval_result interpret(struct module *m, struct check_proc *cp) {
    struct proc *p = cp->p;
    enum param_dir dirs[MOST_PARAMS];
    for (int i = 0; i < p->params.n; i++) {
        dirs[i] = p->params.v[i].dir;
        if (dirs[i] == DIR_OUT) p->params.v[i].dir = DIR_INOUT;
    }
    struct eval_result r = loop_eval(m, p, cp->args, cp->syms, &(struct eval_options){0});
    for (int i = 0; i < p->params.n; i++) p->params.v[i].dir = dirs[i];
    return r;
}
static bool put(FILE *f, const void *data, size_t n) { return fwrite(data, 1, n, f) == n; }
static bool put_number(FILE *f, int64_t n) { return put(f, &n, sizeof n); }
static bool check_prepare(struct module *m, struct check_proc *cp, const struct check_options *k,
                          const struct check_round *round, FILE *input, char *why, size_t cap) {
    struct ctx *c = m->ctx;
    struct proc *p = cp->p;
    unsigned seed = round->seed + 1;
    bool ok = true;
    choose_sizes(cp, k, round);
    for (int i = 0; i < p->syms.n; i++) ok = put_number(input, cp->syms[i]) && ok;
    struct check_get get = {.p = p, .syms = cp->syms};
    for (int i = 0; i < p->params.n; i++) {
        const struct buf *b = p->params.v[i].buf;
        struct check_param *q = &cp->ps[i];
        q->count = 1;
        for (int d = 0; d < b->nlogical; d++) {
            if (!check_num(&get, b->logical[d], &q->dims[d]) || q->dims[d] < 0)
                return snprintf(why, cap, "%s: dims of %s are not known", p->name, b->name), false;
            q->count *= q->dims[d];
        }
        if (!check_num(&get, buf_cells(c, b), &q->cells))
            return snprintf(why, cap, "%s: size of %s is not known", p->name, b->name), false;
        if (!fill_param(cp, i, c, &get, &seed, round->values))
            return snprintf(why, cap, "%s: the layout of %s leaves the buffer", p->name, b->name), false;
        int64_t bytes = q->cells * dtype_bytes(b->type);
        ok = put_number(input, bytes) && put(input, q->physical, (size_t)bytes) && ok;
        cp->args[i].data = q->logical;
        cp->args[i].nd = b->nlogical;
        memcpy(cp->args[i].dims, q->dims, sizeof q->dims);
        if (p->params.v[i].dir == DIR_IN) free(q->physical), q->physical = NULL;
    }
    if (!check_num(&get, scratch_bytes(c, cp->printed), &cp->ws))
        return snprintf(why, cap, "%s: scratch size is not known", p->name), false;
    if (!put_number(input, cp->ws) || !ok) return snprintf(why, cap, "%s: inputs cannot be written", p->name), false;
    struct eval_result r = interpret(m, cp);
    cp->faulted = r.status == EVAL_FAULT;
    snprintf(cp->fault, sizeof cp->fault, "%.200s", r.message);
    if (r.status != EVAL_OK && !cp->faulted)
        return snprintf(why, cap, "%s: interpreter: %s", p->name, r.message), false;
    return true;
}

/* ---- the program */
/* Names begin with nn_, as those of kernels do not. */
static const char head[] =
    "#ifndef _POSIX_C_SOURCE\n#define _POSIX_C_SOURCE 200112L\n#endif\n"
    "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "#include <time.h>\n\n"
    "static FILE *nn_in, *nn_out;\n"
    "static void *nn_blocks[64];\n"
    "static int nn_nblocks, nn_bad;\n\n"
    "static ptrdiff_t nn_number(void) {\n"
    "    int64_t n;\n"
    "    if (fread(&n, sizeof n, 1, nn_in) != 1) exit(2);\n"
    "    return (ptrdiff_t)n;\n}\n"
    "static void *nn_memory(ptrdiff_t bytes) {\n"
    "    void *p = NULL;\n"
    "    if (posix_memalign(&p, 64, bytes ? (size_t)bytes : 64)) exit(4);\n"
    "    memset(p, 0xff, (size_t)bytes);\n"
    "    nn_blocks[nn_nblocks++] = p;\n"
    "    return bytes ? p : (char *)p + 64; /* nothing there to touch */\n}\n"
    "static void *nn_contents(ptrdiff_t bytes) {\n"
    "    void *p = nn_memory(bytes);\n"
    "    if (fread(p, 1, (size_t)bytes, nn_in) != (size_t)bytes) exit(2);\n"
    "    return p;\n}\n"
    "static void nn_release(void) {\n"
    "    while (nn_nblocks) free(nn_blocks[--nn_nblocks]);\n}\n";
/* Iterations of a parallel loop from the last to the first, each a part of its own. */
static const char backwards[] =
    "#include \"nn_threads.h\"\n"
    "static void nn_run(nn_threads *t, ptrdiff_t n, ptrdiff_t grain, nn_part *part, const void *shared) {\n"
    "    (void)t, (void)grain;\n"
    "    while (n-- > 0) part(shared, n, n + 1);\n}\n"
    "static nn_threads nn_backwards = {nn_run};\n";

static void check_call(struct text *t, struct ctx *c, const struct proc *p, int j, const struct emit_options *o,
                       const struct check_options *k) {
    struct text a = {0};
    if (o->target->emit == EMIT_CUDA) text_add(&a, "NULL"); /* the stream */
    for (int i = 0; i < p->params.n; i++) text_printf(&a, "%sb%d", a.n ? ", " : "", i);
    for (int i = 0; i < p->syms.n; i++) text_printf(&a, "%sn%d", a.n ? ", " : "", i);
    bool scratch = !x_is(scratch_bytes(c, p), 0);
    if (scratch) text_printf(&a, "%sws", a.n ? ", " : "");
    if (proc_may_fault(p)) text_printf(&a, "%s&nn_bad", a.n ? ", " : "");
    if (proc_is_parallel(p)) text_printf(&a, "%s&nn_backwards", a.n ? ", " : "");
    text_add(t, "\n");
    emit_proc_head(t, c, p, o);
    text_printf(t, ";\nstatic void nn_call_%d(void) {\n    nn_bad = 0;\n", j);
    for (int i = 0; i < p->syms.n; i++) text_printf(t, "    const ptrdiff_t n%d = nn_number();\n", i);
    for (int i = 0; i < p->params.n; i++) {
        const char *type = dtype_c(p->params.v[i].buf->type);
        text_printf(t, "    const ptrdiff_t z%d = nn_number();\n    %s *b%d = (%s *)nn_contents(z%d);\n", i, type, i,
                    type, i);
    }
    text_printf(t, "    %snn_memory(nn_number());\n", scratch ? "void *ws = " : "");
    text_printf(t, "    %s(%s);\n", emit_proc_name(c, p, o), a.s ? a.s : "");
    for (int i = 0; i < p->params.n; i++)
        if (p->params.v[i].dir != DIR_IN) text_printf(t, "    fwrite(b%d, 1, (size_t)z%d, nn_out);\n", i, i);
    text_add(t, "    fwrite(&nn_bad, sizeof nn_bad, 1, nn_out);\n");
    if (k->bench)
        text_printf(
            t,
            "    double best = 1e9;\n    for (int r = 0; r < %d; r++) {\n        struct timespec s, e;\n        "
            "clock_gettime(CLOCK_MONOTONIC, &s);\n        %s(%s);\n        clock_gettime(CLOCK_MONOTONIC, &e);\n"
            "        const double t = (double)(e.tv_sec - s.tv_sec) + 1e-9 * (double)(e.tv_nsec - s.tv_nsec);\n"
            "        if (t < best)\n            best = t;\n    }\n"
            "    fprintf(stderr, \"%s %%.4f ms\\n\", best * 1e3);\n",
            k->bench, emit_proc_name(c, p, o), a.s ? a.s : "", p->name);
    text_add(t, "    nn_release();\n}\n");
    text_free(&a);
}
static void check_main(struct text *t, struct ctx *c, struct proc *const *procs, int n, const struct emit_options *o,
                       const struct check_options *k) {
    bool parallel = false;
    for (int j = 0; j < n; j++) parallel |= proc_is_parallel(procs[j]);
    text_add(t, head);
    if (parallel) text_add(t, backwards);
    for (int j = 0; j < n; j++) check_call(t, c, procs[j], j, o, k);
    text_add(t, "\nint main(int argc, char **argv) {\n    nn_in = argc == 3 ? fopen(argv[1], \"rb\") : NULL;\n"
                "    nn_out = nn_in ? fopen(argv[2], \"wb\") : NULL;\n    if (!nn_out) return 1;\n");
    for (int j = 0; j < n; j++) text_printf(t, "    nn_call_%d();\n", j);
    text_add(t, "    fclose(nn_in);\n    return fclose(nn_out) ? 3 : 0;\n}\n");
}

/* ---- the comparison */
static bool check_output(struct ctx *c, const struct check_proc *cp, int i, FILE *f, const char *cc, char *why,
                         size_t cap) {
    const struct buf *b = cp->p->params.v[i].buf;
    const struct check_param *q = &cp->ps[i];
    size_t w = (size_t)dtype_bytes(b->type);
    unsigned char *got = calloc((size_t)q->cells + 1, w);
    const unsigned char *want = cp->args[i].data;
    bool ok = got && fread(got, w, (size_t)q->cells, f) == (size_t)q->cells;
    if (!ok) snprintf(why, cap, "%s: output is short", cp->p->name);
    struct places places;
    int64_t at[32] = {0};
    if (ok && !cp->faulted) {
        ok = places_open(&places, c, &(struct check_get){.p = cp->p, .syms = cp->syms}, b, q);
        for (int64_t e = 0, to; ok && e < q->count; e++, next(at, q->dims, b->nlogical)) {
            if (!place(&places, at, &to) || to < 0 || to >= q->cells) {
                ok = false, snprintf(why, cap, "%s: the layout of %s leaves the buffer", cp->p->name, b->name);
                break;
            }
            const unsigned char *g = got + w * (size_t)to, *v = want + w * (size_t)e;
            if (same_cell(b->type, v, g)) continue;
            if (q->before && !memcmp(v, q->before + w * (size_t)e, w) && !memcmp(g, q->physical + w * (size_t)to, w))
                continue;
            ok = false;
            float fw = 0, fg = 0;
            uint64_t uw = 0, ug = 0;
            if (b->type == F32) memcpy(&fw, v, 4), memcpy(&fg, g, 4);
            memcpy(&uw, v, w > 8 ? 8 : w), memcpy(&ug, g, w > 8 ? 8 : w);
            snprintf(why, cap, "%s: %s.%s differs at element %lld: interpreter %g (0x%llx), C %g (0x%llx)", cc,
                     cp->p->name, b->name, (long long)e, (double)fw, (unsigned long long)uw, (double)fg,
                     (unsigned long long)ug);
        }
        places_close(&places);
    }
    free(got);
    return ok;
}
static bool check_outputs(struct ctx *c, const struct check_proc *cp, FILE *f, const char *cc, char *why, size_t cap) {
    bool ok = true;
    for (int i = 0; ok && i < cp->p->params.n; i++)
        if (cp->p->params.v[i].dir != DIR_IN) ok = check_output(c, cp, i, f, cc, why, cap);
    int bad = 0;
    if (ok && fread(&bad, sizeof bad, 1, f) != 1) return snprintf(why, cap, "output is short"), false;
    if (ok && !bad != !cp->faulted)
        ok = false, snprintf(why, cap, "%s: %s: fault is %d in C, %d in the interpreter %s", cc, cp->p->name, bad,
                             cp->faulted, cp->fault);
    return ok;
}

/* ---- all of it */
static bool write_text(const char *file, const struct text *t) {
    FILE *f = fopen(file, "wb");
    bool ok = f && put(f, t->s ? t->s : "", t->n);
    if (f && fclose(f)) ok = false;
    return ok;
}
static const char *source_root(void) {
    const char *root = getenv("GCC2NN_SOURCE_ROOT");
    return root ? root : "../..";
}
/* The commands' part that differs for CUDA: it goes through the emulator. */
static const char *emulator(char *s, size_t cap) {
    const char *root = source_root();
    snprintf(
        s, cap,
        "-std=c++17 -ffp-contract=off -DNN_CUDA_EMU -Wall -Wextra -Werror -I%s/runtime_stub -I%s/templates/cuda_emu "
        "-x c++ %s/templates/cuda_emu/cuda_emu.cpp",
        root, root, root);
    return s;
}
struct work {
    char dir[512], source[600], caller[600], in[600], out[600];
};
static void exe_name(const struct work *w, int compiler, char *s, size_t cap) {
    snprintf(s, cap, compiler ? "%s/k%d" : "%s/k", w->dir, compiler);
}
static bool write_sources(struct module *m, struct proc *const *procs, int n, struct emit_options *o,
                          const struct check_options *k, const struct work *w) {
    struct text body = {0}, text = {0}, caller = {0};
    for (int j = 0; j < m->procs.n; j++) {
        emit_proc(&body, m->ctx, m->procs.v[j], o);
        text_char(&body, '\n');
    }
    emit_prelude(&text, o);
    text_printf(&text, "\n%s", body.s ? body.s : "");
    emit_end(&text, o);
    check_main(&caller, m->ctx, procs, n, o, k); /* a file of its own: a compiler must not see sizes through calls */
    bool ok = write_text(w->source, &text) && write_text(w->caller, &caller);
    text_free(&body), text_free(&text), text_free(&caller);
    return ok;
}
static bool compile(const struct emit_options *o, const struct check_options *k, const struct work *w, char *why,
                    size_t cap) {
    bool cuda = k->target->emit == EMIT_CUDA;
    char cmd[4096], exe[600], emulated[1200];
    struct text flags = {0};
    emit_cflags(&flags, o);
    bool ok = true;
    for (int i = 0; ok && k->compilers[i]; i++) {
        exe_name(w, i, exe, sizeof exe);
        snprintf(cmd, sizeof cmd, "%s %s %s -I%s/runtime_stub %s -o %s %s %s -lm 2>&1", k->compilers[i],
                 cuda ? "" : flags.s, k->flags ? k->flags : "-O2", source_root(),
                 cuda ? emulator(emulated, sizeof emulated) : warnings, exe, w->source, w->caller);
        ok = system(cmd) == 0;
        if (!ok) snprintf(why, cap, "does not compile without warnings: %.500s", cmd);
    }
    text_free(&flags);
    return ok;
}
static bool check_round(struct module *m, struct check_proc *cps, int n, const struct check_options *k,
                        const struct check_round *round, const struct work *w, char *why, size_t cap) {
    char cmd[2048], exe[600];
    FILE *input = fopen(w->in, "wb");
    bool ok = input != NULL;
    if (!ok) snprintf(why, cap, "cannot write %.200s", w->in);
    for (int j = 0; ok && j < n; j++) ok = check_prepare(m, &cps[j], k, round, input, why, cap);
    if (input && fclose(input)) ok = false, snprintf(why, cap, "inputs cannot be written");
    for (int i = 0; ok && k->compilers[i]; i++) {
        exe_name(w, i, exe, sizeof exe);
        snprintf(cmd, sizeof cmd, "%s %s %s %s", k->target->runner ? k->target->runner : "", exe, w->in, w->out);
        int status = system(cmd);
        FILE *f = status ? NULL : fopen(w->out, "rb");
        if (!f) ok = false, snprintf(why, cap, "%s: the program ends with status %d", k->compilers[i], status >> 8);
        for (int j = 0; ok && j < n; j++) ok = check_outputs(m->ctx, &cps[j], f, k->compilers[i], why, cap);
        if (f) fclose(f);
    }
    return ok;
}
static void clean(const struct check_options *k, const struct work *w) {
    char exe[600];
    for (int i = 0; k->compilers[i]; i++) exe_name(w, i, exe, sizeof exe), remove(exe);
    remove(w->source), remove(w->caller), remove(w->in), remove(w->out);
    rmdir(w->dir);
}
bool emit_check(struct module *m, struct proc *const *procs, int n, const struct check_options *k, int *compared,
                char *why, size_t cap) {
    struct emit_options o = {
        .target = k->target, .c99_strict = k->strict, .external = true, .uses = emit_uses_new(m->ctx)};
    struct work w;
    snprintf(w.dir, sizeof w.dir, "%s", k->keep ? k->keep : "/tmp/emit_check_XXXXXX");
    if (k->keep ? mkdir(w.dir, 0777) != 0 && access(w.dir, W_OK) != 0 : !mkdtemp(w.dir))
        return snprintf(why, cap, "no folder to work in"), false;
    snprintf(w.source, sizeof w.source, "%s/k.%s", w.dir, k->target->emit == EMIT_CUDA ? "cu" : "c");
    snprintf(w.caller, sizeof w.caller, "%s/main.c", w.dir);
    snprintf(w.in, sizeof w.in, "%s/in", w.dir), snprintf(w.out, sizeof w.out, "%s/out", w.dir);
    bool ok = true;
    for (int j = 0; ok && j < n; j++)
        if (procs[j]->params.n > MOST_PARAMS || procs[j]->syms.n > MOST_SYMS)
            ok = false, snprintf(why, cap, "%s: too many parameters", procs[j]->name);
    struct module *all =
        ok ? printable(m, procs, n, &(struct printing){.target = k->target, .c99_strict = k->strict, .threads = 3},
                       !k->loose)
           : NULL;
    if (ok && !all) ok = false, snprintf(why, cap, "the passes leave what is not legal");
    struct proc **printed = calloc((size_t)n + 1, sizeof *printed);
    for (int j = 0; ok && j < n; j++) printed[j] = proc_called(all, procs[j]->name);
    if (ok && !write_sources(all, printed, n, &o, k, &w))
        ok = false, snprintf(why, cap, "cannot write into %.200s", w.dir);
    ok = ok && compile(&o, k, &w, why, cap);
    struct check_proc *cps = calloc((size_t)n + 1, sizeof *cps);
    for (int r = 0; ok && r < k->nrounds; r++) {
        for (int j = 0; j < n; j++) cps[j].p = procs[j], cps[j].printed = printed[j];
        ok = check_round(m, cps, n, k, &k->rounds[r], &w, why, cap);
        for (int j = 0; j < n; j++) {
            if (compared) compared[j] += ok && !cps[j].faulted;
            check_release(&cps[j]);
        }
    }
    free(cps), free(printed);
    if (!k->keep) clean(k, &w);
    return ok;
}
