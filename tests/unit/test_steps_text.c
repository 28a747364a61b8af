/* Steps as text and as data: what is printed reads back as the same step, for every kind, for the steps of the text
 * tests, and for random words; what functions make prints as what one would write. */
#include "lower/schedule/roles.h"
#include "lower/schedule/steps_list.h"
#include "step_kernels.h"
#include <dirent.h>

TestSuite(steps_text, .init = setup, .fini = teardown);

static uint32_t drawn;
static int pick(int n) {
    drawn = drawn * 1664525u + 1013904223u;
    return (int)((drawn >> 10) % (uint32_t)n);
}
/* The canonical text of a step, which must read back as itself; NULL: none. */
static const char *reread(const char *line) {
    struct step s, again;
    c->diags.n = c->diags.errors = 0;
    if (!step_parse(c, p, line, &s)) {
        cr_expect_eq(c->diags.n, 1, "`%s`: %d messages", line, c->diags.n);
        return NULL;
    }
    const char *text = step_text(c, &s);
    cr_assert(step_parse(c, p, text, &again), "`%s`, printed as `%s`, is none: %s", line, text, diagnostics());
    cr_assert_eq(again.kind, s.kind);
    cr_assert_str_eq(step_text(c, &again), text);
    return text;
}
static void same(const char *line) {
    const char *text = reread(line);
    cr_assert(text, "`%s`: %s", line, diagnostics());
    cr_expect_str_eq(text, line);
}
static void empty_proc(void) { p = proc_new(c, "empty"); }

static const char *const every_form[] = {
    "split y.ow 14 wo wi",
    "split y.ow 14 wo wi cut",
    "split y.ow 14 wo wi cut2",
    "split y.ow 14 wo wi guard",
    "split y.ow 14 wo wi overlap",
    "split y.ow wo wi sizes=[5*2 4]",
    "cut y.ow -3",
    "reorder y.oc y.ow y.oh",
    "fuse y.oh y.ow y.cell",
    "kind unroll wi aj",
    "kind gpu.thread.x wi",
    "grain y.oc 3",
    "outline y.oc",
    "layout x [0 1/8 2+1,1 3%%4 1%8]",
    "layout x [0 1/%4,2 2*3] pad 1:8 2:4 scope=arena",
    "layout x scope=reg",
    "layout x pad 0:1",
    "layout x []",
    "compute_at acc wo",
    "compute_at acc wo reg",
    "compute_at acc wo arena roll=2",
    "compute_at acc wo roll=0",
    "cache_read x t y",
    "cache_write y t",
    "rfactor acc acc.k 8 part",
    "carry kb yo acc",
    "join a.i b.i",
    "specialize y.m 7<M&M<=H*2 few",
    "widen y.oc 8",
    "pad acc.k 16",
    "skip acc.kh",
    "inline conv",
    "noinline erf",
    "prefetch w 64 kb yo",
    "prefetch w 64 kb yo [wo wi]",
    "pipeline kb [a b]",
    "tensorize sdot",
    "scratch t",
    "border y",
    "over y x",
    "within y x",
};
enum { FORMS = sizeof every_form / sizeof *every_form };
Test(steps_text, every_form_prints_as_it_is_written) {
    bool seen[STEP_KIND_COUNT] = {false};
    empty_proc();
    for (int k = 0; k < FORMS; k++) {
        struct step s;
        same(every_form[k]);
        cr_assert(step_parse(c, p, every_form[k], &s));
        seen[s.kind] = true;
    }
    for (int k = 0; k < STEP_KIND_COUNT; k++) {
        cr_expect(seen[k], "no `%s` is tried", step_rows[k].name);
        cr_expect_eq((int)step_rows[k].kind, k, "the rows are in the order of the kinds");
    }
}
Test(steps_text, spaces_and_order_of_keys_do_not_matter) {
    empty_proc();
    cr_expect_str_eq(reread("  split\ty.ow   4 a  b "), "split y.ow 4 a b");
    cr_expect_str_eq(reread("layout x scope=reg [ 0 1 ] pad 1:2"), "layout x [0 1] pad 1:2 scope=reg");
    cr_expect_str_eq(reread("compute_at acc roll=1 wo"), "compute_at acc wo roll=1");
    cr_expect_str_eq(reread("split y sizes=[4*1 2] a b"), "split y a b sizes=[4 2]");
}
/* Words of the forms above, one of them exchanged, dropped, doubled or moved from another form. */
Test(steps_text, random_words) {
    int good = 0;
    empty_proc();
    for (drawn = 1; drawn <= 20000;) {
        uint32_t at = drawn;
        char line[256];
        size_t n = (size_t)snprintf(line, sizeof line, "%s", every_form[pick(FORMS)]);
        for (int edits = 1 + pick(3); edits-- > 0 && n;) {
            const char *other = every_form[pick(FORMS)];
            size_t i = (size_t)pick((int)n), len = (size_t)pick(6), from = (size_t)pick((int)strlen(other));
            switch (pick(4)) {
            case 0: line[i] = " []=*/%+:,<0123abcxyz."[pick(22)]; break;
            case 1: memmove(line + i, line + i + (i + len <= n ? len : 0), n + 1 - i - (i + len <= n ? len : 0)); break;
            case 2:
                if (n + 12 < sizeof line) {
                    size_t m = strlen(other + from) < 8 ? strlen(other + from) : 8;
                    memmove(line + i + m, line + i, n + 1 - i);
                    memcpy(line + i, other + from, m);
                }
                break;
            default: line[i] = ' '; break;
            }
            n = strlen(line);
        }
        good += reread(line) != NULL;
        drawn = at + 1;
    }
    cr_expect_gt(good, 1000);
}
static int lines_of(const char *path) {
    char line[4096];
    int n = 0;
    FILE *f = fopen(path, "rb");
    cr_assert(f, "%s", path);
    while (fgets(line, sizeof line, f)) {
        const char *at = line + strspn(line, " ");
        if (strncmp(at, "step ", 5) && strncmp(at, "todo ", 5)) continue;
        line[strcspn(line, "\n")] = 0;
        struct step s;
        if (step_parse(c, p, at + 5, &s)) same(at + 5), n++;
    }
    fclose(f);
    return n;
}
Test(steps_text, steps_of_the_text_tests) {
    const char *root = getenv("GCC2NN_SOURCE_ROOT");
    cr_assert(root, "GCC2NN_SOURCE_ROOT is not set");
    int n = 0;
    empty_proc();
    static const char *const folders[] = {"tests/text/steps", "tests/text/steps/inputs"};
    for (int k = 0; k < 2; k++) {
        char folder[4096], path[8192];
        snprintf(folder, sizeof folder, "%s/%s", root, folders[k]);
        DIR *d = opendir(folder);
        cr_assert(d, "%s", folder);
        for (struct dirent *e; (e = readdir(d));) {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            if (e->d_type == DT_REG) n += lines_of(path);
        }
        closedir(d);
    }
    cr_expect_gt(n, 0);
}
Test(steps_text, lists_print_as_schedules) {
    struct step_list l = {.c = c};
    step_split(&l, "y.oc", 16, "yo", "yi", TAIL_CUT2);
    step_tiles(&l, "y.ow", "wo", "wi", (struct tile_size[]){{5, 2}, {4, 1}}, 2);
    step_split_early(&l, "y.n", 32, "no", "ni", 8);
    step_cut(&l, "wo", -1, NULL);
    step_cut(&l, "wi", 2, "part");
    step_widen(&l, "yi", 8);
    step_pad(&l, "k", 4);
    step_reorder(&l, LOOPS("yo", NULL, "y.ow"));
    step_reorder(&l, LOOPS("yo"));
    step_fuse(&l, "a", "b", "ab");
    step_kind(&l, LK_UNROLL, LOOPS("yo"));
    step_outline(&l, "yo");
    step_layout(&l, "x", LAYOUT(dim_whole(0), dim_halo(1, 1, 2)));
    step_compute_at(&l, "acc", "wo", SC_PARAM);
    step_compute_at(&l, "acc", "wo", SC_STACK);
    step_cache_read(&l, "x", "t", "y");
    step_cache_write(&l, "y", "t");
    step_rfactor(&l, "acc", "acc.k", 8, "part");
    step_carry(&l, "kb", "yo", "acc");
    step_join(&l, "a.i", "b.i");
    step_specialize(&l, "y.m", "7<M", "few");
    step_skip(&l, "acc.kh");
    step_inline(&l, "conv");
    step_noinline(&l, "erf");
    step_prefetch(&l, "w", 64, "kb", "yo", LOOPS("yo", "y.ow"));
    step_prefetch(&l, "w", 64, "kb", "yo", LOOPS(NULL));
    step_pipeline(&l, "kb", LOOPS("yo"));
    step_tensorize(&l, "sdot");
    step_scratch(&l, "t");
    step_border(&l, "y");
    step_over(&l, "y", "x");
    step_within(&l, "y", "x");
    cr_expect_str_eq(
        step_list_text(&l),
        "split y.oc 16 yo yi cut2\nsplit y.ow wo wi sizes=[5*2 4]\nsplit y.n 32 no ni overlap pieces=8\ncut wo "
        "-1\ncut wi 2 part\nwiden yi 8\npad k "
        "4\nreorder yo "
        "y.ow\nfuse a "
        "b ab\n"
        "kind unroll yo\noutline yo\nlayout x [0 1+1,2]\ncompute_at acc wo\ncompute_at acc wo stack\n"
        "cache_read x t y\ncache_write y t\nrfactor acc acc.k 8 part\ncarry kb yo acc\njoin a.i b.i\n"
        "specialize y.m 7<M few\nskip acc.kh\ninline conv\nnoinline erf\nprefetch w 64 kb yo [yo y.ow]\nprefetch w 64 "
        "kb "
        "yo\npipeline kb [yo]\n"
        "tensorize sdot\nscratch t\nborder y\nover y x\nwithin y x");
}
Test(steps_text, roles_are_no_loops_of_stages) {
#define ROLE(member, name, meaning) cr_expect(!strchr(role.member, '.'), "%s", role.member);
    ROLES(ROLE)
#undef ROLE
}
Test(steps_text, lists_apply_as_their_text_does) {
    gemm_rm(I(8), 4, 8);
    struct step_list l = {.c = c};
    step_split(&l, "y.m", 4, "mo", "mi", TAIL_NONE);
    step_compute_at(&l, "acc", "mo", SC_PARAM);
    cr_assert(steps_do(p, &l), "%s", diagnostics());
    cr_expect_eq(p->steps.n, 2);
    cr_expect_str_eq(p->steps.v[0], "split y.m 4 mo mi");
    step_outline(&l, "nowhere");
    cr_expect_not(steps_do(p, &l));
}
