/* lir_check FILE.lir: is the C that is printed for a module of the loop IR the same as the interpreter, bit for bit?
 *   --target T      target (x86-avx2)          --strict       scalar C99
 *   --steps FILE    schedule steps, applied first to the last procedure or that of --proc NAME (else all are checked)
 *   --dim NAME=N    value of a size            --fma          sums of products become fma
 *   --special       inputs with NaN, infinities, -0    --cc CC  compiler (gcc and clang-14)
 *   --flags "-O3"   flags of the compiler      --print        print the C text only
 *   --loose         without the verifier
 *   --schedule      the target's own schedule, applied first (--fma as the target has it)
 *   --layout P=[..] with it: the layout of parameter P, P=const: it is packed by the caller; may be repeated
 *   --keep DIR      leave the files there      --bench N      time N calls
 *   --each          a whole program's kernels, each on ordinary and on special values and with other sizes: says which
 *                   differ, then "N kernels: N the same bits, N different, N only faults" */
#include "lower/schedule/schedule.h"
#include "lower/schedule/steps.h"
#include "tests/tools/emit_check.h"
#include "tests/tools/printable.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *slurp(const char *file, size_t *n) {
    FILE *f = fopen(file, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *s = size < 0 ? NULL : malloc((size_t)size + 1);
    *n = s ? fread(s, 1, (size_t)size, f) : 0;
    if (s) s[*n] = 0;
    fclose(f);
    return s;
}
/* A layout that the caller of a kernel would have chosen; packed if two dims are split. */
static struct param_layout layout_in(const char *spec) {
    struct param_layout l = {.halo = strchr(spec, '+') != NULL, .spec = spec};
    const char *mod = strchr(spec, '%'), *block = strstr(spec, "1/");
    if (!mod || !strchr(mod + 1, '%')) l.block = block ? atoi(block + 2) : 0;
    else if (sscanf(mod - 1, "%d%%%d %d%%%d", &l.panels.along, &l.panels.lanes, &l.panels.summed, &l.panels.group) != 4)
        l.panels.lanes = 0;
    return l;
}
/* What layouts the caller of a kernel would have chosen: "x=[0 1/8 2+1,1 3+1,1 1%8]", "y=[0 2/16 1/2 2%16 1%2]". */
static void schedule(struct ctx *c, struct proc *p, const struct target *t, const char *const *layouts, int n) {
    static const struct tensor some = {.source = TS_SPLAT}; /* its contents do not matter */
    struct param_layout *l = NEWN(&c->arena, struct param_layout, p->params.n + 1);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < p->params.n; k++) {
            size_t len = strlen(p->params.v[k].buf->name);
            if (strncmp(layouts[i], p->params.v[k].buf->name, len) || layouts[i][len] != '=') continue;
            const char *spec = layouts[i] + len + 1;
            if (!strcmp(spec, "const")) {
                p->params.v[k].buf->data = &some;
                continue;
            }
            l[k] = layout_in(spec);
        }
    schedule_kernel(c, p, &(struct scheduling){.machine = t->machine, .threads = 1}, l);
    for (int k = 0; k < p->params.n; k++) p->params.v[k].buf->data = NULL;
}
/* Some in one program, since starting a compiler takes longer than most kernels; large ones alone. */
enum { TOGETHER = 8, LARGE = 1 << 22 };
static bool is_large(struct ctx *c, const struct proc *p) {
    for (int i = 0; i < p->params.n; i++) {
        expr cells = buf_cells(c, p->params.v[i].buf);
        if (cells->op == X_CONST && cells->u.i > LARGE) return true;
    }
    return false;
}
static void choose_rounds(struct check_options *k, struct proc *const *procs, int n) {
    bool sizes = false, integers = false;
    for (int j = 0; j < n; j++) {
        sizes = sizes || procs[j]->syms.n;
        for (int i = 0; i < procs[j]->params.n; i++)
            integers = integers || !dtype_is_float(procs[j]->params.v[i].buf->type);
    }
    k->nrounds = 0;
    k->rounds[k->nrounds++] = (struct check_round){CHECK_PLAIN, 1, 0};
    k->rounds[k->nrounds++] = (struct check_round){CHECK_SPECIAL, 2, 1};
    if (integers) k->rounds[k->nrounds++] = (struct check_round){CHECK_INDEX, 1, 2};
    if (integers) k->rounds[k->nrounds++] = (struct check_round){CHECK_ZERO, 1, 2};
    for (int r = 3; sizes && r <= 6; r++) /* 4 + 4 rounds: all there is room for */
        k->rounds[k->nrounds++] = (struct check_round){r == 4 ? CHECK_SPECIAL : CHECK_INDEX, r, (unsigned)r};
}
static bool check_each(struct module *m, struct proc *const *procs, int n, struct check_options *k) {
    int same = 0, different = 0, faults = 0;
    for (int i = 0, many; i < n; i += many) {
        int compared[TOGETHER] = {0};
        char why[2048];
        for (many = 1; !is_large(m->ctx, procs[i]) && many < TOGETHER && i + many < n;)
            if (is_large(m->ctx, procs[i + many])) break;
            else many++;
        choose_rounds(k, procs + i, many);
        if (!emit_check(m, procs + i, many, k, compared, why, sizeof why)) {
            memset(compared, 0, sizeof compared);
            for (int j = i; j < i + many; j++) {
                choose_rounds(k, procs + j, 1);
                if (emit_check(m, procs + j, 1, k, &compared[j - i], why, sizeof why)) continue;
                printf("%s: %s\n", procs[j]->name, why);
                compared[j - i] = -1;
            }
        }
        for (int j = 0; j < many; j++)
            if (compared[j] < 0) different++;
            else if (compared[j]) same++;
            else printf("%s: faults on all inputs\n", procs[i + j]->name), faults++;
    }
    printf("%d kernels: %d the same bits, %d different, %d only faults\n", n, same, different, faults);
    return !different;
}
static int usage(const char *what) {
    fprintf(stderr, "lir_check: %s\n", what);
    return 2;
}
int main(int argc, char **argv) {
    struct check_options k = {.target = target_by_name("x86-avx2"), .compilers = {"gcc", "clang-14"}, .flags = "-O2"};
    const char *file = NULL, *steps = NULL, *name = NULL;
    const char *layouts[16];
    int ndims = 0, nlayouts = 0;
    bool own = false, each = false, special = false;
    bool print = false, cc = false, fma = false, loose = false;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(a, "--target")) {
            i++;
            if (!(k.target = target_by_name(v))) return usage("unknown target");
        } else if (!strcmp(a, "--steps")) steps = v, i++;
        else if (!strcmp(a, "--proc")) name = v, i++;
        else if (!strcmp(a, "--dim") && ndims < 15) k.dims[ndims++] = v, i++;
        else if (!strcmp(a, "--cc")) k.compilers[0] = v, k.compilers[1] = NULL, cc = true, i++;
        else if (!strcmp(a, "--flags")) k.flags = v, i++;
        else if (!strcmp(a, "--keep")) k.keep = v, i++;
        else if (!strcmp(a, "--bench")) k.bench = atoi(v), i++;
        else if (!strcmp(a, "--strict")) k.strict = true;
        else if (!strcmp(a, "--fma")) fma = true;
        else if (!strcmp(a, "--special")) special = true;
        else if (!strcmp(a, "--schedule")) own = true;
        else if (!strcmp(a, "--layout") && nlayouts < 16) layouts[nlayouts++] = v, i++;
        else if (!strcmp(a, "--each")) each = true;
        else if (!strcmp(a, "--loose")) loose = k.loose = true;
        else if (!strcmp(a, "--print")) print = true;
        else if (a[0] == '-') return usage(a);
        else file = a;
    }
    if (!file) return usage("no file");
    if (!cc && k.target->emit == EMIT_CUDA) k.compilers[0] = "g++", k.compilers[1] = NULL;
    else if (!cc && strcmp(k.target->cc, "cc")) k.compilers[0] = k.target->cc, k.compilers[1] = NULL;
    size_t n;
    char *s = slurp(file, &n), why[2048];
    if (!s) return usage("cannot read the file");
    struct ctx *c = ctx_new();
    nn_find_instr = instr_by_name;
    struct module *m = loop_parse(c, s, n, file);
    struct text t = {0};
    bool ok = m && m->procs.n && (loose || loop_verify(m, "parse"));
    struct proc *p = ok ? m->procs.v[m->procs.n - 1] : NULL;
    for (int i = 0; ok && name && i < m->procs.n; i++)
        if (!strcmp(m->procs.v[i]->name, name)) p = m->procs.v[i];
    if (ok && fma) use_fma(c, p);
    if (ok && own) schedule(c, p, k.target, layouts, nlayouts);
    if (ok && steps) {
        char *st = slurp(steps, &n);
        ok = st && steps_apply(c, p, st);
        free(st);
    }
    if (ok && steps && !loose) ok = loop_verify(m, "steps");
    struct proc *const *procs = ok && !name && !steps ? m->procs.v : &p;
    int count = ok && !name && !steps ? m->procs.n : 1;
    if (ok && print) {
        struct emit_options o = {.target = k.target, .c99_strict = k.strict, .uses = emit_uses_new(c)};
        struct text body = {0};
        struct module *all = printable(
            m, procs, count, &(struct printing){.target = k.target, .c99_strict = k.strict, .threads = 3}, !loose);
        for (int i = 0; all && i < all->procs.n; i++) {
            text_char(&body, '\n');
            emit_proc(&body, c, all->procs.v[i], &o);
        }
        ok = all != NULL;
        emit_prelude(&t, &o);
        text_add(&t, body.s);
        emit_end(&t, &o);
        fputs(t.s, stdout);
        text_free(&body);
    } else if (ok && each) {
        ok = check_each(m, procs, count, &k);
    } else if (ok) {
        k.rounds[k.nrounds++] = (struct check_round){special ? CHECK_SPECIAL : CHECK_PLAIN, 0, 0};
        ok = emit_check(m, procs, count, &k, NULL, why, sizeof why);
        printf("%s %s%s: %s\n", file, k.target->name, k.strict ? " strict" : "", ok ? "same bits" : why);
    }
    t.n = 0;
    diag_print(&c->diags, &t, false);
    if (t.n) fputs(t.s, stderr);
    text_free(&t);
    ctx_free(c);
    free(s);
    return ok ? 0 : 1;
}
