/* `gcc2nn --version`: the table of optional parts of a build. Each row depends on a library that meson.build looks for;
 * the code that needs a missing one reports that, too. */
#include "compiler/version.h"
#include "compiler/commands.h"
#include "compiler/gcc2nn.h"
#include <string.h>

#ifndef HAVE_FLATBUFFERS
#define HAVE_FLATBUFFERS 0
#endif
#ifndef HAVE_LIBCLANG
#define HAVE_LIBCLANG 0
#endif
#ifndef HAVE_LIBZIP
#define HAVE_LIBZIP 0
#endif
#ifndef HAVE_PICTURES
#define HAVE_PICTURES 0
#endif
#ifdef STATIC_PROGRAM
#define CAN_LOAD 0
#else
#define CAN_LOAD 1
#endif
#ifndef HAVE_TOMLPLUSPLUS
#define HAVE_TOMLPLUSPLUS 0
#endif

static const struct feature {
    const char *name, *what, *by; /* a name for programs, the feature, the library */
    bool built;
} features[] = {
    {"tflite", "TensorFlow Lite models", "flatbuffers", HAVE_FLATBUFFERS},
    {"operators", "operators from C, C++ and CUDA sources", "libclang", HAVE_LIBCLANG},
    {"passes", "passes from shared objects", "dlopen", CAN_LOAD},
    {"toml", "settings in a gcc2nn.toml", "toml++", HAVE_TOMLPLUSPLUS},
    {"npz", "values from .npz archives", "libzip", HAVE_LIBZIP},
    {"pictures", "values from pictures", "libpng and libjpeg-turbo", HAVE_PICTURES},
    {0},
};

void version_show(const struct options *o, const char *commit) {
    bool known = strcmp(commit, "unknown") != 0;
    if (o->json) {
        json_t *list = json_array();
        for (const struct feature *f = features; f->name; f++)
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b}", "name", f->name, "what", f->what, "by", f->by,
                                                  "built", f->built));
        print_json(json_pack("{s:s, s:o, s:o}", "version", gcc2nn_version(), "commit",
                             known ? json_string(commit) : json_null(), "features", list));
        return;
    }
    struct text out = {0};
    text_printf(&out, "gcc2nn %s%s%s%s\n", gcc2nn_version(), known ? " (commit " : "", known ? commit : "",
                known ? ")" : "");
    for (const struct feature *f = features; f->name; f++)
        text_printf(&out, "  %-7s  %-10s %s (%s)\n", f->built ? "with" : "without", f->name, f->what, f->by);
    print_text(&out);
}
