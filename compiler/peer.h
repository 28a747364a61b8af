/* The same model and inputs through another implementation that Python has. For verify: the interpreter shares the
 * definitions of the operators with the generated code, a peer does not. */
#ifndef NN_COMPILER_PEER_H
#define NN_COMPILER_PEER_H
#include "compiler/session.h"

/* script: a template, templates/peer/NAME.py, run behind values.py, whose head says what it is given. To be called
 * after harness_run, whose files of inputs it uses. want[k] is output k of the program, NULL where the peer has none;
 * with each_node also of nodes. NULL: it is not there or cannot run the model, which is said in *why (session's arena).
 */
struct tensor **peer_outputs(struct session *s, const struct harness *h, const char *script, const char **why);
#endif
