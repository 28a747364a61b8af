/* api MODEL WRONG FOLDER    uses the library as a program would: compiles MODEL into FOLDER, and reads what it says of
 * WRONG, of wrong options, and of calls out of turn. Exit status 0: all was as gcc2nn.h has it. */
#include "gcc2nn.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(int right, const char *what) {
    if (right) return;
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
}
static struct gcc2nn_problem problem(const gcc2nn *g, int k) {
    struct gcc2nn_problem p;
    expect(gcc2nn_problem(g, k, &p) == GCC2NN_OK, "there is such a problem");
    return p;
}
static int exists(const char *folder, const char *file) {
    char path[4000];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "rb");
    if (f) fclose(f);
    return f != NULL;
}
static void compiles(const char *model, const char *folder) {
    gcc2nn *g = gcc2nn_new();
    expect(g && gcc2nn_api() == GCC2NN_API && *gcc2nn_version(), "a handle of this library");
    char target[] = "c99", name[] = "net"; /* texts are copied */
    expect(!gcc2nn_option(g, "target", target) && !gcc2nn_option(g, "name", name), "options are taken");
    memset(target, 'x', sizeof target - 1), memset(name, 'x', sizeof name - 1);
    expect(!gcc2nn_summary(g), "nothing was written yet");
    expect(!gcc2nn_load(g, model) && !gcc2nn_write(g, folder), "the model is compiled");
    expect(!gcc2nn_problem_count(g), "without a problem");
    expect(exists(folder, "net.h") && exists(folder, "net.c"), "its sources are there");
    expect(strstr(gcc2nn_summary(g), folder) && strstr(gcc2nn_summary(g), ": c99, "), "the summary names the target");
    expect(gcc2nn_load(g, model) == GCC2NN_USAGE && gcc2nn_option(g, "name", "n") == GCC2NN_USAGE,
           "one model a handle");
    expect(gcc2nn_problem_count(g) == 2 && !strcmp(problem(g, 0).message, "a handle is for one model"), "why");
    gcc2nn_free(g);
}
static void refuses_options(void) {
    gcc2nn *g = gcc2nn_new();
    struct gcc2nn_problem p;
    expect(gcc2nn_option(g, "tarket", "c99") == GCC2NN_USAGE, "there is no such option");
    expect(!strcmp(problem(g, 0).message, "unknown option `--tarket=c99`; did you mean `--target`?"), "its name");
    expect(gcc2nn_option(g, "threads", "many") == GCC2NN_USAGE, "no number");
    expect(strstr(problem(g, 1).message, "--threads: ") != NULL, "of what");
    expect(gcc2nn_write(g, "nowhere") == GCC2NN_USAGE, "there is nothing to write");
    expect(gcc2nn_problem(g, 3, &p) == GCC2NN_USAGE && gcc2nn_problem(g, -1, &p) == GCC2NN_USAGE, "there are three");
    gcc2nn_free(g);
    gcc2nn_free(NULL);
}
static void refuses_models(const char *wrong) {
    gcc2nn *g = gcc2nn_new();
    expect(gcc2nn_load(g, "no/such.onnx") == GCC2NN_ENV, "there is no such file");
    expect(gcc2nn_problem_count(g) == 1 && !strcmp(problem(g, 0).message, "No such file or directory"), "it says so");
    expect(!strcmp(problem(g, 0).file, "no/such.onnx") && problem(g, 0).code == 101, "and which");
    gcc2nn_free(g);
    g = gcc2nn_new();
    expect(gcc2nn_load(g, wrong) == GCC2NN_MODEL, "the model is wrong");
    expect(problem(g, 0).severity == GCC2NN_ERROR && !strcmp(problem(g, 0).file, wrong), "and an error");
    expect(!strcmp(problem(g, 0).message, "the module has no entry procedure"), "this one");
    expect(gcc2nn_write(g, "nowhere") == GCC2NN_USAGE, "there is nothing to write");
    gcc2nn_free(g);
}

int main(int argc, char **argv) {
    expect(argc == 4, "api MODEL WRONG FOLDER");
    compiles(argv[1], argv[3]);
    refuses_options();
    refuses_models(argv[2]);
    return 0;
}
