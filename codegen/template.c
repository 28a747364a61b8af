/* Embedded files by their paths, and placeholders in them; see template.h. */
#include "codegen/template.h"
#include "ir/base/diag.h"
#include "ir/base/embed.h"
#include <string.h>

static const struct embedded *embedded(const char *path) {
    for (size_t k = 0; k < nn_embedded_count; k++)
        if (!strcmp(nn_embedded[k].path, path)) return &nn_embedded[k];
    BUG("%s is not part of the compiler", path);
}
void template_text(struct text *out, const char *path, const char *const *values) {
    const struct embedded *e = embedded(path);
    const char *s = (const char *)e->data, *end = s + e->size;
    while (s < end) {
        const char *at = *s == '@' ? memchr(s + 1, '@', (size_t)(end - s - 1)) : NULL;
        const char *const *v = values;
        size_t n = at ? (size_t)(at - s - 1) : 0;
        while (at && *v && (strlen(*v) != n || memcmp(*v, s + 1, n) != 0)) v += 2;
        if (at && *v) {
            text_add(out, v[1]);
            s = at + 1;
        } else {
            text_char(out, *s++);
        }
    }
}
