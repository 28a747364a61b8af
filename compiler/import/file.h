/* Whole files: mapped for reading, and written so that no reader ever sees an incomplete one. Used by import and by
 * `gcc2nn run`. */
#ifndef NN_COMPILER_IMPORT_FILE_H
#define NN_COMPILER_IMPORT_FILE_H
#include "ir/base/workdir.h"

struct mapped_file {
    const uint8_t *bytes;
    size_t size;
};

/* false: a diagnostic was recorded. Only regular files. The bytes are valid until file_unmap; if somebody truncates the
 * file meanwhile, accesses raise SIGBUS, as for any mapped file. */
bool file_map(struct diags *d, const char *path, struct mapped_file *out);
/* The same for an open descriptor, which may be closed afterwards; `path` for messages. */
bool file_map_fd(struct diags *d, enum diag_code code, int fd, const char *path, struct mapped_file *out);
void file_unmap(struct mapped_file *f);

/* PATH/NAME of each entry of a folder except names that begin with a dot, sorted by name. false: errno says why it
 * cannot be read. */
typedef VEC(const char *) path_list;
bool folder_paths(struct arena *a, const char *path, path_list *out);

/* Files that appear in a folder together, each complete, and replace those of the same names: they are written in a
 * work folder inside of it and moved when all are complete. docs/output.md states the rules. */
struct file_set {
    struct workdir work;
    const char *path;
    int folder;
    bool made; /* created by us: removed again if it gets no files */
};
/* Creates the folder if necessary. false here and below: a diagnostic was recorded. */
bool file_set_begin(struct file_set *s, struct diags *d, const char *folder);
bool file_set_add(struct file_set *s, const char *name, const void *bytes, size_t n);
/* One of these two must end each file_set_begin. */
bool file_set_commit(struct file_set *s);
void file_set_abandon(struct file_set *s);
/* The same for one file of any path, in a folder that there is. Can it be written? Asked before what is to be in it
 * takes time. It is not over `read` (NULL: nothing), a file that the command reads. */
bool file_may_put(struct diags *d, const char *path, const char *read);
bool file_is_same(const char *a, const char *b); /* do both exist, and are they the same file */
bool file_put(struct diags *d, const char *path, const void *bytes, size_t n);
#endif
