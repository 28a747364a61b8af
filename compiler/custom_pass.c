/* Loads a user's pass and reads its description of itself. See custom_pass.h. */
#include "compiler/custom_pass.h"
#include "compiler/gcc2nn.h"
#include "compiler/import/file.h"
#include <dlfcn.h>
#include <string.h>
#include <xxhash.h>

static const char *const remedy = "docs/custom-passes.md shows how a pass is written and compiled";
static bool refuse(struct ctx *c, const char *file, const char *why) {
    diag_at(&c->diags, DIAG_ERROR, E_PASS, file, NULL, "%s", why);
    diag_help(&c->diags, "%s", remedy);
    return false;
}
/* Is it a single plain word, which is safe on a command line and in messages? */
static bool is_name(const char *s) {
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n > 0 && !s[n] && n <= 40 && *s != '-';
}
static bool hash_file(struct ctx *c, const char *file, uint64_t *hash) {
    struct mapped_file f;
    if (!file_map(&c->diags, file, &f)) return false;
    *hash = XXH64(f.bytes, f.size, 0);
    file_unmap(&f);
    return true;
}
bool custom_pass_load(struct ctx *c, const char *file, struct custom_pass *out) {
    *out = (struct custom_pass){.file = file};
    if (!hash_file(c, file, &out->hash)) return false;
#ifdef STATIC_PROGRAM
    diag_at(&c->diags, DIAG_ERROR, E_ENV, file, NULL, "this gcc2nn is a static program, which loads no passes");
    return false;
#endif
    /* without a slash, dlopen would search the system's libraries */
    void *library = dlopen(strchr(file, '/') ? file : format(c, "./%s", file), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        return refuse(c, file, format(c, "it cannot be loaded: %s", diag_quote(&c->arena, why ? why : "no reason")));
    }
    const struct gcc2nn_pass *p = dlsym(library, "gcc2nn_pass");
    if (!p) return refuse(c, file, "it is no pass: the symbol gcc2nn_pass is missing");
    if (p->abi != GCC2NN_PASS_ABI)
        return refuse(c, file,
                      format(c, "it was compiled for version %d of the interface of passes; this gcc2nn has %d", p->abi,
                             GCC2NN_PASS_ABI));
    if (!p->name || !is_name(p->name))
        return refuse(c, file,
                      format(c, "%s is no name for a pass: small letters, digits and `-` are",
                             p->name ? diag_quote(&c->arena, p->name) : "nothing"));
    if (!p->run) return refuse(c, file, format(c, "pass %s has no function to run", p->name));
    out->pass = p, out->name = p->name, out->help = p->help ? p->help : "";
    PUSH(&c->arena, &c->files_read, file);
    return true;
}
