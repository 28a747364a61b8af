/* Whole files: mapped for reading, written beside their place and renamed. Used by import and by `gcc2nn run`. */
#ifndef NN_COMPILER_IMPORT_FILE_H
#define NN_COMPILER_IMPORT_FILE_H
#include "ir/base/diag.h"

struct mapped_file {
    const uint8_t *bytes;
    size_t size;
};

/* false: a diagnostic was recorded. Only regular files. The bytes stay until file_unmap; who truncates the file
 * meanwhile gets a SIGBUS for it, as everywhere with mapped files. */
bool file_map(struct diags *d, const char *path, struct mapped_file *out);
/* The same for an open descriptor, which may be closed afterwards; `path` for messages. */
bool file_map_fd(struct diags *d, enum diag_code code, int fd, const char *path, struct mapped_file *out);
void file_unmap(struct mapped_file *f);

/* Writes path.tmp-PID and renames it to path: nobody ever sees half a file. */
bool file_write(struct diags *d, const char *path, const void *bytes, size_t n);
#endif
