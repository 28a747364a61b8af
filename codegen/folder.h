/* A folder that appears whole or not at all: it is filled beside its final place and takes that place in one step, with
 * what stood there before. Several compilations may write the same folder at once: each leaves a whole one, the last
 * one's stays. What a killed one leaves behind, the next one for the same place removes. Of the folder that stood there
 * goes what its manifest lists; what a user or a build has put beside that is moved into the new one. */
#ifndef NN_CODEGEN_FOLDER_H
#define NN_CODEGEN_FOLDER_H
#include "ir/ctx.h"

struct new_folder {
    struct ctx *c;
    const char *given; /* as the user calls it */
    const char *final; /* without links: a link to a folder stays one */
    const char *path;  /* where it is filled */
    int lock, noted;   /* held while it is filled; for cleanup_drop */
};

/* false: a diagnostic was recorded. Only an empty folder or one of ours is ever replaced. */
bool folder_begin(struct new_folder *f, struct ctx *c, const char *given);
bool folder_commit(struct new_folder *f);
void folder_abandon(struct new_folder *f);
#endif
