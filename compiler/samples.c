/* Samples, and runs on them; see samples.h. */
#include "compiler/samples.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool holds_inputs(struct ctx *c, const char *folder) {
    return access(format(c, "%s/input_0.pb", folder), F_OK) == 0 ||
           access(format(c, "%s/input_0.npy", folder), F_OK) == 0;
}
bool samples_find(struct ctx *c, const char *option, const char *folder, struct samples *out) {
    *out = (struct samples){0};
    bool itself = holds_inputs(c, folder);
    if (itself) PUSH(&c->arena, &out->v, folder);
    path_list below = {0};
    if (!folder_paths(&c->arena, folder, &below)) {
        diag_at(&c->diags, DIAG_ERROR, E_FILE, NULL, NULL, "--%s: cannot open %s: %s", option,
                diag_quote(&c->arena, folder), strerror(errno));
        return false;
    }
    for (int k = 0; k < below.n && !itself; k++)
        if (holds_inputs(c, below.v[k])) PUSH(&c->arena, &out->v, below.v[k]);
    if (out->v.n) return true;
    diag_at(&c->diags, DIAG_ERROR, E_FILE, NULL, NULL, "--%s: %s holds no samples", option,
            diag_quote(&c->arena, folder));
    diag_help(&c->diags,
              "a sample is a folder of input_0.npy or input_0.pb, and so on, one for each input of the model");
    return false;
}

/* ---- runs */
bool runner_open(struct runner *r, struct session *s) {
    *r = (struct runner){.s = s, .options = *s->o};
    if (!session_lower(s) || !session_write(s, NULL)) return false;
    r->exe = session_build(s, format(s->c, "%s_main", s->w->name));
    return r->exe != NULL;
}
/* What a run takes and gives lives in a context of its own, which goes with it. */
static bool run_sample(struct runner *r, const char *sample, see_outputs *see, void *env) {
    struct session *s = r->s;
    struct ctx *own = ctx_new();
    r->options.data = sample;
    s->o = &r->options;
    struct tensor **inputs = session_inputs(s),
                  **outputs = NEWN(&own->arena, struct tensor *, s->w->program->outs.n + 1);
    struct harness h = {.c = own, .w = s->w, .exe = r->exe, .seconds = s->o->seconds};
    bool ran = inputs && harness_run(&h, inputs, outputs, 0, 0, NULL), ok = ran && see(env, sample, outputs);
    if (inputs && !ran) {
        own->diags.file = s->c->diags.file;
        report_diags(&own->diags);
        diag(&s->c->diags, DIAG_ERROR, E_FAULT, "the model could not be run on sample %s",
             diag_quote(&s->c->arena, sample));
    }
    ctx_free(own);
    return ok;
}
bool runner_each(struct runner *r, const struct samples *samples, const char *what, see_outputs *see, void *env) {
    bool ok = true;
    for (int k = 0; k < samples->v.n && ok; k++) {
        progress("%s of sample %d of %d", what, k + 1, samples->v.n);
        ok = run_sample(r, samples->v.v[k], see, env);
    }
    progress_end();
    return ok;
}
