/* Where output is made before it is moved to its place: a folder beside or inside of that place, with `new` in it and a
 * marker file. The marker proves that gcc2nn made the folder; whoever works there holds a lock on it; and it lists
 * every file of `new` before it is made. So after a process was killed at any moment, the next one knows that nobody
 * works there, and what it may remove. docs/output.md states the rules.
 *
 * Everything is accessed relative to open folders, never by absolute path, and without following links: somebody with
 * write access beside the output cannot redirect us. */
#ifndef NN_IR_BASE_WORKDIR_H
#define NN_IR_BASE_WORKDIR_H
#include "ir/base/diag.h"
#include "ir/base/vec.h"
#include <dirent.h>

#define WORKDIR_NEW "new"
#define WORKDIR_OLD "old" /* what was at the output's place before, until it is removed */
typedef VEC(const char *) file_names;

struct workdir {
    struct diags *diags;
    const char *shown; /* the output's place, as the user names it */
    int parent;        /* the folder that contains this one; closed by the caller */
    const char *name;  /* its name there */
    int dir, marker;   /* the folder and its marker, locked */
    int fresh;         /* `new` in it, or -1 */
    int noted;         /* for cleanup_drop */
};

/* Makes the folder, or takes over what a killed process left; waits while another process works there. 0: done, except
 * for leftovers, see workdir_names. -1: a diagnostic was recorded. Otherwise the errno of making it. */
int workdir_open(struct workdir *w, struct diags *d, int parent, const char *name, const char *shown);
/* The files listed in the marker: after workdir_open those that the killed process made in `new`, later ours. */
file_names workdir_names(const struct workdir *w);
/* Removes what that process left in `new`, when none of it is useful. false: a diagnostic. */
bool workdir_clear(struct workdir *w);
/* Empties the list and makes `new`, which must not be there. false: a diagnostic. */
bool workdir_begin(struct workdir *w);
/* A new file in `new`, for reading and writing; -1: a diagnostic. */
int workdir_create(struct workdir *w, const char *name);
/* Closes it. false, after a diagnostic: writing had failed (`written` false, errno says why), or closing did. */
bool workdir_finish(const struct workdir *w, const char *name, int fd, bool written);
/* `new` is about to be moved to its place: from now on nothing in it is removed when the process ends. */
void workdir_keep(struct workdir *w);
/* Removes `new` with the listed files, and closes. */
void workdir_abandon(struct workdir *w);
/* Removes the folder and closes. While `new` or `old` is in it, it stays as it is. */
void workdir_close(struct workdir *w);
/* "cannot write "place/name": reason", from errno. Always false. */
bool workdir_problem(const struct workdir *w, const char *what, const char *name);

/* ---- folders that are open */
int open_folder(int at, const char *name); /* no link; -1: errno */
DIR *folder_entries(int folder);           /* NULL: errno */
const char *next_entry(DIR *d);            /* except `.` and `..`; NULL: no more */
/* Removes a regular file; anything else with that name stays. */
bool remove_file(int folder, const char *name);
bool is_file_name(const char *name); /* of a single file in a folder: no path, not `.` or `..` */
/* Writes all bytes; false: errno. */
bool write_all(int fd, const void *bytes, size_t n);
#endif
