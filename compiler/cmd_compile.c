/* `gcc2nn MODEL`: writes the build folder. */
#include "codegen/weights.h"
#include "compiler/session.h"
#include <stdio.h>

/* The sizes that the arena is told for: "batch = 1, seq = 8". */
static const char *sizes_text(struct session *s) {
    enum { SHOWN = 4 };
    const struct program *p = s->w->program;
    const char *text = "";
    for (int y = 0; y < p->syms.n && y < SHOWN; y++)
        text =
            arena_printf(&s->c->arena, "%s%s%s = %lld", text, y ? ", " : "",
                         diag_quote(&s->c->arena, p->syms.v[y]->name), (long long)program_reference(p, p->syms.v[y]));
    return p->syms.n > SHOWN ? arena_printf(&s->c->arena, "%s ...", text) : text;
}
static int kernels_of(const struct program *p) {
    int n = 0;
    for (int k = 0; k < p->nall; k++) n += count_kernels(p->all[k]->m);
    return n;
}
static void summary(struct session *s) {
    const struct program *p = s->w->program;
    printf("%s: %s, %d kernels", s->w->folder, program_targets(p), kernels_of(p));
    if (p->is_static) printf(", arena %lld bytes", (long long)p->arena_bytes);
    else printf(", arena %lld bytes%s%s", (long long)p->plan->peak, p->syms.n ? " at " : "", sizes_text(s));
    printf("%s, weights %lld bytes\n", p->has_region ? " and what sizes found in the run need" : "",
           (long long)weights_size(p));
}
static void summary_json(struct session *s) {
    const struct program *p = s->w->program;
    struct arena *a = &s->c->arena;
    json_t *o = json_pack("{s:o, s:s, s:s, s:i, s:I, s:b, s:b, s:I}", "folder", json_name(a, s->w->folder), "name",
                          p->name, "target", program_targets(p), "kernels", kernels_of(p), "arena_bytes",
                          (json_int_t)(p->is_static ? p->arena_bytes : p->plan->peak), "arena_is_static", p->is_static,
                          "region", p->has_region, "weights_bytes", (json_int_t)weights_size(p));
    json_t *at = json_object();
    for (int y = 0; y < p->syms.n; y++)
        json_object_set_new(at, json_key(a, p->syms.v[y]->name), json_integer(program_reference(p, p->syms.v[y])));
    json_object_set_new(o, "dims", at);
    session_json(s, o);
}
int cmd_compile(const struct options *o) {
    struct session s;
    if (session_open(&s, o) && session_compile(&s) && s.u.complete) {
        const char *folder = o->out ? o->out : arena_printf(&s.c->arena, "%s_c", s.project.name);
        if (session_write(&s, folder)) (o->json ? summary_json : summary)(&s);
    }
    return session_close(&s);
}
