/* Keyword spotting, hop by hop: see listen.c. */
#ifndef LISTEN_H
#define LISTEN_H
#include "frame.h"
#include "keywords.h"
#include <stdint.h>

enum {
    RATE = 16000, /* samples in a second */
    HOP = 320,    /* samples that come at a time: 20 ms */
    FRAME = FRAME_INPUT_0_ELEMENTS,
    MELS = FRAME_OUTPUT_0_ELEMENTS,
    FRAMES = KEYWORDS_INPUT_0_ELEMENTS / MELS,
    CLASSES = KEYWORDS_OUTPUT_0_ELEMENTS,
    ARENA_BYTES = KEYWORDS_ARENA_BYTES > FRAME_ARENA_BYTES ? KEYWORDS_ARENA_BYTES : FRAME_ARENA_BYTES
};
extern const char *const labels[CLASSES];

/* All that is known of the sound so far: the last frame, the features of the last second, and what was heard in it. */
struct listener {
    frame to_features;
    keywords to_words;
    float sound[FRAME], features[FRAMES * MELS], heard[CLASSES];
    long hops;      /* so far */
    int last, rest; /* the word that was said last; so many hops it is not said again */
};
struct detection {
    int word; /* a label; 0: nothing is new */
    float probability;
    long at_ms; /* from the beginning of the sound to the end of the hop */
};
/* arena: ARENA_BYTES, aligned to 64; both networks use it in turn. A status of nn_rt.h. */
int listener_open(struct listener *l, void *arena);
/* The next 20 ms of sound. A status of nn_rt.h. */
int listener_hop(struct listener *l, const int16_t hop[HOP], struct detection *d);

/* Where sound comes from: sound_file.c on a machine with files, sound_flash.c on a board. 1: a hop, 0: the end, -1:
 * what was given is not such sound, which was said. */
int sound_open(int argc, char **argv);
int sound_hop(int16_t hop[HOP]);
#endif
