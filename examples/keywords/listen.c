/* Listens for ten words in sound of any length, and prints each with its time. Sound comes in hops of 20 ms. Each gives
 * one row of features (frame.onnx) behind those of the last second, which are kept; every 80 ms the network
 * (keywords.onnx) looks at them. A word is said when its probability, smoothed over the last looks, is high. */
#include "listen.h"
#include <stdio.h>
#include <string.h>

enum { LOOK_EVERY = 4, QUIET_HOPS = 40 /* after a word */, FIRST_WORD = 2 };
static const float SMOOTHING = 0.4f /* the newest look's share */, LEAST = 0.7f;

const char *const labels[CLASSES] = {"silence", "unknown", "yes", "no",  "up",   "down",
                                     "left",    "right",   "on",  "off", "stop", "go"};

int listener_open(struct listener *l, void *arena) {
    const frame_config a = {.arena = arena, .arena_size = ARENA_BYTES};
    const keywords_config b = {.arena = arena, .arena_size = ARENA_BYTES};
    memset(l, 0, sizeof *l);
    int status = frame_init(&l->to_features, &a);
    return status == NN_OK ? keywords_init(&l->to_words, &b) : status;
}
/* What is heard in the last second goes into the smoothed probabilities. */
static int look(struct listener *l) {
    float now[CLASSES];
    const keywords_inputs in = {.features = l->features};
    keywords_outputs out = {.probabilities = now};
    int status = keywords_run(&l->to_words, &in, &out);
    for (int k = 0; k < CLASSES && status == NN_OK; k++) l->heard[k] += SMOOTHING * (now[k] - l->heard[k]);
    return status;
}
static void decide(struct listener *l, struct detection *d) {
    int best = 0;
    for (int k = 1; k < CLASSES; k++)
        if (l->heard[k] > l->heard[best]) best = k;
    if (best < FIRST_WORD || l->heard[best] < LEAST || (l->rest > 0 && best == l->last)) return;
    *d = (struct detection){best, l->heard[best], l->hops * (1000 * HOP / RATE)};
    l->last = best;
    l->rest = QUIET_HOPS;
}
int listener_hop(struct listener *l, const int16_t hop[HOP], struct detection *d) {
    memmove(l->sound, l->sound + HOP, (FRAME - HOP) * sizeof *l->sound);
    for (int k = 0; k < HOP; k++) l->sound[FRAME - HOP + k] = (float)hop[k] / 32768.0f;
    memmove(l->features, l->features + MELS, (FRAMES - 1) * MELS * sizeof *l->features);
    const frame_inputs in = {.frame = l->sound};
    frame_outputs out = {.features = l->features + (FRAMES - 1) * MELS};
    int status = frame_run(&l->to_features, &in, &out);
    d->word = 0;
    l->hops++;
    if (l->rest > 0) l->rest--;
    if (status != NN_OK || l->hops < FRAMES || l->hops % LOOK_EVERY) return status;
    status = look(l);
    if (status == NN_OK) decide(l, d);
    return status;
}

int main(int argc, char **argv) {
    static union {
        double aligned;
        unsigned char bytes[ARENA_BYTES + 64];
    } memory;
    static struct listener listener;
    unsigned char *arena = memory.bytes;
    while ((uintptr_t)arena % 64) arena++;
    int more = sound_open(argc, argv), status = more > 0 ? listener_open(&listener, arena) : NN_OK;
    int16_t hop[HOP];
    while (more > 0 && status == NN_OK && (more = sound_hop(hop)) > 0) {
        struct detection d;
        status = listener_hop(&listener, hop, &d);
        if (status != NN_OK || !d.word) continue;
        printf("%3ld.%02ld s  %-5s  %ld %%\n", d.at_ms / 1000, d.at_ms % 1000 / 10, labels[d.word],
               (long)(d.probability * 100.0f));
        fflush(stdout);
    }
    if (status != NN_OK) printf("listen: %s\n", nn_status_text(status));
    return more < 0 || status != NN_OK;
}
