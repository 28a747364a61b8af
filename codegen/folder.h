/* The build folder as a whole: it appears complete or not at all, in one step, with what stood there before gone. Of
 * that goes what its manifest lists; what a user or a build has put beside it is moved into the new one. docs/output.md
 * states the rules, ir/base/workdir.h the place where the folder is filled. */
#ifndef NN_CODEGEN_FOLDER_H
#define NN_CODEGEN_FOLDER_H
#include "ir/base/ctx.h"
#include "ir/base/workdir.h"
#include <jansson.h>

struct new_folder {
    struct ctx *c;
    const char *given; /* as the user calls it */
    int parent;        /* the folder that it stands in */
    const char *name;  /* there, without links: a link to a folder stays one */
    int inside;        /* the folder itself when it is filled from inside, see docs/output.md; else -1 */
    struct workdir work;
};

bool manifest_is_ours(const json_t *manifest); /* NULL is none */
/* What is ours in an open folder, by its manifest: files, and of a bundle the folders, each with a manifest of its own.
 */
struct owned {
    enum { NO_MANIFEST, HAS_MANIFEST, UNREADABLE } manifest; /* UNREADABLE: errno */
    file_names files, folders;                               /* no paths; in c's arena */
};
struct owned folder_owned(struct ctx *c, int folder);
/* false: a diagnostic was recorded. Only an empty folder or one of ours is ever replaced. */
bool folder_begin(struct new_folder *f, struct ctx *c, const char *given);
/* A new file of the folder, open for reading and writing; -1: a diagnostic. */
int folder_create(struct new_folder *f, const char *name);
/* Closes it. false, after a diagnostic: it was not written (`written` false, errno says why), or closing it failed. */
bool folder_close(struct new_folder *f, const char *name, int fd, bool written);
bool folder_remove(struct new_folder *f, const char *name);
bool folder_commit(struct new_folder *f);
void folder_abandon(struct new_folder *f);
/* Another folder takes the place of the one that is open as `from`, at to_path: what is not ours is moved there, and
 * makes the folder if it must; never over anything. dry: could it be? Nothing is moved. false: *stopped is what cannot.
 */
bool folder_keep_others(struct ctx *c, int from, const char *to_path, bool dry, const char **stopped);
#endif
