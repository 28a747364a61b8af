/* For fuzzers that need the operators, which the program registers when it starts; include it once in a program. */
#ifndef NN_TESTS_FUZZ_WITH_OPS_H
#define NN_TESTS_FUZZ_WITH_OPS_H
#include "lower/ops/ops.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    ops_register_all();
    return 0;
}
#endif
