/* Weights in external files, as TensorProto.external_data names them. The names come from the model and are not
 * trusted: only regular files below the model's folder are opened, without symbolic links, `..` or second hard links.
 * Each file is mapped once, read-only, as a whole. */
#ifndef NN_COMPILER_IMPORT_EXTERNAL_H
#define NN_COMPILER_IMPORT_EXTERNAL_H
#include "compiler/import/file.h"
#include "ir/base/diag.h"

struct external_file {
    const char *location;
    struct mapped_file file;
    bool ok;
};
struct external {
    struct diags *diags;
    struct arena *arena;
    int folder;      /* descriptor of the model's folder; -1: not open */
    bool no_openat2; /* set by tests, or when the kernel lacks it */
    struct {
        struct external_file *v;
        int n, cap;
    } files;
};

/* Opens the folder that holds model_path. false: a diagnostic was recorded, and every later request is refused. */
bool external_open(struct external *x, struct diags *d, struct arena *a, const char *model_path);
/* length -1: to the end of the file. The bytes are valid until external_close. */
bool external_bytes(struct external *x, const char *location, int64_t offset, int64_t length, const uint8_t **p,
                    size_t *n);
void external_close(struct external *x);
#endif
