/* Reads handwritten digits with the network that gcc2nn compiled: shows the first ones, and counts how many of all are
 * right. The same source serves a workstation and a bare Cortex-M; only printf is asked of the system. */
#include "digits.h"
#include "digits_test.h"
#include <stdio.h>

enum { PIXELS = 64, SHOWN = 3, DIGITS = sizeof digits_test / sizeof *digits_test };

static float shade(char c) { return (float)(c <= '9' ? c - '0' : c - 'a' + 10) / 16.0f; }

static void show(const char *pixels, int answer, const float *scores) {
    static const char ink[] = " .:-=+*#@";
    for (int row = 0; row < 8; row++) {
        for (int column = 0; column < 8; column++) {
            const char c = ink[(int)(shade(pixels[8 * row + column]) * 8.0f)];
            printf("%c%c", c, c);
        }
        if (row == 3) printf("   is a %d", answer);
        if (row == 4) printf("   (score %ld, the others", (long)(scores[answer] * 100.0f));
        for (int k = 0; row == 4 && k < 10; k++)
            if (k != answer) printf(" %ld", (long)(scores[k] * 100.0f));
        printf(row == 4 ? ")\n" : "\n");
    }
}

int main(void) {
    static float picture[PIXELS], scores[10];
    static union {
        double aligned;
        unsigned char bytes[DIGITS_ARENA_BYTES + 64];
    } memory;
    static digits net;
    unsigned char *arena = memory.bytes;
    while ((uintptr_t)arena % 64) arena++;
    const digits_config config = {.arena = arena, .arena_size = DIGITS_ARENA_BYTES};
    const digits_inputs in = {.picture = picture};
    digits_outputs out = {.scores = scores};
    int right = 0, status = digits_init(&net, &config);
    for (int k = 0; k < DIGITS && status == NN_OK; k++) {
        const char *pixels = digits_test[k] + 2;
        for (int p = 0; p < PIXELS; p++) picture[p] = shade(pixels[p]);
        status = digits_run(&net, &in, &out);
        int answer = 0;
        for (int d = 1; d < 10; d++)
            if (scores[d] > scores[answer]) answer = d;
        right += answer == digits_test[k][0] - '0';
        if (k < SHOWN) show(pixels, answer, scores);
    }
    if (status != NN_OK) {
        printf("digits: %s\n", nn_status_text(status));
        return 1;
    }
    printf("%d of %d right\n", right, DIGITS);
    return 0;
}
