/* libclang, loaded when a source is to be read. See clang.h. */
#include "compiler/custom/source.h"
#ifdef HAVE_LIBCLANG
#include "compiler/custom/clang.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

struct clang_library libclang;
static const char *missing = "it is not loaded yet"; /* why libclang is unavailable; NULL: it is loaded */

static bool find(void *library, const char *name, void *to) {
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}
static void load(void) {
    void *library = dlopen(LIBCLANG, RTLD_NOW | RTLD_LOCAL); /* until the process ends */
    bool all = library != NULL;
#define FIND(name) all = all && find(library, "clang_" #name, &libclang.name);
    CLANG_FUNCTIONS(FIND)
#undef FIND
    const char *why = all ? NULL : dlerror();
    missing = all || why ? why : "a function is missing";
}
bool clang_load(struct ctx *c) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!missing) return true;
    diag_at(&c->diags, DIAG_ERROR, E_ENV, NULL, NULL, "libclang, which reads operators, cannot be loaded: %s", missing);
    diag_help(&c->diags, "install the package that has %s", LIBCLANG);
    return false;
}
#endif
