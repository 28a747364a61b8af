/* See referee.h. */
#include "compiler/referee.h"
#include "compiler/peer.h"
#include <string.h>

static struct tensor *no_value(const struct question *q, struct arena *a, int k) {
    (void)q, (void)a, (void)k;
    return NULL;
}
static struct tensor *value_kept(const struct question *q, struct arena *a, int k) {
    (void)a;
    return q->kept[k];
}
static struct tensor *value_of_peer(const struct question *q, struct arena *a, int k) { return peer_value(q->h, a, k); }
/* --data may have output_<k> files that are not tensors: verify reads and compares those itself. */
static bool ask_reference(struct question *q, const char **why) {
    const struct options *o = q->s->o;
    *why = o->each_node ? "it has outputs of the model, not of its nodes" : "--data says where it is";
    return o->data && !o->each_node;
}
static bool ask_onnxruntime(struct question *q, const char **why) {
    return peer_ask(q->s, q->h, PEERS "onnxruntime.py", why);
}
static bool ask_litert(struct question *q, const char **why) { return peer_ask(q->s, q->h, PEERS "litert.py", why); }
static bool ask_interpreter(struct question *q, const char **why) {
    (void)why;
    q->kept = NEWN(&q->s->c->arena, struct tensor *, q->s->w->program->outs.n + 1);
    return session_interpret(q->s, q->inputs, q->kept);
}

#define REFEREE_ROW(word, key, name, possessive, package, script, exact, ask, value)                                   \
    {word, key, name, possessive, package, script, exact, ask, value},
const struct referee referees[] = {REFEREES(REFEREE_ROW){0}};

const struct referee *referee_named(const char *word) {
    const struct referee *r = referees;
    while (strcmp(r->word, word) != 0) r++;
    return r;
}
const struct referee *referee_usual(const struct session *s) {
    const struct graph *g = s->u.g;
    if (!g) return referee_named("interpreter"); /* only the interpreter can run loops in text form */
    for (int k = 0; k < g->opsets.n; k++)
        if (!strcmp(g->opsets.v[k].domain, "tflite")) return referee_named("litert");
    return referee_named("ort");
}
