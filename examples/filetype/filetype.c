/* Says what kind of files those given are: Google's magika network, compiled to C by gcc2nn, in a program that needs
 * only the C library. examples/demo.sh builds it; magika.h and its sources come from gcc2nn, filetype_config.h (sizes
 * and labels) from filetype.py.
 *
 *     filetype FILE...              a label, its probability and the time of a run, one line for each file
 *     filetype --numbers FILE...    the time in ms and all probabilities instead, or `short`: for filetype.py */
#define _POSIX_C_SOURCE 200809L
#include "filetype_config.h"
#include "magika.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LABELS = sizeof labels / sizeof *labels, TIMED_RUNS = 20 };

#if MAGIKA_INPUT_0_ELEMENTS != BEG_SIZE + END_SIZE
#error "the model does not take as many bytes as its configuration says"
#endif
typedef char labels_as_outputs[LABELS == MAGIKA_OUTPUT_0_ELEMENTS ? 1 : -1];

static int is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Fills the network's input: the file's beginning after white space, then its end before white space; what is missing
 * is PADDING, after the beginning and before the end. Returns whether the file can be read. */
static int read_input(const char *path, int32_t input[BEG_SIZE + END_SIZE]) {
    unsigned char beg[BLOCK_SIZE], end[BLOCK_SIZE];
    FILE *f = fopen(path, "rb");
    if (!f) return 0;
    const long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    const size_t block = size < BLOCK_SIZE ? (size_t)(size < 0 ? 0 : size) : BLOCK_SIZE;
    const int ok = size >= 0 && fseek(f, 0, SEEK_SET) == 0 && fread(beg, 1, block, f) == block &&
                   fseek(f, size - (long)block, SEEK_SET) == 0 && fread(end, 1, block, f) == block;
    fclose(f);
    if (!ok) return 0;

    size_t skip = 0, length = block;
    while (skip < block && is_space(beg[skip])) skip++;
    while (length > 0 && is_space(end[length - 1])) length--;
    for (size_t k = 0; k < BEG_SIZE; k++) input[k] = skip + k < block ? beg[skip + k] : PADDING;
    int32_t *last = input + BEG_SIZE + END_SIZE - 1;
    for (size_t k = 0; k < END_SIZE; k++) *(last - k) = k < length ? end[length - 1 - k] : PADDING;
    return 1;
}

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Runs the network; the time is the least of several runs, as it would be with nothing else going on. */
static double classify(magika *model, const int32_t *input, float *probability) {
    const magika_inputs in = {input};
    magika_outputs out = {probability};
    double least = 0;
    for (int run = 0; run < TIMED_RUNS; run++) {
        const double start = milliseconds();
        if (magika_run(model, &in, &out) != NN_OK) {
            fprintf(stderr, "filetype: the network failed: %s\n", model->error.what);
            exit(1);
        }
        const double time = milliseconds() - start;
        if (run == 0 || time < least) least = time;
    }
    return least;
}

static void print_answer(const char *path, double ms, const float *probability, int numbers) {
    if (numbers) {
        printf("%.6f", ms);
        for (int k = 0; k < LABELS; k++) printf(" %.9g", (double)probability[k]);
        printf("\n");
        return;
    }
    int best = 0;
    for (int k = 1; k < LABELS; k++) {
        if (probability[k] > probability[best]) best = k;
    }
    printf("%-28s %-12s %6.2f %% %9.3f ms\n", path, labels[best], (double)probability[best] * 100, ms);
}

int main(int argc, char **argv) {
    const int numbers = argc > 1 && strcmp(argv[1], "--numbers") == 0;
    if (argc < 2 + numbers) {
        fprintf(stderr, "usage: filetype [--numbers] FILE...\n");
        return 2;
    }
    magika model;
    magika_config config = {0};
    config.arena_size = MAGIKA_ARENA_BYTES;
    if (posix_memalign(&config.arena, 64, MAGIKA_ARENA_BYTES) != 0) {
        fprintf(stderr, "filetype: out of memory\n");
        return 1;
    }
    if (magika_init(&model, &config) != NN_OK) {
        fprintf(stderr, "filetype: %s\n", model.error.what);
        return 1;
    }
    int failed = 0;
    for (int k = 1 + numbers; k < argc; k++) {
        int32_t input[BEG_SIZE + END_SIZE];
        float probability[LABELS];
        if (!read_input(argv[k], input)) {
            fprintf(stderr, "filetype: cannot read %s\n", argv[k]);
            failed = 1;
        } else if (input[LEAST_BYTES - 1] == PADDING) {
            printf(numbers ? "short\n" : "%-28s too short to tell\n", argv[k]);
        } else {
            print_answer(argv[k], classify(&model, input, probability), probability, numbers);
        }
    }
    free(config.arena);
    return failed;
}
