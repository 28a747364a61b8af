/* The command line: words to options, and what is said about wrong ones. */
#include "compiler/options.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static int nothing(const struct options *o) {
    (void)o;
    return 0;
}
static const struct command commands[] = {
    {"compile", "MODEL", "compile a model", "  an example\n", 1, 1, CMD_COMPILE, nothing},
    {"inspect", "MODEL", "show a model", NULL, 1, 1, CMD_INSPECT, nothing},
    {"list-ops", "", "list operators", NULL, 0, 0, CMD_LIST_OPS, nothing},
    {0}};
static struct arena arena;
static struct options o;
static struct text problem;

static bool parse(const char *line) {
    char copy[256], *argv[32] = {"gcc2nn"};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    char *words = arena_copy(&arena, copy, strlen(copy) + 1);
    for (char *w = strtok(words, " "); w; w = strtok(NULL, " ")) argv[argc++] = w;
    o = (struct options){.arena = &arena};
    text_free(&problem);
    return options_parse(&o, commands, argc, argv, &problem);
}
static void refused(const char *line, const char *part) {
    cr_assert_not(parse(line), "%s", line);
    cr_assert(strstr(problem.s, part), "%s: %s", line, problem.s);
}

Test(options, a_model_stands_for_the_first_command) {
    cr_assert(parse("m.onnx -o out"));
    cr_assert_str_eq(o.command->name, "compile");
    cr_assert_str_eq(o.args.v[0], "m.onnx");
    cr_assert_str_eq(o.out, "out");
    cr_assert(parse("inspect --json -- -m"));
    cr_assert(o.json);
    cr_assert_str_eq(o.args.v[0], "-m");
}
Test(options, every_way_to_give_a_value) {
    static const char *const lines[] = {"m.onnx -oout", "m.onnx -o out", "m.onnx --out out", "--out=out m.onnx"};
    for (int i = 0; i < 4; i++) {
        cr_assert(parse(lines[i]), "%s", lines[i]);
        cr_assert_str_eq(o.out, "out", "%s", lines[i]);
    }
}
Test(options, ranks) {
    cr_assert(parse("m.onnx --rank x=3 --rank=a=b=0"));
    cr_assert(o.ranks.n == 2 && o.ranks.v[0].rank == 3 && o.ranks.v[1].rank == 0);
    cr_assert_str_eq(o.ranks.v[1].name, "a=b");
    refused("m.onnx --rank x=33", "not of the form NAME=N");
    refused("m.onnx --rank x=-1", "not of the form NAME=N");
    refused("m.onnx --rank x=1x2", "not of the form NAME=N");
    refused("m.onnx --rank =1", "not of the form NAME=N");
    refused("m.onnx --rank x=1 --rank x=2", "given twice");
}
Test(options, dims_and_shapes) {
    cr_assert(parse("m.onnx -d N=4 --dim=a=b=1..64@8 --shape x=1x3x?x? --shape s="));
    cr_assert(o.dims.n == 2 && o.dims.v[0].lo == 4 && o.dims.v[0].hi == 4);
    cr_assert_str_eq(o.dims.v[1].name, "a=b");
    cr_assert(o.dims.v[1].lo == 1 && o.dims.v[1].hi == 64 && o.dims.v[1].ref == 8);
    const struct shape *x = o.shapes.v[0].v;
    cr_assert(o.shapes.n == 2 && o.shapes.v[0].n == 1);
    cr_assert(x->rank == 4 && x->dims[1] == 3 && x->dims[3] == -1);
    cr_assert(o.shapes.v[1].n == 1 && o.shapes.v[1].v->rank == 0);
    static const char *const bad[] = {"N",        "=4",   "N=",   "N=4..",         "N=5..4",   "N=1..64@65",
                                      "N=1..64@", "N=-1", "N=4x", "N=99999999999", "N=1..2..3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[64];
        snprintf(line, sizeof line, "m.onnx --dim %s", bad[i]);
        refused(line, "is not of the form");
    }
    cr_assert(parse("m.onnx --shape s=3x?,,4 --shape e=empty --shape o=none"));
    x = o.shapes.v[0].v;
    cr_assert(o.shapes.v[0].n == 3 && x[0].rank == 2 && x[0].dims[1] == -1 && x[1].rank == 0 && x[2].dims[0] == 4);
    cr_assert(o.shapes.v[1].n == 0 && !o.shapes.v[1].none && o.shapes.v[2].none);
    refused("m.onnx --shape s=3x,4", "is not of the form");
    refused("m.onnx --shape s=3,nothing", "is not of the form");
    refused("m.onnx --shape x=1x", "is not of the form");
    refused("m.onnx --shape x=1xx2", "is not of the form");
    refused("m.onnx --shape x=a", "is not of the form");
}
Test(options, wrong_words_are_corrected) {
    refused("inspect --jsn m.onnx", "did you mean `--json`?");
    refused("inspct m.onnx", "did you mean `inspect`?");
    refused("inspect --zzzzzz m.onnx", "unknown option `--zzzzzz`");
    cr_assert_null(strstr(problem.s, "did you mean"));
    refused("list-ops --out x", "not one of `gcc2nn list-ops`");
    refused("inspect --json=1 m", "takes no argument");
    refused("m.onnx --out", "needs an argument");
    refused("m.onnx n.onnx", "one word too many");
    refused("inspect", "needs MODEL");
}
/* As a whole word: --dim is not meant by --dims. */
static bool names_option(const char *help, const char *option) {
    for (const char *s = help; (s = strstr(s, option)); s++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz-", s[strlen(option)])) return true;
    return false;
}
/* One name may mean different things to different commands, in rows of their own. */
static bool has_option(const struct command *c, const char *name) {
    bool has = false;
    for (const struct option_row *r = option_rows; r->name; r++) has |= !strcmp(r->name, name) && r->commands & c->bit;
    return has;
}
Test(options, every_option_is_in_the_help_of_its_commands) {
    for (const struct command *c = commands; c->name; c++) {
        struct text t = {0};
        options_help(&t, commands, c);
        for (const struct option_row *r = option_rows; r->name; r++) {
            char s[64];
            snprintf(s, sizeof s, "--%s", r->name);
            cr_assert_eq(names_option(t.s, s), has_option(c, r->name), "%s %s", c->name, s);
        }
        cr_assert(!c->examples || strstr(t.s, c->examples));
        for (const char *line = t.s, *end; *line; line = end + 1) {
            end = strchr(line, '\n');
            cr_assert(end && end - line <= 100 && (end == line || end[-1] != ' '), "%.*s", (int)(end - line), line);
        }
        text_free(&t);
    }
}
