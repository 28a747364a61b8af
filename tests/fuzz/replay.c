/* Runs one fuzzer on files, without libFuzzer and with any compiler: `replay_NAME FILE...`. What a fuzzer once found
 * interesting stays a test. */
#include "ir/base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max) { /* the mutator is linked, and never called */
    (void)data, (void)max;
    return size;
}

static const char *at_work;
static void show(void) {
    if (at_work) fprintf(stderr, "while %s was at work\n", at_work);
}
int main(int argc, char **argv) {
    if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
    atexit(show);
    for (int k = 1; k < argc; k++) {
        FILE *f = fopen(argv[k], "rb");
        struct text t = {0};
        for (int ch; f && (ch = getc(f)) != EOF;) text_char(&t, (char)ch);
        if (!f) return perror(argv[k]), 1;
        fclose(f);
        uint8_t *exact = malloc(t.n ? t.n : 1); /* no zero behind the input: a sanitizer sees reads beyond it */
        if (!exact) return 1;
        if (t.n) memcpy(exact, t.s, t.n);
        at_work = argv[k];
        LLVMFuzzerTestOneInput(exact, t.n);
        at_work = NULL;
        free(exact);
        text_free(&t);
    }
    return 0;
}
