/* Makes and releases the compilation context. */
#include "ir/base/ctx.h"
#include "ir/base/die.h"
#include "ir/base/memory.h"
#include <stdlib.h>

struct ctx *ctx_new(void) {
    struct ctx *c = memory_zeroed(1, sizeof *c);
    c->names = interner_new(&c->arena);
    c->diags.arena = c->foreigns.arena = &c->arena;
    c->exprs = expr_table_new(c);
    return c;
}

char *format(struct ctx *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *s = arena_vprintf(&c->arena, fmt, ap);
    va_end(ap);
    return s;
}

void ctx_free(struct ctx *c) {
    if (!c) return;
    arena_free(&c->arena);
    free(c);
}
