/* Where output is made before it takes its place: a folder beside or inside of that place, `new` in it, and a marker
 * file. The marker proves that gcc2nn made the folder; whoever works there holds a lock on it; and it lists every file
 * of `new`, each before it is made. So a process that is killed at any moment leaves a folder of which the next one
 * knows that nobody works there, and what in it may be removed. docs/output.md states the rules.
 *
 * All is reached from open folders, never by path from the root, and no link is followed: who may write beside the
 * output cannot turn us elsewhere. */
#ifndef NN_IR_BASE_WORKDIR_H
#define NN_IR_BASE_WORKDIR_H
#include "ir/base/diag.h"
#include "ir/base/vec.h"
#include <dirent.h>

#define WORKDIR_NEW "new"
#define WORKDIR_OLD "old" /* what stood in the place before, until it is gone */
typedef VEC(const char *) file_names;

struct workdir {
    struct diags *diags;
    const char *shown; /* the output's place, as the user calls it */
    int parent;        /* the folder that holds this one; not ours to close */
    const char *name;  /* there */
    int dir, marker;   /* the folder and its marker, locked */
    int fresh;         /* `new` in it, or -1 */
    int noted;         /* for cleanup_drop */
};

/* Makes the folder, or takes over what a killed process left; waits while another one works there. 0: done, but for
 * what is left over, see workdir_names. -1: a diagnostic was recorded. Else the errno of making it. */
int workdir_open(struct workdir *w, struct diags *d, int parent, const char *name, const char *shown);
/* What the marker lists: after workdir_open what the killed process made in `new`, later what we have. */
file_names workdir_names(const struct workdir *w);
/* Removes what that process left in `new`, where nothing of it is of use. false: a diagnostic. */
bool workdir_clear(struct workdir *w);
/* Empties the list and makes `new`, which must not be there. false: a diagnostic. */
bool workdir_begin(struct workdir *w);
/* A new file in `new`, for reading and writing; -1: a diagnostic. */
int workdir_create(struct workdir *w, const char *name);
/* Closes it. false, after a diagnostic: it was not written (`written` false, errno says why), or closing it failed. */
bool workdir_finish(const struct workdir *w, const char *name, int fd, bool written);
/* `new` is about to go to its place: from here on nothing of it is removed when the process ends. */
void workdir_keep(struct workdir *w);
/* Removes `new` with the files that are listed, and closes. */
void workdir_abandon(struct workdir *w);
/* Removes the folder and closes. While `new` or `old` is in it, it stays as it is. */
void workdir_close(struct workdir *w);
/* "cannot write "place/name": reason", from errno. Always false. */
bool workdir_problem(const struct workdir *w, const char *what, const char *name);

/* ---- folders that are open */
int open_folder(int at, const char *name); /* no link; -1: errno */
DIR *folder_entries(int folder);           /* NULL: errno */
const char *next_entry(DIR *d);            /* but `.` and `..`; NULL: no more */
/* A regular file; anything else of that name stays. */
bool remove_file(int folder, const char *name);
bool is_file_name(const char *name); /* of one file in a folder: no path, no `.`, no `..` */
/* All of the bytes; false: errno. */
bool write_all(int fd, const void *bytes, size_t n);
#endif
