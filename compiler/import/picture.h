/* Pictures as inputs of a run: PNG and JPEG, by libpng and libjpeg-turbo. From a file to pixels; session_picture.c
 * makes a tensor of them. */
#ifndef NN_COMPILER_IMPORT_PICTURE_H
#define NN_COMPILER_IMPORT_PICTURE_H
#include "ir/base/diag.h"
#include <stdint.h>

/* Rows from the top, 4 bytes per pixel: red, green, blue, alpha. A grey picture has three equal colours. */
struct picture {
    int64_t width, height;
    uint8_t *rgba;
};
/* By its ending: .png, .jpg, .jpeg. */
bool picture_is(const char *path);
/* Reads a picture whose size `fits` accepts, which is called before any pixel is decoded; *p has the size even if it
 * refuses. false: a diagnostic was recorded, by `fits` or here. */
typedef bool picture_fits(void *env, const struct picture *p);
bool picture_read(struct diags *d, const char *path, picture_fits *fits, void *env, struct picture *p);
void picture_free(struct picture *p);
#endif
