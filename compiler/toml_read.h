/* TOML as a flat list, read by toml++ (docs/adr/0018-toml-is-read-by-a-library.md). First step of gcc2nn.toml on the
 * way to options (config.h). */
#ifndef NN_COMPILER_TOML_READ_H
#define NN_COMPILER_TOML_READ_H
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
struct arena;
enum toml_kind { TOML_TABLE, TOML_STRING, TOML_NUMBER, TOML_BOOL, TOML_OTHER };
struct toml_entry {
    const char *const *path; /* keys, from the outermost */
    int npath;
    enum toml_kind kind;
    bool in_array;    /* one of several values of the same path; of an array without any there is one, TOML_OTHER */
    const char *text; /* of strings, numbers as written in C, true and false; NULL: a table */
    int line;
};
struct toml_list {
    const struct toml_entry *v; /* as they stand in the file */
    int n;
    int bad_line;        /* where it is no TOML */
    const char *problem; /* why; NULL: all was read */
};
/* In the arena; size is that of the text. */
struct toml_list toml_read(struct arena *a, const char *text, size_t size);
#ifdef __cplusplus
}
#endif
#endif
