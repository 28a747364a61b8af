/* `gcc2nn MODEL`: writes the build folder. */
#include "compiler/session.h"
#include <stdio.h>

static void summary(const struct session *s) {
    const struct program *p = s->w->program;
    printf("%s: %s, %d kernels", s->w->folder, p->o->target->name, p->m->procs.n);
    if (p->is_static) printf(", arena %lld bytes", (long long)p->arena_bytes);
    else printf(", arena %lld bytes at typical sizes", (long long)p->plan->peak);
    printf("%s, weights %lld bytes\n", p->has_region ? " and what sizes found in the run need" : "",
           (long long)p->weights_bytes);
}
static void summary_json(const struct session *s) {
    const struct program *p = s->w->program;
    struct arena *a = &s->c->arena;
    json_t *o = json_pack("{s:o, s:s, s:s, s:i, s:I, s:b, s:b, s:I}", "folder", json_name(a, s->w->folder), "name",
                          p->name, "target", p->o->target->name, "kernels", p->m->procs.n, "arena_bytes",
                          (json_int_t)(p->is_static ? p->arena_bytes : p->plan->peak), "arena_is_static", p->is_static,
                          "region", p->has_region, "weights_bytes", (json_int_t)p->weights_bytes);
    print_json(o);
}
int cmd_compile(const struct options *o) {
    struct session s;
    if (session_open(&s, o) && session_compile(&s) && s.u.plan) {
        const char *folder = o->out ? o->out : arena_printf(&s.c->arena, "%s_c", s.project.name);
        if (session_write(&s, folder)) (o->json ? summary_json : summary)(&s);
    }
    return session_close(&s);
}
