/* NumPy's .npz: a zip archive of .npy files, each with the name of its array; read by libzip. */
#ifndef NN_COMPILER_IMPORT_NPZ_H
#define NN_COMPILER_IMPORT_NPZ_H
#include "ir/base/diag.h"
#include "ir/base/tensor.h"

bool npz_is(const char *path); /* by its ending */
/* The first array that has one of these names (NULL ends), or, with `only`, the only one, whatever its name. want: as
 * for tensor_from_npy. NULL: a diagnostic, or, with *absent, just that there is no such array. */
struct tensor *npz_read(struct diags *d, struct arena *a, const char *path, const char *const *names, bool only,
                        enum dtype want, bool *absent);
#endif
