/* Every operator with inputs that do not suit it: any number of dimensions, sizes 0 to 3, any type its slots take, any
 * attribute of the right kind, constants and not. Whatever comes is a program that passes the verifier or a diagnostic.
 */
#include "compiler/driver.h"
#include "lower/ops/ops.h"
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;
static int below(int n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int)(state % (uint64_t)n);
}
static struct text model; /* the one at work: shown when the program ends in the midst of it */
static bool working;
static void show(void) {
    if (working) fprintf(stderr, "%s", model.s);
}

static enum dtype some_type(uint64_t types) {
    static const enum dtype likely[] = {F32, I64, BOOL, F16, I32, U8, I8, F64, BF16};
    for (int k = 0; k < 3; k++) {
        enum dtype t = likely[below(k ? (int)(sizeof likely / sizeof *likely) : 2)];
        if (types >> t & 1) return t;
    }
    for (size_t k = 0; k < sizeof likely / sizeof *likely; k++)
        if (types >> likely[k] & 1) return likely[k];
    return STR;
}
/* Shapes that fit together often enough to get somewhere. */
static int some_dims(struct text *t) {
    int rank = below(8) ? below(5) : below(7), n = 1;
    static const int sizes[] = {1, 2, 3, 2, 3, 2, 4, 0};
    int same = below(3) ? sizes[below(8)] : -1;
    text_add(t, "[");
    for (int k = 0; k < rank; k++) {
        int d = same >= 0 ? same : sizes[below(8)];
        text_printf(t, "%s%d", k ? "," : "", d);
        n *= d;
    }
    text_add(t, "]");
    return n;
}
static void some_values(struct text *t, enum dtype type, int n) {
    text_add(t, " = [");
    for (int k = 0; k < n; k++) {
        if (k) text_add(t, ", ");
        if (type == BOOL || type == U8) text_printf(t, "%d", below(2));
        else text_printf(t, dtype_is_float(type) ? "%d.5" : "%d", below(5) - 1);
    }
    text_add(t, "]\n");
}
static void some_attrs(struct text *t, const struct op *o) {
    int n = 0;
    for (const struct op_attr *a = o->attrs; a && a->name; a++) {
        if (!(a->flags & A_REQUIRED) && below(2)) continue;
        if (a->kind != AT_INT && a->kind != AT_INTS && a->kind != AT_FLOAT) continue;
        text_printf(t, "%s%s=", n++ ? ", " : " {", a->name);
        if (a->kind == AT_INT) text_printf(t, "%d", below(7) - 2);
        if (a->kind == AT_FLOAT) text_printf(t, "%d.5", below(4) - 1);
        if (a->kind != AT_INTS) continue;
        text_add(t, "[");
        for (int k = 0, m = below(6); k < m; k++) text_printf(t, "%s%d", k ? "," : "", below(5) - (below(8) == 0));
        text_add(t, "]");
    }
    if (n) text_add(t, "}");
}
static void make(const struct op *o) {
    struct text consts = {0}, params = {0}, args = {0};
    int n = 0;
    bool more = true;
    for (const struct op_slot *s = o->ins; more && s && s->name; s++) {
        more = !(s->flags & OPTIONAL) || below(2);
        for (int times = !more ? 0 : s->flags & VARIADIC ? 1 + below(3) : 1; times--; n++) {
            enum dtype type = some_type(s->types);
            bool constant = type != STR && below(3) == 0;
            struct text *t = constant ? &consts : &params;
            text_add(t, constant ? "const " : params.n ? ", " : "");
            text_printf(t, "%%v%d: %s", n, dtype_name(type));
            int count = some_dims(t);
            if (constant) some_values(t, type, count);
            text_printf(&args, "%s%%v%d", n ? ", " : "", n);
        }
    }
    model.n = 0;
    text_printf(&model, "graph \"odd\"\n%sregion \"main\" (%s) {\n  ", consts.s ? consts.s : "",
                params.s ? params.s : "");
    int outs = 0;
    for (const struct op_slot *s = o->outs; s && s->name && (!outs || below(2)); s++)
        text_printf(&model, "%s%%r%d: ?", outs ? ", " : "", outs), outs++;
    text_printf(&model, " = %s%s%s(%s)", o->domain, *o->domain ? "::" : "", o->name, args.s ? args.s : "");
    some_attrs(&model, o);
    text_add(&model, "\n  return ");
    for (int k = 0; k < outs; k++) text_printf(&model, "%s%%r%d \"y%d\"", k ? ", " : "", k, k);
    text_add(&model, "\n}\n");
    text_free(&consts), text_free(&params), text_free(&args);
}
static void compile(void) {
    struct ctx *c = ctx_new();
    struct compile_options o = {.path = "odd.gir", .target = target_by_name("x86-avx2")};
    struct compilation u = {.c = c, .o = &o, .g = graph_parse(c, model.s, model.n, "odd.gir")};
    bool ok = u.g != NULL;
    for (const struct pass_row *p = pass_rows; ok && p->name; p++) {
        if (p->level == LEVEL_MODEL) continue;
        ok = p->change || p->run(&u);
        if (ok && p->change) p->change(u.m, &(struct printing){.target = o.target});
        if (ok)
            cr_assert(p->level == LEVEL_LOOP ? loop_verify(u.m, p->name) : graph_verify(u.g, p->name), "%s", model.s);
    }
    if (!ok) {
        struct text t = {0};
        diag_print(&c->diags, &t, false);
        cr_expect(c->diags.errors, "no diagnostic for\n%s", model.s);
        /* Ours is the mistake when the text is wrong or a pass leaves what the verifier refuses. */
        cr_expect(u.g && !strstr(t.s ? t.s : "", "E050"), "%s%s", t.s ? t.s : "", model.s);
        text_free(&t);
    }
    ctx_free(c);
}

/* A signal ends the process before Criterion can say what was at work. */
static void died(int sig) {
    show();
    signal(sig, SIG_DFL);
    raise(sig);
}
Test(odd_inputs, every_op) {
    enum { EACH = 24 };
    const char *seed = getenv("ODD_SEED"); /* for more of them by hand */
    ops_register_all();
    atexit(show);
    signal(SIGSEGV, died), signal(SIGABRT, died), signal(SIGFPE, died);
    for (int k = 0; k < op_count() * EACH; k++) {
        const struct op *o = op_at(k / EACH);
        if (o->control || !strcmp(o->domain, "gcc2nn")) continue; /* the compiler's own are given what suits them */
        state = ((uint64_t)k + 1) * UINT64_C(0x9E3779B97F4A7C15);
        if (seed) state += strtoull(seed, NULL, 10);
        make(o);
        working = true;
        compile();
        working = false;
    }
    text_free(&model);
}
