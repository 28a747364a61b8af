/* The program: selects the command and reads its options. Each command is in a file of its own, compiler/cmd_*.c; their
 * table is in commands.c. */
#include "commit.h"
#include "compiler/commands.h"
#include "compiler/config.h"
#include "compiler/gcc2nn.h"
#include "compiler/response.h"
#include "compiler/version.h"
#include "ir/base/cleanup.h"
#include "ir/base/die.h"
#include "ir/base/memory.h"
#include "lower/ops/ops.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* If a standard stream is closed, the next file opened would get its number: messages would go into generated code. So
 * it is replaced by a descriptor that can be neither read nor written, and its absence is noticed where it is
 * needed. */
static void open_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Applies gcc2nn.toml. false: it is invalid, and *status is the exit status. */
static bool settings(struct options *o, int *status) {
    if (!(o->command->bit & CMD_SETTINGS) || o->command->bit == CMD_CONFIG || o->targets)
        return true; /* each target
                      * has its own
                      * settings */
    struct ctx *c = ctx_new();
    options_diags(o, &c->diags);
    bool ok = settings_apply(c, o);
    if (c->diags.n) *status = report_diags(&c->diags);
    ctx_free(c);
    return ok;
}
static int wrong_usage(const struct options *o, int argc, char **argv, const char *problem) {
    struct ctx *c = ctx_new();
    for (int k = 1; k < argc; k++)
        if (!strcmp(argv[k], "--json")) c->diags.format = DIAG_JSON; /* --json may come after the mistake */
    diag_at(&c->diags, DIAG_ERROR, E_USAGE, "gcc2nn", NULL, "%s", problem);
    if (argc > 1 && o->command && !strcmp(argv[1], o->command->name))
        diag_help(&c->diags, "`gcc2nn %s --help` lists its options", o->command->name);
    else diag_help(&c->diags, "`gcc2nn --help` lists commands and options");
    int status = report_diags(&c->diags);
    ctx_free(c);
    return status;
}
int main(int argc, char **argv) {
    struct arena arena = {0};
    struct text problem = {0}, out = {0};
    struct options o = {.arena = &arena};
    int status = EXIT_OK;
    ops_register_all();
    open_standard_files();
    progress_show();
    signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is an error of write(), with a message */
    cleanup_install();
    die_command(gcc2nn_version(), argc, argv);
    /* jansson returns NULL both for bad input and for lack of memory: tell them apart */
    json_set_alloc_funcs(memory_new, free);
    if (!response_expand(&arena, &argc, &argv, &problem) || !options_parse(&o, command_rows, argc, argv, &problem)) {
        status = wrong_usage(&o, argc, argv, problem.s);
    } else if (o.version) {
        version_show(&o, GCC2NN_COMMIT);
    } else if (o.help) {
        bool whole_program = argv[1][0] == '-'; /* an option of the program: neither a command nor a model */
        options_help(&out, command_rows, whole_program ? NULL : o.command);
    } else if (settings(&o, &status)) {
        status = options_complete(&o, &problem) ? o.command->run(&o) : wrong_usage(&o, argc, argv, problem.s);
    }
    print_text(&out);
    status = flush_output(status);
    text_free(&problem);
    arena_free(&arena);
    return status;
}
