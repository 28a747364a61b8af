/* See foreign_run.c. */
#ifndef NN_COMPILER_FOREIGN_RUN_H
#define NN_COMPILER_FOREIGN_RUN_H
#include "ir/loop/foreign.h"
/* The `load` of struct foreign. */
bool foreign_load(struct ctx *c, struct foreign *f);
#endif
