/* Diagnostics as a log of SARIF 2.1.0 (OASIS), which editors and code hosts read: one run, a result for each. */
#ifndef NN_COMPILER_SARIF_H
#define NN_COMPILER_SARIF_H
#include "ir/base/diag.h"

void sarif_text(const struct diags *d, struct text *out);
#endif
