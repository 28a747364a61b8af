/* Sound for listen.c on a board without files or microphone: samples that were linked into its flash, as
 * `arm-none-eabi-ld -r -b binary words.pcm` puts them. A real device reads its microphone here. */
#include "listen.h"
#include <string.h>

extern const unsigned char _binary_words_pcm_start[], _binary_words_pcm_end[];
static const unsigned char *at;

int sound_open(int argc, char **argv) {
    (void)argc, (void)argv;
    at = _binary_words_pcm_start;
    return 1;
}
int sound_hop(int16_t hop[HOP]) {
    if (_binary_words_pcm_end - at < (ptrdiff_t)(2 * HOP)) return 0;
    memcpy(hop, at, 2 * HOP); /* the samples' order of bytes is the processor's */
    at += 2 * HOP;
    return 1;
}
