/* Samples, and runs on them; see samples.h. */
#include "compiler/samples.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool holds_inputs(struct ctx *c, const char *path) { return data_file(c, path, "input", 0) != NULL; }
bool samples_find(struct ctx *c, const char *option, const char *folder, struct samples *out) {
    path_list below = {0};
    *out = (struct samples){0};
    if (access(folder, F_OK) == 0 && holds_inputs(c, folder)) {
        PUSH(&c->arena, &out->v, folder);
        return true;
    }
    if (!folder_paths(&c->arena, folder, &below)) {
        diag_at(&c->diags, DIAG_ERROR, E_FILE, NULL, NULL, "--%s: cannot open %s: %s", option,
                diag_quote(&c->arena, folder), strerror(errno));
        return false;
    }
    for (int k = 0; k < below.n; k++)
        if (holds_inputs(c, below.v[k])) PUSH(&c->arena, &out->v, below.v[k]);
    if (out->v.n) return true;
    diag_at(&c->diags, DIAG_ERROR, E_FILE, NULL, NULL, "--%s: %s holds no samples", option,
            diag_quote(&c->arena, folder));
    diag_help(
        &c->diags,
        "a sample is a folder of input_0.npy, .pb, .png or .jpg, and so on, one for each input of the model, or an "
        "archive of them, .npz");
    return false;
}

/* ---- runs */
struct runner runner_of(struct session *s, const char *exe) {
    return (struct runner){.s = s, .options = *s->o, .exe = exe, .symbols = session_symbols(s)};
}
bool runner_open(struct runner *r, struct session *s) {
    if (!session_lower(s) || !session_write(s, NULL)) return false;
    const char *exe = session_build(s, format(s->c, "%s_main", s->w->name));
    if (exe) *r = runner_of(s, exe);
    return exe != NULL;
}
/* The values of each run are in a separate context, which is freed after it. */
static bool run_sample(struct runner *r, const char *sample, int number, see_outputs *see, void *env) {
    struct session *s = r->s;
    const struct options *given = s->o;
    struct ctx *own = ctx_new();
    r->options.data = sample;
    s->o = &r->options;
    struct tensor **inputs = session_inputs(s),
                  **outputs = r->in_files ? NULL : NEWN(&own->arena, struct tensor *, s->w->program->outs.n + 1);
    struct harness h = {.c = own, .w = s->w, .exe = r->exe, .seconds = s->o->seconds, .symbols = r->symbols};
    bool ran = inputs && harness_run(&h, inputs, outputs, 0, 0, NULL),
         ok = ran && see(env, &(struct sample_run){sample, number, outputs});
    if (inputs && !ran) {
        own->diags.file = s->c->diags.file;
        options_diags(s->o, &own->diags);
        report_diags(&own->diags);
        diag(&s->c->diags, DIAG_ERROR, E_FAULT, "the model could not be run on sample %s",
             diag_quote(&s->c->arena, sample));
    }
    ctx_free(own);
    s->o = given;
    return ok;
}
bool runner_each(struct runner *r, const struct samples *samples, const char *what, see_outputs *see, void *env) {
    bool ok = true;
    for (int k = 0; k < samples->v.n && ok; k++) {
        progress("%s of sample %d of %d", what, k + 1, samples->v.n);
        ok = run_sample(r, samples->v.v[k], k, see, env);
    }
    progress_end();
    return ok;
}
