/* See referee.h. */
#include "compiler/referee.h"
#include "compiler/peer.h"
#include <string.h>

static struct tensor **none(const struct question *q) {
    return NEWN(&q->s->c->arena, struct tensor *, q->s->w->program->outs.n + 1);
}
/* What --data has as output_<k> may be more than tensors: verify reads and compares it itself, when it can be asked. */
static struct tensor **ask_reference(const struct question *q, const char **why) {
    const struct options *o = q->s->o;
    *why = o->each_node ? "it has outputs of the model, not of its nodes" : "--data says where it is";
    return o->data && !o->each_node ? none(q) : NULL;
}
static struct tensor **ask_onnxruntime(const struct question *q, const char **why) {
    return peer_outputs(q->s, q->h, "templates/peer/onnxruntime.py", why);
}
static struct tensor **ask_litert(const struct question *q, const char **why) {
    return peer_outputs(q->s, q->h, "templates/peer/litert.py", why);
}
static struct tensor **ask_interpreter(const struct question *q, const char **why) {
    struct tensor **want = none(q);
    (void)why;
    return session_interpret(q->s, q->inputs, want) ? want : NULL;
}

#define REFEREE_ROW(word, key, name, possessive, package, exact, values)                                               \
    {word, key, name, possessive, package, exact, values},
const struct referee referees[] = {REFEREES(REFEREE_ROW){0}};

const struct referee *referee_named(const char *word) {
    const struct referee *r = referees;
    while (strcmp(r->word, word) != 0) r++;
    return r;
}
const struct referee *referee_usual(const struct session *s) {
    const struct graph *g = s->u.g;
    if (!g) return referee_named("interpreter"); /* loops in text form are nobody else's */
    for (int k = 0; k < g->opsets.n; k++)
        if (!strcmp(g->opsets.v[k].domain, "tflite")) return referee_named("litert");
    return referee_named("ort");
}
