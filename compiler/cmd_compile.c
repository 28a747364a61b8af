/* `gcc2nn MODEL`: writes the build folder, using the functions of the library (gcc2nn.h). */
#include "compiler/api.h"
#include "compiler/bundle.h"

int cmd_compile(const struct options *o) {
    if (o->stubs) return stub_unsupported(o);
    if (o->targets) return compile_bundle(o);
    gcc2nn *g = gcc2nn_of(o);
    struct text out = {0};
    if (!gcc2nn_load(g, o->args.v[0]) && gcc2nn_complete(g) && !gcc2nn_write(g, o->out))
        text_printf(&out, "%s\n", gcc2nn_summary(g));
    print_text(&out);
    return gcc2nn_end(g);
}
