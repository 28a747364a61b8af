/* PNG and JPEG files to pixels. See picture.h. */
#include "compiler/import/picture.h"
#include "compiler/import/file.h"
#include "ir/base/memory.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_BYTES = 1 << 30 }; /* of pixels; no file may ask for more memory */

static bool has_ending(const char *path, const char *ending) {
    size_t n = strlen(path), k = strlen(ending);
    return n >= k && !strcasecmp(path + n - k, ending);
}
bool picture_is(const char *path) {
    return has_ending(path, ".png") || has_ending(path, ".jpg") || has_ending(path, ".jpeg");
}
void picture_free(struct picture *p) {
    free(p->rgba);
    p->rgba = NULL;
}
#ifdef HAVE_PICTURES
#include <png.h>
#include <turbojpeg.h>

static bool wrong(struct diags *d, const char *why) {
    diag(d, DIAG_ERROR, E_FILE, "the picture cannot be read: %s", why);
    diag_help(d, "the file is damaged, or no PNG or JPEG as its ending says: look at it with another program, save it "
                 "anew, or give the values as .npy");
    return false;
}
/* Allocates a picture of this size, if `fits` accepts it. */
static bool make_room(struct diags *d, int64_t width, int64_t height, picture_fits *fits, void *env,
                      struct picture *p) {
    *p = (struct picture){.width = width, .height = height};
    if (width <= 0 || height <= 0 || width > MOST_BYTES / 4 / height)
        return wrong(d, "it is empty, or has more than 268 million pixels");
    if (!fits(env, p)) return false;
    p->rgba = memory_new((size_t)(4 * width * height));
    return true;
}
static bool read_png(struct diags *d, const struct mapped_file *f, picture_fits *fits, void *env, struct picture *p) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    bool ok = png_image_begin_read_from_memory(&image, f->bytes, f->size) != 0;
    if (ok && !make_room(d, image.width, image.height, fits, env, p)) {
        png_image_free(&image);
        return false;
    }
    image.format = PNG_FORMAT_RGBA;
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* 16 bits are a finer scale of the same values */
    ok = ok && png_image_finish_read(&image, NULL, p->rgba, 0, NULL) != 0;
    if (!ok) wrong(d, image.message);
    png_image_free(&image);
    return ok;
}
static bool read_jpeg(struct diags *d, const struct mapped_file *f, picture_fits *fits, void *env, struct picture *p) {
    int width, height, sampling, space;
    tjhandle h = tjInitDecompress();
    bool ok = h && tjDecompressHeader3(h, f->bytes, f->size, &width, &height, &sampling, &space) == 0;
    bool wanted = !ok || make_room(d, width, height, fits, env, p);
    ok = ok && wanted &&
         tjDecompress2(h, f->bytes, f->size, p->rgba, width, 0, height, TJPF_RGBA, TJFLAG_ACCURATEDCT) == 0;
    if (!ok && wanted) wrong(d, tjGetErrorStr2(h));
    if (h) tjDestroy(h);
    return ok;
}
bool picture_read(struct diags *d, const char *path, picture_fits *fits, void *env, struct picture *p) {
    struct mapped_file f = {0};
    const char *before = d->file;
    *p = (struct picture){0};
    if (!file_map(d, path, &f)) return false;
    d->file = path;
    bool ok = (has_ending(path, ".png") ? read_png : read_jpeg)(d, &f, fits, env, p);
    d->file = before;
    file_unmap(&f);
    if (!ok) picture_free(p);
    return ok;
}
#else
bool picture_read(struct diags *d, const char *path, picture_fits *fits, void *env, struct picture *p) {
    (void)fits, (void)env;
    *p = (struct picture){0};
    diag_at(d, DIAG_ERROR, E_ENV, path, NULL,
            "this gcc2nn was built without libpng and libjpeg-turbo, so it reads no pictures");
    diag_help(d,
              "give the picture as an array, .npy, or install libpng-dev and libturbojpeg0-dev and build gcc2nn again");
    return false;
}
#endif
