/* The same model and inputs through another implementation that Python has. For verify: the interpreter shares the
 * definitions of the operators with the generated code, a peer does not. */
#ifndef NN_COMPILER_PEER_H
#define NN_COMPILER_PEER_H
#include "compiler/session.h"

/* script: a template, templates/peer/NAME.py, run behind values.py, whose head says what it is given. To be called
 * after harness_run or harness_inputs, whose files it uses. With each_node it has results of nodes, too. false: it is
 * not there or cannot run the model, which is said in *why (session's arena). */
bool peer_ask(struct session *s, const struct harness *h, const char *script, const char **why);
/* The same for a data set, whose inputs of sample i are in_<i>_<k>.nnt: the peer leaves want_<i>_<k>.nnt. folders: of
 * the samples. more: arguments of the script behind the usual ones, NULL ends; said: what it prints, NULL: not wanted.
 */
struct peer_data {
    const char *const *folders;
    int n;
    const char *const *more;
    const char *said;
};
bool peer_ask_all(struct session *s, const char *script, struct peer_data *data, const char **why);
/* Output k of the program as the peer has it, in arena a; NULL where it has none. */
struct tensor *peer_value(const struct harness *h, struct arena *a, int k);
#endif
