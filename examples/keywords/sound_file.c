/* Sound for listen.c from a file, or a pipe:  listen FILE.wav   or   arecord -t raw -f S16_LE -r 16000 | listen -
 * In a .wav file: one channel of 16 bits at 16 kHz; from a pipe: the same as bare samples. */
#include "listen.h"
#include <stdio.h>
#include <string.h>

static FILE *sound;
static uint32_t left = UINT32_MAX; /* bytes; a pipe has no end of its own */

static uint32_t little(const unsigned char *p, int n) {
    uint32_t v = 0;
    while (n--) v = v << 8 | p[n];
    return v;
}
static int refuse(const char *why) {
    fprintf(stderr, "listen: %s\n", why);
    return -1;
}
/* Up to the first sample: parts of a name, a size and as many bytes. */
static int read_head(void) {
    unsigned char part[12], format[16];
    int known = 0;
    if (fread(part, 1, 12, sound) != 12 || memcmp(part, "RIFF", 4) != 0 || memcmp(part + 8, "WAVE", 4) != 0)
        return refuse("the file is no .wav file");
    for (;;) {
        if (fread(part, 1, 8, sound) != 8) return refuse("the .wav file has no sound in it");
        uint32_t n = little(part + 4, 4);
        if (!memcmp(part, "data", 4)) {
            left = n;
            return known ? 1 : refuse("the .wav file does not say what its samples are");
        }
        uint32_t head = 0;
        if (!memcmp(part, "fmt ", 4) && n >= sizeof format) {
            head = sizeof format;
            if (fread(format, 1, head, sound) != head) return refuse("the .wav file ends in its head");
            known = little(format, 2) == 1 && little(format + 2, 2) == 1 && little(format + 4, 4) == RATE &&
                    little(format + 14, 2) == 16;
            if (!known) return refuse("the .wav file is not of one channel of 16 bits at 16 kHz");
        }
        for (n += n % 2; n > head; n--)
            if (getc(sound) == EOF) return refuse("the .wav file ends in its head");
    }
}
int sound_open(int argc, char **argv) {
    if (argc != 2) return refuse("usage: listen FILE.wav, or - for samples from a pipe");
    if (!strcmp(argv[1], "-")) {
        sound = stdin;
        return 1;
    }
    sound = fopen(argv[1], "rb");
    return sound ? read_head() : refuse("the file cannot be opened");
}
/* The rest that is no whole hop is filled with silence. */
int sound_hop(int16_t hop[HOP]) {
    unsigned char bytes[2 * HOP] = {0};
    size_t most = left < sizeof bytes ? left : sizeof bytes, n = fread(bytes, 1, most, sound);
    if (left != UINT32_MAX) left -= (uint32_t)n;
    for (int k = 0; k < HOP; k++) {
        long v = (long)little(bytes + 2 * k, 2);
        hop[k] = (int16_t)(v < 32768 ? v : v - 65536);
    }
    return n > 0;
}
