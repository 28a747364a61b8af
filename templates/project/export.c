/* The one symbol by which a program that loads the library finds the model; for shared libraries only, so that several
 * models may be linked into one program. */
#include "@NAME@.h"

gcc2nn_model_v1_fn gcc2nn_model_v1;
const struct gcc2nn_model_v1 *gcc2nn_model_v1(void) { return @NAME@_info(); }
