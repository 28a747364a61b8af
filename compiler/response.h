/* Response files: @FILE on the command line is replaced by the words in FILE, as in gcc and clang. */
#ifndef NN_COMPILER_RESPONSE_H
#define NN_COMPILER_RESPONSE_H
#include "ir/base/arena.h"
#include "ir/base/text.h"
#include <stdbool.h>

/* The words, with those of files inserted; *argv ends with NULL. Arguments after `--` are left alone. false: *problem
 * says what is wrong. */
bool response_expand(struct arena *a, int *argc, char ***argv, struct text *problem);
#endif
