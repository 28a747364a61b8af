/* Loops of the kernel texts that are said to be independent run in other orders: backwards, and in strides. The results
 * are the same, bit for bit. Of loops that are only assumed to be independent, this is what there is of a proof. */
#include "ir/base/embed.h"
#include "ir/eval/eval.h"
#include "loop_text.h"
#include <ctype.h>

static struct ctx *c;
static void setup(void) { c = ctx_new(); }
static void teardown(void) { ctx_free(c); }
TestSuite(order, .init = setup, .fini = teardown);

/* ---- other orders */
enum order { AS_WRITTEN, BACKWARDS, STRIDES };
struct reordering {
    enum order order;
    int loops, assumed;
};
static bool reorder_loop(void *env, struct stmt *s) {
    struct reordering *q = env;
    if (s->kind != S_FOR || !s->u.loop.independent) return true;
    const struct var *v = s->u.loop.var;
    expr i = x_var(c, v), last = x_addi(c, v->extent, -1);
    struct subst other = {{.arena = &c->arena}};
    /* a prime that divides none of the extents here */
    expr by = q->order == BACKWARDS ? x_sub(c, last, i) : x_mod(c, x_addi(c, x_muli(c, i, 7919), 1), v->extent);
    map_put(&other.map, PKEY(v), (void *)by);
    subst_block(c, &s->u.loop.body, &other);
    q->loops++;
    q->assumed += s->u.loop.assumed;
    return true;
}

/* ---- kernels with arguments */
/* Types of $T, $0, $1 ...; values of the symbols; what integers are, by name: "least..most", or with a step
 * "first+step". Others are 0 or 1, floats -3 to 3 in halves. */
struct use {
    const char *kernel, *types;
    int64_t syms[11];
    const char *values;
};
static const struct use uses[] = {
    {"couple", "f32", {3, 4}, ""},
    {"cumprod", "f32", {3, 5, 4, 0, 1}, ""},
    {"cumprod", "i64", {3, 5, 4, 1, 0}, "x:-2..2"},
    {"cumprod_rows", "f32", {2, 3, 1041, 0, 1}, ""},
    {"cumsum", "f32", {3, 5, 4, 1, 1}, ""},
    {"cumsum", "i32", {3, 5, 4, 0, 0}, "x:-9..9"},
    {"cumsum_rows", "f32", {2, 3, 2049, 1, 0}, ""},
    {"cumsum_rows", "i32", {3, 5, 4, 0, 1}, "x:-9..9"},
    {"det", "f32", {3, 5}, ""},
    {"det", "f64", {2, 1}, ""},
    {"inverse", "f32", {3, 5}, ""},
    {"lookup", "i64", {9, 5}, "x:0..9 key:1+2"},
    {"ngrams", "", {3, 7, 4, 2, 3, 5, 1, 2, 1}, "x:0..2 gram:0..2 first:0+2 place:0..4"},
    {"nms", "f32", {2, 2, 7, 12, 3, 67, 2, 1, 4, 1, 4}, "most:3..3"},
    {"nms", "f32", {1, 5, 70, 250, 50, 114, 2, 3, 5, 2, 3}, "most:50..50"},
    {"nonzero", "bool", {9, 16, 1}, ""},
    {"nonzero", "bool", {37, 2, 5}, ""},
    {"number_text", "", {5, 1}, "x:-99..99"},
    {"pnm_header", "", {30}, "data:48..58"},
    {"pnm_text", "", {30, 9, 3, 0}, "data:46..58"},
    {"regex_automaton", "", {4, 3, 3, 2, 0}, "first:0+50 group:0..1 next:0..2"},
    {"regex_program", "", {4, 3, 2, 2, 5, 0}, "first:0+50 code:0..0"},
    {"regex_tokens", "", {4, 3, 3, 2, 5, 1, 1}, "first:0+50 group:0..2 kind:0..2 next:0..1 start:0..1"},
    {"string_case", "", {4, 200, 0}, "at:0+40"},
    {"string_case", "", {4, 200, 1}, "at:0+40"},
    {"string_concat", "", {4, 200}, "at:0+40"},
    {"string_split", "", {4, 3, 0, 1}, ""},
    {"string_split", "", {4, 3, 1, -1}, ""},
    {"topk", "f32", {3, 7, 4, 3, 1}, ""},
    {"topk", "i32", {3, 7, 4, 5, 0}, "x:0..3"},
    {"topk_heap", "f32", {3, 7, 4, 3, 1}, ""},
    {"topk_heap", "i32", {2, 40, 3, 17, 0}, "x:0..9"},
    {"topk_digits", "i32", {3, 20, 20, 4}, "key:-3..3"},
    {"topk_digits", "i64", {2, 40, 5, 8}, "key:0..9"},
    {"topk_skip", "", {3, 200, 5}, "key:-3..3"},
    {"topk_skip", "", {2, 150, 40}, "key:0..9"},
    {"topk_skip_wide", "", {3, 200, 5}, "key:-3..3"},
    {"topk_skip_wide", "", {2, 150, 40}, "key:0..9"},
    {"topk_runs", "f32", {2, 200, 3, 70, 1, 4, 64, 256}, ""},
    {"topk_runs", "i32", {1, 130, 2, 5, 0, 3, 5, 15}, "x:0..30"},
    {"trees",
     "f32 f32 i32 i32 f32 i32 i32",
     {37, 3, 4, 7, 5, 2, 3, 0, 1},
     "root:-5..-1 feature:0..5 to:-5..-1 column:0..2"},
    {"trees",
     "f32 f32 i32 i32 f32 i32 i32",
     {37, 3, 4, 7, 5, 2, 3, 2, 0},
     "root:-5..-1 feature:0..5 to:-5..-1 column:0..2"},
    {"tree_terms", "f32", {5, 2, 3, 30, 20, 0}, "first:0+10 term:0..19 leaf:0..4"},
    {"tree_terms", "f32", {5, 2, 3, 30, 20, 2}, "first:0+10 term:0..19 leaf:0..4"},
    {"tree_dense", "f32", {5, 3, 20, 0}, "leaf:0..4"},
    {"tree_rows", "f32 i32", {5, 2, 3, 20, 1}, "column:0..2 leaf:0..4"},
    {"trees_one", "f32 f32 i32 i32 f32 i32", {3, 20, 7, 1}, "root:-5..-1 feature:0..5 to:-5..-1"},
    {"unique", "f32", {9, 2, 0}, ""},
    {"unique", "i64", {9, 1, 1}, "x:0..3"},
};
static const char *type_at(const char *types, int k, size_t *n) {
    for (; k-- > 0; types += strspn(types, " ")) types += strcspn(types, " ");
    *n = strcspn(types, " ");
    return types;
}
static struct module *instance(const struct use *u) {
    struct text t = {0}, path = {0};
    text_printf(&path, "templates/kernels/%s.lir", u->kernel);
    const char *s = NULL;
    for (size_t k = 0; k < nn_embedded_count; k++)
        if (!strcmp(nn_embedded[k].path, path.s)) s = (const char *)nn_embedded[k].data;
    cr_assert(s, "no %s", path.s);
    for (; *s; s++) {
        size_t n;
        const char *type = *s == '$' ? type_at(u->types, isdigit((unsigned char)s[1]) ? s[1] - '0' + 1 : 0, &n) : NULL;
        if (type) text_addn(&t, type, n), s++;
        else text_char(&t, *s);
    }
    struct module *m = loop_parse(c, t.s, t.n, path.s);
    cr_assert(m && loop_verify(m, NULL), "%s: %s", path.s, complaints(c));
    text_free(&t), text_free(&path);
    return m;
}
/* Made up, the same each time. */
static uint64_t seed;
static int64_t drawn(int64_t least, int64_t most) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return least + (int64_t)((seed >> 33) % (uint64_t)(most - least + 1));
}
static int64_t number(const char *values, const char *name, int64_t k) {
    size_t n = strlen(name);
    const char *s = values;
    while (s && !(!strncmp(s, name, n) && s[n] == ':' && (s == values || s[-1] == ' '))) s = strchr(s + 1, name[0]);
    if (!s) return drawn(0, 1);
    char *end;
    int64_t first = strtoll(s + n + 1, &end, 10);
    return *end == '+' ? first + k * strtoll(end + 1, NULL, 10) : drawn(first, strtoll(end + 2, NULL, 10));
}
static const struct str_elem strings[] = {{"ab c", 4}, {"", 0}, {" x 12", 5}, {"\xc3\xa4-a", 4}, {"a b c d", 7}};
static void fill(const struct use *u, const struct buf *b, void *to, int64_t count) {
    struct tensor *t = tensor_new(&c->arena, b->type == STR ? U8 : b->type, &count, 1);
    for (int64_t k = 0; k < count; k++)
        if (b->type == STR) ((struct str_elem *)to)[k] = strings[drawn(0, 4)];
        else if (dtype_is_float(b->type)) tensor_set_f(t, k, (double)drawn(-6, 6) / 2);
        else tensor_set_i(t, k, number(u->values, b->name, k));
    if (b->type != STR) tensor_unpack(t, to);
}
struct env {
    const struct proc *p;
    const int64_t *syms;
};
static bool size_of(void *env, expr leaf, int64_t *v) {
    const struct env *q = env;
    for (int k = 0; k < q->p->syms.n; k++)
        if (leaf->op == X_SYM && leaf->u.sym == q->p->syms.v[k]) return *v = q->syms[k], true;
    return false;
}
/* Runs it and gives the arguments after that; returns the number of loops in another order. */
static struct reordering run(const struct use *u, enum order order, struct eval_arg *args, struct module **out) {
    struct module *m = *out = instance(u);
    struct proc *p = m->procs.v[0];
    struct env env = {p, u->syms};
    struct reordering q = {order, 0, 0};
    if (order != AS_WRITTEN) walk(&p->body, reorder_loop, &q);
    seed = 1;
    for (int k = 0; k < p->params.n; k++) {
        const struct buf *b = p->params.v[k].buf;
        int64_t count = 1;
        args[k] = (struct eval_arg){.nd = b->nd};
        for (int d = 0; d < b->nd; d++) {
            cr_assert(x_eval_int(b->dims[d], size_of, &env, &args[k].dims[d]));
            count *= args[k].dims[d];
        }
        if (p->params.v[k].dir == DIR_OUT) continue;
        args[k].data = arena_array(&c->arena, (size_t)count + 1, (size_t)dtype_bytes(b->type));
        fill(u, b, args[k].data, count);
    }
    struct eval_result r = loop_eval(m, p, args, u->syms, &(struct eval_options){0});
    cr_assert_eq(r.status, EVAL_OK, "%s: %s", u->kernel, r.message);
    return q;
}
static void compare(const struct use *u, const struct proc *p, const struct eval_arg *a, const struct eval_arg *b) {
    for (int k = 0; k < p->params.n; k++) {
        int64_t count = 1;
        const struct buf *of = p->params.v[k].buf;
        for (int d = 0; d < a[k].nd; d++) count *= a[k].dims[d];
        if (p->params.v[k].dir == DIR_IN) continue;
        for (int64_t i = 0; of->type == STR && i < count; i++) /* the bytes are another result */
            cr_expect_eq(((struct str_elem *)a[k].data)[i].n, ((struct str_elem *)b[k].data)[i].n, "%s: %s", u->kernel,
                         of->name);
        if (of->type != STR)
            cr_expect_not(memcmp(a[k].data, b[k].data, (size_t)(count * dtype_bytes(of->type))), "%s: %s", u->kernel,
                          of->name);
    }
}
Test(order, independent_loops_of_kernel_texts_run_in_any_order) {
    int loops = 0, assumed = 0;
    for (size_t k = 0; k < sizeof uses / sizeof *uses; k++) {
        struct eval_arg want[16], got[16];
        struct module *m;
        run(&uses[k], AS_WRITTEN, want, &m);
        for (enum order order = BACKWARDS; order <= STRIDES; order++) {
            struct reordering q = run(&uses[k], order, got, &m);
            cr_expect_gt(q.loops, 0, "%s", uses[k].kernel);
            compare(&uses[k], m->procs.v[0], want, got);
            loops += q.loops, assumed += q.assumed;
        }
    }
    cr_expect_gt(loops, 80);
    cr_expect_gt(assumed, 8);
}
static int count_independent(const char *s) {
    int n = 0;
    while ((s = strstr(s, " independent"))) n++, s++;
    return n;
}
Test(order, every_kernel_text_that_has_independent_loops_is_run) {
    for (size_t k = 0; k < nn_embedded_count; k++) {
        const char *path = nn_embedded[k].path, *folder = "templates/kernels/";
        if (strncmp(path, folder, strlen(folder)) || !count_independent((const char *)nn_embedded[k].data)) continue;
        const char *name = path + strlen(folder);
        bool used = false;
        for (size_t j = 0; j < sizeof uses / sizeof *uses; j++)
            used |=
                strlen(uses[j].kernel) + 4 == strlen(name) && !strncmp(name, uses[j].kernel, strlen(uses[j].kernel));
        cr_expect(used, "%s", path);
    }
}
