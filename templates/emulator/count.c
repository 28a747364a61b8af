/* A plugin of QEMU that counts instructions of the guest, exactly: those between the programs' two marks (io_mark_begin
 * and io_mark_end in NAME_main.c), one line for each pair of marks. Works for whole machines and for user mode.
 *
 *     cc -O2 -shared -fPIC -o count.so count.c      qemu-... -plugin ./count.so,out=FILE[,functions=FILE] ...
 *
 * The other file gets, for each function of the guest, its name and how many instructions it took between the last two.
 *
 * The interface is declared here, as version 1 of it has it, since Debian packages QEMU without the header. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int op, void *, uint64_t);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *), int flags, void *);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

static uint64_t count, begin;
static FILE *out, *functions;

/* By the place of the name, which is the same for all instructions of a function; looked up in translations alone. */
enum { FUNCTIONS = 1 << 14 };
static struct {
    const char *name;
    uint64_t count, begin, taken;
} of[FUNCTIONS];

/* NULL: there are too many. */
static uint64_t *count_of(const char *name) {
    size_t k = (size_t)((uintptr_t)name >> 3) % FUNCTIONS, end = k;
    while (of[k].name && of[k].name != name)
        if ((k = (k + 1) % FUNCTIONS) == end) return NULL;
    of[k].name = name;
    return &of[k].count;
}

static void at_begin(unsigned cpu, void *unused) {
    (void)cpu, (void)unused;
    begin = count;
    for (int k = 0; functions && k < FUNCTIONS; k++) of[k].begin = of[k].count;
}
static void at_end(unsigned cpu, void *unused) {
    (void)cpu, (void)unused;
    fprintf(out, "%llu\n", (unsigned long long)(count - begin));
    for (int k = 0; functions && k < FUNCTIONS; k++) of[k].taken = of[k].count - of[k].begin;
}
/* A mark is a function that is called through a pointer: its first instruction starts a block. */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    for (size_t k = 0; k < qemu_plugin_tb_n_insns(block); k++) {
        struct qemu_plugin_insn *i = qemu_plugin_tb_get_insn(block, k);
        const char *name = k == 0 || functions ? qemu_plugin_insn_symbol(i) : NULL;
        uint64_t *function = functions && name ? count_of(name) : NULL;
        qemu_plugin_register_vcpu_insn_exec_inline(i, 0, &count, 1);
        if (function) qemu_plugin_register_vcpu_insn_exec_inline(i, 0, function, 1);
        if (k > 0) continue;
        if (name && !strcmp(name, "io_mark_begin")) qemu_plugin_register_vcpu_insn_exec_cb(i, at_begin, 0, NULL);
        if (name && !strcmp(name, "io_mark_end")) qemu_plugin_register_vcpu_insn_exec_cb(i, at_end, 0, NULL);
    }
}
static void ended(qemu_plugin_id_t id, void *unused) {
    (void)id, (void)unused;
    fclose(out);
    for (int k = 0; functions && k < FUNCTIONS; k++)
        if (of[k].taken) fprintf(functions, "%s %llu\n", of[k].name, (unsigned long long)of[k].taken);
    if (functions) fclose(functions);
}
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
    (void)info;
    out = stderr;
    for (int k = 0; k < argc; k++) {
        if (!strncmp(argv[k], "out=", 4) && !(out = fopen(argv[k] + 4, "w"))) return 1;
        if (!strncmp(argv[k], "functions=", 10) && !(functions = fopen(argv[k] + 10, "w"))) return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
