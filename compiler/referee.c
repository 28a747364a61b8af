/* See referee.h. */
#include "compiler/referee.h"
#include "compiler/import/tensor_io.h"
#include "compiler/peer.h"
#include <string.h>

static struct tensor **none(const struct question *q) {
    return NEWN(&q->s->c->arena, struct tensor *, q->s->w->program->outs.n + 1);
}
/* What --data has as output_<k>; nothing for results of nodes. */
static struct tensor **ask_reference(const struct question *q, const char **why) {
    struct session *s = q->s;
    holders given = session_gives(s);
    struct tensor **want = none(q);
    *why = s->o->each_node ? "it has outputs of the model, not of its nodes" : "--data says where it is";
    if (!s->o->data || s->o->each_node) return NULL;
    for (int k = 0; k < given.n; k++) {
        const struct holder *h = &given.v[k];
        struct value_io v;
        if (!session_reference(s, k, h, &v)) continue;
        bool same = v.present == h->present && v.n == h->n;
        for (int i = 0; i < h->n; i++) {
            want[h->first + i] = same ? v.tensors[i] : NULL;
            q->told[h->first + i] |= !same;
        }
        if (!same)
            diag(&s->c->diags, DIAG_ERROR, E_OUTPUT, "output %d, %s, differs from the reference: %s instead of %s", k,
                 diag_quote(&s->c->arena, h->name), session_count(s, h->present, h->n),
                 session_count(s, v.present, v.n));
    }
    return want;
}
static struct tensor **ask_onnxruntime(const struct question *q, const char **why) {
    return peer_outputs(q->s, q->h, "templates/peer/onnxruntime.py", why);
}
static struct tensor **ask_interpreter(const struct question *q, const char **why) {
    struct tensor **want = none(q);
    (void)why;
    return session_interpret(q->s, q->inputs, want) ? want : NULL;
}

#define REFEREE_ROW(word, key, name, possessive, exact, values) {word, key, name, possessive, exact, values},
const struct referee referees[] = {REFEREES(REFEREE_ROW){0}};

const struct referee *referee_named(const char *word) {
    const struct referee *r = referees;
    while (strcmp(r->word, word) != 0) r++;
    return r;
}
const struct referee *referee_usual(const struct session *s) {
    return referee_named(s->u.g ? "ort" : "interpreter"); /* loops in text form are nobody else's */
}
