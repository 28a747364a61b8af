/* Arrays of .npz archives. See npz.h. */
#include "compiler/import/npz.h"
#include "compiler/import/tensor_io.h"
#include <string.h>

bool npz_is(const char *path) { return ends_with(path, ".npz"); }

#ifdef HAVE_LIBZIP
#include <zip.h>

/* Deflate expands at most by a factor of about 1,032: larger claims are false, and no memory is allocated for them. */
enum { MOST_FOR_ONE = 1040, SMALL = 1 << 16 };

static zip_int64_t find(struct arena *a, zip_t *z, const char *const *names, bool only) {
    for (; *names; names++) {
        zip_int64_t k = zip_name_locate(z, arena_printf(a, "%s.npy", *names), 0);
        if (k >= 0) return k;
    }
    return only && zip_get_num_entries(z, 0) == 1 ? 0 : -1;
}
static struct tensor *read_member(struct diags *d, struct arena *a, zip_t *z, zip_uint64_t k, enum dtype want) {
    zip_stat_t s;
    bool known = zip_stat_index(z, k, 0, &s) == 0 && s.valid & ZIP_STAT_SIZE && s.valid & ZIP_STAT_COMP_SIZE;
    if (!known || s.size > INT64_MAX / 2 || (s.size > SMALL && s.size / MOST_FOR_ONE > s.comp_size)) {
        diag(d, DIAG_ERROR, E_FILE, ".npz: the size of an array is wrong");
        return NULL;
    }
    uint8_t *bytes = arena_alloc(a, (size_t)s.size + 1);
    zip_file_t *f = zip_fopen_index(z, k, 0);
    zip_int64_t n = f ? zip_fread(f, bytes, s.size) : -1;
    bool ok =
        n >= 0 && (zip_uint64_t)n == s.size && zip_fread(f, bytes + s.size, 1) == 0; /* and its checksum is right */
    if (!ok)
        diag(d, DIAG_ERROR, E_FILE, ".npz: an array cannot be read: %s", f ? zip_file_strerror(f) : zip_strerror(z));
    if (f) zip_fclose(f);
    return ok ? tensor_from_npy(d, a, bytes, (size_t)s.size, want) : NULL;
}
struct tensor *npz_read(struct diags *d, struct arena *a, const char *path, const char *const *names, bool only,
                        enum dtype want, bool *absent) {
    int code = 0;
    zip_t *z = zip_open(path, ZIP_RDONLY, &code);
    *absent = false;
    if (!z) {
        zip_error_t e;
        zip_error_init_with_code(&e, code);
        diag_at(d, DIAG_ERROR, E_FILE, path, NULL, "cannot be read: %s", zip_error_strerror(&e));
        zip_error_fini(&e);
        return NULL;
    }
    const char *before = d->file;
    d->file = path;
    zip_int64_t k = find(a, z, names, only);
    struct tensor *t = k < 0 ? NULL : read_member(d, a, z, (zip_uint64_t)k, want);
    *absent = k < 0;
    d->file = before;
    zip_discard(z);
    return t;
}
#else
struct tensor *npz_read(struct diags *d, struct arena *a, const char *path, const char *const *names, bool only,
                        enum dtype want, bool *absent) {
    (void)a, (void)names, (void)only, (void)want;
    *absent = false;
    diag_at(d, DIAG_ERROR, E_ENV, path, NULL, "this gcc2nn was built without libzip, so it reads no .npz");
    diag_help(d,
              "unpack it, as with `python3 -m zipfile -e FILE DIR`, and give its .npy, or install libzip-dev and build "
              "gcc2nn again");
    return NULL;
}
#endif
