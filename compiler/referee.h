/* Referees, which compute a model's expected outputs for verify: a table with one row for each word of --against. A new
 * referee is a row of REFEREES and its function in referee.c; those that run in Python are called through peer.h. */
#ifndef NN_COMPILER_REFEREE_H
#define NN_COMPILER_REFEREE_H
#include "compiler/session.h"

struct question {
    struct session *s;
    const struct harness *h; /* after the run */
    struct tensor **inputs;
    struct tensor **kept; /* used by referees that have all values at once */
};
struct referee {
    const char *word, *key, *name, *possessive; /* word of --against; key for --json; name and possessive for
                                                 * messages */
    const char *package;                        /* Python package; NULL: none needed */
    const char *script;                         /* of peer.h; NULL: none */
    bool exact;                                 /* compared bit for bit */
    /* Runs the referee. false: it cannot run, and *why says the reason, unless a diagnostic does. */
    bool (*ask)(struct question *q, const char **why);
    /* After the run: output k of the program, in arena a; NULL if it has none. */
    struct tensor *(*value)(const struct question *q, struct arena *a, int k);
};
#define PEERS "templates/peer/"
/* word, key, name, possessive, package, script, exact, functions */
#define REFEREES(ROW)                                                                                                  \
    ROW("ort", "onnxruntime", "ONNX Runtime", "ONNX Runtime's", "onnxruntime", PEERS "onnxruntime.py", false,          \
        ask_onnxruntime, value_of_peer)                                                                                \
    ROW("litert", "litert", "LiteRT", "LiteRT's", "ai-edge-litert", PEERS "litert.py", false, ask_litert,              \
        value_of_peer)                                                                                                 \
    ROW("ref", "reference", "the reference", "the reference", NULL, NULL, false, ask_reference, no_value)              \
    ROW("interpreter", "interpreter", "the interpreter", "the interpreter's", NULL, NULL, true, ask_interpreter,       \
        value_kept)
extern const struct referee referees[]; /* word NULL ends */
#define REFEREE_WORD(word, key, name, possessive, package, script, exact, ask, value) word " "
#define REFEREE_WORDS                                                                 REFEREES(REFEREE_WORD)
const struct referee *referee_named(const char *word); /* one of the table */
/* The default for a model of this kind: the referee that knows its format. */
const struct referee *referee_usual(const struct session *s);
#endif
