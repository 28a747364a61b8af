/* The build folder as a whole: it appears completely or not at all, in one step, and replaces what was there before.
 * Files listed in the old manifest are removed; files added by a user or a build are moved into the new folder.
 * docs/output.md states the rules, ir/base/workdir.h where the folder is filled. */
#ifndef NN_CODEGEN_FOLDER_H
#define NN_CODEGEN_FOLDER_H
#include "ir/base/ctx.h"
#include "ir/base/workdir.h"
#include <jansson.h>

struct new_folder {
    struct ctx *c;
    const char *given; /* as the user names it */
    int parent;        /* the directory that contains it */
    const char *name;  /* its name there, with links resolved: a link to a folder stays a link */
    int inside;        /* the folder itself, if it is filled from inside, see docs/output.md; otherwise -1 */
    struct workdir work;
};

bool manifest_is_ours(const json_t *manifest); /* NULL is none */
/* Our files in an open folder, according to its manifest; for a bundle also the folders, each with its own manifest. */
struct owned {
    enum { NO_MANIFEST, HAS_MANIFEST, UNREADABLE } manifest; /* UNREADABLE: errno */
    file_names files, folders;                               /* no paths; in c's arena */
};
struct owned folder_owned(struct ctx *c, int folder);
/* false: a diagnostic was recorded. Only an empty folder or one of ours is ever replaced. */
bool folder_begin(struct new_folder *f, struct ctx *c, const char *given);
/* Creates a file in the folder, open for reading and writing; -1: a diagnostic. */
int folder_create(struct new_folder *f, const char *name);
/* Closes it. false, after a diagnostic: writing had failed (`written` false, errno says why), or closing did. */
bool folder_close(struct new_folder *f, const char *name, int fd, bool written);
bool folder_remove(struct new_folder *f, const char *name);
bool folder_commit(struct new_folder *f);
void folder_abandon(struct new_folder *f);
/* Before another folder at to_path replaces the one open as `from`: moves files that are not ours there, creating the
 * folder if needed, never replacing anything. dry: only checks whether it is possible. false: *stopped cannot be
 * moved. */
bool folder_keep_others(struct ctx *c, int from, const char *to_path, bool dry, const char **stopped);
#endif
