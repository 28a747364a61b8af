/* External data and whole files: nothing outside of the model's folder, nothing but plain files, nothing beyond their
 * end. */
#include "compiler/import/external.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena arena;
static char folder[64];

static const char *path(const char *name) { return arena_printf(&arena, "%s/%s", folder, name); }

static void write_file(const char *name, const char *bytes) {
    FILE *f = fopen(path(name), "w");
    cr_assert_not_null(f);
    fputs(bytes, f);
    fclose(f);
}

static void set_up(void) {
    strcpy(folder, "/tmp/gcc2nn-external-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(mkdir(path("model"), 0700), 0);
    cr_assert_eq(mkdir(path("model/sub"), 0700), 0);
    cr_assert_eq(mkdir(path("outside"), 0700), 0);
    write_file("secret", "secret");
    write_file("outside/secret", "secret");
    write_file("model/plain", "0123456789");
    write_file("model/sub/..deep", "deep");
    write_file("model/empty", "");
    write_file("model/twice", "linked");
    cr_assert_eq(link(path("model/twice"), path("model/again")), 0);
    cr_assert_eq(symlink("../secret", path("model/link")), 0);
    cr_assert_eq(symlink("plain", path("model/inner")), 0);
    cr_assert_eq(symlink("../outside", path("model/folder")), 0);
    cr_assert_eq(mkfifo(path("model/fifo"), 0600), 0);
}

static void tear_down(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

static struct external open_model(struct diags *d, bool walk) {
    struct external x;
    *d = (struct diags){.arena = &arena};
    cr_assert(external_open(&x, d, &arena, path("model/m.onnx")));
    x.no_openat2 = walk;
    return x;
}

TestSuite(external, .init = set_up, .fini = tear_down);

Test(external, reads) {
    for (int walk = 0; walk < 2; walk++) {
        struct diags d;
        struct external x = open_model(&d, walk);
        const uint8_t *p, *q;
        size_t n;
        cr_assert(external_bytes(&x, "plain", 2, 3, &p, &n));
        cr_assert(n == 3 && memcmp(p, "234", 3) == 0);
        cr_assert(external_bytes(&x, "plain", 4, -1, &q, &n));
        cr_assert(n == 6 && q == p + 2, "mapped once");
        cr_assert(external_bytes(&x, "sub/..deep", 0, 4, &p, &n));
        cr_assert_eq(memcmp(p, "deep", 4), 0);
        cr_assert(external_bytes(&x, "./sub//..deep", 0, -1, &p, &n) && n == 4);
        cr_assert(external_bytes(&x, "empty", 0, -1, &p, &n) && n == 0);
        cr_assert(external_bytes(&x, "plain", 10, -1, &p, &n) && n == 0);
        cr_assert_eq(d.n, 0);
        external_close(&x);
    }
}

Test(external, refuses) {
    static const struct {
        const char *location, *says;
    } rows[] = {
        {"", "empty"},
        {"/etc/passwd", "absolute"},
        {"../secret", "`..`"},
        {"sub/../plain", "`..`"},
        {"sub/..", "`..`"},
        {"..", "`..`"},
        {"link", "symbolic link"},
        {"inner", "symbolic link"},
        {"folder/secret", ""},
        {"again", "hard link"},
        {"twice", "hard link"},
        {"fifo", "not a regular file"},
        {"sub", "not a regular file"},
        {".", "not a regular file"},
        {"missing", "No such file"},
        {"plain/x", "Not a directory"},
    };
    for (int walk = 0; walk < 2; walk++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            struct diags d;
            struct external x = open_model(&d, walk);
            const uint8_t *p;
            size_t n;
            cr_assert_not(external_bytes(&x, rows[i].location, 0, -1, &p, &n), "%s", rows[i].location);
            cr_assert_eq(d.errors, 1);
            cr_assert_eq(d.v[0].code, E_EXTERNAL);
            cr_assert_not_null(strstr(d.v[0].message, rows[i].says), "%s: %s", rows[i].location, d.v[0].message);
            cr_assert_not(external_bytes(&x, rows[i].location, 0, -1, &p, &n));
            cr_assert_eq(d.errors, 1, "one diagnostic per file");
            external_close(&x);
        }
}

Test(external, long_component) {
    struct diags d;
    struct external x = open_model(&d, true);
    char name[400];
    memset(name, 'a', sizeof name);
    name[399] = 0;
    const uint8_t *p;
    size_t n;
    cr_assert_not(external_bytes(&x, name, 0, -1, &p, &n));
    external_close(&x);
}

Test(external, ranges) {
    static const struct {
        int64_t offset, length;
    } rows[] = {
        {11, -1}, {11, 0}, {0, 11}, {10, 1}, {-1, 1}, {0, -2}, {INT64_MAX, 1}, {1, INT64_MAX}, {INT64_MIN, INT64_MIN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct diags d;
        struct external x = open_model(&d, false);
        const uint8_t *p;
        size_t n;
        cr_assert_not(external_bytes(&x, "plain", rows[i].offset, rows[i].length, &p, &n), "row %zu", i);
        cr_assert_eq(d.v[0].code, E_EXTERNAL);
        external_close(&x);
    }
}

Test(external, more_than_two_gigabytes) {
    int fd = open(path("model/large"), O_RDWR | O_CREAT, 0600);
    off_t at = (off_t)3 << 30;
    cr_assert_eq(pwrite(fd, "far", 3, at), 3); /* sparse: takes one block */
    close(fd);
    struct diags d;
    struct external x = open_model(&d, false);
    const uint8_t *p;
    size_t n;
    cr_assert(external_bytes(&x, "large", at, 3, &p, &n));
    cr_assert_eq(memcmp(p, "far", 3), 0);
    cr_assert(external_bytes(&x, "large", 1, -1, &p, &n) && n == (size_t)at + 2);
    external_close(&x);
}

Test(external, without_folder) {
    struct diags d = {.arena = &arena};
    struct external x;
    const uint8_t *p;
    size_t n;
    cr_assert_not(external_open(&x, &d, &arena, path("nowhere/m.onnx")));
    cr_assert_not(external_bytes(&x, "plain", 0, -1, &p, &n));
    cr_assert_eq(d.errors, 1);
    external_close(&x);
}

TestSuite(file, .init = set_up, .fini = tear_down);

Test(file, map) {
    struct diags d = {.arena = &arena};
    struct mapped_file f;
    cr_assert(file_map(&d, path("model/link"), &f)); /* what the user names may be a link */
    cr_assert(f.size == 6 && memcmp(f.bytes, "secret", 6) == 0);
    file_unmap(&f);
    cr_assert(file_map(&d, path("model/empty"), &f) && f.size == 0);
    file_unmap(&f);
    cr_assert_not(file_map(&d, path("missing"), &f));
    cr_assert_not(file_map(&d, path("model"), &f));
    cr_assert_not(file_map(&d, path("model/fifo"), &f));
    cr_assert_eq(d.errors, 3);
    cr_assert_eq(d.v[0].code, E_FILE);
    cr_assert_str_eq(d.v[0].where, path("missing"));
}

static bool write_two(struct diags *d, const char *where, const char *contents) {
    struct file_set s;
    if (!file_set_begin(&s, d, where)) return false;
    if (file_set_add(&s, "a", contents, strlen(contents)) && file_set_add(&s, "b", "", 0)) return file_set_commit(&s);
    file_set_abandon(&s);
    return false;
}
Test(file, write) {
    struct diags d = {.arena = &arena};
    struct mapped_file f;
    struct file_set s;
    cr_assert(write_two(&d, path("out"), "first"));
    cr_assert(write_two(&d, path("out"), "2nd"));
    cr_assert(file_set_begin(&s, &d, path("out")) && file_set_add(&s, "a", "3", 1));
    file_set_abandon(&s); /* what was there stays */
    cr_assert(file_map(&d, path("out/a"), &f));
    cr_assert(f.size == 3 && memcmp(f.bytes, "2nd", 3) == 0);
    file_unmap(&f);
    cr_assert(file_set_begin(&s, &d, path("made")) && file_set_add(&s, "a", "3", 1));
    file_set_abandon(&s);
    cr_assert_neq(access(path("made"), F_OK), 0);
    cr_assert_not(write_two(&d, path("nowhere/out"), "x"));
    cr_assert(remove(path("out/a")) == 0 && mkdir(path("out/a"), 0777) == 0);
    cr_assert_not(write_two(&d, path("out"), "x")); /* a folder stands there */
    cr_assert_eq(d.v[0].code, E_WRITE);
    char command[128];
    snprintf(command, sizeof command, "ls -A '%s/out' | grep -q gcc2nn", folder);
    cr_assert_neq(system(command), 0, "nothing is left behind");
}
