/* Memory plans: what the planner makes passes the verifier, and each planted overlap is found and named. */
#include "loop_text.h"
#include "lower/lower.h"
#include "lower/memory_plan.h"

static struct ctx *c;
static void setup(void) { c = ctx_new(); }
static void teardown(void) { ctx_free(c); }
TestSuite(plan, .init = setup, .fini = teardown, .timeout = 60);

static struct module *parsed(const char *text, size_t n, const char *name) {
    struct module *m = loop_parse(c, text, n, name);
    cr_assert(m && loop_verify(m, NULL), "%s", complaints(c));
    return m;
}
static struct module *module_of(const char *name) {
    const char *root = getenv("GCC2NN_SOURCE_ROOT");
    char path[512], *s = malloc(1 << 16);
    snprintf(path, sizeof path, "%s/tests/planted/%s.lir", root ? root : ".", name);
    FILE *f = fopen(path, "rb");
    cr_assert(f, "no text %s", path);
    size_t n = fread(s, 1, 1 << 16, f);
    fclose(f);
    struct module *m = parsed(s, n, name);
    free(s);
    return m;
}
static struct plan_slot *slot(struct memory_plan *p, const char *name) {
    for (int k = 0; k < p->slots.n; k++)
        if (!strcmp(p->slots.v[k].buf->name, name)) return &p->slots.v[k];
    cr_assert_fail("no buffer %s", name);
    return NULL;
}
static void put_over(struct memory_plan *p, const char *what, const char *where, int64_t more) {
    slot(p, what)->offset = slot(p, where)->offset + more;
}

/* ---- plans that hold */
Test(plan, holds_and_is_small) {
    struct module *m = module_of("plan");
    struct memory_plan *p = memory_plan(m, NULL, NULL);
    cr_assert(p && plan_verify(m, p), "%s", complaints(c));
    cr_expect(p->is_static && p->peak == 5 * 256, "%lld", (long long)p->peak); /* p q f e t in the loop */
    cr_expect(p->bound == 5 * 256, "%lld", (long long)p->bound);
}
Test(plan, holds_for_all_sizes) {
    struct module *m = module_of("plan_symbolic");
    struct memory_plan *p = memory_plan(m, NULL, NULL);
    cr_assert(p && plan_verify(m, p), "%s", complaints(c));
    cr_expect(!p->is_static && slot(p, "c")->offset == -1);
}
/* Dims that the model does not take give negative sizes, and quotients by 0: the plan is made at dims that nobody said
 * anything about. */
Test(plan, is_made_at_dims_that_the_model_refuses) {
    static const char *const sizes[] = {"N-40", "240//(N-1)", "240//(N-2)"}, *const ranges[] = {"40..100", "1..100",
                                                                                                "0..100"};
    for (int k = 0; k < 3; k++) {
        const char *n = sizes[k], *text = arena_printf(&c->arena,
                                                       "proc copy(x: f32[M] in, y: f32[M] out) [M in 0..240]\n"
                                                       "  for i<M\n    y[i] = x[i]\n"
                                                       "entry proc e(x: f32[%s] in, y: f32[%s] out) [N in %s]\n"
                                                       "  alloc t: f32[%s] arena\n"
                                                       "  call copy(in x, out t; %s)\n"
                                                       "  call copy(in t, out y; %s)\n",
                                                       n, n, ranges[k], n, n, n);
        struct module *m = parsed(text, strlen(text), "t.lir");
        struct memory_plan *p = memory_plan(m, NULL, NULL);
        cr_assert(p && plan_verify(m, p), "%s: %s", n, complaints(c));
    }
}
/* A check before a view says that it fits: no run gets there with other sizes. */
Test(plan, holds_for_views_behind_checks) {
    static const char text[] = "proc copy(x: f32[M] in, y: f32[M] out) [M in 0..100]\n"
                               "  for i<M\n    y[i] = x[i]\n"
                               "entry proc e(x: f32[N] in, y: f32[12] out) [N in 0..100]\n"
                               "  alloc t: f32[N] arena\n"
                               "  alloc u: f32[12] arena\n"
                               "  call copy(in x, out t; N)\n"
                               "  check N == 12 else \"of another size\"\n"
                               "  view v: f32[12] arena of t+0\n"
                               "  call copy(in v, out u; 12)\n"
                               "  view w: f32[12] arena of v+0\n"
                               "  call copy(in w, out u; 12)\n"
                               "  alloc p: f32[4] arena\n"
                               "  for k<3\n"
                               "    view z: f32[4] arena of v+k*4\n"
                               "    call copy(in z, out p; 4)\n";
    struct module *m = parsed(text, strlen(text), "t.lir");
    struct memory_plan *p = memory_plan(m, NULL, NULL);
    cr_assert(p && plan_verify(m, p), "%s", complaints(c));
    for (int k = 0; k < p->slots.n; k++) p->slots.v[k].nbelow = 0; /* u over t */
    cr_expect(!plan_verify(m, p));
}
/* With sizes that the check lets no run have, t is smaller than its tiles, of which the last would begin within q. */
Test(plan, holds_for_tiles_behind_checks) {
    static const char text[] = "proc copy(x: f32[M] in, y: f32[M] out) [M in 0..100]\n"
                               "  for i<M\n    y[i] = x[i]\n"
                               "proc fill(x: f32[20] in, y: f32[M] out) [M in 0..100]\n"
                               "  for i<M\n    y[i] = x[0]\n"
                               "entry proc e(x: f32[N] in, y: f32[N] out) [N in 0..100]\n"
                               "  alloc t: f32[N] arena\n"
                               "  call copy(in x, out t; N)\n"
                               "  check N == 60 else \"of another size\"\n"
                               "  view v: f32[60] arena of t+0\n"
                               "  alloc q: f32[N] arena\n"
                               "  for k<3\n"
                               "    view z: f32[20] arena of v+k*20\n"
                               "    call fill(in z, out q; N)\n"
                               "  call copy(in q, out y; N)\n";
    struct module *m = parsed(text, strlen(text), "t.lir");
    struct memory_plan *p = memory_plan(m, NULL, NULL);
    cr_expect(p && plan_verify(m, p), "%s", complaints(c));
}
/* A view of a buffer that a loop swaps is of another place each turn. */
static const char turning[] = "proc copy(x: f32[64] in, y: f32[64] out)\n"
                              "  for i<64\n"
                              "    y[i] = x[i]\n"
                              "entry proc e(x: f32[64] in, y: f32[64] out)\n"
                              "  alloc p: f32[64] arena\n"
                              "  alloc q: f32[64] arena\n"
                              "  alloc t: f32[64] arena\n"
                              "  call copy(in x, out p)\n"
                              "  for k<4\n"
                              "    call copy(in p, out q)\n"
                              "    view v: f32[8,8] arena of q+0\n"
                              "    view u: f32[64] arena of v+0\n"
                              "    call copy(in u, out t)\n"
                              "    swap p, q\n"
                              "  call copy(in p, out y)\n";
static struct memory_plan *turning_plan(struct module **m) {
    *m = parsed(turning, strlen(turning), "t.lir");
    return memory_plan(*m, NULL, NULL);
}
Test(plan, views_follow_swaps) {
    struct module *m;
    struct memory_plan *p = turning_plan(&m);
    cr_expect(p && plan_verify(m, p), "%s", complaints(c));
}
Test(plan, views_of_swapped_buffers_are_watched) { /* t over p, which the second turn's v is of */
    struct module *m;
    struct memory_plan *p = turning_plan(&m);
    put_over(p, "t", "p", 0);
    cr_expect(!plan_verify(m, p));
    cr_expect(strstr(complaints(c), "t"), "%s", complaints(c));
}

/* ---- planted overlaps */
static void result_over_operand(struct memory_plan *p) { put_over(p, "b", "a", 0); }
static void result_over_later_operand(struct memory_plan *p) { put_over(p, "c", "a", 0); }
static void half_over(struct memory_plan *p) { put_over(p, "d", "a", 64 - slot(p, "d")->bytes->u.i); }
static void scratch_over_result(struct memory_plan *p) { put_over(p, "s", "c", 64); }
static void scratch_over_bystander(struct memory_plan *p) { put_over(p, "s", "a", 0); }
static void view_elsewhere(struct memory_plan *p) { slot(p, "upper")->alias_offset = x_int(c, 192); }
static void view_of_another(struct memory_plan *p) { slot(p, "upper")->alias = (int)(slot(p, "b") - p->slots.v); }
static void too_small(struct memory_plan *p) { slot(p, "d")->bytes = x_int(c, 256); }
static void misaligned(struct memory_plan *p) { slot(p, "a")->offset += 4; }
static void past_the_end(struct memory_plan *p) { slot(p, "d")->offset = p->peak - 256; }
static void branch_over_bystander(struct memory_plan *p) { put_over(p, "g", "e", 0); }
static void loop_over_bystander(struct memory_plan *p) { put_over(p, "t", "f", 0); }
static void loop_over_next_turn(struct memory_plan *p) { put_over(p, "q", "e", 0); }
static void swapped_pair_meets(struct memory_plan *p) { put_over(p, "q", "p", 64); }
static void no_place(struct memory_plan *p) { slot(p, "e")->first = -1; }
static void lost_edge(struct memory_plan *p) {
    for (int k = 0; k < p->slots.n; k++) p->slots.v[k].nbelow = 0;
}
static void size_of_one_sample(struct memory_plan *p) {
    for (int k = 0; k < p->slots.n; k++) p->slots.v[k].bytes = x_int(c, PLAN_ALIGN);
}
static const struct planted {
    const char *text, *name;
    void (*corrupt)(struct memory_plan *p);
    const char *said;
} planted[] = {
    {"plan", "result over the operand of its call", result_over_operand, "copy writes buffer b over buffer a"},
    {"plan", "result over an operand of a later call", result_over_later_operand, "reads buffer a"},
    {"plan", "64 bytes of overlap", half_over, "reads buffer a"},
    {"plan", "scratch over the result of its call", scratch_over_result, "over buffer"},
    {"plan", "scratch over a buffer that waits", scratch_over_bystander, "was overwritten by s"},
    {"plan", "view with another offset", view_elsewhere, "view upper starts at byte 256"},
    {"plan", "view of another buffer", view_of_another, "view upper does not share the storage of d"},
    {"plan", "half of the bytes", too_small, "buffer d needs 512 bytes"},
    {"plan", "offset between the lines", misaligned, "buffer a lies at byte"},
    {"plan", "past the end of the arena", past_the_end, "buffer d ends at byte"},
    {"plan", "branch over a buffer that waits", branch_over_bystander, "over buffer"},
    {"plan", "loop body over what each turn reads", loop_over_bystander, "over buffer"},
    {"plan", "what swaps over what is read after the loop", loop_over_next_turn, "e"},
    {"plan", "swapped buffers meet", swapped_pair_meets, "buffer p"},
    {"plan", "a used buffer without a place", no_place, "buffer e, which has no place"},
    {"plan_symbolic", "an order that was lost", lost_edge, "buffer"},
    {"plan_symbolic", "the size of one sample", size_of_one_sample, "bytes and has 64"},
};
Test(plan, each_planted_overlap_is_found) {
    for (size_t k = 0; k < sizeof planted / sizeof *planted; k++) {
        const struct planted *q = &planted[k];
        struct module *m = module_of(q->text);
        struct memory_plan *p = memory_plan(m, NULL, NULL);
        cr_assert(p && plan_verify(m, p), "%s: %s", q->name, complaints(c));
        q->corrupt(p);
        cr_expect(!plan_verify(m, p), "%s: not found", q->name);
        cr_expect(strstr(complaints(c), q->said), "%s: said %s", q->name, complaints(c));
        ctx_free(c);
        c = ctx_new();
    }
}

/* ---- results over operands */
static const char chain[] = "proc relu(x: f32[64] in, y: f32[64] out)\n"
                            "  for i<64\n"
                            "    y[i] = max(x[i], 0.0)\n"
                            "proc turn(x: f32[64] in, y: f32[64] out)\n"
                            "  for i<64\n"
                            "    y[i] = x[63-i]\n"
                            "entry proc e(x: f32[64] in, y: f32[64] out)\n"
                            "  alloc a: f32[64] arena\n"
                            "  call relu(in x, out a)\n"
                            "  alloc b: f32[64] arena\n"
                            "  call %s(in a, out b)\n"
                            "  call turn(in %s, out y)\n";
/* Statements of the kind that the entry has after the pass. */
static int left_after(void (*pass)(struct module *m), const char *text, enum stmt_kind kind) {
    int n = 0;
    struct module *m = parsed(text, strlen(text), "t.lir");
    pass(m);
    cr_assert(loop_verify(m, NULL), "%s", complaints(c));
    for (struct stmt *s = m->entry->body.first; s; s = s->next) n += s->kind == kind;
    return n;
}
static int allocs_after_reuse(const char *kernel, const char *last) {
    char text[1000];
    snprintf(text, sizeof text, chain, kernel, last);
    return left_after(reuse_storage, text, S_ALLOC);
}
Test(plan, results_take_the_place_of_operands_that_die) { cr_expect(allocs_after_reuse("relu", "b") == 1); }
Test(plan, not_of_operands_that_are_read_in_another_order) { cr_expect(allocs_after_reuse("turn", "b") == 2); }
Test(plan, not_of_operands_that_live_on) { cr_expect(allocs_after_reuse("relu", "a") == 2); }

/* ---- slices as views */
/* The kernel is for the size that the check leaves. */
static const char slice[] = "proc first(x: f32[%d,1,5] in, y: f32[1,5] out)\n"
                            "  for j<5\n"
                            "    y[0,j] = x[0,0,j]\n"
                            "proc relu(x: f32[1,5] in, y: f32[1,5] out)\n"
                            "  for j<5\n"
                            "    y[0,j] = max(x[0,j], 0.0)\n"
                            "entry proc e(x: f32[%s,S,5] in, z: f32[1,5] out) [S in 0..64]\n"
                            "  check S == 1 else \"S is not 1\"\n"
                            "  alloc y: f32[S,5] arena\n"
                            "  call first(in x, out y)\n"
                            "  call relu(in y, out z)\n";
static int views_of_slice(int kernel_rows, const char *rows) {
    char text[1000];
    snprintf(text, sizeof text, slice, kernel_rows, rows);
    return left_after(coalesce_copies, text, S_VIEW);
}
Test(plan, a_slice_is_a_view) { cr_expect(views_of_slice(2, "2") == 1); }
/* S*5 <= S*S*5 is true, but the sizes alone do not prove it. */
Test(plan, a_slice_of_unproved_size_is_a_copy) { cr_expect(views_of_slice(1, "S") == 0); }

/* ---- calls that do the same */
static const char twice[] = "proc relu(x: f32[64] in, y: f32[64] out)\n"
                            "  for i<64\n"
                            "    y[i] = max(x[i], 0.0)\n"
                            "proc add(a: f32[64] in, b: f32[64] in, y: f32[64] out)\n"
                            "  for i<64\n"
                            "    y[i] = a[i] + b[i]\n"
                            "entry proc e(x: f32[64] in, z: f32[64] in, y: f32[64] out, w: f32[64] out)\n"
                            "  alloc p: f32[64] arena\n"
                            "  call relu(in z, out p)\n"
                            "  alloc a: f32[64] arena\n"
                            "  call relu(in %s, out a)\n"
                            "%s"
                            "  alloc b: f32[64] arena\n"
                            "  call relu(in %s, out %s)\n"
                            "  call add(in a, in b, out y)\n"
                            "  call add(in p, in b, out w)\n";
/* Calls that are left of five, and those between. */
static int calls_left(const char *first, const char *between, const char *second, const char *into) {
    char text[1500];
    snprintf(text, sizeof text, twice, first, between, second, into);
    return left_after(share_calls, text, S_CALL);
}
Test(plan, equal_calls_are_one) { cr_expect(calls_left("x", "", "x", "b") == 4); }
Test(plan, equal_calls_are_one_further_back) { cr_expect(calls_left("x", "", "z", "b") == 4); }
Test(plan, calls_of_other_operands_stay) { cr_expect(calls_left("x", "", "a", "b") == 5); }
Test(plan, calls_that_follow_a_change_stay) { cr_expect(calls_left("p", "  call relu(in x, out p)\n", "p", "b") == 6); }
