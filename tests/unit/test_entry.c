/* The build folder of small modules, compiled with the strictest warnings, run under sanitizers in an arena of exactly
 * the stated size, and compared with the interpreter bit for bit. */
#include "codegen/project.h"
#include "compiler/build.h"
#include "ir/eval/eval.h"
#include "lower/passes/passes.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRICT   "-O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
#define SANITIZE " -g -fsanitize=address,undefined -fno-sanitize-recover=all"

static struct ctx *c;
static char folder[64];
static void setup(void) {
    c = ctx_new();
    strcpy(folder, "/tmp/gcc2nn-entry-XXXXXX");
    cr_assert(mkdtemp(folder));
}
static void teardown(void) {
    if (!getenv("KEEP")) process_run((const char *[]){"rm", "-rf", folder, NULL}, NULL, 0);
    ctx_free(c);
}
TestSuite(entry, .init = setup, .fini = teardown);

/* ---- helpers */
static void no_diags(void) {
    struct text t = {0};
    diag_print(&c->diags, &t, false);
    cr_assert_eq(c->diags.errors, 0, "%s", t.s);
}
static int64_t typical(void *env, const struct sym *s) {
    (void)env;
    return s->lo > 3 ? s->lo : 3;
}
struct model {
    struct module *m, *reference;
    struct memory_plan *plan;
    struct project *w;
};
static struct module *parse(const char *text) {
    struct module *m = loop_parse(c, text, strlen(text), "test.lir");
    no_diags();
    cr_assert(m && loop_verify(m, "test"));
    return m;
}
/* The text form has no results whose size the entry finds: texts say [K ...] and pass K in. Here the entry's symbol K
 * becomes the produced symbol k. */
struct find_size {
    const char *name;
    const struct sym *sym;
};
static bool find_size(void *env, struct stmt *s) {
    struct find_size *q = env;
    if (s->kind == S_SIZE && !strcmp(s->u.size.sym->name, q->name)) q->sym = s->u.size.sym;
    return true;
}
static void find_in_run(struct module *m, const char *passed, const char *produced) {
    struct proc *e = m->entry;
    struct find_size q = {produced, NULL};
    walk(&e->body, find_size, &q);
    cr_assert(q.sym);
    for (int k = 0; k < e->syms.n; k++) {
        if (strcmp(e->syms.v[k]->name, passed)) continue;
        struct subst s = {{.arena = &c->arena}};
        map_put(&s.map, PKEY(e->syms.v[k]), (void *)x_sym(c, q.sym));
        subst_block(c, &e->body, &s);
        for (int j = 0; j < e->params.n; j++)
            for (int d = 0; d < e->params.v[j].buf->nd; d++) {
                struct buf *b = e->params.v[j].buf;
                b->dims[d] = x_subst(c, b->dims[d], &s);
                b->logical[d] = x_subst(c, b->logical[d], &s);
            }
        memmove(e->syms.v + k, e->syms.v + k + 1, sizeof *e->syms.v * (size_t)(--e->syms.n - k));
    }
}
static struct model write_model(const char *name, const char *text, struct project_options o, const char *passed,
                                const char *produced) {
    struct model r = {.m = parse(text), .reference = parse(text)};
    if (passed) find_in_run(r.m, passed, produced);
    r.plan = memory_plan(r.m, typical, NULL);
    o.name = name;
    if (!o.target) o.target = target_by_name("c99");
    o.reference = typical;
    pass_results(r.m, NULL);
    r.w = project_write(r.m, r.plan, &o, arena_printf(&c->arena, "%s/%s", folder, name));
    no_diags();
    cr_assert(r.w);
    if (!passed) {
        bool legal = loop_verify(r.m, "entry_prepare");
        no_diags();
        cr_assert(legal);
    }
    return r;
}
static const char *build(struct model *m, const char *cc, const char *flags, const char *main_flags) {
    const char *exe = build_program(c, m->w, arena_printf(&c->arena, "%s_main", m->w->name),
                                    &(struct build_options){.cc = cc, .flags = flags, .main_flags = main_flags});
    no_diags();
    cr_assert(exe);
    return exe;
}
static struct tensor *numbers(enum dtype t, int rank, const int64_t *dims) {
    struct tensor *r = tensor_new(&c->arena, t, dims, rank);
    for (int64_t i = 0; i < tensor_count(r); i++) {
        double v = (double)((i * 7919 + 13) % 201 - 100) / 16;
        if (dtype_is_float(t)) tensor_set_f(r, i, v);
        else tensor_set_i(r, i, (i * 5 + 1) % 7 - 2);
    }
    return r;
}
#define NUMBERS(t, ...) numbers(t, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})
static struct tensor *scalar_i(int64_t v) {
    struct tensor *t = tensor_new(&c->arena, I64, NULL, 0);
    tensor_set_i(t, 0, v);
    return t;
}
/* The compiled model's outputs must be those of the interpreter. syms: values of the reference entry's symbols; one
 * that is -1 is read from the first dim of output number `size_of`. */
static void compare(struct model *m, const char *exe, struct tensor *const *inputs, const int64_t *syms,
                    const char *const *symbols, int size_of) {
    struct proc *e = m->reference->entry;
    struct eval_arg args[16] = {0};
    struct tensor *outputs[16];
    struct harness h = {.c = c, .w = m->w, .exe = exe, .seconds = 30, .symbols = symbols};
    int nin = 0, nout = 0;
    int64_t values[8];
    bool ok = harness_run(&h, inputs, outputs, 0, 0, NULL);
    no_diags();
    cr_assert(ok);
    for (int k = 0; k < e->syms.n; k++) values[k] = syms[k] == -1 ? outputs[size_of]->dims[0] : syms[k];
    for (int k = 0; k < e->params.n; k++) {
        if (e->params.v[k].dir != DIR_IN) continue;
        args[k].data = malloc((size_t)tensor_count(inputs[nin]) * (size_t)dtype_bytes(inputs[nin]->type) + 1);
        tensor_unpack(inputs[nin], args[k].data);
        args[k].nd = inputs[nin]->rank;
        memcpy(args[k].dims, inputs[nin]->dims, sizeof args[k].dims);
        nin++;
    }
    struct eval_result r = loop_eval(m->reference, e, args, values, &(struct eval_options){0});
    cr_assert_eq(r.status, EVAL_OK, "%s", r.message);
    for (int k = 0; k < e->params.n; k++) {
        if (e->params.v[k].dir == DIR_OUT) {
            struct tensor *t = outputs[nout++];
            cr_assert_eq(t->rank, args[k].nd);
            for (int d = 0; d < t->rank; d++)
                cr_assert_eq(t->dims[d], args[k].dims[d], "output %d, dim %d: %lld, not %lld", k, d,
                             (long long)t->dims[d], (long long)args[k].dims[d]);
            size_t bytes = (size_t)tensor_count(t) * (size_t)dtype_bytes(t->type);
            cr_assert(bytes == 0 || !memcmp(t->bytes, args[k].data, bytes), "output %d differs from the interpreter",
                      k);
        }
        free(args[k].data);
    }
}
static bool contains(const char *name, const char *file, const char *what) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
    FILE *f = fopen(path, "r");
    cr_assert(f, "%s is missing", path);
    static char b[1 << 20];
    size_t n = fread(b, 1, sizeof b - 1, f);
    fclose(f);
    b[n] = 0;
    return strstr(b, what) != NULL;
}

/* ---- models */
static const char conv[] =
    "// Conv\n"
    "proc conv(x: f32[2,6,6] in, w: f32[3,2,3,3] in, b: f32[3] in, y: f32[3,6,6] out)\n"
    "  for oc<3\n"
    "    for oh<6\n"
    "      for ow<6\n"
    "        y[oc,oh,ow] = b[oc]\n"
    "        for ic<2\n"
    "          for kh<3\n"
    "            for kw<3\n"
    "              y[oc,oh,ow] += x[ic,oh+kh-1,ow+kw-1 else 0.0] * w[oc,ic,kh,kw]\n"
    "proc relu(x: f32[3,6,6] in, y: f32[3,6,6] out)\n"
    "  for i<3\n"
    "    for h<6\n"
    "      for w<6\n"
    "        y[i,h,w] = max(x[i,h,w], 0.0)\n"
    "proc total(x: f32[3,6,6] in, y: f32[3] out)\n"
    "  for i<3\n"
    "    y[i] = 0.0\n"
    "    for h<6\n"
    "      for w<6\n"
    "        y[i] += x[i,h,w]\n"
    "entry proc main(\"im*/age\": f32[2,6,6] in, y: f32[3] out, map: f32[3,6,6] out)\n"
    "  const \"conv.w\": f32[3,2,3,3] = {0.5, -1.25, 0.1, 0.2, 0.3, 0.7, -0.7, 0.01, 3.0, 0.5, -1.25, 0.1, 0.2, 0.3, "
    "0.7, -0.7, 0.01, 3.0, "
    "1.5, -0.25, 1.1, 2.2, 0.3, 0.7, -0.7, 0.01, 3.0, 0.5, -1.25, 0.1, 0.2, 0.3, 0.7, -0.7, 0.01, 3.0, "
    "0.25, -1.75, 0.1, 0.2, 0.3, 0.7, -0.7, 0.01, 3.0, 0.5, -1.25, 0.1, 0.2, 0.3, 0.7, -0.7, 0.01, 3.0}\n"
    "  const \"conv.b\": f32[3] = {0.1, -0.2, 0.3}\n"
    "  alloc t: f32[3,6,6] arena\n"
    "  alloc u: f32[3,6,6] arena\n"
    "  call conv(in \"im*/age\", in \"conv.w\", in \"conv.b\", out t)\n"
    "  call relu(in t, out u)\n"
    "  call total(in u, out y)\n"
    "  call relu(in u, out map)\n";

static const char batch[] =
    "proc scale(x: f32[N,4] in, y: f32[N,4] out) [N in 0..1000]\n"
    "  for n<N\n"
    "    for i<4\n"
    "      y[n,i] = x[n,i] * 1.5\n"
    "proc pairs(x: f32[N,4] in, y: f32[N,M] out) [N in 0..1000, M in 1..50]\n"
    "  for n<N\n"
    "    for m<M\n"
    "      y[n,m] = x[n,0] + f32(idx(m))\n"
    "proc add(x: f32[N,4] in, z: f32[N,M] in, y: f32[N,M] out) [N in 0..1000, M in 1..50]\n"
    "  for n<N\n"
    "    for m<M\n"
    "      y[n,m] = z[n,m] + x[n,1]\n"
    "entry proc main(x: f32[batch,4] in, y: f32[batch,len] out) [batch in 0..1000, len in 1..50]\n"
    "  alloc a: f32[batch,4] arena\n"
    "  alloc b: f32[batch,len] arena\n"
    "  alloc d: f32[batch,4] arena\n"
    "  call scale(in x, out a; batch)\n"
    "  call pairs(in a, out b; batch, len)\n"
    "  call scale(in a, out d; batch)\n"
    "  call add(in d, in b, out y; batch, len)\n";

static const char nonzero[] =
    "// node 3 \"find\" (NonZero)\n"
    "proc count(x: f32[N] in, n: i64[] out) [N in 0..100]\n"
    "  n[] = 0i64\n"
    "  for i<N\n"
    "    if x[i] > 0.0\n"
    "      n[] += 1i64\n"
    "// node 3 \"find\" (NonZero)\n"
    "proc collect(x: f32[N] in, y: i64[K] out) [N in 0..100, K in 0..100]\n"
    "  alloc at: i64[] stack\n"
    "  at[] = 0i64\n"
    "  for i<N\n"
    "    if x[i] > 0.0\n"
    "      y[guard(toidx(at[]), K)] = idx(i)\n"
    "      at[] += 1i64\n"
    "proc twicek(x: i64[K] in, y: i64[K] out) [K in 0..100]\n"
    "  for i<K\n"
    "    y[i] = x[i] * 2i64\n"
    "proc twice(x: i64[J] in, y: i64[K] out) [J in 0..100, K in 0..100]\n"
    "  for i<K\n"
    "    if i < J\n"
    "      y[i] = x[i] * 2i64\n"
    "entry proc main(x: f32[N] in, y: i64[K] out, many: bool[] out) [N in 0..100, K in 0..100]\n"
    "  alloc n: i64[] arena\n"
    "  call count(in x, out n; N)\n"
    "  size k in 0..N = toidx(n[])\n"
    "  alloc t: i64[k] region\n"
    "  alloc u: i64[k] region\n"
    "  call collect(in x, out t; N, k)\n"
    "  call twicek(in t, out u; k)\n"
    "  check 1 <= k else \"nothing is positive\" @ \"node 3 \\\"find\\\" (NonZero)\"\n"
    "  if 4 < k\n"
    "    call twice(in u, out y; k, K)\n"
    "    many[] = true\n"
    "  else\n"
    "    call twice(in t, out y; k, K)\n"
    "    many[] = n[] == 3i64 or n[] < 2i64\n";

static const char loop[] = "proc append(x: f32[n] in, it: i64[] in, y: f32[n+1] out) [n in 0..1000]\n"
                           "  for i<n\n"
                           "    y[i] = x[i]\n"
                           "  y[n] = 0.5 + f32(it[])\n"
                           "proc step(a: f32[3] in, b: f32[3] out)\n"
                           "  for i<3\n"
                           "    b[i] = a[i] * 0.5 + 1.0\n"
                           "proc copy(a: f32[3] in, b: f32[3] out)\n"
                           "  for i<3\n"
                           "    b[i] = a[i]\n"
                           "proc copyn(x: f32[n] in, y: f32[N] out) [n in 0..1000, N in 0..1000]\n"
                           "  for i<N\n"
                           "    if i < n\n"
                           "      y[i] = x[i]\n"
                           "entry proc main(start: f32[3] in, m: i64[] in, limit: f32[] in, state: f32[3] out, grown: "
                           "f32[N] out, passes: i64[] out) [N in 0..1000]\n"
                           "  size n in 0..1000 = 0\n"
                           "  alloc cur: f32[n] region\n"
                           "  alloc a: f32[3] arena\n"
                           "  alloc b: f32[3] arena\n"
                           "  alloc it: i64[] stack\n"
                           "  it[] = 0i64\n"
                           "  call copy(in start, out a)\n"
                           "  while it[] < m[] and a[0] < limit[] max 1000\n"
                           "    call step(in a, out b)\n"
                           "    swap a, b\n"
                           "    alloc next: f32[n+1] region\n"
                           "    call append(in cur, in it, out next; n)\n"
                           "    swap cur, next\n"
                           "    size n in 0..1000 = n+1\n"
                           "    it[] += 1i64\n"
                           "  call copy(in a, out state)\n"
                           "  call copyn(in cur, out grown; n, N)\n"
                           "  passes[] = it[]\n";

/* ---- tests */
Test(entry, static_model) {
    struct model m = write_model(
        "small net", conv,
        (struct project_options){.model_file = "a*/b.onnx", .producer = "x */ \\ y", .model_hash = 0x1234}, NULL, NULL);
    struct tensor *in[] = {NUMBERS(F32, 2, 6, 6)};
    cr_assert_str_eq(m.w->name, "small_net");
    cr_assert(contains("small net", "small_net.h", "#define SMALL_NET_ARENA_BYTES 896"));
    cr_assert(contains("small net", "small_net.h", "#define SMALL_NET_MODEL_HASH \"0000000000001234\""));
    compare(&m, build(&m, "gcc", STRICT SANITIZE, "-std=gnu11"), in, NULL, NULL, 0);
    compare(&m, build(&m, "clang-14", STRICT SANITIZE, "-std=gnu11"), in, NULL, NULL, 0);
    compare(&m, build(&m, "gcc", "-std=c99 " STRICT, NULL), in, NULL, NULL, 0);
}
Test(entry, symbolic_sizes) {
    struct model m = write_model("batch", batch, (struct project_options){0}, NULL, NULL);
    const char *exe = build(&m, "gcc", STRICT SANITIZE, "-std=gnu11");
    static const int64_t sizes[][2] = {{1, 1}, {3, 7}, {40, 2}, {5, 50}, {0, 4}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct tensor *in[] = {NUMBERS(F32, sizes[k][0], 4)};
        const char *symbols[] = {arena_printf(&c->arena, "len=%d", (int)sizes[k][1]), NULL};
        compare(&m, exe, in, sizes[k], symbols, 0);
    }
    build(&m, "clang-14", STRICT, NULL);
}
Test(entry, sizes_found_in_the_run) {
    struct model m = write_model("nonzero", nonzero, (struct project_options){0}, "K", "k");
    const char *exe = build(&m, "gcc", STRICT SANITIZE, "-std=gnu11");
    for (int64_t n = 9; n < 40; n += 5) {
        struct tensor *in[] = {NUMBERS(F32, n)};
        compare(&m, exe, in, (int64_t[]){n, -1}, NULL, 0);
    }
    struct tensor *outputs[2];
    struct tensor *none[] = {NUMBERS(F32, 2)}; /* nothing is positive: the check stops the run */
    cr_assert(!harness_run(&(struct harness){.c = c, .w = m.w, .exe = exe}, none, outputs, 0, 0, NULL));
    cr_assert(strstr(c->diags.v[0].message, "nothing is positive at node 3 \"find\" (NonZero) (1 and 0)"), "%s",
              c->diags.v[0].message);
    c->diags.errors = c->diags.n = 0;
    build(&m, "clang-14", STRICT, NULL);
}
Test(entry, loops) {
    struct model m = write_model("turns", loop, (struct project_options){0}, "N", "n");
    const char *exe = build(&m, "gcc", STRICT SANITIZE, "-std=gnu11");
    struct tensor *limit = tensor_new(&c->arena, F32, NULL, 0);
    tensor_set_f(limit, 0, 1.99);
    for (int64_t n = 0; n < 200; n += 1 + 10 * n) {
        struct tensor *in[] = {NUMBERS(F32, 3), scalar_i(n), limit};
        compare(&m, exe, in, (int64_t[]){-1}, NULL, 1);
    }
    build(&m, "clang-14", STRICT, NULL);
}

/* ---- the API, from programs of users */
static struct outcome run_user(const char *const *more, const char *cc, const char *source, const char *flags) {
    const char *path = arena_printf(&c->arena, "%s/user.%s", folder, strstr(cc, "++") ? "cc" : "c");
    FILE *f = fopen(path, "w");
    fputs(source, f);
    fclose(f);
    VEC(const char *) v = {0};
    PUSH(&c->arena, &v, path);
    for (; *more; more++) PUSH(&c->arena, &v, *more);
    for (int k = 0; k < 3; k++) PUSH(&c->arena, &v, ((const char *[]){"-o", "user", NULL})[k]);
    struct outcome o = process_run(command_words(c, arena_printf(&c->arena, "%s %s", cc, flags), v.v), folder, 60);
    cr_assert(o.started && o.status == 0, "%s", o.err.s);
    outcome_free(&o);
    o = process_run((const char *[]){"./user", NULL}, folder, 60);
    cr_assert(o.started && o.status == 0, "status %d: %s%s", o.status, o.out.s ? o.out.s : "", o.err.s ? o.err.s : "");
    return o;
}
Test(entry, three_models_in_one_cxx_program) {
    struct model a = write_model("first", conv, (struct project_options){0}, NULL, NULL);
    struct model b = write_model("second", conv, (struct project_options){0}, NULL, NULL);
    struct model d = write_model("third", batch, (struct project_options){0}, NULL, NULL);
    build(&a, "gcc", "-O1", NULL), build(&b, "gcc", "-O1", NULL), build(&d, "gcc", "-O1", NULL);
    static const char source[] =
        "#include <cstdio>\n#include <cstring>\n#include \"first/first.h\"\n#include \"second/second.h\"\n#include "
        "\"third/third.h\"\n"
        "alignas(64) static unsigned char arena[2][FIRST_ARENA_BYTES];\n"
        "int main() {\n"
        "    float x[72], y[2][3], map[2][108];\n"
        "    for (int i = 0; i < 72; i++) x[i] = float(i % 5) - 2;\n"
        "    first m; second n; third t;\n"
        "    first_config mc = {}; second_config nc = {}; third_config tc = {};\n"
        "    mc.arena = arena[0]; mc.arena_size = sizeof arena[0]; nc.arena = arena[1]; nc.arena_size = sizeof "
        "arena[1];\n"
        "    first_inputs mi = {x}; second_inputs ni = {x};\n"
        "    first_outputs mo = {y[0], map[0]}; second_outputs no = {y[1], map[1]};\n"
        "    if (first_init(&m, &mc) || second_init(&n, &nc) || third_init(&t, &tc)) return 1;\n"
        "    if (first_run(&m, &mi, &mo) || second_run(&n, &ni, &no)) return 2;\n"
        "    if (std::memcmp(y[0], y[1], sizeof y[0]) || std::memcmp(map[0], map[1], sizeof map[0]) || y[0][0] <= 0) "
        "return 3;\n"
        "    third_dims bad = {1001, 1}, good = {1, 1};\n"
        "    if (third_arena(&bad) != 0 || third_arena(&good) != 192 || third_arena(nullptr) != 0) return 4;\n"
        "    third_inputs ti = {good, x}; third_outputs to = {y[0]};\n"
        "    if (third_run(&t, &ti, &to) != NN_EARENA || t.error.need != 192) return 5;\n"
        "    ti.dims.len = 51;\n"
        "    if (third_run(&t, &ti, &to) != NN_EDIMS) return 6;\n"
        "    mc.arena_size--;\n"
        "    if (first_init(&m, &mc) != NN_EARENA || m.error.need != FIRST_ARENA_BYTES || first_init(nullptr, &mc) != "
        "NN_EARG) return 7;\n"
        "    mc.arena_size++; mc.arena = arena[0] + 4;\n"
        "    if (first_init(&m, &mc) != NN_EARG || first_run(&m, &mi, &mo) != NN_EARG || !m.error.what) return 8;\n"
        "    return 0;\n}\n";
    const char *more[] = {"first/first.o",           "first/first_kernels.o",
                          "first/first_weights.o",   "second/second.o",
                          "second/second_kernels.o", "second/second_weights.o",
                          "third/third.o",           "third/third_kernels.o",
                          "first/nn_rt.o",           NULL};
    struct outcome o =
        run_user(more, "g++", source, "-std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I.");
    outcome_free(&o);
}
Test(entry, arena_of_sizes_found_in_the_run) {
    struct model a = write_model("nz", nonzero, (struct project_options){0}, "K", "k");
    build(&a, "gcc", "-g -fsanitize=address,undefined -fno-sanitize-recover=all", NULL);
    /* error.need leads to success; results go to the caller's memory or into the arena; a small capacity is an error */
    static const char source[] =
        "#include <stdio.h>\n#include <stdlib.h>\n#include \"nz/nz.h\"\n"
        "static int grown;\n"
        "static int grow(void *user, size_t need, void **arena, size_t *size) {\n"
        "    (void)user; free(*arena); grown++; *arena = aligned_alloc(64, need); *size = need; return 1;\n}\n"
        "int main(void) {\n"
        "    float x[10] = {1, -1, 2, -2, 3, -3, 4, -4, 5, 6}; unsigned char many; int64_t mine[6];\n"
        "    nz m; nz_config c = {0}; nz_inputs in = {{10}, x}; nz_outputs out = {0}; out.many = &many;\n"
        "    size_t size = NZ_ARENA_BYTES; int tries = 0, status;\n"
        "    for (;;) {\n"
        "        void *arena = aligned_alloc(64, size);\n"
        "        c.arena = arena; c.arena_size = size;\n"
        "        if (nz_init(&m, &c)) return 1;\n"
        "        status = nz_run(&m, &in, &out);\n"
        "        if (status == NN_OK) { if (out.k != 6 || out.y[5] != 36 || !many) return 2; free(arena); break; }\n"
        "        free(arena);\n"
        "        if (status != NN_EARENA || m.error.need <= size || ++tries > 5) return 3;\n"
        "        size = m.error.need;\n"
        "    }\n"
        "    if (tries < 2) return 4;\n"
        "    c.arena_size = NZ_ARENA_BYTES; c.arena = aligned_alloc(64, c.arena_size); c.grow = grow;\n"
        "    out.y = mine; out.y_cap = 6;\n"
        "    if (nz_init(&m, &c) || nz_run(&m, &in, &out) || !grown || out.y != mine || mine[2] != 16 || "
        "m.error.what) return 5;\n"
        "    out.y_cap = 5;\n"
        "    if (nz_run(&m, &in, &out) != NN_ECAP || m.error.need != 6) return 6;\n"
        "    for (int i = 0; i < 10; i++) x[i] = -1;\n"
        "    if (nz_run(&m, &in, &out) != NN_EFAULT || !m.error.where) return 7;\n"
        "    free(m.config.arena);\n"
        "    return 0;\n}\n";
    const char *more[] = {"nz/nz.o", "nz/nz_kernels.o", "nz/nn_rt.o", NULL};
    struct outcome o = run_user(more, "gcc", source,
                                "-g -fsanitize=address,undefined -fno-sanitize-recover=all -Wall -Wextra -Werror -I.");
    outcome_free(&o);
}
/* What a grow that cannot grow gives is never written to, neither in that run nor in a later one. */
Test(entry, grow_that_gives_nothing_usable) {
    static const char sized[] = "proc count(x: f32[10] in, n: i64[] out)\n"
                                "  n[] = 0i64\n"
                                "  for i<10\n"
                                "    if x[i] > 0.0\n"
                                "      n[] += 1i64\n"
                                "proc fill(n: i64[] in, y: i64[K] out) [K in 0..10]\n"
                                "  for i<K\n"
                                "    y[i] = n[]\n"
                                "entry proc main(x: f32[10] in, y: i64[K] out) [K in 0..10]\n"
                                "  alloc n: i64[] arena\n"
                                "  call count(in x, out n)\n"
                                "  size k in 0..10 = toidx(n[])\n"
                                "  call fill(in n, out y; K)\n";
    struct model a = write_model("few", sized, (struct project_options){0}, "K", "k");
    build(&a, "gcc", "-g -fsanitize=address,undefined -fno-sanitize-recover=all", NULL);
    static const char source[] =
        "#include <stdlib.h>\n#include \"few/few.h\"\n"
        "struct gift { char *p; size_t n; };\n"
        "static int grow(void *user, size_t need, void **arena, size_t *size) {\n"
        "    struct gift *g = (struct gift *)user; *arena = g->p; *size = g->n ? g->n : need; return 1;\n}\n"
        "int main(void) {\n"
        "    float x[10] = {1, 1, 1, 1, 1}; few_inputs in = {x}; few_outputs out = {0}; char *p = aligned_alloc(64, "
        "4096);\n"
        "    struct gift gifts[3] = {{NULL, 0}, {p + 8, 0}, {p, 1}};\n"
        "    for (int i = 0; i < 3; i++) {\n"
        "        few m; few_config c = {0}; c.arena = p; c.arena_size = FEW_ARENA_BYTES; c.grow = grow; c.user = "
        "&gifts[i];\n"
        "        if (few_init(&m, &c) || few_run(&m, &in, &out) != NN_EARG || !m.error.what) return 1 + i;\n"
        "        if (few_run(&m, &in, &out) != NN_EARG) return 4 + i;\n"
        "        if (few_init(&m, &c) || few_run(&m, &in, &out) != NN_EARG) return 7 + i;\n"
        "    }\n"
        "    free(p);\n    return 0;\n}\n";
    const char *more[] = {"few/few.o", "few/few_kernels.o", "few/nn_rt.o", NULL};
    struct outcome o = run_user(more, "gcc", source,
                                "-g -fsanitize=address,undefined -fno-sanitize-recover=all -Wall -Wextra -Werror -I.");
    outcome_free(&o);
}
Test(entry, fuel) {
    struct model a = write_model("turns", loop, (struct project_options){0}, "N", "n");
    build(&a, "gcc", "-O1", NULL);
    static const char source[] =
        "#include <stdlib.h>\n#include \"turns/turns.h\"\n"
        "int main(void) {\n"
        "    float start[3] = {0, 0, 0}, state[3], limit = 10, room[64]; int64_t passes, m = 9; turns t; turns_config "
        "c = {0};\n"
        "    turns_inputs in = {start, &m, &limit}; turns_outputs out = {0}; out.state = state; out.passes = &passes; "
        "out.grown = room; out.grown_cap = 64;\n"
        "    c.arena_size = 4096; c.arena = aligned_alloc(64, c.arena_size); c.max_iterations = 8;\n"
        "    if (turns_init(&t, &c) || turns_run(&t, &in, &out) != NN_EFUEL) return 1;\n"
        "    m = 8;\n"
        "    if (turns_run(&t, &in, &out) != NN_OK || passes != 8 || out.n != 8 || room[7] != 7.5f) return 2;\n"
        "    m = 5000; t.config.max_iterations = 1000000; c.max_iterations = 0;\n"
        "    if (turns_run(&t, &in, &out) == NN_OK) return 3;\n"
        "    free(c.arena);\n    return 0;\n}\n";
    const char *more[] = {"turns/turns.o", "turns/turns_kernels.o", "turns/nn_rt.o", NULL};
    struct outcome o = run_user(more, "gcc", source, "-Wall -Wextra -Werror -I.");
    outcome_free(&o);
}

/* ---- weights */
Test(entry, weights_in_three_forms) {
    static const enum weights_mode modes[] = {WEIGHTS_C, WEIGHTS_INCBIN, WEIGHTS_FILE};
    struct tensor *in[] = {NUMBERS(F32, 2, 6, 6)};
    for (int k = 0; k < 3; k++) {
        struct model m = write_model("net", conv, (struct project_options){.weights = modes[k]}, NULL, NULL);
        compare(&m, build(&m, "gcc", "-O1", NULL), in, NULL, NULL, 0);
        compare(&m, build(&m, "clang-14", "-O1", NULL), in, NULL, NULL, 0);
        if (modes[k] != WEIGHTS_FILE) continue;
        /* one flipped bit in the header's hash: refused */
        FILE *f = fopen(arena_printf(&c->arena, "%s/net/net_weights.bin", folder), "r+b");
        fseek(f, 25, SEEK_SET);
        int byte = fgetc(f);
        fseek(f, 25, SEEK_SET);
        fputc(byte ^ 1, f);
        fclose(f);
        struct tensor *outputs[2];
        cr_assert(
            !harness_run(&(struct harness){.c = c, .w = m.w, .exe = arena_printf(&c->arena, "%s/net/net_main", folder)},
                         in, outputs, 0, 0, NULL));
        cr_assert(strstr(c->diags.v[0].message, "not those of this model"), "%s", c->diags.v[0].message);
    }
}
/* Constants in blocked layouts with a border and with padded pitch, of 1 to 8 bytes and below; equal ones are stored
 * once. */
static const char packed[] = "proc sum(w: f32[2,3,4] in fill 9.0 logical [5,3] map [d0//4, d1, d0%4], h: u8[6] in fill "
                             "7i32 logical [4] map [d0+1], y: f32[24] out, z: i32[6] out)\n"
                             "  for a<2\n"
                             "    for b<3\n"
                             "      for d<4\n"
                             "        y[a*12+b*4+d] = w[a,b,d]\n"
                             "  for i<6\n"
                             "    z[i] = h[i]\n"
                             "proc cells(a: f64[3] in, b: i4[5] in, d: f16[2,2] in pad [0,1], y: f64[12] out)\n"
                             "  for i<3\n"
                             "    y[i] = a[i]\n"
                             "  for j<5\n"
                             "    y[j+3] = f64(b[j])\n"
                             "  for k<2\n"
                             "    for l<2\n"
                             "      y[k*2+l+8] = f64(d[k,l])\n"
                             "entry proc main(y: f32[24] out, z: i32[6] out, v: f64[12] out, u: f64[12] out)\n"
                             "  const w: f32[2,3,4] fill 9.0 logical [5,3] map [d0//4, d1, d0%4] = {1.0, 2.0, 3.0, "
                             "4.0, 5.0, 6.0, 7.0, 8.0, 9.5, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0}\n"
                             "  const h: u8[6] fill 7i32 logical [4] map [d0+1] = {1, 2, 3, 250}\n"
                             "  const a: f64[3] = {0.1, -2.5, 1e300}\n"
                             "  const a2: f64[3] = {0.1, -2.5, 1e300}\n"
                             "  const b: i4[5] = {-8, 7, 1, 0, -1}\n"
                             "  const d: f16[2,2] pad [0,1] = splat 0.5\n"
                             "  call sum(in w, in h, out y, out z)\n"
                             "  call cells(in a, in b, in d, out v)\n"
                             "  call cells(in a2, in b, in d, out u)\n";
Test(entry, packing) {
    char text[sizeof packed + 64];
    strcpy(text, packed);
    struct model m = write_model("packed", text, (struct project_options){0}, NULL, NULL);
    int same = 0;
    for (int k = 0; k < m.w->program->weights.n; k++) {
        cr_assert_eq(m.w->program->weights.v[k].offset % 64, 0);
        for (int j = 0; j < k; j++) same += m.w->program->weights.v[j].offset == m.w->program->weights.v[k].offset;
    }
    cr_assert_eq(same, 1);
    compare(&m, build(&m, "gcc", STRICT SANITIZE, "-std=gnu11"), NULL, NULL, NULL, 0);
}

/* ---- the folder */
static uint64_t hash_file(const char *model, const char *file) {
    FILE *f = fopen(arena_printf(&c->arena, "%s/%s/%s", folder, model, file), "rb");
    uint64_t h = 14695981039346656037u;
    cr_assert(f, "%s", file);
    for (int b; (b = fgetc(f)) != EOF;) h = (h ^ (uint64_t)b) * 1099511628211u;
    fclose(f);
    return h;
}
Test(entry, same_bytes_and_whole_folders) {
    static const char *const files[] = {"n.h",         "n.c",        "n_kernels.c",   "n_kernels.h", "n_weights.c",
                                        "n_io.h",      "n_main.c",   "manifest.json", "Makefile",    "CMakeLists.txt",
                                        "meson.build", "selftest.c", "bench.c",       "README.md"};
    enum { FILES = sizeof files / sizeof *files };
    uint64_t first[FILES];
    for (int round = 0; round < 2; round++) {
        write_model("n", conv, (struct project_options){0}, NULL, NULL); /* the second replaces the first */
        for (int k = 0; k < FILES; k++) {
            if (round) cr_assert_eq(first[k], hash_file("n", files[k]), "%s", files[k]);
            else first[k] = hash_file("n", files[k]);
        }
    }
    /* a folder of somebody else stays as it is */
    FILE *f = fopen(arena_printf(&c->arena, "%s/n/manifest.json", folder), "w");
    fputs("{\"generator\": \"somebody\"}", f);
    fclose(f);
    struct module *m = parse(conv);
    struct project_options o = {.name = "n", .target = target_by_name("c99")};
    cr_assert_null(project_write(m, memory_plan(m, typical, NULL), &o, arena_printf(&c->arena, "%s/n", folder)));
    cr_assert_eq(c->diags.v[0].code, E_WRITE);
    cr_assert(contains("n", "manifest.json", "somebody"));
    struct outcome left = process_run((const char *[]){"ls", folder, NULL}, NULL, 10);
    cr_assert_str_eq(left.out.s, "n\n");
    outcome_free(&left);
}
/* Runs COMMAND in the folder; its output when it ends well, else the test fails with what it said. */
static struct outcome must_run(const char *const *command, const char *in) {
    struct outcome o = process_run(command, in, 120);
    cr_assert(o.started, "%s cannot be started", command[0]);
    cr_assert(o.status == 0, "%s%s", o.out.s ? o.out.s : "", o.err.s ? o.err.s : "");
    return o;
}
Test(entry, makefile) {
    if (!program_exists("make")) cr_skip("make is not installed");
    write_model("made", conv, (struct project_options){0}, NULL, NULL);
    write_model("asm", conv, (struct project_options){.weights = WEIGHTS_INCBIN}, NULL, NULL);
    struct text sums[2] = {{0}};
    for (int k = 0; k < 2; k++) {
        struct outcome o = must_run((const char *[]){"make", "-s", "-j2", "check", NULL},
                                    arena_printf(&c->arena, "%s/%s", folder, k ? "asm" : "made"));
        const char *sum = strstr(o.out.s, "map");
        cr_assert(sum);
        text_addn(&sums[k], sum - 17, 16);
        outcome_free(&o);
    }
    cr_assert_str_eq(sums[0].s, sums[1].s);
    text_free(&sums[0]), text_free(&sums[1]);
}
Test(entry, cmake) {
    if (!program_exists("cmake")) cr_skip("cmake is not installed");
    write_model("asm", conv, (struct project_options){.weights = WEIGHTS_INCBIN}, NULL, NULL);
    const char *in = arena_printf(&c->arena, "%s/asm", folder);
    struct outcome o = must_run((const char *[]){"cmake", "-S", ".", "-B", "cmake_build", NULL}, in);
    outcome_free(&o);
    o = must_run((const char *[]){"cmake", "--build", "cmake_build", "-j2", NULL}, in);
    outcome_free(&o);
    o = must_run((const char *[]){"cmake_build/selftest", NULL}, in);
    cr_assert(strstr(o.out.s, "map"));
    outcome_free(&o);
}
/* Names of a model never become code. */
Test(entry, hostile_names) {
    static const char text[] = "proc copy(a: f32[2] in, b: f32[2] out)\n"
                               "  for i<2\n"
                               "    b[i] = a[i]\n"
                               "entry proc main(\"*/ int x; /*\": f32[2] in, \"*/ int x; /\": f32[2] in, \"for\": "
                               "f32[2] out, \"\\\"; system(\\\"\": f32[2] out, \"dims\": f32[2] out)\n"
                               "  alloc \"m\": f32[2] arena\n"
                               "  alloc \"in->x\": f32[2] arena\n"
                               "  alloc \"float\": f32[2] arena\n"
                               "  call copy(in \"*/ int x; /*\", out \"m\")\n"
                               "  call copy(in \"m\", out \"in->x\")\n"
                               "  call copy(in \"in->x\", out \"float\")\n"
                               "  call copy(in \"float\", out \"for\")\n"
                               "  call copy(in \"*/ int x; /\", out \"\\\"; system(\\\"\")\n"
                               "  call copy(in \"*/ int x; /\", out \"dims\")\n";
    struct model m = write_model(
        "int", text, (struct project_options){.producer = "*/ #error", .model_file = "\n#error\n?\?/"}, NULL, NULL);
    struct tensor *in[] = {NUMBERS(F32, 2), NUMBERS(F32, 2)};
    compare(&m, build(&m, "gcc", STRICT, NULL), in, NULL, NULL, 0);
    build(&m, "clang-14", STRICT, NULL);
}
