/* See decide.h. */
#include "ir/base/decide.h"
#include "ir/base/ctx.h"

bool decide(struct ctx *c, const char *fmt, ...) {
    struct decisions *d = &c->decisions;
    int number = d->made++;
    if (!d->limited) return true;
    if (number >= d->limit) return false;
    if (number + 1 < d->limit) return true;
    va_list ap;
    va_start(ap, fmt);
    d->last = arena_vprintf(&c->arena, fmt, ap);
    d->last_pass = d->during;
    va_end(ap);
    return true;
}
