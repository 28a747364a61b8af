/* Files of a machine's numbers (compiler/machine_file.h): what is written is read again, bit for bit; what is wrong is
 * refused by file, key and remedy; rows of the compiler's own never change. */
#include "compiler/machine_file.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ctx *c;
static char path[] = "/tmp/test_machine_file-XXXXXX";
static void setup(void) {
    c = ctx_new();
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    close(fd);
}
static void done(void) {
    unlink(path);
    ctx_free(c);
}
TestSuite(machine_file, .init = setup, .fini = done);

static struct machine_file own(const struct target *t) {
    struct machine_file f = {.target = t, .cpu = "a CPU"};
    for (int k = 0; machine_numbers[k].name; k++) machine_number(t->machine, &machine_numbers[k], &f.values[k]);
    return f;
}
static char *text_of(const struct machine_file *f) {
    struct text t = {0};
    machine_file_print(f, &t);
    char *s = arena_printf(&c->arena, "%s", t.s);
    text_free(&t);
    return s;
}
static void put(const char *s) {
    FILE *f = fopen(path, "w");
    cr_assert(f && fputs(s, f) >= 0);
    fclose(f);
}
static bool reads(const char *s, struct machine_file *f) {
    put(s);
    return machine_file_read(c, path, f);
}
/* The text with `from`, which is in it, replaced. */
static const char *with(const char *s, const char *from, const char *to) {
    const char *at = strstr(s, from);
    cr_assert(at, "no %s in %s", from, s);
    return arena_printf(&c->arena, "%.*s%s%s", (int)(at - s), s, to, at + strlen(from));
}
static void refused(const char *s, const char *why) {
    struct machine_file f;
    int before = c->diags.n;
    cr_expect(!reads(s, &f), "read, although %s", why);
    cr_assert(c->diags.n > before, "%s", why);
    const struct diag *d = &c->diags.v[before];
    cr_expect(strstr(d->message, why), "`%s`, not `%s`", d->message, why);
    cr_expect(d->code == E_MACHINE && d->help && strstr(d->help, "calibrate") && d->where && !strcmp(d->where, path));
}

Test(machine_file, what_is_written_is_read_to_the_bit) {
    for (int k = 0; nn_targets[k]; k++) {
        const struct machine *m = nn_targets[k]->machine;
        struct machine_file f = own(nn_targets[k]), g;
        if (m->gpu) continue;
        cr_assert(reads(text_of(&f), &g), "%s: %s", nn_targets[k]->name, c->diags.n ? c->diags.v[0].message : "");
        cr_expect(g.target == nn_targets[k] && !strcmp(g.cpu, "a CPU"));
        cr_expect(!memcmp(f.values, g.values, sizeof f.values), "%s", nn_targets[k]->name);
    }
}
/* Each number gets where it belongs, and only there. */
Test(machine_file, every_number_reaches_its_place) {
    const struct target *t = target_by_name("x86-avx512");
    const struct machine before = *t->machine;
    for (int k = 0; machine_numbers[k].name; k++) {
        struct machine_file f = own(t), g;
        double value, is;
        f.values[k] = machine_numbers[k].name[0] == 'l' ? f.values[k] * 2 : f.values[k] + 1;
        cr_assert(reads(text_of(&f), &g), "%s", machine_numbers[k].name);
        const struct machine *m = machine_file_target(c, &g, t)->machine;
        for (int i = 0; machine_numbers[i].name; i++) {
            cr_assert(machine_number(m, &machine_numbers[i], &value));
            cr_expect_eq(value, f.values[i], "%s of %s", machine_numbers[i].name, machine_numbers[k].name);
            cr_assert(machine_number(t->machine, &machine_numbers[i], &is));
            cr_expect(i != k || is != value, "%s: the row itself has changed", machine_numbers[i].name);
        }
        cr_expect(m->name == before.name && m->vector.count == before.vector.count);
        cr_expect(machine_op(m, X_CAST, F16)->latency == machine_op(&before, X_CAST, F16)->latency);
    }
    cr_expect(!memcmp(&before, t->machine, sizeof before));
}
/* Twice as many multiply-adds a cycle: twice as many of the instructions that sum products, too. */
Test(machine_file, micro_kernels_keep_step_with_multiply_adds) {
    const struct target *t = target_by_name("x86-avx512bf16");
    struct machine_file f = own(t);
    for (int k = 0; machine_numbers[k].name; k++)
        if (!strcmp(machine_numbers[k].name, "multiply_add.starts")) f.values[k] *= 2;
    const struct machine *m = machine_with(&c->arena, t->machine, f.values);
    int n = 0;
    for (; m->micros[n].micro; n++) {
        cr_expect_eq(m->micros[n].micro, t->machine->micros[n].micro);
        cr_expect_eq(m->micros[n].starts, 2 * t->machine->micros[n].starts);
    }
    cr_expect(n > 0 && !t->machine->micros[n].micro);
}
Test(machine_file, units_are_those_of_the_row) {
    const struct machine *m = machine_with(&c->arena, &machine_avx2, own(target_by_name("x86-avx2")).values);
    cr_expect(m->l1.bytes == 32 << 10 && m->l2.byte == 1 / 24.0 && m->fork == 10000 && m->line == 64);
    cr_expect(machine_op(m, X_FMA, F32)->latency == 4 && machine_op(m, X_FMA, F32)->starts == 2);
    cr_expect(machine_op(m, X_LOAD, F32)->starts == 2 && machine_op(m, X_DIV, F32)->starts == 0.2);
}
Test(machine_file, every_row_is_within_its_ranges) {
    double v;
    for (int k = 0; nn_targets[k]; k++)
        for (const struct number_row *n = machine_numbers; n->name; n++)
            if (!nn_targets[k]->machine->gpu && machine_number(nn_targets[k]->machine, n, &v))
                cr_expect(v >= n->least && v <= n->most, "%s of %s", n->name, nn_targets[k]->name);
}
Test(machine_file, numbers_that_are_wrong_are_refused) {
    struct machine_file f = own(target_by_name("x86-avx2"));
    const char *s = text_of(&f);
    refused(with(s, "\"fork\": 10000.0", "\"fork\": \"10000\""), "\"fork\" is not a number");
    refused(with(s, "\"fork\": 10000.0", "\"fork\": null"), "\"fork\" is not a number");
    refused(with(s, "\"fork\": 10000.0", "\"fork\": true"), "\"fork\" is not a number");
    refused(with(s, "\"fork\": 10000.0,", ""), "the number \"fork\" is missing");
    refused(with(s, "\"fork\": 10000.0", "\"fork\": -1"), "\"fork\" is -1, and must be from 10 to 1e+07 cycles");
    refused(with(s, "\"fork\": 10000.0", "\"fork\": 0"), "\"fork\" is 0, and must be");
    refused(with(s, "\"fork\": 10000.0", "\"fork\": 1e300"), "\"fork\" is 1e+300, and must be");
    refused(with(s, "\"fork\": 10000.0", "\"fork\": 1e400"), "is no JSON");
    refused(with(s, "\"fork\"", "\"frok\""), "the key \"frok\" is not known; did you mean `fork`?");
    refused(with(s, "\"fork\": 10000.0", "\"fork\": 1, \"fork\": 2"), "duplicate");
    refused(with(s, "\"add.latency\": 4", "\"add.latency\": 4.5"), "must be a whole number of cycles");
    refused(with(s, "\"l1.bytes\": 32768", "\"l1.bytes\": 99999999999"), "\"l1.bytes\" is 1e+11, and must be from");
    refused(with(s, "\"l1.bytes\": 32768", "\"l1.bytes\": 32768.5"), "whole number of bytes");
}
Test(machine_file, sizes_that_no_machine_has_are_refused) {
    struct machine_file f = own(target_by_name("x86-avx2"));
    const char *s = text_of(&f);
    refused(with(s, "\"l1.bytes\": 32768", "\"l1.bytes\": 1048576"), "less than \"l1.bytes\"");
    refused(with(with(s, "\"line\": 64", "\"line\": 1024"), "ways\": 8", "ways\": 64"),
            "\"l1.ways\" times \"line\" is");
    refused(with(s, "\"line\": 64", "\"line\": 96"), "must be a power of two");
}
Test(machine_file, files_that_are_no_such_file_are_refused) {
    struct machine_file f = own(target_by_name("x86-avx2")), g;
    const char *s = text_of(&f);
    refused("", "line ");
    refused("{\"gcc2nn-machine\": 1", "is no JSON");
    refused("[1]", "must be 1: this is no file");
    refused("{}", "must be 1: this is no file");
    refused(with(s, "\"gcc2nn-machine\": 1", "\"gcc2nn-machine\": 2"), "must be 1");
    refused(with(s, "\"x86-avx2\"", "\"x86-avx22\""), "\"target\" is \"x86-avx22\", which is no target");
    refused(with(s, "\"x86-avx2\"", "\"native\""), "which is no target");
    refused(with(s, "\"x86-avx2\"", "7"), "\"target\" is missing, or not a text");
    refused(with(s, "\"a CPU\"", "7"), "\"cpu\" is missing, or not a text");
    refused(with(s, "\"cpu\"", "\"cpus\""), "the key \"cpus\" is not known; did you mean `cpu`?");
    refused(with(s, "\"numbers\": {", "\"numbers\": [], \"more\": {"), "the key \"more\" is not known");
    char *long_one = arena_printf(&c->arena, "%s%*s", s, 1 << 16, "");
    refused(long_one, "are too many");
    cr_expect(!machine_file_read(c, "/nowhere/at.json", &g));
    cr_expect(c->diags.v[c->diags.n - 1].code == E_FILE);
}
/* Without a second level there is none in the file, and none may be. */
Test(machine_file, what_the_row_lacks_is_not_known) {
    struct machine_file f = own(target_by_name("cortex-m4"));
    const char *s = text_of(&f);
    cr_expect(!strstr(s, "l2.bytes") && !strstr(s, "fork") && strstr(s, "multiply_add.starts"));
    refused(with(s, "\"line\": 64", "\"line\": 64, \"l2.bytes\": 65536"), "the key \"l2.bytes\" is not known");
}
Test(machine_file, only_its_own_files_are_replaced) {
    struct machine_file f = own(target_by_name("c99"));
    put(text_of(&f));
    cr_expect(machine_file_may_replace(c, path));
    put(with(text_of(&f), "\"line\"", "\"lien\""));
    cr_expect(machine_file_may_replace(c, path));
    put("");
    cr_expect(machine_file_may_replace(c, path));
    put("mine");
    cr_expect(!machine_file_may_replace(c, path));
    cr_expect(c->diags.v[c->diags.n - 1].code == E_WRITE);
    unlink(path);
    cr_expect(machine_file_may_replace(c, path));
}
