/* --target as one target or as variants for one program: x86-64+avx2+avx512; --machine, numbers for one of them. See
 * session.h; codegen/entry.c has the code that chooses among them. */
#include "compiler/machine_file.h"
#include "compiler/session.h"
#include <string.h>

static bool refuse(struct session *s, const char *what, const char *words) {
    diag_at(&s->c->diags, DIAG_ERROR, E_USAGE, NULL, NULL, "--target %s: %s", diag_quote(&s->c->arena, words), what);
    diag_help(&s->c->diags, "variants are CPUs of one kind, the one that needs least first: x86-64+avx2+avx512");
    return false;
}
/* "avx2" after x86-64 means x86-avx2. */
static const char *whole_name(struct session *s, const char *first, const char *word) {
    const char *whole = format(s->c, "%.*s-%s", (int)strcspn(first, "-"), first, word);
    return !target_by_name(whole) && target_by_name(word) ? word : whole;
}
static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }
/* Can the files of both be in one program? */
static bool one_kind(const struct target *a, const struct target *b) {
    return a->cls == TC_CPU && b->cls == TC_CPU && a->emit == EMIT_C_VECTOR && b->emit == EMIT_C_VECTOR &&
           same_text(a->headers, b->headers) && same_text(a->runner, b->runner);
}
static bool add(struct session *s, const struct target *t, const char *words) {
    const struct target *first = s->targets[0];
    if (s->ntargets == VARIANTS_MAX) return refuse(s, "these are too many", words);
    for (int k = 0; k < s->ntargets; k++)
        if (s->targets[k] == t) return refuse(s, format(s->c, "%s is given twice", t->name), words);
    if (s->ntargets && !one_kind(first, t))
        return refuse(s, format(s->c, "%s and %s are not for one program", first->name, t->name), words);
    if (s->ntargets && !t->needs)
        return refuse(s, format(s->c, "%s runs wherever %s does", t->name, first->name), words);
    s->targets[s->ntargets++] = t;
    return true;
}
bool session_targets(struct session *s, const char *words) {
    const char *first = NULL;
    for (const char *at = words; at; at = strchr(at, '+') ? strchr(at, '+') + 1 : NULL) {
        const char *word = format(s->c, "%.*s", (int)strcspn(at, "+"), at);
        if (!*word) return refuse(s, "a name is missing", words);
        const struct target *t = target_named(s->c, first ? whole_name(s, first, word) : word);
        if (!t || !add(s, t, words)) return false;
        if (!first) first = t->name;
    }
    return true;
}
bool session_machine(struct session *s) {
    struct machine_file f;
    const char *path = s->o->machine;
    if (!path) return true;
    if (!machine_file_read(s->c, path, &f)) return false;
    PUSH(&s->c->arena, &s->c->files_read, path);
    for (int k = 0; k < s->ntargets; k++)
        if (!strcmp(s->targets[k]->name, f.target->name)) {
            s->targets[k] = machine_file_target(s->c, &f, s->targets[k]);
            return true;
        }
    diag_at(&s->c->diags, DIAG_ERROR, E_MACHINE, path, NULL, "its numbers are of target %s, and this is for %s",
            f.target->name, s->targets[0]->name);
    diag_help(&s->c->diags, "--target=%s, or measure with `gcc2nn calibrate --target=%s`", f.target->name,
              s->targets[0]->name);
    return false;
}
